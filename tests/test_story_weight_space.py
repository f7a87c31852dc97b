"""What chapter 1b says of its recorded runs, and of the papers' statements, holds."""

import math

import pytest
import torch

from intertwine.groups import affine_intertwiners
from intertwine_book.experiments.weight_space import flatness, orbits, statements
from intertwine_book.stories import weight_space as story

PROTECTED = ["linear, whole matrix", "ReLU, diagonal"]


def test_along_the_orbit_loss_and_relative_sharpness_stay_and_the_rest_varies():
    found = story.record("orbit")
    assert found["loss_error"].max() < 1e-12 and found["hessian_error"].max() < 1e-9
    assert found["relative_eigenvalue"].max() / found["relative_eigenvalue"].min() < 1 + 1e-9
    facts = story.facts()
    assert facts["gradient-factor"] > 5 and facts["eigenvalue-factor"] > 20 and facts["norm-factor"] > 5
    assert facts["gradient-end"] < 0.05  # training had ended


def test_training_ended_elsewhere_than_at_the_flattest_point():
    assert story.facts()["flattest"] == 0.5  # the text writes the minus sign


def test_the_loss_is_flat_around_one_point_of_the_orbit_and_sharp_around_another():
    rise = story.record("cuts").groupby("at")["loss"].agg(lambda losses: losses.max() - losses.min())
    assert rise["sharp"] > 5 * rise["flat"]


def test_halving_the_learning_rate_about_halves_the_drift_of_conserved_quantities():
    kept = story.drifted().loc[PROTECTED]
    assert (kept[0.4] / kept[0.2]).between(1.8, 2.2).all()
    assert (kept[0.2] / kept[0.1]).between(1.8, 2.2).all()
    assert kept.mean().max() < 6


def test_what_no_symmetry_protects_changes_as_much_at_every_learning_rate():
    free = story.drifted().loc["ReLU, off the diagonal"]
    assert free.min(axis=None) > 50 and free.mean().max() < 1.1 * free.mean().min()


def test_gradient_descent_with_weight_decay_follows_the_theorem():
    assert story.facts()["flow-error"] < 5


def test_the_squared_norm_ends_nearest_to_the_smallest_with_the_strongest_decay():
    facts = story.facts()
    assert 1 <= facts["excess-most"] < facts["excess-none"] < facts["excess-start"]


def test_at_the_same_learning_rate_a_teleported_network_is_ahead_at_once():
    facts = story.facts()
    assert len(story.losses().loc[1.0, 10]) == 20 and facts["tele-ahead"] > 15
    assert facts["tele-early-four"] < facts["tele-early-plain"] and facts["tele-gradient"] > 5


def test_with_the_best_of_four_learning_rates_for_each_the_lead_is_small():
    facts = story.facts()
    assert facts["tele-best-plain"] == facts["tele-best-four"]  # "for both"
    assert facts["tele-still"] > 15 and 0.8 < facts["tele-end-four"] / facts["tele-end-plain"] < 1
    best = {k: story.losses().loc[story.best()[k], k].groupby("step").mean() for k in ("plain", "r = 2")}
    assert (best["r = 2"] > best["plain"]).mean() > 0.5  # "behind plain at most steps before"
    assert best["r = 2"].iloc[-1] < best["plain"].iloc[-1]


def test_at_the_largest_learning_rate_a_move_with_r_4_does_worse():
    assert story.losses().index.unique("rate").max() == 6
    assert story.facts()["tele-coarse-four"] > 1.5 * story.facts()["tele-coarse"]


def test_rank_one_is_the_larger_set_below_a_radius_and_the_group_above():
    nets = statements.epsilon_nets()
    assert (nets["rank_1_larger"] == (nets["epsilon"] < nets["equal_at"])).all()
    limit = nets.groupby("n")["n_times_equal_at"].first()
    assert limit.is_monotonic_increasing and 0.97 < limit.iloc[-1] / (4 * math.e) < 1
    assert story.facts()["equal-512"] == pytest.approx(nets.query("n == 512")["equal_at"].iloc[0])


def test_moved_networks_compute_the_same_and_their_hidden_activations_change():
    generator = torch.Generator().manual_seed(1)
    moved = statements.proposition_3_4(3, generator)
    assert moved["holds"].all() and moved["representation_changed"].min() > 0.1
    index = statements.theorem_4_2(3, generator).groupby("rule")["error"]
    assert index.max()["exact"] < 1e-12 and index.min()["printed"] > 0.1


def test_an_output_added_to_a_pre_activation_asks_for_phi_of_its_element():
    found = statements.remark_3_6(3, torch.Generator().manual_seed(1))
    tie = found.query("joins == 'output to pre-activation'")
    assert tie.query("rule == 'exact'")["holds"].all()
    assert not tie.query("rule == 'printed' and activation == 'abs'")["holds"].any()
    assert tie.query("rule == 'printed' and activation != 'abs'")["holds"].all()  # where φ is the identity
    assert found.query("joins != 'output to pre-activation'")["holds"].all()
    assert found["inside_error"].max() < 1e-9  # the layer inside the block is free


def test_exp_may_be_shifted_by_any_amount_and_gelu_and_relu_by_none():
    found = statements.shifts()
    assert found.loc[found["every_t"], "activation"].tolist() == ["exp"]
    assert not affine_intertwiners("GELU") + affine_intertwiners("ReLU")
    shown = story.shifts(found).data
    assert "eᵗ" in shown and "π" in shown and "nan" not in shown


def test_flatness_is_measured_on_an_orbit():
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(9, 2, generator=generator, dtype=torch.float64), torch.arange(9) % 3
    loss, weights = orbits.cross_entropy(x, y), orbits.start((2, 2, 3), generator)
    point, sizes = torch.cat([w.flatten() for w in weights]), [w.numel() for w in weights]

    def at(flat):
        return loss([each.view_as(w) for each, w in zip(flat.split(sizes), weights, strict=True)])

    def factors(t):
        one = torch.ones(9, dtype=torch.float64)
        return torch.cat([t * one[:6], -t * one[:6], 0 * one[:3]]).exp()

    found = flatness.orbit(at, point, factors)
    assert found["loss_error"].max() < 1e-12 and found["hessian_error"].max() < 1e-9
    middle = flatness.cuts(at, point, factors, {"here": 1.0}).query("abs(distance) < 1e-6")["loss"]
    surface = flatness.surface(loss, weights).set_index(["p", "q"])["loss"]
    for value in (middle.item(), surface[1.0, 1.0], surface[2.0, 0.5]):
        assert value == pytest.approx(loss(weights).item())
