"""Every kind of fault in an order is found, with its place and reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk

ILLEGAL = read("schedules.json")["illegal"]


def said(text: str) -> list[str]:
    return [str(problem) for problem in pk.Schedule.from_text(text).problems()]


def test_a_legal_order_has_none():
    assert said("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1") == []
    assert said("0F0,0I0,0W0") == []
    assert said("0F0,0F1") == []  # forward only


CASES = [
    ("0F0,0F0,0B0", ["device 0, position 1: A1 forward stands in the order more than once"]),
    ("0F0,0F1,0B0", ["A2 backward is missing: no device has it in its order"]),
    (
        "0F1,0B1",
        [
            "A1 forward is missing: no device has it in its order",
            "A1 backward is missing: no device has it in its order",
        ],
    ),
    ("0B0,0F0", ["device 0, position 0: A1 backward stands before A1 forward, which it needs"]),
    (
        "0F0,0W0,0I0",
        [
            "device 0, position 1: A1 backward for weights stands before A1 backward for inputs, which it needs"
        ],
    ),
    ("0F0,0W0", ["A1 backward for inputs is missing: no device has it in its order"]),
    ("0F0,0I0", ["A1 backward for weights is missing: no device has it in its order"]),
    (
        "0F0,0B0,0W0",
        [
            "A1 backward for inputs is missing: no device has it in its order",
            "device 0, position 1: A1 backward is a full backward, and its parts I or W stand in the order too",
        ],
    ),
    ("0F0\n0B0", ["device 1, position 0: A1 backward needs what A1 forward kept, and that is on device 0"]),
    ("1F0,0F0", ["device 0, position 0: B1 forward stands before A1 forward, which it needs"]),
    (
        "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0",
        [
            "device 0, position 1: A1 backward waits for B1 backward, which never comes: the devices wait for each other",
            "device 1, position 0: B2 forward waits for A2 forward, which never comes: the devices wait for each other",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text.replace("\n", " / ") for text, _ in CASES])
def test_each_fault_is_named_with_its_place(text, expected):
    assert said(text) == expected


@pytest.mark.parametrize("point", ILLEGAL, ids=lambda point: f"{point['ranks']}x{point['microbatches']}")
def test_torch_s_own_illegal_1f1b_is_found_out(point):
    problems = pk.Schedule.from_text("\n".join(",".join(row) for row in point["order"])).problems()
    assert any("missing" in problem.reason for problem in problems)


def test_simulating_an_illegal_order_gives_the_same_sentences():
    schedule = pk.Schedule.from_text("0B0,0F0,0F0")
    with pytest.raises(pk.ScheduleError) as error:
        pk.simulate(schedule)
    assert error.value.problems == schedule.problems()
    assert str(error.value) == (
        "this schedule cannot run:\n"
        "  - device 0, position 2: A1 forward stands in the order more than once\n"
        "  - device 0, position 0: A1 backward stands before A1 forward, which it needs"
    )


def test_unknown_communication_is_refused():
    with pytest.raises(
        ValueError, match="communication is 'blocking': 'free' is the only kind checked so far"
    ):
        pk.Schedule.from_text("0F0,0B0").problems("blocking")


@given(st.data())
def test_an_order_is_legal_exactly_when_it_can_be_simulated(data):
    schedule = pk.schedule(
        "1f1b", devices=data.draw(st.integers(1, 3)), microbatches=data.draw(st.integers(1, 4))
    )
    rows = [data.draw(st.permutations(row.split(","))) for row in schedule.to_text().split("\n")]
    drawn = pk.Schedule.from_text("\n".join(",".join(row) for row in rows))
    problems = drawn.problems()
    if problems:
        with pytest.raises(pk.ScheduleError) as error:
            pk.simulate(drawn)
        assert error.value.problems == problems
    else:
        assert pk.simulate(drawn).span > 0


TEXTS = [
    (
        "0F0,9999999F9999999",
        "the text speaks of 10,000,000 stages and 10,000,000 microbatches: stages × microbatches may be at most "
        "4,000,000; count both from 0",
    ),
    ("", "the text has no actions: write a line a device, such as 0F0,0F1,0B0,0B1"),
    (",,\n,", "the text has no actions: write a line a device, such as 0F0,0F1,0B0,0B1"),
    (
        "0F0,0B0\n1F0,1X0",
        "line 2, cell 2: '1X0' is not an action; write stage, kind and microbatch counted from 0, such as 0F0, "
        "with kind F, B, I or W",
    ),
    (
        "0F99999999",
        "line 1, cell 1: '0F99999999' is not an action; write stage, kind and microbatch counted from 0, such as "
        "0F0, with kind F, B, I or W",
    ),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=range(len(TEXTS)))
def test_a_text_that_is_no_schedule_is_refused(text, expected):
    with pytest.raises(ValueError) as error:
        pk.Schedule.from_text(text)
    assert str(error.value) == expected


@given(st.text(alphabet="0123FBIW,\n x-", max_size=30))
def test_any_text_gives_a_schedule_or_one_value_error(text):
    try:
        schedule = pk.Schedule.from_text(text)
    except ValueError:
        return
    for problem in schedule.problems():
        assert str(problem)
