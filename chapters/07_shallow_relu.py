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
# # 7 · When are two shallow ReLU networks the same function?
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: swaps, positive scalings, and what $G_{\mathrm{ReLU}}$ is.
#
# **You will learn** all symmetries of ReLU networks with one hidden layer, to decide for any two of them whether
# they are
# the same function, and to make a network smaller without changing it.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/07_shallow_relu>`.
# :::
#
# ## The question
#
# Permuting hidden neurons and scaling them by positive factors keeps the function of a ReLU network.
# *Are there other symmetries?*
#
# **Yes: neurons can turn to their opposite side together, where what this adds cancels** ({numref}`fig-folded`).
# **Almost no network allows it.**

# %% tags=["hide-input"]
import itertools
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from torch import nn

from intertwine import devices, shallow
from intertwine.shallow import ShallowReLU, same_function
from intertwine.training import train
from intertwine_book import data, models, zoo
from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.shallow import folded_planes, hidden_counts
from intertwine_book.figures.style import COLOURS, new_figure, use_style
from intertwine_book.record import on_record

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one, for training
seed: int = 0  # of initialisation, data order and random networks
width: int = 16  # hidden neurons of the trained networks
epochs: int = 10  # of their training
trials: int = 20  # random networks of each kind, in an exercise

# %% tags=["hide-input"] figure="fig-folded"
left = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
right = ShallowReLU([[-1, 0], [0, -1], [1, 1]], [0, 0, -1], [[1, 1, 1]], [1])
folded_planes({"p": left, "q": right}, np.linspace(-1.2, 1.7, 60))

# %% [markdown]
# :::{figure} #fig-folded
# ---
# alt: >-
#   Two panels with the same grey level lines of a piecewise linear function of x and y and the same three coloured
#   lines.
#   In the left panel arrows point to one side of each line, in the right panel to the other.
# ---
# A plane folded along three lines, in two ways that give the same function.
# Lines: where a neuron begins to be active; arrows: towards the side where it is.
# The grey level lines of both networks agree, although every arrow is reversed.
# :::

# %% [markdown]
# With $\sigma = \mathrm{ReLU}$ the two networks of the figure are
#
# $$
# \begin{aligned}
# &\sigma(x) + \sigma(y) + \sigma(1-x-y)\\
# &= \sigma(-x) + \sigma(-y)\\
# &\quad + \sigma(x+y-1) + 1.
# \end{aligned}
# $$ (eq-hidden)
#
# No permutation and no scaling takes one to the other, as each neuron is active on the opposite side.
# Pictures do not prove, but `same_function` does: with integers and fractions its answer is exact.

# %%
W, U = [[1, 0], [0, 1], [-1, -1]], [[-1, 0], [0, -1], [1, 1]]
p = ShallowReLU(W, b=[0, 0, 1], V=[[1, 1, 1]], c=[0])
q = ShallowReLU(U, b=[0, 0, -1], V=[[1, 1, 1]], c=[1])
r = ShallowReLU(U, b=[0, 0, -1], V=[[1, 1, 1]], c=[0])

yes, no = same_function(p, q), same_function(p, r)
print("p and q:", yes.equal, "by flipping", yes.symmetry.flips)
print("p and r:", no.equal, "at", [str(x) for x in no.witness.x])

# %% [markdown]
# A *yes* comes with the symmetry, here the flip of all three neurons.
# A *no* comes with a *witness*, an input where the outputs differ: without its constant $q$ is another function.
# Keep the witness as a test, and look how far the outputs differ on your own data: it may lie far from them.
#
# The paper {cite}`ramakrishnan2026` classifies all symmetries, as {cite:t}`petzka2020` did in another form.
# This chapter makes the theorems into a procedure.
#
# *Notation.*
# A network is $\rho(\theta)(x) = V\,\sigma(Wx + b) + c$ with $m$ inputs, $n$ neurons and $k$ outputs.
# Row $i$ of $W$ is $w_i$, column $i$ of $V$ is $\lambda_i\in\mathbb R^k$.
# The group $H_n = \mathbb R_{>0}^n\rtimes\Sigma_n$ of positive scalings and permutations,
# which is $G_{\mathrm{ReLU}}$, acts by $W\mapsto AW$, $b\mapsto Ab$, $V\mapsto VA^{-1}$.
# The *class* of $\theta$ is the set of all networks of its width that compute its function
# (the paper calls it the *fibre*).
# It always contains the *orbit* of $\theta$ under $H_n$.
#
# (sec-minimal)=
# ## Step one: the minimal form
#
# With one input a neuron is an arrow $(w, b)$ in the plane, and two neurons can be merged when their arrows have the
# same direction ({numref}`fig-neuron-rays`).

# %% tags=["hide-input"] figure="fig-neuron-rays"
W5, V5 = [[1], [2], [1], [0], [-1]], [[2, 1, -3, 5, 1]]
given = ShallowReLU(W5, b=[1, 2, -1, 1, 1], V=V5, c=[0])
bent = given.with_neurons([0, 1, 2, 4])
steps = {"given": given, "constants moved": ShallowReLU(bent.W, bent.b, bent.V, [5])}
steps["merged, in order"] = shallow.zero_factor_reduction(given)
figure, axes = new_figure(1, 3, width=7.6, height=2.9, sharex=True, sharey=True)
for axis, (name, net) in zip(axes, steps.items(), strict=True):
    for (w, b), weight in zip(net.float().rows, net.float().V[0], strict=True):
        colour = COLOURS["blue" if weight > 0 else "red"]
        drawn = {"arrowstyle": "->", "color": colour, "lw": 1 + 0.6 * abs(weight)}
        axis.annotate("", (w, b), (0, 0), arrowprops=drawn)
    axis.set(title=f"{name}\nc = {net.c[0]}", xlabel="w", aspect="equal")
    axis.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3))
axes[0].set_ylabel("b")
figure

# %% [markdown]
# :::{figure} #fig-neuron-rays
# ---
# alt: >-
#   Three panels of arrows from the origin: five arrows, then four without the vertical one and with a changed
#   constant,
#   then three, two parallel ones having become one.
# ---
# Five neurons become three.
# Arrows: $(w, b)$ of each neuron, as thick as its output weight is large, blue where that is positive,
# red where negative.
# The vertical arrow is a constant and moves into $c$; two arrows in one direction are one neuron.
# The two opposite arrows that remain are a pair for step two.
# :::

# %% [markdown]
# :::{prf:definition} {cite}`ramakrishnan2026`, Definitions 3–5
# :label: def-minimal
# (1) A neuron with $w_i = 0$ is the constant $\lambda_i\sigma(b_i)$: add it to $c$ and delete the neuron.
# (2) If $(w_j, b_j) = t\,(w_i, b_i)$ with $t > 0$, merge: $\lambda_i \leftarrow \lambda_i + t\lambda_j$,
# and delete neuron $j$.
# (3) Delete neurons with $\lambda_i = 0$.
# The deleted neurons are the paper's *0-factors*.
# The result is the *reduction*; a network to which no step applies is *reduced*.
# Scale the remaining rows $(w_i, b_i)$ so that $w_i$ has a fixed norm, $\lambda$ inversely, and sort them in
# lexicographic order: by the first entry, then the second, and so on.
# This is the *minimal form* (in the paper and in the library filled up with zero neurons to the old width).
# :::


# %%
def reduced(net):
    """Step one, for a network of fractions with one output."""
    weights, c = {}, net.c[0]
    for w, b, v in zip(net.W, net.b, net.V[0], strict=True):
        if not w.any():  # a constant
            c += v * max(b, 0)
            continue
        t = Fraction(sum(abs(w)))
        ray = (*(w / t), b / t)  # the same for parallel neurons
        weights[ray] = weights.get(ray, 0) + t * v
    rows = sorted(ray for ray, v in weights.items() if v)
    return rows, [weights[ray] for ray in rows], c


rows, V, c = reduced(given)
print(given.n, "neurons become", len(rows), "with the constant", c)

# %% tags=["hide-input"]
small = ShallowReLU(np.array(rows)[:, :-1], np.array(rows)[:, -1], [V], [c])
assert small.n == shallow.zero_factor_reduction(given).n
forms = [shallow.minimal_form(each) for each in (small, given.with_neurons(range(5)))]
assert (forms[0].rows == forms[1].rows[: small.n]).all() and (
    forms[0].c == forms[1].c
).all()

# %% [markdown]
# Reduced networks that differ by $H_n$ have the same minimal form.
# The two of {eq}`eq-hidden` are reduced and have different ones, so step one is not enough.
#
# (sec-relation)=
# ## Step two: the one extra relation
#
# Every ReLU satisfies $\sigma(z) - \sigma(-z) = z$: two opposite neurons, one straight line.
# All symmetries beyond step one and $H_n$ come from this relation ({prf:ref}`thm-all`).
#
# :::{prf:proposition} {cite}`ramakrishnan2026`, Proposition 14
# :label: prop-affine
# A reduced network is an affine function iff its neurons pair up with $(w_j, b_j) = -t\,(w_i, b_i)$, $t>0$,
# and $t\lambda_j = -\lambda_i$.
# :::
#
# :::{prf:proof}
# Take a hyperplane $H = \{w_i\cdot x + b_i = 0\}$ of a neuron and a point of $H$ on no other hyperplane.
# Near it the function is affine iff the jump of its derivative across $H$ is 0.
# In a reduced network no two neurons are positive multiples of each other,
# so at most one further neuron $j$ bends along $H$, with $(w_j, b_j) = -t(w_i, b_i)$, $t>0$.
# From the side where neuron $i$ is off to the side where it is on, the derivative jumps by
#
# $$\lambda_iw_i^\top - \lambda_jw_j^\top = (\lambda_i + t\lambda_j)w_i^\top.$$
#
# Without $j$ that is not 0, as $\lambda_i\ne0$; with it, it is 0 iff $t\lambda_j = -\lambda_i$.
# Conversely such a pair is affine:
#
# $$
# \begin{aligned}
# \lambda_i\sigma(z) + \lambda_j\sigma(-tz) &= \lambda_i(\sigma(z) - \sigma(-z))\\
# &= \lambda_iz.
# \end{aligned}
# $$
# :::
#
# Where two opposite pairs have dependent normals, output weight can move within both while the function stays.
# *Turn the slider of {numref}`fig-family`, and watch which lines move.*

# %% tags=["hide-input"] figure="fig-family"
positions = [Fraction(k, 2) for k in range(-4, 5)]
members = [
    ShallowReLU(
        [[1], [-1], [1], [-1]], [0, 0, -1, 1], [[1 + s, 1 - s, 1 - s, 1 + s]], [-s]
    )
    for s in positions
]
assert all(same_function(members[0], member).equal for member in members)
x, heights = np.array([-1.5, 0.0, 1.0, 2.5]), []  # straight in between
for net in (member.float() for member in members):
    each = net.V[0] * np.maximum(x[:, None] * net.W[:, 0] + net.b, 0)
    constant = np.full(len(x), net.c[0])
    heights.append([*each.T.tolist(), constant.tolist(), net(x[:, None])[:, 0].tolist()])
names = [*(f"neuron {k}" for k in (1, 2, 3, 4)), "constant", "their sum"]
tones = ["blue", "orange", "green", "red", "grey", "grey"]
looks = [{"color": COLOURS[tone], "width": 2} for tone in tones]
looks[4] |= {"width": 1, "dash": "dot"}
looks[5] |= {"width": 5}
lines = [
    go.Scatter(x=x, y=y, name=name, mode="lines", line=line)
    for y, name, line in zip(heights[5], names, looks, strict=True)
]
moves = [
    {"method": "restyle", "label": f"{float(s):g}", "args": [{"y": y}]}
    for s, y in zip(positions, heights, strict=True)
]
quiet = {"gridcolor": "rgba(128,128,128,0.25)", "zerolinecolor": "rgba(128,128,128,0.5)"}
look = {
    "template": "none",
    "height": 400,
    "margin": {"l": 40, "r": 20, "t": 60, "b": 40},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": COLOURS["grey"]},
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    "xaxis": quiet | {"title": {"text": "x"}},
    "yaxis": quiet | {"range": [float(np.min(heights)), float(np.max(heights))]},
    "sliders": [{"active": 5, "steps": moves, "currentvalue": {"prefix": "s = "}}],
}
Interactive(go.Figure(lines, look), "family", says="s = {}")

# %% [markdown]
# :::{figure} #fig-family
# ---
# alt: >-
#   Interactive chart of four bent lines, a dotted constant and a thick sum over x from -1.5 to 2.5,
#   with a slider for s
#   from -2 to 2.
# ---
# Four neurons and the constant change with $s$; their sum does not.
# Lines: what each neuron adds to the output; thick: the sum.
# The slider moves output weight $s$ from two of the neurons to their opposites.
# At $s = 1$ and $s = -1$ two neurons vanish.
# :::

# %% [markdown]
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorems 3 and 4
# :label: thm-equality
# Let $\theta\ominus\theta'$ have the neurons of both, those of $\theta'$ with $-\lambda'$,
# and the constant $c - c'$.
# Then $\rho(\theta) = \rho(\theta')$ iff the reduction of $\theta\ominus\theta'$ is empty with constant 0,
# or all its neurons pair up as in {prf:ref}`prop-affine` and the affine terms of the pairs, with the constant,
# add up to 0.
# For $k > 1$: for every output.
# :::
#
# :::{prf:proof}
# $\rho(\theta\ominus\theta') = \rho(\theta) - \rho(\theta')$, and the reduction keeps the function.
# If that is 0 it is affine, so that by {prf:ref}`prop-affine` no neuron is left or all pair up,
# and the function is the sum of the affine terms and the constant.
# :::
#
# *Flipping* a set $S$ of neurons means changing the sign of $(w_i, b_i)$ for $i\in S$
# and adding $\sum_S\lambda_i b_i$ to $c$.
# In $\theta\ominus\theta'$ a neuron and its flip are an opposite pair.
# Flipping $S$ keeps the function iff
#
# $$\sum_{i\in S}\lambda_i w_i^\top = 0.$$ (eq-flip)
#
# Where no two neurons share a hyperplane, we call such a non-empty $S$ a *hidden symmetry*.
# For few neurons all sets can be tried:


# %%
def hidden(net):
    """The sets S of a network with one output."""
    terms = net.V[0][:, None] * net.W
    sizes = range(1, net.n + 1)
    sets = (itertools.combinations(range(net.n), k) for k in sizes)
    every = itertools.chain.from_iterable(sets)
    return [S for S in every if not terms[list(S)].sum(0).any()]


print("hidden symmetries of p:", hidden(p))

# %% tags=["hide-input"]
assert hidden(p) == [*shallow.hidden_symmetries(p)]

# %% [markdown]
# (sec-canonical)=
# ## A canonical form that needs no search
#
# This part is ours.
# Since $\lambda\sigma(u) = \lambda(|u| + u)/2$, group the neurons by hyperplane $H$, whichever their active side:
#
# $$f(x) = \sum_H \gamma_H\,|u_H(x)| + Lx + e .$$ (eq-canonical)
#
# Here $u_H$ is an affine form that is 0 on $H$, one chosen for each $H$, and $\gamma_H\in\mathbb R^k$.
# The $|u_H|$ of different hyperplanes are linearly independent modulo affine functions:
# near a point of $H$ that lies on no other hyperplane, only $|u_H|$ bends.
# So the $\gamma_H\ne 0$ with $L$ and $e$ decide equality, in time $O(nm(k+\log n))$.
# For one output, with $u_H$ scaled so that its first non-zero coefficient is 1:


# %%
def canonical(net):
    gamma, L, e = {}, np.zeros(net.m, int), net.c[0]
    for w, b, v in zip(net.W, net.b, net.V[0], strict=True):
        if not w.any():  # a constant
            e += v * max(b, 0)
            continue
        t = Fraction(next(a for a in w if a))
        u = (*(w / t), b / t)
        gamma[u] = gamma.get(u, 0) + abs(t) * v / 2
        L, e = L + v * w / Fraction(2), e + v * b / Fraction(2)
    return {u: g for u, g in gamma.items() if g}, tuple(L), e


print("p and q have the same form:", canonical(p) == canonical(q))

# %% tags=["hide-input"]
assert canonical(p) == canonical(q) != canonical(r)
assert canonical(p)[1] == tuple(shallow.canonical_form(p).L[0])

# %% [markdown]
# The form of both is $\frac12(|x| + |y| + |x + y - 1| + 1)$.
# It contains no sides, so flips leave it as it is.
#
# In floats two hyperplanes count as one if their $(w, b)$ agree up to a tolerance,
# and an answer may also be *undecided*.
# A change below the tolerance is not seen ({ref}`rec-small-changes`).
#
# The form also gives the symmetry itself.
# Reduce both networks, and call $\alpha_H$ and $\beta_H$ the output weights of $\sigma(u_H)$ and $\sigma(-u_H)$,
# with $u_H(x) = w_H\cdot x + b_H$.
# A weight is 0 where there is no neuron, and a neuron of weight 0 is left out.
#
# :::{prf:theorem} All symmetries
# :label: thm-all
# Two reduced networks, whose widths may differ, are the same function iff there are $\delta_H\in\mathbb R^k$,
# one for each hyperplane of either network, with $\sum_H\delta_Hw_H^\top = 0$ such that the second network,
# up to order and positive scalings of its neurons, is the first with
#
# $$
# \begin{aligned}
# \alpha_H &\leftarrow \alpha_H - \delta_H,\\
# \beta_H &\leftarrow \beta_H + \delta_H,\\
# c &\leftarrow c + \textstyle\sum_H\delta_Hb_H.
# \end{aligned}
# $$
# :::
#
# :::{prf:proof}
# A reduced network has at most one neuron on each side of a hyperplane, so that up to order and positive scalings
# it is
# given by its $\alpha_H$, $\beta_H$ and $c$.
# $\alpha\sigma(u) + \beta\sigma(-u) = \frac{\alpha+\beta}2|u| + \frac{\alpha-\beta}2u$.
# The two networks have equal $\gamma_H$ iff all $\alpha_H+\beta_H$ agree,
# that is, iff there are $\delta_H$ by which their weights differ as above.
# Then $L$ changes by $-\sum_H\delta_Hw_H^\top$, which has to be 0, and $e$ by $-\sum_H\delta_Hb_H$
# and the change of $c$.
# :::
#
# A flip of neuron $i$ moves all of its weight, $\delta_H = \alpha_H$; {numref}`fig-family` moves a part.
# A pair can also leave one hyperplane, where both weights become 0, and appear on a parallel one:
#
# $$\begin{aligned}&\sigma(z) - \sigma(-z)\\ &= \sigma(z+a) - \sigma(-z-a) - a.\end{aligned}$$
#
# `same_function` returns the $\delta_H$ as `symmetry.transfers`.
#
# (sec-generic)=
# ## When permutations and scalings are all there is
#
# Three questions tell what a class may contain beyond one orbit ({numref}`fig-tree`).
# {prf:ref}`def-minimal` answers the first, {prf:ref}`thm-all` the second, and the two theorems below the third.

# %% tags=["hide-input"] figure="fig-tree"
QUESTIONS = {
    "Neurons to drop, to merge,\nor to move into c?": "Free directions:\ntake the minimal form first",
    "Two neurons on\none hyperplane?": "Output weight may move\nwithin opposite pairs",
    "A set $S \\ne ∅$ of neurons with\n$\\sum_S\\lambda_i w_i^\\top = 0$?": "One orbit for each S and\n"
    "for ∅; locally identifiable",
}
figure, axis = canvas(10.0, 6.6)
for k, (question, reply) in enumerate(QUESTIONS.items()):
    y = 5.9 - 1.7 * k
    box(axis, (2.5, y), question, NETWORKS[0], width=4.6, height=1.0)
    box(axis, (7.7, y), reply, NETWORKS[1], width=4.2, height=1.0)
    arrow(axis, (4.8, y), (5.6, y), "yes")
    arrow(axis, (2.5, y - 0.5), (2.5, y - 1.2))
    axis.text(2.65, y - 0.85, "no", va="center")
generic = "One orbit: permutations and\npositive scalings are all"
box(axis, (2.5, 0.7), generic, MAP, width=4.6, height=1.0)
figure

# %% [markdown]
# :::{figure} #fig-tree
# ---
# alt: >-
#   Three blue boxes with questions below each other.
#   Yes leads to an orange box at the right with a consequence; no leads down, at last to a green box: one orbit.
# ---
# For almost all networks every answer is no, and permutations with positive scalings are all symmetries.
# The first question is answered by the minimal form, the second by the relation of opposite pairs,
# the third by a subset
# sum.
# :::

# %% [markdown]
# Call θ *generic* if its class is one free $H_n$-orbit.
# If no two neurons share a hyperplane, the canonical form bounds the number of orbits in the class.
# The next theorem is ours.
# {cite:t}`dereich2022` determine dimension and number of components of the set of smallest networks of a function
# with one
# output.
#
# :::{prf:theorem} At most $\binom n{\lfloor n/2\rfloor}$ orbits
# :label: thm-local
# Let the rows $(w_i, b_i)$ be pairwise linearly independent, and $w_i\ne0$, $\lambda_i\ne0$ for all $i$.
# Then the networks of $\theta$'s function and width are one free $H_n$-orbit for each $S$
# that satisfies {eq}`eq-flip`, the empty one included: at most $\binom n{\lfloor n/2\rfloor}$,
# and for every $n$ some network has as many.
# Every network of this function that is near θ is $(d_iw_i, d_ib_i, \lambda_i/d_i)$ with $d_i > 0$:
# θ is *locally identifiable*.
# :::
#
# :::{prf:proof}
# By {eq}`eq-canonical` a network of this function bends along the same $n$ hyperplanes.
# If it has $n$ neurons it has one on each: $s_id_i(w_i, b_i)$ with $s_i = \pm1$ and $d_i>0$, up to their order,
# and equal $\gamma_H$ give the output weight $\lambda_i/d_i$.
# So an element of $H_n$ takes it to the flip of $S = \{i : s_i = -1\}$; equal $L$ is {eq}`eq-flip`,
# and equal $e$ gives $c$.
# The orbits are free: an element that fixes a network sends each row to a positive multiple of a row,
# and as no two rows are parallel, it is the identity.
# They are different for different $S$, as $H_n$ keeps sides.
# Near θ, row $i$ is near $(w_i, b_i)$.
# So $(w_i, b_i)$ is the only row of θ that it can be a multiple of, and the factor is positive.
#
# *The number.*
# Some linear form $\ell$ is 0 on none of the matrices $\lambda_iw_i^\top\ne0$.
# Let $a_i = \ell(\lambda_iw_i^\top)$ and $N = \{i : a_i<0\}$.
# Map each $S$ of {eq}`eq-flip` to its symmetric difference with $N$.
# This map is injective, and on each image the $\lvert a_i\rvert$ sum to
# $\sum_{i\in S}a_i + \sum_{i\in N}\lvert a_i\rvert = \sum_{i\in N}\lvert a_i\rvert$, one number for all $S$.
# The $\lvert a_i\rvert$ are positive, so no image contains another one.
# By Sperner's theorem there are at most $\binom n{\lfloor n/2\rfloor}$ such sets.
# This is how {cite:t}`erdos1945` bounded the sums of Littlewood and Offord; {cite:t}`kleitman1970` has vectors.
#
# *The bound is attained.*
# For one input and one output let all $w_i = 1$, the $b_i$ be distinct, $\lambda_i = 1$ for $\lfloor n/2\rfloor$
# neurons and $-1$ for the others.
# The sets that satisfy {eq}`eq-flip` are those with as many neurons of one kind as of the other.
# Their number is $\sum_j\binom{\lfloor n/2\rfloor}j\binom{\lceil n/2\rceil}j = \binom n{\lfloor n/2\rfloor}$.
# :::
#
# For small networks one can count:

# %%
for n in (4, 6, 8, 10):
    V = [[1, -1] * (n // 2)]
    sharp = ShallowReLU([[1]] * n, b=range(n), V=V, c=[0])
    orbits = 1 + shallow.hidden_symmetries(sharp).count
    print(n, "neurons:", orbits, "orbits, at most", comb(n, n // 2))

# %% [markdown]
# :::{admonition} A conjecture of the paper, answered for one hidden layer
# :class: note
# {numref}`fig-folded` is the paper's counterexample to Lemma D15 of {cite:t}`grigsby2023` as the paper quotes it:
# lines in general position, {fact}`07_shallow_relu.regions:.0f` regions with
# {fact}`07_shallow_relu.functions:.0f` different affine functions, and yet a class of two orbits.
# Such conditions do not identify θ *globally*.
# Whether they do so *locally* the paper leaves as a conjecture.
# {prf:ref}`thm-local` says yes: general position makes the rows independent, and a neuron at which the function
# bends has
# $\lambda_i\ne0$ ({ref}`rec-local`).
# :::
#
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorems 1 and 5, Proposition 24
# :label: thm-generic
# If the rows $(w_i, b_i)$ are pairwise linearly independent, all $\lambda_i\ne0$,
# and no non-empty $S$ satisfies {eq}`eq-flip`, then θ is generic.
# The set of such $\theta$ is Zariski open and not empty, hence open and dense.
# :::
#
# :::{prf:proof}
# No $w_i$ is 0, or $S=\{i\}$ would do; the first part is {prf:ref}`thm-local`.
# Each condition fails on a set of common zeros of polynomials that are not 0 everywhere:
# the 2×2 minors of two rows, the entries of $\lambda_i$, the entries of $\sum_S\lambda_iw_i^\top$ for one $S$.
# There are finitely many conditions, and a finite union of such sets is closed and not everything.
# :::
#
# To find $S$ is a subset-sum problem, which is hard in general.
# If the matrices $\lambda_iw_i^\top$ are linearly independent, which needs $n\le mk$, no $S$ exists.
# Then their smallest singular value $\mu$ bounds how near any $S$ comes:
# $\lVert\sum_S\lambda_iw_i^\top\rVert\ge\mu$.
#
# (sec-rare)=
# ## Small integer weights make hidden symmetries common
#
# *With weights −1, 0 and 1 half of the networks of {numref}`fig-counts` have
# {fact}`07_shallow_relu.median_1:.0f` or more sets that can be flipped; with large integers hardly any has one.*

# %% tags=["hide-input"] figure="fig-counts"
integers = on_record("07_shallow_relu", "integers")
hidden_counts(integers[integers["size"] > 0])

# %% [markdown]
# :::{figure} #fig-counts
# ---
# alt: >-
#   Points for single networks and a line of medians: the number of sets to flip falls from dozens at size 1 to
#   hardly any
#   at size 4 and more.
# ---
# Weights of −1, 0 and 1 leave dozens of sets to flip, large integers hardly any.
# Networks with twelve neurons, three inputs and one output, with integer weights up to the size on the axis; dots are
# networks, the line is their median.
# :::

# %% [markdown]
# So quantisation to three levels can create hidden symmetries.
# Where two neurons share a hyperplane, a set need not be one; {ref}`rec-generic` counts the networks in which all are.
# Twelve neurons and three inputs are a favourable case: there are $2^{12}$ sets, and only three equations for each.
# With at least as many inputs as neurons the matrices $\lambda_iw_i^\top$ are usually independent, and no set exists.
#
# (sec-shrinking)=
# ## Weight decay leads training towards degenerate networks
#
# *Weight decay shrinks the neurons that never fire, until they are constants* ({numref}`fig-shrinking`).
# The loss gives such a neuron no gradient, so decay alone moves its weights.
# Its bias does not decay, stays negative, and keeps the neuron silent.

# %% tags=["hide-input"] figure="fig-shrinking"
neurons = on_record("07_shallow_relu", "neurons")
neurons = neurons[neurons["epochs"] > 0]
places = {0.0: 0, 1e-5: 1, 1e-4: 2, 1e-3: 3}
figure, axis = new_figure(height=3.3)
for mark, tone, silent in (("o", "blue", False), ("D", "orange", True)):
    part = neurons[(neurons["fires"] == 0) == silent]
    spread = (
        np.random.default_rng(0).uniform(-0.16, 0.16, len(part)) + 0.24 * silent - 0.12
    )
    at = part["weight_decay"].map(places) + spread
    floor = part["norm"].clip(lower=1e-4)
    axis.plot(at, floor, mark, color=COLOURS[tone], ms=3.5, mew=0, alpha=0.6)
axis.set(
    yscale="log", ylim=(5e-5, 40), xlabel="weight decay", ylabel="norm of input weights"
)
axis.set_xticks([*places.values()], ["none", "10⁻⁵", "10⁻⁴", "10⁻³"])
axis.set_yticks([1e-4, 1e-2, 1], ["10⁻⁴ or less", "0.01", "1"])
axis.text(-0.4, 15, "fires on some image", color=COLOURS["blue"])
axis.text(1.05, 3e-3, "never fires", color=COLOURS["orange"], ha="center")
figure

# %% [markdown]
# :::{figure} #fig-shrinking
# ---
# alt: >-
#   Norms of input weights on a logarithmic axis for four weight decays.
#   Neurons that fire lie between 2 and 11 without decay, and most of them above 1 with decay.
#   Those that never fire are few up to a decay of 0.00001; at 0.0001 they are many and mostly below 0.1, at 0.001 more,
#   all at the lower edge.
# ---
# With a decay of 10⁻⁴ or more, neurons that fire on no training image shrink to almost nothing, firing ones far less.
# Each mark is a hidden neuron of one of {fact}`07_shallow_relu.networks:.0f` networks for each weight decay,
# with 64 neurons, trained on Fashion-MNIST.
# :::

# %% [markdown]
# At a decay of $10^{-4}$ a third of the neurons never fire, and the network lies near smaller ones.
# Without these neurons every trained network is certified generic by $\mu$: it has no exact symmetries but
# permutations
# and positive scalings.
# This is one recipe, Adam with decay added to the gradient; {ref}`rec-trained` has four distances, accuracies,
# and what
# would change it.
#
# (sec-compress)=
# ## Fewer neurons, the same function
#
# *With one output, $h + 2$ neurons always suffice, where $h$ is the number of hyperplanes at which the function bends*
# {cite}`dereich2022`.
# Each of the $h$ needs a neuron.
# Since $|u| = 2\sigma(u) - u$, one neuron on each leaves an affine rest $z$, and $z = \sigma(z) - \sigma(-z)$ takes
# two
# more.
# {numref}`fig-compress` does it for $|x| + |y| + \frac12x + \frac3{10}y$.


# %%
def compressed(gamma, L, e):
    """A neuron for each hyperplane, and a pair for what is left."""
    u, g = np.array([*gamma], object), np.array([*gamma.values()])
    z = np.append(L, e) - g @ u
    rows = np.vstack([u, z, -z])
    return ShallowReLU(rows[:, :-1], rows[:, -1], [[*2 * g, 1, -1]], [0])


half, z = Fraction(1, 2), [Fraction(1, 2), Fraction(3, 10)]
W7 = [[1, 0], [1, 0], [-1, 0], [0, 1], [0, -1], z, [-a for a in z]]
large = ShallowReLU(W7, [0] * 7, [[half, half, 1, 1, 1, 1, -1]], [0])
fewer = compressed(*canonical(large))
print(large.n, "neurons become", fewer.n)
print("the same function:", same_function(large, fewer).equal)

# %% tags=["hide-input"] figure="fig-compress"
assert fewer.n == shallow.compress(large).network.n and same_function(large, fewer).equal
parts = {"given: 7 neurons": large, "the folds: h = 2": fewer.with_neurons([0, 1])}
parts["h + 2 = 4 neurons"] = fewer
folded_planes(parts, np.linspace(-1.5, 1.5, 60))

# %% [markdown]
# :::{figure} #fig-compress
# ---
# alt: >-
#   Three panels of grey level lines with coloured fold lines and arrows.
#   Left and right have the same level lines, the middle one others.
# ---
# Seven neurons become four.
# Left: as given.
# Middle: one neuron on each of the two lines where the function bends has the right folds and the wrong slope.
# Right: a pair of opposite neurons, which fold nothing together, corrects the slope.
# :::

# %% [markdown]
# Whether fewer suffice is a partition problem; `compress` solves it for up to 40 hyperplanes.
# With several outputs it returns a lower bound beside its network.
#
# Trained networks can be recognised and compressed, too.
# This page trains two on images, and disguises the first: each neuron becomes two copies with half of its output
# weight,
# and a random element of the group moves them.

# %% tags=["hide-input"]
device = devices.pick(device)
images = data.load(dataset, "train", device=device)
sides = images.images[0].numel(), width, len(images.classes)
recipe = replace(zoo.RECIPES["digits"], epochs=epochs)


def fitted(s, recipe=recipe):
    """A network with one hidden layer, trained on the images."""
    start = nn.Sequential(nn.Flatten(), *models.fcn(sides, bias=True, seed=s))
    net = train(start, images, recipe, seed=s, device=device).network
    return ShallowReLU.from_module(net)


first, second = fitted(seed), fitted(seed + 1)

# %%
double = first.with_neurons(np.repeat(np.arange(first.n), 2))
double = ShallowReLU(double.W, double.b, double.V / 2, double.c)
draw = torch.Generator().manual_seed(seed)
disguised = shallow.random_orbit(double, generator=draw)

print("recognised:", same_function(first, disguised).equal)
print(disguised.n, "neurons become", shallow.compress(disguised).network.n)
print("another seed:", same_function(first, second).equal)

# %% [markdown]
# Another seed gives another function.
#
# (sec-beyond)=
# ## Other activations, more layers
#
# {prf:ref}`def-minimal` works for every σ whose scaling law is known, with $G_\sigma$ in place of $H_n$
# ({cite}`ramakrishnan2026`, Remark 1).
# A flip only needs an odd part that is linear, $\sigma(x) - \sigma(-x) = \kappa x$.
# *Seven of ten activations that we tried have it* ({ref}`rec-remark-1`):
#
# | activation | κ | flips |
# |---|---|---|
# | ReLU, Softplus, SiLU, GELU, Hardswish | 1 | the sets of {eq}`eq-flip` |
# | LeakyReLU of slope 0.01 | 1.01 | the sets of {eq}`eq-flip` |
# | $\lvert x\rvert$ | 0 | every set |
# | ELU, Mish | none | none of this kind |
# | tanh | none | any neuron alone: $(w, b, \lambda)$ may change sign together |
#
# `same_function` is for ReLU alone.
# For tanh, permutations with signs are all symmetries of a network without superfluous neurons
# {cite}`sussmann1992`, and
# `same_network` looks for them.
#
# With more layers there is no such classification here.
# A set that satisfies {eq}`eq-flip` in the first layer can be flipped in a deep network as well,
# and some symmetries need
# depth ({ref}`sec-deep`).
# `same_network` looks for permutations and scalings that take one deep network to another;
# where it finds none, they may
# still be one function.
#
# ## Are my two networks one function?
#
# With `from intertwine import same_network` and
# `from intertwine.shallow import canonical_form, compress, hidden_symmetries, is_generic, same_function`.
# `p` and `q` are networks `nn.Sequential(Linear, ReLU, Linear)` or `ShallowReLU`, and `x` are inputs.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you want to
#   - use
#   - beware
# * - know whether they are one function
#   - `same_function(p, q).equal`
#   - In floats it has a tolerance, and None means undecided.
# * - see where they differ
#   - `same_function(p, q).witness`
#   - The input may lie far from your data. Keep it as a test, and compare the outputs on your data as well.
# * - know what leads from one to the other
#   - `same_function(p, q).symmetry`
#   - It acts on the reductions: dropped and merged neurons have no place in it.
# * - compare many networks
#   - one form of each: `canonical_form(p)`
#   - Forms of floats agree up to rounding only.
# * - make it smaller without a change
#   - `compress(p).network`
#   - With several outputs it may not be the smallest: read `compress(p).lower_bound`.
# * - know whether permutations and scalings are all
#   - `is_generic(p).generic`
#   - It speaks of exact symmetries. Beside neurons that nearly vanish it may not be able to tell: drop those first.
# * - list the sets to flip
#   - `hidden_symmetries(p).list()`
#   - All sets are searched up to 40 neurons. If two neurons share a hyperplane, a set need not be a hidden symmetry.
# * - compare networks with tanh, or with more layers
#   - `same_network(p, q, x).same`
#   - It looks for permutations with scalings or signs. None does not say that the functions differ.
# :::
#
# ## Adapt this
#
# Any two `nn.Sequential(Linear, ReLU, Linear)`: the theorems are about ReLU.
# For tanh, or more layers, take `same_network` of the table above.

# %%
import torch
from torch import nn

from intertwine.shallow import ShallowReLU, compress, random_orbit, same_function

chance = torch.manual_seed(0)
mine = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
other = random_orbit(ShallowReLU.from_module(mine), generator=chance).to_module()
found = same_function(mine, other)
print("same:", found.equal, "in the order", found.symmetry.permutation)

with torch.no_grad():
    other[2].bias[0] += 0.1
at = same_function(mine, other).witness
print("now they differ: output", at.p.round(2), "and", at.q.round(2))
print("neurons needed:", compress(mine).network.n)

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-abs
# *Warm-up.*
# Write down all networks $c\,\sigma(ax) + d\,\sigma(bx)$ that compute $|x|$; {doc}`06_genni` draws those with $c=d=1$.
# How many numbers can be chosen, and how many pieces has the set?
# :::
#
# ::::{solution} ex-abs
# :class: dropdown
# One neuron looks to each side: $a > 0 > b$ with $c = 1/a$, $d = -1/b$, or the same with the two exchanged.
# Two numbers, $a$ and $b$; two pieces.
# ::::
#
# :::{exercise}
# :label: ex-family
# {numref}`fig-family` shows
#
# $$
# \begin{aligned}
# &(1+s)\,\sigma(x) + (1-s)\,\sigma(-x)\\
# &\quad + (1-s)\,\sigma(x-1) + (1+s)\,\sigma(1-x) - s .
# \end{aligned}
# $$
#
# Show that it is one function for all $s$.
# Which condition of {prf:ref}`thm-generic` fails?
# Which dimension has the class near a generic $s$, and near $s=\pm1$?
# :::
#
# ::::{solution} ex-family
# :class: dropdown
# The part with $s$ is
#
# $$
# \begin{aligned}
# &s[\sigma(x) - \sigma(-x)] - s[\sigma(x-1) - \sigma(1-x)] - s\\
# &\quad = s x - s(x-1) - s = 0 .
# \end{aligned}
# $$
#
# The rows are not pairwise independent: there are two opposite pairs, whose normals are dependent.
# Near $s\ne\pm1$ there are four scalings and $s$: dimension 5.
# At $s=\pm1$ two output weights are 0.
# Their neurons are free, with two numbers $(w, b)$ each.
# With the scalings of the other two this is a piece of dimension 6, which meets the first one there.
# ::::
#
# :::{exercise}
# :label: ex-three-not-enough
# Show that three neurons do not suffice for $|x| + |y| + \frac12x + \frac3{10}y$.
# :::
#
# ::::{solution} ex-three-not-enough
# :class: dropdown
# Two neurons bend at $x = 0$ and $y = 0$: with sides $s_1, s_2 = \pm1$ their affine part is $s_1x + s_2y$.
# A third neuron that does not bend adds a constant; one that bends shares one of the two lines, say $x = 0$;
# then the coefficient of $x$ is free and that of $y$ is $\pm1\ne\frac3{10}$.
# At $y=0$ likewise, as $\frac12\ne\pm1$.
# ::::
#
# :::{exercise}
# :label: ex-quantised
# *With data.*
# Draw networks with Gaussian weights and round them to multiples of 1, 1/2, 1/4 and 1/8.
# How many non-empty sets $S$ satisfy {eq}`eq-flip`?
# Relate it to {numref}`fig-counts`.
# :::
#
# ::::{solution-start} ex-quantised
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-quantised"
rng, counted = np.random.default_rng(seed), []
for size, _ in itertools.product((1, 2, 4, 8), range(trials)):
    W, V = (np.rint(size * rng.standard_normal(s)) for s in ((12, 3), (1, 12)))
    W[~W.any(1)], V[V == 0] = 1, 1  # no neuron may vanish
    net = ShallowReLU(W.astype(int), rng.integers(-9, 9, 12), V.astype(int), [0])
    sets = shallow.hidden_symmetries(net).count
    counted.append({"size": size, "hidden": sets})
label = "size: weights are rounded to multiples of 1/size"
hidden_counts(pd.DataFrame(counted), xlabel=label)

# %% [markdown]
# :::{figure} #fig-ex-quantised
# ---
# alt: >-
#   Dots and a line of medians falling from tens at size 1 to zero at size 8.
# ---
# Coarse rounding creates sets to flip, fine rounding hardly any.
# Networks of twelve neurons with Gaussian weights, rounded to multiples of 1/size;
# dots are networks, the line is their
# median.
# The run of this page.
# :::

# %% [markdown]
# {numref}`fig-ex-quantised`: multiples of 1 are mostly −2 to 2, so the counts are like those of sizes 1
# and 2 in {numref}`fig-counts`.
# There are $2^{12}$ sets; once their sums can take many more values than that, hardly any is 0.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-decay
# *With data.*
# Train the network of this page with and without weight decay.
# How many neurons fire on no image, and how large are their weights?
# :::
#
# ::::{solution-start} ex-decay
# :class: dropdown
# ::::

# %% tags=["hide-input"]
seen = images.images.flatten(1).cpu().double().numpy()
for amount in (0.0, 1e-3):
    net = fitted(seed, replace(recipe, weight_decay=amount))
    fires = (seen @ net.W.T + net.b > 0).any(0)
    norms = np.linalg.norm(net.W, axis=1)
    print(f"decay {amount:g}: {(~fires).sum()} of {net.n} never fire")
    print(
        "  norms of those:",
        norms[~fires].round(4),
        "least other:",
        norms[fires].min().round(2),
    )

# %% [markdown]
# A few neurons never fire, with decay or without.
# Decay makes them smaller; so few epochs are not enough to bring them near 0.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: sec-deep
# *A hidden symmetry that needs depth.*
# A network with two hidden layers, $f(x) = W_3\,\sigma(W_2\,\sigma(W_1x) + b_2)$, has in its second hidden layer the
# weights and biases
#
# $$
# W_2 = \begin{pmatrix}1 & \frac12\\ \frac25 & 1\end{pmatrix}, \quad
# b_2 = \begin{pmatrix}\frac12\\ \frac12\end{pmatrix}.
# $$
#
# Show that $(MW_2, Mb_2, W_3M^{-1})$ gives the same function for every invertible $M$ with $MW_2\ge0$ and $Mb_2\ge0$.
# Which dimension has the set of these $M$, and which the group of ReLU at width 2?
# For which $s$ is $M = \begin{pmatrix}1 & s\\ 0 & 1\end{pmatrix}$ in it?
# Why can the first layer not be mixed in this way?
# :::
#
# ::::{solution} sec-deep
# :class: dropdown
# After a ReLU every value is nonnegative.
# So a second layer with nonnegative weights and biases is active on all inputs, and there ReLU does nothing:
# $W_3M^{-1}(MW_2h + Mb_2) = W_3(W_2h + b_2)$.
# The entries of $W_2$ and $b_2$ are positive, so all $M$ near $I$ are allowed: dimension four.
# The group of ReLU has dimension two.
# The first row of $MW_2$ is $(1 + \frac25s,\ \frac12 + s)$, and $Mb_2 = (\frac12 + \frac12s,\ \frac12)$, so
# $s\ge-\frac12$.
# The first layer reads inputs of either sign, on which its neurons are not always active.
# The library does not look for such symmetries, which depend on the values of weights ({doc}`01c_any_network`).
# ::::
#
# :::{exercise}
# :label: ex-deep
# *Open.*
# Put a second ReLU layer behind the first.
# A set of flips that satisfies {eq}`eq-flip` for the first layer survives: the next biases absorb the constant.
# Are there flips in both layers that keep the function only together?
# :::
#
# Back to {doc}`06b_genni_lenet`; {doc}`../learned` closes the book.
