"""Which link matters: step time over the rate of each kind of link, both axes in powers of ten."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, log10

from parakit.draw.frame import WIDTH, heading, legend
from parakit.draw.log_axes import BOTTOM, LogAxes
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Line, Scene, Text
from parakit.steptime.links import LinkCurve
from parakit.units import bytes_text, percent, seconds_text

_ROLES = {"inside": "line-1", "between": "line-2"}
_WORDS = {"inside": "link inside a node", "between": "link between nodes"}
_DOT = 12.0


def link_curves(curves: tuple[LinkCurve, ...]) -> Picture:
    """Flat where a link does not matter, rising to the left where it decides; a mark where it stands now.

    Args:
        curves: as from `pk.link_curves`.
    """
    down = log10(min(float(one.seconds.min()) for one in curves))
    up = log10(max(float(one.seconds.max()) for one in curves))
    margin = max(0.06 * (up - down), 0.08)
    axes = LogAxes(
        low=floor(min(log10(one.rate[0]) for one in curves)),
        high=ceil(max(log10(one.rate[-1]) for one in curves)),
        down=down - margin,
        up=up + margin,
    )
    headline = _headline(curves)
    parts: list[Box | Line | Text] = [
        *heading(
            headline,
            "a step's time over the rate of each link, all else as it is; both axes in powers of ten",
        ),
        *axes.grid(
            [10.0**power for power in range(int(axes.low), int(axes.high) + 1)],
            lambda rate: f"{bytes_text(rate)}/s",
            _ticks(axes.down, axes.up),
        ),
    ]
    for one in curves:
        points = [
            (axes.x(rate), axes.y(took))
            for rate, took in zip(one.rate.tolist(), one.seconds.tolist(), strict=True)
        ]
        dash = None if one.link == "inside" else (9.0, 5.0)
        for (x1, y1), (x2, y2) in pairwise(points):
            parts.append(Line(x1=x1, y1=y1, x2=x2, y2=y2, role=_ROLES[one.link], width=3.5, dash=dash))
    for one in curves:
        tooltip = f"{_WORDS[one.link]} now: {bytes_text(one.now)}/s, {seconds_text(one.now_seconds)} a step"
        parts.append(
            Box(
                x=axes.x(one.now) - _DOT / 2,
                y=axes.y(one.now_seconds) - _DOT / 2,
                width=_DOT,
                height=_DOT,
                role=_ROLES[one.link],
                edge="ink",
                edge_width=1.5,
                tooltip=tooltip,
            )
        )
    entries = [
        (_ROLES[one.link], f"{_WORDS[one.link]}{' (dashed)' * (one.link == 'between')}") for one in curves
    ]
    parts += legend([*entries, ("", "squares: as it is now")], BOTTOM + 36)
    scene = Scene(
        width=WIDTH,
        height=BOTTOM + 64,
        used=BOTTOM + 64,
        headline=headline,
        alt=f"{headline}; " + "; ".join(_facts(one) for one in curves),
        parts=tuple(parts),
    )
    return Picture(scene)


def _ticks(down: float, up: float) -> list[float]:
    """Round times between two powers of ten: 1, 2 and 5, or the powers alone where there are many."""
    factors = (1, 2, 5) if up - down < 2.5 else (1,)
    every = [factor * 10.0**power for power in range(floor(down), ceil(up) + 1) for factor in factors]
    return [one for one in every if down <= log10(one) <= up]


def _facts(one: LinkCurve) -> str:
    return (
        f"{_WORDS[one.link]}: ten times as fast saves {percent(max(one.saved, 0.0))} of the step, a tenth makes it "
        f"{one.lost:.1f} times as long"
    )


def _headline(curves: tuple[LinkCurve, ...]) -> str:
    most = max(curves, key=lambda one: one.lost)
    if most.lost < 1.01:
        return "No link matters: what they carry is little, or hidden"
    return f"The {_WORDS[most.link]} matters most: at a tenth of its rate a step takes {most.lost:.1f} times as long"
