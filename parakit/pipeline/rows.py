"""One device's order while a schedule is being made, and what several schedules share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from parakit.pipeline.order import Kind, no_pairs


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One device's order."""

    stage: np.ndarray  # int32
    kind: np.ndarray  # uint8
    microbatch: np.ndarray  # int32
    pairs: np.ndarray = field(default_factory=no_pairs)  # int64, as in Schedule, from the row's start

    @classmethod
    def of(
        cls,
        kind: np.ndarray,
        forward: tuple[int | np.ndarray, np.ndarray],
        backward: tuple[int | np.ndarray, np.ndarray],
    ) -> Row:
        """A row from its kinds, each kind taking stages and microbatches in the order given.

        Args:
            kind: of each action, uint8.
            forward: stages (or the one of all) and microbatches of the forwards in their order.
            backward: the same of the backwards; I and W each go through it.
        """
        stage, microbatch = np.empty(len(kind), dtype=np.int32), np.empty(len(kind), dtype=np.int32)
        for which in Kind:
            chosen = kind == which
            if chosen.any():
                stage[chosen], microbatch[chosen] = forward if which == Kind.F else backward
        return cls(stage=stage, kind=kind, microbatch=microbatch)

    @property
    def forwards(self) -> Row:
        """The forwards alone; nothing is left that they could overlap with."""
        chosen = self.kind == Kind.F
        return Row(stage=self.stage[chosen], kind=self.kind[chosen], microbatch=self.microbatch[chosen])


def kinds(*parts: tuple[Sequence[Kind], int]) -> np.ndarray:
    """Patterns of kinds, each repeated, one after the other, uint8."""
    return np.concatenate([np.tile(np.array(pattern, dtype=np.uint8), times) for pattern, times in parts])


def alternating(work: int, ahead: int) -> np.ndarray:
    """Kinds of `ahead` forwards, then backward and forward in turns, then the rest backward, uint8."""
    kind = np.full(2 * work, Kind.B, dtype=np.uint8)
    kind[:ahead] = Kind.F
    kind[ahead + 1 : 2 * work - ahead : 2] = Kind.F
    return kind


def alternating_split(work: int, ahead: int, delay: int) -> np.ndarray:
    """As `alternating`, with backward in two parts, W following the I of `delay` turns earlier, uint8.

    The first `delay` turns have no W; those stand at the end.
    """
    turn = np.arange(work)
    has_weight, has_forward = turn >= delay, turn < work - ahead
    size = 1 + has_weight + has_forward.astype(np.int64)
    start = ahead + np.cumsum(size) - size
    kind = np.full(3 * work, Kind.W, dtype=np.uint8)  # what is left over at the end is W
    kind[:ahead] = Kind.F
    kind[start] = Kind.I
    kind[(start + 1 + has_weight)[has_forward]] = Kind.F
    return kind


def round_size(devices: int, microbatches: int) -> int:
    """Microbatches that go through all of a device's stages together, at least `devices` where there are."""
    return microbatches // max(1, microbatches // devices)


def rounds(
    devices: int, microbatches: int, chunks: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Order of forwards and of backwards on device 0, as stages and microbatches.

    A round takes its microbatches through one of the device's stages after the other.
    """
    size = round_size(devices, microbatches)
    step = np.arange(microbatches * chunks)
    chunk = step // size % chunks
    microbatch = (step // (size * chunks) * size + step % size).astype(np.int32)
    return (chunk * devices, microbatch), ((chunks - 1 - chunk) * devices, microbatch)
