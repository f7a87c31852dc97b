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
# # 1c · The symmetries of any network
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups` and {doc}`01b_weight_space`: the group of an activation,
# and why a sum constrains layers.
#
# **You will learn** to find the symmetries of a network that somebody else wrote,
# which groups act inside a transformer, and what they are good for: rounding a network to few bits,
# merging two networks, telling whether two networks are one.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# So far we moved networks that we had built ourselves, layer by layer.
# Now take *any* network, with shortcuts, normalisations and attention.
# *Which changes of its weights leave its function alone, and what can one do with them?*
# One run of the network tells: every space of hidden values has a group; in a transformer these are rotations,
# all invertible matrices, scalings and permutations.
# {numref}`fig-rounding` shows one use.
# Each transformer is stored in few bits in three ways.
# All three compute one function before rounding; they differ by a rotation of the space in
# which the layers exchange values, the *residual stream*.

# %% tags=["hide-input"]
import copy
from dataclasses import replace
from functools import cache

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import gelu, silu

from intertwine import devices, weightspace
from intertwine.features import record
from intertwine.training import evaluate
from intertwine.weightspace import find_symmetries, match, relative_error, verify
from intertwine.weightspace.solve.draw import in_symbols
from intertwine_book import data, results, zoo
from intertwine_book.experiments.any_network import models, orbit, rounding
from intertwine_book.figures.curves import mean_curves
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
outlier: float = 10.0  # the value that one channel of a residual stream starts with
short_epochs: int = 6  # of the training of transformers and convolutional networks
transformers: int = 1  # trained with and without an outlier
pairs: int = 1  # of convolutional networks
bits: list[int] = [4, 8]  # that weights and values are rounded to
networks: list[str] = ["resnet18", "mobilenet_v3_small"]  # of torchvision
trials: int = 2  # elements drawn for each network
steps: int = 500  # of training with weight decay
decays: list[float] = [0.0, 0.02, 0.05]  # weight decay

# %% tags=["remove-input"] figure="fig-rounding"
story.rounding()

# %% [markdown]
# At 3 bits networks with an outlier have on average {glue:text}`right-before:.0f` % of the digits right
# as they were trained, and {glue:text}`right-after:.0f` % after the rotation;
# with 8 bits both have {glue:text}`right-exact:.0f` %.
#
# ## Seven spaces in a small transformer
#
# To use such moves one has to know them.
# Here is a transformer of one block.


# %%
class OneBlock(nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.norm1, self.norm2, self.norm = (nn.RMSNorm(n) for _ in "123")
        self.q, self.k, self.v, self.o = (nn.Linear(n, n) for _ in "qkvo")
        self.embed, self.head = nn.Linear(4, n), nn.Linear(n, 10)
        self.up, self.down = nn.Linear(n, 2 * n), nn.Linear(2 * n, n)

    def forward(self, x):
        x = self.embed(x)
        y = self.norm1(x)
        seen = (self.q(y) @ self.k(y).mT).softmax(-1) @ self.v(y)
        x = x + self.o(seen)
        x = x + self.down(gelu(self.up(self.norm2(x))))
        return self.head(self.norm(x))


# %% figure="fig-transformer"
torch.manual_seed(seed)
one_block, tokens = OneBlock().double().eval(), torch.randn(5, 6, 4).double()
block_space = find_symmetries(one_block, tokens)
block_space.draw()

# %%
draw = torch.Generator().manual_seed(seed)
block_report = verify(block_space, one_block, block_space.sample(draw), tokens)
assert block_report.output < 1e-9

# %% [markdown]
# *The library runs a network once, writes down every operation, and solves for what may move.*
# In {numref}`fig-transformer` it finds {glue:text}`block-spaces` spaces
# and a group of dimension {glue:text}`block-dimension`.
# A random element of it changes the hidden values by {glue:text}`block-changed:.0f` % of their size (the median
# over spaces), and the outputs by {glue:text}`block-error:.0e` of theirs: zero to rounding.
#
# (sec-rules)=
# ## What an operation asks for
#
# Every axis of every parameter starts as a space of its own.
# Axes that meet in an operation must move together, and only by what all their operations admit.
#
# :::{prf:definition}
# :label: def-hidden
# A *hidden space* is a set of axes, of parameters, buffers and values, that have to move together.
# Its *group* consists of the moves that every operation on these axes admits.
# :::
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - operation
#   - what it asks for
# * - linear map, convolution
#   - the weight's reading axis moves by the inverse, what it writes is free
# * - sum, maximum
#   - all terms move alike; a maximum admits permutations and positive scalings only
# * - product
#   - all factors are permuted alike, their scalars multiply
# * - activation σ
#   - an element of $G_\sigma$, which becomes $\varphi_\sigma(A)$ behind it
# * - batch norm
#   - permutations; one scalar in front, another one behind
# * - RMS norm, layer norm
#   - an orthogonal matrix; for a layer norm with $Q\mathbf 1 = \pm\mathbf 1$
# * - a bias or a norm, along an axis over which it is repeated, such as positions
#   - only the order is free
# * - attention
#   - heads are permuted; $GL(d)$ inside a head.
#     Heads that meet constants, such as ALiBi's slopes, are not permuted and keep their $GL(d)$
# * - reshape, concatenation, slice
#   - an axis may hold several spaces, side by side or as a product, such as heads × units
# * - anything else; what enters and leaves the network
#   - nothing moves: *frozen*
# :::
#
# An operation without a rule freezes the spaces that it touches, so the group that is found may be too small.
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
# So the library takes a residual stream for *one* space: everything that writes to it moves by the same matrix.
# In a network the terms of a sum depend on each other, so this rule is safe, but it may miss symmetries.
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
# A unit in front of batch norm therefore has two scalars: $a \in \mathbb R^*$,
# and whatever $c$ the activation behind admits.
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
# A residual stream that is read through RMS norms alone may be rotated by any element of $O(n)$,
# and with it the representation of a whole transformer.
# A gain γ without zeros changes nothing: a weight $W$
# that reads it becomes $W\,\mathrm{diag}(\gamma)\,Q^\top\mathrm{diag}(\gamma)^{-1}$.
# A layer norm subtracts the mean first, and the orthogonal $Q$ with $Q\mathbf 1 = \pm\mathbf 1$ commute
# with that.
#
# (sec-attention)=
# ## What attention leaves free
#
# *Heads are permuted, and each head has two general linear groups: one between queries and keys,
# and one between values and output.*
# A head reads the stream $x_p$ at positions $p$ and passes on $\sum_r a_{pr}\,W_oW_vx_r$,
# where $a_{pr}$ is the softmax over $r$ of $(W_qx_p)^\top(W_kx_r)/\sqrt d$.
#
# :::{prf:theorem} The groups of attention
# :label: prop-attention
# Let $M, N\in GL(d)$, one pair for each head.
# The weights $MW_q$, $M^{-\top}W_k$, $NW_v$ and $W_oN^{-1}$ give the same output.
# If $g$ heads read the same keys and values (*grouped queries*), their $M$ are equal, and so are their $N$.
# If queries and keys pass an RMS norm without gain, $M$ is orthogonal.
# :::
#
# :::{prf:proof}
# Scores are $(Mq)^\top M^{-\top}k = q^\top k$.
# The weights $a_{pr}$ are numbers and commute with $N$, which $W_oN^{-1}$ undoes.
# Shared keys $M^{-\top}k$ fix $M$ for all heads that read them, shared values $N$.
# By {prf:ref}`prop-rms-norm` a norm on queries and keys admits $M$ and $M^{-\top}$ only if they are orthogonal,
# and then they are equal.
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
# With planes read as complex numbers the theorem can be tested in a few lines:

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
assert torch.allclose(same, scores(q, k))

# %% [markdown]
# (sec-rounding)=
# ## What it is good for: fewer bits
#
# *All networks of an orbit compute one function, but rounding treats them differently.*
# To store a vector $y\in\mathbb R^n$ in $b$ bits, divide it by a step $s$, round to integers, and multiply again.
# The step $s = \lVert y\rVert_\infty/(2^{b-1}-1)$ carries the largest entry to the largest integer:
#
# $$\operatorname{round}_b(y) = s\,\lfloor y/s\rceil.$$ (eq-round)
#
# :::{prf:proposition} An outlier costs bits
# :label: prop-rounding
# In {eq}`eq-round` $|\operatorname{round}_b(y) - y| \le \frac{\sqrt n}2 s$.
# A rotation keeps $|y|$, while $\lVert y\rVert_\infty$ may lie anywhere from $|y|/\sqrt n$ to $|y|$.
# So among equal functions the bound varies by a factor of $\sqrt n$, that is by $\tfrac12\log_2 n$ bits.
# Let $H$ be orthogonal with entries $\pm1/\sqrt n$, and $D$ diagonal with random signs.
# Then $\lVert HDy\rVert_\infty \le |y|\sqrt{2\ln(4n)/n}$ with probability at least ½.
# :::
#
# :::{prf:proof}
# Each entry errs by at most $s/2$.
# An entry of $HDy$ is a sum of independent terms $\pm y_j/\sqrt n$.
# By Hoeffding's inequality it exceeds $t$ in size with probability at most $2e^{-nt^2/(2|y|^2)}$,
# which is $1/(2n)$ at the stated bound; there are $n$ entries.
# :::
#
# The streams of large language models have such outliers: a few channels far above the others.
# QuaRot rotates them away by $HD$ and then rounds weights and values to 4 bits {cite}`ashkboos2024quarot`;
# SliceGPT rotates to principal axes and deletes the last ones {cite}`ashkboos2024slicegpt`.
# The small transformers that we trained had none.
# So we train some on handwritten digits as 16 patches, with one channel of the stream that starts at 10.
# Each row of the weights has its own step $s$, and so has each token that a linear map reads;
# biases, positions and the products inside attention are not rounded.

# %% tags=["hide-input"]
device = devices.pick(device)
train, test = (data.load(dataset, part, device=device) for part in ("train", "test"))
run = results.run(globals(), "01c_any_network", data=train)
images, labels = test.images.double(), test.labels
short = replace(zoo.RECIPES["digits"], epochs=short_epochs)


# %%
@cache
def transformer(size, k):
    """The k-th trained transformer, one channel of whose stream starts with this value."""
    return models.transformer(size, train, short, seed + k).to(device)


net = transformer(outlier, 0)
space = find_symmetries(net, images[:1])


# %%
def rounded(x, bits):
    step = x.abs().amax(-1, keepdim=True) / (2 ** (bits - 1) - 1)
    return (x / step).round() * step


H = torch.ones(1, 1).double()
while len(H) < 32:
    H = torch.cat([torch.cat([H, H], 1), torch.cat([H, -H], 1)]) / 2**0.5
Q = (H * (2 * torch.randint(2, (32,), generator=draw) - 1)).to(images)

turned = space.act(net, {"block1.norm1": Q})
assert relative_error(turned(images), net(images)) < 1e-9
with torch.no_grad(), record(net, rounding.NORMS) as values:
    net(images)
y = torch.cat([values[name].flatten(0, 1) for name in rounding.NORMS])
assert torch.equal(rounded(y, 4), rounding.rounded(y, 4, -1))

# %% figure="fig-channels"
sizes = {"as trained": y, "rotated": y @ Q.T}
story.channels({way: x.abs().mean(0).tolist() for way, x in sizes.items()})


# %%
@run.table(trial=range(transformers), uses=["outlier", "short_epochs", "bits"])
def rotated(trial):
    pair = [transformer(size, trial) for size in (outlier, 0.0)]
    turn = weightspace.hadamard(32, run.generator(trial)).to(images)
    return rounding.rotated(pair, turn, train, test, bits)


# %% [markdown]
# {numref}`fig-channels` shows the stream, {numref}`fig-rounding` what rounding does to the whole network.
# With 4 bits {glue:text}`right-four-before:.0f` % of the digits are right as trained
# and {glue:text}`right-four-after:.0f` % rotated, both on average over the five recorded networks.
# One matrix multiplied into the weights does this, without any training.
#
# ### Equal channels
#
# *The scalings of ReLU do the same for convolutional networks whose weights are rounded with one step a layer.*
# Nagel and others scale every channel until the largest weight that writes it is as large as the largest
# that reads it {cite}`nagel2019`: with ranges $r_i$ before and $t_i$ behind,
#
# $$\begin{aligned}a_i &= \sqrt{t_i/r_i}\\ \Rightarrow\quad a_ir_i &= t_i/a_i = \sqrt{r_it_i}.\end{aligned}$$ (eq-equal)

# %%
convolutional = zoo.Spec("myrtle", train, short, {"width": 16, "in_channels": 1})
seeds = range(seed, seed + 2 * pairs)
trained = [each.network.eval() for each in zoo.get(convolutional, seeds, device=device)]
plain = models.folded(trained[0])
plain_space = find_symmetries(plain, images[:1])

# %%
writes = plain.conv1.weight.detach().abs().amax((1, 2, 3))
reads = plain.conv2.weight.detach().abs().amax((0, 2, 3))
even = plain_space.act(plain, {"conv1": (reads / writes).sqrt().diag()})

assert relative_error(even(images), plain(images)) < 1e-9
again = even.conv1.weight.abs().amax((1, 2, 3))
assert torch.allclose(again, even.conv2.weight.abs().amax((0, 2, 3)))

# %% [markdown]
# Batch norm has been folded into the convolutions first.
# The library's version goes through all layers until nothing changes.


# %%
each = [{"trial": k, "network": trained[k]} for k in range(pairs)]


@run.table(cases=each, uses=["short_epochs", "bits"])
def equalised(trial, network):
    return rounding.rescaled(network, run.generator(trial), test, bits)


# %% tags=["remove-input"] figure="fig-equal"
story.equalising()

# %% [markdown]
# At 4 bits ({numref}`fig-equal`) the logits err by {glue:text}`equal-trained:.0f` % as trained,
# {glue:text}`equal-scaled:.0f` % with channels scaled at random, and {glue:text}`equal-even:.0f` % equalised.
# Over the bit widths equalising lowers the mean error by {glue:text}`equal-least:.0f` to
# {glue:text}`equal-most:.0f` %; with four networks the intervals overlap.
#
# ## Two networks become one
#
# *Halfway between two trained networks lies a bad network.
# Halfway between one of them and a match in the orbit of the other lies a good one,
# once its batch-norm statistics are re-estimated.*
# `match` looks for the element of the whole group that brings the second network nearest to the first:
# it assigns units by weights or activations, space by space, as git re-basin does {cite}`ainsworth2023`,
# here with scalings and for every network that can be traced.
# Then average the weights:

# %%
both = [{"trial": k, "couple": trained[2 * k : 2 * k + 2]} for k in range(pairs)]


@run.table(cases=both, uses=["short_epochs"])
def merged(trial, couple):
    one, two = couple
    space = find_symmetries(one, test.images[:1])
    near = match(space, one, two, inputs=train.images[:300]).model
    return orbit.halfway(one, {"as trained": two, "matched": near}, train, test)


# %% [markdown]
# | accuracy halfway, % | statistics of batch norm averaged | re-estimated |
# |---|---|---|
# | as trained | {glue:text}`half-trained-interpolated:.0f` | {glue:text}`half-trained-estimated:.0f` |
# | matched by activations | {glue:text}`half-matched-interpolated:.0f` | {glue:text}`half-matched-estimated:.0f` |
#
# Recorded means over four pairs on handwritten digits; each network alone has {glue:text}`merge-end:.1f` %.
# {numref}`fig-connectivity` in {doc}`03_stitching` has the whole line on CIFAR-10,
# where the matched networks do not quite meet.
#
# (sec-verify)=
# ## Networks that this book does not contain
#
# `verify` moves a network and compares every intermediate value with what the element predicts:
# here in networks of torchvision, with random batch-norm statistics and gains.


# %%
verified = orbit.verified([*networks, "a vision transformer"], trials, draw, device)

# %% tags=["remove-input"]
story.networks(verified)

# %% [markdown]
# The outputs move by at most {glue:text}`verify-outputs:.0e` of their size,
# and every hidden value is what the element predicts, to {glue:text}`verify-values:.0e`.
#
# (sec-tie)=
# **One parameter left behind changes the function.**
# We move a trained ResNet-20, and put back *one* of the parameters and buffers that its first residual stream
# moves.
# In the recorded run {glue:text}`cut-changed` of {glue:text}`cut-all` change the outputs by more than 1 %,
# and the worst leaves {glue:text}`cut-worst:.0f` % of the digits right instead of {glue:text}`cut-none:.0f` %.

# %%
shape = {"width": width, "in_channels": 1, "option": "B"}
spec = zoo.Spec("resnet20", train, replace(zoo.RECIPES["digits"], epochs=epochs), shape)
network = zoo.get(spec, [seed], device=device)[0].network.double().eval()
res_space = find_symmetries(network, images[:1])
element = res_space.sample(draw)
cut = orbit.left_behind(res_space, network, element, images, labels)

# %% [markdown]
# (sec-decay)=
# ## What training does along an orbit
#
# *Without weight decay gradient flow keeps the imbalance that it began with;
# with weight decay it forgets it at a known rate.*
# Section 7 of {cite}`godfrey2022` names a limitation: its theory does not account for weight decay,
# which reduces the scaling symmetry.
# The effect can be computed.
# Let $e^{sX}$, with a diagonal $X$, be the scaling of one unit, and
#
# $$
# D(\theta) = \tfrac12\,\tfrac{d}{ds}\Big|_{s=0}\bigl|e^{sX}\theta\bigr|^2
# = \langle X\theta, \theta\rangle
# $$ (eq-imbalance)
#
# its *imbalance*.
# For a ReLU unit that is the sum of squares of the weights that enter it, bias included,
# minus that of the weights that leave it.
#
# :::{prf:theorem} Weight decay balances
# :label: thm-balance
# Let $L$ be locally Lipschitz, and constant along $s \mapsto e^{sX}\theta$ for every θ.
# On an absolutely continuous curve such that for almost every $t$ the loss $L$ is differentiable at $\theta(t)$
# and $\dot\theta = -\nabla L(\theta) - \lambda\theta$,
#
# $$D(\theta(t)) = e^{-2\lambda t}\,D(\theta(0)).$$ (eq-decay)
#
# The squared norm is convex in $s$ along each orbit; it is smallest exactly where $D = 0$.
# :::
#
# :::{prf:proof}
# $\dot D = 2\langle X\theta, \dot\theta\rangle = -2\langle X\theta, \nabla L\rangle - 2\lambda D$ for almost
# every $t$, and $\langle X\theta, \nabla L\rangle$ is the derivative of $L$ along the orbit, 0.
# The squared norm is a sum of terms $\theta_j^2e^{2sx_j}$.
# (A ReLU network is not differentiable everywhere; with Clarke subgradients the same holds,
# because they are convex combinations of limits of gradients, and these are perpendicular to $X\theta$.)
# :::
#
# Without decay the imbalance is *conserved* {cite}`du2018,kunin2021`.
# {numref}`fig-imbalance` compares {eq}`eq-decay` with gradient descent on a network whose units start out of
# balance.

# %%
x = train.images.flatten(1).double()
torch.manual_seed(seed)
a, b, c = nn.Linear(64, 16), nn.Linear(16, 16), nn.Linear(16, len(train.classes))
perceptron = nn.Sequential(a, nn.ReLU(), b, nn.ReLU(), c).double().eval().to(device)
flow_space = find_symmetries(perceptron, x[:1])
start = flow_space.act(perceptron, flow_space.sample(draw, scale=0.5))
decay = orbit.descent(flow_space, start, decays, steps, x, train.labels)

# %% tags=["remove-input"] figure="fig-imbalance"
story.imbalance()

# %% [markdown]
# The squared norm began at {glue:text}`excess-start:.2f` times the smallest one of its orbit.
# It ends at {glue:text}`excess-none:.2f` times without decay, because the weights grow
# and the imbalance does not, and at {glue:text}`excess-most:.2f` times with the strongest decay.
#
# In front of batch norm the imbalance of the weights $w$ of a unit is $|w|^2$.
# There every step of size η lengthens $w$, because the gradient is perpendicular to it (up to the ε of batch
# norm), and decay shortens it; their balance sets the effective learning rate $\eta/|w|^2$.
#
# (sec-normal-form)=
# ## Are two networks one?
#
# *`canonicalise` gives two networks of one orbit one normal form, if their weights are in general position.*
# It goes through the spaces: scalings make certain rows of weights unit vectors,
# signs make weighted sums of them positive, units are sorted by these sums.
# Orthogonal matrices make weights times a fixed matrix triangular; $GL(d)$ makes their rows orthonormal first.
# Where a row or a sum is 0, two sums are equal, or the rows that a matrix moves are dependent, that part stays
# as it is.
# The moved ResNet-20 and the original differ by {glue:text}`gap-raw:.1f` times the size of a parameter,
# their normal forms by {glue:text}`gap-normal:.0e`.
#
# What if one of the two has been trained further, or rounded?
# We add noise to every parameter, in units of its standard deviation, move the network,
# and ask `match` for the known element ({numref}`fig-noise`).
# A row of weights has so many entries that noise averages out;
# activations pass through a network that the noise has broken.


# %%
moved = res_space.act(network, element)
normal = [weightspace.canonicalise(res_space, net).model for net in (network, moved)]
gap, normal_gap = orbit.apart(network, moved), orbit.apart(*normal)
noise = orbit.through_noise(res_space, network, element, images[:100], draw)

# %% tags=["remove-input"] figure="fig-noise"
story.noise()

# %% [markdown]
# ## Adapt this
#
# You need your own module in evaluation mode and an example input.
# A network whose forward pass reads its own values to choose a branch cannot be traced, and raises an error.
# The block below has an operation without a rule.


# %%
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
        return self.head(self.past(x).cumsum(1))


# %%
words = torch.randint(20, (4, 7), generator=draw).to(device)
mine = models.randomised(Mine(), draw).to(device)
my_space = find_symmetries(mine, words)
assert verify(my_space, mine, my_space.sample(draw), words).output < 1e-9

# %% tags=["remove-input"]
table = my_space.to_frame()
story.spaces(table.assign(group=table["group"].map(in_symbols)))

# %% [markdown]
# The last row names the operation without a rule.
# Sums over positions commute with everything that acts on units, so this freeze is a gap in our rules
# and not in the mathematics.
# {doc}`../api/weightspace` has the rules that exist.

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
#   - what it may change
# * - QuaRot
#   - language models with outliers of their own; rotations inside attention and perceptrons, too;
#     weights by GPTQ
#   - a transformer of 17,600 weights with one constructed outlier; the residual stream alone;
#     nearest multiples
#   - the size of the gain
# * - equalisation
#   - MobileNets at 8 bits, with bias correction; activations rounded, too
#   - Myrtle CNNs (four convolutions in a row), weights alone
#   - the gain is smaller where channels are alike
# :::
#
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


of_tied = lambda f: find_symmetries(Tied(f).eval(), torch.zeros(1, 5)).spaces[0].group
assert of_tied(torch.relu) == "Σ_3"
assert of_tied(torch.tanh) == "Σ_3 ⋉ ({±1})^3"

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
# :label: ex-equal-best
# Let channel $i$ have ranges $r_i$ before and $t_i$ behind.
# Rounding with one step a layer gives it the precision $r_i/\max_jr_j$ before and $t_i/\max_jt_j$ behind.
# Show that {eq}`eq-equal` makes the sum over $i$ of the products of both as large as any scaling can.
# :::
#
# ::::{solution} ex-equal-best
# :class: dropdown
# A scaling keeps every product $r_it_i$, so the sum is $\sum_ir_it_i/(\max_jr'_j\,\max_jt'_j)$,
# and one minimises $\max_jr'_j\max_jt'_j \ge \max_jr_jt_j$ over the scaled ranges.
# With $r'_j = t'_j = \sqrt{r_jt_j}$ both sides are equal.
# ::::
#
# :::{exercise}
# :label: ex-slice
# *With data.*
# SliceGPT deletes channels of the stream.
# Set the last channels behind every RMS norm to 0, as trained and in principal axes,
# and draw the accuracy against the number of channels that stay.
# :::
#
# ::::{solution-start} ex-slice
# :class: dropdown
# ::::

# %% figure="fig-ex-slice"
even_net = transformer(0.0, 0)
even_space = find_symmetries(even_net, images[:1])
axes = rounding.principal_axes(even_net, train.images.double(), *rounding.NORMS, "norm")
turned = even_space.act(even_net, {"block1.norm1": axes})
rows = []
for way, model in {"as trained": even_net, "principal axes": turned}.items():
    for kept in (4, 8, 12, 16, 24, 32):
        right = evaluate(rounding.sliced(model, kept), images, labels)
        rows.append([way, kept, 100 * right])
sliced = pd.DataFrame(rows, columns=["way", "channels", "accuracy"])
label = {"xlabel": "channels that stay", "ylabel": "accuracy, %"}
mean_curves(sliced, "channels", "accuracy", "way", colours=story.NETWORK_COLOURS, **label)

# %% [markdown]
# {numref}`fig-ex-slice` shows both.
# Rounding wants the stream spread evenly, slicing wants it collected: two aims, two places of one orbit.
#
# ::::{solution-end}
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
vit = models.randomised(models.of_torchvision("a vision transformer"), draw).to(device)
inputs = torch.randn(2, 3, 32, 32, generator=draw, dtype=torch.float64).to(device)
streams = [s for s in find_symmetries(vit, inputs).spaces if s.why == ["layer_norm"]]
centred = copy.deepcopy(vit)
for name in streams[0].writers:
    x = centred.state_dict()[name]
    x -= x.mean(0 if len(x) == 32 else -1, keepdim=True)
assert relative_error(centred(inputs), vit(inputs)) < 1e-9

# %% [markdown]
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-best-rotation
# *Open.*
# $HD$ is one rotation of many.
# Which element of the *whole* group, with the $GL(d)$ of values and output and the permutations,
# makes rounding to 3 bits cheapest?
# Is it found by descent along the orbit, and does it depend on the data?
# :::
#
# ## Summary
#
# - A run of the network is enough to find what has to move together and by which group.
#   What is not understood does not move, and `verify` tests the rest.
# - Inside a transformer: $O(n)$ on a stream with RMS norms, two $GL(d)$ a head,
#   and only $(\mathbb C^*)^{d/2}$ between queries and keys with rotary positions.
# - Rounding is cheaper at some places of an orbit: a rotation wins {glue:text}`won-bits:.1f` bits
#   where one channel holds an outlier, and nothing where none does.
# - Without weight decay training keeps its imbalance; with it the imbalance falls by $e^{-2\lambda t}$.
# - `canonicalise` gives two networks of one orbit one normal form, if their weights are in general position.
#   On digits, two networks that were trained apart can be averaged after matching,
#   once batch norm is re-estimated.
#
# Back to {doc}`01b_weight_space`, on to {doc}`02_sanity_rotations`; {doc}`03_stitching` matches networks
# that were trained independently.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
run.write(verified=verified, cut=cut, decay=decay, noise=noise)
here = {
    "block-spaces": len(block_space.spaces),
    "block-dimension": block_space.dimension,
    "block-error": block_report.output,
    "block-changed": 100 * block_report.spaces["changed"].median(),
    "verify-outputs": verified["outputs"].max(),
    "verify-values": verified["not_as_predicted"].max(),
    "gap-raw": gap,
    "gap-normal": normal_gap,
}
tell(story.facts(), story.of_slices(sliced), here)
results.provenance(run.folder)
