"""The weights of a transformer one by one: their shapes, and how tensor and expert ranks divide them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parakit.blocks import Experts, Latent
    from parakit.model import Model


@dataclass(frozen=True, kw_only=True, slots=True)
class Weight:
    """One weight, or as many alike as there are experts.

    Attributes:
        name: what it is called, such as "query".
        part: which of the model's parameter groups it counts in.
        shape: (inputs, outputs) of a matrix, (rows, width) of a table, (n,) of a vector.
        axis: which axis tensor ranks split; None where each holds it whole.
        pieces: along that axis, what is never cut: heads, columns or rows.
        experts: how many of these there are; spread over expert ranks.
        active: how many of them one token uses.
        multiplies: it is a matrix that every token is multiplied with (a table is only looked up).
    """

    name: str
    part: str
    shape: tuple[int, ...]
    axis: int | None = None
    pieces: int = 1
    experts: int = 0  # 0: not an expert's
    active: int = 1
    multiplies: bool = False

    def held_shape(self, tp: Any) -> tuple[Any, ...]:
        """Shape on one of `tp` tensor ranks, a number or an array of them; a rank has at least one piece."""
        if self.axis is None:
            return self.shape
        shape = list(self.shape)
        shape[self.axis] = -(-self.pieces // tp) * (shape[self.axis] // self.pieces)
        return tuple(shape)

    def held(self, *, tp: int = 1, ep: int = 1) -> int:
        """Parameters on one device, after tensor and expert splits."""
        return int(prod(self.held_shape(tp))) * (-(-self.experts // ep) if self.experts else 1)

    def factored(self, *, tp: int = 1, ep: int = 1) -> int:
        """Numbers in its row and column sums, where an optimizer keeps those instead of the whole.

        Source: Shazeer and Stern 2018 (Adafactor), section 3.
        """
        return int(sum(self.held_shape(tp))) * (-(-self.experts // ep) if self.experts else 1)

    @property
    def used(self) -> int:
        """Parameters that one token meets."""
        return prod(self.shape) * self.active


def layer_weights(model: Model, *, sparse: bool) -> tuple[Weight, ...]:
    """Weights of one block; `sparse` blocks have experts in place of the mlp.

    Tensor ranks split heads (a key-value head at least each) and the mlp's inner width, with the
    biases that belong to them; norms, routers, the down projections of latent attention and the
    biases added after a sum are on every rank.

    Source: Shoeybi et al. 2019 (Megatron-LM), section 3; DeepSeek-AI 2024 (V2), section 2.1.
    """
    attention = _latent(model, model.latent) if model.latent else _attention(model)
    mlp = _experts(model, model.experts) if sparse and model.experts else _mlp(model, "", model.mlp)
    norms = (one for place in range(model.norms) for one in _norm(model, f"norm {place + 1}"))
    return (*attention, *mlp, *norms)


def first_weights(model: Model) -> tuple[Weight, ...]:
    """Weights before the blocks: embedding, learned positions, and what stands between."""
    if not model.vocabulary:
        return ()
    width = model.embedding_width
    weights = [
        Weight(
            name="embedding",
            part="embedding",
            shape=(model.vocabulary, width),
            axis=0,
            pieces=model.vocabulary,
        )
    ]
    if model.positions:
        weights.append(Weight(name="position", part="position", shape=(model.positions, model.hidden)))
    if width != model.hidden:
        weights.append(Weight(name="project in", part="other", shape=(width, model.hidden), multiplies=True))
    if model.embedding_norm:
        weights += _norm(model, "embedding norm")
    return tuple(weights)


def last_weights(model: Model) -> tuple[Weight, ...]:
    """Weights after the blocks: final norm and head, a tied one too: the last stage's copy."""
    if not model.vocabulary:
        return ()
    width = model.embedding_width
    weights = list(_norm(model, "final norm")) if model.final_norm else []
    if width != model.hidden:
        weights.append(Weight(name="project out", part="other", shape=(model.hidden, width), multiplies=True))
    weights.append(
        Weight(
            name="head",
            part="head",
            shape=(width, model.vocabulary),
            axis=1,
            pieces=model.vocabulary,
            multiplies=True,
        )
    )
    if model.head_bias:
        weights.append(
            Weight(name="head bias", part="head", shape=(model.vocabulary,), axis=0, pieces=model.vocabulary)
        )
    return tuple(weights)


def whole_on_tensor_ranks(weights: tuple[Weight, ...]) -> int:
    """Parameters that every tensor rank holds whole and, with sequence parallelism, sees a part of."""
    return sum(one.held() for one in weights if one.axis is None and not one.experts)


def _attention(model: Model) -> Iterator[Weight]:
    hidden, width = model.hidden, model.head_dim
    for name, heads in (("query", model.heads), ("key", model.kv_heads), ("value", model.kv_heads)):
        yield _matrix(name, "attention", (hidden, heads * width), axis=1, pieces=heads)
        if model.attention_bias:
            yield _vector(f"{name} bias", "attention", heads * width, pieces=heads)
    yield _matrix("output", "attention", (model.heads * width, hidden), axis=0, pieces=model.heads)
    if model.output_bias:
        yield _vector("output bias", "attention", hidden)
    for name, heads in (("query norm", model.heads), ("key norm", model.kv_heads)):
        if model.qk_norm == "head":
            yield _vector(name, "norm", width)
        elif model.qk_norm == "width":
            yield _vector(name, "norm", heads * width, pieces=heads)


def _latent(model: Model, latent: Latent) -> Iterator[Weight]:
    hidden, heads, bias = model.hidden, model.heads, model.attention_bias
    query = heads * (latent.plain + latent.rotary)
    source = hidden
    if latent.query_rank:
        yield _matrix("query down", "attention", (hidden, latent.query_rank))
        if bias:
            yield _vector("query down bias", "attention", latent.query_rank)
        yield _vector("query latent norm", "norm", latent.query_rank)
        source = latent.query_rank
    yield _matrix("query", "attention", (source, query), axis=1, pieces=heads)
    yield _matrix("key-value down", "attention", (hidden, latent.rank + latent.rotary))
    if bias:
        yield _vector("key-value down bias", "attention", latent.rank + latent.rotary)
    yield _vector("key-value latent norm", "norm", latent.rank)
    up = heads * (latent.plain + latent.value)
    yield _matrix("key-value up", "attention", (latent.rank, up), axis=1, pieces=heads)
    yield _matrix("output", "attention", (heads * latent.value, hidden), axis=0, pieces=heads)
    if bias:
        yield _vector("output bias", "attention", hidden)


def _mlp(model: Model, prefix: str, inner: int, experts: int = 0, active: int = 1) -> Iterator[Weight]:
    for name in ("gate", "up") if model.gated else ("up",):
        yield _matrix(f"{prefix}{name}", "mlp", (model.hidden, inner), 1, inner, experts, active)
        if model.mlp_bias:
            yield _vector(f"{prefix}{name} bias", "mlp", inner, inner, experts, active)
    yield _matrix(f"{prefix}down", "mlp", (inner, model.hidden), 0, inner, experts, active)
    if model.mlp_bias:
        yield _vector(f"{prefix}down bias", "mlp", model.hidden, 1, experts, active)


def _experts(model: Model, experts: Experts) -> Iterator[Weight]:
    yield _matrix("router", "mlp", (model.hidden, experts.count))
    yield from _mlp(model, "expert ", experts.mlp or model.mlp, experts.count, experts.per_token)
    if experts.shared:
        yield from _mlp(model, "shared expert ", experts.shared)
    if experts.shared_gate:
        yield _matrix("shared expert gate weight", "mlp", (model.hidden, 1))


def _norm(model: Model, name: str) -> Iterator[Weight]:
    if model.norm != "plain":
        yield _vector(name, "norm", model.hidden)
    if model.norm == "layer":
        yield _vector(f"{name} shift", "norm", model.hidden)


def _matrix(
    name: str,
    part: str,
    shape: tuple[int, int],
    axis: int | None = None,
    pieces: int = 1,
    experts: int = 0,
    active: int = 1,
) -> Weight:
    return Weight(
        name=name,
        part=part,
        shape=shape,
        axis=axis,
        pieces=pieces,
        experts=experts,
        active=active,
        multiplies=True,
    )


def _vector(name: str, part: str, size: int, pieces: int = 1, experts: int = 0, active: int = 1) -> Weight:
    return Weight(
        name=name,
        part=part,
        shape=(size,),
        axis=0 if pieces > 1 else None,
        pieces=pieces,
        experts=experts,
        active=active,
    )
