"""Plotly figures on a page: the page's own sliders, and a still picture until they are drawn."""

import base64
import io
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.solids import polytope
from intertwine_book.figures.still import still


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 800, "height": 1000})
    yield opened
    opened.close()


STEPS = [{"method": "restyle", "label": str(v), "args": [{"y": [[0, (1 + v) * 2.5]]}]} for v in (-1, 0, 1)]
FAMILY = Interactive(
    go.Figure(
        go.Scatter(x=[0, 2.5], y=[0, 2.5]),
        {"sliders": [{"active": 1, "steps": STEPS, "currentvalue": {"prefix": "s = "}}]},
    ),
    "family",
    says="s = {}",
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
        assert drawn[-1] == (1 + value) * 2.5  # at the right end
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
