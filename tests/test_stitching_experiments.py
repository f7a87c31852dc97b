"""Published pairs, where networks are cut, a fit of restored size, and barriers."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine.alignment import Statistics, least_squares
from intertwine.stitching import barriers
from intertwine_book import data, models
from intertwine_book.experiments.matching.directions import variance_restored
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.published import published_pairs

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


def test_cuts_are_in_front_of_relus_and_behind_blocks():
    assert cuts(models.tiny10(), [3]) == ["bn3"]
    assert cuts(models.resnet20(), range(1, 11))[-1] == "block9.relu2"
    with pytest.raises(ValueError, match="from 1 to 4, was given"):
        cuts(models.myrtle(4), [0, 5])


def test_published_pairs_are_disjoint_and_get_the_data_they_expect(tmp_path, monkeypatch):
    (tmp_path / "checkpoints").mkdir()
    for k in range(4):
        torch.save(models.tiny10(seed=k).state_dict(), tmp_path / f"checkpoints/tiny10-in{k}-gn{k}.pt")
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    monkeypatch.setattr(models.published, "published_files", dict)  # these names are of other networks
    raw = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    half, quarter = torch.full((3, 1, 1), 0.5), torch.full((3, 1, 1), 0.25)
    images = data.load("digits", "test")
    cifar = replace(images, images=(raw - half) / quarter, labels=images.labels[:5], mean=half, std=quarter)
    pairs, (ours, _) = published_pairs("tiny10", 2, cifar, cifar)
    firsts = [net.conv1.weight for pair in pairs for net in pair]
    assert all(torch.equal(w, models.tiny10(seed=k).conv1.weight) for k, w in enumerate(firsts))
    mean, std = (torch.tensor(x).view(3, 1, 1) for x in models.published.CSISZARIK2021)
    torch.testing.assert_close(ours.images, (raw - mean) / std, rtol=1e-5, atol=1e-5)
