"""Schedules whose backward is one action: gpipe, 1f1b, interleaved-1f1b, looped-bfs."""

from __future__ import annotations

import numpy as np

from parakit.pipeline.order import Kind
from parakit.pipeline.rows import Row, alternating, kinds, round_size, rounds


def gpipe(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """All forwards, then all backwards.

    Source: Huang et al. 2019, GPipe, section 2.3.
    """
    order = np.arange(microbatches, dtype=np.int32)
    kind = kinds(([Kind.F], microbatches), ([Kind.B], microbatches))
    return [Row.of(kind, (d, order), (d, order)) for d in range(devices)]


def one_forward_one_backward(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """As many forwards as there are devices from here on, then one backward, one forward in turns.

    Source: Harlap et al. 2018, PipeDream; with a flush: Narayanan et al. 2021, section 2.2.1.
    """
    order = np.arange(microbatches, dtype=np.int32)
    return [
        Row.of(
            alternating(microbatches, min(devices - d, microbatches)),
            (d, order),
            (d, order),
        )
        for d in range(devices)
    ]


def interleaved(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """1f1b over several stages a device, which take a round of microbatches in turns.

    Source: Narayanan et al. 2021, section 2.2.2.
    """
    size, work = round_size(devices, microbatches), microbatches * chunks
    forward, backward = rounds(devices, microbatches, chunks)
    rows = []
    for device in range(devices):
        ahead = min((chunks - 1) * size + 2 * (devices - 1 - device) + 1, work)
        rows.append(
            Row.of(
                alternating(work, ahead),
                (forward[0] + device, forward[1]),
                (backward[0] + device, backward[1]),
            )
        )
    return rows


def looped_breadth_first(devices: int, microbatches: int, chunks: int) -> list[Row]:
    """All microbatches through a device's first stage, then through its second, …; then back.

    Source: Lamy-Poirier 2022, Breadth-First Pipeline Parallelism, section 4.
    """
    order = np.arange(microbatches, dtype=np.int32)
    work = microbatches * chunks
    kind = kinds(([Kind.F], work), ([Kind.B], work))
    chunk = np.repeat(np.arange(chunks, dtype=np.int32), microbatches)
    return [
        Row.of(
            kind,
            (chunk * devices + d, np.tile(order, chunks)),
            (chunk[::-1] * devices + d, np.tile(order[::-1], chunks)),
        )
        for d in range(devices)
    ]
