"""Timelines as CSV and in the Trace Event form, and back: real runs beside simulated ones."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parakit.checks import is_real, shown, whole
from parakit.names import cell, count, stage_letters
from parakit.pipeline.order import Kind, Schedule
from parakit.pipeline.run import needs_of
from parakit.pipeline.text import parse_cell
from parakit.pipeline.timeline import Timeline, TimeUnit

_MICROSECONDS = {TimeUnit.SLOT: 1000.0, TimeUnit.SECOND: 1e6}  # of one unit in a trace
# Names that chrome://tracing has for colours near those of the grid. Perfetto takes its colours
# from names without their digits: 0F1, 2F3 and all forwards are alike there too.
_COLOURS = {
    "F": "thread_state_runnable",
    "B": "light_memory_dump",
    "I": "rail_idle",
    "W": "startup",
    "pair": "vsync_highlight_color",
}

Source = str | Path | Mapping[str, Any]


def to_csv(timeline: Timeline) -> str:
    """A line an action, in the order of time; all numbers count from 0."""
    lines = ["device,stage,kind,microbatch,start,end,overlapped"]
    letters = [kind.letter for kind in Kind]
    for device, stage, kind, microbatch, start, end, overlapped in zip(
        timeline.device.tolist(),
        timeline.stage.tolist(),
        timeline.kind.tolist(),
        timeline.microbatch.tolist(),
        timeline.start.tolist(),
        timeline.end.tolist(),
        timeline.overlapped.tolist(),
        strict=True,
    ):
        lines.append(f"{device},{stage},{letters[kind]},{microbatch},{start!r},{end!r},{int(overlapped)}")
    return "\n".join(lines) + "\n"


def to_trace(timeline: Timeline) -> dict[str, Any]:
    """The timeline as a Trace Event object; `json.dumps` it into a file."""
    schedule = timeline.schedule
    scale = _MICROSECONDS[timeline.unit]
    head: list[dict[str, Any]] = [_named("process_name", 0, f"{schedule.name}, simulated by parakit")]
    for device in range(timeline.devices):
        name = f"stage {stage_letters(device)}" if schedule.one_stage_each else f"device {device + 1}"
        head.append(_named("thread_name", device, name))
        order = {
            "ph": "M",
            "pid": 0,
            "tid": device,
            "name": "thread_sort_index",
            "args": {"sort_index": device},
        }
        head.append(order)
    return {
        "traceEvents": [*head, *_slices(timeline, scale), *_flows(timeline, scale)],
        "displayTimeUnit": "ms",
        "otherData": {
            "parakit": {
                "schedule": schedule.name,
                "stages": schedule.stages,
                "microbatches": schedule.microbatches,
                "devices": schedule.devices,
                "forward_only": schedule.forward_only,
                "unit": timeline.unit.value,
                "microseconds_per_unit": scale,
            }
        },
    }


def _named(what: str, device: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 0, "tid": device, "name": what, "args": {"name": name}}


def _slices(timeline: Timeline, scale: float) -> Iterable[dict[str, Any]]:
    """A slice an action, of an overlapped pair one for both."""
    letters = [kind.letter for kind in Kind]
    names = [
        f"{stage}{letters[kind]}{microbatch}"
        for stage, kind, microbatch in zip(
            timeline.stage.tolist(), timeline.kind.tolist(), timeline.microbatch.tolist(), strict=True
        )
    ]
    partner = _partners(timeline)
    for i, (device, kind, start, end) in enumerate(
        zip(
            timeline.device.tolist(),
            timeline.kind.tolist(),
            timeline.start.tolist(),
            timeline.end.tolist(),
            strict=True,
        )
    ):
        name, colour, words = names[i], letters[kind], Kind(kind).word
        if i in partner:
            if kind != Kind.F:
                continue
            name, colour = f"({name};{names[partner[i]]})OVERLAP_F_B", "pair"
            words = f"{words} overlapped with backward"
        yield {
            "ph": "X",
            "cat": "computation",
            "name": name,
            "pid": 0,
            "tid": device,
            "ts": start * scale,
            "dur": (end - start) * scale,
            "cname": _COLOURS[colour],
            "args": {
                "cell": cell(int(timeline.stage[i]), int(timeline.microbatch[i])),
                "kind": words,
                "start": start,
                "end": end,
            },
        }


def _partners(timeline: Timeline) -> dict[int, int]:
    """For each action of an overlapped pair the other one, by place in the timeline."""
    both = np.flatnonzero(timeline.overlapped)
    order = both[np.lexsort((timeline.kind[both] != Kind.F, timeline.start[both], timeline.device[both]))]
    first, second = order[::2].tolist(), order[1::2].tolist()
    return {**dict(zip(first, second, strict=True)), **dict(zip(second, first, strict=True))}


def _flows(timeline: Timeline, scale: float) -> Iterable[dict[str, Any]]:
    """An arrow for each result that another device needs."""
    schedule = timeline.schedule
    before, device = needs_of(schedule).before, schedule.device
    place = _places(timeline)
    for i in np.flatnonzero((before >= 0) & (device[before] != device)).tolist():
        source, target = int(place[before[i]]), int(place[i])
        begin, end = float(timeline.start[source]), float(timeline.end[source])
        shared = {"cat": "transfer", "name": "transfer", "id": i, "pid": 0}
        # An arrow is bound to the slice around its start: a moment before the slice ends.
        at = (end - (end - begin) / 1000) * scale
        yield {"ph": "s", "tid": int(timeline.device[source]), "ts": at, **shared}
        arrives = float(timeline.start[target]) * scale
        yield {"ph": "f", "bp": "e", "tid": int(timeline.device[target]), "ts": arrives, **shared}


def _places(timeline: Timeline) -> np.ndarray:
    """Place in the timeline of each action of its schedule, int64 (actions,)."""
    schedule = timeline.schedule
    shape = (len(Kind), schedule.stages, schedule.microbatches)
    where = np.zeros(shape, dtype=np.int64)
    where[timeline.kind, timeline.stage, timeline.microbatch] = np.arange(len(timeline.start))
    places: np.ndarray = where[schedule.kind, schedule.stage, schedule.microbatch]
    return places


@dataclass(frozen=True, kw_only=True, slots=True)
class _Slice:
    """One annotated piece of work of a trace."""

    device: int
    text: str  # an action or an overlapped pair, as a schedule's text has them
    start: float
    end: float


def read_trace(source: Source | Sequence[Source], *, step: int = 0, name: str = "") -> Timeline:
    """The timeline of a real run, from torch profiler traces, or of a trace that `to_trace` wrote.

    Pipelines of torch.distributed.pipelining annotate what they compute: `PP:0F1`, or with its
    GPipe `Forward 1` and `Backward 1`. What ran on an accelerator is taken where the trace has it,
    else what the host did; there an action's time includes waiting for what it receives. Times
    are in seconds from the first action's start on.

    Args:
        source: a path (.json or .json.gz) or a loaded trace; of torch one for each rank of the
            pipeline, in a list; ranks are taken from the traces.
        step: which of the training steps that the trace has, counted from 0.
        name: what to call it; "" is "a real run", or the schedule that `to_trace` was given.

    Raises:
        ValueError: there is no pipeline in it, an action is there twice, or there is no such step.
        FileNotFoundError: there is no such file.

    Example:
        >>> from parakit.pipeline import schedule, simulate
        >>> simulated = simulate(schedule("zb-h1", devices=4, microbatches=8))
        >>> read_trace(to_trace(simulated)).span == simulated.span
        True
    """
    several = isinstance(source, Sequence) and not isinstance(source, str)
    sources: list[Source] = list(source) if several else [source]  # type: ignore[arg-type,list-item]
    if not sources:
        raise ValueError("there is no trace to read: give a path, or one for each rank in a list")
    traces = [_loaded(one) for one in sources]
    step = whole("step", step, least=0)
    own = _own_header(traces[0])
    if own is not None:
        if len(traces) > 1:
            raise ValueError(
                f"{count(len(traces), 'trace')} were given: a trace of parakit has all its devices in one"
            )
        return _read_own(traces[0], own, name)
    return _read_torch(traces, step, name or "a real run")


def _loaded(source: Source) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        trace: Any = source
        said = "the trace"
    else:
        path = Path(source)
        said = path.name
        data = path.read_bytes()
        try:
            trace = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        except (ValueError, OSError, EOFError) as error:
            raise ValueError(f"{said} is no JSON trace: {error}") from None
    if isinstance(trace, list):  # the form that has events alone
        trace = {"traceEvents": trace}
    if not isinstance(trace, Mapping) or not isinstance(trace.get("traceEvents"), list):
        raise ValueError(f"{said} is no Trace Event file: it has no list of traceEvents")
    return trace


def _own_header(trace: Mapping[str, Any]) -> Mapping[str, Any] | None:
    other = trace.get("otherData")
    header = other.get("parakit") if isinstance(other, Mapping) else None
    return header if isinstance(header, Mapping) else None


def _read_own(trace: Mapping[str, Any], header: Mapping[str, Any], name: str) -> Timeline:
    slices = []
    for event in trace["traceEvents"]:
        if isinstance(event, Mapping) and event.get("ph") == "X":
            args = event.get("args")
            if not isinstance(args, Mapping):
                args = {}
            slices.append(
                _Slice(
                    device=whole("tid", event.get("tid"), least=0, most=65_535),
                    text=str(event.get("name")),
                    start=_time(args.get("start")),
                    end=_time(args.get("end")),
                )
            )
    try:
        unit = TimeUnit(str(header.get("unit")))
    except ValueError:
        raise ValueError(
            f"the trace's unit is {shown(header.get('unit'))}: it must be slot or second"
        ) from None
    return _timeline(
        slices,
        name or str(header.get("schedule")),
        unit,
        stages=whole("stages", header.get("stages")),
        microbatches=whole("microbatches", header.get("microbatches")),
    )


def _time(value: object) -> float:
    if not is_real(value) or not abs(float(value)) < float("inf"):  # type: ignore[arg-type]  # checked
        raise ValueError(f"a slice's time is {shown(value)}: it must be a number")
    return float(value)  # type: ignore[arg-type]  # checked


_PIPELINE = re.compile(r"PP:(.+)")
_PLAIN = re.compile(r"(Forward|Backward) ([0-9]{1,7})", re.ASCII)


def _read_torch(traces: Sequence[Mapping[str, Any]], step: int, name: str) -> Timeline:
    ranks = [_rank(trace, at) for at, trace in enumerate(traces)]
    if twice := [rank for rank, times in Counter(ranks).items() if times > 1]:
        raise ValueError(
            f"rank {twice[0]} is there {Counter(ranks)[twice[0]]} times: give one trace for each rank"
        )
    slices = []
    for device, at in enumerate(np.argsort(ranks).tolist()):
        mine = _annotated(traces[at], device)
        if not mine:
            raise ValueError(
                f"the trace of rank {ranks[at]} has no annotations of a pipeline, such as PP:0F1: profile a step of "
                f"torch.distributed.pipelining"
            )
        steps: Counter[str] = Counter()
        for one in mine:
            if steps[one.text] == step:
                slices.append(one)
            steps[one.text] += 1
        if max(steps.values()) <= step:
            raise ValueError(
                f"step is {step}: the trace of rank {ranks[at]} has {count(max(steps.values()), 'step')}, counted from 0"
            )
    begin = min(one.start for one in slices)
    moved = [
        _Slice(device=one.device, text=one.text, start=one.start - begin, end=one.end - begin)
        for one in slices
    ]
    return _timeline(moved, name, TimeUnit.SECOND)


def _rank(trace: Mapping[str, Any], at: int) -> int:
    info = trace.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, Mapping) else None
    return at if rank is None else whole("rank", rank, least=0)


def _annotated(trace: Mapping[str, Any], device: int) -> list[_Slice]:
    """Annotated computing of one rank in the order of time, seconds; of the accelerator where it is there."""
    by_place: dict[bool, list[_Slice]] = {False: [], True: []}
    for event in trace["traceEvents"]:
        if not isinstance(event, Mapping) or event.get("ph") != "X":
            continue
        text = _action_text(str(event.get("name")), device)
        if text is None:
            continue
        start, took = _time(event.get("ts")), _time(event.get("dur"))
        on_accelerator = str(event.get("cat", "")).startswith("gpu")
        by_place[on_accelerator].append(
            _Slice(device=device, text=text, start=start / 1e6, end=(start + took) / 1e6)
        )
    return sorted(by_place[True] or by_place[False], key=lambda one: (one.start, one.end))


def _action_text(annotation: str, device: int) -> str | None:
    """What an annotation says was computed; None where it is none, or about communication."""
    if found := _PIPELINE.fullmatch(annotation):
        return found[1] if parse_cell(found[1]) else None
    if found := _PLAIN.fullmatch(annotation):  # GPipe: a rank is a stage
        return f"{device}{'F' if found[1] == 'Forward' else 'B'}{found[2]}"
    return None


def _timeline(
    slices: Sequence[_Slice],
    name: str,
    unit: TimeUnit,
    *,
    stages: int | None = None,
    microbatches: int | None = None,
) -> Timeline:
    """A timeline from pieces of work with their times; the order on each device is that of time."""
    slices = sorted(slices, key=lambda one: (one.device, one.start, one.end))
    rows: list[list[str]] = [[] for _ in range(max((one.device for one in slices), default=0) + 1)]
    times: list[tuple[float, float, bool]] = []
    for one in slices:
        actions = parse_cell(one.text)
        if not actions:
            raise ValueError(f"{shown(one.text)} is not an action, such as 0F1")
        rows[one.device].append(one.text)
        times += [(one.start, one.end, len(actions) == 2)] * len(actions)
    schedule = Schedule.from_text(
        "\n".join(map(",".join, rows)), name, stages=stages, microbatches=microbatches
    )
    start, end = (np.array([one[side] for one in times]) for side in (0, 1))
    overlapped = np.array([one[2] for one in times])
    if len(np.unique(_keys(schedule))) < schedule.actions:
        raise ValueError("an action is there more than once in the trace: a timeline is of one step")
    device = schedule.device
    order = np.lexsort((device, start))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    waits = _waits(schedule, start, end)[order]
    return Timeline(
        schedule=schedule,
        device=device[order],
        stage=schedule.stage[order],
        kind=schedule.kind[order],
        microbatch=schedule.microbatch[order],
        start=start[order],
        end=end[order],
        waits=np.where(waits >= 0, place[waits], -1),
        overlapped=overlapped[order],
        unit=unit,
    )


def _keys(schedule: Schedule) -> np.ndarray:
    """A number for each action, different for different ones."""
    wide = int(schedule.microbatch.max()) + 1
    keys: np.ndarray = (schedule.stage.astype(np.int64) * wide + schedule.microbatch) * len(
        Kind
    ) + schedule.kind
    return keys


def _waits(schedule: Schedule, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """What each action waited for, as far as times tell: its device, or what it needs after a gap there."""
    waits = np.arange(-1, schedule.actions - 1)
    waits[schedule.first[:-1][np.diff(schedule.first) > 0]] = -1
    if len(second := schedule.pairs + 1):
        waits[second] = waits[second - 1]
    needed = needs_of(schedule).before
    free = np.where(waits >= 0, end[waits], -np.inf)
    # A result counts only if it was there in time: clocks of several machines may differ.
    after = (needed >= 0) & (start > free) & (end[needed] <= start)
    waits[after] = needed[after]
    return waits
