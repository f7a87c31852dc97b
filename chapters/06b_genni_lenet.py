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
# Its pictures show a *wide* region of low loss, with an interior.
# The paper attributes the width to symmetry groups of convolutional layers and to the many dimensions.
# *Do the networks of this region compute the target, related by a symmetry?*
# No. {numref}`fig-lenet` draws the authors' plane again.
# In the hatched part the networks share a function, but it is the zero function, not the target.
# The best network on the grid still has {glue:text}`best:.2f` times the zero function's loss.
# The plane beside it goes through solutions of a smaller LeNet for another target, whose outputs differ from image
# to image.
# At a tenth of the zero function's loss its good networks form three small islands.
# At the left panel's threshold, about {glue:text}`printed:.0f` times the zero function's loss,
# {glue:text}`varying-inside:.0f` % of this plane is in the set, in one piece.

# %% tags=["hide-input"]
import itertools

import pandas as pd
import torch
from torch import nn

from intertwine import devices, genni
from intertwine.genni import Problem
from intertwine_book import data, models, results
from intertwine_book.experiments import genni_lenet
from intertwine_book.genni_authors import authors_draws
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.genni import class_stack
from intertwine_book.figures.style import use_style
from intertwine_book.stories import genni_lenet as story
from intertwine_book.stories import tell

use_style()

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

# %% tags=["remove-input"] figure="fig-lenet"
story.lenet()

# %% [markdown]
# (sec-lenet)=
# ## A network that returns 0
#
# The paper's LeNet ends in a ReLU.
# If that ReLU is inactive on every image, the output is 0 and so is the gradient:
# no step of training moves the network.
# The centre of the authors' pictures is such a network:

# %%
device = devices.pick(device)
run = results.run(globals(), "06b_genni_lenet")
generator = run.generator()

lenet = models.lenet().eval()
theirs, noise, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 3, seed=0)
noise, begun = noise.to(device), starts.to(device)
authors = Problem(lenet, theirs, noise[: 256 * authors_steps])
sgd = {"lr": 0.001 * authors.energy, "optimizer": "sgd"}
their_plane = genni.plane(genni.descend(authors, begun, steps=authors_steps, **sgd))
judged = authors.on(noise[:lenet_inputs])
flat_part = genni.grid_loss(judged, their_plane, (-13, 13), plane_points)

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
assert torch.isclose(genni.loss_at(judged.on(images), centre.detach())[0], loss)

# %% [markdown]
# The printed ε = 0.0025 is about {glue:text}`printed:.0f` times the loss of the zero function,
# estimated on 500 images.
# The paper sees "a large and wider connected region of low loss".
# In the plane of its figure 4 this region contains the hatched part.
# *In {glue:text}`not-zero:.0f` % of the region the network does not return 0.*
# The threshold alone admits these networks: outputs twenty times as large as the target's pass, too.
#
# :::{admonition} Errata: Lengyel et al. 2020, LeNet
# :class: warning
# The paper says that LeNet-5 has 60,000 parameters, which is right; the network of its experiments has 43,661.
# The printed threshold 0.0025 is above the target's $\mathrm E[y^2]$.
# An interior of $\{J<\varepsilon\}$ is no sign of a symmetry.
# :::
#
# For the right of {numref}`fig-lenet` we leave out the last ReLU, take images from the plane of two principal
# components of handwritten digits, and standardise the target's output.
# Three solutions span the plane, and each lies on an island of its own.
# Islands say little about the group.
# Scalings alone give an orbit of dimension 113, one for each hidden channel or feature (226 in the authors' LeNet).
# All parameters have many more dimensions than the plane's two and the orbit's 113 together.
# A generic plane through a point of an orbit therefore meets the orbit at no other point nearby.

# %%
small = models.lenet(1, output_relu=False, size=16).eval()
digits = data.load("digits", "train", device="cpu").images
digits = nn.functional.interpolate(digits, size=16).flatten(1)
components = torch.linalg.svd(digits - digits.mean(0), full_matrices=False).Vh
images = torch.randn(5000, 2, generator=generator) @ components[:2]
images = (images / images.std()).view(-1, 1, 16, 16).to(device)
weights = 2.0 * genni.random_starts(small, 1, generator=run.generator(5)).to(device)
raw = genni.outputs(small, weights, images)[0]


# %%
def wanted(x):
    """A target of mean 0 and variance 1."""
    return (genni.outputs(small, weights, x)[0] - raw.mean()) / raw.std()


problem = Problem(small, wanted, images)
asked = {"starts": 6, "lr": 0.01, "batch_size": 64, "steps": lenet_steps}
solved = genni.search(problem, 3, seed=seed, accept=lenet_accept, **asked)

few = problem.on(images[-lenet_inputs:])
our_plane, solid = genni.plane(solved.points[:3]), genni.plane(solved.points)
varying = genni.grid_loss(few, our_plane, (-13, 13), plane_points)
lenet_grid = genni.grid_loss(few, solid, (-13, 13), lenet_points)

# %% [markdown]
# (sec-umap)=
# ## UMAP: which points are neighbours?
#
# For sets of three and four dimensions the paper turns to UMAP, and reads off that they stay connected.
# UMAP answers one question: *which points of a cloud are near which others?*
# It joins each point to its 20 nearest neighbours and lays the graph out in the plane.
# It keeps neither distances nor sizes nor shapes, it depends on a seed and on where it starts,
# and it may tear a set apart or push two together.
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


inside = genni.epsilon_set(lenet_grid, 0.5)
assert count_pieces(inside) == genni.components(inside).max()
count_pieces(inside)  # on the small grid of this page

# %% [markdown]
# This grid is coarse, and its networks were trained by this page.
# On finer ones LeNet has two pieces at ε = 0.5 in three dimensions,
# and three in the plane of {numref}`fig-lenet` at ε = 0.1.
#
# *The start decides whether UMAP keeps the number of pieces.
# From its default, a spectral embedding, it does in all {glue:text}`kept-default` of {glue:text}`pictures` pictures,
# from random starts in {glue:text}`kept-random`* (four sets of the small network, five seeds).
# The authors leave the default.
# In a picture we join each point to its ten nearest; the counts depend on this choice.
# {numref}`fig-umap` has a target with two nonzero slopes, whose set has two pieces:
# from random starts we count two, one or three.
# The set of the paper's figure 3a, with three dimensions and the paper's target, is one piece;
# from random starts we count two at three of the five seeds.
# The pictures are recorded; this page does not run UMAP.

# %% tags=["remove-input"] figure="fig-umap"
story.umap()

# %% tags=["remove-input"]
story.pieces()

# %% [markdown]
# The two printed thresholds are {glue:text}`printed-3a:.0f` and {glue:text}`printed-3b:.0f` times the zero
# function's loss, so both sets contain it.

# %%
_, x, _ = authors_draws(models.fcn, (1,), 16384, 1, seed=10)
x = x.to(device, torch.float64)
theta = torch.tensor([1.0, -1.0, 0.8, 0.5])
live = Problem(models.fcn().eval(), theta, x[:4000])
four = genni.search(live, 3, seed=seed, starts=24).points
live = live.on(x[:samples])

# %% [markdown]
# (sec-quotient)=
# ## How classes fill the parameters
#
# Count all parameters with one function as one point.
# The paper leaves the resulting space, the *quotient*, to future work.
# For the small network it is known: by {prf:ref}`thm-slopes` the two slopes $(s_+, s_-)$ are its coordinates,
# and with two neurons every pair is reached.
# {numref}`fig-stack` shows how classes fill the parameters: as hyperbolas, and as hexagons one inside the other.

# %% figure="fig-stack"
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
        problem = Problem(models.fcn((1, h, 1)).eval(), scaled, x[:100])
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
#   - Do they stay as ε falls?
#     Are there enough dimensions (last row)?
#   - a finite group: orders, signs
#   - pieces for several ε; do the points differ by orders and signs?
# * - curves like $(\alpha, 1/\alpha)$
#   - Is (dimension of the plane) − (rank of the Jacobian) equal to 1?
#   - scalings
#   - straight lines in logarithms
# * - closed curves, spheres
#   - Is the radius constant?
#   - pieces glued where a neuron changes sign; or rotations
#   - pieces and holes; corners
# * - crossing sheets
#   - Is ε above $s^2/(s_+^2+s_-^2)$ for a nonzero slope $s$ of the target?
#     Then the set has networks without this slope ({ref}`sec-crossing`).
#     Lower ε.
#   - a degenerate target, with a slope or an output 0, whose class is larger than its orbit
#   - pieces for several ε; does the rank drop on a sheet?
# * - points, where a known continuous group should give curves
#   - Is the plane's dimension at most the codimension of the class?
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
# Otherwise the class is larger than the orbit, as in {eq}`eq-further-group`:
# compare the two dimensions, and look for the missing directions.
#
# ## Adapt this
#
# A finer plane of LeNets is one command: `.venv/bin/intertwine run 06b_genni_lenet -p plane_points 41`.
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
#   - more than the target differs from the left panel
# * - UMAP
#   - no seed named; figure 6 from parameters
#   - five seeds; a sample of 2,000 points; coordinates in the plane; random starts, too
#   - random starts tear the set of figure 3a; coordinates change nothing, as the basis is orthonormal
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
# For a relative ε of at most 1 the hatched part is outside, with the centre in it.
# At {glue:text}`best:.2f`, the smallest relative loss on this grid, nothing is left.
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
# $156 + 2{,}416 + 30{,}840$ $+ 10{,}164 + 85 = 43{,}661$.
# On 32×32 pixels and with ten outputs the third layer has $400\cdot120+120$ and the last one 850:
# together 61,706.
# The LeNet-5 of 1998 has exactly 60,000, by partial connections, trainable subsampling and fixed outputs.
# ::::
#
# :::{exercise}
# :label: ex-islands
# *With data.*
# `story.losses("varying")` holds the relative loss on the right of {numref}`fig-lenet`.
# Count the pieces of the ε-set for several ε.
# From which ε on do islands join?
# :::
#
# ::::{solution-start} ex-islands
# :class: dropdown
# ::::

# %%
ours = torch.tensor(story.losses("varying"))
print({e: count_pieces(ours < e) for e in (0.01, 0.03, 0.1, 0.3, 0.5)})

# %% [markdown]
# Three islands last from ε = 0.01 to 0.1; two of them have joined at 0.3.
# In the whole space the islands may be joined by a path that leaves the plane.
#
# ::::{solution-end}
# ::::
#
# :::{exercise}
# :label: ex-lines
# *With data.*
# `solved.points` holds four LeNets, trained for one target.
# Draw the relative loss on the straight lines from the first to the others.
# Is the midpoint better or worse than the zero function?
# :::
#
# ::::{solution-start} ex-lines
# :class: dropdown
# ::::

# %% figure="fig-ex-lines"
way = torch.linspace(0, 1, 13, device=device)
first, *others = solved.points
lines = []
for k, other in enumerate(others, 2):
    line = first + way[:, None] * (other - first)
    losses = genni.loss_at(few, line) / few.energy
    table = {"way": way.tolist(), "line": f"to solution {k}", "loss": losses.tolist()}
    lines.append(pd.DataFrame(table))
lines = pd.concat(lines)
axes = {"xlabel": "fraction of the way", "ylabel": "relative loss", "level": 1.0}
mean_curves(lines, "way", "loss", "line", **axes)

# %% [markdown]
# In the run of this page the midpoint is worse on {glue:text}`worse` of the three lines ({numref}`fig-ex-lines`).
# {doc}`03_stitching` first moves one of two networks for CIFAR-10 by a symmetry, and then accuracy on the line drops
# much less.
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
#   Started at random it changes the number of pieces in {glue:text}`changed` of {glue:text}`pictures` pictures,
#   from its default start in none.
# - The quotient of the small network by functional equivalence is a plane with coordinates $(s_+, s_-)$.
# - An element of the group is found when it maps one solution to another and the loss stays 0.
#
# Back to {doc}`06_genni`, on to {doc}`07_shallow_relu`, where all symmetries of a network
# with one hidden layer are known.
# {doc}`/generated/status` has the data, code and run of this page.

# %% tags=["remove-cell"]
worse = int((lines.query("way == 0.5")["loss"] > 1).sum())
tell(story.facts(), {"worse": worse})

small_sets = genni_lenet.small_sets(live, four, points_3d)
sets = small_sets | {"LeNet, live": (lenet_grid, 0.5)}
sampled = {"seeds": umap_seeds, "points": umap_points}
counted, drawn = genni_lenet.umap(sets, start="random", **sampled)
default, default_drawn = genni_lenet.umap(small_sets, start="spectral", **sampled)
run.write(
    uses=["samples", "points_3d", "umap_seeds", "umap_points"],
    umap_default=default,
    umap_default_pictures=default_drawn,
)
run.write(
    umap=counted,
    umap_pictures=drawn,
    planes=genni_lenet.planes({"authors": flat_part, "varying": varying}),
    plane_solutions=genni_lenet.plane_solutions(
        {"authors": their_plane, "varying": our_plane}
    ),
    lenet=genni_lenet.lenet(judged.on(noise[:500]), flat_part),
)
results.provenance(run.folder)
