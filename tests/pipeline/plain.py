"""Another way to the same times: a plain event loop over objects, kept as an oracle and a baseline.

It follows the events of a step in the order of time, as schedule viewers do that know nothing of
arrays: a heap of moments, an object an action, a dictionary of what is finished.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from parakit.pipeline import Kind, Schedule


@dataclass
class Task:
    """One action, or an overlapped pair of them."""

    device: int
    actions: list[tuple[int, Kind, int]]  # stage, kind, microbatch
    duration: float
    start: float = 0.0
    end: float = 0.0


@dataclass
class Device:
    """What one device still has to do."""

    queue: list[Task]
    at: int = 0


def event_loop(
    schedule: Schedule, durations: dict[str, float], transfer: float = 0.0, pair: float | None = None
) -> list[Task]:
    """Every task with its times; durations are by letter of the kind.

    Raises:
        RuntimeError: the devices get stuck.
    """
    devices = [Device(queue=[]) for _ in range(schedule.devices)]
    where = {}
    second = {int(first) + 1 for first in schedule.pairs}
    kinds = list(Kind)
    actions = zip(
        schedule.device.tolist(),
        schedule.stage.tolist(),
        schedule.kind.tolist(),
        schedule.microbatch.tolist(),
        strict=True,
    )
    for index, (number, stage, kind, microbatch) in enumerate(actions):
        action, took = (stage, kinds[kind], microbatch), durations[kinds[kind].letter]
        if index in second:
            task = devices[number].queue[-1]
            task.actions.append(action)
            task.duration = task.duration + took if pair is None else pair
        else:
            devices[number].queue.append(Task(number, [action], took))
        if kind != Kind.W:
            where["F" if kind == Kind.F else "B", stage, microbatch] = number

    finished: dict[tuple[str, int, int], float] = {}
    moments = [(0.0, number) for number in range(len(devices))]
    heapq.heapify(moments)
    wanted: dict[tuple[str, int, int], int] = {}  # result -> the device that waits for it
    running: dict[int, Task] = {}
    done = []
    while moments:
        now, number = heapq.heappop(moments)
        task = running.pop(number, None)
        if task is not None:
            if task.end > now:
                running[number] = task
                heapq.heappush(moments, (task.end, number))
                continue
            done.append(task)
            for stage, kind, microbatch in task.actions:
                if kind != Kind.W:
                    key = ("F" if kind == Kind.F else "B", stage, microbatch)
                    finished[key] = now
                    if key in wanted:
                        other = wanted.pop(key)
                        heapq.heappush(moments, (now + (transfer if other != number else 0.0), other))
        device = devices[number]
        if device.at == len(device.queue):
            continue
        task = device.queue[device.at]
        ready, blocked = now, False
        for key in needed(schedule, task):
            if key in finished:
                far = transfer if where[key] != number else 0.0
                ready = max(ready, finished[key] + far)
            else:
                wanted[key], blocked = number, True
        if blocked:
            continue
        if ready > now:
            heapq.heappush(moments, (ready, number))
            continue
        task.start, task.end = now, now + task.duration
        device.at += 1
        running[number] = task
        heapq.heappush(moments, (task.end, number))
    if len(done) < sum(len(device.queue) for device in devices):
        raise RuntimeError("the devices wait for each other")
    return done


def needed(schedule: Schedule, task: Task) -> list[tuple[str, int, int]]:
    """Results of other stages that a task needs."""
    keys = []
    for stage, kind, microbatch in task.actions:
        if kind == Kind.F and stage > 0:
            keys.append(("F", stage - 1, microbatch))
        if kind in (Kind.B, Kind.I) and stage < schedule.stages - 1:
            keys.append(("B", stage + 1, microbatch))
    return keys
