"""A choice: the time of each plan by what it is spent on, what it holds, and why others are excluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parakit.checks import whole
from parakit.choose import Choice, Excluded, Ranked, plan_words
from parakit.draw.frame import LEFT, TOP, WIDTH, cut, legend
from parakit.draw.look import size_that_fits
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Cells, Line, Scene, Text
from parakit.names import count
from parakit.steptime import PART_NAMES, PARTS
from parakit.units import capacity_text, percent, seconds_text, with_unit

_X = 24.0  # px, left end of the rows
_TIMES = 560.0  # right end of the time bars
_HELD, _HELD_END = 690.0, 850.0  # the memory bars
_END = WIDTH - 10
_STEP, _BAR = 50.0, 22.0
_MOST_ROWS = 60

ROLES = {
    "compute": "F",
    "recompute": "W",
    "tensor": "B",
    "expert": "line-3",
    "pipeline": "I",
    "data": "line-4",
    "waiting": "idle",
    "update": "muted",
}


def choice(found: Choice, *, top: int = 6, excluded: int = 2) -> Picture:
    """The fastest plans as stacked times beside what they hold, and the excluded ones nearest to fitting.

    Args:
        found: as from `pk.choose`.
        top: how many of the ranked plans.
        excluded: how many of those that do not fit.

    Raises:
        ValueError: more rows than can be read.
    """
    top, excluded = whole("top", top, most=_MOST_ROWS), whole("excluded", excluded, least=0, most=_MOST_ROWS)
    ranked, out = found.ranked[:top], found.excluded[:excluded]
    headline, over = _headline(found, ranked), found.excluded_peak[:excluded].tolist()
    longest = max((step.total for _, step, _ in ranked), default=1.0)
    usable = found.cluster.usable
    shows = 1.25 * usable
    parts: list[Cells | Box | Line | Text] = [
        Text(
            x=_X,
            y=24,
            text=headline,
            size=size_that_fits(headline, 18, _END - _X, bold=True),
            bold=True,
        ),
        Text(
            x=_X,
            y=45,
            text=_subtitle(found),
            size=size_that_fits(_subtitle(found), 14, _END - _X),
            role="muted",
        ),
        Text(x=_HELD, y=TOP + 13, text="fullest device", size=13, role="muted"),
    ]
    y = TOP + 18
    for place, (plan, step, report) in enumerate(ranked, start=1):
        words = f"{place}. {plan_words(plan)}"
        parts.append(Text(x=_X, y=y + 13, text=words, size=size_that_fits(words, 14, _HELD - _X - 20)))
        x, scale = _X, (_TIMES - _X) / longest
        for name in PARTS:
            seconds = step.parts[name]
            if seconds <= 0:
                continue
            hidden = step.hidden_parts.get(name, 0.0)
            tooltip = f"{PART_NAMES[name]}: {seconds_text(seconds)}, {percent(seconds / step.total)}"
            tooltip += f"; {seconds_text(hidden)} more hide beside computation" if hidden else ""
            width = seconds * scale
            parts.append(
                Box(
                    x=x,
                    y=y + 19,
                    width=width,
                    height=_BAR,
                    role=ROLES[name],
                    tooltip=tooltip,
                    edge="paper",
                    edge_width=0.7,
                )
            )
            x += width
        parts.append(Text(x=_TIMES + 10, y=y + 36, text=seconds_text(step.total), size=16, bold=place == 1))
        held = float(report.peak.max())
        parts += _held(held, y, shows, "activations")
        parts.append(Text(x=_END, y=y + 36, text=with_unit(held), size=15, anchor="end"))
        y += _STEP
    small = min((size_that_fits(reason, 14, _TIMES - _X - 16) for _, reason in out), default=14.0)
    for at, (plan, reason) in enumerate(out):
        words = f"excluded: {plan_words(plan)}"
        parts.append(
            Text(x=_X, y=y + 13, text=words, size=size_that_fits(words, 14, _HELD - _X - 20), role="muted")
        )
        parts.append(
            Box(
                x=_X,
                y=y + 19,
                width=_TIMES - _X,
                height=_BAR,
                role="idle",
                tooltip=reason,
                edge="edge",
                edge_width=0.5,
            )
        )
        parts.append(Box(x=_X + 4, y=y + 21, width=_TIMES - _X - 8, height=_BAR - 4, role="paper"))
        parts.append(Text(x=_X + 9, y=y + 35, text=reason, size=small))
        if at < len(over):
            parts += _held(over[at], y, shows, "muted")
            parts.append(Text(x=_END, y=y + 36, text=with_unit(over[at]), size=15, anchor="end", bold=True))
        y += _STEP
    line = _HELD + usable / shows * (_HELD_END - _HELD)
    for role, width, dash in (("paper", 6.5, None), ("accent", 2.5, (7.0, 4.0))):
        parts.append(Line(x1=line, y1=TOP + 20, x2=line, y2=y, role=role, width=width, dash=dash))
    said = f"capacity {capacity_text(usable)}"
    parts.append(Text(x=line, y=y + 17, text=said, size=14, anchor="middle"))
    shown = [name for name in PARTS if any(step.parts[name] > 0 for _, step, _ in ranked)]
    entries = [(ROLES[name], PART_NAMES[name]) for name in shown]
    half = (len(entries) + 1) // 2 if len(entries) > 4 else len(entries)
    parts += _moved(legend(entries[:half], y + 30))
    parts += _moved(legend(entries[half:], y + 54))
    rows = max(len(ranked) + len(out), 1)
    height = TOP + 18 + (max(top + excluded, rows)) * _STEP + 84
    scene = Scene(
        width=WIDTH,
        height=height,
        used=y + 84,
        headline=headline,
        alt=_alt(headline, ranked, out),
        parts=tuple(parts),
    )
    return Picture(scene)


def _held(held: float, y: float, shows: float, role: str) -> list[Box | Line]:
    """A memory bar; one that goes on beyond the axis is cut, with a mark."""
    width = min(held / shows, 1.0) * (_HELD_END - _HELD)
    top = y + 19
    bar = Box(x=_HELD, y=top, width=width, height=_BAR, role=role, tooltip=with_unit(held))
    return [bar, *(cut(_HELD_END, top, _BAR) if held > shows else [])]


def _moved(parts: list[Box | Text | Line]) -> list[Box | Text | Line]:
    """A legend that starts where the rows do."""
    return [part if isinstance(part, Line) else replace(part, x=part.x - LEFT + _X) for part in parts]


def _headline(found: Choice, ranked: Sequence[Ranked]) -> str:
    if not ranked:
        return f"None of {count(found.judged, 'plan')} fits"
    best = ranked[0]
    return (
        f"Fastest of {found.judged:,} plans: {plan_words(best.plan)}, {seconds_text(best.step.total)} a step"
    )


def _subtitle(found: Choice) -> str:
    cluster, limits = found.cluster, found.limits
    measured = f", {' and '.join(cluster.measured)} links measured" if cluster.measured else ""
    return (
        f"{found.model.name or 'a model'} on {count(cluster.devices, 'device')} {cluster.name}{measured}; batch "
        f"{limits.batch:,} × {limits.sequence:,} tokens; {len(found.excluded):,} excluded, {len(found.fits):,} timed"
    )


def _alt(headline: str, ranked: Sequence[Ranked], out: Sequence[Excluded]) -> str:
    rows = [
        f"{place}. {plan_words(plan)}: {seconds_text(step.total)}, {with_unit(float(report.peak.max()))}"
        for place, (plan, step, report) in enumerate(ranked, start=1)
    ]
    rows += [f"excluded: {plan_words(plan)}: {reason}" for plan, reason in out]
    return f"{headline}; " + "; ".join(rows)
