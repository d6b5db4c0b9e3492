"""The grid as plain text, for a terminal."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import gcd

import numpy as np

from parakit.names import cell, stage_letters
from parakit.pipeline import Kind, Timeline

_WIDEST = 220  # characters; a wider grid breaks its lines in a terminal
_FINEST = 20  # parts of a unit of time that a column may stand for


def text_grid(timeline: Timeline) -> str:
    """A line a device, a column a slot: `A1` forward, `a1` backward, `··` idle, `--` an action going on.

    Past 220 characters a line it says instead how large the grid is.

    Example:
        >>> from parakit.pipeline import schedule, simulate
        >>> print(text_grid(simulate(schedule("gpipe", devices=2, microbatches=3, forward_only=True))))
        stage A | A1 A2 A3 ··
        stage B | ·· B1 B2 B3
    """
    slot = _slot(timeline)
    columns = 0 if slot == 0 else round(timeline.span / slot)
    labels = [_label(*one) for one in zip(timeline.stage, timeline.microbatch, timeline.kind, strict=True)]
    width = max(map(len, labels), default=2)
    one_each = timeline.schedule.one_stage_each
    names = [
        f"stage {stage_letters(row)}" if one_each else f"device {row + 1}" for row in range(timeline.devices)
    ]
    margin = max(map(len, names))
    if columns == 0 or columns * (width + 1) + margin + 2 > _WIDEST:
        return f"a grid of {timeline.devices:,} rows and {columns:,} columns is too wide for text; draw it with -o grid.svg"
    rows = [["·" * width] * columns for _ in names]
    first = np.rint(timeline.start / slot).astype(int)
    last = np.rint(timeline.end / slot).astype(int)
    for label, device, begin, end in zip(
        labels, timeline.device.tolist(), first.tolist(), last.tolist(), strict=True
    ):
        rows[device][begin:end] = [label.ljust(width), *["-" * width] * (end - begin - 1)][: end - begin]
    return "\n".join(
        f"{name.ljust(margin)} | {' '.join(row).rstrip()}" for name, row in zip(names, rows, strict=True)
    )


def text_key(timeline: Timeline) -> str:
    """What the signs of `text_grid` mean."""
    signs = ["A1 forward"]
    kinds = set(timeline.kind.tolist())
    if Kind.B in kinds:
        signs.append("a1 backward")
    if Kind.I in kinds:
        signs += ["a1i backward for inputs", "a1w backward for weights"]
    return ", ".join([*signs, "-- going on, ·· idle"])


def _label(stage: int, microbatch: int, kind: int) -> str:
    label = cell(int(stage), int(microbatch))
    if kind == Kind.F:
        return label
    return label.lower() + {Kind.B: "", Kind.I: "i", Kind.W: "w"}[Kind(int(kind))]


def _slot(timeline: Timeline) -> float:
    """The longest time of which every start and end is a multiple, as far as a column may go."""
    times = np.unique(np.concatenate([timeline.start, timeline.end]).round(9))
    parts = [Fraction(time).limit_denominator(_FINEST) for time in times.tolist()]
    bottom = reduce(lambda a, b: a * b // gcd(a, b), (part.denominator for part in parts), 1)
    top = reduce(gcd, (int(part * bottom) for part in parts), 0)
    return top / bottom
