"""Simulating is far faster than the plain event loop, checking than simulating, and cost is linear."""

import pytest
from benchmarks.pipeline_speed import against_the_event_loop, checked_and_simulated, seconds

import parakit as pk


def test_simulating_64_by_256_is_5_times_faster_than_the_event_loop():
    fast, slow = against_the_event_loop(64, 256, times=3)
    assert slow / fast >= 5


def test_checking_64_by_1024_takes_less_than_simulating_it():
    checked, simulated = checked_and_simulated(64, 1024, times=7)
    assert checked < simulated


@pytest.mark.parametrize("name", ["1f1b", "zb-h1"])
def test_16_times_the_actions_take_at_most_some_24_times_as_long(name):
    small, large = (pk.schedule(name, devices=64, microbatches=microbatches) for microbatches in (128, 2048))
    assert large.actions == 16 * small.actions
    assert seconds(lambda: pk.simulate(large), 3) / seconds(lambda: pk.simulate(small), 5) < 24
