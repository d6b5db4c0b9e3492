"""Plans: what they add up to, and every fault at once."""

import numpy as np
import pytest

import parakit as pk

LLAMA = pk.Model.preset("llama-2-13b")  # 40 layers, 40 heads


def test_ranks_have_tensor_ranks_as_neighbours_and_pipeline_outermost():
    plan = pk.Plan(dp=2, tp=2, pp=2)
    assert plan.devices == 8
    np.testing.assert_array_equal(plan.ranks, [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])


def test_batch_none_means_one_microbatch_a_stage():
    assert pk.Plan(dp=4, pp=3).microbatches == 3
    assert pk.Plan(dp=4, pp=3, microbatch=2, batch=64).microbatches == 8


FAULTS = [
    (dict(dp=0), ("dp is 0: it must be a whole number from 1 to 1,000,000",)),
    (dict(tp=2.5), ("tp is 2.5: it must be a whole number from 1 to 1,000,000",)),
    (dict(zero=4), ("zero is 4: it must be a whole number from 0 to 3 (0 shards nothing, 3 everything)",)),
    (
        dict(schedule="1fb1"),
        (
            "there is no schedule '1fb1': did you mean '1f1b'? Known: gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, interleaved-zb, zbv, dualpipev, dualpipe",
        ),
    ),
    (dict(chunks=2), ("chunks is 2: 1f1b has 1 stage a device, so give chunks=1 or None",)),
    (
        dict(precision="fp8"),
        (
            "there is no precision 'fp8': did you mean 'fp64' or 'fp32'? Known: mixed-16, mixed-18, fp32, fp64, adam-8bit, "
            "sgd-momentum, adafactor",
        ),
    ),
    (
        dict(dp=8, microbatch=2, batch=100),
        (
            "batch 100 does not split over dp=8: batch must be a multiple of dp × microbatch = 16 "
            "(nearest: 96 or 112)",
        ),
    ),
    (dict(trainable=0), ("trainable is 0: it must be a share above 0 and up to 1",)),
    (dict(trainable=1.5), ("trainable is 1.5: it must be a share above 0 and up to 1",)),
    (
        dict(schedule="interleaved-1f1b", chunks=0),
        ("chunks is 0: it must be a whole number from 1 to 1,000, or None for 2",),
    ),
    (
        dict(schedule="interleaved-1f1b", pp=4, batch=13),
        (
            "13 microbatches do not divide into 3 rounds of equal size on 4 devices: interleaved-1f1b needs that "
            "(nearest: 12 or 15)",
        ),
    ),
    (
        dict(schedule="interleaved-1f1b", pp=2, chunks=3, stage_layers=(20, 20)),
        ("stage_layers has 2 entries: pp × chunks = 2 × 3 = 6 needs 6, one a stage",),
    ),
    (dict(dp=3, ep=2), ("ep=2 does not divide dp=3: experts are spread over the data-parallel replicas",)),
    (dict(stage_layers=(20, 20)), ("stage_layers has 2 entries: pp=1 needs 1, one a stage",)),
    (dict(stage_layers="20,20"), ("stage_layers is '20,20': it must be a tuple of layer counts, or None",)),
    (
        dict(dp="x", zero=-1, recompute="some"),
        (
            "dp is 'x': it must be a whole number from 1 to 1,000,000",
            "zero is -1: it must be a whole number from 0 to 3 (0 shards nothing, 3 everything)",
            "there is no recompute 'some': did you mean 'none'? Known: none, selective, full",
        ),
    ),
]


@pytest.mark.parametrize(("arguments", "sentences"), FAULTS, ids=[str(one) for one, _ in FAULTS])
def test_faults_are_sentences_and_making_a_plan_never_raises(arguments, sentences):
    assert pk.Plan(**arguments).problems() == sentences


WITH_MODEL = [
    (
        dict(pp=3),
        "40 layers do not divide into pp=3 stages of equal depth; choose pp from 1, 2, 4, 5, 8, 10, 20, 40, "
        "or give stage_layers=(14, 13, 13)",
    ),
    (dict(pp=41), "pp=41 is more stages than the model has layers: choose pp up to 40"),
    (
        dict(pp=4, schedule="interleaved-1f1b", chunks=3),
        "40 layers do not divide into pp × chunks = 4 × 3 = 12 stages of equal depth; "
        "give stage_layers=(4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3)",
    ),
    (
        dict(pp=40, schedule="interleaved-1f1b"),
        "pp × chunks = 40 × 2 = 80 is more stages than the model has layers: choose pp up to 20",
    ),
    (dict(tp=3), "40 heads do not split over tp=3; choose tp from 1, 2, 4, 5, 8, 10, 20, 40"),
    (dict(pp=2, stage_layers=(20, 19)), "stage_layers=(20, 19) adds up to 39 layers: the model has 40"),
    (dict(ep=2, dp=2), "ep=2 spreads experts, and the model has none: use ep=1"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WITH_MODEL, ids=[str(one) for one, _ in WITH_MODEL])
def test_a_plan_is_judged_with_its_model(arguments, sentence):
    assert sentence in pk.Plan(**arguments).problems(LLAMA)
    assert sentence not in pk.Plan(**arguments).problems()


def test_the_offered_stage_layers_work():
    assert pk.Plan(pp=3, stage_layers=(14, 13, 13)).problems(LLAMA) == ()


def test_key_value_heads_split_or_repeat():
    model = pk.Model(layers=2, hidden=48, heads=24, kv_heads=6)
    assert pk.Plan(tp=3).problems(model) == ()
    assert pk.Plan(tp=12).problems(model) == ()
    assert pk.Plan(tp=4).problems(model) == (
        "6 key-value heads neither split over tp=4 nor repeat evenly; choose tp from 1, 2, 3, 6 or a multiple of 6",
    )


def test_experts_spread_where_their_number_divides():
    model = pk.Model.preset("mixtral-8x7b")
    assert pk.Plan(dp=8, ep=8).problems(model) == ()
    assert pk.Plan(dp=6, ep=3).problems(model) == (
        "8 experts do not spread over ep=3; choose ep from 1, 2, 4, 8",
    )
    lite = pk.Model.preset("deepseek-v2-lite")
    assert pk.Plan(tp=16).problems(lite) == ()
    assert (
        pk.Plan(tp=32).problems(lite)[0] == "16 heads do not split over tp=32; choose tp from 1, 2, 4, 8, 16"
    )
