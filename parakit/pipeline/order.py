"""A schedule is data: for each device, the order of its actions. It knows no durations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parakit.checks import shown

if TYPE_CHECKING:
    from parakit.pipeline.check import Problem

LARGEST_INDEX = 10_000_000  # of a stage or microbatch in a text: past it a number is a mistake
LARGEST_TEXT = 4_000_000  # stages × microbatches of a text


class Kind(IntEnum):
    """What an action does: F forward, B full backward, I backward for inputs, W backward for weights."""

    F = 0
    B = 1
    I = 2  # noqa: E741  # the field's letter
    W = 3

    @property
    def letter(self) -> str:
        """The letter that torch.distributed.pipelining writes."""
        return self.name

    @property
    def word(self) -> str:
        """What a learner reads."""
        return ("forward", "backward", "backward for inputs", "backward for weights")[self]


class ScheduleError(ValueError):
    """A schedule that cannot run; `.problems` names every fault."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        most = 20
        lines = [f"\n  - {one}" for one in problems[:most]]
        if len(problems) > most:
            lines.append(f"\n  - and {len(problems) - most:,} more")
        super().__init__("this schedule cannot run:" + "".join(lines))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Schedule:
    """The order of every device's actions: what is done after what, not when.

    Arrays have one entry an action, device after device, each device's in its order.
    """

    name: str
    stages: int
    microbatches: int
    forward_only: bool
    first: np.ndarray  # int64 (devices + 1,): device d has the actions first[d] to first[d + 1]
    stage: np.ndarray  # int32
    kind: np.ndarray  # uint8, values of Kind
    microbatch: np.ndarray  # int32

    def __post_init__(self) -> None:
        for array in (self.first, self.stage, self.kind, self.microbatch):
            array.setflags(write=False)

    @property
    def devices(self) -> int:
        """Number of devices."""
        return len(self.first) - 1

    @property
    def actions(self) -> int:
        """Number of actions on all devices."""
        return len(self.stage)

    @property
    def device(self) -> np.ndarray:
        """Device of each action, int32."""
        return np.repeat(np.arange(self.devices, dtype=np.int32), np.diff(self.first))

    def problems(self, communication: str = "free") -> tuple[Problem, ...]:
        """Every reason why this order cannot run, or does not finish the step; empty when legal.

        Args:
            communication: "free": a result is there for whoever needs it once it is computed.

        Raises:
            ValueError: another kind of communication is asked for.
        """
        from parakit.pipeline.check import problems  # it needs this module

        if communication != "free":
            raise ValueError(
                f"communication is {shown(communication)}: 'free' is the only kind checked so far"
            )
        return problems(self)

    def to_text(self) -> str:
        """One line a device, actions as stage, kind, microbatch from 0, separated by commas.

        The form that torch.distributed.pipelining reads and writes.

        Example:
            >>> print(Schedule.from_text("0F0,0B0").to_text())
            0F0,0B0
        """
        letters = [kind.letter for kind in Kind]
        cells = [
            f"{stage}{letters[kind]}{microbatch}"
            for stage, kind, microbatch in zip(
                self.stage.tolist(), self.kind.tolist(), self.microbatch.tolist(), strict=True
            )
        ]
        bounds = self.first.tolist()
        return "\n".join(",".join(cells[start:end]) for start, end in pairwise(bounds))

    @classmethod
    def from_text(cls, text: str, name: str = "your own") -> Schedule:
        """The schedule a text describes: a line a device, empty cells (idle) left out.

        Stages and microbatches are as many as the text's largest numbers say; whether the order
        can run is for `problems` to say. Without a single backward action it is forward only.

        Raises:
            ValueError: a cell is not an action, or there is none; line and cell are named.

        Example:
            >>> mine = Schedule.from_text("0F0,0F1,0B0,0B1")
            >>> mine.devices, mine.microbatches, mine.problems()
            (1, 2, ())
        """
        if not isinstance(text, str):
            raise ValueError(f"a schedule's text is expected, such as '0F0,0B0', not {shown(text)}")
        rows = [_row(line, number) for number, line in enumerate(text.strip("\n").split("\n"), start=1)]
        flat = [action for row in rows for action in row]
        if not flat:
            raise ValueError("the text has no actions: write a line a device, such as 0F0,0F1,0B0,0B1")
        stage, kind, microbatch = np.array(flat, dtype=np.int64).T
        places = (int(stage.max()) + 1) * (int(microbatch.max()) + 1)
        if places > LARGEST_TEXT:  # checking takes memory for each
            raise ValueError(
                f"the text speaks of {int(stage.max()) + 1:,} stages and {int(microbatch.max()) + 1:,} "
                f"microbatches: stages × microbatches may be at most {LARGEST_TEXT:,}; count both from 0"
            )
        return cls(
            name=name,
            stages=int(stage.max()) + 1,
            microbatches=int(microbatch.max()) + 1,
            forward_only=bool((kind == Kind.F).all()),
            first=np.cumsum([0, *(len(row) for row in rows)]),
            stage=stage.astype(np.int32),
            kind=kind.astype(np.uint8),
            microbatch=microbatch.astype(np.int32),
        )


_CELL = re.compile(r"([0-9]{1,9})([FBIW])([0-9]{1,9})", re.ASCII)


def _row(line: str, number: int) -> list[tuple[int, int, int]]:
    actions = []
    for place, cell in enumerate(line.split(","), start=1):
        written = cell.strip()
        if not written:
            continue
        found = _CELL.fullmatch(written)
        if found is None or max(int(found[1]), int(found[3])) > LARGEST_INDEX:
            raise ValueError(
                f"line {number}, cell {place}: {shown(written)} is not an action; write stage, kind and "
                f"microbatch counted from 0, such as 0F0, with kind F, B, I or W"
            )
        actions.append((int(found[1]), int(Kind[found[2]]), int(found[3])))
    return actions
