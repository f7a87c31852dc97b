"""The experiments of chapter 4 on networks and features of which the answer is known."""

import pandas as pd
import pytest
import torch
from helpers import generator, normal
from torch import Tensor, nn

from intertwine.features import record
from intertwine.groups import GReLU
from intertwine.similarity import MEASURES, cka, gram, grelu_cka, procrustes
from intertwine_book import models
from intertwine_book.experiments.dissimilarity import by_layer
from intertwine_book.experiments.dissimilarity.statements import (
    MEASURE_TITLES,
    alignment_property,
    invariance,
    kernel_symmetries,
    moved_by,
    order_of_groups,
    pairs_of_the_max_kernel,
    range_of_cka,
    smallest_eigenvalues,
)
from intertwine_book.stories.dissimilarity import rank_correlation


@pytest.fixture(scope="module")
def networks() -> list[nn.Module]:
    return [models.myrtle(3, in_channels=1, seed=seed).eval() for seed in (0, 1)]


IMAGES = normal(40, 1, 8, 8)
NUMBERS = {"relu1": 3, "relu2": 6}


# --- statements ---


def test_the_group_part_of_lemma_5_1_holds_and_its_translations_need_the_correction():
    worst = invariance(4, 20, 5, generator=generator()).groupby(["version", "action"])["change"].max()
    for action in ("permutations", "positive diagonal", "G_ReLU"):
        assert worst["as printed", action] < 1e-12 and worst["corrected", action] < 1e-12
    assert worst["as printed", "translations"] > 1e-3 and worst["corrected", "translations"] < 1e-12


def test_measures_move_unless_their_invariances_are_declared():
    moves = moved_by(MEASURE_TITLES, generator=generator())
    for name, row in moves.iterrows():
        assert ((row < 1e-9) == [kind in MEASURES[name].invariances for kind in row.index]).all(), name


def test_property_ii_holds_without_a_translation_or_with_the_correction():
    worst = alignment_property(4, 20, 5, generator=generator()).groupby(["version", "v"])["short_of_1"].max()
    assert worst["as printed", "0"] < 1e-12 and worst["corrected", "random"] < 1e-12
    assert worst["as printed", "random"] > 0.01


def test_the_range_is_refuted_by_hand_and_by_chance():
    table = range_of_cka(8, 2, 50, generator=generator())
    assert abs(table["value"][0] + 1) < 1e-12 and table["below_0"][0] > 0.99
    drawn = table.query("features == 'Gaussian'")
    assert 10 < (drawn["value"] < 0).sum() < 45 and drawn["value"].min() >= -1 - 1e-12
    assert ((drawn["below_0"] > 0) == (drawn["value"] < 0)).all()


def test_eigenvalues_tell_positive_grams_from_others():
    X = normal(20, 5).double()
    table = smallest_eigenvalues([("linear", gram(X, "linear")), ("max", gram(X, "max"))])
    assert table["negative"][0] == 0 == table["energy"][0] and table["relative"][0] < 1e-12
    assert table["negative"][1] > 0.1 and table["relative"][1] > 0.01 and table["energy"][1] > 0
    assert pairs_of_the_max_kernel(5, 50, generator=generator())["below_0"].max() < 1e-12


def test_only_signed_permutations_leave_the_max_kernel():
    table = kernel_symmetries(5, 10, generator=generator())
    assert table["as_claimed"].all() and set(table["group"]) == {
        "signed permutations",
        "G_ReLU",
        "orthogonal",
    }
    assert (table["change"][~table["claimed"]] > 0.01).all()


def test_neither_measure_is_always_lower():
    table = order_of_groups(4, 20, 5, generator=generator())
    assert table["grelu"][0] == 1 and abs(table["orthogonal"][0] - 0.664) < 5e-4
    assert (table["excess"] >= 0).all() and table["excess"][0] == 1 - table["orthogonal"][0]


# --- layers ---


def recorded(network: nn.Module, name: str, images: Tensor = IMAGES) -> Tensor:
    with torch.no_grad(), record(network, [name]) as activations:
        network(images)
    return activations[name]


def test_procrustes_by_layer_is_that_of_the_features_and_its_null_of_shuffled_ones(networks):
    table = by_layer.procrustes_by_layer(*networks, NUMBERS, IMAGES, generator=generator())
    order = torch.randperm(len(IMAGES), generator=generator())
    for k, name in enumerate(NUMBERS):
        X, Y = (recorded(network, name) for network in networks)
        for group in ("grelu", "orthogonal"):
            expected = procrustes(X, Y, group, centred=False, spatial="samples")
            assert abs(table[group][k] - expected) < 1e-6
            null = procrustes(X, Y[order], group, centred=False, spatial="samples")
            assert abs(table[f"{group}_null"][k] - null) < 1e-6
    assert list(table["layer"]) == [3, 6] and list(table["channels"]) == [3, 6]
    alone = by_layer.procrustes_by_layer(*networks, NUMBERS, IMAGES, nulls=0, generator=generator())
    assert alone.equals(table[["layer", "channels", "grelu", "orthogonal"]])


def test_a_null_of_many_batches_has_the_products_of_each_network_and_no_longer_those_between_them(networks):
    images = normal(1200, 1, 8, 8)
    whole, null = by_layer.moments(*networks, ["relu1"], images, nulls=1, generator=generator())
    as_they_are, shuffled = (each["relu1"].products(centred=True) for each in (whole, null))
    assert torch.allclose(as_they_are.AA, shuffled.AA) and torch.allclose(as_they_are.BB, shuffled.BB)
    assert shuffled.AB.norm() < 0.5 * as_they_are.AB.norm()


def test_cka_by_layer_is_that_of_the_features(networks):
    table = by_layer.cka_by_layer(*networks, NUMBERS, IMAGES, nulls=30, generator=generator())
    for k, name in enumerate(NUMBERS):
        X, Y = (recorded(network, name) for network in networks)
        assert abs(table["grelu"][k] - grelu_cka(X, Y, spatial="sum")) < 1e-9
        assert abs(table["orthogonal"][k] - cka(X, Y, spatial="features")) < 1e-9
        for kind in ("grelu", "orthogonal", "normalised"):
            assert abs(table[f"{kind}_null"][k]) < min(0.25, table[kind][k])


def test_a_network_moved_by_its_group_is_the_same_for_both_measures(networks):
    network = networks[0]
    images = IMAGES.double()
    moved = models.myrtle(3, in_channels=1).double().eval()
    moved.load_state_dict(network.state_dict())
    A = GReLU(3).sample(generator())
    rows, columns = A.nonzero(as_tuple=True)
    with torch.no_grad():  # batch norm's outputs are permuted and scaled
        moved.conv1.weight.copy_(moved.conv1.weight[columns])
        for tensor in (moved.bn1.running_mean, moved.bn1.running_var):
            tensor.copy_(tensor[columns])
        for tensor in (moved.bn1.weight, moved.bn1.bias):
            tensor.copy_(tensor[columns] * A[rows, columns])
    for table in (
        by_layer.procrustes_by_layer(network.double(), moved, {"relu1": 3}, images, generator=generator()),
        by_layer.cka_by_layer(network, moved, {"relu1": 3}, images, generator=generator()),
    ):
        assert table["grelu"][0] > 1 - 1e-6 and table["orthogonal"][0] < 1 - 1e-4
    network.float()


def test_all_layers_in_long_form(networks):
    table = by_layer.between_all_layers(*networks, NUMBERS, IMAGES, {"CKA": "cka"}, device="cpu")
    X, Y = recorded(networks[0], "relu1"), recorded(networks[1], "relu2")
    (value,) = table.query("row == 3 and column == 6")["value"]
    assert len(table) == 4 and abs(value - cka(X, Y, spatial="features")) < 1e-6


def test_a_rank_correlation_sees_order_alone():
    places = {"pair": [0] * 4, "layer": [3, 6, 10, 14]}
    alike = pd.DataFrame(places | {"grelu": [0.9, 0.5, 0.4, 0.6]})
    for change, sign in ((lambda x: x**3, 1.0), (lambda x: -x, -1.0), (lambda x: 1 / x, -1.0)):
        lost = pd.DataFrame(places | {"g_relu": change(alike["grelu"])})
        shuffled = lost.sample(frac=1, random_state=0)
        assert rank_correlation(alike, shuffled)["rank_correlation"].item() == pytest.approx(sign)
