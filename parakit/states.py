"""Bytes of parameters, gradients and optimizer state before they meet a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parakit.model import Model
from parakit.pipeline.layout import layout
from parakit.plan import Plan, Precision
from parakit.weights import Weight, first_weights, last_weights, layer_weights

MODEL_STATES = ("parameters", "gradients", "optimizer")

# ZeRO stage from which each category is sharded over the data-parallel group.
SHARDED_FROM = np.array([3, 2, 1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Parameters of one kind of place on one device, after tensor and expert splits.

    Experts are apart: their replicas are fewer, dp / ep.
    """

    common: int
    experts: int
    common_sums: int  # row and column sums of the same, for optimizers that keep those
    experts_sums: int

    def __add__(self, other: Held) -> Held:
        return Held(
            common=self.common + other.common,
            experts=self.experts + other.experts,
            common_sums=self.common_sums + other.common_sums,
            experts_sums=self.experts_sums + other.experts_sums,
        )

    @property
    def array(self) -> np.ndarray:
        """Parameters and sums, float64 (2: common, experts; 2: parameters, sums)."""
        pairs = [[self.common, self.common_sums], [self.experts, self.experts_sums]]
        return np.array(pairs, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """What one tensor and expert rank holds of each part of the model."""

    dense: Held
    sparse: Held
    first: Held
    last: Held  # without the head
    head: Held


@lru_cache(maxsize=1024)
def places(model: Model, tp: int, ep: int) -> Places:
    """Parameters of each part of the model on one device."""
    last = last_weights(model)
    return Places(
        dense=_held(layer_weights(model, sparse=False), tp, ep),
        sparse=_held(layer_weights(model, sparse=True), tp, ep),
        first=_held(first_weights(model), tp, ep),
        last=_held(tuple(one for one in last if one.name != "head"), tp, ep),
        head=_held(tuple(one for one in last if one.name == "head"), tp, ep),
    )


@lru_cache(maxsize=1024)
def largest_weight(model: Model, tp: int) -> int:
    """Parameters of the largest single weight on one tensor rank: what ZeRO 3 gathers whole."""
    weights = (*first_weights(model), *last_weights(model), *layer_weights(model, sparse=False))
    if model.sparse_layers:
        weights += layer_weights(model, sparse=True)
    return max(one.held(tp=tp, ep=one.experts or 1) for one in weights)


def stage_parameters(model: Model, plan: Plan) -> np.ndarray:
    """Parameters of each stage, float64 (stages, 2: common, experts; 2: parameters, sums)."""
    apart = layout(plan.schedule, plan.pp, plan.chunks_each).ends_apart
    return _stage_parameters(model, plan.tp, plan.ep, apart, plan.layers_of_stages(model))


@lru_cache(maxsize=4096)
def _stage_parameters(model: Model, tp: int, ep: int, apart: bool, layers: tuple[int, ...]) -> np.ndarray:
    held = places(model, tp, ep)
    blocks = np.stack([held.dense.array, held.sparse.array])
    stages: np.ndarray = np.einsum("sk,kij->sij", stage_blocks(model, layers), blocks)
    stages[0] += held.first.array
    stages[-1] += held.last.array
    # A tied head is the embedding itself, unless they are on two devices.
    if not model.tied or apart:
        stages[-1] += held.head.array
    stages.setflags(write=False)
    return stages


def many_places(model: Model, splits: Sequence[tuple[int, int]]) -> np.ndarray:
    """Parameters of each part of the model for many (tp, ep), float64 (splits, 5 places, 2, 2)."""
    return np.stack([_all_places(model, tp, ep) for tp, ep in splits])


@lru_cache(maxsize=1024)
def _all_places(model: Model, tp: int, ep: int) -> np.ndarray:
    held = places(model, tp, ep)
    parts = (held.dense, held.sparse, held.first, held.last, held.head)
    return np.stack([one.array for one in parts])


def many_stage_parameters(held: np.ndarray, blocks: np.ndarray, *, head: bool) -> np.ndarray:
    """As `stage_parameters` for plans with the same stages, float64 (plans, stages, 2, 2).

    Args:
        held: of each plan, from `many_places`.
        blocks: of each stage, from `stage_blocks`.
        head: the last stage has a head of its own; a tied one is the embedding where both ends are together.
    """
    stages: np.ndarray = np.einsum("sk,pkij->psij", blocks, held[:, :2])
    stages[:, 0] += held[:, 2]
    stages[:, -1] += held[:, 3]
    if head:
        stages[:, -1] += held[:, 4]
    return stages


@lru_cache(maxsize=4096)
def stage_blocks(model: Model, layers: tuple[int, ...]) -> np.ndarray:
    """Blocks of each stage, float64 (stages, 2: without and with experts)."""
    ends = np.cumsum((0, *layers))
    with_experts = np.zeros(model.layers + 1)
    with_experts[1:][list(model.sparse_layers)] = 1
    sparse = np.diff(np.cumsum(with_experts)[ends])
    blocks = np.stack([np.diff(ends) - sparse, sparse], axis=1)
    blocks.setflags(write=False)
    return blocks


@lru_cache(maxsize=4096)
def state_costs(precision: str, trainable: float, zero: int, dp: int, ep: int) -> np.ndarray:
    """Bytes that one parameter or sum costs one device, float64 (2, 2, 3).

    Axes: common, experts; a parameter, a row or column sum; parameters, gradients, optimizer.
    What is multiplied with `stage_parameters`.
    """
    recipe = Precision(precision)
    costs = np.zeros((2, 2, 3))
    costs[:, 0] = recipe.bytes_per_parameter
    costs[:, 1, 2] = recipe.bytes_per_sum
    costs[:, :, 1:] *= trainable
    replicas = np.array([dp, dp // ep])  # of what is common, of experts
    costs /= np.where(zero >= SHARDED_FROM, replicas[:, None], 1)[:, None, :]
    costs.setflags(write=False)
    return costs


def state_bytes(parameters: np.ndarray, plan: Plan) -> np.ndarray:
    """Bytes of parameters, gradients and optimizer state after ZeRO, float64 (…, 3).

    Args:
        parameters: (…, 2: common, experts; 2: parameters, sums), as from `stage_parameters`.
        plan: precision, share of trainable parameters, ZeRO stage and replicas.
    """
    costs = state_costs(plan.precision, plan.trainable, plan.zero, plan.dp, plan.ep)
    total: np.ndarray = np.einsum("...ij,ijc->...c", parameters, costs)
    return total


def _held(weights: tuple[Weight, ...], tp: int, ep: int) -> Held:
    common = [one for one in weights if not one.experts]
    experts = [one for one in weights if one.experts]
    return Held(
        common=sum(one.held(tp=tp) for one in common),
        experts=sum(one.held(tp=tp, ep=ep) for one in experts),
        common_sums=sum(one.factored(tp=tp) for one in common),
        experts_sums=sum(one.factored(tp=tp, ep=ep) for one in experts),
    )
