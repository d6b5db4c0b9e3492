"""Tensors that forward keeps for backward, one by one.

Everything here is arithmetic on one plan's numbers or on arrays of many plans' numbers alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from parakit.model import Model
from parakit.plan import Attention, Plan, Precision, Recompute

Number = Any  # an int, or an array with one entry a plan


class Place:
    """Where a tensor is kept."""

    BLOCK = "each block"
    DENSE = "each block without experts"
    SPARSE = "each block with experts"
    FIRST = "first stage"
    LAST = "last stage"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tensor:
    """One tensor of one block (or of an end of the model) for one microbatch, on one device."""

    name: str
    place: str  # of `Place`
    bytes: Number
    split: str  # "tensor ranks", "sequence parallel only" or "not at all"
    kept: Number  # whether this plan keeps it from forward to backward
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """What of a plan decides activations; each a number, or an array with one entry a plan."""

    sequence: Number
    microbatch: Number
    tp: Number
    sequence_parallel: Number  # bool
    none: Number  # bool: nothing is recomputed
    full: Number  # bool: whole blocks are recomputed
    plain: Number  # bool: attention keeps its sequence × sequence matrix
    element: Number  # bytes of an activation
    wide: Number  # bytes where fp32 is kept at least

    @classmethod
    def of(cls, plan: Plan) -> Sizes:
        """The sizes of one plan."""
        element = Precision(plan.precision).element
        return cls(
            sequence=plan.sequence,
            microbatch=plan.microbatch,
            tp=plan.tp,
            sequence_parallel=plan.sequence_parallel,
            none=plan.recompute == Recompute.NONE,
            full=plan.recompute == Recompute.FULL,
            plain=plan.attention == Attention.PLAIN,
            element=element,
            wide=max(element, 4),
        )


def block_tensors(model: Model, sizes: Sizes, *, sparse: bool, place: str) -> Iterator[Tensor]:
    """Tensors of one block. Without recomputation all are kept; see `Tensor.kept`.

    Source: Korthikanti et al. 2022, section 4 (GPT: s b h (10 + 24/t + 5 a s/(h t)) bytes),
    extended to grouped and latent attention, gated mlps, experts and fused attention.
    """
    tokens = sizes.sequence * sizes.microbatch
    wide = tokens * model.hidden * sizes.element  # one tensor as wide as the stream
    unless_full = _opposite(sizes.full)
    shared = 1 + sizes.sequence_parallel * (sizes.tp - 1)  # what sequence parallelism divides by

    def tensor(name: str, size: Number, split: str, why: str, kept: Number = unless_full) -> Tensor:
        by = {_RANKS: sizes.tp, _SEQUENCE: shared}[split]
        return Tensor(name=name, place=place, bytes=size / by, split=split, kept=kept, why=why)

    yield Tensor(
        name="layer input",
        place=place,
        bytes=wide / shared,
        split=_SEQUENCE,
        kept=sizes.full,
        why="full recomputation starts the block again from it",
    )
    # Parallel blocks have one input to norm, and with one norm its result feeds attention and mlp.
    inputs = 1 if model.parallel else model.norms
    yield tensor("norm inputs", inputs * wide, _SEQUENCE, "gradients of a norm need what it normalised")
    yield tensor("attention input", wide, _SEQUENCE, "weight gradients of query, key and value need it")
    yield from _attention(model, sizes, tokens, tensor)
    if model.dropout:
        mask = tokens * model.hidden
        yield tensor("dropout masks", 2 * mask, _SEQUENCE, "one byte each after attention and after the mlp")
    if not (model.parallel and model.norms == 1):
        yield tensor("mlp input", wide, _SEQUENCE, "weight gradients of its first matrices need it")
    yield from _mlp(model, sizes, tokens, sparse, tensor)


_RANKS, _SEQUENCE = "tensor ranks", "sequence parallel only"


def _attention(model: Model, sizes: Sizes, tokens: Number, tensor: Any) -> Iterator[Tensor]:
    element, heads, width = sizes.element, model.heads, model.head_dim
    value = width
    if model.latent is not None:
        latent = model.latent
        value = latent.value
        narrow = 2 * (latent.query_rank or 0) + 2 * latent.rank + latent.rotary
        why = "narrow vectors, before and after their norm, from which queries, keys and values are made"
        yield tensor("latents", element * tokens * narrow, _SEQUENCE, why)
    # A key-value head is never cut: a device holds at least one.
    key_heads = -(-model.kv_heads // sizes.tp) * sizes.tp
    why = "gradients of the scores need them"
    if model.qk_norm != "none":
        size = element * tokens * width * (heads + key_heads)
        yield tensor("query and key before their norm", size, _RANKS, "gradients of a norm need its input")
    yield tensor("query", element * tokens * heads * width, _RANKS, why)
    yield tensor("key", element * tokens * key_heads * width, _RANKS, why)
    yield tensor("value", element * tokens * key_heads * value, _RANKS, why)
    square = tokens * sizes.sequence * heads
    kept = sizes.none & sizes.plain
    yield tensor(
        "softmax output", element * square, _RANKS, "plain attention keeps sequence × sequence", kept
    )
    if model.dropout:
        yield tensor("attention dropout mask", square, _RANKS, "one byte a score", kept)
        yield tensor("attention after dropout", element * square, _RANKS, "it multiplies the values", kept)
    yield tensor(
        "log-sum-exp",
        sizes.wide * tokens * heads,
        _RANKS,
        "fused attention makes the scores again from it",
        _opposite(sizes.full) & _opposite(sizes.plain),
    )
    yield tensor(
        "output projection input", element * tokens * heads * value, _RANKS, "its weight gradient needs it"
    )


def _mlp(model: Model, sizes: Sizes, tokens: Number, sparse: bool, tensor: Any) -> Iterator[Tensor]:
    inner = model.mlp
    if sparse and model.experts is not None:
        experts = model.experts
        inner = (experts.mlp or model.mlp) * experts.per_token + experts.shared
        copies = sizes.element * tokens * model.hidden * experts.per_token
        yield tensor("router scores", sizes.wide * tokens * experts.count, _SEQUENCE, "fp32, one an expert")
        yield tensor("tokens sent to experts", copies, _SEQUENCE, "a copy for each expert of a token")
    size = sizes.element * tokens * inner
    what, times = ("gate and up", 2) if model.gated else ("activation input", 1)
    yield tensor(what, times * size, _RANKS, "the gradient of the activation function needs it")
    yield tensor("input of the last matrix", size, _RANKS, "its weight gradient needs it")


def end_tensors(model: Model, sizes: Sizes) -> Iterator[Tensor]:
    """Tensors before and after the blocks, kept whatever is recomputed; none for blocks alone."""
    if not model.vocabulary:
        return
    tokens = sizes.sequence * sizes.microbatch
    shared = 1 + sizes.sequence_parallel * (sizes.tp - 1)
    wide = sizes.element * tokens * model.hidden
    always = sizes.full | _opposite(sizes.full)

    def tensor(name: str, place: str, size: Number, split: str, why: str) -> Tensor:
        return Tensor(name=name, place=place, bytes=size, split=split, kept=always, why=why)

    if model.dropout:
        size = tokens * model.hidden / shared
        yield tensor("embedding dropout mask", Place.FIRST, size, _SEQUENCE, "one byte an element")
    if model.final_norm:
        why = "gradients of a norm need what it normalised"
        yield tensor("final norm input", Place.LAST, wide / shared, _SEQUENCE, why)
    head = sizes.element * tokens * model.embedding_width / shared
    yield tensor("head input", Place.LAST, head, _SEQUENCE, "the head's weight gradient needs it")
    logits = sizes.wide * tokens * -(-model.vocabulary // sizes.tp)  # its columns are padded to split
    yield tensor("logits", Place.LAST, logits, _RANKS, "the loss is computed from them in fp32")


def _opposite(flag: Number) -> Number:
    return ~flag if isinstance(flag, np.ndarray) else not flag
