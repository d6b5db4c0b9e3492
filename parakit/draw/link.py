"""Measured runs over their sizes, both axes in powers of ten, with the line that was fitted."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, log10

import numpy as np

from parakit.draw.frame import WIDTH, heading, legend
from parakit.draw.log_axes import BOTTOM, LEFT, RIGHT, LogAxes
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Line, Scene, Text
from parakit.measure import LinkFit, Measurements
from parakit.names import count
from parakit.units import bytes_text, seconds_text

_DOT = 8.0  # px, side of a run's mark
_ROLES = ("F", "I", "B", "W")


def link(runs: Measurements, fitted: LinkFit | None = None) -> Picture:
    """Time over bytes sent by a device, log-log: flat where latency decides, rising where bandwidth does.

    Args:
        runs: as from `pk.measure.read`.
        fitted: the line; None fits one.
    """
    fitted = fitted or runs.fit()
    sent, seconds = runs.sent, runs.seconds
    axes = LogAxes(
        low=floor(log10(sent.min()) - 0.01),
        high=ceil(log10(sent.max()) + 0.01),
        down=floor(log10(seconds.min()) - 0.01),
        up=ceil(log10(seconds.max()) + 0.01),
    )
    every = max(1, int(axes.high - axes.low) // 8)
    parts: list[Box | Line | Text] = [
        *heading(_headline(fitted), _subtitle(runs)),
        *axes.grid(
            [10.0**power for power in range(int(axes.low), int(axes.high) + 1, every)],
            bytes_text,
            [10.0**power for power in range(int(axes.down), int(axes.up) + 1)],
        ),
    ]
    words = "bytes that each device sends"
    parts.append(
        Text(x=(LEFT + RIGHT) / 2, y=BOTTOM + 42, text=words, size=14, anchor="middle", role="muted")
    )
    hops = float(np.median(runs.hops))
    sizes = np.logspace(log10(sent.min()), log10(sent.max()), 80)
    told = [(size, fitted.seconds(hops, size)) for size in sizes.tolist()]
    line = [(axes.x(size), axes.y(took)) for size, took in told if took > 0]
    for (x1, y1), (x2, y2) in pairwise(line):
        parts.append(Line(x1=x1, y1=y1, x2=x2, y2=y2, role="accent", width=2.5))
    names = sorted(set(runs.collective.tolist()))
    for at in range(len(sent)):
        name = str(runs.collective[at])
        off = seconds[at] / fitted.seconds(float(runs.hops[at]), float(sent[at])) - 1
        parts.append(
            Box(
                x=axes.x(float(sent[at])) - _DOT / 2,
                y=axes.y(float(seconds[at])) - _DOT / 2,
                width=_DOT,
                height=_DOT,
                role=_ROLES[names.index(name) % len(_ROLES)],
                edge="ink",
                tooltip=f"{name}, {bytes_text(float(runs.bytes[at]))}: {seconds_text(float(seconds[at]))}, {off:+.0%} of the fit",
            )
        )
    entries = [(_ROLES[at % len(_ROLES)], name) for at, name in enumerate(names)]
    parts += legend([*entries, ("line accent", "fit")], BOTTOM + 58)
    scene = Scene(
        width=WIDTH,
        height=BOTTOM + 86,
        used=BOTTOM + 86,
        headline=_headline(fitted),
        alt=f"{_headline(fitted)}; {_subtitle(runs)}",
        parts=tuple(parts),
    )
    return Picture(scene)


def _headline(fitted: LinkFit) -> str:
    latency = (
        "latency not determined" if np.isnan(fitted.latency) else f"{seconds_text(fitted.latency)} a hop"
    )
    if np.isnan(fitted.bandwidth):
        return f"{latency}, bandwidth not determined"
    return f"{latency}, then {bytes_text(fitted.bandwidth)}/s"


def _subtitle(runs: Measurements) -> str:
    devices = sorted(set(runs.ranks.tolist()))
    said = count(devices[0], "device") if len(devices) == 1 else f"{devices[0]} to {devices[-1]} devices"
    return f"{count(len(runs.bytes), 'run')} on {said}{f', {runs.source}' if runs.source else ''}; both axes in powers of ten"
