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
# # 4 · Dissimilarity
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the group $G_{\mathrm{ReLU}}$ of permutations with positive scalings.
# **You will learn** to choose a similarity by the changes that it ignores, and to read it beside a null.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/04_dissimilarity>`.
# :::
#
# ## The question
#
# Two networks look at the same images.
# *How alike are their layers?*
#
# **A score means something only beside a null**, the score of unrelated features or of untrained networks.
# Two *untrained* networks have a linear CKA of {fact}`04_dissimilarity.linear_fresh_10:.2f` after the third ReLU of
# Myrtle CNNs of width 64; training adds at most {fact}`04_dissimilarity.linear_gain:.2f`, after any of the four ReLUs.
# And a score ignores some changes: turn or permute the orange cloud, and see which measures notice
# ({numref}`fig-clouds`).

# %% tags=["hide-input"] figure="fig-clouds"
from functools import partial

from intertwine import similarity
from intertwine_book.figures.cloud_slider import cloud_slider, letter, turned

F = letter()
clouds = {f"turned by {k}°": turned(F, k) for k in range(0, 91, 15)}
clouds["in swapped axes"] = F.flip(1)
clouds["in swapped axes, one halved"] = F.flip(1) * F.new_tensor([0.5, 1.0])
shown_by = {
    "CKA": similarity.cka,
    "orthogonal": similarity.procrustes,
    "ReLU's group": similarity.grelu_procrustes,
    "neighbours": partial(similarity.mutual_knn, k=3),
}
cloud_slider(F, clouds, shown_by, name="clouds", start=2)

# %% [markdown]
# :::{figure} #fig-clouds
# ---
# alt: >-
#   Left two clouds of eleven points in the shape of the letter F, the second one turned.
#   Right four bars of similarity, of which three reach 1, each with a tick for shuffled points.
# ---
# A turn lowers only Procrustes under ReLU's group; in swapped axes all four are 1; when one axis is halved as well,
# that measure alone stays 1.
# Each point is an image, each axis a unit; blue: the first network, orange: the second.
# Bars: linear CKA, Procrustes under orthogonal matrices and under ReLU's group, shared nearest neighbours.
# Ticks: the mean score of shuffled points.
# :::

# %% [markdown]
# Every image is a point whose coordinates are the units of a layer, so each network gives a cloud.
# Two choices make a score: *which changes of the cloud it ignores*, which is a group, and *what it is compared with*,
# which is a null.
#
# ## Two images by hand
#
# Let the first network give two images the features $(3, 0)$ and $(0, 4)$.
#
# | second network | what happened | best orthogonal matrix | best permutation with scalings |
# |---|---|---|---|
# | $(0, 3)$, $(-4, 0)$ | a quarter turn | 1 | 0.29 |
# | $(0, 6)$, $(2, 0)$ | swapped, one axis doubled, one halved | 0.70 | 1 |
#
# The numbers are similarities, 1 for clouds that become equal.
# Each group undoes its own change and not the other one.
#
# (sec-procrustes)=
# ## Procrustes: move one cloud onto the other
#
# Let $X \in \mathbb R^{N\times d}$ hold the features of the first network, a row for each image and a column for each
# unit, and $Y \in \mathbb R^{N\times d'}$ those of the second.
# Let a group move $Y$ as near to $X$ as it can.
# The distance that is left measures the difference.
# Norms of matrices are Frobenius norms.
#
# :::{prf:definition} Orthogonal Procrustes similarity
# :label: def-procrustes
# For $d' = d$, for $X$, $Y \ne 0$ divided by their norms and $\delta = \min_{Q\in O(d)}\lVert X - YQ\rVert$,
# with $O(d)$ the orthogonal matrices, it is $1 - \frac12\delta$.
# :::
#
# :::{prf:definition} $G_{\mathrm{ReLU}}$-Procrustes ({cite}`godfrey2022`, Definition 5.2)
# :label: def-grelu-procrustes
# For $d' = d$ and columns that are not 0, with $\tilde X$, $\tilde Y$ the features with every column divided by
# its norm and $\delta = \min_{P\in\Sigma_d} \lVert\tilde X - \tilde Y P\rVert$,
# where $\Sigma_d$ is the set of permutation matrices,
#
# $$\mu_{\text{Procrustes}}(X, Y) = 1 - \frac{\delta}{2\sqrt d}.$$ (eq-grelu-procrustes)
# :::
#
# Dividing each column by its norm removes scalings, so only a permutation is searched for, by linear assignment.
# The best orthogonal matrix comes from a singular value decomposition of $X^\top Y$.

# %% tags=["hide-input"]
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from torch import isclose

from intertwine import devices
from intertwine.features import activations, rows
from intertwine.groups import Orthogonal
from intertwine.similarity import procrustes
from intertwine_book import data, zoo
from intertwine_book.figures import style
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.readable import readable
from intertwine_book.figures.schematics import NETWORKS
from intertwine_book.live.benches import what_measures_see
from intertwine_book.record import on_record
from intertwine_book.tidy import of

style.use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order, shuffles and draws
width: int = 16  # channels of the Myrtle CNNs' first convolution
epochs: int = 8  # of their training
images: int = 300  # test images that they look at, at most


# %%
def by_group(X, Y):
    X, Y = X / X.norm(dim=0), Y / Y.norm(dim=0)
    i, j = linear_sum_assignment(X.T @ Y, maximize=True)
    delta = (X[:, i] - Y[:, j]).norm()
    return 1 - delta / (2 * X.shape[1] ** 0.5)


def by_orthogonal(X, Y):
    X, Y = X / X.norm(), Y / Y.norm()
    left, _, right = torch.linalg.svd(X.T @ Y)
    Q = (left @ right).T  # the best for Y
    return 1 - (X - Y @ Q).norm() / 2


# %%
X = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
for Y in ([[0.0, 3.0], [-4.0, 0.0]], [[0.0, 6.0], [2.0, 0.0]]):
    Y = torch.tensor(Y)
    print(f"{by_orthogonal(X, Y):.2f} {by_group(X, Y):.2f}")

# %% [markdown]
# The best orthogonal matrix has $\langle X, YQ\rangle \ge 0$ (it is a sum of singular values),
# and so has every permutation where features are nonnegative, as after a ReLU.
# So $\delta \le \sqrt2$ in {prf:ref}`def-procrustes` and $\delta \le \sqrt{2d}$ in {prf:ref}`def-grelu-procrustes`,
# and both similarities are at least $1 - 1/\sqrt2$, about 0.29.
# *Procrustes does not start at 0.*
#
# (sec-nulls)=
# What do features score that have nothing in common?
# Shuffle the images of one network: its rows no longer belong to those of the other.
# We do this with two small networks that the page trains on handwritten digits.
# Their features are maps, and we match channels, as the paper does: each position of each image is one row.

# %% tags=["hide-input"]
device = devices.pick(device)
train, test = (data.load(dataset, part, device=device) for part in ("train", "test"))
recipe = replace(
    zoo.RECIPES["digits" if dataset == "digits" else "growing"], epochs=epochs
)
shape = {"width": width, "in_channels": train.images.shape[1]}
f, g = zoo.pairs(zoo.Spec("myrtle", train, recipe, shape), 1, seed=seed, device=device)[0]


def maps_of(network, layer, seen=test.images[:images]):
    """A layer's maps for a few images, in double precision."""
    return activations(network, [layer], seen)[layer].double().cpu()


maps1, maps2 = (maps_of(network, "relu2") for network in (f, g))
fires = rows(maps1).any(0) & rows(maps2).any(0)  # a dead channel has no norm
maps1, maps2 = maps1[:, fires], maps2[:, fires]

# %%
X, Y = rows(maps1), rows(maps2)
order = torch.Generator().manual_seed(seed)
null = [
    by_group(X, rows(maps2[torch.randperm(len(maps2), generator=order)]))
    for _ in range(20)
]
print(f"images as they are {by_group(X, Y):.2f}")
print(f"images shuffled    {sum(null) / 20:.2f}")

# %% tags=["hide-input"]
assert isclose(by_group(X, Y), procrustes(X, Y, "grelu", centred=False))
assert isclose(by_orthogonal(X, Y), procrustes(X, Y, centred=False))
order = torch.Generator().manual_seed(seed)
theirs = similarity.null(
    lambda one, two: by_group(rows(one), rows(two)), maps1, maps2, generator=order
)
assert torch.allclose(torch.stack(null), theirs.values)

# %% [markdown]
# Much of the score is the null's.
# `null(...).calibrated` moves the null's mean to 0 and leaves equal features at 1.
#
# (sec-cka)=
# ## CKA: compare which images look alike
#
# CKA never compares a unit of one network with a unit of the other.
# It asks each network *which images are alike*.
# Let $K_{ij}$ be large when the images $i$ and $j$ have similar features in the first network,
# for example $K_{ij} = x_i\cdot x_j$, with $x_i$ the rows of $X$, and $L_{ij}$ likewise in the second.
# These *Gram matrices* are $N\times N$, whatever the widths, and an orthogonal matrix on the features leaves them
# unchanged ({numref}`fig-grams`).

# %% tags=["hide-input"] figure="fig-grams"
each_class = min(8, images // 10)
some = torch.cat([(test.labels == k).nonzero()[:each_class, 0] for k in range(10)]).cpu()
shown = (maps_of(each, "relu4", test.images[some]).flatten(1) for each in (f, g))
grams = ((Z - Z.mean(0)) @ (Z - Z.mean(0)).T for Z in shown)
K, L = (G.cpu() for G in grams)

figure, axes = style.new_figure(1, 3, height=2.5)
starts = range(0, len(K), each_class)
for k, (axis, G, tone) in enumerate(zip(axes, (K, L), NETWORKS, strict=False)):
    low, high = torch.quantile(G, G.new_tensor([0.02, 0.98])).tolist()
    axis.imshow(G, cmap="cividis", vmin=low, vmax=high)
    axis.set_xticks(starts, range(10))
    axis.set_yticks(starts, range(10))
    axis.set_title(f"${'KL'[k]}$: network {k + 1}", color=tone)
    axis.grid(visible=False)
at = tuple(torch.triu_indices(len(K), len(K), 1))
left, right = (similarity.u_centred(G) for G in (K, L))
left, right = left[at] / left.abs().max(), right[at] / right.abs().max()
dot = {"ms": 2, "alpha": 0.3, "color": style.COLOURS["grey"], "mew": 0}
axes[2].plot(left, right, ".", rasterized=True, **dot)
cosine = (left @ right / (left.norm() * right.norm())).item()
bare = {"xticks": [0], "yticks": [0], "xticklabels": [], "yticklabels": []}
axes[2].set(xlabel=r"$\bar K_{ij}$", ylabel=r"$\bar L_{ij}$", **bare)
axes[2].set_title(f"pairs of images\nCKA = {cosine:.2f}")
figure

# %% [markdown]
# :::{figure} #fig-grams
# ---
# alt: >-
#   Two square matrices with bright blocks along the diagonal, one block a digit,
#   and a scatter of dots along a rising line.
# ---
# CKA is the correlation of two tables of similarities between images.
# Left and middle: Gram matrices of one layer of two networks, images sorted by class,
# bright where two images have similar features.
# Right: a dot for each pair of images, its centred entry in the one table against the other.
# Handwritten digits, last activation, computed by this page.
# :::

# %% [markdown]
# How much do the two tables agree?
# The *Hilbert–Schmidt independence criterion* HSIC is their covariance.
# Subtract the means of rows and columns: an image that resembles every image says nothing.
# Multiply the two tables entry by entry, and average.
# The result is 0 in expectation for independent features, and positive when images that are alike for one network are
# alike for the other.
# Leave out the diagonal: an image resembles itself in any network, which would make HSIC positive for unrelated
# features ({ref}`ex-small-samples`).
# The unbiased estimate of HSIC for $N\ge4$ is
#
# $$\mathrm{HSIC}_1(K,L)=\frac1{N(N-3)}\sum_{i\ne j}\bar K_{ij}\bar L_{ij},$$ (eq-hsic)
#
# $$\bar K_{ij} = K_{ij} - r_i - r_j + \frac{\sum_l r_l}{N-1},$$ (eq-u-centred)
#
# where $i \ne j$, $\bar K_{ii} = 0$ and $r_i = \frac1{N-2}\sum_{l\ne i}K_{il}$, and $\bar L$ from $L$ likewise.
# *Centred kernel alignment* divides this covariance by the roots of $\mathrm{HSIC}_1(K,K)$
# and $\mathrm{HSIC}_1(L,L)$, which makes it a correlation:
#
# $$\mathrm{CKA}(K, L) = \frac{\sum_{ij} \bar K_{ij}\bar L_{ij}}{\lVert \bar K\rVert\,\lVert \bar L\rVert}.$$ (eq-cka)


# %%
def centred(K):
    n = len(K)
    K = K - K.diag().diag()
    r = K.sum(1) / (n - 2)
    K = K - r[:, None] - r + r.sum() / (n - 1)
    return K - K.diag().diag()


def cka(K, L):
    K, L = centred(K), centred(L)
    return (K * L).sum() / (K.norm() * L.norm())


# %% tags=["hide-input"]
flat1, flat2 = maps1.flatten(1), maps2.flatten(1)  # products sum over positions
theirs = similarity.cka(maps1, maps2, spatial="features")
assert isclose(cka(flat1 @ flat1.T, flat2 @ flat2.T), theirs)

# %% [markdown]
# (sec-max-kernel)=
# ## The max kernel: one unit decides
#
# The dot product $x_i\cdot x_j$ sums over all units, and is the same in every rotated basis.
# To make CKA depend on the units, {cite:t}`godfrey2022` replace the sum by a maximum:
# two images are as alike as the largest product that *one unit* gives ({numref}`fig-max-kernel`).
# After centring, a unit gives a large product when it is high for both images, or low for both.

# %% tags=["hide-input"] figure="fig-max-kernel"
x = torch.tensor([0.1, 0.9, 0.0, 0.4, 0.3, 0.0], dtype=torch.float64)
y = torch.tensor([0.3, 0.7, 0.1, 0.0, 0.5, 0.2], dtype=torch.float64)
Q = Orthogonal(6).sample(torch.Generator().manual_seed(3)).double()
bases = {"as given": (x, y), "permuted": (x.flip(0), y.flip(0)), "turned": (Q @ x, Q @ y)}

figure, axes = style.new_figure(3, 3, height=4.75, sharex=True, sharey=True)
for line, (name, (u, v)) in zip(axes, bases.items(), strict=True):
    three = zip(line, (u, v, u * v), (*NETWORKS, style.COLOURS["grey"]), strict=True)
    for axis, bars, tone in three:
        axis.bar(range(6), bars, color=tone, alpha=0.6)
        axis.axhline(0, color=style.COLOURS["ink"], lw=0.8)
        axis.set(xticks=[], yticks=[])
    line[2].bar(int((u * v).argmax()), (u * v).max().item(), color=style.COLOURS["red"])
    said = f"sum {u @ v:.2f}, max {(u * v).max():.2f}"
    line[2].text(0.5, 0.97, said, transform=line[2].transAxes, ha="center", va="top")
    line[0].set_ylabel(name)
titles = ("image $i$", "image $j$", "product, unit by unit")
for axis, title in zip(axes[0], titles, strict=True):
    axis.set_title(title)
axes[0, 0].set_ylim(top=1.45 * axes[0, 0].get_ylim()[1])
figure

# %% [markdown]
# :::{figure} #fig-max-kernel
# ---
# alt: >-
#   Three rows of three bar charts with six bars each: image i, image j, and their product with one red bar
#   and the written values of sum and maximum.
# ---
# A rotation changes the largest product of two images' features and keeps their sum; a permutation keeps both.
# Bars: features of two images, unit by unit, and their products; red: the largest, which is the max kernel.
# Rows: as given, with the units permuted, and after a rotation of the space of features.
# :::

# %% [markdown]
# :::{prf:definition} $G_{\mathrm{ReLU}}$-CKA ({cite}`godfrey2022`, Definition 5.3)
# :label: def-grelu-cka
# Centre $X$ and $Y$, divide columns by their norms, put $K_{ij} = \max(\tilde x_i\odot\tilde x_j)$,
# the largest entry of the product unit by unit, and $L$ likewise.
# Then
#
# $$\mu_{\text{CKA}}(X, Y) = \mathrm{CKA}(K, L).$$ (eq-grelu-cka)
# :::


# %%
def max_gram(maps):
    X = rows(maps)  # norms are over images and positions, too
    X = X - X.mean(0)
    X = (X / X.norm(dim=0)).view(len(maps), -1, X.shape[1])
    # products are summed over positions, then the largest channel counts
    return torch.einsum("ipc,jpc->ijc", X, X).amax(2)


print(f"{cka(max_gram(maps1), max_gram(maps2)):.2f}")

# %% tags=["hide-input"]
theirs = similarity.grelu_cka(maps1, maps2, spatial="sum")
assert isclose(cka(max_gram(maps1), max_gram(maps2)), theirs)

# %% [markdown]
# :::{admonition} Erratum: Godfrey et al. 2022, Definitions 5.2 and 5.3
# :class: warning
# Definition 5.3 centres by $X - \frac1d \mathbf 1\mathbf 1^\top X$, where $\mathbf 1$ is the vector of ones.
# There are $N$ rows: it must be $\frac1N$.
# `grelu_cka` is the corrected measure, and with `corrected=False` the printed one.
# Definition 5.2 does not centre at all.
# Units that never fire have no norm; the corrected measures leave them out.
# :::
#
# (sec-lemma-5-1)=
# ## What each measure does not see
#
# A ReLU network keeps its function when a layer's features become $XA$ with $A \in G_{\mathrm{ReLU}}$
# and the next weights undo it.
# A measure of what *the network* uses should not change then.
# {numref}`fig-bench-measures` compares a layer of a network with itself, in another order of the channels, each
# rescaled.
# *Which measure calls them equal?*
# Then take *the second itself* as it is, and turn it: *which measures notice?*

# %% tags=["hide-input"] figure="fig-bench-measures"
what_measures_see()

# %% [markdown]
# :::{figure} #fig-bench-measures
# ---
# alt: >-
#   Four bars, accuracy and three similarities, ten digits with answers, a square that shows the map,
#   buttons for what is compared and a slider for a rotation.
# ---
# Procrustes under the group of ReLU calls a layer equal to itself in another order, rescaled, the other two
# measures do not; and it alone sees a rotation.
# Accuracy is that of the second network's back, which gets these features and has no weights that undo the change.
# A small network for digits, after the second ReLU, on 200 images; an untrained network is a baseline.
# :::

# %% [markdown]
# The library declares for each measure what it ignores, and its tests draw such maps, and others that must move it.

# %% tags=["hide-input"]
CARD = {
    "grelu procrustes": "Procrustes, ReLU's group",
    "grelu cka": "CKA, max kernel",
    "permutation": "Procrustes, permutations",
    "procrustes": "Procrustes, orthogonal",
    "cka": "CKA, linear",
    "mutual knn": "mutual nearest neighbours",
    "svcca": "SVCCA",
    "cca": "CCA",
}
HEADINGS = {
    "measure": "does not change under",
    "permutation": "permu\u00adtations",  # soft hyphens, for telephones
    "positive scaling": "positive scal\u00adings",
    "orthogonal": "ortho\u00adgonal matrices",
    "invertible linear": "invert\u00adible matrices",
    "translation": "transla\u00adtions",
}
declared = similarity.which().loc[[*CARD], [*HEADINGS][1:]] == "yes"
declared.insert(0, "measure", [*CARD.values()])
readable(declared.reset_index(drop=True), HEADINGS, title="What eight measures ignore")

# %% [markdown]
# All of these measures are centred.
# The paper claims as much for both of its measures as printed:
#
# :::{prf:lemma} {cite}`godfrey2022`, Lemma 5.1 (as printed)
# :label: lem-invariance
# If $\mu(XA, YB) = \mu(X, Y)$ whenever $A$, $B$ are positive diagonal or permutation matrices, then (i) holds:
# $\mu(XA + \mathbf 1v^\top, YB + \mathbf 1w^\top) = \mu(X, Y)$ for $A, B \in G_{\mathrm{ReLU}}$ and all $v$, $w$.
# :::
#
# Its group part holds: every element of $G_{\mathrm{ReLU}}$ is a product of the two kinds.
# But no product of them is a translation, and translations do move the printed measures.
#
# :::{prf:proposition} Centred measures
# :label: prop-centred
# Let both measures centre columns by $1/N$.
# Then (i) holds, and $\mu = 1$ if $Y = XA + \mathbf 1v^\top$ with $A\in G_{\mathrm{ReLU}}$.
# For Procrustes also the converse is true.
# :::
#
# :::{prf:proof}
# :class: dropdown
# Centring removes $v$ and $w$, and division by norms removes scalings.
# So $X$ and $Y$ may be multiplied by permutations $P$ and $R$ alone: $\tilde X$ becomes $\tilde XP$ and $\tilde Y$
# becomes $\tilde YR$.
# The minimum over all permutations does not change, as $\lVert\tilde XP - \tilde YRS\rVert
# = \lVert\tilde X - \tilde YRSP^{-1}\rVert$, and no largest product depends on the order of the units.
# For $Y = XA + \mathbf 1v^\top$ therefore $\mu(X, Y) = \mu(X, X) = 1$.
# If Procrustes is 1, then $\tilde X = \tilde YP$: each centred column of $X$ is a positive multiple of one of $Y$.
# :::
#
# :::{admonition} Erratum: Godfrey et al. 2022, Lemma 5.1 and property (ii)
# :class: warning
# Lemma 5.1 is true for $v = w = 0$; permutations and scalings generate no translation.
# Property (ii), $\mu = 1$ at $Y = XA + \mathbf 1v^\top$, fails as printed as well: the measures fall short by up to
# {fact}`04_dissimilarity.short_procrustes:.2f` and {fact}`04_dissimilarity.short_cka:.2f`
# ({ref}`the record <rec-lemma-5-1>`).
# :::
#
# (sec-order)=
# **Does a smaller group give a lower value?**
# The paper explains its lower values of $G_{\mathrm{ReLU}}$-Procrustes by the smaller group.
# That does not follow: scalings are not orthogonal, so neither group contains the other, and one measure divides each
# column by its norm, the other all of $X$ by one.
# Uncentred, as printed, $X = I_2$ and $Y = \mathrm{diag}(1, 10)$ score 1 under $G_{\mathrm{ReLU}}$ and
# {fact}`04_dissimilarity.order_by_hand:.2f` under orthogonal matrices.
#
# (sec-lemma-5-5)=
# ## Two lemmas on the max kernel
#
# A kernel is *positive semi-definite* if its values are dot products $v_x\cdot v_y$ of some vectors.
#
# :::{prf:lemma} {cite}`godfrey2022`, Lemma 5.5 (as printed)
# :label: lem-positive
# $\kappa(x, y) = \max(x\odot y)$ is a positive semi-definite kernel on $\mathbb R^d$.
# :::
#
# Three points of the plane refute it ({numref}`fig-triangle`).
# Their vectors would have length 1.
# Since $\kappa(x,y) = \kappa(x, z) = 1$, those of $y$ and $z$ would both equal that of $x$,
# but $\kappa(y, z) = 0$.

# %%
x, y, z = [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]
points = torch.tensor([x, y, z], dtype=torch.float64)
by_hand = (points[:, None] * points[None]).amax(2)
print(f"smallest eigenvalue {torch.linalg.eigvalsh(by_hand)[0]:.3f}")

# %% tags=["hide-input"] figure="fig-triangle"
names, places = "xyz", np.array([[0.5, 0.85], [0.0, 0.0], [1.0, 0.0]])
in_words = [f"${name}$" for name in names]
figure, (left, middle, right) = style.new_figure(1, 3, height=2.3)
for name, (a, b) in zip(names, points.tolist(), strict=True):
    look = {"arrowstyle": "->", "color": NETWORKS[0], "lw": 1.6}
    left.annotate("", (a, b), (0, 0), arrowprops=look)
    side = "bottom" if b == 0 else "center"
    left.text(a + 0.06, b + 0.12 * (not a), f"${name}$ = ({a:g}, {b:g})", va=side)
left.set(title="three points", xlim=(-0.1, 2.0), ylim=(-0.1, 1.35), aspect="equal")
left.set(xticks=[0, 1], yticks=[0, 1])
middle.imshow(by_hand, cmap="cividis", vmin=-0.2, vmax=1.4, alpha=0.5)
for i, j in np.ndindex(3, 3):
    middle.text(j, i, f"{by_hand[i, j]:g}", ha="center", va="center")
middle.set_xticks(range(3), in_words)
middle.set_yticks(range(3), in_words)
middle.set_title("their max kernel")
for i, j in ((0, 1), (0, 2), (1, 2)):
    squared = (by_hand[i, i] + by_hand[j, j] - 2 * by_hand[i, j]).item()
    tone = style.COLOURS["red" if squared else "grey"]
    right.plot(*places[[i, j]].T, color=tone, lw=1.6)
    a, b = places[[i, j]].mean(0) + ((0.4 * (j - 1.5), 0.05) if i == 0 else (0, -0.24))
    right.text(a, b, f"√{squared:g}" if squared else "0", ha="center")
for name, (a, b) in zip(names, places, strict=True):
    right.text(a, b + (0.06 if b else -0.24), rf"$\varphi({name})$", ha="center")
asked = "distances of vectors φ\nthat it asks for"
right.set(title=asked, xlim=(-0.35, 1.35), ylim=(-0.4, 1.2), aspect="equal")
right.axis("off")
for axis in (left, middle):
    axis.grid(visible=False)
figure

# %% [markdown]
# :::{figure} #fig-triangle
# ---
# alt: >-
#   Three arrows to the points (1, 1), (1, 0) and (0, 1); a three by three table of ones with two zeros;
#   a triangle whose sides are labelled 0, 0 and root 2.
# ---
# No vectors have the dot products that the max kernel asks for.
# Left: three points, nonnegative like features after a ReLU.
# Middle: their values of the max kernel.
# Right: the distances of three vectors with these dot products, 0, 0 and the root of 2,
# which break the triangle inequality.
# :::

# %% [markdown]
# The eigenvalue is $1-\sqrt2$.
# The paper also says that $\mu_{\text{CKA}}$ lies in $[0, 1]$.
# That fails for another reason: the unbiased estimate of HSIC is 0 on average for independent features, so some values
# are negative with any kernel.
# For $X = (0,0),(1,1),(-1,0),(1,-1)$ and $Y = (0,1),(0,0),(1,0),(1,1)$ both $\mu_{\text{CKA}}$
# and linear CKA are $-1$.
#
# :::{admonition} Errata: Godfrey et al. 2022, Lemma 5.5 and Definition 5.3
# :class: warning
# The max kernel is not positive semi-definite.
# And $\mu_{\text{CKA}}$ lies in $[-1, 1]$, not in $[0, 1]$; this holds for unbiased CKA with any kernel.
# :::
#
# **What survives.**
# For *every* symmetric $K$, $L$ the sum in {eq}`eq-hsic` is an inner product of $\bar K$ and $\bar L$.
# By Cauchy–Schwarz $-1 \le \mu \le 1$, and $\mu = 1$ only if $\bar L$ is a positive multiple of $\bar K$.
# The invariances need no positivity.
#
# (sec-lemma-e44)=
# :::{prf:lemma} {cite}`godfrey2022`, Lemma E.44
# :label: lem-e44
# Let $A$ be square.
# If $\max(Ax_1\odot Ax_2) = \max(x_1\odot x_2)$ for all $x_1, x_2$, then $A = PD$ with $P$ a permutation
# and $D$ diagonal with entries $\pm1$.
# :::
#
# :::{prf:proof}
# :class: dropdown
# For $x_1 = x_2 = x$ it says $\lVert Ax\rVert_\infty^2 = \lVert x\rVert_\infty^2$:
# $A$ is a linear isometry of the cube, and those are the permutations with signs.
# (It permutes the faces $x_i = \pm1$, so each of its rows, which are the outer normals of faces,
# is some $\pm e_j$.)
# :::
#
# Conversely, such an $A$ changes no product of a unit for two images, only the order of the units.
# The kernel alone does see positive scalings.
# The division by norms in {prf:ref}`def-grelu-cka` hides them.
#
# (sec-table-2)=
# ## What is left above a null?
#
# *At the paper's width most of a score is there without learning* ({numref}`fig-table-2`).
# Compare each score with two values that the paper does not print.
# There are two nulls. That of shuffled images is what unrelated features get; below it is called *the null*.
# That of untrained pairs is what the images and the architecture give; below it is called *the baseline*.

# %% tags=["hide-input"] figure="fig-table-2"
PRINTED = {"Procrustes, ReLU's group": ("grelu", [0.6208, 0.5106, 0.4432, 0.4899])}
PRINTED["CKA, linear"] = ("orthogonal", [0.98, 0.97, 0.92, 0.93])
recorded = {
    "Procrustes, ReLU's group": of(
        on_record("04_dissimilarity", "table_2"), width=64, images=10_000
    ),
    "CKA, linear": of(on_record("04_dissimilarity", "cka"), width=64, seed=0),
}
parts, in_print = [], []
for title, (column, values) in PRINTED.items():
    table = recorded[title].assign(panel=title)
    trained = table[table["state"] == "trained"]
    shuffled = trained.assign(state="shuffled", **{column: trained[f"{column}_null"]})
    parts += [each.assign(score=each[column]) for each in (table, shuffled)]
    printed = {"layer": [3, 6, 10, 14], "score": values}
    in_print.append(pd.DataFrame(printed).assign(panel=title, state="trained"))
colours = {"trained": "blue", "untrained": "orange", "shuffled": "grey"}
dots(
    pd.concat(parts),
    *("layer", "score", "state"),
    beside={"printed, trained": pd.concat(in_print)},
    panels="panel",
    colours={name: style.COLOURS[colour] for name, colour in colours.items()},
    height=2.1,
    filled="ours, three pairs or more",
    xlabel="layer, as the paper counts",
    ylabel="similarity",
    ylim=(-0.05, 1.05),
)

# %% [markdown]
# :::{figure} #fig-table-2
# ---
# alt: >-
#   Two panels of similarity at the layers 3, 6, 10 and 14.
#   Procrustes of untrained networks lies on or above that of trained ones, and shuffled images have more than half of
#   it; linear CKA is above 0.9 for trained and untrained networks, and 0 for shuffled images.
# ---
# Untrained networks score nearly as much as trained ones, or more.
# Shuffled images already give Procrustes more than half of either score.
# Width 64 on CIFAR-10; small dots: pairs; rings: table 2 and figure 5 of Godfrey and others.
# Untrained batch norm has the statistics of training images.
# :::

# %% [markdown]
# - *Linear CKA*: shuffled images have 0, so the null looks harmless.
#   The baseline does not: at layer 10 untrained pairs have {fact}`04_dissimilarity.linear_fresh_10:.3f`,
#   and trained ones {fact}`04_dissimilarity.linear_10:.3f`.
#   In narrower networks training adds more.
# - *Procrustes*: more than half of each score is null.
#   Minus its null, of which each kind of pair has its own, trained and untrained pairs differ by
#   {fact}`04_dissimilarity.procrustes_most:.2f` at most.
# - *$G_{\mathrm{ReLU}}$-CKA*: whether training lowers or raises it depends on the batch norm of the untrained networks,
#   so we draw no conclusion ({ref}`both baselines <rec-nulls>`).
#
# A null depends on the width, on the number of images ({ref}`ex-null-width`), and on how often units are active.
# So it can imitate a finding.
# $G_{\mathrm{ReLU}}$-Procrustes falls inside the blocks of a ResNet, by {fact}`04_dissimilarity.block_gap:.3f`, as
# the paper shows. Its null falls almost as much: above it {fact}`04_dissimilarity.block_gap_above:.3f` is left
# ({ref}`figure 9 <rec-figure-9>`).
# $G_{\mathrm{ReLU}}$-CKA, whose null is 0, falls there as well, and four fifths of that come with training
# ({ref}`figure 2 <rec-figure-2>`).
# On average a layer is most like the same layer of the other network, in both kinds of CKA
# ({ref}`figure 5 <rec-figure-5>`).
# Whether similarity tells where stitching is hard, {ref}`four layers do not decide <rec-correlates>`.
#
# ## Which measure should I use?
#
# Take the first row that asks your question.
# With `from functools import partial`, `from intertwine.similarity import null` and
# `from intertwine.stitching import stitch`, let `score = partial(null, X=X, Y=Y, generator=gen)`, with features `X`,
# `Y` of the same images and a `torch.Generator` `gen`.
#
# :::{list-table} The card: question, measure, null
# :header-rows: 1
# :widths: auto
#
# * - you ask
#   - measure
#   - it ignores
#   - null or baseline
#   - code
# * - Are the same *images* alike?
#   - linear CKA
#   - orthogonal matrices, one scale, translations
#   - untrained networks
#   - `score("cka", kind=untrained)`
# * - Are the same images *neighbours*?
#   - mutual nearest neighbours
#   - the same, and everything but the order of distances
#   - shuffled images: $k/(N-1)$
#   - `score("mutual knn")`
# * - Are the *units* the same, in any order and scale?
#   - $G_{\mathrm{ReLU}}$-Procrustes, centred
#   - permutations with positive scalings, translations
#   - shuffled images; depends on the width
#   - `score("grelu procrustes")`
# * - The same, at different widths?
#   - $G_{\mathrm{ReLU}}$-CKA
#   - the same, and signs
#   - untrained networks
#   - `score("grelu cka", kind=untrained)`
# * - How far apart are the clouds, as a metric?
#   - orthogonal Procrustes
#   - orthogonal matrices, one scale, translations
#   - shuffled images; depends on the width
#   - `score("procrustes")`
# * - Is one layer a linear function of the other?
#   - $R^2$, CCA
#   - all invertible matrices (of the first, for $R^2$)
#   - shuffled images; 1 if units outnumber images
#   - `score("r2").p_value`
# * - Does the *network* work with it?
#   - none of these: stitch ({doc}`03_stitching`)
#   - what the next layer ignores
#   - an untrained front
#   - `stitch(f, g, at="relu2", train=data)`
# :::
#
# Of a score, `.observed` is the measure itself, `.calibrated` is 0 for the null's mean and 1 for equal features, and
# `.p_value` is the share of draws of the null that come as near to 1, at least 1/(1 + repeats).
# `untrained` is a function that gives features of two untrained networks, as in the next section.
# Report the score, its null, the baseline, the width and the number of images.
# A high score never says that two networks *work* alike: {doc}`04b_similarity_and_function`.
#
# ## Adapt this
#
# Any two modules, any layers by name, and any measure of the card.

# %%
import torch
from torch import nn

from intertwine import similarity, training
from intertwine.features import activations
from intertwine_book import data

known, new = (data.load("digits", s, device="cpu") for s in ("train", "test"))
four = training.Recipe(4, batch_size=64, lr=1e-2, optimizer="adam")
draws = torch.manual_seed(0)  # of initial weights and of shuffles


def fresh():
    layers = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256, 10))


def seen(net):
    return activations(net, ["3"], new.images)["3"]


two = [training.train(fresh(), known, four, seed=s, device="cpu") for s in (0, 1)]
X, Y = (seen(each.network) for each in two)
for name in ("cka", "grelu procrustes", "mutual knn"):
    found = similarity.null(name, X, Y, generator=draws)
    print(f"{name}: {found.observed:.2f}, calibrated {found.calibrated:.2f}")


def untrained(_):
    return seen(fresh()), seen(fresh())


found = similarity.null("cka", X, Y, kind=untrained, generator=draws)
print(f"cka beside untrained networks: calibrated {found.calibrated:.2f}")

# %% [markdown]
# For all pairs of layers: `similarity.compare(f, g, ["1", "3"], images, "cka")`.
#
# ## What others found
#
# {cite:t}`raghu2017` compared layers by canonical correlations, {cite:t}`morcos2018` weighted these,
# and {cite:t}`kornblith2019` found the matching layer of two networks by CKA where canonical correlations did not.
# CKA is a normalised HSIC {cite}`gretton2005`; its unbiased estimate is that of {cite:t}`song2012`.
# {cite:t}`williams2021` make the Procrustes distance a metric on networks.
# {cite:t}`cui2022` found that networks look alike because their inputs do, also when they are untrained,
# and {cite:t}`davari2023` that few images can decide on CKA.
# {cite:t}`huh2024` read growing agreement of nearest neighbours as convergence of networks.
# {cite:t}`groeger2026` show that width and depth inflate such scores, and calibrate them by a permutation null, as the
# card does.
# {cite:t}`klabunde2025` survey the measures, and conclude that the right one depends on the question.
#
# ## Exercises
#
# :::{exercise}
# :label: ex-swapped-columns
# *Warm-up.*
# Let $Y$ be $X$ with its first two columns exchanged and the third multiplied by $-1$.
# Which rows of the table in {ref}`sec-lemma-5-1` give 1?
# :::
#
# ::::{solution} ex-swapped-columns
# :class: dropdown
# Orthogonal Procrustes, linear CKA, neighbours, SVCCA and CCA, which see no reflection, and $G_{\mathrm{ReLU}}$-CKA,
# although the change is not in its group: a change of sign leaves every product of a unit for two images
# unchanged.
# $G_{\mathrm{ReLU}}$- and permutation Procrustes fall below 1.
# ::::
#
# :::{exercise}
# :label: ex-null-value
# Let the units of $X$ and $Y$ be independent, each the ReLU of a standard Gaussian variable.
# Show that $\mu_{\text{Procrustes}}\to 1 - \sqrt{(1 - 1/\pi)/2}$, about 0.416, for $N\to\infty$.
# :::
#
# ::::{solution} ex-null-value
# :class: dropdown
# A half-Gaussian $u = \sigma(z)$ has $\mathbb E u = 1/\sqrt{2\pi}$ and $\mathbb E u^2 = 1/2$.
# So two independent columns of norm 1 have the cosine $(\mathbb Eu)^2/\mathbb Eu^2 = 1/\pi$,
# whatever the permutation.
# Then $\delta^2 = \sum_c(2 - 2/\pi) = 2d(1 - 1/\pi)$ and $\delta/(2\sqrt d) = \sqrt{(1-1/\pi)/2}\approx 0.584$.
# ::::
#
# :::{exercise}
# :label: ex-linear-cka
# Show that $\sum_{ij}(XX^\top)_{ij}(YY^\top)_{ij} = \lVert X^\top Y\rVert_F^2$.
# What does linear CKA compare, seen from the units?
# :::
#
# ::::{solution} ex-linear-cka
# :class: dropdown
# The left side is $\mathrm{tr}(XX^\top YY^\top)$ $= \mathrm{tr}(Y^\top XX^\top Y)$ $= \lVert X^\top Y\rVert_F^2$.
# For centred columns it sums the squared covariances (up to $N^2$) of every unit of $X$ with every unit of $Y$;
# the unbiased estimate leaves out the diagonal.
# The right side is cheaper where there are more images than units.
# ::::
#
# :::{exercise}
# :label: ex-small-samples
# *With data.*
# The biased estimate of HSIC keeps the diagonal of the Gram matrices.
# Compute biased and unbiased CKA of independent Gaussian features for 20 images and a growing number of units.
# Explain what you see.
# :::
#
# ::::{solution-start} ex-small-samples
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-biased"
draw, noise = torch.Generator().manual_seed(seed), []
for d in (2, 20, 200, 2000):
    for _ in range(10):
        two = torch.randn(2, 20, d, generator=draw)
        for name in ("biased", "unbiased"):
            value = similarity.cka(*two, estimator=name).item()
            noise.append({"units": str(d), "estimator": name, "CKA": value})
mean_curves(pd.DataFrame(noise), "units", "CKA", "estimator", level=0.0)

# %% [markdown]
# :::{figure} #fig-ex-biased
# ---
# alt: >-
#   CKA against the number of units from 2 to 2000: the biased estimate rises from 0.1 to 1,
#   the unbiased one stays near 0.
# ---
# With more units than images biased CKA of independent features approaches 1; the mean of unbiased CKA stays
# below 0.1.
# Twenty images, mean over ten draws with 95 % interval.
# :::

# %% [markdown]
# {numref}`fig-ex-biased`: when $d$ is much larger than $N$, every row is about as long as every other
# and nearly orthogonal to it.
# So each centred Gram matrix is nearly a multiple of $I-\frac1N\mathbf 1\mathbf 1^\top$, the same for both:
# the agreement is all on the diagonal, which the unbiased estimate leaves out.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-null-width
# *With data.*
# How does the null of $G_{\mathrm{ReLU}}$-Procrustes depend on the numbers of images and of units?
# Draw independent features as in {ref}`ex-null-value`.
# Which value do the curves approach?
# :::
#
# ::::{solution-start} ex-null-width
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-null"
draw, unrelated = torch.Generator().manual_seed(seed), []
named = {"G_ReLU": "grelu procrustes", "orthogonal": "procrustes"}
for n in (30, 100, 300, 1000):
    for d in (8, 32, 128):
        for _ in range(5):
            two = torch.randn(2, n, d, generator=draw).relu() + 1e-9
            for group, name in named.items():
                measure = similarity.MEASURES[f"{name}, as printed"]
                row = {"images": str(n), "units": f"{d} units"}
                row |= {"group": group, "similarity": measure(*two).item()}
                unrelated.append(row)
words = {"panels": "group", "level": 0.416}
mean_curves(pd.DataFrame(unrelated), "images", "similarity", "units", **words)

# %% [markdown]
# :::{figure} #fig-ex-null
# ---
# alt: >-
#   Two panels, G_ReLU and orthogonal, of the similarity of unrelated features against the number of images,
#   with lines for 8, 32 and 128 units that fall towards 0.416.
# ---
# The null rises above 0.416 when images are few, and more so for layers of many units.
# Procrustes similarities of independent features after a ReLU, mean over five draws with 95 % interval;
# dotted: 0.416.
# :::

# %% [markdown]
# {numref}`fig-ex-null`: the more units there are, the better the best of all permutations, or orthogonal matrices,
# fits by chance; the more images there are, the less chance is left.
# In trained networks ({numref}`fig-table-2`) layers of many units have the lower nulls, most of them below 0.416.
# For many images two unrelated units have the cosine $m m'$ with $m = \mathbb E u/\sqrt{\mathbb E u^2}$,
# which is smaller for units that seldom fire; so the null falls towards 0.29 where a layer is sparse.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-positive-kernel
# *Open.*
# Show that $\kappa_4(x, y) = \sum_c x_c^2y_c^2$ is positive semi-definite and that it, too,
# is unchanged exactly by permutations with signs.
# (Which maps preserve $\sum_c x_c^4$?)
# Put it in the place of the max kernel in {prf:ref}`def-grelu-cka`.
# Does it separate trained from untrained networks better or worse, and which power $p$ in $\sum_c |x_cy_c|^p$
# does it best?
# :::
#
# Back to {doc}`03b_matching`, on to {doc}`04b_similarity_and_function`, where similarity and function disagree.
