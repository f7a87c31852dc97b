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
# # 1b · Symmetries in weight space
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: intertwiner groups, φ, and how they move weights.
#
# **You will learn** what residual connections do to the symmetries, what of the loss landscape they leave alone and what
# they change, and which activations are compatible with shifts.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# All weights on an orbit compute one function. So the loss cannot tell them apart. Can its derivatives? {numref}`fig-orbit`
# follows a trained network along an orbit: the loss stands still, while gradient and curvature change; by how much, is
# printed below it. What is called a *flat* or a *sharp* minimum is, for ReLU, a matter of where on the orbit one stands
# {cite}`dinh2017`.

# %% tags=["hide-input"]
import functools
import inspect
import itertools
import math

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

from intertwine import data, devices, groups
from intertwine.groups import GReLU, intertwiner_group
from intertwine.models import fcn
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book import results
from intertwine_book.experiments import weight_space as laws
from intertwine_book.experiments.weight_space import perceptron, residual_network
from intertwine_book.figures.orbits import along_orbit
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist", "cifar10"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation and group elements
scale: float = 1.0  # standard deviation of the logarithms of the scalings
trials: int = 5  # draws for each check

# %% tags=["hide-input"]
device = devices.pick(device)
generator = torch.Generator().manual_seed(seed)


# %% tags=["hide-input"]
train = data.load(dataset, "train", device=device)
run = results.run(globals(), "01b_weight_space", data=train)
x = train.images.flatten(1).double()
components = torch.linalg.eigh(torch.cov(x.T).cpu())[1][:, -8:].to(device)
x_small, y_small = (x @ components)[:500] / 3, train.labels[:500]
shapes = [(8, 8), (8,), (len(train.classes), 8), (len(train.classes),)]
cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1].tolist()


def unpacked(flat):
    """W_1, b_1, W_2, b_2 from all weights in one vector."""
    return [
        w.view(s) for w, s in zip(torch.tensor_split(flat, cuts), shapes, strict=True)
    ]


def loss_at(flat):
    W1, b1, W2, b2 = unpacked(flat)
    outputs = torch.relu(x_small @ W1.T + b1) @ W2.T + b2
    return nn.functional.cross_entropy(outputs, y_small)


# %% tags=["hide-input"]
start = fcn((8, 8, len(train.classes)), bias=True, seed=generator).double()
point = torch.cat([w.detach().flatten() for w in start.parameters()]).to(device)
point.requires_grad_()
optimiser = torch.optim.LBFGS([point], max_iter=100, line_search_fn="strong_wolfe")


def closure():
    optimiser.zero_grad()
    loss = loss_at(point)
    loss.backward()
    return loss


optimiser.step(closure)
point = point.detach()

# %% tags=["hide-input"]
gradient_at = torch.func.grad(loss_at)
hessian_at = functools.partial(torch.autograd.functional.hessian, loss_at)
H = hessian_at(point)
direction = torch.randn(8, generator=generator, dtype=torch.float64).to(device)


def along(t):
    """Loss, gradient norm and curvature at the point moved by exp(t D)."""
    d = torch.exp(t * direction)
    W1, b1, W2, b2 = (torch.ones_like(w) for w in unpacked(point))
    g = torch.cat([w.flatten() for w in (d[:, None] * W1, d * b1, W2 / d, b2)])
    moved, congruent = g * point, H / g[:, None] / g  # g is diagonal
    return {
        "t": float(t),
        "loss": loss_at(moved).item(),
        "gradient_norm": gradient_at(moved).norm().item(),
        "largest_eigenvalue": torch.linalg.eigvalsh(congruent)[-1].item(),
        "hessian_error": relative_error(hessian_at(moved), congruent),
    }


orbit = pd.DataFrame([along(t) for t in torch.linspace(-4, 4, 17)])
orbit["loss_error"] = (orbit["loss"] / orbit["loss"][8] - 1).abs()
orbit["gradient_norm_ratio"] = orbit["gradient_norm"] / orbit["gradient_norm"].min()

# %% mystnb={"figure": {"name": "fig-orbit", "caption": "Along an orbit the loss is constant, while gradient and curvature change, by the factors below: sharpness is a property of the weights and not of the function they compute."}, "image": {"alt": "Three curves against the position t on an orbit. The loss is a horizontal line; the gradient norm and the largest eigenvalue of the Hessian vary over orders of magnitude on a logarithmic axis."}}
along_orbit(orbit)

# %% [markdown]
# (sec-orbit)=
# ## Along an orbit: loss, gradient, curvature
#
# Every loss that depends on the outputs alone is constant along the orbit $t\mapsto W(t)$ of a one-parameter group, here $A(t) = e^{tD}$ with a random diagonal
# $D$. Its derivatives are not. If $W(t) = g_tW$ with $g_t$ linear, then $\nabla L(W(t)) = g_t^{-\top}\nabla L(W)$ and
#
# $$\nabla^2 L(W(t)) = g_t^{-\top}\,\nabla^2 L(W)\,g_t^{-1}:$$ (eq-hessian)
#
# a congruence. Eigenvalues may change without bound; how many are positive, zero and negative stays (Sylvester's law of inertia).
# We train a network small enough for its full Hessian, on the first eight principal components of the images.

# %%
most = lambda column: orbit[column].max() / orbit[column].min()
Markdown(
    f"Over the orbit the gradient norm varies by a factor {most('gradient_norm'):.0f}, "
    f"the largest eigenvalue by a factor {most('largest_eigenvalue'):.0f}, and the loss by "
    f"{orbit['loss_error'].max():.0e} of its value. The Hessian computed afresh at each point "
    f"is the one of the congruence to {orbit['hessian_error'].max():.0e}."
)

# %% [markdown]
# ## What moves and what stays
#
# :::{prf:proposition} {cite}`godfrey2022`, Proposition 3.4
# :label: prop-moved
# Let $A_i\in G_{\sigma_{n_i}}$ and move the weights $W$ to $W'$ by {eq}`eq-moved`. For every hidden layer $m$, with $f_{\le m}$ the
# network up to layer $m$ and $f_{>m}$ the rest,
#
# $$f_{\le m}(x, W') = \varphi(A_m)\, f_{\le m}(x, W),\qquad f_{>m}(h, W') = f_{>m}(\varphi(A_m)^{-1}h,\, W),$$ (eq-layers)
#
# and $f(x, W') = f(x, W)$.
# :::
#
# :::{prf:proof}
# Induction over $m$. If layer $m-1$ gives $\varphi(A_{m-1})h$, then layer $m$ gives
# $\sigma(A_mW_m\varphi(A_{m-1}^{-1})\varphi(A_{m-1})h + A_mb_m) = \sigma(A_m(W_mh + b_m)) = \varphi(A_m)\,\sigma(W_mh + b_m)$. The same
# steps from layer $m+1$ on give the second equation, and $A_k = I$ the last one.
# :::
#
# The trained network of {numref}`fig-same-function` is one case. Here are deeper ones with other activations; every
# equation is checked at every hidden layer.


# %%
activations = ("ReLU", "tanh", "GELU", "abs", "square")
proposition = laws.proposition_3_4(
    activations, [5, 8, 8, 8, 3], trials, generator, scale=scale
)
errors = ["front_error", "back_error", "function_error"]
moved = ["weights_moved", "representation_changed"]
how = dict.fromkeys(errors, "max") | dict.fromkeys(moved, "min")
proposition.groupby("activation", sort=False).agg(how)

# %% [markdown]
# (sec-size)=
# ## How large is the group?
#
# $G_{\mathrm{ReLU}}$ has dimension $n$, and matrices of rank one have $2n-1$; but $G_{\mathrm{ReLU}}$ has $n!$ components as well. Footnote 5 of {cite:t}`godfrey2022` counts both by
# ε-nets and finds rank one larger all the same; we do not have its calculation (appendix E.7). Ours counts how many balls of radius ε fill either set within the unit ball of the Frobenius
# norm, by volume. $G_{\mathrm{ReLU}}$ is $n!$ orthants of an $n$-dimensional ball there, and the matrices $suv^\top$ have the volume $|S^{n-1}|^2/(4n-2)$.
# So the footnote needs a small ε: the quotient of the two numbers is $\varepsilon^{-(n-1)}$ times a constant, and equals 1 near $\varepsilon = 4e/n$.


# %% tags=["hide-input"]
def log_ball(d):
    """The logarithm of the volume of the unit ball of dimension d."""
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


rows = []
for n, epsilon in itertools.product((16, 64, 256, 512), (0.3, 0.1, 0.03, 0.01, 0.003)):
    g_relu = math.lgamma(n + 1) - n * math.log(2 * epsilon)
    spheres = 2 * (math.log(n) + log_ball(n)) - math.log(4 * n - 2)
    rank_1 = spheres - log_ball(2 * n - 1) - (2 * n - 1) * math.log(epsilon)
    equal_at = epsilon * math.exp((rank_1 - g_relu) / (n - 1))
    row = {
        "n": n,
        "epsilon": epsilon,
        "equal_at": equal_at,
        "n_times_equal_at": n * equal_at,
    }
    rows.append(
        row | {"rank_1_larger": rank_1 > g_relu, "g_relu_larger": g_relu > rank_1}
    )
nets = pd.DataFrame(rows)
same_size = nets.groupby("n")["equal_at"].first()
Markdown(
    "Both sets need equally many balls at "
    + ", ".join(f"ε = {at:.2g} for n = {n}" for n, at in same_size.items())
    + ". Below, rank one is the larger set; above, $n!$ decides."
)

# %% [markdown]
# :::{admonition} Erratum: godfrey2022, Theorem 4.2
# :class: warning
# The weights are printed there with last entry $W_k\varphi_\sigma(A_k^{-1})$. It has to be $A_{k-1}$, as above; where both products
# exist, they differ:
# :::

# %%
index = laws.theorem_4_2(trials, generator)
index.groupby("rule")["error"].agg(["min", "max"])

# %% [markdown]
# (sec-residual)=
# ## Residual connections constrain the layers they join
#
# A skip connection adds the output $h_l$ of one layer to the pre-activation of another, $m$. Moved, the sum is
# $A_m(W_m h_{m-1} + b_m) + \varphi(A_l)h_l$, and, if $h_l$ spans its space, $A_m$ factors out exactly when
#
# $$A_m = \varphi_\sigma(A_l),\qquad\text{which has to lie in } G_\sigma.$$ (eq-tied)
#
# The second condition is not empty: for $\sigma(x) = \sqrt{|x|}\,(2 + \sin 2\pi\log_2|x|)$ the scalar $a = 2$ has $\varphi(a) = \sqrt2$, which is no
# element of its group. Where two outputs are added the rule is $\varphi(A_l) = \varphi(A_m)$, and where two pre-activations are added, $A_l = A_m$.
#
# :::{admonition} Erratum: godfrey2022, Remark 3.6
# :class: warning
# Printed: $A_l = A_m$ across a residual connection. That is enough where an output is added to an output, or a pre-activation to a
# pre-activation, and for every σ whose $\varphi$ is the identity, such as ReLU. Where an output is added to a pre-activation it is false in
# general: for $|x|$, $\varphi(A) = |A|$ entrywise, and the printed rule fails, as the next cells show. We do not have the appendix
# with the authors' own conditions.
# :::


# %%
head, _, body = inspect.getsource(residual_network).split('"""')  # without its docstring
Markdown(f"```python\n{head.rstrip()}{body}```")

# %%
remark = laws.remark_3_6(("ReLU", "tanh", "abs"), 8, trials, generator)
remark.pivot_table(
    index=["joins", "activation"],
    columns="rule",
    values="error",
    aggfunc="max",
    sort=False,
)

# %% [markdown]
# For tanh, $\varphi$ is the identity as well, and signs are constrained like permutations. The layer *inside* the block,
# $h_2$, is free: its $A_2$ was drawn independently throughout. The first identity of {eq}`eq-layers` therefore holds inside the block as well,
# $f_{\le2}(W') = \varphi(A_2)f_{\le2}(W)$. The paper writes that "there doesn't seem to be a way" to obtain such an identity there; only the
# factorisation $f = f_{>2}\circ f_{\le2}$ fails, because the shortcut goes round the layer.

# %% [markdown]
# ## Shifts as well: affine intertwiners
#
# A layer has a bias, so a change in front of σ may shift too, and one behind it as well: $\sigma(ax + t) = b\,\sigma(x) + s$.
# That goes beyond the paper, and gives back a sign to activations that had none.

# %%
names = ("Sigmoid", "Hardsigmoid", "ReLU6", "exp", "sin", "GELU", "ReLU")
shifts = [
    {"activation": name, **found._asdict()}
    for name in names
    for found in groups.affine_intertwiners(name)
    if abs(found.t) < 6.2
]
pd.DataFrame(shifts).set_index("activation").drop(columns="residual")

# %% [markdown]
# A sigmoid neuron can be turned round, $\sigma(-x) = 1 - \sigma(x)$, if the next bias takes up the 1; for $\exp$, a bias is nothing
# but a factor of the outgoing weights. ReLU6 is turned round by $6 - x$. GELU and ReLU have no row: they are compatible with no shift.

# %% [markdown]
# ## What would break it
#
# Not rounding: floating point is itself nearly invariant under scaling, so the moved network is as exact as the old one,
# however far it was moved, until numbers leave the range of their type. Here are the relative changes of a network's
# outputs after scalings $e^{sZ}$ with $Z$ normal; NaN means that infinities met.


# %%
def rounding(s, dtype):
    """Change of a random network's outputs after a move of size s, computed in `dtype`."""
    net = fcn((16, 32, 32, 10), bias=True, seed=generator).double().eval()
    x = torch.randn(200, 16, generator=generator, dtype=torch.float64)
    A = {f"relu{i}": GReLU(32).sample(generator, scale=s) for i in (1, 2)}
    other = find_symmetries(net, x).act(net, A)
    before, after = (each.to(dtype)(x.to(dtype)).detach() for each in (net, other))
    return relative_error(after, before)


pd.DataFrame(
    {
        str(d): {s: rounding(s, d) for s in (0, 1, 10, 40)}
        for d in (torch.float32, torch.float64)
    }
).rename_axis("s")

# %% [markdown]
# ## Adapt this
#
# A block of your own: change `WithShortcut` and say which sums it takes. The rule for every sum is the same, *what is
# added must be moved alike*: two outputs, $\varphi(A_m) = \varphi(A_l)$; an output and a pre-activation, {eq}`eq-tied`; two
# pre-activations, $A_m = A_l$. A shortcut with weights of its own imposes nothing, since they can absorb the difference:


# %%
class WithShortcut(nn.Module):
    """As before, with a linear layer in the shortcut."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(5, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.shortcut, self.d = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        h1 = self.a(x).abs()
        return self.d((self.c(self.b(h1).abs()) + self.shortcut(h1)).abs())


torch.manual_seed(seed)
G, net = intertwiner_group("abs", 8), WithShortcut().double().eval()
inputs = torch.randn(50, 5, generator=generator, dtype=torch.float64)
independent = {layer: G.sample(generator) for layer in ("a", "b", "c")}
other = find_symmetries(net, inputs).act(net, independent)
change = relative_error(other(inputs), net(inputs))
Markdown(
    f"Three independent elements, one matrix in the shortcut: the outputs move by {change:.0e} of their size."
)

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-inertia
# Why does the Hessian of a ReLU network with one layer of $n$ hidden neurons, none of them without weights, have at least $n$ zero
# eigenvalues at a minimum where the loss is twice differentiable?
# :::
#
# ::::{solution-start} ex-inertia
# :class: dropdown
# ::::
# Each neuron's scaling is a curve on which the loss is constant. Differentiate $\nabla L(g_tW) = g_t^{-\top}\nabla L(W)$ along it, at
# $t=0$ and with tangent $v$: the Hessian takes $v$ to a vector no longer than the gradient, which vanishes at a minimum. Tangents of
# different neurons share no weight, so they are independent.

# %%
W1, b1, W2, b2 = (torch.zeros_like(w) for w in unpacked(point))
W1[0], b1[0], W2[:, 0] = 1, 1, -1  # the scaling of the first neuron
tangent = torch.cat([w.flatten() for w in (W1, b1, W2, b2)]) * point
assert (H @ tangent).norm() <= (1 + 1e-9) * gradient_at(point).norm()

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-exp
# For $\sigma = \exp$ use the affine intertwiners to remove all biases of a hidden layer without changing the function.
# :::
#
# ::::{solution-start} ex-exp
# :class: dropdown
# ::::
# $e^{w\cdot x + b} = e^b e^{w\cdot x}$: multiply the outgoing weights by $e^b$.

# %%
net = perceptron([5, 8, 3], generator, "exp").requires_grad_(False)
expected = net(inputs)
net.fc2.weight *= net.fc1.bias.exp()
net.fc1.bias.zero_()
assert relative_error(net(inputs), expected) < 1e-12

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - The loss is constant on an orbit, its gradient and Hessian are not; the Hessian's signature is.
# - What is added must be moved alike. An output added to a pre-activation asks for $A_m = \varphi(A_l)$ where the paper prints $A_m = A_l$.
# - Permutations make $G_{\mathrm{ReLU}}$ larger than the set of rank one where ε is coarser than about $4e/n$.
# - With shifts, sigmoid gains a sign and exp a whole line.
#
# Back to {doc}`01_intertwiner_groups`, on to {doc}`01c_any_network`, which does all this for networks that somebody else wrote.
#
# ## Provenance

# %%
run.write(
    epsilon_nets=nets,
    theorem_4_2=index,
    proposition_3_4=proposition,
    remark_3_6=remark,
    orbit=orbit,
)
results.provenance()
