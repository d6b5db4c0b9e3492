"""A schedule as text: the rows that torch.distributed.pipelining reads and writes."""

from __future__ import annotations

import re

import numpy as np

from parakit.checks import shown, whole
from parakit.pipeline.order import Kind, Move, Moves, Schedule

LARGEST_INDEX = 10_000_000  # of a stage or microbatch: past it a number is a mistake
LARGEST_TEXT = 4_000_000  # stages × microbatches of a text: checking takes memory for each

_CELL = re.compile(r"([0-9]{1,9})([FBIW])([0-9]{1,9})", re.ASCII)
_MOVE = re.compile(rf"([0-9]{{1,9}})({'|'.join(move.name for move in Move)})([0-9]{{0,9}})", re.ASCII)
_PAIR = re.compile(r"\(([^()]*)\)OVERLAP_F_B", re.ASCII)


def write(schedule: Schedule, *, moves: bool) -> str:
    """A line a device, its cells separated by commas."""
    letters = [kind.letter for kind in Kind]
    cells = [
        f"{stage}{letters[kind]}{microbatch}"
        for stage, kind, microbatch in zip(
            schedule.stage.tolist(), schedule.kind.tolist(), schedule.microbatch.tolist(), strict=True
        )
    ]
    for at in schedule.pairs.tolist():
        cells[at], cells[at + 1] = f"({cells[at]};{cells[at + 1]})OVERLAP_F_B", ""
    rows: list[list[str]] = [[] for _ in range(schedule.devices)]
    between = _moves_by_place(schedule) if moves else {}
    for device, row in enumerate(rows):
        for at in range(int(schedule.first[device]), int(schedule.first[device + 1])):
            if between:
                row += between.get((device, at), ())
            if cells[at]:
                row.append(cells[at])
        row += between.get((device, int(schedule.first[device + 1])), ())
    return "\n".join(map(",".join, rows))


def _moves_by_place(schedule: Schedule) -> dict[tuple[int, int], list[str]]:
    """Cells of the moves, by device and by the action that they stand before."""
    places: dict[tuple[int, int], list[str]] = {}
    if schedule.moves is None:
        return places
    names = [move.name for move in Move]
    for device, before, stage, kind, microbatch in zip(
        schedule.moves.device.tolist(),
        schedule.moves.before.tolist(),
        schedule.moves.stage.tolist(),
        schedule.moves.kind.tolist(),
        schedule.moves.microbatch.tolist(),
        strict=True,
    ):
        which = "" if microbatch < 0 else microbatch
        places.setdefault((device, before), []).append(f"{stage}{names[kind]}{which}")
    return places


def read(text: str, name: str, *, stages: int | None, microbatches: int | None, moves: bool) -> Schedule:
    """The schedule a text describes; `Schedule.from_text` says what is refused."""
    if not isinstance(text, str):
        raise ValueError(f"a schedule's text is expected, such as '0F0,0B0', not {shown(text)}")
    read = _Reader()
    first = [0]
    for number, line in enumerate(text.strip("\r\n").split("\n"), start=1):
        read.row(line, number)
        first.append(len(read.actions))
    if not read.actions:
        raise ValueError("the text has no actions: write a line a device, such as 0F0,0F1,0B0,0B1")
    stage, kind, microbatch = np.array(read.actions, dtype=np.int64).T
    most_stages = int(stage.max()) + 1 if stages is None else whole("stages", stages)
    most_microbatches = (
        int(microbatch.max()) + 1 if microbatches is None else whole("microbatches", microbatches)
    )
    if most_stages * most_microbatches > LARGEST_TEXT:
        raise ValueError(
            f"the text speaks of {shown(most_stages)} stages and {shown(most_microbatches)} "
            f"microbatches: stages × microbatches may be at most {LARGEST_TEXT:,}; count both from 0"
        )
    return Schedule(
        name=name,
        stages=most_stages,
        microbatches=most_microbatches,
        forward_only=bool((kind == Kind.F).all()),
        first=np.array(first, dtype=np.int64),
        stage=stage.astype(np.int32),
        kind=kind.astype(np.uint8),
        microbatch=microbatch.astype(np.int32),
        pairs=np.array(read.pairs, dtype=np.int64),
        moves=read.kept() if moves and read.moves else None,
    )


class _Reader:
    """Collects what the lines of a text say."""

    def __init__(self) -> None:
        self.actions: list[tuple[int, int, int]] = []  # stage, kind, microbatch
        self.pairs: list[int] = []
        self.moves: list[tuple[int, int, int, int, int]] = []  # as the arrays of Moves

    def row(self, line: str, number: int) -> None:
        """One device's line, counted from 1."""
        for place, cell in enumerate(line.split(","), start=1):
            written = cell.strip()
            if written and not self._take(written, number - 1):
                raise ValueError(f"line {number}, cell {place}: {shown(written)} is not an action; {_RULE}")

    def kept(self) -> Moves:
        """The moves as arrays."""
        device, before, stage, kind, microbatch = np.array(self.moves, dtype=np.int64).T
        return Moves(
            device=device.astype(np.int32),
            before=before.copy(),
            stage=stage.astype(np.int32),
            kind=kind.astype(np.uint8),
            microbatch=microbatch.astype(np.int32),
        )

    def _take(self, written: str, device: int) -> bool:
        actions = parse_cell(written)
        if actions:
            if len(actions) == 2:
                self.pairs.append(len(self.actions))
            self.actions += actions
            return True
        found = _MOVE.fullmatch(written)
        if found is None or int(found[1]) > LARGEST_INDEX or int(found[3] or 0) > LARGEST_INDEX:
            return False
        which = int(found[3]) if found[3] else -1
        self.moves.append((device, len(self.actions), int(found[1]), int(Move[found[2]]), which))
        return True


def parse_cell(written: str) -> list[tuple[int, int, int]]:
    """Stage, kind and microbatch of an action, or of both of an overlapped pair, the F first; else none."""
    if found := _PAIR.fullmatch(written):
        both = [one for part in found[1].split(";") for one in _action(part.strip())]
        if len(both) != 2 or found[1].count(";") != 1:
            return []
        forward, backward = sorted(both, key=lambda one: one[1] != Kind.F)
        good = forward[1] == Kind.F and backward[1] in (Kind.B, Kind.I)
        return [forward, backward] if good else []
    return _action(written)


_RULE = (
    "write stage, kind and microbatch counted from 0, such as 0F0, with kind F, B, I or W; an overlapped "
    "pair as (0F1;3B0)OVERLAP_F_B; communication as 0SEND_F0 or 0UNSHARD"
)


def _action(written: str) -> list[tuple[int, int, int]]:
    found = _CELL.fullmatch(written)
    if found is None or max(int(found[1]), int(found[3])) > LARGEST_INDEX:
        return []
    return [(int(found[1]), int(Kind[found[2]]), int(found[3]))]
