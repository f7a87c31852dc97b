"""What the recorded rotations cost: printed values, figures and facts of chapter 2."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.penalties import INSERTED_COLOURS
from intertwine_book.figures.readable import readable
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.style import COLOURS, new_figure
from intertwine_book.results import recorded
from intertwine_book.stories import finetuning
from intertwine_book.stories.inserted import GROUP, PAPER_LAYERS, TURNED, WORDS, by_paper, mean, record
from intertwine_book.stories.told import said, span

TITLES = {"relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "abs": "|z|", "identity": "z"}
"""Activations as the text names them, in its order."""
MATRICES = (GROUP, "signed permutations", "nonzero scalings", TURNED)
"""Kinds of matrices as figures and tables name them: as the chapter does, and as they are recorded."""


def by_network() -> pd.DataFrame:
    """The mean penalty in closed form at width 64: a row for each group and layer, a column a network."""
    return by_paper("best_linear_map").pivot_table(
        index=["group", "layer"], columns="number", values="penalty"
    )


def bars(axis: Axes, kinds: Sequence[str]) -> None:
    """What least squares after a ReLU leaves of some kinds of matrices, by convolution, at width 64.

    Dots: networks. Narrow bars in grey: width 16.
    """
    wide, narrow = by_network(), mean("best_linear_map_width_16")
    step = 0.88 / len(kinds)
    for k, group in enumerate(kinds):
        at = [place + step * (k - (len(kinds) - 1) / 2) for place in range(len(WORDS))]
        single = wide.loc[group]
        axis.bar(at, single.mean(axis=1), 0.6 * step, color=INSERTED_COLOURS[group], label=group)
        axis.plot(at, single, ".", color=COLOURS["ink"], markersize=3)
        grey = "width 16" if group == TURNED else None  # once in the legend
        right = [x + 0.4 * step for x in at]
        axis.bar(right, narrow.loc[group], 0.2 * step, color=COLOURS["grey"], alpha=0.5, label=grey)
        for x, (mean_points, top) in zip(at, single.agg(["mean", "max"], axis=1).to_numpy(), strict=True):
            text = f"{mean_points:.1f}" if top else "0"
            axis.text(x, top + 0.7, text, ha="center", fontsize="small")
    axis.set_xticks(range(len(WORDS)), [f"{word} conv." for word in WORDS.values()])
    axis.set(ylabel="accuracy lost, points")
    axis.grid(axis="x", visible=False)
    axis.legend(loc="upper left")


def at_64() -> Figure:
    """The group loses nothing at any layer; an orthogonal matrix loses most at the third convolution."""
    figure, axis = new_figure(height=3.2)
    bars(axis, MATRICES)
    return figure


def by_layer(table: pd.DataFrame) -> pd.DataFrame:
    """The mean penalty after a repair by least squares, by kind of matrix, activation and layer."""
    table = table.assign(layer=table["layer"].map(PAPER_LAYERS))
    return table.pivot_table(index=["group", "activation"], columns="layer", values="penalty")


def wide() -> pd.DataFrame:
    """Penalties in closed form at width 64: three networks with ReLU, one with each other activation."""
    both = pd.concat([record("best_linear_map"), record("best_linear_map_others")], ignore_index=True)
    return both.sort_values("activation", key=lambda names: names.map([*TITLES].index), kind="stable")


def activations(table: pd.DataFrame | None = None) -> HTML:
    """Penalties by layer for each activation and kind of matrix, recorded or of the reader's own."""
    table = wide() if table is None else table
    own, penalty = (
        table.groupby(["group", "activation"])["own"].all(),
        by_layer(table).round(1) + 0.0,
    )  # no −0
    rows = []
    for activation in table["activation"].unique():
        row = {"activation": TITLES.get(activation, activation)}
        for group in table["group"].unique():
            by = " · ".join(f"{points:.1f}" for points in penalty.loc[group, activation])
            by = by.replace("-", "−").replace(" ", "\N{NO-BREAK SPACE}")  # one line a cell
            row[group] = "0, in the group" if own[group, activation] else by
        rows.append(row)
    headings = {name: name for name in ("activation", *MATRICES)}
    return readable(pd.DataFrame(rows), headings, title="Penalty in points by convolution")


def outside(name: str = "best_linear_map_width_16") -> pd.DataFrame:
    """Matrices outside the group before a ReLU, one a row, with the percent that stays unexplained."""
    table = by_paper(name)
    table = table[~table["own"]]
    return table.assign(layer=table["layer"].map(WORDS) + " convolution", percent=100 * table["unexplained"])


def unexplained() -> Figure:
    """Orthogonal matrices leave most of the activations unexplained, and lose most accuracy."""
    table, x, y = outside(), "unexplained, % of the mean square", "penalty, points"
    colours = {name: INSERTED_COLOURS[name] for name in table["group"].unique()}
    named = partial(scatter, colours=colours, xlabel=x, ylabel=y)
    return named(table, "percent", "penalty", "group", panels="layer")


def facts() -> dict[str, Any]:
    """The numbers in sentences.

    Example:
        >>> [f"{facts()[f'exact-64-{layer}']:.1f}" for layer in (0, 2, 5)]
        ['0.7', '4.1', '15.9']
    """
    return _of_own_group() | _of_unexplained() | _at_width_64() | _of_others() | finetuning.facts()


def facts_of(table: pd.DataFrame) -> dict[str, float]:
    """What sentences say of a run's own orthogonal matrices before a ReLU: means over layers and trials."""
    mine = table.query("activation == 'relu' and group == @TURNED")
    return {"live-lost": mine["penalty"].mean(), "live-share": 100 * mine["unexplained"].mean()}


def _of_own_group() -> dict[str, Any]:
    table, made = recorded("02_sanity_rotations", "best_linear_map_width_16")["desk"]
    settings, cost = made["parameters"], by_layer(table)
    turned = cost.loc[TURNED]
    return {
        "width": settings["width"],
        "draws": settings["trials"],
        "fitted-on": settings["fit_images"],
        "judged-on": settings["test_images"],
        "one-image": 100 / settings["test_images"],
        "in-group": int(table["own"].sum()),
        "in-group-64": int(record("best_linear_map")["own"].sum()),
        "relu-first": turned.loc["relu", 0],
        "relu-last": turned.loc["relu", 5],
        **span(alone=table["base_accuracy"]),
    }


def _of_unexplained() -> dict[str, Any]:
    return span(**ranks())


def ranks(kinds: Sequence[str] | None = None) -> dict[str, pd.Series]:
    """`rank_correlations` over matrices of some kinds, or all: width 16, and each network of width 64."""
    tables = [outside(), *(each for _, each in outside("best_linear_map").groupby("number"))]
    chosen = [each if kinds is None else each[each["group"].isin(kinds)] for each in tables]
    narrow, *wide = map(rank_correlations, chosen)
    return {"rank": narrow, "rank-64": pd.concat(wide)}


def rank_correlations(table: pd.DataFrame) -> pd.Series:
    """Between the unexplained part and the penalty, by layer."""
    by_layer = dict(list(table.groupby("layer")))
    return pd.Series({at: t["unexplained"].corr(t["penalty"], "spearman") for at, t in by_layer.items()})


def _at_width_64() -> dict[str, Any]:
    exact = by_network()
    turned = exact.loc[TURNED]
    return {
        "networks-64": exact.shape[1],
        "exact-epochs": recorded("02_sanity_rotations", "best_linear_map")["desk"][1]["parameters"]["epochs"],
        "baseline": record("baseline")["accuracy"].mean(),
        "alone-64": record("best_linear_map")["base_accuracy"].mean(),
        "signs-high": exact.loc["signed permutations"].mean(axis=1).max(),
        **{f"exact-64-{layer}": points for layer, points in turned.mean(axis=1).items()},
        **{f"exact-64-{layer}-said": said(points, 1) for layer, points in turned.iterrows()},
    }


def _of_others() -> dict[str, Any]:
    table, narrow = wide(), by_layer(record("best_linear_map_width_16")).loc[TURNED]
    cost = by_layer(table)
    first, last = (cost.loc[TURNED].drop("relu")[layer] for layer in (0, 5))
    rows = narrow.round(1).astype(str).agg(" · ".join, axis=1).str.replace(" ", "\N{NO-BREAK SPACE}")
    return {
        **{f"{name}-16": row for name, row in rows.items()},
        **{f"{name}-first": points for name, points in first.items()},
        **{f"{name}-last": points for name, points in last.items()},
        "scaled-most": cost.loc[GROUP].loc[["tanh", "gelu"]].max(axis=None),
        "draws-64": table["trial"].nunique(),
        **span(**{"others-64": table["base_accuracy"]}),
    }
