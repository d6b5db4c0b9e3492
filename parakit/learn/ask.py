"""A question to answer in the notebook: type, check, take a hint, see the working."""

from __future__ import annotations

from html import escape

import ipywidgets as widgets

from parakit.checks import shown, unknown
from parakit.learn.objectives import Objective
from parakit.learn.question import Question, Verdict, parse
from parakit.live import LiveBox


class Asked(LiveBox):
    """A question with a field for its answer.

    Attributes:
        question: what is asked.
        field: the text widget.
        verdict: of the latest answer, or None.
    """

    invitation = "Run this cell to answer it."

    def __init__(self, question: Question) -> None:
        super().__init__("question")
        self.question = question
        self.verdict: Verdict | None = None
        self._hints = 0
        self._text = widgets.HTML(
            f'<div style="font-size:17px;line-height:25px">{escape(question.text)}</div>'
        )
        self.field = widgets.Text(
            placeholder="3/11, 0.27 or 27%" if question.is_share else f"a number of {question.unit}",
            description="answer",
            continuous_update=False,  # checked on Enter or when the field is left
            layout=widgets.Layout(width="300px"),
        )
        self._said = widgets.HTML(layout=widgets.Layout(width="100%", min_height="54px"))
        check = widgets.Button(description="Check", button_style="primary")
        hint = widgets.Button(description="Hint", disabled=not question.hints)
        working = widgets.Button(description="Show working", disabled=not question.working)
        self.field.observe(lambda _: self.check(), names="value")
        check.on_click(lambda _: self.check())
        hint.on_click(lambda _: self.hint())
        working.on_click(lambda _: self.show_working())
        self.children = (
            self._text,
            widgets.HBox([self.field, check, hint, working], layout=widgets.Layout(flex_flow="row wrap")),
            self._said,
            self.hider,
        )

    def check(self) -> None:
        """Judge what stands in the field."""
        if not self.field.value.strip():
            self._say("Type an answer first.")
            return
        self.verdict = self.question.check(self.field.value)
        self._say(("✔ " if self.verdict.right else "✘ ") + self.verdict.why)

    def hint(self) -> None:
        """The next hint; after the last the first again."""
        text = self.question.hints[self._hints % len(self.question.hints)]
        self._hints += 1
        self._say(f"Hint: {text}")

    def show_working(self) -> None:
        """Every step with this question's own numbers."""
        self._say(*self.question.working)

    def stand_in(self) -> str:
        """The question, its working folded away."""
        lines = "<br>".join(escape(line) for line in self.question.working)
        return (
            f"<p>{escape(self.question.text)}</p><details><summary>Working</summary><p>{lines}</p></details>"
        )

    def _say(self, *lines: str) -> None:
        html = "<br>".join(escape(line) for line in lines)
        self._said.value = f'<div role="status" style="font-size:16px;line-height:24px">{html}</div>'


def ask(question: Question) -> Asked:
    """A widget that asks a question; `question.check(text)` does the same without one."""
    return Asked(question)


def predict(text: str, answer: str, *, unit: str = "", why: str, objective: str = "O3") -> Asked:
    """Ask for a prediction before a picture shows the answer.

    Args:
        text: the question.
        answer: a number as a learner would type it: "3/4", "12", "128.5".
        unit: what is counted, "" for a share of a whole.
        why: shown by "Show working".
        objective: which one it serves: O1, O2 or O3.

    Raises:
        ValueError: the answer is no number, or there is no such objective.
    """
    number = parse(answer, unit)
    if number is None:
        raise ValueError(
            f"answer is {shown(answer)}: it must be a number as a learner would type it, such as '3/4'"
        )
    if objective not in list(Objective):
        raise ValueError(unknown("objective", objective, list(Objective)))
    question = Question(
        id="prediction", text=text, answer=number, unit=unit, working=(why,), objective=Objective(objective)
    )
    return Asked(question)
