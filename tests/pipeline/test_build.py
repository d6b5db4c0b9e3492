"""The orders that named schedules give."""

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.pipeline import Kind

LISTED = read("schedules.json")


NAMES = {
    "GPipe": "gpipe",
    "Interleaved1F1B": "interleaved-1f1b",
    "LoopedBFS": "looped-bfs",
    "InterleavedZeroBubble": "interleaved-zb",
    "ZBVZeroBubble": "zbv",
    "DualPipeV": "dualpipev",
}
CHUNKED = ("interleaved-1f1b", "looped-bfs", "interleaved-zb")  # any number of stages a device


def as_text(order: list[list[str]]) -> str:
    """A listing as text; `0F1+3B0` in the data is an overlapped pair."""
    return "\n".join(
        ",".join(f"({cell.replace('+', ';')})OVERLAP_F_B" if "+" in cell else cell for cell in row)
        for row in order
    )


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
    assert ours.to_text() == as_text(point["order"]), LISTED["source"]


@pytest.mark.parametrize(
    "point", LISTED["refused"], ids=lambda p: f"{p['schedule']}-{p['ranks']}x{p['microbatches']}"
)
def test_where_torch_refuses_for_a_reason_of_the_schedule_we_do_too(point):
    def ask():
        name = "1f1b" if point["schedule"] == "1F1B" else NAMES[point["schedule"]]
        return pk.schedule(name, devices=point["ranks"], microbatches=point["microbatches"])

    if point["schedule"] == "1F1B":  # its order does not need as many microbatches as stages
        assert ask().problems() == ()
    else:
        with pytest.raises(ValueError, match="needs at least 2 × devices"):
            ask()


def test_1f1b_fills_up_and_then_alternates():
    assert pk.schedule("1f1b", devices=3, microbatches=4).to_text() == (
        "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3"
    )


def made(name, devices, microbatches, chunks, **more):
    """The schedule, or None where it refuses these numbers."""
    chunks = chunks if name in CHUNKED else None
    if pk.Plan(schedule=name, pp=devices, chunks=chunks, batch=microbatches).problems():
        return None
    return pk.schedule(name, devices=devices, microbatches=microbatches, chunks=chunks, **more)


@given(
    name=st.sampled_from(pk.schedules()),
    devices=st.integers(1, 8),
    microbatches=st.integers(1, 24),
    chunks=st.integers(1, 4),
    forward_only=st.booleans(),
)
def test_every_stage_and_microbatch_has_its_forward_and_backward_and_the_order_is_legal(
    name, devices, microbatches, chunks, forward_only
):
    schedule = made(name, devices, microbatches, chunks, forward_only=forward_only)
    if schedule is None:
        return
    assert schedule.problems() == ()
    assert schedule.devices == devices
    each = chunks if name in CHUNKED else 2 if name in ("zbv", "dualpipev") else 1
    assert schedule.stages == devices * each
    cells = schedule.stages * microbatches
    assert (schedule.kind == Kind.F).sum() == cells
    halves = (schedule.kind == Kind.W).sum()
    assert (schedule.kind == Kind.I).sum() == halves
    assert (schedule.kind == Kind.B).sum() == (0 if forward_only else cells - halves)
    if name not in ("dualpipev", "dualpipe") and not forward_only:
        assert halves in (0, cells)
    assert pk.Schedule.from_text(schedule.to_text()).to_text() == schedule.to_text()


@given(devices=st.integers(1, 8), microbatches=st.integers(1, 24))
def test_a_w_follows_its_i_and_waits_for_nobody_else(devices, microbatches):
    # zb-h1 is interleaved-zb with one stage a device, which torch lists
    one = pk.schedule("zb-h1", devices=devices, microbatches=microbatches).to_text()
    if made("interleaved-zb", devices, microbatches, 1) is not None:
        assert (
            one
            == pk.schedule("interleaved-zb", devices=devices, microbatches=microbatches, chunks=1).to_text()
        )


def test_zb_h2_runs_ahead_twice_as_far():
    assert pk.schedule("zb-h2", devices=2, microbatches=4).to_text() == (
        "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n1F0,1I0,1F1,1I1,1F2,1I2,1W0,1F3,1I3,1W1,1W2,1W3"
    )


def test_dualpipe_mirrors_its_devices_and_each_stage_is_on_two():
    order = pk.schedule("dualpipe", devices=4, microbatches=8)
    text = order.to_text().split("\n")
    assert text[0] == (
        "0F0,0F1,0F2,3F4,3I4,3W4,3F5,(0F3;3B5)OVERLAP_F_B,(3F6;0B0)OVERLAP_F_B,3B6,(3F7;0B1)OVERLAP_F_B,"
        "3B7,0I2,0W2,0I3,0W3"
    )
    assert order.stages == 4
    for stage in range(4):
        assert sorted(set(order.device[order.stage == stage].tolist())) == sorted({stage, 3 - stage})
    # Seen from the other end it is the same, with the other half of the microbatches.
    for device, row in enumerate(text):
        mirrored = re.sub(r"([0-9]+[FBIW])([0-9]+)", lambda cell: f"{cell[1]}{(int(cell[2]) + 4) % 8}", row)
        assert mirrored == text[3 - device]


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
        "there is no schedule 'gpip': did you mean 'gpipe' or 'dualpipe'? Known: gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, interleaved-zb, zbv, dualpipev, dualpipe",
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
    (
        dict(name="dualpipev", microbatches=7),
        "7 microbatches are too few for 4 devices: dualpipev needs at least 2 × devices (nearest: 8 microbatches, "
        "or 3 devices)",
    ),
    (
        dict(name="dualpipev", microbatches=1),
        "1 microbatch is too few for 4 devices: dualpipev needs at least 2 × devices (nearest: 8 microbatches)",
    ),
    (
        dict(name="dualpipe", devices=3),
        "3 devices cannot be entered from both ends alike: dualpipe needs an even number of devices (nearest: 2 or 4)",
    ),
    (
        dict(name="dualpipe", devices=1),
        "1 device cannot be entered from both ends alike: dualpipe needs an even number of devices (nearest: 2)",
    ),
    (
        dict(name="dualpipe", microbatches=6),
        "6 microbatches are too few for 4 devices: dualpipe needs at least 2 × devices, an even number (nearest: "
        "8 microbatches, or 2 devices)",
    ),
    (
        dict(name="dualpipe", microbatches=9),
        "9 microbatches do not divide over both ends: dualpipe needs an even number (nearest: 8 or 10)",
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
