"""The angle in a headless browser: its shares and accuracies are those of the library."""

import re
from copy import deepcopy

import pytest
import torch

from intertwine.dissection import haar_rotation
from intertwine_book import data, models, sanity, zoo
from intertwine_book.live.angle import angle, repaired, turning


@pytest.fixture(scope="module")
def parts():
    digits, test = (data.load("digits", split, device="cpu") for split in ("train", "test"))
    made = {"width": 4, "norm": False, "in_channels": 1, "activation": "relu"}
    (trained,) = zoo.get(zoo.Spec("myrtle", digits, zoo.RECIPES["digits"], made), [0], device="cpu")
    return trained.network, digits[:60], test[:100]


@pytest.fixture
def page(browser, parts):
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.on("request", lambda request: request.url == "about:blank" or pytest.fail(request.url))
    made = angle(parts[0], "conv2", *parts[1:]).data
    opened.set_content(f'<!doctype html><html lang="en"><title>A page</title><main>{made}</main>')
    yield opened
    opened.close()


def said(page):
    """What stands under the panels: the places, the share of the four inputs, and three numbers."""
    places, four, network = page.locator(".working figcaption").all_inner_texts()
    numbers = [float(number) for number in re.findall(r"([\d.]+)\s%", network)]
    return places.removeprefix("Places of the four inputs after ReLU: "), re.search(r"\d+", four)[0], numbers


def known(parts, basis, degrees):
    network, fit, judged = parts
    A = turning(basis, degrees)
    left, right, bare = repaired(deepcopy(network).double(), "conv2", A, fit, judged)
    return [round(left, 1), round(right, 1), round(bare, 1)]


@pytest.mark.slow
def test_a_turn_costs_what_the_library_says(page, parts):
    basis = haar_rotation(8, torch.Generator().manual_seed(0)).double()
    places, four, numbers = said(page)
    assert (places, four) == ("3.", "25")  # it opens at 45°
    assert numbers[:3] == known(parts, basis, 45)
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.working output, .said').textContent === '180°'")
    page.wait_for_timeout(300)
    assert said(page)[2][:3] == known(parts, basis, 180)
    assert slider.get_attribute("aria-valuetext") == "180°"
    slider.hover()  # in its middle
    page.mouse.down()
    page.mouse.up()
    page.wait_for_timeout(300)
    assert slider.input_value() == "90" and said(page)[2][:3] == known(parts, basis, 90)
    page.keyboard.press("Home")
    page.wait_for_timeout(300)
    places, four, (left, right, bare, alone) = said(page)
    assert (places, four, left) == ("4.", "0", 0) and right == bare == alone


@pytest.mark.slow
def test_nothing_is_lost_by_a_stretch_of_the_axes(page):
    page.get_by_role("radio", name="stretches the axes").check()
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    page.wait_for_timeout(400)
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "2.00"
    places, four, (left, right, bare, alone) = said(page)
    assert (places, four, left) == ("4.", "0", 0) and right == alone and bare < alone
    for panel in page.locator(".working svg").all():  # all that is drawn is inside
        frame = panel.bounding_box()
        for mark in panel.locator("circle, text").all():
            box = mark.bounding_box()
            assert box["x"] >= frame["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
            assert box["y"] >= frame["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]
    words = page.locator(".working").text_content()
    assert "digits right, by factor" in words and "before the stretch" in words and "1.41" in words


def test_the_repair_is_that_of_the_experiments(parts):
    network, fit, judged = parts
    small = deepcopy(network).double()
    A = turning(
        torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(1)).double())[0], 70
    )
    left, right, bare = repaired(small, "conv2", A, fit, judged)
    sets = {"images": fit.images, "test_images": judged.images, "test_labels": judged.labels}
    row = sanity.best_linear_map(small, "conv2", small.relu2, {"a turn": [A]}, **sets).iloc[0]
    alone = 100 * (small(judged.images.double()).argmax(1) == judged.labels).double().mean().item()
    assert left == pytest.approx(100 * row["unexplained"], abs=1e-6)
    assert alone - right == pytest.approx(row["penalty"]) and bare < right


def test_the_still_picture_says_what_the_instrument_opens_with(parts):
    still = angle(parts[0], "conv2", *parts[1:]).data.partition("<script>")[0]
    left = re.search(r"in a trained network: the best repair leaves ([\d.]+)", still)[1]
    assert still.count("<circle") == 12 and "It leaves 25\N{NO-BREAK SPACE}% unexplained" in still
    assert 0 < float(left) < 100
    with pytest.raises(AttributeError, match="conv9"):
        angle(models.myrtle(2, norm=False, in_channels=1), "conv9", *parts[1:])
