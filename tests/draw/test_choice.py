"""A choice: bars as long as their times, memory against the line, reasons in words."""

import pytest
from draw.drawn import svg_texts, svg_titles

import parakit as pk
from parakit.draw.choice import _BAR, _HELD, _HELD_END, _TIMES, _X, ROLES
from parakit.draw.scene import Box, Line

CHOICE = pk.choose(
    pk.Model.preset("llama-2-13b"),
    pk.Cluster.preset("a100-80gb", devices=16),
    batch=64,
    schedule=("1f1b", "interleaved-1f1b"),
)


def bars(picture):
    """Boxes of each row, from left to right."""
    rows = {}
    for part in picture.scene.parts:
        if isinstance(part, Box) and part.height == _BAR:
            rows.setdefault(part.y, []).append(part)
    return [rows[y] for y in sorted(rows)]


def test_bars_are_as_long_as_the_parts_of_a_step():
    rows = bars(pk.draw.choice(CHOICE, top=5, excluded=0))
    longest = max(step.total for _, step, _ in CHOICE.ranked[:5])
    for row, (_, step, report) in zip(rows, CHOICE.ranked[:5], strict=True):
        times, held = row[:-1], row[-1]
        parts = {name: seconds for name, seconds in step.parts.items() if seconds}
        assert [box.role for box in times] == [ROLES[name] for name in parts]
        for box, seconds in zip(times, parts.values(), strict=True):
            assert box.width == pytest.approx(seconds / longest * (_TIMES - _X))
        assert times[0].x == _X
        assert held.width / (_HELD_END - _HELD) == pytest.approx(
            report.peak.max() / (1.25 * CHOICE.cluster.usable)
        )


def test_the_capacity_line_stands_where_memory_ends():
    (line,) = [
        part
        for part in pk.draw.choice(CHOICE).scene.parts
        if isinstance(part, Line) and part.role == "accent"
    ]
    assert (line.x1 - _HELD) / (_HELD_END - _HELD) == pytest.approx(1 / 1.25)


def test_excluded_plans_show_their_reasons():
    picture = pk.draw.choice(CHOICE, top=2, excluded=3)
    texts = svg_texts(picture.svg)
    for _, reason in CHOICE.excluded[:3]:
        assert reason in texts
        assert reason in picture.alt
    assert texts[0].startswith(f"Fastest of {CHOICE.judged:,} plans: ")
    assert any("computing: " in title for title in svg_titles(picture.svg))


def test_nothing_fits_is_a_picture_too():
    found = pk.choose(pk.Model.preset("llama-3-70b"), pk.Cluster.preset("a100-40gb"), batch=8)
    picture = pk.draw.choice(found)
    assert svg_texts(picture.svg)[0] == f"None of {found.judged:,} plans fits"
    # Bars far over the line are cut, and each is marked so.
    cuts = [part for part in picture.scene.parts if isinstance(part, Line) and part.width == 4]
    assert len(cuts) == 2 * 2


def test_more_rows_than_can_be_read_are_refused():
    with pytest.raises(ValueError) as error:
        pk.draw.choice(CHOICE, top=61)
    assert str(error.value) == "top is 61: it must be a whole number from 1 to 60"
