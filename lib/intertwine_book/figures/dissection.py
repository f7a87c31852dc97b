"""Figures of dissection: the pixels that units select, and the highest IoU that an area allows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def gallery(pictures: np.ndarray, chosen: Sequence[Any]) -> Figure:
    """One row a unit: the images in which it selects most, everything but the selected pixels dimmed.

    Args:
        pictures: (n, height, width, 3), intensities between 0 and 1.
        chosen: the value of `intertwine.dissection.examples`: unit, concept, iou, images, selected.
    """
    columns = max(len(each.images) for each in chosen)
    figure, axes = new_figure(len(chosen), columns, height=1.15 * len(chosen), squeeze=False)
    for row, each in zip(axes, chosen, strict=True):
        for axis in row:
            axis.axis("off")
        shown = zip(each.images.tolist(), each.selected.numpy(force=True), strict=True)
        for axis, (k, selected) in zip(row, shown, strict=False):
            dimmed = np.where(selected[..., None], pictures[k], 0.25 * pictures[k] + 0.7)
            axis.imshow(dimmed.clip(0, 1), interpolation="nearest")
            if selected.any() and not selected.all():
                axis.contour(selected, levels=[0.5], colors=[COLOURS["ink"]], linewidths=0.8)
        title = f"unit {each.unit}: {each.concept}, IoU {each.iou:.3f}"
        row[0].set_title(title, loc="left", fontsize="small")
    return figure


def ceilings(table: pd.DataFrame, quantiles: Sequence[float], threshold: float) -> Figure:
    """The highest IoU of a unit with a concept that the concept's area allows, for some quantiles.

    Args:
        table: columns `concept`, `area` (share of the pixels) and `dataset`, one row a concept.
        quantiles: q, one curve min(q, a)/max(q, a) each.
        threshold: of the IoU, a horizontal line.
    """
    check_columns(table, "concept", "area", "dataset")
    figure, axis = new_figure(height=3.0)
    areas = np.geomspace(1e-3, 1, 200)
    colours = [COLOURS[name] for name in ("blue", "orange", "green", "pink")]
    for q, colour in zip(quantiles, colours, strict=False):
        axis.plot(areas, np.minimum(q, areas) / np.maximum(q, areas), color=colour, label=f"q = {q:g}")
        for (name, rows), marker in zip(table.groupby("dataset", sort=False), "os^", strict=False):
            reach = np.minimum(q, rows["area"]) / np.maximum(q, rows["area"])
            label = f"areas: {name}" if q == quantiles[-1] else None
            axis.scatter(rows["area"], reach, s=16, color=colour, marker=marker, label=label)
    axis.axhline(threshold, color=COLOURS["ink"], lw=0.8, ls=":", label=f"threshold {threshold:g}")
    axis.set(xscale="log", yscale="log", ylabel="highest IoU")
    axis.set_xlabel("area of the concept, share of the pixels")
    axis.legend(fontsize="small", ncols=2)
    return figure
