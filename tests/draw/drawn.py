"""Reads geometry back out of an SVG and out of a matplotlib figure."""

import re
from xml.etree import ElementTree

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
_MOVE = re.compile(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-")


def svg_cells(svg: str, role: str) -> np.ndarray:
    """x, y, width, height of a role's cells, sorted; single rectangles and shared paths."""
    found = []
    for element in ElementTree.fromstring(svg).iter():
        classes = element.get("class", "").split()
        if f"k-{role}" not in classes:
            continue
        if element.tag == f"{SVG}rect" and "l-paper" in classes:
            found.append([float(element.get(key)) for key in ("x", "y", "width", "height")])
        elif element.tag == f"{SVG}path":
            found += [[float(number) for number in one] for one in _MOVE.findall(element.get("d"))]
    return np.array(sorted(found)).reshape(-1, 4)


def figure_cells(figure, role: str) -> np.ndarray:
    """The same from a figure's collections."""
    found = []
    for collection in figure.axes[0].collections:
        if collection.get_gid() == f"cells {role}":
            for path in collection.get_paths():
                box = path.get_extents()
                found.append([box.x0, box.y0, box.width, box.height])
    return np.array(sorted(found)).reshape(-1, 4)


def svg_texts(svg: str) -> list[str]:
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def svg_titles(svg: str) -> list[str]:
    """Tooltips: all titles but the picture's own."""
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title")][1:]
