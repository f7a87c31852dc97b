"""Names beside curves, moved apart where they would overlap."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from intertwine_book.figures.style import in_mathematics


def name_curves(axis: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names on the right of the axes, each at the height of its curve's end, without overlaps.

    Args:
        ends: name → value where the curve ends, and colour; the limits of the axes are set before.
    """
    inches = axis.get_window_extent().height / axis.figure.dpi
    axis.get_ylim()  # which matplotlib brings up to date only when it is asked
    scaled = axis.transScale + axis.transLimits  # from values to fractions of the height
    heights = [scaled.transform((1.0, value))[1] for value, _ in ends.values()]
    for (name, (_, colour)), height in zip(ends.items(), apart(heights, 0.17 / inches), strict=True):
        place = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False}
        axis.annotate(in_mathematics(name), (1.02, height), color=colour, **place)  # type: ignore[arg-type]


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, moved as little as needed until any two are `gap` apart.

    Example:
        >>> apart([0.0, 1.0, 1.1], 0.5)
        [0.0, 0.8, 1.3]
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []  # of labels that touch: their heights less their place in the group
    for height in np.asarray(heights, float)[order]:
        groups.append([height])
        while len(groups) > 1:
            one, two = groups[-2:]
            if np.mean(two) - gap * (len(two) - 1) / 2 - np.mean(one) - gap * (len(one) - 1) / 2 >= gap:
                break
            groups[-2:] = [one + two]
    placed = [np.mean(g) + gap * (k - (len(g) - 1) / 2) for g in groups for k in range(len(g))]
    found = np.empty(len(placed))
    found[order] = placed
    return [float(round(value, 12)) for value in found]
