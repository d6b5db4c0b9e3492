"""The promise about speed, as a ratio in one run; choose_speed.py prints the figures."""

from benchmarks.choose_speed import compare


def test_timing_plans_together_is_10_times_faster_than_one_by_one():
    single, together = compare()
    assert single / together >= 10
