"""Features: what a layer returned, exactly, and a model that afterwards is as it was before."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from helpers import normal
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from intertwine.features import activations, features, record, rows
from intertwine_book import models

seeds = st.integers(0, 2**63 - 1)


def hooks(model: nn.Module) -> int:
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)


class Model(nn.Module):
    """One linear layer and a forward of the test's choice."""

    def __init__(self, forward: Callable[["Model", Tensor], Tensor], **layers: nn.Module) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.compute = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


# --- what is recorded ---


@settings(max_examples=15, deadline=None)
@given(width=st.integers(1, 5), n=st.integers(0, 5), side=st.integers(8, 11), seed=seeds, draw=st.data())
def test_a_record_is_what_the_layers_before_compute(width, n, side, seed, draw):
    network = models.myrtle(width, seed=seed).train(n > 1 and draw.draw(st.booleans()))
    x = normal(n, 3, side, side, seed=seed)
    names = [name for name, _ in network.named_children()]
    chosen = draw.draw(st.lists(st.sampled_from(names), unique=True))
    with record(network, chosen) as activations:
        output = network(x)
    assert set(activations) == set(chosen)
    for name in chosen:
        assert torch.equal(activations[name], network[: names.index(name) + 1](x))
    assert torch.equal(output, network(x))


def test_a_record_inside_a_residual_block_is_what_its_formula_says():
    network = models.resnet20(2, slope=0.1).eval()
    names = ["block1.relu2", "block2.relu1", "block2.bn2", "block2.relu2"]
    with record(network, names) as acts:
        network(normal(3, 3, 8, 8))
    block = network.block2
    before = acts["block1.relu2"]
    assert torch.equal(acts["block2.relu1"], block.relu1(block.bn1(block.conv1(before))))
    assert torch.equal(acts["block2.bn2"], block.bn2(block.conv2(acts["block2.relu1"])))
    assert torch.equal(acts["block2.relu2"], block.relu2(acts["block2.bn2"] + before))


def test_work_in_place_reaches_no_record():
    def forward(model, x):
        x = model.linear(x)
        y = model.relu(model.identity(x))  # identity hands x on, relu overwrites it
        y += 1
        return y

    model = Model(forward, relu=nn.ReLU(inplace=True), identity=nn.Identity())
    x = normal(50, 3)
    with record(model, ["linear", "identity", "relu"]) as activations:
        output = model(x)
    before = x @ model.linear.weight.T + model.linear.bias
    assert (before < 0).any()
    torch.testing.assert_close(activations["linear"], before)
    torch.testing.assert_close(activations["identity"], before)
    torch.testing.assert_close(activations["relu"], before.clamp(min=0))
    torch.testing.assert_close(output, before.clamp(min=0) + 1)


def test_a_loss_on_a_record_trains_the_layers_before_it():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = normal(5, 3)
    with record(model, ["1"]) as activations:
        model(x)
    activations["1"].sum().backward()
    slope = 1 - (x @ model[0].weight.T + model[0].bias).tanh().square()
    torch.testing.assert_close(model[0].weight.grad, slope.T @ x)
    with torch.no_grad(), record(model, ["1"]) as activations:
        model(x)
    assert not activations["1"].requires_grad


def test_a_record_holds_the_last_run():
    network = models.fcn((3, 4, 2))
    with record(network, ["relu1"]) as activations:
        network(normal(5, 3))
        network(x := normal(2, 3, seed=1))
    assert torch.equal(activations["relu1"], network[:2](x))


def test_records_nest_and_work_on_traced_networks():
    network = torch.fx.symbolic_trace(models.resnet20(2)).eval()
    x = normal(2, 3, 8, 8)
    with record(network, ["block3.relu1"]) as outer:
        with record(network, ["block3.relu1", "block5.relu2"]) as inner:
            network(x)
        assert hooks(network) == 2
    assert torch.equal(outer["block3.relu1"], inner["block3.relu1"])


# --- what is left behind ---


def test_no_hook_is_left_behind_whatever_happens():
    network = models.myrtle(2)
    network.relu2.register_forward_hook(lambda *_: None)
    x = normal(2, 3, 8, 8)
    with record(network, ["relu1", "relu2"]):
        network(x)
        assert hooks(network) == 4
    assert hooks(network) == 1
    with pytest.raises(KeyError), record(network, ["relu1", "relu2"]):  # in the caller's code
        network(x)
        raise KeyError("theirs")
    assert hooks(network) == 1
    with pytest.raises(ValueError, match="shape"), record(network, ["relu1"]):  # in the model
        network(x[0])
    assert hooks(network) == 1
    with pytest.raises(ValueError, match="did not"), record(network, ["relu1"]):  # in ours
        pass
    with pytest.raises(ValueError, match="nearest"), record(network, ["relu1", "relu9"]):
        pass
    assert hooks(network) == 1
    for batch in features(network, ["relu1"], x, batch_size=1):
        assert hooks(network) == 1 and len(batch["relu1"]) == 1
    broken = features(network, ["relu1"], x[:, :2])
    with pytest.raises(ValueError, match="shape"):
        next(broken)
    assert hooks(network) == 1


def test_the_caller_s_error_is_not_hidden_by_ours():
    network = models.fcn((3, 4, 2))
    with pytest.raises(ZeroDivisionError), record(network, ["relu1"]):
        _ = 1 / 0


@settings(max_examples=10, deadline=None)
@given(modes=st.lists(st.booleans(), min_size=19, max_size=19))
def test_every_layer_stays_in_its_mode_and_no_statistic_moves(modes):
    network = models.myrtle(2)
    for module, mode in zip(network.modules(), modes, strict=True):
        module.training = mode
    before = [module.training for module in network.modules()]
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    x = normal(4, 3, 8, 8)
    for batch in features(network, ["bn1"], x, batch_size=3):
        assert [module.training for module in network.modules()] == before
        assert not batch["bn1"].requires_grad
    with pytest.raises(ValueError, match="shape"):
        next(features(network, ["bn1"], x[:, :1]))
    assert [module.training for module in network.modules()] == before
    assert all(torch.equal(tensor, state[name]) for name, tensor in network.state_dict().items())


# --- streaming ---


@settings(max_examples=15, deadline=None)
@given(n=st.integers(0, 12), batch_size=st.integers(1, 15), seed=seeds)
def test_a_stream_is_the_whole_in_order_in_pieces(n, batch_size, seed):
    network = models.resnet20(2, seed=seed).double()  # in training mode: batches must not matter
    x = normal(n, 3, 8, 8, seed=seed).double()
    layers = ["relu1", "block4.relu2", "fc"]
    pieces = list(features(network, layers, x, batch_size=batch_size))
    assert [len(piece["fc"]) for piece in pieces] == [
        len(piece) for piece in x.split(batch_size) if len(piece)
    ]
    assert all(list(piece) == layers for piece in pieces)
    with torch.no_grad(), record(network.eval(), layers) as whole:
        network(x)
    for layer in layers if n else []:
        torch.testing.assert_close(torch.cat([piece[layer] for piece in pieces]), whole[layer])
    if n:
        together = activations(network, layers, x, batch_size=batch_size)
        assert list(together) == layers
        assert all(torch.equal(X, torch.cat([b[k] for b in pieces])) for k, X in together.items())


def test_a_stream_holds_one_batch():
    network = models.myrtle(2)
    seen: list[weakref.ref[Tensor]] = []
    for batch in features(network, ["relu1"], normal(6, 3, 8, 8), batch_size=2):
        seen.append(weakref.ref(batch["relu1"]))
        del batch
        gc.collect()
        assert all(tensor() is None for tensor in seen)
    assert len(seen) == 3


def test_features_follow_the_device_of_the_model():
    network = models.resnet20(2).to("meta")
    for images in (normal(4, 3, 8, 8), normal(4, 3, 8, 8).to("meta")):
        batches = list(features(network, ["block9.relu2"], images, batch_size=3))
        assert [batch["block9.relu2"].shape for batch in batches] == [(3, 8, 2, 2), (1, 8, 2, 2)]
        assert all(batch["block9.relu2"].device.type == "meta" for batch in batches)
    (batch,) = features(nn.Sequential(nn.ReLU()), ["0"], normal(2, 3))  # no parameters: where the images are
    assert batch["0"].device.type == "cpu"


# --- bad input ---


@pytest.mark.parametrize("shape", [(5, 3), (5, 7, 3), (5, 3, 2, 4), (5, 3, 2, 4, 2)])
def test_every_position_is_a_row_of_channels(shape):
    X = normal(*shape)
    positions = [X] if len(shape) == 2 else [X[:, k] for k in range(7)] if len(shape) == 3 else None
    positions = X.flatten(2).unbind(2) if positions is None else positions
    assert torch.equal(rows(X).view(5, -1, 3), torch.stack(list(positions), 1))


class TimeFirst(nn.Module):
    """A layer that has time along its first axis, and one that has no images at all."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.places, self.head = nn.Linear(3, 3), nn.Embedding(5, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((self.inside(x.transpose(0, 1)) + self.places(torch.arange(5))[:, None]).mean(0))


@pytest.mark.parametrize("n", [2, 5, 7])  # fewer images than places, as many, and more
def test_a_layer_that_does_not_have_images_first_is_refused(n):
    for layer in ("inside", "places"):
        with pytest.raises(ValueError, match=f"'{layer}' to return images along the first axis"):
            activations(TimeFirst(), [layer], normal(n, 5, 3, seed=0))
    assert activations(TimeFirst(), ["head"], normal(n, 5, 3, seed=0))["head"].shape == (n, 3)


def test_activations_are_in_the_order_of_the_names_and_no_image_is_refused():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), normal(5, 3, seed=0)
    found = activations(model, ["1", "0"], x)
    assert [*found] == ["1", "0"] and torch.equal(found["1"], model(x))
    with pytest.raises(ValueError, match="Expected at least one image"):
        activations(model, ["1"], x[:0])
