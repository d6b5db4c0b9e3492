"""How the time that is not work depends on the number of microbatches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parakit.checks import shown, whole
from parakit.pipeline.build import schedule, sizes_fault, takes_chunks
from parakit.pipeline.compare import shared
from parakit.pipeline.durations import one_duration
from parakit.pipeline.simulate import simulate

_MOST_ACTIONS = 4_000_000  # of all simulations of a curve: some seconds


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Curve:
    """One schedule over numbers of microbatches, at those that it works with."""

    name: str
    microbatches: np.ndarray  # int64 (points,)
    span: np.ndarray  # float64 (points,), in forward slots
    lost: np.ndarray  # float64 (points,): share of all devices' time that is not work

    @property
    def best(self) -> int:
        """Place of the shortest step; of equals the one with the fewest microbatches."""
        return int(self.span.argmin())


def bubble_curves(
    names: Sequence[str],
    *,
    devices: int,
    microbatches: Sequence[int] | None = None,
    chunks: int | None = None,
    work: float = 8.0,
    backward: float = 2.0,
    overhead: float = 0.0,
    transfer: float = 0.0,
    forward_only: bool = False,
) -> tuple[Curve, ...]:
    """For each schedule, how long a step takes and how much of it is not work.

    The batch is fixed: `work` is what its forward takes on one device. Cut into m microbatches,
    each action takes 1/m of that and `overhead`, which does not shrink. Without overhead what is
    lost is the idle share; with it, more microbatches are better only up to a point.

    Args:
        names: of schedules.
        devices: of the pipeline.
        microbatches: numbers to try; None is a selection up to 16 × devices.
        chunks: stages a device, of those schedules that take any number.
        work: forward time of the whole batch on one device's share of the model.
        backward: of a backward over its forward.
        overhead: added to every action.
        transfer: between devices.
        forward_only: leave backward work out.

    Raises:
        ValueError: a name is unknown, a number out of range, or a schedule works with none of them.

    Example:
        >>> (curve,) = bubble_curves(["gpipe"], devices=4, overhead=0.2, forward_only=True)
        >>> int(curve.microbatches[curve.best])
        11
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise ValueError(f"names is {shown(names)}: give a list of schedules, such as ['gpipe', '1f1b']")
    devices = whole("devices", devices, most=512)
    tried = (
        _selection(devices) if microbatches is None else [whole("microbatches", one) for one in microbatches]
    )
    work, backward = one_duration("work", work), one_duration("backward", backward)
    if work == 0:
        raise ValueError(
            "work is 0: a batch of no work has no bubble; give what its forward takes, such as 8"
        )
    actions = len(names) * sum(tried) * devices * 6
    if actions > _MOST_ACTIONS:
        raise ValueError(
            f"the curves would take {actions:,} actions, at most {_MOST_ACTIONS:,}: give fewer numbers of "
            f"microbatches, or smaller ones"
        )
    return tuple(
        _curve(
            name,
            devices,
            sorted(set(tried)),
            chunks if takes_chunks(name) else None,
            work=work,
            backward=backward,
            overhead=overhead,
            transfer=transfer,
            forward_only=forward_only,
        )
        for name in names
    )


def _selection(devices: int) -> list[int]:
    """Every number at first, then those that suit rounds."""
    return sorted({*range(1, 4 * devices + 1), *range(4 * devices, 16 * devices + 1, devices)})


def _curve(
    name: str,
    devices: int,
    tried: list[int],
    chunks: int | None,
    *,
    work: float,
    backward: float,
    overhead: float,
    transfer: float,
    forward_only: bool,
) -> Curve:
    numbers, spans = [], []
    fault = None
    for number in tried:
        # An unknown name or number of chunks is said by schedule itself.
        fault = sizes_fault(name, devices, number)
        if fault:
            continue
        order = schedule(name, devices=devices, microbatches=number, chunks=chunks, forward_only=forward_only)
        numbers.append(number)
        spans.append(
            simulate(
                order,
                forward=shared("work", work / number, order),
                backward=shared("work", work * backward / number, order),
                overhead=overhead,
                transfer=transfer,
            ).span
        )
    if not numbers:
        raise ValueError(f"{name} works with none of these numbers of microbatches: {fault}")
    span = np.array(spans)
    useful = work * (1.0 if forward_only else 1.0 + backward)
    return Curve(name=name, microbatches=np.array(numbers), span=span, lost=1 - useful / span)
