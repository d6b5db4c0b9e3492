"""Many plans at once say what one plan at a time says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parakit as pk
from parakit.plan import Precision

MODELS = ["llama-3-8b", "gpt2", "megatron-22b", "mixtral-8x7b", "deepseek-v2-lite"]

PLAN = st.fixed_dictionaries(
    {
        "dp": st.sampled_from([1, 2, 4, 8]),
        "tp": st.sampled_from([1, 2, 4]),
        "pp": st.sampled_from([1, 2, 3, 4]),
        "ep": st.sampled_from([1, 2]),
        "zero": st.integers(0, 3),
        "batch": st.sampled_from([None, 64, 128]),
        "microbatch": st.sampled_from([1, 2, 4]),
        "sequence": st.sampled_from([512, 2048]),
        "schedule": st.sampled_from(pk.schedules()),
        "sequence_parallel": st.booleans(),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "attention": st.sampled_from(["plain", "fused"]),
        "precision": st.sampled_from(list(Precision)),
        "trainable": st.sampled_from([1.0, 0.01]),
    }
)


@settings(max_examples=60)
@given(name=st.sampled_from(MODELS), drawn=st.lists(PLAN, min_size=1, max_size=12))
def test_many_plans_are_as_one_at_a_time(name, drawn):
    model = pk.Model.preset(name)
    plans = [plan for plan in (pk.Plan(**one) for one in drawn) if not plan.problems(model)]
    many = pk.memory_many(model, plans)
    assert many.bytes.shape == (len(plans), 4)
    for at, plan in enumerate(plans):
        one = pk.memory(model, plan)
        np.testing.assert_allclose(many.peak[at], one.peak.max(), rtol=1e-12)
        np.testing.assert_allclose(many.bytes[at], one.bytes[many.rank[at]], rtol=1e-12)


@given(drawn=st.lists(PLAN, min_size=1, max_size=6))
def test_exactly_the_plans_that_cannot_run_are_refused(drawn):
    model = pk.Model.preset("mixtral-8x7b")
    plans = [pk.Plan(**one) for one in drawn]
    faulty = [at for at, plan in enumerate(plans) if plan.problems(model)]
    if not faulty:
        pk.memory_many(model, plans)
        return
    with pytest.raises(pk.PlanError) as error:
        pk.memory_many(model, plans)
    assert error.value.problems[0].startswith(f"plan {faulty[0]} of {len(plans)}: ")


ODD = [
    pk.Plan(dp="8"),
    pk.Plan(dp=0),
    pk.Plan(microbatch=0, batch=8),
    pk.Plan(batch=-8),
    pk.Plan(zero=4),
    pk.Plan(recompute="some"),
    pk.Plan(stage_layers=[[1], 2]),
    pk.Plan(sequence_parallel="yes"),
    pk.Plan(sequence=2047, tp=2, sequence_parallel=True),
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_odd_plan_among_good_ones_is_found(odd):
    model = pk.Model.preset("llama-3-8b")
    with pytest.raises(pk.PlanError, match=r"^(this plan cannot run:\n  - )?plan 2 of 3: "):
        pk.memory_many(model, [pk.Plan(), pk.Plan(dp=2), odd])


@pytest.mark.parametrize(
    ("good", "odd"),
    [
        ([pk.Plan(dp=2, ep=2), pk.Plan(dp=3)], pk.Plan(dp=3, ep=2)),
        (
            [pk.Plan(tp=2, sequence=2047), pk.Plan(sequence=2047, sequence_parallel=True)],
            pk.Plan(tp=2, sequence=2047, sequence_parallel=True),
        ),
    ],
    ids=["dp and ep", "sequence and tp"],
)
def test_values_that_are_good_alone_and_odd_together_are_found(good, odd):
    model = pk.Model.preset("mixtral-8x7b")
    pk.memory_many(model, good)
    with pytest.raises(pk.PlanError, match=r"plan 2 of 3: "):
        pk.memory_many(model, [*good, odd])


def test_no_plans_are_no_answers():
    assert pk.memory_many(pk.Model.preset("gpt2"), []).peak.tolist() == []
