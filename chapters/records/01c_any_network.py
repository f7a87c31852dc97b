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
# # R1c · Record: any network
#
# :::{admonition} What this page tests
# :class: tip
# {doc}`../01c_any_network` explains how the symmetries of a network are found; here is the evidence.
# One statement is printed, Remark 3.6 of {cite:t}`godfrey2022` on residual connections; the rest is ours.
# Each section has the statement, the code that computes its rows, the result, and what would change it.
# Errors are relative to the largest value; below $10^{-9}$ they are rounding.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ```{glue} rec-any-summary
# ```
#
# {ref}`All claims <rec-any-claims>` stand at the end.

# %% tags=["parameters"]
from typing import Literal

scale: Literal["smoke", "quick", "desk", "paper"] = "quick"  # quick reads rows, desk computes missing ones
own: str = ""  # a folder for rows of your own code
more_trials: int = 0  # random draws of each calculation, beyond those on record
more_networks: list[str] = []  # of torchvision, to be moved as those on record
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one

# %% tags=["hide-input"]
import copy
from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd
import torch
from myst_nb import glue
from torch import nn
from torch.func import functional_call, jacrev

from intertwine import devices
from intertwine.groups import as_activation, intertwiner_group
from intertwine.training import evaluate
from intertwine.weightspace import find_symmetries, fold_biases, relative_error, verify
from intertwine.weightspace.solve.draw import in_symbols
from intertwine_book import data, models, zoo
from intertwine_book.figures import style
from intertwine_book.figures.readable import readable
from intertwine_book.live.architectures import Switches
from intertwine_book.live.recorded import recorded
from intertwine_book.live.views import key
from intertwine_book.record import Record
from intertwine_book.tidy import every, of
from intertwine_book.told import Told

style.use_style()
device = devices.pick(device)
record = Record.at("01c_any_network", scale, own)
told = Told(record, "01c_any_network", scale)
tiny = scale == "smoke"
TRIALS, DRAWS = range((2 if tiny else 20) + more_trials), range((1 if tiny else 5) + more_trials)


def normal(draw, *shape):
    return torch.randn(shape, generator=draw, dtype=torch.float64)


# %% [markdown]
# (rec-remark-3-6)=
# ## Remark 3.6: residual connections
#
# > *Printed*: "the statement of this theorem must be modified if the architecture of f contains residual connections.
# > By placing suitable restrictions on the matrices $A_i$ we can recover a form of eq. (3.5) provided $m$ occurs at the
# > end of a residual block. However, there doesn’t seem to be a way to obtain such an identity when $m$ occurs inside a
# > residual block". Footnote 3 has the restriction: $A_l = A_m$ if layers $l$ and $m$ are joined.
#
# A random network has three hidden layers of eight units and biases.
# The first layer is added to the third, in one of three places: output to output, output to pre-activation, or
# pre-activation to pre-activation.
# $A_1$ and $A_2$ are random elements, and $A_3$ follows a rule: *printed*, $A_3 = A_1$; *exact*, $A_3 = \varphi(A_1)$;
# *untied*, drawn by itself.
# Each trial has its own seed.
# {prf:ref}`thm-residual` proves the exact rule.

# %% tags=["hide-input"]
MIXED = "output to pre-activation"
plan = [{"joins": MIXED, "rule": rule} for rule in ("exact", "printed", "untied")]
plan += [{"joins": f"{each} to {each}", "rule": "printed"} for each in ("output", "pre-activation")]


class Pointwise(nn.Module):
    """An activation by its name."""

    def __init__(self, activation):
        super().__init__()
        self.function = as_activation(activation).function

    def forward(self, x):
        return self.function(x)


def residual(network, x, joins):
    """Three hidden layers, the first of which is added to the third."""
    fc1, sigma, fc2, _, fc3, _, fc4 = network
    z1 = fc1(x)
    h1, h3 = sigma(z1), fc3(sigma(fc2(sigma(z1))))
    if joins == "output to output":
        return fc4(sigma(h3) + h1)
    return fc4(sigma(h3 + (h1 if joins == MIXED else z1)))


# %%
@record.table(plan, activation=["ReLU", "tanh", "abs"], trial=TRIALS)
def remark_3_6(joins, rule, activation, trial):
    draw, G = torch.Generator().manual_seed(trial), intertwiner_group(activation, 8)
    A1, A2, free = (G.sample(draw) for _ in range(3))
    layers = {"bias": True, "activation": lambda: Pointwise(activation), "seed": draw}
    net, x = models.fcn([5, 8, 8, 8, 3], **layers).double().eval(), normal(draw, 50, 5)
    A3 = {"exact": G.phi(A1), "printed": A1, "untied": free}[rule]
    chain = find_symmetries(net, x)  # of the chain without its residual connection
    other = chain.act(net, {"activation1": A1, "activation2": A2, "activation3": A3})
    inside = relative_error(other[:4](x), net[:4](x) @ G.phi(A2).T)
    return {
        "error": relative_error(residual(other, x, joins), residual(net, x, joins)),
        "inside_error": inside,
    }


# %% tags=["hide-input"] figure="fig-rec-remark-3-6"
mixed = of(remark_3_6, joins=MIXED)
NAMES = {"ReLU": "ReLU", "tanh": "tanh", "abs": "|x|"}
RULES = {"exact": "blue", "printed": "red", "untied": "grey"}
figure, axis = style.new_figure(height=3.0)
for (row, name), (shift, rule) in product(enumerate(NAMES), enumerate(RULES)):
    errors = of(mixed, activation=name, rule=rule)["error"].clip(lower=1e-17)
    marks = {"ms": 4, "alpha": 0.5, "mew": 0, "color": style.COLOURS[RULES[rule]]}
    axis.plot(
        errors, [row + 0.22 * (shift - 1)] * len(errors), "o", **marks, label=rule if row == 0 else None
    )
axis.set_yticks(range(len(NAMES)), [*NAMES.values()])
axis.invert_yaxis()
axis.set(xscale="log", xlabel="change of the function, relative", ylabel="")
figure.legend(loc="outside upper center", ncols=3)
figure

# %% [markdown]
# :::{figure} #fig-rec-remark-3-6
# ---
# alt: >-
#   Three rows of dots, for ReLU, tanh and the absolute value, on a logarithmic axis. By the exact rule all lie at
#   rounding. By the printed rule those of ReLU and tanh do, and those of the absolute value lie near one. Untied
#   elements change all three.
# ---
# Where an output is added to a pre-activation, the printed rule changes networks with $|x|$; the exact rule changes
# none.
# A dot is a random network.
# :::

# %% tags=["hide-input"]
largest = remark_3_6.groupby(["joins", "rule", "activation"], sort=False)["error"].agg(["min", "max"])
wide = 100 * largest.unstack("activation").swaplevel(axis=1)
shown = pd.DataFrame({NAMES[name]: wide[name, "max"] for name in NAMES}).map(
    lambda value: "0, to rounding" if value < 1e-9 else f"{value:,.0f} %"
)
headings = {"joins": "what is added", "rule": "rule"} | {name: name for name in NAMES.values()}
readable(shown.reset_index(), headings, title="Largest change of the function")

# %% tags=["hide-input"]
ENOUGH = "It is enough that {} where a residual connection {}."
JOINS = "joins the layers $l$ and $m$"
claim = partial(
    told.claim,
    paper="godfrey2022",
    per=None,
    link="rec-remark-3-6",
    cases=["activation", "trial"],
    words={"error": "relative change of the function", "inside_error": "error"},
)
universal = partial(claim, kind="universal", error=1e-10, error_from="rounding")
claim(
    "godfrey-remark-3-6-modified",
    "With residual connections Proposition 3.4 fails as it stands: independent $A_i$ change the function.",
    of(mixed, rule="untied"),
    "error",
    kind="existence",
    error=0.001,
    error_from="rounding",
    place="Remark 3.6",
)
universal(
    "godfrey-remark-3-6-printed",
    ENOUGH.format("$A_l = A_m$", JOINS),
    of(mixed, rule="printed"),
    "error",
    place="Remark 3.6, footnote 3, output added to pre-activation",
    erratum={
        "kind": "remark",
        "context": "The matrix $A_l$ moves the weights of layer $l$. The remark says that shortcuts between layers "
        "constrain these matrices, and its footnote 3 how.",
        "quote": "A_l = A_m if layers l and m are joined by a sequence of residual connections",
        "found": "The function changes in {deciding} of {cases} networks; with the activation {activation} by "
        "{value:.2f} of its size.",
        "right": "Enough where an output is added to an output, or a pre-activation to a pre-activation. Where the "
        "output of layer $l$ is added to the pre-activation of layer $m$, the rule is $A_m = \\varphi_\\sigma(A_l)$, "
        "which has to lie in $G_\\sigma$; for ReLU, φ is the identity and both rules agree.",
    },
)
universal(
    "godfrey-remark-3-6-corrected",
    ENOUGH.format("$A_m = \\varphi_\\sigma(A_l)$", JOINS),
    of(mixed, rule="exact"),
    "error",
    place="Remark 3.6, footnote 3, corrected",
    whose="ours",
)
universal(
    "godfrey-remark-3-6-alike",
    ENOUGH.format("$A_l = A_m$", "adds two outputs, or two pre-activations"),
    remark_3_6[remark_3_6["joins"] != MIXED],
    "error",
    place="Remark 3.6, footnote 3, outputs or pre-activations added",
)
universal(
    "godfrey-remark-3-6-identity-inside",
    "Inside a residual block too, $f_{\\le m}(x, W') = \\varphi_\\sigma(A_m) f_{\\le m}(x, W)$, with $A_m$ free.",
    of(mixed, rule="exact"),
    "inside_error",
    place="Remark 3.6, the identity inside a block",
    whose="ours",
    erratum={
        "kind": "remark",
        "context": "Layer $m$ lies inside a residual block, so that a shortcut passes it. The first $m$ layers of the "
        "network are $f_{\\le m}$, the others $f_{>m}$.",
        "quote": "there doesn’t seem to be a way to obtain such an identity when m occurs inside a residual block",
        "right": "The identity for $f_{\\le m}$ holds inside the block; only the factorisation "
        "$f = f_{>m}\\circ f_{\\le m}$ fails there, because the shortcut goes round the layer.",
    },
)
told.verdicts()

# %% tags=["hide-input"]
absolute = of(mixed, activation="abs")
by_print = 100 * of(absolute, rule="printed")["error"]
others = mixed[(mixed["rule"] == "printed") & (mixed["activation"] != "abs")]
# fmt: off
told.check_all({
    "With |x| the printed rule changes each network by more than 9 % where an output meets a pre-activation.":
        by_print > 9,
    "With ReLU and tanh, whose φ is the identity, the printed rule changes nothing there.":
        others["error"] < 1e-14,
    "The exact rule changes no network, with any of three activations.":
        of(mixed, rule="exact")["error"] < 1e-14,
    "Between two outputs, or two pre-activations, the printed rule changes nothing.":
        remark_3_6[remark_3_6["joins"] != MIXED]["error"] < 1e-14,
    "Untied elements change each network by more than 5 %.": of(mixed, rule="untied")["error"] > 0.05,
    "The layer inside the block moves by its own element, whatever the rule.":
        remark_3_6["inside_error"] < 1e-14,
})
# fmt: on
told.say(shortcut_printed_low=by_print.min(), shortcut_printed_high=by_print.max())

# %% [markdown]
# *What would change it*: nothing; the exact rule is proved.
# The paper's appendix E, which proves its own form, is not in the text that we have.
# Its empirical evidence for the remark, figures 2, 6 and 9, is judged in chapters 3 and 4.
#
# (rec-rules)=
# ## What each operation allows: the rules, tried
#
# > *Not printed*: ours; the table in {ref}`sec-rules`.
#
# A small network for each operation, with three units before and after it.
# `find_symmetries` gives the group; a random element has to keep the outputs.
# The *kernel* is that of the Jacobian of the outputs with respect to the parameters.
# By {eq}`eq-functional` it bounds the dimension from above; what it exceeds the group by is missed by the rule, or no
# matrix on units.
# A network in which a unit is inactive on every input has more of it by accident.


# %% tags=["hide-input"]
class Small(nn.Module):
    """Parts, and what is done with them."""

    def __init__(self, run, parts):
        super().__init__()
        self.run = run
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


def small(operation, n=3):
    """A network whose first weights a (and b) write n units, and whose last weights read them."""
    linear, plain = partial(nn.Linear, bias=False), {"eps": 0.1, "elementwise_affine": False}
    convolutions = {"a": nn.Conv1d(5, n, 1, bias=False), "last": nn.Conv1d(n, 4, 1, bias=False)}
    second, block = {"b": linear(5, n)}, {"b": linear(n, 4), "c": linear(4, n)}
    normed = lambda m, x: m.last(m.norm(m.a(x)))
    after_sum = lambda m, x: m.last(m.norm((h := m.norm(m.a(x))) + m.c(m.b(h).tanh())))
    extra, run = {
        "linear map": ({}, lambda m, x: m.last(m.a(x))),
        "convolution": (convolutions, lambda m, x: m.last(m.a(x.mT).relu()).mT),
        "sum": (second, lambda m, x: m.last(m.a(x).relu() + m.b(x).relu())),
        "maximum": (second, lambda m, x: m.last(torch.maximum(m.a(x), m.b(x)))),
        "product": (second, lambda m, x: m.last(m.a(x) * m.b(x))),
        "ReLU": ({}, lambda m, x: m.last(m.a(x).relu())),
        "tanh": ({}, lambda m, x: m.last(m.a(x).tanh())),
        "batch norm, then ReLU": (
            {"norm": nn.BatchNorm1d(n)},
            lambda m, x: m.last(m.norm(m.a(x).flatten(0, 1)).relu()),
        ),
        "RMS norm": ({"norm": nn.RMSNorm(n, **plain)}, normed),
        "layer norm": ({"norm": nn.LayerNorm(n, **plain)}, normed),
        "norm after a sum": (block | {"norm": nn.RMSNorm(n, **plain)}, after_sum),
        "norm with a gain after a sum": (block | {"norm": nn.RMSNorm(n, eps=0.1)}, after_sum),
        "bias that repeats along the axis": (
            {"mix": nn.Linear(6, 4)},
            lambda m, x: m.last(m.mix(m.a(x).mT).mT.relu()),
        ),
        "concatenation": (
            {"b": linear(5, 2), "last": linear(n + 2, 6)},
            lambda m, x: m.last(torch.cat([m.a(x), m.b(x).tanh()], -1)),
        ),
        "differences, without a rule": ({}, lambda m, x: m.last(m.a(x).diff(dim=1))),
    }[operation]
    return Small(run, {"a": linear(5, n), "last": linear(n, 4)} | extra)


def kernel_of(net, x):
    """The dimension of the kernel of the Jacobian of the outputs, with respect to the parameters."""
    P = {name: each.detach() for name, each in net.named_parameters()}
    outputs = lambda P: functional_call(net, P, x).flatten()
    J = torch.cat([j.flatten(1) for j in jacrev(outputs)(P).values()], 1)
    return J.shape[1] - torch.linalg.matrix_rank(J, rtol=1e-10).item()


# %%
OPERATIONS = [
    "linear map",
    "convolution",
    "sum",
    "maximum",
    "product",
    "ReLU",
    "tanh",
    "batch norm, then ReLU",
]
OPERATIONS += ["RMS norm", "layer norm", "norm after a sum", "norm with a gain after a sum"]
OPERATIONS += ["bias that repeats along the axis", "concatenation", "differences, without a rule"]


@record.table(operation=OPERATIONS, trial=DRAWS)
def rules(operation, trial):
    draw = torch.Generator().manual_seed(trial)
    net, x = small(operation).double().eval(), normal(draw, 60, 6, 5)
    with torch.no_grad():
        for name, each in net.state_dict().items():
            if each.is_floating_point():
                spread = 0.3 if "norm" in name else 1.0
                centre = 1.0 if name in ("norm.weight", "norm.running_var") else 0.0
                each.copy_(centre + spread * (2 * torch.rand(each.shape, generator=draw) - 1))
    space = find_symmetries(net, x[:2])
    moved = space.act(net, space.sample(draw))
    groups = " and ".join(each.group for each in space.spaces) or "none"
    row = {"group": groups, "dimension": space.dimension, "kernel": kernel_of(net, x)}
    return row | {"outputs": relative_error(moved(x), net(x))}


# %% tags=["hide-input"]
each = rules.groupby("operation", sort=False)
shown = (
    each[["group", "dimension"]].first().assign(kernel=each["kernel"].min(), outputs=each["outputs"].max())
)
shown["outputs"] = ["0, to rounding" if error < 1e-9 else f"{error:.0%}" for error in shown["outputs"]]
shown["group"] = [" and ".join(map(in_symbols, group.split(" and "))) for group in shown["group"]]
headings = {"operation": "operation", "group": "group found", "dimension": "its dimension"}
headings |= {"kernel": "smallest kernel", "outputs": "outputs change by"}
readable(shown.reset_index(), headings, title="The group found behind each operation")

# %% tags=["hide-input"]
missed = each["kernel"].min() - each["dimension"].first()
SHORT = ["layer norm", "bias that repeats along the axis", "differences, without a rule"]
# fmt: off
told.check_all({
    "In each network a random element of the group found keeps the outputs.": rules["outputs"] < 1e-9,
    "Each draw of an operation has the same group.": each["group"].nunique() == 1,
    "The group is never larger than the kernel.": rules["kernel"] >= rules["dimension"],
    "But for three operations the kernel is no larger than the group.": missed.drop(SHORT) == 0,
    "At a layer norm, a repeated bias and an operation without a rule the group misses dimensions.":
        missed[SHORT] > 0,
    "An operation without a rule leaves no group.": of(rules, operation=SHORT[-1])["group"] == "none",
    "A gain that writes a stream after a sum takes its orthogonal matrices away.":
        every(of(rules, operation="norm after a sum")["group"].str.startswith("O(3)"),
              ~of(rules, operation="norm with a gain after a sum")["group"].str.startswith("O(")),
})
# fmt: on

# %% [markdown]
# After a layer norm the mean may move ({ref}`ex-mean-of-stream`); a repeated bias leaves two scalars, one before
# the weights that have it and one after; without a rule everything stays, although differences commute with every
# matrix.
#
# *What would change it*: a network in which a rule keeps too much; the kernel would then be smaller than the group.
# Smaller groups than the truth are expected, and {doc}`../../api/models` lists where.
#
# (rec-attention)=
# ## Attention: are these all symmetries?
#
# > *Not printed*: ours; {prf:ref}`prop-attention`, {prf:ref}`thm-attention` and {prf:ref}`thm-rotary`.
# > The largest group without positions is due to {cite:t}`tran2025`, attention with positions is treated by
# > {cite:t}`tran2026`.
#
# Attention without biases, on thirty random sequences.
# If the theorems are true, the kernel of the Jacobian has exactly the dimension of the group: for each head $d^2$
# between values and output, and between queries and keys $d^2$, or $d$ with rotary positions, or $d(d-1)/2$ if both
# pass an RMS norm.
# Three vectors a sequence are enough.


# %% tags=["hide-input"]
def turned(x):
    """Planes of coordinates that turn with the position."""
    d, places = x.shape[-1], torch.arange(x.shape[-2]).double()
    angles = 100.0 ** (-torch.arange(d // 2) / (d // 2)).double()
    turn = torch.exp(1j * torch.outer(places, angles))
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)


def attention(weights, tokens, kind):
    """Outputs for weights Wq, Wk, Wv of shape heads × d × n and Wo of shape heads × n × d."""
    q, k, v = (torch.einsum("bpn,hdn->bhpd", tokens, each) for each in weights[:3])
    if kind == "RMS norm of queries and keys":
        q, k = (each * (each.square().mean(-1, keepdim=True) + 0.1).rsqrt() for each in (q, k))
    if kind == "rotary positions":
        q, k = turned(q), turned(k)
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if kind == "causal mask":
        scores = scores + torch.full(scores.shape[-2:], -torch.inf).triu(1)
    return torch.einsum("bhpd,hnd->bpn", scores.softmax(-1) @ v, weights[3]).flatten()


# %%
KINDS = ["plain", "causal mask", "heads that share keys and values", "rotary positions"]
KINDS += ["RMS norm of queries and keys"]


@record.table(kind=KINDS, d=[2, 4], heads=[2], trial=DRAWS)
def theorems(kind, d, heads, trial):
    draw, n = torch.Generator().manual_seed(trial), 2 * d + 1
    pairs = 1 if kind == "heads that share keys and values" else heads
    between = {"rotary positions": d, "RMS norm of queries and keys": d * (d - 1) // 2}.get(kind, d * d)
    tokens = normal(draw, 30, 3, n)
    weights = [normal(draw, *shape) for shape in ((heads, d, n), (pairs, d, n), (pairs, d, n), (heads, n, d))]
    J = torch.cat([j.flatten(1) for j in jacrev(lambda w: attention(w, tokens, kind))(weights)], 1)
    kernel = J.shape[1] - torch.linalg.matrix_rank(J, rtol=1e-10).item()
    return {"group": pairs * (between + d * d), "kernel": kernel, "outputs": len(J)}


# %% tags=["hide-input"]
shown = theorems.groupby(["kind", "d"], sort=False)[["group", "kernel"]].agg(["min", "max"])
shown = pd.DataFrame(
    {"group": shown["group", "max"], "low": shown["kernel", "min"], "high": shown["kernel", "max"]}
)
headings = {"kind": "attention", "d": "width of a head", "group": "dimension of the group"}
headings |= {"low": "kernel, smallest", "high": "kernel, largest"}
readable(shown.reset_index(), headings, title="Two heads: the group and the kernel")

# %% tags=["hide-input"]
told.check(
    "In every draw the kernel has the dimension of the group, for each kind of attention and both widths of a head.",
    theorems["kernel"] == theorems["group"],
)

# %% [markdown]
# *What would change it*: biases, which add shifts ({ref}`rec-freedom`); weights of lower rank; heads with equal
# products
# $W_q^\top W_k$; two equal angles.
# A kernel is measured at random weights, and says nothing of finite symmetries; the proofs do.
#
# (rec-freedom)=
# ## The Jacobian of a small transformer
#
# > *Not printed*: ours; {ref}`sec-functional`.
#
# The transformer of one block on the page, with random weights of several seeds.
# `fold_biases` counts the shifts of biases that matrices on units do not give.
# {prf:ref}`thm-open` needs a rank that is constant near the weights; we test it at the weights and at five neighbours,
# a thousandth of their size away.


# %% tags=["hide-input"]
class OneBlock(nn.Module):
    """The transformer of the chapter."""

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
        x = x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))
        return self.head(self.norms[2](x))


# %%
@record.table(trial=range(1 if tiny else 3))
def freedom(trial):
    draw = torch.Generator().manual_seed(trial)
    with torch.random.fork_rng():
        torch.manual_seed(trial)
        net = OneBlock().double().eval()
    x = normal(draw, 20, 6, 8)
    space = find_symmetries(net, x[:2])
    report = verify(space, net, space.sample(draw), x[:5])
    near = []
    for _ in range(0 if tiny else 5):
        other = copy.deepcopy(net)
        for each in other.parameters():
            each.data += 1e-3 * each.data.abs().mean() * normal(draw, *each.shape)
        near.append(kernel_of(other, x))
    kernel = kernel_of(net, x)
    row = {"spaces": len(space.spaces), "dimension": space.dimension, "kernel": kernel}
    row |= {"shifts": fold_biases(space, net, x[:2]).dimension, "near": all(each == kernel for each in near)}
    return row | {"outputs": report.output, "hidden": 100 * report.spaces["changed"].median()}


# %% tags=["hide-input"]
headings = {"trial": "seed", "spaces": "hidden spaces", "dimension": "dimension of the group"}
headings |= {"shifts": "shifts of biases", "kernel": "kernel", "near": "equal at neighbours"}
readable(freedom, headings, title="A transformer of one block")

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "The kernel has the dimension of the group and of the shifts together, for each seed.":
        freedom["kernel"] == freedom["dimension"] + freedom["shifts"],
    "The rank is the same at neighbouring weights.": freedom["near"].astype(bool),
    "A random element keeps the outputs and changes hidden values by more than their size.":
        every(freedom["outputs"] < 1e-9, freedom["hidden"] > 100),
})
# fmt: on
told.say(block_shifts=freedom["shifts"].max())

# %% [markdown]
# *What would change it*: fewer inputs, which see less of the function; ReLU in place of GELU, where the rank depends on
# the weights {cite}`grigsby2025`.
#
# (rec-verified)=
# ## Networks that others wrote
#
# > *Not printed*: ours.
#
# Networks of torchvision with random gains, shifts and statistics, moved by random elements; `verify` compares every
# hidden value with what the element predicts.
# The vision transformer is torchvision's class with two layers of width 32.


# %% tags=["hide-input"]
def of_torchvision(name):
    from torchvision import models as published

    if "vision" in name:  # small enough for images of 32 × 32
        return published.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)
    return getattr(published, name)(weights=None)


def randomised(network, draw):
    """The network itself, in float64, with gains, shifts and statistics as no initialisation leaves them."""
    with torch.no_grad():
        for name, x in network.double().eval().state_dict().items():
            if x.ndim == 1 and x.is_floating_point():
                low = 0.0 if name.endswith(("bias", "running_mean")) else 1.0
                x.copy_(low + torch.rand(x.shape, generator=draw) - 0.5)
            elif not x.any():  # a last layer that starts with zeros
                x.copy_(torch.randn(x.shape, generator=draw))
    return network


# %%
listed = ["squeezenet1_1"] if tiny else ["resnet18", "mobilenet_v3_small", "a vision transformer"]


@record.table(network=[*listed, *more_networks], trial=range(1 if tiny else 3))
def verified(network, trial):
    draw = torch.Generator().manual_seed(trial)
    with torch.random.fork_rng():
        torch.manual_seed(trial)
        net = randomised(of_torchvision(network), draw).to(device)
    images = normal(draw, 2, 3, 32, 32).to(device)
    space = find_symmetries(net, images)
    report = verify(space, net, space.sample(draw), images)
    row = {"outputs": report.output, "spaces": len(space.spaces), "dimension": space.dimension}
    row |= {"representations": 100 * report.spaces["changed"].median()}
    return row | {"not_as_predicted": report.spaces["error"].max()}


# %% tags=["hide-input"]
shown = verified.groupby("network", sort=False).max().reset_index()
headings = {"network": "network", "spaces": "hidden spaces", "dimension": "dimension of the group"}
headings |= {"representations": "hidden values change by, %"}
readable(shown, headings, digits=0, title="Networks that verify moved")

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "A random element moves no output.": verified["outputs"] < 1e-13,
    "Every hidden value is what the element predicts.": verified["not_as_predicted"] < 1e-12,
    "Hidden values change by two to three times their size, in the median space.":
        verified["representations"].between(200, 310),
})
# fmt: on

# %% [markdown]
# *What would change it*: a network with a branch that its own values choose, which raises an error; an operation that
# the
# library reads wrongly, which `verify` would show.
#
# (rec-left-behind)=
# ## One parameter left behind
#
# > *Not printed*: ours.
#
# A ResNet-20 of width 4, trained on handwritten digits, is moved, and then *one* of the parameters and buffers that its
# first residual stream moves is put back.
# Only the recorded rows remain of the network.


# %% tags=["hide-input"]
@record.table(dataset=["digits"], width=[4], epochs=[1 if tiny else 4], seed=[0])
def left_behind(dataset, width, epochs, seed):
    train, test = (data.load(dataset, part, device=device) for part in ("train", "test"))
    shape = {"width": width, "in_channels": train.images.shape[1], "option": "B"}
    spec = zoo.Spec("resnet20", train, replace(zoo.RECIPES["digits"], epochs=epochs), shape)
    net = zoo.get(spec, [seed], device=device)[0].network.double().eval()
    record.uses(net, test)
    images, labels, some = test.images.double(), test.labels, test.images[:100].double()
    space = find_symmetries(net, images[:1])
    moved = space.act(net, space.sample(torch.Generator().manual_seed(seed)))
    stream = max(space.spaces, key=lambda each: each.logs)
    rows = [{"left_behind": "nothing", "change": 0.0, "accuracy": 100 * evaluate(net, images, labels)}]
    for name in [*stream.writers, *stream.readers]:
        broken = copy.deepcopy(moved)
        broken.state_dict()[name].copy_(net.state_dict()[name])
        with torch.no_grad():
            change = relative_error(broken(some), net(some))
        rows.append(
            {"left_behind": name, "change": change, "accuracy": 100 * evaluate(broken, images, labels)}
        )
    return rows


# %% tags=["hide-input"]
shown = left_behind.assign(change=100 * left_behind["change"])
headings = {"left_behind": "left behind", "change": "outputs change by, %", "accuracy": "accuracy, %"}
readable(shown, headings, digits=1, title="One parameter or buffer put back")

# %% tags=["hide-input"]
whole, cut = left_behind.iloc[0], left_behind.iloc[1:]
mild = cut["accuracy"] >= whole["accuracy"] - 1
# fmt: off
told.check_all({
    "Each parameter or buffer that is left behind changes the outputs by more than 1 %.": cut["change"] > 0.01,
    "In the worst case more than 50 points of accuracy are lost.":
        cut["accuracy"].min() < whole["accuracy"] - 50,
})
# fmt: on
told.say(cut_none=whole["accuracy"], cut_all=len(cut), cut_worst=cut["accuracy"].min(), cut_mild=mild.sum())

# %% [markdown]
# Of {fact}`01c_any_network.cut_all:.0f` parameters and buffers the worst takes the accuracy from
# {fact}`01c_any_network.cut_none:.0f` to {fact}`01c_any_network.cut_worst:.0f` %;
# {fact}`01c_any_network.cut_mild:.0f` cost at most a point.
#
# *What would change it*: another network or element; this is one of each.
#
# (rec-public)=
# ## Public architectures
#
# > *Not printed*: ours.
#
# The symmetry explorer has recorded public architectures of full size, and a block with each of its switches.
# A test compares its record with what the library finds today.

# %% tags=["hide-input"]
blocks = {
    switches: recorded()[key(switches)] for switches in map(Switches._make, product((True, False), repeat=6))
}
public = {name: view for name, view in recorded().items() if not name.isdigit()}


def share_of(view, role):
    return 100 * sum(s["dimension"] for s in view["spaces"] if role in s["role"]) / view["dimension"]


rows = [
    {
        "network": name,
        "parameters": view["parameters"],
        "dimension": view["dimension"],
        "share": 100 * view["dimension"] / view["parameters"],
        "heads": share_of(view, "in a head"),
        "stream": share_of(view, "residual stream"),
    }
    for name, view in public.items()
]
by_network = pd.DataFrame(rows).set_index("network")
headings = {"network": "network", "parameters": "parameters", "dimension": "dimension of the group"}
headings |= {"share": "of the parameters, %", "heads": "inside heads, %", "stream": "on streams, %"}
readable(
    by_network.reset_index(),
    headings,
    digits={"share": 2, "heads": 1, "stream": 1},
    title="Groups of public architectures",
)


# %% tags=["hide-input"]
def matrices(name, role=""):
    """The dimension of the spaces of this role on which matrices act."""
    spaces = [space for space in public[name]["spaces"] if role in space["role"]]
    return sum(space["dimension"] for space in spaces if space["group"].startswith(("O(", "GL(", "(ℂ*)")))


def stream_of(view):
    (stream,) = (space for space in view["spaces"] if space["role"] == "residual stream")
    return stream


language = ("GPT-2", "SmolLM-135M")
transformers = ("BERT", "ViT-B/16", *language)
rotated = {switches: switches.before and not switches.tied for switches in blocks}
turns = {True: 64 * 63 // 2, False: 63 * 62 // 2}  # by RMS norm or layer norm
# fmt: off
told.check_all({
    "ResNet-18 has scalings alone.": matrices("ResNet-18") == 0,
    "More than 80 % of the group of each transformer are matrices in heads and on streams.":
        [matrices(name) > 0.8 * public[name]["dimension"] for name in transformers],
    "No other spaces of a transformer have matrices.":
        [matrices(name, "in a head") + matrices(name, "residual stream") == matrices(name)
         for name in transformers],
    "The stream of ViT may be rotated.": matrices("ViT-B/16", "residual stream") == 767 * 766 // 2,
    "Those of GPT-2 and SmolLM may not, as one weight writes and reads them.":
        [matrices(name, "residual stream") == 0
         and stream_of(public[name])["why"][-1].endswith("writes and reads") for name in language],
    "The stream of BERT does not move.": all(s["role"] != "residual stream" for s in public["BERT"]["spaces"]),
    "General linear groups act between the blocks of MobileNet, at five widths.":
        matrices("MobileNetV3") == sum(n**2 for n in (16, 24, 40, 48, 96)),
    "The stream of a block may be rotated exactly if norms stand before and the embedding is not the last layer.":
        [stream_of(view)["group"].startswith("O(64)") == rotated[switches]
         for switches, view in blocks.items()],
    "Rotations of a block's stream have the dimension of O(64), or of those that keep the mean.":
        [stream_of(view)["dimension"] == turns[switches.rms]
         for switches, view in blocks.items() if rotated[switches]],
})
# fmt: on
told.say(gpt_heads=by_network.loc["GPT-2", "heads"])
told.say(share_low=by_network["share"].min(), share_high=by_network["share"].max())

# %% [markdown]
# Public networks have groups whose dimension is {fact}`01c_any_network.share_low:.2f` to
# {fact}`01c_any_network.share_high:.1f` % of their number of parameters.
#
# *What would change it*: another implementation of an architecture, which may untie its embedding.
#
# (rec-zoo)=
# ### Many more, moved
#
# Architectures of timm on small images and language models of transformers with small sizes, with random weights none
# of
# which is zero; one random element moves each.
# Language models are called as their tokenizers call them.

# %% tags=["hide-input"]
CONVOLUTIONS = """convnext_atto convnextv2_atto cs3darknet_focus_s darknet17 densenet121 dla34 dpn48b
    edgenext_xx_small efficientnet_lite0 efficientvit_b0 ghostnet_050 hardcorenas_a hgnetv2_b0 hrnet_w18_small
    inception_next_atto lcnet_035 mixnet_s mnasnet_small mobilenetv2_035 mobilenetv3_small_050
    mobilenetv4_conv_small_035 mobileone_s0 nf_regnet_b0 regnetx_002 regnety_002 repghostnet_050 repvgg_a0 resnet10t
    resnet18 resnext26ts resnetv2_18 rexnet_100 selecsls42 skresnet18 starnet_s050 tinynet_e vgg11_bn
    vovnet39a"""
VISION = """cait_xxs24_224 coat_lite_tiny convit_tiny crossvit_tiny_240 deit_tiny_patch16_224 levit_128s mixer_s32_224
    resmlp_12_224 swin_tiny_patch4_window7_224 tiny_vit_5m_224 twins_svt_small vit_tiny_patch16_224
    xcit_nano_12_p16_224"""
LANGUAGE = """bart biogpt bloom cohere cohere2 ctrl exaone4 gemma gemma2 glm glm4 gpt2 gpt_bigcode gpt_neox
    granite llama
    mistral olmo olmo2 olmo3 opt persimmon phi phi3 qwen2 qwen3 helium smollm3 stablelm starcoder2"""
SIZES = {
    99: "vocab_size",
    64: "max_position_embeddings n_positions n_ctx",
    48: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff n_inner hidden_dim",
    32: "hidden_size d_model n_embd dim embedding_size word_embed_proj_dim",
    16: "sliding_window",
    8: "head_dim",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads",
    2: """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers
        num_key_value_heads eos_token_id""",
    1: "bos_token_id decoder_start_token_id",
    0: "pad_token_id",
}


def published(library, network):
    """An untrained network of small size, and inputs of it."""
    draw = torch.Generator().manual_seed(0)
    if library == "transformers":
        import transformers

        config, auto = transformers.CONFIG_MAPPING[network](), transformers.models.auto.modeling_auto
        for n, names in SIZES.items():
            for name in names.split():
                if isinstance(getattr(config, name, None), int) or (name, network) == ("n_inner", "gpt2"):
                    setattr(config, name, n)
        chosen = {
            n: getattr(config, n) for names in SIZES.values() for n in names.split() if hasattr(config, n)
        }
        if isinstance(types := getattr(config, "layer_types", None), list):
            chosen["layer_types"] = ([*dict.fromkeys(types)] * 2)[:2]
        config = type(config)(**chosen)
        ids = torch.randint(3, 90, (2, 8), generator=draw)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        return (
            getattr(transformers, auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[network])(config),
            inputs,
            "logits",
        )
    if library == "timm":
        import timm

        net = timm.create_model(network, num_classes=10)
        side = net.default_cfg["input_size"][-1] if network in VISION.split() else 64
    else:
        net, side = of_torchvision(network), 64
    return net, torch.randn(2, 3, side, side, generator=draw, dtype=torch.float64), None


plan = [{"library": "torchvision", "network": "squeezenet1_1"}]
if not tiny:
    lists = {"transformers": LANGUAGE, "timm": f"{CONVOLUTIONS} {VISION}"}
    plan += [{"library": name, "network": each} for name, names in lists.items() for each in names.split()]


# %%
@record.table(plan)
def moved_networks(library, network):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net, inputs, outputs = published(library, network)
        net = net.eval().double()
        for p in net.parameters():  # layers that begin with zeros have to count, too
            p.data += torch.randn_like(p) * (0.1 if p.ndim < 2 else 0.5 * p[0].numel() ** -0.5)
    space = find_symmetries(net, inputs, outputs=outputs, check=False)
    moved = space.act(net, space.sample(torch.Generator().manual_seed(1), scale=0.5))
    run = lambda each: each(**inputs).logits if outputs else each(inputs)
    with torch.no_grad():
        change = relative_error(run(moved), run(net))
    held = sum(each.dimension for each in space.spaces if each.group.startswith(("O(", "GL(", "(C")))
    row = {"parameters": sum(p.numel() for p in net.parameters()), "spaces": len(space.spaces)}
    return row | {"dimension": space.dimension, "matrices": held, "outputs": change}


# %% tags=["hide-input"]
each = moved_networks.groupby("library", sort=False)
shown = pd.DataFrame(
    {"networks": each.size(), "spaces": each["spaces"].median(), "outputs": each["outputs"].max()}
)
shown["matrices"] = each["matrices"].apply(lambda found: int((found > 0).sum()))
shown["outputs"] = [f"{error:.0e}".replace("-", "−") for error in shown["outputs"]]
headings = {"library": "library", "networks": "architectures", "spaces": "hidden spaces, median"}
headings |= {"matrices": "with a group of matrices", "outputs": "largest change of the outputs"}
readable(shown.reset_index(), headings, digits=0, title="Architectures that a random element moved")

# %% tags=["hide-input"]
headings = {
    "library": "library",
    "network": "architecture",
    "parameters": "parameters",
    "spaces": "hidden spaces",
}
headings |= {"dimension": "dimension of the group", "matrices": "of which matrices"}
readable(moved_networks, headings, title="Each architecture")

# %% tags=["hide-input"]
told.check("A random element keeps the outputs of every architecture.", moved_networks["outputs"] < 1e-6)
matrices = moved_networks.set_index("network")["matrices"]
told.check(
    "ResNets have no matrices in their groups.",
    matrices[matrices.index.str.fullmatch("resnet(10t|18|v2_18)")] == 0,
)
told.check(
    "MobileNetV2 and V3, EfficientNet-Lite and MnasNet have matrices in their groups.",
    matrices[matrices.index.str.match("mobilenetv[23]|efficientnet_lite|mnasnet")] > 0,
)
told.check("In every architecture something moves.", moved_networks["spaces"] > 0)
told.say(moved_networks=len(moved_networks))

# %% [markdown]
# *What would change it*: an architecture that keeps its outputs in one input and not in another; the example is one
# batch.
# Modules that compute in float32 whatever their weights are round more coarsely.
# The library's tests move further architectures of both packages, and match models of one orbit.
#
# (rec-any-deviations)=
# ## Deviations from the paper
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * -
#   - printed
#   - here
#   - what it may change
# * - conditions on residual connections
#   - appendix E, which we have not seen; $A_l = A_m$
#   - three rules by what is added, with proof
#   - activations whose φ is not the identity
# * - architectures
#   - each treated by hand: chains, residual networks
#   - any network that one run records
#   - operations without a rule make the group too small
# * - trained networks
#   - ResNet-20
#   - random weights, but for {ref}`rec-left-behind`
#   - nothing: the statements hold for all weights
# :::
#
# *What the authors' code does that this book does not*: the repository of {cite:t}`godfrey2022` has a ResNet-18 and
# compact convolutional transformers, which this book does not train; here only the symmetries of such networks are
# found.
#
# (rec-any-claims)=
# ## All claims

# %% tags=["hide-input"]
rounding = lambda largest: "0, to rounding" if largest < 1e-9 else f"{largest:.0e}"
known = {made.id: (made, found) for made, found in told.claims}
rows = [
    {
        "statement": statement,
        "printed": printed,
        "ours": known[f"godfrey-remark-3-6-{id}"][1].measured,
        "scale": "a calculation",
        "verdict": known[f"godfrey-remark-3-6-{id}"][1].said,
    }
    for id, statement, printed in (
        ("printed", "Output added to pre-activation: Aₗ = Aₘ is enough.", "yes"),
        ("corrected", "Output added to pre-activation: Aₘ = φ(Aₗ) is enough.", "ours"),
        ("alike", "Two outputs, or two pre-activations: Aₗ = Aₘ is enough.", "yes"),
        ("identity-inside", "Inside a block values move by φ(Aₘ), with Aₘ free.", "no way seen"),
    )
]
measured = {
    "The group found behind each operation keeps the outputs.": rounding(rules["outputs"].max()),
    "Attention without biases: the kernel has the dimension of the group.": f"{len(theorems)} of {len(theorems)} draws",
    "A transformer of one block: group and shifts fill the kernel.": f"{len(freedom)} seeds",
    "Published architectures keep their outputs.": f"{len(moved_networks)} architectures",
}
rows += [
    {"statement": each, "printed": "not printed", "ours": ours, "scale": "random weights", "verdict": "ours"}
    for each, ours in measured.items()
]
headings = {name: name for name in ("statement", "printed", "ours", "scale", "verdict")}
glue("rec-any-summary", readable(pd.DataFrame(rows), headings, title="What was found"), display=False)
told.board()
