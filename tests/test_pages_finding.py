"""What a reader looks for is found: rows of the scoreboard by filters and links, pages by the search."""

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from bs4 import BeautifulSoup

from intertwine_book import claims

HTML = Path(os.environ.get("INTERTWINE_HTML", "absent")).resolve()
LEDGER = Path(__file__).parents[1] / "book/claims.yml"
FILTERS = ("paper", "kind", "verdict", "class", "part", "whose")
pytestmark = pytest.mark.skipif(
    "INTERTWINE_HTML" not in os.environ, reason="INTERTWINE_HTML names no built book (make book, _build/html)"
)


@cache
def rows() -> list[dict[str, str]]:
    """Of each row of the built scoreboard the value of every filter, read without its JavaScript."""
    page = BeautifulSoup((HTML / "scoreboard.html").read_text(), "html.parser")
    found = page.select("table.scoreboard tbody tr")
    ledger = claims.load(LEDGER)
    assert len(found) == len(ledger)
    return [
        {
            "paper": row("td")[0].text.strip(),
            "kind": row("td")[2].text.strip(),
            "verdict": row.select_one(".verdict").text.strip(),
            "class": next(c for c in row.select_one(".verdict")["class"] if c != "verdict").replace("-", " "),
            "part": entry.part,
            "whose": "ours" if entry.whose == "ours" else "the papers'",
        }
        for row, entry in zip(found, ledger, strict=True)
    ]


def wanted(address: str) -> int:
    """How many rows the filters of an address select."""
    filters = dict(parse_qsl(urlsplit(address).query))
    assert filters and set(filters) <= set(FILTERS), address
    return sum(all(row[name] == value for name, value in filters.items()) for row in rows())


@cache
def links() -> dict[str, int]:
    """Every link of the book that filters the scoreboard, and the number of rows that stands beside it."""
    found = {}
    for path in HTML.rglob("*.html"):
        if not re.search(rf'<a [^>]*href="[^"]*\?({"|".join(FILTERS)})=', text := path.read_text()):
            continue
        for link in BeautifulSoup(text, "html.parser").select(",".join(f"a[href*='{n}=']" for n in FILTERS)):
            if row := link.find_parent("tr"):
                found[link["href"]] = sum(int(cell.text) for cell in row("td")[2:])
            else:
                found[link["href"]] = int(re.search(r", (\d+) statement", link.find_parent("li").text)[1])
    return found


def test_every_link_to_rows_of_the_scoreboard_selects_as_many_as_stand_beside_it():
    assert len(links()) > 50
    assert not [link for link, promised in links().items() if promised == 0 or wanted(link) != promised]


@pytest.fixture(scope="module")
def page(browser):
    """A page without formulas and pictures, which take longer than all the rest."""
    opened = browser.new_page()
    opened.route(
        re.compile("/mathjax/|/_images/|plotly|fontawesome|[.](css|woff2)"), lambda route: route.abort()
    )
    return opened


def shown(page) -> int:
    found = re.search(r"of ([\d,]+) entr", page.locator(".dt-info").inner_text())
    return int(found[1].replace(",", ""))


def open_scoreboard(page, query: str = "") -> int:
    page.goto((HTML / "scoreboard.html").as_uri() + query, wait_until="load")
    page.wait_for_selector(".scoreboard-filters")
    return shown(page)


def test_every_value_of_every_filter_shows_its_rows(page):
    assert open_scoreboard(page) == len(rows())
    for name in FILTERS:
        labels = page.locator(".scoreboard-filters label")
        control = labels.filter(has_text=re.compile(f"^{name.capitalize()} ")).locator("select")
        values = [value for value in control.locator("option").all_inner_texts() if value != "all"]
        promised = Counter(row[name] for row in rows())
        assert sorted(values) == sorted(promised), name
        for value in values:
            control.select_option(value)
            assert shown(page) == promised[value], (name, value)
        control.select_option("")
    assert shown(page) == len(rows())


def test_every_link_to_rows_of_the_scoreboard_shows_them(page):
    found = {link: open_scoreboard(page, f"?{urlsplit(link).query}") for link in links()}
    assert found == links()


def test_the_box_of_the_scoreboard_finds_names_with_and_without_accents(page):
    open_scoreboard(page)
    box = page.locator(".scoreboard-filters input")
    found = []
    for words in ("Csiszárik", "Csiszarik", "csiszárik et al.", "nowhere in the table"):
        box.fill(words)
        found.append(shown(page))
    of_paper = sum(row["paper"] == "Csiszárik et al. 2021" for row in rows())
    assert found[:3] == [of_paper] * 3 and found[3] == 0


# what people type, and the pages that they want: one of them is among the first two
SOUGHT = {
    "prune": ["api/smaller"],
    "install": ["run_again"],
    "stitch": ["chapters/03_stitching", "api/stitching"],
    "stitch two networks": ["api/tasks", "chapters/03_stitching", "api/stitching"],
    "compare layers": ["api/similarity", "chapters/04_dissimilarity"],
    "rotate residual stream": ["api/smaller", "chapters/01d_orbits"],
    "CKA": ["chapters/04_dissimilarity", "api/similarity"],
    "GELU": ["chapters/01_intertwiner_groups"],
    "cite": ["intro"],
    "same network": ["api/two_networks"],
    "merge models": ["api/recipes", "chapters/01d_orbits"],
    "level set": ["chapters/06_genni", "api/genni"],
    "GPU papermill": ["run_again"],
    "weight decay": ["chapters/01b_weight_space", "chapters/07_shallow_relu"],
    "permutation": ["notation", "chapters/03_stitching"],
}


def test_the_page_that_is_wanted_is_among_the_first_two(page):
    missed = {}
    page.goto((HTML / "search.html").as_uri() + "?q=anything", wait_until="load")
    page.wait_for_function("Search.hasIndex()")
    for query, pages in SOUGHT.items():
        found = page.evaluate(
            """query => {
              history.replaceState(null, "", "?q=" + encodeURIComponent(query)); // as a search has it
              return Search._performSearch(...Search._parseQuery(query)).reverse().map(([name]) => name);
            }""",
            query,
        )
        if not set(found[:2]) & set(pages):
            missed[query] = found[:5]
    assert not missed
