"""Clusters and links: presets of real machines, and what is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk

A100 = pk.Cluster.preset("a100-80gb")


@pytest.mark.parametrize("name", pk.Cluster.presets())
def test_every_preset_is_physical_and_says_where_it_is_from(name):
    cluster = pk.Cluster.preset(name, devices=32)
    assert cluster.devices == 32
    assert cluster.source
    for link in (cluster.inside, cluster.between):
        assert link.source
        assert link.rate <= link.bandwidth
    assert cluster.between.rate <= cluster.inside.rate
    assert cluster.usable < cluster.memory
    assert cluster.measured == ()
    assert 0 < cluster.efficiency.matmul < 1
    assert pk.step_time(pk.Model(layers=2, hidden=64, heads=4), pk.Plan(dp=2), cluster).total > 0


def test_the_names_of_the_contract_are_there():
    named = "v100-32gb a100-40gb a100-80gb h100-sxm h200 b200 tpu-v4 tpu-v5p laptop lab-1gbe lab-10gbe"
    assert set(named.split()) <= set(pk.Cluster.presets())


def test_an_80_gb_device_has_80_gib():
    assert A100.memory == 80 * 2**30
    assert A100.rate(2) == 312e12
    assert (A100.inside.bandwidth, A100.between.bandwidth) == (300e9, 25e9)


def test_a_matrix_product_reaches_less_the_smaller_it_is():
    shares = [A100.matmul_fraction(n, n, n) for n in (64, 256, 1024, 4096, 16384)]
    assert shares == sorted(shares)
    assert shares[-1] < A100.efficiency.matmul
    # Tensor ranks cut a matrix into slices, microbatches its rows.
    assert A100.matmul_fraction(2048, 12288, 49152 // 8) < A100.matmul_fraction(2048, 12288, 49152)
    assert A100.matmul_fraction(256, 12288, 49152) < A100.matmul_fraction(2048, 12288, 49152)


@given(
    rows=st.integers(1, 10**6),
    inner=st.integers(1, 10**6),
    columns=st.integers(1, 10**6),
    element=st.sampled_from([2, 4, 8]),
)
def test_no_product_is_faster_than_published(rows, inner, columns, element):
    assert 0 < A100.matmul_fraction(rows, inner, columns, element) <= A100.efficiency.matmul


def test_a_link_takes_its_latency_and_its_bytes():
    link = pk.Link(latency=5e-6, bandwidth=25e9, fraction=0.8)
    assert link.rate == 20e9
    assert link.seconds(20e9, hops=10) == pytest.approx(1 + 50e-6)


def test_links_given_as_measured_are_remembered():
    mine = pk.Link(latency=3e-6, bandwidth=20e9)
    cluster = A100.with_links(between=mine)
    assert cluster.measured == ("between",)
    assert (cluster.between.rate, cluster.between.source) == (20e9, "given as measured")
    assert cluster.inside == A100.inside
    assert cluster.with_links(inside=mine).measured == ("inside", "between")


def cluster(**changes):
    return pk.Cluster(
        **{
            "devices": 8,
            "memory": 80e9,
            "flops": 312e12,
            "memory_bandwidth": 2e12,
            "inside": A100.inside,
            "between": A100.between,
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"devices": 0}, "devices is 0: it must be a whole number from 1 to 10,000,000"),
        (
            {"devices_per_node": 2.5},
            "devices_per_node is 2.5: it must be a whole number from 1 to 10,000,000",
        ),
        ({"memory": -1}, "memory is -1: it must be a positive number, such as 80e9"),
        (
            {"reserve": 90e9},
            "reserve is 90000000000.0: it must be a number of bytes from 0 up to less than the memory, 8e+10",
        ),
        (
            {"flops": {"fp64": 0}},
            "flops is 0 for fp64: it must be a positive number of FLOP/s, such as 312e12",
        ),
        ({"flops": {}}, "flops is empty: give at least {'16-bit': FLOP/s}"),
        ({"inside": 300e9}, "inside is 300000000000.0: it must be a pk.Link(…)"),
    ],
)
def test_impossible_clusters_are_refused(changes, said):
    with pytest.raises(ValueError) as error:
        cluster(**changes)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"latency": -1, "bandwidth": 1e9},
            "latency is -1: it must be a finite number of seconds of at least 0, such as 5e-6",
        ),
        (
            {"latency": 0, "bandwidth": 0},
            "bandwidth is 0: it must be a positive number of bytes/s, such as 25e9 for a link of 200 Gbit/s",
        ),
        (
            {"latency": 0, "bandwidth": 1e9, "fraction": 1.5},
            "fraction is 1.5: it must be a share above 0 and up to 1",
        ),
    ],
)
def test_impossible_links_are_refused(given, said):
    with pytest.raises(ValueError) as error:
        pk.Link(**given)
    assert str(error.value) == said


def test_shares_above_the_published_are_refused():
    with pytest.raises(ValueError) as error:
        pk.Efficiency(memory=1.2)
    assert str(error.value) == "memory is 1.2: it must be a share of the published rate above 0 and up to 1"


def test_unknown_presets_and_precisions_are_named():
    with pytest.raises(
        ValueError, match="there is no cluster preset 'a100': did you mean 'a100-80gb' or 'a100-40gb'"
    ):
        pk.Cluster.preset("a100")
    with pytest.raises(ValueError) as error:
        cluster(flops={"8-bit": 1e15})
    assert (
        str(error.value)
        == "there is no precision of flops '8-bit': did you mean '16-bit'? Known: 16-bit, fp32, fp64"
    )


def test_nothing_measured_is_refused():
    with pytest.raises(ValueError) as error:
        A100.with_links()
    assert str(error.value) == "with_links was given nothing: give measurements, inside= or between="
    with pytest.raises(ValueError) as error:
        A100.with_links(between=25e9)
    assert str(error.value) == (
        "between is 25000000000.0: it must be measured runs (pk.measure.read) or a pk.Link(…)"
    )


def test_a_cluster_is_compared_by_its_numbers():
    assert cluster() == replace(cluster(), name="mine")
    assert hash(cluster()) == hash(cluster())
    assert cluster(devices=16) != cluster()
