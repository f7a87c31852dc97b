"""A number of networks that are narrower than the paper's, or that saw digits, is told with what they are."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from intertwine_book.results import records
from intertwine_book.told import read_told

ROOT = Path(__file__).parents[1]
PAPER = yaml.safe_load((ROOT / "chapters/profiles/paper.yml").read_text())
STORIES = {
    "matching": "03b_matching",
    "dissimilarity": "04_dissimilarity",
    "interpretability": "05_interpretability",
}
PAGES = [*STORIES.values(), "learned", "intro"]
DRAWN = {"definition_5_3", "lemma_5_1", "lemma_5_5", "property_ii"}  # statements about features of any width
SAID = re.compile(r"\bwidths? [\d{]|\bdigits\b|\bnarrow|\bsmall networks")
recorded = records.recorded


def narrower(chapter: str, provenance: dict[str, Any]) -> bool:
    """Whether a recorded table is of narrower networks than the paper's, or of other images."""
    given = provenance["parameters"]
    if given.get("networks") in ("published", "tiny10") or given.get("published"):  # the papers' own
        return False
    papers = PAPER.get(chapter, {})
    return any(
        given.get(name, papers.get(name)) != papers.get(name) for name in ("dataset", "width", "resnet_width")
    )


def shaken(chapter: str, name: str) -> dict[str, Any]:
    """`recorded`, in which the measurements of narrower networks are a little off."""
    generator, found = np.random.default_rng(0), {}
    for profile, (table, provenance) in recorded(chapter, name).items():
        if name not in DRAWN and narrower(chapter, provenance):
            table = table.copy()
            for column in table.select_dtypes("float"):
                if table[column].nunique() > len(table) / 2:  # measured: what was set repeats itself
                    table[column] *= 1 + 0.05 * generator.random(len(table))
        found[profile] = table, provenance
    return found


@pytest.fixture(scope="module")
def narrow() -> set[tuple[str, str]]:
    """Story and name of the facts that move when the tables of narrower networks do."""
    stories = {
        name: import_module(f"intertwine_book.stories.{name}") for name in [*STORIES, "learned", "widths"]
    }
    before = {name: story.facts() for name, story in stories.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "recorded", shaken)
        after = {name: story.facts() for name, story in stories.items()}
    pairs = [(story, name) for story, facts in before.items() for name in facts]
    moved = {(story, name) for story, name in pairs if before[story][name] != after[story][name]}
    for record in ("02_sanity_rotations", "03_stitching"):  # their names say so
        _, told = read_told(ROOT / f"data/results/{record}/told.json")
        moved |= {(record, name) for name in told if re.search("narrow|half|digits|_(16|32)$", name)}
    return moved


def passages(page: str) -> list[str]:
    """The sections and captions of a page, whose facts are {fact}`story name`."""
    if page not in STORIES.values():
        return re.split(r"(?m)^#+ ", (ROOT / f"book/{page}.md").read_text())
    (story,) = (name for name, chapter in STORIES.items() if chapter == page)
    lines = (ROOT / f"chapters/{page}.py").read_text().splitlines()
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines if line.startswith("#"))
    captions = yaml.safe_load((ROOT / f"chapters/captions/{page}.yml").read_text()).values()
    found = [*re.split(r"(?m)^#+ ", text), *(each["caption"] for each in captions)]
    return [each.replace("{glue:text}`", f"{{fact}}`{story} ") for each in found]


def test_facts_of_narrower_networks_are_found(narrow):
    assert {("03_stitching", "barrier_matched_narrow"), ("dissimilarity", "narrow-linear-gain")} <= narrow
    wide = {("03_stitching", "group_low"), ("03_stitching", "barrier_matched"), ("matching", "gap-low")}
    assert not wide & narrow and ("dissimilarity", "linear-gain") not in narrow


@pytest.mark.parametrize("page", PAGES)
def test_a_number_of_narrower_networks_stands_where_their_width_is_said(page, narrow):
    for passage in passages(page):
        told = {*re.findall(r"{fact}`(\w+)[ .]([^`:]+)", passage)} & narrow
        assert not told or SAID.search(passage), (sorted(told), passage[:300])
