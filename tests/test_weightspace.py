"""One element of a group acts everywhere: matrices of `intertwine.groups`, by the name of a space."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.groups import GReLU, Orthogonal, intertwiner_group
from intertwine.weightspace import find_symmetries, relative_error, transform_outputs, verify
from intertwine_book import models

sizes = st.lists(st.integers(2, 12), min_size=3, max_size=5)


class Square(nn.Module):
    """An activation of one's own, in operations that no rule knows."""

    def forward(self, x):
        return torch.where(x > 0, x, -x) ** 2


ACTIVATIONS = {"ReLU": nn.ReLU, "tanh": nn.Tanh, "GELU": nn.GELU, "abs": "abs", "square": Square}


def perceptron(sizes, seed, activation="relu"):
    return models.fcn(sizes, bias=True, activation=activation, seed=seed).double().eval()


def elements(sizes, group_of, generator, name):
    return {f"{name}{m}": group_of(n).sample(generator, scale=0.5) for m, n in enumerate(sizes[1:-1], 1)}


@given(sizes, st.integers(0, 2**31), st.sampled_from(list(ACTIVATIONS)))
@settings(max_examples=12, deadline=None)
def test_acting_changes_representations_by_phi_and_the_function_not_at_all(sizes, seed, activation):
    generator, built = torch.Generator().manual_seed(seed), ACTIVATIONS[activation]
    name = built if isinstance(built, str) else "activation"
    net = perceptron(sizes, seed, built)
    x = torch.randn(7, sizes[0], generator=generator, dtype=torch.float64)
    A = elements(sizes, lambda n: intertwiner_group(activation, n), generator, name)
    other = find_symmetries(net, x).act(net, A)
    for m, each in enumerate(A.values(), 1):
        old, new = net[: 2 * m](x), other[: 2 * m](x)
        phi = intertwiner_group(activation, len(each)).phi(each)
        torch.testing.assert_close(new, old @ phi.T, rtol=1e-9, atol=1e-10 * old.abs().max().item())
    torch.testing.assert_close(other(x), net(x), rtol=1e-8, atol=1e-10 * net(x).abs().max().item())


@given(sizes, st.integers(0, 2**31))
@settings(max_examples=6, deadline=None)
def test_products_of_matrices_act_as_one_after_the_other(sizes, seed):
    generator, net = torch.Generator().manual_seed(seed), perceptron(sizes, seed)
    space = find_symmetries(net, torch.zeros(1, sizes[0]).double())
    g, h = (elements(sizes, GReLU, generator, "relu") for _ in range(2))
    gh = {name: g[name] @ h[name] for name in g}
    twice = space.act(space.act(net, h), g)
    for other in (space.act(net, gh), space.act(net, space.compose(g, h))):
        for one, two in zip(twice.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(one, two)
    for name, move in space.compose(g, h).items():
        torch.testing.assert_close(move.matrix(), gh[name])
        torch.testing.assert_close(space.inverse(g)[name].matrix(), torch.linalg.inv(g[name]))


NETWORKS = {
    "perceptron": (lambda: perceptron((3, 5, 2), 0), (2, 3)),
    "batch norm": (lambda: models.myrtle(3), (2, 3, 8, 8)),
    "residual streams": (lambda: models.resnet20(2, option="B"), (2, 3, 8, 8)),
    "rotations, heads": (lambda: nn.TransformerEncoderLayer(8, 2, 6, norm_first=True), (4, 2, 8)),
    "GL(n)": (lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (2, 4)),
}


class Block(nn.Module):
    """A batch norm whose activation is a function, so that a layer names the space."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(torch.relu(x))))


def values(model, x, names):
    """The outputs of these modules."""
    found = {}
    for name in names:
        hook = model.get_submodule(name).register_forward_hook(
            lambda *a, name=name: found.update({name: a[2]})
        )
        model(x)
        hook.remove()
    return found


def test_the_matrix_of_each_layer_moves_its_values_also_around_batch_norms():
    draw = torch.Generator().manual_seed(0)
    front, back = (nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), Block()), (nn.Flatten(), nn.Linear(108, 2))
    model, x = nn.Sequential(*front, *back).double().eval(), torch.randn(2, 1, 8, 8, dtype=torch.float64)
    for norm in (model[1], model[2].norm):
        norm.running_mean.normal_(generator=draw)
        norm.weight.data.uniform_(0.5, 2, generator=draw)
    space = find_symmetries(model, x)
    g = space.sample(draw)
    moved, names = space.act(model, g), ["0", "1", "2.conv", "2.norm"]
    old, new = (values(each, x, names) for each in (model, moved))
    for name in names:
        torch.testing.assert_close(new[name], torch.einsum("ij,njhw->nihw", space.matrix(g, name), old[name]))
    hidden = space["2.conv"]
    assert hidden.name == "0" and torch.equal(g["0"].matrix(), space.matrix(g, "0"))  # as its name says
    assert not torch.allclose(g["0"].matrix(), space.matrix(g, "2.conv"))


def test_the_matrix_behind_a_gain_is_told_if_only_its_own_scalars_move_it():
    model, x = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2)).double().eval(), torch.eye(4)
    space, draw = find_symmetries(model, x.double()), torch.Generator().manual_seed(0)
    model[1].weight.data.uniform_(0.5, 2, generator=draw)
    whole = space.sample(draw)
    alone = {"1": whole["1"]}
    for g, name in ((alone, "1"), (whole, "0")):
        old, new = (values(each, x.double(), [name])[name] for each in (model, space.act(model, g)))
        torch.testing.assert_close(new, old @ space.matrix(g, name).T)


def test_an_element_is_shown_in_a_line():
    space = find_symmetries(perceptron((3, 24, 2), 0), torch.zeros(1, 3).double())
    assert str(space.identity()) == "{'relu1': Move(24 units: unchanged)}"
    drawn = space.sample(torch.Generator().manual_seed(0))["relu1"]
    assert repr(drawn) == "Move(24 units: reordered, scales)" and len(drawn) == 6
    heads = NETWORKS["rotations, heads"][0]().eval()
    space = find_symmetries(heads, torch.zeros(4, 2, 8))
    shown = str(space.sample(torch.Generator().manual_seed(0)))
    assert "Move(2 blocks of 4 units: mixed)" in shown and "tensor" not in shown


@pytest.mark.parametrize("network", NETWORKS)
def test_a_sampled_element_has_matrices_and_they_are_elements(network):
    build, shape = NETWORKS[network]
    model, draw = build().double().eval(), torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=draw, dtype=torch.float64)
    space = find_symmetries(model, x)
    matrices = {name: move.matrix() for name, move in space.sample(draw).items()}
    assert matrices
    for name, move in space.element(matrices).items():
        torch.testing.assert_close(move.matrix(), matrices[name])
    assert relative_error(space.act(model, matrices)(x), model(x)) < 1e-9
    assert verify(space, model, matrices, x).spaces["error"].max() < 1e-9
    for key in (space.spaces[0].name, 0, "P0"):
        one = space.act(model, {key: matrices[space.spaces[0].name]})
        assert relative_error(one(x), model(x)) < 1e-9


def test_a_matrix_decides_the_scalar_it_acts_on_and_no_other():
    model = models.myrtle(3).double().eval()
    x = torch.randn(1, 3, 8, 8, dtype=torch.float64)
    space, A = find_symmetries(model, x), torch.diag(torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64))
    behind, before = (space.act(model, {name: A}) for name in ("relu1", "conv1"))
    torch.testing.assert_close(behind.conv1.weight, model.conv1.weight)
    torch.testing.assert_close(behind.bn1.weight, A @ model.bn1.weight)
    torch.testing.assert_close(before.conv1.weight, (A @ model.conv1.weight.flatten(1)).view(3, 3, 3, 3))
    torch.testing.assert_close(before.bn1.bias, model.bn1.bias)


class Siamese(nn.Module):
    """One encoder for two inputs; its activation is called in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.out, self.act = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), nn.Linear(4, 2), nn.ReLU()
        self.middle = nn.Linear(4, 4)

    def forward(self, x):
        return self.out(self.act(self.middle(self.act(self.enc(x[:, 0]) - self.enc(x[:, 1])))))


def test_a_shared_module_names_its_space_where_its_calls_agree_and_its_matrix_moves_its_weights():
    model = Siamese().double().eval()
    space = find_symmetries(model, torch.randn(5, 2, 3).double())
    assert [each.name for each in space.spaces] == ["enc.1", "middle"]  # act is in two spaces
    element = space.sample(torch.Generator().manual_seed(0))
    moved, matrix = space.act(model, element), element["enc.1"].matrix()
    torch.testing.assert_close(moved.enc[0].weight, matrix @ model.enc[0].weight)
    for name in ("enc.0", "enc.1"):
        doubled = space.act(model, {name: 2 * torch.eye(4)})
        torch.testing.assert_close(doubled.enc[0].weight, 2 * model.enc[0].weight)


def test_a_matrix_for_each_group_scales_the_units_after_a_group_norm():
    norm, ends = nn.GroupNorm(2, 6), (nn.ReLU(), nn.Conv2d(6, 2, 1))
    model = nn.Sequential(nn.Conv2d(1, 6, 1), norm, *ends).double().eval()
    nn.init.uniform_(norm.weight)
    x = torch.randn(3, 1, 4, 4).double()
    space = find_symmetries(model, x)
    scales = torch.tensor([[2.0, 1.0, 1.0], [1.0, 3.0, 1.0]])
    moved = space.act(model, {"0: within groups": scales.diag_embed()})
    torch.testing.assert_close(moved[1].weight, norm.weight * scales.flatten())
    assert relative_error(moved(x), model(x)) < 1e-12


def test_names_and_the_dictionary_of_git_rebasin():
    space = find_symmetries(models.myrtle(3).eval(), torch.zeros(1, 3, 8, 8))
    assert [hidden.name for hidden in space.spaces] == ["relu1", "relu2", "relu3", "relu4"]
    assert {"relu1", "conv1", "bn1"} <= set(space["relu1"].names)
    norm = [(f"bn1.{name}", 0) for name in ("weight", "bias", "running_mean", "running_var")]
    assert sorted(space.spec["P0"]) == sorted([("conv1.weight", 0), *norm, ("conv2.weight", 1)])
    assert space["P1"] is space[1] is space["relu2"]


def test_a_rotation_is_in_no_group_of_relu_and_changes_the_function():
    generator, net = torch.Generator().manual_seed(0), perceptron((4, 6, 3), 0)
    x = torch.randn(20, 4, generator=generator, dtype=torch.float64)
    Q, space = Orthogonal(6).sample(generator), find_symmetries(net, x)
    with pytest.raises(ValueError, match="space relu1, was given a matrix outside of it"):
        space.act(net, {"relu1": Q})
    rotated = transform_outputs(space, net, {"relu1": Q})
    torch.testing.assert_close(rotated[0](x), net[0](x) @ Q.T)
    torch.testing.assert_close(rotated.fc2.weight, net.fc2.weight)
    assert relative_error(rotated(x), net(x)) > 0.1


def test_of_no_entries_the_relative_error_is_zero():
    # as of a layer between widths of which the difference is 0, in MobileBERT
    assert relative_error(torch.zeros(0, 3), torch.zeros(0, 3)) == 0.0
