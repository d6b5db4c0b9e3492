"""What would lower the deciding memory use, what it costs, and what would not help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from parakit.memory.compute import memory
from parakit.memory.report import CATEGORY_NAMES, MemoryReport
from parakit.model import Model
from parakit.names import count
from parakit.pipeline import schedule, simulate
from parakit.plan import Plan, Recompute
from parakit.traffic import traffic
from parakit.units import Unit, percent, with_unit

_MOST_ACTIONS = 4_000  # stages × microbatches of a schedule that is simulated for its idle share


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """One change of the plan, computed: whether it lowers what decides, and what it costs."""

    change: str  # in words
    plan: Plan  # changed
    helps: bool  # it lowers the deciding category on the fullest rank
    saves: float  # bytes of the deciding category on that rank
    peak: float  # bytes of the fullest rank afterwards
    lowers: dict[str, float]  # category -> bytes saved on that rank, where it saves any
    microbatches: tuple[int, int]  # of one pipeline, before and after
    extra_devices: int
    extra_compute: float  # share of the computation before, 0.33 for a third more
    extra_traffic: float  # bytes that a device sends more in a step
    idle_share: tuple[float, float] | None  # before and after, where the pipeline changes
    why: str
    deciding: str  # the category that decides

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, unit: Unit | str = Unit.GB) -> str:
        """The change, its effect, why, and its cost."""
        unit = Unit(unit)
        if self.helps:
            effect = f"saves {with_unit(self.saves, unit)}, peak {with_unit(self.peak, unit)}."
        elif self.lowers:
            parts = " and ".join(
                f"{CATEGORY_NAMES[name]} by {with_unit(saved, unit)}" for name, saved in self.lowers.items()
            )
            effect = f"does not help: it lowers {parts}, not {CATEGORY_NAMES[self.deciding]}, which decides."
        else:
            effect = "does not help: it lowers nothing."
        return f"{self.change}: {effect} {self.why} {self.cost(unit)}"

    def cost(self, unit: Unit = Unit.GB) -> str:
        """What it costs in devices, computation, traffic and waiting, in words."""
        parts = []
        if self.extra_devices:
            parts.append(f"{count(self.extra_devices, 'device')} more")
        if self.extra_compute > 0.0005:
            parts.append(f"{percent(self.extra_compute)} more computation")
        if abs(self.extra_traffic) >= 1:
            more = "more" if self.extra_traffic > 0 else "less"
            parts.append(f"{with_unit(abs(self.extra_traffic), unit)} {more} sent by a device in a step")
        if self.microbatches[1] > self.microbatches[0]:
            before, after = self.microbatches
            parts.append(f"{after:,} microbatches instead of {before:,}, each with its overhead")
        if self.idle_share and abs(self.idle_share[1] - self.idle_share[0]) > 0.0005:
            parts.append(f"idle share {percent(self.idle_share[1])} instead of {percent(self.idle_share[0])}")
        return f"Cost: {', '.join(parts)}." if parts else "Cost: nothing that is counted here."


def advice(report: MemoryReport) -> tuple[Advice, ...]:
    """See `MemoryReport.advice`.

    Order: what helps before what does not; of that, what costs nothing counted, what takes more
    microbatches, what sends more, what computes more (the least first), what changes the optimizer,
    what needs more devices; then by bytes saved.
    """
    if not isinstance(report.model, Model):
        raise ValueError("advice needs a pk.Model: a plain number of parameters has no activations to weigh")
    if report.left_out:
        raise ValueError("advice needs activations counted: make the report without activations=False")
    found = [_judged(report, report.model, *one) for one in _changes(report.model, report.plan)]
    return tuple(sorted(found, key=_order))


def _order(one: Advice) -> tuple[bool, int, float, float]:
    dearest = (
        5 * (one.extra_devices > 0)
        or 4 * (one.plan.precision == "adam-8bit")
        or 3 * (one.extra_compute > 0.0005)
        or 2 * (one.extra_traffic >= 1)
        or 1 * (one.microbatches[1] > one.microbatches[0])
    )
    return not one.helps, dearest, round(max(one.extra_compute, 0.0), 3), -one.saves


def _changes(model: Model, plan: Plan) -> Iterator[tuple[str, Plan, str]]:
    """Changes that can run, each with what it does in general."""
    batch = plan.microbatches * plan.dp * plan.microbatch
    fixed = replace(plan, batch=batch)
    smaller = next((b for b in range(plan.microbatch // 2, 0, -1) if plan.microbatch % b == 0), 0)
    precision = {"mixed-16": "adam-8bit"}.get(str(plan.precision))
    stages = plan.pp * 2
    tries = [
        (
            "Use fused attention",
            plan.attention == "plain" and replace(fixed, attention="fused"),
            "It keeps no sequence × sequence matrix.",
        ),
        (
            "Switch on sequence parallelism",
            plan.tp > 1 and not plan.sequence_parallel and replace(fixed, sequence_parallel=True),
            f"Tensors that every tensor rank keeps whole are divided by tp={plan.tp}.",
        ),
        (
            "Recompute the attention scores (selective)",
            plan.recompute == "none" and replace(fixed, recompute=Recompute.SELECTIVE),
            "It throws away what plain attention keeps per score; fused attention keeps none of that.",
        ),
        (
            "Recompute whole blocks (full)",
            plan.recompute != "full" and replace(fixed, recompute=Recompute.FULL),
            "Only each block's input is kept, and one block's tensors while it is computed again.",
        ),
        (
            f"Take microbatches of {smaller} instead of {plan.microbatch}",
            smaller and replace(fixed, microbatch=smaller),
            "It lowers activations only.",
        ),
        *(
            (
                f"Use ZeRO {zero}",
                zero > plan.zero and replace(fixed, zero=zero),
                f"It divides {what} by dp={plan.dp}"
                + (", so by one." if plan.dp == 1 else " and does not touch activations."),
            )
            for zero, what in (
                (1, "optimizer state"),
                (2, "optimizer state and gradients"),
                (3, "optimizer state, gradients and parameters"),
            )
        ),
        (
            f"Keep Adam's moments in 8 bits ({precision})",
            precision and replace(fixed, precision=precision),
            "It lowers optimizer state only, and rounds it.",
        ),
        (
            f"Spread the experts over ep={2 * plan.ep}",
            model.experts and replace(fixed, ep=2 * plan.ep),
            "Each device holds half as many experts; their tokens travel.",
        ),
        (
            f"Split tensors over tp={2 * plan.tp}",
            replace(fixed, tp=2 * plan.tp),
            "Model states and most activations are divided; the layers exchange partial results.",
        ),
        (
            f"Split layers over pp={stages}",
            replace(fixed, pp=stages, stage_layers=None),
            "Each device holds fewer layers; under 1F1B the first stage holds more microbatches of them.",
        ),
        (
            f"Use dp={2 * plan.dp} replicas",
            replace(fixed, dp=2 * plan.dp),
            "Replicas hold the same again, unless ZeRO shards it over them.",
        ),
    ]
    for words, changed, why in tries:
        if changed and not changed.problems(model):
            yield words, changed, why


def _judged(report: MemoryReport, model: Model, words: str, changed: Plan, why: str) -> Advice:
    plan, limit = report.plan, report.limit()
    after = memory(model, changed, report.gathered)
    fullest = int(after.peak.argmax())
    lowers = {}
    for column, category in enumerate(report.categories):
        now = (
            float(after.bytes[fullest, after.categories.index(category)])
            if (category in after.categories)
            else 0.0
        )
        saved = float(report.bytes[limit.stage, column]) - now
        if saved > 0.5:
            lowers[category] = saved
    saves = lowers.get(limit.category, 0.0)
    helps = saves > 0 and float(after.peak.max()) < limit.peak
    tokens = plan.microbatches * plan.dp * plan.microbatch * plan.sequence
    before_work, after_work = (
        model.flops(tokens, sequence=one.sequence, recompute=_what_is_recomputed(one)).total
        for one in (plan, changed)
    )
    return Advice(
        change=words,
        plan=changed,
        helps=helps,
        saves=saves,
        peak=float(after.peak.max()),
        lowers=lowers,
        microbatches=(plan.microbatches, changed.microbatches),
        extra_devices=changed.devices - plan.devices,
        extra_compute=after_work / before_work - 1,
        extra_traffic=traffic(model, changed).total() - traffic(model, plan).total(),
        idle_share=_idle_shares(plan, changed),
        why=why,
        deciding=limit.category,
    )


def _what_is_recomputed(plan: Plan) -> str:
    """Selective recomputation of fused attention adds nothing: that is what fused attention does."""
    if plan.recompute == "selective" and plan.attention == "fused":
        return "none"
    return str(plan.recompute)


def _idle_shares(before: Plan, after: Plan) -> tuple[float, float] | None:
    shapes = [(one.schedule, one.pp, one.microbatches, one.chunks_each) for one in (before, after)]
    if shapes[0] == shapes[1]:
        return None
    if max(pp * microbatches * chunks for _, pp, microbatches, chunks in shapes) > _MOST_ACTIONS:
        return None
    shares = []
    for name, devices, microbatches, chunks in shapes:
        order = schedule(name, devices=devices, microbatches=microbatches, chunks=chunks)
        shares.append(float(np.round(simulate(order).idle_share, 12)))
    return shares[0], shares[1]
