"""Activations against the paper's figures and formula, tensor by tensor and along the pipeline."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk

PAPER = read("korthikanti.json")


def plans(row):
    """The plan without recomputation and the one with selective recomputation and sequence parallel."""
    common = dict(
        tp=row["tp"],
        pp=row["pp"],
        batch=row["batch"],
        microbatch=row["microbatch"],
        sequence=row["sequence"],
        precision="mixed-18",
        attention="plain",
        schedule="1f1b" if row["interleave"] == 1 else "interleaved-1f1b",
        chunks=row["interleave"],
    )
    return pk.Plan(**common), pk.Plan(**common, recompute="selective", sequence_parallel=True)


@pytest.mark.parametrize("row", PAPER["rows"], ids=lambda row: row["model"])
def test_the_paper_s_twelve_figures(row):
    model = pk.Model(layers=row["layers"], hidden=row["hidden"], heads=row["heads"])
    none, selective = (pk.memory(model, plan) for plan in plans(row))
    found = {
        "model_states_GiB": none.bytes[0, :3].sum(),
        "activations_none_GiB": none.bytes[0, 3],
        "activations_selective_and_sequence_parallel_GiB": selective.bytes[0, 3],
    }
    for name, size in found.items():
        assert size / 2**30 == pytest.approx(row[name], rel=0.001), (name, PAPER["source"])


SIZES = {
    "s": st.integers(1, 4096),
    "b": st.integers(1, 8),
    "a": st.integers(1, 16),
    "d": st.integers(1, 128),
    "t": st.sampled_from([1, 2, 4, 8]),
}


@given(**SIZES)
def test_one_gpt_block_is_the_paper_s_formula(s, b, a, d, t):
    heads, hidden = 8 * a, 8 * a * d
    model = pk.Model(layers=1, hidden=hidden, heads=heads)

    def held(**plan):
        plan = pk.Plan(tp=t, microbatch=b, sequence=8 * s, attention="plain", **plan)
        return pk.memory(model, plan).bytes[0, 3]

    tokens = 8 * s * b * hidden
    squares = 5 * heads * 8 * s / (hidden * t)
    assert held() == pytest.approx(tokens * (10 + 24 / t + squares), rel=1e-12)
    assert held(sequence_parallel=True) == pytest.approx(tokens * (34 / t + squares), rel=1e-12)
    assert held(recompute="selective") == pytest.approx(tokens * (10 + 24 / t), rel=1e-12)
    # Full recomputation keeps the input, and one block's tensors while they are computed again.
    assert held(recompute="full") == pytest.approx(tokens * (2 + 10 + 24 / t + squares), rel=1e-12)


def tensors(model, **plan):
    return {one.name: one for one in pk.memory(model, pk.Plan(**plan)).activations}


def test_a_llama_block_tensor_by_tensor():
    found = tensors(pk.Model.preset("llama-3-8b"), sequence=1000, microbatch=2, tp=4, sequence_parallel=True)
    tokens = 2000
    assert {name: one.bytes for name, one in found.items() if one.kept} == {
        "norm inputs": 2 * 2 * tokens * 4096 / 4,
        "attention input": 2 * tokens * 4096 / 4,
        "query": 2 * tokens * 4096 / 4,
        "key": 2 * tokens * 1024 / 4,
        "value": 2 * tokens * 1024 / 4,
        "log-sum-exp": 4 * tokens * 32 / 4,
        "output projection input": 2 * tokens * 4096 / 4,
        "mlp input": 2 * tokens * 4096 / 4,
        "gate and up": 2 * 2 * tokens * 14336 / 4,
        "input of the last matrix": 2 * tokens * 14336 / 4,
        "final norm input": 2 * tokens * 4096 / 4,
        "head input": 2 * tokens * 4096 / 4,
        "logits": 4 * tokens * 128256 / 4,
    }
    assert not found["softmax output"].kept  # fused attention
    assert "dropout masks" not in found  # Llama trains without dropout


def test_a_key_value_head_is_never_cut():
    model = pk.Model(layers=1, hidden=64, heads=8, kv_heads=2, dropout=False)
    key = tensors(model, tp=8, sequence=10)["key"]
    assert key.bytes == 2 * 10 * 8  # one whole head of width 8, though 2/8 would be a quarter of one


def test_experts_keep_a_copy_of_each_token_for_each_of_its_experts():
    experts = pk.Experts(count=16, per_token=3, mlp=40, shared=24)
    model = pk.Model(layers=2, hidden=32, heads=4, gated=True, experts=experts, dropout=False)
    found = tensors(model, sequence=10)
    assert found["tokens sent to experts"].bytes == 2 * 10 * 32 * 3
    assert found["router scores"].bytes == 4 * 10 * 16
    assert found["gate and up"].bytes == 2 * 2 * 10 * (3 * 40 + 24)
    assert found["input of the last matrix"].bytes == 2 * 10 * (3 * 40 + 24)


def test_blocks_with_and_without_experts_are_named_apart():
    report = pk.memory(pk.Model.preset("deepseek-v2-lite"), pk.Plan())
    places = {one.place for one in report.activations}
    assert places == {"each block without experts", "each block with experts", "last stage"}
    assert {one.name for one in report.activations} >= {"latents", "query", "key", "value"}


@pytest.mark.parametrize(("query_rank", "narrow"), [(None, 2 * 5 + 3), (11, 2 * 11 + 2 * 5 + 3)])
def test_latent_attention_keeps_its_narrow_vectors_before_and_after_their_norm(query_rank, narrow):
    latent = pk.Latent(rank=5, plain=5, rotary=3, value=6, query_rank=query_rank)
    model = pk.Model(layers=2, hidden=32, heads=4, latent=latent, dropout=False)
    found = tensors(model, sequence=10)
    assert found["latents"].bytes == 2 * 10 * narrow
    assert found["query"].bytes == found["key"].bytes == 2 * 10 * 4 * 8
    assert found["value"].bytes == found["output projection input"].bytes == 2 * 10 * 4 * 6


def test_what_is_kept_adds_up_to_the_report():
    model = pk.Model.preset("gpt2")
    report = pk.memory(model, pk.Plan(sequence=512, microbatch=4))
    kept = {"each block": model.layers, "first stage": 1, "last stage": 1}
    assert report.bytes[0, 3] == sum(one.bytes * kept[one.place] for one in report.activations if one.kept)


@pytest.mark.parametrize(
    ("precision", "element", "wide"), [("mixed-18", 2, 4), ("fp32", 4, 4), ("fp64", 8, 8)]
)
def test_elements_are_as_wide_as_parameters_and_logits_at_least_fp32(precision, element, wide):
    found = tensors(pk.Model.preset("gpt2"), precision=precision, sequence=10)
    assert found["query"].bytes == element * 10 * 768
    assert found["logits"].bytes == wide * 10 * 50257
    assert found["embedding dropout mask"].bytes == 10 * 768


def test_parallel_blocks_share_their_input():
    one = pk.Model(layers=1, hidden=64, heads=4, parallel=True, norms=1, dropout=False)
    two = pk.Model(layers=1, hidden=64, heads=4, parallel=True, norms=2, dropout=False)
    usual = pk.Model(layers=1, hidden=64, heads=4, dropout=False)
    held = [pk.memory(model, pk.Plan(sequence=10)).bytes[0, 3] for model in (one, two, usual)]
    stream = 2 * 10 * 64
    assert (held[1] - held[0], held[2] - held[1]) == (stream, stream)


def test_1f1b_s_first_stage_holds_most_and_a_large_vocabulary_can_make_the_last_fullest():
    small = pk.Model(layers=8, hidden=64, heads=4, dropout=False)
    assert pk.memory(small, pk.Plan(pp=4, batch=16)).limit().stage == 0
    large = pk.Model(layers=8, hidden=64, heads=4, vocabulary=100_000, dropout=False)
    assert pk.memory(large, pk.Plan(pp=4, batch=16)).limit().stage == 3


@given(
    name=st.sampled_from(["llama-3-8b", "gpt2", "mixtral-8x7b", "megatron-22b"]),
    schedule=st.sampled_from(["gpipe", "1f1b"]),
    recompute=st.sampled_from(["none", "selective", "full"]),
    attention=st.sampled_from(["plain", "fused"]),
    pp=st.sampled_from([1, 2, 3, 4]),
    zero=st.integers(0, 3),
)
def test_activations_never_grow_with_tp_nor_with_zero(name, schedule, recompute, attention, pp, zero):
    model = pk.Model.preset(name)

    def held(**change):
        plan = pk.Plan(
            **{**dict(pp=pp, dp=4, schedule=schedule, recompute=recompute, attention=attention), **change}
        )
        return None if plan.problems(model) else pk.memory(model, plan).bytes[:, 3]

    whole = held()
    if whole is None:
        return
    for tp in (2, 4, 8):
        half = held(tp=tp)
        assert half is None or (half <= whole).all()
    np.testing.assert_array_equal(held(zero=zero), whole)


@given(
    layers=st.sampled_from([12, 24]),
    batch=st.integers(1, 24),
    recompute=st.sampled_from(["none", "selective"]),
)
def test_activations_never_grow_with_pp_under_1f1b_with_equal_stages(layers, batch, recompute):
    model = pk.Model(layers=layers, hidden=64, heads=4)
    held = [
        pk.memory(model, pk.Plan(pp=pp, batch=batch, recompute=recompute)).bytes[0, 3]
        for pp in (1, 2, 3, 4, 6, 12)
    ]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(held))


def test_an_order_of_your_own_decides_what_is_in_flight():
    model = pk.Model(layers=2, hidden=64, heads=4)
    plan = pk.Plan(pp=2, batch=4)
    eager = pk.schedule("gpipe", devices=2, microbatches=4)
    named, own = pk.memory(model, plan), pk.memory(model, plan, schedule=eager)
    assert named.in_flight.tolist() == [2, 1]
    assert own.in_flight.tolist() == [4, 4]
    np.testing.assert_allclose(
        own.bytes[:, 3], pk.memory(model, pk.Plan(pp=2, batch=4, schedule="gpipe")).bytes[:, 3]
    )
    with pytest.raises(ValueError) as error:
        pk.memory(model, plan, schedule=pk.schedule("1f1b", devices=2, microbatches=3))
    assert str(error.value) == (
        "the schedule has 2 devices, 2 stages and 3 microbatches, the plan 2, 2 and 4: they must be the same"
    )
    with pytest.raises(pk.ScheduleError):
        pk.memory(model, pk.Plan(pp=1, batch=2), schedule=pk.Schedule.from_text("0F0,0F1,0B0"))
