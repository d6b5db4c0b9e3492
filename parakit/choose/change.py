"""When nothing fits: the least changes with which something would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parakit.choose.limits import Limits
from parakit.choose.plans import every_plan
from parakit.choose.words import plan_words
from parakit.memory import memory_many
from parakit.names import count
from parakit.plan import Plan, Recompute
from parakit.units import capacity_text, with_unit

if TYPE_CHECKING:
    from parakit.choose.result import Choice

_MOST_TIMES = 64  # as many devices are tried


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One change of what there is, or of what is allowed, and a plan that then fits."""

    sentence: str
    plan: Plan
    peak: float  # bytes of its fullest device
    devices: int
    memory: float  # bytes that a device needs to have, its reserve included


def least_changes(choice: Choice) -> tuple[Change, ...]:
    """See `Choice.least_changes`: what costs no hardware first, then devices, then memory."""
    found = [*_allowed(choice), *_devices(choice), _memory(choice)]
    return tuple(one for one in found if one is not None)


def _allowed(choice: Choice) -> Iterator[Change]:
    limits = choice.limits
    tries: list[tuple[str, bool, Limits]] = [
        ("Use fused attention", limits.attention == ("plain",), replace(limits, attention=("fused",))),
        (
            "Allow recomputation",
            "full" not in limits.recompute,
            replace(limits, recompute=tuple(str(one) for one in Recompute)),
        ),
        (
            "Allow ZeRO 1 to 3",
            limits.zero is not None and 3 not in limits.zero,
            replace(limits, zero=(0, 1, 2, 3)),
        ),
        (
            "Allow sequence parallelism",
            limits.sequence_parallel == (False,),
            replace(limits, sequence_parallel=None),
        ),
        (
            "Allow any dp, tp and pp",
            not limits.dp == limits.tp == limits.pp,
            replace(limits, dp=None, tp=None, pp=None),
        ),
        ("Allow any microbatch", limits.microbatch is not None, replace(limits, microbatch=None)),
    ]
    for words, missing, allowed in tries:
        if missing and (change := _fitting(choice, words, choice.cluster.devices, allowed)):
            yield change


def _devices(choice: Choice) -> Iterator[Change]:
    """The first doubling of devices with which something fits."""
    free = replace(choice.limits, dp=None, tp=None, pp=None)
    times = 2
    while times <= _MOST_TIMES:
        devices = choice.cluster.devices * times
        if change := _fitting(
            choice, f"Use {devices:,} devices instead of {choice.cluster.devices:,}", devices, free
        ):
            yield change
            return
        times *= 2


def _fitting(choice: Choice, words: str, devices: int, limits: Limits) -> Change | None:
    plans = every_plan(choice.model, devices, limits).plans
    if not plans:
        return None
    peak = memory_many(choice.model, plans).peak
    least = int(np.argmin(peak))
    if peak[least] > choice.cluster.usable:
        return None
    return Change(
        sentence=f"{words}: {plan_words(plans[least])} then holds {with_unit(float(peak[least]))} a device.",
        plan=plans[least],
        peak=float(peak[least]),
        devices=devices,
        memory=choice.cluster.memory,
    )


def _memory(choice: Choice) -> Change | None:
    if not len(choice.peak):
        return None
    least = int(np.argmin(choice.peak))
    peak, plan = float(choice.peak[least]), choice.plans[least]
    needed = peak + choice.cluster.reserve
    return Change(
        sentence=(
            f"Use devices of {with_unit(needed)} instead of {capacity_text(choice.cluster.memory)}: "
            f"{plan_words(plan)} holds {with_unit(peak)} on each of {count(plan.devices, 'device')}, and "
            f"{capacity_text(choice.cluster.reserve)} are in reserve."
        ),
        plan=plan,
        peak=peak,
        devices=plan.devices,
        memory=needed,
    )
