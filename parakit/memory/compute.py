"""Bytes that each pipeline rank's device holds, from a model and a plan."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from parakit.checks import is_real, shown
from parakit.memory.activations import Place, Sizes, Tensor, block_tensors, end_tensors
from parakit.memory.report import MemoryReport
from parakit.model import Model
from parakit.pipeline import Schedule, ScheduleError
from parakit.pipeline.held import Holding, holding, holding_of
from parakit.plan import Plan, PlanError
from parakit.states import (
    MODEL_STATES,
    largest_weight,
    stage_blocks,
    stage_parameters,
    state_bytes,
)


def memory(
    model: Model | float,
    plan: Plan,
    gathered: float = 0,
    *,
    activations: bool = True,
    schedule: Schedule | None = None,
    largest_layer: int | None = None,
) -> MemoryReport:
    """Bytes that one device of each pipeline rank holds at its fullest moment.

    A parameter costs bytes as itself, as a gradient and as optimizer state (`Precision`). Stages
    hold their own layers; the embedding is on the first and the final norm and the head on the
    last, a tied one as the embedding's second copy. Tensor ranks split what Megatron-LM splits,
    expert ranks the experts. ZeRO stage 1 divides optimizer state by dp, stage 2 also gradients,
    stage 3 also parameters. Activations are those that `report.activations` names, times the
    microbatches that the schedule's order holds at once.

    Args:
        model: a `Model`, or a plain number of parameters: model states only, split evenly.
        plan: how it is split.
        gathered: bytes a parameter of the largest weight, which ZeRO 3 holds whole beside its
            shards while it computes; 0 leaves that out.
        activations: False counts model states alone, and the report says so.
        schedule: an order of your own instead of the plan's named schedule.
        largest_layer: parameters of the largest weight; needed for `gathered` with a plain number.

    Returns:
        MemoryReport, bytes in a float64 array (pp, categories).

    Raises:
        PlanError: the plan cannot run with this model.
        ScheduleError: the order of your own is not legal.
        ValueError: a number is out of range, or the order does not go with the plan.

    Example:
        >>> report = memory(Model.preset("llama-3-8b"), Plan(dp=8, zero=1))
        >>> print(report.limit())
        Stage A is the fullest with 54.4 GB; parameters take the most, 16.1 GB

    Source: Rajbhandari et al. 2020 (ZeRO), section 3 and Figure 1; Korthikanti et al. 2022.
    """
    if problems := plan.problems(model if isinstance(model, Model) else None):
        raise PlanError(problems)
    gathered = _checked_gathered(gathered)
    if not isinstance(model, Model):
        return _states_alone(_plain_count(model), plan, gathered, largest_layer)
    held = _holding(plan, schedule)
    parameters = stage_parameters(model, plan)[held.stages].sum(axis=1)
    columns = list(state_bytes(parameters, plan).T)
    categories = list(MODEL_STATES)
    tensors: tuple[Tensor, ...] = ()
    if activations:
        kept, again, tensors = stage_activations(model, plan)
        columns.append(held.peak(kept, again))
        categories.append("activations")
    if gathered and plan.zero == 3 and plan.dp > 1:
        largest = largest_weight(model, plan.tp) if largest_layer is None else _plain_count(largest_layer)
        columns.append(np.full(plan.pp, gathered * largest))
        categories.append("gathered")
    return MemoryReport(
        bytes=np.stack(columns, axis=1),
        categories=tuple(categories),
        left_out=() if activations else ("activations",),
        in_flight=held.held.sum(axis=-1).max(axis=-1).astype(np.int64),
        activations=tensors,
        plan=plan,
        model=model,
        gathered=gathered,
    )


def stage_activations(model: Model, plan: Plan) -> tuple[np.ndarray, np.ndarray, tuple[Tensor, ...]]:
    """Bytes of each stage for one microbatch.

    Returns:
        Kept from forward to backward, float64 (stages,); more while a backward runs, where whole
        blocks are recomputed, the same shape; and the tensors of a block and of the ends.
    """
    sizes = Sizes.of(plan)
    dense, sparse, ends = _tensors(model, sizes)
    counts = stage_blocks(model, plan.layers_of_stages(model))
    each = np.array([_sum(dense), _sum(sparse)])
    kept = counts @ each
    kept[0] += sum(one.bytes for one in ends if one.place == Place.FIRST)
    kept[-1] += sum(one.bytes for one in ends if one.place == Place.LAST)
    again = np.zeros(len(counts))
    if sizes.full:
        saved = np.array([recomputed_share(tensors, sizes.plain) for tensors in (dense, sparse)])
        again = ((counts > 0) * saved).max(axis=1)  # one block at a time
    return kept, again, (*dense, *sparse, *ends)


def recomputed_share(tensors: tuple[Tensor, ...], plain: Any) -> Any:
    """Bytes of one block's tensors while it is computed again: as without recomputation.

    `plain`, and so the answer, is of one plan or an array of many plans' values.
    """
    total: Any = 0.0
    for one in tensors:
        if one.name in _SCORES:
            total = total + one.bytes * plain
        elif one.name == "log-sum-exp":
            total = total + one.bytes * (1 - plain)
        elif one.name != "layer input":
            total = total + one.bytes
    return total


_SCORES = ("softmax output", "attention dropout mask", "attention after dropout")


@lru_cache(maxsize=512)
def _tensors(model: Model, sizes: Sizes) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
    with_experts = len(model.sparse_layers)
    mixed = 0 < with_experts < model.layers
    dense: tuple[Tensor, ...] = ()
    sparse: tuple[Tensor, ...] = ()
    if with_experts < model.layers:
        place = Place.DENSE if mixed else Place.BLOCK
        dense = tuple(block_tensors(model, sizes, sparse=False, place=place))
    if with_experts:
        place = Place.SPARSE if mixed else Place.BLOCK
        sparse = tuple(block_tensors(model, sizes, sparse=True, place=place))
    return dense, sparse, tuple(end_tensors(model, sizes))


def _sum(tensors: tuple[Tensor, ...]) -> float:
    return float(sum(one.bytes for one in tensors if one.kept))


def _holding(plan: Plan, order: Schedule | None) -> Holding:
    if order is None:
        return holding(plan.schedule, plan.pp, plan.microbatches, plan.chunks_each)
    if (order.devices, order.stages, order.microbatches) != (plan.pp, plan.stages, plan.microbatches):
        raise ValueError(
            f"the schedule has {order.devices} devices, {order.stages} stages and {order.microbatches} "
            f"microbatches, the plan {plan.pp}, {plan.stages} and {plan.microbatches}: they must be the same"
        )
    if problems := order.problems():
        raise ScheduleError(problems)
    return holding_of(order)


def _states_alone(count: int, plan: Plan, gathered: float, largest_layer: int | None) -> MemoryReport:
    if plan.precision == "adafactor":
        raise ValueError(
            "adafactor keeps sums of rows and columns: it needs the shapes of a pk.Model, not a plain number"
        )
    parameters = np.zeros((plan.pp, 2, 2))
    parameters[:, 0, 0] = count / (plan.pp * plan.tp)
    columns = list(state_bytes(parameters, plan).T)
    categories = list(MODEL_STATES)
    if gathered and plan.zero == 3 and plan.dp > 1:
        if largest_layer is None:
            raise ValueError(
                f"gathered={gathered:g} counts the largest layer, which a plain number of parameters does not "
                f"tell: give largest_layer= its parameters"
            )
        columns.append(np.full(plan.pp, gathered * _plain_count(largest_layer)))
        categories.append("gathered")
    return MemoryReport(
        bytes=np.stack(columns, axis=1),
        categories=tuple(categories),
        left_out=("activations",),
        in_flight=np.zeros(plan.pp, dtype=np.int64),
        activations=(),
        plan=plan,
        model=count,
        gathered=gathered,
    )


def _plain_count(parameters: float) -> int:
    if not is_real(parameters) or not 1 <= parameters <= 1e18 or parameters != int(parameters):
        raise ValueError(
            f"model is {shown(parameters)}: it must be a pk.Model or a whole number of parameters from 1 to 1e18"
        )
    return int(parameters)


def _checked_gathered(gathered: float) -> float:
    if not is_real(gathered) or not 0 <= gathered <= 64:
        raise ValueError(
            f"gathered is {shown(gathered)}: it must be a number of bytes a parameter from 0 to 64"
        )
    return float(gathered)
