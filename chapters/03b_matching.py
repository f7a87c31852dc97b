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
# # 3b · Matching: direct or by the task
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`03_stitching`: the front of one network, a map, the back of another. Linear least squares.
#
# **You will learn** why the map that fits the representations best is not the map that the second network can use best,
# what low rank and sparsity cost either kind, and whether two good stitches are joined by a line of good stitches.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# Two networks of one architecture, trained from different initialisations: model 1 and model 2. Cut both behind a layer,
# and let a map $S$ carry what the front of model 1 computes to the back of model 2 {cite}`csiszarik2021`. There are two ways
# to find $S$. *Direct matching* looks at the two representations alone, and fits one to the other. *Task-loss matching* looks at
# what comes out behind, and trains $S$ by gradient descent, both networks frozen. *Is a good fit a good stitch?*
# {numref}`fig-matching` compares them at every layer.

# %% tags=["hide-input"]
from dataclasses import replace
from functools import cache, partial

import pandas as pd
import torch
from IPython.display import Markdown

from intertwine import alignment, data, devices, models
from intertwine.stitching import STITCH_RECIPES, Junction, barriers
from intertwine.training import RECIPES, MultiStep, Spec, evaluate, zoo
from intertwine_book import results
from intertwine_book.experiments import matching as experiments
from intertwine_book.experiments.stitching import stitch_many, stitch_rows
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.forest import forest
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
from typing import Literal

networks: Literal["trained", "published"] = "trained"  # published: the authors' Tiny-10
dataset: Literal["digits", "cifar10"] = "digits"  # of networks that are trained here
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and starts
width: int = 8  # channels of the first convolution of a Myrtle CNN
epochs: int = 6  # of the networks' training
pairs: int = 3  # of networks
few: int = 3  # pairs where many kinds of networks are compared
layers: list[int] = [1, 2, 3, 4]  # hidden layers, from 1
chosen: list[int] = [3]  # those of them where stitches are restricted
train_images: int = 500  # that stitches are trained on, at most
fit_images: int = 10000  # of these, that closed forms are fitted to, at most
test_images: int = 10000  # at most
stitch_epochs: int = 3  # of a stitch's training; three times as many with an L1 penalty
ranks: list[int] = [1, 2, 4]  # of restricted stitches
alphas: list[float] = [0.003, 0.01, 0.03]  # weights of the L1 penalty
starts: int = 2  # random ones, and as many from least squares; an even number
widths: list[int] = [2, 4, 8]  # channels of the first convolution
wide: Literal["myrtle", "resnet20"] = "myrtle"  # whose width varies

# %% tags=["hide-input"]
device, published = devices.pick(device), networks == "published"
digits, digits_test = (
    data.load(dataset, split, device=device) for split in ("train", "test")
)
usual = RECIPES["digits" if dataset == "digits" else "fast"]
rate = 1e-2 if dataset == "digits" else 3e-3
adam = replace(usual, epochs=epochs, optimizer="adam", lr=rate)
shape = {"width": width, "in_channels": digits.images.shape[1]}


def trained(n, first=0, images=digits, recipe=adam, kind="myrtle", **other):
    """Networks from the zoo, which trains what it does not have yet."""
    spec = Spec(kind, images, recipe, shape | other)
    numbers = range(seed + first, seed + first + n)
    return [each.network for each in zoo.get(spec, numbers, device=device)]


if published:
    cifar = [data.load("cifar10", split, device=device) for split in ("train", "test")]
    joined, (train, test) = experiments.published_pairs("tiny10", pairs, *cifar)
    fresh = [models.tiny10(seed=1000 + seed + k) for k in range(pairs)]
else:
    found, train, test = trained(2 * pairs), digits, digits_test
    joined = list(zip(found[::2], found[1::2], strict=True))
    fresh = [models.myrtle(**shape, seed=1000 + seed + k) for k in range(pairs)]
train, test = train[:train_images], test[:test_images]

# %% tags=["hide-input"]
alone = cache(lambda net: 100 * evaluate(net.to(device), test.images, test.labels))
accuracies = [(alone(one), alone(two)) for one, two in joined]


def budget(name):
    """How stitches are trained on a data set: briefly, without augmentation."""
    known = STITCH_RECIPES["digits" if name == "digits" else "fast"]
    return replace(known, epochs=stitch_epochs, targets="soft")


recipe = budget(train.name)
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
both_ways = {"least squares": direct, "task loss": task}
schedule = MultiStep(at=(0.4, 0.6, 0.8), factor=0.1)  # lets entries come to rest
patient = replace(recipe, epochs=3 * stitch_epochs, batch_size=64, schedule=schedule)
limited = experiments.low_rank_kinds(ranks, recipe)

# %% tags=["hide-input"]
run = results.run(globals(), "03b_matching", data=train)
shared = ["networks", "dataset", "width", "epochs", "train_images", "fit_images"]
shared += ["test_images", "stitch_epochs"]
options = {"device": device, "fit_images": fit_images}


def stitched(name, pairs, layers, ways, images=train, judged=test):
    """Every way of stitching, at every layer of every pair, kept step by step."""
    uses = [*shared, *(["few", "widths", "wide"] if name in ("widths", "robust") else [])]
    steps = partial(run.steps, name, uses=uses, data=images)
    asked = {"test": judged, "seed": seed, "steps": steps, **options}
    return stitch_many(pairs, layers, ways, images, **asked)


places = experiments.cuts(joined[0][1], layers)
matching = stitched("matching", joined, places, methods)
nulls = [(fresh[k].eval(), joined[k][1]) for k in range(min(few, pairs))]
untrained = stitched("untrained", nulls, places, {"untrained front": task})
if published:
    doubles, on = experiments.published_pairs("resnet20w1", 1, *cifar)
    on = [on[0][:train_images], on[1][:test_images]]
else:
    doubles, on = [tuple(trained(2, kind="resnet20", width=4))], [train, test]
residual = stitched("residual", doubles, experiments.cuts(doubles[0][1]), both_ways, *on)

# %% tags=["hide-input"]
beside = partial(experiments.beside, "03b_matching")
both, said = beside("matching", matching)
both = pd.concat([both, beside("untrained", untrained)[0]])
lines = ["task loss", "least squares", "orthogonal", "no stitch", "untrained front"]
both = both[both["stitch"].isin(lines)]
y = "relative_accuracy"
axes = {"panels": "run", "ylabel": "relative accuracy"}

# %% mystnb={"figure": {"name": "fig-matching", "caption": "Accuracy of the stitched network as a share of that of model 2, by layer: mean over pairs with 95 % interval. The dotted line is model 2 itself. Where two panels are shown, the right one is the largest recorded run."}, "image": {"alt": "Curves of relative accuracy against the layer for five ways of stitching: by task loss, by least squares, by an orthogonal matrix, without a stitch, and by task loss behind an untrained front."}}
mean_curves(both, "layer", y, "stitch", level=1.0, **axes)

# %% tags=["hide-input"]
means = experiments.by_pair(matching)
gap = means["task_loss"] - means["least_squares"]
low, high = results.interval(100 * gap)
worst = matching[matching["stitch"] == "task loss"][y].min()
Markdown(
    f"Averaged over layers, task-loss matching keeps {100 * gap.mean():.1f} points of "
    f"relative accuracy more than least squares (95 % interval over {len(gap)} pairs: {low:.1f} to "
    f"{high:.1f}). Its worst relative accuracy at any layer of any pair is {worst:.2f}. {said}"
)

# %% [markdown]
# (sec-matching)=
# ## Experiment 1: least squares against the task loss
#
# *Between the authors' Tiny-10 networks task-loss matching keeps 97 % of model 2's accuracy, averaged over layers, and least squares 92 %.* Task loss is ahead in each of five pairs.
#
# The networks are Myrtle CNNs trained here, or the Tiny-10 networks that the paper's authors published; the parameters cell
# says which. Model 1 and model 2 of a pair are in no other pair.
#
# :::{prf:definition} {cite}`csiszarik2021`, Definition 3.1
# :label: def-stitched
# Let $R_1$ be model 1 up to a layer, $T_2$ model 2 behind it. For a map $S$ between the two activation spaces,
# $F_S = T_2\circ S\circ R_1$ is the *stitched network*. Its *relative accuracy* is its accuracy divided by that of model 2.
# :::
#
# Here $S$ is affine and acts on channels, at every position of a feature map alike. Let the rows of $A$ and $B$ be the activations
# of the two layers, one row for every image and position. Direct matching minimises $\lVert AM - B\rVert_F$:
#
# - over all matrices, $M_{LS} = A^{+}B$;
# - over orthogonal ones, $UV^\top$, where $A^\top B = UDV^\top$ (*Procrustes*);
# - over those of rank $k$ at most, $M_{LS}V_kV_k^\top$, where $AM_{LS} = UDV^\top$ (*reduced rank*).
#
# Least squares and reduced rank have a bias: there $A$ and $B$ are centred first. Procrustes has none.
#
# Task-loss matching starts from $M_{LS}$ and minimises the cross-entropy of $F_S$ to the probabilities that model 2 gives. Three
# baselines: no stitch at all, a random permutation of channels, and task-loss matching behind a front that was never trained.
#
# :::{admonition} Deviation from the paper
# :class: note
# The paper trains a stitch for 30 epochs with augmentation. Here the parameters cell says how long, and there is no augmentation,
# so that model 1 runs once only. Least squares is fitted to training images; the authors' evaluation fits it to the very images that it
# is then judged on. As in the examples of their code, we cut between batch norm and ReLU.
# :::


# %%
pd.DataFrame(accuracies, columns=["model 1, % right", "model 2, % right"]).describe().loc[
    ["mean", "min", "max"]
]

# %% [markdown]
# Accuracy is one measure, nearness to model 2 another. {numref}`fig-distance` has the cross-entropy to model 2's probabilities, which is what
# the task-loss stitch minimised.

# %% mystnb={"figure": {"name": "fig-distance", "caption": "Cross-entropy of the stitched network to the probabilities of model 2 on test images, in nats on a logarithmic axis; lower is nearer. Mean over pairs with 95 % interval."}, "image": {"alt": "Curves of cross-entropy against the layer for the same ways of stitching as in the figure before."}}
entropy = {"panels": "run", "ylabel": "cross-entropy to model 2", "log": True}
mean_curves(both, "layer", "distance", "stitch", **entropy)

# %% [markdown]
# All ways of this run in numbers, the permutations and the hard targets included:

# %%
matching.pivot_table(index="stitch", columns="layer1", values=y, sort=False)

# %% [markdown]
# ## A case small enough to print
#
# Why does the task see more? Two channels: a loud one, which the task does not read, and a quiet one, whose sign is the label. Both
# networks have the same activations, so nothing but the rank is in the way.

# %%
generator = torch.Generator().manual_seed(seed)
A = torch.randn(1000, 2, generator=generator) * torch.tensor([10.0, 1.0])
label = A[:, 1] > 0
rank_one = alignment.reduced_rank(alignment.Statistics.of(A, A), 1)
quiet = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
rows = {
    way: {
        "energy kept": (X.square().sum() / A.square().sum()).item(),
        "labels right": ((X[:, 1] > 0) == label).double().mean().item(),
    }
    for way, X in {"least squares": rank_one(A), "the task": A @ quiet}.items()
}
pd.DataFrame(rows).T

# %% [markdown]
# Least squares keeps nearly all of the energy and little of what the task needs. The task's map does the opposite.
#
# (sec-low-rank)=
# ## Low rank: a gap between variance and use
#
# *Started from the direct map, training by the task gains at every rank, layer and pair of the authors' networks that we recorded. Started at random, as in the paper, it may end below
# the map it is compared with.*
# {numref}`fig-low-rank` looks for that case in a network. The direct map of rank $k$ is the reduced-rank regression above; by task loss a
# product of two factors is trained, which starts from orthogonal factors, as in the paper, or from the direct map. All have a bias; the
# authors' direct map has none.


# %% tags=["hide-input"]
def joint(pair, layer1):
    """Where a pair is joined, and what the two networks do alone."""
    junction = Junction(*joined[pair], layer1, train, test=test, **options)
    return junction, {"accuracies": accuracies[pair]}


at = experiments.cuts(joined[0][1], chosen)
cases = [{"pair": k, "layer1": layer} for k in range(pairs) for layer in at]


@run.table(cases=cases, uses=[*shared, "ranks", "alphas"])
def restricted(pair, layer1):
    """Stitches of low rank and sparse ones, at one junction."""
    place, known = joint(pair, layer1)
    known |= {"seed": seed + pair}
    sparse = experiments.sparse_rows(place, alphas, patient, **known)
    return stitch_rows(place, limited, **known) + sparse


both, said = beside("restricted", restricted)
low = both[both["stitch"].str.contains("rank")].copy()
low[["method", "rank"]] = low["stitch"].str.split(", rank ", expand=True)
ranked = experiments.low_rank(restricted)
gained = 100 * (ranked["task_loss_from_direct"] - ranked["direct"])
gained = gained.groupby(ranked["rank"]).mean().round().astype(int)
Markdown(
    f"{said} In this run, training from the direct map gains, in points of relative accuracy: "
    + "; ".join(f"rank {rank}, {points}" for rank, points in gained.items())
    + "."
)

# %% mystnb={"figure": {"name": "fig-low-rank", "caption": "Relative accuracy of stitches of low rank against their rank, over pairs and the chosen layers, mean with 95 % interval: direct matching, and task-loss matching from two starts."}, "image": {"alt": "Curves of relative accuracy against the rank for reduced-rank regression and for factors that are trained by task loss, from orthogonal factors and from the direct map."}}
mean_curves(low, "rank", y, "method", **axes)

# %% [markdown]
# (sec-sparsity)=
# ## Experiment 7: sparsity
#
# *With 80 to 97 % zeros, a stitch by task loss keeps a quarter or more of model 2's accuracy beyond what the lasso keeps.*
# A stitch with few entries would say which channels are the same. The paper adds $\alpha\lVert M\rVert_1$, the sum of all $|m_{ij}|$, to
# the task loss, and for direct matching to $\lVert AM - B\rVert_F$ in its equation (3). The text calls that the lasso, whose norm is squared; as
# printed it is the *square-root lasso*. The two have one path of solutions.
#
# :::{prf:proposition} One path, two parameters
# :label: prop-one-path
# Let $M$ minimise $\lVert AM - B\rVert_F + \alpha\lVert M\rVert_1$, and let $r = \lVert AM - B\rVert_F > 0$. Then $M$ minimises
# $\tfrac12\lVert AM - B\rVert_F^2 + \alpha r\lVert M\rVert_1$.
# :::
#
# :::{prf:proof}
# Both losses are convex. Where $r > 0$ the first is differentiable but for its penalty, and 0 is in its subdifferential:
# $A^\top(AM - B)/r + \alpha g = 0$ with $g\in\partial\lVert M\rVert_1$. Times $r$, this is the condition of the second.
# :::
#
# They part only where the fit is exact:
#
# :::{prf:proposition} An exact fit
# :label: prop-printed-lasso
# Let $A = B = 1$, real numbers, and $\alpha \ge 0$. For $\alpha \ne 1$ the minimiser of $|m - 1| + \alpha|m|$ is $1$ if $\alpha < 1$ and $0$ if
# $\alpha > 1$. The minimiser of $\tfrac12(m - 1)^2 + \alpha|m|$ is $\max(1 - \alpha, 0)$.
# :::
#
# :::{prf:proof}
# Outside $[0, 1]$ both sums grow with the distance from it. On it the first is $1 - m + \alpha m$, linear in $m$, and the second has
# derivative $m - 1 + \alpha$.
# :::
#
# Here the printed loss leaves a value unchanged until it sets it to 0, and the lasso shrinks it continuously.
#
# :::{admonition} Misprint: csiszarik2021, eq. (3), and an erratum of ours
# :class: warning
# Printed: $\lVert AM - B\rVert_F + \alpha\lVert M\rVert_1$, called the lasso. The lasso has $\tfrac12\lVert AM - B\rVert_F^2$. An earlier version of this page
# called the two "two methods". That was wrong: by {prf:ref}`prop-one-path` they trace one path, at different values of α; only the degenerate case of
# an exact fit, which this page had taken for an example, tells them apart.
# :::
#
# Over a fine grid of $m$, without any algebra, beside the library's lasso:

# %%
m = torch.arange(-1000, 2001, dtype=torch.float64) / 1000
rows = []
for alpha in (0.25, 0.5, 0.75, 1.25, 1.5):
    unit = alignment.Statistics.of(*2 * [torch.ones(1, 1, dtype=torch.float64)])
    lasso = alignment.lasso(unit, alpha).weight.item()
    printed = m[((m - 1).abs() + alpha * m.abs()).argmin()].item()
    squared = m[((m - 1) ** 2 / 2 + alpha * m.abs()).argmin()].item()
    rows.append([alpha, printed, squared, lasso])
equation_3 = pd.DataFrame(rows, columns=["alpha", "printed", "squared", "lasso"])
for kind in ("printed", "squared"):
    equation_3[f"{kind}_error"] = (equation_3[kind] - equation_3["lasso"]).abs()
equation_3

# %% [markdown]
# For every sparse stitch that the task loss gives, {numref}`fig-sparsity` has the lasso with as many zeros, found by bisection in α.
# Entries below $10^{-4}$ are zeros, as in the paper, and are set to 0 before a stitch is judged. The authors' code penalises the mean of
# all $|m_{ij}|$; our α is theirs divided by their number.

# %% tags=["hide-input"]
sparse = both[both["alpha"].notna()].sort_values("sparsity")
bins = [-0.01, 0.5, 0.8, 0.9, 1.0]
words = ["0–50", "50–80", "80–90", "90–100"]
sparse["zeros"] = pd.cut(sparse["sparsity"], bins, labels=words).astype(str)

# %% mystnb={"figure": {"name": "fig-sparsity", "caption": "Relative accuracy of sparse stitches against the share of zeros in per cent: by task loss with an L1 penalty, and by a lasso with as many zeros. Mean over stitches with 95 % interval."}, "image": {"alt": "Two curves of relative accuracy against the share of zeros: task loss and direct matching."}}
mean_curves(sparse, "zeros", y, "stitch", xlabel="zeros, %", **axes)

# %% [markdown]
# (sec-starts)=
# ## Experiments 5 and 6: other starts, and the way between
#
# *From least squares all starts end within a point of each other. Of 32 random starts, 18 come within a tenth of model 2's accuracy of the best stitch, and 14 stay behind.* That is one pair of
# networks, at eight layers: enough to say that random starts get stuck, and too little for a verdict on "most".
#
# The task loss of a stitch is not convex, for the back is not linear. Does training find the same stitch from every start? One pair of
# networks, many starts: torch's random initialisation, or least squares with another order of the data. Two stitches $M_1$
# and $M_2$ from such starts are *linearly connected* if $\lambda M_1 + (1 - \lambda)M_2$ is as good for every $\lambda\in[0, 1]$.

# %% tags=["hide-input"]
full = {"kind": "full", "recipe": recipe}
known = {"seeds": range(seed, seed + starts), "fractions": [k / 10 for k in range(11)]}


@run.table(layer1=places, start=["random", "least squares"], uses=[*shared, "starts"])
def paths(layer1, start):
    """Stitches from one kind of start, and all that lie between them, two by two."""
    place, others = joint(0, layer1)
    return experiments.path_rows(place, full | {"start": start}, **known, **others)


# %% tags=["hide-input"]
both, said = beside("paths", paths)
ends = both[(both["run"] == both["run"].iloc[-1]) & both["fraction"].isin([0, 1])]
Markdown(said)

# %% mystnb={"figure": {"name": "fig-starts", "caption": "Relative accuracy of stitches between one pair of networks, one dot for each start, by layer, in the largest run there is: random starts and starts from least squares. Lines are means with 95 % intervals over starts."}, "image": {"alt": "Two panels of rows of dots, one row for each layer: relative accuracies from random starts and from least squares, with means and intervals."}}
forest(ends, "layer", y, panels="start", xlabel="relative accuracy")

# %% mystnb={"figure": {"name": "fig-paths", "caption": "Relative accuracy along the straight line between two stitches from random starts, by layer: mean over pairs of stitches with 95 % interval. A curve that sags says that the stitches are not linearly connected."}, "image": {"alt": "Curves of relative accuracy against the place on the line between two stitches, one curve for each layer."}}
way = both[both["start"] == "random"]
mean_curves(way, "fraction", y, "layer", xlabel="λ", **axes)

# %% [markdown]
# {numref}`fig-starts` shows what a start decides, {numref}`fig-paths` what lies between. As in the paper only paths count
# whose ends have a relative accuracy of 80 % at least. Their *barrier* is the deepest fall below the straight line from one end to the
# other, in points of relative accuracy:

# %%
walls = barriers(paths, ["layer1", "start", "path"], "relative_accuracy")
walls["kept"], walls["tolerated"] = walls["worse"] >= 0.8, 0.05
walls["points"] = 100 * walls["barrier"].where(walls["kept"])
walls.groupby(["layer1", "start"], sort=False).agg(
    paths=("kept", "size"), kept=("kept", "sum"), barrier=("points", "mean")
)

# %% [markdown]
# (sec-width)=
# ## Experiment 2: width
#
# The same matching at other widths, on networks trained here:

# %% tags=["hide-input"]
by_width = {}
for wider in widths:
    nets = trained(2 * few, kind=wide, width=wider)
    by_width |= {(wider, k): (nets[2 * k], nets[2 * k + 1]) for k in range(few)}
capped = zip((digits, digits_test), (train_images, test_images), strict=True)
small = [images[:most] for images, most in capped]
cut = experiments.cuts(nets[0])
ways = both_ways | {"task loss": direct | {"recipe": budget(dataset)}}
grown = stitched("widths", list(by_width.values()), cut, ways, *small)
grown["width"] = grown["pair"].map(dict(enumerate(key[0] for key in by_width)))

# %% mystnb={"figure": {"name": "fig-width", "caption": "Relative accuracy against the width of the first convolution, by task loss, one curve for each layer: mean over pairs with 95 % interval where there are two or more."}, "image": {"alt": "Curves of relative accuracy against the width of the networks, one for each layer that is stitched."}}
words = {"xlabel": "channels of the first convolution", "ylabel": "relative accuracy"}
mean_curves(grown[grown["stitch"] == "task loss"], "width", y, "layer1", **words)

# %% [markdown]
# {numref}`fig-width` is small: the widths, the networks and the pairs are those of the parameters cell.
#
# (sec-robust)=
# ## How the networks were trained
#
# The paper tried networks with and without batch norm, trained by SGD and by Adam, and found none that could not be matched; fronts
# trained on ImageNet even served backs trained on CelebA. Our stand-ins for other data are a pair that shares no training image, and a
# front that has seen five of the ten classes only. Cuts are behind the ReLU here, where networks without batch norm have a layer too.

# %% tags=["hide-input"]
order = torch.randperm(len(digits), generator=torch.Generator().manual_seed(seed))
halves = digits[order[::2]], digits[order[1::2]]
sgd = replace(adam, optimizer="sgd", lr=0.1)
five = digits[digits.labels < 5]
kinds = {}
changes = {"Adam": {}, "SGD": {"recipe": sgd}, "no batch norm": {"norm": False}}
for kind, change in changes.items():
    nets = trained(2 * few, **change)
    kinds[kind] = nets[::2], nets[1::2]
kinds["other images"] = [trained(few, k * few, half) for k, half in enumerate(halves)]
kinds["front of five classes"] = trained(few, 2 * few, five), kinds["Adam"][1]
other = {
    (kind, k): pair
    for kind, sides in kinds.items()
    for k, pair in enumerate(zip(*sides, strict=True))
}

# %% tags=["hide-input"]
behind = [layer.name for layer in nets[0].hidden_layers()]
robust = stitched("robust", list(other.values()), behind, ways, *small)
robust["networks"] = robust["pair"].map(dict(enumerate(key[0] for key in other)))
robust.pivot_table(index="networks", columns=["stitch", "layer1"], values=y, sort=False)

# %% [markdown]
# ## What the paper prints
#
# Figure 2's caption has a cross-entropy to model 2 without a stitch of 6.99 ± 1.96 for Tiny-10, averaged over layers. The text gives 80 % as the
# worst relative accuracy by task loss, behind the first convolution of ResNet-20; the rest are words and curves, which the
# {doc}`../scoreboard` judges one by one.

# %%
shown, said = run.largest("matching")
bare = shown[shown["stitch"] == "no stitch"].groupby("pair")["distance"].mean()
by_task = shown[shown["stitch"] == "task loss"]
lowest = by_task.loc[by_task[y].idxmin()]
blocks, _ = run.largest("residual")
least = blocks.loc[blocks[y].where(blocks["stitch"] == "task loss").idxmin()]
Markdown(
    f"Measured: {bare.mean():.2f} ± {bare.std():.2f} without a stitch, over {len(bare)} pairs; "
    f"worst relative accuracy {lowest[y]:.2f}, at {lowest['layer1']}. {said} "
    f"One pair of ResNet-20, cut behind its first convolution and behind its blocks: "
    f"{least[y]:.2f} at worst, at {least['layer1']}."
)

# %% [markdown]
# ## What would break it
#
# *A front that knows nothing.* If a stitch behind an untrained front did as well, stitching would measure the stitch and the back, and
# nothing that model 1 has learned. {numref}`fig-matching` has that null, and here it is in numbers, for the same backs. Where the two rows
# are near each other, a good stitch is no evidence of a shared representation: so it may be near the input, where little has to
# be learned.

# %%
same = matching[(matching["stitch"] == "task loss") & (matching["pair"] < few)]
null = pd.concat([same.assign(stitch="trained front"), untrained])
null.pivot_table(index="stitch", columns="layer1", values=y, sort=False)

# %% [markdown]
# *Images that are fitted and judged.* The authors' evaluation fits least squares to the images that it is then judged on. With as many
# unknowns as pairs of channels, but a row for every position of every image, does that flatter the fit?

# %%
least, rows = {"least squares": direct}, []
for fitted, images in {"training images": train, "test images": test}.items():
    place = Junction(*joined[0], at[0], images, test=test, **options)
    (row,) = stitch_rows(place, least, seed=seed, accuracies=accuracies[0])
    rows.append({"fitted to": fitted} | row)
pd.DataFrame(rows)[["fitted to", y, "distance"]]

# %% [markdown]
# ## Adapt this
#
# Any two networks and layers, of any widths; feature maps are resampled where their sizes differ. Here a front of your own:

# %%
mine = torch.nn.Sequential()
mine.add_module("mix", torch.nn.Conv2d(train.images.shape[1], 12, 5, stride=2, padding=2))
mine.add_module("bend", torch.nn.GELU())
mine.add_module("flat", torch.nn.Flatten())
mine.add_module("read", torch.nn.LazyLinear(len(train.classes)))
mine(train.images[:1].cpu())
yours = joined[0][1]
place = Junction(mine, yours, ("bend", at[0]), train, test=test, **options)
alones = alone(mine), alone(yours)
rows = stitch_rows(place, both_ways, seed=seed, accuracies=alones)
pd.DataFrame(rows)[["stitch", y, "distance", "seconds"]]

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-convex-stitch
# Behind which layers can two stitches never be parted by a barrier of the *loss*? Check it on the last one.
# :::
#
# ::::{solution-start} ex-convex-stitch
# :class: dropdown
# ::::
# Where the back is affine. Then the logits are affine in $M$, the cross-entropy is convex in the logits, so it is convex along the line, and
# lies below its chord. For our networks that is the layer in front of the last matrix, `flatten`.

# %%
place, others = joint(0, "flatten")
known |= {"seeds": [seed, seed + 1]}
drawn = full | {"start": "random"}
line = pd.DataFrame(experiments.path_rows(place, drawn, **known, **others))
one, two = line["loss"].iloc[-1], line["loss"].iloc[0]
chord = line["fraction"] * one + (1 - line["fraction"]) * two
assert (line["loss"] <= chord + 0.01).all()

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-printed-lasso
# Which $m$ minimise the printed loss of {prf:ref}`prop-printed-lasso` at $\alpha = 1$?
# :::
#
# :::{solution} ex-printed-lasso
# :class: dropdown
# All of $[0, 1]$: there $1 - m + m = 1$.
# :::
#
# ## Summary
#
# - A map that fits best in the mean square is fitted to what is loud; the task loss fits what the back reads. {numref}`fig-low-rank` and
#   {numref}`fig-sparsity` measure the gap between the two where rank or sparsity force a choice.
# - Least squares is a closed form, and a place to start training from, as the paper recommends; {numref}`fig-starts` has the spread of
#   both starts.
# - A null is needed: without it a good stitch may be the merit of the stitch and the back.
#
# Back to {doc}`03_stitching`; {doc}`01b_weight_space` says which maps lose nothing at all, whatever the task; on to
# {doc}`04_dissimilarity`, where similarity is measured without a task.
#
# ## Provenance

# %%
one, two = experiments.ways(matching), experiments.ways(grown)
starts_5, kinds_5 = experiments.starts(paths), ["random", "least_squares"]
of = {"dataset": dataset, "wide": wide}
more = {
    name: table[["pair", name]].drop_duplicates()
    for name, table in {"width": grown, "networks": robust}.items()
}
tables = {
    "experiment_1": one.assign(
        orthogonal_deficit=one["least_squares"] - one["orthogonal"]
    ),
    "experiment_1_by_pair": experiments.by_pair(matching),
    "experiment_1_residual": experiments.ways(residual).assign(networks=networks),
    "experiment_2": two.merge(more["width"]).assign(**of),
    "experiment_2_ends": experiments.widths(grown, few).assign(**of),
    "experiment_5": starts_5,
    "experiment_5_spread": starts_5.groupby("layer1", sort=False)[kinds_5]
    .std()
    .reset_index(),
    "experiment_6": walls,
    "experiment_7": experiments.sparse(restricted).assign(tolerated=0.2),
    "low_rank": ranked,
    "further": experiments.ways(robust).merge(more["networks"]).assign(**of),
    "equation_3": equation_3,
}
run.write(**tables)
results.provenance()
