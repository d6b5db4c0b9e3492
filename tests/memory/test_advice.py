"""Advice is computed: what it says is saved is saved, and what does not help does not."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parakit as pk

LLAMA = pk.Model.preset("llama-3-8b")


def advice(model=LLAMA, **plan):
    return pk.memory(model, pk.Plan(**plan)).advice()


@settings(max_examples=30)
@given(
    name=st.sampled_from(["llama-3-8b", "gpt2", "mixtral-8x7b"]),
    dp=st.sampled_from([1, 8]),
    tp=st.sampled_from([1, 2]),
    pp=st.sampled_from([1, 2, 4]),
    zero=st.integers(0, 3),
    microbatch=st.sampled_from([1, 4]),
    attention=st.sampled_from(["plain", "fused"]),
)
def test_every_number_is_that_of_the_changed_plan(name, dp, tp, pp, zero, microbatch, attention):
    model = pk.Model.preset(name)
    plan = pk.Plan(dp=dp, tp=tp, pp=pp, zero=zero, microbatch=microbatch, attention=attention, batch=128)
    if plan.problems(model):
        return
    report = pk.memory(model, plan)
    limit = report.limit()
    found = report.advice()
    assert [one.helps for one in found] == sorted((one.helps for one in found), reverse=True)
    for one in found:
        after = pk.memory(model, one.plan)
        assert one.peak == after.peak.max()
        assert one.extra_devices == one.plan.devices - plan.devices
        assert one.extra_traffic == pk.traffic(model, one.plan).total() - pk.traffic(model, plan).total()
        assert one.plan.batch == 128  # the same training
        if one.helps:
            column = report.categories.index(limit.category)
            fullest = int(after.peak.argmax())
            assert one.saves == pytest.approx(limit.bytes - after.bytes[fullest, column])
            assert one.peak < limit.peak
        else:
            assert limit.category not in one.lowers or one.peak >= limit.peak


def test_where_activations_decide_zero_does_not_help_and_a_smaller_microbatch_does():
    found = {one.change: one for one in advice(dp=8, zero=1, batch=64, microbatch=8)}
    assert found["Take microbatches of 4 instead of 8"].helps
    assert found["Recompute whole blocks (full)"].helps
    assert found["Recompute whole blocks (full)"].extra_compute == pytest.approx(0.31, abs=0.01)
    zero = found["Use ZeRO 3"]
    assert not zero.helps
    assert "activations" not in zero.lowers
    assert str(zero).startswith(
        "Use ZeRO 3: does not help: it lowers parameters by 14.1 GB and gradients by 14.1 GB, not activations, "
        "which decides."
    )


def test_where_optimizer_state_decides_it_is_the_other_way_round():
    found = {one.change: one for one in advice(dp=8, batch=64, microbatch=2)}
    assert not found["Take microbatches of 1 instead of 2"].helps
    assert set(found["Take microbatches of 1 instead of 2"].lowers) == {"activations"}
    assert found["Use ZeRO 1"].helps
    assert found["Use ZeRO 1"].saves == pytest.approx(12 * LLAMA.parameters * 7 / 8)
    assert found["Use ZeRO 1"].extra_traffic == 0


def test_one_replica_makes_zero_useless_and_it_is_said_why():
    zero = next(one for one in advice() if one.change == "Use ZeRO 3")
    assert (zero.helps, zero.saves, zero.lowers) == (False, 0.0, {})
    assert str(zero) == (
        "Use ZeRO 3: does not help: it lowers nothing. It divides optimizer state, gradients and parameters by "
        "dp=1, so by one. Cost: nothing that is counted here."
    )


def test_what_costs_least_comes_first():
    found = [one for one in advice(tp=2, dp=2, batch=64, microbatch=16, attention="plain") if one.helps]
    assert found[0].change == "Use fused attention"
    assert (found[0].extra_compute, found[0].extra_traffic, found[0].extra_devices) == (0, 0, 0)
    devices = [one.extra_devices > 0 for one in found]
    assert devices == sorted(devices)


def test_costs_are_in_words_and_in_one_unit():
    more = next(one for one in advice(pp=2, batch=8) if one.change == "Split layers over pp=4")
    assert more.idle_share == (pytest.approx(1 / 9), pytest.approx(3 / 11))
    assert "Cost: 2 devices more, 0.07 GiB" not in str(more)
    words = more.sentence("GiB")
    assert "idle share 27% instead of 11%" in words
    assert " GB" not in words


def test_changes_that_cannot_run_are_not_advised():
    model = pk.Model(layers=3, hidden=9, heads=3, mlp=9)
    for one in advice(model, batch=1):
        assert one.plan.problems(model) == ()
        assert "tp=2" not in one.change


@pytest.mark.parametrize(
    "report", [pk.memory(10**9, pk.Plan()), pk.memory(LLAMA, pk.Plan(), activations=False)]
)
def test_without_activations_there_is_nothing_to_weigh(report):
    with pytest.raises(ValueError, match="advice needs "):
        report.advice()


def test_the_plan_s_other_choices_stay():
    plan = pk.Plan(dp=8, batch=64, microbatch=2, sequence=1024, trainable=0.5)
    for one in pk.memory(LLAMA, plan).advice():
        same = replace(
            one.plan, **{name: getattr(plan, name) for name in ("dp", "tp", "pp", "zero", "microbatch")}
        )
        assert (same.sequence, same.trainable, same.batch) == (1024, 0.5, 64)
