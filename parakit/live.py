"""A box of widgets that leaves something to see in a saved notebook, where no widget is alive.

What was measured: one output with both a widget view and an image shows only an error in a trusted
notebook without widget state. Two outputs work in JupyterLab, Notebook 6, Colab and nbconvert: the
live view hides its stand-in, and the stand-in hides the dead view's error line.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

# How many boxes of a kind this kernel has made: two alike in one notebook hide only their own stand-in.
_made: dict[str, int] = {}


class LiveBox(widgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """A VBox that displays itself and a static stand-in.

    Subclasses give `stand_in` and put `hider` into the page with one of their HTML widgets.
    """

    invitation = "Run this cell to move it."  # where nothing is alive

    def __init__(self, kind: str) -> None:
        _made[kind] = _made.get(kind, 0) + 1
        self._mark = f"parakit-saved-{kind}-{_made[kind]}"
        super().__init__(layout=widgets.Layout(width="100%", max_width="980px"))
        self.add_class("parakit")

    def stand_in(self) -> str:
        """HTML for a saved notebook; untrusted ones keep images and text, no SVG, no style."""
        raise NotImplementedError

    @property
    def hider(self) -> widgets.HTML:
        """An empty widget whose style hides the stand-in as long as it is alive."""
        style = f"<style>.{self._mark}{{display:none!important}}</style>"
        return widgets.HTML(style, layout=widgets.Layout(display="none"))

    def _ipython_display_(self, **_: Any) -> None:
        from IPython.display import display

        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        display(
            {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.invitation},
            raw=True,
        )
        dead = (
            f"<style>.jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
            f":has(+ .jp-OutputArea-child .{self._mark}){{display:none}}</style>"
        )
        stand_in = f'{dead}<div class="{self._mark}">{self.stand_in()}</div>'
        display({"text/html": stand_in, "text/plain": "(as it was saved)"}, raw=True)
