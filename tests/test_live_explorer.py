"""The symmetry explorer: its record, the graph as people read it, and the page in a headless browser."""

import copy
import re
from importlib.util import find_spec
from itertools import product

import pytest
import torch
from torch import nn

from intertwine.weightspace import export, find_symmetries
from intertwine.weightspace.solve.draw import in_symbols
from intertwine_book.live.architectures import LANGUAGE, PLACES, PUBLIC, SwitchedBlock, Switches
from intertwine_book.live.explorer import OPTIONS, explore, explorer, packed, ways
from intertwine_book.live.folded import folded, ranges, together
from intertwine_book.live.recorded import recorded
from intertwine_book.live.views import key, of_block, of_public, view, written
from intertwine_book.live.words import MOVES, REASONS, SIDES, reason, units, worded

RECORDED = recorded()
BLOCKS = [Switches(*on) for on in product((True, False), repeat=6)]
MODERN, CLASSIC = Switches(), Switches(False, False, False, False, False, True)


# --- the record ---


def test_all_blocks_and_public_architectures_are_on_record():
    assert {*RECORDED} == {*map(key, BLOCKS), *PUBLIC}


@pytest.mark.parametrize("switches", [MODERN, CLASSIC, MODERN._replace(before=False)], ids=key)
def test_a_block_on_record_is_what_find_symmetries_says_today(switches):
    assert written(of_block(switches)) == written(RECORDED[key(switches)])
    torch.manual_seed(1)  # the group is one of the architecture
    space = find_symmetries(SwitchedBlock(switches).eval(), torch.arange(PLACES)[None] + 3)
    shown = RECORDED[key(switches)]["spaces"]
    assert [in_symbols(each.group) for each in space.spaces] == [each["group"] for each in shown]


@pytest.mark.slow
def test_every_block_on_record_is_what_find_symmetries_says_today():
    for switches in BLOCKS:
        assert written(of_block(switches)) == written(RECORDED[key(switches)]), switches


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_architecture_on_record_is_what_find_symmetries_says_today(name):
    package = "transformers" if name in LANGUAGE else "torchvision"
    if name != "LSTM" and find_spec(package) is None:
        pytest.skip(f"{name} is a network of {package}, which is not installed")
    found, known = of_public(name), RECORDED[name]
    for part in ("parameters", "dimension", "spaces", "stays"):
        assert written(found[part]) == written(known[part]), part


@pytest.mark.parametrize("name", [key(MODERN), *PUBLIC])
def test_dimensions_add_up_and_every_number_names_a_space_or_a_row(name):
    shown = RECORDED[name]
    rows, spaces = shown["rows"], shown["spaces"]
    assert sum(space["dimension"] for space in spaces) == shown["dimension"]
    for start, ends, on in shown["values"]:
        assert start < min(ends) and max(ends) < len(rows) and {*on} <= {*range(len(spaces))}
    for k, space in enumerate(spaces):
        assert any(k in row["writes"] + row["reads"] for row in rows) and space["why"]
        for _, shape, axis, part in [row for side in SIDES for row in space[side]]:
            assert shape[axis] % space["units"] == 0 or part


def test_what_is_packed_is_unpacked_to_the_same():
    packs = packed(RECORDED)
    for name, found in packs["views"].items():
        for part in ("rows", "values", "spaces"):
            assert [packs[part][k] for k in found[part]] == RECORDED[name][part]


# --- the graph as people read it ---


def encoder(layers, **options):
    layer = nn.TransformerEncoderLayer(8, 2, 16, **options)
    parts = [nn.Linear(3, 8), *(copy.deepcopy(layer) for _ in range(layers)), nn.Linear(8, 2)]
    return export(find_symmetries(nn.Sequential(*parts).eval(), torch.zeros(4, 1, 3)))


def test_blocks_from_three_on_are_drawn_once_whatever_their_number():
    three, five = (folded(encoder(layers, norm_first=True)) for layers in (3, 5))
    assert (three.fold.times, five.fold.times) == (3, 5)
    assert [node.functions for node in three.nodes] == [node.functions for node in five.nodes]
    assert [edge[:2] for edge in three.edges] == [edge[:2] for edge in five.edges]
    two = folded(encoder(2, norm_first=True))
    assert two.fold is None and len(two.nodes) == len(three.nodes) + three.fold.period


@pytest.mark.parametrize("layers", [2, 4])
def test_a_view_of_a_network_with_blocks_has_its_whole_dimension_and_all_of_its_weights(layers):
    found = encoder(layers, norm_first=True)
    shown = view(found, 1)
    assert sum(space["dimension"] for space in shown["spaces"]) == found["dimension"]
    assert sum(space["times"] for space in shown["spaces"]) == len(found["spaces"])
    rows = [row for space in found["spaces"] for side in ("writers", "readers") for row in space[side]]
    names = {f"{row['module']}.{row['parameter']}" for row in rows}
    listed = {name for space in shown["spaces"] for side in SIDES for name, *_ in space[side]}
    assert len(listed) == len([*together(sorted(names))])


def test_keys_are_listed_apart_from_queries_and_tied_embeddings_apart_from_both():
    stream, _, heads, *_ = RECORDED["GPT-2"]["spaces"]
    weight = "transformer.h.{0–11}.attn.c_attn.weight", [768, 2304], 1
    assert heads["writers"][0] == [*weight, "0–767"] and heads["duals"][0] == [*weight, "768–1535"]
    assert stream["both"] == [["transformer.wte.weight", [50257, 768], 1, ""]]
    assert all(name != "transformer.wte.weight" for name, *_ in stream["readers"] + stream["writers"])


# --- the words ---


def test_the_spaces_of_a_network_have_names_of_their_own_and_words_for_every_reason_on_record():
    words = " ".join(REASONS)
    for name, shown in RECORDED.items():
        told = worded(name, shown)["spaces"]
        assert len({space["name"] for space in told}) == len(told)
        for before, space in zip(shown["spaces"], told, strict=True):
            assert any(space["why"].endswith(moves) for moves in MOVES.values()), space["why"]
            for token in before["why"]:  # none is left as the library has it, unless it is plain
                assert token in words or token not in space["why"] or token.endswith("reads")


def test_reasons_and_units_are_told_in_english():
    assert reason(["silu", "mul"], "Σ₂₅₆ ⋉ (ℝ*)²⁵⁶") == (
        "SiLU acts on each unit; units are multiplied one by one: permutations, scales of any sign"
    )
    assert reason(["rms_norm"], "O(64)") == "RMS norm acts on it: any orthogonal matrix"
    assert units("in a head: queries, keys", 64, "GL(64) for each of 12") == "64 units in each of 12 heads"


class Branch(nn.Module):
    """An activation beside a shortcut, and one that follows a layer."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.a(x).view(-1, 2, 2).flatten(1)
        return self.c(x + self.b(x.relu()).tanh())


def test_an_activation_is_drawn_with_its_layer_unless_another_reads_the_layer_too():
    rows = folded(export(find_symmetries(Branch().eval(), torch.zeros(1, 3))))
    functions = [node.functions for node in rows.nodes]
    assert functions == [("input",), ("linear",), ("relu",), ("linear", "tanh"), ("add",), ("linear",)]
    assert [edge.ends for edge in rows.edges if edge.start == 1] == [(2, 4)]


def test_numbers_and_names_are_told_together():
    assert ranges([3, 1, 2, 7, 9, 8, 5]) == "1–3, 5, 7–9"
    names = dict(together(["a.0.w", "a.1.w", "b_2.w", "c"]))
    assert names == {"a.{0, 1}.w": ["a.0.w", "a.1.w"], "b_2.w": ["b_2.w"], "c": ["c"]}


# --- the page ---

PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>explorer</title><main><h1>1c</h1>{}</main>'
)
CHAPTER = PAGE.format(explorer().data)


@pytest.fixture(params=[1280, 400])
def page(browser, request):
    opened = browser.new_page(viewport={"width": request.param, "height": 900}, has_touch=True)
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.on("request", lambda asked: pytest.fail(asked.url))
    opened.set_content(CHAPTER)
    yield opened
    opened.close()


def text_of(page, place):
    return page.locator(place).inner_text()


def size(what):
    return f"dimension {what['dimension']:,}" if what.get("dimension") else "finite"


def assert_shows(page, shown):
    total, rest = text_of(page, ".total"), f" of {shown['parameters']:,} weights."
    assert f". Linear changes of the weights that leave the function unchanged: {size(shown)}" in total
    assert total.endswith(rest)
    items = page.locator(".spaces label").all_inner_texts()
    stays = ["what does not move"] * bool(shown["stays"])
    assert len(items) == 1 + len(shown["spaces"]) + len(stays)
    for item, space in zip(items[1:], shown["spaces"], strict=False):
        for text in (space["role"], space["group"], size(space).removeprefix("dimension ")):
            assert text in item
    assert (
        page.locator(".graph svg")
        .get_attribute("aria-label")
        .startswith(f"A network of {len(shown['rows'])}")
    )


def test_each_switch_gives_the_group_that_find_symmetries_gives(page):
    assert_shows(page, of_block(MODERN))
    radio = page.locator(".switches fieldset")
    state = MODERN
    for k, (name, options) in enumerate(OPTIONS.items()):
        before = RECORDED[key(state)]["dimension"]
        state = state._replace(**{Switches._fields[k]: not state[k]})
        option = radio.nth(k).get_by_text(options[not state[k]], exact=True)
        if k % 2:  # by keyboard
            radio.nth(k).locator("input:checked").focus()
            page.keyboard.press("ArrowRight" if not state[k] else "ArrowLeft")
        else:
            option.click(force=True)
        shown = RECORDED[key(state)]
        assert_shows(page, shown)
        change = shown["dimension"] - before
        sign = "+" if change > 0 else "−" if change else "±"
        assert f"({sign}{abs(change):,} by this switch)" in text_of(page, ".total"), name
    assert_shows(page, of_block(state))
    page.locator(".spaces label").nth(1).click(force=True)
    assert "by this switch" not in text_of(page, ".total")


def lit(page):
    """For each row, value and band whether it is lit."""
    script = "all => all.map(one => getComputedStyle(one).opacity === '1')"
    return page.locator(".graph svg > g").evaluate_all(script)


def test_a_space_is_chosen_by_keys_and_its_weights_light_up_with_the_reason(page):
    shown = worded("a block", RECORDED[key(MODERN)])
    assert all(lit(page))
    page.locator(".spaces input").first.focus()
    for space in shown["spaces"]:
        page.keyboard.press("ArrowDown")
        told = text_of(page, ".told").replace("\n", " ")
        assert f"moves {space['moves']}, {size(space)}. Why: {space['why']}." in told
        assert space["name"] in told
        for side, title in SIDES.items():
            assert (title in told) == (side in space)
        weights = [row for side in SIDES for row in space.get(side, ())]
        for name, shape, *_ in weights:
            assert f"{name} {' × '.join(map(str, shape))}" in told
        bold = page.locator(".told strong").all_inner_texts()
        assert bold == [str(shape[axis]) for _, shape, axis, _ in weights]
        assert any(lit(page)) and not all(lit(page))
    page.keyboard.press("ArrowDown")  # the block has nothing that stays: round to all of them
    assert all(lit(page))


def test_a_band_of_a_weight_is_pointed_at_and_chosen(page):
    label = "o"
    row = next(k for k, each in enumerate(RECORDED[key(MODERN)]["rows"]) if each["label"] == label)
    (stream,) = RECORDED[key(MODERN)]["rows"][row]["writes"]
    box = page.locator(".graph svg g", has_text=re.compile(rf"^{label}{label}$")).first  # title and text
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] - 2
    page.mouse.move(x, y)
    said = f"residual stream: {RECORDED[key(MODERN)]['spaces'][stream]['group']} moves"
    assert text_of(page, ".told").startswith(said)
    page.mouse.move(2, 2)
    assert text_of(page, ".told").startswith("Each colour is a hidden space")
    page.mouse.click(x, y)
    page.mouse.move(2, 2)
    assert text_of(page, ".told").startswith(said)
    assert page.locator(".spaces input").nth(1 + stream).is_checked()
    each = RECORDED[key(MODERN)]["rows"][row]
    chosen = set()
    for _ in range(len({*each["reads"], *each["writes"]})):  # the box goes through all of its spaces
        page.mouse.click(x, y - 12)
        chosen.add(page.locator(".spaces input").evaluate_all("all => all.findIndex(one => one.checked)") - 1)
    assert chosen == {*each["reads"], *each["writes"]}


def test_public_networks_are_chosen_and_a_block_comes_back_as_it_was_left(page):
    page.get_by_text("the embedding", exact=True).click(force=True)
    for name in PUBLIC:
        page.get_by_text(name, exact=True).click(force=True)
        assert_shows(page, RECORDED[name])
        assert not page.locator(".switches").is_visible()
    page.get_by_text("build a block").click(force=True)
    assert_shows(page, RECORDED[key(MODERN._replace(tied=True))])


def test_the_space_of_a_role_stays_chosen_from_network_to_network(page):
    page.locator(".spaces label", has_text="residual stream").first.click(force=True)
    page.get_by_text("ViT-B/16", exact=True).click(force=True)
    assert "O(768), Q1 = ±1 moves 768 units" in text_of(page, ".told")
    page.wait_for_function("document.querySelector('[aria-live]').textContent.includes('O(768)')")


def test_two_explorers_on_one_page_share_no_id():
    both = explorer("one", ["LSTM"], blocks=False).data + explorer("two", ["LSTM"], blocks=False).data
    ids = re.findall(r' id="([^"]+)"', both)
    assert len(ids) > 10 and len({*ids}) == len(ids)


def test_lines_of_one_lane_do_not_meet_and_every_reader_has_an_arrow():
    for shown in RECORDED.values():
        lines = ways(shown)
        far = [(each[4], each[1], each[5][-1][0]) for each in lines if each[4:]]
        for k, (lane, start, end) in enumerate(far):
            assert all(start >= stop or begin >= end for other, begin, stop in far[:k] if other == lane)
        read = [(start, end) for start, ends, on in shown["values"] for end in ends for _ in on or [-1]]
        near = [(start, start + 1) for _, start, _, near, *_ in lines if near]
        further = [(each[1], row) for each in lines if each[4:] for row, _ in each[5]]
        assert sorted(read) == sorted(near + further)


def test_without_javascript_the_first_network_is_a_picture():
    still = CHAPTER.partition('<div class="still">')[2].partition("</div>")[0]
    shown = worded("a block", RECORDED[key(MODERN)])
    for space in shown["spaces"]:
        assert f"{space['name']}: {space['group']}" in still
    assert (
        still.count('id="explorer-node-') == len(shown["rows"])
        and f"dimension {shown['dimension']:,}" in still
    )


def test_a_network_of_one_s_own_is_explored(browser):
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    opened = browser.new_page()
    opened.set_content(PAGE.format(explore(network, torch.zeros(1, 3)).data))
    changes = "Linear changes of the weights that leave the function unchanged: dimension 4 of 26 weights."
    assert text_of(opened, ".total") == f"Your network. {changes}"
    opened.close()


def test_the_page_is_light():
    assert len(CHAPTER.encode()) < 160_000
    assert len(explorer("home", ["GPT-2"], blocks=False).data.encode()) < 40_000
