"""Lets every device go on in its order as far as it can: the one loop behind checking and simulating."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.pipeline.order import Kind, Schedule


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """What each action waits for besides its own device's previous action, by index; -1 for nothing."""

    before: np.ndarray  # int64 (actions,): whose result it needs, from a neighbouring stage
    local: np.ndarray  # int64 (actions,): what it builds on, on its own stage


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """How far each device came, and when its actions ran."""

    start: np.ndarray  # float64 (actions,), meaningless where an action never ran
    end: np.ndarray  # float64 (actions,), -1 where an action never ran
    reached: tuple[int, ...]  # per device, the index of its first action that never ran


def needs_of(schedule: Schedule) -> Needs:
    """What each action needs; a missing action counts as nothing, of a repeated one the first counts.

    F needs the previous stage's F; B and I need the next stage's backward and build on their own
    stage's F; W builds on its I.
    """
    stage, kind, microbatch = schedule.stage, schedule.kind, schedule.microbatch
    is_forward, is_weight = kind == Kind.F, kind == Kind.W
    gives_inputs = ~is_forward & ~is_weight
    forward = _first(schedule, is_forward)
    for_inputs = _first(schedule, gives_inputs)  # B, or I where backward is split

    before = np.full(schedule.actions, -1, dtype=np.int64)
    later = is_forward & (stage > 0)
    before[later] = forward[stage[later] - 1, microbatch[later]]
    inner = gives_inputs & (stage < schedule.stages - 1)
    before[inner] = for_inputs[stage[inner] + 1, microbatch[inner]]
    local = np.full(schedule.actions, -1, dtype=np.int64)
    later = is_forward & (stage > 0)
    before[later] = forward[stage[later] - 1, microbatch[later]]
    inner = gives_inputs & (stage < schedule.stages - 1)
    before[inner] = for_inputs[stage[inner] + 1, microbatch[inner]]
    local[gives_inputs] = forward[stage[gives_inputs], microbatch[gives_inputs]]
    local[is_weight] = for_inputs[stage[is_weight], microbatch[is_weight]]
    return Needs(before=before, local=local)


def _first(schedule: Schedule, chosen: np.ndarray) -> np.ndarray:
    """First of the chosen actions by stage and microbatch, int64; -1 where there is none."""
    none = schedule.actions
    table = np.full(schedule.stages * schedule.microbatches, none, dtype=np.int64)
    which = schedule.stage[chosen].astype(np.int64) * schedule.microbatches + schedule.microbatch[chosen]
    np.minimum.at(table, which, np.flatnonzero(chosen))
    table[table == none] = -1
    return table.reshape(schedule.stages, schedule.microbatches)


def run(
    schedule: Schedule,
    before: np.ndarray,
    *,
    duration: np.ndarray,
    delay: np.ndarray,
    hold: np.ndarray | None = None,
) -> Run:
    """Runs each action once its device is free and what it needs is there; linear in the actions.

    An overlapped pair starts when both can, and both end together.

    Args:
        schedule: an order in which no action stands before what it builds on.
        before: as in Needs.
        duration: of each action, float64 (actions,); of a pair, at both of its actions.
        delay: until what each action needs has come over from another device, float64 (actions,).
        hold: time for which the device stays taken after each action; None is none.
    """
    # Side by side costs some array operations a step, one after the other a little work an action.
    together = schedule.devices >= _MANY_DEVICES and not len(schedule.pairs)
    end, reached = (_side_by_side if together else _one_by_one)(schedule, before, duration, delay, hold)
    return Run(start=_starts(schedule, before, end, delay, hold), end=end, reached=reached)


_MANY_DEVICES = 32  # measured: from here on the array operations are the cheaper ones


def _side_by_side(
    schedule: Schedule, before: np.ndarray, duration: np.ndarray, delay: np.ndarray, hold: np.ndarray | None
) -> tuple[np.ndarray, tuple[int, ...]]:
    """In each step every device that can goes on by one action; ends and places reached, as in Run."""
    end = np.full(schedule.actions + 1, -1.0)
    end[-1] = 0.0  # what an action that needs nothing waits for: index -1
    # One more entry, read and left unused by a last device that has finished.
    before, duration, delay = (np.append(one, one[-1:]) for one in (before, duration, delay))
    at, stop = schedule.first[:-1].copy(), schedule.first[1:]
    clock = np.zeros(schedule.devices)
    while True:
        there = end.take(before.take(at))
        goes = there >= 0
        goes &= at < stop
        if not np.count_nonzero(goes):
            return end[:-1], tuple(at.tolist())
        there += delay.take(at)
        now = np.maximum(clock, there, out=there)
        now += duration.take(at)
        end[at[goes]] = now[goes]
        if hold is not None:
            now += hold.take(at, mode="clip")
        np.copyto(clock, now, where=goes)
        at += goes


def _one_by_one(
    schedule: Schedule, before: np.ndarray, duration: np.ndarray, delay: np.ndarray, hold: np.ndarray | None
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Each device goes on as far as it can, then the one that waited for it; as `_side_by_side`."""
    needed_by, took, wait = before.tolist(), duration.tolist(), delay.tolist()
    held = None if hold is None else hold.tolist()
    paired = set(schedule.pairs.tolist())
    ends = [-1.0] * len(took)  # -1: not yet run; times are never negative
    last = schedule.first[1:].tolist()
    at = schedule.first[:-1].tolist()
    clock = [0.0] * len(at)
    waiting: dict[int, int] = {}  # action not yet run -> the device that waits for it
    ready = list(range(len(at)))[::-1]
    while ready:
        device = ready.pop()
        now, i, stop = clock[device], at[device], last[device]
        while i < stop:
            needed = needed_by[i]
            if needed >= 0:
                there = ends[needed]
                if there < 0:
                    waiting[needed] = device
                    break
                there += wait[i]
                if there > now:
                    now = there
            if paired and i in paired:
                needed = needed_by[i + 1]
                if needed >= 0:
                    there = ends[needed]
                    if there < 0:
                        waiting[needed] = device
                        break
                    there += wait[i + 1]
                    if there > now:
                        now = there
                now += took[i]
                ends[i] = ends[i + 1] = now
                if i in waiting:
                    ready.append(waiting.pop(i))
                if i + 1 in waiting:
                    ready.append(waiting.pop(i + 1))
                i += 1
            else:
                now += took[i]
                ends[i] = now
                if i in waiting:
                    ready.append(waiting.pop(i))
            if held is not None:
                now += held[i]
            i += 1
        clock[device], at[device] = now, i
    return np.array(ends), tuple(at)


def _starts(
    schedule: Schedule, before: np.ndarray, end: np.ndarray, delay: np.ndarray, hold: np.ndarray | None
) -> np.ndarray:
    """When each action starts: the later of when its device is free and when what it needs is there."""
    free = np.zeros(len(end))
    free[1:] = end[:-1] if hold is None else end[:-1] + hold[:-1]
    free[schedule.first[:-1][np.diff(schedule.first) > 0]] = 0.0
    start = np.where(before >= 0, np.maximum(free, end[before] + delay), free)
    pairs = schedule.pairs
    if len(pairs):
        # The second of a pair follows nothing of its own device but what the first followed.
        alone = np.where(before[pairs + 1] >= 0, end[before[pairs + 1]] + delay[pairs + 1], 0.0)
        start[pairs] = start[pairs + 1] = np.maximum(start[pairs], alone)
    return start
