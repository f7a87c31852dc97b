"""Notation and terms: a term occurs where it sends one, and a symbol of a chapter has a line."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENTRY = re.compile(r"^((?:\S.*\n)+)((?: {2}.*\n?)+)", re.MULTILINE)


def entries() -> dict[tuple[str, ...], str]:
    """Terms → what is said of them."""
    text = (ROOT / "book/notation.md").read_text().partition(":::{glossary}\n")[2]
    return {tuple(terms.strip().split("\n")): words for terms, words in ENTRY.findall(text)}


def shown(chapter: str) -> str:
    """The words of a page, as they stand in its sources."""
    prose = re.findall(r"^# (.*)", (ROOT / f"chapters/{chapter}.py").read_text(), re.MULTILINE)
    return " ".join(" ".join(prose).replace("*", "").split()).lower()


def test_a_term_occurs_in_a_chapter_that_the_glossary_sends_one_to():
    strays = []
    for terms, words in entries().items():
        pages = [shown(chapter) for chapter in re.findall(r"<chapters/(\w+)>", words)]
        if pages and not any(term.lower() in page for term in terms for page in pages):
            strays.append(terms[0])
    assert len(entries()) > 40 and not strays


def test_terms_stand_in_order_and_once():
    terms = [term for names in entries() for term in names]
    assert not [term for term, times in Counter(terms).items() if times > 1]
    first = [re.sub(r"\W|mathrm", "", names[0].replace("ε", "epsilon")).lower() for names in entries()]
    assert first == sorted(first)


def test_each_symbol_of_chapter_7_that_a_formula_uses_has_its_line():
    notation = (ROOT / "book/notation.md").read_text()
    for symbol in (r"\gamma_H", "u_H", r"\delta_H", r"\ominus", "ε", r"\mu", "$h$, $k$"):
        assert symbol in notation, symbol
