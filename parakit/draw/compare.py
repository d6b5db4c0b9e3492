"""Grids of several schedules under each other, on one time axis."""

from __future__ import annotations

import numpy as np

from parakit.draw.frame import LEFT, RIGHT, TOP, WIDTH, heading, legend
from parakit.draw.look import size_that_fits
from parakit.draw.picture import Picture
from parakit.draw.rows import (
    Clock,
    Part,
    Place,
    checked_follow,
    kinds_of,
    outlines,
    path_parts,
    require_drawable,
    rows_of,
    time_axis,
)
from parakit.draw.scene import Scene, Text
from parakit.names import count
from parakit.pipeline import Compared, Comparison, Timeline
from parakit.units import number, percent

_TITLE = 24.0  # px above each grid
_AXIS = 44.0  # px beneath a grid with an axis of its own


def compare(
    comparison: Comparison,
    *,
    rows: int | None = None,
    follow: int | None = None,
    critical: bool = False,
) -> Picture:
    """A grid for each timeline, one under the other; where one is shorter its row ends earlier.

    Timelines whose times count different things, slots and seconds, have an axis each.

    Args:
        comparison: as from `pk.compare`.
        rows: leave room for this many devices in each; None means as many as there are.
        follow: a microbatch, from 0, whose cells are outlined in each.
        critical: outline the critical path of each.

    Raises:
        ValueError: a grid is too large to be drawn, or there is no such microbatch.
    """
    timelines = comparison.timelines
    for timeline in timelines:
        require_drawable(timeline.schedule)
    follow = checked_follow(follow, min(timeline.schedule.microbatches for timeline in timelines))
    together = len({timeline.unit for timeline in timelines}) == 1
    longest = max(timeline.span for timeline in timelines)
    step = _step(len(timelines), max(timeline.devices for timeline in timelines), rows)
    parts: list[Part] = []
    top = TOP - 4
    for timeline, facts in zip(timelines, comparison.rows, strict=True):
        words = _facts(timeline, facts)
        size = size_that_fits(words, 14, RIGHT - LEFT)
        parts.append(Text(x=LEFT, y=top + 15, text=words, size=size))
        span = longest if together else timeline.span
        place = Place.of(timeline.devices, span, top=top + _TITLE, step=step)
        parts += rows_of(timeline, place)
        if critical:
            parts += path_parts(timeline, place)
        if follow is not None:
            parts += outlines(timeline, np.flatnonzero(timeline.microbatch == follow), place)
        top = place.y(timeline.devices) + 4
        if not together:
            parts += time_axis(timeline, top - 4, place.scale)
            top += _AXIS
    if together:
        slowest = max(timelines, key=lambda timeline: timeline.span)
        parts += time_axis(slowest, top, (RIGHT - LEFT) / longest if longest else 0.0)
        top += _AXIS
    headline, subtitle = _headline(comparison), _subtitle(timelines)
    marks = [("line ink", "critical path")] * critical
    marks += [("line accent", f"microbatch {(follow or 0) + 1}")] * (follow is not None)
    entries = [*kinds_of(*timelines), ("idle", "idle")]
    parts += legend(entries, top + 8)
    parts += legend(marks, top + 32)
    used = top + (56 if marks else 32)
    reserved = len(timelines) * (_TITLE + 4 + (rows or 0) * step) + TOP + _AXIS + 56
    scene = Scene(
        width=WIDTH,
        height=max(used, reserved if rows else 0.0),
        used=used,
        headline=headline,
        alt=f"{headline}; " + "; ".join(_facts(*one) for one in zip(timelines, comparison.rows, strict=True)),
        parts=(*heading(headline, subtitle), *parts),
    )
    return Picture(scene)


def _step(grids: int, devices: int, rows: int | None) -> float:
    """Distance of rows: as large as some six hundred px allow, fewer where room is kept for more."""
    if rows:
        return float(min(36.0, max(9.0, 440.0 // (grids * max(devices, rows)))))
    return float(min(36.0, max(9.0, 620.0 // (grids * devices))))


def _facts(timeline: Timeline, facts: Compared) -> str:
    length = Clock.of(timeline).length(timeline.span)
    held = f"holds up to {number(facts.held)} microbatch{'es' * (facts.held != 1)}"
    copies = f", {number(facts.copies)} copies of the model" if facts.copies != 1 else ""
    return (
        f"{facts.name}: {length}, idle share {percent(facts.idle_share)}, {held}, "
        f"{count(facts.sends, 'send')} a device{copies}"
    )


def _headline(comparison: Comparison) -> str:
    timelines = comparison.timelines
    if len({timeline.unit for timeline in timelines}) > 1:
        return (
            "A real run beside a simulated one" if len(timelines) == 2 else "Real runs beside simulated ones"
        )
    fastest = comparison.fastest
    slowest = max(timelines, key=lambda timeline: timeline.span)
    length = Clock.of(fastest).length(fastest.span)
    if len(timelines) == 1:
        return f"{fastest.schedule.name} takes {length}"
    if slowest.span - fastest.span <= 1e-9 * slowest.span:
        both = "Both" if len(timelines) == 2 else "All"
        return f"{both} take the same time: {length}"
    saved = 1 - fastest.span / slowest.span
    return f"{fastest.schedule.name} takes {length}, {percent(saved)} less than {slowest.schedule.name}"


def _subtitle(timelines: tuple[Timeline, ...]) -> str:
    sizes = {(timeline.devices, timeline.schedule.microbatches) for timeline in timelines}
    if len(sizes) > 1:
        return "Each with its own devices and microbatches"
    ((devices, microbatches),) = sizes
    same = ", the same work for each device" if len(timelines) > 1 else ""
    if len({timeline.unit for timeline in timelines}) > 1:
        same = ", each over its own length"
    return f"{count(devices, 'device')}, {count(microbatches, 'microbatch')}{same}"
