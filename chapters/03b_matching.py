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
# # 3b · Matching: direct or by the task
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`03_stitching`: the front of one network, a map, the back of another.
# **You will learn** why the map that fits two layers best is not the map that works best, how to restore what a fit
# loses, and what a good stitch shows.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/03b_matching>`.
# :::
#
# ## The question
#
# Cut two trained networks before a ReLU, and fit a linear map from one layer to the other by least squares.
# *Is the map that fits best the map that works best?*
#
# **No: where it cannot predict, a fit shrinks.**
# With batch norm frozen, restoring its size gains about half of what training by the task gains, on average over the
# layers of Tiny-10, and between the networks below the best fit reads about half of the digits.
# *Restore the lost variance in {numref}`fig-stretch`: the fit gets worse, and the network gets better.*

# %% tags=["hide-input"] figure="fig-stretch"
from intertwine_book.live.benches import best_fit

best_fit()

# %% [markdown]
# :::{figure} #fig-stretch
# ---
# alt: >-
#   Two bars, accuracy and R², ten digits with the answers of the stitched network, a square that shows the map,
#   and a slider for how much of the lost variance is restored.
# ---
# Restoring the lost variance gains accuracy while the fit gets worse; re-estimating batch norm gains about as much.
# Two networks for digits, joined by least squares before the second ReLU; $R^2$ is the share of the variance of the
# second network's layer that the map explains.
# Maps are fitted to 200 digits and judged on 200 others; the line is the second network alone.
# :::

# %% [markdown]
# ## A cloud that shrinks
#
# {numref}`fig-cloud` shows the effect in two dimensions.
# Take images of cats and dogs, each with many positions, and two channels.
# At a position of a cat the first channel is larger on average, of a dog the second; both are mostly negative.
# After the ReLU the back averages each channel over the positions, and answers "cat" if the first mean exceeds a
# threshold, "dog" if the second does.
# The other network sees the same, with noise.

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from intertwine import alignment, devices
from intertwine.features import rows
from intertwine.stitching import STITCH_RECIPES, Junction, stitch_at
from intertwine.training import evaluate
from intertwine.weightspace import relative_error
from intertwine_book import data, zoo
from intertwine_book.figures import style
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.schematics import two_ways_diagram
from intertwine_book.record import on_record
from intertwine_book.tidy import of

style.use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of all that is random
width: int = 8  # channels of the first convolution
epochs: int = 6  # of the networks' training
stitch_epochs: int = 3  # of a stitch's training
images: int = 500  # training images for stitches

# %%
draw = torch.Generator().manual_seed(seed)
cat = torch.rand(200, generator=draw) < 0.5
mean = torch.tensor([[-1.0, -0.4], [-0.4, -1.0]])[cat.long()]
b = mean[:, None] + torch.randn(200, 256, 2, generator=draw)
b = b.flatten(0, 1)  # a position of an image is a row
a = b + 1.2 * torch.randn(b.shape, generator=draw)  # the other network
u, v = a - a.mean(0), b - b.mean(0)
fit = u @ torch.linalg.lstsq(u, v).solution
stretched = fit * v.std(0) / fit.std(0)
clouds = {"model 2": v, "least squares": fit, "stretched": stretched}
for name, cloud in clouds.items():
    says = (cloud + b.mean(0)).relu().view(200, 256, 2).mean(1) > 0.15
    right = (says == torch.stack([cat, ~cat], 1)).all(1).double().mean()
    explained = 1 - (cloud - v).square().sum() / v.square().sum()
    print(f"{name}: R² {explained:.2f}, right {right:.0%}")

# %% tags=["hide-input"] figure="fig-cloud"
figure, axes = style.new_figure(1, 3, height=2.4, sharex=True, sharey=True)
shown, of_cats = slice(0, 256 * 14, 12), cat.repeat_interleave(256)
for axis, (name, centred) in zip(axes, clouds.items(), strict=True):
    cloud = centred + b.mean(0)
    axis.axvspan(-5, 0, color=style.COLOURS["grey"], alpha=0.12, lw=0)
    axis.axhspan(-5, 0, color=style.COLOURS["grey"], alpha=0.12, lw=0)
    for mine, tone in ((of_cats, "orange"), (~of_cats, "blue")):
        points = cloud[shown][mine[shown]]
        axis.plot(
            points[:, 0],
            points[:, 1],
            "o",
            ms=3,
            mew=0,
            alpha=0.6,
            color=style.COLOURS[tone],
        )
    axis.set(xlim=(-4, 2.6), ylim=(-4, 2.6), aspect="equal")
    axis.set_title(
        f"{name}\n{(cloud > 0).double().mean():.0%} above 0", fontsize="medium"
    )
axes[0].set_ylabel("channel 2")
axes[1].set_xlabel("channel 1 (cats orange, dogs blue)")
figure

# %% [markdown]
# :::{figure} #fig-cloud
# ---
# alt: >-
#   Three clouds of points. Model 2's reaches beyond 2 on both axes, that of least squares hardly beyond 1,
#   and the stretched one does again.
# ---
# The fit shrinks the cloud towards its mean, which is negative: less is left above 0, and closer to it.
# Stretched, as much passes the ReLU as before.
# A point is a position of an image; the grey bands are what the ReLU sets to 0, in one channel or both.
# :::

# %% [markdown]
# No image reaches the threshold after the best fit, so no answer is right; stretched, the fit explains less, and all
# answers are right.
# A regression predicts the mean of what remains unknown.
# The errors at single positions average out in the back, but the lost size does not.
#
# :::{prf:proposition} What a fit loses before a ReLU, and what a stretch costs
# :label: prop-shrinks
# Let least squares explain the share $R^2 = r^2 > 0$ of the variance of a channel $b$, by the prediction $m$.
#
# 1. The prediction is smaller:
#
#    $$\operatorname{Var} m = r^2\,\operatorname{Var} b.$$ (eq-shrinks)
#
# 2. If $m$ is the mean of $b$ given the other network's activations, the mean of $\operatorname{ReLU}(m)$ is at most
#    that of $\operatorname{ReLU}(b)$, and smaller unless these activations determine the sign of $b$.
# 3. Stretched by $1/r$ about its mean, $m$ has the variance of $b$, and explains $(1-r)^2$ less of it.
#    If $b$ and $m$ are normal, the ReLU of the stretched $m$ has the mean of $\operatorname{ReLU}(b)$.
# :::
#
# ::::{prf:proof}
# :class: dropdown
# (1) The residual $b - m$ is uncorrelated with $m$, so $\operatorname{Var} b = \operatorname{Var} m +
# \operatorname{Var}(b-m)$, and $r^2$ is the share of the first.
#
# (2) The ReLU is convex.
# So by Jensen's inequality the mean of $\operatorname{ReLU}(b)$, given the other activations, is at least
# $\operatorname{ReLU}(m)$; equality needs that $b$ keeps one sign there.
# Take the mean of both.
#
# (3) $\operatorname{Cov}(b, m) = \operatorname{Var} m$.
# So $m$ about its mean, times $s$, leaves $(1 - 2sr^2 + s^2r^2)\operatorname{Var} b$ unexplained.
# For $s = 1/r$ this is $2(1 - r)\operatorname{Var} b$: explained is $2r - 1 = r^2 - (1-r)^2$.
# A normal variable with mean $\mu$ and deviation $\tau$ has a ReLU of mean $\mu\Phi(\mu/\tau) + \tau\phi(\mu/\tau)$, by
# the normal distribution function $\Phi$ and density $\phi$; its derivative in $\tau$ is $\phi(\mu/\tau) > 0$.
# So the mean of the ReLU falls as $m$ shrinks, and a stretch to the deviation of $b$ restores it.
# ::::
#
# Trained networks show it.
# After the best fit, what passes the ReLU has {fact}`03b_matching.passed_3:.0f` and
# {fact}`03b_matching.passed_6:.0f` % of model 2's variance there, at two layers of networks for CIFAR-10;
# after the stretch it passes all of it, to a few percent ({ref}`rec-shrinks`).
#
# ## Two ways to find a map

# %% tags=["hide-input"] figure="fig-two-ways"
two_ways_diagram()

# %% [markdown]
# :::{figure} #fig-two-ways
# ---
# alt: >-
#   Two rows of four boxes, the layers of model 1 and model 2.
#   A box S leads from the second layer of model 1 to the third of model 2.
#   One mark below the cut reads direct: compare activations here; one after the last layer reads by the task:
#   compare outputs here.
# ---
# Direct matching compares activations at the cut, task-loss matching compares outputs.
# Both networks are frozen; only S is fitted.
# Faint layers are not used; the first two layers of model 2 serve the direct comparison only.
# :::

# %% [markdown]
# :::{prf:definition} {cite}`csiszarik2021`, Definition 3.1
# :label: def-stitched
# Let $R_1$ be model 1 up to a layer and $T_2$ model 2 after it.
# For a map $S$ between the two activation spaces, $F_S = T_2\circ S\circ R_1$ is the *stitched network*.
# Its *relative accuracy* is its accuracy divided by that of model 2.
# :::
#
# $S$ is linear or affine and acts on channels, at every position of a feature map alike ({numref}`fig-two-ways`).
# Let the rows of $A$ and $B$ be the activations of the two layers, one row for every image and position.
# *Direct matching* minimises the distance
#
# $$\lVert AM - B\rVert_F$$ (eq-distance)
#
# over all matrices (*least squares*: $M_{LS} = A^{+}B$ with the pseudoinverse $A^+$)
# or over orthogonal ones (*Procrustes*: $UV^\top$, where $A^\top B = UDV^\top$ is a singular value decomposition).
# Least squares has a bias, so $A$ and $B$ are centred first.
# The orthogonal map has none.
# To see both at work, join two small networks for handwritten digits before their second ReLU.

# %% tags=["hide-input"]
device = devices.pick(device)
whole, test = (data.load(dataset, part, device=device) for part in ("train", "test"))
shape = {"width": width, "in_channels": whole.images.shape[1]}
recipe = zoo.RECIPES["digits" if dataset == "digits" else "fast"]
recipe = replace(recipe, epochs=epochs, optimizer="adam", lr=1e-2)
spec = zoo.Spec("myrtle", whole, recipe, shape)
f, g = zoo.pairs(spec, 1, seed=seed, device=device)[0]
train, task = whole[:images], STITCH_RECIPES["digits"]
task = replace(task, epochs=stitch_epochs, targets="soft")
exact = {"test": test, "dtype": "float32", "device": device}
place = Junction(f, g, "bn2", train, **exact)
A, B = (rows(x).double() for x in place.activations("train"))
alone = evaluate(g, test.images, test.labels)
print(f"model 2 alone {alone:.1%}")

# %%
mean_A, mean_B = A.mean(0), B.mean(0)
M = torch.linalg.pinv(A - mean_A) @ (B - mean_B)  # least squares
U, _, Vh = torch.linalg.svd(A.T @ B)
Q = U @ Vh

# %% tags=["hide-input"]
fitted = alignment.least_squares(place.statistics, affine=True)
turned = alignment.orthogonal(place.statistics)
assert relative_error(M, fitted.weight.T) < 1e-3
assert relative_error(Q, turned.weight.T) < 1e-3

# %% [markdown]
# *Task-loss matching* starts at $M_{LS}$ and lowers the cross-entropy of $F_S$ to the probabilities $p_2(x)$ of
# model 2, averaged over $n$ training images:
#
# $$-\frac1n\sum_x p_2(x)^\top\log\mathrm{softmax}\,F_S(x).$$ (eq-task-loss)
#
# It is measured in nats, and least where $F_S$ answers as model 2 does ({ref}`ex-entropy`).
# The front runs once, its activations are kept, and only $S$ is trained:

# %%
front, goal = place.activations("train")[0], place.targets("train")


def trained(S, front, place=place):
    optimiser = torch.optim.Adam(S.parameters(), lr=task.lr)
    for _ in range(stitch_epochs):
        for batch in torch.randperm(len(front), generator=draw).split(64):
            loss = cross_entropy(place.back(S(front[batch])), goal[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return S


# %% tags=["hide-input"]
S = nn.Conv2d(A.shape[1], B.shape[1], kernel_size=1).to(device)
S.weight.data = M.T[:, :, None, None].float().to(device)
S.bias.data = (mean_B - mean_A @ M).float().to(device)
mine = place.judge(stitch_at(place, trained(S, front))).accuracy
theirs = stitch_at(place, "least squares", recipe=task).evaluate(test)
direct = stitch_at(place, "least squares").evaluate(test)
print(f"least squares {direct:.1%}, trained {mine:.1%}, by the library {theirs:.1%}")

# %% [markdown]
# Hand and library differ in the order of the batches and in the schedule of the learning rate.
#
# ## The size restored
#
# {prf:ref}`prop-shrinks` suggests a fit that needs no task: stretch every channel of least squares until it varies as
# in model 2.

# %%
stretch = B.std(0) / ((A - mean_A) @ M).std(0)
restored = M * stretch  # the bias keeps the mean

# %% tags=["hide-input"]
of_library = alignment.variance_restored(place.statistics)
assert relative_error(restored, of_library.weight.T) < 1e-3
print(f"variance restored {stitch_at(place, of_library).evaluate(test):.1%}")

# %% [markdown]
# Between the networks of this page the stretch brings back most of what training does.
# {numref}`fig-restored` has networks that the paper's authors published.
# *Tiny-10* has eight convolutions, each with batch norm and ReLU; it is cut between the two.

# %% tags=["hide-input"] figure="fig-restored"
stitches = on_record("03b_matching", "stitches")
stitches = stitches.assign(y=100 * stitches["relative_accuracy"])
tiny = of(stitches, networks="Tiny-10", cut="before the ReLU", batch_norm="frozen")
tiny = of(tiny, test_images=3000)
tones = {"task loss": "green", "variance restored": "blue", "least squares": "red"}
dots(
    of(tiny, front="trained"),
    *("layer", "y", "stitch"),
    colours={way: style.COLOURS[tone] for way, tone in tones.items()},
    level=100.0,
    ylim=(74, 103),
    height=2.8,
    xlabel="layer of Tiny-10",
    ylabel="relative accuracy, %",
)

# %% [markdown]
# :::{figure} #fig-restored
# ---
# alt: >-
#   Three curves against the layer: least squares lowest, falling to
#   {fact}`03b_matching.direct_low:.0f` percent, variance restored between,
#   and task loss highest, above 94; all are close together at layers 1, 7 and 8.
# ---
# A map trained by the task keeps the most, and restoring the variance, without any task, gains half of what training
# gains.
# Relative accuracy of stitches of Tiny-10, cut before the ReLU, batch norm frozen.
# Large discs: means; small dots: ten pairs of networks.
# :::

# %% [markdown]
# **With batch norm frozen, the best fit keeps {fact}`03b_matching.direct:.0f` % of model 2's accuracy, a map that the
# task trains {fact}`03b_matching.task:.0f` %**, on average over layers.
# From the second layer on the task is ahead in each of ten pairs; at the first there is hardly a gap.
# Of what training gains, a restored variance gains half on average, and re-estimating batch norm after the stitch
# nearly half.
# Training still keeps more in each pair.
# What training restores beyond the variances we do not know ({ref}`ex-no-task`).
#
# **Near the end of a ResNet-20 most of what is lost is size.**
# After its last block but one the best fit keeps {fact}`03b_matching.direct_9_low:.0f` to
# {fact}`03b_matching.direct_9_high:.0f` % in four pairs; it explains a quarter of the variance.
# Multiplied by one number, about 2, it explains hardly any of it, and keeps {fact}`03b_matching.sized_9:.0f` %,
# as much as an orthogonal map, which shrinks nothing.
# The orthogonal map is the better stitch there because of its size, not of its direction.
#
# The size of an error does not say what it costs.
# A stitch that the task has trained is *farther* from model 2's activations than the best fit, above all in directions
# with little variance ({ref}`rec-shrinks`).
#
# ## Would any front do?
#
# A good stitch is often read as "the two networks learned the same".
# Try fronts that learned nothing: one that was *never trained*, and one that *knows only the label*.
# {cite:t}`smith2025` stitched clustered noise into networks.
# Before the third ReLU, give each class one feature map of random numbers, and add as much noise for every image:

# %%
late = Junction(f, g, "bn3", train, **exact)
size = late.activations("train")[0].shape[1:]
centres = torch.randn(len(train.classes), *size, generator=draw)


def noise(labels):
    drawn = torch.randn(len(labels), *size, generator=draw)
    return (centres[labels.cpu()] + drawn).to(device)


torch.manual_seed(seed)  # of the initial weights
S = nn.Conv2d(size[0], size[0], kernel_size=1).to(device)
S = trained(S, noise(train.labels), late)
guess = late.back(S(noise(test.labels))).argmax(1)
of_noise = (guess == test.labels).double().mean().item()
print(f"accuracy {of_noise:.1%} after a front of noise")

# %% tags=["hide-input"] figure="fig-fronts"
noisy = of(on_record("03b_matching", "noise"), way="task loss", stitch_epochs=12)
noisy = noisy.assign(y=100 * noisy["accuracy"] / noisy["accuracy2"])
task_loss = of(tiny, stitch="task loss")
both = [
    task_loss.assign(front=task_loss["front"] + " front", panel="Tiny-10"),
    noisy.assign(panel="networks for digits"),
]
tones = {"trained front": "green", "untrained front": "grey"}
tones |= {"class noise": "pink", "noise alone": "sky"}
dots(
    pd.concat(both),
    *("layer", "y", "front"),
    panels="panel",
    colours={name: style.COLOURS[tone] for name, tone in tones.items()},
    level=100.0,
    ylim=(0, 108),
    height=2.2,
    xlabel="layer, cut before the ReLU",
    ylabel="relative accuracy, %",
)

# %% [markdown]
# :::{figure} #fig-fronts
# ---
# alt: >-
#   Above, for Tiny-10, an untrained front falls from near 100 percent at layer 1 to 29 at layer 8, a trained one stays
#   above 94.
#   Below, for digits, class noise rises from 46 percent at layer 1 to 100 at layers 3 and 4; noise alone stays at 10.
# ---
# An untrained front serves an early back, and a front that knows only the label a late one.
# Stitches trained by the task.
# Above: ten pairs of Tiny-10; below: two pairs of small networks for digits, twelve epochs.
# :::

# %% [markdown]
# We read both from what the back still has to do.
# An early back needs the *image*: random filters keep nearly all of it, and noise has none of it.
# A late back needs the *class*: it has ten clouds to tell apart, one a class, and a linear map sends each to where the
# back expects this class.
# At the last layer even the best fit, without training, does so.
# Noise without a class map cannot be stitched anywhere.
#
# So a trained stitch measures whether the front *still knows enough*, not whether it knows the same.
# At the first layer of Tiny-10 an untrained front is less than a percent behind a trained one.
# At the last an untrained front keeps {fact}`03b_matching.untrained_8_low:.0f` to
# {fact}`03b_matching.untrained_8_high:.0f` % still; guessing would keep {fact}`03b_matching.chance:.0f` %.
# A stitch says what was learned only at layers where untrained fronts and class noise fail.
#
# (sec-low-rank)=
# ## How simple may the map be?
#
# **How few dimensions?**
# The best fit of low rank can miss what the task needs.
# Take two channels: a loud one, which the task does not read, and a quiet one, whose sign is the label.
# Both networks have the same activations.
# The map of rank $k$ that fits best is $M_{LS}W_kW_k^\top$, where the columns of $W_k$ are the first $k$ right singular
# vectors of $AM_{LS}$ (*reduced-rank regression*):

# %%
X = torch.randn(1000, 2, generator=draw) * torch.tensor([10.0, 1.0])
label = X[:, 1] > 0  # the quiet channel
_, _, W = torch.linalg.svd(X, full_matrices=False)  # M_LS is the identity
fit = X @ W[:1].T @ W[:1]
explained = fit.square().sum() / X.square().sum()
right = ((fit[:, 1] > 0) == label).double().mean()
print(f"explained {explained:.0%}, labels right {right:.0%}")

# %% tags=["hide-input"] figure="fig-low-rank"
theirs = alignment.reduced_rank(alignment.Statistics.of(X, X), rank=1)
assert relative_error(fit, theirs(X)) < 1e-5
ranks = of(on_record("03b_matching", "ranks"), stitch_epochs=30, rank=[4, 8, 16])
ranks = ranks.assign(
    y=100 * ranks["relative_accuracy"],
    panel="layer " + ranks["layer"].astype(str),
    way=ranks["way"].map({"fitted": "best fit", "trained": "task loss"}),
)
dots(
    ranks,
    *("rank", "y", "way"),
    panels="panel",
    colours={
        "best fit": style.COLOURS["red"],
        "task loss": style.COLOURS["green"],
    },
    ylim=(20, 103),
    height=2.1,
    xlabel="rank of the map, of 32 and 64 channels",
    ylabel="relative accuracy, %",
)

# %% [markdown]
# :::{figure} #fig-low-rank
# ---
# alt: >-
#   Two charts of relative accuracy against the ranks 4, 8 and 16: both rise with the rank,
#   and task loss lies above the best fit at each rank.
# ---
# At equal rank a map that the task trains keeps more than the best fit, in each pair.
# Stitches of Tiny-10 by the paper's recipe, 30 epochs of all images; large discs: means, small dots: five pairs.
# :::

# %% [markdown]
# The best fit of rank 1 explains nearly all of the variance, and predicts the label no better than chance.
# Between Tiny-10 networks a map of rank 16, a half or a quarter of the channels, keeps
# {fact}`03b_matching.sixteen_low:.0f` to {fact}`03b_matching.sixteen_high:.0f` %, if the task trains it
# ({numref}`fig-low-rank`).
# *A short training misses this*: after four epochs random factors often end below the best fit.
#
# (sec-sparsity)=
# **How few entries?**
# Add $\alpha\lVert M\rVert_1$, the sum of all $|m_{ij}|$, to either loss, and entries become 0.
# For direct matching this is the *lasso*:
#
# $$\tfrac12\lVert AM - B\rVert_F^2 + \alpha\lVert M\rVert_1.$$ (eq-lasso)
#
# (The paper's equation (3) lacks the square; {ref}`ex-one-path` says what that changes.)
# As zeros grow, the lasso loses far more than a map that the task trains ({numref}`fig-sparsity`).

# %% tags=["hide-input"] figure="fig-sparsity"
sparse = of(on_record("03b_matching", "sparse"), layer=6)
names = {"trained": "task loss", "lasso": "lasso", "lasso, refitted": "lasso, refitted"}
sparse = sparse.assign(
    y=100 * sparse["relative_accuracy"],
    zeros=100 * sparse["sparsity"],
    way=sparse["way"].map(names),
)
tones = {"task loss": "green", "lasso": "red", "lasso, refitted": "sky"}
single_curves(
    sparse,
    *("zeros", "y", "way", "pair"),
    colours={way: style.COLOURS[tone] for way, tone in tones.items()},
    means=False,
    ylim=(0, 103),
    height=2.7,
    xlabel="zeros, %",
    ylabel="relative accuracy, %",
)

# %% [markdown]
# :::{figure} #fig-sparsity
# ---
# alt: >-
#   Relative accuracy against the share of zeros: green curves of task loss fall slowly,
#   red curves of the lasso steeply, to between 12 and 21 percent; pale blue curves of the refitted lasso
#   lie close to the green ones.
# ---
# The lasso falls steeply mostly because it shrinks the entries that it keeps.
# Fitted again on these entries, most of the difference from task loss is gone.
# Layer 6 of Tiny-10; a curve is one of five pairs.
# :::

# %% [markdown]
# Once more most of the loss is size, at this layer.
# At layer 3 task loss keeps more than the refitted lasso in four of five pairs, which does not establish it
# ({ref}`rec-sparsity`).
#
# ## Which map do I fit between two layers?
#
# With `from intertwine.stitching import stitch`, networks `f` and `g`, a layer `l`, data `x` and a `StitchRecipe` `r`:
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you have, or ask
#   - fit
#   - beware
# * - the outputs of model 2, and time to train
#   - task loss, from the best fit: `stitch(f, g, at=l, train=x, recipe=r)`, where `r` has `targets="soft"`
#   - It accepts fronts that learned nothing: stitch an untrained front as well ({numref}`fig-fronts`).
# * - no training
#   - least squares: `stitch(f, g, at=l, train=x)`
#   - It shrinks before a ReLU: stretch each channel, or `batch_norm="reestimated"` ({numref}`fig-restored`).
# * - a fit that keeps sizes and angles
#   - an orthogonal map: `kind="orthogonal"`
#   - In early layers it keeps less than least squares of the same size.
# * - How many directions matter?
#   - low rank, by the task, for long: `kind="low rank", rank=16, recipe=r`
#   - The best fit of low rank may miss the direction that the task reads.
# * - Which channels feed which?
#   - sparse, by the task: `kind="sparse", alpha=0.02, recipe=r`
#   - A lasso shrinks what it keeps: fit the kept entries again.
# * - Are two stitches one solution?
#   - several random starts, and lines between them: `start="random", seed=k, recipe=r`
#   - Short training ends low from random starts ({ref}`rec-starts`).
# :::
#
# ## Adapt this
#
# Take any two networks and layers, of any widths; feature maps are resampled where their sizes differ.
# Here a front of your own with another activation.
# It is untrained; compare the best fit with the stitch that the task has trained.

# %%
from torch import manual_seed, nn

from intertwine import training
from intertwine.stitching import STITCH_RECIPES, stitch
from intertwine_book import data


def mine(n, size, activation):
    mix, read = nn.Conv2d(1, n, size), nn.Linear(n * (9 - size) ** 2, 10)
    return nn.Sequential(mix, activation, nn.Flatten(), read).eval()


manual_seed(0)  # of the initial weights
old, new = (data.load("digits", s, device="auto") for s in ("train", "test"))
raw, four = mine(12, 5, nn.GELU()), training.Recipe(4, 64, 1e-2, "adam")
back = training.train(mine(8, 3, nn.ReLU()), old, four, seed=0).network
for how in ({}, {"recipe": STITCH_RECIPES["digits"]}):
    print(f"{stitch(raw, back, at='1', train=old, **how).evaluate(new):.1%}")

# %% [markdown]
# ## What others found
#
# {cite:t}`li2016` matched single units by their correlation, and by a lasso.
# {cite:t}`lenc2015` and {cite:t}`bansal2021` train stitches by the task.
# {cite:t}`smith2025` conclude that a good stitch does not show that two networks use the same information.
# {cite:t}`athanasiadis2026` trace this to the invariances of the stitched networks, to which a stitch is blind, and ask
# that a stitch be compatible forward and backward.
# {cite:t}`jordan2023` restore the variance of channels where two networks are averaged;
# here the same step repairs a fit.
# {cite:t}`horoi2024` align networks for averaging by canonical correlations instead of permutations.
# The square-root lasso is due to {cite:t}`belloni2011`.
#
# ## Exercises
#
# :::{exercise}
# :label: ex-explained
# *Warm-up.*
# An orthogonal map never fits better than least squares.
# Show that it does not shrink the total variance, and say when it may therefore be the better stitch.
# :::
#
# ::::{solution} ex-explained
# :class: dropdown
# An orthogonal map $Q$ keeps all lengths, so the total variance of $AQ$ is that of $A$.
# If two layers have about the same total variance and little of it can be predicted, as near the end of ResNet-20,
# least squares writes much too small values, and the orthogonal map values of the right size.
# ::::
#
# :::{exercise}
# :label: ex-entropy
# How small can {eq}`eq-task-loss` become, and for which $F_S$?
# What changes if the targets are labels?
# :::
#
# ::::{solution} ex-entropy
# :class: dropdown
# For each image the cross-entropy is the entropy of $p_2(x)$ plus the Kullback–Leibler divergence from $p_2(x)$
# to $\mathrm{softmax}\,F_S(x)$, which is 0 only where they agree.
# So the least value is the mean entropy, reached if $F_S$ has the probabilities
# of model 2 ({fact}`03b_matching.entropy:.1f` nats on Tiny-10).
# For labels the entropy is 0, and no finite logits reach it.
# ::::
#
# :::{exercise}
# :label: ex-one-path
# Let $r = \lVert AM - B\rVert_F > 0$.
# Show that $M$ minimises $\lVert AM - B\rVert_F + \alpha\lVert M\rVert_1$ if and only
# if it minimises $\tfrac12\lVert AM - B\rVert_F^2 + \alpha r\lVert M\rVert_1$.
# Where do the two differ for $A = B = 1$?
# :::
#
# ::::{solution} ex-one-path
# :class: dropdown
# Both losses are convex, so $M$ minimises one if and only if 0 is in its subdifferential there.
# For the first, differentiable at $M$ but for its penalty as $r > 0$, this says $A^\top(AM - B)/r + \alpha G = 0$
# with some $G\in\partial\lVert M\rVert_1$.
# Times $r$, this is the condition of the second.
#
# For $A = B = 1$ the first is $|m - 1| + \alpha|m|$: on $[0, 1]$ it is linear in $m$, so its minimiser is $1$
# for $\alpha < 1$ and $0$ for $\alpha > 1$.
# The second, with its own α, has the minimiser $\max(1 - \alpha, 0)$.
# ::::
#
# :::{exercise}
# :label: ex-convex-stitch
# After which layers can two stitches never be separated by a barrier of the *loss*?
# Check it on the last one.
# :::
#
# ::::{solution-start} ex-convex-stitch
# :class: dropdown
# ::::
# Where the back is affine.
# Then the logits are affine in $M$ and the cross-entropy is convex in the logits, so it is convex along the line
# and lies below its chord.
# For our networks that is the layer before the last matrix, `flatten`.

# %% tags=["hide-input"]
last = Junction(f, g, "flatten", train, **exact)
drawn = {"kind": "full", "start": "random", "recipe": task}
one, two = (stitch_at(last, **drawn, seed=k).stitch for k in (seed, seed + 1))
fractions = torch.linspace(0, 1, 11)


def between(t):
    weight = (1 - t) * one.weight + t * two.weight
    bias = (1 - t) * one.bias + t * two.bias
    return alignment.LinearMap(weight.detach(), bias.detach())


line = [last.judge(stitch_at(last, between(t))).loss for t in fractions]
line = torch.tensor(line)
chord = (1 - fractions) * line[0] + fractions * line[-1]
print(f"above its chord by at most {(line - chord).max():.3f} nats")

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-same-images
# *With data.*
# The authors' evaluation fits least squares to the images that it is then judged on.
# Fit to 20, 50, 150 and more images and judge on these and on others.
# From how many on does it no longer flatter the fit?
# :::
#
# ::::{solution-start} ex-same-images
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-same"
found, others = [], test[len(test) // 2 :]
for n in (20, 50, 150, min(500, len(test) // 2)):
    for k in range(3):
        these = test[k:][: 3 * n : 3][:n]
        sets = {"its own images": these, "other images": others}
        for name, judged in sets.items():
            there = Junction(f, g, "bn2", these, **exact | {"test": judged})
            made = stitch_at(there, "least squares")
            row = {"images": n, "judged on": name}
            found.append(row | {"accuracy": 100 * made.evaluate(judged)})
tones = {"its own images": "orange", "other images": "blue"}
dots(
    pd.DataFrame(found),
    *("images", "accuracy", "judged on"),
    colours={name: style.COLOURS[tone] for name, tone in tones.items()},
    height=2.6,
    xlabel="images of the fit",
    ylabel="accuracy, %",
)

# %% [markdown]
# :::{figure} #fig-ex-same
# ---
# alt: >-
#   Two series of accuracy in percent against the number of images, on the images of the fit and on other images.
# ---
# From 150 images on the two agree; below, three draws do not decide.
# Accuracy of the stitch by the number of images that it is fitted to, three draws; the run of this page.
# :::

# %% [markdown]
# {numref}`fig-ex-same` answers it.
# Every position of every image is a row, so few images give many rows.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-no-task
# *Open.*
# Restoring the variance closes part of the gap without the task.
# Which closed form closes more of it?
# Try to match the whole covariance, or to fit layer after layer with the error that the layer before has left.
# :::
#
# Back to {doc}`03_stitching`; on to {doc}`04_dissimilarity`, where similarity is measured without a task.
