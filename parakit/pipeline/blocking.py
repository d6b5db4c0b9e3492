"""Deadlocks of blocking communication: a send that waits for its receive, a receive for its send."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.names import cell
from parakit.pipeline.check import Problem
from parakit.pipeline.order import Kind, Move, Schedule
from parakit.pipeline.run import needs_of


@dataclass(frozen=True, kw_only=True, slots=True)
class _Half:
    """One device's side of a transfer."""

    result: int  # index of the action whose result is sent
    sends: bool
    place: int  # index of the action beside which it stands


def blocked(schedule: Schedule) -> tuple[Problem, ...]:
    """Every circle of sends and receives that wait for each other, in a schedule that is legal otherwise.

    A device receives right before an action and sends right after it, or where the schedule's own
    moves stand. Behind a circle the check goes on as if its sends had been fused with the receives.
    """
    before = needs_of(schedule).before
    found: list[Problem] = []
    if schedule.moves is None:
        halves = _usual_halves(schedule, before)
    else:
        halves, found = _own_halves(schedule, before)
    return (*found, *_deadlocks(schedule, before, halves))


def _usual_halves(schedule: Schedule, before: np.ndarray) -> list[list[_Half]]:
    """Receives right before their action, sends right after it; of a pair, around both."""
    device, wanted = schedule.device, _wanted(schedule, before)
    second = set((schedule.pairs + 1).tolist())
    halves: list[list[_Half]] = [[] for _ in range(schedule.devices)]
    for which, (start, end) in enumerate(
        zip(schedule.first[:-1].tolist(), schedule.first[1:].tolist(), strict=True)
    ):
        at = start
        while at < end:
            together = (at, at + 1) if at + 1 in second else (at,)
            for one in together:
                needed = int(before[one])
                if needed >= 0 and device[needed] != which:
                    halves[which].append(_Half(result=needed, sends=False, place=one))
            for one in together:
                if wanted[one]:
                    halves[which].append(_Half(result=one, sends=True, place=one))
            at += len(together)
    return halves


def _wanted(schedule: Schedule, before: np.ndarray) -> np.ndarray:
    """Whether another device needs an action's result, bool (actions,)."""
    device = schedule.device
    elsewhere = (before >= 0) & (device[before] != device)
    wanted = np.zeros(schedule.actions, dtype=bool)
    wanted[before[elsewhere]] = True
    return wanted


def _own_halves(schedule: Schedule, before: np.ndarray) -> tuple[list[list[_Half]], list[Problem]]:
    """The schedule's own sends and receives, and those that are missing, at the wrong place or too many."""
    assert schedule.moves is not None
    device, wanted, moves = schedule.device, _wanted(schedule, before), schedule.moves
    consumer = {int(needed): one for one, needed in enumerate(before.tolist()) if needed >= 0}
    results = {
        (kind == Kind.F, stage, microbatch): i
        for i, (kind, stage, microbatch) in enumerate(
            zip(schedule.kind.tolist(), schedule.stage.tolist(), schedule.microbatch.tolist(), strict=True)
        )
        if kind != Kind.W
    }
    halves: list[list[_Half]] = [[] for _ in range(schedule.devices)]
    found: list[Problem] = []
    done: set[tuple[int, bool]] = set()
    for where, at, stage, kind, microbatch in zip(
        moves.device.tolist(),
        moves.before.tolist(),
        moves.stage.tolist(),
        moves.kind.tolist(),
        moves.microbatch.tolist(),
        strict=True,
    ):
        if kind not in (Move.SEND_F, Move.RECV_F, Move.SEND_B, Move.RECV_B):
            continue
        forward, sends = kind in (Move.SEND_F, Move.RECV_F), kind in (Move.SEND_F, Move.SEND_B)
        of = stage if sends else stage - 1 if forward else stage + 1
        result = results.get((forward, of, microbatch), -1)
        place = min(max(at - sends, int(schedule.first[where])), max(int(schedule.first[where + 1]) - 1, 0))
        written = f"{stage}{Move(kind).name}{microbatch}"
        fault = None
        if result < 0 or not wanted[result]:
            fault = "sends or receives what no other device needs"
        elif sends and device[result] != where:
            fault = f"stands on device {where}, and its action is on device {int(device[result])}"
        elif sends and result >= at:
            fault = f"stands before {_words(schedule, result)}, whose result it sends"
        elif not sends and device[needing := consumer[result]] != where:
            fault = f"stands on device {where}, and {_words(schedule, needing)} is on device {int(device[needing])}"
        elif not sends and needing < at:
            fault = f"stands after {_words(schedule, needing)}, which needs what it receives"
        elif (result, sends) in done:
            fault = "stands in the order more than once"
        if fault is None:
            done.add((result, sends))
            halves[where].append(_Half(result=result, sends=sends, place=place))
        else:
            found.append(_problem(schedule, where, place, written, f"{written} {fault}"))
    for one in range(schedule.actions):
        needed = int(before[one])
        if needed >= 0 and device[needed] != device[one]:
            for sends, which in ((True, needed), (False, one)):
                if (needed, sends) not in done:
                    verb = "send" if sends else "receive"
                    reason = f"no cell {verb}s the result of {_words(schedule, needed)}, which {_words(schedule, one)} needs"
                    found.append(_problem(schedule, int(device[which]), which, "", reason))
    complete = {result for result, sends in done if (result, not sends) in done}
    return [[half for half in row if half.result in complete] for row in halves], found


def _deadlocks(schedule: Schedule, before: np.ndarray, halves: list[list[_Half]]) -> list[Problem]:
    at = [0] * len(halves)
    posted: dict[int, int] = {}  # result -> the device that stands at its half of the transfer
    fused: set[int] = set()  # results whose send waits for nobody any more
    found: list[Problem] = []
    ready = list(range(len(halves)))
    while True:
        while ready:
            device = ready.pop()
            row = halves[device]
            while at[device] < len(row):
                half = row[at[device]]
                other = posted.get(half.result)
                if other is not None and other != device:
                    del posted[half.result]
                    at[other] += 1
                    ready.append(other)
                elif half.result in fused:
                    pass  # the send has been posted and its device has gone on
                else:
                    posted[half.result] = device
                    break
                at[device] += 1
        circles = _circles(schedule, before, halves, at)
        if not circles:
            return found
        for circle in circles:
            found.append(_deadlock(schedule, circle))
            for half in circle:
                if half.sends:
                    fused.add(half.result)
                    device = posted.pop(half.result)
                    at[device] += 1
                    ready.append(device)


def _circles(
    schedule: Schedule, before: np.ndarray, halves: list[list[_Half]], at: list[int]
) -> list[list[_Half]]:
    device = schedule.device
    receiver = np.full(schedule.actions, -1, dtype=np.int64)
    needed = before >= 0
    receiver[before[needed]] = device[needed]
    stands = {
        which: row[place]
        for which, (row, place) in enumerate(zip(halves, at, strict=True))
        if place < len(row)
    }
    seen: set[int] = set()
    found = []
    for begin in stands:
        path: list[int] = []
        which = begin
        while which in stands and which not in seen:
            seen.add(which)
            path.append(which)
            half = stands[which]
            which = int(receiver[half.result] if half.sends else device[half.result])
        if which in path:
            found.append([stands[one] for one in path[path.index(which) :]])
    return found


def _deadlock(schedule: Schedule, circle: list[_Half]) -> Problem:
    device, first = schedule.device, schedule.first
    where = [int(device[half.place]) for half in circle]
    places = tuple((one, int(half.place - first[one])) for one, half in zip(where, circle, strict=True))
    doing = "; ".join(
        f"device {one} {'sends' if half.sends else 'waits to receive'} {_words(schedule, half.result)}"
        for one, half in zip(where, circle, strict=True)
    )
    if len(circle) == 2 and circle[0].sends and circle[1].sends:
        a, b = (_words(schedule, half.result) for half in circle)
        reason = (
            f"devices {where[0]} and {where[1]} both send first and wait for each other: {doing}. Fuse the pair: "
            f"device {where[0]} sends {a} and receives {b} in one call, device {where[1]} the other way round"
        )
    else:
        reason = (
            f"the devices wait in a circle of blocking sends and receives: {doing}. "
            f"Fuse these sends with the receives that their devices do next"
        )
    return _problem(schedule, where[0], circle[0].place, "", reason, places)


def _words(schedule: Schedule, index: int) -> str:
    label = cell(int(schedule.stage[index]), int(schedule.microbatch[index]))
    return f"{label} {Kind(int(schedule.kind[index])).word}"


def _problem(
    schedule: Schedule,
    device: int,
    place: int,
    action: str,
    reason: str,
    places: tuple[tuple[int, int], ...] = (),
) -> Problem:
    written = action or (
        f"{schedule.stage[place]}{Kind(int(schedule.kind[place])).letter}{schedule.microbatch[place]}"
    )
    return Problem(
        device=device,
        position=int(place - schedule.first[device]),
        action=written,
        reason=reason,
        places=places,
    )
