"""The pipeline explorer: a schedule's grid, moved by its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from parakit.checks import is_real, shown
from parakit.draw import grid, require_drawable
from parakit.explore.explorer import Answer, Explorer, choice, slider, switch, whole_slider
from parakit.pipeline import Timeline, schedule, schedules, simulate
from parakit.units import number, percent

_MOST_STAGES, _MOST_MICROBATCHES = 8, 32  # of the sliders, unless a starting value is beyond them
_DEFAULTS = {
    "schedule": "1f1b",
    "stages": 4,
    "microbatches": 8,
    "backward": 2.0,
    "transfer": 0.0,
    "forward_only": False,
}


def pipeline(
    *,
    schedule: str = "1f1b",
    stages: int = 4,
    microbatches: int = 8,
    backward: float = 2.0,
    transfer: float = 0.0,
    forward_only: bool = False,
) -> Explorer:
    """An explorer of pipeline schedules; `.result` is a Timeline.

    Args:
        schedule: a name in `pk.schedules()`.
        stages: devices, one stage each.
        microbatches: pieces that the batch is cut into.
        backward: time of a backward, in forward slots (a forward takes 1).
        transfer: time from stage to stage, in forward slots.
        forward_only: leave backward work out.
    """
    start = {
        "schedule": schedule,
        "stages": stages,
        "microbatches": microbatches,
        "backward": backward,
        "transfer": transfer,
        "forward_only": forward_only,
    }
    room = max(_MOST_STAGES, stages) if isinstance(stages, int) and stages <= 512 else _MOST_STAGES
    explorer = Explorer(
        "pipeline",
        controls=_controls,
        defaults=_DEFAULTS,
        start=start,
        answer=lambda values: _answer(values, room),
    )
    only, back = explorer.controls["forward_only"], explorer.controls["backward"]
    back.disabled = only.value
    only.observe(lambda change: setattr(back, "disabled", change["new"]), names="value")
    return explorer


def _controls(start: Mapping[str, Any]) -> dict[str, widgets.Widget]:
    return {
        "schedule": choice("schedule", start["schedule"], schedules()),
        "stages": whole_slider("stages", int(start["stages"]), 1, _MOST_STAGES, "devices, one stage each"),
        "microbatches": whole_slider(
            "microbatches",
            int(start["microbatches"]),
            1,
            _MOST_MICROBATCHES,
            "pieces that the batch is cut into",
        ),
        "backward": slider(
            "backward (forward slots)", float(start["backward"]), 0.5, 4.0, 0.5, "a forward takes 1 slot"
        ),
        "transfer": slider(
            "transfer (forward slots)", float(start["transfer"]), 0.0, 2.0, 0.1, "from one stage to the next"
        ),
        "forward_only": switch("forward only", start["forward_only"], "leave backward work out"),
    }


def _answer(values: Mapping[str, Any], room: int) -> Answer:
    if not isinstance(values["forward_only"], bool):
        raise ValueError(f"forward_only is {shown(values['forward_only'])}: it must be True or False")
    order = schedule(
        values["schedule"],
        devices=values["stages"],
        microbatches=values["microbatches"],
        forward_only=values["forward_only"],
    )
    require_drawable(order)
    backward = values["backward"]
    if not is_real(backward):
        raise ValueError(f"backward is {shown(backward)}: it must be a number of forward slots")
    # Times are of a device's whole share of the model, so that all schedules do equal work.
    each = order.stages // order.devices
    timeline = simulate(
        order,
        forward=1 / each,
        backward=backward / each if each > 1 else backward,
        transfer=values["transfer"],
    )
    return Answer(result=timeline, sentence=_sentence(timeline), picture=grid(timeline, rows=room))


def _sentence(timeline: Timeline) -> str:
    share = timeline.idle_share
    text = (
        f"The step takes {number(timeline.span)} slots. Idle share: {percent(share)} of all stage time. "
        f"Idle over ideal: {percent(timeline.idle_over_ideal)} of the busy time."
    )
    if timeline.schedule.forward_only:
        return f"{text} Backward work is left out."
    held = number(float(timeline.in_flight_share[0]))
    microbatches = timeline.schedule.microbatches
    if timeline.schedule.one_stage_each:
        return f"{text} Stage A holds up to {held} of {microbatches} microbatches."
    return f"{text} Device 1 holds up to {held} of {microbatches} microbatches' worth."
