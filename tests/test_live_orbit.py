"""The instruments of chapters 1, 1b and 1d in a headless browser, driven by keys and by the pointer."""

import math

import pytest
import torch
from torch import nn

from intertwine.groups import intertwiner_group
from intertwine.weightspace import find_symmetries, hadamard, relative_error
from intertwine_book import data
from intertwine_book.live import bits, orbit, pull, valley
from intertwine_book.live.export import rounded

PAGE = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>t</title><main>'
)


@pytest.fixture(scope="module")
def digits():
    train, test = (data.load("digits", part, device="cpu") for part in ("train", "test"))
    return train, test[:100]


@pytest.fixture(scope="module")
def networks(digits):
    return {name: orbit.trained(name, digits[0], steps=60) for name in orbit.CHOICES}


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 800, "height": 1000}, reduced_motion="reduce")
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    yield opened
    opened.close()


def show(page, fragment):
    page.set_content(PAGE + fragment.data)


def expect(page, text):
    """The instrument draws at the next frame."""
    page.wait_for_function("text => document.querySelector('.working').textContent.includes(text)", arg=text)


def slide(page, label, *keys):
    page.locator(".slider", has_text=label).locator("input").focus()
    for key in keys:
        page.keyboard.press(key)


def drag(page, target, x, y):
    """Take hold of the middle of an element, and let go x and y pixels from there."""
    box = target.bounding_box()
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + x, at[1] + y)
    page.mouse.up()


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


# pull


SIGMAS = {"ReLU": torch.relu, "abs": torch.abs, "tanh": torch.tanh, "GELU": nn.functional.gelu}


@pytest.mark.slow
@pytest.mark.parametrize("word", SIGMAS)
def test_the_best_matrix_after_an_activation_leaves_what_least_squares_leaves(page, word):
    show(page, pull.pull())
    page.get_by_role("radio", name=word).click()
    for name, entries in pull.PRESETS.items():
        page.get_by_role("button", name=name).click()
        share = pull.left(SIGMAS[word], torch.tensor(entries, dtype=torch.float64).view(2, 2))
        misses = f"No B fits exactly. The best B misses {percent(share, 1 if share < 0.0995 else 0)} of σ(Ax)"
        expect(page, misses if share > 1e-9 else "B fits exactly")


@pytest.mark.slow
def test_a_knob_and_keys_move_the_matrix(page):
    show(page, pull.pull())
    assert page.locator(".working .result").bounding_box()["height"] > 45  # room for a second line
    knob = page.locator("svg >> nth=1").locator("circle").last  # the still picture is the first
    width = knob.locator("xpath=..").bounding_box()["width"]
    drag(page, knob, 0.5 * width / 4.2, 0)
    a12 = page.get_by_label("a₁₂")
    assert float(a12.input_value()) == pytest.approx(-0.21, abs=0.02)
    slide(page, "a₁₁", "End")
    slide(page, "a₁₂", "Home")
    slide(page, "a₂₁", "Home")
    slide(page, "a₂₂", "End", "ArrowLeft")
    assert page.get_by_label("a₂₂").get_attribute("aria-valuetext") == "1.99"
    share = pull.left(torch.relu, torch.tensor([[2.0, -2.0], [-2.0, 1.99]], dtype=torch.float64))
    expect(page, f"misses {percent(share, 0)}")


def test_exactly_the_elements_of_a_group_leave_nothing():
    for word, sigma in SIGMAS.items():
        group = intertwiner_group(word.lower(), 2)
        for entries in pull.PRESETS.values():
            A = torch.tensor(entries, dtype=torch.float64).view(2, 2)
            assert (pull.left(sigma, A) < 1e-12) == bool(group.contains(A))


# orbit


def said_of(network, A, test, removed=3):
    """What the instrument says of a network that A has moved."""
    x = test.images.double()
    made = orbit.moved(rounded(network), A, x)
    change = relative_error(made(x), rounded(network)(x))
    right = [orbit.accuracy(net, test) for net in (made, orbit.pruned(made, removed))]
    return change, f"{percent(right[0])} of {len(test)} digits are right", percent(right[1])


def scaled(width=8, **scales):
    return torch.diag(torch.tensor([scales.get(f"n{k + 1}", 1.0) for k in range(width)], dtype=torch.float64))


@pytest.mark.slow
def test_scalings_and_swaps_move_the_weights_and_what_pruning_removes_and_not_the_function(
    page, networks, digits
):
    test, network = digits[1], networks["relu"]
    show(page, orbit.orbit({"relu": network}, test))
    _, whole, fewer = said_of(network, torch.eye(8, dtype=torch.float64), test)
    expect(page, f"The outputs stay; {whole}. Without the 3 neurons of smallest norm (dashed): {fewer}")
    slide(page, "scale it", "End")
    _, whole, fewer = said_of(network, scaled(n1=4.0), test)
    expect(page, f"The outputs stay; {whole}. Without the 3 neurons of smallest norm (dashed): {fewer}")
    page.locator(".working rect[fill=transparent]").nth(4).click()  # the fifth neuron
    assert page.get_by_role("radio", name="5").is_checked()
    slide(page, "scale it", "Home")
    page.get_by_role("button", name="swap it with the next").click()
    A = scaled(n1=4.0, n5=0.25)[[0, 1, 2, 3, 5, 4, 6, 7]]
    change, whole, fewer = said_of(network, A, test)
    assert change < 1e-9
    expect(page, f"The outputs stay; {whole}. Without the 3 neurons of smallest norm (dashed): {fewer}")
    norms = (A @ rounded(network)[1].weight).norm(dim=1)
    shown = page.locator(".working svg text").all_text_contents()
    assert [f"{norm:.1f}" for norm in norms.tolist()] == shown[-16::2]
    assert shown[-15::2] == list("12346578")


def test_the_instrument_moves_a_network_as_the_library_does(networks, digits):
    test = digits[1]
    for name in ("relu", "abs"):
        network, x = rounded(networks[name]), test.images.double()
        draw = torch.Generator().manual_seed(1)
        space = find_symmetries(network, x[:1])
        A = intertwiner_group(name, 8).sample(draw)
        mine, theirs = orbit.moved(network, A, x), space.act(network, {"2": A})
        assert relative_error(mine[1].weight, theirs[1].weight) < 1e-12
        assert relative_error(mine(x), theirs(x)) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", orbit.CHOICES)
def test_each_activation_allows_its_group_and_no_more(page, networks, digits, name):
    test = digits[1]
    show(page, orbit.orbit(networks, test))
    page.get_by_role("radio", name=orbit.CHOICES[name][0], exact=True).check(force=True)
    group = intertwiner_group(name, 8)
    sign, double = scaled(n1=-1.0), scaled(n1=2.0)
    turn = torch.block_diag(*[torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)] * 4)
    moves = {
        "sign": (sign, lambda: page.get_by_role("button", name="change its sign").click()),
        "double": (double, lambda: slide(page, "scale it", *["ArrowRight"] * 10)),
        "turn": (turn, lambda: slide(page, "turn neurons", "End")),
    }
    for A, move in moves.values():
        move()
        change, whole, _ = said_of(networks[name], A, test)
        assert (change < 5e-4) == bool(group.contains(A))
        share = percent(change, 1 if change < 0.0995 else 0)
        changed = f"The largest change of an output: {share} of the largest output"
        expect(page, f"{changed if change >= 5e-4 else 'The outputs stay'}")
        expect(page, whole)
        page.get_by_role("button", name="as trained").click()
        expect(page, "The outputs stay")


# valley


@pytest.fixture(scope="module")
def bowl(digits):
    network, train = orbit.trained("relu", digits[0], steps=60), digits[0][:60]
    weights = [*network.parameters()]
    return valley.Valley(weights, train.images.flatten(1), train.labels), weights


def scene(bowl, u, v, start=None, steps=0):
    """What the instrument says of a ball."""
    text = f"loss {bowl.loss(u, v):.3f}, imbalance |in|² − |out|² = {u * u - v * v:.0f}"
    if start:
        first = start[0] ** 2 - start[1] ** 2
        text += (
            f"; after {steps} steps the imbalance has changed by {100 * ((u * u - v * v) / first - 1):.1f} %"
        )
    return text.replace("-", "−").replace("−0.0 %", "0.0 %")


@pytest.mark.slow
def test_a_ball_descends_and_keeps_its_imbalance(page, bowl):
    bowl = bowl[0]
    rate = 0.25
    show(page, bowl.page(t=0.5, s=0.5, rate=rate))
    u, v = (norm * math.sqrt(0.5) * math.exp(way) for norm, way in zip(bowl.norms, (0.5, -0.5), strict=True))
    expect(page, scene(bowl, u, v))
    page.get_by_role("button", name="descend").click()
    end = bowl.descend(u, v, rate, 100)
    assert abs((end[0] ** 2 - end[1] ** 2) / (u * u - v * v) - 1) < 0.05 and bowl.loss(*end) < bowl.loss(u, v)
    expect(page, scene(bowl, *end, (u, v), 100))
    slide(page, "weight decay", "End")
    page.get_by_role("button", name="one step").click()
    after = bowl.descend(*end, rate, 1, decay=0.001)
    expect(page, scene(bowl, *after, (u, v), 101))
    slide(page, "weight decay", "Home")
    page.get_by_role("button", name="until it lies still").click()
    expect(page, f"loss {bowl.loss(*bowl.descend(*after, rate, 3000)):.3f}")


@pytest.mark.slow
def test_a_descent_that_diverges_stops_and_says_so(page, bowl):
    show(page, bowl[0].page(t=1.5, s=5.0))
    slide(page, "learning rate", "End")
    page.get_by_role("button", name="descend").click()
    expect(page, "; stopped: the next step is out of the sliders' range")
    assert "e+" not in page.locator(".working .result").inner_text()


@pytest.mark.slow
def test_a_ball_is_dropped_by_keys_and_by_the_pointer(page, bowl):
    bowl = bowl[0]
    show(page, bowl.page())
    slide(page, "along the valley", "Home")
    slide(page, "across it", "End")
    u, v = (norm * math.sqrt(6) * math.exp(way) for norm, way in zip(bowl.norms, (-1.75, 1.75), strict=True))
    expect(page, scene(bowl, u, v))
    plane = page.locator(".working svg").first
    unit = plane.bounding_box()["width"] / 300
    plane.click(position={"x": 169 * unit, "y": 111 * unit})  # the middle
    most = math.exp(1.3) * max(bowl.norms)
    said = page.locator(".working p").first
    page.wait_for_function(
        f"!document.querySelector('.working p').textContent.includes('{scene(bowl, u, v)}')"
    )
    found = float(said.inner_text().split()[1].rstrip(","))
    assert found == pytest.approx(bowl.loss(most / 2, most / 2), rel=0.05)


def test_the_loss_of_an_instrument_is_that_of_its_network(bowl, digits):
    (u, v), (W1, b1, W2, b2), train = bowl[0].norms, bowl[1], digits[0][:60]
    for p, q in ((1, 1), (1.5, 1), (2, 0.25)):
        outputs = torch.relu(train.images.flatten(1).double() @ (p * W1).T + p * b1) @ (q * W2).T + b2
        known = nn.functional.cross_entropy(outputs, train.labels).item()
        assert bowl[0].loss(p * u, q * v) == pytest.approx(known, rel=1e-9)


# bits


@pytest.fixture(scope="module")
def stream():
    draw = torch.Generator().manual_seed(0)
    plain = torch.randn(3, 32, generator=draw, dtype=torch.float64).mul(100).round() / 100
    outlier = plain.clone()
    outlier[:, 5] = 12
    signs = (2 * torch.randint(2, (32,), generator=draw) - 1).double()
    return {"with an outlier": outlier, "without one": plain}, signs


RECORDED = {
    "with an outlier": {b: (10.0 * b, 11.0 * b) for b in (3, 4, 5, 6, 8)},
    "without one": {b: (9.0 * b, 8.0 * b) for b in (3, 4, 6, 8)},
}


@pytest.mark.slow
def test_a_rotation_stores_fewer_channels_as_0_where_one_is_an_outlier(page, stream):
    tokens, signs = stream
    show(page, bits.bit_slider(tokens, signs, RECORDED, start=4))

    def check(kind, token, count):
        y = tokens[kind][token]
        for title, z in {
            "values of the channels, as trained": y,
            "values after a rotation (random signs, then Hadamard)": bits.hadamard(y, signs),
        }.items():
            zeros = int((bits.stored(z, count) == 0).sum())
            step = z.abs().max() / (2 ** (count - 1) - 1)
            error = (((z / step).round() * step - z).norm() / z.norm()).item()
            expect(page, f"{title}: {zeros} of 32 stored as 0, relative error {percent(error)}")
        plain, rotated = RECORDED[kind][count]
        expect(
            page,
            f"at {count} bits: {plain:.0f} % of the digits are right as trained, {rotated:.0f} % rotated",
        )

    check("with an outlier", 0, 4)
    slide(page, "bits", "Home")
    check("with an outlier", 0, 3)
    slide(page, "token", "End")
    check("with an outlier", 2, 3)
    page.get_by_role("radio", name="without one").click()
    check("without one", 2, 3)
    slider = page.get_by_label("bits").bounding_box()
    page.mouse.click(slider["x"] + slider["width"] - 2, slider["y"] + slider["height"] / 2)
    check("without one", 2, 8)


@pytest.mark.slow
def test_the_slider_has_the_numbers_of_bits_that_are_recorded_of_both_networks(page, stream):
    show(page, bits.bit_slider(*stream, RECORDED))
    for kind, rows in RECORDED.items():
        page.get_by_role("radio", name=kind).click()
        slide(page, "bits", "Home")
        for count in (3, 4, 6, 8):
            expect(page, f"Recorded networks {kind} at {count} bits: {rows[count][0]:.0f} %")
            slide(page, "bits", "ArrowRight")
    assert page.get_by_label("token").get_attribute("aria-valuetext") == "1 of 3"


def test_a_hadamard_matrix_needs_a_power_of_two():
    with pytest.raises(ValueError, match="power of two of channels, was given 3"):
        bits.hadamard(torch.ones(3), torch.ones(3))


def test_the_rotation_is_orthogonal(stream):
    tokens, signs = stream
    for y in tokens.values():
        assert torch.allclose(bits.hadamard(y, signs).norm(dim=1), y.norm(dim=1))
    H = bits.hadamard(torch.eye(32, dtype=torch.float64), torch.ones(32, dtype=torch.float64)).T
    theirs = hadamard(32, torch.Generator().manual_seed(0))  # with other signs
    assert torch.allclose(theirs.abs(), H.abs().to(theirs)) and torch.allclose(
        theirs / theirs[:1], (H / H[:1]).to(theirs)
    )


# all


def test_without_a_script_a_picture_and_a_sentence_say_what_is_seen(networks, digits, bowl, stream):
    fragments = [
        pull.pull(),
        orbit.orbit(networks, digits[1]),
        bowl[0].page(),
        bits.bit_slider(*stream, RECORDED),
    ]
    for fragment in fragments:
        still = fragment.data.partition("<script>")[0]
        assert still.count("<svg") == 1 and "aria-label" in still and "With JavaScript you can" in still
        assert len(fragment.data) < 100_000 and "src=" not in fragment.data
