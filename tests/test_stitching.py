"""Cutting and joining networks: nothing is lost at any layer, and what a group can undo costs nothing."""

import copy
from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from helpers import generator, normal, randomise, with_layer_moved
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from intertwine.alignment import LinearMap
from intertwine.data import Dataset
from intertwine.groups import GReLU
from intertwine.stitching import STITCH_RECIPES, split, stitch
from intertwine.stitching.batch_norm import reestimate, tracked
from intertwine.stitching.make import join
from intertwine.weightspace import find_symmetries
from intertwine_book import models

BUILD = {
    "myrtle": lambda seed: models.myrtle(4, seed=seed),
    "tiny10": lambda seed: models.tiny10(4, seed=seed),
    "resnet20 A": lambda seed: models.resnet20(4, seed=seed),
    "resnet20 B": lambda seed: models.resnet20(4, option="B", seed=seed),
    "lenet": lambda seed: models.lenet(seed=seed),
    "fcn": lambda seed: models.fcn(seed=seed),
}
seeds = st.integers(0, 2**31)


def inputs(model: models.Network, n: int = 3) -> Tensor:
    shape = (model.input_shape[0], 32, 32) if model.resizable else model.input_shape
    return normal(n, *shape)


@cache
def network(name: str, seed: int = 0) -> models.Network:
    return randomise(BUILD[name](seed), generator(1)).float()


def linear(weight: Tensor) -> LinearMap:
    return LinearMap(weight, None, residual=0.0, total=1.0)


SIMILAR = ("block2", "block3", "block5", "block6", "block7", "block8")
LAYERS = [(name, layer) for name in BUILD for layer in network(name).hidden_layers()]
FEWER = [(name, layer) for name, layer in LAYERS if not layer.name.startswith(SIMILAR)]


# --- split ---


@pytest.mark.parametrize(("name", "layer"), FEWER, ids=lambda x: x if isinstance(x, str) else x.name)
def test_front_and_back_are_the_model(name, layer):
    model = network(name)
    x = inputs(model)
    front, back = split(model, layer.name, shortcuts=layer.in_block)
    values = front(x)
    assert isinstance(values, tuple) == layer.in_block
    first = values[0] if layer.in_block else values
    assert first.shape[1] == layer.channels
    torch.testing.assert_close(back(values), model(x), rtol=0, atol=0)
    shared = {id(p) for p in model.parameters()}
    assert {id(p) for part in (front, back) for p in part.parameters()} <= shared


def test_layers_of_every_kind_may_be_cut_behind():
    model = network("resnet20 B")
    x = inputs(model)
    for name in ("conv1", "block4", "block4.bn2", "block4.shortcut", "block4.shortcut.conv", "pool", "fc"):
        front, back = split(model, name, shortcuts=True)
        torch.testing.assert_close(back(front(x)), model(x), rtol=0, atol=0)


class Entangled(nn.Module):
    """Functions, buffers and parameters of its own, a shape, and a value that skips two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(3, 3, 1)
        self.unused, self.shared = nn.Linear(1, 1), nn.ReLU()
        self.shift = nn.Parameter(normal(1, 3, 1, 1))
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        y = self.shared(self.first(x)) * self.scale
        z = torch.cat([self.shared(self.second(y)) + self.shift, y], 1)
        return z.view(z.shape[0], -1).sum(1, keepdim=True)


def test_a_model_with_functions_is_cut_too():
    model, x = Entangled(), normal(4, 2, 5, 5)
    front, back = split(model, "first")
    torch.testing.assert_close(back(front(x)), model(x), rtol=0, atol=0)
    assert sum(1 for _ in front.parameters()) == 2
    front, back = split(model, "second", shortcuts=True)
    assert len(front(x)) == 2
    torch.testing.assert_close(back(front(x)), model(x), rtol=0, atol=0)
    assert any(p is model.shift for p in back.parameters())
    assert not any(p is model.shift for p in front.parameters())


# --- stitch ---


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x + self.down(self.up(x).relu())


class Encoder(nn.Module):
    """A transformer with an option, which torch.fx can trace unless it reads its values."""

    def __init__(self, *, reads: bool) -> None:
        super().__init__()
        self.reads, self.mix = reads, nn.Linear(3, 8)
        self.blocks = nn.ModuleList(Block() for _ in "12")
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.mix(x) if mask is None else mask * self.mix(x)
        for block in self.blocks:
            x = block(x, mask)
        x = -x if self.reads and x.sum() > 1e9 else x
        return self.head(x.mean(1))


def test_a_transformer_of_torch_is_cut_at_one_of_its_layers():
    class Encoder(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, 2, 8, dropout=0.0, batch_first=True)
            self.embed, self.head = nn.Linear(3, width), nn.Linear(width, 4)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.encoder(self.embed(x)).mean(1))

    one, other = Encoder(4).eval(), Encoder(6).eval()
    data = Dataset.of(normal(60, 5, 3), torch.arange(60) % 4)
    known = {"at": "encoder.layers.0", "train": data}
    itself = stitch(one, one, kind=torch.eye(4), **known)
    torch.testing.assert_close(itself(data.images), one(data.images))
    assert stitch(one, other, kind="least squares", **known)(data.images).shape == (60, 4)


@pytest.mark.parametrize("reads", [False, True])
def test_a_transformer_is_stitched_at_the_end_of_a_block_whether_fx_traces_it_or_not(reads):
    torch.manual_seed(0)
    one, two = (Encoder(reads=reads).eval() for _ in "12")
    data = Dataset.of(normal(60, 5, 3), torch.arange(60) % 4)
    known = {"at": "blocks.0", "train": data, "device": "cpu"}
    with torch.no_grad():
        itself = stitch(one, one, kind=torch.eye(8), **known)
        torch.testing.assert_close(itself(data.images), one(data.images))
        turned = 2 * torch.eye(8)[[1, 0, 2, 3, 4, 5, 6, 7]]
        values = one.blocks[0](one.mix(data.images)) @ turned.T
        expected = two.head(two.blocks[1](values).mean(1))
        torch.testing.assert_close(stitch(one, two, kind=turned, **known)(data.images), expected)
    recipe = replace(STITCH_RECIPES["digits"], epochs=1)
    trained = stitch(one, two, kind="least squares", recipe=recipe, **known)
    assert len(trained.history) == 2 and not any(m._forward_hooks for m in trained.modules())
    if reads:
        with pytest.raises(
            ValueError, match=r"'blocks.0.up' alone to cross.*only where it can are shortcuts"
        ):
            stitch(one, two, kind=torch.eye(16), **known | {"at": "blocks.0.up"})


@pytest.mark.parametrize(("name", "layer"), FEWER, ids=lambda x: x if isinstance(x, str) else x.name)
def test_the_identity_stitches_a_model_to_itself(name, layer):
    model = network(name)
    x = inputs(model)
    for shortcut in ("stitched", "passed on") if layer.in_block else ("refuse",):
        stitched = join(model, model, layer.name, linear(torch.eye(layer.channels)), shortcut=shortcut)
        torch.testing.assert_close(stitched(x), model(x), rtol=1e-5, atol=1e-5)


@given(seeds, st.integers(1, 4))
@settings(max_examples=6, deadline=None)
def test_what_the_group_did_a_stitch_undoes(seed, k):
    model = network("myrtle")
    n = 4 * 2 ** (k - 1)
    A = GReLU(n).sample(torch.Generator().manual_seed(seed)).float()
    twin, x = with_layer_moved(model, k, A), inputs(model)
    torch.testing.assert_close(twin(x), model(x), rtol=1e-4, atol=1e-4)
    stitched = join(model, twin, f"relu{k}", linear(A))
    torch.testing.assert_close(stitched(x), model(x), rtol=1e-4, atol=1e-4)
    if not torch.equal(A.argmax(1), torch.arange(n)):
        bare = join(model, twin, f"relu{k}", linear(torch.eye(n)))
        assert (bare(x) - model(x)).abs().max() > 1e-3


@given(seeds, st.sampled_from([0.125, 0.5, 4.0, 16.0]))
@settings(max_examples=4, deadline=None)
def test_a_multiple_of_a_stitch_is_the_stitch_where_batch_norm_is_re_estimated(seed, c):
    front, back = network("myrtle", 0), copy.deepcopy(network("myrtle", 1))
    for norm in tracked(back):
        norm.eps = 1e-30  # what is added to variances does not scale with them
    psi, x = normal(8, 8, seed=seed).double(), normal(40, 3, 32, 32, seed=seed).double()
    one, other = (join(front, back, "relu2", linear(a * psi)).double() for a in (1, c))
    assert not torch.allclose(one(x), other(x), rtol=0.01)  # the statistics are frozen
    for stitched in (one, other):
        reestimate(stitched, [x])
    torch.testing.assert_close(one(x), other(x), rtol=1e-9, atol=1e-9)


def test_the_shortcut_is_stitched_or_passed_on():
    one, two = network("resnet20 A"), network("resnet20 A", 1)
    x, A = inputs(one), normal(8, 8, seed=1)
    block, other = one.block4, two.block4
    before = nn.Sequential(*list(one.children())[:6])(x)  # stem and three blocks
    branch, past = block.relu1(block.bn1(block.conv1(before))), block.shortcut(before)
    after = nn.Sequential(*list(two.children())[7:])
    for shortcut, moved_past in (
        ("stitched", torch.einsum("ij,njhw->nihw", A, past)),
        ("passed on", past),
    ):
        stitched = join(one, two, "block4.relu1", linear(A), shortcut=shortcut)
        expected = other.bn2(other.conv2(torch.einsum("ij,njhw->nihw", A, branch))) + moved_past
        torch.testing.assert_close(stitched(x), after(expected.relu()), rtol=1e-4, atol=1e-4)


@given(seeds, st.sampled_from([("relu1", "relu4"), ("relu4", "relu1"), ("relu2", "relu3")]))
@settings(max_examples=6, deadline=None)
def test_other_widths_and_sizes_are_resampled(seed, layers):
    one, two = network("myrtle"), randomise(models.myrtle(6, seed=1), generator(1)).float()
    x = normal(2, 3, 32, 32, seed=seed)
    (front, _), (front2, back) = split(one, layers[0]), split(two, layers[1])
    h, size = front(x), tuple(front2(x).shape[2:])
    q, p = front2(x).shape[1], h.shape[1]
    weight = normal(q, p, seed=seed)
    smaller = h.shape[-1] > size[0]
    stitched = join(one, two, (layers[0], layers[1]), linear(weight), example=x)
    mapped = torch.einsum("ij,njhw->nihw", weight, h)  # the map first: it commutes
    # a triangle over all covered pixels where the size shrinks
    expected = F.interpolate(mapped, size, mode="bilinear", antialias=smaller)
    torch.testing.assert_close(stitched(x), back(expected), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("known", [{}, {"train": True}])
def test_an_element_of_a_group_is_no_matrix_and_no_error_prints_it(known, unchecked):
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 3)).eval()
    x = normal(20, 5)
    data = {name: Dataset.of(x, torch.arange(20) % 3) for name in known}
    space = find_symmetries(model, x)
    g = space.sample(generator())
    with pytest.raises(ValueError, match=r"was given a Move: of .* as space.matrix\(element, at\)") as caught:
        stitch(model, model, at="1", kind=g["1"], **data)
    assert len(str(caught.value)) < 250
    moved, A = space.act(model, g), space.matrix(g, "1").float()
    stitched = stitch(model, moved, at="1", kind=A, **data)  # what it was advised to give
    torch.testing.assert_close(stitched(x), model(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="the images that a LinearMap is made from"):
        stitch(model, model, at="1", kind=linear(torch.eye(64)), recipe="digits")


def test_a_stitch_of_signals_maps_channels():
    torch.manual_seed(0)
    layers = nn.Conv1d(2, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 3, 5, padding=2)
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten()).eval()
    signals = normal(60, 2, 24)
    matrix = torch.eye(8)[torch.randperm(8)]
    moved = find_symmetries(network, signals[:1]).act(network, {"1": matrix})
    train = Dataset.of(signals, torch.arange(60) % 3)
    for kind in ("least squares", "permutation", matrix):
        stitched = stitch(network, moved, at="1", kind=kind, train=train, device="cpu")
        assert stitched.stitch.weight.shape == (8, 8)
        torch.testing.assert_close(stitched(signals), network(signals), atol=1e-4, rtol=1e-4)
    with pytest.raises(ValueError, match=r"Expected train= for layer '1', which follows Conv1d"):
        stitch(network, moved, at="1", kind=matrix)


class Padded(nn.Module):
    """Rows of zeros are no tokens; of an input without tokens nothing is computed, by a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.head = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        seen = (x != 0).any(-1, keepdim=True).float()
        if not seen.any():
            return x.new_zeros(len(x), 3)
        return self.head((self.mix(x).relu() * seen).sum(1) / seen.sum(1))


def test_a_mask_that_the_first_image_does_not_need_is_no_part_of_a_back():
    model, x = Padded(), normal(40, 5, 6)
    x[1::2, 2:] = 0
    data = Dataset.of(x, torch.arange(40) % 3)
    with pytest.raises(ValueError, match="Expected the output of 'mix' alone to cross the cut"):
        stitch(model, model, at="mix", kind="identity", train=data, device="cpu")
    whole = Dataset.of(normal(40, 5, 6), data.labels)
    same = stitch(model, model, at="mix", kind="identity", train=whole, device="cpu")
    torch.testing.assert_close(same(whole.images), model(whole.images))


class Guarded(nn.Module):
    """Refuses what is no tensor, as what torch.fx hands it is not."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x).relu()) if torch.is_tensor(x) else x


def test_a_layer_that_torch_fx_does_not_see_is_cut_by_hooks():
    model, data = Guarded(), Dataset.of(normal(40, 6), torch.arange(40) % 3)
    same = stitch(model, model, at="a", kind="identity", train=data, device="cpu")
    torch.testing.assert_close(same(data.images), model(data.images))


class Placed(nn.Module):
    """With a branch that torch.fx cannot follow."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.head = nn.Embedding(4, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        places = self.places(torch.arange(4)) if bool(x.isfinite().all()) else 0
        return self.head(x + places).mean(1)


def test_a_table_of_positions_has_no_images_to_be_cut_at():
    data = Dataset.of(normal(40, 4, 6), torch.arange(40) % 3)
    with pytest.raises(ValueError, match=r"'places' to have images along the first axis, .* \(4, 6\) for 33"):
        stitch(Placed(), Placed(), at="places", kind="identity", train=data, device="cpu")


class Overwritten(nn.Module):
    """A shortcut that is added in place, by a step whose result nobody takes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.a, self.head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.stem(x)
        y = self.a(h)
        y.add_(h)
        return self.head(y)


class Passed(nn.Module):
    """Of one feature, with a shortcut past the first layer, and a check that torch.fx cannot trace."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(1, 4), nn.Linear(4, 2), nn.Linear(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        assert x.isfinite().all()
        return self.b(self.a(x).relu()) + self.c(x)


def test_a_step_in_place_whose_result_nobody_takes_is_not_lost():
    net, x = Overwritten().eval(), normal(50, 3)
    with pytest.raises(ValueError, match=r"Expected a use of what add_ returns, found none"):
        split(net, "stem")
    train = Dataset.of(x, torch.arange(50) % 2)
    itself = stitch(net, net, at="stem", kind="identity", train=train, device="cpu")
    torch.testing.assert_close(itself(x), net(x))


class SecondName(nn.Module):
    """A value is changed in place while another name holds it, which torch.fx does not see."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        held = [h]
        h += self.b(h).relu()
        return self.c(torch.cat([*held, h], 1))


@pytest.mark.parametrize("shortcut", ["refuse", "stitched", "passed on"])
def test_a_value_that_is_changed_under_a_second_name_is_cut_by_hooks_or_not_at_all(shortcut):
    net, x = SecondName().eval(), normal(50, 4)
    given = {"train": Dataset.of(x, torch.arange(50) % 2), "device": "cpu", "shortcut": shortcut}
    itself = stitch(net, net, at="a", kind="identity", **given)
    torch.testing.assert_close(itself(x), net(x))
    with pytest.raises(ValueError, match=r"Expected the output of 'b' alone to cross the cut"):
        stitch(net, net, at="b", kind="identity", **given)


def test_hooks_see_a_shortcut_past_the_cut_also_where_inputs_have_one_feature():
    train = Dataset.of(normal(50, 1), torch.arange(50) % 2)
    with pytest.raises(ValueError, match=r"Expected the output of 'a' alone to cross the cut"):
        stitch(Passed().eval(), Passed().eval(), at="a", kind="identity", train=train, device="cpu")
