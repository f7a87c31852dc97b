"""What all instruments share, in a headless browser."""

import pytest

from intertwine_book.live.instrument import instrument

BUILD = """
function engine(root, { from }) {
  const { results, controls } = Controls.columns(root);
  const shown = Controls.element(results, "p", { class: "shown" });
  let value = from, kind = "a", drawn = 0;
  const announce = Controls.announcer(results);
  const ask = Controls.drawing(() => {
    drawn += 1;
    shown.textContent = `${kind} ${value}`;
    root.dataset.drawn = drawn;
    announce(`now ${kind}`);
  });
  const text = (v) => `${Controls.number(v, 1)} turns`;
  const moved = (v) => { value = v; ask(); };
  const slider = Controls.slider(controls, { label: "turn", min: -2, max: 2, step: 0.5, value, text, moved });
  const options = [["a", "one"], ["b", "two"]], chosen = (v) => { kind = v; ask(); };
  Controls.choice(controls, { label: "kind", options, value: kind, chosen });
  Controls.button(controls, "back", () => { slider.show(0); moved(0); });
  ask();
}
"""


def page_of(body=BUILD, **data):
    """A page with an instrument whose script is `body`."""
    fragment = instrument("it", ["engine"], data, '<svg viewBox="0 0 1 1"></svg>', "A sentence.").data
    return "<!doctype html><html>" + fragment.replace("Controls.start(", body + "\nControls.start(", 1)


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 400, "height": 800})
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    yield opened
    opened.close()


def test_a_slider_and_a_choice_follow_keys_and_the_pointer(page):
    page.set_content(page_of(**{"from": 0}))
    slider, shown = page.locator("input[type=range]"), page.locator(".shown")
    slider.focus()
    for key, value, words in [
        ("ArrowLeft", -0.5, "−0.5 turns"),
        ("End", 2, "2.0 turns"),
        ("Home", -2, "−2.0 turns"),
    ]:
        page.keyboard.press(key)
        page.wait_for_function(f"document.querySelector('.shown').textContent === 'a {value}'")
        assert slider.get_attribute("aria-valuetext") == words == page.locator(".said").inner_text()
    place = slider.bounding_box()
    assert place["width"] > 350  # as wide as the column of a telephone
    page.mouse.click(place["x"] + place["width"] - 2, place["y"] + place["height"] / 2)
    page.get_by_role("radio", name="two").click()
    page.wait_for_function("document.querySelector('.shown').textContent === 'b 2'")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("document.querySelector('.shown').textContent === 'a 2'")
    page.get_by_role("button", name="back").click()
    page.wait_for_function("document.querySelector('.shown').textContent === 'a 0'")
    assert shown.bounding_box()["y"] < slider.bounding_box()["y"]  # results above the controls
    page.wait_for_function("document.querySelector('[aria-live]').textContent === 'now a'")


def test_there_is_one_drawing_a_frame_and_one_after_a_change_of_the_theme(page):
    page.set_content(page_of(**{"from": 0}))
    page.wait_for_function("document.querySelector('.working').dataset.drawn === '1'")
    page.evaluate(
        "for (let k = 0; k < 20; k++) document.querySelector('input').dispatchEvent(new Event('input'))"
    )
    page.wait_for_function("document.querySelector('.working').dataset.drawn === '2'")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("document.querySelector('.working').dataset.drawn === '3'")


def test_the_picture_is_seen_in_print_and_where_the_script_fails(page):
    page.set_content(page_of(**{"from": 0}))
    still, working = page.locator(".still"), page.locator(".working")
    assert not still.is_visible() and working.is_visible()
    page.emulate_media(media="print")
    assert still.is_visible() and not working.is_visible()
    page.emulate_media(media="screen")
    page.set_content(page_of("function engine() { throw new Error('as some browser might'); }"))
    assert still.is_visible() and working.count() == 0
