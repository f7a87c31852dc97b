"""Proposition 3.4 as a law: move the weights by any elements, and the function stays."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine.groups import GReLU, Orthogonal, as_activation, intertwiner_group
from intertwine.weightspace import forward, move, random_layers

sizes = st.lists(st.integers(1, 12), min_size=3, max_size=6)


@given(sizes, st.integers(0, 2**31), st.sampled_from(["ReLU", "tanh", "GELU", "abs", "square"]))
@settings(max_examples=40, deadline=None)
def test_moving_changes_representations_by_phi_and_the_function_not_at_all(sizes, seed, activation):
    generator = torch.Generator().manual_seed(seed)
    sigma = as_activation(activation)
    layers, x = (
        random_layers(sizes, generator),
        torch.randn(7, sizes[0], generator=generator, dtype=torch.float64),
    )
    group_of = {n: intertwiner_group(sigma, n) for n in set(sizes)}.__getitem__
    elements = [group_of(n).sample(generator, scale=0.5) for n in sizes[1:-1]]
    old, new = forward(layers, x, sigma), forward(move(layers, elements, group_of), x, sigma)
    for m, A in enumerate(elements):
        torch.testing.assert_close(new[m], old[m] @ group_of(len(A)).phi(A).T, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(new[-1], old[-1], rtol=1e-8, atol=1e-10 * old[-1].abs().max().item())


@given(sizes, st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_moving_is_an_action(sizes, seed):
    generator = torch.Generator().manual_seed(seed)
    layers = random_layers(sizes, generator)
    g, h = ([GReLU(n).sample(generator) for n in sizes[1:-1]] for _ in range(2))
    twice = move(move(layers, h, GReLU), g, GReLU)
    once = move(layers, [A @ B for A, B in zip(g, h, strict=True)], GReLU)
    for (W, b), (V, c) in zip(twice, once, strict=True):
        torch.testing.assert_close(W, V)
        torch.testing.assert_close(b, c)


def test_a_rotation_is_not_forgiven():
    generator = torch.Generator().manual_seed(0)
    layers, x = (
        random_layers([4, 6, 3], generator),
        torch.randn(20, 4, generator=generator, dtype=torch.float64),
    )
    Q = Orthogonal(6).sample(generator)
    moved = forward(move(layers, [Q], Orthogonal), x)[-1]
    assert (moved - forward(layers, x)[-1]).abs().max() > 0.1


def test_the_number_of_elements_is_checked():
    layers = random_layers([4, 6, 5, 3], torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="each of the 2 hidden layers, was given 1"):
        move(layers, [torch.eye(6, dtype=torch.float64)], GReLU)
