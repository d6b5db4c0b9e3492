"""Traffic bars: what one device sends in a step, strategy by strategy."""

from __future__ import annotations

from parakit.checks import whole_number_fault
from parakit.draw.frame import LEFT, TOP, WIDTH, heading, legend, row_names
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Cells, Line, Scene, Text
from parakit.names import stage_letters
from parakit.traffic import Strategy, Traffic, When
from parakit.units import bytes_text

_END = 800.0  # px, right end of the bars; totals stand beyond it
_STEP, _HEIGHT = 50.0, 40.0
_ROLES = {When.FORWARD: "F", When.BACKWARD: "B", When.UPDATE: "W"}


def traffic(sent: Traffic, *, rank: int | None = None, shows: float | None = None) -> Picture:
    """Bars of what one device sends in a step: a row a strategy, a part a transfer.

    Args:
        sent: as from `pk.traffic`.
        rank: pipeline rank of the device; None means one that sends most.
        shows: bytes that the axis reaches to, so that bars can be compared; None means as needed.

    Raises:
        ValueError: there is no such pipeline rank in it.
    """
    ranks = sorted({one.rank for one in sent})
    if rank is None:
        rank = max(ranks, key=lambda one: sent.total(rank=one), default=0)
    elif whole_number_fault(rank, least=0) or (ranks and rank not in ranks):
        raise ValueError(
            f"rank is {rank!r}: it must be a pipeline rank that sends something, from 0 to {max(ranks, default=0)}"
        )
    mine = [one for one in sent if one.rank == rank]
    totals = {strategy: sent.total(strategy, rank) for strategy in Strategy}
    reach = shows or max(totals.values()) or 1.0
    parts: list[Cells | Box | Line | Text] = [
        *heading(_headline(totals, rank), "bytes that one device sends, ring algorithms"),
        *row_names([strategy.value for strategy in Strategy], _STEP, _HEIGHT),
    ]
    for row, strategy in enumerate(Strategy):
        top = TOP + row * _STEP
        x = LEFT
        for one in mine:
            if one.strategy != strategy:
                continue
            width = min(one.total / reach * (_END - LEFT), _END - x)
            if width <= 0:
                continue
            words = f"{one.what}, {one.collective}: {one.count:,} × {bytes_text(one.bytes)}, {one.when}"
            role = _ROLES[one.when]
            parts.append(Box(x=x, y=top, width=width, height=_HEIGHT, role=role, tooltip=words, edge="paper"))
            x += width
        text = bytes_text(totals[strategy]) if totals[strategy] else "nothing"
        parts.append(Text(x=WIDTH - 10, y=top + _HEIGHT / 2 + 5, text=text, size=15, anchor="end"))
    bottom = TOP + len(Strategy) * _STEP
    parts += legend([(_ROLES[when], f"sent in {when}") for when in When], bottom + 8)
    scene = Scene(
        width=WIDTH,
        height=bottom + 36,
        used=bottom + 36,
        headline=_headline(totals, rank),
        alt=f"bytes sent by a device of pipeline rank {stage_letters(rank)}: "
        + ", ".join(f"{one.value} {bytes_text(totals[one])}" for one in Strategy),
        parts=tuple(parts),
    )
    return Picture(scene)


def _headline(totals: dict[Strategy, float], rank: int) -> str:
    total = sum(totals.values())
    if not total:
        return "One device alone sends nothing"
    most = max(totals, key=lambda one: totals[one])
    return (
        f"A device of stage {stage_letters(rank)} sends {bytes_text(total)} a step, "
        f"most of it for the {most} split: {bytes_text(totals[most])}"
    )
