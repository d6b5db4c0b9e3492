"""What all pictures share: headline, rows with their names, legend."""

from __future__ import annotations

from parakit.draw.look import size_that_fits, text_width
from parakit.draw.scene import Box, Line, Text

WIDTH = 960.0
LEFT, RIGHT = 92.0, 942.0  # of the rows
TOP = 58.0  # of the first row


def heading(headline: str, subtitle: str) -> list[Text]:
    """The finding in words, and beneath it what is drawn; shrunk to fit the width."""
    room = WIDTH - LEFT - 12
    return [
        Text(x=LEFT, y=24, text=headline, size=size_that_fits(headline, 18, room, bold=True), bold=True),
        Text(x=LEFT, y=45, text=subtitle, size=size_that_fits(subtitle, 14, room), role="muted"),
    ]


def pitch(rows: int) -> float:
    """Distance from row to row in px. It depends on the most rows a picture may have, so rows keep it."""
    return 50.0 if rows <= 8 else max(400.0 / rows, 7.0)


def row_names(names: list[str], step: float, height: float, top: float = TOP) -> list[Text]:
    """Names at the left of the rows; every second, fifth, … where all would not fit."""
    every = next(k for k in (1, 2, 5, 10, 20, 50, 100, 10**9) if k * step >= 13)
    size = min(15.0, step * every * 0.75)
    return [
        Text(
            x=LEFT - 12,
            y=top + row * step + height / 2 + size * 0.36,
            text=name,
            anchor="end",
            size=size_that_fits(name, size, LEFT - 16),
        )
        for row, name in enumerate(names)
        if row % every == 0
    ]


def cut(end: float, top: float, height: float) -> list[Line]:
    """Two slanted strokes of paper: a bar that goes on past the axis, whose end is at `end`."""
    return [
        Line(x1=end - x - 6, y1=top + height, x2=end - x + 6, y2=top, role="paper", width=4)
        for x in (12.0, 24.0)
    ]


def legend(entries: list[tuple[str, str]], y: float) -> list[Box | Text | Line]:
    """Swatches with their words, left to right; role "" gives a word alone, "line …" an outline."""
    parts: list[Box | Text | Line] = []
    x = LEFT
    for role, word in entries:
        if role.startswith("line "):
            parts.append(Box(x=x + 1, y=y, width=20, height=15, role="", edge=role[5:], edge_width=3.0))
        elif role:
            parts.append(Box(x=x, y=y, width=22, height=15, role=role, edge="edge", edge_width=0.5))
        x += 29 if role else 0
        parts.append(Text(x=x, y=y + 12.5, text=word, size=14, role="ink" if role else "muted"))
        x += text_width(word, 14) + 16
    return parts
