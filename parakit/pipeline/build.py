"""Schedules that people train with, made by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parakit.checks import shown, unknown, whole, whole_number_fault
from parakit.names import count
from parakit.pipeline import classic, dual, zero_bubble
from parakit.pipeline.order import Schedule
from parakit.pipeline.rows import Row, round_size

# Built in seconds and simulated within memory; a grid of this many cells is no picture any more.
LARGEST_SCHEDULE = 4_000_000  # actions
LARGEST_PIPELINE = 65_536  # devices
LARGEST_CHUNKS = 1_000  # stages a device


def schedules() -> tuple[str, ...]:
    """Names that `schedule` knows."""
    return tuple(_MAKERS)


def usual_chunks(name: str) -> int:
    """Stages a device that a schedule has when it is not said; `name` must be a known one."""
    return _MAKERS[name].chunks


def takes_chunks(name: str) -> bool:
    """Whether a schedule takes any number of stages a device; False for names that are unknown."""
    return name in _MAKERS and _MAKERS[name].any_chunks


def splits_backward(name: str) -> bool:
    """Whether a schedule computes weight gradients apart from backward; `name` must be a known one."""
    return _MAKERS[name].kinds == 3


def chunks_fault(name: str, chunks: object) -> str | None:
    """Why a schedule cannot have `chunks` stages a device, or None when it can."""
    if chunks is None or chunks == (usual := usual_chunks(name)):
        return None
    if not _MAKERS[name].any_chunks:
        return f"chunks is {shown(chunks)}: {name} has {count(usual, 'stage')} a device, so give chunks={usual} or None"
    if fault := whole_number_fault(chunks, most=LARGEST_CHUNKS):
        return f"chunks is {shown(chunks)}: it {fault}, or None for {usual}"
    return None


def sizes_fault(name: str, devices: int, microbatches: int) -> str | None:
    """Why a schedule cannot run these numbers, with the nearest ones that work, or None when it can.

    Raises:
        ValueError: there is no such schedule.
    """
    if name not in _MAKERS:
        raise ValueError(unknown("schedule", name, _MAKERS))
    return _MAKERS[name].sizes_fault(name, devices, microbatches)


def least_microbatches(name: str, devices: int) -> int:
    """A small number of microbatches that a schedule works with; `devices` must be one it works with."""
    return _MAKERS[name].least(devices)


def enough_microbatches(name: str, devices: int, microbatches: int, chunks: int) -> int:
    """The least number, up to `microbatches`, whose order holds as much at most: more only repeat.

    Of a schedule that `holds_all`, one, and what it holds is multiplied.
    """
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
    1f1b: each device fills up with as many forwards as there are devices from it on, then
    alternates one backward, one forward (Harlap et al. 2018; PipeDream-Flush in Narayanan et al.
    2021, section 2.2.1). The same bubble as gpipe, fewer microbatches held.
    interleaved-1f1b: each device has several stages, spread through the model, and takes them in
    turns; the bubble is divided by their number and the sends multiplied by it (Narayanan et al.
    2021, section 2.2.2). Microbatches go in rounds of equal size, of at least `devices` where
    there are as many.
    looped-bfs: several stages a device, all microbatches through one before the next begins
    (Lamy-Poirier 2022, Breadth-First Pipeline Parallelism). It holds what gpipe holds.
    zb-h1: 1f1b with backward in two; the weights' part fills what would be idle, and no device
    holds more than 1f1b's first (Qi et al. 2023, Zero Bubble Pipeline Parallelism, section 2.1).
    zb-h2: the same with about twice as much held; with F = I = W no device waits between its own
    first and last action (Qi et al. 2023, section 2.2). Over the whole step all still wait.
    interleaved-zb: zb-h1 over several stages a device (ZB1P of Qi et al. 2023, as torch has it).
    zbv: two stages a device, laid out as a V (Qi et al. 2023, section 6).
    dualpipev: a V whose forwards and backwards run overlapped (Sea AI Lab 2025, DualPipe cut in
    half). It needs 2·devices microbatches or more.
    dualpipe: microbatches enter at both ends and overlap where they meet; each stage is on two
    devices (DeepSeek-AI 2024, DeepSeek-V3 technical report, section 3.2.1). It needs an even
    number of devices, and an even number of microbatches of 2·devices or more.

    Args:
        name: one of `schedules()`.
        devices: of the pipeline.
        microbatches: pieces that the batch is cut into; fewer than devices is allowed, but for the last two.
        chunks: stages a device; None means 2 for the interleaved, looped and V-shaped ones, else 1.
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
    kinds = 1 if forward_only else _MAKERS[name].kinds
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
    if fault := sizes_fault(name, devices, microbatches):
        raise ValueError(fault)
    rows = _MAKERS[name].rows(devices, microbatches, chunks)
    if forward_only:
        rows = [row.forwards for row in rows]
    first = np.cumsum([0, *(len(row.kind) for row in rows)])
    return Schedule(
        name=name,
        stages=stages,
        microbatches=microbatches,
        forward_only=forward_only,
        first=first,
        stage=np.concatenate([row.stage for row in rows]),
        kind=np.concatenate([row.kind for row in rows]),
        microbatch=np.concatenate([row.microbatch for row in rows]),
        pairs=np.concatenate([row.pairs + start for row, start in zip(rows, first[:-1], strict=True)]),
    )


def holds_all(name: str) -> bool:
    """Whether a schedule computes all forwards first, so that what it holds grows with the microbatches."""
    return _MAKERS[name].enough is _one


def _all_of_them(devices: int, microbatches: int, chunks: int) -> int:
    return microbatches


def _one(devices: int, microbatches: int, chunks: int) -> int:
    return 1


def _one_a_device(devices: int, microbatches: int, chunks: int) -> int:
    return min(devices, microbatches)


def _four_a_device(devices: int, microbatches: int, chunks: int) -> int:
    # An even number where there are so many, which dualpipe needs.
    return min(4 * devices, microbatches)


def _three_rounds(devices: int, microbatches: int, chunks: int) -> int:
    few = 3 * round_size(devices, microbatches)
    same = few < microbatches and round_size(devices, few) == round_size(devices, microbatches)
    return few if same else microbatches


def _any_number(name: str, devices: int, microbatches: int) -> None:
    return None


def _equal_rounds(name: str, devices: int, microbatches: int) -> str | None:
    def rest(number: int) -> int:
        return number % max(1, number // devices)

    if rest(microbatches) == 0:
        return None
    below = next(n for n in range(microbatches, 0, -1) if rest(n) == 0)
    above = next(n for n in range(microbatches, microbatches + devices + 1) if rest(n) == 0)
    return (
        f"{count(microbatches, 'microbatch')} do not divide into {count(microbatches // devices, 'round')} of equal "
        f"size on {count(devices, 'device')}: {name} needs that (nearest: {below} or {above})"
    )


def _two_a_device(name: str, devices: int, microbatches: int) -> str | None:
    if microbatches >= 2 * devices:
        return None
    return (
        f"{_too_few(microbatches)} for {count(devices, 'device')}: {name} needs at least "
        f"2 × devices (nearest: {2 * devices} microbatches{_fewer_devices(microbatches // 2)})"
    )


def _two_ends(name: str, devices: int, microbatches: int) -> str | None:
    if devices % 2:
        near = f"{devices - 1} or {devices + 1}" if devices > 1 else "2"
        return (
            f"{count(devices, 'device')} cannot be entered from both ends alike: {name} needs an even number "
            f"of devices (nearest: {near})"
        )
    if microbatches < 2 * devices:
        fewer = _fewer_devices(microbatches // 4 * 2) if microbatches % 2 == 0 else ""
        return (
            f"{_too_few(microbatches)} for {count(devices, 'device')}: {name} needs at "
            f"least 2 × devices, an even number (nearest: {2 * devices} microbatches{fewer})"
        )
    if microbatches % 2:
        fitting = [n for n in (microbatches - 1, microbatches + 1) if n >= 2 * devices]
        return (
            f"{count(microbatches, 'microbatch')} do not divide over both ends: {name} needs an even number "
            f"(nearest: {' or '.join(map(str, fitting))})"
        )
    return None


def _too_few(microbatches: int) -> str:
    return f"{count(microbatches, 'microbatch')} {'is' if microbatches == 1 else 'are'} too few"


def _fewer_devices(devices: int) -> str:
    return f", or {count(devices, 'device')}" if devices else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Maker:
    """How a named schedule is made, and what it asks for."""

    rows: Callable[[int, int, int], list[Row]]  # from devices, microbatches, chunks
    chunks: int = 1
    any_chunks: bool = False
    kinds: int = 2  # actions a stage and microbatch, at most
    sizes_fault: Callable[[str, int, int], str | None] = _any_number  # from name, devices, microbatches
    least: Callable[[int], int] = lambda devices: devices
    enough: Callable[[int, int, int], int] = _all_of_them


_MAKERS = {
    "gpipe": _Maker(rows=classic.gpipe, enough=_one),
    "1f1b": _Maker(rows=classic.one_forward_one_backward, enough=_one_a_device),
    "interleaved-1f1b": _Maker(
        rows=classic.interleaved,
        chunks=2,
        any_chunks=True,
        sizes_fault=_equal_rounds,
        enough=_three_rounds,
    ),
    "looped-bfs": _Maker(rows=classic.looped_breadth_first, chunks=2, any_chunks=True, enough=_one),
    "zb-h1": _Maker(rows=zero_bubble.zb_h1, kinds=3, enough=_four_a_device),
    "zb-h2": _Maker(rows=zero_bubble.zb_h2, kinds=3, enough=_four_a_device),
    "interleaved-zb": _Maker(
        rows=zero_bubble.interleaved_zb,
        chunks=2,
        any_chunks=True,
        kinds=3,
        sizes_fault=_equal_rounds,
        enough=_three_rounds,
    ),
    "zbv": _Maker(rows=zero_bubble.zbv, chunks=2, kinds=3, enough=_four_a_device),
    "dualpipev": _Maker(
        rows=dual.dualpipev,
        chunks=2,
        kinds=3,
        sizes_fault=_two_a_device,
        least=lambda devices: 2 * devices,
        enough=_four_a_device,
    ),
    "dualpipe": _Maker(
        rows=dual.dualpipe,
        kinds=3,
        sizes_fault=_two_ends,
        least=lambda devices: 2 * devices,
        enough=_four_a_device,
    ),
}
