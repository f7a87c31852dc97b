"""Figures of groups: which scalars an activation forgives, and what stays along an orbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intertwine_book.figures.style import COLOURS, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def scalar_strip(table: pd.DataFrame) -> Figure:
    """A row of cells for each activation: dark where σ(ax) is a multiple of σ(x).

    Args:
        table: columns `activation`, `a` (the same values for each), `residual` (relative).
    """
    from matplotlib.colors import LinearSegmentedColormap

    wide = table.pivot_table(index="activation", columns="a", values="residual", sort=False).sort_index(
        axis=1
    )
    logs = np.log10(wide.to_numpy().clip(1e-12, 1.0))
    shades = LinearSegmentedColormap.from_list("forgiven", [COLOURS["blue"], "#9fc9e4", "#e9eef2"])
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


def along_orbit(table: pd.DataFrame) -> Figure:
    """Loss, gradient norm and curvature along a one-parameter orbit, each relative to its value at t = 0.

    Args:
        table: columns `t`, `loss`, `gradient_norm`, `largest_eigenvalue`.
    """
    figure, axis = new_figure(height=3.2)
    centre = table.iloc[table["t"].abs().argmin()]
    curves = {"loss": "green", "gradient_norm": "blue", "largest_eigenvalue": "red"}
    names = {
        "loss": "loss",
        "gradient_norm": "norm of the gradient",
        "largest_eigenvalue": "largest eigenvalue of the Hessian",
    }
    for (column, colour), marker in zip(curves.items(), "osd", strict=True):
        relative = table[column] / centre[column]
        axis.plot(table["t"], relative, marker=marker, ms=4, color=COLOURS[colour], label=names[column])
    axis.set_yscale("log")
    axis.set(xlabel="position t on the orbit", ylabel="relative to t = 0")
    axis.legend()
    return figure
