"""Renders a scene as SVG text: fast, with tooltips, following the page's theme."""

from __future__ import annotations

import zlib
from functools import cache
from html import escape

import numpy as np

from parakit.draw.look import FILLS, FONTS, INKS, PAPER, STRIPES, Theme
from parakit.draw.scene import SMALLEST_CELL, SMALLEST_LABEL, Box, Cells, Line, Scene, Text, label_size

STRIPE = 3.0  # px, height of the stripe that tells a kind without its colour
STRIPE_INSET = 3.0  # px from the cell's edge


def render(scene: Scene, theme: Theme | None = None, *, fluid: bool = False) -> str:
    """The scene as one `<svg>` element.

    Args:
        scene: what to draw.
        theme: fixed colours, for a file; None follows the theme of the page around it.
        fluid: as wide as its place, for front ends that show SVG as an image of its own size.
    """
    body = "".join(_part(part) for part in scene.parts)
    # The same scene has the same id and another scene another: no clock, no memory address.
    mark = f"pk{zlib.crc32(body.encode()):08x}"
    size = 'width="100%" ' if fluid else f'width="{scene.width:g}" height="{scene.height:g}" '
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="parakit" viewBox="0 0 {scene.width:g} {scene.height:g}" '
        f"{size}"
        f'role="img" aria-labelledby="{mark}t {mark}d" style="max-width:100%;height:auto">'
        f'<title id="{mark}t">{escape(scene.headline)}</title><desc id="{mark}d">{escape(scene.alt)}</desc>'
        f"<style>{_style(theme)}</style>"
        f'<defs><pattern id="{mark}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect class="k-idle" width="7" height="7"/>'
        f'<path class="k-hatch" d="M0 0v7" stroke-width="2"/></pattern></defs>'
        f'<rect class="k-paper" width="100%" height="100%"/>'
        f"{body.replace('url(#)', f'url(#{mark})')}</svg>"
    )


@cache
def _style(theme: Theme | None) -> str:
    def variables(colours: Theme) -> str:
        return ";".join(f"--k-{role}:{value}" for role, value in PAPER[colours].items())

    rules = [f"svg.parakit{{{variables(theme or Theme.LIGHT)};font-family:{FONTS}}}"]
    if theme is None:
        # JupyterLab and Notebook 7; Colab; VS Code.
        dark = '[data-jp-theme-light="false"] svg.parakit,html[theme="dark"] svg.parakit,.vscode-dark svg.parakit'
        rules.append(f"{dark}{{{variables(Theme.DARK)}}}")
    for role in PAPER[Theme.LIGHT]:
        rules.append(
            f".parakit .k-{role}{{fill:var(--k-{role})}}.parakit .l-{role}{{stroke:var(--k-{role})}}"
        )
    rules.append(".parakit .k-hatch{stroke:var(--k-hatch)}")
    for role, fill in FILLS.items():
        rules.append(f".parakit .k-{role}{{fill:{fill}}}.parakit .l-{role}{{stroke:{fill}}}")
    for role, ink in INKS.items():
        rules.append(f".parakit .t-{role},.parakit .s-{role}{{fill:{ink}}}")
    rules.append(
        ".parakit .k-none{fill:none}.parakit text,.parakit .s{pointer-events:none}.parakit .s{opacity:.75}"
    )
    return "".join(rules)


def _part(part: Cells | Box | Text | Line) -> str:
    if isinstance(part, Cells):
        return _cells(part)
    if isinstance(part, Box):
        return _box(part)
    if isinstance(part, Text):
        return _text(part)
    return _line(part)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: Text) -> str:
    weight = ' font-weight="600"' if text.bold else ""
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    return (
        f'<text class="k-{text.role}" x="{_n(text.x)}" y="{_n(text.y)}" font-size="{_n(text.size)}"'
        f"{anchor}{weight}>{escape(text.text)}</text>\n"
    )


def _line(line: Line) -> str:
    dash = f' stroke-dasharray="{line.dash[0]:g} {line.dash[1]:g}"' if line.dash else ""
    return (
        f'<line class="l-{line.role}" x1="{_n(line.x1)}" y1="{_n(line.y1)}" x2="{_n(line.x2)}" '
        f'y2="{_n(line.y2)}" stroke-width="{line.width:g}"{dash}/>\n'
    )


def _box(box: Box) -> str:
    # The hatch is a pattern whose id is known once the body is: url(#) stands for it.
    fill = ' fill="url(#)"' if box.role == "idle" else ""
    names = [] if box.role == "idle" else [f"k-{box.role or 'none'}"]
    stroke = ""
    if box.edge:
        names.append(f"l-{box.edge}")
        stroke = f' stroke-width="{box.edge_width:g}"'
    named = f' class="{" ".join(names)}"' if names else ""
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    title = f"<title>{escape(box.tooltip)}</title>" if box.tooltip else ""
    drawn = (
        f"<rect{named} {place}{fill}{stroke}>{title}</rect>"
        if title
        else f"<rect{named} {place}{fill}{stroke}/>"
    )
    stripes = "".join(
        f'<rect class="s s-{box.role}" x="{_n(box.x)}" y="{_n(y)}" width="{_n(box.width)}" height="{STRIPE / 1.5:g}"/>'
        for y in stripe_tops(box.role, box.y, box.height, STRIPE / 1.5)
    )
    return f"{drawn}{stripes}\n"


def stripe_tops(role: str, top: float, height: float, stripe: float) -> list[float]:
    """Where the stripes of a role stand in a cell; none where the cell is too low for them."""
    if height < 14:
        return []
    inset = STRIPE_INSET if height >= 26 else 1.0  # in a low cell it must stay off the label
    places = {"head": top + inset, "foot": top + height - inset - stripe}
    return [places[side] for side in STRIPES.get(role, ())]


def _cells(cells: Cells) -> str:
    wide = cells.width >= SMALLEST_CELL
    out = [_wide_cells(cells, np.flatnonzero(wide))]
    if not wide.all():
        out.append(_narrow_cells(cells, np.flatnonzero(~wide & (cells.width > 0))))
    out.append(_labels(cells, np.flatnonzero(cells.label_room >= SMALLEST_LABEL)))
    return "".join(out)


def _wide_cells(cells: Cells, chosen: np.ndarray) -> str:
    """A rectangle each with its tooltip, and one path of stripes for each role."""
    heads = [f'<rect class="k-{role} l-paper" height="{_n(cells.height)}" ' for role in cells.roles]
    tops = [_n(top) for top in cells.top]
    stripes: dict[str, list[str]] = {}
    inner = STRIPE_INSET + 0.5
    out = []
    for i, x, width, row, role in zip(
        chosen.tolist(),
        cells.x[chosen].tolist(),
        cells.width[chosen].tolist(),
        cells.row[chosen].tolist(),
        cells.role[chosen].tolist(),
        strict=True,
    ):
        out.append(
            f'{heads[role]}x="{x:.1f}" y="{tops[row]}" width="{width:.1f}"><title>{cells.tooltips[i]}</title></rect>'
        )
        name = cells.roles[role]
        if width >= 10 and cells.striped and name in STRIPES:
            for y in stripe_tops(name, cells.top[row], cells.height, STRIPE):
                stripes.setdefault(name, []).append(
                    f"M{x + inner:.1f} {y:.1f}h{width - 2 * inner:.1f}v{STRIPE:g}H{x + inner:.1f}z"
                )
    out += [f'<path class="s s-{name}" d="{"".join(path)}"/>' for name, path in stripes.items()]
    return "\n".join(out) + "\n"


def _narrow_cells(cells: Cells, chosen: np.ndarray) -> str:
    """One path for each row and role, with the row's tooltip."""
    paths: dict[tuple[int, int], list[str]] = {}
    for x, width, row, role in zip(
        cells.x[chosen].tolist(),
        cells.width[chosen].tolist(),
        cells.row[chosen].tolist(),
        cells.role[chosen].tolist(),
        strict=True,
    ):
        paths.setdefault((row, role), []).append(
            f"M{x:.2f} {cells.top[row]:.4g}h{width:.2f}v{cells.height:.3g}h-{width:.2f}z"
        )
    return "".join(
        f'<path class="k-{cells.roles[role]}" d="{"".join(path)}"><title>{cells.row_tooltips[row]}</title></path>\n'
        for (row, role), path in paths.items()
    )


def _labels(cells: Cells, chosen: np.ndarray) -> str:
    groups: dict[tuple[str, float], list[str]] = {}
    for i, x, width, row, role in zip(
        chosen.tolist(),
        cells.label_x[chosen].tolist(),
        cells.label_room[chosen].tolist(),
        cells.row[chosen].tolist(),
        cells.role[chosen].tolist(),
        strict=True,
    ):
        label = cells.labels[i]
        size = label_size(label, width, cells.height)
        if size:
            y = cells.top[row] + cells.height / 2 + size * 0.36
            groups.setdefault((cells.roles[role], size), []).append(
                f'<text x="{x:.1f}" y="{y:.1f}">{label}</text>'
            )
    return "".join(
        f'<g class="t-{role}" font-size="{size:g}" text-anchor="middle">{"".join(texts)}</g>\n'
        for (role, size), texts in groups.items()
    )
