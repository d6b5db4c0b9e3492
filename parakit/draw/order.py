"""An order that cannot run, drawn with its faulty places marked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parakit.draw.frame import LEFT, RIGHT, WIDTH, heading, legend, row_names
from parakit.draw.look import text_width
from parakit.draw.picture import Picture
from parakit.draw.rows import Part, Place, axis, cells_of, kinds_of, outlines, row_name
from parakit.draw.scene import Box, Scene, Text, nice_ticks
from parakit.names import count
from parakit.pipeline import Kind, Problem, Schedule, Timeline

_MOST_SENTENCES = 6
_LINE = 20.0  # px


def faulty_grid(schedule: Schedule, problems: Sequence[Problem]) -> Picture:
    """A cell an action in each device's order, a place each; faulty ones outlined, reasons beneath."""
    order = _as_slots(schedule)
    longest = int(order.end.max())
    place = Place.of(schedule.devices, longest)
    bottom = place.y(schedule.devices)
    marked = _marked(schedule, problems)
    headline = f"This order cannot run: {count(len(problems), 'fault')}"
    subtitle = (
        f"{schedule.name}, {count(schedule.devices, 'device')}, {count(schedule.stages, 'stage')}, "
        f"{count(schedule.microbatches, 'microbatch')}; the order of each device, not its times"
    )
    lines = [
        line
        for at, problem in enumerate(problems[:_MOST_SENTENCES], start=1)
        for line in _wrapped(f"{at}. {problem}", RIGHT - LEFT, 14)
    ]
    if len(problems) > _MOST_SENTENCES:
        lines.append(f"and {len(problems) - _MOST_SENTENCES:,} more")
    ticks = [tick for tick in nice_ticks(longest) if tick == int(tick)]
    names = [row_name(schedule, row) for row in range(schedule.devices)]
    legend_at = bottom + 52
    parts: list[Part] = [
        *heading(headline, subtitle),
        *row_names(names, place.step, place.height, place.top),
        *cells_of(order, place),
        *outlines(order, marked, place),
        *_badges(schedule, problems[:_MOST_SENTENCES], place),
        *axis(ticks, "place in the order of each device", bottom, place.scale),
        *legend([*kinds_of(order), ("line accent", "fault")], legend_at),
        *(Text(x=LEFT, y=legend_at + 44 + at * _LINE, text=line, size=14) for at, line in enumerate(lines)),
    ]
    height = legend_at + 44 + len(lines) * _LINE
    scene = Scene(
        width=WIDTH,
        height=height,
        used=height,
        headline=headline,
        alt=f"{headline}: {'; '.join(str(one) for one in problems[:_MOST_SENTENCES])}",
        parts=tuple(parts),
    )
    return Picture(scene)


def _as_slots(schedule: Schedule) -> Timeline:
    """Each action, or overlapped pair, in the slot of its place in the order."""
    second = np.zeros(schedule.actions, dtype=bool)
    second[schedule.pairs + 1] = True
    before = np.cumsum(~second) - 1
    base = before[np.minimum(schedule.first[:-1], schedule.actions - 1)]
    start = (before - base[schedule.device]).astype(np.float64)
    return Timeline(
        schedule=schedule,
        device=schedule.device,
        stage=schedule.stage,
        kind=np.minimum(schedule.kind, max(Kind)).astype(np.uint8),
        microbatch=schedule.microbatch,
        start=start,
        end=start + 1,
        waits=np.full(schedule.actions, -1),
        overlapped=schedule.overlapped,
    )


def _places(problem: Problem) -> tuple[tuple[int, int], ...]:
    if problem.places:
        return problem.places
    if problem.device is None or problem.position is None:
        return ()
    return ((problem.device, problem.position),)


def _marked(schedule: Schedule, problems: Sequence[Problem]) -> np.ndarray:
    places = {place for problem in problems for place in _places(problem)}
    return np.array(sorted(int(schedule.first[device]) + at for device, at in places), dtype=np.int64)


def _badges(schedule: Schedule, problems: Sequence[Problem], place: Place) -> list[Box | Text]:
    """The number of a sentence at each place that it speaks of."""
    slots = _as_slots(schedule).start
    there: dict[tuple[int, int], list[str]] = {}
    for number, problem in enumerate(problems, start=1):
        for one in _places(problem):
            there.setdefault(one, []).append(str(number))
    parts: list[Box | Text] = []
    for (device, at), numbers in there.items():
        words = ",".join(numbers)
        wide = text_width(words, 13, bold=True) + 8
        x = LEFT + float(slots[int(schedule.first[device]) + at]) * place.scale + 2
        y = place.y(device) - 4
        parts.append(Box(x=x, y=y, width=wide, height=17, role="paper", edge="accent", edge_width=1.5))
        parts.append(Text(x=x + 4, y=y + 13, text=words, size=13, bold=True))
    return parts


def _wrapped(text: str, width: float, size: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
