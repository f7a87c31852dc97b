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
# **You will learn** to recognise a network that returns 0 in such a picture, which question UMAP answers and
# where it misleads, how neighbouring classes fill the space of parameters,
# and how to go from a picture to a group.
#
# **This run.**
# {{ this_run }}.
# :::
#
# ## The question
#
# The paper {cite}`lengyel2020` ends with LeNet.
# Its pictures show a *wide* region of low loss, with an interior, and the paper asks for the symmetry groups
# behind it.
# *Does this region come from a symmetry of the target's class?*
# No. {numref}`fig-lenet` draws the authors' plane again.
# In the hatched part the networks share a function, but it is the zero function, not the target.
# In the whole plane no network of the grid comes closer to the target than {glue:text}`best:.2f` of the zero
# function's loss.
# The plane beside it goes through solutions for a target whose outputs differ from image to image.
# There the good networks form three small islands.

# %% tags=["hide-input"]
import itertools
from functools import partial

import pandas as pd
import torch
from myst_nb import glue
from torch import nn

from intertwine import data, devices, genni, models
from intertwine.genni import Problem
from intertwine_book import results
from intertwine_book.experiments.genni import authors_draws
from intertwine_book.experiments.genni_lenet import pieces, umap_embedding
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.genni import class_stack, embeddings, loss_planes
from intertwine_book.figures.readable import readable
from intertwine_book.figures.style import use_style

use_style()
record = partial(results.on_record, "06b_genni_lenet")

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of inputs, starts and pictures
plane_points: int = 15  # grid points along each side of a plane of LeNets
lenet_points: int = 9  # the same in three dimensions, for UMAP
lenet_inputs: int = 128  # inputs that the loss on a grid is a mean over
lenet_steps: int = 300  # of Adam, to the target that varies
lenet_accept: float = 0.02  # largest relative loss of a solution
authors_steps: int = 5  # of SGD, to the authors' target; they take 1000
samples: int = 500  # inputs of the small network's grids
points_2d: int = 100  # grid points along each side of a plane
points_3d: int = 30  # the same in three dimensions
umap_seeds: int = 0  # pictures of each set; 0 draws two coordinates instead
umap_points: int = 500  # points of each set

# %% tags=["hide-input"]
told, spans = record("planes"), record("plane_solutions")
authors, ours = (told[told["plane"] == name] for name in ("authors", "varying"))


def square(table, values="relative"):
    """A column as a matrix: rows along t₁."""
    values = table.pivot(index="i", columns="j", values=values)
    return torch.tensor(values.to_numpy())


# %% tags=["remove-cell"]
printed = record("lenet")["relative_threshold"].item()
glue("best", float(authors["relative"].min()), display=False)
assert 0.96 < authors["relative"].min() < 0.98
assert round(100 * authors["zero"].mean()) == 32 and not ours["zero"].any()
assert round(100 * (authors["relative"] < printed).mean()) == 69
assert round(100 * (ours["relative"] < 0.1).mean()) == 3 and round(printed) == 460
assert genni.components(square(ours) < 0.1).max() == 3
assert genni.components(square(authors) < printed).max() == 1

# %% tags=["remove-input"] figure="fig-lenet"
axis = torch.linspace(-13, 13, 81)
crosses = {name: rows[["t1", "t2"]] for name, rows in spans.groupby("plane")}
theirs = {"grid": genni.Grid(axis, square(authors), 1.0), "points": crosses["authors"]}
theirs |= {"epsilon": printed, "zero": square(authors, "zero") > 0}
other = {"grid": genni.Grid(axis, square(ours), 1.0), "points": crosses["varying"]}
panels = {"the authors' target": theirs, "a target that varies": other | {"epsilon": 0.1}}
loss_planes(panels, low=-3, high=3)

# %% [markdown]
# (sec-lenet)=
# ## A network that returns 0
#
# The paper's LeNet ends in a ReLU.
# If that ReLU is inactive on every image, the output is 0 and so is the gradient:
# no step of training moves the network.
# The centre of the authors' pictures is such a network:

# %% tags=["hide-input"]
device = devices.pick(device)
run = results.run(globals(), "06b_genni_lenet")
generator = run.generator()
lenet = models.lenet()
theirs, noise, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 3, seed=0)
noise, begun = noise.to(device), starts.to(device)
problem = Problem(lenet, theirs, noise[: 256 * authors_steps])
sgd = {"lr": 0.001 * problem.energy, "optimizer": "sgd"}
ended = genni.descend(problem, begun, steps=authors_steps, **sgd)
their_plane, few = genni.plane(ended), problem.on(noise[:lenet_inputs])
flat_part = genni.grid_loss(few, their_plane, (-13, 13), plane_points)
their_lenet = genni.describe_target(problem.on(noise[:500]).y, epsilon=0.0025)

# %%
centre = begun[:1].clone().requires_grad_()
images = noise[:500]
output = genni.outputs(lenet, centre, images)[0]
target = genni.outputs(lenet, theirs[None].to(device), images)[0]

loss = (output - target).square().mean()
loss.backward()
print("largest output", output.max().item())
print("largest entry of the gradient", centre.grad.abs().max().item())
relative = loss / target.square().mean()
assert relative == 1  # it is the zero function
assert torch.isclose(genni.loss_at(few.on(images), centre.detach())[0], loss)

# %% [markdown]
# The printed ε = 0.0025 is 460 times the loss of the zero function.
# The "wide region with non-empty interior" of the paper's figures 4 to 6 contains the hatched part, and more:
# networks whose outputs are twenty times as large as the target's pass, too.
# Besides, $\{J<\varepsilon\}$ is open for *every* continuous network,
# so where it is not empty it has an interior.
# This says nothing about a symmetry.
#
# :::{admonition} Errata: Lengyel et al. 2020, LeNet
# :class: warning
# The paper says that LeNet-5 has 60,000 parameters, which is right; the network of its experiments has 43,661.
# ε = 0.0025 is above the target's $\mathrm E[y^2]$.
# An interior of $\{J<\varepsilon\}$ is no sign of a symmetry.
# :::
#
# For the right of {numref}`fig-lenet` we leave out the last ReLU, take images from the plane of two principal
# components of handwritten digits, and standardise the target's output.
# Three solutions span the plane, and each lies on an island of its own.
# Islands say little about the group.
# The scalings alone have a dimension for each hidden channel and feature,
# 113 in our LeNet of half the channels (226 in the authors').
# In general position a plane through a point of such an orbit meets the orbit near that point only there,
# since the two dimensions and the 113 are far fewer than those of all parameters.

# %% tags=["hide-input"]
small = models.lenet(1, output_relu=False, size=16)
digits = data.load("digits", "train", device="cpu").images
digits = nn.functional.interpolate(digits, size=16).flatten(1)
_, _, components = torch.linalg.svd(digits - digits.mean(0), full_matrices=False)
images = torch.randn(5000, 2, generator=generator) @ components[:2]
images = (images / images.std()).view(-1, 1, 16, 16).to(device)
weights = 2.0 * genni.random_starts(small, 1, generator=run.generator(5)).to(device)
raw = genni.outputs(small, weights, images)[0]


# %% tags=["hide-input"]
def wanted(x):
    """A target of mean 0 and variance 1."""
    return (genni.outputs(small, weights, x)[0] - raw.mean()) / raw.std()


asked = {"seed": seed, "accept": lenet_accept, "starts": 6, "lr": 0.01, "batch_size": 64}
problem = Problem(small, wanted, images)
solved = genni.search(problem, 3, steps=lenet_steps, **asked)
few = problem.on(images[-lenet_inputs:])
varying = genni.grid_loss(few, genni.plane(solved.points[:3]), (-13, 13), plane_points)
lenet_grid = genni.grid_loss(few, genni.plane(solved.points), (-13, 13), lenet_points)
assert sum(layer.channels for layer in small.hidden_layers()) == 113
assert sum(layer.channels for layer in lenet.hidden_layers()) == 226

# %% [markdown]
# (sec-umap)=
# ## UMAP: which points are neighbours?
#
# For sets of three and four dimensions the paper turns to UMAP, and reads off that they stay connected.
# UMAP answers one question: *which points of a cloud are near which others?*
# It joins each point to its 20 nearest neighbours and lays the graph out in the plane.
# It keeps neither distances nor sizes nor shapes, it depends on a seed, and it may tear a set apart
# or push two together.
# The pieces of the set on the grid need no seed.
# They depend on ε and on the spacing of the grid, and are counted by walking from point to point:


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


inside = genni.epsilon_set(lenet_grid, 0.5)
assert count_pieces(inside) == genni.components(inside).max()
count_pieces(inside)  # on the small grid of this page

# %% [markdown]
# *UMAP changes the number of pieces in 9 of 25 pictures; in two of five sets the number in the picture changes
# with the seed.*
# We count the pieces of the same points before and after UMAP by one rule:
# each point is joined to its ten nearest.
# The counts depend on this choice.
# The number of pieces on the grid agrees with the picture in 20 of 25 cases.
# Four of these are pictures of LeNet in which UMAP splits a cloud that the rule sees as one piece.
# {numref}`fig-umap` has the two sets whose number changes.
# That of the paper's figure 3a, with three dimensions and the paper's target, is one piece;
# we count two in the pictures of three of the five seeds.
# A target with both slopes has two pieces; we count two, one or three.

# %% tags=["remove-input"] figure="fig-umap"
counted = record("umap")
pictures = record("umap_pictures").merge(counted[["set", "seed", "drawn"]])
names = {"figure 3a": "figure 3a", "live, 3D": "both slopes"}
pictures = pictures[pictures["seed"].isin([0, 2, 3])].replace({"set": names})
embeddings(pictures)

# %% tags=["remove-input"]
each = counted.assign(
    before=counted["sampled"].astype(str), shown=counted["drawn"].astype(str)
).groupby("set", sort=False)
columns = {name: (name, ", ".join) for name in ("before", "shown")}
summary = each.agg(on_the_grid=("on_the_grid", "first"), **columns)
summary = summary.reset_index().replace(
    {
        "figure 3a": "paper's figure 3a",
        "figure 3b": "paper's figure 3b",
        "live, 3D": "both slopes, three dimensions",
        "live, 4D": "both slopes, all four dimensions",
        "LeNet, live": "LeNet, a target that varies",
    }
)
summary["epsilon"] = [
    "0.005, printed",
    "0.1, printed",
    "0.1 E[y²]",
    "0.1 E[y²]",
    "0.5 E[y²]",
]
assert len(counted) == 25 and counted["agrees"].sum() == 20
changed = counted["drawn"] != counted["sampled"]
assert changed.sum() == 9 and set(counted.loc[changed & counted["agrees"], "set"]) == {
    "LeNet, live"
}
assert (changed & counted["agrees"]).sum() == 4
assert set(counted.loc[~counted["agrees"], "set"]) == {"figure 3a", "live, 3D"}
words = {"set": "set", "epsilon": "ε", "on_the_grid": "on the grid"}
words |= {"before": "sampled points, five samples", "shown": "UMAP of these"}
shown = readable(summary, words, title="Pieces on the grid and in pictures by UMAP")
shown

# %% [markdown]
# The two printed thresholds are {glue:text}`printed-3a:.0f` and {glue:text}`printed-3b:.0f` times the zero
# function's loss, so both sets contain it.
#
# LeNet has two pieces in this table and three in {numref}`fig-lenet`.
# In the table ε is larger and the space has three dimensions;
# in the plane, too, two islands have joined at this ε ({ref}`ex-islands`).
# The grid of the cell above is another, coarser one, of networks that this page trained:
# its count need not agree.

# %% tags=["hide-input"]
fcn = models.fcn()
theirs, inputs, starts = authors_draws(models.fcn, (1,), 16384, 10, seed=10)
aim, x = Problem(fcn, theirs, inputs), inputs.to(device, torch.float64)
sgd = {"lr": 0.015 * aim.energy, "optimizer": "sgd", "steps": 1000}
nets = genni.descend(aim, starts[:5], **sgd)
live = Problem(fcn, torch.tensor([1.0, -1.0, 0.8, 0.5]), x[:4000])
four = genni.search(live, 3, seed=seed, starts=24).points
aim, live = aim.on(x[:samples]), live.on(x[:samples])
theirs_3d = genni.grid_loss(aim, genni.plane(nets[:4]), (-2, 2), points_3d)
theirs_4d = genni.grid_loss(aim, genni.plane(nets), (-1, 1), 20)
live_3d = genni.grid_loss(live, genni.plane(four), (-2, 2), points_3d)
space = genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)]))

# %% tags=["remove-cell"]
live_4d = genni.grid_loss(live, space, (-2, 2), 20)

# %% tags=["remove-cell"]
clouds = {
    "figure 3a": (theirs_3d, 0.005 / theirs_3d.energy),
    "figure 3b": (theirs_4d, 0.1 / theirs_4d.energy),
    "live, 3D": (live_3d, 0.1),
    "live, 4D": (live_4d, 0.1),
    "LeNet, live": (lenet_grid, 0.5),
}
for name, (_, epsilon) in list(clouds.items())[:2]:
    glue(f"printed-{name[-2:]}", float(epsilon), display=False)
    assert epsilon > 16
drawn, rows = [], []
for (name, (grid, epsilon)), k in itertools.product(
    clouds.items(), range(max(1, umap_seeds))
):
    labels = genni.components(genni.epsilon_set(grid, epsilon)).flatten().cpu()
    inside = labels.nonzero()[:, 0]
    order = torch.randperm(len(inside), generator=torch.Generator().manual_seed(k))
    some = inside[order[:umap_points]]
    cloud = grid.coordinates().cpu()[some]
    flat = umap_embedding(cloud, seed=k) if umap_seeds else cloud[:, :2]
    picture = pd.DataFrame(flat.numpy(), columns=["x", "y"]).assign(set=name, seed=k)
    if "3" in name:  # three dimensions, but for figure 3b
        drawn.append(picture.assign(component=labels[some].numpy())[:300].round(2))
    row = {"set": name, "seed": k, "on_the_grid": int(labels.max())}
    rows.append(row | {"sampled": pieces(cloud), "drawn": pieces(flat)})
seen_by_umap = pd.DataFrame(rows).eval("agrees = on_the_grid == drawn")
seen_by_umap = seen_by_umap.eval("connected = on_the_grid == 1")
drawn = pd.concat(drawn).query("set != 'figure 3b'")

# %% [markdown]
# (sec-quotient)=
# ## How classes fill the parameters
#
# The paper leaves the quotient of all parameters by functional equivalence to future work.
# For the small network it is known: by {prf:ref}`thm-slopes` the two slopes $(s_+, s_-)$ are its coordinates,
# and with two neurons every pair is reached.
# {numref}`fig-stack` shows how classes fill the parameters: as hyperbolas, and as hexagons one inside the other.
# For the target 0 the relative loss divides by $\mathrm E[y^2] = 0$, so the class of 0 cannot be drawn this way.

# %% tags=["hide-input"] figure="fig-stack"
neuron = genni.plane(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
corner = torch.tensor([0.0, 0, 0, 1, 1, 1])
turns = torch.tensor([[1.0, -1, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0]])
three = genni.plane(torch.cat([corner[None], corner + turns]))
stack = {"one neuron": {}, "three neurons": {}}
for size in (0.4, 0.8, 1.2, 1.6):
    for title, h, flat, base in (
        ("one neuron", 1, neuron, torch.relu),
        ("three neurons", 3, three, torch.abs),
    ):
        scaled = lambda x, size=size, base=base: size * base(x)
        problem = Problem(models.fcn((1, h, 1)), scaled, x[:100])
        grid = genni.grid_loss(problem, flat, (-2.5, 2.5), 2 * points_2d)
        stack[title][size] = grid
class_stack(stack)

# %% [markdown]
# (sec-guide)=
# ## From a picture to a group: a guide
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - You see
#   - Ask first
#   - If it stays, it may be
#   - Check
# * - a wide region
#   - Is ε above the zero function's loss?
#     Does the centre return 0?
#   - inactive units or a high threshold, not a symmetry of the target's class
#   - $\mathrm E[y^2]$ of the target; where is the relative loss 1?
# * - isolated points
#   - Are there more for a smaller ε?
#   - a finite group: orders, signs
#   - pieces for several ε; do the points differ by orders and signs?
# * - curves like $(\alpha, 1/\alpha)$
#   - Does the rank agree?
#   - scalings
#   - straight lines in logarithms; the Jacobian's rank
# * - closed curves, spheres
#   - Is the radius constant?
#   - pieces glued where a neuron changes sign; or rotations
#   - pieces and holes; corners
# * - crossing sheets
#   - Is ε so large that a network without one of the slopes is in the set ({ref}`sec-crossing`)?
#     Is a slope, or an output, 0?
#   - a degenerate target, whose class is larger than its orbit
#   - pieces for several ε; does the rank drop on a sheet?
# * - points, though a continuous group is known
#   - Is the plane's dimension smaller than the codimension of the class?
#   - a class that the plane meets in points only
#   - a plane of more dimensions; the orbit itself
# :::
#
# **Then name the group.**
# Take two solutions, try every order of the neurons, and see whether positive scalings are left over.
# If an element is found, act with it and see whether $J$ stays 0.
# We have tried this on the small network only.
# There `four` holds four solutions $(w_1, w_2, c_1, c_2)$, `live` is the problem that they solve, and it works:


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


for other in four[1:].cpu():
    order, alpha = element(four[0].cpu(), other)
    w, c = four[0].cpu().view(2, 2)[:, order]
    moved = torch.cat([alpha * w, c / alpha])
    assert genni.loss_at(live, moved[None].to(x)) / live.energy < 1e-3
    print("order", order, "scaling", alpha.numpy().round(2))

# %% [markdown]
# If no element is found, first ask whether the solutions are exact enough for the tolerance, here 5 %,
# and whether all groups that you know were tried.
# What remains is a class larger than their orbit, as in {eq}`eq-further-group`:
# compare its dimension with theirs, and look for the missing directions.
#
# ## Run it yourself
#
# *This section is computed by this page.*
# On {glue:text}`points` points a side and after only {glue:text}`steps` steps of the authors' training,
# fewer than in {numref}`fig-lenet`, the network returns 0 on {glue:text}`zero:.0f` % of their plane,
# and {glue:text}`wide:.0f` % lies below the printed ε.
# Under ε = 0.5 lie {glue:text}`under:.0f` % of the plane of the target that varies.
# Another run is one command: `.venv/bin/intertwine run 06b_genni_lenet -p plane_points 41`.

# %% tags=["remove-cell"]
still = ((flat_part.relative - 1).abs() < 1e-6).double().mean().item()
glue("points", plane_points, display=False)
glue("steps", authors_steps, display=False)
glue("zero", 100 * still, display=False)
glue("wide", 100 * (flat_part.loss < 0.0025).double().mean().item(), display=False)
glue("under", 100 * (varying.relative < 0.5).double().mean().item(), display=False)

# %% [markdown]
# ## Adapt this
#
# An activation of your own.
# The absolute value has a larger group than ReLU:
# by {doc}`01_intertwiner_groups` its scalars are all nonzero numbers.
# So the class of one neuron should have two branches, $w$ and $-w$.

# %%
line = partial(nn.Linear, bias=False)  # neuron: the plane of its two weights
mine = nn.Sequential(line(1, 1), nn.LeakyReLU(-1.0), line(1, 1))
grid = genni.grid_loss(Problem(mine, torch.abs, x[:100]), neuron, (-3, 3), 61)
print("pieces, holes:", genni.betti(genni.epsilon_set(grid, 0.05)))

# %% [markdown]
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
# * - the authors' LeNet
#   - 1000 steps, 100 points a side
#   - the same weights and steps, 81 points a side
#   - nothing seen
# * - second LeNet
#   - none
#   - half the channels, 16×16 pixels, no last ReLU, images of two degrees of freedom
#   - random functions of noise images cannot be learnt from some thousands of them
# * - inputs of a grid
#   - 8,192
#   - 500
#   - the share of hatched ground, slightly
# * - UMAP
#   - no seed named; figure 6 from parameters
#   - five seeds; coordinates in the plane
#   - distances are the same, as the basis is orthonormal
# :::
#
# ## Exercises
#
# :::{exercise}
# :label: ex-open-set
# *Warm-up.*
# Show that $\{\theta : J(\theta) < \varepsilon\}$ is empty or has an interior, for every network
# that depends continuously on its weights.
# What would an interior of the class itself say?
# :::
#
# ::::{solution} ex-open-set
# :class: dropdown
# $J$ is continuous, so the set is the preimage of an open set and is open.
# An interior of the class would say that near θ no change of a weight changes the function,
# as where the last ReLU is inactive on every image.
# ::::
#
# :::{exercise}
# :label: ex-dead
# What is the loss on the hatched part of {numref}`fig-lenet`, relative to the zero function's?
# Would a smaller ε shrink the region, and to what?
# :::
#
# ::::{solution} ex-dead
# :class: dropdown
# It is 1: the network is the zero function there.
# For every relative ε of at most 1 the hatched part vanishes at once, with the centre in it.
# What is left shrinks to nothing at {glue:text}`best:.2f`, the smallest relative loss on this grid.
# ::::
#
# :::{exercise}
# :label: ex-parameters
# Count the parameters of the authors' LeNet: two convolutions 5×5 with 6 and 16 channels,
# each followed by pooling, then 120, 84 and 1 features, on 28×28 pixels.
# Which LeNet has 60,000?
# :::
#
# ::::{solution} ex-parameters
# :class: dropdown
# $156 + 2{,}416 + 30{,}840 + 10{,}164 + 85 = 43{,}661$.
# On 32×32 pixels and with ten outputs the third layer has $400\cdot120+120$ and the last one 850:
# together 61,706.
# The LeNet-5 of 1998 has exactly 60,000, by partial connections, trainable subsampling and fixed outputs.
# ::::
#
# :::{exercise}
# :label: ex-islands
# *With data.*
# `square(ours)` holds the relative loss on the right of {numref}`fig-lenet`.
# Draw the number of pieces of the ε-set against ε.
# From which ε on do islands join?
# :::
#
# ::::{solution-start} ex-islands
# :class: dropdown
# ::::

# %% tags=["remove-input"] figure="fig-ex-islands"
islands = pd.DataFrame(
    {"ε": f"{epsilon:g}", "set": "pieces", "pieces": int(number)}
    for epsilon in (0.01, 0.03, 0.1, 0.3, 0.5)
    for number in [genni.components(square(ours) < epsilon).max()]
)
assert islands["pieces"].tolist() == [3, 3, 3, 2, 2]
mean_curves(islands, "ε", "pieces", "set")

# %% [markdown]
# {numref}`fig-ex-islands` shows it.
# In the whole space the islands may be joined by a path that leaves the plane.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-lines
# *With data.*
# `solved.points` holds four LeNets with nearly one function.
# Draw the relative loss on the straight lines from the first to the others.
# Is the midpoint better or worse than the zero function?
# :::
#
# ::::{solution-start} ex-lines
# :class: dropdown
# ::::

# %% tags=["remove-input"] figure="fig-ex-lines"
way = torch.linspace(0, 1, 13, device=device)
first, *others = solved.points
losses = {
    k: genni.loss_at(few, first + way[:, None] * (other - first)) / few.energy
    for k, other in enumerate(others, 2)
}
lines = [
    pd.DataFrame({"way": way.tolist(), "to solution": k, "loss": each.tolist()})
    for k, each in losses.items()
]
glue("worse", sum(each[6].item() > 1 for each in losses.values()), display=False)
axes = {"xlabel": "fraction of the way", "ylabel": "relative loss", "level": 1.0}
mean_curves(pd.concat(lines), "way", "loss", "to solution", **axes)

# %% [markdown]
# In the run of this page the midpoint is worse on {glue:text}`worse` of the three lines ({numref}`fig-ex-lines`).
# {doc}`03_stitching` first moves one network by a symmetry, and then the rise is much smaller.
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
# ## Summary
#
# - The wide region of the paper's LeNet does not come from a symmetry of the target's class:
#   on a third of the plane the network returns 0, and nowhere on the grid does it fit the target.
# - UMAP answers which points are neighbours.
#   In 5 of 25 of its pictures we count another number of pieces than on the grid.
# - The quotient of the small network by functional equivalence is a plane with coordinates $(s_+, s_-)$.
# - A group is found when an element maps one solution to another, and the loss stays 0.
#
# Back to {doc}`06_genni`, on to {doc}`07_shallow_relu`, where all symmetries of a network
# with one hidden layer are known.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
place = torch.cartesian_prod(*[torch.arange(plane_points)] * 2)
both = {
    "authors": (flat_part, their_plane),
    "varying": (varying, genni.plane(solved.points[:3])),
}
tables = [
    pd.DataFrame(place.numpy(), columns=["i", "j"]).assign(
        plane=name, relative=grid.relative.flatten().cpu().numpy()
    )
    for name, (grid, _) in both.items()
]
measured = pd.concat(tables, ignore_index=True)
measured["zero"] = ((measured["relative"] - 1).abs() < 1e-6).astype(int)
measured["relative"] = measured["relative"].map("{:.4g}".format).astype(float)

# %% tags=["remove-cell"]
solutions = pd.concat(
    pd.DataFrame(flat.coordinates[:3].cpu().numpy(), columns=["t1", "t2"]).assign(
        plane=name
    )
    for name, (_, flat) in both.items()
).round(3)
count = sum(parameter.numel() for parameter in lenet.parameters())
threshold = 0.0025 / their_lenet.energy
lenet_row = {"parameters": count, "difference": abs(count - 60_000), "still": still}
run.write(
    umap=seen_by_umap,
    umap_pictures=drawn,
    planes=measured[["plane", "i", "j", "relative", "zero"]],
    plane_solutions=solutions[["plane", "t1", "t2"]],
    lenet=pd.DataFrame([lenet_row | {"relative_threshold": threshold}]),
)
results.provenance(run.folder)
