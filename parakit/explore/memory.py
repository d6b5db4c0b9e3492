"""The memory explorer: what fills a device, moved by the plan's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from parakit.checks import is_real
from parakit.draw import memory_bars
from parakit.explore.explorer import Answer, Explorer, choice, choice_slider, whole_slider
from parakit.memory import MemoryReport, checked_capacity
from parakit.memory import memory as held_memory
from parakit.model import Model
from parakit.plan import Plan, PlanError, Precision
from parakit.units import Unit

_MOST_STAGES = 8  # of the slider, unless a starting value is beyond it
_REPLICAS = tuple(2**k for k in range(11))
_CAPACITY_AT = 0.62  # of the axis: the capacity line stands still, bars move against it
_DEFAULTS = {"model": "llama-3-8b", "dp": 1, "pp": 1, "zero": 0, "precision": "mixed-16", "capacity": 80}


def memory(
    *,
    model: Model | str = "llama-3-8b",
    dp: int = 1,
    pp: int = 1,
    zero: int = 0,
    precision: str = "mixed-16",
    capacity: float = 80e9,
) -> Explorer:
    """An explorer of model states; `.result` is a MemoryReport.

    Args:
        model: a name in `pk.Model.presets()`, or a Model of your own.
        dp: data-parallel degree.
        pp: pipeline stages.
        zero: ZeRO stage 0 to 3.
        precision: bytes a parameter, a name in `Precision`.
        capacity: bytes of one device; its control counts GB.
    """
    own = {model.name or "your model": model} if isinstance(model, Model) else {}
    start = {
        "model": next(iter(own), model),
        "dp": dp,
        "pp": pp,
        "zero": zero,
        "precision": precision,
        "capacity": capacity / Unit.GB.size if is_real(capacity) else capacity,
    }
    room = max(_MOST_STAGES, pp) if isinstance(pp, int) and pp <= 512 else _MOST_STAGES
    return Explorer(
        "memory",
        controls=lambda values: _controls(values, own),
        defaults=_DEFAULTS,
        start=start,
        answer=lambda values: _answer(values, own, room),
    )


def _controls(start: Mapping[str, Any], own: Mapping[str, Model]) -> dict[str, widgets.Widget]:
    names = list(dict.fromkeys((*own, *Model.presets())))
    capacity = start["capacity"]
    return {
        "model": choice("model", start["model"], names),
        "dp": choice_slider("data parallel dp", int(start["dp"]), _REPLICAS, "replicas of the model"),
        "pp": whole_slider(
            "pipeline stages pp", int(start["pp"]), 1, _MOST_STAGES, "layers are split over them"
        ),
        "zero": whole_slider(
            "ZeRO stage", int(start["zero"]), 0, 3, "0 shards nothing, 3 everything, over dp"
        ),
        "precision": choice("precision", str(start["precision"]), [str(one) for one in Precision]),
        "capacity": whole_slider("device memory (GB)", max(round(capacity), 1), 8, 288, "1 GB is 1e9 bytes"),
    }


def _answer(values: Mapping[str, Any], own: Mapping[str, Model], room: int) -> Answer:
    capacity = _capacity(values["capacity"])
    name = values["model"]
    model = own[name] if name in own else Model.preset(name)
    plan = Plan(dp=values["dp"], pp=values["pp"], zero=values["zero"], precision=values["precision"])
    if problems := plan.problems(model):
        raise PlanError(problems)
    report = held_memory(model, plan)
    picture = memory_bars(report, capacity, shows=capacity / _CAPACITY_AT, rows=room)
    return Answer(result=report, sentence=_sentence(report, capacity), picture=picture)


def _capacity(gigabytes: Any) -> float:
    if not is_real(gigabytes):
        checked_capacity(gigabytes)  # says what is wrong with it
    capacity = checked_capacity(float(gigabytes) * Unit.GB.size)
    if capacity < 1e6:
        raise ValueError(
            f"capacity is {capacity:g} bytes: that is no device; write bytes, such as 80e9 for 80 GB"
        )
    return capacity


def _sentence(report: MemoryReport, capacity: float) -> str:
    plan = report.plan
    rest = (
        ", which are not counted yet."
        if report.fits(capacity)
        else ". Activations, not counted yet, come on top."
    )
    text = f"{report.verdict(capacity)}{rest}"
    if plan.zero and plan.dp == 1:
        return f"{text} ZeRO {plan.zero} divides by dp = 1: it saves nothing."
    return text
