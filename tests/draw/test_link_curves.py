"""Which link matters: curves through the core's times, marks where the links stand now."""

from math import log10

import numpy as np
import pytest
from draw.drawn import svg_texts

import parakit as pk
from parakit.draw.link_curves import _DOT
from parakit.draw.log_axes import LEFT, RIGHT
from parakit.draw.scene import Box, Line

MODEL, CLUSTER = pk.Model.preset("llama-2-7b"), pk.Cluster.preset("a100-80gb", devices=16)
PLAN = pk.Plan(dp=2, tp=8, batch=16)
CURVES = pk.link_curves(MODEL, PLAN, CLUSTER)


def test_curves_never_rise_and_go_through_the_step_as_it_is():
    step = pk.step_time(MODEL, PLAN, CLUSTER).total
    for curve in CURVES:
        assert (np.diff(curve.seconds) <= 1e-12 * step).all()
        assert curve.now == getattr(CLUSTER, curve.link).rate
        assert np.interp(log10(curve.now), np.log10(curve.rate), curve.seconds) == pytest.approx(step)


def test_a_tensor_split_needs_the_link_inside_and_replicas_the_one_between():
    assert pk.draw.link_curves(CURVES).scene.headline.startswith("The link inside a node matters most: ")
    replicas = pk.link_curves(MODEL, pk.Plan(dp=16, zero=1, batch=16), CLUSTER)
    between = {one.link: one for one in replicas}["between"]
    assert between.lost > 2
    alone = pk.link_curves(MODEL, pk.Plan(batch=4), CLUSTER)
    picture = pk.draw.link_curves(alone)
    assert svg_texts(picture.svg)[0] == "No link matters: what they carry is little, or hidden"


def test_marks_stand_at_the_rates_of_the_cluster():
    picture = pk.draw.link_curves(CURVES)
    marks = {
        part.role: part
        for part in picture.scene.parts
        if isinstance(part, Box) and part.height == _DOT and part.edge == "ink"
    }
    lines = [part for part in picture.scene.parts if isinstance(part, Line) and part.role == "line-1"]
    assert len(lines) == len(CURVES[0].rate) - 1
    for role, link in (("line-1", CLUSTER.inside), ("line-2", CLUSTER.between)):
        # From 10 MB/s to 10 TB/s: six powers of ten.
        at = LEFT + (log10(link.rate) - 7) / 6 * (RIGHT - LEFT)
        assert marks[role].x + _DOT / 2 == pytest.approx(at)
