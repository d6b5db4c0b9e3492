"""Grids under each other, curves and strips: where things stand and what is said."""

import numpy as np
import pytest
from draw.drawn import svg_cells, svg_texts, svg_titles
from matplotlib.backends.backend_agg import FigureCanvasAgg
from oracles import read

import parakit as pk
from parakit.draw.curve import _BOTTOM, _RIGHT, _TOP
from parakit.draw.frame import LEFT, RIGHT
from parakit.draw.scene import Box, Cells, Line, Text

NAMES = ["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "dualpipe"]
COMPARISON = pk.compare(NAMES, devices=4, microbatches=8)


def test_all_grids_have_one_time_axis():
    picture = pk.draw.compare(COMPARISON)
    scale = (RIGHT - LEFT) / 33
    grids = [part for part in picture.scene.parts if isinstance(part, Cells)]
    ends = [float((grid.x + grid.width).max()) for grid in grids if not len(np.unique(grid.row)) > 4]
    expected = [LEFT + scale * timeline.span for timeline in COMPARISON.timelines]
    np.testing.assert_allclose(ends[:5], expected)
    bands = [part for part in picture.scene.parts if isinstance(part, Box) and part.role == "idle"]
    np.testing.assert_allclose(
        [band.width for band in bands[:-1]],  # the last is the legend's
        np.repeat([scale * timeline.span for timeline in COMPARISON.timelines], 4),
    )
    # One under the other, none over another.
    tops = [band.y for band in bands[:-1]]
    assert (np.diff(tops) >= bands[0].height).all()
    texts = svg_texts(picture.svg)
    assert texts[0] == "dualpipe takes 26 slots, 21% less than gpipe"
    assert (
        "interleaved-1f1b: 28.5 slots, idle share 16%, holds up to 5.5 microbatches, 32 sends a device"
        in texts
    )
    assert (
        "dualpipe: 26 slots, idle share 7.7%, holds up to 5 microbatches, 16 sends a device, 2 copies of the model"
        in texts
    )


def test_the_headline_says_who_is_faster_and_when_none_is():
    def said(*names, **more):
        return pk.draw.compare(pk.compare(names, devices=4, microbatches=8, **more)).scene.headline

    assert said("gpipe", "1f1b") == "Both take the same time: 33 slots"
    assert said("gpipe", "1f1b", "looped-bfs", chunks=1) == "All take the same time: 33 slots"
    assert said("zb-h1", "1f1b") == "zb-h1 takes 27 slots, 18% less than 1f1b"
    assert said("1f1b") == "1f1b takes 33 slots"


def test_a_real_run_stands_beside_a_simulated_one_on_axes_of_their_own():
    real = pk.read_trace(read("torch_traces.json")["traces"]["ScheduleGPipe"])
    picture = pk.draw.compare(pk.compare([real, "gpipe"], devices=2, microbatches=4))
    texts = svg_texts(picture.svg)
    assert texts[0] == "A real run beside a simulated one"
    assert {"time (ms)", "time (one forward slot = 1)"} <= set(texts)
    grids = [part for part in picture.scene.parts if isinstance(part, Cells)]
    for grid in grids:
        assert (grid.x + grid.width).max() == pytest.approx(RIGHT)


def test_follow_and_critical_mark_each_grid():
    picture = pk.draw.compare(COMPARISON, follow=2, critical=True)
    accents = [part for part in picture.scene.parts if isinstance(part, Box) and part.edge == "accent"]
    followed = sum(int((timeline.microbatch == 2).sum()) for timeline in COMPARISON.timelines)
    assert len(accents) == followed + 1  # and the legend's
    inks = [part for part in picture.scene.parts if isinstance(part, Box) and part.edge == "ink"]
    assert len(inks) == sum(len(timeline.critical_path) for timeline in COMPARISON.timelines) + 1
    with pytest.raises(ValueError, match="follow is 8: microbatches count from 0 to 7"):
        pk.draw.compare(COMPARISON, follow=8)


def test_a_comparison_keeps_its_box():
    heights = {
        pk.draw.compare(pk.compare(["1f1b", "zb-h1"], devices=p, microbatches=8), rows=8).scene.height
        for p in range(1, 9)
    }
    assert len(heights) == 1


CURVES = dict(devices=4, overhead=0.2, forward_only=True)


def test_a_curve_s_lowest_point_is_marked_and_named():
    picture = pk.draw.bubble_curve(["gpipe"], **CURVES)
    (mark,) = [part for part in picture.scene.parts if isinstance(part, Box)]
    lost = 1 - 8 / (14 * (8 / 11 + 0.2))  # of (m+p-1)(8/m+0.2) at m = 11
    lines = [part for part in picture.scene.parts if isinstance(part, Line) and part.width == 2.5]
    assert mark.tooltip == f"gpipe: 11 microbatches, {lost:.0%} lost"
    assert mark.x + 5 == pytest.approx(LEFT + (_RIGHT - LEFT) * np.log2(11) / np.log2(64))
    assert len(lines) == 16 + 12 - 1
    # Heights are shares: the first point is at one microbatch.
    first, share = lines[0].y1, 1 - 8 / (4 * 8.2)
    assert (_BOTTOM - mark.y - 5) / (_BOTTOM - first) == pytest.approx(lost / share)
    assert _TOP < first < _BOTTOM
    assert (
        svg_texts(picture.svg)[0]
        == "gpipe is fastest with 11 microbatches: beyond, overhead costs more than it saves"
    )
    assert "to 63% at 64 microbatches, least 38% at 11" in picture.alt


def test_curves_that_are_the_same_share_a_line_and_names_do_not_touch():
    picture = pk.draw.bubble_curve(pk.schedules(), devices=4, overhead=0.1)
    texts = svg_texts(picture.svg)
    assert "gpipe, 1f1b, best at 20" in texts
    figure = picture.figure()
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts if text.get_text()]
    for at, box in enumerate(boxes):
        assert box.x1 <= picture.scene.width
        assert not any(box.overlaps(other) for other in boxes[at + 1 :])


def test_without_overhead_nothing_is_best_but_more():
    picture = pk.draw.bubble_curve(["gpipe", "zb-h1"], devices=4)
    texts = svg_texts(picture.svg)
    assert texts[0] == "zb-h1 loses least: 1.5% with 64 microbatches"
    assert {"gpipe", "zb-h1", "idle share of all time"} <= set(texts)
    assert not [part for part in picture.scene.parts if isinstance(part, Box)]


def test_one_number_of_microbatches_is_a_point():
    picture = pk.draw.bubble_curve(["dualpipe"], devices=2, microbatches=[1, 4])
    assert len([part for part in picture.scene.parts if isinstance(part, Box)]) == 1


def test_strips_are_as_high_as_what_is_held():
    made = pk.simulate(pk.schedule("1f1b", devices=4, microbatches=8))
    picture = pk.draw.held_over_time(made)
    boxes = [
        part
        for part in picture.scene.parts
        if isinstance(part, Box) and part.role == "activations" and part.tooltip
    ]
    scale = (RIGHT - LEFT) / 33
    tallest = max(box.height for box in boxes)
    for device, name in enumerate(["stage A", "stage B", "stage C", "stage D"]):
        mine = [box for box in boxes if box.tooltip.startswith(name)]
        assert max(box.height for box in mine) == pytest.approx(tallest * (4 - device) / 4)
        assert mine[0].x == pytest.approx(LEFT + device * scale)
        # Held while it is held: area is the sum over microbatches of how long each is.
        area = sum(box.height * box.width for box in boxes if box in mine) / (tallest / 4 * scale)
        here = made.device == device
        length = sum(
            made.end[here & (made.kind == 1)][at] - made.start[here & (made.kind == 0)][at] for at in range(8)
        )
        assert area == pytest.approx(length)
    texts = [part.text for part in picture.scene.parts if isinstance(part, Text)]
    assert texts[:2] == ["Stage A holds up to 4 microbatches", "1f1b, 8 microbatches; stage D holds up to 1"]
    assert [text for text in texts if text in ("4", "3", "2", "1")] == ["4", "3", "2", "1"]
    assert len(svg_cells(picture.svg, "F")) == 32
    assert "stage A: 4 held" in svg_titles(picture.svg)


def test_strips_keep_their_box_and_say_when_all_hold_alike():
    heights = {
        pk.draw.held_over_time(
            pk.simulate(pk.schedule("1f1b", devices=p, microbatches=8)), rows=8
        ).scene.height
        for p in range(1, 9)
    }
    assert len(heights) == 1
    made = pk.simulate(pk.schedule("gpipe", devices=3, microbatches=5))
    assert pk.draw.held_over_time(made).scene.headline == "Every device holds up to 5 microbatches"
