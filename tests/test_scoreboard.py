"""The scoreboard and the errata count every claim once, lead to their rows, and render."""

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup

from intertwine_book import claims
from intertwine_book.claims.board import OUTCOMES, SETTINGS, scale_in_words
from intertwine_book.claims.claim import ERRATA, READING, claim_from
from intertwine_book.read_told import read_all

ROOT = Path(__file__).parents[1]
BASE = {"id": "scale", "paper": "godfrey2022", "place": "Scale", "statement": "...", "kind": "universal"}
BASE |= {"chapter": "records/01_x", "table": "scale", "columns": ["holds"], "link": "rec-x"}
NUMBER = {"kind": "number", "columns": ["penalty"], "printed": 2.0, "tolerance": 0.5, "matters": 0.5}
NUMBER |= {"tolerance_from": "reading error", "protocol": {"width": 64}}
ERRATUM = {"kind": "misprint", "context": "A rule.", "quote": "d > 0", "right": "d ≥ 0"}


def claim(**more):
    return claim_from(BASE | more)


@cache
def on_record() -> list:
    """Every claim, and what the recorded rows say of it."""
    return claims.corrected(read_all(ROOT / "data/results"))


def rows_of_page(judged):
    return claims.scoreboard(judged)["rows"].splitlines()[2:]


def test_the_claims_on_record_have_a_paper_a_link_and_an_id_of_their_own():
    known = {*re.findall(r"@\w+\{([\w-]+),", (ROOT / "book/references.bib").read_text())}
    entries = [entry for entry, _ in on_record()]
    assert len(entries) > 200 and {entry.paper for entry in entries} <= known
    assert not [name for name, times in Counter(entry.id for entry in entries).items() if times > 1]
    for entry in entries:
        assert entry.link and (ROOT / f"chapters/{entry.chapter}.py").is_file(), entry.id
        assert not entry.erratum or len(entry.erratum.quote) <= 110, f"{entry.id} quotes more than a line"
        assert not entry.statement.startswith("The same"), f"{entry.id} leans on another"
        exact = entry.kind in ("universal", "existence") and entry.about == "experiments"
        assert not exact or entry.trial or entry.not_judged, f"{entry.id}: which rows are one trial?"


def test_each_place_has_a_row_that_leads_and_counts_its_others():
    judged, shown, at = on_record(), rows_of_page(on_record()), 0
    assert len(shown) == len(judged)
    places = dict.fromkeys((entry.paper, entry.part) for entry, _ in judged)
    assert len(places) > 60
    while at < len(shown):
        place = re.match(r"\| \[(.*?)]{.paper} \[(.*?)]{.place}", shown[at]).groups()
        if more := re.search(r"\[(\d+) more: ([^]]*)]{.more}", shown[at]):
            number = int(more[1])
            assert sum(map(int, re.findall(r"(\d+) ", more[2] + " "))) == number
        else:
            number = 0
        for other in shown[at + 1 : at + 1 + number]:
            assert f"[{place[0]}]{{.paper}} [{place[1]}]{{.place}}" in other and ".more" not in other
        at += 1 + number
        places.popitem()
    assert not places


def test_the_lead_is_the_papers_own_statement_and_an_ordering_before_numbers():
    ours, number, lead = (
        claim(id="ours", whose="ours"),
        claim(id="b", **NUMBER),
        claim(id="lead", statement="This leads."),
    )
    first, *others = rows_of_page(
        [(each, claims.Verdict("inconclusive", "")) for each in (ours, number, lead)]
    )
    assert "This leads." in first and "[2 more: 2 undecided]{.more}" in first
    assert "*(ours)*" in others[-1]


def test_three_columns_hold_every_judged_statement_of_the_papers_once():
    judged = on_record()
    table = claims.summary(judged)
    theirs = table[table["paper"] != "this book"]
    grid = claims.scoreboard(judged)["sum"].splitlines()
    assert [cell.strip() for cell in grid[0].split("|")[2:-1]] == list(SETTINGS)
    numbers = {line.split("|")[1].strip(): [*map(int, line.split("|")[2:-1])] for line in grid[2:5]}
    for outcome in ("agree", "undecided", "disagree"):
        rows = theirs[theirs["outcome"] == outcome]
        assert numbers[outcome] == [int((rows["setting"] == at).sum()) for at in SETTINGS]
    assert sum(map(sum, numbers.values())) == int((theirs["outcome"] != "no verdict").sum())
    assert {"agree", "undecided", "disagree"} == {*numbers}


@pytest.mark.parametrize(
    ("word", "outcome"), [(word, outcome) for outcome, words in OUTCOMES.items() for word in words]
)
def test_each_word_has_one_outcome_and_no_difference_is_an_answer(word, outcome):
    assert sum(word in words for words in OUTCOMES.values()) == 1
    table = claims.summary([(claim(**NUMBER), claims.Verdict(word, "", trials=4, decisive=True))])
    setting = "no run" if outcome == "no verdict" else "another scale"
    assert (table["outcome"][0], table["setting"][0]) == (outcome, setting)
    assert word != "no difference" or outcome == "disagree"
    row = rows_of_page([(claim(**NUMBER), claims.Verdict(word, "", trials=4, decisive=True))])[0]
    assert f"[{word}]{{.verdict .{outcome.replace(' ', '-')} .{setting.replace(' ', '-')}}}" in row


def test_the_setting_is_that_of_the_rows_and_not_of_the_statement():
    found = claims.Verdict("reproduced", "", trials=4)
    settings = {
        "mathematics": claims.summary([(claim(), found)]),
        "the paper's own setting": claims.summary([(claim(**NUMBER), found)]),
        "another scale": claims.summary([(claim(**NUMBER), claims.Verdict("consistent", "", decisive=True))]),
    }
    assert {name: table["setting"][0] for name, table in settings.items()} == {
        name: name for name in settings
    }


def test_the_scale_of_a_row_counts_first_what_is_a_part_of_the_papers():
    scale = "width: 16 instead of 64; epochs: 24 instead of 50; images: 2000 instead of 10000; 4 of 32 trials"
    counted, others = scale_in_words(scale)
    assert counted == ["4 of 32 trials", "24 of 50 epochs", "2,000 of 10,000 images"]
    assert others == ["width 16, not 64"]
    assert scale_in_words("epochs: 60 instead of 50; start: a instead of b")[1] == [
        "epochs 60, not 50",
        "start a, not b",
    ]
    found = claims.Verdict("consistent", "", trials=4, scale=scale, decisive=True)
    row = rows_of_page([(claim(**NUMBER), found)])[0]
    assert (
        "| 4 of 32 trials, 24 of 50 epochs <details><summary>2 more</summary>2,000 of 10,000 images; width"
        in row
    )
    assert "| 7 cases |" in rows_of_page([(claim(), claims.Verdict("no counterexample", "", trials=7))])[0]


def test_a_number_read_off_a_figure_says_whether_the_figures_own_interval_is_known():
    entries = [(e, v) for e, v in on_record() if e.tolerance_from == READING and e.kind == "number"]
    assert len(entries) > 30 and any(entry.printed_interval for entry, _ in entries)
    for pair in entries:
        (row,) = rows_of_page([pair])
        assert ("the figure's own interval is not known" in row) == (pair[0].printed_interval is None)
        assert ("and the figure's own interval, " in row) == (pair[0].printed_interval is not None)


def test_an_interval_on_one_side_of_zero_is_never_inconclusive_without_the_reason():
    for entry, found in on_record():
        if entry.kind == "ordering" and found.word == "inconclusive" and found.interval:
            _, low, high = found.interval
            told = found.measured
            assert low <= 0 <= high or "open, as it is one of" in told or "that matters" in told


# the errata


def test_the_errata_are_the_claims_that_have_one_by_kind_and_what_is_not_judged_has_a_reason():
    entries, parts = [entry for entry, _ in on_record()], claims.scoreboard(on_record())
    for kind in ERRATA:
        listed = [entry for entry in entries if entry.erratum and entry.erratum.kind == kind]
        part = parts[kind.replace(" ", "-")]
        quotes = [" ".join(entry.erratum.quote.split()) for entry in listed]
        assert re.findall(r"\[#]\(#erratum-[a-z0-9-]+\) “(.*?)” \*Right:\* ", part) == quotes
        assert part.count("<details ") == part.count("</details>") == len(listed) > 0
        untested = sum(entry.not_judged is not None for entry in listed)
        assert part.count("*Not tested:* ") == untested
        assert part.count("*Tested:* ") == part.count("*Found:* ") == len(listed) - untested
    shown = re.findall(r"^- \{cite:t\}`(.*?)`, (.*)$", parts["not-judged"], re.MULTILINE)
    assert shown == [(x.paper, f"{x.place}. {x.not_judged}") for x in entries if x.not_judged]


def test_a_finding_of_the_errata_is_a_sentence_with_numbers_of_the_table():
    for entry, _ in on_record():
        found = entry.erratum and entry.erratum.found
        if found:
            words = re.sub(r"\$[^$]*\$|{[^}]*}|rank 1|±500|95 %|less than 1", "", found)
            assert not re.search(r"\d", words), (entry.id, words)
        elif entry.erratum:
            assert entry.not_judged or entry.whose == "ours", entry.id
    parts = claims.scoreboard(on_record())
    errata = parts["false-as-printed"] + parts["misprint"] + parts["remark"]
    assert "counterexample:" not in errata and "example:" not in errata
    for name in [entry.id for entry, _ in on_record() if entry.erratum]:
        assert f"(erratum-{name})=" in errata and f"erratum <erratum-{name}>" in parts["rows"]


def test_a_sentence_that_asks_for_a_number_the_table_lacks_is_refused_by_name():
    entry = claim(erratum=ERRATUM | {"found": "Of {cases} cases {wrong} fail."})
    found = claims.Verdict("refuted", "", trials=2, numbers={"cases": 2, "deciding": 1})
    with pytest.raises(ValueError, match=r"Claim 'scale': expected 'found' to use .*cases.*'wrong'"):
        claims.scoreboard([(entry, found)])


@pytest.mark.slow
def test_the_pages_render_without_a_warning_whatever_stands_in_a_table(tmp_path):
    book = tmp_path / "book"
    odd = "counterexample: alpha = *`$x_1$`|<b>[a](b)\\ {x}; 1 of 1 cases"
    judged = [*on_record(), (claim(id="odd"), claims.Verdict("refuted", odd, trials=1))]
    judged.append((claim(id="text", printed="about $a_1$"), claims.Verdict("not yet measured", "No row.")))
    (book / "chapters/records").mkdir(parents=True)
    (book / "generated").mkdir()
    for name, part in claims.scoreboard(judged).items():
        (book / f"generated/{name}.md").write_text(part)
    (book / "generated/numbers.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for page in ("scoreboard.md", "errata.md", "references.bib"):
        (book / page).write_bytes((ROOT / "book" / page).read_bytes())
    for chapter in (ROOT / "chapters").glob("[0-9]*.py"):
        (book / f"chapters/{chapter.stem}.md").write_text("---\norphan: true\n---\n# Stub")
    labels = sorted({entry.link for entry, _ in judged})
    stubs = [f"({label})=\n## {label}" for label in labels]
    told = "".join(claims.scoreboard(judged).values())
    theorems = sorted({*re.findall(r"{prf:ref}`([\w-]+)`", told)})  # of chapters, to which errata refer
    stubs += [f":::{{prf:theorem}}\n:label: {label}\nStub\n:::" for label in theorems]
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
    assert table.count("<tr") == 1 + len(judged)


# the built page, in a browser

HTML = Path(os.environ.get("INTERTWINE_HTML", "absent")).resolve()
FILTERS = ("paper", "place", "setting", "outcome", "verdict", "sort", "whose")
built = pytest.mark.skipif(
    "INTERTWINE_HTML" not in os.environ, reason="INTERTWINE_HTML names no built book (make book, _build/html)"
)


@cache
def rows() -> list[dict[str, str]]:
    """Of each row of the built page the value of every filter, read without its JavaScript."""
    page = BeautifulSoup((HTML / "scoreboard.html").read_text(), "html.parser")
    sorts = {"ordering": "orderings", "number": "printed numbers"}
    found = []
    for row in page.select("table.scoreboard tbody tr"):
        verdict = row.select_one(".verdict")
        settings = {at.replace("'", "").replace(" ", "-"): at for at in (*SETTINGS, "no run")}
        found.append(
            {
                "paper": row.select_one(".paper").text,
                "place": row.select_one(".place").text,
                "setting": next(settings[name] for name in verdict["class"] if name in settings),
                "outcome": next(o for o in OUTCOMES if o.replace(" ", "-") in verdict["class"]),
                "verdict": verdict.text,
                "sort": sorts.get(row.select_one(".kind").text, "statements on all or some"),
                "whose": "ours" if row.select_one("td:first-child em") else "the papers'",
            }
        )
    return found


@cache
def links() -> dict[str, int]:
    """Every link of the page that filters its rows, and the number that it shows."""
    page = BeautifulSoup((HTML / "scoreboard.html").read_text(), "html.parser")
    return {link["href"]: int(link.text) for link in page.select("a[href^='?']")}


@built
def test_a_record_shows_the_words_of_the_scoreboard():
    """Rows of the records' tables of claims, found by place and statement, have the word of the page."""
    words = Counter((entry.chapter, found.word) for entry, found in on_record())
    for chapter in {chapter for chapter, _ in words}:
        page = BeautifulSoup((HTML / f"chapters/{chapter}.html").read_text(), "html.parser")
        if "Rows computed in this run" in page.text:
            pytest.skip("the records of this book ran at a scale that computes: their words are their own")
        tables = [
            t for t in page.select(".readable table") if t.caption and t.caption.text == "Claims and verdicts"
        ]
        shown = Counter(row("td")[-1].text for row in tables[-1].select("tbody tr"))
        assert shown == Counter({word: n for (of, word), n in words.items() if of == chapter}), chapter


def shown(page) -> int:
    return page.locator("table.scoreboard tbody tr:not([hidden])").count()


def open_scoreboard(page, query: str = "") -> int:
    page.goto((HTML / "scoreboard.html").as_uri() + query, wait_until="load")
    page.wait_for_selector(".scoreboard-filters")
    return shown(page)


@built
def test_a_row_for_each_place_is_first_and_others_unfold(page):
    places = {(row["paper"], row["place"]) for row in rows()}
    assert open_scoreboard(page) == len(places) < 150
    button = page.locator("table.scoreboard button.more").first
    more = int(button.inner_text().split()[0])
    button.press("Enter")
    assert shown(page) == len(places) + more and button.get_attribute("aria-expanded") == "true"
    button.press("Enter")
    assert shown(page) == len(places)


@built
def test_every_value_of_every_filter_shows_its_rows(page):
    first = open_scoreboard(page)
    for name in FILTERS:
        labels = page.locator(".scoreboard-filters label")
        control = labels.filter(has_text=re.compile(f"^{name.capitalize()} ")).locator("select")
        values = [value for value in control.locator("option").all_inner_texts() if value != "all"]
        promised = Counter(row[name] for row in rows())
        assert sorted(values) == sorted(promised), name
        for value in values:
            control.select_option(value)
            assert shown(page) == promised[value] > 0, (name, value)
        control.select_option("")
    assert shown(page) == first


@built
def test_every_link_to_rows_shows_them(page):
    found = {link: open_scoreboard(page, f"?{urlsplit(link).query}") for link in links()}
    assert found == links()


@built
def test_the_box_finds_names_with_and_without_accents(page):
    open_scoreboard(page)
    box = page.locator(".scoreboard-filters input")
    found = []
    for words in ("Csiszárik", "Csiszarik", "csiszárik et al.", "nowhere in the table"):
        box.fill(words)
        found.append(shown(page))
    of_paper = sum(row["paper"] == "Csiszárik et al. 2021" for row in rows())
    assert found[:3] == [of_paper] * 3 and of_paper > 0 and found[3] == 0
