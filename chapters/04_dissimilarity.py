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
# **You need** {doc}`01_intertwiner_groups`: the group $G_{\mathrm{ReLU}}$ of permutations and positive scalings;
# for one paragraph also {doc}`03_stitching`.
#
# **You will learn** what Procrustes and CKA compare, to choose a measure by the changes that it does not see,
# to read its values beside a null, and which printed properties of two measures for ReLU layers hold.
#
# **This run.**
# {{ this_run }}.
# :::
#
# (sec-procrustes)=
# ## Move one cloud onto the other
#
# Two networks look at the same $N$ images.
# A layer of the first gives features $X \in \mathbb R^{N\times d}$, a row for each image,
# and a layer of the second $Y \in \mathbb R^{N\times d'}$.
# *How alike are they?*

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from torch import isclose

from intertwine import devices, similarity
from intertwine.features import activations, rows
from intertwine.similarity import procrustes
from intertwine_book import data, models, results, zoo
from intertwine_book.experiments.dissimilarity import by_layer, claims, statements
from intertwine_book.figures import similarity as drawn
from intertwine_book.figures import style
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.readable import readable
from intertwine_book.live.benches import what_measures_see
from intertwine_book.stories import dissimilarity as story
from intertwine_book.stories import tell

style.use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order, shuffles and draws
width: int = 16  # channels of the Myrtle CNN's first convolution
pairs: int = 2  # of Myrtle CNNs
resnet_width: int = 4  # channels of the ResNet-20's first stage
resnet_pairs: int = 1  # of ResNet-20s
resnet_images: int = 400  # test images that these look at, at most
published: int = 0  # pairs of published ResNet-20, on CIFAR-10; 0: of trained ones
epochs: int = 8  # of every training
images: int = 400  # test images that the networks look at, at most
null_images: int = 300  # of them for Gram matrices
nulls: int = 5  # shuffles for each pair
trials: int = 50  # draws for every statement
memory_gb: int = 1  # for features and blocks of Gram matrices

# %% [markdown]
# Every image is a point in the space of features, so each network gives a cloud of $N$ points.
# Let a group move the second cloud until it lies as near to the first as it can.
# The distance that is left measures the difference.
# {numref}`fig-clouds` does this in the plane for two groups.

# %% tags=["remove-input"] figure="fig-clouds"
drawn.letters_moved()

# %% [markdown]
# Two images are enough to do it by hand.
# Let the first network give them the features $(3, 0)$ and $(0, 4)$.
#
# | second network | what happened | after the best orthogonal matrix | after the best permutation with scalings |
# |---|---|---|---|
# | $(0, 3)$, $(-4, 0)$ | a quarter turn | 1 | 0.29 |
# | $(0, 6)$, $(2, 0)$ | swapped, one axis doubled, one halved | 0.70 | 1 |
#
# The numbers are similarities, 1 for equal clouds; the next cell computes them.
# So a score means something only once you have chosen which changes of $X$ it should ignore,
# and measured what unrelated features score.
# The first is a group, the second a *null*.
# Norms of matrices are Frobenius norms.

# %% [markdown]
# The code of this page uses two small networks that it trains on handwritten digits.
# Their features are maps.
# On the whole page only channels are matched, as in the paper: a product of two channels is summed over positions.
# In Procrustes this means that every position of an image is a row.

# %%
device = devices.pick(device)
parts = ("train", "test")
train, test = (data.load(dataset, part, device=device) for part in parts)
test = test[:images]
recipe = replace(
    zoo.RECIPES["digits" if dataset == "digits" else "growing"], epochs=epochs
)
shape = {"width": width, "in_channels": train.images.shape[1]}
spec = zoo.Spec("myrtle", train, recipe, shape)
myrtles = zoo.pairs(spec, pairs, seed=seed, device=device)
hidden = myrtles[0][0].hidden_layers()
numbers = {layer.name: int(layer.number) for layer in hidden}
few = test.images[:null_images]


def features(network, layer, images=few[:300]):
    """A layer's maps for a few images, in double precision."""
    return activations(network, [layer], images)[layer].double().cpu()


f, g = myrtles[0]
U, V = (features(network, "relu2") for network in (f, g))
fires = rows(U).any(0) & rows(V).any(0)  # a dead channel has no norm
U, V = U[:, fires], V[:, fires]
X, Y = rows(U), rows(V)

# %% [markdown]
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
# Scalings are not searched for: dividing each column by its norm removes them.
# The search for a permutation is a linear assignment.
# The best orthogonal matrix comes from a singular value decomposition of $X^\top Y$.


# %%
def by_group(X, Y):
    X, Y = X / X.norm(dim=0), Y / Y.norm(dim=0)
    i, j = linear_sum_assignment(X.T @ Y, maximize=True)
    delta = (X[:, i] - Y[:, j]).norm()
    return 1 - delta / (2 * X.shape[1] ** 0.5)


def by_orthogonal(X, Y):
    X, Y = X / X.norm(), Y / Y.norm()
    U, _, Vt = torch.linalg.svd(X.T @ Y)
    Q = (U @ Vt).T  # the best for Y
    return 1 - (X - Y @ Q).norm() / 2


assert isclose(by_group(X, Y), procrustes(X, Y, "grelu", centred=False))
assert isclose(by_orthogonal(X, Y), procrustes(X, Y, centred=False))

one = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
for two in ([[0.0, 3.0], [-4.0, 0.0]], [[0.0, 6.0], [2.0, 0.0]]):
    two = torch.tensor(two)
    print(f"{by_orthogonal(one, two):.2f} {by_group(one, two):.2f}")

# %% [markdown]
# The best orthogonal matrix has $\langle X, YQ\rangle \ge 0$ (it is a sum of singular values),
# and so has every permutation where features are nonnegative, as after a ReLU.
# So $\delta \le \sqrt2$ in {prf:ref}`def-procrustes` and $\delta \le \sqrt{2d}$ in {prf:ref}`def-grelu-procrustes`,
# and both similarities are at least $1 - 1/\sqrt2 \approx 0.29$.
# *Procrustes does not start at 0.*
#
# What do features score that have nothing in common?
# Shuffle the images of one network: its rows no longer belong to those of the other.

# %%
shuffle = torch.Generator().manual_seed(seed)
orders = [torch.randperm(len(V), generator=shuffle) for _ in range(20)]
null = torch.stack([by_group(X, rows(V[order])) for order in orders])

again = torch.Generator().manual_seed(seed)
theirs = similarity.null(
    lambda U, V: by_group(rows(U), rows(V)), U, V, "shuffle", generator=again
)
assert torch.allclose(null, theirs.values)
print(f"images as they are {by_group(X, Y):.2f}, shuffled {null.mean():.2f}")

# %% [markdown]
# (sec-cka)=
# ## CKA: compare which images look alike
#
# CKA never compares a unit of one network with a unit of the other.
# It asks each network *which images are alike*.
# Let $K_{ij}$ be large when the images $i$ and $j$ have similar features in the first network,
# for example $K_{ij} = x_i\cdot x_j$, and $L_{ij}$ likewise in the second.
# These are the *Gram matrices*.
# Both are $N\times N$, whatever the widths, and an orthogonal matrix on the features leaves them unchanged.
# {numref}`fig-grams` shows two.

# %% figure="fig-grams"
each_class = min(8, len(few) // 10)
some = torch.cat([(test.labels == k).nonzero()[:each_class, 0] for k in range(10)]).cpu()
chosen = test.images[some]
shown = (features(each, "relu4", chosen).flatten(1) for each in (f, g))
grams = ((Z - Z.mean(0)) @ (Z - Z.mean(0)).T for Z in shown)
drawn.gram_matrices(*grams, test.labels.cpu()[some])

# %% [markdown]
# How much do the two tables agree?
# The *Hilbert–Schmidt independence criterion* HSIC is their covariance.
# Subtract the means of rows and columns: an image that resembles every image says nothing.
# Multiply the two tables entry by entry, and average.
# The result is 0 in expectation when the features are independent, and positive when images
# that are alike for one network are alike for the other.
# Leave out the diagonal: an image resembles itself in any network,
# and that would make HSIC positive for unrelated features ({ref}`ex-small-samples`).
# The unbiased estimate of HSIC for $N\ge4$ is
#
# $$\mathrm{HSIC}_1(K,L)=\frac1{N(N-3)}\sum_{i\ne j}U_{ij}V_{ij},$$ (eq-hsic)
#
# $$U_{ij} = K_{ij} - r_i - r_j + \frac{\sum_l r_l}{N-1},$$ (eq-u-centred)
#
# where $i \ne j$, $U_{ii} = 0$ and $r_i = \frac1{N-2}\sum_{l\ne i}K_{il}$, and $V$ from $L$ likewise.
# *Centred kernel alignment* divides this covariance by the roots of $\mathrm{HSIC}_1(K,K)$
# and $\mathrm{HSIC}_1(L,L)$, which makes it a correlation:
#
# $$\mathrm{CKA}(K, L) = \frac{\sum_{ij} U_{ij}V_{ij}}{\lVert U\rVert\,\lVert V\rVert}.$$ (eq-cka)


# %%
def u_centred(K):
    n = len(K)
    K = K - K.diag().diag()
    r = K.sum(1) / (n - 2)
    U = K - r[:, None] - r + r.sum() / (n - 1)
    return U - U.diag().diag()


def cka(K, L):
    U, V = u_centred(K), u_centred(L)
    return (U * V).sum() / (U.norm() * V.norm())


X, Y = U.flatten(1), V.flatten(1)  # products sum over positions
theirs = similarity.cka(U, V, spatial="features")
assert isclose(cka(X @ X.T, Y @ Y.T), theirs)

# %% [markdown]
# (sec-max-kernel)=
# ## The max kernel: one unit decides
#
# The dot product $x_i\cdot x_j$ sums over all units, and is the same in every rotated basis.
# To make CKA depend on the units, {cite:t}`godfrey2022` replace the sum by a maximum:
# two images are as alike as the largest product that *one unit* gives ({numref}`fig-max-kernel`).
# After centring, a unit gives a large product when it is high for both images, or low for both.

# %% tags=["remove-input"] figure="fig-max-kernel"
drawn.units_in_three_bases()

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
def max_gram(U):
    X = rows(U)  # norms are over images and positions, too
    X = X - X.mean(0)
    X = (X / X.norm(dim=0)).view(len(U), -1, X.shape[1])
    return torch.einsum("ipc,jpc->ijc", X, X).amax(2)


theirs = similarity.grelu_cka(U, V, spatial="sum")
assert isclose(cka(max_gram(U), max_gram(V)), theirs)

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
# (sec-table-2)=
# (sec-nulls)=
# ## What is left above a null?
#
# *In Myrtle CNNs of width 64, the paper's, training adds at most {glue:text}`linear-gain:.2f` to linear CKA
# on average over pairs; untrained pairs were already within {glue:text}`room-low:.2f` to
# {glue:text}`room-high:.2f` of 1.
# It changes Procrustes by at most {glue:text}`procrustes-most:.2f`, once the score of shuffled images is subtracted.
# Against untrained networks whose batch norm has the statistics of training images it lowers
# $G_{\mathrm{ReLU}}$-CKA at layers 6, 10 and 14.
# In narrower networks it adds more to linear CKA, on average over layers.
# At width 16 it also adds to Procrustes, from layer 6 on.*
#
# Two values stand beside each similarity of trained networks, and the paper has neither ({numref}`fig-table-2`).
# The *null* is the score of shuffled images: what unrelated features get.
# The *baseline* is the score of untrained pairs, of the same networks before training:
# what the images and the architecture give.
# All values are means of {glue:text}`pairs:.0f` pairs, at width 32 of two and at width 16 of four.
# All were trained by one recipe, for {glue:text}`epochs:.0f` epochs instead of 50.

# %% tags=["remove-input"] figure="fig-table-2"
story.table_2()

# %% [markdown]
# - *Procrustes: at each layer more than half of the score is null.*
#   Shuffled images score {glue:text}`null-low:.2f` to {glue:text}`null-high:.2f`;
#   matching ones score {glue:text}`over-low:.2f` to {glue:text}`over-high:.2f` more.
# - *Untrained pairs exceed their null by about as much*: by more at layers 3 and 10, by less at layer 14.
#   From layer 6 on their null and their score are higher, at layer 3 their null is lower
#   (nulls of {glue:text}`fresh-null-low:.2f` to {glue:text}`fresh-null-high:.2f`).
#   What is left differs by at most {glue:text}`procrustes-most:.2f` ({numref}`fig-trained-minus-untrained`).
#   What is left can be small itself: under $G_{\mathrm{ReLU}}$ at layer 14 it is
#   {glue:text}`over-14:.2f` in trained pairs and {glue:text}`over-fresh-14:.2f` in untrained ones,
#   under orthogonal matrices at layer 10 {glue:text}`over-10:.2f` and {glue:text}`over-fresh-10:.2f`.
# - *Linear CKA is nearly as high without training.*
#   At layer 10 it is {glue:text}`linear-10:.3f` for trained pairs
#   and {glue:text}`linear-fresh-10:.3f` for untrained ones; shuffled images have 0.
#   Of what untrained pairs leave to 1, training fills most at layer 3, half at layer 6,
#   and a fifth or less at layers 10 and 14; over three pairs no layer's gain is established.
# - *$G_{\mathrm{ReLU}}$-CKA is lower in trained pairs than in untrained ones*:
#   by {glue:text}`group-loss-6:.2f`, {glue:text}`group-loss:.2f` and {glue:text}`group-loss-14:.2f` at layers 6, 10
#   and 14.
#   At each of them the least similar untrained pair is above the most similar trained one.
# - *Orthogonal matrices score higher than $G_{\mathrm{ReLU}}$, as in print.*
#   In every pair and at every layer the similarity under orthogonal matrices is above the similarity under
#   $G_{\mathrm{ReLU}}$.
# - *$G_{\mathrm{ReLU}}$-Procrustes rises from layer 10 to 14*, as printed, in each of our pairs of width 64:
#   by {glue:text}`rise:.3f` [{glue:text}`rise-low:.3f`, {glue:text}`rise-high:.3f`]; the paper prints 0.047.
#   Above its null it rises by {glue:text}`rise-above:.3f`.
#   In each pair of width 16 it falls, by {glue:text}`fall-low:.3f` to {glue:text}`fall-high:.3f`, and above its null
#   by {glue:text}`fall-above-low:.3f` to {glue:text}`fall-above-high:.3f`; at width 32 it hardly changes.

# %% tags=["remove-input"] figure="fig-trained-minus-untrained"
story.trained_minus_untrained()

# %% [markdown]
# So a mean linear CKA of {glue:text}`linear-fresh-low:.2f` and more is reached without training at this width,
# and does not by itself show that anything was learned.
#
# **On average over layers training adds more to linear CKA in narrower networks**, with the same recipe and as many
# epochs; there untrained pairs are less alike.
# It adds {glue:text}`narrow-linear-gain-low:.2f` to {glue:text}`narrow-linear-gain:.2f` at width 16,
# by layer, and {glue:text}`half-linear-gain-low:.2f` to {glue:text}`half-linear-gain:.2f` at width 32.
# On average over layers each pair of width 16 gains more than each of width 32,
# and each of these more than each of width 64, though the nearest are {glue:text}`gain-apart:.3f` apart.
# At layer 3 it adds less at width 32 than at 64.
# To Procrustes above its null it adds {glue:text}`narrow-procrustes-gain-low:.2f` to
# {glue:text}`narrow-procrustes-gain:.2f` at width 16, from layer 6 on.
# $G_{\mathrm{ReLU}}$-CKA falls at layers 6, 10 and 14 of both pairs of width 32, too;
# at width 16 four pairs decide its sign at no layer.
#
# *What would change it.*
#
# - Another baseline: batch norm can also be left in its initial state (mean 0, variance 1), so that it changes nothing.
#   Against one pair of such networks training *raises* $G_{\mathrm{ReLU}}$-CKA at layers 6 and 14,
#   by {glue:text}`gain-as-started-6:.2f` and {glue:text}`gain-as-started:.2f`, and leaves it at layer 10.
#   We did not measure Procrustes on such networks.
# - Another way to take the null away: as a share of what lies between its null and 1, Procrustes of trained pairs is
#   up to {glue:text}`share-loss:.2f` lower.
# - Batch norm: in untrained networks it has the statistics of training images, in trained ones running averages
#   over augmented images.
# - More images for CKA: that of untrained pairs is of 500.
# - Another architecture: to the linear CKA of published ResNet-20 training adds more ({numref}`fig-figure-2`).
#
# A null depends on the width of a layer and on the number of images ({ref}`ex-null-width`)
# and, where features are not centred, on how often units are active.
# So take its own null away from each value before you compare layers, or trained and untrained networks,
# and say how.
#
# **Does similarity tell where stitching is hard?**
# The paper says so, of its table 2 and figure 1.
# At width 64 the rank correlation of $G_{\mathrm{ReLU}}$-Procrustes with the penalties of {doc}`03_stitching`
# is negative in each of four pairs, which had 20 epochs:
# {glue:text}`correlation-low` to {glue:text}`correlation-high`, as the paper says.
# It rests on layer 10: without it two pairs are negative and two positive.
# At width 16, after eight epochs, it is positive in each of four pairs.
# So four layers do not decide it.
#
# (sec-lemma-5-1)=
# ## What each measure does not see
#
# A ReLU network keeps its function when a layer's features become $XA$ with $A \in G_{\mathrm{ReLU}}$
# and the next weights undo it.
# A measure of what *the network* uses should not change then.
# So choose a measure first by its group.
# {numref}`fig-bench-measures` compares a layer of a network with itself, in another order of the channels and in
# other units.
# *Which measure calls them equal?*
# Then take *the second itself* as it is, and turn it: *which measures notice?*

# %% tags=["remove-input"] figure="fig-bench-measures"
what_measures_see()

# %% [markdown]
# The table has more measures and more changes:

# %% tags=["remove-input"]
headings, title = statements.HEADINGS, "Invariances of ten measures"
marks = readable(statements.invariances(), headings, title=title)
marks

# %% [markdown]
# The table is computed by this page.
# A ✓ means that no draw of such a change moved the measure beyond rounding, a dot that some draw did.
# *Permutation Procrustes* is {prf:ref}`def-procrustes`, centred, with permutations in place of orthogonal matrices.
# *CCA* is the mean correlation of the best-matched pairs of directions in $X$ and $Y$; *SVCCA* first drops
# directions of little variance.
# The paper claims invariance under translations for both printed measures, by a lemma:
#
# :::{prf:lemma} {cite}`godfrey2022`, Lemma 5.1 (as printed)
# :label: lem-invariance
# If $\mu(XA, YB) = \mu(X, Y)$ whenever $A$, $B$ are positive diagonal or permutation matrices, then (i) holds:
# $\mu(XA + \mathbf 1v^\top, YB + \mathbf 1w^\top) = \mu(X, Y)$ for $A, B \in G_{\mathrm{ReLU}}$ and all $v$, $w$.
# :::

# %% [markdown]
# Its group part holds: every element of $G_{\mathrm{ReLU}}$ is a product of the two kinds.
# But no product of them is a translation.
# As printed, translations move $G_{\mathrm{ReLU}}$-Procrustes by up to {glue:text}`moves-procrustes:.2f`
# and $G_{\mathrm{ReLU}}$-CKA by up to {glue:text}`moves-cka:.2f`.
# Centred by $1/N$, both stay: centring removes $v$ and $w$, division by norms removes scalings,
# and neither the best permutation nor the largest product depends on the order of the units.
#
# :::{admonition} Erratum: Godfrey et al. 2022, Lemma 5.1
# :class: warning
# True for $v = w = 0$.
# Permutations and scalings generate no translation.
# :::
#
# The paper's second property (ii) fails as well.
# It asks for $\mu = 1$ at $Y = XA + \mathbf 1v^\top$.
# As printed, the measures are lower by up to {glue:text}`short-procrustes:.2f` ($G_{\mathrm{ReLU}}$-Procrustes)
# and {glue:text}`short-cka:.2f` ($G_{\mathrm{ReLU}}$-CKA).
# Centred by $1/N$, they are 1 to rounding.
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
assert torch.linalg.eigvalsh(by_hand)[0] < -0.4

# %% tags=["remove-input"] figure="fig-triangle"
drawn.impossible_triangle(points, by_hand)

# %% [markdown]
# The smallest eigenvalue of their Gram matrix is $1-\sqrt2$.
# The paper also says that $\mu_{\text{CKA}}$ lies in $[0, 1]$.
# That fails for another reason: the unbiased estimate of HSIC is 0 on average for independent
# features, so some values are negative with any kernel.
# Of {glue:text}`drawn:.0f` pairs of Gaussian features ($N = 8$, $d = 2$) {glue:text}`negative:.0f` % score
# below 0.
# For $X = (0,0),(1,1),(-1,0),(1,-1)$ and $Y = (0,1),(0,0),(1,0),(1,1)$ both $\mu_{\text{CKA}}$
# and linear CKA are $-1$.
#
# :::{admonition} Errata: Godfrey et al. 2022, Lemma 5.5 and Definition 5.3
# :class: warning
# The max kernel is not positive semi-definite.
# And $\mu_{\text{CKA}}$ lies in $[-1, 1]$, not in $[0, 1]$, as unbiased CKA does with any kernel.
# :::
#
# **What survives.**
# For *every* symmetric $K$, $L$ the sum in {eq}`eq-hsic` is an inner product of $U$ and $V$.
# So $-1 \le \mu \le 1$, and $\mu = 1$ only if $V$ is a positive multiple of $U$.
# The invariances need no positivity.
# In one network of width 16 a third to a half of the eigenvalues are negative at each of four layers.
# They are small: they hold at most {glue:text}`share:.1f` % of the sum of squares
# (of the three points above {glue:text}`share-by-hand:.1f` %).
#
# (sec-lemma-e44)=
# **Which matrices does the max kernel not see?**
#
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
# (sec-order)=
# **Does a smaller group give a lower value?**
# The paper explains the lower values of $G_{\mathrm{ReLU}}$ in {numref}`fig-table-2` by its smaller group.
# For Procrustes that does not follow.
# Scalings are not orthogonal, so neither group contains the other.
# The two measures are also normalised differently: one divides each column by its norm, the other all of $X$ by one.
# $X = I_2$ and $Y = \mathrm{diag}(1, 10)$ score 1 under $G_{\mathrm{ReLU}}$ and 0.66 under orthogonal matrices,
# although these contain all permutations.
#
# (sec-figure-5)=
# ## All layers against all layers
#
# *On average over four pairs of width 16 a layer resembles the same layer of the other network most*, in both kinds
# of CKA ({numref}`fig-figure-5`).
# In linear CKA this holds in each pair; in $G_{\mathrm{ReLU}}$-CKA two layers of one pair are exceptions.
# On average $G_{\mathrm{ReLU}}$-CKA is {glue:text}`same-depth:.2f` at the same depth
# and {glue:text}`other-depth:.2f` elsewhere, and higher at the same depth in each pair.
# The last layer is less alike than the first, as in the paper, in each pair and also at width 64.
# Untrained pairs of width 64 fall about half as far, so a part of the fall is there without training.

# %% tags=["remove-input"] figure="fig-figure-5"
story.figure_5()

# %% [markdown]
# (sec-figure-2)=
# **The blocks of a ResNet.**
# On average over layers, two networks are less alike inside residual blocks than at their ends, as the paper says:
# $G_{\mathrm{ReLU}}$-CKA of corresponding layers is {glue:text}`inside:.2f` inside
# and {glue:text}`at-ends:.2f` at the ends, and lower inside in each of {glue:text}`resnet-pairs:.0f` pairs of ResNet-20
# that others trained and published ({numref}`fig-figure-2`).
# *About two thirds of the difference come with training*: in untrained networks of the same shape the values are
# {glue:text}`inside-fresh:.2f` and {glue:text}`at-ends-fresh:.2f`.
# In linear CKA about half of the difference comes with training.
# Not every block shows it: at layers 32\* and 56\*, the first inside a wider stage, there is hardly a dip.
# Training raises mean linear CKA at every layer, by up to {glue:text}`resnet-gain:.2f`, least in the first stage;
# untrained pairs scatter widely.

# %% tags=["remove-input"] figure="fig-figure-2"
story.figure_2()

# %% [markdown]
# ## Run it yourself
#
# *This section is computed by this page*, in a small run on handwritten digits whose numbers need not agree
# with the recorded ones.
# Another run is one command: `.venv/bin/intertwine run 04_dissimilarity -p width 32 -p pairs 5`.

# %%
run = results.run(globals(), "04_dissimilarity", data=test)
trained_by = ["dataset", "width", "epochs"]
of_pairs = [{"pair": k, "networks": two} for k, two in enumerate(myrtles)]


def procrustes_of(networks, pair):
    one_null = {"generator": run.generator(pair)}  # nulls hardly scatter
    given = (*networks, numbers, test.images)
    return by_layer.procrustes_by_layer(*given, **one_null)


@run.table(cases=of_pairs, uses=[*trained_by, "images"])
def table_2(pair, networks):
    return procrustes_of(networks, pair)


def cka_of(networks, pair):
    options = {"nulls": 10 * nulls, "generator": run.generator(pair)}
    return by_layer.cka_by_layer(*networks, numbers, few, **options)


@run.table(cases=of_pairs, uses=[*trained_by, "null_images", "nulls"])
def figure_5_diagonal(pair, networks):
    return cka_of(networks, pair)


drawn_by = ["dataset", "width", "null_images"]


def untrained_pair(pair):
    seeds = (seed + 2 * pair, seed + 2 * pair + 1)
    fresh = (models.myrtle(**shape, seed=each).to(device) for each in seeds)
    shown = train.images[:null_images]  # for the statistics of batch norm
    return [by_layer.used_to(shown, each) for each in fresh]


@run.table(pair=range(min(pairs, 4)), uses=[*drawn_by, "nulls"])
def untrained(pair):
    return cka_of(untrained_pair(pair), pair)


@run.table(pair=range(min(pairs, 4)), uses=[*drawn_by, "images"])
def table_2_untrained(pair):
    return procrustes_of(untrained_pair(pair), pair)


# %% tags=["remove-input"] figure="fig-live"
story.live(table_2, figure_5_diagonal, untrained, table_2_untrained)

# %% [markdown]
# In {numref}`fig-live` training raises $G_{\mathrm{ReLU}}$-CKA at layer 14 from {glue:text}`live-fresh:.2f` to
# {glue:text}`live-trained:.2f`; in the recorded networks of width 64 it lowers it.


# %% [markdown]
# ## Adapt this
#
# Any two modules, any layers by name, and any measure of the table above or a kernel of your own.
# Minibatches make the cost linear in the number of images:
# the mean of $\mathrm{HSIC}_1$ over batches is unbiased, and the ratio of such means is consistent.
# Here the two activations of one network against the outputs of the other:

# %%
import torch
from torch import nn

from intertwine import similarity, training
from intertwine.features import activations
from intertwine_book import data

known, new = (data.load("digits", s, device="cpu") for s in ("train", "test"))
four = training.Recipe(4, batch_size=64, lr=1e-2, optimizer="adam")


def mine(seed):
    layers = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU()
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(256, 10))
    return training.train(net, known, four, seed=seed, device="cpu").network


chance = torch.manual_seed(0)
left, right = mine(0), mine(1)
A = activations(left, ["3"], new.images)["3"]
B = activations(right, ["5"], new.images)["5"]
apart = similarity.null("cka", A, B, "shuffle", generator=chance)
print(f"3 and 5 with shuffled images: at most {apart.values.max():.2f}")
asked = {"layers2": ["5"], "minibatch": 64, "generator": chance}
ours = similarity.compare(left, right, ["1", "3"], new.images, "cka", **asked)
ours.rename_axis("linear CKA with").round(2)

# %% [markdown]
# ## What others found
#
# {cite:t}`raghu2017` compared layers by canonical correlations, {cite:t}`kornblith2019` by CKA,
# which found the matching layer of two networks where canonical correlations did not.
# CKA is a normalised HSIC {cite}`gretton2005`; its unbiased estimate is that of {cite:t}`song2012`.
# {cite:t}`williams2021` make the Procrustes distance a metric on networks.
# Two results are the reason for a null beside every value:
# {cite:t}`cui2022` found that networks look alike because their inputs do, also when they are untrained,
# and {cite:t}`davari2023` that few images can decide on CKA.
# {cite:t}`klabunde2025` survey the measures, and conclude that the right one depends on the question.
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
#   - Myrtle CNN of width 64, 32 pairs; ResNet-20 of width 16
#   - width 64, {glue:text}`pairs:.0f` pairs; published ResNet-20, {glue:text}`resnet-pairs:.0f` pairs
#   - the ResNets are other people's; there are fewer pairs
# * - training
#   - 50 epochs, the epoch that is best on the test set
#   - {glue:text}`epochs:.0f` epochs (8 in {numref}`fig-figure-5`), the last one
#   - less trained networks
# * - images
#   - 10,000 test images
#   - all for Procrustes, {glue:text}`gram-images:,.0f` for CKA
#   - scatter
# * - centring of $G_{\mathrm{ReLU}}$-CKA
#   - $1/d$ in print
#   - $1/N$, as in the authors' code
#   - invariance under translations ({ref}`erratum <sec-max-kernel>`)
# * - orthogonal CKA
#   - in the authors' code every channel is divided by its norm first, which orthogonal matrices do not respect
#   - linear CKA
#   - less than 0.03 in trained networks, 0.05 in untrained ones
# :::
#
# ## Exercises
#
# :::{exercise}
# :label: ex-swapped-columns
# *Warm-up.*
# Let $Y$ be $X$ with its first two columns exchanged and the third multiplied by $-1$.
# Which rows of the table of measures give 1?
# :::
#
# ::::{solution} ex-swapped-columns
# :class: dropdown
# Orthogonal Procrustes, linear CKA, SVCCA and CCA, which see no reflection, and $G_{\mathrm{ReLU}}$-CKA,
# although the change is not in its group: a change of sign leaves every product of a unit for two images
# unchanged.
# $G_{\mathrm{ReLU}}$- and permutation Procrustes fall below 1.
# ::::
#
# :::{exercise}
# :label: ex-null-value
# Let the units of $X$ and $Y$ be independent, each the ReLU of a Gaussian variable.
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

# %% figure="fig-ex-biased"
draw, noise = torch.Generator().manual_seed(seed), []
for d in (2, 20, 200, 2000):
    for _ in range(10):
        two = torch.randn(2, 20, d, generator=draw)
        for name in ("biased", "unbiased"):
            value = similarity.cka(*two, estimator=name).item()
            noise.append({"units": str(d), "estimator": name, "CKA": value})
mean_curves(pd.DataFrame(noise), "units", "CKA", "estimator", level=0.0)

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

# %% figure="fig-ex-null"
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
# ## Summary
#
# - Choose a measure first by the group that it does not see.
#   Beside every value state the null, which shuffled images score, and the baseline, which untrained networks score.
# - At width {glue:text}`width:.0f` Procrustes gives shuffled images {glue:text}`null-low:.2f` to
#   {glue:text}`null-high:.2f`.
#   Above that null trained and untrained pairs differ on average by at most {glue:text}`procrustes-most:.2f`,
#   and in linear CKA by at most {glue:text}`linear-gain:.2f`.
#   $G_{\mathrm{ReLU}}$-CKA is lower in trained pairs than in untrained ones with estimated batch norm from layer 6 on.
#   On average over layers training adds more to linear CKA in narrower networks.
# - On average over layers $G_{\mathrm{ReLU}}$-CKA is lower inside the blocks of a ResNet than at their ends;
#   about two thirds of this come with training.
# - {prf:ref}`def-grelu-procrustes` and {prf:ref}`def-grelu-cka` are invariant under $G_{\mathrm{ReLU}}$,
#   and under translations if they centre by $1/N$.
# - The max kernel is not positive semi-definite.
#   $-1\le\mu_{\mathrm{CKA}}\le1$ and the invariance under $G_{\mathrm{ReLU}}$ survive.
# - Lower similarity goes with a higher stitching penalty in each pair of width 64, and with a lower one at width 16;
#   four layers do not decide it.
#
# Back to {doc}`03b_matching`, on to {doc}`04b_similarity_and_function`, where similarity and function disagree.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
claims.write(run, myrtles, spec, numbers, train, test, table_2, figure_5_diagonal)
live = {"live-pairs": pairs}
for name, table in {"live-trained": figure_5_diagonal, "live-fresh": untrained}.items():
    live[name] = table.query("layer == 14")["grelu"].mean()
shuffled = figure_5_diagonal.melt(value_vars=["grelu_null", "orthogonal_null"])
tell(story.facts(), live | {"live-quantile": shuffled["value"].mean()})
results.provenance(run.folder)
