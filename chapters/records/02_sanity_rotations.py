# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # R2 · Record: sanity rotations
#
# :::{admonition} What this page tests
# :class: tip
# {doc}`../02_sanity_rotations` explains what a matrix before an activation costs; here is the evidence.
# Each section has one statement or figure of {cite:t}`godfrey2022`, or a measurement of ours: as printed, the code that
# computes our rows, a figure, the verdicts, and what would change them.
# Penalties are points of test accuracy; lower is better.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ```{glue} rec-rotations-summary
# ```
#
# A verdict compares means over networks with what is printed.
# *Consistent* and *inconsistent* are verdicts at another scale than the paper's.
# {ref}`All claims <rec-rotations-claims>`, with what differs in each, stand at the end.

# %% tags=["parameters"]
from typing import Literal

scale: Literal["smoke", "quick", "desk", "paper"] = "quick"  # quick reads rows, desk computes missing ones
own: str = ""  # a folder for rows of your own code
more_networks: int = 0  # with ReLU and of the paper's width, beyond those on record
more_matrices: int = 0  # of each kind, finetuned in a single network, beyond those on record
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one

# %% tags=["hide-input"]
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import torch
from myst_nb import glue

from intertwine import devices
from intertwine.training import MultiStep
from intertwine_book import data, sanity, zoo
from intertwine_book.figures import style
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.penalties import INSERTED_COLOURS
from intertwine_book.figures.readable import readable
from intertwine_book.figures.scatter import scatter
from intertwine_book.intervals import interval
from intertwine_book.record import Record
from intertwine_book.tidy import every, of
from intertwine_book.told import Told

style.use_style()
device = devices.pick(device)
record = Record.at("02_sanity_rotations", scale, own)
told = Told(record, "02_sanity_rotations", scale)

# %% [markdown]
# ## Settings, networks, matrices
#
# A setting names data, networks and their training; its values are columns of the tables below.
# `WIDE` are networks of the paper's width, of which the three with ReLU are kept with the book.
# `OTHER` are two more of this width, by another recipe; `NARROW` have width 16; `SMALL` is one on handwritten digits.
# Those are not kept, so nobody can compute their rows again.

# %% tags=["hide-input"]
tiny, large = scale == "smoke", scale == "paper"
LAYERS = [0, 2, 5]  # the first three convolutions, as the paper counts
PLACES = dict(zip(LAYERS, ("conv1", "conv2", "conv3"), strict=True))
TIMES = dict(zip(LAYERS, (1, 2, 4), strict=True))  # so many times the width are the channels
WIDE = {
    "dataset": "cifar10",
    "width": 64,
    "recipe": "growing",
    "learning_rate": 1e-3,
    "epochs": 16,
    "seed": 0,
}
OTHER = WIDE | {"recipe": "fast", "epochs": 12}
NARROW = OTHER | {"width": 16, "learning_rate": 3e-3}
SMALL = NARROW | {"dataset": "digits", "width": 8, "recipe": "digits"}
IMAGES = {"fit_images": 100, "test_images": 500}  # a map is fitted on and judged on
TUNING = {"finetuning_epochs": 2, "batch_size": 128, "train_images": 50_000}
NETWORKS, MATRICES, TEN, FIVE = 3, 5, 10, 5
BUDGETS, LONG = [2, 4, 8, 16], 32  # epochs of finetuning
if large:
    WIDE |= {"recipe": "godfrey2022", "epochs": 50}
    IMAGES = {"fit_images": 2_000, "test_images": 10_000}
    TUNING |= {"finetuning_epochs": 50, "batch_size": 32}
    BUDGETS = [2, 4, 8, 16, 50]
if tiny:
    WIDE, OTHER, NARROW, SMALL = (SMALL | {"width": w, "epochs": 1} for w in (6, 5, 4, 3))
    IMAGES, NETWORKS, MATRICES, TEN, FIVE = {"fit_images": 40, "test_images": 100}, 2, 2, 2, 2
    TUNING = {"finetuning_epochs": 1, "batch_size": 64, "train_images": 128}
    BUDGETS, LONG = [2, 4], 2
FIRST, SECOND, THIRD = LAYERS
GROUP, TURNED, SIGNED = "positive scalings", "orthogonal", "signed permutations"
TITLES = {"relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "abs": "|z|", "identity": "z"}
OTHERS = ["tanh", "gelu", "abs"]


@lru_cache
def images_of(dataset, part):
    return data.load(dataset, part, device=device)


@lru_cache
def network_of(dataset, width, recipe, learning_rate, epochs, seed, number, activation="relu"):
    """A Myrtle CNN without batch norm; the zoo trains it once, or finds it among those that are kept."""
    train = images_of(dataset, "train")
    how = replace(zoo.RECIPES[recipe], epochs=epochs, optimizer="adam", lr=learning_rate)
    shape = {"width": width, "norm": False, "in_channels": train.images.shape[1]}
    spec = zoo.Spec("myrtle", train, how, shape | {"activation": activation})
    return zoo.get(spec, [seed + number], device=device)[0].network


def matrix(group, width, layer, seed, trial):
    """The matrix of a trial, whatever else is drawn; every network has the same ones."""
    order = torch.Generator().manual_seed(1000 * seed + trial)
    return sanity.draw(group, TIMES[layer] * width, order)


# %% [markdown]
# `sanity.draw` gives random elements of five groups: *permutations*; *signed permutations*; *positive scalings* and
# *nonzero scalings*, which are permutations with scalings, lognormal with mean 1 as in the paper; and *orthogonal*
# matrices, uniform on $O(n)$, of which half have determinant −1.
# The group of ReLU is that of positive scalings.


# %% tags=["hide-input"]
def cost(rows):
    """Mean penalties: a row for each kind of matrix, a column for each layer."""
    return rows.pivot_table("penalty", "group", "layer")


def by_network(rows):
    """Mean penalties by kind and layer: a column for each network."""
    return rows.pivot_table("penalty", ["group", "layer"], "network")


def lowest(table):
    """The lower end of the 95 % interval over the columns, for each row."""
    return table.agg(lambda values: interval(values)[0], axis=1)


def with_intervals(tables, title):
    """Mean and 95 % interval over the columns of tables with a row for each layer."""
    rows = [
        {"of": name, "layer": layer, "mean": values.mean(), "trials": len(values)}
        | dict(zip(("low", "high"), interval(values), strict=True))
        for name, table in tables.items()
        for layer, values in table.iterrows()
    ]
    headings = {
        "of": "",
        "layer": "layer",
        "mean": "mean, points",
        "low": "from",
        "high": "to",
        "trials": "trials",
    }
    return readable(pd.DataFrame(rows), headings, digits=1, title=title)


def listed(values):
    """Each of a few values, where an interval would say less."""
    *most, last = (f"{value:.1f}".replace("-", "−") for value in values)
    return f"{', '.join(most)} and {last}"


def by_layer(conditions, title):
    """Mean penalties by condition, kind of matrix and layer."""
    order = ["identity", *sanity.TRANSFORMS]
    tables = {name: cost(rows) for name, rows in conditions.items()}
    tables = {name: each.reindex([*filter(each.index.__contains__, order)]) for name, each in tables.items()}
    table = pd.concat(tables, names=["condition"])
    shown = table.reset_index().replace({"group": {"identity": "control"}})
    shown["condition"] = shown["condition"].mask(shown["condition"].duplicated(), "")
    headings = {"condition": "", "group": "matrix"} | {k: f"layer {k}" for k in table}
    return readable(shown, headings, digits=1, title=title)


# %% [markdown]
# (rec-linear-repair)=
# ## §3.3: after a repair by least squares
#
# > *Printed*: for $A\in G_{\mathrm{ReLU}}$ "the network should be able to recover reasonable performance even with the
# > transformed features — for example, by updating $W_{l+1}$ to $W_{l+1}\varphi_\sigma(A)^{-1}$. On the other hand,
# > with probability 1 there is no matrix $B$ such that updating $W_{l+1}$ to $W_{l+1}B$ counteracts the effect of an
# > orthogonal rotation $A$ on all possible input."
#
# The paper measures no linear repair; these rows are ours.
# With $z$ the output of a convolution, least squares fits $R$ from $\sigma(Az)$ to $\sigma(z)$ on
# {fact}`02_sanity_rotations.fitted_on:.0f` training images, every position a row.
# The network then goes on with $R\sigma(Az)$ on {fact}`02_sanity_rotations.judged_on:.0f` test images; one of them is
# {fact}`02_sanity_rotations.one_image:.1f` points.

# %% tags=["hide-input"]
counts = {"relu": NETWORKS + more_networks} | dict.fromkeys(OTHERS, 1)
plan = [
    WIDE | IMAGES | {"network": k, "activation": name, "layer": layer, "matrices": MATRICES}
    for name, count in counts.items()
    for k in range(count)
    for layer in LAYERS
]
plan += [
    NARROW | IMAGES | {"network": 0, "activation": name, "layer": layer, "matrices": TEN}
    for name in TITLES
    for layer in LAYERS
]


# %%
@record.table(plan, group=[*sanity.TRANSFORMS])
def linear_maps(dataset, network, activation, layer, group, matrices, fit_images, test_images, **how):
    net = network_of(dataset, number=network, activation=activation, **how)
    train, test = images_of(dataset, "train")[:fit_images], images_of(dataset, "test")[:test_images]
    record.uses(net, test)
    bend = net[1 + [name for name, _ in net.named_children()].index(PLACES[layer])]
    draws = [matrix(group, how["width"], layer, how["seed"], trial) for trial in range(matrices)]
    judged = train.images, test.images, test.labels
    found = sanity.best_linear_map(net, PLACES[layer], bend, {group: draws}, *judged)
    return found.drop(columns=["group", "penalty_images"])


# %% tags=["hide-input"] figure="fig-rec-linear-repair"
wide, narrow = of(linear_maps, **WIDE, **IMAGES), of(linear_maps, **NARROW, **IMAGES)
relu, relu_narrow = of(wide, activation="relu"), of(narrow, activation="relu")
KINDS = [GROUP, SIGNED, "nonzero scalings", TURNED]
dots(
    relu.groupby(["group", "layer", "network"], as_index=False)["penalty"].mean(),
    *("layer", "penalty", "group"),
    beside={"width 16": relu_narrow},
    colours={kind: INSERTED_COLOURS[kind] for kind in KINDS},
    level=0.0,
    filled="width 64",
    xlabel="layer, as the paper counts",
    ylabel="accuracy lost, points",
)

# %% [markdown]
# :::{figure} #fig-rec-linear-repair
# ---
# alt: >-
#   Points of accuracy lost at the layers 0, 2 and 5 for positive scalings, signed permutations, nonzero scalings and
#   orthogonal matrices; filled marks for width 64, rings for width 16, which lie higher; orthogonal matrices lose most
#   at layer 5, positive scalings nothing.
# ---
# After a repair by least squares the group (positive scalings) loses nothing at any layer; orthogonal matrices lose
# most at layer 5.
# Filled: three networks of width 64 (dots: networks, each the mean of {fact}`02_sanity_rotations.matrices:.0f` random
# matrices).
# Rings: one network of width 16, ten matrices, with 95 % intervals over matrices.
# :::

# %% tags=["hide-input"]
by_layer({"width 64, three networks": relu, "width 16, one network": relu_narrow}, "Mean penalty, ReLU")

# %% tags=["hide-input"]
with_intervals(
    {f"{kind}, three networks of width 64": by_network(of(relu, group=kind)).loc[kind] for kind in KINDS[1:]},
    "Penalty with its 95 % interval over networks",
)

# %% tags=["hide-input"]
NO_MATRIX = (
    "With probability 1 no matrix $B$ after the activation makes up for a random orthogonal matrix before "
    "it, on all inputs."
)
relu["holds"] = relu["unexplained"] > 1e-6
told.claim(
    "godfrey-section-3-3-orthogonal",
    NO_MATRIX,
    of(relu, group=TURNED),
    "holds",
    paper="godfrey2022",
    kind="universal",
    per=None,
    place="§3.3",
    link="rec-linear-repair",
)
told.verdicts()

# %% tags=["hide-input"]
lost, lost_narrow, single = cost(relu), cost(relu_narrow), by_network(relu)
inside, inside_narrow = wide[wide["own"] & (wide["activation"] == "relu")], narrow[narrow["own"]]
apart = {
    name: of(rows, group=TURNED).groupby("layer")["penalty"].agg(["min", "max"])
    for name, rows in {"width 64": relu, "width 16": relu_narrow}.items()
}
first, *later = lowest(single.loc[TURNED])
alone, alone_narrow = (t.groupby("network")["base_accuracy"].first() for t in (relu, relu_narrow))
# fmt: off
told.check_all({
    "At width 64 a matrix of ReLU's group loses not one image in 90 trials.":
        every(inside["penalty"] == 0, len(inside) == 90),
    "At width 16 a matrix of the group loses not one image in 420 trials with five activations.":
        every(inside_narrow["penalty"] == 0, len(inside_narrow) == 420,
              inside_narrow["activation"].nunique() == 5),
    "Permutations and positive scalings before a ReLU lose nothing at both widths.":
        every(*(t.loc[["permutations", GROUP]] == 0 for t in (lost, lost_narrow))),
    "Over three networks of width 64 a loss by orthogonal matrices is established at layers 2 and 5.":
        np.array(later) > 0,
    "Over three networks of width 64 no loss by orthogonal matrices is established at layer 0.": first < 0,
    "At width 64 signed permutations lose less than 2.5 points on average at each layer.":
        lost.loc[SIGNED] < 2.5,
    "One network of width 16 loses 1.2 times as much by orthogonal matrices as any of width 64.":
        lost_narrow.loc[TURNED] > 1.2 * single.loc[TURNED].max(axis=1),
    "At width 64 each kind outside the group loses most at layer 5, on average.":
        lost.loc[[SIGNED, "nonzero scalings", TURNED]].idxmax(axis=1) == THIRD,
    "At width 16 each kind outside the group loses more at each layer, on average.":
        (lost_narrow > lost).loc[[SIGNED, "nonzero scalings", TURNED]],
    "The network of width 16 is less accurate by 5 points.": alone_narrow.max() < alone.min() - 5,
    "Each orthogonal matrix costs more at layer 5 than any at layers 0 and 2, at both widths.":
        every(*(t["min"][THIRD] > t["max"][[FIRST, SECOND]].max() for t in apart.values())),
    "At width 16 signed permutations before ReLU and GELU cost more than 2.8 points at each layer.":
        every(*(cost(of(narrow, activation=a)).loc[SIGNED] > 2.8 for a in ("relu", "gelu"))),
})
# fmt: on
told.say(**{f"lost_{layer}": points for layer, points in lost.loc[TURNED].items()})
told.say(signs_high=lost.loc[SIGNED].max(), matrices=relu["trial"].nunique())
told.say(
    fitted_on=IMAGES["fit_images"], judged_on=IMAGES["test_images"], one_image=100 / IMAGES["test_images"]
)

# %% [markdown]
# *What would change it*: a map that is trained for accuracy instead of fitted, which may lose less; more images for the
# fit; networks of 50 epochs, as in the paper; more networks.
# That the group loses nothing is a theorem if the fitted activations span those of all images
# ({prf:ref}`prop-regression`).
#
# (rec-activations)=
# ## Other activations, layer by layer
#
# > *Not printed*: ours. The paper inserts matrices before ReLU alone.
#
# Each activation but ReLU has one network of a width, so nothing is known of other seeds.
# A cell *0, in the group* holds 0 by {prf:ref}`prop-regression`.


# %% tags=["hide-input"]
def activations(rows):
    """Mean penalties: a row for each activation, and in each cell one number for each layer."""
    own, table = rows.groupby(["activation", "group"])["own"].all(), []
    for activation in [name for name in TITLES if name in {*rows["activation"]}]:
        alone = of(rows, activation=activation).groupby("network")["base_accuracy"].first().mean()
        row = {"activation": TITLES[activation], "accuracy": alone}
        for group, points in cost(of(rows, activation=activation)).round(1).iterrows():
            cell = "\N{NO-BREAK SPACE}· ".join(f"{each + 0.0:.1f}" for each in points).replace("-", "−")
            row[group] = "0, in the group" if own[activation, group] else cell
        table.append(row)
    return pd.DataFrame(table)


tables = [activations(rows).assign(width=rows["width"].iloc[0]) for rows in (wide, narrow)]
headings = {"width": "width", "activation": "activation", "accuracy": "alone, %"} | {k: k for k in KINDS}
readable(
    pd.concat(tables, ignore_index=True),
    headings,
    digits=1,
    title=f"Points lost at layers 0 · 2 · 5, on {IMAGES['test_images']} test images",
)

# %% tags=["hide-input"]
others = {name: wide[wide["activation"] == name] for name in counts}
by_activation = pd.concat({name: cost(rows) for name, rows in others.items()})
parts = {name: narrow[narrow["activation"] == name] for name in TITLES}
by_activation_narrow = pd.concat({name: cost(rows) for name, rows in parts.items()})
turned, turned_narrow = (t.xs(TURNED, level=1) for t in (by_activation, by_activation_narrow))
scaled, scaled_narrow = (t.xs(GROUP, level=1) for t in (by_activation, by_activation_narrow))
nonzero, nonzero_narrow = (
    t.xs("nonzero scalings", level=1).loc["tanh"] for t in (by_activation, by_activation_narrow)
)
outside = wide[~wide["own"] & (wide["group"] != "permutations")]
small = outside.groupby(["activation", "group"])["penalty"].mean()
tanh = of(narrow, activation="tanh", group=TURNED, layer=THIRD)
# fmt: off
told.check_all({
    "Positive scalings before tanh and GELU cost less than 1.2 points at each layer of width 64.":
        scaled.loc[["tanh", "gelu"]] < 1.2,
    "At width 16 positive scalings before tanh and GELU cost less than 0.6 points at each layer.":
        scaled_narrow.loc[["tanh", "gelu"]] < 0.6,
    "At width 64 an orthogonal matrix before tanh costs nothing that 500 images show at layer 0.":
        turned.loc["tanh", FIRST] < 0,
    "At width 16 an orthogonal matrix before tanh costs less than half a point at layer 0.":
        turned_narrow.loc["tanh", FIRST] < 0.5,
    "Before tanh an orthogonal matrix costs twice as much at layer 5 as at the others, at width 64.":
        turned.loc["tanh", THIRD] > 2 * turned.loc["tanh", [FIRST, SECOND]],
    "At width 16 an orthogonal matrix before tanh costs more than 10 points at layer 5.":
        turned_narrow.loc["tanh", THIRD] > 10,
    "Before the absolute value it costs at layer 5 less than half of layer 0, at both widths.":
        every(*(t.loc["abs", THIRD] < t.loc["abs", FIRST] / 2 for t in (turned, turned_narrow))),
    "Without an activation nothing is lost.": turned_narrow.loc["identity"] == 0,
    "Before tanh scalings of either sign cost what positive ones do, at both widths.":
        every(abs(nonzero - scaled.loc["tanh"]) < 1e-9,
              abs(nonzero_narrow - scaled_narrow.loc["tanh"]) < 1e-9),
    "On average over layers only scalings before tanh cost less than half a point, at width 64.":
        [*small[small < 0.5].index] == [("tanh", "nonzero scalings"), ("tanh", GROUP)],
    "An orthogonal matrix costs less at width 64 than at 16, before each activation at each layer.":
        turned < turned_narrow.loc[turned.index],
    "At width 64 three networks have ReLU, one has each other activation.":
        wide.groupby("activation")["network"].nunique()[[*counts]] == [3, 1, 1, 1],
    "At layer 5 of width 16 each orthogonal matrix before tanh leaves 8 % unexplained and costs 8 points.":
        every(tanh["unexplained"] > 0.08, tanh["penalty"] > 8),
})
# fmt: on
told.say(scaled_most=scaled.loc[["tanh", "gelu"]].max(axis=None))
told.say(tanh_last=turned.loc["tanh", THIRD])

# %% [markdown]
# *Why is it so?* Near 0 tanh is almost linear, and far from 0 GELU is almost ReLU.
# So positive scalings before them cost little, although no matrix undoes them on all inputs.
# ReLU makes inputs equal that should differ; that is not the only cause, since tanh makes none equal.
#
# *What would change it*: other seeds, as each activation but ReLU has one network of a width; the widths differ in
# accuracy and epochs as well.
#
# (rec-unexplained)=
# ## The unexplained share and the penalty
#
# > *Not printed*: ours.
#
# The unexplained share is $\sum_z\lVert R\sigma(Az) - \sigma(z)\rVert^2 / \sum_z\lVert\sigma(z)\rVert^2$ on the fitted
# images.

# %% tags=["hide-input"] figure="fig-rec-unexplained"
WORDS = {FIRST: "first convolution", SECOND: "second convolution", THIRD: "third convolution"}


def not_own(rows):
    """Matrices outside the group before a ReLU, one a row, with the percent that stays unexplained."""
    rows = rows[~rows["own"]]
    return rows.assign(place=rows["layer"].map(WORDS), percent=100 * rows["unexplained"])


shares = not_own(relu_narrow)
scatter(
    shares,
    *("percent", "penalty", "group"),
    colours={kind: INSERTED_COLOURS[kind] for kind in shares["group"].unique()},
    panels="place",
    xlabel="unexplained, % of the mean square",
    ylabel="penalty, points",
)

# %% [markdown]
# :::{figure} #fig-rec-unexplained
# ---
# alt: >-
#   Three panels, one for each layer, of penalty in points against the unexplained share in percent; the marks rise
#   from zero, those of orthogonal matrices furthest.
# ---
# On average orthogonal matrices leave the largest share of the activations unexplained, and lose most.
# Each mark is one matrix outside the group before a ReLU, one network of width 16, CIFAR-10.
# :::


# %% tags=["hide-input"]
def ranks(rows):
    """Rank correlations of unexplained share and penalty, over matrices, for each network and layer."""
    each = rows.groupby(["width", "network", "layer"])
    return each.apply(lambda one: one["unexplained"].corr(one["penalty"], "spearman"))


both = pd.concat([shares, not_own(relu)])
correlations = pd.DataFrame({"all kinds": ranks(both), "orthogonal alone": ranks(of(both, group=TURNED))})
headings = {"width": "width", "network": "network", "layer": "layer"} | {k: k for k in correlations}
readable(correlations.reset_index(), headings, title="Rank correlation of unexplained share and penalty")

# %% tags=["hide-input"]
of_all, of_turned = (correlations[name] for name in ("all kinds", "orthogonal alone"))
most = both.groupby(["width", "layer", "group"])[["unexplained", "penalty"]].mean()
most = most.groupby(["width", "layer"]).idxmax()
near = of(shares, layer=THIRD).sort_values("unexplained")[["unexplained", "penalty"]].diff().abs()
thin, thick = NARROW["width"], WIDE["width"]
# fmt: off
told.check_all({
    "Over all matrices of a layer share and penalty have a rank correlation above 0.8 at width 16.":
        of_all.loc[thin] > 0.8,
    "Over all matrices of a layer it is above 0.5 in each network of width 64.":
        every(of_all.loc[thick] > 0.5, len(of_all.loc[thick]) == 9),
    "Among orthogonal matrices alone it is positive at each layer of width 16.": of_turned.loc[thin] > 0,
    "Among orthogonal matrices alone it has either sign at width 64.":
        [(of_turned.loc[thick] < -0.2).any(), (of_turned.loc[thick] > 0.5).any()],
    "On average orthogonal matrices leave most unexplained and lose most, at each layer and width.":
        [[kind == TURNED for *_, kind in most[column]] for column in most],
    "Two matrices with nearly equal shares may differ by more than 3 points.":
        (near[near["unexplained"] < 0.003]["penalty"] > 3).any(),
})
# fmt: on

# %% [markdown]
# *What would change it*: a share on other images than those of the fit; a share that weighs directions by what the
# later layers read of them, which may be why the share does not fix the penalty.
#
# (rec-figure-4)=
# ## Figure 4: what does finetuning repair?
#
# > *Printed*: penalties of one Myrtle CNN without batch norm, width 64, 50 epochs, ≈ 87 %, mean of 10 trials, after
# > finetuning the later layers for 50 epochs. Read off the figure to about a point.
# >
# > "Transforming by $A\in G_{\mathrm{ReLU}}$ rather [than] a random orthogonal matrix results in significantly smaller
# > rotation penalties."
#
# $A$ multiplies the weights of a layer, which is frozen with those before it; all later layers are finetuned.
# The control has the identity for $A$, and the same finetuning.
# Ours are two epochs, in three networks of width 64 with one matrix each; in another network of this width with five
# matrices; and in one of width 16 with ten.

# %% tags=["hide-input"]
PRINTED = pd.DataFrame({GROUP: [0, 1.7, 1.3], TURNED: [0.75, 4.6, 8.3]}, index=LAYERS)
in_figure = PRINTED.rename_axis("layer").reset_index().melt("layer", var_name="group", value_name="penalty")
PAPER = {"dataset": "cifar10", "width": 64, "epochs": 50, "recipe": "godfrey2022", "finetuning_epochs": 50}
PAPER |= {"batch_size": 32, "train_images": 50_000, "learning_rate": 1e-3, "schedule": "falls in steps"}
PAPER |= {"epoch": "the best on the test set", "trials": "matrices in one network"}
CONTROL = "identity"


def tuned_in(setting, networks, layers, groups, matrices, **changes):
    """Cases; networks as trials have a matrix each, and one network has several."""
    several = [(k, k) for k in range(networks)] if matrices is None else [(0, k) for k in range(matrices)]
    place = setting | {"training": 1, **TUNING, **changes}
    return [
        place | {"network": k, "layer": layer, "group": group, "trial": trial}
        for k, trial in several
        for layer in layers
        for group in groups
    ]


# the paper has ten matrices in one network; before paper some networks have one each
TRIAL, trials, several = ("trial", "matrices in one network", TEN) if large else ("network", "networks", None)
plan = tuned_in(WIDE, NETWORKS + more_networks, LAYERS, (GROUP, TURNED), several)
plan += tuned_in(WIDE, NETWORKS + more_networks, [THIRD], (CONTROL,), several)
plan += tuned_in(OTHER, 1, LAYERS, (CONTROL, GROUP, TURNED), FIVE + more_matrices)
plan += tuned_in(NARROW, 1, LAYERS, (CONTROL, GROUP, TURNED), TEN + more_matrices)
for budget in BUDGETS:  # in a network of the same recipe and seed that was trained once more
    changes = {"finetuning_epochs": budget, "training": 2}
    plan += tuned_in(OTHER, 1, [THIRD], (CONTROL, GROUP, TURNED), 1, **changes)


# %%
@record.table(plan)
def finetuned(
    dataset, network, layer, group, trial, training, finetuning_epochs, batch_size, train_images, **how
):
    del training  # two networks of one recipe and seed, trained in different runs, are not the same
    net, seed = network_of(dataset, number=network, **how), 1000 * how["seed"] + trial
    train, test = images_of(dataset, "train")[:train_images], images_of(dataset, "test")
    record.uses(net, test)
    short = {"epochs": finetuning_epochs, "batch_size": batch_size, "optimizer": "adam", "lr": 1e-3}
    recipe = replace(zoo.RECIPES[how["recipe"]], sides=(), **short)  # whole images
    A = matrix(group, how["width"], layer, how["seed"], trial)
    return sanity.finetuned(net, PLACES[layer], A, train, test, recipe, seed=seed, device=device)


# %% tags=["hide-input"] figure="fig-rec-figure-4"
finetuned["schedule"] = finetuned["recipe"].map(lambda name: zoo.RECIPES[name].schedule)
finetuned["schedule"] = finetuned["schedule"].map(
    lambda each: "falls in steps" if isinstance(each, MultiStep) else "rises and falls"
)
finetuned["epoch"] = "the last"
tuned = of(finetuned, **WIDE, **TUNING).assign(trials=trials)
other = of(finetuned, **OTHER, **TUNING, training=1).assign(trials="matrices in one network")
tuned_narrow = of(finetuned, **NARROW, **TUNING).assign(trials="matrices in one network")
control_by_name = partial(pd.DataFrame.replace, to_replace={"group": {CONTROL: "control"}})
dots(
    control_by_name(tuned),
    *("layer", "penalty", "group"),
    beside={"printed, 50 epochs": in_figure, "width 16": control_by_name(tuned_narrow)},
    colours={kind: INSERTED_COLOURS[kind] for kind in ("control", GROUP, TURNED)},
    level=0.0,
    filled="width 64, two epochs",
    xlabel="layer, as the paper counts",
    ylabel="penalty, points",
)

# %% [markdown]
# :::{figure} #fig-rec-figure-4
# ---
# alt: >-
#   Penalty in points at the layers 0, 2 and 5: at width 64 positive scalings lie between 3 and 6, orthogonal matrices
#   between 2 and 13, above the printed rings; the control lies at zero; squares for width 16 lie higher.
# ---
# After two epochs orthogonal matrices have lost more than the group at layers 2 and 5, as printed after 50, and not at
# layer 0.
# Filled: three networks of width 64 (small dots: networks).
# Rings: printed.
# Squares: one network of width 16, ten matrices, with 95 % intervals.
# :::

# %% tags=["hide-input"]
conditions = {
    "printed, 50 epochs": in_figure,
    "width 64, three networks, 2 epochs": tuned,
    "width 64, another network, five matrices, 2 epochs": other,
    "width 16, one network, ten matrices, 2 epochs": tuned_narrow,
    "width 64, least squares": of(relu, group=[GROUP, TURNED]),
    "width 16, least squares": of(relu_narrow, group=[GROUP, TURNED]),
}
by_layer(conditions, "Mean penalty by layer, finetuned and after least squares")

# %% [markdown]
# ### Claims
#
# One number a network: its penalty at a layer.

# %% tags=["hide-input"]
LESS = (
    "After finetuning the later layers, a random element of $G_{\\mathrm{ReLU}}$ costs less accuracy than a "
    "random orthogonal matrix."
)
NUMBER = "Rotation penalty in percentage points, Myrtle CNN on CIFAR-10, mean of 10 trials."
REACHED = "Test accuracy in per cent of the Myrtle CNN without batch norm after 50 epochs."
SIDES = {TURNED: "penalty of orthogonal matrices", GROUP: "penalty of the group", "base_accuracy": "accuracy"}
claim = partial(told.claim, paper="godfrey2022", per=TRIAL, matters=0.5, words=SIDES, link="rec-figure-4")
group, orthogonal = of(tuned, group=GROUP), of(tuned, group=TURNED)
for k in LAYERS:
    rows = of(orthogonal, layer=k), of(group, layer=k)
    how = {"scale": PAPER, "trials": 10, "place": f"Figure 4, ordering at layer {k}"}
    claim(f"godfrey-figure-4-ordering-{k}", LESS, rows, "penalty", **how)
NAMES = {"relu": (GROUP, "$G_{\\mathrm{ReLU}}$"), "orthogonal": (TURNED, TURNED)}
for id, (kind, name) in NAMES.items():
    for k in LAYERS:
        rows, shown = of(tuned, group=kind, layer=k), float(PRINTED.loc[k, kind])
        how = {"scale": PAPER, "trials": 10, "place": f"Figure 4, {name} at layer {k}"}
        claim(f"godfrey-figure-4-{id}-{k}", NUMBER, rows, "penalty", printed=shown, error=1.0, **how)
of_network = ("dataset", "width", "epochs", "recipe", "learning_rate", "batch_size", "epoch")
claim(
    "godfrey-figure-4-baseline",
    REACHED,
    tuned.drop_duplicates("network"),
    "base_accuracy",
    per="network",
    printed=87.0,
    error=0.5,
    error_from="printed as ≈ 87",
    scale={name: PAPER[name] for name in of_network},
    place="Figure 4, baseline",
)
told.verdicts()


# %% tags=["hide-input"]
def apart_in(rows, trial):
    """How much more an orthogonal matrix loses than the group: a row a layer, a column a trial."""
    table = rows.pivot(index=["layer", trial], columns="group", values="penalty")
    return (table[TURNED] - table[GROUP]).unstack(trial)


more, more_other = apart_in(tuned, TRIAL), apart_in(other, "trial")
more_narrow = apart_in(tuned_narrow, "trial")
differences = {"width 64, over three networks": more}
differences |= {"another network of width 64, over matrices": more_other}
differences |= {"a network of width 16, over matrices": more_narrow}
with_intervals(differences, "How much more orthogonal matrices lose than the group, two epochs")

# %% tags=["hide-input"]
points, points_narrow = cost(tuned), cost(tuned_narrow)
low, low_other, low_narrow = map(lowest, (more, more_other, more_narrow))
high_narrow = more_narrow.agg(lambda values: interval(values)[1], axis=1)
control = pd.concat([of(rows, group=CONTROL) for rows in (tuned, tuned_narrow)])
left = (
    lost_narrow.loc[TURNED] - points_narrow.loc[TURNED]
)  # what finetuning repairs and least squares does not
# fmt: off
told.check_all({
    "The control stays within 0.15 points on average, at layer 5 of width 64 and at each layer of 16.":
        control.groupby(["width", "layer"])["penalty"].mean().abs() < 0.15,
    "In each trial the control stays within 0.45 points.": control["penalty"].abs() < 0.45,
    "In three networks orthogonal matrices lose 2 points more than the group at layers 2 and 5.":
        more.loc[[SECOND, THIRD]] > 2,
    "In each of the three networks the group loses more at layer 0.": more.loc[FIRST] < 0,
    "Over the three networks the difference is established at layers 2 and 5, and not at layer 0.":
        every(low[FIRST] < 0, low[[SECOND, THIRD]] > 0),
    "In another network of width 64 the group loses less at each layer with each of five matrices.":
        every(more_other > 0, more_other.shape[1] == 5),
    "Over its five matrices the difference is established at layers 2 and 5, and not at layer 0.":
        every(low_other[FIRST] < 0, low_other[[SECOND, THIRD]] > 0),
    "In print both lose less than a point at layer 0.": PRINTED.loc[FIRST] < 1,
    "The paper's penalties after 50 epochs are lower than ours after two, at each layer.":
        points.loc[[GROUP, TURNED]].T > PRINTED,
    "After two epochs the group has lost more than 2 points at each layer of width 64, on average.":
        points.loc[GROUP] > 2,
    "At width 16 the group has lost more than 3 points at each layer.": points_narrow.loc[GROUP] > 3,
    "At width 16 the group loses more than orthogonal matrices at layer 0, on average.":
        points_narrow.loc[GROUP, FIRST] > points_narrow.loc[TURNED, FIRST],
    "At width 16 the difference is established at layer 5 only.":
        every(low_narrow[[FIRST, SECOND]] < 0, high_narrow[[FIRST, SECOND]] > 0, low_narrow[THIRD] > 0),
    "At width 16 the group loses more in 8 of 10 trials at layer 0, and less in 8 of 10 at layer 2.":
        every((more_narrow.loc[FIRST] < 0).sum() == 8, (more_narrow.loc[SECOND] > 0).sum() == 8,
              more_narrow.shape[1] == 10),
    "At width 16 finetuning repairs 5 points more than least squares at layer 5, and less at layer 2.":
        [left[THIRD] > 5, left[SECOND] < 0],
})
# fmt: on
told.say(lead=listed(-more.loc[FIRST]))
told.say(tuned_alone=tuned.groupby("network")["base_accuracy"].first().mean())
told.say(tuned_alone_narrow=tuned_narrow["base_accuracy"].mean())

# %% [markdown]
# *What would change it*: more epochs of finetuning ({ref}`rec-budgets`); the control at all layers of width 64; more
# networks; at layer 0, where three networks and a fourth of another recipe disagree, the networks' recipe.
# We did not measure whether more epochs change the order at layer 0.
# The paper shows the epoch that is best on the test set, which lowers its penalties ({ref}`rec-best-epoch`).
#
# (rec-budgets)=
# ## Budgets: the penalty depends on how long one finetunes
#
# > *Not printed*: ours. The paper finetunes for 50 epochs.
#
# On CIFAR-10 each budget is a finetuning of its own, whose rate rises and falls: one matrix of each kind at layer 5 of
# one network of width 64.
# On digits one finetuning at a constant rate is followed epoch by epoch: ten matrices of each kind at layer 5 of one
# network of width 8.

# %% tags=["hide-input"]
digits = SMALL | {"layer": THIRD, "finetuning_epochs": LONG}
plan = [digits | {"group": group, "trial": k} for group in (CONTROL, GROUP, TURNED) for k in range(TEN)]


# %%
@record.table(plan)
def followed(dataset, recipe, layer, group, trial, finetuning_epochs, **how):
    net, seed = network_of(dataset, recipe=recipe, number=0, **how), 1000 * how["seed"] + trial
    train, test = images_of(dataset, "train"), images_of(dataset, "test")
    record.uses(net, test)
    steady = {"epochs": finetuning_epochs, "optimizer": "adam", "lr": 1e-3, "schedule": MultiStep()}
    constant = replace(zoo.RECIPES[recipe], **steady)
    A = matrix(group, how["width"], layer, how["seed"], trial)
    return sanity.repair(net, PLACES[layer], A, train, test, constant, seed=seed, device=device)


# %% tags=["hide-input"] figure="fig-rec-budgets"
budgets = of(finetuned, **OTHER, training=2).drop(columns="epoch")
budgets = budgets.rename(columns={"finetuning_epochs": "epoch"})
panels = {"digits, width 8": followed, "CIFAR-10, width 64": budgets}
shown = pd.concat(rows.assign(network=name) for name, rows in panels.items())
shown = shown[shown["epoch"].isin([1, 2, 4, 8, 16, 32])]
mean_curves(
    control_by_name(shown).astype({"epoch": str}),
    *("epoch", "penalty", "group"),
    panels="network",
    colours=INSERTED_COLOURS,
    xlabel="epochs of finetuning",
    ylabel="penalty, points",
)

# %% [markdown]
# :::{figure} #fig-rec-budgets
# ---
# alt: >-
#   Two panels of penalty in points against epochs.
#   On digits the curves of the group and of orthogonal matrices start near 27 and fall to zero.
#   On CIFAR-10 both fall with the number of epochs, the group below the orthogonal matrix; the control starts at zero
#   and ends a point below.
# ---
# The longer the finetuning, the less the group and orthogonal matrices lose; from two epochs on their difference
# shrinks.
# Left: ten matrices of each kind, with 95 % intervals; right: one of each kind, in a network with
# {fact}`02_sanity_rotations.budget_base:.1f` %.
# The control has the identity for $A$.
# :::

# %% tags=["hide-input"]
by_budget = budgets.pivot(index="epoch", columns="group", values="penalty")
paths = followed.pivot(index=["epoch", "trial"], columns="group", values="penalty")
gap = (paths[TURNED] - paths[GROUP]).groupby("epoch")
gaps = pd.DataFrame({k: (each.mean(), *interval(each)) for k, each in gap}, ["mean", "low", "high"]).T
on_digits = followed.pivot_table("penalty", "epoch", "group").join(gaps)
seen = {k: on_digits.loc[[e for e in (1, 2, 4, 8, 16, 32) if e in on_digits.index], k] for k in on_digits}
table = pd.concat({"CIFAR-10, width 64": by_budget, "digits, width 8": pd.DataFrame(seen)}, names=["network"])
headings = {"network": "network", "epoch": "epochs", CONTROL: "control", GROUP: "group", TURNED: TURNED}
headings |= {"mean": "difference", "low": "from", "high": "to"}
readable(table.reset_index(), headings, digits=1, title="Penalty by epochs of finetuning, layer 5")

# %% tags=["hide-input"]
begin, stop = BUDGETS[0], max(by_budget.index)
falls = by_budget[TURNED] - by_budget[GROUP]
both = [GROUP, TURNED]
# fmt: off
told.check_all({
    "On CIFAR-10 the group and an orthogonal matrix lose less with each larger budget.":
        (by_budget[both].diff().dropna() <= 0),
    "On CIFAR-10 the control stays within a point, and is better after 16 epochs.":
        every(by_budget[CONTROL].between(-1, 0.3), by_budget.loc[stop, CONTROL] < 0),
    "After 16 epochs one element of the group has lost less than half a point.":
        by_budget.loc[stop, GROUP] < 0.5,
    "On CIFAR-10 the difference falls with each larger budget, and stays above 2.5 points.":
        every(falls.diff().dropna() <= 0, falls > 2.5),
    "After 16 epochs an orthogonal matrix loses less than printed after 50.":
        by_budget.loc[stop, TURNED] < PRINTED.loc[THIRD, TURNED],
    "On digits both curves start near 27 points.": (on_digits.loc[1, both] - 27).abs() < 1.5,
    "On digits the group and orthogonal matrices lose less at each longer budget.":
        every(*(seen[kind].diff().dropna() <= 0 for kind in both)),
    "On digits the difference is established after two epochs, and larger than after one.":
        every(gaps.loc[2, "low"] > 0, gaps.loc[1, "mean"] < gaps.loc[2, "mean"]),
    "On digits the difference falls from two epochs on, to less than 0.6 points after 32.":
        every(seen["mean"].loc[2:].diff().dropna() <= 0, gaps.loc[LONG, "mean"] < 0.6),
})
# fmt: on
told.say(budget_group_first=by_budget.loc[begin, GROUP], budget_turned_last=by_budget.loc[stop, TURNED])
told.say(budget_last=stop, budget_base=budgets["base_accuracy"].mean())

# %% [markdown]
# *What would change it*: more than one matrix on CIFAR-10; 50 epochs; another schedule.
# The paper's orthogonal matrices lose about 8 points after 50 epochs, ours 3 after 16; we do not know why.
# A part of each repair is ordinary training, as the control improves.
#
# (rec-best-epoch)=
# ### The best epoch instead of the last
#
# The authors' code takes the epoch that is best on the test set.
# On digits, where every epoch is recorded, this lowers the mean penalty of each kind, also
# of the control, which needs no repair.

# %% tags=["hide-input"]
courses = followed.pivot(index=["group", "trial"], columns="epoch", values="penalty")
gained = (courses[LONG] - courses.min(axis=1)).groupby("group").mean()
told.check("The best of 32 epochs lowers the mean penalty of each kind, also of the control.", gained > 0)
told.say(best_control_digits=gained[CONTROL], best_group_digits=gained[GROUP])
told.say(best_turned_digits=gained[TURNED])
readable(
    control_by_name(gained.rename("gain").reset_index()),
    {"group": "matrix", "gain": "best epoch instead of the last, points"},
    title="What the best epoch on the test set gains",
)

# %% [markdown]
# *What would change it*: a validation set, on which the epoch is chosen; more than 500 test images.
#
# (rec-rotations-deviations)=
# ## Deviations from the paper
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * -
#   - printed
#   - here
#   - what it may change
# * - networks
#   - one Myrtle CNN without batch norm, width 64, 50 epochs of Adam in batches of 32, about 87 %
#   - three of width 64, 16 epochs that begin on smaller images, {fact}`02_sanity_rotations.tuned_alone:.1f` %;
#     two more of width 64, 12 epochs on whole images, one with {fact}`02_sanity_rotations.budget_base:.1f` % in
#     {ref}`rec-budgets`; one of width 16, {fact}`02_sanity_rotations.tuned_alone_narrow:.1f` %; batches of 128
#   - a narrow layer has fewer channels to repair with
# * - trials
#   - ten matrices in one network
#   - three networks with a matrix each; five and ten matrices in one network
#   - an interval over networks holds for other networks, one over matrices for one network alone
# * - finetuning
#   - 50 epochs of Adam in batches of 32, the learning rate falls in steps
#   - two epochs of Adam in batches of 128, the rate rises and falls; up to 16 for one matrix of each kind
#   - after few epochs more is lost ({ref}`rec-budgets`)
# * - accuracy
#   - called validation accuracy; the code takes the best epoch on the test set
#   - the last epoch
#   - {ref}`rec-best-epoch`: lower printed penalties
# * - control
#   - none
#   - the identity, with the same finetuning; at width 64 of three networks at layer 5 only
#   - shows what finetuning gains by itself
# * - linear repair
#   - none
#   - least squares on 100 training images, judged on 500 test images
#   - a matrix that is trained for accuracy may lose less
# * - activations, groups
#   - ReLU; positive scalings and orthogonal matrices
#   - five activations, five kinds of matrices
#   - {ref}`rec-activations`
# :::
#
# (rec-rotations-claims)=
# ## All claims
#
# Verdicts, and the intervals of orderings that are decided, are corrected for the number of orderings in the book, as
# on the {doc}`../../scoreboard`.

# %% tags=["hide-input"]
SUMMARY = {
    "godfrey-section-3-3-orthogonal": "No matrix after a ReLU undoes an orthogonal matrix before it, on all inputs.",
    **{
        f"godfrey-figure-4-ordering-{k}": f"Finetuned, orthogonal matrices lose more than the group at layer {k}."
        for k in LAYERS
    },
    f"godfrey-figure-4-relu-{THIRD}": f"Penalty of the group at layer {THIRD}, in points.",
    f"godfrey-figure-4-orthogonal-{THIRD}": f"Penalty of orthogonal matrices at layer {THIRD}, in points.",
    "godfrey-figure-4-baseline": "Accuracy of the networks, in percent.",
}
rows, known = [], {made.id: (made, found) for made, found in told.claims}
for id, statement in SUMMARY.items():
    made, found = known[id]
    mean, low, high = found.interval or (np.nan,) * 3
    numbers = f"{mean:.1f} [{low:.1f}, {high:.1f}]" if found.interval else found.measured
    numbers = numbers.replace("-", "−")
    setting = (
        f"two epochs of finetuning instead of 50; {found.trials} networks"
        if found.decisive
        else "a calculation"
    )
    row = {"statement": statement, "printed": made.printed, "ours": numbers, "verdict": found.said}
    rows.append(
        row | {"scale": setting if made.id != "godfrey-figure-4-baseline" else "16 epochs instead of 50"}
    )
rows.append(
    {
        "statement": "After least squares the group loses nothing; orthogonal matrices at layers 0 · 2 · 5:",
        "printed": "not measured",
        "ours": " · ".join(f"{points:.1f}" for points in lost.loc[TURNED]),
        "scale": "three networks of width 64",
        "verdict": "ours",
    }
)
headings = {name: name for name in ("statement", "printed", "ours", "scale", "verdict")}
summary = readable(pd.DataFrame(rows), headings, digits=1, title="What was found")
glue("rec-rotations-summary", summary, display=False)
told.board()
