"""Every plan is excluded with its reason or ranked, with the same numbers as one plan at a time."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.fit_step_time import korthikanti
from hypothesis import given, settings
from hypothesis import strategies as st

import parakit as pk
from parakit.choose import plan_words

LLAMA, GPT2 = pk.Model.preset("llama-3-8b"), pk.Model.preset("gpt2")
A100 = pk.Cluster.preset("a100-80gb", devices=16)
FEW = {"schedule": ("1f1b", "interleaved-1f1b", "zb-h1"), "chunks": 2}


@pytest.fixture(scope="module")
def choice():
    return pk.choose(LLAMA, A100, batch=64, sequence=4096, **FEW)


def test_each_plan_is_either_ranked_or_excluded_and_none_twice(choice):
    ranked = [plan for plan, _, _ in choice.ranked[:]]
    excluded = [plan for plan, _ in choice.excluded[:]]
    assert len(ranked) + len(excluded) == choice.judged
    assert len({*ranked, *excluded}) == choice.judged
    assert all(plan.devices == 16 for plan in (*ranked, *excluded))


def test_ranked_and_excluded_have_the_numbers_of_one_plan_at_a_time(choice):
    for at in range(0, len(choice.ranked), 37):
        plan, step, report = choice.ranked[at]
        alone = pk.step_time(LLAMA, plan, A100)
        assert step.total == pytest.approx(alone.total, rel=1e-9)
        assert step.total == pytest.approx(choice.seconds[at], rel=1e-12)
        assert report.fits(A100)
        assert report.peak.max() == pytest.approx(pk.memory(LLAMA, plan).peak.max(), rel=1e-12)
    for plan, reason in choice.excluded[:60:7]:
        if reason.startswith("peak"):
            assert not pk.memory(LLAMA, plan).fits(A100)


def test_the_fastest_comes_first(choice):
    assert (np.diff(choice.seconds) >= -1e-8 * choice.seconds[:-1]).all()


def test_an_excluded_plan_says_where_and_by_what(choice):
    reason = next(reason for plan, reason in choice.excluded if plan.dp == 16 and plan.zero == 0)
    assert reason.startswith("peak ")
    assert " on device 0 (stage A) over 83.8 GB" in reason
    assert reason.endswith((": activations decide", ": optimizer state decides", ": parameters decide"))


def test_a_degree_that_cannot_be_is_excluded_once_with_its_fault():
    choice = pk.choose(GPT2, A100, batch=16, sequence=1024, **FEW)
    found = {reason for plan, reason in choice.excluded if plan.tp == 16}
    assert found == {"12 heads do not split over tp=16; choose tp from 1, 2, 3, 4, 6, 12"}


@settings(max_examples=40, deadline=None)
@given(
    model=st.sampled_from(["gpt2", "llama-3-8b", "mixtral-8x7b"]),
    machine=st.sampled_from(pk.Cluster.presets()),
    devices=st.sampled_from([1, 2, 3, 8, 12]),
    batch=st.integers(1, 64),
    schedule=st.sampled_from(pk.schedules()),
    zero=st.sampled_from([None, 1, (0, 3)]),
)
def test_any_machine_and_batch_gives_an_answer_or_one_sentence(
    model, machine, devices, batch, schedule, zero
):
    cluster = pk.Cluster.preset(machine, devices=devices)
    try:
        found = pk.choose(
            pk.Model.preset(model), cluster, batch=batch, sequence=512, schedule=schedule, zero=zero
        )
    except pk.PlanError as error:
        said = error.problems
    else:
        said = ()
    if said:
        assert len(said) == 1
        return
    if len(found.ranked):
        plan, step, report = found.ranked[0]
        assert plan.problems(found.model, cluster) == ()
        assert plan.microbatches * plan.dp * plan.microbatch == batch
        assert math.isfinite(step.total)
        assert report.peak.max() <= cluster.usable
    else:
        assert found.least_changes
        assert found.sentence().count("nothing fits") == 1
    for plan, reason in found.excluded[:5]:
        assert reason
        assert plan.devices == devices


def test_why_names_the_part_that_makes_the_difference(choice):
    slow = pk.Plan(tp=16, batch=64, sequence=4096)
    said = choice.why(0, slow)
    assert said.startswith(f"{plan_words(slow)} takes ")
    assert "exchange of tensor ranks makes the difference" in said
    assert said == choice.why(slow, choice.ranked[0].plan)
    assert "take equally long" in choice.why(0, 0)


def test_why_not_an_excluded_plan_is_its_reason(choice):
    plan, reason = choice.excluded[0]
    assert choice.why(0, plan) == f"{plan_words(plan)} is excluded: {reason}"


def test_why_refuses_what_was_not_searched(choice):
    with pytest.raises(ValueError) as error:
        choice.why(0, pk.Plan(dp=3))
    assert str(error.value) == (
        "dp=3 tp=1 pp=1 zero=0 microbatch=1 is not a plan of this search: other limits would have it"
    )
    with pytest.raises(ValueError) as error:
        choice.why(0, len(choice.ranked))
    last = len(choice.ranked) - 1
    assert str(error.value) == (
        f"other is {last + 1:,}: it must be a pk.Plan, or a place in ranked from 0 to {last}"
    )


def test_nobody_beats_the_frontier(choice):
    points = choice.frontier()
    assert points[0].seconds == pytest.approx(choice.seconds[0])
    assert all(a.seconds <= b.seconds and a.peak > b.peak for a, b in pairwise(points))
    peak = choice.peak[choice.fits]
    assert points[-1].peak == peak.min()


def test_more_devices_at_a_fixed_batch_and_at_a_fixed_batch_a_device(choice):
    scaling = choice.scaling((1, 2, 4))
    assert scaling.rows[0].fixed.total == pytest.approx(choice.seconds[0])
    assert [row.grown.plan.batch for row in scaling.rows] == [64, 128, 256]
    assert scaling.speedup(scaling.rows[2]) > 2
    assert "which changes training" in str(scaling)
    assert len(scaling.table().splitlines()) == 4


def test_over_a_slow_network_more_replicas_stop_helping():
    lab = pk.Cluster.preset("lab-1gbe", devices=2)
    scaling = pk.choose(GPT2, lab, batch=32, sequence=1024, tp=1, pp=1).scaling((1, 8))
    assert scaling.efficiency(scaling.rows[1]) < 0.5 < scaling.growth(scaling.rows[1])


def test_when_nothing_fits_the_least_changes_are_said_and_true():
    choice = pk.choose(
        pk.Model.preset("llama-2-13b"), replace(A100, devices=8), batch=8, zero=0, dp=8, recompute="none"
    )
    assert len(choice.ranked) == 0
    said = [one.sentence for one in choice.least_changes]
    assert said[0].startswith("Allow ZeRO 1 to 3: dp=8 tp=1 pp=1 zero=3 microbatch=1 then holds")
    assert any(one.startswith("Use devices of") for one in said)
    for one in choice.least_changes:
        report = pk.memory(choice.model, one.plan)
        assert report.peak.max() == pytest.approx(one.peak)
        assert report.fits(one.memory, A100.reserve)
    assert "nothing fits" in choice.table()


def test_a_larger_cluster_is_offered_where_no_other_change_helps():
    choice = pk.choose(pk.Model.preset("llama-3-70b"), replace(A100, devices=4), batch=8)
    assert choice.least_changes[0].sentence.startswith("Use 16 devices instead of 4: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"batch": 0}, "batch is 0: it must be a whole number from 1 to 1,000,000,000,000"),
        ({"batch": 4, "dp": 8}, "batch 4 does not split over dp=8"),
        (
            {"batch": 8, "tp": 3},
            "no dp × tp × pp is 16 devices with tp from 3: allow other degrees, or change devices",
        ),
        (
            {"batch": 8, "schedule": "1fb"},
            "there is no schedule '1fb': did you mean '1f1b'? Known: gpipe, 1f1b, interleaved-1f1b, looped-bfs, "
            "zb-h1, zb-h2, interleaved-zb, zbv, dualpipev, dualpipe",
        ),
        (
            {"batch": 8, "zero": (0, 4)},
            "zero is 4: it must be a whole number from 0 to 3, several of them, or None for all",
        ),
        ({"batch": 8, "dp": ()}, "a limit is empty: give a value, several, or None for all"),
        ({"batch": 8, "sequence_parallel": 1}, "sequence_parallel is 1: it must be True, False or both"),
    ],
)
def test_impossible_requests_are_one_sentence(given, said):
    with pytest.raises(ValueError) as error:
        pk.choose(LLAMA, A100, **given)
    assert str(error.value) == said


def test_ten_million_devices_are_answered_before_anything_is_judged():
    with pytest.raises(pk.PlanError) as error:
        pk.choose(LLAMA, pk.Cluster.preset("a100-80gb", devices=10**7), batch=512)
    assert str(error.value).startswith(
        "no plan splits llama-3-8b and a batch of 512 over 10,000,000 devices: "
    )


def test_degrees_beyond_what_a_plan_may_have_are_excluded_not_raised():
    huge = pk.Cluster.preset("a100-80gb", devices=10**7)
    choice = pk.choose(GPT2, huge, batch=10**7, schedule="1f1b", tp=(1, 2, 4), zero=1, recompute="none")
    assert all(plan.dp <= 1_000_000 for plan in choice.plans)
    assert any("it must be a whole number from 1 to 1,000,000" in reason for _, reason in choice.excluded)


def test_progress_ends_with_all_plans():
    seen = []
    choice = pk.choose(GPT2, A100, batch=32, progress=lambda done, of: seen.append((done, of)), **FEW)
    assert seen[-1] == (len(choice.plans), len(choice.plans))
    assert all(a <= b for (a, _), (b, _) in pairwise(seen))


def test_the_table_has_a_line_a_plan(choice):
    lines = choice.table(5).splitlines()
    assert len(lines) == 6
    assert lines[1].split()[0] == "1"


@pytest.mark.parametrize("case", korthikanti()[3::2], ids=lambda case: case.name)
def test_what_megatron_published_is_among_the_best_of_its_kind(case):
    """Among the schedules that Megatron-LM had, with its attention and precision, and without ZeRO.

    Not so for the 22 billion model: there the kit holds tp=4 and two replicas for faster than tp=8.
    """
    plan = case.plan
    choice = pk.choose(
        case.model,
        pk.Cluster.preset("a100-80gb", devices=plan.devices),
        batch=plan.batch,
        sequence=plan.sequence,
        schedule=("gpipe", "1f1b", "interleaved-1f1b"),
        attention="plain",
        precision="mixed-18",
        zero=0,
    )
    place = choice.place(plan)
    assert place is not None
    assert place <= 0.1 * choice.judged
    assert choice.seconds[place] <= 1.1 * choice.seconds[0]
