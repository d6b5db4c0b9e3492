"""The promise about speed, as a ratio in one run; grid_speed.py prints the whole table."""

from benchmarks.grid_speed import compare


def test_simulate_and_svg_are_50_times_faster_than_pyplot_at_8_by_32():
    fast, slow = compare((8, 32), plain_times=3)
    assert slow / fast >= 50
