"""Schedules that split backward in two: zb-h1, zb-h2, interleaved-zb, zbv.

Nobody waits for W, so it can stand where a device would otherwise be idle.
"""

from __future__ import annotations

import numpy as np

from parakit.pipeline.order import Kind
from parakit.pipeline.rows import Row, alternating_split, round_size, rounds

_F, _I, _W = Kind.F, Kind.I, Kind.W


def zb_h1(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """1f1b with its W put off, on device d by d turns, so that no device holds more than the first.

    Source: Qi et al. 2023, Zero Bubble Pipeline Parallelism, section 2.1.
    """
    order = np.arange(microbatches, dtype=np.int32)
    return [
        _plain(d, order, ahead=min(devices - d, microbatches), delay=min(d, microbatches))
        for d in range(devices)
    ]


def zb_h2(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """More forwards before the first backward, and W put off further: about twice as much is held.

    Source: Qi et al. 2023, section 2.2.
    """
    order = np.arange(microbatches, dtype=np.int32)
    return [
        _plain(
            d,
            order,
            ahead=min(2 * (devices - d) - 1, microbatches),
            delay=min(2 * d, microbatches),
        )
        for d in range(devices)
    ]


def _plain(device: int, order: np.ndarray, *, ahead: int, delay: int) -> Row:
    kind = alternating_split(len(order), ahead, delay)
    return Row.of(kind, (device, order), (device, order))


def interleaved_zb(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """zb-h1 over several stages a device, which take a round of microbatches in turns.

    Source: Qi et al. 2023 (ZB1P), over the stages of Narayanan et al. 2021, as
    torch.distributed.pipelining lays it out.
    """
    size, work = round_size(devices, microbatches), microbatches * chunks
    forward, backward = rounds(devices, microbatches, chunks)
    rows = []
    for device in range(devices):
        ahead = min((chunks - 1) * size + devices - device, work)
        kind = alternating_split(work, ahead, min(device, work))
        rows.append(Row.of(kind, (forward[0] + device, forward[1]), (backward[0] + device, backward[1])))
    return rows


def zbv(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """Two stages a device, laid out as a V: device 0 has the first stage and the last.

    It is made for at least 2·devices - 1 microbatches; of fewer, those that are not there are
    left out.

    Source: Qi et al. 2023, section 6, as torch.distributed.pipelining lays it out.
    """
    made = max(2 * devices - 1, microbatches)
    rows = []
    for device in range(devices):
        after = devices - device
        later = made - (2 * devices - device - 1)  # turns that still bring in a new microbatch
        parts = [
            ([(0, _F)], 2 * after - 1),
            ([(1, _F), (0, _F)], device),
            ([(1, _F), (1, _I), (1, _W)], after),
            ([(0, _F), (0, _I), (0, _W), (1, _F), (1, _I), (1, _W)], later),
            ([(0, _I), (0, _W), (1, _F), (1, _I), (1, _W)], made - devices - later),
            ([(0, _I), (1, _I)], device),
            ([(0, _I), (0, _W)], after),
            ([(1, _W)], device),
            ([(0, _W)], device),
        ]
        code = np.concatenate(
            [np.tile([2 * int(kind) + place for place, kind in part], times) for part, times in parts]
        ).astype(np.int64)
        kind = (code // 2).astype(np.uint8)
        stage = np.where(code % 2, 2 * devices - 1 - device, device).astype(np.int32)
        microbatch = np.empty(len(code), dtype=np.int32)
        for one in np.unique(code):
            chosen = code == one
            microbatch[chosen] = np.arange(chosen.sum())
        there = microbatch < microbatches
        rows.append(Row(stage=stage[there], kind=kind[there], microbatch=microbatch[there]))
    return rows
