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
# **You will learn** all symmetries of ReLU networks with one hidden layer,
# to decide for any two of them whether they are the same function (exactly for fractions,
# up to a tolerance for floats), and to make a network smaller without changing it.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# Swapping hidden neurons and scaling them by positive factors keeps the function.
# *Are there other symmetries?*
# {numref}`fig-folded` says yes: two networks, three neurons each, folds on the same three lines,
# and every neuron active on the opposite side.
# No swap and no scaling takes one to the other.
# They are the same function, with $\sigma = \mathrm{ReLU}$:
#
# $$
# \begin{aligned}
# &\sigma(x) + \sigma(y) + \sigma(1-x-y)\\
# &= \sigma(-x) + \sigma(-y)\\
# &\quad + \sigma(x+y-1) + 1.
# \end{aligned}
# $$ (eq-hidden)
#
# The paper {cite}`ramakrishnan2026` classifies all symmetries, as {cite:t}`petzka2020` did in another form.
# This chapter makes the theorems into a procedure.

# %% tags=["hide-input"]
import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
import pandas as pd
from torch import nn

from intertwine import devices, shallow
from intertwine.shallow import ShallowReLU, same_function
from intertwine.training import train
from intertwine_book import data, models, results, zoo
from intertwine_book.experiments.shallow_relu import decay, drawings, examples, statements
from intertwine_book.figures import shallow as draw
from intertwine_book.figures import style
from intertwine_book.figures.neuron_slider import neuron_slider
from intertwine_book.stories import shallow_relu as story
from intertwine_book.stories import tell

style.use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits", "fashion_mnist"] = "digits"
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one, for training
seed: int = 0  # of initialisation, data order and random networks
width: int = 16  # hidden neurons of the trained networks
networks: int = 4  # trained from different seeds, at least 2
epochs: int = 10  # of their training
decays: list[float] = [0.0, 1e-5, 1e-4, 1e-3]  # weight decays that are compared
trials: int = 20  # random networks for each check

# %% tags=["remove-input"] figure="fig-folded"
both = {"p": examples.P, "q": examples.Q}
surface = drawings.surfaces(both, np.linspace(-1.2, 1.7, 60))
draw.folded_planes(surface, drawings.neurons(both))

# %% [markdown]
# Pictures do not prove.
# `same_function` does: integers and fractions stay exact, and so is the answer.
# It is *yes*, by flipping all three neurons, and that symmetry takes $p$ to $q$.

# %%
W, U = [[1, 0], [0, 1], [-1, -1]], [[-1, 0], [0, -1], [1, 1]]
p = ShallowReLU(W, b=[0, 0, 1], V=[[1, 1, 1]], c=[0])
q = ShallowReLU(U, b=[0, 0, -1], V=[[1, 1, 1]], c=[1])
answer = same_function(p, q)
assert answer.equal and answer.symmetry.flips == (0, 1, 2)

moved = answer.symmetry.image()
assert (moved.rows == q.rows).all() and (moved.c == q.c).all()

# %% [markdown]
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
# With one input a neuron is an arrow $(w, b)$ in the plane,
# and two neurons can be merged when their arrows have the same direction ({numref}`fig-neuron-rays`).

# %% figure="fig-neuron-rays"
W, V = [[1], [2], [1], [0], [-1]], [[2, 1, -3, 5, 1]]
given = ShallowReLU(W, b=[1, 2, -1, 1, 1], V=V, c=[0])
bent = given.with_neurons([0, 1, 2, 4])
c = given.c + given.V[:, 3] * given.b[3]  # of neuron 3, a constant
steps = {"given": given}
steps["constants moved"] = ShallowReLU(bent.W, bent.b, bent.V, c)
steps["merged, in order"] = shallow.zero_factor_reduction(given)
draw.neuron_rays(drawings.neurons(steps))

# %% [markdown]
# :::{prf:definition} {cite}`ramakrishnan2026`, Definitions 3–5
# :label: def-minimal
# (1) A neuron with $w_i = 0$ is the constant $\lambda_i\sigma(b_i)$: add it to $c$ and delete the neuron.
# (2) If $(w_j, b_j) = t\,(w_i, b_i)$ with $t > 0$, merge: $\lambda_i \leftarrow \lambda_i + t\lambda_j$,
# and delete neuron $j$.
# (3) Delete neurons with $\lambda_i = 0$.
# The deleted neurons are the paper's *0-factors*.
# The result is the *reduction*; a network to which no step applies is *reduced*.
# Scale the remaining rows to a fixed norm, $\lambda$ inversely, and sort them: this is the *minimal form*
# (in the paper and in the library filled up with zero neurons to the old width).
# Reduced networks that differ by $H_n$ have the same one.
# Two reduced networks of one function can have different minimal forms, for example the two of {eq}`eq-hidden`.
# :::
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
# Near it the function is affine iff the jump of its gradient across $H$ is 0.
# In a reduced network no two neurons are positive multiples of each other,
# so at most one further neuron $j$ bends along $H$, with $(w_j, b_j) = -t(w_i, b_i)$, $t>0$.
# From the side where neuron $i$ is off to the side where it is on, the gradient jumps by
#
# $$\lambda_iw_i - \lambda_jw_j = (\lambda_i + t\lambda_j)w_i.$$
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
# Where two opposite pairs have dependent normals, output weight can move within both while the function stays:
# turn the slider of {numref}`fig-family`.


# %% figure="fig-family"
def family(s):
    """One function for all s: weight moves within two opposite pairs."""
    V = [[1 + s, 1 - s, 1 - s, 1 + s]]
    return ShallowReLU([[1], [-1], [1], [-1]], [0, 0, -1, 1], V, [-s])


halves_of = [Fraction(k, 2) for k in range(-4, 5)]
assert all(same_function(family(halves_of[0]), family(s)).equal for s in halves_of)
members = {f"{float(s):g}": family(s) for s in halves_of}
neuron_slider(members, name="family", prefix="s = ")

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


assert hidden(p) == [(0, 1, 2)] == [*shallow.hidden_symmetries(p)]

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


assert canonical(p) == canonical(q)
assert canonical(p)[1] == tuple(shallow.canonical_form(p).L[0])

# %% [markdown]
# The form of the two networks is $\frac12(|x| + |y| + |x + y - 1| + 1)$.
# It contains no sides, so flips leave it as it is.
# In floats two hyperplanes count as one if their $(w, b)$, scaled to norm 1, agree up to sign to $10^{-9}$
# ($10^{-6}$ between two float32 modules), and an answer may also be *undecided*.
# When the one output weight that we tried, of a trained network in float64, changes by $10^{-8}$ of itself,
# `same_function` answers *different* and gives an input; after $10^{-10}$, below the tolerance,
# it answers *equal*.
#
# The form also gives the symmetry itself.
# Reduce both networks, and call $\alpha_H$ and $\beta_H$ the output weights of $\sigma(u_H)$ and $\sigma(-u_H)$,
# with $u_H(x) = w_H\cdot x + b_H$.
# A weight is 0 where there is no neuron.
#
# :::{prf:theorem} All symmetries
# :label: thm-all
# Two reduced networks are the same function iff there are $\delta_H\in\mathbb R^k$,
# one for each hyperplane of either network, with $\sum_H\delta_Hw_H^\top = 0$ such that the second network,
# up to $H_n$, is the first with
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
# $\alpha\sigma(u) + \beta\sigma(-u) = \frac{\alpha+\beta}2|u| + \frac{\alpha-\beta}2u$.
# The two networks have equal $\gamma_H$ iff all $\alpha_H+\beta_H$ agree,
# that is, iff there are $\delta_H$ by which their weights differ as above.
# Then $L$ changes by $-\sum_H\delta_Hw_H^\top$, which has to be 0, and $e$ by $-\sum_H\delta_Hb_H$
# and the change of $c$.
# :::
#
# A flip of neuron $i$ moves all of its weight, $\delta_H = \alpha_H$.
# {numref}`fig-family` moves a part.
# A pair can also leave one hyperplane, where both weights become 0, and appear on a parallel one:
#
# $$\begin{aligned}&\sigma(z) - \sigma(-z)\\ &= \sigma(z+a) - \sigma(-z-a) - a.\end{aligned}$$
#
# `same_function` returns the $\delta_H$ as `symmetry.transfers`.
#
# (sec-generic)=
# ## When $H_n$ is all there is
#
# Call θ *generic* if its class is one free $H_n$-orbit.
# If no two neurons share a hyperplane, the canonical form bounds the number of orbits in the class.
# The next theorem is ours.
# Related: {cite:t}`dereich2022` determine dimension and number of components of the set of smallest networks of a
# function with one output.
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
# Networks of 4, 6, 8 and 10 neurons reach the bound:

# %%
for n in (4, 6, 8, 10):
    V = [[1, -1] * (n // 2)]
    sharp = ShallowReLU([[1]] * n, b=range(n), V=V, c=[0])
    orbits = 1 + shallow.hidden_symmetries(sharp).count
    assert orbits == comb(n, n // 2)
    print(n, "neurons:", orbits, "of", 2**n, "sets")

# %% [markdown]
# :::{admonition} A conjecture of the paper, answered for one hidden layer
# :class: note
# {numref}`fig-folded` is the paper's counterexample to Lemma D15 of {cite:t}`grigsby2023` as the paper quotes it:
# lines in general position, {glue:text}`regions:.0f` regions with {glue:text}`functions:.0f` different affine
# functions, and yet a class of two orbits.
# Such conditions do not identify θ *globally*.
# Whether they do so *locally* the paper leaves as a conjecture.
# {prf:ref}`thm-local` says yes: general position makes the rows independent, and a neuron at
# which the function bends has $\lambda_i\ne0$.
# :::
#
# We drew {glue:text}`identified:.0f` random networks of one to five neurons with independent rows.
# Each has as many orbits as sets to flip, the empty one included:
# {glue:text}`one-orbit:.0f` have one orbit, {glue:text}`several-orbits:.0f` have two to {glue:text}`most-orbits:.0f`.
# The rank of the Jacobian leaves no direction but the scalings.
#
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorems 1 and 5, Proposition 24
# :label: thm-generic
# If the rows $(w_i, b_i)$ are pairwise linearly independent, all $\lambda_i\ne0$,
# and no non-empty $S$ satisfies {eq}`eq-flip`, then θ is generic.
# The set of such $\theta$ contains a non-empty Zariski-open, hence dense set.
# :::
#
# :::{prf:proof}
# No $w_i$ is 0, or $S=\{i\}$ would do; the first part is {prf:ref}`thm-local`.
# Each condition fails on the zero set of a polynomial that is not 0 everywhere, and there are finitely many:
# 2×2 minors of two rows (they vanish iff the rows are dependent, Lemma 22), $\lambda_i = 0$,
# and $\sum_S\lambda_iw_i^\top = 0$ for each $S$.
# :::
#
# Finding $S$ is a subset-sum problem, which is hard in general.
# If the matrices $\lambda_iw_i^\top$ are linearly independent, which needs $n\le mk$, no $S$ exists,
# and their smallest singular value $\mu$ bounds how near any $S$ comes:
# $\lVert\sum_S\lambda_iw_i^\top\rVert\ge\mu$.
#
# (sec-tree)=
# ### Which theorem answers for which network
#
# Three questions tell what a class may contain beyond one orbit ({numref}`fig-tree`).
# {prf:ref}`def-minimal` answers the first, {prf:ref}`thm-all` the second,
# {prf:ref}`thm-local` and {prf:ref}`thm-generic` the third.

# %% tags=["remove-input"] figure="fig-tree"
draw.decision_tree()

# %% [markdown]
# (sec-rare)=
# ## Where hidden symmetries are common
#
# *Almost no network has hidden symmetries; small integers are exceptions.*
# With twelve neurons, three inputs and weights −1, 0, 1 the median network of {numref}`fig-counts` has
# {glue:text}`median-1:.0f` sets that satisfy {eq}`eq-flip`, with integers up to 2 it has {glue:text}`median-2:.0f`.
# From 8 on at most one network in a hundred has any.
# Where no two neurons share a hyperplane, each set is a hidden symmetry.
# Of {glue:text}`tried-apart:,.0f` networks with weights −1, 0, 1 this is so in {glue:text}`share-apart:.0f` %,
# and the median of these is {glue:text}`median-apart:.0f` sets.
# The reduction of {prf:ref}`def-minimal` merges neurons and keeps the function;
# after it no two share a hyperplane in {glue:text}`share-merged:.0f` %, whose median is
# {glue:text}`median-merged:.0f`.
# So quantisation to three levels can create hidden symmetries.
# Among the networks drawn at size 64, the largest, none was found.
# Twelve neurons and three inputs are a favourable case:
# there are $2^{12}$ sets $S$ and only three equations for each.
# With many inputs, $n\le mk$, the matrices $\lambda_iw_i^\top$ are usually independent, and then no $S$ exists.

# %% tags=["remove-input"] figure="fig-counts"
story.hidden_counts()

# %% [markdown]
# (sec-digits)=
# ## Trained networks: weight decay brings them near degenerate ones
#
# *On Fashion-MNIST, with weight decay $10^{-4}$, trained networks lie near degenerate ones in three ways,
# and a bound for a fourth is small: all four numbers are at most {glue:text}`furthest-usual:.4f`.
# Without decay the smallest distance is {glue:text}`nearest-none:.3f`* (four networks each).
# {numref}`fig-degeneracy` shows four distances without unit, in Euclidean norms.
# Here $r_i = (w_i, b_i)$, and $\mu$ is the smallest singular value of the matrix whose columns are all
# $\lambda_iw_i^\top$.
#
# | label in the figure | distance | 0 means |
# |---|---|---|
# | to merge | $\min_{i\ne j}\sin\angle(r_i,\pm r_j)$ | two neurons share a hyperplane |
# | to drop | $\min_i\lVert\lambda_ir_i^\top\rVert/\max_i\lVert\lambda_ir_i^\top\rVert$ | a neuron contributes 0 |
# | to a constant | $\min_i\lVert w_i\rVert/\lVert r_i\rVert$ | a neuron is a constant |
# | μ (bound for flips) | $\mu/\max_i\lVert\lambda_iw_i^\top\rVert$ | some set $S$ may satisfy {eq}`eq-flip` |
#
# If no two neurons share a hyperplane, a positive $\mu$ certifies that the network is generic
# ({prf:ref}`thm-generic`).
# A small $\mu$ does not mean that a flip is near: one nearly vanished neuron also makes it small.

# %% tags=["remove-input"] figure="fig-degeneracy"
story.degeneracies()

# %% [markdown]
# The nearest to degenerate are the neurons that *fire on none* of the 60,000 training images.
# The loss gives such a neuron no gradient.
# Decay is all that moves its weights, and the bias, which does not decay, stays negative:
# $w_i$ goes to 0 and the neuron becomes a constant.
# Two such neurons are nearly parallel, so at decay $10^{-4}$ these neurons make all four distances small.

# %% tags=["remove-input"]
story.by_decay()

# %% [markdown]
# So decay does three things.
# From $10^{-4}$ on more neurons stop firing, those that do not fire shrink to almost nothing,
# and those that fire become smaller, too.
# Without the neurons that never fire every network is certified generic.
# At decay $10^{-4}$ all four distances are still smaller than without decay, at least {glue:text}`active-usual:.4f`;
# at $10^{-3}$, where fewer neurons are left, only the one to a constant is.
# A certified network has no other *exact* symmetries than swaps and scalings.
# For the others μ is too small to tell from 0 in floats.
#
# *What would change it.*
# All networks have 64 neurons and were trained by one recipe.
# Its Adam divides each gradient by its recent size,
# so that even a weak decay moves a weight that has no other gradient.
# Plain gradient descent and decoupled decay were not tried.

# %% [markdown]
# (sec-compress)=
# ## Fewer neurons, the same function
#
# *With one output, $h + 2$ neurons always suffice, where $h$ is the number of hyperplanes at
# which the function bends.*
# This is a theorem of {cite:t}`dereich2022`, who tell the cases $h$, $h+1$ and $h+2$ apart.
# Each of the $h$ needs a neuron.
# Since $|u| = 2\sigma(u) - u$, one neuron on each leaves an affine rest $z$,
# and $z = \sigma(z) - \sigma(-z)$ takes two more.
# {numref}`fig-compress` does it for $|x| + |y| + \frac12x + \frac3{10}y$.


# %%
def compressed(gamma, L, e):
    """A neuron for each hyperplane, and a pair for what is left."""
    u, g = np.array([*gamma], object), np.array([*gamma.values()])
    z = np.append(L, e) - g @ u
    rows = np.vstack([u, z, -z])
    return ShallowReLU(rows[:, :-1], rows[:, -1], [[*2 * g, 1, -1]], [0])


half, z = Fraction(1, 2), [Fraction(1, 2), Fraction(3, 10)]
W = [[1, 0], [1, 0], [-1, 0], [0, 1], [0, -1], z, [-a for a in z]]
large = ShallowReLU(W, [0] * 7, [[half, half, 1, 1, 1, 1, -1]], [0])
small = compressed(*canonical(large))
assert small.n == shallow.compress(large).network.n == 4
assert same_function(large, small).equal

# %% figure="fig-compress"
parts = {"given: 7 neurons": large, "the folds: h = 2": small.with_neurons([0, 1])}
parts["h + 2 = 4 neurons"] = small
surface = drawings.surfaces(parts, np.linspace(-1.5, 1.5, 60))
draw.folded_planes(surface, drawings.neurons(parts))

# %% [markdown]
# Do $h$ neurons suffice?
# For $\sum_i a_i|x - t_i|$ they do exactly when the $a_i$ can be split into two groups of equal sum:
# a partition problem.
# $3|x| + |x-1| + 2|x-2|$ needs three neurons, as $3 = 1 + 2$, and $3|x| + |x-1| + |x-2|$ needs four.
# `compress` finds the minimum for up to 40 hyperplanes.
# With several outputs it may leave a gap, which it states.
#
# (sec-beyond)=
# ## Beyond ReLU
#
# :::{prf:remark} {cite}`ramakrishnan2026`, Remark 1
# :label: rem-any-sigma
# {prf:ref}`def-minimal` works for every σ whose scaling law is known, with $G_\sigma$ in place of $H_n$:
# a row $a(w, b)$ with $\sigma(au) = \beta\sigma(u)$ merges with weight $\beta$, constants are $\lambda\sigma(b)$,
# neurons with $\lambda = 0$ are dropped.
# :::
#
# A flip only needs $\sigma(x) - \sigma(-x) = \kappa x$, an odd part that is linear.
# *Seven of ten activations that we tried have it:*
#
# | activation | κ | flips |
# |---|---|---|
# | ReLU, Softplus, SiLU, GELU, Hardswish | 1 | the sets of {eq}`eq-flip` |
# | LeakyReLU of slope 0.01 | 1.01 | the sets of {eq}`eq-flip` |
# | $\lvert x\rvert$ | 0 | every set |
# | ELU, Mish | none | none of this kind |
# | tanh | none | another kind: tanh is odd, so $(w, b, \lambda)$ may change sign together |
#
# ## Run it yourself
#
# *This section is computed by this page.*
# Train two networks on {glue:text}`trained_on`.
# Disguise the first: replace each neuron by two copies, each with half of its output weight,
# and move the result by a random element of the group.
# Is it recognised, and brought back to its size?

# %% tags=["hide-input"]
device = devices.pick(device)
run = results.run(globals(), "07_shallow_relu")
generator = run.generator()

# %%
images = data.load(dataset, "train", device=device)
inputs, outputs = images.images[0].numel(), len(images.classes)
recipe = replace(zoo.RECIPES["digits"], epochs=epochs)


@cache
def fitted(s, recipe=recipe):
    """A network as initialised and as trained."""
    layers = models.fcn((inputs, width, outputs), bias=True, seed=s)
    start = nn.Sequential(nn.Flatten(), *layers)
    before = ShallowReLU.from_module(start)
    net = train(start, images, recipe, seed=s, device=device).network
    return before, ShallowReLU.from_module(net)


seeds = range(seed, seed + networks)
untrained, trained = zip(*map(fitted, seeds), strict=True)

# %%
first, second = trained[:2]
double = first.with_neurons(np.repeat(np.arange(first.n), 2))
double = ShallowReLU(double.W, double.b, double.V / 2, double.c)
disguised = shallow.random_orbit(double, generator=generator)

found = same_function(first, disguised)
small = shallow.compress(disguised).network
print(f"{disguised.n} neurons, recognised: {found.equal}, then {small.n}")

other = same_function(first, second)
apart = np.abs(other.witness.p - other.witness.q).max()
print(f"second network: {other.equal}, outputs differ by {apart:.2g}")

# %% [markdown]
# Two networks of one function must bend along the same hyperplanes ({numref}`fig-nearest`).
# In this run the nearest hyperplane of the second trained network is {glue:text}`seeds-angle:.0f`° away,
# and {glue:text}`chance-angle:.0f`° in an untrained pair (medians over neurons).

# %% figure="fig-nearest"
duos = {"disguised": (first, disguised), "two seeds": (first, second)}
duos["two seeds, untrained"] = untrained[:2]
nearest = drawings.nearest_angles(duos)
draw.nearest_hyperplanes(nearest)

# %% [markdown]
# ## Adapt this
#
# Any two `nn.Sequential(Linear, ReLU, Linear)`.
# Ask `.equal`, then `.symmetry` or `.witness`.

# %%
import torch
from torch import nn

from intertwine.shallow import ShallowReLU, random_orbit, same_function

chance = torch.manual_seed(0)
mine = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
other = random_orbit(ShallowReLU.from_module(mine), generator=chance)
found = same_function(mine, other.to_module())
found.equal, found.symmetry.permutation

# %% [markdown]
# (sec-stabiliser)=
# ## Appendix: what moves nothing, and all cases that were tried
#
# *An element of $H_n$ other than the identity fixes θ only if θ has zero neurons or equal neurons.*
#
# :::{prf:theorem} {cite}`ramakrishnan2026`, Theorem 2 and Proposition 2
# :label: thm-stabiliser
# The stabiliser of $\theta$ in $H_n$ is $\mathbb R_{>0}^r\rtimes\Sigma_r$ on its $r$ zero neurons
# ($w, b, \lambda$ all 0), times a symmetric group on every block of neurons that are equal up to a positive
# scaling of $(w, b)$ with $\lambda$ scaled inversely.
# :::
#
# :::{prf:proof}
# An element sends neuron $i$ to place $\pi(i)$, scaled by $d_i$.
# It fixes θ iff $(w_{\pi(i)}, b_{\pi(i)}) = d_i(w_i, b_i)$ and $\lambda_{\pi(i)} = \lambda_i/d_i$ for all $i$.
# So π permutes the neurons within the classes of that relation.
# If a neuron of a class is not all zero, $d_i$ is determined by π: the class contributes a symmetric group.
# On the class of zero neurons every $d_i > 0$ and every permutation is allowed:
# $\mathbb R_{>0}^r\rtimes\Sigma_r$.
# :::
#
# The paper's hierarchy, as we read it, is strict:
# *generic* ⇒ *no neuron deleted by the reduction* ⇒ *trivial stabiliser*.
# The conditions of {prf:ref}`thm-generic` are not necessary: the rows of the second function are dependent.
#
# | function | generic | nothing deleted | trivial stabiliser |
# |---|---|---|---|
# | $\sigma(x) + \sigma(y)$ | ✓ | ✓ | ✓ |
# | $\sigma(x) + 2\sigma(-x)$ | ✓ | ✓ | ✓ |
# | $p$ of {eq}`eq-hidden` | · | ✓ | ✓ |
# | $\sigma(x) + 0\,\sigma(y)$ | · | · | ✓ |
# | $\sigma(x) + \sigma(x)$ | · | · | · |
#
# *No case that was tried contradicts a statement.*
# The pairs for equality were moved by $H_n$, with neurons split, dropped or made constant,
# with opposite pairs and with hidden flips.
# Each was tried also as a near miss, in which one number is off by a thousandth.
# A *yes* of the canonical form was checked by carrying out its symmetry,
# a *no* by evaluating both networks at its input, all in exact arithmetic.
# Only cases that meet a statement's premise count; the numbers of statements are the paper's:

# %% tags=["remove-input"]
story.statements()

# %% [markdown]
# ## Deviations from the paper
#
# The paper prints no measurements; each statement is compared with a calculation.
# The {doc}`../errata` say of each lemma without a trial why there is none.
#
# | | in the paper | here | what it may change |
# |---|---|---|---|
# | equality | pairs in $\theta\ominus\theta'$ | {eq}`eq-canonical`; the pairs as well | nothing: both agree |
# | local identifiability | a conjecture | {prf:ref}`thm-local` | – |
# | counts of hidden symmetries, $\mu$, `compress`, flips beyond ReLU | – | ours | – |
#
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
# (If two neurons share a hyperplane, such a set does not count as a hidden symmetry.)
# Relate it to {numref}`fig-counts`.
# :::
#
# ::::{solution-start} ex-quantised
# :class: dropdown
# ::::

# %% figure="fig-ex-quantised"
rng, counted = np.random.default_rng(seed), []
for size, _ in itertools.product((1, 2, 4, 8), range(trials)):
    W, V = (np.rint(size * rng.standard_normal(s)) for s in ((12, 3), (1, 12)))
    W[~W.any(1)], V[V == 0] = 1, 1  # no neuron may vanish
    net = ShallowReLU(W.astype(int), rng.integers(-9, 9, 12), V.astype(int), [0])
    sets = shallow.hidden_symmetries(net).count
    counted.append({"size": size, "hidden": sets})
label = "size: weights are rounded to multiples of 1/size"
draw.hidden_counts(pd.DataFrame(counted), xlabel=label)

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
# Repeat {numref}`fig-degeneracy` on other images.
# Are there neurons that never fire, and does decay shrink them?
# :::
#
# ::::{solution-start} ex-decay
# :class: dropdown
# ::::

# %%
test = data.load(dataset, "test", device=device)
seen = images.images.flatten(1).cpu().double().numpy()
by_decay = {"untrained": replace(recipe, epochs=0)}
by_decay |= {f"decay {at:g}": replace(recipe, weight_decay=at) for at in decays}
of_seeds = [
    {"network": name, "trial": s, "recipe": each}
    for name, each in by_decay.items()
    for s in seeds
]
trained_by = {"cases": of_seeds, "uses": ["dataset", "width", "epochs"], "data": images}


@run.table(**trained_by)
def degeneracy(network, trial, recipe):
    p = fitted(trial, recipe)[1]
    found = decay.distances(p, seen)
    return found.assign(accuracy=decay.accuracy(p, test))


@run.table(**trained_by)
def neurons(network, trial, recipe):
    return decay.sizes(fitted(trial, recipe)[1], seen)


# %% figure="fig-ex-decay"
draw.degeneracies(degeneracy)

# %% [markdown]
# {numref}`fig-ex-decay` draws them for {glue:text}`trained_on`.
# In this run {glue:text}`silent-live` of all {glue:text}`hidden-live` neurons of the networks with decay $10^{-4}$
# never fire.
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
# ## Summary
#
# - Merge, drop, move constants.
#   Beyond that and $H_n$, all symmetries move output weight from $\sigma(u)$ to $\sigma(-u)$ on some hyperplanes
#   ({prf:ref}`thm-all`); flips move all of it.
# - {eq}`eq-canonical` decides equality without a search.
#   A *yes* comes with the symmetry, a *no* with an input; floats have a tolerance, and may stay undecided.
# - Hidden symmetries are absent on a dense open set.
#   Half of the networks of twelve neurons and three inputs with weights −1, 0 and 1 have dozens of sets to flip,
#   also of those few in which each set is a hidden symmetry.
# - With independent rows, $w_i\ne0$ and $\lambda_i\ne0$, there are at most $\binom n{\lfloor n/2\rfloor}$ orbits,
#   and θ is locally identifiable: the paper's conjecture holds for one hidden layer.
# - Four networks of 64 neurons, trained on Fashion-MNIST with weight decay $10^{-4}$, are nearly degenerate:
#   a third of their neurons never fire, and decay shrinks these most.
#
# Back to {doc}`06b_genni_lenet`; {doc}`../learned` closes the book,
# and the {doc}`../scoreboard` has every verdict.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
named = {"digits": "handwritten digits", "fashion_mnist": "Fashion-MNIST"}
angle = nearest.groupby("pair")["angle"]
ends = {"least-angle": angle.min()["two seeds"], "most-angle": angle.max()["two seeds"]}
medians = angle.median()
ends |= {"chance-angle": medians["two seeds, untrained"]}
ends |= {"seeds-angle": medians["two seeds"]}
usual = neurons[neurons["network"] == "decay 0.0001"]
silent = {"silent-live": (usual["fires"] == 0).sum(), "hidden-live": len(usual)}
tell(story.facts(), ends, silent, {"trained_on": named[dataset], "width": width})

run.write(data=images, rounding=statements.rounding(first))
run.write(**statements.statements(run, trials, generator=generator))
results.provenance(run.folder)
