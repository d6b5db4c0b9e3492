"""How long each action takes: what callers may give, as one array over the actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parakit.checks import is_real, shown
from parakit.names import count
from parakit.pipeline.order import Schedule

Times = float | Sequence[float] | Sequence[Sequence[float]] | np.ndarray


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """How durations vary from action to action, at random."""

    jitter: float  # standard deviation over mean
    rng: np.random.Generator

    def factors(self, number: int) -> np.ndarray:
        """Of `number` durations, float64: lognormal with mean 1, so none is negative."""
        variance = np.log1p(self.jitter**2)
        return self.rng.lognormal(-variance / 2, np.sqrt(variance), number)

    @classmethod
    def of(cls, jitter: float, rng: int | np.random.Generator | None) -> Spread | None:
        """What a caller asked for; None when nothing varies."""
        jitter = one_duration("jitter", jitter)
        if jitter == 0:
            return None
        if rng is None:
            raise ValueError(
                f"jitter is {jitter:g} and rng is None: give a seed, such as rng=0, so that the same call gives "
                f"the same times"
            )
        try:
            return cls(jitter=jitter, rng=np.random.default_rng(rng))
        except (TypeError, ValueError):
            raise ValueError(
                f"rng is {shown(rng)}: give a seed, such as rng=0, or a NumPy Generator"
            ) from None


def action_durations(
    schedule: Schedule,
    *,
    forward: Times,
    backward: Times,
    weight: Times | None,
    pair: Times | None,
    overhead: float,
    spread: Spread | None,
) -> np.ndarray:
    """Duration of each action, float64 (actions,); both actions of a pair have the pair's.

    Raises:
        ValueError: a duration is negative, not a number, or of the wrong shape.
    """
    tables = {
        "forward": table("forward", forward, schedule),
        "backward": table("backward", backward, schedule),
    }
    whole = tables["backward"]
    weights = whole / 2 if weight is None else table("weight", weight, schedule)
    if (weights > whole).any():
        over, of = (part[weights > whole][0] for part in np.broadcast_arrays(weights, whole))
        raise ValueError(
            f"weight {over:g} is more than backward {of:g}: it is the part of backward spent on weights"
        )
    by_kind = np.stack(np.broadcast_arrays(tables["forward"], whole, whole - weights, weights))  # as in Kind
    column = schedule.microbatch if by_kind.shape[2] > 1 else 0
    took: np.ndarray = by_kind[schedule.kind, schedule.stage, column] + one_duration("overhead", overhead)
    if len(first := schedule.pairs):
        if pair is None:
            both = took[first] + took[first + 1]
        else:
            given = table("pair", pair, schedule)
            column = schedule.microbatch[first] if given.shape[1] > 1 else 0
            both = given[schedule.stage[first], column] + 2 * overhead
        took[first] = took[first + 1] = both
    elif pair is not None:
        table("pair", pair, schedule)  # a bad value is one here too
    if spread is not None:
        factor = spread.factors(schedule.actions)
        factor[first + 1] = factor[first]
        took = took * factor
    return took


def table(name: str, value: Times, schedule: Schedule) -> np.ndarray:
    """`value` by stage and microbatch, float64 (stages, microbatches) or (stages, 1).

    Raises:
        ValueError: it is neither one duration, nor one a stage, nor one a stage and microbatch;
            or one of them is negative or not finite.
    """
    stages, microbatches = schedule.stages, schedule.microbatches
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is {shown(value)}: it must be a number, one a stage, or one a stage and microbatch"
        ) from None
    if array.shape not in ((), (stages,), (stages, 1), (1, microbatches), (stages, microbatches)):
        raise ValueError(
            f"{name} has the shape {array.shape}: it must be a number, one for each of {count(stages, 'stage')}, "
            f"or of shape ({stages}, {microbatches}): one a stage and microbatch"
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{name} is {shown(value)}: durations must be finite and at least 0")
    if array.ndim < 2:
        array = np.broadcast_to(array, (stages,))[:, None]
    return np.broadcast_to(array, (stages, array.shape[1]))


def boundaries(value: Times, schedule: Schedule) -> np.ndarray:
    """Transfer time of each boundary between stages, float64 (stages - 1,).

    Raises:
        ValueError: it is neither one duration nor one a boundary, each finite and at least 0.
    """
    between = schedule.stages - 1
    if is_real(value) or not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        return np.full(between, one_duration("transfer", value))
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"transfer is {shown(value)}: it must be a number, or one a boundary") from None
    if array.shape not in ((), (between,)):
        raise ValueError(
            f"transfer has the shape {array.shape}: it must be a number, or one for each of "
            f"{count(between, 'boundary')} between stages"
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"transfer is {shown(value)}: durations must be finite and at least 0")
    return np.broadcast_to(array, (between,))


def one_duration(name: str, value: object) -> float:
    """`value` as a float.

    Raises:
        ValueError: it is not a finite number of at least 0.
    """
    if not is_real(value) or not 0 <= value < float("inf"):  # type: ignore[operator]  # checked
        raise ValueError(f"{name} is {shown(value)}: it must be a finite number of at least 0")
    return float(value)  # type: ignore[arg-type]  # checked
