"""Seconds that a device computes for one microbatch: of a block, and of the two ends of the model.

Everything is one entry a plan, float64 (plans,).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.steptime.columns import Columns
from parakit.weights import Weight, first_weights, last_weights, layer_weights

Seconds = np.ndarray  # float64 (plans,)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Work:
    """Seconds of one or several operations."""

    forward: Seconds
    inputs: Seconds  # of backward, its part for the gradients of inputs
    weights: Seconds  # its part for the gradients of weights
    scores: Seconds  # of forward, what selective recomputation does again

    def __add__(self, other: Work) -> Work:
        return Work(
            forward=self.forward + other.forward,
            inputs=self.inputs + other.inputs,
            weights=self.weights + other.weights,
            scores=self.scores + other.scores,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """A part of the model between two exchanges of tensor ranks: an attention, an mlp, a head."""

    work: Work
    # Its first matrices, whose inputs' gradients the tensor ranks add: backward's part for inputs
    # hides gathering the inputs again, the part for weights hides adding those gradients.
    entry_inputs: Seconds
    entry_weights: Seconds


class Device:
    """What one device of a cluster takes for operations of many plans' sizes."""

    def __init__(self, model: Model, columns: Columns, cluster: Cluster) -> None:
        self.model, self.columns, self.cluster = model, columns, cluster
        self.tokens = (columns.sequence * columns.microbatch).astype(np.float64)
        self.element = columns.element.astype(np.float64)
        self.wide = np.maximum(self.element, 4)  # where fp32 is kept at least
        self.stream = self.tokens * model.hidden * self.element  # bytes of a tensor as wide as the stream
        self.zero = np.zeros(len(self.tokens))

    def attention(self) -> Part:
        """Of one block: its norm, products, scores, and the addition to the stream."""
        weights = [one for one in self._block(sparse=False) if one.part == "attention"]
        return self._part(weights, [*self._around(), *self._scores()])

    def mlp(self, *, sparse: bool) -> Part:
        """Of one block, with experts or without."""
        weights = [one for one in self._block(sparse=sparse) if one.part == "mlp"]
        return self._part(weights, [*self._around(), *self._activation(sparse)])

    def first(self) -> Part:
        """What stands before the blocks."""
        model, passes = self.model, []
        stream = self.stream / self.columns.shards
        if model.vocabulary:
            passes.append(self._pass(2 * self.stream, 3 * self.stream))  # rows looked up, and added to
            if model.dropout:
                mask = stream / self.element
                passes.append(self._pass(2 * stream + mask, 2 * stream + mask))
            if model.embedding_norm:
                passes.append(self._pass(2 * stream, 3 * stream))
        return self._part(first_weights(model), passes)

    def last(self) -> Part:
        """What stands after the blocks: norm, head and loss."""
        model, passes = self.model, []
        if model.vocabulary:
            stream = self.stream / self.columns.shards
            if model.final_norm:
                passes.append(self._pass(2 * stream, 3 * stream))
            logits = self.tokens * -(-model.vocabulary // self.columns.tp)
            # To fp32, the largest, exponentials and their sum; back: one read, one written.
            passes.append(
                self._pass((self.element + 4 * self.wide) * logits, (self.element + self.wide) * logits)
            )
        return self._part(last_weights(model), passes)

    def _block(self, *, sparse: bool) -> tuple[Weight, ...]:
        return layer_weights(self.model, sparse=sparse)

    def _part(self, weights: Iterable[Weight], passes: list[Work]) -> Part:
        entries: list[Work] = []
        others: list[Work] = []
        for one in _matrices(weights, self.columns.tp):
            (entries if one.axis == 1 else others).append(self._product(one))
        none = Work(forward=self.zero, inputs=self.zero, weights=self.zero, scores=self.zero)
        entry = reduce(Work.__add__, entries, none)
        return Part(
            work=reduce(Work.__add__, [*entries, *others, *passes], none),
            entry_inputs=entry.inputs,
            entry_weights=entry.weights,
        )

    def _product(self, matrix: _Matrix) -> Work:
        """A matrix that every token, or an expert's share of them, is multiplied with.

        Backward does two products of the same sizes. The one for weights adds to the gradient
        while it computes (as Megatron-LM's fused accumulation does), which is counted as free.
        """
        columns, experts = self.columns, self.model.experts
        rows, alike = self.tokens, np.ones_like(self.zero)
        if matrix.experts and experts is not None:
            rows = self.tokens * experts.per_token * columns.ep / experts.count
            alike = -(-matrix.experts // columns.ep) * alike
        elif matrix.axis is None:
            rows = self.tokens / columns.shards
        forward = self._least(
            alike * self.cluster.matmul_seconds(rows, matrix.inner, matrix.outer, columns.element)
        )
        weights = forward * columns.trainable
        return Work(forward=forward, inputs=forward, weights=weights, scores=self.zero)

    def _scores(self) -> Iterator[Work]:
        """Queries with keys, softmax, weights with values; keys and queries are cut by heads."""
        model, columns = self.model, self.columns
        heads = -(-model.heads // columns.tp)
        value = model.latent.value if model.latent else model.head_dim
        alike = columns.microbatch * heads
        sequence = columns.sequence.astype(np.float64)
        if model.qk_norm != "none":
            keys = -(-model.kv_heads // columns.tp)
            size = self.element * self.tokens * model.head_dim * (heads + keys)
            yield self._pass(2 * size, 3 * size)
        plain = reduce(
            Work.__add__,
            [
                self._batched(alike, sequence, model.head_dim, sequence),
                *self._softmax(alike * sequence**2),
                self._batched(alike, sequence, value, sequence),
            ],
        )
        plain = Work(forward=plain.forward, inputs=plain.inputs, weights=self.zero, scores=plain.forward)
        # Half of the scores lie behind a causal mask and are left out; backward does five products for two.
        operations = alike * sequence**2 * (model.head_dim + value)
        fused = operations / (self.cluster.efficiency.fused_attention * self.cluster.rate(columns.element))
        fused = self._least(fused)
        yield Work(
            forward=np.where(columns.plain, plain.forward, fused),
            inputs=np.where(columns.plain, plain.inputs, self._least(2.5 * fused)),
            weights=self.zero,
            scores=np.where(columns.plain, plain.scores, 0.0),
        )

    def _softmax(self, scores: Seconds) -> Iterator[Work]:
        yield self._pass(2 * self.element * scores, 3 * self.element * scores)
        if self.model.dropout:
            yield self._pass((2 * self.element + 1) * scores, (2 * self.element + 1) * scores)

    def _batched(self, alike: Seconds, rows: Seconds, inner: float, columns: Seconds) -> Work:
        once = self._least(alike * self.cluster.matmul_seconds(rows, inner, columns, self.columns.element))
        return Work(forward=once, inputs=2 * once, weights=self.zero, scores=self.zero)

    def _around(self) -> Iterator[Work]:
        """A norm before, dropout and the addition to the stream after; half of a block's."""
        model = self.model
        stream = self.stream / self.columns.shards
        norms = (model.norms) / 2
        if norms:
            yield self._pass(2 * norms * stream, 3 * norms * stream)
        added = 2 if model.parallel else 3  # parallel ones are added once together
        if model.dropout:
            mask = stream / self.element
            yield self._pass(added * stream + mask, (added + 2) * stream + mask)
        else:
            yield self._pass(added * stream, added * stream)

    def _activation(self, sparse: bool) -> Iterator[Work]:
        model, columns = self.model, self.columns
        wide = -(-model.mlp // columns.tp) * self.tokens
        if sparse and model.experts is not None:
            experts = model.experts
            # Tokens are put in the order of their experts, and back.
            copies = self.stream / columns.shards * experts.per_token
            yield self._pass(4 * copies, 4 * copies)
            wide = (experts.mlp or model.mlp) * experts.per_token + experts.shared
            wide = -(-wide // columns.tp) * self.tokens
        size = self.element * wide
        yield self._pass(3 * size, 5 * size) if model.gated else self._pass(2 * size, 3 * size)

    def _pass(self, forward: Seconds, backward: Seconds) -> Work:
        """An operation that only reads and writes so many bytes."""
        seconds = [self._least(self.cluster.memory_seconds(one)) for one in (forward, backward)]
        return Work(forward=seconds[0], inputs=seconds[1], weights=self.zero, scores=self.zero)

    def _least(self, seconds: Seconds) -> Seconds:
        longer: Seconds = np.maximum(seconds, self.cluster.efficiency.launch)
        return longer


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Matrix:
    """What tokens are multiplied with on one tensor rank: one weight, or several side by side."""

    name: str
    axis: int | None
    experts: int
    inputs: int  # before the split: matrices that share them are one product
    inner: Seconds
    outer: Seconds


def _matrices(weights: Iterable[Weight], tp: np.ndarray) -> list[_Matrix]:
    """Query, key and value are one product, and so are gate and up."""
    found: list[_Matrix] = []
    for one in weights:
        if not one.multiplies:
            continue
        inner, outer = (np.asarray(size) for size in one.held_shape(tp))
        before = found[-1] if found else None
        joins = before is not None and (one.axis, one.experts, one.shape[0]) == (
            1,
            before.experts,
            before.inputs,
        )
        if before is not None and joins and before.axis == 1:
            found.pop()
            outer = before.outer + outer
        found.append(
            _Matrix(
                name=one.name,
                axis=one.axis,
                experts=one.experts,
                inputs=one.shape[0],
                inner=inner,
                outer=outer,
            )
        )
    return found
