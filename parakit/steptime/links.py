"""Which link matters: the time of a step over the bandwidth of each kind of link."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.plan import Plan
from parakit.steptime.compute import step_time

_WIDEST = 1e15  # bytes/s: where an infinite bandwidth is drawn


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinkCurve:
    """Seconds of a step over the rate of one kind of link, all else as it is."""

    link: str  # "inside" or "between"
    rate: np.ndarray  # float64 (points,), bytes/s reached, ascending
    seconds: np.ndarray  # float64 (points,), never rising
    now: float  # bytes/s, as the cluster has it
    now_seconds: float

    @property
    def saved(self) -> float:
        """Share of the step that a link ten times as fast would save."""
        return 1 - float(self.seconds[-1]) / self.now_seconds

    @property
    def lost(self) -> float:
        """How many times as long the step would take over a link of a tenth."""
        at = int(np.abs(np.log(self.rate / (self.now / 10))).argmin())
        return float(self.seconds[at]) / self.now_seconds


def link_curves(model: Model, plan: Plan, cluster: Cluster, points: int = 17) -> tuple[LinkCurve, ...]:
    """A curve for each kind of link, from a thousandth of its rate to ten times.

    Flat where the link does not matter, since what it carries is hidden or little; rising to the
    left where it decides: the two parts of a roofline (Williams, Waterman and Patterson 2009).

    Args:
        model: what is trained.
        plan: how it is split.
        cluster: what it runs on.
        points: of each curve.

    Raises:
        PlanError, ValueError: as `step_time`.
    """
    now = step_time(model, plan, cluster).total
    curves = []
    for name in ("inside", "between"):
        link = getattr(cluster, name)
        rate = min(link.rate, _WIDEST)
        rates = rate * np.logspace(-3, 1, points)
        seconds = [
            step_time(
                model,
                plan,
                replace(cluster, **{name: replace(link, bandwidth=float(one), fraction=1.0)}),
            ).total
            for one in rates
        ]
        curves.append(LinkCurve(link=name, rate=rates, seconds=np.array(seconds), now=rate, now_seconds=now))
    return tuple(curves)
