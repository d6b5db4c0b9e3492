"""Rows of a grid: cells, idle bands, names, outlines and the time beneath them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from parakit.checks import shown
from parakit.draw.frame import LEFT, RIGHT, TOP, pitch, row_names
from parakit.draw.scene import SMALLEST_CELL, Box, Cells, Line, Text, nice_ticks
from parakit.names import cell, count, stage_letters
from parakit.pipeline import Kind, Schedule, Timeline, TimeUnit
from parakit.units import number, percent

Part = Cells | Box | Line | Text

_MOST_ROWS = 512
_MOST_CELLS = 200_000  # the SVG has about 30 bytes a cell


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where rows stand in a picture, px."""

    step: float  # from row to row
    height: float  # of a row
    scale: float  # of a unit of time
    top: float = TOP  # of the first row

    @classmethod
    def of(cls, rows: int, span: float, top: float = TOP, step: float | None = None) -> Place:
        """For so many rows and so long a time over the usual width."""
        step = pitch(rows) if step is None else step
        height = step - (6.0 if step >= 25 else max(step * 0.15, 1.0))
        return cls(step=step, height=height, scale=(RIGHT - LEFT) / span if span else 0.0, top=top)

    def y(self, row: int) -> float:
        """Top of a row."""
        return self.top + row * self.step


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """How a timeline's times are written."""

    factor: float
    unit: str  # after a number; "" for slots
    axis: str  # beneath the axis

    @classmethod
    def of(cls, timeline: Timeline) -> Clock:
        """Slots as they are; seconds as milliseconds where there are few."""
        if timeline.unit == TimeUnit.SLOT:
            return cls(factor=1.0, unit="", axis="time (one forward slot = 1)")
        if timeline.span < 1:
            return cls(factor=1e3, unit="ms", axis="time (ms)")
        return cls(factor=1.0, unit="s", axis="time (s)")

    def length(self, time: float) -> str:
        """A time in words."""
        if self.unit:
            return f"{float(f'{time * self.factor:.3g}'):g} {self.unit}"
        return count(int(time), "slot") if time == int(time) else f"{number(time)} slots"


def require_drawable(schedule: Schedule) -> None:
    """Refuse what would be no picture, before time is spent on it.

    Raises:
        ValueError: more than 512 devices or 200,000 cells.
    """
    if schedule.devices > _MOST_ROWS:
        raise ValueError(
            f"a grid of {schedule.devices:,} rows cannot be read: draw at most {_MOST_ROWS} stages"
        )
    if schedule.actions > _MOST_CELLS:
        raise ValueError(
            f"a grid of {schedule.actions:,} cells cannot be read: draw at most {_MOST_CELLS:,}, "
            f"with fewer stages or microbatches"
        )


def checked_follow(follow: int | None, microbatches: int) -> int | None:
    """A microbatch to follow, or None.

    Raises:
        ValueError: there is no such microbatch.
    """
    if follow is not None and not 0 <= follow < microbatches:
        raise ValueError(f"follow is {shown(follow)}: microbatches count from 0 to {microbatches - 1}")
    return follow


def rows_of(timeline: Timeline, place: Place) -> list[Part]:
    """The grid's rows alone: idle bands, names and cells."""
    width = timeline.span * place.scale
    names = [row_name(timeline.schedule, row) for row in range(timeline.devices)]
    return [
        *(
            Box(x=LEFT, y=place.y(row), width=width, height=place.height, role="idle")
            for row in range(timeline.devices)
        ),
        *row_names(names, place.step, place.height, place.top),
        *cells_of(timeline, place),
    ]


def row_name(schedule: Schedule, row: int) -> str:
    """A device's stage, or the device itself where it has several stages."""
    return f"stage {stage_letters(row)}" if schedule.one_stage_each else f"device {row + 1}"


def kinds_of(*timelines: Timeline) -> list[tuple[str, str]]:
    """Letter and word of each kind of action that is there, for the legend."""
    there = np.unique(np.concatenate([timeline.kind for timeline in timelines]))
    return [(Kind(kind).letter, Kind(kind).word) for kind in there.tolist()]


def cells_of(timeline: Timeline, place: Place) -> list[Cells]:
    """A cell an action; of an overlapped pair the forward above, the backward beneath."""
    alone = np.flatnonzero(~timeline.overlapped)
    drawn = [_cells(timeline, place, alone)] if len(alone) else []
    both = np.flatnonzero(timeline.overlapped)
    return [*drawn, _cells(timeline, place, both, halves=True)] if len(both) else drawn


def _cells(timeline: Timeline, place: Place, chosen: np.ndarray, *, halves: bool = False) -> Cells:
    begin, clock = timeline.start.min(), Clock.of(timeline)
    start, end = timeline.start[chosen] - begin, timeline.end[chosen] - begin
    width = (end - start) * place.scale
    words = [kind.word for kind in Kind]
    stages, microbatches = timeline.stage[chosen], timeline.microbatch[chosen]
    kinds = timeline.kind[chosen]
    labels, tooltips = [""] * len(chosen), [""] * len(chosen)
    unit = f" {clock.unit}" if clock.unit else ""
    # Words only for cells that can show them: a large grid has many that cannot.
    for i in np.flatnonzero(width >= SMALLEST_CELL).tolist():
        stage, microbatch = int(stages[i]), int(microbatches[i])
        labels[i] = cell(stage, microbatch)
        tooltips[i] = (
            f"{labels[i]}: stage {stage_letters(stage)}, microbatch {microbatch + 1}, "
            f"{words[kinds[i]]}{', overlapped' if halves else ''}, "
            f"{start[i] * clock.factor:.6g} to {end[i] * clock.factor:.6g}{unit}"
        )
    shares = timeline.idle / timeline.span if timeline.span else np.zeros(timeline.devices)
    tops = [place.y(row) for row in range(timeline.devices)]
    rows, height = timeline.device[chosen], place.height
    row_tooltips = [
        f"{row_name(timeline.schedule, row)}: idle {percent(share)}"
        for row, share in enumerate(shares.tolist())
    ]
    if halves:
        height = place.height / 2
        tops = [top + below for top in tops for below in (0.0, height)]
        rows = 2 * rows + (kinds != Kind.F)
        row_tooltips = [words for words in row_tooltips for _ in range(2)]
    return Cells(
        x=LEFT + start * place.scale,
        width=width,
        row=rows,
        role=kinds,
        top=tuple(tops),
        height=height,
        roles=tuple(kind.letter for kind in Kind),
        labels=tuple(labels),
        tooltips=tuple(tooltips),
        row_tooltips=tuple(row_tooltips),
        label_x=LEFT + start * place.scale + width / 2,
        label_room=width,
        striped=not halves or height >= 20,
    )


def outlines(timeline: Timeline, chosen: np.ndarray, place: Place, role: str = "accent") -> list[Box]:
    """A line around each chosen action, with a halo of paper, over its neighbours."""
    begin = float(timeline.start.min())
    boxes = []
    for device, kind, overlapped, start, end in zip(
        timeline.device[chosen].tolist(),
        timeline.kind[chosen].tolist(),
        timeline.overlapped[chosen].tolist(),
        timeline.start[chosen].tolist(),
        timeline.end[chosen].tolist(),
        strict=True,
    ):
        height = place.height / 2 if overlapped else place.height
        below = height if overlapped and kind != Kind.F else 0.0
        for edge, width in (("paper", 7.0), (role, 3.0)):
            boxes.append(
                Box(
                    x=LEFT + (start - begin) * place.scale,
                    y=place.y(device) + below,
                    width=(end - start) * place.scale,
                    height=height,
                    role="",
                    edge=edge,
                    edge_width=width,
                )
            )
    return boxes


def path_parts(timeline: Timeline, place: Place) -> list[Box | Line]:
    """The critical path: its cells outlined, and a line from each to the next on another device."""
    path = timeline.critical_path
    begin = float(timeline.start.min())
    lines = []
    for one, other in zip(path[:-1].tolist(), path[1:].tolist(), strict=True):
        if timeline.device[one] == timeline.device[other]:
            continue
        down = timeline.device[other] > timeline.device[one]
        x1, x2 = (
            LEFT + (float(moment) - begin) * place.scale
            for moment in (timeline.end[one], timeline.start[other])
        )
        y1 = place.y(int(timeline.device[one])) + (place.height if down else 0.0)
        y2 = place.y(int(timeline.device[other])) + (0.0 if down else place.height)
        for role, width in (("paper", 7.0), ("ink", 3.0)):
            lines.append(Line(x1=x1, y1=y1, x2=x2, y2=y2, role=role, width=width))
    return [*lines, *outlines(timeline, path, place, "ink")]


def time_axis(timeline: Timeline, bottom: float, scale: float) -> list[Line | Text]:
    """Round steps of time beneath the rows, and their unit."""
    clock = Clock.of(timeline)
    span = timeline.span * clock.factor
    if timeline.unit == TimeUnit.SECOND:  # what was measured needs no more digits than can be read
        span = float(f"{span:.3g}")
    return axis(nice_ticks(span), clock.axis, bottom, scale / clock.factor)


def axis(ticks: Iterable[float], words: str, bottom: float, scale: float) -> list[Line | Text]:
    """Ticks and what they count."""
    parts: list[Line | Text] = []
    for tick in ticks:
        x = LEFT + tick * scale
        parts.append(Line(x1=x, y1=bottom, x2=x, y2=bottom + 5, role="muted"))
        parts.append(Text(x=x, y=bottom + 18, text=number(tick), size=13, role="muted", anchor="middle"))
    parts.append(
        Text(x=(LEFT + RIGHT) / 2, y=bottom + 38, text=words, size=14, role="muted", anchor="middle")
    )
    return parts
