"""What a search found: plans ranked, plans excluded, and answers to "why not?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parakit.checks import shown, whole
from parakit.choose.lazily import Lazily
from parakit.choose.limits import Limits
from parakit.choose.words import difference, plan_words
from parakit.cluster import Cluster
from parakit.memory import MemoryReport, memory
from parakit.memory.report import CATEGORY_NAMES
from parakit.model import Model
from parakit.names import count, stage_letters
from parakit.pipeline.layout import layout
from parakit.plan import Plan
from parakit.states import MODEL_STATES
from parakit.steptime import ManySteps, StepTime
from parakit.units import aligned, bytes_text, capacity_text, percent, seconds_text, with_unit

if TYPE_CHECKING:
    from parakit.choose.change import Change
    from parakit.choose.scaling import Scaling


class Ranked(NamedTuple):
    """A plan that fits, with its time and what it holds."""

    plan: Plan
    step: StepTime
    memory: MemoryReport


class Excluded(NamedTuple):
    """A plan that does not run, and why."""

    plan: Plan
    reason: str


class Point(NamedTuple):
    """A plan that no other beats in both memory and time."""

    plan: Plan
    seconds: float
    peak: float  # bytes of the fullest device


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Choice:
    """Every plan of a search, excluded or ranked by the time of a step."""

    model: Model
    cluster: Cluster
    limits: Limits
    plans: tuple[Plan, ...]  # those that can run
    bytes: np.ndarray  # float64 (plans, categories) on each plan's fullest pipeline rank
    fullest: np.ndarray  # int64 (plans,)
    fits: np.ndarray  # int64, which of the plans fit a device
    steps: tuple[ManySteps, ...]  # of those, in their order
    faulty: tuple[tuple[Plan, str], ...]  # plans that cannot run, one for all with the same fault
    _cache: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def peak(self) -> np.ndarray:
        """Bytes on the fullest device of each plan that can run, float64 (plans,)."""
        peak: np.ndarray = self.bytes.sum(axis=1)
        return peak

    @property
    def seconds(self) -> np.ndarray:
        """Of a step of each plan that fits, the fastest first, float64 (ranked,)."""
        seconds: np.ndarray = self._total[self._order]
        return seconds

    @property
    def excluded_peak(self) -> np.ndarray:
        """Bytes on the fullest device of the first of `excluded`: those that do not fit, float64."""
        peak: np.ndarray = self.peak[self._over]
        return peak

    @property
    def judged(self) -> int:
        """How many plans were excluded or timed."""
        return len(self.plans) + len(self.faulty)

    @property
    def ranked(self) -> Sequence[Ranked]:
        """Plans that fit, the fastest first; of equal times the one that holds less."""
        return Lazily(len(self.fits), self._ranked)

    @property
    def excluded(self) -> Sequence[Excluded]:
        """Plans that do not fit, the nearest to fitting first, then those that cannot run."""
        over = self._over
        return Lazily(len(over) + len(self.faulty), self._excluded)

    def _ranked(self, at: int) -> Ranked:
        step = self._step(int(self._order[at]))
        return Ranked(step.plan, step, memory(self.model, step.plan))

    def _step(self, at: int) -> StepTime:
        """Of the plan that is number `at` of those that fit."""
        for some in self.steps:
            if at < len(some.plans):
                return some.one(at)
            at -= len(some.plans)
        raise IndexError(at)

    def _excluded(self, at: int) -> Excluded:
        over = self._over
        if at >= len(over):
            return Excluded(*self.faulty[at - len(over)])
        return Excluded(self.plans[over[at]], self._too_full(int(over[at])))

    def _too_full(self, at: int) -> str:
        plan, rank = self.plans[at], int(self.fullest[at])
        stages = layout(plan.schedule, plan.pp, plan.chunks_each).stages[rank].tolist()
        letters = ", ".join(stage_letters(one) for one in stages)
        categories = (*MODEL_STATES, "activations")
        decides = CATEGORY_NAMES[categories[int(self.bytes[at].argmax())]]
        verb = "decides" if decides == "optimizer state" else "decide"
        peak, usable = float(self.bytes[at].sum()), self.cluster.usable
        over = capacity_text(usable)
        if with_unit(peak) == with_unit(usable):  # so close that a decimal does not tell
            over += f" by {bytes_text(peak - usable)}"
        return (
            f"peak {with_unit(peak)} on device {rank * plan.dp * plan.tp} "
            f"(stage{'s' if len(stages) > 1 else ''} {letters}) over {over}: "
            f"{decides} {verb}"
        )

    @property
    def _total(self) -> np.ndarray:
        if "total" not in self._cache:
            parts = [some.total for some in self.steps]
            self._cache["total"] = np.concatenate(parts) if parts else np.zeros(0)
        return self._cache["total"]

    @property
    def _order(self) -> np.ndarray:
        if "order" not in self._cache:
            # Times that differ by rounding alone are equal.
            rounded = np.array([float(f"{one:.9e}") for one in self._total])
            self._cache["order"] = np.lexsort((self.peak[self.fits], rounded))
        return self._cache["order"]

    @property
    def _over(self) -> np.ndarray:
        if "over" not in self._cache:
            over = np.setdiff1d(np.arange(len(self.plans)), self.fits, assume_unique=True)
            self._cache["over"] = over[np.argsort(self.peak[over], kind="stable")]
        return self._cache["over"]

    def place(self, plan: Plan) -> int | None:
        """Where a plan stands among the ranked ones, counted from 0; None where it is not among them."""
        for at, one in enumerate(self._order.tolist()):
            if self.plans[self.fits[one]] == plan:
                return at
        return None

    def table(self, top: int = 10) -> str:
        """The fastest plans as aligned text: times, what they are spent on, memory.

        Args:
            top: how many.
        """
        top = whole("top", top)
        if not len(self.fits):
            return str(self)
        rows = [("", "plan", "step", "computing", "exchanging", "waiting", "hidden", "MFU", "peak")]
        for at, (plan, step, report) in enumerate(self.ranked[:top], start=1):
            rows.append(
                (
                    f"{at}",
                    plan_words(plan),
                    seconds_text(step.total),
                    percent((step.parts["compute"] + step.parts["recompute"]) / step.total),
                    percent(step.communication / step.total),
                    percent(step.parts["waiting"] / step.total),
                    seconds_text(step.hidden),
                    percent(step.mfu),
                    with_unit(float(report.peak.max())),
                )
            )
        return aligned(rows, left={1})

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """How many plans were judged, and the best of them, or what would make one fit."""
        said = (
            f"{count(self.judged, 'plan')} judged, {len(self.excluded):,} excluded, {len(self.fits):,} timed"
        )
        if len(self.fits):
            best = self._step(int(self._order[0]))
            return f"{said}; the fastest: {plan_words(best.plan)}, {seconds_text(best.total)} a step"
        return (
            f"{said}: nothing fits. {self.least_changes[0].sentence if self.least_changes else ''}".rstrip()
        )

    def why(self, one: Plan | int, other: Plan | int) -> str:
        """Which part of the step makes the difference between two plans, in a sentence.

        Args:
            one: a plan, or its place in `ranked`.
            other: the same.

        Raises:
            ValueError: it is neither, or the plan is not one of this search.
        """
        both = [self._find(name, which) for name, which in (("one", one), ("other", other))]
        for found in both:
            if isinstance(found, Excluded):
                return f"{plan_words(found.plan)} is excluded: {found.reason}"
        first, second = both
        assert isinstance(first, StepTime)
        assert isinstance(second, StepTime)
        return difference(first, second)

    def _find(self, name: str, which: Plan | int) -> StepTime | Excluded:
        if isinstance(which, Plan):
            at = self.place(which)
            if at is not None:
                return self._step(int(self._order[at]))
            for position, number in enumerate(self._over.tolist()):
                if self.plans[number] == which:
                    return self._excluded(position)
            for plan, fault in self.faulty:
                if plan == which:
                    return Excluded(plan, fault)
            raise ValueError(f"{plan_words(which)} is not a plan of this search: other limits would have it")
        if isinstance(which, bool) or not isinstance(which, int) or not 0 <= which < len(self.fits):
            raise ValueError(
                f"{name} is {shown(which)}: it must be a pk.Plan, or a place in ranked from 0 to {len(self.fits) - 1}"
            )
        return self._step(int(self._order[which]))

    def frontier(self) -> list[Point]:
        """Plans that no other beats in both memory and time, the fastest first."""
        peak = self.peak[self.fits][self._order]
        points: list[Point] = []
        for at, held in enumerate(peak.tolist()):
            if not points or held < points[-1].peak:
                number = int(self._order[at])
                points.append(Point(self.plans[self.fits[number]], float(self._total[number]), held))
        return points

    @property
    def least_changes(self) -> tuple[Change, ...]:
        """When nothing fits: the least changes with which something would; empty when something does."""
        from parakit.choose.change import least_changes  # it searches again

        return () if len(self.fits) else least_changes(self)

    def scaling(self, times: Sequence[int] = (1, 2, 4, 8)) -> Scaling:
        """The best plan on more devices: with the same batch, and with the same batch a device.

        Args:
            times: how many times the devices.

        Raises:
            ValueError: nothing fits, or a number is none of at least 1.
        """
        from parakit.choose.scaling import scaling  # it searches again

        return scaling(self, times)
