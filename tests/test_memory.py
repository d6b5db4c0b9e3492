"""Model states against the ZeRO paper, where they sit, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk

ZERO = read("zero.json")
CASES = [(row, stage) for row in ZERO["rows"] for stage in (1, 2, 3)]


def half_a_digit(printed: float) -> float:
    decimals = len(str(printed).split(".")[1]) if "." in str(printed) else 0
    return 0.5 * 10.0**-decimals


@pytest.mark.parametrize(
    ("row", "stage"), CASES, ids=lambda one: str(one.get("dp")) if isinstance(one, dict) else None
)
def test_zero_table(row, stage):
    printed = row[f"stage{stage}_GB"]
    report = pk.memory(row["parameters"], pk.Plan(dp=row["dp"], zero=stage))
    slack = max(0.007 * printed, half_a_digit(printed))
    assert abs(report.peak.max() / 1e9 - printed) <= slack, ZERO["source"]


LLAMA = pk.Model.preset("llama-3-8b")


def test_llama_3_8b_on_one_device():
    report = pk.memory(LLAMA, pk.Plan())
    assert report.peak.tolist() == [16 * 8_030_261_248]
    assert report.bytes[0].tolist() == [2 * 8_030_261_248, 2 * 8_030_261_248, 12 * 8_030_261_248]
    assert report.categories == ("parameters", "gradients", "optimizer")
    assert report.left_out == ("activations",)
    assert not report.fits(80e9)
    assert report.fits(129e9)


@pytest.mark.parametrize(("zero", "gigabytes"), enumerate([128.5, 44.2, 30.1, 16.1]))
def test_llama_3_8b_over_eight_replicas(zero, gigabytes):
    assert round(pk.memory(LLAMA, pk.Plan(dp=8, zero=zero)).peak[0] / 1e9, 1) == gigabytes


def test_zero_with_one_replica_saves_nothing():
    for zero in range(4):
        assert pk.memory(LLAMA, pk.Plan(zero=zero)).peak.tolist() == pk.memory(LLAMA, pk.Plan()).peak.tolist()


@pytest.mark.parametrize(
    ("precision", "bytes_each"), [("mixed-16", 16), ("mixed-18", 18), ("fp32", 16), ("fp64", 32)]
)
def test_precision_recipes(precision, bytes_each):
    assert pk.memory(1000, pk.Plan(precision=precision)).peak[0] == bytes_each * 1000


def test_embedding_is_on_the_first_stage_and_norm_and_head_on_the_last():
    report = pk.memory(LLAMA, pk.Plan(pp=4))
    parameters = report.bytes[:, 0] / 2
    table = 128256 * 4096
    assert parameters[1] == parameters[2]
    assert parameters[0] - parameters[1] == table
    assert parameters[3] - parameters[1] == table + 4096


def test_a_tied_head_is_held_on_both_ends_of_a_pipeline():
    model = pk.Model.preset("llama-3.2-3b")
    table = 128256 * 3072
    assert pk.memory(model, pk.Plan()).bytes[0, 0] == 2 * model.parameters
    assert pk.memory(model, pk.Plan(pp=4)).bytes[:, 0].sum() == 2 * (model.parameters + table)


def test_uneven_stages_hold_their_own_layers():
    even = pk.memory(LLAMA, pk.Plan(pp=2)).bytes[:, 0]
    uneven = pk.memory(LLAMA, pk.Plan(pp=2, stage_layers=(15, 17))).bytes[:, 0]
    layer = 2 * sum(LLAMA.parameters_per_layer.values())
    np.testing.assert_array_equal(uneven - even, [-layer, layer])


@given(
    dp=st.sampled_from([1, 2, 3, 8, 64]),
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.sampled_from([1, 2, 4, 8]),
    precision=st.sampled_from(["mixed-16", "mixed-18", "fp32", "fp64"]),
)
def test_memory_never_grows_with_zero_or_tp(dp, tp, pp, precision):
    def peak(tp, zero):
        return pk.memory(LLAMA, pk.Plan(dp=dp, tp=tp, pp=pp, zero=zero, precision=precision)).peak

    for zero in range(3):
        assert (peak(tp, zero + 1) <= peak(tp, zero)).all()
    assert (peak(tp, 0) <= peak(1, 0)).all()
    sharded = pk.memory(LLAMA, pk.Plan(dp=dp, tp=tp, pp=pp, zero=3, precision=precision))
    np.testing.assert_allclose(sharded.peak * dp, peak(tp, 0), rtol=1e-12)


def test_the_limit_is_the_fullest_rank_and_its_largest_category():
    limit = pk.memory(LLAMA, pk.Plan(pp=4)).limit()
    assert (limit.stage, limit.category) == (3, "optimizer")
    assert str(limit) == "Stage D is the fullest with 36.3 GB; optimizer state takes the most, 27.2 GB"


def test_verdicts():
    report = pk.memory(LLAMA, pk.Plan(pp=4))
    assert report.verdict(80e9) == "Stage D is the fullest: 36.3 GB of 80 GB, before activations"
    assert report.verdict(30e9) == (
        "Stage D needs 36.3 GB, 6.3 GB more than the 30 GB of its device: optimizer state takes the most"
    )
    assert (
        report.verdict(80 * 2**30, "GiB") == "Stage D is the fullest: 33.8 GiB of 80 GiB, before activations"
    )


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "8B", float("nan"), float("inf"), 1e19])
def test_a_plain_count_must_be_a_count(count):
    with pytest.raises(
        ValueError, match=r"it must be a pk\.Model or a whole number of parameters from 1 to 1e18"
    ):
        pk.memory(count, pk.Plan())


@pytest.mark.parametrize("capacity", [0, -5, "80", float("nan"), float("inf"), True])
def test_a_capacity_must_be_positive(capacity):
    with pytest.raises(ValueError, match="it must be a positive number of bytes, such as 80e9"):
        pk.memory(1000, pk.Plan()).fits(capacity)


def test_an_impossible_plan_is_refused_with_every_sentence():
    with pytest.raises(pk.PlanError) as error:
        pk.memory(LLAMA, pk.Plan(tp=3, pp=3))
    assert str(error.value) == (
        "this plan cannot run:\n"
        "  - 32 layers do not divide into pp=3 stages of equal depth; choose pp from 1, 2, 4, 8, 16, 32, "
        "or give stage_layers=(11, 11, 10)\n"
        "  - 32 heads do not split over tp=3; choose tp from 1, 2, 4, 8, 16, 32\n"
        "  - mlp width 14336 does not split over tp=3: it must be a multiple"
    )
    assert len(error.value.problems) == 3
