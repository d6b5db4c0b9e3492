"""The stage-by-time grid: what each device does when, and when it waits."""

from __future__ import annotations

import numpy as np

from parakit.checks import shown
from parakit.draw.frame import LEFT, RIGHT, TOP, WIDTH, heading, legend, pitch, row_names
from parakit.draw.picture import Picture
from parakit.draw.scene import SMALLEST_CELL, Box, Cells, Line, Scene, Text, nice_ticks
from parakit.names import cell, count, stage_letters
from parakit.pipeline import Kind, Schedule, Timeline
from parakit.units import number, percent

_MOST_ROWS = 512
_MOST_CELLS = 200_000  # the SVG has about 30 bytes a cell


def grid(timeline: Timeline, *, rows: int | None = None, follow: int | None = None) -> Picture:
    """The grid of a timeline: a row a device, a cell an action, A1, B1, …, idle time hatched.

    Args:
        timeline: what to draw.
        rows: leave room for this many rows, so that the picture keeps its box while a slider
            changes the number of devices; None means as many as there are.
        follow: a microbatch, from 0, whose cells are outlined.

    Raises:
        ValueError: more than 512 devices or 200,000 cells, or there is no such microbatch.
    """
    require_drawable(timeline.schedule)
    devices = timeline.devices
    microbatches = timeline.schedule.microbatches
    if follow is not None and not 0 <= follow < microbatches:
        raise ValueError(f"follow is {shown(follow)}: microbatches count from 0 to {microbatches - 1}")
    room = max(rows or devices, devices)
    step = pitch(room)
    height = step - (6.0 if step >= 25 else max(step * 0.15, 1.0))
    span = timeline.span
    scale = (RIGHT - LEFT) / span if span else 0.0
    bottom = TOP + devices * step
    headline, subtitle = _words(timeline)
    parts: list[Cells | Box | Line | Text] = [
        *heading(headline, subtitle),
        *rows_of(timeline, step, height, scale),
        *_outlines(timeline, follow, step, height, scale),
        *time_axis(timeline, bottom, scale),
        *legend([*kinds_of(timeline), ("idle", "idle (the bubble)")], bottom + 52),
    ]
    scene = Scene(
        width=WIDTH,
        height=TOP + room * step + 76,
        used=bottom + 76,
        headline=headline,
        alt=alt(timeline),
        parts=tuple(parts),
    )
    return Picture(scene)


def rows_of(timeline: Timeline, step: float, height: float, scale: float) -> list[Cells | Box | Text]:
    """The grid's rows alone: idle bands, names and cells."""
    return [
        *(
            Box(x=LEFT, y=TOP + row * step, width=RIGHT - LEFT, height=height, role="idle")
            for row in range(timeline.devices)
        ),
        *row_names([row_name(timeline, row) for row in range(timeline.devices)], step, height),
        _cells(timeline, step, height, scale),
    ]


def row_name(timeline: Timeline, row: int) -> str:
    """A device's stage, or the device itself where it has several stages."""
    return f"stage {stage_letters(row)}" if timeline.schedule.one_stage_each else f"device {row + 1}"


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


def alt(timeline: Timeline) -> str:
    """What a sighted reader would see, in words."""
    schedule = timeline.schedule
    what = "forward only" if schedule.forward_only else f"schedule {schedule.name}"
    held = "" if schedule.forward_only else f"; {_held(timeline)}"
    return f"{_sizes(timeline)}, {what}, {_length(timeline)}; idle share {percent(timeline.idle_share)}{held}"


def _length(timeline: Timeline) -> str:
    span = timeline.span
    return count(int(span), "slot") if span == int(span) else f"{number(span)} slots"


def _held(timeline: Timeline) -> str:
    held = timeline.in_flight_share.tolist()
    most = ", ".join(map(number, held)) if len(held) <= 8 else f"{number(max(held))} to {number(min(held))}"
    worth = "" if timeline.schedule.one_stage_each else "' worth"
    return f"at most {most} microbatches{worth} held"


def _sizes(timeline: Timeline) -> str:
    devices, stages = timeline.devices, timeline.schedule.stages
    split = (
        count(devices, "stage")
        if timeline.schedule.one_stage_each
        else f"{count(devices, 'device')} with {count(stages // devices, 'stage')} each"
    )
    return f"{split}, {count(timeline.schedule.microbatches, 'microbatch')}"


def _words(timeline: Timeline) -> tuple[str, str]:
    schedule = timeline.schedule
    idle, whole = float(timeline.idle.sum()), timeline.devices * timeline.span
    share = percent(timeline.idle_share)
    if timeline.devices == 1 and idle < 1e-9:
        headline = "One device alone never waits: no stage-slot is idle"
    elif abs(idle - round(idle)) < 1e-9 and abs(whole - round(whole)) < 1e-9:
        headline = f"{round(idle):,} of {round(whole):,} stage-slots are idle: {share}"
    else:
        headline = f"{share} of the stages' time is idle"
    sizes = _sizes(timeline)
    if schedule.forward_only:
        return headline, f"{sizes}, forward only (backward work left out)"
    return (
        headline,
        f"{schedule.name}, {sizes}{_ratio(timeline)}; {_held(timeline)}",
    )


def _ratio(timeline: Timeline) -> str:
    """How long backward takes against forward, where that is one number."""
    took = timeline.end - timeline.start
    forward, backward = took[timeline.kind == Kind.F], took[timeline.kind == Kind.B]
    if (
        not len(forward)
        or not len(backward)
        or np.ptp(forward) > 1e-9
        or np.ptp(backward) > 1e-9
        or forward[0] <= 0
    ):
        return ""
    return f", backward takes {number(backward[0] / forward[0])} × forward"


def kinds_of(timeline: Timeline) -> list[tuple[str, str]]:
    """Letter and word of each kind of action that is there, for the legend."""
    return [(Kind(kind).letter, Kind(kind).word) for kind in np.unique(timeline.kind).tolist()]


def _cells(timeline: Timeline, step: float, height: float, scale: float) -> Cells:
    start, end = timeline.start - timeline.start.min(), timeline.end - timeline.start.min()
    width = (end - start) * scale
    words = [kind.word for kind in Kind]
    labels, tooltips = [""] * len(start), [""] * len(start)
    # Words only for cells that can show them: a large grid has many that cannot.
    for i in np.flatnonzero(width >= SMALLEST_CELL).tolist():
        stage, microbatch = int(timeline.stage[i]), int(timeline.microbatch[i])
        labels[i] = cell(stage, microbatch)
        tooltips[i] = (
            f"{labels[i]}: stage {stage_letters(stage)}, microbatch {microbatch + 1}, "
            f"{words[timeline.kind[i]]}, {start[i]:.6g} to {end[i]:.6g}"
        )
    shares = timeline.idle / timeline.span if timeline.span else np.zeros(timeline.devices)
    return Cells(
        x=LEFT + start * scale,
        width=width,
        row=timeline.device,
        role=timeline.kind,
        top=tuple(TOP + row * step for row in range(timeline.devices)),
        height=height,
        roles=tuple(kind.letter for kind in Kind),
        labels=tuple(labels),
        tooltips=tuple(tooltips),
        row_tooltips=tuple(
            f"{row_name(timeline, row)}: idle {percent(share)}" for row, share in enumerate(shares.tolist())
        ),
        label_x=LEFT + start * scale + width / 2,
        label_room=width,
    )


def _outlines(timeline: Timeline, follow: int | None, step: float, height: float, scale: float) -> list[Box]:
    """The followed microbatch: an accent line with a halo of paper, over its neighbours."""
    if follow is None:
        return []
    chosen = timeline.microbatch == follow
    boxes = []
    for device, start, end in zip(
        timeline.device[chosen].tolist(),
        timeline.start[chosen].tolist(),
        timeline.end[chosen].tolist(),
        strict=True,
    ):
        for role, width in (("paper", 7.0), ("accent", 3.0)):
            boxes.append(
                Box(
                    x=LEFT + start * scale,
                    y=TOP + device * step,
                    width=(end - start) * scale,
                    height=height,
                    role="",
                    edge=role,
                    edge_width=width,
                )
            )
    return boxes


def time_axis(timeline: Timeline, bottom: float, scale: float) -> list[Line | Text]:
    """Round steps of time beneath the rows, and their unit."""
    parts: list[Line | Text] = []
    for tick in nice_ticks(timeline.span):
        x = LEFT + tick * scale
        parts.append(Line(x1=x, y1=bottom, x2=x, y2=bottom + 5, role="muted"))
        parts.append(Text(x=x, y=bottom + 18, text=number(tick), size=13, role="muted", anchor="middle"))
    words = "time (one forward slot = 1)"
    parts.append(
        Text(x=(LEFT + RIGHT) / 2, y=bottom + 38, text=words, size=14, role="muted", anchor="middle")
    )
    return parts
