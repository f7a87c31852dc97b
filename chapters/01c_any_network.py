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
import math
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import pandas as pd
import torch
from myst_nb import glue
from torch import nn
from torch.nn.functional import cross_entropy, gelu, silu

from intertwine import data, devices, weightspace
from intertwine.features import record as recorded_values
from intertwine.stitching import line
from intertwine.training import RECIPES, Spec, evaluate, train_many, zoo
from intertwine.weightspace import find_symmetries, match, relative_error, verify
from intertwine.weightspace.draw import in_symbols
from intertwine_book import results
from intertwine_book.experiments import quantisation as rounding
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.orbits import imbalance_decay
from intertwine_book.figures.readable import readable
from intertwine_book.figures.style import COLOURS, use_style

use_style()
record = partial(results.on_record, "01c_any_network")

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
told = record("rotated")
told["network"] = told["outlier"].map({True: "one outlier", False: "no outlier"})
of = {"as trained": COLOURS["red"], "rotated": COLOURS["blue"]}
of |= {"principal axes": COLOURS["orange"]}
style = {"ylabel": "error of the logits, %", "colours": of, "log": True}
mean_curves(told, "bits", "error", "way", panels="network", **style)

# %% tags=["remove-cell"]
told = record("rotated")
mean = told.pivot_table(index=["outlier", "bits"], columns="way", values="error")
right = told.pivot_table(index=["outlier", "bits"], columns="way", values="accuracy")
paired = told.pivot(index=["outlier", "bits", "trial"], columns="way", values="error")
won = (paired["as trained"] / paired["rotated"]).loc[(True, 4)]
assert (won > 1.2).all()
without = (paired["as trained"] / paired["rotated"]).loc[(False, 4)]
low, high = results.interval(without)
assert low < 1.05
assert (mean["principal axes"] > mean["rotated"]).all()
axes_win = mean["principal axes"] < mean["as trained"]
assert axes_win[axes_win].index.tolist() == [(True, 3)]
factor = (mean["as trained"] / mean["rotated"]).loc[True].mean()
assert 1.4 < factor < 2
glue("won", float(factor), display=False)
glue("won-bits", math.log2(factor), display=False)
glue("right-before", float(right.loc[(True, 3), "as trained"]), display=False)
glue("right-after", float(right.loc[(True, 3), "rotated"]), display=False)
exact = right.loc[(True, 8)].mean()
glue("right-exact", float(exact), display=False)
glue("right-four-before", float(right.loc[(True, 4), "as trained"]), display=False)
glue("right-four-after", float(right.loc[(True, 4), "rotated"]), display=False)

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


# %% tags=["remove-input"] figure="fig-transformer"
torch.manual_seed(seed)
one_block, tokens = OneBlock().double().eval(), torch.randn(5, 6, 4).double()
block_space = find_symmetries(one_block, tokens)
block_space.draw()

# %% tags=["remove-cell"]
draw = torch.Generator().manual_seed(seed)
report = verify(block_space, one_block, block_space.sample(draw), tokens)
assert report.output < 1e-9 and block_space.dimension == 180
assert [each.group for each in block_space.spaces if each.dimension > 20] == [
    "O(8)",
    "GL(8)",
    "GL(8)",
]
glue("block-dimension", block_space.dimension, display=False)
glue("block-spaces", len(block_space.spaces), display=False)
glue("block-error", float(report.output), display=False)
glue("block-changed", 100 * float(report.spaces["changed"].median()), display=False)

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
short = replace(RECIPES["digits"], epochs=short_epochs)
quick = replace(short, lr=1e-2, dtype="float32")


def with_outlier(size):
    """How to make a transformer whose first channel starts with this value at every position."""

    def make(seed):
        torch.manual_seed(seed)
        model = rounding.PatchTransformer()
        model.positions.data[:, 0] += size
        return model

    return make


@cache
def transformer(size, k):
    """The k-th trained transformer, in float64."""
    spec = Spec(with_outlier(size), train, quick)
    # on the CPU always: rounding to few bits makes jumps of the last digits of a training
    trained = train_many(spec, [seed + k], device="cpu")[0].network
    return trained.double().eval().to(device)


net = transformer(outlier, 0)
space = find_symmetries(net, images[:1])
names = [f"block{b}.norm{k}" for b in (1, 2) for k in (1, 2)]


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
with torch.no_grad(), recorded_values(net, names) as values:
    net(images)
y = torch.cat([values[name].flatten(0, 1) for name in names])
assert torch.equal(rounded(y, 4), rounding.rounded(y, 4, -1))

# %% tags=["remove-input"] figure="fig-channels"
sizes = {"as trained": y, "rotated": y @ Q.T}
channels = pd.DataFrame(
    {"channel": k, "size": value, "stream": name}
    for name, x in sizes.items()
    for k, value in enumerate(x.abs().mean(0).tolist())
)
mean_curves(channels, "channel", "size", "stream", ylabel="mean |y|", colours=of)


# %% tags=["hide-input"]
@run.table(trial=range(transformers), uses=["outlier", "short_epochs", "bits"])
def rotated(trial):
    """Rounding errors of a transformer with and without an outlier, before and after a rotation."""
    found = []
    for size in (outlier, 0.0):
        model = transformer(size, trial)
        space = find_symmetries(model, images[:1])
        turn = rounding.hadamard(32, run.generator(trial)).to(images)
        axes = rounding.principal_axes(model, train.images.double(), *names)
        moves = {"rotated": turn, "principal axes": axes}
        ways = {"as trained": model}
        ways |= {k: space.act(model, {"block1.norm1": A}) for k, A in moves.items()}
        rows = rounding.errors(ways, images, labels, bits)
        found += [{"outlier": size > 0} | row for row in rows]
    return found


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

# %% tags=["hide-input"]
convolutional = Spec("myrtle", train, short, {"width": 16, "in_channels": 1})
trained = zoo.get(convolutional, list(range(seed, seed + 2 * pairs)), device=device)
trained = [each.network.eval() for each in trained]
layers = ["conv1", "conv2", "conv3", "conv4", "fc"]
plain = rounding.folded(copy.deepcopy(trained[0]).double()).double()
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


# %% tags=["hide-input"]
@run.table(
    cases=[{"trial": k, "network": trained[k]} for k in range(pairs)],
    uses=["short_epochs", "bits"],
)
def equalised(trial, network):
    """Rounding errors of one function at three places of its orbit."""
    model = rounding.folded(copy.deepcopy(network).double()).double()
    space, generator = find_symmetries(model, images[:1]), run.generator(trial)
    spread = space.act(model, space.sample(generator, scale=1.0))
    ways = {"as trained": model, "scaled at random": spread}
    ways["equalised"] = rounding.equalised(space, spread, layers)
    options = {"inputs": False, "by_row": False}
    return rounding.errors(ways, images, labels, bits, **options)


@run.table(
    cases=[{"trial": k, "couple": trained[2 * k : 2 * k + 2]} for k in range(pairs)],
    uses=["short_epochs"],
)
def merged(trial, couple):
    """Accuracy halfway between two networks, as they are and matched by a symmetry."""
    one, two = couple
    space = find_symmetries(one, test.images[:1])
    near = match(space, one, two, inputs=train.images[:300]).model
    found = []
    for way, other in {"as trained": two, "matched": near}.items():
        walk = line(one, other, train, test, [0.0, 0.5]).assign(way=way)
        found += walk.to_dict("records")
    return found


# %% tags=["remove-input"] figure="fig-equal"
told = record("equalised")
of = {"as trained": COLOURS["red"], "scaled at random": COLOURS["grey"]}
of |= {"equalised": COLOURS["blue"]}
mean_curves(told, "bits", "error", "way", **{**style, "colours": of})

# %% tags=["remove-cell"]
told = record("equalised").pivot(index=["bits", "trial"], columns="way", values="error")
assert (told["scaled at random"] > told["equalised"]).loc[4:].all()
by_bits = told.groupby("bits").mean()
less = 100 * (1 - by_bits["equalised"] / by_bits["as trained"])
assert (less > 0).all()
glue("equal-least", float(less.min()), display=False)
glue("equal-most", float(less.max()), display=False)
for _, rows in told.groupby("bits"):  # the intervals overlap
    low, high = (
        results.interval(rows[w])[k] for w, k in (("as trained", 0), ("equalised", 1))
    )
    assert low < high
glue("equal-trained", float(by_bits.loc[4, "as trained"]), display=False)
glue("equal-scaled", float(by_bits.loc[4, "scaled at random"]), display=False)
glue("equal-even", float(by_bits.loc[4, "equalised"]), display=False)
half = record("merged").query("fraction == 0.5")
half = 100 * half.pivot_table(index="way", columns="batch_norm", values="accuracy")
ends = (
    100 * record("merged").query("fraction == 0").groupby("batch_norm")["accuracy"].mean()
)
for way in ("as trained", "matched"):
    for norm in ("interpolated", "re-estimated"):
        name = f"half-{way.split()[-1]}-{norm.split('-')[-1]}"
        glue(name, float(half.loc[way, norm]), display=False)
glue("merge-end", float(ends["re-estimated"]), display=False)
assert (half.loc["matched"] > half.loc["as trained"] + 20).all()
assert half.loc["matched", "re-estimated"] > ends["re-estimated"] - 3
assert half.loc["matched", "interpolated"] < ends["interpolated"] - 20

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
#
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


# %% tags=["hide-input"]
def randomised(model):
    """In float64, with gains, shifts and statistics as no initialisation would leave them."""
    model = model.double().eval()
    with torch.no_grad():
        for name, x in model.state_dict().items():
            if x.ndim == 1 and x.is_floating_point():
                low = 0.0 if name.endswith(("bias", "running_mean")) else 1.0
                x.copy_(low + torch.rand(x.shape, generator=draw) - 0.5)
            elif not x.any():  # a last layer that starts with zeros
                x.copy_(torch.randn(x.shape, generator=draw))
    return model.to(device)


def theirs(name):
    from torchvision import models

    small_vit = partial(models.VisionTransformer, 32, 8, 2, 4, 32, 64, num_classes=10)
    return small_vit() if "vision" in name else getattr(models, name)(weights=None)


rows = []
for name in [*networks, "a vision transformer"]:
    model = randomised(theirs(name))
    inputs = torch.randn(2, 3, 32, 32, generator=draw, dtype=torch.float64).to(device)
    found = find_symmetries(model, inputs)
    of_it = {"spaces": len(found.spaces), "dimension": found.dimension}
    for trial in range(trials):
        report = verify(found, model, found.sample(draw), inputs)
        facts = {"network": name, "trial": trial, "outputs": report.output} | of_it
        facts["representations"] = 100 * report.spaces["changed"].median()
        rows.append(facts | {"not_as_predicted": report.spaces["error"].max()})
verified = pd.DataFrame(rows)

# %% tags=["remove-input"]
assert verified[["outputs", "not_as_predicted"]].max(axis=None) < 1e-9
glue("verify-outputs", float(verified["outputs"].max()), display=False)
glue("verify-values", float(verified["not_as_predicted"].max()), display=False)
by_name = verified.groupby("network", sort=False).max().reset_index()
headings = {"network": "network", "spaces": "hidden spaces"}
headings |= {"dimension": "dimension of the group"}
headings |= {"representations": "hidden values change by, %"}
shown = readable(by_name, headings, digits=0, title="Networks that verify moved")
shown

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

# %% tags=["hide-input"]
recipe = replace(RECIPES["digits"], epochs=epochs)
shape = {"width": width, "in_channels": 1, "option": "B"}
(one,) = zoo.get(Spec("resnet20", train, recipe, shape), [seed], device=device)
network = one.network.double().eval()
some = images[:100]
res_space = find_symmetries(network, some[:1])
element = res_space.sample(draw)
moved = res_space.act(network, element)
stream = max(res_space.spaces, key=lambda each: each.logs)
with torch.no_grad():
    expected = network(some)
rows = [{"left_behind": "nothing", "change": 0.0}]
for name in [*stream.writers, *stream.readers]:
    broken = copy.deepcopy(moved)
    broken.state_dict()[name].copy_(network.state_dict()[name])
    with torch.no_grad():
        change = relative_error(broken(some), expected)
    rows.append({"left_behind": name, "change": change})
    rows[-1]["accuracy"] = 100 * evaluate(broken, images, labels)
rows[0]["accuracy"] = 100 * evaluate(network, images, labels)
cut = pd.DataFrame(rows)

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

# %% tags=["hide-input"]
x, sizes = train.images.flatten(1).double(), [64, 16, 16, len(train.classes)]
torch.manual_seed(seed)
linear = [nn.Linear(a, b) for a, b in pairwise(sizes)]
perceptron = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
perceptron = perceptron.double().eval().to(device)
flow_space = find_symmetries(perceptron, x[:1])
start = flow_space.act(perceptron, flow_space.sample(draw, scale=0.5))


def state_of(model):
    """Size of the imbalance, and the squared norm relative to the smallest one of the orbit."""
    squares = lambda m: sum(p.detach().square().sum().item() for p in m.parameters())
    D = torch.cat(
        [d.flatten() for d in weightspace.imbalance(flow_space, model).values()]
    )
    shortest = weightspace.balance(flow_space, model).model
    return D.norm().item(), squares(model) / squares(shortest)


rows, lr = [], 0.02
for decay in decays:
    model = copy.deepcopy(start)
    optimiser = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=decay)
    for step in range(steps + 1):
        if step % max(1, steps // 10) == 0:
            size, excess = state_of(model)
            rows.append([decay, lr * step, size, excess])
        optimiser.zero_grad()
        cross_entropy(model(x), train.labels).backward()
        optimiser.step()

# %% tags=["remove-input"] figure="fig-imbalance"
columns = ["weight_decay", "time", "imbalance", "excess"]
decay_path = pd.DataFrame(rows, columns=columns)
decay_path["imbalance"] /= decay_path["imbalance"][0]
exponent = -2 * decay_path["weight_decay"] * decay_path["time"]
decay_path["predicted"] = exponent.map(math.exp)
imbalance_decay(record("decay"))

# %% tags=["remove-cell"]
told = record("decay")
off = 100 * (told["imbalance"] / told["predicted"] - 1).abs().max()
assert off < 5
glue("flow-error", float(off), display=False)
excess = told.groupby("weight_decay")["excess"].last()
glue("excess-start", float(told["excess"].iloc[0]), display=False)
glue("excess-none", float(excess.iloc[0]), display=False)
glue("excess-most", float(excess.iloc[-1]), display=False)
assert excess.iloc[-1] < excess.iloc[0]
told = record("cut")
glue("cut-none", float(told["accuracy"].iloc[0]), display=False)
told = told.iloc[1:]
glue("cut-all", len(told), display=False)
glue("cut-changed", int((told["change"] > 0.01).sum()), display=False)
glue("cut-worst", float(told["accuracy"].min()), display=False)
assert (told["change"] > 0.01).sum() > 0.6 * len(told)

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


# %% tags=["hide-input"]
def gap(model1, model2):
    """The largest relative difference of a parameter."""
    both = zip(model1.parameters(), model2.parameters(), strict=True)
    return max(relative_error(p.detach(), q.detach()) for p, q in both)


normal = [weightspace.canonicalise(res_space, model).model for model in (network, moved)]
glue("gap-raw", gap(network, moved), display=False)
glue("gap-normal", gap(*normal), display=False)
known, rows = res_space.inverse(element), []
for noise in (0.0, 0.1, 0.3, 1.0, 3.0):
    noisy = copy.deepcopy(network)
    with torch.no_grad():
        for p in noisy.parameters():
            z = torch.randn(p.shape, generator=draw, dtype=p.dtype).to(device)
            p += noise * p.std(correction=0) * z
    noisy = res_space.act(noisy, element)
    for by, inputs in {"weights": None, "activations": some}.items():
        found = match(res_space, network, noisy, inputs=inputs).element
        hits = [(found[k].order == move.order).flatten() for k, move in known.items()]
        share = 100 * torch.cat(hits).double().mean().item()
        rows.append({"noise": noise, "by": by, "units": share})
noise_table = pd.DataFrame(rows)

# %% tags=["remove-input"] figure="fig-noise"
told = record("noise").astype({"noise": str})
by_weights = told.query("by == 'weights'")["units"]
assert by_weights.min() > 90
glue("noise-found", float(by_weights.iloc[-1]), display=False)
assert told.query("by == 'activations'")["units"].iloc[-2] < 60
chance = 100 * len(res_space.spaces) / sum(each.size for each in res_space.spaces)
axes = {"xlabel": "noise, standard deviations", "level": chance}
axes["ylabel"] = "units assigned correctly, %"
mean_curves(told, "noise", "units", "by", **axes)

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
mine = randomised(Mine())
my_space = find_symmetries(mine, words)
assert verify(my_space, mine, my_space.sample(draw), words).output < 1e-9

# %% tags=["remove-input"]
headings = {"width": "width", "group": "group", "writers": "written by"}
headings |= {"why": "decided by"}
table = my_space.to_frame()
table["group"] = table["group"].map(in_symbols)
shown = readable(table, headings, title="The spaces of this module")
shown

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


# %% tags=["hide-input"]
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

# %% tags=["hide-input"] figure="fig-ex-slice"
even_net = transformer(0.0, 0)
even_space = find_symmetries(even_net, images[:1])
axes = rounding.principal_axes(even_net, train.images.double(), *names, "norm")
turned = even_space.act(even_net, {"block1.norm1": axes})
rows = []
for way, model in {"as trained": even_net, "principal axes": turned}.items():
    for kept in (4, 8, 12, 16, 24, 32):
        sliced = copy.deepcopy(model)
        mask = (torch.arange(32) < kept).to(images)
        for name in [*names, "norm"]:
            norm = sliced.get_submodule(name)
            norm.register_forward_hook(lambda _, x, y, mask=mask: y * mask)
        right = 100 * evaluate(sliced, images, labels)
        rows.append({"channels": kept, "way": way, "accuracy": right})
        glue(f"slice-{way.split()[-1]}-{kept}", float(right), display=False)
of = {"as trained": COLOURS["red"], "principal axes": COLOURS["orange"]}
label = {"xlabel": "channels that stay", "ylabel": "accuracy, %"}
mean_curves(pd.DataFrame(rows), "channels", "accuracy", "way", **label, colours=of)

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

# %% tags=["hide-input"]
vit = randomised(theirs("a vision transformer"))
inputs = torch.randn(2, 3, 32, 32, generator=draw, dtype=torch.float64).to(device)
streams = [s for s in find_symmetries(vit, inputs).spaces if s.kind == "mean"]
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
run.write(verified=verified, cut=cut, decay=decay_path, noise=noise_table)
results.provenance(run.folder)
