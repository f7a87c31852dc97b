"""Figures of chapter 5: the pixels that units select, what they can reach, and what rotations cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from intertwine_book.figures.style import COLOURS, new_figure
from intertwine_book.results import interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def gallery(pictures: np.ndarray, chosen: Sequence[Any]) -> Figure:
    """One row a unit: the images in which it selects most, everything but the selected pixels dimmed.

    Args:
        pictures: (n, height, width, 3), intensities between 0 and 1.
        chosen: what `intertwine.dissection.examples` returns: unit, concept, iou, images, selected.
    """
    columns = max(len(each.images) for each in chosen)
    figure, axes = new_figure(len(chosen), columns, height=1.15 * len(chosen), squeeze=False)
    for row, each in zip(axes, chosen, strict=True):
        for axis in row:
            axis.axis("off")
        for axis, k, selected in zip(
            row, each.images.tolist(), each.selected.numpy(force=True), strict=False
        ):
            dimmed = np.where(selected[..., None], pictures[k], 0.25 * pictures[k] + 0.7)
            axis.imshow(dimmed.clip(0, 1), interpolation="nearest")
            if selected.any() and not selected.all():
                axis.contour(selected, levels=[0.5], colors=[COLOURS["ink"]], linewidths=0.8)
        title = f"unit {each.unit}: {each.concept}, IoU {each.iou:.3f}"
        row[0].set_title(title, loc="left", fontsize="small")
    return figure


def ceilings(table: pd.DataFrame, quantiles: Sequence[float], threshold: float) -> Figure:
    """The most that a unit can reach with a concept, against the concept's area, for some quantiles.

    Args:
        table: columns `concept`, `area` (share of the pixels) and `dataset`, one row a concept.
        quantiles: q, one curve min(q, a)/max(q, a) each.
        threshold: of the IoU, a horizontal line.
    """
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
    axis.set(
        xscale="log", yscale="log", xlabel="area of the concept, share of the pixels", ylabel="highest IoU"
    )
    axis.legend(fontsize="small", ncols=2)
    return figure


def forest(table: pd.DataFrame, y: str, x: str, *, panels: str | None = None, xlabel: str) -> Figure:
    """Mean and 95 % t-interval of `x` for each value of `y`, with every trial as a dot and a line at 0.

    Args:
        table: one row a trial, with the columns `x`, `y` and `panels`.
        panels: the column whose values get a panel each.
        xlabel: what is shown, and what its sign means.
    """
    names = list(dict.fromkeys(table[panels])) if panels else [None]
    rows = list(dict.fromkeys(table[y]))
    figure, axes = new_figure(
        1, len(names), height=0.42 * len(rows) + 1.1, squeeze=False, sharex=True, sharey=True
    )
    for axis, name in zip(axes[0], names, strict=True):
        shown = table if name is None else table[table[panels] == name]
        for place, row in enumerate(rows):
            values = shown.loc[shown[y] == row, x]
            if values.empty:
                continue
            axis.scatter(values, np.full(len(values), place + 0.2), s=10, color=COLOURS["grey"], alpha=0.7)
            axis.plot(values.mean(), place - 0.1, "o", color=COLOURS["blue"])
            if len(values) > 1:
                axis.hlines(place - 0.1, *interval(values), color=COLOURS["blue"])
        axis.axvline(0, color=COLOURS["ink"], lw=0.8)
        axis.set_yticks(range(len(rows)), [str(row) for row in rows])
        axis.set_title("" if name is None else str(name))
        axis.grid(axis="y", visible=False)
    axes[0][0].set_ylim(len(rows) - 0.5, -0.5)
    figure.supxlabel(xlabel, fontsize="medium")
    return figure


def threshold_sweep(table: pd.DataFrame, paper: tuple[float, float] = (0.005, 0.04)) -> Figure:
    """Means over quantile and threshold: a row of panels for each `shown`, a column for each model.

    Args:
        table: columns `shown` (what the number is), `model`, `quantile`, `threshold` and `value`.
        paper: the printed quantile and threshold, framed.
    """
    rows, models = (list(dict.fromkeys(table[name])) for name in ("shown", "model"))
    figure, axes = new_figure(
        len(rows), len(models), height=1.9 * len(rows), squeeze=False, sharex=True, sharey=True
    )
    for line, what in zip(axes, rows, strict=True):
        of_row = table[table["shown"] == what]
        means = of_row.groupby(["model", "quantile", "threshold"])["value"].mean()
        bound = means.abs().max() or 1.0
        signed = bool((means < 0).any())
        colours = {"cmap": "PuOr" if signed else "cividis", "vmin": -bound if signed else 0, "vmax": bound}
        for axis, model in zip(line, models, strict=True):
            wide = means[model].unstack("threshold")
            image = axis.imshow(wide.to_numpy(), aspect="auto", **colours)
            for (i, j), value in np.ndenumerate(wide.to_numpy()):
                r, g, b, _ = image.cmap(image.norm(value))
                ink = "k" if 0.3 * r + 0.59 * g + 0.11 * b > 0.5 else "w"
                axis.text(j, i, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=7)
                if np.allclose((wide.index[i], wide.columns[j]), paper):
                    axis.add_patch(_frame(j, i))
            axis.set_xticks(range(wide.shape[1]), [f"{level:g}" for level in wide.columns], fontsize=7)
            axis.set_yticks(range(len(wide)), [f"{q:g}" for q in wide.index], fontsize=7)
            axis.grid(visible=False)
            axis.set_title(f"{model}\n{what}" if len(rows) > 1 else model, fontsize="small")
    figure.supxlabel("threshold of the IoU", fontsize="medium")
    figure.supylabel("quantile", fontsize="medium")
    return figure


def _frame(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, fill=False, lw=2, ec=COLOURS["red"])
