"""The drawing of a run, and the table of what stays."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

from intertwine.weightspace import find_symmetries
from intertwine.weightspace.solve.draw import GREY, INK, PAPER, in_symbols
from intertwine_book import models

SVG = "{http://www.w3.org/2000/svg}"


class Unused(nn.Module):
    """A layer that is not called, a call that no output needs, and an output that is hidden elsewhere."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        h = self.a(x).relu()
        self.c(h)
        y = self.b(h) @ torch.eye(4)
        return y, y.tanh()


NETWORKS = {
    "perceptron": (lambda: models.fcn((3, 4, 2)), (1, 3)),
    "residual": (lambda: models.resnet20(2, option="B"), (1, 3, 8, 8)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 6, norm_first=True), (4, 1, 8)),
    "linear": (lambda: nn.Linear(3, 2), (1, 3)),
    "unused": (Unused, (1, 3)),
}


def found(name):
    build, shape = NETWORKS[name]
    model = build().eval()
    return model, find_symmetries(model, torch.zeros(shape))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_drawing_has_a_box_for_each_call_and_the_colour_of_each_space(name):
    _, space = found(name)
    root = ElementTree.fromstring(space.draw())
    rects, paths = [*root.iter(f"{SVG}rect")], [*root.iter(f"{SVG}path")]
    boxes = [each for each in rects if each.get("stroke") == GREY]
    texts = [*root.iter(f"{SVG}text")]
    words = [each.text for each in texts]
    groups = [f"{each.name}: {in_symbols(each.group)}" for each in space.spaces]
    assert len(words) == len(boxes) + len(groups) and "input" in words and not {*groups} - {*words}
    assert {each.get("fill") for each in texts} == {INK}
    colours = {each.get("stroke") for each in rects} - {GREY, None}
    assert len(colours) == len(space.spaces)
    assert {each.get("fill") for each in rects} == colours | {PAPER}
    assert {each.get("stroke") for each in paths} <= colours | {GREY, None}
    lines = [each for each in paths if each.get("stroke")]
    assert len(paths) == 2 * len(lines)  # each with a head
    places = [(float(each.get("x")), float(each.get("y"))) for each in boxes]
    assert len({x for x, _ in places}) == 1 and len({y for _, y in places}) == len(places)
    ends = [float(each.get("x")) + float(each.get("width")) for each in rects]
    assert max(ends) < float(root.get("width"))
    assert space.draw()._repr_svg_() == space.draw()


@pytest.mark.parametrize("name", NETWORKS)
def test_two_values_share_a_lane_only_one_after_the_other(name):
    root = ElementTree.fromstring(found(name)[1].draw())
    left = min(float(each.get("x")) for each in root.iter(f"{SVG}rect"))
    spans = {}  # where a lane is, the ranges of each value in it: they have a start in common
    for path in root.iter(f"{SVG}path"):
        if detour := re.fullmatch(r"M\d+ (\d+)V(\d+)q0 2-2 2H(\d+)q-4 0-4 4V(\d+).*", path.get("d")):
            _, start, lane, end = map(int, detour.groups())
            assert 0 < lane < left
            of = spans.setdefault(lane, {})
            of[path.get("stroke"), start] = max(end, of.get((path.get("stroke"), start), 0))
    for lane in spans.values():
        ranges = sorted((start, end) for (_, start), end in lane.items())
        assert all(end <= after for (_, end), (after, _) in pairwise(ranges))


@pytest.mark.parametrize("name", NETWORKS)
def test_each_space_and_each_call_has_an_id_and_a_title_and_all_of_its_ink(name):
    _, space = found(name)
    root = ElementTree.fromstring(space.draw())
    titles = {group.get("id"): group.findtext(f"{SVG}title") for group in root.iter(f"{SVG}g")}
    nodes, _ = space.graph()
    spaces = {f"space-{each.index}": each for each in space.spaces}
    assert [*titles] == [f"node-{k}" for k in range(len(nodes))] + [*spaces]
    for key, hidden in spaces.items():
        assert {*hidden.why, *hidden.writers, *hidden.readers} <= {*re.split("[,;:] ", titles[key])} | {""}
        assert f"dimension {hidden.dimension}" in titles[key]
    for k, node in enumerate(nodes):
        assert titles[f"node-{k}"] == (", ".join(node.weights) or "no weights")
    inks = [{each.get("stroke") for each in group if each.get("stroke")} for group in root.iter(f"{SVG}g")]
    colours = [ink for ink in inks if ink != {GREY}]
    assert all(len(ink) == 1 for ink in inks) and len(set().union(*colours)) == len(colours) == len(spaces)


def test_calls_that_no_output_needs_are_not_drawn():
    drawing = found("unused")[1].draw()
    assert "a · linear" in drawing and "b · linear" in drawing and "tanh" in drawing
    assert "c · linear" not in drawing


@pytest.mark.parametrize("name", NETWORKS)
def test_every_parameter_moves_or_has_a_reason_to_stay(name):
    model, space = found(name)
    moving = {each for hidden in space.spaces for each in hidden.writers + hidden.readers}
    table = space.stays()
    staying = [each for names in table["parameters"] for each in names.split(", ")]
    assert sorted(staying) == sorted({n for n, _ in model.named_parameters()} - moving)
    assert table["why"].str.len().gt(0).all()


def test_the_reasons_are_those_of_the_run():
    table = found("unused")[1].stays().set_index("parameters")["why"]
    assert table["c.weight, c.bias, d.weight, d.bias"] == "not seen to reach an output"
    assert table["b.bias"] == "contracted with entries that do not move"
