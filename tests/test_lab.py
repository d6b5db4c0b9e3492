"""Lessons in the learner's folder: nothing of theirs is ever written over."""

import json
import subprocess
import sys
import time
import urllib.request

import pytest

from parakit import lab
from parakit.cli import main
from parakit.shipped import folder


@pytest.fixture
def shipped(tmp_path):
    source = tmp_path / "shipped"
    source.mkdir()
    for name in ("01-a.ipynb", "02-b.ipynb"):
        (source / name).write_text(f"first {name}")
    return source


def test_the_first_time_all_are_new_the_second_nothing_happens(tmp_path, shipped):
    work = tmp_path / "mine"
    assert lab.copy_lessons(work, shipped).new == ("01-a.ipynb", "02-b.ipynb")
    assert lab.copy_lessons(work, shipped) == lab.Copied(new=(), updated=(), kept=())
    assert (work / "01-a.ipynb").read_text() == "first 01-a.ipynb"


def test_changed_files_are_kept_and_unchanged_ones_updated(tmp_path, shipped):
    work = tmp_path / "mine"
    lab.copy_lessons(work, shipped)
    (work / "01-a.ipynb").write_text("my answers")
    for name in ("01-a.ipynb", "02-b.ipynb"):
        (shipped / name).write_text(f"second {name}")
    done = lab.copy_lessons(work, shipped)
    assert (done.new, done.updated, done.kept) == ((), ("02-b.ipynb",), ("01-a.ipynb",))
    assert (work / "01-a.ipynb").read_text() == "my answers"
    assert (work / "02-b.ipynb").read_text() == "second 02-b.ipynb"


@pytest.mark.parametrize("record", [None, "not json", "[1]"])
def test_without_a_readable_record_every_file_counts_as_the_learner_s(tmp_path, shipped, record):
    work = tmp_path / "mine"
    lab.copy_lessons(work, shipped)
    (shipped / "01-a.ipynb").write_text("second")
    if record is None:
        (work / lab.RECORD).unlink()
    else:
        (work / lab.RECORD).write_text(record)
    assert lab.copy_lessons(work, shipped).kept == ("01-a.ipynb",)
    assert (work / "01-a.ipynb").read_text() == "first 01-a.ipynb"


def test_fresh_stands_beside_and_never_over_anything(tmp_path, shipped):
    work = tmp_path / "mine"
    lab.copy_lessons(work, shipped)
    (work / "02-b.ipynb").write_text("my answers")
    names = [lab.fresh_copy("02", work, shipped).name for _ in range(3)]
    assert names == ["02-b-fresh.ipynb", "02-b-fresh-2.ipynb", "02-b-fresh-3.ipynb"]
    assert (work / "02-b.ipynb").read_text() == "my answers"
    assert (work / names[2]).read_text() == "first 02-b.ipynb"
    with pytest.raises(ValueError, match=r"there is no lesson '03': .*01-a.ipynb, 02-b.ipynb"):
        lab.fresh_copy("03", work, shipped)
    with pytest.raises(ValueError, match="there is no lesson '0'"):
        lab.fresh_copy("0", work, shipped)


def test_folders_that_cannot_be_used(tmp_path, shipped):
    with pytest.raises(ValueError, match="is where the lessons come from: give another folder with --dir"):
        lab.copy_lessons(shipped, shipped)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file: lessons need a folder; give another with --dir"):
        lab.copy_lessons(tmp_path / "file", shipped)


def test_without_jupyterlab_one_sentence_says_how_to_get_it(tmp_path, capsys, monkeypatch):
    real = lab.importlib.util.find_spec
    monkeypatch.setattr(
        lab.importlib.util, "find_spec", lambda name: None if name == "jupyterlab" else real(name)
    )
    assert main(["lab", "--dir", str(tmp_path / "work")]) == 2
    assert capsys.readouterr().err == (
        "parakit: JupyterLab is not installed here: install it with `pip install jupyterlab`\n"
    )


def test_lab_serves_the_lessons_on_loopback_with_a_token(tmp_path):
    work = tmp_path / "work"
    command = [sys.executable, "-m", "parakit", "lab", "--no-browser", "--dir", str(work), "--port", "18877"]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)
    try:
        address = None
        for _ in range(200):
            said = (tmp_path / "log").read_text()
            address = next((word for word in said.split() if word.startswith("http://127.0.0.1:")), None)
            if address:
                break
            assert server.poll() is None, said
            time.sleep(0.2)
        base, token = address.split("/lab")[0], address.split("token=")[1]
        contents = json.load(urllib.request.urlopen(f"{base}/api/contents?token={token}"))
        names = {entry["name"] for entry in contents["content"]}
        assert {lesson.name for lesson in folder("notebooks").glob("*.ipynb")} <= names
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{base}/api/contents")
    finally:
        server.terminate()
        server.wait(20)
