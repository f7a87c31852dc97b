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
# # 1b · Symmetries in weight space
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: intertwiner groups, φ, and how they move weights.
#
# **You will learn** what changes along an orbit and what does not, which quantities training conserves,
# how to move along an orbit to train faster, and what residual connections do to the symmetries.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# All weights of an orbit, made by {eq}`eq-moved`, compute the same function, so the loss is the same on the orbit.
# *Is the loss equally flat everywhere on an orbit?*
# No: {numref}`fig-valley` shows the orbit of a ReLU network with 8 hidden neurons that this page has trained.
# The loss is flat around one point and sharp around another {cite}`dinh2017`.

# %% tags=["hide-input"]
import functools
import itertools
import math

import numpy as np
import pandas as pd
import torch
from torch import nn

from intertwine import devices
from intertwine.groups import intertwiner_group
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book import data, results
from intertwine_book.experiments.weight_space import decay, flatness, orbits, statements
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.orbits import residual_block
from intertwine_book.figures.style import use_style
from intertwine_book.live.valley import of_digits
from intertwine_book.stories import tell
from intertwine_book.stories import weight_space as story

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation and group elements
scale: float = 1.0  # standard deviation of the logarithms of the scalings
trials: int = 5  # draws for each check, and networks for each comparison
rates: list[float] = [0.3, 1.0, 3.0, 6.0]  # learning rates of teleportation
steps: int = 500  # of training with weight decay
decays: list[float] = [0.0, 0.02, 0.05]  # weight decay

# %% tags=["remove-input"] figure="fig-valley"
of_digits().page()

# %% [markdown]
# Move the ball along the orbit: where is the valley widest?
# Drop it beside the orbit, as at the start, and let it descend.
# *Does it reach the widest place?*
#
# (sec-orbit)=
# ## Along an orbit the loss stays, its derivatives do not
#
# Multiply what enters the hidden neurons by $e^t$, and what leaves them by $e^{-t}$.
# The weights become $W(t) = g_tW$ with a linear $g_t$, and the chain rule gives
#
# $$\nabla L(W(t)) = g_t^{-\top}\,\nabla L(W),$$ (eq-gradient)
#
# $$\nabla^2 L(W(t)) = g_t^{-\top}\,\nabla^2 L(W)\,g_t^{-1}.$$ (eq-hessian)
#
# The eigenvalues of the Hessian may change without bound, but the numbers of positive, zero and negative ones stay
# (Sylvester's law of inertia).
# A network with 8 hidden neurons on the first eight principal components of the images is small enough for its
# whole Hessian:

# %%
device = devices.pick(device)
generator = torch.Generator().manual_seed(seed)
train = data.load(dataset, "train", device=device)
x = train.images.flatten(1).double()
components = torch.linalg.eigh(torch.cov(x.T).cpu())[1][:, -8:].to(device)
x_small, y_small = (x @ components)[:500] / 3, train.labels[:500]
theta = orbits.start((8, 8, len(train.classes)), generator)
theta = [w.to(device) for w in theta]
loss_of = orbits.cross_entropy(x_small, y_small)


def unpacked(flat):
    """W_1, b_1, W_2, b_2 from all weights in one vector."""
    parts = flat.split([w.numel() for w in theta])
    return [part.view_as(w) for part, w in zip(parts, theta, strict=True)]


def loss_at(flat):
    return loss_of(unpacked(flat))


# %%
point = torch.cat([w.flatten() for w in theta]).requires_grad_()
search = {"max_iter": 100, "line_search_fn": "strong_wolfe"}
optimiser = torch.optim.LBFGS([point], **search)


def closure():
    optimiser.zero_grad()
    loss = loss_at(point)
    loss.backward()
    return loss


optimiser.step(closure)
point = point.detach()

# %%
gradient_at = torch.func.grad(loss_at)
hessian_at = functools.partial(torch.autograd.functional.hessian, loss_at)


def factors(t):
    """The diagonal of g_t, for all weights in one vector."""
    W1, b1, W2, b2 = (torch.ones_like(w) for w in unpacked(point))
    parts = (math.exp(t) * W1, math.exp(t) * b1, math.exp(-t) * W2, b2)
    return torch.cat([w.flatten() for w in parts])


g, H = factors(1.0), hessian_at(point)
assert torch.allclose(loss_at(g * point), loss_at(point))
assert torch.allclose(gradient_at(g * point), gradient_at(point) / g)
assert torch.allclose(hessian_at(g * point), H / g[:, None] / g)


# %% tags=["remove-input"] figure="fig-orbit"
story.orbit()

# %% [markdown]
# {numref}`fig-orbit` follows the orbit of a recorded network of this kind, whose training ended at $t = 0$.
# The flattest of {glue:text}`points:.0f` points on it lies at $t =$ −{glue:text}`flattest:.1f`:
# the largest eigenvalue is {glue:text}`eigenvalue-flattest:.1f` there and {glue:text}`eigenvalue-end:.1f` at $t = 0$.
# {numref}`fig-level` shows the loss around two of its points.
# *Flatness, as the largest eigenvalue measures it, is a property of the weights and not of the function.*

# %% tags=["remove-input"] figure="fig-level"
story.level()

# %% [markdown]
# (sec-sharpness)=
# ### Sharpness that is constant on each orbit
#
# Let $|W|$ be the diagonal matrix of the absolute values of all weights.
# The *relative sharpness*
#
# $$\lambda_{\max}\bigl(|W|\;\nabla^2L(W)\;|W|\bigr)$$ (eq-relative)
#
# is constant on orbits of scalings, signs and permutations ({numref}`fig-orbit`).
# A permutation reorders rows and columns; for a diagonal $g$,
# $|gW| = |g|\,|W|$ cancels the factors of {eq}`eq-hessian` up to signs,
# which do not change eigenvalues.
# It is the second-order form of *adaptive sharpness* {cite}`kwon2021`.
#
# ## What moves and what stays
#
# :::{prf:proposition} {cite}`godfrey2022`, Proposition 3.4
# :label: prop-moved
# Let $A_i\in G_{\sigma_{n_i}}$ and move the weights $W$ to $W'$ by {eq}`eq-moved`.
# For every hidden layer $m$, with $f_{\le m}$ the network up to layer $m$ and $f_{>m}$ the rest,
#
# $$\begin{aligned}
# &f_{\le m}(x, W')\\
# &\quad= \varphi(A_m)\, f_{\le m}(x, W),\\
# &f_{>m}(h, W')\\
# &\quad= f_{>m}(\varphi(A_m)^{-1}h,\, W),
# \end{aligned}$$ (eq-layers)
#
# and $f(x, W') = f(x, W)$.
# :::
#
# :::{prf:proof}
# The induction of {prf:ref}`prop-orbit`, stopped at layer $m$, gives the first equation.
# Started at layer $m+1$, it gives the second, and $A_k = I$ gives the last one.
# :::

# %% [markdown]
# No other change of this form keeps the function for every choice of weights:
#
# :::{prf:theorem} The converse
# :label: thm-converse
# Let σ be not constant.
# Suppose that invertible matrices $A_i$ and $B_i$, with $B_0 = A_k = I$, are such that
# $W_i' = A_iW_iB_{i-1}^{-1}$ and $b_i' = A_ib_i$ give the same function as $W, b$, for *all* weights $W, b$.
# Then $A_i\in G_{\sigma_{n_i}}$ and $B_i = \varphi(A_i)$.
# :::
#
# :::{prf:proof}
# Suppose that $B_m^{-1}\sigma(A_mz) \ne \sigma(z)$ for some $m$ and $z$.
# Take the last such $m$, and call the two sides $u$ and $v$.
# Put $W_m = 0$ and $b_m = z$.
# From layer $m+1$ on the moved network computes what the original computes, but from $u$ in place of $v$.
# Choose $W_{m+1}$ and $b_{m+1}$ such that σ differs at the first unit, and later layers that pass the difference on.
# So $\sigma(A_mz) = B_m\sigma(z)$ for all $z$ and $m$.
# :::
#
# In {glue:text}`moved-networks:.0f` recorded random networks with ReLU, tanh, GELU, $|x|$ or $x^2$
# the equations {eq}`eq-layers` hold (largest error {glue:text}`moved-error:.0e`),
# and hidden activations change by {glue:text}`moved-least:.0f` % or more.
#
# :::{admonition} Erratum: Godfrey et al. 2022, Theorem 4.2
# :class: warning
# The weights are printed there with last entry $W_k\varphi_\sigma(A_k^{-1})$.
# It has to be $A_{k-1}$, as above.
# Where layers $k$ and $k-1$ have one width the printed product exists.
# It changes the outputs by {glue:text}`wrong-index:.0f` % or more in {glue:text}`wrong-index-draws:.0f` recorded
# draws.
# :::
#
# (sec-all)=
# ### Are these all symmetries?
#
# *For tanh with weights in general position yes; for ReLU often, not always.*
# {doc}`07_shallow_relu` settles one hidden layer of ReLU; {ref}`sec-deep` shows a symmetry that needs two.
#
# *What others found.*
# {cite:t}`sussmann1992` proved for tanh that two networks with one hidden layer, no superfluous neuron
# and the same function differ by a permutation with signs; {cite:t}`fefferman1994` treats any depth.
# {cite:t}`tran2024` prove {prf:ref}`thm-converse` where the groups are permutations with scalings,
# for convolutional networks as well.
# {cite:t}`phuong2020` found ReLU networks whose only symmetries are permutations and scalings.
# {cite:t}`grigsby2023` show mechanisms of *hidden* symmetries of ReLU networks.
# Their experiments at initialisation indicate that these become more frequent with depth,
# and rarer with width and input dimension.
# {cite:t}`zhao2025` survey the symmetries of weights and their role in training.
#
# (sec-size)=
# ### How large is the group?
#
# {doc}`03_stitching` compares the group with matrices of rank one.
# *For wide layers the group of ReLU is the larger set on a coarse scale, and the matrices on a fine one.*
# The group has dimension $n$ and $n!$ components; the matrices of rank one have dimension $2n-1$.
# Fill both, within the unit ball of the Frobenius norm, with balls of radius ε, and count the balls by volume.
# Rank one needs more balls below an ε of about {glue:text}`equal-16:.1f` for $n = 16$
# and {glue:text}`equal-512:.2f` for $n = 512$.
# Footnote 5 of {cite:t}`godfrey2022` finds the matrices larger and names no ε.
# That agrees with ours on a fine scale; we do not have its calculation (appendix E.7).
#
# ### Shifts as well: affine intertwiners
#
# *With biases before and after it, a sigmoid can also be reflected, and exp shifted by any amount.*
# A search for $\sigma(ax + t) = b\,\sigma(x) + s$ with $a = \pm1$ and $|t| \le 10$ finds those of the table
# and their multiples, and none for GELU and ReLU:

# %% tags=["remove-input"]
story.shifts(statements.shifts())

# %% [markdown]
# For example $\sigma(-x) = 1 - \sigma(x)$ for the sigmoid, and the next bias takes up the 1.
#
# (sec-deep)=
# ## A hidden symmetry that needs depth
#
# *After a ReLU every value is nonnegative, so the next layer may have neurons that are active on all inputs.*
# Take two such neurons, with positive weights $W_2$ and biases $b_2$.
# For them ReLU does nothing, and every invertible $M$ with $MW_2 \ge 0$ and $Mb_2 \ge 0$ can be absorbed:
# $(W_2, b_2, W_3) \to (MW_2, Mb_2, W_3M^{-1})$.
# Such $M$ form a set of dimension four; the group of ReLU has dimension two.


# %%
def deep(W1, W2, b2, W3, z):
    h = torch.relu(torch.relu(z @ W1.T) @ W2.T + b2)
    return h @ W3.T


draw = lambda *shape: torch.randn(shape, generator=generator).double()
z, W1, W3 = draw(500, 3), draw(2, 3), draw(1, 2)
W2 = torch.tensor([[1.0, 0.5], [0.4, 1.0]]).double()
b2, rows = torch.tensor([0.5, 0.5]).double(), []
old = deep(W1, W2, b2, W3, z)
for s in np.linspace(-1, 1, 21):
    M = torch.tensor([[1, s], [0, 1]]).double()
    back = torch.linalg.inv(M)
    second = deep(W1, M @ W2, M @ b2, W3 @ back, z)
    first = deep(M @ W1, W2 @ back, b2, W3, z)  # the same M, a layer earlier
    rows.append([s, "second layer", 100 * relative_error(second, old)])
    rows.append([s, "first layer", 100 * relative_error(first, old)])

# %% figure="fig-hidden"
hidden = pd.DataFrame(rows, columns=["s", "acts on", "change"])
axes = {"xlabel": "s", "ylabel": "change of the outputs, %"}
mean_curves(hidden, "s", "change", "acts on", **axes)

# %% [markdown]
# {numref}`fig-hidden` follows one line of such $M$.
# The library does not look for these symmetries, which depend on the values of weights ({doc}`01c_any_network`).
#
# (sec-noether)=
# ## What training conserves
#
# *Every family of symmetries $e^{sX}$ with symmetric $X$ gives a quantity that gradient flow conserves.
# Weight decay makes it fall at a known rate.*
# An example are the scalings of one neuron; gradient flow is gradient descent with infinitely small steps.
#
# :::{prf:theorem} Noether for gradient flow
# :label: thm-noether
# Let $L$ be locally Lipschitz, and constant along $s \mapsto e^{sX}\theta$ for every θ, with a symmetric matrix $X$.
# Let
#
# $$Q_X(\theta) = \tfrac12\langle\theta, X\theta\rangle.$$ (eq-noether)
#
# On an absolutely continuous curve such that for almost every $t$ the loss $L$ is differentiable at $\theta(t)$
# and $\dot\theta = -\nabla L(\theta) - \lambda\theta$ with weight decay $\lambda \ge 0$,
#
# $$Q_X(\theta(t)) = e^{-2\lambda t}\,Q_X(\theta(0)).$$ (eq-decay)
#
# Without decay, $Q_X$ is conserved; and a step of gradient descent with learning rate η gives exactly
#
# $$\begin{aligned}&Q_X(\theta - \eta\nabla L) =\\ &\quad Q_X(\theta) + \eta^2\,Q_X(\nabla L).\end{aligned}$$ (eq-step)
#
# The squared norm is convex in $s$ along each orbit, and smallest exactly where $Q_X = 0$.
# :::
#
# :::{prf:proof}
# $\langle X\theta, \nabla L\rangle$ is the derivative of $L$ along the orbit, so it is 0.
# Hence $\dot Q_X = \langle X\theta, \dot\theta\rangle = -2\lambda Q_X$ for almost every $t$,
# and in $Q_X(\theta - \eta\nabla L)$ the term linear in η vanishes.
# In an eigenbasis of $X$ the squared norm is a sum of terms $\theta_j^2e^{2sx_j}$, and its derivative is $4Q_X$.
# :::
#
# The ball of {numref}`fig-valley` moves by these laws.
# Its two weights are the norms of the two layers, and $2Q_X$ is the difference of their squares.
# At a small learning rate the ball descends along a curve of equal $Q_X$, the dashed one, and stays where that meets
# the orbit.
# With weight decay it goes on beside the orbit, to the place where the norms are equal and the valley is widest.
# At a large learning rate its steps are long where the valley is narrow, and it changes to another curve;
# {eq}`eq-step` says to which.
#
# The activation between two layers of weights decides which quantities are conserved ($n$ neurons, no biases):
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - activation
#   - one-parameter groups, with $X$ symmetric
#   - conserved
#   - quantities
# * - none (linear)
#   - $e^{sS}W_i$ and $W_{i+1}e^{-sS}$, $S$ symmetric
#   - $W_iW_i^\top - W_{i+1}^\top W_{i+1}$
#   - $n(n+1)/2$
# * - ReLU
#   - the same, $S$ diagonal
#   - its diagonal
#   - $n$
# * - tanh, GELU
#   - none: the group is finite
#   - nothing by this theorem
#   - 0
# :::
#
# This is due to {cite:t}`du2018`, and to {cite:t}`kunin2021` for more symmetries.
# A bias counts as one more column of $W_i$.
# The $n(n+1)/2$ quantities are independent if the neighbouring layers are wide enough.


# %%
def conserved(W1, b1, W2, b2):
    """W1 W1ᵀ + b1 b1ᵀ − W2ᵀ W2."""
    return W1 @ W1.T + torch.outer(b1, b1) - W2.T @ W2


linear = orbits.cross_entropy(x_small, y_small, sigma=torch.clone)
gradient, rate = torch.func.grad(linear)(theta), 0.5
after = [w - rate * g for w, g in zip(theta, gradient, strict=True)]
change = conserved(*after) - conserved(*theta)
assert torch.allclose(change, rate**2 * conserved(*gradient))
assert torch.equal(conserved(*theta), orbits.conserved(theta))

# %% tags=["remove-input"] figure="fig-drift"
story.drift()

# %% [markdown]
# {numref}`fig-drift` follows both kinds of network.
# Each step adds $\eta^2Q_X(\nabla L)$, and a time $T$ takes $T/\eta$ steps, so the drift is proportional to η:
# in the linear network {glue:text}`drift-coarse:.1f` % at learning rate 0.4 and {glue:text}`drift-fine:.1f` %
# at 0.1, on average.
# The unprotected entries change by {glue:text}`drift-free-low:.0f` to {glue:text}`drift-free-high:.0f` %
# at the three learning rates.
# So gradient descent without decay nearly keeps what the theorem protects if its steps are small.
# Adam does not ({ref}`exercise <ex-optimisers>`).
#
# (sec-decay)=
# ### Weight decay removes the imbalance
#
# For the scaling of one ReLU neuron, $2Q_X$ is the sum of squares of the weights that enter it, bias included,
# minus that of the weights that leave it: the *imbalance* of the neuron.
# {numref}`fig-imbalance` compares {eq}`eq-decay` with gradient descent on a network whose neurons start out of
# balance.

# %%
flat = train.images.flatten(1).double()
torch.manual_seed(seed)
sizes = (64, 16), (16, 16), (16, len(train.classes))
a, b, c = (nn.Linear(*size) for size in sizes)
perceptron = nn.Sequential(a, nn.ReLU(), b, nn.ReLU(), c).double().eval()
perceptron.to(device)
flow_space = find_symmetries(perceptron, flat[:1])
start = flow_space.sample(torch.Generator().manual_seed(seed), scale=0.5)
unbalanced = flow_space.act(perceptron, start)
seen = flat, train.labels
decayed = decay.descent(flow_space, unbalanced, decays, steps, *seen)

# %% tags=["remove-input"] figure="fig-imbalance"
story.imbalance()

# %% [markdown]
# In the run of this page the squared norm begins at {glue:text}`excess-start:.2f` times the smallest of its orbit.
# It ends at {glue:text}`excess-none:.2f` times without decay: the weights grow, and the imbalance does not.
# With the strongest decay it ends at {glue:text}`excess-most:.2f` times.
# By {eq}`eq-decay` the imbalance falls by a factor $e$ in a time of $1/(2\lambda)$, which is
# {glue:text}`excess-fold:.0f` for the strongest; the run stops at a time of {glue:text}`excess-time:.0f`.
#
# (sec-teleport)=
# ## Teleportation: move along the orbit, then train on
#
# *At small learning rates, moving to a point of the orbit with a larger gradient speeds training up,
# and the advantage shrinks.
# At large ones it can harm.*
# The idea is called *teleportation* {cite}`zhao2022`.
# Scale what enters neuron $i$ by $a_i$, and let its incoming and outgoing weights have the gradients
# $G_i^{\mathrm{in}}$ and $G_i^{\mathrm{out}}$.
# Then {eq}`eq-gradient` gives
#
# $$
# \begin{aligned}
# &\lVert\nabla L\rVert^2 = \text{const} +{}\\
# &\quad\sum_i \bigl(\lVert G_i^{\mathrm{in}}\rVert^2/a_i^2 + a_i^2\,\lVert G_i^{\mathrm{out}}\rVert^2\bigr).
# \end{aligned}
# $$ (eq-teleport)
#
# It is convex in $\log a_i$ and has no largest value.
# So bound the scalings, $1/r \le a_i \le r$; then the best $a_i$ is one of the two ends:

# %%
reach = 4.0
W1, b1, W2, b2 = theta
G1, g1, G2, _ = torch.func.grad(loss_of)(theta)
into = G1.square().sum(1) + g1.square()
out = G2.square().sum(0)
a = torch.where(into > out, 1 / reach, reach)
there = [a[:, None] * W1, a * b1, W2 / a, b2]

assert torch.allclose(loss_of(there), loss_of(theta))
theirs = orbits.teleport(loss_of, theta, reach)
assert all(torch.equal(*pair) for pair in zip(there, theirs, strict=True))

# %% tags=["remove-input"] figure="fig-teleport"
story.teleport()

# %% [markdown]
# {numref}`fig-teleport` compares it with plain descent, on {glue:text}`networks:.0f` networks with 16 hidden neurons
# that have trained for 20 steps.
# With $r = 4$ the squared norm of the gradient grows {glue:text}`tele-gradient:.0f`-fold.
# The table counts the networks in which this move is ahead, and shows the mean losses after 100 steps:

# %% tags=["remove-input"]
story.ahead()

# %% [markdown]
# Now let every network, and not every start as in the figure, have its own best of the four rates.
# The lead of $r = 4$ at the end is then {glue:text}`tele-own-four:.3f`,
# and it is not established (95 % interval over networks
# −{glue:text}`tele-own-four-below:.3f` to {glue:text}`tele-own-four-high:.3f`).
# With $r = 2$ the lead is {glue:text}`tele-own-two:.3f`
# ({glue:text}`tele-own-two-low:.3f` to {glue:text}`tele-own-two-high:.3f`).
# A larger curvature may harm at rate 6 ({numref}`fig-orbit`); we did not measure it at these points.
# *What might change it:* a finer grid of learning rates, or another loss than the training loss.
#
# (sec-residual)=
# ## Residual connections constrain the layers they join
#
# In {numref}`fig-block` every edge of a residual block carries the matrix that multiplies its values.

# %% tags=["remove-input"] figure="fig-block"
residual_block()

# %% [markdown]
# A skip connection adds the output $h_l$ of one layer to the pre-activation of another, $m$.
# After the move the sum is $A_m(W_m h_{m-1} + b_m) + \varphi(A_l)h_l$.
# If the values of $h_l$ span their space, $A_m$ factors out exactly when
#
# $$A_m = \varphi_\sigma(A_l) \in G_\sigma.$$ (eq-tied)
#
# In general, values that are added must move alike:
#
# | what is added | to what | rule |
# |---|---|---|
# | an output | an output | $\varphi(A_l) = \varphi(A_m)$ |
# | an output | a pre-activation | $\varphi(A_l) = A_m$ |
# | a pre-activation | a pre-activation | $A_l = A_m$ |
# | anything, through weights of its own | anything | none: the weights absorb the difference |


# %%
def block(W1, W2, W3, W4):
    h1 = (inputs @ W1.T).abs()
    h2 = (h1 @ W2.T).abs()
    return (h2 @ W3.T + h1).abs() @ W4.T


inputs, inv, G = draw(50, 5), torch.linalg.inv, intertwiner_group("abs", 8)
W = draw(8, 5), draw(8, 8), draw(8, 8), draw(3, 8)
A1, A2 = G.sample(generator), G.sample(generator)
B1, B2, change = G.phi(A1), G.phi(A2), {}
for rule, A3 in {"exact": B1, "printed": A1}.items():
    first, second = A1 @ W[0], A2 @ W[1] @ inv(B1)
    third, last = A3 @ W[2] @ inv(B2), W[3] @ inv(G.phi(A3))
    new = block(first, second, third, last)
    change[rule] = relative_error(new, block(*W))
    print(f"{rule}: outputs differ by {100 * change[rule]:.2g} %")

# %% [markdown]
# In {glue:text}`tie-networks:.0f` recorded networks with $|x|$ the exact rule keeps the outputs
# (largest error {glue:text}`tie-exact:.0e`).
# The rule $A_3 = A_1$ changes them by {glue:text}`tie-printed-low:.0f` to {glue:text}`tie-printed-high:.0f` %.
#
# :::{admonition} Erratum: Godfrey et al. 2022, Remark 3.6
# :class: warning
# Printed: $A_l = A_m$ across a residual connection.
# That is enough where an output is added to an output, or a pre-activation to a pre-activation,
# and for every σ whose $\varphi$ is the identity, such as ReLU and tanh.
# Where an output is added to a pre-activation it is false in general: for $|x|$, $\varphi(A) = |A|$ entrywise.
# :::
#
# The layer *inside* the block is free: its $A_2$ was drawn independently.
# So the first identity of {eq}`eq-layers` holds there as well.
# The paper sees no way to obtain both identities of {eq}`eq-layers`,
# and indeed the factorisation $f = f_{>2}\circ f_{\le2}$ fails.
#
# ## Run it yourself
#
# {numref}`fig-drift` and {numref}`fig-teleport` show {glue:text}`networks:.0f` recorded networks;
# this page has computed {glue:text}`live-trials:.0f`.
# After ten steps at learning rate {glue:text}`live-rate:.1f`, the loss is {glue:text}`live-moved:.2f` with $r = 4$
# and {glue:text}`live-plain:.2f` for plain descent.
# Another run is one command: `.venv/bin/intertwine run 01b_weight_space -p trials 20`.

# %%
seeds, small = range(seed, seed + trials), (x_small.cpu(), y_small.cpu())
drifted = orbits.drift(*small, [0.4, 0.2, 0.1], 20.0, seeds)
teleported = orbits.teleportation(*small, [1.0, 2.0, 4.0], rates, seeds)

# %% [markdown]
# ## Adapt this
#
# Change `WithShortcut`: the library finds the rule of every sum.
# This shortcut has weights of its own, so three independent elements are allowed.

# %%
import torch
from torch import nn

from intertwine.weightspace import find_symmetries, relative_error


class WithShortcut(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(n, 8) for n in (5, 8, 8))
        self.shortcut, self.d = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        h1 = self.a(x).abs()
        return self.d((self.c(self.b(h1).abs()) + self.shortcut(h1)).abs())


draw = torch.manual_seed(0)
net, inputs = WithShortcut().double().eval(), torch.randn(20, 5).double()
space = find_symmetries(net, inputs)
other = space.act(net, space.sample(draw))
print(space)
print(f"outputs change by {relative_error(other(inputs), net(inputs)):.0e}")

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
# * - orbits
#   - of any network
#   - 8 or 16 hidden neurons on 8 principal components of 500 images: small enough for whole Hessians
# * - teleportation
#   - {cite:t}`zhao2022` maximise the gradient by gradient ascent over the group,
#     several times during training
#   - closed form with a bound on the scalings, once
# * - conditions on residual connections
#   - appendix E, which we have not seen
#   - {eq}`eq-tied`, with proof
# :::
#
# ## Exercises
#
# :::{exercise}
# :label: ex-count
# *Warm-up.*
# A hidden layer has 8 neurons and no biases.
# How many independent quantities does {prf:ref}`thm-noether` give if σ is tanh, ReLU, $|x|$, or nothing?
# :::
#
# ::::{solution} ex-count
# :class: dropdown
# 0, 8, 8 and 36.
# The group of $|x|$ has signs as well, but signs form no one-parameter group.
# Symmetric $8\times8$ matrices have dimension $8\cdot9/2 = 36$.
# ::::
#
# :::{exercise}
# :label: ex-inertia
# Why does the Hessian of a ReLU network with one layer of $n$ hidden neurons, each with a nonzero weight,
# have at least $n$ zero eigenvalues at a minimum where the loss is twice differentiable?
# :::
#
# ::::{solution} ex-inertia
# :class: dropdown
# Each neuron's scaling is a curve on which the loss is constant.
# Differentiate {eq}`eq-gradient` along it, at $t=0$ and with tangent $v$:
# the Hessian takes $v$ to a vector whose length is at most that of the gradient, which is 0 at a minimum.
# Tangents of different neurons share no weight, so they are independent.
# ::::
#
# :::{exercise}
# :label: ex-optimisers
# *With data.*
# Does momentum conserve the quantities of {prf:ref}`thm-noether`?
# Does Adam?
# Train the ReLU network of this page with each and draw the change of the diagonal.
# :::
#
# ::::{solution-start} ex-optimisers
# :class: dropdown
# ::::


# %% figure="fig-ex-optimisers"
makers = {
    "gradient descent": functools.partial(torch.optim.SGD, lr=0.1),
    "momentum": functools.partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    "Adam": functools.partial(torch.optim.Adam, lr=0.01),
}
rows = []
for (name, maker), s in itertools.product(makers.items(), range(6)):
    draw_again = torch.Generator().manual_seed(s)
    weights = orbits.start((8, 8, len(train.classes)), draw_again)
    weights = [w.to(device).requires_grad_() for w in weights]
    first = orbits.conserved(weights).diagonal().detach()
    optimiser = maker(weights)
    for step in range(1, 201):
        optimiser.zero_grad()
        loss_of(weights).backward()
        optimiser.step()
        if step % 20 == 0:
            gap = (orbits.conserved(weights).diagonal() - first).norm()
            rows.append([step, name, 100 * (gap / first.norm()).item()])
rows = pd.DataFrame(rows, columns=["step", "optimiser", "change"])
axes = {"xlabel": "steps", "ylabel": "change of the diagonal, %", "log": True}
mean_curves(rows, "step", "change", "optimiser", **axes)

# %% [markdown]
# {numref}`fig-ex-optimisers` answers it.
# Adam divides each entry of the gradient by its own size.
# The gradient is still perpendicular to $X\theta$, but the step is not, so the proof fails
# where it puts $-\nabla L$ for $\dot\theta$.
# Momentum adds up gradients that belong to earlier points.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-invariant
# *Open.*
# {eq}`eq-relative` is constant on orbits of scalings, signs and permutations, and not of $GL_n$ between linear layers.
# Find a measure of sharpness that is constant there as well.
# Does it predict test accuracy among networks that were trained with different learning rates better
# than the largest eigenvalue does?
# :::
#
# ## Summary
#
# - The loss is constant on an orbit; gradient, Hessian and norm are not.
#   The signs of the Hessian's eigenvalues are constant, too,
#   and under scalings, signs and permutations the relative sharpness.
# - Gradient flow conserves one quantity for each one-parameter group with symmetric generator.
#   Steps of finite size let it drift, and weight decay λ makes it fall as $e^{-2\lambda t}$.
# - At the two smaller of four learning rates a network moved to a larger gradient trains faster;
#   at the largest one a move with $r = 4$ ends worse.
#   With the best rate for each the lead after 100 steps is small.
# - Values that are added must move alike.
#   An output added to a pre-activation needs $A_m = \varphi(A_l)$ where the paper prints $A_m = A_l$.
# - For tanh networks with generic weights these are all symmetries; a deep ReLU network may have more.
#
# Two ways on: {doc}`01c_any_network` does all this for networks that somebody else wrote;
# {doc}`02_sanity_rotations` needs {doc}`01_intertwiner_groups` only.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
run = results.run(globals(), "01b_weight_space", data=train)
tables = {
    "epsilon_nets": statements.epsilon_nets(),
    "theorem_4_2": statements.theorem_4_2(trials, generator),
    "proposition_3_4": statements.proposition_3_4(trials, generator, scale=scale),
    "remark_3_6": statements.remark_3_6(trials, generator),
    "orbit": flatness.orbit(loss_at, point, factors),
    "surface": flatness.surface(loss_of, unpacked(point)),
    "cuts": flatness.cuts(loss_at, point, factors, {"flat": 0.0, "sharp": 1.25}),
    "drift": drifted,
    "teleport": teleported,
    "decay": decayed,
}
run.write(**tables)
tell(
    story.facts(), story.facts_of(tables), {"live-trials": trials, "live-rate": rates[0]}
)
results.provenance(run.folder)
