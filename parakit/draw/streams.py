"""Two streams: what a device computes and what it exchanges, beside each other and one after the other."""

from __future__ import annotations

from parakit.draw.choice import ROLES
from parakit.draw.frame import LEFT, TOP, WIDTH, heading, legend, row_names
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Cells, Line, Scene, Text
from parakit.steptime import PART_NAMES, PARTS, StepTime
from parakit.steptime.streams import Streams
from parakit.steptime.streams import streams as streams_of
from parakit.units import seconds_text

_END = 850.0  # px, right end of the bars; sums stand beyond it
_STEP, _HEIGHT = 56.0, 38.0


def streams(what: StepTime | Streams, *, shows: float | None = None) -> Picture:
    """Computing above, exchanging beneath it; and what one would get by adding both.

    Args:
        what: a step's time, or streams as from `pk.overlap`.
        shows: seconds that the axis reaches to, so that nothing jumps while a slider moves; None
            means as far as the sum does.
    """
    both = streams_of(what) if isinstance(what, StepTime) else what
    reach = max(shows or 0.0, both.added, 1e-12)
    scale = (_END - LEFT) / reach
    headline, subtitle = _headline(both), f"{both.title}; beneath: the same times one after the other"
    names = ["computing", "exchanging", "if added"]
    parts: list[Cells | Box | Line | Text] = [
        *heading(headline, subtitle),
        *row_names(names, _STEP, _HEIGHT),
    ]
    for row in range(2):  # a stream is idle where it does nothing
        width = both.total * scale
        parts.append(
            Box(x=LEFT, y=TOP + row * _STEP, width=width, height=_HEIGHT, role="idle", tooltip="nothing")
        )
    after = LEFT
    for one in both.segments:
        width = (one.end - one.start) * scale
        words = f"{one.words}: {seconds_text(one.end - one.start)}"
        for x, row in ((LEFT + one.start * scale, one.stream), (after, 2)):
            parts.append(
                Box(
                    x=x,
                    y=TOP + row * _STEP,
                    width=width,
                    height=_HEIGHT,
                    role=ROLES[one.part],
                    tooltip=words,
                    edge="paper",
                    edge_width=0.7,
                )
            )
        after += width
    bottom = TOP + 3 * _STEP
    x = LEFT + both.total * scale
    for role, width in (("paper", 6.5), ("accent", 2.5)):
        parts.append(Line(x1=x, y1=TOP - 4, x2=x, y2=bottom - 10, role=role, width=width, dash=None))
    parts.append(
        Text(x=WIDTH - 10, y=TOP + _STEP - 4, text=seconds_text(both.total), size=17, anchor="end", bold=True)
    )
    parts.append(
        Text(
            x=WIDTH - 10,
            y=TOP + 2 * _STEP + 26,
            text=seconds_text(both.added),
            size=15,
            anchor="end",
            role="muted",
        )
    )
    shown = [name for name in PARTS if any(one.part == name for one in both.segments)]
    entries = [(ROLES[name], PART_NAMES[name]) for name in shown]
    parts += legend(entries[:4], bottom + 2)
    parts += legend(entries[4:], bottom + 26)
    marks = [("line accent", "the step ends"), ("idle", "this stream does nothing")]
    parts += legend(marks, bottom + (50 if len(entries) > 4 else 26))
    scene = Scene(
        width=WIDTH,
        height=bottom + 78,
        used=bottom + 78,
        headline=headline,
        alt=f"{headline}; {both.title}",
        parts=tuple(parts),
    )
    return Picture(scene)


def _headline(both: Streams) -> str:
    total, added = seconds_text(both.total), seconds_text(both.added)
    if both.hidden <= 1e-9 * both.added:
        return f"{total}: nothing overlaps, all times add"
    return f"{total}, not the {added} of all times added: {seconds_text(both.hidden)} overlap"
