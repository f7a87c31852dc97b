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
# **You need** matrices, the word *group*, and a network as affine maps with activations.
#
# **You will learn** which changes of the weights leave a function alone, for any activation.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/01_intertwiner_groups>`.
# :::
#
# ## The question
#
# A common rule makes a network smaller: remove the neurons whose incoming weights have the smallest norm
# {cite}`li2017`.
# But multiply the weights into a ReLU neuron and its bias by $a > 0$, and divide the weights out of it by $a$:
# this *twin* of the network computes the same function, and the rule may remove other neurons.
# *Which changes may I make to the weights before an activation without changing the function?*
#
# **Neurons may change places, and each may be multiplied by a number from a group that depends on the activation**:
# the positive ones for ReLU, ±1 for tanh, 1 alone for GELU.
# Unless the activation is affine, a matrix after it can undo no other linear change.
# In {numref}`fig-twin`, scale neurons until the pruned network reads most digits.

# %% tags=["hide-input"] figure="fig-twin"
from intertwine_book.live.orbit import of_digits

of_digits("relu", "tanh", "abs", name="twin")

# %% [markdown]
# :::{figure} #fig-twin
# ---
# alt: >-
#   Ten digits with two rows of answers, eight pictures of weights, a bar for each norm, three of them dashed.
#   A reader chooses a neuron and scales it, swaps it or changes its sign, turns neurons in pairs,
#   and chooses the activation.
# ---
# Scaling or swapping neurons leaves the answers of a trained network as they are; a scaling may change which neurons
# pruning removes.
# Top: ten digits, the answers of the network, and those without the three neurons of smallest norm
# (red, underlined: another answer).
# Below: the incoming weights of its eight neurons, and their norms (dashed: removed).
# Computed by this page.
# :::

# %% tags=["hide-input"]
import copy
import math

import numpy as np
import pandas as pd
import torch
from matplotlib.colors import LinearSegmentedColormap
from scipy.optimize import minimize_scalar
from torch import nn

from intertwine import devices
from intertwine.groups import GReLU, scalar_group
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book import data
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.schematics import neuron_diagram, pull_through
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, new_figure, use_style
from intertwine_book.live.pull import pull
from intertwine_book.models import fcn

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and group elements
widths: list[int] = [32, 32]  # of the hidden layers
epochs: int = 30
scale: float = 1.0  # standard deviation of the logarithms of the scalings
twins: int = 20  # rescaled networks

# %% [markdown]
# (sec-swap-scale)=
# ## Two neurons, swapped and scaled
#
# Two hidden neurons suffice to see both changes that ReLU allows {cite}`swap-and-scale-2022`, for
#
# $$f(x) = 3\,\mathrm{ReLU}(x + \tfrac12) - \mathrm{ReLU}(-2x + 1).$$
#
# *Swap*: exchange the neurons with all their edges.
# *Scale*: multiply what enters a neuron, its bias included, by $\alpha > 0$, and divide what leaves it by α
# ({numref}`fig-swap-scale`), as $\mathrm{ReLU}(\alpha z) = \alpha\,\mathrm{ReLU}(z)$.

# %% tags=["hide-input"] figure="fig-swap-scale"
red_first = {"colours": [COLOURS["red"], COLOURS["blue"]]}
neurons = {"W1": [[1.0], [-2.0]], "b1": [0.5, 1.0], "W2": [[3.0, -1.0]]}
swapped = {"W1": [[-2.0], [1.0]], "b1": [1.0, 0.5], "W2": [[-1.0, 3.0]]}
scaled = {"W1": [[2.0], [-2.0]], "b1": [1.0, 1.0], "W2": [[1.5, -1.0]]}
drawn = {"as given": neurons, "swapped": swapped | red_first, "blue scaled by 2": scaled}
for net in (swapped, scaled):  # have the function of the first
    at = np.linspace(-2, 2, 5)[:, None]
    one, other = (
        np.maximum(at @ np.transpose(n["W1"]) + n["b1"], 0) @ np.transpose(n["W2"])
        for n in (neurons, net)
    )
    assert np.array_equal(one, other)
neuron_diagram(drawn)

# %% [markdown]
# :::{figure} #fig-swap-scale
# ---
# alt: >-
#   Three networks with one input, a blue and a red hidden neuron and one output.
#   In the second the hidden neurons have changed places with their edges.
#   In the third the edge and the bias into the blue neuron are doubled, and the edge out of it is halved.
# ---
# A swap and a scaling change the weights and not the function.
# Numbers on edges are weights, in circles biases.
# :::

# %% [markdown]
# The hidden activations change, and their weighted sum does not:
#
# | | hidden at $x = 0$ | $f(0)$ | hidden at $x = 1$ | $f(1)$ |
# |---|---|---|---|---|
# | as given | $(\tfrac12, 1)$ | $3\cdot\tfrac12 - 1 = \tfrac12$ | $(\tfrac32, 0)$ | $3\cdot\tfrac32 = \tfrac92$ |
# | swapped | $(1, \tfrac12)$ | $-1 + 3\cdot\tfrac12 = \tfrac12$ | $(0, \tfrac32)$ | $3\cdot\tfrac32 = \tfrac92$ |
# | blue scaled by 2 | $(1, 1)$ | $\tfrac32\cdot1 - 1 = \tfrac12$ | $(3, 0)$ | $\tfrac32\cdot3 = \tfrac92$ |
#
# *Note.* The post allows any nonzero α; a negative one changes this function ({ref}`record <rec-scale>`).
#
# ## Pulling a matrix through an activation
#
# Swaps and scalings are matrices.
# *For which invertible $A$ is there an invertible $B$ with $\sigma(Ax) = B\sigma(x)$ for all $x$?*
# Such an $A$ *can be pulled through* σ, and the inverse of $B$ after σ undoes it ({numref}`fig-pull`).

# %% tags=["hide-input"] figure="fig-pull"
pull_through()

# %% [markdown]
# :::{figure} #fig-pull
# ---
# alt: >-
#   Three rows of boxes.
#   First W1, sigma, W2.
#   Then W1, A, sigma, the inverse of B, W2.
#   Then A times W1, sigma, W2 times the inverse of B.
# ---
# A matrix that can be pulled through the activation changes the weights and not the function.
# Blue: the weights as trained; green: inserted matrices; orange: the new weights.
# :::

# %% [markdown]
# *Try it.*
# {numref}`fig-drag` has ReLU, and starts with a turn by 45°.
# For your $A$ it looks for the best $B$ and shows what remains: the lines, and their mean square as a share.
# No remainder means that $A$ can be pulled through.
# Can an $A$ with a negative entry do it?
# Can it with another activation?

# %% tags=["hide-input"] figure="fig-drag"
pull()

# %% [markdown]
# :::{figure} #fig-drag
# ---
# alt: >-
#   Left a grid of points with two knobs; right the moved points, each joined with a ring by a line.
#   Buttons choose the activation and some matrices, sliders the entries of the matrix.
#   The percentage that the best matrix leaves stands below.
# ---
# A turn by 45° cannot be pulled through ReLU: the lines are what even the best B leaves.
# Drag the columns of A, the green knobs.
# Left a grid of points x, in the colours of its quadrants.
# Right dots at ReLU(Ax), rings at B ReLU(x), and lines from each dot to its ring.
# :::

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
# If $\sigma(I_n)$ is singular, put $\varphi(A) = \sigma(tA)\,\sigma(tI_n)^{-1}$.
# For every continuous σ that is not constant some $t$ works: the eigenvalues of $\sigma(tI_n)$ are
# $\sigma(t) - \sigma(0)$ and $\sigma(t) + (n-1)\sigma(0)$.
# Outside the group {eq}`eq-phi` need not be multiplicative ({ref}`record <rec-phi-on-gl>`).
#
# In code, for a swap with scalings and for the turn:

# %%
relu, side = torch.relu, torch.linspace(-1, 1, 17).double()
x = torch.cartesian_prod(side, side).T  # points of a grid, as columns


def phi(sigma, A):
    """What A becomes after the activation."""
    one = torch.eye(len(A), dtype=torch.float64)
    return sigma(A) @ torch.linalg.inv(sigma(one))


def left(A, B):
    """The share of the mean square of ReLU(Ax) that B ReLU(x) leaves."""
    rest = relu(A @ x) - B @ relu(x)
    return (rest.square().sum() / relu(A @ x).square().sum()).item()


# %%
swap = torch.tensor([[0.0, 1.3], [0.7, 0.0]]).double()
turn = 0.5**0.5 * torch.tensor([[1.0, -1.0], [1.0, 1.0]]).double()
best = torch.linalg.lstsq(relu(x).T, relu(turn @ x).T).solution.T
print(f"scaled swap: φ(A) leaves {left(swap, phi(relu, swap)):.0%}")
print(f"turn: φ(A) leaves {left(turn, phi(relu, turn)):.0%}")
print(f"turn: the best B leaves {left(turn, best):.0%}")

# %% [markdown]
# The turn is not in the group: even the best $B$ leaves a part.
#
# ## The whole network
#
# Let $f(x) = W_k\,\sigma(\cdots\sigma(W_1x + b_1)\cdots) + b_k$, without an activation at the end.
# Every hidden layer $i$ gets an element $A_i$ of its group, and the weights become
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
# We draw one for each hidden layer of a network that this page trains on handwritten digits:

# %% tags=["hide-input"]
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
drawn = [GReLU(n).sample(generator, scale=scale).to(device) for n in widths]
moved = copy.deepcopy(network)
layers = [layer for layer in moved if isinstance(layer, nn.Linear)]
for A, before, after in zip(drawn, layers[:-1], layers[1:], strict=True):
    before.weight.copy_(A @ before.weight)
    before.bias.copy_(A @ before.bias)
    after.weight.copy_(after.weight @ torch.linalg.inv(A))

others = (moved.fc1.weight != network.fc1.weight).double().mean()
outputs = relative_error(moved(x_test), network(x_test))
print(f"{others:.0%} of the first weights have changed")
print(f"the outputs differ by {outputs:.0e}")

# %% tags=["hide-input"]
space = find_symmetries(network, x_test[:1])
by_library = space.act(network, {f"relu{i}": A.cpu() for i, A in enumerate(drawn, 1)})
for mine, theirs in zip(moved.parameters(), by_library.parameters(), strict=True):
    assert relative_error(mine, theirs) < 1e-12

# %% [markdown]
# The weights have changed, the outputs have not, to rounding.
# So the value of a single weight, or of a single hidden activation, is no property of the function.
# A rule that reads such values may treat networks with one function differently.
# Pruning by norms does:


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


# %% tags=["hide-input"] figure="fig-pruning"
factors = (
    (scale * torch.randn(twins, widths[0], generator=generator).double()).exp().to(device)
)
rescalings = [rescaled(network, a) for a in factors]
counts = range(widths[0])
kept = np.array(
    [[accuracy(pruned(net, k)) for k in counts] for net in (network, *rescalings)]
)
fewest, most = kept[1:].min(0), kept[1:].max(0)

figure, axis = new_figure(height=2.8)
axis.fill_between(counts, fewest, most, color=COLOURS["blue"], alpha=0.25, lw=0)
axis.plot(counts, kept[0], color=COLOURS["ink"], lw=2)
low, high = widths[0] // 4, 3 * widths[0] // 4
axis.text(high, kept[0, high] + 4, "as trained", color=COLOURS["ink"])
axis.text(
    low, fewest[low] - 12, f"range of {twins} twins", color=COLOURS["blue"], ha="right"
)
axis.set(xlabel="neurons removed", ylabel="right answers, %", ylim=(0, 103))
figure

# %% [markdown]
# :::{figure} #fig-pruning
# ---
# alt: >-
#   Right answers in percent against the number of neurons removed: a line for the network as trained inside a band for
#   its rescaled twins, which is narrow at first and then tens of points wide.
# ---
# Pruning by the norm of incoming weights treats networks with one function differently.
# Right answers on test images without the neurons of the first layer whose incoming weights are smallest.
# Each twin has lognormal scalings.
# Handwritten digits, the run of this page.
# :::

# %% [markdown]
# All networks in {numref}`fig-pruning` compute one function; without their smallest neurons they differ.
#
# ## One set of numbers decides
#
# *The scalings of one neuron determine the whole group.*
# Change the activation of {numref}`fig-twin` and look for the moves that leave its outputs as they are.
#
# :::{prf:theorem} Reduction to scalars
# :label: thm-scalars
# Let σ be measurable and not affine.
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
# Suppose that the row has two nonzero entries $a_{ij}$ and $a_{ik}$; put the other coordinates at 0,
# $u = a_{ij}x_j$ and $v = a_{ik}x_k$.
# Then σ solves Pexider's equation $\sigma(u+v) = p(u)+q(v)$, whose measurable solutions are affine.
# So every row has one nonzero entry $a$, say at $j$, and $A = PD$.
# Row $i$ now reads $\sigma(ax_j) = \sum_k b_{ik}\sigma(x_k)$; σ is not constant, so $b_{ik} = 0$ for $k \ne j$,
# and $a \in H_\sigma$.
# Conversely, let $d_i \in H_\sigma$ have the factor $b_i$, so that $\sigma(d_ix) = b_i\sigma(x)$.
# If a $b_i$ were 0, σ would be 0; so $B = P\,\mathrm{diag}(b)$ is invertible, and $PD$ can be pulled through.
# :::
#
# {cite:t}`pacini2024` describe more generally which representations of a group a coordinatewise activation is
# compatible with.
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
# (sec-groups)=
# ### The groups of this book
#
# All pages name groups by these words.
# The first four have the first four kinds of scalars; *discrete* ones occur only in {numref}`fig-scalars`.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - group
#   - scalings
#   - of the activations
#   - $\varphi(A)$
# * - *permutations*
#   - 1
#   - sigmoid, GELU, SiLU, softplus
#   - $A$
# * - *permutations with signs*
#   - ±1
#   - tanh, sin; Gaussian
#   - $A$; $\lvert A\rvert$
# * - *permutations with positive scalings*, the group of ReLU, $G_{\mathrm{ReLU}}$
#   - $d > 0$
#   - ReLU, LeakyReLU; squared ReLU
#   - $A$; squares
# * - *permutations with nonzero scalings*
#   - $d \ne 0$
#   - $\lvert x\rvert$; $x^p$ for $p\ge2$
#   - $\lvert A\rvert$; $p$-th powers
# * - *all invertible matrices*
#   - –
#   - no activation (a linear network)
#   - $A$
# :::
#
# Absolute values, squares and powers are those of the entries.
# *Orthogonal matrices* are the group of no coordinatewise activation; RMS norms allow them ({doc}`01c_any_network`).
#
# (sec-table-1)=
# *Note.* Of the six rows of the paper's table of groups {fact}`01_intertwiner_groups.rows_that_hold:.0f` hold as
# printed.
# LeakyReLU needs a slope other than −1, where it is $|x|$, and $x^d$ needs $d \ge 2$ ({ref}`record <rec-table-1>`).
#
# ### The scalings of any activation
#
# For a given $a$, fit $b$ on a grid of $x$ and look at what is left:
#
# $$r(a) = \min_b \frac{\lVert\sigma(ax) - b\,\sigma(x)\rVert}{\lVert\sigma(ax)\rVert}.$$ (eq-residual)

# %%
tried = [s * 1.01**k for k in range(-700, 340) for s in (-1, 1)]
tried = torch.tensor(tried, dtype=torch.float64)


def residual(sigma, a):
    """0 where σ(ax) is a multiple of σ(x)."""
    u, v = sigma(tried), sigma(a * tried)
    return ((v - (u @ v) / (u @ u) * u).norm() / v.norm()).item()


# %% [markdown]
# If 2 and 3 pass, so does every $2^j3^k$ with integers $j$ and $k$.
# These numbers come arbitrarily close to every positive number, and $H_\sigma$ is closed, so all of them pass.
# If not, we look for a single $a > 1$, or $a < -1$, that passes.
# Its powers pass as well.


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


# %% tags=["hide-input"]
gallery = {
    "GELU": nn.GELU(),
    "softplus": nn.Softplus(),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "sin": torch.sin,
    "Gaussian": lambda x: torch.exp(-x * x / 2),
    "ReLU": torch.relu,
    "LeakyReLU(0.1)": nn.LeakyReLU(0.1),
    "squared ReLU": lambda x: torch.relu(x) ** 2,
    "|x|": torch.abs,
    "x³": lambda x: x**3,
    "x cos log|x|": lambda x: x * torch.cos(x.abs().clamp(min=1e-300).log()),
}
for sigma in gallery.values():
    assert scalar_kind(sigma) == str(scalar_group(sigma))

# %% tags=["hide-input"] figure="fig-scalars"
logs = [*np.linspace(-4, 4, 41), -np.pi, np.pi]
numbers = sorted(sign * math.exp(t) for t in logs for sign in (-1, 1))
cells = [[residual(sigma, a) for a in numbers] for sigma in gallery.values()]
tones = [COLOURS["blue"], "#9fc9e4", "#e9eef2"]
shades = LinearSegmentedColormap.from_list("residual", tones)
named = {-20: "−20", -1: "−1", -0.05: "−1/20", 0.05: "1/20", 1: "1", 20: "20"}
places = [np.abs(np.subtract(numbers, a)).argmin() + 0.5 for a in named]

figure, axis = new_figure(height=0.26 * len(cells) + 0.9)
logs = np.log10(
    np.clip(cells, 1e-12, 1.0)
)  # cells of equal width: a group may be a single number
axis.pcolormesh(logs, cmap=shades, vmin=-12, vmax=0, edgecolors="white", linewidth=0.3)
axis.invert_yaxis()
axis.grid(False)
axis.set_yticks(np.arange(len(cells)) + 0.5, [*gallery])
axis.set_xticks(places, named.values())
axis.axvline(len(numbers) // 2, color=COLOURS["ink"], lw=1)
axis.tick_params(length=0)
axis.spines[:].set_visible(False)
axis.set_xlabel("a")
figure

# %% [markdown]
# :::{figure} #fig-scalars
# ---
# alt: >-
#   A row of coloured cells for each of twelve activations over the scalar a from minus 55 to 55.
#   GELU, softplus and sigmoid are blue only at 1; tanh, sin and the Gaussian at plus and minus 1;
#   ReLU kinds on the positive half; absolute value and cube everywhere; x cos log x at isolated points.
# ---
# All five kinds of scalars occur among twelve activations.
# Blue: σ(ax) is a multiple of σ(x) to rounding; the paler, the worse the best multiple fits.
# Both halves of the axis are logarithmic.
# :::

# %% [markdown]
# {numref}`fig-scalars` shows all five kinds.
# The discrete one is that of $x\cos\log|x|$: a factor $e^{\pi}$ of $x$ multiplies the function by $-e^{\pi}$.
# Such a test is no proof.
# The library, which first sets affine activations aside, agrees with a derivation by hand
# for all {fact}`01_intertwiner_groups.activations:.0f` activations that we tried ({ref}`record <rec-gallery>`).
#
# (sec-orbits)=
# ## A larger group makes larger orbits
#
# {numref}`fig-orbits` draws the orbit of one neuron, $f(x) = v\,\sigma(wx)$:
# an $a \in H_\sigma$ with $\sigma(ax) = b\,\sigma(x)$ takes $(w, v)$ to $(aw,\ v/b)$.

# %% tags=["hide-input"] figure="fig-orbits"
four = {"sigmoid": "{1}", "tanh": "{±1}", "ReLU": "a > 0", "|x|": "a ≠ 0"}
steps = [s * 2 ** (k / 8) for k in range(-16, 17) for s in (1, -1)]
w, v, one, orbit = 1.5, 1.0, torch.ones(1).double(), {}
for name, scalars in four.items():
    sigma = gallery[name]
    inside = [1] + [a for a in steps if residual(sigma, a) < 1e-9]
    b = [(sigma(a * one) / sigma(one)).item() for a in inside]
    orbit[f"{name}: {scalars}"] = [
        (a * w, v / factor) for a, factor in zip(inside, b, strict=True)
    ]
groups = "permutations", "signed permutations", "G_ReLU", "nonzero monomial"

figure, axes = new_figure(1, 4, height=2.0)
for axis, (title, pairs), group in zip(axes, orbit.items(), groups, strict=True):
    axis.axhline(0, color=COLOURS["grey"], lw=0.8)
    axis.axvline(0, color=COLOURS["grey"], lw=0.8)
    axis.plot(*zip(*pairs, strict=True), ".", ms=7, color=GROUP_COLOURS[group])
    axis.plot(w, v, "o", ms=7, color=COLOURS["ink"])
    axis.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
    axis.set_title(title, pad=14)  # above the name of the axis
    axis.text(3, -0.2, "$w$", ha="right", va="top")
    axis.text(0, 3, "$v$", ha="center", va="bottom")
    axis.spines[:].set_visible(False)
place = {"textcoords": "offset points", "ha": "center"}
axes[0].annotate(f"({w:g}, {v:g})", (w, v), (0, 6), **place)
figure

# %% [markdown]
# :::{figure} #fig-orbits
# ---
# alt: >-
#   Four small planes with axes w and v.
#   Sigmoid has one point, tanh two opposite points, ReLU one branch of a hyperbola, the absolute value two branches
#   that are mirror images.
# ---
# The orbit of a neuron is a point with sigmoid, two with tanh, a curve with ReLU and two curves
# with the absolute value.
# All pairs (w, v) on a fine grid of scalars for which v·σ(wx) is one function;
# the large dot is the pair we start from.
# :::

# %% [markdown]
# The neurons of a layer can also be reordered.
# With weights in general position a layer of 64 has an orbit of $64! \approx 10^{89}$ points with sigmoid.
# With ReLU it has as many pieces, each of dimension 64.
# {ref}`sec-all` asks whether an orbit holds *all* weights with one function.
#
# ## Why the axes of a ReLU layer are special
#
# {numref}`fig-rays` moves points of the plane by random elements of $G_{\mathrm{ReLU}}$.
# A *ray* is a half-line from the origin, $\mathbb R_{\ge0}v$.

# %% tags=["hide-input"] figure="fig-rays"
moves = [GReLU(2).sample(generator) for _ in range(200)]


def images(v):
    """The point v, and where the elements of the group take it."""
    v = torch.tensor(v, dtype=torch.float64)
    return torch.stack([v, *(A @ v for A in moves)])


two_axes = {"$e_1$": images([1.0, 0.0]), "$e_2$": images([0.0, 1.0])}
panels = {"two axes": two_axes, "another direction": {"$v$": images([1.5, 0.75])}}
figure, axes = new_figure(1, 2, height=2.8)
for axis, (title, points) in zip(axes, panels.items(), strict=True):
    for tone, (name, found) in zip(("blue", "orange"), points.items(), strict=False):
        (x, y), colour = found[0].tolist(), {"color": COLOURS[tone]}
        axis.plot([0, 9 * x], [0, 9 * y], lw=1, alpha=0.6, **colour)
        axis.plot(*found.T, ".", ms=4, mew=0, **colour)
        axis.plot(x, y, "o", ms=8, **colour)
        axis.annotate(name, (x, y), (5, 5), textcoords="offset points", **colour)
    limits = {"xlim": (-0.3, 3.0), "ylim": (-0.3, 3.0)}
    axis.set(title=title, **limits, aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    axis.grid(False)
figure

# %% [markdown]
# :::{figure} #fig-rays
# ---
# alt: >-
#   Left, a blue point and an orange one, each on an axis, and small points of both colours along both axes.
#   Right, a point off the axes, and small points all over the first quadrant.
# ---
# Every element keeps the two axes or exchanges them; the images of any positive point fill the quadrant.
# Large: points and their rays; small: images under 200 random elements of the group of ReLU.
# :::

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
# The symmetries of a ReLU layer permute the rays of its axes.
# Every direction other than those of $\pm e_j$ has infinitely many images.
# {doc}`05_interpretability` asks whether concepts lie along the axes.
#
# ## Which changes may I make before this activation?
#
# With `from intertwine import groups`, `from intertwine.weightspace import find_symmetries`, $n$ neurons, and a
# `torch.Generator` named `draw`:
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - the activation is
#   - you may, with one line
#   - beware
# * - ReLU, LeakyReLU
#   - reorder neurons and scale each by a positive number: `groups.GReLU(n).sample(draw)`
#   - Scale the bias, too. LeakyReLU of slope −1 is $|x|$.
# * - tanh, sin, Gaussian
#   - reorder and change signs: `groups.SignedPermutations(n).sample(draw)`
#   - An even activation loses the sign: $\varphi(A) = |A|$ after it.
# * - $|x|$, $x^d$
#   - reorder and scale by any number but 0: `groups.NonzeroMonomial(n).sample(draw)`
#   - Undo it by $\varphi(A)^{-1}$, not by $A^{-1}$.
# * - sigmoid, GELU, SiLU
#   - only reorder: `groups.Permutations(n).sample(draw)`
#   - Far from 0 GELU is nearly ReLU ({ref}`ex-almost`). With biases a sigmoid can be reflected
#     ({ref}`record <rec-shifts>`).
# * - nothing: two linear layers
#   - take any invertible matrix: `groups.GeneralLinear(n).sample(draw)`
#   - Only the product of both weights is a property of the function.
# * - an activation of your own
#   - ask the library: `groups.intertwiner_group(sigma, n)`
#   - A search over values of σ is no proof.
# * - a trained network
#   - move it, by a name that `print(space)` shows: `space = find_symmetries(net, x)`, then
#     `space.act(net, {"relu1": A})`
#   - Shortcuts and norms constrain the groups ({doc}`01c_any_network`).
# * - a rule that reads single weights, norms or units
#   - apply it to a moved network, too: `space.act(net, space.sample(draw))`
#   - If its answer changes, it does not see the function ({ref}`ex-pruning`).
# :::
#
# Before the weights of two networks are compared, one of them has to be moved along its orbit
# ({doc}`01d_orbits`, {doc}`03_stitching`).
#
# ## Adapt this
#
# Replace the class by your activation, and the network by any module that the library can run once.
# The cell runs alone, as in all chapters.

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

# %% tags=["hide-input"] figure="fig-ex-angle"
pre = network.fc1(x_test).cpu()[:, : widths[0] // 2 * 2]
bends = {"ReLU": relu, "tanh": torch.tanh, "GELU": nn.GELU(), "|x|": abs}
rows = []
for degrees in range(0, 181, 15):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    pair = torch.tensor([[c, -s], [s, c]]).double()
    R = torch.block_diag(*[pair] * (pre.shape[1] // 2))
    for name, sigma in bends.items():
        target = sigma(pre @ R.T)
        best = torch.linalg.lstsq(sigma(pre), target, driver="gelsd").solution
        rest = sigma(pre) @ best - target
        share = 100 * (rest.square().sum() / target.square().sum()).item()
        rows.append({"angle": degrees, "activation": name, "left": share})
axes = {"xlabel": "angle, degrees", "ylabel": "left, % of the mean square"}
mean_curves(pd.DataFrame(rows), "angle", "left", "activation", **axes)

# %% [markdown]
# :::{figure} #fig-ex-angle
# ---
# alt: >-
#   Share of the mean square in percent against the angle from 0 to 180 degrees, one line each for ReLU, tanh,
#   GELU and the absolute value.
# ---
# A turn costs nothing exactly at the angles where it lies in the group:
# 0°, 90° and 180° for tanh and the absolute value, whose groups have signs, and 0° for ReLU and GELU.
# First layer of the trained network.
# :::

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
# The loss without the neuron is a rule for the whole orbit, as removing a neuron commutes with {eq}`eq-moved`
# ({ref}`record <rec-pruning>`).


# %% tags=["hide-input"]
def product(net):
    entering = torch.cat([net.fc1.weight, net.fc1.bias[:, None]], 1)
    return entering.norm(dim=1) * net.fc2.weight.norm(dim=0)


def loss_without(net):
    """The training loss without each neuron of layer 1."""
    others = [copy.deepcopy(net) for _ in range(widths[0])]
    for neuron, other in enumerate(others):
        other.fc2.weight[:, neuron] = 0
    return torch.stack([loss(net(x_train), train.labels) for net in others])


nets = network, *rescalings[:2], moved
for rule in (product, loss_without):
    right = [accuracy(pruned(net, widths[0] // 2, rule)) for net in nets]
    print(f"{rule.__name__}:", ", ".join(f"{each:.1f} %" for each in right))

# %% [markdown]
# Right answers without half of the neurons: as trained, two twins, and the network with both layers moved.
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
# Two ways on: {doc}`02_sanity_rotations` needs only this chapter and tests it on trained networks;
# {doc}`01b_weight_space` stays with the weights.
