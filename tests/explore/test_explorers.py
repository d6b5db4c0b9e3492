"""Explorers without a browser: set a control, read the result."""

import inspect
import re
import tracemalloc

import ipywidgets
import pytest

import parakit as pk


def test_a_slider_changes_result_sentence_and_picture():
    explorer = pk.explore.pipeline()
    assert explorer.result.span == 33
    before = explorer._shown.value
    explorer.controls["microbatches"].value = 16
    assert explorer.result.span == 57
    assert explorer._shown.value != before
    assert "16 microbatches" in explorer._shown.value
    assert "The step takes 57 slots. Idle share: 16% of all stage time." in explorer._said.value
    assert explorer.problems == ()


def test_pipeline_controls_have_the_calls_names_and_each_does_something():
    explorer = pk.explore.pipeline()
    assert set(explorer.controls) == set(inspect.signature(pk.explore.pipeline).parameters)
    spans = []
    for name, value in [
        ("schedule", "gpipe"),
        ("stages", 6),
        ("microbatches", 3),
        ("backward", 1.0),
        ("transfer", 0.5),
    ]:
        explorer.controls[name].value = value
        spans.append(explorer.result.span)
    assert spans == [33, 39, 24, 16, 21]
    explorer.controls["forward_only"].value = True
    assert explorer.result.span == 10.5
    assert explorer.controls["backward"].disabled


def test_every_schedule_can_be_explored_with_chunks_and_a_slow_stage():
    explorer = pk.explore.pipeline()
    for name in pk.schedules():
        explorer.controls["schedule"].value = name
        assert explorer.problems == ()
        assert explorer.result.schedule.name == name
        assert explorer.controls["chunks"].disabled == (
            name not in ("interleaved-1f1b", "looped-bfs", "interleaved-zb")
        )
    explorer.controls["schedule"].value = "interleaved-1f1b"
    spans = {}
    for chunks in (1, 2, 4):
        explorer.controls["chunks"].value = chunks
        spans[chunks] = explorer.result.span
    assert spans == {1: 33, 2: 28.5, 4: 26.25}
    explorer.controls["schedule"].value = "1f1b"
    explorer.controls["overhead"].value = 0.5
    assert explorer.result.span == 33 + 11 * 2 * 0.5
    explorer.controls["overhead"].value = 0
    assert explorer.controls["slow"].disabled
    explorer.controls["slow_stage"].value = 3
    assert not explorer.controls["slow"].disabled
    assert explorer.result.busy.tolist() == [24, 24, 48, 24]
    explorer.controls["slow"].value = 3.0
    assert explorer.result.busy.tolist() == [24, 24, 72, 24]
    explorer.controls["stages"].value = 2
    assert explorer.problems == (
        "slow stage is 3: there are 2 stages, counted from 1; 0 makes none of them slow",
    )


def test_one_microbatch_is_followed_and_the_path_and_memory_shown():
    explorer = pk.explore.pipeline()
    plain = explorer._shown.value
    explorer.controls["follow"].value = 3
    assert "microbatch 3</text>" in explorer._shown.value
    explorer.controls["follow"].value = 9  # there are 8
    assert explorer._shown.value == plain
    explorer.controls["show"].value = "critical path"
    assert "critical path</text>" in explorer._shown.value
    explorer.controls["show"].value = "memory"
    assert "microbatches held</text>" in explorer._shown.value
    explorer.controls["show"].value = "grid"
    explorer.controls["follow"].value = 0
    assert explorer._shown.value == plain


def test_two_schedules_stand_beside_each_other():
    explorer = pk.explore.pipeline(beside="gpipe")
    assert [row.name for row in explorer.result.rows] == ["1f1b", "gpipe"]
    assert (
        "1f1b: 33 slots, idle share 27%, up to 4 microbatches held, 16 sends a device. gpipe: 33 slots, idle share "
        "27%, up to 8 microbatches held, 16 sends a device." in explorer._said.value
    )
    explorer.controls["beside"].value = "dualpipe"
    assert "dualpipe takes 26 slots, 21% less than 1f1b" in explorer._shown.value
    explorer.controls["microbatches"].value = 7
    assert explorer.problems[0].startswith("7 microbatches are too few for 4 devices: dualpipe needs")
    explorer.controls["beside"].value = "1f1b"  # with itself: one
    assert explorer.result.span == 30
    explorer.controls["beside"].value = "nothing"
    assert explorer.result.span == 30


def test_memory_controls_have_the_calls_names_and_each_does_something():
    explorer = pk.explore.memory(activations=False)
    assert set(explorer.controls) == set(inspect.signature(pk.explore.memory).parameters)

    def peak(**values):
        for name, value in values.items():
            explorer.controls[name].value = value
        assert explorer.problems == ()
        return round(explorer.result.peak.max() / 1e9, 1)

    assert peak() == 128.5
    assert peak(dp=8, zero=1) == 44.2
    assert peak(pp=2) == 22.1
    assert peak(tp=2) == 11.0
    assert peak(activations=True) == 16.7
    assert peak(sequence=8192) == 33.6
    assert peak(microbatch=2) == 56.2
    assert peak(sequence_parallel=True) == 47.6
    assert peak(recompute="full") == 17.6
    assert peak(batch=64, schedule="gpipe") == 33.8
    assert peak(schedule="interleaved-1f1b") == 18.1
    assert peak(precision="mixed-18") == 22.1
    assert peak(model="llama-3-70b") == 148.0
    assert "Stage" not in explorer._said.value  # devices with two stages each
    assert "Device 1" in explorer._said.value
    explorer.controls["capacity"].value = 24
    explorer.controls["reserve"].value = 2.0
    assert "more than the 22 GB (24 GB less 2 GB in reserve) of its device" in explorer._said.value
    explorer.controls["unit"].value = "GiB"
    assert " GB" not in explorer._said.value
    assert " GB" not in explorer._shown.value
    bars = explorer._shown.value
    explorer.controls["view"].value = "over time"
    assert explorer._shown.value != bars
    assert "is fullest at time" in explorer._shown.value


def test_the_limit_and_what_to_try_first_are_in_the_sentence():
    explorer = pk.explore.memory(dp=8, zero=1, batch=64, microbatch=2)
    assert "Activations take the most, 20.4 GB." in explorer._said.value
    explorer.controls["microbatch"].value = 8
    assert (
        "activations take the most. Try first: take microbatches of 4 instead of 8." in explorer._said.value
    )
    explorer.controls["activations"].value = False
    assert "before activations" in explorer._said.value


def test_zero_with_one_replica_is_said_to_save_nothing():
    assert "ZeRO 3 divides by dp = 1: it saves nothing." in pk.explore.memory(zero=3)._said.value


def test_a_problem_is_a_sentence_over_the_last_picture_dimmed():
    explorer = pk.explore.memory()
    last = explorer.result
    explorer.controls["pp"].value = 3
    assert explorer.problems == (
        "32 layers do not divide into pp=3 stages of equal depth; choose pp from 1, 2, 4, 8, 16, 32, "
        "or give stage_layers=(11, 11, 10)",
    )
    assert explorer.problems[0] in explorer._said.value
    assert explorer._shown.value.startswith('<div style="opacity:.35"')
    assert "<svg" in explorer._shown.value
    assert explorer.result is last
    explorer.controls["pp"].value = 4
    assert explorer.problems == ()
    assert explorer._shown.value.startswith("<svg")


BAD = [
    (
        "pipeline",
        dict(stages=0),
        "a pipeline of 0 stages cannot be made: the number must be a whole number from 1 to 65,536",
    ),
    (
        "pipeline",
        dict(microbatches=10**9),
        "1,000,000,000 microbatches on 4 stages are 8,000,000,000 actions, and parakit lays out at most 4,000,000, "
        "what memory and a few seconds allow: at 4 stages choose at most 500,000 microbatches",
    ),
    ("pipeline", dict(stages=600), "a grid of 600 rows cannot be read: draw at most 512 stages"),
    (
        "pipeline",
        dict(microbatches=500_000),
        "a grid of 4,000,000 cells cannot be read: draw at most 200,000, with fewer stages or microbatches",
    ),
    (
        "pipeline",
        dict(schedule="gpip"),
        "there is no schedule 'gpip': did you mean 'gpipe' or 'dualpipe'? Known: gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, interleaved-zb, zbv, dualpipev, dualpipe",
    ),
    ("pipeline", dict(backward=-1), "backward is -1: durations must be finite and at least 0"),
    ("pipeline", dict(forward_only="yes"), "forward_only is 'yes': it must be True or False"),
    ("memory", dict(dp=0), "dp is 0: it must be a whole number from 1 to 1,000,000"),
    (
        "memory",
        dict(capacity=80),
        "capacity is 80 bytes: that is no device; write bytes, such as 80e9 for 80 GB",
    ),
    (
        "memory",
        dict(capacity="80 GB"),
        "capacity is '80 GB': it must be a number of bytes, such as 80e9",
    ),
]


def cost(explore, **start):
    """Most bytes taken while an explorer is made, and the explorer."""
    tracemalloc.start()
    explorer = explore(**start)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, explorer


@pytest.mark.parametrize(("kind", "start", "sentence"), BAD, ids=[str(start) for _, start, _ in BAD])
def test_a_bad_start_is_said_over_the_default_picture(kind, start, sentence):
    taken, explorer = cost(getattr(pk.explore, kind), **start)
    assert taken < 1e8  # bytes: nothing huge is built before it is refused
    assert explorer.problems == (sentence,)
    assert "Not possible:" in explorer._said.value
    assert "<svg" in explorer._shown.value
    control = explorer.controls["stages" if kind == "pipeline" else "dp"]
    control.value = 2
    assert explorer.problems == ()


def test_starting_values_beyond_a_slider_move_its_end():
    explorer = pk.explore.pipeline(stages=16, microbatches=64, backward=6.0)
    assert (explorer.controls["stages"].max, explorer.controls["microbatches"].max) == (16, 64)
    assert explorer.result.span == (64 + 15) * 7
    assert pk.explore.memory(dp=48).controls["dp"].value == 48


def test_a_model_of_your_own():
    model = pk.Model(layers=4, hidden=8, heads=2, name="mine")
    explorer = pk.explore.memory(model=model)
    assert explorer.controls["model"].value == "mine"
    assert explorer.result.bytes[0, :3].sum() == 16 * model.parameters


def test_the_picture_keeps_its_box_whatever_moves():
    explorer = pk.explore.pipeline()
    sizes = set()
    for stages in range(1, 9):
        for microbatches in (1, 5, 32):
            explorer.controls["stages"].value = stages
            explorer.controls["microbatches"].value = microbatches
            sizes.add(re.search(r'viewBox="([^"]*)"', explorer._shown.value)[1])
    assert len(sizes) == 1
    explorer = pk.explore.memory()
    sizes = {re.search(r'viewBox="([^"]*)"', explorer._shown.value)[1]}
    for pp in range(1, 9):
        explorer.controls["pp"].value = pp
        sizes.add(re.search(r'viewBox="([^"]*)"', explorer._shown.value)[1])
    assert len(sizes) == 1


def test_every_control_has_words():
    for explorer in (pk.explore.pipeline(), pk.explore.memory()):
        for name, control in explorer.controls.items():
            assert control.description, name


def displayed(box):
    outputs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda data, raw: outputs.append(data))
        box._ipython_display_()
    return outputs


@pytest.mark.parametrize("kind", ["pipeline", "memory"])
def test_it_displays_a_live_view_and_a_stand_in_that_hide_each_other(kind):
    explorer = getattr(pk.explore, kind)()
    live, saved = displayed(explorer)
    assert live["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.model_id
    assert live["text/plain"] == "Run this cell to move it."
    mark = re.search(r'<div class="(parakit-saved-[\w-]+)">', saved["text/html"])[1]
    assert "data:image/png;base64," in saved["text/html"]
    assert "<svg" not in saved["text/html"]
    hiders = [child.value for child in explorer.children if isinstance(child, ipywidgets.HTML)]
    assert any(f".{mark}{{display:none!important}}" in style for style in hiders)
    assert f".{mark})" in saved["text/html"]


def test_two_explorers_do_not_hide_each_other_s_stand_in():
    marks = {
        re.search(r"parakit-saved-[\w-]+", displayed(pk.explore.pipeline())[1]["text/html"])[0]
        for _ in range(2)
    }
    assert len(marks) == 2
