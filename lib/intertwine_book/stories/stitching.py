"""What the recorded stitches say: printed values, figures and facts of chapter 3."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures import style
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dots import dots
from intertwine_book.results import on_record
from intertwine_book.stories import connectivity
from intertwine_book.stories.told import WIDTH_ENDINGS, span

record = partial(on_record, "03_stitching")

LAYER_NUMBERS = {"relu1": 3, "relu2": 6, "relu3": 10, "relu4": 14}
"""The activations by the paper's numbers of layers."""
KIND_COLOURS = {
    "full": style.GROUP_COLOURS["general linear"],
    "rank 4": style.COLOURS["pink"],
    "rank 2": style.COLOURS["orange"],
    "rank 1": style.COLOURS["grey"],
    "G_ReLU": style.GROUP_COLOURS["G_ReLU"],
}
RELAXED = {"relaxation": style.GROUP_COLOURS["permutations"]}
"""The paper's search of the group by its authors' recipe, in fewer epochs."""
BY_LAYER = ("layer", "penalty", "stitch")  # columns: a place, a value, a colour
CLOSED_FORMS = {"least squares": KIND_COLOURS["full"], "assignment": KIND_COLOURS["G_ReLU"]}
RANKS = {name: colour for name, colour in KIND_COLOURS.items() if name.startswith("rank")}


def printed() -> pd.DataFrame:
    """Figure 1 of godfrey2022, as read off: columns layer, stitch and penalty in points."""
    penalties = {
        "full": [1.2, 1.6, 2.7, 2.4],
        "rank 4": [8.6, 13.6, 26.3, 15.8],
        "rank 2": [21, 28, 40.5, 31.4],
        "rank 1": [42, 53.5, 57, 62],
        "G_ReLU": [8.3, 7.5, 16.5, 5.8],
    }
    return (
        pd.DataFrame(penalties)
        .assign(layer=[*LAYER_NUMBERS.values()])
        .melt("layer", var_name="stitch", value_name="penalty")
    )


def stitched(name: str = "stitched") -> pd.DataFrame:
    """A recorded table of stitches, with the paper's number of each layer."""
    return record(name).assign(layer=lambda table: table["layer1"].map(LAYER_NUMBERS))


def relaxed() -> pd.DataFrame:
    """The paper's relaxation by its authors' recipe, batch norm re-estimated."""
    return stitched("relaxed")


def mean(name: str = "stitched") -> pd.DataFrame:
    """Mean penalty over pairs: a row for each layer, a column for each kind of stitch."""
    return stitched(name).pivot_table(index="layer", columns="stitch", values="penalty")


def norms(width: str = "width 64") -> pd.DataFrame:
    """Closed forms with batch norm frozen and re-estimated."""
    table = stitched(f"norms{WIDTH_ENDINGS[width]}")
    table[["map", "batch norm"]] = table["stitch"].str.split(", ", expand=True)
    return table


def by_norm(width: str = "width 64") -> pd.DataFrame:
    """Mean penalty of each closed form: rows layer and map, columns frozen and re-estimated."""
    return norms(width).pivot_table(index=["layer", "map"], columns="batch norm", values="penalty")


def fits(width: str = "width 64") -> pd.DataFrame:
    """What stands beside the closed forms, batch norm re-estimated: rows layer and pair, a column a kind."""
    table = stitched(f"fits{WIDTH_ENDINGS[width]}")
    return table.pivot(index=["layer", "pair"], columns="stitch", values="penalty")


BLOCK_LAYERS = {
    **{"block2.relu1": "16*", "block2.relu2": "19", "block6.relu1": "48*", "block6.relu2": "51"},
    **{"block9.relu1": "72*", "block9.relu2": "75"},
}
"""The activations inside and at the ends of three blocks by the paper's numbers."""


def blocks() -> pd.DataFrame:
    """Closed forms in published ResNet-20: columns layer, place, pair, stitch, batch norm, penalty."""
    table = record("blocks").assign(layer=lambda found: found["layer1"].map(BLOCK_LAYERS))
    table[["stitch", "batch norm"]] = table["stitch"].str.split(", ", expand=True)
    return table.assign(place=table["layer"].map(_place))


def _place(layer: str) -> str:
    return "inside blocks" if layer.endswith("*") else "at the ends of blocks"


def printed_blocks() -> pd.DataFrame:
    """What can be read off figure 6 of godfrey2022 at these layers, trained stitches in training mode."""
    read = [("48*", "least squares", 21.0), ("48*", "assignment", 63.0), ("75", "assignment", 5.0)]
    table = pd.DataFrame(read, columns=["layer", "stitch", "penalty"])
    return table.assign(place=table["layer"].map(_place))


def penalties() -> Figure:
    """Penalties by layer and kind of map at width 64, beside the printed ones and those of width 16."""
    (searched,) = RELAXED
    wide, narrow = (
        stitched(name).query("stitch != 'Birkhoff'") for name in ("stitched", "stitched_width_16")
    )
    as_printed = printed().replace({"stitch": {"G_ReLU": searched}})  # as the paper searched the group
    return dots(
        pd.concat([wide, relaxed().assign(stitch=searched)]),
        *BY_LAYER,
        beside={"printed": as_printed, "width 16": narrow},
        colours=KIND_COLOURS | RELAXED,
        level=0.0,
        filled="width 64",
        xlabel="layer, as the paper counts",
        ylabel="penalty, points",
    )


def small_run(stitches: pd.DataFrame) -> Figure:
    """The same of a run of one's own."""
    shown = stitches.assign(
        layer=stitches["layer1"].map(lambda name: LAYER_NUMBERS.get(name, name)).astype(str)
    )
    return dots(
        shown, *BY_LAYER, colours=KIND_COLOURS, xlabel="layer", ylabel="penalty, points", ylim=(-4, 100)
    )


def frozen_and_reestimated() -> Figure:
    """The same closed forms with the statistics of batch norm frozen and re-estimated, by width."""
    parts = pd.concat(norms(width).assign(width=width) for width in WIDTH_ENDINGS)
    parts = parts.sort_values("batch norm", kind="stable")  # a row of panels for each
    return single_curves(
        parts.assign(panel=parts["batch norm"] + ", " + parts["width"]),
        *("layer", "penalty", "map", "pair"),
        panels="panel",
        across=len(WIDTH_ENDINGS),
        height=2.4,
        colours=CLOSED_FORMS | RANKS,
        xlabel="layer, as the paper counts",
        ylabel="penalty, points",
    )


def residual_blocks() -> Figure:
    """Penalties at the ends of residual blocks and inside, for both protocols of batch norm."""
    by_norm = dict(tuple(blocks().groupby("batch norm")))
    return dots(
        by_norm["re-estimated"].sort_values("place", kind="stable"),
        *BY_LAYER,
        beside={"printed": printed_blocks(), "frozen": by_norm["frozen"]},
        colours=CLOSED_FORMS,
        panels="place",
        level=0.0,
        intervals=True,
        height=2.6,
        filled="re-estimated",
        xlabel="layer, as the paper counts",
        ylabel="penalty, points",
    )


def facts() -> dict[str, float]:
    """The numbers in sentences and captions.

    Example:
        >>> round(facts()["group-low"]), round(facts()["group-high"])
        (4, 9)
    """
    return _figure_1() | _fitted() | _residual() | connectivity.facts()


def _figure_1() -> dict[str, float]:
    wide, narrow, table = mean(), mean("stitched_width_16"), stitched()
    in_print = printed().pivot(index="layer", columns="stitch", values="penalty")
    off = (in_print["full"] - wide["full"]).abs().max()
    alone = {
        name: each[["accuracy1", "accuracy2"]].mean(axis=None)
        for name, each in {"alone": table, "alone-narrow": stitched("stitched_width_16")}.items()
    }
    return {
        **span(group=wide["G_ReLU"], full=wide["full"], narrow=narrow["G_ReLU"]),
        **span(**{"rank-4": wide["rank 4"], "rank-1": wide["rank 1"], "printed-group": in_print["G_ReLU"]}),
        **span(none=wide["no stitch"]),
        "full-off": off,
        "shuffled": wide["random permutation"].mean(),
        **{"wide-pairs": table["pair"].nunique(), **alone},
    }


def _fitted() -> dict[str, float]:
    narrow, _, wide = (by_norm(width)["re-estimated"].unstack("map") for width in WIDTH_ENDINGS)
    full = by_norm().xs("least squares", level="map").drop(14)  # no batch norm after that layer
    beside = fits().groupby("layer").mean()
    return {
        **span(**{"fitted-group": wide["assignment"], "fitted-4": wide["rank 4"]}),
        **span(**{"alike-4": beside["rank 4, channels alike"], "random-again": beside["random permutation"]}),
        **span(**{"narrow-times": (narrow / wide)[["assignment", "least squares"]].stack()}),
        **{
            "fitted-pairs": norms()["pair"].nunique(),
            "fitted-pairs-half": norms("width 32")["pair"].nunique(),
            "fitted-pairs-narrow": norms("width 16")["pair"].nunique(),
        },
        "norm-lowers": (full["frozen"] - full["re-estimated"]).max(),
        "frozen-full": full["frozen"].mean(),
        "again-full": full["re-estimated"].mean(),
    }


def _residual() -> dict[str, float]:
    again = blocks().query("`batch norm` == 're-estimated'")
    by = again.pivot_table(index="layer", columns="stitch", values="penalty")
    ends, slopes = by.loc[["19", "51"]], record("slopes").filter(like="slope_").stack()
    return {
        "block-pairs": float(again["pair"].nunique()),
        **{f"inside-{at}": float(by.loc[f"{at}*", "least squares"]) for at in (16, 48, 72)},
        **span(**{"ends-full": ends["least squares"], "ends-group": ends["assignment"], "any-slope": slopes}),
    }
