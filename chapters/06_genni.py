# ---
# jupytext:
#   text_representation:
#     extension: .py
#     format_name: percent
# kernelspec:
#   display_name: Python 3
#   language: python
#   name: python3
# ---

# %% [markdown]
# # 6 · Pictures of symmetry: GENNI
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups` for the words *swap* and *scale*, and {doc}`01b_weight_space` for what they do to weights.
#
# **You will learn** to find weights that compute one function, to look at all of them in a plane, to count what you see, and
# to say when a picture shows a symmetry and when a threshold. {doc}`06b_genni_lenet` goes on to larger networks, to UMAP and to a guide.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# Which weights compute a given function? A network has too many weights to look at. GENNI {cite}`lengyel2020` looks at few of them: it trains
# several networks to the same function, lays a plane through the solutions, and draws the loss on it. *Can one see a group in
# such a picture?* In {numref}`fig-classes` one can: the planes are chosen so that the whole class lies in them, for two and three
# neurons with outgoing weights held at 1, and dots from a formula show that nothing is missed.

# %% tags=["hide-input"]
import itertools

import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from intertwine import devices, genni, models, shallow
from intertwine.genni import Problem
from intertwine_book import results
from intertwine_book.experiments import genni as experiment
from intertwine_book.figures.epsilon_slider import epsilon_slider
from intertwine_book.figures.genni import lifetimes, loss_planes, shares
from intertwine_book.figures.style import use_style

use_style()
f64 = torch.float64

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of inputs, starts and random planes
samples: int = 500  # inputs that the loss on a grid is a mean over
points_2d: int = 100  # grid points along each side of a plane
points_3d: int = 50  # the same in three dimensions
searches: int = 3  # searches with seeds of their own
search_steps: int = 500  # of Adam
planes: int = 20  # random planes beside each plane of solutions

# %% tags=["hide-input"]
device = devices.pick(device)
run = results.run(globals(), "06_genni")
generator = run.generator()
x = torch.randn(4000, 1, dtype=f64, generator=generator).to(device)
seen, fcn = x[:samples], models.fcn()


def input_weights(directions):
    """Planes of θ = (w, 1, …, 1): the input weights w vary in the span of some directions."""
    h = directions.shape[1]
    corner = torch.cat([torch.zeros(h), torch.ones(h)])
    moved = torch.cat([directions, torch.zeros_like(directions)], 1)
    return genni.plane(torch.cat([corner[None], corner + moved]))


def members(h, number):
    """Input weights that compute |x|: positive ones add up to 1, negative ones to −1."""
    u = torch.randn(number, h, dtype=f64, generator=generator)
    u = u - u.mean(1, keepdim=True)
    w = u / u.relu().sum(1, keepdim=True)
    return torch.cat([w, torch.ones(number, h)], 1)


def balanced(h):
    """All input weights with Σ w = 0."""
    return input_weights(torch.eye(h)[: h - 1] - torch.eye(h)[1:])


# %% tags=["hide-input"]
neuron = genni.plane(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
alpha = torch.logspace(-0.5, 0.5, 25, dtype=f64)
cases = {
    "one neuron": (1, neuron, torch.relu, 3.0),
    "two neurons": (2, input_weights(torch.eye(2)), torch.abs, 2.0),
    "three neurons": (3, balanced(3), torch.abs, 2.0),
}
panels = {}
for title, (h, flat, target, reach) in cases.items():
    problem = Problem(models.fcn((1, h, 1)), target, seen)
    grid = genni.grid_loss(problem, flat, (-reach, reach), points_2d)
    exact = torch.stack([alpha, 1 / alpha], 1) if h == 1 else members(h, 200)
    panels[title] = {"grid": grid, "oracle": flat.project(exact)[0], "epsilon": 0.1}
panels["one neuron"]["names"], panels["two neurons"]["names"] = ("w", "c"), ("w₁", "w₂")

# %% mystnb={"figure": {"name": "fig-classes", "caption": "Classes one can print: the loss relative to the target's energy, dark where the function is nearly the target, with a line at ε = 0.1 and, in orange, exact members of the class. One neuron: scaling gives the curve (α, 1/α). Two neurons with outgoing weights 1 that compute |x|: two points, exchanged by the swap. Three neurons: a hexagon, on which all six orders are corners."}, "image": {"alt": "Three square heat maps: a dark hyperbola branch, two dark spots symmetric to the diagonal, and a dark hexagon; orange dots lie on the dark sets."}}
loss_planes(panels)

# %% [markdown]
# With four neurons the same class is a surface, which {numref}`fig-polytope` lets you turn. Move ε: the set grows thick, but
# keeps its shape.

# %% mystnb={"figure": {"name": "fig-polytope", "caption": "Input weights of four ReLU neurons with outgoing weights 1 that compute |x|, Σ w = 0: the surface of a cuboctahedron, whose twelve corners have one neuron at 1 and one at −1. Turn it with the mouse; the slider moves ε."}, "image": {"alt": "Interactive cloud of points in three dimensions on the surface of a cuboctahedron, with a slider for the threshold."}}
four = balanced(4)
absolute = Problem(models.fcn((1, 4, 1)), torch.abs, seen)
solid = genni.grid_loss(absolute, four, (-1.6, 1.6), points_3d)
corners = four.project(members(4, 300))[0]
epsilon_slider(solid, [0.01, 0.02, 0.05, 0.1], name="polytope", oracle=corners, start=1)

# %%
shapes = {
    "three neurons": panels["three neurons"]["grid"],
    "four neurons": solid,
}
counted = {name: genni.betti(genni.epsilon_set(g, 0.1)) for name, g in shapes.items()}
Markdown(
    "Betti numbers (pieces, holes, cavities), counted on the grid at ε = 0.1: "
    + "; ".join(f"{name} {numbers}" for name, numbers in counted.items())
    + ". A circle has (1, 1), a sphere (1, 0, 1)."
)

# %% [markdown]
# (sec-definitions)=
# ## Definitions, and a closed form
#
# Let $\varphi(x,\theta)$ be a network and $J(\theta) = \operatorname{mean}_x |\varphi(x,\theta)-\varphi(x,\theta^*)|^2$ over inputs $x$.
# The *class* of $\theta^*$ is $[\theta^*] = \{\theta : \varphi(\cdot,\theta)=\varphi(\cdot,\theta^*)\}$, and the *ε-set* is
# $\{J < \varepsilon\}$.
#
# :::{admonition} Deviation from the paper
# :class: note
# The paper's ε is a number; ours is a share of the energy of the target, $J/\mathrm{E}[y^2] < \varepsilon$. The zero function has
# $J = \mathrm{E}[y^2]$: from $\varepsilon = 1$ on, it counts as equivalent to everything.
# :::
#
# The network of the paper is $\varphi(x) = \sum_i c_i\,\mathrm{ReLU}(w_i x)$ with two neurons. It is linear on either side of 0, with slopes
#
# $$s_+ = \sum_{w_i>0} c_i w_i, \qquad s_- = \sum_{w_i<0} c_i w_i.$$ (eq-slopes)
#
# :::{prf:theorem} The classes of the small network
# :label: thm-slopes
#
# 1. Two parameters compute the same function iff they have the same slopes, and for $x\sim N(0,1)$
#    $J = \tfrac12\left((\Delta s_+)^2+(\Delta s_-)^2\right)$.
# 2. With two neurons and $s_+s_-\neq0$, the class has two pieces, exchanged by the swap. They merge in the ε-set only when
#    $\varepsilon > \min(s_+^2, s_-^2)/(s_+^2+s_-^2)$.
# 3. With two neurons and exactly one slope 0, the class is connected, with a part of dimension 3 and sheets of dimension 2.
# :::
#
# :::{prf:proof}
# (1) is integration over each half line. (2) With both slopes alive, one $w_i$ is positive and one negative, and each $c_i$ is a slope
# divided by $w_i$: two quadrants, each connected. A path from one to the other leaves its quadrant where a $w_i$ is 0. There a slope is 0,
# so $J\ge\tfrac12\min(s_+^2,s_-^2)$, while $\mathrm E[y^2]=\tfrac12(s_+^2+s_-^2)$. (3) Let $s_+=0$. Both $w_i$ may be negative with
# $c_1w_1+c_2w_2=s_-$: one equation, a line of $(c_1,c_2)$ over every point of a quadrant, so connected. Or $w_1>0>w_2$: then $c_1=0$ and
# $c_2w_2=s_-$: two equations; letting $w_1$ fall through 0 leads inside the class to the first part. At $w_1=0$, $c_1$ is free and can be
# led to 0. The swap gives the rest, and $s_-=0$ is the mirror image.
# :::
#
# :::{admonition} Errata: lengyel2020, metric, orbits and independence
# :class: warning
# *Metric.* The paper measures $d(f,g) = (\int_X|f-g|^2\,dx)^{1/2}$ and calls $J$ an approximation of $d$. On $X=\mathbb R$, the domain of its example, $d$ is infinite: ReLU$(x)$ and $2\,$ReLU$(x)$
# differ by $x$ for all $x>0$. And $J$ is a mean of squares: for inputs drawn from a law $P$ it approximates $d^2$ in $L^2(P)$.
# *Orbits.* The paper calls the class the orbit of a *direct product* of groups. Swap and scale do not commute, so the product is semidirect; and
# for a target with $s_+ = 0 \ne s_-$, where both $w_i$ are negative, the class has dimension 3 while the orbits of swap and scale have 2.
# *Independence.* It asks for $m+1$ *linearly* independent solutions: for $m=4$ there are none in $\mathbb R^4$. *Affinely* independent is meant.
# :::
#
# ## A case small enough to print

# %%
theta = torch.tensor([1.0, -1.0, 0.8, 0.5], dtype=f64)
orbit = experiment.orbit(theta, 4, generator=generator)
table = pd.DataFrame(orbit.numpy(), columns=["w₁", "w₂", "c₁", "c₂"])
table[["s₊", "s₋"]] = experiment.slopes(orbit).numpy()
table["J"] = genni.loss_at(Problem(fcn, theta, x), orbit).numpy(force=True)
table

# %% tags=["hide-input"]
rows = []
for h, trial in itertools.product((2, 3, 4), range(5)):
    at = torch.randn(2 * h, dtype=f64, generator=generator)
    problem = Problem(models.fcn((1, h, 1)), at, x)
    moved = experiment.orbit(at, 20, generator=generator)
    loss = genni.loss_at(problem, moved).max() / problem.y.square().mean()
    stretch = torch.linspace(1, 2, h, dtype=f64).repeat(2)
    stretch[h:] = 1 / stretch[:h]
    swapped = at.view(2, h).flip(1).flatten()
    apart = (stretch * swapped - (stretch * at).view(2, h).flip(1).flatten()).norm()
    row = {"h": h, "trial": trial, "relative_loss": loss.item()}
    rows.append(row | {"order_matters": (apart / at.norm()).item()})
orbits = pd.DataFrame(rows)

metrics, draw = [], run.generator(10)
far = torch.linspace(-1000, 1000, 20_001, dtype=f64)[:, None]
for trial in range(5):
    at, move = torch.randn(2, 4, dtype=f64, generator=draw)
    move[:2] = 0  # the function is linear in c
    ends = at + torch.tensor([[1.0], [0.5]]) * move
    first, half = genni.loss_at(Problem(fcn, at, x), ends).tolist()
    squared = experiment.gaussian_loss(ends[0], experiment.slopes(at)).item()
    gap = genni.outputs(fcn, ends[:1], far) - genni.outputs(fcn, at[None], far)
    tail = gap.square().flatten()[far.flatten().abs() > 500].sum() / gap.square().sum()
    row = {"trial": trial, "tail": tail.item(), "half_as_far": half / first}
    row["from_half"] = abs(row["half_as_far"] - 0.5)
    metrics.append(row | {"from_d_squared": abs(first / squared - 1)})
metric = pd.DataFrame(metrics)

# %%
Markdown(
    f"Of $\\int|f-g|^2$ over $[-1000, 1000]$ at least {100 * metric['tail'].min():.0f} % lie beyond ±500, in {len(metric)} random pairs. "
    f"Half as far in function space, $J$ is {metric['half_as_far'].mean():.2f} of what it was; it is within "
    f"{100 * metric['from_d_squared'].max():.0f} % of $d^2$ for Gaussian inputs."
)

# %% [markdown]
# (sec-dimension)=
# ### Counting directions
#
# How many directions does the class have? The *functional dimension* at θ is the rank of the Jacobian of all outputs with respect to the
# parameters; what is left is the dimension of the class, where the rank is constant. Orbits of swap and scale have one dimension
# for each neuron. A plane of dimension $m$ meets a class of codimension $r$ in dimension $m-r$, generically: with
# rank 2, a three-dimensional picture shows curves and a two-dimensional one only points.

# %% tags=["hide-input"]
rows = []
for h, trial in itertools.product((2, 3, 4), range(3)):
    mixed = torch.randn(2 * h, dtype=f64, generator=generator).abs()
    mixed[0] *= -1
    kinds = {
        "1 input, both slopes": (1, mixed),
        "1 input, all w negative": (1, -mixed.abs()),
        "3 inputs": (3, torch.randn(4 * h, dtype=f64, generator=generator)),
    }
    for kind, (inputs, at) in kinds.items():
        many = torch.randn(1000, inputs, dtype=f64, generator=generator)
        network = models.fcn((inputs, h, 1))
        rank, fibre, _ = genni.functional_dimension(network, at, many)
        row = {"network": kind, "h": h, "trial": trial, "parameters": len(at)}
        rows.append(row | {"rank": rank, "class": fibre, "orbit": h})
dimensions = pd.DataFrame(rows).assign(orbit_is_all=lambda t: t["class"] == t["orbit"])
dimensions[dimensions["trial"] == 0].drop(columns="trial").set_index(["network", "h"])

# %% [markdown]
# An orbit may be smaller than its group: the *isotropy group* of θ, its stabiliser, consists of the elements that move nothing. {prf:ref}`thm-stabiliser` says which they are:
# neurons that are equal up to a scaling may be exchanged, and a neuron without weights may be scaled. The groups themselves depend on θ: the one-parameter group
# {eq}`eq-further-group` below keeps the function of some θ only.

# %% tags=["hide-input"]
cases = {
    "both slopes": [1.0, -1.0, 0.8, 0.5],
    "both w negative": [-1.0, -2.0, 0.8, 0.5],
    "two equal neurons": [1.0, 2.0, 1.0, 0.5],
    "a neuron without weights": [1.0, 0.0, 0.8, 0.0],
}
rows = []
for point, values in cases.items():
    at = torch.tensor(values, dtype=f64)
    (w1, w2), c = at[:2].tolist(), at[2:]
    fixing = shallow.stabilizer(shallow.ShallowReLU([[w1], [w2]], [0, 0], c[None], [0]))
    further = at + torch.tensor([0, 0, w2, -w1], dtype=f64)
    moved = experiment.gaussian_loss(further, experiment.slopes(at)).item()
    row = {"point": point, "order": fixing.order, "dimension": fixing.dimension}
    row |= {"orbit": 2 - fixing.dimension, "moved_by_the_further_group": moved}
    rows.append(row | {"isotropy": not fixing.trivial})
isotropy = pd.DataFrame(rows)
isotropy.drop(columns="isotropy").set_index("point")

# %% [markdown]
# (sec-search)=
# ## The algorithm
#
# 1. Train from random starts to $\varphi(\cdot,\theta^*)$. Accept a solution by $J/\mathrm{E}[y^2]$ on inputs it has not seen.
# 2. Take $m+1$ affinely independent solutions $\theta_0,\dots,\theta_m$; orthonormalise $\theta_i-\theta_0$.
# 3. Evaluate $J$ at $n^m$ points of the plane, and keep the ε-set.
#
# The paper has no acceptance test. `genni.search` has one, and refuses targets that are dead or constant. `genni.grid_loss`
# evaluates many points at once (`benchmarks/bench_genni.py` says how fast, beside a loop). The target here is *live*, with both slopes not 0:
# they are 0.8 and −0.5.

# %% tags=["hide-input"]
live, found, lives = Problem(fcn, theta, seen), {}, []
for k in range(searches):
    starts = {"seed": seed + k, "starts": 24}
    found[k] = genni.search(live.on(x[:-samples]), 3, steps=search_steps, **starts)
flats = {k: genni.plane(each.points) for k, each in found.items()}
grids = {k: genni.grid_loss(live, flat, (-2, 2), points_3d) for k, flat in flats.items()}
halves = (seen.relu(), -(-seen).relu())
lost = [live.on(half).y.square().sum().item() for half in halves]
expected = min(lost) / sum(lost)  # part 2 of the theorem, on these inputs
for k, grid in grids.items():
    bars = genni.persistence(grid.relative, below=0.95).head(6)
    lives.append(bars.assign(set=f"search {k}", search=k, expected=expected))
verdicts = {f"search {k}": f.tried["verdict"].value_counts() for k, f in found.items()}
verdicts = pd.DataFrame(verdicts).fillna(0).astype(float)
verdicts.loc["condition of the plane"] = [flat.condition for flat in flats.values()]
verdicts

# %% [markdown]
# A start whose two $w_i$ have one sign lacks a slope, and small steps rarely bring it back; such starts are refused. Without an acceptance
# test they would be in the picture.
#
# {numref}`fig-lifetimes` counts pieces without choosing an ε: a bar for each, from the ε at which it appears to the ε at which
# it merges into an older one. Bars that last over decades are pieces of the class in this plane; short ones are the grid's. The dashed line is
# part 2 of {prf:ref}`thm-slopes`.

# %% mystnb={"figure": {"name": "fig-lifetimes", "caption": "Components of the ε-set in planes through four solutions with a live target, as ε grows: the six that last longest, from birth to merging. Dashed: by the theorem, the two pieces of the class cannot merge before."}, "image": {"alt": "Panels of horizontal bars on a logarithmic axis, one panel for each search, with a dashed vertical line."}}
lifetimes(pd.concat(lives))

# %% [markdown]
# {numref}`fig-live` is what the paper's figure 2 would be with a live target: rank 2 in three dimensions leaves curves.

# %% mystnb={"figure": {"name": "fig-live", "caption": "The ε-set of a live target in the plane through four solutions (red diamonds), to be turned. Strands, which the slider makes thick or thin."}, "image": {"alt": "Interactive cloud of points in three dimensions: curved strands with red diamonds on them, with a slider for the threshold."}}
spots = flats[0].coordinates.numpy(force=True)
epsilon_slider(grids[0], [0.01, 0.03, 0.1, 0.2], name="live", points=spots)

# %% [markdown]
# (sec-authors)=
# ## The paper's figures 1 and 2, and the hole
#
# The paper's target is an untrained network with seed 10; its searchers come from the same stream of random numbers. So
# we can have them all again: target, 16,384 inputs, ten starts, 1000 steps of SGD, and no acceptance test.

# %% tags=["hide-input"]
theirs, inputs, starts = experiment.authors_draws(models.fcn, (1,), 16384, 10, seed=10)
problem = Problem(fcn, theirs, inputs)
sgd = {"lr": 0.015 * problem.energy, "optimizer": "sgd", "steps": 1000}
nets = genni.descend(problem, starts, **sgd)
judged = problem.on(inputs[:samples].to(x))
target = genni.describe_target(judged.y, epsilon=0.0025)
losses = genni.loss_at(judged, nets) / target.energy
published = pd.DataFrame({"network": range(10), "relative_loss": losses.tolist()})
published["better_than_zero"] = published["relative_loss"] < 1
useless = published.query("not better_than_zero")["network"]
Markdown(
    f"Their weights: {', '.join(f'{v:.4f}' for v in theirs)}. {target.sentence} Of the ten networks, "
    f"numbers {', '.join(map(str, useless))} are no better than the zero function; the figures use 0 to 3."
)

# %% [markdown]
# Both input weights are negative: one slope is 0, case (3) of {prf:ref}`thm-slopes`. {numref}`fig-figure-1` puts their plane
# beside the live one, {numref}`fig-their-plane` is their figure 2.

# %% tags=["hide-input"]
ratio = 0.0025 / target.energy
their_planes = {m: genni.plane(nets[: m + 1]) for m in (2, 3)}
their_grids = {}
for m, n in ((2, points_2d), (3, points_3d)):
    flat = their_planes[m]
    their_grids[m] = genni.grid_loss(judged, flat, (-2, 2), n)
two = genni.plane(found[0].points[:3])
live_2d = genni.grid_loss(live, two, (-2, 2), points_2d)


def panel(grid, flat, theta, epsilon):
    """The loss on inputs, and beside it the closed form on the same points."""
    slopes = experiment.slopes(theta.to(flat.centre))
    loss = experiment.gaussian_loss(flat.at(grid.coordinates()), slopes).view(
        grid.loss.shape
    )
    exact = grid._replace(loss=loss, energy=slopes.square().sum().item() / 2)
    points = flat.coordinates.numpy(force=True)
    return {"grid": grid, "exact": exact, "points": points, "epsilon": epsilon}


panels = {
    f"theirs, ε = {ratio:.0f}": panel(their_grids[2], their_planes[2], theirs, ratio),
    "theirs, ε = 0.1": panel(their_grids[2], their_planes[2], theirs, 0.1),
    "live, ε = 0.1": panel(live_2d, two, theta, 0.1),
}

# %% mystnb={"figure": {"name": "fig-figure-1", "caption": "The paper's figure 1, computed again: its own networks, plane, bounds and ε (left), the same with a relative ε of 0.1 (middle), and a live target (right). Solid: the ε-set on inputs; dashed: by the closed form. Crosses: the networks that span the plane."}, "image": {"alt": "Three square heat maps of the loss on planes with contour lines: a wide connected dark region, a thin dark curve, and small dark spots."}}
loss_planes(panels)

# %% mystnb={"figure": {"name": "fig-their-plane", "caption": "The paper's figure 2, computed again, to be turned; ε is given relative to the energy of the target, and the paper's own is the largest on the slider. From 1 on, the zero function is inside."}, "image": {"alt": "Interactive cloud of points in three dimensions: wide crossing sheets, with a slider for the threshold."}}
crosses = their_planes[3].coordinates.numpy(force=True)
levels = [0.1, 0.3, 1.0, 3.0, round(ratio, 1)]
epsilon_slider(their_grids[3], levels, name="theirs", points=crosses)

# %% tags=["hide-input"]
axis = torch.linspace(
    -2, 2, 2 * points_3d, dtype=f64
)  # twice as fine: thin sheets need it
at = their_planes[3].at(torch.cartesian_prod(axis, axis, axis))
form = [len(axis)] * 3
near = (experiment.gaussian_loss(at, experiment.slopes(theirs.to(at))) < 0.0025).view(
    form
)
near_zero = (experiment.gaussian_loss(at, torch.zeros(2).to(at)) < 0.0025).view(form)
negative = (at[:, :2] < 0).all(1).view(form)
sets = {"theirs": near, "with both w negative": near & negative}
sets["near the zero function"] = near & near_zero
kinds = ("pieces", "holes", "cavities")
hole = [
    {"set": k} | dict(zip(kinds, genni.betti(v), strict=True)) for k, v in sets.items()
]
hole = pd.DataFrame(hole).assign(points=[int(v.sum()) for v in sets.values()])
hole

# %%
squares, t = experiment.quadric(their_planes[3], experiment.slopes(theirs)[1].item())
_, t_zero = experiment.quadric(their_planes[3], 0.0)
one = bool(t > 0) == (int((squares > 0).sum()) == 2)
Markdown(
    f"Where both $w_i$ are negative, the class is the quadric $c_1w_1 + c_2w_2 = s_-$. In their plane "
    f"its squares are {', '.join(f'{v:+.2f}' for v in squares)}, with {t:+.3f} on the right: a hyperboloid "
    f"of **{'one sheet, around a hole' if one else 'two sheets'}**; the class of the zero function has "
    f"{t_zero:+.3f} there. Of their ε-set, "
    f"{100 * (near & near_zero).sum() / near.sum():.0f} % lies within ε of the zero function."
)

# %% [markdown]
# (sec-hole)=
# ### The hole and its group
#
# The paper leaves the *hole* open and guesses that it "may be explained by other groups of symmetries". It is right. Where both neurons are off
# on the same side, $w_1, w_2 < 0$, the class is $\{c_1w_1+c_2w_2 = s_-\}$, of dimension 3, while orbits of swap and scale have dimension 2. The missing
# direction is the one-parameter group
#
# $$(c_1, c_2) \mapsto (c_1 + t\,w_2,\; c_2 - t\,w_1),$$ (eq-further-group)
#
# which is neither a swap nor a scaling. In $\mathbb R^4$ the form $c_1w_1+c_2w_2$ has two positive and two negative squares; in a generic plane of three
# dimensions it has one less, and the surface is a hyperboloid: of one sheet, around a hole, or of two. (That the hole on the grid is this one is an
# inference: counted for the part alone, holes still come and go with the grid.)
#
# :::{admonition} Erratum of ours
# :class: warning
# An earlier version of this page said that the hole needs no further group. {eq}`eq-further-group` shows that it does.
# :::
#
# (sec-crossing)=
# ### Why two surfaces cross
#
# Two surfaces meet in {numref}`fig-their-plane`: one where both $w_i<0$, around the hole, and one where both $w_i>0$. They are not permuted copies of each other, since the swap maps each to
# itself. Where both $w_i > 0$ the slope $s_-$ is 0, so that $J\ge\tfrac12s_-^2$ by {prf:ref}`thm-slopes` (1), which for the paper's target is all of $\mathrm E[y^2]$: the second surface belongs
# to the class of the *zero function*, and a threshold lets it in only above $s_-^2/(s_+^2+s_-^2)$ of the energy. The table keeps the printed ε and the plane, and
# changes the target: its energy, and whether a slope is 0.

# %% tags=["hide-input"]
lower, upper = ((at[:, :2] * sign > 0).all(1) for sign in (-1, 1))
kinds, rows = {"a slope 0": (0.0, 1.0), "both slopes alive": (0.5**0.5, 0.5**0.5)}, []
for (kind, ray), epsilon in itertools.product(kinds.items(), (ratio, 4.0, 0.9, 0.4, 0.1)):
    aim = (2 * 0.0025 / epsilon) ** 0.5 * torch.tensor(ray).to(at)
    inside = experiment.gaussian_loss(at, aim) < 0.0025
    label = genni.components(inside.view(form)).flatten()
    joined = set(label[inside & lower].tolist()) & set(label[inside & upper].tolist())
    row = {"target": kind, "epsilon": round(epsilon, 2), "points": int(inside.sum())}
    row["second_surface"] = (inside & upper).sum().item() / inside.sum().item()
    row["near_zero"] = (inside & near_zero.flatten()).sum().item() / inside.sum().item()
    row |= {"joined": bool(joined), "predicted": epsilon > ray[1] ** 2}
    rows.append(row)
crossing = pd.DataFrame(rows)
crossing["as_predicted"] = (crossing["second_surface"] > 0) == crossing["predicted"]
crossing.set_index(["target", "epsilon"]).drop(columns=["points", "as_predicted"])

# %%
like_theirs = crossing[crossing["epsilon"] == round(ratio, 2)].set_index("target")
Markdown(
    f"At the printed ε the second surface holds {100 * like_theirs['second_surface'].iloc[0]:.0f} % of the set with a slope 0 and "
    f"{100 * like_theirs['second_surface'].iloc[1]:.0f} % with both slopes alive, and {100 * like_theirs['near_zero'].min():.0f} % of either set or more lie within ε of "
    "the zero function. With a slope 0 it is gone as soon as ε is below the energy. So **the threshold is the cause of the crossing**, "
    "and neither a permutation nor the slope that is 0."
)

# %% [markdown]
# A slope that is 0 has another effect: it joins the permuted copies, through the part of dimension 3 ({prf:ref}`thm-slopes` (3)). Copies of a live network never meet.
#
# :::{admonition} Errata: lengyel2020, figures 1 and 2
# :class: warning
# ε = 0.0025 is above the target's energy, so the zero function is in the set, and with it the second surface of figure 2. "Due to the permutation symmetries, such
# intersecting surfaces should be expected" is not their cause.
# :::
#
# Counted in all of $\mathbb R^4$, for five live targets:

# %% tags=["hide-input"]
axis = torch.linspace(-2, 2, 16, dtype=f64)
everywhere, rows = torch.cartesian_prod(*[axis] * 4), []
for plus, minus in ((1.0, -1.0), (1.0, 1.0), (0.8, -0.5), (1.0, 0.5), (-0.7, 1.2)):
    at = torch.tensor([plus, minus], dtype=f64)
    relative = experiment.gaussian_loss(everywhere, at).view([16] * 4) / (
        at.square().sum() / 2
    )
    merging = min(plus**2, minus**2) / (plus**2 + minus**2)
    bars = genni.persistence(relative, below=0.95)
    bars = bars[(bars["birth"] < 0.1 * merging) & (bars["death"] > 0.4 * merging)]
    row = {"s_plus": plus, "s_minus": minus, "pieces": len(bars), "predicted": merging}
    rows.append(row | {"merged_at": bars["death"].iloc[1:].max()})
copies = pd.DataFrame(rows).assign(copies_meet=lambda table: table["pieces"] < 2)
copies

# %% [markdown]
# On a grid, pieces may merge a little early: neighbours can leap over the barrier.
#
# (sec-cost)=
# ### What a grid costs
#
# The paper gives the cost of a picture as $O(N)$ in its $N = n^m$ points, and found $m > 7$ infeasible. The table counts the multiplications and additions of `grid_loss`: so many
# for each point, whatever $n$ and $m$. With 20 points a side, $m=7$ asks for $1.3\cdot10^9$ points, and $m=8$ for $2.6\cdot10^{10}$, whose losses alone fill 205 GB. A coarser grid is no way out: a
# set of codimension $r$ and thickness δ fills a share of about $\delta^r$ of the points. The paper also considers SGD as a sampler, or to walk along a level set, and
# rejects both because such points lie in no plane. Where the group is known, its elements give members of the class without a search, as in the table of an orbit above.

# %% tags=["hide-input"]
rows = []
for m, n in ((1, 64), (2, 16), (2, 32), (3, 8), (3, 16), (4, 8)):
    flat = genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)[:m]]).to(f64))
    with FlopCounterMode(display=False) as counter:
        genni.grid_loss(live, flat, (-2, 2), n)
    rows.append({"m": m, "n": n, "points": n**m, "operations": counter.get_total_flops()})
cost = pd.DataFrame(rows).eval("per_point = operations / points")
cost["excess"] = cost["per_point"] / cost["per_point"].min() - 1
cost.set_index(["m", "n"]).drop(columns="excess")

# %% [markdown]
# (sec-conjecture)=
# ## The conjecture as a statistic
#
# The paper conjectures that the plane through solutions holds more good points than a randomly chosen one. {numref}`fig-conjecture`
# compares the share of grid points under ε with random planes through the same $\theta_0$, a harder null than the paper's; the text below it has planes through random parameters as well.

# %% tags=["hide-input"] mystnb={"figure": {"name": "fig-conjecture", "caption": "Share of grid points under ε in the plane of four solutions (blue) and in random planes through the first of them (grey: range and median), for each search. What can be told apart, the text below computes."}, "image": {"alt": "Panels of curves on logarithmic axes: a blue line and a grey band, one panel for each search."}}
compared = []
for k, flat in flats.items():
    asked = {"planes": planes, "generator": run.generator(1000 + k)}
    asked["epsilons"] = [0.01, 0.03, 0.1, 0.3]
    n = max(2, points_3d // 2)
    share = experiment.conjecture(live, flat, (-2, 2), n, **asked)
    compared.append(share.assign(search=k))
compared = pd.concat(compared)
means = (
    compared.groupby(["search", "epsilon", "plane"])["share"]
    .mean()
    .unstack()
    .reset_index()
)
rows, axis = [], torch.linspace(-2, 2, n, dtype=f64)
cube, goal = torch.cartesian_prod(axis, axis, axis), experiment.slopes(theta)
for k, flat in flats.items():
    draw = run.generator(2000 + k)
    centres = torch.randn(planes, 4, dtype=f64, generator=draw)
    anywhere = [genni.random_plane(c, 3, generator=draw) for c in centres]
    loss = [experiment.gaussian_loss(f.at(cube).cpu(), goal) for f in (flat, *anywhere)]
    share = [
        (each < 0.1 * goal.square().sum() / 2).double().mean().item() for each in loss
    ]
    row = {"search": k, "epsilon": 0.1, "solutions": share[0]}
    rows.append(row | {"random": sum(share[1:]) / planes})
anywhere = pd.DataFrame(rows)
shares(compared)


# %%
def told(table):
    """Solutions minus random at ε = 0.1, with a verdict."""
    at = table.query("epsilon == 0.1")
    low, high = results.interval(at["solutions"] - at["random"])
    word = "more" if low > 0 else "fewer" if high < 0 else "inconclusive"
    return f"95 % interval from {100 * low:.2f} to {100 * high:.2f} points over {len(at)} searches. Verdict: **{word}**."


run.write(conjecture=means, conjecture_anywhere=anywhere)
largest, said = run.largest("conjecture")
wide, _ = run.largest("conjecture_anywhere")
Markdown(
    f"At ε = 0.1, solutions minus random planes, {planes} for each search: {told(means)}\n\n{said} There: {told(largest)}"
    f"\n\nAgainst planes through random parameters, by the closed form: {told(anywhere)} In the largest recorded run: {told(wide)}"
)

# %% [markdown]
# So a plane of solutions holds about three times as many good points as a plane anywhere (1.5 to 6 times in ten searches), and not clearly more than one through a single solution: a random plane through $\theta_0$ sees the piece of
# the class that $\theta_0$ is on. Other solutions can add the *other* pieces, which {numref}`fig-lifetimes` counts.
#
# ## What the paper prints, and what would break it
#
# Figure 2 is drawn at ε = 0.0025, on $50^3$ points of $[-2,2]^3$, figure 3a at 0.005. Both lie far above the energy of the target, as the sentence in the section on the authors' figures says; so their
# pictures are, for the most part, pictures of the class of 0. The table counts holes at twice the resolution of the picture, since thin sheets on a coarse grid are full of false ones.
#
# What would break the explanation: a hole of this kind around a live target, whose class has no part of dimension 3: curves, as in {numref}`fig-live`, are no surface around a hole.
# And what would break the count of pieces: a plane that happens to touch a piece twice, so that one piece looks like two. A count in a plane is a statement about the plane; the table of five
# targets above counts in the whole space.
#
# ## Adapt this
#
# Any `nn.Module` whose output depends on parameters and input alone. Here: two tanh neurons. Their group is finite, and the picture should show $2!\cdot2^2 = 8$ points of $\mathbb R^4$.

# %%
mine = nn.Sequential(nn.Linear(1, 2, bias=False), nn.Tanh(), nn.Linear(2, 1, bias=False))
known = torch.tensor([0.5, 1.5, 2.0, 1.0], dtype=f64)
space = genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)]))
grid = genni.grid_loss(Problem(mine, known, seen[:100]), space, (-2, 2), 17)
equal = space.at(grid.coordinates()[grid.loss.flatten() < 1e-20])
pd.DataFrame(equal.numpy(force=True), columns=["w₁", "w₂", "c₁", "c₂"])

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-merge
# By {prf:ref}`thm-slopes` (2), for which slopes are the two pieces hardest to merge? At which ε do they merge if one slope
# is ten times the other? Predict, then count, in the plane of the input weights.
# :::
#
# ::::{solution-start} ex-merge
# :class: dropdown
# ::::
# For slopes of equal size: at ε = 1/2. For a ratio of ten, at 1/101, on Gaussian inputs. The grid may merge them a little earlier, because it leaps over what
# lies between two points.

# %%
for steep in (1.0, 10.0):
    level = steep**0.5
    corner = torch.tensor([0.0, 0.0, level, level], dtype=f64)
    flat = input_weights(torch.eye(2))._replace(centre=corner)
    target = torch.tensor([level, -1 / level, level, level], dtype=f64)
    merging = genni.persistence(
        genni.grid_loss(Problem(fcn, target, x), flat, (-4, 4), 81).relative
    )
    assert 0.5 < merging["death"][1] * (1 + steep**2) < 1.2

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - A class can be seen: in a plane that holds it, or in slices of dimension $m - r$.
# - Count before you interpret: pieces by their lifetimes, holes by Betti numbers, directions by ranks.
# - The surfaces that cross in the paper's figure 2 come from its threshold; the hole comes from a further group.
# - The paper's pictures show a target that is nearly 0 as much as a symmetry. A relative ε, held-out inputs and a live target make such pictures speak of the network.
#
# Back to {doc}`05_interpretability`, on to {doc}`06b_genni_lenet`, which has LeNet, UMAP, and a guide from pictures to groups.
#
# ## Provenance

# %% tags=["hide-input"]
vectors = torch.randn(5, 4, dtype=f64, generator=generator)
ranks = [int(torch.linalg.matrix_rank(vectors[: m + 1])) for m in range(1, 5)]
shown = [genni.components(genni.epsilon_set(their_grids[m], ratio)) for m in (2, 3)]
shown = pd.DataFrame({"figure": [1, 2], "pieces": [int(each.max()) for each in shown]})

# %% tags=["hide-input"]
independence = pd.DataFrame({"m": range(1, 5), "rank": ranks})
run.write(
    orbits=orbits,
    metric=metric,
    isotropy=isotropy,
    cost=cost,
    crossing=crossing,
    dimensions=dimensions,
    independence=independence.eval("holds = rank == m + 1"),
    published_networks=published.query("network < 4").reset_index(drop=True),
    copies=copies,
    thresholds=pd.DataFrame([{"network": "FCN", "relative": ratio}]),
    pictures=shown.eval("connected = pieces == 1"),
    hole=hole,
)

# %%
results.provenance()
