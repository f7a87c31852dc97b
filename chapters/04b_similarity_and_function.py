# ---
# jupytext:
#   text_representation:
#     extension: .py
#     format_name: percent
# kernelspec:
#   display_name: Python 3
#   language: python
#   name: python3
# ---

# %% [markdown]
# # 4b · Similarity and function
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`04_dissimilarity`: what a measure does not see, and its null; {doc}`03_stitching`: stitched networks.
#
# **You will learn** that similarity may fall while a stitched network gets better, that a penalty presses it down and what that costs, that it may
# stay at 1 while accuracy is ruined, and how to test a measure against what it is meant to track.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# A similarity index compares activations; a stitched network uses them. *Does a high index say that the second network can work with what it gets?*
# {cite}`csiszarik2021` answer no, three times. {numref}`fig-along` is the first: a stitch starts at the least-squares
# fit, which makes the two layers as near as a linear map can, and is then trained for the task. *Does the network get better while the activations go
# apart?*

# %% tags=["hide-input"]
from dataclasses import replace
from itertools import chain

import pandas as pd
import torch
from IPython.display import Markdown

from intertwine import data, devices, similarity
from intertwine.features import activations
from intertwine.similarity import MEASURES
from intertwine.stitching import Junction
from intertwine.training import RECIPES, Spec, zoo
from intertwine_book import results
from intertwine_book.experiments import similarity_and_function as functional
from intertwine_book.experiments.matching import cuts, published_pairs
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
networks: Literal["trained", "tiny10"] = "trained"  # Myrtle CNNs, or published Tiny-10
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and draws
width: int = 16  # channels of the Myrtle CNN's first convolution
pairs: int = 3  # of networks
epochs: int = 8  # of the networks' training
layer: int = 3  # activation that is stitched, from 1
baseline_layers: list[int] = [2, 3, 4]  # activations of the baseline, from 1
train_images: int = 1000  # for stitches and probes, at most
test_images: int = 300  # for indices and accuracies, at most
stitch_epochs: int = 10  # of experiment 3
stitch_lr: float = 1e-3  # of experiment 3
penalty: float = 2.0  # on CKA, in experiment 4
penalty_epochs: int = 12  # of experiment 4
penalty_lr: float = 1e-2  # of experiment 4
trials: int = 5  # maps drawn for §6.4

# %% tags=["hide-input"]
device = devices.pick(device)
sets = (data.load(dataset, split, device=device) for split in ("train", "test"))
train, test = sets
if networks == "trained":
    recipe = RECIPES["digits" if dataset == "digits" else "fast"]
    shape = {"width": width, "in_channels": train.images.shape[1]}
    spec = Spec("myrtle", train, replace(recipe, epochs=epochs), shape)
    joined = zoo.pairs(spec, pairs, seed=seed, device=device)
else:
    joined, (train, test) = published_pairs("tiny10", pairs, train, test)
    joined = [tuple(network.to(device) for network in pair) for pair in joined]
train, test = train[:train_images], test[:test_images]
name = f"relu{layer}"


def junction(one, other, at=name):
    """Where two networks are joined, in full precision."""
    return Junction(one, other, at, train, test=test, device=device, dtype="float32")


# %% tags=["hide-input"]
run = results.run(globals(), "04b_similarity_and_function", data=test)
shared = ["dataset", "networks", "width", "epochs", "train_images", "test_images"]
budget = {"epochs": stitch_epochs, "lr": stitch_lr}


@run.table(pair=range(pairs), uses=[*shared, "layer", "stitch_epochs", "stitch_lr"])
def curves_3(pair):
    return functional.along_training(junction(*joined[pair]), **budget, seed=seed + pair)


# %% tags=["hide-input"]
both, said = run.with_recorded("curves_3")
scaled = both.assign(accuracy=both["accuracy"] / 100)
long = scaled.melt(["pair", "epoch", "run"], list(functional.INDICES), "index")
long["index"] = long["index"].replace(functional.INDICES | {"accuracy": "accuracy / 100"})

# %% mystnb={"figure": {"name": "fig-along", "caption": "Similarity indices of what a stitch makes of network 1's activations with those of network 2, on test images, while the stitch is trained for the task from the least-squares fit; mean over pairs of networks with 95 % interval. R²(AM, B) and CCA do not see an invertible stitch at all. Where two panels are shown, the right one is the largest recorded run."}, "image": {"alt": "Curves against the epoch of the stitch: accuracy divided by 100, CKA, three kinds of R squared, CCA and SVCCA; two of the curves are flat."}}
axes = {"panels": "run", "xlabel": "epoch of the stitch"}
mean_curves(long, "epoch", "value", "index", ylabel="index", **axes)

# %% [markdown]
# (sec-experiment-3)=
# ## Experiment 3: indices along a training
#
# Networks and batch norm are frozen, only the $1\times1$ convolution $M$ moves, by Adam on the cross-entropy to the labels. With $A$ and $B$ the
# activations of the two networks on test images, columns centred, we follow these indices; higher is more similar in all of them.
#
# $$R^2_{LR}(A, B) = 1 - \min_Z \frac{\lVert AZ - B\rVert^2}{\lVert B\rVert^2},\qquad
#   \mathrm{CKA}(A, B) = \frac{\lVert A^\top B\rVert^2}{\lVert A^\top A\rVert\,\lVert B^\top B\rVert}.$$ (eq-indices)

# %%
experiment_3 = functional.start_and_end(curves_3)
average = experiment_3.mean()
change = {c: average[f"{c}_end"] - average[f"{c}_start"] for c in functional.INDICES}
flat = experiment_3[["r2_to_model2_moved", "cca_moved"]]
Markdown(
    f"From the least-squares fit to the end, the accuracy changes by {change['accuracy']:+.1f} points, CKA by "
    f"{change['cka']:+.3f}, $1-\\lVert AM-B\\rVert^2/\\lVert B\\rVert^2$ by {change['r2_as_it_is']:+.3f}, and "
    f"$R^2_{{LR}}(B, AM)$ by {change['r2_from_model2']:+.3f}. $R^2_{{LR}}(AM, B)$ and CCA stay within "
    f"{flat.max().max():.0e}. {said}"
)

# %% [markdown]
# *On the authors' Tiny-10 the accuracy rises by more than two points, and none of the indices rises with it.* CKA stays within 0.01 of its start, where the paper's falls; $AM$ moves away from $B$; and SVCCA,
# which the paper finds uncorrelated with the task, falls while the accuracy rises: over the epochs of a training their correlation is below −0.5 in each of three pairs.
#
# How can the accuracy rise while the activations move apart? The least-squares fit spends its effort where $B$ is large. What the rest of the network reads may lie in directions of little variance: a fit
# that misses them costs almost no distance, and all of the accuracy. Training for the task can correct just these, and pay with distance elsewhere. CKA weighs directions by their
# variance, twice, and so follows the distance rather than the task.
#
# :::{admonition} Erratum: csiszarik2021, Definition 6.1 and figure 4
# :class: warning
# The paper defines $R^2_{LR}(A, B)$ by the *best* linear map and reports that it falls along the training (Definition 6.1 and figure 4). For invertible $M$,
# $R^2_{LR}(AM, B) = R^2_{LR}(A, B)$: it cannot move, exactly as the paper says of CCA. Its code regresses in the other order. So {numref}`fig-along` shows three
# curves: $R^2_{LR}(AM, B)$, constant; $R^2_{LR}(B, AM)$; and what the paper describes, how near $AM$ is to $B$ *as it is*. On the images that it was fitted to, the last can only fall, since training
# starts at its maximum; the figure has it on test images.
# :::
#
# ## A case small enough to print
#
# Four samples of two channels. The map $M$ doubles one channel and mixes it into another: invertible, far from a similarity.

# %%
A = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]], dtype=torch.float64)
B = torch.tensor([[1.0, 1], [0, 2], [-1, 0], [1, -1]], dtype=torch.float64)
M = torch.tensor([[2.0, 1], [0, 1]], dtype=torch.float64)
pd.DataFrame(
    {
        "A, B": [similarity.r2(A, B), similarity.r2(B, A), similarity.cca(A, B)],
        "AM, B": [
            similarity.r2(A @ M, B),
            similarity.r2(B, A @ M),
            similarity.cca(A @ M, B),
        ],
    },
    index=["R²(first, second)", "R²(second, first)", "CCA"],
).astype(float)

# %% [markdown]
# (sec-experiment-4)=
# ## Experiment 4: CKA pressed down
#
# *On the authors' Tiny-10 a lower CKA is not free: where it is below 0.75, two points or more are lost beyond what the same training loses without a penalty* ({numref}`fig-pressed`). The paper
# reports an essentially unchanged accuracy for a ResNet-20 of three times the width, whose weights are not published.
#
# Stitch a network to *itself*, from the identity, and add CKA to the loss: cross-entropy $+\ \lambda\cdot\mathrm{CKA}$, both of the batch. Nothing forces the
# activations to stay as they are, except the task. A control trains the same stitch at $\lambda = 0$: what it loses is due to training, and not to CKA.


# %%
uses = [*shared, "layer", "penalty", "penalty_epochs", "penalty_lr"]


@run.table(pair=range(pairs), weight=[0.0, penalty], uses=uses)
def curves_4(pair, weight):
    itself = junction(joined[pair][0], joined[pair][0])
    options = {"penalty": weight, "epochs": penalty_epochs, "lr": penalty_lr}
    return functional.pressed(itself, **options, seed=seed + pair)


both, said = run.with_recorded("curves_4")
started = both.groupby(["run", "pair"])["accuracy"].transform("first")
shown = both.assign(lost=started - both["accuracy"], CKA=both["cka"].round(1))
shown["penalty"] = shown["weight"].map(lambda weight: f"λ = {weight:g}")
each = ["run", "pair", "penalty", "CKA"]
shown = shown.groupby(each, sort=False)["lost"].mean().reset_index()

# %% mystnb={"figure": {"name": "fig-pressed", "caption": "A lower CKA costs accuracy: points that a network loses when it is stitched to itself, against the CKA of the stitched activations with its own, over all epochs of the training (CKA rounded to tenths; mean over networks with 95 % interval). λ = 0 is the control, which is trained alike without a penalty. The dotted line is one point."}, "image": {"alt": "Curves of lost points of accuracy against CKA: the control stays at a CKA of 1, the penalised stitch moves from 1 to the left."}}
axes = {"panels": "run", "xlabel": "CKA"}
mean_curves(shown, "CKA", "lost", "penalty", ylabel="points lost", level=1, **axes)


# %%
experiment_4 = functional.trade_off(curves_4)
largest = functional.trade_off(both[both["run"] == both["run"].iloc[-1]])
Markdown(
    f"In the largest run CKA falls to {largest['lowest'].mean():.2f} on average over {len(largest)} networks. At the "
    f"epochs where it is below 0.75 the accuracy is {largest['lost'].mean():.1f} points below its start, and "
    f"{largest['beyond_control'].mean():.1f} points below the control at the same epochs. {said}"
)

# %% [markdown]
# Why should it be free? Behind a stitch there may be directions that the rest of the network maps to nothing, or that its ReLUs cut off. A stitch that inflates one of them until it dominates every inner
# product between images moves CKA alone. A wider network may have more of them. The trade is between $\lambda$ and the
# learning rate: too little, and CKA hardly moves in the given number of epochs; too much, and the cross-entropy loses.
#
# So a low index alone is no evidence of a difference in function: one also needs a reason to believe that nobody pushed. Between two networks
# trained alike nobody does.
#
# (sec-orthogonal)=
# ## Section 6.4: what CKA does not see
#
# The opposite direction needs no training. An index with a group of invariances says 1 for a whole orbit of representations. If the rest of the network does not share the group, the orbit leads anywhere. Linear CKA does not see rotations; the rest of the network does. The same holds for a permutation; an
# element of $G_{\mathrm{ReLU}}$ may change CKA as well. It is a symmetry only if the next weights move with it, and between a network and itself
# nobody moves them. The table has the accuracies:

# %%
itself, draw = junction(joined[0][0], joined[0][0]), run.generator()
kinds = ("orthogonal", "permutations", "G_ReLU")
section_6_4 = functional.moved_by_groups(itself, trials, groups=kinds, generator=draw)
section_6_4["cka_short_of_1"] = 1 - section_6_4["cka"]
section_6_4.groupby("group", sort=False)[["accuracy", "base_accuracy", "cka"]].mean()

# %% [markdown]
# *So CKA is no objective for direct matching either, as the paper says.* Between the authors' Tiny-10 a stitch that is trained for the largest CKA alone, from the identity, ends with a
# higher CKA than least squares and with about a fifth of the answers right, where least squares has four fifths.


# %%
@run.table(pair=range(pairs), uses=[*shared, "layer", "stitch_epochs", "penalty_lr"])
def objective(pair):
    options = {"epochs": stitch_epochs // 2, "lr": penalty_lr, "seed": seed + pair}
    return functional.cka_as_objective(junction(*joined[pair]), **options)


shown, said = run.largest("objective")
Markdown(
    f"By CKA alone the stitch reaches a CKA of {shown['cka_chosen'].mean():.2f} and {shown['accuracy_chosen'].mean():.0f} % accuracy; "
    f"least squares has a CKA of {shown['cka_fitted'].mean():.2f} and {shown['accuracy_fitted'].mean():.0f} %. {said}"
)

# %% [markdown]
# (sec-ding)=
# ## Tests that the papers left undone
#
# {cite}`godfrey2022` name what their measures were not put to: the sensitivity and specificity tests of {cite}`ding2021`. Both need a ground truth.
#
# A measure that always said 0.9 would pass neither; one that said "equal" for every pair from one architecture would pass neither. The tests do not ask what the right value is, only what the value distinguishes.
#
# *Specificity.* Two networks differ by their seed. A layer should be most similar to the *same* layer of the other network. We count how often it is, over
# pairs of networks, layers and both directions.
#
# *Sensitivity.* Take principal components away, the smallest first. At some share a linear probe loses accuracy. A measure is sensitive if it says, before that, that
# the layer is further from itself than two seeds are from each other.
#
# The original tests used language models with many seeds, correlated a dissimilarity with the difference in probing accuracy, and compared measures by rank correlations. With a few seeds a rank correlation is mostly noise.
# So here is the question in its plainest form: at which loss does the measure first leave the range that a change of seed explains?
#
# For both, features are averaged over space, which commutes with $G_{\mathrm{ReLU}}$ and with rotations of channels.

# %%
chosen = ("grelu cka", "cka", "grelu procrustes", "procrustes", "cca")
measures = {measure: MEASURES[measure] for measure in chosen}
names = [one.name for one in joined[0][0].hidden_layers()]
everyone = list(chain(*joined[:3]))


def pooled(network, images):
    """Every layer's features, averaged over space."""
    found = activations(network, names, images)
    return {layer: values.flatten(2).mean(2) for layer, values in found.items()}


seen, known = ([pooled(net, d.images) for net in everyone] for d in (test, train))
specific = functional.specificity(seen, measures)
specific.pivot_table(index="measure", columns="layer", values="found", sort=False)

# %%
parts = [known, seen]
inputs, tests = ([features_of[name] for features_of in part] for part in parts)
kept = [1.0, 0.9, 0.75, 0.5, 0.25, 0.1, 0.05]
taken = functional.sensitivity(inputs, train.labels, tests, test.labels, measures, kept)
taken["ratio"] = taken["dissimilarity"] / taken["between_seeds"]
taken["share"] = 100 * (1 - taken["kept"])

# %% mystnb={"figure": {"name": "fig-sensitivity", "caption": "What is taken away from a layer, and what the measures say: dissimilarity of the layer from itself without its smallest principal components, as a multiple of the dissimilarity of two seeds; mean over networks with 95 % interval. Above the dotted line the loss is told from a change of seed."}, "image": {"alt": "One curve for each of five measures against the share of principal components taken away, rising from zero; a dotted line at one."}}
mean_curves(
    taken,
    "share",
    "ratio",
    "measure",
    xlabel="components taken away, %",
    ylabel="dissimilarity / that of seeds",
    level=1,
)

# %%
told = taken[taken["detected"]].groupby(["measure", "network"])["kept"].max().unstack()
lost = taken.groupby("kept", sort=False)["lost"].mean()
harmful = lost[lost > 1].index.max()
probe = (
    f"first loses more than a point, on average, when {100 * harmful:.0f} % of the components are left"
    if harmful == harmful
    else "never loses a point here"
)
Markdown(
    f"A linear probe {probe}. The measures tell the loss from a change of seed at, on average: "
    + "; ".join(
        f"{m}, {100 * told.loc[m].mean():.0f} % left"
        if m in told.index
        else f"{m}, never"
        for m in measures
    )
    + "."
)

# %% [markdown]
# Read {numref}`fig-sensitivity` beside the text above: a measure whose curve passes 1 only after the probe has lost accuracy is not sensitive to what the
# probe uses. A measure of which two seeds are far apart has a high bar to pass: specificity and sensitivity are bought from each other.

# %% [markdown]
# (sec-baseline)=
# ## What the paper prints
#
# For Tiny-10 at layer 3, ten pairs: CKA and $R^2_{LR}$ fall while the cross-entropy falls, and CCA does not move ({numref}`fig-along`). For a three times wider ResNet-20, stitched to
# itself at layer 2.0: CKA below 0.7 at essentially unchanged accuracy ({numref}`fig-pressed`). As a baseline, the mean CKA of transformed activations with those of the second network
# is $0.922\pm0.098$ for ResNets and $0.883\pm0.050$ for Tiny-10, ten pairs and all layers. Ours, over the layers that the parameters name:


# %%
uses = [*shared, "stitch_epochs", "stitch_lr"]


@run.table(pair=range(pairs), number=baseline_layers, uses=uses)
def baseline_6_3(pair, number):
    place = junction(*joined[pair], f"relu{number}")
    cka = functional.cka_after_training(place, **budget, seed=seed + pair)
    return {"cka": cka, "networks": networks}


baseline_6_3.groupby("number")["cka"].agg(["mean", "std"])

# %% tags=["hide-input"]
if (
    networks == "tiny10"
):  # the authors' pair of ResNet-20, whose stitches are trained for fewer epochs
    whole = [data.load(dataset, split, device=device) for split in ("train", "test")]
    doubles, on = published_pairs("resnet20w1", 1, *whole)
    on = on[0][:train_images], on[1][:test_images]

    @run.table(layer=cuts(doubles[0][1]), uses=uses)
    def baseline_6_3_resnet(layer):
        place = Junction(*doubles[0], layer, on[0], test=on[1], device=device)
        short = budget | {"epochs": stitch_epochs // 5}
        return {
            "pair": 0,
            "cka": functional.cka_after_training(place, **short, seed=seed),
        }

# %% [markdown]
# :::{admonition} Deviation from the paper
# :class: note
# Unless `networks` is `tiny10`, the networks are Myrtle CNNs, and experiment 4 stitches one of them instead of a wide ResNet. Indices are those of test images, all positions
# being samples for $R^2$, CCA and SVCCA, where the paper flattens maps, which needs more images than features. CKA is biased and of flattened maps, as in the paper.
# :::
#
# ## What would break it
#
# A null for CKA: how similar are the first network's activations, before any stitch, to *shuffled* activations of the second?

# %%
place = junction(*joined[0])
ours, theirs = place.activations("test")
null = similarity.null(functional.flat_cka, ours, theirs, repeats=10, generator=draw)
Markdown(
    f"CKA before any stitch: {null.observed:.3f}. Shuffled images: {null.low:.3f} to {null.high:.3f}."
)

# %% [markdown]
# ## Adapt this
#
# Any two networks with a layer of feature maps; any differentiable index as a penalty. Here CKA is *raised* instead, by a negative penalty:

# %%
options = {"penalty": -penalty, "epochs": 3, "lr": penalty_lr, "seed": seed}
raised = functional.pressed(place, **options)
raised[["epoch", "accuracy", "cka"]]

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-cca-blind
# CCA does not see an invertible stitch. Predict what it says of a stitch of rank 1, and check.
# :::
#
# ::::{solution-start} ex-cca-blind
# :class: dropdown
# ::::
# One canonical correlation is left, and the mean is over one: CCA may even *rise*.

# %%
direction = torch.randn(ours.shape[1], generator=draw).to(device)
moved = ours[:, :1] * direction[:, None, None]  # the first channel, in one direction
before, after = (
    similarity.cca(X, theirs, spatial="samples").item() for X in (ours, moved)
)
pd.Series({"before": before, "rank 1": after}, name="CCA")

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - An index is blind to its invariances, whatever they cost: rotations leave CKA at 1, whatever they do to the accuracy.
# - An index may stay where function does not, and be moved on purpose: compare with a control that is trained alike.
# - $R^2_{LR}(AM, B)$ cannot tell what a stitch does; say which $R^2$ you mean.
# - Test a measure for specificity and sensitivity on your own networks: both need no more than a few seeds and a probe.
#
# Back to {doc}`04_dissimilarity`, on to {doc}`05_interpretability`, which looks at one network and at single units.
#
# ## Provenance

# %%
written = {"experiment_3": experiment_3, "experiment_4": experiment_4}
written |= {"section_6_4": section_6_4, "specificity": specific, "sensitivity": taken}
run.write(**written)
results.provenance()
