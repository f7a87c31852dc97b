"""What a reader types into the search leads to the page that is wanted."""

import os
import re
from pathlib import Path

import pytest

HTML = Path(os.environ.get("INTERTWINE_HTML", "absent")).resolve()
pytestmark = pytest.mark.skipif(
    "INTERTWINE_HTML" not in os.environ, reason="INTERTWINE_HTML names no built book (make book, _build/html)"
)


@pytest.fixture(scope="module")
def page(browser):
    """A page without formulas and pictures, which take longer than all the rest."""
    opened = browser.new_page()
    opened.route(
        re.compile("/mathjax/|/_images/|plotly|fontawesome|[.](css|woff2)"), lambda route: route.abort()
    )
    return opened


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
