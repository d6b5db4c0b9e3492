"""The public face: what importing it costs and what it holds."""

import statistics
import subprocess
import sys
import time

import pytest

import parakit as pk


def loaded_by(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def test_import_loads_neither_matplotlib_nor_ipywidgets():
    loaded = loaded_by("import parakit")
    assert not {"matplotlib", "ipywidgets", "IPython", "yaml"} & loaded


def test_core_and_svg_load_neither_matplotlib_nor_ipywidgets():
    code = (
        "import parakit as pk\n"
        "pk.draw.grid(pk.simulate(pk.schedule('1f1b', devices=2, microbatches=3))).svg\n"
        "pk.draw.memory_bars(pk.memory(pk.Model.preset('gpt2'), pk.Plan()), 80e9).svg"
    )
    assert not {"matplotlib", "ipywidgets", "IPython"} & loaded_by(code)


def seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def test_import_takes_at_most_1_3_times_numpy_alone():
    pairs = [(seconds("import parakit"), seconds("import numpy")) for _ in range(7)]
    ratio = statistics.median(ours for ours, _ in pairs) / statistics.median(numpys for _, numpys in pairs)
    assert ratio <= 1.3


@pytest.mark.parametrize("name", pk.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pk, name) is not None
    assert name in dir(pk)


def test_memory_stays_the_function_whatever_loads_first():
    code = "import parakit.memory, parakit as pk\nassert callable(pk.memory), pk.memory"
    assert "parakit.memory" in loaded_by(code)
    assert "parakit.memory" in loaded_by(
        "import parakit as pk\nimport parakit.draw\nassert callable(pk.memory)"
    )


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(
        AttributeError, match="parakit has no 'simulat'; it has Choice, Cluster, Comparison, Efficiency"
    ):
        pk.simulat  # noqa: B018
