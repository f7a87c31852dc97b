"""Figures of groups: the scalars that commute with an activation."""

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def scalar_strip(table: pd.DataFrame) -> Figure:
    """A row of cells for each activation: dark where σ(ax) is a multiple of σ(x).

    Args:
        table: columns `activation`, `a` (the same values for each), `residual` (relative).
    """
    check_columns(table, "activation", "a", "residual")
    wide = table.pivot_table(index="activation", columns="a", values="residual", sort=False)
    wide = wide.sort_index(axis=1)
    logs = np.log10(wide.to_numpy().clip(1e-12, 1.0))
    shades = LinearSegmentedColormap.from_list("residual", [COLOURS["blue"], "#9fc9e4", "#e9eef2"])
    figure, axis = new_figure(height=0.34 * len(wide) + 0.9)
    # cells of equal width: a group may be a single number
    mesh = axis.pcolormesh(logs, cmap=shades, vmin=-12, vmax=0, edgecolors="white", linewidth=0.3)
    axis.invert_yaxis()
    axis.grid(False)
    axis.set_yticks(np.arange(len(wide)) + 0.5, list(wide.index))
    values = wide.columns.to_numpy()
    ticks = [int(np.abs(values - a).argmin()) for a in (-20.0, -1.0, -0.05, 0.05, 1.0, 20.0)]
    axis.set_xticks(np.array(ticks) + 0.5, ["−20", "−1", "−1/20", "1/20", "1", "20"])
    axis.axvline(int((values < 0).sum()), color=COLOURS["ink"], lw=1)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel("a")
    figure.colorbar(mesh, label="residual, power of ten", ticks=[-12, -8, -4, 0], pad=0.01)
    return figure
