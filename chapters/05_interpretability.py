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
# # 5 · Is the coordinate basis special?
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the matrices that an activation is compatible with.
#
# **You will learn** to measure which concepts single units select, to rotate the basis of a layer by degrees, and to tell what
# training has put into that basis from what the activation alone has.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# People look at single neurons and find that one likes stripes and another likes wheels {cite}`bau2017`. But a layer is a vector
# space; why look along its coordinate axes? The intertwiner group of an activation gives a reason {cite}`godfrey2022`. ReLU
# is compatible with permutations and positive scalings, and these leave the axes where they are. No activation at all, and every basis is as
# good as any other. So rotate the basis: *if units lose their meaning behind ReLU, and do not where there is no ReLU, the
# basis was special because of ReLU.* The paper rotates three trained networks and counts. {numref}`fig-against-alpha` does the same with small
# networks, measures rather than counts, and sets beside each trained network one that never was trained. That changes the question: a fall
# with rotation says little until one knows how far an untrained network falls.

# %% tags=["hide-input"]
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from intertwine import data, devices, dissection, groups
from intertwine.features import activations
from intertwine.training import RECIPES, train
from intertwine_book import results
from intertwine_book.experiments.interpretability import against_rotation
from intertwine_book.experiments.interpretability import networks as experiment
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dissection import ceilings, gallery
from intertwine_book.figures.forest import forest
from intertwine_book.figures.matrices import threshold_sweep
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
from typing import Literal

datasets: list[Literal["concepts", "camvid"]] = ["concepts"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order, rotations and scenes
networks: int = 3  # of each kind, trained from different seeds
width: int = 12  # channels of the first block; 2·width units are dissected
epochs: int = 8  # of training
train_images: int = 1500  # scenes, or patches at most
test_images: int = 200  # scenes that are dissected
test_frames: int = 60  # frames of CamVid that are dissected, at most
rotations: int = 2  # drawn for each network
alphas: list[float] = [0.0, 0.5, 1.0]  # how far towards each rotation
quantiles: list[float] = [0.005, 0.02, 0.05]  # shares of its map that a unit selects
main_quantile: float = 0.02  # the one that the figures show

# %% tags=["hide-input"]
device = devices.pick(device)


@cache
def sets(name):
    """What networks are trained on, and the images and masks that they are dissected on."""
    if name == "concepts":
        drawn = data.scenes(train_images, seed=2 * seed, device=device).data
        return drawn, data.scenes(test_images, seed=2 * seed + 1, device=device)
    whole = experiment.camvid("train", device=device)
    cut = data.patches(whole, 32, limit=train_images, seed=seed)
    like = {key: getattr(whole.data, key).flatten().tolist() for key in ("mean", "std")}
    return cut, experiment.camvid("test", device=device, limit=test_frames, **like)


# %% tags=["hide-input"]
recipe = replace(RECIPES["digits"], epochs=epochs, batch_size=50)


@cache
def pair(dataset, kind, number):
    """A trained network, and the untrained one that it began as."""
    asked = {"width": width, "seed": 1000 * seed + number, "device": device}
    return experiment.pair(kind, sets(dataset)[0], recipe, **asked)


# %% tags=["hide-input"]
def dissected(dataset, kind, layer, weights, number):
    """Rows of one network and layer in all bases: see `against_rotation.interpretability`."""
    images, masks = sets(dataset)[1]
    network = pair(dataset, kind, number)[weights]
    units = experiment.maps(network, kind, layer, images.images)
    asked = {"width": units.shape[1], "seed": 1000 * seed + number}
    asked |= {"rotations": rotations, "alphas": alphas}
    shares = (
        dict.fromkeys([*quantiles, main_quantile])
        if layer == "output"
        else [main_quantile]
    )
    table = against_rotation.interpretability(units, masks, quantiles=[*shares], **asked)
    return table.round(6)


PAPER = ("ReLU", "no ReLU", "ConvNeXt")
cases = [
    {"dataset": d, "kind": k, "layer": at, "weights": w, "number": n}
    for d in datasets
    for n in range(networks)
    for k in experiment.KINDS
    for at in experiment.LAYERS
    if k in PAPER or at == "output"
    for w in ("trained", "untrained")
]

# %% tags=["hide-input"]
run = results.run(
    globals(),
    "05_interpretability",
    data=[each for d in datasets for each in (sets(d)[0], sets(d)[1].data)],
)
uses = [name for name in run.parameters if name != "networks"]
table = run.steps("dissected", cases, dissected, uses=uses)
main = table[(table["quantile"] == main_quantile) & (table["dataset"] == datasets[0])]
main = main.assign(percent=100 * main["mean_iou"])
outputs = main[main["layer"] == "output"]
three = outputs[outputs["kind"].isin(PAPER)]
once = [
    "kind",
    "weights",
    "number",
    "alpha",
]  # rotations of one network are no new trials
three = three.groupby(once, sort=False, as_index=False)["percent"].mean()

# %% mystnb={"figure": {"name": "fig-against-alpha", "caption": "Interpretability of the residual outputs in bases between the network's own (α = 0) and a random one (α = 1): mean over units of the best IoU with any concept, in hundredths; higher is more interpretable. Bands: 95 % over networks, of each the mean over its rotations. The difference between the two slopes in a panel is what training has put into the basis; the text below computes it."}, "image": {"alt": "Three panels, for a residual network with ReLU, one without and a ConvNeXt: mean best IoU against alpha, a curve for trained and one for untrained networks, with bands."}}
axes = {"xlabel": "α", "ylabel": "IoU, hundredths"}
mean_curves(three, "alpha", "percent", "weights", panels="kind", **axes)

# %% [markdown]
# (sec-figure-3)=
# ## What rotation costs
#
# The scenes are drawn ({doc}`../api/data`). Every pixel has a colour, a texture and a material, and most belong to a shape: 24
# concepts, whose masks are exact. A label is the colour and the shape of the thing in front, so that concepts are what a
# network has to find out. Beside the scenes a run may use CamVid, frames of streets with eleven classes of pixels; networks are then
# trained on patches of the training frames and dissected on whole test frames.
#
# Three kinds of network, with as many parameters each: a residual network with ReLU on the output of its blocks; the same
# without; and a ConvNeXt, which has no activation there either, and GELU inside. Two more, with tanh and GELU in place of that ReLU,
# are for a later question.
#
# The statistic of each panel is the slope of its curve, network by network; and of interest is the slope of the trained network minus that of
# the same network before training. A trial is a network with rotations of its own.

# %% tags=["hide-input"]
NAMES = ["mean_iou", "above_null", "above_0.04"]
slopes = against_rotation.differences(
    table, ["dataset", "kind", "layer", "quantile", "number"], NAMES
)
run.write(slopes=slopes)
gaps = slopes[(slopes["quantile"] == main_quantile) & (slopes["dataset"] == datasets[0])]
gaps = gaps.assign(hundredths=100 * gaps["difference"])
mean_gap = gaps[(gaps["statistic"] == "mean_iou") & (gaps["layer"] == "output")]


def said(values):
    """A mean with its interval, and what the interval says about its sign."""
    if values.round(9).nunique() < 2:
        return f"{values.mean():z.2f}", "no spread to judge by"
    low, high = results.interval(values)
    sign = "below 0" if high < 0 else "above 0" if low > 0 else "inconclusive"
    return f"{values.mean():z.2f} [{low:z.2f}, {high:z.2f}]", sign


def verdicts(rows, by):
    """Slopes in hundredths with their intervals over networks; `verdict` is on the difference."""
    groups, columns = rows.groupby(by, sort=False), ["trained", "untrained", "difference"]
    numbers = groups[columns].agg(lambda values: said(100 * values)[0])
    return numbers.assign(
        verdict=groups["difference"].agg(lambda values: said(values)[1])
    )


verdicts(mean_gap, ["kind"])

# %% [markdown]
# Slopes are in hundredths of IoU from the own basis to a random one, with 95 % intervals over networks. The verdict is on the difference, and *inconclusive* means that its
# interval contains zero. With a few networks an interval is wide, and should be: the run of a page is a small one.
#
# ## What a unit selects
#
# :::{prf:definition} Network dissection
# :label: def-dissection
# Let a unit $u$ have the maps $m_u$, one number for each image and position, and let $T_u$ be the value that a share $q$ of
# these numbers exceeds. The unit *selects* the pixels $S_u$ where its map, upsampled bilinearly, exceeds $T_u$. With a concept whose pixels
# are $C$, over all images together,
#
# $$\mathrm{IoU}(u, C) = \frac{|S_u \cap C|}{|S_u \cup C|},$$ (eq-iou)
#
# and a unit is *interpretable* if its best IoU exceeds a threshold. The paper, like the authors of the method {cite}`bau2017`, takes $q = 0.005$ and 0.04.
# :::
#
# Before any statistics one should look. {numref}`fig-gallery` shows units of a trained network in the network's own basis, and the images in
# which each selects most.

# %% tags=["hide-input"]
shown, masks = sets(datasets[0])[1]
network = pair(datasets[0], "ReLU", 0)["trained"]
maps = experiment.maps(network, "ReLU", "output", shown.images)
found = dissection.dissect(maps, masks, quantile=main_quantile)
chosen = dissection.examples(maps, found, shown.images.shape[-2:], units=5, images=6)
pictures = (shown.images * shown.std + shown.mean).movedim(1, -1).numpy(force=True)

# %% mystnb={"figure": {"name": "fig-gallery", "caption": "Network dissection, seen: five units of a trained residual network with ReLU, each with the images in which it selects most pixels. Selected pixels are shown as they are, all others dimmed. The concept is the one with the highest IoU over all test images."}, "image": {"alt": "Five rows of six small images, one row for each unit. In each image a part is outlined and shown in full colour, the rest is dimmed; above each row stand the unit, its concept and the IoU."}}
gallery(pictures, chosen)

# %% [markdown]
# How high an IoU can be at all is a matter of sizes alone.
#
# (sec-ceiling)=
# ## Why counting saturates
#
# :::{prf:proposition} The ceiling
# :label: prop-ceiling
# A unit that selects a share $s$ of the pixels has, with a concept that covers a share $a$, an IoU of at most
# $\min(s, a)/\max(s, a)$.
# :::
#
# :::{prf:proof}
# $|S \cap C| \le \min(|S|, |C|)$ and $|S \cup C| \ge \max(|S|, |C|)$.
# :::
#
# A unit that selects a share of 0.005 passes a threshold of 0.04 only with a concept of less than $0.005/0.04 = 12.5$ per cent of the pixels
# (after upsampling the share is near $q$, not equal to it):
# larger ones never count, however well a unit knows them. Below that, a unit counts when enough of what it selects lies in
# the concept: a fifth, if the concept has 2 per cent of the pixels, and four fifths, if it has 10. Whether more does makes no difference. So a count may stand still while
# every unit loses.

# %% tags=["hide-input"]
areas = pd.concat(
    [
        pd.DataFrame({"concept": m.names, "area": m.areas().cpu(), "dataset": d})
        for d in datasets
        for m in [sets(d)[1].masks]
    ]
)
reach = np.minimum(0.005, areas["area"]) / np.maximum(0.005, areas["area"])
areas = areas.assign(ceiling=reach, can_count=reach > 0.04)

# %% mystnb={"figure": {"name": "fig-ceilings", "caption": "The most that a unit can reach with a concept, by the concept's area, for the quantiles of this run; dots are the concepts. Whatever lies under the dotted line can never count as interpretable at the paper's threshold."}, "image": {"alt": "Curves of the highest possible IoU against the area of a concept on logarithmic axes, one for each quantile, each rising to 1 where the area equals the quantile and falling after; dots mark the concepts, a dotted line the threshold."}}
ceilings(areas, quantiles, 0.04)

# %%
Markdown(
    f"Of {len(areas)} concepts, {int((~areas['can_count']).sum())} cannot be detected by a unit "
    f"that selects 0.5 % of the pixels, and {int(areas['can_count'].sum())} can."
)

# %% [markdown]
# {numref}`fig-ceilings` is why we measure the mean best IoU, and count only above a threshold that means something: the IoU that 5 per cent of the
# units exceed when each image gets the masks of another image (`against_rotation.null_threshold`). The printed setting is one point of a sweep, and
# {numref}`fig-sweep` shows the others.

# %% tags=["hide-input"]
fixed = [f"above_{level:g}" for level in against_rotation.THRESHOLDS]
counts = table[(table["layer"] == "output") & table["kind"].isin(PAPER)]
counts = counts[counts["dataset"] == datasets[0]]
own = counts[(counts["alpha"] == 0) & (counts["weights"] == "trained")]
own = own.melt(["kind", "quantile"], fixed, "level").assign(shown="counted at α = 0")
change = against_rotation.differences(counts, ["kind", "quantile", "number"], fixed)
change = change.rename(columns={"statistic": "level", "difference": "value"})
both = pd.concat([own, change.assign(shown="slope, trained − untrained")])
both = both.assign(threshold=both["level"].str.removeprefix("above_").astype(float))
both = both.rename(columns={"kind": "model"})

# %% mystnb={"figure": {"name": "fig-sweep", "caption": "Counting, over quantiles and thresholds. Above: the share of units of trained networks that count as interpretable in their own basis, and where that is 0 or 1 nothing can be seen to change. Below: by how much more the share changes with rotation than in untrained networks. The paper's setting is framed where the run includes it."}, "image": {"alt": "Two rows of three matrices of numbers, quantiles against thresholds. The upper row holds shares, the lower row differences of slopes. One cell of each is framed."}}
threshold_sweep(both)

# %% [markdown]
# ## Rotations
#
# :::{prf:proposition} The geodesic
# :label: prop-geodesic
# A rotation $Q \in SO(n)$ is $Q = Z T Z^\top$ with $Z$ orthogonal and $T$ made of plane rotations by angles $\theta_k \in (-\pi, \pi]$ and of
# ones. With every $\theta_k$ replaced by $\alpha\theta_k$ one has $Q^\alpha$, and
#
# $$Q^0 = I,\quad Q^1 = Q,\quad Q^\alpha Q^\beta = Q^{\alpha+\beta},$$ (eq-geodesic)
#
# a shortest path from $I$ to $Q$, of length $\sqrt{2}\,\lVert\theta\rVert = \lVert\log Q\rVert_F$.
# :::
#
# :::{prf:proof}
# The real Schur form of $Q$ gives $Z$ and $T$; eigenvalues $-1$ come in pairs, since $\det Q = 1$, and a pair is a rotation by π. Angles in one
# plane add up, which is {eq}`eq-geodesic`. The shortest paths from $I$ are $e^{tS}$, $0\le t\le1$, with $S$ skew; their length is
# $\lVert S\rVert_F$, $\sqrt2$ times the norm of the angles of $S$. If $e^S=Q$, these are the $\theta_k$ up to multiples of $2\pi$, and least in
# $(-\pi,\pi]$.
# :::
#
# :::{admonition} Erratum: godfrey2022, section 6, rotations
# :class: warning
# The paper draws $Q$ uniformly from $SO(n)$ by Gram–Schmidt on a Gaussian matrix. That is uniform on $O(n)$: half of the draws
# have determinant $-1$, and no path of rotations leads to them. The cell below draws both ways.
# :::

# %%
generator = torch.Generator().manual_seed(seed)
drawn = []
for n in (2, 3, 16, 64):
    for trial in range(20):
        printed = groups.Orthogonal(n).sample(generator)  # by Gram–Schmidt
        ours = dissection.haar_rotation(n, generator)
        parts = dissection.rotation_planes(ours)
        some, more, both = (parts.power(x) for x in (0.3, 0.45, 0.75))
        error = max((some @ more - both).abs().max(), (parts.power(1) - ours).abs().max())
        rotates = [bool(torch.linalg.det(each) > 0) for each in (printed, ours)]
        drawn.append([n, trial, *rotates, error.item()])
drawn = pd.DataFrame(drawn, columns=["n", "trial", "printed", "ours", "geodesic_error"])
drawn.groupby("n").agg({"printed": "mean", "ours": "mean", "geodesic_error": "max"})

# %% [markdown]
# The first two columns are the shares of draws with determinant 1; the last is the largest error of {eq}`eq-geodesic`.
#
# ## A case small enough to print
#
# Two units, two concepts, two images of $2 \times 2$ pixels. Each unit is one concept's mask, and we rotate it by 45° and by 90°.

# %%
planes = torch.zeros(2, 2, 2, 2, dtype=torch.bool)  # image, concept, row, column
planes[0, 0, 0, 0] = planes[1, 0, 1, 1] = True  # "left": one pixel in each image
planes[0, 1, 1, 0] = planes[1, 1, 0, 1] = True  # "right": another
small = data.Masks.of(planes, ["left", "right"])
quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
rows = {}
for alpha in (0.0, 0.5, 1.0):
    Q = dissection.geodesic(quarter, alpha).round(decimals=9)  # cos 90° is 6e-17
    result = dissection.dissect(planes.double(), small, quantile=0.5, rotation=Q)
    rows[f"α = {alpha}"] = result.iou.flatten().tolist()
names = pd.MultiIndex.from_product([["unit 1", "unit 2"], small.names])
pd.DataFrame(rows, index=names).T

# %% [markdown]
# Halfway unit 2 is the sum of both masks and sees two concepts, neither well; unit 1 is their difference and still sees one. At α = 1 unit 2
# has become the detector that unit 1 was, and unit 1 is the negative of a mask, which selects nothing: a signed permutation is not in
# $G_{\mathrm{ReLU}}$, and dissection, which looks at large values only, is not invariant under it either.
#
# (sec-inside)=
# ## Inside the block
#
# The paper looks inside the residual blocks as well (its figure 19): at a convolution of the network without ReLU the count rises with rotation.
# {numref}`fig-inside` has the output of the block, what comes out of the activation inside, and the convolution after it, whose output is
# added to the shortcut. No activation acts on that output alone; in the network with ReLU, the ReLU acts on the sum.

# %% mystnb={"figure": {"name": "fig-inside", "caption": "Slope against α of the mean best IoU, trained minus untrained, in hundredths: left of 0, training has made the own basis more interpretable than a random one. Dots: single networks; lines: means with 95 % intervals over networks."}, "image": {"alt": "Three panels, for the block's output, the activation inside and the convolution after it; in each, three rows for the kinds of network, with dots, means and intervals about a vertical line at zero."}}
inside = gaps[(gaps["statistic"] == "mean_iou") & gaps["kind"].isin(PAPER)]
forest(
    inside, "kind", "hundredths", panels="layer", xlabel="trained − untrained, hundredths"
)

# %% [markdown]
# (sec-group)=
# ## Does the basis follow the group?
#
# If the intertwiner group decides, then what matters is whether it moves the axes: all of $GL_n$ for no activation; permutations, with or
# without scalings or signs, for the others. The table has the groups, the largest first; {numref}`fig-activations` the slopes in that order.

# %%
SIGMA = {"no ReLU": "Identity", "ReLU": "ReLU", "tanh": "tanh", "GELU": "GELU"}
sizes = [
    {"output": kind, "dimension": group.dimension, "components": group.components}
    for kind, activation in SIGMA.items()
    for group in [groups.intertwiner_group(activation, 4)]
]
pd.DataFrame(sizes)  # for four units

# %% mystnb={"figure": {"name": "fig-activations", "caption": "The same statistic at the residual outputs for four activations on them, ordered by the size of their intertwiner groups: all invertible matrices, permutations with positive scalings, with signs, permutations alone."}, "image": {"alt": "Four rows, no ReLU, ReLU, tanh and GELU, each with dots for networks, a mean and an interval about a vertical line at zero."}}
order = {kind: place for place, kind in enumerate(SIGMA)}
by_group = mean_gap[mean_gap["kind"].isin(order)].sort_values(
    "kind", key=lambda kinds: kinds.map(order), kind="stable"
)
forest(by_group, "kind", "hundredths", xlabel="trained − untrained, hundredths")

# %%
by_kind = mean_gap.pivot(index="number", columns="kind", values="hundredths")
against = {kind: said(by_kind[kind] - by_kind["no ReLU"]) for kind in list(SIGMA)[1:]}
lines = [f"- {kind} minus no ReLU: {': '.join(text)}" for kind, text in against.items()]
Markdown("\n".join(["Paired by network, in hundredths:", "", *lines]))

# %% [markdown]
# One activation needs care. Tanh keeps the order of the values, so that a unit is strongest where it was in front of the tanh; but its largest
# values lie close together below 1, and after upsampling few pixels may exceed the level.

# %%
shares = {}
for kind in SIGMA:
    network = pair(datasets[0], kind, 0)["trained"]
    maps = experiment.maps(network, kind, "output", shown.images)
    found = dissection.dissect(maps, masks, quantile=main_quantile)
    shares[kind] = f"{100 * found.units()['share'].mean():.2f} % ({kind})"
Markdown(f"Selected in the own basis: {', '.join(shares.values())}, of all pixels.")

# %% [markdown]
# A unit that selects less has a lower ceiling. A rotation mixes units and may undo this, trained or not; the difference of slopes removes what is common to both.
#
# ## What the paper prints
#
# Figure 3 of the paper gives the fraction of interpretable units at several α for one ResNet-50, one without the last ReLUs and one
# ConvNeXt, trained on ImageNet and dissected with Broden, whose host is gone. Its text: interpretability falls for the first, stays for the second and
# rises for the third, and without ReLU far fewer units count. No untrained network stands beside it, nor an interval.
#
# :::{admonition} Deviation from the paper
# :class: note
# Small networks and drawn scenes, or street scenes; mean best IoU and a threshold calibrated on a null, with the printed
# setting inside the sweep; slopes of trained minus untrained networks. The untrained network, the null and the intervals are ours.
# :::

# %%
printed = gaps[(gaps["layer"] == "output") & gaps["kind"].isin(PAPER)]
verdicts(printed, ["statistic", "kind"])

# %%
relu = by_kind["ReLU"]
judged = {"With ReLU it falls": said(relu)}
for kind in PAPER[1:]:
    judged[f"With ReLU it falls more than with {kind}"] = said(relu - by_kind[kind])
means = {"below 0": "reproduced", "above 0": "differs"}
lines = [
    f"- {what}: {means.get(sign, 'inconclusive')}, {numbers}."
    for what, (numbers, sign) in judged.items()
]
Markdown("\n".join(["Trained minus untrained, at the scale of this page:", "", *lines]))

# %% [markdown]
# Read the table so (counts are in per cent of the units): *trained* is the paper's way of looking, and the *difference*, trained minus untrained, is what can be said to have been learned.
# Where the difference is inconclusive, the figure is not reproduced at this scale, and not refuted either. What the {doc}`../generated/scoreboard` says is
# taken from the largest recorded run, which {numref}`fig-recorded-slopes` shows.

# %%
recorded, text = run.largest("slopes")
Markdown(text)

# %% mystnb={"figure": {"name": "fig-recorded-slopes", "caption": "Trained minus untrained at the residual outputs in the largest recorded run (the sentence above says which), in hundredths of IoU, one panel for each data set: left of 0, training has made the own basis special."}, "image": {"alt": "One panel for each data set; in each, five rows for the kinds of network with dots, means and intervals about a vertical line at zero."}}
q = min(recorded["quantile"].unique(), key=lambda q: abs(q - main_quantile))
at = recorded.query("layer == 'output' and statistic == 'mean_iou' and quantile == @q")
at = at.assign(hundredths=100 * at["difference"])
forest(
    at, "kind", "hundredths", panels="dataset", xlabel="trained − untrained, hundredths"
)

# %% tags=["hide-input"]
verdicts(at, ["dataset", "kind"])

# %% [markdown]
# ## What would break it
#
# Masks of other images. If a unit's best IoU were as high with those, it would measure areas and not concepts. The table has the IoU that 5 per
# cent of the units exceed by chance, beside the mean with the true masks, in the own basis and in hundredths.

# %%
start = outputs[outputs["alpha"] == 0].groupby(["kind", "weights"], sort=False)
(100 * start[["null", "mean_iou"]].mean()).round(2)

# %% [markdown]
# ## Adapt this
#
# A network of your own, any `nn.Module`, at any layer with maps; for images and masks of your own, give
# `data.SegmentedFolder(images, masks, names)`. The full-size networks of the paper are in {doc}`../api/dissection`.

# %%
concepts, mine_masks = data.scenes(100, seed=seed + 50, device=device)
mine = torch.nn.Sequential()
mine.add_module("mix", torch.nn.Conv2d(3, 8, 5, stride=2, padding=2))
mine.add_module("bend", torch.nn.Softplus())
mine.add_module("pool", torch.nn.AdaptiveAvgPool2d(1))
mine.add_module("flat", torch.nn.Flatten())
mine.add_module("read", torch.nn.Linear(8, len(concepts.classes)))
mine = train(mine, concepts, replace(recipe, epochs=1), seed=seed, device=device).network
maps = activations(mine, ["bend"], concepts.images)["bend"]
dissection.dissect(maps, mine_masks, quantile=main_quantile).units().head()

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-permutation
# Name orthogonal matrices that leave the mean best IoU exactly as it is, for every network. Which of them are rotations?
# :::
#
# ::::{solution-start} ex-permutation
# :class: dropdown
# ::::
# Permutations only exchange the units: they are the orthogonal elements of $G_{\mathrm{ReLU}}$. The even ones are rotations.

# %%
turn = torch.eye(maps.shape[1]).roll(1, 0).to(maps)
before, after = (
    dissection.dissect(maps, mine_masks, quantile=main_quantile, rotation=Q)
    for Q in (None, turn)
)
assert torch.equal(after.best, before.best.roll(1))

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-ceiling
# By {prf:ref}`prop-ceiling`, which quantile would let a concept of a quarter of all pixels reach an IoU of 0.04, and of 1?
# :::
#
# ::::{solution-start} ex-ceiling
# :class: dropdown
# ::::
# $q/0.25 \ge 0.04$ from $q = 0.01$ on; and 1 only with $q = 0.25$, where a perfect detector reaches it.

# %%
plane = (torch.arange(64).view(1, 1, 8, 8) % 4 == 0).expand(4, 1, 8, 8)
low, high = (
    dissection.dissect(plane.float(), plane, quantile=q).concepts() for q in (0.01, 0.25)
)
assert low["ceiling"].item() == 0.04 and high["ceiling"].item() == 1

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - Dissection asks which concept a unit's strongest activations select; an IoU is bounded by sizes, {prf:ref}`prop-ceiling`.
# - A count above a fixed threshold may stand still while every unit loses; the mean best IoU does not.
# - A basis may look special before anything is learned. What training adds is the difference of two slopes, with an interval.
#
# Back to {doc}`02_sanity_rotations`, which rotates in front of an activation and asks what that costs in accuracy, or on to {doc}`06_genni`:
# what symmetry looks like among the weights themselves.
#
# ## Provenance


# %%
def wide(rows, value):
    """One column for each kind of network."""
    keys = ["dataset", "layer", "quantile", *rows.columns.intersection(["statistic"])]
    table = rows.pivot_table(index=[*keys, "number"], columns="kind", values=value)
    return table.rename(columns=lambda kind: kind.lower().replace(" ", "_")).reset_index()


falls = wide(slopes.assign(fall=-slopes["difference"]), "fall")
own_basis = wide(table.query("alpha == 0 and weights == 'trained'"), "above_0.04")
run.write(falls=falls, own_basis=own_basis, rotations=drawn, ceilings=areas)
results.provenance()
