"""Pictures against theory: pieces and dimensions of known classes, and the targets of lengyel2020."""

import itertools
import math

import closed_form
import numpy as np
import pytest
import torch
from helpers import generator, normal64
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from intertwine import genni
from intertwine_book import models
from intertwine_book.genni_authors import authors_draws

seeds = st.integers(0, 2**31)
laws = settings(max_examples=12, deadline=None)


X = normal64(200, 1, seed=0)


def with_slopes(plus: float, minus: float):
    return lambda x: plus * x.relu() - minus * (-x).relu()


# --- components and persistence ---


@laws
@given(seeds, st.integers(1, 4), st.booleans())
def test_components_born_and_not_yet_dead_are_those_of_the_set(seed, m, ties):
    values = torch.rand((5,) * m, generator=generator(seed), dtype=torch.float64)
    if ties:
        values = (values * 4).round() / 4 + 0.1
    table = genni.persistence(values)
    assert (table["birth"] < table["death"]).all()
    for epsilon in (0.05, 0.1, 0.2, 0.35, 0.6, 2.0):
        counted = genni.components(values < epsilon).max().item()
        assert ((table["birth"] < epsilon) & (epsilon <= table["death"])).sum() == counted
    below = genni.persistence(values, below=0.35)
    assert np.isinf(below["death"]).sum() == genni.components(values < 0.35).max().item()


@laws
@given(seeds, st.integers(1, 3))
def test_components_are_what_a_walk_reaches(seed, m):
    mask = torch.rand((4,) * m, generator=generator(seed)) < 0.3
    labels, seen = genni.components(mask), set()
    assert torch.equal(labels > 0, mask)
    pieces = []
    for start in map(tuple, mask.nonzero().tolist()):
        if start not in seen:
            piece, border = set(), [start]
            while border:
                here = border.pop()
                if here not in piece:
                    piece.add(here)
                    steps = itertools.product((-1, 0, 1), repeat=m)
                    there = [tuple(a + b for a, b in zip(here, step, strict=True)) for step in steps]
                    border += [at for at in there if min(at) >= 0 and max(at) < 4 and mask[at]]
            seen |= piece
            pieces.append(piece)
    assert len(pieces) == labels.max().item() if pieces else not labels.any()
    assert all(len({labels[at].item() for at in piece}) == 1 for piece in pieces)


@laws
@given(seeds, st.floats(0.1, 0.9))
def test_betti_numbers_of_products_and_complements(seed, share):
    mask = torch.rand(6, 6, generator=generator(seed)) < share
    b0, b1 = genni.betti(mask)
    thick = mask[:, :, None].expand(6, 6, 2)  # a set times an interval has the same
    assert genni.betti(thick) == (b0, b1, 0)
    solid = torch.ones(9, 9, 9, dtype=torch.bool)
    hollow = solid.clone()
    hollow[2:4, 2:4, 2:4] = hollow[6, 6, 6] = False
    assert genni.betti(solid) == (1, 0, 0) and genni.betti(hollow) == (1, 0, 2)
    assert genni.betti(solid[0, 0]) == (1,) and not any(genni.betti(~solid))
    drilled = solid.clone()
    drilled[:, 4, 4] = drilled[:, 2, 2] = False
    assert genni.betti(drilled) == (1, 2, 0)


def test_losses_of_any_precision_have_the_persistence_of_the_same_numbers_in_float64():
    values = normal64(6, 5).abs().bfloat16()
    assert genni.persistence(values).equals(genni.persistence(values.double()))


def test_the_longest_lived_come_first():
    table = genni.persistence(torch.tensor([0.1, 0.5, 0.001, 0.02, 0.011, 0.9]).double())
    assert table["birth"].tolist() == pytest.approx([0.001, 0.1, 0.011])
    assert table["death"].tolist() == pytest.approx([math.inf, 0.5, 0.02])
    assert genni.persistence(torch.ones(3, 3), below=0.5).empty


# --- networks of known symmetry ---


@pytest.mark.parametrize(("h", "pieces"), [(2, 2), (3, 1), (4, 1)])
def test_input_weights_that_compute_the_absolute_value_are_a_polytope_s_surface(h, pieces):
    """{w : Σ w₊ = 1, Σ w₋ = −1} is the surface of conv{e_i − e_j}: two points, a hexagon, a cuboctahedron."""
    corner = torch.cat([torch.zeros(h), torch.ones(h)])
    weights = torch.eye(2 * h)[: h - 1] - torch.eye(2 * h)[1:h]  # Σ w = 0
    network, flat = models.fcn((1, h, 1)).eval(), genni.plane(torch.cat([corner[None], corner + weights]))
    grid = genni.grid_loss(genni.Problem(network, with_slopes(1.0, -1.0), X), flat, (-2, 2), 41)
    lives = genni.persistence(grid.relative, below=0.9)
    assert ((lives["birth"] < 0.01) & (lives["death"] > 0.2)).sum() == pieces
    shape = {2: (2,), 3: (1, 1), 4: (1, 0, 1)}  # points, a circle, a sphere
    assert genni.betti(genni.epsilon_set(grid, 0.1)) == shape[h]


def test_all_parameters_of_the_fcn_have_two_pieces_and_of_the_tanh_network_eight():
    everything = genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)]))
    relu = genni.grid_loss(
        genni.Problem(models.fcn().eval(), with_slopes(1.0, -1.0), X), everything, (-2, 2), 16
    )
    lives = genni.persistence(relu.relative, below=0.9)
    # to swap, a neuron passes through w = 0, where a slope is lost: half of E[y²], less what a grid leaps
    assert ((lives["birth"] < 0.02) & (lives["death"] > 0.25)).sum() == 2
    network, theta = (
        models.fcn(activation="tanh").eval(),
        torch.tensor([0.5, 2.0, 1.0, 1.5], dtype=torch.float64),
    )
    points = torch.linspace(-2, 2, 17, dtype=torch.float64)
    assert set(theta.tolist()) <= set(points.tolist())

    tanh = genni.grid_loss(genni.Problem(network, theta, X[:50]), everything, (-2, 2), 17)
    assert (tanh.loss < 1e-20).sum() == 8  # 2! orders and 2² signs
    assert genni.components(tanh.loss < 1e-20).max().item() == 8


@pytest.mark.parametrize("h", [2, 3, 4])
@settings(max_examples=5, deadline=None)
@given(seed=seeds)
def test_the_functional_dimension_is_what_the_symmetries_leave(h, seed):
    def rank(network, inputs: int, theta: Tensor | None = None) -> tuple[int, int]:
        theta = normal64(len(genni.parameter_vector(network)), seed=seed) if theta is None else theta
        return genni.functional_dimension(network, theta, normal64(400, inputs, seed=1))[:2]

    # two neurons that are active on the same inputs have one gradient to share
    into, out_of = normal64(4 * h, seed=seed).split([3 * h, h])
    assume(out_of.abs().min() > 1e-3)  # or the Jacobian hardly sees the neuron
    active = normal64(400, 3, seed=1) @ into.view(h, 3).T > 0
    apart = torch.cdist(*(active.T.double(),) * 2, p=1)[*torch.triu_indices(h, h, 1)]
    assume(((apart > 10) & (apart < 390)).all())
    signs = torch.ones(2 * h, dtype=torch.float64)
    signs[0] = -1
    mixed = normal64(2 * h, seed=seed).abs() * signs
    assert rank(models.fcn((1, h, 1)).eval(), 1, mixed) == (2, 2 * h - 2)  # two slopes
    assert rank(models.fcn((1, h, 1)).eval(), 1, mixed.abs()) == (1, 2 * h - 1)  # one
    assert rank(models.fcn((3, h, 1)).eval(), 3) == (3 * h, h)  # a scaling for each neuron
    assert rank(models.fcn((3, h, 1), activation="tanh").eval(), 3) == (
        4 * h,
        0,
    )  # signs and orders are discrete


# --- the targets of lengyel2020 ---


def test_the_authors_fcn_target_is_nearly_zero_at_their_epsilon():
    theta = torch.tensor([-0.0838, -0.0342, -0.2652, 0.1626], dtype=torch.float64)
    y = genni.outputs(models.fcn().eval(), theta[None], normal64(100_000, 1, seed=0))[0]
    target = genni.describe_target(y, epsilon=0.0025)
    assert target.verdict == "nearly zero" and target.energy == pytest.approx(1.385e-4, rel=0.03)
    assert "ε = 0.0025 (18 times that) admits the zero function" in target.sentence
    assert genni.describe_target(y).verdict == "varies" and target.active == pytest.approx(0.5, abs=0.01)
    assert closed_form.slopes(theta).tolist() == pytest.approx([0, 0.01666], abs=1e-4)


def test_the_authors_lenet_begins_at_a_dead_network_that_no_gradient_moves():
    lenet = models.lenet().eval()
    target, x, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 2, seed=0)
    assert torch.equal(target, genni.parameter_vector(lenet)) and len(target) == 43_661
    problem, x, centre = genni.Problem(lenet, target, x[:500]), x[:500], starts[:1]
    assert problem.energy == pytest.approx(5.44e-6, rel=0.01)  # as in their cached runs
    assert not genni.outputs(lenet, centre, x).any() and genni.outputs(lenet, starts[1:], x).all()
    ended = genni.descend(problem.on(x[:64]), centre, steps=2, lr=0.1, optimizer="sgd")
    assert torch.equal(ended, centre)


@pytest.mark.parametrize(
    ("y", "verdict"),
    [([0.0, 0.0], "zero"), ([3.0, 3.0], "constant"), ([3.0, 3.00001], "constant"), ([0.0, 1e-20], "varies")],
)
def test_verdicts(y, verdict):
    target = genni.describe_target(torch.tensor(y, dtype=torch.float64)[:, None])
    assert target.verdict == verdict and verdict in target.sentence
    assert target.energy == pytest.approx(np.mean(np.square(y))) and target.variance == pytest.approx(
        np.var(y)
    )


def test_a_threshold_of_just_the_loss_of_the_zero_function_admits_it():
    y = torch.tensor([[1.0, 0.0], [-1.0, 2.0]])  # E[y²] = 3, over inputs, of sums over outputs
    for epsilon, verdict in ((2.999, "varies"), (3.0, "nearly zero"), (3.001, "nearly zero")):
        assert genni.describe_target(y, epsilon).verdict == verdict
