"""Executes the lessons in place, the way they are committed: clean kernel, in order, with pictures.

    uv run python .ci/notebooks.py

What differs from run to run is taken out: widget ids, times, the Python version. A widget view
with an empty id is one that front ends leave away, so that only its stand-in is seen.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(path: Path) -> None:
    """Run one notebook and write it back."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        resources={"metadata": {"path": str(path.parent)}},
        kernel_name="python3",
        store_widget_state=False,
    ).execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if WIDGET in output.get("data", {}):
                output["data"][WIDGET]["model_id"] = ""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    chosen = [Path(one) for one in sys.argv[1:]] or sorted(Path("notebooks").glob("*.ipynb"))
    for lesson in chosen:
        execute(lesson)
        print(lesson)
