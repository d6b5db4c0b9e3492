"""`parakit plan`: the same answer as a table, as JSON whose fields stay, as CSV."""

import csv
import io
import json
from pathlib import Path

import pytest

from parakit.choose.export import FIELDS, PLAN_FIELDS
from parakit.cli import main

ARGUMENTS = (
    "plan",
    "gpt2",
    "--cluster",
    "a100-80gb",
    "--devices",
    "8",
    "--batch",
    "32",
    "--sequence",
    "1024",
)


def run(capsys, *arguments):
    try:
        status = main(list(arguments))
    except SystemExit as stopped:
        status = stopped.code
    out, err = capsys.readouterr()
    return status, out, err


def test_the_table_ranks_says_why_and_why_not(capsys, tmp_path):
    target = tmp_path / "choice.svg"
    status, out, err = run(capsys, *ARGUMENTS, "--top", "3", "-o", str(target))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "gpt2: 124,439,808 parameters on 8 devices (a100-80gb), batch 32 × 1,024 tokens"
    assert "plans judged" in lines[1]
    assert [line.split()[0] for line in lines[3:6]] == ["1", "2", "3"]
    assert "makes the difference" in out or "take equally long" in out
    assert "not: dp=" in out
    assert target.read_text().startswith("<svg")


def test_the_form_of_the_json_stays(capsys):
    status, out, _ = run(capsys, *ARGUMENTS, "--format", "json", "--top", "2")
    found = json.loads(out)
    assert status == 0
    assert list(found) == [
        "version",
        "model",
        "cluster",
        "judged",
        "timed",
        "ranked",
        "excluded",
        "least_changes",
    ]
    assert found["version"] == 1
    assert len(found["ranked"]) == 2
    assert tuple(found["ranked"][0]) == FIELDS
    assert tuple(found["excluded"][0]) == (*PLAN_FIELDS, "reason")
    kinds = {
        "place": int,
        "schedule": str,
        "stage_layers": (list, type(None)),
        "sequence_parallel": bool,
        "recompute": str,
        "step_seconds": float,
        "mfu": float,
        "peak_bytes": float,
    }
    for name, kind in kinds.items():
        assert isinstance(found["ranked"][0][name], kind)
    row = found["ranked"][0]
    parts = sum(
        row[name]
        for name in FIELDS
        if name.endswith("_seconds") and "hidden" not in name and name != "step_seconds"
    )
    assert parts == pytest.approx(row["step_seconds"], rel=1e-9)


def test_csv_has_the_same_fields_and_numbers(capsys):
    _, text, _ = run(capsys, *ARGUMENTS, "--format", "json", "--top", "2")
    _, lines, _ = run(capsys, *ARGUMENTS, "--format", "csv", "--top", "2")
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert tuple(rows[0]) == FIELDS
    for row, known in zip(rows, json.loads(text)["ranked"], strict=True):
        assert float(row["step_seconds"]) == known["step_seconds"]
        assert row["schedule"] == known["schedule"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("--devices", "0"), "parakit: devices is 0: it must be a whole number from 1 to 10,000,000\n"),
        (("--batch", "0"), "parakit: batch is 0: it must be a whole number from 1 to 1,000,000,000,000\n"),
        (("--dp", "8", "--batch", "4"), "parakit: batch 4 does not split over dp=8\n"),
        (("--top", "0"), "parakit: top is 0: it must be a whole number of at least 1\n"),
    ],
)
def test_impossible_requests_are_one_sentence(capsys, changed, said):
    assert run(capsys, *ARGUMENTS, *changed) == (2, "", said)


def test_ten_million_devices_are_one_sentence(capsys):
    status, out, err = run(capsys, *ARGUMENTS, "--devices", "10000000")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "over 10,000,000 devices" in err


def test_limits_are_lists(capsys):
    _, out, _ = run(capsys, *ARGUMENTS, "--tp", "1,2", "--pp", "1", "--zero", "1", "--format", "json")
    assert {(row["tp"], row["pp"]) for row in json.loads(out)["ranked"]} == {(1, 1), (2, 1)}
    status, _, err = run(capsys, *ARGUMENTS, "--tp", "1,x")
    assert status == 2
    assert "'1,x' is not a list of whole numbers, such as 1,2,4" in err


def test_a_measured_log_changes_the_links_and_is_said(capsys):
    log = Path(__file__).parent / "data" / "nccl" / "all_reduce-16-ranks-no-rank-list.txt"
    arguments = (
        "plan",
        "gpt2",
        "--cluster",
        "h100-sxm",
        "--devices",
        "16",
        "--batch",
        "32",
        "--format",
        "json",
    )
    status, out, err = run(capsys, *arguments, "--links", str(log))
    assert status == 0
    assert json.loads(out)["cluster"]["measured_links"] == ["between"]
    assert err.startswith("all_reduce-16-ranks-no-rank-list.txt: between nodes, latency 3.4 µs a hop")
    status, out, err = run(
        capsys, *arguments, "--links", str(log.with_name("another-tool-not-nccl-tests.txt"))
    )
    assert (status, out) == (2, "")
    assert "holds no table of nccl-tests" in err
