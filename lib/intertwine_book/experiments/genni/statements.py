"""The statements of lengyel2020, tried: the tables of chapter 6 that claims read."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from intertwine import genni
from intertwine.genni import Grid, Plane, Problem
from intertwine.shallow import ShallowReLU, stabilizer
from intertwine_book import models
from intertwine_book.experiments.genni.closed_form import gaussian_loss, merging, orbit, slopes
from intertwine_book.experiments.rows import Row, tabled

f64 = torch.float64
Seeded = Callable[[int], torch.Generator]
PRINTED_EPSILON = 0.0025
"""The ε of the paper's figures 1 and 2, of J itself."""


@tabled
def orbits(x: Float[Tensor, "n 1"], *, generator: torch.Generator) -> Iterator[Row]:
    """Swaps and scalings keep the function, and the order of a swap and a scaling matters."""
    for h, trial in itertools.product((2, 3, 4), range(5)):
        theta = torch.randn(2 * h, dtype=f64, generator=generator)
        problem = Problem(models.fcn((1, h, 1)).eval(), theta, x)
        loss = genni.loss_at(problem, orbit(theta, 20, generator=generator)).max()
        scale = torch.linspace(1, 2, h, dtype=f64)
        scale = torch.cat([scale, 1 / scale])
        swapped, scaled = (at.view(2, h).flip(1).flatten() for at in (theta, scale * theta))
        row = {"h": h, "trial": trial, "relative_loss": (loss / problem.y.square().mean()).item()}
        yield row | {"order_matters": ((scale * swapped - scaled).norm() / theta.norm()).item()}


@tabled
def metric(x: Float[Tensor, "n 1"], *, generator: torch.Generator) -> Iterator[Row]:
    """J is the square of a distance in L²(N(0, 1)), and that of the whole line lies in its tails."""
    network, line = models.fcn().eval(), torch.linspace(-1000, 1000, 20_001, dtype=f64)[:, None]
    for trial in range(5):
        theta, move = torch.randn(2, 4, dtype=f64, generator=generator)
        move[:2] = 0  # the function is linear in c
        ends = theta + torch.tensor([[1.0], [0.5]]) * move
        whole, half = genni.loss_at(Problem(network, theta, x), ends).tolist()
        squared = gaussian_loss(ends[0], slopes(theta)).item()
        gap = genni.outputs(network, ends[:1], line) - genni.outputs(network, theta[None], line)
        tail = gap.square().flatten()[line.flatten().abs() > 500].sum() / gap.square().sum()
        row = {"trial": trial, "tail": tail.item(), "half_as_far": half / whole}
        yield row | {"from_half": abs(half / whole - 0.5), "from_d_squared": abs(whole / squared - 1)}


@tabled
def dimensions(*, generator: torch.Generator) -> Iterator[Row]:
    """The dimension of a class beside that of an orbit, one for each of h neurons."""
    for h, trial in itertools.product((2, 3, 4), range(3)):
        mixed = torch.randn(2 * h, dtype=f64, generator=generator).abs()
        mixed[0] *= -1
        kinds = {
            "1 input, both slopes": (1, mixed),
            "1 input, all w negative": (1, -mixed.abs()),
            "3 inputs": (3, torch.randn(4 * h, dtype=f64, generator=generator)),
        }
        for kind, (width, theta) in kinds.items():
            x = torch.randn(1000, width, dtype=f64, generator=generator)
            rank, fibre, _ = genni.functional_dimension(models.fcn((width, h, 1)).eval(), theta, x)
            row = {"network": kind, "h": h, "trial": trial, "parameters": len(theta), "rank": rank}
            yield row | {"class": fibre, "orbit": h, "orbit_is_all": fibre == h}


@tabled
def isotropy() -> Iterator[Row]:
    """Which elements of swap and scale fix a network, and whether the further group moves its function."""
    cases = {
        "both slopes": [1.0, -1.0, 0.8, 0.5],
        "both w negative": [-1.0, -2.0, 0.8, 0.5],
        "two equal neurons": [1.0, 2.0, 1.0, 0.5],
        "a neuron without weights": [1.0, 0.0, 0.8, 0.0],
    }
    for point, (w1, w2, c1, c2) in cases.items():
        fixing = stabilizer(ShallowReLU([[w1], [w2]], [0, 0], [[c1, c2]], [0]))
        theta, further = torch.tensor([[w1, w2, c1, c2], [w1, w2, c1 + w2, c2 - w1]], dtype=f64)
        row = {"point": point, "order": fixing.order, "dimension": fixing.dimension}
        row |= {"orbit": 2 - fixing.dimension}
        row |= {"moved_by_the_further_group": gaussian_loss(further, slopes(theta)).item()}
        yield row | {"isotropy": not fixing.trivial}


@tabled
def copies() -> Iterator[Row]:
    """How many pieces of the ε-set last, and where they merge, on a grid of 16⁴ points, for five targets.

    Columns s_plus, s_minus (of the target), pieces, predicted (where theory says that two merge), merged_at,
    copies_meet.
    """
    axis = torch.linspace(-2, 2, 16, dtype=f64)
    everywhere = torch.cartesian_prod(axis, axis, axis, axis)
    for plus, minus in [(1.0, -1.0), (1.0, 1.0), (0.8, -0.5), (1.0, 0.5), (-0.7, 1.2)]:
        target = torch.tensor([plus, minus], dtype=f64)
        merge = merging(target)
        loss = gaussian_loss(everywhere, target) / (target.square().sum() / 2)
        bars = genni.persistence(loss.view([16] * 4), below=0.95)
        lasting = bars[(bars["birth"] < 0.1 * merge) & (bars["death"] > 0.4 * merge)]
        row = {"s_plus": plus, "s_minus": minus, "pieces": len(lasting), "predicted": merge}
        yield row | {"merged_at": lasting["death"].iloc[1:].max(), "copies_meet": len(lasting) < 2}


def cube(plane: Plane, n: int) -> Float[Tensor, "points p"]:
    """Parameters at n points a side of a plane of three dimensions, between −2 and 2."""
    axis = torch.linspace(-2, 2, n, dtype=f64)
    return plane.at(torch.cartesian_prod(axis, axis, axis))


@tabled
def hole(plane: Plane, theta: Float[Tensor, " p"], n: int) -> Iterator[Row]:
    """Pieces, holes and cavities at the printed ε of the class of θ and of parts of it."""
    at = cube(plane, n)
    near, near_zero = (
        gaussian_loss(at, s) < PRINTED_EPSILON for s in (slopes(theta.to(at)), at.new_zeros(2))
    )
    sets = {"theirs": near, "with both w negative": near & (at[:, :2] < 0).all(1)}
    for name, inside in {**sets, "near the zero function": near & near_zero}.items():
        pieces, holes, cavities = genni.betti(inside.view(n, n, n))
        row = {"set": name, "pieces": pieces, "holes": holes, "cavities": cavities}
        yield row | {"points": int(inside.sum())}


@tabled
def crossing(plane: Plane, ratio: float, n: int) -> Iterator[Row]:
    """The part of an ε-set with both w positive, for targets of such slopes that ε is `ratio` and less."""
    at = cube(plane, n)
    lower, upper = ((at[:, :2] * sign > 0).all(1) for sign in (-1, 1))
    near_zero = gaussian_loss(at, at.new_zeros(2)) < PRINTED_EPSILON
    rays = {"a slope 0": (0.0, 1.0), "both slopes alive": (0.5**0.5, 0.5**0.5)}
    for (kind, ray), epsilon in itertools.product(rays.items(), (ratio, 4.0, 0.9, 0.4, 0.1)):
        target = (2 * PRINTED_EPSILON / epsilon) ** 0.5 * torch.tensor(ray).to(at)
        inside = gaussian_loss(at, target) < PRINTED_EPSILON
        label = genni.components(inside.view(n, n, n)).flatten()
        joined = set(label[inside & lower].tolist()) & set(label[inside & upper].tolist())
        second, zero = ((inside & part).sum().item() / inside.sum().item() for part in (upper, near_zero))
        row = {"target": kind, "epsilon": round(epsilon, 2), "points": int(inside.sum())}
        row |= {"second_surface": second, "near_zero": zero, "joined": bool(joined)}
        predicted = epsilon > ray[1] ** 2
        yield row | {"predicted": predicted, "as_predicted": (second > 0) == predicted}


@tabled
def conjecture(
    problem: Problem, flats: Sequence[Plane], n: int, *, planes: int, seeded: Seeded
) -> Iterator[Row]:
    """The share of a grid under ε in planes of solutions, and its mean in random planes through the first."""
    for k, flat in enumerate(flats):
        size, generator = len(flat.basis), seeded(1000 + k)
        random = [genni.random_plane(flat.centre, size, generator=generator) for _ in range(planes)]
        losses = [genni.grid_loss(problem, each, (-2, 2), n).relative for each in (flat, *random)]
        for epsilon in (0.01, 0.03, 0.1, 0.3):
            share, *shares = ((loss < epsilon).double().mean().item() for loss in losses)
            yield {"search": k, "epsilon": epsilon, "random": fmean(shares), "solutions": share}


@tabled
def conjecture_anywhere(
    flats: Sequence[Plane], target: Float[Tensor, " 2"], n: int, *, planes: int, seeded: Seeded
) -> Iterator[Row]:
    """The same beside random planes through random points, by closed form."""
    for k, flat in enumerate(flats):
        generator = seeded(2000 + k)
        centres = torch.randn(planes, 4, dtype=f64, generator=generator)
        random = [genni.random_plane(centre, 3, generator=generator) for centre in centres]
        losses = (gaussian_loss(cube(each, n).to(target), target) for each in (flat, *random))
        share, *shares = ((loss < 0.05 * target.square().sum()).double().mean().item() for loss in losses)
        yield {"search": k, "epsilon": 0.1, "solutions": share, "random": sum(shares) / planes}


def cost(problem: Problem) -> pd.DataFrame:
    """Multiplications and additions of a picture, by its dimension and points a side."""
    rows = []
    for m, n in ((1, 64), (2, 16), (2, 32), (3, 8), (3, 16), (4, 8)):
        flat = genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)[:m]]).to(f64))
        with FlopCounterMode(display=False) as counter:
            genni.grid_loss(problem, flat, (-2, 2), n)
        rows.append({"m": m, "n": n, "points": n**m, "operations": counter.get_total_flops()})
    table = pd.DataFrame(rows).eval("per_point = operations / points")
    return table.assign(excess=table["per_point"] / table["per_point"].min() - 1)


@tabled
def independence(*, generator: torch.Generator) -> Iterator[Row]:
    """Whether m + 1 vectors of R⁴ can be linearly independent."""
    vectors = torch.randn(5, 4, dtype=f64, generator=generator)
    for m in range(1, 5):
        rank = int(torch.linalg.matrix_rank(vectors[: m + 1]))
        yield {"m": m, "rank": rank, "holds": rank == m + 1}


@tabled
def published_networks(losses: Float[Tensor, " k"]) -> Iterator[Row]:
    """Which networks of the authors are closer to the target than the zero function; losses are relative."""
    for network, loss in enumerate(losses.tolist()):
        yield {"network": network, "relative_loss": loss, "better_than_zero": loss < 1}


@tabled
def thresholds(theirs: Problem, exact: Problem) -> Iterator[Row]:
    """The printed ε by the loss of the zero function, for Gaussian inputs and on the paper's own ones."""
    relative, on_theirs = (PRINTED_EPSILON / each.energy for each in (exact, theirs))
    yield {"network": "FCN", "relative": relative, "on_their_inputs": on_theirs}


@tabled
def pictures(grids: Mapping[int, Grid], epsilon: float) -> Iterator[Row]:
    """The pieces of an ε-set in figures of the paper, number → grid."""
    for figure, grid in grids.items():
        pieces = int(genni.components(genni.epsilon_set(grid, epsilon)).max())
        yield {"figure": figure, "pieces": pieces, "connected": pieces == 1}
