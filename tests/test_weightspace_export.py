"""The graph of a run, and all that was found of it as plain data."""

import json

import pytest
import torch
from torch import nn

from intertwine.weightspace import export, find_symmetries, mappings
from intertwine_book import models


class Positions(nn.Module):
    """Words and positions, of which the second meet the run in a sum."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(7, 4), nn.Embedding(5, 4)
        self.norm, self.head = nn.RMSNorm(4), nn.Linear(4, 7, bias=False)

    def forward(self, tokens):
        places = self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.words(tokens) + places[None].repeat(len(tokens), 1, 1)))


class Padded(nn.Module):
    """A shortcut that zeros make wider by one channel (PyramidNet), which is a space of one unit."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.a(x).relu()
        return self.c((self.b(x) + nn.functional.pad(x, (0, 1))).relu())


NETWORKS = {
    "perceptron": (lambda: models.fcn((3, 4, 2)), torch.zeros(1, 3)),
    "residual": (lambda: models.resnet20(2, option="B"), torch.zeros(1, 3, 8, 8)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 6, norm_first=True), torch.zeros(4, 1, 8)),
    "recurrent": (lambda: nn.LSTM(3, 4, 2), torch.zeros(5, 1, 3)),
    "positions": (Positions, torch.arange(5)[None]),
    "one unit": (Padded, torch.zeros(1, 4)),
    "nothing": (lambda: nn.Linear(3, 2), torch.zeros(1, 3)),
}


@pytest.fixture(params=NETWORKS, scope="module")
def case(request):
    build, inputs = NETWORKS[request.param]
    model = build().eval()
    space = find_symmetries(model, inputs)
    return model, space, export(space)


def test_what_is_exported_is_json(case):
    assert json.loads(json.dumps(case[2], allow_nan=False)).keys() == case[2].keys()


def test_dimensions_groups_and_reasons_are_those_of_the_hidden_spaces(case):
    _, space, found = case
    assert sum(each["dimension"] for each in found["spaces"]) == found["dimension"] == space.dimension
    for each, hidden in zip(found["spaces"], space.spaces, strict=True):
        assert (each["group"], each["why"], each["name"]) == (hidden.group, hidden.why, hidden.name)
        assert each["units"] * each["blocks"] == hidden.size * hidden.blocks


def test_writers_and_readers_are_the_slices_of_mappings_and_lie_within_their_weights(case):
    model, space, found = case
    tensors = model.state_dict()
    for each, mapping in zip(found["spaces"], mappings(space), strict=True):
        for side in ("writers", "readers"):
            assert [tuple(row.values()) for row in each[side]] == [*map(tuple, getattr(mapping, side))]
            for row in each[side]:
                name = f"{row['module']}.{row['parameter']}".removeprefix(".")
                assert found["weights"][name]["shape"] == [*tensors[name].shape]
                last = max(row["starts"]) + (each["units"] - 1) * row["step"] + row["size"]
                assert last <= tensors[name].shape[row["axis"]]


def test_every_parameter_moves_or_has_a_reason(case):
    model, space, found = case
    moving = {name for hidden in space.spaces for name in hidden.writers + hidden.readers}
    for name, _ in model.named_parameters():
        assert bool(found["weights"][name]["stays"]) == (name not in moving)


def test_values_run_forward_from_the_input_and_reach_every_node(case):
    _, space, _ = case
    nodes, edges = space.graph()
    assert nodes[0].label == "input" and all(edge.start < min(edge.ends) for edge in edges)
    assert {end for edge in edges for end in edge.ends} == {*range(1, len(nodes))}


def test_every_weight_of_the_run_belongs_to_a_node_with_the_spaces_that_move_it(case):
    model, space, found = case
    nodes, _ = space.graph()
    unused = "not seen to reach an output"
    used = [name for name, weight in found["weights"].items() if weight["stays"] != unused]
    assert {*dict(model.named_parameters())} <= {*found["weights"]}
    assert {name for node in nodes for name in node.weights} == {*used}
    for hidden in space.spaces:
        holders = {name for node in nodes if hidden.index in node.spaces for name in node.weights}
        assert {*hidden.writers, *hidden.readers} <= holders


def test_weights_that_meet_the_run_late_belong_to_the_node_that_reads_them():
    nodes, _ = find_symmetries(Positions().eval(), torch.arange(5)[None]).graph()
    assert [node.weights for node in nodes if node.function in ("add", "__add__")] == [("places.weight",)]


def test_queries_move_by_the_matrix_and_keys_which_are_dual_by_its_inverse_transpose():
    model = nn.TransformerEncoderLayer(8, 2, 6, norm_first=True).eval()
    nn.init.normal_(bias := model.self_attn.in_proj_bias)
    space = find_symmetries(model, torch.zeros(4, 1, 8))
    both = zip(space.spaces, mappings(space), strict=True)
    hidden, mapping = next(pair for pair in both if any(row.dual for row in pair[1].writers))
    element = {hidden.name: hidden.sample(torch.Generator().manual_seed(0), 1.0)}
    moved = space.act(model, element).self_attn.in_proj_bias
    matrices = element[hidden.name].mixed.to(bias)
    rows = [row for row in mapping.writers if row.parameter == "in_proj_bias"]
    assert [row.dual for row in rows] == [False, True]
    for row in rows:
        for start, matrix in zip(row.starts, matrices, strict=True):
            at = slice(start, start + 4)
            acting = matrix.inverse().T if row.dual else matrix
            torch.testing.assert_close(moved[at], acting @ bias[at], atol=1e-4, rtol=1e-4)
