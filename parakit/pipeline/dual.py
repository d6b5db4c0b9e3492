"""Schedules that overlap a forward with a backward going the other way: dualpipev, dualpipe."""

from __future__ import annotations

import numpy as np

from parakit.pipeline.order import Kind
from parakit.pipeline.rows import Row

_F, _B, _I, _W = Kind.F, Kind.B, Kind.I, Kind.W


def dualpipev(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """Two stages a device, laid out as a V; forwards of one overlap backwards of the other.

    Source: DualPipe cut in half (Qi et al. 2025, Sea AI Lab), as torch.distributed.pipelining
    lays it out.
    """
    rows = []
    for device in range(devices):
        first, last = device, 2 * devices - 1 - device
        rows.append(_half(devices, device, microbatches, stages=(first, last), starts=(0, 0)))
    return rows


def dualpipe(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """Half of the microbatches enter at each end, so that each device has two stages and each stage two devices.

    Microbatches of the first half enter at device 0, those of the second at the last device.

    Source: DeepSeek-AI 2024, DeepSeek-V3 technical report, section 3.2.1, figure 5.
    """
    each = microbatches // 2
    rows = []
    for device in range(devices):
        down, up = (device, 0), (devices - 1 - device, each)  # stage and first microbatch each way
        near, far = (down, up) if device < devices // 2 else (up, down)
        rows.append(
            _half(
                devices // 2,
                min(device, devices - 1 - device),
                each,
                stages=(near[0], far[0]),
                starts=(near[1], far[1]),
            )
        )
    return rows


def _half(
    devices: int, device: int, microbatches: int, *, stages: tuple[int, int], starts: tuple[int, int]
) -> Row:
    """One device's order: pass 0 goes away from the end where it entered, pass 1 comes back to it.

    Args:
        devices: from the end where pass 0 enters to the one where it turns.
        device: among these.
        microbatches: of each pass.
        stages: of pass 0 and of pass 1.
        starts: number of the first microbatch of each.
    """
    after, here = devices - 1 - device, device + 1
    main = microbatches - 2 * devices + here
    parts: list[tuple[list[tuple[int, Kind, bool]], int]] = [
        ([_f(0)], 2 * after),
        ([_f(0), _f(1)], here),
        ([_i(1), _w(), _f(1)], after),
    ]
    if device == devices - 1 and main:
        # The device where the passes turn does not overlap its first two: the bubble is smaller so.
        parts += [([_f(0), _b(1), _f(1, pair=True), _b(0)], 1)]
        main -= 1
    parts += [
        ([_f(0, pair=True), _b(1), _f(1, pair=True), _b(0)], main),
        ([_b(1), _f(1, pair=True), _b(0)], after),
        ([_b(1), _b(0)], here // 2),
        ([_i(1) if device % 2 else _b(1), _i(0)], 1),  # from here on W is put off
        ([_i(1), _i(0)], here - here // 2 - 1),
        ([_w(), _i(0)], after),
        ([_w()], here),
    ]
    flat = [one for part, times in parts for one in part * times]
    return _numbered(flat, stages, starts)


def _f(way: int, pair: bool = False) -> tuple[int, Kind, bool]:
    return way, _F, pair


def _b(way: int) -> tuple[int, Kind, bool]:
    return way, _B, False


def _i(way: int) -> tuple[int, Kind, bool]:
    return way, _I, False


def _w() -> tuple[int, Kind, bool]:
    return 0, _W, False  # of the oldest I whose W is still to come, whichever way that went


def _numbered(flat: list[tuple[int, Kind, bool]], stages: tuple[int, int], starts: tuple[int, int]) -> Row:
    """Stages and microbatches: each pass counts on by itself; W takes those of the I in their order."""
    way, kind, pair = (np.array(column) for column in zip(*flat, strict=True))
    stage = np.array(stages)[way]
    microbatch = np.empty(len(flat), dtype=np.int32)
    for one in (0, 1):
        for these in (kind == _F, (kind == _B) | (kind == _I)):
            chosen = these & (way == one)
            microbatch[chosen] = starts[one] + np.arange(chosen.sum())
    later, weight = kind == _I, kind == _W
    stage[weight], microbatch[weight] = stage[later], microbatch[later]
    return Row(
        stage=stage.astype(np.int32),
        kind=kind.astype(np.uint8),
        microbatch=microbatch,
        pairs=np.flatnonzero(pair),
    )
