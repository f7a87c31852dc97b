"""The experiments on shallow networks can fail: each says so when what it tries is broken."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
import torch

from intertwine import shallow
from intertwine.shallow import ShallowReLU
from intertwine_book.experiments.shallow_relu import identifiability, other_activations, stabilizers, theorems


def random() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("wrong", [True, False, None])
def test_a_wrong_verdict_is_seen(monkeypatch, wrong):
    right = theorems.same_function
    monkeypatch.setattr(theorems, "same_function", lambda p, q: replace(right(p, q), equal=wrong))
    table = theorems.verdicts(2, generator=random())
    assert not table["holds"].all() and (table["holds"] <= (table["equal"] == wrong)).all()


def test_a_wrong_reduction_of_the_difference_is_seen(monkeypatch):
    table = theorems.differences(3, generator=random())
    assert table[["lemma_17", "theorems_3_4"]].all(axis=None)
    flipped = table.query("kind == 'hidden flips' and equal")
    assert not flipped["empty"].any() and flipped["vanishes"].all()  # what Lemma 17 alone does not see
    monkeypatch.setattr(theorems, "reduce_difference", lambda p, q: shallow.DifferenceReduction(True, False))
    table = theorems.differences(3, generator=random())
    assert not table["lemma_17"].all() and not table["theorems_3_4"].all()


def test_too_many_orbits_or_directions_are_seen(monkeypatch):
    table = identifiability.identifiability(15, generator=random())
    assert (table["orbits"] <= table["bound"]).all() and (table["bound"] <= 2 ** (table["neurons"] - 1)).all()
    assert table[["as_predicted", "locally"]].all(axis=None)
    monkeypatch.setattr(identifiability, "hidden_symmetries", lambda p: shallow.HiddenSymmetries(0, "none"))
    monkeypatch.setattr(identifiability, "functional_dimension", lambda *_: SimpleNamespace(fibre=9))
    table = identifiability.identifiability(15, generator=random())
    assert not table["as_predicted"].all() and not table["locally"].any()


def test_a_wrong_symmetry_is_seen(monkeypatch):
    off = lambda self: ShallowReLU(self.q.W, self.q.b, self.q.V, self.q.c + 1)  # noqa: E731
    monkeypatch.setattr(shallow.Symmetry, "image", off)
    table = theorems.verdicts(2, generator=random())
    assert not table[table["equal"]]["certified"].any() and table[~table["equal"]]["certified"].all()


def test_a_reduction_that_changes_the_function_is_seen(monkeypatch):
    right = theorems.zero_factor_reduction

    def off(p: ShallowReLU) -> ShallowReLU:
        q = right(p)
        return ShallowReLU(q.W, q.b, q.V, q.c + Fraction(1, 10**30))

    monkeypatch.setattr(theorems, "zero_factor_reduction", off)
    table = theorems.reductions(2, generator=random())
    assert not table["function"].any() and table["unique"].all()


def test_wrong_answers_on_fibres_are_seen(monkeypatch):
    monkeypatch.setattr(theorems, "hidden_symmetries", lambda p: shallow.HiddenSymmetries(0, "none"))
    table = theorems.fibres(60, generator=random())
    assert not table["proposition_24"].all() and table["corollary_9"].all()


def test_two_cycles_are_too_few_for_three_blocks():
    table = stabilizers.stabilizers(30, generator=random())
    assert table["holds"].all()
    assert (table["two_cycles"] == (table["cycles"] <= 2)).all() and table["two_cycles"].nunique() == 2


def test_flips_need_a_linear_odd_part():
    table = other_activations.flips(["ReLU", "LeakyReLU", "Hardswish", "ELU", "Mish"], generator=random())
    assert table["holds"].tolist() == [True] * 3 + [False] * 2
    assert table["kappa"].isna().tolist() == [False] * 3 + [True] * 2
