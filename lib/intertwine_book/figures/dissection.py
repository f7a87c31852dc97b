"""Figures of dissection: what is compared, the pixels that units select, and when a unit counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure, picture_in

if TYPE_CHECKING:  # slow to import
    from intertwine.data import Masks
    from intertwine.dissection import Example


def gallery(pictures: np.ndarray, masks: Masks, bases: Mapping[str, Sequence[Example]]) -> Figure:
    """One row a unit, a block of columns a basis: images in which it selects most, other pixels dimmed.

    The outline is that of the unit's best concept; `bases` are what `intertwine.dissection.examples` gives
    for the same units, by name.
    """
    rows, columns = len(next(iter(bases.values()))), [len(each[0].images) for each in bases.values()]
    ratios = [ratio for k in columns for ratio in (*k * [1.0], 0.2)][:-1]  # a gap between two blocks
    height, widths = 1.2 * rows + 0.3, {"width_ratios": ratios}
    figure, axes = new_figure(rows, len(ratios), height=height, squeeze=False, gridspec_kw=widths)
    for axis in axes.flat:
        axis.axis("off")
    for axis in axes[:, np.array(ratios) < 1].flat:
        axis.remove()
    for block, (name, examples) in enumerate(bases.items()):
        for row, each in zip(axes[:, sum(columns[:block]) + block :], examples, strict=True):
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


def counting(table: pd.DataFrame, *, quantile: float, threshold: float) -> Figure:
    """How many of its pixels a unit must place in a concept to count, against the area of the concept.

    A unit that selects a share q of the pixels, a share p of them in a concept of area a (a share of the
    pixels), has an IoU of pq/(q + a − pq). It is above the threshold t from p = t(q + a)/(q(1 + t)) on.
    """
    check_columns(table, "concept", "area")

    def needed(area: np.ndarray) -> np.ndarray:
        return np.asarray(threshold * (quantile + area) / (quantile * (1 + threshold)))

    largest, (low, high) = quantile / threshold, (0.001, 0.6)
    figure, axis = new_figure(height=3.1)
    at = np.geomspace(low, largest, 100)
    most = 100 * (at / quantile).clip(max=1)  # a concept smaller than the selection cannot hold all of it
    axis.fill_between(100 * at, 100 * needed(at), most, color=COLOURS["green"], alpha=0.2, lw=0)
    axis.axvspan(100 * largest, 100 * high, color=COLOURS["red"], alpha=0.15, lw=0)
    axis.plot(100 * at, 100 * needed(at), color=COLOURS["green"], lw=2)
    axis.text(0.6, 60, "counts: more of its pixels\nin the concept add nothing", color=COLOURS["green"])
    axis.text(14, 6, "never\ncounts", color=COLOURS["red"])
    table = table.sort_values("area")
    close = (table["area"].pct_change() > 0.25).cumsum()  # share a label
    for _, group in table.groupby(close):
        areas = group["area"].to_numpy()
        colour = COLOURS["ink" if areas[0] < largest else "red"]
        heights = 100 * needed(areas).clip(max=1)
        axis.scatter(100 * areas, heights, s=22, color=colour, zorder=3, clip_on=False)
        label, end = ", ".join(group["concept"]), (100 * areas[-1], heights[-1])
        place: dict[str, Any] = {"textcoords": "offset points", "color": colour}
        if areas[0] > largest:
            axis.annotate(label, end, (0, -6), ha="center", va="top", rotation=90, **place)
        elif len(group) > 2:
            axis.annotate(label, end, (4, -3), ha="left", va="top", **place)
        else:
            for name, *dot in zip(group["concept"], 100 * areas, heights, strict=True):
                axis.annotate(name, dot, (-4, 3), ha="right", va="bottom", **place)
    axis.set(xscale="log", xlim=(100 * low, 100 * high), ylim=(0, 100), xlabel="area of the concept, %")
    axis.set(ylabel="share of the unit's pixels\ninside the concept, %", xticks=(ticks := [0.1, 1, 10]))
    axis.set_xticklabels([f"{tick:g}" for tick in ticks])
    return figure


def dissection_steps(
    picture: np.ndarray, values: np.ndarray, selected: np.ndarray, mask: np.ndarray
) -> Figure:
    """One unit and one image: what is thresholded, and what is compared with the concept's mask.

    The unit's map of values is coarser than the picture; it selects the pixels where it is above the unit's
    level.
    """
    figure, axes = new_figure(1, 5, height=1.7)
    both = np.stack([selected & mask, selected ^ mask], -1)
    overlap = np.full((*mask.shape, 3), 0.93)
    overlap[both[..., 0]], overlap[both[..., 1]] = (0.0, 0.62, 0.45), (0.9, 0.62, 0.0)
    parts = {"image": picture, "map of a unit": values, "above its level": selected}
    parts |= {"concept": mask, "overlap": overlap}
    for axis, (title, shown) in zip(axes, parts.items(), strict=True):
        shades = "cividis" if title == "map of a unit" else "Greys"
        picture_in(axis, shown, title, cmap=shades, interpolation="nearest")
    return figure
