"""Times against closed forms, and what always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline.plain import event_loop

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


@given(
    name=st.sampled_from(pk.schedules()),
    p=st.integers(1, 6),
    m=st.integers(1, 14),
    transfer=st.sampled_from([0, 0.5, 3]),
    pair=st.sampled_from([None, 2.5]),
)
def test_times_equal_those_of_a_plain_event_loop(name, p, m, transfer, pair):
    if pk.Plan(schedule=name, pp=p, batch=m).problems():
        return
    schedule = pk.schedule(name, devices=p, microbatches=m)
    grid = pk.simulate(schedule, backward=2, weight=0.5, transfer=transfer, pair=pair)
    assert times_of(grid) == plain_times(schedule, transfer, pair)


@pytest.mark.parametrize("name", ["1f1b", "gpipe", "zb-h1", "interleaved-1f1b"])
def test_many_devices_at_once_give_the_same_times_as_one_after_the_other(name):
    schedule = pk.schedule(name, devices=48, microbatches=48)
    grid = pk.simulate(schedule, backward=2, weight=0.5, transfer=0.3)
    assert times_of(grid) == plain_times(schedule, 0.3, None)


def times_of(grid):
    return {
        (Kind(k), s, i): (a, b)
        for k, s, i, a, b in zip(
            grid.kind.tolist(),
            grid.stage.tolist(),
            grid.microbatch.tolist(),
            grid.start.tolist(),
            grid.end.tolist(),
            strict=True,
        )
    }


def plain_times(schedule, transfer, pair):
    done = event_loop(schedule, {"F": 1.0, "B": 2.0, "I": 1.5, "W": 0.5}, transfer, pair)
    return {(k, s, i): (task.start, task.end) for task in done for s, k, i in task.actions}


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


def test_one_long_microbatch_is_waited_for():
    uneven = np.ones((1, 4))
    uneven[0, 1] = 5
    assert timeline("gpipe", 2, 4, forward_only=True, forward=uneven).span == 8 + 5
    cells = np.ones((2, 4))
    cells[1, 3] = 3
    assert timeline("gpipe", 2, 4, forward_only=True, forward=cells).span == 4 + 3


def test_each_boundary_may_have_its_own_transfer():
    grid = timeline("gpipe", 3, 1, backward=1, transfer=[0.5, 4])
    assert grid.span == 6 + 2 * 4.5


def test_transfers_that_do_not_overlap_take_the_sender_s_time():
    hidden = timeline("gpipe", 2, 4, forward_only=True, transfer=1)
    shown = timeline("gpipe", 2, 4, forward_only=True, transfer=1, overlap=False)
    assert (hidden.span, shown.span) == (6, 9)
    first = shown.device == 0
    assert shown.start[first].tolist() == [0, 2, 4, 6]
    assert shown.busy.tolist() == hidden.busy.tolist()


def test_the_last_stage_sends_no_forward_and_the_first_no_backward():
    assert timeline("gpipe", 1, 3, transfer=5, overlap=False).span == 9


@given(seed=st.integers(0, 1000), name=st.sampled_from(["1f1b", "dualpipev"]))
def test_jitter_is_seeded_and_keeps_the_mean(seed, name):
    schedule = pk.schedule(name, devices=4, microbatches=40)
    one, two = (pk.simulate(schedule, jitter=0.3, rng=seed) for _ in range(2))
    assert one.end.tolist() == two.end.tolist()
    took = one.end - one.start
    assert (took > 0).all()
    scale = took[one.kind == Kind.F][~one.overlapped[one.kind == Kind.F]]
    if name == "1f1b":
        assert scale.mean() == pytest.approx(1, abs=0.12)
        assert scale.std() == pytest.approx(0.3, abs=0.1)
    both = one.overlapped
    assert sorted(one.start[both & (one.kind == Kind.F)]) == sorted(one.start[both & (one.kind == Kind.B)])
    assert one.span != pk.simulate(schedule, jitter=0.3, rng=seed + 1).span


def test_an_overlapped_pair_shares_its_time_and_is_busy_once():
    order = pk.Schedule.from_text("0F0,(0F1;0B0)OVERLAP_F_B,0B1")
    grid = pk.simulate(order, forward=1, backward=2)
    assert (grid.span, grid.busy.tolist()) == (6, [6])
    grid = pk.simulate(order, forward=1, backward=2, pair=2.5)
    assert (grid.span, grid.busy.tolist(), grid.idle_share) == (5.5, [5.5], 0)
    assert grid.start[grid.overlapped].tolist() == [1, 1]
    assert grid.in_flight.tolist() == [2]
    grid = pk.simulate(order, forward=1, backward=2, pair=2.5, overhead=0.5)
    assert grid.span == 1.5 + 3.5 + 2.5
    grid = pk.simulate(order, forward=1, backward=2, pair=[[2.0, 4.0]])
    assert grid.span == 1 + 4 + 2


@given(
    **SIZES, name=st.sampled_from(pk.schedules()), transfer=st.sampled_from([0.0, 0.7]), overlap=st.booleans()
)
def test_idle_is_fill_and_wait_and_drain(name, p, m, transfer, overlap):
    if pk.Plan(schedule=name, pp=p, batch=m).problems():
        return
    grid = timeline(name, p, m, transfer=transfer, overlap=overlap)
    parts = grid.idle_parts
    assert list(parts) == ["fill", "wait", "drain"]
    assert sum(parts.values()) == pytest.approx(grid.idle)
    assert all((part > -1e-9).all() for part in parts.values())
    assert parts["wait"] == pytest.approx(grid.idle_in_window)
    # What an action waited for ended before it began; the path of these decides the span.
    waited = grid.waits >= 0
    assert (grid.end[grid.waits[waited]] <= grid.start[waited] + 1e-9).all()
    assert (grid.start[~waited] == 0).all()
    path = grid.critical_path
    took = (grid.end - grid.start)[path].sum()
    between = grid.start[path[1:]] - grid.end[path[:-1]]
    assert grid.end[path[-1]] == grid.span == pytest.approx(took + between.sum())
    # Of a pair both results are sent before its device goes on.
    assert set(between.round(9).tolist()) <= {0.0, transfer, 2 * transfer}


def test_the_critical_path_grows_with_every_action_on_it():
    schedule = pk.schedule("1f1b", devices=4, microbatches=8)
    cells = np.ones((4, 8))
    grid = pk.simulate(schedule, forward=cells, backward=2)
    for at in grid.critical_path.tolist():
        if grid.kind[at] == Kind.F:
            longer = cells.copy()
            longer[grid.stage[at], grid.microbatch[at]] += 0.25
            assert pk.simulate(schedule, forward=longer, backward=2).span == grid.span + 0.25


def test_waits_say_which_other_device_s_result_was_waited_for():
    grid = timeline("gpipe", 2, 2, forward_only=True)
    names = [f"{s}F{i}" for s, i in zip(grid.stage, grid.microbatch, strict=True)]
    waited = {name: names[at] if at >= 0 else None for name, at in zip(names, grid.waits, strict=True)}
    assert waited == {"0F0": None, "0F1": "0F0", "1F0": "0F0", "1F1": "1F0"}


@given(**SIZES, name=st.sampled_from(pk.schedules()))
def test_in_flight_over_time_peaks_at_in_flight(name, p, m):
    if pk.Plan(schedule=name, pp=p, batch=m).problems():
        return
    grid = timeline(name, p, m)
    for device in range(p):
        time, held = grid.in_flight_over_time(device)
        assert (np.diff(time) > 0).all()
        assert held.max() == grid.in_flight[device]
        assert held[-1] == 0
        # At any moment it is the forwards begun less the backwards done.
        last = grid.kind == (Kind.W if (grid.kind == Kind.W).any() else Kind.B)
        if not (last & (grid.device == device)).any() or name.startswith("dual"):
            continue
        moment = time[len(time) // 2]
        mine = grid.device == device
        begun = (mine & (grid.kind == Kind.F) & (grid.start <= moment)).sum()
        assert held[len(time) // 2] == begun - (mine & last & (grid.end <= moment)).sum()
    with pytest.raises(ValueError) as error:
        grid.in_flight_over_time(p)
    assert str(error.value) == f"device is {p}: it must be a whole number from 0 to {p - 1}"


ERRORS = [
    (dict(forward=-1), "forward is -1: durations must be finite and at least 0"),
    (dict(forward=float("nan")), "forward is nan: durations must be finite and at least 0"),
    (
        dict(backward="long"),
        "backward is 'long': it must be a number, one a stage, or one a stage and microbatch",
    ),
    (
        dict(forward=[1, 2]),
        "forward has the shape (2,): it must be a number, one for each of 4 stages, or of shape (4, 8): one a stage and microbatch",
    ),
    (
        dict(transfer=[1, 2]),
        "transfer has the shape (2,): it must be a number, or one for each of 3 boundaries between stages",
    ),
    (dict(transfer=[1, 2, -1]), "transfer is [1, 2, -1]: durations must be finite and at least 0"),
    (dict(transfer="x"), "transfer is 'x': it must be a finite number of at least 0"),
    (dict(pair=-1), "pair is -1: durations must be finite and at least 0"),
    (dict(overlap="no"), "overlap is 'no': it must be True or False"),
    (
        dict(jitter=0.1),
        "jitter is 0.1 and rng is None: give a seed, such as rng=0, so that the same call gives the same times",
    ),
    (dict(jitter=0.1, rng="x"), "rng is 'x': give a seed, such as rng=0, or a NumPy Generator"),
    (dict(jitter=-0.1), "jitter is -0.1: it must be a finite number of at least 0"),
    (dict(transfer=-0.1), "transfer is -0.1: it must be a finite number of at least 0"),
    (dict(overhead="x"), "overhead is 'x': it must be a finite number of at least 0"),
    (dict(weight=3), "weight 3 is more than backward 2: it is the part of backward spent on weights"),
]


@pytest.mark.parametrize(("durations", "text"), ERRORS, ids=[text[:30] for _, text in ERRORS])
def test_bad_durations_are_refused_with_the_whole_sentence(durations, text):
    with pytest.raises(ValueError) as error:
        timeline(**durations)
    assert str(error.value) == text
