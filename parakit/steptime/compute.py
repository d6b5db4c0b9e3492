"""The time of one step, put together from a simulated schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parakit.checks import shown
from parakit.cluster import Cluster
from parakit.model import Model
from parakit.pipeline import Timeline, TimeUnit, schedule, simulate
from parakit.pipeline.layout import layout
from parakit.plan import Plan, PlanError
from parakit.steptime.columns import Columns
from parakit.steptime.pieces import pieces
from parakit.steptime.result import StepTime
from parakit.steptime.stages import Stages, put_together
from parakit.steptime.total import totals


def step_time(model: Model, plan: Plan, cluster: Cluster, overlap: bool = True) -> StepTime:
    """Seconds of one step on the pipeline rank that ends last, by what they are spent on.

    A matrix product takes its operations at the rate that products reach and besides moves its
    matrices through memory; everything else reads and writes memory. Collectives are rings,
    latency and bandwidth of the slowest link they cross. The pipeline's schedule is simulated
    with each stage's own times.

    What overlaps: pipeline transfers occupy no device. The gradients that tensor ranks add for the
    inputs of a matrix hide behind its weights' gradient (not where the schedule computes that
    apart), and gathering inputs again behind the product before. Replicas exchange layer by layer:
    gradients beside the last backward, ZeRO 1 and 2's parameters beside the first forward, ZeRO 3's
    beside each action. The rest is exposed.

    Args:
        model: what is trained.
        plan: how it is split.
        cluster: what it runs on.
        overlap: False: nothing overlaps, and who sends in the pipeline waits meanwhile.

    Returns:
        StepTime: `.parts` in seconds sum to `.total`; `.hidden` is communication that overlaps.

    Raises:
        PlanError: the plan cannot run with this model on this cluster.
        ValueError: something else than a pk.Model or a pk.Cluster is given, or the cluster states
            no rate for the plan's precision.

    Example:
        >>> model, cluster = Model.preset("megatron-22b"), Cluster.preset("a100-80gb", devices=8)
        >>> plan = Plan(tp=8, batch=4, microbatch=4, recompute="selective", sequence_parallel=True,
        ...             attention="plain", precision="mixed-18")
        >>> round(step_time(model, plan, cluster).total, 1)  # measured: 1.10 s
        1.1

    Source: Korthikanti et al. 2022; Narayanan et al. 2021; Williams, Waterman and Patterson 2009.
    """
    check(model, cluster)
    if not isinstance(overlap, bool):
        raise ValueError(f"overlap is {shown(overlap)}: it must be True or False")
    if problems := plan.problems(model, cluster):
        raise PlanError(problems)
    columns = Columns.of([plan])
    made = pieces(model, columns, cluster, overlap=overlap)
    stages, ends = put_together(model, plan, columns, made, cluster, overlap=overlap)
    with_transfers = _simulated(plan, stages, stages.transfer[0], overlap)
    without = _simulated(plan, stages, np.zeros_like(stages.transfer[0]), overlap)
    spread = layout(plan.schedule, plan.pp, plan.chunks_each)
    found = totals(
        stages,
        ends,
        spread,
        columns.microbatches,
        _last_ends(with_transfers)[None],
        _last_ends(without)[None],
        overlap=overlap,
    )
    return StepTime(
        parts=found.parts_of(0),
        hidden_parts=found.hidden_of(0),
        rank=int(found.rank[0]),
        model=model,
        plan=plan,
        cluster=cluster,
        timeline=replace(with_transfers, unit=TimeUnit.SECOND),
    )


def check(model: object, cluster: object) -> None:
    """That both are what they should be.

    Raises:
        ValueError: one is not.
    """
    for name, what, kind in (("model", model, Model), ("cluster", cluster, Cluster)):
        if not isinstance(what, kind):
            raise ValueError(f"{name} is {shown(what)}: it must be a pk.{kind.__name__}")


def _simulated(plan: Plan, stages: Stages, transfer: np.ndarray, overlap: bool) -> Timeline:
    order = schedule(plan.schedule, devices=plan.pp, microbatches=plan.microbatches, chunks=plan.chunks_each)
    return simulate(
        order,
        forward=stages.forward[0],
        backward=stages.backward[0],
        weight=np.minimum(stages.weight[0], stages.backward[0]),
        transfer=transfer,
        overlap=overlap,
    )


def _last_ends(timeline: Timeline) -> np.ndarray:
    """When each device ends its last action, float64 (devices,)."""
    last = np.zeros(timeline.devices)
    np.maximum.at(last, timeline.device, timeline.end)
    return last
