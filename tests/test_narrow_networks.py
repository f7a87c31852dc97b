"""A number of networks that are narrower than the paper's, or that saw digits, is told with what they are."""

import re
from pathlib import Path

import pytest

from intertwine_book.read_told import read_told

ROOT = Path(__file__).parents[1]
SAID = re.compile(r"\bwidths? [\d{]|\bdigits\b|\bnarrow|\bsmall networks")
NARROW = re.compile("^small_|narrow|half|digits|_(16|32)$")  # names of facts say so


@pytest.mark.parametrize("page", ["learned", "intro"])
def test_a_number_of_narrower_networks_stands_where_their_width_is_said(page):
    records = (ROOT / "data/results").glob("*/told.json")
    narrow = {
        f"{path.parent.name}.{name}" for path in records for name in read_told(path)[1] if NARROW.search(name)
    }
    assert "03_stitching.barrier_matched_narrow" in narrow and "03_stitching.group_low" not in narrow
    for passage in re.split(r"(?m)^#+ ", (ROOT / f"book/{page}.md").read_text()):
        told = {*re.findall(r"{fact}`([^`:]+)", passage)} & narrow
        assert not told or SAID.search(passage), (sorted(told), passage[:300])
