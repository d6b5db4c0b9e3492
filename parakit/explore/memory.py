"""The memory explorer: what fills a device, moved by the plan's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from parakit.capacity import Capacity
from parakit.checks import is_real, shown, unknown
from parakit.draw import Picture, memory_bars
from parakit.draw import memory_over_time as draw_over_time
from parakit.explore.explorer import (
    Answer,
    Explorer,
    choice,
    choice_slider,
    slider,
    switch,
    whole_slider,
)
from parakit.memory import CATEGORY_TAKES, MemoryReport, memory_over_time
from parakit.memory import memory as held_memory
from parakit.model import Model
from parakit.pipeline import schedules
from parakit.plan import Plan, PlanError, Precision, Recompute
from parakit.units import Unit, with_unit

_MOST_STAGES = 8  # of the slider, unless a starting value is beyond it
_REPLICAS = tuple(2**k for k in range(11))
_TENSOR_RANKS = (1, 2, 4, 8)
_BATCHES = tuple(2**k for k in range(13))
_MICROBATCHES = (1, 2, 4, 8, 16, 32)
_SEQUENCES = tuple(2**k for k in range(9, 18))
_CAPACITY_AT = 0.62  # of the axis: the capacity line stands still, bars move against it
_VIEWS = ("bars", "over time")
_AUTOMATIC = 0  # of the batch control: a list without a value shows nothing


def memory(
    *,
    model: Model | str = "llama-3-8b",
    dp: int = 1,
    tp: int = 1,
    pp: int = 1,
    zero: int = 0,
    batch: int | None = None,
    microbatch: int = 1,
    sequence: int = 2048,
    schedule: str = "1f1b",
    recompute: str = "none",
    sequence_parallel: bool = False,
    activations: bool = True,
    precision: str = "mixed-16",
    capacity: float = 80e9,
    reserve: float = 0.0,
    unit: str = "GB",
    view: str = "bars",
) -> Explorer:
    """An explorer of what fills a device; `.result` is a MemoryReport.

    Args:
        model: a name in `pk.Model.presets()`, or a Model of your own.
        dp: data-parallel degree.
        tp: tensor-parallel degree.
        pp: pipeline stages.
        zero: ZeRO stage 0 to 3.
        batch: examples of one update; None means dp × microbatch × pp.
        microbatch: examples that a pipeline takes at once.
        sequence: tokens of an example.
        schedule: a name in `pk.schedules()`.
        recompute: "none", "selective" or "full".
        sequence_parallel: norms and dropouts are split over tp.
        activations: count them; False shows model states alone.
        precision: bytes a parameter, a name in `Precision`.
        capacity: bytes of one device; its control counts GB.
        reserve: bytes of it that a plan may not fill; its control counts GB.
        unit: "GB" or "GiB", what the picture counts in.
        view: "bars", or "over time" for the fullest device's step.
    """
    own = {model.name or "your model": model} if isinstance(model, Model) else {}
    start = {
        "model": next(iter(own), model),
        "dp": dp,
        "tp": tp,
        "pp": pp,
        "zero": zero,
        "batch": batch,
        "microbatch": microbatch,
        "sequence": sequence,
        "schedule": schedule,
        "recompute": recompute,
        "sequence_parallel": sequence_parallel,
        "activations": activations,
        "precision": precision,
        "capacity": _gigabytes(capacity),
        "reserve": _gigabytes(reserve),
        "unit": unit,
        "view": view,
    }
    room = max(_MOST_STAGES, pp) if isinstance(pp, int) and pp <= 512 else _MOST_STAGES
    return Explorer(
        "memory",
        controls=lambda values: _controls(values, own),
        defaults=_DEFAULTS,
        start=start,
        answer=lambda values: _answer(values, own, room),
        columns=3,
    )


_DEFAULTS = {
    "model": "llama-3-8b",
    "dp": 1,
    "tp": 1,
    "pp": 1,
    "zero": 0,
    "batch": None,
    "microbatch": 1,
    "sequence": 2048,
    "schedule": "1f1b",
    "recompute": "none",
    "sequence_parallel": False,
    "activations": True,
    "precision": "mixed-16",
    "capacity": 80,
    "reserve": 0,
    "unit": "GB",
    "view": "bars",
}


def _controls(start: Mapping[str, Any], own: Mapping[str, Model]) -> dict[str, widgets.Widget]:
    names = list(dict.fromkeys((*own, *Model.presets())))
    batches = sorted({*_BATCHES, *([start["batch"]] if start["batch"] else [])})
    # In rows of three: what is trained, data parallel, tensor parallel, pipeline, device, picture.
    return {
        "model": choice("model", start["model"], names),
        "precision": choice("precision", str(start["precision"]), [str(one) for one in Precision]),
        "batch": choice(
            "batch",
            start["batch"] or _AUTOMATIC,
            [("dp × microbatch × pp", _AUTOMATIC), *((f"{one:,}", one) for one in batches)],
            "examples of one update",
        ),
        "dp": choice_slider("data parallel dp", int(start["dp"]), _REPLICAS, "replicas of the model"),
        "zero": whole_slider(
            "ZeRO stage", int(start["zero"]), 0, 3, "0 shards nothing, 3 everything, over dp"
        ),
        "microbatch": choice_slider(
            "microbatch", int(start["microbatch"]), _MICROBATCHES, "examples that a pipeline takes at once"
        ),
        "tp": choice_slider(
            "tensor parallel tp", int(start["tp"]), _TENSOR_RANKS, "devices that share a layer"
        ),
        "sequence_parallel": switch(
            "sequence parallel", start["sequence_parallel"], "norms and dropouts are split over tp too"
        ),
        "sequence": choice_slider("sequence", int(start["sequence"]), _SEQUENCES, "tokens of an example"),
        "pp": whole_slider(
            "pipeline stages pp", int(start["pp"]), 1, _MOST_STAGES, "layers are split over them"
        ),
        "schedule": choice("schedule", start["schedule"], schedules()),
        "recompute": choice("recompute", str(start["recompute"]), [str(one) for one in Recompute]),
        "capacity": whole_slider(
            "device (GB)", max(round(start["capacity"]), 1), 8, 288, "1 GB is 1e9 bytes"
        ),
        "reserve": slider(
            "in reserve (GB)", float(start["reserve"]), 0.0, 16.0, 0.5, "context, buffers, fragmentation"
        ),
        "activations": switch("count activations", start["activations"], "off: model states alone"),
        "unit": choice("picture counts in", start["unit"], [str(one) for one in Unit]),
        "view": choice("picture", start["view"], _VIEWS),
    }


def _answer(values: Mapping[str, Any], own: Mapping[str, Model], room: int) -> Answer:
    capacity = _capacity(values)
    for what, known in (("unit", list(Unit)), ("view", _VIEWS)):
        if values[what] not in known:
            raise ValueError(unknown(what, values[what], known))
    unit = Unit(values["unit"])
    name = values["model"]
    model = own[name] if name in own else Model.preset(name)
    fields = {field: values[field] for field in _PLAN_FIELDS}
    plan = Plan(**fields, batch=None if values["batch"] == _AUTOMATIC else values["batch"])
    if problems := plan.problems(model):
        raise PlanError(problems)
    if not isinstance(values["activations"], bool):
        raise ValueError(f"activations is {shown(values['activations'])}: it must be True or False")
    report = held_memory(model, plan, activations=values["activations"])
    picture = _picture(report, model, capacity, unit, values["view"], room)
    return Answer(result=report, sentence=_sentence(report, capacity, unit), picture=picture)


_PLAN_FIELDS = (
    "dp",
    "tp",
    "pp",
    "zero",
    "microbatch",
    "sequence",
    "schedule",
    "recompute",
    "sequence_parallel",
    "precision",
)


def _picture(
    report: MemoryReport, model: Model, capacity: Capacity, unit: Unit, view: str, room: int
) -> Picture:
    shows = capacity.usable / _CAPACITY_AT
    if view == "bars" or report.left_out:
        return memory_bars(report, capacity, unit=unit, shows=shows, rows=room)
    held = memory_over_time(model, report.plan, report.limit().stage)
    return draw_over_time(held, capacity, unit=unit, shows=shows, rows=room)


def _gigabytes(size: Any) -> Any:
    return size / Unit.GB.size if is_real(size) else size


def _capacity(values: Mapping[str, Any]) -> Capacity:
    capacity, reserve = values["capacity"], values["reserve"]
    if is_real(capacity) and 0 < capacity < 0.001:
        raise ValueError(
            f"capacity is {capacity * 1e9:g} bytes: that is no device; write bytes, such as 80e9 for 80 GB"
        )
    for name, value in (("capacity", capacity), ("reserve", reserve)):
        if not is_real(value):
            raise ValueError(f"{name} is {shown(value)}: it must be a number of bytes, such as 80e9")
    return Capacity(memory=float(capacity) * Unit.GB.size, reserve=float(reserve) * Unit.GB.size)


def _sentence(report: MemoryReport, capacity: Capacity, unit: Unit) -> str:
    plan, limit = report.plan, report.limit()
    text = f"{report.verdict(capacity, unit)}."
    if report.fits(capacity):
        takes = CATEGORY_TAKES[limit.category]
        text += f" {takes[0].upper()}{takes[1:]} the most, {with_unit(limit.bytes, unit)}."
    else:
        helping = [] if report.left_out else [one for one in report.advice() if one.helps]
        if helping:
            text += f" Try first: {helping[0].change[0].lower()}{helping[0].change[1:]}."
    if plan.zero and plan.dp == 1:
        text += f" ZeRO {plan.zero} divides by dp = 1: it saves nothing."
    return text
