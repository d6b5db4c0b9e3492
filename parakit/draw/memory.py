"""Memory bars: what fills one device of each stage, against its capacity."""

from __future__ import annotations

import numpy as np

from parakit.capacity import Capacity, HasMemory
from parakit.draw.frame import LEFT, TOP, WIDTH, cut, heading, legend, pitch, row_names
from parakit.draw.look import text_width
from parakit.draw.picture import Picture
from parakit.draw.scene import Box, Cells, Line, Scene, Text
from parakit.memory import CATEGORY_NAMES, MemoryReport
from parakit.model import Model
from parakit.names import count
from parakit.units import Unit, amount, capacity_text, with_unit

_END = 800.0  # px, right end of the bars; totals stand beyond it
_TOTALS = WIDTH - 10
_MOST_ROWS = 512


def memory_bars(
    report: MemoryReport,
    capacity: float | HasMemory | None = None,
    *,
    reserve: float = 0.0,
    unit: Unit | str = Unit.GB,
    shows: float | None = None,
    rows: int | None = None,
) -> Picture:
    """Bars of what one device of each stage holds, by category, with a capacity line.

    Args:
        report: what to draw.
        capacity: bytes of one device, or what has memory and reserve; None draws no line.
        reserve: bytes of it that a plan may not fill; the line stands before them.
        unit: "GB" (1e9 bytes) or "GiB" (2**30), for the whole picture.
        shows: bytes that the axis reaches to, so that the line stands still while a slider moves;
            a longer bar is cut, with a mark. None means as far as everything needs.
        rows: leave room for this many rows; None means as many as there are stages.

    Raises:
        ValueError: more than 512 stages, or a capacity that is not a positive number.
    """
    peaks = report.peak
    stages = len(peaks)
    if stages > _MOST_ROWS:
        raise ValueError(f"{stages:,} bars cannot be read: draw at most {_MOST_ROWS} stages")
    unit = Unit(unit)
    device = None if capacity is None else Capacity.of(capacity, reserve)
    line = None if device is None else device.usable
    if shows is None:
        shows = max(float(peaks.max()), 1.15 * (line or 0.0))
    room = max(rows or stages, stages)
    step = pitch(room)
    height = step - (10.0 if step >= 25 else max(step * 0.15, 1.0))
    scale = (_END - LEFT) / shows
    bottom = TOP + stages * step
    headline = report.verdict(device, unit) if device else report.limit().sentence(unit)
    subtitle = _subtitle(report)
    parts: list[Cells | Box | Line | Text] = [
        *heading(headline, subtitle),
        *row_names([_name(report, row) for row in range(stages)], step, height),
        _bars(report, unit, step, height, scale, shows, line),
    ]
    for row, peak in enumerate(peaks.tolist()):
        top = TOP + row * step
        over = line is not None and peak > line
        if step >= 12:
            words = f"{with_unit(peak, unit)}{' over' if over else ''}"
            parts.append(
                Text(
                    x=_TOTALS,
                    y=top + height / 2 + 5,
                    text=words,
                    anchor="end",
                    bold=over,
                    size=min(15, step * 0.8),
                )
            )
        end = LEFT + peak * scale
        if peak > shows:
            parts += cut(_END, top, height)
        elif report.left_out and step >= 25:
            parts += _left_out(report, end, top, height, line, scale)
    if device is not None:
        x = LEFT + device.usable * scale
        for role, width, dash in (("paper", 6.5, None), ("accent", 2.5, (7.0, 4.0))):
            parts.append(Line(x1=x, y1=TOP - 6, x2=x, y2=bottom + 2, role=role, width=width, dash=dash))
        words = f"capacity {device.text(unit) if device.reserve else capacity_text(device.memory, unit)}"
        half = text_width(words, 14) / 2
        middle = min(max(x, LEFT + half), WIDTH - 10 - half)
        parts.append(Text(x=middle, y=bottom + 18, text=words, size=14, anchor="middle"))
    entries = [(category, CATEGORY_NAMES[category]) for category in report.categories]
    entries += [("", f"{what}: not counted") for what in report.left_out]
    parts += legend(entries, bottom + 34)
    scene = Scene(
        width=WIDTH,
        height=TOP + room * step + 62,
        used=bottom + 62,
        headline=headline,
        alt=_alt(report, device, unit),
        parts=tuple(parts),
    )
    return Picture(scene)


def plan_words(report: MemoryReport) -> str:
    """The model and its plan in a line, with what decides its memory."""
    plan = report.plan
    experts = f" ep={plan.ep}" if plan.ep > 1 else ""
    words = f"{report.model_name}, {plan.precision}, dp={plan.dp} tp={plan.tp} pp={plan.pp}{experts}, ZeRO {plan.zero}"
    if plan.trainable < 1:
        words += f", {plan.trainable:.3g} of the parameters trained"
    if isinstance(report.model, Model):
        words += f"; {count(plan.microbatches, 'microbatch')} of {plan.microbatch} × {plan.sequence:,} tokens"
        words += {"none": "", "selective": ", scores recomputed", "full": ", blocks recomputed"}[
            plan.recompute
        ]
        words += ", sequence parallel" if plan.sequence_parallel else ""
    return words


def _subtitle(report: MemoryReport) -> str:
    left_out = f"; {' and '.join(report.left_out)} not counted" if report.left_out else ""
    return f"{plan_words(report)}{left_out}"


def _name(report: MemoryReport, row: int) -> str:
    name = report.row_name(row)
    return name[0].lower() + name[1:]


def _alt(report: MemoryReport, device: Capacity | None, unit: Unit) -> str:
    rows = [
        f"{_name(report, row)} {with_unit(peak, unit)}" for row, peak in enumerate(report.peak.tolist()[:16])
    ]
    line = f"; capacity {device.text(unit)}" if device else ""
    left_out = f"; {' and '.join(report.left_out)} not counted" if report.left_out else ""
    return f"{count(len(report.peak), 'bar')} of memory: {', '.join(rows)}{line}{left_out}"


def _bars(
    report: MemoryReport,
    unit: Unit,
    step: float,
    height: float,
    scale: float,
    shows: float,
    capacity: float | None,
) -> Cells:
    stages, categories = report.bytes.shape
    ends = np.minimum(np.cumsum(report.bytes, axis=1), shows)
    starts = np.concatenate([np.zeros((stages, 1)), ends[:, :-1]], axis=1)
    left, right = LEFT + starts * scale, LEFT + ends * scale
    if capacity is None:
        label_left, label_right = left, right
    else:
        # A label stands on the wider side of the capacity line, never under it.
        line = LEFT + capacity * scale
        crossed = (left < line) & (line < right)
        before = line - left >= right - line
        label_left = np.where(crossed & ~before, line, left)
        label_right = np.where(crossed & before, line, right)
    sizes = report.bytes.ravel().tolist()
    role = np.tile(np.arange(categories), stages)
    names = report.categories
    return Cells(
        x=left.ravel(),
        width=(right - left).ravel(),
        row=np.repeat(np.arange(stages), categories),
        role=role,
        top=tuple(TOP + row * step for row in range(stages)),
        height=height,
        roles=names,
        labels=tuple(amount(size, unit) for size in sizes),
        tooltips=tuple(
            f"{_name(report, i // categories)}: {CATEGORY_NAMES[names[i % categories]]} {with_unit(size, unit)}"
            for i, size in enumerate(sizes)
        ),
        row_tooltips=tuple(
            f"{_name(report, row)}: {with_unit(peak, unit)}" for row, peak in enumerate(report.peak.tolist())
        ),
        label_x=((label_left + label_right) / 2).ravel(),
        label_room=(label_right - label_left).ravel(),
    )


def _left_out(
    report: MemoryReport, end: float, top: float, height: float, capacity: float | None, scale: float
) -> list[Text]:
    """Words where the missing categories would stand, clear of the capacity line."""
    words = f"+ {' and '.join(report.left_out)}, not counted"
    x, width = end + 10, text_width(words, 13)
    if capacity is not None:
        line = LEFT + capacity * scale
        if x - 8 < line < x + width + 8:
            x = line + 10
    if x + width > _END + 40:
        return []
    return [Text(x=x, y=top + height / 2 + 5, text=words, size=13, role="muted")]
