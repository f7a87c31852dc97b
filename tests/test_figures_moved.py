"""Figures that a reader moves, in a headless browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from intertwine import genni
from intertwine_book.figures.drag_plane import drag_plane
from intertwine_book.figures.matrix_slider import matrix_slider

CORNERS = torch.tensor([[1.0, -1, 0], [0, 1, -1], [-1, 0, 1]], dtype=torch.float64)
HEXAGON = genni.plane(torch.cat([CORNERS, torch.ones(3, 3)], 1))
AXIS = torch.linspace(-1.0, 3.0, 9, dtype=torch.float64)
PLANE = drag_plane(
    genni.Grid(AXIS, AXIS.square() + AXIS[:, None].square(), energy=1.0),
    HEXAGON,
    {"on an edge": [1.0, -0.4, -0.6], "zero": [0.0, 0.0, 0.0]},
)


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 800, "height": 1000})
    yield opened
    opened.close()


def said(page):
    return page.locator("output").inner_text()


@pytest.mark.slow
def test_a_point_of_the_plane_is_dragged_moved_by_keys_and_put_on_a_network(page):
    page.set_content("<style>svg { width: 200px }</style>" + PLANE.data)  # all of it in the window
    assert said(page) == "w = (1.00, −0.40, −0.60): slopes 1.00 and −1.00, J/E[y²] = 0.00"
    page.get_by_role("button", name="zero").click()
    assert said(page) == "w = (0.00, 0.00, 0.00): slopes 0.00 and 0.00, J/E[y²] = 1.00"
    sliders = page.locator("input")
    before = [sliders.nth(k).input_value() for k in range(2)]
    sliders.first.focus()
    page.keyboard.press("ArrowRight")
    assert float(sliders.first.input_value()) == pytest.approx(float(before[0]) + 0.01)
    place = page.locator("svg").nth(1).bounding_box()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] / 4, place["y"] + place["height"] / 4)
    page.mouse.up()
    page.mouse.move(place["x"], place["y"])
    assert [float(sliders.nth(k).input_value()) for k in range(2)] == pytest.approx([-0.12, 2.12], abs=0.03)


def test_a_plane_to_drag_in_is_a_picture_without_its_script():
    still = PLANE.data.partition("<script>")[0]
    assert still.count('<image href="data:image/png;base64,') == 2 and still.count("<circle") == 2
    orange = re.search(r'points="([^"]+)" fill="none" stroke="#E69F00"', still)[1]
    assert orange == "-50.0,-50.0 0.0,0.0 50.0,-50.0"  # |x|, which the first network computes
    hidden = still.partition("<div hidden>")[2].partition("</div>")[0]
    assert hidden.count("<input") == still.count("<input") == 2  # what only a script can move
    assert hidden.count("<button") == still.count("<button") == 2


COLD = matrix_slider(
    torch.stack([torch.full((2, 2), 0.5), torch.eye(2).flip(0)]),
    [1.0, 0.01],
    label="temperature",
    name="cold",
)


@pytest.mark.slow
def test_a_matrix_hardens_into_a_permutation(page):
    page.set_content(COLD.data)
    assert said(page) == "50 % of the weight on the best permutation"
    page.locator("input").focus()
    page.keyboard.press("End")
    assert said(page) == "100 % of the weight on the best permutation"
    assert page.locator("label span").inner_text() == "0.01"
    filled = page.locator("rect:not([fill=none]):not([fill=currentColor])")
    assert [filled.nth(k).get_attribute("opacity") for k in range(4)] == ["0", "1", "1", "0"]


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (400, 2)])
def test_a_formula_is_broken_on_a_telephone_alone(page, tmp_path, width, rows):
    script = (Path(__file__).parent.parent / "book/_static/formulas.js").read_text()
    formula = "<div class='math'><span>(1)</span>\\[&a\\\\\n&\\quad= b\\]</div>"
    (tmp_path / "page.html").write_text(f"<!doctype html><script>{script}</script>{formula}")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((tmp_path / "page.html").as_uri())
    shown = page.locator(".math").text_content()
    assert shown.startswith("(1)") and shown.count("&") == rows and shown.endswith("= b\\]")


def test_a_mark_stays_on_the_line_of_its_formula(page, tmp_path):
    script = (Path(__file__).parent.parent / "book/_static/formulas.js").read_text()
    formula = "<p>Let <span class='math'>x</span>, or <span class='math'>y</span> and more.</p>"
    (tmp_path / "page.html").write_text(f"<!doctype html><script>{script}</script>{formula}")
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator("p > span").all_text_contents() == ["x,", "y"]
    assert page.locator("p").text_content() == "Let x, or y and more."


def test_a_link_leads_past_everything_to_the_controls_of_the_first_figure_that_moves(page, tmp_path):
    script = (Path(__file__).parent.parent / "book/_static/accessible.js").read_text()
    skip = '<div id="pst-skip-link"><a href="#main-content">Skip to main content</a></div>'
    links = "<a href='#'>a link</a>" * 20
    widget = '<div class="widget" id="moves"><input type="range"></div>'
    body = (
        f'{skip}{links}<main id="main-content"><article class="bd-article">{links}{widget}</article></main>'
    )
    (tmp_path / "page.html").write_text(f"<!doctype html><script>{script}</script>{body}")
    page.goto((tmp_path / "page.html").as_uri())
    for key in ("Tab", "Tab", "Enter", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.tagName") == "INPUT"


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_every_script_is_javascript():
    root = Path(__file__).parent.parent
    paths = [*root.glob("lib/**/_static/*.js"), *root.glob("book/_static/*.js")]
    assert len(paths) >= 6
    for path in paths:
        subprocess.run(["node", "--check", path], check=True)
