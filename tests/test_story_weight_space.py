"""What chapter 1b says of its recorded runs, and of the papers' statements, holds."""

import math
from functools import partial

import pandas as pd
import pytest
import torch

from intertwine.groups import affine_intertwiners
from intertwine_book.experiments.weight_space import flatness, orbits, statements
from intertwine_book.stories import weight_space as story

PROTECTED = ["linear, whole matrix", "ReLU, diagonal"]


def test_along_the_orbit_loss_and_relative_sharpness_stay_and_the_rest_varies():
    found = story.record("orbit")
    assert found["t"].min() == -2 and found["t"].max() == 2  # the interval that the caption names
    assert found["loss_error"].max() < 1e-12 and found["hessian_error"].max() < 1e-9
    assert found["relative_eigenvalue"].max() / found["relative_eigenvalue"].min() < 1 + 1e-9
    facts = story.facts()
    assert facts["gradient-factor"] > 5 and facts["eigenvalue-factor"] > 20 and facts["norm-factor"] > 5
    assert facts["gradient-end"] < 0.05  # training had ended


def test_training_ended_elsewhere_than_at_the_flattest_point_of_the_curve():
    facts, found = story.facts(), story.record("orbit")
    assert facts["flattest"] == 0.5  # the text writes the minus sign
    assert facts["points"] == len(found) and facts["eigenvalue-flattest"] == found["largest_eigenvalue"].min()
    assert facts["eigenvalue-flattest"] < 0.6 * facts["eigenvalue-end"]


def test_the_loss_is_flat_around_one_point_of_the_orbit_and_sharp_around_another():
    rise = story.record("cuts").groupby("at")["loss"].agg(lambda losses: losses.max() - losses.min())
    assert rise["sharp"] > 5 * rise["flat"]


def test_halving_the_learning_rate_about_halves_the_drift_of_conserved_quantities():
    kept = story.drifted().loc[PROTECTED]
    assert (kept[0.4] / kept[0.2]).between(1.8, 2.2).all()
    assert (kept[0.2] / kept[0.1]).between(1.8, 2.2).all()
    assert kept.mean().max() < 6


def test_what_no_symmetry_protects_changes_as_much_at_every_learning_rate():
    free, facts = story.drifted().loc["ReLU, off the diagonal"], story.facts()
    assert free.min(axis=None) > 50 and free.mean().max() < 1.1 * free.mean().min()
    assert facts["drift-free-low"] == free.mean().min() and facts["drift-free-high"] == free.mean().max()


def test_gradient_descent_nearly_keeps_what_the_theorem_protects_and_adam_does_not():
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(50, 8, generator=generator, dtype=torch.float64), torch.arange(50) % 4
    makers = {"descent": partial(torch.optim.SGD, lr=0.1), "Adam": partial(torch.optim.Adam, lr=0.01)}
    change = {}
    for name, maker in makers.items():
        weights = orbits.start((8, 8, 4), torch.Generator().manual_seed(0))
        first = orbits.conserved(weights).diagonal()
        weights = [w.requires_grad_() for w in weights]
        optimiser = maker(weights)
        for _ in range(200):
            optimiser.zero_grad()
            orbits.cross_entropy(x, y)(weights).backward()
            optimiser.step()
        last = orbits.conserved(weights).diagonal().detach()
        change[name] = ((last - first).norm() / first.norm()).item()
    assert change["descent"] < 0.05 and change["Adam"] > 1


def test_the_figures_on_descent_show_the_networks_that_their_captions_say():
    for table in ("drift", "teleport"):
        assert story.record(table)["trial"].nunique() == story.facts()["networks"]
    assert not story.record("decay").duplicated(["weight_decay", "time"]).any()  # one network


def test_gradient_descent_with_weight_decay_follows_the_theorem():
    assert 0.05 < story.facts()["flow-error"] < 0.25  # in percent; printed as 0.2


def test_a_page_says_of_its_own_run_how_far_the_squared_norm_is_from_the_smallest():
    decay = pd.DataFrame({"weight_decay": [0.0, 0.0, 0.1, 0.1], "excess": [2.0, 1.5, 2.0, 1.2]})
    decay["time"] = [0.0, 2.0, 0.0, 2.0]
    teleport = pd.DataFrame({"step": 10, "rate": 0.3, "reach": [1.0, 4.0], "loss": [2.0, 1.0]})
    told = story.facts_of({"decay": decay, "teleport": teleport})
    assert (told["excess-start"], told["excess-none"], told["excess-most"]) == (2.0, 1.5, 1.2)
    assert (told["excess-fold"], told["excess-time"]) == (5.0, 2.0)
    assert (told["live-plain"], told["live-moved"]) == (2.0, 1.0)


def test_at_small_learning_rates_a_move_to_a_larger_gradient_speeds_training_up_and_the_advantage_shrinks():
    wide, counts = story.losses(), story.counts()
    assert story.facts()["tele-gradient"] > 5
    for rate in (0.3, 1.0):  # the two smaller ones of four
        assert counts.loc[rate].min() > 15
        mean = wide.loc[rate].groupby("step").mean().loc[5:]
        lead = mean["plain"] - mean["r = 4"]
        assert (lead > 0).all() and (mean["plain"] > mean["r = 2"]).all()  # ahead from the first mark on
        assert lead.loc[100] < 0.25 * lead.max()


def test_at_the_largest_learning_rate_a_move_with_r_4_ends_worse():
    rates = story.losses().index.unique("rate")
    assert rates.tolist() == [0.3, 1, 3, 6] and story.counts().loc[6, 100] < 5
    end = story.losses().loc[6, 100].mean()
    assert end["r = 4"] > 1.5 * end["plain"]


def test_with_the_best_of_four_rates_plain_descent_is_ahead_after_5_steps_and_r_4_from_10_on_by_little():
    best = {k: story.losses().loc[rate, k].groupby("step").mean() for k, rate in story.best().items()}
    assert best["plain"][5] < min(best["r = 2"][5], best["r = 4"][5])
    others = pd.concat([best["plain"], best["r = 2"]], axis=1).min(axis=1)
    assert (best["r = 4"].loc[10:] < others.loc[10:]).all()
    ends = [best[k][100] / best["plain"][100] for k in ("r = 2", "r = 4")]
    assert min(ends) > 0.8 and max(ends) < 1
    assert story.counts().loc[3, 5] == 1  # at the best rate of both the moved one is behind at five steps


def test_with_the_best_rate_of_each_network_the_lead_of_r_4_is_not_established_and_that_of_r_2_is():
    facts, leads = story.facts(), story.leads()
    assert -facts["tele-own-four-below"] < 0 < facts["tele-own-four"] < facts["tele-own-four-high"] < 0.05
    assert 0 < facts["tele-own-two-low"] < facts["tele-own-two"] < facts["tele-own-two-high"] < 0.05
    least = story.losses().xs(100, level="step").loc[:, "plain"].unstack("rate").min(axis=1)
    assert leads["r = 4"].mean() == pytest.approx(least.mean() - (least - leads["r = 4"]).mean())
    assert len(leads) == facts["networks"]


def test_the_table_of_teleportation_counts_networks_at_each_rate():
    shown = story.ahead().data
    assert shown.count("<tr>") == 5 and "0.42" in shown and "nan" not in shown


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


def test_recorded_draws_of_the_papers_statements_are_told_with_their_number():
    facts = story.facts()
    moved = story.record("proposition_3_4")
    assert moved["holds"].all() and facts["moved-networks"] == 100 and facts["moved-error"] < 1e-14
    assert facts["moved-least"] <= 100 * moved["representation_changed"].min() < facts["moved-least"] + 1
    index = story.record("theorem_4_2").query("rule == 'printed'")["error"]
    assert facts["wrong-index-draws"] == len(index) and facts["wrong-index"] <= 100 * index.min() < 100
    tie = story.record("remark_3_6").query("joins == 'output to pre-activation' and activation == 'abs'")
    printed = 100 * tie.query("rule == 'printed'")["error"]
    assert len(printed) == facts["tie-networks"] == 20 and facts["tie-exact"] < 1e-15
    assert (facts["tie-printed-low"], facts["tie-printed-high"]) == (printed.min(), printed.max())
    assert printed.min() > 10


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
