"""What a step's time is made of."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum  # sum adds otherwise from Python 3.12 on, and notebooks are compared

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.pipeline import Timeline
from parakit.plan import Plan, Precision
from parakit.units import aligned, percent, seconds_text

PARTS = ("compute", "recompute", "tensor", "expert", "pipeline", "data", "waiting", "update")
COMMUNICATION = ("tensor", "expert", "pipeline", "data")

PART_NAMES = {
    "compute": "computing",
    "recompute": "recomputing",
    "tensor": "exchange of tensor ranks",
    "expert": "exchange of expert ranks",
    "pipeline": "pipeline transfers",
    "data": "exchange of replicas",
    "waiting": "waiting in the pipeline",
    "update": "update",
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StepTime:
    """Seconds of one step on the pipeline rank that ends last; `parts` sum to `total`."""

    parts: dict[str, float]  # seconds of each of PARTS; of communication only what is exposed
    hidden_parts: dict[str, float]  # communication that runs beside computation, by strategy
    rank: int  # the pipeline rank that ends last, the first of equals
    model: Model
    plan: Plan
    cluster: Cluster
    timeline: Timeline | None = None  # of the actions, in seconds; None where many plans were timed at once

    @property
    def total(self) -> float:
        """Seconds of the whole step."""
        return fsum(self.parts.values())

    @property
    def hidden(self) -> float:
        """Seconds of communication that runs beside computation; in no part of `total`."""
        return fsum(self.hidden_parts.values())

    @property
    def communication(self) -> float:
        """Seconds of communication that nothing hides."""
        return fsum(self.parts[name] for name in COMMUNICATION)

    @property
    def tokens(self) -> int:
        """Tokens of the batch."""
        plan = self.plan
        return plan.microbatches * plan.dp * plan.microbatch * plan.sequence

    @property
    def tokens_per_second(self) -> float:
        """Of all devices together."""
        return self.tokens / self.total

    @property
    def flops_per_second(self) -> float:
        """FLOP/s of one device that the model needs: recomputation is not counted."""
        work = self.model.flops(self.tokens, sequence=self.plan.sequence, recompute="selective")
        frozen = (1 - self.plan.trainable) * (work.forward - work.recompute)  # no gradients of those weights
        return (work.model - frozen) / self.total / self.plan.devices

    @property
    def mfu(self) -> float:
        """Model FLOPs utilization: `flops_per_second` over the published peak.

        Source: Chowdhery et al. 2022 (PaLM), appendix B.
        """
        return self.flops_per_second / float(self.cluster.rate(Precision(self.plan.precision).element))

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """The total, its largest part, and what is hidden."""
        largest = max(self.parts, key=lambda name: self.parts[name])
        said = f"A step takes {seconds_text(self.total)}, {percent(self.parts[largest] / self.total)} of it {PART_NAMES[largest]}"
        if self.hidden > 0:
            said += f"; {seconds_text(self.hidden)} of communication hide beside computation"
        return said

    def table(self) -> str:
        """Each part's seconds and share of the total, and what is hidden of it, as aligned text."""
        rows = [("part", "time", "share", "hidden besides")]
        for name, seconds in self.parts.items():
            hidden = self.hidden_parts.get(name, 0.0)
            if seconds or hidden:
                share = percent(seconds / self.total)
                rows.append(
                    (PART_NAMES[name], seconds_text(seconds), share, seconds_text(hidden) if hidden else "")
                )
        rows.append(
            ("all", seconds_text(self.total), "100%", seconds_text(self.hidden) if self.hidden else "")
        )
        return aligned(rows, left={0})
