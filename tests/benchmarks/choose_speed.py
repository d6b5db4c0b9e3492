"""How many plans a second a search judges, and how much timing them together saves.

    uv run python tests/benchmarks/choose_speed.py

Baseline: `pk.step_time` for each plan that fits, one after the other.
"""

import time

import numpy as np

import parakit as pk
from parakit.steptime import step_times

SEARCHES = (
    ("llama-3-8b", 64, 512, 8192),
    ("llama-2-13b", 16, 64, 4096),
    ("megatron-175b", 512, 1024, 2048),
    ("gpt2", 8, 64, 1024),
)


def compare(few: int = 40) -> tuple[float, float]:
    """Seconds of `few` plans, drawn from a search, one at a time and all plans at once, each a plan."""
    model, cluster = pk.Model.preset("llama-2-13b"), pk.Cluster.preset("a100-80gb", devices=16)
    choice = pk.choose(model, cluster, batch=64, sequence=4096)
    plans = [choice.plans[at] for at in choice.fits]
    some = [plans[at] for at in np.random.default_rng(0).choice(len(plans), few, replace=False)]
    began = time.perf_counter()
    for plan in some:
        pk.step_time(model, plan, cluster)
    single = (time.perf_counter() - began) / len(some)
    began = time.perf_counter()
    step_times(model, plans, cluster, checked=True)
    return single, (time.perf_counter() - began) / len(plans)


def main() -> None:
    """Prints the figures."""
    for name, devices, batch, sequence in SEARCHES:
        model, cluster = pk.Model.preset(name), pk.Cluster.preset("a100-80gb", devices=devices)
        for words in ("first", "again"):
            began = time.perf_counter()
            choice = pk.choose(model, cluster, batch=batch, sequence=sequence)
            took = time.perf_counter() - began
            plans = [choice.plans[at] for at in choice.fits]
            began = time.perf_counter()
            step_times(model, plans, cluster, checked=True)
            timed = time.perf_counter() - began
            print(
                f"{name}, {devices} devices, {words}: {choice.judged:,} plans in {took:.2f} s, "
                f"{choice.judged / took:,.0f} a second; {len(plans):,} timed, {len(plans) / timed:,.0f} a second"
            )
    single, together = compare()
    print(
        f"one at a time {1 / single:,.0f} plans a second, together {1 / together:,.0f}: {single / together:.0f} times"
    )


if __name__ == "__main__":
    main()
