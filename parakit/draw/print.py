"""Renders a scene by matplotlib, for PNG and PDF. Loaded only when a figure is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from parakit.draw.look import FILLS, INKS, PAPER, STRIPES, Theme
from parakit.draw.scene import SMALLEST_CELL, SMALLEST_LABEL, Box, Cells, Line, Scene, Text, label_size
from parakit.draw.svg import STRIPE, STRIPE_INSET, stripe_tops

_PX = 0.72  # points in a px of the scene, which is 1/100 inch


def render(scene: Scene, theme: Theme) -> Figure:
    """The scene as a Figure whose axes count px from the top left corner."""
    colours = {**FILLS, **PAPER[theme]}
    figure = Figure(figsize=(scene.width / 100, scene.height / 100), dpi=100, facecolor=colours["paper"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.axis("off")
    for order, part in enumerate(scene.parts):
        if isinstance(part, Cells):
            for artist in _cells(part, colours):
                artist.set_zorder(order)
                axes.add_collection(artist, autolim=False)
            _labels(axes, part, order)
        elif isinstance(part, Box):
            for patch in _box(part, colours):
                patch.set_zorder(order)
                axes.add_patch(patch)
        elif isinstance(part, Line):
            axes.add_line(_line(part, colours, order))
        else:
            _text(axes, part, colours, order)
    return figure


def _text(axes, text: Text, colours: dict[str, str], order: int) -> None:  # type: ignore[no-untyped-def]
    axes.text(
        text.x,
        text.y,
        text.text,
        size=text.size * _PX,
        color=colours[text.role],
        ha={"start": "left", "middle": "center", "end": "right"}[text.anchor],
        va="baseline",
        weight="bold" if text.bold else "normal",
        family="DejaVu Sans",
        zorder=order,
    )


def _line(line: Line, colours: dict[str, str], order: int) -> Line2D:
    return Line2D(
        [line.x1, line.x2],
        [line.y1, line.y2],
        color=colours[line.role],
        linewidth=line.width * _PX,
        linestyle="-" if line.dash is None else (0, tuple(px / line.width for px in line.dash)),
        solid_capstyle="butt",
        zorder=order,
    )


def _box(box: Box, colours: dict[str, str]) -> list[Rectangle]:
    place = ((box.x, box.y), box.width, box.height)
    if box.role == "idle":
        edge = colours["hatch"]
        hatched = Rectangle(*place, facecolor=colours["idle"], edgecolor=edge, hatch="////", linewidth=0)
        outline = Rectangle(
            *place,
            fill=False,
            edgecolor=colours[box.edge] if box.edge else "none",
            linewidth=box.edge_width * _PX,
        )
        return [hatched, outline] if box.edge else [hatched]
    drawn = Rectangle(
        *place,
        facecolor=colours[box.role] if box.role else "none",
        edgecolor=colours[box.edge] if box.edge else "none",
        linewidth=box.edge_width * _PX if box.edge else 0,
    )
    stripe = STRIPE / 1.5
    stripes = [
        Rectangle((box.x, y), box.width, stripe, facecolor=INKS[box.role], alpha=0.75, linewidth=0)
        for y in stripe_tops(box.role, box.y, box.height, stripe)
    ]
    return [drawn, *stripes]


def _corners(x: np.ndarray, y: np.ndarray, width: np.ndarray, height: float) -> Any:
    """Rectangles as polygons, float64 (n, 4, 2); matplotlib's types want a sequence of them."""
    xs = np.stack([x, x + width, x + width, x], axis=1)
    ys = np.stack([y, y, y + height, y + height], axis=1)
    return np.stack([xs, ys], axis=2)


def _cells(cells: Cells, colours: dict[str, str]) -> list[PolyCollection]:
    top = np.array(cells.top)[cells.row]
    collections = []
    for role, name in enumerate(cells.roles):
        chosen = (cells.role == role) & (cells.width > 0)
        if not chosen.any():
            continue
        wide = cells.width[chosen] >= SMALLEST_CELL
        collections.append(
            PolyCollection(
                _corners(cells.x[chosen], top[chosen], cells.width[chosen], cells.height),
                facecolors=colours[name],
                edgecolors=[colours["paper"] if one else "none" for one in wide],
                linewidths=np.where(wide, 1 * _PX, 0.0),
                gid=f"cells {name}",
            )
        )
        striped = chosen & (cells.width >= 10)
        if cells.striped and name in STRIPES and striped.any():
            inner = STRIPE_INSET + 0.5
            for offset in stripe_tops(name, 0.0, cells.height, STRIPE):
                polygons = _corners(
                    cells.x[striped] + inner, top[striped] + offset, cells.width[striped] - 2 * inner, STRIPE
                )
                collections.append(
                    PolyCollection(
                        polygons, facecolors=INKS[name], alpha=0.75, linewidths=0, gid=f"stripes {name}"
                    )
                )
    return collections


def _labels(axes, cells: Cells, order: int) -> None:  # type: ignore[no-untyped-def]
    for i in np.flatnonzero(cells.label_room >= SMALLEST_LABEL).tolist():
        label, width = cells.labels[i], float(cells.label_room[i])
        size = label_size(label, width, cells.height)
        if size:
            axes.text(
                float(cells.label_x[i]),
                cells.top[int(cells.row[i])] + cells.height / 2 + size * 0.36,
                label,
                size=size * _PX,
                color=INKS[cells.roles[int(cells.role[i])]],
                ha="center",
                va="baseline",
                family="DejaVu Sans",
                zorder=order + 0.5,
                gid="label",
            )
