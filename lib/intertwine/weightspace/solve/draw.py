"""A run as a drawing: calls in a column, and arrows between them, values in the colours of their spaces."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from colorsys import hls_to_rgb
from dataclasses import dataclass, field
from functools import cache
from html import escape

from intertwine.weightspace.solve.graph import Graph, GraphEdge
from intertwine.weightspace.solve.hidden import HiddenSpace

HEIGHT, GAP, LETTER = 22, 14, 8
"""Pixels: of a box, of the space below it where no group is written, and of a letter at most."""

INK, PAPER, GREY = "#222222", "#fdfdfd", "#7a7a7a"
"""Words lie on paper of their own, so that they read on any ground."""

FONT = "-apple-system, Segoe UI, Helvetica Neue, Arial, sans-serif"

HUES = (0, 215, 120, 285, 40, 180, 325)
"""Degrees, of the colours of the first spaces."""

LUMINANCE = 0.19
"""Of all colours: more than 4:1 against white, and against the black of dark pages."""

SCRIPTS = {"^": str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"), "_": str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")}


class Drawing(str):
    """The text of an SVG file; a notebook shows the picture."""

    def _repr_svg_(self) -> str:
        return str(self)


@dataclass(eq=False)
class Line:
    """A value in the colour of one of its spaces: the row that makes it, those that read it, and its way."""

    space: int | None
    start: int
    near: bool  # the next row reads it
    far: list[int]
    lane: int = -1  # left of the boxes, where a reader is further away than the next row
    place: int = 0  # among the lines that leave its row
    entries: list[tuple[int, int]] = field(default_factory=list)  # at each far row: which arrow, of how many


def draw(graph: Graph, spaces: Mapping[int, tuple[str, str]]) -> Drawing:
    """A box for each node, one below the other in the order of the run.

    Arrows are values, ends of boxes weights, in the colours of the spaces that move them; grey stays. The
    group of a space is written where its first value leaves a box. A value that is read further down runs
    left of the boxes, so that the drawing is narrow enough for a telephone. A space has the id `space-3`, a
    node `node-5`, by their numbers; resting on one tells what it is.

    Args:
        spaces: the number of each → what is written where it begins, and what a pointer shows of it.
    """
    nodes, edges = graph
    lines = routed(edges)
    left = 16 + 10 * max((line.lane for line in lines), default=-1)
    wide = 16 + LETTER * max(len(node.label) for node in nodes) + 8 * max(len(node.spaces) for node in nodes)

    # the row of the first value, or else weight, of each space
    first = {s: row for row, node in reversed([*enumerate(nodes)]) for s in node.spaces}
    first |= {s: edge.start for edge in reversed(edges) for s in edge.spaces}
    groups: dict[int, list[int]] = defaultdict(list)
    for s in spaces:
        groups[first.get(s, 0)].append(s)

    top = [4]
    for row in range(len(nodes)):
        top.append(top[-1] + HEIGHT + max(GAP, 6 + 22 * len(groups[row])))
    parts, right, leaving = _arrows(lines, left, top), left + wide, Counter(line.start for line in lines)
    boxes: list[str] = []
    for row, node in enumerate(nodes):
        y, x = top[row], left + 20 + 7 * leaving[row]
        inside = [_title(", ".join(node.weights) or "no weights"), _box(left, y, wide, HEIGHT, GREY)]
        boxes += [f'<g id="node-{row}">', *inside, _text(left + 6, y, node.label), "</g>"]
        for j, s in enumerate(node.spaces, 1):
            end = f'x="{left + wide - 8 * j}" y="{y + 3}" width="5" height="{HEIGHT - 6}"'
            parts[s].append(f'<rect {end} fill="{colour(s)}"/>')
        for j, s in enumerate(groups[row], 1):
            lower, length = y + 22 * j + 3, 12 + LETTER * len(spaces[s][0])
            parts[s] += [_box(x, lower, length, 20, colour(s)), _text(x + 6, lower, spaces[s][0])]
            right = max(right, x + length)
    coloured = [
        each
        for s, (_, more) in spaces.items()
        for each in (f'<g id="space-{s}">', _title(more), *parts[s], "</g>")
    ]
    wide, high = right + 4, top[-1]
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" font-size="14" font-family="{FONT}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return Drawing("\n".join([start, *parts[None], *boxes, *coloured, "</svg>"]))


def caption(hidden: HiddenSpace) -> tuple[str, str]:
    """What is written of a space, and what a pointer shows of it."""
    sides = ("writers", hidden.writers), ("readers", hidden.readers)
    lists = "; ".join(f"{side}: {', '.join(names)}" for side, names in sides if names)
    why = f"{hidden.size} units, dimension {hidden.dimension}; why: {', '.join(hidden.why)}; {lists}"
    return f"{hidden.called}: {in_symbols(hidden.group)}", why


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def routed(edges: Iterable[GraphEdge]) -> list[Line]:
    """The values of a drawing with their ways: a line for each space of a value, or one in grey.

    Example:
        >>> lines = routed([GraphEdge(0, (1, 3), (5,)), GraphEdge(1, (2,), ())])
        >>> [(line.space, line.near, line.far, line.lane, line.place) for line in lines]
        [(5, True, [3], 0, 0), (None, True, [], -1, 0)]

    Short lines have lanes next to the boxes. Lines that leave one row have places below its box.
    """
    lines = [
        Line(s, edge.start, edge.start + 1 in edge.ends, [row for row in edge.ends if row > edge.start + 1])
        for edge in edges
        for s in edge.spaces or (None,)
    ]
    lanes: list[list[Line]] = []
    # short lines first, so that they lie next to the boxes and the long ones around them
    for line in sorted((each for each in lines if each.far), key=lambda each: each.far[-1] - each.start):
        lanes.append([])  # free for certain
        line.lane = next(
            k
            for k, lane in enumerate(lanes)
            if all(line.start >= other.far[-1] or other.start >= line.far[-1] for other in lane)
        )
        lanes[line.lane].append(line)
        lanes = [lane for lane in lanes if lane]
    leaving: Counter[int] = Counter()
    arriving: dict[int, list[int]] = defaultdict(list)
    for line in sorted(lines, key=lambda each: -each.lane):  # the outer ones turn left above the inner ones
        line.place = leaving[line.start]
        leaving[line.start] += 1
        for row in line.far:
            arriving[row].insert(0, line.lane)
    for line in lines:
        line.entries = [(arriving[row].index(line.lane) + 1, len(arriving[row])) for row in line.far]
    return lines


def _arrows(lines: list[Line], left: int, top: list[int]) -> dict[int | None, list[str]]:
    """By space: straight to the next row, and by way of a lane to each one further down."""
    turning = Counter(line.start for line in lines if line.far)
    parts: dict[int | None, list[str]] = defaultdict(list)
    for line in lines:
        x, y, lane = left + 14 + 7 * line.place, top[line.start] + HEIGHT, left - 10 * (line.lane + 1)
        ink = colour(line.space)
        if line.near:
            end = top[line.start + 1]
            parts[line.space].append(_arrow(f"M{x} {y}V{end - 5}", f"M{x} {end}l-4-7h8z", ink))
        for row, (which, count) in zip(line.far, line.entries, strict=True):
            turn = y + GAP * (line.place + 1) // (turning[line.start] + 1)
            end = top[row] + HEIGHT * which // (count + 1)
            path = f"M{x} {y}V{turn - 2}q0 2-2 2H{lane + 4}q-4 0-4 4V{end - 4}q0 4 4 4H{left - 5}"
            parts[line.space].append(_arrow(path, f"M{left} {end}l-7-4v8z", ink))
    return parts


def in_symbols(group: str) -> str:
    """The text of a group with its sets, indices and powers in Unicode.

    Example:
        >>> in_symbols("Σ_16 ⋉ ((R^*)^2 × R_{>0})^16")
        'Σ₁₆ ⋉ ((ℝ*)² × ℝ₊)¹⁶'
    """
    for written, symbol in {"R^*": "ℝ*", "C^*": "ℂ*", "R_{>0}": "ℝ₊"}.items():
        group = group.replace(written, symbol)
    return re.sub(r"([\^_])(\d+)", lambda found: found[2].translate(SCRIPTS[found[1]]), group)


def _arrow(line: str, head: str, colour: str) -> str:
    return (
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="3"/><path d="{head}" fill="{colour}"/>'
    )


def _box(x: int, y: int, wide: int, high: int, colour: str) -> str:
    size = f'x="{x}" y="{y}" width="{wide}" height="{high}"'
    return f'<rect {size} rx="3" fill="{PAPER}" stroke="{colour}"/>'


def _text(x: int, y: int, text: str) -> str:
    """Words in a box that begins at y."""
    return f'<text x="{x}" y="{y + 16}" fill="{INK}">{escape(text)}</text>'


@cache
def colour(space: int | None) -> str:
    """Grey, or a hue for each space, as light as reads on white and on black."""
    if space is None:
        return GREY
    hue = (HUES[space % len(HUES)] + 11 * (space // len(HUES))) % 360 / 360
    # equal lightness is not equal contrast (yellow is lighter than blue): bisection finds the luminance
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        values = hls_to_rgb(hue, middle, 0.8)
        # from sRGB to linear light, whose weighted sum is the luminance of WCAG
        linear = (c / 12.92 if c < 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in values)
        dark = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) < LUMINANCE
        low, high = (middle, high) if dark else (low, middle)
    return f"hsl({360 * hue:.0f} 80% {100 * low:.0f}%)"
