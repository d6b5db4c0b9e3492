"""Two axes in powers of ten, and what is written on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log10

from parakit.draw.scene import Box, Line, Text
from parakit.units import seconds_text

LEFT, RIGHT, TOP, BOTTOM = 110.0, 930.0, 66.0, 400.0  # px


@dataclass(frozen=True, kw_only=True, slots=True)
class LogAxes:
    """Where values stand; all four are powers of ten, by their exponents."""

    low: float
    high: float
    down: float
    up: float

    def x(self, value: float) -> float:
        """Px from the left."""
        return LEFT + (log10(value) - self.low) / (self.high - self.low) * (RIGHT - LEFT)

    def y(self, value: float) -> float:
        """Px from the top."""
        return BOTTOM - (log10(value) - self.down) / (self.up - self.down) * (BOTTOM - TOP)

    def grid(
        self, sizes: Iterable[float], said: Callable[[float], str], times: Iterable[float]
    ) -> list[Box | Line | Text]:
        """Lines with their words: across for `sizes`, as `said` says them, and up for `times` in seconds."""
        parts: list[Box | Line | Text] = []
        for size in sizes:
            at = self.x(size)
            parts.append(Line(x1=at, y1=TOP, x2=at, y2=BOTTOM, role="idle"))
            parts.append(Text(x=at, y=BOTTOM + 20, text=said(size), size=14, anchor="middle"))
        for took in times:
            at = self.y(took)
            parts.append(Line(x1=LEFT, y1=at, x2=RIGHT, y2=at, role="idle"))
            parts.append(Text(x=LEFT - 10, y=at + 5, text=seconds_text(took), size=14, anchor="end"))
        return parts
