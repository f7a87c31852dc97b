"""UMAP and the number of pieces in a cloud of points."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from intertwine_book.experiments.genni_lenet import pieces, umap_embedding


def clouds(count: int, seed: int) -> Tensor:
    """Clouds that lie further apart than their points do."""
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([torch.rand(40, 3, generator=generator) + 10 * k for k in range(count)])


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**31))
def test_clouds_are_counted_in_any_order(count, seed):
    points = clouds(count, seed)
    shuffled = points[torch.randperm(len(points), generator=torch.Generator().manual_seed(seed))]
    assert pieces(points) == pieces(shuffled) == count


@pytest.mark.slow
def test_umap_depends_on_its_seed_alone_and_keeps_clouds_apart():
    pytest.importorskip("umap")
    points = clouds(2, 0)
    first, again, other = (umap_embedding(points, seed=seed, epochs=100) for seed in (0, 0, 1))
    assert first.shape == (80, 2) and torch.equal(first, again) and not torch.equal(first, other)
    assert pieces(first) == pieces(other) == 2


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="Expected 22 points or more, was given 5: raise ε"):
        umap_embedding(torch.zeros(5, 3), seed=0)
