"""Model states against the ZeRO paper, where they sit, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.plan import Precision
from parakit.weights import first_weights, last_weights, layer_weights

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


def states(model=LLAMA, **plan):
    """Bytes of model states, (pp, 3)."""
    return pk.memory(model, pk.Plan(**plan), activations=False)


def test_llama_3_8b_on_one_device():
    report = states()
    assert report.peak.tolist() == [16 * 8_030_261_248]
    assert report.bytes[0].tolist() == [2 * 8_030_261_248, 2 * 8_030_261_248, 12 * 8_030_261_248]
    assert report.categories == ("parameters", "gradients", "optimizer")
    assert report.left_out == ("activations",)
    assert report.activations == ()
    assert not report.fits(80e9)
    assert report.fits(129e9)


@pytest.mark.parametrize(("zero", "gigabytes"), enumerate([128.5, 44.2, 30.1, 16.1]))
def test_llama_3_8b_over_eight_replicas(zero, gigabytes):
    assert round(states(dp=8, zero=zero).peak[0] / 1e9, 1) == gigabytes


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


PLANS = {
    "dp": st.sampled_from([1, 2, 3, 8, 64]),
    "tp": st.sampled_from([1, 2, 4, 8]),
    "pp": st.sampled_from([1, 2, 4, 8]),
    "precision": st.sampled_from(list(Precision)),
}


@given(**PLANS)
def test_the_fullest_rank_never_grows_with_zero_or_tp(dp, tp, pp, precision):
    def peak(tp, zero):
        return states(dp=dp, tp=tp, pp=pp, zero=zero, precision=precision).peak

    for zero in range(3):
        assert (peak(tp, zero + 1) <= peak(tp, zero)).all()
    assert (peak(tp, 0) <= peak(1, 0)).all()
    np.testing.assert_allclose(peak(tp, 3) * dp, peak(tp, 0), rtol=1e-12)


MODELS = ["llama-3-8b", "llama-3.2-3b", "gpt2", "megatron-22b", "mixtral-8x7b", "deepseek-v2-lite"]


@given(
    name=st.sampled_from(MODELS),
    dp=st.sampled_from([1, 2, 4, 8]),
    tp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2, 3, 4, 9]),
    ep=st.sampled_from([1, 2, 4]),
    zero=st.integers(0, 3),
    chunks=st.sampled_from([1, 2]),
)
def test_parameters_over_all_devices_are_the_model_s_times_their_replication(
    name, dp, tp, pp, ep, zero, chunks
):
    model = pk.Model.preset(name)
    schedule = "1f1b" if chunks == 1 else "interleaved-1f1b"
    plan = pk.Plan(dp=dp, tp=tp, pp=pp, ep=ep, zero=zero, schedule=schedule)
    if plan.problems(model):
        return
    report = pk.memory(model, plan, activations=False)
    held = report.bytes[:, 0].sum() / 2 * dp * tp  # every data and tensor rank holds as much
    # Counted another way: weight by weight, how many devices hold how large a part.
    expected = 0.0
    sparse = len(model.sparse_layers)
    groups = [(first_weights(model), 1), (last_weights(model), 1)]
    groups += [(layer_weights(model, sparse=False), model.layers - sparse)]
    groups += [(layer_weights(model, sparse=True), sparse)]
    for weights, times in groups:
        for one in weights:
            if one.name == "head" and model.tied and pp == 1:
                continue
            copies = tp if one.axis is None else tp * max(1, 1 / one.pieces)
            size = one.held() if one.axis is None else one.held(tp=tp) * tp
            replicas = dp // ep if one.experts else dp
            expected += times * (size * copies if one.axis is None else size) * (1 if zero == 3 else replicas)
    np.testing.assert_allclose(held, expected, rtol=1e-12)


def test_experts_are_spread_over_ep_and_the_rest_is_not():
    model = pk.Model.preset("mixtral-8x7b")
    experts = 32 * 8 * 3 * 4096 * 14336
    rest = model.parameters - experts
    for ep in (1, 2, 4, 8):
        plain = pk.memory(model, pk.Plan(dp=8, ep=ep), activations=False).bytes[0]
        assert plain.tolist() == [
            2 * (rest + experts / ep),
            2 * (rest + experts / ep),
            12 * (rest + experts / ep),
        ]
        sharded = pk.memory(model, pk.Plan(dp=8, ep=ep, zero=3), activations=False).bytes[0]
        np.testing.assert_allclose(sharded, np.array([2, 2, 12]) * model.parameters / 8)


def test_adafactor_keeps_row_and_column_sums():
    model = pk.Model(layers=1, hidden=8, heads=2, bias=False, norm="plain")
    report = pk.memory(model, pk.Plan(precision="adafactor"), activations=False)
    sums = 4 * (8 + 8) + 2 * (8 + 32)  # query, key, value, output; up, down
    assert report.bytes[0].tolist() == [2 * 768, 2 * 768, 4 * 768 + 4 * sums]


def test_only_what_is_trained_has_gradients_and_optimizer_state():
    report = pk.memory(1_000_000, pk.Plan(trainable=0.01))
    assert report.bytes[0].tolist() == [2_000_000, 20_000, 120_000]


def test_what_zero_3_gathers_is_a_category_of_its_own():
    # DeepSpeed's calculator for ZeRO 3 prints 29.0 GiB for these numbers.
    plan = pk.Plan(dp=4, zero=3, precision="mixed-18")
    report = pk.memory(6_805_000_000, plan, gathered=4, largest_layer=131_000_000)
    assert report.categories[-1] == "gathered"
    assert round(report.peak[0] / 2**30, 1) == 29.0
    assert "gathered" not in pk.memory(LLAMA, pk.Plan(dp=4, zero=2), gathered=4).categories
    assert "gathered" not in pk.memory(LLAMA, pk.Plan(dp=1, zero=3), gathered=4).categories
    of_a_model = pk.memory(LLAMA, pk.Plan(dp=4, zero=3), gathered=4)
    assert of_a_model.bytes[0, -1] == 4 * 128256 * 4096  # the embedding


def test_the_limit_is_the_fullest_rank_and_its_largest_category():
    limit = states(pp=4).limit()
    assert (limit.stage, limit.category) == (3, "optimizer")
    assert str(limit) == "Stage D is the fullest with 36.3 GB; optimizer state takes the most, 27.2 GB"


def test_verdicts_state_what_is_usable_and_what_is_in_reserve():
    report = states(pp=4)
    assert (
        report.verdict(80e9)
        == "Stage D is the fullest: 36.3 GB of 80 GB (none in reserve), before activations"
    )
    assert report.verdict(30e9, reserve=2e9) == (
        "Stage D needs 36.3 GB, 8.3 GB more than the 28 GB (30 GB less 2 GB in reserve) of its device: "
        "optimizer state takes the most"
    )
    assert pk.memory(LLAMA, pk.Plan(pp=4)).verdict(80 * 2**30, "GiB") == (
        "Stage A is the fullest: 42.3 GiB of 80 GiB (none in reserve)"
    )


def test_the_reserve_is_not_filled():
    report = pk.memory(1_000_000_000, pk.Plan())
    assert report.fits(16e9)
    assert not report.fits(16e9, reserve=1)

    class Cluster:
        memory = 20e9
        reserve = 4.1e9

    assert not report.fits(Cluster())
    assert report.verdict(Cluster()).startswith(
        "Stage A needs 16.0 GB, 0.10 GB more than the 15.9 GB (20 GB less 4.1 GB"
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


@pytest.mark.parametrize("reserve", [-1, 80e9, "1", float("nan"), True])
def test_a_reserve_must_leave_something(reserve):
    with pytest.raises(
        ValueError, match="it must be a number of bytes from 0 up to less than the capacity, 8e"
    ):
        pk.memory(1000, pk.Plan()).fits(80e9, reserve=reserve)


REFUSED = [
    (
        dict(plan=pk.Plan(precision="adafactor")),
        "adafactor keeps sums of rows and columns: it needs the shapes of a pk.Model, not a plain number",
    ),
    (
        dict(plan=pk.Plan(dp=2, zero=3), gathered=4),
        "gathered=4 counts the largest layer, which a plain number of parameters does not tell: give largest_layer= its parameters",
    ),
    (dict(gathered=-1), "gathered is -1: it must be a number of bytes a parameter from 0 to 64"),
]


@pytest.mark.parametrize(("arguments", "text"), REFUSED, ids=[text[:20] for _, text in REFUSED])
def test_what_a_plain_number_cannot_tell_is_said(arguments, text):
    with pytest.raises(ValueError) as error:
        pk.memory(1000, **{"plan": pk.Plan(), **arguments})
    assert str(error.value) == text


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


def test_dualpipe_holds_every_stage_twice_and_one_microbatch_more_than_1f1b():
    model = pk.Model(layers=8, hidden=64, heads=4)
    reports = {
        name: pk.memory(model, pk.Plan(pp=4, batch=16, schedule=name)) for name in ("1f1b", "dualpipe")
    }
    once, twice = (report.bytes[:, 0] for report in reports.values())
    assert twice.tolist() == [once[0] + once[3], once[1] + once[2], once[1] + once[2], once[0] + once[3]]
    assert reports["dualpipe"].in_flight.max() == 5
    assert reports["1f1b"].in_flight.max() == 4
    assert reports["dualpipe"].limit().name == "Device 1"
