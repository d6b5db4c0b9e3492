"""A question with a number for an answer, which knows the wrong answers that mistakes produce."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from parakit.checks import shown
from parakit.learn.objectives import Objective


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a typed answer is worth, and why."""

    right: bool
    why: str
    mistake: str = ""  # name of the mistake it comes from, if it is a known one


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    """A wrong answer that people give, and what to look at."""

    name: str
    answer: Fraction
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question that `check` judges. Shares may be typed as 3/11, 0.27, 27% or 27 %."""

    id: str
    text: str
    answer: Fraction
    unit: str  # "" for a share, else the word after the number
    working: tuple[str, ...]
    hints: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    tolerance: Fraction = Fraction(1, 100)  # of the answer; a share may also be rounded to whole per cent
    objective: Objective = Objective.BUBBLE

    @property
    def is_share(self) -> bool:
        """Whether the answer is a part of a whole."""
        return not self.unit

    def check(self, text: str) -> Verdict:
        """Judge a typed answer; what cannot be read is said, not counted as wrong thinking.

        Example:
            >>> from parakit.learn import practice
            >>> question = practice(family="idle-share", seed=1)
            >>> question.check(str(question.answer)).right
            True
        """
        given = parse(text, self.unit)
        if given is None:
            form = "a share such as 3/11, 0.27 or 27%" if self.is_share else f"a number of {self.unit}"
            return Verdict(right=False, why=f"{shown(text)} cannot be read: type {form}.")
        if self._agrees(given, self.answer):
            return Verdict(right=True, why=f"Right: {self.shown_answer}.")
        for mistake in self.mistakes:
            if not self._agrees(self.answer, mistake.answer) and self._agrees(given, mistake.answer):
                return Verdict(right=False, why=mistake.why, mistake=mistake.name)
        if self.is_share and given > 1:
            return Verdict(right=False, why="A share of a whole is at most 1 (or 100%).")
        return Verdict(
            right=False, why=f"Not that. {'Take a hint' if self.hints else 'Look again'}, then try once more."
        )

    @property
    def shown_answer(self) -> str:
        """The answer as a learner reads it."""
        if not self.is_share:
            return f"{float(self.answer):g} {self.unit}"
        return f"{self.answer} = {float(self.answer):.1%}"

    def _agrees(self, given: Fraction, answer: Fraction) -> bool:
        slack = abs(answer) * self.tolerance
        if self.is_share:
            slack = max(slack, Fraction(1, 200))  # half a per cent: rounded to whole per cent
        elif answer.denominator == 1:
            slack = Fraction(0)  # things that are counted
        return abs(given - answer) <= slack


_NUMBER = re.compile(r"([+-]?\d+(?:[.,]\d+)?)(?:\s*/\s*(\d+(?:[.,]\d+)?))?\s*(%|[a-zA-Z]*)", re.ASCII)


def parse(text: str, unit: str) -> Fraction | None:
    """The number in a typed answer, or None: "3/11", "27 %", "0.27", "12,5", "12 slots".

    Example:
        >>> parse("27 %", ""), parse("3/11", ""), parse("12,5", "slots"), parse("twelve", "slots")
        (Fraction(27, 100), Fraction(3, 11), Fraction(25, 2), None)
    """
    found = _NUMBER.fullmatch(text.strip()[:60])
    if found is None:
        return None
    top, bottom, tail = found.groups()
    value = Fraction(top.replace(",", "."))
    if bottom is not None:
        below = Fraction(bottom.replace(",", "."))
        if below == 0:
            return None
        value /= below
    if tail == "%":
        return value / 100 if not unit else None
    if tail and tail.rstrip("s").lower() != unit.rstrip("s").lower():
        return None
    return value
