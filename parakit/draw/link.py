"""Measured runs over their sizes, both axes in powers of ten, with the line that was fitted."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, log10

import numpy as np

from parakit.draw.frame import WIDTH, heading, legend
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Line, Scene, Text
from parakit.measure import LinkFit, Measurements
from parakit.names import count
from parakit.units import bytes_text, seconds_text

_LEFT, _RIGHT, _TOP, _BOTTOM = 110.0, 930.0, 66.0, 400.0
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
    low, high = floor(log10(sent.min()) - 0.01), ceil(log10(sent.max()) + 0.01)
    down, up = floor(log10(seconds.min()) - 0.01), ceil(log10(seconds.max()) + 0.01)

    def x(size: float) -> float:
        return _LEFT + (log10(size) - low) / (high - low) * (_RIGHT - _LEFT)

    def y(took: float) -> float:
        return _BOTTOM - (log10(took) - down) / (up - down) * (_BOTTOM - _TOP)

    parts: list[Box | Line | Text] = [*heading(_headline(fitted), _subtitle(runs))]
    every = max(1, (high - low) // 8)
    for power in range(low, high + 1, every):
        at = x(10.0**power)
        parts.append(Line(x1=at, y1=_TOP, x2=at, y2=_BOTTOM, role="idle"))
        parts.append(Text(x=at, y=_BOTTOM + 20, text=bytes_text(10.0**power), size=14, anchor="middle"))
    for power in range(down, up + 1):
        at = y(10.0**power)
        parts.append(Line(x1=_LEFT, y1=at, x2=_RIGHT, y2=at, role="idle"))
        parts.append(Text(x=_LEFT - 10, y=at + 5, text=seconds_text(10.0**power), size=14, anchor="end"))
    words = "bytes that each device sends"
    parts.append(
        Text(x=(_LEFT + _RIGHT) / 2, y=_BOTTOM + 42, text=words, size=14, anchor="middle", role="muted")
    )
    hops = float(np.median(runs.hops))
    sizes = np.logspace(log10(sent.min()), log10(sent.max()), 80)
    line = [(x(size), y(fitted.seconds(hops, size))) for size in sizes.tolist()]
    for (x1, y1), (x2, y2) in pairwise(line):
        parts.append(Line(x1=x1, y1=y1, x2=x2, y2=y2, role="accent", width=2.5))
    names = sorted(set(runs.collective.tolist()))
    for at in range(len(sent)):
        name = str(runs.collective[at])
        off = seconds[at] / fitted.seconds(float(runs.hops[at]), float(sent[at])) - 1
        parts.append(
            Box(
                x=x(float(sent[at])) - _DOT / 2,
                y=y(float(seconds[at])) - _DOT / 2,
                width=_DOT,
                height=_DOT,
                role=_ROLES[names.index(name) % len(_ROLES)],
                edge="ink",
                tooltip=f"{name}, {bytes_text(float(runs.bytes[at]))}: {seconds_text(float(seconds[at]))}, {off:+.0%} of the fit",
            )
        )
    entries = [(_ROLES[at % len(_ROLES)], name) for at, name in enumerate(names)]
    parts += legend([*entries, ("line accent", "fit")], _BOTTOM + 58)
    scene = Scene(
        width=WIDTH,
        height=_BOTTOM + 86,
        used=_BOTTOM + 86,
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
