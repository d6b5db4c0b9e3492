"""How fast memory is counted: one plan at a time, and ten thousand at once, in one run.

    uv run python tests/benchmarks/memory_speed.py

Every plan is a new one, so nothing that depends on the whole plan is remembered from the one before.
For comparison: Calculon, a full analytical model, takes about 2,100 µs a plan on this kind of machine
(its own figure was measured elsewhere, not in this run). The baseline of this run simulates each plan's
schedule and adds up what is held from moment to moment.
"""

from __future__ import annotations

import itertools
import time

import parakit as pk

MODEL = pk.Model.preset("llama-3-8b")


def plans(most: int) -> list[pk.Plan]:
    """As many different plans that can run, of the kind that a search goes through."""
    choices = itertools.product(
        (1, 2, 4, 8, 16, 32, 64),
        (1, 2, 4, 8),
        (1, 2, 4, 8),
        (0, 1, 2, 3),
        (1, 2, 4),
        ("1f1b", "gpipe", "interleaved-1f1b"),
        ("none", "selective", "full"),
        (False, True),
        ("mixed-16", "mixed-18"),
    )
    found = []
    for dp, tp, pp, zero, microbatch, schedule, recompute, sequence_parallel, precision in choices:
        plan = pk.Plan(
            dp=dp,
            tp=tp,
            pp=pp,
            zero=zero,
            batch=2048,
            microbatch=microbatch,
            schedule=schedule,
            recompute=recompute,
            sequence_parallel=sequence_parallel,
            precision=precision,
        )
        if not plan.problems(MODEL):
            found.append(plan)
        if len(found) == most:
            break
    return found


def each(way, chosen: list[pk.Plan]) -> float:
    """Microseconds a plan."""
    start = time.perf_counter()
    way(chosen)
    return (time.perf_counter() - start) / len(chosen) * 1e6


def one_by_one(chosen: list[pk.Plan]) -> None:
    """What `memory` takes."""
    for plan in chosen:
        pk.memory(MODEL, plan)


def by_simulation(chosen: list[pk.Plan]) -> None:
    """The baseline: simulate each plan's schedule."""
    for plan in chosen:
        pk.memory_over_time(MODEL, plan)


def all_at_once(chosen: list[pk.Plan]) -> None:
    """What `memory_many` takes."""
    pk.memory_many(MODEL, chosen)


def compare(most: int) -> tuple[float, float, float]:
    """Microseconds a plan: simulated, one by one, all at once; each has seen a few other plans."""
    chosen = plans(most)
    for way in (by_simulation, one_by_one, all_at_once):
        way([pk.Plan(sequence=1024), pk.Plan(pp=2, sequence=1024)])
    some = chosen[:: max(len(chosen) // 40, 1)]
    return each(by_simulation, some), each(one_by_one, chosen), each(all_at_once, chosen)


def main() -> None:
    """Print the table."""
    simulated, single, together = compare(10_000)
    print(f"simulating the schedule       {simulated:9.1f} µs a plan")
    print(f"memory, one plan at a time    {single:9.1f} µs a plan")
    print(f"memory_many, 10,000 at once   {together:9.1f} µs a plan, {1e6 / together:,.0f} plans a second")


if __name__ == "__main__":
    main()
