"""Which stages a device has, and where it sends what they compute: what a schedule lays down for all steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parakit.pipeline.build import least_microbatches, schedule
from parakit.pipeline.order import Kind, Schedule
from parakit.pipeline.run import needs_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Sends:
    """What one device sends to one other for each microbatch of the batch, on average."""

    sender: int
    receiver: int
    forward: bool  # activations; else their gradients
    boundaries: float  # of stages that are crossed


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Layout:
    """How a schedule spreads the model's stages and the microbatches over devices."""

    stages: np.ndarray  # int64 (devices, stages a device), ascending
    share: float  # of the microbatches that a device computes in each of its stages
    sends: tuple[Sends, ...]

    @property
    def one_stage_each(self) -> bool:
        """Whether a device is as good as a stage: each has one, and no stage is on two."""
        return self.stages.shape[1] == 1 and self.share == 1

    @property
    def ends_apart(self) -> bool:
        """Whether no device has both the model's first and its last stage."""
        last = self.stages.max()
        both = (self.stages == 0).any(axis=1) & (self.stages == last).any(axis=1)
        return not bool(both.any())

    def holders(self, stage: int) -> list[int]:
        """Devices that have a stage."""
        return np.flatnonzero((self.stages == stage).any(axis=1)).tolist()


@lru_cache(maxsize=4096)
def layout(name: str, devices: int, chunks: int) -> Layout:
    """Of a named schedule; the arguments must be ones that it works with."""
    few = least_microbatches(name, devices)
    return layout_of(schedule(name, devices=devices, microbatches=few, chunks=chunks))


def layout_of(order: Schedule) -> Layout:
    """Of a legal order whose devices have equally many stages."""
    stages = local_stages(order)
    before, device = needs_of(order).before, order.device
    needing = np.flatnonzero((before >= 0) & (device[before] != device))
    forward = (order.kind[needing] == Kind.F).astype(np.int64)
    ways = np.stack([device[before[needing]], 1 - forward, device[needing]], axis=1).astype(np.int64)
    found, times = np.unique(ways, axis=0, return_counts=True)
    return Layout(
        stages=stages,
        share=order.stages / stages.size,
        sends=tuple(
            Sends(
                sender=sender,
                receiver=receiver,
                forward=not backward,
                boundaries=number / order.microbatches,
            )
            for (sender, backward, receiver), number in zip(found.tolist(), times.tolist(), strict=True)
        ),
    )


def local_stages(order: Schedule) -> np.ndarray:
    """Stages of each device, int64 (devices, stages a device), ascending.

    Raises:
        ValueError: devices have different numbers of stages.
    """
    pairs = np.unique(order.device.astype(np.int64) * order.stages + order.stage)
    sizes = np.bincount(pairs // order.stages, minlength=order.devices)
    if (sizes != sizes[0]).any():
        raise ValueError(
            f"the devices of this schedule have {', '.join(map(str, sorted(set(sizes.tolist()))))} stages: "
            f"memory is counted where all have equally many"
        )
    stages: np.ndarray = (pairs % order.stages).reshape(order.devices, -1)
    return stages
