"""What chapter 4 says in words holds in its recorded tables."""

import pandas as pd
import pytest

from intertwine_book import results
from intertwine_book.figures.dissimilarity import CKA, PROCRUSTES, SHUFFLED, TRAINED, UNTRAINED
from intertwine_book.stories import dissimilarity as story

MEANS, FACTS = story.means(), story.facts()


@pytest.mark.parametrize("width", story.WIDTH_ENDINGS)
def test_similarity_under_rotations_is_above_that_under_the_group(width):
    trained = story.means(width).xs(TRAINED, level="what")
    assert (trained.xs("orthogonal", level="group") > trained.xs("G_ReLU", level="group")).all()


def test_in_every_pair_and_layer_rotations_score_more_than_the_group():
    for name in ("table_2", "figure_5_diagonal"):
        table = story.record(name)
        assert len(table) == 4 * FACTS["pairs"] and (table["orthogonal"] > table["grelu"]).all()


def test_procrustes_rises_from_layer_10_to_14_in_each_pair_of_width_64_and_falls_in_each_of_width_16():
    assert len(story.rise()) == FACTS["pairs"] > 2 and (story.rise() > 0).all()
    assert len(story.rise("width 16")) == 4 and (story.rise("width 16") < 0).all()
    assert len(story.rise("width 32")) == 2 and (story.rise("width 32").abs() < 0.002).all()


def test_procrustes_of_shuffled_images_does_not_start_at_0_and_cka_does():
    shuffled = MEANS.xs(SHUFFLED, level="what")
    assert shuffled[PROCRUSTES].min() > 0.3 and shuffled[CKA].max() < 0.01
    assert (shuffled[PROCRUSTES].unstack().idxmax(axis=1) == 3).all()  # the narrowest layer
    assert (shuffled[PROCRUSTES] < 0.416).mean() > 0.5


def test_more_than_half_of_procrustes_is_null():
    shuffled = MEANS[PROCRUSTES].xs(SHUFFLED, level="what").unstack("layer")
    assert (shuffled > story.above(PROCRUSTES, SHUFFLED)).all(axis=None)


@pytest.mark.parametrize("width", story.WIDTH_ENDINGS)
def test_above_its_null_too_it_rises_at_width_64_falls_at_16_and_hardly_changes_at_32(width):
    low, high = {"width 16": (-1, 0), "width 32": (-0.004, 0.004), "width 64": (0, 1)}[width]
    assert story.rise(width, above_null=True).between(low, high, inclusive="neither").all()


def test_the_networks_of_all_widths_have_one_recipe_and_see_as_many_images():
    for name in ("table_2", "figure_5_diagonal", "table_2_untrained", "untrained"):
        made = [
            results.recorded("04_dissimilarity", f"{name}{end}")["desk"][1]["parameters"] | {"width": 0}
            for end in story.WIDTH_ENDINGS.values()
        ]
        assert made[0] == made[1] == made[2]


def test_matching_images_score_more_by_procrustes_than_shuffled_ones():
    assert (story.above(PROCRUSTES, SHUFFLED) > 0.09).all(axis=None)


def test_training_adds_little_to_linear_cka_at_width_64():
    gain = story.above(CKA, UNTRAINED)
    assert gain.loc["orthogonal"].abs().max() == FACTS["linear-gain"] < 0.05
    assert FACTS["linear-10"] > FACTS["linear-fresh-10"] > FACTS["linear-fresh-low"]


def test_that_of_the_group_falls_at_layers_6_10_and_14_most_at_10():
    gain = story.above(CKA, UNTRAINED).loc["G_ReLU"]
    assert (gain[[6, 10, 14]] < -0.05).all() and gain.idxmin() == 10


def test_at_layers_6_10_and_14_every_untrained_pair_is_more_alike_under_the_group_than_every_trained_one():
    tables = (story.record(name) for name in ("untrained", "figure_5_diagonal"))
    untrained, trained = (table.pivot(index="pair", columns="layer", values="grelu") for table in tables)
    assert (untrained.min() > trained.max())[[6, 10, 14]].all()


def test_of_what_untrained_pairs_leave_to_1_training_fills_most_at_layer_3_and_little_at_10_and_14():
    left = 1 - MEANS[CKA, "orthogonal", UNTRAINED]
    filled = story.above(CKA, UNTRAINED).loc["orthogonal"] / left
    assert filled[3] > 0.75 and filled[[10, 14]].between(0.12, 0.22).all() and 0.4 < filled[6] < 0.6
    each = story.added("width 64")
    assert all(low < 0 < high for low, high in (results.interval(each[layer]) for layer in each))


def test_at_layers_6_10_and_14_every_untrained_pair_scores_more_by_procrustes_than_every_trained_one():
    fresh, trained = (story.record(name) for name in ("table_2_untrained", "table_2"))
    assert fresh["pair"].nunique() == FACTS["pairs"]
    assert (story.above(PROCRUSTES, UNTRAINED)[[6, 10, 14]] < -0.04).all(axis=None)
    for group in ("grelu", "orthogonal"):
        fresh_by, trained_by = (
            t.pivot(index="pair", columns="layer", values=group) for t in (fresh, trained)
        )
        assert (fresh_by.min() > trained_by.max()).loc[[6, 10, 14]].all()


def test_each_above_its_own_null_trained_and_untrained_pairs_score_nearly_the_same():
    assert FACTS["procrustes-most"] < 0.06 and FACTS["linear-gain"] < 0.05
    assert FACTS["fresh-null-low"] > 0.41 and FACTS["null-low"] < 0.34  # of untrained and of trained pairs
    alike = story.gains().groupby(["panel", "group", "layer"])["value"].mean()[CKA, "G_ReLU"]
    assert (alike.loc[[6, 10, 14]] < -0.05).all()


def test_at_layer_14_what_is_above_the_null_is_a_third_more_in_trained_pairs():
    fresh = story.record("table_2_untrained").query("layer == 14")
    assert FACTS["over-fresh-14"] == pytest.approx((fresh["grelu"] - fresh["grelu_null"]).mean())
    assert 1.3 < FACTS["over-14"] / FACTS["over-fresh-14"] < 1.4


def test_the_printed_procrustes_similarities_after_layer_3_are_below_those_of_untrained_pairs():
    printed = (
        story.printed().query("panel == @PROCRUSTES and layer > 3").set_index(["group", "layer"])["value"]
    )
    fresh = MEANS[PROCRUSTES].xs(UNTRAINED, level="what")
    assert (printed < fresh[printed.index]).all()


def test_beside_batch_norms_as_they_start_training_raises_the_cka_of_the_group_but_at_layer_10():
    assert FACTS["gain-as-started-6"] > 0.05 and FACTS["gain-as-started"] > 0.3
    as_started = story.record("untrained_as_started").query("layer == 10")["grelu"].item()
    assert abs(MEANS[CKA, "G_ReLU", TRAINED, 10] - as_started) < 0.01


def test_as_a_share_of_what_the_null_leaves_procrustes_of_trained_pairs_is_up_to_a_seventh_lower():
    assert (story.share_gains() < 0.05).all() and 0.1 < FACTS["share-loss"] < 0.2


def test_untrained_pairs_exceed_their_null_by_more_at_layers_3_and_10_and_by_less_at_layer_14():
    by = story.gains().query("panel == @PROCRUSTES").groupby(["layer", "group"])["value"].mean().unstack()
    assert (by.loc[[3, 10]] < 0).all(axis=None) and (by.loc[14] > 0).all()


def test_in_narrower_networks_training_adds_more_to_linear_cka_on_average_over_layers_in_each_pair():
    narrow, half, wide = (story.added(width).mean(axis=1) for width in story.WIDTH_ENDINGS)
    assert (len(narrow), len(half), len(wide)) == (4, 2, FACTS["pairs"])
    assert narrow.min() > half.max() and half.min() > wide.max() and FACTS["gain-apart"] > 0
    assert story.added("width 32")[3].mean() < story.added("width 64")[3].mean()


def test_the_cka_of_the_group_falls_at_width_32_from_layer_6_on_and_at_width_16_no_layer_is_decided():
    assert (story.added("width 32", "G_ReLU")[[6, 10, 14]] < 0).all(axis=None)
    narrow = story.added("width 16", "G_ReLU")
    assert len(narrow) == 4
    for layer in narrow:
        low, high = results.interval(narrow[layer])
        assert low < 0 < high and narrow[layer].min() < 0 < narrow[layer].max()


def test_at_width_16_training_adds_in_each_pair_to_linear_cka_and_after_layer_3_to_procrustes():
    assert story.record("table_2_untrained_width_16")["pair"].nunique() == 4
    table = story.gains("width 16")
    assert (table.query("panel == @CKA and group == 'orthogonal'")["value"] > 0).all()
    assert (table.query("panel == @PROCRUSTES and layer > 3")["value"] > 0).all()
    assert 0 < FACTS["narrow-procrustes-gain-low"] < FACTS["narrow-procrustes-gain"]


def test_dividing_channels_by_their_norm_changes_linear_cka_by_less_than_0_03():
    table = story.record("figure_5_diagonal")
    assert (table["orthogonal"] - table["normalised"]).abs().max() < 0.03


def test_as_printed_translations_alone_move_the_measures_and_corrected_nothing_does():
    worst = story.record("lemma_5_1").groupby(["version", "action"])["change"].max()
    assert (worst["as printed"].drop("translations") < 1e-12).all() and (worst["corrected"] < 1e-12).all()
    assert worst["as printed", "translations"] > 0.1


def test_property_ii_holds_without_a_translation_and_when_centred():
    short = story.record("property_ii").groupby(["version", "v"])["short_of_1"].max()
    assert short[:, "0"].max() < 1e-12 > short["corrected"].max() and short["as printed", "random"] > 0.1


def test_a_third_to_a_half_of_the_eigenvalues_are_negative_and_small():
    spectra = story.record("lemma_5_5").query("features != 'by hand'")
    assert (
        len(spectra) == 4 and spectra["negative"].between(0.3, 0.5).all() and spectra["energy"].max() < 0.02
    )


def test_cka_of_four_points_is_minus_1():
    assert story.record("definition_5_3").query("features == 'by hand'")["value"].item() == pytest.approx(-1)


def test_where_stitching_is_hard_is_told_at_width_64_by_layer_10_alone_and_the_reverse_at_width_16():
    assert len(story.correlations()) == 4 and (story.correlations() < 0).all()
    assert sorted(story.correlations(10) > 0) == [False, False, True, True]
    narrow = story.record("table_2_with_figure_1_width_16")["rank_correlation"]
    assert len(narrow) == 4 and (narrow > 0).all()


@pytest.mark.parametrize("measure", ["G_ReLU-CKA", "linear CKA"])
def test_a_layer_resembles_the_same_layer_of_the_other_network_most_and_others_by_depth(measure):
    found = story.record("figure_5").query("measure == @measure")
    square = found.pivot_table(index="row", columns="column", values="value")
    for k, line in [*enumerate(square.to_numpy()), *enumerate(square.T.to_numpy())]:
        assert (line[1 : k + 1] > line[:k]).all() and (line[k + 1 :] < line[k:-1]).all()
    if measure == "G_ReLU-CKA":
        assert square.loc[10, 3] > square.loc[10, 14]
    pairs = [part.pivot(index="row", columns="column", values="value") for _, part in found.groupby("pair")]
    most = [(of.idxmax(axis=axis) == of.index) for of in pairs for axis in (0, 1)]
    assert len(most) == 8 and sum((~of).any() for of in most) == (1 if measure == "G_ReLU-CKA" else 0)
    assert sum((~of).sum() for of in most) == (2 if measure == "G_ReLU-CKA" else 0)


def test_in_each_of_four_pairs_the_same_depth_is_more_alike_and_the_last_layer_less_than_the_first():
    depths, ends = story.record("figure_5_depth"), story.record("figure_5_ends")
    assert len(depths) == 4 and (depths["same_depth"] > depths["other_depth"] + 0.1).all()
    assert (pd.concat([depths, ends])["first_layer"] > pd.concat([depths, ends])["last_layer"]).all()


def test_untrained_pairs_of_width_64_fall_from_the_first_layer_to_the_last_about_half_as_far():
    for group in ("orthogonal", "grelu"):
        tables = (story.record(name) for name in ("untrained", "figure_5_diagonal"))
        wide = [table.pivot(index="pair", columns="layer", values=group) for table in tables]
        fresh, trained = ((table[3] - table[14]).mean() for table in wide)
        assert 0.35 < fresh / trained < 0.6


def by_place(measure):
    layers = story.same_layers().query("measure == @measure")
    return layers.pivot_table("value", ["what", "pair"], "place")


def test_ends_of_blocks_are_more_alike_than_layers_inside_in_each_of_eight_published_pairs():
    trained = by_place("G_ReLU-CKA").loc[TRAINED]
    assert len(trained) == 8 and (trained["at-ends"] > trained["inside"] + 0.05).all()


def apart(measure):
    """How much more the ends of blocks are alike than the insides: a row a pair, trained and untrained."""
    found = by_place(measure)
    return (found["at-ends"] - found["inside"]).unstack("what")


def test_two_thirds_of_the_difference_of_ends_and_insides_come_with_training_and_half_in_linear_cka():
    group, linear = apart("G_ReLU-CKA"), apart("linear CKA")
    assert results.interval(group[UNTRAINED])[1] < results.interval(group[TRAINED])[0]
    assert 0.6 < 1 - group[UNTRAINED].mean() / group[TRAINED].mean() < 0.72
    assert 0.45 < 1 - linear[UNTRAINED].mean() / linear[TRAINED].mean() < 0.55


def test_at_layers_32_and_56_there_is_hardly_a_dip():
    layers = story.same_layers().query("measure == 'G_ReLU-CKA' and what == @TRAINED")
    means = layers.groupby("layer", sort=False)["value"].mean()
    names = [*means.index]
    dips = {
        name: (means.iloc[[k - 1, k + 1]].mean() - means.iloc[k])
        for k, name in enumerate(names)
        if "*" in name
    }
    assert max(dips["32*"], dips["56*"]) < 0.05 < min(dips[name] for name in ("16*", "24*", "40*", "48*"))


def test_training_adds_to_linear_cka_of_resnets_at_every_layer_on_average_and_least_in_the_first_stage():
    means = story.same_layers().query("measure == 'linear CKA'").groupby(["what", "layer"])["value"].mean()
    gain = means[TRAINED] - means[UNTRAINED]
    number = gain.index.str.strip("*").astype(int)
    stages = gain.groupby([1 if n <= 27 else 2 if n <= 51 else 3 for n in number]).mean()
    assert gain.min() > 0 and stages[1] < stages[2:].min()


@pytest.mark.parametrize("width", story.WIDTH_ENDINGS)
def test_untrained_pairs_are_less_alike_in_the_last_layer_as_well(width):
    untrained = story.record(f"untrained{story.WIDTH_ENDINGS[width]}")
    layers = untrained.pivot(index="pair", columns="layer", values="grelu")
    assert len(layers) == (2 if width == "width 32" else 4) and (layers[14] < layers[3]).all()


def test_similarities_of_table_2_move_with_the_recipe_by_more_than_the_scoreboard_lets_pass():
    tables = {
        name: story.record(name).groupby("layer")["grelu"].mean() for name in ("table_2", "table_2_stitched")
    }
    moved = (tables["table_2"] - tables["table_2_stitched"]).abs()
    assert (moved.loc[[6, 10, 14]] > 0.01).all()  # 24 epochs instead of 20; the images change it by 0.001


def test_the_three_orderings_of_table_2_hold_for_both_recipes():
    for name in ("table_2", "table_2_stitched"):
        table = story.record(name).set_index(["pair", "layer"])
        assert (table["orthogonal"] > table["grelu"]).all()
        by = table["grelu"].unstack()
        assert (by[3] > by[10]).all() and (by[14] > by[10]).all()
