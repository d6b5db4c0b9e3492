"""Where the grid's cells stand and what they say."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from draw.drawn import figure_cells, svg_cells, svg_texts, svg_titles
from matplotlib.backends.backend_agg import FigureCanvasAgg

import parakit as pk
from parakit.draw import grid, text_grid
from parakit.draw.frame import LEFT, RIGHT, TOP
from parakit.draw.scene import SMALLEST_CELL, Box, Cells, Line, Text, label_size, nice_ticks


def timeline(name="1f1b", p=4, m=8, **more):
    forward_only = more.pop("forward_only", False)
    return pk.simulate(pk.schedule(name, devices=p, microbatches=m, forward_only=forward_only), **more)


FORWARD = grid(timeline("gpipe", forward_only=True))


def test_a_cell_stands_where_its_time_and_stage_are():
    cells = svg_cells(FORWARD.svg, "F")
    slot = (RIGHT - LEFT) / 11
    expected = sorted([LEFT + (s + i) * slot, TOP + s * 50, slot, 44] for s in range(4) for i in range(8))
    np.testing.assert_allclose(cells, expected, atol=0.06)


def test_labels_tooltips_headline_and_alt():
    texts = svg_texts(FORWARD.svg)
    assert {f"{letter}{i}" for letter in "ABCD" for i in range(1, 9)} <= set(texts)
    assert {"stage A", "stage D", "forward", "idle (the bubble)", "time (one forward slot = 1)", "11"} <= set(
        texts
    )
    assert texts[:2] == [
        "12 of 44 stage-slots are idle: 27%",
        "4 stages, 8 microbatches, forward only (backward work left out)",
    ]
    assert "B3: stage B, microbatch 3, forward, 3 to 4" in svg_titles(FORWARD.svg)
    assert FORWARD.alt == "4 stages, 8 microbatches, forward only, 11 slots; idle share 27%"
    root = ElementTree.fromstring(FORWARD.svg)
    assert root[0].text == "12 of 44 stage-slots are idle: 27%"
    assert root[1].text == FORWARD.alt


def test_idle_time_is_a_hatched_band_behind_every_row():
    bands = [
        part
        for part in FORWARD.scene.parts
        if isinstance(part, Box) and part.role == "idle" and part.width > 100
    ]
    assert [(band.x, band.y, round(band.width, 9)) for band in bands] == [
        (LEFT, TOP + 50 * row, RIGHT - LEFT) for row in range(4)
    ]
    order = [type(part) for part in FORWARD.scene.parts]
    assert FORWARD.scene.parts.index(bands[-1]) < order.index(Cells)
    assert FORWARD.svg.count("url(#pk") == 5  # four rows and the legend


POINTS = [
    ("gpipe", 1, 1),
    ("1f1b", 4, 8),
    ("1f1b", 3, 2),
    ("gpipe", 8, 32),
    ("1f1b", 16, 64),
    ("1f1b", 40, 100),
]


@pytest.mark.parametrize(("name", "p", "m"), POINTS)
def test_svg_and_matplotlib_agree_cell_by_cell(name, p, m):
    picture = grid(timeline(name, p, m, transfer=0.25))
    figure = picture.figure()
    for role in "FB":
        ours = svg_cells(picture.svg, role)
        assert len(ours) == p * m
        drawn = figure_cells(figure, role)
        np.testing.assert_allclose(ours[:, [1, 3]].sum(axis=0), drawn[:, [1, 3]].sum(axis=0), rtol=1e-3)
        np.testing.assert_allclose(np.sort(ours[:, 0]), np.sort(drawn[:, 0]), atol=0.06)
        np.testing.assert_allclose(np.sort(ours[:, 2]), np.sort(drawn[:, 2]), atol=0.06)
    labels = sorted(text.get_text() for text in figure.axes[0].texts if text.get_gid() == "label")
    assert labels == sorted(text for text in svg_texts(picture.svg) if re.fullmatch("[A-Z]+[0-9]+", text))


def test_kinds_differ_by_a_stripe_too():
    svg = grid(timeline()).svg
    assert svg.count('class="s s-B"') == 2  # cells and legend
    assert "s-F" not in FORWARD.svg.split("</style>")[1]


def test_wide_cells_have_tooltips_and_narrow_ones_one_a_row_and_kind():
    picture = grid(timeline("1f1b", 8, 100))
    cells = next(part for part in picture.scene.parts if isinstance(part, Cells))
    wide = int((cells.width >= SMALLEST_CELL).sum())
    assert 0 < wide < len(cells.width)  # backward is wide enough here, forward is not
    titles = svg_titles(picture.svg)
    assert len([title for title in titles if "microbatch" in title]) == wide
    assert titles.count("stage A: idle 7%") == 0
    assert titles.count("stage A: idle 6.5%") == 1


def test_the_largest_grid_is_one_small_picture():
    picture = grid(timeline("1f1b", 64, 256))
    assert len(picture.svg.encode()) < 1.5e6
    assert len(svg_cells(picture.svg, "F")) == 64 * 256
    assert len(svg_titles(picture.svg)) == 64 * 2


def test_no_label_is_wider_than_its_cell():
    for p, m in ((4, 8), (8, 12), (27, 30), (2, 99)):
        picture = grid(timeline("1f1b", p, m))
        cells = next(part for part in picture.scene.parts if isinstance(part, Cells))
        shown = [
            n
            for n in range(len(cells.labels))
            if label_size(cells.labels[n], cells.label_room[n], cells.height)
        ]
        figure = picture.figure()
        renderer = FigureCanvasAgg(figure).get_renderer()
        labels = [text for text in figure.axes[0].texts if text.get_gid() == "label"]
        for text, n in zip(labels, shown, strict=True):
            assert text.get_text() == cells.labels[n]
            assert text.get_window_extent(renderer).width <= cells.width[n]


def test_texts_stay_inside_the_picture_and_off_each_other():
    for picture in (
        FORWARD,
        grid(timeline()),
        grid(timeline("1f1b", 64, 256)),
        grid(timeline("gpipe", 30, 7)),
    ):
        figure = picture.figure()
        renderer = FigureCanvasAgg(figure).get_renderer()
        boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts if text.get_text()]
        for box in boxes:
            assert box.x0 >= 0
            assert box.x1 <= picture.scene.width
        for n, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[n + 1 :])


def test_rows_keep_their_height_and_the_picture_its_box():
    heights = {grid(timeline(p=p), rows=8).scene.height for p in range(1, 9)}
    assert len(heights) == 1
    for p in range(1, 9):
        assert svg_cells(grid(timeline(p=p), rows=8).svg, "F")[0, 3] == 44


def test_followed_microbatch_is_outlined_last_with_a_halo():
    picture = grid(timeline(), follow=2)
    outlines = [part for part in picture.scene.parts if isinstance(part, Box) and part.role == ""]
    assert [box.edge for box in outlines] == ["paper", "accent"] * 8 + ["accent"]  # and the legend's
    assert "microbatch 3" in svg_texts(picture.svg)
    with pytest.raises(ValueError, match="follow is 8: microbatches count from 0 to 7"):
        grid(timeline(), follow=8)


def test_headlines_say_what_is_true():
    assert grid(timeline(p=1)).scene.headline == "One device alone never waits: no stage-slot is idle"
    assert grid(timeline()).scene.headline == "36 of 132 stage-slots are idle: 27%"
    assert grid(timeline(transfer=0.3)).scene.headline.endswith("% of the stages' time is idle")
    subtitle = [part.text for part in grid(timeline()).scene.parts if isinstance(part, Text)][1]
    assert subtitle == (
        "1f1b, 4 stages, 8 microbatches, backward takes 2 × forward; at most 4, 3, 2, 1 microbatches held"
    )


def test_two_pictures_on_a_page_have_ids_of_their_own_and_the_same_one_the_same():
    def ids(picture):
        return set(re.findall(r'id="(\w+)"', picture.svg))

    assert ids(FORWARD) == ids(grid(timeline("gpipe", forward_only=True)))
    assert not ids(FORWARD) & ids(grid(timeline()))


def boxes(picture, edge):
    """Outlines in the grid; the last one is the legend's."""
    return [
        part for part in picture.scene.parts if isinstance(part, Box) and part.edge == edge and not part.role
    ][:-1]


def test_the_critical_path_is_outlined_and_joined():
    made = timeline()
    picture = grid(made, critical=True)
    path = made.critical_path
    slot = (RIGHT - LEFT) / 33
    outlined = [(box.x, box.y, box.width) for box in boxes(picture, "ink")]
    np.testing.assert_allclose(
        outlined,
        np.stack(
            [
                LEFT + made.start[path] * slot,
                TOP + made.device[path] * 50,
                (made.end - made.start)[path] * slot,
            ],
            axis=1,
        ),
    )
    # A to D forward, along D, D to A backward: six steps to another device.
    joins = [part for part in picture.scene.parts if isinstance(part, Line) and part.role == "ink"]
    assert len(joins) == 6
    assert "critical path" in svg_texts(picture.svg)


def test_an_overlapped_pair_is_a_cell_above_a_cell():
    made = timeline("dualpipev", 2, 6)
    picture = grid(made)
    for role, below in (("F", 0), ("B", 22)):
        cells = svg_cells(picture.svg, role)
        halves = cells[cells[:, 3] == 22]
        assert len(halves) == made.overlapped.sum() / 2
        assert set((halves[:, 1] - TOP) % 50) == {below}
    figure = picture.figure()
    np.testing.assert_allclose(
        svg_cells(picture.svg, "F").sum(axis=0), figure_cells(figure, "F").sum(axis=0), rtol=1e-3
    )
    assert any("B4: stage B, microbatch 4, forward, overlapped, " in one for one in svg_titles(picture.svg))


def test_a_schedule_is_drawn_with_usual_times_and_a_faulty_one_with_its_faults_marked():
    order = pk.schedule("gpipe", devices=2, microbatches=2)
    assert grid(order).svg == grid(pk.simulate(order)).svg
    bad = pk.Schedule.from_text("0F0,0B0,0F1,0B1,0B1\n1F1,1B1,1F0,1B0")
    picture = grid(bad)
    assert picture.scene.headline == "This order cannot run: 2 faults"
    slot = (RIGHT - LEFT) / 5
    faulty = sorted((box.x, box.y) for box in boxes(picture, "accent"))
    np.testing.assert_allclose(faulty, [(LEFT, TOP + 50), (LEFT + slot, TOP), (LEFT + 4 * slot, TOP)])
    texts = svg_texts(picture.svg)
    assert "1. device 0, position 4: A2 backward stands in the order more than once" in texts
    assert {"1", "2", "place in the order of each device"} <= set(texts)
    assert len(svg_cells(picture.svg, "F")) + len(svg_cells(picture.svg, "B")) == 9
    assert "the devices wait in a circle" in picture.alt


def test_blocking_sends_that_wait_for_each_other_are_marked_where_asked():
    order = pk.Schedule.from_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1")
    assert grid(order).scene.headline.endswith("stage-slots are idle: 33%")
    picture = grid(order, communication="blocking")
    assert picture.scene.headline == "This order cannot run: 1 fault"
    slot = (RIGHT - LEFT) / 4
    marked = sorted((box.x, box.y) for box in boxes(picture, "accent"))
    np.testing.assert_allclose(marked, [(LEFT + slot, TOP), (LEFT + slot, TOP + 50)])


def test_an_order_with_nothing_but_faults_is_drawn_too():
    for text in ("0B0", "0F0,0F0\n\n0F0", "5F9", "(0F0;0B0)OVERLAP_F_B,0W0", "0F7,0F7,0F7"):
        order = pk.Schedule.from_text(text, stages=4, microbatches=4)
        picture = grid(order)
        assert picture.scene.headline.startswith("This order cannot run: ")
        picture.figure()


def test_a_real_run_s_axis_is_in_milliseconds():
    trace = {
        "traceEvents": [
            {"ph": "X", "name": f"PP:{name}", "ts": 1000.0 * at, "dur": 800.0 + at / 7}
            for at, name in enumerate(["0F0", "0F1", "0B0", "0B1"])
        ]
    }
    picture = grid(pk.read_trace(trace))
    texts = svg_texts(picture.svg)
    assert {"time (ms)", "3.8"} <= set(texts)
    assert "A2: stage A, microbatch 2, forward, 1 to 1.80014 ms" in svg_titles(picture.svg)
    assert ", 3.8 ms; idle share" in picture.alt


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="a grid of 513 rows cannot be read: draw at most 512 stages"):
        grid(timeline("gpipe", 513, 1, forward_only=True))


@pytest.mark.parametrize("end", [0.3, 1, 2.5, 7, 11, 12, 33, 237, 957, 1e6])
def test_ticks_are_few_round_and_reach_the_end(end):
    ticks = nice_ticks(end)
    assert ticks[0] == 0
    assert ticks[-1] == pytest.approx(end)
    assert 2 <= len(ticks) <= 13
    steps = np.diff(ticks)
    assert (steps > 0).all()
    mantissa = steps[0] / 10 ** np.floor(np.log10(steps[0]) + 1e-9)
    assert min(abs(mantissa - round_one) for round_one in (1, 2, 5, 10)) < 1e-6


def test_text_grid_with_backward_and_fractions():
    assert text_grid(timeline("1f1b", 2, 2, backward=1.5)) == (
        "stage A | A1 -- A2 -- ·· ·· ·· a1 -- -- ·· ·· a2 -- --\n"
        "stage B | ·· ·· B1 -- b1 -- -- B2 -- b2 -- -- ·· ·· ··"
    )


def test_a_text_grid_that_is_too_wide_says_so():
    assert text_grid(timeline("1f1b", 8, 64)) == (
        "a grid of 8 rows and 213 columns is too wide for text; draw it with -o grid.svg"
    )
