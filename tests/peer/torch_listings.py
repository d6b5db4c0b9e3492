"""What torch.distributed.pipelining lays out, asked of its own classes without a process group."""

from __future__ import annotations

from types import SimpleNamespace

CLASSES = {
    "looped-bfs": "ScheduleLoopedBFS",
    "interleaved-1f1b": "ScheduleInterleaved1F1B",
    "interleaved-zb": "ScheduleInterleavedZeroBubble",
    "zbv": "ScheduleZBVZeroBubble",
    "dualpipev": "ScheduleDualPipeV",
}


def listing(name: str, devices: int, microbatches: int, chunks: int) -> list[list]:
    """torch's actions, a list a rank, without its idle slots.

    Its schedules are made from live stages; what their listing reads of them is set here by hand.
    """
    from torch.distributed.pipelining import schedules  # torch is there only where it is asked for

    asked_of = getattr(schedules, CLASSES[name])
    rounds = max(1, microbatches // devices)
    rows = []
    for rank in range(devices):
        asked = SimpleNamespace(
            pp_group_size=devices,
            n_local_stages=chunks,
            _stages=[None] * chunks,
            num_stages=devices * chunks,
            _num_stages=devices * chunks,
            _n_microbatches=microbatches,
            microbatches_per_round=microbatches // rounds,
            number_of_rounds=rounds,
            rank=rank,
        )
        rows.append(asked_of._calculate_single_rank_operations(asked, rank))
    return [[action for action in row if action is not None] for row in rows]


def as_text(rows: list[list]) -> str:
    """As torch writes it."""
    return "\n".join(",".join(map(str, row)) for row in rows)
