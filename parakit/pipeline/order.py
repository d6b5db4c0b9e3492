"""A schedule is data: for each device, the order of its actions. It knows no durations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from parakit.checks import unknown

if TYPE_CHECKING:
    from parakit.pipeline.check import Problem


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


class Move(IntEnum):
    """What a compute-and-communicate row does besides computing, by the names that torch writes."""

    SEND_F = 0
    RECV_F = 1
    SEND_B = 2
    RECV_B = 3
    UNSHARD = 4
    RESHARD = 5
    REDUCE_GRAD = 6


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Moves:
    """Sends, receives and gathers that a text had among its actions, in each device's order."""

    device: np.ndarray  # int32 (moves,)
    before: np.ndarray  # int64, index of the action it stands before; the device's end after its last
    stage: np.ndarray  # int32
    kind: np.ndarray  # uint8, values of Move
    microbatch: np.ndarray  # int32, -1 where the whole stage is meant

    def __post_init__(self) -> None:
        for array in (self.device, self.before, self.stage, self.kind, self.microbatch):
            array.setflags(write=False)


def no_pairs() -> np.ndarray:
    """Of an order in which nothing overlaps, int64 (0,)."""
    return np.zeros(0, dtype=np.int64)


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
    # Actions (F) that run overlapped with the next (B or I), int64, ascending.
    pairs: np.ndarray = field(default_factory=no_pairs)
    moves: Moves | None = None  # what else a text had in its rows; nothing is computed from it

    def __post_init__(self) -> None:
        for array in (self.first, self.stage, self.kind, self.microbatch, self.pairs):
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

    @property
    def stages_each(self) -> float:
        """Shares of the model's stages that a device computes: `stages` over `devices`.

        With dualpipe each device holds two stages but computes half of the microbatches of both.
        """
        return self.stages / self.devices

    @property
    def one_stage_each(self) -> bool:
        """Whether a device is as good as a stage: device d has stage d alone."""
        return self.stages == self.devices and bool((self.stage == self.device).all())

    @property
    def overlapped(self) -> np.ndarray:
        """Whether each action runs overlapped with its neighbour, bool (actions,)."""
        both = np.zeros(self.actions, dtype=bool)
        both[self.pairs] = both[self.pairs + 1] = True
        return both

    def problems(self, communication: str = "free") -> tuple[Problem, ...]:
        r"""Every reason why this order cannot run, or does not finish the step; empty when legal.

        Args:
            communication: "free": a result is there for whoever needs it once it is computed.
                "blocking": also deadlocks of sends and receives that wait for each other, each
                with the pair to fuse. A device receives right before an action and sends right
                after it, or where the text's own SEND and RECV cells stand.

        Raises:
            ValueError: another kind of communication is asked for.

        Example:
            >>> mine = Schedule.from_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1")
            >>> mine.problems()
            ()
            >>> print(mine.problems("blocking")[0].reason.split(":")[0])
            devices 0 and 1 both send first and wait for each other
        """
        from parakit.pipeline.blocking import blocked  # they need this module
        from parakit.pipeline.check import problems

        if communication not in ("free", "blocking"):
            raise ValueError(unknown("kind of communication", communication, ["free", "blocking"]))
        found = problems(self)
        return found if found or communication == "free" else blocked(self)

    def to_text(self, *, moves: bool = True) -> str:
        """One line a device, actions as stage, kind, microbatch from 0, separated by commas.

        The form that torch.distributed.pipelining reads and writes; overlapped pairs stand in
        brackets, as `(0F1;3B0)OVERLAP_F_B`.

        Args:
            moves: write the SEND, RECV, UNSHARD, … cells too that a text had.

        Example:
            >>> print(Schedule.from_text("0F0,0B0").to_text())
            0F0,0B0
        """
        from parakit.pipeline.text import write

        return write(self, moves=moves)

    @classmethod
    def from_text(
        cls,
        text: str,
        name: str = "your own",
        *,
        stages: int | None = None,
        microbatches: int | None = None,
        moves: bool = True,
    ) -> Schedule:
        """The schedule a text describes: a line a device, empty cells (idle) left out.

        Whether the order can run is for `problems` to say. Without a single backward action it
        is forward only.

        Args:
            text: as `to_text` and torch.distributed.pipelining write it.
            name: what to call it.
            stages: of the model; None means as many as the text's largest number says.
            microbatches: of the batch; None as above.
            moves: keep SEND, RECV, UNSHARD, … cells for `to_text`; False drops them.

        Raises:
            ValueError: a cell is not an action, or there is none; line and cell are named.

        Example:
            >>> mine = Schedule.from_text("0F0,0F1,0B0,0B1")
            >>> mine.devices, mine.microbatches, mine.problems()
            (1, 2, ())
        """
        from parakit.pipeline.text import read

        return read(text, name, stages=stages, microbatches=microbatches, moves=moves)
