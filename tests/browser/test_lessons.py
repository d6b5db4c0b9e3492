"""The lessons in a real browser, in both front ends.

Needs playwright and Chromium, and PARAKIT_COLAB_PYTHON for Notebook 6. Without them these tests are
skipped; with PARAKIT_BROWSER_TESTS=1, as in CI, they fail instead. Screenshots go to
PARAKIT_SCREENSHOTS, or nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REQUIRED = os.environ.get("PARAKIT_BROWSER_TESTS") == "1"
try:
    from browser.frontends import CHROMIUM, CHROMIUM_ARGUMENTS, COLAB_PYTHON, copy_lessons, opened
    from playwright.sync_api import sync_playwright
except ModuleNotFoundError:
    if REQUIRED:
        raise
    pytest.skip("playwright is not installed (uv run --group browser pytest)", allow_module_level=True)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not REQUIRED and not Path(CHROMIUM).exists(), reason=f"there is no {CHROMIUM}"),
    pytest.mark.filterwarnings("default"),  # playwright's own
]
SCREENSHOTS = os.environ.get("PARAKIT_SCREENSHOTS")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(params=["lab", "notebook6"])
def front_end(request):
    if request.param == "notebook6" and not COLAB_PYTHON and not REQUIRED:
        pytest.skip("PARAKIT_COLAB_PYTHON is not set")
    return request.param


def screenshot(front, name: str) -> None:
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        front.page.screenshot(path=f"{SCREENSHOTS}/{front.name}-{name}.png")


PICTURE = "svg.parakit"


def live_svg(front, text: str) -> str:
    """Text of the explorer's SVG that shows in the page and contains `text`."""
    return front.page.evaluate(
        """text => [...document.querySelectorAll('.widget-html svg.parakit, .jupyter-widgets svg.parakit')]
            .map(svg => svg.textContent).find(said => said.includes(text)) || ''""",
        text,
    )


def focus_slider(front, words: str) -> None:
    """Put the keyboard on the handle of the slider with this label, in the explorer that is in sight."""
    found = front.page.evaluate(
        """words => {
            const labels = [...document.querySelectorAll('.widget-label')].filter(
                label => label.textContent === words && label.offsetParent
                    && label.getBoundingClientRect().top > 0
                    && label.getBoundingClientRect().bottom < window.innerHeight);
            const label = labels[labels.length - 1];
            if (!label) return false;
            const handle = label.parentElement.querySelector('.noUi-handle, .ui-slider-handle');
            handle.focus();
            return document.activeElement === handle;
        }""",
        words,
    )
    assert found, f"no slider is labelled {words!r}"


def wait_for_text(front, text: str) -> None:
    """Wait until `text` is seen; stand-ins that hold it are hidden."""
    front.page.get_by_text(text).locator("visible=true").first.wait_for()


def test_lesson_02_runs_and_its_slider_moves_the_grid_by_keyboard(browser, front_end, tmp_path):
    copy_lessons(tmp_path)
    with opened(front_end, browser, tmp_path, "02-pipeline-bubbles.ipynb") as front:
        front.show_code_cell("stages=4, microbatches=8")
        # Saved, nothing alive: the stand-in shows.
        front.page.wait_for_selector("[class^=parakit-saved-pipeline] img", state="visible")
        screenshot(front, "02-saved")
        front.run_all()
        front.show_code_cell("stages=4, microbatches=8")
        front.page.wait_for_function(
            """() => [...document.querySelectorAll('svg.parakit')].some(
                svg => svg.textContent.includes('36 of 132 stage-slots are idle'))""",
        )
        screenshot(front, "02-live")
        # Alive: the stand-in hides, whatever it was before.
        assert front.page.locator("[class^=parakit-saved-pipeline]:visible").count() == 0
        before = front.page.evaluate("() => document.querySelectorAll('svg.parakit').length")
        focus_slider(front, "microbatches")
        front.page.keyboard.press("ArrowRight")
        front.page.wait_for_function(
            """() => [...document.querySelectorAll('svg.parakit')].some(
                svg => svg.textContent.includes('1f1b, 4 stages, 9 microbatches'))""",
        )
        assert "A9" in live_svg(front, "9 microbatches")
        boxes = []
        for words in ("stages", "microbatches"):
            focus_slider(front, words)
            for _ in range(3):
                front.page.keyboard.press("ArrowRight")
                front.page.wait_for_timeout(250)
                boxes.append(
                    front.page.evaluate(
                        """() => {
                            const svg = [...document.querySelectorAll('svg.parakit')].filter(
                                svg => svg.textContent.includes('1f1b') && svg.getBoundingClientRect().width)[0];
                            const box = svg.getBoundingClientRect();
                            return [box.width, box.height].map(Math.round).join('x');
                        }"""
                    )
                )
        assert len(set(boxes)) == 1, "the picture's box must not jump"
        assert "7 stages, 12 microbatches" in live_svg(front, "1f1b")
        assert front.page.evaluate("() => document.querySelectorAll('svg.parakit').length") == before
        screenshot(front, "02-moved")
        front.show_code_cell('family="idle-share"')
        screenshot(front, "02-practice")
        front.show_code_cell('deck("bubbles")')
        turn = front.page.get_by_role("button", name="Show answer")
        turn.focus()
        front.page.keyboard.press("Space" if front_end == "lab" else "Enter")
        wait_for_text(front, "Stage time spent idle, waiting for pipeline work; filling and draining count.")
        screenshot(front, "02-deck")
        assert front.errors == []


def test_lesson_03_runs_and_a_problem_dims_the_picture(browser, front_end, tmp_path):
    copy_lessons(tmp_path)
    with opened(front_end, browser, tmp_path, "03-memory.ipynb") as front:
        front.run_all()
        front.show_code_cell("pk.explore.memory(")
        front.page.wait_for_function(
            """() => [...document.querySelectorAll('svg.parakit')].some(
                svg => svg.textContent.includes('Stage A is the fullest: 44.2 GB of 80 GB'))""",
        )
        screenshot(front, "03-live")
        focus_slider(front, "pipeline stages pp")
        front.page.keyboard.press("ArrowRight")
        front.page.keyboard.press("ArrowRight")
        wait_for_text(front, "32 layers do not divide into pp=3 stages")
        dimmed = front.page.evaluate(
            """() => [...document.querySelectorAll('div[aria-hidden=true] > svg.parakit')].map(
                svg => getComputedStyle(svg.parentElement).opacity)"""
        )
        assert dimmed == ["0.35"]
        screenshot(front, "03-problem")
        front.page.keyboard.press("ArrowRight")
        front.page.wait_for_function(
            "() => document.querySelectorAll('div[aria-hidden=true] > svg.parakit').length === 0"
        )
        # Names the limit, then draws the fullest device's step on the grid's time axis.
        wait_for_text(front, "Activations take the most")
        front.page.locator("select:has(option:text-is('over time'))").last.select_option(label="over time")
        front.page.wait_for_function(
            """() => [...document.querySelectorAll('svg.parakit')].some(
                svg => svg.textContent.includes('Stage A is fullest at time'))""",
        )
        front.page.get_by_text("Stage A is fullest at time").last.scroll_into_view_if_needed()
        screenshot(front, "03-over-time")
        assert front.errors == []


def test_lesson_04_runs_and_its_explorers_answer_the_keyboard(browser, front_end, tmp_path):
    copy_lessons(tmp_path)
    with opened(front_end, browser, tmp_path, "04-measure-and-choose.ipynb") as front:
        front.run_all()
        front.show_code_cell("pk.explore.overlap()")
        wait_for_text(front, "The pass takes 213 ms: of 100 ms of sending 88% is hidden")
        screenshot(front, "04-overlap")
        focus_slider(front, "bytes sent (MB)")
        front.page.keyboard.press("ArrowRight")
        wait_for_text(front, "The pass takes 225 ms: of 200 ms of sending 87% is hidden")
        front.page.keyboard.press("ArrowRight")
        wait_for_text(front, "There is more to send than computing can hide")
        front.show_code_cell("pk.explore.choose(")
        wait_for_text(front, "plans are excluded. The second takes")
        screenshot(front, "04-choose")
        focus_slider(front, "batch")
        front.page.keyboard.press("ArrowRight")
        front.page.wait_for_function(
            """() => [...document.querySelectorAll('.widget-html svg.parakit, .jupyter-widgets svg.parakit')].some(
                svg => svg.textContent.includes('batch 128 × 4,096 tokens'))""",
        )
        assert front.errors == []


def test_the_dark_theme_of_jupyterlab_reaches_the_picture(browser, tmp_path):
    copy_lessons(tmp_path)
    with opened("lab", browser, tmp_path, "02-pipeline-bubbles.ipynb", theme="dark") as front:
        front.run_all()
        front.show_code_cell("stages=4, microbatches=8")
        front.page.wait_for_selector(PICTURE)
        paper = front.page.evaluate(
            "() => getComputedStyle(document.querySelector('svg.parakit .k-paper')).fill"
        )
        assert paper == "rgb(17, 17, 17)"
        screenshot(front, "02-dark")
        assert front.errors == []
