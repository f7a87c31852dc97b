"""What needs what: the chapters as boxes, an arrow from each to those that ask for it, or as a tree."""

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


def chapter_tree(needs: Mapping[str, tuple[str, list[str]]]) -> Figure:
    """The same for a telephone: a line for each chapter, under the last one that it asks for."""
    order = list(needs)
    before = {name: sorted(found, key=order.index) for name, found in arrows(needs).items()}
    rows: list[tuple[str, int, int]] = []  # number, depth, row of the chapter above

    def enter(number: str, depth: int, above: int) -> None:
        rows.append((number, depth, above))
        here = len(rows) - 1
        for name, found in before.items():
            if found[-1:] == [number]:
                enter(name, depth + 1, here)

    enter(order[0], 0, 0)
    figure, axis = new_figure(width=3.7, height=0.36 * len(rows))
    for y, (number, depth, above) in enumerate(rows):
        others = "".join(f" (and {name})" for name in before[number][:-1])
        axis.text(depth + 0.1, y, fill(f"{number} · {needs[number][0]}{others}", 48 - 4 * depth), va="center")
        if y:
            axis.plot([depth - 0.6, depth - 0.6, depth], [above + 0.4, y, y], color=COLOURS["grey"])
    axis.set(xlim=(-0.1, 9), ylim=(len(rows) - 0.5, -0.5))
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
