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
LARGEST_CHUNKS = 1_000  # stages a device


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One device's order."""

    stage: np.ndarray  # int32
    kind: np.ndarray  # uint8
    microbatch: np.ndarray  # int32


def schedules() -> tuple[str, ...]:
    """Names that `schedule` knows."""
    return tuple(_MAKERS)


def usual_chunks(name: str) -> int:
    """Stages a device that a schedule has when it is not said; `name` must be a known one."""
    return _MAKERS[name].chunks


def chunks_fault(name: str, chunks: object) -> str | None:
    """Why a schedule cannot have `chunks` stages a device, or None when it can."""
    if chunks is None or chunks == (usual := usual_chunks(name)):
        return None
    if not _MAKERS[name].any_chunks:
        return f"chunks is {shown(chunks)}: {name} has {count(usual, 'stage')} a device, so give chunks={usual} or None"
    if fault := whole_number_fault(chunks, most=LARGEST_CHUNKS):
        return f"chunks is {shown(chunks)}: it {fault}, or None for {usual}"
    return None


def microbatches_fault(name: str, devices: int, microbatches: int) -> str | None:
    """Why a schedule cannot run this many microbatches, with the nearest numbers that work."""
    return _MAKERS[name].microbatches_fault(devices, microbatches)


def enough_microbatches(name: str, devices: int, microbatches: int, chunks: int) -> int:
    """The least number, up to `microbatches`, whose order holds as much at most: more only repeat."""
    return _MAKERS[name].enough(devices, microbatches, chunks)


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
    interleaved-1f1b: each device has several stages, spread through the model, and takes them in
    turns; the bubble is divided by their number and the sends multiplied by it (Narayanan et al.
    2021, section 2.2.2). Microbatches go in rounds of equal size, of at least `devices` where
    there are as many.

    Args:
        name: one of `schedules()`.
        devices: of the pipeline.
        microbatches: pieces that the batch is cut into; fewer than devices is allowed.
        chunks: stages a device; None means 1, or 2 for interleaved-1f1b.
        forward_only: leave backward work out.

    Raises:
        ValueError: a name is unknown or a number out of range.

    Example:
        >>> print(schedule("1f1b", devices=2, microbatches=3).to_text())
        0F0,0F1,0B0,0F2,0B1,0B2
        1F0,1B0,1F1,1B1,1F2,1B2
    """
    if name not in _MAKERS:
        raise ValueError(unknown("schedule", name, _MAKERS))
    if fault := whole_number_fault(devices, most=LARGEST_PIPELINE):
        raise ValueError(f"a pipeline of {shown(devices)} stages cannot be made: the number {fault}")
    if fault := whole_number_fault(microbatches):
        raise ValueError(f"a batch of {shown(microbatches)} microbatches cannot be made: the number {fault}")
    if fault := chunks_fault(name, chunks):
        raise ValueError(fault)
    devices, microbatches = whole("devices", devices), whole("microbatches", microbatches)
    chunks = usual_chunks(name) if chunks is None else whole("chunks", chunks)
    stages = devices * chunks
    kinds = 1 if forward_only else 2
    if kinds * stages * microbatches > LARGEST_SCHEDULE:
        fitting = LARGEST_SCHEDULE // (kinds * stages)
        way_out = (
            f"at {count(stages, 'stage')} choose at most {count(fitting, 'microbatch')}"
            if fitting
            else "choose fewer stages"
        )
        raise ValueError(
            f"{count(microbatches, 'microbatch')} on {count(stages, 'stage')} are "
            f"{shown(kinds * stages * microbatches)} actions, and parakit lays out at most "
            f"{LARGEST_SCHEDULE:,}, what memory and a few seconds allow: {way_out}"
        )
    if fault := microbatches_fault(name, devices, microbatches):
        raise ValueError(fault)
    rows = _MAKERS[name].rows(devices, microbatches, chunks)
    if forward_only:
        rows = [_forward_part(row) for row in rows]
    sizes = [len(row.kind) for row in rows]
    return Schedule(
        name=name,
        stages=stages,
        microbatches=microbatches,
        forward_only=forward_only,
        first=np.cumsum([0, *sizes]),
        stage=np.concatenate([row.stage for row in rows]),
        kind=np.concatenate([row.kind for row in rows]),
        microbatch=np.concatenate([row.microbatch for row in rows]),
    )


def _forward_part(row: Row) -> Row:
    forward = row.kind == Kind.F
    return Row(stage=row.stage[forward], kind=row.kind[forward], microbatch=row.microbatch[forward])


def _gpipe(devices: int, microbatches: int, chunks: int) -> list[Row]:
    order = np.arange(microbatches, dtype=np.int32)
    kind = np.repeat(np.array([Kind.F, Kind.B], dtype=np.uint8), microbatches)
    both = np.concatenate([order, order])
    return [
        Row(stage=np.full(2 * microbatches, device, dtype=np.int32), kind=kind, microbatch=both)
        for device in range(devices)
    ]


def _one_forward_one_backward(devices: int, microbatches: int, chunks: int) -> list[Row]:
    rows = []
    for device in range(devices):
        # Forwards before the first backward: one for each later device, and its own.
        kind = _alternating(microbatches, min(devices - device, microbatches))
        microbatch = np.empty(2 * microbatches, dtype=np.int32)
        forward = kind == Kind.F
        microbatch[forward] = microbatch[~forward] = np.arange(microbatches)
        stage = np.full(2 * microbatches, device, dtype=np.int32)
        rows.append(Row(stage=stage, kind=kind, microbatch=microbatch))
    return rows


def _interleaved(devices: int, microbatches: int, chunks: int) -> list[Row]:
    size = _round_size(devices, microbatches)
    work = microbatches * chunks
    step = np.arange(work)
    # A round takes `size` microbatches through one of the device's stages after the other.
    chunk = step // size % chunks
    microbatch = (step // (size * chunks) * size + step % size).astype(np.int32)
    rows = []
    for device in range(devices):
        ahead = min((chunks - 1) * size + 2 * (devices - 1 - device) + 1, work)
        kind = _alternating(work, ahead)
        forward = kind == Kind.F
        stage, which = np.empty(2 * work, dtype=np.int32), np.empty(2 * work, dtype=np.int32)
        stage[forward] = chunk * devices + device
        stage[~forward] = (chunks - 1 - chunk) * devices + device
        which[forward] = which[~forward] = microbatch
        rows.append(Row(stage=stage, kind=kind, microbatch=which))
    return rows


def _alternating(work: int, ahead: int) -> np.ndarray:
    """Kinds of `ahead` forwards, then backward and forward in turns, then the rest backward."""
    kind = np.full(2 * work, Kind.B, dtype=np.uint8)
    kind[:ahead] = Kind.F
    kind[ahead + 1 : 2 * work - ahead : 2] = Kind.F
    return kind


def _round_size(devices: int, microbatches: int) -> int:
    return microbatches // max(1, microbatches // devices)


def _all_of_them(devices: int, microbatches: int, chunks: int) -> int:
    return microbatches


def _one_a_device(devices: int, microbatches: int, chunks: int) -> int:
    return min(devices, microbatches)


def _three_rounds(devices: int, microbatches: int, chunks: int) -> int:
    few = 3 * _round_size(devices, microbatches)
    same = few < microbatches and _round_size(devices, few) == _round_size(devices, microbatches)
    return few if same else microbatches


def _any_number(devices: int, microbatches: int) -> None:
    return None


def _equal_rounds(devices: int, microbatches: int) -> str | None:
    def rest(number: int) -> int:
        return number % max(1, number // devices)

    if rest(microbatches) == 0:
        return None
    below = next(n for n in range(microbatches, 0, -1) if rest(n) == 0)
    above = next(n for n in range(microbatches, microbatches + devices + 1) if rest(n) == 0)
    return (
        f"{count(microbatches, 'microbatch')} do not divide into {count(microbatches // devices, 'round')} of equal "
        f"size on {count(devices, 'device')}: interleaved-1f1b needs that (nearest: {below} or {above})"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Maker:
    """How a named schedule is made, and what it asks for."""

    rows: Callable[[int, int, int], list[Row]]  # from devices, microbatches, chunks
    chunks: int = 1
    any_chunks: bool = False
    microbatches_fault: Callable[[int, int], str | None] = _any_number
    enough: Callable[[int, int, int], int] = _all_of_them


_MAKERS = {
    "gpipe": _Maker(rows=_gpipe),
    "1f1b": _Maker(rows=_one_forward_one_backward, enough=_one_a_device),
    "interleaved-1f1b": _Maker(
        rows=_interleaved,
        chunks=2,
        any_chunks=True,
        microbatches_fault=_equal_rounds,
        enough=_three_rounds,
    ),
}
