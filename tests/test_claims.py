"""Laws of the verdicts: they follow the tables, and know at which scale they were reached."""

import ast
import contextlib
import dataclasses
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intertwine_book import claims, results
from intertwine_book.claims import verdicts
from intertwine_book.claims.ledger import claim_from
from intertwine_book.claims.simulated import rates
from intertwine_book.claims.statistics import adjusted, p_value
from intertwine_book.told import read_all

CHAPTER = "01_intertwiner_groups"
BASE = {"id": "scale", "place": "Scale", "statement": "...", "kind": "universal", "minimum": "quick"}
BASE |= {"chapter": CHAPTER, "table": "scale", "columns": ["holds"]}
NUMBER = {"kind": "number", "columns": ["penalty"], "printed": 2.0, "tolerance": 0.5, "matters": 0.5}
NUMBER |= {"tolerance_from": "reading error"}
ORDERING = {"kind": "ordering", "columns": ["larger", "smaller"], "matters": 0.01}


EXACT = {"universal": {"no counterexample", "refuted"}, "existence": {"reproduced", "inconclusive"}}


def claim(**more):
    return claim_from("godfrey2022", BASE | more)


def put(root, profile, table, name="scale", **parameters):
    folder = root / profile / CHAPTER
    results.write(pd.DataFrame(table), name, parameters=parameters, seed=0, folder=folder, device="cpu")


def places(root):
    return [(profile, root / profile) for profile in results.PROFILES]


def verdict(entry, **columns):
    """The verdict on a table that is already read."""
    return claims.judge_rows(entry, verdicts.rows_of(entry, pd.DataFrame(columns)))


def test_verdicts_change_when_a_table_is_altered_and_so_does_the_page(tmp_path):
    ledger, pages = [claim(columns=["holds", "alpha"])], []
    for alpha in (2.0, -1.0):
        put(tmp_path, "quick", {"alpha": [0.5, alpha], "holds": [True, alpha > 0]})
        pages.append("".join(claims.scoreboard(claims.judge_all(ledger, places(tmp_path))).values()))
    assert "[no counterexample]{.verdict .agrees}" in pages[0]
    assert "**agrees 1** (1 no counterexample)." in pages[0]
    assert "[refuted]{.verdict .disagrees}" in pages[1] and "**disagrees 1** (1 refuted)." in pages[1]
    assert "counterexample: alpha = −1; 1 of 2 cases" in pages[1]


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
    found = claims.judge(claim(where="alpha > 0"), places(tmp_path))
    assert (found.word, found.trials) == ("no counterexample", 1)
    found = claims.judge(claim(where="alpha > 9"), places(tmp_path))
    assert found.word == "not yet measured" and "alpha > 9" in found.measured


def test_the_largest_profile_judges_and_a_small_one_is_not_withheld(tmp_path):
    entry = claim(minimum="desk")
    put(tmp_path, "quick", {"holds": [False] * 3})
    found = claims.judge(entry, places(tmp_path))
    assert (found.word, found.profile) == ("inconsistent", "quick")
    assert found.scale == "profile: quick instead of desk"
    for profile, trials in (("desk", 3), ("paper", 4)):
        put(tmp_path, profile, {"holds": [True] * trials})
        found = claims.judge(entry, reversed(places(tmp_path)))
        assert (found.word, found.trials, found.profile) == ("no counterexample", trials, profile)


@pytest.mark.parametrize(("width", "word"), [(64, "reproduced"), (16, "consistent")])
def test_a_verdict_needs_the_protocol_of_the_paper(tmp_path, width, word):
    entry = claim(**NUMBER, protocol={"width": 64})
    put(tmp_path, "desk", {"penalty": [1.9, 2.0, 2.1]}, width=width)
    found = claims.judge(entry, places(tmp_path))
    assert (found.word, found.scale) == (word, None if width == 64 else "width: 16 instead of 64")
    page = claims.scoreboard(claims.judge_all([entry], places(tmp_path)))
    assert ("*Another setting:* width: 16 instead of 64." in page["rows"]) == (width == 16)


@pytest.mark.parametrize(
    ("few", "decides", "word"),
    [(2, "desk", "consistent"), (3, "paper", "differs"), (1, "desk", "consistent")],
)
def test_the_profile_nearest_the_paper_decides_if_it_has_enough_trials(tmp_path, few, decides, word):
    entry = claim(**NUMBER, protocol={"width": 64, "epochs": 50})
    put(tmp_path, "desk", {"penalty": [1.9, 2.0, 2.1, 2.0]}, width=64, epochs=8)
    put(tmp_path, "paper", {"penalty": [3.9, 4.0, 4.1][:few]}, width=64, epochs=50)
    found = claims.judge(entry, places(tmp_path))
    assert (found.word, found.profile) == (word, decides)
    assert found.scale == (None if decides == "paper" else "epochs: 8 instead of 50")


def test_where_no_run_has_enough_trials_the_nearest_is_shown(tmp_path):
    entry = claim(**NUMBER, protocol={"width": 64})
    put(tmp_path, "desk", {"penalty": [4.0, 4.0]}, width=16)
    put(tmp_path, "paper", {"penalty": [2.0]}, width=64)
    put(tmp_path, "quick", {"penalty": [2.0, 2.0, 2.0]}, width=8)
    found = claims.judge(entry, places(tmp_path))
    assert (found.word, found.profile) == ("inconclusive", "paper")


def test_what_a_small_run_leaves_out_does_not_matter_where_a_larger_one_judges(tmp_path):
    entry = claim(**NUMBER, protocol={"width": 64})
    put(tmp_path, "desk", {"penalty": [1.9, 2.0, 2.1]}, width=16)
    put(tmp_path, "quick", {"another": [1.0]}, width=8)
    assert claims.judge(entry, places(tmp_path)).profile == "desk"


@pytest.mark.parametrize("kind", ["universal", "existence"])
@pytest.mark.parametrize("holds", [True, False])
def test_a_statement_about_trained_networks_needs_three_of_them_and_one_of_mathematics_a_case(kind, holds):
    layers, decided = {"holds": [holds] * 6}, EXACT[kind] - {"inconclusive"}
    about = {"kind": kind, "minimum": "desk", "trial": "pair"}
    few, many = (
        verdict(claim(**about), **layers, pair=pairs) for pairs in ([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2)
    )
    assert (few.word, few.trials, many.trials) == ("inconclusive", 2, 3)
    assert few.measured.endswith("fewer than 3 trials decide nothing") and "decide" not in many.measured
    assert many.word in decided or (kind, holds) == ("existence", False)
    calculated = verdict(claim(kind=kind), holds=[holds])
    assert (calculated.word, calculated.trials) == (many.word, 1)


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


values = st.lists(st.floats(-100, 100), min_size=3, max_size=20)


@given(values)
def test_the_interval_is_students(sample):
    low, high = results.interval(pd.Series(sample))
    assert low <= np.mean(sample) + 1e-9 and np.mean(sample) - 1e-9 <= high
    if np.std(sample) > 1e-6:
        expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
        np.testing.assert_allclose((low, high), expected, rtol=1e-9, atol=1e-9)


@given(values, st.floats(-100, 100), st.floats(0, 10), st.floats(0.1, 10))
def test_a_number_is_held_against_the_printed_value_and_its_error(sample, printed, tolerance, matters):
    numbers = {"printed": printed, "tolerance": tolerance, "matters": matters}
    found = verdict(claim(**NUMBER | numbers), penalty=sample)
    low, high = results.interval(pd.Series(sample))
    apart, error = abs(np.mean(sample) - printed), np.hypot((high - low) / 2, tolerance)
    alike, differs = apart + error <= tolerance + matters, apart > max(error, tolerance + matters)
    near = min(abs(apart + error - tolerance - matters), abs(apart - max(error, tolerance + matters))) < 1e-9
    assert near or found.word == ("reproduced" if alike else "differs" if differs else "inconclusive")
    assert (found.word == "inconclusive") == (
        "would settle it" in found.measured or "alone" in found.measured
    )


def test_an_exact_replication_of_a_printed_mean_is_reproduced_by_as_many_trials():
    # printed: the mean of 32 trials of deviation 1 with its error; ours: eight such trials
    draw, words = np.random.default_rng(0), []
    for _ in range(300):
        printed = draw.normal(0, 1 / 32**0.5)
        entry = claim(**NUMBER | {"printed": printed, "tolerance": 0.36, "matters": 1.0})
        words.append(verdict(entry, penalty=draw.normal(0, 1, 8)).word)
    assert words.count("reproduced") > 0.3 * 300 and words.count("differs") < 0.05 * 300


def test_the_interval_that_a_figure_draws_is_part_of_the_printed_error():
    read = claim(**NUMBER | {"printed": 8.3, "tolerance": 1.0, "matters": 1.0})
    drawn = claim(
        **NUMBER | {"printed": 8.3, "tolerance": 1.0, "matters": 1.0, "printed_interval": [5.3, 11.3]}
    )
    assert drawn.printed_error == pytest.approx(10**0.5) and read.printed_error == 1.0
    sample = [4.0, 4.4, 4.3, 4.2]  # further off than the error of reading, and within the figure's interval
    assert verdict(read, penalty=sample).word == "differs"
    assert verdict(drawn, penalty=sample).word == "inconclusive"
    for ends in ([1.0], [2.0, 1.0]):
        with pytest.raises(ValueError, match="expected 'printed_interval' to be its lower and its upper end"):
            claim(**NUMBER | {"printed_interval": ends})


@pytest.mark.parametrize(
    ("sample", "word"),
    [
        ([54.0, 55.5, 55.0, 56.0], "reproduced"),
        ([30.0, 31.0, 32.0], "differs"),
        ([49.0, 49.1, 48.9], "inconclusive"),  # beyond the printed error, by less than what matters
        ([40.0, 55.0, 70.0], "inconclusive"),  # noise
        ([40.0, 70.0], "inconclusive"),  # two trials, whose interval is [-136, 246]
        ([55.0], "inconclusive"),
    ],
)
def test_noise_does_not_reproduce_a_number(sample, word):
    found = verdict(claim(**NUMBER | {"printed": 55.0, "tolerance": 5.0, "matters": 2.0}), penalty=sample)
    assert found.word == word
    if len(sample) < 3:
        assert "fewer than 3 trials decide nothing" in found.measured


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=9))
def test_an_ordering_is_antisymmetric_and_agrees_with_the_paired_t_test(pairs):
    a, b = map(list, zip(*pairs, strict=True))
    forth, back = (verdict(claim(**ORDERING), larger=x, smaller=y) for x, y in ((a, b), (b, a)))
    opposite = {"reproduced": "differs", "differs": "reproduced"}
    assert back.word == opposite.get(forth.word, forth.word)
    if np.std(np.subtract(a, b)) > 1e-6:
        p = stats.ttest_rel(a, b).pvalue
        assert forth.p == pytest.approx(p, rel=1e-6, abs=1e-9)
        assert (
            abs(p - 0.05) < 1e-9
            or forth.word == "no difference"
            or abs(np.mean(a) - np.mean(b)) < 0.01 + 1e-9
            or (forth.word == "inconclusive") == (p > 0.05)
        )


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ([2.0, 2.1, 1.9], "reproduced"),
        ([-2.0, -2.1, -1.9], "differs"),
        ([2.0, -2.0, 0.1], "inconclusive"),
        ([1e-9, 2e-9, 1.5e-9], "no difference"),  # significant, and rounding
        ([0.0, 0.0, 0.0], "no difference"),  # an exact identity is no ordering
        ([0.30, 0.55, 0.45, 0.2, 0.5, 0.4], "inconclusive"),  # sure, and smaller than what matters
        ([0.30, 0.55, 0.45, 0.2, 0.5, 0.4] * 10, "no difference"),  # more trials confirm, and do not reverse
    ],
)
def test_an_ordering_needs_a_difference_that_matters(differences, word):
    assert (
        verdict(
            claim(**ORDERING | {"matters": 0.5}), larger=differences, smaller=[0.0] * len(differences)
        ).word
        == word
    )


def test_layers_of_one_pair_are_not_trials():
    gains = {"larger": [1.0, 1.1, 0.9] * 4, "smaller": [0.0] * 12, "pair": [0] * 6 + [1] * 6}
    assert verdict(claim(**ORDERING), **gains).word == "reproduced"
    for trial in ("pair", "all"):
        found = verdict(claim(**ORDERING, trial=trial), **gains)
        assert found.word == "inconclusive" and found.trials == {"pair": 2, "all": 1}[trial]
    spread = {"penalty": [1.0, 3.0, 1.1, 2.9, 0.9, 3.1], "pair": [0, 0, 1, 1, 2, 2]}  # each pair's mean is 2
    assert verdict(claim(**NUMBER, trial="pair"), **spread).word == "reproduced"
    assert verdict(claim(**NUMBER), **spread).word == "inconclusive"


def test_orderings_are_corrected_by_the_false_discovery_rate_of_the_page(tmp_path):
    table = {"smaller": [0.0] * 4, "strong": [1.0, 1.1, 0.9, 1.0], "weak": [0.2, 1.6, 1.0, 1.2]}
    table |= {"none": [0.9, -1.0, 0.3, -0.4]}
    put(tmp_path, "quick", table)
    columns = ["strong", *["weak"] * 2, *["none"] * 3]
    entries = [
        claim(id=f"entry-{k}", **ORDERING | {"columns": [c, "smaller"]}) for k, c in enumerate(columns)
    ]
    alone = [claims.judge(entry, places(tmp_path)) for entry in entries]
    assert [found.word for found in alone] == ["reproduced"] * 3 + ["inconclusive"] * 3
    together = [found for _, found in claims.judge_all(entries, places(tmp_path))]
    expected = stats.false_discovery_control([found.p for found in alone])
    assert [found.word for found in together[1:3]] == [
        "reproduced" if expected[1] <= 0.05 else "inconclusive"
    ] * 2
    assert all(f"p = {found.p:.2g}, corrected " in found.measured for found in together)
    # what is decided has an interval of the corrected level, which is wider
    (low, high), (least, most) = (found.interval[1:] for found in (alone[0], together[0]))
    assert together[0].word == "reproduced" and least < low < high < most
    # the same statement cut into three pieces does not decide less
    more = [*entries, claim(id="again", **ORDERING | {"columns": ["strong", "smaller"]})]
    assert next(found.word for _, found in claims.judge_all(more, places(tmp_path))) == "reproduced"


def test_an_equivalence_survives_the_correction_also_in_another_setting(tmp_path):
    put(tmp_path, "quick", {"larger": [1.001, 1.0, 1.002, 1.0], "smaller": [1.0] * 4}, width=16)
    entry = claim(**ORDERING, protocol={"width": 64})
    ((_, found),) = claims.judge_all([entry], places(tmp_path))
    assert found.word == "no difference" and found.scale == "width: 16 instead of 64"


def test_a_difference_of_recipe_is_listed_and_makes_no_other_setting(tmp_path):
    put(tmp_path, "desk", {"penalty": [1.9, 2.0, 2.1]}, width=64, epochs=24)
    entry = claim(**NUMBER, protocol={"width": 64}, recipe={"epochs": 50, "optimiser": "Adam"})
    found = claims.judge(entry, places(tmp_path))
    assert (found.word, found.scale) == ("reproduced", "epochs: 24 instead of 50; optimiser: not Adam")
    entry = dataclasses.replace(entry, given={"epochs": 12, "optimiser": "SGD"})
    found = claims.judge(entry, places(tmp_path))
    assert found.scale == "epochs: 12 instead of 50; optimiser: SGD instead of Adam"


def test_a_value_is_not_written_in_the_words_of_a_column_of_the_same_name(tmp_path):
    put(tmp_path, "desk", {"penalty": [1.9, 2.0, 2.1]}, dataset="digits", bias="trained")
    entry = claim(**NUMBER, protocol={"dataset": "cifar10", "bias": "none"})
    words = {"trained": "slope of trained networks", "dataset": "images"}
    entry = dataclasses.replace(entry, words=words, values={"cifar10": "CIFAR-10"})
    found = claims.judge(entry, places(tmp_path))
    assert found.scale == "images: digits instead of CIFAR-10; bias: trained instead of none"


def test_trials_that_agree_to_the_resolution_are_not_certain():
    entry = claim(**NUMBER | {"printed": 2.0, "tolerance": 0.001, "matters": 0.1})
    assert verdict(entry, penalty=[2.0, 2.0, 2.0]).word == "reproduced"
    coarse = dataclasses.replace(entry, resolution=0.2)
    assert verdict(coarse, penalty=[2.0, 2.0, 2.0]).word == "inconclusive"
    ordering = claim(**ORDERING | {"matters": 0.1})
    assert verdict(ordering, larger=[0.2] * 3, smaller=[0.0] * 3).word == "reproduced"
    ordering = dataclasses.replace(ordering, resolution=0.2)
    assert verdict(ordering, larger=[0.2] * 3, smaller=[0.0] * 3).word == "inconclusive"


@given(st.integers(1, 100), st.integers(0, 2**31))
def test_noise_alone_is_no_example_and_no_counterexample(cases, seed):
    draw = np.random.default_rng(seed)
    sure = {"tolerance": 0.02, "noise": 0.01, "columns": ["error"]}
    errors = np.full(cases, 0.02) + np.clip(draw.normal(0, 0.01, cases), -0.019, 0.019)  # below every margin
    for kind, word in (("existence", "reproduced"), ("universal", "refuted")):
        found = verdict(claim(kind=kind, **sure), error=errors)
        assert found.word != word
        assert verdict(claim(kind=kind, **sure), error=[*errors, 0.2]).word == word


def test_a_matter_larger_than_the_quantity_is_refused(tmp_path):
    put(tmp_path, "desk", {"larger": [0.046, 0.047, 0.045], "smaller": [0.033, 0.03, 0.031]})
    with pytest.raises(
        ValueError, match=r"^Claim 'scale': expected 'matters' of at most what is compared, 0\.046"
    ):
        claims.judge(claim(**ORDERING | {"matters": 0.05}), places(tmp_path))


@given(st.integers(2, 20), st.floats(-3, 3), st.integers(0, 2**31))
def test_p_is_that_of_the_t_test_and_a_coarse_resolution_makes_it_larger(trials, mean, seed):
    values = pd.Series(np.random.default_rng(seed).normal(mean, 1, trials))
    p = p_value(values)
    assert p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-9, abs=1e-300)
    assert p_value(values, resolution=10.0) > p


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_correction_is_monotone_and_between_one_test_and_bonferroni(p_values):
    corrected = adjusted(p_values)
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= -1e-12).all()
    for p, q in zip(p_values, corrected, strict=True):
        assert p - 1e-12 <= q <= min(1.0, len(p_values) * p) + 1e-12


def test_pairs_matter_in_an_ordering():
    base, gain = (
        np.linspace(0, 100, 10),
        np.linspace(0.9, 1.1, 10),
    )  # a small gain in every trial, far apart trials
    found = verdict(claim(**ORDERING), larger=base + gain, smaller=base)
    assert found.word == "reproduced" and found.measured.startswith("larger − smaller: 1 [0.95")
    assert verdict(claim(**ORDERING), larger=(base + gain)[::-1], smaller=base).word == "inconclusive"


@pytest.mark.parametrize("sample", [[1.0], [1.0, 1.0], [1.0, 1.1, np.nan], [1.0, 1.1, np.inf]])
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


def test_a_verdict_is_rarely_wrong_and_a_large_effect_is_seen():
    table = rates(4000)
    false = {"ordering": {0.0: ("reproduced", "differs"), 2.0: ("differs", "no difference")}}
    false["number"] = {0.0: ("differs",), 3.0: ("reproduced",)}
    wrong = table[[row.word in false[row.rule][row.effect] for row in table.itertuples()]]
    assert wrong["rate"].max() < 0.015  # whatever the distribution, from three trials on
    right = table[(table["word"] == "reproduced") & (table["distribution"] == "normal")]
    right = right.set_index(["rule", "effect", "trials"])["rate"]
    assert 0.4 < right["ordering", 2.0, 3] < 0.55 and right["ordering", 2.0, 5] > 0.85
    assert right["number", 0.0, 8] > 0.75  # an exact replication of a printed mean
    tied = table[(table["distribution"] == "rounded") & (table["trials"] == 3)]
    assert tied[tied["word"] != "inconclusive"]["rate"].max() < 0.015  # equal trials are not certain ones


LEDGER = claims.load(Path(__file__).parents[1] / "book/claims.yml")
JUDGED = [entry for entry in LEDGER if not entry.not_judged]


def test_what_is_setting_for_one_statement_is_setting_for_all():
    """Else the setting of a table could be chosen statement by statement, after its numbers are seen."""
    setting, listed = (
        {name for entry in LEDGER for name in getattr(entry, of) or {}} for of in ("protocol", "recipe")
    )
    assert setting and not setting & listed


def test_statements_about_trained_networks_say_which_rows_are_one_trial():
    of_records = [entry for entry, _ in read_all(Path(__file__).parents[1] / "data/results")]
    judged = [entry for entry in JUDGED + of_records if not entry.not_judged]
    exact = [entry for entry in judged if entry.kind in EXACT and entry.about == "experiments"]
    assert len(exact) > 5 and not [entry.id for entry in exact if entry.trial is None]


def is_number(name):
    return name.replace(".", "", 1).lstrip("-").isdecimal()


def selected(where):
    """A row that a filter selects, of values that the filter compares its columns with, and others."""
    tree = ast.parse(where or "True", mode="eval")
    values = {node.id: [] for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.Call):
            name = next(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
            known = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
            texts = isinstance(known[0], str)
            values[name] += (
                [*known, "other"] if texts else [v + d for v in known for d in (-0.05, 0, 0.05, 1)]
            )
    for row in itertools.product(*(found or [True, False] for found in values.values())):
        candidate = dict(zip(values, row, strict=True))
        with contextlib.suppress(Exception):  # columns of the wrong type
            if eval_row(where, candidate):
                return candidate
    raise AssertionError(f"no row found for {where}")


def eval_row(where, row):
    return not where or len(pd.DataFrame([row]).query(where, engine="python")) > 0


@pytest.mark.parametrize("entry", JUDGED, ids=lambda entry: entry.id)
def test_every_claim_can_come_out_otherwise(entry):
    row = selected(entry.where)
    names = [name.removeprefix("1 - ") for name in entry.columns]
    if entry.kind == "ordering" and is_number(names[0]):
        names = names[::-1]
    first, *others = [name for name in names if not is_number(name)]
    constant = next((float(name) for name in names if is_number(name)), 0.0)
    upside_down = entry.columns[0].startswith("1 - ")
    trials = 4

    def found(values, second=0.0):
        rows = pd.DataFrame([row] * trials)
        for column in others:
            rows[column] = second if entry.kind == "ordering" else rows.get(column, 0)
        rows[first] = 1 - np.array(values) if upside_down else values
        if entry.trial not in (None, "all"):
            rows[entry.trial] = range(trials)
        one = dataclasses.replace(entry, trial=None) if entry.trial == "all" else entry
        return claims.judge_rows(one, verdicts.rows_of(one, rows)).word

    if entry.kind == "number":
        spread = np.array([-1, 1, -1, 1]) * entry.matters / 9
        far = 9 * (entry.tolerance + entry.matters)
        words = {found(entry.printed + spread), found(entry.printed + far + spread)}
        assert words == {"reproduced", "differs"}
    elif entry.kind == "ordering":
        spread = np.array([-1, 1, -1, 1]) * entry.matters / 9
        words = {found(constant + at * 9 * entry.matters + spread) for at in (-1, 0, 1)}
        assert words == {"differs", "no difference", "reproduced"}
    elif entry.tolerance is None:
        words = {found([holds] * trials) for holds in (True, False)}
        assert words == EXACT[entry.kind]
    else:
        beyond = 2 * entry.tolerance + 5 * (entry.noise or 0)
        assert {found([at] * trials) for at in (0.5 * entry.tolerance, beyond)} == EXACT[entry.kind]
