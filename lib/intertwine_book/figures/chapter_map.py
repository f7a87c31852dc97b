"""What needs what: the chapters as boxes, an arrow from each to those that ask for it."""

from collections.abc import Mapping
from textwrap import fill

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from intertwine_book.figures.style import COLOURS, PAPER, new_figure

_WIDTH = 0.84  # of a box, in columns


def chapter_map(needs: Mapping[str, tuple[str, list[str]]]) -> Figure:
    """A column for each step from the first chapter, and a row for each path; no arrow crosses a box.

    The chapters are in reading order: number → title, and the numbers of those that it asks for.
    """
    before = arrows(needs)
    row: dict[str, float] = {}

    def settle(number: str) -> float:
        """A chapter stands in the middle of those that need it alone, and else in the next free row."""
        below = [settle(name) for name, found in before.items() if found == [number]]
        row[number] = sum(below) / len(below) if below else float(len(leaves))
        if not below:
            leaves.append(number)
        return row[number]

    leaves: list[str] = []
    settle(next(iter(needs)))
    place: dict[str, tuple[int, float]] = {}
    for number, found in before.items():
        column = 1 + max((place[name][0] for name in found), default=-1)
        if number not in row:  # needs several: between them
            row[number] = sum(row[name] for name in found) / len(found)
        place[number] = column, row[number]
    rows = max(row.values())
    figure, axis = new_figure(width=7.4, height=0.62 * (rows + 1))
    arrow = {"arrowstyle": "->", "color": COLOURS["grey"]}
    for number, found in before.items():
        for name in found:
            axis.annotate("", place[number], (place[name][0] + _WIDTH, place[name][1]), arrowprops=arrow)
    for number, (title, _) in needs.items():
        x, y = place[number]
        axis.add_patch(Rectangle((x, y - 0.38), _WIDTH, 0.76, fc=PAPER, ec=COLOURS["blue"], zorder=2))
        axis.text(x + 0.03, y, fill(f"{number} · {title}", 21), va="center", fontsize=8.5)
    axis.set(xlim=(-0.02, max(x for x, _ in place.values()) + 1), ylim=(rows + 0.5, -0.5))
    axis.axis("off")
    return figure


def arrows(needs: Mapping[str, tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Number → the chapters that it asks for, without those that one of these asks for already."""
    every: dict[str, set[str]] = {}
    for number, (_, before) in needs.items():
        every[number] = set(before).union(*(every[name] for name in before))
    return {
        number: [name for name in before if not any(name in every[other] for other in before)]
        for number, (_, before) in needs.items()
    }
