"""The ledger of claims is sound and holds no verdict; the page made of it counts every claim and renders."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml

from intertwine_book import claims, results
from intertwine_book.claims.ledger import ERRATA, READING, claim_from
from intertwine_book.claims.page import FAMILIES, SORTS
from intertwine_book.figures.scoreboard import printed_and_measured, verdicts
from intertwine_book.told import read_all

ROOT = Path(__file__).parents[1]
LEDGER = ROOT / "book/claims.yml"
CHAPTER = "01_intertwiner_groups"
BASE = {"id": "scale", "place": "Scale", "statement": "...", "kind": "universal", "minimum": "quick"}
BASE |= {"chapter": CHAPTER, "table": "scale", "columns": ["holds"]}
NUMBER = {"kind": "number", "columns": ["penalty"], "printed": 2.0, "tolerance": 0.5, "matters": 0.5}
NUMBER |= {"tolerance_from": "reading error"}
ORDERING = {"kind": "ordering", "columns": ["larger", "smaller"], "matters": 0.01}
UNSEEN = claims.Verdict("not yet measured", "No table.")
ERRATUM = {"kind": "misprint", "context": "A rule.", "quote": "d > 0", "right": "d ≥ 0"}


def claim(**more):
    return claim_from("godfrey2022", BASE | more)


@cache
def on_record() -> list:
    """Every claim, and what the recorded tables say of it: four tests read it."""
    told = read_all(ROOT / "data/results")
    return claims.judge_all(claims.load(LEDGER), [("desk", ROOT / "data/results/desk")], told)


def put(root, profile, table, name="scale"):
    folder = root / profile / CHAPTER
    results.write(pd.DataFrame(table), name, parameters={}, seed=0, folder=folder, device="cpu")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"verdict": "true"}, "expected the fields .*, not 'verdict', was given 'true'"),
        ({"place": None}, "expected 'place' of type str, was given None"),
        ({"columns": "holds"}, r"expected 'columns' of type list\[str\], was given 'holds'"),
        ({"columns": []}, "expected 'columns' to name at least one"),
        (
            {"kind": "guess"},
            "expected 'kind' to be one of number, ordering, universal, existence, was given 'guess'",
        ),
        (
            {"minimum": "large"},
            "expected 'minimum' to be one of smoke, quick, desk, paper, was given 'large'",
        ),
        ({"id": "Lemma 3"}, "expected 'id' of lower-case letters"),
        (NUMBER | {"printed": "about 2"}, "expected 'printed' to be a number"),
        (NUMBER | {"tolerance": None}, "expected a 'tolerance'"),
        (NUMBER | {"tolerance": -1}, "expected 'tolerance' of at least 0, was given -1"),
        (NUMBER | {"columns": ["a", "b"]}, "expected 'columns' to name 1"),
        (NUMBER | {"tolerance_from": None}, "expected 'tolerance_from', the source of the tolerance"),
        (ORDERING | {"columns": ["a"]}, "expected 'columns' to name 2"),
        (ORDERING | {"matters": 0}, "expected 'matters', the smallest difference that matters, above 0"),
        ({"whose": "mine"}, "expected 'whose' to be paper or ours, was given 'mine'"),
        (
            {"erratum": {"kind": "misprint"}},
            "expected an 'erratum' with the texts kind, context, quote, right",
        ),
        ({"erratum": ERRATUM | {"kind": "slip"}}, "expected the kind of an erratum to be one of false as"),
    ],
)
def test_a_bad_entry_is_refused_by_name_and_field(change, sentence):
    with pytest.raises(ValueError, match=f"^Claim '(scale|Lemma 3)': {sentence}"):
        claim(**change)


def test_missing_fields_twins_and_stray_text_are_refused(tmp_path):
    for field in set(BASE) - {"id"}:
        entry = {name: value for name, value in BASE.items() if name != field}
        with pytest.raises(ValueError, match=f"Claim 'scale': expected the field '{field}', it is missing"):
            claim_from("godfrey2022", entry)
    ledger = tmp_path / "claims.yml"
    ledger.write_text(yaml.safe_dump({"a": [BASE], "b": [BASE]}))
    with pytest.raises(ValueError, match="Claim 'scale': expected an id of its own"):
        claims.load(ledger)
    ledger.write_text("a: [a sentence]")
    with pytest.raises(
        ValueError, match="Claims of a: expected a mapping with an id, was given 'a sentence'"
    ):
        claims.load(ledger)


def test_no_verdict_is_stored_in_the_ledger():
    shown = [
        word for words in FAMILIES.values() for word in words if word not in ("consistent", "no difference")
    ]
    words = "|".join([*shown, "verdict", "true in", "fails to hold"])
    assert not re.findall(rf"(?i)\b({words})\b", LEDGER.read_text())


def test_the_ledger_is_sound_and_its_links_lead_into_chapters_that_exist():
    ledger = claims.load(LEDGER)
    assert {entry.paper for entry in ledger} <= set(
        re.findall(r"@\w+\{([\w-]+),", (ROOT / "book/references.bib").read_text())
    )
    for entry in ledger:
        assert not entry.link or (ROOT / f"chapters/{entry.chapter}.py").is_file(), entry.id
        assert entry.link or entry.reason or entry.not_judged, f"{entry.id} says neither where nor why not"
        assert not entry.erratum or len(entry.erratum.quote) <= 110, f"{entry.id} quotes more than a line"


def test_the_page_has_a_row_for_every_claim_and_counts_ours_apart():
    ledger = [claim for claim, _ in on_record()]
    parts = claims.scoreboard(claims.judge_all(ledger, []))
    lines = re.findall(
        r"^- (\d+) (.*) (of \d papers|of our own): \*\*no verdict (\d+)\*\* ", parts["totals"], re.M
    )
    for whose in ("paper", "ours"):
        shown = [(int(n), int(lost)) for n, _, of, lost in lines if ("our" in of) == (whose == "ours")]
        assert all(number == lost for number, lost in shown)
        assert sum(number for number, _ in shown) == sum(entry.whose == whose for entry in ledger)
    counts = [int(number) for number in re.findall(r"\d+", parts["sum"])]
    sorts = [claims.summary([(entry, UNSEEN)])["sort"][0] for entry in ledger if entry.whose == "paper"]
    calculated, *measured = map(sorts.count, SORTS)
    rows = [number for each in measured for number in (each, *[0] * 6, each)]  # nothing is measured
    assert counts == [calculated, 0, 0, 0, calculated, *rows]
    kinds = parts["counts"].splitlines()[2:]
    assert sum(int(cell) for row in kinds for cell in row.split("|")[3:-1]) == len(ledger)
    ours = [row for row in kinds if row.startswith("| this book |")]
    assert ours == kinds[-len(ours) :] and all("?whose=ours&amp;kind=" in row for row in ours)
    rows = parts["rows"].splitlines()[2:]
    assert len(rows) == len(ledger)
    for entry, row in zip(ledger, rows, strict=True):
        assert " ".join(entry.statement.split()).replace("|", "\\|") in row
        assert ("*(ours)*" in row) == (entry.whose == "ours")


def test_the_errata_are_the_claims_that_have_one_by_kind_and_what_is_not_judged_has_a_reason():
    judged = claims.judge_all(claims.load(LEDGER), [], read_all(ROOT / "data/results"))
    ledger, parts = [claim for claim, _ in judged], claims.scoreboard(judged)
    for kind in ERRATA:
        listed = [each for each in ledger if each.erratum and each.erratum.kind == kind]
        wanted, part = [each.erratum for each in listed], parts[kind.replace(" ", "-")]
        assert re.findall(r"^: “(.*)”$", part, re.MULTILINE) == [" ".join(e.quote.split()) for e in wanted]
        assert part.count(": *Right:* ") == len(wanted) > 0
        untested = sum(each.not_judged is not None for each in listed)
        assert part.count(": *Not tested:* ") == untested
        assert part.count(": *Tested:* ") == len(wanted) - untested
    shown = re.findall(r"^- \{cite:t\}`(.*?)`, (.*)$", parts["not-judged"], re.MULTILINE)
    assert shown == [(x.paper, f"{x.place}. {x.not_judged}") for x in ledger if x.not_judged]


def test_a_finding_of_the_errata_is_a_sentence_with_numbers_of_the_table():
    for entry in claims.load(LEDGER):
        found = entry.erratum and entry.erratum.found
        if found:
            words = re.sub(r"\$[^$]*\$|{[^}]*}|rank 1|±500|95 %|less than 1", "", found)
            assert not re.search(r"\d", words), (entry.id, words)
        elif entry.erratum:
            assert entry.not_judged or entry.whose == "ours", entry.id
    judged = on_record()
    parts = claims.scoreboard(judged)
    errata = parts["false-as-printed"] + parts["misprint"] + parts["remark"]
    assert "counterexample:" not in errata and "example:" not in errata
    known = [entry.id for entry, found in judged if entry.erratum and found.profile]
    for name in known:
        assert f"(erratum-{name})=" in errata and f"erratum <erratum-{name}>" in parts["rows"]


def test_a_sentence_that_asks_for_a_number_the_table_lacks_is_refused_by_name(tmp_path):
    put(tmp_path, "quick", {"holds": [False, True]})
    entry = claim(erratum=ERRATUM | {"found": "Of {cases} cases {wrong} fail."})
    judged = claims.judge_all([entry], [("quick", tmp_path / "quick")])
    with pytest.raises(ValueError, match=r"Claim 'scale': expected 'found' to use .*cases.*'wrong'"):
        claims.scoreboard(judged)


def test_an_interval_on_one_side_of_zero_is_never_inconclusive_without_the_reason():
    judged = on_record()
    for entry, found in judged:
        if entry.kind == "ordering" and found.word == "inconclusive" and found.interval:
            _, low, high = found.interval
            assert (
                low <= 0 <= high
                or "open, as it is one of" in found.measured
                or "that matters" in found.measured
            )


def test_agreement_and_disagreement_in_another_setting_are_shown_alike():
    """In words, classes, totals and colours: one is never counted where the other is not."""
    words = {"reproduced": False, "consistent": True, "differs": False, "inconsistent": True}
    judged = [
        (claim(id=word, **NUMBER), claims.Verdict(word, "", interval=(2.0, 1.0, 3.0), decisive=elsewhere))
        for word, elsewhere in words.items()
    ]
    parts = claims.scoreboard(judged)
    assert "| 4 printed numbers | 2 (1) | 0 (0) | 2 (1) | 0 |" in parts["sum"]
    for word in ("agrees", "disagrees"):
        assert f"**{word} 1**" in parts["totals"] and f"**{word} in another setting 1**" in parts["totals"]
        assert f"{{.verdict .{word}-in-another-setting}}" in parts["rows"]
    assert (
        "1 holds, 1 holds in another setting, 1 does not hold, 1 does not hold in another" in parts["parts"]
    )
    bars = verdicts(claims.summary(judged)).axes[0].containers
    looks = {c.get_label(): c.patches[0].get_facecolor() for c in bars}
    for word in ("agrees", "disagrees"):
        (*own, opaque), (*other, pale) = looks[word], looks[f"{word} in another setting"]
        assert own == other and opaque == 1 and pale == looks["agrees in another setting"][3] < 1


def test_a_number_read_off_a_figure_says_whether_the_figures_own_interval_is_known():
    entries = [e for e, _ in on_record() if e.tolerance_from == READING and e.kind == "number"]
    assert len(entries) > 30 and any(entry.printed_interval for entry in entries)
    for row, entry in zip(rows_of_page(entries), entries, strict=True):
        assert ("the figure's own interval is not known" in row) == (entry.printed_interval is None)
        assert ("and the figure's own interval, " in row) == (entry.printed_interval is not None)


def rows_of_page(entries):
    return claims.scoreboard([(entry, UNSEEN) for entry in entries])["rows"].splitlines()[2:]


def test_a_figure_has_two_sentences_that_count_its_statements():
    judged = on_record()
    blocks = re.findall(r">([^<]+)</a>, (\d+) statements?: ([^.]*)", claims.scoreboard(judged)["parts"])
    shown = {part for part, _, _ in blocks}
    wanted = {c.part for c, _ in judged if c.whose == "paper" and c.part.startswith(("Figure", "Table"))}
    assert len(blocks) > 30 and wanted <= shown
    for part, number, counts in blocks:
        assert sum(int(count) for count in re.findall(r"(?:^|, )(\d+) ", counts)) == int(number), part


def test_most_measured_numbers_lie_within_a_factor_of_two_of_the_printed_ones():
    judged = on_record()
    table = claims.summary(judged).dropna(subset=["printed", "mean"]).query("printed > 0 and mean > 0")
    ratio = table["mean"] / table["printed"]
    assert len(ratio) > 40 and ratio.between(0.5, 2).mean() > 0.8


def test_orderings_agree_more_often_than_printed_numbers():
    judged = [(entry, found) for entry, found in on_record() if entry.whose == "paper"]
    table = claims.summary(judged).query("family != 'no verdict'")
    agree = table["family"].str.startswith("agrees").groupby([table["paper"], table["sort"]]).mean()
    for paper in ("Godfrey et al. 2022", "Csiszárik et al. 2021"):
        assert agree[paper, "orderings"] > agree[paper, "numbers"]


def test_no_statement_leans_on_the_one_above_it():
    assert not [entry.id for entry in claims.load(LEDGER) if entry.statement.startswith("The same")]


def test_the_summary_and_its_picture_hold_every_claim(tmp_path, always_the_same):
    put(tmp_path, "quick", {"penalty": [1.9, 2.0, 2.1]})
    judged = claims.judge_all(
        [claim(**NUMBER), claim(id="b", table="absent")], [("quick", tmp_path / "quick")]
    )
    number, absent = claims.summary(judged).to_dict("records")
    assert (number["family"], absent["family"]) == ("agrees", "no verdict")
    assert number["printed"] == 2.0 and number["low"] < number["mean"] < number["high"]
    always_the_same(lambda: verdicts(claims.summary(judged)))
    always_the_same(lambda: printed_and_measured(claims.summary(judged)))


@pytest.mark.slow
def test_the_page_renders_without_a_warning_whatever_stands_in_a_table(tmp_path):
    book, tables = tmp_path / "book", tmp_path / "tables"
    put(tables, "quick", {"alpha": ["*`$x_1$`|<b>[a](b)\\ {x}"], "holds": [False]}, name="odd")
    put(tables, "desk", {"penalty": [1.0, 2.0]}, name="odd_numbers")
    ledger = claims.load(LEDGER)
    odd = [
        claim(table="odd", columns=["holds", "alpha"]),
        claim(id="number", table="odd_numbers", **NUMBER),
        claim(id="text", table="odd", printed="about $a_1$", where="alpha == '$'"),
    ]
    (book / "chapters").mkdir(parents=True)
    (book / "generated").mkdir()
    judged = claims.judge_all([*ledger, *odd], [(at, tables / at) for at in ("quick", "desk")])
    for name, part in claims.scoreboard(judged).items():
        (book / f"generated/{name}.md").write_text(part)
    for picture in ("scoreboard", "numbers", "rates"):
        (book / f"generated/{picture}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for page in ("scoreboard.md", "errata.md", "references.bib"):
        (book / page).write_bytes((ROOT / "book" / page).read_bytes())
    for chapter in (ROOT / "chapters").glob("[0-9]*.py"):
        (book / f"chapters/{chapter.stem}.md").write_text("---\norphan: true\n---\n# Stub")
    labels = {entry.link for entry in ledger if entry.link}
    stubs = [
        f"({label})=\n## {label}"
        if label.startswith(("sec-", "fig-"))
        else f":::{{prf:lemma}}\n:label: {label}\nTrue.\n:::"
        for label in sorted(labels)
    ]
    (book / "index.md").write_text("\n\n".join(["# Stub", *stubs, "```{toctree}\nscoreboard\nerrata\n```"]))
    (book / "bibliography.md").write_text("---\norphan: true\n---\n# Bibliography\n\n```{bibliography}\n```")
    (book / "conf.py").write_text(
        "exclude_patterns = ['generated']\n"
        "extensions = ['myst_parser', 'sphinx_design', 'sphinx_proof', 'sphinxcontrib.bibtex']\n"
        "extensions += ['intertwine_book.build.facts']\n"
        "bibtex_bibfiles = ['references.bib']\nbibtex_reference_style = 'author_year'\n"
        "myst_enable_extensions = ['amsmath', 'attrs_inline', 'colon_fence', 'deflist', 'dollarmath']\n"
    )
    command = [sys.executable, "-m", "sphinx", "-nWq", "--keep-going", "-b", "html", book, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "html/scoreboard.html").read_text()
    assert "*`$x_1$`|&lt;b&gt;[a](b)\\ {x}" in page
    table = page[page.index('class="scoreboard') :]
    assert table.count("<tr") == 1 + len(ledger) + len(odd)
