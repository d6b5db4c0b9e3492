"""Schedules beside each other, with equal work for every device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parakit.checks import shown
from parakit.names import count
from parakit.pipeline.build import schedule, takes_chunks
from parakit.pipeline.layout import layout_of
from parakit.pipeline.order import Schedule
from parakit.pipeline.simulate import simulate
from parakit.pipeline.timeline import Timeline
from parakit.units import aligned, number, percent


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One timeline in numbers."""

    name: str
    span: float  # in the unit of the durations
    idle_share: float  # of all time of all devices
    idle_over_ideal: float  # of the busy time
    wait: float  # most that a device idles between its own first and last action
    held: float  # most microbatches' worth of a device's share of the model held at once
    copies: float  # of the model's parameters on all devices together
    sends: int  # most that a device sends in a step, each an activation or gradient of one microbatch


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Comparison:
    """Timelines beside each other."""

    timelines: tuple[Timeline, ...]

    @property
    def rows(self) -> tuple[Compared, ...]:
        """The numbers of each, in the order given."""
        return tuple(_compared(timeline) for timeline in self.timelines)

    @property
    def fastest(self) -> Timeline:
        """The one with the shortest span; of equals the first."""
        return min(self.timelines, key=lambda timeline: timeline.span)

    def table(self) -> str:
        """The numbers as aligned text."""
        head = [
            "schedule",
            "time",
            "idle share",
            "idle over ideal",
            "wait in window",
            "held",
            "copies of the model",
            "sends a device",
        ]
        lines = [
            [
                row.name,
                number(row.span),
                percent(row.idle_share),
                percent(row.idle_over_ideal),
                number(row.wait),
                number(row.held),
                number(row.copies),
                f"{row.sends:,}",
            ]
            for row in self.rows
        ]
        return aligned([head, *lines], left={0})


def compare(
    names: Sequence[str | Timeline],
    *,
    devices: int | None = None,
    microbatches: int | None = None,
    chunks: int | None = None,
    forward_only: bool = False,
    forward: float | Sequence[float] = 1.0,
    backward: float | Sequence[float] = 2.0,
    weight: float | Sequence[float] | None = None,
    pair: float | Sequence[float] | None = None,
    **more: Any,
) -> Comparison:
    """Timelines of several schedules with equal work for every device.

    Durations are of one device's whole share of the model, divided over its stages: with two
    stages a device each takes half. So all schedules do the same work.

    Args:
        names: of schedules; or timelines, such as a real run's, which are taken as they are.
        devices: of the pipeline.
        microbatches: pieces that the batch is cut into.
        chunks: stages a device, of those schedules that take any number; None is their usual one.
        forward_only: leave backward work out.
        forward: of F, a number, or one for each of `devices` equal parts of the model, in its order.
        backward: of a full backward, the same.
        weight: of its part W; None is half.
        pair: of an overlapped F and B; None is their sum.
        more: `transfer`, `overhead`, `overlap`, `jitter`, `rng` as in `simulate`.

    Raises:
        ValueError: a schedule cannot run these numbers; its name is in the sentence.

    Example:
        >>> print(compare(["gpipe", "1f1b", "zb-h1"], devices=4, microbatches=8).table())
        schedule  time  idle share  idle over ideal  wait in window  held  copies of the model  sends a device
        gpipe       33         27%              38%               9     8                    1              16
        1f1b        33         27%              38%               9     4                    1              16
        zb-h1       27         11%              12%               3     4                    1              16
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise ValueError(f"names is {shown(names)}: give a list of schedules, such as ['gpipe', '1f1b']")
    made = []
    for name in names:
        if isinstance(name, Timeline):
            made.append(name)
            continue
        if devices is None or microbatches is None:
            raise ValueError(f"to compare {shown(name)} give devices= and microbatches=")
        order = schedule(
            name,
            devices=devices,
            microbatches=microbatches,
            chunks=chunks if takes_chunks(name) else None,
            forward_only=forward_only,
        )
        parts = {
            key: shared(key, value, order)
            for key, value in (
                ("forward", forward),
                ("backward", backward),
                ("weight", weight),
                ("pair", pair),
            )
        }
        made.append(simulate(order, **parts, **more))
    return Comparison(timelines=tuple(made))


def shared(name: str, value: Any, order: Schedule) -> Any:
    """A device's whole share of the model as `simulate` takes it: of each stage.

    Args:
        name: of the duration, for its error.
        value: a number; one for each device's part of the model, in the model's order; or None.
        order: whose devices have equally many stages.

    Raises:
        ValueError: there are neither one nor as many as devices.
    """
    if value is None:
        return None
    each = order.stages / order.devices
    try:
        parts = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return value  # simulate says what is wrong with it
    if parts.ndim == 0:
        return value if each == 1 else float(parts) / each
    if parts.shape != (order.devices,):
        raise ValueError(
            f"{name} has the shape {parts.shape}: it must be a number, or one for each of "
            f"{count(order.devices, 'device')}"
        )
    return np.repeat(parts, order.stages // order.devices) / each


def _compared(timeline: Timeline) -> Compared:
    order = timeline.schedule
    spread = layout_of(order)
    sends = np.zeros(order.devices)
    for one in spread.sends:
        sends[one.sender] += one.boundaries * order.microbatches
    return Compared(
        name=order.name,
        span=timeline.span,
        idle_share=timeline.idle_share,
        idle_over_ideal=timeline.idle_over_ideal,
        wait=float(timeline.idle_in_window.max()),
        held=float(timeline.in_flight_share.max()),
        copies=spread.stages.size / order.stages,
        sends=round(float(sends.max())),
    )
