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
# # 6 · Pictures of symmetry: GENNI
#
# :::{admonition} Before you start
# :class: tip
# **You need** {doc}`01_intertwiner_groups` for swaps and scalings, and {doc}`01b_weight_space` for what they do to
# weights.
# **You will learn** to picture all weights that compute one function, to walk along them, and to see what comes from
# a symmetry and what from a threshold.
# **This run.** {{ this_run }}. **Evidence**: {doc}`its record <records/06_genni>`.
# :::
#
# ## The question
#
# Which weights compute a given function?
# GENNI {cite}`lengyel2020` trains several networks to it, lays a plane through their weights, and draws the loss on the
# plane.
# *Can one see a group in such a picture?*
#
# **Yes, if the threshold is small.** Three ReLU neurons compute $|x|$ exactly on a hexagon, whose corners are the six
# orders of one network ({numref}`fig-space`).
# The threshold that the paper prints is too large: the zero function passes it, too.

# %% tags=["hide-input"]
import torch

from intertwine import devices, genni
from intertwine.genni import Problem
from intertwine_book import models
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.drag_plane import drag_plane
from intertwine_book.figures.epsilon_slider import epsilon_slider
from intertwine_book.figures.genni import loss_planes
from intertwine_book.figures.solids import hyperboloid, polytope
from intertwine_book.figures.style import COLOURS, use_style
from intertwine_book.genni_authors import authors_draws
from intertwine_book.record import on_record

use_style()

# %% tags=["parameters"]
device: str = "cpu"  # or "cuda", or "auto": a GPU where there is one
seed: int = 0  # of inputs and starts
samples: int = 500  # inputs that the loss on a grid is a mean over
points_2d: int = 100  # grid points along each side of a plane
points_3d: int = 50  # the same in three dimensions

# %% tags=["hide-input"] figure="fig-space"
device, draw = devices.pick(device), torch.Generator().manual_seed(seed)
x = torch.randn(4000, 1, dtype=torch.float64, generator=draw).to(device)
seen, fcn = x[:samples], models.fcn().eval()
solutions = [[1.0, -1.0, 0.0], [-0.4, 1.0, -0.6], [-0.7, -0.3, 1.0]]
three = torch.cat([torch.tensor(solutions), torch.ones(3, 3)], 1)  # (w, c)
hexagon = genni.plane(three)
absolute = Problem(models.fcn((1, 3, 1)).eval(), torch.abs, seen)
unrolled = genni.grid_loss(absolute, hexagon, (-1.1, 2.9), 41)

along = {"along an edge": [1.0, -0.4, -0.6], "a permutation": [1.0, 0.0, -1.0]}
off = {"too flat": [0.4, -0.1, -0.3], "the zero function": [0.0, 0.0, 0.0]}
drag_plane(unrolled, hexagon, along | off)

# %% [markdown]
# :::{figure} #fig-space
# ---
# alt: >-
#   A tilted square in space with axes w1, w2, w3, coloured by loss, with a dark hexagon and three crosses on it;
#   the same square flat with a point to drag; and the graph of the network at the point, with those of its neurons.
# ---
# Three ReLU neurons with outgoing weights 1 compute |x| exactly on a hexagon of input weights.
# Left: three solutions (red crosses) span a plane.
# Middle: drag the point.
# Colour: the loss as a share of $\mathrm E[y^2]$, logarithmic; dark blue where the network computes |x|.
# Right: the network at the point (orange), its neurons, and |x| (dashed).
# Computed by this page.
# :::

# %% [markdown]
# Each point of the plane is a whole network.
# Along an edge of the hexagon two neurons share one slope, and the sum of their weights stays constant.
# This is neither a permutation nor a scaling; {ref}`sec-hole` names it, there with input and output weights exchanged.
#
# ## One, two and four neurons
#
# One neuron $c\,\mathrm{ReLU}(wx)$ computes $\mathrm{ReLU}(x)$ if $w > 0$ and $cw = 1$.
# Its *relative loss* is the loss divided by that of the zero function:
#
# | $(w, c)$ | slope $cw$ for $x>0$ | relative loss |
# |---|---|---|
# | $(1, 1)$ | $1$ | $0$ |
# | $(2, \frac12)$, a scaling of it | $1$ | $0$ |
# | $(1, \frac12)$ | $\frac12$ | $\frac14$ |
# | $(0, 3)$, the zero function | $0$ | $1$ |
#
# The solutions form a curve, the *scalings* $(\alpha, 1/\alpha)$ ({numref}`fig-classes`, left).
# Two neurons with outgoing weights 1 that compute $|x|$ form two points, which a *swap* exchanges (right).

# %% tags=["hide-input"] figure="fig-classes"
neuron = genni.plane(torch.tensor([[0.0, 0], [1, 0], [0, 1]]))
one = Problem(models.fcn((1, 1, 1)).eval(), torch.relu, seen)
alpha = torch.logspace(-0.5, 0.5, 25, dtype=torch.float64)
left = {"grid": genni.grid_loss(one, neuron, (-3, 3), points_2d)}
left |= {"oracle": torch.stack([alpha, 1 / alpha], 1), "names": ("w", "c")}

two = genni.plane(torch.tensor([[0.0, 0, 1, 1], [1, 0, 1, 1], [0, 1, 1, 1]]))
pair = genni.grid_loss(Problem(fcn, torch.abs, seen), two, (-2, 2), points_2d)
right = {"grid": pair, "oracle": [[1.0, -1.0], [-1.0, 1.0]], "names": ("w₁", "w₂")}
panels = {"one neuron": left, "two neurons": right}
loss_planes({title: panel | {"epsilon": 0.1} for title, panel in panels.items()})

# %% [markdown]
# :::{figure} #fig-classes
# ---
# alt: >-
#   Two square heat maps: a dark hyperbola branch, and two dark spots symmetric to the diagonal; orange dots lie on the
#   dark sets.
# ---
# Scaling makes a curve, a swap makes two points.
# Relative loss, with a line where it is ε = 0.1; orange: exact solutions from formulas.
# Left: all weights of one neuron, target ReLU(x).
# Right: input weights of two neurons, target |x|.
# Computed by this page.
# :::

# %% [markdown]
# Four neurons with outgoing weights 1 compute $|x|$ on the surface of a cuboctahedron, in the three dimensions where
# $\sum_i w_i = 0$ ({numref}`fig-polytope`).

# %% tags=["hide-input"] figure="fig-polytope"
polytope([0.0, 0.01, 0.05, 0.1, 0.3], [0.7, 0.3, -0.9, -0.1], name="polytope")

# %% [markdown]
# :::{figure} #fig-polytope
# ---
# alt: >-
#   Translucent cuboctahedron in three dimensions with grey edges, twelve labelled corners and twenty-four red points on
#   its faces, and a slider for the threshold.
# ---
# The input weights of four ReLU neurons that compute |x| are the surface of a cuboctahedron.
# Turn it with the mouse or a slider; the other slider shows the ε-set, a shell around the surface.
# At the corner 1↑2↓ neuron 1 has weight 1, neuron 2 has −1, the others 0.
# Red: one network in its 24 orders.
# :::

# %% [markdown]
# *Betti numbers* count the pieces of a set, the loops around its holes, and the cavities that it encloses.
# On grids, at ε = 0.1, the hexagon is counted as a circle and the cuboctahedron as a sphere:

# %% tags=["hide-input"]
corner = torch.cat([torch.zeros(4), torch.ones(4)])
steps = torch.eye(4)[:3] - torch.eye(4)[1:]  # along Σ w = 0
solid = torch.cat([corner[None], corner + torch.cat([steps, 0 * steps], 1)])
four = Problem(models.fcn((1, 4, 1)).eval(), torch.abs, seen)
body = genni.grid_loss(four, genni.plane(solid), (-1.6, 1.6), 20)
counts = [genni.betti(genni.epsilon_set(each, 0.1)) for each in (unrolled, body)]
print("hexagon: pieces, holes", counts[0], " cuboctahedron: and cavities", counts[1])

# %% [markdown]
# (sec-definitions)=
# ## Definitions, and a closed form
#
# Let $f(x,\theta)$ be a network, $y = f(x,\theta^*)$ the target, and
#
# $$J(\theta) = \operatorname{mean}_x |f(x,\theta)-y|^2.$$ (eq-genni-loss)
#
# The *class* of $\theta^*$ is the set of all θ with the same function,
# and the *ε-set* is $\{\theta : J(\theta)/\mathrm E[y^2] < \varepsilon\}$.
# The paper takes $J < \varepsilon$; we divide by $\mathrm E[y^2]$, the loss of the zero function.
# Above $\varepsilon = 1$ the set contains every network that returns 0.
#
# The network of the paper is $f(x) = \sum_i c_i\,\mathrm{ReLU}(w_i x)$ with two neurons.
# It is linear on either side of 0, with slopes
#
# $$s_+ = \sum_{w_i>0} c_i w_i, \qquad s_- = \sum_{w_i<0} c_i w_i.$$ (eq-slopes)
#
# :::{prf:theorem} The classes of the small network
# :label: thm-slopes
#
# Let $J$ and $\mathrm E$ be means over $x\sim N(0,1)$.
#
# 1. Two parameters compute the same function iff they have the same slopes.
#    Moreover $J = \tfrac12\left((\Delta s_+)^2+(\Delta s_-)^2\right)$ with the differences of the slopes, and
#    $\mathrm E[y^2] = \tfrac12(s_+^2+s_-^2)$.
# 2. With two neurons and $s_+s_-\neq0$, the class has two pieces, exchanged by the swap.
#    They lie in one piece of the ε-set iff $\varepsilon > \min(s_+^2, s_-^2)/(s_+^2+s_-^2)$.
# 3. With two neurons and exactly one slope 0, the class is connected, with a part of dimension 3
#    and sheets of dimension 2.
# :::
#
# :::{prf:proof}
# (1) is integration over each half line.
# (2) Neither slope is 0, so one $w_i$ is positive and one negative, and each $c_i$ is a slope divided by $w_i$:
# two quadrants, each connected.
# A path from one to the other leaves its quadrant where a $w_i$ is 0.
# There a slope is 0, so $J\ge\tfrac12\min(s_+^2,s_-^2)$.
# Conversely, a path that needs no more: let $|s_+|\le|s_-|$ and $w_1>0>w_2$.
# Shrink $c_1$ to 0, lead $w_1$ below 0, hand $s_-$ over from neuron 2 to neuron 1 while both $w_i<0$,
# lead $w_2$ above 0, and let $c_2$ grow until $c_2w_2=s_+$.
# On this path $J\le\tfrac12s_+^2$.
# (3) Let $s_+=0$.
# Where both $w_i<0$ the class is $c_1w_1+c_2w_2=s_-$: a line of $(c_1,c_2)$ over every point of a quadrant.
# Where $w_1>0>w_2$ it is $c_1=0$ and $c_2w_2=s_-$; letting $w_1$ fall through 0 leads to the first part.
# At $w_1=0$, $c_1$ is free and can be led to 0.
# The swap gives the rest, and $s_-=0$ is the mirror image.
# :::
#
# For any law of $x$ that is symmetric about 0, $J$ and $\mathrm E[y^2]$ change by one factor, and the bound stays.
# *On a grid in all of $\mathbb R^4$ the two pieces of each of five targets merge at this ε*
# ({ref}`rec-genni-theorem`).
#
# Here are the network, a swap and a scaling, and the slopes {eq}`eq-slopes` that they keep:


# %%
def output(theta, x):
    """The network with weights θ = (w, c), at numbers x."""
    w, c = theta.chunk(2)
    return ((w * x[:, None]).relu() * c).sum(1)


def slopes(theta):
    return output(theta, torch.tensor([1.0, -1.0])) * torch.tensor([1, -1])


theta = torch.tensor([1.0, -1.0, 0.8, 0.5]).double()  # w1, w2, c1, c2
swapped = theta[[1, 0, 3, 2]]
scaled = theta * torch.tensor([3, 0.5, 1 / 3, 2])  # w by α, c by 1/α
for moved in (theta, swapped, scaled):
    print("slopes", slopes(moved).numpy().round(6))

# %% [markdown]
# (sec-search)=
# ## GENNI from scratch
#
# 1. **Search.** Train from random starts to the target.
#    Accept a start if its relative loss is small on inputs it has not seen.
# 2. **Plane.** Take $m+1$ solutions $\theta_0,\dots,\theta_m$ that lie in no smaller plane.
#    Orthonormalise the differences $\theta_i-\theta_0$, the rows of $B$.
# 3. **Grid.** Evaluate the loss at $\theta_0 + tB$ for $n^m$ points $t$.
#    Keep those of the ε-set.
#
# The target has the slopes of the cell above:


# %%
def relative_loss(points, x):
    """J/E[y²] of every row (w, c) of points."""
    w, c = points.chunk(2, dim=1)
    y = output(theta, x)
    outputs = ((w[:, None] * x[:, None]).relu() * c[:, None]).sum(2)
    return (outputs - y).square().mean(1) / y.square().mean()


# %% [markdown]
# The three steps, with 24 starts and a plane through three solutions:

# %%
starts = torch.randn(24, 4, dtype=x.dtype, generator=draw).requires_grad_()
adam, inputs = torch.optim.Adam([starts], lr=0.03), x[:, 0].cpu()
for _ in range(500):  # search
    adam.zero_grad()
    relative_loss(starts, inputs[:200]).sum().backward()
    adam.step()
good = starts[relative_loss(starts, inputs[200:]) < 1e-4].detach()

Q, R = torch.linalg.qr((good[1:3] - good[0]).T)  # plane
basis = (Q * R.diagonal().sign()).T  # θ₁ and θ₂ have positive coordinates

t = torch.linspace(-2, 2, 41, dtype=x.dtype)  # grid
loss = relative_loss(good[0] + torch.cartesian_prod(t, t) @ basis, inputs)
print(len(good), "of 24 starts are accepted")

# %% tags=["hide-input"]
grid = genni.grid_loss(Problem(fcn, theta, x.cpu()), genni.plane(good[:3]), (-2, 2), 41)
assert torch.allclose(loss.view(41, 41), grid.relative, atol=1e-6)

# %% [markdown]
# The others end with a slope of 0: nearly all have two $w_i$ of one sign.
# The paper asks for “low enough loss”, which the authors' code does not test.
# With three dimensions one sees curves, as the class has two dimensions in $\mathbb R^4$, and $2+3-4=1$
# ({numref}`fig-rec-live`).
#
# ### How to choose ε
#
# You need not know the class.
# Three losses are at hand: what the search reaches on held-out inputs, that of the zero function, and the one at which
# pieces of the picture merge.
# *Take ε above the loss that the search reaches, below the loss at which two pieces join, and below 1.*
# Between them the count of pieces stays; `persistence` lists when a piece is born and when it merges:

# %%
for bar in genni.persistence(pair.relative, below=0.95).itertuples():
    if bar.birth < 0.05:  # it lasts over decades of ε
        print(f"a piece from ε = {bar.birth:.4f} to {bar.death:.2f}")

# %% [markdown]
# The two points of {numref}`fig-classes` merge where {prf:ref}`thm-slopes` (2) says: at $\frac12$ for equal slopes and
# symmetric inputs, and for these at the smaller share that $x > 0$ or $x < 0$ has of $\sum x^2$.
#
# (sec-trace)=
# ## Walk along a level set
#
# *Instead of a grid, follow the set itself.*
# Directions that keep all outputs, to first order, are the null space of the Jacobian.
# Take a small step in the null space, as far as possible in the direction of the last step.
# Then project back by Newton's method.
# The outputs stay what they were, and so does the loss.
# With one function, the loss itself, the same lines follow a level of the loss.


# %%
def inverse(D):
    return torch.linalg.pinv(D, rtol=1e-6)  # of what is above rounding


def trace(f, t, along, steps, size=0.05):
    """A walk from t on which f stays constant."""
    jacobian, goal, points = torch.func.jacrev(f), f(t), [t]
    for _ in range(steps):
        D = jacobian(t)
        along = along - inverse(D) @ (D @ along)  # into the null space
        along = along / along.norm()
        t = t + size * along
        for _ in range(3):  # Newton
            t = t + inverse(jacobian(t)) @ (goal - f(t))
        points.append(t)
    return torch.stack(points)


# %% [markdown]
# We walk in the plane of the hexagon, once from a point on an edge and once from one inside.
# By {prf:ref}`thm-slopes` (1) the inputs 1 and −1 decide:

# %%
ends = torch.tensor([1.0, -1.0]).double()  # two inputs are enough


def at(t):
    return output(hexagon.at(t[None])[0], ends)


def level(t):  # |x| is 1 at both ends
    return (at(t) - 1).square().mean()[None]


edge = [[1.0, -0.4, -0.6, 1, 1, 1], [0.8, -0.32, -0.48, 1, 1, 1]]
on_edge, inside = hexagon.project(torch.tensor(edge).double())[0]
right = torch.tensor([1.0, 0]).double()
walk, other = trace(at, on_edge, right, 170), trace(level, inside, right, 136)
print("loss on the walk at most", f"{max(map(level, walk)).item():.0e}")
print("on the other it stays at", f"{level(other[-1]).item():.4f}")

# %% tags=["hide-input"]
assert max(map(level, walk)) < 1e-12
assert torch.allclose(torch.cat([*map(level, other)]), level(inside), atol=1e-6)

# %% tags=["hide-input"] figure="fig-walk"
walks = torch.cat([walk, other])
loss_planes({"": {"grid": unrolled, "oracle": walks, "points": walk[:1]}})

# %% [markdown]
# :::{figure} #fig-walk
# ---
# alt: >-
#   The heat map of the hexagon's plane with dots along the dark hexagon, all around, and dots along a level inside it.
# ---
# The walk goes around the whole hexagon, also over its corners.
# Orange dots: the points of a walk along the class, from the red cross, and of one along a level of the loss inside.
# Colour: the relative loss on a grid.
# Computed by this page.
# :::

# %% [markdown]
# A walk costs one Jacobian a point and one for each Newton step, in any number of dimensions.
# The walk stays on one piece ({numref}`fig-walk`); a grid shows all pieces in its plane, and costs $n^m$ losses.
# Where the null space has more than one dimension, the walk follows one curve in it.
#
# (sec-dimension)=
# ## Counting directions
#
# In how many directions can one move without changing the function?
# The rank of the Jacobian of all outputs is the *functional dimension* of θ.
# Where it is constant, the dimension of the class is the number of parameters minus the rank:
#
# $$
# \dim[\theta]
# = \dim\Theta - \operatorname{rank}\frac{\partial f(X,\theta)}{\partial\theta}.
# $$ (eq-functional-dimension)


# %%
def class_dimension(theta, x):
    """Directions that leave all outputs as they are, to first order."""
    jacobian = torch.func.jacrev(output)(theta, x)
    return len(theta) - torch.linalg.matrix_rank(jacobian).item()


one_sided = torch.tensor([-1.0, -2.0, 0.8, 0.5]).double()  # both w < 0
for weights in (theta, one_sided):
    print(class_dimension(weights, inputs), "directions")

# %% tags=["hide-input"]
for weights in (theta, one_sided):
    library = genni.functional_dimension(fcn, weights, x)
    assert class_dimension(weights, inputs) == library.fibre

# %% [markdown]
# *With one input and at least two neurons the class has more dimensions near θ than the orbit of swaps and scalings,
# unless $h=2$ and the $w_i$ have both signs.*
# For random networks with $h\ge2$ neurons ({ref}`rec-genni-dimension`; equal or silent neurons are left out):
#
# | network | parameters | dimension of the class near θ | of the orbit |
# |---|---|---|---|
# | 1 input, $w_i$ of both signs, at most one slope 0 | $2h$ | $2h-2$ | $h$ |
# | 1 input, all $w_i$ of one sign | $2h$ | $2h-1$ | $h$ |
# | 3 inputs | $4h$ | $h$ | $h$ |
#
# (sec-authors)=
# ## The paper's figure 2
#
# The paper's target is an untrained network, and the random numbers of the authors' code are known.
# So the page trains their networks again: target, inputs, starts, and steps of SGD.
# **All ten agree with those in the authors' repository, to 5·10⁻⁷ in each weight** ({ref}`rec-genni-networks`).
#
# *The printed ε is {fact}`06_genni.ratio:.0f` times the loss of the zero function*, which is
# $\tfrac12s_-^2$, as both $w_i$ of the target are negative and $s_+ = 0$.
# Of the four networks that span its planes one is a solution, and one is worse than the zero function.

# %% tags=["hide-input"] figure="fig-their-plane"
theirs, draws, begun = authors_draws(models.fcn, (1,), 16384, 10, seed=10)
problem = Problem(fcn, theirs, draws)
sgd = {"lr": 0.015 * problem.energy, "optimizer": "sgd", "steps": 1000}
nets = genni.descend(problem, begun, **sgd)
judged = problem.on(
    torch.tensor([[1.0], [-1.0]]).double()
)  # by the theorem this is exact
ratio = 0.0025 / judged.energy

space = genni.plane(nets[:4])
cube = genni.grid_loss(judged, space, (-2, 2), points_3d)
w = space.at(cube.coordinates())[:, :2]
signs = {"both wᵢ < 0": (w < 0).all(1), "both wᵢ > 0": (w > 0).all(1)}
signs["one of each"] = w.prod(1) <= 0
levels = [0.1, 0.3, 0.9, 3.0, round(ratio, 1)]
given = {"points": space.coordinates, "kinds": signs}
epsilon_slider(cube, levels, name="theirs", **given)

# %% [markdown]
# :::{figure} #fig-their-plane
# ---
# alt: >-
#   Interactive cloud of points in three dimensions: wide sheets in three colours, with a slider for the threshold that
#   removes one of them below 1 and leaves pieces around a hole.
# ---
# At the printed ε, where the slider starts, the set has a part with both wᵢ > 0.
# Move ε below 1, and it is gone.
# The paper's figure 2, coloured by the signs of the input weights; ε is a share of the zero function's loss.
# Diamonds: the four networks that span the space.
# Computed by this page.
# :::

# %% [markdown]
# The paper sees a hole in the set, and two surfaces that cross ({numref}`fig-their-plane`).
# The hole is real; of the two surfaces, the one with both $w_i > 0$ comes from the threshold.
#
# (sec-hole)=
# ### The hole and its group
#
# The paper guesses that the hole "may be explained by other groups of symmetries".
# *There is a further group, of one parameter.*
# Where both input weights are negative, the class is $\{c_1w_1+c_2w_2 = s_-\}$, of dimension 3.
# Orbits of swap and scale have dimension 2.
# The missing direction is
#
# $$(c_1, c_2) \mapsto (c_1 + t\,w_2,\; c_2 - t\,w_1),$$ (eq-further-group)
#
# which is neither a swap nor a scaling: one neuron takes over what the other gives up.

# %%
for name, (w1, w2, c1, c2) in {"one slope": one_sided, "two": theta}.items():
    further = torch.stack([w1, w2, c1 + 0.7 * w2, c2 - 0.7 * w1])
    before = torch.stack([w1, w2, c1, c2])
    change = (output(further, inputs) - output(before, inputs)).abs().max()
    print(f"{name}: outputs change by up to {change:.1f}")

# %% [markdown]
# Written as a sum of squares, $c_1w_1+c_2w_2$ has two plus and two minus signs in $\mathbb R^4$.
# Restricted to a generic space of three dimensions it has two of one sign and one of the other, and its level set is a
# hyperboloid, of one sheet, which has a hole, or of two.
# *In the paper's space it has one sheet* ({numref}`fig-hyperboloid`).
# On its axis every network in the picture has about {fact}`06_genni.axis:.0f` times the loss of the zero function or
# more, beyond the printed ε.
# So the hole of the picture is the hole of this hyperboloid ({ref}`rec-genni-pieces` counts it).

# %% tags=["hide-input"] figure="fig-hyperboloid"
pairing = torch.zeros(4, 4, dtype=torch.float64)
pairing[[0, 1, 2, 3], [2, 3, 0, 1]] = 0.5  # θᵀ pairing θ = Σ cᵢwᵢ
form = space.basis @ pairing @ space.basis.T
middle = -torch.linalg.solve(form, space.basis @ pairing @ space.centre)
centre = space.at(middle[None])[0]
level_there = slopes(theirs)[1].item() - (centre @ pairing @ centre).item()
squares, axes = torch.linalg.eigh(form)
across, radii = squares * level_there > 0, (level_there / squares).abs().sqrt()
assert across.sum() == 2  # one sheet

strips, turns, dense = 16, 80, 640
u = torch.linspace(-1, 1, dense).double() * torch.asinh(2 / radii[~across])
v = torch.linspace(0, 2 * torch.pi, turns + 1).double()
y = torch.zeros(dense, turns + 1, 3, dtype=torch.float64)
y[..., across] = u.cosh()[:, None, None] * torch.stack([v.cos(), v.sin()], 1)
y[..., ~across] = u.sinh()[:, None, None]
sheet = middle + (radii * y) @ axes.T
w1, w2, c1, _ = space.at(sheet.flatten(0, 1)).view(dense, turns + 1, 4).unbind(-1)
inside = (w1 < 0) & (w2 < 0) & (sheet.abs() <= 2).all(2)
row = torch.arange(dense)[:, None]  # at each angle from border to border
low, high = row.where(inside, dense).amin(0), row.where(inside, -1).amax(0)
rows = (low + (high - low) * torch.linspace(0, 1, strips)[:, None]).round().long()
column = torch.arange(turns + 1)
hyperboloid(sheet[rows, column], (w1 * c1)[rows, column], label="c₁w₁", name="hole")

# %% [markdown]
# :::{figure} #fig-hyperboloid
# ---
# alt: >-
#   Interactive saddle-like surface around an open hole, from blue to red.
# ---
# The class in the paper's space, where both input weights are negative, goes around a hole.
# Turn it with the mouse or the slider, and look through.
# Colour: $c_1w_1$, what neuron 1 contributes to the slope; scalings keep it, the further group changes it.
# By the closed form, not from a grid.
# :::

# %% [markdown]
# (sec-crossing)=
# ### Where the second surface comes from
#
# The paper expects the crossing "due to the permutation symmetries".
# But a swap of two negative weights leaves two negative ones, so neither surface is a permuted copy of the other.
# Where both $w_i > 0$ a network has no slope for $x<0$, so that $J\ge\tfrac12s_-^2$.
# Hence the second surface is in the ε-set only if $\varepsilon > s_-^2/(s_+^2+s_-^2)$:
# above $1$ for the paper's target, above $\frac12$ for equal slopes.
# *Of ten thresholds for each of two targets, it is there at exactly those above this bound* ({numref}`fig-crossing`).

# %% tags=["hide-input"] figure="fig-crossing"
crossing = on_record("06_genni", "crossing").sort_values("epsilon")
crossing["share"] = 100 * crossing["second_surface"]
axes_are = {"xlabel": "ε over the loss of the zero function", "xscale": "log"}
axes_are |= {"ylabel": "second surface, % of the set", "xlim": (0.08, 25)}
picture = single_curves(crossing, "epsilon", "share", "target", **axes_are)
axis = picture.axes[0]
axis.axvline(0.0025 / judged.energy, color=COLOURS["ink"], lw=0.8, ls="--")
axis.text(16, 2, "printed ε", ha="right", color=COLOURS["ink"])
picture

# %% [markdown]
# :::{figure} #fig-crossing
# ---
# alt: >-
#   Share of the second surface against the threshold on a logarithmic axis: for a slope 0 it is zero up to 0.9 and
#   rises after 1, for equal slopes it rises from 0.6 on; both are near 21 percent at the dashed line of the printed ε.
# ---
# The second surface enters above ε = 1 for the paper's slopes, one of which is 0, and above ½ for equal slopes.
# Recorded shares of the ε-set in the paper's space; dashed: the ε of the paper.
# :::

# %% [markdown]
# :::{admonition} Errata: Lengyel et al. 2020
# :class: warning
# *Figure 2.* The second surface comes from the threshold, not from permutations.
# *Independence.* $m+1$ *affinely* independent solutions are meant: five linearly independent ones do not exist in
# $\mathbb R^4$.
# *Orbits.* Swap and scale do not commute: their product is semidirect, not direct.
# *Metric.* $J$ approximates the square of a distance, for a law of the inputs.
# The record has each, as printed.
# :::
#
# (sec-conjecture)=
# ## Is a plane of solutions better than a random one?
#
# The paper conjectures that it holds more good points.
# *In each of {fact}`06_genni.searches:.0f` searches it held more than random planes do on average; over all searches,
# {fact}`06_genni.times_anywhere:.1f` times as many.*
# Most of this comes from passing through one solution.
# Compared with random planes through that solution it holds {fact}`06_genni.times_through:.1f` times as many on
# average, and in a third of the searches fewer.
# Whether we call that a difference depends on ε ({ref}`rec-genni-conjecture`).
#
# ## Which tool for which question?
#
# With `from intertwine import genni` and `problem = genni.Problem(net, target, inputs)`.
#
# :::{list-table}
# :header-rows: 1
# :widths: auto
#
# * - you want to
#   - use
#   - beware
# * - find weights of one function
#   - `found = genni.search(problem, 2, seed=0)`
#   - Accept on held-out inputs; a low training loss is not enough.
# * - picture the loss near them
#   - `grid = genni.grid_loss(problem, genni.plane(found.points), (-2, 2), 41)`
#   - The plane shows a slice: curves of the class may be points in it.
# * - choose a threshold
#   - `bars = genni.persistence(grid.relative, below=0.95)`
#   - Above 1 the zero function is in the set.
# * - count pieces and holes
#   - `genni.betti(genni.epsilon_set(grid, 0.1))`
#   - A sheet thinner than the spacing tears; refine until the count stays.
# * - count directions
#   - `genni.functional_dimension(net, found.points[0], inputs)`
#   - More directions than scalings: a symmetry is missing on your list.
# * - follow one piece
#   - `trace(f, start, direction, 100)`, above
#   - It sees one piece only, and one curve in it.
# * - know whether a region is a symmetry
#   - the target's size: `genni.describe_target(problem.y, 0.0025)`
#   - A wide region may be the class of 0.
# :::
#
# ## Adapt this
#
# Any module, and weights of your own; here, two tanh neurons.
# Their group is finite, swaps and signs, so the class should be $2!\cdot2^2 = 8$ points of $\mathbb R^4$.
# Least squares from 50 random starts finds them, wherever they lie:

# %%
import numpy as np
import torch
from scipy.optimize import least_squares
from torch import nn

from intertwine import genni

layers = nn.Linear(1, 2, bias=False), nn.Tanh(), nn.Linear(2, 1, bias=False)
tanh = nn.Sequential(*layers).eval()
mine = torch.tensor([0.6, 1.7, 2.1, 0.9]).double()  # w₁, w₂, c₁, c₂
own = genni.Problem(tanh, mine, torch.linspace(-3, 3, 100)[:, None].double())


def gap(theta):
    outputs = genni.outputs(tanh, torch.from_numpy(theta)[None], own.inputs)
    return (outputs[0] - own.y).flatten().numpy()


begun = np.random.default_rng(0).normal(size=(50, 4))
ends = [least_squares(gap, start) for start in begun]
exact = [end.x.round(2) for end in ends if end.cost < 1e-12]
found = np.unique(exact, axis=0)
print(len(found), "points (w₁, w₂, c₁, c₂):", *found[:2].tolist(), "…")

# %% [markdown]
# ## Exercises
#
# :::{exercise}
# :label: ex-corners
# *Warm-up.*
# How many corners has the set of input weights with which $h$ ReLU neurons with outgoing weights 1 compute $|x|$?
# And how many neurons are needed at least?
# :::
#
# ::::{solution} ex-corners
# :class: dropdown
# A corner has one neuron at 1 and another at −1: $h(h-1)$ corners, 2, 6 and 12 for two, three and four neurons.
# One neuron cannot compute $|x|$, since it has a slope on one side only.
# ::::
#
# :::{exercise}
# :label: ex-half-way
# Let the target have the slopes $0.8$ and $-0.5$.
# At which relative ε do the two pieces of its class merge, and which network is the first to join them?
# :::
#
# ::::{solution} ex-half-way
# :class: dropdown
# By {prf:ref}`thm-slopes` (2) at $0.25/0.89 \approx 0.28$.
# The first networks that join them have the larger slope and not the smaller one: $s_+ = 0.8$ and $s_- = 0$.
# ::::
#
# :::{exercise}
# :label: ex-open-hole
# *Open.*
# At the printed ε, {fact}`06_genni.near_zero:.0f` % of the set are within ε of the zero function, too.
# On a fine grid this part has two holes.
# Which lines do they go around, and is there a symmetry of the zero function behind them?
# :::
#
# Back to {doc}`05_interpretability`, on to {doc}`06b_genni_lenet`, which has LeNet, UMAP,
# and a guide from pictures to groups.
