"""Seconds of each stage's actions, put together for plans of one shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.pipeline.layout import Layout, layout
from parakit.plan import Plan
from parakit.states import stage_blocks
from parakit.steptime import routes
from parakit.steptime.columns import Columns
from parakit.steptime.ends import Ends, Replicas
from parakit.steptime.pieces import FORWARD, WEIGHTS, Pieces


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Stages:
    """Seconds of one microbatch on each stage."""

    seconds: np.ndarray  # float64 (plans, stages, 3: forward, inputs, weights; parts)
    hidden: np.ndarray  # float64 (plans, stages, parts): communication beside computation
    transfer: np.ndarray  # float64 (plans, stages - 1)

    @property
    def forward(self) -> np.ndarray:
        """Of an F, float64 (plans, stages)."""
        total: np.ndarray = self.seconds[:, :, FORWARD].sum(axis=-1)
        return total

    @property
    def backward(self) -> np.ndarray:
        """Of a full backward B, float64 (plans, stages)."""
        total: np.ndarray = self.seconds[:, :, FORWARD + 1 :].sum(axis=(-2, -1))
        return total

    @property
    def weight(self) -> np.ndarray:
        """Of a W, float64 (plans, stages)."""
        total: np.ndarray = self.seconds[:, :, WEIGHTS].sum(axis=-1)
        return total


def put_together(
    model: Model, plan: Plan, columns: Columns, made: Pieces, cluster: Cluster, *, overlap: bool
) -> tuple[Stages, Ends]:
    """Stages, and what follows on each rank, of plans that share schedule, chunks, pp and layers with `plan`."""
    spread = layout(plan.schedule, plan.pp, plan.chunks_each)
    layers = plan.layers_of_stages(model)
    counts = np.zeros((len(layers), 4))
    counts[:, :2] = stage_blocks(model, layers)
    counts[0, 2] = counts[-1, 3] = 1
    seconds = np.einsum("sk,pkac->psac", counts, made.seconds)
    hidden = np.einsum("sk,pkc->psc", counts, made.hidden)
    replicas = Replicas(model, columns, cluster, counts, spread, overlap=overlap)
    replicas.add_to_actions(seconds, hidden)
    stages = Stages(
        seconds=seconds,
        hidden=hidden,
        transfer=_transfers(model, columns, cluster, spread, len(layers)),
    )
    return stages, replicas.after(stages.forward, stages.backward, stages.weight)


def _transfers(model: Model, columns: Columns, cluster: Cluster, spread: Layout, stages: int) -> np.ndarray:
    """Seconds of an activation over each boundary, float64 (plans, stages - 1); of two ways the longer."""
    size = columns.sequence * columns.microbatch * model.hidden * columns.element / columns.shards
    took = np.zeros((len(size), stages - 1))
    for boundary in range(stages - 1):
        receivers = np.array(spread.holders(boundary + 1))
        senders = np.array(spread.holders(boundary))
        nearest = receivers[np.abs(receivers - senders[:, None]).argmin(axis=1)]
        took[:, boundary] = routes.send_seconds(columns, cluster, size, senders, nearest).max(axis=1)
    return took
