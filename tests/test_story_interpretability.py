"""What chapter 5 says of recorded runs holds in their tables, sentence by sentence."""

import pandas as pd
import pytest
from IPython.display import HTML

from intertwine import groups
from intertwine_book.results import interval
from intertwine_book.stories import interpretability as story
from intertwine_book.stories.interpretability import LITE_LAYERS, SIGMA, record

FIRST, SECOND, LINEAR = LITE_LAYERS.values()


def above(table: pd.DataFrame, *by: str) -> pd.Series:
    """Whether the interval of points lies above 0, by kind and so on."""
    return table.groupby(list(by))["points"].agg(lambda values: interval(values)[0] > 0)


def test_the_table_of_costs_has_a_row_for_each_layer_and_their_gap():
    table = story.cost_table()
    assert isinstance(table, HTML) and table.data.count("<tr>") == 5


def test_small_networks_of_one_s_own_are_drawn_by_kind():
    figure = story.live(record("dissected").query("quantile == 0.02 and dataset == 'concepts'"))
    assert {axis.get_title() for axis in figure.axes} == {"ReLU", "no ReLU", "ConvNeXt"}


# networks trained on ImageNet


def test_units_lose_a_quarter_of_their_iou_after_the_first_relu6():
    assert 20 < story.relative_falls()[FIRST, "trained"] < 30


def test_after_the_second_they_lose_less_and_at_the_linear_output_we_see_no_change_on_average():
    lost = story.falls()
    assert 0 < lost[SECOND, "trained"] < lost[FIRST, "trained"] and abs(lost[LINEAR, "trained"]) < 0.03
    assert abs(story.relative_falls()[LINEAR, "trained"]) < 3


def test_a_fall_at_the_linear_output_as_after_the_second_relu6_is_not_excluded():
    costs = story.costs()
    for low, high in (
        interval(costs[LINEAR]["trained"]),
        interval(costs[SECOND]["trained"] - costs[LINEAR]["trained"]),
    ):
        assert low < 0 < high


def test_untrained_networks_change_less():
    assert story.falls().xs("untrained", level="weights").abs().max() < 0.05
    relative = story.relative_falls()[FIRST]
    assert relative["untrained"] < relative["trained"] / 2


def test_a_rotation_costs_iou_after_the_relu6_and_0_on_average_at_the_linear_output():
    costs = {layer: table["trained"] for layer, table in story.costs().items()}
    assert (costs[FIRST] > 0.2).all() and (costs[FIRST] > costs[SECOND]).all()
    assert costs[SECOND].mean() > 0 and (costs[LINEAR].abs() < 0.1).all()
    assert all(table["untrained"].abs().max() < 0.1 for table in story.costs().values())


def test_after_the_first_relu6_units_lose_more_and_that_training_adds_more_is_not_established():
    assert interval(story.gap()["trained"])[0] > 0
    low, high = interval(story.gap()["difference"])
    assert low < 0 < high


def test_in_trained_networks_the_fall_after_the_first_relu6_is_larger_than_in_untrained_ones():
    added = story.costs()[FIRST]["difference"]
    assert (added > 0.1).all() and interval(added)[0] > 0


def test_the_recorded_costs_are_those_of_the_recorded_curves():
    ends = story.lite().query("weights == 'trained'").groupby(["layer", "network", "alpha"])["percent"].mean()
    for layer, table in story.costs().items():
        change = ends[layer].unstack()
        assert (change[0.0] - change[1.0]).to_numpy() == pytest.approx(table["trained"].to_numpy(), abs=1e-6)


def test_half_of_the_interpretable_units_are_lost_after_the_first_relu6_and_hardly_any_at_the_linear_output():
    share = story.counted().xs("trained", level="weights").unstack("alpha")
    assert 0.4 < share[1.0][FIRST] / share[0.0][FIRST] < 0.6
    assert abs(share[1.0][LINEAR] - share[0.0][LINEAR]) < 0.5


def test_the_levels_are_low_but_above_chance():
    assert story.lite()["percent"].max() < 3 and story.above_chance().min() > 10  # against 5


def test_after_the_first_relu6_networks_lose_most_in_the_two_deepest_stages_after_the_second_they_gain():
    change = story.change_by_stage().query("weights == 'trained'").set_index(["layer", "stage"])["change"]
    deep, middle = [6, 7], [3, 4, 5]
    assert change[FIRST].loc[deep].max() < change[FIRST].loc[middle].min() and change[FIRST].max() < 0
    assert change[SECOND].loc[middle].max() < 0 < change[SECOND].loc[deep].min()


# ceilings and rotations


def test_sky_buildings_and_roads_can_never_count():
    table = record("ceilings")
    never = table[~table["can_count"]].groupby("dataset")["concept"]
    assert set(never.get_group("camvid")) == {"Sky", "Building", "Road"}
    assert (table["dataset"] == "concepts").sum() == 24 and len(never.get_group("concepts")) == 18


def test_an_eighth_of_its_pixels_in_a_traffic_sign_or_nine_tenths_in_a_tree_make_a_unit_count():
    area = record("ceilings").query("dataset == 'camvid'").set_index("concept")["area"]
    needed = 0.04 * (0.005 + area) / (0.005 * 1.04)
    assert round(8 * needed["Sign"]) == 1 and round(10 * needed["Tree"]) == 9
    assert area["Tree"] > 0.003 / 0.04  # a unit that selects less can never count


def test_half_of_the_printed_draws_are_no_rotations():
    table = record("rotations")
    assert table["ours"].all() and 0.4 < table["printed"].mean() < 0.6
    assert table["geodesic_error"].max() < 1e-12


# groups


def test_the_groups_have_the_sizes_of_the_table():
    sizes = [groups.intertwiner_group(each, 4) for each in [*SIGMA.values(), "ReLU6"]]
    assert [group.dimension for group in sizes] == [16, 4, 0, 0, 0]
    assert [group.components for group in sizes] == [2, 24, 16 * 24, 24, 24]


def test_on_drawn_scenes_training_adds_with_relu_and_gelu_at_all_three_quantiles_and_not_without_activation():
    table = story.small_slopes().query("dataset == 'concepts' and layer == 'output'")
    special = above(table, "kind", "quantile")
    for kind in ("ReLU", "GELU"):
        assert len(special[kind]) == 3 and special[kind].all()
    assert not special["no ReLU"].any() and not special["ConvNeXt"].any()
    added = table.groupby(["kind", "quantile"])["points"].agg(lambda values: interval(values)[1])
    assert (added[["no ReLU", "ConvNeXt"]] > 0).all()  # so that these intervals contain 0


def test_on_street_scenes_only_the_interval_of_tanh_excludes_0_and_at_this_quantile_alone():
    table = story.small_slopes().query("dataset == 'camvid' and layer == 'output'")
    special = above(table, "kind", "quantile")
    assert special.sum() == 1 and special["tanh", 0.02]
    assert (table.groupby(["kind", "quantile"])["points"].agg(lambda values: interval(values)[1]) > 0).all()


def test_six_networks_of_each_kind_do_not_tell_tanh_from_relu_at_every_quantile():
    points = story.small_slopes().query("dataset == 'concepts' and layer == 'output' and quantile == 0.05")
    points = points.set_index(["kind", "number"])["points"]
    assert (points.groupby("kind").size() == 6).all()
    low, high = interval(points["ReLU"] - points["tanh"])
    assert low < 0 < high
    order = story.at_outputs().query("dataset == 'concepts'").groupby("kind")["points"].mean()
    order = order[["GELU", "tanh", "ReLU"]]  # their groups grow in this order
    assert not order.is_monotonic_increasing and not order.is_monotonic_decreasing


def test_on_drawn_scenes_without_relu_on_the_output_training_adds_only_after_the_relu_inside_the_block():
    special = above(story.inside(), "kind", "layer")
    assert special["ReLU"].all()
    for kind in ("no ReLU", "ConvNeXt"):
        assert [*special[kind][["output", "inside", "convolution"]]] == [False, True, False]


def test_on_street_scenes_one_of_these_four_intervals_lies_above_0_and_most_contain_0():
    special = above(story.inside("camvid"), "kind", "layer")
    four = special[
        [("ReLU", layer) for layer in ("output", "inside", "convolution")] + [("no ReLU", "inside")]
    ]
    assert four.sum() == 1 and four["ReLU", "convolution"]
    ends = [interval(each) for _, each in story.inside("camvid").groupby(["kind", "layer"])["points"]]
    assert len(ends) == 9 and sum(low < 0 < high for low, high in ends) == 7


def test_the_rise_of_the_papers_figure_19_cannot_be_told():
    low, high = interval(story.figure_19())
    assert low < 0 < high


def test_with_true_masks_many_more_units_exceed_the_level_of_chance():
    found = story.true_masks()
    assert found["concepts"] > found["camvid"] > 20  # against 5


def test_with_tanh_the_iou_of_trained_and_untrained_networks_rises():
    rises = story.tanh_rises()
    assert len(rises) == 6 and (rises > 0).all(axis=None)
    assert interval(rises["trained"])[0] > 0 and interval(rises["untrained"])[0] > 0
