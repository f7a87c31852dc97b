"""What chapter 5 says of recorded runs holds in their tables, sentence by sentence."""

import numpy as np
import pandas as pd
from IPython.display import HTML

from intertwine import groups
from intertwine_book.results import interval
from intertwine_book.stories import efficientnet
from intertwine_book.stories import interpretability as story
from intertwine_book.stories.efficientnet import LITE_LAYERS
from intertwine_book.stories.interpretability import SIGMA, record

FIRST, SECOND, LINEAR = LITE_LAYERS.values()


def above(table: pd.DataFrame, *by: str) -> pd.Series:
    """Whether the interval of points lies above 0, by kind and so on."""
    return table.groupby(list(by))["points"].agg(lambda values: interval(values)[0] > 0)


def test_the_table_of_counts_has_a_row_for_each_layer():
    table = efficientnet.count_table()
    assert (
        isinstance(table, HTML)
        and table.data.count("<tr>") == 4
        and "random basis, equal areas" in table.data
    )


def test_small_networks_of_one_s_own_are_drawn_by_kind():
    figure = story.live(record("dissected").query("quantile == 0.02 and dataset == 'concepts'"))
    assert {axis.get_title() for axis in figure.axes} == {"ReLU", "no ReLU", "ConvNeXt"}


# networks trained on ImageNet


def changed(level: str, weights: str = "trained") -> pd.DataFrame:
    return efficientnet.changes().query("level == @level and weights == @weights").set_index("layer")


def test_with_the_usual_levels_a_random_basis_has_a_quarter_less_iou_after_the_first_relu6():
    assert 20 < efficientnet.relative_falls()[FIRST, "trained"] < 30
    change = changed("usual levels").loc[FIRST, "percent"]
    assert -30 < change.mean() < -20 and len(change) == 3 and change.max() < -20


def test_every_third_pixel_tells_what_all_of_them_do():
    third = changed("usual levels").groupby("layer")[["own", "random"]].mean()
    whole = efficientnet.curves().query("weights == 'trained'")
    whole = whole.pivot_table("percent", "layer", "alpha")[[0.0, 1.0]]
    assert abs(third.to_numpy() - whole.to_numpy()).max() < 0.02


def test_the_units_of_a_random_basis_select_a_third_fewer_pixels_with_the_usual_levels():
    areas = changed("usual levels").loc[FIRST]
    left = areas["random_area"] / areas["own_area"]
    assert 0.6 < left.min() < left.max() < 0.7


def test_with_equal_areas_no_fall_is_seen_on_average_after_the_first_relu6_and_at_the_linear_output():
    found = changed("equal areas")
    first, linear = found.loc[FIRST, "percent"], found.loc[LINEAR, "percent"]
    assert len(first) == 3 and first.between(0, 5).all()
    for both_signs in (linear, found.loc[FIRST, "filled"]):
        assert both_signs.min() < 0 < both_signs.max() and both_signs.abs().max() < 4
    assert found.loc[SECOND, "percent"].min() > 20 and found.loc[SECOND, "filled"].min() > 5


def test_with_equal_areas_untrained_networks_lose_a_little_after_the_first_relu6():
    assert changed("equal areas", "untrained").loc[FIRST, "percent"].between(-5, -2).all()


def test_three_sizes_of_one_network_have_no_interval_and_six_networks_have():
    lines = [line for axis in efficientnet.both_levels().axes for line in axis.lines]
    assert lines and not [line for line in lines if _is_interval(line)]
    assert [line for axis in story.inside_the_block().axes for line in axis.lines if _is_interval(line)]


def _is_interval(line) -> bool:
    """A horizontal line of some length."""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    return line.get_linestyle() != "None" and len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) == 0


def test_in_the_own_basis_many_units_select_no_pixel_after_the_second_relu6_and_none_in_a_random_one():
    found = changed("equal areas")
    assert found.loc[SECOND, "own_empty"].min() > 8 and found["random_empty"].max() < 0.1
    assert (found.loc[FIRST, "own_empty"] < 5).all() and (found.loc[LINEAR, "own_empty"] == 0).all()


def test_untrained_networks_change_less():
    assert efficientnet.falls().xs("untrained", level="weights").abs().max() < 0.05
    relative = efficientnet.relative_falls()[FIRST]
    assert relative["untrained"] < relative["trained"] / 2


def test_half_of_the_interpretable_units_are_lost_with_the_usual_levels_and_none_with_equal_areas():
    share = efficientnet.counted().xs("trained", level="weights")
    usual, equal = share["usual levels"], share["equal areas"]
    assert 0.4 < usual["random"][FIRST] / usual["own"][FIRST] < 0.6
    assert abs(usual["random"][LINEAR] - usual["own"][LINEAR]) < 0.5
    assert (equal["random"] > 0.97 * equal["own"]).all() and (equal["own"] > usual["own"]).all()


def test_the_levels_are_low_but_above_chance():
    assert efficientnet.curves()["percent"].max() < 3 and efficientnet.above_chance().min() > 10  # against 5


def test_with_the_usual_levels_the_iou_falls_at_every_stage_and_with_equal_areas_it_rises_in_the_last_two():
    change = efficientnet.changes("stage").query("weights == 'trained' and layer == @FIRST")
    points = change.set_index(["level", "stage"])["points"]
    assert len(points) == 30 and points["usual levels"].max() < 0 < points["equal areas"][[6, 7]].min()
    assert points["equal areas"][[3, 4, 5]].max() < 0


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


def test_on_drawn_scenes_with_equal_areas_training_adds_with_relu_and_gelu_and_not_with_tanh_or_none():
    table = story.at_equal_areas()
    assert set(table["dataset"]) == {"concepts"} and (table.groupby("kind").size() == 6).all()
    special = above(table, "kind")
    assert special[["ReLU", "GELU"]].all() and not special[["tanh", "no ReLU", "ConvNeXt"]].any()


def test_as_a_share_of_the_own_iou_training_adds_with_equal_areas_and_else_at_the_convolution_of_relu_alone():
    equal = {kind: interval(each) for kind, each in story.shares("equal_area").groupby("kind")}
    assert {kind for kind, (low, _) in equal.items() if low > 0} == {"ReLU", "GELU"}
    assert all(high > 0 for _, high in equal.values())
    usual = {kind: interval(each) for kind, each in story.shares().groupby("kind")}
    assert all(usual[kind][0] < 0 < usual[kind][1] for kind in ("ReLU", "GELU", "no ReLU", "ConvNeXt"))
    for layer in ("inside", "convolution"):
        lows = {kind: interval(each)[0] for kind, each in story.shares(layer=layer).groupby("kind")}
        assert [kind for kind, low in lows.items() if low > 0] == ["ReLU"] * (layer == "convolution")
    assert story.facts()["own-trained"] > 2 * story.facts()["own-untrained"]


def test_with_equal_areas_a_rotation_costs_iou_with_tanh_whether_trained_or_not():
    costs = -100 * story.at_equal_areas().query("kind == 'tanh'")[["trained", "untrained"]]
    assert all(interval(cost)[0] > 0.1 for _, cost in costs.items())


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
    convnext = story.inside("camvid").query("kind == 'ConvNeXt' and layer == 'convolution'")["points"]
    assert interval(convnext)[1] < 0


def test_the_rise_of_the_papers_figure_19_cannot_be_told():
    low, high = interval(story.figure_19())
    assert low < 0 < high and interval(story.figure_19("camvid"))[1] < 0


def test_with_true_masks_many_more_units_exceed_the_level_of_chance():
    found = story.true_masks()
    assert found["concepts"] > found["camvid"] > 20  # against 5


def test_with_tanh_the_iou_of_trained_and_untrained_networks_rises():
    rises = story.tanh_rises()
    assert len(rises) == 6 and (rises > 0).all(axis=None)
    assert interval(rises["trained"])[0] > 0 and interval(rises["untrained"])[0] > 0
