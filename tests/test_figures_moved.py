"""Figures that a reader moves, in a headless browser."""

import base64
import io
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
from PIL import Image

from intertwine import genni
from intertwine.shallow import ShallowReLU
from intertwine_book.figures.bars_slider import bars_slider
from intertwine_book.figures.drag_matrix import drag_matrix
from intertwine_book.figures.drag_plane import drag_plane
from intertwine_book.figures.interactive import script
from intertwine_book.figures.matrix_slider import matrix_slider
from intertwine_book.figures.neuron_slider import neuron_slider
from intertwine_book.figures.one_function import one_function
from intertwine_book.figures.solids import polytope
from intertwine_book.figures.still import still
from intertwine_book.figures.valley_slider import valley_slider

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
def test_only_permutations_with_positive_scalings_pass_a_relu(page):
    page.set_content(drag_matrix().data)
    assert said(page) == "The best B leaves 28 %"  # it starts at 45°
    for button in ("swap and scale", "identity"):
        page.get_by_role("button", name=button).click()
        assert said(page) == "The best B leaves 0 %"
    page.get_by_role("button", name="change a sign").click()
    assert float(said(page).split()[-2]) > 40


@pytest.mark.slow
def test_a_knob_and_a_key_move_the_matrix(page):
    page.set_content(drag_matrix().data)
    place = page.locator("svg").first.locator("circle").last
    place.hover()
    knob = place.bounding_box()
    page.mouse.down()
    page.mouse.move(knob["x"] + 60, knob["y"] + 40)
    page.mouse.up()
    dragged = said(page)
    assert " 0 %" not in dragged
    page.locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("input").first.input_value() == "0.72"
    assert page.locator("label").first.inner_text() == "a₁₁ 0.72"


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


@pytest.mark.slow
def test_a_swap_and_a_scaling_move_the_weights_and_not_the_graph(page):
    page.set_content(one_function().data)
    graph = page.locator("svg").last.locator("polyline").last  # f is drawn above all else
    before, given = graph.get_attribute("points"), said(page)
    assert given.endswith("f(0) = 0.5 and f(1) = 4.5, as given")
    page.locator("input").focus()
    page.keyboard.press("End")
    page.get_by_role("button", name="swap the neurons").click()
    assert said(page).startswith("α = 4, swapped: blue has 4 and bias 2 in, 0.75 out")
    assert graph.get_attribute("points") == before and said(page).endswith(given[-30:])
    page.get_by_role("button", name="as given").click()
    assert said(page) == given


BARS = bars_slider(
    pd.DataFrame({"t": [0.0, 0.5], "CKA": [1.0, 1.0], "accuracy": [0.9, 0.1]}), "t", label="t =", name="bars"
)


@pytest.mark.slow
def test_bars_follow_the_slider(page):
    page.set_content(BARS.data)
    assert said(page) == "CKA 1.00, accuracy 0.90"
    page.locator("input").fill("1")
    assert said(page) == "CKA 1.00, accuracy 0.10" and page.locator("label span").inner_text() == "0.5"
    full, short = (page.locator("rect").nth(k).get_attribute("width") for k in (1, 3))
    assert float(full) == 10 * float(short)


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


def test_a_matrix_slider_needs_a_value_for_each_matrix():
    with pytest.raises(ValueError, match="2 matrices, was given 1"):
        matrix_slider(torch.rand(2, 3, 3), [1.0], label="t", name="t")


def test_data_cannot_end_a_script():
    assert script("bars_slider", "bars", '{"at": "</script>"}').count("</script>") == 1


VALLEY = valley_slider(
    pd.DataFrame({"t": [-1.0, 0.0, 1.0], "loss": [0.1] * 3, "largest_eigenvalue": [4.0, 8.0, 60.0]}).assign(
        squared_norm=[9.0, 5.0, 9.0]
    )
)


@pytest.mark.slow
def test_along_the_orbit_the_loss_stays_and_the_valley_narrows(page):
    page.set_content(VALLEY.data)
    assert said(page) == "loss 0.100, largest eigenvalue 8.0, squared norm 5"
    wide = page.locator("path").last.get_attribute("d")
    page.locator("input").fill("2")
    assert said(page) == "loss 0.100, largest eigenvalue 60.0, squared norm 9"
    assert page.locator("path").last.get_attribute("d") != wide


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


FAMILY = neuron_slider(
    {f"{v}": ShallowReLU([[1], [-1]], [0, 0], [[1 + v, 1 - v]], [0]) for v in (-1, 0, 1)},
    name="family",
    prefix="s = ",
)


def opened_with_plotly(page, tmp_path, figure):
    """As on a page of the book, whose height leaves the figure in sight."""
    plotly = Path(find_spec("plotly").origin).parent / "package_data/plotly.min.js"
    script = f'<!doctype html><script src="{plotly.as_uri()}"></script>'
    (tmp_path / "page.html").write_text(script + figure._repr_html_())
    page.goto((tmp_path / "page.html").as_uri())
    return page


@pytest.mark.slow
def test_keys_move_the_slider_of_a_plotly_figure(page, tmp_path):
    opened_with_plotly(page, tmp_path, FAMILY).locator("#family.drawn").wait_for()
    slider = page.get_by_role("slider")
    assert slider.evaluate("input => input.ariaValueText") == "s = 0"
    slider.focus()
    for key, value in ("End", 1), ("ArrowLeft", 0), ("Home", -1):
        page.keyboard.press(key)
        assert slider.evaluate("input => input.ariaValueText") == f"s = {value}".replace("-", "−")
        drawn = page.evaluate("document.querySelector('.plotly-graph-div').data[0].y")
        assert drawn[-1] == (1 + value) * 2.5  # neuron 1, at the right end
    slider.hover()  # in its middle
    page.mouse.down()
    page.mouse.up()
    assert slider.input_value() == "1" and page.locator(".moved span").inner_text() == "0"
    assert page.locator(".modebar").count() == 0  # it would lie on the legend


@pytest.mark.slow
def test_without_webgl_a_scene_stays_the_still_picture_that_a_page_without_scripts_has(page, tmp_path):
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    body = polytope([0.0, 0.25], [0.7, 0.3, -0.9, -0.1], name="body")
    opened_with_plotly(page, tmp_path, body)
    assert page.locator(".still").is_visible() and page.get_by_role("slider").count() == 0
    assert page.evaluate("document.querySelector('.still').naturalWidth") > 600


def test_a_still_picture_has_what_the_figure_shows_at_first():
    def ink(figure):
        data = re.search(r"base64,([^\"]+)", still(figure))[1]
        picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
        return np.array(picture)[..., 3] > 40

    def scene(**seen):
        axes = {f"{x}axis": {"range": [-1, 1], "visible": False} for x in "xyz"}
        camera = {"camera": {"eye": {"x": 0, "y": 2, "z": 0}}}  # the x axis then points to the left
        mark = {"mode": "markers", "marker": {"size": 5, "color": "#000000"}, "showlegend": False}
        dots = go.Scatter3d(x=[1.0], y=[0.0], z=[0.0], **mark, **seen)
        return go.Figure(dots, {"scene": axes | camera, "height": 450})

    assert not ink(scene(visible=False)).any()
    rows, columns = np.nonzero(ink(scene()))
    height, width = ink(scene()).shape
    # one half of the box at distance 2, seen at an angle of 45°
    shift = 0.5 / 2 / np.tan(np.pi / 8) * 0.45 * height
    assert columns.mean() == pytest.approx(width / 2 - shift, abs=1)
    assert rows.mean() == pytest.approx(height * (0.1 + 0.45), abs=1)  # a tenth is the legend's


def test_a_moving_figure_loads_nothing_from_elsewhere():
    for figure in (drag_matrix(), PLANE, COLD, one_function(), BARS, VALLEY):
        assert "src=" not in figure.data
        assert figure.data.count("http") <= 1, "the namespace of SVG"
