"""What the order alone says of what is held, against the simulation and against fewer microbatches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parakit as pk
from parakit.pipeline.held import holding, holding_of
from parakit.pipeline.layout import layout, layout_of


def plan_of(name, devices, microbatches, chunks):
    chunked = name in ("interleaved-1f1b", "looped-bfs", "interleaved-zb")
    return pk.Plan(schedule=name, pp=devices, batch=microbatches, chunks=chunks if chunked else None)


SIZES = {
    "name": st.sampled_from(pk.schedules()),
    "devices": st.integers(1, 6),
    "microbatches": st.integers(1, 48),
    "chunks": st.integers(1, 3),
}


@settings(max_examples=200)
@given(**SIZES, seed=st.integers(0, 99))
def test_a_few_microbatches_tell_what_many_hold_at_most(name, devices, microbatches, chunks, seed):
    plan = plan_of(name, devices, microbatches, chunks)
    if plan.problems():
        return
    order = pk.schedule(name, devices=devices, microbatches=microbatches, chunks=plan.chunks_each)
    kept, again = np.random.default_rng(seed).random((2, order.stages))
    few = holding(name, devices, microbatches, plan.chunks_each)
    np.testing.assert_allclose(few.peak(kept, again), holding_of(order).peak(kept, again))
    np.testing.assert_array_equal(few.held.sum(axis=2).max(axis=1), pk.simulate(order).in_flight)


@given(**SIZES)
def test_the_layout_of_a_few_microbatches_is_that_of_many(name, devices, microbatches, chunks):
    plan = plan_of(name, devices, microbatches, chunks)
    if plan.problems():
        return
    order = pk.schedule(name, devices=devices, microbatches=microbatches, chunks=plan.chunks_each)
    one, other = layout(name, devices, plan.chunks_each), layout_of(order)
    np.testing.assert_array_equal(one.stages, other.stages)
    assert one.sends == other.sends
    assert one.share == other.share == (0.5 if name == "dualpipe" else 1)
    assert one.one_stage_each == order.one_stage_each
    for stage in range(order.stages):
        assert len(one.holders(stage)) == (2 if name == "dualpipe" else 1)


def test_devices_with_different_numbers_of_stages_are_refused():
    with pytest.raises(ValueError) as error:
        layout_of(pk.Schedule.from_text("0F0,1F0\n2F0"))
    assert str(error.value) == (
        "the devices of this schedule have 1, 2 stages: memory is counted where all have equally many"
    )
