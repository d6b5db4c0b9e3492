"""Logs as people post them, and what is fitted to them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk
from parakit.measure import Measurements
from parakit.measure.fit import hops_of
from parakit.traffic import sent

LOGS = Path(__file__).resolve().parents[1] / "data" / "nccl"
HEAD = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"


def log(tmp_path, text, name="all_reduce.txt"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_ranks_follow_from_the_two_bandwidths():
    runs = pk.measure.read(LOGS / "all_reduce-16-ranks-no-rank-list.txt")
    assert set(runs.ranks.tolist()) == {16}
    assert set(runs.collective.tolist()) == {"all-reduce"}
    assert runs.bytes[:2].tolist() == [2097152, 2097152]
    assert runs.seconds[:2].tolist() == pytest.approx([156.7e-6, 135.7e-6])
    assert runs.in_place[:2].tolist() == [False, True]


def test_a_list_of_ranks_says_how_many():
    runs = pk.measure.read(LOGS / "all_reduce-72-ranks-tail-of-rank-list.txt")
    assert (set(runs.ranks.tolist()), len(runs.bytes)) == ({72}, 10)


def test_prefixes_and_a_cut_off_row_are_read():
    runs = pk.measure.read(LOGS / "all_reduce-mpirun-prefixed-truncated.txt", ranks=8)
    assert runs.bytes.tolist() == [8, 8, 16, 16, 32, 32]
    assert runs.warnings == ("line 7 is cut off: it is left out",)
    fitted = runs.fit()
    assert np.isnan(fitted.bandwidth)
    assert fitted.latency == pytest.approx(12.9e-6 / 14, rel=0.05)
    with pytest.raises(ValueError) as error:
        pk.Cluster.preset("a100-80gb").with_links(runs)
    assert str(error.value) == "these runs do not determine a bandwidth: measure larger sizes"


def test_an_old_release_needs_to_be_told_what_it_measured():
    path = LOGS / "old-format-no-redop-2-ranks.txt"
    with pytest.raises(ValueError) as error:
        pk.measure.read(path)
    assert str(error.value) == (
        "old-format-no-redop-2-ranks.txt does not say which collective it measured: give collective= one of "
        "all-reduce, all-gather, reduce-scatter, all-to-all, send"
    )
    with pytest.raises(ValueError) as error:
        pk.measure.read(path, collective="all-gather")
    assert str(error.value) == (
        "old-format-no-redop-2-ranks.txt does not tell how many devices took part: give ranks= their number, at "
        "least 2"
    )
    runs = pk.measure.read(path, collective="all-gather", ranks=2)
    assert runs.fit().bandwidth == pytest.approx(21.4e9, rel=0.1)
    # The log's own rate is half of size / time: 32,768 bytes are 4,096 floats of each of two ranks.
    assert runs.warnings[0].startswith("algbw is 0.50 × size / time: ")


def test_another_tool_is_refused_with_what_it_wrote():
    with pytest.raises(ValueError) as error:
        pk.measure.read(LOGS / "another-tool-not-nccl-tests.txt")
    assert str(error.value) == (
        "another-tool-not-nccl-tests.txt holds no table of nccl-tests: its rows would start with size, count and "
        "type, and its first line is 'Collective:             Alltoall'; post the output of all_reduce_perf or "
        "its relatives"
    )


def test_unreadable_fields_and_wrong_values(tmp_path):
    text = HEAD + (
        "        1024   256   float   sum   -1   20.0   0.05   0.09   0   N/A   N/A   N/A   N/A\n"
        "           0     0   float   sum   -1    1.0   0.00   0.00   0   1.0   0.00   0.00   0\n"
        "    67108864  16777216   float   sum   -1   900.0   74.57   130.49   3   901.0   74.48   130.35   0\n"
    )
    runs = pk.measure.read(log(tmp_path, text))
    assert runs.bytes.tolist() == [1024, 67108864, 67108864]
    assert runs.warnings == ("line 4 reports 3 wrong values: its times may mean nothing",)
    assert set(runs.ranks.tolist()) == {8}


def test_several_runs_in_one_file_keep_their_own_collective(tmp_path):
    row = "    67108864  16777216   float   {}   -1   {}   {}   {}   0\n"
    text = (
        "mpirun ./all_reduce_perf -b 64M\n"
        + HEAD
        + row.format("sum", "900.0", "74.57", "130.49")
        + "mpirun ./all_gather_perf -b 64M\n"
        + HEAD
        + row.format("none", "450.0", "149.13", "130.49")
    )
    runs = pk.measure.read(log(tmp_path, text, "both.txt"))
    assert list(zip(runs.collective.tolist(), runs.ranks.tolist(), strict=True)) == [
        ("all-reduce", 8),
        ("all-gather", 8),
    ]


@given(
    latency=st.floats(1e-6, 1e-4),
    bandwidth=st.floats(1e8, 1e12),
    ranks=st.sampled_from([2, 8, 64]),
    how=st.sampled_from(["all-reduce", "all-gather", "reduce-scatter", "send"]),
)
def test_a_fit_finds_the_link_that_made_the_times(latency, bandwidth, ranks, how):
    hops = hops_of(how, ranks)
    # From all latency to all bandwidth, whatever the link.
    turn = hops * latency * bandwidth
    sizes = np.array([turn * 10.0**power for power in range(-2, 4)])
    runs = Measurements(
        collective=np.full(6, how),
        ranks=np.full(6, ranks),
        bytes=sizes,
        seconds=np.array([hops * latency + sent(how, size, ranks) / bandwidth for size in sizes]),
        in_place=np.zeros(6, dtype=bool),
    )
    fitted = runs.fit()
    assert fitted.latency == pytest.approx(latency, rel=1e-6)
    assert fitted.bandwidth == pytest.approx(bandwidth, rel=1e-6)


def test_one_run_that_stands_out_hardly_counts():
    sizes = np.array([2.0**power for power in range(10, 30)])
    seconds = 14 * 5e-6 + 1.75 * sizes / 25e9
    seconds[7] *= 20
    runs = Measurements(
        collective=np.full(20, "all-reduce"),
        ranks=np.full(20, 8),
        bytes=sizes,
        seconds=seconds,
        in_place=np.zeros(20, dtype=bool),
    )
    assert runs.fit().latency == pytest.approx(5e-6, rel=0.02)
    assert runs.fit().bandwidth == pytest.approx(25e9, rel=0.02)


def test_large_sizes_alone_do_not_tell_a_latency():
    runs = pk.measure.read(LOGS / "old-format-no-redop-2-ranks.txt", collective="all-gather", ranks=2)
    large = runs.bytes >= 2**24
    some = Measurements(
        collective=runs.collective[large],
        ranks=runs.ranks[large],
        bytes=runs.bytes[large],
        seconds=runs.seconds[large],
        in_place=runs.in_place[large],
    )
    assert np.isnan(some.fit().latency)
    assert "latency is not determined" in some.fit().warnings[0]


def test_measured_links_replace_guesses_and_are_remembered():
    runs = pk.measure.read(LOGS / "all_reduce-16-ranks-no-rank-list.txt")
    cluster = pk.Cluster.preset("h100-sxm", devices=16).with_links(runs)
    assert cluster.measured == ("between",)
    assert cluster.between.rate * 8 == pytest.approx(runs.fit().bandwidth)
    plan = pk.Plan(dp=16, zero=1, batch=16)
    model = pk.Model.preset("llama-3-8b")
    before = pk.step_time(model, plan, pk.Cluster.preset("h100-sxm", devices=16), overlap=False)
    after = pk.step_time(model, plan, cluster, overlap=False)
    assert after.parts["data"] != before.parts["data"]
    assert after.parts["compute"] == before.parts["compute"]
