"""Schedules beside each other do equal work; curves have the minimum that calculus gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk
from parakit.pipeline import bubble_curves


@given(
    names=st.lists(st.sampled_from(pk.schedules()), min_size=1, max_size=4),
    p=st.sampled_from([2, 4, 6]),
    rounds=st.integers(2, 3),
    chunks=st.sampled_from([None, 1, 3]),
    f=st.floats(0.1, 3),
    b=st.floats(0.1, 3),
)
def test_all_do_the_same_work(names, p, rounds, chunks, f, b):
    made = pk.compare(names, devices=p, microbatches=rounds * p, chunks=chunks, forward=f, backward=b)
    for timeline in made.timelines:
        assert timeline.busy == pytest.approx([rounds * p * (f + b)] * p)
    for row, timeline in zip(made.rows, made.timelines, strict=True):
        assert row.idle_share == timeline.idle_share
        assert row.held == timeline.in_flight_share.max()
        assert row.copies == (2 if row.name == "dualpipe" else 1)
    assert made.fastest.span == min(row.span for row in made.rows)


def test_sends_are_boundaries_times_microbatches_both_ways():
    made = pk.compare(["1f1b", "interleaved-1f1b", "zbv", "dualpipe"], devices=4, microbatches=8)
    # An inner device sends forward and backward across each of its boundaries.
    assert [row.sends for row in made.rows] == [2 * 8, 2 * 2 * 8, 2 * 2 * 8, 2 * 8]


def test_one_slow_part_of_the_model_is_slow_for_all():
    slow = [1.0, 1.0, 2.0, 1.0]
    made = pk.compare(
        ["gpipe", "interleaved-1f1b"], devices=4, microbatches=8, forward=slow, forward_only=True
    )
    one, two = made.timelines
    assert one.busy.tolist() == [8, 8, 16, 8]
    assert one.span == 1 + 1 + 8 * 2 + 1
    # With two stages a device the slow quarter of the model is stages E and F, of two devices.
    assert two.busy.tolist() == [12, 12, 8, 8]


def test_more_reaches_the_simulation():
    plain, slow = (
        pk.compare(["gpipe"], devices=2, microbatches=2, **more).timelines[0].span
        for more in ({}, dict(transfer=1.0, overhead=0.5))
    )
    assert (plain, slow) == (9, 9 + 2 * 1.0 + 6 * 0.5)


ERRORS = [
    (dict(names="gpipe"), "names is 'gpipe': give a list of schedules, such as ['gpipe', '1f1b']"),
    (dict(names=[]), "names is []: give a list of schedules, such as ['gpipe', '1f1b']"),
    (dict(devices=None), "to compare 'gpipe' give devices= and microbatches="),
    (dict(forward=[1, 2]), "forward has the shape (2,): it must be a number, or one for each of 4 devices"),
    (
        dict(backward="x"),
        "backward is 'x': it must be a number, one a stage, or one a stage and microbatch",
    ),
    (
        dict(names=["gpipe", "dualpipe"], microbatches=7),
        "7 microbatches are too few for 4 devices: dualpipe needs at least 2 × devices, an even number "
        "(nearest: 8 microbatches)",
    ),
]


@pytest.mark.parametrize(("change", "text"), ERRORS, ids=[text[:30] for _, text in ERRORS])
def test_bad_comparisons_are_refused_with_the_whole_sentence(change, text):
    with pytest.raises(ValueError) as error:
        pk.compare(**{"names": ["gpipe"], "devices": 4, "microbatches": 8, **change})
    assert str(error.value) == text


@pytest.mark.parametrize(("overhead", "best"), [(0.2, 11), (0.05, 22), (0.5, 7)])
def test_the_best_number_is_near_the_root(overhead, best):
    (curve,) = bubble_curves(
        ["gpipe"], devices=4, microbatches=range(1, 65), overhead=overhead, forward_only=True
    )
    m = curve.microbatches
    np.testing.assert_allclose(curve.span, (m + 3) * (8 / m + overhead))
    assert abs(m[curve.best] - np.sqrt(3 * 8 / overhead)) <= 1
    assert m[curve.best] == best
    np.testing.assert_allclose(curve.lost, 1 - 8 / curve.span)


def test_without_overhead_what_is_lost_is_the_idle_share():
    for curve in bubble_curves(["1f1b", "zb-h1", "interleaved-1f1b"], devices=3, microbatches=[1, 3, 6, 12]):
        for m, lost in zip(curve.microbatches.tolist(), curve.lost.tolist(), strict=True):
            assert pk.simulate(
                pk.schedule(curve.name, devices=3, microbatches=m)
            ).idle_share == pytest.approx(lost)


def test_numbers_that_a_schedule_does_not_take_are_left_out():
    curves = bubble_curves(["dualpipe", "interleaved-1f1b"], devices=4, microbatches=range(6, 16))
    assert [curve.microbatches.tolist() for curve in curves] == [
        [8, 10, 12, 14],
        [6, 7, 8, 10, 12, 15],
    ]


CURVE_ERRORS = [
    (dict(names="gpipe"), "names is 'gpipe': give a list of schedules, such as ['gpipe', '1f1b']"),
    (
        dict(names=["dualpipe"], devices=3),
        "dualpipe works with none of these numbers of microbatches: 3 devices cannot be entered from both ends "
        "alike: dualpipe needs an even number of devices (nearest: 2 or 4)",
    ),
    (dict(work=0), "work is 0: a batch of no work has no bubble; give what its forward takes, such as 8"),
    (dict(work=-1), "work is -1: it must be a finite number of at least 0"),
    (dict(microbatches=[0]), "microbatches is 0: it must be a whole number of at least 1"),
    (
        dict(devices=500, microbatches=range(1, 1000)),
        "the curves would take 1,498,500,000 actions, at most 4,000,000: give fewer numbers of microbatches, or "
        "smaller ones",
    ),
]


@pytest.mark.parametrize(("change", "text"), CURVE_ERRORS, ids=[text[:30] for _, text in CURVE_ERRORS])
def test_bad_curves_are_refused_with_the_whole_sentence(change, text):
    with pytest.raises(ValueError) as error:
        bubble_curves(**{"names": ["gpipe"], "devices": 4, **change})
    assert str(error.value) == text


def test_an_unknown_schedule_is_named():
    with pytest.raises(ValueError, match="there is no schedule 'gpip': did you mean 'gpipe'"):
        bubble_curves(["gpip"], devices=4)
