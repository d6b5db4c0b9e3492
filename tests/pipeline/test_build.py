"""The orders that named schedules give."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk

LISTED = read("schedules.json")


def rows(order: list[list[str]]) -> str:
    return "\n".join(",".join(row) for row in order)


NAMES = {"GPipe": "gpipe", "Interleaved1F1B": "interleaved-1f1b"}


@pytest.mark.parametrize(
    "point",
    LISTED["points"],
    ids=lambda p: f"{p['schedule']}-{p['ranks']}x{p['stages_per_rank']}x{p['microbatches']}",
)
def test_the_order_is_torch_s_listing_action_for_action(point):
    ours = pk.schedule(
        NAMES[point["schedule"]],
        devices=point["ranks"],
        microbatches=point["microbatches"],
        chunks=point["stages_per_rank"],
    )
    assert ours.to_text() == rows(point["order"]), LISTED["source"]


def test_1f1b_fills_up_and_then_alternates():
    assert pk.schedule("1f1b", devices=3, microbatches=4).to_text() == (
        "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3"
    )


def made(name, devices, microbatches, chunks, **more):
    """The schedule, or None where it refuses this number of microbatches."""
    chunks = chunks if name == "interleaved-1f1b" else 1
    if pk.Plan(schedule=name, pp=devices, chunks=chunks, batch=microbatches).problems():
        return None
    return pk.schedule(name, devices=devices, microbatches=microbatches, chunks=chunks, **more)


@given(
    name=st.sampled_from(pk.schedules()),
    devices=st.integers(1, 9),
    microbatches=st.integers(1, 24),
    chunks=st.integers(1, 4),
    forward_only=st.booleans(),
)
def test_every_stage_and_microbatch_has_one_of_each_kind_and_the_order_is_legal(
    name, devices, microbatches, chunks, forward_only
):
    schedule = made(name, devices, microbatches, chunks, forward_only=forward_only)
    if schedule is None:
        return
    assert schedule.problems() == ()
    assert schedule.actions == schedule.stages * microbatches * (1 if forward_only else 2)
    assert schedule.devices == devices
    assert schedule.stages == devices * (chunks if name == "interleaved-1f1b" else 1)
    assert pk.Schedule.from_text(schedule.to_text()).to_text() == schedule.to_text()


def test_interleaving_refuses_unequal_rounds_and_offers_what_works():
    with pytest.raises(ValueError) as error:
        pk.schedule("interleaved-1f1b", devices=4, microbatches=13)
    assert str(error.value) == (
        "13 microbatches do not divide into 3 rounds of equal size on 4 devices: interleaved-1f1b needs that "
        "(nearest: 12 or 15)"
    )
    for fitting in (12, 15):
        assert pk.schedule("interleaved-1f1b", devices=4, microbatches=fitting).problems() == ()


def test_a_schedule_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        pk.schedule("gpipe", devices=2, microbatches=2).stage[0] = 1


ERRORS = [
    (
        dict(name="gpip"),
        "there is no schedule 'gpip': did you mean 'gpipe'? Known: gpipe, 1f1b, interleaved-1f1b",
    ),
    (
        dict(devices=0),
        "a pipeline of 0 stages cannot be made: the number must be a whole number from 1 to 65,536",
    ),
    (
        dict(devices=70_000),
        "a pipeline of 70,000 stages cannot be made: the number must be a whole number from 1 to 65,536",
    ),
    (
        dict(devices=2.0),
        "a pipeline of 2.0 stages cannot be made: the number must be a whole number from 1 to 65,536",
    ),
    (
        dict(microbatches=-1),
        "a batch of -1 microbatches cannot be made: the number must be a whole number of at least 1",
    ),
    (dict(chunks=2), "chunks is 2: gpipe has 1 stage a device, so give chunks=1 or None"),
    (
        dict(microbatches=10**9),
        "1,000,000,000 microbatches on 4 stages are 8,000,000,000 actions, and parakit lays out at most 4,000,000, "
        "what memory and a few seconds allow: at 4 stages choose at most 500,000 microbatches",
    ),
]


@pytest.mark.parametrize(("change", "text"), ERRORS, ids=[text[:30] for _, text in ERRORS])
def test_bad_numbers_are_refused_with_the_whole_sentence(change, text):
    arguments = {"name": "gpipe", "devices": 4, "microbatches": 8, **change}
    with pytest.raises(ValueError) as error:
        pk.schedule(**arguments)
    assert str(error.value) == text


def test_a_huge_number_is_refused_before_anything_is_built():
    pk.schedule("1f1b", devices=1, microbatches=1)  # loads what it needs
    tracemalloc.start()
    with pytest.raises(ValueError, match="at most 4,000,000"):
        pk.schedule("1f1b", devices=1, microbatches=10**9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6
