"""Names beside curves, moved apart where they would overlap."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from intertwine_book.figures.style import in_mathematics


def name_curves(axis: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names on the right of the axes, each at the height of its curve's end, without overlaps.

    The limits of the axes are set before; `ends` are name → value where the curve ends, and colour.
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
    order, places = np.argsort(heights, kind="stable"), gap * np.arange(len(heights))
    found = np.empty(len(heights))
    found[order] = isotonic_regression(np.asarray(heights, float)[order] - places).x + places
    return [float(round(value, 12)) for value in found]
