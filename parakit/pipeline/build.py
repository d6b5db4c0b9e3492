"""Schedules that people train with, made by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parakit.checks import shown, unknown, whole, whole_number_fault
from parakit.names import count
from parakit.pipeline.order import Kind, Schedule

# Built in seconds and simulated within memory; a grid of this many cells is no picture any more.
LARGEST_SCHEDULE = 4_000_000  # actions
LARGEST_PIPELINE = 65_536  # devices


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One device's order: kinds and microbatches of its only stage."""

    kind: np.ndarray  # uint8
    microbatch: np.ndarray  # int32


def schedules() -> tuple[str, ...]:
    """Names that `schedule` knows."""
    return tuple(_ROWS)


def schedule(
    name: str,
    *,
    devices: int,
    microbatches: int,
    chunks: int | None = None,
    forward_only: bool = False,
) -> Schedule:
    """The order of actions of a pipeline schedule.

    gpipe: all forwards, then all backwards (Huang et al. 2019).
    1f1b: each device fills up with as many forwards as there are devices after it, then
    alternates one forward, one backward (Harlap et al. 2018, PipeDream-Flush in Narayanan et al.
    2021, section 2.2.1). The same bubble as gpipe, fewer microbatches held.

    Args:
        name: one of `schedules()`.
        devices: pipeline stages, one a device.
        microbatches: pieces that the batch is cut into; fewer than devices is allowed.
        chunks: stages a device; both schedules have 1.
        forward_only: leave backward work out.

    Raises:
        ValueError: a name is unknown or a number out of range.

    Example:
        >>> print(schedule("1f1b", devices=2, microbatches=3).to_text())
        0F0,0F1,0B0,0F2,0B1,0B2
        1F0,1B0,1F1,1B1,1F2,1B2
    """
    if name not in _ROWS:
        raise ValueError(unknown("schedule", name, _ROWS))
    if fault := whole_number_fault(devices, most=LARGEST_PIPELINE):
        raise ValueError(f"a pipeline of {shown(devices)} stages cannot be made: the number {fault}")
    if fault := whole_number_fault(microbatches):
        raise ValueError(f"a batch of {shown(microbatches)} microbatches cannot be made: the number {fault}")
    if chunks is not None and chunks != 1:
        raise ValueError(f"chunks is {shown(chunks)}: {name} has 1 stage a device, so give chunks=1 or None")
    devices, microbatches = whole("devices", devices), whole("microbatches", microbatches)
    kinds = 1 if forward_only else 2
    if kinds * devices * microbatches > LARGEST_SCHEDULE:
        fitting = LARGEST_SCHEDULE // (kinds * devices)
        way_out = (
            f"at {count(devices, 'stage')} choose at most {count(fitting, 'microbatch')}"
            if fitting
            else "choose fewer stages"
        )
        raise ValueError(
            f"{count(microbatches, 'microbatch')} on {count(devices, 'stage')} are "
            f"{shown(kinds * devices * microbatches)} actions, and parakit lays out at most "
            f"{LARGEST_SCHEDULE:,}, what memory and a few seconds allow: {way_out}"
        )
    if forward_only:
        order = np.arange(microbatches, dtype=np.int32)
        rows = [Row(kind=np.zeros(microbatches, dtype=np.uint8), microbatch=order)] * devices
    else:
        rows = _ROWS[name](devices, microbatches)
    sizes = [len(row.kind) for row in rows]
    return Schedule(
        name=name,
        stages=devices,
        microbatches=microbatches,
        forward_only=forward_only,
        first=np.cumsum([0, *sizes]),
        stage=np.repeat(np.arange(devices, dtype=np.int32), sizes),
        kind=np.concatenate([row.kind for row in rows]),
        microbatch=np.concatenate([row.microbatch for row in rows]),
    )


def _gpipe(devices: int, microbatches: int) -> list[Row]:
    order = np.arange(microbatches, dtype=np.int32)
    row = Row(
        kind=np.repeat(np.array([Kind.F, Kind.B], dtype=np.uint8), microbatches),
        microbatch=np.concatenate([order, order]),
    )
    return [row] * devices


def _one_forward_one_backward(devices: int, microbatches: int) -> list[Row]:
    rows = []
    for device in range(devices):
        # Forwards before the first backward: one for each later device, and its own.
        ahead = min(devices - device, microbatches)
        kind = np.full(2 * microbatches, Kind.B, dtype=np.uint8)
        kind[:ahead] = Kind.F
        kind[ahead + 1 : 2 * microbatches - ahead : 2] = Kind.F
        microbatch = np.empty(2 * microbatches, dtype=np.int32)
        forward = kind == Kind.F
        microbatch[forward] = microbatch[~forward] = np.arange(microbatches)
        rows.append(Row(kind=kind, microbatch=microbatch))
    return rows


_ROWS: dict[str, Callable[[int, int], list[Row]]] = {
    "gpipe": _gpipe,
    "1f1b": _one_forward_one_backward,
}
