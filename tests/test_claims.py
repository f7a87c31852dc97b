"""Laws of the verdicts: they follow the tables, and know at which scale they were reached."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intertwine_book import claims, results
from intertwine_book.claims import verdicts
from intertwine_book.claims.ledger import claim_from

CHAPTER = "01_intertwiner_groups"
BASE = {"id": "scale", "place": "Scale", "statement": "...", "kind": "universal", "minimum": "quick"}
BASE |= {"chapter": CHAPTER, "table": "scale", "columns": ["holds"]}
NUMBER = {"kind": "number", "columns": ["penalty"], "printed": 2.0, "tolerance": 0.5}
ORDERING = {"kind": "ordering", "columns": ["larger", "smaller"]}


def claim(**more):
    return claim_from("godfrey2022", BASE | more)


def put(root, profile, table, name="scale"):
    folder = root / profile / CHAPTER
    results.write(pd.DataFrame(table), name, parameters={}, seed=0, folder=folder, device="cpu")


def places(root):
    return [(profile, root / profile) for profile in results.PROFILES]


def verdict(entry, **columns):
    """The verdict on a table that is already read."""
    rows = verdicts._rows(entry, pd.DataFrame(columns))
    return verdicts._JUDGES[entry.kind](entry, rows, "quick")


def test_verdicts_change_when_a_table_is_altered_and_so_does_the_page(tmp_path):
    ledger, pages = [claim(columns=["holds", "alpha"])], []
    for alpha in (2.0, -1.0):
        put(tmp_path, "quick", {"alpha": [0.5, alpha], "holds": [True, alpha > 0]})
        pages.append(claims.scoreboard(ledger, places(tmp_path)))
    assert "{bdg-success}`no counterexample in 2`" in pages[0] and "1 without counterexample.**" in pages[0]
    assert "{bdg-danger}`refuted`" in pages[1] and "1 refuted.**" in pages[1]
    assert "counterexample: alpha = -1; 1 of 2 cases" in pages[1]


def test_a_table_altered_by_hand_judges_nothing(tmp_path):
    put(tmp_path, "quick", {"holds": [True]})
    path = tmp_path / "quick" / CHAPTER / "scale.csv"
    path.write_text(path.read_text().replace("True", "False"))
    found = claims.judge(claim(), places(tmp_path))
    assert found.word == "not yet measured" and "altered" in found.measured


def test_a_claim_without_data_is_not_yet_measured_and_says_why(tmp_path):
    found = claims.judge(claim(), places(tmp_path))
    assert (found.word, found.profile) == ("not yet measured", None)
    assert found.measured == f"{CHAPTER} has no table scale yet."
    assert claims.judge(claim(reason="Needs a GPU."), []).measured == "Needs a GPU."


def test_rows_that_the_filter_leaves_out_do_not_count(tmp_path):
    put(tmp_path, "quick", {"alpha": [2.0, -1.0], "holds": [True, False]})
    assert str(claims.judge(claim(where="alpha > 0"), places(tmp_path))) == "no counterexample in 1"
    found = claims.judge(claim(where="alpha > 9"), places(tmp_path))
    assert found.word == "not yet measured" and "alpha > 9" in found.measured


def test_the_largest_profile_judges_if_it_is_large_enough(tmp_path):
    entry = claim(minimum="desk")
    put(tmp_path, "quick", {"holds": [False]})
    found = claims.judge(entry, places(tmp_path))
    assert (
        found.word == "not yet measured" and found.measured == "Measured at quick only; judged from desk on."
    )
    for profile, trials in (("desk", 2), ("paper", 3)):
        put(tmp_path, profile, {"holds": [True] * trials})
        found = claims.judge(entry, reversed(places(tmp_path)))
        assert (str(found), found.profile) == (f"no counterexample in {trials}", profile)


@given(st.lists(st.booleans(), min_size=1))
def test_one_counterexample_refutes_and_one_example_is_enough(holds):
    universal, existence = (verdict(claim(kind=kind), holds=holds) for kind in ("universal", "existence"))
    assert universal.word == ("no counterexample" if all(holds) else "refuted")
    assert existence.word == ("reproduced" if any(holds) else "inconclusive")
    assert universal.trials == existence.trials == len(holds)


@given(st.lists(st.floats(0, 1e3), min_size=1), st.floats(0, 1e3))
def test_residuals_are_held_against_the_tolerance(errors, tolerance):
    universal, existence = (
        verdict(claim(kind=kind, columns=["error"], tolerance=tolerance), error=errors)
        for kind in ("universal", "existence")
    )
    assert universal.word == ("refuted" if max(errors) > tolerance else "no counterexample")
    assert existence.word == ("reproduced" if max(errors) > tolerance else "inconclusive")


values = st.lists(st.floats(-100, 100), min_size=2, max_size=20)


@given(values)
def test_the_interval_is_students(sample):
    low, high = results.interval(pd.Series(sample))
    assert low <= np.mean(sample) + 1e-9 and np.mean(sample) - 1e-9 <= high
    if np.std(sample) > 1e-6:
        expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
        np.testing.assert_allclose((low, high), expected, rtol=1e-9, atol=1e-9)


@given(values, st.floats(-100, 100), st.floats(0, 10))
def test_a_number_is_reproduced_iff_its_interval_meets_the_printed_one(sample, printed, tolerance):
    found = verdict(claim(**NUMBER | {"printed": printed, "tolerance": tolerance}), penalty=sample)
    low, high = results.interval(pd.Series(sample))
    assert (found.word == "reproduced") == (max(low, printed - tolerance) <= min(high, printed + tolerance))
    assert found.word in ("reproduced", "differs")


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=2, max_size=9))
def test_an_ordering_is_antisymmetric_and_agrees_with_the_paired_t_test(pairs):
    a, b = map(list, zip(*pairs, strict=True))
    forth, back = (verdict(claim(**ORDERING), larger=x, smaller=y).word for x, y in ((a, b), (b, a)))
    assert back == {"reproduced": "differs", "differs": "reproduced"}.get(forth, forth)
    if np.std(np.subtract(a, b)) > 1e-6:
        p = stats.ttest_rel(a, b).pvalue
        assert abs(p - 0.05) < 1e-9 or (forth == "inconclusive") == (p > 0.05)


def test_pairs_matter_in_an_ordering():
    base, gain = (
        np.linspace(0, 100, 10),
        np.linspace(0.9, 1.1, 10),
    )  # a small gain in every trial, far apart trials
    found = verdict(claim(**ORDERING), larger=base + gain, smaller=base)
    assert found.word == "reproduced" and found.measured.startswith(
        "mean larger − smaller 1, 95 % t-interval [0.95"
    )
    assert verdict(claim(**ORDERING), larger=(base + gain)[::-1], smaller=base).word == "inconclusive"


@pytest.mark.parametrize("sample", [[1.0], [1.0, np.nan], [1.0, np.inf]])
def test_one_trial_or_a_lost_one_decides_no_number_and_no_ordering(sample):
    assert verdict(claim(**NUMBER), penalty=sample).word == "inconclusive"
    assert verdict(claim(**ORDERING), larger=sample, smaller=sample).word == "inconclusive"


def test_a_lost_residual_is_no_proof_and_no_counterexample():
    entry = claim(columns=["error"], tolerance=1.0)
    assert verdict(entry, error=[0.5, np.nan]).word == "inconclusive"
    assert verdict(entry, error=[2.0, np.nan]).word == "refuted"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"columns": ["works"]}, "expected a column 'works', found holds, error, name"),
        ({"columns": ["name"]}, "expected True and False in 'name'"),
        ({"columns": ["error"]}, "expected True and False in 'error', or residuals and a tolerance"),
        ({"where": "beta > 0"}, "`beta > 0` does not"),
        ({"where": "error >"}, "`error >` does not"),
        (NUMBER | {"columns": ["holds"]}, "expected numbers in 'holds', found bool"),
        (ORDERING | {"columns": ["error", "name"]}, "expected numbers in 'name'"),
    ],
)
def test_a_table_that_cannot_judge_is_named_with_the_claim(tmp_path, entry, sentence):
    put(tmp_path, "quick", {"holds": [True], "error": [0.1], "name": ["a"]})
    with pytest.raises(
        ValueError, match=f"^Claim 'scale': table scale of {CHAPTER}: .*{re.escape(sentence)}"
    ):
        claims.judge(claim(**entry), places(tmp_path))
