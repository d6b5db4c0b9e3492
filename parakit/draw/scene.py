"""What a picture consists of, in px and in roles. No colours, and nothing of what it is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST_CELL = 3.0  # px; narrower cells of a row and role are drawn as one shape
SMALLEST_LABEL = 18.0  # px; in narrower cells a label is not legible


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cells:
    """Many rectangles in rows. Arrays have one entry a cell."""

    x: np.ndarray  # float64, px
    width: np.ndarray  # float64, px
    row: np.ndarray  # int, index into `top` and `row_tooltips`
    role: np.ndarray  # int, index into `roles`
    top: tuple[float, ...]  # px, per row
    height: float  # px
    roles: tuple[str, ...]
    labels: tuple[str, ...]  # shown where they fit
    tooltips: tuple[str, ...]  # per cell, for those at least SMALLEST_CELL wide
    row_tooltips: tuple[str, ...]  # per row, for the others
    label_x: np.ndarray  # float64, px: middle of each label
    label_room: np.ndarray  # float64, px: width that each label may take
    striped: bool = True  # with the stripes of its roles, where they fit


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """One rectangle. Role "idle" is hatched; role "" is an outline alone."""

    x: float
    y: float
    width: float
    height: float
    role: str
    tooltip: str = ""
    edge: str = ""  # role of its outline
    edge_width: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    size: float
    role: str = "ink"
    anchor: str = "start"  # start, middle or end
    bold: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    role: str
    width: float = 1.0
    dash: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A picture: its size, its parts in the order of painting, and what it says in words."""

    width: float
    height: float  # reserved, so that the picture keeps its box
    used: float  # what the parts take of it
    headline: str
    alt: str
    parts: tuple[Cells | Box | Text | Line, ...]


def label_size(label: str, width: float, height: float) -> float:
    """Font size of a label in a cell of this size; 0 where it would not be legible."""
    tall = max(height * 0.42, min(height * 0.7, 12.0))
    size = min(16.0, tall, (width - 7) / (0.68 * max(len(label), 1)))
    return float(int(size)) if width >= SMALLEST_LABEL and size >= 8 else 0.0


def nice_ticks(end: float, most: int = 12) -> list[float]:
    """Round ticks from 0, at most `most`, and the end itself.

    Example:
        >>> nice_ticks(11), nice_ticks(33)
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 33.0])
    """
    if end <= 0:
        return [0.0]
    size = 10.0 ** np.floor(np.log10(end / most))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if end / (size * factor) <= most - 1 + 1e-9)
    ticks = [float(round(k * step, 12)) for k in range(int(end / step + 1e-9) + 1)]
    if end - ticks[-1] > 1e-9 * end:
        if end - ticks[-1] < 0.4 * step:  # the end's own label needs the room
            ticks.pop()
        ticks.append(float(end))
    return ticks
