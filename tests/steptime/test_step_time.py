"""What a step's time is made of, and the limits it has to keep."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parakit as pk
from parakit.steptime import COMMUNICATION, PARTS, step_times
from parakit.traffic import Strategy

MODELS = {
    "llama": pk.Model.preset("llama-3-8b"),
    "gpt2": pk.Model.preset("gpt2"),
    "gpt-j": pk.Model(layers=8, hidden=1024, heads=16, vocabulary=5000, parallel=True, norms=1),
    "mixtral": pk.Model.preset("mixtral-8x7b"),
    "deepseek": pk.Model.preset("deepseek-v2-lite"),
    "blocks": pk.Model(layers=16, hidden=512, heads=8),
}

PLAN = st.fixed_dictionaries(
    {
        "dp": st.sampled_from([1, 2, 4, 8]),
        "tp": st.sampled_from([1, 2, 4]),
        "pp": st.sampled_from([1, 2, 3, 4]),
        "ep": st.sampled_from([1, 2]),
        "zero": st.integers(0, 3),
        "batch": st.sampled_from([32, 64]),
        "microbatch": st.sampled_from([1, 2]),
        "sequence": st.sampled_from([512, 2048]),
        "schedule": st.sampled_from(pk.schedules()),
        "sequence_parallel": st.booleans(),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "attention": st.sampled_from(["plain", "fused"]),
        "precision": st.sampled_from(["mixed-16", "mixed-18", "fp32", "adafactor"]),
        "trainable": st.sampled_from([1.0, 0.01]),
    }
)
MACHINE = st.sampled_from(["a100-80gb", "h100-sxm", "v100-32gb", "lab-10gbe"])


def drawn_plan(name, drawn, machine):
    model = MODELS[name]
    plan = pk.Plan(**drawn)
    cluster = pk.Cluster.preset(machine, devices=128)
    return (model, plan, cluster) if not plan.problems(model, cluster) else None


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(list(MODELS)), drawn=PLAN, machine=MACHINE, overlap=st.booleans())
def test_parts_are_times_and_sum_to_the_total(name, drawn, machine, overlap):
    if (case := drawn_plan(name, drawn, machine)) is None:
        return
    model, plan, cluster = case
    step = pk.step_time(model, plan, cluster, overlap)
    assert tuple(step.parts) == PARTS
    assert tuple(step.hidden_parts) == COMMUNICATION
    assert min(step.parts.values()) >= 0
    assert min(step.hidden_parts.values()) >= -1e-12 * step.total
    assert step.total == pytest.approx(sum(step.parts.values()), rel=1e-12)
    assert step.total >= step.timeline.span * (1 - 1e-12)
    assert 0 < step.mfu < 1
    if not overlap:
        assert step.hidden == pytest.approx(0, abs=1e-9 * step.total)
        assert step.total >= pk.step_time(model, plan, cluster).total * (1 - 1e-12)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(list(MODELS)), drawn=PLAN, machine=MACHINE, slower=st.floats(1, 1000))
def test_time_never_falls_when_a_link_gets_slower(name, drawn, machine, slower):
    if (case := drawn_plan(name, drawn, machine)) is None:
        return
    model, plan, cluster = case
    before = pk.step_time(model, plan, cluster).total
    for which in ("inside", "between"):
        link = getattr(cluster, which)
        for change in ({"bandwidth": link.bandwidth / slower}, {"latency": link.latency * slower}):
            after = pk.step_time(model, plan, replace(cluster, **{which: replace(link, **change)})).total
            assert after >= before * (1 - 1e-12)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(list(MODELS)), drawn=PLAN, machine=MACHINE, overlap=st.booleans())
def test_links_without_end_leave_no_communication(name, drawn, machine, overlap):
    if (case := drawn_plan(name, drawn, machine)) is None:
        return
    model, plan, cluster = case
    free = pk.Link(latency=0, bandwidth=float("inf"))
    step = pk.step_time(model, plan, replace(cluster, inside=free, between=free), overlap)
    assert step.communication == step.hidden == 0


@pytest.mark.parametrize("name", MODELS)
def test_one_device_computes_and_updates(name):
    step = pk.step_time(MODELS[name], pk.Plan(batch=4), pk.Cluster.preset("h100-sxm"))
    assert {part for part, seconds in step.parts.items() if seconds} == {"compute", "update"}


@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from(list(MODELS)), drawn=st.lists(PLAN, min_size=1, max_size=12), machine=MACHINE)
def test_many_plans_are_timed_as_one_at_a_time(name, drawn, machine):
    cases = [case for one in drawn if (case := drawn_plan(name, one, machine))]
    plans = [plan for _, plan, _ in cases]
    model, cluster = MODELS[name], pk.Cluster.preset(machine, devices=128)
    many = step_times(model, plans, cluster)
    for at, plan in enumerate(plans):
        one = pk.step_time(model, plan, cluster)
        for name_, seconds in one.parts.items():
            assert many.one(at).parts[name_] == pytest.approx(seconds, abs=1e-9 * one.total)
        for name_, seconds in one.hidden_parts.items():
            assert many.one(at).hidden_parts[name_] == pytest.approx(seconds, abs=1e-9 * one.total)


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(list(MODELS)), drawn=PLAN)
def test_what_is_sent_is_what_traffic_counts(name, drawn):
    """Without latency every second of communication is a byte of the traffic table over the link's rate."""
    if (case := drawn_plan(name, drawn, "a100-80gb")) is None:
        return
    model, plan, cluster = case
    link = pk.Link(latency=0, bandwidth=10e9)
    # Slow enough that nothing the kit hides is lost, and without overlap nothing is hidden.
    step = pk.step_time(model, plan, replace(cluster, devices_per_node=1, inside=link, between=link), False)
    found = pk.traffic(model, plan)
    for strategy in (Strategy.TENSOR, Strategy.DATA):
        sent = found.total(strategy, rank=step.rank) / link.rate
        # Padding is counted once a rank there and once a stage here.
        assert step.parts[strategy.value] == pytest.approx(sent, rel=1e-9 if plan.one_stage_each else 1e-3)


def test_a_class_lab_s_network_makes_tensor_splits_slower_than_one_device():
    model = pk.Model.preset("gpt2")
    lab = pk.Cluster.preset("lab-1gbe")
    alone = pk.step_time(model, pk.Plan(batch=8), lab).total
    split = pk.step_time(model, pk.Plan(tp=4, batch=8), lab)
    assert split.total > 3 * alone
    assert split.parts["tensor"] > 0.8 * split.total


def test_replicas_within_a_node_and_over_ethernet_differ_by_the_links():
    model, plan = pk.Model.preset("gpt2"), pk.Plan(dp=8, batch=64, microbatch=8)
    fast = pk.step_time(model, plan, pk.Cluster.preset("a100-80gb"), overlap=False)
    slow = pk.step_time(model, plan, pk.Cluster.preset("lab-1gbe"), overlap=False)
    ratio = 300e9 * 0.458 / (125e6 * 0.94)
    assert slow.parts["data"] / fast.parts["data"] == pytest.approx(ratio, rel=0.05)


def test_gradients_hide_behind_backward_but_for_the_last_layer():
    model, plan = pk.Model.preset("llama-3-8b"), pk.Plan(dp=8, zero=0, microbatch=4)
    cluster = pk.Cluster.preset("h100-sxm")
    together, apart = (pk.step_time(model, plan, cluster, overlap) for overlap in (True, False))
    assert together.parts["data"] == pytest.approx(apart.parts["data"] / 32, rel=1e-9)
    assert together.hidden == pytest.approx(apart.parts["data"] * 31 / 32, rel=1e-9)
    assert apart.total == pytest.approx(together.total + together.hidden, rel=1e-12)


def test_zero_3_gathers_at_every_microbatch():
    model, cluster = pk.Model.preset("llama-3-8b"), pk.Cluster.preset("a100-80gb", devices=16)
    times = [
        pk.step_time(model, pk.Plan(dp=16, zero=3, batch=64, microbatch=b), cluster, False).parts["data"]
        for b in (4, 2, 1)
    ]
    assert times[1] / times[0] == pytest.approx(2, rel=1e-6)
    assert times[2] / times[0] == pytest.approx(4, rel=1e-6)


def test_the_idle_share_of_equal_stages_is_the_known_one():
    model = pk.Model(layers=32, hidden=2048, heads=16)  # blocks alone: all stages alike
    free = pk.Link(latency=0, bandwidth=float("inf"))
    cluster = replace(pk.Cluster.preset("a100-80gb"), inside=free)
    step = pk.step_time(model, pk.Plan(pp=4, batch=8), cluster)
    assert step.parts["waiting"] / (step.total - step.parts["update"]) == pytest.approx(3 / 11, rel=1e-9)


def test_smaller_microbatches_compute_longer():
    model, cluster = pk.Model.preset("gpt2"), pk.Cluster.preset("a100-80gb")
    times = [
        pk.step_time(model, pk.Plan(batch=32, microbatch=b), cluster).parts["compute"] for b in (32, 8, 1)
    ]
    assert times[0] < times[1] < times[2]


def test_a_larger_share_of_the_model_on_one_stage_makes_the_others_wait():
    model, cluster = pk.Model.preset("llama-2-7b"), pk.Cluster.preset("a100-80gb")
    even = pk.step_time(model, pk.Plan(pp=4, batch=16), cluster)
    uneven = pk.step_time(model, pk.Plan(pp=4, batch=16, stage_layers=(11, 7, 7, 7)), cluster)
    assert uneven.total > even.total


def test_frozen_parameters_have_no_weight_gradients_to_compute_or_to_send():
    model, cluster = pk.Model.preset("llama-2-7b"), pk.Cluster.preset("a100-80gb")
    whole, adapters = (
        pk.step_time(model, pk.Plan(dp=8, trainable=share), cluster, False) for share in (1.0, 0.01)
    )
    assert adapters.parts["compute"] < 0.75 * whole.parts["compute"]
    assert adapters.parts["data"] < 0.02 * whole.parts["data"]
    assert adapters.parts["update"] < 0.02 * whole.parts["update"]


def test_the_rank_that_ends_last_is_the_one_with_the_head():
    model = pk.Model.preset("gpt2")  # its head is as large as five of its blocks
    step = pk.step_time(model, pk.Plan(pp=4, batch=32), pk.Cluster.preset("a100-80gb"))
    stages = step.timeline.busy
    assert stages.argmax() == 3


def test_a_plan_that_needs_more_devices_is_refused_with_what_would_fit():
    with pytest.raises(pk.PlanError) as error:
        pk.step_time(
            pk.Model.preset("llama-2-13b"), pk.Plan(dp=4, tp=8, pp=4), pk.Cluster.preset("h100-sxm", 64)
        )
    assert str(error.value) == (
        "dp=4 × tp=8 × pp=4 needs 128 devices, the cluster has 64; dp=2 or pp=2 or tp=4 would fit"
    )


@pytest.mark.parametrize(
    ("model", "cluster", "overlap", "said"),
    [
        (7e9, pk.Cluster.preset("h200"), True, "model is 7000000000.0: it must be a pk.Model"),
        (MODELS["gpt2"], 80e9, True, "cluster is 80000000000.0: it must be a pk.Cluster"),
        (MODELS["gpt2"], pk.Cluster.preset("h200"), 1, "overlap is 1: it must be True or False"),
    ],
)
def test_what_is_no_model_or_cluster_is_refused(model, cluster, overlap, said):
    with pytest.raises(ValueError) as error:
        pk.step_time(model, pk.Plan(), cluster, overlap)
    assert str(error.value) == said


def test_a_precision_without_a_rate_is_refused():
    with pytest.raises(ValueError) as error:
        pk.step_time(MODELS["gpt2"], pk.Plan(precision="fp64"), pk.Cluster.preset("tpu-v4"))
    assert str(error.value) == (
        "tpu-v4 states no FLOP/s for fp64 matrix products, only 16-bit: give flops={'fp64': …}, or choose "
        "another precision"
    )


def test_the_table_and_the_sentence_say_the_parts():
    step = pk.step_time(MODELS["llama"], pk.Plan(dp=8, microbatch=2), pk.Cluster.preset("h100-sxm"))
    assert "computing" in step.table()
    assert step.table().splitlines()[-1].startswith("all")
    assert str(step).startswith("A step takes ")
    assert step.tokens_per_second == pytest.approx(8 * 2 * 2048 / step.total)
    assert np.isclose(step.mfu, step.flops_per_second / 989e12)


def test_one_microbatch_over_two_stages_pays_for_both_transfers():
    model = pk.Model(layers=2, hidden=1024, heads=8)
    link = pk.Link(latency=0.001, bandwidth=1e9)
    cluster = replace(pk.Cluster.preset("a100-80gb"), inside=link, between=link)
    step = pk.step_time(model, pk.Plan(pp=2, batch=1), cluster)
    once = link.seconds(2048 * 1024 * 2)  # an activation there, its gradient back
    assert step.rank == 0
    assert step.parts["pipeline"] == pytest.approx(2 * once, rel=1e-9)
    many = pk.step_time(model, pk.Plan(pp=2, batch=64), cluster)
    assert many.parts["pipeline"] < 64 * 2 * once  # others compute meanwhile
