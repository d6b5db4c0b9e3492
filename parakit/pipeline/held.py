"""What each device holds at most, from the order of its actions alone: no durations are needed.

A device does one thing at a time, so the order of its own actions decides what it holds when.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from parakit.pipeline.build import enough_microbatches, holds_all, schedule
from parakit.pipeline.layout import local_stages
from parakit.pipeline.order import Kind, Schedule


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Holding:
    """The moments at which a device may be fullest, padded with zeros to equal number.

    Held counts microbatches of each of the device's stages, from the start of their F to the end
    of their last backward action; moments that another one exceeds in everything are left out.
    """

    stages: np.ndarray  # int64 (devices, stages a device), in the model's order
    held: np.ndarray  # float64 (devices, moments, stages a device)
    backward: np.ndarray  # float64, the same shape: 1 where a backward of that stage is running

    def peak(self, kept: np.ndarray, again: np.ndarray) -> np.ndarray:
        """Most bytes held.

        Args:
            kept: bytes of each stage for one microbatch, float64 (…, stages).
            again: bytes more of each stage while its backward runs, the same shape.

        Returns:
            float64 (…, devices).
        """
        held = np.einsum("dmk,...dk->...dm", self.held, kept[..., self.stages])
        held += np.einsum("dmk,...dk->...dm", self.backward, again[..., self.stages])
        most: np.ndarray = held.max(axis=-1)
        return most


@lru_cache(maxsize=4096)
def holding(name: str, devices: int, microbatches: int, chunks: int) -> Holding:
    """What a named schedule holds; the arguments must be ones that it works with."""
    few = _holding(name, devices, enough_microbatches(name, devices, microbatches, chunks), chunks)
    return replace(few, held=few.held * microbatches) if holds_all(name) else few


@lru_cache(maxsize=4096)
def _holding(name: str, devices: int, few: int, chunks: int) -> Holding:
    return holding_of(schedule(name, devices=devices, microbatches=few, chunks=chunks))


def holding_of(order: Schedule) -> Holding:
    """What a legal order holds."""
    devices, device = order.devices, order.device
    local = local_stages(order)
    each = local.shape[1]
    place = np.zeros(order.actions, dtype=np.int64)  # of an action's stage among its device's
    for column in range(1, each):
        place[order.stage == local[device, column]] = column
    forward, ends = order.kind == Kind.F, _ends(order)
    columns = np.arange(each)
    here = place[:, None] == columns
    taken = np.cumsum(here & forward[:, None], axis=0, dtype=np.int64)
    given = np.cumsum(here & ends[:, None], axis=0, dtype=np.int64) - (here & ends[:, None])
    # All that was taken has been given back at the end of a device's row: no reset between devices.
    held = taken - given
    running = here & ~forward[:, None] & (order.kind != Kind.W)[:, None]
    if order.forward_only:
        held = here.astype(np.int64)
    rows = [
        _fullest(held[start:end], running[start:end])
        for start, end in zip(order.first[:-1].tolist(), order.first[1:].tolist(), strict=True)
    ]
    moments = max(len(row) for row in rows)
    both = np.zeros((devices, moments, 2 * each))
    for at, row in enumerate(rows):
        both[at, : len(row)] = row
    return Holding(stages=local, held=both[:, :, :each], backward=both[:, :, each:])


def _ends(order: Schedule) -> np.ndarray:
    """Whether an action is the last of its stage and microbatch on its device, bool (actions,)."""
    pair = order.stage.astype(np.int64) * order.microbatches + order.microbatch
    last = np.zeros(order.stages * order.microbatches, dtype=np.int64)
    np.maximum.at(last, pair, np.arange(order.actions))
    ends: np.ndarray = last[pair] == np.arange(order.actions)
    return ends


_AT_ONCE = 256  # moments that are compared with all others together


def _fullest(held: np.ndarray, running: np.ndarray) -> np.ndarray:
    """Moments of one device that no other exceeds in everything, int64 (moments, 2 × stages)."""
    rows = np.concatenate([held, running], axis=1)
    if held.shape[1] == 1:
        # Only two can matter: the most held at all, and the most held while a backward runs.
        back = rows[rows[:, 1] == 1]
        candidates = [rows[rows[:, 0].argmax()]]
        if len(back):
            candidates.append(back[back[:, 0].argmax()])
        return np.unique(candidates, axis=0)
    rows = np.unique(rows[_peaks(rows)], axis=0)
    kept = np.ones(len(rows), dtype=bool)
    for low in range(0, len(rows), _AT_ONCE):
        some = rows[low : low + _AT_ONCE]
        above = (rows[:, None] >= some).all(axis=2).sum(axis=0)
        kept[low : low + _AT_ONCE] = above == 1  # itself alone: all differ
    return rows[kept]


def _peaks(rows: np.ndarray) -> np.ndarray:
    """Whether no neighbour in time exceeds a moment in everything, bool (moments,); of equals the first stays."""
    here = np.ones(len(rows), dtype=bool)
    here[1:] &= (rows[:-1] < rows[1:]).any(axis=1)
    here[:-1] &= (rows[1:] < rows[:-1]).any(axis=1) | (rows[1:] == rows[:-1]).all(axis=1)
    return here
