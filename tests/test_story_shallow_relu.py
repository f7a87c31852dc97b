"""The sentences of chapter 7 hold in its recorded tables, and in the library where they are mathematics."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from helpers import generator

from intertwine import shallow
from intertwine.shallow import ShallowReLU, same_function
from intertwine_book.stories import shallow_relu as story

hidden = story.record("density").groupby("size")["hidden"]  # size 0 stands for Gaussian weights
sizes = [size for size in hidden.groups if size]


@pytest.mark.parametrize("statement", story.TRIED)
def test_no_case_contradicts_a_statement(statement):
    name, columns, _ = story.TRIED[statement]
    assert story.record(name)[columns].all(axis=None) and len(story.cases(statement))


def test_only_cases_that_meet_a_premise_count():
    counts = {statement: len(story.cases(statement)) for statement in story.TRIED}
    assert counts["Corollary 9: stabilisers that are not trivial"] == 15
    assert counts["Proposition 24: one orbit"] < 1300 < len(story.record("fibres"))
    one = story.cases("Proposition 24: one orbit")  # its conclusion was searched, not derived
    assert (one["configurations"] == 1).all()


def test_a_verdict_is_different_above_the_tolerance_and_equal_below_it():
    verdict = story.record("rounding").set_index("ε")["verdict"]
    assert (verdict[verdict.index > 5e-9] == "different").all()
    assert (verdict[verdict.index < 2e-10] == "equal").all()


def test_the_hierarchy_is_strict():
    rows = story.record("hierarchy").set_index("function")
    assert rows["generic"].tolist() == [True, True, False, False, False]
    assert rows["no_zero_factors"].tolist() == [True, True, True, False, False]
    assert rows["stabilizer_trivial"].tolist() == [True, True, True, True, False]


def test_lines_in_general_position_and_regions_that_differ_do_not_identify_globally():
    found = story.record("grigsby").iloc[0]
    assert found["refutes"] and found["regions"] == found["functions"]


def test_half_of_the_networks_with_weights_of_minus_one_zero_and_one_have_dozens_of_sets_to_flip():
    assert hidden.median()[1] > 24 and 1 + hidden.max().max() <= comb(12, 6)
    assert set(hidden.size()) == {story.facts()["per-size"]} == {300}


def test_most_networks_of_weights_minus_one_zero_and_one_have_two_neurons_on_one_hyperplane():
    drawn, told = story.record("apart"), story.facts()
    assert len(drawn) == told["tried-apart"] == 1500 and 12 < told["share-apart"] < 18
    assert 0.4 < (drawn["reduced_apart"] & ~drawn["apart"]).mean() + drawn["apart"].mean() < 0.55


def test_where_each_set_is_a_further_symmetry_half_of_the_networks_still_have_dozens_and_merged_ones_ten():
    told = story.facts()
    assert told["median-apart"] > 24 and told["median-merged"] == 10 and 40 < told["share-merged"] < 55
    drawn = story.record("apart")
    assert (drawn.loc[drawn["apart"], "reduced_neurons"] == 12).all()  # nothing to merge
    assert (drawn.loc[drawn["apart"], "hidden"] == drawn.loc[drawn["apart"], "reduced_hidden"]).all()


def test_merging_keeps_the_function_of_the_networks_that_were_counted():
    draw = generator(5)  # as the table draws them
    for row in story.record("apart").head(5).itertuples():
        p = shallow.random_network(12, 3, 1, 1, generator=draw)
        reduced = shallow.zero_factor_reduction(p)
        assert (reduced.n, shallow.hidden_symmetries(p).count) == (row.reduced_neurons, row.hidden)
        assert same_function(p, reduced).equal


def test_each_set_is_a_hidden_symmetry_once_the_biases_keep_all_hyperplanes_apart():
    p = shallow.random_network(12, 3, 1, 1, generator=generator(0))
    apart = ShallowReLU(p.W, [Fraction(1, k + 3) for k in range(12)], p.V, p.c)
    assert len(np.unique(shallow.arrangement(apart).labels)) == 12
    sets = shallow.hidden_symmetries(apart)
    assert sets.count == shallow.hidden_symmetries(p).count > 0
    flipped = shallow.flip(apart, next(iter(sets)))
    assert same_function(apart, flipped).equal
    assert not np.array_equal(shallow.minimal_form(apart).rows, shallow.minimal_form(flipped).rows)


def test_of_600_networks_of_one_to_five_neurons_69_have_more_than_one_orbit():
    found = story.record("identifiability")
    assert set(found["neurons"]) == {1, 2, 3, 4, 5} and (found["orbits"] == found["flips"]).all()
    told = story.facts()
    assert (told["one-orbit"], told["several-orbits"], told["most-orbits"]) == (531, 69, 4)
    assert told["one-orbit"] + told["several-orbits"] == told["identified"]


def test_from_8_on_at_most_one_network_in_a_hundred_has_any_and_none_at_64():
    some = hidden.agg(lambda counts: (counts > 0).mean())
    assert some.loc[8:].max() <= 0.01 and some[64] == 0
    assert (hidden.median()[[size for size in sizes if size >= 4]] == 0).all()


def test_all_networks_with_gaussian_weights_are_generic():
    gaussian = story.record("density").query("size == 0")
    assert gaussian["generic"].all() and not gaussian["hidden"].any()


FACTS, NEURONS = story.facts(), story.neurons()


def test_with_decay_each_network_lies_near_a_degenerate_one_in_four_ways_and_without_none_does_in_any():
    assert FACTS["networks-told"] == 4
    assert f"{FACTS['furthest-usual']:.4f}" == "0.0023" and f"{FACTS['nearest-none']:.3f}" == "0.048"
    assert (
        story.distances().loc["decay 0.0001", "max"].max() * 20
        < story.distances().loc["decay 0", "min"].min()
    )


def test_the_neurons_that_shrink_are_those_that_never_fire():
    decayed = NEURONS[NEURONS["network"] == "decay 0.0001"]
    assert decayed.loc[decayed["input"] < 0.02, "silent"].all()
    flat = story.record("degeneracy").query("network == 'decay 0.0001' and distance == 'constant'")
    nearest = flat.groupby("neurons")["value"].agg(["min", "max"])
    assert nearest.loc["all", "max"] < 1e-4 and nearest.loc["active", "min"] > 0.1


def test_decay_makes_neurons_stop_firing_and_shrinks_those_that_do_not_fire():
    sizes = NEURONS.groupby(["network", "silent"])["input"].median().unstack()
    sizes = sizes.loc[[*story.DECAYS.values()]]
    ratio = sizes[True] / sizes[False]
    assert sizes[False].is_monotonic_decreasing  # those that fire become smaller, too
    assert ratio.is_monotonic_decreasing and sizes.loc["decay 0", True] > 1 and ratio.iloc[-1] < 1e-30
    silent = NEURONS.groupby(["network", "trial"])["silent"].sum().unstack()
    assert (silent.loc["decay 0.0001"] > 3 * silent.loc[["decay 0", "decay 1e-05"]].max()).all()
    assert (silent.loc["decay 0.001"] >= 2 * silent.loc["decay 0.0001"]).all()
    assert silent.loc["decay 0.0001"].between(64 / 3 - 1, 64 / 3 + 2).all()  # a third


def test_without_the_neurons_that_never_fire_decay_still_brings_every_network_nearer_in_four_ways():
    active = story.distances("active")
    assert len(active.loc["decay 0"]) == 4
    assert (active.loc["decay 0.0001", "max"] < active.loc["decay 0", "min"]).all()
    strong = active.loc["decay 0.001", "max"] < active.loc["decay 0", "min"]
    assert strong.index[strong].tolist() == ["constant"]


def test_without_the_neurons_that_never_fire_every_network_is_certified_generic():
    for name, network in story.DECAYS.items():
        assert story.certified(network, "active") == 4 == FACTS["certified-none"]
        assert FACTS[f"certified-{name}"] == story.certified(network)
    assert FACTS["active-usual"] > 0.001
    known = story.record("degeneracy").query("distance == 'σ_min'")
    assert (known["generic"] == known["value"].notna()).all()


def test_the_weights_of_neurons_that_never_fire_are_zero_to_rounding_at_the_strongest_decay():
    assert FACTS["silent-size-strong"] < 1e-30


def test_seven_of_ten_activations_have_a_linear_odd_part():
    flips = story.record("flips").set_index("activation")
    assert len(flips) == 10 and flips.index[~flips["holds"]].tolist() == ["ELU", "Mish", "tanh"]
    kappa = flips["kappa"].dropna()
    expected = dict.fromkeys(flips.index[:7], 1.0) | {"LeakyReLU": 1.01, "abs": 0.0}
    assert kappa.to_dict() == pytest.approx(expected, abs=1e-9)


def test_a_pair_can_leave_a_hyperplane_and_appear_on_a_parallel_one():
    pair = ShallowReLU([[1], [-1]], [0, 0], [[1, -1]], [0])
    moved = same_function(pair, ShallowReLU([[1], [-1]], [3, -3], [[1, -1]], [-3]))
    assert moved.equal and moved.symmetry.transfers.tolist() == [[1, -1]]


def test_the_networks_that_compute_the_absolute_value_have_two_dimensions_and_two_pieces():
    fibre = shallow.fibre(ShallowReLU([[1], [-1]], [0, 0], [[1, 1]], [0]))
    assert (fibre.dimension, fibre.components) == (2, 2)


@pytest.mark.parametrize(("weights", "least"), [((3, 1, 2), 3), ((3, 1, 1), 4)])
def test_three_neurons_suffice_where_the_weights_split_into_halves_of_equal_sum(weights, least):
    b = [side * t for t in range(3) for side in (-1, 1)]  # Σ a |x − t|, two neurons a term
    p = ShallowReLU([[1], [-1]] * 3, b, [[a for a in weights for _ in range(2)]], [0])
    found = shallow.compress(p)
    assert found.network.n == least and found.optimal
