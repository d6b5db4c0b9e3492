"""Against the installed torch: its listings, its reader and writer, and a real run of its pipeline.

Runs where torch is there; .ci/run makes an environment with it.
"""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

import parakit as pk

torch = pytest.importorskip("torch")

from peer.torch_listings import CLASSES, as_text, listing  # noqa: E402  # it needs torch

SIZES = [(devices, microbatches) for devices in range(1, 9) for microbatches in range(1, 25)]


@pytest.mark.parametrize("name", CLASSES)
def test_every_listing_up_to_8_by_24_is_torch_s(name):
    compared = 0
    for devices, microbatches in SIZES:
        for chunks in (2,) if name in ("zbv", "dualpipev") else (1, 2, 3, 4):
            plan = pk.Plan(schedule=name, pp=devices, batch=microbatches, chunks=chunks)
            if plan.problems():  # torch refuses these too, when its schedule is made
                continue
            ours = pk.schedule(name, devices=devices, microbatches=microbatches, chunks=chunks)
            assert ours.to_text() == as_text(listing(name, devices, microbatches, chunks))
            compared += 1
    assert (
        compared
        == {
            "looped-bfs": 768,
            "interleaved-1f1b": 548,
            "interleaved-zb": 548,
            "zbv": 192,
            "dualpipev": 128,
        }[name]
    )


@pytest.mark.parametrize("name", pk.schedules())
def test_torch_reads_our_text_finds_it_valid_and_writes_it_back(name, tmp_path):
    from torch.distributed.pipelining import schedules

    order = pk.schedule(name, devices=4, microbatches=8)
    rows = [
        [schedules._Action.from_str(cell) for cell in row.split(",")] for row in order.to_text().split("\n")
    ]
    actions = dict(enumerate(rows))
    if name != "dualpipe":  # torch knows no stage that is on two ranks
        ranks = schedules._validate_schedule(actions, order.devices, order.stages, order.microbatches)
        device = {int(s): int(d) for s, d in zip(order.stage, order.device, strict=True)}
        assert {stage: ranks[stage] for stage in device} == device
    path = tmp_path / "order.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            writer.writerow(row)
    assert pk.Schedule.from_text(path.read_text()).to_text() == order.to_text()


@pytest.mark.parametrize("name", [name for name in pk.schedules() if name != "dualpipe"])
def test_what_torch_adds_to_communicate_is_kept_and_has_no_deadlock_of_order(name):
    from torch.distributed.pipelining import schedules

    order = pk.schedule(name, devices=4, microbatches=8)
    rows = [
        [schedules._Action.from_str(cell) for cell in row.split(",")] for row in order.to_text().split("\n")
    ]
    device = {int(s): int(d) for s, d in zip(order.stage, order.device, strict=True)}
    lowered = {rank: schedules._add_unshard_reshard(row) for rank, row in enumerate(rows)}
    lowered = {rank: schedules._add_reduce_grad(row, order.microbatches) for rank, row in lowered.items()}
    lowered = schedules._add_send_recv(lowered, device.__getitem__, order.stages)
    text = as_text([lowered[rank] for rank in sorted(lowered)])
    kept = pk.Schedule.from_text(text)
    assert kept.to_text() == text
    assert kept.to_text(moves=False) == order.to_text()
    assert kept.problems() == ()
    # Its sends are there, its receives too, and each beside what it is for.
    assert not [one for one in kept.problems("blocking") if "cell" in one.reason or "stands" in one.reason]


@pytest.mark.parametrize(
    ("torch_name", "name", "chunks"),
    [
        ("ScheduleInterleaved1F1B", "interleaved-1f1b", 2),
        ("ScheduleDualPipeV", "dualpipev", 2),
        ("ScheduleGPipe", "gpipe", 1),
    ],
)
def test_a_real_run_is_read_from_its_profiles(torch_name, name, chunks, tmp_path):
    script = Path(__file__).parent / "torch_run.py"
    made = subprocess.run(
        [sys.executable, str(script), torch_name, str(chunks), "4", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    timeline = pk.read_trace(sorted(tmp_path.glob("rank*.json")))
    order = pk.schedule(name, devices=2, microbatches=4)
    assert timeline.schedule.to_text() == order.to_text()
    assert timeline.span > 0
    assert pk.draw.grid(timeline).svg.startswith("<svg")
    rows = tmp_path / "rows.csv"
    if rows.exists():
        assert pk.Schedule.from_text(rows.read_text(), moves=False).to_text() == order.to_text()
