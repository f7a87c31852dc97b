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
# # 2 · Sanity rotations
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the intertwiner group $G_\sigma$ of an activation
# and its map $\varphi_\sigma$.
#
# **You will learn** what a matrix before an activation costs a trained network,
# how least squares fits a linear repair, and why finetuning needs a control.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/02_sanity_rotations>`.
# :::
#
# ## The question
#
# Put a matrix $A$ before an activation, so that the layer passes on $\sigma(Az)$ instead of $\sigma(z)$.
# If $A$ lies in the intertwiner group $G_\sigma$, the matrix $\varphi_\sigma(A)^{-1}$ after the activation
# undoes it.
# If $A$ lies outside, no matrix undoes it on all inputs {cite}`godfrey2022`.
# A network sees only some inputs.
# *How much accuracy does $A$ cost on data, when a matrix after the activation, fitted by least squares, repairs it?*
#
# **Before a ReLU, a permutation with positive scalings costs nothing, and a random orthogonal matrix costs accuracy**:
# {fact}`02_sanity_rotations.lost_2:.0f` points on average at the second convolution of networks of width 64, as wide as
# the paper's, and {fact}`02_sanity_rotations.lost_5:.0f` at the third ({numref}`fig-own-group`).
#
# In {numref}`fig-angle` you choose the angle of a turn before ReLU: of two neurons, and of the second convolution of a
# network that this page trains on handwritten digits.
# Its 16 channels turn by the same angle in eight random planes.
# *When are two inputs equal, what can a repair still do, and which matrices cost nothing?*

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import nn

from intertwine import devices
from intertwine.features import rows
from intertwine.groups import GReLU, Orthogonal
from intertwine.training import evaluate, train
from intertwine_book import data, models, sanity, zoo
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.penalties import INSERTED_COLOURS, KIND_NAMES, bars
from intertwine_book.figures.readable import readable
from intertwine_book.figures.schematics import insertion_diagram
from intertwine_book.figures.style import use_style
from intertwine_book.live.angle import angle
from intertwine_book.record import on_record
from intertwine_book.tidy import of

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and transformations
width: int = 8  # channels of the first convolution
trials: int = 2  # matrices of a kind, in an exercise
epochs: int = 12  # of the networks' training
finetuning_epochs: int = 3  # of the paper's protocol
fit_images: int = 500  # training images that a map is fitted on, at most
test_images: int = 300  # test images that it is judged on, at most

# %% tags=["hide-input"]
ten = [data.load("digits", split, device="cpu") for split in ("train", "test")]
small = {"width": 8, "norm": False, "in_channels": 1, "activation": "relu"}
quick = replace(zoo.RECIPES["digits"], epochs=12, optimizer="adam", lr=3e-3)
spec = zoo.Spec("myrtle", ten[0], quick, small)
(turned,) = zoo.get(spec, [seed], device="cpu")

# %% tags=["hide-input"] figure="fig-angle"
angle(turned.network, "conv2", ten[0][:50], ten[1][:100])

# %% [markdown]
# :::{figure} #fig-angle
# ---
# alt: >-
#   Two planes with four coloured dots, of which two lie on each other at 45°, and a graph of accuracy against the
#   angle: with a repair it stays near its start and falls slowly, without one it falls to chance at about 90°.
# ---
# A turn by 45° before ReLU, where the slider starts, makes two of four inputs equal; the best repair leaves a quarter
# of their activations unexplained.
# Left: inputs after the turn (rings) and after ReLU (dots).
# Middle: where they belong (rings), and where the repair puts them (dots).
# Right: accuracy of a trained network on 100 digits, with a repair fitted on 50 others and without.
# Computed by this page.
# :::

# %% [markdown]
# Without a repair a large turn brings the network down to chance.
# The repair gives most of the accuracy back, on the whole less, the further one turns.
# At 90° no two of the four inputs are equal, and some nonlinear repair would be exact; the best matrix leaves a third.
# A stretch of the axes lies in the group: the repair undoes it, and nothing is lost.
#
# {numref}`fig-own-group` shows random matrices in networks as wide as the paper's, on photographs.

# %% tags=["hide-input"] figure="fig-own-group"
maps = on_record("02_sanity_rotations", "linear_maps")
wide = of(maps, width=64)
bars(of(wide, activation="relu"), ("positive scalings", "orthogonal"))

# %% [markdown]
# :::{figure} #fig-own-group
# ---
# alt: >-
#   Two bars, with dots for networks, for each of three convolutions: zero for permutations with positive scalings,
#   and one for orthogonal matrices that is largest at the third convolution.
# ---
# Before a ReLU, a permutation with positive scalings costs nothing; an orthogonal matrix costs
# {fact}`02_sanity_rotations.lost_5:.0f` points on average at the third convolution.
# Accuracy lost on CIFAR-10 after a repair by least squares.
# Dots: three networks of width 64, each the mean of five random matrices.
# :::

# %% [markdown]
# *Inside the group nothing is lost*: in every trial the number of right answers stays the same.
# Outside, most is lost at the third convolution, on average.
# At the first, no cost is established with three networks.
# Permutations with signs lie outside as well, and cost at most {fact}`02_sanity_rotations.signs_high:.0f` points on
# average.
# Where no activation acts, as on the residual stream of a transformer, an orthogonal matrix can be undone exactly, and
# QuaRot uses it before rounding {cite}`ashkboos2024quarot` ({doc}`01d_orbits`).
#
# ## Two neurons, four inputs
#
# Take two neurons, a turn by 45°, where the slider starts, and ReLU.
# Four inputs show what is lost:

# %%
z = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
turn = 0.5**0.5 * torch.tensor([[1.0, -1.0], [1.0, 1.0]])
hidden, wanted = torch.relu(z @ turn.T), torch.relu(z)
R = torch.linalg.lstsq(hidden, wanted).solution.T  # the repair
repaired = hidden @ R.T
steps = {"hidden": hidden, "repaired": repaired, "wanted": wanted}
for name, values in steps.items():
    print(f"third input, {name}: {values[2].round(decimals=2).tolist()}")

# %% [markdown]
# | $z$ | $Az$ | $\sigma(Az)$ | $R\sigma(Az)$ | wanted: $\sigma(z)$ |
# |---|---|---|---|---|
# | $(1, 1)$ | $(0, \sqrt2)$ | $(0, \sqrt2)$ | $(1, 1)$ | $(1, 1)$ |
# | $(1, -1)$ | $(\sqrt2, 0)$ | $(\sqrt2, 0)$ | $(1, 0)$ | $(1, 0)$ |
# | $(-1, 1)$ | $(-\sqrt2, 0)$ | $(0, 0)$ | $(0, 0)$ | $(0, 1)$ |
# | $(-1, -1)$ | $(0, -\sqrt2)$ | $(0, 0)$ | $(0, 0)$ | $(0, 0)$ |
#
# The turn moves the third and the fourth input to negative half-axes, where ReLU returns $(0, 0)$.
# After that they are equal, and no function of $\sigma(Az)$, linear or not, can tell them apart.
#
# (sec-own-group)=
# ## Which matrices stand where
#
# Let $z$ be the output of a layer with the weights $W, b$.
# {numref}`fig-insertion` shows two ways to ask what $A$ costs.
# The first keeps the network frozen and fits one matrix $R$, the *repair*, after the activation.
# The second is the paper's: it multiplies $A$ into the weights of the layer, and finetunes all later layers.

# %% tags=["hide-input"] figure="fig-insertion"
insertion_diagram()

# %% [markdown]
# :::{figure} #fig-insertion
# ---
# alt: >-
#   Three rows of boxes.
#   The first: W and b, sigma, rest.
#   The second: W and b, A, sigma, R, rest, with A and R in green.
#   The third: AW and Ab, sigma, rest, with the rest in another colour.
# ---
# Inserting A is the same as multiplying it into the weights; the two repairs differ.
# Above: the network.
# Middle: a matrix R after the activation is fitted, all else is frozen.
# Below: A is multiplied into the weights, and the later layers are finetuned.
# :::

# %% [markdown]
# A linear regression without intercept, on training images, finds $R$.
# Each position of each image gives one vector $z$:
#
# $$R = \operatorname*{arg\,min}_{R} \sum_z\lVert R\,\sigma(Az) - \sigma(z)\rVert^2.$$ (eq-best-map)
#
# The network goes on with $R\,\sigma(Az)$ on test images, and the *penalty* is the accuracy
# that it loses, in points.
# A matrix $R$ that is trained for accuracy may lose less; we have no such run.
# The *unexplained* share is $\sum_z\lVert R\,\sigma(Az) - \sigma(z)\rVert^2 / \sum_z\lVert\sigma(z)\rVert^2$.
#
# :::{prf:proposition} The regression undoes the group
# :label: prop-regression
# If $A\in G_\sigma$, the minimum in {eq}`eq-best-map` is 0 on every data set,
# and $R = \varphi_\sigma(A)^{-1}$ attains it.
# Let $S$ be the span of the fitted activations $\sigma(z)$.
# Every minimiser undoes $A$ on each input whose activation lies in $S$.
# If $S = \mathbb R^n$, there is one minimiser.
# :::
#
# :::{prf:proof}
# $\sigma(Az) = \varphi_\sigma(A)\sigma(z)$ for every $z$.
# So $R = \varphi_\sigma(A)^{-1}$ leaves no error.
# For every minimiser $R$, $R\,\varphi_\sigma(A)$ is the identity on the fitted activations, and so on $S$.
# :::
#
# Here is the fit for the second convolution of a small network, trained on handwritten digits by this page.

# %% tags=["hide-input"]
device = devices.pick(device)
digits, test = (data.load(dataset, split, device=device) for split in ("train", "test"))
usual = zoo.RECIPES["digits" if dataset == "digits" else "growing"]
lr = 3e-3 if width < 32 else 1e-3  # smaller steps for more channels
recipe = replace(usual, epochs=epochs, optimizer="adam", lr=lr)
shape = {"width": width, "norm": False, "in_channels": digits.images.shape[1]}

networks = {}
for name in ("relu", "tanh", "gelu"):
    spec = zoo.Spec("myrtle", digits, recipe, shape | {"activation": name})
    networks[name] = zoo.get(spec, [seed], device=device)[0].network
f = copy.deepcopy(networks["relu"]).double().eval()
images = digits.images[:fit_images]
seen, answers = test.images[:test_images], test.labels[:test_images]
use = {"images": images, "test_images": seen, "test_labels": answers}
front = f[: 1 + [name for name, _ in f.named_children()].index("conv2")]

# %%
n, draw = f.conv2.out_channels, torch.Generator().manual_seed(seed)
A = Orthogonal(n).sample(draw).to(images.device)  # uniform on O(n)
with torch.no_grad():
    z = front(images.double())
    changed = torch.einsum("ij,njhw->nihw", A, z).relu()
    X, Y = rows(changed), rows(z.relu())
    R = (torch.linalg.pinv(X) @ Y).T  # least squares, for any rank
    unexplained = (X @ R.T - Y).square().sum() / Y.square().sum()

fit = sanity.best_linear_map(f, "conv2", f.relu2, {"one": [A]}, **use).iloc[0]
print(f"unexplained by hand: {100 * unexplained:.2f} %")
print(f"by the library: {100 * fit['unexplained']:.2f} %")
print(f"accuracy lost: {fit['penalty']:.1f} points")

# %% [markdown]
# Part of the activations is lost, and yet little accuracy may be: later layers need not read what is lost.
#
# `sanity.best_linear_map` does the same for random matrices of five kinds: permutations; permutations with signs,
# with positive scalings, and with nonzero scalings; and orthogonal matrices, of which half are rotations.
# The logarithms of the scalings have standard deviation 1.
#
# The larger the unexplained share, the larger the penalty tends to be, over all kinds of matrices at a layer.
# But the share does not fix the penalty ({ref}`rec-unexplained`).
#
# (sec-activations)=
# ### Other activations
#
# *A matrix outside the group may cost little.*
# Points lost at width 64, on average over three convolutions.
# Three networks have ReLU, and one has each other activation.
# A dash stands where the matrices lie in the group:

# %% tags=["hide-input"]
TITLES = {"relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "abs": "absolute value"}
outside = wide.assign(penalty=wide["penalty"].mask(wide["own"]))
kinds = {name: title for name, title in KIND_NAMES.items() if name != "permutations"}
means = outside.pivot_table("penalty", "activation", "group").loc[[*TITLES], [*kinds]]
shown = means.round(1).assign(activation=[*TITLES.values()])
headings = {"activation": "activation"} | kinds
readable(shown, headings, digits=1, title="Points lost by activation and kind of matrix")

# %% [markdown]
# Permutations with positive scalings before tanh or GELU cost at most
# {fact}`02_sanity_rotations.scaled_most:.1f` points on average at any of the three,
# although no matrix undoes them on all inputs.
# Near 0 tanh is almost linear, and far from 0 GELU is almost ReLU.
#
# *The cost does not always grow with depth.*
# Before the absolute value an orthogonal matrix costs less at the third convolution than at the first, in the network
# that we have.
# And merging inputs, as ReLU does, is not the only cause: tanh makes none equal, yet an orthogonal matrix before it
# costs {fact}`02_sanity_rotations.tanh_last:.0f` points at the third convolution.
# {ref}`rec-activations` has each layer, and networks of a quarter of the width, which lose more by an orthogonal
# matrix before each activation.
#
# (sec-figure-4)=
# ## The paper's protocol, with a control
#
# The paper multiplies $A$ into the weights of a layer, freezes this layer and those before it,
# and finetunes the rest.
# The *rotation penalty* is the accuracy before minus the accuracy after.
# Finetuning can repair more than $R$, because all later layers adapt.
# It can repair less, because training stops too early.
# And it may improve a network that needed no repair.
# So we add a *control*: the identity for $A$, with the same finetuning.

# %%
g = networks["relu"]
n, W, b = g.conv2.out_channels, g.conv2.weight.data, g.conv2.bias.data
A = sanity.draw("orthogonal", n, draw).to(W)
moved = copy.deepcopy(g)
moved.conv2.weight.data = torch.einsum("ij,jkhw->ikhw", A, W)
moved.conv2.bias.data = A @ b

accuracy = lambda net: 100 * evaluate(net, test.images, test.labels)
short = replace(recipe, epochs=finetuning_epochs, lr=1e-3, sides=())
options = {"seed": seed, "device": device, "freeze": "conv2"}
after = train(moved, digits, short, **options).network
penalty = accuracy(g) - accuracy(after)

print(f"after finetuning {penalty:.1f} points are lost")

# %% [markdown]
# The control is the same line without $A$:

# %%
control = train(copy.deepcopy(g), digits, short, **options).network
print(f"the control changes by {accuracy(control) - accuracy(g):+.1f} points")

# %% [markdown]
# *After two epochs of finetuning an orthogonal matrix has lost more than the group at the second and third
# convolution*, in each of three networks of width 64, as the paper prints after 50 epochs.
# Mean penalties in points, and the paper's, read off its figure 4 to about a point:

# %% tags=["hide-input"]
tuned = of(on_record("02_sanity_rotations", "finetuned"), width=64, epochs=16)
tuned = tuned.pivot_table("penalty", "layer", "group")[
    ["positive scalings", "orthogonal"]
]
printed = pd.DataFrame(
    {"group": [0, 1.7, 1.3], "turned": [0.75, 4.6, 8.3]}, index=[0, 2, 5]
)
shown = tuned.join(printed).assign(place=["first", "second", "third"])
headings = {"place": "convolution", "positive scalings": "group, 2 epochs"}
headings |= {"orthogonal": "orthogonal, 2 epochs", "group": "group, printed"}
headings |= {"turned": "orthogonal, printed"}
readable(shown, headings, digits=1, title="Points lost after finetuning")

# %% [markdown]
# At the first convolution the order is open.
# In these three networks the group loses more; in a fourth of the same width it loses less, for each of five matrices.
# The two printed values differ by less than one can read off.
#
# The group loses here, too, although least squares repairs it in full: two epochs are too few.
# The control, which was measured at the third convolution, loses nearly nothing on average, so two epochs as such
# change little.
#
# ## The penalty depends on how long one finetunes
#
# *The longer one finetunes, the less is lost* ({numref}`fig-repair`).

# %% tags=["hide-input"] figure="fig-repair"
budgets = of(on_record("02_sanity_rotations", "finetuned"), training=2)
budgets = budgets.drop(columns="epochs").rename(columns={"finetuning_epochs": "epoch"})
panels = {
    "digits, width 8": on_record("02_sanity_rotations", "followed"),
    "CIFAR-10, width 64": budgets,
}
both = pd.concat(rows.assign(panel=name) for name, rows in panels.items())
both = both[both["epoch"].isin([1, 2, 4, 8, 16, 32])]
mean_curves(
    both.replace({"group": {"identity": "control"}}).astype({"epoch": str}),
    *("epoch", "penalty", "group"),
    panels="panel",
    colours=INSERTED_COLOURS,
    xlabel="epochs of finetuning",
    ylabel="penalty, points",
)

# %% [markdown]
# :::{figure} #fig-repair
# ---
# alt: >-
#   Two panels of penalty in points against epochs.
#   On digits the curves of the group and of orthogonal matrices start near 27 and fall to zero.
#   On CIFAR-10 both fall with the number of epochs, the group below the orthogonal matrix;
#   the control starts at zero and ends a point below.
# ---
# The longer the finetuning, the less the group and orthogonal matrices lose; from two epochs on, their difference
# shrinks.
# Third convolution.
# Left: ten matrices of each kind, with 95 % intervals; right: one of each kind in one network, each mark a finetuning
# of its own.
# The control has the identity for $A$.
# :::

# %% [markdown]
# On CIFAR-10 one element of the group has lost {fact}`02_sanity_rotations.budget_group_first:.0f` points after two
# epochs, and next to nothing after {fact}`02_sanity_rotations.budget_last:.0f`.
# One orthogonal matrix still loses {fact}`02_sanity_rotations.budget_turned_last:.0f`, fewer than the paper shows after
# many more epochs; we do not know why.
# The control ends a point above the network that was never finetuned, so a part of each repair is ordinary training.
# On digits, followed for longer, nearly no difference between the group and orthogonal matrices is left.
#
# *A finetuned penalty depends on the number of epochs; least squares needs none.*
# {doc}`records/02_sanity_rotations` has every layer, network, budget and verdict, and what differs from the paper.
#
# ## What does a rotation cost, and what repairs it?
#
# With `from intertwine import groups`, `from intertwine.alignment import Statistics, least_squares`,
# `from intertwine.training import train`, and
# `from intertwine.weightspace import find_symmetries, transform_outputs`; `space` is `find_symmetries(net, x)`, and
# `recipe` a `Recipe` of `intertwine.training`.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you want to
#   - use
#   - beware
# * - know what costs nothing before an activation
#   - its group: `groups.intertwiner_group("relu", n)`
#   - A matrix outside may cost little on data all the same.
# * - undo an element of the group
#   - the next layer: `space.act(net, {"relu2": A})` inserts $A$ and undoes it
#   - It is exact only inside the group.
# * - insert any other matrix
#   - the layer's weights: `transform_outputs(space, net, {"conv2": A})`
#   - The network is another function then.
# * - measure what is lost without training
#   - least squares: `least_squares(Statistics.of(moved, wanted))`
#   - It fits activations, not accuracy; the unexplained share alone does not tell the loss.
# * - repair as well as one can
#   - finetuning: `train(moved, images, recipe, seed=0, freeze="conv2")`
#   - After few epochs a loss may only be unfinished training: compare several budgets.
# * - say what finetuning repaired
#   - a control, the same without $A$: `train(net, images, recipe, seed=0, freeze="conv2")`
#   - Finetuning improves a network that needed no repair.
# * - compare with a published penalty
#   - its protocol: epochs, schedule, width, and which epoch counts
#   - The epoch that is best on the test set lowers every penalty ({ref}`ex-best-epoch`).
# :::
#
# ## Adapt this
#
# A network of your own, trained or not, on images of your own: any that `split` can cut after a layer and after the
# activation that follows it, also one with shortcuts around them.
# The group of Softplus contains only the permutations.

# %%
from torch import einsum, manual_seed, nn

from intertwine import groups
from intertwine.alignment import Statistics, least_squares
from intertwine.stitching import split
from intertwine_book import data

draw = manual_seed(0)  # of the initial weights as well
mine = nn.Sequential(nn.Conv2d(1, 6, 3), nn.Softplus(), nn.Flatten())
mine = mine.append(nn.Linear(216, 10)).eval()
layer, activation = "0", "1"

own_images = data.load("digits", "test", device="cpu").images[:300]
front, back = split(mine, layer)[0], split(mine, activation)[1]
bend, z = mine.get_submodule(activation), front(own_images).detach()
for group in groups.Permutations(6), groups.GReLU(6), groups.Orthogonal(6):
    A = group.sample(draw).to(z)
    moved = bend(einsum("ij,nj...->ni...", A, z))  # channels are axis 1
    R = least_squares(Statistics.of(moved, bend(z)))
    kept = back(R(moved)).argmax(1) == back(bend(z)).argmax(1)
    print(f"{group}: {1 - R.r2:.1%} unexplained,", end=" ")
    print(f"{kept.float().mean():.0%} of the answers are the same")

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-which-cells
# *Warm-up.*
# Which cells of the table in {ref}`sec-activations` are 0 without any computation?
# Take the groups from {doc}`01_intertwiner_groups`.
# Which other kinds cost less than half a point, and why?
# :::
#
# ::::{solution} ex-which-cells
# :class: dropdown
# The dashes, by {prf:ref}`prop-regression`: permutations with signs for tanh and the absolute value, with positive
# scalings for ReLU and the absolute value, with nonzero scalings for the absolute value.
# One more kind costs less than half a point: scalings before tanh.
# As tanh is odd, nonzero scalings cost exactly what positive ones do.
# Near 0 tanh is almost linear; or later layers do not need what is lost.
# ::::
#
# :::{exercise}
# :label: ex-gaussian-turn
# Let σ be ReLU, $z$ standard normal in the plane, and $A$ the turn by $\theta$.
# For unit vectors $u, v$ at an angle $\alpha$
#
# $$
# \begin{aligned}
# &E[\sigma(u^\top z)\,\sigma(v^\top z)]\\
# &\quad= \tfrac{1}{2\pi}(\sin\alpha + (\pi-\alpha)\cos\alpha).
# \end{aligned}
# $$
#
# Use this to compute the unexplained share as a function of $\theta$.
# Is it 0 at 90°?
# :::
#
# ::::{solution-start} ex-gaussian-turn
# :class: dropdown
# ::::
# Let $K$ be the matrix of these expectations for the coordinate axes,
# which is the same for the rotated axes $a_1, a_2$, and $C_{ij} = E[\sigma(z_i)\,\sigma(a_j^\top z)]$.
# The regression leaves the share $1 - \operatorname{tr}(CK^{-1}C^\top)/\operatorname{tr}K$,
# which {numref}`fig-ex-turn` shows.
# At 90° it is 44 %: the axes are exchanged, and one of them changes its sign, so that ReLU returns 0
# where it should not.


# %% tags=["hide-input"] figure="fig-ex-turn"
def expected(u, v):
    """E[σ(u·z)σ(v·z)] for unit vectors as rows, z standard normal."""
    angle = np.arccos(np.clip(u @ v.T, -1, 1))
    return (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)


random, found = np.random.default_rng(seed), []
for degrees in range(0, 181, 30):
    t = np.radians(degrees)
    axes = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    K, C = expected(np.eye(2), np.eye(2)), expected(np.eye(2), axes)
    share = 1 - np.trace(C @ np.linalg.solve(K, C.T)) / np.trace(K)
    found.append({"angle": degrees, "by": "formula", "share": 100 * share})
    for _ in range(5):
        x = random.standard_normal((500, 2))
        X, Y = np.maximum(x @ axes.T, 0), np.maximum(x, 0)
        rest = Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]
        share = 100 * (rest**2).sum() / (Y**2).sum()
        found.append({"angle": degrees, "by": "regression", "share": share})
axes = {"xlabel": "angle, °", "ylabel": "share, %"}
mean_curves(pd.DataFrame(found), "angle", "share", "by", **axes)

# %% [markdown]
# :::{figure} #fig-ex-turn
# ---
# alt: >-
#   Two curves of the unexplained share in percent against the angle of rotation in degrees,
#   by formula and by regression, on each other.
# ---
# Before two ReLUs every turn loses something, and the more the further it turns, up to 180°.
# Unexplained share for normal inputs by the formula, and by a regression on 500 random inputs (mean over five
# draws with 95 % interval).
# :::

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-small-signals
# *With data.*
# Positive scalings before tanh and GELU cost little ({ref}`sec-activations`).
# Draw the unexplained share against the spread of the scalings.
# What happens to tanh when they become large, and what to GELU?
# :::
#
# ::::{solution-start} ex-small-signals
# :class: dropdown
# ::::


# %% tags=["hide-input"] figure="fig-ex-scales"
def left_unexplained(name, scale):
    """Shares for positive scalings, of which `scale` is the spread."""
    net = networks[name]
    G, order = GReLU(net.conv1.out_channels), torch.Generator()
    draws = [G.sample(order.manual_seed(seed + k), scale=scale) for k in range(8)]
    bend = net.get_submodule(f"{name}1")
    some = use | {"images": images[:100]}
    table = sanity.best_linear_map(net, "conv1", bend, {"": draws}, **some)
    return 100 * table["unexplained"]


found = [
    [scale, TITLES[name], share]
    for name in ("tanh", "gelu")
    for scale in (0.1, 0.5, 1.0, 2.0, 3.0)
    for share in left_unexplained(name, scale)
]
found = pd.DataFrame(found, columns=["spread", "activation", "share"])
axes = {"xlabel": "spread of log scalings", "ylabel": "unexplained, %"}
mean_curves(found, "spread", "share", "activation", **axes)

# %% [markdown]
# :::{figure} #fig-ex-scales
# ---
# alt: >-
#   Unexplained share in percent against the standard deviation of the logarithm of the scalings, one curve for
#   tanh and one for GELU.
# ---
# Larger scalings leave more unexplained, before tanh as before GELU.
# Share at the first convolution, mean over eight draws with 95 % interval; the run of this page.
# :::

# %% [markdown]
# Both shares grow ({numref}`fig-ex-scales`): tanh saturates, and GELU bends near 0.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-best-epoch
# *With data.*
# `on_record("02_sanity_rotations", "followed")`, in this page's notebook, has penalties on digits after each of 32
# epochs.
# Choose, for each matrix, the best epoch instead of the last.
# By how much does every group's penalty fall?
# What does this say about a protocol that chooses the epoch on the test set?
# :::
#
# ::::{solution} ex-best-epoch
# :class: dropdown
# The control falls by {fact}`02_sanity_rotations.best_control_digits:.1f` points,
# the group by {fact}`02_sanity_rotations.best_group_digits:.1f`
# and orthogonal matrices by {fact}`02_sanity_rotations.best_turned_digits:.1f`.
# The control needs no repair, and its penalty falls as well.
# So choosing the best epoch on the test set biases every penalty, by about this much for these 500 test images.
# ::::
#
# :::{exercise}
# :label: ex-untrained
# Fit {eq}`eq-best-map` on a network that was *never trained*.
# What must the group cost there?
# Is the share that an orthogonal matrix leaves unexplained a property of training, or of ReLU?
# :::
#
# ::::{solution-start} ex-untrained
# :class: dropdown
# ::::


# %% figure="fig-ex-untrained"
fresh = models.myrtle(**shape, seed=seed).to(device)
draw, relu = torch.Generator().manual_seed(seed), nn.ReLU()
n = g.conv1.out_channels
draws = {
    kind: [sanity.draw(kind, n, draw) for _ in range(trials)]
    for kind in ("positive scalings", "orthogonal")
}
tables = {
    name: sanity.best_linear_map(net, "conv1", relu, draws, **use)
    for name, net in {"trained": g, "untrained": fresh}.items()
}
both = pd.concat(tables, names=["network"]).reset_index("network")
both["share"] = (100 * both["unexplained"]).round(6)
heatmap(both, "group", "network", "share", label="unexplained, %")

# %% [markdown]
# :::{figure} #fig-ex-untrained
# ---
# alt: >-
#   A small table in coloured cells: positive scalings and orthogonal matrices against trained
#   and untrained networks.
# ---
# An orthogonal matrix leaves a part unexplained with and without training, and the group none.
# Unexplained share in percent at the first convolution, mean over draws; the run of this page.
# :::

# %% [markdown]
# {numref}`fig-ex-untrained` has the numbers: the group leaves nothing unexplained by {prf:ref}`prop-regression`,
# whatever the weights.
# With ReLU an orthogonal matrix leaves a share unexplained even without training;
# a few draws in one network do not say whether training changes how much.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-open-rotation
# *Open.*
# After the repair by least squares an orthogonal matrix before a ReLU costs most at the third convolution
# ({numref}`fig-own-group`).
# Is that the width, the size of the feature maps, or what the layer has learned?
# Separate the three: change only a few channels, or turn by a fraction of the angle as in {doc}`05_interpretability`,
# in networks of several widths.
# :::
#
# Back to {doc}`01_intertwiner_groups`, on to {doc}`03_stitching`, which joins two networks;
# {doc}`05_interpretability` rotates again, and asks what becomes of single units.
