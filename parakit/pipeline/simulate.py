"""Gives a schedule time: each action starts as soon as it can."""

from __future__ import annotations

import numpy as np

from parakit.checks import shown
from parakit.pipeline.check import faults, problems, unknown_actions
from parakit.pipeline.durations import Spread, Times, action_durations, boundaries
from parakit.pipeline.order import Kind, Schedule, ScheduleError
from parakit.pipeline.run import Run, needs_of, run
from parakit.pipeline.timeline import Timeline


def simulate(
    schedule: Schedule,
    *,
    forward: Times = 1.0,
    backward: Times = 2.0,
    weight: Times | None = None,
    transfer: Times = 0.0,
    pair: Times | None = None,
    overhead: float = 0.0,
    overlap: bool = True,
    jitter: float = 0.0,
    rng: int | np.random.Generator | None = None,
) -> Timeline:
    """When each action starts and ends: as soon as its device is free and what it needs is there.

    Durations are of one stage, in any unit: a number, an array of one a stage, or an array of
    shape (stages, microbatches) where microbatches are uneven.

    Args:
        schedule: the order; it must be legal.
        forward: of F.
        backward: of a full backward B.
        weight: of its part W; None is half. I takes backward - weight.
        transfer: from the end of an action until another device has its result; a number, or
            one for each boundary between stages.
        pair: of an F and a B that run overlapped, by the stage of the F; None is their sum.
        overhead: added to every action.
        overlap: True: a transfer occupies nobody. False: the device that sends computes
            nothing until its result has arrived.
        jitter: standard deviation of every duration over its mean; they vary lognormally.
        rng: seed or Generator, needed with jitter.

    Raises:
        ScheduleError: the order cannot run; every fault is named.
        ValueError: a duration is negative, not a number, or of the wrong shape.

    Example:
        >>> from parakit.pipeline import schedule
        >>> timeline = simulate(schedule("1f1b", devices=4, microbatches=8))
        >>> timeline.span, timeline.in_flight.tolist()
        (33.0, [4, 3, 2, 1])
    """
    if not isinstance(overlap, bool):
        raise ValueError(f"overlap is {shown(overlap)}: it must be True or False")
    if unknown_actions(schedule):
        raise ScheduleError(problems(schedule))
    duration = action_durations(
        schedule,
        forward=forward,
        backward=backward,
        weight=weight,
        pair=pair,
        overhead=overhead,
        spread=Spread.of(jitter, rng),
    )
    sent = boundaries(transfer, schedule)
    needs = needs_of(schedule)
    if faults(schedule, needs):
        raise ScheduleError(problems(schedule))
    delay = _delays(schedule, needs.before, sent)
    hold = None if overlap else _holds(schedule, needs.before, delay)
    ran = run(schedule, needs.before, duration=duration, delay=delay, hold=hold)
    if ran.reached != tuple(schedule.first[1:].tolist()):
        raise ScheduleError(problems(schedule))
    return _timeline(schedule, ran, _waits(schedule, needs.before, ran, delay, hold))


def _delays(schedule: Schedule, before: np.ndarray, sent: np.ndarray) -> np.ndarray:
    """How long after what it needs each action may start, float64 (actions,)."""
    delay = np.zeros(schedule.actions)
    if not sent.any():
        return delay
    device = schedule.device
    elsewhere = (before >= 0) & (device[before] != device)
    boundary = schedule.stage - (schedule.kind == Kind.F)
    delay[elsewhere] = sent[boundary[elsewhere]]
    return delay


def _holds(schedule: Schedule, before: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """How long each action's device is taken by sending its result, float64 (actions,)."""
    hold = np.zeros(schedule.actions)
    needed = before >= 0
    np.add.at(hold, before[needed], delay[needed])
    hold[schedule.pairs + 1] += hold[schedule.pairs]  # both are sent once the pair is done
    return hold


def _waits(
    schedule: Schedule, before: np.ndarray, ran: Run, delay: np.ndarray, hold: np.ndarray | None
) -> np.ndarray:
    """By index in the schedule, what each action waited for, int64 (actions,); -1 for nothing."""
    free = ran.end if hold is None else ran.end + hold
    waits = np.arange(-1, schedule.actions - 1)
    waits[schedule.first[:-1][np.diff(schedule.first) > 0]] = -1
    if len(second := schedule.pairs + 1):
        waits[second] = waits[second - 1]
    since = np.where(waits >= 0, free[waits], 0.0)
    for needed, late in _needed(schedule, before, delay):
        there = np.where(needed >= 0, ran.end[needed] + late, -1.0)
        later = there > since
        waits[later], since[later] = needed[later], there[later]
    return waits


def _needed(schedule: Schedule, before: np.ndarray, delay: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each action needs and how late it comes; with pairs, also what the other of the pair needs."""
    if not len(first := schedule.pairs):
        return [(before, delay)]
    other = np.arange(schedule.actions)
    other[first], other[first + 1] = first + 1, first
    return [(before, delay), (before[other], delay[other])]


def _timeline(schedule: Schedule, ran: Run, waits: np.ndarray) -> Timeline:
    device = schedule.device
    order = np.lexsort((device, ran.start))
    place = np.empty(schedule.actions, dtype=np.int64)
    place[order] = np.arange(schedule.actions)
    waits = waits[order]
    return Timeline(
        schedule=schedule,
        device=device[order],
        stage=schedule.stage[order],
        kind=schedule.kind[order],
        microbatch=schedule.microbatch[order],
        start=ran.start[order],
        end=ran.end[order],
        waits=np.where(waits >= 0, place[waits], -1),
        overlapped=schedule.overlapped[order],
    )
