"""Pictures of what the core computes; each is one scene, drawn as SVG or by matplotlib."""

from parakit.draw.grid import grid, require_drawable
from parakit.draw.held import memory_over_time
from parakit.draw.memory import memory_bars
from parakit.draw.picture import Picture
from parakit.draw.text import text_grid
from parakit.draw.traffic import traffic

__all__ = [
    "Picture",
    "grid",
    "memory_bars",
    "memory_over_time",
    "require_drawable",
    "text_grid",
    "traffic",
]
