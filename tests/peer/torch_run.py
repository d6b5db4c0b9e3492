"""Trains a small pipeline on two gloo ranks and writes each rank's profile of one step.

python torch_run.py ScheduleInterleaved1F1B CHUNKS MICROBATCHES FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

RANKS, ROWS, WIDTH = 2, 16, 64


def work(rank: int, name: str, chunks: int, microbatches: int, folder: str) -> None:
    """One rank: a step to warm up, a step under the profiler."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, schedules
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    kind = getattr(schedules, name)
    stages = RANKS * chunks
    loops = [rank + chunk * RANKS for chunk in range(chunks)]
    v_shaped = name in ("ScheduleZBVZeroBubble", "ScheduleDualPipeV")
    mine = [rank, stages - 1 - rank] if v_shaped else loops
    made = [
        PipelineStage(
            torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()),
            stage,
            stages,
            torch.device("cpu"),
        )
        for stage in mine
    ]
    several = issubclass(kind, schedules.PipelineScheduleMulti)
    pipeline = kind(made if several else made[0], microbatches, loss_fn=torch.nn.functional.mse_loss)
    inputs = torch.randn(microbatches * ROWS, WIDTH)
    target = torch.randn(microbatches * ROWS, WIDTH)

    def step() -> None:
        given = (inputs,) if 0 in mine else ()
        pipeline.step(*given, **({"target": target} if stages - 1 in mine else {}))

    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        step()
    profiled.export_chrome_trace(f"{folder}/rank{rank}.json")
    if several and rank == 0:
        pipeline._dump_csv(f"{folder}/rows.csv", "compute_comms")
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Start the ranks."""
    import torch.multiprocessing

    name, chunks, microbatches, folder = sys.argv[1:]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    arguments = (name, int(chunks), int(microbatches), str(Path(folder).resolve()))
    torch.multiprocessing.spawn(work, arguments, nprocs=RANKS)


if __name__ == "__main__":
    main()
