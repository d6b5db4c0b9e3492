"""More devices: with the same batch, and with the same batch a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parakit.checks import whole
from parakit.plan import PlanError
from parakit.steptime import StepTime
from parakit.units import aligned, percent, seconds_text

if TYPE_CHECKING:
    from parakit.choose.result import Choice


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Row:
    """The fastest step on so many devices; None where no plan fits or splits."""

    devices: int
    fixed: StepTime | None  # with the batch as it was
    grown: StepTime | None  # with the batch a device as it was


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scaling:
    """What more devices bring."""

    rows: tuple[Row, ...]
    base: StepTime

    def speedup(self, row: Row) -> float | None:
        """How many times faster a step of the same batch is."""
        return self.base.total / row.fixed.total if row.fixed else None

    def efficiency(self, row: Row) -> float | None:
        """Of the same batch: the speedup over how many times the devices are."""
        speedup = self.speedup(row)
        return speedup * self.base.plan.devices / row.devices if speedup else None

    def growth(self, row: Row) -> float | None:
        """Of the same batch a device: tokens a second of a device over those before."""
        if row.grown is None:
            return None
        return (
            row.grown.tokens_per_second / row.devices / (self.base.tokens_per_second / self.base.plan.devices)
        )

    def table(self) -> str:
        """Both ways side by side as aligned text."""
        rows = [
            (
                "devices",
                "same batch: step",
                "times faster",
                "of ideal",
                "same batch a device: step",
                "batch",
                "of ideal",
            )
        ]
        for row in self.rows:
            fixed, grown = row.fixed, row.grown
            speedup, efficiency, growth = self.speedup(row), self.efficiency(row), self.growth(row)
            rows.append(
                (
                    f"{row.devices:,}",
                    seconds_text(fixed.total) if fixed else "no plan",
                    f"{speedup:.2f}" if speedup else "",
                    percent(efficiency) if efficiency else "",
                    seconds_text(grown.total) if grown else "no plan",
                    f"{grown.plan.batch:,}" if grown and grown.plan.batch else "",
                    percent(growth) if growth else "",
                )
            )
        return aligned(rows)

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """What both ways mean for this model."""
        last = self.rows[-1]
        times = last.devices / self.base.plan.devices
        said = []
        if last.fixed and (efficiency := self.efficiency(last)):
            speedup = self.speedup(last) or 0.0
            faster = f"make a step {speedup:.1f} times faster, {percent(efficiency)} of {times:g}"
            longer = f"take {1 / speedup:.1f} times as long for a step"
            said.append(
                f"With the same batch {last.devices:,} devices {faster if speedup >= 1 else longer}: each has less "
                f"to compute while what is exchanged stays"
            )
        else:
            said.append(f"With the same batch no plan fits or splits over {last.devices:,} devices")
        if last.grown and (growth := self.growth(last)):
            said.append(
                f"With the same batch a device they do {times * growth:.1f} times as much a second "
                f"({percent(growth)} of {times:g}), but an update then takes {last.grown.plan.batch:,} examples "
                f"instead of {self.base.plan.batch:,}, which changes training"
            )
        return ". ".join(said) + "."


def scaling(choice: Choice, times: Sequence[int]) -> Scaling:
    """See `Choice.scaling`: the best plan's tp, pp and schedule, with more replicas; microbatch and ZeRO anew."""
    if not len(choice.fits):
        raise ValueError(f"nothing fits, so nothing scales: {choice.sentence()}")
    base = choice.ranked[0].step
    rows = []
    for factor in times:
        factor = whole("times", factor, most=100_000)
        devices = choice.cluster.devices * factor
        batch = choice.limits.batch
        rows.append(
            Row(
                devices=devices,
                fixed=_best(choice, base, devices, batch),
                grown=_best(choice, base, devices, batch * factor),
            )
        )
    return Scaling(rows=tuple(rows), base=base)


def _best(choice: Choice, base: StepTime, devices: int, batch: int) -> StepTime | None:
    from parakit.choose.search import choose_within

    plan = base.plan
    limits = replace(
        choice.limits,
        batch=batch,
        dp=None,
        tp=(plan.tp,),
        pp=(plan.pp,),
        schedule=(plan.schedule,),
        chunks=None if plan.chunks is None else (plan.chunks,),
    )
    try:
        found = choose_within(choice.model, replace(choice.cluster, devices=devices), limits)
    except PlanError:
        return None
    return found.ranked[0].step if len(found.fits) else None
