"""Pictures of timelines and memory reports; each is one scene, drawn as SVG or by matplotlib."""

from parakit.draw.grid import grid, require_drawable
from parakit.draw.memory import memory_bars
from parakit.draw.picture import Picture
from parakit.draw.text import text_grid

__all__ = ["Picture", "grid", "memory_bars", "require_drawable", "text_grid"]
