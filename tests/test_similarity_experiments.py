"""The experiments of chapter 4 on networks and features of which the answer is known."""

import pandas as pd
import pytest
import torch
from helpers import FEW, generator, normal
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine.features import record
from intertwine.groups import GReLU
from intertwine.similarity import MEASURES, cka, gram, grelu_cka, procrustes, r2
from intertwine.stitching import Junction
from intertwine.stitching.maps import Full
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
from intertwine_book.experiments.similarity_and_function.indices import (
    along_training,
    compared,
    moved_by_groups,
    pressed,
    start_and_end,
    trade_off,
)
from intertwine_book.experiments.similarity_and_function.products import from_products
from intertwine_book.experiments.similarity_and_function.sensitivity import (
    between_layers,
    probe,
    sensitivity,
    specificity,
)
from intertwine_book.stories.dissimilarity import rank_correlation


@pytest.fixture(scope="module")
def networks() -> list[nn.Module]:
    return [models.myrtle(3, in_channels=1, seed=seed).eval() for seed in (0, 1)]


IMAGES = normal(40, 1, 8, 8)
LABELS = torch.arange(40) % 10
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


# --- function ---


def junction(networks: list[nn.Module], layer: str = "relu2") -> Junction:
    mean, classes = torch.zeros(1, 1, 1), tuple(map(str, range(10)))
    data = Dataset("noise", "all", IMAGES, LABELS, classes, mean, mean + 1, checksum="")
    return Junction(*networks, layer, data, test=data, device="cpu", dtype="float32")


def test_a_join_by_the_identity_is_the_network(networks):
    itself = junction([networks[1], networks[1]])
    (row,) = moved_by_groups(itself, 1, generator=generator(), groups=["permutations"]).to_dict("records")
    accuracy = (networks[1](IMAGES).argmax(1) == LABELS).float().mean().item()
    assert abs(row["base_accuracy"] - 100 * accuracy) < 1e-4 and abs(row["cka"] - 1) < 1e-6


def test_rotations_leave_cka_at_1_and_scalings_do_not(networks):
    table = moved_by_groups(
        junction([networks[0]] * 2), 3, generator=generator(), groups=["orthogonal", "G_ReLU"]
    )
    gap = (1 - table["cka"]).abs().groupby(table["group"]).max()
    assert gap["orthogonal"] < 1e-6 < 1e-3 < gap["G_ReLU"]


def test_no_invertible_stitch_moves_cca_or_r2_to_model_2(networks):
    place = junction(networks)
    table = along_training(place, epochs=4, lr=3e-2, seed=0)
    for index in ("r2_to_model2", "cca"):
        assert table[index].max() - table[index].min() < 1e-5
    assert table["r2_as_it_is"].max() == table["r2_as_it_is"][0]  # least squares: the best there is
    assert abs(table["r2_as_it_is"][0] - r2(*place.activations("test"), spatial="samples")) < 1e-5
    assert table["cross_entropy"].iloc[-1] < table["cross_entropy"][0] and table["cka"].nunique() == 5
    (ends,) = start_and_end(table.assign(pair=7)).to_dict("records")
    assert ends["pair"] == 7 and ends["cka_start"] == table["cka"][0]
    assert ends["cka_end"] == table["cka"].iloc[-1] and ends["cca_moved"] < 1e-5 < ends["cka_moved"]


@FEW
@pytest.mark.parametrize("n", [90, 7])
def test_indices_from_products_are_those_of_the_activations(n):
    A, B = normal(n, 3, 2, 4).relu(), normal(n, 4, 2, 4) + 2
    B[:, 1, 0] = 0  # which never varies
    for trial in range(3):
        stitch = Full(normal(4, 3, seed=trial), normal(4)).requires_grad_(False)
        expected, found = compared(A, B)(stitch), from_products(A, B)(stitch)
        expected["r2_flattened"] = r2(B, stitch(A), spatial="features").item()
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_a_penalty_presses_cka_and_its_absence_does_not(networks):
    itself = junction([networks[0]] * 2)
    final = {}
    for penalty in (0.0, 20.0):
        table = pressed(itself, penalty=penalty, epochs=8, lr=3e-2, seed=0)
        assert abs(table["cka"][0] - 1) < 1e-6
        final[penalty] = table["cka"].iloc[-1]
    assert final[20.0] < final[0.0] - 0.01


def test_training_leaves_the_networks_alone(networks):
    state = {name: value.clone() for name, value in networks[1].state_dict().items()}
    pressed(junction(networks), penalty=1.0, epochs=1, lr=0.1, seed=0)
    assert all(torch.equal(value, state[name]) for name, value in networks[1].state_dict().items())


# --- sensitivity and specificity ---


def test_a_probe_finds_what_is_linear():
    X = normal(200, 5)
    labels = (X[:, 0] > 0).long()
    assert probe(X[:150], labels[:150], X[150:], labels[150:]) > 85
    assert probe(X[:150, 1:], labels[:150], X[150:, 1:], labels[150:]) < 75


def test_specificity_counts_layers_that_are_found():
    a, b = normal(50, 4), normal(50, 4, seed=1)
    right = specificity([{"a": a, "b": b}, {"a": a + 1, "b": 2 * b}], {"cka": cka})
    wrong = specificity([{"a": a, "b": b}, {"a": b, "b": a}], {"cka": cka})
    assert len(right) == 4 and right["found"].all() and not wrong["found"].any()
    assert (right["same"] > right["best_other"]).all()


def test_cca_prefers_a_narrow_layer_and_equal_components_do_not():
    """Two views of one signal of 8 directions with noise that grows; a narrow layer has the strongest 2."""
    signal, scales = normal(400, 8), torch.logspace(0, 1.5, 8)
    wide = [signal + scales * normal(400, 8, seed=s) for s in (1, 2)]
    views = [{"wide": X, "narrow": X[:, :2]} for X in wide]
    table = between_layers(views, 2).set_index(["row", "column"])
    assert len(table) == 4 and table["cca"]["wide", "narrow"] > table["cca"]["wide", "wide"]
    for (a, b), row in table.iterrows():
        X, Y = views[0][a], views[1][b]
        assert row["cka"] == pytest.approx(cka(X, Y).item()) and 0 <= row["cca_2"] <= 1
    assert table["cca_2"]["narrow", "narrow"] == pytest.approx(table["cca"]["narrow", "narrow"])


def test_sensitivity_sees_what_is_taken_away():
    scales = torch.tensor([3.0, 2, 1, 0.5, 0.2, 0.1])
    X, Y = (normal(100, 6, seed=s) * scales for s in (0, 1))
    labels = (X[:, 1] > 0).long()
    table = sensitivity([X, X + Y], labels, [X, X + Y], labels, {"cka": cka}, [1.0, 0.5, 1 / 6])
    first = table.query("network == 0")
    assert first["dissimilarity"].is_monotonic_increasing and abs(first["dissimilarity"].iloc[0]) < 1e-9
    assert first["lost"].iloc[0] == 0 and first["lost"].iloc[-1] > 20  # one component: not the second
    assert (table["detected"] == (table["dissimilarity"] > table["between_seeds"])).all()
    assert isinstance(table, pd.DataFrame) and table["between_seeds"].nunique() == 1


@pytest.mark.parametrize("weights", [(0.0, 2.0), (0.0, 0.5)])
def test_what_a_penalty_costs_is_counted_beyond_its_control(weights):
    drift, cost, cka_of = [0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 1.5, 2.5], [1.0, 0.8, 0.6, 0.4]
    rows = [
        {"pair": pair, "weight": weight, "epoch": k, "cka": cka_of[k] if weight else 1.0}
        | {"accuracy": 90 - pair - drift[k] - (cost[k] if weight else 0)}
        for pair in (0, 1)
        for weight in weights
        for k in (3, 1, 0, 2)
    ]
    found = trade_off(pd.DataFrame(rows))
    assert found["lowest"].tolist() == [0.4, 0.4]
    assert found["control"].tolist() == [2.5, 2.5] and found["beyond_control"].tolist() == [2.0, 2.0]
    never = trade_off(pd.DataFrame(rows), level=0.3)
    assert never["beyond_control"].isna().all()


def test_a_rank_correlation_sees_order_alone():
    places = {"pair": [0] * 4, "layer": [3, 6, 10, 14]}
    alike = pd.DataFrame(places | {"grelu": [0.9, 0.5, 0.4, 0.6]})
    for change, sign in ((lambda x: x**3, 1.0), (lambda x: -x, -1.0), (lambda x: 1 / x, -1.0)):
        lost = pd.DataFrame(places | {"g_relu": change(alike["grelu"])})
        shuffled = lost.sample(frac=1, random_state=0)
        assert rank_correlation(alike, shuffled)["rank_correlation"].item() == pytest.approx(sign)
