"""What chapter 4b says of recorded runs holds in their tables, sentence by sentence."""

import json
from pathlib import Path

import numpy as np
import pytest

from intertwine_book.figures.similarity_and_function import clouds, live
from intertwine_book.results import interval
from intertwine_book.stories import similarity_and_function as story
from intertwine_book.stories.similarity_and_function import record

RECORDED = Path(__file__).parents[1] / "data/results/desk/04b_similarity_and_function"


def test_a_run_of_one_s_own_has_the_curves_of_task_control_and_pressed():
    figure = live(record("curves_3"), record("curves_4"))
    assert [axis.get_ylabel() for axis in figure.axes] == ["accuracy, %", "CKA"]
    assert {text.get_text() for text in figure.axes[0].texts} == {"task", "control", "pressed"}


def test_clouds_are_drawn_in_order():
    figure = clouds(*np.eye(2) + np.zeros((3, 2, 2)), [True, False])
    assert [axis.get_title().split(":")[0] for axis in figure.axes] == ["a cloud", "stretched", "shuffled"]


# CKA and accuracy


def test_orthogonal_matrices_and_permutations_leave_cka_at_1_and_ruin_the_network():
    mean = story.stitches().groupby("way").mean().loc[["orthogonal", "permutations"]]
    assert (mean["cka"].round(2) == 1).all() and (mean["accuracy"] < 16).all()
    rotated = record("section_6_4").query("group == 'orthogonal'")
    assert rotated["cka_short_of_1"].max() < 1e-4
    assert (rotated.groupby("pair").size() == 5).all() and rotated["pair"].nunique() == 5
    assert (rotated["accuracy"] < 15).all()  # in each of five draws for each of five networks


def test_an_orthogonal_matrix_takes_networks_from_86_percent_to_10():
    facts = story.facts()
    assert (round(facts["unrotated"]), round(facts["rotated"])) == (86, 10)


def test_trained_for_cka_alone_a_stitch_is_nearer_by_cka_and_useless():
    found = record("objective")
    assert len(found) == 5 and (found["cka_chosen"] > found["cka_fitted"]).all()
    assert found["accuracy_chosen"].between(13, 22).all() and found["accuracy_fitted"].between(78, 82).all()


def test_stitches_that_were_trained_to_lower_cka_lose_a_few_points():
    pressed = story.last().query("weight > 0")
    assert len(pressed) == 5 and pressed["cka"].between(0.56, 0.74).all()
    assert pressed["accuracy"].between(80, 84.5).all() and story.cost().between(2, 6).all()


# experiment 3


def test_by_the_paper_s_training_accuracy_rises_and_cka_falls_in_each_of_five_pairs():
    rises, told = story.gained(), story.facts()
    assert len(rises) == 5 and (rises["accuracy"] > 2).all() and (rises["cka"] < 0).all()
    given = json.loads((RECORDED / "experiment_3.json").read_text())["parameters"]
    assert (given["stitch_epochs"], given["train_images"], given["test_images"]) == (30, 50000, 10000)
    assert set(record("figure_4")["layer"]) == {"bn3"} and record("figure_4")["epoch"].max() == 30
    low, high = interval(-rises["cka"])
    assert low < 0 < told["cka-falls"] < high


def test_most_of_the_gain_is_there_after_one_epoch_and_most_of_the_fall_of_cka_is_not():
    told, cka = story.facts(), record("figure_4").pivot(index="epoch", columns="pair", values="cka")
    fallen = cka.loc[0] - cka
    assert 80 < told["at-once-low"] < told["at-once-high"] < 100
    assert (fallen.loc[1] < fallen.loc[30] / 2).all() and (fallen.loc[1] > 0.01).sum() == 2
    assert ((fallen.loc[10] - fallen.loc[30]).abs() < 0.002).all()


def test_pairs_start_at_cka_that_differ_more_than_training_changes_it():
    told = record("experiment_3")
    assert np.ptp(told["cka_start"]) > (told["cka_start"] - told["cka_end"]).max()


def test_after_the_relu_cka_stays_near_its_start_by_the_same_training_and_accuracy_rises_in_each_pair():
    told, after = story.facts(), story.changed("figure_4_after")
    before, same = (
        json.loads((RECORDED / f"{name}.json").read_text()) for name in ("figure_4", "figure_4_after")
    )
    assert before["parameters"] == same["parameters"] and before["data_checksum"] == same["data_checksum"]
    assert set(record("figure_4_after")["layer"]) == {"relu3"} and len(after) == 5
    assert after["cka"].abs().max() <= story.strayed("figure_4_after") <= told["after-bound"] < 0.008
    assert (after["accuracy"] > 3).all() and told["after-above"] == 3


def test_in_four_of_five_pairs_cka_falls_more_before_the_relu_and_the_mean_is_not_established():
    side = story.changed("figure_4_after")["cka"] - story.gained()["cka"]
    told, (low, high) = story.facts(), interval(side)
    assert (side > 0.01).sum() == 4 and low < 0 < high
    assert told["side-least"] == -side.min() > 0 and told["side-low"] == side[side > 0].min()


def test_on_both_sides_the_stitch_moves_away_from_its_target_after_every_epoch_of_every_pair():
    for name in ("figure_4", "figure_4_after"):
        curves = record(name)[["pair", "r2_as_it_is", "r2_from_model2", "svcca"]].groupby("pair")
        for _, each in curves:
            assert (each.iloc[1:] < each.iloc[0]).drop(columns="pair").all(axis=None)


def test_in_a_short_run_after_the_relu_cka_ends_where_it_started():
    moved = story.changed("curves_3")["cka"]
    assert len(moved) == 5 and moved.abs().max() <= story.facts()["cka-bound"] < 0.005
    given = json.loads((RECORDED / "curves_3.json").read_text())["parameters"]
    assert (given["stitch_epochs"], given["train_images"]) == (10, 5000)


def test_the_activations_move_away_from_their_target_in_each_pair():
    assert (story.gained()["r2_as_it_is"] < 0).all()


def test_cca_and_the_share_of_b_that_is_explained_cannot_see_an_invertible_stitch():
    told = record("experiment_3")
    assert told["cca_moved"].max() < 1e-6 and told["r2_to_model2_moved"].max() < 1e-6


def test_in_the_other_order_r2_ends_below_its_start_and_of_flattened_images_it_is_high():
    assert (story.gained()["r2_from_model2"] < 0).all()
    assert (story.gained()["r2_flattened"] < 0).sum() == 4 and story.gained()["r2_flattened"].max() < 1e-3
    flat = record("figure_4")["r2_flattened"].min()
    assert story.facts()["flat-low"] <= flat > 0.9 and story.facts()["flat-moves"] < 0.01


def test_svcca_ends_lower_in_each_pair():
    assert (story.gained()["svcca"] < 0).all()


# experiment 4


def test_a_cka_below_three_quarters_costs_more_than_training_alike():
    found = record("experiment_4")
    assert len(found) == 5 and (found["lowest"] < 0.75).all() and (found["beyond_control"] > 2).all()
    assert record("curves_4")["epoch"].max() == 12  # the last, which cost() reads


def test_after_three_epochs_cka_is_lower_and_no_cost_is_seen():
    low, high = interval(story.cost(epoch=3))
    assert story.by_epoch().loc[3]["cka", 2.0] < 0.97 and low < 0 < high


# measures


def test_cka_finds_the_same_layer_and_cca_only_with_16_components():
    recorded = 100 * record("specificity").groupby("measure")["found"].mean()
    for measure in ("cka", "cca"):
        assert story.finds(measure) == pytest.approx(recorded[measure])
    assert recorded["cka"] > 95 and story.finds("cca_16") > 95 and recorded["cca"] < 20


def test_cca_finds_layer_1_always_layer_4_sometimes_and_no_other():
    found = record("specificity").query("measure == 'cca'").groupby("layer")["found"].mean()
    assert found["relu1"] == 1 and 0 < found["relu4"] < 0.3
    assert len(found) == 8 and (found.drop(["relu1", "relu4"]) == 0).all()


def test_from_layer_2_on_cca_finds_layers_of_another_width_most_similar():
    mean = record("layers").pivot_table("cca", "row", "column")
    width = {f"relu{k}": 16 if k < 3 else 32 if k < 6 else 64 for k in range(1, 9)}
    most = mean.idxmax(axis=1).drop("relu1")
    assert (most.map(width) != most.index.map(width)).all() and most["relu3"] == "relu2"


def test_no_measure_notices_before_a_linear_probe_has_lost_11_points():
    taken = record("sensitivity")
    assert not taken[taken["kept"] >= 0.25]["detected"].any()
    assert taken.groupby("network").ngroups == 6 and taken.query("kept == 0.25")["lost"].min() > 8
    assert 50 < story.facts()["probe-whole"] < 53  # of so many points


def test_procrustes_passes_its_bar_before_90_percent_and_grelu_cka_before_95():
    passes = record("sensitivity").pivot_table("ratio", "kept", "measure") > 1
    assert passes.loc[0.05, ["procrustes", "grelu cka"]].all() and passes.loc[0.1, "procrustes"]
    assert passes.sum().sum() == 3  # no other passes
    assert record("sensitivity").query("measure == 'procrustes' and kept == 0.1")["detected"].all()


def test_cca_never_moves_when_components_are_taken_away():
    assert record("sensitivity").query("measure == 'cca'")["dissimilarity"].abs().max() < 1e-6


def test_orthogonal_procrustes_is_as_good_as_any_in_both_tests():
    assert record("specificity").groupby("measure")["found"].mean().idxmax() == "procrustes"
    assert (
        record("sensitivity").query("kept == 0.1").groupby("measure")["ratio"].mean().idxmax() == "procrustes"
    )


# baseline


def test_cka_of_trained_stitches_lies_within_the_printed_spread():
    printed = {"tiny": (0.883, 0.050), "deep": (0.922, 0.098)}  # csiszarik2021 §6.3: mean and deviation
    for network, rows in story.mean_of_pairs().groupby("network"):
        mean, spread = printed[str(network)]
        assert len(rows) >= 4 and ((rows["cka"] - mean).abs() < spread).all()
