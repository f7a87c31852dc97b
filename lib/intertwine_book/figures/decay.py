"""The effect of weight decay: how fast training forgets the imbalance of its start."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def imbalance_decay(table: pd.DataFrame) -> Figure:
    """Imbalance during training, on a logarithmic scale, with the line that theory predicts for each decay.

    Columns `weight_decay`, `time` (learning rate times steps), `imbalance` (relative to the start),
    `predicted`.
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
