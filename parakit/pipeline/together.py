"""One order with many durations at once: when each device ends.

The same times as `simulate`, for the price of one walk through the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parakit.pipeline.build import schedule
from parakit.pipeline.order import Kind, Schedule
from parakit.pipeline.run import needs_of, run


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Walk:
    """A schedule's actions in an order in which each comes after all it waits for.

    Those of a level wait for nothing of the same level. Both actions of an overlapped pair are one.
    The last entry of durations and transfers, index -1, is nothing.
    """

    levels: tuple[tuple[int, int], ...]  # first and last + 1 of each level
    took: np.ndarray  # int64 (2, actions): kind × stages + stage of what it does; -1 for no second one
    after: np.ndarray  # int64 (3, actions): its device's previous, and what it needs; -1 for nothing
    over: np.ndarray  # int64 (2, actions): the boundary each need comes over; -1 on the same device
    last: np.ndarray  # int64 (devices,): the last action of each device
    pairs: bool

    def ends(
        self, forward: np.ndarray, backward: np.ndarray, weight: np.ndarray, transfer: np.ndarray
    ) -> np.ndarray:
        """When each device ends its last action, float64 (columns, devices).

        Args:
            forward: durations of each stage's F, float64 (columns, stages).
            backward: of its full backward B, the same shape.
            weight: of its W.
            transfer: over each boundary, float64 (columns, stages - 1).
        """
        columns, stages = forward.shape
        times = np.zeros((4 * stages + 1, columns))
        for kind, each in (
            (Kind.F, forward),
            (Kind.B, backward),
            (Kind.I, backward - weight),
            (Kind.W, weight),
        ):
            times[int(kind) * stages : (int(kind) + 1) * stages] = each.T
        late = np.zeros((max(stages - 1, 0) + 1, columns))
        late[:-1] = transfer.T
        end = np.zeros((self.took.shape[1] + 1, columns))
        own, *needs = self.after
        for low, high in self.levels:
            here = end[low:high]
            np.take(end, own[low:high], axis=0, out=here)
            for need, over in zip(needs if self.pairs else needs[:1], self.over, strict=False):
                there = end.take(need[low:high], axis=0)
                there += late.take(over[low:high], axis=0)
                np.maximum(here, there, out=here)
            here += times.take(self.took[0, low:high], axis=0)
            if self.pairs:
                here += times.take(self.took[1, low:high], axis=0)
        ends: np.ndarray = end[self.last].T
        return ends


@lru_cache(maxsize=256)
def walk(name: str, devices: int, microbatches: int, chunks: int) -> Walk:
    """Of a named schedule; the arguments must be ones that it works with."""
    return walk_of(schedule(name, devices=devices, microbatches=microbatches, chunks=chunks))


def walk_of(order: Schedule) -> Walk:
    """Of a legal order."""
    before, device = needs_of(order).before, order.device
    ones = np.ones(order.actions)
    level = np.rint(run(order, before, duration=ones, delay=np.zeros(order.actions)).end).astype(np.int64)
    single = np.ones(order.actions, dtype=bool)
    single[order.pairs + 1] = False
    # A stable order by level, then as in the schedule; the second of a pair is its first.
    sorted_ = np.flatnonzero(single)[np.argsort(level[single], kind="stable")]
    place = np.full(order.actions + 1, -1, dtype=np.int64)
    place[sorted_] = np.arange(len(sorted_))
    place[order.pairs + 1] = place[order.pairs]
    previous = np.arange(-1, order.actions - 1)
    previous[order.first[:-1][np.diff(order.first) > 0]] = -1
    boundary = order.stage.astype(np.int64) - (order.kind == Kind.F)
    elsewhere = (before >= 0) & (device[before] != device)
    over = np.where(elsewhere, boundary, -1)
    took = order.kind.astype(np.int64) * order.stages + order.stage
    second = np.full(order.actions, -1, dtype=np.int64)
    second[order.pairs] = order.pairs + 1
    paired = second[sorted_]
    counts = np.bincount(level[sorted_])
    stops = np.cumsum(counts)
    return Walk(
        levels=tuple(
            (int(stop - number), int(stop)) for stop, number in zip(stops, counts, strict=True) if number
        ),
        took=np.stack([took[sorted_], np.where(paired >= 0, took[paired], -1)]),
        after=np.stack(
            [
                place[previous[sorted_]],
                place[before[sorted_]],
                np.where(paired >= 0, place[before[paired]], -1),
            ]
        ),
        over=np.stack([over[sorted_], np.where(paired >= 0, over[paired], -1)]),
        last=place[order.first[1:] - 1],
        pairs=bool(len(order.pairs)),
    )
