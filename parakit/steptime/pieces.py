"""Seconds of one microbatch on each kind of place of the model: what stages are put together from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.steptime import routes
from parakit.steptime.block import Device, Part, Seconds
from parakit.steptime.columns import Columns
from parakit.traffic import Collective

# What an action may spend time on, in the order of arrays.
ACTION_PARTS = ("compute", "recompute", "tensor", "expert", "data")
COMPUTE, RECOMPUTE, TENSOR, EXPERT, DATA = range(5)
FORWARD, INPUTS, WEIGHTS = range(3)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pieces:
    """Seconds of one microbatch on each kind of place: a block without and with experts, the two ends."""

    seconds: np.ndarray  # float64 (plans, 4 places, 3 of an action, parts)
    hidden: np.ndarray  # float64 (plans, 4 places, parts)

    def take(self, index: np.ndarray) -> Pieces:
        """Of some of the plans."""
        return Pieces(seconds=self.seconds[index], hidden=self.hidden[index])


def pieces(model: Model, columns: Columns, cluster: Cluster, *, overlap: bool) -> Pieces:
    """What the plans' stages are put together from.

    Source: Korthikanti et al. 2022, section 4.2.2 and Megatron-LM's linear layers for what hides
    behind what: the gradients that tensor ranks add for the inputs of a matrix behind its weights'
    gradient; with sequence parallelism, gathering the inputs again behind the product before it.
    """
    device = Device(model, columns, cluster)
    build = _Builder(device, columns, cluster, overlap)
    attention, mlp = device.attention(), device.mlp(sparse=False)
    for place, sparse in ((0, False), (1, True)):
        if sparse and not model.sparse_layers:
            continue
        second = device.mlp(sparse=True) if sparse else mlp
        for part in [_joined(attention, second)] if model.parallel else [attention, second]:
            build.block_part(place, part)
        if sparse:
            build.experts(place)
    build.first(device.first())
    build.last(device.last())
    return Pieces(seconds=build.seconds, hidden=build.hidden)


def _joined(one: Part, other: Part) -> Part:
    return Part(
        work=one.work + other.work,
        entry_inputs=one.entry_inputs + other.entry_inputs,
        entry_weights=one.entry_weights + other.entry_weights,
    )


class _Builder:
    def __init__(self, device: Device, columns: Columns, cluster: Cluster, overlap: bool) -> None:
        self.device, self.columns, self.cluster = device, columns, cluster
        self.model = device.model
        self.route = routes.tensor_route(columns, cluster)
        self.hides = ~columns.splits & overlap
        self.seconds = np.zeros((len(columns.dp), 4, 3, len(ACTION_PARTS)))
        self.hidden = np.zeros((len(columns.dp), 4, len(ACTION_PARTS)))

    def block_part(self, place: int, part: Part) -> None:
        """An attention or an mlp, recomputed as the plan says, with what tensor ranks exchange."""
        self._work(place, part)
        columns, work = self.columns, part.work
        again = np.where(columns.full, work.forward, np.where(columns.selective, work.scores, 0.0))
        self.seconds[:, place, INPUTS, RECOMPUTE] += again
        stream = self.device.stream
        forward = self._twice(stream)
        self._tensor(place, FORWARD, forward)
        self._tensor(place, INPUTS, np.where(columns.full, forward, 0.0))
        self._tensor(place, INPUTS, np.where(columns.sequence_parallel, self._gather(stream), 0.0))
        self._entry(place, part, stream)

    def experts(self, place: int) -> None:
        """Tokens to their experts and back, forward, backward, and again where recomputed."""
        experts, columns = self.model.experts, self.columns
        if experts is None:
            return
        size = self.device.stream / columns.shards * experts.per_token
        both = 2 * routes.all_to_all_seconds(columns, self.cluster, size)
        self.seconds[:, place, FORWARD, EXPERT] += both
        self.seconds[:, place, INPUTS, EXPERT] += both * (1 + columns.full)

    def first(self, part: Part) -> None:
        """The embedding."""
        self._work(2, part)
        if self.model.vocabulary:
            stream, sequence_parallel = self.device.stream, self.columns.sequence_parallel
            scattered = self.route.seconds(Collective.REDUCE_SCATTER, stream)
            added = self.route.seconds(Collective.ALL_REDUCE, stream)
            self._tensor(2, FORWARD, np.where(sequence_parallel, scattered, added))
            self._tensor(2, INPUTS, np.where(sequence_parallel, self._gather(stream), 0.0))

    def last(self, part: Part) -> None:
        """Head and loss, split by the vocabulary."""
        self._work(3, part)
        if self.model.vocabulary:
            stream = self.device.stream / self.model.hidden * self.model.embedding_width
            self._tensor(3, FORWARD, np.where(self.columns.sequence_parallel, self._gather(stream), 0.0))
            self._tensor(3, FORWARD, 3 * self.route.seconds(Collective.ALL_REDUCE, 4 * self.device.tokens))
            self._entry(3, part, stream)

    def _work(self, place: int, part: Part) -> None:
        work = part.work
        for action, seconds in ((FORWARD, work.forward), (INPUTS, work.inputs), (WEIGHTS, work.weights)):
            self.seconds[:, place, action, COMPUTE] += seconds

    def _entry(self, place: int, part: Part, stream: Seconds) -> None:
        """Backward of the matrices whose inputs tensor ranks share: gathered again, gradients added."""
        sequence_parallel, splits = self.columns.sequence_parallel, self.columns.splits
        again = np.where(sequence_parallel, self._gather(stream), 0.0)
        exposed = self._behind(place, again, part.entry_inputs)
        self._tensor(place, INPUTS, np.where(splits, 0.0, exposed))
        self._tensor(place, WEIGHTS, np.where(splits, exposed, 0.0))
        scattered = self.route.seconds(Collective.REDUCE_SCATTER, stream)
        added = np.where(sequence_parallel, scattered, self.route.seconds(Collective.ALL_REDUCE, stream))
        self._tensor(place, INPUTS, self._behind(place, added, part.entry_weights))

    def _behind(self, place: int, sent: Seconds, computing: Seconds) -> Seconds:
        """What is exposed of a transfer that may run beside a computation; the rest is hidden."""
        hidden = np.where(self.hides, np.minimum(sent, computing), 0.0)
        self.hidden[:, place, TENSOR] += hidden
        return sent - hidden

    def _twice(self, stream: Seconds) -> Seconds:
        """Forward's exchange: an all-reduce, or a gather and a scatter."""
        scattered = self.route.seconds(Collective.REDUCE_SCATTER, stream)
        added = self.route.seconds(Collective.ALL_REDUCE, stream)
        return np.where(self.columns.sequence_parallel, self._gather(stream) + scattered, added)

    def _gather(self, stream: Seconds) -> Seconds:
        return self.route.seconds(Collective.ALL_GATHER, stream)

    def _tensor(self, place: int, action: int, seconds: Seconds) -> None:
        self.seconds[:, place, action, TENSOR] += seconds
