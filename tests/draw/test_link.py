"""Measured runs over their sizes: marks where they were measured, the line where the fit is."""

from math import log10
from pathlib import Path

import pytest
from draw.drawn import svg_texts

import parakit as pk
from parakit.draw.link import _DOT
from parakit.draw.log_axes import BOTTOM, LEFT, RIGHT, TOP
from parakit.draw.scene import Box, Line

RUNS = pk.measure.read(
    Path(__file__).resolve().parents[1] / "data" / "nccl" / "all_reduce-16-ranks-no-rank-list.txt"
)


def test_marks_stand_where_runs_were_measured():
    picture = pk.draw.link(RUNS)
    boxes = [part for part in picture.scene.parts if isinstance(part, Box) and part.height == _DOT]
    assert len(boxes) == len(RUNS.bytes)
    # From 1 MB to 1 GB and from 100 µs to 10 ms: three and two powers of ten.
    for box, sent, seconds in zip(boxes, RUNS.sent, RUNS.seconds, strict=True):
        assert box.x + _DOT / 2 == pytest.approx(LEFT + (log10(sent) - 6) / 3 * (RIGHT - LEFT))
        assert box.y + _DOT / 2 == pytest.approx(BOTTOM - (log10(seconds) + 4) / 2 * (BOTTOM - TOP))


def test_the_line_goes_through_what_the_fit_says():
    fitted = RUNS.fit()
    lines = [
        part for part in pk.draw.link(RUNS).scene.parts if isinstance(part, Line) and part.role == "accent"
    ]
    end = fitted.seconds(30, RUNS.sent.max())
    assert lines[-1].y2 == pytest.approx(BOTTOM - (log10(end) + 4) / 2 * (BOTTOM - TOP))
    assert lines[-1].x2 == pytest.approx(LEFT + (log10(RUNS.sent.max()) - 6) / 3 * (RIGHT - LEFT))


def test_words():
    texts = svg_texts(pk.draw.link(RUNS).svg)
    assert texts[0] == "3.4 µs a hop, then 161 GB/s"
    assert texts[1].startswith("16 runs on 16 devices, all_reduce-16-ranks-no-rank-list.txt")
