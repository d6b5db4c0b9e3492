"""Colours by role, light and dark, and how wide a text is. Checked in tests/draw/test_look.py."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"


class Theme(StrEnum):
    """Whether a picture stands on light or dark paper."""

    LIGHT = "light"
    DARK = "dark"


# Fills that carry meaning are the same in both themes; paper and ink change.
FILLS: Mapping[str, str] = MappingProxyType(
    {
        "F": "#8CC5F0",
        "B": "#1F4E8C",
        "I": "#C7761B",
        "W": "#F6DD8F",
        "parameters": "#1D4F91",
        "gradients": "#6FA8DC",
        "optimizer": "#B35C00",
        "activations": "#F2C14E",
        "gathered": "#C3E6A1",
        "accent": "#D81B60",
        # Lines of a chart, beside ink; the same again dashed.
        "line-1": "#0072B2",
        "line-2": "#D55E00",
        "line-3": "#9018F0",
        "line-4": "#A89078",
        "dark": "#111111",  # words on a light fill, in both themes
    }
)
INKS: Mapping[str, str] = MappingProxyType(
    {
        "F": "#111111",
        "B": "#ffffff",
        "I": "#111111",
        "W": "#111111",
        "parameters": "#ffffff",
        "gradients": "#111111",
        "optimizer": "#ffffff",
        "activations": "#111111",
        "gathered": "#111111",
    }
)
PAPER: Mapping[Theme, Mapping[str, str]] = MappingProxyType(
    {
        Theme.LIGHT: MappingProxyType(
            {
                "paper": "#ffffff",
                "ink": "#1a1a1a",
                "muted": "#555555",
                "idle": "#e9e9e9",
                "hatch": "#c4c4c4",
                "edge": "#555555",
            }
        ),
        Theme.DARK: MappingProxyType(
            {
                "paper": "#111111",
                "ink": "#f2f2f2",
                "muted": "#bbbbbb",
                "idle": "#2b2b2b",
                "hatch": "#4a4a4a",
                "edge": "#bbbbbb",
            }
        ),
    }
)

# Stripes inside a fill, so that kinds differ by more than colour: at the foot, the head, or both.
STRIPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "B": ("foot",),
        "I": ("head",),
        "W": ("foot", "head"),
    }
)

_NARROW, _WIDE = frozenset("iljtfrI.,:;'|! "), frozenset("mwMW%@")


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Width of a text in px, a little more than the widest of the fonts takes."""
    em = sum(
        0.36 if one in _NARROW else 0.97 if one in _WIDE else 0.72 if one.isupper() else 0.63 for one in text
    )
    return em * size * (1.14 if bold else 1.0)


def size_that_fits(text: str, size: float, width: float, bold: bool = False) -> float:
    """The font size, at most `size`, at which `text` is at most `width` wide."""
    return min(size, size * width / max(text_width(text, size, bold), 1e-9))
