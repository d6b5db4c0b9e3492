"""Memory of many plans of one model at once: a few microseconds each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from parakit.memory.activations import Place, Sizes, Tensor, block_tensors, end_tensors
from parakit.memory.compute import recomputed_share
from parakit.model import Model
from parakit.pipeline.held import holding
from parakit.pipeline.layout import layout
from parakit.plan import Attention, Plan, PlanError, Precision, Recompute
from parakit.states import MODEL_STATES, many_places, many_stage_parameters, stage_blocks, state_costs


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ManyReports:
    """Bytes on the fullest pipeline rank of each plan."""

    bytes: np.ndarray  # float64 (plans, categories)
    categories: tuple[str, ...]
    rank: np.ndarray  # int64 (plans,): which pipeline rank is the fullest, the first of equals

    @property
    def peak(self) -> np.ndarray:
        """Bytes of all categories on the fullest rank, float64 (plans,)."""
        peak: np.ndarray = self.bytes.sum(axis=1)
        return peak


def memory_many(model: Model, plans: Sequence[Plan]) -> ManyReports:
    """What `memory` says of each plan's fullest rank, for thousands of plans in a moment.

    Args:
        model: one `Model`.
        plans: any number of them.

    Raises:
        PlanError: a plan cannot run with this model; the first such plan is named.

    Example:
        >>> plans = [Plan(dp=dp, zero=3) for dp in (1, 8, 64)]
        >>> (memory_many(Model.preset("llama-3-8b"), plans).bytes[:, 0] / 1e9).round(2)
        array([16.06,  2.01,  0.25])
    """
    plans = list(plans)
    categories = (*MODEL_STATES, "activations")
    answer = np.zeros((len(plans), len(categories)))
    ranks = np.zeros(len(plans), dtype=np.int64)
    if not plans:
        return ManyReports(bytes=answer, categories=categories, rank=ranks)
    shapes = _checked_shapes(model, plans)
    columns = _Columns(model, plans)
    for shape, members in _grouped(shapes).items():
        index = np.array(members)
        each = columns.bytes_of(shape, plans[members[0]], index)
        fullest = each.sum(axis=2).argmax(axis=1)
        answer[index] = each[np.arange(len(index)), fullest]
        ranks[index] = fullest
    return ManyReports(bytes=answer, categories=categories, rank=ranks)


_Shape = tuple[Hashable, ...]  # what decides stages and what they hold


class _Columns:
    """Many plans' numbers as arrays."""

    def __init__(self, model: Model, plans: Sequence[Plan]) -> None:
        self._model = model
        held, self._which = _unique([(plan.tp, plan.ep) for plan in plans])
        self._held = many_places(model, held)
        costs, self._cost = _unique(list(map(_STATES, plans)))
        self._costs = np.stack([state_costs(*one) for one in costs])
        element = np.array([Precision(plan.precision).element for plan in plans], dtype=np.float64)
        recompute = np.array([_RECOMPUTE[Recompute(plan.recompute)] for plan in plans])
        sizes = Sizes(
            sequence=np.array([plan.sequence for plan in plans], dtype=np.float64),
            microbatch=np.array([plan.microbatch for plan in plans], dtype=np.float64),
            tp=np.array([plan.tp for plan in plans], dtype=np.int64),
            sequence_parallel=np.array([plan.sequence_parallel for plan in plans]),
            none=recompute == 0,
            full=recompute == 2,
            plain=np.array([plan.attention == Attention.PLAIN for plan in plans]),
            element=element,
            wide=np.maximum(element, 4),
        )
        blocks = [tuple(block_tensors(model, sizes, sparse=sparse, place="")) for sparse in (False, True)]
        zero = np.zeros(len(plans))
        self._kept = np.stack([zero + _sum(tensors) for tensors in blocks], axis=1)
        again = [zero + recomputed_share(tensors, sizes.plain) * sizes.full for tensors in blocks]
        self._again = np.stack(again, axis=1)
        ends = tuple(end_tensors(model, sizes))
        self._first = zero + _sum(tuple(one for one in ends if one.place == Place.FIRST))
        self._last = zero + _sum(tuple(one for one in ends if one.place == Place.LAST))

    def bytes_of(self, shape: _Shape, plan: Plan, index: np.ndarray) -> np.ndarray:
        """Bytes of the plans of one shape, float64 (plans, pp, categories); `plan` is one of them."""
        counts = stage_blocks(self._model, plan.layers_of_stages(self._model))
        held = self._held[self._which[index]]  # (plans, 5 places, 2, 2)
        head = not self._model.tied or layout(plan.schedule, plan.pp, plan.chunks_each).ends_apart
        parameters = many_stage_parameters(held, counts, head=head)
        order = holding(plan.schedule, plan.pp, plan.microbatches, plan.chunks_each)
        on_ranks = parameters[:, order.stages].sum(axis=2)
        states = np.einsum("prij,pijc->prc", on_ranks, self._costs[self._cost[index]])
        kept = self._kept[index] @ counts.T
        kept[:, 0] += self._first[index]
        kept[:, -1] += self._last[index]
        again = ((counts > 0) * self._again[index][:, None, :]).max(axis=2)
        activations = order.peak(kept, again)
        return np.concatenate([states, activations[:, :, None]], axis=2)


_RECOMPUTE = {Recompute.NONE: 0, Recompute.SELECTIVE: 1, Recompute.FULL: 2}
_STATES = attrgetter("precision", "trainable", "zero", "dp", "ep")
_SHAPE = attrgetter("schedule", "chunks", "pp", "stage_layers")
_CHOICES = attrgetter("precision", "recompute", "attention", "zero", "sequence_parallel", "trainable")


def _checked_shapes(model: Model, plans: Sequence[Plan]) -> list[_Shape]:
    """The shape of each plan; all of them can run.

    Most rules are about one shape, one tp, one ep or one set of choices: those are judged once,
    on the first plan that has them. The rules about several numbers are judged for each plan.
    """
    seen: set[Hashable] = set()
    shapes: list[_Shape] = []
    shape: _Shape
    facets: tuple[Hashable, ...]
    for at, plan in enumerate(plans):
        try:
            share = plan.dp * plan.microbatch
            shape = (*_SHAPE(plan), plan.pp if plan.batch is None else plan.batch // share)
            facets = (shape, ("tp", plan.tp), ("ep", plan.ep), _CHOICES(plan))
            known = seen.issuperset(facets) and (
                min(plan.dp, plan.microbatch, plan.sequence) >= 1
                and plan.dp % plan.ep == 0
                and (plan.batch is None or plan.batch % share == 0 < plan.batch)
                and not (plan.sequence_parallel and plan.sequence % plan.tp)
                and type(plan.dp) is type(plan.microbatch) is type(plan.sequence) is int
                and max(plan.dp, plan.sequence, plan.microbatch) <= 1_000_000
            )
        except (TypeError, ZeroDivisionError):  # no numbers at all: `problems` says which
            known, facets, shape = False, (), ()
        if not known:
            if problems := plan.problems(model):
                raise PlanError((f"plan {at} of {len(plans)}: {problems[0]}", *problems[1:]))
            seen.update(facets)
        shapes.append(shape)
    return shapes


def _grouped(shapes: Sequence[_Shape]) -> dict[_Shape, list[int]]:
    groups: dict[_Shape, list[int]] = {}
    for at, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(at)
    return groups


def _unique(keys: Sequence[Hashable]) -> tuple[list, np.ndarray]:  # type: ignore[type-arg]
    numbers: dict[Hashable, int] = {}
    which = [numbers.setdefault(key, len(numbers)) for key in keys]
    return list(numbers), np.array(which)


def _sum(tensors: tuple[Tensor, ...]) -> np.ndarray | float:
    return sum((one.bytes * one.kept for one in tensors), 0.0)
