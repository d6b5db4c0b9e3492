"""Sentences for bad input: the value, the rule, the way out."""

import difflib
import numbers
import operator
from collections.abc import Iterable


def shown(value: object) -> str:
    """The caller's own value, short enough for one sentence.

    Example:
        >>> shown("eight"), shown(10**9)
        ("'eight'", '1,000,000,000')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) < 10**18 else "a number of 19 or more digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole_number_fault(value: object, *, least: int = 1, most: int | None = None) -> str | None:
    """Why `value` is not a whole number from `least` to `most`, or None when it is.

    Example:
        >>> whole_number_fault(0)
        'must be a whole number of at least 1'
        >>> whole_number_fault(3) is None
        True
    """
    rule = (
        f"must be a whole number of at least {least:,}"
        if most is None
        else f"must be a whole number from {least:,} to {most:,}"
    )
    if isinstance(value, bool):
        return rule
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # the except is the check
    except TypeError:
        return rule
    if number < least or (most is not None and number > most):
        return rule
    return None


def whole(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """`value` as an int.

    Raises:
        ValueError: it is not a whole number from `least` to `most`.

    Example:
        >>> whole("devices", 0)
        Traceback (most recent call last):
        ValueError: devices is 0: it must be a whole number of at least 1
    """
    fault = whole_number_fault(value, least=least, most=most)
    if fault:
        raise ValueError(f"{name} is {shown(value)}: it {fault}")
    return operator.index(value)  # type: ignore[arg-type]  # checked above


def is_real(value: object) -> bool:
    """Whether `value` is a real number; True and False are not meant as numbers.

    Example:
        >>> is_real(1.5), is_real(True), is_real("1")
        (True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """A sentence for an unknown name, with the nearest known ones first.

    Example:
        >>> unknown("schedule", "1fb", ["gpipe", "1f1b"])
        "there is no schedule '1fb': did you mean '1f1b'? Known: gpipe, 1f1b"
    """
    names = [str(one) for one in known]
    near = difflib.get_close_matches(str(name).lower(), names, n=2, cutoff=0.5)
    guess = f" did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    listed = f" Known: {', '.join(names)}" if guess else f" known are {', '.join(names)}"
    return f"there is no {what} {shown(name)}:{guess}{listed}"
