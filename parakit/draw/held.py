"""Memory over time: the grid, and beneath it what one device holds, on the same time axis."""

from __future__ import annotations

import numpy as np

from parakit.capacity import Capacity, HasMemory
from parakit.draw.frame import LEFT, RIGHT, WIDTH, heading, legend
from parakit.draw.look import text_width
from parakit.draw.memory import plan_words
from parakit.draw.picture import Picture
from parakit.draw.rows import Place, kinds_of, require_drawable, row_name, rows_of, time_axis
from parakit.draw.scene import Box, Cells, Line, Scene, Text, nice_ticks
from parakit.memory import CATEGORY_NAMES, MemoryOverTime
from parakit.names import cell
from parakit.pipeline import Kind
from parakit.units import Unit, capacity_text, number, with_unit

_PANEL = 210.0  # px, height of the part that shows bytes


def memory_over_time(
    held: MemoryOverTime,
    capacity: float | HasMemory | None = None,
    *,
    reserve: float = 0.0,
    unit: Unit | str = Unit.GB,
    shows: float | None = None,
    rows: int | None = None,
) -> Picture:
    """The grid of a step and, on the same time axis, the bytes that one device holds.

    Args:
        held: as from `pk.memory_over_time`.
        capacity: bytes of one device, or what has memory and reserve; None draws no line.
        reserve: bytes of it that a plan may not fill.
        unit: "GB" (1e9 bytes) or "GiB" (2**30), for the whole picture.
        shows: bytes that the axis reaches to; None means as far as everything needs.
        rows: leave room for this many rows of the grid; None means as many as there are devices.

    Raises:
        ValueError: more than 512 devices or 200,000 cells, or a capacity that is none.
    """
    timeline = held.timeline
    require_drawable(timeline.schedule)
    unit = Unit(unit)
    device = None if capacity is None else Capacity.of(capacity, reserve)
    reach = shows or max(held.peak, 1.1 * (device.usable if device else 0.0)) * 1.02
    room = max(rows or timeline.devices, timeline.devices)
    place = Place.of(room, timeline.span)
    step, scale = place.step, place.scale
    top = place.y(timeline.devices) + 26  # of the panel
    bottom = top + _PANEL
    name = row_name(timeline.schedule, held.device)
    parts: list[Cells | Box | Line | Text] = [
        *heading(_headline(held, name, unit), plan_words(held.report)),
        *rows_of(timeline, place),
        _frame(held.device, place),
        Text(x=LEFT, y=top - 8, text=f"held by {name} ({unit})", size=14, role="muted"),
        *_areas(held, bottom, reach, scale, unit),
        *_bytes_axis(reach, bottom, unit),
        *time_axis(timeline, bottom, scale),
    ]
    if device is not None and device.usable <= reach:
        y = bottom - device.usable / reach * _PANEL
        for role, width, dash in (("paper", 6.5, None), ("accent", 2.5, (7.0, 4.0))):
            parts.append(Line(x1=LEFT, y1=y, x2=RIGHT, y2=y, role=role, width=width, dash=dash))
        words = f"capacity {device.text(unit) if device.reserve else capacity_text(device.memory, unit)}"
        wide = text_width(words, 14)
        back = Box(x=RIGHT - wide - 12, y=y - 24, width=wide + 8, height=19, role="paper")
        parts += [back, Text(x=RIGHT - 8, y=y - 9, text=words, size=14, anchor="end")]
    categories = [(one, CATEGORY_NAMES[one]) for one in held.categories]
    parts += legend([("", "above:"), *kinds_of(timeline), ("idle", "idle")], bottom + 50)
    parts += legend([("", "below:"), *categories], bottom + 76)
    used = bottom + 100
    scene = Scene(
        width=WIDTH,
        height=used + (room - timeline.devices) * step,
        used=used,
        headline=_headline(held, name, unit),
        alt=_alt(held, name, unit, device),
        parts=tuple(parts),
    )
    return Picture(scene)


def _headline(held: MemoryOverTime, name: str, unit: Unit) -> str:
    peak = int(held.total.argmax())
    action = int(held.action[peak])
    timeline = held.timeline
    when = f"while it computes {_words(held, action)}" if action >= 0 else "while it waits"
    start = number(float(held.times[peak] - timeline.start.min()))
    return f"{name[0].upper()}{name[1:]} is fullest at time {start}, {when}: {with_unit(held.peak, unit)}"


def _words(held: MemoryOverTime, action: int) -> str:
    timeline = held.timeline
    label = cell(int(timeline.stage[action]), int(timeline.microbatch[action]))
    return f"{label} {Kind(int(timeline.kind[action])).word}"


def _frame(row: int, place: Place) -> Box:
    """An outline around the device's row, whose bytes the panel shows."""
    return Box(
        x=LEFT - 3,
        y=place.y(row) - 3,
        width=RIGHT - LEFT + 6,
        height=place.height + 6,
        role="",
        edge="ink",
        edge_width=2.0,
    )


def _areas(held: MemoryOverTime, bottom: float, reach: float, scale: float, unit: Unit) -> list[Box]:
    """Categories on each other; pieces in a row that hold the same are one box."""
    boxes = []
    first = float(held.times[0])
    base = np.zeros(len(held.bytes))
    for column, category in enumerate(held.categories):
        sizes = held.bytes[:, column]
        starts = np.flatnonzero(np.diff(sizes, prepend=np.nan) != 0)
        # Where what lies beneath changes, the box must change too.
        starts = np.union1d(starts, np.flatnonzero(np.diff(base, prepend=np.nan) != 0))
        ends = np.append(starts[1:], len(sizes))
        for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
            size, below = float(sizes[begin]), float(base[begin])
            low, high = min(below, reach), min(below + size, reach)
            if high <= low:
                continue
            left = LEFT + (float(held.times[begin]) - first) * scale
            boxes.append(
                Box(
                    x=left,
                    y=bottom - high / reach * _PANEL,
                    width=(float(held.times[end]) - float(held.times[begin])) * scale,
                    height=(high - low) / reach * _PANEL,
                    role=category,
                    tooltip=f"{CATEGORY_NAMES[category]} {with_unit(size, unit)}",
                )
            )
        base = base + sizes
    return boxes


def _bytes_axis(reach: float, bottom: float, unit: Unit) -> list[Line | Text]:
    parts: list[Line | Text] = []
    ticks = nice_ticks(reach / unit.size, most=6)
    for tick in ticks[:-1]:  # the last is the end of the axis, no round step
        y = bottom - tick * unit.size / reach * _PANEL
        parts.append(Line(x1=LEFT - 5, y1=y, x2=LEFT, y2=y, role="muted"))
        parts.append(
            Text(
                x=LEFT - 9,
                y=y + 4.5,
                text=number(tick),
                size=13,
                role="muted",
                anchor="end",
            )
        )
    return parts


def _alt(held: MemoryOverTime, name: str, unit: Unit, device: Capacity | None) -> str:
    least = float(held.total.min())
    line = f"; capacity {device.text(unit)}" if device else ""
    return (
        f"memory of {name} over one step: between {with_unit(least, unit)} and {with_unit(held.peak, unit)}"
        f"{line}; {held.timeline.schedule.name} with {held.timeline.schedule.microbatches} microbatches"
    )
