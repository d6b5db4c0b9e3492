"""Draws the README's pictures: uv run python .github/grid.py."""

from pathlib import Path

import parakit as pk


def draw(folder: Path) -> list[Path]:
    """Write grid-light.svg and grid-dark.svg."""
    timeline = pk.simulate(pk.schedule("1f1b", devices=4, microbatches=8))
    picture = pk.draw.grid(timeline, follow=2)
    return [picture.save(folder / f"grid-{theme}.svg", theme) for theme in ("light", "dark")]


if __name__ == "__main__":
    draw(Path(__file__).parent)
