"""Where the lessons and the flashcards are: inside the wheel, or beside the package in a checkout."""

from pathlib import Path


def folder(name: str) -> Path:
    """The folder `notebooks` or `flashcards`.

    Raises:
        FileNotFoundError: this installation was made without it.
    """
    package = Path(__file__).resolve().parent
    for place in (package / "_shipped" / name, package.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"this installation of parakit has no {name}: install it from its wheel or run it from its checkout"
    )
