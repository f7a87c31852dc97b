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
# how to compute them for any activation, and which statements of the papers need a correction.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## One function, pruned twice
#
# A common rule makes a network smaller: remove the neurons whose incoming weights have the smallest norm.
# Take a ReLU network that was trained on handwritten digits, and give it a *twin*:
# for each neuron of the first layer draw a number $a > 0$, multiply the weights into the neuron and its bias by $a$,
# and divide the weights out of it by $a$.
# Since $\mathrm{ReLU}(az) = a\,\mathrm{ReLU}(z)$, the twin computes the same function.
# Make such a twin by hand ({numref}`fig-twin`).
# The answers stay as they are.
# Can you choose the scalings so that most digits are still right after pruning?

# %% tags=["hide-input"]
import copy
import math

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar
from torch import nn

from intertwine import devices
from intertwine.groups import GReLU, scalar_group
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book import data, results
from intertwine_book.experiments import intertwiner_groups as experiments
from intertwine_book.figures import groups as figures
from intertwine_book.figures.curves import mean_curves, single_curves
from intertwine_book.figures.style import use_style
from intertwine_book.figures.symmetries import before_and_after
from intertwine_book.live.orbit import of_digits
from intertwine_book.live.pull import pull
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

# %% tags=["remove-input"] figure="fig-twin"
of_digits("relu", "tanh", "abs", name="twin")

# %% [markdown]
# The same happens in a larger network, without a choice: the scalings are random.

# %%
device = devices.pick(device)
generator = torch.Generator().manual_seed(seed)
train = data.load(dataset, "train", device=device)
test = data.load(dataset, "test", device=device)
x_train, x_test = (part.images.flatten(1).double() for part in (train, test))
sizes = [x_train.shape[1], *widths, len(train.classes)]
network = fcn(sizes, bias=True, seed=generator).double().to(device).eval()
optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
loss = nn.CrossEntropyLoss()
for _ in range(epochs):
    for batch in torch.randperm(len(x_train), generator=generator).split(64):
        optimiser.zero_grad()
        loss(network(x_train[batch]), train.labels[batch]).backward()
        optimiser.step()
network.requires_grad_(False)


def accuracy(net):
    return 100 * (net(x_test).argmax(1) == test.labels).double().mean().item()


# %%
def rescaled(net, a):
    """Multiply what enters layer 1 by a, divide what leaves it."""
    twin = copy.deepcopy(net)
    twin.fc1.weight.mul_(a[:, None])
    twin.fc1.bias.mul_(a)
    twin.fc2.weight.div_(a)
    return twin


def pruned(net, count, size=lambda net: net.fc1.weight.norm(dim=1)):
    """The network without the `count` smallest neurons of layer 1."""
    other = copy.deepcopy(net)
    other.fc2.weight[:, size(net).argsort()[:count]] = 0
    return other


draws = torch.randn(trials, widths[0], generator=generator).double()
twins = [rescaled(network, (scale * draw).exp().to(device)) for draw in draws]
half = widths[0] // 2
print(f"outputs differ by {relative_error(twins[0](x_test), network(x_test)):.0e}")
kept = [accuracy(pruned(net, half)) for net in (network, *twins)]
print("pruned:", ", ".join(f"{each:.1f} %" for each in kept))

# %% figure="fig-pruning"
rows = [
    [k, "rescaled twins" if t else "as trained", t, accuracy(pruned(net, k))]
    for t, net in enumerate([network, *twins])
    for k in [part * widths[0] // 8 for part in range(8)]
]
prunings = pd.DataFrame(rows, columns=["removed", "network", "trial", "accuracy"])
look = {"xlabel": "neurons removed", "ylabel": "accuracy, %", "means": False}
single_curves(prunings, "removed", "accuracy", "network", "trial", **look)

# %% [markdown]
# With half of its first layer the network as trained keeps {glue:text}`kept:.0f` % accuracy,
# and its twins keep {glue:text}`kept-low:.0f` to {glue:text}`kept-high:.0f` % ({numref}`fig-pruning`).
# So the rule does not measure a property of the function.
# *Which changes of the weights leave the function as it is?*
# This chapter finds those that come from the activation.
#
# (sec-swap-scale)=
# ## Two neurons, swapped and scaled
#
# Two hidden neurons suffice to see both changes that ReLU allows {cite}`swap-and-scale-2022`, for
#
# $$f(x) = 3\,\mathrm{ReLU}(x + \tfrac12) - \mathrm{ReLU}(-2x + 1).$$
#
# *Swap*: exchange the neurons with all their edges.
# *Scale*: multiply what enters a neuron by $\alpha > 0$, and divide what leaves it by α
# ({numref}`fig-swap-scale`).

# %% tags=["remove-input"] figure="fig-swap-scale"
story.swap_and_scale()

# %% [markdown]
# The hidden activations change, and their weighted sum does not:
#
# | | hidden at $x = 0$ | $f(0)$ | hidden at $x = 1$ | $f(1)$ |
# |---|---|---|---|---|
# | as given | $(\tfrac12, 1)$ | $3\cdot\tfrac12 - 1 = \tfrac12$ | $(\tfrac32, 0)$ | $3\cdot\tfrac32 = \tfrac92$ |
# | swapped | $(1, \tfrac12)$ | $-1 + 3\cdot\tfrac12 = \tfrac12$ | $(0, \tfrac32)$ | $3\cdot\tfrac32 = \tfrac92$ |
# | blue scaled by 2 | $(1, 1)$ | $\tfrac32\cdot1 - 1 = \tfrac12$ | $(3, 0)$ | $\tfrac32\cdot3 = \tfrac92$ |
#
# If the bias is not scaled with the incoming weights, the function changes.
#
# :::{admonition} Erratum: Fowler 2022, scaling
# :class: warning
# Printed: α is any non-zero number.
# True: α > 0.
# With $\alpha = -\tfrac12, -1$ or $-2$ for the blue neuron some output changes by at least
# {glue:text}`negative:.0f` % of the size of the largest output.
# :::
#
# ## Pulling a matrix through an activation
#
# Swaps and scalings are matrices.
# *For which invertible $A$ is there an invertible $B$ with $\sigma(Ax) = B\sigma(x)$ for all $x$?*
# Such an $A$ *can be pulled through* σ, and the inverse of $B$ after σ undoes it ({numref}`fig-pull`).

# %% tags=["remove-input"] figure="fig-pull"
figures.pull_through()

# %% [markdown]
# *Try it.*
# {numref}`fig-drag` has ReLU, and starts with a turn by 45°.
# For your $A$ it looks for the best $B$ and shows what remains: the lines, and their mean square as a share.
# 0 % means that $A$ can be pulled through.
# Can an $A$ with a negative entry reach 0 %?
# Can it with another activation?

# %% tags=["remove-input"] figure="fig-drag"
pull()

# %% [markdown]
# Not with ReLU: if $a_{ij} < 0$, look at $x = -e_j$: coordinate $i$ of $\mathrm{ReLU}(Ax)$ is positive,
# and $B\,\mathrm{ReLU}(x) = 0$ for every $B$.
# With $|x|$ and tanh a sign may change.
#
# :::{prf:definition} Intertwiner group, {cite}`godfrey2022` §3
# :label: def-intertwiner
# Let $\sigma_n$ apply $\sigma:\mathbb R\to\mathbb R$ to each of $n$ coordinates.
# Its *intertwiner group* is
#
# $$
# \begin{aligned}
# &G_{\sigma_n} = \{A \in GL_n(\mathbb R) :\ \sigma_n\circ A = B\circ\sigma_n\\
# &\quad\text{ for some } B \in GL_n(\mathbb R)\}.
# \end{aligned}
# $$
# :::
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
# If $\sigma(I_n)$ is singular, as for Softshrink with λ = 1,
# put $\varphi(A) = \sigma(tA)\,\sigma(tI_n)^{-1}$ with another $t$.
# There is one for every continuous σ that is not constant, and $n \ge 2$.
# Outside the group {eq}`eq-phi` is not multiplicative: the Gaussian, $x^2$ and ReLU are examples.


# %%
def phi(sigma, A):
    """What A becomes after the activation."""
    one = torch.eye(len(A), dtype=torch.float64)
    return sigma(A) @ torch.linalg.inv(sigma(one))


relu, root = torch.relu, math.sqrt(0.5)
scaled_swap = torch.tensor([[0.0, 1.3], [0.7, 0.0]]).double()
turn = torch.tensor([[root, -root], [root, root]]).double()
side = torch.linspace(-1, 1, 17).double()
x = torch.cartesian_prod(side, side).T  # the points of the grid
for name, A in {"scaled swap": scaled_swap, "turn": turn}.items():
    wanted, after = relu(A @ x), relu(x)
    best = torch.linalg.lstsq(after.T, wanted.T).solution.T
    for which, B in {"φ(A)": phi(relu, A), "the best B": best}.items():
        left = (B @ after - wanted).square().sum() / wanted.square().sum()
        print(f"{name}: {which} leaves {100 * left:.0f} %")

# %% [markdown]
# The turn is not in the group: even the best $B$ leaves a part.
#
# ## The whole network
#
# In a network of $k$ layers every hidden layer $i$ gets an element $A_i$ of its group, and the weights become
#
# ```{math}
# :label: eq-moved
# \begin{aligned}
# &W_i' = A_i\, W_i\, \varphi(A_{i-1}^{-1}),\qquad b_i' = A_i\, b_i,\qquad\\
# &\quad A_0 = A_k = I.
# \end{aligned}
# ```
#
# All weights that {eq}`eq-moved` makes of $(W, b)$ form the *orbit* of $(W, b)$.
#
# :::{prf:proposition} An orbit has one function
# :label: prop-orbit
# The weights $W', b'$ compute the function of $W, b$.
# :::
#
# :::{prf:proof}
# If layer $i-1$ gives $\varphi(A_{i-1})h$ instead of $h$, then $W_i'\varphi(A_{i-1})h + b_i' = A_i(W_ih + b_i)$.
# So layer $i$ gives $\sigma(A_i(W_ih + b_i)) = \varphi(A_i)\,\sigma(W_ih + b_i)$.
# By induction every hidden layer gives $\varphi(A_i)$ times its old value, and as $A_k = I$ the output is the old one.
# :::
#
# For ReLU, $A_i$ is a permutation with positive scalings, and $\varphi(A_i) = A_i$.
# We draw one for each hidden layer of the trained network:

# %%
draws = [GReLU(n).sample(generator, scale=scale) for n in widths]
elements = {f"relu{i}": A for i, A in enumerate(draws, 1)}
by_hand = copy.deepcopy(network)
for i, A in enumerate(elements.values(), 1):
    before, after = by_hand[2 * i - 2], by_hand[2 * i]  # of the i-th ReLU
    before.weight.copy_(A.to(device) @ before.weight)
    before.bias.copy_(A.to(device) @ before.bias)
    after.weight.copy_(after.weight @ torch.linalg.inv(A).to(device))

moved = find_symmetries(network, x_test[:1]).act(network, elements)
for name, net in {"by hand": by_hand, "find_symmetries": moved}.items():
    apart = relative_error(net(x_test), network(x_test))
    print(f"{name}: outputs differ by {apart:.0e}")

# %% tags=["remove-input"] figure="fig-same-function"
before_and_after(experiments.changes(network, moved, x_test))

# %% [markdown]
# So the value of a single weight, or of a single hidden activation, is no property of the function
# ({numref}`fig-same-function`).
#
# ## One set of numbers decides
#
# *The scalings of one neuron determine the whole group.*
# Change the activation of {numref}`fig-twin` and look for the moves that leave its outputs as they are.
#
# :::{prf:theorem} Reduction to scalars
# :label: thm-scalars
# Let $n\ge 2$ and let σ be measurable and not affine.
# With $\Sigma_n$ for the permutation matrices,
#
# $$\begin{aligned}
# G_{\sigma_n} &= \{P D :\ P \in \Sigma_n,\ D = \mathrm{diag}(d),\\
# &\qquad d_i\in H_\sigma\},\\
# H_\sigma &= \{a\ne 0 :\ \exists\, b\ \forall x\ \ \sigma(ax) = b\,\sigma(x)\}.
# \end{aligned}$$ (eq-scalars)
# :::
#
# :::{prf:proof}
# Row $i$ of $\sigma(Ax) = B\sigma(x)$ reads $\sigma(\sum_j a_{ij}x_j) = \sum_j b_{ij}\sigma(x_j)$.
# Suppose that the row has two nonzero entries, and fix the other coordinates.
# Then σ solves Pexider's equation $\sigma(u+v) = p(u)+q(v)$, whose measurable solutions are affine.
# So every row has one nonzero entry $a$, say at $j$, and $A = PD$.
# Row $i$ now reads $\sigma(ax_j) = \sum_k b_{ik}\sigma(x_k)$; σ is not constant, so $b_{ik} = 0$ for $k \ne j$,
# and $a \in H_\sigma$.
# Conversely every such $PD$ can be pulled through.
# :::
#
# If σ has at most finitely many discontinuities, $H_\sigma$ is of one of five kinds:
# $\{1\}$ (*trivial*), $\{\pm1\}$ (*signs*), $\mathbb R_{>0}$ (*positive*), all numbers but 0 (*nonzero*),
# or the powers of one number, with or without signs (*discrete*).
#
# :::{prf:proof}
# :class: dropdown
#
# We show that $H_\sigma$ is closed in $\mathbb R^*$, the nonzero numbers, whose closed subgroups are these five.
# Each $a\in H_\sigma$ maps the set of discontinuities onto itself,
# so $H_\sigma$ is finite if σ is discontinuous at some $x\ne0$.
# Otherwise let $a_m\to a\ne0$ with $\sigma(a_mx) = b_m\sigma(x)$.
# Take an $x\ne0$ with $\sigma(x)\ne0$; if there is none, $H_\sigma = \mathbb R^*$.
# Then $b_m$ converges to $b = \sigma(ax)/\sigma(x)$, and $\sigma(ax) = b\,\sigma(x)$ for all $x\ne0$.
# At $x = 0$ either $\sigma(0) = 0$, or all $b_m$ are 1 and so is $b$.
# :::
#
# To test one $a$, fit the multiple on a grid of $x$ and look at what is left:
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
# If 2 and 3 pass, so does every $2^j3^k$ with integers $j$ and $k$.
# These numbers come arbitrarily close to every positive number, and $H_\sigma$ is closed, so all of them pass.
# Otherwise we search for one number that passes, of size $e^{0.05}$ to $e^7$ and either sign; its powers then pass.


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


for name in ("tanh", "ReLU", "|x|", "x cos log|x|"):
    print(f"{name}: {scalar_kind(experiments.GALLERY[name])}")

# %% tags=["remove-cell"]
for sigma in experiments.GALLERY.values():
    assert scalar_kind(sigma) == str(scalar_group(sigma))

# %% tags=["remove-input"] figure="fig-scalars"
figures.scalar_strip(experiments.residuals(residual))

# %% [markdown]
# {numref}`fig-scalars` shows all five kinds.
# The discrete one is that of $x\cos\log|x|$: a factor $e^{\pi}$ of $x$ multiplies the function by $-e^{\pi}$.
# Such a test is no proof.
# The library, which first sets affine activations aside, agrees with a derivation by hand
# for all {glue:text}`activations` activations that we tried.
#
# (sec-table-1)=
# ### Table 1 of the paper
#
# *Of the paper's six rows four hold as printed; LeakyReLU and $x^d$ need a condition.*
# The table tries LeakyReLU at two slopes and $x^d$ at three degrees.
# On the paper's groups the paper's φ agrees with {eq}`eq-phi`.
# |A|, A⊙2 and A⊙3 have the absolute values, squares and cubes of the entries.

# %% tags=["remove-cell"]
any_point = experiments.any_point(trials, generator)
table_1 = experiments.table_1(3, generator)
extended = experiments.activation_table(n=3)

# %% tags=["remove-input"]
story.table_1(table_1)

# %% [markdown]
# :::{admonition} Errata: Godfrey et al. 2022, Table 1
# :class: warning
# *LeakyReLU*: "same as ReLU as long as negative slope ≠ 1".
# At slope −1 it is $|x|$, whose group is larger: all nonzero scalings.
# *Polynomial* $x^d$: needs $d\ge 2$; $x^1$ is linear, and its group is all of $GL_n$.
# :::
#
# The activations of {numref}`fig-scalars`, with *dimension* and *pieces* (connected components) of the group
# for $n = 3$:

# %% tags=["remove-input"]
story.activations(experiments.activation_table(experiments.GALLERY, n=3))

# %% [markdown]
# (sec-orbits)=
# ## A larger group makes larger orbits
#
# {numref}`fig-orbits` draws the orbit of one neuron, $f(x) = v\,\sigma(wx)$:
# an $a \in H_\sigma$ with $\sigma(ax) = b\,\sigma(x)$ takes $(w, v)$ to $(aw,\ v/b)$.

# %%
four = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}
four |= {"ReLU": torch.relu, "|x|": torch.abs}
a_tried = [s * 2 ** (k / 8) for k in range(-16, 17) for s in (1, -1)]
w, v, one, orbit = 1.5, 1.0, torch.ones(1).double(), {}
for name, sigma in four.items():
    inside = [1] + [a for a in a_tried if residual(sigma, a) < 1e-9]
    b = [(sigma(a * one) / sigma(one)).item() for a in inside]
    pairs = zip(inside, b, strict=True)
    orbit[name] = [(a * w, v / factor) for a, factor in pairs]
    print(f"{name}: {len({w for w, _ in orbit[name]})} points of the grid")

# %% tags=["remove-input"] figure="fig-orbits"
scalars = dict(zip(orbit, ["{1}", "{±1}", "a > 0", "a ≠ 0"], strict=True))
groups = "permutations", "signed permutations", "G_ReLU", "nonzero monomial"
figures.orbits_of_a_neuron({f"{k}: {scalars[k]}": orbit[k] for k in orbit}, groups)

# %% [markdown]
# A layer of 64 neurons can also be reordered.
# With weights in general position its orbit has $64! \approx 10^{89}$ points with sigmoid
# and $2^{64}\cdot64! \approx 10^{108}$ with tanh;
# with ReLU it has $64!$ pieces of dimension 64.
# {ref}`sec-all` asks whether an orbit holds *all* weights with one function.
#
# Before the weights of two networks are compared, one of them has to be moved along its orbit
# ({doc}`03_stitching`, {doc}`04_dissimilarity`).
#
# ## Why the axes of a ReLU layer are special
#
# {numref}`fig-rays` moves points of the plane by random elements of $G_{\mathrm{ReLU}}$.
# A *ray* is a half-line from the origin, $\mathbb R_{\ge0}v$.

# %% figure="fig-rays"
moves = [GReLU(2).sample(generator) for _ in range(200)]


def images(v):
    """The point v, and where the elements of the group take it."""
    v = torch.tensor(v, dtype=torch.float64)
    return torch.stack([v, *(A @ v for A in moves)])


axes = {"$e_1$": images([1.0, 0.0]), "$e_2$": images([0.0, 1.0])}
other = {"$v$": images([1.5, 0.75])}
figures.moved_points({"two axes": axes, "another direction": other})

# %% [markdown]
# :::{prf:theorem} {cite}`godfrey2022`, Theorem 3.3
# :label: thm-rays
# $G_{\mathrm{ReLU}_n}$ is the *stabiliser* of the set of rays $\{\mathbb R_{\ge0}e_i\}$: the matrices in $GL_n$
# that map this set to itself.
# If all its elements map a finite set of rays $\mathbb R_{\ge0}v_1,\dots,\mathbb R_{\ge0}v_N$, $v_i \ne 0$, to itself,
# then every $v_i$ is a positive multiple of some $\pm e_j$.
# :::
#
# :::{prf:proof}
# $A$ permutes the rays of the $e_i$ iff its columns are positive multiples of different $e_j$.
# If $v$ has two nonzero entries, scaling one of them by all $d > 0$ gives infinitely many rays.
# :::
#
# The symmetries of a ReLU layer permute the axes of its neurons.
# They take every direction off the axes to infinitely many.
# {doc}`05_interpretability` asks whether concepts lie along the axes.

# %% tags=["remove-cell"]
checks = experiments.checks(trials, generator)

# %% [markdown]
# ## Adapt this
#
# Replace the class by your activation, and the network by any module that the library can run once
# ({doc}`01c_any_network`).
# You can copy the cell into a file of your own, as in all chapters
# (chapter 2 needs `pip install '.[book]'`).

# %%
from torch import manual_seed, nn, randn

from intertwine.groups import intertwiner_group
from intertwine.weightspace import find_symmetries, relative_error


class Sigma(nn.Module):  # your activation
    def forward(self, z):
        return nn.functional.leaky_relu(z, 0.2) ** 3


draw = manual_seed(0)
mine = nn.Sequential(nn.Linear(7, 20), Sigma(), nn.Linear(20, 4))
mine, inputs = mine.double().eval(), randn(100, 7).double()
G = intertwiner_group(Sigma(), 20)
other = find_symmetries(mine, inputs).act(mine, {"0": G.sample(draw)})
print(G.scalars, f"{relative_error(other(inputs), mine(inputs)):.0e}")

# %% [markdown]
# ## Deviations from the papers
#
# | | printed | here |
# |---|---|---|
# | how the groups are found | appendix E.2, which we have not seen | {prf:ref}`thm-scalars`, and values of σ |
# | {prf:ref}`lem-phi` | $\sigma(I_n)$ invertible | other $tI_n$ are tried as well |
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
# No other scalar does: $\sigma(ax)$ and $b\sigma(x)$ have to stop growing at the same $x$.
# ::::
#
# :::{exercise}
# :label: ex-orthogonal
# Which elements of $G_{\mathrm{ReLU}}$ are orthogonal?
# :::
#
# ::::{solution} ex-orthogonal
# :class: dropdown
# $PD$ is orthogonal iff $D^2 = I$, and $D$ is positive: only permutations are.
# {doc}`02_sanity_rotations` measures what other orthogonal matrices cost.
# ::::
#
# :::{exercise}
# :label: ex-angle
# *With data.*
# Turn the trained network's first layer by an angle before an activation, two neurons at a time.
# Draw the share of the mean square that the best matrix after the activation leaves, for ReLU, tanh, GELU and $|x|$.
# At which angles is it 0?
# :::
#
# ::::{solution-start} ex-angle
# :class: dropdown
# ::::

# %% figure="fig-ex-angle"
pre = network.fc1(x_test).cpu()[:, : widths[0] // 2 * 2]
tried = {"ReLU": relu, "tanh": torch.tanh, "GELU": nn.GELU(), "|x|": abs}
rows = []
for degrees in range(0, 181, 15):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    pair = torch.tensor([[c, -s], [s, c]]).double()
    R = torch.block_diag(*[pair] * (pre.shape[1] // 2))
    for name, sigma in tried.items():
        target = sigma(pre @ R.T)
        best = torch.linalg.lstsq(sigma(pre), target, driver="gelsd").solution
        rest = sigma(pre) @ best - target
        left = 100 * (rest.square().sum() / target.square().sum()).item()
        rows.append({"angle": degrees, "activation": name, "left": left})
axes = {"xlabel": "angle, degrees", "ylabel": "left, % of the mean square"}
mean_curves(pd.DataFrame(rows), "angle", "left", "activation", **axes)

# %% [markdown]
# A quarter turn of two neurons is a swap with one sign, a half turn is $-I$ ({numref}`fig-ex-angle`).
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-pruning
# *With data.*
# Find a rule of pruning that removes the same neurons from the network and its rescaled twins.
# Does it do so on the whole orbit?
# :::
#
# ::::{solution-start} ex-pruning
# :class: dropdown
# ::::
# A scaling of layer 1 keeps the product of two norms, of the incoming and of the outgoing weights of a neuron.
# A scaling of layer 2 does not keep it: by {eq}`eq-moved` it multiplies the rows of $W_2$,
# and the outgoing weights are the columns.
# The loss without the neuron is a rule for the whole orbit, as removing a neuron commutes with {eq}`eq-moved`.


# %%
def product(net):
    entering = torch.cat([net.fc1.weight, net.fc1.bias[:, None]], 1)
    return entering.norm(dim=1) * net.fc2.weight.norm(dim=0)


def loss_without(net):
    """The training loss without each neuron of layer 1."""
    others = [copy.deepcopy(net) for _ in range(widths[0])]
    for neuron, other in enumerate(others):
        other.fc2.weight[:, neuron] = 0
    return torch.stack([loss(net(x_train), train.labels) for net in others])


for rule in (product, loss_without):
    left = [accuracy(pruned(net, half, rule)) for net in (*twins, moved)]
    print(f"{rule.__name__}:", ", ".join(f"{each:.1f} %" for each in left))

# %% [markdown]
# The last network has both layers moved.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-almost
# *Open.*
# GELU is nearly ReLU for large $|x|$, and its group has no scalings.
# Define the matrices that can be pulled through *up to ε* on a given distribution of inputs; they form no group.
# Does a trained GELU network behave as if its group were $G_{\mathrm{ReLU}}$?
# :::
#
# ## Summary
#
# - The invertible matrices that can be pulled through an activation σ form a group $G_\sigma$.
#   Unless σ is affine, they are permutations with scalings from one group of scalars ({prf:ref}`thm-scalars`).
# - Moving weights by {eq}`eq-moved` changes weights and hidden activations and not the function.
#   What differs along an orbit, such as the norm of a neuron's weights, is no property of the function.
#
# Two ways on: {doc}`02_sanity_rotations` needs only this chapter and tests it on trained networks;
# {doc}`01b_weight_space` stays with the weights.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
run = results.run(globals(), "01_intertwiner_groups", data=train)
kinds = experiments.beside_proved(extended)
run.write(any_point=any_point, table_1=table_1, table_1_extended=kinds, **checks)
live = {"accuracy": accuracy(network), "tested": len(x_test)}
live |= story.kept(prunings, half) | {"activations": len(extended)}
tell(story.facts_of(checks), live)
results.provenance(run.folder)
