"""What chapter 2 says of recorded runs holds in their tables, sentence by sentence."""

import pytest

from intertwine_book.results import interval
from intertwine_book.stories import finetuning
from intertwine_book.stories import sanity_rotations as story
from intertwine_book.stories.inserted import GROUP, TURNED, by_paper, mean, record

NARROW = "best_linear_map_width_16"


def lowest(apart):
    return apart.agg(lambda points: interval(points)[0], axis=1)


# after a repair by least squares


def test_inside_the_group_not_one_image_is_lost_in_90_trials_at_width_64_and_420_at_width_16():
    own = {name: record(name).query("own") for name in ("best_linear_map", NARROW)}
    assert [len(table) for table in own.values()] == [90, 420]
    assert all((table["penalty_images"] == 0).all() for table in own.values())
    assert own[NARROW]["activation"].nunique() == 5


def test_scalings_before_tanh_and_gelu_cost_little_at_any_layer_and_signs_before_relu_and_gelu_do_at_16():
    narrow, cost = story.by_layer(record(NARROW)), story.by_layer(story.wide()).loc[GROUP]
    assert narrow.loc[GROUP].loc[["tanh", "gelu"]].max(axis=None) < 0.6
    assert cost.loc[["tanh", "gelu"]].max(axis=None) < 1.2
    assert narrow.loc["signed permutations"].loc[["relu", "gelu"]].min(axis=None) > 2.8


def test_an_orthogonal_matrix_before_tanh_costs_nearly_nothing_at_the_first_and_much_at_the_third():
    wide, narrow = (story.by_layer(table).loc[TURNED] for table in (story.wide(), record(NARROW)))
    assert narrow.loc["tanh", 0] < 0.5 and narrow.loc["tanh", 5] > 10 and wide.loc["tanh", 0] < 0
    assert wide.loc["tanh", 5] > 2 * wide.loc["tanh", [0, 2]].max()
    assert (narrow.loc["identity"] == 0).all()


def test_before_the_absolute_value_it_costs_less_at_the_third_convolution_than_at_the_first():
    for table in (story.wide(), record(NARROW)):
        turned = story.by_layer(table).loc[TURNED].loc["abs"]
        assert turned[5] < turned[0] / 2


def test_scalings_of_either_sign_cost_before_tanh_what_positive_ones_do():
    for table in (story.wide(), record(NARROW)):
        cost = story.by_layer(table)
        assert (cost.loc[(GROUP, "tanh")] - cost.loc[("nonzero scalings", "tanh")]).abs().max() < 1e-9


def test_in_the_mean_over_layers_only_scalings_before_tanh_cost_less_than_half_a_point_at_width_64():
    table = story.wide().query("not own and group != 'permutations'")
    cost = table.groupby(["activation", "group"])["penalty"].mean()
    assert cost[cost < 0.5].index.tolist() == [("tanh", "nonzero scalings"), ("tanh", GROUP)]


def test_at_the_papers_width_signs_cost_little_and_our_narrower_less_accurate_network_loses_more():
    wide, narrow = mean("best_linear_map"), mean(NARROW)
    alone = [by_paper(name)["base_accuracy"].unique() for name in ("best_linear_map", NARROW)]
    assert [len(each) for each in alone] == [3, 1] and alone[1] < alone[0].min() - 5
    assert wide.loc["signed permutations"].max() < 2.5
    assert (narrow.loc[TURNED] > 1.2 * story.by_network().loc[TURNED].max(axis=1)).all()


def test_over_three_networks_a_loss_is_established_at_the_second_and_third_convolution_and_not_at_the_first():
    low = lowest(story.by_network().loc[TURNED])
    assert low[0] < 0 < min(low[2], low[5])


@pytest.mark.parametrize("name", [NARROW, "best_linear_map"])
def test_an_orthogonal_matrix_before_a_relu_costs_most_at_the_third_convolution_whichever_is_drawn(name):
    each = by_paper(name).query("group == @TURNED").groupby("layer")["penalty"]
    assert each.min()[5] > each.max()[[0, 2]].max()


@pytest.mark.parametrize("name", [NARROW, "best_linear_map"])
def test_in_closed_form_the_group_loses_0_at_both_widths(name):
    assert (mean(name).loc[["permutations", GROUP]] == 0).all(axis=None)


def test_orthogonal_matrices_leave_most_unexplained_and_lose_most_at_both_widths():
    ranks = story.ranks()
    assert ranks["rank"].min() > 0.8 and ranks["rank-64"].min() > 0.5 and len(ranks["rank-64"]) == 9
    for name in (NARROW, "best_linear_map"):
        table = story.outside(name)
        means = table.groupby(["layer", "group"])[["unexplained", "penalty"]].mean()
        most = means.groupby("layer").idxmax()
        assert len(most) == 3 and {kind for column in most for _, kind in most[column]} == {TURNED}


def test_among_orthogonal_matrices_the_relation_is_positive_at_width_16_and_has_either_sign_at_64():
    narrow, wide = story.ranks(kinds=[TURNED]).values()
    assert (narrow > 0).all() and (wide < -0.2).any() and (wide > 0.5).any()


def test_the_share_does_not_fix_the_penalty():
    table = story.outside().query("layer == 'third convolution'").sort_values("unexplained")
    near = table[["unexplained", "penalty"]].diff().abs()
    assert (near.query("unexplained < 0.003")["penalty"] > 3).any()


def test_tanh_makes_no_inputs_equal_and_an_orthogonal_matrix_leaves_a_tenth_unexplained_at_the_third():
    tanh = record(NARROW).query("activation == 'tanh' and group == @TURNED and layer == 3")
    assert tanh["unexplained"].min() > 0.08 and tanh["penalty"].min() > 8


# finetuned


def test_the_control_stays_where_it_was_at_both_widths_also_in_a_single_trial():
    facts = story.facts()
    assert facts["control"] < 0.15 and facts["control"] < facts["control-one"] < 0.45


def test_after_few_epochs_the_group_still_loses_and_at_layer_0_more_than_a_rotation():
    tuned = mean("finetuned_width_16")
    assert tuned.loc[GROUP].min() > 3 and tuned.loc[GROUP, 0] > tuned.loc[TURNED, 0]
    assert story.facts()["finetuned-for"] < 50


def test_a_rotation_loses_clearly_more_than_the_group_at_layer_5_only():
    apart, facts = finetuning.apart("finetuned_width_16"), story.facts()
    low = lowest(apart)
    assert low[0] < 0 and low[2] < 0 < low[5]
    assert facts["narrow-more"] > facts["draws"] / 2 and facts["narrow-less"] > facts["draws"] / 2
    assert interval(apart.loc[0])[1] > 0 and interval(apart.loc[2])[1] > 0
    assert record("finetuned_width_16")["trial"].nunique() == facts["draws"]


def test_finetuning_repairs_more_than_a_matrix_at_layer_5_and_less_at_layer_2():
    exact, tuned = mean(NARROW).loc[TURNED], mean("finetuned_width_16").loc[TURNED]
    assert tuned[5] < exact[5] - 5 and tuned[2] > exact[2]


def test_a_run_of_ones_own_is_told_by_its_orthogonal_matrices_before_a_relu():
    found = story.facts_of(record("best_linear_map"))
    assert found["live-lost"] == pytest.approx(mean("best_linear_map").loc[TURNED].mean())
    assert 0 < found["live-share"] < 100


def test_the_table_of_penalties_has_both_widths_and_the_printed_values_of_one():
    shown = finetuning.penalties().data
    assert (
        shown.count("<tr>") == 7
        and shown.count("–") == 3
        and ">1.3\N{NO-BREAK SPACE}|\N{NO-BREAK SPACE}8.3<" in shown
    )


# at the paper's width


def test_in_three_networks_the_group_loses_less_at_layers_2_and_5_and_more_at_layer_0_and_less_in_another():
    apart, other = finetuning.apart("finetuned"), finetuning.apart("finetuned_one_network")
    assert apart.shape == (3, 3) and (apart.loc[[2, 5]] > 2).all(axis=None) and (apart.loc[0] < 0).all()
    assert other.shape == (3, 5) and (other > 0).all(axis=None)
    for low in map(lowest, (apart, other)):  # over networks, and over matrices in one
        assert low[0] < 0 < min(low[2], low[5])
    assert finetuning.printed().query("layer == 0")["penalty"].max() < 1


def test_the_paper_loses_less_at_every_layer_after_50_epochs():
    printed = finetuning.printed().pivot(index="group", columns="layer", values="penalty")
    assert (mean("finetuned").loc[printed.index] > printed).all(axis=None)


# epoch by epoch


def test_on_digits_the_difference_shrinks_from_two_epochs_on_and_nearly_vanishes_after_32():
    gap = finetuning.apart_by_epoch()
    assert gap.loc[2, "low"] > 0 and gap.loc[1, "mean"] < gap.loc[2, "mean"]
    shown = [1, 2, 4, 8, 16, 32]
    assert gap.loc[shown[1:], "mean"].is_monotonic_decreasing and gap.loc[32, "mean"] < 0.6
    lost = record("repaired").pivot_table(index="epoch", columns="group", values="penalty").loc[shown]
    assert lost[GROUP].is_monotonic_decreasing and lost[TURNED].is_monotonic_decreasing
    first = record("repaired").query("epoch == 1").groupby("group")["penalty"].mean()
    assert first[[GROUP, TURNED]].sub(27).abs().max() < 1.5  # both curves start near 27


def test_the_longer_the_finetuning_the_less_is_lost_and_the_control_gains():
    lost = finetuning.by_budget()
    assert lost[GROUP].is_monotonic_decreasing and lost[TURNED].is_monotonic_decreasing
    assert lost["identity"].between(-1, 0.3).all() and lost["identity"].iloc[-1] < 0
    assert lost[GROUP].iloc[-1] < 0.5


def test_the_difference_falls_and_a_rotation_loses_less_than_in_the_paper():
    lost = finetuning.by_budget()
    apart = lost[TURNED] - lost[GROUP]
    assert apart.is_monotonic_decreasing and apart.min() > 2.5
    assert lost[TURNED].iloc[-1] < finetuning.printed()["penalty"].max()


def test_the_best_epoch_lowers_every_penalty_also_that_of_the_control():
    facts = story.facts()
    assert min(facts["best-control"], facts["best-group"], facts["best-turned"]) > 0


def test_an_orthogonal_matrix_costs_less_at_width_64_than_at_16_before_each_activation_at_each_layer():
    wide, narrow = (story.by_layer(table).loc[TURNED] for table in (story.wide(), record(NARROW)))
    assert (wide < narrow.loc[wide.index]).all(axis=None)
    networks = story.wide().groupby("activation", sort=False)["number"].nunique()
    assert networks.to_dict() == {"relu": 3, "gelu": 1, "tanh": 1, "abs": 1}
