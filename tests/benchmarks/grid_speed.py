"""How fast a grid is made and drawn, against the plain way, in one run.

    uv run python tests/benchmarks/grid_speed.py

The plain way is what one would write first: a pyplot figure with one rectangle and one text a cell,
saved as PNG. Both ways draw the same timeline; ours also simulates it. Ratios are of medians.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt

import parakit as pk
from parakit.names import cell

SIZES = ((4, 8), (8, 32), (16, 64), (64, 256))
COLOURS = ("#8CC5F0", "#1F4E8C", "#C7761B", "#F6DD8F")


def ours(stages: int, microbatches: int) -> int:
    """Simulate and draw as SVG; gives its bytes."""
    timeline = pk.simulate(pk.schedule("1f1b", devices=stages, microbatches=microbatches))
    return len(pk.draw.grid(timeline).svg.encode())


def plain(stages: int, microbatches: int) -> int:
    """Draw the plain way; gives the PNG's size in bytes."""
    return len(plain_png(stages, microbatches))


def plain_png(stages: int, microbatches: int) -> bytes:
    """Draw with pyplot, an artist or two a cell."""
    timeline = pk.simulate(pk.schedule("1f1b", devices=stages, microbatches=microbatches))
    figure, axes = plt.subplots(figsize=(9.6, 0.5 * stages + 1))
    for n in range(len(timeline.start)):
        start, width = timeline.start[n], timeline.end[n] - timeline.start[n]
        row = timeline.device[n]
        axes.add_patch(plt.Rectangle((start, row), width, 0.9, color=COLOURS[timeline.kind[n]]))
        axes.text(start + width / 2, row + 0.45, cell(timeline.stage[n], timeline.microbatch[n]), ha="center")
    axes.set_xlim(0, timeline.span)
    axes.set_ylim(stages, 0)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    return buffer.getvalue()


def median_seconds(way: Callable[[int, int], int], size: tuple[int, int], times: int) -> float:
    """Median of some runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        way(*size)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def compare(size: tuple[int, int], plain_times: int) -> tuple[float, float]:
    """Seconds of our way and of the plain way, after a run of each at the smallest size."""
    ours(2, 2), plain(2, 2)
    return median_seconds(ours, size, 9), median_seconds(plain, size, plain_times)


def main() -> None:
    """Print the table."""
    print("stages x microbatches | simulate + SVG | plain pyplot | ratio | SVG size")
    for size in SIZES:
        fast, slow = compare(size, 3 if size[0] < 16 else 1)
        print(
            f"{size[0]:>6} x {size[1]:<12} | {fast * 1e3:11.1f} ms | {slow * 1e3:9.0f} ms | {slow / fast:5.0f} | "
            f"{ours(*size) / 1e3:.0f} kB"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
