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
# # 4 · Dissimilarity
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the group $G_{\mathrm{ReLU}}$ of permutations and positive scalings.
#
# **You will learn** to choose a measure of similarity by what it should not see, to read its values beside a null, and which
# printed properties of two measures for ReLU layers hold, which do not, and what is left of them.
#
# **This run.** {{ this_run }}.
# :::
#
# (sec-table-2)=
# ## The question
#
# Two networks look at the same $N$ images. A layer of the first gives features $X \in \mathbb R^{N\times d}$, one of the second
# $Y \in \mathbb R^{N\times d'}$. *How alike are they?* A number answers only after two choices: which changes of $X$ do not
# count, and what the number is when nothing is shared. {numref}`fig-table-2` shows two measures of {cite}`godfrey2022`, which differ in the first
# choice, and draws the second, which the paper leaves out: the dotted lines are what shuffled images leave of each measure.

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd
import torch
from IPython.display import Markdown

from intertwine import data, devices, models, similarity
from intertwine.features import activations
from intertwine.training import RECIPES, Spec, zoo
from intertwine_book import results
from intertwine_book.experiments.dissimilarity import by_layer, statements
from intertwine_book.figures.matrices import layer_matrices
from intertwine_book.figures.similarity import similarity_by_layer
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order, shuffles and draws
width: int = 16  # channels of the Myrtle CNN's first convolution
pairs: int = 3  # of Myrtle CNNs
resnet_width: int = 8  # channels of the ResNet-20's first stage
resnet_pairs: int = 1  # of ResNet-20s
epochs: int = 8  # of every training
images: int = 500  # test images that the networks look at, at most
null_images: int = 300  # of them for kernels whose images are shuffled
nulls: int = 5  # shuffles for each pair
trials: int = 50  # draws for every statement
memory_gb: int = 1  # for features and blocks of Gram matrices

# %% tags=["hide-input"]
device = devices.pick(device)
generator = torch.Generator().manual_seed(seed)
train, whole_test = (
    data.load(dataset, split, device=device) for split in ("train", "test")
)
test = whole_test[:images]
recipe = replace(RECIPES["digits" if dataset == "digits" else "fast"], epochs=epochs)


def trained(architecture, size, count):
    """Disjoint pairs of networks from seeds of their own."""
    shape = {"width": size, "in_channels": train.images.shape[1]}
    spec = Spec(architecture, train, recipe, shape)
    return zoo.pairs(spec, count, seed=seed, device=device)


myrtles = trained("myrtle", width, pairs)
numbers = {layer.name: int(layer.number) for layer in myrtles[0][0].hidden_layers()}
run = results.run(globals(), "04_dissimilarity", data=test)
trained_by = ["dataset", "width", "epochs", "images"]


# %% tags=["hide-input"]
def procrustes_of(networks, names, pair):
    options = {"nulls": nulls, "generator": run.generator(pair)}
    return by_layer.procrustes_by_layer(*networks, names, test.images, **options)


@run.table(pair=range(pairs), uses=[*trained_by, "nulls"])
def table_2(pair):
    return procrustes_of(myrtles[pair], numbers, pair)


both, said = run.with_recorded("table_2")

# %% mystnb={"figure": {"name": "fig-table-2", "caption": "Procrustes similarity of corresponding layers of two Myrtle CNNs, by the definitions of the paper's Table 2, beside the same measure for shuffled images (dotted). The black line is the least value that non-negative features can have. Only the distance to the dotted line of the same colour says that something is shared. Lines: means over pairs; dots: single pairs; a second panel has the largest recorded run."}, "image": {"alt": "Similarity against layer for two measures, G_ReLU and orthogonal, each a solid line above a dotted null of the same colour, over a horizontal line at 0.29."}}
similarity_by_layer(both, floor=1 - 0.5**0.5, panels="run")

# %% [markdown]
# The four layers are the activations of the paper's Myrtle CNN, with its numbers. All of a layer's positions are rows, so that
# only channels are matched, as in the paper; the moments of all rows are streamed, and nothing else is kept.

# %%
mean = table_2.groupby("layer").mean()
above = mean["grelu"] - mean["grelu_null"]
Markdown(
    f"Under $G_{{\\mathrm{{ReLU}}}}$ the similarity lies between {mean['grelu'].min():.2f} and "
    f"{mean['grelu'].max():.2f}, of which its null already has {mean['grelu_null'].min():.2f} to "
    f"{mean['grelu_null'].max():.2f}. The layer that stands out least is {above.idxmin()}, by "
    f"{above.min():.3f}; most does {above.idxmax()}, by {above.max():.3f}. {said}"
)

# %% [markdown]
# ## What a measure should not see
#
# A ReLU network keeps its function when a layer's features become $XA$ with $A \in G_{\mathrm{ReLU}}$ and the next weights undo it; a measure of
# what *the network* sees should not change then. A linear probe does not care about any invertible $A$. The choice of a
# measure is the choice of a group, and every one of ours declares it; tests draw elements of every group, for what is
# declared and for what is not.

# %%
similarity.which().drop(columns="use")

# %% [markdown]
# "First" and "second" name the argument to which an invariance is confined. *Kind* says whether higher is more similar.
# Now the two measures for $G_{\mathrm{ReLU}}$, as they are printed.
#
# :::{prf:definition} $G_{\mathrm{ReLU}}$-Procrustes (godfrey2022, Definition 5.2)
# :label: def-grelu-procrustes
# For $d' = d$, with $\tilde X$, $\tilde Y$ the features with every column divided by its norm and
# $\delta = \min_{P\in\Sigma_d} \lVert\tilde X - \tilde Y P\rVert$,
#
# $$\mu_{\text{Procrustes}}(X, Y) = 1 - \frac{\delta}{2\sqrt d}.$$ (eq-grelu-procrustes)
# :::
#
# :::{prf:definition} $G_{\mathrm{ReLU}}$-CKA (godfrey2022, Definition 5.3)
# :label: def-grelu-cka
# Centre $X$ and $Y$, divide columns by their norms, put $K_{ij} = \max(\tilde x_i\odot\tilde x_j)$ and $L$ likewise; then, with the
# unbiased estimator of the Hilbert-Schmidt independence criterion,
#
# $$\mu_{\text{CKA}}(X, Y) = \frac{\mathrm{HSIC}_1(K, L)}{\sqrt{\mathrm{HSIC}_1(K, K)}\sqrt{\mathrm{HSIC}_1(L, L)}}.$$ (eq-grelu-cka)
# :::
#
# For $N\ge4$, $\mathrm{HSIC}_1(K,L)=\frac1{N(N-3)}\sum_{i\ne j}U_{ij}V_{ij}$ with $K$ *U-centred*,
#
# $$U_{ij}=K_{ij}-\frac{\sum_{l\ne i}K_{il}}{N-2}-\frac{\sum_{l\ne j}K_{lj}}{N-2}+\frac{\sum_{l\ne m}K_{lm}}{(N-1)(N-2)},$$ (eq-u-centred)
#
# and $V$ from $L$ likewise.
#
# :::{admonition} Erratum: godfrey2022, Definitions 5.2 and 5.3
# :class: warning
# The print centres by $X - \frac1d 11^\top X$. There are $N$ rows: it must be $\frac1N$. `similarity.grelu_cka` is the corrected measure, and with
# `corrected=False` the printed one. Definition 5.2 does not centre at all, which costs it the translations below. Dead units have no norm; the corrected measures leave them out.
# :::
#
# (sec-lemma-5-1)=
# ## Lemma 5.1, tested
#
# :::{prf:lemma} godfrey2022, Lemma 5.1 (as printed)
# :label: lem-invariance
# If $\mu(XA, YB) = \mu(X, Y)$ whenever $A$, $B$ are positive diagonal or permutation matrices, then (i) holds: $\mu(XA + 1v^\top, YB + 1w^\top)
# = \mu(X, Y)$ for $A, B \in G_{\mathrm{ReLU}}$ and all $v$, $w$.
# :::
#
# The premise is easy to check, and so is the conclusion. Largest change over all draws:

# %%
lemma_5_1 = statements.invariance(6, 40, trials, generator=generator)
order = ["permutations", "positive diagonal", "G_ReLU", "translations"]
lemma_5_1.pivot_table(
    index=["measure", "version"], columns="action", values="change", aggfunc="max"
)[order]

# %% [markdown]
# The group part of the lemma holds: every element of $G_{\mathrm{ReLU}}$ is a product of the two kinds. The translations are not
# generated by them. As printed neither measure is invariant under translations; centred by $1/N$ both are.
#
# :::{admonition} Erratum: godfrey2022, Lemma 5.1
# :class: warning
# True for $v = w = 0$. Permutations and scalings generate no translation.
# :::
#
# The same shows in (ii), which asks for $\mu = 1$ at $Y = XA + 1v^\top$. Largest distance from 1:

# %%
property_ii = statements.alignment_property(6, 40, trials, generator=generator)
property_ii.pivot_table(
    index=["measure", "version"], columns="v", values="short_of_1", aggfunc="max"
)

# %% [markdown]
# (sec-lemma-5-5)=
# ## Lemma 5.5: a case small enough to print
#
# :::{prf:lemma} godfrey2022, Lemma 5.5 (as printed)
# :label: lem-positive
# $\kappa(x, y) = \max(x\odot y)$ is a positive semi-definite kernel on $\mathbb R^d$.
# :::
#
# Three points of the plane:

# %%
points = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
by_hand = similarity.gram(points, "max")
eigenvalues = torch.linalg.eigvalsh(by_hand)
pd.DataFrame(by_hand.numpy()).assign(eigenvalues=eigenvalues.numpy())

# %% [markdown]
# The smallest eigenvalue is $1 - \sqrt2$: the kernel is not positive semi-definite, and the three points are non-negative, like features behind a
# ReLU. Nor can Cauchy-Schwarz for positive kernels put {eq}`eq-grelu-cka` into $[0, 1]$.

# %%
definition_5_3 = statements.range_of_cka(8, 2, 4 * trials, generator=generator)
gaussian = definition_5_3.query("features == 'Gaussian'")["value"]
Markdown(
    f"For $X = (0,0),(1,1),(-1,0),(1,-1)$ and $Y = (0,1),(0,0),(1,0),(1,1)$ the measure is "
    f"${definition_5_3['value'][0]:.3f}$. Of {len(gaussian)} pairs of independent Gaussian features "
    f"with $N = 8$, $d = 2$, {100 * (gaussian < 0).mean():.0f} % are negative."
)

# %% [markdown]
# :::{admonition} Errata: godfrey2022, Lemma 5.5 and Definition 5.3
# :class: warning
# The max kernel is not positive semi-definite, and $\mu_{\text{CKA}}$ lies in $[-1, 1]$, not in $[0, 1]$.
# :::
#
# **What survives.** (a) Two points cannot refute: $\kappa(x,x)\,\kappa(y,y) = \max x_c^2 \max y_c^2 \ge \kappa(x,y)^2$. (b) With $U$, $V$ the U-centred
# Grams, $\mathrm{HSIC}_1(K, L) = \frac1{N(N-3)}\sum U_{ij}V_{ij}$ for *every* symmetric $K$, $L$. This is an inner product, so $\mathrm{HSIC}_1(K, K)
# \ge 0$ and $-1 \le \mu \le 1$: no root of a negative number, and 1 only if $V$ is a positive multiple of $U$. (c) The invariances, which need no positivity.
#
# How far are real Grams from positive? For each layer of one network, features normalised as in {prf:ref}`def-grelu-cka`; *relative* is the depth of
# the smallest eigenvalue below 0 in units of the largest, *negative* the share of negative eigenvalues, *energy* their share of the sum of squares.

# %%
survives = statements.pairs_of_the_max_kernel(6, trials, generator=generator)
few = test.images[:null_images]
grams = [("by hand", by_hand)]
for name, number in numbers.items():
    X = activations(myrtles[0][0], [name], few)[name]
    grams.append((f"layer {number}", by_layer.KERNELS["grelu"](X)))
lemma_5_5 = statements.smallest_eigenvalues(grams)
lemma_5_5

# %% [markdown]
# (sec-lemma-e44)=
# ## Which matrices the max kernel does not see
#
# :::{prf:lemma} godfrey2022, Lemma E.44
# :label: lem-e44
# If $\max(Ax_1\odot Ax_2) = \max(x_1\odot x_2)$ for all $x_1, x_2$, then $A = PD$ with $P$ a permutation and $D$ diagonal with entries $\pm1$.
# :::
#
# :::{prf:proof}
# For $x_1 = x_2 = x$ it says $\lVert Ax\rVert_\infty^2 = \lVert x\rVert_\infty^2$: $A$ is a linear isometry of the cube, and those are the permutations with signs. (It
# permutes the faces $x_i = \pm1$, so each of its rows, which are the outer normals of faces, is some $\pm e_j$.)
# :::
#
# So positive scalings are seen by the kernel, and it is the division by norms that hides them. Largest relative change over random
# pairs, least and largest over draws of $A$:

# %%
lemma_e44 = statements.kernel_symmetries(6, trials, generator=generator)
lemma_e44.groupby(["group", "claimed"], sort=False)["change"].agg(["min", "max"])

# %% [markdown]
# (sec-order)=
# ## Is one of the measures always lower?
#
# The paper explains the lower values of $G_{\mathrm{ReLU}}$ in Table 2 by its smaller group, which demands more. But the two measures divide by different
# norms: one by that of each column, one by that of all.

# %%
order_of_groups = statements.order_of_groups(6, 40, trials, generator=generator)
order_of_groups.groupby("features", sort=False)[["grelu", "orthogonal", "excess"]].mean()

# %% [markdown]
# $X = I_2$ and $Y = \mathrm{diag}(1, 10)$ score 1 under $G_{\mathrm{ReLU}}$ and 0.664 under rotations. Which measure is lower is a fact about data, not about groups.
#
# :::{admonition} Remark: godfrey2022, section 5
# :class: warning
# The two measures are normalised differently: a smaller group need not give the lower value.
# :::
#
# (sec-figure-5)=
# ## All layers against all layers
#
# `similarity.compare` forms each block of a Gram matrix once for all layers, within a budget of memory, and the max kernel as a running maximum of
# matrix products. Maps have their products summed over positions before the maximum.


# %%
def all_layers(networks, names):
    titles = {"G_ReLU-CKA": "grelu cka", "linear CKA": "cka"}
    options = {"memory": memory_gb * 2**30, "device": device}
    return by_layer.between_all_layers(*networks, names, test.images, titles, **options)


@run.table(pair=range(pairs), uses=trained_by)
def figure_5(pair):
    return all_layers(myrtles[pair], numbers)


# %% mystnb={"figure": {"name": "fig-figure-5", "caption": "Similarity of every layer of one Myrtle CNN with every layer of another, from a different seed; mean over pairs of networks. Left: corrected G_ReLU-CKA. Right: linear CKA, which no rotation changes. Both use the unbiased HSIC: for unrelated features they scatter about 0."}, "image": {"alt": "Two four by four matrices of numbers, at most 1, G_ReLU-CKA and linear CKA, with the layers of the first network down and of the second across."}}
layer_matrices(figure_5)


# %%
def cka_of(networks, generator):
    options = {"nulls": 10 * nulls, "generator": generator}
    return by_layer.cka_by_layer(*networks, numbers, few, **options)


@run.table(pair=range(pairs), uses=[*trained_by, "null_images", "nulls"])
def figure_5_diagonal(pair):
    return cka_of(myrtles[pair], run.generator(pair))


figure_5_diagonal.groupby("layer").mean().drop(columns="pair")

# %% [markdown]
# {numref}`fig-figure-5` is the paper's figure 5; the table has its diagonal, on `null_images` images, with the 97.5 % quantile of shuffled images beside each measure.
# *Normalised* is linear CKA after every channel is divided by its norm. That is what the authors' code runs for its orthogonal CKA, and it is not
# invariant under rotations.
#
# (sec-figure-2)=
# ## The blocks of a ResNet
#
# A ReLU inside a residual block (with a star) is seen by one convolution; one at the end of a block is also added to what follows, and {eq}`eq-tied` ties
# its permutation to that of other layers. {numref}`fig-figure-2` compares all layers by CKA, {numref}`fig-figure-9` corresponding layers by Procrustes.

# %%
resnets = trained("resnet20", resnet_width, resnet_pairs)
relus = {layer.name: layer.number for layer in resnets[0][0].hidden_layers()}
resnet_by = ["dataset", "resnet_width", "epochs", "images"]


@run.table(pair=range(resnet_pairs), uses=resnet_by)
def figure_2_all(pair):
    return all_layers(resnets[pair], relus)


# %% mystnb={"figure": {"name": "fig-figure-2", "caption": "Similarity of every ReLU of one ResNet-20 with every ReLU of another; mean over pairs of networks. A star marks a ReLU inside a residual block."}, "image": {"alt": "Two matrices with nineteen rows and columns in shades, G_ReLU-CKA and linear CKA."}}
layer_matrices(figure_2_all)


# %%
@run.table(pair=range(resnet_pairs), uses=[*resnet_by, "nulls"])
def figure_9(pair):
    return procrustes_of(resnets[pair], relus, pair)


# %% mystnb={"figure": {"name": "fig-figure-9", "caption": "Procrustes similarity of corresponding ReLUs of two ResNet-20s, beside shuffled images (dotted). A star marks a ReLU inside a residual block."}, "image": {"alt": "Similarity against nineteen layers for G_ReLU and orthogonal Procrustes, solid lines above their dotted nulls."}}
similarity_by_layer(figure_9, floor=1 - 0.5**0.5)

# %%
same = figure_2_all.query("measure == 'G_ReLU-CKA' and row == column")
inside = (
    same["row"]
    .str.endswith("*")
    .map({True: "similarity_inside", False: "similarity_at_ends"})
)
figure_2 = same.assign(place=inside).pivot_table(
    index="pair", columns="place", values="value"
)
figure_2 = figure_2.rename_axis(columns=None).reset_index()
Markdown(
    f"Between corresponding layers, $G_{{\\mathrm{{ReLU}}}}$-CKA is "
    f"{figure_2['similarity_inside'].mean():.2f} on average inside blocks and "
    f"{figure_2['similarity_at_ends'].mean():.2f} at their ends."
)

# %% [markdown]
# ## What the paper prints
#
# Table 2, for 32 pairs on CIFAR-10, beside the largest run that we have (the sentence below the first figure says which), with the null that the paper does not print. Independent ReLU-Gaussian features score 0.416 for both measures as $N\to\infty$,
# more for finite $N$: the printed 0.4432 of layer 10 has to be read beside such numbers, not beside 0.

# %%
printed = pd.DataFrame(
    {
        "G_ReLU, printed": [0.6208, 0.5106, 0.4432, 0.4899],
        "orthogonal, printed": [0.7724, 0.5743, 0.5087, 0.5825],
    },
    index=mean.index,
)
largest = both[both["run"] == both["run"].iloc[-1]].groupby("layer")
measured = largest[["grelu", "orthogonal", "grelu_null", "orthogonal_null"]].mean()
pd.concat([printed, measured], axis=1)

# %% [markdown]
# *Does the similarity tell where stitching is hard?* Section 5 says that Table 2 correlates with the penalties of figure 1. The paper's own means do not say so clearly: over its four
# layers the rank correlation of 0.62, 0.51, 0.44, 0.49 with 8.3, 7.5, 16.5, 5.8 points is −0.2.

# %% tags=["hide-input"]
penalties = results.recorded("03_stitching", "figure_1").get("desk")
said = "No stitches are recorded beside which the table could be laid."
if penalties is not None:  # of the same networks, cut at the same layers
    correlated = by_layer.rank_correlation(run.largest("table_2")[0], penalties[0])
    found = correlated["rank_correlation"]
    if dataset == "cifar10":
        run.write(table_2_with_figure_1=correlated)
    said = (
        f"In our {len(found)} recorded pairs, whose networks are stitched in chapter 3, it is "
        f"{', '.join(f'{value:+.1f}' for value in found)}."
    )
Markdown(said)

# %% [markdown]
# :::{admonition} Deviation from the paper
# :class: note
# The paper trains for 50 epochs, keeps the epoch that is best on the test set, and compares on all 10,000 test images; here the last epoch counts, with the recipe `fast` on CIFAR-10 and as many images as the
# parameters say. Units that never fire on these images are left out of $G_{\mathrm{ReLU}}$-Procrustes, which has no norm to divide them by. For $G_{\mathrm{ReLU}}$-CKA the centring is the corrected one, as in the authors' code.
# The nulls are ours.
# :::
#
# Off figure 5 we read, at the same layers, 0.84, 0.61, 0.45, 0.43 for $G_{\mathrm{ReLU}}$-CKA and 0.98, 0.97, 0.92, 0.93 for the orthogonal one. Each number is entered in the
# {doc}`../scoreboard`, and judged by the largest recorded run.
#
# ## What would break it
#
# Similarity that was there before training. Two networks that were never trained share their architecture and the images:

# %%
fresh = [
    models.myrtle(width, in_channels=train.images.shape[1], seed=seed + k).to(device)
    for k in (0, 1)
]
untrained = cka_of(fresh, generator)
untrained.set_index("layer")[["grelu", "grelu_null", "orthogonal", "orthogonal_null"]]

# %% [markdown]
# Compare with the trained networks above: what untrained networks reach is due to the images and the architecture. A shuffle asks whether anything is shared; untrained networks ask
# whether *training* made it so. `similarity.null` draws both, and Gaussian features, for any measure.
#
# ## Adapt this
#
# Any two modules, any layers by name, any measure of the registry; or a kernel of your own. Minibatches make the cost linear in the number of images: the mean of
# $\mathrm{HSIC}_1$ over batches is unbiased, the ratio of such means consistent.

# %%
options = {"layers2": ["fc"], "minibatch": 64}
options |= {"generator": generator, "device": device}
mine = similarity.compare(*myrtles[0], list(numbers), test.images, **options)
mine.rename_axis("linear CKA with the logits, from minibatches")

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-small-samples
# Biased CKA of independent features is not 0. Predict what it does when there are more features, and check with 20 samples.
# :::
#
# ::::{solution-start} ex-small-samples
# :class: dropdown
# ::::
# With $d$ much larger than $N$ every centred Gram matrix is nearly a multiple of the centring projection $I-\frac1N\mathbf 1\mathbf 1^\top$: the biased measure approaches 1, the unbiased stays near 0.

# %%
noise = [torch.randn(2, 20, d, generator=generator) for d in (5, 50, 5000)]
biased = [similarity.cka(*pair, estimator="biased").item() for pair in noise]
unbiased = [similarity.cka(*pair).item() for pair in noise]
assert biased[0] < biased[2] and biased[2] > 0.98 and abs(unbiased[2]) < 0.3
pd.DataFrame({"features": [5, 50, 5000], "biased": biased, "unbiased": unbiased})

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - A measure is a group and a null. The registry says the first; draw the second.
# - {prf:ref}`def-grelu-procrustes` and {prf:ref}`def-grelu-cka` are invariant under $G_{\mathrm{ReLU}}$, and under translations once they centre by $1/N$.
# - The max kernel is not positive. $-1\le\mu\le1$ and every invariance survive.
# - Similarity says nothing yet about function.
#
# Back to {doc}`03b_matching`, on to {doc}`04b_similarity_and_function`, where similarity and function part.
#
# ## Provenance

# %%
depth = figure_5[figure_5["measure"] == "G_ReLU-CKA"]
by_depth = pd.DataFrame(
    {
        "same_depth": depth[depth["row"] == depth["column"]]
        .groupby("pair")["value"]
        .mean(),
        "other_depth": depth[depth["row"] != depth["column"]]
        .groupby("pair")["value"]
        .mean(),
    }
)
ends = figure_5_diagonal.pivot(index="pair", columns="layer", values="grelu")
by_depth["first_layer"], by_depth["last_layer"] = ends.iloc[:, 0], ends.iloc[:, -1]
trend = table_2.pivot(index="pair", columns="layer", values="grelu").add_prefix("layer_")
run.write(
    lemma_5_1=lemma_5_1,
    property_ii=property_ii,
    definition_5_3=definition_5_3,
    lemma_5_5=lemma_5_5,
    survives_5_5=survives,
    lemma_e44=lemma_e44,
    order_of_groups=order_of_groups,
    figure_2=figure_2,
    figure_5_depth=by_depth.reset_index(),
    table_2_trend=trend.rename_axis(columns=None).reset_index(),
    untrained=untrained,
)
results.provenance()
