"""Deadlocks of blocking sends and receives, and the pairs that end them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk


def said(text: str) -> list[str]:
    return [str(problem) for problem in pk.Schedule.from_text(text).problems("blocking")]


def test_two_neighbours_that_both_send_first():
    assert said("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1") == [
        "device 0, position 1: devices 0 and 1 both send first and wait for each other: device 0 sends A2 forward; "
        "device 1 sends B1 backward. Fuse the pair: device 0 sends A2 forward and receives B1 backward in one call, "
        "device 1 the other way round"
    ]


def test_gpipe_needs_no_fusing_and_1f1b_needs_a_pair_for_each_time_two_neighbours_meet():
    assert pk.schedule("gpipe", devices=4, microbatches=8).problems("blocking") == ()
    found = pk.schedule("1f1b", devices=4, microbatches=8).problems("blocking")
    between = [tuple(sorted(device for device, _ in one.places)) for one in found]
    # The two of a boundary meet in every turn in which both have a forward and a backward to send:
    # the later one of them alternates m - (p - 1 - d) times, the last of these without a forward.
    assert {pair: between.count(pair) for pair in set(between)} == {(0, 1): 5, (1, 2): 6, (2, 3): 7}
    assert all("both send first" in one.reason for one in found)


def test_a_ring_of_sends_is_a_circle_of_all_its_devices():
    (first, *_) = pk.schedule("looped-bfs", devices=3, microbatches=4).problems("blocking")
    assert str(first) == (
        "device 0, position 2: the devices wait in a circle of blocking sends and receives: device 0 sends A3 "
        "forward; device 1 sends B2 forward; device 2 sends C1 forward. Fuse these sends with the receives that their "
        "devices do next"
    )
    assert first.places == ((0, 2), (1, 1), (2, 0))


def test_one_device_sends_nothing():
    for name in pk.schedules():
        if name != "dualpipe":
            assert pk.schedule(name, devices=1, microbatches=4).problems("blocking") == ()


def test_what_is_illegal_anyway_is_said_first():
    assert said("0F0,0F0,0B0") == ["device 0, position 1: A1 forward stands in the order more than once"]


MOVED = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0"


def test_a_text_s_own_sends_and_receives_are_followed():
    assert said(MOVED) == []
    both_first = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1"
    assert len(said(both_first)) == 1
    receive_first = both_first.replace("1SEND_B0,1RECV_F1,1F1", "1RECV_F1,1SEND_B0,1F1")
    assert said(receive_first) == []


CASES = [
    (
        MOVED.replace("1RECV_F0,", ""),
        ["device 1, position 0: no cell receives the result of A1 forward, which B1 forward needs"],
    ),
    (
        MOVED.replace("0SEND_F0,", ""),
        ["device 0, position 0: no cell sends the result of A1 forward, which B1 forward needs"],
    ),
    (
        MOVED.replace("0SEND_F0,", "0SEND_F0,0SEND_F0,"),
        ["device 0, position 0: 0SEND_F0 stands in the order more than once"],
    ),
    (
        MOVED.replace("0F0,0SEND_F0", "0SEND_F0,0F0"),
        [
            "device 0, position 0: 0SEND_F0 stands before A1 forward, whose result it sends",
            "device 0, position 0: no cell sends the result of A1 forward, which B1 forward needs",
        ],
    ),
    (
        MOVED.replace("1RECV_F0,1F0", "1F0,1RECV_F0"),
        [
            "device 1, position 1: 1RECV_F0 stands after B1 forward, which needs what it receives",
            "device 1, position 0: no cell receives the result of A1 forward, which B1 forward needs",
        ],
    ),
    (
        MOVED + ",1SEND_F0",
        ["device 1, position 1: 1SEND_F0 sends or receives what no other device needs"],
    ),
    (
        MOVED.replace("0SEND_F0,", "").replace("1RECV_F0,", "0SEND_F0,1RECV_F0,"),
        [
            "device 1, position 0: 0SEND_F0 stands on device 1, and its action is on device 0",
            "device 0, position 0: no cell sends the result of A1 forward, which B1 forward needs",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=range(len(CASES)))
def test_missing_misplaced_and_doubled_cells_of_communication(text, expected):
    assert said(text) == expected


@given(
    name=st.sampled_from(pk.schedules()),
    devices=st.sampled_from([2, 4, 6]),
    rounds=st.integers(2, 4),
)
def test_each_circle_is_found_once_and_is_between_different_devices(name, devices, rounds):
    order = pk.schedule(name, devices=devices, microbatches=rounds * devices)
    places = {problem.places for problem in order.problems("blocking")}
    assert len(places) == len(order.problems("blocking"))  # each circle once
    for problem in order.problems("blocking"):
        assert len({device for device, _ in problem.places}) == len(problem.places) >= 2
