"""Why an order of actions cannot run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.names import cell
from parakit.pipeline.order import Kind, Schedule
from parakit.pipeline.run import Needs, Run, needs_of, run

_MOST_MISSING = 1_000  # sentences about missing actions; the rest is one count


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One fault of an order: where it stands and why it is one."""

    device: int | None  # None when no device has the action
    position: int | None  # in the device's order, from 0
    action: str  # as in to_text: "1B0"; "" when many are meant
    reason: str

    def __str__(self) -> str:
        if self.device is None:
            return self.reason
        return f"device {self.device}, position {self.position}: {self.reason}"


def problems(schedule: Schedule) -> tuple[Problem, ...]:
    """Every fault: repeated, missing and misplaced actions; without those, devices that get stuck."""
    needs = needs_of(schedule)
    found = misplaced(schedule, needs)
    if not found:
        zeros = np.zeros(schedule.actions)
        found = stuck(schedule, needs, run(schedule, needs, duration=zeros, delay=zeros))
    return found


def misplaced(schedule: Schedule, needs: Needs) -> tuple[Problem, ...]:
    """Actions that are repeated, missing, doubled by their parts, or before what they build on."""
    return (
        *_repeated(schedule),
        *_missing(schedule),
        *_mixed_backward(schedule),
        *_out_of_order(schedule, needs),
    )


def stuck(schedule: Schedule, needs: Needs, reached: Run) -> tuple[Problem, ...]:
    """Where each device stands when it cannot go on."""
    found = []
    for at, end in zip(reached.reached, schedule.first[1:].tolist(), strict=True):
        if at < end:
            other = int(needs.before[at])
            reason = (
                f"{_words(schedule, at)} waits for {_words(schedule, other)}, which never comes: "
                f"the devices wait for each other"
            )
            found.append(_at(schedule, at, reason))
    return tuple(found)


def _text(schedule: Schedule, index: int) -> str:
    kind = Kind(int(schedule.kind[index]))
    return f"{schedule.stage[index]}{kind.letter}{schedule.microbatch[index]}"


def _words(schedule: Schedule, index: int) -> str:
    kind = Kind(int(schedule.kind[index]))
    return f"{cell(int(schedule.stage[index]), int(schedule.microbatch[index]))} {kind.word}"


def _at(schedule: Schedule, index: int, reason: str) -> Problem:
    device = int(np.searchsorted(schedule.first, index, side="right")) - 1
    return Problem(
        device=device,
        position=index - int(schedule.first[device]),
        action=_text(schedule, index),
        reason=reason,
    )


def _repeated(schedule: Schedule) -> list[Problem]:
    shape = (len(Kind), schedule.stages, schedule.microbatches)
    first = np.full(shape, schedule.actions, dtype=np.int64)
    where = (schedule.kind, schedule.stage, schedule.microbatch)
    index = np.arange(schedule.actions)
    np.minimum.at(first, where, index)
    return [
        _at(schedule, i, f"{_words(schedule, i)} stands in the order more than once")
        for i in np.flatnonzero(first[where] != index).tolist()
    ]


def _missing(schedule: Schedule) -> list[Problem]:
    shape = (schedule.stages, schedule.microbatches)
    have = np.zeros((len(Kind), *shape), dtype=bool)
    have[schedule.kind, schedule.stage, schedule.microbatch] = True
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
    have = np.zeros((len(Kind), schedule.stages, schedule.microbatches), dtype=bool)
    have[schedule.kind, schedule.stage, schedule.microbatch] = True
    both = have[Kind.B] & (have[Kind.I] | have[Kind.W])
    twice = both[schedule.stage, schedule.microbatch] & (schedule.kind == Kind.B)
    return [
        _at(
            schedule,
            i,
            f"{_words(schedule, i)} is a full backward, and its parts I or W stand in the order too",
        )
        for i in np.flatnonzero(twice).tolist()
    ]


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
