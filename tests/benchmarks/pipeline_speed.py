"""How fast schedules are simulated and checked, against a plain event loop, in one run.

    uv run python tests/benchmarks/pipeline_speed.py

The event loop (tests/pipeline/plain.py) is a test oracle: its times are ours. Ratios are of medians.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipeline.plain import event_loop

import parakit as pk

SLOTS = {"F": 1.0, "B": 2.0, "I": 1.0, "W": 1.0}


def seconds(
    way: Callable[[], object], times: int, middle: Callable[[list[float]], float] = statistics.median
) -> float:
    """Median, or another middle, of some runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        way()
        taken.append(time.perf_counter() - start)
    return middle(taken)


def against_the_event_loop(devices: int, microbatches: int, times: int = 5) -> tuple[float, float]:
    """Seconds of ours and of the plain way."""
    order = pk.schedule("1f1b", devices=devices, microbatches=microbatches)
    return seconds(lambda: pk.simulate(order), times), seconds(lambda: event_loop(order, SLOTS), times)


def checked_and_simulated(devices: int, microbatches: int, times: int = 5) -> tuple[float, float]:
    """Seconds of finding no problem, and of simulating; the least of each, as both differ by little."""
    order = pk.schedule("1f1b", devices=devices, microbatches=microbatches)
    pk.simulate(order)
    return seconds(order.problems, times, min), seconds(lambda: pk.simulate(order), times, min)


def main() -> None:
    """Print the tables."""
    print("stages x microbatches | simulate | plain event loop | ratio")
    for size in ((4, 8), (8, 32), (16, 64), (64, 256)):
        fast, slow = against_the_event_loop(*size)
        print(
            f"{size[0]:>6} x {size[1]:<12} | {fast * 1e3:8.2f} | {slow * 1e3:13.1f} ms | {slow / fast:5.1f}"
        )
    checked, simulated = checked_and_simulated(64, 1024)
    print(f"64 x 1,024: checked in {checked * 1e3:.0f} ms, simulated in {simulated * 1e3:.0f} ms")
    print("actions   | simulate | an action")
    for microbatches in (64, 256, 1024, 4096, 7813):
        order = pk.schedule("1f1b", devices=64, microbatches=microbatches)
        took = seconds(lambda order=order: pk.simulate(order), 3)  # type: ignore[misc]
        print(f"{order.actions:>9,} | {took * 1e3:5.0f} ms | {took / order.actions * 1e9:4.0f} ns")


if __name__ == "__main__":
    main()
