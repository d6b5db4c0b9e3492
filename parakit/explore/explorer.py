"""What every explorer is: controls, the core's answer in a sentence, and a picture."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets as widgets

from parakit.draw import Picture
from parakit.live import LiveBox

_WIDTHS = {2: ("170px", "400px"), 3: ("128px", "276px")}  # of a control's words, of all of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the core says to the values of the controls."""

    result: Any
    sentence: str
    picture: Picture


class Explorer(LiveBox):
    """Controls that redraw a picture; without a browser, set a control and read `result`.

    Args:
        kind: short name, used in the page.
        controls: name -> widget; a function that makes them from starting values.
        defaults: values that always work.
        start: the caller's values; if they cannot be shown, the defaults are, and why is said.
        answer: what the core says to the controls' values; raises ValueError with a sentence.
        columns: of controls beside each other in a page of usual width.

    Attributes:
        controls: name -> widget.
        result: the core's latest answer.
        problems: sentences, empty when the picture shows the controls' values.
    """

    def __init__(
        self,
        kind: str,
        *,
        controls: Callable[[Mapping[str, Any]], dict[str, widgets.Widget]],
        defaults: Mapping[str, Any],
        start: Mapping[str, Any],
        answer: Callable[[Mapping[str, Any]], Answer],
        columns: int = 2,
    ) -> None:
        super().__init__(kind)
        self._answer = answer
        self._said = widgets.HTML(layout=widgets.Layout(width="100%", min_height="48px"))
        self._shown = widgets.HTML(layout=widgets.Layout(width="100%"))
        self.problems: tuple[str, ...] = ()
        refused: ValueError | None = None
        try:
            first = answer(start)
        except ValueError as error:
            refused, start, first = error, defaults, answer(defaults)
        self.controls = controls(start)
        self._show(first)
        if refused is not None:
            self._refuse(refused)
        words, width = _WIDTHS[columns]
        for control in self.controls.values():
            control.style.description_width, control.layout.width = words, width
            control.observe(self._changed, names="value")
        row = widgets.Box(
            list(self.controls.values()),
            layout=widgets.Layout(display="flex", flex_flow="row wrap", width="100%"),
        )
        self.children = (row, self._said, self._shown, self.hider)

    def values(self) -> dict[str, Any]:
        """The controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def stand_in(self) -> str:
        """The picture and its sentence, as they are now."""
        data = base64.b64encode(self._picture.cropped().png()).decode()
        return (
            f'<img alt="{escape(self._picture.alt)}" style="max-width:100%;width:{self._picture.scene.width:g}px" '
            f'src="data:image/png;base64,{data}"><p>{escape(self._sentence)}</p>'
        )

    def _changed(self, _: object) -> None:
        try:
            answer = self._answer(self.values())
        except ValueError as error:
            self._refuse(error)
        else:
            self._show(answer)

    def _show(self, answer: Answer) -> None:
        self.result, self._picture, self._sentence = answer.result, answer.picture, answer.sentence
        self.problems = ()
        self._said.value = _status(escape(answer.sentence))
        self._shown.value = answer.picture.svg

    def _refuse(self, error: ValueError) -> None:
        """Say why, and keep the last picture, dimmed."""
        self.problems = tuple(str(one) for one in getattr(error, "problems", (error,)))
        lines = "<br>".join(escape(one) for one in self.problems)
        self._said.value = _status(
            f'<b style="border-left:4px solid #D81B60;padding-left:8px">Not possible:</b> {lines}'
        )
        self._shown.value = f'<div style="opacity:.35" aria-hidden="true">{self._picture.svg}</div>'


def whole_slider(words: str, value: int, least: int, most: int, help: str = "") -> widgets.IntSlider:
    """A slider over whole numbers; its end moves out to a starting value beyond it."""
    return widgets.IntSlider(
        value=value, min=min(least, value), max=max(most, value), description=words, **_looks(help)
    )


def slider(
    words: str, value: float, least: float, most: float, step: float, help: str = ""
) -> widgets.FloatSlider:
    """A slider over decimal numbers; its end moves out to a starting value beyond it."""
    return widgets.FloatSlider(
        value=value,
        min=min(least, value),
        max=max(most, value),
        step=step,
        readout_format=".1f",
        description=words,
        **_looks(help),
    )


def choice_slider(
    words: str, value: Any, options: tuple[Any, ...], help: str = ""
) -> widgets.SelectionSlider:
    """A slider over listed values; a starting value that is not listed is put in its place."""
    return widgets.SelectionSlider(
        options=sorted({*options, value}), value=value, description=words, **_looks(help)
    )


def choice(words: str, value: Any, options: Any, help: str = "") -> widgets.Dropdown:
    """A list to choose from."""
    return widgets.Dropdown(options=options, value=value, description=words, **_looks(help))


def switch(words: str, value: bool, help: str = "") -> widgets.Checkbox:
    """Something on or off."""
    looks = _looks(help)
    return widgets.Checkbox(value=value, description=words, **looks)


def _looks(help: str) -> dict[str, Any]:
    # ipywidgets 8 calls it tooltip, ipywidgets 7 description_tooltip.
    tooltip = "tooltip" if widgets.IntSlider.class_traits().get("tooltip") else "description_tooltip"
    return {
        tooltip: help or None,
        "layout": widgets.Layout(max_width="100%"),
    }


def _status(html: str) -> str:
    return f'<div role="status" style="font-size:16px;line-height:24px;padding:2px 0">{html}</div>'
