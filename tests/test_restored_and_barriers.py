"""A fit whose outputs vary as much as their targets, and the barrier on a path between two stitches."""

from functools import partial

import numpy as np
import pandas as pd
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine.alignment import Statistics, least_squares, variance_restored
from intertwine.stitching import barriers

AFFINE = partial(least_squares, affine=True)
LAWS = settings(max_examples=10, deadline=None)


@LAWS
@given(st.lists(st.floats(0, 1), min_size=3, max_size=8), st.integers(1, 3))
def test_a_barrier_is_the_deepest_fall_below_the_chord(heights, copies):
    fractions = np.linspace(0, 1, len(heights))
    path = pd.DataFrame({"fraction": fractions, "relative_accuracy": heights})
    table = pd.concat([path.assign(path=k, start="random") for k in range(copies)])
    found = barriers(table, ["start", "path"], "relative_accuracy")
    chord = np.interp(fractions, [0, 1], [heights[0], heights[-1]])
    assert found["path"].tolist() == list(range(copies))
    np.testing.assert_allclose(found["barrier"], max(chord - heights), atol=1e-12)
    assert (found["barrier"] >= -1e-12).all() and (found["worse"] == min(heights[0], heights[-1])).all()


@LAWS
@given(st.integers(0, 10**6), st.sampled_from([0.5, 2.0, 8.0]))
def test_restored_outputs_vary_as_much_as_their_targets(seed, noise):
    generator = torch.Generator().manual_seed(seed)
    A, M, N = (torch.randn(*shape, generator=generator) for shape in ((300, 5), (5, 4), (300, 4)))
    B = A @ M + noise * N + 3
    fitted, plain = (fit(Statistics.of(A, B)) for fit in (variance_restored, AFFINE))
    torch.testing.assert_close(fitted(A).var(0), B.var(0), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fitted(A).mean(0), B.mean(0), rtol=1e-3, atol=1e-3)
    assert fitted.residual > plain.residual and (plain(A).var(0) < B.var(0)).all()
