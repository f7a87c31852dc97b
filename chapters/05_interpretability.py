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
# **You need** {doc}`01_intertwiner_groups`. **You will learn** how to see what a unit selects, how to
# rotate the basis of a layer, and what such a comparison proves.
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/05_interpretability>`.
# :::
#
# ## A basis that turns
#
# One neuron is strongest on stripes, another on wheels {cite}`bau2017`; each is one axis of a vector space.
# *Do concepts lie along these axes more than along others?*
#
# **By the usual measure, yes. But units of a random basis also select fewer pixels; when all select equally
# many, the mean overlap hardly changes in networks trained on ImageNet.** In small networks with ReLU or GELU, on
# drawn scenes, it still falls, more after training than before.
# *Turn the basis of two units ({numref}`fig-turn`): which of them keeps a concept?*

# %% tags=["hide-input"]
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from intertwine import devices, dissection
from intertwine_book import dissected as experiment
from intertwine_book import zoo
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.forest import forest
from intertwine_book.figures.style import COLOURS, new_figure, picture_in, use_style
from intertwine_book.live.basis import turning_basis
from intertwine_book.record import on_record
from intertwine_book.slopes import added
from intertwine_book.tidy import of

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order, rotation and scenes
width: int = 12  # channels of the first block; 2·width units are dissected
epochs: int = 6  # of training
train_images: int = 1000  # scenes
test_images: int = 200  # scenes that are dissected
share: float = 0.02  # of the pixels that a unit selects, about

# %% tags=["hide-input"] figure="fig-turn"
device = devices.pick(device)
sizes = {"train": train_images, "test": test_images, "frames": 0}
scenes, (shown, masks) = experiment.sets("concepts", **sizes, seed=seed, device=device)
recipe = replace(zoo.RECIPES["digits"], epochs=epochs, batch_size=50)
asked = {"width": width, "seed": 1000 * seed, "device": device}
pair = experiment.pair("ReLU", scenes, recipe, **asked)
maps = experiment.maps(pair["trained"], "ReLU", "output", shown.images)
turning_basis(maps, experiment.Segmented(shown, masks))

# %% [markdown]
# :::{figure} #fig-turn
# ---
# alt: >-
#   Two rows of four small scenes in which some pixels are lit, with each unit's concept and IoU; a cloud of
#   points with one arm along each axis, and a slider that turns the axes.
# ---
# Turned by 45°, where the slider comes to rest, one unit selects two concepts and fits neither well.
# Each row: what a unit selects in four scenes (lit).
# IoU: selected pixels that show the best concept, divided by all that are selected or show it.
# Here a unit selects a tenth of the positions, below a fiftieth, so these IoUs are the higher ones.
# Computed by this page.
# :::

# %% [markdown]
# This page trained the network on {doc}`scenes that we draw <../api/shared>`, in which every pixel has a known
# colour, texture, shape and material.
# Each of the two units is large where a scene shows one concept, so each axis points along one arm of the cloud.
# At 45° the first unit reads the sum of both values, and the second their difference, which still tells one
# concept from the other.
# At 90° the first unit is the detector that the second was, and the second reads the negative of a value.
# We chose two units for which this is clear, so it proves nothing about the others.
#
# Why should the axes be special?
# ReLU is compatible with permutations and positive scalings, which leave the axes where they are; without an
# activation the function of a layer singles out no basis.
# So {cite:t}`godfrey2022` predict: *rotate the basis, and units lose their concepts after a ReLU, but not where
# there is none.*
#
# ## What a unit selects
#
# To *dissect* a unit, keep the pixels where it is strongest and compare them with the mask of a concept.

# %% tags=["hide-input"] figure="fig-steps"
found = dissection.dissect(maps, masks, quantile=share)
size, few = shown.images.shape[-2:], {"images": 3}
own = dissection.examples(maps, found, size, units=4, **few)
pictures = (shown.images * shown.std + shown.mean).clamp(0, 1)
pictures = pictures.movedim(1, -1).numpy(force=True)
best = own[0]
k = best.images[0]
concept = masks.planes()[k, masks.names.index(best.concept)].numpy(force=True)
unit_map = maps[k, best.unit].numpy(force=True)
lit = best.selected[0].numpy(force=True)
overlap = np.full((*concept.shape, 3), 0.93)
overlap[lit & concept], overlap[lit ^ concept] = (0.0, 0.62, 0.45), (0.9, 0.62, 0.0)
parts = {"image": pictures[k], "map of a unit": unit_map, "above its level": lit}
parts |= {"concept": concept, "overlap": overlap}

figure, axes = new_figure(1, 5, height=1.7)
for axis, (title, part) in zip(axes, parts.items(), strict=True):
    shades = "cividis" if title == "map of a unit" else "Greys"
    picture_in(axis, part, title, cmap=shades, interpolation="nearest")
figure

# %% [markdown]
# :::{figure} #fig-steps
# ---
# alt: >-
#   Five small squares: an image of drawn shapes, a coarse map of activations, a black region, another black region,
#   and their overlap in green with the rest in orange.
# ---
# Dissection compares the pixels where a unit is strongest with the mask of a concept.
# The map is coarser than the image, so it is upsampled before it is compared with the unit's level.
# The IoU is green divided by green and orange together, summed over all images.
# :::

# %% [markdown]
# :::{prf:definition} Network dissection
# :label: def-dissection
# Let a unit $u$ have the maps $m_u$, one number for each image and position, and let its *level* $\ell_u$ be the
# value that a share $q$ of these numbers exceeds.
# The unit *selects* the pixels $S_u$ where its map, upsampled bilinearly, exceeds $\ell_u$ ({numref}`fig-steps`).
# With a concept whose pixels are $C$, over all images together,
#
# $$\mathrm{IoU}(u, C) = \frac{|S_u \cap C|}{|S_u \cup C|},$$ (eq-iou)
#
# and a unit is *interpretable* if its best IoU exceeds a threshold.
# The authors of the method {cite}`bau2017` take $q = 0.005$ and the threshold 0.04.
# :::
#
# The whole method is ten lines.


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


ours = best_iou(maps.double(), masks.planes(), share)
print(f"{len(ours)} units, mean best IoU {ours.mean():.1%}")

# %% tags=["hide-input"]
assert torch.allclose(
    ours, found.best, atol=1e-3
)  # by the library, as fast for large masks

# %% [markdown]
# ## A random basis
#
# A random basis is a rotation $Q$ drawn by Haar measure, the uniform distribution on the rotations $SO(n)$.


# %%
def rotation(n, generator):
    """Gram–Schmidt on a Gaussian matrix, with determinant 1."""
    normal = torch.randn(n, n, dtype=torch.float64, generator=generator)
    Q, R = torch.linalg.qr(normal)
    Q = Q * R.diagonal().sign()
    Q[:, 0] *= torch.linalg.det(Q)
    return Q


Q = rotation(maps.shape[1], torch.Generator().manual_seed(seed))
turned = (Q.to(maps) @ maps.flatten(2)).view_as(maps)
random = best_iou(turned.double(), masks.planes(), share)
print(f"mean best IoU {ours.mean():.1%}, random basis {random.mean():.1%}")

# %% tags=["hide-input"]
again = torch.Generator().manual_seed(seed)
assert torch.allclose(Q, dissection.haar_rotation(len(Q), again))

# %% [markdown]
# :::{admonition} Erratum: Godfrey et al. 2022, section 6, rotations
# :class: warning
# The paper draws $Q$ uniformly from $SO(n)$ by Gram–Schmidt on a Gaussian matrix.
# That is uniform on $O(n)$: half of the draws have determinant $-1$, and no path of rotations leads to them.
# One column, negated where the determinant is $-1$, mends it; the authors' code does this, too.
# :::

# %% tags=["hide-input"] figure="fig-gallery"
after = dissection.dissect(turned, masks, quantile=share)
same = [each.unit for each in own]
rotated = dissection.examples(turned, after, size, units=same, **few)

ratios = [1, 1, 1, 0.2, 1, 1, 1]  # a gap between the two bases
figure, axes = new_figure(4, 7, height=5.1, gridspec_kw={"width_ratios": ratios})
for axis in axes.flat:
    axis.axis("off")
for axis in axes[:, 3]:
    axis.remove()
blocks = {"own basis": (axes[:, :3], own), "rotated": (axes[:, 4:], rotated)}
for name, (block, units) in blocks.items():
    for line, each in zip(block, units, strict=True):
        concept = masks.names.index(each.concept)
        selected = each.selected.numpy(force=True)[..., None]
        for axis, k, lit in zip(line, each.images, selected, strict=False):
            dimmed = np.where(lit, pictures[k], 0.2 * pictures[k] + 0.75).clip(0, 1)
            axis.imshow(dimmed, interpolation="nearest")
            there = masks.table[masks.codes[k].long(), concept].numpy(force=True)
            if there.any() and not there.all():
                red = {"colors": [COLOURS["red"]], "linewidths": 1.2}
                axis.contour(there, levels=[0.5], **red)
        title = f"{name}: {each.concept}, {100 * each.iou:.1f} %"
        line[0].set_title(title, loc="left", fontsize="small")
figure

# %% [markdown]
# :::{figure} #fig-gallery
# ---
# alt: >-
#   Four rows of six small images.
#   In each image some pixels are shown in full colour and the rest is dimmed, with a red outline around a concept;
#   above each half of a row stand the basis, the concept and the IoU in percent.
# ---
# A unit and the unit of the same number in a random basis select different things.
# Left: the four best units of the network, at most one for a concept, each with the three scenes in which it selects
# most.
# Right: the same numbers in a random basis, whose units mix all of the others.
# Red: the mask of the best concept.
# :::

# %% [markdown]
# {numref}`fig-gallery` chose the four best units on the left, so a loss on the right would prove nothing.
# Only the mean over all units is evidence.
#
# (sec-area)=
# ## The artefact of area
#
# A rotation also changes *how many* pixels a unit selects, because the level is taken on the coarse map and
# applied to the upsampled one.
# Two units on sixteen positions show it, each 0 but at one position.
# The concept is a square of pixels around the position of the first; then the basis turns by 30°.

# %%
tiny = torch.zeros(1, 2, 4, 4)
tiny[0, 0, 1, 1] = tiny[0, 1, 3, 3] = 1  # one position each
square = torch.zeros(1, 1, 16, 16, dtype=torch.bool)
square[..., 2:10, 2:10] = True  # the concept, around the first
turn = torch.tensor([[0.75**0.5, 0.5], [-0.5, 0.75**0.5]])
for name, equal in {"usual level": False, "equal areas": True}.items():
    asked = {"quantile": 1 / 16, "equal_area": equal}
    for basis, Q_2 in {"own": torch.eye(2), "turned": turn}.items():
        unit = dissection.dissect(tiny, square, rotation=Q_2, **asked)
        pixels, iou = unit.selected[0], unit.best[0]
        print(f"{name}, {basis}: {pixels} pixels, IoU {iou:.2f}")

# %% [markdown]
# In its own basis the first unit has the level 0, as it is 0 at all other positions, and every positive value
# selects all pixels around it.
# Turned, it also reads the second unit, and that value becomes its level: few pixels are above it.
# Here most of the fall with usual levels is one of area.
# With *equal areas* the level is what a share $q$ of the upsampled pixels exceeds, and every unit selects
# equally many, unless many of its values are equal.
# The code of a later work of the method's authors does the same {cite}`bau2020`.
#
# *In three networks trained on ImageNet the IoU after the first ReLU6 of a block (a ReLU that is cut off at 6)
# falls by {fact}`05_interpretability.fall_first:.0f` % in a random basis with usual levels, and with equal areas
# we see no fall on average over the blocks* ({numref}`fig-imagenet`).
# The networks are EfficientNet-Lite 0, 1 and 2.
# Their blocks have two ReLU6 and end without an activation, so each has both cases that the paper compares between
# networks.
# The paper counts interpretable units; its figure shows a fall for a ResNet-50 and none without the ReLU, and
# prints no number.

# %% tags=["hide-input"] figure="fig-imagenet"
lite = of(on_record("05_interpretability", "imagenet"), weights="trained")
lite = of(lite, pixels="every third").replace({"levels": {"usual": "usual level"}})
keys = ["layer", "levels", "network"]
lite = lite.pivot_table("mean_iou", keys, "alpha").reset_index()
lite["change"] = 100 * (lite[1.0] / lite[0.0] - 1)
lite = lite.sort_values("levels", ascending=False, kind="stable")
lite["layer"] = lite["layer"].str.removeprefix("after the ")
label = "change of the IoU in a random basis, %"
words = {"panels": "layer", "xlabel": label, "intervals": False}
forest(lite, "levels", "change", **words)

# %% [markdown]
# :::{figure} #fig-imagenet
# ---
# alt: >-
#   Three panels, after the first ReLU6, after the second ReLU6 and at the linear output; in each, two rows for usual
#   levels and equal areas, with three dots for networks and their mean about a vertical line at zero.
# ---
# With usual levels a random basis has less IoU after both ReLU6; with equal areas the mean over the blocks of a network
# does not fall there.
# Grey: EfficientNet-Lite 0, 1 and 2, three sizes of one family; blue: their mean.
# Street scenes with eleven concepts, $q = 0.005$; recorded.
# :::

# %% [markdown]
# Two cautions.
# The mean hides depth: after the first ReLU6, with equal areas, the IoU falls in three stages of each network and rises
# in the two deepest, so that the mean of the stages' percents lies within a point or two of 0 on either side.
# And after the second ReLU6 the rise need not mean more concepts, since many units of the own basis select no pixel.
# {ref}`The record <rec-area>` has both, untrained networks, and what would change it.
#
# (sec-ceiling)=
# ## Why we do not count units
#
# A count above a threshold sees only whether an IoU crosses a line, and the size of a concept decides whether it can.
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
smaller = torch.minimum(selected, covered)
ceiling = smaller / torch.maximum(selected, covered)
nearest = (found.iou / ceiling).max().item()
print(f"the closest unit reaches {nearest:.0%} of its ceiling")

# %% tags=["hide-input"] figure="fig-ceilings"
assert (found.iou <= ceiling).all()
street = of(on_record("05_interpretability", "ceilings"), dataset="camvid")
q, t = 0.005, 0.04  # the share that a unit selects, and the least IoU that counts
needed = lambda area: 100 * t * (q + area) / (q * (1 + t))  # of its pixels, in %
areas = np.geomspace(0.001, q / t, 100)
green, red = COLOURS["green"], COLOURS["red"]

figure, axis = new_figure(height=3.1)
most = 100 * (areas / q).clip(max=1)  # a small concept cannot hold all that is selected
axis.fill_between(100 * areas, needed(areas), most, color=green, alpha=0.2, lw=0)
axis.axvspan(100 * q / t, 60, color=red, alpha=0.15, lw=0)
axis.plot(100 * areas, needed(areas), color=green, lw=2)
axis.text(0.6, 60, "counts: more of its pixels\nin the concept add nothing", color=green)
axis.text(14, 6, "never\ncounts", color=red)
street = street.sort_values("area")
close = (street["area"].pct_change() > 0.25).cumsum()  # share a label
for _, some in street.groupby(close):
    x, y = 100 * some["area"].to_numpy(), needed(some["area"].to_numpy()).clip(max=100)
    never, end = x[0] > 100 * q / t, (x[-1], y[-1])
    tone = COLOURS["red" if never else "ink"]
    axis.scatter(x, y, s=22, color=tone, zorder=3, clip_on=False)
    label = ", ".join(some["concept"])
    place = {"textcoords": "offset points", "color": tone}
    if never:
        axis.annotate(label, end, (0, -6), ha="center", va="top", rotation=90, **place)
    elif len(some) > 2:
        axis.annotate(label, end, (4, -3), ha="left", va="top", **place)
    else:
        for name, *dot in zip(some["concept"], x, y, strict=True):
            axis.annotate(name, dot, (-4, 3), ha="right", va="bottom", **place)
axis.set(xscale="log", xlim=(0.1, 60), ylim=(0, 100), xlabel="area of the concept, %")
axis.set_ylabel("share of the unit's pixels\ninside the concept, %")
axis.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
figure

# %% [markdown]
# :::{figure} #fig-ceilings
# ---
# alt: >-
#   A rising curve of the share of a unit's pixels that must lie in a concept against the concept's area on a
#   logarithmic axis, which reaches 100 percent at 12.5 percent; dots with the names of street concepts lie on it,
#   three beyond it.
# ---
# For a unit that selects exactly 0.5 % of the pixels sky, buildings and roads can never count (red), however well it
# selects them; with other concepts its IoU is above 4 % once enough of these pixels lie in the concept (green).
# Dots: eleven concepts of street scenes, by the area of their masks.
# :::

# %% [markdown]
# An eighth of a unit's pixels in a traffic sign is enough to count, and for a tree it takes nine tenths
# ({numref}`fig-ceilings`).
# A count may stand still while every unit loses, or halve while the mean falls by a quarter.
# So we take the mean best IoU.
#
# (sec-group)=
# ## Does training make the axes special?
#
# Rotate the basis step by step, now with equal areas, in a trained network and in the same network before training.
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
# The shortest paths from $I$ are $e^{tK}$, $0\le t\le1$, with $K$ skew; their length is $\lVert K\rVert_F$,
# $\sqrt2$ times the norm of the angles of $K$.
# If $e^K=Q$, these are the $\theta_k$ up to multiples of $2\pi$, and least in $(-\pi,\pi]$.
# :::
#
# The eigenvalues of $Q$ are $e^{\pm i\theta_k}$, so its power turns each by $\alpha\theta_k$:


# %%
def power(Q, alpha):
    values, vectors = torch.linalg.eig(Q)
    turned = torch.exp(1j * alpha * values.angle())
    return (vectors * turned @ vectors.inverse()).real


for weights, each in pair.items():
    units = experiment.maps(each, "ReLU", "output", shown.images)
    asked = {"quantile": share, "equal_area": True}
    for alpha in (0.0, 0.5, 1.0):
        on_way = power(Q, alpha)
        iou = dissection.dissect(units, masks, rotation=on_way, **asked).best
        print(f"{weights}, α = {alpha}: mean best IoU {iou.mean():.1%}")

# %% tags=["hide-input"]
assert torch.allclose(power(Q, 0.3), dissection.geodesic(Q, 0.3))

# %% [markdown]
# One network decides nothing.
# In six recorded networks of each kind, on drawn scenes with equal areas, a rotation makes trained networks lose more
# IoU than untrained ones with ReLU and with GELU.
# Without ReLU we see no such effect; in ConvNeXt, and with tanh, six networks do not decide.
# With the usual levels 24 networks of each kind agree on ReLU, GELU and none.
# On street scenes ConvNeXt shows the effect, too, at two of three quantiles: an activation on the output is not needed
# ({ref}`the record <rec-small>`).
#
# *What others found.*
# {cite:t}`bau2017` rotated a layer of AlexNet and found fewer detectors of concepts.
# {cite:t}`elhage2023` asked the same of a transformer's residual stream, on which no activation acts.
# Its coordinates are special all the same, and the likely cause is Adam, which scales the step of each coordinate by
# itself.
# A loss of factors $UV^\top$ is the same for $(UQ, VQ)$ with orthogonal $Q$; gradient descent takes the same steps in
# either, and Adam does not {cite}`singh2026`.
# So a special basis may come from the training as well as from an activation.
#
# ## What may I say of a unit, and of a basis?
#
# With `from intertwine.dissection import dissect, dissect_each, geodesic, haar_rotation`:
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you want to say
#   - use
#   - beware
# * - "this unit selects $C$"
#   - its IoU beside chance: `dissect_each(maps, [masks, masks.shuffled(g)])`
#   - The best of many concepts is never 0 by chance ({ref}`ex-null`).
# * - "it fits $C$ as well as it can"
#   - its ceiling: `found.iou / ceiling`
#   - A fixed threshold passes small concepts and no large one ({prf:ref}`prop-ceiling`).
# * - "this basis is special"
#   - the mean over *all* units, rotated: `dissect(maps, masks, rotation=Q, equal_area=True)`
#   - With usual levels areas change as well ({ref}`sec-area`); the best units would lose in any case.
# * - "training made it special"
#   - the same for the network before training
#   - Untrained axes may be special, too, and training raises every IoU: give points and shares.
# * - "the activation made it special"
#   - several kinds of network, several seeds each
#   - The optimiser may be the cause; sizes of one family are not independent.
# * - "it falls steadily on the way"
#   - powers of one rotation: `geodesic(Q, alpha)`
#   - Determinant −1 has no geodesic: draw by `haar_rotation`.
# :::
#
# ## Adapt this
#
# A network of your own, any `nn.Module`, at any layer with maps, before and after training, in its own basis
# and in a random one; for images and masks of your own, give `data.SegmentedFolder(images, masks, names)`.
# Of a transformer drop the class token; then `tokens.mT.unflatten(2, (h, w))` makes maps.
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
asked = {"quantile": 0.02, "equal_area": True}
for name, each in {"before": mine, "after": after}.items():
    units = activations(each, ["1"], concepts.images)["1"]  # the Softplus
    for basis, Q_8 in {"own": None, "random": turn}.items():
        of_basis = asked | {"rotation": Q_8}
        best = dissection.dissect(units, mine_masks, **of_basis).best
        print(f"{name} training, {basis} basis: {best.mean():.1%}")

# %% [markdown]
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
# Scaling a map by $c > 0$ scales its level $\ell_u$ by $c$, so $S_u$ stays.
# A change of sign selects the weakest pixels instead of the strongest.
# Together with the permutations these are the elements of $G_{\mathrm{ReLU}}$:
# the measure has the symmetries of ReLU, whatever the activation of the network.
# ::::
#
# :::{exercise}
# :label: ex-null
# *With data.*
# How high is an IoU by chance?
# Dissect the network of {numref}`fig-gallery` with its true `masks` and with `masks.shuffled(generator)`,
# and draw the share of units above a threshold against the threshold.
# :::
#
# ::::{solution-start} ex-null
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-null-masks"
null = masks.shuffled(torch.Generator().manual_seed(seed))
both = dissection.dissect_each(maps, [masks, null], quantile=share)
chance = pd.DataFrame(
    {"threshold, %": level, "masks": name, "units": above}
    for name, each in zip(("true", "of other images"), both, strict=True)
    for level in (0, 1, 2, 3, 4, 6, 8, 10)
    for above in [100 * (each.best > level / 100).double().mean().item()]
)
words = {"ylabel": "units above it, %"}
mean_curves(chance, "threshold, %", "units", "masks", **words)

# %% [markdown]
# :::{figure} #fig-ex-null-masks
# ---
# alt: Two falling curves of the share of units against the threshold, for true masks and for those of other images.
# ---
# Masks of other images reach some IoU, too: compare with them before you call a unit interpretable.
# Share of the units of the small network whose best IoU exceeds a threshold, with true masks and with those of other
# images; computed by this page.
# :::

# %% [markdown]
# In {numref}`fig-ex-null-masks` many units exceed the authors' 0.04 with masks of other images, too.
# The threshold that a twentieth exceed by chance depends on the concepts and on $q$; a fixed one ignores both.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-quantile
# *With data.*
# `on_record("05_interpretability", "dissected")`, in this page's notebook, has small networks at three quantiles, and
# `added` gives what training adds to the cost of a rotation.
# Does the answer for ReLU, and for none, depend on the quantile?
# :::
#
# ::::{solution-start} ex-quantile
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-quantile"
two = of(on_record("05_interpretability", "dissected"), training="first")
two = of(two, dataset="concepts", layer="output", kind=["ReLU", "no ReLU"])
two = added(two, ["kind", "quantile", "number"])
two = two.sort_values(["kind", "quantile"])
two["q"] = two["quantile"].map("q = {:g}".format)
label = "points of IoU that training adds to the cost"
forest(two, "q", "points", panels="kind", xlabel=label)

# %% [markdown]
# :::{figure} #fig-ex-quantile
# ---
# alt: >-
#   Two panels, no ReLU and ReLU, with three rows for the quantiles 0.005, 0.02 and 0.05: dots, means and
#   intervals about zero.
# ---
# With ReLU training adds points to the cost at all three quantiles; without ReLU we see no effect at any.
# Means with 95 % intervals over 24 networks of width 16 each, drawn scenes, usual levels; recorded.
# :::

# %% [markdown]
# No: in {numref}`fig-ex-quantile` the interval for ReLU lies right of 0 at all three shares,
# and the one for none contains 0 at all three.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-two-units
# In the example of {ref}`sec-area` let the basis turn by 45°, so that the first unit reads both values alike.
# What is its level then, and how many pixels does it select with the usual one?
# :::
#
# ::::{solution} ex-two-units
# :class: dropdown
# Both values are $1/\sqrt2$, and the second largest is the level.
# Upsampled values are averages of these and of zeros, so none exceeds it.
# The unit selects no pixel, and its IoU is 0; with equal areas it selects some.
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
# Back to {doc}`02_sanity_rotations`, which rotates before an activation and asks what
# that costs in accuracy, or on to {doc}`06_genni`: the shape of symmetry among the weights themselves.
