"""Many durations at once give the ends that simulating each gives, whatever is left out on the way."""

import numpy as np
import pytest

import parakit as pk
from parakit.pipeline.together import Durations, _fewer, last_ends

SIZES = [
    *(("gpipe", p, m, 1) for p, m in [(1, 3), (2, 1), (4, 8), (3, 40)]),
    *(("looped-bfs", p, m, v) for p, m, v in [(2, 3, 2), (4, 8, 3), (3, 40, 2), (1, 5, 2)]),
    *(("1f1b", p, m, 1) for p, m in [(1, 3), (2, 1), (4, 3), (4, 8), (4, 200), (7, 100)]),
    *(
        ("interleaved-1f1b", p, m, v)
        for p, m, v in [(2, 4, 2), (4, 8, 3), (4, 200, 2), (3, 150, 3), (4, 10, 2)]
    ),
    *(
        (name, 2, m, v)
        for name in ("interleaved-1f1b", "interleaved-zb")
        for m in (100, 128)
        for v in (1, 2, 3)
    ),
    *(("interleaved-1f1b", p, m, 1) for p, m in [(1, 100), (3, 120), (4, 100)]),
    *((name, 2, 100, 1) for name in ("1f1b", "zb-h1", "zb-h2", "dualpipe")),
    *((name, 2, 100, 2) for name in ("zbv", "dualpipev")),
    *(("interleaved-zb", p, m, v) for p, m, v in [(2, 4, 2), (4, 200, 2), (3, 150, 3)]),
    *((name, p, m, 1) for name in ("zb-h1", "zb-h2") for p, m in [(2, 5), (4, 8), (4, 200), (5, 120)]),
    *(("zbv", p, m, 2) for p, m in [(2, 3), (3, 4), (4, 200)]),
    *(("dualpipev", p, m, 2) for p, m in [(2, 4), (3, 11), (4, 200)]),
    *(("dualpipe", p, m, 1) for p, m in [(2, 4), (4, 10), (4, 200), (6, 150)]),
]


def drawn(stages, kind, columns=4, seed=0):
    """Durations: at random, or stages alike but for slower ends, as models have them."""
    rng = np.random.default_rng(seed)
    forward = np.ones((columns, stages))
    if kind == "random":
        forward = 0.5 + rng.random((columns, stages))
    else:
        forward[:, 0] += 0.02
        forward[:, -1] += 0.1 * np.arange(columns)
    backward = (2 + 0.3 * rng.random((columns, 1))) * forward
    return Durations(
        forward=forward,
        backward=backward,
        weight=0.4 * backward,
        transfer=0.2 * rng.random((columns, 1)) * np.ones((columns, stages - 1)),
    )


@pytest.mark.parametrize("kind", ["random", "alike"])
@pytest.mark.parametrize(("name", "devices", "microbatches", "chunks"), SIZES)
def test_ends_are_those_of_a_simulation(name, devices, microbatches, chunks, kind):
    order = pk.schedule(name, devices=devices, microbatches=microbatches, chunks=chunks)
    durations = drawn(order.stages, kind)
    together = last_ends(name, devices, np.full(4, microbatches), chunks, durations)
    for column in range(4):
        timeline = pk.simulate(
            order,
            forward=durations.forward[column],
            backward=durations.backward[column],
            weight=durations.weight[column],
            transfer=durations.transfer[column],
        )
        ends = [timeline.end[timeline.device == device].max() for device in range(devices)]
        np.testing.assert_allclose(together[column], ends, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "devices", "microbatches", "chunks"), [one for one in SIZES if one[2] >= 100]
)
def test_a_long_order_is_known_from_a_short_one(name, devices, microbatches, chunks):
    """Else the test above would not have met what it is about."""
    if name not in ("gpipe", "looped-bfs") and devices > 1:
        assert _fewer(name, devices, microbatches, chunks) < microbatches / 2


def test_columns_may_have_different_numbers_of_microbatches():
    durations = drawn(4, "random")
    together = last_ends("1f1b", 4, np.array([3, 300, 8, 77]), 1, durations)
    for column, number in enumerate([3, 300, 8, 77]):
        alone = last_ends("1f1b", 4, np.array([number]), 1, durations.take(np.array([column])))
        np.testing.assert_allclose(together[column], alone[0], rtol=1e-12)
