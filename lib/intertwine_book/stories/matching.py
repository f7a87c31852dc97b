"""Chapter 3b, as recorded: stitches between published networks, drawn and in numbers for sentences."""

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures import matching as drawn
from intertwine_book.figures.matching import numbered, singly
from intertwine_book.results import on_record
from intertwine_book.stories import lines, restricted
from intertwine_book.stories.told import span

record = partial(on_record, "03b_matching")


def kept(name: str = "matching") -> pd.DataFrame:
    """Mean relative accuracy in percent: a row for each way of stitching, a column for each layer."""
    return numbered(record(name)).pivot_table(index="stitch", columns="layer", values="y")


def sides() -> pd.DataFrame:
    """Closed forms and task loss on both sides of the ReLU, with the relative accuracy in percent in `y`."""
    tables = {"before the ReLU": ("matching", "restored"), "after the ReLU": ("after_relu",)}
    each = [(side, numbered(record(name))) for side, names in tables.items() for name in names]
    return pd.concat(table.assign(side=side) for side, table in each)


def gain(side: str = "before the ReLU") -> pd.Series:
    """Percent of accuracy that restoring the variance gains, by layer and pair."""
    found = sides().query("side == @side").pivot(index=["layer", "pair"], columns="stitch", values="y")
    return found["variance restored"] - found["least squares"]


def reestimated() -> pd.DataFrame:
    """Closed forms before the ReLU, with the statistics of batch norm re-estimated after the stitch."""
    return numbered(record("reestimated"))


def stretched(layer: str = "bn3") -> pd.DataFrame:
    """The stretch to the power t: accuracy and unexplained variance, as shares, means over pairs."""
    found = record("stretched").query("layer1 == @layer").groupby("t", as_index=False)
    return found[["relative_accuracy", "unexplained"]].mean()


def follows() -> pd.Series:
    """Rank correlation of the cost of removing a direction with its variance, by pair."""
    removed = singly(record("directions")).query("stitch == 'removed'").groupby("pair")
    return removed[["variance", "distance"]].apply(
        lambda pair: pair["variance"].rank().corr(pair["distance"].rank())
    )


def written(layer: str = "bn3") -> pd.DataFrame:
    """Variance that a stitch writes in a direction, by that of the layer: a row for each pair."""
    each = singly(record("directions"), layer)
    return each.pivot(index="pair", columns=["stitch", "part"], values="kept")


def errors(layer: str = "bn3") -> pd.DataFrame:
    """By stitch and part of its error: percent of the variance left, and points of accuracy that it costs."""
    means = (
        record("directions")
        .query("layer1 == @layer")
        .groupby(["stitch", "part"])[["left", "accuracy"]]
        .mean()
    )
    costs = means.loc[("model 2", "both"), "accuracy"] - means["accuracy"]
    return pd.DataFrame({"left": 100 * means["left"], "costs": costs})


def floor() -> float:
    """The mean entropy of model 2's probabilities in nats, below which no cross-entropy to them falls."""
    return float(record("directions").query("stitch == 'model 2'")["distance"].mean())


def deep(name: str = "residual") -> pd.DataFrame:
    """Stitches of ResNet-20: the authors' pair, then pairs of others; relative accuracy in percent in `y`."""
    others = record(f"{name}_others")
    return numbered(pd.concat([record(name), others.assign(pair=others["pair"] + 1)]))


def sized() -> pd.DataFrame:
    """Closed forms on ResNet-20: least squares as it is and put back to its target's size, and others."""
    return deep("resized_residual")


def matching() -> Figure:
    """The best fit keeps less accuracy than a stitch that the task trains, and less than one of its size."""
    tiny, residual = "Tiny-10, five pairs, cut before the ReLU", "ResNet-20, four pairs, cut after blocks"
    trained = deep().query("stitch == 'task loss'")
    blocks = pd.concat([trained, sized().query("stitch != 'variance restored'")]).assign(on=residual)
    shown = pd.concat([numbered(record("matching")).assign(on=tiny), blocks])
    ring = {"on": residual, "layer": "1", "stitch": "task loss", "y": 80.0}
    words = {"beside": {"printed": pd.DataFrame([ring])}, "panels": "on", "ylim": (44, 103), "height": 2.7}
    words["xlabel"] = "layer"
    ways = ("task loss", "least squares", "size restored", "orthogonal")
    return drawn.ways_by_layer(shown, *ways, **words)


def directions() -> Figure:
    """Loud directions are used most, and in quiet ones least squares writes too little variance."""
    return drawn.use_and_error(record("directions"))


def split() -> Figure:
    """The larger quiet error of the task's stitch costs less at layer 3; no part decides at layer 6."""
    return drawn.parts_of_error(record("directions"))


def best_powers() -> pd.Series:
    """The power of the stretch at which the stitch of layer 3 keeps most accuracy, by pair."""
    found = record("stretched").query("layer1 == 'bn3'")
    return found.loc[found.groupby("pair")["relative_accuracy"].idxmax()].set_index("pair")["t"]


def varies(layer: str = "bn6") -> pd.Series:
    """By how much accuracy varies, in percent of model 2's, from the power 0.5 of the stretch on, by pair."""
    found = record("stretched").query("layer1 == @layer and t >= 0.5").groupby("pair")["relative_accuracy"]
    return 100 * (found.max() - found.min())


def restored() -> Figure:
    """Restoring the variance of the fit gains accuracy, before the ReLU and after it."""
    words: dict[str, Any] = {"panels": "side", "xlabel": "layer", "ylim": (48, 102)}
    return drawn.ways_by_layer(sides(), "task loss", "least squares", "variance restored", **words)


def untrained() -> Figure:
    """After layer 1 of Tiny-10 an untrained front serves nearly as well as a trained one, deeper less."""
    return drawn.ways_by_layer(_fronts(), "trained front", "untrained front", level=chance(), ylim=(0, 105))


def untrained_fronts() -> pd.DataFrame:
    """Relative accuracy in percent after a trained and an untrained front, by layer and pair."""
    return _fronts().pivot(index=["layer", "pair"], columns="stitch", values="y")


def _fronts() -> pd.DataFrame:
    trained = numbered(record("matching")).query("stitch == 'task loss'").assign(stitch="trained front")
    return pd.concat([trained, numbered(record("untrained"))])


def behind_trained() -> pd.Series:
    """Percent of accuracy that an untrained front keeps less than a trained one, by layer and pair."""
    found = untrained_fronts()
    return found["trained front"] - found["untrained front"]


def chance() -> float:
    """One of ten classes, in percent of model 2's accuracy."""
    return 1000 / float(record("matching")["accuracy2"].mean())


def live(stitches: pd.DataFrame) -> Figure:
    """The stitches of a run by layer, those above 105 % at 105."""
    seen = numbered(stitches)
    ways = ("task loss", "least squares", "variance restored", "orthogonal", "untrained front")
    return drawn.ways_by_layer(seen.assign(y=seen["y"].clip(0, 105)), *ways, ylim=(0, 106))


def facts() -> dict[str, Any]:
    """What sentences of chapter 3b say, in percent, points or nats.

    Example:
        >>> found = facts()
        >>> f"{found['direct']:.0f} against {found['task']:.0f}"
        '92 against 97'
    """
    return _maps() | _errors() | restricted.facts() | lines.facts()


def _maps() -> dict[str, Any]:
    mean, by_pair = kept(), record("experiment_1_by_pair")
    each, forms = (table.query("layer == '9'") for table in (deep(), sized()))
    residual, fits = each.groupby("stitch")["y"].mean(), dict(tuple(forms.groupby("stitch")))
    kept_at_9 = {"direct-9": "least squares", "sized-9": "size restored", "orthogonal-9": "orthogonal"}
    ahead = mean.loc["orthogonal"] - mean.loc["least squares"]
    return {
        "direct": 100 * by_pair["least_squares"].mean(),
        "direct-all": 100 * record("experiment_1_direct_by_pair")["least_squares"].mean(),
        "task": 100 * by_pair["task_loss"].mean(),
        "permuted-2": mean.loc["best permutation", "2"],
        "permuted-8": mean.loc["best permutation", "8"],
        "shuffled": mean.loc["random permutation"].mean(),
        "direct-2": mean.loc["least squares", "2"],
        "orthogonal-ahead": ahead["8"],
        "task-3": mean.loc["task loss", "3"],
        "task-3-loses": 100 - mean.loc["task loss", "3"],
        "direct-3-loses": 100 - mean.loc["least squares", "3"],
        "worst-task": 100 * record("matching").query("stitch == 'task loss'")["relative_accuracy"].min(),
        **span(**{name: fits[stitch]["y"] for name, stitch in kept_at_9.items()}),
        **span(**{"factor-9": fits["size restored"]["factor"]}),
        "explained-9": 100 - 100 * fits["least squares"]["unexplained"].mean(),
        "sized-9-loses": 100 - fits["size restored"]["y"].mean(),
        "orthogonal-9-loses": 100 - fits["orthogonal"]["y"].mean(),
        "direct-9": residual["least squares"],
        "task-9": residual["task loss"],
        "direct-9-loses": 100 - residual["least squares"],
        "task-9-loses": 100 - residual["task loss"],
        "entropy": floor(),
    }


def _errors() -> dict[str, Any]:
    by_layer, costs = gain().groupby("layer").mean(), errors()["costs"]
    by_pair = record("experiment_1_by_pair")
    found = {
        "loudest": 100 * written()["least squares", "1"].median(),
        "quietest": 100 * written()["least squares", "32"].median(),
        "chance": chance(),
        "gain-mean": gain().mean(),
        "restored": 100 * by_pair["least_squares"].mean() + gain().mean(),
        "gain-task": 100 * (by_pair["task_loss"] - by_pair["least_squares"]).mean(),
    }
    named = {f"direct-{part}-costs": ("least squares", part) for part in ("loud", "quiet")}
    named |= {"task-quiet-costs": ("task loss", "quiet")}
    found |= {name: costs[at] for name, at in named.items()}
    again = reestimated().pivot_table("y", "layer", "stitch")
    found |= {"again": again["least squares"].mean(), "again-restored": again["variance restored"].mean()}
    found["again-1-costs"] = kept().loc["least squares", "1"] - again.loc["1", "least squares"]
    after, fits = gain("after the ReLU"), sides().query("stitch == 'least squares' and layer == '2'")
    found |= {"after-4": after["4"].mean(), "after-3-loses": -after["3"].mean()}
    found["direct-2-after"] = fits.query("side == 'after the ReLU'")["y"].mean()
    found |= span(**{"best-t": best_powers()}) | {"varies-6": varies().max()}
    fronts = untrained_fronts()["untrained front"]
    found |= {"untrained-1-behind": behind_trained()["1"].max()}
    found |= span(**{f"untrained-{layer}": fronts[layer] for layer in ("1", "3", "8")})
    return found | span(times=written()["task loss", "32"], gain=by_layer[["3", "4", "5"]])
