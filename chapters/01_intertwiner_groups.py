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
# # 1 · Intertwiner groups
#
# :::{admonition} Before you start
# :class: tip
# **You need** matrices, the word *group*, and a network as affine maps with activations between them.
#
# **You will learn** which changes of the weights leave a network's function unchanged,
# how to compute them for any activation, what they do to hidden representations,
# and which of the printed statements about them fail.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# Put a matrix $A$ in front of an activation σ.
# Is there a matrix behind σ that has the same effect?
# If there is, one can change nearly all weights of a network and keep its function.
# For ReLU, {numref}`fig-warp` shows that a swap of two neurons with a scaling passes this test
# and a turn by 45° fails it.
# This chapter finds all matrices that pass, for any activation.

# %% tags=["hide-input"]
import copy
import math

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar
from torch import nn

from intertwine import devices
from intertwine.groups import GReLU, intertwiner_group, scalar_group
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book import data, results
from intertwine_book.experiments import intertwiner_groups as experiments
from intertwine_book.figures import groups as figures
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.drag_matrix import drag_matrix
from intertwine_book.figures.style import COLOURS, use_style
from intertwine_book.figures.symmetries import before_and_after
from intertwine_book.models import fcn
from intertwine_book.stories import intertwiner_groups as story
from intertwine_book.stories import tell

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and group elements
widths: list[int] = [32, 32]  # of the hidden layers
epochs: int = 30
scale: float = 1.0  # standard deviation of the logarithms of the scalings
trials: int = 5  # group elements drawn for each check

# %% tags=["remove-input"] figure="fig-warp"
story.warp()

# %% tags=["remove-input"] figure="fig-drag"
drag_matrix()

# %% [markdown]
# *Try it:* {numref}`fig-drag` lets you choose the matrix.
#
# ## Pulling a matrix through an activation
#
# {numref}`fig-pull` shows what such a matrix is good for.
# Insert $A$ in front of σ, undo its effect behind σ, and multiply both into the weights on either side.

# %% tags=["remove-input"] figure="fig-pull"
figures.pull_through()

# %% [markdown]
# :::{prf:definition} Intertwiner group, {cite}`godfrey2022` §3
# :label: def-intertwiner
# Let $\sigma_n$ apply $\sigma:\mathbb R\to\mathbb R$ to each of $n$ coordinates.
# Its *intertwiner group* is
#
# $$
# \begin{aligned}
# &G_{\sigma_n} = \{A \in GL_n(\mathbb R) :\\
# &\quad\sigma_n\circ A = B\circ\sigma_n\\
# &\quad\text{for some } B \in GL_n(\mathbb R)\}.
# \end{aligned}
# $$
# :::
#
# Which $B$ belongs to $A$?
# Compare both sides at the basis vectors.
#
# :::{prf:lemma} {cite}`godfrey2022`, Lemma 3.1
# :label: lem-phi
# Write $\sigma(A)$ for σ applied to every entry of $A$.
# If $\sigma(I_n)$ is invertible, put
#
# $$\varphi_\sigma(A) = \sigma(A)\,\sigma(I_n)^{-1}.$$ (eq-phi)
#
# Then $G_{\sigma_n}$ is a group, $\varphi_\sigma : G_{\sigma_n}\to GL_n(\mathbb R)$ a homomorphism,
# and $\sigma_n\circ A = \varphi_\sigma(A)\circ\sigma_n$.
# :::
#
# :::{prf:proof}
# At $x = e_1, \dots, e_n$ the relation $\sigma(Ax) = B\,\sigma(x)$ reads $\sigma(A) = B\,\sigma(I_n)$,
# so $B = \varphi_\sigma(A)$.
# If $A'$ has $B'$, then $\sigma(AA'x) = BB'\sigma(x)$ and $\sigma(A^{-1}x) = B^{-1}\sigma(x)$.
# :::
#
# In code, with the two matrices of {numref}`fig-warp`, the scaled swap $\begin{pmatrix}0&1.3\\0.7&0\end{pmatrix}$
# and the turn $\tfrac1{\sqrt2}\begin{pmatrix}1&-1\\1&1\end{pmatrix}$:


# %%
def phi(sigma, A):
    """What A becomes behind the activation."""
    one = torch.eye(len(A), dtype=torch.float64)
    return sigma(A) @ torch.linalg.inv(sigma(one))


relu, root = torch.relu, math.sqrt(0.5)
scaled_swap = torch.tensor([[0.0, 1.3], [0.7, 0.0]]).double()
turn = torch.tensor([[root, -root], [root, root]]).double()
side = torch.linspace(-1, 1, 17).double()
z = torch.cartesian_prod(side, side).T  # the points of the grid
assert torch.equal(relu(scaled_swap @ z), phi(relu, scaled_swap) @ relu(z))
assert not torch.allclose(relu(turn @ z), phi(relu, turn) @ relu(z))
assert torch.equal(phi(relu, scaled_swap), GReLU(2).phi(scaled_swap))

# %% [markdown]
# The lemma holds in {glue:text}`lemma-draws` random draws for ReLU, GELU, tanh, sigmoid,
# cos and $x^2$ at widths 2, 3 and 8: products and inverses stay in the group, $\varphi(AB)=\varphi(A)\varphi(B)$,
# and $\sigma(Ax) = \varphi(A)\sigma(x)$, to rounding ({glue:text}`lemma-error:.0e`).
#
# ## Other weights, the same function
#
# Now change a whole network of $k$ layers.
# Every hidden layer $i$ gets an element $A_i$ of its group, and the weights become
#
# ```{math}
# :label: eq-moved
# \begin{aligned}
# W_i' &= A_i\, W_i\, \varphi(A_{i-1}^{-1}),\\
# b_i' &= A_i\, b_i,\\
# A_0 &= I,\quad A_k = I.
# \end{aligned}
# ```
#
# {prf:ref}`prop-moved` proves that the function stays.
# For ReLU, $\varphi(A) = A$, and $A_i$ is a permutation with positive scalings.
# We draw one for each layer of a network that was trained on handwritten digits:

# %%
device = devices.pick(device)
generator = torch.Generator().manual_seed(seed)
train, test = (data.load(dataset, split, device=device) for split in ("train", "test"))
x_train, x_test = (part.images.flatten(1).double() for part in (train, test))
sizes = [x_train.shape[1], *widths, len(train.classes)]
network = fcn(sizes, bias=True, seed=generator).double().to(device).eval()
optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
for _ in range(epochs):
    for batch in torch.randperm(len(x_train), generator=generator).split(64):
        loss = nn.functional.cross_entropy(network(x_train[batch]), train.labels[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
network.requires_grad_(False)


def accuracy(net):
    return (net(x_test).argmax(1) == test.labels).double().mean().item()


# %%
elements = {
    f"relu{i}": GReLU(n).sample(generator, scale=scale) for i, n in enumerate(widths, 1)
}
by_hand = copy.deepcopy(network)
for i, A in enumerate(elements.values(), 1):
    before, behind = by_hand[2 * i - 2], by_hand[2 * i]  # the i-th ReLU
    before.weight.copy_(A.to(device) @ before.weight)
    before.bias.copy_(A.to(device) @ before.bias)
    behind.weight.copy_(behind.weight @ torch.linalg.inv(A).to(device))

symmetries = find_symmetries(network, x_test[:1])
moved = symmetries.act(network, elements)
assert torch.allclose(by_hand.fc2.weight, moved.fc2.weight)
assert torch.allclose(by_hand(x_test), network(x_test))

# %% tags=["remove-input"] figure="fig-same-function"
before_and_after(experiments.changes(network, moved, x_test))

# %% [markdown]
# {numref}`fig-same-function` compares both networks.
# Whoever looks at one weight or at one hidden activation looks at something that is not determined by the
# function.
#
# (sec-swap-scale)=
# ## Swap and scale: the two changes that ReLU allows
#
# Two hidden neurons suffice to draw both kinds of change {cite}`swap-and-scale-2022`,
# for $f(x) = 3\,\mathrm{ReLU}(x + \tfrac12) - \mathrm{ReLU}(-2x + 1)$.
# *Swap*: exchange the neurons with all their edges ({numref}`fig-swap`).
# *Scale*: multiply what enters a neuron by $\alpha > 0$, its bias too,
# and divide what leaves it by $\alpha$ ({numref}`fig-scale`).

# %% tags=["remove-input"] figure="fig-swap"
story.swap()

# %% tags=["remove-input"] figure="fig-scale"
story.scale()

# %% [markdown]
# A layer of $N$ neurons has $N!$ orders of its neurons.
# Scaling the blue neuron of {numref}`fig-scale` by $\alpha$ = 0.01, ½, 2 or 100 changes no output for five inputs
# from −2 to 2.
# If its bias is left out, each of these changes an output by at least {glue:text}`no-bias:.0f` % of the largest.
#
# :::{admonition} Erratum: Fowler 2022, scaling
# :class: warning
# Printed: α is any non-zero number.
# True: α > 0.
# ReLU is *positively homogeneous*, $\mathrm{ReLU}(\alpha z) = \alpha\,\mathrm{ReLU}(z)$ for $\alpha > 0$ only;
# with $\alpha = -\tfrac12, -1$ or $-2$ for the blue neuron an output changes by at least
# {glue:text}`negative:.0f` % of the largest.
# :::
#
# The source says that both symmetries "occur for any point in parameter space".
# They do, but at some points a swap changes no weight: if two of three neurons are equal,
# the $3!$ orders give three different settings of the weights instead of six.
# {prf:ref}`thm-stabiliser` lists the changes that do nothing.
#
# For tanh, which is odd, there are signs in place of scalings.
# The source credits {cite:t}`bishop2006` and {cite:t}`kurkova1994` with this.
# {cite:t}`sussmann1992` had proved before that tanh networks with one hidden layer and no superfluous neuron have
# no other symmetries.
#
# ## One set of numbers decides
#
# *For every activation that is not affine, the group consists of permutations with scalings,
# and it is enough to know the scalings of one neuron.*
# The paper computes its six groups by a procedure in its appendix E.2, which we do not have.
# The following argument is ours.
# It reduces every group to one dimension.
#
# :::{prf:theorem} Reduction to scalars
# :label: thm-scalars
# Let $n\ge 2$ and let σ be measurable and not affine.
# With $\Sigma_n$ for the permutation matrices,
#
# $$\begin{aligned}
# &G_{\sigma_n} = \{P D :\ P \in \Sigma_n,\\
# &\quad D = \mathrm{diag}(d),\ d_i\in H_\sigma\},\\
# &H_\sigma = \{a\ne 0 :\ \text{for some } b\\
# &\quad\sigma(ax) = b\,\sigma(x) \text{ for all } x\}.
# \end{aligned}$$ (eq-scalars)
# :::
#
# :::{prf:proof}
# Row $i$ of $\sigma(Ax) = B\sigma(x)$ reads $\sigma(\sum_j a_{ij}x_j) = \sum_j b_{ij}\sigma(x_j)$.
# With two non-zero entries in the row, and all other coordinates fixed,
# this is Pexider's equation $\sigma(u+v) = p(u)+q(v)$, whose measurable solutions are affine.
# So every row has one non-zero entry $a$, say at $j$, and $A = PD$.
# Row $i$ now reads $\sigma(ax_j) = \sum_k b_{ik}\sigma(x_k)$; σ is not constant, so $b_{ik} = 0$ for $k \ne j$,
# and $a \in H_\sigma$.
# Conversely every such $PD$ can be pulled through.
# :::
#
# If σ is continuous but for finitely many points, $H_\sigma$ is closed in $\mathbb R^*$, the non-zero numbers:
# each $a\in H_\sigma$ maps the set of discontinuities onto itself, so $H_\sigma$ is finite
# if one of them is not 0.
# Otherwise let $a_m\to a\ne0$ with $\sigma(a_mx) = b_m\sigma(x)$.
# If σ vanishes outside 0, $H_\sigma = \mathbb R^*$; if not, take an $x\ne0$ with $\sigma(x)\ne0$:
# $b_m$ converges to $b = \sigma(ax)/\sigma(x)$, and $\sigma(ax) = b\,\sigma(x)$ for all $x\ne0$.
# At $x = 0$ either $\sigma(0) = 0$ or all $b_m$ are 1, and so is $b$.
# Closed subgroups of $\mathbb R^*$ are few: $\{1\}$ (*trivial*), $\{\pm1\}$ (*signs*),
# $\mathbb R_{>0}$ (*positive*), $\mathbb R^*$ (*nonzero*), or the powers of one number,
# with or without signs (*discrete*).
# To test one $a$, fit the multiple and look at what is left:
#
# $$r(a) = \min_b \frac{\lVert\sigma(ax) - b\,\sigma(x)\rVert}{\lVert\sigma(ax)\rVert}.$$ (eq-residual)

# %%
x = [s * 1.01**k for k in range(-700, 340) for s in (-1, 1)]
x = torch.tensor(x, dtype=torch.float64)


def residual(sigma, a):
    """0 where σ(ax) is a multiple of σ(x)."""
    u, v = sigma(x), sigma(a * x)
    return ((v - (u @ v) / (u @ u) * u).norm() / v.norm()).item()


# %% [markdown]
# Two positive numbers whose logarithms have an irrational ratio, such as 2 and 3,
# generate a dense set of positive numbers: if both pass, all do.
# If not, look for the generator of a discrete group, between $e^{0.05}$ and $e^7$ and of either sign.
# (Affine activations have to be excluded beforehand.)


# %%
def scalar_kind(sigma):
    sign, two, three = (residual(sigma, a) < 1e-9 for a in (-1, 2, 3))
    if two and three:
        return "nonzero" if sign else "positive"
    for s in (1, -1):
        r = lambda t, s=s: residual(sigma, s * math.exp(t))
        t = min(np.arange(0.05, 7, 0.01), key=r)
        around, fine = (t - 0.01, t + 0.01), {"xatol": 1e-9}
        if minimize_scalar(r, bounds=around, options=fine).fun < 1e-6:
            return "discrete"
    return "signs" if sign else "trivial"


for sigma in experiments.GALLERY.values():
    assert scalar_kind(sigma) == str(scalar_group(sigma))

# %% [markdown]
# It agrees with the library's `scalar_group` for all twelve activations of {numref}`fig-scalars`.
# The library uses more points and keeps a certificate:
# the largest residual it accepted and the smallest it refused.
# Values are finitely many, so this is evidence and no proof; the next section ({ref}`sec-table-1`) compares it
# with what can be proved.
#
# The last activation of the figure shows that the discrete case exists:
# $x\cos\log|x|$ repeats itself when $x$ is multiplied by $e^{\pi}$, so its group is $\{\pm e^{k\pi}\}$.

# %% tags=["remove-input"] figure="fig-scalars"
figures.scalar_strip(experiments.residuals(residual))

# %% [markdown]
# (sec-table-1)=
# ## Table 1 of the paper, computed
#
# *Four of the six printed rows hold as they stand; two, LeakyReLU and $x^d$, need a condition.*
# Below, each activation as the paper names it, the group and the φ that the paper prints,
# and the group that is computed from values of σ.

# %% tags=["remove-cell"]
any_point = experiments.any_point(trials, generator)
table_1 = experiments.table_1(3, generator)

# %% tags=["remove-input"]
story.table_1(table_1)

# %% [markdown]
# The dots stand for *permutations*, $A^{\odot d}$ is the entrywise power and $|A|$ the entrywise absolute value.
# On the elements of the printed groups the printed φ agrees with {eq}`eq-phi` in all rows.
#
# :::{admonition} Errata: Godfrey et al. 2022, Table 1
# :class: warning
# *LeakyReLU*: "same as ReLU as long as negative slope ≠ 1".
# At slope −1 it is $|x|$, whose group is larger: all non-zero scalings.
# *Polynomial* $x^d$: needs $d\ge 2$; $x^1$ is linear, and its group is all of $GL_n$.
# :::
#
# `scalar_group` fills a table of any length.
# The next one has the activations of PyTorch and one of every other kind; *dimension*
# and *pieces* (connected components) are those of $G_{\sigma_n}$ for $n = 3$.
# The table scrolls.

# %% tags=["remove-input"]
extended = experiments.activation_table(n=3)
story.activations(extended)

# %% [markdown]
# For all {glue:text}`activations` the computed scalars are of the kind that we derived by hand from the formula
# of σ (derivations not shown).
#
# ## Why the axes of a ReLU layer are special
#
# A *ray* is a half-line from the origin, $\mathbb R_{\ge0}v$.
# {numref}`fig-rays` lets elements of $G_{\mathrm{ReLU}}$ act on rays of the plane: the axes go to axes,
# and any other ray goes everywhere in its quadrant; a swap exchanges the second quadrant and the fourth.

# %%
start = {"axes": torch.eye(2), "other": torch.tensor([[2.0, 1.0]])}
start["axes"] = torch.cat([start["axes"], -start["axes"]])
images, count = {}, {}
for name, v in start.items():
    group_elements = [GReLU(2).sample(generator) for _ in range(20)]
    images[name] = torch.cat([v.double() @ A.T for A in group_elements])
    angles = torch.atan2(images[name][:, 1], images[name][:, 0])
    count[name] = len(angles.round(decimals=9).unique())

assert count["axes"] == 4
found = experiments.orbit_size(start["other"].double(), 20, generator)
assert 1 + count["other"] == found

# %% tags=["remove-input"] figure="fig-rays"
titles = {"4 rays stay 4": "axes", f"1 ray becomes {1 + count['other']}": "other"}
figures.moved_rays({title: (start[k], images[k]) for title, k in titles.items()})

# %% [markdown]
# :::{prf:theorem} {cite}`godfrey2022`, Theorem 3.3
# :label: thm-rays
# $G_{\mathrm{ReLU}_n}$ is the stabiliser of the set of rays $\{\mathbb R_{\ge0}e_i\}$.
# If it stabilises a finite set of rays $\mathbb R_{\ge0}v_1,\dots,\mathbb R_{\ge0}v_N$, $v_i \ne 0$,
# then every $v_i$ is a positive multiple of some $\pm e_j$.
# :::
#
# :::{prf:proof}
# $A$ permutes the rays of the $e_i$ iff its columns are positive multiples of different $e_j$.
# If $v$ has two non-zero entries, scaling one of them by all $d > 0$ gives infinitely many rays.
# :::
#
# So the axes, one for each neuron, are the only directions of which the symmetries of a ReLU layer respect a
# finite set.
# {doc}`05_interpretability` asks whether concepts lie along them.
#
# (sec-names)=
# ## A group with more elements gives a network more names
#
# Call every setting of the weights that computes $f$ a *name* of $f$.
# Each element of the group turns a name into a name, so the group says how many names there are at least.
# {numref}`fig-names` draws all names of one neuron, $f(x) = v\,\sigma(wx)$:
# from $(w, v)$, an $a \in H_\sigma$ leads to $(aw,\ v/b)$ with $\sigma(ax) = b\,\sigma(x)$.

# %%
four = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}
four |= {"ReLU": torch.relu, "|x|": torch.abs}
a_tried = [s * 2 ** (k / 8) for k in range(-16, 17) for s in (1, -1)]
w, v, one, names = 1.5, 1.0, torch.ones(1).double(), {}
for name, sigma in four.items():
    inside = [1] + [a for a in a_tried if residual(sigma, a) < 1e-9]
    b = [(sigma(a * one) / sigma(one)).item() for a in inside]
    pairs = zip(inside, b, strict=True)
    names[name] = [(a * w, v / factor) for a, factor in pairs]
    for w_new, v_new in names[name]:
        assert torch.allclose(v_new * sigma(w_new * x), v * sigma(w * x))

# %% tags=["remove-input"] figure="fig-names"
symbols = {"sigmoid": "{1}", "tanh": "{±1}", "ReLU": "a > 0", "|x|": "a ≠ 0"}
figures.names_of_a_neuron(
    {f"{name}: {symbols[name]}": each for name, each in names.items()}
)

# %% [markdown]
# With $n$ neurons their orders come on top.
# For one layer of 64 neurons without a superfluous one:
#
# | activation | group | names, at least |
# |---|---|---|
# | sigmoid, GELU | permutations | $64! \approx 10^{89}$ |
# | tanh | permutations with signs | $2^{64}\cdot64! \approx 10^{108}$ |
# | ReLU | permutations with positive scalings | $64!$ pieces of dimension 64 |
# | $\lvert x\rvert$, $x^2$ | permutations with non-zero scalings | $2^{64}\cdot64!$ pieces of dimension 64 |
# | identity | all invertible matrices | 2 pieces of dimension 4,096 |
#
# These are the names that the group gives; a deep ReLU network may have more ({ref}`sec-deep`).
# Training ends at one of them.
# Two consequences run through this book.
# What differs between the names of one function, such as a single weight, the norm of a neuron's weights
# or a neuron's number, says nothing about the function ({doc}`01b_weight_space`).
# And before two networks are compared, one has to be renamed; the larger the group,
# the more names there are to choose from ({doc}`03_stitching`, {doc}`04_dissimilarity`).

# %% tags=["remove-cell"]
checks = experiments.checks(trials, generator)

# %% [markdown]
# ## Where the hypothesis of the lemma fails
#
# *The group exists for every σ; only formula {eq}`eq-phi` needs $\sigma(I_n)$ to be invertible.*
# Softshrink with λ = 1 has $\sigma(I_n) = 0$.
# For continuous σ that is not constant, and $n \ge 2$, take $\varphi(A) = \sigma(tA)\,\sigma(tI_n)^{-1}$
# with any $t$ for which the inverse exists.
# We tried softshrink, hardshrink and a step function, which is 1 at 0: all clauses of {prf:ref}`lem-phi` hold.
# Outside the group the formula means nothing: for random matrices and the Gaussian (RBF), $x^2$ or ReLU,
# $\varphi(AB)$ and $\varphi(A)\varphi(B)$ differ by at least {glue:text}`phi-outside:.0f` % of their size.
#
# ## Adapt this
#
# An activation of your own: replace the class.
# The network may be any module that the library can run once ({doc}`01c_any_network`).


# %%
class Sigma(nn.Module):
    """Your activation."""

    def forward(self, z):
        return torch.where(z > 0, z, 0.2 * z) ** 3


mine = fcn((7, 20, 4), bias=True, activation=Sigma).double().eval()
inputs = torch.randn(100, 7, generator=generator, dtype=torch.float64)
G = intertwiner_group(Sigma(), 20)
element = {"activation1": G.sample(generator)}
other = find_symmetries(mine, inputs).act(mine, element)
change = relative_error(other(inputs), mine(inputs))
print(f"scalars: {G.scalars}; the outputs change by {change:.0e}")

# %% [markdown]
# ## Deviations from the papers
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * -
#   - printed
#   - here
# * - how the groups are found
#   - appendix E.2, not in the text that we have
#   - {prf:ref}`thm-scalars`, and values of σ
# * - {prf:ref}`lem-phi`
#   - $\sigma(I_n)$ invertible
#   - the library tries other $tI_n$ as well
# * - group elements
#   - any
#   - scalings with logarithms of standard deviation 1
# * - arithmetic
#   - exact
#   - float64; *equal* means a relative difference below $10^{-10}$ in the tables
#     and `torch.allclose` in visible cells; a scalar passes with a residual below $10^{-9}$,
#     the generator of a discrete group in the visible cell with one below $10^{-6}$
# :::
#
# ## Exercises
#
# :::{exercise}
# :label: ex-hardtanh
# *Warm-up.*
# Hardtanh clips to $[l, u]$ with $l < 0 < u$.
# For which $l$ and $u$ is its group larger than the permutations?
# :::
#
# ::::{solution} ex-hardtanh
# :class: dropdown
# For $l = -u$ it is odd, so signs commute with it.
# No other scalar does, because $\sigma(ax)$ and $b\sigma(x)$ have to stop growing at the same $x$.
# `scalar_group(nn.Hardtanh(-1, 1))` is *signs*, `scalar_group(nn.Hardtanh(-1, 2))` is *trivial*.
# ::::
#
# :::{exercise}
# :label: ex-powers-of-two
# Invent an activation whose scalars are exactly $\{2^k : k\in\mathbb Z\}$.
# :::
#
# ::::{solution-start} ex-powers-of-two
# :class: dropdown
# ::::
# Multiply ReLU by a function of $\log_2 x$ of period 1.
# Zero for $x<0$ excludes the signs.


# %%
def ripple(x):
    return torch.relu(x) * (2 + torch.sin(2 * np.pi * x.clamp(min=1e-300).log2()))


H = scalar_group(ripple)
assert str(H) == "discrete" and abs(H.generator - 2) < 1e-9 and not H.contains(-2.0)

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-orthogonal
# Which elements of $G_{\mathrm{ReLU}}$ are orthogonal?
# What does that say about rotating a layer of a ReLU network?
# :::
#
# ::::{solution} ex-orthogonal
# :class: dropdown
# $PD$ is orthogonal iff $D^2 = I$; with positive entries $D = I$.
# So only permutations are: no other rotation can be pulled through ReLU,
# and in general the next layer cannot make up for it.
# {doc}`02_sanity_rotations` measures how much is lost.
# ::::
#
# :::{exercise}
# :label: ex-angle
# *With data.*
# Turn the pre-activations of the trained network's first layer by an angle, two neurons at a time,
# before an activation.
# How much of the result can no matrix behind the activation reproduce?
# Draw it against the angle for ReLU, tanh, GELU and $|x|$.
# At which angles is it 0?
# :::
#
# ::::{solution-start} ex-angle
# :class: dropdown
# ::::

# %% figure="fig-ex-angle"
pre = network.fc1(x_test).cpu()[:, : widths[0] // 2 * 2]
four = {"ReLU": relu, "tanh": torch.tanh, "GELU": nn.GELU(), "|x|": torch.abs}
rows = []
for degrees in range(0, 181, 15):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    pair = torch.tensor([[c, -s], [s, c]]).double()
    R = torch.block_diag(*[pair] * (pre.shape[1] // 2))
    for name, sigma in four.items():
        target = sigma(pre @ R.T)
        best = torch.linalg.lstsq(sigma(pre), target, driver="gelsd").solution
        left = 100 * ((sigma(pre) @ best - target).norm() / target.norm()).item()
        rows.append({"angle": degrees, "activation": name, "left": left})
axes = {"xlabel": "angle, degrees", "ylabel": "unexplained, %"}
mean_curves(pd.DataFrame(rows), "angle", "left", "activation", **axes)

# %% [markdown]
# {numref}`fig-ex-angle` answers it.
# A quarter turn of two neurons is a swap with one sign, a half turn is $-I$.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-pruning
# *With data.*
# A common rule removes the neurons whose incoming weights have the smallest norm.
# Remove neurons of the first layer of the trained network by this rule,
# and of the same network moved by random scalings.
# Why do the accuracies differ although the functions were equal?
# Find a rule that cannot tell two names of one function apart.
# :::
#
# ::::{solution-start} ex-pruning
# :class: dropdown
# ::::


# %% figure="fig-ex-pruning"
def pruned(net, count, rule):
    """The accuracy without the `count` first neurons by a rule."""
    size = torch.cat([net.fc1.weight, net.fc1.bias[:, None]], 1).norm(dim=1)
    if rule == "product":
        size = size * net.fc2.weight.norm(dim=0)
    other = copy.deepcopy(net)
    other.fc2.weight[:, size.argsort()[:count]] = 0
    return 100 * accuracy(other)


rows, counts = [], range(0, widths[0] + 1, 4)
for _ in range(trials):
    A = GReLU(widths[0]).sample(generator, scale=scale)
    elsewhere = symmetries.act(network, {"relu1": A})
    for count in counts:
        rows.append([count, "incoming, as trained", pruned(network, count, "incoming")])
        rows.append([count, "incoming, moved", pruned(elsewhere, count, "incoming")])
        rows.append([count, "product, moved", pruned(elsewhere, count, "product")])
rows = pd.DataFrame(rows, columns=["removed", "rule", "accuracy"])
axes = {"xlabel": "neurons removed", "ylabel": "accuracy, %"}
figure = mean_curves(rows, "removed", "accuracy", "rule", **axes)
as_trained = [pruned(network, count, "product") for count in counts]
figure.axes[0].plot(counts, as_trained, "--", color=COLOURS["ink"])
figure

# %% [markdown]
# {numref}`fig-ex-pruning` shows it.
# A scaling by $\alpha$ multiplies the incoming norm by $\alpha$ and leaves the product of both norms as it is.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-almost
# *Open.*
# GELU is nearly ReLU for large $|x|$, and its group has no scalings.
# Define the elements that can be pulled through *up to ε* on a given distribution of inputs.
# They form no group.
# How fast do products leave the set, and does a trained GELU network behave as
# if its group were $G_{\mathrm{ReLU}}$?
# :::
#
# ## Summary
#
# - The matrices that can be pulled through an activation form a group $G_\sigma$.
#   For every measurable activation that is not affine it consists of permutations times diagonal matrices
#   with entries in one group of scalars $H_\sigma$ ({prf:ref}`thm-scalars`).
# - If the activation is continuous but for finitely many points, $H_\sigma$ is trivial, signs, positive,
#   nonzero or discrete, and fifteen lines of code find it from values of σ.
# - Moving weights by {eq}`eq-moved` changes weights and representations and not the function.
#   A larger group gives a function more names.
# - Two rows of the paper's Table 1 and the "any non-zero α" of the other source need a correction.
#
# On to {doc}`01b_weight_space`: what residual connections do to all this, and what the loss makes of an orbit.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
run = results.run(globals(), "01_intertwiner_groups", data=train)
kinds = experiments.beside_proved(extended)
run.write(any_point=any_point, table_1=table_1, table_1_extended=kinds, **checks)
live = {"accuracy": 100 * accuracy(network), "tested": len(x_test)}
tell(story.facts(), story.facts_of(checks), live | {"activations": len(extended)})
results.provenance(run.folder)
