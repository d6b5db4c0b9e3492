"""Times against closed forms, and what always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk
from parakit.pipeline import Kind


def timeline(name="1f1b", p=4, m=8, forward_only=False, **durations):
    return pk.simulate(pk.schedule(name, devices=p, microbatches=m, forward_only=forward_only), **durations)


def test_forward_only_4_by_8():
    grid = timeline("gpipe", forward_only=True)
    assert (grid.span, grid.idle.sum(), grid.devices * grid.span) == (11, 12, 44)
    assert grid.idle_share == 3 / 11
    assert grid.in_flight.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(("name", "held"), [("1f1b", [4, 3, 2, 1]), ("gpipe", [8, 8, 8, 8])])
def test_with_backward_4_by_8(name, held):
    grid = timeline(name, forward=1, backward=2)
    assert grid.span == 33
    assert grid.idle_share == pytest.approx(3 / 11, abs=1e-15)
    assert grid.idle_over_ideal == pytest.approx(3 / 8, abs=1e-15)
    assert grid.idle_in_window.tolist() == [9, 6, 3, 0]
    assert grid.in_flight.tolist() == held


SIZES = {"p": st.integers(1, 9), "m": st.integers(1, 20)}
ONE_STAGE = ("gpipe", "1f1b")


@given(
    p=st.integers(1, 6),
    rounds=st.integers(1, 4),
    v=st.integers(1, 4),
    f=st.integers(1, 5),
    b=st.integers(1, 5),
)
def test_interleaving_divides_the_bubble_by_the_stages_a_device(p, rounds, v, f, b):
    m = rounds * p
    schedule = pk.schedule("interleaved-1f1b", devices=p, microbatches=m, chunks=v)
    grid = pk.simulate(schedule, forward=f, backward=b)
    # Narayanan et al. 2021, section 2.2.2
    assert grid.idle_over_ideal == pytest.approx((p - 1) / (v * m))
    if rounds >= 2:
        assert grid.in_flight_share[0] == pytest.approx(p * (1 + (p - 1) / (p * v)))


@given(**SIZES, name=st.sampled_from(ONE_STAGE), f=st.integers(1, 5), b=st.integers(1, 5))
def test_closed_forms_hold_for_all_sizes_fewer_microbatches_too(name, p, m, f, b):
    grid = timeline(name, p, m, forward=f, backward=b)
    assert grid.span == (m + p - 1) * (f + b)
    assert grid.idle_share == pytest.approx((p - 1) / (m + p - 1))
    assert grid.idle_over_ideal == pytest.approx((p - 1) / m)
    held = [min(p - d, m) for d in range(p)] if name == "1f1b" else [m] * p
    assert grid.in_flight.tolist() == held


@given(**SIZES, name=st.sampled_from(ONE_STAGE), data=st.data())
def test_what_always_holds(name, p, m, data):
    times = st.lists(st.floats(0.1, 5), min_size=p, max_size=p)
    f, b = data.draw(times), data.draw(times)
    transfer, overhead = data.draw(st.floats(0, 2)), data.draw(st.floats(0, 1))
    grid = timeline(name, p, m, forward=f, backward=b, transfer=transfer, overhead=overhead)
    assert (np.diff(grid.start) >= 0).all()
    start = {
        (k, s, i): t for k, s, i, t in zip(grid.kind, grid.stage, grid.microbatch, grid.start, strict=True)
    }
    end = {(k, s, i): t for k, s, i, t in zip(grid.kind, grid.stage, grid.microbatch, grid.end, strict=True)}
    for s in range(p):
        mine = grid.device == s  # one action at a time
        assert (grid.start[mine][1:] >= grid.end[mine][:-1]).all()
        for i in range(m):
            assert end[Kind.F, s, i] - start[Kind.F, s, i] == pytest.approx(f[s] + overhead)
            assert end[Kind.B, s, i] - start[Kind.B, s, i] == pytest.approx(b[s] + overhead)
            assert start[Kind.B, s, i] >= end[Kind.F, s, i]
            if s:
                assert start[Kind.F, s, i] >= end[Kind.F, s - 1, i] + transfer
                assert start[Kind.B, s - 1, i] >= end[Kind.B, s, i] + transfer
    assert 0 <= grid.idle_share < 1
    assert (grid.idle_in_window <= grid.idle + 1e-9).all()
    assert grid.busy.sum() + grid.idle.sum() == pytest.approx(p * grid.span)


def brute_force(schedule, forward, backward, transfer):
    """Another way to the same times: repeat until nothing changes."""
    end = np.zeros(schedule.actions)
    device = schedule.device
    of_stage = dict(zip(schedule.stage.tolist(), device.tolist(), strict=True))
    place = {
        (int(k), int(s), int(i)): n
        for n, (k, s, i) in enumerate(zip(schedule.kind, schedule.stage, schedule.microbatch, strict=True))
    }
    took = np.where(schedule.kind == Kind.F, forward, backward)
    while True:
        new = end.copy()
        for n in range(schedule.actions):
            k, s, i = int(schedule.kind[n]), int(schedule.stage[n]), int(schedule.microbatch[n])
            begin = new[n - 1] if n and device[n - 1] == device[n] else 0.0
            other = place.get((k, s - 1 if k == Kind.F else s + 1, i))
            if other is not None:
                far = of_stage[s] != device[other]
                begin = max(begin, new[other] + transfer * far)
            new[n] = begin + took[n]
        if (new == end).all():
            return end
        end = new


@given(
    name=st.sampled_from(pk.schedules()),
    p=st.integers(1, 5),
    m=st.integers(1, 7),
    transfer=st.sampled_from([0, 0.5, 3]),
)
def test_times_equal_those_of_a_plain_fixed_point(name, p, m, transfer):
    if pk.Plan(schedule=name, pp=p, batch=m).problems():
        return
    schedule = pk.schedule(name, devices=p, microbatches=m)
    grid = pk.simulate(schedule, backward=2, transfer=transfer)
    assert sorted(grid.end) == sorted(brute_force(schedule, 1.0, 2.0, transfer))


def test_transfer_delays_the_receiver_and_costs_nothing_on_the_same_device():
    assert timeline("gpipe", 2, 1, forward_only=True, transfer=0.5).span == 2.5
    both = pk.Schedule.from_text("0F0,1F0")
    assert pk.simulate(both, transfer=0.5).span == 2


def test_split_backward_takes_backward_minus_weight_and_weight():
    grid = pk.simulate(pk.Schedule.from_text("0F0,0I0,0W0"), forward=1, backward=3, weight=1)
    assert grid.end.tolist() == [1, 3, 4]
    assert grid.in_flight.tolist() == [1]


def test_held_is_half_open_so_work_that_follows_at_once_does_not_add():
    grid = pk.simulate(pk.Schedule.from_text("0F0,0B0,0F1,0B1"), forward=0.1, backward=0.2)
    assert grid.in_flight.tolist() == [1]


def test_one_slow_stage_is_waited_for():
    assert timeline("gpipe", 3, 4, forward_only=True, forward=[1, 2, 1]).span == 1 + 4 * 2 + 1


ERRORS = [
    (dict(forward=-1), "forward is -1: durations must be finite and at least 0"),
    (dict(forward=float("nan")), "forward is nan: durations must be finite and at least 0"),
    (dict(backward="long"), "backward is 'long': it must be a number, or one a stage"),
    (dict(forward=[1, 2]), "forward has the shape (2,): it must be a number, or one for each of 4 stages"),
    (dict(transfer=-0.1), "transfer is -0.1: it must be a finite number of at least 0"),
    (dict(overhead="x"), "overhead is 'x': it must be a finite number of at least 0"),
    (dict(weight=3), "weight 3 is more than backward 2: it is the part of backward spent on weights"),
]


@pytest.mark.parametrize(("durations", "text"), ERRORS, ids=[text[:30] for _, text in ERRORS])
def test_bad_durations_are_refused_with_the_whole_sentence(durations, text):
    with pytest.raises(ValueError) as error:
        timeline(**durations)
    assert str(error.value) == text
