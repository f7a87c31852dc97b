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
# # 1c · The symmetries of any network
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups` and {doc}`01b_weight_space`: the group of an activation, and why a sum constrains layers.
#
# **You will learn** to find the symmetries of a network that somebody else wrote, to move its weights without changing its
# function, to tell whether two networks are one, and what weight decay and batch norm do along an orbit.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# So far we moved networks that we had built, layer by layer and by hand. Now take *any* network: with shortcuts,
# normalisations, attention. Which changes of its weights leave its function alone? The library runs it once, writes down every
# operation, and works out what may move. {numref}`fig-moved-resnet` shows a trained residual network before and after a random
# element of the group that it found.

# %% tags=["hide-input"]
import copy
import math
from dataclasses import replace
from itertools import pairwise

import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

from intertwine import data, devices
from intertwine.features import record
from intertwine.training import RECIPES, Spec, evaluate, zoo
from intertwine.weightspace import (
    balance,
    canonicalise,
    find_symmetries,
    imbalance,
    match,
    relative_error,
    verify,
)
from intertwine_book import results
from intertwine_book.figures.orbits import imbalance_decay
from intertwine_book.figures.style import use_style
from intertwine_book.figures.symmetries import before_and_after

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and group elements
width: int = 4  # channels of the residual network's first stage
epochs: int = 4  # of its training
networks: list[str] = ["resnet18", "mobilenet_v3_small"]  # of torchvision
trials: int = 3  # elements drawn for each network
steps: int = 1500  # of training with weight decay
decays: list[float] = [0.0, 0.02, 0.05]  # weight decay

# %% tags=["hide-input"]
device = devices.pick(device)
draw = torch.Generator().manual_seed(seed)
train, test = (data.load(dataset, part, device=device) for part in ("train", "test"))
run = results.run(globals(), "01c_any_network", data=train)
recipe = replace(RECIPES["digits" if dataset == "digits" else "fast"], epochs=epochs)
shape = {"width": width, "in_channels": train.images.shape[1], "option": "B"}
(one,) = zoo.get(Spec("resnet20", train, recipe, shape), [seed], device=device)
network = one.network.double().eval()
images = test.images[:100].double()
space = find_symmetries(network, images[:1])
element = space.sample(draw)
moved = space.act(network, element)


def seen(model):
    """Weights inside a block, what comes out of another, and the outputs."""
    with torch.no_grad(), record(model, ["block6"]) as activations:
        outputs = model(images)
    return {
        "weights of block 5": model.block5.conv1.weight,
        "activations of block 6": activations["block6"],
        "outputs": outputs,
    }


old, new = seen(network), seen(moved)
flat = lambda x: x.detach().flatten()[:4000].cpu()
pairs = {name: {"before": flat(old[name]), "after": flat(new[name])} for name in old}
before_after = pd.concat(
    pd.DataFrame(p).assign(quantity=name) for name, p in pairs.items()
)

# %% mystnb={"figure": {"name": "fig-moved-resnet", "caption": "A trained ResNet20 before and after a random element of the group of all its hidden spaces. Weights and representations are changed beyond recognition; the outputs are the same to rounding in float64."}, "image": {"alt": "Three scatter plots of values after the move against values before. Weights and activations form clouds far from the diagonal; outputs lie exactly on it."}}
before_and_after(before_after)

# %% [markdown]
# Its hidden spaces, each with its group. In the bracket behind $\ltimes$ stand the scalars of one unit, $\mathbb R^*$ or $\mathbb R_{>0}$:

# %%
table = space.to_frame()
table[["width", "group", "dimension", "why"]]

# %%
Markdown(
    f"The whole group has dimension {space.dimension}, and about $10^{{{len(str(space.components)) - 1}}}$ components: "
    f"so many networks with other weights compute the function of this one, in families of that dimension. "
    f"The three groups with several copies of $\\mathbb R^*$ are the residual streams. The first one moves {len(table['writers'][0].split(', '))} parameters "
    "and buffers at once."
)

# %% [markdown]
# (sec-rules)=
# ## What an operation asks for
#
# Every axis of every parameter starts as a space of its own, free to move. Then the operations of the run are asked, one by one, what they
# need in order to commute with the move. What meets must move together, and may only be moved by what all of its operations admit.
#
# :::{prf:definition}
# :label: def-hidden
# A *hidden space* is a set of axes, of parameters, buffers and values, that have to move together. Its *group* consists of the
# moves that every operation on these axes admits.
# :::
#
# | operation | what it asks for |
# |---|---|
# | linear map, convolution | what it reads moves by the inverse, what it writes is free |
# | sum, maximum | all terms move alike; a maximum admits positive scalars only |
# | product | all factors are permuted alike, their scalars multiply |
# | activation σ | an element of $G_\sigma$, which becomes $\varphi_\sigma(A)$ behind it |
# | batch norm | permutations; one scalar in front, another one behind |
# | RMS norm, layer norm | an orthogonal matrix; for a layer norm with $Q\mathbf 1 = \pm\mathbf 1$ |
# | a bias, a norm, on the axes that it does not work along | only the order is free |
# | attention | heads are permuted; $GL(d)$ inside a head |
# | reshape, concatenation, slice | axes are products or rows of smaller spaces |
# | anything else; what enters and leaves the network | nothing moves: *frozen* |
#
# The last row is a promise. An operation without a rule freezes the spaces that it touches, and the table says which operation it
# was. So the group that is found may be too small. It should never be too large, and `verify` below tests
# random elements of it on your network.
# Four of the rules deserve a proof.
#
# :::{prf:proposition} Sums
# :label: prop-sums
# Let $(h, h')$ take all values in $\mathbb R^n\times\mathbb R^n$. Then $Ah + A'h' = B(h + h')$ for all of them if and only if $A = A' = B$.
# :::
#
# :::{prf:proof}
# $h' = 0$ gives $A = B$, and $h = 0$ gives $A' = B$.
# :::
#
# :::{prf:proposition} Batch norm
# :label: prop-batch-norm
# Let $\mathrm{bn}(z) = \gamma(z - \mu)/\sqrt{v + \varepsilon} + \beta$ for one unit. For $a \ne 0$ and every $c$, the input $az$ gives the output
# $c\,\mathrm{bn}(z)$ with $\mu' = a\mu$, $v' = a^2v$, $\beta' = c\beta$ and
#
# $$\gamma' = \operatorname{sgn}(a)\,c\,\gamma\,\sqrt{\frac{v + \varepsilon/a^2}{v + \varepsilon}}.$$ (eq-batch-norm)
# :::
#
# :::{prf:proof}
# $\gamma'\,a(z-\mu)/\sqrt{a^2v+\varepsilon}$ equals $c\,\gamma\,(z - \mu)/\sqrt{v+\varepsilon}$ exactly if
# $\gamma' = c\,\gamma\sqrt{a^2v + \varepsilon}\,/\,(a\sqrt{v + \varepsilon})$.
# :::
#
# So a unit in front of batch norm has two scalars: $a \in \mathbb R^*$, and whatever $c$ the activation behind admits. For $\varepsilon = 0$
# only the sign of $a$ reaches γ; the root is what ε adds. The statement is about evaluation mode. In training the statistics of the batch follow
# $a$ by themselves, up to ε.
#
# :::{prf:proposition} RMS norm
# :label: prop-rms-norm
# Let $\rho(x) = x/\sqrt{|x|^2/n + \varepsilon}$ with $\varepsilon > 0$, and $A$ invertible. There is a matrix $B$ with $\rho(Ax) = B\rho(x)$ for
# all $x$ if and only if $A$ is orthogonal, and then $B = A$.
# :::
#
# :::{prf:proof}
# Orthogonal matrices keep $|x|$. Conversely, divide by $t$ at $tx$ and let $t \to 0$: $Ax = Bx$. Then the
# denominators agree, $|Ax| = |x|$.
# :::
#
# A residual stream that is read through RMS norms alone may therefore be *rotated*, and with it the representation of a whole
# transformer. A gain γ without zeros is no obstacle. A weight that reads it becomes $W\,\mathrm{diag}(\gamma)\,Q^\top\mathrm{diag}(\gamma)^{-1}$.
# A layer norm subtracts the mean first, and any orthogonal $Q$ with $Q\mathbf 1 = \pm\mathbf 1$ commutes with that.
#
# :::{prf:proposition} Attention
# :label: prop-attention
# For each head let $q = W_qx$, $k = W_kx$, $v = W_vx$ in $\mathbb R^d$. With $M, N \in GL(d)$ the weights $MW_q$, $M^{-\top}W_k$, $NW_v$ and
# $W_oN^{-1}$ give the same output.
# :::
#
# :::{prf:proof}
# Scores are $(Mq)^\top M^{-\top}k = q^\top k$. Attention weights are numbers, so that they commute with $N$, which $W_oN^{-1}$ undoes.
# :::
#
# Likewise wherever there is no activation between two linear maps: the bottlenecks of MobileNetV2 and every low-rank pair have the
# full $GL(n)$. In evaluation mode a batch norm between them is a gain $g$ with a shift: behind it stands $A$, in front of it
# $\mathrm{diag}(g)^{-1}A\,\mathrm{diag}(g)$. Rotary positions stand between $W_q$ and the scores; they leave only what commutes with them,
# and our rules freeze queries and keys.

# %% [markdown]
# (sec-small-network)=
# ## A network one can print
#
# Two layers with a shortcut around the second. The rule for sums ties what `a` writes to what `b` writes, so that there is one space ({numref}`fig-small-run`).


# %%
class Small(nn.Module):
    """c(relu(b(h)) + h) with h = relu(a(x))."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        h = self.a(x).relu()
        return self.c(self.b(h).relu() + h)


torch.manual_seed(seed)
small = Small().double().eval()
with torch.no_grad():
    for p in small.parameters():
        p.copy_((4 * p).round() + 0.0)  # no -0
small_space = find_symmetries(small, torch.zeros(1, 2).double())
small_space.to_frame()[["group", "writers", "readers", "why"]]

# %% mystnb={"figure": {"name": "fig-small-run", "caption": "One hidden space passes through both layers and the shortcut: everything red moves together. Boxes are the operations of the run, lines the values between them, the ends of boxes the weights; grey values do not move."}, "image": {"alt": "Boxes from input to output. All lines between the first layer and the last are red, also the one around the second layer; input is grey."}}
small_space.draw()

# %% [markdown]
# One element of it: exchange both units, and double the one that comes first. An element gives every space a matrix of its group, here
# under the name of the first layer that writes it. A network with modules for its activations names spaces by them, as `relu1`.

# %%
A = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
other = small_space.act(small, {"a": A})
parameters = zip(small.named_parameters(), other.parameters(), strict=True)
pd.DataFrame(
    [
        [name, p.tolist(), (q.detach().round(decimals=9) + 0.0).tolist()]
        for (name, p), q in parameters
    ],
    columns=["parameter", "before", "after"],
).set_index("parameter")

# %%
x = torch.randn(1000, 2, generator=draw, dtype=torch.float64)
Markdown(
    f"On 1,000 random inputs the outputs agree to {relative_error(other(x), small(x)):.0e}."
)

# %% [markdown]
# Read the matrix `b.weight`: its rows move with what it writes, its columns against what it reads, and here both are the same space. It is
# conjugated.
#
# (sec-verify)=
# ## Networks that this book does not contain
#
# `verify` moves a network, runs both, and compares every intermediate value with what the element says about it. Here it
# meets networks of torchvision, with random batch-norm statistics and gains, and a small vision transformer.


# %% tags=["hide-input"]
def randomised(model):
    """In float64, with gains, shifts and statistics as no initialisation would leave them."""
    model = model.double().eval()
    with torch.no_grad():
        for name, x in model.state_dict().items():
            if x.ndim == 1 and x.is_floating_point():
                low = 0.0 if name.endswith(("bias", "running_mean")) else 1.0
                x.copy_(low + torch.rand(x.shape, generator=draw) - 0.5)
            elif not x.any():  # a last layer that starts with zeros
                x.copy_(torch.randn(x.shape, generator=draw))
    return model.to(device)


def theirs(name):
    """A network by its name, with random weights."""
    from torchvision import models

    if name != "a vision transformer":
        return getattr(models, name)(weights=None)
    return models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)


# %%
rows = []
for name in [*networks, "a vision transformer"]:
    model = randomised(theirs(name))
    inputs = torch.randn(2, 3, 32, 32, generator=draw, dtype=torch.float64).to(device)
    found = find_symmetries(model, inputs)
    for trial in range(trials):
        report = verify(found, model, found.sample(draw), inputs)
        facts = {"network": name, "trial": trial, "spaces": len(found.spaces)}
        facts |= {"dimension": found.dimension, "outputs": report.output}
        facts |= {"representations": report.spaces["changed"].median()}
        rows.append(facts | {"not_as_predicted": report.spaces["error"].max()})
verified = pd.DataFrame(rows)
verified.groupby("network", sort=False).max().drop(columns="trial")

# %% [markdown]
# All numbers are relative: how far outputs moved, how far representations moved (the median over spaces), and how far they are from what the
# element says they become. For the transformer the groups are those of {prf:ref}`prop-rms-norm` and
# {prf:ref}`prop-attention`:

# %%
found.to_frame().groupby("group", sort=False).agg(
    spaces=("width", "size"), why=("why", "first")
)

# %% [markdown]
# (sec-tie)=
# ## Cut one tie
#
# Which axes go together can also be written down by hand, for each architecture anew. One axis forgotten changes the function; how
# much, depends on the axis. We move the trained one, and put back *one* of the parameters that the first residual stream moves.

# %%
stream = max(space.spaces, key=lambda each: each.logs)
with torch.no_grad():
    expected = network(images)
rows = []
for name in [*stream.writers, *stream.readers]:
    broken = copy.deepcopy(moved)
    broken.state_dict()[name].copy_(network.state_dict()[name])
    accuracy = 100 * evaluate(broken, test.images.double(), test.labels)
    with torch.no_grad():
        change = relative_error(broken(images), expected)
    rows.append({"left_behind": name, "change": change, "accuracy": accuracy})
cut = pd.DataFrame(rows)
cut.sort_values("change").iloc[[0, len(cut) // 2, -1]]

# %%
Markdown(
    f"Left behind, {(cut['change'] > 0.01).sum()} of the {len(cut)} parameters and buffers change the outputs by more than "
    f"1 %. The trained network classifies {100 * evaluate(network, test.images.double(), test.labels):.1f} % correctly, "
    f"and the worst of these {cut['accuracy'].min():.1f} %."
)

# %% [markdown]
# (sec-decay)=
# ## What training does along an orbit
#
# Section 7 of {cite}`godfrey2022` names a limitation: its theory does not account for weight decay, which *reduces scaling symmetry*. How, can be said
# exactly. Let $e^{sX}$, with a diagonal $X$, be the scaling of one unit, and
#
# $$D(\theta) = \tfrac12\,\tfrac{d}{ds}\bigl|e^{sX}\theta\bigr|^2_{s=0} = \langle X\theta, \theta\rangle$$ (eq-imbalance)
#
# its *imbalance*. For a ReLU unit that is the sum of squares of what enters it, bias included, minus that of what leaves it.
#
# :::{prf:theorem} Weight decay balances
# :label: thm-balance
# Let $L$ be locally Lipschitz, and constant along $s \mapsto e^{sX}\theta$ for every θ. On an absolutely continuous curve with
# $\dot\theta = -\nabla L(\theta) - \lambda\theta$ for almost every $t$, at points where $L$ is differentiable,
#
# $$D(\theta(t)) = e^{-2\lambda t}\,D(\theta(0)).$$ (eq-decay)
#
# The squared norm is convex in $s$ along each orbit; it is smallest exactly where $D = 0$.
# :::
#
# :::{prf:proof}
# $\dot D = 2\langle X\theta, \dot\theta\rangle = -2\langle X\theta, \nabla L\rangle - 2\lambda D$ for almost every $t$, and $\langle X\theta, \nabla L\rangle$ is
# the derivative of $L$ along the orbit, 0. The squared norm is a sum of terms $\theta_j^2e^{2sx_j}$. (A ReLU network is not differentiable everywhere; with
# Clarke subgradients the same holds, because the chain rule holds for almost every $t$ on the functions that such networks compute.)
# :::
#
# Without decay the imbalance is *conserved* {cite}`du2018,kunin2021`: training remembers where on its orbit it began. With decay it forgets, at a
# rate that does not depend on the data. If its weights do not shrink as fast, the network comes near the shortest of its orbit. {numref}`fig-imbalance` compares
# {eq}`eq-decay` with gradient descent on a network whose units start out of balance.

# %%
x = train.images.flatten(1).double()
sizes = [x.shape[1], 16, 16, len(train.classes)]
torch.manual_seed(seed)
linear = [nn.Linear(a, b) for a, b in pairwise(sizes)]
plain = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
plain = plain.double().eval().to(device)
plain_space = find_symmetries(plain, x[:1])
start = plain_space.act(plain, plain_space.sample(draw, scale=0.5))
loss_of = lambda model: nn.functional.cross_entropy(model(x), train.labels)


def state_of(model):
    """Size of the imbalance, and the squared norm relative to the smallest one of the orbit."""
    squares = lambda m: sum(p.detach().square().sum().item() for p in m.parameters())
    D = torch.cat([d.flatten() for d in imbalance(plain_space, model).values()])
    shortest = balance(plain_space, model).model
    return D.norm().item(), squares(model) / squares(shortest)


# %%
rows, lr = [], 0.02
for decay in decays:
    model = copy.deepcopy(start)
    optimiser = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=decay)
    for step in range(steps + 1):
        if step % max(1, steps // 10) == 0:
            size, excess = state_of(model)
            rows.append([decay, lr * step, size, excess, loss_of(model).item()])
        optimiser.zero_grad()
        loss_of(model).backward()
        optimiser.step()
decay_path = pd.DataFrame(
    rows, columns=["weight_decay", "time", "imbalance", "excess", "loss"]
)
decay_path["imbalance"] /= decay_path["imbalance"][0]
decay_path["predicted"] = (-2 * decay_path["weight_decay"] * decay_path["time"]).map(
    math.exp
)

# %% mystnb={"figure": {"name": "fig-imbalance", "caption": "Imbalance of all units of a perceptron during gradient descent (marks), and what the theorem says of gradient flow (lines): without weight decay it is conserved, with weight decay λ it falls by exp(-2λt), whatever the data."}, "image": {"alt": "Imbalance on a logarithmic axis against training time, marks for three values of weight decay on straight lines of slope minus twice the decay."}}
imbalance_decay(decay_path)

# %%
ends = decay_path.groupby("weight_decay").last()
error = (decay_path["imbalance"] / decay_path["predicted"] - 1).abs().max()
Markdown(
    f"Marks and lines differ by at most {100 * error:.1f} %, the price of steps of finite size. The squared norm began at "
    f"{decay_path['excess'][0]:.2f} times the smallest one of its orbit, and ends at "
    + ", ".join(
        f"{row.excess:.2f} times (λ = {decay:g})" for decay, row in ends.iterrows()
    )
    + ". What is conserved does not grow: where weights do, the same imbalance counts for less."
)

# %% [markdown]
# **What batch norm adds.** Take training mode, where the statistics follow, and ε = 0. The weights $w$ of a unit in front of batch norm then
# have the scalar $a$ of {prf:ref}`prop-batch-norm` to themselves. Their imbalance is $|w|^2$: nothing can balance it. There is no shortest network
# on the orbit, {eq}`eq-decay` with $\lambda > 0$ says that under flow they shrink for ever,
# and the proof says that the gradient is perpendicular to $w$. So a *step* of size η can only lengthen $w$, and weight decay works against that:
#
# $$|w'|^2 = (1 - \eta\lambda)^2|w|^2 + \eta^2|\nabla L|^2,\qquad |\nabla L| \propto 1/|w|.$$ (eq-effective)
#
# Where both terms balance, decay has decided on the length of $w$ and with it on the effective learning rate $\eta/|w|^2$, and on nothing else.

# %%
model = copy.deepcopy(network).train()
batch = train.images[:256].double()
nn.functional.cross_entropy(model(batch), train.labels[:256]).backward()
cosines = {"in front of batch norm": [], "the last layer": []}
for p in (p for p in model.parameters() if p.ndim > 1):
    rows = zip(p.grad.flatten(1), p.detach().flatten(1), strict=True)
    kind = "in front of batch norm" if p.ndim == 4 else "the last layer"
    cosines[kind] += [abs(torch.cosine_similarity(g, w, 0).item()) for g, w in rows]
pd.DataFrame({kind: {"largest |cosine|": max(c)} for kind, c in cosines.items()}).T

# %% [markdown]
# The cosines in front of batch norm are not quite 0: that is ε.
#
# (sec-normal-form)=
# ## Are two networks one?
#
# To compare two networks up to symmetry, bring both to a *normal form*: space by space, scalings make certain rows of weights unit vectors,
# signs make weighted sums of them positive, units are sorted by these sums, orthogonal matrices make weights triangular. Then models in
# one orbit are equal, unless two units tie. And `match` looks for the element that brings one model nearest to another: it assigns units by their weights, other sides given, space by space,
# which is the problem of git re-basin {cite}`ainsworth2023`, here with scalings and for every network that can be traced.


# %%
def gap(model1, model2):
    """The largest relative difference of a parameter."""
    pairs = zip(model1.parameters(), model2.parameters(), strict=True)
    return max(relative_error(p.detach(), q.detach()) for p, q in pairs)


normal = [canonicalise(space, model).model for model in (network, moved)]
gaps = {"as they are": gap(network, moved), "normal forms": gap(*normal)}
seen_by = {"weights": None, "activations": images}
for by, inputs in seen_by.items():
    gaps[f"matched by {by}"] = gap(
        network, match(space, network, moved, inputs=inputs).model
    )
pd.DataFrame({"largest relative difference": gaps})

# %% [markdown]
# ## What would break it
#
# Noise. Two networks of one orbit are an ideal case; in life one of them has been trained further, or rounded. We add noise to every
# parameter, in units of its standard deviation, move the network as before, and ask for the planted element again. The null is chance.


# %%
def right(found, wanted):
    """The share of units that are assigned as they should be."""
    hits = torch.cat(
        [(found[k].order == move.order).flatten() for k, move in wanted.items()]
    )
    return 100 * hits.double().mean().item()


planted = space.inverse(element)
rows = []
for noise in (0.0, 0.1, 0.3, 1.0, 3.0):
    noisy = copy.deepcopy(network)
    with torch.no_grad():
        for p in noisy.parameters():
            z = torch.randn(p.shape, generator=draw, dtype=p.dtype).to(device)
            p += noise * p.std(correction=0) * z
    accuracy = 100 * evaluate(noisy, test.images.double(), test.labels)
    noisy = space.act(noisy, element)
    for by, inputs in seen_by.items():
        found = match(space, network, noisy, inputs=inputs).element
        share = right(found, planted)
        rows.append({"noise": noise, "accuracy": accuracy, "by": by, "units": share})
noise_table = pd.DataFrame(rows)
noise_table.pivot(index=["noise", "accuracy"], columns="by", values="units")

# %%
units = sum(each.size for each in space.spaces)
Markdown(
    f"By chance {100 * len(space.spaces) / units:.0f} % of the units would be right."
)

# %% [markdown]
# Whether two *independently* trained networks are nearly in one orbit is another question: {doc}`03_stitching` asks it. Other things that break:
# a network whose forward pass reads its own values to choose a branch cannot be traced, and is refused with a sentence; statistics of a batch, that is
# training mode, are no function of one input; and what Python decides from shapes is fixed as in the example run.
#
# ## Adapt this
#
# Your own module, in evaluation mode, and an example input. The block below has a gate, a shortcut, an RMS norm, and an operation
# without a rule.


# %%
class Mine(nn.Module):
    """A gated block with a shortcut, and a sum over the past."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.norm1, self.norm2 = nn.RMSNorm(8), nn.RMSNorm(8)
        self.gate, self.up, self.down = (
            nn.Linear(8, 12),
            nn.Linear(8, 12),
            nn.Linear(12, 8),
        )
        self.past, self.head = nn.Linear(8, 6), nn.Linear(6, 20)

    def forward(self, tokens):
        x = self.words(tokens)
        y = self.norm1(x)
        x = x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))
        return self.head(self.past(self.norm2(x)).cumsum(1))


mine, tokens = randomised(Mine()), torch.randint(20, (4, 7), generator=draw).to(device)
my_space = find_symmetries(mine, tokens)
my_space.to_frame()[["width", "group", "writers", "why"]]

# %%
report = verify(my_space, mine, my_space.sample(draw), tokens)
Markdown(f"Outputs moved by {report.output:.0e} of their size.")

# %% [markdown]
# The last row says what was not understood. Sums over positions commute with everything that acts on units, so that this freeze is a gap in our
# rules and not in the mathematics. A rule is a short function that says which axes meet; {doc}`../api/weightspace` has those that exist.
#
# ## Exercises
#
# :::{exercise}
# :label: ex-tied-autoencoder
# An autoencoder reads and writes with one matrix, $x \mapsto W^\top\sigma(Wx + b)$. What is left of the groups of ReLU and tanh?
# :::
#
# ::::{solution-start} ex-tied-autoencoder
# :class: dropdown
# ::::
# The rows of $W$ are multiplied by $a$ as writers and by $1/a$ as readers: $a = a^{-1}$. Permutations stay, and for tanh signs.


# %%
class Tied(nn.Module):
    """W^T sigma(W x + b)."""

    def __init__(self, sigma):
        super().__init__()
        self.encode, self.sigma = nn.Linear(5, 3), sigma

    def forward(self, x):
        return self.sigma(self.encode(x)) @ self.encode.weight


groups_of = {
    name: [h.group for h in find_symmetries(Tied(f).eval(), torch.zeros(1, 5)).spaces]
    for name, f in {"ReLU": torch.relu, "tanh": torch.tanh}.items()
}
assert groups_of == {"ReLU": ["Σ_3"], "tanh": ["Σ_3 ⋉ ({±1})^3"]}
groups_of

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-mean-of-stream
# What is found is a group, not always all of it. Find a change of the vision transformer above that its table does not have: what does a layer norm do to
# the mean of the stream?
# :::
#
# ::::{solution-start} ex-mean-of-stream
# :class: dropdown
# ::::
# It subtracts it. The stream is read through layer norms alone, so every parameter that writes it may be changed by any multiple
# of $\mathbf 1$, for example to have mean 0.

# %%
vit = randomised(theirs("a vision transformer"))
inputs = torch.randn(2, 3, 32, 32, generator=draw, dtype=torch.float64).to(device)
streams = [s for s in find_symmetries(vit, inputs).spaces if s.kind == "mean"]
centred = copy.deepcopy(vit)
for name in streams[0].writers:
    x = centred.state_dict()[name]
    x -= x.mean(0 if len(x) == 32 else -1, keepdim=True)
assert relative_error(centred(inputs), vit(inputs)) < 1e-9

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - A run of the network is enough to find what has to move together and by which group; what is not understood does not move.
# - `verify` compares every value of a moved network with what the element predicts; {ref}`sec-tie` counts what one parameter left behind costs.
# - Without weight decay training keeps the imbalance that it began with; with it, imbalance falls by $e^{-2\lambda t}$; at 0 a network is the
#   shortest of its orbit. In front of batch norm there is none.
# - Two networks of one orbit have one normal form, but for ties; `match` looks for the element between them.
#
# Back to {doc}`01b_weight_space`, on to {doc}`02_sanity_rotations`; {doc}`03_stitching` matches networks that were trained independently.
#
# ## Provenance

# %%
run.write(verified=verified, cut=cut, decay=decay_path, noise=noise_table)
results.provenance()
