"""Figures of dissection: the pixels that units select, and the highest IoU that an area allows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine.data import Masks
from intertwine.dissection import Example
from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def gallery(pictures: np.ndarray, masks: Masks, bases: Mapping[str, Sequence[Example]]) -> Figure:
    """One row a unit, a block of columns a basis: images in which it selects most, other pixels dimmed.

    The outline is that of the unit's best concept.

    Args:
        pictures: (n, height, width, 3), intensities between 0 and 1.
        masks: of the same images.
        bases: by name, what `intertwine.dissection.examples` gives for the same units.
    """
    rows, columns = len(next(iter(bases.values()))), [len(each[0].images) for each in bases.values()]
    figure, axes = new_figure(rows, sum(columns), height=1.2 * rows + 0.3, squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for block, (name, examples) in enumerate(bases.items()):
        for row, each in zip(axes[:, sum(columns[:block]) :], examples, strict=True):
            concept = masks.names.index(each.concept)
            for axis, k, selected in zip(row, each.images, each.selected.numpy(force=True), strict=False):
                dimmed = np.where(selected[..., None], pictures[k], 0.2 * pictures[k] + 0.75)
                axis.imshow(dimmed.clip(0, 1), interpolation="nearest")
                shown = masks.table[masks.codes[k].long(), concept].numpy(force=True)
                if shown.any() and not shown.all():
                    axis.contour(shown, levels=[0.5], colors=[COLOURS["red"]], linewidths=1.2)
            title = f"{name}: {each.concept}, {100 * each.iou:.1f} %"
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
