"""The bench stitches as the library does: the same accuracies and measures on the same digits."""

from collections import OrderedDict
from copy import deepcopy
from itertools import product

import pytest
import torch
from torch import nn

from intertwine.alignment import variance_restored
from intertwine.features import activations
from intertwine_book.live.digit_networks import digit_networks
from intertwine_book.live.export import from_page

PARTS = ["engine", "linear_algebra", "stitching"]
RUN = """
const bench = Stitching(given.data);
const first = { front: "twin", layer: 2, before: false, turn: 0, map: "none", rank: 99, stretch: 0 };
return given.states.map((each) => {
  const state = { ...first, norm: "frozen", ...each }, made = bench.stitched(state);
  const out = { accuracy: made.accuracy, ...bench.measures(state, made), W: made.W, bias: made.bias };
  if (state.front === "moved") out.element = bench.hiddenElement(bench.channels(state));
  if (state.front === "noise") out.features = bench.features(state);
  const weights = (layer) => [layer.of, layer.weight, layer.bias];
  if (state.front === "untrained") out.weights = bench.untrained.map(weights);
  if (state.turn) out.R = bench.path(bench.channels(state))(state.turn);
  return out;
});
"""


@pytest.fixture(scope="module")
def two():
    return digit_networks()


def matrix(given):
    return torch.tensor(given["d"], dtype=torch.float64).view(given["r"], given["c"])


def moved(network, place, M):
    """The network with a matrix of the channels behind a layer, in a layer that is called element."""
    layers: dict[str, nn.Module] = {}
    for name, layer in network.named_children():
        layers[name] = layer
        if name == place:
            layers["element"] = nn.Conv2d(M.shape[1], M.shape[0], 1, bias=False)
            layers["element"].weight.data = M[:, :, None, None].float()
    return nn.Sequential(OrderedDict(layers)).eval()


def fresh(network, weights):
    """The network with these weights, and with batch norm as it is before a training."""
    made = deepcopy(network)
    for name, weight, bias in weights:
        module = made.get_submodule(name)
        if isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()
        for parameter, value in (
            (getattr(module, "weight", None), weight),
            (getattr(module, "bias", None), bias),
        ):
            if value:
                parameter.data = torch.tensor(value).view_as(parameter)
    return made.eval()


def assert_equal(two, shown, made, *, measured=True, **where):
    accuracy = made.evaluate(two.judge)
    assert abs(shown["accuracy"] - accuracy) < 1e-9, where
    for name, value in two.measures(made, **where).items() if measured else ():
        assert shown[name] == pytest.approx(value, abs=2e-4 * max(1, abs(value))), (name, where)


def stretched(t):
    return lambda statistics: variance_restored(statistics, t)


CASES = {
    "none": {"map": "none"},
    "permutation": {"map": "permutation"},
    "scaled": {"map": "scaled"},
    "least squares": {"map": "least squares"},
    "rank 3": {"map": "low rank", "rank": 3},
    "half stretched": {"map": stretched(0.5)},
    "stretched": {"map": stretched(1.0)},
}
ON_PAGE = {
    "rank 3": {"map": "least squares", "rank": 3},
    "half stretched": {"map": "least squares", "stretch": 0.5},
    "stretched": {"map": "least squares", "stretch": 1},
}


@pytest.mark.slow  # all layers, maps and norms
@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
def test_every_map_between_two_networks_is_that_of_the_library(node, two, before):
    grid = [*product((1, 2, 3, 4), CASES, (False,)), *product((2,), CASES, (True,))]
    states = [
        ON_PAGE.get(name, {"map": name})
        | {"layer": layer, "before": before, "norm": "re-estimated" if again else "frozen"}
        for layer, name, again in grid
    ]
    shown = node(PARTS, RUN, data=two.exported(), states=states)
    for (layer, name, again), found in zip(grid, shown, strict=True):
        where = {"layer": layer, "before": before}
        made = two.stitched(**CASES[name], **where, again=again)
        assert_equal(two, found, made, measured=layer in (2, 4) and not again, **where)


def test_a_rotation_is_undone_by_least_squares_and_by_nothing_else(node, two):
    grid = [*product(("none", "scaled", "least squares"), (0.3, 1))]
    states = [{"front": "itself", "map": name, "turn": turn} for name, turn in grid]
    shown = node(PARTS, RUN, data=two.exported(), states=states)
    for (name, turn), found in zip(grid, shown, strict=True):
        front = moved(two.back, "relu2", matrix(found["R"]))
        assert_equal(two, found, two.stitched(front, at="element", map=name))
        if name == "none":
            assert found["cka"] == pytest.approx(1) and found["orthogonal"] == pytest.approx(1, abs=1e-6)
        if turn == 1:
            assert (found["accuracy"] > 0.9) == (name == "least squares")


def test_the_hidden_element_is_found_by_the_group(node, two):
    grid = [*product((1, 3), (False, True), ("none", "permutation", "scaled"))]
    states = [{"front": "moved", "layer": k, "before": before, "map": name} for k, before, name in grid]
    shown = node(PARTS, RUN, data=two.exported(), states=states)
    for (layer, before, name), found in zip(grid, shown, strict=True):
        place = f"{'bn' if before else 'relu'}{layer}"
        front = moved(two.back, place, matrix(found["element"]))
        where = {"layer": layer, "before": before}
        assert_equal(two, found, two.stitched(front, at="element", map=name, **where), **where)
        if name == "scaled":
            active = two.stitched(front, at="element", map=name, **where)
            assert (
                found["accuracy"] == pytest.approx(two.alone()) == pytest.approx(active.evaluate(two.judge))
            )
            assert found["group"] == pytest.approx(1, abs=1e-4)


def test_a_front_that_was_never_trained_is_stitched_alike(node, two):
    grid = [*product((1, 2, 3, 4), ("none", "scaled", "least squares"))]
    states = [{"front": "untrained", "layer": layer, "map": name} for layer, name in grid]
    shown = node(PARTS, RUN, data=two.exported(), states=states)
    for (layer, name), found in zip(grid, shown, strict=True):
        front = fresh(two.back, found["weights"])
        assert_equal(two, found, two.stitched(front, layer=layer, map=name), layer=layer)


def test_noise_that_knows_the_class_is_used_by_a_late_layer(node, two):
    states = [{"front": "noise", "layer": layer, "map": "least squares"} for layer in (2, 4)]
    for state, found in zip(states, node(PARTS, RUN, data=two.exported(), states=states), strict=True):
        x = from_page(found["features"]).float()
        W, bias = matrix(found["W"]).float(), torch.tensor(found["bias"], dtype=torch.float32)
        known = activations(two.back, [f"relu{state['layer']}"], two.fit.images)[f"relu{state['layer']}"]
        X, Y = (z.movedim(1, -1).flatten(0, -2).double() for z in (x[: len(two.fit)], known))
        best = torch.linalg.lstsq(X - X.mean(0), Y - Y.mean(0)).solution.T
        assert torch.allclose(W.double(), best, atol=1e-4)
        z = torch.einsum("ji,nihw->njhw", W, x[len(two.fit) :]) + bias[:, None, None]
        names = [name for name, _ in two.back.named_children()]
        with torch.no_grad():
            answers = two.back[names.index(f"relu{state['layer']}") + 1 :](z).argmax(1)
        accuracy = (answers == two.judge.labels).double().mean().item()
        assert found["accuracy"] == pytest.approx(accuracy)
        assert accuracy > 0.9 if state["layer"] == 4 else accuracy < 0.3
