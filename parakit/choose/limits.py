"""What a search may choose from: values that are given, or all that make sense."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from parakit.checks import shown, unknown, whole, whole_number_fault
from parakit.pipeline import chunks_fault, schedules
from parakit.plan import LARGEST_DEGREE, Attention, Precision, Recompute

Limit = Any  # a value, several, or None for all


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Allowed values of each choice; None where all that make sense are tried."""

    batch: int
    sequence: int
    dp: tuple[int, ...] | None = None
    tp: tuple[int, ...] | None = None
    pp: tuple[int, ...] | None = None
    ep: tuple[int, ...] | None = None
    zero: tuple[int, ...] | None = None
    microbatch: tuple[int, ...] | None = None
    schedule: tuple[str, ...]
    chunks: tuple[int, ...] | None = None
    recompute: tuple[str, ...]
    sequence_parallel: tuple[bool, ...] | None = None
    attention: tuple[str, ...]
    precision: tuple[str, ...]

    @classmethod
    def of(cls, *, batch: int, sequence: int, **given: Limit) -> Limits:
        """From what a caller allows.

        Raises:
            ValueError: a value is none that a plan can have; the first one is named.
        """
        degrees = {
            name: _numbers(name, given[name], most=LARGEST_DEGREE)
            for name in ("dp", "tp", "pp", "ep", "microbatch")
        }
        names = (
            schedules() if given["schedule"] is None else _names("schedule", given["schedule"], schedules())
        )
        chunks = _numbers("chunks", given["chunks"])
        for one in chunks or ():
            faults = [chunks_fault(name, one) for name in names]
            if all(faults):
                raise ValueError(str(faults[0]))
        flags = _all(given["sequence_parallel"])
        for one in flags or ():
            if not isinstance(one, bool):
                raise ValueError(f"sequence_parallel is {shown(one)}: it must be True, False or both")
        return cls(
            batch=whole("batch", batch, most=10**12),
            sequence=whole("sequence", sequence, most=1_000_000_000),
            zero=_numbers("zero", given["zero"], least=0, most=3),
            schedule=names,
            chunks=chunks,
            recompute=_names("recompute", given["recompute"], list(Recompute)),
            sequence_parallel=flags,
            attention=_names("attention", given["attention"], list(Attention)),
            precision=_names("precision", given["precision"], list(Precision)),
            **degrees,
        )


def _all(limit: Limit) -> tuple[Any, ...] | None:
    if limit is None:
        return None
    several = isinstance(limit, Iterable) and not isinstance(limit, str)
    values = tuple(limit) if several else (limit,)
    if not values:
        raise ValueError("a limit is empty: give a value, several, or None for all")
    return tuple(dict.fromkeys(values))


def _numbers(name: str, limit: Limit, *, least: int = 1, most: int | None = None) -> tuple[int, ...] | None:
    values = _all(limit)
    for one in values or ():
        if fault := whole_number_fault(one, least=least, most=most):
            raise ValueError(f"{name} is {shown(one)}: it {fault}, several of them, or None for all")
    return values and tuple(sorted(values))


def _names(name: str, limit: Limit, known: Iterable[str]) -> tuple[str, ...]:
    names = [str(one) for one in known]
    values = _all(limit)
    for one in values or ():
        if one not in names:
            raise ValueError(unknown(name, one, names))
    return tuple(str(one) for one in values) if values else tuple(names)
