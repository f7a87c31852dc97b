"""The drawing of a run, and the table of what stays."""

from xml.etree import ElementTree

import pytest
import torch
from torch import nn

from intertwine.weightspace import find_symmetries
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
    rects, lines = root.findall(f"{SVG}rect"), root.findall(f"{SVG}path")
    boxes = [each for each in rects if each.get("fill") == "#8881"]
    texts = [each.text for each in root.findall(f"{SVG}text")]
    assert len(texts) == len(boxes) + len(space.spaces) and "input" in texts
    colours = {each.get("fill") for each in root.findall(f"{SVG}text")} - {"#777"}
    assert len(colours) == len(space.spaces)
    assert {each.get("fill") for each in rects} == colours | {"#8881"}
    assert {each.get("stroke") for each in lines} <= colours | {"#999"}
    places = [(each.get("x"), each.get("y")) for each in boxes]
    assert len(set(places)) == len(places)
    assert all(float(each.get("x")) < float(root.get("width")) for each in boxes)
    assert space.draw()._repr_svg_() == space.draw()


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
