"""What the recorded runs say of chapter 1d on places of an orbit: figures, tables and facts."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.style import COLOURS
from intertwine_book.results import on_record
from intertwine_book.stories.told import span

record = partial(on_record, "01d_orbits")

NETWORK_COLOURS = {
    "as trained": COLOURS["ink"],
    "rotated": COLOURS["orange"],  # as orthogonal matrices are everywhere
    "principal axes": COLOURS["pink"],
}
"""Places of an orbit of transformers, and their colours."""
CHANCE = 100 * 12 / 112
"""Units that are right by chance, percent: a ResNet-20 of width 4 has 112 of them in 12 hidden spaces."""


def rounding() -> Figure:
    """Where one channel is an outlier, rounding costs less after a rotation."""
    table = record("rotated")
    table["network"] = table["outlier"].map({True: "one outlier", False: "no outlier"})
    return _errors(table, NETWORK_COLOURS, panels="network")


def equalising() -> Figure:
    """Equalising repairs a random scaling of channels."""
    grey, blue = COLOURS["grey"], COLOURS["blue"]
    colours = {"as trained": NETWORK_COLOURS["as trained"], "scaled at random": grey, "equalised": blue}
    return _errors(record("equalised"), colours)


def _errors(table: pd.DataFrame, colours: Mapping[str, str], panels: str | None = None) -> Figure:
    ylabel = "error of the logits, %"
    return mean_curves(table, "bits", "error", "way", panels=panels, ylabel=ylabel, colours=colours, log=True)


def noise() -> Figure:
    """Matching by weights finds most units through much noise, matching by activations does not."""
    table, xlabel = record("noise").astype({"noise": str}), "noise, standard deviations"
    ylabel = "units assigned correctly, %"
    return mean_curves(table, "noise", "units", "by", xlabel=xlabel, ylabel=ylabel, level=CHANCE)


def rotated(values: str = "error") -> pd.DataFrame:
    """Mean error or accuracy, percent: a row for outlier and bits, a column for each place of the orbit."""
    return record("rotated").pivot_table(index=["outlier", "bits"], columns="way", values=values)


def right() -> dict[str, dict[int, tuple[float, float]]]:
    """Recorded mean accuracies, percent, as trained and rotated, by the kind of network and the bits.

    Example:
        >>> plain, turned = right()["with an outlier"][3]
        >>> turned > plain
        True
    """
    words, means = {True: "with an outlier", False: "without one"}, rotated("accuracy")
    pairs = means[["as trained", "rotated"]].itertuples()
    found: dict[str, dict[int, tuple[float, float]]] = {word: {} for word in words.values()}
    for (outlier, bits), plain, turned in pairs:
        found[words[outlier]][int(bits)] = (plain, turned)
    return found


def won() -> pd.Series:
    """How many times smaller a rotation makes the error, by outlier, bits and trial."""
    errors = record("rotated").pivot(index=["outlier", "bits", "trial"], columns="way", values="error")
    return errors["as trained"] / errors["rotated"]


def equalised() -> pd.DataFrame:
    """Errors of the logits, percent: a row for bits and trial, a column for each scaling of channels."""
    return record("equalised").pivot(index=["bits", "trial"], columns="way", values="error")


def between(fraction: float) -> pd.DataFrame:
    """Mean accuracy, percent, so far on the line: a row for each way, a column for each batch norm."""
    there = record("merged").query("fraction == @fraction")
    return 100 * there.pivot_table(index="way", columns="batch_norm", values="accuracy")


def of_slices(sliced: pd.DataFrame) -> dict[str, float]:
    """The accuracies with 16, 24 and 32 channels, from a table of way, channels and accuracy (percent)."""
    some = sliced[sliced["channels"].isin([16, 24, 32])]
    return {
        f"slice-{way.split()[-1]}-{kept}": right
        for way, kept, right in zip(some["way"], some["channels"], some["accuracy"], strict=True)
    }


def facts() -> dict[str, Any]:
    """The numbers in sentences about recorded runs.

    Example:
        >>> f"{facts()['won']:.1f} times smaller with an outlier"
        '1.7 times smaller with an outlier'
    """
    units = record("noise").pivot(index="noise", columns="by", values="units")
    found = {"noise-found": units["weights"].iloc[-1], "noise-activations": units.loc[1.0, "activations"]}
    return _of_rounding() | _of_equalising() | _of_merging() | found


def _of_rounding() -> dict[str, Any]:
    error, right = (rotated(each).loc[True] for each in ("error", "accuracy"))
    factor, without = (error["as trained"] / error["rotated"]).mean(), rotated().loc[False]
    return {
        "won": factor,
        "won-bits": np.mean(
            [_bits_that_would_do_it(one) for _, one in record("rotated").query("outlier").groupby("trial")]
        ),
        **span(none=100 * (without["rotated"] / without["as trained"] - 1).loc[4:]),
        "right-before": right.loc[3, "as trained"],
        "right-after": right.loc[3, "rotated"],
        "right-exact": right.loc[8].mean(),
        "right-four-before": right.loc[4, "as trained"],
        "right-four-after": right.loc[4, "rotated"],
    }


def _bits_that_would_do_it(network: pd.DataFrame) -> float:
    """How many more bits give the network as trained the errors that a rotation gives it, on average."""
    errors = np.log(network.pivot(index="bits", columns="way", values="error"))
    found = np.interp(-errors["rotated"], -errors["as trained"], errors.index, right=np.nan)
    return float(np.nanmean(found - errors.index))


def _of_equalising() -> dict[str, Any]:
    means = equalised().groupby("bits").mean()
    less = 100 * (1 - means["equalised"] / means["as trained"])
    ways = {"trained": "as trained", "scaled": "scaled at random", "even": "equalised"}
    four = {f"equal-{name}": means.loc[4, way] for name, way in ways.items()}
    return {"equal-least": less.min(), "equal-most": less.max(), **four}


def _of_merging() -> dict[str, Any]:
    half, ends = between(0.5), between(0.0)
    found = {"merge-end": ends["re-estimated"].mean()}
    for way in ("as trained", "matched"):
        for norm in ("interpolated", "re-estimated"):
            found[f"half-{way.split()[-1]}-{norm.split('-')[-1]}"] = half.loc[way, norm]
    return found
