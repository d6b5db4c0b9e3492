"""The README: what it promises is there."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_first_screen_has_the_two_commands():
    first = README[: README.index("<details>")]
    assert "    pip install uv && uv run parakit lab\n" in first
    assert "    pip install uv && uv run pytest\n" in first
    assert "Colab" in first
    assert first.index("<picture>") < first.index("pip install")


@pytest.mark.parametrize("target", re.findall(r'(?:\]\(|src="|srcset=")([^)"]+)', README))
def test_every_link_leads_to_a_file(target):
    assert (ROOT / target).is_file()


def test_the_pictures_come_from_the_code_as_it_is(tmp_path):
    spec = importlib.util.spec_from_file_location("readme_grid", ROOT / ".github" / "grid.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path in module.draw(tmp_path):
        assert path.read_text() == (ROOT / ".github" / path.name).read_text(), "uv run python .github/grid.py"


def test_the_code_runs():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    scope = {}
    lines = [line for line in code.splitlines() if ".save(" not in line]
    preset = "pk.Model.preset('llama-3-8b')"
    exec("\n".join(lines).replace('pk.Model.from_config("config.json")', preset), scope)
    assert scope["report"].limit().category == "activations"
    assert scope["timeline"].in_flight.tolist() == [4, 3, 2, 1]
    assert scope["timeline"].idle_share == pytest.approx(3 / 11)


def test_the_version_in_the_colab_line_is_this_one():
    import parakit

    assert f"parakit-{parakit.__version__}-py3" in README


def test_the_visible_top_level_is_fixed():
    visible = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert visible - {"uv.lock", "dist", "__pycache__"} == {
        "pyproject.toml", "parakit", "notebooks", "flashcards", "tests", "README.md", "LICENSE",
    }  # fmt: skip


def test_no_lock_file_is_tracked():
    assert "uv.lock" in (ROOT / ".gitignore").read_text().splitlines()
