"""Every plan judged: excluded with its reason, or timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parakit.choose.limits import Limits
from parakit.choose.plans import every_plan
from parakit.choose.result import Choice
from parakit.cluster import Cluster
from parakit.memory import memory_many
from parakit.model import Model
from parakit.plan import Plan, PlanError
from parakit.steptime import step_times
from parakit.steptime.compute import check

Progress = Callable[[int, int], None]  # plans judged so far, plans in all

_AT_ONCE = 20_000  # plans between two reports of progress


def choose(
    model: Model,
    cluster: Cluster,
    *,
    batch: int,
    sequence: int = 2048,
    dp: Any = None,
    tp: Any = None,
    pp: Any = None,
    ep: Any = None,
    zero: Any = None,
    microbatch: Any = None,
    schedule: Any = None,
    chunks: Any = None,
    recompute: Any = None,
    sequence_parallel: Any = None,
    attention: Any = "fused",
    precision: Any = "mixed-16",
    progress: Progress | None = None,
) -> Choice:
    """Which plan: every one that uses all devices is excluded with its reason, or timed and ranked.

    Memory decides first: what does not fit a device is excluded. What fits is ranked by the time
    of a step. What only repeats another plan is left out: ZeRO without replicas, sequence
    parallelism without tensor ranks, several schedules of one stage, selective recomputation of
    fused attention. Microbatches are tried as powers of two up to 64, chunks up to 8.

    Args:
        model: what is trained.
        cluster: what it runs on; all of its devices are used.
        batch: examples of one update, the same for all plans.
        sequence: tokens of an example.
        dp: a value, or several, that are allowed; None for all that make sense. So are `tp`, `pp`,
            `ep`, `zero`, `microbatch`, `schedule`, `chunks`, `recompute`, `sequence_parallel`,
            `attention` and `precision`.
        tp: see `dp`.
        pp: see `dp`.
        ep: see `dp`.
        zero: see `dp`.
        microbatch: see `dp`.
        schedule: see `dp`.
        chunks: see `dp`.
        recompute: see `dp`.
        sequence_parallel: see `dp`.
        attention: see `dp`.
        precision: see `dp`.
        progress: called now and then with the plans judged so far, and all.

    Returns:
        Choice: `.ranked`, `.excluded`, `.table()`, `.why(…)`, `.scaling()`, `.frontier()`.

    Raises:
        PlanError: no plan at all uses all devices within the limits; the sentence says why.
        ValueError: a limit is none that a plan can have, or there are too many plans.

    Example:
        >>> choice = choose(Model.preset("gpt2"), Cluster.preset("a100-80gb"), batch=64, sequence=1024)
        >>> best = choice.ranked[0].plan
        >>> best.dp, best.tp, best.pp
        (8, 1, 1)
    """
    check(model, cluster)
    limits = Limits.of(
        batch=batch,
        sequence=sequence,
        dp=dp,
        tp=tp,
        pp=pp,
        ep=ep,
        zero=zero,
        microbatch=microbatch,
        schedule=schedule,
        chunks=chunks,
        recompute=recompute,
        sequence_parallel=sequence_parallel,
        attention=attention,
        precision=precision,
    )
    return choose_within(model, cluster, limits, progress)


def choose_within(model: Model, cluster: Cluster, limits: Limits, progress: Progress | None = None) -> Choice:
    """As `choose`, with limits that were checked."""
    listed = every_plan(model, cluster.devices, limits)
    if not listed.plans and not listed.faulty:
        raise PlanError((_nothing(cluster, limits),))
    if not listed.plans:
        raise PlanError((_all_faulty(model, cluster, limits, [fault for _, fault in listed.faulty]),))
    plans = listed.plans
    each, ranks, peaks = [], [], []
    for some in _slices(plans):
        reports = memory_many(model, some)
        each.append(reports.bytes)
        ranks.append(reports.rank)
        peaks.append(reports.peak)
        if progress:
            progress(sum(map(len, peaks)) // 2, len(plans))
    peak = np.concatenate(peaks)
    fits = np.flatnonzero(peak <= cluster.usable)
    timed = [plans[at] for at in fits]
    parts = []
    for some in _slices(timed):
        parts.append(step_times(model, some, cluster, checked=True))
        if progress:
            done = sum(len(one.plans) for one in parts)
            progress(len(plans) - (len(timed) - done) // 2, len(plans))
    if progress:
        progress(len(plans), len(plans))
    return Choice(
        model=model,
        cluster=cluster,
        limits=limits,
        plans=tuple(plans),
        bytes=np.concatenate(each),
        fullest=np.concatenate(ranks),
        fits=fits,
        steps=tuple(parts),
        faulty=tuple(listed.faulty),
    )


def _slices(plans: Sequence[Plan]) -> list[Sequence[Plan]]:
    return [plans[low : low + _AT_ONCE] for low in range(0, len(plans), _AT_ONCE)]


def _nothing(cluster: Cluster, limits: Limits) -> str:
    given = ", ".join(
        f"{name} from {', '.join(map(str, values))}"
        for name in ("dp", "tp", "pp")
        if (values := getattr(limits, name)) is not None
    )
    return (
        f"no dp × tp × pp is {cluster.devices:,} devices with {given}: allow other degrees, or change devices"
    )


def _all_faulty(model: Model, cluster: Cluster, limits: Limits, faults: list[str]) -> str:
    if len(set(faults)) == 1:
        return faults[0]
    most = max(dict.fromkeys(faults), key=faults.count)
    return (
        f"no plan splits {model.name or 'this model'} and a batch of {limits.batch:,} over "
        f"{cluster.devices:,} devices: {most}, and {len(faults) - 1} more splits fail alike; change devices or "
        f"batch, or allow more"
    )
