"""What `memory` answers: bytes by pipeline rank and category, what decides, what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parakit.capacity import Capacity, HasMemory
from parakit.memory.activations import Tensor
from parakit.model import Model
from parakit.names import stage_letters
from parakit.plan import Plan
from parakit.units import Unit, with_unit

if TYPE_CHECKING:
    from parakit.memory.advice import Advice

CATEGORY_TAKES = {
    "parameters": "parameters take",
    "gradients": "gradients take",
    "optimizer": "optimizer state takes",
    "activations": "activations take",
    "gathered": "gathered parameters take",
}


CATEGORY_NAMES = {
    "parameters": "parameters",
    "gradients": "gradients",
    "optimizer": "optimizer state",
    "activations": "activations",
    "gathered": "gathered parameters",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """Which memory use decides: the fullest pipeline rank and its largest category."""

    stage: int  # pipeline rank, from 0
    category: str
    bytes: float  # of that category on that rank
    peak: float  # of that rank, all categories
    name: str  # what people call the rank

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, unit: Unit = Unit.GB) -> str:
        """The limit in words."""
        return (
            f"{self.name} is the fullest with {with_unit(self.peak, unit)}; "
            f"{CATEGORY_TAKES[self.category]} the most, {with_unit(self.bytes, unit)}"
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MemoryReport:
    """Bytes held on one device of each pipeline rank."""

    bytes: np.ndarray  # float64 (pp, categories)
    categories: tuple[str, ...]  # only what was computed
    left_out: tuple[str, ...]  # what training also holds and this report does not count
    in_flight: np.ndarray  # int64 (pp,): most (stage, microbatch) pairs held at once
    activations: tuple[Tensor, ...]  # each tensor of a block and of the ends; empty when not counted
    plan: Plan
    model: Model | int  # or a plain number of parameters
    gathered: float  # bytes a parameter that ZeRO 3 holds gathered

    @property
    def model_name(self) -> str:
        """What pictures and tables call the model."""
        return (self.model.name or "a model") if isinstance(self.model, Model) else "a model"

    @property
    def parameters(self) -> int:
        """Of the whole model, a tied head counted once."""
        return self.model.parameters if isinstance(self.model, Model) else self.model

    @property
    def peak(self) -> np.ndarray:
        """Bytes of all counted categories on one device of each pipeline rank, float64 (pp,)."""
        peak: np.ndarray = self.bytes.sum(axis=1)
        return peak

    def fits(self, capacity: float | HasMemory, reserve: float = 0.0) -> bool:
        """Whether what was counted fits a device; see `left_out`.

        Args:
            capacity: bytes of one device, or what has memory and reserve, such as a cluster.
            reserve: bytes of it that a plan may not fill.

        Raises:
            ValueError: the capacity is not a positive number, or the reserve leaves none of it.
        """
        return bool(self.peak.max() <= Capacity.of(capacity, reserve).usable)

    def limit(self) -> Limit:
        """The fullest rank (the first of equals) and its largest category."""
        stage = int(self.peak.argmax())
        category = int(self.bytes[stage].argmax())
        return Limit(
            stage=stage,
            category=self.categories[category],
            bytes=float(self.bytes[stage, category]),
            peak=float(self.peak[stage]),
            name=self.row_name(stage),
        )

    def row_name(self, rank: int) -> str:
        """What a pipeline rank is called: its stage, or a device where it has several stages."""
        if self.plan.one_stage_each:
            return f"Stage {stage_letters(rank)}"
        return f"Device {rank + 1}"

    def verdict(self, capacity: float | HasMemory, unit: Unit | str = Unit.GB, reserve: float = 0.0) -> str:
        """One sentence: over capacity and by how much, or how full the fullest device is.

        Raises:
            ValueError: as `fits`.
        """
        unit = Unit(unit)
        device = Capacity.of(capacity, reserve)
        limit = self.limit()
        if limit.peak > device.usable:
            return (
                f"{limit.name} needs {with_unit(limit.peak, unit)}, {with_unit(limit.peak - device.usable, unit)} "
                f"more than the {device.text(unit)} of its device: {CATEGORY_TAKES[limit.category]} the most"
            )
        rest = f", before {' and '.join(self.left_out)}" if self.left_out else ""
        return f"{limit.name} is the fullest: {with_unit(limit.peak, unit)} of {device.text(unit)}{rest}"

    def advice(self) -> tuple[Advice, ...]:
        """Changes that lower what decides, in the order to try them, then those that do not help.

        Each is computed anew: what the fullest device would hold, and what it costs in time,
        traffic or devices.

        Raises:
            ValueError: the report is of a plain number of parameters.
        """
        from parakit.memory.advice import advice  # it computes reports

        return advice(self)
