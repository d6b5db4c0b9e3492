"""What is lost against the number of microbatches, a line for each schedule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parakit.draw.frame import LEFT, WIDTH, heading
from parakit.draw.look import size_that_fits
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Line, Scene, Text, nice_ticks
from parakit.names import count
from parakit.pipeline import Curve, bubble_curves
from parakit.units import number, percent

_TOP, _BOTTOM = 74.0, 400.0  # of the axes, px
_RIGHT = 700.0  # of the axes; beside them stand the names
_INKS = ("ink", "line-1", "line-2", "line-3", "line-4")
_GAP = 19.0  # px between names


def bubble_curve(
    names: Sequence[str],
    *,
    devices: int,
    microbatches: Sequence[int] | None = None,
    chunks: int | None = None,
    work: float = 8.0,
    backward: float = 2.0,
    overhead: float = 0.0,
    transfer: float = 0.0,
    forward_only: bool = False,
) -> Picture:
    """The share of all devices' time that is not work, against the number of microbatches.

    The batch stays the same and is cut ever finer. Without overhead what is lost is the idle
    share, which only falls; with overhead each schedule has a best number, marked on its line.

    Args:
        names: of schedules.
        devices: of the pipeline.
        microbatches: numbers to try; None is a selection up to 16 × devices.
        chunks: stages a device, of those schedules that take any number.
        work: forward time of the whole batch on one device's share of the model.
        backward: of a backward over its forward.
        overhead: added to every action.
        transfer: between devices.
        forward_only: leave backward work out.

    Raises:
        ValueError: as `bubble_curves` in parakit.pipeline.
    """
    curves = bubble_curves(
        names,
        devices=devices,
        microbatches=microbatches,
        chunks=chunks,
        work=work,
        backward=backward,
        overhead=overhead,
        transfer=transfer,
        forward_only=forward_only,
    )
    groups = _alike(curves)
    low = min(int(curve.microbatches.min()) for curve in curves)
    high = max(int(curve.microbatches.max()) for curve in curves)
    top = max(float(curve.lost.max()) for curve in curves)
    axes = _Axes(low=low, high=high, top=max(top, 1e-9) * 1.04)
    headline = _headline(curves, overhead)
    over = f", {number(overhead)} of overhead an action" if overhead else ""
    subtitle = (
        f"{count(devices, 'device')}, a batch of {number(work)} forward slots"
        f"{' (forward only)' if forward_only else f', backward {number(backward)} × forward'}{over}"
    )
    parts: list[Box | Line | Text] = [*heading(headline, subtitle), *axes.parts(overhead)]
    ends: list[tuple[float, float, str, str]] = []
    for at, (curve, called) in enumerate(groups):
        role, dash = _INKS[at % len(_INKS)], (7.0, 4.0) if at >= len(_INKS) else None
        parts += _line(curve, axes, role, dash)
        if overhead:
            parts += _best(curve, axes, role)
        best = f", best at {curve.microbatches[curve.best]:,}" if overhead else ""
        x, y = axes.x(int(curve.microbatches[-1])), axes.y(float(curve.lost[-1]))
        ends.append((x, y, role, f"{called}{best}"))
    parts += _names(ends)
    scene = Scene(
        width=WIDTH,
        height=_BOTTOM + 62,
        used=_BOTTOM + 62,
        headline=headline,
        alt=_alt(groups, overhead),
        parts=tuple(parts),
    )
    return Picture(scene)


class _Axes:
    """Numbers of microbatches, each doubling equally wide, against shares."""

    def __init__(self, *, low: int, high: int, top: float) -> None:
        self._low, self._high, self._top = low, high, top

    def x(self, microbatches: int) -> float:
        """Where a number of microbatches stands."""
        wide = np.log2(self._high / self._low)
        return LEFT + (_RIGHT - LEFT) * float(np.log2(microbatches / self._low) / wide if wide else 0.5)

    def y(self, share: float) -> float:
        """Where a share stands."""
        return _BOTTOM - (_BOTTOM - _TOP) * share / self._top

    def parts(self, overhead: float) -> list[Box | Line | Text]:
        """Ticks, grid lines and what the axes count."""
        found: list[Box | Line | Text] = []
        for tick in nice_ticks(100 * self._top, most=7)[:-1]:
            y = self.y(tick / 100)
            found.append(Line(x1=LEFT, y1=y, x2=_RIGHT, y2=y, role="hatch"))
            found.append(
                Text(x=LEFT - 9, y=y + 4.5, text=f"{number(tick)}%", size=13, role="muted", anchor="end")
            )
        doublings = [2**power for power in range(40) if self._low <= 2**power <= self._high]
        for tick in doublings or [self._low]:
            x = self.x(tick)
            found.append(Line(x1=x, y1=_BOTTOM, x2=x, y2=_BOTTOM + 5, role="muted"))
            found.append(Text(x=x, y=_BOTTOM + 19, text=f"{tick:,}", size=13, role="muted", anchor="middle"))
        found.append(Line(x1=LEFT, y1=_BOTTOM, x2=_RIGHT, y2=_BOTTOM, role="ink", width=1.5))
        words = "microbatches that the batch is cut into"
        middle = (LEFT + _RIGHT) / 2
        found.append(Text(x=middle, y=_BOTTOM + 42, text=words, size=14, role="muted", anchor="middle"))
        lost = "share of all time that is idle or overhead" if overhead else "idle share of all time"
        found.append(Text(x=LEFT - 46, y=_TOP - 9, text=lost, size=14, role="muted"))
        return found


def _alike(curves: Sequence[Curve]) -> list[tuple[Curve, str]]:
    """Curves with the names of all that are the same."""
    groups: list[tuple[Curve, list[str]]] = []
    for curve in curves:
        for other, called in groups:
            if np.array_equal(curve.microbatches, other.microbatches) and np.allclose(
                curve.lost, other.lost, atol=1e-9
            ):
                called.append(curve.name)
                break
        else:
            groups.append((curve, [curve.name]))
    return [(curve, ", ".join(called)) for curve, called in groups]


def _line(curve: Curve, axes: _Axes, role: str, dash: tuple[float, float] | None) -> list[Box | Line | Text]:
    x = [axes.x(number) for number in curve.microbatches.tolist()]
    y = [axes.y(share) for share in curve.lost.tolist()]
    if len(x) == 1:
        return [Box(x=x[0] - 3, y=y[0] - 3, width=6, height=6, role=role)]
    return [
        Line(x1=x[at], y1=y[at], x2=x[at + 1], y2=y[at + 1], role=role, width=2.5, dash=dash)
        for at in range(len(x) - 1)
    ]


def _best(curve: Curve, axes: _Axes, role: str) -> list[Box | Line | Text]:
    at = curve.best
    x, y = axes.x(int(curve.microbatches[at])), axes.y(float(curve.lost[at]))
    words = f"{curve.name}: {curve.microbatches[at]:,} microbatches, {percent(float(curve.lost[at]))} lost"
    return [
        Box(
            x=x - 5,
            y=y - 5,
            width=10,
            height=10,
            role=role,
            edge="paper",
            edge_width=2.0,
            tooltip=words,
        )
    ]


def _names(ends: Sequence[tuple[float, float, str, str]]) -> list[Box | Line | Text]:
    """Each line's name beside its end, pushed apart where ends are close."""
    found: list[Box | Line | Text] = []
    order = sorted(range(len(ends)), key=lambda at: ends[at][1])
    wanted = [ends[at][1] for at in order]
    places: list[float] = []
    for y in wanted:
        places.append(max(y, places[-1] + _GAP) if places else y)
    over = max(places[-1] - (_BOTTOM - 4), 0.0)
    for at in range(len(places) - 1, -1, -1):  # pushed up again from the bottom
        limit = _BOTTOM - 4 if at == len(places) - 1 else places[at + 1] - _GAP
        places[at] = min(places[at], limit) if over else places[at]
    for at, y in zip(order, places, strict=True):
        x, end, role, words = ends[at]
        found.append(Line(x1=x + 3, y1=end, x2=_RIGHT + 22, y2=y, role=role, width=1.0))
        size = size_that_fits(words, 14, WIDTH - _RIGHT - 34)
        found.append(Text(x=_RIGHT + 27, y=y + size * 0.36, text=words, size=size))
    return found


def _headline(curves: Sequence[Curve], overhead: float) -> str:
    least = min(curves, key=lambda curve: float(curve.span.min()))
    number_of = int(least.microbatches[least.best])
    share = percent(float(least.lost[least.best]))
    if overhead and number_of < least.microbatches.max():
        return f"{least.name} is fastest with {number_of:,} microbatches: beyond, overhead costs more than it saves"
    return f"{least.name} loses least: {share} with {count(number_of, 'microbatch')}"


def _alt(groups: Sequence[tuple[Curve, str]], overhead: float) -> str:
    what = "idle or overhead" if overhead else "idle"
    told = "; ".join(
        f"{called} from {percent(float(curve.lost[0]))} at {curve.microbatches[0]:,} to "
        f"{percent(float(curve.lost[-1]))} at {curve.microbatches[-1]:,} microbatches, least "
        f"{percent(float(curve.lost[curve.best]))} at {curve.microbatches[curve.best]:,}"
        for curve, called in groups
    )
    return f"share of all time that is {what}: {told}"
