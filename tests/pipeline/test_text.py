"""A schedule's text: what torch writes is read, kept and written again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.pipeline.order import Move

ROWS = read("torch_rows.json")


@pytest.mark.parametrize("name", ROWS["rows"])
def test_torch_s_compute_and_communicate_rows_are_kept_or_dropped(name):
    written = ROWS["rows"][name]
    order = pk.Schedule.from_text(written)
    assert order.to_text() == written.strip().replace("\r", ""), ROWS["source"]
    assert order.problems() == order.problems("blocking") == ()
    ours = {
        "ScheduleInterleaved1F1B": "interleaved-1f1b",
        "ScheduleZBVZeroBubble": "zbv",
        "ScheduleDualPipeV": "dualpipev",
    }[name]
    plain = pk.schedule(ours, devices=2, microbatches=4).to_text()
    dropped = pk.Schedule.from_text(written, moves=False)
    assert dropped.moves is None
    assert dropped.to_text() == order.to_text(moves=False) == plain


def test_moves_are_arrays_in_the_order_of_the_rows():
    order = pk.Schedule.from_text("0UNSHARD,0F0,0SEND_F0\n1RECV_F0,1F0,1RESHARD")
    assert [Move(kind).name for kind in order.moves.kind] == ["UNSHARD", "SEND_F", "RECV_F", "RESHARD"]
    assert order.moves.device.tolist() == [0, 0, 1, 1]
    assert order.moves.before.tolist() == [0, 1, 1, 2]
    assert order.moves.microbatch.tolist() == [-1, 0, 0, -1]
    with pytest.raises(ValueError, match="read-only"):
        order.moves.stage[0] = 1
    assert (order.actions, order.forward_only) == (2, True)


def test_idle_cells_and_line_ends_of_a_csv_writer_are_left_out():
    text = ",,0F0,,0B0,\r\n"
    assert pk.Schedule.from_text(text).to_text() == "0F0,0B0"
    both = pk.Schedule.from_text("0F0,0B0\r\n\r\n1F0,1B0\r\n")
    assert both.first.tolist() == [0, 2, 2, 4]  # a rank that does nothing is a device too


def test_a_pair_reads_in_either_order_and_writes_the_forward_first():
    order = pk.Schedule.from_text("0F0,( 0B0 ; 0F1 )OVERLAP_F_B,0B1")
    assert order.to_text() == "0F0,(0F1;0B0)OVERLAP_F_B,0B1"
    assert order.pairs.tolist() == [1]
    assert order.overlapped.tolist() == [False, True, True, False]


def test_stages_and_microbatches_may_be_said():
    order = pk.Schedule.from_text("0F0,0B0", stages=2, microbatches=2)
    assert (order.stages, order.microbatches) == (2, 2)
    assert len(order.problems()) == 6
    with pytest.raises(ValueError) as error:
        pk.Schedule.from_text("0F0", stages=0)
    assert str(error.value) == "stages is 0: it must be a whole number of at least 1"


WRONG = ["(0F0;0F1)OVERLAP_F_B", "(0B0;0B1)OVERLAP_F_B", "(0F0)OVERLAP_F_B", "(0F0;0B0;0F1)OVERLAP_F_B"]
WRONG += ["()OVERLAP_F_B", "(0F0;0W1)OVERLAP_F_B", "(0F0;0B0)", "0SEND0", "SEND_F0", "0FF0", "0F", "F0"]


@pytest.mark.parametrize("cell", WRONG)
def test_other_cells_are_refused_with_their_place(cell):
    with pytest.raises(ValueError) as error:
        pk.Schedule.from_text(f"0F0\n0B0,{cell}")
    assert str(error.value).startswith(
        f"line 2, cell 2: {cell!r} is not an action; write stage, kind and microbatch"
    )


@given(
    name=st.sampled_from(pk.schedules()),
    p=st.integers(1, 6),
    m=st.integers(1, 14),
    forward_only=st.booleans(),
)
def test_every_named_schedule_is_read_as_it_was_written(name, p, m, forward_only):
    if pk.Plan(schedule=name, pp=p, batch=m).problems():
        return
    order = pk.schedule(name, devices=p, microbatches=m, forward_only=forward_only)
    again = pk.Schedule.from_text(order.to_text(), name)
    for array in ("first", "stage", "kind", "microbatch", "pairs"):
        assert getattr(again, array).tolist() == getattr(order, array).tolist()
    assert (again.stages, again.microbatches, again.forward_only) == (order.stages, m, forward_only)
