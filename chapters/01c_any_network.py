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
# # 1c · Symmetries of any network
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups`: the group of an activation and its map φ.
#
# **You will learn** to find symmetries by hand and by one run, and whether they are all.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/01c_any_network>`.
# :::
#
# ## The question
#
# You have loaded a network that somebody else wrote.
# *Which changes of its weights leave its function alone?*
# The axes of a weight or a value are its indices.
# **Each operation limits how they may move; what all operations allow is a symmetry, and one run of the network finds
# it** ({numref}`fig-explorer`).
# *Which options shrink the group $O(64)$, all orthogonal matrices, of the residual stream?*

# %% tags=["hide-input"] figure="fig-explorer"
from intertwine_book.live.explorer import explorer

explorer()

# %% [markdown]
# :::{figure} #fig-explorer
# ---
# alt: >-
#   A column of boxes from the input to the last layer, with coloured arrows between them.
#   Beside it is a list of hidden spaces, each with its group and the dimension of it as a bar.
# ---
# Values and weights of one colour move together, by one matrix.
# Point at a colour, or choose it in the list, and its weights light up, with its group and the reason.
# A band below the name of a layer is what its weights write, a band above it what they read.
# :::

# %% tags=["hide-input"]
import copy

import torch
from torch import nn
from torch.func import functional_call, jacrev
from torch.nn.functional import gelu

from intertwine import devices
from intertwine.groups import intertwiner_group
from intertwine.weightspace import find_symmetries, fold_biases, relative_error, verify
from intertwine.weightspace.solve.draw import in_symbols
from intertwine_book.figures.readable import readable
from intertwine_book.figures.schematics import residual_block, traced_shortcut
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of weights, inputs and group elements

# %% [markdown]
# Two leave only permutations with signs: a norm after the sum, whose gain writes the residual stream, and an embedding
# that is also the last layer, one weight that both writes the stream and reads it, behind a gain.
# Layer norm leaves the $Q$ with $Q\mathbf 1 = \pm\mathbf 1$.
#
# *Why does it matter?*
# Networks that differ by such a change are the same network.
# Whoever averages, compares, prunes or rounds weights gets results that depend on which of them was loaded
# ({doc}`01d_orbits`).
#
# (sec-by-hand)=
# ## By hand: two layers and a shortcut
#
# *A shortcut joins the units of two layers, so that one matrix moves both.*
# {numref}`fig-trace` shows the network $x \mapsto W_3(h + \mathrm{ReLU}(W_2h))$ with $h = \mathrm{ReLU}(W_1x)$
# and four units in each layer.
# A weight has two axes, the units that it reads and the units that it writes.
# Let a matrix $A_a$ act on the axis $a$, and a matrix $A_b$ on the axis $b$.

# %% tags=["hide-input"] figure="fig-trace"
traced_shortcut()

# %% [markdown]
# :::{figure} #fig-trace
# ---
# alt: >-
#   A row of boxes: W1, ReLU, W2, ReLU, a plus, W3.
#   The arrows after W1 and after the first ReLU are labelled a, those after W2 and the second ReLU b,
#   the arrow after the plus b = a.
#   An arc labelled a leads from the first ReLU to the plus.
# ---
# The shortcut joins the axes a and b, so that one matrix moves both.
# Boxes are operations, and the letters are the axes of the values between them; input and output stay.
# :::

# %% [markdown]
# | operation | axes | what is left |
# |---|---|---|
# | $W_1$ | reads the input, writes $a$ | any invertible $A_a$; the input stays |
# | first ReLU | $a$ | $A_a$ is a permutation with positive scalings |
# | $W_2$ | reads $a$, writes $b$ | any invertible $A_b$; $W_2$ becomes $A_bW_2A_a^{-1}$ |
# | second ReLU | $b$ | $A_b$ is a permutation with positive scalings |
# | sum | $a$ and $b$ | $A_b = A_a$ |
# | $W_3$ | reads $a$, writes the output | $W_3$ becomes $W_3A_a^{-1}$; the output stays |
#
# One group is left, the permutations of four units with positive scalings.
# Without the shortcut there are two.
# In numbers, let $A_a$ double the first unit and $A_b$ triple the second:


# %% tags=["hide-input"]
class WithShortcut(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        sizes = (3, n), (n, n), (n, 2)
        self.W1, self.W2, self.W3 = (nn.Linear(*s, bias=False) for s in sizes)

    def forward(self, x):
        h = self.W1(x).relu()
        return self.W3(h + self.W2(h).relu())


torch.manual_seed(seed)
small, x = WithShortcut().double().eval(), torch.randn(5, 3).double()


# %%
def move(net, A_a, A_b):
    new, inverse = copy.deepcopy(net), torch.linalg.inv(A_a)
    new.W1.weight.data = A_a @ net.W1.weight
    new.W2.weight.data = A_b @ net.W2.weight @ inverse
    new.W3.weight.data = net.W3.weight @ inverse
    return new


A_a, A_b = torch.tensor([[2.0, 1, 1, 1], [1, 3, 1, 1]]).double().diag_embed()
apart, tied = (move(small, A_a, other)(x) for other in (A_b, A_a))
print(f"A_b = A_a: outputs change by {relative_error(tied, small(x)):.0%}")
print(f"A_b ≠ A_a: outputs change by {relative_error(apart, small(x)):.0%}")
(hidden,) = find_symmetries(small, x).spaces
print("the library:", hidden.group)

# %% [markdown]
# The library goes through the same table: it runs the network once, writes down every operation,
# and solves for what may move.
#
# *Which axes does one matrix move?*
# The rows of $W_1$ move by $A_a$, and so do those of $W_2$, because of the sum; the columns of $W_2$ and $W_3$ move by
# its inverse: these axes form one hidden space.
#
# :::{prf:definition}
# :label: def-hidden
# A *hidden space* is a set of axes (of weights, buffers and activations) that one matrix $A$ moves: each axis by
# $A$, or by what follows from it, such as $A^{-\top}$, or $\varphi(A)$ after an activation.
# Its *group* consists of the matrices that every operation on these axes allows.
# An *element* is a choice of one matrix for each hidden space.
# :::
#
# (sec-residual)=
# ## Residual connections constrain the layers they join
#
# *What is added has to move alike; so it matters whether a shortcut starts and ends before or after an activation.*
# In {numref}`fig-block` an output is added to a pre-activation.

# %% tags=["hide-input"] figure="fig-block"
residual_block()

# %% [markdown]
# :::{figure} #fig-block
# ---
# alt: >-
#   A row of boxes: σ, W2, σ, W3, a plus, σ.
#   The edges are labelled φ(A1), A2, φ(A2), A3 and A3, and the arc from the first σ to the plus φ(A1).
#   Below the plus: both must agree, A3 equals φ(A1).
# ---
# The two values that meet at the plus move alike only if $A_3 = \varphi(A_1)$.
# Every edge carries the matrix that multiplies its values; the layer inside the block has an $A_2$ of its own.
# :::

# %% [markdown]
# :::{prf:theorem} Residual connections
# :label: thm-residual
# In hidden layers let $h_i = \sigma(z_i)$; the last layer gives $z_i$ itself.
# In all layers but layer $m$ let $z_i = W_ih_{i-1} + b_i$, and there let a shortcut add an earlier output,
# $z_m = W_mh_{m-1} + b_m + h_l$ with $l < m$.
# Let $A_i\in G_\sigma$ and $B_i = \varphi(A_i)$, with $B_0 = I$ at the input and $A_i = I$ at the last layer.
# Move the weights to $W_i' = A_iW_iB_{i-1}^{-1}$ and $b_i' = A_ib_i$.
#
# If
#
# $$A_m = B_l = \varphi(A_l),$$ (eq-tied)
#
# the moved network has the values $B_ih_i$ and the same outputs.
# Conversely, if the values of $h_l$ over all inputs span their space, and the moved $z_m$ is $A_mz_m$ on all inputs,
# then {eq}`eq-tied` holds.
# :::
#
# :::{prf:proof}
# Up to layer $m-1$ the values are $B_ih_i$ by induction, as in {prf:ref}`prop-orbit`.
# At layer $m$ the moved sum is $A_m(W_mh_{m-1} + b_m) + B_lh_l = A_mz_m + (B_l - A_m)h_l$.
# It is $A_mz_m$ for all inputs if and only if $(B_l - A_m)h_l = 0$ for all of them; if the $h_l$ span, this says
# $A_m = B_l$.
# Then $\sigma(A_mz_m) = B_mh_m$, and the induction goes on to the output.
# :::
#
# By the same argument each kind of sum has its rule, in either order:
#
# | one term | the other | rule |
# |---|---|---|
# | an output | an output | $\varphi(A_l) = \varphi(A_m)$ |
# | an output | a pre-activation | $\varphi(A_l) = A_m$ |
# | a pre-activation | a pre-activation | $A_l = A_m$ |
# | anything, through weights of its own | anything | none: the weights absorb the difference |
#
# The group of $|x|$ has signs, and $\varphi(A) = |A|$ entrywise, so there the second rule differs from the third:

# %% tags=["hide-input"]
draw = torch.Generator().manual_seed(seed)
normal = lambda *shape: torch.randn(shape, generator=draw, dtype=torch.float64)


def block(W1, W2, W3, W4):
    h1 = (inputs @ W1.T).abs()
    h2 = (h1 @ W2.T).abs()
    return (h2 @ W3.T + h1).abs() @ W4.T


inputs, inv, G = normal(50, 5), torch.linalg.inv, intertwiner_group("abs", 8)
W = normal(8, 5), normal(8, 8), normal(8, 8), normal(3, 8)
A1, A2 = G.sample(draw), G.sample(draw)
B1, B2, change = G.phi(A1), G.phi(A2), {}
for rule, A3 in {"A_3 = φ(A_1)": B1, "A_3 = A_1": A1}.items():
    first, second = A1 @ W[0], A2 @ W[1] @ inv(B1)
    third, last = A3 @ W[2] @ inv(B2), W[3] @ inv(G.phi(A3))
    change[rule] = relative_error(block(first, second, third, last), block(*W))
    print(f"{rule}: outputs change by {change[rule]:.0%}")
assert change["A_3 = φ(A_1)"] < 1e-12 < change["A_3 = A_1"]

# %% [markdown]
# :::{admonition} Erratum: Godfrey et al. 2022, Remark 3.6
# :class: warning
# Printed: $A_l = A_m$ across a residual connection.
# That is enough where an output is added to an output, or a pre-activation to a pre-activation,
# and for every σ whose φ is the identity, such as ReLU and tanh.
# Where an output is added to a pre-activation it is false in general ({ref}`rec-remark-3-6`).
# :::
#
# The paper also sees no way to follow the values inside a block.
# The theorem does: $h_i$ becomes $B_ih_i$ there, too.
# What fails is the factorisation $f = f_{>m}\circ f_{\le m}$, because the shortcut goes round the layer.
#
# ## Seven spaces in a small transformer
#
# *One run finds orthogonal and invertible matrices, scalings and permutations in a transformer of one block.*


# %%
class OneBlock(nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(n, eps=1e-5) for _ in "abc")
        self.q, self.k, self.v, self.o = (nn.Linear(n, n) for _ in "qkvo")
        self.embed, self.head = nn.Linear(n, n), nn.Linear(n, 10)
        self.up, self.down = nn.Linear(n, 2 * n), nn.Linear(2 * n, n)

    def forward(self, x):
        x = self.embed(x)
        y = self.norms[0](x)
        scores = self.q(y) @ self.k(y).mT / y.shape[-1] ** 0.5
        x = x + self.o(scores.softmax(-1) @ self.v(y))
        x = x + self.down(gelu(self.up(self.norms[1](x))))
        return self.head(self.norms[2](x))


# %%
one_block, tokens = OneBlock().double().eval(), normal(5, 6, 8)
space = find_symmetries(one_block, tokens)
report = verify(space, one_block, space.sample(draw), tokens)
print(f"dimension of the group: {space.dimension}")
print(f"hidden values change by {report.spaces['changed'].median():.0%}")
print(f"outputs change by {report.output:.0e}")

# %% tags=["hide-input"]
headings = {"name": "written first by", "group": "group", "dimension": "its dimension"}
shown = space.to_frame()
shown["group"] = shown["group"].map(in_symbols)
readable(shown, headings, title="Hidden spaces of a transformer of one block")

# %% [markdown]
# A random element changes hidden values by more than their size (the median over spaces), and the outputs by rounding.
# `verify` has compared every hidden value with what the element predicts.
# Random elements keep the outputs of {fact}`01c_any_network.moved_networks:.0f` published architectures, too
# ({ref}`rec-zoo`).
# `space.draw()` draws the run in the colours of its hidden spaces; `explore(one_block, tokens)` of
# `intertwine_book.live.explorer` lights them up as in {numref}`fig-explorer`.
#
# (sec-rules)=
# ## What each operation allows
#
# At first any invertible matrix may act on every axis, except on input and output.
# Each operation adds a constraint.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - operation
#   - what it allows
# * - linear map, convolution
#   - anything: the axis that the weight reads moves by the inverse
# * - sum
#   - all terms move alike
# * - maximum
#   - all terms move alike, by permutations with positive scalings
# * - product
#   - permutations; each factor has its own nonzero scalings
# * - activation σ
#   - $A$ in $G_\sigma$ before it, $\varphi(A)$ after it
# * - batch norm
#   - before an activation: permutations; two scalars a unit, one before it and one after.
#     Elsewhere, in evaluation mode: any matrix
# * - RMS norm
#   - an orthogonal matrix; after its gain nonzero scalings
# * - layer norm
#   - an orthogonal matrix $Q$ with $Q\mathbf 1 = \pm\mathbf 1$
# * - attention
#   - permutations of heads; invertible matrices inside each head
# * - a bias that repeats along an axis, such as one for all positions
#   - permutations of that axis
# * - reshape, concatenation, slice
#   - anything: one axis holds several spaces
# * - input, output, an operation without a rule
#   - nothing: the axis is *frozen*
# :::
#
# An operation without a rule freezes what it touches, so the group that is found may be too small.
# It should never be too large: {ref}`rec-rules` tries each rule, and `verify` tests the answer on your network.
#
# :::{prf:proposition} Sums
# :label: prop-sums
# Let $(h, h')$ take all values in $\mathbb R^n\times\mathbb R^n$.
# Then $Ah + A'h' = B(h + h')$ for all of them if and only if $A = A' = B$.
# :::
#
# :::{prf:proof}
# $h' = 0$ gives $A = B$, and $h = 0$ gives $A' = B$.
# :::
#
# So a residual stream, to which layer after layer adds, is *one* space:
# everything that writes to it moves by the same matrix.
# The terms of a sum in a network depend on each other.
# So the proposition does not apply to them: the rule is still sufficient, but it may miss symmetries.
#
# :::{prf:proposition} Batch norm
# :label: prop-batch-norm
# Let $\mathrm{bn}(z) = \gamma(z - \mu)/\sqrt{v + \varepsilon} + \beta$ for one unit.
# For $a \ne 0$ and every $c$, the input $az$ gives the output $c\,\mathrm{bn}(z)$ with $\mu' = a\mu$,
# $v' = a^2v$, $\beta' = c\beta$ and
#
# $$\gamma' = c\,\gamma\,\frac{\sqrt{a^2v + \varepsilon}}{a\sqrt{v + \varepsilon}}.$$ (eq-batch-norm)
# :::
#
# :::{prf:proof}
# $\gamma'\,a(z-\mu)/\sqrt{a^2v+\varepsilon}$ equals $c\,\gamma\,(z - \mu)/\sqrt{v+\varepsilon}$ exactly
# if {eq}`eq-batch-norm` holds.
# :::
#
# So a unit has two scalars: any $a \ne 0$ before batch norm, and after it any $c$ that the activation allows.
#
# :::{prf:proposition} RMS norm
# :label: prop-rms-norm
# Let $\rho(x) = x/\sqrt{|x|^2/n + \varepsilon}$ with $\varepsilon > 0$, and $A$ invertible.
# There is a matrix $B$ with $\rho(Ax) = B\rho(x)$ for all $x$ if and only if $A$ is orthogonal, and then $B = A$.
# :::
#
# :::{prf:proof}
# Orthogonal matrices keep $|x|$.
# Conversely, put $tx$ for $x$, divide by $t$ and let $t \to 0$: $Ax = Bx$.
# Then the denominators agree, $|Ax| = |x|$.
# :::
#
# Suppose linear maps write the residual stream, and only RMS norms and linear maps read it.
# Then all of $O(n)$ acts, unless one weight both reads and writes (a tied embedding).
# The gain γ of a norm is a weight of its own: it may become $c\gamma$, with any factors $c_i\ne0$ that what reads it
# divides by, a space with the group $(\mathbb R^*)^n$.
# When the stream is moved by an orthogonal $Q$, a gain without zeros stays as it is: a weight $W$ that reads it becomes
# $W\,\mathrm{diag}(\gamma)\,Q^\top\mathrm{diag}(\gamma)^{-1}$.
# A layer norm subtracts the mean first, and the orthogonal $Q$ with $Q\mathbf 1 = \pm\mathbf 1$ commute
# with that.
#
# (sec-attention)=
# ## What attention leaves free
#
# *Heads are permuted, and each head has all invertible matrices twice: between queries and keys,
# and between values and output.*
# A head reads the residual stream $x_p$ at positions $p$ and passes on $\sum_r a_{pr}\,W_oW_vx_r$.
# The weight $a_{pr}$ is the softmax over $r$ of the scores $(W_qx_p)^\top(W_kx_r)/\sqrt d$.
#
# :::{prf:proposition} The groups of attention
# :label: prop-attention
# Let $M, N\in GL_d$, one pair for each head.
# The weights $MW_q$, $M^{-\top}W_k$, $NW_v$ and $W_oN^{-1}$ give the same output.
# If $g$ heads read the same keys and values (*grouped queries*), their $M$ are equal, and so are their $N$.
# If queries and keys pass an RMS norm without gain, $M$ is orthogonal.
# :::
#
# :::{prf:proof}
# Scores are $(Mq)^\top M^{-\top}k = q^\top k$.
# The weights $a_{pr}$ are numbers and commute with $N$, which $W_oN^{-1}$ undoes.
# Shared keys $M^{-\top}k$ fix $M$ for all heads that read them, shared values $N$.
# With a norm on queries and keys $M$ has to be orthogonal, by {prf:ref}`prop-rms-norm`; then $M^{-\top} = M$.
# :::
#
# Without biases nothing else is possible, if matrices have full rank and heads differ, each with keys and values
# of its own.
# {cite:t}`tran2025` determine the largest group, with a necessary and sufficient condition;
# the form for three vectors and its proof are ours.
# {cite:t}`tran2026` treat positions: sinusoidal ones keep this group, rotary ones reduce it.
#
# :::{prf:theorem} All symmetries of attention
# :label: thm-attention
# In two attention layers without biases let every head have keys and values of its own, one width $d$,
# and matrices $W_q, W_k, W_v, W_o$ of rank $d$; in each layer let the products $W_q^\top W_k$ differ from head to head.
# If the layers agree on all sequences of three vectors, a permutation of the heads and matrices $M, N\in GL_d$
# as in {prf:ref}`prop-attention` take one to the other.
# The converse holds for all sequences.
# :::
#
# :::{prf:proof}
# :class: dropdown
#
# Write $C = W_q^\top W_k/\sqrt d$ and $V = W_oW_v$ for each head.
# At the token $x$ of the sequence $(y, y, x)$ with $u = y - x$, also under a causal mask, the output is
#
# $$\sum V x + \sum s(x^\top Cu)\,Vu,\qquad s(a) = \frac{2e^a}{1 + 2e^a},$$
#
# summed over heads.
# Suppose two layers agree for all $x$ and $u$.
# From $u = 0$ their $\sum V$ agree.
# Let $C_j$ be the different $C$ of both layers, and $E_j$ the $V$ of the first minus that of the second
# (0 where there is none): $\sum_j s(x^\top C_ju)\,E_ju = 0$.
# For all $u$ outside a set of measure 0 the vectors $C_ju$ are different,
# so there is an $x$ for which the numbers $a_j = x^\top C_ju$ are different.
# Put $tx$ for $x$, with $u$ fixed: $\sum_j s(ta_j)\,E_ju = 0$ for all real $t$, and so for complex $t$.
# The poles of $s(ta)$ are at $t = (-\ln 2 + \mathrm i\pi m)/a$ with odd $m$.
# Their real parts differ for different $a_j$, so no pole cancels and $E_ju = 0$ where $a_j \ne 0$;
# then also where $a_j = 0$, as $s(0) \ne 0$.
# So $E_j = 0$: because no $V$ is 0, every pair $(C, V)$ of one layer is one of the other.
#
# If $W_q^\top W_k = W_q'^\top W_k'$ and all have rank $d$, then $W_q^\top$ and $W_q'^\top$ have one image,
# so $W_q' = MW_q$, and $W_k = M^\top W_k'$ because $W_q^\top$ is injective.
# In the same way $W_o' = W_oN^{-1}$ and $W_v' = NW_v$.
# :::
#
# Many transformers turn queries and keys by their position {cite}`su2024`.
# A query at position $p$ becomes $R^pq$, where $R$ rotates the $d/2$ planes of coordinates by angles
# $\theta_1, \dots, \theta_{d/2}$.
# The score then depends on the difference of two positions: $(R^pq)^\top R^rk = q^\top R^{r-p}k$.
#
# :::{prf:theorem} Rotary positions
# :label: thm-rotary
# Let no $\theta_j$ be a multiple of $\pi$, and no two be equal or opposite modulo $2\pi$.
# The pairs $(M, M')$ of matrices with $(Mq)^\top R^sM'k = q^\top R^sk$ for all $q$,
# $k$ and all integers $s$ are $M' = M^{-\top}$ with $M \in (\mathbb C^*)^{d/2}$:
# in each plane $M$ is a rotation with a scaling.
# :::
#
# :::{prf:proof}
# $s = 0$ gives $M^\top M' = 1$.
# Then $M^\top R^s = R^sM^\top$ for all $s$, which holds if it does for $s = 1$.
# The eigenvalues $e^{\pm i\theta_j}$ of $R$ are distinct, so $M^\top$ maps each plane to itself.
# There it commutes with a rotation that is not $\pm1$, so it is a complex number, and it is not 0.
# The same holds for its transpose.
# :::
#
# So rotary positions reduce the $d^2$ dimensions between queries and keys to $d$;
# the group between values and output stays.
# With planes read as complex numbers, these $M$ leave all scores unchanged:

# %%
d, places = 8, torch.arange(6.0).double()
angles = 100.0 ** (-torch.arange(d // 2) / (d // 2)).double()
turn = torch.exp(1j * torch.outer(places, angles))
planes = lambda x: torch.view_as_complex(x.unflatten(-1, (-1, 2)))
scores = lambda q, k: (planes(q) * turn @ (planes(k) * turn).mH).real

q, k = torch.randn(2, 6, d, generator=draw, dtype=torch.float64)
m = torch.randn(d // 2, generator=draw, dtype=torch.complex128)
times = lambda x, m: torch.view_as_real(planes(x) * m).flatten(-2)
same = scores(times(q, m), times(k, 1 / m.conj()))
print(f"scores differ by {relative_error(same, scores(q, k)):.0e}")

# %% [markdown]
# (sec-public)=
# ## The groups of public architectures
#
# *Most of a transformer's group lies inside its heads and, in ViT, on its residual stream.
# ResNets have permutations and scalings; where blocks end without an activation, as in MobileNet, matrices act.*
# Choose the networks in {numref}`fig-explorer` and compare the lengths of the bars.
#
# - **GPT-2, SmolLM**: the embedding is also the last layer, and the gain of a norm stands between the two, so the
#   residual stream keeps only permutations, and at most signs, of the orthogonal matrices. In GPT-2
#   {fact}`01c_any_network.gpt_heads:.0f` % of the group lies inside the heads.
# - **BERT** normalises *after* the sum, so a gain writes the stream, whose last value is the output and must stay.
# - **ViT**: linear maps write the stream, and only layer norms read it, so orthogonal matrices act.
# - **MobileNet**: blocks end with batch norm and no activation, a linear map in evaluation mode. So all invertible
#   matrices act between the blocks, but not once the statistics are estimated anew.
#
# (sec-functional)=
# ## Is that all?
#
# *The rank of a Jacobian bounds every continuous symmetry, also those that nobody looked for.*
# Let $F(W)$ be the outputs on many fixed inputs, as a function of the $P$ parameters, and $J$ its Jacobian.
# The rank of $J$ is the *functional dimension* of the network at these weights {cite}`grigsby2025`.
# The velocity of a smooth change of the weights that keeps the outputs lies in the kernel of $J$, so
#
# $$\text{dimension of the orbit} \le P - \operatorname{rank} J.$$ (eq-functional)
#
# Is there a gap in our transformer of one block?


# %%
def freedom(net, x):
    P = {name: each.detach() for name, each in net.named_parameters()}
    outputs = lambda P: functional_call(net, P, x).flatten()
    J = torch.cat([j.flatten(1) for j in jacrev(outputs)(P).values()], 1)
    return J.shape[1] - torch.linalg.matrix_rank(J, rtol=1e-10).item()


many = normal(20, 6, 8)
kernel = freedom(one_block, many)
print(f"kernel {kernel}, group {space.dimension}")

# %% [markdown]
# There is: {fact}`01c_any_network.block_shifts:.0f` dimensions.
# They are shifts of biases, which no matrix on the units gives.
# A bias of the keys adds one number to all scores of a query, and the softmax ignores it.
# A bias of the values reaches every output unchanged, because the $a_{pr}$ sum to 1, so the next bias can take it up:

# %%
shifted = copy.deepcopy(one_block)
key_shift, value_shift = normal(2, 8)
shifted.k.bias.data += key_shift
shifted.v.bias.data += value_shift
shifted.o.bias.data -= one_block.o.weight @ value_shift
difference = relative_error(shifted(many), one_block(many))
print(f"outputs change by {difference:.0e}")

# %% tags=["hide-input"]
shifts = fold_biases(space, one_block, tokens).dimension
assert kernel == space.dimension + shifts and shifts == 16

# %% [markdown]
# Group and shifts together fill the kernel.
# *So near these weights there is nothing else*, if the rank is constant there:
#
# :::{prf:theorem} When the orbit is all, nearby
# :label: thm-open
# Let $F$ be smooth near $W$, and let its Jacobian have constant rank in a neighbourhood of $W$.
# Let a Lie group act smoothly on the weights without changing $F$, and let the orbit of $W$ have the dimension
# $P - \operatorname{rank}J$ of the kernel.
# Then $W$ has a neighbourhood in which all weights with the outputs $F(W)$ lie on the orbit.
# :::
#
# :::{prf:proof}
# :class: dropdown
#
# By the constant rank theorem there is a neighbourhood $U$ of $W$ in which $S = \{W'\in U: F(W') = F(W)\}$ is a
# submanifold of dimension $P - \operatorname{rank}J$.
# The map $g \mapsto gW$ takes a neighbourhood of 1 in the group into $S$, because $F$ is constant on the orbit.
# It has the same rank at all $g$, as $hgW = h(gW)$ and $h$ is a diffeomorphism of the weights.
# This rank is the dimension of the orbit, which is that of $S$.
# So the map is a submersion to $S$, and submersions are open: its image contains a neighbourhood of $W$ in $S$.
# :::
#
# The matrices of {prf:ref}`def-hidden` and the shifts form such a group, because a matrix takes one shift to another.
# Its orbit has the dimension of the group.
# Go from the input to the output: if the axis that a weight reads is not moved, only the identity on the axis that it
# writes leaves it alone, by its full rank; and a shift moves a bias.
# {ref}`rec-freedom` finds the same rank at neighbouring weights; constancy itself is not proved.
#
# `find_symmetries` looks for matrices only; `fold_biases` finds these shifts.
# For ReLU networks the rank depends on the weights: a unit that is inactive on all inputs frees all weights that
# enter it.
# {cite:t}`grigsby2025` show that networks with the same function may have Jacobians of different rank.
#
# ## What can I do to my network?
#
# With `from intertwine.weightspace import canonicalise, find_symmetries, fold_biases, match, verify`,
# and a random element `g = space.sample(draw)` of the group; `freedom` is defined above.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you want to
#   - use
#   - beware
# * - know what may move
#   - `space = find_symmetries(net, x)`
#   - Without a rule an axis is frozen: `space.stays()` names the operation.
# * - know that the answer is right
#   - `verify(space, net, g, x)`
#   - In float32 rounding is 1e-6, not 1e-15: verify in float64.
# * - move a whole network
#   - `space.act(net, g)`
#   - The optimiser's moments do not move with it.
# * - move the units of one layer
#   - `space.act(net, {"relu2": A})`
#   - A matrix outside the group of that space raises a ValueError.
# * - know what is missing
#   - `freedom(net, x)` against `space.dimension`
#   - Too few inputs make the kernel too large; the Jacobian is dense, for small networks.
# * - take out the shifts of biases
#   - `fold_biases(space, net, x).model`
#   - They are not in `space.dimension`.
# * - compare two networks up to symmetry
#   - `match(space, one, two)`, in {doc}`1d <01d_orbits>`
#   - Equal or dead units leave spaces `undetermined`.
# * - store one network of each orbit
#   - `canonicalise(space, net).model`, in {doc}`1d <01d_orbits>`
#   - It needs weights of at least 32 bits.
# :::
#
# ## Adapt this
#
# You need your own module in evaluation mode and an example input.
# A network whose forward pass reads its own values to choose a branch cannot be traced, and raises an error.
# The block below has an operation without a rule.

# %%
import torch
from torch import nn
from torch.nn.functional import silu

from intertwine.weightspace import find_symmetries, verify


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(20, 8), nn.RMSNorm(8)
        self.gate, self.up, self.down = (nn.Linear(8, 8) for _ in "abc")
        self.past, self.head = nn.Linear(8, 6), nn.Linear(6, 20)

    def forward(self, tokens):
        x = self.words(tokens)
        y = self.norm(x)
        x = x + self.down(silu(self.gate(y)) * self.up(y))
        return self.head(torch.cumulative_trapezoid(self.past(x), dim=1))


draw = torch.manual_seed(0)
mine, tokens = Mine().double().eval(), torch.randint(20, (4, 7))
my_space = find_symmetries(mine, tokens)
element = my_space.sample(draw)
assert verify(my_space, mine, element, tokens).output < 1e-9
print(my_space.to_frame()[["name", "group", "why"]].to_string(index=False))

# %% [markdown]
# The last row names the operation without a rule.
# The trapezoidal rule over positions commutes with every matrix on units, so here the library misses a symmetry.
# {doc}`../api/models` lists the rules.

# %% tags=["hide-input"]
assert my_space.to_frame()["why"].iloc[-1].startswith("cumulative_trapezoid"), (
    "another operation without a rule is needed"
)

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-tied-autoencoder
# *Warm-up.*
# An autoencoder reads and writes with one matrix, $x \mapsto W^\top\sigma(Wx + b)$.
# What is left of the groups of ReLU and tanh?
# :::
#
# ::::{solution-start} ex-tied-autoencoder
# :class: dropdown
# ::::
# The rows of $W$ are multiplied by $a$ as writers and by $1/a$ as readers, so $a = a^{-1}$.
# Permutations stay, and for tanh signs.


# %%
class Tied(nn.Module):
    def __init__(self, sigma):
        super().__init__()
        self.encode, self.sigma = nn.Linear(5, 3), sigma

    def forward(self, x):
        return self.sigma(self.encode(x)) @ self.encode.weight


def of_tied(sigma):
    space = find_symmetries(Tied(sigma).eval(), torch.zeros(1, 5))
    return space.spaces[0].group


print(f"ReLU: {of_tied(torch.relu)}, tanh: {of_tied(torch.tanh)}")

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-equal-angles
# What is the group between queries and keys if all angles of {prf:ref}`thm-rotary` are equal,
# and no multiple of $\pi$?
# If $\theta_1 = \pi$ and the others are as in the theorem?
# :::
#
# ::::{solution} ex-equal-angles
# :class: dropdown
# With equal angles $R$ is one complex number times the identity of $\mathbb C^{d/2}$, and the matrices
# that commute with it are complex: $GL(d/2, \mathbb C)$, of dimension $d^2/2$.
# An angle $\pi$ turns a plane by $-1$, which commutes with every $2\times2$ matrix: $GL(2,\mathbb R)$ there,
# and $\mathbb C^*$ in the others.
# ::::
#
# :::{exercise}
# :label: ex-mean-of-stream
# *With data.*
# What is found is a group, not always all of it.
# Find a change of torchvision's vision transformer that the group found for it does not contain:
# what does a layer norm do to the mean of the residual stream?
# Check it.
# :::
#
# ::::{solution-start} ex-mean-of-stream
# :class: dropdown
# ::::
# It subtracts it.
# The stream is read through layer norms alone, so every vector that is written to it (a column of a weight,
# a bias, a position) may be changed by any multiple of $\mathbf 1$, for example to have mean 0.

# %% tags=["hide-input"]
from torchvision.models import VisionTransformer

device = devices.pick(device)
vit = VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)
vit = vit.double().eval().to(device)
for p in vit.parameters():
    p.data += 0.3 * torch.randn_like(p)  # its last layer starts with zeros
inputs = normal(2, 3, 32, 32).to(device)
spaces = find_symmetries(vit, inputs).spaces
stream = next(space for space in spaces if space.why == ["layer_norm"])
centred = copy.deepcopy(vit)
for name in stream.writers:
    x = centred.state_dict()[name]
    x -= x.mean(0 if len(x) == 32 else -1, keepdim=True)
assert relative_error(centred(inputs), vit(inputs)) < 1e-9

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-no-rule
# *Open.*
# Which operation of your own network has no rule?
# `space.stays()` says why parameters do not move.
# What does the operation allow, and how large does the group become with a rule for it?
# :::
#
# {doc}`/generated/status` has the data, code and run of this page.
