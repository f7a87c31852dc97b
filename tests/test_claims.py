"""Laws of the verdicts: what the rows must show before a printed number, ordering or theorem is decided."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intertwine_book.claims import corrected, judge_rows
from intertwine_book.claims.claim import claim_from
from intertwine_book.claims.rules import Verdict, number_word, ordering_word
from intertwine_book.claims.statistics import adjusted, half_width, p_value, quantile
from intertwine_book.intervals import interval

BASE = {"id": "scale", "paper": "godfrey2022", "place": "Scale", "statement": "...", "kind": "universal"}
BASE |= {"chapter": "records/01_x", "table": "scale", "columns": ["holds"]}
NUMBER = {"kind": "number", "columns": ["penalty"], "printed": 2.0, "tolerance": 0.5, "matters": 0.5}
NUMBER |= {"tolerance_from": "reading error"}
ORDERING = {"kind": "ordering", "columns": ["larger", "smaller"], "matters": 0.01}
ERRATUM = {"kind": "misprint", "context": "A rule.", "quote": "d > 0", "right": "d ≥ 0"}
values = st.lists(st.floats(-100, 100), min_size=3, max_size=20)


def claim(**more):
    return claim_from(BASE | more)


def verdict(entry, **columns):
    return judge_rows(entry, pd.DataFrame(columns))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"verdict": "true"}, "expected the fields .*, was given 'verdict'"),
        ({"kind": "guess"}, "'kind' to be one of number, ordering, universal, existence, was given 'guess'"),
        ({"id": "Lemma 3"}, "'id' of lower-case letters"),
        (
            NUMBER | {"printed": "about 2"},
            "'printed' to be a number, as the kind is number, was given 'about 2'",
        ),
        (NUMBER | {"tolerance": None}, "'tolerance' that contains the error of reading, was given none"),
        (NUMBER | {"columns": ["a", "b"]}, "'columns' to name 1, as the kind is number"),
        (ORDERING | {"matters": 0}, "'matters' above 0, the smallest difference that matters, was given 0"),
        ({"erratum": ERRATUM | {"kind": "slip"}}, "'erratum' of a kind false as printed, misprint, remark"),
    ],
)
def test_a_wrong_field_is_refused_by_name(change, sentence):
    with pytest.raises(ValueError, match=f"^Claim '(scale|Lemma 3)': .*{sentence}"):
        claim(**change)


# numbers


@given(values)
def test_the_interval_is_students(sample):
    series = pd.Series(sample)
    low, high = interval(series)
    assert low <= np.mean(sample) + 1e-9 and np.mean(sample) - 1e-9 <= high
    if np.std(sample) > 1e-6:
        expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
        np.testing.assert_allclose((low, high), expected, rtol=1e-9, atol=1e-9)
        assert half_width(series) == pytest.approx((high - low) / 2)
        found = verdict(claim(**NUMBER), penalty=sample)
        np.testing.assert_allclose(found.interval, (np.mean(sample), *expected), rtol=1e-9, atol=1e-9)


@given(values, st.floats(-100, 100), st.floats(0, 10), st.floats(0.1, 10))
def test_a_number_is_compared_with_the_printed_value_and_its_error(sample, printed, tolerance, matters):
    numbers = {"printed": printed, "tolerance": tolerance, "matters": matters}
    found = verdict(claim(**NUMBER | numbers), penalty=sample)
    half = stats.t.ppf(0.975, len(sample) - 1) * np.std(sample, ddof=1) / len(sample) ** 0.5
    apart, error = abs(np.mean(sample) - printed), np.hypot(half, tolerance)
    alike, differs = apart + error <= tolerance + matters, apart > max(error, tolerance + matters)
    near = min(abs(apart + error - tolerance - matters), abs(apart - max(error, tolerance + matters))) < 1e-9
    assert near or found.word == ("reproduced" if alike else "differs" if differs else "inconclusive")
    says_how_many = "would settle it" in found.measured
    assert (found.word == "inconclusive") == says_how_many


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


# orderings


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=9))
def test_an_ordering_is_antisymmetric_and_agrees_with_the_paired_t_test(pairs):
    a, b = map(list, zip(*pairs, strict=True))
    forth, back = (verdict(claim(**ORDERING), larger=x, smaller=y) for x, y in ((a, b), (b, a)))
    opposite = {"reproduced": "differs", "differs": "reproduced"}
    assert back.word == opposite.get(forth.word, forth.word)
    assert (forth.word == "inconclusive") == ("would settle it" in forth.measured)
    if forth.word == "reproduced":
        assert np.mean(a) > np.mean(b)
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
    entry = claim(**ORDERING | {"matters": 0.5})
    assert verdict(entry, larger=differences, smaller=[0.0] * len(differences)).word == word


def test_layers_of_one_pair_are_not_trials():
    gains = {"larger": [1.0, 1.1, 0.9] * 4, "smaller": [0.0] * 12, "pair": [0] * 6 + [1] * 6}
    assert verdict(claim(**ORDERING), **gains).word == "reproduced"
    found = verdict(claim(**ORDERING, trial="pair"), **gains)
    assert (found.word, found.trials) == ("inconclusive", 2)
    spread = {"penalty": [1.0, 3.0, 1.1, 2.9, 0.9, 3.1], "pair": [0, 0, 1, 1, 2, 2]}  # each pair's mean is 2
    assert verdict(claim(**NUMBER, trial="pair"), **spread).word == "reproduced"
    assert verdict(claim(**NUMBER), **spread).word == "inconclusive"


def test_pairs_matter_in_an_ordering():
    base, gain = np.linspace(0, 100, 10), np.linspace(0.9, 1.1, 10)  # a small gain in each of unlike trials
    found = verdict(claim(**ORDERING), larger=base + gain, smaller=base)
    assert found.word == "reproduced" and found.measured.startswith("larger − smaller: 1 [0.95")
    assert verdict(claim(**ORDERING), larger=(base + gain)[::-1], smaller=base).word == "inconclusive"


def test_trials_that_agree_to_the_resolution_are_not_certain():
    entry = NUMBER | {"printed": 2.0, "tolerance": 0.001, "matters": 0.1}
    ordering = ORDERING | {"matters": 0.1}
    for coarse, word in (({}, "reproduced"), ({"resolution": 0.2}, "inconclusive")):
        assert verdict(claim(**entry, **coarse), penalty=[2.0, 2.0, 2.0]).word == word
        assert verdict(claim(**ordering, **coarse), larger=[0.2] * 3, smaller=[0.0] * 3).word == word


@pytest.mark.parametrize("sample", [[1.0], [1.0, 1.0], [1.0, 1.1, np.nan], [1.0, 1.1, np.inf]])
def test_one_trial_or_a_lost_one_decides_no_number_and_no_ordering(sample):
    assert verdict(claim(**NUMBER), penalty=sample).word == "inconclusive"
    assert verdict(claim(**ORDERING), larger=sample, smaller=sample).word == "inconclusive"


# statements of all rows, and of some

EXACT = {"universal": {"no counterexample", "refuted"}, "existence": {"reproduced", "inconclusive"}}


@pytest.mark.parametrize("kind", ["universal", "existence"])
@pytest.mark.parametrize("holds", [True, False])
def test_a_statement_about_trained_networks_needs_three_of_them_and_one_of_mathematics_a_case(kind, holds):
    layers, decided = {"holds": [holds] * 6}, EXACT[kind] - {"inconclusive"}
    about = {"kind": kind, "protocol": {"width": 64}, "trial": "pair"}
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
def test_residuals_are_compared_with_the_tolerance(errors, tolerance):
    universal, existence = (
        verdict(claim(kind=kind, columns=["error"], tolerance=tolerance), error=errors)
        for kind in ("universal", "existence")
    )
    assert universal.word == ("refuted" if max(errors) > tolerance else "no counterexample")
    assert existence.word == ("reproduced" if max(errors) > tolerance else "inconclusive")


@given(st.integers(1, 100), st.integers(0, 2**31))
def test_noise_alone_is_no_example_and_no_counterexample(cases, seed):
    draw = np.random.default_rng(seed)
    sure = {"tolerance": 0.02, "noise": 0.01, "columns": ["error"]}
    errors = np.full(cases, 0.02) + np.clip(draw.normal(0, 0.01, cases), -0.019, 0.019)  # below every margin
    for kind, word in (("existence", "reproduced"), ("universal", "refuted")):
        found = verdict(claim(kind=kind, **sure), error=errors)
        assert found.word != word
        assert verdict(claim(kind=kind, **sure), error=[*errors, 0.2]).word == word


def test_a_lost_residual_is_no_proof_and_no_counterexample():
    entry = claim(columns=["error"], tolerance=1.0)
    assert verdict(entry, error=[0.5, np.nan]).word == "inconclusive"
    assert verdict(entry, error=[2.0, np.nan]).word == "refuted"


# the correction for the number of orderings


@given(st.integers(2, 20), st.floats(-3, 3), st.integers(0, 2**31))
def test_p_is_that_of_the_t_test_and_a_coarse_resolution_makes_it_larger(trials, mean, seed):
    sample = pd.Series(np.random.default_rng(seed).normal(mean, 1, trials))
    p = p_value(sample)
    assert p == pytest.approx(stats.ttest_1samp(sample, 0).pvalue, rel=1e-9, abs=1e-300)
    assert p_value(sample, resolution=10.0) > p


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_correction_is_monotone_and_between_one_test_and_bonferroni(p_values):
    found = adjusted(p_values)
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(found)[order]) >= -1e-12).all()
    for p, q in zip(p_values, found, strict=True):
        assert p - 1e-12 <= q <= min(1.0, len(p_values) * p) + 1e-12


SIDES = {"smaller": [0.0] * 4, "strong": [1.0, 1.1, 0.9, 1.0], "weak": [0.2, 1.6, 1.0, 1.2]}
SIDES |= {"none": [0.9, -1.0, 0.3, -0.4]}


def orderings(*columns, **more):
    entries = [
        claim(id=f"entry-{k}", **ORDERING | {"columns": [c, "smaller"]}, **more)
        for k, c in enumerate(columns)
    ]
    return [(entry, verdict(entry, **SIDES)) for entry in entries]


def test_orderings_are_corrected_by_the_false_discovery_rate():
    alone = orderings("strong", "weak", "weak", "none", "none", "none")
    assert [found.word for _, found in alone] == ["reproduced"] * 3 + ["inconclusive"] * 3
    together = [found for _, found in corrected(alone)]
    expected = stats.false_discovery_control([found.p for _, found in alone])
    assert 0.05 < expected[1] < 0.1 and alone[1][1].p < 0.05  # so the correction decides
    assert [found.word for found in together] == ["reproduced"] + ["inconclusive"] * 5
    assert "open, as it is one of 6 orderings" in together[1].measured
    for found, p in zip(together, expected, strict=True):
        assert f"p = {found.p:.2g}, corrected {p:.2g}" in found.measured
    # the interval of what is decided has the level that is left for it, one of six at 5 %
    mean, low, high = together[0].interval
    half = quantile(4, 1 - 0.05 / 6) * np.std(SIDES["strong"], ddof=1) / 2
    assert (mean - low, high - mean) == pytest.approx((half, half))
    # what is open keeps its own
    assert together[3].interval == pytest.approx(alone[3][1].interval)


def test_statements_of_ours_are_a_family_of_their_own():
    ours = orderings(*["none"] * 20, whose="ours")
    theirs = orderings("strong", "weak")
    words = [found.word for claim, found in corrected([*theirs, *ours]) if claim.whose == "paper"]
    assert words == ["reproduced", "reproduced"]


def test_at_another_scale_the_word_is_weaker_and_an_equivalence_stays():
    words = {"reproduced": "consistent", "no counterexample": "consistent", "no difference": "no difference"}
    words |= {"differs": "inconsistent", "refuted": "inconsistent", "inconclusive": "inconclusive"}
    for word, expected in words.items():
        here, there = (Verdict(word, "", trials=4, decisive=at) for at in (False, True))
        judged = corrected([(claim(), here), (claim(id="there"), there)])
        assert [found.word for _, found in judged] == [word, expected]


# how often a verdict is wrong


def _failing(draw, shape):
    """One trial in ten fails by three deviations, the others agree but for a tenth of one."""
    return np.where(draw.random(shape) < 0.1, -3.0, 0.3) + 0.1 * draw.standard_normal(shape) + 0.03


DISTRIBUTIONS = {
    "normal": lambda draw, shape: draw.standard_normal(shape),
    "skewed": lambda draw, shape: draw.exponential(size=shape) - 1,
    "rounded": lambda draw, shape: (draw.standard_normal(shape) / 2).round() * 2,
    "rare failures": _failing,
}


def test_a_verdict_is_rarely_wrong_and_a_large_effect_is_seen():
    """Trials have deviation 1, the smallest difference that matters is 1, a printed number's error 0.5."""
    draw, rates = np.random.default_rng(0), {}
    for (name, sample), n in product(DISTRIBUTIONS.items(), (3, 4, 5, 6, 8, 10)):
        noise = sample(draw, (4000, n))
        spread = np.maximum(noise.std(1, ddof=1), 2.0 if name == "rounded" else 0.0)
        half = quantile(n, 0.95) * spread / n**0.5
        for effect in (0.0, 3.0):
            words = number_word(np.abs(noise.mean(1) + effect), half, 0.5, 1.0)
            rates |= {("number", name, n, effect, word): np.mean(words == word) for word in WORDS}
        for effect in (0.0, 2.0):
            words = ordering_word(noise.mean(1) + effect, half, 1.0)
            rates |= {("ordering", name, n, effect, word): np.mean(words == word) for word in WORDS}
    wrong = {("number", 0.0): ["differs"], ("number", 3.0): ["reproduced"]}
    wrong |= {("ordering", 0.0): ["reproduced", "differs"], ("ordering", 2.0): ["differs", "no difference"]}
    for (rule, _, _, effect, word), rate in rates.items():
        assert word not in wrong[rule, effect] or rate < 0.015  # whatever the noise, from three trials on
    assert 0.4 < rates["ordering", "normal", 3, 2.0, "reproduced"] < 0.55
    assert rates["ordering", "normal", 5, 2.0, "reproduced"] > 0.85
    assert rates["number", "normal", 8, 0.0, "reproduced"] > 0.75  # an exact replication of a printed mean
    for rule, effect, word in product(("number", "ordering"), (0.0, 2.0, 3.0), WORDS[:3]):
        assert rates.get((rule, "rounded", 3, effect, word), 0) < 0.015  # equal trials are not certain ones


WORDS = ("reproduced", "no difference", "differs", "inconclusive")
