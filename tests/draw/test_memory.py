"""Where memory bars stand and what they say."""

import numpy as np
import pytest
from draw.drawn import figure_cells, svg_cells, svg_texts, svg_titles
from matplotlib.backends.backend_agg import FigureCanvasAgg

import parakit as pk
from parakit.capacity import Capacity
from parakit.draw import memory_bars
from parakit.draw.frame import LEFT
from parakit.draw.memory import _END
from parakit.draw.scene import Cells, Line

LLAMA = pk.Model.preset("llama-3-8b")
ROLES = ("parameters", "gradients", "optimizer", "activations")


def report(activations=True, gathered=0, **plan):
    return pk.memory(LLAMA, pk.Plan(**plan), gathered, activations=activations)


@pytest.mark.parametrize("capacity", [None, 40e9, 80e9])
@pytest.mark.parametrize("pp", [1, 4, 32])
def test_bars_are_as_long_as_their_bytes_and_both_renderers_agree(pp, capacity):
    shown = report(pp=pp)
    picture = memory_bars(shown, capacity)
    reach = max(shown.peak.max(), 1.15 * (capacity or 0))
    scale = (_END - LEFT) / reach
    starts = np.concatenate([np.zeros((pp, 1)), np.cumsum(shown.bytes, axis=1)[:, :-1]], axis=1)
    for n, role in enumerate(ROLES):
        drawn = figure_cells(picture.figure(), role)
        expected = np.stack([LEFT + starts[:, n] * scale, shown.bytes[:, n] * scale], axis=1)
        by_row = drawn[np.argsort(drawn[:, 1])]
        np.testing.assert_allclose(by_row[:, [0, 2]], expected, atol=1e-6)
        ours = svg_cells(picture.svg, role)
        np.testing.assert_allclose(ours[np.argsort(ours[:, 1])], by_row, atol=0.06)


def test_the_capacity_line_stands_where_its_bytes_are_with_a_halo():
    picture = memory_bars(report(pp=4), 40e9)
    lines = [part for part in picture.scene.parts if isinstance(part, Line) and part.width > 2]
    assert [(line.role, line.dash) for line in lines] == [("paper", None), ("accent", (7.0, 4.0))]
    assert lines[1].x1 == pytest.approx(LEFT + (_END - LEFT) / 1.15)
    assert "capacity 40 GB" in svg_texts(picture.svg)


def test_the_line_stands_still_while_values_move():
    def line(dp, zero):
        picture = memory_bars(report(dp=dp, zero=zero), 80e9, shows=130e9, rows=8)
        return next(
            part.x1 for part in picture.scene.parts if isinstance(part, Line) and part.role == "accent"
        )

    assert len({line(dp, zero) for dp in (1, 8) for zero in range(4)}) == 1


def test_a_bar_beyond_the_axis_is_cut_with_a_mark_and_its_total_stays_true():
    picture = memory_bars(report(), 40e9, shows=64e9)
    cells = next(part for part in picture.scene.parts if isinstance(part, Cells))
    assert (cells.x + cells.width).max() == pytest.approx(_END)
    assert sum(isinstance(part, Line) and part.width == 4 for part in picture.scene.parts) == 2
    assert "138.7 GB over" in svg_texts(picture.svg)


def test_words_labels_and_tooltips():
    picture = memory_bars(report(pp=4), 80e9)
    texts = svg_texts(picture.svg)
    assert texts[:2] == [
        "Stage A is the fullest: 45.5 GB of 80 GB (none in reserve)",
        "llama-3-8b, mixed-16, dp=1 tp=1 pp=4, ZeRO 0; 4 microbatches of 1 × 2,048 tokens",
    ]
    assert {"stage A", "27.2", "45.5 GB", "optimizer state", "activations"} <= set(texts)
    assert "stage B: optimizer state 20.9 GB" in svg_titles(picture.svg)
    assert picture.alt == (
        "4 bars of memory: stage A 45.5 GB, stage B 34.8 GB, stage C 32.5 GB, stage D 39.7 GB; "
        "capacity 80 GB (none in reserve)"
    )


def test_what_is_not_counted_is_said():
    picture = memory_bars(report(activations=False, pp=4), 80e9)
    texts = svg_texts(picture.svg)
    assert texts[0] == "Stage D is the fullest: 36.3 GB of 80 GB (none in reserve), before activations"
    assert "activations: not counted" in texts
    assert texts.count("+ activations, not counted") == 4
    assert picture.alt.endswith("; activations not counted")
    assert not any("activations" in part.roles for part in picture.scene.parts if isinstance(part, Cells))


def test_the_line_stands_before_the_reserve():
    picture = memory_bars(report(pp=4), 80e9, reserve=4e9, shows=100e9)
    line = next(part for part in picture.scene.parts if isinstance(part, Line) and part.role == "accent")
    assert line.x1 == pytest.approx(LEFT + (_END - LEFT) * 0.76)
    assert "capacity 76 GB (80 GB less 4 GB in reserve)" in svg_texts(picture.svg)
    with_a_cluster = memory_bars(report(pp=4), Capacity(memory=80e9, reserve=4e9), shows=100e9)
    assert with_a_cluster.svg == picture.svg


def test_gathered_parameters_have_a_bar_of_their_own():
    picture = memory_bars(report(dp=8, zero=3, gathered=4))
    assert len(svg_cells(picture.svg, "gathered")) == 1
    assert "gathered parameters" in svg_texts(picture.svg)


def test_devices_with_several_stages_are_named_by_number():
    picture = memory_bars(report(pp=4, batch=8, schedule="interleaved-1f1b"))
    assert {"device 1", "device 4"} <= set(svg_texts(picture.svg))


def test_one_picture_has_one_unit():
    words = " ".join(svg_texts(memory_bars(report(pp=2), 80 * 2**30, unit="GiB").svg))
    assert "80 GiB" in words
    assert " GB" not in words


def test_texts_stay_inside_the_picture_off_each_other_and_off_the_line():
    for plan in (
        dict(),
        dict(pp=4),
        dict(dp=8, zero=1, activations=False),
        dict(dp=64, zero=3, pp=8, gathered=4),
        dict(pp=32),
    ):
        for capacity in (10e9, 40e9, 80e9, 141e9):
            picture = memory_bars(report(**plan), capacity, shows=capacity / 0.62)
            figure = picture.figure()
            renderer = FigureCanvasAgg(figure).get_renderer()
            line = next(
                part.x1 for part in picture.scene.parts if isinstance(part, Line) and part.role == "accent"
            )
            texts = [text for text in figure.axes[0].texts if text.get_text()]
            boxes = [text.get_window_extent(renderer) for text in texts]
            for n, (text, box) in enumerate(zip(texts, boxes, strict=True)):
                assert box.x0 >= 0
                assert box.x1 <= picture.scene.width
                assert not any(box.overlaps(other) for other in boxes[n + 1 :]), text.get_text()
                if text.get_gid() == "label":
                    assert not box.x0 < line < box.x1, text.get_text()


def test_too_many_stages_are_refused():
    with pytest.raises(ValueError, match="513 bars cannot be read: draw at most 512 stages"):
        memory_bars(pk.memory(10**9, pk.Plan(pp=513)))
