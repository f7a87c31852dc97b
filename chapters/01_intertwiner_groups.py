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
# # 1 · Intertwiner groups
#
# :::{admonition} Before you start
# :class: tip
# **You need** matrices, the word *group*, and a network as affine maps with activations between them.
#
# **You will learn** which changes of the weights every activation is compatible with, how to compute them for any
# activation, what they do to hidden representations, and which of the printed statements about them fail.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# Change nearly every weight of a trained network. Can it still compute the same function? For a random change,
# no. But each activation comes with a group of changes that it is *compatible with*: a network moved by them has other
# weights and other hidden activations, and exactly the old outputs. {numref}`fig-same-function` shows one such
# change of a network trained on handwritten digits, before we say what it is.

# %% tags=["hide-input"]
import copy
import itertools

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

from intertwine import data, devices, groups
from intertwine.groups import GReLU, intertwiner_group, scalar_group
from intertwine.models import fcn
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book import results
from intertwine_book.experiments import activation_table
from intertwine_book.experiments import intertwiner_groups as group_laws
from intertwine_book.experiments import weight_space as laws
from intertwine_book.figures.groups import scalar_strip
from intertwine_book.figures.style import COLOURS, use_style
from intertwine_book.figures.symmetries import before_and_after, neuron_diagram

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

# %% tags=["hide-input"]
device = devices.pick(device)
generator = torch.Generator().manual_seed(seed)
train, test = (data.load(dataset, split, device=device) for split in ("train", "test"))
run = results.run(globals(), "01_intertwiner_groups", data=train)
x, x_test = (part.images.flatten(1).double() for part in (train, test))
sizes = [x.shape[1], *widths, len(train.classes)]
network = fcn(sizes, bias=True, seed=generator).double().to(device).eval()
optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
for _ in range(epochs):
    for batch in torch.randperm(len(x), generator=generator).split(64):
        loss = nn.functional.cross_entropy(network(x[batch]), train.labels[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
network.requires_grad_(False)
correct = (network(x_test).argmax(1) == test.labels).double().mean().item()

# %% tags=["hide-input"]
elements = {
    f"relu{i}": GReLU(n).sample(generator, scale=scale) for i, n in enumerate(widths, 1)
}
moved = find_symmetries(network, x_test[:1]).act(network, elements)
both = (network, moved)
matrices = [[w for w in net.parameters() if w.ndim == 2] for net in both]
pieces = {
    "weights": [torch.cat([W.flatten() for W in net]) for net in matrices],
    "hidden activations": [net[:2](x_test[:60]).flatten() for net in both],
    "outputs": [net(x_test).flatten() for net in both],
}
same_function = pd.concat(
    pd.DataFrame({"quantity": name, "before": b.cpu(), "after": a.cpu()})
    for name, (b, a) in pieces.items()
)

# %% mystnb={"figure": {"name": "fig-same-function", "caption": "A trained network before and after a change of nearly all its weights. The weights and the hidden activations are somewhere else altogether; the outputs are the same to rounding in float64."}, "image": {"alt": "Three scatter plots of values after the change against values before. Weights and hidden activations form clouds far from the diagonal; outputs lie exactly on it."}}
before_and_after(same_function)

# %% tags=["hide-input"]
Markdown(
    f"The network, {' – '.join(map(str, sizes))} neurons, classifies {100 * correct:.1f} % of {len(x_test)} test images correctly."
)

# %% [markdown]
# The change is short to write. Every hidden layer $i$ gets a matrix $A_i$, here a permutation times a positive
# diagonal matrix drawn at random, and the weights become
#
# ```{math}
# :label: eq-moved
# W_i' = A_i\, W_i\, \varphi(A_{i-1}^{-1}), \qquad b_i' = A_i\, b_i, \qquad A_0 = I,\; A_k = I .
# ```
#
# For ReLU, $\varphi$ does nothing; what it is for other activations is the subject of this chapter. That the function stays
# is {prf:ref}`prop-moved`, which {doc}`01b_weight_space` checks layer by layer.

# %%
by_hand = copy.deepcopy(network)
for i, A in enumerate(elements.values(), 1):
    entering, leaving = by_hand[2 * i - 2], by_hand[2 * i]  # around the i-th ReLU
    entering.weight.copy_(A.to(device) @ entering.weight)
    entering.bias.copy_(A.to(device) @ entering.bias)
    leaving.weight.copy_(leaving.weight @ torch.linalg.inv(A).to(device))
assert torch.allclose(by_hand.fc2.weight, moved.fc2.weight)

# %% [markdown]
# (sec-swap-scale)=
# ## Two symmetries one can print
#
# The smallest case has two hidden neurons, $f(x) = 3\,\mathrm{ReLU}(x + \tfrac12) - \mathrm{ReLU}(-2x + 1)$, and two
# kinds of change {cite}`swap-and-scale-2022`. *Swap*: exchange the neurons with all their edges
# ({numref}`fig-swap`). *Scale*: multiply what enters a neuron by $\alpha > 0$, its bias too, and divide what leaves it by
# $\alpha$ ({numref}`fig-scale`).

# %%
small = fcn((1, 2, 1), bias=True).double().eval().requires_grad_(False)
values = ([[1.0], [-2.0]], [0.5, 1.0], [[3.0, -1.0]], [0.0])
for parameter, value in zip(small.parameters(), values, strict=True):
    parameter.copy_(torch.tensor(value))
points = torch.linspace(-2, 2, 5, dtype=torch.float64)[:, None]
space = find_symmetries(small, points)
swapped = space.act(small, {"relu1": torch.tensor([[0.0, 1.0], [1.0, 0.0]])})
scaled = space.act(small, {"relu1": torch.diag(torch.tensor([2.0, 1.0]))})
nets = {"before": small, "swapped": swapped, "scaled": scaled}
pd.DataFrame(
    {name: net(points)[:, 0] for name, net in nets.items()},
    index=points[:, 0].tolist(),
)


# %% tags=["hide-input"] mystnb={"figure": {"name": "fig-swap", "caption": "Swap: two neurons change places and keep their edges. The sum that reaches the output is the same."}, "image": {"alt": "A network with one input, two hidden neurons and one output, before and after its hidden neurons, drawn in blue and red, exchange places."}}
def drawing(net, colours=("blue", "red")):
    return {
        "W1": net.fc1.weight,
        "b1": net.fc1.bias,
        "W2": net.fc2.weight,
        "colours": [COLOURS[c] for c in colours],
    }


neuron_diagram(
    {"before": drawing(small), "after the swap": drawing(swapped, ("red", "blue"))}
)

# %% tags=["hide-input"] mystnb={"figure": {"name": "fig-scale", "caption": "Scale: what enters the blue neuron is doubled, what leaves it is halved."}, "image": {"alt": "The same network before and after scaling: the edge and bias into the upper neuron are doubled, the edge out of it is halved."}}
neuron_diagram({"before": drawing(small), "after the scaling": drawing(scaled)})

# %% [markdown]
# A layer of $N$ neurons has $N!$ swaps, all permutations of its neurons; we draw some on wider layers.


# %%
swaps = laws.swap([2, 8, 64], trials, generator)
swap_counts = laws.swap_count([1, 2, 3, 4, 5], generator)
Markdown(
    f"Largest error of a swap: {swaps['error'].max():.0e}. "
    f"Different weights for N = 1 … 5: {', '.join(map(str, swap_counts['found']))}."
)

# %% [markdown]
# For scalings, the source allows "some non-zero real number α". ReLU is *positively homogeneous*,
# $\mathrm{ReLU}(\alpha z) = \alpha\,\mathrm{ReLU}(z)$ for $\alpha > 0$; one negative α refutes the printed statement.
#
# :::{admonition} Erratum: swap-and-scale-2022, scaling
# :class: warning
# Printed: α any non-zero number. True: α > 0. The next cell does it with several α.
# :::


# %% tags=["hide-input"]
def scaling_error(alpha, with_bias=True):
    """Scale the first neuron of `small` by alpha and compare outputs."""
    other = copy.deepcopy(small)
    other.fc1.weight[0] *= alpha
    other.fc1.bias[0] *= alpha if with_bias else 1
    other.fc2.weight[:, 0] /= alpha
    return relative_error(other(points), small(points))


scalings = pd.DataFrame({"alpha": [0.01, 0.5, 2.0, 100.0, -0.5, -1.0, -2.0]})
scalings["error"] = [scaling_error(alpha) for alpha in scalings["alpha"]]
scalings["without bias"] = [
    scaling_error(alpha, with_bias=False) for alpha in scalings["alpha"]
]
scalings["holds"] = scalings["error"] < 1e-12
scalings.set_index("alpha")

# %% [markdown]
# The column *without bias* shows why the bias has to be scaled too.
#
# The source says that both symmetries "occur for any point in parameter space". They do, but at some points a move changes no weight: the cell counts the
# different networks that the six orders of three neurons give. {prf:ref}`thm-stabiliser` says which moves change nothing.
#
# For tanh, which is odd, there are signs in place of scalings. The source credits {cite:t}`bishop2006` and {cite:t}`kurkova1994` with this. {cite:t}`sussmann1992` had proved before that
# tanh networks with one hidden layer and no superfluous neuron have no other symmetries; {cite:t}`kurkova1994` treat other activations.

# %% tags=["hide-input"]
rows, x_any = [], torch.randn(50, 3, generator=generator, dtype=torch.float64)
realised = lambda t: torch.relu(x_any @ t[:, :3].T + t[:, 3]) @ t[:, 4]
kinds = ("generic", "two equal neurons", "a dead neuron", "one without weights", "all 0")
for kind, trial in itertools.product(kinds, range(trials)):
    theta = torch.randn(3, 5, generator=generator, dtype=torch.float64)  # w, b, λ
    theta[1] = theta[0] if kind == "two equal neurons" else theta[1]
    theta[1, 4 if kind == "a dead neuron" else 0 :] *= kind in kinds[:2]
    theta *= kind != "all 0"
    orders = torch.tensor([*itertools.permutations(range(3))])
    a = torch.randn(3, 1, generator=generator, dtype=torch.float64).exp()
    scalars = torch.cat([a.expand(3, 4), 1 / a], 1)
    gaps = [(realised(scalars * theta[o]) - realised(theta)).abs().max() for o in orders]
    row = {"point": kind, "trial": trial, "error": float(max(gaps))}
    row["networks"] = len({tuple(theta[o].flatten().tolist()) for o in orders})
    rows.append(row | {"moves_for_each": 6 / row["networks"]})
any_point = pd.DataFrame(rows)
any_point.groupby("point", sort=False)[["error", "networks"]].max()

# %% [markdown]
# ## What commutes with an activation
#
# Both changes put a matrix $A$ in front of the activation and its effect behind it. All that is needed is an
# $A$ that can be pulled through.
#
# :::{prf:definition} Intertwiner group, {cite}`godfrey2022` §3
# :label: def-intertwiner
# Let $\sigma_n$ apply $\sigma:\mathbb R\to\mathbb R$ to each of $n$ coordinates. Its *intertwiner group* is
#
# $$G_{\sigma_n} = \{A \in GL_n(\mathbb R) : \text{there is } B \in GL_n(\mathbb R) \text{ with } \sigma_n\circ A = B\circ\sigma_n\}.$$
# :::
#
# For ReLU and $n=2$ a scaled swap can be pulled through, a rotation cannot:

# %%
z = torch.randn(2, 1000, generator=generator, dtype=torch.float64)
scaled_swap = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).double()
rotation = groups.Orthogonal(2).sample(generator)
for name, A in {"scaled swap": scaled_swap, "rotation": rotation}.items():
    B = torch.linalg.lstsq(
        torch.relu(z).T, torch.relu(A @ z).T
    ).solution.T  # the best B there is
    print(
        f"{name:12} best B leaves {relative_error(B @ torch.relu(z), torch.relu(A @ z)):.1e} of σ(Az) unexplained"
    )

# %% [markdown]
# Which $B$ belongs to $A$? Evaluate both sides at the basis vectors.
#
# :::{prf:lemma} {cite}`godfrey2022`, Lemma 3.1
# :label: lem-phi
# Write $\sigma(A)$ for σ applied to every entry of $A$. If $\sigma(I_n)$ is invertible, put
#
# $$\varphi_\sigma(A) = \sigma(A)\,\sigma(I_n)^{-1}.$$ (eq-phi)
#
# Then $G_{\sigma_n}$ is a group, $\varphi_\sigma : G_{\sigma_n}\to GL_n(\mathbb R)$ a homomorphism, and
# $\sigma_n\circ A = \varphi_\sigma(A)\circ\sigma_n$.
# :::
#
# :::{prf:proof}
# At $x = e_1, \dots, e_n$ the relation $\sigma(Ax) = B\,\sigma(x)$ reads $\sigma(A) = B\,\sigma(I_n)$, so $B = \varphi_\sigma(A)$. If $A'$ has $B'$,
# then $\sigma(AA'x) = BB'\sigma(x)$ and $\sigma(A^{-1}x) = B^{-1}\sigma(x)$.
# :::
#
# We draw elements $A, B$ and check each clause: $AB$ and $A^{-1}$ are in the group, $\varphi(AB)=\varphi(A)\varphi(B)$, and
# $\sigma(Ax) = \varphi(A)\sigma(x)$ for random $x$.


# %%
activations = {
    name: name for name in ("ReLU", "GELU", "tanh", "sigmoid", "cos", "square")
}
lemma = group_laws.lemma_3_1(activations, [2, 3, 8], trials, generator)
lemma.groupby("activation", sort=False)[
    ["homomorphism_error", "intertwining_error"]
].max()

# %% [markdown]
# ## An algorithm for every activation
#
# The paper computes its six groups by one procedure from elementary properties of σ (its appendix E.2, which we do not have). Here
# is an argument of ours that reduces all of them, but that of the identity, to one dimension, and then needs only values of σ.
#
# :::{prf:theorem} Reduction to scalars
# :label: thm-scalars
# Let $n\ge 2$ and let σ be measurable and not affine. Then
#
# $$\begin{aligned}
# G_{\sigma_n} &= \{P D : P \text{ a permutation},\ D = \mathrm{diag}(d_1,\dots,d_n),\ d_i\in H_\sigma\},\\
# H_\sigma &= \{a\ne 0 : \sigma(ax) = b\,\sigma(x) \text{ for some } b \text{ and all } x\}.
# \end{aligned}$$ (eq-scalars)
# :::
#
# :::{prf:proof}
# Row $i$ of $\sigma(Ax) = B\sigma(x)$ reads $\sigma(\sum_j a_{ij}x_j) = \sum_j b_{ij}\sigma(x_j)$. With two non-zero entries in the
# row, and all other coordinates fixed, this is Pexider's equation $\sigma(u+v) = p(u)+q(v)$, whose measurable solutions are
# affine. So every row has one non-zero entry $a$, say at $j$, and $A = PD$. Row $i$ now reads $\sigma(ax_j) = \sum_k b_{ik}\sigma(x_k)$; σ is
# not constant, so $b_{ik} = 0$ for $k \ne j$, and $a \in H_\sigma$. Conversely every such $PD$ can be pulled through.
# :::
#
# So there is one thing to decide for each activation: which scalars $a$ turn σ into a multiple of itself. If σ is continuous but for
# finitely many points, $H_\sigma$ is closed in $\mathbb R^*$. Closed subgroups of $\mathbb R^*$ are few: $\{1\}$ (*trivial*), $\{\pm1\}$ (*signs*), $\mathbb R_{>0}$ (*positive*), $\mathbb R^*$ (*nonzero*), or powers
# of one number, with or without signs (*discrete*). `scalar_group` decides among them from values of σ alone and
# keeps a certificate: the largest residual it accepted, and the smallest that it refused. Values are finitely many, so this
# is evidence and no proof; {ref}`sec-table-1` holds it against what can be proved.

# %%
for sigma in [
    nn.ReLU(),
    nn.GELU(),
    torch.tanh,
    lambda x: x * torch.cos(x.abs().clamp(min=1e-300).log()),
]:
    H = scalar_group(sigma)
    print(
        f"{H!r:40} accepted {H.certificate.accepted:.0e}   refused {H.certificate.refused:.0e}"
    )

# %% [markdown]
# The last one is not a joke: $x\cos\log|x|$ repeats itself when $x$ is multiplied by $e^{\pi}$, so its group is
# $\{\pm e^{k\pi}\}$. {numref}`fig-scalars` shows the residual against $a$ for a dozen activations.

# %%
log_periodic = lambda x: x * torch.cos(x.abs().clamp(min=1e-300).log())
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
    "x cos log|x|": log_periodic,
}
logs = [*np.linspace(-4, 4, 41), -np.pi, np.pi]
scalars = torch.tensor(sorted(sign * np.exp(t) for t in logs for sign in (-1, 1)))
strip = group_laws.scalar_residuals(gallery, scalars)

# %% mystnb={"figure": {"name": "fig-scalars", "caption": "Which scalars an activation is compatible with. Dark: σ(ax) is a multiple of σ(x) to rounding; pale: it is not. A single dark cell is {1}, two are {±1}, a dark half is the positive numbers, a dark row all non-zero numbers, and the last row is a discrete group."}, "image": {"alt": "A row of coloured cells for each of twelve activations over the scalar a from minus 55 to 55. GELU, softplus and sigmoid are dark only at 1; tanh, sin and the Gaussian at plus and minus 1; ReLU kinds on the positive half; absolute value and cube everywhere; x cos log x at isolated points."}}
scalar_strip(strip)

# %% [markdown]
# (sec-table-1)=
# ## Table 1, computed and extended
#
# The paper's Table 1 has six rows. Ours has as many as one likes; `dimension` and `components` are those of
# $G_{\sigma_n}$ for $n = 3$.

# %% tags=["output_scroll"]
extended = pd.DataFrame(activation_table.table(n=3), dtype=object)
extended[["activation", "group", "phi", "dimension", "components"]].set_index(
    "activation"
)

# %% [markdown]
# Does the algorithm find what can be proved? Here is what can, beside what it finds; and then the printed rows, each
# activation as the paper names it, with the error of the printed $\varphi$ on elements of the printed group.

# %%
closed_forms = {
    "trivial": "sigmoid GELU SiLU Mish Softplus ELU SELU CELU LogSigmoid Hardswish Hardsigmoid ReLU6 exp",
    "signs": "RBF tanh erf sin cos Softsign Hardtanh Softshrink Hardshrink Tanhshrink",
    "positive": "ReLU LeakyReLU(0.01) LeakyReLU(-2) ReLU² Heaviside",
    "nonzero": "x² x³ abs LeakyReLU(-1) sign √|x|·sign(x)",
    "linear": "identity LeakyReLU(1)",
    "discrete": "x·cos(log|x|) x·(2±sin(π·log₃|x|))",
    "affine": "2x+1",
    "constant": "3",
}
proved = {name: group for group, names in closed_forms.items() for name in names.split()}
checked = extended[["activation", "scalars"]].rename(columns={"scalars": "computed"})
checked["proved"] = [proved[name.replace(" ", "")] for name in checked["activation"]]
checked["holds"] = checked["computed"] == checked["proved"]
Markdown(f"{checked['holds'].sum()} of {len(checked)} agree.")

# %%
rbf = lambda x: torch.exp(-x * x / 2) / (2 * np.pi) ** 0.5
same = lambda A: A
as_printed = [
    ("Identity", "Identity", "linear", same),
    ("Sigmoid", "sigmoid", "trivial", same),
    ("ReLU", "ReLU", "positive", same),
    *(
        (f"LeakyReLU({s})", nn.LeakyReLU(s), "positive", same)
        for s in (-2.0, -1.0, -0.5, 0.1, 2.0)
    ),
    ("RBF", rbf, "signs", torch.abs),
    *(
        (f"x^{d}", lambda x, d=d: x**d, "nonzero", lambda A, d=d: A**d)
        for d in (1, 2, 3, 4)
    ),
]
table_1 = group_laws.table_1(as_printed, 3, generator)
table_1[["activation", "printed", "computed", "phi_error", "holds"]].set_index(
    "activation"
)

# %% [markdown]
# :::{admonition} Errata: godfrey2022, Table 1
# :class: warning
# *LeakyReLU*: "same as ReLU as long as negative slope ≠ 1". Slope −1 is $|x|$, and its group is larger: all non-zero
# scalings. *Polynomial* $x^d$: needs $d\ge 2$; $x^1$ is linear, its group is all of $GL_n$. Both rows fail in the table above.
# :::

# %% [markdown]
# ## The rays of the activation basis
#
# :::{prf:theorem} {cite}`godfrey2022`, Theorem 3.3
# :label: thm-rays
# $G_{\mathrm{ReLU}_n}$ is the stabiliser of the set of rays $\{\mathbb R_{\ge0}e_i\}$. If it stabilises a finite set of rays
# $\mathbb R_{\ge0}v_1,\dots,\mathbb R_{\ge0}v_N$, $v_i \ne 0$, then every $v_i$ is a positive multiple of some $\pm e_j$.
# :::
#
# :::{prf:proof}
# $A$ permutes the rays of the $e_i$ iff its columns are positive multiples of different $e_j$. If $v$ has two non-zero entries, scaling
# one of them by all $d > 0$ gives infinitely many rays.
# :::
#
# This is why single neurons of a ReLU layer may be special. To see it happen, act on rays and count how many
# different ones appear: a finite set that is stable stays finite, any other keeps growing.


# %%
axes = torch.eye(3, dtype=torch.float64)
starts = {
    "e₁, e₂, e₃": axes,
    "−e₁, −e₂, −e₃": -axes,
    "e₁ + e₂": axes[:1] + axes[1:2],
    "a random ray": torch.randn(1, 3, generator=generator, dtype=torch.float64),
}
sizes_of = {name: group_laws.orbit_size(v, 20, generator) for name, v in starts.items()}
pd.Series(sizes_of, name="rays after 20 elements").to_frame()

# %%
theorem = group_laws.theorem_3_3([2, 3, 8], trials, generator)
theorem.groupby("half", sort=False)["holds"].agg(["sum", "count"])

# %% [markdown]
# ## What would break it
#
# The hypothesis of {prf:ref}`lem-phi`, that $\sigma(I_n)$ be invertible, is only a convenience: $G_{\sigma_n}$ is a group for
# every σ. Softshrink with λ = 1 has $\sigma(I_n) = 0$, so $\varphi$ cannot be read off from {eq}`eq-phi`, but from $\sigma(tI_n)$ it can,
# with any $t$ for which that is invertible:


# %%
singular_cases = {
    "softshrink(1)": nn.Softshrink(1.0),
    "hardshrink(2)": nn.Hardshrink(2.0),
    "step": lambda x: (x >= 0).to(x.dtype),
}
singular = group_laws.lemma_3_1(singular_cases, [2, 3], trials, generator)
singular.groupby(["activation", "n"], sort=False)[
    ["rank", "intertwining_error", "holds"]
].agg({"rank": "max", "intertwining_error": "max", "holds": "all"})

# %% [markdown]
# On all of $GL_n$ the formula {eq}`eq-phi` is no homomorphism; it becomes one on the group:


# %%
on_gl = group_laws.phi_on_gl(
    {"RBF": rbf, "square": "square", "ReLU": "ReLU"}, 3, trials, generator
)
on_gl.pivot_table(
    index="activation", columns="in_group", values="homomorphism_error", aggfunc="max"
)

# %% [markdown]
# ## Adapt this
#
# Your own network: replace the class and the first line behind it. Any elementwise activation will do, one you invented too, and
# any module that the library can run once ({doc}`01c_any_network`).


# %%
class Sigma(nn.Module):
    """Your activation."""

    def forward(self, z):
        return torch.where(z > 0, z, 0.2 * z) ** 3


mine = fcn((7, 20, 20, 4), bias=True, activation=Sigma).double().eval()
inputs = torch.randn(100, 7, generator=generator, dtype=torch.float64)
G = intertwiner_group(Sigma(), 20)
mine_space = find_symmetries(mine, inputs)
elements = {f"activation{i}": G.sample(generator) for i in (1, 2)}
change = relative_error(mine_space.act(mine, elements)(inputs), mine(inputs))
Markdown(
    f"Your activation's scalars: *{G.scalars}*. The moved network differs from yours by {change:.0e}."
)

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-hardtanh
# Hardtanh clips to $[l, u]$. For which $l$ and $u$ is its group larger than permutations? Check with `scalar_group`.
# :::
#
# ::::{solution-start} ex-hardtanh
# :class: dropdown
# ::::
# For $l = -u$ it is odd, so signs commute with it; no other scalar does, because $\sigma(ax)$ and $b\sigma(x)$ have to stop growing
# at the same $x$.

# %%
assert str(scalar_group(nn.Hardtanh(-1, 1))) == "signs"
assert str(scalar_group(nn.Hardtanh(-1, 2))) == "trivial"

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-powers-of-two
# Invent an activation whose group is exactly $\{2^k : k\in\mathbb Z\}$.
# :::
#
# ::::{solution-start} ex-powers-of-two
# :class: dropdown
# ::::
# Multiply ReLU by a function of $\log_2 x$ of period 1. Zero for $x<0$ excludes the signs.


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
# Which elements of $G_{\mathrm{ReLU}}$ are orthogonal? What does that say about rotating a layer of a ReLU network?
# :::
#
# ::::{solution-start} ex-orthogonal
# :class: dropdown
# ::::
# $PD$ is orthogonal iff $D^2 = I$; with positive entries $D = I$. So only permutations are: no other rotation can be pulled through
# ReLU, and in general the next layer cannot make up for it. {doc}`02_sanity_rotations` measures how much is lost.

# %%
A = GReLU(8).sample(generator)
polar = (
    torch.linalg.svd(A).U @ torch.linalg.svd(A).Vh
)  # the orthogonal matrix nearest to A
assert groups.Permutations(8).contains(polar) and not groups.Orthogonal(8).contains(A)

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - The matrices that an activation is compatible with form a group, $G_\sigma$; for every measurable, non-affine activation it consists of
#   permutations times diagonal matrices with entries in one group of scalars, $H_\sigma$ ({prf:ref}`thm-scalars`).
# - For an activation with finitely many jumps $H_\sigma$ is trivial, signs, positive, nonzero or discrete; the library finds it from
#   values of σ.
# - Moving weights by {eq}`eq-moved` changes weights and representations and not the function.
# - Of the printed statements, two rows of Table 1 and "any non-zero α" need a correction; the {doc}`../scoreboard` has
#   every verdict, computed from the tables below.
#
# On to {doc}`01b_weight_space`: what residual connections do to all this, and what the loss makes of an orbit.

# %%
without_bias = scalings[["alpha", "without bias"]].set_axis(["alpha", "error"], axis=1)
run.write(
    swap=swaps,
    swap_count=swap_counts,
    scale=scalings[["alpha", "error", "holds"]],
    scale_without_bias=without_bias,
    any_point=any_point,
    lemma_3_1=lemma,
    lemma_3_1_singular=singular,
    table_1=table_1,
    table_1_extended=checked,
    phi_on_gl=on_gl,
    theorem_3_3=theorem,
)

# %% [markdown]
# ## Provenance

# %%
results.provenance()
