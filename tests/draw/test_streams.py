"""Streams: computing and exchanging stand where they happen, and beneath them one after the other."""

import pytest
from draw.drawn import svg_texts

import parakit as pk
from parakit.draw.frame import LEFT, TOP
from parakit.draw.scene import Box, Line
from parakit.draw.streams import _END, _HEIGHT, _STEP
from parakit.steptime import streams

LINK = pk.Link(latency=50e-6, bandwidth=25e9)


def rows(picture):
    found = [[], [], []]
    for part in picture.scene.parts:
        if isinstance(part, Box) and part.height == _HEIGHT and part.role != "idle":
            found[round((part.y - TOP) / _STEP)].append(part)
    return found


def test_each_segment_stands_at_its_time_in_its_stream():
    both = pk.overlap(0.2, 2.5e9, LINK, buckets=4)
    scale = (_END - LEFT) / both.added
    computing, exchanging, added = rows(pk.draw.streams(both))
    for boxes, stream in ((computing, 0), (exchanging, 1)):
        segments = [one for one in both.segments if one.stream == stream]
        assert [box.x for box in boxes] == pytest.approx([LEFT + one.start * scale for one in segments])
        assert [box.x + box.width for box in boxes] == pytest.approx(
            [LEFT + one.end * scale for one in segments]
        )
    assert sum(box.width for box in added) == pytest.approx(_END - LEFT)


def test_the_line_stands_where_the_step_ends():
    both = pk.overlap(0.2, 2.5e9, LINK, buckets=4)
    (line,) = [
        part for part in pk.draw.streams(both).scene.parts if isinstance(part, Line) and part.role == "accent"
    ]
    assert (line.x1 - LEFT) / (_END - LEFT) == pytest.approx(both.total / both.added)


def test_words_say_the_real_total_and_the_sum():
    assert svg_texts(pk.draw.streams(pk.overlap(0.2, 2.5e9, LINK, buckets=8)).svg)[0] == (
        "213 ms, not the 300 ms of all times added: 87.9 ms overlap"
    )
    apart = pk.overlap(0.2, 2.5e9, LINK, overlap=False)
    assert svg_texts(pk.draw.streams(apart).svg)[0] == "300 ms: nothing overlaps, all times add"


def test_a_step_is_drawn_with_its_own_totals():
    step = pk.step_time(
        pk.Model.preset("llama-2-13b"),
        pk.Plan(dp=2, tp=4, pp=2, batch=64, zero=1, recompute="full"),
        pk.Cluster.preset("a100-80gb", devices=16),
    )
    both = streams(step)
    assert both.total == pytest.approx(step.total)
    assert both.hidden == pytest.approx(step.hidden)
    assert both.exposed == pytest.approx(step.communication)
    assert "computing" in svg_texts(pk.draw.streams(step).svg)
