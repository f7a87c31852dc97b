"""The basis in a headless browser: units select and fit what the library says, at every angle."""

import re

import pytest
import torch

from intertwine import dissection
from intertwine.data import Masks
from intertwine_book import data, models
from intertwine_book import dissected as networks
from intertwine_book.live.basis import pair_of, turned, turning_basis, two_units

SHARE = 0.1


@pytest.fixture(scope="module")
def parts():
    """Units of a network that was never trained select something, too."""
    scenes = data.scenes(40, seed=1, device="cpu")
    network = models.residual(3)
    maps = networks.maps(network.eval(), "ReLU", "output", scenes.data.images)
    return maps, scenes


@pytest.fixture
def page(browser, parts):
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.on("request", lambda request: request.url == "about:blank" or pytest.fail(request.url))
    opened.set_content(f'<!doctype html><html lang="en"><title>A page</title><main>{made(parts)}</main>')
    yield opened
    opened.close()


def made(parts):
    maps, scenes = parts
    return turning_basis(maps, scenes, images=30, quantile=SHARE).data


def known(parts, degrees):
    """What stands over the rows."""
    maps, scenes = parts
    masks = Masks(scenes.masks.codes[:30], scenes.masks.table, scenes.masks.names, scenes.masks.categories)
    units = two_units(maps[:30], masks, SHARE)
    pair, _, _ = pair_of(maps[:30], units)
    found = dissection.dissect(turned(pair, degrees), masks, quantile=SHARE)
    best = found.iou.max(1)
    return [
        f"Unit {unit}, best match: {masks.names[k]} (IoU {iou:.2f})"
        for unit, k, iou in zip(units, best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def said(page):
    return page.locator(".working .columns > div:first-child p").all_inner_texts()[:2]


def until(page, angle):
    page.wait_for_function(f"document.querySelector('.said').textContent === '{angle}°'")
    page.wait_for_timeout(200)


@pytest.mark.slow
def test_names_are_inside_the_picture_at_every_angle(page):
    slider = page.get_by_role("slider")
    slider.focus()
    for key, angle in ("Home", 0), ("End", 90), *(("PageDown", 90 - 9 * k) for k in range(1, 4)):
        page.keyboard.press(key)
        until(page, angle)
        frame = page.locator(".working .columns svg").bounding_box()
        for word in page.locator(".working .columns svg text").all():
            box = word.bounding_box()
            assert box["x"] >= frame["x"] and box["y"] >= frame["y"]
            assert box["x"] + box["width"] <= frame["x"] + frame["width"]
            assert box["y"] + box["height"] <= frame["y"] + frame["height"]
    words = page.locator(".working .columns svg text").all_text_contents()
    assert sum(word.count("value of unit") for word in words) == 2  # the axes have names


@pytest.mark.slow
def test_units_of_a_turned_basis_select_what_the_library_says(page, parts):
    until(page, 45)
    assert said(page) == known(parts, 45)
    slider = page.get_by_role("slider")
    slider.focus()
    for key, angle in ("Home", 0), ("End", 90), ("ArrowLeft", 89):
        page.keyboard.press(key)
        until(page, angle)
        assert said(page) == known(parts, angle)
        assert slider.get_attribute("aria-valuetext") == f"{angle}°"
    slider.hover()  # in its middle
    page.mouse.down()
    page.mouse.up()
    until(page, 45)
    assert said(page) == known(parts, 45)


@pytest.mark.slow
def test_it_moves_by_itself_when_it_was_in_view_until_the_reader_moves_it(browser, parts):
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.set_content(f'<!doctype html><main><p style="height: 2000px"></p>{made(parts)}</main>')
    slider, plane = page.get_by_role("slider"), page.locator(".working .columns svg")
    plane.scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, 0)")  # past, in less than a second
    page.wait_for_timeout(1500)
    assert slider.input_value() == "0"
    plane.scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    assert slider.input_value() == "0"
    page.wait_for_function("parseInt(document.querySelector('.said').textContent) > 3")
    assert int(slider.input_value()) < 45
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(500)
    assert page.get_by_role("slider").input_value() == "90"
    page.close()


def test_the_still_picture_is_of_the_state_in_which_it_opens(parts):
    still = made(parts).partition("<script>")[0]
    for line in known(parts, 45):
        assert line in still
    assert still.count("<image") == 8 and "http" not in re.sub(r'xmlns="[^"]+"', "", still)


def test_the_units_are_those_whose_concepts_a_turn_loses():
    draw = torch.Generator().manual_seed(0)
    planes = torch.rand(40, 3, 8, 8, generator=draw) < 0.2
    planes[:, 1:] &= ~planes[:, :1]  # apart from the first
    planes[:, 2] = planes[:, 1]  # a turn of the second and the third unit loses nothing at 45°
    maps = planes * (1 + torch.rand(40, 3, 8, 8, generator=draw))
    first, second = two_units(maps, Masks.of(planes), 0.1)
    assert {first, second} in ({0, 1}, {0, 2})
    assert sorted(two_units(maps[:, 1:], Masks.of(planes), 0.1)) == [0, 1]  # one concept for both


def test_a_clear_loss_of_much_is_preferred_to_a_complete_loss_of_little():
    draw = torch.Generator().manual_seed(0)
    planes = torch.rand(60, 4, 8, 8, generator=draw) < torch.tensor([0.1, 0.1, 0.015, 0.015]).view(4, 1, 1)
    maps = planes * (1 + torch.rand(60, 4, 8, 8, generator=draw))
    maps[:, 2:] += 0.5 * torch.rand(60, 2, 8, 8, generator=draw)  # these select much beside their concepts
    maps[:, 3] *= 10
    assert sorted(two_units(maps, Masks.of(planes), 0.1)) == [0, 1]
