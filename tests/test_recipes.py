"""The recipes of the gallery: their code runs, and does what the text and the pictures say."""

import ast
import re
from pathlib import Path

import pytest
import torch
from helpers import computed, same_words_and_nearly_the_numbers
from torch.nn import functional as F

from intertwine.weightspace import relative_error
from intertwine_book.figures import gallery

pytestmark = pytest.mark.slow  # networks are trained
PAGE = Path(__file__).parents[1] / "book" / gallery.PAGE


@pytest.fixture(scope="module")
def both():
    return gallery.run(PAGE)


@pytest.fixture(scope="module")
def made(both):
    return both[1]


def same(one, other, x):
    return relative_error(one(x), other(x)) < 1e-4


def test_smoothing_lowers_the_largest_activation_and_keeps_the_function(made):
    model, smoothed = made["model"], made["smoothed"]
    experts = {f"up.{k}" for k in range(4)}
    assert {*made["layers"]["norm2"]} == {"router"} | experts and {*made["layers"]["norm1"]} == {"qkv"}
    before, after = (made["largest"](network, "norm2").max() for network in (model, smoothed))
    assert same(smoothed, model, made["words"]) and after < before / 4


def test_rotating_the_stream_spreads_outliers_and_keeps_the_function(made):
    model, plain, turned = made["model"], made["plain"], made["turned"]
    assert made["writers"] >= {"embed", "out", "down.0"} and made["readers"] >= {"qkv", "head", "router"}
    assert same(plain, model, made["words"]) and torch.equal(plain.norm3.weight, torch.ones(16))
    assert same(turned, model, made["words"])
    assert turned.embed.weight.abs().max() < model.embed.weight.abs().max() / 2
    free, tied = made["free"], made["tied"]
    assert same(free, tied, made["words"]) and free.head.weight is not free.embed.weight


def test_a_forgotten_reader_is_found(made):
    assert made["fine"] and made["wrong"].module == "router"


def test_pruning_two_layers_takes_their_channels_out_of_all_that_read_them(made):
    small = made["small"]
    assert small.down.out_channels == small.deep.in_channels == 4
    assert small.deep.out_channels == small.up.in_channels == 6
    shapes = [tuple(layer.out.weight.shape) for layer in (small, made["unet"])]
    assert shapes[0] == shapes[1]  # its inputs stay


def test_an_average_of_matched_networks_works_and_one_of_others_does_not(made):
    x = torch.arange(43)[:, None] + torch.arange(7)
    losses = {
        name: F.cross_entropy(made[name](x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).item()
        for name in ("one", "other", "merged", "unmatched")
    }
    assert losses["merged"] < min(losses["one"], losses["other"]) and losses["unmatched"] > 1


def test_one_orbit_has_one_hash(made):
    one, other = (made["digest"](made["orbit"], made[name]) for name in ("mlp", "elsewhere"))
    assert one == other and one[1] == ()


def test_the_table_for_merging_has_both_sides(made):
    assert made["table"]["qkv.weight"]["input_space"] and made["table"]["out.weight"]["output_space"]


def test_each_recipe_gives_what_the_page_shows(made):
    recipes = PAGE.read_text().partition("(sec-recipes)=")[2]
    parts = re.findall(r"^#{3,4} .*?(?=^#{3,4} |\Z)", recipes, re.MULTILINE | re.DOTALL)
    assert len(parts) > 7
    for part in parts:
        code, shown = re.search(r"```python\n([^`]*?)```\n\n```text\n(.*?)```", part, re.DOTALL).groups()
        last = ast.unparse(ast.parse(code).body[-1])
        assert same_words_and_nearly_the_numbers(shown, computed(last, made)), last


def test_each_entry_of_the_page_has_its_picture_and_a_card_that_leads_to_it(both):
    page = PAGE.read_text()
    with torch.no_grad():
        drawn = gallery.of_tasks(both[0]) | gallery.of_recipes(both[1])
    entries = re.findall(r"^\(((?:task|recipe)-[\w-]+)\)=$", page, re.MULTILINE)
    cards = re.findall(r":link: (\S+)\n:link-type: ref\n:img-bottom: ../generated/gallery-([\w-]+).svg", page)
    shown = re.findall(r"{figure} ../generated/gallery-([\w-]+).svg", page)
    assert [link for link, _ in cards] == entries and [name for _, name in cards] == shown
    assert {*shown} == {*drawn} and len(shown) == 22
