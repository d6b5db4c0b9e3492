"""The committed lessons read well where nothing runs: executed in order, with pictures, the same each time."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

LESSONS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem)
def lesson(request):
    return json.loads(request.param.read_text())


def outputs(lesson):
    return [output for cell in lesson["cells"] for output in cell.get("outputs", [])]


def test_executed_from_a_clean_kernel_in_order_without_an_error(lesson):
    code = [cell for cell in lesson["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for output in outputs(lesson) if output["output_type"] == "error"]
    assert not [output for output in outputs(lesson) if output.get("name") == "stderr"]


def test_nothing_differs_from_run_to_run(lesson):
    ids = [
        output["data"][WIDGET]["model_id"] for output in outputs(lesson) if WIDGET in output.get("data", {})
    ]
    assert ids
    assert set(ids) == {""}
    assert set(lesson["metadata"]) == {"kernelspec", "language_info"}
    assert "version" not in lesson["metadata"]["language_info"]
    without_pictures = re.sub(r'"[A-Za-z0-9+/=\\n]{200,}"', "", json.dumps(outputs(lesson)))
    assert not re.search(r"0x[0-9a-f]{8}|/(root|home|tmp|usr|work)/", without_pictures)


def test_every_widget_leaves_something_to_see(lesson):
    for cell in lesson["cells"]:
        data = [output.get("data", {}) for output in cell.get("outputs", [])]
        for first, second in pairwise([*data, {}]):
            if WIDGET in first:
                assert "<img" in (html := "".join(second["text/html"])) or "<details>" in html


def test_the_first_cell_is_the_same_in_all_and_never_installs_from_the_index(lesson):
    first = next("".join(cell["source"]) for cell in lesson["cells"] if cell["cell_type"] == "code")
    other = json.loads(LESSONS[0].read_text())
    assert first == next("".join(cell["source"]) for cell in other["cells"] if cell["cell_type"] == "code")
    assert '"--quiet", wheels[-1]' in first
    assert "install parakit" not in first


def test_a_missing_wheel_is_one_clear_error(lesson, tmp_path, monkeypatch):
    first = next("".join(cell["source"]) for cell in lesson["cells"] if cell["cell_type"] == "code")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "parakit", None)
    with pytest.raises(ModuleNotFoundError) as error:
        exec(first, {})
    assert str(error.value) == (
        "parakit is not installed here: put its wheel (parakit-….whl) beside this notebook, "
        "in Colab's Files panel, and run this cell again"
    )
