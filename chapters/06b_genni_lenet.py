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
# # 6b · Larger networks, UMAP, and a guide
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`06_genni`: planes through solutions, ε-sets, and the two slopes of the small network.
#
# **You will learn** to recognise the zero function in a picture, which question UMAP answers,
# how neighbouring classes fill the space of parameters, and how to go from a picture to a group.
#
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/06b_genni_lenet>`.
# :::
#
# ## The question
#
# The paper {cite}`lengyel2020` ends with LeNet, a convolutional network.
# Its pictures show a *wide* region of low loss, with an interior, and to the authors the width seems to come from
# symmetries of
# convolutions and to the many dimensions.
# *Do the networks of this region compute the target, related by a symmetry?*
#
# **No.** The printed threshold is so high that the region contains the zero function and its neighbours; on the whole
# grid no network fits the target ({numref}`fig-lenet`).

# %% tags=["hide-input"]
import copy
import itertools

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from IPython.core.pylabtools import print_figure
from plotly.subplots import make_subplots
from torch import nn

from intertwine import devices, genni
from intertwine.genni import Problem
from intertwine.weightspace import find_symmetries, match
from intertwine_book import data, models
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.genni import Losses, class_stack, embeddings, loss_planes
from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.style import COLOURS, use_style
from intertwine_book.genni_authors import authors_draws
from intertwine_book.record import on_record

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of inputs and starts
lenet_steps: int = 300  # of Adam, to the target that varies
lenet_accept: float = 0.02  # largest relative loss of a solution
points_2d: int = 200  # grid points along each side of a plane of small networks

# %% tags=["hide-input"] figure="fig-lenet"
AUTHORS, VARIES = "the authors' target", "a target that varies"
EPSILONS = {0.03: "0.03", 0.1: "0.1", 0.3: "0.3", 0.9: "0.9", 1.1: "1.1"}
EPSILONS |= {10.0: "10", 100.0: "100", 460.0: "460 (printed)"}
every = {"planes": "plane_losses", "crosses": "networks"}
recorded = {k: on_record("06b_genni_lenet", name) for k, name in every.items()}


def plane_of(target):
    """Coordinates, relative losses, and where the output is 0, of a recorded plane."""
    rows = recorded["planes"].query("target == @target")
    words = np.array([line.split() for line in rows["losses"]])
    losses = np.where(words == "=", "1", words).astype(float)
    return rows["t1"].to_numpy(), losses, words == "="


def crosses(target):
    return recorded["crosses"].query("target == @target and network < 3")[["t1", "t2"]]


def still_planes():
    """The picture of both planes where nothing can be moved."""
    panels = {}
    for target in (AUTHORS, VARIES):
        axis, losses, zero = plane_of(target)
        panel = {"grid": Losses(axis, losses), "points": crosses(target)}
        panels[target] = panel | {"epsilon": 460.0}
        panels[target] |= {"zero": zero} if zero.any() else {}
    drawn = loss_planes(panels, low=-3, high=3)
    text = print_figure(drawn, "png", base64=True)
    alt = "Losses on both planes"
    return f'<img class="still" alt="{alt}" src="data:image/png;base64,{text}">'


figure = make_subplots(
    1,
    2,
    subplot_titles=["authors' target", "target that varies"],
    horizontal_spacing=0.08,
)
above = {"type": "constraint", "operation": "<"}  # plotly fills what is excluded
for k, target in enumerate((AUTHORS, VARIES), 1):
    axis, losses, zero = plane_of(target)
    logs = np.log10(losses.clip(1e-3, 1e3)).round(2).T.tolist()
    at = {"x": axis.tolist(), "y": axis.tolist(), "hoverinfo": "skip"}
    spread = go.Heatmap(**at, z=logs, coloraxis="coloraxis")
    out = {"fillcolor": "rgba(150,150,150,0.85)", "line": {"color": "black", "width": 1}}
    limit = above | {"value": float(np.log10(460.0))}
    outside = go.Contour(**at, z=logs, contours=limit, showlegend=False, **out)
    places = crosses(target)
    mark = {"symbol": "x", "size": 9, "color": COLOURS["red"]}
    spot = {
        "mode": "markers",
        "marker": mark,
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    dots = go.Scatter(x=places["t1"].tolist(), y=places["t2"].tolist(), **spot)
    for trace in (spread, outside, dots):
        figure.add_trace(trace, 1, k)
    if zero.any():
        y, x = (axis[each].mean() for each in zero.T.nonzero())
        text = {"text": "output 0", "font": {"color": "black"}, "showarrow": False}
        figure.add_annotation(
            x=x, y=y, bgcolor="rgba(255,255,255,0.7)", **text, row=1, col=k
        )
steps = [
    {"label": label, "args": [{"contours.value": float(np.log10(epsilon))}, [1, 4]]}
    | {"method": "restyle"}
    for epsilon, label in EPSILONS.items()
]
slider = {"active": len(steps) - 1, "steps": steps, "currentvalue": {"prefix": "ε = "}}
bar = {
    "title": {"text": "J/E[y²]", "side": "top"},
    "thickness": 10,
    "orientation": "h",
    "y": -0.45,
}
bar["tickvals"] = [-3, -2, -1, 0, 1, 2, 3]
bar["ticktext"] = ["0.001", "0.01", "0.1", "1 (zero)", "10", "100", "1000"]
scale = {
    "colorscale": "GnBu",
    "reversescale": True,
    "cmin": -3,
    "cmax": 3,
    "colorbar": bar,
}
figure.update_layout(
    template="none",
    height=420,
    margin={"l": 35, "r": 10, "t": 30, "b": 95},
    paper_bgcolor="rgba(0,0,0,0)",
    font={"color": COLOURS["grey"]},
    dragmode=False,
    coloraxis=scale,
    sliders=[slider],
)
figure.update_xaxes(title="t₁", range=[-13, 13], constrain="domain")
figure.update_yaxes(range=[-13, 13])
figure.update_yaxes(title="t₂", title_standoff=0, col=1)
says = "networks below ε = {}"
Interactive(figure, "planes", says, picture=still_planes())

# %% [markdown]
# :::{figure} #fig-lenet
# ---
# alt: >-
#   Two square heat maps; grey covers what is above ε.
#   At the printed ε both show a wide region; in the left one the words output 0, in the right one three dark spots,
#   each with a cross.
#   A slider lowers ε: below 1 the left map is grey everywhere; the right one keeps one piece, and three islands from
#   0.3 down.
# ---
# At the printed ε both planes hold one wide region, but only the right one has networks that fit the target (dark).
# Move ε below 1: on the left nothing remains; on the right one piece, and from 0.3 down three islands.
# Grey: loss above ε times the zero function's.
# Crosses: the networks that span each plane.
# Left: the authors' LeNets; right: smaller LeNets, trained to a target that varies.
# On the scale 1 is the zero function.
# Recorded.
# :::

# %% [markdown]
# *None of the five LeNets that span the authors' pictures is better than the zero function.*
# The authors' code tests no loss before it draws ({ref}`rec-lenet-draws`).
# The plane on the right has a target whose outputs differ from image to image, and its three networks fit.
# At the same threshold it looks even wider than the left one: the threshold makes the region, not a symmetry.
#
# ## A threshold by hand
#
# Take a target of small outputs, say $y = 0.0023$ on every input, and networks that return $a\,y$.
# Then $J = (a-1)^2\,\mathrm E[y^2]$.
#
# | network | $a$ | $J/\mathrm E[y^2]$ | $J < 0.0025$ |
# |---|---|---|---|
# | the target | 1 | 0 | yes |
# | the zero function | 0 | 1 | yes |
# | far too large | 20 | 361 | yes |
# | larger still | 25 | 576 | no |
#
# The printed ε is about {fact}`06b_genni_lenet.printed:.0f` times the loss of the zero function, nearly
# as in this table.
# So divide $J$ by $\mathrm E[y^2]$ before you choose a threshold.
#
# :::{prf:proposition} An interior says nothing of symmetry
# :label: prop-interior
# Let the outputs depend continuously on θ.
# Then $\{\theta : J(\theta) < \varepsilon\}$ is open, so it is empty or has an interior.
# If $\varepsilon > \mathrm E[y^2]$, it contains a neighbourhood of every network that returns 0 on the inputs.
# :::
#
# :::{prf:proof}
# $J$ is continuous, so the set is the preimage of an open set.
# At a network that returns 0, $J = \mathrm E[y^2] < \varepsilon$.
# :::
#
# (sec-lenet)=
# ## A network that returns 0
#
# The paper's LeNet ends in a ReLU.
# If that ReLU is inactive on every image, the output is zero and so is the gradient: no step of training moves the
# network.
# The centre of the authors' pictures is such a network:

# %% tags=["hide-input"]
device = devices.pick(device)
lenet = models.lenet().eval()
weights, noise, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 1, seed=0)
images = noise[:500].to(device)

# %%
centre = starts[:1].to(device).requires_grad_()
output = genni.outputs(lenet, centre, images)[0]
target = genni.outputs(lenet, weights[None].to(device), images)[0]
loss = (output - target).square().mean()
loss.backward()
print("largest output:", output.max().item())
print("largest entry of the gradient:", centre.grad.abs().max().item())
print("relative loss:", (loss / target.square().mean()).item())

# %% tags=["hide-input"]
theirs = Problem(lenet, weights, images)
assert torch.isclose(genni.loss_at(theirs, centre.detach())[0], loss)
assert loss.item() < 0.0025

# %% [markdown]
# In the plane of the paper's figure 4 the output is zero on {fact}`06b_genni_lenet.hatched:.0f` % of the points.
# The rest of the wide region does not return zero; the threshold alone admits it.
# In the paper's figure 6, part b, *every* point of our coarser grid returns zero: the picture shows a grid, and
# nothing of LeNet
# ({ref}`rec-lenet-four`).
#
# :::{admonition} Errata: Lengyel et al. 2020, LeNet
# :class: warning
# LeNet-5 has 60,000 parameters, as printed; the network of the experiments has 43,661.
# The printed threshold is above the target's $\mathrm E[y^2]$.
# An interior of $\{J<\varepsilon\}$ is no sign of a symmetry.
# :::
#
# ## Islands say little about the group
#
# On the right of {numref}`fig-lenet` each solution lies on an island of its own.
# Yet every solution has a continuous family of networks with its function: scale a channel, and undo it in the next
# layer.
# Why does the plane not show a curve?
#
# :::{prf:proposition} A plane of few dimensions misses the orbit
# :label: prop-miss
# Let an orbit in $\mathbb R^p$ have dimension $d$, and let a plane of dimension $m \le p - d$ pass through one of its
# points.
# For almost every such plane the point is the only one that both have in common nearby.
# :::
#
# :::{prf:proof}
# A generic plane of dimension $m \le p - d$ meets the tangent space of the orbit in 0 only.
# So the difference of a point of the orbit and a point of the plane has an injective derivative there,
# and vanishes only once nearby.
# :::
#
# This LeNet has thousands of parameters and {fact}`06b_genni_lenet.scalings_small` scalings, so a plane sees points.
# To see a curve, follow the orbit itself, or ask the algebra, as in {ref}`sec-guide`.
#
# (sec-umap)=
# ## UMAP: which points are neighbours?
#
# For sets of three and four dimensions the paper turns to UMAP, and reads off that they stay connected.
# UMAP answers one question: *which points of a cloud are near which others?*
# It joins each point of the cloud to its nearest neighbours (the paper takes 20), and draws this graph in the plane.
# The drawing keeps neither distances nor sizes nor shapes.
# It depends on a seed and on where it starts, and it may tear a set apart or push two together.
#
# Counting pieces on the grid needs no seed, but depends on ε and on the spacing:


# %%
def count_pieces(inside):
    """Pieces of a set of grid points; neighbours differ by at most 1."""
    left, count = {tuple(p) for p in inside.nonzero().tolist()}, 0
    while left:
        queue, count = [left.pop()], count + 1
        while queue:
            here = queue.pop()
            for step in itertools.product((-1, 0, 1), repeat=inside.ndim):
                there = tuple(a + b for a, b in zip(here, step, strict=True))
                if there in left:
                    left.remove(there)
                    queue.append(there)
    return count


ours = torch.tensor(plane_of(VARIES)[1])  # on the right of the first figure
print("pieces at ε = 0.1:", count_pieces(ours < 0.1))

# %% tags=["hide-input"]
assert count_pieces(ours < 0.1) == genni.components(ours < 0.1).max()

# %% tags=["hide-input"] figure="fig-umap"
pictures = on_record("06b_genni_lenet", "umap")
pictures = pictures.query("set == 'two slopes, 3D' and seed in (0, 2, 3)")
parts = []
for row in pictures.itertuples():
    columns = {name: getattr(row, name).split() for name in ("x", "y", "component")}
    part = pd.DataFrame(columns).astype({"x": float, "y": float, "component": int})
    start = {"random": "random start", "spectral": "default start"}[row.start]
    parts.append(part.assign(set=start, seed=row.seed, drawn=row.drawn))
embeddings(pd.concat(parts).sort_values(["set", "seed"], ascending=[False, True]))

# %% [markdown]
# :::{figure} #fig-umap
# ---
# alt: >-
#   Two rows of three scatter plots in two colours.
#   Above, random starts: two clouds, one cloud with both colours, three clouds; below, the default start: two clouds
#   each time.
# ---
# From random starts the number of pieces in a picture by UMAP may change; from its default start it did not.
# A set of two pieces (colours), of a small network's target with two nonzero slopes.
# Columns: seeds.
# Above each picture, its pieces.
# :::

# %% [markdown]
# To count pieces *in a drawn picture* we need a second graph: it joins each drawn point to its ten nearest, and the
# count depends on this ten.
# *From its default start UMAP kept the number of pieces, from random starts not always.*
# From its default, a spectral embedding that the authors leave, it kept the number in all
# {fact}`06b_genni_lenet.pictures` pictures of four sets of the small network; from random starts it changed
# {fact}`06b_genni_lenet.changed` of as many, all of sets in three dimensions ({numref}`fig-umap`, {ref}`rec-umap`).
# So the paper's reading survives here for its start, and a count on the grid needs no picture.
#
# (sec-quotient)=
# ## How classes fill the parameters
#
# Count all parameters with one function as one point.
# The paper leaves the resulting space, the *quotient*, to future work.
# For the small network it is known: by {prf:ref}`thm-slopes` the two slopes $(s_+, s_-)$ are its coordinates,
# and with two neurons every pair is reached.
# {numref}`fig-stack` shows how classes fill the parameters: as hyperbolas, and as hexagons one inside the other.

# %% tags=["hide-input"] figure="fig-stack"
x = torch.linspace(-2, 2, 100, dtype=torch.float64, device=device)[:, None]
neuron = genni.plane(torch.tensor([[0.0, 0], [1, 0], [0, 1]]))
corner = torch.tensor([0.0, 0, 0, 1, 1, 1])
turns = torch.tensor([[1.0, -1, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0]])
three = genni.plane(torch.cat([corner[None], corner + turns]))

cases = {"one neuron": (1, neuron, torch.relu)}
cases |= {"three neurons": (3, three, torch.abs)}
stack = {title: {} for title in cases}
for size in (0.4, 0.8, 1.2, 1.6):
    for title, (h, flat, base) in cases.items():
        scaled = lambda x, size=size, base=base: size * base(x)
        problem = Problem(models.fcn((1, h, 1)).eval(), scaled, x)
        grid = genni.grid_loss(problem, flat, (-2.5, 2.5), points_2d)
        stack[title][size] = grid
class_stack(stack)

# %% [markdown]
# :::{figure} #fig-stack
# ---
# alt: >-
#   Left: nested hyperbola branches; right: nested hexagons; colours tell the size of the target.
# ---
# Neighbouring classes are nested hyperbolas and nested hexagons.
# Left: targets τ·ReLU(x) for one neuron; t₁ and t₂ are its two weights.
# Right: τ·|x| for three neurons with outgoing weights 1 and $w_1 + w_2 + w_3 = 0$; t₁ and t₂ are coordinates there.
# Drawn where the relative loss is below 0.01.
# Computed by this page.
# :::

# %% [markdown]
# (sec-guide)=
# ## From a picture to a group: a guide
#
# With `from intertwine import genni`, `from intertwine.weightspace import find_symmetries`, a `problem`, its `grid`
# on a plane, and a solution θ (`theta`):
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you see
#   - it may be
#   - test
#   - trap
# * - a wide region
#   - inactive units, or a high threshold
#   - `problem.energy`, the zero function's loss
#   - An interior is no symmetry ({prf:ref}`prop-interior`).
# * - isolated points
#   - orders, signs; or too few dimensions
#   - `genni.components(grid.relative < eps).max()` for several ε
#   - A plane of few dimensions misses a continuous orbit ({prf:ref}`prop-miss`).
# * - curves like $(\alpha, 1/\alpha)$
#   - scalings
#   - `torch.linalg.svdvals` of the Jacobian in the plane: one value is 0
#   - A valley of low loss looks like a curve; lower ε.
# * - closed curves, spheres
#   - pieces glued where a neuron changes sign; or rotations
#   - `genni.betti(grid.relative < eps)`
#   - Corners mean pieces; a rotation has constant radius.
# * - crossing sheets
#   - a degenerate target: its class is larger than its orbit
#   - `genni.functional_dimension(net, theta, inputs)` on each sheet
#   - Too large an ε joins sheets that belong to another target ({doc}`06_genni`).
# * - anything, of a network with layers
#   - the group of the architecture
#   - `find_symmetries(net, inputs)`
#   - The class may be larger than the orbit.
# :::
#
# ### The guide, applied to LeNet
#
# We train three small LeNets to the target on the right of {numref}`fig-lenet`, and go through the table.

# %% tags=["hide-input"]
small = models.lenet(1, output_relu=False, size=16).eval()
digits = data.load("digits", "train", device="cpu").images
digits = nn.functional.interpolate(digits, size=16).flatten(1)
components = torch.linalg.svd(digits - digits.mean(0), full_matrices=False).Vh
draw = torch.Generator().manual_seed(seed)
images = torch.randn(5000, 2, generator=draw) @ components[:2]
images = (images / images.std()).view(-1, 1, 16, 16).to(device)
fixed = genni.random_starts(small, 1, generator=torch.Generator().manual_seed(seed + 5))
fixed = 2.0 * fixed.to(device)
raw = genni.outputs(small, fixed, images)[0]


def wanted(x):
    """A target of mean 0 and variance 1."""
    return (genni.outputs(small, fixed, x)[0] - raw.mean()) / raw.std()


problem = Problem(small, wanted, images)
asked = {"starts": 4, "lr": 0.01, "batch_size": 64, "steps": lenet_steps}
solved = genni.search(problem, 2, seed=seed, accept=lenet_accept, **asked)
few = problem.on(images[-500:])

# %%
plane, h = genni.plane(solved.points), 1e-2
theta, around = solved.points[0], h * plane.basis.to(images)
ahead = genni.outputs(small, theta + around, few.inputs)
behind = genni.outputs(small, theta - around, few.inputs)
jacobian = ((ahead - behind) / (2 * h)).flatten(1)  # in the plane
values = torch.linalg.svdvals(jacobian)
print("relative loss:", (genni.loss_at(few, theta[None]) / few.energy).item())
print("singular values in the plane:", values.cpu().numpy().round(1))

# %% [markdown]
# The loss is far below the zero function's, so this network approximates the target.
# Both singular values are far from 0, so this solution is isolated in the plane, whatever its group is.
# So ask for the group of the architecture, act with a random element, and try to carry one solution to another:


# %%
def network(theta):
    net = copy.deepcopy(small).to(theta)
    nn.utils.vector_to_parameters(theta, net.parameters())
    return net


first, second = network(solved.points[0]), network(solved.points[1])
space = find_symmetries(first, images[:1])
moved = space.act(first, space.sample(torch.Generator().manual_seed(1)))
near = match(space, first, second).model
vector = genni.parameter_vector
for name, net in {"first": first, "moved": moved, "near": near}.items():
    relative = (genni.loss_at(few, vector(net)[None]) / few.energy).item()
    apart = (vector(net) - solved.points[0]).norm().item()
    print(f"{name}: relative loss {relative:.4f}, distance {apart:.1f}")
print(space)

# %% [markdown]
# The moved network is far away and has the same loss: each hidden channel or feature can be scaled, and those of a
# layer permuted.
# This is a group that no picture above showed.
# The second solution stays at a distance even after the best element that we found.
# So the two are not known to lie in one orbit: they agree only approximately, and the class may be larger than the
# orbit.
#
# On the small network the test works.
# There `four` holds four solutions $(w_1, w_2, c_1, c_2)$ of the problem `live`:

# %% tags=["hide-input"]
_, x, _ = authors_draws(models.fcn, (1,), 16384, 1, seed=10)
slopes = torch.tensor([1.0, -1.0, 0.8, 0.5])
live = Problem(models.fcn().eval(), slopes, x[:4000].to(device, torch.float64))
four = genni.search(live, 3, seed=seed, starts=24).points.cpu()


# %%
def element(first, second):
    """The order and the scaling that map one solution to another."""
    (w, c), (v, d) = first.view(2, 2), second.view(2, 2)
    for order in ([0, 1], [1, 0]):
        alpha = v / w[order]
        same = torch.allclose(alpha * d, c[order], rtol=0.05)
        if same and (alpha > 0).all():
            return order, alpha
    return None


for other in four[1:]:
    order, alpha = element(four[0], other)
    print("order", order, "scaling", alpha.numpy().round(2))

# %% tags=["hide-input"]
for other in four[1:]:
    order, alpha = element(four[0], other)
    w, c = four[0].view(2, 2)[:, order]
    image = torch.cat([alpha * w, c / alpha])[None].to(live.inputs)
    assert genni.loss_at(live, image) / live.energy < 1e-3

# %% [markdown]
# If no element is found, first ask whether the solutions are exact enough for the tolerance, and whether all groups
# that you know were tried.
# Otherwise compare the dimensions of class and orbit, and look for the missing directions.
#
# ## Adapt this
#
# Here is an activation of your own.
# The absolute value has a larger group than ReLU:
# by {doc}`01_intertwiner_groups` its scalars are all nonzero numbers.
# So the class of one neuron should have two branches, $w$ and $-w$.

# %%
import torch
from torch import nn

from intertwine import genni

first, second = (nn.Linear(1, 1, bias=False) for _ in "wc")
mine = nn.Sequential(first, nn.LeakyReLU(-1.0), second).eval()
inputs = torch.linspace(-2, 2, 100)[:, None].double()
weights = genni.plane(torch.tensor([[0.0, 0], [1, 0], [0, 1]]))
problem = genni.Problem(mine, torch.abs, inputs)
grid = genni.grid_loss(problem, weights, (-3, 3), 61)
print("pieces, holes:", genni.betti(genni.epsilon_set(grid, 0.05)))

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-open-set
# *Warm-up.*
# {prf:ref}`prop-interior` is about ε-sets.
# What would an interior of the class itself say?
# :::
#
# ::::{solution} ex-open-set
# :class: dropdown
# Near θ no change of a weight would change the function, as where the last ReLU is inactive on every image.
# ::::
#
# :::{exercise}
# :label: ex-islands
# *With data.*
# `ours` holds the relative loss on the right of {numref}`fig-lenet`.
# Count the pieces of the ε-set for several ε.
# From which ε on do islands join?
# :::
#
# ::::{solution-start} ex-islands
# :class: dropdown
# ::::

# %%
print({e: count_pieces(ours < e) for e in (0.01, 0.03, 0.1, 0.3, 0.5)})

# %% [markdown]
# Three islands last from ε = 0.01 to 0.3; at 0.5 two of them have joined.
# In the whole space the islands may be joined by a path that leaves the plane.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-lines
# *With data.*
# `solved.points` holds three LeNets, trained for one target.
# Draw the relative loss on the straight lines from the first to the others.
# Is the midpoint better or worse than the zero function?
# :::
#
# ::::{solution-start} ex-lines
# :class: dropdown
# ::::

# %% tags=["hide-input"] figure="fig-ex-lines"
way = torch.linspace(0, 1, 13, device=device)
start, *others = solved.points
lines = []
for k, other in enumerate(others, 2):
    line = start + way[:, None] * (other - start)
    losses = genni.loss_at(few, line) / few.energy
    table = {"way": way.tolist(), "line": f"to solution {k}", "loss": losses.tolist()}
    lines.append(pd.DataFrame(table))
axes = {"xlabel": "fraction of the way", "ylabel": "relative loss", "level": 1.0}
mean_curves(pd.concat(lines), "way", "loss", "line", **axes)

# %% [markdown]
# :::{figure} #fig-ex-lines
# ---
# alt: >-
#   Two curves that are low at both ends and rise between.
# ---
# Between two trained LeNets the loss is higher than at both ends.
# Loss relative to the zero function's (1) on lines from the first solution to the two others, computed by this page.
# :::

# %% [markdown]
# In {numref}`fig-ex-lines` one midpoint is a little better than the zero function, the other a little worse.
# {doc}`03_stitching` first moves one of two networks by a symmetry, and then accuracy on the line drops much less.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-open-umap
# *Open.*
# Find a picture of an ε-set in four or more dimensions that does not depend on a seed and keeps its pieces,
# its holes, or both.
# A merge tree of components is a start; what would a reader see in it of the group?
# :::
#
# Back to {doc}`06_genni`, on to {doc}`07_shallow_relu`, where all symmetries of a network
# with one hidden layer are known.
