"""The choose explorer: which plan, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as widgets

from parakit.choose import choose as search
from parakit.choose.words import difference
from parakit.cluster import Cluster
from parakit.draw import choice as draw_choice
from parakit.explore.explorer import Answer, Explorer, choice, choice_slider
from parakit.model import Model
from parakit.pipeline import schedules

_DEVICES = (1, 2, 4, 8, 16, 32, 64, 128)
_BATCHES = tuple(2**k for k in range(12))
_SEQUENCES = tuple(2**k for k in range(9, 16))
_ANY = "any"
_RECOMPUTE = (_ANY, "none", "full")
_ZERO = (_ANY, "0", "1", "2", "3")
_USUAL = ("1f1b", "interleaved-1f1b")  # of "any": what most people train with, quickly searched

_DEFAULTS = {
    "model": "llama-2-13b",
    "cluster": "a100-80gb",
    "devices": 16,
    "batch": 64,
    "sequence": 4096,
    "zero": _ANY,
    "recompute": _ANY,
    "schedule": _ANY,
}


def choose(
    *,
    model: Model | str = "llama-2-13b",
    cluster: Cluster | str = "a100-80gb",
    devices: int = 16,
    batch: int = 64,
    sequence: int = 4096,
    zero: str | int = _ANY,
    recompute: str = _ANY,
    schedule: str = _ANY,
) -> Explorer:
    """An explorer of a choice; `.result` is a Choice.

    Args:
        model: a name in `pk.Model.presets()`, or a Model of your own.
        cluster: a name in `pk.Cluster.presets()`, or a Cluster of your own.
        devices: how many of it.
        batch: examples of one update.
        sequence: tokens of an example.
        zero: allow only this ZeRO stage, or "any".
        recompute: allow only this, or "any".
        schedule: allow only this one, or "any" of 1f1b and interleaved-1f1b.
    """
    models = {model.name or "your model": model} if isinstance(model, Model) else {}
    clusters = {cluster.name or "your cluster": cluster} if isinstance(cluster, Cluster) else {}
    start = {
        "model": next(iter(models), model),
        "cluster": next(iter(clusters), cluster),
        "devices": devices,
        "batch": batch,
        "sequence": sequence,
        "zero": str(zero),
        "recompute": recompute,
        "schedule": schedule,
    }
    return Explorer(
        "choose",
        controls=lambda values: _controls(values, models, clusters),
        defaults=_DEFAULTS,
        start=start,
        answer=lambda values: _answer(values, models, clusters),
    )


def _controls(
    start: Mapping[str, Any], models: Mapping[str, Model], clusters: Mapping[str, Cluster]
) -> dict[str, widgets.Widget]:
    return {
        "model": choice("model", start["model"], list(dict.fromkeys((*models, *Model.presets())))),
        "cluster": choice("cluster", start["cluster"], list(dict.fromkeys((*clusters, *Cluster.presets())))),
        "devices": choice_slider("devices", start["devices"], _DEVICES, "all of them are used"),
        "batch": choice_slider("batch", start["batch"], _BATCHES, "examples of one update"),
        "sequence": choice_slider("sequence", start["sequence"], _SEQUENCES, "tokens of an example"),
        "zero": choice("ZeRO stage", start["zero"], _ZERO),
        "recompute": choice("recompute", start["recompute"], _RECOMPUTE),
        "schedule": choice("schedule", start["schedule"], (_ANY, *schedules())),
    }


def _answer(
    values: Mapping[str, Any], models: Mapping[str, Model], clusters: Mapping[str, Cluster]
) -> Answer:
    name, machine = values["model"], values["cluster"]
    model = models[name] if name in models else Model.preset(name)
    cluster = clusters[machine] if machine in clusters else Cluster.preset(machine)
    found = search(
        model,
        replace(cluster, devices=values["devices"]),
        batch=values["batch"],
        sequence=values["sequence"],
        zero=None if values["zero"] == _ANY else int(values["zero"]),
        recompute=None if values["recompute"] == _ANY else values["recompute"],
        schedule=_USUAL if values["schedule"] == _ANY else values["schedule"],
    )
    said = found.sentence()
    if len(found.ranked):
        said = f"{len(found.excluded):,} of {found.judged:,} plans are excluded."
    if len(found.ranked) > 1:
        first, second = found.ranked[0].step, found.ranked[1].step
        why = difference(first, second, ("the first", "the second"))
        said += f" {why[0].upper()}{why[1:]}."
    return Answer(result=found, sentence=said, picture=draw_choice(found, top=5, excluded=2))
