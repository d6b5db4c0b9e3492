"""Numbers as people read them: bytes in GB or GiB, shares in per cent."""

from collections.abc import Collection, Sequence
from enum import StrEnum


class Unit(StrEnum):
    """A unit of bytes. GB is 1e9 bytes, GiB is 2**30; one picture uses one of them."""

    GB = "GB"
    GIB = "GiB"

    @property
    def size(self) -> int:
        """Bytes in one unit."""
        return 10**9 if self is Unit.GB else 2**30


def amount(size: float, unit: Unit = Unit.GB) -> str:
    """Bytes as a number of `unit`, without its name: three digits or a decimal.

    Example:
        >>> amount(128_484_179_968), amount(803_000_000), amount(4_000_000), amount(2e12)
        ('128.5', '0.80', '0.004', '2,000')
    """
    value = size / unit.size
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 1:
        return f"{value:.1f}"
    if value >= 0.1:
        return f"{value:.2f}"
    return f"{value:.3f}" if value >= 0.0005 else "<0.001"


def with_unit(size: float, unit: Unit = Unit.GB) -> str:
    """Bytes with their unit.

    Example:
        >>> with_unit(80e9), with_unit(80 * 2**30, Unit.GIB)
        ('80.0 GB', '80.0 GiB')
    """
    return f"{amount(size, unit)} {unit}"


def capacity_text(size: float, unit: Unit = Unit.GB) -> str:
    """A device's memory as its maker writes it: no decimals where it has none.

    Example:
        >>> capacity_text(80e9), capacity_text(16.5e9)
        ('80 GB', '16.5 GB')
    """
    value = size / unit.size
    return f"{value:,.0f} {unit}" if abs(value - round(value)) < 0.005 else with_unit(size, unit)


def percent(share: float) -> str:
    """A share in per cent; the ends are kept for exactly nothing and everything.

    Example:
        >>> percent(3 / 11), percent(0.004), percent(0), percent(0.9999)
        ('27%', '0.4%', '0%', '99.9%')
    """
    if share in (0, 1):
        return f"{share:.0%}"
    if 0.095 <= share < 0.995:
        return f"{share:.0%}"
    return f"{min(share, 0.999) if share < 1 else share:.1%}"


def number(value: float) -> str:
    """A time or ratio without needless digits.

    Example:
        >>> number(33.0), number(1.5), number(0.1 + 0.2)
        ('33', '1.5', '0.3')
    """
    return f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def bytes_text(size: float) -> str:
    """Bytes in the unit that suits them, powers of 1000.

    Example:
        >>> bytes_text(33_554_432), bytes_text(3.5e9), bytes_text(12), bytes_text(0)
        ('33.6 MB', '3.50 GB', '12 bytes', '0 bytes')
    """
    for power, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= 0.9995 * power:
            return f"{size / power:.3g} {name}" if size / power >= 9.995 else f"{size / power:.2f} {name}"
    return f"{size:.0f} byte{'' if size == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """A duration in the unit that suits it.

    Example:
        >>> seconds_text(14.03), seconds_text(0.0123), seconds_text(4.2e-6), seconds_text(0), seconds_text(7200)
        ('14.0 s', '12.3 ms', '4.2 µs', '0 s', '2.0 h')
    """
    if seconds >= 5400:
        return f"{seconds / 3600:,.1f} h"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 0.9995 * scale:
            value = seconds / scale
            return (
                f"{value:,.0f} {name}"
                if value >= 99.95
                else f"{value:.{1 if value >= 9.995 or scale < 1 else 2}f} {name}"
            )
    return f"{seconds / 1e-9:.1f} ns" if seconds >= 5e-11 else "0 s"


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> str:
    """Rows of words as columns of text, those in `left` on the left, the others on the right.

    Example:
        >>> print(aligned([["stage", "bytes"], ["A", "10 GB"]], left={0}))
        stage  bytes
        A      10 GB
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
