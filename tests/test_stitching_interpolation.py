"""Linear mode connectivity: a known symmetry is undone, ends stay, statistics are averages."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.data import Dataset
from intertwine.stitching import barriers, between, line
from intertwine.training import evaluate, train
from intertwine.weightspace import find_symmetries, match
from intertwine_book import data, models
from intertwine_book.zoo import RECIPES

WAYS = ("as trained", "matched by weights", "matched by activations")
TRAIN, TEST = data.load("digits", "train"), data.load("digits", "test")


@cache
def network() -> nn.Module:
    recipe = replace(RECIPES["digits"], epochs=4, dtype="float32")
    net = models.myrtle(4, in_channels=1)
    return train(net, TRAIN, recipe, seed=0, device="cpu").network.eval()


@cache
def lines() -> pd.DataFrame:
    """Between a network and one of its own orbit."""
    space = find_symmetries(network(), TEST.images[:1])
    twin = space.act(network(), space.sample(torch.Generator().manual_seed(0), scale=0.5))
    inputs = TRAIN.images[:500]
    ends = [twin, *(match(space, network(), twin, inputs=given).model for given in (None, inputs))]
    walks = [line(network(), end, TRAIN, TEST, [0.0, 0.5, 1.0]) for end in ends]
    table = pd.concat([walk.assign(way=way) for way, walk in zip(WAYS, walks, strict=True)])
    return table.assign(accuracy=100 * table["accuracy"])


def accuracies(**where) -> list[float]:
    table = lines()
    for column, value in where.items():
        table = table[table[column] == value]
    return table["accuracy"].tolist()


def test_a_planted_symmetry_is_undone_and_the_barrier_is_gone():
    with pytest.raises(ValueError, match=r"found 2 and 2 at .*'way'.*such as batch_norm"):
        barriers(lines(), ["way"])
    found = barriers(lines(), ["way", "batch_norm"]).pivot(
        index="way", columns="batch_norm", values="barrier"
    )
    assert (found.loc["as trained"] > 20).all()
    assert (found.loc[list(WAYS[1:])] < 0.5).all().all()


@pytest.mark.parametrize("way", WAYS)
def test_the_ends_keep_their_accuracy(way):
    alone = 100 * evaluate(network(), TEST.images, TEST.labels)
    for end in (0.0, 1.0):
        (kept,) = accuracies(way=way, batch_norm="interpolated", fraction=end)
        assert kept == pytest.approx(alone, abs=0.5)


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_between_is_linear_in_all_that_is_a_number_and_changes_neither_end(fraction):
    one, two = (models.myrtle(2, in_channels=1, seed=seed) for seed in (0, 1))
    two.bn1.running_mean += 1
    before = [x.clone() for x in one.state_dict().values()]
    middle = between(one, two, fraction).state_dict()
    for (name, x), y in zip(one.state_dict().items(), two.state_dict().values(), strict=True):
        if x.is_floating_point():
            torch.testing.assert_close(middle[name], (1 - fraction) * x + fraction * y)
    assert all(torch.equal(x, y) for x, y in zip(before, one.state_dict().values(), strict=True))


def test_re_estimated_statistics_do_not_depend_on_the_old_ones():
    wrong = between(network(), network(), 0.0)
    wrong.bn2.running_mean += 5
    before, after = line(wrong, wrong, TRAIN, TEST, [0.5])["accuracy"]
    assert before < after == pytest.approx(evaluate(network(), TEST.images, TEST.labels), abs=0.03)


def test_a_single_image_behind_a_batch_is_left_out():
    def build() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))

    data = Dataset.of(torch.randn(201, 4), torch.arange(201) % 2)
    found = line(one := build(), two := build(), data, data, [0.5])
    assert found.equals(line(one, two, data[:200], data, [0.5]))


def test_networks_of_unlike_whole_numbers_have_nothing_between_them():
    one, two = (nn.Linear(4, 4) for _ in "ab")
    for network, order in ((one, [0, 1]), (two, [1, 0])):
        network.register_buffer("order", torch.tensor(order))
    with pytest.raises(ValueError, match="Expected networks of equal 'order'"):
        between(one, two, 0.5)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight


def test_tied_and_complex_weights_lie_at_the_same_share_of_the_way():
    kinds = Tied, lambda: nn.Linear(4, 7, dtype=torch.complex64)
    for build in kinds:
        a, b = build(), build()
        for x, y, z in zip(*(n.parameters() for n in (a, b, between(a, b, 0.25))), strict=True):
            torch.testing.assert_close(z, 0.75 * x + 0.25 * y)


def test_a_line_whose_name_is_missing_is_a_line():
    path = pd.DataFrame({"fraction": [0.0, 0.5, 1.0], "accuracy": [0.9, 0.4, 0.8]})
    table = pd.concat([path.assign(start=start, pair=0) for start in ("a", None)])
    found = barriers(table, ["start", "pair"])
    assert found["barrier"].tolist() == pytest.approx([0.45, 0.45]) and found["start"].isna().tolist() == [
        0,
        1,
    ]


@settings(max_examples=10, deadline=None)
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
