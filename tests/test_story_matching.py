"""What chapter 3b says in words holds in its recorded tables."""

from pathlib import Path

import yaml

from intertwine_book.stories import matching as story

BY_PAIR, MEAN, RESNET = story.record("experiment_1_by_pair"), story.kept(), story.kept("residual")
GAIN_OF_TASK = MEAN.loc["task loss"] - MEAN.loc["least squares"]
THIRD, FACTS = story.errors(), story.facts()
RANKED, SPARSE = story.record("low_rank"), story.record("experiment_7")


def test_task_loss_is_ahead_of_least_squares_in_each_of_five_pairs():
    assert len(BY_PAIR) == 5 and (BY_PAIR["task_loss"] > BY_PAIR["least_squares"]).all()


def test_on_resnet_20_the_gap_is_largest_at_layer_9_and_task_loss_keeps_more_than_is_printed():
    gap = RESNET.loc["task loss"] - RESNET.loc["least squares"]
    assert gap.idxmax() == "9" and RESNET.loc["task loss"].idxmin() == "8"  # behind block 7
    assert RESNET.loc["task loss"].min() > 80


def test_an_orthogonal_map_is_ahead_of_least_squares_at_layer_8_in_each_pair_and_far_behind_early():
    stitches = story.numbered(story.record("matching")).pivot(
        index=["layer", "pair"], columns="stitch", values="y"
    )
    ahead = stitches["orthogonal"] - stitches["least squares"]
    assert len(ahead["8"]) == 5 and (ahead["8"] > 0).all() and (ahead["2"] < -20).all()
    assert (ahead.groupby("layer").mean()[["1", "2", "3"]] < -5).all()


def test_maps_that_are_closer_to_model_2_keep_more_accuracy():
    ways = ["no_stitch", "random_permutation", "best_permutation", "orthogonal", "least_squares", "task_loss"]
    assert BY_PAIR[ways].mean().is_monotonic_increasing
    assert BY_PAIR[[f"distance_{way}" for way in ways]].mean().is_monotonic_decreasing
    assert (BY_PAIR["distance_task_loss"] > story.floor()).all()


def test_soft_and_hard_targets_differ_by_less_than_half_a_point():
    assert BY_PAIR["soft_minus_hard"].abs().max() < 0.005


def test_three_to_six_directions_are_loud_and_what_removing_one_costs_follows_its_variance():
    loud = story.singly(story.record("directions")).query("stitch == 'removed' and kind == 'loud'")
    assert set(loud.groupby("pair").size()) <= {3, 4, 5, 6} and loud.groupby("pair").size().min() == 3
    assert len(story.follows()) == 5 and (story.follows() > 0.97).all()


def test_least_squares_shrinks_quiet_directions_most_and_the_task_writes_too_much_in_them():
    fitted, trained = story.written()["least squares"].median(), story.written()["task loss"]
    assert fitted["1"] == fitted.max() and fitted["32"] < fitted["1"] / 4 and (trained["32"] > 3).all()


def test_the_smaller_error_of_least_squares_costs_more_and_most_of_it_in_quiet_directions():
    parts = ["loud", "quiet", "both"]
    fitted, trained = (THIRD.loc[way].loc[parts] for way in ("least squares", "task loss"))
    assert fitted.loc["quiet", "costs"] > 2 * fitted.loc["loud", "costs"]
    assert (trained["left"] > fitted["left"]).all() and (trained["costs"] < fitted["costs"]).all()


def test_restoring_the_variance_worsens_the_fit_and_gains_half_of_what_training_gains_in_each_pair():
    assert len(story.gain()) == 40 and (story.gain().groupby("pair").mean() > 0).all()
    assert 0.45 < FACTS["gain-mean"] / FACTS["gain-task"] < 0.55
    assert story.gain()["2"].mean() < GAIN_OF_TASK["2"] / 5
    fitted, restored = (
        THIRD.loc["least squares", :].loc["both"],
        THIRD.loc["variance restored", :].loc["both"],
    )
    assert restored["left"] > fitted["left"] and restored["costs"] < fitted["costs"]


def test_after_the_relu_restoring_the_variance_gains_in_each_pair_but_nothing_at_layer_3():
    after = story.gain("after the ReLU")
    assert len(after) == 40 and (after.groupby("pair").mean() > 0).all()
    assert (after[["2", "4", "5"]] > 0).all() and after["3"].mean() < 0 < after["3"].max()


def test_the_side_of_the_relu_matters_as_much_as_the_method_at_layer_2():
    fits = story.sides().query("stitch == 'least squares' and layer == '2'").groupby("side")["y"].mean()
    assert fits["before the ReLU"] - fits["after the ReLU"] > GAIN_OF_TASK["2"]


def test_the_fit_is_best_without_a_stretch_and_the_task_with_most_of_it_in_each_pair():
    left = story.record("stretched").query("layer1 == 'bn3'").groupby("pair")["unexplained"]
    assert left.apply(lambda each: each.is_monotonic_increasing).all() and left.ngroups == 5
    assert story.best_powers().between(0.5, 1.0).all()


def test_the_slider_begins_and_passes_where_the_figure_above_it_has_both_fits():
    at = story.stretched().set_index("t")["relative_accuracy"]
    third = story.sides().query("side == 'before the ReLU' and layer == '3'").groupby("stitch")["y"].mean()
    assert abs(100 * at[0.0] - third["least squares"]) < 0.1
    assert abs(100 * at[1.0] - third["variance restored"]) < 0.1


def test_after_the_first_layer_an_untrained_front_does_as_well_deeper_less_and_less_but_above_chance():
    found = story.numbered(story.record("untrained")).pivot(index="layer", columns="pair", values="y")
    assert found.shape == (8, 5) and (found.loc["1"] > 98.5).all() and (found.loc["2":] < 80).all(axis=None)
    assert found.mean(axis=1).is_monotonic_decreasing and (found > 2 * story.chance()).all(axis=None)


def test_no_stitch_on_record_has_overflown():
    for name in ("matching", "restored", "untrained", "after_relu"):
        assert story.record(name)["loss"].max() < 12, name  # nats; a guess at random has 2.3


def test_from_the_direct_map_training_gains_at_every_rank_and_from_random_factors_at_layer_6_only():
    assert len(RANKED) == 30 and (RANKED["task_loss_from_direct"] > RANKED["direct"]).all()
    ahead = (RANKED["task_loss"] > RANKED["direct"]).groupby(RANKED["layer1"]).sum()
    assert ahead.to_dict() == {"bn3": 6, "bn6": 15}


def test_all_stitches_from_least_squares_end_alike_and_random_ones_late_at_layers_1_to_5_only():
    ends = story.record("experiment_5")
    fitted = ends.groupby("layer1")["least_squares"]
    assert (fitted.max() - fitted.min() < 0.01).all()
    assert set(ends.loc[ends["same_order"] == 0, "layer1"]) <= {f"bn{k}" for k in range(1, 6)}


def test_lines_from_least_squares_are_flat_and_those_from_random_starts_from_layer_6_on():
    walls = story.record("experiment_6").set_index("start")
    assert walls.loc["least squares", "barrier"].max() < 0.005
    later = story.lines().loc["bn4":]
    assert later["kept"].sum() == 6 and (later.loc["bn6":, "barrier"] < 1.1).all()
    assert not later.loc[:"bn5", "kept"].any() and (later.loc[:"bn5", "barrier"] < 6).all()
    assert (story.record("paths").query("start == 'random'")["apart"] > 1).all()


def test_of_the_first_three_layers_three_lines_can_be_judged_and_one_of_them_has_a_barrier():
    early = story.lines().loc[:"bn3"]
    judged = early[early["kept"]]
    assert list(judged.index) == ["bn1", "bn1", "bn3"] and len(early) == 6
    assert sorted(judged["barrier"] > 5) == [False, False, True] and judged["barrier"].idxmax() == "bn1"
    assert (early.loc["bn2", "barrier"] > 30).all() and (early.loc["bn2", "worse"] < 0.8).all()


def test_sparse_stitches_by_task_loss_keep_far_more_than_the_lasso():
    most = SPARSE[SPARSE["alpha"] == SPARSE["alpha"].max()]
    more = (most["task_loss"] - most["direct"]).groupby(most["layer1"]).mean()
    assert (more > 0.35).all() and (most["task_loss"] > most["direct"]).all()
    sparse = SPARSE.query("0.8 <= sparsity <= 0.97")
    assert (sparse["task_loss"] - sparse["direct"]).groupby(sparse["pair"]).mean().min() > 0.25


def test_rank_4_from_the_direct_map_keeps_no_less_than_sparse_stitches_and_more_than_that_map():
    four = RANKED[RANKED["rank"] == 4]
    assert (100 * four["task_loss_from_direct"]).between(FACTS["few-low"], FACTS["few-high"]).all()


def test_no_recipe_makes_networks_of_which_a_layer_loses_more_than_a_tenth_by_task_loss():
    for name in ("further", "further_digits"):
        kinds = story.record(name).groupby("networks")
        assert len(kinds) == 5 and (kinds["task_loss"].min() > 0.9).all()
        fitted, trained = kinds["least_squares"].mean(), kinds["task_loss"].mean()
        assert fitted.max() - fitted.min() > 0.15 > 0.04 > trained.max() - trained.min()


def test_the_alternative_text_of_the_first_figure_has_the_value_at_layer_9():
    captions = Path(__file__).parents[1] / "chapters/captions/03b_matching.yml"
    alt = yaml.safe_load(captions.read_text())["fig-matching"]["alt"]
    assert f"falls to {FACTS['direct-9']:.0f} at layer 9" in alt
