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
# # 7 · When are two shallow ReLU networks the same function?
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: swaps, positive scalings, and what $G_{\mathrm{ReLU}}$ is.
#
# **You will learn** all symmetries of ReLU networks with one hidden layer, to decide for any two of them whether they are the same
# function, with a proof either way, and to make a network smaller without changing it.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# Swapping hidden neurons and scaling them by positive factors keeps the function. *Are there other symmetries?* {numref}`fig-folded` says
# yes: two networks, three neurons each, folds on the same three lines, and every neuron active on the opposite side. No swap and no scaling
# takes one to the other. They are the same function, with $\sigma = \mathrm{ReLU}$:
#
# $$\sigma(x) + \sigma(y) + \sigma(1-x-y) = \sigma(-x) + \sigma(-y) + \sigma(x+y-1) + 1.$$ (eq-hidden)
#
# The paper {cite}`ramakrishnan2026` classifies all symmetries. This chapter makes its theorems into a procedure.

# %% tags=["hide-input"]
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
from IPython.display import Markdown
from torch import nn

from intertwine import data, devices, models, shallow
from intertwine.shallow import ShallowReLU, same_function
from intertwine.training import RECIPES, evaluate, train
from intertwine_book import results
from intertwine_book.experiments import shallow_relu
from intertwine_book.figures.shallow import (
    degeneracies,
    fibre_map,
    folded_planes,
    hidden_counts,
    nearest_hyperplanes,
    neuron_rays,
)
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one, for training
seed: int = 0  # of initialisation, data order and random networks
width: int = 16  # hidden neurons of the trained networks
networks: int = 4  # trained from different seeds, at least 2
epochs: int = 10  # of their training
trials: int = 20  # random networks for each check

# %% tags=["hide-input"]
device = devices.pick(device)
run = results.run(globals(), "07_shallow_relu")
generator = run.generator()
p = ShallowReLU(W=[[1, 0], [0, 1], [-1, -1]], b=[0, 0, 1], V=[[1, 1, 1]], c=[0])
q = ShallowReLU(W=[[-1, 0], [0, -1], [1, 1]], b=[0, 0, -1], V=[[1, 1, 1]], c=[1])
both = {"p": p, "q": q}
surface, folds = (
    shallow_relu.surfaces(both, np.linspace(-1.2, 1.7, 60)),
    shallow_relu.neurons(both),
)

# %% mystnb={"figure": {"name": "fig-folded", "caption": "A plane folded along three lines, in two ways. Lines: where a neuron of the network begins to be active; arrows: towards the side where it is. The level lines of the two networks agree although every arrow is reversed."}, "image": {"alt": "Two panels with the same grey level lines of a piecewise linear function of x and y and the same three coloured lines. In the left panel arrows point to one side of each line, in the right panel to the other."}}
folded_planes(surface, folds)

# %% [markdown]
# Pictures do not prove. `same_function` does; integers and fractions stay exact, and so is the answer.

# %%
answer = same_function(p, q)
moved = answer.symmetry.image()
Markdown(
    f"Equal: **{answer.equal}**, by flipping the neurons {answer.symmetry.flips}. Moved by that symmetry, "
    f"$p$ has the rows `{moved.rows.astype(int).tolist()}` and the constant {moved.c[0]}: "
    f"{'it is' if (moved.rows == q.rows).all() else 'it is not'} $q$."
)

# %% [markdown]
# ## Notation
#
# A network is $\rho(\theta)(x) = V\,\sigma(Wx + b) + c$ with $m$ inputs, $n$ neurons and $k$ outputs. Row $i$ of $W$ is $w_i$,
# column $i$ of $V$ is $\lambda_i\in\mathbb R^k$. An element $A$ of $G_{\mathrm{ReLU}}$ acts by $W\mapsto AW$, $b\mapsto Ab$, $V\mapsto VA^{-1}$. The group $H_n = \mathbb R_{>0}^n\rtimes\Sigma_n$ of positive scalings
# and permutations is what the paper starts from. The text that we have lacks the paper's formulas; those below were restored by proof.
#
# (sec-minimal)=
# ## Step one: the minimal form
#
# :::{prf:definition} {cite}`ramakrishnan2026`, Definitions 3–5
# :label: def-minimal
# (1) A neuron with $w_i = 0$ is the constant $\lambda_i\sigma(b_i)$: move it into $c$. (2) If $(w_j, b_j) = t\,(w_i, b_i)$ with $t > 0$,
# merge: $\lambda_i \leftarrow \lambda_i + t\lambda_j$. (3) Drop neurons with $\lambda_i = 0$. What disappears are the *0-factors*; their
# number is the *rank*. Normalise the remaining rows and put them in lexicographic order: the *minimal form*. It is unique up to these
# steps and $H_n$, not for the function: the two networks of {eq}`eq-hidden` have different ones.
# :::
#
# With one input a neuron is an arrow $(w, b)$ in the plane, and merging is a matter of direction ({numref}`fig-rays`).

# %%
given = ShallowReLU([[1], [2], [1], [0], [-1]], [1, 2, -1, 1, 1], [[2, 1, -3, 5, 1]], [0])
live = given.with_neurons([0, 1, 2, 4])
moved = ShallowReLU(live.W, live.b, live.V, given.c + given.V[:, 3] * given.b[3])
steps = {"given": given, "constants moved": moved}
steps["merged, in order"] = shallow.zero_factor_reduction(given)
arrows = shallow_relu.neurons(steps)

# %% mystnb={"figure": {"name": "fig-rays", "caption": "The minimal form of a network of one input, step by step. Arrows: (w, b) of each neuron, as thick as its output weight is large, blue where that is positive, red where negative. The vertical arrow is a constant, two arrows in one direction are one neuron."}, "image": {"alt": "Three panels of arrows from the origin: five arrows, then four without the vertical one and with a changed constant, then three, two parallel ones having become one."}}
neuron_rays(arrows)

# %% [markdown]
# The paper's Example 1 has four networks with 0-factors of ranks 3, 1, 1 and 0. Its matrices are lost; these are ours.

# %%
examples = {
    "all zero": ShallowReLU([[1, 2], [1, 2], [0, 1]], [0, 0, 5], [[1, -1, 0]], [1]),
    "parallel": ShallowReLU([[1, 0], [2, 0], [0, 1]], [1, 2, 0], [[1, 1, 1]], [0]),
    "constant": ShallowReLU([[1, 0], [0, 1], [0, 0]], [0, 0, 3], [[1, 1, 2]], [0]),
    "none": p,
}
example_1 = pd.DataFrame(
    {
        "network": list(examples),
        "rank": [shallow.zero_factor_rank(net) for net in examples.values()],
        "minimal rows (w, b)": [
            str(shallow.minimal_form(n).rows.tolist()) for n in examples.values()
        ],
    }
)
example_1

# %% [markdown]
# (sec-relation)=
# ## Step two: the one extra relation
#
# :::{prf:proposition} {cite}`ramakrishnan2026`, Proposition 14
# :label: prop-affine
# A minimal network without 0-factors is an affine function iff its neurons pair up with $(w_j, b_j) = -t\,(w_i, b_i)$, $t>0$, and
# $t\lambda_j = -\lambda_i$.
# :::
#
# :::{prf:proof}
# Take a hyperplane $H = \{w_i\cdot x + b_i = 0\}$ of a neuron and a point of $H$ on no other hyperplane. Near it the function is affine iff the jump of its
# gradient across $H$ is 0. In a minimal form no two neurons are positive multiples of each other, so at most one further neuron $j$ bends along $H$, with
# $(w_j, b_j) = -t(w_i, b_i)$, $t>0$. From the side where neuron $i$ is off to the side where it is on, the gradient jumps by $\lambda_iw_i - \lambda_jw_j =
# (\lambda_i + t\lambda_j)w_i$. Without $j$ that is not 0, as $\lambda_i\ne0$; with it, it is 0 iff $t\lambda_j = -\lambda_i$. Conversely such a pair is affine:
# $\lambda_i\sigma(z) + \lambda_j\sigma(-tz) = \lambda_i(\sigma(z) - \sigma(-z)) = \lambda_iz$.
# :::
#
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorems 3 and 4
# :label: thm-equality
# Let $\theta\ominus\theta'$ have the neurons of both, those of $\theta'$ with $-\lambda'$, and the constant $c - c'$. Then $\rho(\theta) =
# \rho(\theta')$ iff the reduction of $\theta\ominus\theta'$ is empty with constant 0, or all its neurons pair up as in
# {prf:ref}`prop-affine` and the affine terms of the pairs, with the constant, add up to 0. For $k > 1$: for every output.
# :::
#
# :::{prf:proof}
# $\rho(\theta\ominus\theta') = \rho(\theta) - \rho(\theta')$, and the reduction keeps the function. If that is 0 it is affine, so that
# by {prf:ref}`prop-affine` no neuron is left or all pair up, and the function is the sum of the affine terms and the constant.
# :::
#
# A flip is a pair that crosses from one network to the other: changing the sign of $(w_i, b_i)$ for $i\in S$, with $c \leftarrow c +
# \sum_S\lambda_i b_i$, keeps the function iff
#
# $$\sum_{i\in S}\lambda_i w_i^\top = 0.$$ (eq-flip)
#
# Where no two neurons share a hyperplane, we call such a non-empty $S$ a *hidden symmetry*.
#
# (sec-canonical)=
# ### A canonical form that needs no search
#
# This part is ours. Since $\lambda\sigma(u) = \lambda(|u| + u)/2$, group the neurons by hyperplane $H$, whichever side they look to:
#
# $$f(x) = \sum_H \gamma_H\,|u_H(x)| + Lx + e .$$ (eq-canonical)
#
# Here $u_H$ is an affine form that is 0 on $H$, one chosen for each $H$, and $\gamma_H\in\mathbb R^k$. The $|u_H|$ of different hyperplanes
# are linearly independent modulo affine functions: near a point of $H$ that lies on no other hyperplane, only $|u_H|$ bends. So $(\gamma_H\ne 0, L, e)$ decides equality, in time
# $O(nm(k+\log n))$: no subset is searched. In floats two hyperplanes are one if their unit normals agree to $10^{-9}$, and an
# answer may also be *undecided*.

# %%
form = shallow.canonical_form(p)
pd.DataFrame(
    {"hyperplane (w, b)": form.normals.tolist(), "γ": [str(g) for g in form.gamma[0]]}
).assign(L=str([str(v) for v in form.L[0]]), e=str(form.e[0]))

# %% [markdown]
# Do the theorems and the canonical form give the right answer? Pairs of networks are constructed: moved by $H_n$, with neurons split, dead, constant, with
# opposite pairs, with hidden flips, each also as a near miss in which one number is off by a thousandth. The theorems are tried as they are written:
# `reduce_difference` computes the reduction of $\theta\ominus\theta'$ and looks at what is left. Of the canonical form, a *yes* is checked by
# carrying out the symmetry it names, a *no* by evaluating both networks at the input it gives.

# %%
differences = shallow_relu.differences(trials, generator=run.generator(1))
verdicts = shallow_relu.verdicts(trials, generator=generator)
reductions, affine = (
    shallow_relu.reductions(trials, generator=generator),
    shallow_relu.affine(trials, generator=generator),
)
checks = {
    "Lemma 17": differences["lemma_17"],
    "Theorems 3, 4": differences["theorems_3_4"],
    "the canonical form": verdicts["holds"],
    "Definition 3": reductions["holds"],
    "Proposition 14": affine["holds"],
}
pd.DataFrame({k: {"cases": len(t), "holds in": t.sum()} for k, t in checks.items()}).T

# %% [markdown]
# (sec-stabiliser)=
# ## Which elements of $H_n$ move nothing
#
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorem 2 and Proposition 2
# :label: thm-stabiliser
# The stabiliser of $\theta$ in $H_n$ is $\mathbb R_{>0}^r\rtimes\Sigma_r$ on its $r$ zero neurons ($w, b, \lambda$ all 0), times a symmetric group on
# every block of neurons that are equal up to a positive scaling of $(w, b)$ with $\lambda$ scaled inversely.
# :::
#
# :::{prf:proof}
# An element sends neuron $i$ to place $\pi(i)$, scaled by $d_i$. It fixes θ iff $(w_{\pi(i)}, b_{\pi(i)}) = d_i(w_i, b_i)$ and $\lambda_{\pi(i)} = \lambda_i/d_i$ for all $i$.
# So π permutes the neurons within the classes of that relation. If a neuron of a class is not all zero, $d_i$ is determined by π: the class
# contributes a symmetric group. On the class of zero neurons every $d_i > 0$ and every permutation is allowed: $\mathbb R_{>0}^r\rtimes\Sigma_r$.
# :::
#
# :::{admonition} Not judged: ramakrishnan2026, Theorem 2, the number of generators
# :class: note
# The text that we have reads "a subgroup generated by at most two cycles". Its formulas are lost, and a number may be missing, so this is not judged. The finite
# part is generated by transpositions (2-cycles), and how many depends on the blocks: three pairs of equal neurons have the stabiliser
# $(\mathbb Z/2)^3$, which no two elements generate.
# :::


# %% tags=["hide-input"]
def alike(net, i, j):
    """Whether neuron j is neuron i: (w, b) scaled by some d > 0, λ by 1/d."""
    pairs = [
        *zip([*net.rows[i], *net.V[:, j]], [*net.rows[j], *net.V[:, i]], strict=True)
    ]
    d = next((Fraction(v, u) for u, v in pairs if u != 0), 1)
    return d > 0 and all(v == d * u for u, v in pairs)


def generated(net):
    """All products of the transpositions in the stabiliser, as permutations."""
    swaps = [each[:2] for each in shallow.stabilizer(net).transpositions]
    group = new = {tuple(range(net.n))}
    while new:
        turned = [{i: j, j: i} for i, j in swaps]
        new = {tuple(t.get(k, k) for k in pi) for pi in new for t in turned} - group
        group = group | new
    return group


rows, draw = [], run.generator(4)
for trial in range(trials):
    net = shallow.random_network(2, 2, 1, 2, generator=draw)
    net = net.with_neurons([0, 1, 0, 1, 1][: 2 + trial % 4])
    zeros = np.zeros((trial % 2, 4), dtype=object)
    net = shallow.random_orbit(net.extended(zeros[:, :3], zeros[:, 3:].T), generator=draw)
    every = itertools.permutations(range(net.n))
    found = {pi for pi in every if all(alike(net, i, j) for i, j in enumerate(pi))}
    row = {"trial": trial, "neurons": net.n, "order": len(found)}
    rows.append(row | {"generated": found == generated(net)})
searched = pd.DataFrame(rows)

# %%
three_pairs = ShallowReLU([[1], [1], [2], [2], [3], [3]], [1] * 6, [[1] * 6], [0])
stabilisers = shallow_relu.stabilizers(trials, generator=generator)
order = shallow.stabilizer(three_pairs).order
Markdown(
    f"Three pairs of equal neurons: order {order}, while two commuting involutions generate 4 elements at most. "
    f"Of {len(stabilisers)} random networks with copied neurons, the stabiliser was as constructed in "
    f"{stabilisers['holds'].sum()}; two cycles would do in {stabilisers['two_cycles'].sum()}. In {searched['generated'].sum()} of "
    f"{len(searched)} small ones the transpositions generate all that a search of all permutations finds."
)

# %% [markdown]
# (sec-generic)=
# ## When $H_n$ is all there is
#
# The canonical form bounds every fibre in which no two neurons share a hyperplane. This theorem is ours.
#
# :::{prf:theorem} At most $2^n$ orbits
# :label: thm-local
# Let the rows $(w_i, b_i)$ be pairwise linearly independent, and $w_i\ne0$, $\lambda_i\ne0$ for all $i$. Then the networks of $\theta$'s function and
# width are one free $H_n$-orbit for each $S$ that satisfies {eq}`eq-flip`, the empty one included: at most $2^n$. All that are near θ are
# $(d_iw_i, d_ib_i, \lambda_i/d_i)$ with $d_i > 0$: θ is *locally identifiable*.
# :::
#
# :::{prf:proof}
# By {eq}`eq-canonical` a network of this function bends along the same $n$ hyperplanes. If it has $n$ neurons it has one on each: $s_id_i(w_i, b_i)$ with
# $s_i = \pm1$ and $d_i>0$, up to their order, and equal $\gamma_H$ give the output weight $\lambda_i/d_i$. So an element of $H_n$ takes it to the flip of $S =
# \{i : s_i = -1\}$; equal $L$ is {eq}`eq-flip`, and equal $e$ gives $c$. The orbits are free by {prf:ref}`thm-stabiliser`, and different for different $S$, as $H_n$ keeps sides. Near θ, row $i$ can be a
# multiple of none of the finitely many rows $(w_j, b_j)$ but $(w_i, b_i)$, and a positive one.
# :::
#
# The network of {numref}`fig-folded` is the paper's counterexample to Lemma D15 of {cite:t}`grigsby2023`: its lines are in general position, every two of them
# meet, its regions have different affine functions, and yet its fibre is two orbits. (The lemma itself we know only from the paper.) Whether such conditions suffice for
# *local* identifiability the paper leaves as a conjecture. With one hidden layer they do: general position makes the rows independent, and a neuron at which the
# function bends has $\lambda_i\ne0$.

# %% tags=["hide-input"]
local = shallow_relu.identifiability(2 * trials, generator=run.generator(2))
ticks = np.linspace(-3, 3, 100)
grid = np.stack(np.meshgrid(ticks, ticks, 1.0), -1).reshape(-1, 3)
signs = grid @ p.rows.astype(float).T > 0
regions = np.unique(signs, axis=0)
functions = np.unique(regions @ p.rows.astype(float), axis=0)
corners = [np.linalg.det(p.W[[i, j]].astype(float)) for i, j in ((0, 1), (0, 2), (1, 2))]
general = np.linalg.det(p.rows.astype(float)) != 0 and np.all(corners)
facts = {"lines": p.n, "regions": len(regions), "functions": len(functions)}
facts["refutes"] = bool(
    general and len(regions) == len(functions) and answer.symmetry.flips
)
grigsby = pd.DataFrame([facts])
Markdown(
    f"The {p.n} lines cut the plane into {facts['regions']} regions with {facts['functions']} different affine functions. Of {len(local)} random networks with "
    f"independent rows, {local['as_predicted'].sum()} have as many orbits as sets to flip (up to {local['orbits'].max()}), and in "
    f"{local['locally'].sum()} the class has no direction but the scalings, by the rank of the Jacobian."
)

# %% [markdown]
# Where $S=\emptyset$ is the only set, one orbit is left.
#
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorems 1 and 5, Proposition 24
# :label: thm-generic
# If the rows $(w_i, b_i)$ are pairwise linearly independent, all $\lambda_i\ne0$, and no non-empty $S$ satisfies {eq}`eq-flip`, then the networks of
# $\theta$'s function and width are one free $H_n$-orbit. Such $\theta$ contain a Zariski-open, hence dense set.
# :::
#
# :::{prf:proof}
# No $w_i$ is 0, or $S=\{i\}$ would do; the first part is {prf:ref}`thm-local`. The conditions exclude finitely many zero sets of polynomials, none of them all parameters: 2×2
# minors of two rows (they vanish iff the rows are dependent, Lemma 22), $\lambda_i = 0$, and $\sum_S\lambda_iw_i^\top = 0$ for each $S$.
# :::
#
# Looking for $S$ is a subset-sum problem. But where the matrices $\lambda_iw_i^\top$ are linearly independent no $S$ exists, and their smallest
# singular value bounds how near any comes: $\lVert\sum_S\lambda_iw_i^\top\rVert\ge\sigma_{\min}$. The condition is not necessary; the table
# has $\sigma(x) + 2\sigma(-x)$ beside others and shows that the paper's hierarchy is strict: *generic* ⇒ *no 0-factors* ⇒ *trivial
# stabiliser*, and no arrow can be reversed.

# %%
zoo = {
    "σ(x) + σ(y)": ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 1]], [0]),
    "σ(x) + 2σ(−x)": ShallowReLU([[1], [-1]], [0, 0], [[1, 2]], [0]),
    "σ(x) + σ(y) + σ(1−x−y)": p,
    "σ(x) + 0σ(y)": ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 0]], [0]),
    "σ(x) + σ(x)": ShallowReLU([[1], [1]], [0, 0], [[1, 1]], [0]),
}
hierarchy = pd.DataFrame(
    {
        "function": name,
        "generic": shallow.is_generic(net).generic,
        "no_zero_factors": shallow.zero_factor_rank(net) == 0,
        "stabilizer_trivial": shallow.stabilizer(net).trivial,
        "reason": shallow.is_generic(net).reason,
    }
    for name, net in zoo.items()
)
hierarchy

# %% [markdown]
# On small random networks: the condition of {prf:ref}`thm-generic` leaves one orbit (Proposition 24); a fibre that is one free orbit has a
# trivial stabiliser (Corollary 9); with no two neurons on one hyperplane, no network of the function and width has more 0-factors
# (Corollary 15), and without 0-factors each has one neuron on each of the hyperplanes (Corollary 16). Minors find the dependent rows (Lemma 22), and where neurons can be
# merged some vanish (Lemma 23).

# %% tags=["hide-input"]
rows, draw = [], run.generator(3)
for trial in range(5 * trials):
    net = shallow.random_network(4, 2, 1, 2, generator=draw)
    found, pairs = shallow.arrangement(net), [*itertools.combinations(net.rows, 2)]
    vanish = [
        all(u[i] * v[j] == u[j] * v[i] for i, j in ((0, 1), (0, 2), (1, 2)))
        for u, v in pairs
    ]
    dependent = [
        np.linalg.matrix_rank(np.stack(pair).astype(float)) < 2 for pair in pairs
    ]
    rays = set(zip(found.labels.tolist(), (found.scales > 0).tolist(), strict=True))
    row = {"trial": trial, "dependent": sum(dependent), "lemma_22": vanish == dependent}
    rows.append(row | {"lemma_23": any(vanish) or len(rays) == net.n})
minors = pd.DataFrame(rows)
fibres = shallow_relu.fibres(5 * trials, generator=generator)
statements = [
    "proposition_24",
    "corollary_9",
    "corollary_15",
    "corollary_16",
    "hierarchy",
]
tried_on = fibres[statements].join(minors[["lemma_22", "lemma_23"]])
tried_on.mean().rename(f"holds in this share of {len(fibres)} networks").to_frame()

# %% [markdown]
# (sec-rare)=
# ## Where hidden symmetries are common
#
# On a dense open set there are none, and yet {numref}`fig-counts` is full of them: weights that are small integers, as quantised weights are,
# make sums meet. The sets $S$ are counted exactly, by meeting in the middle, for up to 40 neurons.

# %% mystnb={"figure": {"name": "fig-counts", "caption": "Hidden symmetries of random networks with twelve neurons, three inputs and one output, whose weights are integers up to the size on the axis. Small integers have many, large ones few."}, "image": {"alt": "Points for single networks and a line of medians: the number of hidden symmetries falls as the largest integer grows."}}
sizes = [1, 2, 4, 8, 16, 32, 64]
rare = shallow_relu.density([*sizes, 0], trials, generator=generator)
quantised = rare[rare["size"] > 0]
gaussian = rare[rare["size"] == 0]
hidden_counts(quantised)

# %%
medians = quantised.groupby("size")["hidden"].median()
Markdown(
    f"Of {len(gaussian)} networks with Gaussian weights, {int(gaussian['generic'].sum())} are generic. With weights "
    f"−1, 0, 1 the median number of hidden symmetries is {medians[1]:.0f}, with integers up to {sizes[-1]} it is "
    f"{medians[sizes[-1]]:.0f}, of $2^{{12}}$ sets."
)

# %% [markdown]
# (sec-fibre)=
# ## The smallest fibre, and GENNI's picture
#
# {doc}`06_genni` maps the networks $x\mapsto c\,\sigma(ax) + d\,\sigma(bx)$ that compute one function. Such a function has two numbers: its slopes $s_+$ and $s_-$ to the right and left of 0. Over each point $(a, b)$ the pairs $(c, d)$ solve two
# linear equations, and {numref}`fig-fibre` shows the dimension of the solutions. When both slopes live there are two sheets, exchanged by the swap, that never meet. When one slope is 0 everything hangs together.


# %% mystnb={"figure": {"name": "fig-fibre", "caption": "All networks of two neurons without biases that compute one function: over (a, b), the dimension of the possible output weights. Left, both slopes live: two separate quadrants. Right, one slope zero: a quadrant with a line over every point, and sheets that it joins."}, "image": {"alt": "Two panels of the plane of input weights. Left: upper left and lower right quadrants are coloured as points. Right: the lower left quadrant is coloured as lines, the upper left and lower right as points or lines."}}
targets = {"slopes −1 and 1": (-1.0, 1.0), "slopes −1 and 0": (-1.0, 0.0)}
fibre = shallow_relu.small_fibres(targets, np.linspace(-2, 2, 41).round(10))
fibre_map(fibre)

# %%
live = shallow.fibre(ShallowReLU([[1], [-1]], [0, 0], [[1, 1]], [0]))  # |x|
hidden = shallow.fibre(p)
Markdown(
    f"`fibre` says the same: $|x|$ with two neurons has dimension {live.dimension} and {live.components} components. "
    f"The network of the first figure has dimension {hidden.dimension} and {hidden.components} components: "
    f"two orbits of $3! = 6$ each."
)

# %% [markdown]
# (sec-digits)=
# ## Two networks trained on images
#
# Now to networks that nobody constructed: one hidden layer, trained from different seeds.

# %% tags=["hide-input"]
images, test = (data.load(dataset, split, device=device) for split in ("train", "test"))
inputs, outputs = images.images[0].numel(), len(images.classes)
recipe = replace(RECIPES["digits"], epochs=epochs)
trained, untrained, accuracies = [], [], []
for s in range(seed, seed + networks):
    start = nn.Sequential(
        nn.Flatten(), *models.fcn((inputs, width, outputs), bias=True, seed=s)
    )
    untrained.append(ShallowReLU.from_module(start))
    net = train(start, images, recipe, seed=s, device=device).network
    accuracies.append(evaluate(net, test.images, test.labels))
    trained.append(ShallowReLU.from_module(net))

# %%
first, second = trained[:2]
unequal = same_function(first, second)
apart = np.abs(unequal.witness.p - unequal.witness.q).max()
orbit = shallow.random_orbit(first, generator=generator)
again = same_function(first, orbit)
Markdown(
    f"Test accuracies: {', '.join(f'{100 * a:.1f} %' for a in accuracies)}. Two seeds, equal: **{unequal.equal}**; "
    f"at the witness input the outputs differ by {apart:.2g}. The first network against a copy moved by a random "
    f"element of $H_n$, equal: **{again.equal}**, with a discrepancy of {again.discrepancy:.0e}."
)

# %% [markdown]
# How far from equal? Two networks of one function must bend along the same hyperplanes. {numref}`fig-nearest` looks, for each hyperplane of the first, for the nearest of the second.

# %%
pairs = {"moved by H_n": (first, orbit), "two seeds": (first, second)}
pairs["two seeds, untrained"] = tuple(untrained[:2])
nearest = pd.concat(
    pd.DataFrame({"pair": name, "sine": shallow_relu.nearest_sines(*two)})
    for name, two in pairs.items()
)

# %% mystnb={"figure": {"name": "fig-nearest", "caption": "How near the hyperplanes of one network are to those of another. A copy moved by the group has the same ones, up to rounding. The line of two seeds is to be compared with the line of two untrained networks, not with zero."}, "image": {"alt": "Cumulative shares of neurons against the angle to the nearest hyperplane in degrees: one line at zero, and a line for each pair of two seeds, trained and untrained."}}
nearest_hyperplanes(nearest)

# %% [markdown]
# And how far is each from having *any* coincidence? {numref}`fig-degeneracy` shows four distances: of a neuron to its nearest parallel, to a dead neuron, to a
# constant one, and $\sigma_{\min}$, which certifies {prf:ref}`thm-generic`.


# %% mystnb={"figure": {"name": "fig-degeneracy", "caption": "Distances of networks to degeneracy, a point for each network; 0 would be a neuron to merge, to drop or to make a constant, or possibly a set of neurons to flip. The table below says how many are certified to have no symmetries but those of the group."}, "image": {"alt": "Four rows of points on a logarithmic axis, for trained and untrained networks: distance to parallel, dead and constant neurons, and the smallest singular value."}}
degenerate = shallow_relu.distances({"trained": trained, "untrained": untrained})
degeneracies(degenerate)

# %%
degenerate.groupby("network", sort=False)[["generic"]].mean()

# %% [markdown]
# For networks that are certified, swaps and scalings are all the symmetries there are at their width.
#
# (sec-compress)=
# ## Fewer neurons, the same function
#
# A network of this function needs a neuron for each hyperplane it bends along, say $h$. Whether $h$ suffice is a partition problem: of $\sum_i a_i|x - t_i|$ it asks
# whether the $a_i$ split into halves of equal sum. With one output, $h + 2$ always suffice: one neuron for each hyperplane leaves an affine function $z + \text{const}$,
# and $z = \sigma(z) - \sigma(-z)$ takes two more. `compress` then finds the minimum for up to 40
# hyperplanes; with several outputs it may leave a gap, which it states. Near misses it reports, and leaves alone.

# %%
twice = np.repeat(
    np.arange(width), 2
)  # every neuron twice, with half of its output weight
halves = first.with_neurons(twice)
large = shallow.random_orbit(
    ShallowReLU(halves.W, halves.b, halves.V / 2, first.c), generator=generator
)
small = shallow.compress(large)
Markdown(
    f"{large.n} neurons become {small.network.n}; lower bound {small.lower_bound}, since {small.reason}. "
    f"Same function: **{same_function(large, small.network).equal}**. Trained network itself: "
    f"{first.n} become {shallow.compress(first).network.n}."
)

# %% [markdown]
# The smallest partition problem: $3|x| + |x-1| + 2|x-2|$ splits, $3 = 1 + 2$, and $3|x| + |x-1| + |x-2|$ does not.


# %%
def peaks(weights):
    """Σ a_i |x − i| with two neurons for each term."""
    b = [s * t for t in range(len(weights)) for s in (-1, 1)]
    V = [[a for a in weights for _ in range(2)]]
    return ShallowReLU([[1], [-1]] * len(weights), b, V, [0])


partition = {str(w): shallow.compress(peaks(w)) for w in ((3, 1, 2), (3, 1, 1))}
pd.DataFrame(
    {
        w: {"hyperplanes": c.hyperplanes, "neurons": c.network.n, "optimal": c.optimal}
        for w, c in partition.items()
    }
).T

# %% [markdown]
# (sec-beyond)=
# ## Beyond ReLU
#
# :::{prf:remark} {cite}`ramakrishnan2026`, Remark 1
# :label: rem-any-sigma
# {prf:ref}`def-minimal` works for every σ whose scaling law is known, with $G_\sigma$ in place of $H_n$: a row $a(w, b)$ with $\sigma(au) = b'\sigma(u)$ merges with weight $b'$, constants are $\lambda\sigma(b)$, dead
# neurons are dead.
# :::
#
# What of the flip? It only needs $\sigma(x) - \sigma(-x) = \kappa x$: an odd part that is linear. That is far from ReLU's privilege.

# %%
tried = ("ReLU", "tanh", "GELU", "abs", "sigmoid")
remark = shallow_relu.remark_1(tried, 2, generator=generator)
names = (
    "ReLU",
    "Softplus",
    "SiLU",
    "GELU",
    "Hardswish",
    "LeakyReLU",
    "abs",
    "ELU",
    "Mish",
    "tanh",
)
flipped = shallow_relu.flips(names, generator=generator)
flipped.set_index("activation")

# %% [markdown]
# $\kappa$ is missing where the odd part is not linear, and there flipping changes the function. For $|x|$, which is even, $\kappa = 0$ and every flip is free.
#
# ## What the paper prints beside what we measured
#
# The paper proves and prints no measurements, so what can be compared is each statement with a calculation. Those above went through
# exact arithmetic; the {doc}`../scoreboard` has them one by one, and the {doc}`../errata` say of each lemma without a trial why there is none.
#
# :::{admonition} Deviation from the paper
# :class: note
# Equality is decided by {eq}`eq-canonical` and not by searching for pairs; hidden symmetries are counted, $\sigma_{\min}$ and `compress` are ours.
# :::
#
# ## What would break it
#
# Rounding. The same two networks in float64, one of them moved off by a relative $\varepsilon$ in one weight. Below the tolerance they count as equal; above, an input has to be found where the outputs differ beyond rounding, or the answer is *undecided*.


# %%
def off_by(epsilon):
    """The verdict on the first trained network and a copy with one output weight off."""
    V = first.V.copy()
    V[0, 0] *= 1 + epsilon
    found = same_function(first, ShallowReLU(first.W, first.b, V, first.c))
    verdict = {True: "equal", False: "different", None: "undecided"}[found.equal]
    return {"ε": epsilon, "verdict": verdict, "discrepancy": found.discrepancy}


rounding = pd.DataFrame([off_by(10.0**-power) for power in (2, 4, 6, 8, 10, 12, 14)])
rounding

# %% [markdown]
# ## Adapt this
#
# Two networks of your own: any `nn.Sequential(Linear, ReLU, Linear)`. Ask `.equal`; then `.symmetry` or `.witness`.

# %%
mine = models.fcn((3, 5, 2), bias=True, seed=seed).double()
other = shallow.random_orbit(
    ShallowReLU.from_module(mine), generator=generator
).to_module()
found = same_function(mine, other)
found.equal, found.symmetry.element  # a matrix of the group

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-family
# Show that $(1+s)\sigma(x) + (1-s)\sigma(-x) + (1-s)\sigma(x-1) + (1+s)\sigma(1-x) - s$ is one function for all $s$. Which condition of {prf:ref}`thm-generic` fails?
# :::
#
# ::::{solution-start} ex-family
# :class: dropdown
# ::::
# Opposite pairs: the rows are not pairwise independent, and output weight can move between two pairs whose normals are dependent.

# %%
family = [
    ShallowReLU(
        [[1], [-1], [1], [-1]], [0, 0, -1, 1], [[1 + s, 1 - s, 1 - s, 1 + s]], [-s]
    )
    for s in (Fraction(0), Fraction(1, 2), Fraction(-3))
]
assert all(same_function(family[0], each).equal for each in family)
assert shallow.fibre(family[0]).dimension == 5  # four scalings and s

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - Merge, drop, move constants; then only flips and moves within opposite pairs are left: $\sigma(z) - \sigma(-z) = z$.
# - {eq}`eq-canonical` decides equality without a search; a *yes* comes with the symmetry, a *no* with an input.
# - Hidden symmetries are absent on a dense open set and abundant where weights are small integers.
#
# Back to {doc}`06b_genni_lenet`; {doc}`../learned` closes the book, and the {doc}`../scoreboard` has every verdict.
#
# ## Provenance

# %%
introduction = pd.DataFrame(
    {"hidden": [answer.equal is True and answer.symmetry.flips != ()]}
)
run.write(
    verdicts=verdicts,
    differences=differences,
    reductions=reductions,
    affine=affine,
    identifiability=local,
    grigsby=grigsby,
    minors=minors,
    stabilizers=stabilisers,
    stabilizers_searched=searched,
    fibres=fibres,
    hierarchy=hierarchy.drop(columns="reason"),
    density=rare,
    example_1=example_1.drop(columns="minimal rows (w, b)"),
    introduction=introduction,
    remark_1=remark,
    flips=flipped,
)
run.write(data=images, degeneracy=degenerate, rounding=rounding)
results.provenance()
