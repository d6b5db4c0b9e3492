"""Memory over time under the grid: what stands where, on one time axis."""

from itertools import pairwise

import numpy as np
import pytest
from draw.drawn import svg_cells, svg_texts, svg_titles
from matplotlib.backends.backend_agg import FigureCanvasAgg

import parakit as pk
from parakit.draw import memory_over_time
from parakit.draw.frame import LEFT, RIGHT
from parakit.draw.held import _PANEL
from parakit.draw.scene import Box, Line

MODEL = pk.Model(layers=8, hidden=4096, heads=32, vocabulary=1000)


def held(device=0, **plan):
    return pk.memory_over_time(MODEL, pk.Plan(**{"pp": 4, "batch": 8, **plan}), device)


def boxes(picture, role):
    return [
        part for part in picture.scene.parts if isinstance(part, Box) and part.role == role and part.tooltip
    ]


@pytest.mark.parametrize("device", [0, 2])
def test_each_moment_s_activations_are_as_high_as_their_bytes(device):
    over = held(device)
    picture = memory_over_time(over, shows=100e9)
    scale = (RIGHT - LEFT) / over.timeline.span
    drawn = boxes(picture, "activations")
    for at, size in enumerate(over.bytes[:, 3].tolist()):
        middle = LEFT + (over.times[at] + over.times[at + 1]) / 2 * scale
        here = [box for box in drawn if box.x <= middle < box.x + box.width]
        assert sum(box.height for box in here) == pytest.approx(size / 100e9 * _PANEL)
    for category, size in zip(over.categories[:3], over.bytes[0, :3].tolist(), strict=True):
        (box,) = boxes(picture, category)
        assert (box.x, box.x + box.width) == (LEFT, pytest.approx(RIGHT))
        assert box.height == pytest.approx(size / 100e9 * _PANEL)


def test_categories_stand_on_each_other():
    picture = memory_over_time(held())
    tops = [boxes(picture, category)[0] for category in ("parameters", "gradients", "optimizer")]
    for below, above in pairwise(tops):
        assert above.y + above.height == pytest.approx(below.y)


def test_the_grid_above_is_the_grid():
    over = held(1)
    grid = pk.draw.grid(over.timeline)
    picture = memory_over_time(over)
    for role in "FB":
        np.testing.assert_array_equal(svg_cells(picture.svg, role), svg_cells(grid.svg, role))


def test_words_line_and_tooltips():
    over = held(0, recompute="full")
    picture = memory_over_time(over, 80e9, reserve=2e9)
    texts = svg_texts(picture.svg)
    assert texts[0].startswith("Stage A is fullest at time ")
    assert ", while it computes A" in texts[0]
    assert "capacity 78 GB (80 GB less 2 GB in reserve)" in texts
    assert any(text.startswith("parameters ") for text in svg_titles(picture.svg))
    line = next(part for part in picture.scene.parts if isinstance(part, Line) and part.role == "accent")
    assert line.y1 == line.y2
    (first,) = boxes(picture, "parameters")
    gigabyte = first.height / over.bytes[0, 0] * 1e9
    assert first.y + first.height - line.y1 == pytest.approx(78 * gigabyte)
    assert picture.alt.startswith("memory of stage A over one step: between ")


def test_one_picture_has_one_unit():
    words = " ".join(
        (
            *svg_texts(memory_over_time(held(), 80 * 2**30, unit="GiB").svg),
            memory_over_time(held(), unit="GiB").alt,
        )
    )
    assert "GiB" in words
    assert " GB" not in words


def test_the_picture_keeps_its_box_when_rows_are_reserved():
    heights = {memory_over_time(held(pp=pp), rows=8).scene.height for pp in (1, 2, 4, 8)}
    assert len(heights) == 1


@pytest.mark.parametrize("plan", [{}, {"schedule": "interleaved-1f1b", "pp": 2}, {"pp": 8, "batch": 64}])
def test_texts_stay_inside_and_off_each_other(plan):
    picture = memory_over_time(held(**plan), 80e9)
    figure = picture.figure()
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    found = [text.get_window_extent(renderer) for text in texts]
    for n, (text, box) in enumerate(zip(texts, found, strict=True)):
        assert box.x0 >= 0
        assert box.x1 <= picture.scene.width
        assert not any(box.overlaps(other) for other in found[n + 1 :]), text.get_text()
