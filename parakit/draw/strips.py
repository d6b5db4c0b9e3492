"""Microbatches that each device holds, over the time of its grid."""

from __future__ import annotations

import numpy as np

from parakit.draw.frame import LEFT, RIGHT, TOP, WIDTH, heading, legend, row_names
from parakit.draw.grid import alt
from parakit.draw.picture import Picture
from parakit.draw.rows import Part, Place, kinds_of, require_drawable, row_name, rows_of, time_axis
from parakit.draw.scene import Box, Line, Scene, Text
from parakit.names import count
from parakit.pipeline import Timeline
from parakit.units import number


def held_over_time(timeline: Timeline, *, rows: int | None = None) -> Picture:
    """The grid and, beneath it on the same time axis, how many microbatches each device holds.

    With several stages a device, microbatches' worth of its whole share of the model.

    Args:
        timeline: what to draw.
        rows: leave room for this many rows of each; None means as many as there are devices.

    Raises:
        ValueError: more than 512 devices or 200,000 cells.
    """
    require_drawable(timeline.schedule)
    devices = timeline.devices
    room = max(rows or devices, devices)
    step = min(32.0, max(7.0, 600.0 // (2 * room)))
    place = Place.of(room, timeline.span, step=step)
    panel = Place.of(room, timeline.span, top=place.y(devices) + 34, step=step)
    most = float(timeline.in_flight_share.max())
    bottom = panel.y(devices)
    headline, subtitle = _words(timeline, most)
    names = [row_name(timeline.schedule, row) for row in range(devices)]
    legend_at = bottom + 52
    parts: list[Part] = [
        *heading(headline, subtitle),
        *rows_of(timeline, place),
        Text(x=LEFT, y=panel.top - 9, text="microbatches held", size=14, role="muted"),
        *row_names(names, panel.step, panel.height, panel.top),
        *(part for device in range(devices) for part in _strip(timeline, device, panel, most)),
        *time_axis(timeline, bottom, place.scale),
        *legend([*kinds_of(timeline), ("idle", "idle"), ("activations", "held")], legend_at),
    ]
    used = legend_at + 24
    scene = Scene(
        width=WIDTH,
        height=TOP + 2 * room * step + 34 + 76,
        used=used,
        headline=headline,
        alt=alt(timeline),
        parts=tuple(parts),
    )
    return Picture(scene)


def _words(timeline: Timeline, most: float) -> tuple[str, str]:
    held = timeline.in_flight_share
    fullest = row_name(timeline.schedule, int(held.argmax()))
    worth = "microbatch" if most == 1 else "microbatches"
    alike = np.ptp(held) == 0
    if alike and timeline.devices > 1:
        fullest = "every device"
    headline = f"{fullest[0].upper()}{fullest[1:]} holds up to {number(most)} {worth}"
    schedule = timeline.schedule
    least = row_name(schedule, int(held.argmin()))
    rest = "" if alike else f"; {least} holds up to {number(float(held.min()))}"
    subtitle = f"{schedule.name}, {count(schedule.microbatches, 'microbatch')}{rest}"
    return headline, subtitle


def _strip(timeline: Timeline, device: int, place: Place, most: float) -> list[Box | Line | Text]:
    """One device's steps, a box for each time in which the number stays."""
    times, held = timeline.in_flight_over_time(device)
    held = held / timeline.schedule.stages_each
    begin = float(timeline.start.min())
    base = place.y(device) + place.height
    parts: list[Box | Line | Text] = []
    peak = int(held.argmax())
    for at in range(len(times) - 1):
        height = float(held[at]) / most * place.height
        if height > 0:
            parts.append(
                Box(
                    x=LEFT + (float(times[at]) - begin) * place.scale,
                    y=base - height,
                    width=float(times[at + 1] - times[at]) * place.scale,
                    height=height,
                    role="activations",
                    tooltip=f"{row_name(timeline.schedule, device)}: {number(float(held[at]))} held",
                )
            )
    parts.append(Line(x1=LEFT, y1=base, x2=RIGHT, y2=base, role="muted"))
    if place.height >= 14:
        middle = LEFT + (float(times[peak] + times[peak + 1]) / 2 - begin) * place.scale
        size = min(14.0, place.height * 0.6)
        tall = float(held[peak]) / most * place.height
        inside = tall >= size + 2
        foot = base - tall / 2 + size * 0.36 if inside else base - tall - 2
        role = "dark" if inside else "ink"
        parts.append(
            Text(x=middle, y=foot, text=number(float(held[peak])), size=size, anchor="middle", role=role)
        )
    return parts
