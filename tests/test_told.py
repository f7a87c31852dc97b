"""What a record says: verdicts beside their rows, the scale derived from these, checks that can fail."""

import json

import pandas as pd
import pytest

from intertwine_book.claims import corrected
from intertwine_book.read_told import read_all, read_told
from intertwine_book.record import Record
from intertwine_book.told import Told

PLACE = {"paper": "godfrey2022", "place": "Figure 1", "link": "rec-figure-1"}
ROWS = pd.DataFrame(
    [
        {"width": width, "pair": pair, "layer": layer, "family": family, "penalty": base + pair / 10 + layer}
        for width in (16, 64)
        for pair in range(4)
        for layer in (3, 6)
        for family, base in {"full": 1.0, "rank 4": 9.0}.items()
    ]
)
FULL, FOUR = (ROWS[(ROWS["family"] == family) & (ROWS["width"] == 64)] for family in ("full", "rank 4"))


@pytest.fixture
def told(tmp_path):
    return Told(Record(tmp_path), "03_x", "quick")


def last(told):
    return told.judged[-1][1]


@pytest.mark.parametrize(
    ("printed", "expected"), [(5.65, "reproduced"), (9.0, "differs"), (7.3, "inconclusive")]
)
def test_a_number_is_the_mean_over_trials_each_of_which_is_one_value(told, printed, expected):
    options = {"printed": printed, "error": 1.0, "matters": 1.0}
    assert told.claim("a", "It loses so much.", FULL, "penalty", **options, **PLACE) == expected
    assert last(told).trials == 4 and last(told).interval[0] == pytest.approx(5.65)


def test_an_ordering_is_paired_by_trials_and_its_sides_are_named_by_what_tells_them_apart(told):
    assert told.claim("a", "More.", (FOUR, FULL), "penalty", matters=1, **PLACE) == "reproduced"
    assert last(told).measured.startswith("rank 4 − full: 8 [8, 8]") and last(told).p < 1e-9
    assert told.claim("b", "Less.", (FULL, FOUR), "penalty", matters=1, **PLACE) == "differs"
    assert told.claim("c", "Below 10.", (10, FULL), "penalty", matters=1, **PLACE) == "reproduced"
    assert last(told).measured.startswith("10 − penalty: ")
    assert told.claim("d", "Equal.", (FULL, FULL), "penalty", matters=1, **PLACE) == "no difference"


def test_a_column_that_is_constant_on_one_side_alone_names_no_side(told):
    four = FOUR.assign(epoch=range(len(FOUR)))
    told.claim("a", "More.", (FULL.assign(epoch=4), four), "penalty", matters=1, **PLACE)
    assert last(told).measured.startswith("full − rank 4: ")


def test_a_column_that_no_row_has_is_refused(told):
    with pytest.raises(ValueError, match=r"Claim 'a': expected a column of width, .*, was given 'penalti'"):
        told.claim("a", "It loses so much.", FULL, "penalti", printed=1.0, error=1.0, **PLACE)


def test_sides_of_other_trials_are_refused(told):
    with pytest.raises(
        ValueError, match="expected the same trials on both sides, was given 2 rows of pair 0"
    ):
        told.claim("a", "More.", (FOUR, FULL[FULL["pair"] < 3]), "penalty", matters=1, **PLACE)


@pytest.mark.parametrize(
    ("scale", "expected", "shown"),
    [
        ({}, "reproduced", None),
        ({"width": 64}, "reproduced", None),
        ({"width": 512}, "consistent", "width: 64 instead of 512"),
        ({"width": 64, "optimiser": "SGD"}, "consistent", "optimiser: not recorded instead of SGD"),
    ],
)
def test_the_scale_is_what_the_rows_judged_have_in_their_columns(told, scale, expected, shown):
    options = {"matters": 1, "scale": scale}
    assert told.claim("a", "More.", (FOUR, FULL), "penalty", **options, **PLACE) == expected
    assert last(told).scale == shown
    other = {"reproduced": "differs", "consistent": "inconsistent"}[expected]
    assert told.claim("b", "Less.", (FULL, FOUR), "penalty", **options, **PLACE) == other


def test_the_scale_is_that_of_both_sides_and_of_each_of_their_rows(told):
    narrow = FOUR.assign(width=16)
    mixed = FOUR.assign(width=[16, *[64] * (len(FOUR) - 1)])
    for id, sides, widths in (("a", (FULL, narrow), "64 and 16"), ("b", (FULL, mixed), "64 and 16")):
        told.claim(id, "More.", sides, "penalty", matters=1, scale={"width": 64}, **PLACE)
        assert (last(told).decisive, last(told).scale) == (True, f"width: {widths} instead of 64")


def test_fewer_trials_than_printed_are_shown_and_decide_nothing_about_the_scale(told):
    told.claim("a", "More.", (FOUR, FULL), "penalty", matters=1, trials=32, **PLACE)
    assert (last(told).scale, last(told).word) == ("4 of 32 trials", "reproduced")


def test_statements_of_all_rows_and_of_some(told):
    rows = pd.DataFrame({"trial": range(5), "error": [1e-9, 2e-9, 0.0, 1e-8, 3e-9]})
    exact = {"per": "trial", **PLACE}
    assert (
        told.claim("a", "Never.", rows, "error", kind="universal", error=1e-6, **exact) == "no counterexample"
    )
    assert told.claim("b", "Never.", rows, "error", kind="universal", error=5e-9, **exact) == "refuted"
    assert told.claim("c", "Once.", rows, "error", kind="existence", error=5e-9, **exact) == "reproduced"
    assert "1 of 5 cases" in last(told).measured


def test_the_row_that_decides_is_named_by_the_columns_that_tell_cases_apart(told):
    rows = pd.DataFrame({"slope": [0.1, -1.0], "holds": [True, False]})
    assert told.claim("a", "Always.", rows, "holds", kind="universal", cases=["slope"], **PLACE) == "refuted"
    assert last(told).measured == "counterexample: slope = -1; 1 of 2 cases"
    assert last(told).numbers["slope"] == -1


def test_what_is_not_judged_says_why_and_what_has_no_rows_too(told):
    assert told.claim("a", "Minimal.", kind="universal", because="An argument decides it.", **PLACE) == (
        "not judged"
    )
    options = {"printed": 1.0, "error": 1.0, "matters": 1.0}
    none = told.claim("b", "It loses so much.", FULL[:0], "penalty", **options, **PLACE)
    assert none == "not yet measured"


def test_what_is_told_is_read_again_as_it_was(told, tmp_path):
    remark = {"kind": "remark", "context": "A figure.", "quote": "more", "right": "It loses less."}
    told.claim("a", "More.", (FOUR, FULL), "penalty", matters=1, erratum=remark, **PLACE)
    told.claim("b", "So much.", FULL, "penalty", printed=5.0, error=1.0, matters=1, trials=32, **PLACE)
    told.check("Rank 4 loses more.", FOUR["penalty"].to_numpy() > FULL["penalty"].to_numpy())
    told.say(low=FULL["penalty"].min(), pairs=FULL["pair"].nunique(), name="full")
    told.board()
    judged, facts = read_told(tmp_path / "told.json")
    assert judged == told.judged and facts == {"low": 4.0, "pairs": 4, "name": "full"}
    assert json.loads((tmp_path / "told.json").read_text())["checks"] == ["Rank 4 loses more."]
    assert judged[0][1].said == "reproduced"


@pytest.mark.parametrize("condition", [False, [True, False], [], pd.Series([1.0, float("nan")]) > 0.5])
def test_a_sentence_that_the_rows_contradict_stops_the_notebook_but_not_at_smoke(tmp_path, condition):
    strict = Told(Record(tmp_path, writes=True), "03_x", "desk")
    strict.check_all({"It does.": condition, "It does, too.": True, "It never does.": False})
    with pytest.raises(AssertionError, match=r"It does\. True in .* It never does\. True in 0 of 1 cases\.$"):
        strict.board()  # at the end: rows of later tables are not lost
    assert not (tmp_path / "told.json").exists()
    own = Record(own=tmp_path), Record(tmp_path, own=tmp_path / "own")
    for record, scale in zip(own, ("smoke", "desk"), strict=True):
        free = Told(record, "03_x", scale)
        free.check("It does.", condition)
        free.board()


def test_an_id_and_a_fact_have_one_meaning(told):
    told.claim("a", "More.", (FOUR, FULL), "penalty", matters=1, **PLACE)
    with pytest.raises(ValueError, match="was given 'a' twice"):
        told.claim("a", "More.", (FOUR, FULL), "penalty", matters=1, **PLACE)
    told.say(low=1.0)
    with pytest.raises(ValueError, match="was given 'low' twice"):
        told.say(low=2.0)


def test_the_table_for_people_shows_what_is_new_or_all(told):
    told.claim("a", "The first.", (FOUR, FULL), "penalty", matters=1, **PLACE)
    assert "The first." in told.verdicts().data
    told.claim("b", "The second.", (FULL, FOUR), "penalty", matters=1, **PLACE)
    new = told.verdicts().data
    assert "The second." in new and "The first." not in new and "The first." in told.board().data


def test_each_scale_of_a_table_stands_once_below_it_with_a_letter(told):
    far = {"matters": 1, "scale": {"width": 512, "layer": 3}}
    first = tuple(rows[rows["layer"] == 3] for rows in (FOUR, FULL))
    for id, rows in {"a": (FOUR, FULL), "b": first, "c": first}.items():
        told.claim(id, "More.", rows, "penalty", **far, **PLACE)
    table, _, scales = told.board().data.partition("</table>")
    assert scales.count("<p>") == 2 and "<i>b</i>: width: 64 instead of 512.<" in scales
    assert [table.count(f">{letter}</td>") for letter in "abc"] == [1, 2, 0]


def test_what_diverged_is_no_smaller_penalty_and_no_true_sentence(told):
    lost = FOUR.assign(penalty=FOUR["penalty"].where(FOUR["layer"] == 3))
    assert told.claim("a", "More.", (lost, FULL), "penalty", matters=1, **PLACE) == "inconclusive"
    with pytest.raises(
        ValueError, match="expected the same trials on both sides, was given 1 rows of pair 0"
    ):
        told.claim("b", "More.", (FOUR[FOUR["layer"] == 3], FULL), "penalty", matters=1, **PLACE)
    for neither in (lost["penalty"], [2.0, 3.0], "no", [True, None]):
        with pytest.raises(TypeError, match="Less\\. Expected True or False for each case, was given"):
            told.check("Less.", neither)
    for column in ([True, True, None], [1, 1, 1]):
        with pytest.raises(ValueError, match="expected booleans, or numbers and the error"):
            told.claim("c", "All.", FOUR[:3].assign(holds=column), "holds", kind="universal", **PLACE)


def test_what_matters_is_less_than_what_is_compared(told):
    with pytest.raises(ValueError, match="no result could reproduce the claim"):
        told.claim("a", "More.", (FOUR, FULL), "penalty", matters=100, **PLACE)


def test_a_claim_can_be_traced_to_its_rows(told, tmp_path):
    told.claim("a", "More.", (FOUR, FULL), "penalty", matters=1, **PLACE)
    told.board()
    (entry,) = json.loads((tmp_path / "told.json").read_text())["claims"]
    assert [side["count"] for side in entry["rows"]] == [len(FOUR), len(FULL)]
    assert [side["family"] for side in entry["rows"]] == ["rank 4", "full"] and entry["said"] == "reproduced"


def test_the_word_of_a_record_is_the_corrected_one_of_the_scoreboard(tmp_path, monkeypatch):
    """The second of two records has many orderings that find nothing, and a weak one of the first is open."""
    kept = tmp_path / "data/results"
    weak = pd.DataFrame({"pair": range(4), "gain": [0.2, 1.6, 1.0, 1.2], "none": [0.9, -1.0, 0.3, -0.4]})
    kept.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def run(name, claims):
        told = Told(Record(kept / name), name, "quick")
        for id, column in claims.items():
            told.claim(id, "More.", (weak, 0), column, matters=0.01, **PLACE)
        return told, [found.said for _, found in told.claims], told.board().data

    (kept / "03_x").mkdir()
    _, words, _ = run("03_x", {"weak": "gain"})
    assert words == ["reproduced"]
    (kept / "04_x").mkdir()
    columns = {"first": "gain", **{f"none-{k}": "none" for k in range(4)}}
    run("04_x", columns)
    told, words, table = run("03_x", {"weak": "gain"})
    assert words == ["inconclusive"] and ">inconclusive<" in table and "one of 6 orderings" in table
    everywhere = {claim.id: found.word for claim, found in corrected(read_all(kept))}
    assert everywhere["weak"] == words[0]
    # what is written is the word before the correction, so that no record depends on another
    assert json.loads((kept / "03_x/told.json").read_text())["claims"][0]["said"] == "reproduced"
    # claims of cells further down count as they are on record
    first, whole = (Told(Record(kept / "04_x"), "04_x", "quick") for _ in range(2))
    for told, some in ((first, ["first"]), (whole, columns)):
        for id in some:
            told.claim(id, "More.", (weak, 0), columns[id], matters=0.01, **PLACE)
    assert first.claims[0] == whole.claims[0] and "one of 6 orderings" in first.claims[0][1].measured
