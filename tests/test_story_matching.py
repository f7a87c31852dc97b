"""What chapter 3b says in words holds in its recorded tables."""

import json
from pathlib import Path

import yaml

from intertwine_book.results import recorded
from intertwine_book.stories import lines
from intertwine_book.stories import matching as story

ALL = story.record("experiment_1_direct_by_pair")
BY_PAIR, MEAN = story.record("experiment_1_by_pair"), story.kept()
EACH = story.numbered(story.record("matching")).pivot(index="layer", columns=["stitch", "pair"], values="y")
AHEAD = EACH["task loss"] - EACH["least squares"]
GAIN_OF_TASK = MEAN.loc["task loss"] - MEAN.loc["least squares"]
THIRD, FACTS = story.errors(), story.facts()
RANKED, SPARSE = story.record("figure_7"), story.record("figure_8")
ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "data/results/desk/03b_matching"
CAPTIONS = yaml.safe_load((ROOT / "chapters/captions/03b_matching.yml").read_text())


def test_task_loss_is_ahead_from_layer_2_on_in_each_of_five_pairs_and_at_layer_1_there_is_no_gap():
    assert len(BY_PAIR) == 5 and (BY_PAIR["task_loss"] > BY_PAIR["least_squares"]).all()
    assert AHEAD.shape == (8, 5) and (AHEAD.loc["2":] > 0.4).all(axis=None)
    assert AHEAD.loc["1"].between(-0.3, 0.001).all()


def test_twenty_times_the_images_change_least_squares_by_less_than_a_point_and_the_gap_remains():
    few, made = (
        BY_PAIR["least_squares"],
        recorded("03b_matching", "experiment_1_direct")["desk"][1]["parameters"],
    )
    assert (made["fit_images"], made["test_images"]) == (50_000, 10_000) and len(ALL) == 5
    assert (ALL["least_squares"] - few).abs().max() < 0.01
    assert (BY_PAIR["task_loss"] - ALL["least_squares"]).min() > 0.03


def test_on_resnet_20_the_gap_is_largest_at_layer_9_and_there_is_none_at_layers_1_and_10():
    each = story.deep().pivot(index=["pair", "layer"], columns="stitch", values="y")
    gap = (each["task loss"] - each["least squares"]).unstack("layer")
    assert len(gap) == 4 and (gap.idxmax(axis=1) == "9").all() and gap["9"].min() > 20
    assert each["task loss"].min() > 80 and (gap[["1", "10"]] < 0.1).all(axis=None)
    assert (gap.drop(columns=["1", "10"]) > 1).all(axis=None)


def test_on_resnet_20_one_number_gives_least_squares_what_an_orthogonal_map_keeps_at_layer_9_in_each_pair():
    at_9 = story.sized().query("layer == '9'").pivot(index="pair", columns="stitch", values="y")
    assert len(at_9) == 4 and (at_9["orthogonal"] - at_9["least squares"] > 15).all()
    assert (at_9["size restored"] - at_9["orthogonal"]).abs().max() < 2 and at_9["size restored"].min() > 90
    assert 1.9 < FACTS["factor-9-low"] <= FACTS["factor-9-high"] < 2.15 and FACTS["explained-9"] < 40
    trained = story.deep().query("stitch == 'task loss' and layer == '9'").set_index("pair")["y"]
    closed = (at_9["size restored"] - at_9["least squares"]) / (trained - at_9["least squares"])
    assert (closed > 0.7).all()  # most of the gap
    each = story.sized().pivot(index=["pair", "layer"], columns="stitch", values="y")
    ahead = (each["size restored"] - each["orthogonal"]).unstack("layer")
    assert (ahead.mean()[[*"12345678"]] > 1).all()


def test_fits_of_several_sizes_are_judged_as_the_other_stitches_of_the_figure_are():
    given = [json.loads((RECORDED / f"{name}.json").read_text()) for name in ("residual", "resized_residual")]
    assert given[0]["parameters"] == given[1]["parameters"]
    ours, theirs = (
        table.query("stitch == 'least squares'").set_index(["pair", "layer"])["y"]
        for table in (story.sized(), story.deep())
    )
    assert (ours - theirs).abs().max() < 1e-9 and len(ours) == 40


def test_an_orthogonal_map_is_ahead_of_least_squares_at_layer_8_in_each_pair_and_far_behind_early():
    stitches = story.numbered(story.record("matching")).pivot(
        index=["layer", "pair"], columns="stitch", values="y"
    )
    ahead = stitches["orthogonal"] - stitches["least squares"]
    assert len(ahead["8"]) == 5 and (ahead["8"] > 0).all() and (ahead["2"] < -20).all()
    assert (ahead.groupby("layer").mean()[["1", "2", "3"]] < -5).all()


def test_but_for_the_last_layers_are_no_copies_of_each_other_in_another_order():
    best = EACH["best permutation"]
    assert (best.loc[:"7"] < 86).all(axis=None) and (best.loc["8"] > 89).all()
    assert MEAN.loc["best permutation"].idxmin() == "2" and (MEAN.loc["random permutation"] < 16).all()


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


def test_least_squares_shrinks_quiet_directions_most_and_the_task_overdoes_only_the_quietest():
    for layer, last, right in (("bn3", "32", 25), ("bn6", "64", 40)):  # so layer 6 is alike
        written = story.written(layer)
        fitted, trained = written["least squares"].median(), written["task loss"]
        assert fitted["1"] >= 0.99 * fitted.max() and fitted[last] < fitted["1"] / 4
        most = trained.median()[[str(k) for k in range(1, right + 1)]]
        assert right > int(last) / 2 and most.between(0.6, 1.45).all() and (trained[last] > 3).all()


def costs(layer):
    """Points that a part of an error costs, and its size, by pair."""
    found = story.record("directions").query("layer1 == @layer")
    own = found[found["stitch"] == "model 2"].set_index("pair")["accuracy"]
    parts = found[found["part"].isin(["loud", "quiet", "both"])]
    parts = parts.assign(costs=parts["pair"].map(own) - parts["accuracy"])
    table = parts.pivot(index="pair", columns=["stitch", "part"], values=["costs", "left"])
    return {name: (table[name]["least squares"], table[name]["task loss"]) for name in ("costs", "left")}


def test_at_layer_3_the_larger_quiet_error_of_the_task_costs_less_and_at_layer_6_no_part_decides():
    third, sixth = costs("bn3"), costs("bn6")
    fitted, trained = third["costs"]
    assert fitted["quiet"].mean() > 2 * fitted["loud"].mean() and (trained["quiet"] < fitted["quiet"]).all()
    fitted, trained = sixth["costs"]
    assert len(fitted) == 5 and (trained["loud"] > fitted["loud"]).all()
    assert 0 < (trained["quiet"] < fitted["quiet"]).sum() < 5
    for found in (third, sixth):
        fitted, trained = found["left"]
        assert (trained > fitted).all(axis=None)
        assert found["costs"][1]["both"].mean() < found["costs"][0]["both"].mean()


def test_the_alternative_text_of_the_parts_of_the_error_has_its_values():
    text = CAPTIONS["fig-split"]["alt"].replace("\n", " ")
    kept = story.record("directions").query("part == 'both'").groupby(["layer1", "stitch"])["accuracy"].mean()
    three, six = kept["bn3"].round(), kept["bn6"].round()
    words = "least squares is at {:.0f} percent, task loss at {:.0f}; at layer 6: {:.0f} and {:.0f}"
    ways = ["least squares", "task loss"]
    assert words.format(*three[ways], *six[ways]) in text


def test_restoring_the_variance_worsens_the_fit_and_gains_half_of_what_training_gains_in_each_pair():
    assert len(story.gain()) == 40 and (story.gain().groupby("pair").mean() > 0).all()
    assert 0.45 < FACTS["gain-mean"] / FACTS["gain-task"] < 0.55
    share = story.gain().groupby("layer").mean() / GAIN_OF_TASK
    assert 0.05 < share["2"] < 0.15 and 0.6 < share["5"] < 0.72
    fitted, restored = (
        THIRD.loc["least squares", :].loc["both"],
        THIRD.loc["variance restored", :].loc["both"],
    )
    assert restored["left"] > fitted["left"] and restored["costs"] < fitted["costs"]


def test_reestimated_batch_norm_gains_what_restored_variance_gains_and_training_keeps_more_in_each_pair():
    again = story.reestimated().pivot_table("y", ["pair", "layer"], "stitch")
    assert len(again) == 40 and set(story.record("reestimated")["batch_norm"]) == {"reestimated"}
    by_pair = again.groupby("pair").mean()
    trained = 100 * BY_PAIR.set_index("pair")["task_loss"]
    assert (trained - by_pair["least squares"] > 2).all() and (
        trained - by_pair["variance restored"] > 2
    ).all()
    fitted = 100 * BY_PAIR.set_index("pair")["least_squares"]
    assert (by_pair["least squares"] - fitted > 1).all()  # in each pair
    assert (
        abs(FACTS["again"] - FACTS["restored"]) < 0.5 and abs(FACTS["again"] - FACTS["again-restored"]) < 0.2
    )
    first = EACH["least squares"].loc["1"] - again["least squares"].unstack("layer")["1"]
    assert (first > 1).all() and 1 < FACTS["again-1-costs"] < 2


def further_off(side):
    """By how much restoring the variance raises the cross-entropy to model 2, by layer and pair."""
    found = story.sides().query("side == @side")
    found = found.pivot(index="layer", columns=["stitch", "pair"], values="distance")
    return found["variance restored"] - found["least squares"]


def test_restoring_the_variance_lowers_the_cross_entropy_at_layers_2_to_5_and_raises_it_later():
    rise = further_off("before the ReLU").mean(axis=1)
    assert (rise["2":"5"] < -0.01).all() and (rise["6":] > 0.01).all()
    after = further_off("after the ReLU")
    assert after.shape == (8, 5) and (after.mean() > 0).sum() == (after.loc["3"] > 0).sum() == 3


def test_after_the_relu_restoring_the_variance_gains_in_each_pair_and_loses_at_layer_3():
    after = story.gain("after the ReLU")
    assert len(after) == 40 and (after.groupby("pair").mean() > 0).all()
    assert (after[["2", "4", "5"]] > 0).all() and after["3"].mean() < 0 < after["3"].max()


def test_the_side_of_the_relu_matters_as_much_as_the_method_at_layer_2():
    fits = story.sides().query("stitch == 'least squares' and layer == '2'").groupby("side")["y"].mean()
    assert fits["before the ReLU"] - fits["after the ReLU"] > GAIN_OF_TASK["2"]


def test_the_fit_is_best_without_a_stretch_and_the_task_with_most_of_it_in_each_pair():
    left = story.record("stretched").query("layer1 == 'bn3'").groupby("pair")["unexplained"]
    assert left.apply(lambda each: each.is_monotonic_increasing).all() and left.ngroups == 5
    assert story.best_powers().between(0.5, 1.0).all() and len(story.varies()) == 5
    gain = story.stretched("bn6").set_index("t")["relative_accuracy"]
    assert gain[0.5] - gain[0.0] > 0.01 and (story.varies("bn3") > FACTS["varies-6"]).sum() >= 3


def test_the_slider_begins_and_passes_where_the_figure_above_it_has_both_fits():
    at = story.stretched().set_index("t")["relative_accuracy"]
    third = story.sides().query("side == 'before the ReLU' and layer == '3'").groupby("stitch")["y"].mean()
    assert abs(100 * at[0.0] - third["least squares"]) < 0.1
    assert abs(100 * at[1.0] - third["variance restored"]) < 0.1


def test_after_layer_1_an_untrained_front_does_nearly_as_well_deeper_less_and_less_but_above_chance():
    found = story.numbered(story.record("untrained")).pivot(index="layer", columns="pair", values="y")
    assert found.shape == (8, 5) and (found.loc["1"] > 98.5).all() and (found.loc["2":] < 80).all(axis=None)
    assert story.behind_trained()["1"].between(0, 0.7).all()
    assert found.mean(axis=1).is_monotonic_decreasing and (found > 2 * story.chance()).all(axis=None)


def test_no_stitch_on_record_has_overflown():
    for name in ("matching", "restored", "untrained", "after_relu"):
        assert story.record(name)["loss"].max() < 12, name  # nats; a guess at random has 2.3


def test_trained_as_in_the_paper_low_ranks_beat_the_direct_map_with_and_without_a_bias():
    assert len(RANKED) == 6 * FACTS["ranked-pairs"] >= 24
    direct = RANKED[["direct", "direct_without_bias"]].max(axis=1)
    assert (RANKED["task_loss"] > direct).all() and FACTS["ahead"] == FACTS["ranked"]
    assert FACTS["bias-gains"] > 0


def test_in_a_short_run_training_gains_from_the_direct_map_and_from_random_factors_at_layer_6_only():
    short = story.record("low_rank")
    assert len(short) == 30 and (short["task_loss_from_direct"] > short["direct"]).all()
    ahead = (short["task_loss"] > short["direct"]).groupby(short["layer1"]).sum()
    assert ahead.to_dict() == {"bn3": FACTS["short-ahead-3"], "bn6": 15} and FACTS["short-ahead-3"] == 6


def test_at_layers_1_to_7_every_random_start_ends_lower_than_all_from_least_squares_which_end_alike():
    ends = story.record("experiment_5").set_index("layer1")
    fitted = ends.groupby(["pair", "layer1"])["least_squares"]
    assert (fitted.size() == 4).all() and len(fitted) == 8 * FACTS["start-pairs"] == 40
    assert 1 < 100 * (fitted.max() - fitted.min()).max() <= FACTS["fitted-apart"] < 2
    less = fitted.min() - ends.groupby(["pair", "layer1"])["random"].max()
    less = less.unstack("pair")
    assert (less[:"bn7"] > 0).all(axis=None) and (less.loc["bn8"] < 0).any()
    late = ends.loc[ends["same_order"] == 0]
    assert (len(ends) - len(late), len(ends)) == (FACTS["alike"], FACTS["starts"])
    alike = 20 - late.groupby(level=0).size().reindex(less.index, fill_value=0)
    assert (alike["bn6":] == 20).all() and (alike[alike == 0].index == ["bn2", "bn5"]).all()
    assert FACTS["below-fit"] > 0.7 * len(ends)


def test_stitches_from_least_squares_begin_at_one_map_and_stay_near_it():
    apart = story.record("paths").groupby(["start", "pair", "layer1", "path"])["apart"].first()
    assert apart["least squares"].max() < 0.32 and apart["random"].min() > 1


def test_lines_from_least_squares_are_flat_and_those_from_random_starts_from_layer_6_on():
    walls = story.record("experiment_6").set_index("start")
    assert walls.loc["least squares", "barrier"].max() < 0.006
    later = lines.barriers().loc["bn6":]
    assert later["kept"].all() and len(later) == 30 and later["barrier"].max() == FACTS["flat"] < 2
    middle = lines.barriers().loc["bn4":"bn5", "barrier"]
    assert len(middle) == 20 and (middle < 6).all()


def test_most_starts_come_near_the_best_in_longer_training_all_at_layers_2_to_5():
    late, _ = lines.longer()
    assert len(late) == FACTS["longer-starts"] == 20 * FACTS["longer-pairs"] == 100
    assert FACTS["longer-alike"] > 0.9 * len(late) and FACTS["shorter-alike"] < 0.4 * len(late)
    low = late[late["same_order"] == 0]
    assert set(low["layer1"]) == {"bn1"} and len(low) == FACTS["low-1"] == 3
    assert 100 * low["random"].max() == FACTS["low-high"] < 40


def test_lines_between_good_ends_of_longer_training_have_barriers_most_often_at_layer_2():
    _, between = lines.longer()
    share = {k: FACTS[f"walls-{k}"] / FACTS[f"lines-{k}"] for k in (1, 2, 3)}
    assert share[2] > 0.8 and 0.2 < share[1] < 0.7 and 0.2 < share[3] < 0.7
    assert sum(FACTS[f"lines-{k}"] for k in (1, 2, 3)) == len(between.loc[:"bn3"]) > 20
    assert len(between.loc["bn4":]) == 20 and between.loc["bn4":"bn5", "points"].max() == FACTS["flat-5"] < 5
    early = lines.barriers().loc[:"bn2"]  # after four epochs
    assert (early["barrier"] > 5).sum() == 17 and (early["worse"] < 0.8).sum() > 10  # of 20


def test_with_more_than_80_percent_zeros_stitches_by_task_loss_keep_more_than_the_lasso_in_each_pair():
    many = SPARSE[SPARSE["sparsity"] > 0.8]
    assert (many.groupby("layer1")["pair"].nunique() == 5).all() and set(many["layer1"]) == {"bn3", "bn6"}
    assert (many["task_loss"] - many["direct"]).min() > 0.15


def test_at_layer_6_most_of_that_difference_is_gone_when_the_lasso_s_entries_are_fitted_again():
    many = SPARSE[SPARSE["sparsity"] > 0.8].set_index("layer1")
    gap, left = (many["task_loss"] - many[way] for way in ("direct", "refitted"))
    assert (left["bn6"] < gap["bn6"] / 3).all() and left["bn6"].min() > 0
    assert left["bn3"].min() < 0 < left["bn3"].max()  # at layer 3 pairs differ
    given = json.loads((RECORDED / "figure_8_stitches.json").read_text())["parameters"]
    assert (given["stitch_epochs"], given["train_images"]) == (30, 50000)


def test_ten_points_of_zeros_cost_the_lasso_more_above_70_percent_in_each_pair_at_both_layers():
    steps = story.record("figure_8_drop")
    assert len(steps) == 10 and set(steps["layer1"]) == {"bn3", "bn6"}
    assert (steps["above_70"] > steps["below_70"]).all()


def test_at_rank_4_and_with_more_than_80_percent_zeros_it_keeps_more_than_the_direct_map():
    few, four = SPARSE[SPARSE["sparsity"] > 0.8], RANKED[RANKED["rank"] == 4]
    assert (few["task_loss"] > few["direct"]).all()
    assert (four["task_loss"] > four["direct"]).all()


def test_no_recipe_makes_networks_of_which_a_layer_loses_more_than_a_tenth_by_task_loss():
    for name in ("further", "further_digits"):
        kinds = story.record(name).groupby("networks")
        assert len(kinds) == 5 and (kinds["task_loss"].min() > 0.9).all()
        fitted, trained = kinds["least_squares"].mean(), kinds["task_loss"].mean()
        assert fitted.max() - fitted.min() > 0.15 > 0.04 > trained.max() - trained.min()
    for name, width, pairs in (("further", 16, 1), ("further_digits", 8, 2)):
        given = json.loads((RECORDED / f"{name}.json").read_text())["parameters"]
        assert given["width"] == width and given["few"] == pairs
        assert set(story.record(name)["layer1"]) == {f"relu{k}" for k in range(1, 5)}


def test_on_digits_more_is_kept_at_width_8_than_at_width_2_at_each_of_four_layers_of_two_pairs():
    ends = story.record("experiment_2_ends")
    assert len(ends) == 8 and (ends["widest"] > ends["narrowest"]).all()
    assert set(ends["dataset"]) == {"digits"} and set(ends["wide"]) == {"myrtle"}
    assert ends.groupby("layer1")["trial"].nunique().eq(2).all()
    given = json.loads((RECORDED / "experiment_2_ends.json").read_text())["parameters"]
    assert (min(given["widths"]), max(given["widths"])) == (2, 8)


def test_the_alternative_text_of_the_first_figure_has_the_value_at_layer_9():
    alt = CAPTIONS["fig-matching"]["alt"]
    assert f"falls to {FACTS['direct-9']:.0f} at layer 9" in alt
    for way in ("sized", "orthogonal"):
        assert f"keep {100 - FACTS[f'{way}-9-loses']:.0f}, and a ring" in alt
