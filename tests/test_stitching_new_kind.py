"""A kind of stitch of one's own: one class, and everything that takes a kind takes it."""

from dataclasses import replace

import pytest
import torch
from helpers import normal
from torch import nn

from intertwine.alignment import LinearMap, Statistics, fit
from intertwine.stitching import STITCH_RECIPES, FromMatrix, Junction, Stitch, stitch, stitch_all, stitch_at
from intertwine.stitching.maps.stitch import parameter
from intertwine.training import evaluate
from intertwine_book import data, models


class Diagonal(FromMatrix):
    """A scale for every channel, from least squares on."""

    def __init__(self, weight, bias=None, *, least=0.0):
        super().__init__(bias)
        self.scales, self.least = parameter(weight.diagonal()), least

    @classmethod
    def fit(cls, statistics: Statistics, *, least: float = 0.0) -> LinearMap:
        power, AB, _ = statistics.crossed()
        scales = (AB.diagonal() / power.clamp(min=1e-12)).clamp(min=least)
        return LinearMap.of(scales.diag(), statistics, affine=False)

    @property
    def weight(self):
        return self.scales.diag()

    def project(self):
        with torch.no_grad():
            self.scales.clamp_(min=self.least)


TRAIN, TEST = data.load("digits", "train", device="cpu"), data.load("digits", "test", device="cpu")
SHORT = replace(STITCH_RECIPES["digits"], epochs=1)
SCALES = 2.0 ** torch.arange(-1, 7)


def moved() -> tuple[nn.Module, nn.Module]:
    """A network, and the same function where the channels of the second layer are 1/2, 1, 2, … as large."""
    one, two = (models.myrtle(4, norm=False, in_channels=1, seed=0).eval() for _ in "12")
    with torch.no_grad():
        two.conv2.weight.mul_(SCALES[:, None, None, None])
        two.conv2.bias.mul_(SCALES)
        two.conv3.weight.div_(SCALES[:, None, None])
    return one, two


def test_a_stitch_of_the_kind_finds_what_it_can_find():
    one, two = moved()
    made = stitch(one, two, at="relu2", kind=Diagonal, train=TRAIN, device="cpu")
    found = made.stitch.weight.diagonal()
    active = found > 0
    assert active.sum() > 2 and torch.equal(made.stitch.weight, found.diag())
    torch.testing.assert_close(found[active], SCALES[active], rtol=1e-4, atol=0)
    torch.testing.assert_close(made(TEST.images), one(TEST.images), rtol=1e-3, atol=1e-3)
    A = normal(30, 3).relu()
    assert fit(A, 2 * A, Diagonal.fit).weight.diagonal().tolist() == pytest.approx([2, 2, 2])


def test_it_is_made_beside_kinds_that_have_names():
    kinds = {
        "own": {"kind": Diagonal},
        "trained": {"kind": Diagonal, "least": 0.5, "recipe": SHORT},
        "random": {"kind": Diagonal, "start": "random", "recipe": SHORT},
        "from another": {"kind": Diagonal, "start": "least squares"},
        "low rank": {"kind": "low rank", "rank": 2},
    }
    one, two = moved()
    place = Junction(one, two, "relu2", TRAIN, test=TEST, device="cpu")
    made = stitch_all(place, kinds, seed=0)
    assert [*made] == [*kinds] and made["own"].recipe.epochs == 0 < made["trained"].recipe.epochs
    alone = evaluate(one, TEST.images, TEST.labels)
    assert place.judge(made["own"]).accuracy == pytest.approx(alone, abs=0.003)


def test_a_function_of_statistics_returns_a_matrix_or_a_map():
    pair, said = moved(), r"^Expected a function of statistics that returns a matrix, .* returns a float\.$"
    options = {"at": "relu2", "train": TRAIN, "device": "cpu"}
    plain, mapped = (
        stitch(*pair, kind=kind, **options).stitch.weight
        for kind in (lambda _: 2 * torch.eye(8), lambda _: LinearMap(2 * torch.eye(8)))
    )
    assert torch.equal(plain, mapped)
    with pytest.raises(ValueError, match=said):
        stitch(*pair, kind=lambda _: 1.0, **options)


class Upper(FromMatrix):
    """Without a closed form: its options are those of `__init__`."""

    def __init__(self, weight, bias=None, *, strength=0.0):
        super().__init__(bias)
        self.entries, self.strength = parameter(weight), strength

    @property
    def weight(self):
        return self.entries.triu()

    def penalty(self):
        return self.strength * self.weight.abs().sum()


def test_a_kind_without_a_closed_form_takes_the_options_of_its_maps():
    one, two = moved()
    kinds = {str(each): {"kind": Upper, "recipe": SHORT, "strength": each} for each in (0.0, 0.1)}
    place = Junction(one, two, "relu2", TRAIN, test=TEST, device="cpu")
    free, drawn_to_0 = (each.stitch for each in stitch_all(place, kinds).values())
    assert (free.strength, drawn_to_0.strength) == (0.0, 0.1)
    assert drawn_to_0.weight.abs().sum() < free.weight.abs().sum()
    with pytest.raises(ValueError, match="given strenght"):
        stitch_all(place, {"wrong": {"kind": Upper, "recipe": SHORT, "strenght": 1.0}})


def test_a_kind_that_lacks_something_is_refused_by_what_it_lacks():
    class Bare(Stitch):
        weight = property(lambda self: torch.eye(8))

    place = Junction(*moved(), "relu2", TRAIN, device="cpu")
    with pytest.raises(ValueError, match="Expected a class with start, Bare has none"):
        stitch_at(place, Bare, recipe=SHORT)
