"""Bubbles and peaks against the closed forms of the papers, over the whole domain of each."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk

PUBLISHED = {row["schedule"]: row for row in read("bubbles.json")["rows"]}
SLOTS = st.integers(1, 6)


def grid(name, p, m, chunks=None, **durations):
    return pk.simulate(pk.schedule(name, devices=p, microbatches=m, chunks=chunks), **durations)


def split(f, i, w):
    """Durations in the papers' words: T_B is I, T_W is W."""
    return dict(forward=f, backward=i + w, weight=w)


@given(p=st.integers(1, 8), extra=st.integers(0, 16), f=SLOTS, i=SLOTS, w=SLOTS)
def test_zb_h1(p, extra, f, i, w):
    w = min(w, i)
    made = grid("zb-h1", p, p + extra, **split(f, i, w))
    assert made.in_flight.max() == p, PUBLISHED["zb-h1"]["peak_activation"]
    # T_W <= T_B is the paper's domain. With W longer than F no order with this peak can do it: the
    # first device may run p forwards, and its first I cannot start before p·F + (p-1)·I.
    published = (p - 1) * (f + i - w)
    assert made.idle_in_window.max() == (published if w <= f else (p - 1) * i), PUBLISHED["zb-h1"][
        "idle_time"
    ]


@given(p=st.integers(1, 8), extra=st.integers(0, 16), f=SLOTS, i=SLOTS, w=SLOTS)
def test_zb_h2(p, extra, f, i, w):
    w = min(w, (f + i) // 2)
    made = grid("zb-h2", p, 2 * p - 1 + extra, **split(f, i, w))
    assert made.in_flight.max() == 2 * p - 1, PUBLISHED["zb-h2"]["peak_activation"]
    # As above: 2p-1 forwards fit before the first I of the first device.
    published = (p - 1) * (f + i - 2 * w)
    assert made.idle_in_window.max() == (published if w <= f else (p - 1) * (i - f)), PUBLISHED["zb-h2"][
        "idle_time"
    ]


@given(p=st.integers(1, 8), extra=st.integers(0, 16), slot=SLOTS)
def test_zb_h2_waits_within_no_device_s_window_and_still_idles_over_the_span(p, extra, slot):
    made = grid("zb-h2", p, 2 * p - 1 + extra, **split(slot, slot, slot))
    assert made.idle_in_window.max() == 0
    assert made.idle.tolist() == [(p - 1) * slot] * p


@given(p=st.integers(1, 8), extra=st.integers(0, 16), f=SLOTS, b=SLOTS)
def test_1f1b_in_the_words_of_the_zero_bubble_paper(p, extra, f, b):
    made = grid("1f1b", p, p + extra, forward=f, backward=b)
    assert made.idle_in_window.max() == (p - 1) * (f + b)


@given(half=st.integers(1, 5), extra=st.integers(0, 8), f=SLOTS, w=SLOTS, together=st.floats(0, 1))
def test_dualpipe(half, extra, f, w, together):
    p, w = 2 * half, min(w, f)
    i = f  # the published form holds where a backward for inputs takes as long as a forward
    pair = max(f, i + w) + round(together * min(f, i + w))
    made = grid("dualpipe", p, 2 * (p + extra), **split(f, i, w), pair=pair)
    assert made.in_flight.max() == p + 1, PUBLISHED["dualpipe"]["activations"]
    assert made.in_flight_share.max() == p + 1
    published = (half - 1) * (pair + (i + w) - 3 * w)
    assert made.idle.max() == published, PUBLISHED["dualpipe"]["idle_time"]
    # Devices run different numbers of pairs, so where a pair is shorter than its sum the ones at the
    # ends have more to do and wait less between their first and last action.
    saved = (half - 2) * (f + i + w - pair) if half > 2 else 0
    assert made.idle_in_window.max() == published - saved


def test_dualpipe_at_the_report_s_own_size_with_slots_of_equal_length():
    made = grid("dualpipe", 8, 20)
    assert made.idle_in_window.max() == 3 * (3 + 2 - 3)


@given(
    name=st.sampled_from(pk.schedules()),
    p=st.integers(1, 8),
    m=st.integers(1, 24),
    chunks=st.integers(1, 4),
    f=SLOTS,
    i=SLOTS,
    w=SLOTS,
)
def test_no_bubble_is_below_what_any_order_needs(name, p, m, chunks, f, i, w):
    chunked = name in ("interleaved-1f1b", "looped-bfs", "interleaved-zb")
    plan = pk.Plan(schedule=name, pp=p, chunks=chunks if chunked else None, batch=m)
    if plan.problems():
        return
    made = grid(name, p, m, plan.chunks_each, **split(f, i, w))
    # Every device has the same work of m microbatches of its share; the span is at least that, and at
    # least one microbatch's way through all stages and back to the first.
    share = plan.chunks_each
    assert made.busy.tolist() == [m * share * (f + i + w)] * p
    whole = made.schedule.stages * (f + i) + w
    assert made.span >= max(m * share * (f + i + w), whole)
    # A device that does not have the first stage waits for its first microbatch.
    assert made.idle.max() >= (0 if name == "dualpipe" or p == 1 else f)


def peak(name, p, m, v):
    """The most (stage, microbatch) pairs a device is said to hold at once."""
    size = m // max(1, m // p)  # of a round
    return {
        "gpipe": m,
        "1f1b": min(p, m),
        "interleaved-1f1b": min((v - 1) * size + 2 * (p - 1) + 1, m * v),
        "looped-bfs": m * v,
        "zb-h1": min(p, m),
        "zb-h2": min(2 * p - 1, m),
        "zbv": min(2 * p, 2 * m),
        "dualpipev": 2 * p + 1,
        "dualpipe": p + 1,
    }.get(name)


@given(name=st.sampled_from(pk.schedules()), p=st.integers(1, 8), m=st.integers(1, 24), v=st.integers(1, 4))
def test_the_fullest_device_holds_what_the_schedule_is_known_for(name, p, m, v):
    chunked = name in ("interleaved-1f1b", "looped-bfs", "interleaved-zb")
    plan = pk.Plan(schedule=name, pp=p, chunks=v if chunked else None, batch=m)
    known = peak(name, p, m, v)
    if plan.problems() or known is None:
        return
    assert grid(name, p, m, plan.chunks_each).in_flight.max() == known


@pytest.mark.parametrize("name", pk.schedules())
def test_every_schedule_is_in_the_docstring_with_its_paper(name):
    text = pk.schedule.__doc__
    start = text.index(f"    {name}: ")
    paragraph = text[start:].split(". ")[:6]
    assert any(
        year in " ".join(paragraph) for year in ("2019", "2018", "2021", "2022", "2023", "2024", "2025")
    )


def test_the_shares_are_the_same_numbers_as_fractions():
    made = grid("1f1b", 4, 8)
    assert Fraction(made.idle_share).limit_denominator(100) == Fraction(3, 11)
