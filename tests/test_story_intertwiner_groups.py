"""What chapter 1 says of the papers' statements holds, and its drawn examples are what they seem."""

import math

import numpy as np
import pytest
import torch

from intertwine.groups import scalar_group
from intertwine_book.experiments import intertwiner_groups as experiments
from intertwine_book.stories import intertwiner_groups as story


@pytest.fixture(scope="module")
def checks():
    return experiments.checks(3, torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def table_1():
    return experiments.table_1(3, torch.Generator().manual_seed(1)).set_index("activation")


def test_norms_fail_after_a_scaling_products_after_one_of_the_next_layer_and_the_loss_after_none():
    torch.manual_seed(0)
    x, labels = torch.randn(50, 9).double(), torch.arange(50) % 4
    W = [torch.randn(*shape).double() for shape in ((32, 9), (16, 32), (4, 16))]
    a, b = torch.randn(32).exp().double(), torch.randn(16).exp().double()

    def moved(a, b):
        return [a[:, None] * W[0], b[:, None] * W[1] / a, W[2] / b]

    def loss_without(W1, W2, W3, neuron):
        hidden = torch.relu(x @ W1.T)
        hidden[:, neuron] = 0
        return torch.nn.functional.cross_entropy(torch.relu(hidden @ W2.T) @ W3.T, labels)

    rules = {
        "norm": lambda V: V[0].norm(dim=1),
        "product": lambda V: V[0].norm(dim=1) * V[1].norm(dim=0),
        "loss": lambda V: torch.stack([loss_without(*V, neuron) for neuron in range(32)]),
    }

    def removes_the_same(rule, a, b):
        return {*rules[rule](moved(a, b)).argsort()[:16].tolist()} == {
            *rules[rule](W).argsort()[:16].tolist()
        }

    assert not removes_the_same("norm", a, 0 * b + 1)
    assert removes_the_same("product", a, 0 * b + 1) and not removes_the_same("product", a, b)
    assert removes_the_same("loss", a, b)


def test_a_swap_and_a_scaling_keep_the_drawn_function():
    x = np.linspace(-2, 2, 5)

    def outputs(W1, b1, W2, **_):
        return np.maximum(np.outer(x, W1) + b1, 0) @ np.transpose(W2)

    for network in (story.SWAPPED, story.SCALED):
        assert np.array_equal(outputs(**network), outputs(**story.NEURONS))


def test_a_scalar_has_to_be_positive_and_the_bias_goes_along(checks):
    assert checks["scale"]["holds"].eq(checks["scale"]["alpha"] > 0).all()
    assert checks["scale_without_bias"].query("alpha > 0")["error"].min() > 0.001  # the function changes
    assert story.facts_of(checks)["negative"] >= 100


def test_even_the_best_matrix_leaves_a_part_of_a_turn_by_45_degrees_and_phi_leaves_more():
    side = np.linspace(-1, 1, 17)
    x, turn = np.stack(np.meshgrid(side, side)).reshape(2, -1), np.sqrt(0.5) * np.array([[1, -1], [1, 1]])
    wanted, after = np.maximum(turn @ x, 0), np.maximum(x, 0)
    best = np.linalg.lstsq(after.T, wanted.T, rcond=None)[0].T
    left = [
        np.square(B @ after - wanted).sum() / np.square(wanted).sum() for B in (best, np.maximum(turn, 0))
    ]
    assert 0.1 < left[0] < left[1] - 0.01


def test_if_two_neurons_are_equal_six_orders_give_three_settings_of_the_weights():
    found = experiments.any_point(2, torch.Generator().manual_seed(1))
    assert found["error"].max() < 1e-10
    settings = found.groupby("point")["networks"].max()
    assert settings["generic"] == 6 and settings["two equal neurons"] == 3


def test_the_lemma_holds_in_all_draws_also_where_its_hypothesis_fails(checks):
    assert checks["lemma_3_1"]["holds"].all()
    singular = checks["lemma_3_1_singular"]
    assert singular["holds"].all() and (singular["rank"] < singular["n"]).all()


def test_outside_the_group_the_formula_for_phi_is_not_multiplicative(checks):
    found = checks["phi_on_gl"]
    assert found["holds"].eq(found["in_group"]).all()
    outside = found[~found["in_group"]].groupby("activation")["homomorphism_error"].min()
    assert set(outside.index) == {"RBF", "square", "ReLU"} and outside.min() > 0.01


def test_the_group_of_relu_is_the_stabiliser_of_the_rays_of_the_axes(checks):
    assert checks["theorem_3_3"]["holds"].all()


def test_a_layer_of_n_neurons_has_n_factorial_orders(checks):
    assert checks["swap"]["holds"].all() and checks["swap_count"]["holds"].all()
    assert round(math.log10(math.factorial(64))) == 89
    assert round(math.log10(2**64 * math.factorial(64))) == 108


def test_two_rows_of_table_1_need_a_condition_and_every_printed_phi_agrees(table_1):
    assert table_1.index[~table_1["holds"]].tolist() == ["LeakyReLU(-1.0)", "x^1"]
    assert table_1.loc["LeakyReLU(-1.0)", "computed"] == "nonzero"
    assert table_1.loc["x^1", "computed"] == "linear"
    assert table_1["phi_error"].max() < 1e-12
    rows = table_1["holds"].groupby(lambda name: "x^d" if "x^" in name else name.split("(")[0]).all()
    assert len(rows) == 6 and rows.sum() == 4  # of the paper's six


def test_table_1_of_the_page_says_where_the_paper_agrees(table_1):
    shown = story.table_1(table_1.reset_index()).data
    assert shown.count(">yes<") == 7 and shown.count(">no<") == 2


def test_the_scalars_of_all_activations_are_those_derived_by_hand():
    found = experiments.beside_proved(experiments.activation_table(n=3)).set_index("activation")
    assert found["holds"].all()  # the library's search; affine ones are set aside first
    affine = found.index[found["computed"].isin(["linear", "affine", "constant"])]
    assert set(affine) == {"identity", "LeakyReLU(1)", "2x + 1", "3"}


def test_the_page_writes_both_tables_in_one_notation():
    shown = story.activations(experiments.activation_table(experiments.GALLERY, n=3)).data
    assert shown.count("<tr>") == 13 and "permutations · nonzero" in shown
    assert "infinite" in shown and "|A|" in shown and "abs(" not in shown and "nan" not in shown


def test_twelve_activations_have_the_five_kinds_of_scalars():
    groups = {name: scalar_group(sigma) for name, sigma in experiments.GALLERY.items()}
    assert len(groups) == 12
    assert {str(H) for H in groups.values()} == {"trivial", "signs", "positive", "nonzero", "discrete"}
    ripples = groups["x cos log|x|"]
    assert abs(ripples.generator - math.exp(math.pi)) < 1e-6 and ripples.signed


def test_a_move_changes_weights_and_hidden_activations_and_no_output():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    with torch.no_grad():
        for (name, mine), theirs in zip(net.named_parameters(), other.parameters(), strict=True):
            theirs.copy_(mine / 2 if name == "2.weight" else mine if name == "2.bias" else 2 * mine)
        found = experiments.changes(net, other, torch.randn(40, 3)).groupby("quantity")
    changed = {name: not np.array_equal(rows["before"], rows["after"]) for name, rows in found}
    assert changed == {"weights": True, "hidden activations": True, "outputs": False}
