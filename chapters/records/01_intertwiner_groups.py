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
# # R1 · Record: intertwiner groups
#
# :::{admonition} What this page tests
# :class: tip
# {doc}`../01_intertwiner_groups` finds the changes before an activation that leave a function alone, with proofs.
# Here each statement of {cite:t}`godfrey2022` §3.1 and of {cite:t}`swap-and-scale-2022` stands as printed, with the
# code that computes its rows, the verdict, and what would change it.
# All are calculations in float64; no network is trained.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ```{glue} rec-groups-summary
# ```
#
# One case refutes a statement about all cases; where none does, the verdict is *no counterexample*.
# Proofs stand in the chapter.
# {ref}`All claims <rec-groups-claims>` stand at the end.

# %% tags=["parameters"]
from typing import Literal

scale: Literal["smoke", "quick", "desk", "paper"] = "quick"  # quick reads rows, desk computes missing ones
own: str = ""  # a folder for rows of your own code
more_draws: int = 0  # of random elements for each case, beyond those on record

# %% tags=["hide-input"]
import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import torch
from myst_nb import glue
from torch import nn

from intertwine import groups
from intertwine.groups.affine import affine_intertwiners
from intertwine.groups.matrices import gaussian
from intertwine.groups.probe import Probe
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book.figures import style
from intertwine_book.figures.dots import dots
from intertwine_book.figures.readable import readable
from intertwine_book.models import fcn
from intertwine_book.record import Record
from intertwine_book.tidy import every, of
from intertwine_book.told import Told

style.use_style()
record = Record.at("01_intertwiner_groups", scale, own)
told = Told(record, "01_intertwiner_groups", scale)

# %% [markdown]
# ## Activations and random elements
#
# `sigma_of` looks up an activation by its name in the tables; names that it does not have are the library's.
# A draw has a seed of its own, so each row can be computed alone.

# %% tags=["hide-input"]
DRAWS = (2 if scale == "smoke" else 5) + more_draws
EXACT = 1e-9  # an equation holds in float64 if its sides differ by less, relative to their size


def log_of(x):
    return x.abs().clamp(min=1e-300).log()


def sigma_of(name):
    """An activation by its name in the tables."""
    kind, _, number = name.rstrip(")").partition("(")
    modules = {"LeakyReLU": nn.LeakyReLU, "softshrink": nn.Softshrink, "hardshrink": nn.Hardshrink}
    if kind in modules and number:
        return modules[kind](float(number))
    if name.startswith("x^"):
        return lambda x: x ** int(name[2:])
    written = {
        "identity": nn.Identity(),
        "RBF": lambda x: torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
        "step": lambda x: (x >= 0).to(x.dtype),
        "Heaviside": lambda x: (x > 0).to(x.dtype),
        "ReLU²": lambda x: torch.relu(x) ** 2,
        "x²": torch.square,
        "x³": lambda x: x**3,
        "√|x|·sign(x)": lambda x: x.sign() * x.abs().sqrt(),
        "x·cos(log|x|)": lambda x: x * torch.cos(log_of(x)),
        "x·(2 ± sin(π·log₃|x|))": lambda x: x * (2 + x.sign() * torch.sin(math.pi * log_of(x) / math.log(3))),
        "2x + 1": lambda x: 2 * x + 1,
        "constant": lambda x: torch.full_like(x, 3.0),
    }
    return written.get(name, name)


def seeded(trial):
    return torch.Generator().manual_seed(trial)


def formula(name, A):
    """σ(A) σ(I_n)^{-1}, as Lemma 3.1 writes it, whether or not A is in the group."""
    sigma = groups.as_activation(sigma_of(name))
    return sigma(A) @ torch.linalg.inv(sigma(torch.eye(len(A), dtype=torch.float64)))


def claim(id, place, statement, rows, value, paper="godfrey2022", kind="universal", **more):
    return told.claim(id, statement, rows, value, paper=paper, place=place, kind=kind, per=None, **more)


post = partial(claim, paper="swap-and-scale-2022")
ROUNDING = {"error": 1e-10, "error_from": "rounding"}
WORDS = {
    "closure_error": "error of products and inverses",
    "homomorphism_error": "error",
    "intertwining_error": "error",
    "phi_error": "error of φ",
    "computed": "group that was found",
    "alpha": "α",
    "moves_for_each": "moves that give each network",
}

# %% [markdown]
# (rec-lemma-3-1)=
# ## Lemma 3.1: a group, and what its elements become
#
# > *Printed*: "Suppose $\sigma(I_n)$ is invertible and for each $A\in GL_n(\mathbb R)$ define
# > $\varphi_\sigma(A) = \sigma(A)\sigma(I_n)^{-1}$. Then $G_{\sigma_n}$ is a group,
# > $\varphi_\sigma: G_{\sigma_n}\to GL_n(\mathbb R)$ is a homomorphism and
# > $\sigma_n\circ A = \varphi_\sigma(A)\circ\sigma_n$."
# >
# > Definition 3.2: "When the hypotheses of lemma 3.1 are satisfied […] we call $G_{\sigma_n}$ the intertwiner group".
#
# Each row has two random elements $A$, $B$ of the group that the library finds.
# Three more activations have a singular $\sigma(I_n)$; there the library takes $\sigma(tI_n)$ with another $t$.

# %% tags=["hide-input"]
SIX = ["ReLU", "GELU", "tanh", "sigmoid", "cos", "square"]
SINGULAR = ["softshrink(1)", "hardshrink(2)", "step"]
plan = [{"activation": name, "n": n} for name in SIX for n in (2, 3, 8)]
plan += [{"activation": name, "n": n} for name in SINGULAR for n in (2, 3)]


# %%
@record.table([each | {"trial": k} for each in plan for k in range(DRAWS)])
def lemma_3_1(activation, n, trial):
    sigma, draw, one = sigma_of(activation), seeded(trial), torch.eye(n, dtype=torch.float64)
    G = groups.intertwiner_group(sigma, n)
    A, B = G.sample(draw), G.sample(draw)
    closed = G.contains(A @ B) and G.contains(G.inverse(A)) and G.contains(one)
    errors = {"closure_error": float(not closed)}
    errors["homomorphism_error"] = relative_error(G.phi(A @ B), G.phi(A) @ G.phi(B))
    errors["intertwining_error"] = groups.intertwining_error(G, A, draw)
    rank = torch.linalg.matrix_rank(groups.as_activation(sigma)(one)).item()  # the lemma assumes n
    return {"rank": rank, **errors, "holds": max(errors.values()) < EXACT}


# %% tags=["hide-input"]
regular, singular = of(lemma_3_1, activation=SIX), of(lemma_3_1, activation=SINGULAR)
largest = lemma_3_1.groupby("activation", sort=False)[[*WORDS][:3]].max().reset_index()
largest["invertible"] = largest["activation"].isin(SIX)
for column in [*WORDS][:3]:
    largest[column] = largest[column].map("{:.0e}".format).replace("0e+00", "0")
headings = {"activation": "activation", "invertible": "σ(I) invertible", "closure_error": "not closed"}
headings |= {"homomorphism_error": "φ(AB) − φ(A)φ(B)", "intertwining_error": "σ(Ax) − φ(A)σ(x)"}
readable(largest, headings, title="Largest relative errors, all widths and draws")

# %% tags=["hide-input"]
here = {"words": WORDS, "link": "rec-lemma-3-1"}
# fmt: off
claim("godfrey-lemma-3-1-group", "Lemma 3.1, group",
    r"$G_{\sigma_n}$ is a group: products and inverses of elements intertwine too. (A test of our "
    "elements, which are built as a group.)",
    regular, "closure_error", **ROUNDING, **here)
claim("godfrey-lemma-3-1-homomorphism", "Lemma 3.1, homomorphism",
    r"$\varphi_\sigma(A) = \sigma(A)\sigma(I_n)^{-1}$ is multiplicative on $G_{\sigma_n}$.",
    regular, "homomorphism_error", **ROUNDING, **here)
claim("godfrey-lemma-3-1-intertwining", "Lemma 3.1, intertwining",
    r"$\sigma_n \circ A = \varphi_\sigma(A) \circ \sigma_n$ for every $A \in G_{\sigma_n}$.",
    regular, "intertwining_error", **ROUNDING, **here)
claim("godfrey-lemma-3-1-hypothesis", r"Lemma 3.1 and Definition 3.2, where $\sigma(I_n)$ is singular",
    r"For three σ with a singular $\sigma(I_n)$, two of them discontinuous, $G_{\sigma_n}$ is a group and φ, "
    r"from another $tI_n$, a homomorphism.",
    singular, "holds", whose="ours", **here)
# fmt: on
told.verdicts()


# %% tags=["hide-input"]
def left(B, A, x):
    """The share of the mean square of ReLU(Ax) that B leaves."""
    wanted = torch.relu(A @ x)
    return ((B @ torch.relu(x) - wanted).square().sum() / wanted.square().sum()).item()


side, root = torch.linspace(-1, 1, 17, dtype=torch.float64), math.sqrt(0.5)
grid = torch.cartesian_prod(side, side).T
turn = torch.tensor([[root, -root], [root, root]], dtype=torch.float64)
best = torch.linalg.lstsq(torch.relu(grid).T, torch.relu(turn @ grid).T).solution.T
by_best, by_phi = left(best, turn, grid), left(formula("ReLU", turn), turn, grid)
# fmt: off
told.check_all({
    "In all draws the lemma holds, also where its hypothesis fails.": lemma_3_1["holds"],
    "Three activations have a singular σ(I).": singular["rank"] < singular["n"],
    "After a turn by 45° before ReLU even the best matrix leaves more than 10 % of the mean square.":
        by_best > 0.1,
    "There the formula for φ leaves more than the best matrix, by over a point.": by_phi > by_best + 0.01,
})
# fmt: on

# %% [markdown]
# *What would change it*: nothing for the lemma, which {prf:ref}`lem-phi` proves.
# The hypothesis is convenient and not needed: for continuous σ that is not constant some $\sigma(tI_n)$ is invertible.
# Its eigenvalues $\sigma(t)-\sigma(0)$ and $\sigma(t)+(n-1)\sigma(0)$ vanish at two values of $\sigma(t)$ at most, and
# such a σ takes infinitely many.
#
# (rec-phi-on-gl)=
# ## After Definition 3.2: no homomorphism outside the group
#
# > *Printed*, of the last two rows of Table 1: "in both of those cases $A\mapsto\varphi_\sigma(A)$ is not a
# homomorphism
# > on all of $GL_n(\mathbb R)$, but is a homomorphism when restricted to the appropriate subgroup $G_{\sigma_n}$."
#
# $\varphi(AB)$ beside $\varphi(A)\varphi(B)$ for random $A$ and $B$, in the group and in all of $GL_3$.
# The third activation, ReLU, is ours.
# Errors are relative to the larger of the two.

# %% tags=["hide-input"]
plan = [{"activation": name, "n": 3} for name in ("RBF", "square", "ReLU")]


# %%
@record.table(plan, drawn_from=["the group", "all invertible matrices"], trial=range(DRAWS))
def phi_on_gl(activation, n, drawn_from, trial):
    inside, draw = drawn_from == "the group", seeded(trial)
    G = groups.intertwiner_group(sigma_of(activation), n) if inside else groups.GeneralLinear(n)
    A, B = G.sample(draw), G.sample(draw)
    one, two = formula(activation, A @ B), formula(activation, A) @ formula(activation, B)
    return {"homomorphism_error": min(relative_error(one, two), relative_error(two, one))}


# %% tags=["hide-input"] figure="fig-rec-phi-on-gl"
dots(
    phi_on_gl.assign(shown=phi_on_gl["homomorphism_error"].clip(lower=1e-17)),
    *("activation", "shown", "drawn_from"),
    colours={"the group": style.COLOURS["blue"], "all invertible matrices": style.COLOURS["orange"]},
    xlabel="activation",
    ylabel="relative error of φ(AB) = φ(A)φ(B)",
    yscale="log",
)

# %% [markdown]
# :::{figure} #fig-rec-phi-on-gl
# ---
# alt: >-
#   Relative errors on a logarithmic axis for the Gaussian, the square and ReLU; those of matrices in the group lie near
#   ten to the minus sixteen, those of all invertible matrices near one.
# ---
# In the group φ is multiplicative to rounding, outside it is not.
# Small dots: pairs of matrices; exact zeros are drawn at 10⁻¹⁷.
# :::

# %% tags=["hide-input"]
outside, inside = of(phi_on_gl, drawn_from="all invertible matrices"), of(phi_on_gl, drawn_from="the group")
here = {"words": WORDS, "link": "rec-phi-on-gl"}
apart = {"kind": "existence", "error": 0.001, "error_from": "far above rounding", "cases": ["n", "trial"]}
# fmt: off
claim("godfrey-phi-not-on-gl-rbf", "§3.1, after Definition 3.2, RBF",
    r"On all of $GL_n(\mathbb R)$, $A \mapsto \varphi_\sigma(A)$ is not a homomorphism for the RBF.",
    of(outside, activation="RBF"), "homomorphism_error", **(apart | here))
claim("godfrey-phi-not-on-gl-polynomial", "§3.1, after Definition 3.2, polynomial",
    r"On all of $GL_n(\mathbb R)$, $A \mapsto \varphi_\sigma(A)$ is not a homomorphism for $x^2$.",
    of(outside, activation="square"), "homomorphism_error", **(apart | here))
claim("godfrey-phi-on-group", "§3.1, after Definition 3.2, on the group",
    r"Restricted to $G_{\sigma_n}$, $A \mapsto \varphi_\sigma(A)$ is a homomorphism in those cases "
    "too.",
    of(inside, activation=["RBF", "square"]), "homomorphism_error", **ROUNDING, **here)
# fmt: on
told.check_all(
    {
        "In the group φ is multiplicative in each draw.": inside["homomorphism_error"] < EXACT,
        "Outside it is off by more than 1 % in each draw, for each of three activations.": every(
            outside["homomorphism_error"] > 0.01, outside["activation"].nunique() == 3
        ),
    }
)
told.verdicts()

# %% [markdown]
# *What would change it*: a draw from $GL_n$ that happens to lie in the group; these are a set of measure 0.
#
# (rec-table-1)=
# ## Table 1, row by row
#
# > *Printed*: activation, $G_{\sigma_n}$, $\varphi_\sigma(A)$.
# >
# > - identity: $GL_n(\mathbb R)$, $A$;
# > - sigmoid: $\Sigma_n$, $A$;
# > - ReLU: "matrices $PD$, where $D$ has positive entries", $A$;
# > - LeakyReLU: "same as ReLU as long as negative slope ≠ 1", $A$;
# > - RBF, $e^{-x^2/2}/\sqrt{2\pi}$: $PD$ with entries ±1 in $D$, the entrywise absolute value;
# > - polynomial, $x^d$: $PD$ with nonzero entries in $D$, the entrywise $d$-th power.
#
# LeakyReLU is tried at five slopes and $x^d$ at four degrees.
# *Error of φ* compares the printed φ with the formula of Lemma 3.1, on an element of the printed group.

# %% tags=["hide-input"]
PRINTED_GROUPS = {
    "linear": groups.GeneralLinear,
    "trivial": groups.Permutations,
    "signs": groups.SignedPermutations,
    "positive": groups.GReLU,
    "nonzero": groups.NonzeroMonomial,
}
SLOPES, DEGREES = (-2.0, -1.0, -0.5, 0.1, 2.0), (1, 2, 3, 4)
PRINTED = {"Identity": "linear", "Sigmoid": "trivial", "ReLU": "positive"}
PRINTED |= {f"LeakyReLU({slope})": "positive" for slope in SLOPES} | {"RBF": "signs"}
PRINTED |= {f"x^{degree}": "nonzero" for degree in DEGREES}


def printed_phi(activation, A):
    if activation.startswith("x^"):
        return A ** int(activation[2:])
    return A.abs() if activation == "RBF" else A


# %%
@record.table([{"activation": name, "printed": kind, "n": 3} for name, kind in PRINTED.items()])
def table_1(activation, printed, n):
    G, A = groups.intertwiner_group(sigma_of(activation), n), PRINTED_GROUPS[printed](n).sample(seeded(0))
    row = {"computed": str(G.scalars), "holds": printed == str(G.scalars)}
    row |= {"dimension": G.dimension, "components": G.components}
    row |= {"accepted": G.scalars.certificate.accepted, "refused": G.scalars.certificate.refused}
    return row | {"phi_error": relative_error(formula(activation, A), printed_phi(activation, A))}


# %% tags=["hide-input"]
NAMES = {
    "linear": "all invertible matrices",
    "trivial": "permutations",
    "signs": "permutations with signs",
    "positive": "permutations with positive scalings",
    "nonzero": "permutations with nonzero scalings",
    "discrete": "permutations with powers of a number",
    "affine": "invertible matrices with A1 = 1",
    "constant": "all invertible matrices",
}
shown = table_1.assign(printed=table_1["printed"].map(NAMES), computed=table_1["computed"].map(NAMES))
shown["holds"] = shown["holds"].map({True: "yes", False: "no"})
shown["phi_error"] = shown["phi_error"].map("{:.0e}".format).replace("0e+00", "0")
headings = {"activation": "activation", "printed": "printed", "computed": "computed", "holds": "agree"}
headings |= {"phi_error": "error of φ", "dimension": "dimension", "components": "pieces"}
readable(shown, headings, title="Table 1 of the paper for n = 3, printed and computed")

# %% tags=["hide-input"]
leaky, powers = (table_1[table_1["activation"].str.startswith(each)] for each in ("Leaky", "x^"))
here = {"words": WORDS, "link": "rec-table-1", "cases": ["activation", "computed"]}
# fmt: off
claim("godfrey-table-1-identity", "Table 1, identity",
    r"The group is $GL_n(\mathbb R)$.",
    of(table_1, activation="Identity"), "holds", **here)
claim("godfrey-table-1-sigmoid", "Table 1, sigmoid",
    r"The group is $\Sigma_n$, the permutation matrices.",
    of(table_1, activation="Sigmoid"), "holds", **here)
claim("godfrey-table-1-relu", "Table 1, ReLU",
    "The group consists of the $PD$ with $P$ a permutation and $D$ diagonal and positive.",
    of(table_1, activation="ReLU"), "holds", **here)
claim("godfrey-table-1-leakyrelu", "Table 1, LeakyReLU",
    "The group is that of ReLU for every negative slope other than 1.",
    leaky, "holds", **here,
    erratum={
        "kind": "false as printed",
        "context": "Table 1 lists the matrices that each activation is compatible with. LeakyReLU "
                   "multiplies negative numbers by a fixed slope.",
        "quote": "Same as ReLU as long as negative slope ≠ 1",
        "right": "Slope −1 is $|x|$, whose group allows every $D$ without a zero on its diagonal.",
        "found": "For {activation} we compute another group, with every {computed} scaling.",
    })
claim("godfrey-table-1-leakyrelu-corrected", "Table 1, LeakyReLU, corrected",
    "The group is that of ReLU for every negative slope other than 1 and −1.",
    leaky[leaky["activation"] != "LeakyReLU(-1.0)"], "holds", whose="ours", **here)
claim("godfrey-table-1-rbf", "Table 1, RBF",
    "The group consists of the $PD$ with $D$ diagonal with entries ±1.",
    of(table_1, activation="RBF"), "holds", **here)
claim("godfrey-table-1-polynomial", "Table 1, polynomial",
    r"For $\sigma(x) = x^d$ the group consists of the $PD$ with $D$ diagonal with nonzero entries.",
    powers, "holds", **here,
    erratum={
        "kind": "misprint",
        "context": "Table 1 lists the matrices that each activation is compatible with, $x^d$ among "
                   "them.",
        "quote": "σ(x) = x^d (polynomial)",
        "right": r"$d \ge 2$; for $d = 1$ the activation is the identity of the first row, with the"
                 r" group $GL_n(\mathbb R)$.",
        "found": "For {activation} we compute another group, that of {computed} activations.",
    })
claim("godfrey-table-1-polynomial-corrected", "Table 1, polynomial, corrected",
    r"For $\sigma(x) = x^d$ with $d \ge 2$ the group consists of the $PD$ with $D$ diagonal with "
    "nonzero entries.",
    powers[powers["activation"] != "x^1"], "holds", whose="ours", **here)
claim("godfrey-table-1-phi", "Table 1, last column",
    r"On the printed groups $\varphi_\sigma(A)$ is $A$ for the first four activations, the entrywise "
    "absolute value for RBF, and the entrywise $d$-th power for $x^d$.",
    table_1, "phi_error", **ROUNDING, **(here | {"cases": ["activation"]}))
# fmt: on
told.verdicts()

# %% tags=["hide-input"]
row_of = table_1["activation"].map(lambda name: "x^d" if "x^" in name else name.split("(")[0])
by_row, found = table_1.groupby(row_of)["holds"].all(), table_1.set_index("activation")["computed"]
# fmt: off
told.check_all({
    "Of the six printed rows four hold as they stand.": every(len(by_row) == 6, by_row.sum() == 4),
    "The two others fail at slope −1 and at degree 1, and nowhere else.":
        [*table_1.loc[~table_1["holds"], "activation"]] == ["LeakyReLU(-1.0)", "x^1"],
    "At slope −1 all nonzero scalings are allowed.": found["LeakyReLU(-1.0)"] == "nonzero",
    "At degree 1 all invertible matrices are allowed.": found["x^1"] == "linear",
    "On the printed groups the printed φ is that of Lemma 3.1.": table_1["phi_error"] < 1e-12,
})
# fmt: on
told.say(rows_that_hold=by_row.sum())

# %% [markdown]
# *What would change it*: nothing; {prf:ref}`thm-scalars` decides each row by hand.
#
# (rec-gallery)=
# ## One procedure for any activation
#
# > *Printed*, after Definition 3.2: the calculations amount to "an algorithm that compute $G_{\sigma_n}$ and
# > $\varphi_\sigma$ given in terms of elementary properties of any (reasonable) activation function σ".
#
# The paper's procedure stands in its appendix E.2, which is not part of the text that we have.
# Ours rests on {prf:ref}`thm-scalars`: it sets affine activations aside and then searches for scalars, from values of σ
# alone.
# Beside it stands the kind that was derived by hand from the formula of σ.

# %% tags=["hide-input"]
PROVED = {
    "trivial": [
        "sigmoid",
        "GELU",
        "SiLU",
        "Mish",
        "Softplus",
        "ELU",
        "SELU",
        "CELU",
        "LogSigmoid",
        "Hardswish",
        "Hardsigmoid",
        "ReLU6",
        "exp",
    ],
    "signs": [
        "RBF",
        "tanh",
        "erf",
        "sin",
        "cos",
        "Softsign",
        "Hardtanh",
        "Softshrink",
        "Hardshrink",
        "Tanhshrink",
    ],
    "positive": ["ReLU", "LeakyReLU(0.01)", "LeakyReLU(-2)", "ReLU²", "Heaviside"],
    "nonzero": ["x²", "x³", "abs", "LeakyReLU(-1)", "sign", "√|x|·sign(x)"],
    "linear": ["identity", "LeakyReLU(1)"],
    "discrete": ["x·cos(log|x|)", "x·(2 ± sin(π·log₃|x|))"],
    "affine": ["2x + 1"],
    "constant": ["constant"],
}


def phi_in_words(G):
    """φ in the words of Table 1, from the factors b(−1) and b(2) of σ(ax) = b(a)σ(x)."""
    kind = G.scalars.kind
    if G.activation is None or kind in ("trivial", "linear", "affine", "constant"):
        return "1 (not unique)" if kind == "constant" else "A"
    if kind == "discrete":
        return "σ(A)/σ(1)"
    at_minus_1, at_2 = Probe.of(G.activation).multiplier(torch.tensor([-1.0, 2.0]).double()).tolist()
    power = round(math.log2(at_2), 9) if G.scalars.continuous else 1
    even = G.scalars.has_minus_one and at_minus_1 > 0
    if power == 0:
        return "sign(A)" if kind == "nonzero" and not even else "P"
    if kind == "positive" or power % 2 == (0 if even else 1):
        return "A" if power == 1 else f"A⊙{power:g}"
    absolute = "|A|" if power == 1 else f"|A|⊙{power:g}"
    return absolute if even else f"sign(A)·{absolute}"


def by_words(words, A, sigma):
    """What these words make of A."""
    power = float(words.partition("⊙")[2] or 1)
    special = {"P": (A != 0).double(), "sign(A)": A.sign(), "1 (not unique)": torch.eye(len(A)).double()}
    if words in special or words == "σ(A)/σ(1)":
        return special[words] if words in special else sigma(A) / sigma(torch.ones(1).double())
    if words.startswith("sign"):
        return A.sign() * A.abs() ** power
    return (A.abs() if words.startswith("|") else A) ** power


# %%
@record.table([{"activation": name, "proved": k, "n": 3} for k, names in PROVED.items() for name in names])
def gallery(activation, proved, n):
    G = groups.intertwiner_group(sigma_of(activation), n)
    words, kind, certificate = phi_in_words(G), str(G.scalars), G.scalars.certificate
    drawn = [G.sample(seeded(k)) for k in range(5)]
    off = max(relative_error(by_words(words, A, G.activation), G.phi(A)) for A in drawn)
    row = {"computed": kind, "holds": kind == proved, "scalars": G.scalars.elements, "phi": words}
    row |= {"phi_error": off, "dimension": G.dimension, "components": G.components}
    return row | {"accepted": certificate.accepted, "refused": certificate.refused}


# %% tags=["hide-input"]
shown = gallery.assign(group=gallery["computed"].map(NAMES))
shown["pieces"] = ["infinite" if math.isinf(count) else f"{count:g}" for count in gallery["components"]]
shown["holds"] = shown["holds"].map({True: "yes", False: "no"})
headings = {"activation": "activation", "group": "group", "scalars": "scalars", "phi": "φ(A)"}
headings |= {"dimension": "dimension", "pieces": "pieces", "holds": "as by hand"}
readable(shown, headings, title="Groups of activations for n = 3")

# %% [markdown]
# |A|, A⊙2 and A⊙3 have the absolute values, squares and cubes of the entries; P has a 1 wherever A is not 0.
# *Pieces* are the connected components of the group; all invertible matrices have two, by the sign of the determinant.

# %% tags=["hide-input"]
# fmt: off
claim("godfrey-algorithm", "§3.1, after Definition 3.2",
    r"One procedure, given only elementary properties of σ, finds $G_{\sigma_n}$ and $\varphi_\sigma$ "
    "for any reasonable activation. (Ours is given only values of σ.)",
    gallery, "holds", link="rec-gallery", words=WORDS, cases=["activation", "computed"])
# fmt: on
kinds, ripples = gallery.set_index("activation"), groups.scalar_group(sigma_of("x·cos(log|x|)"))
affine = kinds.index[kinds["computed"].isin(["linear", "affine", "constant"])]
# fmt: off
told.check_all({
    "Forty activations have the kind of scalars that was derived by hand.":
        every(gallery["holds"], len(gallery) == 40),
    "The words for φ say what φ does, on five elements of each group.": gallery["phi_error"] < EXACT,
    "What is accepted leaves less than 1e-13, what is refused leaves more than 0.09: the threshold of 1e-9 is far "
    "from both.":
        every(gallery["accepted"] < 1e-13, gallery["refused"] > 0.09),
    "All five kinds of scalars occur.":
        {"trivial", "signs", "positive", "nonzero", "discrete"} <= {*gallery["computed"]},
    "Four of the activations are affine.":
        {*affine} == {"identity", "LeakyReLU(1)", "2x + 1", "constant"},
    "The scalars of x cos log|x| are the powers of e^π, with both signs.":
        every(abs(ripples.generator - math.exp(math.pi)) < 1e-6, ripples.signed),
    "One activation has the powers of −3 as scalars, and infinitely many pieces.":
        every(kinds.loc["x·(2 ± sin(π·log₃|x|))", "scalars"] == "{(-3)^k}",
              np.isinf(kinds.loc["x·(2 ± sin(π·log₃|x|))", "components"])),
    "64 neurons have about 10^89 orders, and about 10^108 with signs.":
        [round(math.log10(math.factorial(64))) == 89, round(math.log10(2**64 * math.factorial(64))) == 108],
})
# fmt: on
told.say(activations=len(gallery))
told.verdicts()

# %% [markdown]
# *What would change it*: an activation whose group shows itself only beyond the range of the search, such as one that
# differs from ReLU by less than $10^{-9}$ of its size; values of σ cannot prove a group.
#
# (rec-rays)=
# ## Theorem 3.3: the rays of the axes
#
# > *Printed*: "The group $G_{\mathrm{ReLU}_n}$ is precisely the stabilizer of the set of rays
# > $\{\mathbb R_{\ge0}e_i\}$. Moreover if $\mathbb R_{\ge0}v_1,\dots,\mathbb R_{\ge0}v_N$ is a finite set of rays
# > stabilized by $G_{\mathrm{ReLU}}$, then […] up to multiplication by a positive scalar every $v_i$ is of the form
# > $\pm e_j$ for some $j$."
#
# *Stabiliser*: a matrix that permutes the rays is in the group, an element of the group permutes them, and a random
# invertible matrix does both or neither.
# *Only these rays*: 20 random elements move a random ray to more than ten; they move the rays of $-e_j$ among
# themselves.


# %% tags=["hide-input"]
def rays_of(vectors):
    """The different rays that some vectors span: unit vectors, to nine digits."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return {tuple(row) for row in (unit.round(decimals=9) + 0.0).tolist()}


def orbit_size(start, elements, draw):
    """How many rays `start` and its images under random elements of G_ReLU span."""
    G = groups.GReLU(start.shape[1])
    return len(rays_of(torch.cat([start, *(start @ G.sample(draw).T for _ in range(elements))])))


# %%
@record.table(half=["stabiliser", "only these rays"], n=[2, 3, 8], trial=range(DRAWS))
def rays(half, n, trial):
    draw, axes, G = seeded(trial), torch.eye(n, dtype=torch.float64), groups.GReLU(n)
    if half == "only these rays":
        return {"holds": orbit_size(gaussian(draw, 1, n), 20, draw) > 10 and orbit_size(-axes, 20, draw) == n}
    scales = torch.rand(n, 1, generator=draw, dtype=torch.float64).exp()
    stable = (axes[torch.randperm(n, generator=draw)] * scales).T  # moves the rays among themselves
    other = groups.GeneralLinear(n).sample(draw)
    both = G.contains(stable) and rays_of(G.sample(draw).T) == rays_of(axes)
    return {"holds": both and G.contains(other) == (rays_of(other.T) == rays_of(axes))}


# %% tags=["hide-input"]
here = {"link": "rec-rays", "cases": ["n", "trial"]}
# fmt: off
claim("godfrey-theorem-3-3-stabiliser", "Theorem 3.3, first half",
    r"$G_{\mathrm{ReLU}}$ is exactly the stabiliser of the set of rays $\mathbb R_{\ge 0}e_i$.",
    of(rays, half="stabiliser"), "holds", **here)
claim("godfrey-theorem-3-3-only-these-rays", "Theorem 3.3, second half",
    r"If $G_{\mathrm{ReLU}}$ stabilises a finite set of rays, each is spanned by a positive multiple "
    r"of some $\pm e_j$.",
    of(rays, half="only these rays"), "holds", **here)
# fmt: on
told.check("Both halves hold in all draws.", rays["holds"])
told.verdicts()

# %% [markdown]
# *What would change it*: nothing; {prf:ref}`thm-rays` is proved.
#
# (rec-swap)=
# ## The post: swap
#
# > *Printed*: "For any hidden layer, we can imagine permuting the weights and biases in such a way that the output to
# the
# > next layer remains unchanged. […] For every hidden layer, there are N! such symmetries, where N is the number of
# nodes
# > in the layer."
#
# A random permutation of the hidden neurons of a random ReLU network, and the number of different weights that all
# permutations of a layer give.


# %%
@record.table(n=[2, 8, 64], trial=range(DRAWS))
def swaps(n, trial):
    draw = seeded(trial)
    net = fcn([5, n, 3], bias=True, seed=draw).double().eval()
    x, P = gaussian(draw, 50, 5), groups.Permutations(n).sample(draw)
    return {"error": relative_error(find_symmetries(net, x).act(net, {"relu1": P})(x), net(x))}


@record.table(n=[1, 2, 3, 4, 5])
def orders(n):
    W = gaussian(seeded(0), n, 5)
    found = {tuple(W[list(order)].flatten().tolist()) for order in itertools.permutations(range(n))}
    return {"found": len(found), "holds": len(found) == math.factorial(n)}


# %% tags=["hide-input"]
# fmt: off
post("swap", "Swap",
    "Permuting what enters the neurons of a hidden layer, biases included, and undoing it behind them"
    " leaves the function as it is.",
    swaps, "error", link="rec-swap", cases=["n", "trial"], **ROUNDING)
post("swap-count", "Swap, how many",
    "A hidden layer of $N$ neurons has $N!$ of them. (Different weights, generic ones; so by construction.)",
    orders, "holds", link="rec-swap", cases=["n", "found"])
# fmt: on
told.check_all(
    {
        "A swap leaves the outputs, in each draw.": swaps["error"] < EXACT,
        "Up to five neurons n! orders give n! different weights, where these are generic.": orders["holds"],
    }
)
told.verdicts()

# %% [markdown]
# *What would change it*: weights that are not generic ({ref}`rec-any-point`).
#
# (rec-scale)=
# ## The post: scale, and the bias
#
# > *Printed*: "The second symmetry occurs when we multiply the weights leading into a node by some non-zero real number
# > α, multiply the bias by α and multiply the weights leading out of the node by 1 over α. This has the effect of
# leaving
# > the final weight unchanged, due to the linear nature of the ReLU function."
# >
# > An acknowledgement thanks for "catching my mistake in not multiplying the bias in Scale Symmetry".
#
# The blue neuron of {numref}`fig-swap-scale` is scaled by seven α, with its bias and without it.

# %% tags=["hide-input"]
ALPHAS = [0.01, 0.5, 2.0, 100.0, -0.5, -1.0, -2.0]
NEURONS = {"W1": [[1.0], [-2.0]], "b1": [0.5, 1.0], "W2": [[3.0, -1.0]]}  # 3 ReLU(x + ½) − ReLU(−2x + 1)


def outputs(x, W1, b1, W2):
    return torch.relu(x @ W1.T + b1) @ W2.T


# %%
@record.table(bias=["scaled", "kept"], alpha=ALPHAS)
def scalings(bias, alpha):
    x = torch.linspace(-2, 2, 5, dtype=torch.float64)[:, None]
    W1, b1, W2 = (torch.tensor(NEURONS[name], dtype=torch.float64) for name in ("W1", "b1", "W2"))
    a = torch.tensor([alpha, 1.0], dtype=torch.float64)
    moved = outputs(x, a[:, None] * W1, a * b1 if bias == "scaled" else b1, W2 / a)
    return {"error": relative_error(moved, outputs(x, W1, b1, W2))}


# %% tags=["hide-input"] figure="fig-rec-scale"
shown = scalings.assign(percent=100 * scalings["error"], bias="bias " + scalings["bias"]).sort_values("alpha")
shown["alpha"] = [f"{alpha:g}".replace("-", "−") for alpha in shown["alpha"]]
dots(
    shown,
    *("alpha", "percent", "bias"),
    colours={"bias scaled": style.COLOURS["blue"], "bias kept": style.COLOURS["orange"]},
    xlabel="α",
    ylabel="change of the function, %",
    yscale="symlog",
    ylim=(-0.5, 5000),
)

# %% [markdown]
# :::{figure} #fig-rec-scale
# ---
# alt: >-
#   Change of the function in percent for seven α from minus 2 to 100: with the bias scaled it is zero at each
#   positive α
#   and a hundred percent or more at each negative one; with the bias kept it is above zero everywhere.
# ---
# With its bias a ReLU neuron can be scaled by positive numbers only; without it by none.
# Largest change of an output, in percent of the largest output; logarithmic above 2 %.
# :::

# %% tags=["hide-input"]
positive, with_bias, without = (
    scalings["alpha"] > 0,
    scalings["bias"] == "scaled",
    of(scalings, bias="kept"),
)
here = {
    "words": WORDS | {"error": "relative change of the function"},
    "link": "rec-scale",
    "cases": ["alpha"],
}
# fmt: off
post("scale-nonzero", "Scale",
    "Multiplying what enters a neuron, its bias included, by any non-zero α and dividing what leaves "
    "it by α leaves the function as it is.",
    scalings[with_bias], "error", **ROUNDING, **here,
    erratum={
        "kind": "false as printed",
        "context": "The post moves the weights of one neuron.",
        "quote": "multiply the weights leading into a node by some non-zero real number α",
        "right": r"$\alpha > 0$; no negative α does it.",
        "found": "The function changes in {deciding} of {cases} cases; for α = {alpha:g} by "
                 "{value:.2f} of its size.",
    })
post("scale-positive", "Scale, corrected",
    "Multiplying what enters a neuron, its bias included, by α > 0 and dividing what leaves it by α "
    "leaves the function as it is.",
    scalings[with_bias & positive], "error", whose="ours", **ROUNDING, **here)
post("scale-bias", "Acknowledgement",
    "Without multiplying the bias as well, the function changes.",
    without, "error", kind="existence", error=0.001, error_from="far above rounding",
    **(here | {"words": WORDS}))
# fmt: on
negative = scalings[with_bias & ~positive]["error"]
x = torch.linspace(-2, 2, 5, dtype=torch.float64)[:, None]
drawn = {name: torch.tensor(value, dtype=torch.float64) for name, value in NEURONS.items()}
swapped = {"W1": drawn["W1"][[1, 0]], "b1": drawn["b1"][[1, 0]], "W2": drawn["W2"][:, [1, 0]]}
# fmt: off
told.check_all({
    "With its bias, a neuron is scaled exactly where α is positive.":
        (scalings[with_bias]["error"] < 1e-12) == positive[with_bias],
    "At each negative α that we tried some output changes by at least as much as the largest output.":
        negative >= 1,
    "Without the bias the function changes at each α that we tried.": without["error"] > 0.001,
    "The two neurons of the chapter's example can be swapped.": torch.equal(
        outputs(x, **swapped), outputs(x, **drawn)),
})
# fmt: on
told.verdicts()

# %% [markdown]
# *What would change it*: nothing for $\alpha > 0$, as $\mathrm{ReLU}(\alpha z) = \alpha\,\mathrm{ReLU}(z)$.
# For $\alpha < 0$ we have $\mathrm{ReLU}(\alpha z)/\alpha = \min(z, 0)$ instead of $\max(z, 0)$, for each such α.
# So an output that reads the neuron with the weight $w$ changes by $-w|z|$: nothing changes only where $w$ or $z$ is 0.
# "Linear nature" is loose: ReLU is positively homogeneous.
#
# (rec-any-point)=
# ## The post: any point in parameter space
#
# > *Printed*: "There are two types of symmetries that occur for any point in parameter space. […] I'm unsure who the
# > first person to point these out for ReLU neural networks was, but equivalent symmetries for networks using tanh
# > activation functions were mentioned in Bishop's 2006 'Pattern Recognition and Machine Learning' and cites
# > 'Functionally Equivalent Feedforward Neural Networks' (Kurkova and Kainen, 1994) as proving the case for networks in
# > general."
#
# Three ReLU neurons at five kinds of points, moved by all six orders with random positive scalings.

# %% tags=["hide-input"]
POINTS = ["generic", "two equal neurons", "a dead neuron", "one without weights", "all 0"]


# %%
@record.table(point=POINTS, trial=range(DRAWS))
def any_point(point, trial):
    draw = seeded(trial)
    x, theta = gaussian(draw, 50, 3), gaussian(draw, 3, 5)  # a row is a neuron: weights, bias, output weight
    if point == "two equal neurons":
        theta[1] = theta[0]
    rows, columns = {
        "a dead neuron": ([1], [4]),
        "one without weights": ([1], range(5)),
        "all 0": (range(3), range(5)),
    }.get(point, ([], []))
    for row, column in itertools.product(rows, columns):
        theta[row, column] = 0
    compute = lambda theta: torch.relu(x @ theta[:, :3].T + theta[:, 3]) @ theta[:, 4]
    a = gaussian(draw, 3, 1).exp()
    scaled = torch.cat([a.expand(3, 4), 1 / a], 1)
    moves = [list(order) for order in itertools.permutations(range(3))]
    error = max((compute(scaled * theta[order]) - compute(theta)).abs().max().item() for order in moves)
    networks = len({tuple(theta[order].flatten().tolist()) for order in moves})
    return {"error": error, "networks": networks, "moves_for_each": 6 / networks}


# %% tags=["hide-input"]
shown = any_point.groupby("point", sort=False)[["networks"]].agg(["min", "max"])
shown = shown["networks"].reset_index()
readable(
    shown,
    {"point": "point", "min": "fewest", "max": "most"},
    title="Different weights that six orders of three neurons give",
)

# %% tags=["hide-input"]
here = {"words": WORDS, "link": "rec-any-point"}
# fmt: off
post("swap-and-scale-anywhere", "Trivial symmetries, any point",
    "Both symmetries occur for any point in parameter space. (Generic points, and points with equal, "
    "dead or empty neurons.)",
    any_point, "error", cases=["point", "trial"], **ROUNDING, **here)
post("swap-changes-nothing", "Swap, how many, any point",
    "At a point with two equal neurons $N!$ swaps give fewer than $N!$ networks.",
    of(any_point, point="two equal neurons"), "moves_for_each", kind="existence", error=1.0,
    error_from="one move for each network", whose="ours", cases=["networks", "trial"], **here)
post("swap-and-scale-history", "Trivial symmetries, who was first",
    "For tanh, Bishop mentions such symmetries, and Kůrková and Kainen prove the case for networks in"
    " general.",
    None, "error", **here,
    because="History, with nothing to measure. That signs and permutations are all symmetries of tanh "
            "networks with one hidden layer was proved by {cite:t}`sussmann1992`; {cite:t}`bishop2006` "
            "cites {cite:t}`kurkova1994` for a wide range of activations.")
# fmt: on
of_equal, of_generic = (of(any_point, point=name) for name in ("two equal neurons", "generic"))
told.check_all(
    {
        "Swaps and scalings keep the function at each point that we tried.": any_point["error"] < 1e-10,
        "At generic points six orders of three neurons give six settings of the weights.": of_generic[
            "networks"
        ]
        == 6,
        "With two equal neurons they give three.": of_equal["networks"] == 3,
    }
)
told.verdicts()

# %% [markdown]
# *What would change it*: nothing for the function.
# How many networks the $N!$ orders give depends on the point: equal neurons make it fewer.
#
# (rec-pruning)=
# ## Which rules of pruning see only the function?
#
# > *Not printed*: ours.
#
# Half of 32 ReLU neurons are removed, in random networks with two hidden layers, before and after a random scaling of
# the first layer alone, and of both.
# A rule sees only the function if it removes the same neurons.


# %% tags=["hide-input"]
def half_of(rule, W, x, labels):
    """The 16 neurons of the first layer that a rule removes."""

    def loss_without(neuron):
        hidden = torch.relu(x @ W[0].T)
        hidden[:, neuron] = 0
        return nn.functional.cross_entropy(torch.relu(hidden @ W[1].T) @ W[2].T, labels)

    if rule == "loss without the neuron":
        return {*torch.stack([loss_without(neuron) for neuron in range(32)]).argsort()[:16].tolist()}
    sizes = W[0].norm(dim=1) * (1 if rule == "norm of incoming weights" else W[1].norm(dim=0))
    return {*sizes.argsort()[:16].tolist()}


RULES = ["norm of incoming weights", "product of both norms", "loss without the neuron"]


# %%
@record.table(rule=RULES, scaled=["first layer", "both layers"], trial=range(DRAWS))
def pruning(rule, scaled, trial):
    draw = seeded(trial)
    x, labels = gaussian(draw, 50, 9), torch.arange(50) % 4
    W = [gaussian(draw, *shape) for shape in ((32, 9), (16, 32), (4, 16))]
    a, b = gaussian(draw, 32).exp(), gaussian(draw, 16).exp()
    b = b if scaled == "both layers" else torch.ones_like(b)
    moved = [a[:, None] * W[0], b[:, None] * W[1] / a, W[2] / b]
    before, after = (half_of(rule, each, x, labels) for each in (W, moved))
    return {"same": before == after, "in_common": len(before & after)}


# %% tags=["hide-input"]
shown = pruning.groupby(["rule", "scaled"], sort=False)["in_common"].mean().unstack().reset_index()
readable(
    shown,
    {"rule": "rule", "first layer": "first layer scaled", "both layers": "both scaled"},
    digits=1,
    title="How many of 16 removed neurons are the same, on average",
)

# %% tags=["hide-input"]
same = pruning.groupby(["rule", "scaled"])["same"]
# fmt: off
told.check_all({
    "The norm of incoming weights removes other neurons after a scaling, in each draw.":
        ~of(pruning, rule=RULES[0])["same"],
    "The product of both norms removes the same after a scaling of its layer, in each draw.":
        same.all()[RULES[1], "first layer"],
    "The product of both norms removes others after a scaling of the next layer, in each draw.":
        not same.any()[RULES[1], "both layers"],
    "The loss without a neuron removes the same after both, in each draw.":
        of(pruning, rule=RULES[2])["same"],
})
# fmt: on

# %% [markdown]
# *What would change it*: scalings near 1, which change fewer norms.
#
# (rec-shifts)=
# ## Shifts as well: affine intertwiners
#
# > *Not printed*: ours. The paper's maps before and after the activation are linear.
#
# With biases before and after the activation, shifts are possible as well.
# A search for $\sigma(ax + t) = b\,\sigma(x) + s$ with $a = \pm1$ and $|t| \le 10$ finds those of the table and their
# multiples.
# For example $\sigma(-x) = 1 - \sigma(x)$ for the sigmoid, and the next bias takes up the 1.


# %%
@record.table(activation=["Sigmoid", "Hardsigmoid", "ReLU6", "exp", "sin", "GELU", "ReLU"])
def shifts(activation):
    found = [each._asdict() for each in affine_intertwiners(activation) if abs(each.t) < 6.2]
    return [{"found": True, **each} for each in found] or {"found": False}


# %% tags=["hide-input"]
found = of(shifts, found=True).astype({"every_t": bool})
shown = found.assign(
    **{
        name: [f"{v + 0.0:.3g}".replace("-", "−") for v in found[name].astype(float).round(9)]
        for name in "atbs"
    }
)
shown["t"] = shown["t"].str.replace("3.14", "π")
shown.loc[shown["every_t"], ["t", "b"]] = ["t", "eᵗ"]
readable(
    shown,
    {name: name for name in ("activation", "a", "t", "b", "s")},
    title="Affine intertwiners, up to one period of sin",
)

# %% tags=["hide-input"]
# fmt: off
told.check_all({
    "exp may be shifted by any amount, and no other that we tried.":
        [*found.loc[found["every_t"], "activation"]] == ["exp"],
    "GELU and ReLU have none.":
        {*of(shifts, found=False)["activation"]} == {"GELU", "ReLU"},
    "The sigmoid can be reflected: σ(−x) = 1 − σ(x).":
        [*of(found, activation="Sigmoid")[["a", "b", "s"]].to_numpy().round(9).ravel()] == [-1, -1, 1],
})
# fmt: on

# %% [markdown]
# *What would change it*: scalings $|a| \ne 1$ together with shifts, and larger shifts, which the search leaves out.
#
# (rec-not-judged)=
# ## What is not judged, and a misprint
#
# > *Printed*, §2: the $n_0\times n_1$ matrices are "the algebra of all $n_0\times n_1$ real matrices".
#
# Three groups of appendices are not part of the text that we have.

# %% tags=["hide-input"]
here = {"link": "rec-not-judged"}
# fmt: off
claim("godfrey-section-2-algebra", "§2, notation",
    r"The $n_0 \times n_1$ matrices form an algebra.",
    None, "holds", **here,
    because="A matter of notation, which nothing rests on.",
    erratum={
        "kind": "misprint",
        "context": "The section fixes the notation for matrices.",
        "quote": "be the algebra of all n0×n1 real matrices",
        "right": "The vector space; matrices can be multiplied with each other only where $n_0 = "
                 "n_1$.",
    })
claim("godfrey-appendices-a-b-g", "Appendices A, B and G",
    "Three appendices that the main text hardly mentions; G is on licences.",
    None, "holds", **here,
    because="They are not part of the text that we have, and no statement of the main text rests on them.")
claim("godfrey-appendix-d", "Appendices D.2, D.3 and D.7",
    r"How $G_{\mathrm{ReLU}}$ is optimised, more stitching of ResNet-20, and which axes the measures "
    "act on.",
    None, "holds", **here,
    because="They are not part of the text that we have. What the main text says of them is tried in "
            "chapters 3 and 4: permutations relaxed to doubly stochastic matrices, stitching penalties by"
            " the slope of LeakyReLU, and the action on channels. Further results of D.3 we do not know.")
claim("godfrey-appendix-f", "Appendices F.1, F.2 and F.3",
    "The method of network dissection, sample detections with the full list of concepts, and the "
    "training of the ResNet-50 without ReLU on the residual output.",
    None, "holds", **here,
    because="They are not part of the text that we have. Chapter 5 follows the original method "
            "({cite:t}`bau2017`); sample detections are pictures of single units, and the changed "
            "ResNet-50 has no published weights or recipe.")
# fmt: on
told.verdicts()

# %% [markdown]
# *What would change it*: the appendices.
#
# (rec-groups-deviations)=
# ## Deviations from the papers
#
# | | printed | here |
# |---|---|---|
# | how the groups are found | appendix E.2, which we have not seen | {prf:ref}`thm-scalars`, and values of σ |
# | {prf:ref}`lem-phi` | $\sigma(I_n)$ invertible | other $\sigma(tI_n)$ are tried as well |
# | activations | six | {fact}`01_intertwiner_groups.activations:.0f`, with each kind of scalars |
#
# **What the authors' code does that this book does not.**
# Section 3.1 of the paper is proved there and not computed; their code has no counterpart of {ref}`rec-table-1`.
# It moves a matrix of permutations and scalings by gradients, in several ways that their runs do not use: *softsort*,
# projected gradients, and optimisers for permutation and scalings in turn.
# {doc}`03_stitching` has the way that their runs use, and a search of ours.
#
# (rec-groups-claims)=
# ## All claims

# %% tags=["hide-input"]
SUMMARY = {
    "godfrey-lemma-3-1-intertwining": "σ(Ax) = φ(A)σ(x) for each A in the group.",
    "godfrey-lemma-3-1-hypothesis": "The lemma holds where σ(I) is singular, too.",
    "godfrey-phi-not-on-gl-rbf": "Outside the group φ is no homomorphism: the Gaussian.",
    "godfrey-table-1-relu": "ReLU: permutations with positive scalings.",
    "godfrey-table-1-leakyrelu": "LeakyReLU: as ReLU for each negative slope but 1.",
    "godfrey-table-1-polynomial": "x^d: permutations with nonzero scalings.",
    "godfrey-algorithm": "One procedure finds the group of any activation.",
    "godfrey-theorem-3-3-stabiliser": "The group of ReLU is the stabiliser of the rays of the axes.",
    "swap": "A swap of two neurons leaves the function.",
    "scale-nonzero": "A ReLU neuron may be scaled by any nonzero number.",
    "scale-bias": "Its bias must be scaled, too.",
}
OURS = {
    "godfrey-table-1-leakyrelu": "false at slope −1, whose group has all nonzero scalings",
    "godfrey-table-1-polynomial": "d ≥ 2 is missing",
    "scale-nonzero": "false for negative numbers, true for positive ones",
    "godfrey-phi-not-on-gl-rbf": "an example in each draw",
    "godfrey-table-1-relu": "the same",
}
known = {made.id: (made, found) for made, found in told.claims}
rows = []
for id, statement in SUMMARY.items():
    made, found = known[id]
    ours = OURS.get(id) or f"holds in {found.trials} of {found.trials} cases"
    if id == "scale-bias":
        ours = f"the function changes in {found.numbers['deciding']} of {found.trials} cases"
    row = {"statement": statement, "printed": made.place if made.whose == "paper" else "not printed"}
    rows.append(row | {"ours": ours, "verdict": found.said})
headings = {name: name for name in ("statement", "printed", "ours", "verdict")}
glue("rec-groups-summary", readable(pd.DataFrame(rows), headings, title="What was found"), display=False)
told.board()
