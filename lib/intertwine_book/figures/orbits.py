"""Figures of orbits: the loss and its derivatives along one, and the effect of weight decay."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def imbalance_decay(table: pd.DataFrame) -> Figure:
    """Imbalance during training, on a logarithmic scale, with the line that theory predicts for each decay.

    Args:
        table: columns `weight_decay`, `time` (learning rate times steps), `imbalance` (relative to the start)
            and `predicted`.
    """
    check_columns(table, "weight_decay", "time", "imbalance", "predicted")
    figure, axis = new_figure(height=3.0)
    colours = [COLOURS[name] for name in ("green", "blue", "red", "orange")]
    styles = zip(itertools.cycle(colours), itertools.cycle("osd^"), strict=False)
    for (decay, rows), (colour, marker) in zip(table.groupby("weight_decay"), styles, strict=False):
        axis.plot(rows["time"], rows["predicted"], color=colour, lw=1.2)
        axis.plot(rows["time"], rows["imbalance"], marker, ms=5, color=colour, label=f"λ = {decay:g}")
    axis.set_yscale("log")
    lowest = np.floor(np.log10(table[["imbalance", "predicted"]].to_numpy().min()))
    axis.set_ylim(10.0 ** min(lowest, -1), 3)
    axis.set(xlabel="time (learning rate × steps)", ylabel="imbalance, relative to the start")
    axis.legend(title="weight decay")
    return figure


def along_orbit(table: pd.DataFrame) -> Figure:
    """Loss, gradient norm and curvature along a one-parameter orbit, each relative to its value at t = 0.

    Args:
        table: columns `t`, `loss`, `gradient_norm`, `largest_eigenvalue`.
    """
    check_columns(table, "t", "loss", "gradient_norm", "largest_eigenvalue")
    figure, axis = new_figure(height=3.2)
    centre = table.iloc[table["t"].abs().argmin()]
    curves = {
        "loss": ("loss", "green", "o"),
        "gradient_norm": ("norm of the gradient", "blue", "s"),
        "largest_eigenvalue": ("largest eigenvalue of the Hessian", "red", "d"),
    }
    for column, (label, colour, marker) in curves.items():
        relative = table[column] / centre[column]
        axis.plot(table["t"], relative, marker=marker, ms=4, color=COLOURS[colour], label=label)
    axis.set_yscale("log")
    axis.set(xlabel="position t on the orbit", ylabel="relative to t = 0")
    axis.legend()
    return figure
