"""Sentences of chapter 1d hold in its recorded tables."""

import torch

from intertwine.weightspace import find_symmetries
from intertwine_book import models
from intertwine_book.results import interval
from intertwine_book.stories import orbits as story


def test_with_an_outlier_a_rotation_makes_the_error_smaller_and_without_one_it_wins_nothing_from_4_bits_on():
    facts, won = story.facts(), story.won()
    assert 1.4 < facts["won"] < 2 and 0.5 < facts["won-bits"] < 0.8
    for _, network in story.record("rotated").query("outlier").groupby("trial"):  # 0.7 bits more would do it
        errors = network.pivot(index="bits", columns="way", values="error")
        assert errors.loc[4, "rotated"] > errors.loc[5, "as trained"]  # one bit more would do better
    assert (won.loc[True, 4] > 1.2).all()
    for bits in (4, 5, 6, 8):
        low, _ = interval(won.loc[False, bits])
        assert low < 1 and won.loc[False, bits].mean() < 1.02


def test_principal_axes_win_at_3_bits_only_and_lose_without_an_outlier():
    mean = story.rotated()
    assert (mean["principal axes"] > mean["rotated"]).all()
    win = mean["principal axes"] < mean["as trained"]
    assert win[win].index.tolist() == [(True, 3)]


def test_with_8_bits_all_three_have_as_many_digits_right():
    right = story.rotated("accuracy").loc[True]
    assert right.loc[8].max() - right.loc[8].min() < 1
    assert (right.loc[[3, 4], "rotated"] > right.loc[[3, 4], "as trained"] + 3).all()


def test_equalising_repairs_a_random_scaling_from_4_bits_on():
    errors = story.equalised()
    assert (errors["scaled at random"] > errors["equalised"]).loc[4:].all()


def test_equalising_lowers_the_mean_error_at_all_bit_widths_and_the_intervals_overlap():
    for _, errors in story.equalised().groupby("bits"):
        assert errors["equalised"].mean() < errors["as trained"].mean()
        assert interval(errors["as trained"])[0] < interval(errors["equalised"])[1]


def test_halfway_to_a_match_lies_a_good_network_once_batch_norm_is_reestimated():
    half, ends = story.between(0.5), story.between(0.0).mean()
    assert (half.loc["matched"] > half.loc["as trained"] + 20).all()
    assert half.loc["matched", "re-estimated"] > ends["re-estimated"] - 3
    assert half.loc["matched", "interpolated"] < ends["interpolated"] - 20


def test_matching_by_weights_bears_noise_that_matching_by_activations_does_not():
    units = story.record("noise").pivot(index="noise", columns="by", values="units")
    assert units["weights"].min() > 90
    assert units.loc[1.0, "activations"] < 60


def test_chance_is_one_unit_in_each_hidden_space():
    network = models.resnet20(4, in_channels=1, option="B").double().eval()
    spaces = find_symmetries(network, torch.randn(1, 1, 8, 8).double()).spaces
    assert 100 * len(spaces) / sum(space.size for space in spaces) == story.CHANCE
