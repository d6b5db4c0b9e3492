"""A picture: one scene with two renderers behind it."""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parakit.checks import shown
from parakit.draw.look import Theme
from parakit.draw.scene import Scene
from parakit.draw.svg import render as render_svg
from parakit.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SUFFIXES = (".svg", ".png", ".pdf")
_DPI = 144  # of PNG: twice a screen's 72, sharp on a projector


class Picture:
    """A drawn scene. In a notebook it shows itself; `save` writes it as SVG, PNG or PDF."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @cached_property
    def svg(self) -> str:
        """SVG that follows the light or dark theme of the page it stands in."""
        return render_svg(self.scene)

    @property
    def alt(self) -> str:
        """What a sighted reader would see, in words."""
        return self.scene.alt

    def cropped(self) -> Picture:
        """The same picture without the room it keeps for more rows."""
        return Picture(replace(self.scene, height=self.scene.used))

    def figure(self, theme: Theme | str = Theme.LIGHT) -> Figure:
        """The same scene as a matplotlib Figure, 1 px of the scene a 1/100 inch."""
        from parakit.draw.print import render as render_figure  # loads matplotlib

        return render_figure(self.scene, Theme(theme))

    def save(self, path: str | PathLike[str], theme: Theme | str = Theme.LIGHT) -> Path:
        """Write the picture; the suffix .svg, .png or .pdf decides the form.

        The file is written whole or not at all.

        Raises:
            ValueError: another suffix.
            FileNotFoundError: the folder does not exist.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in _SUFFIXES:
            raise ValueError(
                f"{shown(path.name)} does not end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
            )
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"there is no folder {path.parent} to write {path.name} into: make it first"
            )
        write_whole(path, self._bytes(suffix, Theme(theme)))
        return path

    def png(self, theme: Theme | str = Theme.LIGHT) -> bytes:
        """The picture as PNG, the same bytes for the same scene and matplotlib."""
        return self._bytes(".png", Theme(theme))

    def _bytes(self, suffix: str, theme: Theme) -> bytes:
        if suffix == ".svg":
            return render_svg(self.scene, theme=theme).encode()
        buffer = io.BytesIO()
        metadata: dict[str, Any] = {"Software": None} if suffix == ".png" else {"CreationDate": None}
        figure = self.figure(theme)
        figure.savefig(
            buffer, format=suffix[1:], dpi=_DPI, metadata=metadata, facecolor=figure.get_facecolor()
        )
        return buffer.getvalue()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        # An untrusted notebook drops SVG and shows the PNG.
        return {
            "image/svg+xml": render_svg(self.scene, theme=Theme.LIGHT, fluid=True),
            "image/png": base64.b64encode(self.png()).decode(),
            "text/plain": self.alt,
        }

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"
