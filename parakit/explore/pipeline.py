"""The pipeline explorer: a schedule's grid, moved by its numbers, alone or beside another."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import ipywidgets as widgets

from parakit import draw
from parakit.checks import is_real, shown, unknown, whole
from parakit.explore.explorer import Answer, Explorer, choice, slider, switch, whole_slider
from parakit.names import stage_letters
from parakit.pipeline import Comparison, Timeline, compare, schedule, schedules, takes_chunks
from parakit.units import number, percent

_MOST_STAGES, _MOST_MICROBATCHES = 8, 32  # of the sliders, unless a starting value is beyond them
_NOTHING = "nothing"


class Show(StrEnum):
    """What is drawn over or beneath the grid."""

    GRID = "grid"
    CRITICAL = "critical path"
    MEMORY = "memory"


_DEFAULTS = {
    "schedule": "1f1b",
    "beside": None,
    "stages": 4,
    "microbatches": 8,
    "chunks": 2,
    "backward": 2.0,
    "transfer": 0.0,
    "overhead": 0.0,
    "slow_stage": 0,
    "slow": 2.0,
    "follow": 0,
    "show": Show.GRID,
    "forward_only": False,
}


def pipeline(
    *,
    schedule: str = "1f1b",
    beside: str | None = None,
    stages: int = 4,
    microbatches: int = 8,
    chunks: int = 2,
    backward: float = 2.0,
    transfer: float = 0.0,
    overhead: float = 0.0,
    slow_stage: int = 0,
    slow: float = 2.0,
    follow: int = 0,
    show: str = "grid",
    forward_only: bool = False,
) -> Explorer:
    """An explorer of pipeline schedules; `.result` is a Timeline, or a Comparison of two.

    Args:
        schedule: a name in `pk.schedules()`.
        beside: another one to compare with, or None.
        stages: devices; each has one stage, or `chunks` of them.
        microbatches: pieces that the batch is cut into.
        chunks: stages a device, of the schedules that take any number.
        backward: time of a backward, in forward slots (a forward takes 1).
        transfer: time from device to device, in forward slots.
        overhead: added to every action, in forward slots.
        slow_stage: the device's part of the model, from 1, that takes longer; 0 is none.
        slow: how many times as long it takes.
        follow: a microbatch, from 1, whose cells are outlined; 0 is none.
        show: grid, critical path, or memory: what each device holds over time.
        forward_only: leave backward work out.
    """
    start = {
        "schedule": schedule,
        "beside": beside,
        "stages": stages,
        "microbatches": microbatches,
        "chunks": chunks,
        "backward": backward,
        "transfer": transfer,
        "overhead": overhead,
        "slow_stage": slow_stage,
        "slow": slow,
        "follow": follow,
        "show": show,
        "forward_only": forward_only,
    }
    room = max(_MOST_STAGES, stages) if isinstance(stages, int) and stages <= 512 else _MOST_STAGES
    explorer = Explorer(
        "pipeline",
        controls=_controls,
        defaults=_DEFAULTS,
        start=start,
        answer=lambda values: _answer(values, room),
        columns=3,
    )
    for control in explorer.controls.values():
        control.observe(lambda _: _switch_off(explorer), names="value")
    _switch_off(explorer)
    return explorer


def _controls(start: Mapping[str, Any]) -> dict[str, widgets.Widget]:
    names = schedules()
    return {
        "schedule": choice("schedule", start["schedule"], names),
        "stages": whole_slider("stages", int(start["stages"]), 1, _MOST_STAGES, "devices of the pipeline"),
        "microbatches": whole_slider(
            "microbatches",
            int(start["microbatches"]),
            1,
            _MOST_MICROBATCHES,
            "pieces that the batch is cut into",
        ),
        "beside": choice("compare with", start["beside"] or _NOTHING, [_NOTHING, *names]),
        "chunks": whole_slider("chunks", int(start["chunks"]), 1, 4, "stages a device"),
        "backward": slider("backward", float(start["backward"]), 0.5, 4.0, 0.5, "a forward takes 1 slot"),
        "show": choice("show", str(start["show"]), [str(one) for one in Show]),
        "transfer": slider(
            "transfer", float(start["transfer"]), 0.0, 2.0, 0.1, "slots from device to device"
        ),
        "overhead": slider(
            "overhead", float(start["overhead"]), 0.0, 1.0, 0.1, "slots more for every action"
        ),
        "follow": whole_slider(
            "follow microbatch", int(start["follow"]), 0, _MOST_MICROBATCHES, "outline its cells; 0 is none"
        ),
        "slow_stage": whole_slider(
            "slow stage", int(start["slow_stage"]), 0, _MOST_STAGES, "1 is the first; 0 is none"
        ),
        "slow": slider("times as slow", float(start["slow"]), 1.0, 4.0, 0.5, "as the other stages"),
        "forward_only": switch("forward only", start["forward_only"], "leave backward work out"),
    }


def _switch_off(explorer: Explorer) -> None:
    """What has no effect now cannot be moved."""
    values, controls = explorer.values(), explorer.controls
    both = [name for name in (values["schedule"], values["beside"]) if name not in (None, _NOTHING)]
    controls["backward"].disabled = values["forward_only"]
    controls["chunks"].disabled = not any(map(takes_chunks, both))
    controls["slow"].disabled = values["slow_stage"] == 0


def _answer(values: Mapping[str, Any], room: int) -> Answer:
    if not isinstance(values["forward_only"], bool):
        raise ValueError(f"forward_only is {shown(values['forward_only'])}: it must be True or False")
    if values["show"] not in list(Show):
        raise ValueError(unknown("view", values["show"], list(Show)))
    follow = whole("follow", values["follow"], least=0)
    names = [values["schedule"]]
    if values["beside"] not in (None, _NOTHING, values["schedule"]):
        names.append(values["beside"])
    for name in names:  # small or refused, before anything is computed
        draw.require_drawable(
            schedule(
                name,
                devices=values["stages"],
                microbatches=values["microbatches"],
                chunks=values["chunks"] if takes_chunks(name) else None,
            )
        )
    made = compare(
        names,
        devices=values["stages"],
        microbatches=values["microbatches"],
        chunks=values["chunks"],
        forward_only=values["forward_only"],
        forward=_balance(values, 1.0),
        backward=_balance(values, _slots("backward", values["backward"])),
        transfer=values["transfer"],
        overhead=values["overhead"],
    )
    chosen = follow - 1 if 0 < follow <= values["microbatches"] else None
    critical = values["show"] == Show.CRITICAL
    if len(names) == 2:
        picture = draw.compare(made, rows=room, follow=chosen, critical=critical)
        return Answer(result=made, sentence=_compared(made), picture=picture)
    (timeline,) = made.timelines
    if values["show"] == Show.MEMORY:
        picture = draw.held_over_time(timeline, rows=room)
    else:
        picture = draw.grid(timeline, rows=room, follow=chosen, critical=critical)
    return Answer(result=timeline, sentence=_sentence(timeline), picture=picture)


def _slots(name: str, value: object) -> float:
    if not is_real(value):
        raise ValueError(f"{name} is {shown(value)}: it must be a number of forward slots")
    return value  # type: ignore[return-value]  # checked


def _balance(values: Mapping[str, Any], each: float) -> Any:
    """Time of each device's part of the model: one of them may be slow."""
    stages = values["stages"]
    slow = whole("slow_stage", values["slow_stage"], least=0)
    if not slow:
        return each
    if slow > stages:
        raise ValueError(
            f"slow stage is {slow}: there are {stages} stages, counted from 1; 0 makes none of them slow"
        )
    parts = [each] * stages
    parts[slow - 1] = each * _slots("slow", values["slow"])
    return parts


def _sentence(timeline: Timeline) -> str:
    share = timeline.idle_share
    text = (
        f"The step takes {number(timeline.span)} slots. Idle share: {percent(share)} of all stage time. "
        f"Idle over ideal: {percent(timeline.idle_over_ideal)} of the busy time."
    )
    if timeline.schedule.forward_only:
        return f"{text} Backward work is left out."
    held = timeline.in_flight_share
    most = int(held.argmax())
    microbatches = timeline.schedule.microbatches
    if timeline.schedule.one_stage_each:
        return f"{text} Stage {stage_letters(most)} holds up to {number(float(held[most]))} of {microbatches} microbatches."
    return f"{text} Device {most + 1} holds up to {number(float(held[most]))} of {microbatches} microbatches' worth."


def _compared(made: Comparison) -> str:
    one, two = made.rows
    parts = [
        f"{row.name}: {number(row.span)} slots, idle share {percent(row.idle_share)}, "
        f"up to {number(row.held)} microbatches held, {row.sends:,} sends a device."
        for row in (one, two)
    ]
    return " ".join(parts)
