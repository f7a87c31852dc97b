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
# # 5 · Is the coordinate basis special?
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the matrices that an activation is compatible with.
#
# **You will learn** to measure which concepts single units select, to rotate the basis of a layer by degrees,
# and to separate what training puts into that basis from what the activation alone puts there.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## A basis that turns
#
# One neuron selects stripes, another selects wheels {cite}`bau2017`.
# But a layer is a vector space, and a neuron is one of its coordinate axes.
# Why look along these axes and not along others?
# {numref}`fig-turn` has two units after a ReLU, of a small network that this page trained on
# {doc}`scenes that we draw <../api/zoo>`; all pixels of these scenes have a known colour, texture, shape and material.
# Each unit is large where a scene shows one concept, so each axis points along one arm of the cloud.
# *Turn the basis: which unit keeps a concept, and what does the other select at 45°?*

# %% tags=["hide-input"]
from dataclasses import replace
from functools import cache

import pandas as pd
import torch
import torch.nn.functional as F

from intertwine import devices, dissection
from intertwine_book import results, zoo
from intertwine_book.experiments.interpretability import (
    against_rotation,
    claimed,
    imagenet,
)
from intertwine_book.experiments.interpretability import networks as experiment
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dissection import dissection_steps, gallery
from intertwine_book.figures.forest import forest
from intertwine_book.figures.style import use_style
from intertwine_book.live.basis import turning_basis
from intertwine_book.stories import efficientnet, tell
from intertwine_book.stories import interpretability as story

use_style()

# %% tags=["parameters"]
from typing import Literal

datasets: list[Literal["concepts", "camvid"]] = ["concepts"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order, rotations and scenes
kinds: list[str] = ["ReLU", "no ReLU", "ConvNeXt"]  # and "tanh", "GELU"
networks: int = 2  # of each kind, trained from different seeds
width: int = 12  # channels of the first block; 2·width units are dissected
epochs: int = 6  # of training
train_images: int = 1000  # scenes, or patches at most
test_images: int = 200  # scenes that are dissected
test_frames: int = 60  # frames of CamVid that are dissected, at most
layers: list[Literal["output", "inside", "convolution"]] = ["output"]
rotations: int = 2  # drawn for each network
alphas: list[float] = [0.0, 0.5, 1.0]  # how far towards each rotation
quantiles: list[float] = [0.005]  # shares that a unit selects, beside:
main_quantile: float = 0.02  # the one that the figures show
lite_networks: list[int] = []  # EfficientNet-Lite 0, 1, 2 (ImageNet)
lite_frames: int = 120  # frames of CamVid for them
lite_rotations: int = 5  # drawn for each of their blocks

# %% tags=["hide-input"]
device = devices.pick(device)
sizes = {"train": train_images, "test": test_images, "frames": test_frames}
recipe = replace(zoo.RECIPES["digits"], epochs=epochs, batch_size=50)


@cache
def sets(name):
    """What networks are trained on, and masked images to dissect them on."""
    return experiment.sets(name, **sizes, seed=seed, device=device)


@cache
def pair(dataset, kind, number):
    """A trained network, and the untrained one that it began as."""
    asked = {"width": width, "seed": 1000 * seed + number, "device": device}
    return experiment.pair(kind, sets(dataset)[0], recipe, **asked)


# %% tags=["hide-input"] figure="fig-turn"
drawn = sets("concepts")[1]
after_relu = pair("concepts", "ReLU", 0)["trained"]
units = experiment.maps(after_relu, "ReLU", "output", drawn.data.images)
turning_basis(units, drawn)

# %% [markdown]
# At 45° the first unit reads the sum of both values: it selects two concepts, and fits neither well.
# The second unit reads their difference, which still separates one concept from the other.
# At 90° the first unit has become the detector that the second was, and the second reads the negative of a value:
# the pixels that it selects fit no concept well.
# We chose two units for which this is clear, so it proves nothing about the others.
#
# The intertwiner group of an activation gives a reason to look along the axes {cite}`godfrey2022`.
# ReLU is compatible with permutations and positive scalings, and these leave the axes where they are.
# Without an activation the layer's function singles out no basis; training may.
# The prediction: *rotate the basis, and units lose their concepts after a ReLU, but not where there is no ReLU.*
#
# *In three networks trained on ImageNet the usual measure of overlap with concepts falls under a rotation,
# after the first ReLU6 of a block (a ReLU that is cut off at 6).
# But the units of a random basis also select fewer pixels.
# When all units select equally many, we see no fall on average over the blocks:
# in three stages of the networks the overlap is lower by {glue:text}`fall-least` to {glue:text}`fall-most` %,
# in the two deepest it is higher.*
#
# ## What a unit selects
#
# To *dissect* a unit, keep the pixels where it is strongest and compare them with the mask of a concept.
# {numref}`fig-steps` does this for one image and one unit of the network of {numref}`fig-turn`.

# %% tags=["hide-input"]
shown, masks = sets(datasets[0])[1]
network = pair(datasets[0], "ReLU", 0)["trained"]
maps = experiment.maps(network, "ReLU", "output", shown.images)
draw = torch.Generator().manual_seed(seed)
turn = dissection.haar_rotation(maps.shape[1], draw)
turned = (turn.to(maps) @ maps.flatten(2)).view_as(maps)
asked = {"quantile": main_quantile}
found = dissection.dissect(maps, masks, **asked)
after = dissection.dissect(turned, masks, **asked)

# %% tags=["hide-input"]
size, few = shown.images.shape[-2:], {"images": 3}
own = dissection.examples(maps, found, size, units=4, **few)
same = [each.unit for each in own]
rotated = dissection.examples(turned, after, size, units=same, **few)
pictures = (shown.images * shown.std + shown.mean).clamp(0, 1)
pictures = pictures.movedim(1, -1).numpy(force=True)

# %% tags=["remove-input"] figure="fig-steps"
best = own[0]
k = best.images[0]
concept = masks.planes()[k, masks.names.index(best.concept)].numpy(force=True)
unit_map = maps[k, best.unit].numpy(force=True)
dissection_steps(pictures[k], unit_map, best.selected[0].numpy(force=True), concept)

# %% [markdown]
# :::{prf:definition} Network dissection
# :label: def-dissection
# Let a unit $u$ have the maps $m_u$, one number for each image and position, and let $T_u$ be the value
# that a share $q$ of these numbers exceeds.
# The unit *selects* the pixels $S_u$ where its map, upsampled bilinearly, exceeds $T_u$.
# With a concept whose pixels are $C$, over all images together,
#
# $$\mathrm{IoU}(u, C) = \frac{|S_u \cap C|}{|S_u \cup C|},$$ (eq-iou)
#
# and a unit is *interpretable* if its best IoU exceeds a threshold.
# The authors of the method {cite}`bau2017` take $q = 0.005$ and the threshold 0.04;
# the paper's repository names their tool.
# :::
#
# The whole method is ten lines.
# The library does the same without upsampling every pixel.


# %%
def best_iou(maps, planes, q):
    """The best IoU of every unit, by the definition."""
    values = maps.movedim(1, 0).flatten(1)  # one row a unit
    levels = values.topk(int(q * values.shape[1]) + 1).values[:, -1]
    large = F.interpolate(maps, planes.shape[2:], mode="bilinear")
    selects = large > levels[:, None, None]
    selects = selects.movedim(1, 0).flatten(1).double()
    shows = planes.movedim(1, 0).flatten(1).double()  # one row a concept
    both = selects @ shows.T
    either = selects.sum(1)[:, None] + shows.sum(1) - both
    return (both / either).amax(1)


ours = best_iou(maps.double(), masks.planes(), main_quantile)
assert torch.allclose(ours, found.best, atol=1e-3)

# %% [markdown]
# {numref}`fig-gallery` shows the best units of the small network, and the units with the same numbers in a random
# basis, which mix all of the others.
# We chose the four best units on the left, so a loss on the right would prove nothing.
# Only the mean over all units is evidence.

# %% figure="fig-gallery"
gallery(pictures, masks, {"own basis": own, "rotated": rotated})

# %% [markdown]
# (sec-figure-3)=
# ## What a rotation costs
#
# *With the levels of {prf:ref}`def-dissection` a random basis has {glue:text}`fall-first:.0f` % less IoU after the
# first ReLU6 than the network's own. With equal areas we see no fall on average over the blocks*
# ({numref}`fig-imagenet`).
#
# The networks are EfficientNet-Lite 0, 1 and 2, trained on ImageNet, with their authors' weights.
# A block of theirs widens its channels, applies ReLU6, convolves each channel by itself,
# applies ReLU6 again, and narrows the channels *without* an activation.
# So one network has both cases that figure 3 of the paper compares between networks.
# In the paper the number of interpretable units falls for a ResNet-50, stays for one without ReLU on its residual
# outputs, and rises for a ConvNeXt; it shows curves only.
#
# **Equal areas.**
# The usual level $T_u$ is taken on the coarse map and applied to the upsampled one.
# So units select different areas: the higher a number is above the level, compared with its neighbours,
# the more pixels around it are selected.
# After a ReLU some units are 0 at almost all positions, so their level is 0,
# and every positive number selects all pixels around it.
# A rotation leaves no such units; we think that this explains part of the difference, and have not measured how much.
# A peak of the coarse map is flattened by the upsampling, so that a unit may also select fewer pixels than $q$.
# After the first ReLU6 units select {glue:text}`own-area:.2f` % of the pixels in the network's own basis and
# {glue:text}`random-area:.2f` % in a random one, and the IoU depends on the area ({prf:ref}`prop-ceiling`).
# The code of a later work of the method's authors {cite}`bau2020` takes the level on the upsampled map.
# Then every unit selects the same share $q$, unless many of its values are equal;
# `dissection.dissect(..., equal_area=True)` does this.

# %% tags=["remove-input"] figure="fig-imagenet"
efficientnet.both_levels()

# %% [markdown]
# :::{admonition} How it was measured
# :class: dropdown
# Street scenes of CamVid at 180 × 240 pixels, with eleven classes of pixels; the last block of the five deepest
# stages, whose maps have down to 6 × 8 positions.
# Of each layer all units, or 256 drawn at random: {glue:text}`units-low:.0f` to {glue:text}`units-high:.0f`
# after the ReLU6, {glue:text}`linear-units-low:.0f` to {glue:text}`linear-units-high:.0f` at the linear outputs.
# A rotation mixes the units that were drawn, not the whole layer.
# Rotations are drawn uniformly (by Haar measure), five a layer, the same before and after training.
# A network is a trial, with its mean over blocks and rotations.
# The three networks are sizes of one family and no draws, so we show each, and no interval.
# Overlaps of {numref}`fig-imagenet` and {numref}`fig-depth` are counted at every third pixel in each direction.
# The {doc}`../scoreboard` corrects for the number of lines, and reads the tables with the usual levels.
# :::
#
# With equal areas the mean IoU of all blocks changes by {glue:text}`equal-first` % in the three networks after the
# first ReLU6, and by {glue:text}`equal-linear` % at the linear output; deep blocks, whose IoU is higher, weigh more
# in it.
# In the own basis {glue:text}`empty-first:.0f` % of the units after the first ReLU6 select no pixel, and have an IoU
# of 0; without them the change is {glue:text}`filled-first` %.
# After the second ReLU6 the IoU rises by {glue:text}`equal-second` %.
# This need not mean more concepts: {glue:text}`empty-second:.0f` % of these units select no pixel in the own basis,
# because they are 0 on all frames or have their largest value at more than the share $q$ of the pixels.
# Without them the change is {glue:text}`filled-second` %; many of the others are almost always 0, and still select
# fewer pixels.
#
# Untrained networks lose {glue:text}`fall-untrained:.0f` % after the first ReLU6 with the usual levels,
# and change by {glue:text}`equal-untrained` % with equal areas.
# With equal areas the three untrained networks fall, and the trained ones do not,
# so we do not say that training causes the fall.
#
# *What would change it.*
# Equal areas as small as a random basis has with the usual levels, $q = 0.00125$, where the fall could return;
# a rotation of those units only that are not almost always 0; other images.
#
# The IoU is low, about {glue:text}`level:.0f` %.
# *Chance* is the IoU that 5 % of the units exceed with the masks of other images.
# With the true masks and the usual levels {glue:text}`chance-first:.0f`, {glue:text}`chance-second:.0f`
# and {glue:text}`chance-linear:.0f` % of the units exceed it at the three layers,
# and {glue:text}`chance-low:.0f` to {glue:text}`chance-high:.0f` % in untrained networks.
#
# {numref}`fig-depth` goes through the stages of the networks.
# *After the first ReLU6 the IoU falls with equal areas in three stages and rises in the two deepest, in each of the
# three networks*: it changes by {glue:text}`stage-3`, {glue:text}`stage-4`, {glue:text}`stage-5`,
# {glue:text}`stage-6` and {glue:text}`stage-7` % on average from the third stage to the seventh.

# %% tags=["remove-input"] figure="fig-depth"
efficientnet.depth()

# %% [markdown]
# (sec-ceiling)=
# ## Why we do not count units
#
# *A count of interpretable units may stand still while every unit loses,
# or halve while the mean falls by a quarter.*
# The paper counts units; the threshold of its tool is an IoU of 0.04.
# By this count, with the usual levels, half of the interpretable units are lost after the first ReLU6,
# and hardly any at the linear output.
# With equal areas more units count in both bases, since they select more pixels,
# and on average over the blocks the count does not fall.
# The table has the percent of the units, mean over blocks and networks:

# %% tags=["remove-input"]
efficientnet.count_table()

# %% [markdown]
# In untrained networks at most {glue:text}`untrained-most:.1f` % of the units count, on average over blocks and
# networks, at any layer and in any basis.
# A count sees only whether the IoU exceeds a threshold.
# The size of a concept decides whether this is possible.
#
# :::{prf:proposition} The ceiling
# :label: prop-ceiling
# A unit that selects a share $s$ of the pixels has, with a concept that covers a share $a$,
# an IoU of at most $\min(s, a)/\max(s, a)$.
# :::
#
# :::{prf:proof}
# $|S \cap C| \le \min(|S|, |C|)$ and $|S \cup C| \ge \max(|S|, |C|)$.
# :::

# %%
selected, covered = found.selected[:, None], found.covered  # pixels
ceiling = torch.minimum(selected, covered) / torch.maximum(selected, covered)
assert (found.iou <= ceiling).all()
closest = (found.iou / ceiling).max().item()
print(f"the closest unit reaches {closest:.0%} of its ceiling")

# %% [markdown]
# A unit that selects a share of 0.005 passes a threshold of 0.04 only with a concept of less
# than $0.005/0.04 = 12.5$ percent of the pixels.
# *Larger concepts do not count, however well a unit selects them: sky, buildings and roads on CamVid.*
# Below that size such a unit counts as soon as enough of its pixels lie in the concept ({numref}`fig-ceilings`):
# an eighth for a traffic sign, nine tenths for a tree.
# After upsampling a unit may select fewer pixels, and the bound is stricter: with a share of 0.003 no tree can count.
# Of the 24 concepts of the drawn scenes {glue:text}`never:.0f` can never count with a share of 0.005.
# We therefore measure the mean best IoU.

# %% tags=["remove-input"] figure="fig-ceilings"
story.ceilings()

# %% [markdown]
# ## A rotation, and the way to it
#
# A random basis is a rotation $Q$ drawn by Haar measure, the uniform distribution on the group $SO(n)$.
# From scratch:


# %%
def rotation(n, generator):
    """Gram–Schmidt on a Gaussian matrix, with determinant 1."""
    normal = torch.randn(n, n, dtype=torch.float64, generator=generator)
    Q, R = torch.linalg.qr(normal)
    Q = Q * R.diagonal().sign()
    Q[:, 0] *= torch.linalg.det(Q)
    return Q


n, draw = maps.shape[1], torch.Generator().manual_seed(seed)
Q = rotation(n, draw)
assert torch.allclose(Q, dissection.haar_rotation(n, draw.manual_seed(seed)))

# %% [markdown]
# :::{admonition} Erratum: Godfrey et al. 2022, section 6, rotations
# :class: warning
# The paper draws $Q$ uniformly from $SO(n)$ by Gram–Schmidt on a Gaussian matrix.
# That is uniform on $O(n)$: half of the draws have determinant $-1$, and no path of rotations leads to them.
# One column, negated where the determinant is $-1$, mends it; the authors' code does this, too.
# :::
#
# :::{prf:proposition} The geodesic
# :label: prop-geodesic
# A rotation $Q \in SO(n)$ is $Q = Z T Z^\top$ with $Z$ orthogonal and $T$ made of plane rotations by angles
# $\theta_k \in (-\pi, \pi]$ and of ones.
# With every $\theta_k$ replaced by $\alpha\theta_k$ one has $Q^\alpha$ (one only,
# unless $-1$ is an eigenvalue of $Q$), and
#
# $$Q^0 = I,\; Q^1 = Q,\; Q^\alpha Q^\beta = Q^{\alpha+\beta},$$ (eq-geodesic)
#
# a shortest path from $I$ to $Q$, of length $\sqrt{2}\,\lVert\theta\rVert = \lVert\log Q\rVert_F$.
# :::
#
# :::{prf:proof}
# :class: dropdown
#
# The real Schur form of $Q$ gives $Z$ and $T$; eigenvalues $-1$ come in pairs, since $\det Q = 1$,
# and a pair is a rotation by π.
# Angles in one plane add up, which is {eq}`eq-geodesic`.
# The shortest paths from $I$ are $e^{tS}$, $0\le t\le1$, with $S$ skew; their length is $\lVert S\rVert_F$,
# $\sqrt2$ times the norm of the angles of $S$.
# If $e^S=Q$, these are the $\theta_k$ up to multiples of $2\pi$, and least in $(-\pi,\pi]$.
# :::
#
#
# The eigenvalues of $Q$ are $e^{\pm i\theta_k}$, so its power turns each by $\alpha\theta_k$:


# %%
def power(Q, alpha):
    values, vectors = torch.linalg.eig(Q)
    turned = torch.exp(1j * alpha * values.angle())
    return (vectors * turned @ vectors.inverse()).real


assert torch.allclose(power(Q, 0.3), dissection.geodesic(Q, 0.3))

# %% [markdown]
# All units of the network of {numref}`fig-gallery` on the way to a random basis, and those of the same network before
# training:

# %%
for weights, each in pair(datasets[0], "ReLU", 0).items():
    units = experiment.maps(each, "ReLU", "output", shown.images)
    for alpha in alphas:
        turned = power(Q, alpha).to(units) @ units.flatten(2)
        turned = turned.view_as(units)
        best = dissection.dissect(turned, masks, quantile=main_quantile).best
        print(f"{weights}, α = {alpha}: mean best IoU {best.mean():.1%}")

# %% [markdown]
# (sec-group)=
# ## Does the basis follow the group?
#
# What *training adds* is the cost of a rotation in a trained network minus that in the same network untrained,
# in points of IoU (one is 0.01) or as shares of the IoU in the own basis.
#
# *With equal areas, on drawn scenes, training adds with ReLU and with GELU, in points and as a share.
# With the usual levels it adds points; a share is not established at $q = 0.02$.
# On street scenes little is decided.
# Whether the size of the group matters we do not know: six networks of each kind, of width 16, are too few.*
# In small networks we can choose the activation on the residual output:
#
# | activation | group on $n$ units | dimension | connected pieces |
# |---|---|---|---|
# | none | all invertible matrices | $n^2$ | 2 |
# | ReLU | permutations with positive scalings | $n$ | $n!$ |
# | tanh | permutations with signs | 0 | $2^n\,n!$ |
# | GELU, ReLU6 | permutations | 0 | $n!$ |
#
# On drawn scenes training adds {glue:text}`gelu` points with GELU, {glue:text}`relu` with ReLU
# and {glue:text}`none` without an activation ({numref}`fig-recorded-slopes`).
# At all three $q$ the intervals of ReLU and GELU lie above 0, and that of the network without an activation
# contains 0 ({ref}`ex-quantile` shows this one and ReLU).
# tanh has {glue:text}`tanh`, with the caution below.
#
# But training also raises the IoU itself, with ReLU from {glue:text}`own-untrained:.1f`
# to {glue:text}`own-trained:.1f` %.
# A random basis costs {glue:text}`relu-share` % more of it after training with ReLU
# and {glue:text}`gelu-share` % with GELU, at $q = 0.02$: not established.
#
# With equal areas training adds {glue:text}`gelu-equal` with GELU, {glue:text}`relu-equal` with ReLU,
# {glue:text}`tanh-equal` with tanh and {glue:text}`none-equal` without an activation,
# in networks that were trained again in the same way.
# As shares these are {glue:text}`gelu-share-equal` % with GELU and {glue:text}`relu-share-equal` % with ReLU.
#
# On street scenes, with the usual levels, the intervals are wide: ReLU has {glue:text}`relu-street`,
# and only that of tanh excludes 0, at this $q$ alone. Equal areas are not recorded there.
# Whether the activation or the size of its group makes the axes special, these networks do not decide.

# %% tags=["remove-input"] figure="fig-recorded-slopes"
story.by_group()

# %% [markdown]
# :::{admonition} A caution about tanh
# With the usual levels the IoU of untrained networks with tanh *rises* under a rotation on drawn scenes,
# by {glue:text}`tanh-rise:.1f` points, and that of trained ones by {glue:text}`tanh-trained-rise:.1f`.
# With equal areas it falls: a rotation costs untrained ones {glue:text}`tanh-untrained-equal` points and trained ones
# {glue:text}`tanh-trained-equal`. So the rise was one of area.
# tanh squeezes large values together just below 1, and after upsampling few pixels exceed a unit's level;
# a rotation mixes units, and more exceed it again.
# :::
#
# (sec-inside)=
# **Inside the block.**
# *On drawn scenes training adds points to the cost of a rotation at every layer of the network with ReLU.
# Without an activation on the output, in the network without ReLU there and in ConvNeXt, it adds only after the
# activation inside the block* ({numref}`fig-inside`).
# Of these five intervals above 0, only that of the convolution of the network with ReLU is above 0
# on street scenes, too, and only that one as a share of the IoU on drawn scenes.
# The figure has the output of the block, what comes out of the activation inside,
# and the convolution after it, whose output is added to the shortcut.
# In the network with ReLU, the ReLU acts on the sum of this convolution and the shortcut.
# In the others no activation acts on it.

# %% tags=["remove-input"] figure="fig-inside"
story.inside_the_block()

# %% [markdown]
# At a convolution of the network without ReLU the paper's count rises with rotation (its figure 19).
# On drawn scenes we cannot tell: training changes the slope, against α, of the share of units above chance
# by {glue:text}`figure-19`.
# On street scenes it lowers the slope, by {glue:text}`figure-19-street`.
#
# *The IoU is more than the area of a concept explains.*
# With the true masks {glue:text}`true-masks:.0f` % of the units of the recorded networks with ReLU exceed the level
# of chance on drawn scenes, and {glue:text}`true-street:.0f` % on CamVid, where frames resemble each other.
# This does not control how many pixels a unit selects, which may differ between bases.

# %% [markdown]
# ## Run it yourself
#
# *This section is computed by this page.*
# Three kinds of small network of equal size, trained on drawn scenes:
# a residual network with ReLU on the output of its blocks, the same without, and a ConvNeXt,
# which has no activation there either, and GELU inside.
# {numref}`fig-against-alpha` has their curves.
# Training adds {glue:text}`live-relu` points to the cost of a rotation with ReLU here,
# and {glue:text}`live-none` without it: two networks of each kind are too few to decide anything.
# Another run is one command: `.venv/bin/intertwine run 05_interpretability -p networks 6 -p width 16`.


# %%
def dissected(dataset, kind, layer, weights, number, equal_area=False):
    """Rows of one network and layer in all bases."""
    images, masks = sets(dataset)[1]
    network = pair(dataset, kind, number)[weights]
    units = experiment.maps(network, kind, layer, images.images)
    asked = {"width": units.shape[1], "seed": 1000 * seed + number}
    asked |= {"rotations": rotations, "alphas": alphas, "equal_area": equal_area}
    shares = quantiles if layer == "output" and not equal_area else []
    asked["quantiles"] = [*dict.fromkeys([*shares, main_quantile])]
    return against_rotation.interpretability(units, masks, **asked).round(6)


# %%
seen = [each for d in datasets for each in (sets(d)[0], sets(d)[1].data)]
run = results.run(globals(), "05_interpretability", data=seen)
cases = experiment.cases(datasets, kinds, layers, networks)
apart = ("kinds", "networks", "layers")
apart += ("lite_networks", "lite_frames", "lite_rotations")
uses = [name for name in run.parameters if name not in apart]
table = run.steps("dissected", cases, dissected, uses=uses)
again = [case | {"equal_area": True} for case in cases if case["layer"] == "output"]
fixed = run.steps("equal_area", again, dissected, uses=uses)
trial = ["dataset", "kind", "layer", "quantile", "number"]
statistics = against_rotation.STATISTICS
slopes = against_rotation.differences(table, trial, statistics)

# %% figure="fig-against-alpha"
main = table.query("quantile == @main_quantile and dataset == @datasets[0]")
story.live(main)

# %% tags=["remove-cell"]
claimed.write(run, table, slopes, fixed, {name: sets(name)[1].masks for name in datasets})
if lite_networks:
    imagenet.write(run)

# %% [markdown]
# ## Adapt this
#
# A network of your own, any `nn.Module`, at any layer with maps, before and after training, in its own basis
# and in a random one; for images and masks of your own, give `data.SegmentedFolder(images, masks, names)`.
# Of a transformer `tokens.mT.unflatten(2, (h, w))` makes maps, where no token but those of the patches is left.
# Networks trained on ImageNet are in {doc}`../api/dissection`.

# %%
import torch
from torch import nn

from intertwine import dissection
from intertwine.features import activations
from intertwine.training import Recipe, train
from intertwine_book import data

concepts, mine_masks = data.scenes(100, seed=50, device="cpu")
torch.manual_seed(0)  # of the initial weights
parts = nn.Conv2d(3, 8, 5, stride=2, padding=2), nn.Softplus()
ends = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 16)
mine = nn.Sequential(*parts, *ends)
short = Recipe(4, batch_size=50, lr=1e-2, optimizer="adam")
after = train(mine, concepts, short, seed=0, device="cpu").network
turn = dissection.haar_rotation(8, torch.manual_seed(0))
for name, each in {"before": mine, "after": after}.items():
    units = activations(each, ["1"], concepts.images)["1"]  # the Softplus
    turned = (turn.to(units) @ units.flatten(2)).view_as(units)
    for basis, of in {"own": units, "random": turned}.items():
        best = dissection.dissect(of, mine_masks, quantile=0.02).best
        print(f"{name} training, {basis} basis: {best.mean():.1%}")

# %% [markdown]
# ## What others found
#
# {cite:t}`bau2017` rotated a layer of AlexNet and found fewer detectors of concepts, as the paper does.
# {cite:t}`elhage2023` asked the same of a transformer's residual stream, on which no activation acts.
# Its coordinates are special all the same, and the likely cause is Adam, which scales the step of each
# coordinate by itself.
# So a special basis may come from the training as well as from an activation.
#
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
#   - ResNet-50, one finetuned without ReLU on its residual outputs, ConvNeXt
#   - EfficientNet-Lite 0, 1, 2, with and without activation side by side; small networks of five kinds
#   - no finetuning is needed; depth and widths differ
# * - concepts
#   - Broden, whose host is gone
#   - eleven classes of street scenes; drawn scenes
#   - fewer and larger concepts, so lower ceilings
# * - measure
#   - count of units above 0.04
#   - mean best IoU, and the count
#   - {numref}`fig-ceilings`
# * - comparison
#   - the trained network
#   - trained minus untrained, masks of other images
#   - a fall is judged by what training adds
# * - rotations
#   - Gram–Schmidt, said to be uniform on $SO(n)$
#   - Haar measure on $SO(n)$; five a layer
#   - the printed recipe gives no rotation in half of its draws; the authors' code does
# * - size of the run
#   - all blocks
#   - the last block of the five deepest stages, 120 of 233 frames at 180 × 240, at most 256 units a layer
#   - wider intervals
# :::
#
# ## Exercises
#
# :::{exercise}
# :label: ex-permutation
# *Warm-up.*
# Name orthogonal matrices that leave the mean best IoU exactly as it is, for every network.
# Which of them are rotations?
# :::
#
# ::::{solution} ex-permutation
# :class: dropdown
# Permutations only exchange the units: they are the orthogonal elements of $G_{\mathrm{ReLU}}$.
# The even ones are rotations.
# ::::
#
# :::{exercise}
# :label: ex-ceiling
# By {prf:ref}`prop-ceiling`, which quantile would let a concept of a quarter of all pixels reach an IoU of 0.04,
# and of 1?
# :::
#
# ::::{solution} ex-ceiling
# :class: dropdown
# $q/0.25 \ge 0.04$ from $q = 0.01$ on; and 1 only with $q = 0.25$, where a perfect detector reaches it.
# ::::
#
# :::{exercise}
# :label: ex-monomial
# Show that a positive scaling of the units changes no IoU, and that a change of sign can change all of them.
# Which group is dissection invariant under?
# :::
#
# ::::{solution} ex-monomial
# :class: dropdown
# Scaling a map by $c > 0$ scales its level $T_u$ by $c$, so $S_u$ stays.
# A change of sign selects the weakest pixels instead of the strongest.
# Together with the permutations these are the elements of $G_{\mathrm{ReLU}}$:
# the measure has the symmetries of ReLU, whatever the activation of the network.
# ::::
#
# :::{exercise}
# :label: ex-null
# *With data.*
# How high is an IoU by chance?
# Dissect the `network` of {numref}`fig-gallery` with its true `masks` and with `masks.shuffled(generator)`,
# and draw the share of units above a threshold against the threshold.
# :::
#
# ::::{solution-start} ex-null
# :class: dropdown
# ::::

# %% figure="fig-ex-null-masks"
null = masks.shuffled(torch.Generator().manual_seed(seed))
pairs = dissection.dissect_each(maps, [masks, null], quantile=main_quantile)
chance = pd.DataFrame(
    {"threshold, %": level, "masks": name, "share": share}
    for name, each in zip(("true", "of other images"), pairs, strict=True)
    for level in (0, 1, 2, 3, 4, 6, 8, 10)
    for share in [100 * (each.best > level / 100).double().mean().item()]
)
words = {"ylabel": "units above it, %"}
mean_curves(chance, "threshold, %", "share", "masks", **words)

# %% [markdown]
# {numref}`fig-ex-null-masks` shows it.
# The threshold that 5 percent of the units exceed by chance depends on the concepts and on $q$;
# a fixed one does not.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-quantile
# *With data.*
# `story.record("slopes")` holds the slopes of the small networks at three quantiles.
# Does the answer for ReLU, and for none, depend on the quantile?
# :::
#
# ::::{solution-start} ex-quantile
# :class: dropdown
# ::::

# %% figure="fig-ex-quantile"
two = story.record("slopes").query("dataset == 'concepts'")
two = two.query("layer == 'output'")
two = two.query("statistic == 'mean_iou' and kind in ['ReLU', 'no ReLU']")
two = two.sort_values(["kind", "quantile"])
two = two.assign(
    points=-100 * two["difference"], q=two["quantile"].map("q = {:g}".format)
)
forest(two, "q", "points", panels="kind", xlabel=story.ADDED)

# %% [markdown]
# No: in {numref}`fig-ex-quantile` the interval for ReLU lies right of 0 at all three shares,
# and the one for none contains 0 at all three.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-open-depth
# *Open.*
# After the second ReLU6 many units select no pixel in the own basis, also with equal areas.
# Tell those apart that are 0 on all images, that are cut off at 6 in too many pixels, and that have another
# value there.
# Leave them out *before* the rotation, with those that are almost always 0, and compare both bases again.
# :::
#
# ## Summary
#
# - After the first ReLU6 of three networks trained on ImageNet the IoU falls by a quarter under a rotation,
#   with the usual levels. Units then also select fewer pixels.
#   With equal areas we see no fall on average over the blocks: three stages fall a little, the deepest two rise.
# - In small networks on drawn scenes, with equal areas, training adds to the cost of a rotation with ReLU and GELU.
#   With the usual levels it adds points of IoU, but at $q = 0.02$ no established share.
#   Whether the size of the group matters we cannot say: six of each kind are too few.
# - Untrained networks change too; with tanh and equal areas as much as trained ones.
#   Compare a trained network with them.
# - Dissection asks which concept a unit's strongest activations select; an IoU is bounded by sizes,
#   {prf:ref}`prop-ceiling`.
# - A count above a fixed threshold may stand still while every unit loses; the mean best IoU does not.
#
# Back to {doc}`02_sanity_rotations`, which rotates before an activation and asks what
# that costs in accuracy, or on to {doc}`06_genni`: the shape of symmetry among the weights themselves.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
points = slopes.query("quantile == @main_quantile and layer == 'output'")
points = points.query("statistic == 'mean_iou' and dataset == @datasets[0]")
points = -100 * points.groupby("kind")["difference"].mean()
kinds_told = {"live-relu": "ReLU", "live-none": "no ReLU"}
here = {name: points.get(kind, float("nan")) for name, kind in kinds_told.items()}
here = {name: story.number(value) for name, value in here.items()}
tell(story.facts(), here | {"null-units": len(found.best)})
results.provenance(run.folder)
