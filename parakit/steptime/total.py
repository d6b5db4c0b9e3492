"""Puts a step's seconds together, for plans of one shape: which rank ends last, and what it did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.pipeline.layout import Layout
from parakit.steptime.ends import Ends
from parakit.steptime.pieces import DATA, EXPERT, TENSOR
from parakit.steptime.result import COMMUNICATION, PARTS
from parakit.steptime.stages import Stages


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Totals:
    """Of the rank that ends last of each plan."""

    parts: np.ndarray  # float64 (plans, PARTS)
    hidden: np.ndarray  # float64 (plans, COMMUNICATION)
    rank: np.ndarray  # int64 (plans,)

    def parts_of(self, at: int) -> dict[str, float]:
        """Of one plan, by name."""
        return dict(zip(PARTS, self.parts[at].tolist(), strict=True))

    def hidden_of(self, at: int) -> dict[str, float]:
        """Of one plan, by name."""
        return dict(zip(COMMUNICATION, self.hidden[at].tolist(), strict=True))


def totals(
    stages: Stages,
    ends: Ends,
    spread: Layout,
    microbatches: np.ndarray,
    last: np.ndarray,
    without: np.ndarray,
    *,
    overlap: bool,
) -> Totals:
    """What each plan's step is made of.

    Args:
        stages: seconds of each stage's actions.
        ends: seconds of what follows.
        spread: which stages a device has.
        microbatches: of each plan, int64 (plans,).
        last: when each device ends its last action, float64 (plans, pp).
        without: the same without pipeline transfers.
        overlap: pipeline transfers occupy no device; else their sender does nothing meanwhile.
    """
    times = (microbatches * spread.share)[:, None, None]
    busy = stages.seconds.sum(axis=2)[:, spread.stages].sum(axis=2) * times  # (plans, pp, parts of actions)
    beside = stages.hidden[:, spread.stages].sum(axis=2) * times
    rank = (last + ends.total).argmax(axis=1)
    at = (np.arange(len(rank)), rank)
    compute, again, tensor, expert, data = busy[at].T
    sends = _sends(stages.transfer, spread, microbatches)
    idle = last[at] - busy[at].sum(axis=1)
    # What transfers add to the step, or what they take of the rank's time. A rounding error may
    # make what is nothing a little less.
    pipeline = np.maximum(last[at] - without[at] if overlap else np.minimum(sends[at], idle), 0.0)
    waiting = idle - pipeline
    waiting[np.abs(waiting) <= 1e-12 * last[at]] = 0.0
    parts = {
        "compute": compute,
        "recompute": again,
        "tensor": tensor + ends.tensor[at],
        "expert": expert,
        "pipeline": pipeline + ends.pipeline[at],
        "data": data + ends.data[at],
        "waiting": waiting,
        "update": ends.update[at],
    }
    hidden = {
        "tensor": beside[at][:, TENSOR],
        "expert": beside[at][:, EXPERT],
        "pipeline": overlap * np.maximum(sends[at] - pipeline, 0.0) + ends.hidden_pipeline[at],
        "data": beside[at][:, DATA] + ends.hidden_data[at],
    }
    return Totals(
        parts=np.stack([parts[name] for name in PARTS], axis=1),
        hidden=np.stack([hidden[name] for name in COMMUNICATION], axis=1),
        rank=rank,
    )


def _sends(transfer: np.ndarray, spread: Layout, microbatches: np.ndarray) -> np.ndarray:
    """Seconds that each rank's own transfers take in a step, float64 (plans, pp)."""
    each = np.zeros((len(transfer), transfer.shape[1] + 1))  # of a stage: activations on, gradients back
    each[:, :-1] += transfer
    each[:, 1:] += transfer
    took: np.ndarray = each[:, spread.stages].sum(axis=2) * (microbatches * spread.share)[:, None]
    return took
