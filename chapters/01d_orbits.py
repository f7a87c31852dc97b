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
# # 1d · What an orbit is good for
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01c_any_network`: hidden spaces and their groups; in {ref}`sec-teleport` also {eq}`eq-gradient`.
#
# **You will learn** to choose among the weights that compute one function.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/01d_orbits>`.
# :::
#
# ## The question
#
# You want to store a network in few bits, to merge it with another one, or to know whether somebody else's network
# is a copy of yours.
# All weights of an orbit compute one function, but they are not equally good for this.
# *Which point of the orbit should you take?*
#
# **It depends on the use: to round, take a point where no channel stands out; to average, one where units respond most
# like those of the other network; to compare, a normal form.**
# {numref}`fig-bits` shows the first.

# %% tags=["hide-input"]
import copy
from dataclasses import replace

import torch
from torch import nn

from intertwine import devices
from intertwine.features import record
from intertwine.stitching import between
from intertwine.training import evaluate
from intertwine.weightspace import (
    canonicalise,
    find_symmetries,
    match,
    relative_error,
)
from intertwine_book import data, zoo
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, use_style
from intertwine_book.live.bits import bit_slider, hadamard, stored
from intertwine_book.models.patch_transformer import PatchTransformer
from intertwine_book.record import on_record
from intertwine_book.tidy import of

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of initialisation, data order and group elements
outlier: float = 10.0  # one channel of a residual stream starts with it
epochs: int = 6  # of training each network

# %% tags=["hide-input"] figure="fig-bits"
device = devices.pick(device)
digits, test = (data.load("digits", part, device=device) for part in ("train", "test"))
images, draw = test.images.double(), torch.Generator().manual_seed(seed)
recipe = replace(zoo.RECIPES["digits"], epochs=epochs)
careful = replace(recipe, lr=1e-2, dtype="float32")


def transformer(size):
    """A trained transformer; the first channel of its stream starts with `size`."""
    spec = zoo.Spec(PatchTransformer, digits, careful, {"outlier": size})
    return zoo.get(spec, [seed], device="cpu")[0].network.double().eval().to(device)


def tokens_of(network):
    """The tokens of all test images after the first RMS norm: a token a row."""
    with torch.no_grad(), record(network, ["block1.norm1"]) as values:
        network(images)
    return values["block1.norm1"].flatten(0, 1)


net = transformer(outlier)
y = tokens_of(net)
signs = 2 * torch.randint(2, (32,), generator=draw) - 1
recorded = on_record("01d_orbits", "rotated").replace(
    {"outlier": {10.0: "with an outlier", 0.0: "without one"}}
)
means = recorded.pivot_table("accuracy", ["outlier", "bits"], "way")
known = {
    kind: dict.fromkeys(rows.droplevel(0).index)
    for kind, rows in means.groupby("outlier")
}
for (kind, bits), row in means.iterrows():
    known[kind][bits] = row["as trained"], row["rotated"]
first = {"with an outlier": y[:12], "without one": tokens_of(transformer(0.0))[:12]}
bit_slider(first, signs, known)

# %% [markdown]
# :::{figure} #fig-bits
# ---
# alt: >-
#   Two panels of 32 bars.
#   As trained one bar stands far above the others; rotated all are alike.
#   A slider sets the number of bits, another the token; buttons choose the network with or without an outlier.
# ---
# One channel holds an outlier, and a rotation spreads it over all channels: with few bits most channels of the trained
# token are stored as 0, and few of the rotated one.
# Bars: the 32 channels of one token (grey: stored as 0); red marks: the stored value.
# Tokens: networks of this page; accuracies: recorded, mean over five networks.
# :::

# %% [markdown]
# Take away bits: the outlier sets the step between stored values, and ever more of the other channels become 0.
# After the rotation no channel stands out.
# Then choose the network without an outlier: *is a rotation worth anything there?*
#
# (sec-rounding)=
# ## An outlier costs bits
#
# *All networks of an orbit compute one function, but rounding treats them differently.*
# To store a vector $y\in\mathbb R^n$ in $b \ge 2$ bits, divide it by a step $s$, round to integers, and multiply again.
# The step $s = \lVert y\rVert_\infty/(2^{b-1}-1)$ takes the largest entry to the largest integer:
#
# $$\operatorname{round}_b(y) = s\,\lfloor y/s\rceil,$$ (eq-round)
#
# where $\lfloor\cdot\rceil$ rounds to the nearest integer.
# Take 4 bits and $y = (8, 1, 1, 1)$: the step is $8/7$, and a 1 becomes $1.14$.
# Take $y = (8, 0.5, 0.5, 0.5)$: each 0.5 becomes 0, and all but the outlier is lost.
#
# :::{prf:proposition} An outlier costs bits
# :label: prop-rounding
# Let $y\in\mathbb R^n$ be nonzero, with the step $s$ of {eq}`eq-round`.
#
# (i) *Bound.* $\lVert\operatorname{round}_b(y) - y\rVert_2 \le \frac{\sqrt n}2 s$.
#
# (ii) *Range.* For orthogonal $Q$, $\lVert Qy\rVert_\infty$ takes all values from $\lVert y\rVert_2/\sqrt n$ to
# $\lVert y\rVert_2$, and no others.
# So among the images of one $y$ the bound varies by a factor of up to $\sqrt n$.
# Halving the step costs about one bit, so this is about $\tfrac12\log_2 n$ bits.
#
# (iii) *Random signs.* Let $H$ be orthogonal with entries $\pm1/\sqrt n$, and $D$ diagonal with
# independent uniform signs.
# Then $\lVert HDy\rVert_\infty \le \lVert y\rVert_2\sqrt{2\ln(4n)/n}$ with probability at least ½.
# :::
#
# :::{prf:proof}
# (i) Each entry errs by at most $s/2$.
#
# (ii) Every vector has $\lVert y\rVert_2/\sqrt n \le \lVert y\rVert_\infty \le \lVert y\rVert_2$.
# Orthogonal matrices carry $y$ to every vector of its length.
# A vector with equal entries attains the lower end, one with a single entry the upper end.
# For $n\ge2$ a path on the sphere joins them, on which the largest entry is continuous.
#
# (iii) An entry of $HDy$ is a sum of independent terms $\pm y_j/\sqrt n$.
# By Hoeffding's inequality it exceeds $t$ in size with probability at most $2e^{-nt^2/(2\lVert y\rVert_2^2)}$,
# which is $1/(2n)$ at the stated bound; there are $n$ entries.
# :::
#
# The residual streams of large language models have such outliers: a few channels far above the others.
# QuaRot rotates them away by $HD$ and then rounds weights and values to 4 bits {cite}`ashkboos2024quarot`.
# SpinQuant trains the orthogonal matrix {cite}`liu2025`.
# We rotate the stream of a small transformer that reads handwritten digits as patches, and whose first channel was set
# to a large value before training:


# %%
def rounded(x, bits):
    step = x.abs().amax(-1, keepdim=True) / (2 ** (bits - 1) - 1)
    return (x / step).round() * step


H = torch.ones(1, 1).double()
while len(H) < 32:
    H = torch.cat([torch.cat([H, H], 1), torch.cat([H, -H], 1)]) / 2**0.5
Q = (H * signs).to(images)  # HD

turned = find_symmetries(net, images[:1]).act(net, {"block1.norm1": Q})
largest = [tokens_of(each).abs().amax(-1).mean() for each in (net, turned)]
print(f"outputs differ by {relative_error(turned(images), net(images)):.0e}")
print(f"largest entry {largest[0]:.1f}, rotated {largest[1]:.1f}")

# %% tags=["hide-input"]
step = y.abs().amax(-1, keepdim=True) / 7
assert torch.allclose(rounded(y, 4), stored(y, 4) * step)
assert torch.allclose((y @ Q.T).cpu(), hadamard(y.cpu(), signs.double()))
assert torch.allclose(tokens_of(turned), y @ Q.T)

# %% [markdown]
# One matrix, multiplied into the weights, moves the outlier away; nothing is trained.
# {numref}`fig-rounding` shows what it is worth.

# %% tags=["hide-input"] figure="fig-rounding"
shown = of(recorded, outlier="with an outlier", way=["as trained", "rotated"])
colours = {"as trained": COLOURS["ink"], "rotated": GROUP_COLOURS["orthogonal"]}
single_curves(
    shown,
    *("bits", "accuracy", "way", "network"),
    colours=colours,
    level=known["with an outlier"][3][1],
    xlabel="bits of weights and values",
    ylabel="accuracy, %",
)

# %% [markdown]
# :::{figure} #fig-rounding
# ---
# alt: >-
#   Accuracy in percent against 3 to 8 bits for networks with an outlier: the curve of rotated networks begins at
#   {fact}`01d_orbits.right_after:.0f`, that of networks as trained at {fact}`01d_orbits.right_before:.0f`;
#   it reaches the same just before 4 bits, and both meet from 5 bits on.
# ---
# If one channel is an outlier, rotating the stream saves most of a bit: networks as trained reach the dotted line,
# where the rotated ones begin, only with nearly one bit more.
# Thin: five transformers with a constructed outlier; thick: their mean.
# :::

# %% [markdown]
# By the error of the outputs a rotation saves {fact}`01d_orbits.won_bits:.1f` bits on average from 3 to 6.
# **If no channel is an outlier, it saves nothing** from 4 bits on ({ref}`rec-rounding`).
# And with enough bits every point of the orbit is good enough.
#
# Why not more?
# The bound allows {fact}`01d_orbits.bound_bits:.1f` bits for 32 channels, if one channel holds everything.
# In the recorded networks the largest entry of a token falls by nearly half, less than on this page, so the step falls
# by {fact}`01d_orbits.step_bits:.1f` bits.
# Other values are rounded as well, inside attention and perceptrons, and a rotation of the stream does not spread them.
# We did not measure how much each costs.
#
# (sec-averaging)=
# ## Averaging two networks
#
# *To merge two trained networks, one averages their weights, and the average is bad.
# Match one to the other first, and the average is far better.*
# Neuron 3 of one network need not do what neuron 3 of the other does.
# Git re-basin looks for the permutation $\pi$ of hidden units that makes them most alike {cite}`ainsworth2023`.
# One way compares the activations $h^{(1)}_i$ of unit $i$ in network 1, on some images, with those of network 2:
#
# $$\max_\pi \sum_i \operatorname{corr}\bigl(h^{(1)}_i, h^{(2)}_{\pi(i)}\bigr).$$ (eq-assign-units)
#
# This is a linear assignment, which is solved exactly.
# For a perceptron with one hidden layer it is a few lines, with the correlations before and after ReLU added:

# %% tags=["hide-input"]
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import cross_entropy, normalize


def perceptron(hidden=16):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10)
    )


spec = zoo.Spec(perceptron, digits, recipe)
found = zoo.get(spec, [seed, seed + 1], device=device)
one, two = (each.network.double().eval() for each in found)
seen = digits.images[:300].double()
right = lambda network: 100 * evaluate(network, images, test.labels)
halfway = lambda other: right(between(one, other, 0.5))


# %%
@torch.no_grad()
def units(network):
    """A column a hidden unit: before and after ReLU, each of norm 1."""
    z = network[:2](seen)
    both = z - z.mean(0), z.relu() - z.relu().mean(0)
    return torch.cat([normalize(h, dim=0) for h in both])


alike = units(one).T @ units(two)  # sums of two correlations
_, order = linear_sum_assignment(alike.cpu(), maximize=True)
near = copy.deepcopy(two)
near[1].weight.data = two[1].weight.data[order]
near[1].bias.data = two[1].bias.data[order]
near[3].weight.data = two[3].weight.data[:, order]
print(f"right alone: {right(one):.0f} %")
print(f"halfway: {halfway(two):.0f} %, matched {halfway(near):.0f} %")

# %% tags=["hide-input"]
theirs = match(find_symmetries(one, seen[:1]), one, two, inputs=seen)
assert (theirs.element["2"].order.flatten().numpy() == order).all()
assert relative_error(near(images), two(images)) < 1e-12

# %% [markdown]
# `match` does the same for any network that can be traced, space by space, and finds scalings as well: for ReLU
# the group is that of *permutations with positive scalings*.
# Deeper networks need one step more.
# The average of two networks has weaker activations than either, so the statistics of batch norm must be estimated
# again {cite}`jordan2023`:
#
# | accuracy halfway, % | statistics averaged | re-estimated |
# |---|---|---|
# | as trained | {fact}`01d_orbits.half_trained_averaged:.0f` | {fact}`01d_orbits.half_trained:.0f` |
# | matched by activations | {fact}`01d_orbits.half_matched_averaged:.0f` | {fact}`01d_orbits.half_matched:.0f` |
#
# These are means over four pairs of small convolutional networks on digits, each of which begins with one that reads
# nearly every digit ({ref}`rec-merging`).
# On CIFAR-10 the average still loses accuracy: {numref}`fig-connectivity` in {doc}`03_stitching` has the whole line.
#
# (sec-normal-form)=
# ## Do two networks lie on one orbit?
#
# *Choose one point of each orbit by a rule.
# Then two networks lie on one orbit if their chosen points are equal.*
# Take $f(x) = \sum_i v_i\lvert w_i^\top x\rvert$, whose group is that of *permutations with nonzero scalings*:
# row $w_i$ may be multiplied by $a_i \ne 0$ while $v_i$ is divided by $\lvert a_i\rvert$.
# Let $w_1 = (0, 2)$, $v_1 = 1$ and $w_2 = (3, -4)$, $v_2 = 2$.
#
# 1. **Scale.** Divide each row by its length: $(0, 1)$ with $v = 2$, and $(0.6, -0.8)$ with $v = 10$.
# 2. **Sign.** Make the sum of each row positive: $(0, 1)$ stays, and $(0.6, -0.8)$ becomes $(-0.6, 0.8)$.
# 3. **Sort** rows by their sums, here 1 and 0.2: $(-0.6, 0.8)$ with $v = 10$ comes first.
#
# :::{prf:proposition} Equal normal forms
# :label: prop-normal-form
# Let no row be 0, the sum of no row be 0, and the sums of no two normalised rows be equal up to sign.
# Then two such networks lie on one orbit if and only if their normal forms are equal.
# :::
#
# :::{prf:proof}
# Each step is an element of the group, so a network and its form lie on one orbit: equal forms, one orbit.
# Conversely let $w'_{\pi(i)} = a_iw_i$ and $v'_{\pi(i)} = v_i/\lvert a_i\rvert$.
# Step 1 gives $\pm w_i/\lVert w_i\rVert$ and $v_i\lVert w_i\rVert$ for both, step 2 the same sign, and step 3 the same
# order, as the sums are distinct.
# :::


# %%
def normal_form(W, v):
    length = W.norm(dim=1)
    W, v = W / length[:, None], v * length  # 1 scale
    W = W * W.sum(1).sign()[:, None]  # 2 sign: |-z| = |z|
    order = W.sum(1).argsort()  # 3 sort
    return W[order], v[order]


given = torch.tensor([[0, 2], [3, -4]]), torch.tensor([1, 2])
copied = torch.tensor([[-1.5, 2], [0, 8]]), torch.tensor([4, 0.25])
for network in (given, copied):
    W, v = normal_form(*(each.double() for each in network))
    print(W.tolist(), v.tolist())


# %% tags=["hide-input"]
class Absolute(nn.Module):
    def forward(self, x):
        return x.abs()


forms = []
for W, v in (given, copied):
    layers = nn.Linear(2, 2, bias=False), Absolute(), nn.Linear(2, 1, bias=False)
    small = nn.Sequential(*layers).double().eval()
    small[0].weight.data, small[2].weight.data = W.double(), v.double()[None]
    form = canonicalise(find_symmetries(small, torch.zeros(1, 2).double()), small).model
    forms.append((form[0].weight.data, form[2].weight.data[0]))
    again = normal_form(*forms[-1])
    ours = normal_form(W.double(), v.double())
    assert all(torch.allclose(*pair) for pair in zip(again, ours, strict=True))
assert all(torch.allclose(*pair) for pair in zip(*forms, strict=True))

# %% [markdown]
# The second network was the first, swapped and scaled.
# `canonicalise` goes through all hidden spaces of a network in this way, where the group of each allows it: ReLU has no
# step 2, tanh has no step 1.
# `canonicalise` weighs the entries of a sum by fixed random numbers, so that sums rarely tie, and names the spaces
# where they do.
# The normal forms of a ResNet-20, before and after a random element, agree to {fact}`01d_orbits.gap_normal:.0e` of the
# largest entry ({ref}`rec-normal-forms`).
#
# A copy that was rounded or trained further lies near the orbit, not on it.
# Then ask `match` for the element, by weights: in small ResNets it finds every unit, even if the noise is three times
# as large as the weights' deviation; by activations fewer than half if it is as large ({ref}`rec-noise`).
#
# (sec-teleport)=
# ## A point with a larger gradient
#
# *At a small learning rate a larger gradient makes the first steps faster.
# At the largest rate that we tried a far move (scalings up to 4) harms, and a nearer one (up to 2) does not*
# ({ref}`rec-teleport`).
# The idea is called *teleportation* {cite}`zhao2022,zhao2024`.
# {cite:t}`lebeurrier2026` choose the scalings of a ReLU network by another criterion, to train faster.
#
# Take the neurons of one hidden layer, and scale what enters neuron $i$ by $a_i$.
# Let the loss $L$, where it is differentiable, have the gradients $G_i^{\mathrm{in}}$ by its incoming weights
# with bias, and $G_i^{\mathrm{out}}$ by its outgoing weights.
# Then {eq}`eq-gradient` gives
#
# $$
# \begin{aligned}
# &\lVert\nabla L\rVert^2 = \text{const} +{}\\
# &\quad\sum_i \bigl(\lVert G_i^{\mathrm{in}}\rVert^2/a_i^2 + a_i^2\,\lVert G_i^{\mathrm{out}}\rVert^2\bigr).
# \end{aligned}
# $$ (eq-teleport)
#
# :::{prf:proposition} The largest gradient within a bound
# :label: prop-teleport
# Let $r > 1$ and $1/r \le a_i \le r$ for the neurons of one hidden layer.
# Then {eq}`eq-teleport` is largest for $a_i = 1/r$ where $\lVert G_i^{\mathrm{in}}\rVert >
# \lVert G_i^{\mathrm{out}}\rVert$, and for $a_i = r$ elsewhere.
# Without a bound it has no largest value, unless all these gradients are 0.
# :::
#
# :::{prf:proof}
# Each summand is convex in $\log a_i$, so one of the two ends is best.
# The summand at $1/r$ minus that at $r$ is
# $(r^2 - r^{-2})\bigl(\lVert G_i^{\mathrm{in}}\rVert^2 - \lVert G_i^{\mathrm{out}}\rVert^2\bigr)$.
# If one of the gradients is not 0, the summand is unbounded.
# :::

# %%
r = 4.0
fresh = spec.build(seed).double().to(device)
space = find_symmetries(fresh.eval(), seen[:1])
loss = lambda network: cross_entropy(network(seen), digits.labels[:300])
loss(fresh).backward()
into = fresh[1].weight.grad.square().sum(1) + fresh[1].bias.grad.square()
out = fresh[3].weight.grad.square().sum(0)
a = torch.where(into > out, 1 / r, r)
there = space.act(fresh, {"2": a.diag()})
there.zero_grad()
loss(there).backward()
size = lambda net: sum(p.grad.square().sum() for p in net.parameters())
print(f"loss {loss(fresh):.4f}, moved {loss(there):.4f}")
print(f"the squared gradient grows {size(there) / size(fresh):.1f}-fold")

# %% tags=["hide-input"]
best = into / a**2 + out * a**2
assert torch.allclose(size(there), best.sum() + fresh[3].bias.grad.square().sum())
assert (best >= into * a**2 + out / a**2).all()

# %% [markdown]
# ## Which form do I store, match, quantise?
#
# With `from intertwine import same_network`, `from intertwine.stitching import between`,
# `from intertwine.stitching.batch_norm import reestimate`, and
# `from intertwine.weightspace import canonicalise, find_symmetries, fold, match, rotate`; `space` is
# `find_symmetries(net, x)`, and $a$ a vector of scalings.
# Spaces have the names that `print(space)` shows.
#
# :::{list-table}
# :header-rows: 1
# :widths: 24 42 34
#
# * - you want to
#   - use
#   - beware
# * - round a stream in which a channel stands out
#   - a rotation: `rotate(space, net, seed=0).model`
#   - Fold gains of norms first, else they stay inside the rotated weights: `fold(space, net).model`. Untie a tied
#     embedding. It pays at 3 and 4 bits; without an outlier, not from 4 on.
# * - round whole layers of a ReLU network with one step
#   - equal ranges: `space.act(net, {"conv1": a.diag()})` ({ref}`ex-equal`)
#   - Fold batch norm first: `torch.nn.utils.fusion.fuse_conv_bn_eval`. Equalising repairs a bad scaling; against
#     trained weights a gain is established at 4 bits alone.
# * - delete channels of a stream
#   - principal axes, the rows of an orthogonal matrix: `space.act(net, {"words": axes})` ({ref}`ex-slice`)
#   - `words` is what writes the stream. A layer norm asks for axes that keep the mean.
# * - average two networks
#   - `near = match(space, one, two, inputs=images).model`, then `average = between(one, near, 0.5)`
#   - Re-estimate batch norm, in place: `reestimate(average, [images])`. On hard data accuracy is lost all the same.
# * - find how a copy was moved
#   - `match(space, net, copied).element`
#   - Leave `inputs` out: matching by activations fails on noisy copies.
# * - know whether two networks lie on one orbit
#   - `same_network(one, two, images).same`; to look one up among many, `canonicalise(space, each).model`
#   - In float64; a normal form says what is `undetermined`. Different normal forms do not prove different functions.
# * - train on from a larger gradient
#   - `space.act(net, {"relu1": a.diag()})`
#   - Bound the scalings: at a large learning rate $r = 4$ harms.
# :::
#
# ## Adapt this
#
# Replace `Mine` by your own network, in evaluation mode, and `tokens` by an input of it.
# The library turns every residual stream at once, where the group allows it:

# %%
import torch
from torch import nn

from intertwine.weightspace import find_symmetries, relative_error, rotate


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(20, 8), nn.RMSNorm(8)
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)
        self.head = nn.Linear(8, 20)

    def forward(self, tokens):
        x = self.words(tokens)
        return self.head(x + self.down(self.up(self.norm(x)).relu()))


torch.manual_seed(0)
mine, tokens = Mine().double().eval(), torch.randint(20, (4, 7))
everywhere = rotate(find_symmetries(mine, tokens), mine, seed=0).model
apart = relative_error(everywhere(tokens), mine(tokens))
print(f"outputs differ by {apart:.0e}")

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-four-bits
# *Warm-up.*
# A token has one entry 8 and 31 entries of size 1.
# How long is it, and what can its largest entry become by an orthogonal matrix?
# How many bits does that save?
# :::
#
# ::::{solution} ex-four-bits
# :class: dropdown
# $\lVert y\rVert_2^2 = 64 + 31 = 95$.
# The largest entry is at least $\sqrt{95/32} = 1.72$, where all entries have one size.
# The step becomes 4.6 times smaller, which is 2.2 bits.
# ::::
#
# :::{exercise}
# :label: ex-tie
# Which two neurons of $|x|$ does the rule of {prf:ref}`prop-normal-form` not tell apart, although their rows differ?
# How do sums with random weights help?
# :::
#
# ::::{solution} ex-tie
# :class: dropdown
# Those with $(0.6, 0.8)$ and $(0.8, 0.6)$: both sums are 1.4.
# Two unit vectors have one weighted sum only if their difference is orthogonal to the weights, which has probability 0
# for random weights.
# Equal rows tie whatever the weights: then their $v_i$ may be sorted, or the two neurons be merged.
# ::::
#
# :::{exercise}
# :label: ex-equal
# In a convolutional network each layer is often rounded with one step, by its largest weight.
# Channel $i$ has ranges $p_i$ (the largest weight that writes it) and $t_i$ (the largest that reads it).
# Which scaling makes both ranges equal {cite}`nagel2019`?
# Does rounding cost less there?
# :::
#
# ::::{solution} ex-equal
# :class: dropdown
#
# $$a_i = \sqrt{t_i/p_i}\ \Rightarrow\ a_ip_i = t_i/a_i = \sqrt{p_it_i}.$$ (eq-equal)
#
# Fold batch norm into the convolutions first, and go through all layers until nothing changes.
# At 4 bits the logits err by {fact}`01d_orbits.equal_trained:.0f` % as trained,
# {fact}`01d_orbits.equal_scaled:.0f` % with channels scaled at random,
# and {fact}`01d_orbits.equal_even:.0f` % equalised ({numref}`fig-rec-equalising`, with the code).
# So equalising repairs a bad scaling.
# Against the trained network it lowers the mean error by {fact}`01d_orbits.equal_least:.0f` to
# {fact}`01d_orbits.equal_most:.0f` %; in four networks that is established at 4 bits, and at no other number.
# ::::
#
# :::{exercise}
# :label: ex-equal-best
# Let channel $i$ have the ranges $p_i$ and $t_i$ of {ref}`ex-equal`.
# Rounding with one step a layer gives the channel the precision $p_i/\max_jp_j$ where it is written
# and $t_i/\max_jt_j$ where it is read.
# Multiply the two and sum over $i$: show that no scaling makes the sum larger than {eq}`eq-equal` does.
# :::
#
# ::::{solution} ex-equal-best
# :class: dropdown
# A scaling keeps every product $p_it_i$, so the sum is $\sum_ip_it_i/(\max_jp'_j\,\max_jt'_j)$,
# and one minimises $\max_jp'_j\max_jt'_j \ge \max_jp_jt_j$ over the scaled ranges.
# With $p'_j = t'_j = \sqrt{p_jt_j}$ both sides are equal.
# ::::
#
# :::{exercise}
# :label: ex-slice
# *With data.*
# SliceGPT deletes channels of the stream {cite}`ashkboos2024slicegpt`.
# Set the last channels after every RMS norm to 0, as trained and in principal axes.
# How many must stay?
# :::
#
# ::::{solution} ex-slice
# :class: dropdown
# {numref}`fig-rec-slices` in the record draws it, with the code.
# With half of the channels {fact}`01d_orbits.slice_half_axes:.0f` % of the digits are right in principal axes, and
# {fact}`01d_orbits.slice_half_trained:.0f` % as trained.
# Rounding asks for a stream that is spread evenly, slicing for one that is collected in few channels:
# two points of one orbit.
# ::::
#
# :::{exercise}
# :label: ex-best-rotation
# *Open.*
# $HD$ is one orthogonal matrix of many, and SpinQuant trains another.
# Which element of the *whole* group, with the $GL_d$ of values and output and the permutations,
# makes rounding to 3 bits cheapest?
# Is it found by descent along the orbit, and does it depend on the data?
# :::
#
# Two ways on: {doc}`02_sanity_rotations` needs {doc}`01_intertwiner_groups` only;
# {doc}`03_stitching` matches networks that were trained independently.
