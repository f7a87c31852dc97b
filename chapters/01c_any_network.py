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
# # 1c · Find the symmetries of your network
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups` and {doc}`01b_weight_space`: the group of an activation,
# and why a sum constrains layers.
#
# **You will learn** to find the symmetries of a network that somebody else wrote, first by hand and then by one run;
# which groups act inside a transformer; and whether these are all.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# You have loaded a network that somebody else wrote.
# *Which changes of its weights leave its function alone?*
# One run of the network finds them: {numref}`fig-explorer` shows them for public networks,
# and for a block that you assemble.
# *Which switches take the rotations of the residual stream away?*

# %% tags=["remove-input"] figure="fig-explorer"
from intertwine_book.live.explorer import explorer

explorer()

# %% [markdown]
# Two do: norms after the sums, because their gain writes the stream, and a last layer that is the embedding,
# because one weight then writes the stream and reads it behind a gain.
#
# Chapters 1 and 1b found the changes that come from the activations of a chain of layers.
# Now we ask which moves each operation allows.
# Moves that all operations allow are symmetries.
#
# (sec-by-hand)=
# ## By hand: two layers and a shortcut
#
# *A shortcut joins the units of two layers: only one element moves both.*
# {numref}`fig-trace` shows the network $x \mapsto W_3(h + \mathrm{ReLU}(W_2h))$ with $h = \mathrm{ReLU}(W_1x)$
# and four units in each layer.
# A weight has two axes, the units that it reads and the units that it writes.
# A matrix $A_a$ acts on the axis $a$, a matrix $A_b$ on the axis $b$.
# Go through the operations:

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import torch
from torch import nn
from torch.func import functional_call, jacrev
from torch.nn.functional import gelu

from intertwine import devices
from intertwine.weightspace import find_symmetries, relative_error, verify
from intertwine_book import data, results, zoo
from intertwine_book.experiments.any_network import models, moved
from intertwine_book.figures.orbits import traced_shortcut
from intertwine_book.figures.style import use_style
from intertwine_book.stories import any_network as story
from intertwine_book.stories import tell

use_style()

# %% tags=["parameters"]
from typing import Literal

dataset: Literal["digits"] = "digits"  # images of 8 × 8 pixels
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and group elements
width: int = 4  # channels of the residual network's first stage
epochs: int = 4  # of its training
networks: list[str] = ["resnet18", "mobilenet_v3_small"]  # of torchvision
trials: int = 2  # elements drawn for each network

# %% tags=["remove-input"] figure="fig-trace"
traced_shortcut()

# %% [markdown]
# | operation | axes | what is left |
# |---|---|---|
# | $W_1$ | reads the input, writes $a$ | any $A_a$ in $GL_4$; the input stays |
# | first ReLU | $a$ | $A_a$ permutes and scales by positive numbers |
# | $W_2$ | reads $a$, writes $b$ | any $A_b$; $W_2$ becomes $A_bW_2A_a^{-1}$ |
# | second ReLU | $b$ | $A_b$ permutes and scales by positive numbers |
# | sum | $a$ and $b$ | $A_b = A_a$ |
# | $W_3$ | reads $a$, writes the output | $W_3$ becomes $W_3A_a^{-1}$; the output stays |
#
# One group is left, the permutations of four units with positive scalings, of dimension 4.
# Without the shortcut $A_a$ and $A_b$ are independent, and the dimension is 8.
# In numbers, $A_a$ doubles the first unit and $A_b$ triples the second:


# %%
class WithShortcut(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        sizes = (3, n), (n, n), (n, 2)
        self.W1, self.W2, self.W3 = (nn.Linear(*s, bias=False) for s in sizes)

    def forward(self, x):
        h = self.W1(x).relu()
        return self.W3(h + self.W2(h).relu())


def move(net, A_a, A_b):
    new, inv = copy.deepcopy(net), torch.linalg.inv
    new.W1.weight.data = A_a @ net.W1.weight
    new.W2.weight.data = A_b @ net.W2.weight @ inv(A_a)
    new.W3.weight.data = net.W3.weight @ inv(A_a)
    return new


torch.manual_seed(seed)
small, x = WithShortcut().double().eval(), torch.randn(5, 3).double()
A_a, A_b = torch.tensor([[2.0, 1, 1, 1], [1, 3, 1, 1]]).double().diag_embed()
pair = [move(small, A_a, other) for other in (A_b, A_a)]
changes = [relative_error(net(x), small(x)) for net in pair]
print(*[f"{change:.0%}" for change in changes])
table = find_symmetries(small, x).to_frame()
print(table[["group", "writers", "readers"]].to_string(index=False))

# %% [markdown]
# Independent $A_a$ and $A_b$ change the outputs by {glue:text}`apart:.0f` %, $A_b = A_a$ by nothing but rounding.
# The library goes through the same table: it runs the network once, writes down every operation,
# and solves for what may move.
#
# :::{prf:definition}
# :label: def-hidden
# A *hidden space* is a set of axes (of weights, buffers and activations) that one matrix moves: each axis by
# this matrix, or by what follows from it, such as its inverse transpose or its image behind an activation.
# Its *group* consists of the matrices that every operation on these axes allows.
# An *element* is a choice of one matrix for each hidden space.
# :::
#
# Here $a$ and $b$ are one hidden space.
#
# ## Seven spaces in a small transformer
#
# *One run finds rotations, invertible matrices, scalings and permutations in a transformer of one block.*


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
one_block, tokens = OneBlock().double().eval(), torch.randn(5, 6, 8).double()
block_space = find_symmetries(one_block, tokens)
print(block_space.to_frame()[["name", "group", "dimension"]])

draw = torch.Generator().manual_seed(seed)
element = block_space.sample(draw)
block_report = verify(block_space, one_block, element, tokens)
print(f"dimension {block_space.dimension}")
print(f"outputs differ by {block_report.output:.0e}")

# %% [markdown]
# The table has {glue:text}`block-spaces` spaces, with a group of dimension {glue:text}`block-dimension`;
# `block_space.draw()` draws the run in their colours, and `explore(one_block, tokens)` of
# `intertwine_book.live.explorer` lights them up as in {numref}`fig-explorer`.
# A random element changes the hidden values by {glue:text}`block-changed:.0f` % of their size (the median
# over spaces), and the outputs by {glue:text}`block-error:.0e` of theirs: zero to rounding.
#
# (sec-rules)=
# ## What each operation allows
#
# At first any matrix may act on every axis, except on input and output.
# Each operation adds a constraint.
# What survives all constraints is the group.
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
#   - all terms move alike, by permutations and positive scalings
# * - product
#   - all factors are permuted alike; the product is scaled by the product of their scalars
# * - activation σ
#   - $A$ in $G_\sigma$ before it, $\varphi_\sigma(A)$ after it
# * - batch norm
#   - permutations; one scalar for each unit before it, and another one after it;
#     any matrix, if only linear maps follow and the statistics stay
# * - RMS norm
#   - an orthogonal matrix
# * - layer norm
#   - an orthogonal matrix $Q$ with $Q\mathbf 1 = \pm\mathbf 1$
# * - attention
#   - permutations of heads, unless a head has constants of its own, such as a slope; $GL_d$ inside each head
# * - a bias that repeats along an axis
#   - permutations of that axis
# * - reshape, concatenation, slice
#   - anything: an axis holds several spaces, side by side or as a product, such as heads × units
# * - input, output, an operation without a rule
#   - nothing: the axis is *frozen*
# :::
#
# Because operations without a rule freeze what they touch, the group that is found may be too small.
# It should never be too large, and `verify` tests that on your network.
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
# The rule is then still safe, but it may miss symmetries.
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
# Any element of $O(n)$ may act on a residual stream that linear maps write,
# and that only RMS norms and linear maps read, if no weight does both.
# A gain γ without zeros stays as it is: a weight $W$ that reads it becomes
# $W\,\mathrm{diag}(\gamma)\,Q^\top\mathrm{diag}(\gamma)^{-1}$.
# A layer norm subtracts the mean first, and the orthogonal $Q$ with $Q\mathbf 1 = \pm\mathbf 1$ commute
# with that.
#
# (sec-attention)=
# ## What attention leaves free
#
# *Heads are permuted, and each head has two general linear groups: one between queries and keys,
# and one between values and output.*
# A head reads the stream $x_p$ at positions $p$ and passes on $\sum_r a_{pr}\,W_oW_vx_r$.
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
# Put $tx$ for $x$: $\sum_j s(ta_j)\,E_ju = 0$ for all real $t$, and so for complex $t$.
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
# (sec-verify)=
# ## Is the answer right?
#
# *`verify` moves a network by a random element and compares every hidden value with what the element predicts.*
# Here it does so for networks of torchvision, with random batch-norm statistics and gains.
# The vision transformer is torchvision's class with two layers of width 32, for images of 32 × 32 pixels.

# %%
device = devices.pick(device)
listed = [*networks, "a vision transformer"]
verified = moved.verified(listed, trials, draw, device)

# %% tags=["remove-input"]
story.networks(verified)

# %% [markdown]
# The outputs move by at most {glue:text}`verify-outputs:.0e` of their size,
# and every hidden value is what the element predicts, to {glue:text}`verify-values:.0e`.
#
# (sec-tie)=
# **One parameter left behind changes the function.**
# We move a ResNet-20 of width 4, trained on handwritten digits, and put back *one* of the parameters and buffers
# that its first residual stream moves.
# In the recorded run each of {glue:text}`cut-all` parameters and buffers changes the outputs by more than 1 %.
# The accuracy falls from {glue:text}`cut-none:.0f` to {glue:text}`cut-worst:.0f` % in the worst case,
# and by at most one point for {glue:text}`cut-mild` of them.

# %%
parts = ("train", "test")
train, test = (data.load(dataset, part, device=device) for part in parts)
run = results.run(globals(), "01c_any_network", data=train)
images, labels = test.images.double(), test.labels
shape = {"width": width, "in_channels": 1, "option": "B"}
recipe = replace(zoo.RECIPES["digits"], epochs=epochs)
spec = zoo.Spec("resnet20", train, recipe, shape)
network = zoo.get(spec, [seed], device=device)[0].network.double().eval()
res_space = find_symmetries(network, images[:1])
element = res_space.sample(draw)
cut = moved.left_behind(res_space, network, element, images, labels)

# %% [markdown]
# (sec-public)=
# ## The groups of public architectures
#
# *Most of a transformer's group lies inside its heads and, in ViT, on its stream.
# Convolutional networks have only scalings; MobileNet is the exception.*
# Choose the networks in {numref}`fig-explorer` and compare the lengths of the bars.
#
# In GPT-2 {glue:text}`gpt-heads:.1f` % of the group lies inside the heads.
# The streams of GPT-2 and SmolLM cannot be rotated: the embedding is also the last layer, and the gain of a norm
# stands between the two.
# BERT's stream does not move at all: a norm with a gain writes it after each sum, and its last value is the output.
# The stream of ViT can be rotated: linear maps write it, and only layer norms read it.
# MobileNet's blocks end with batch norm and no activation, which in evaluation mode is a linear map.
# So $GL_n$ acts between the blocks, but not once the statistics are estimated anew.
# The dimension of the group is {glue:text}`share-low:.2f` to {glue:text}`share-high:.1f` % of the number of parameters.
#
# (sec-functional)=
# ## Is that all?
#
# *The rank of a Jacobian bounds every continuous symmetry, also those that nobody looked for.*
# Let $J$ be the Jacobian of the outputs, on many inputs, with respect to the $P$ parameters.
# Its rank is the *functional dimension* of the network at these weights {cite}`grigsby2025`.
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


many = torch.randn(20, 6, 8, generator=draw, dtype=torch.float64)
kernel = freedom(one_block, many)
print(f"kernel {kernel}, group {block_space.dimension}")

# %% [markdown]
# The kernel has {glue:text}`kernel` dimensions and the group {glue:text}`block-dimension`.
# The other {glue:text}`kernel-more` are shifts of biases; no matrix on the units gives them.
# A bias of the keys adds one number to all scores of a query, and the softmax ignores it.
# A bias of the values reaches every output unchanged, because the $a_{pr}$ sum to 1, so the next bias can take it up:

# %%
shifted = copy.deepcopy(one_block)
key_shift, value_shift = torch.randn(2, 8, generator=draw).double()
shifted.k.bias.data += key_shift
shifted.v.bias.data += value_shift
shifted.o.bias.data -= one_block.o.weight @ value_shift
apart = relative_error(shifted(many), one_block(many))
print(f"outputs differ by {apart:.0e}")

# %% [markdown]
# The kernel is as large as group and shifts together, so near these weights there is nothing else.
# `find_symmetries` looks for matrices only; `fold_biases` finds these shifts.
# For ReLU networks the rank depends on the weights: a unit that is inactive on all inputs frees all weights that
# enter it.
# {cite:t}`grigsby2025` show that networks with the same function may have Jacobians of different rank.
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
        return self.head(self.past(x).diff(dim=1))


draw = torch.manual_seed(0)
mine, tokens = Mine().double().eval(), torch.randint(20, (4, 7))
my_space = find_symmetries(mine, tokens)
element = my_space.sample(draw)
assert verify(my_space, mine, element, tokens).output < 1e-9
my_space.to_frame()[["name", "group", "why"]]

# %% [markdown]
# The last row names the operation without a rule.
# Taking differences of positions commutes with every matrix on units, so here the library misses a symmetry.
# {doc}`../api/models` lists the rules.

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
# Find a change of the vision transformer above that the group found for it does not contain:
# what does a layer norm do to the mean of the stream?
# Check it.
# :::
#
# ::::{solution-start} ex-mean-of-stream
# :class: dropdown
# ::::
# It subtracts it.
# The stream is read through layer norms alone, so every vector that is written to it (a column of a weight,
# a bias, a position) may be changed by any multiple of $\mathbf 1$, for example to have mean 0.

# %%
vit = models.of_torchvision("a vision transformer")
vit = models.randomised(vit, draw).to(device)
inputs = torch.randn(2, 3, 32, 32, generator=draw).double().to(device)
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
# ## Summary
#
# - Every operation allows some moves of the axes that meet in it.
#   The moves that all allow are symmetries, and one run of the network is enough to find them.
# - What is not understood does not move, and `verify` tests the rest.
# - The rank of a Jacobian says how much may be missing: in a small transformer the shifts of two biases.
# - Inside a transformer: $O(n)$ on a stream that linear maps write and RMS norms read, unless the embedding is also
#   the last layer; two $GL_d$ a head; with rotary positions only $(\mathbb C^*)^{d/2}$ between queries and keys.
#
# Two ways on: {doc}`01d_orbits` puts these groups to use;
# {doc}`02_sanity_rotations` needs {doc}`01_intertwiner_groups` only.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
run.write(verified=verified, cut=cut)
here = {
    "apart": 100 * changes[0],
    "block-spaces": len(block_space.spaces),
    "block-dimension": block_space.dimension,
    "block-error": block_report.output,
    "block-changed": 100 * block_report.spaces["changed"].median(),
    "kernel": kernel,
    "kernel-more": kernel - block_space.dimension,
    "verify-outputs": verified["outputs"].max(),
    "verify-values": verified["not_as_predicted"].max(),
}
tell(story.facts(), here)
results.provenance(run.folder)
