"""Why an order of actions cannot run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.names import cell, count
from parakit.pipeline.order import Kind, Schedule
from parakit.pipeline.run import Needs, Run, needs_of, run

_MOST_MISSING = 1_000  # sentences about missing actions; the rest is one count
_MOST_CIRCLES = 20  # times that the check goes on behind a circle


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One fault of an order: where it stands and why it is one."""

    device: int | None  # None when no device has the action
    position: int | None  # in the device's order, from 0
    action: str  # as in to_text: "1B0"; "" when many are meant
    reason: str
    places: tuple[tuple[int, int], ...] = ()  # devices and positions of all that take part, where several do

    def __str__(self) -> str:
        if self.device is None:
            return self.reason
        return f"device {self.device}, position {self.position}: {self.reason}"


def problems(schedule: Schedule) -> tuple[Problem, ...]:
    """Every fault: unknown, repeated, missing and misplaced actions, and circles in which devices wait."""
    kept = np.flatnonzero(_known(schedule))
    rest = schedule if len(kept) == schedule.actions else _only(schedule, kept)
    needs = needs_of(rest)
    wrong = faults(rest, needs)
    if rest.actions:
        wrong += _circles(rest, _sound(rest, needs) if wrong else needs.before.copy())
    return _unknown(schedule) + _place(wrong, rest, kept, schedule)


def unknown_actions(schedule: Schedule) -> bool:
    """Whether there are actions of stages, kinds or microbatches that the schedule does not have."""
    return not bool(_known(schedule).all())


def faults(schedule: Schedule, needs: Needs) -> tuple[Problem, ...]:
    """Actions that are repeated, missing, doubled by their parts, wrongly paired, or before what they need."""
    return (
        *_repeated(schedule),
        *_missing(schedule),
        *_mixed_backward(schedule),
        *_mispaired(schedule, needs),
        *_out_of_order(schedule, needs),
    )


def circles(schedule: Schedule, before: np.ndarray, reached: Run) -> list[list[int]]:
    """Circles in which devices wait for each other: the action that each of them stands at, by index.

    Args:
        schedule: an order.
        before: what each action waits for, as in Needs.
        reached: how far each device came.
    """
    device = schedule.device
    paired = set(schedule.pairs.tolist())
    stands: dict[int, int] = {}  # device -> the action that waits there
    for which, (at, end) in enumerate(zip(reached.reached, schedule.first[1:].tolist(), strict=True)):
        if at < end:
            second = at in paired and (before[at] < 0 or reached.end[before[at]] >= 0)
            stands[which] = at + 1 if second else at
    seen: set[int] = set()
    found = []
    for begin in stands:
        path: list[int] = []
        which = begin
        while which not in seen:
            seen.add(which)
            path.append(which)
            which = int(device[before[stands[which]]])
        if which in path:
            found.append([stands[one] for one in path[path.index(which) :]])
    return found


def _known(schedule: Schedule) -> np.ndarray:
    return (
        (schedule.stage >= 0)
        & (schedule.stage < schedule.stages)
        & (schedule.microbatch >= 0)
        & (schedule.microbatch < schedule.microbatches)
        & (schedule.kind < len(Kind))
    )


def _only(schedule: Schedule, kept: np.ndarray) -> Schedule:
    """The same order with some of its actions alone; a pair needs both of its actions."""
    place = np.full(schedule.actions + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    first, second = place[schedule.pairs], place[schedule.pairs + 1]
    return Schedule(
        name=schedule.name,
        stages=schedule.stages,
        microbatches=schedule.microbatches,
        forward_only=schedule.forward_only,
        first=np.searchsorted(kept, schedule.first),
        stage=schedule.stage[kept],
        kind=schedule.kind[kept],
        microbatch=schedule.microbatch[kept],
        pairs=first[(first >= 0) & (second >= 0)],
    )


def _place(
    found: tuple[Problem, ...], rest: Schedule, kept: np.ndarray, schedule: Schedule
) -> tuple[Problem, ...]:
    """The same problems with positions in the whole order, of which `rest` has the actions `kept`."""
    if rest is schedule:
        return found

    def moved(device: int, position: int) -> int:
        return int(kept[rest.first[device] + position] - schedule.first[device])

    return tuple(
        Problem(
            device=one.device,
            position=None if one.device is None or one.position is None else moved(one.device, one.position),
            action=one.action,
            reason=one.reason,
            places=tuple((device, moved(device, position)) for device, position in one.places),
        )
        for one in found
    )


def _unknown(schedule: Schedule) -> tuple[Problem, ...]:
    letters = [kind.letter for kind in Kind]
    found = []
    for i in np.flatnonzero(~_known(schedule)).tolist():
        stage, kind, microbatch = (
            int(array[i]) for array in (schedule.stage, schedule.kind, schedule.microbatch)
        )
        letter = letters[kind] if kind < len(letters) else "?"
        found.append(
            _at(
                schedule,
                i,
                f"{stage}{letter}{microbatch} is unknown: there are {count(schedule.stages, 'stage')} and "
                f"{count(schedule.microbatches, 'microbatch')}, both counted from 0, and kinds F, B, I, W",
                action=f"{stage}{letter}{microbatch}",
            )
        )
    return tuple(found)


def _sound(schedule: Schedule, needs: Needs) -> np.ndarray:
    """What each action waits for, without those that another fault already tells of, int64 (actions,)."""
    before = needs.before.copy()
    index = np.arange(schedule.actions)
    device = schedule.device
    here = (before >= 0) & (device[before] == device)
    before[here & (before > index)] = -1
    before[_later_copies(schedule)] = -1
    both = _both_backwards(schedule)
    before[both[schedule.stage, schedule.microbatch] & (schedule.kind != Kind.F)] = -1
    for first in schedule.pairs.tolist():
        if before[first + 1] == first:
            before[first + 1] = -1
    return before


def _circles(schedule: Schedule, before: np.ndarray) -> tuple[Problem, ...]:
    """Every circle, each as one problem; behind one the check goes on as if it were mended."""
    found: list[Problem] = []
    zeros = np.zeros(schedule.actions)
    for _ in range(_MOST_CIRCLES):
        reached = run(schedule, before, duration=zeros, delay=zeros)
        now = circles(schedule, before, reached)
        if not now:
            break
        for circle in now:
            found.append(_circle(schedule, before, circle))
            before[circle[0]] = -1
    return tuple(found)


def _circle(schedule: Schedule, before: np.ndarray, circle: list[int]) -> Problem:
    device = schedule.device
    following = [*circle[1:], circle[0]]
    steps = []
    for at, other in zip(circle, following, strict=True):
        needed = int(before[at])
        after = "" if needed == other else f", which comes after {_words(schedule, other)}"
        steps.append(
            f"{_words(schedule, at)} waits for {_words(schedule, needed)}{after} on device {int(device[other])}"
        )
    return _at(
        schedule,
        circle[0],
        f"the devices wait in a circle: {'; '.join(steps)}",
        places=tuple((int(device[at]), int(at - schedule.first[device[at]])) for at in circle),
    )


def _text(schedule: Schedule, index: int) -> str:
    kind = Kind(int(schedule.kind[index]))
    return f"{schedule.stage[index]}{kind.letter}{schedule.microbatch[index]}"


def _words(schedule: Schedule, index: int) -> str:
    kind = Kind(int(schedule.kind[index]))
    return f"{cell(int(schedule.stage[index]), int(schedule.microbatch[index]))} {kind.word}"


def _at(
    schedule: Schedule,
    index: int,
    reason: str,
    *,
    action: str | None = None,
    places: tuple[tuple[int, int], ...] = (),
) -> Problem:
    device = int(np.searchsorted(schedule.first, index, side="right")) - 1
    return Problem(
        device=device,
        position=index - int(schedule.first[device]),
        action=_text(schedule, index) if action is None else action,
        reason=reason,
        places=places,
    )


def _later_copies(schedule: Schedule) -> np.ndarray:
    """Actions that stand in the order before, ascending."""
    shape = (len(Kind), schedule.stages, schedule.microbatches)
    which = np.ravel_multi_index((schedule.kind, schedule.stage, schedule.microbatch), shape)
    index = np.arange(schedule.actions)
    first = np.full(np.prod(shape), schedule.actions, dtype=np.int64)
    np.minimum.at(first, which, index)
    return np.flatnonzero(first[which] != index)


def _repeated(schedule: Schedule) -> list[Problem]:
    return [
        _at(schedule, i, f"{_words(schedule, i)} stands in the order more than once")
        for i in _later_copies(schedule).tolist()
    ]


def _have(schedule: Schedule) -> np.ndarray:
    """Whether there is an action, bool (kinds, stages, microbatches)."""
    have = np.zeros((len(Kind), schedule.stages, schedule.microbatches), dtype=bool)
    have[schedule.kind, schedule.stage, schedule.microbatch] = True
    return have


def _both_backwards(schedule: Schedule) -> np.ndarray:
    """Whether a stage and microbatch has a full backward and parts of one, bool (stages, microbatches)."""
    have = _have(schedule)
    both: np.ndarray = have[Kind.B] & (have[Kind.I] | have[Kind.W])
    return both


def _missing(schedule: Schedule) -> list[Problem]:
    have = _have(schedule)
    lacking = [(Kind.F, ~have[Kind.F])]
    if not schedule.forward_only:
        # A stage's backward is one B, or an I and a W; with either half there, the other is missing.
        split = have[Kind.I] | have[Kind.W]
        lacking.append((Kind.B, ~have[Kind.B] & ~split))
        lacking.append((Kind.I, ~have[Kind.I] & have[Kind.W]))
        lacking.append((Kind.W, ~have[Kind.W] & have[Kind.I]))
    found: list[Problem] = []
    total = 0
    for kind, absent in lacking:
        total += int(absent.sum())
        for stage, microbatch in np.argwhere(absent)[: _MOST_MISSING - len(found)].tolist():
            found.append(
                Problem(
                    device=None,
                    position=None,
                    action=f"{stage}{kind.letter}{microbatch}",
                    reason=f"{cell(stage, microbatch)} {kind.word} is missing: no device has it in its order",
                )
            )
    if total > len(found):
        rest = f"and {total - len(found):,} more actions are missing"
        found.append(Problem(device=None, position=None, action="", reason=rest))
    return found


def _mixed_backward(schedule: Schedule) -> list[Problem]:
    twice = _both_backwards(schedule)[schedule.stage, schedule.microbatch] & (schedule.kind == Kind.B)
    return [
        _at(
            schedule,
            i,
            f"{_words(schedule, i)} is a full backward, and its parts I or W stand in the order too",
        )
        for i in np.flatnonzero(twice).tolist()
    ]


def _mispaired(schedule: Schedule, needs: Needs) -> list[Problem]:
    """Pairs that overlap an action with one that builds on it."""
    found = []
    for first in schedule.pairs.tolist():
        second = first + 1
        if first in (needs.local[second], needs.before[second]) or needs.before[first] == second:
            reason = (
                f"{_words(schedule, second)} overlaps with {_words(schedule, first)}, "
                f"and one of them needs what the other computes"
            )
            found.append(_at(schedule, first, reason))
    return found


def _out_of_order(schedule: Schedule, needs: Needs) -> list[Problem]:
    """Actions before what they need on the same device, and backwards away from their forward."""
    index = np.arange(schedule.actions)
    device = schedule.device
    found = []
    for needed in (needs.local, needs.before):
        there = needed >= 0
        same = there & (device[needed] == device)
        for i in np.flatnonzero(same & (needed > index)).tolist():
            reason = f"{_words(schedule, i)} stands before {_words(schedule, int(needed[i]))}, which it needs"
            found.append(_at(schedule, i, reason))
    apart = (needs.local >= 0) & (device[needs.local] != device)
    for i in np.flatnonzero(apart).tolist():
        other = int(needs.local[i])
        reason = (
            f"{_words(schedule, i)} needs what {_words(schedule, other)} kept, "
            f"and that is on device {int(device[other])}"
        )
        found.append(_at(schedule, i, reason))
    return found
