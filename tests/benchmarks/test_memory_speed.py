"""The promise about speed, as ratios in one run; memory_speed.py prints the figures."""

from benchmarks.memory_speed import compare


def test_many_plans_at_once_are_5_times_faster_than_one_by_one_and_that_beats_simulating():
    simulated, single, together = compare(2_000)
    assert single / together >= 5
    assert simulated / single >= 5
