"""The book's figure style: vector graphics on no background, in colours that everyone can tell apart."""

import sys
from collections.abc import Mapping
from itertools import zip_longest
from math import ceil
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colour-blind safe palette, without its yellow, which is unreadable on white
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "sky": "#56B4E9",
    "pink": "#CC79A7",
    "grey": "#7A7A7A",
    "ink": "#222222",
}
PAPER = "#fdfdfd"  # of labels and empty shapes; pages turn ink and paper round in the dark

# a group has the same colour in every chapter
GROUP_COLOURS = {
    "permutations": COLOURS["sky"],
    "signed permutations": COLOURS["pink"],
    "G_ReLU": COLOURS["blue"],
    "nonzero monomial": COLOURS["green"],
    "orthogonal": COLOURS["orange"],
    "general linear": COLOURS["red"],
    "none": COLOURS["grey"],
}


def use_style() -> None:
    """Set matplotlib's and pandas' defaults for a chapter, and vector output in a notebook."""
    pd.set_option("display.float_format", "{:.3g}".format, "display.max_colwidth", None)

    order = ("blue", "orange", "green", "red", "sky", "pink", "grey")
    ink = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
    ground = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    settings: dict[Any, Any] = dict.fromkeys(ink, COLOURS["ink"]) | dict.fromkeys(ground, "none")
    settings |= {
        "axes.grid": True,
        "axes.prop_cycle": cycler(color=[COLOURS[name] for name in order]),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": "medium",
        "figure.constrained_layout.use": True,
        "font.size": 10,
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "svg.fonttype": "none",  # words stay words: a page sets them in its own font
        "svg.hashsalt": "intertwine",  # the same figure gives the same file
    }
    mpl.rcParams.update(settings)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ModuleNotFoundError:  # outside notebooks there is nothing to set
        return
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        set_matplotlib_formats("svg", metadata={"Date": None})


def new_figure(*grid: int, width: float = 5.8, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure of `grid` axes, in inches, that a notebook shows once: as the last value of its cell."""
    figure, axes = plt.subplots(*grid, figsize=(width, height), **options)
    plt.close(figure)  # pyplot would show it a second time
    return figure, axes


def facets(
    table: pd.DataFrame,
    by: str | None,
    *columns: str,
    height: float,
    across: int | None = None,
    **options: Any,
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Panels, one for each value of the column `by`, with the rows of the table that belong to it.

    Example:
        >>> table = pd.DataFrame({"run": ["quick", "desk", "desk"], "x": [1, 2, 3]})
        >>> figure, parts = facets(table, "run", "x", height=2.0)
        >>> [(axis.get_title(), len(rows)) for axis, rows in parts]
        [('quick', 1), ('desk', 2)]

    The values of `by`, in order of appearance, are the titles; with None there is one panel without a title.
    The table has the other `columns` that the figure needs, too. The height is that of a row of panels, in
    inches; `across` are panels in a row, all of them when not given.
    """
    check_columns(table, by, *columns)
    names = [None] if by is None else list(dict.fromkeys(table[by]))
    across = min(across or len(names), len(names))
    lines = ceil(len(names) / across)
    figure, axes = new_figure(lines, across, height=height * lines, squeeze=False, **options)
    parts = []
    for axis, name in zip_longest(axes.flat, names):
        axis.set_title("" if name is None else in_mathematics(str(name)))
        parts.append((axis, table if by is None else table[table[by] == name]))
    for axis, _ in parts[len(names) :]:
        axis.axis("off")
    return figure, parts[: len(names)]


def picture_in(axis: Axes, picture: Any, title: str = "", **options: Any) -> None:
    """Show an image with a title, and without ticks and a grid; options are those of `imshow`."""
    axis.imshow(picture, **options)
    axis.set(xticks=[], yticks=[], title=title)
    axis.grid(visible=False)


def in_mathematics(name: str) -> str:
    """A name as figures show it.

    Example:
        >>> in_mathematics("G_ReLU-CKA")
        '$G_{\\\\mathrm{ReLU}}$-CKA'
    """
    return name.replace("G_ReLU", "$G_{\\mathrm{ReLU}}$")


Level = float | Mapping[str, float] | None
"""Height of a dotted line: in all panels, in those with these titles, or none."""


def dotted(axis: Axes, level: Level) -> None:
    """Draw a dotted line for reference."""
    height = level.get(axis.get_title()) if isinstance(level, Mapping) else level
    if height is not None:
        axis.axhline(height, color=COLOURS["ink"], lw=0.8, ls=":")


def check_columns(table: pd.DataFrame, *columns: str | None) -> None:
    """Raise a ValueError that names the columns that the table lacks; None stands for no column."""
    missing = [name for name in columns if name is not None and name not in table]
    if missing:
        raise ValueError(
            f"Expected a table with the columns {', '.join(map(repr, missing))}, was given one with "
            f"{', '.join(map(repr, table.columns))}: rename the columns of your table."
        )
