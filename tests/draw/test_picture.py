"""Saving and showing pictures."""

import base64
from xml.etree import ElementTree

import pytest

import parakit as pk
from parakit.draw import grid

PICTURE = grid(pk.simulate(pk.schedule("1f1b", devices=2, microbatches=3)))


@pytest.mark.parametrize(
    ("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")]
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_save_writes_each_form(tmp_path, suffix, start, theme):
    path = PICTURE.save(tmp_path / f"grid{suffix}", theme)
    assert path.read_bytes().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [f"grid{suffix}"]


def test_saved_svg_has_fixed_colours_and_is_well_formed(tmp_path):
    light = PICTURE.save(tmp_path / "light.svg").read_text()
    dark = PICTURE.save(tmp_path / "dark.svg", "dark").read_text()
    ElementTree.fromstring(light)
    assert "--k-paper:#ffffff" in light
    assert "#111111;--k-ink" in dark
    assert "data-jp-theme-light" not in light
    assert "data-jp-theme-light" in PICTURE.svg


def test_the_same_picture_gives_the_same_bytes():
    again = grid(pk.simulate(pk.schedule("1f1b", devices=2, microbatches=3)))
    assert again.svg == PICTURE.svg
    assert again.png() == PICTURE.png()
    assert b"matplotlib" not in PICTURE.png()[:400].lower()


def test_another_suffix_or_folder_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"'grid.jpg' does not end in .svg, .png or .pdf"):
        PICTURE.save(tmp_path / "grid.jpg")
    with pytest.raises(
        FileNotFoundError, match=r"there is no folder .*nowhere to write grid\.svg into: make it first"
    ):
        PICTURE.save(tmp_path / "nowhere" / "grid.svg")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_gets_svg_png_and_words():
    bundle = PICTURE._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "image/png", "text/plain"}
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == PICTURE.alt
    assert 'width="100%"' in bundle["image/svg+xml"].split("<style>")[0]


def test_cropped_drops_the_reserved_room_alone():
    roomy = grid(pk.simulate(pk.schedule("1f1b", devices=2, microbatches=3)), rows=8)
    assert roomy.cropped().scene.height == PICTURE.scene.height
    assert roomy.cropped().scene.parts == roomy.scene.parts
