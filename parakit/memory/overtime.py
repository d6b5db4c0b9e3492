"""What one pipeline rank's device holds from moment to moment of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.checks import whole_number_fault
from parakit.memory.compute import memory, stage_activations
from parakit.memory.report import MemoryReport
from parakit.model import Model
from parakit.names import count
from parakit.pipeline import Kind, Schedule, Timeline, simulate
from parakit.pipeline import schedule as named_schedule
from parakit.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MemoryOverTime:
    """Held bytes of one device, piece by piece: a piece is an action or the waiting between two."""

    times: np.ndarray  # float64 (pieces + 1,): piece i lasts from times[i] to times[i + 1]
    bytes: np.ndarray  # float64 (pieces, categories)
    categories: tuple[str, ...]
    # int64 (pieces,): index into the timeline's arrays, of an overlapped pair its F's; -1 while waiting
    action: np.ndarray
    device: int  # pipeline rank
    timeline: Timeline
    report: MemoryReport

    @property
    def total(self) -> np.ndarray:
        """Bytes of all categories, float64 (pieces,)."""
        total: np.ndarray = self.bytes.sum(axis=1)
        return total

    @property
    def peak(self) -> float:
        """The most bytes held at once: the report's figure for this device."""
        return float(self.total.max())


def memory_over_time(
    model: Model,
    plan: Plan,
    device: int = 0,
    *,
    gathered: float = 0,
    schedule: Schedule | None = None,
    forward: float = 1.0,
    backward: float = 2.0,
    transfer: float = 0.0,
) -> MemoryOverTime:
    """Held bytes at each action of the simulated schedule, by category.

    Args:
        model: a `Model`.
        plan: how it is split.
        device: pipeline rank, from 0.
        gathered: as in `memory`.
        schedule: an order of your own instead of the plan's named schedule.
        forward: time of one device's whole share of the model, divided over its stages.
        backward: the same of backward.
        transfer: from stage to stage, in the same unit.

    Raises:
        PlanError, ScheduleError, ValueError: as `memory` and `simulate`; there is no such device.

    Example:
        >>> held = memory_over_time(Model.preset("llama-3-8b"), Plan(pp=4, batch=8))
        >>> bool(held.peak == held.report.peak[0])
        True
    """
    if not isinstance(model, Model):
        raise ValueError("memory over time needs a pk.Model: a plain number of parameters has no activations")
    report = memory(model, plan, gathered, schedule=schedule)
    if fault := whole_number_fault(device, least=0, most=plan.pp - 1):
        raise ValueError(f"device is {device!r}: it {fault}, the {count(plan.pp, 'pipeline rank')} there are")
    order = schedule or _named(plan)
    each = order.stages_each
    timeline = simulate(order, forward=forward / each, backward=backward / each, transfer=transfer)
    kept, again, _ = stage_activations(model, plan)
    mine = np.flatnonzero(timeline.device == device)
    start, end = timeline.start[mine], timeline.end[mine]
    times, piece = _pieces(start, end, timeline)
    begins = np.array(times[:-1])
    stage, microbatch = timeline.stage[mine], timeline.microbatch[mine]
    is_forward = timeline.kind[mine] == Kind.F
    held = np.zeros(len(piece))
    for one in np.unique(stage).tolist():
        here = stage == one
        given = np.full(order.microbatches, -1.0)
        np.maximum.at(given, microbatch[here], end[here])
        count_held = np.searchsorted(np.sort(start[here & is_forward]), begins, side="right")
        count_held = count_held - np.searchsorted(np.sort(given[given >= 0]), begins, side="right")
        held += kept[one] * count_held
    # While a backward runs, and of an overlapped pair one does, its stage is held again.
    backward_now = (timeline.kind[mine] == Kind.B) | (timeline.kind[mine] == Kind.I)
    extra = np.zeros(len(piece))
    back = np.flatnonzero(backward_now & (end > start))
    extra[np.searchsorted(begins, start[back])] = again[stage[back]]
    doing = piece >= 0
    amounts = np.tile(report.bytes[device], (len(piece), 1))
    amounts[:, report.categories.index("activations")] = held + extra
    return MemoryOverTime(
        times=np.array(times),
        bytes=amounts,
        categories=report.categories,
        action=np.where(doing, mine[piece], -1),
        device=int(device),
        timeline=timeline,
        report=report,
    )


def _pieces(start: np.ndarray, end: np.ndarray, timeline: Timeline) -> tuple[list[float], np.ndarray]:
    """Moments between the pieces, and the action of each, by its place among the device's; -1 while waiting."""
    times, action = [float(timeline.start.min())], []
    for at, (begins, ends) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        if begins < times[-1]:  # the second of an overlapped pair: the piece is the first's
            continue
        if begins > times[-1]:
            times.append(begins)
            action.append(-1)
        if ends > begins:
            times.append(ends)
            action.append(at)
    if (last := float(timeline.end.max())) > times[-1]:
        times.append(last)
        action.append(-1)
    return times, np.array(action)


def _named(plan: Plan) -> Schedule:
    return named_schedule(
        plan.schedule, devices=plan.pp, microbatches=plan.microbatches, chunks=plan.chunks_each
    )
