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
# Linear least squares.
#
# **You will learn** why the map that fits two representations best is not the map that works best,
# what low rank and sparsity cost, and whether a good stitch shows that two networks have learned the same.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# Take two networks of one architecture, trained from different seeds: model 1 and model 2.
# Cut both after a layer, and let a map $S$ carry the activations of model 1 to the back of model 2
# {cite}`csiszarik2021`.
# *Direct matching* fits $S$ so that the mapped activations of model 1 are close to those of model 2.
# *Task-loss matching* trains $S$ on what comes out at the end.
# *Is the best fit the best stitch?*
# No.
# The best fit keeps {glue:text}`direct:.0f` % of model 2's accuracy, and a map trained by the task
# {glue:text}`task:.0f` %, on average over the eight layers of five pairs of Tiny-10 ({numref}`fig-matching`).
#
# The recorded runs use networks that the paper's authors published, trained on CIFAR-10.
# *Tiny-10* has eight convolutions of 16 to 64 channels, each with batch norm and ReLU, then a mean over the image
# and one matrix; its layer $k$ is the $k$-th convolution.
# It is cut *before* the ReLU, between batch norm and ReLU.
# ({doc}`04b_similarity_and_function` cuts after the ReLU, so its numbers differ.)
# *ResNet-20*, of the authors and of others who published theirs, is cut before the ReLU of its first convolution
# (layer 1) and after each of its nine blocks.

# %% tags=["hide-input"]
from dataclasses import replace
from functools import partial

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from intertwine import alignment, devices
from intertwine.features import rows
from intertwine.stitching import Junction, stitch_at
from intertwine.weightspace import relative_error
from intertwine_book import data, models, results, zoo
from intertwine_book.experiments.matching import claims, directions, stitches
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.published import published_pairs
from intertwine_book.experiments.stitches import stitch_many
from intertwine_book.figures import style
from intertwine_book.figures.dots import dots
from intertwine_book.figures.matching import two_ways_diagram
from intertwine_book.live.benches import best_fit
from intertwine_book.stories import lines, restricted, tell
from intertwine_book.stories import matching as story

style.use_style()

# %% tags=["parameters"]
from typing import Literal

networks: Literal["trained", "published"] = "trained"  # or Tiny-10
dataset: Literal["digits", "cifar10"] = "digits"  # of networks trained here
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and starts
width: int = 8  # channels of the first convolution of a Myrtle CNN
epochs: int = 6  # of the networks' training
pairs: int = 2  # of networks
few: int = 2  # pairs where many kinds of networks are compared
layers: list[int] = [1, 2, 3, 4]  # hidden layers, from 1
chosen: list[int] = [3]  # those of them where stitches are restricted
train_images: int = 500  # that stitches are trained on, at most
fit_images: int = 10000  # of these, that closed forms are fitted to, at most
test_images: int = 10000  # at most
stitch_epochs: int = 3  # of a stitch; three times as many with an L1 penalty
ranks: list[int] = [1, 2, 4]  # of restricted stitches
alphas: list[float] = [0.003, 0.01, 0.03]  # weights of the L1 penalty
starts: int = 2  # random ones, and as many from least squares; an even number
longer_epochs: int = 6  # from random starts at the first five layers
widths: list[int] = [2, 4, 8]  # channels of the first convolution
wide: Literal["myrtle", "resnet20"] = "myrtle"  # whose width varies

# %% tags=["remove-input"] figure="fig-matching"
story.matching()

# %% [markdown]
# (sec-matching)=
# **What {numref}`fig-matching` shows (the paper's Experiment 1).**
#
# - *From layer 2 on, task-loss matching is ahead at each layer of each of five pairs.*
#   At layer 1 there is no gap.
#   The worst of these stitches by task loss, at any layer, keeps {glue:text}`worst-task:.0f` %.
# - *Twenty times as many images change the fit little.*
#   Least squares keeps {glue:text}`direct:.1f` % on average when it is fitted to 2,500 images and judged on
#   3,000 others, and {glue:text}`direct-all:.1f` % with 50,000 and 10,000.
# - *On ResNet-20 the gap is largest at layer 9, in the authors' pair and in three pairs of others:*
#   least squares keeps {glue:text}`direct-9-low:.0f` to {glue:text}`direct-9-high:.0f` % there,
#   a stitch trained by the task {glue:text}`task-9:.0f` % on average.
#   At layers 1 and 10 there is no gap.
# - *What the fit loses at layer 9 is mostly size, not direction.*
#   It explains {glue:text}`explained-9:.0f` % of the variance there on average, so its values are too small.
#   One number, {glue:text}`factor-9-low:.1f` to {glue:text}`factor-9-high:.1f`, gives them the size of model 2's:
#   then the fit keeps {glue:text}`sized-9-low:.0f` to {glue:text}`sized-9-high:.0f` %.
#   An orthogonal map, which shrinks nothing, keeps {glue:text}`orthogonal-9-low:.0f` to
#   {glue:text}`orthogonal-9-high:.0f` %; at layers 1 to 8 it keeps less than the fit of that size, on average.
# - *A worse fit may be a better stitch.*
#   An orthogonal map cannot fit better than least squares.
#   At layer 8 of Tiny-10 it keeps more than least squares in each pair,
#   by {glue:text}`orthogonal-ahead:.1f` % on average; in early layers it keeps less.
# - *On Tiny-10 no permutation of channels does as well as these maps.*
#   The one that fits best keeps {glue:text}`permuted-2:.0f` % at layer 2
#   and {glue:text}`permuted-8:.0f` % at layer 8, a random one {glue:text}`shuffled:.0f` % on average.
#
# ## Two ways to find a map

# %% tags=["remove-input"] figure="fig-two-ways"
two_ways_diagram()

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
# Direct matching minimises the distance
#
# $$\lVert AM - B\rVert_F$$ (eq-distance)
#
# over all matrices (*least squares*: $M_{LS} = A^{+}B$ with the pseudoinverse $A^+$)
# or over orthogonal ones (*Procrustes*: $UV^\top$, where $A^\top B = UDV^\top$).
# Least squares has a bias, so $A$ and $B$ are centred first.
# The orthogonal map has none.
# To see both at work, train small networks on handwritten digits.

# %%
device = devices.pick(device)
parts = ("train", "test")
own, own_test = (data.load(dataset, part, device=device) for part in parts)
usual, rate = ("digits", 1e-2) if dataset == "digits" else ("fast", 3e-3)
adam = replace(zoo.RECIPES[usual], epochs=epochs, optimizer="adam", lr=rate)
shape = {"width": width, "in_channels": own.images.shape[1]}
spec = zoo.Spec("myrtle", own, adam, shape)
seeds = range(1000 + seed, 1000 + seed + pairs)
if networks == "published":
    both = (data.load("cifar10", part, device=device) for part in parts)
    joined, (train, test) = published_pairs("tiny10", pairs, *both)
    fresh = [models.tiny10(seed=k) for k in seeds]
else:  # the zoo trains what it does not have yet
    joined = zoo.pairs(spec, pairs, seed=seed, device=device)
    train, test = own, own_test
    fresh = [models.myrtle(**shape, seed=k) for k in seeds]
train, test = train[:train_images], test[:test_images]

# %% [markdown]
# Join the first pair at one layer, and take the activations on both sides of the cut:

# %%
options = {"device": device, "fit_images": fit_images}
at = cuts(joined[0][1], chosen)[0]
place = Junction(*joined[0], at, train, test=test, dtype="float32", **options)
A, B = (rows(x[:fit_images]).double() for x in place.activations("train"))
recipe = stitches.recipe_for(train, stitch_epochs)  # of the task, below
draw = torch.Generator().manual_seed(seed)

# %%
a, b = A.mean(0), B.mean(0)
M = torch.linalg.lstsq(A - a, B - b).solution
U, _, Vh = torch.linalg.svd(A.T @ B)
Q = U @ Vh

fitted = alignment.least_squares(place.statistics, affine=True)
turned = alignment.orthogonal(place.statistics)
assert relative_error(M, fitted.weight.T) < 1e-3
assert relative_error(Q, turned.weight.T) < 1e-3

# %% [markdown]
# Task-loss matching starts at $M_{LS}$ and lowers the cross-entropy of $F_S$ to the probabilities $p_2(x)$ of
# model 2, averaged over $n$ training images:
#
# $$-\frac1n\sum_x p_2(x)^\top\log\mathrm{softmax}\,F_S(x).$$ (eq-task-loss)
#
# It is measured in nats, and least where $F_S$ answers as model 2 does ({ref}`ex-entropy`).
# The front runs once, its activations are kept, and only $S$ is trained:

# %%
front, goal = place.activations("train")[0], place.targets("train")


def trained(S, front):
    optimiser = torch.optim.Adam(S.parameters(), lr=recipe.lr)
    for _ in range(stitch_epochs):
        for batch in torch.randperm(len(front), generator=draw).split(64):
            loss = cross_entropy(place.back(S(front[batch])), goal[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return S


S = nn.Conv2d(A.shape[1], B.shape[1], kernel_size=1).to(device)
S.weight.data = M.T[:, :, None, None].float().to(device)
S.bias.data = (b - a @ M).float().to(device)
S = trained(S, front)
mine = place.judge(stitch_at(place, S)).accuracy
theirs = stitch_at(place, "least squares", recipe=recipe).evaluate(test)
print(f"accuracy {mine:.1%} by hand, {theirs:.1%} by the library")

# %% [markdown]
# Hand and library differ in the order of the batches and in the learning rate.
#
# ## Why does the best fit lose accuracy?
#
# *One reason: it shrinks what it cannot predict.
# Before the ReLU, restoring the lost variance gains half of the accuracy that training gains, averaged over layers:
# a tenth at layer 2, two thirds at layer 5.*
# A regression predicts the mean of what remains unknown.
# With $R_j^2$ the share of channel $j$'s variance that least squares explains,
#
# $$\operatorname{Var}\,(AM_{LS})_j = R_j^2\,\operatorname{Var}\,B_j.$$ (eq-shrinks)
#
# Take the principal directions of $B$, and call the few that hold half of the variance *loud*
# and the others *quiet*.
# The less variance a direction has, the less its removal costs ({numref}`fig-directions`).
# But there are many quiet ones, and least squares shrinks them most.
# At layer 3 it keeps {glue:text}`loudest:.0f` % of the variance in the loudest direction
# and {glue:text}`quietest:.0f` % in the quietest (medians over pairs).
# Training for the task about restores it in most directions and overdoes it in the quietest:
# there the trained stitch writes {glue:text}`times-low:.0f` to {glue:text}`times-high:.0f` times
# the variance of the layer.
# Layer 6 is alike.

# %% tags=["remove-input"] figure="fig-directions"
story.directions()

# %% [markdown]
# Which part of the error costs the accuracy?
# Add the error of a stitch to model 2's activations, but only in the loud or only in the quiet directions
# ({numref}`fig-split`).
# At layer 3 the quiet error of least squares costs more than the loud one,
# {glue:text}`direct-quiet-costs:.0f` points against {glue:text}`direct-loud-costs:.0f`.
# The quiet error of the trained stitch is *larger*, and costs less in each pair.
# At layer 6 neither part explains the difference: the loud error of the trained stitch costs more in each pair.
# At both layers the whole error of the trained stitch is larger than that of least squares, and costs less on average.
# So the size of an error does not say what it costs.

# %% tags=["remove-input"] figure="fig-split"
story.split()

# %% [markdown]
# This suggests a fit that needs no task: stretch every channel of least squares until it varies as in model 2.

# %%
stretch = B.std(0) / ((A - a) @ M).std(0)
restored = M * stretch  # of rows times M; the bias keeps the mean at b

of_library = directions.variance_restored(place.statistics)
assert relative_error(restored, of_library.weight.T) < 1e-3

# %% tags=["remove-input"] figure="fig-restored"
story.restored()

# %% [markdown]
# *Averaged over layers, it raises accuracy in each of five pairs* ({numref}`fig-restored`).
# Before the ReLU, stretching gains {glue:text}`gain-mean:.1f` % of model 2's accuracy,
# half of the {glue:text}`gain-task:.1f` % that training gains, although it worsens the fit.
# The mean cross-entropy to model 2 falls at layers 2 to 5 and rises from layer 6 on.
#
# *After the ReLU it gains in each pair, too, averaged over layers.*
# At layer 3 it loses {glue:text}`after-3-loses:.0f` % on average, and the cross-entropy rises in three of five pairs.
# The place of the cut matters as much: at layer 2 least squares keeps {glue:text}`direct-2:.0f` %
# before the ReLU and {glue:text}`direct-2-after:.0f` % after it.
#
# *Estimating the statistics of batch norm again after the stitch gains as much.*
# Before the ReLU least squares then keeps {glue:text}`again:.1f` % on average, and stretched as well
# {glue:text}`again-restored:.1f` %.
# Training still keeps more in each pair.
# At layer 1, where nothing was lost, re-estimation costs {glue:text}`again-1-costs:.1f` %.

# %% [markdown]
# Multiply the $j$-th channel of the fit by $s_j^t$, where $s_j$ restores its variance:
# $t = 0$ is least squares, $t = 1$ the stretched fit.
# {numref}`fig-stretch` does it between two small networks for digits.
# *Move the slider: which $t$ is best for the fit, and which for the task?*

# %% tags=["remove-input"] figure="fig-stretch"
best_fit()

# %% [markdown]
# *At layer 3 of Tiny-10 the fit is best at $t = 0$; the task is best at $t$ from {glue:text}`best-t-low:.1f`
# to {glue:text}`best-t-high:.1f`*, depending on the pair ($t$ is chosen on the images that judge it).
# At layer 6 accuracy varies by at most {glue:text}`varies-6:.1f` % from $t = 0.5$ on.
#
# ## Would any front do? (our control)
#
# *At layer 1 of Tiny-10, nearly.
# At deeper layers an untrained front keeps less and less, but more than chance.*
# Put the stitch after a front that was *never trained*, and train it by the task ({numref}`fig-untrained`).
# Cut at layer 1, the stitched network keeps {glue:text}`untrained-1-low:.0f` to {glue:text}`untrained-1-high:.0f` %
# of model 2's accuracy, at most {glue:text}`untrained-1-behind:.1f` % less than after a trained front:
# sixteen random filters keep nearly all that the back needs.
# A good stitch there says little about what model 1 has learned.
# At layer 3 an untrained front keeps {glue:text}`untrained-3-low:.0f` to {glue:text}`untrained-3-high:.0f` %
# of model 2's accuracy, a trained one {glue:text}`task-3:.0f` %.
# At layer 8 the untrained front still keeps {glue:text}`untrained-8-low:.0f` to {glue:text}`untrained-8-high:.0f` %;
# guessing would keep {glue:text}`chance:.0f` %.
# (Batch norm of the untrained front is estimated on the training images.
# Its stitches are trained in float32, those of trained fronts in bfloat16 where the processor has it.)

# %% tags=["remove-input"] figure="fig-untrained"
story.untrained()

# %% [markdown]
# *Even noise can carry a stitch, if it carries the label.*
# {cite:t}`smith2025` stitched clustered noise into networks.
# Give each class one feature map of random numbers and add as much noise for every image.
# Such a front only knows the class.

# %%
centres = torch.randn(len(train.classes), *front.shape[1:], generator=draw)


def noise(labels):
    drawn = torch.randn(len(labels), *front.shape[1:], generator=draw)
    return (centres[labels.cpu()] + drawn).to(device)


S = nn.Conv2d(front.shape[1], B.shape[1], 1).to(device)
S = trained(S, noise(train.labels))
guess = place.back(S(noise(test.labels))).argmax(1)
of_noise = (guess == test.labels).double().mean().item()
print(f"accuracy {of_noise:.1%} after a front of noise")

# %% [markdown]
# On this page the stitched network classifies {glue:text}`of-noise:.1f` % of the test images correctly;
# guessing has 10 %.
# So a stitch by the task measures whether the front *knows enough* for the task,
# not whether it knows the same as the other network.
#
# (sec-low-rank)=
# ## How simple may the map be?
#
# **How few dimensions? (the paper's section 7)**
# *Trained by the task as in the paper, stitches of rank 16 between layers of 32 or 64 channels
# keep {glue:text}`sixteen-low:.0f` to {glue:text}`sixteen-high:.0f` %, the best fits of that rank
# {glue:text}`sixteen-direct-low:.0f` to {glue:text}`sixteen-direct-high:.0f` %.*
# The best fit of low rank can miss what the task needs.
# Take two channels: a loud one, which the task does not read, and a quiet one, whose sign is the label.
# Both networks have the same activations.
# The map of rank $k$ that fits best is $M_{LS}V_kV_k^\top$, where $AM_{LS} = UDV^\top$ (*reduced-rank
# regression*):

# %%
X = torch.randn(1000, 2, generator=draw) * torch.tensor([10.0, 1.0])
label = X[:, 1] > 0  # the quiet channel
_, _, Vh = torch.linalg.svd(X, full_matrices=False)  # M_LS is the identity
fit = X @ Vh[:1].T @ Vh[:1]

theirs = alignment.reduced_rank(alignment.Statistics.of(X, X), rank=1)
assert relative_error(fit, theirs(X)) < 1e-5
explained = fit.square().sum() / X.square().sum()
right = ((fit[:, 1] > 0) == label).double().mean()
print(f"explained {explained:.0%}, labels right {right:.0%}")

# %% [markdown]
# The best fit of rank 1 explains nearly all of the variance, but predicts the label no better than chance.
# In {numref}`fig-low-rank` a product of two factors is trained by the task, from random orthogonal factors,
# by the paper's recipe: 30 epochs of 50,000 images, flipped and shifted.
# *It beats the direct map in {glue:text}`ahead:.0f` of {glue:text}`ranked:.0f` cases.*
# At layer 3 and rank 4, direct maps keep {glue:text}`four-direct-low:.0f` to {glue:text}`four-direct-high:.0f` %,
# trained ones {glue:text}`four-low:.0f` to {glue:text}`four-high:.0f` %.
# *A short training misses this*: after four epochs on 10,000 images random factors beat the direct map
# in only {glue:text}`short-ahead-3:.0f` of {glue:text}`short-ranked-3:.0f` cases at layer 3,
# though from the direct map training gains in all.

# %% tags=["remove-input"] figure="fig-low-rank"
restricted.low_rank()

# %% [markdown]
# (sec-sparsity)=
# **How few entries? (Experiment 7)**
# *At layer 6 the lasso falls steeply mostly because it shrinks the entries that it keeps* ({numref}`fig-sparsity`).
# Stitches by task loss with more than 80 % zeros keep {glue:text}`sparse-6-low:.0f`
# to {glue:text}`sparse-6-high:.0f` % of model 2's accuracy there.
# With as many zeros the lasso keeps {glue:text}`lasso-6-low:.0f` to {glue:text}`lasso-6-high:.0f` %,
# and least squares on the entries of the lasso {glue:text}`refit-6-low:.0f` to {glue:text}`refit-6-high:.0f` %:
# fitting again closes {glue:text}`closed-6-low:.0f` to {glue:text}`closed-6-high:.0f` % of the gap.
# The stitch by task loss is shrunk, too, and was not refitted.
# At layer 3 pairs differ, as least squares does without zeros:
# with as many zeros the refitted lasso keeps {glue:text}`refit-3-low:.0f`
# to {glue:text}`refit-3-high:.0f` %, task loss {glue:text}`sparse-3-low:.0f` to {glue:text}`sparse-3-high:.0f` %.
#
# *The lasso falls fastest near the 80 to 90 % zeros that the paper names*:
# between 70 and 90 % zeros ten points more cost it {glue:text}`drop-low:.0f` to {glue:text}`drop-high:.0f` %
# of model 2's accuracy on average, up to 70 % they cost {glue:text}`before-low:.0f` to {glue:text}`before-high:.0f` %,
# and less in each pair at both layers.
# But at layer 3, with 70 % zeros, it is down to {glue:text}`seventy-3-low:.0f` to {glue:text}`seventy-3-high:.0f` %.
#
# The main text of the paper names neither the network nor the layer of its figure 8,
# and we have not seen its appendix A.9.
# The paper adds $\alpha\lVert M\rVert_1$, the sum of all $|m_{ij}|$, to both losses.
# For direct matching it calls the result the *lasso*, in which the distance is squared:
#
# $$\tfrac12\lVert AM - B\rVert_F^2 + \alpha\lVert M\rVert_1.$$ (eq-lasso)
#
# Coordinate descent minimises it one row of $M$ at a time.
# With the other rows fixed, the best row has a formula:
# move every entry of `rest` towards 0 by α, at most to 0, and divide by `AA[i, i]`.


# %%
AA, AB, _ = place.statistics.products(centred=True)  # of A and B


def lasso(alpha, sweeps=300):  # the M of least ½‖AM − B‖² + α‖M‖₁
    M = torch.zeros_like(AB)
    for _ in range(sweeps):
        for i in range(len(AA)):
            rest = AB[i] - AA[i] @ M + AA[i, i] * M[i]
            M[i] = rest.sign() * (rest.abs() - alpha).clamp(min=0) / AA[i, i]
    return M


alpha = 0.03 * AB.abs().max().item()
theirs = alignment.lasso(place.statistics, alpha, affine=True).weight.T
assert relative_error(lasso(alpha), theirs) < 1e-2

# %% [markdown]
# :::{admonition} Misprint: Csiszárik et al. 2021, eq. (3)
# :class: warning
# :name: box-square-root
# The norm in equation (3) lacks its square.
# As printed it is the *square-root lasso*.
# Unless the fit is exact, it has the same solutions at another α ({ref}`ex-one-path`).
# :::
#
# In {numref}`fig-sparsity` every sparse stitch by task loss has two partners: the lasso with as many zeros,
# found by bisection in α, and least squares on the entries that it keeps.
# Both are drawn at each ten percent of zeros as well.
# Entries below $10^{-4}$ count as zeros, as in the paper, and are set to 0 before a stitch is judged.

# %% tags=["remove-input"] figure="fig-sparsity"
restricted.sparsity()

# %% [markdown]
# (sec-starts)=
# ## Does the start matter? (Experiments 5 and 6)
#
# *Within four epochs, yes, except at layer 8.
# In a run of thirty, most starts at layers 1 to 5 come within a tenth of the best stitch.*
# At each layer of {glue:text}`start-pairs:.0f` pairs we tried four random starts, the same four in every pair,
# and least squares with four orders of the images.
# At layers 1 to 7 every random start ends lower than all four from least squares.
# In the paper, accuracies are of the same order in most cases.
# We call a start *alike* if it ends at most a tenth of model 2's accuracy below the best stitch of its layer.
# Then {glue:text}`alike:.0f` of our {glue:text}`starts:.0f` random starts are alike:
# all at layers 6 to 8, some at layers 1, 3 and 4, none at layers 2 and 5.
# Of the {glue:text}`starts:.0f`, {glue:text}`below-fit:.0f` end lower than the fit without any training.
# Starts from least squares end within {glue:text}`fitted-apart:.1f` % of each other, but they also start at one map.
#
# At layers 1 to 5 we also trained the random starts of {glue:text}`longer-pairs:.0f` pairs for thirty epochs,
# as many as in the paper, each of a fifth of its images.
# Then {glue:text}`longer-alike:.0f` of {glue:text}`longer-starts:.0f` are alike
# ({glue:text}`shorter-alike:.0f` were after four epochs):
# all at layers 2 to 5, and {glue:text}`alike-1:.0f` of {glue:text}`starts-1:.0f` at layer 1
# (starts from least squares, with which they are compared, had four).
# The other {glue:text}`low-1:.0f` keep at most {glue:text}`low-high:.0f` %;
# we do not know whether more epochs would help.
# This is another run and not the short one continued: its learning rate falls to 0, too, but later.
#
# Two stitches are *linearly connected* if every stitch on the straight line between them is as good.
# Interpolate linearly between the accuracies of the ends: the *barrier* is the largest drop below this.
# *From layer 6 on no line between random starts has a barrier above {glue:text}`flat:.1f` %* ({numref}`fig-paths`).
# The paper finds stitches connected on most layers, and not on the first three, for ends of 80 % or more.
# After thirty epochs {glue:text}`walls-2:.0f` of {glue:text}`lines-2:.0f` lines with such ends have a barrier
# above 5 % at layer 2, {glue:text}`walls-1:.0f` of {glue:text}`lines-1:.0f` at layer 1
# and {glue:text}`walls-3:.0f` of {glue:text}`lines-3:.0f` at layer 3, up to {glue:text}`wall-high:.0f` %;
# at layers 4 and 5 none has one above {glue:text}`flat-5:.1f` %.
# Batch norm is frozen; whether re-estimated statistics would lower these barriers we did not try.

# %% tags=["remove-input"] figure="fig-paths"
lines.between()

# %% [markdown]
# ## Run it yourself
#
# *This section is computed by this page*, in a small run whose numbers need not agree
# with the recorded ones ({numref}`fig-matching-live`).
# Another run is one command: `.venv/bin/intertwine run 03b_matching -p width 16 -p stitch_epochs 10`.

# %%
direct = {"kind": "least squares"}
task = direct | {"recipe": recipe}
methods = {
    "task loss": task,
    "least squares": direct,
    "orthogonal": {"kind": "orthogonal"},
    "no stitch": {"kind": "identity"},
    "best permutation": {"kind": "permutation"},
    "random permutation": {"kind": "random permutation"},
    "hard targets": direct | {"recipe": replace(recipe, targets="hard")},
}
stretched = {"variance restored": {"kind": directions.variance_restored}}
for front in fresh:  # batch norm estimated, as a trained front has it
    torch.optim.swa_utils.update_bn(train.images.split(100), front.to(device))
nulls = [(fresh[k].eval(), two) for k, (_, two) in enumerate(joined)]

# %% figure="fig-matching-live"
run = results.run(globals(), "03b_matching", data=train)
steps = partial(run.steps, uses=claims.SHARED)
places = cuts(joined[0][1], layers)
ends = {"train": train, "test": test, "seed": seed, **options}


def stitched(name, pairs, how, ends=ends):
    """Every way of stitching, at every layer of every pair."""
    return stitch_many(pairs, places, how, steps=partial(steps, name), **ends)


matching = stitched("matching", joined, methods)
restored_too = stitched("restored", joined, stretched)
exact = ends | {"dtype": "float32"}
untrained = stitched("untrained", nulls, {"untrained front": task}, exact)
story.live(pd.concat([matching, restored_too, untrained]))

# %% [markdown]
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
# {cite:t}`jordan2023` restore the variance of channels where two networks are averaged;
# here the same step repairs a fit.
# The square-root lasso is due to {cite:t}`belloni2011`.
#
# ## Deviations from the paper
#
# The {doc}`../scoreboard` has every printed number beside ours.
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
#   - ten pairs of Tiny-10, of ResNet-20 of several widths, and of Inception V1
#   - five pairs of the published Tiny-10; of ResNet-20 of width 16 one published pair, and three that others
#     published, with shortcuts without weights; no Inception, whose weights and images are not free
#   - intervals; Experiment 2
# * - training of a stitch
#   - 30 epochs, 50,000 images, augmented
#   - as printed in {numref}`fig-low-rank` and {numref}`fig-sparsity` (in bfloat16 where that is faster); else
#     4 epochs (random starts at layers 1 to 5 also 30), 10,000 images, not augmented, a higher learning rate
#   - random starts at layers 6 and 7 may be unfinished
# * - least squares
#   - fitted to the images that it is judged on
#   - fitted to 2,500 training images, judged on 3,000 test images, or as the caption says;
#     on the scoreboard, where nothing is trained beside it on Tiny-10, fitted to all 50,000 training images
#     and judged on all 10,000 test images
#   - {ref}`ex-same-images`
# * - starts
#   - 50 random, 50 from least squares
#   - 4 random at each layer of a pair, and 4 orders of the images from one least-squares map
#   - the share of starts that end low
# * - low rank, direct
#   - no bias
#   - a bias, as for task loss
#   - without it the direct map keeps {glue:text}`bias-gains:.1f` % less on average
# * - strength of L1
#   - on the mean of all sizes of entries
#   - on their sum, as in equation (3)
#   - another scale of α
# :::
#
# Both networks are frozen in evaluation mode, as in the authors' code.
#
# (sec-width)=
# (sec-robust)=
# **Other networks.**
# The paper's Experiment 2 says that wider networks match better; its ResNet-20 of several widths are not published.
# Small Myrtle CNNs on digits agree: by task loss width 8 keeps more than width 2 at each of four layers of two pairs.
# The paper found no networks that could not be matched.
# We tried Myrtle CNNs cut after the ReLU, one pair of each kind at width 16 on CIFAR-10, two at width 8 on digits.
# The kinds: trained by SGD; without batch norm; trained on images that the two do not share;
# a front that knows five classes only.
# No pair loses more than 10 % at any layer by task loss.
#
# ## Exercises
#
# :::{exercise}
# :label: ex-explained
# *Warm-up.*
# Prove {eq}`eq-shrinks`.
# Does an orthogonal map shrink the total variance?
# :::
#
# ::::{solution} ex-explained
# :class: dropdown
# The residual of least squares is orthogonal to every column of $A$,
# so $\operatorname{Var} B_j$ $= \operatorname{Var}(AM)_j$ $+ \operatorname{Var}(AM - B)_j$,
# and $R_j^2$ is the first term's share.
# An orthogonal map keeps all lengths: the total variance of $AQ$ is that of $A$.
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
# of model 2 ({glue:text}`entropy:.1f` nats on Tiny-10).
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
# For the first, differentiable at $M$ but for its penalty as $r > 0$, this says $A^\top(AM - B)/r + \alpha g = 0$
# with some $g\in\partial\lVert M\rVert_1$.
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

# %%
last = Junction(*joined[0], "flatten", train, test=test, **options)
drawn = {"kind": "full", "start": "random", "recipe": recipe}
asked = {"seeds": [seed, seed + 1], "fractions": [k / 10 for k in range(11)]}
walk = stitches.path_rows(last, drawn, accuracies=(100.0, 100.0), **asked)
line = pd.DataFrame(walk)
one, two = line["loss"].iloc[-1], line["loss"].iloc[0]
chord = line["fraction"] * one + (1 - line["fraction"]) * two
print(f"above its chord by at most {(line['loss'] - chord).max():.3f} nats")

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

# %% figure="fig-ex-same"
found, others = [], test[len(test) // 2 :]
for n in (20, 50, 150, min(500, len(test) // 2)):
    for k in range(3):
        these = test[k:][: 3 * n : 3][:n]
        sets = {"its own images": these, "other images": others}
        for name, judged in sets.items():
            there = Junction(*joined[0], at, these, test=judged, **options)
            fitted = stitch_at(there, "least squares")
            row = {"images": n, "judged on": name}
            found.append(row | {"accuracy": 100 * fitted.evaluate(judged)})
tones = {"its own images": "orange", "other images": "blue"}
words = {"xlabel": "images of the fit", "ylabel": "accuracy, %"}
words["colours"] = {name: style.COLOURS[tone] for name, tone in tones.items()}
dots(pd.DataFrame(found), "images", "accuracy", "judged on", **words)

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
# ## Summary
#
# - The best fit is not the best stitch: {glue:text}`direct:.0f` % against {glue:text}`task:.0f` % of the accuracy
#   on the authors' Tiny-10, on average; at layer 1 there is no gap.
# - Least squares shrinks what it cannot predict, most in quiet directions.
#   Restoring the variance gains half as much accuracy as training does, on average over layers before the ReLU.
# - Cut at layer 1, an untrained front does nearly as well.
#   Deeper it keeps less and less, but more than chance.
# - Trained by the task as in the paper, stitches of rank 16 keep {glue:text}`sixteen-low:.0f`
#   to {glue:text}`sixteen-high:.0f` % at layers 3 and 6,
#   those of rank 4 keep {glue:text}`four-low:.0f` to {glue:text}`four-high:.0f` % at layer 3.
#   With more than 80 % zeros a stitch keeps {glue:text}`few-low:.0f` to {glue:text}`few-high:.0f` %.
#   They beat the best fit of that rank and the lasso, which at layer 6 falls mostly because it shrinks.
# - In four epochs random starts end lower than starts from least squares at layers 1 to 7, in each pair.
#   In a run of thirty most at layers 1 to 5 come within a tenth of the best;
#   lines between good ends have barriers, most often at layer 2.
#
# Back to {doc}`03_stitching`; on to {doc}`04_dissimilarity`, where similarity is measured without a task.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
sets = {"train": train, "test": test}
claims.write(run, joined, matching, recipe, spec, own_test, sets, **options)
tell(story.facts(), {"of-noise": 100 * of_noise})
results.provenance(run.folder)
