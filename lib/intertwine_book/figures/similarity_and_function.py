"""Similarity and function drawn: what an index ignores, and accuracy beside CKA along a training."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.style import COLOURS

STACKED: dict[str, Any] = {"xlabel": "epoch of the stitch, after the ReLU", "panels": "of"}
STACKED |= {"across": 1, "height": 2.3, "marker": ""}
"""Of two panels of curves, one above the other."""


def clouds(cloud: Any, stretched: Any, shuffled: Any, label: Any) -> Figure:
    """Three sets of points whose first coordinate the task ignores and whose second it reads."""
    titles = ("a cloud", "stretched:\nCKA 0.6, all right", "shuffled:\nCKA 1.0, half right")
    points = [
        pd.DataFrame(np.asarray(each)[:, :2], columns=["x", "y"]).assign(label=label, of=title)
        for title, each in zip(titles, (cloud, stretched, shuffled), strict=True)
    ]
    found = pd.concat(points).replace({"label": {True: "one answer", False: "the other"}})
    colours = {"one answer": COLOURS["blue"], "the other": COLOURS["orange"]}
    words: dict[str, Any] = {"xlabel": "ignored by the task", "ylabel": "read by the task", "panels": "of"}
    return scatter(found, "x", "y", "label", colours=colours, **words)


def live(curves_3: pd.DataFrame, curves_4: pd.DataFrame) -> Figure:
    """Experiments 3 and 4 in a run of one's own."""
    named = curves_4["weight"].eq(0).map({True: "control", False: "pressed"})
    colours = {"task": COLOURS["green"], "control": COLOURS["grey"], "pressed": COLOURS["red"]}
    return accuracy_and_cka(pd.concat([curves_3.assign(name="task"), curves_4.assign(name=named)]), colours)


def accuracy_and_cka(curves: pd.DataFrame, colours: Mapping[str, str], **options: Any) -> Figure:
    """Accuracy above and CKA below against the epoch: columns name, pair, epoch, accuracy and cka."""
    curves = curves.rename(columns={"accuracy": "accuracy, %", "cka": "CKA"})
    curves = curves.melt(["pair", "name", "epoch"], ["accuracy, %", "CKA"], "of")
    return single_curves(curves, "epoch", "value", "name", "pair", colours=colours, **STACKED, **options)
