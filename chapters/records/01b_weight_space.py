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
# # R1b · Record: symmetries in weight space
#
# :::{admonition} What this page tests
# :class: tip
# {doc}`../01b_weight_space` explains what an orbit leaves as it is, and what training conserves; here is the evidence.
# Each section has one statement of {cite:t}`godfrey2022`, of other authors, or of ours: as printed, the code that
# computes our rows, a figure, the verdicts, and what would change them.
# Proofs stand in the chapter.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ```{glue} rec-weights-summary
# ```
#
# Errors are relative, and all numbers have 64 bits.
# {ref}`All claims <rec-weights-claims>` stand at the end.

# %% tags=["parameters"]
from typing import Literal

scale: Literal["smoke", "quick", "desk", "paper"] = "quick"  # quick reads rows, desk computes missing ones
own: str = ""  # a folder for rows of your own code
more_trials: int = 0  # networks and draws, beyond those on record
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one

# %% tags=["hide-input"]
import math
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import torch
from myst_nb import glue
from torch import nn
from torch.autograd.functional import hessian
from torch.func import grad, jacrev
from torch.nn.functional import cross_entropy

from intertwine import devices
from intertwine.groups import GReLU, as_activation, intertwiner_group
from intertwine.weightspace import balance, find_symmetries, imbalance, relative_error
from intertwine_book import data, models
from intertwine_book.figures import style
from intertwine_book.figures.curves import mean_curves, single_curves
from intertwine_book.figures.readable import readable
from intertwine_book.live.valley import of_digits
from intertwine_book.record import Record
from intertwine_book.tidy import ends, every, of
from intertwine_book.told import Told

style.use_style()
device = devices.pick(device)
record = Record.at("01b_weight_space", scale, own)
told = Told(record, "01b_weight_space", scale)

# %% [markdown]
# ## Settings and networks
#
# `TRAINED` is the network of the chapter's valley: one hidden layer of ReLU on the first eight principal components of
# 500 handwritten digits, trained by L-BFGS.
# Its Hessian is small enough to be computed whole.
# `STARTS` are untrained networks of this form; a trial is the seed of its weights.

# %% tags=["hide-input"]
tiny = scale == "smoke"
TRAINED = {"dataset": "digits", "width": 3 if tiny else 8, "seed": 0}
STARTS = {"dataset": "digits", "width": 3 if tiny else 8, "duration": 4.0 if tiny else 20.0}
LONG = {"dataset": "digits", "learning_rate": 0.02, "steps": 50 if tiny else 1500}
TRIALS = range((2 if tiny else 20) + more_trials)
FIVE = range((1 if tiny else 5) + more_trials)
TIMES = [-1.0, 0.0, 1.0] if tiny else [k / 4 for k in range(-8, 9)]  # positions on the orbit
SHARP = 1.0 if tiny else 1.25
RATES, DECAYS = [0.4, 0.2, 0.1], [0.0, 0.02, 0.05]
COARSE, MIDDLE, FINE = RATES
ACTIVATIONS = ["ReLU", "tanh", "GELU", "abs", "square"]
LINEAR, DIAGONAL, FREE = "linear, whole matrix", "ReLU, diagonal", "ReLU, off the diagonal"


@lru_cache
def images_of(dataset):
    return data.load(dataset, "train", device=device)


@lru_cache
def trained(width, seed):
    return of_digits(width, seed)


@lru_cache
def network_of(dataset, width, seed):
    """A trained network: W1, b1, W2, b2, all of them in one vector, and the loss as its function."""
    assert dataset == "digits"
    made = trained(width, seed)
    weights, x, labels = [w.to(device) for w in made.weights], made.x.to(device), made.labels.to(device)

    def loss(flat):
        parts = flat.split([w.numel() for w in weights])
        W1, b1, W2, b2 = (part.view_as(w) for part, w in zip(parts, weights, strict=True))
        return cross_entropy(torch.relu(x @ W1.T + b1) @ W2.T + b2, labels)

    return weights, flattened(weights), loss


@lru_cache
def hessian_of(dataset, width, seed):
    _, point, loss = network_of(dataset, width, seed)
    return hessian(loss, point)


def flattened(weights):
    return torch.cat([w.flatten() for w in weights])


def sharpness(at, H):
    """The largest eigenvalue of the Hessian, and of |W| H |W|."""
    relative = at.abs()[:, None] * H * at.abs()
    ends = (torch.linalg.eigvalsh(each)[-1].item() for each in (H, relative))
    return dict(zip(("largest_eigenvalue", "relative_eigenvalue"), ends, strict=True))


def spread(column):
    return column.max() / column.min()


calculated = partial(told.claim, paper="godfrey2022", per=None)
rounding = {"error": 1e-9, "error_from": "rounding"}

# %% [markdown]
# (rec-orbit)=
# ## §3.2: along an orbit
#
# > *Printed*: "From Proposition 3.4 we can also derive corollaries regarding symmetries of the loss landscape — these
# > are included in appendix E.6."
# > (We do not have the appendix.)
# > {cite:t}`dinh2017` show that scalings make a minimum of a ReLU network as sharp as one likes.
#
# All weights into the hidden neurons are multiplied by $e^t$, all weights out of them by $e^{-t}$.
# `hessian_error` and `gradient_error` compare derivatives that are computed at the moved weights with {eq}`eq-hessian`
# and {eq}`eq-gradient`.


# %%
@record.table([TRAINED], t=TIMES)
def orbit(t, **which):
    weights, point, loss = network_of(**which)
    record.uses(images_of(which["dataset"]))
    W1, b1, W2, b2 = (torch.ones_like(w) for w in weights)
    g = flattened([math.exp(t) * W1, math.exp(t) * b1, math.exp(-t) * W2, b2])
    at, H, slope = g * point, hessian(loss, g * point), grad(loss)(g * point)
    return {
        "loss": loss(at).item(),
        "loss_error": abs(loss(at) / loss(point) - 1).item(),
        "gradient_norm": slope.norm().item(),
        "squared_norm": at.square().sum().item(),
        "gradient_error": relative_error(slope, grad(loss)(point) / g),
        "hessian_error": relative_error(H, hessian_of(**which) / g[:, None] / g),
        **sharpness(at, H),
    }


# %% [markdown]
# Random elements of ReLU's group, permutations with positive scalings ({fact}`01b_weight_space.drawn_elements:.0f`
# draws); here $g$ is a matrix.


# %%
@record.table([TRAINED], trial=TRIALS)
def elements(trial, **which):
    weights, point, loss = network_of(**which)
    record.uses(images_of(which["dataset"]))
    A = GReLU(which["width"]).sample(torch.Generator().manual_seed(trial)).to(point)

    def moved(flat):
        parts = flat.split([w.numel() for w in weights])
        W1, b1, W2, b2 = (part.view_as(w) for part, w in zip(parts, weights, strict=True))
        return flattened([A @ W1, A @ b1, W2 @ torch.linalg.inv(A), b2])

    g, at = jacrev(moved)(point), moved(point)
    H, before = hessian(loss, at), hessian_of(**which)
    of_start = {f"{name}_start": each for name, each in sharpness(point, before).items()}
    return {
        "loss_error": abs(loss(at) / loss(point) - 1).item(),
        "gradient_error": relative_error(g.T @ grad(loss)(at), grad(loss)(point)),
        "hessian_error": relative_error(g.T @ H @ g, before),
        **sharpness(at, H),
        **of_start,
    }


# %% [markdown]
# The loss on a straight line through two points of the orbit, in the direction in which it bends most: the eigenvector
# of the largest eigenvalue of the Hessian there.


# %%
@record.table([TRAINED], t=[0.0, SHARP])
def cuts(t, **which):
    weights, point, loss = network_of(**which)
    record.uses(images_of(which["dataset"]))
    W1, b1, W2, b2 = (torch.ones_like(w) for w in weights)
    at = flattened([math.exp(t) * W1, math.exp(t) * b1, math.exp(-t) * W2, b2]) * point
    top = torch.linalg.eigh(hessian(loss, at))[1][:, -1]
    return [{"distance": k / 40, "loss": loss(at + k / 40 * top).item()} for k in range(-24, 25, 2)]


# %% tags=["hide-input"] figure="fig-rec-orbit"
named = {
    "loss": "loss",
    "relative_eigenvalue": "relative sharpness",
    "squared_norm": "squared norm",
    "gradient_norm": "gradient",
    "largest_eigenvalue": "largest eigenvalue",
}
line = of(orbit, **TRAINED).sort_values("t")
relative = line[[*named]] / of(line, t=0)[[*named]].to_numpy()
curves = relative.assign(t=line["t"]).rename(columns=named).melt("t", var_name="quantity")
tones = zip(named.values(), ("green", "orange", "grey", "blue", "red"), strict=True)
single_curves(
    curves,
    *("t", "value", "quantity"),
    colours={name: style.COLOURS[tone] for name, tone in tones},
    xlabel="position t on the orbit",
    ylabel="relative to t = 0",
    yscale="log",
)

# %% [markdown]
# :::{figure} #fig-rec-orbit
# ---
# alt: >-
#   Five curves against the position t on the orbit, on a logarithmic axis.
#   Loss and relative sharpness are horizontal; squared norm, gradient and largest eigenvalue have a minimum near
#   the middle and rise on both sides.
# ---
# Along the orbit, from $t = -2$ to $2$, the largest eigenvalue of the Hessian varies by a factor of
# {fact}`01b_weight_space.eigenvalue_factor:.0f`; the loss and the relative sharpness are constant.
# The norm of the gradient varies by a factor of {fact}`01b_weight_space.gradient_factor:.1f`, the squared norm of the
# weights by {fact}`01b_weight_space.norm_factor:.0f`.
# One network, whose training ended at t = 0 with a gradient of norm {fact}`01b_weight_space.gradient_end:.3f`.
# :::

# %% [markdown]
# The flattest of {fact}`01b_weight_space.points:.0f` points lies at $t =$ −{fact}`01b_weight_space.flattest:.1f`, with
# a largest eigenvalue of {fact}`01b_weight_space.eigenvalue_flattest:.1f` against
# {fact}`01b_weight_space.eigenvalue_end:.1f` at $t = 0$.
# The shortest of them is at $t = 0$, so the shortest network of an orbit need not be the flattest.

# %% tags=["hide-input"] figure="fig-rec-cuts"
through = of(cuts, **TRAINED).replace({"t": {0: "as trained", SHARP: f"t = {SHARP:g}"}})
single_curves(
    through,
    *("distance", "loss", "t"),
    colours=dict(zip(through["t"].unique(), (style.COLOURS["blue"], style.COLOURS["red"]), strict=True)),
    xlabel="distance in weight space",
    ylabel="loss",
)

# %% [markdown]
# :::{figure} #fig-rec-cuts
# ---
# alt: >-
#   Two valleys of the loss with the same lowest value, a wide one for the network as trained and a narrow one for the
#   moved network.
# ---
# The same network lies in a wide valley and in a narrow one.
# The loss along a straight line through two points of one orbit, each in the direction in which it bends most.
# :::

# %% tags=["hide-input"]
LOSS = "The loss is constant along an orbit of the intertwiner group."
GRADIENT = "The norm of the gradient is not constant along an orbit. (Ours; we do not have the appendix.)"
here = {"link": "rec-orbit"}
place = "§3.2, corollaries of Proposition 3.4"
words = {"loss_error": "change of the loss", "gradient_norm_ratio": "ratio of the norms"}
id = "godfrey-loss-along-orbit"
calculated(id, LOSS, line, "loss_error", kind="universal", place=place, words=words, **rounding, **here)
place = "§3.2, what the corollaries do not give"
ratio = line.assign(gradient_norm_ratio=line["gradient_norm"] / line["gradient_norm"].min())
ratio.attrs = line.attrs
id, above = "godfrey-gradient-along-orbit", {"kind": "existence", "error": 1.01, "error_from": "a hundredth"}
calculated(
    id, GRADIENT, ratio, "gradient_norm_ratio", place=place, words=words, whose="ours", **above, **here
)
told.verdicts()

# %% tags=["hide-input"]
drawn = of(elements, **TRAINED)
rise = of(cuts, **TRAINED).groupby("t")["loss"].agg(lambda loss: loss.max() - loss.min())
flattest, end = line.loc[line["largest_eigenvalue"].idxmin()], line.loc[line["t"].abs().idxmin()]
# fmt: off
told.check_all({
    "Loss, gradient and Hessian at the moved weights are those of the formulas.":
        every(*(rows[["loss_error", "gradient_error", "hessian_error"]] < 1e-8 for rows in (line, drawn))),
    "The relative sharpness is constant along the orbit.": spread(line["relative_eigenvalue"]) < 1 + 1e-8,
    "Permutations with positive scalings keep the relative sharpness.":
        abs(drawn["relative_eigenvalue"] / drawn["relative_eigenvalue_start"] - 1) < 1e-8,
    "They change the largest eigenvalue by a factor of 1.5 at least, in half of the draws.":
        np.median(drawn["largest_eigenvalue"] / drawn["largest_eigenvalue_start"]) > 1.5,
    "Gradient and squared norm vary by a factor of more than 5, the largest eigenvalue of more than 20.":
        every(spread(line["gradient_norm"]) > 5, spread(line["squared_norm"]) > 5,
              spread(line["largest_eigenvalue"]) > 20),
    "Training had ended: the gradient is small.": end["gradient_norm"] < 0.05,
    "Training ended elsewhere than at the flattest point.":
        every(flattest["t"] == -0.5, flattest["largest_eigenvalue"] < 0.6 * end["largest_eigenvalue"]),
    "The shortest point is where training ended.": line["squared_norm"].idxmin() == end.name,
    "The loss rises five times as far through the sharp point.": rise[SHARP] > 5 * rise[0.0],
})
# fmt: on
told.say(gradient_factor=spread(line["gradient_norm"]), eigenvalue_factor=spread(line["largest_eigenvalue"]))
told.say(norm_factor=spread(line["squared_norm"]), gradient_end=end["gradient_norm"], points=len(line))
told.say(eigenvalue_end=end["largest_eigenvalue"], eigenvalue_flattest=flattest["largest_eigenvalue"])
told.say(flattest=-flattest["t"], drawn_elements=len(drawn))  # the text writes the minus sign

# %% [markdown]
# *What would change it*: nothing for loss, gradient, Hessian and relative sharpness, which are theorems where the loss
# is twice differentiable; how far the sharpness varies depends on the network, of which there is one, and on the range
# of $t$.
#
# (rec-moved)=
# ## Proposition 3.4: what moves and what stays
#
# > *Printed.* "Suppose $A_i\in G_{\sigma_{n_i}}$ for $1\le i\le k-1$, and let
# > $W' = (A_1W_1, A_1b_1, A_2W_2\varphi_\sigma(A_1^{-1}), A_2b_2, \dots, W_k\varphi_\sigma(A_{k-1}^{-1}), b_k)$.
# > Then, as functions, for each $m$: $f_{\le m}(x,W') = \varphi_\sigma(A_m)\circ f_{\le m}(x,W)$ and
# > $f_{>m}(x,W') = f_{>m}(x,W)\circ\varphi_\sigma(A_m)^{-1}$. In particular, $f(x,W') = f(x,W)$ for all
# > $x\in\mathbb R^{n_0}$."
#
# Random networks with three hidden layers of eight neurons, five inputs and three outputs; three rows for each, one for
# every layer $m$.


# %% tags=["hide-input"]
class Pointwise(nn.Module):
    """An activation by its name."""

    def __init__(self, name):
        super().__init__()
        self.function = as_activation(name).function

    def forward(self, x):
        return self.function(x)


# %%
@record.table(activation=ACTIVATIONS, trial=TRIALS)
def proposition_3_4(activation, trial):
    draw, G = torch.Generator().manual_seed(trial), intertwiner_group(activation, 8)
    net = models.fcn([5, 8, 8, 8, 3], bias=True, activation=lambda: Pointwise(activation), seed=draw)
    net, x = net.double().eval(), torch.randn(50, 5, generator=draw, dtype=torch.float64)
    A = [G.sample(draw) for _ in range(3)]
    other = find_symmetries(net, x).act(net, {f"activation{m}": each for m, each in enumerate(A, 1)})
    rows = []
    for m, element in enumerate(A, 1):
        old, new = net[: 2 * m](x), other[: 2 * m](x)
        expected = old @ G.phi(element).T
        row = {"m": m, "front_error": relative_error(new, expected)}
        row |= {"back_error": relative_error(other[2 * m :](expected), net(x))}
        row |= {"function_error": relative_error(other(x), net(x))}
        rows.append(row | {"representation_changed": relative_error(new, old)})
    return rows


# %% tags=["hide-input"]
shown = proposition_3_4.groupby("activation", sort=False)[
    ["front_error", "back_error", "function_error", "representation_changed"]
]
shown = pd.concat([shown.max().iloc[:, :3], shown.min().iloc[:, 3:]], axis=1).reset_index()
shown = shown.assign(**{name: shown[name].map("{:.0e}".format) for name in shown.columns[1:4]})
shown["representation_changed"] = 100 * shown["representation_changed"]
headings = {"activation": "activation", "front_error": "front, at most", "back_error": "back, at most"}
headings |= {"function_error": "function, at most"}
headings |= {"representation_changed": "hidden values change by at least, %"}
readable(shown, headings, digits=0, title="Relative errors of the three equations")

# %% tags=["hide-input"]
CHANGE = (
    "Acting with intertwiner groups on the weights leaves the function alone and may change the hidden "
    "representations."
)
CUT = "A network of $k$ layers is cut at the layers $1 \\le i < k - 1$."
RANGE = {
    "kind": "misprint",
    "context": "The section cuts a network of $k$ layers into the layers up to $i$ and those after it.",
    "quote": "1 ≤ i < k − 1",
    "right": "$1 \\le i \\le k - 1$; the last hidden layer can be cut, too.",
}
equations = {
    "front": (
        "first equation",
        "With moved weights, $f_{\\le m}(x, W') = \\varphi_\\sigma(A_m) f_{\\le m}(x, W)$.",
    ),
    "back": (
        "second equation",
        "With moved weights, $f_{>m}(x, W') = f_{>m}(x, W) \\circ \\varphi_\\sigma(A_m)^{-1}$.",
    ),
    "function": ("the function", "With moved weights, $f(x, W') = f(x, W)$ for every input."),
}
here = {"link": "rec-moved"}
for name, (place, statement) in equations.items():
    at = {"kind": "universal", "place": f"Proposition 3.4, {place}"}
    at |= {"words": {f"{name}_error": "error", "m": "layer"}, "cases": ["activation", "m"]}
    id = f"godfrey-proposition-3-4-{name}"
    calculated(id, statement, proposition_3_4, f"{name}_error", **at, **rounding, **here)
words = {"representation_changed": "relative change of the hidden values", "m": "layer"}
at = {"kind": "existence", "place": "Abstract", "words": words, "cases": ["activation", "m"]}
at |= {"error": 0.01, "error_from": "a hundredth"}
id = "godfrey-representations-change"
calculated(id, CHANGE, proposition_3_4, "representation_changed", **at, **here)
because = "A range of an index, which the next sentences use as $1 \\le i \\le k-1$."
at = {
    "kind": "universal",
    "place": "§3, the decomposition of a network",
    "erratum": RANGE,
    "because": because,
}
calculated("godfrey-section-3-decomposition", CUT, None, "holds", **at, **here)
told.verdicts()

# %% tags=["hide-input"]
errors = proposition_3_4[["front_error", "back_error", "function_error"]]
least = proposition_3_4["representation_changed"].min()
# fmt: off
told.check_all({
    "The three equations hold to rounding in each network.": errors < 1e-13,
    "Hidden activations change by a tenth at least in each layer of each network.": least > 0.1,
})
# fmt: on
told.say(moved_networks=len(proposition_3_4) // 3, moved_error=errors.max(axis=None))
told.say(moved_least=math.floor(100 * least))

# %% [markdown]
# In {fact}`01b_weight_space.moved_networks:.0f` networks the largest error is
# {fact}`01b_weight_space.moved_error:.0e`, and hidden activations change by {fact}`01b_weight_space.moved_least:.0f` %
# of the largest at least.
#
# *What would change it*: nothing; it is a theorem ({prf:ref}`prop-moved`), and the rows test the library.
#
# (rec-last-weight)=
# ## Theorem 4.2: the index of the last weight
#
# > *Printed*: the moved weights end in "$\dots, W_k\varphi_\sigma(A_k^{-1}), b_k$".
#
# Proposition 3.4 has $A_{k-1}$.
# Where layers $k$ and $k-1$ have one width, the printed product exists, so that it can be tested: a ReLU network with
# five inputs, eight hidden neurons and eight outputs, moved by random elements $A_1$ and $A_2$.


# %%
@record.table(rule=["exact", "printed"], trial=TRIALS)
def theorem_4_2(rule, trial):
    draw, G = torch.Generator().manual_seed(trial), GReLU(8)
    shapes = (8, 5), (8, 8), (50, 5)
    W1, W2, x = (torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes)
    A1, A2 = G.sample(draw), G.sample(draw)
    last = W2 @ torch.linalg.inv({"exact": A1, "printed": A2}[rule])
    return {"error": relative_error(torch.relu(x @ (A1 @ W1).T) @ last.T, torch.relu(x @ W1.T) @ W2.T)}


# %% tags=["hide-input"]
INDEX = (
    "Moved with last weight $W_k\\varphi_\\sigma(A_k^{-1})$, the network keeps its function, and stitching can be "
    "lossless."
)
LAST = {
    "kind": "misprint",
    "context": (
        "The theorem moves the weights $W_1, \\dots, W_k$ of a network by matrices $A_i$, and says that a stitch "
        "between the old and the new network loses nothing."
    ),
    "quote": "…, W_k φ_σ(A_k⁻¹), b_k",
    "found": "The function changes in {deciding} of {cases} networks, by up to {value:.0f} times its size.",
    "right": "The last weight is $W_k\\varphi_\\sigma(A_{k-1}^{-1})$, as in Proposition 3.4.",
}
wrong = of(theorem_4_2, rule="printed")
at = {"kind": "universal", "place": "Theorem 4.2, the weights", "link": "rec-last-weight", "erratum": LAST}
at |= {"words": {"error": "relative change of the function"}}
calculated("godfrey-theorem-4-2-index", INDEX, wrong, "error", **at, **rounding)
told.verdicts()

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "With the index of Proposition 3.4 the function stays.": of(theorem_4_2, rule="exact")["error"] < 1e-12,
    "With the printed index outputs change by a tenth at least in each draw.": wrong["error"] > 0.1,
})
# fmt: on
told.say(wrong_index=math.floor(100 * wrong["error"].min()), wrong_index_draws=len(wrong))

# %% [markdown]
# With the printed index the outputs change by {fact}`01b_weight_space.wrong_index:.0f` % of the largest or more in
# {fact}`01b_weight_space.wrong_index_draws:.0f` draws.
#
# *What would change it*: nothing; where the widths of the last two layers differ, the printed product does not exist.
#
# (rec-converse)=
# ## The converse
#
# > *Not printed* in general: {prf:ref}`thm-converse`.
# > {cite:t}`tran2024` prove it where the groups are permutations with scalings.
#
# The proof names weights on which a matrix $A$ outside the group changes the function, whatever matrix $R$ stands in
# the next weights for $\varphi(A)^{-1}$: a layer that gives one $z$ with $R\,\sigma(Az)\ne\sigma(z)$ on every input.
# Here $A$ has normal entries, $R$ is fitted by least squares to 1,000 normal $z$, and the row has the largest
# difference among these, relative to the largest $\sigma(z)$.


# %%
@record.table(activation=ACTIVATIONS, matrix=["in the group", "outside"], trial=TRIALS)
def converse(activation, matrix, trial):
    draw, G = torch.Generator().manual_seed(trial), intertwiner_group(activation, 8)
    z, outside = (torch.randn(n, 8, generator=draw, dtype=torch.float64) for n in (1000, 8))
    A = outside if matrix == "outside" else G.sample(draw)
    sigma = as_activation(activation).function
    R = torch.linalg.lstsq(sigma(z @ A.T), sigma(z), driver="gelsd").solution.T
    return {"difference": relative_error(sigma(z @ A.T) @ R.T, sigma(z))}


# %% tags=["hide-input"]
shown = converse.pivot_table("difference", "activation", "matrix", aggfunc=["min", "max"], sort=False)
shown = pd.DataFrame(
    {
        "activation": shown.index,
        "inside": shown["max", "in the group"].map("{:.0e}".format).to_numpy(),
        "outside": 100 * shown["min", "outside"].to_numpy(),
    }
)
headings = {"activation": "activation", "inside": "in the group, at most", "outside": "outside, at least, %"}
readable(shown, headings, digits=0, title="Largest difference that the best R leaves")

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "A matrix in the group can be undone after the activation.":
        of(converse, matrix="in the group")["difference"] < 1e-8,
    "A random matrix outside the group is undone by no matrix, with each of five activations.":
        every(of(converse, matrix="outside")["difference"] > 0.05,
              converse["activation"].nunique() == len(ACTIVATIONS)),
})
# fmt: on

# %% [markdown]
# *What would change it*: nothing for the theorem; least squares makes the mean square smallest and not the largest
# difference, so another $R$ may leave less, though never nothing.
#
# (rec-drift)=
# ## What gradient descent conserves
#
# > *Published*: gradient flow conserves $W_iW_i^\top - W_{i+1}^\top W_{i+1}$ in linear networks, and its diagonal with
# > ReLU ({cite:t}`du2018`); {cite:t}`kunin2021` treat other symmetries, weight decay, and finite steps.
#
# $Q = W_1W_1^\top + b_1b_1^\top - W_2^\top W_2$ during gradient descent on the digits of the chapter, for a linear
# network and with ReLU.
# With ReLU no symmetry protects the entries off the diagonal.
# The drift is the Frobenius norm of the change, in percent of that at the start; time is the learning rate times the
# number of steps.


# %% tags=["hide-input"]
def start(width, outputs, draw):
    """Random weights, uniform in ±1/√(inputs of the layer)."""
    shapes, inputs = [(width, 8), (width,), (outputs, width), (outputs,)], (8, 8, width, width)
    draws = [torch.rand(shape, generator=draw, dtype=torch.float64) for shape in shapes]
    return [(2 * each - 1) / n**0.5 for each, n in zip(draws, inputs, strict=True)]


def part_of(quantity, weights):
    """Q, its diagonal, or its other entries."""
    W1, b1, W2, _ = weights
    Q = W1 @ W1.T + torch.outer(b1, b1) - W2.T @ W2
    whole = quantity == "linear, whole matrix"
    return Q if whole else Q.diagonal() if quantity == "ReLU, diagonal" else Q - torch.diag(Q.diagonal())


# %%
@record.table([STARTS], trial=TRIALS, rate=RATES, quantity=[LINEAR, DIAGONAL, FREE])
def drift(dataset, width, duration, trial, rate, quantity):
    made, images = trained(TRAINED["width"], TRAINED["seed"]), images_of(dataset)
    record.uses(images)
    sigma = torch.relu if quantity.startswith("ReLU") else torch.clone
    weights = start(width, len(images.classes), torch.Generator().manual_seed(trial))
    first, steps, rows = part_of(quantity, weights), round(duration / rate), []

    def loss(weights):
        W1, b1, W2, b2 = weights
        return cross_entropy(sigma(made.x @ W1.T + b1) @ W2.T + b2, made.labels)

    for step in range(steps + 1):
        if step % (steps // 10) == 0:
            apart = (part_of(quantity, weights) - first).norm() / first.norm()
            rows.append({"time": rate * step, "drift": 100 * apart.item()})
        weights = [w - rate * slope for w, slope in zip(weights, grad(loss)(weights), strict=True)]
    return rows


# %% tags=["hide-input"] figure="fig-rec-drift"
moving = of(drift, **STARTS).query("time > 0")
mean_curves(
    moving.assign(learning_rate="η = " + moving["rate"].astype(str)),
    *("time", "drift", "learning_rate"),
    panels="quantity",
    xlabel="time",
    ylabel="change, %",
    log=True,
)

# %% [markdown]
# :::{figure} #fig-rec-drift
# ---
# alt: >-
#   Three panels on a logarithmic axis.
#   Linear and ReLU diagonal: three curves one below the other, a factor of two apart.
#   Off the diagonal: three curves on top of each other, far above.
# ---
# Halving the learning rate about halves the drift of conserved quantities; the others change as much at every learning
# rate.
# Mean over {fact}`01b_weight_space.networks:.0f` networks with 95 % interval.
# :::

# %% tags=["hide-input"]
last = moving[moving["time"] > STARTS["duration"] - 1e-6]
last = last.pivot_table(index=["quantity", "trial"], columns="rate", values="drift")
kept, free = last.loc[[LINEAR, DIAGONAL]], last.loc[FREE]
shown = last.groupby("quantity").mean().loc[[LINEAR, DIAGONAL, FREE]].reset_index()
shown.columns = [str(column) for column in shown.columns]
headings = {"quantity": "quantity"} | {str(rate): f"η = {rate}" for rate in RATES}
readable(shown, headings, digits=1, title="Change at the end, in percent, mean over networks")

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "Halving the learning rate about halves the drift of conserved quantities, in each network.":
        every(*((kept[one] / kept[two]).between(1.8, 2.2) for one, two in ((COARSE, MIDDLE), (MIDDLE, FINE)))),
    "On average conserved quantities drift by less than 6 %.": kept.groupby("quantity").mean() < 6,
    "What no symmetry protects changes by more than half in each network.": free > 50,
    "It changes as much at every learning rate, on average.": free.mean().max() < 1.1 * free.mean().min(),
})
# fmt: on
whole = kept.loc[LINEAR]
told.say(drift_coarse=whole[COARSE].mean(), drift_fine=whole[FINE].mean(), networks=len(whole))
told.say(**ends(drift_free=free.mean()))

# %% [markdown]
# Each step adds $\eta^2Q_X(\nabla L)$ ({eq}`eq-step`), and a time $T$ takes $T/\eta$ steps, so the drift is
# proportional to η: in the linear network {fact}`01b_weight_space.drift_coarse:.1f` % on average at learning rate 0.4
# and {fact}`01b_weight_space.drift_fine:.1f` % at 0.1.
# The unprotected entries change by {fact}`01b_weight_space.drift_free_low:.0f` to
# {fact}`01b_weight_space.drift_free_high:.0f` % at the three learning rates.
#
# *What would change it*: larger steps, for which the drift is no longer small; batches, momentum, Adam.
#
# (rec-decay)=
# ## Weight decay
#
# > *Printed*, §7: "Our theoretical analysis in section 3 does not account for standard regularization techniques that
# > are known to have symmetry-breaking effects (for example weight decay reduces scaling symmetry)."
#
# Perceptrons with two hidden layers of 16 neurons on handwritten digits start out of balance: each is moved by a random
# element of its group, with logarithms of scalings of standard deviation 0.5.
# Gradient descent on all training images, with weight decay.
# `imbalance` is the norm of $2Q_X$ over all neurons, relative to the start; `predicted` is $e^{-2\lambda t}$; `excess`
# is the squared norm relative to the smallest of the orbit.


# %% tags=["hide-input"]
def out_of_balance(space, model):
    """The norm of the imbalances of all neurons."""
    return torch.cat([each.flatten() for each in imbalance(space, model).values()]).norm().item()


def squares(model):
    return sum(p.detach().square().sum().item() for p in model.parameters())


# %%
@record.table([LONG], trial=FIVE, weight_decay=DECAYS)
def decay(dataset, learning_rate, steps, trial, weight_decay):
    images = images_of(dataset)
    x, labels = images.images.flatten(1).double(), images.labels
    record.uses(images)
    model = models.fcn([64, 16, 16, 10], bias=True, seed=trial).double().eval().to(device)
    space = find_symmetries(model, x[:1])
    model = space.act(model, space.sample(torch.Generator().manual_seed(trial), scale=0.5))
    first, rows = out_of_balance(space, model), []
    optimiser = torch.optim.SGD(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    for step in range(steps + 1):
        if step % (steps // 10) == 0:
            row = {"time": learning_rate * step, "imbalance": out_of_balance(space, model) / first}
            row |= {"predicted": math.exp(-2 * weight_decay * learning_rate * step)}
            rows.append(row | {"excess": squares(model) / squares(balance(space, model).model)})
        optimiser.zero_grad()
        cross_entropy(model(x), labels).backward()
        optimiser.step()
    return rows


# %% tags=["hide-input"] figure="fig-rec-decay"
falling = of(decay, **LONG)
both = {"gradient descent": "imbalance", "theorem": "predicted"}
law = [falling.assign(value=falling[column], by=name) for name, column in both.items()]
mean_curves(
    pd.concat(law).assign(panel="λ = " + pd.concat(law)["weight_decay"].astype(str)),
    *("time", "value", "by"),
    panels="panel",
    xlabel="time",
    ylabel="imbalance",
    log=True,
)

# %% [markdown]
# :::{figure} #fig-rec-decay
# ---
# alt: >-
#   Three panels on a logarithmic axis, one for each weight decay, with the curves of gradient descent and of the
#   theorem on each other: level without weight decay, falling straight with it, faster for the larger one.
# ---
# Gradient descent at learning rate 0.02 follows the theorem to {fact}`01b_weight_space.flow_error:.1f` %: without
# weight decay the imbalance stays, with weight decay λ it falls as exp(−2λt).
# Mean over {fact}`01b_weight_space.decayed:.0f` perceptrons.
# :::

# %% tags=["hide-input"]
finish = falling[falling["time"] == falling["time"].max()].groupby("weight_decay")
shown = finish[["imbalance", "predicted", "excess"]].mean().reset_index()
begins = falling[falling["time"] == 0]["excess"].mean()
headings = {
    "weight_decay": "weight decay",
    "imbalance": "imbalance at the end",
    "predicted": "by the theorem",
}
headings |= {"excess": "squared norm, relative to the smallest of the orbit"}
title = f"At the end; the squared norm begins at {begins:.1f} times the smallest of its orbit"
readable(shown, headings, digits=3, title=title)

# %% tags=["hide-input"]
off = 100 * (falling["imbalance"] / falling["predicted"] - 1).abs()
excess = finish["excess"].mean()
# fmt: off
told.check_all({
    "Gradient descent with and without weight decay follows the theorem to 0.35 %.": off < 0.35,
    "Without weight decay the imbalance stays to a tenth of a percent.":
        abs(of(falling, weight_decay=0)["imbalance"] - 1) < 0.001,
    "The squared norm comes closer to the smallest of the orbit the larger the weight decay, on average.":
        excess.diff().dropna() < 0,
})
# fmt: on
told.say(flow_error=off.max(), decayed=falling["trial"].nunique(), excess_start=begins)
told.say(excess_none=excess.loc[DECAYS[0]], excess_most=excess.loc[DECAYS[-1]])

# %% [markdown]
# The squared norm begins at {fact}`01b_weight_space.excess_start:.2f` times the smallest of its orbit, on average.
# It ends at {fact}`01b_weight_space.excess_none:.2f` times without weight decay, as the weights grow while the
# imbalance stays, and at {fact}`01b_weight_space.excess_most:.3f` times with the strongest.
#
# *What would change it*: larger steps; batches; Adam, which divides each entry of the gradient by its own size, decay
# included; batch norm, before which the loss does not depend on the size of weights at all.
#
# (rec-authors-code)=
# ## What the authors' code does that this book does not
#
# We know of no experiment in the code of {cite:t}`godfrey2022` on the loss, the gradient or the Hessian along an orbit.
# It trains by Adam with an $L_2$ penalty on weights, those of batch norm included, and not on biases.
# {prf:ref}`thm-noether` says nothing of such a descent, and this page does not measure how it changes the imbalance.
#
# (rec-weights-deviations)=
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
# * - orbits
#   - of any network
#   - 8 hidden neurons on 8 principal components of 500 images: small enough for whole Hessians
#   - how far the sharpness varies
# * - Proposition 3.4
#   - a proof
#   - the proof of the chapter, and random networks
#   - nothing
# * - corollaries
#   - appendix E.6, which we do not have
#   - {eq}`eq-gradient` and {eq}`eq-hessian`
#   - the appendix may say more
# * - conserved quantities
#   - of gradient flow
#   - gradient descent with small steps, all images in one batch
#   - larger steps drift further
# :::
#
# (rec-weights-claims)=
# ## All claims
#
# Each is a calculation, so no verdict needs a correction for their number.

# %% tags=["hide-input"]
SUMMARY = {
    "godfrey-proposition-3-4-function": "Weights that are moved by the group compute the same function.",
    "godfrey-loss-along-orbit": "The loss is constant along an orbit.",
    "godfrey-gradient-along-orbit": "The norm of the gradient is not.",
    "godfrey-theorem-4-2-index": "The last weight is W_k φ(A_k⁻¹), as Theorem 4.2 prints.",
}
known = {made.id: found for made, found in told.claims}
rows = [
    {
        "statement": statement,
        "printed": "ours" if "gradient" in id else "yes",
        "ours": known[id].measured,
        "scale": "a calculation",
        "verdict": known[id].said,
    }
    for id, statement in SUMMARY.items()
]
rows += [
    {
        "statement": "The largest eigenvalue of the Hessian is not; the relative sharpness is.",
        "printed": "published by others",
        "ours": f"factors {spread(line['largest_eigenvalue']):.0f} and {spread(line['relative_eigenvalue']):.0f}",
        "scale": "one network, t from −2 to 2",
        "verdict": "ours",
    },
    {
        "statement": "With weight decay the imbalance falls as exp(−2λt).",
        "printed": "published by others",
        "ours": f"off by at most {off.max():.1f} %",
        "scale": f"{falling['trial'].nunique()} perceptrons, learning rate 0.02",
        "verdict": "ours",
    },
]
headings = {name: name for name in ("statement", "printed", "ours", "scale", "verdict")}
summary = readable(pd.DataFrame(rows), headings, title="What was found")
glue("rec-weights-summary", summary, display=False)
told.board()
