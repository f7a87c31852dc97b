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
# # 4b · Similarity and function
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`04_dissimilarity`: what a measure ignores, and its null; {doc}`03_stitching`: stitched networks;
# {doc}`03b_matching`: maps fitted, or trained by the task.
#
# **You will learn** what a similarity score says of function, and what it cannot say.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/04b_similarity_and_function>`.
# :::
#
# ## The question
#
# A similarity index compares the activations of two networks; a stitched network uses them.
# *Does a high index say that the second network can work with what it gets?*
#
# **No: at CKA 1 a network may be ruined, and at a CKA of {fact}`04b_similarity_and_function.pressed_cka:.2f` it may
# work** ({numref}`fig-no-relation`), as {cite:t}`csiszarik2021` say.

# %% tags=["hide-input"] figure="fig-no-relation"
import pandas as pd

from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.style import COLOURS, use_style
from intertwine_book.record import on_record
from intertwine_book.tidy import of

use_style()
NAME = "04b_similarity_and_function"
tables = [on_record(NAME, "inserted").rename(columns={"group": "way"})]
tables += [on_record(NAME, "objective")]
pressed = of(on_record(NAME, "penalised"), weight=2, epoch=12)
tables += [pressed.assign(way="trained to lower CKA")]
trained = of(on_record(NAME, "trainings"), recipe="short", epoch=10)
tables += [trained.assign(way="trained for the task")]
places = {
    "permutations": (1.08, 20, "sky"),
    "permutations with positive scalings": (0.65, 22, "blue"),
    "trained for CKA": (0.9, 30, "pink"),
    "least squares": (0.9, 74, "red"),
    "trained for the task": (0.87, 94, "green"),
    "trained to lower CKA": (0.65, 74, "grey"),
    "orthogonal matrices": (1.115, 8, "orange"),
}
scatter(
    pd.concat(tables),
    *("cka", "accuracy", "way"),
    colours={way: COLOURS[tone] for way, (*_, tone) in places.items()},
    places={way: at[:2] for way, at in places.items()},
    level=of(on_record(NAME, "penalised"), epoch=0)["accuracy"].mean(),
    height=2.6,
    xlabel="CKA with the second network's activations",
    ylabel="accuracy of the stitch, %",
    ylim=(0, 100),
    xlim=(0.44, 1.22),
    xticks=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
)

# %% [markdown]
# :::{figure} #fig-no-relation
# ---
# alt: >-
#   A scatter of accuracy in percent against CKA.
#   Near CKA 1 there are dots at 8 to 28 and at 79 to 84 percent; at CKA 0.5 to 0.9 there are dots at 80 to 84
#   and at 7 to 16 percent.
# ---
# CKA does not tell a stitch that works from one that does not.
# Each dot is a map at one place of Tiny-10 networks, which {cite:t}`csiszarik2021` published.
# Members of groups, and maps trained to lower CKA, join a network with itself; the others join two networks.
# Dotted: the networks alone.
# :::

# %% [markdown]
# - *CKA 1, accuracy {fact}`04b_similarity_and_function.rotated:.0f` %.*
#   A random orthogonal matrix on the channels leaves CKA at 1, and accuracy falls from
#   {fact}`04b_similarity_and_function.unrotated:.0f` % to that of guessing.
# - *Lower CKA, hardly lower accuracy.*
#   Maps that were trained to lower CKA lose a few points.
# - *Higher CKA, lower accuracy.*
#   A map that was trained for CKA alone beats least squares in CKA, and is useless.
#
# A sceptic will object to the first point.
# CKA 1 after an orthogonal matrix is true *by construction*, and the weights of the back were not changed to undo the
# matrix, nor the permutations.
# CKA never promised to notice.
# A section below asks {ref}`the fair question <sec-best-stitch>`: if nothing is inserted, does CKA of two layers
# predict how good the *best* stitch between them is?
#
# ## What does an index compare?

# %% tags=["hide-input"]
from dataclasses import replace

# %% tags=["parameters"]
from typing import Literal

import torch
from torch.nn.functional import cross_entropy

from intertwine import devices, similarity
from intertwine.features import activations
from intertwine.groups import Orthogonal
from intertwine.stitching import STITCH_RECIPES, Junction, stitch_at
from intertwine_book import data, zoo
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.schematics import two_ways_diagram
from intertwine_book.live.benches import ruined_by_a_rotation

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and draws
width: int = 16  # channels of the Myrtle CNN's first convolution
epochs: int = 8  # of the networks' training
layer: int = 3  # activation that is stitched, from 1
images: int = 1000  # training images for stitches, at most
test_images: int = 300  # for indices and accuracies, at most
penalty: float = 2.0  # on CKA
penalty_epochs: int = 8  # of a stitch trained against CKA

# %% tags=["hide-input"] figure="fig-index-diagram"
at_cut, behind = "index: compare\nMX with Y", "function: compare\nanswers"
two_ways_diagram(at_cut, behind, name="$M$")

# %% [markdown]
# :::{figure} #fig-index-diagram
# ---
# alt: >-
#   Two rows of boxes, the layers of two networks, joined by a map; a mark after the cut reads index: compare M
#   X with Y;
#   a mark after the last layer reads function: compare answers.
# ---
# An index compares activations after the cut; the function shows in the answers.
# $M$ is the stitch, $MX$ are the stitched activations, $Y$ those of the second network.
# :::

# %% [markdown]
# Let $X$ and $Y$ be the activations of two layers, one column for every image, with the mean over the images
# subtracted (in code an image is a row).
# The table $K = X^\top X$ says how alike any two images are for the first network, and $L = Y^\top Y$ for the second.
# *CKA is the cosine of the two tables* at the cut of {numref}`fig-index-diagram`, with Frobenius norms:
#
# $$
# \begin{aligned}
# \mathrm{CKA}(X, Y) &= \frac{\langle K, L\rangle}{\lVert K\rVert\,\lVert L\rVert} \\
# &= \frac{\lVert YX^\top\rVert^2}{\lVert XX^\top\rVert\,\lVert YY^\top\rVert}.
# \end{aligned}
# $$ (eq-biased-cka)
#
# As in the paper the diagonals stay ({doc}`04_dissimilarity` leaves them out), so that few images raise it.
# A column of $X$ has all channels and positions of an image; a stitch $M$ acts on the channels, at every position
# alike.

# %% tags=["hide-input"]
device = devices.pick(device)
sets = [data.load(dataset, part, device=device) for part in ("train", "test")]
recipe = zoo.RECIPES["digits" if dataset == "digits" else "fast"]
shape = {"width": width, "in_channels": sets[0].images.shape[1]}
spec = zoo.Spec("myrtle", sets[0], replace(recipe, epochs=epochs), shape)
f, g = zoo.pairs(spec, 1, seed=seed, device=device)[0]
train, test = sets[0][:images], sets[1][:test_images]
exact = {"device": device, "dtype": "float32"}
name = f"relu{layer}"
place, itself = (Junction(f, h, name, train, test=test, **exact) for h in (g, f))
first, second = place.activations("test")
draw = torch.Generator().manual_seed(seed)


# %%
def cka(X, Y):
    """Of rows, which are images."""
    X, Y = (Z.flatten(1).double() for Z in (X, Y))
    X, Y = X - X.mean(0), Y - Y.mean(0)
    K, L = X @ X.T, Y @ Y.T  # which images are alike
    return (K * L).sum() / (K.norm() * L.norm())


print(f"CKA between two networks: {cka(first, second):.2f}")

# %% tags=["hide-input"]
theirs = similarity.cka(first, second, estimator="biased", spatial="features")
assert torch.isclose(cka(first, second), theirs)

# %% [markdown]
# ## How can an index and a function disagree?
#
# *CKA weighs every direction by the square of its variance, and the task reads directions by its weights.*
# Take $d$ directions of equal variance, of which the task reads one.
# Stretch one that the task ignores by a factor $s$.
# Before and after,
#
# $$\mathrm{CKA} = \frac{s^2 + d - 1}{\sqrt{d\,(s^4 + d - 1)}},$$ (eq-inflated)
#
# which falls to $1/\sqrt d$ as $s$ grows, and the answers stay what they were ({ref}`ex-inflated-limit`).
# Now stretch this direction in *both* sets.
# It dominates both tables, so CKA is near 1, and hardly changes when all other directions are shuffled
# ({numref}`fig-inflated`).

# %%
cloud = torch.randn(400, 3, generator=draw)
label = cloud[:, 1] > 0  # the task reads the second direction
loud = cloud * torch.tensor([8.0, 1, 1])
mixed = cloud[torch.randperm(len(cloud), generator=draw)]
hidden = torch.cat([loud[:, :1], mixed[:, 1:]], 1)

for one, two in ((cloud, loud), (loud, hidden)):
    right = ((two[:, 1] > 0) == label).double().mean()
    print(f"CKA {cka(one, two):.2f}, answers right {right:.0%}")

# %% tags=["hide-input"] figure="fig-inflated"
titles = "a cloud", "stretched:\nCKA 0.6, all right", "shuffled:\nCKA 1.0, half right"
points = [
    pd.DataFrame(each[:, :2].numpy(), columns=["x", "y"]).assign(label=label, of=title)
    for title, each in zip(titles, (cloud, loud, hidden), strict=True)
]
scatter(
    pd.concat(points).replace({"label": {True: "one answer", False: "the other"}}),
    *("x", "y", "label"),
    panels="of",
    colours={"one answer": COLOURS["blue"], "the other": COLOURS["orange"]},
    xlabel="ignored by the task",
    ylabel="read by the task",
)

# %% [markdown]
# :::{figure} #fig-inflated
# ---
# alt: >-
#   Three clouds of blue and orange points. Left: blue above, orange below.
#   Middle: the same, stretched sideways. Right: stretched, with both colours mixed.
# ---
# One loud direction rules CKA.
# The task tells blue from orange, by height.
# Middle: the ignored direction is stretched, and every answer is right.
# Right: stretched, too, with the heights shuffled; CKA is that with the middle cloud.
# :::

# %% [markdown]
# (sec-orthogonal)=
# ## What does CKA not see?
#
# :::{prf:proposition}
# :label: prop-cka-group
# For a square matrix $M$, $\mathrm{CKA}(MX, Y) = \mathrm{CKA}(X, Y)$ for all centred $X$ and $Y$ if and only if
# $M = cQ$ with $c \ne 0$ and an orthogonal matrix $Q$.
# :::
#
# ::::{prf:proof}
# If $M = cQ$, the table of $MX$ is $X^\top M^\top MX = c^2K$, whose cosine with $L$ is that of $K$.
#
# Conversely take $Y = X$ with $XX^\top$ invertible.
# The cosine of $X^\top M^\top MX$ and $X^\top X$ is 1, so by Cauchy–Schwarz
# $X^\top M^\top MX = \lambda X^\top X$ with $\lambda > 0$.
# Multiply by $X$ from the left and by $X^\top$ from the right, and cancel $XX^\top$ on both sides:
# $M^\top M = \lambda I$.
# ::::
#
# A matrix on the channels, applied at every position, is orthogonal if the matrix is.
# So CKA of a layer with its whole orbit under this group is 1, and the layers after the cut are not invariant:

# %%
Q = Orthogonal(first.shape[1]).sample(draw).to(first)
turned = stitch_at(itself, Q)
value = cka(turned.stitch(first), first)
print(f"CKA {value:.4f}, accuracy {turned.evaluate(test):.1%}")

# %% [markdown]
# {numref}`fig-turn-cka` does this to a small network.
# *How far back must you turn before it works?
# And which map repairs the full turn?*

# %% tags=["hide-input"] figure="fig-turn-cka"
ruined_by_a_rotation()

# %% [markdown]
# :::{figure} #fig-turn-cka
# ---
# alt: >-
#   Two bars, accuracy and CKA, ten digits with answers, a square that shows the map, a slider for the rotation
#   and buttons for the map.
# ---
# Turned all the way, the layer has CKA 1 with itself, and its network misreads most digits.
# The accuracy falls along the rotation, and CKA does not; least squares turns the layer back.
# A network for digits, joined with itself after the second ReLU; the line is the network alone.
# :::

# %% [markdown]
# Least squares undoes the rotation, and CKA has not moved.
# So CKA is no objective for a map, as the paper says: it fixes neither the rotation nor the scale.
# A permutation keeps the function only if the next weights undo it, and a stitch between a network and itself leaves
# the next weights as they are.
#
# (sec-experiment-4)=
# ## Can CKA be lowered for nothing?
#
# *Cheaply, but not for nothing.*
# Stitch a network to *itself*, from the identity, and add CKA to the loss:
#
# $$\text{cross-entropy} + \lambda\,\mathrm{CKA}(MX, X).$$ (eq-pressed)

# %%
M = torch.eye(first.shape[1], device=device).requires_grad_()
values, labels = itself.activations("train")[0], itself.labels("train")
optimiser = torch.optim.Adam([M], lr=0.01)
for _ in range(penalty_epochs):
    for batch in torch.randperm(len(values), generator=draw).split(128):
        moved = torch.einsum("nc...,dc->nd...", values[batch], M)
        loss = cross_entropy(itself.back(moved), labels[batch])
        loss = loss + penalty * cka(moved, values[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
mine, alone = stitch_at(itself, M.detach()), stitch_at(itself, "identity")
print(f"CKA {cka(mine.stitch(first), first):.2f}", end=", ")
print(f"right {mine.evaluate(test):.1%}, alone {alone.evaluate(test):.1%}")

# %% [markdown]
# In the recorded runs a control is trained in the same way without CKA, because training alone moves a map.
# Where CKA falls below 0.75, as in most of twenty networks, Tiny-10 loses
# {fact}`04b_similarity_and_function.beyond_low:.0f` to {fact}`04b_similarity_and_function.beyond_high:.0f` points more
# than its control ({ref}`rec-experiment-4`).
# The paper reports an essentially unchanged accuracy in a network of three times the width, which may have
# more directions that the back does not read.
#
# CKA may also miss a gain: trained for the task before a ReLU, stitches of Tiny-10 become better, and their CKA ends
# slightly *lower* than it began, in every pair ({ref}`rec-experiment-3`).
#
# (sec-best-stitch)=
# ## The fair question: does CKA predict the best stitch?
#
# Now nothing is inserted.
# Take CKA of two layers as they are, train a stitch between them for the task, and compare
# ({numref}`fig-best-stitch`).
# The fronts are a trained network, an untrained one, and for digits *class noise*, as in {doc}`03b_matching`:
# one feature map of random numbers for each class, with noise added for every image.
# Class noise knows the label and has seen nothing.

# %% tags=["hide-input"] figure="fig-best-stitch"
best = on_record(NAME, "best_stitch")
kept = 100 * best["accuracy"] / best["accuracy2"]
names = {"Tiny-10": "Tiny-10, CIFAR-10", "Myrtle, digits": "small networks, digits"}
scatter(
    best.assign(kept=kept, panel=best["networks"].map(names)),
    *("cka", "kept", "front"),
    panels="panel",
    colours={
        "trained": COLOURS["green"],
        "untrained": COLOURS["grey"],
        "class noise": COLOURS["pink"],
    },
    xlabel="CKA of the two layers",
    ylabel="best stitch keeps, %",
    ylim=(0, 105),
)

# %% [markdown]
# :::{figure} #fig-best-stitch
# ---
# alt: >-
#   Two scatters of the share of accuracy that the best stitch keeps against CKA.
#   Green dots, trained fronts, lie at the top at every CKA from 0.7 to 1; grey dots, untrained fronts of Tiny-10, fall
#   with CKA; pink dots, class noise on digits, lie at the top at a CKA of 0.6 to 0.7.
# ---
# On Tiny-10, at the same layer, CKA tells trained fronts from untrained ones; it does not order the layers of trained
# ones.
# Each dot is one layer of one pair of networks, five pairs each; accuracy is a share of the second network's.
# Stitches are trained by the task, before the ReLU (left) and after it (right).
# :::

# %% [markdown]
# - *A trained front beats an untrained one in CKA and in accuracy*, at each layer of each pair of Tiny-10.
# - *From layer to layer of trained fronts a lower CKA is no worse.* Between pairs at one layer it may be: five pairs do
#   not decide it.
#   CKA is lowest at the last layers, and the best stitch keeps nine tenths and more throughout; on digits it even
#   improves.
# - *A front that is nothing like the second network may be the best of all.*
#   Class noise has a lower CKA than a trained front at the same layer, and at the last two layers its stitch makes
#   hardly an error.
#
# So a high CKA between layers *that nobody tampered with* went with a good stitch here, and a low one decided nothing.
# CKA asks whether two layers have the same geometry; a stitch asks whether the front knows enough
# ({ref}`rec-best-stitch`).
#
# (sec-ding)=
# ## Does a measure find the same layer, and notice a loss?
#
# {cite:t}`ding2021` ask two things of a measure.
# It should be *specific*: two networks that differ by their seed should be most similar at the same layer.
# It should be *sensitive*: if a layer loses something that the task needs, the measure should notice.
#
# **Specific.**
# *CKA finds the same layer in {fact}`04b_similarity_and_function.found_cka:.0f` % of the cases, CCA in
# {fact}`04b_similarity_and_function.found_cca:.0f` %.*
# Why does CCA fail?
# Its value is the *mean* of the canonical correlations, over as many directions as the narrower layer has channels:


# %%
def cca(X, Y):
    """Of rows, which are images."""
    bases = []
    for Z in (X, Y):
        U, S, _ = torch.linalg.svd(Z - Z.mean(0), full_matrices=False)
        bases.append(U[:, S / S[0] > 1e-6])
    return torch.linalg.svdvals(bases[0].T @ bases[1]).mean()


maps = [activations(h, [name], test.images)[name] for h in (f, g)]
pooled = [each.flatten(2).mean(2).double() for each in maps]
print(f"CCA between two networks: {cca(*pooled):.2f}")

# %% tags=["hide-input"]
assert torch.isclose(cca(*pooled), similarity.cca(*pooled), atol=1e-3)

# %% [markdown]
# The weakest direction counts as much as the strongest, and a narrow layer finds good partners among the many
# directions of a wide one.
# In {numref}`fig-specificity` CCA finds layer 3 most similar to layer 2, which is half as wide.
# Cut every layer to its 16 leading components, and CCA finds the same layer, too.
# This changes the width and drops the weak directions, and we do not know which one helps.

# %% tags=["hide-input"] figure="fig-specificity"
measures = {"cca": "CCA", "cca_16": "CCA of 16", "cka": "CKA"}
shown = on_record(NAME, "between_layers").replace("relu", "", regex=True)
shown = shown.melt(["pair", "row", "column"], [*measures], "measure")
shown = shown.replace({"measure": measures})
by = ["measure", "row", "column"]
shown = shown.groupby(by, sort=False, as_index=False)["value"].mean()
most = shown.groupby(["measure", "row"])["value"].transform("max")
heatmap(
    shown.assign(largest=shown["value"] == most),
    *("row", "column", "value"),
    panels="measure",
    limits=(0.0, 1.0),
    label="similarity",
    xlabel="layer of the other network",
    ylabel="layer",
    outlined="largest",
)

# %% [markdown]
# :::{figure} #fig-specificity
# ---
# alt: >-
#   Three square matrices. CCA: the frames of most rows lie off the diagonal.
#   CCA of 16 components and CKA: all frames lie on the diagonal.
# ---
# CCA prefers layers of another width; with equally many components everywhere it finds the same layer.
# Mean similarity between the layers of two Tiny-10 networks; a frame marks the most similar layer of each row.
# :::

# %% [markdown]
# **Sensitive.**
# *On layer 3 of Tiny-10 a linear probe loses {fact}`04b_similarity_and_function.probe:.0f` of its
# {fact}`04b_similarity_and_function.probe_whole:.0f` points before any of five measures notices.*
# Take principal components away from a layer, the smallest first, and compare the rest with the whole.
# A measure notices if this difference exceeds that of the same layer in two networks with different seeds.
# Orthogonal Procrustes notices first, CKA never does on average, and CCA cannot: a layer and a part of it have all
# canonical correlations equal to 1 ({ref}`rec-ding`).
#
# ## What may I conclude from a similarity score?
#
# With `from intertwine.similarity import compare, null` and `from intertwine.stitching import stitch, stitch_at`;
# `f` and `g` are networks, `fresh` is an untrained one, `X` and `Y` are features of `l`, one of the `layers`, `x` is a
# data set, `gen` a `torch.Generator`, `M` a map, `p` a penalty, `r` a `StitchRecipe` and `cut` a `Junction`, both of
# `intertwine.stitching`.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you ask
#   - use
#   - beware
# * - Do two layers have one geometry?
#   - CKA beside untrained networks: `null("cka", X, Y, kind=untrained, generator=gen)`
#   - Two untrained networks may have a high CKA, too ({doc}`04_dissimilarity`).
# * - Can one network use what the other computes?
#   - a stitch, trained: `stitch(f, g, at=l, train=x, recipe=r)`
#   - A lower CKA does not say that it cannot, nor a CKA of 1 that it does.
# * - Did they learn the same?
#   - both, also for an untrained front: `stitch(fresh, g, at=l, train=x, recipe=r)`
#   - Class noise stitches perfectly late in a network.
# * - Which layer corresponds to which?
#   - CKA of all layers: `compare(f, g, layers, x.images)`
#   - CCA of layers of unequal widths misleads.
# * - Has a layer lost what the task needs?
#   - a probe, or a stitch to itself: `stitch_at(cut, M)`
#   - A measure may notice only after much accuracy is gone.
# * - Does lowering an index cost accuracy?
#   - a stitch trained against it: `stitch_at(cut, "full", penalty=p, recipe=r)`
#   - Train a control without the penalty.
# :::
#
# ## Adapt this
#
# Take two networks with a layer of feature maps, and any differentiable index as a `penalty`.
# A strong one, 20 times CKA, lowers it far and costs accuracy, as a control without it shows.
# Both start at the identity.

# %%
import torch
from torch import nn

from intertwine import similarity, training
from intertwine.stitching import STITCH_RECIPES, Junction, stitch_at
from intertwine_book import data

known, new = (data.load("digits", s, device="cpu") for s in ("train", "test"))
four = training.Recipe(4, batch_size=64, lr=1e-2, optimizer="adam")


def mine(seed):
    ends = nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10)
    net = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), *ends)
    return training.train(net, known, four, seed=seed, device="cpu").network


def index(moved, theirs):
    return similarity.cka(moved, theirs, spatial="features")


torch.manual_seed(0)  # of the initial weights
cut = Junction(mine(0), mine(1), "1", known, test=new, device="cpu")
begun = {"start": "identity", "recipe": STITCH_RECIPES["digits"]}
one, two = cut.activations("test")
for weight in (20.0, 0.0):
    press = lambda moved, theirs: weight * index(moved, theirs)
    made = stitch_at(cut, "full", **begun, penalty=press)
    left = index(made.stitch(one), two).item()
    print(f"{weight:g}: {made.evaluate(new):.1%}, CKA {left:.2f}")

# %% [markdown]
# ## What others found
#
# {cite:t}`kornblith2019` introduced the test whether a measure finds the same layer, which CCA failed there, too.
# {cite:t}`davari2023` moved a few points so that CKA fell far and the function stayed.
# {cite:t}`cloos2024` maximised similarity by gradient, and found that a high score, above all of CKA, does not
# guarantee that the task can be read.
# {cite:t}`bansal2021` argue that stitching shows what CKA cannot.
# {cite:t}`hernandez2023` and {cite:t}`smith2025` doubt the converse: layers that lie far apart, and clustered
# noise, can be stitched well.
# {cite:t}`klabunde2025` keep measures of representations apart from measures of function, as this page does.
#
# ## Exercises
#
# :::{exercise}
# :label: ex-inflated-limit
# *Warm-up.*
# Prove {eq}`eq-inflated` and its limit.
# How many equal directions does a layer need so that one inflated direction brings CKA below 0.7?
# :::
#
# ::::{solution} ex-inflated-limit
# :class: dropdown
# Let $X$ have $d$ uncorrelated rows of variance 1 over $N$ images, and let
# $Y = \operatorname{diag}(s, 1, \dots, 1)\,X$.
# Then $YX^\top/N = \operatorname{diag}(s, 1, \dots, 1)$
# and $YY^\top/N = \operatorname{diag}(s^2, 1, \dots, 1)$, so $\lVert YX^\top\rVert^2 = N^2(s^2 + d - 1)$,
# $\lVert XX^\top\rVert = N\sqrt d$ and $\lVert YY^\top\rVert = N\sqrt{s^4 + d - 1}$.
# The limit $1/\sqrt d$ is below 0.7 from $d = 3$ on.
# ::::
#
# :::{exercise}
# :label: ex-r2-blind
# The paper follows $R^2_{LR}(X, Y)$, the share of $Y$ that the *best* linear map of $X$ explains, along the
# training of a stitch $M$.
# Show that $R^2_{LR}(MX, Y) = R^2_{LR}(X, Y)$ for invertible $M$, and find $X$, $Y$, $M$ with
# $R^2_{LR}(Y, MX) \ne R^2_{LR}(Y, X)$.
# Which of the two can fall?
# :::
#
# ::::{solution} ex-r2-blind
# :class: dropdown
# $R^2$ compares the best prediction $ZX$ with $Y$, and $\{ZMX : Z\} = \{ZX : Z\}$.
# For the other order take rows of $X$ of which $Y$ predicts the first and not the second:
# a stretch of the second lowers the explained share.
# Only the second can fall; the paper's code has this order ({ref}`rec-experiment-3`).
# ::::
#
# :::{exercise}
# :label: ex-cca-blind
# CCA ignores an invertible stitch.
# Predict what it says of a stitch of rank 1, and check.
# :::
#
# ::::{solution-start} ex-cca-blind
# :class: dropdown
# ::::
# One canonical correlation is left, and the mean is over one: CCA may even *rise*.

# %% tags=["hide-input"]
direction = torch.randn(first.shape[1], generator=draw).to(device)
flat = first[:, :1] * direction[:, None, None]  # of rank 1
for name_of, each in {"before": first, "rank 1": flat}.items():
    print(f"{name_of}: CCA {similarity.cca(each, second, spatial='samples'):.2f}")

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-inflate-channel
# *With data.*
# Among channels that vary, find the one whose removal raises the loss least.
# Multiply it by 1 to 100, and draw CKA and accuracy.
# Does a factor lower CKA for less than the trained map of {ref}`sec-experiment-4`?
# :::
#
# ::::{solution-start} ex-inflate-channel
# :class: dropdown
# ::::


# %% tags=["hide-input"] figure="fig-ex-inflate"
def scaled(channel, factor):
    """The network with one channel multiplied."""
    diagonal = torch.ones(first.shape[1])
    diagonal[channel] = factor
    return stitch_at(itself, diagonal.diag().to(first))


cost = [itself.judge(scaled(k, 0.0)).loss for k in range(first.shape[1])]
varies = [k for k in range(len(cost)) if first[:, k].std() > 0.1 * first.std()]
least, found = min(varies, key=lambda k: cost[k]), []
for power in (0.0, 0.5, 1.0, 1.5, 2.0):
    big = scaled(least, 10**power)
    rows = {"accuracy": big.evaluate(test), "CKA": cka(big.stitch(first), first).item()}
    found += [
        {"power": power, "of": k, "share": v, "way": "scaled"} for k, v in rows.items()
    ]
single_curves(
    pd.DataFrame(found),
    *("power", "share", "way"),
    panels="of",
    colours={"scaled": COLOURS["blue"]},
    ylim=(0, 1.03),
    ylabel="share",
    xlabel="log₁₀ of the factor",
)

# %% [markdown]
# :::{figure} #fig-ex-inflate
# ---
# alt: >-
#   Two panels against the logarithm of the factor: accuracy and CKA of one network, stitched to itself.
# ---
# Stretching the least used channel of one network lowers CKA and accuracy together.
# The network is stitched to itself after a ReLU, in the run of this page.
# :::

# %% [markdown]
# No: in {numref}`fig-ex-inflate`, where CKA is as low as that of the map trained against it, many more answers are
# wrong.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-index-of-function
# *Open.*
# Build an index that follows function: weigh directions by what the back reads (its squared Jacobian,
# say) instead of by their variance.
# Does it order the stitches of {numref}`fig-no-relation` and the layers of {numref}`fig-best-stitch` by accuracy?
# To which group is it invariant?
# :::
#
# Back to {doc}`04_dissimilarity`, on to {doc}`05_interpretability`, which looks at single units of one network.
