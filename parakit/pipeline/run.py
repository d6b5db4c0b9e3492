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

    start: np.ndarray  # float64 (actions,), -1 where an action never ran
    end: np.ndarray  # float64 (actions,)
    reached: tuple[int, ...]  # per device, the index of its first action that never ran


def needs_of(schedule: Schedule) -> Needs:
    """What each action needs; a missing action counts as nothing.

    F needs the previous stage's F; B and I need the next stage's backward and build on their own
    stage's F; W builds on its I.
    """
    shape = (schedule.stages, schedule.microbatches)
    stage, kind, microbatch = schedule.stage, schedule.kind, schedule.microbatch
    index = np.arange(schedule.actions)
    forward = np.full(shape, -1, dtype=np.int64)
    for_inputs = np.full(shape, -1, dtype=np.int64)  # B, or I where backward is split
    is_forward, is_weight = kind == Kind.F, kind == Kind.W
    gives_inputs = ~is_forward & ~is_weight
    forward[stage[is_forward], microbatch[is_forward]] = index[is_forward]
    for_inputs[stage[gives_inputs], microbatch[gives_inputs]] = index[gives_inputs]

    before = np.full(schedule.actions, -1, dtype=np.int64)
    local = np.full(schedule.actions, -1, dtype=np.int64)
    later = is_forward & (stage > 0)
    before[later] = forward[stage[later] - 1, microbatch[later]]
    inner = gives_inputs & (stage < schedule.stages - 1)
    before[inner] = for_inputs[stage[inner] + 1, microbatch[inner]]
    local[gives_inputs] = forward[stage[gives_inputs], microbatch[gives_inputs]]
    local[is_weight] = for_inputs[stage[is_weight], microbatch[is_weight]]
    return Needs(before=before, local=local)


def run(schedule: Schedule, needs: Needs, *, duration: np.ndarray, delay: np.ndarray) -> Run:
    """Runs each action once its device is free and what it needs is there; linear in the actions.

    Args:
        schedule: an order in which no action is repeated or stands before what it builds on.
        needs: of that order.
        duration: of each action, float64 (actions,).
        delay: until what each action needs has come over from another device, float64 (actions,).
    """
    before, took, wait = needs.before.tolist(), duration.tolist(), delay.tolist()
    starts = [-1.0] * len(took)
    ends = [-1.0] * len(took)  # -1: not yet run; times are never negative
    last = schedule.first[1:].tolist()
    at = schedule.first[:-1].tolist()
    clock = [0.0] * len(at)
    waiting: dict[int, int] = {}  # action not yet run -> the device that waits for it
    ready = list(range(len(at)))
    while ready:
        device = ready.pop()
        now, i, stop = clock[device], at[device], last[device]
        while i < stop:
            needed = before[i]
            if needed >= 0:
                there = ends[needed]
                if there < 0:
                    waiting[needed] = device
                    break
                there += wait[i]
                if there > now:
                    now = there
            starts[i] = now
            now += took[i]
            ends[i] = now
            if i in waiting:
                ready.append(waiting.pop(i))
            i += 1
        clock[device], at[device] = now, i
    return Run(start=np.array(starts), end=np.array(ends), reached=tuple(at))
