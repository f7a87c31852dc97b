"""Starts of stitches and the lines between them, as recorded for chapter 3b: a figure and facts."""

from functools import partial
from math import ceil
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures import matching as drawn
from intertwine_book.results import on_record

record = partial(on_record, "03b_matching")


def barriers() -> pd.DataFrame:
    """Lines between stitches from random starts by layer: barrier and both ends in percent."""
    walls = record("experiment_6").query("start == 'random'").set_index("layer1").sort_index()
    return walls.assign(**{name: 100 * walls[name] for name in ("one", "two", "barrier")})


def between() -> Figure:
    """Lines between two stitches of one pair, from either start, by layer."""
    longer = record("longer_paths").assign(start="random, longer training")
    curves = pd.concat([record("paths"), longer]).assign(
        y=lambda path: 100 * path["relative_accuracy"],
        line=lambda path: path["pair"].astype(str) + ", " + path["path"].astype(str),
    )
    words: dict[str, Any] = {"xlabel": "place λ on the line, cut before the ReLU", "marker": ""}
    return drawn.by_start(curves, "fraction", trial="line", means=False, **words)


def facts() -> dict[str, Any]:
    """What sentences say of starts and lines: numbers of them, and percent of model 2's accuracy."""
    ends, walls = record("experiment_5"), barriers()
    fitted = ends.groupby(["pair", "layer1"])["least_squares"]
    early, later = walls.loc[["bn1", "bn2", "bn3"]], walls.loc[["bn6", "bn7", "bn8"]]
    good = early[early["kept"]]
    first = "layer1 in ['bn1', 'bn2', 'bn3']"  # where starts were trained for longer
    longer, lasting = record("experiment_5_longer").query(first), record("experiment_6_longer").query(first)
    before = ends[ends["pair"].isin(longer["pair"]) & ends["layer1"].isin(longer["layer1"])]
    lasting = lasting.query("start == 'random' and kept")
    fit = record("matching").query("stitch == 'least squares'").set_index(["pair", "layer1"])
    behind = ends.join(fit["relative_accuracy"], on=["pair", "layer1"])
    return {
        "start-pairs": ends["pair"].nunique(),
        "starts": len(ends),
        "alike": (ends["same_order"] == 1).sum(),
        "below-fit": (behind["random"] < behind["relative_accuracy"]).sum(),
        "fitted-apart": 0.1 * ceil(1000 * (fitted.max() - fitted.min()).max()),  # an upper bound
        "flat": later["barrier"].max(),
        "longer-pairs": longer["pair"].nunique(),
        "longer-starts": len(longer),
        "longer-alike": (longer["same_order"] == 1).sum(),
        "shorter-alike": (before["same_order"] == 1).sum(),
        "longer-lowest": 100 * longer["random"].min(),
        "longer-lines": len(lasting),
        "longer-walls": (lasting["points"] > 5).sum(),
        **{"early": len(early), "early-good": len(good), "early-walls": (good["barrier"] > 5).sum()},
    }
