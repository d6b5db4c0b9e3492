"""Gives a schedule time: when each action starts and ends, and what follows from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parakit.checks import is_real, shown
from parakit.names import count
from parakit.pipeline.check import misplaced, stuck
from parakit.pipeline.order import Kind, Schedule, ScheduleError
from parakit.pipeline.run import needs_of, run

_Times = float | Sequence[float] | np.ndarray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Timeline:
    """When each action of a schedule runs. Arrays have one entry an action, in start order."""

    schedule: Schedule
    device: np.ndarray  # int32
    stage: np.ndarray  # int32
    kind: np.ndarray  # uint8, values of Kind
    microbatch: np.ndarray  # int32
    start: np.ndarray  # float64, in the unit of the durations
    end: np.ndarray  # float64

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.schedule.devices

    @property
    def span(self) -> float:
        """From the first start to the last end."""
        return float(self.end.max() - self.start.min())

    @property
    def busy(self) -> np.ndarray:
        """Time each device computes, float64 (devices,)."""
        return np.bincount(self.device, weights=self.end - self.start, minlength=self.devices)

    @property
    def idle(self) -> np.ndarray:
        """Time each device waits over the whole span, float64 (devices,)."""
        return self.span - self.busy

    @property
    def idle_share(self) -> float:
        """Idle time over all time of all devices: (p-1)/(m+p-1) for gpipe and 1f1b.

        Source: Huang et al. 2019 (GPipe), section 2.
        """
        total = self.devices * self.span
        return float(self.idle.sum() / total) if total else 0.0

    @property
    def idle_over_ideal(self) -> float:
        """Idle time over busy time: (p-1)/m for gpipe and 1f1b. Not the same as `idle_share`.

        Source: Narayanan et al. 2021, section 2.2.1.
        """
        busy = self.busy.sum()
        return float(self.idle.sum() / busy) if busy else 0.0

    @property
    def idle_in_window(self) -> np.ndarray:
        """Idle time between each device's own first start and last end, float64 (devices,).

        Source: Qi et al. 2023 (Zero Bubble), which count this alone.
        """
        first = np.full(self.devices, np.inf)
        last = np.full(self.devices, -np.inf)
        np.minimum.at(first, self.device, self.start)
        np.maximum.at(last, self.device, self.end)
        idle: np.ndarray = last - first - self.busy
        return idle

    @property
    def in_flight(self) -> np.ndarray:
        """Most (stage, microbatch) pairs each device holds at once, int64 (devices,).

        A pair is held from the start of its F to the end of its last backward action, half open;
        forward only, during its F alone.
        """
        pair = self.stage.astype(np.int64) * self.schedule.microbatches + self.microbatch
        pairs = self.schedule.stages * self.schedule.microbatches
        taken, given = np.zeros(pairs), np.zeros(pairs)
        holder = np.zeros(pairs, dtype=np.int64)
        forward = self.kind == Kind.F
        taken[pair[forward]] = self.start[forward]
        holder[pair[forward]] = self.device[forward]
        np.maximum.at(given, pair, self.end)
        held = given > taken  # a pair of no length is never held
        taken, given, holder = taken[held], given[held], holder[held]
        time = np.concatenate([taken, given])
        change = np.repeat([1, -1], len(taken))
        where = np.concatenate([holder, holder])
        order = np.lexsort((change, time, where))  # at one moment, what ends goes first
        level = np.cumsum(change[order])  # every device's changes sum to nothing: no reset between devices
        most = np.zeros(self.devices, dtype=np.int64)
        np.maximum.at(most, where[order], level)
        return most

    @property
    def in_flight_share(self) -> np.ndarray:
        """`in_flight` over the stages a device has: microbatches of its share of the model, float64."""
        return self.in_flight / (self.schedule.stages / self.devices)


def simulate(
    schedule: Schedule,
    *,
    forward: _Times = 1.0,
    backward: _Times = 2.0,
    weight: _Times | None = None,
    transfer: float = 0.0,
    overhead: float = 0.0,
) -> Timeline:
    """When each action starts and ends: as soon as its device is free and what it needs is there.

    Durations are of one stage, a number or one a stage, in any unit.

    Args:
        schedule: the order; it must be legal.
        forward: of F.
        backward: of a full backward B.
        weight: of its part W; None is half. I takes backward - weight.
        transfer: from the end of an action until another device has its result; occupies nobody.
        overhead: added to every action.

    Raises:
        ScheduleError: the order cannot run; every fault is named.
        ValueError: a duration is negative, not a number, or not one a stage.

    Example:
        >>> from parakit.pipeline import schedule
        >>> timeline = simulate(schedule("1f1b", devices=4, microbatches=8))
        >>> timeline.span, timeline.in_flight.tolist()
        (33.0, [4, 3, 2, 1])
    """
    times = {
        "forward": per_stage("forward", forward, schedule.stages),
        "backward": per_stage("backward", backward, schedule.stages),
    }
    times["weight"] = (
        times["backward"] / 2 if weight is None else per_stage("weight", weight, schedule.stages)
    )
    over = np.flatnonzero(times["weight"] > times["backward"])
    if len(over):
        raise ValueError(
            f"weight {times['weight'][over[0]]:g} is more than backward {times['backward'][over[0]]:g}: "
            f"it is the part of backward spent on weights"
        )
    transfer = _duration("transfer", transfer)
    overhead = _duration("overhead", overhead)
    needs = needs_of(schedule)
    faults = misplaced(schedule, needs)
    if faults:
        raise ScheduleError(faults)
    by_kind = np.stack(
        [times["forward"], times["backward"], times["backward"] - times["weight"], times["weight"]]
    )  # in the order of Kind
    duration = by_kind[schedule.kind, schedule.stage] + overhead
    device = schedule.device
    elsewhere = (needs.before >= 0) & (device[needs.before] != device)
    ran = run(schedule, needs, duration=duration, delay=np.where(elsewhere, transfer, 0.0))
    faults = stuck(schedule, needs, ran)
    if faults:
        raise ScheduleError(faults)
    order = np.lexsort((device, ran.start))
    return Timeline(
        schedule=schedule,
        device=device[order],
        stage=schedule.stage[order],
        kind=schedule.kind[order],
        microbatch=schedule.microbatch[order],
        start=ran.start[order],
        end=ran.end[order],
    )


def per_stage(name: str, value: _Times, stages: int) -> np.ndarray:
    """`value` as a float64 array with one duration a stage.

    Raises:
        ValueError: it is neither one duration nor one a stage, each at least 0 and finite.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {shown(value)}: it must be a number, or one a stage") from None
    if array.ndim > 1 or (array.ndim == 1 and len(array) != stages):
        raise ValueError(
            f"{name} has the shape {array.shape}: it must be a number, or one for each of {count(stages, 'stage')}"
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{name} is {shown(value)}: durations must be finite and at least 0")
    return np.broadcast_to(array, (stages,))


def _duration(name: str, value: float) -> float:
    if not is_real(value) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} is {shown(value)}: it must be a finite number of at least 0")
    return float(value)
