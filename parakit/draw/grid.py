"""The stage-by-time grid: what each device does when, and when it waits."""

from __future__ import annotations

import numpy as np

from parakit.draw.frame import TOP, WIDTH, heading, legend
from parakit.draw.order import faulty_grid
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
from parakit.draw.scene import Scene
from parakit.names import count
from parakit.pipeline import Kind, Schedule, Timeline, TimeUnit, simulate
from parakit.units import number, percent


def grid(
    timeline: Timeline | Schedule,
    *,
    rows: int | None = None,
    follow: int | None = None,
    critical: bool = False,
    communication: str = "free",
) -> Picture:
    """The grid of a timeline: a row a device, a cell an action, A1, B1, …, idle time hatched.

    Of a schedule, its grid with forwards of 1 and backwards of 2; where it cannot run, its order
    with every faulty place marked.

    Args:
        timeline: what to draw.
        rows: leave room for this many rows, so that the picture keeps its box while a slider
            changes the number of devices; None means as many as there are.
        follow: a microbatch, from 0, whose cells are outlined.
        critical: outline the critical path, the actions that decide how long the step takes.
        communication: of a schedule, what its faults are looked for with, as in its `problems`.

    Raises:
        ValueError: more than 512 devices or 200,000 cells, or there is no such microbatch.
    """
    if isinstance(timeline, Schedule):
        require_drawable(timeline)
        if problems := timeline.problems(communication):
            return faulty_grid(timeline, problems)
        timeline = simulate(timeline)
    require_drawable(timeline.schedule)
    follow = checked_follow(follow, timeline.schedule.microbatches)
    devices = timeline.devices
    room = max(rows or devices, devices)
    place = Place.of(room, timeline.span)
    bottom = place.y(devices)
    headline, subtitle = _words(timeline)
    marked: list[Part] = []
    entries: list[tuple[str, str]] = []
    if critical:
        marked += path_parts(timeline, place)
        entries.append(("line ink", "critical path"))
    if follow is not None:
        marked += outlines(timeline, np.flatnonzero(timeline.microbatch == follow), place)
        entries.append(("line accent", f"microbatch {follow + 1}"))
    parts: list[Part] = [
        *heading(headline, subtitle),
        *rows_of(timeline, place),
        *marked,
        *time_axis(timeline, bottom, place.scale),
        *legend([*kinds_of(timeline), ("idle", "idle (the bubble)")], bottom + 52),
        *legend(entries, bottom + 76),
    ]
    tall = 76 + (24 if entries or rows else 0)  # with rows given, room is left for what may be marked
    scene = Scene(
        width=WIDTH,
        height=TOP + room * place.step + tall,
        used=bottom + (100 if entries else 76),
        headline=headline,
        alt=alt(timeline),
        parts=tuple(parts),
    )
    return Picture(scene)


def alt(timeline: Timeline) -> str:
    """What a sighted reader would see, in words."""
    schedule = timeline.schedule
    what = "forward only" if schedule.forward_only else f"schedule {schedule.name}"
    held = "" if schedule.forward_only else f"; {_held(timeline)}"
    length = Clock.of(timeline).length(timeline.span)
    return f"{_sizes(timeline)}, {what}, {length}; idle share {percent(timeline.idle_share)}{held}"


def _held(timeline: Timeline) -> str:
    held = timeline.in_flight_share.tolist()
    most = ", ".join(map(number, held)) if len(held) <= 8 else f"{number(max(held))} to {number(min(held))}"
    worth = "" if timeline.schedule.one_stage_each else "' worth"
    return f"at most {most} microbatches{worth} held"


def _sizes(timeline: Timeline) -> str:
    schedule = timeline.schedule
    if schedule.one_stage_each:
        split = count(timeline.devices, "stage")
    else:
        pairs = np.unique(timeline.device.astype(np.int64) * schedule.stages + timeline.stage)
        each = len(pairs) / timeline.devices
        split = f"{count(timeline.devices, 'device')} with {number(each)} stage{'s' * (each != 1)} each"
    return f"{split}, {count(schedule.microbatches, 'microbatch')}"


def _words(timeline: Timeline) -> tuple[str, str]:
    schedule = timeline.schedule
    idle, whole = float(timeline.idle.sum()), timeline.devices * timeline.span
    share = percent(timeline.idle_share)
    exact = abs(idle - round(idle)) < 1e-9 and abs(whole - round(whole)) < 1e-9
    if timeline.devices == 1 and idle < 1e-9:
        headline = "One device alone never waits: no stage-slot is idle"
    elif exact and timeline.unit == TimeUnit.SLOT:
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
    alone = ~timeline.overlapped
    forward, backward = (took[alone & (timeline.kind == kind)] for kind in (Kind.F, Kind.B))
    if (
        not len(forward)
        or not len(backward)
        or np.ptp(forward) > 1e-9
        or np.ptp(backward) > 1e-9
        or forward[0] <= 0
    ):
        return ""
    return f", backward takes {number(backward[0] / forward[0])} × forward"
