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
# # 6b · Larger networks, UMAP, and a guide
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`06_genni`: planes through solutions, ε-sets, and the two slopes of the small network.
#
# **You will learn** what a dead network looks like in such a picture, what UMAP adds and what it takes away, how neighbouring
# classes fill the space of parameters, and how to go from a picture to a group.
#
# **This run.** {{ this_run }}.
# :::
#
# ## The question
#
# The paper {cite}`lengyel2020` ends with LeNet: its pictures show a *wide* region of low loss, with an interior, and the paper asks for the symmetry groups behind it. *Is that
# region a symmetry?* {numref}`fig-lenet` draws the authors' plane again, beside one whose target is live. The answer is in the flat part: there the network returns 0 on every image that we tried.

# %% tags=["hide-input"]
import itertools

import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

from intertwine import data, devices, genni, models
from intertwine.genni import Problem
from intertwine_book import results
from intertwine_book.experiments.genni import authors_draws
from intertwine_book.experiments.genni_lenet import pieces, umap_embedding
from intertwine_book.figures.genni import class_stack, embeddings, loss_planes
from intertwine_book.figures.style import use_style

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of inputs, starts and pictures
lenet_points: int = 15  # grid points along each side
lenet_inputs: int = 128  # inputs that the loss on a grid is a mean over
lenet_steps: int = 300  # of Adam, to the live target
lenet_accept: float = 0.02  # largest relative loss of a solution
authors_steps: int = 5  # of SGD, to the authors' target; they take 1000
samples: int = 500  # inputs of the small network's grids
points_2d: int = 100  # grid points along each side of a plane
points_3d: int = 50  # the same in three dimensions
umap_seeds: int = 1  # pictures of each set; 0 draws two coordinates instead
umap_points: int = 500  # points of each set

# %% tags=["hide-input"]
device = devices.pick(device)
run = results.run(globals(), "06b_genni_lenet")
generator = run.generator()

# %% tags=["hide-input"]
lenet = models.lenet()
theirs, noise, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 3, seed=0)
noise, begun = noise.to(device), starts.to(device)
problem = Problem(lenet, theirs, noise[: 256 * authors_steps])
sgd = {"lr": 0.001 * problem.energy, "optimizer": "sgd"}
ended = genni.descend(problem, begun, steps=authors_steps, **sgd)
their_plane, few = genni.plane(ended), problem.on(noise[:lenet_inputs])
dead = genni.grid_loss(few, their_plane, (-13, 13), lenet_points)
their_lenet = genni.describe_target(problem.on(noise[:500]).y, epsilon=0.0025)

# %% tags=["hide-input"]
small = models.lenet(1, output_relu=False, size=16)
digits = data.load("digits", "train", device="cpu").images
digits = nn.functional.interpolate(digits, size=16).flatten(1)
_, _, components = torch.linalg.svd(digits - digits.mean(0), full_matrices=False)
images = torch.randn(5000, 2, generator=generator) @ components[:2]
images = (images / images.std()).view(-1, 1, 16, 16).to(device)
weights = 2.0 * genni.random_starts(small, 1, generator=run.generator(5)).to(device)
raw = genni.outputs(small, weights, images)[0]


def wanted(x):
    """The live target: mean 0 and variance 1."""
    return (genni.outputs(small, weights, x)[0] - raw.mean()) / raw.std()


asked = {"seed": seed, "accept": lenet_accept, "starts": 6, "lr": 0.01, "batch_size": 64}
problem = Problem(small, wanted, images)
solved = genni.search(problem, 3, steps=lenet_steps, **asked)
lenet_plane, few = genni.plane(solved.points), problem.on(images[-lenet_inputs:])
lenet_grid = genni.grid_loss(few, lenet_plane, (-13, 13), lenet_points)
middle = lenet_grid._replace(loss=lenet_grid.loss[:, :, lenet_points // 2])

# %% mystnb={"figure": {"name": "fig-lenet", "caption": "Planes of LeNet's parameters: through the authors' networks, whose centre is dead (left), and through solutions for a live target (right). On the flat part of the left plane the network returns 0 on every input of the loss. Crosses: the networks."}, "image": {"alt": "Two square heat maps: on the left a wide flat region of one shade, on the right a loss that varies everywhere."}}
marks = [
    flat.coordinates[:3, :2].numpy(force=True) for flat in (their_plane, lenet_plane)
]
panels = {
    "theirs: the centre is dead": {"grid": dead, "points": marks[0]},
    "live": {"grid": middle, "points": marks[1]},
}
loss_planes(panels)

# %% [markdown]
# (sec-lenet)=
# ## LeNet: dead, and live
#
# The paper's LeNet ends in a ReLU. Here are its target and its searchers from the same stream again (seed 0), and beside
# them a live target: a LeNet without the last ReLU, on images from the plane of two principal components of handwritten
# digits, with its output standardised.

# %% tags=["hide-input"]
moved = (ended[0] - begun[0]).abs().max().item()
at_rest = dead.loss[lenet_points // 2, lenet_points // 2]
still = (dead.loss == at_rest).double().mean().item()
inside = {e: genni.epsilon_set(lenet_grid, e) for e in (0.1, 0.5)}
shares = [
    f"{100 * v.double().mean():.2g} % in {genni.components(v).max()} pieces"
    for v in inside.values()
]
wide = (dead.loss < 0.0025).double().mean().item()
count = sum(parameter.numel() for parameter in lenet.parameters())
Markdown(
    f"*Theirs.* {their_lenet.sentence} In figure 6b, ε = 0.00001 is {1e-5 / their_lenet.energy:.1f} "
    f"times the energy. The centre moved by {moved:g} in {authors_steps} steps. Its "
    f"loss is {at_rest.item() / dead.energy:.6f} times that of the zero function, and {100 * still:.0f} % of the grid "
    f"has the very same; {100 * wide:.0f} % lies under the printed ε = 0.0025. The network has {count:,} parameters; the text says 60,000. *Live.* Four solutions with relative losses "
    f"up to {solved.relative_loss.max():.2g}; under ε = 0.1 lie {shares[0]} of the grid, under 0.5 {shares[1]}."
)

# %% [markdown]
# The "wide region with non-empty interior" of figures 4 to 6 contains the flat part, where the last ReLU is off on these inputs, and more: the sentence above gives both shares. At a threshold of
# hundreds of times the target's energy the rest passes as well. Besides, $\{J<\varepsilon\}$ is open for *every*
# continuous network: an interior says nothing about a symmetry. Our run may train the authors' other networks for fewer steps than theirs, as it says above; the dead one
# has no gradient, and stays where it is for ever.
#
# :::{admonition} Errata: lengyel2020, LeNet
# :class: warning
# Printed: 60,000 parameters; the sentence above counts them. ε = 0.0025 is above the target's energy. An interior of $\{J<\varepsilon\}$ is no sign
# of a symmetry.
# :::
#
# Where a valley of the live picture is thinner than the grid is fine, the set under a small ε falls apart into cells around single solutions. To count
# pieces then takes a finer grid, as the larger profiles have, or a path of low loss between two solutions.
#
# :::{admonition} Deviation from the paper
# :class: note
# The live LeNet has half the channels and images of 16×16 pixels, so that a laptop trains it in seconds; the images have two degrees of freedom, since random functions of noise images
# cannot be learnt from some thousands of them. The authors' LeNet is theirs, weight for weight.
# :::
#
# (sec-umap)=
# ## UMAP, held against the grid
#
# For four dimensions the paper turns to UMAP, and reads off that the set stays connected. UMAP depends on a seed; the
# components on the grid do not. {numref}`fig-umap` has the sets of the paper's figures 3a and 3b, from the authors' own networks; a live target of the small network, in a plane
# through four solutions and in all of $\mathbb R^4$; and the live LeNet. Each point has the colour of its component *on the grid*.
#
# Coordinates in the plane and the parameters themselves give UMAP the same distances, since the basis is orthonormal: figure 6, which the paper draws from parameters, needs no other input.

# %% tags=["hide-input"]
fcn = models.fcn()
theirs, inputs, starts = authors_draws(models.fcn, (1,), 16384, 10, seed=10)
aim, x = Problem(fcn, theirs, inputs), inputs.to(device, torch.float64)
sgd = {"lr": 0.015 * aim.energy, "optimizer": "sgd", "steps": 1000}
nets = genni.descend(aim, starts[:5], **sgd)
live = Problem(fcn, torch.tensor([1.0, -1.0, 0.8, 0.5]), x[:4000])
flat = genni.plane(genni.search(live, 3, seed=seed, starts=24).points)
space = genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)]))
aim, live = aim.on(x[:samples]), live.on(x[:samples])
theirs_3d = genni.grid_loss(aim, genni.plane(nets[:4]), (-2, 2), points_3d)
theirs_4d = genni.grid_loss(aim, genni.plane(nets), (-1, 1), 20)
live_3d = genni.grid_loss(live, flat, (-2, 2), points_3d)
live_4d = genni.grid_loss(live, space, (-2, 2), 20)

# %% tags=["hide-input"]
clouds = {
    "figure 3a": (theirs_3d, 0.005 / theirs_3d.energy),
    "figure 3b": (theirs_4d, 0.1 / theirs_4d.energy),
    "live, 3D": (live_3d, 0.1),
    "live, 4D": (live_4d, 0.1),
    "LeNet, live": (lenet_grid, 0.5),
}
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
    drawn.append(picture.assign(component=labels[some].numpy()))
    row = {"set": name, "seed": k, "on_the_grid": int(labels.max())}
    rows.append(row | {"sampled": pieces(cloud), "drawn": pieces(flat)})
seen_by_umap = pd.DataFrame(rows)
seen_by_umap["agrees"] = seen_by_umap["on_the_grid"] == seen_by_umap["drawn"]
seen_by_umap["connected"] = seen_by_umap["on_the_grid"] == 1
seen_by_umap

# %% mystnb={"figure": {"name": "fig-umap", "caption": "ε-sets drawn by UMAP, one row for each set and one column for each seed; colours are the components counted on the grid. How many pieces one sees, the table above compares with the grid."}, "image": {"alt": "A grid of scatter plots: rows are sets, columns are seeds, with points in the colours of their components."}}
embeddings(pd.concat(drawn))

# %%
run.write(umap=seen_by_umap)
largest, said = run.largest("umap")
apart = largest[~largest["agrees"].astype(bool)]
Markdown(
    f"{said} There UMAP shows as many pieces as the grid has in {len(largest) - len(apart)} of {len(largest)} pictures; it shows "
    f"another number for {', '.join(apart['set'].unique()) or 'no set'}."
)

# %% [markdown]
# (sec-quotient)=
# ## The quotient: neighbouring classes, stacked
#
# The paper leaves the quotient of all parameters by functional equivalence to future work. For the small network it is known: by {prf:ref}`thm-slopes`,
# the two slopes $(s_+, s_-)$ are its coordinates, and with two neurons every pair is reached. {numref}`fig-stack` shows how classes fill the
# parameters: as hyperbolas, and as hexagons one inside the other, down to the class of 0, a single point of this plane. The class of 0 has no energy of its own, which is why no relative ε fits it, and why `genni.search` refuses it.

# %% tags=["hide-input"] mystnb={"figure": {"name": "fig-stack", "caption": "Neighbouring classes in two planes: targets t·ReLU(x) for one neuron (left) and t·|x| for three neurons with outgoing weights 1 (right), each drawn where J/E[y²] < 0.01. The quotient is the axis t."}, "image": {"alt": "Left: nested hyperbola branches; right: nested hexagons; colours tell the size of the target."}}
neuron = genni.plane(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
corner = torch.tensor([0.0, 0, 0, 1, 1, 1])
turns = torch.tensor([[1.0, -1, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0]])
three = genni.plane(torch.cat([corner[None], corner + turns]))
stack = {"one neuron": {}, "three neurons": {}}
for t in (0.4, 0.8, 1.2, 1.6):
    for title, h, flat, base in (
        ("one neuron", 1, neuron, torch.relu),
        ("three neurons", 3, three, torch.abs),
    ):
        scaled = lambda x, t=t, base=base: t * base(x)
        problem = Problem(models.fcn((1, h, 1)), scaled, x[:100])
        grid = genni.grid_loss(problem, flat, (-2.5, 2.5), 2 * points_2d)
        stack[title][t] = grid
class_stack(stack)

# %% [markdown]
# ## What the paper prints, and what would break it
#
# Figures 4 to 6 use ε = 0.0025, and 10⁻⁵ in four dimensions. The sentence above gives both in units of the target's energy.
# The network is said to have 60,000 parameters, which is the size of the LeNet-5 of 1998.
#
# What would break our reading: if the flat part were not the zero function, its loss would differ from $\mathrm E[y^2]$. It does not, beyond rounding; the exercise below asserts it. What
# would break the live picture is a target that solutions meet only on the images they were trained on; the acceptance test uses others.
#
# (sec-guide)=
# ## From a picture to a group: a guide
#
# | What you see | Ask first | If it stays, it may be | Check |
# |---|---|---|---|
# | a wide region | is ε below the target's energy? is the centre dead? | dead units or a threshold, no symmetry | `describe_target`; where is `grid.relative` 1? |
# | isolated points | are there more for a smaller ε? | a finite group: orders, signs | `persistence`; do the points differ by orders and signs? |
# | curves like $(\alpha, 1/\alpha)$ | does the rank agree? | scalings | straight lines in logarithms; `functional_dimension` |
# | closed curves, spheres | is the radius constant? | pieces glued where a neuron changes sign; or rotations | `betti`; corners |
# | crossing sheets | is a slope, or an output, 0? | a degenerate target, whose class is larger than its orbit | does the rank drop on a sheet? |
# | points, though a continuous group is known | what is $m - r$? | a plane too thin for the class | one dimension more; the orbit itself |
#
# Then name the group: which $(A_1,A_2,\dots)$ of {prf:ref}`prop-moved` maps solutions onto each other? Align the hidden layers of two of them, and
# see whether what maps one to the other is a permutation, monomial, or neither. Last, act with the group on one solution and look whether $J$ stays 0, as the
# table of an orbit in {doc}`06_genni` does.
#
# ## Adapt this
#
# An activation of your own. The absolute value has a larger group than ReLU: by {doc}`01_intertwiner_groups` its scalars are all non-zero numbers. So the class of
# one neuron should have two branches, $w$ and $-w$.

# %%
mine = nn.Sequential(
    nn.Linear(1, 1, bias=False), nn.LeakyReLU(-1.0), nn.Linear(1, 1, bias=False)
)
grid = genni.grid_loss(Problem(mine, torch.abs, x[:100]), neuron, (-3, 3), 61)
genni.betti(genni.epsilon_set(grid, 0.05))  # pieces, holes

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-dead
# In the left panel of {numref}`fig-lenet`, what is the loss on the flat part, relative to the target's energy? Would a smaller ε shrink the region, and to what?
# :::
#
# ::::{solution-start} ex-dead
# :class: dropdown
# ::::
# It is 1: the network is the zero function there. For ε below 1, the flat part vanishes at once, with the centre in it.

# %%
assert not genni.epsilon_set(dead, 0.999)[dead.loss == at_rest].any()
assert (dead.relative[dead.loss == at_rest] - 1).abs().max() < 1e-5

# %% [markdown]
# ::::{solution-end}
# ::::
#
# ## Summary
#
# - A wide region of low loss is a fact about ε and the target before it is one about symmetry.
# - UMAP shows shapes that depend on a seed; components are counted on the grid.
# - The quotient of the small network by functional equivalence is a plane with coordinates $(s_+, s_-)$.
#
# Back to {doc}`06_genni`, on to {doc}`07_shallow_relu`, where all symmetries of a network with one hidden layer are known.
#
# ## Provenance

# %%
threshold = 0.0025 / their_lenet.energy
measured = {"parameters": count, "difference": abs(count - 60_000), "still": still}
run.write(lenet=pd.DataFrame([measured | {"relative_threshold": threshold}]))
results.provenance()
