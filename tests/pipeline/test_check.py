"""Every kind of fault in an order is found, with its place and reason."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import read
from pipeline.plain import event_loop

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
            "device 0, position 1: the devices wait in a circle: A1 backward waits for B1 backward, which comes after "
            "B2 forward on device 1; B2 forward waits for A2 forward, which comes after A1 backward on device 0"
        ],
    ),
    (  # two circles, the second behind the first
        "0F0,0B0,0F1,0B1,0F2,0B2,0F3,0B3\n1F1,1B1,1F0,1B0,1F3,1B3,1F2,1B2",
        [
            "device 0, position 1: the devices wait in a circle: A1 backward waits for B1 backward, which comes after "
            "B2 forward on device 1; B2 forward waits for A2 forward, which comes after A1 backward on device 0",
            "device 0, position 5: the devices wait in a circle: A3 backward waits for B3 backward, which comes after "
            "B4 forward on device 1; B4 forward waits for A4 forward, which comes after A3 backward on device 0",
        ],
    ),
    (  # a circle of three devices
        "0F0,3F1,0F1,3F0\n1F0,1F1,4F1,4F0\n2F0,2F1,5F1,5F0",
        [
            "device 0, position 1: the devices wait in a circle: D2 forward waits for C2 forward on device 2; "
            "C2 forward waits for B2 forward on device 1; B2 forward waits for A2 forward, which comes after "
            "D2 forward on device 0"
        ],
    ),
    (  # a circle is found beside another fault
        "0F0,0B0,0F1,0B1,0B1\n1F1,1B1,1F0,1B0",
        [
            "device 0, position 4: A2 backward stands in the order more than once",
            "device 0, position 1: the devices wait in a circle: A1 backward waits for B1 backward, which comes after "
            "B2 forward on device 1; B2 forward waits for A2 forward, which comes after A1 backward on device 0",
        ],
    ),
    (
        "(0F0;0B0)OVERLAP_F_B",
        [
            "device 0, position 0: A1 backward overlaps with A1 forward, and one of them needs what the other computes"
        ],
    ),
    (
        "0F0,(1F0;1B0)OVERLAP_F_B,0B0",
        [
            "device 0, position 1: B1 backward overlaps with B1 forward, and one of them needs what the other computes"
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
    with pytest.raises(ValueError) as error:
        pk.Schedule.from_text("0F0,0B0").problems("blockin")
    assert str(error.value) == (
        "there is no kind of communication 'blockin': did you mean 'blocking'? Known: free, blocking"
    )


def test_an_unknown_action_is_named_and_the_rest_is_checked_too():
    order = pk.Schedule.from_text("0F0,0F7,0B0,0B0,3F0", stages=1, microbatches=1)
    assert [str(one) for one in order.problems()] == [
        "device 0, position 1: 0F7 is unknown: there are 1 stage and 1 microbatch, both counted from 0, and kinds "
        "F, B, I, W",
        "device 0, position 4: 3F0 is unknown: there are 1 stage and 1 microbatch, both counted from 0, and kinds "
        "F, B, I, W",
        "device 0, position 3: A1 backward stands in the order more than once",
    ]
    with pytest.raises(pk.ScheduleError) as error:
        pk.simulate(order)
    assert error.value.problems == order.problems()


def test_a_circle_names_the_place_where_each_device_stands():
    (circle,) = pk.Schedule.from_text("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0").problems()
    assert circle.places == ((0, 1), (1, 0))
    assert circle.action == "0B0"


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


KINDS_OF_FAULT = ("repeat", "drop", "swap W", "move", "rename", "exchange")


@settings(max_examples=2000)
@given(
    name=st.sampled_from(pk.schedules()),
    devices=st.sampled_from([1, 2, 4]),
    rounds=st.integers(2, 3),
    seed=st.integers(0, 2**32 - 1),
    fault=st.sampled_from(KINDS_OF_FAULT),
)
def test_any_mutated_order_is_legal_or_has_clear_problems(name, devices, rounds, seed, fault):
    try:
        order = pk.schedule(name, devices=devices, microbatches=rounds * devices)
    except ValueError:
        return
    rng = random.Random(seed)
    rows = [row.split(",") for row in order.to_text().split("\n")]
    row = rng.choice(rows)
    a, b = rng.randrange(len(row)), rng.randrange(len(row))
    if fault == "repeat":
        row.insert(a, row[b])
    elif fault == "drop":
        del row[a]
    elif fault == "move":
        rng.choice(rows).insert(0, row.pop(a))
    elif fault == "rename":
        row[a] = row[a].translate(str.maketrans("FBIW", "".join(rng.sample("FBIW", 4))))
    else:
        row[a], row[b] = row[b], row[a]
    try:
        mutant = pk.Schedule.from_text(
            "\n".join(map(",".join, rows)), stages=order.stages, microbatches=order.microbatches
        )
    except ValueError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert "is not an action" in refused
        assert fault == "rename"
        return
    problems = mutant.problems()
    for problem in problems:
        assert problem.reason
        assert problem.device is None or 0 <= problem.position < mutant.actions
    if problems:
        assert mutant.problems("blocking") == problems
        with pytest.raises(pk.ScheduleError) as error:
            pk.simulate(mutant)
        assert error.value.problems == problems
        return
    assert fault not in ("repeat", "drop")
    timeline = pk.simulate(mutant)
    assert timeline.span > 0
    done = event_loop(mutant, {"F": 1.0, "B": 2.0, "I": 1.0, "W": 1.0})  # stuck: RuntimeError
    assert max(task.end for task in done) == timeline.span


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
        "with kind F, B, I or W; an overlapped pair as (0F1;3B0)OVERLAP_F_B; communication as 0SEND_F0 or 0UNSHARD",
    ),
    (
        "0F99999999",
        "line 1, cell 1: '0F99999999' is not an action; write stage, kind and microbatch counted from 0, such as "
        "0F0, with kind F, B, I or W; an overlapped pair as (0F1;3B0)OVERLAP_F_B; communication as 0SEND_F0 or 0UNSHARD",
    ),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=range(len(TEXTS)))
def test_a_text_that_is_no_schedule_is_refused(text, expected):
    with pytest.raises(ValueError) as error:
        pk.Schedule.from_text(text)
    assert str(error.value) == expected


@settings(max_examples=2000)
@given(
    st.lists(
        st.sampled_from([*"0123FBIW,\n x-();", "0F0", "(0F1;1B0)OVERLAP_F_B", "1SEND_F0", "0UNSHARD"]),
        max_size=12,
    ).map("".join)
)
def test_any_text_gives_a_schedule_or_one_value_error(text):
    try:
        schedule = pk.Schedule.from_text(text)
    except ValueError:
        return
    for problem in schedule.problems():
        assert str(problem)
