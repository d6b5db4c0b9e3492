"""The explorers of a choice and of overlapping, without a browser."""

import inspect

import pytest

import parakit as pk


def test_overlap_controls_have_the_call_s_names_and_each_does_something():
    explorer = pk.explore.overlap()
    assert set(explorer.controls) == set(inspect.signature(pk.explore.overlap).parameters)
    for name, value in [
        ("compute", 100.0),
        ("size", 5000),
        ("bandwidth", 50),
        ("latency", 5000),
        ("buckets", 4),
        ("overlap", False),
    ]:
        before = explorer.result.total
        explorer.controls[name].value = value
        assert explorer.problems == ()
        assert explorer.result.total != before


def test_too_much_to_hide_is_said():
    explorer = pk.explore.overlap(compute=100, size=10000)
    assert "There is more to send than computing can hide." in explorer._said.value
    explorer.controls["size"].value = 0
    assert "there is nothing to send" in explorer._said.value


def test_choose_controls_have_the_call_s_names_and_change_the_answer():
    explorer = pk.explore.choose(model="gpt2", devices=8, batch=32, sequence=1024)
    assert set(explorer.controls) == set(inspect.signature(pk.explore.choose).parameters)
    first = explorer.result
    assert first.ranked[0].plan.devices == 8
    explorer.controls["cluster"].value = "lab-1gbe"
    assert explorer.result.seconds[0] > 3 * first.seconds[0]
    explorer.controls["schedule"].value = "zb-h1"
    assert {one.plan.schedule for one in explorer.result.ranked[:]} <= {"zb-h1"}
    explorer.controls["zero"].value = "1"
    assert {one.plan.zero for one in explorer.result.ranked[:]} == {1} | {
        one.plan.zero for one in explorer.result.ranked[:] if one.plan.dp == 1
    }


def test_when_nothing_fits_the_sentence_says_what_would():
    explorer = pk.explore.choose(model="llama-3-70b", cluster="a100-40gb", devices=8, batch=8)
    assert "nothing fits. Use 32 devices instead of 8" in explorer._said.value
    explorer.controls["devices"].value = 32
    assert len(explorer.result.ranked)


def test_a_cluster_and_a_model_of_your_own_can_be_explored():
    mine = pk.Cluster(
        devices=4,
        memory=24e9,
        flops=80e12,
        memory_bandwidth=900e9,
        inside=pk.Link(latency=10e-6, bandwidth=12e9),
        between=pk.Link(latency=50e-6, bandwidth=1.2e9),
        name="under my desk",
    )
    explorer = pk.explore.choose(model=pk.Model(layers=8, hidden=512, heads=8), cluster=mine, devices=4)
    assert explorer.controls["cluster"].value == "under my desk"
    assert explorer.result.cluster == mine


def test_impossible_values_keep_the_picture_and_say_why():
    explorer = pk.explore.choose(model="gpt2", devices=8, batch=32, sequence=1024)
    explorer.controls["batch"].value = 1
    explorer.controls["devices"].value = 128
    assert len(explorer.problems) == 1
    assert explorer.problems[0].startswith("no plan splits gpt2 and a batch of 1 over 128 devices")


def test_refused_starting_values_show_the_defaults():
    with pytest.raises(TypeError):
        pk.explore.choose(devises=8)
    explorer = pk.explore.choose(devices=0)
    assert explorer.problems == ("devices is 0: it must be a whole number from 1 to 10,000,000",)
    assert explorer.controls["devices"].value == 16
