"""Memory over time: its peak is the report's, and its pieces are the schedule's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parakit as pk

MODEL = pk.Model(layers=24, hidden=64, heads=4, vocabulary=5000)


@settings(max_examples=80)
@given(
    schedule=st.sampled_from(pk.schedules()),
    pp=st.sampled_from([1, 2, 3, 4, 6]),
    batch=st.integers(1, 16),
    recompute=st.sampled_from(["none", "full"]),
    transfer=st.sampled_from([0.0, 0.3]),
    backward=st.sampled_from([1.0, 2.0, 0.4]),
    data=st.data(),
)
def test_the_peak_is_the_report_s_whatever_the_times(
    schedule, pp, batch, recompute, transfer, backward, data
):
    plan = pk.Plan(schedule=schedule, pp=pp, batch=batch, recompute=recompute)
    if plan.problems(MODEL):
        return
    device = data.draw(st.integers(0, pp - 1))
    held = pk.memory_over_time(MODEL, plan, device, transfer=transfer, backward=backward)
    assert held.peak == pytest.approx(held.report.peak[device], rel=1e-12)
    assert held.peak == pytest.approx(pk.memory(MODEL, plan).peak[device], rel=1e-12)
    # Pieces follow each other from 0 to the end, and each of the device's actions is one of them.
    assert held.times[0] == 0
    assert held.times[-1] == pytest.approx(held.timeline.span)
    assert (np.diff(held.times) > 0).all()
    actions = held.action[held.action >= 0]
    made = held.timeline  # an overlapped pair is one piece, its F's
    alone = ~(made.overlapped & (made.kind != 0))
    np.testing.assert_array_equal(actions, np.flatnonzero((made.device == device) & alone))
    pieces = np.flatnonzero(held.action >= 0)
    np.testing.assert_array_equal(held.times[pieces], held.timeline.start[actions])


def test_1f1b_fills_up_stays_and_empties():
    plan = pk.Plan(pp=4, batch=8)
    held = pk.memory_over_time(MODEL, plan, 1)
    activations = held.bytes[:, 3] / held.bytes[:, 3].max()
    assert activations[0] == 0  # it waits for the first microbatch
    assert np.isclose(activations, 1).any()
    assert activations[-1] == 0
    assert set(np.round(activations * 3).astype(int)) == {0, 1, 2, 3}
    assert (held.bytes[:, :3] == held.bytes[0, :3]).all()


def test_a_block_is_held_again_only_while_its_backward_runs():
    plan = pk.Plan(pp=2, batch=2, recompute="full")
    held = pk.memory_over_time(MODEL, plan, 0)
    kinds = [held.timeline.kind[i] if i >= 0 else None for i in held.action]
    level = dict(zip(range(len(kinds)), held.bytes[:, 3], strict=True))
    back = [i for i, kind in enumerate(kinds) if kind == 1]
    assert all(level[i] > level[i - 1] for i in back)


ERRORS = [
    (dict(device=4), "device is 4: it must be a whole number from 0 to 3, the 4 pipeline ranks there are"),
    (
        dict(device="A"),
        "device is 'A': it must be a whole number from 0 to 3, the 4 pipeline ranks there are",
    ),
    (
        dict(model=10**9),
        "memory over time needs a pk.Model: a plain number of parameters has no activations",
    ),
]


@pytest.mark.parametrize(("arguments", "text"), ERRORS, ids=[text[:20] for _, text in ERRORS])
def test_what_cannot_be_is_said(arguments, text):
    with pytest.raises(ValueError) as error:
        pk.memory_over_time(**{"model": MODEL, "plan": pk.Plan(pp=4), **arguments})
    assert str(error.value) == text
