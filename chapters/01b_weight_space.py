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
# **You need** {doc}`01_intertwiner_groups`: the group of an activation, φ, and how they move weights.
#
# **You will learn** what flatness tells, which changes keep the function, and what training conserves.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/01b_weight_space>`.
# :::
#
# ## The question
#
# A flat minimum is often taken for a sign that a network generalises.
# All weights of an orbit, made by {eq}`eq-moved`, compute the same function.
# *Is the minimum equally flat at all of them?*
#
# **No.** The same network lies in a wide valley and in a narrow one {cite}`dinh2017`.
# Where gradient descent begins decides in which of them it ends ({numref}`fig-valley`).

# %% tags=["hide-input"]
import functools
import itertools
import math

import pandas as pd
import torch
from torch import nn
from torch.autograd.functional import hessian
from torch.nn.functional import cross_entropy

from intertwine import devices
from intertwine.groups import GReLU
from intertwine.weightspace import find_symmetries, imbalance, relative_error
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.style import COLOURS, new_figure, use_style
from intertwine_book.live.valley import of_digits
from intertwine_book.record import on_record

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation and group elements

# %% tags=["hide-input"] figure="fig-valley"
valley = of_digits(seed=seed)
valley.page()

# %% [markdown]
# :::{figure} #fig-valley
# ---
# alt: >-
#   Left, hyperbolas, one of them thick with a ball on it; right, a narrow valley and a wide one with the same
#   lowest value.
#   Sliders move the ball along the orbit and across it, and set the learning rate and weight decay;
#   buttons let it descend.
#   The loss, and the imbalance of the two norms, stand below.
# ---
# The loss is the same along the orbit, and the valley around it is narrow at the ball and wide where training ended.
# Left: level curves of the loss over the norms of both layers; green: the orbit; grey dot: as trained.
# Right: the loss in the direction in which it bends most in this plane, at the ball and as trained (dashed).
# The ball descends by gradient steps on the two norms.
# Computed by this page: ReLU, 8 hidden neurons, handwritten digits.
# :::

# %% [markdown]
# Move the ball along the orbit: where is the valley widest?
# Drop it beside the orbit, as at the start, and let it descend.
# *Does it reach the widest place?*
# Then try weight decay.
#
# ## One neuron by hand
#
# Take $f(x) = v\,\mathrm{ReLU}(wx)$ with $w, v > 0$, one input $x = 1$ and the loss $L = \frac12(vw - 1)^2$.
# The minima form one orbit, $vw = 1$.
# There the Hessian for $(w, v)$ is $\begin{pmatrix}v^2 & 1\\ 1 & w^2\end{pmatrix}$, with the eigenvalues 0 and
# $v^2 + w^2$.
#
# | $(w, v)$ | largest eigenvalue | $w^2 - v^2$ |
# |---|---|---|
# | $(1, 1)$ | 2 | 0 |
# | $(2, \frac12)$ | 4.25 | 3.75 |
# | $(4, \frac14)$ | 16.06 | 15.94 |
#
# All three compute the same function without error, and the largest eigenvalue has no bound.
# Gradient descent with small steps nearly keeps the last column, as {ref}`sec-noether` shows.
# So it ends at a sharp minimum if it begins with a large difference of the squares.
#
# (sec-orbit)=
# ## Along an orbit the loss stays, its derivatives do not
#
# Let $g$ be an invertible linear map of all weights $W$, such as the scaling of a neuron, with $L(gW) = L(W)$ for
# every $W$.
# Where $L$ is differentiable at $W$,
#
# $$\nabla L(gW) = g^{-\top}\,\nabla L(W),$$ (eq-gradient)
#
# and where it is twice differentiable at $W$,
#
# $$\nabla^2 L(gW) = g^{-\top}\,\nabla^2 L(W)\,g^{-1}.$$ (eq-hessian)
#
# To see this, differentiate $L(gW) = L(W)$ once and twice.
# ReLU has a kink: at weights for which the input of a neuron is exactly 0 on a training example, neither need hold.
# If every layer has biases, such weights have measure 0.
#
# The eigenvalues of the Hessian may change without bound.
# Their signs stay: by Sylvester's law of inertia as many are positive, zero and negative at $gW$ as at $W$.
#
# (sec-sharpness)=
# ### A sharpness that is constant on orbits
#
# Let $|W|$ be the diagonal matrix of the absolute values of all weights.
# The *relative sharpness*
#
# $$\lambda_{\max}\bigl(|W|\;\nabla^2L(W)\;|W|\bigr)$$ (eq-relative)
#
# is constant on orbits of permutations with nonzero scalings.
# A permutation reorders the rows and columns of all three matrices alike.
# For a diagonal $g$ we have $|gW| = |g|\,|W|$, and $|g|\,g^{-1}$ is a diagonal of signs, which change no eigenvalue.
# For the neuron above the relative sharpness is 2 at all three minima.
#
# The network of {numref}`fig-valley` is small enough for its whole Hessian.
# Move it along its orbit:

# %% tags=["hide-input"]
device = devices.pick(device)
weights = W1, b1, W2, b2 = [w.to(device) for w in valley.weights]
x, labels = valley.x.to(device), valley.labels.to(device)


def unpacked(flat):
    """W1, b1, W2, b2 from all weights in one vector."""
    parts = flat.split([w.numel() for w in weights])
    return [part.view_as(w) for part, w in zip(parts, weights, strict=True)]


def network(weights, sigma=torch.relu):
    W1, b1, W2, b2 = weights
    return sigma(x @ W1.T + b1) @ W2.T + b2


def loss_of(weights, sigma=torch.relu):
    return cross_entropy(network(weights, sigma), labels)


def loss_at(flat):
    return loss_of(unpacked(flat))


W = torch.cat([w.flatten() for w in weights])


# %%
def scaled(t):
    """Into the hidden neurons times exp(t), out of them times exp(-t)."""
    up, down = math.exp(t), math.exp(-t)
    into, out = torch.full_like(W1, up), torch.full_like(W2, down)
    parts = into, torch.full_like(b1, up), out, torch.ones_like(b2)
    return torch.cat([part.flatten() for part in parts])


for t in (0.0, 1.0, 2.0):
    gW = scaled(t) * W
    H = hessian(loss_at, gW)
    sharpness = torch.linalg.eigvalsh(H)[-1]
    relative = torch.linalg.eigvalsh(gW.abs()[:, None] * H * gW.abs())[-1]
    print(f"t = {t:.0f}: loss {loss_at(gW):.3f}, largest eigenvalue", end=" ")
    print(f"{sharpness:.0f}, relative sharpness {relative:.0f}")

# %% tags=["hide-input"]
g, H = scaled(1.0), hessian(loss_at, W)
gradient_at = torch.func.grad(loss_at)
assert torch.allclose(loss_at(g * W), loss_at(W))
assert torch.allclose(gradient_at(g * W), gradient_at(W) / g)
assert torch.allclose(hessian(loss_at, g * W), H / g[:, None] / g)

# %% [markdown]
# *Flatness, as the largest eigenvalue measures it, is a property of the weights and not of the function.*
# The relative sharpness is the second-order form of *adaptive sharpness* {cite}`kwon2021`;
# {cite:t}`petzka2021` have another measure that scalings leave unchanged.
# Such a measure may be a property of the function, and still predict nothing: in a study of
# {cite:t}`andriushchenko2023`, adaptive sharpness does not correlate well with generalisation.
#
# ## How hidden values move, and why nothing else works
#
# :::{prf:proposition} {cite}`godfrey2022`, Proposition 3.4
# :label: prop-moved
# Let $A_i\in G_{\sigma_{n_i}}$ and move the weights $W$ to $W'$ by {eq}`eq-moved`.
# For every hidden layer $m$, with $f_{\le m}$ the network up to layer $m$, its activation
# included, and $f_{>m}$ the rest,
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
#
# No other change of this form keeps the function for every choice of weights:
#
# :::{prf:theorem} The converse
# :label: thm-converse
# Let σ be not constant.
# Suppose that invertible matrices $A_i$ and $B_i$, with $B_0 = A_k = I$, are such that
# $W_i' = A_iW_iB_{i-1}^{-1}$ and $b_i' = A_ib_i$ give the same function as $W, b$, for *all* weights $W, b$.
# Then $A_i\in G_{\sigma_{n_i}}$, and $B_i = \varphi(A_i)$, the only matrix with $\sigma(A_iz) = B_i\sigma(z)$ for all
# $z$.
# :::
#
# :::{prf:proof}
# Suppose that $B_m^{-1}\sigma(A_mz) \ne \sigma(z)$ for some $m$ and $z$.
# Take the last such $m$, and call the two sides $h'$ and $h$.
# Put $W_m = 0$ and $b_m = z$.
# All later layers satisfy the relation, so the moved network gives $f_{>m}(h')$ where the original gives $f_{>m}(h)$.
# If layer $m+1$ is hidden, choose $W_{m+1}$ and $b_{m+1}$ such that σ takes different values at its first unit;
# this is possible, as σ is not constant.
# Choose the next layers in the same way, and a last layer that passes the difference on.
# Then the functions differ.
# So $\sigma(A_mz) = B_m\sigma(z)$ for all $z$ and $m$.
# :::
#
# Try it on the network of the figure: multiply what enters ReLU by a matrix $A$, and fit the best matrix $R$ after ReLU
# by least squares.

# %%
draw, z = torch.Generator().manual_seed(seed), x @ W1.T + b1
inside = GReLU(len(W1)).sample(draw).to(z)
outside = torch.randn(inside.shape, generator=draw).to(z)
for name, A in {"in the group": inside, "outside": outside}.items():
    moved = torch.relu(z @ A.T)
    R = (torch.linalg.pinv(moved) @ torch.relu(z)).T
    change = relative_error(moved @ (W2 @ R).T + b2, network(weights))
    print(f"{name}: the outputs change by {100 * change:.0f} %")

# %% [markdown]
# Inside the group $R$ is $\varphi(A)^{-1}$, and nothing changes.
# For the other matrix not even the best $R$ keeps the outputs ({ref}`rec-converse` tries five activations).
#
# :::{admonition} Erratum: Godfrey et al. 2022, Theorem 4.2
# :class: warning
# The weights are printed there with last entry $W_k\varphi_\sigma(A_k^{-1})$.
# It has to be $A_{k-1}$, as above ({ref}`rec-last-weight`).
# :::
#
# (sec-all)=
# ### Are these all symmetries?
#
# The converse speaks of changes that work for *all* weights.
# Some weights have more symmetries.
# *For tanh with weights in general position the group is all there is; for ReLU often, not always.*
#
# {cite:t}`sussmann1992` proved for tanh that two networks with one hidden layer, no superfluous neuron and the same
# function differ by a permutation with signs; {cite:t}`fefferman1994` treats any depth.
# {cite:t}`phuong2020` found ReLU networks whose only symmetries are permutations with positive scalings, and
# {cite:t}`grigsby2023` mechanisms of *hidden* symmetries of others.
# {doc}`07_shallow_relu` settles one hidden layer of ReLU; {ref}`an exercise there <sec-deep>` has a symmetry that needs
# two.
# {cite:t}`tran2024` prove {prf:ref}`thm-converse` where the groups are permutations with scalings, for convolutional
# networks as well, and {cite:t}`zhao2025` survey the field.
#
# (sec-noether)=
# ## What training conserves
#
# *Every family of symmetries $e^{sX}$ with a symmetric matrix $X$ gives a quantity that gradient flow conserves.
# Weight decay makes it fall at a known rate.*
# Gradient flow is gradient descent with infinitely small steps.
#
# :::{prf:theorem} Noether for gradient flow
# :label: thm-noether
# Let $L$ be constant along $s \mapsto e^{sX}W$ for every $W$, with a symmetric matrix $X$.
# Let
#
# $$Q_X(W) = \tfrac12\langle W, XW\rangle.$$ (eq-noether)
#
# On an absolutely continuous curve such that for almost every $t$ the loss $L$ is differentiable at $W(t)$
# and $\dot W = -\nabla L(W) - \lambda W$ with weight decay $\lambda \ge 0$,
#
# $$Q_X(W(t)) = e^{-2\lambda t}\,Q_X(W(0)).$$ (eq-decay)
#
# Without decay, $Q_X$ is conserved; and where $L$ is differentiable a step of gradient descent with learning rate η
# gives exactly
#
# $$\begin{aligned}&Q_X(W - \eta\nabla L) =\\ &\quad Q_X(W) + \eta^2\,Q_X(\nabla L).\end{aligned}$$ (eq-step)
#
# The squared norm is convex in $s$ along each curve $e^{sX}W$, and smallest exactly where $Q_X = 0$.
# :::
#
# :::{prf:proof}
# $\langle XW, \nabla L\rangle$ is the derivative of $L$ along the orbit, so it is 0.
# Hence $\dot Q_X = \langle XW, \dot W\rangle = -2\lambda Q_X$ for almost every $t$,
# and in $Q_X(W - \eta\nabla L)$ the term linear in η vanishes.
# In an eigenbasis of $X$ the squared norm is a sum of terms $W_j^2e^{2sx_j}$, and its derivative is $4Q_X$.
# :::
#
# The activation between two layers decides which quantities are conserved ($n$ neurons, no biases):
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
#   - none from this theorem
#   - 0
# :::
#
# This is due to {cite:t}`du2018`, and to {cite:t}`kunin2021` and {cite:t}`zhao2023` for more symmetries.
# A bias counts as one more column of $W_i$.
# The $n(n+1)/2$ quantities are independent if the neighbouring layers are wide enough.
# With ReLU the conserved number of a neuron is its *imbalance*:
# the squares of the weights that enter it, bias included, minus those of the weights that leave it.


# %%
def conserved(weights):
    """W1 W1ᵀ + b1 b1ᵀ − W2ᵀ W2."""
    W1, b1, W2, _ = weights
    return W1 @ W1.T + torch.outer(b1, b1) - W2.T @ W2


at, rate = [0.1 * w for w in weights], 0.5  # far from the minimum
slope = torch.func.grad(loss_of)(at)
step = [w - rate * s for w, s in zip(at, slope, strict=True)]
change = (conserved(step) - conserved(at)).diagonal()
predicted = rate**2 * conserved(slope).diagonal()
print("imbalance of the first neuron:", f"{conserved(at)[0, 0]:.4f}")
print(f"after a step {change[0]:+.1e}, by the theorem {predicted[0]:+.1e}")

# %% tags=["hide-input"]
assert torch.allclose(change, predicted)
net = nn.Sequential(nn.Linear(8, len(W1)), nn.ReLU(), nn.Linear(len(W1), len(W2)))
net = net.double().eval()
with torch.no_grad():
    for parameter, w in zip(net.parameters(), at, strict=True):
        parameter.copy_(w)
theirs = imbalance(find_symmetries(net, valley.x[:1]), net)["1"][0, 0]
assert torch.allclose(theirs, conserved(at).diagonal().to(theirs))
linear = functools.partial(loss_of, sigma=torch.clone)
slopes = torch.func.grad(linear)(at)
after = [w - rate * s for w, s in zip(at, slopes, strict=True)]
moved_by = conserved(after) - conserved(at)
assert torch.allclose(moved_by, rate**2 * conserved(slopes))  # the whole matrix

# %% [markdown]
# A step changes the imbalance by a multiple of $\eta^2$, and a time $T$ takes $T/\eta$ steps: halve the learning rate,
# and the drift halves ({ref}`rec-drift`).
#
# The ball of {numref}`fig-valley` moves by these laws.
# Its two weights are the norms of the two layers.
# At a small learning rate it descends along the dashed curve of equal imbalance, and stays where that meets the orbit.
# At a large learning rate its steps are long where the valley is narrow, and {eq}`eq-step` says to which curve they
# lead.
#
# (sec-decay)=
# ### Weight decay removes the imbalance
#
# With weight decay the ball goes on beside the orbit, to the place where the norms are equal; there the valley is
# widest in this plane.
# How fast, {eq}`eq-decay` says; our network starts out of balance:


# %%
now, lr, decay, steps = unpacked(scaled(0.5) * W), 1e-3, 0.5, 1000
first = conserved(now).diagonal()
for _ in range(steps):
    slope = torch.func.grad(loss_of)(now)
    now = [w - lr * (s + decay * w) for w, s in zip(now, slope, strict=True)]
left = conserved(now).diagonal().norm() / first.norm()
law = math.exp(-2 * decay * lr * steps)
print(f"left of the imbalance: {left:.3f}, by the theorem {law:.3f}")

# %% tags=["hide-input"] figure="fig-imbalance"
falling = on_record("01b_weight_space", "decay").groupby(["weight_decay", "time"])
falling = falling[["imbalance", "predicted"]].mean().reset_index()
figure, axis = new_figure(width=4.8, height=3.0)
for (value, rows), tone in zip(
    falling.groupby("weight_decay"), ("green", "blue", "red"), strict=False
):
    axis.plot(rows["time"], rows["predicted"], color=COLOURS[tone], lw=1.3)
    axis.plot(rows["time"], rows["imbalance"], "o", ms=5, color=COLOURS[tone])
    ends = (rows["time"].iloc[-1], rows["predicted"].iloc[-1])
    place = {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
    axis.annotate(
        f"λ = {value:g}", ends, color=COLOURS[tone], annotation_clip=False, **place
    )
axis.set(
    yscale="log", xlabel="time (learning rate × steps)", ylabel="imbalance, relative"
)
figure

# %% [markdown]
# :::{figure} #fig-imbalance
# ---
# alt: >-
#   Imbalance on a logarithmic axis against training time, marks for three values of weight decay on straight lines
#   of slope minus twice the decay.
# ---
# Gradient descent follows the theorem: without weight decay the imbalance stays, with weight decay λ it falls as
# exp(−2λt).
# Norm of the imbalances of all neurons, relative to the start.
# Marks: gradient descent, mean over {fact}`01b_weight_space.decayed:.0f` perceptrons on handwritten digits; lines: the
# law of gradient flow.
# :::

# %% [markdown]
# Marks and lines of {numref}`fig-imbalance` agree to {fact}`01b_weight_space.flow_error:.1f` % in each run.
# Without weight decay the imbalance is a memory of the initialisation.
#
# Symmetry shapes the end of training in a second way.
# {cite:t}`ziyin2024` proves that every mirror symmetry of the loss leads to a constraint, which weights meet once
# weight decay or gradient noise is large; scalings lead to sparsity.
#
# ## What may I conclude from flatness?
#
# With `from intertwine.training import evaluate`, `from torch.linalg import eigvalsh`,
# `from intertwine.weightspace import balance, find_symmetries, imbalance`, and `space = find_symmetries(net, inputs)`.
# `H` is the Hessian, of a small network, and `a` the vector of the sizes of all weights.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you want to
#   - use
#   - beware
# * - say that a flat minimum generalises
#   - a test: `evaluate(net, images, labels)`
#   - The same function has minima as sharp as you like.
# * - compare how sharp two networks are
#   - {eq}`eq-relative`: `eigvalsh(a[:, None] * H * a)[-1]`
#   - It is constant for permutations with scalings, not for matrices between linear layers or in attention heads.
# * - compare norms of weights or gradients
#   - the shortest network of each orbit: `balance(space, net).model`
#   - The shortest need not be the flattest ({ref}`rec-orbit`); with batch norm there is no shortest one.
# * - choose the learning rate of plain descent
#   - an upper bound: `2 / eigvalsh(H)[-1]`
#   - It holds at these weights; elsewhere on the orbit it is another.
# * - know what weight decay does to scalings
#   - the imbalance: `imbalance(space, net)`
#   - It falls as $e^{-2\lambda t}$ by plain descent with small steps; Adam follows no such law
#     ({ref}`ex-optimisers`).
# * - train from a better point of the orbit
#   - an element of the group: `space.act(net, space.sample(draw))`
#   - With the best learning rate little is gained, and a large rate may harm ({ref}`sec-teleport`);
#     {cite:t}`lebeurrier2026` choose the point by a criterion.
# :::
#
# ## Adapt this
#
# A network and data of your own: three networks with one function, and what differs between them.

# %%
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from intertwine.weightspace import balance, find_symmetries
from intertwine_book import data

draw = torch.manual_seed(0)  # of the initial weights as well
digits = data.load("digits", "train", device="cpu")
layers = nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)
net, inputs = nn.Sequential(*layers).double().eval(), digits.images.double()
space = find_symmetries(net, inputs[:1])
moved = space.act(net, space.sample(draw))
shortest = balance(space, net).model
for name, each in {"mine": net, "moved": moved, "shortest": shortest}.items():
    loss = cross_entropy(each(inputs), digits.labels)
    slopes = torch.autograd.grad(loss, [*each.parameters()])
    both = each.parameters(), slopes
    w, g = (torch.cat([p.flatten() for p in some]).norm() for some in both)
    print(f"{name}: loss {loss:.4f}, weights {w:.2f}, gradient {g:.3f}")

# %% [markdown]
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
# Each neuron's scaling $g_t$ is a curve on which the loss is constant.
# Differentiate {eq}`eq-gradient` along it, at $t=0$ and with tangent $\xi$:
# the Hessian takes $\xi$ to a vector whose length is at most that of the gradient, which is 0 at a minimum.
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


# %% tags=["hide-input"] figure="fig-ex-optimisers"
makers = {
    "gradient descent": functools.partial(torch.optim.SGD, lr=0.1),
    "momentum": functools.partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    "Adam": functools.partial(torch.optim.Adam, lr=0.01),
}
rows, inputs_of = [], (8, 8, len(W1), len(W1))
for (name, maker), s in itertools.product(makers.items(), range(6)):
    order = torch.Generator().manual_seed(s)
    drawn = [torch.rand(w.shape, generator=order, dtype=W.dtype) for w in weights]
    drawn = [(2 * w - 1) / n**0.5 for w, n in zip(drawn, inputs_of, strict=True)]
    drawn = [w.to(device).requires_grad_() for w in drawn]
    first = conserved(drawn).diagonal().detach()
    optimiser = maker(drawn)
    for step in range(1, 201):
        optimiser.zero_grad()
        loss_of(drawn).backward()
        optimiser.step()
        if step % 20 == 0:
            gap = (conserved(drawn).diagonal() - first).norm()
            rows.append([step, name, 100 * (gap / first.norm()).item()])
rows = pd.DataFrame(rows, columns=["step", "optimiser", "change"])
axes = {"xlabel": "steps", "ylabel": "change of the diagonal, %", "log": True}
mean_curves(rows, "step", "change", "optimiser", **axes)

# %% [markdown]
# :::{figure} #fig-ex-optimisers
# ---
# alt: >-
#   Change in percent on a logarithmic axis against the number of steps for gradient descent, momentum and Adam.
#   Adam's curve is far above the others.
# ---
# Gradient descent nearly conserves the diagonal, momentum less so, Adam not at all.
# Change in percent since the start, mean over six networks with 95 % interval, run of this page.
# Learning rates: 0.1, 0.01 with momentum 0.9, and 0.01 for Adam.
# :::

# %% [markdown]
# {numref}`fig-ex-optimisers` answers it.
# Adam divides each entry of the gradient by its own size.
# The gradient is still perpendicular to $XW$, but the step is not, so the proof fails
# where it puts $-\nabla L$ for $\dot W$.
# Momentum adds up gradients that belong to earlier points.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-invariant
# *Open.*
# {eq}`eq-relative` is constant on orbits of permutations with scalings, and not of $GL_n$ between linear layers.
# Find a measure of sharpness that is constant there as well.
# Does it predict test accuracy among networks that were trained with different learning rates better
# than the largest eigenvalue does?
# :::
#
# Two ways on: {doc}`01c_any_network` finds the symmetries of networks that somebody else wrote;
# {doc}`02_sanity_rotations` needs {doc}`01_intertwiner_groups` only.
