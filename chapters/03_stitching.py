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
# # 3 · Stitching
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the group $G_{\mathrm{ReLU}}$ of permutations with positive scalings; for
# the proof of {prf:ref}`thm-stitching` also {prf:ref}`prop-moved`.
# **You will learn** to join the front of one trained network to the back of another, to find a permutation from
# activations and from a loss, and to say which protocol lies behind a published number.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/03_stitching>`.
# :::
#
# ## The question
#
# You trained one network twice, from two seeds, and both work equally well.
# Take the first layers of one and the last layers of the other.
# Together they are useless: channel 5 of the one is not channel 5 of the other.
# Now put a linear map of channels between them.
# *How simple may that map be?*
#
# **A permutation of the channels with positive scalings nearly suffices in wide networks** ({numref}`fig-penalties`):
# on CIFAR-10 it loses {fact}`03_stitching.equal_group_low:.0f` to {fact}`03_stitching.equal_group_high:.0f` points of
# accuracy, an arbitrary and untrained one {fact}`03_stitching.arbitrary_low:.0f` to
# {fact}`03_stitching.arbitrary_high:.0f`
# (with the statistics of the next batch norm taken anew, {ref}`sec-batch-norm`).
#
# {numref}`fig-bench-maps` joins two small networks for handwritten digits, so far without a map.
# *How much does each map bring back?*
# Then choose the front *the second, moved*: the second network with its channels reordered and rescaled, in a way
# that you are not told.
# *Which maps undo that, and can you find one by hand?*

# %% tags=["hide-input"] figure="fig-bench-maps"
from intertwine_book.live.benches import which_map

which_map()

# %% [markdown]
# :::{figure} #fig-bench-maps
# ---
# alt: >-
#   A bar for the accuracy of a stitched network, ten digits with its answers, a square that shows the map,
#   and buttons for the map and for the front.
# ---
# Without a map the back misreads most digits, though it knows nearly all from its own front (the line).
# A permutation with scalings brings back most of it between these two networks,
# and everything if the front differs by a symmetry.
# The cut is after the second ReLU; maps are fitted to 200 other digits, and batch norm is re-estimated on them.
# :::

# %% [markdown]
# {numref}`fig-penalties` shows networks as wide as those of {cite:t}`godfrey2022`, on photographs.

# %% tags=["hide-input"] figure="fig-penalties"
import pandas as pd

from intertwine_book.figures import style
from intertwine_book.figures.dots import dots
from intertwine_book.record import on_record
from intertwine_book.tidy import of

style.use_style()
stitches = on_record("03_stitching", "stitches")
wide = of(
    stitches, dataset="cifar10", width=64, start="closed form", batch_norm="re-estimated"
)
printed = pd.DataFrame(
    {
        "layer": [3, 6, 10, 14],
        "G_ReLU": [8.3, 7.5, 16.5, 5.8],
        "rank 4": [8.6, 13.6, 26.3, 15.8],
    }
)
dots(
    wide,
    *("layer", "penalty", "family"),
    beside={
        "printed, from random starts": printed.melt(
            "layer", var_name="family", value_name="penalty"
        )
    },
    colours={"G_ReLU": style.GROUP_COLOURS["G_ReLU"], "rank 4": style.COLOURS["pink"]},
    level=0.0,
    height=2.6,
    filled="ours, four pairs of networks",
    xlabel="layer, as the paper counts",
    ylabel="accuracy lost, points",
)

# %% [markdown]
# :::{figure} #fig-penalties
# ---
# alt: >-
#   Points of accuracy that are lost at the layers 3, 6, 10 and 14: blue dots for permutations with scalings lie
#   below pink dots for maps of rank 4 at each layer; open rings show the printed values, mostly higher.
# ---
# In networks as wide as the paper's, a permutation with positive scalings (blue) loses less than a matrix of rank 4
# (pink), at each layer of each pair.
# Both are fitted to activations and then trained by the task, with batch norm re-estimated.
# Small dots: pairs; rings: values that the paper prints, whose maps start at random.
# :::

# %% [markdown]
# Why should a permutation with scalings do?
# Take two channels.
# The front of the first network gives an image the activations $a_1, a_2$, the front of the second $b_1, b_2$.
# Let the second network have learned the same two features, in the other order and on other scales:
# $b_1 = 2a_2$ and $b_2 = \frac12 a_1$.
# Its back answers "cat" if $b_1 > b_2$, and "dog" otherwise.
#
# | image | $a$ | $b$ | its back says of $b$ | of $a$, unmapped | of $(a_2, a_1)$ | of $(2a_2, \frac12a_1)$ |
# |---|---|---|---|---|---|---|
# | 1 | (2, 0) | (0, 1) | dog | cat ✗ | dog | dog |
# | 2 | (0, 3) | (6, 0) | cat | dog ✗ | cat | cat |
# | 3 | (3, 2) | (4, 1.5) | cat | cat | dog ✗ | cat |
#
# Without a map the back is wrong about two images, after a permutation about one.
# A permutation *with positive scalings* makes no error.
# If two trained networks differed only by a symmetry of the weights, such a map would lose nothing between them.

# %% [markdown]
# (sec-stitched)=
# ## Cut two networks, and join them
#
# {numref}`fig-stitch-diagram` shows what is cut and what is joined.
# Both networks are frozen; only the map between them is fitted.

# %% tags=["hide-input"]
from copy import deepcopy
from dataclasses import replace

# %% tags=["parameters"]
from typing import Literal

import torch
from scipy.optimize import linear_sum_assignment
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from intertwine import devices
from intertwine.alignment import Statistics
from intertwine.features import activations, rows
from intertwine.stitching import KINDS, STITCH_RECIPES, split, stitch
from intertwine.stitching.batch_norm import reestimate
from intertwine.training import evaluate
from intertwine.weightspace import find_symmetries, match, relative_error
from intertwine_book import data, models, zoo
from intertwine_book.figures.curves import mean_curves, single_curves
from intertwine_book.figures.matrices import map_pictures
from intertwine_book.figures.matrix_slider import matrix_slider
from intertwine_book.figures.readable import readable
from intertwine_book.figures.schematics import stitch_diagram

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of all that is random
width: int = 16  # channels of the first convolution
epochs: int = 8  # of the networks' training
stitch_epochs: int = 12  # of a stitch's training
images: int = 500  # training images for stitches

# %% tags=["hide-input"] figure="fig-stitch-diagram"
stitch_diagram()

# %% [markdown]
# :::{figure} #fig-stitch-diagram
# ---
# alt: >-
#   Two rows of five boxes, the layers of two networks.
#   The first two boxes of the upper row lead to a box psi, which leads to the last three boxes of the lower row
#   and to a class.
# ---
# Stitching keeps the front of one network and the back of another.
# Faint layers are not used.
# The map ψ acts on channels, at every pixel alike, as a convolution of size 1.
# :::

# %% [markdown]
# Write $f = f_{>l}\circ f_{\le l}$ for a network that is cut after its layer $l$, and $\tilde f$ likewise.
# On this page every cut lies *after* a ReLU; {doc}`03b_matching` cuts before it.
# For a map $\psi$ the *stitched network* and its *stitching penalty* are {cite}`godfrey2022`
#
# $$S(f, \tilde f, l, \psi) = \tilde f_{>l}\circ\psi\circ f_{\le l},$$ (eq-stitched)
#
# $$
# \begin{aligned}
# \text{penalty} ={}& \tfrac12(\mathrm{Acc}\, f + \mathrm{Acc}\, \tilde f)\\
# &- \mathrm{Acc}\, S,
# \end{aligned}
# $$ (eq-penalty)
#
# in points of accuracy: *lower is better*, and 0 means that nothing is lost.
# The networks are *Myrtle CNNs*: four convolutions, each with batch norm and ReLU, then a linear layer.
# Their *width* is the number of channels of the first convolution.
# The paper counts every operation, so that the four ReLUs are its layers 3, 6, 10 and 14;
# in the code they are `relu1` to `relu4`.
# This page trains two small ones on handwritten digits: $f$, and $\tilde f$, which the code calls `g`.

# %% tags=["hide-input"]
device = devices.pick(device)
whole, test = (data.load(dataset, k, device=device) for k in ("train", "test"))
shape = {"width": width, "in_channels": whole.images.shape[1]}
recipe = zoo.RECIPES["digits" if dataset == "digits" else "growing"]
spec = zoo.Spec("myrtle", whole, replace(recipe, epochs=epochs), shape)
f, g = zoo.pairs(spec, 1, seed=seed, device=device)[0]
draw = torch.Generator().manual_seed(seed)
few = whole[torch.randperm(len(whole), generator=draw)[:images]]

# %% [markdown]
# The easiest map to fit is a linear regression.
# Predict the channels $b$ of $\tilde f$ from the channels $a$ of $f$, with every pixel of every image as a row:

# %%
layer = "relu2"
found = [activations(n, [layer], few.images)[layer] for n in (f, g)]
X, Y = (rows(each).cpu() for each in found)
A = torch.cat([X, torch.ones(len(X), 1)], 1).double()  # a bias
solution = torch.linalg.lstsq(A, Y.double()).solution.float()
psi = nn.Conv2d(X.shape[1], Y.shape[1], kernel_size=1).to(device)
psi.weight.data = solution[:-1].T[:, :, None, None].to(device)
psi.bias.data = solution[-1].to(device)
front, back = split(f, layer)[0], split(g, layer)[1]
stitched = nn.Sequential(front, psi, back).eval()
for name, network in {"f": f, "g": g, "stitched": stitched}.items():
    print(f"{name}: {evaluate(network, test.images, test.labels):.1%}")

# %% tags=["hide-input"]
same = {"at": layer, "train": few, "device": device}
theirs = stitch(f, g, kind="least squares", **same)
assert relative_error(stitched(few.images), theirs(few.images)) < 1e-3

# %% [markdown]
# Part of what is lost here is only size, and comes back in one pass ({ref}`sec-batch-norm`).
# The library's `stitch` does the same for any two layers of any two networks, and the folded cell checks it.
# The families of maps are all matrices (*full*), matrices of rank at most $r$, and $G_{\mathrm{ReLU}}$
# ({numref}`fig-maps`).

# %% tags=["hide-input"] figure="fig-maps"
fitted = {"full": {"kind": "least squares"}}
fitted |= {f"rank {r}": {"kind": "low rank", "rank": r} for r in (4, 2, 1)}
fitted |= {"G_ReLU": {"kind": "scaled permutation"}}
maps = {k: stitch(f, g, **same, **kind).stitch for k, kind in fitted.items()}
map_pictures({k: each.weight.flatten(1) for k, each in maps.items()})

# %% [markdown]
# :::{figure} #fig-maps
# ---
# alt: >-
#   Five small square matrices in colour: a full map, maps of rank 4, 2 and 1 with visible stripes,
#   and one with a single entry in each row.
# ---
# Full and low-rank maps mix all channels; an element of $G_{\mathrm{ReLU}}$ has one positive entry in each row
# and column.
# Five maps between the same two layers of two networks, fitted to activations.
# Blue is negative, red positive, each matrix on its own scale.
# :::

# %% [markdown]
# ## A stitch that loses nothing
#
# :::{prf:theorem} Stitching by the group, {cite}`godfrey2022`, Theorem 4.2
# :label: thm-stitching
# If $\tilde f$ is $f$ with its weights moved by $A_1, A_2, \dots$ as in {prf:ref}`prop-moved`,
# then $S(f, \tilde f, l, \psi)$ with $\psi = \varphi_\sigma(A_l)$ computes the same function as $f$.
# :::
#
# :::{prf:proof}
# By {eq}`eq-layers` $\tilde f_{>l} = f_{>l}\circ\varphi_\sigma(A_l)^{-1}$.
# So $S = \tilde f_{>l}\circ\psi\circ f_{\le l} = f_{>l}\circ f_{\le l} = f$.
# :::
#
# For ReLU, $\varphi_\sigma(A) = A$, and the example with two channels above is this theorem.
# The theorem also gives a test: move a network by a known $A$, and see whether a method finds it.
# The library's search of the group does, up to rounding, at each of three layers of an untrained network
# ({ref}`rec-theorem-4-2`).
# A channel that is never active may be sent anywhere, so $A$ itself is determined only on the active ones.
#
# (sec-smallest)=
# The theorem says that the group suffices.
# The paper also calls it the *smallest* class of stitches.
# We can prove that for a back that is injective and activations that span the space.
# The back of a classifier with fewer classes than values in its feature map never is injective, so the statement says
# nothing of the networks on this page.
# If the next batch norm is re-estimated, the overall scale of $\psi$ is irrelevant, and a smaller class does
# ({ref}`ex-smallest`).
#
# ## Finding a permutation
#
# **From activations.**
# Write $a_i$ for the activations of channel $i$ of $f$ over all images and pixels,
# $b_j$ for those of channel $j$ of $\tilde f$, and $c_{ij}$ for their cosine.
# Match the channels so that the sum of cosines is largest, and scale every active channel of $f$ to the norm of
# its partner:
#
# $$
# \begin{aligned}
# \pi^* &= \operatorname*{arg\,max}_{\pi}\ \sum_j c_{\pi(j)j},\\
# s_j &= \lVert b_j\rVert / \lVert a_{\pi^*(j)}\rVert.
# \end{aligned}
# $$ (eq-assignment)
#
# This is a linear assignment, which takes a few lines:

# %%
cosines = normalize(X, dim=0).T @ normalize(Y, dim=0)
channel_f, channel_g = linear_sum_assignment(cosines, maximize=True)
a, b = X.norm(dim=0)[channel_f], Y.norm(dim=0)[channel_g]
matched = torch.zeros(Y.shape[1], X.shape[1])
matched[channel_g, channel_f] = torch.where((a > 0) & (b > 0), b / a, 1)

# %% tags=["hide-input"] figure="fig-matched"
theirs = stitch(f, g, kind="scaled permutation", **same).stitch
assert torch.allclose(matched, theirs.weight.cpu().flatten(1), rtol=1e-3)
ranked = cosines[channel_f, channel_g].argsort(descending=True)
best = [(channel_f[k], channel_g[k]) for k in ranked[:4].tolist()]
seen = [activations(n, [layer], test.images[:1])[layer][0] for n in (f, g)]

figure, axes = style.new_figure(2, len(best) + 1, height=2.4)
shown = {"image": test.images[:1, 0].repeat(2, 1, 1)}
shown |= {f"{a} → {b}": (seen[0][a], seen[1][b]) for a, b in best}
for column, (title, both) in zip(axes.T, shown.items(), strict=True):
    for axis, picture in zip(column, both, strict=True):
        style.picture_in(axis, picture.numpy(force=True), cmap="cividis")
    column[0].set_title(title, fontsize=9)
axes[1, 0].axis("off")
axes[0, 1].set_ylabel("$f$", fontsize=14)
axes[1, 1].set_ylabel("$\\tilde f$", fontsize=14)
figure

# %% [markdown]
# :::{figure} #fig-matched
# ---
# alt: >-
#   A digit and two rows of four small maps of activations; the maps in one column resemble each other.
# ---
# Even the best matched channels agree only partly.
# One digit, and its activations in four channels of one network (above) and in their matches in the other (below).
# Titles: number of the channel → number of its match.
# :::

# %% [markdown]
# {numref}`fig-matched` shows the four best matches.
# A high cosine means little by itself, since activations after a ReLU are nonnegative:
# an *untrained* front finds partners with high cosines, too ({ref}`ex-cosines`).
#
# **By a loss.**
# Similar activations need not be what the back uses.
# The loss of the stitched network measures what the back uses, but a permutation has no gradient.
# Relax them to *doubly stochastic* matrices, which are nonnegative and whose rows and columns sum to 1.
# These form a convex set, Birkhoff's polytope, whose corners are the permutations.
# Sinkhorn's algorithm makes any matrix of scores doubly stochastic: take exponentials,
# then divide rows and columns by their sums in turn, many times.


# %%
def sinkhorn(scores, temperature, sweeps=200):
    """Scores -> a doubly stochastic matrix; near a permutation when cold."""
    log_p = scores / temperature
    for _ in range(sweeps):
        log_p = log_p - log_p.logsumexp(1, keepdim=True)
        log_p = log_p - log_p.logsumexp(0, keepdim=True)
    return log_p.exp()


# %% [markdown]
# The *temperature* decides how near to a corner one comes.
# {numref}`fig-sinkhorn` takes the cosines of eight matched pairs of channels as scores.
# *Move the slider to the right: what becomes of the pale cells?*

# %% tags=["hide-input"] figure="fig-sinkhorn"
temperatures = (1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002)
eight = cosines[channel_f[:8]][:, sorted(channel_g[:8])]
softer = torch.stack([sinkhorn(eight, t) for t in temperatures])
matrix_slider(softer, temperatures, label="temperature", name="sinkhorn")

# %% [markdown]
# :::{figure} #fig-sinkhorn
# ---
# alt: >-
#   A slider for the temperature, and a square of eight by eight cells:
#   pale at first, with eight full cells in the end, one in each row and column.
# ---
# The colder, the nearer to a permutation: of the pale cells one in each row and column becomes full.
# Sinkhorn's matrix of eight channels of $f$ (rows) and of $\tilde f$ (columns); rows and columns sum to 1.
# Outlined: the best permutation.
# :::

# %% [markdown]
# Forward, the method uses the best permutation for the scores.
# Backward, it uses the gradient of Sinkhorn's matrix, a *straight-through* gradient.
# In formulas, for a matrix $T$ of scores, Sinkhorn's matrix $P_\tau(T)$ at temperature $\tau$
# and the best permutation $P_0(T)$:
#
# $$
# \begin{aligned}
# \psi &= \operatorname{diag}(s)\,P_0(T),\\
# \frac{\partial \psi}{\partial T} &:= \operatorname{diag}(s)\,\frac{\partial P_\tau(T)}{\partial T}.
# \end{aligned}
# $$ (eq-straight-through)


# %%
def element(scores, log_scales, temperature):
    """A permutation with scalings, and the gradient of Sinkhorn's matrix."""
    hard = torch.zeros_like(scores)
    # the assignment is a pair of lists: rows, and the column of each
    hard[linear_sum_assignment(scores.detach().cpu(), maximize=True)] = 1
    soft = sinkhorn(scores, temperature, sweeps=20)
    P = hard + soft - soft.detach()  # its value is hard, its gradient soft
    return log_scales.exp()[:, None] * P


# %% [markdown]
# The scores start at the cosines; the scales, kept as logarithms, start at {eq}`eq-assignment`;
# the temperature falls from 0.3 to 0.03.
# Here are a hundred steps:

# %%
scores = cosines.T.clone().to(device).requires_grad_()
log_scales = matched.sum(1).log().to(device).requires_grad_()
adam = torch.optim.Adam([scores, log_scales], lr=0.01)
values = front(few.images).detach()
for k in range(100):
    psi = element(scores, log_scales, 0.3 * 0.1 ** (k / 100))
    batch = torch.randint(len(few), (64,), generator=draw)
    moved = torch.einsum("qp,npij->nqij", psi, values[batch])
    loss = cross_entropy(back(moved), few.labels[batch])
    adam.zero_grad()
    loss.backward()
    adam.step()

# %% tags=["hide-input"]
start = [z.detach().clone().requires_grad_() for z in (cosines.T, matched.sum(1).log())]
theirs = KINDS["G_ReLU"](Statistics.of(X, Y)).train()
for each in (element(*start, theirs.hot), theirs.weight):
    (each * cosines.T).sum().backward()
for ours, grad in zip(start, (theirs.scores.grad, theirs.log_scales.grad), strict=True):
    assert relative_error(ours.grad, grad) < 1e-2

# %% tags=["hide-input"]
quick = replace(
    STITCH_RECIPES["digits" if dataset == "digits" else "fast"], epochs=stitch_epochs
)
theirs = stitch(f, g, kind="G_ReLU", recipe=quick, **same)
psi = element(scores, log_scales, 0.03).detach()
keeps = {"assignment": matched, "by hand": psi, "library": theirs.stitch}
for name, psi in keeps.items():
    print(f"{name}: {stitch(f, g, kind=psi, **same).evaluate(test):.1%}")

# %% [markdown]
# A hundred steps of training raise the accuracy of the assignment.
# The library's `"G_ReLU"` is the same method, trained by a *recipe* (epochs, optimiser, learning rate).
#
# The paper's way is a *relaxation*.
# It starts at a random matrix $P$ of the polytope, adds $-\alpha\lVert P\rVert_F$ to the loss,
# which draws $P$ to the corners, and rounds at the end.
#
# (sec-batch-norm)=
# ## What a fitted map loses: size
#
# A regression predicts a part of what the layer had, so its outputs vary less.
# The batch norms of the back still divide by the old deviations, and what follows comes out too small.
# One paper stitches with these statistics *frozen* {cite}`csiszarik2021`.
# The other *re-estimates* them on training images that pass the stitch {cite}`godfrey2022`, which takes one pass:


# %%
def reestimated(network, images):
    """The same weights, with statistics of batch norm from these images."""
    network = deepcopy(network).eval()
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.train().reset_running_stats()
            part.momentum = None  # the mean over all batches
    with torch.no_grad():
        for batch in images.split(200):
            network(batch)
    return network.eval()


ours = reestimated(stitched, few.images)
for name, network in {"frozen": stitched, "re-estimated": ours}.items():
    print(f"{name}: {evaluate(network, test.images, test.labels):.1%}")

# %% tags=["hide-input"]
theirs = deepcopy(stitched)
reestimate(theirs, few.images.split(200))
assert torch.equal(ours(few.images), theirs(few.images))

# %% [markdown]
# *Compare fitted maps of two papers only if you know what each did with batch norm.*
# {doc}`03b_matching` measures how much of a fit's loss is size.
#
# (sec-connected)=
# ## Are two trained networks one, up to symmetry?
#
# A stitch asks about one layer.
# Now look for an element of the *whole* group that brings one network close to another
# ({doc}`01d_orbits` shows how it is found).
# If the two differed by a symmetry alone, the matched networks would be equal.
# Ask for less: that the line between them has good networks on it.
# Let $\mathrm{Acc}(t)$ be the accuracy of the network with weights $(1-t)W_1 + tW_2$.
# The *barrier* is the largest drop below the straight line between the accuracies at the ends,
#
# $$\max_{0\le t\le1}\ (1-t)\,\mathrm{Acc}(0) + t\,\mathrm{Acc}(1) - \mathrm{Acc}(t),$$ (eq-barrier)
#
# in points; *lower is better*.
# Averaging two networks shrinks their activations, as a regression does, so batch norm is re-estimated again.
# Halfway between the two networks of this page:

# %%
space = find_symmetries(f, test.images[:1])
near = match(space, f, g, inputs=few.images).model
for name, end in {"as trained": g, "matched": near}.items():
    halfway = deepcopy(f)
    ends = f.parameters(), end.parameters()
    for middle, one, two in zip(halfway.parameters(), *ends, strict=True):
        middle.data = (one.data + two.data) / 2
    found = reestimated(halfway, few.images)
    print(f"{name}: {evaluate(found, test.images, test.labels):.1%}")

# %% [markdown]
# **In wide networks the symmetry that matching finds nearly joins the two**:
# with batch norm re-estimated, the barrier falls from {fact}`03_stitching.barrier_trained:.0f` to
# {fact}`03_stitching.barrier_matched:.0f` points
# ({numref}`fig-connectivity`).
# At width 16 about {fact}`03_stitching.barrier_matched_narrow:.0f` points are left, more than in any pair of width 64.
# Whether a better search would find a line without a barrier is open.

# %% tags=["hide-input"] figure="fig-connectivity"
lines = of(on_record("03_stitching", "lines"), batch_norm="re-estimated", width=[16, 64])
single_curves(
    lines.assign(panel="width " + lines["width"].astype(str)),
    *("fraction", "accuracy", "way", "pair"),
    panels="panel",
    colours={
        "as trained": style.COLOURS["orange"],
        "matched by activations": style.COLOURS["blue"],
    },
    xlabel="fraction of the way",
    ylabel="accuracy, %",
    xticks=[0, 0.5, 1],
)

# %% [markdown]
# :::{figure} #fig-connectivity
# ---
# alt: >-
#   Two panels, for widths 16 and 64, of accuracy against the fraction of the way between two networks.
#   As trained the lines have a deep valley; matched they are nearly flat, more so at width 64.
# ---
# Matched, two wide networks are joined by a line of good networks; as trained they are not.
# Accuracy at five points of the line between the weights of two Myrtle CNNs (CIFAR-10),
# batch norm re-estimated; thin: pairs, thick: means.
# :::

# %% [markdown]
# (sec-protocols)=
# ## What do networks as wide as the paper's lose?
#
# It depends on the family of maps, on how the map is found, and on what is done with batch norm.
# Points of accuracy lost, the mean over four layers; trained maps start at fitted ones.
# The column *trained, frozen* is of other networks, trained for fewer epochs; a dash is not recorded:

# %% tags=["hide-input"]
fits = of(
    on_record("03_stitching", "closed_forms"), width=64, fit=["regression", "assignment"]
)
trained = of(stitches, dataset="cifar10", width=64, start="closed form")
FAMILIES = {
    "full": "a full matrix",
    "G_ReLU": "a permutation with scalings",
    "rank 4": "a matrix of rank 4",
}
table = pd.concat([fits.assign(how="fitted"), trained.assign(how="trained")])
table = table.pivot_table("penalty", "family", ["how", "batch_norm"]).reindex([*FAMILIES])
table.columns = [f"{how}, {norm}" for how, norm in table.columns]
shown = table.assign(map=[*FAMILIES.values()])
readable(
    shown,
    {name: name for name in ("map", *table)},
    digits=0,
    title="Points lost at width 64",
)

# %% [markdown]
# Four things to remember:
#
# - *Training makes up for a bad fit.*
#   A matrix of rank 4 that is only fitted loses {fact}`03_stitching.fitted_four_low:.0f` points at the first ReLU
#   and up to {fact}`03_stitching.fitted_four_high:.0f` later, with batch norm re-estimated.
#   Trained from there it loses {fact}`03_stitching.equal_four_low:.0f` to {fact}`03_stitching.equal_four_high:.0f`.
# - *Re-estimating batch norm gives back much of what a full regression loses*, at the second and third ReLU.
#   A full matrix that is trained hardly needs it, at least on digits.
# - *Trained from their fits, the group beats rank 4 in these wide networks.*
#   Rank 4 has about eight times as many continuous parameters, and a bias; the group may choose its permutation.
#   In small networks for digits rank 4 is ahead at the first two ReLUs.
# - *A bad recipe can cost more than the choice of family.*
#   Trained by plain SGD, as its authors did, the relaxation loses on average about what the paper prints.
#   With Adam instead of SGD it loses {fact}`03_stitching.adam_32:.0f` points after the last ReLU, more than rank 4.
#
# In narrower networks a fitted permutation loses more: {fact}`03_stitching.quarter_width:.1f` times as much
# at a quarter of the width.
# Inside two of three residual blocks even a full matrix loses much.
# The shortcut may be why: it carries the first network's channels, unmatched, into the back.
# And a low penalty of a full matrix does not say that two networks learned the same:
# fronts that were never trained can be stitched, too ({doc}`03b_matching`).
# {doc}`records/03_stitching` has every layer, pair, width, recipe and verdict.
#
# ## Which map for which question?
#
# With `from intertwine.stitching import stitch`, `from intertwine.weightspace import match`, a data set `x`, and a
# `StitchRecipe` `r` of `intertwine.stitching`:
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you ask
#   - use
#   - beware
# * - Does one layer accept what another computes?
#   - a full matrix, trained: `stitch(f, g, at=l, train=x, recipe=r)`
#   - Early layers accept nearly everything, even an untrained front.
# * - Do two layers use the same *channels*?
#   - the group, from activations, then trained: `kind="G_ReLU", recipe=r`
#   - A high penalty may only mean that the search failed.
# * - Do they agree without any training?
#   - least squares: `kind="least squares"`
#   - It loses size: `batch_norm="reestimated"`.
# * - How many directions matter?
#   - low rank, trained: `kind="low rank", rank=4, recipe=r`
#   - A low rank that is only fitted may ruin the network.
# * - Are two networks one, up to symmetry?
#   - a match of all layers: `match(space, f, g, inputs=x.images)`
#   - Judge on the line, with batch norm re-estimated.
# * - Is the cut inside a residual block?
#   - a stitch of the shortcut, too: `shortcut="stitched"`
#   - Else the penalty can measure the shortcut as well as the map.
# :::
#
# ## Adapt this
#
# Bring two networks of your own, of any widths and depths, and name the layers to join.
# Here their activations and the sizes of their feature maps differ.
# Tokens (images, positions, channels) are stitched position by position.
# The first stitch is the best fit, the second is trained by the task, with a recipe from `STITCH_RECIPES`.

# %%
from torch import manual_seed, nn

from intertwine import training
from intertwine.stitching import STITCH_RECIPES, stitch
from intertwine_book import data

old, new = (data.load("digits", s, device="auto") for s in ("train", "test"))
four = training.Recipe(4, batch_size=64, lr=1e-2, optimizer="adam")


def mine(n, size, activation):
    mix, read = nn.Conv2d(1, n, size), nn.Linear(n * (9 - size) ** 2, 10)
    net = nn.Sequential(mix, activation, nn.Flatten(), read)
    return training.train(net, old, four, seed=0).network


manual_seed(0)  # of the initial weights
one, two = mine(8, 3, nn.ReLU()), mine(12, 5, nn.GELU())
print(f"alone {training.evaluate(two, new.images, new.labels):.1%}")
for how in ({}, {"recipe": STITCH_RECIPES["digits"]}):
    print(f"stitched {stitch(one, two, at='1', train=old, **how).evaluate(new):.1%}")

# %% [markdown]
# ## What others found
#
# {cite:t}`lenc2015` stitched networks first, by one trained linear layer, and exchanged early layers
# of networks with different tasks at little cost.
# {cite:t}`bansal2021` stitched networks of other seeds, widths and training objectives, and lost little, too.
# {cite:t}`smith2025` warn against the conclusion that such networks have learned the same:
# networks of other tasks, and even clustered noise, can be stitched as well ({doc}`03b_matching` tries it).
#
# {cite:t}`mena2018` learn permutations through Sinkhorn's algorithm.
# {cite:t}`entezari2022` conjecture that two networks, once their neurons are matched, are joined by a line of
# low loss, and {cite:t}`ainsworth2023` match the weights.
# {cite:t}`jordan2023` found that averaging shrinks the variance of the activations, and that restoring it
# removes most of the barrier after matching.
#
# ## Exercises
#
# :::{exercise}
# :label: ex-self-stitch
# *Warm-up.*
# Stitch a network to itself by the permutation that {eq}`eq-assignment` finds, and by a random one.
# Which penalty can you give without a computer?
# :::
#
# ::::{solution} ex-self-stitch
# :class: dropdown
# The first is 0: by Cauchy–Schwarz the cosine of an active channel with itself is 1, the largest,
# so $\pi$ is the identity and $s_j = 1$.
# The second is the price of a wrong element of the right group.
# Between two *different* networks of width 64, with frozen batch norm, it is {fact}`03_stitching.shuffled:.0f` points.
# ::::
#
# :::{exercise}
# :label: ex-rank-r
# Show that maps of rank at most $r$ between $n$ channels have dimension $2nr - r^2$.
# Is there an $r \ge 1$ for which $G_{\mathrm{ReLU}}$ has the larger dimension?
# :::
#
# ::::{solution} ex-rank-r
# :class: dropdown
# Write the map as $UV^\top$ with $U, V$ of size $n\times r$:
# $2nr$ numbers, and $UV^\top = (UB)(VB^{-\top})^\top$ for all $B \in GL_r$ takes $r^2$ away.
# The dimension $2nr - r^2$ exceeds $n$ for every $r \ge 1$ when $n \ge 2$: already $2n - 1 \ge n + 1$.
# So there is none.
# The group also has $n!$ pieces; {ref}`sec-size` counts these.
# ::::
#
# :::{exercise}
# :label: ex-smallest
# *When is the group the smallest class of stitches?*
# Let $\sigma$ act on $\mathbb R^n$ at layer $l$, and let $K$ be the set of matrices $M$
# with $f_{>l}(M f_{\le l}(x)) = f_{>l}(f_{\le l}(x))$ for all inputs $x$.
# Show:
#
# 1. If $\tilde f$ is $f$ moved by $A_1, A_2, \dots$, then a matrix $\psi$ has $S(f, \tilde f, l, \psi) = f$ iff
#    $\varphi_\sigma(A_l)^{-1}\psi\in K$.
# 2. If the activations $f_{\le l}(x)$ span $\mathbb R^n$ and $f_{>l}$ is injective, then $K = \{I\}$,
#    and every set of matrices that contains a $\psi$ with $S(f, \tilde f, l, \psi) = f$ for each $\tilde f$ contains
#    all of $\varphi_\sigma(G_{\sigma_n})$.
# 3. Let $f_{>l}$ be positively homogeneous, or let it begin with a linear layer and a batch norm
#    that is re-estimated after the stitch (with no constant added to its variances).
#    Then $\psi$ and $c\psi$, $c>0$, give every input the same class.
#    For ReLU the matrices $PD$ with $\det D = 1$, one for each element of $G_{\mathrm{ReLU}}/\mathbb R_{>0}$,
#    therefore keep the accuracy for every $\tilde f$.
# :::
#
# ::::{solution} ex-smallest
# :class: dropdown
# (1) $S(f, \tilde f, l, \psi) = f_{>l}\circ\varphi_\sigma(A_l)^{-1}\psi\circ f_{\le l}$.
# (2) If $f_{>l}$ is injective and $M\in K$, then $M$ fixes all $f_{\le l}(x)$.
# These span $\mathbb R^n$, so $M = I$.
# By (1) only $\psi = \varphi_\sigma(A_l)$ has $S = f$, and every element of $G_{\sigma_n}$ occurs as $A_l$.
# A continuous map to fewer than $n$ outputs is not injective, so (2) says nothing of a classifier
# with fewer classes than channels.
# (3) If $f_{>l}(ch) = c^kf_{>l}(h)$ for $c>0$, all outputs are multiplied by $c^k>0$,
# and the largest one stays the largest.
# A linear layer with bias $b$ maps $ch$ to $cz + b$, where $z$ is its value at $h$ without the bias.
# If $z$ has mean $\mu$ and deviation $s$ over the training images, $cz+b$ has $c\mu+b$ and $cs$.
# Batch norm divides $cz + b - (c\mu+b)$ by $cs$, which gives $(z-\mu)/s$ for every $c$.
# At last, $PD$ has the positive multiple $cPD$ with $c = (\det D)^{-1/n}$, and $\det(cD) = 1$.
# ::::
#
# :::{exercise}
# :label: ex-affine-normal
# Let $\psi$ be the affine least-squares map from $a$ to $b$, and $C$ an invertible matrix.
# Replace $a$ by $C^{-1}a$, and show that the least-squares map becomes $\psi\circ C$.
# What does a full stitch therefore say about the basis in which a layer is written?
# :::
#
# ::::{solution} ex-affine-normal
# :class: dropdown
# $\psi$ on $a$ and $\psi C$ on $C^{-1}a$ predict the same, so one is best if and only if the other is.
# A full stitch says nothing about the basis; a permutation with scalings does.
# ::::
#
# :::{exercise}
# :label: ex-cosines
# *With data.*
# Plot the cosines of matched channels, in order, at `relu1` and `relu3`, for a pair of trained networks
# and for a trained and an untrained one.
# At which of the two layers could a cosine tell a trained front from an untrained one?
# :::
#
# ::::{solution-start} ex-cosines
# :class: dropdown
# ::::


# %% tags=["hide-input"] figure="fig-ex-cosines"
def matched_cosines(one, two, layer):
    seen = (activations(n, [layer], test.images)[layer] for n in (one, two))
    A, B = (normalize(rows(each).cpu(), dim=0) for each in seen)
    at = linear_sum_assignment(A.T @ B, maximize=True)
    return (A.T @ B)[at].sort(descending=True).values.tolist()


fresh = models.myrtle(**shape, seed=1000 + seed).to(device).eval()
curves = pd.DataFrame(
    {"channel": k, "cosine": value, "front": name, "layer": f"layer {number}"}
    for place, number in {"relu1": 3, "relu3": 10}.items()
    for name, front in {"trained": f, "untrained": fresh}.items()
    for k, value in enumerate(matched_cosines(front, g, place), 1)
)
mean_curves(curves, "channel", "cosine", "front", panels="layer")

# %% [markdown]
# :::{figure} #fig-ex-cosines
# ---
# alt: >-
#   Two panels of cosine against the number of the channel, for a trained and an untrained front.
# ---
# Channels of an untrained front find partners with high cosines, too.
# Cosines of matched channels, in order, after two of the four ReLUs; the run of this page.
# :::

# %% [markdown]
# {numref}`fig-ex-cosines`: the best matches of an untrained front are as good, so a high cosine tells nothing; at the
# later layer its weakest ones are lower.
# Compare with the untrained front, not with 0.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-open
# *Open.*
# At width 16 the trained group loses {fact}`03_stitching.narrow_low:.0f` to {fact}`03_stitching.narrow_high:.0f` points
# (8 epochs, batch norm frozen).
# Matching whole networks leaves a barrier of {fact}`03_stitching.barrier_matched_narrow:.0f` (24 epochs, re-estimated).
# Which is the smallest group of maps that loses less than 3 points?
# Try a permutation of *groups* of channels with a matrix in each.
# :::
