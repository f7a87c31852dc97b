"""What sentences of chapter 6b say of its recorded runs, and of the two LeNets."""

import pytest
import torch

from intertwine import genni
from intertwine_book import models
from intertwine_book.stories import genni_lenet as story
from intertwine_book.stories.genni_lenet import losses, record

AUTHORS, OURS = (torch.tensor(losses(plane)) for plane in ("authors", "varying"))
RANDOM, DEFAULT = story.counted("random"), story.counted("default")
PICTURES = RANDOM.groupby("set")["drawn"].agg(list)


def pieces(inside):
    return genni.components(inside).max().item()


def test_on_a_third_of_the_plane_the_network_returns_0_its_centre_among_them_and_it_never_fits_the_target():
    zero = losses("authors", "zero")
    assert zero[40, 40] == 1 and 0.3 < zero.mean() < 0.36 and AUTHORS.min() > 0.9
    assert not losses("varying", "zero").any()


def test_the_wide_region_contains_the_networks_that_return_0_and_others_of_twenty_times_the_outputs():
    printed = story.facts()["printed"]
    inside = printed > AUTHORS
    assert inside[torch.tensor(losses("authors", "zero")) == 1].all()
    assert pieces(inside) == pieces(printed > OURS) == 1 and not (AUTHORS < 0.1).any()
    assert story.facts()["varying-inside"] > 80  # the threshold alone makes a region wide
    assert printed**0.5 - 1 == pytest.approx(20, abs=1)  # a network that is n times the target has (n − 1)²


def test_more_than_half_of_the_wide_region_is_not_the_zero_function():
    assert story.facts()["not-zero"] > 50


def test_the_good_networks_form_three_islands_with_a_solution_on_each():
    islands = genni.components(OURS < 0.1)
    solutions = record("plane_solutions").query("plane == 'varying'")[["t1", "t2"]].to_numpy()
    places = torch.from_numpy((solutions + 13) / 26 * 80).round().long()
    assert sorted(islands[tuple(places.T)].tolist()) == [1, 2, 3] and islands.max() == 3


def test_the_islands_last_to_a_tenth_and_two_of_them_have_joined_at_three():
    counts = [pieces(epsilon > OURS) for epsilon in (0.01, 0.03, 0.1, 0.3, 0.5)]
    assert counts == [3, 3, 3, 2, 2]


def test_from_its_default_start_umap_keeps_the_number_in_every_picture_and_from_random_ones_in_15_of_20():
    told = story.facts()
    assert told["kept-default"] == told["pictures"] == len(DEFAULT) == len(RANDOM) == len(story.SETS) * 5
    assert told["kept-random"] == 15 == told["pictures"] - told["changed"]
    for counted in (RANDOM, DEFAULT):  # the sample does not change the number: UMAP does
        assert (counted["sampled"] == counted["on_the_grid"]).all() and counted["seed"].nunique() == 5
    assert (DEFAULT["drawn"] == DEFAULT["on_the_grid"]).all()
    same = ["set", "seed", "on_the_grid", "sampled"]  # the pictures of both starts are of the same points
    assert RANDOM[same].to_numpy().tolist() == DEFAULT[same].to_numpy().tolist()


def test_figure_3a_is_one_piece_and_two_in_three_pictures_and_two_slopes_have_two_seen_as_two_one_or_three():
    grid = RANDOM.groupby("set")["on_the_grid"].agg(set)
    assert grid["figure 3a"] == {1} and PICTURES["figure 3a"].count(2) == 3
    assert grid["live, 3D"] == {2} and set(PICTURES["live, 3D"]) == {1, 2, 3}


def test_the_lenet_has_two_pieces_in_three_dimensions_at_a_half():
    assert set(record("umap").query("set == 'LeNet, live'")["on_the_grid"]) == {2}


def test_both_printed_thresholds_admit_the_zero_function():
    assert min(story.facts()["printed-3a"], story.facts()["printed-3b"]) > 1


def test_the_lenet_has_43_661_parameters_and_226_scalings_ours_113():
    small = models.lenet(1, output_relu=False, size=16)
    counts = [sum(layer.channels for layer in net.hidden_layers()) for net in (models.lenet(), small)]
    assert counts == [226, 113]
    assert (
        record("lenet")["parameters"].item() == sum(p.numel() for p in models.lenet().parameters()) == 43_661
    )
