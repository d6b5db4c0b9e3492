"""Traffic bars: as long as their bytes, a row a strategy."""

import pytest
from draw.drawn import svg_texts, svg_titles

import parakit as pk
from parakit.draw.frame import LEFT, TOP
from parakit.draw.scene import Box
from parakit.draw.traffic import _END, _STEP

MODEL = pk.Model.preset("llama-3.2-1b")


def drawn(picture, row):
    return [
        part
        for part in picture.scene.parts
        if isinstance(part, Box) and part.tooltip and part.y == TOP + row * _STEP
    ]


def test_bars_are_as_long_as_what_one_device_sends():
    sent = pk.traffic(MODEL, pk.Plan(dp=2, tp=2, pp=2, batch=8))
    picture = pk.draw.traffic(sent, rank=1, shows=20e9)
    for row, strategy in enumerate(("data", "tensor", "pipeline", "expert")):
        width = sum(box.width for box in drawn(picture, row))
        assert width == pytest.approx(sent.total(strategy, 1) / 20e9 * (_END - LEFT))
        mine = [one for one in sent if one.rank == 1 and one.strategy == strategy]
        assert [box.role for box in drawn(picture, row)] == [
            {"forward": "F", "backward": "B", "update": "W"}[one.when] for one in mine
        ]


def test_words():
    sent = pk.traffic(MODEL, pk.Plan(dp=8))
    picture = pk.draw.traffic(sent)
    texts = svg_texts(picture.svg)
    assert texts[0] == "A device of stage A sends 4.33 GB a step, most of it for the data split: 4.33 GB"
    assert texts.count("nothing") == 3
    assert svg_titles(picture.svg) == ["gradients, all-reduce: 1 × 4.33 GB, backward"]
    assert picture.alt == (
        "bytes sent by a device of pipeline rank A: data 4.33 GB, tensor 0 bytes, pipeline 0 bytes, expert 0 bytes"
    )


def test_one_device_sends_nothing():
    picture = pk.draw.traffic(pk.traffic(MODEL, pk.Plan()))
    assert svg_texts(picture.svg)[0] == "One device alone sends nothing"


def test_there_must_be_such_a_rank():
    with pytest.raises(ValueError) as error:
        pk.draw.traffic(pk.traffic(MODEL, pk.Plan(pp=2)), rank=2)
    assert str(error.value) == "rank is 2: it must be a pipeline rank that sends something, from 0 to 1"
