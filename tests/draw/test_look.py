"""Colours that everyone can tell apart, and texts that fit."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from parakit.draw.choice import ROLES
from parakit.draw.look import FILLS, INKS, PAPER, Theme, text_width

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
KINDS = ("F", "B", "I", "W")
CATEGORIES = ("parameters", "gradients", "optimizer", "activations", "gathered", "accent")


LINES = ("dark", "line-1", "line-2", "line-3", "line-4")  # ink is nearly dark, and on dark paper nearly white


def linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colour: str, sight: str) -> np.ndarray:
    rgb = np.clip(np.array(SIGHT[sight]) @ linear(colour), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    light = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("roles", [KINDS, CATEGORIES, LINES], ids=["kinds", "categories", "lines"])
def test_fills_differ_in_every_sight(roles, sight):
    for one, other in itertools.combinations(roles, 2):
        distance = np.linalg.norm(lab(FILLS[one], sight) - lab(FILLS[other], sight))
        assert distance > 20, (one, other)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", Theme)
def test_parts_of_a_step_differ_in_every_sight(theme, sight):
    """But for waiting, which is hatched."""
    fills = {**FILLS, **PAPER[theme]}
    parts = {name: fills[role] for name, role in ROLES.items() if name != "waiting"}
    for (one, colour), (other, another) in itertools.combinations(parts.items(), 2):
        assert np.linalg.norm(lab(colour, sight) - lab(another, sight)) > 20, (one, other)


def test_kinds_differ_in_grey_too():
    lightness = sorted(lab(FILLS[kind], "normal")[0] for kind in KINDS)
    assert min(np.diff(lightness)) >= 10


@pytest.mark.parametrize("role", INKS)
def test_ink_on_every_fill_is_legible(role):
    assert contrast(INKS[role], FILLS[role]) >= 4.5


@pytest.mark.parametrize("theme", Theme)
def test_words_on_paper_are_legible(theme):
    for role in ("ink", "muted"):
        assert contrast(PAPER[theme][role], PAPER[theme]["paper"]) >= 4.5


@pytest.mark.parametrize("theme", Theme)
def test_lines_of_a_chart_stand_out_from_paper(theme):
    for role in ("line-1", "line-2", "line-3", "line-4"):
        assert (
            contrast(FILLS[role], PAPER[theme]["paper"]) >= 2.9
        )  # 2.5 px wide, and each is named at its end


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "12 of 44 stage-slots are idle: 27%",
        "Stage A needs 128.5 GB, 48.5 GB more than the 80 GB of its device: optimizer state takes the most",
        "stage WWW",
        "capacity 76 GB (80 GB less 4 GB in reserve)",
    ],
)
def test_no_font_we_draw_with_is_wider_than_we_think(text, bold):
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    real = TextPath((0, 0), text, size=14, prop=font).get_extents().width
    assert real <= text_width(text, 14, bold) <= 1.35 * real
