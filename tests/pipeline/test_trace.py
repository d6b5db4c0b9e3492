"""Timelines written and read back: CSV, Trace Event form, torch's own profiles."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.pipeline import Kind

TORCH = read("torch_traces.json")
ARRAYS = ("device", "stage", "kind", "microbatch", "start", "end", "waits", "overlapped")


def made(name="1f1b", p=4, m=8, **durations):
    return pk.simulate(pk.schedule(name, devices=p, microbatches=m), **durations)


@given(
    name=st.sampled_from(pk.schedules()),
    p=st.integers(1, 5),
    m=st.integers(1, 12),
    transfer=st.sampled_from([0.0, 0.1]),
)
def test_a_trace_is_read_back_as_it_was_written(name, p, m, transfer):
    if pk.Plan(schedule=name, pp=p, batch=m).problems():
        return
    timeline = made(name, p, m, forward=1 / 3, transfer=transfer)
    again = pk.read_trace(json.loads(json.dumps(timeline.to_trace())))
    for array in ARRAYS:
        if array != "waits":
            np.testing.assert_array_equal(getattr(again, array), getattr(timeline, array))
    assert again.schedule.to_text() == timeline.schedule.to_text()
    assert (again.schedule.name, again.unit) == (name, "slot")
    assert again.in_flight.tolist() == timeline.in_flight.tolist()
    # What was waited for is found again from the gaps: the path is as long.
    assert again.end[again.critical_path[-1]] == timeline.end.max()


def test_every_device_is_a_track_and_every_transfer_an_arrow():
    timeline = made("interleaved-1f1b", 2, 4)
    events = timeline.to_trace()["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert tracks == {0: "device 1", 1: "device 2"}
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == timeline.schedule.actions
    assert slices[0] | {"cname": ""} == {
        "ph": "X",
        "cat": "computation",
        "name": "0F0",
        "pid": 0,
        "tid": 0,
        "ts": 0.0,
        "dur": 1000.0,
        "cname": "",
        "args": {"cell": "A1", "kind": "forward", "start": 0.0, "end": 1.0},
    }
    colours = {e["args"]["kind"]: e["cname"] for e in slices}
    assert len(colours) == len(set(colours.values())) == 2
    # Perfetto colours by the name without its digits: so by kind as well.
    assert {"".join(c for c in e["name"] if not c.isdigit()) for e in slices} == {"F", "B"}
    begins, ends = ({e["id"]: e for e in events if e["ph"] == letter} for letter in "sf")
    assert begins.keys() == ends.keys()
    assert len(begins) == 2 * 3 * 4  # three boundaries, both directions, four microbatches
    for key, begin in begins.items():
        end = ends[key]
        assert end["bp"] == "e"
        assert begin["tid"] != end["tid"]
        inside = [
            e for e in slices if e["tid"] == begin["tid"] and e["ts"] <= begin["ts"] < e["ts"] + e["dur"]
        ]
        (source,) = inside
        (target,) = [e for e in slices if e["tid"] == end["tid"] and e["ts"] == end["ts"]]
        step = 1 if source["name"][1] == "F" else -1
        assert int(target["name"][0]) == int(source["name"][0]) + step
        assert target["name"][1:] == source["name"][1:]


def test_an_overlapped_pair_is_one_slice():
    timeline = made("dualpipev", 1, 3)
    names = [e["name"] for e in timeline.to_trace()["traceEvents"] if e["ph"] == "X"]
    assert "(1F1;0B0)OVERLAP_F_B" in names
    assert len(names) == timeline.schedule.actions - timeline.overlapped.sum() // 2


def test_csv_has_a_line_an_action():
    timeline = made("dualpipev", 1, 3, forward=0.1)
    rows = list(csv.DictReader(io.StringIO(timeline.to_csv())))
    assert len(rows) == timeline.schedule.actions
    assert rows[0] == {
        "device": "0",
        "stage": "0",
        "kind": "F",
        "microbatch": "0",
        "start": "0.0",
        "end": "0.1",
        "overlapped": "0",
    }
    assert [float(row["end"]) for row in rows] == timeline.end.tolist()
    assert [int(row["overlapped"]) for row in rows] == timeline.overlapped.tolist()


LISTED = {
    "ScheduleInterleaved1F1B": "interleaved-1f1b",
    "ScheduleGPipe": "gpipe",
    "ScheduleDualPipeV": "dualpipev",
}


@pytest.mark.parametrize("name", LISTED)
def test_a_real_run_of_torch_has_the_order_of_the_named_schedule(name):
    timeline = pk.read_trace(TORCH["traces"][name])
    order = pk.schedule(LISTED[name], devices=2, microbatches=4)
    assert timeline.schedule.to_text() == order.to_text(), TORCH["source"]
    assert timeline.schedule.problems() == ()
    assert timeline.unit == "second"
    assert timeline.start.min() == 0
    assert 0.001 < timeline.span < 0.1
    for device in (0, 1):
        alone = (timeline.device == device) & ~(timeline.overlapped & (timeline.kind != Kind.F))
        assert (timeline.start[alone][1:] >= timeline.end[alone][:-1]).all()
    assert timeline.in_flight.tolist() == pk.simulate(order).in_flight.tolist()
    # Every action's time is the annotation's.
    took = {}
    for event in TORCH["traces"][name][0]["traceEvents"]:
        took[event["name"].removeprefix("PP:")] = event["dur"] / 1e6
    first = timeline.device == 0
    if name == "ScheduleInterleaved1F1B":
        for stage, kind, microbatch, start, end in zip(
            *(getattr(timeline, one)[first] for one in ("stage", "kind", "microbatch", "start", "end")),
            strict=True,
        ):
            assert end - start == pytest.approx(took[f"{stage}{Kind(kind).letter}{microbatch}"], abs=1e-6)


def test_ranks_may_come_in_any_order_and_compressed(tmp_path):
    one, two = TORCH["traces"]["ScheduleGPipe"]
    paths = []
    for name, trace in (("b.json", two), ("a.json.gz", one)):
        data = json.dumps(trace).encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        paths.append(tmp_path / name)
    timeline, plain = pk.read_trace(paths), pk.read_trace([one, two])
    assert timeline.start.tolist() == plain.start.tolist()
    assert timeline.schedule.name == "a real run"


def events(*names, cat="user_annotation"):
    return [
        {"ph": "X", "cat": cat, "name": name, "ts": 10.0 * at, "dur": 8.0} for at, name in enumerate(names)
    ]


def test_steps_are_told_apart_and_the_accelerator_counts():
    host = events("PP:0F0", "PP:0B0", "PP:0F0", "PP:0B0", "PP:0RECV_F1", "other")
    device = events("PP:0F0", "PP:0B0", "PP:0F0", "PP:0B0", cat="gpu_user_annotation")
    for event in device:
        event["dur"] = 5.0
    trace = {"traceEvents": host + device}
    assert pk.read_trace({"traceEvents": host}).end.tolist() == pytest.approx([8e-6, 18e-6])
    assert pk.read_trace(trace).end.tolist() == pytest.approx([5e-6, 15e-6])
    assert pk.read_trace(trace, step=1, name="mine").schedule.name == "mine"
    assert pk.read_trace(trace, step=1).start.tolist() == pytest.approx([0, 10e-6])
    with pytest.raises(ValueError) as error:
        pk.read_trace(trace, step=2)
    assert str(error.value) == "step is 2: the trace of rank 0 has 2 steps, counted from 0"


GOOD = {"traceEvents": events("PP:0F0")}
ERRORS = [
    ([], "there is no trace to read: give a path, or one for each rank in a list"),
    ({}, "the trace is no Trace Event file: it has no list of traceEvents"),
    (
        {"traceEvents": [1, {"ph": "X", "name": "PP:hello", "ts": 0, "dur": 1}]},
        "the trace of rank 0 has no annotations of a pipeline, such as PP:0F1: profile a step of "
        "torch.distributed.pipelining",
    ),
    (
        [{**GOOD, "distributedInfo": {"rank": 3}}] * 2,
        "rank 3 is there 2 times: give one trace for each rank",
    ),
    (
        {"traceEvents": [{"ph": "X", "name": "PP:0F0", "ts": "soon", "dur": 1}]},
        "a slice's time is 'soon': it must be a number",
    ),
    (
        {"traceEvents": [], "otherData": {"parakit": {"unit": "days"}}},
        "the trace's unit is 'days': it must be slot or second",
    ),
    (
        [made().to_trace()] * 2,
        "2 traces were given: a trace of parakit has all its devices in one",
    ),
    (
        [GOOD, {"traceEvents": events("PP:0F0")}],
        "an action is there more than once in the trace: a timeline is of one step",
    ),
]


@pytest.mark.parametrize(("source", "text"), ERRORS, ids=[text[:30] for _, text in ERRORS])
def test_what_is_no_pipeline_s_trace_is_refused(source, text):
    with pytest.raises(ValueError) as error:
        pk.read_trace(source)
    assert str(error.value) == text


def test_a_file_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"^trace\.json is no JSON trace: Expecting value"):
        pk.read_trace(path)
    path.write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(ValueError, match=r"^trace\.json is no JSON trace: "):
        pk.read_trace(path)
    with pytest.raises(FileNotFoundError):
        pk.read_trace(tmp_path / "none.json")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=True)
    | st.text(max_size=6)
    | st.sampled_from(["X", "PP:0F0", "0F0"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["traceEvents", "ph", "name", "ts", "dur", "otherData", "parakit", "args", "tid", "unit"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON.filter(lambda one: isinstance(one, dict)))
def test_any_json_gives_a_timeline_or_one_value_error(trace):
    try:
        timeline = pk.read_trace(trace)
    except ValueError as error:
        assert str(error)  # noqa: PT017  # any sentence will do
    else:
        assert timeline.schedule.actions
