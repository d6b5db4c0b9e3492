"""Pictures of what the core computes; each is one scene, drawn as SVG or by matplotlib."""

from parakit.draw.choice import choice
from parakit.draw.compare import compare
from parakit.draw.curve import bubble_curve
from parakit.draw.grid import grid
from parakit.draw.held import memory_over_time
from parakit.draw.link import link
from parakit.draw.link_curves import link_curves
from parakit.draw.memory import memory_bars
from parakit.draw.picture import Picture
from parakit.draw.rows import require_drawable
from parakit.draw.streams import streams
from parakit.draw.strips import held_over_time
from parakit.draw.text import text_grid
from parakit.draw.traffic import traffic

__all__ = [
    "Picture",
    "bubble_curve",
    "choice",
    "compare",
    "grid",
    "held_over_time",
    "link",
    "link_curves",
    "memory_bars",
    "memory_over_time",
    "require_drawable",
    "streams",
    "text_grid",
    "traffic",
]
