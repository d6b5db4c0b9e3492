"""A search as JSON or CSV: the same fields in both, listed in FIELDS."""

from __future__ import annotations

import csv
import io
from typing import Any

from parakit.choose.result import Choice, Ranked
from parakit.steptime import COMMUNICATION, PARTS

VERSION = 1  # of the form: fields are added, never renamed

PLAN_FIELDS = (
    *("dp", "tp", "pp", "ep", "zero", "batch", "microbatch", "sequence", "schedule", "chunks"),
    *("stage_layers", "sequence_parallel", "recompute", "attention", "precision"),
)
FIELDS = (
    "place",
    *PLAN_FIELDS,
    "step_seconds",
    *(f"{name}_seconds" for name in PARTS),
    *(f"{name}_hidden_seconds" for name in COMMUNICATION),
    "tokens_per_second",
    "mfu",
    "peak_bytes",
)


def to_dict(choice: Choice, top: int = 10, excluded: int = 10) -> dict[str, Any]:
    """The search as numbers and texts that `json.dumps` takes.

    Args:
        choice: the search.
        top: how many of the ranked plans.
        excluded: how many of the excluded ones, the nearest to fitting first.
    """
    cluster = choice.cluster
    return {
        "version": VERSION,
        "model": {"name": choice.model.name, "parameters": choice.model.parameters},
        "cluster": {
            "name": cluster.name,
            "devices": cluster.devices,
            "devices_per_node": cluster.devices_per_node,
            "memory_bytes": cluster.memory,
            "reserve_bytes": cluster.reserve,
            "measured_links": list(cluster.measured),
        },
        "judged": choice.judged,
        "timed": len(choice.fits),
        "ranked": [_row(at, one) for at, one in enumerate(choice.ranked[:top], start=1)],
        "excluded": [{**_plan(plan), "reason": reason} for plan, reason in choice.excluded[:excluded]],
        "least_changes": [one.sentence for one in choice.least_changes],
    }


def to_csv(choice: Choice, top: int = 10) -> str:
    """The ranked plans, a line each, with the names of FIELDS in the first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    for at, one in enumerate(choice.ranked[:top], start=1):
        row = _row(at, one)
        layers = row["stage_layers"]
        row["stage_layers"] = " ".join(map(str, layers)) if layers else ""
        writer.writerow(row)
    return text.getvalue()


def _row(place: int, one: Ranked) -> dict[str, Any]:
    step = one.step
    return {
        "place": place,
        **_plan(one.plan),
        "step_seconds": step.total,
        **{f"{name}_seconds": seconds for name, seconds in step.parts.items()},
        **{f"{name}_hidden_seconds": seconds for name, seconds in step.hidden_parts.items()},
        "tokens_per_second": step.tokens_per_second,
        "mfu": step.mfu,
        "peak_bytes": float(one.memory.peak.max()),
    }


def _plan(plan: Any) -> dict[str, Any]:
    found = {name: getattr(plan, name) for name in PLAN_FIELDS}
    found["chunks"] = plan.chunks_each
    for name in ("recompute", "attention", "precision"):
        found[name] = str(found[name])
    found["stage_layers"] = None if plan.stage_layers is None else list(plan.stage_layers)
    return found
