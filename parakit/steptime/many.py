"""Step times of many plans of one model at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.pipeline.layout import layout
from parakit.pipeline.together import Durations, last_ends
from parakit.plan import Plan, PlanError
from parakit.steptime.columns import Columns
from parakit.steptime.compute import check
from parakit.steptime.pieces import pieces
from parakit.steptime.result import COMMUNICATION, PARTS, StepTime
from parakit.steptime.stages import Stages, put_together
from parakit.steptime.total import totals


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ManySteps:
    """Seconds of each plan's step on its rank that ends last."""

    parts: np.ndarray  # float64 (plans, PARTS)
    hidden: np.ndarray  # float64 (plans, COMMUNICATION)
    rank: np.ndarray  # int64 (plans,)
    model: Model
    plans: tuple[Plan, ...]
    cluster: Cluster

    @property
    def total(self) -> np.ndarray:
        """Seconds of the whole steps, float64 (plans,)."""
        total: np.ndarray = self.parts.sum(axis=1)
        return total

    def one(self, at: int) -> StepTime:
        """Of one plan, without its timeline."""
        return StepTime(
            parts=dict(zip(PARTS, self.parts[at].tolist(), strict=True)),
            hidden_parts=dict(zip(COMMUNICATION, self.hidden[at].tolist(), strict=True)),
            rank=int(self.rank[at]),
            model=self.model,
            plan=self.plans[at],
            cluster=self.cluster,
        )


def step_times(model: Model, plans: Sequence[Plan], cluster: Cluster, *, checked: bool = False) -> ManySteps:
    """What `step_time` says of each plan, for thousands of plans in a moment.

    Plans that share schedule, pp, microbatches, chunks and layers a stage share one walk through
    the schedule.

    Args:
        model: what is trained.
        plans: any number of them.
        cluster: what they run on.
        checked: the caller knows that all of them can run.

    Raises:
        PlanError: a plan cannot run; the first such plan is named.
        ValueError: as `step_time`.

    Example:
        >>> plans = [Plan(dp=dp, batch=64, microbatch=2) for dp in (1, 8)]
        >>> model, cluster = Model.preset("gpt2"), Cluster.preset("a100-80gb")
        >>> one, eight = step_times(model, plans, cluster).total
        >>> bool(6 < one / eight < 8)
        True
    """
    check(model, cluster)
    plans = tuple(plans)
    if not checked:
        for at, plan in enumerate(plans):
            if problems := plan.problems(model, cluster):
                raise PlanError((f"plan {at} of {len(plans)}: {problems[0]}", *problems[1:]))
    parts = np.zeros((len(plans), len(PARTS)))
    hidden = np.zeros((len(plans), len(COMMUNICATION)))
    rank = np.zeros(len(plans), dtype=np.int64)
    if plans:
        columns = Columns.of(plans)
        made = pieces(model, columns, cluster, overlap=True)
        shapes: dict[Hashable, list[int]] = {}
        for at, plan in enumerate(plans):
            shapes.setdefault((plan.schedule, plan.chunks_each, plan.pp, plan.stage_layers), []).append(at)
        for members in shapes.values():
            index = np.array(members)
            plan = plans[members[0]]
            mine = columns.take(index)
            stages, ends = put_together(model, plan, mine, made.take(index), cluster, overlap=True)
            last, without = _last(plan, mine.microbatches, stages)
            spread = layout(plan.schedule, plan.pp, plan.chunks_each)
            found = totals(stages, ends, spread, mine.microbatches, last, without, overlap=True)
            parts[index], hidden[index], rank[index] = found.parts, found.hidden, found.rank
    return ManySteps(parts=parts, hidden=hidden, rank=rank, model=model, plans=plans, cluster=cluster)


def _last(plan: Plan, microbatches: np.ndarray, stages: Stages) -> tuple[np.ndarray, np.ndarray]:
    """When each device ends its last action, with pipeline transfers and without, float64 (plans, pp)."""
    forward, backward, weight = stages.forward, stages.backward, stages.weight
    if plan.pp == 1:  # one device never waits
        alone = ((forward + backward).sum(axis=1) * microbatches)[:, None]
        return alone, alone
    different, which = _different(
        [forward, backward, weight, stages.transfer, microbatches[:, None].astype(np.float64)]
    )
    forward, backward, weight, transfer, numbers = different
    twice = Durations(
        forward=np.concatenate([forward, forward]),
        backward=np.concatenate([backward, backward]),
        weight=np.concatenate([weight, weight]),
        transfer=np.concatenate([transfer, np.zeros_like(transfer)]),
    )
    number = np.concatenate([numbers, numbers])[:, 0].astype(np.int64)
    ends = last_ends(plan.schedule, plan.pp, number, plan.chunks_each, twice)
    with_transfers, without = ends.reshape(2, len(numbers), plan.pp)[:, which]
    return with_transfers, without


def _different(arrays: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows that differ, and which of them each row is: plans that only differ after the last action are one."""
    joined = np.concatenate(arrays, axis=1)
    seen: dict[bytes, int] = {}
    which = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in joined])
    first = np.zeros(len(seen), dtype=np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    return [one[first] for one in arrays], which
