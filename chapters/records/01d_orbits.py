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
# # R1d · Record: what an orbit is good for
#
# :::{admonition} What this page tests
# :class: tip
# {doc}`../01d_orbits` explains which point of an orbit to take; here is the evidence.
# Each section has one statement, of a paper or of ours: the code that computes our rows, a figure, the sentences that
# the rows support, and what would change them.
# No section repeats an experiment of a paper in its own setting, so no printed number is judged here.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ```{glue} rec-orbits-summary
# ```
#
# All networks are small and read handwritten digits.
# A sentence *checked on the recorded rows* stops this notebook if the rows contradict it.

# %% tags=["parameters"]
from typing import Literal

scale: Literal["smoke", "quick", "desk", "paper"] = "quick"  # quick reads rows, desk computes missing ones
own: str = ""  # a folder for rows of your own code
more_networks: int = 0  # transformers, and networks of each other section, beyond those on record
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one

# %% tags=["hide-input"]
import copy
import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from myst_nb import glue
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from intertwine import devices
from intertwine.features import record as recorded
from intertwine.stitching import line
from intertwine.training import evaluate
from intertwine.weightspace import (
    canonicalise,
    find_symmetries,
    hadamard,
    match,
    relative_error,
)
from intertwine_book import data, zoo
from intertwine_book.figures import style
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.readable import readable
from intertwine_book.intervals import interval
from intertwine_book.models.patch_transformer import PatchTransformer
from intertwine_book.record import Record
from intertwine_book.tidy import every, of
from intertwine_book.told import Told

style.use_style()
device = devices.pick(device)
record = Record.at("01d_orbits", scale, own)
told = Told(record, "01d_orbits", scale)

# %% [markdown]
# ## Settings and networks
#
# `STREAM` are small transformers with a residual stream of 32 channels: 17,600 weights, two blocks, RMS norms.
# `CHAIN` are Myrtle CNNs, four convolutions in a row; `BLOCKS` are ResNet-20s; `PLAIN` have one hidden layer.
# None is kept with the book, as each trains in seconds, and here again to the same digits.

# %% tags=["hide-input"]
STREAM = {"dataset": "digits", "width": 32, "epochs": 15}
CHAIN = {"dataset": "digits", "width": 16, "epochs": 15}
BLOCKS = {"dataset": "digits", "width": 4, "epochs": 4}
PLAIN = {"dataset": "digits", "width": 16, "images": 500, "components": 8, "before": 20}
TRANSFORMERS, PAIRS, RESNETS, STARTS = 5, 4, 5, 20
BITS, KEPT = [3, 4, 5, 6, 8], [4, 8, 12, 16, 24, 32]
NOISE, MARKS = [0.0, 0.1, 0.3, 1.0, 3.0], [0, 5, *range(10, 101, 10)]
RATES, REACHES, OUTLIER = [0.3, 1.0, 3.0, 6.0], [1.0, 2.0, 4.0], 10.0
if scale == "smoke":
    STREAM, CHAIN, BLOCKS = (each | {"epochs": 1} for each in (STREAM, CHAIN | {"width": 4}, BLOCKS))
    PLAIN = PLAIN | {"width": 4, "images": 50, "before": 2}
    TRANSFORMERS, PAIRS, RESNETS, STARTS = 2, 2, 2, 2
    BITS, KEPT, NOISE, MARKS = [3, 4, 8], [16, 24, 32], [0.0, 1.0, 3.0], [0, 5, 10, 20, 100]
TRANSFORMERS, PAIRS, RESNETS, STARTS = (
    count + more_networks for count in (TRANSFORMERS, PAIRS, RESNETS, STARTS)
)
ROTATED, AXES, TRAINED, EVEN = "rotated", "principal axes", "as trained", "equalised"
SPREAD = "scaled at random"
COLOURS = {
    TRAINED: style.COLOURS["ink"],
    ROTATED: style.GROUP_COLOURS["orthogonal"],
    AXES: style.COLOURS["pink"],
    SPREAD: style.COLOURS["grey"],
    EVEN: style.COLOURS["blue"],
}
NORMS = [f"block{b}.norm{k}" for b in (1, 2) for k in (1, 2)]  # where blocks read the stream


@lru_cache
def images_of(dataset, part):
    return data.load(dataset, part, device=device)


def trained(architecture, dataset, epochs, seed, *, where=device, how=None, **shape):
    recipe = replace(zoo.RECIPES["digits"], epochs=epochs, **(how or {}))
    spec = zoo.Spec(architecture, images_of(dataset, "train"), recipe, shape)
    return zoo.get(spec, [seed], device=where)[0].network.eval()


@lru_cache
def transformer(dataset, width, epochs, outlier, number):
    """Trained on the CPU always: rounding makes jumps of the last digits of a training."""
    how = {"lr": 1e-2, "dtype": "float32"}
    at = {"where": "cpu", "how": how, "outlier": outlier, "width": width}
    return trained(PatchTransformer, dataset, epochs, number, **at).double().to(device)


@lru_cache
def chain(dataset, width, epochs, number):
    return trained("myrtle", dataset, epochs, number, width=width, in_channels=1)


@lru_cache
def residual(dataset, width, epochs, number):
    shape = {"width": width, "in_channels": 1, "option": "B"}
    return trained("resnet20", dataset, epochs, number, **shape).double()


# %% [markdown]
# (rec-rounding)=
# ## Rounding a residual stream
#
# > *Stated* by QuaRot {cite}`ashkboos2024quarot`: orthogonal matrices with random signs, multiplied into the weights
# of a
# > language model, leave its function and remove the outliers of its hidden state, so that weights and activations can
# > be stored in 4 bits. Their language models have outliers of their own; ours are constructed.
#
# {eq}`eq-round` rounds the weights of each linear map, row by row, and each token that it reads.
# Biases, positions and the products of queries with keys are not rounded.
# The three ways differ by an orthogonal matrix on the stream: none; $HD$ of {prf:ref}`prop-rounding`; the principal
# axes of what the norms return, as in SliceGPT {cite}`ashkboos2024slicegpt`.
# An outlier is a value of 10 that is added to one channel of all positions before training.
# Its null is the same network, from the same seed, without it.


# %% tags=["hide-input"]
def rounded(x, bits, dims):
    """The nearest multiples of a step that carries the largest |x| along `dims` to 2^(bits - 1) - 1."""
    step = x.abs().amax(dims, keepdim=True).clamp(min=1e-12) / (2 ** (bits - 1) - 1)
    return (x / step).round() * step


def quantised(model, bits, *, inputs=True, by_row=True):
    """A copy whose linear maps have rounded weights, with one step a row or a layer, and rounded inputs."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            dims = tuple(range(1 if by_row else 0, module.weight.ndim))
            module.weight.data = rounded(module.weight.data, bits, dims)
            if inputs and isinstance(module, nn.Linear):
                module.register_forward_pre_hook(lambda _, x: (rounded(x[0], bits, -1),))
    return model


def streams(model, images, norms=NORMS):
    """What the norms return: a token a row."""
    with torch.no_grad(), recorded(model, norms) as values:
        model(images)
    return torch.cat([values[name].flatten(0, -2) for name in norms])


@lru_cache
def placed(dataset, width, epochs, outlier, number, way):
    """A transformer, and the same function at another place of its orbit."""
    model = transformer(dataset, width, epochs, outlier, number)
    images = images_of(dataset, "train").images.double()
    if way == TRAINED:
        return model, model
    if way == ROTATED:
        turn = hadamard(width, torch.Generator().manual_seed(number)).to(images)
    else:  # the axes of what is read: by blocks, or also by the head
        y = streams(model, images, NORMS if way == AXES else [*NORMS, "norm"])
        turn = torch.linalg.eigh(y.T @ y).eigenvectors.T.flip(0)
    return model, find_symmetries(model, images[:1]).act(model, {"block1.norm1": turn})


def judged(model, exact, test, bits, **options):
    """The error of the logits, in percent of their size, and the accuracy."""
    with torch.no_grad():
        known, logits = (each(test.images.double()) for each in (exact, quantised(model, bits, **options)))
    error = ((logits - known).norm() / known.norm()).item()
    right = (logits.argmax(1) == test.labels).double().mean().item()
    return {"error": 100 * error, "accuracy": 100 * right}


plan = [STREAM | {"outlier": size, "network": k} for size in (OUTLIER, 0.0) for k in range(TRANSFORMERS)]


# %%
@record.table(plan, way=[TRAINED, ROTATED, AXES], bits=BITS)
def rotated(dataset, width, epochs, outlier, network, way, bits):
    exact, model = placed(dataset, width, epochs, outlier, network, way)
    test = images_of(dataset, "test")
    record.uses(exact, test)
    return judged(model, exact, test, bits)


# %%
@record.table(plan, way=[TRAINED, ROTATED, AXES])
def largest(dataset, width, epochs, outlier, network, way):
    """The largest entry of a token, on average, and how far the move changes the outputs."""
    exact, model = placed(dataset, width, epochs, outlier, network, way)
    test = images_of(dataset, "test")
    record.uses(exact, test)
    images = test.images.double()
    with torch.no_grad():
        change = relative_error(model(images), exact(images))
    return {"entry": streams(model, images).abs().amax(-1).mean().item(), "change": change}


# %% tags=["hide-input"] figure="fig-rec-rounding"
rotated, largest = of(rotated, **STREAM), of(largest, **STREAM)
rotated["of"] = np.where(rotated["outlier"] > 0, "one outlier", "no outlier")
mean_curves(
    rotated,
    *("bits", "error", "way"),
    panels="of",
    ylabel="error of the logits, %",
    colours=COLOURS,
    log=True,
)

# %% [markdown]
# :::{figure} #fig-rec-rounding
# ---
# alt: >-
#   Two panels of the error in percent on a logarithmic axis against 3 to 8 bits, with and without an outlier:
#   as trained, rotated, and in principal axes.
# ---
# With an outlier a rotation makes the error {fact}`01d_orbits.won:.1f` times smaller, on average over bits, as
# {fact}`01d_orbits.won_bits:.1f` bits more would from 3 to 6; without one the mean is no smaller from 4 bits on.
# Principal axes, which collect the stream in few channels, lower the mean only at 3 bits with an outlier.
# Mean over five transformers with 95 % interval.
# :::

# %% tags=["hide-input"]
means = {of_: rotated.pivot_table(of_, ["outlier", "bits"], "way") for of_ in ("error", "accuracy")}
both = pd.concat([each.add_suffix(f": {of_}, %") for of_, each in means.items()], axis=1)
best = pd.DataFrame({c: False for c in both}, both.index)
for part, better in {"error": "idxmin", "accuracy": "idxmax"}.items():
    for place, way in getattr(means[part], better)(axis=1).items():
        best.loc[place, f"{way}: {part}, %"] = True
headings = {"outlier": "first channel + ", "bits": "bits"} | {c: c for c in both}
shown = both.reset_index().astype({"outlier": int, "bits": int})
readable(
    shown,
    headings,
    digits=1,
    bold=best.reset_index(drop=True),
    title="Errors and accuracies; the best is bold",
)

# %% tags=["hide-input"]
errors = rotated.pivot(index=["outlier", "bits", "network"], columns="way", values="error")
won = errors[TRAINED] / errors[ROTATED]
outlying, right = (means[of_].loc[OUTLIER] for of_ in ("error", "accuracy"))


def bits_saved(network):
    """How many more bits give a network as trained the errors of a rotation; at 8 none are recorded that do."""
    logs = np.log(network.droplevel("network"))
    found = np.interp(-logs[ROTATED], -logs[TRAINED], logs.index, right=np.nan)
    return float(np.nanmean(found - logs.index))


one_more = errors.loc[OUTLIER].unstack("network")
saved = [bits_saved(each) for _, each in errors.loc[OUTLIER].groupby("network")]
factor = (outlying[TRAINED] / outlying[ROTATED]).mean()
lower = means["error"][AXES] < means["error"][TRAINED]
four_on = [bits for bits in BITS if bits >= 4]
# fmt: off
told.say(won=factor, won_bits=np.mean(saved), transformers=rotated["network"].nunique())
told.say(right_before=right.loc[3, TRAINED], right_after=right.loc[3, ROTATED])
told.check_all({
    "With an outlier a rotation makes the error 1.4 to 2 times smaller, on average over bits.":
        every(factor > 1.4, factor < 2),
    "It does what 0.5 to 0.8 bits more would do, on average over networks and 3 to 6 bits.":
        every(np.mean(saved) > 0.5, np.mean(saved) < 0.8),
    "At 4 bits it makes the error of each of five networks with an outlier 1.2 times smaller.":
        every(won.loc[OUTLIER, 4] > 1.2, len(won.loc[OUTLIER, 4]) >= 5),
    "One bit more, 5 instead of 4, would lower the error further, in each network with an outlier.":
        every(*(one_more.loc[4, (ROTATED, k)] > one_more.loc[5, (TRAINED, k)]
                for k in errors.index.unique("network")) if 5 in BITS else [True]),
    "Without an outlier no gain is established from 4 bits on, and none exceeds 2 % on average.":
        every(*((interval(won.loc[0.0, bits])[0] < 1, won.loc[0.0, bits].mean() < 1.02) for bits in four_on)),
    "On average principal axes err more than a rotation at each number of bits, with and without an outlier.":
        means["error"][AXES] > means["error"][ROTATED],
    "On average principal axes err less than as trained at 3 bits with an outlier, and nowhere else.":
        [[*lower[lower].index] == [(OUTLIER, 3)]],
    "With 8 bits the three ways are within a point of accuracy, with an outlier.":
        right.loc[8].max() - right.loc[8].min() < 1,
    "At 3 and at 4 bits a rotation keeps 3 points more accuracy on average, with an outlier.":
        right.loc[[3, 4], ROTATED] > right.loc[[3, 4], TRAINED] + 3,
    "By mean accuracy a rotation at 3 bits does what 0.8 to 1 bit more would do, with an outlier.":
        every(right.loc[3, ROTATED] > right.loc[3, TRAINED] + 0.8 * (right.loc[4, TRAINED] - right.loc[3, TRAINED]),
              right.loc[3, ROTATED] < right.loc[4, TRAINED]),
    "From 5 bits on a rotation gains at most a point of accuracy on average, with an outlier.":
        (right.loc[5:, ROTATED] - right.loc[5:, TRAINED]).abs() < 1,
})
# fmt: on

# %% [markdown]
# *What would change it*: networks with outliers of their own; rotations inside attention and perceptrons, whose last
# linear maps read values that a rotation of the stream does not spread; another rounding than to nearest multiples.
# We constructed the outlier; other sizes were not measured.
#
# (rec-bound)=
# ## What the bound allows, and what a rotation saves
#
# > *Stated*: {prf:ref}`prop-rounding` (ii). Over all orthogonal matrices the step varies by a factor of up to $\sqrt
# n$,
# > which is $\tfrac12\log_2n$ bits.
#
# The step of a token is proportional to its largest entry.

# %% tags=["hide-input"]
entries = largest.pivot_table("entry", ["outlier", "network"], "way").reset_index()
headings = {"outlier": "first channel + ", "network": "network"} | {k: k for k in (TRAINED, ROTATED, AXES)}
readable(entries.astype({"outlier": int}), headings, digits=1, title="Largest entry of a token, on average")

# %% tags=["hide-input"]
steps = largest.pivot_table("entry", ["outlier", "way"], "network")
halved = np.log2(steps.loc[(OUTLIER, TRAINED)] / steps.loc[(OUTLIER, ROTATED)])
told.say(bound_bits=math.log2(STREAM["width"]) / 2, step_bits=halved.mean())
# fmt: off
told.check_all({
    "The three ways compute one function, to 1e-10 of the largest output.": largest["change"] < 1e-10,
    "With an outlier a rotation makes the largest entry smaller, in each network.": halved > 0,
    "It saves fewer bits of the step than the bound allows, in each network.":
        halved < math.log2(STREAM["width"]) / 2,
    "The error saves fewer bits than the step, on average.": np.mean(saved) < halved.mean(),
})
# fmt: on

# %% [markdown]
# *What would change it*: an orthogonal matrix that is trained for the step, as SpinQuant does {cite}`liu2025`,
# instead of
# one with random signs.
# Why the error saves fewer bits than the step was not measured: inputs of the last linear maps of attention and
# perceptron, and weights, are rounded as well.
#
# (rec-slices)=
# ## Deleting channels of a stream
#
# > *Stated* by SliceGPT {cite}`ashkboos2024slicegpt`: rotate the stream to its principal axes, then delete the last
# ones.
#
# The last channels after each norm are set to 0, in transformers without an outlier.


# %% tags=["hide-input"]
def sliced_to(model, kept):
    """A transformer that reads only the first channels of its stream."""
    model = copy.deepcopy(model)
    for name in [*NORMS, "norm"]:
        norm = model.get_submodule(name)
        norm.register_forward_hook(lambda _, x, y: y * (torch.arange(y.shape[-1]) < kept).to(y))
    return model


plan = [STREAM | {"outlier": 0.0, "network": k} for k in range(TRANSFORMERS)]


# %%
@record.table(plan, way=[TRAINED, "all principal axes"], kept=KEPT)
def sliced(dataset, width, epochs, outlier, network, way, kept):
    exact, model = placed(dataset, width, epochs, outlier, network, way)
    test = images_of(dataset, "test")
    record.uses(exact, test)
    return {"accuracy": 100 * evaluate(sliced_to(model, kept), test.images.double(), test.labels)}


# %% tags=["hide-input"] figure="fig-rec-slices"
sliced = of(sliced, **STREAM).replace({"way": {"all principal axes": AXES}})
mean_curves(
    sliced, "kept", "accuracy", "way", xlabel="channels that stay", ylabel="accuracy, %", colours=COLOURS
)

# %% [markdown]
# :::{figure} #fig-rec-slices
# ---
# alt: >-
#   Accuracy in percent against the number of channels that stay, from 4 to 32: the curve in principal axes lies above
#   the curve as trained, until both meet at 32 channels.
# ---
# Deleting the last principal axes costs less than deleting the last channels.
# Mean over five transformers without an outlier, with 95 % interval.
# :::

# %% tags=["hide-input"]
kept = sliced.pivot_table("accuracy", "kept", "way")
each = sliced.pivot(index=["kept", "network"], columns="way", values="accuracy")
told.say(slice_half_trained=kept.loc[16, TRAINED], slice_half_axes=kept.loc[16, AXES])
# fmt: off
told.check_all({
    "With 16 of 32 channels principal axes are right more often, in each network.":
        each.loc[16, AXES] > each.loc[16, TRAINED],
    "With 24 of 32 principal axes are right more often, in each network.":
        each.loc[24, AXES] > each.loc[24, TRAINED],
    "With all channels both are right equally often.": each.loc[32, AXES] == each.loc[32, TRAINED],
})
# fmt: on

# %% [markdown]
# *What would change it*: SliceGPT has other axes in each block, and deletes the rows and columns of the weights;
# a network of which all channels are used alike.
#
# (rec-equalising)=
# ## Equalising ranges, with one step a layer
#
# > *Stated* by {cite:t}`nagel2019`: scale channels of a ReLU network until the weights that write and those that read a
# > channel have one range; then rounding a whole layer with one step costs less.
#
# Batch norm is folded into the convolutions; weights alone are rounded, with one step a layer.
# The three ways are one function: as trained, with channels scaled at random (logarithms with standard deviation 1),
# and equalised from there ({eq}`eq-equal`, layer after layer until nothing changes).


# %% tags=["hide-input"]
def folded(network):
    """In float64, with batch norm folded into the convolutions."""
    network = copy.deepcopy(network).double()
    for k in (1, 2, 3, 4):
        both = (network.get_submodule(f"{name}{k}") for name in ("conv", "bn"))
        network.set_submodule(f"conv{k}", fuse_conv_bn_eval(*both))
        network.set_submodule(f"bn{k}", nn.Identity())
    return network.eval()


def equalise(space, model, layers, sweeps=20):
    """Scale each hidden channel until its largest weights before and after are equal."""
    sizes = []  # of the largest weight between any two channels
    for name in layers:
        W = model.get_submodule(name).weight.detach().abs()
        sizes.append(W.unflatten(1, (len(sizes[-1]) if sizes else W.shape[1], -1)).flatten(2).amax(2))
    scales = [torch.ones(len(size)).to(size) for size in sizes[:-1]]
    for k in [*range(len(scales))] * sweeps:
        out, into = sizes[k].amax(1), sizes[k + 1].amax(0)
        a = (into / out).sqrt().where(into * out > 0, 1.0)
        sizes[k], sizes[k + 1], scales[k] = sizes[k] * a[:, None], sizes[k + 1] / a, scales[k] * a
    return space.act(model, {name: a.diag() for name, a in zip(layers, scales, strict=False)})


# %%
@record.table([CHAIN | {"network": k} for k in range(PAIRS)], way=[TRAINED, SPREAD, EVEN], bits=BITS)
def equalised(dataset, width, epochs, network, way, bits):
    exact, test = folded(chain(dataset, width, epochs, network)), images_of(dataset, "test")
    record.uses(exact, test)
    space = find_symmetries(exact, test.images[:1].double())
    element = space.sample(torch.Generator().manual_seed(network), scale=1.0)
    model = exact if way == TRAINED else space.act(exact, element)
    if way == EVEN:
        model = equalise(space, model, ["conv1", "conv2", "conv3", "conv4", "fc"])
    return judged(model, exact, test, bits, inputs=False, by_row=False)


# %% tags=["hide-input"] figure="fig-rec-equalising"
equalised = of(equalised, **CHAIN)
mean_curves(equalised, *("bits", "error", "way"), ylabel="error of the logits, %", colours=COLOURS, log=True)

# %% [markdown]
# :::{figure} #fig-rec-equalising
# ---
# alt: >-
#   Error in percent on a logarithmic axis against 3 to 8 bits: the curve of random scalings lies highest, those of
#   trained and equalised channels below, close to each other.
# ---
# Equalising repairs a random scaling.
# Error of the logits when weights are rounded with one step a layer; three networks that compute one function.
# Myrtle CNNs of width 16, mean over four networks with 95 % interval.
# :::

# %% tags=["hide-input"]
even = equalised.pivot(index=["bits", "network"], columns="way", values="error")
even_means = even.groupby("bits").mean()
less = 100 * (1 - even_means[EVEN] / even_means[TRAINED])
told.say(equal_least=less.min(), equal_most=less.max(), equal_trained=even_means.loc[4, TRAINED])
told.say(equal_scaled=even_means.loc[4, SPREAD], equal_even=even_means.loc[4, EVEN])
headings = {"bits": "bits"} | {way: f"{way}, %" for way in (TRAINED, SPREAD, EVEN)}
readable(even_means.reset_index().astype({"bits": int}), headings, digits=1, title="Mean error of the logits")

# %% tags=["hide-input"]
apart = {bits: each for bits, each in even.groupby("bits")}
gains = {bits: np.log(each[TRAINED] / each[EVEN]) for bits, each in apart.items()}  # of paired networks
gains["all"] = sum(each.droplevel("bits") for each in gains.values()) / len(gains)
worse = {bits: int((each[EVEN] > each[TRAINED]).sum()) for bits, each in apart.items()}
# fmt: off
told.check_all({
    "From 4 bits on a random scaling errs more than equalised, in each network.":
        (even[SPREAD] > even[EVEN]).loc[4:],
    "Equalised errs less than as trained, on average, at each number of bits.":
        even_means[EVEN] < even_means[TRAINED],
    "At 4 bits equalised errs less than as trained in each of four networks, and the gain is established.":
        every(gains[4] > 0, interval(gains[4])[0] > 0),
    "At the other numbers of bits, and over all of them, no gain is established.":
        [interval(each)[0] < 0 for bits, each in gains.items() if bits != 4 or len(gains) == 1],
    "For most numbers of bits one or two of four networks get worse.":
        sum(0 < count < 3 for count in worse.values()) > len(worse) / 2,
})
# fmt: on

# %% [markdown]
# *What would change it*: networks whose channels have unlike ranges, as the MobileNets of the paper; rounded
# activations and bias correction, which the paper has and we have not; more networks, as against the trained network
# a gain is established at 4 bits alone.
#
# (rec-merging)=
# ## Averaging two networks
#
# > *Stated* by git re-basin {cite}`ainsworth2023`: after a permutation of units, which is found by weights or by
# > activations, two networks that were trained apart can be averaged.
#
# `match` finds permutations and scalings, space by space; `line` averages weights and statistics of batch norm, or
# re-estimates these on training images.
# Two Myrtle CNNs are trained from two seeds; activations are those of 300 images.


# %%
@record.table(
    [CHAIN | {"pair": k} for k in range(PAIRS)],
    way=[TRAINED, "matched by activations", "matched by weights"],
)
def merged(dataset, width, epochs, pair, way):
    one, two = (chain(dataset, width, epochs, 2 * pair + k) for k in (0, 1))
    train, test = (images_of(dataset, part) for part in ("train", "test"))
    record.uses(one, two, test)
    if way != TRAINED:
        seen = train.images[:300] if way.endswith("activations") else None
        two = match(find_symmetries(one, test.images[:1]), one, two, inputs=seen).model
    return line(one, two, train, test, [0.0, 0.5])


# %% tags=["hide-input"] figure="fig-rec-merging"
merged = of(merged, **CHAIN)
merged["percent"] = 100 * merged["accuracy"]
merged["statistics"] = merged["batch_norm"].replace({"interpolated": "averaged"})
halfway = merged[merged["fraction"] == 0.5]
dots(
    halfway,
    *("statistics", "percent", "way"),
    colours=dict(
        zip(halfway["way"].unique(), (style.COLOURS[c] for c in ("ink", "blue", "sky")), strict=True)
    ),
    xlabel="statistics of batch norm",
    ylabel="accuracy halfway, %",
)

# %% [markdown]
# :::{figure} #fig-rec-merging
# ---
# alt: >-
#   Accuracy halfway in percent, with averaged and with re-estimated statistics: as trained it is lowest, matched it
#   is high once the statistics are re-estimated.
# ---
# Halfway to a matched network lies a good one, once the statistics of batch norm are re-estimated.
# Small dots: four pairs of Myrtle CNNs of width 16 on handwritten digits; large: their means.
# :::

# %% tags=["hide-input"]
half = halfway.pivot_table("percent", "way", "batch_norm")
by_pair = halfway[halfway["batch_norm"] == "re-estimated"].pivot(
    index="pair", columns="way", values="percent"
)
ends = merged[merged["fraction"] == 0.0].groupby("batch_norm")["percent"].mean()
ACTS, OLD, NEW = "matched by activations", "interpolated", "re-estimated"
told.say(half_trained_averaged=half.loc[TRAINED, OLD], half_trained=half.loc[TRAINED, NEW])
told.say(half_matched_averaged=half.loc[ACTS, OLD], half_matched=half.loc[ACTS, NEW])
told.say(pairs=merged["pair"].nunique())
readable(
    half.reset_index(),
    {"way": "second network", OLD: "statistics averaged, %", NEW: "re-estimated, %"},
    digits=1,
    title="Mean accuracy halfway",
)

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "Matched by activations, the mean halfway is right 20 points more often, with either statistics.":
        half.loc[ACTS] > half.loc[TRAINED] + 20,
    "Matched by activations and re-estimated, the mean halfway is within 3 points of the first end.":
        half.loc[ACTS, NEW] > ends[NEW] - 3,
    "Matched by weights and re-estimated, it is right less often than by activations, in each pair.":
        by_pair["matched by weights"] < by_pair[ACTS],
    "Matched by activations with averaged statistics, it is 20 points below it.":
        half.loc[ACTS, OLD] < ends[OLD] - 20,
})
# fmt: on

# %% [markdown]
# *What would change it*: harder data: on CIFAR-10 the average still loses accuracy ({ref}`sec-connected`); networks
# without batch norm; a better search, or other matrices than permutations with positive scalings.
#
# (rec-normal-forms)=
# ## Normal forms of one orbit agree
#
# > *Stated*: ours. `canonicalise` gives networks of one orbit equal weights, unless units tie.
#
# ResNet-20s of width 4 are moved by random elements.
# A difference is the largest of a parameter, divided by its largest entry.


# %% tags=["hide-input"]
def apart_by(one, two):
    """The largest relative difference of a parameter."""
    both = zip(one.parameters(), two.parameters(), strict=True)
    return max(relative_error(p.detach(), q.detach()) for p, q in both)


# %%
@record.table([BLOCKS | {"network": k} for k in range(RESNETS)])
def normal_forms(dataset, width, epochs, network):
    model, test = residual(dataset, width, epochs, network), images_of(dataset, "test")
    record.uses(model, test)
    space = find_symmetries(model, test.images[:1].double())
    moved = space.act(model, space.sample(torch.Generator().manual_seed(network)))
    one, two = (canonicalise(space, each) for each in (model, moved))
    units = sum(each.size for each in space.spaces)
    how = {"spaces": len(space.spaces), "units": units, "undetermined": len(two.undetermined)}
    return {"moved": apart_by(model, moved), "normal": apart_by(one.model, two.model)} | how


# %% tags=["hide-input"]
normal_forms = of(normal_forms, **BLOCKS)
shown = normal_forms.assign(normal=[f"{each:.0e}" for each in normal_forms["normal"]])
headings = {
    "network": "network",
    "moved": "moved by",
    "normal": "normal forms apart by",
    "undetermined": "open",
}
readable(shown, headings, digits=1, title="Largest relative difference of a parameter")

# %% tags=["hide-input"]
told.say(gap_normal=normal_forms["normal"].max())
told.say(resnets=len(normal_forms))
# fmt: off
told.check_all({
    "A random element changes some parameter by more than its largest entry.": normal_forms["moved"] > 1,
    "Normal forms of one orbit differ by less than 1e-9 of the largest entry.":
        normal_forms["normal"] < 1e-9,
    "No space is left open.": normal_forms["undetermined"] == 0,
})
# fmt: on

# %% [markdown]
# *What would change it*: equal units, or units of zeros, which no rule can sort; float32, in which wide layers tie by
# chance; a normal form proves that two networks lie on one orbit, and not that two others compute different functions.
#
# (rec-noise)=
# ## Finding a known element through noise
#
# > *Stated*: ours. A copy that was rounded, or trained further, lies near the orbit, not on it.
#
# Normal noise is added to each parameter, in units of the standard deviation of its entries; then a random element
# moves the network, and `match` is asked for it.
# Chance is one unit in each hidden space.


# %%
@record.table([BLOCKS | {"network": k} for k in range(RESNETS)], noise=NOISE, by=["weights", "activations"])
def noisy(dataset, width, epochs, network, noise, by):
    model, test = residual(dataset, width, epochs, network), images_of(dataset, "test")
    record.uses(model, test)
    images, draw = test.images.double(), torch.Generator().manual_seed(network)
    space = find_symmetries(model, images[:1])
    element, blurred = space.sample(draw), copy.deepcopy(model)
    for p in blurred.parameters():  # one direction of noise for all its sizes
        z = torch.randn(p.shape, generator=draw, dtype=p.dtype).to(p)
        p.data += noise * p.data.std(correction=0) * z
    moved = space.act(blurred, element)
    found = match(space, model, moved, inputs=images[:100] if by == "activations" else None).element
    hits = [(found[name].order == each.order).flatten() for name, each in space.inverse(element).items()]
    return {"units": 100 * torch.cat(hits).double().mean().item()}


# %% tags=["hide-input"] figure="fig-rec-noise"
noisy = of(noisy, **BLOCKS)
dots(
    noisy.assign(noise=noisy["noise"].map("{:g}".format)),
    *("noise", "units", "by"),
    colours={"weights": style.COLOURS["blue"], "activations": style.COLOURS["sky"]},
    xlabel="noise, standard deviations (not to scale)",
    ylabel="units found, %",
    level=normal_forms["spaces"].iloc[0] / normal_forms["units"].iloc[0] * 100,
)

# %% [markdown]
# :::{figure} #fig-rec-noise
# ---
# alt: >-
#   Percent of units against noise from 0 to 3 standard deviations: the marks of matching by weights stay at 100,
#   those of matching by activations fall towards the dotted line of chance.
# ---
# Matching by weights finds every unit, through noise of three standard deviations of the weights; matching by
# activations finds fewer than half at one.
# Small dots: five ResNet-20s of width 4; large: their means; dotted: chance.
# :::

# %% tags=["hide-input"]
units = noisy.pivot_table("units", "noise", "by")
told.say(noise_activations=units.loc[1.0, "activations"])
by_one = noisy.pivot(index=["noise", "network"], columns="by", values="units")
readable(
    units.reset_index(),
    {"noise": "noise", "weights": "by weights, %", "activations": "by activations, %"},
    digits=1,
    title="Units found, mean over networks",
)

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "Without noise both ways find every unit of each network.": by_one.loc[0.0] == 100,
    "Matching by weights finds every unit of each network, at each size of noise.":
        by_one["weights"] == 100,
    "At one standard deviation activations find fewer than half of the units, in each network.":
        by_one.loc[1.0, "activations"] < 50,
    "At one and at three standard deviations weights find more, in each network.":
        by_one.loc[1.0:, "weights"] > by_one.loc[1.0:, "activations"],
})
# fmt: on

# %% [markdown]
# *What would change it*: noise that training or rounding makes, which is not independent from weight to weight;
# networks that were trained apart, where activations do at least as well ({ref}`sec-connected`).
#
# (rec-teleport)=
# ## Teleportation: a larger gradient
#
# > *Stated* by {cite:t}`zhao2022`: moving the weights along the orbit to a point where the gradient is larger speeds
# > gradient descent up. They search by gradient ascent over the group, several times during training.
#
# Ours is the closed form with a bound of {eq}`eq-teleport`, once, after 20 steps at a rate of 0.3.
# Networks have one hidden layer of 16 neurons, on eight principal components of 500 images; the loss is that of
# training.


# %% tags=["hide-input"]
@lru_cache
def reduced(dataset, images, components):
    """The first images in their last principal components, and their classes."""
    train = images_of(dataset, "train")
    x = train.images.flatten(1).double().cpu()
    axes = torch.linalg.eigh(torch.cov(x.T))[1][:, -components:]
    return (x @ axes)[:images] / 3, train.labels[:images].cpu()


def loss_on(x, y):
    def loss(weights):
        W1, b1, W2, b2 = weights
        return nn.functional.cross_entropy(torch.relu(x @ W1.T + b1) @ W2.T + b2, y)

    return loss


def descend(loss, weights, rate, steps):
    """Weights and gradient, before each step of gradient descent and after the last."""
    gradient = torch.func.grad(loss)
    for _ in range(steps + 1):
        slope = gradient(weights)
        yield weights, slope
        weights = [w - rate * g for w, g in zip(weights, slope, strict=True)]


def teleport(loss, weights, reach):
    """The point of the orbit with the largest gradient, by scalings in [1/reach, reach]."""
    (W1, b1, W2, b2), (G1, g1, G2, _) = weights, torch.func.grad(loss)(weights)
    into, out = G1.square().sum(1) + g1.square(), G2.square().sum(0)
    a = torch.where(into > out, 1 / reach, reach)
    return [a[:, None] * W1, a * b1, W2 / a, b2]


@lru_cache
def begun(dataset, width, images, components, before, network):
    """A loss, and weights after some steps from a random start."""
    x, y = reduced(dataset, images, components)
    loss, draw = loss_on(x, y), torch.Generator().manual_seed(network)
    sizes = [(width, components), (width,), (10, width), (10,)]
    bounds = [n**-0.5 for n in (components, components, width, width)]
    draws = [torch.rand(size, generator=draw, dtype=torch.float64) for size in sizes]
    start = [bound * (2 * u - 1) for bound, u in zip(bounds, draws, strict=True)]
    *_, (weights, slope) = descend(loss, start, 0.3, before)
    return loss, weights, sum(g.square().sum().item() for g in slope)


# %%
@record.table([PLAIN | {"network": k} for k in range(STARTS)], reach=REACHES, rate=RATES)
def teleported(dataset, width, images, components, before, network, reach, rate):
    record.uses(images_of(dataset, "train"))
    loss, weights, size = begun(dataset, width, images, components, before, network)
    there = teleport(loss, weights, reach) if reach > 1 else weights
    path = [*descend(loss, there, rate, max(MARKS))]
    larger = sum(g.square().sum().item() for g in path[0][1]) / size
    return [{"step": k, "loss": loss(path[k][0]).item(), "gradient": larger} for k in MARKS]


# %% tags=["hide-input"] figure="fig-rec-teleport"
teleported = of(teleported, **PLAIN)
teleported["start"] = teleported["reach"].map({1.0: "plain", 2.0: "r = 2", 4.0: "r = 4"})
losses = teleported.pivot_table("loss", ["rate", "step", "network"], "start")
last = losses.xs(100, level="step").groupby("rate").mean()
best = last.idxmin()  # the rate that gives each start the lowest mean loss at the end
same = teleported[teleported["rate"] == 1.0].assign(choice="learning rate 1")
chosen = teleported[teleported["rate"] == teleported["start"].map(best)]
mean_curves(
    pd.concat([same, chosen.assign(choice="the best rate of each start")]),
    *("step", "loss", "start"),
    panels="choice",
    xlabel="steps",
    ylabel="training loss",
    log=True,
)

# %% [markdown]
# :::{figure} #fig-rec-teleport
# ---
# alt: >-
#   Two panels of the loss on a logarithmic axis against the number of steps, one line each for plain, r = 2 and r = 4.
#   Left, the moved networks fall faster; right, the three lines end close to each other.
# ---
# At learning rate 1 teleported networks are ahead on average at every mark after the start.
# With the best of four learning rates plain descent is ahead after 5 steps, r = 4 from 10 on, and 100 steps leave small
# differences.
# Right: the rate with the lowest mean loss after 100 steps, {fact}`01d_orbits.tele_best_plain:.0f` for plain,
# {fact}`01d_orbits.tele_best_two:.0f` for r = 2 and {fact}`01d_orbits.tele_best_four:.0f` for r = 4.
# Mean over {fact}`01d_orbits.starts:.0f` networks with 95 % interval.
# :::

# %% tags=["hide-input"]
counts = (losses["r = 4"] < losses["plain"]).groupby(["rate", "step"]).sum().unstack("step")[[5, 10, 20, 100]]
shown = counts.rename(columns="{} steps".format).assign(moved=last["r = 4"], plain=last["plain"])
headings = {"rate": "learning rate"} | {f"{k} steps": f"ahead, {k} steps" for k in counts}
headings |= {"moved": "loss, r = 4", "plain": "loss, plain"}
readable(
    shown.reset_index().assign(rate=[f"{rate:g}" for rate in shown.index]),
    headings,
    title="Networks in which the move with r = 4 is ahead, and mean losses after 100 steps",
)

# %% tags=["hide-input"]
own_rate = losses.xs(100, level="step").groupby("network").min()  # each network has its own best rate
leads = own_rate[["r = 2", "r = 4"]].rsub(own_rate["plain"], axis=0)
rows = [
    {
        "start": start,
        "mean": leads[start].mean(),
        "low": interval(leads[start])[0],
        "high": interval(leads[start])[1],
    }
    for start in leads
]
readable(
    pd.DataFrame(rows),
    {"start": "moved with", "mean": "lead in loss", "low": "from", "high": "to"},
    digits=3,
    title="Lead after 100 steps if each network may choose its best rate, with 95 % interval over networks",
)

# %% tags=["hide-input"]
gradient = teleported[teleported["step"] == 0].groupby("start")["gradient"].mean()
(low_two, high_two), (low_four, high_four) = (interval(leads[name]) for name in ("r = 2", "r = 4"))
course = {name: losses.loc[rate, name].groupby("step").mean() for name, rate in best.items()}
others = pd.concat([course["plain"], course["r = 2"]], axis=1).min(axis=1)
slow = {rate: losses.loc[rate].groupby("step").mean().loc[5:] for rate in (0.3, 1.0)}
# fmt: off
told.say(starts=teleported["network"].nunique())
told.say(tele_best_plain=best["plain"], tele_best_two=best["r = 2"], tele_best_four=best["r = 4"])
told.say(tele_own_four=leads["r = 4"].mean(), tele_own_four_low=low_four, tele_own_four_high=high_four)
told.check_all({
    "No descent diverges.": np.isfinite(teleported["loss"]),
    "With r = 4 the squared norm of the gradient grows more than fivefold, on average.": gradient["r = 4"] > 5,
    "At rates 0.3 and 1 more than 15 of 20 moved networks are ahead after 5, 10, 20 and 100 steps.":
        every(counts.loc[[0.3, 1.0]] > 15, teleported["network"].nunique() == 20),
    "At rates 0.3 and 1 both moves are ahead on average at each mark after the start.":
        every(*(each["plain"] > each[name] for each in slow.values() for name in ("r = 2", "r = 4"))),
    "At rates 0.3 and 1 the lead of r = 4 in absolute loss ends below a quarter of its largest value.":
        [(lead := each["plain"] - each["r = 4"]).loc[100] < lead.max() / 4 for each in slow.values()],
    "At rate 6 fewer than 5 of 20 moved networks are ahead after 100 steps.": counts.loc[6.0, 100] < 5,
    "At rate 6 the move with r = 4 ends with 1.5 times the loss of plain descent.":
        last.loc[6.0, "r = 4"] > 1.5 * last.loc[6.0, "plain"],
    "With the best rate of each start plain descent is ahead after 5 steps.":
        course["plain"][5] < min(course["r = 2"][5], course["r = 4"][5]),
    "With the best rate of each start r = 4 is ahead from 10 steps on, on average.":
        course["r = 4"].loc[10:] < others.loc[10:],
    "With the best rate of each start the moved losses end within a fifth of the plain one.":
        [0.8 < course[name][100] / course["plain"][100] < 1 for name in ("r = 2", "r = 4")],
    "At rate 3, the best of both, the move with r = 4 is behind after 5 steps in 19 of 20 networks.":
        every(counts.loc[3.0, 5] == 1, best["plain"] == best["r = 4"] == 3.0),
    "At rate 6 the move with r = 2 is ahead on average after 100 steps, and r = 4 in no more than 4 of 20.":
        every(last.loc[6.0, "r = 2"] < last.loc[6.0, "plain"], counts.loc[6.0, 100] <= 4),
    "If each network may choose its best rate, the lead of r = 4 is not established, that of r = 2 is.":
        every(low_four < 0 < high_four, high_four < 0.05, low_two > 0, high_two < 0.05),
})
# fmt: on

# %% [markdown]
# *What would change it*: a finer and longer grid of learning rates (6, the best of r = 2, is its last); another loss
# than the training loss; teleporting more than
# once; the curvature, which the move changes as well and which may harm at a large rate; we did not measure it there.
#
# (rec-orbits-deviations)=
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
# * - SliceGPT
#   - language models; other axes in each block, with a matrix on each shortcut; rows and columns are deleted
#   - one rotation for the whole stream; channels are set to 0
#   - axes of its own would collect more of a block's stream
# * - equalisation
#   - MobileNets at 8 bits, with bias correction; activations rounded, too
#   - Myrtle CNNs (four convolutions in a row), weights alone
#   - the gain is smaller where channels are alike
# * - git re-basin
#   - permutations; perceptrons, VGGs and ResNets on MNIST, CIFAR and ImageNet
#   - permutations with positive scalings; Myrtle CNNs of width 16 on digits
#   - digits are easy: the ends are nearly always right
# * - teleportation
#   - gradient ascent over the group, several times during training
#   - closed form with a bound on the scalings, once
#   - a free search may reach larger gradients
# :::
#
# **What the authors' code does that this book does not.**
# QuaRot also multiplies Hadamard matrices while the network runs, into queries, keys and the inputs of the last linear
# maps, and rounds the cache.
# SliceGPT removes rows and columns, and so makes the weights smaller.
# Git re-basin also matches by a straight-through estimator, and merges more than two networks.
# Data-free quantisation absorbs large biases into the next layer and corrects the mean error of each output.
# None of it is repeated here.
#
# (rec-orbits-claims)=
# ## All claims
#
# No printed number is judged on this page, so the list of claims is empty.
# All sentences of ours stand checked in their sections.

# %% tags=["hide-input"]
facts = told.facts


def summary(statement, ours, setting):
    return {"statement": statement, "printed": "–", "ours": ours, "scale": setting, "verdict": "ours"}


rows = [
    summary(
        "Bits that a rotation saves where one channel is an outlier:",
        f"{facts['won_bits']:.1f}",
        f"{facts['transformers']} transformers",
    ),
    summary("… where none is:", "none from 4 bits on", "the same, without an outlier"),
    summary(
        "Accuracy with half of the channels, principal axes · as trained, %:",
        f"{facts['slice_half_axes']:.0f} · {facts['slice_half_trained']:.0f}",
        f"{facts['transformers']} transformers",
    ),
    summary(
        "Error at 4 bits with one step a layer, as trained · scaled at random · equalised, %:",
        f"{facts['equal_trained']:.0f} · {facts['equal_scaled']:.0f} · {facts['equal_even']:.0f}",
        f"{facts['pairs']} Myrtle CNNs",
    ),
    summary(
        "Accuracy halfway between two networks, as trained · matched, %:",
        f"{facts['half_trained']:.0f} · {facts['half_matched']:.0f}",
        f"{facts['pairs']} pairs, batch norm re-estimated",
    ),
    summary(
        "Normal forms of one orbit differ by", f"{facts['gap_normal']:.0e}", f"{facts['resnets']} ResNet-20s"
    ),
    summary(
        "Units that matching by weights · activations finds through noise of one standard deviation, %:",
        f"{units.loc[1.0, 'weights']:.0f} · {facts['noise_activations']:.0f}",
        f"{facts['resnets']} ResNet-20s",
    ),
    summary(
        "Lead of a move with r = 4 after 100 steps, each network at its best rate:",
        f"{facts['tele_own_four']:.3f} [{facts['tele_own_four_low']:.3f}, {facts['tele_own_four_high']:.3f}]".replace(
            "-", "−"
        ),
        f"{facts['starts']} networks, not established",
    ),
]
headings = {name: name for name in ("statement", "printed", "ours", "scale", "verdict")}
glue("rec-orbits-summary", readable(pd.DataFrame(rows), headings, title="What was found"), display=False)
told.board()
