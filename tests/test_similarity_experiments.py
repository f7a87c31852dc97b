"""The experiments of chapter 4b on networks and features of which the answer is known."""

import pandas as pd
import pytest
import torch
from helpers import FEW, generator, normal
from torch import nn

from intertwine.data import Dataset
from intertwine.similarity import cka, r2
from intertwine.stitching import Junction
from intertwine.stitching.maps import Full
from intertwine_book import models
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


@pytest.fixture(scope="module")
def networks() -> list[nn.Module]:
    return [models.myrtle(3, in_channels=1, seed=seed).eval() for seed in (0, 1)]


IMAGES = normal(40, 1, 8, 8)
LABELS = torch.arange(40) % 10
NUMBERS = {"relu1": 3, "relu2": 6}


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
