"""Reads logs of nccl-tests, as people post them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from parakit.checks import shown, unknown, whole
from parakit.measure.measurements import Measurements
from parakit.traffic import Collective

_NAMES = {
    "all_reduce": Collective.ALL_REDUCE,
    "all_gather": Collective.ALL_GATHER,
    "reduce_scatter": Collective.REDUCE_SCATTER,
    "alltoall": Collective.ALL_TO_ALL,
    "sendrecv": Collective.SEND,
}
_PERF = re.compile(rf"\b({'|'.join(_NAMES)})_perf\b")
_RANK = re.compile(r"#\s+Rank\s+(\d+)\b")
_HEADER = re.compile(r"#\s+size\s+count\s+type\b")
_ROW = re.compile(
    r"(?:^|[\s:>\]|])(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<type>[a-z]\w*)"
    r"(?:\s+(?P<op>[a-z]\w*)(?:\s+(?P<root>-?\d+))?)?\s+(?P<rest>[-\d.NAae+/\s]+)$"
)
_CUT = re.compile(r"(?:^|[\s:>\]|])\d+\s+\d+(?:\s+[a-z]\w*)?[\s\w]*$")
_US = 1e-6


@dataclass(slots=True)
class _Table:
    """One run's rows, while it is read."""

    collective: str | None = None
    ranks: int | None = None
    rows: list[tuple[int, float, float, float, bool]] = field(default_factory=list)  # bytes, s, algbw, busbw


def read(
    path: str | PathLike[str], *, collective: str | None = None, ranks: int | None = None
) -> Measurements:
    """Measured runs from a log of nccl-tests.

    With or without header and list of ranks, prefixed by mpirun or a pod's name, cut off in the
    middle of a row, several runs in one file. The number of ranks follows from the list of ranks,
    or from busbw over algbw.

    Args:
        path: of the log; or its text, where it has more than one line.
        collective: what was measured, where neither the log nor the file's name says it.
        ranks: how many devices took part, where the log does not tell.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no table of nccl-tests, or does not tell what was measured or how many took part.

    Source: NVIDIA nccl-tests, PERFORMANCE.md, for algbw, busbw and their factors.
    """
    pasted = isinstance(path, str) and "\n" in path
    name = "the log" if pasted else Path(path).name
    if collective is not None and collective not in _NAMES.values():
        raise ValueError(unknown("collective", collective, [str(one) for one in _NAMES.values()]))
    if ranks is not None:
        ranks = whole("ranks", ranks, least=2)
    text = str(path) if pasted else Path(path).read_text(errors="replace")
    warnings: list[str] = []
    tables = [table for table in _tables(text, warnings) if table.rows]
    if not tables:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        raise ValueError(
            f"{name} holds no table of nccl-tests: its rows would start with size, count and type, and its "
            f"first line is {shown(first)}; post the output of all_reduce_perf or its relatives"
        )
    parts = [_measured(table, name, collective, ranks) for table in tables]
    for table in tables:
        warnings += _doubts(table)
    return Measurements(
        collective=np.concatenate([one[0] for one in parts]),
        ranks=np.concatenate([one[1] for one in parts]),
        bytes=np.concatenate([one[2] for one in parts]),
        seconds=np.concatenate([one[3] for one in parts]),
        in_place=np.concatenate([one[4] for one in parts]),
        warnings=tuple(warnings),
        source="" if pasted else name,
    )


def _tables(text: str, warnings: list[str]) -> Iterator[_Table]:
    table, ranks, said = _Table(), -1, None
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if name := _PERF.search(line):
            said = _NAMES[name[1]].value
        if rank := _RANK.search(line):
            ranks = max(ranks, int(rank[1]))
        elif _HEADER.search(line):
            yield table
            table = _Table(collective=said, ranks=ranks + 1 if ranks >= 0 else None)
            ranks = -1
        elif "#" not in line and (row := _ROW.search(line)):
            if table.collective is None:
                table.collective = said
            for one in _runs(row, number, number == len(lines), warnings):
                table.rows.append(one)
        elif "#" not in line and table.rows and _CUT.search(line):
            warnings.append(f"line {number} is cut off: it is left out")
    yield table


def _runs(
    row: re.Match[str], number: int, last: bool, warnings: list[str]
) -> Iterator[tuple[int, float, float, float, bool]]:
    """Out-of-place and in-place results of a row: time, algbw, busbw, wrong values."""
    fields = row["rest"].split()
    if len(fields) not in (3, 4, 6, 8):
        warnings.append(f"line {number} is cut off: what it says in whole is kept")
    for place in range(2):
        some = fields[4 * place : 4 * place + 4] if len(fields) != 6 else fields[3 * place : 3 * place + 3]
        if len(some) < 3 or (last and len(some) == 3 and len(fields) not in (3, 6)):
            return
        try:
            took, alg, bus = (float(one) for one in some[:3])
        except ValueError:  # N/A: not measured
            continue
        if len(some) == 4 and some[3] not in ("N/A", "-"):
            wrong = float(some[3])
            if wrong:
                warnings.append(f"line {number} reports {wrong:g} wrong values: its times may mean nothing")
        if int(row["size"]) > 0 and took > 0:
            yield int(row["size"]), took * _US, alg, bus, place == 1


def _measured(
    table: _Table, name: str, collective: str | None, ranks: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    how = collective or table.collective or _from_name(name)
    if how is None:
        raise ValueError(
            f"{name} does not say which collective it measured: give collective= one of "
            f"{', '.join(_NAMES.values())}"
        )
    size, took, alg, bus, in_place = (np.array(column) for column in zip(*table.rows, strict=True))
    devices = ranks or table.ranks or _from_ratio(how, alg, bus)
    if devices is None or devices < 2:
        raise ValueError(
            f"{name} does not tell how many devices took part: give ranks= their number, at least 2"
        )
    number = len(size)
    return np.full(number, how), np.full(number, devices), size.astype(np.int64), took, in_place.astype(bool)


def _doubts(table: _Table) -> Iterator[str]:
    """Whether sizes are counted as nccl-tests counts them: algbw = size / time."""
    size, took, alg, _, _ = (np.array(column, dtype=np.float64) for column in zip(*table.rows, strict=True))
    told = alg >= 1  # else two decimals say too little
    if told.any():
        ratio = float(np.median(alg[told] * 1e9 * took[told] / size[told]))
        if not 0.9 < ratio < 1.1:
            yield (
                f"algbw is {ratio:.2f} × size / time: sizes are not counted as nccl-tests counts them, as by an old "
                f"release for all-gather and reduce-scatter; check collective= and ranks="
            )


def _from_name(name: str) -> str | None:
    name = name.lower().replace("-", "_")
    return next((how.value for one, how in _NAMES.items() if one in name), None)


def _from_ratio(how: str, alg: np.ndarray, bus: np.ndarray) -> int | None:
    """Ranks from busbw / algbw: 2(n-1)/n of an all-reduce, (n-1)/n of the others."""
    if how == Collective.SEND:
        return 2
    if not (alg > 0).any():
        return None
    most = int(alg.argmax())  # where rounding says the least
    factor = float(bus[most] / alg[most]) / (2 if how == Collective.ALL_REDUCE else 1)
    rounding = 0.005 / float(alg[most]) + 0.005 / float(max(bus[most], 1e-9))
    if not 0 < factor < 1:
        return None
    ranks = 1 / (1 - factor)
    if ranks * factor * rounding * ranks > 0.5 or abs(ranks - round(ranks)) > 0.25:
        return None
    return round(ranks)
