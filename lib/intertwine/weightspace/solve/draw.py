"""A run as a drawing: calls from top to bottom, and between them values in the colours of their spaces."""

import re
from colorsys import hls_to_rgb
from functools import cache
from html import escape

from intertwine.weightspace.solve.hidden import Solution
from intertwine.weightspace.trace.run import Call, Run, needed

STEP, HEIGHT = 32, 18
"""Pixels from row to row, and the height of a box."""

HUES = (0, 215, 120, 285, 40, 180, 325)
"""Degrees, of the colours of the first spaces."""

LUMINANCE = 0.19
"""Of all colours: more than 4:1 against white, and against the black of dark pages."""

SCRIPTS = {"^": str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"), "_": str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")}


class Drawing(str):
    """The text of an SVG file; a notebook shows the picture."""

    def _repr_svg_(self) -> str:
        return str(self)


def draw(run: Run, solution: Solution) -> Drawing:
    """A box for each call from inputs to outputs, one row below those that it needs.

    Lines are values, ends of boxes weights, in the colours of the spaces that move them; grey stays.
    """
    calls = needed(run)
    made, at, labels = dict.fromkeys(run.inputs, -1), {-1: (0, 0)}, {-1: "input"}
    for k, call in enumerate(calls):
        before = {ref.index for ref in call.refs}
        if sources := [at[made[ref.index]] for ref in call.refs if ref.index in made]:
            row, lane = max(sources)[0] + 1, sources[0][1]
            while (row, lane) in at.values():
                lane += 1
            at[k], labels[k] = (row, lane), _label(run, call)
            made |= {ref.index: k for ref in call.results if ref.index not in before}
    legend = [f"{each.name}: {in_symbols(each.group)}" for each in solution.spaces]
    wide, top = 40 + 7 * max(map(len, labels.values())), 20 * len(legend) + STEP
    corner = {k: (10 + (wide + 50) * at[k][1], top + STEP * at[k][0]) for k in labels}
    parts = [_text(10, 20 * s + 20, text, _colour(s)) for s, text in enumerate(legend)]
    for k, (x, y) in corner.items():
        before = {ref.index for ref in calls[k].refs} if k >= 0 else set()
        weights = {s for i in before if i in run.names for s in solution.touched(i)}
        marks = [(x, wide, "#8881"), *((x + wide - 8 * j, 6, _colour(s)) for j, s in enumerate(weights, 1))]
        for left, length, colour in marks:
            box = f'x="{left}" y="{y}" width="{length}" height="{HEIGHT}"'
            parts.append(f'<rect {box} rx="3" fill="{colour}"/>')
        parts.append(_text(x + 6, y + 13, labels[k], "#777"))
        for x0, y0, i in sorted((*corner[made[i]], i) for i in before if i in made):
            for j, s in enumerate(sorted(solution.touched(i)) or [None]):
                # around the boxes between, or from the lower end of one to the upper end of the other
                far, bent, shift = y - y0 > STEP, y - y0 > STEP and x == x0, 5 * j
                a, b = (wide, HEIGHT / 2 + shift) if bent else (wide / 2 + shift, HEIGHT)
                c, d = (wide, HEIGHT / 2 + shift) if far else (wide / 2 + shift, 0)
                u, v = (40, 0) if bent else (0, STEP / 2)
                ends = [x0 + a, y0 + b, x0 + a + u, y0 + b + v, x + c + u, y + d - v, x + c, y + d]
                path = "M{} {} C{} {} {} {} {} {}".format(*ends)
                parts.append(f'<path d="{path}" fill="none" stroke="{_colour(s)}" stroke-width="3"/>')
    width = max([wide + 50 + max(x for x, _ in corner.values()), *(7 * len(text) for text in legend)])
    height = STEP + max(y for _, y in corner.values())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="12">'
    return Drawing("\n".join([head, *parts, "</svg>"]))


def in_symbols(group: str) -> str:
    """The text of a group with its sets, indices and powers in Unicode.

    Example:
        >>> in_symbols("Σ_16 ⋉ ((R^*)^2 × R_{>0})^16")
        'Σ₁₆ ⋉ ((ℝ*)² × ℝ₊)¹⁶'
    """
    for written, symbol in {"R^*": "ℝ*", "C^*": "ℂ*", "R_{>0}": "ℝ₊"}.items():
        group = group.replace(written, symbol)
    return re.sub(r"([\^_])(\d+)", lambda found: found[2].translate(SCRIPTS[found[1]]), group)


def _label(run: Run, call: Call) -> str:
    """The layer whose weights a call takes, or the module that it is, and the name of its function."""
    result = call.results[0].index
    named = [run.names[ref.index].rpartition(".")[0] for ref in call.refs if ref.index in run.names]
    named += sorted(m for m, c in run.modules.items() if c[-1][0] != c[-1][1] == result)[::-1]
    return f"{named[0]} · {call.name}" if named else call.name


def _text(x: int, y: int, text: str, colour: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-family="sans-serif">{escape(text)}</text>'


@cache
def _colour(space: int | None) -> str:
    """Grey, or a hue for each space, as light as reads on white and on black."""
    if space is None:
        return "#999"
    hue = (HUES[space % len(HUES)] + 11 * (space // len(HUES))) % 360 / 360
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        values = hls_to_rgb(hue, middle, 0.8)
        linear = (c / 12.92 if c < 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in values)
        dark = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) < LUMINANCE
        low, high = (middle, high) if dark else (low, middle)
    return f"hsl({360 * hue:.0f} 80% {100 * low:.0f}%)"
