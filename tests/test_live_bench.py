"""The stitching bench in a headless browser: what it shows is what the library gives."""

import re

import pytest

from intertwine.alignment import variance_restored
from intertwine_book.live import benches
from intertwine_book.live.bench import bench
from intertwine_book.live.digit_networks import digit_networks

PAGES = (benches.which_map, benches.best_fit, benches.what_measures_see, benches.ruined_by_a_rotation)


@pytest.fixture(scope="module")
def two():
    return digit_networks()


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 1280, "height": 1200})
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.on("request", lambda request: request.url == "about:blank" or pytest.fail(request.url))
    yield opened
    opened.close()


def show(page, made):
    page.set_content(f'<!doctype html><html lang="en"><title>A page</title><main>{made.data}</main>')
    page.wait_for_function("document.querySelector('.measure.accuracy b').textContent")


def said(page, name="accuracy"):
    return page.locator(f".measure.{name} b").inner_text()


def until(page, text, name="accuracy"):
    page.wait_for_function(f"document.querySelector('.measure.{name} b').textContent === '{text}'")


def in_percent(share):
    return f"{100 * share:.1f} %"


def press_until(page, key, text, name="accuracy"):
    page.keyboard.press(key)
    until(page, text, name)


def test_each_map_shows_the_accuracy_of_the_library(page, two):
    show(page, benches.which_map())
    known = {
        name: in_percent(two.stitched(map=name, again=True).evaluate(two.judge))
        for name in ("none", "permutation", "scaled", "least squares")
    }
    assert said(page) == known["none"]
    page.get_by_role("radio", name="none").focus()
    page.keyboard.press("ArrowRight")  # by hand, and with the scalings that go with an order
    for name in ("permutation", "scaled", "least squares"):
        press_until(page, "ArrowRight", known[name])
    page.get_by_role("radio", name="the second, moved").check()
    page.get_by_role("radio", name="permutation with scalings").check()
    until(page, in_percent(two.stitched(two.back, again=True).evaluate(two.judge)))  # batch norm, too
    page.get_by_role("button", name="Reset").click()
    until(page, known["none"])
    assert page.get_by_role("radio", name="none").is_checked()
    assert page.get_by_role("radio", name="the first network").is_checked()


@pytest.mark.slow
def test_digits_say_what_the_network_answers(page, two):
    show(page, benches.which_map())
    page.get_by_role("radio", name="the second itself").check()
    until(page, in_percent(two.stitched(two.back, again=True).evaluate(two.judge)))
    assert page.locator(".digits span").all_inner_texts() == [*"0123456789"]
    page.get_by_role("radio", name="the first network").check()
    until(page, in_percent(two.stitched(again=True).evaluate(two.judge)))
    assert page.locator(".digits .wrong").count() >= 5
    assert re.search(r"0: \d, 1: \d", page.locator(".digits").get_attribute("aria-label"))


@pytest.mark.slow
def test_the_hidden_order_is_found_by_dragging_and_by_sliders(page, two):
    """Of eight channels, each is dragged to the fullest cell of its row; the last but one by its sliders."""
    show(
        page,
        bench(
            two,
            opens={"front": "moved", "layer": 1, "map": "by hand"},
            shows=["map"],
            still={"a": 1.0},
            sentence="A.",
        ),
    )
    canvas = page.locator("canvas.map")
    box = canvas.bounding_box()
    red = "([row, n]) => { const c = document.querySelector('canvas.map'), p = c.getContext('2d');"
    red += "const at = (k) => (k + .5) * c.width / n;"
    red += "const alpha = (k) => p.getImageData(at(k), at(row), 1, 1).data[3];"
    red += "return [...Array(n).keys()].sort((i, j) => alpha(j) - alpha(i))[0]; }"
    order = [page.evaluate(red, [row, 8]) for row in range(8)]
    assert sorted(order) == [*range(8)]
    middle = [(k + 0.5) * box["width"] / 8 for k in range(8)]
    for row in range(6):
        page.mouse.move(box["x"] + middle[0], box["y"] + middle[row])
        page.mouse.down()
        page.mouse.move(box["x"] + middle[order[row]], box["y"] + middle[row], steps=3)
        page.mouse.up()
    page.get_by_label("channel of the back").fill("7")
    page.get_by_label("takes channel").fill(str(order[6] + 1))
    until(page, in_percent(two.alone()))


def test_the_stretch_gains_accuracy_and_loses_fit(page, two):
    show(page, benches.best_fit())
    slider = page.get_by_role("slider", name="restore lost variance")
    cut = {"layer": 2, "before": True}
    made = {t: two.stitched(map=lambda s, t=t: variance_restored(s, t), **cut) for t in (0.0, 0.5, 1.0)}
    accuracy = {t: in_percent(each.evaluate(two.judge)) for t, each in made.items()}
    fit = {t: f"{two.measures(each, **cut)['r2']:.2f}" for t, each in made.items()}
    assert (said(page), said(page, "r2")) == (accuracy[0.0], fit[0.0])
    slider.focus()
    press_until(page, "End", accuracy[1.0])
    assert said(page, "r2") == fit[1.0] < fit[0.0] and slider.get_attribute("aria-valuetext") == "100 %"
    place = slider.bounding_box()
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    until(page, accuracy[0.5])
    assert said(page, "r2") == fit[0.5]
    page.get_by_role("radio", name="re-estimated").check()
    again = two.stitched(map=lambda s: variance_restored(s, 0.5), again=True, **cut)
    until(page, in_percent(again.evaluate(two.judge)))


def test_measures_see_what_their_groups_say(page, two):
    show(page, benches.what_measures_see())
    assert (
        said(page, "group") == "1.00"
        and float(said(page, "orthogonal")) < 0.9
        and float(said(page, "cka")) < 0.99
    )
    page.get_by_role("radio", name="the second itself").check()
    until(page, in_percent(two.alone()))
    page.get_by_role("slider", name="turn the front").focus()
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.measure.group b').textContent < '0.6'")
    assert said(page, "cka") == said(page, "orthogonal") == "1.00"
    page.get_by_role("slider", name="turn the front").focus()
    press_until(page, "Home", in_percent(two.alone()))
    page.get_by_role("radio", name="the first network").check()
    made = two.measures(two.stitched())
    until(page, f"{made['cka']:.2f}", "cka")
    assert (
        said(page, "orthogonal") == f"{made['orthogonal']:.2f}"
        and said(page, "group") == f"{made['group']:.2f}"
    )


def test_a_rotation_ruins_the_network_and_least_squares_repairs_it(page, two):
    show(page, benches.ruined_by_a_rotation())
    assert said(page, "cka") == "1.00" and float(said(page).split()[0]) < 30
    page.get_by_role("radio", name="least squares").check()
    until(page, in_percent(two.alone()))
    assert said(page, "cka") == "1.00"


def test_a_page_weighs_at_most_250_kilobytes():
    for made in PAGES:
        assert len(made().data.encode()) <= 250_000
