"""Bytes that each pipeline rank's fullest device holds, by category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.checks import is_real, shown
from parakit.model import Model
from parakit.names import stage_letters
from parakit.plan import Plan, PlanError, Precision
from parakit.units import Unit, capacity_text, with_unit

MODEL_STATES = ("parameters", "gradients", "optimizer")

CATEGORY_TAKES = {
    "parameters": "parameters take",
    "gradients": "gradients take",
    "optimizer": "optimizer state takes",
}

# ZeRO stage from which each category is sharded over the data-parallel group.
_SHARDED_FROM = {"parameters": 3, "gradients": 2, "optimizer": 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """Which memory use decides: the fullest pipeline rank and its largest category."""

    stage: int
    category: str
    bytes: float  # of that category on that rank
    peak: float  # of that rank, all categories

    def __str__(self) -> str:
        return (
            f"Stage {stage_letters(self.stage)} is the fullest with {with_unit(self.peak)}; "
            f"{CATEGORY_TAKES[self.category]} the most, {with_unit(self.bytes)}"
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MemoryReport:
    """Bytes held on one device of each pipeline rank."""

    bytes: np.ndarray  # float64 (pp, categories)
    categories: tuple[str, ...]  # only what was computed
    left_out: tuple[str, ...]  # what training also holds and this report does not count
    plan: Plan
    model_name: str
    parameters: int  # of the whole model, a tied head counted once

    @property
    def peak(self) -> np.ndarray:
        """Bytes of all counted categories on one device of each pipeline rank, float64 (pp,)."""
        peak: np.ndarray = self.bytes.sum(axis=1)
        return peak

    def fits(self, capacity: float) -> bool:
        """Whether what was counted fits `capacity` bytes on every device; see `left_out`.

        Raises:
            ValueError: the capacity is not a positive number.
        """
        return bool(self.peak.max() <= checked_capacity(capacity))

    def limit(self) -> Limit:
        """The fullest rank (the first of equals) and its largest category."""
        stage = int(self.peak.argmax())
        category = int(self.bytes[stage].argmax())
        return Limit(
            stage=stage,
            category=self.categories[category],
            bytes=float(self.bytes[stage, category]),
            peak=float(self.peak[stage]),
        )

    def verdict(self, capacity: float, unit: Unit | str = Unit.GB) -> str:
        """One sentence: over capacity and by how much, or what is left for what is not counted."""
        unit = Unit(unit)
        capacity = checked_capacity(capacity)
        peak = float(self.peak.max())
        letter = stage_letters(int(self.peak.argmax()))
        device = capacity_text(capacity, unit)
        if peak > capacity:
            return (
                f"Stage {letter} needs {with_unit(peak, unit)}, {with_unit(peak - capacity, unit)} more than the {device} "
                f"of its device: {CATEGORY_TAKES[self.limit().category]} the most"
            )
        rest = f", before {' and '.join(self.left_out)}" if self.left_out else ""
        return f"Stage {letter} is the fullest: {with_unit(peak, unit)} of {device}{rest}"


def memory(model: Model | float, plan: Plan) -> MemoryReport:
    """Bytes of model states that one device of each pipeline rank holds.

    A parameter costs bytes as itself, as a gradient and as optimizer state (`Precision`). Stages
    hold their own layers; the embedding is on the first and the final norm and the head on the
    last, a tied one as the embedding's second copy. Tensor ranks split what Megatron-LM splits.
    ZeRO stage 1 divides optimizer state by dp, stage 2 also gradients, stage 3 also parameters.

    Activations are not counted yet; `report.left_out` says so.

    Args:
        model: a `Model`, or a plain number of parameters, which is then split evenly.
        plan: how it is split.

    Returns:
        MemoryReport, bytes in a float64 array (pp, 3).

    Raises:
        PlanError: the plan cannot run with this model.
        ValueError: a plain number of parameters is not a whole number of at least 1.

    Example:
        >>> report = memory(Model.preset("llama-3-8b"), Plan(dp=8, zero=1))
        >>> print(report.limit())
        Stage A is the fullest with 44.2 GB; parameters take the most, 16.1 GB

    Source: Rajbhandari et al. 2020 (ZeRO), section 3 and Figure 1.
    """
    whole = model if isinstance(model, Model) else None
    if problems := plan.problems(whole):
        raise PlanError(problems)
    if isinstance(model, Model):
        count, name = model.parameters, model.name or "a model"
        held = _held_parameters(model, plan)
    else:
        count, name = _plain_count(model), "a model"
        held = np.full(plan.pp, count / (plan.pp * plan.tp))
    sharing = [plan.dp if plan.zero >= _SHARDED_FROM[category] else 1 for category in MODEL_STATES]
    cost = np.array(Precision(plan.precision).bytes_per_parameter) / np.array(sharing)
    return MemoryReport(
        bytes=held[:, None] * cost,
        categories=MODEL_STATES,
        left_out=("activations",),
        plan=plan,
        model_name=name,
        parameters=count,
    )


def checked_capacity(capacity: float) -> float:
    """`capacity` in bytes as a float.

    Raises:
        ValueError: it is not a positive, finite number.
    """
    if not is_real(capacity) or not 0 < capacity < float("inf"):
        raise ValueError(
            f"capacity is {shown(capacity)}: it must be a positive number of bytes, such as 80e9"
        )
    return float(capacity)


def _plain_count(parameters: float) -> int:
    if not is_real(parameters) or not 1 <= parameters <= 1e18 or parameters != int(parameters):
        raise ValueError(
            f"model is {shown(parameters)}: it must be a pk.Model or a whole number of parameters from 1 to 1e18"
        )
    return int(parameters)


def _held_parameters(model: Model, plan: Plan) -> np.ndarray:
    """Parameters on one device of each pipeline rank before ZeRO, float64 (pp,)."""
    layer = sum(model.layer_parameters(tp=plan.tp).values())
    held = layer * np.array(plan.layers_of_stages(model), dtype=np.float64)
    last = model.last_stage_parameters(tp=plan.tp)
    held[0] += sum(model.first_stage_parameters(tp=plan.tp).values())
    held[-1] += last["norm"]
    if not model.tied or plan.pp > 1:
        held[-1] += last["head"]
    return held
