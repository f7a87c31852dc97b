"""The built pages as a reader has them, wide and on a telephone, light and dark, in a headless browser."""

import os
from pathlib import Path

import pytest

HTML = Path(os.environ.get("INTERTWINE_HTML", "absent")).resolve()
pytestmark = pytest.mark.skipif(
    "INTERTWINE_HTML" not in os.environ, reason="INTERTWINE_HTML names no built book (make book, _build/html)"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_every_page_is_readable_and_fetches_nothing_from_elsewhere(browser, width, scheme):
    """No serious fault by axe, no request elsewhere, no sideways scrolling; a picture of each is kept."""
    from axe_playwright_python.sync_playwright import Axe

    pictures = HTML.parent / "screens" / f"{scheme}-{width}"
    faults: list[str] = []
    for path in sorted(HTML.rglob("*.html")):
        name = path.relative_to(HTML).with_suffix("").as_posix()
        if name.startswith("_") or name == "index" or "_static" in path.parts:  # index leads on to intro
            continue
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on("pageerror", lambda error, name=name, faults=faults: faults.append(f"{name}: {error}"))
        page.goto(path.as_uri(), wait_until="load")
        page.wait_for_function(
            "!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true)"
        )
        page.wait_for_timeout(500)  # colours move for a while
        elsewhere = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
        faults += [f"{name}: asks for {url}" for url in elsewhere]
        if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
            faults.append(f"{name}: {wide} pixels wide")
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        for fault in found:
            if fault["impact"] in ("serious", "critical"):
                faults.append(f"{name}: {fault['id']}: {fault['nodes'][0]['html'][:150]}")
        page.screenshot(path=pictures / f"{name.replace('/', '-')}.png", full_page=True)
        page.close()
    assert not faults, "\n".join(faults)


def test_a_link_into_a_closed_solution_opens_it_and_a_closed_one_stays_closed_without(browser):
    page = browser.new_page()
    page.goto((HTML / "chapters" / "01d_orbits.html").as_uri(), wait_until="load")
    assert not page.locator("#equation-eq-equal").is_visible()
    page.goto((HTML / "chapters" / "01d_orbits.html").as_uri() + "#equation-eq-equal", wait_until="load")
    page.wait_for_timeout(500)
    assert page.locator("#equation-eq-equal").is_visible()


def test_ten_stops_of_the_tab_key_lead_to_the_first_control_of_a_page_at_most(browser):
    """The second is a link past everything before it; formulas that fit take no focus."""
    faults = []
    for path in sorted((HTML / "chapters").glob("*.html")):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri(), wait_until="load")
        page.wait_for_function("MathJax.startup.promise.then(() => true)")
        if page.locator(".bd-article .widget").count():
            for key in ("Tab", "Tab", "Enter"):
                page.keyboard.press(key)
            inside = "document.activeElement.matches('.bd-article .widget :is(input, button, summary)')"
            stops = next((k for k in range(2, 11) if page.keyboard.press("Tab") or page.evaluate(inside)), 99)
            faults += [f"{path.stem}: {stops} stops"] * (stops > 10)
        taking = page.locator("mjx-container[tabindex='0']:not(.scrolls)").count()
        faults += [f"{path.stem}: {taking} formulas take focus"] * (taking > 0)
        page.close()
    assert not faults, "\n".join(faults)


# --- what a reader types into the search ---


# what people type, and the pages that they want: one of them is among the first two
SOUGHT = {
    "prune": ["api/smaller"],
    "install": ["run_again"],
    "stitch": ["chapters/03_stitching", "api/stitching"],
    "stitch two networks": ["api/tasks", "chapters/03_stitching", "api/stitching"],
    "compare layers": ["api/similarity", "chapters/04_dissimilarity"],
    "rotate residual stream": ["api/smaller", "api/tasks", "chapters/01d_orbits"],
    "CKA": ["chapters/04_dissimilarity", "api/similarity"],
    "GELU": ["chapters/01_intertwiner_groups"],
    "cite": ["intro"],
    "same network": ["api/two_networks"],
    "merge models": ["api/tasks", "chapters/01d_orbits"],
    "level set": ["chapters/06_genni", "api/genni"],
    "GPU papermill": ["run_again"],
    "weight decay": ["chapters/01b_weight_space", "chapters/07_shallow_relu"],
    "permutation": ["notation", "chapters/03_stitching"],
    "batch norm": ["chapters/01c_any_network", "api/smaller"],
    "GPU": ["api/data"],
}

# and the functions that come first
NAMED = {
    "stitch": "intertwine.stitching.stitch",
    "prune": "intertwine.weightspace.prune",
    "cka": "intertwine.similarity.cka",
}


def test_the_page_that_is_wanted_is_among_the_first_two(page):
    missed = {}
    page.goto((HTML / "search.html").as_uri() + "?q=anything", wait_until="load")
    page.wait_for_function("Search.hasIndex()")
    for query in SOUGHT | NAMED:
        found = page.evaluate(
            """query => {
              history.replaceState(null, "", "?q=" + encodeURIComponent(query)); // as a search has it
              return Search._performSearch(...Search._parseQuery(query)).reverse();
            }""",
            query,
        )
        names, titles = zip(*(each[:2] for each in found), strict=True)
        if query in SOUGHT and not {*names[:2]} & {*SOUGHT[query]}:
            missed[query] = names[:5]
        if titles[0] != NAMED.get(query, titles[0]):
            missed[query] = titles[:5]
    assert not missed
