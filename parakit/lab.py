"""Copies the lessons to a folder of the learner's, and opens them in JupyterLab."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path

from parakit.checks import unknown
from parakit.files import write_whole
from parakit.shipped import folder

RECORD = ".parakit-lessons.json"  # what we wrote, by name: a file that still has this hash is unchanged


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    """What `copy_lessons` did, by file name."""

    new: tuple[str, ...]
    updated: tuple[str, ...]
    kept: tuple[str, ...]  # changed by the learner, left alone


def default_folder() -> Path:
    """Where lessons go unless told otherwise."""
    return Path.home() / "parakit-lessons"


def copy_lessons(work: Path, source: Path | None = None) -> Copied:
    """Put the lessons into a work folder; a file that the learner changed is never written over.

    Args:
        work: made if it does not exist.
        source: where the lessons come from; None means those shipped with parakit.

    Raises:
        ValueError: `work` is a file, or the lessons' own folder.
    """
    source = source or folder("notebooks")
    if work.exists() and not work.is_dir():
        raise ValueError(f"{work} is a file: lessons need a folder; give another with --dir")
    if work.exists() and work.resolve() == source.resolve():
        raise ValueError(
            f"{work} is where the lessons come from: give another folder with --dir, yours to change"
        )
    work.mkdir(parents=True, exist_ok=True)
    record = _read_record(work)
    new, updated, kept = [], [], []
    for lesson in sorted(source.glob("*.ipynb")):
        target, data = work / lesson.name, lesson.read_bytes()
        if not target.exists():
            new.append(lesson.name)
        elif target.read_bytes() == data:
            record[lesson.name] = _hash(data)
            continue
        elif record.get(lesson.name) == _hash(target.read_bytes()):
            updated.append(lesson.name)
        else:
            kept.append(lesson.name)
            continue
        write_whole(target, data)
        record[lesson.name] = _hash(data)
    write_whole(work / RECORD, json.dumps(record, indent=1, sort_keys=True).encode())
    return Copied(new=tuple(new), updated=tuple(updated), kept=tuple(kept))


def fresh_copy(name: str, work: Path, source: Path | None = None) -> Path:
    """A lesson as shipped, beside the learner's own: NAME-fresh.ipynb, or the next free number.

    Args:
        name: file name of the lesson, or the start of it, such as "02".
        work: the learner's folder.
        source: where the lessons come from.

    Raises:
        ValueError: no lesson, or more than one, has that name.
    """
    source = source or folder("notebooks")
    lessons = sorted(path.name for path in source.glob("*.ipynb"))
    exact = [lesson for lesson in lessons if lesson in (name, f"{name}.ipynb")]
    found = exact or [lesson for lesson in lessons if name and lesson.startswith(name)]
    if len(found) != 1:
        raise ValueError(unknown("lesson", name, lessons))
    work.mkdir(parents=True, exist_ok=True)
    stem = Path(found[0]).stem
    number = 1
    while True:
        target = work / (f"{stem}-fresh.ipynb" if number == 1 else f"{stem}-fresh-{number}.ipynb")
        try:
            target.touch(exist_ok=False)  # ours from here on, even if two run at once
        except FileExistsError:
            number += 1
            continue
        write_whole(target, (source / found[0]).read_bytes())
        return target


def start_jupyterlab(work: Path, *, port: int, browser: bool) -> None:
    """Run JupyterLab on loopback, in this process, until it is stopped.

    Raises:
        ModuleNotFoundError: JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise ModuleNotFoundError(
            "JupyterLab is not installed here: install it with `pip install jupyterlab`"
        )
    from jupyterlab.labapp import LabApp

    first = next((path.name for path in sorted(work.glob("*.ipynb"))), None)
    arguments = [
        f"--ServerApp.root_dir={work.resolve()}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
    ]
    if os.name == "posix" and os.geteuid() == 0:
        arguments.append("--ServerApp.allow_root=True")
    if not browser:
        arguments.append("--no-browser")
    if first:
        arguments.append(f"--LabApp.default_url=/lab/tree/{first}")
    # Without JupyterLab's question about news, which would cover the lesson and ask the network.
    quiet = str(Path(__file__).parent / "lab_config")
    others = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join([quiet, *([others] if others else [])])
    LabApp.launch_instance(arguments)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_record(work: Path) -> dict[str, str]:
    try:
        loaded = json.loads((work / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # without a record every file counts as the learner's own
    return loaded if isinstance(loaded, dict) else {}
