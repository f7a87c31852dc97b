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
    longer = record("longer_paths").assign(start="random, longer")
    curves = pd.concat([record("paths"), longer]).assign(
        y=lambda path: 100 * path["relative_accuracy"],
        line=lambda path: path["pair"].astype(str) + ", " + path["path"].astype(str),
    )
    words: dict[str, Any] = {"xlabel": "place λ on the line, cut before the ReLU", "marker": ""}
    return drawn.by_start(curves, "fraction", trial="line", means=False, **words)


def longer() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Random starts that were trained for longer, and the lines between those whose ends are good."""
    layers = record("longer_paths")["layer1"]
    ends, lines = (record(name) for name in ("experiment_5_longer", "experiment_6_longer"))
    lines = lines[lines["layer1"].isin(layers)].query("start == 'random' and kept")
    return ends[ends["layer1"].isin(layers)], lines.set_index("layer1").sort_index()


def facts() -> dict[str, Any]:
    """What sentences say of starts and lines: numbers of them, and percent of model 2's accuracy."""
    ends, (late, lines) = record("experiment_5"), longer()
    fitted = ends.groupby(["pair", "layer1"])["least_squares"]
    before = ends[ends["pair"].isin(late["pair"]) & ends["layer1"].isin(late["layer1"])]
    fit = record("matching").query("stitch == 'least squares'").set_index(["pair", "layer1"])
    behind = ends.join(fit["relative_accuracy"], on=["pair", "layer1"])
    first = late[late["layer1"] == "bn1"]
    low = first[first["same_order"] == 0]
    walls = {number: lines.loc[f"bn{number}", "points"] for number in (1, 2, 3)}
    return {
        "start-pairs": ends["pair"].nunique(),
        "starts": len(ends),
        "alike": (ends["same_order"] == 1).sum(),
        "below-fit": (behind["random"] < behind["relative_accuracy"]).sum(),
        "fitted-apart": 0.1 * ceil(1000 * (fitted.max() - fitted.min()).max()),  # an upper bound
        "flat": barriers().loc["bn6":, "barrier"].max(),
        "longer-pairs": late["pair"].nunique(),
        "longer-starts": len(late),
        "longer-alike": (late["same_order"] == 1).sum(),
        "shorter-alike": (before["same_order"] == 1).sum(),
        "starts-1": len(first),
        "alike-1": len(first) - len(low),
        "low-1": len(low),
        "low-high": 100 * low["random"].max(),
        "wall-high": lines["points"].max(),
        "flat-5": lines.loc["bn4":, "points"].max(),
        **{f"lines-{number}": len(points) for number, points in walls.items()},
        **{f"walls-{number}": (points > 5).sum() for number, points in walls.items()},
    }
