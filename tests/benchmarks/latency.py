"""From key press to changed picture in a real JupyterLab page, beside the plain way in the same page.

    uv run --group browser python tests/benchmarks/latency.py

The plain way draws with pyplot, an artist or two a cell, and puts the PNG into an Image widget. (With
ipykernel 7.4 and JupyterLab 4.6 the Output widget of `interactive_output` stays empty in this page,
so that its own cost is left out: the plain way is, if anything, slower.) Each figure is the median of ten key presses, alternately right and left, each after the page has come to rest.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.frontends import CHROMIUM, CHROMIUM_ARGUMENTS, FrontEnd, opened

SIZES = ((4, 8), (8, 32))
PRESSES = 10
_SETUP = f"""import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import ipywidgets as widgets
import parakit as pk
from benchmarks.grid_speed import plain_png

def plain(stages, microbatches):
    slider = widgets.IntSlider(value=microbatches, min=1, max=64, description='plain')
    shown = widgets.Image(value=plain_png(stages, microbatches))
    slider.observe(lambda move: setattr(shown, 'value', plain_png(stages, move['new'])), 'value')
    return widgets.VBox([slider, shown])"""

# Milliseconds from the key's event to the frame after the picture is another one.
_WATCH = """([kind, root]) => {
    const cell = document.querySelectorAll('.jp-CodeCell')[root];
    const picture = () => kind === 'svg' ? (cell.querySelector('svg.parakit') || {}).outerHTML
        : [...cell.querySelectorAll('img')].map(img => img.src).join();
    window.taken = new Promise(done => {
        const before = picture();
        let pressed = null;
        const key = () => { pressed = performance.now(); };
        document.addEventListener('keydown', key, {capture: true, once: true});
        const look = () => {
            const now = picture();
            if (pressed !== null && now && now !== before) {
                requestAnimationFrame(() => done(performance.now() - pressed));
            } else {
                requestAnimationFrame(look);
            }
        };
        look();
    });
}"""


def notebook() -> nbformat.NotebookNode:
    cells = [new_code_cell(_SETUP)]
    for stages, microbatches in SIZES:
        cells.append(new_code_cell(f"pk.explore.pipeline(stages={stages}, microbatches={microbatches})"))
        cells.append(new_code_cell(f"plain({stages}, {microbatches})"))
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}  # or the page asks for one
    return new_notebook(cells=cells, metadata={"kernelspec": spec})


def press(front: FrontEnd, root: int, kind: str) -> float:
    """Median milliseconds of ten presses on the slider of one cell."""
    words = "microbatches" if kind == "svg" else "plain"
    taken = []
    for number in range(PRESSES + 1):
        front.page.evaluate(
            """([root, words]) => {
                const cell = document.querySelectorAll('.jp-CodeCell')[root];
                const label = [...cell.querySelectorAll('.widget-label')].find(one => one.textContent === words);
                label.parentElement.querySelector('.noUi-handle').focus();
            }""",
            [root, words],
        )
        front.page.wait_for_timeout(300)
        front.page.evaluate(_WATCH, [kind, root])
        front.page.keyboard.press("ArrowLeft" if number % 2 == 0 else "ArrowRight")
        taken.append(front.page.evaluate("window.taken"))
        front.page.wait_for_timeout(900 if kind != "svg" else 200)
    return statistics.median(taken[1:])


def main() -> None:
    """Print the table."""
    with sync_playwright() as play, tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        nbformat.write(notebook(), folder / "latency.ipynb")
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        with opened("lab", browser, folder, "latency.ipynb", height=2400) as front:
            front.run_all()
            front.page.wait_for_timeout(4000)
            print("stages x microbatches | explorer | plain way | ratio")
            for n, (stages, microbatches) in enumerate(SIZES):
                ours = press(front, 1 + 2 * n, "svg")
                plain = press(front, 2 + 2 * n, "png")
                print(
                    f"{stages:>6} x {microbatches:<12} | {ours:5.0f} ms | {plain:6.0f} ms | {plain / ours:5.1f}"
                )
        browser.close()


if __name__ == "__main__":
    main()
