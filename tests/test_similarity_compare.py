"""All layers at once against pair by pair; blocks and nulls."""

from functools import partial

import numpy as np
import pytest
import torch
from helpers import FEW, generator, normal, sentence
from torch import Tensor, nn

from intertwine.alignment import statistics
from intertwine.channels import channels_first, turn
from intertwine.data import Dataset
from intertwine.dissection import haar_rotation
from intertwine.features import activations, record
from intertwine.similarity import MEASURES, Measure, Null, cka, compare, grelu_cka, null, procrustes
from intertwine.similarity.moments import compressed
from intertwine.stitching import Junction, stitch
from intertwine.weightspace import find_symmetries
from intertwine_book import models

LAYERS = ["relu1", "relu2", "relu4"]


@pytest.fixture(scope="module")
def setting() -> tuple[nn.Module, nn.Module, Tensor]:
    networks = (
        models.myrtle(w, in_channels=1, seed=s).double().eval() for w, s in ((3, 0), (4, 4))
    )  # no dead unit
    return *networks, normal(30, 1, 8, 8, seed=0).double()


def recorded(model: nn.Module, images: Tensor) -> dict[str, Tensor]:
    with torch.no_grad(), record(model, LAYERS) as activations:
        model(images)
    return activations


def same_size(X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    size = max(X.shape[2], Y.shape[2])
    return tuple(
        Z.repeat_interleave(size // Z.shape[2], 2).repeat_interleave(size // Z.shape[2], 3) for Z in (X, Y)
    )


@FEW
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("memory", [2**30, 400_000])
def test_all_layers_at_once_are_pair_by_pair(setting, name, memory):
    first, second, images = setting
    measure = MEASURES[name]
    if measure.needs == "features" and memory < 2**30:
        with pytest.raises(ValueError, match="all features at once"):
            compare(first, second, LAYERS, images, measure=name, memory=memory, device="cpu")
        return
    table = compare(first, second, LAYERS, images, name, layers2=LAYERS[1:], memory=memory, device="cpu")
    assert list(table.index) == LAYERS and list(table.columns) == LAYERS[1:]
    X, Y = recorded(first, images), recorded(second, images)
    for row in LAYERS:
        for column in LAYERS[1:]:
            pair = X[row], Y[column]
            if measure.spatial == "samples":
                pair = same_size(*pair)
            tolerance = 1e-6 if measure.needs == "moments" else 1e-9
            if name == "pwcca":  # weights of nearly equal correlations hang on the last digits
                tolerance = 1e-3
            assert abs(table.loc[row, column] - measure(*pair)) < tolerance, (row, column)


def unnormalised(X: Tensor, Y: Tensor) -> Tensor:
    """A measure that the registry does not have: no options, matrices only."""
    return (X.T @ Y).square().sum() / len(X)


@pytest.mark.parametrize("spatial", [None, "features", "mean", "samples"])
def test_a_function_is_a_measure_of_matrices_of_features(setting, spatial):
    first, second, images = setting
    table = compare(first, second, LAYERS, images, unnormalised, spatial=spatial, device="cpu")
    X, Y = recorded(first, images), recorded(second, images)
    for row in LAYERS:
        for column in LAYERS:
            if spatial == "mean":
                pair = [Z.mean((2, 3)) for Z in (X[row], Y[column])]
            elif spatial == "samples":
                pair = [Z.movedim(1, 3).flatten(0, 2) for Z in same_size(X[row], Y[column])]
            else:
                pair = [X[row].flatten(1), Y[column].flatten(1)]
            assert table.loc[row, column] == pytest.approx(float(unnormalised(*pair))), (row, column)


def test_a_function_is_what_it_computes_whatever_its_name_and_options(setting):
    first, second, images = setting

    def table(measure) -> list[list[float]]:
        return compare(first, second, LAYERS, images, measure, device="cpu").to_numpy().tolist()

    own = table(unnormalised)
    assert table(lambda X, Y: float(unnormalised(X, Y))) == own
    for known in (cka, partial(cka, kernel="rbf"), partial(cka, kernel=lambda Z: Z @ Z.T)):
        name = "cka rbf" if known is not cka and known.keywords["kernel"] == "rbf" else "cka"
        assert np.allclose(table(known), table(name))
    for name in ("mine", "cka"):  # of Gram matrices, for which `compare` knows no kernel, or another one
        mine = Measure(name, lambda X, Y, spatial: unnormalised(X, Y), (), "grams", "features", "")
        assert table(mine) == own
    assert "returns a tensor of shape (30,)" in sentence(lambda: table(lambda X, Y: X[:, 0]))


@FEW
@pytest.mark.parametrize("name", MEASURES)
def test_the_unit_in_which_images_are_measured_changes_no_similarity(name):
    layers, (a, b), images = ["0", "1"], (generator(0), generator(1)), normal(40, 3, seed=0).double()
    one, other = (
        nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 2)).double().eval() for _ in "ab"
    )
    with torch.no_grad():
        one[0].weight.normal_(generator=a)
        other[0].weight.normal_(generator=b)
    table = compare(one, other, layers, images, name, device="cpu")
    for unit in (1e-10, 1e10):
        again = compare(one, other, layers, unit * images, name, device="cpu")
        assert (again - table).abs().to_numpy().max() < 1e-9


def test_blocks_and_batches_change_nothing_but_rounding(setting):
    first, second, images = setting
    whole = compare(first, second, LAYERS, images, device="cpu")
    for options in ({"memory": 400_000}, {"memory": 400_000, "batch_size": 7}):
        again = compare(first, second, LAYERS, images, device="cpu", **options)
        assert (again - whole).abs().to_numpy().max() < 1e-10


def test_a_budget_of_memory_makes_more_blocks_and_too_small_a_one_is_refused(setting):
    from intertwine.similarity.blocks import Blocks

    first, second, images = setting
    sides = ((first, LAYERS), (second, LAYERS))
    sizes = [
        Blocks(*sides, images, "features", memory=m, device="cpu").size for m in (10**8, 10**6, 2 * 10**5)
    ]
    assert sizes[0] == 30 and sizes[0] > sizes[1] > sizes[2] >= 2
    with pytest.raises(ValueError, match="raise memory="):
        Blocks(*sides, images, "features", memory=10**4, device="cpu")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["cca", "svcca", "r2"])
def test_units_that_differ_by_rounding_are_no_direction_of_their_own(name, dtype):
    a, b = (nn.Sequential(nn.Linear(40, 8), nn.Sigmoid()) for _ in range(2))
    for k, net in enumerate((a, b)):
        weight, bias = normal(8, 40, seed=k), normal(8, seed=k + 10)
        weight[1], bias[1] = weight[0], bias[0]
        net.to(dtype).eval().load_state_dict({"0.weight": weight, "0.bias": bias})
        net.append(nn.Linear(8, 8).to(dtype)).eval()
        # equal units, plus other numbers: the last digits of their sums differ
        net[2].load_state_dict({"weight": torch.eye(8), "bias": 10 * normal(8, seed=k + 20)})
    x = normal(300, 40, seed=2).to(dtype)
    X, Y = (net(x).detach() for net in (a, b))
    assert compare(a, b, ["2"], x, name).iloc[0, 0] == pytest.approx(MEASURES[name](X, Y).item(), abs=1e-5)


class Shown(nn.Module):
    """Two halves of the channels of its inputs, as two layers, the second in another type."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight, self.dtype = nn.Parameter(torch.zeros(1)), dtype
        self.a, self.b = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, 1)
        return self.a(a), self.b(b.to(self.dtype))


@pytest.mark.parametrize("spatial", ["mean", "features"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", ["cka", "cca", "svcca", "pwcca", "r2", "procrustes"])
def test_features_of_any_type_are_compared_in_float64_each_by_its_own_rounding(name, dtype, spatial):
    x = normal(200, 6, 2, 2, seed=0) + torch.tensor([0.0, 0, 300, 5, 5, 5])[:, None, None]
    x[:, 3:] += x[:, :3].roll(1, 2)
    x = x * torch.tensor([1.0, 1, 500, 1, 1, 1])[:, None, None]
    network = Shown(dtype)
    A, B = (each.double() if dtype == torch.float32 else each for each in network(x.float()))
    one = MEASURES[name](A, B, spatial=spatial).item()
    both = compare(network, network, ["a"], x.float(), name, layers2=["b"], spatial=spatial, device="cpu")
    assert both.iloc[0, 0] == pytest.approx(one, abs=1e-6)


@pytest.mark.parametrize("name", ["cka", "cka biased", "cka max"])
def test_a_layer_varies_by_its_own_size_and_not_by_that_of_others(name):
    x, network = normal(40, 4, seed=0), Shown(torch.float32)
    x[:, 2:] = 3e-8 * x[:, :2]
    found = compare(network, network, ["a", "b"], x, name, device="cpu")
    assert torch.allclose(torch.tensor(found.to_numpy()), torch.ones(2, 2).double(), atol=1e-6)
    for seed in range(8):  # rounding of a mean: whether anything is left of a constant differs between seeds
        constant = normal(1, 4, 5, seed=seed).expand(50, 4, 5)
        with pytest.raises(ValueError, match="whose kernel varies"):
            compare(network, network, ["a", "b"], constant, name, spatial="sum", device="cpu")


def test_compressed_features_have_the_same_moments():
    for seed in range(5):
        X, Y = normal(50, 4, seed=seed).double() + 3, normal(50, 6, seed=seed + 100).double()
        X[:, 3] = X[:, 0]  # dependent
        Y[:, 5] = 0
        x, y = compressed(statistics(zip(X.split(7), Y.split(7), strict=True)))
        scale = len(X) / len(x)
        for A, B, a, b in ((X, X, x, x), (X, Y, x, y), (Y, Y, y, y)):
            centred = (a - a.mean(0)).T @ (b - b.mean(0)) * scale
            assert torch.allclose(centred, (A - A.mean(0)).T @ (B - B.mean(0)), atol=1e-9)
        assert torch.allclose(x.mean(0), X.mean(0)) and torch.linalg.matrix_rank(x - x.mean(0)) == 3
        Q = haar_rotation(4, generator(seed)).double()
        assert procrustes(*compressed(statistics([(X, X @ Q)])), form="angular") < 1e-14


# --- tokens ---


@pytest.fixture(scope="module")
def vision() -> tuple[nn.Module, nn.Module, list[str]]:
    from torchvision.models import VisionTransformer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        networks = [VisionTransformer(8, 4, 2, 2, d, 16).double().eval() for d in (6, 8)]
    return *networks, [f"encoder.layers.encoder_layer_{k}" for k in (0, 1)]


@pytest.mark.parametrize(
    "name", ["cka", "cka max", "grelu cka", "grelu cka, as printed", "procrustes", "cca"]
)
def test_all_layers_of_a_transformer_are_its_tokens(vision, name):
    first, second, layers = vision
    images, measure = normal(20, 3, 8, 8, seed=0).double(), MEASURES[name]
    table = compare(first, second, layers, images, measure=name, memory=10**6, device="cpu")
    with torch.no_grad(), record(first, layers) as X, record(second, layers) as Y:
        first(images), second(images)
    for row in layers:
        for column in layers:
            assert X[row].shape == (20, 5, 6) and Y[column].shape == (20, 5, 8)
            tokens = [Z.flatten(0, 1) for Z in (X[row], Y[column])]
            maps = [Z.mT[..., None] for Z in (X[row], Y[column])]  # (n, c, h, w), whatever the measure does
            value = measure(*(tokens if measure.spatial == "samples" else maps))
            assert abs(table.loc[row, column] - value) < 1e-6


def test_nulls_know_tokens_too(vision):
    first, _, layers = vision
    images = normal(20, 3, 8, 8, seed=0).double()
    with torch.no_grad(), record(first, layers) as activations:
        first(images)
    X = activations[layers[0]]
    seen: list[Tensor] = []
    null(
        lambda A, _: seen.append(A) or A.sum(),
        X + torch.arange(6) * 10,
        X,
        "gaussian",
        2,
        generator=generator(0),
    )
    assert torch.allclose(seen[1].mean((0, 1)), torch.arange(6.0).double() * 10, atol=1)


# --- nulls ---


def test_a_null_of_independent_features_holds_the_value_of_independent_features():
    inside = 0
    for seed in range(20):
        X, Y = normal(60, 5, seed=seed), normal(60, 5, seed=1000 + seed)
        inside += not null(cka, X, Y, "shuffle", 40, generator=generator(seed)).stands_out
    assert inside >= 15  # of 20, at 95 %


@pytest.mark.parametrize("spatial", [None, "mean"])
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.filterwarnings("ignore")  # of few samples
def test_a_null_observes_what_compare_says_of_maps_of_two_sizes_and_of_signals(setting, name, spatial):
    first, second, images = setting
    signals = (
        nn.Sequential(nn.Conv1d(2, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(30, 3)).double().eval()
        for _ in "ab"
    )
    for one, other, layers, x in (
        (first, second, ("relu2", "relu4"), images),
        (*signals, ("1", "1"), normal(30, 2, 8, seed=3).double()),
    ):
        X, Y = (activations(network, [at], x)[at] for network, at in zip((one, other), layers, strict=True))
        X, Y = (Z.mT if Z.ndim == 3 else Z for Z in (X, Y))
        found = null(name, X, Y, repeats=2, spatial=spatial, generator=generator(0)).observed
        wanted = compare(one, other, layers[:1], x, name, layers2=layers[1:], spatial=spatial, device="cpu")
        assert found == pytest.approx(wanted.iloc[0, 0], abs=1e-9)


@pytest.mark.parametrize("kind", ["shuffle", "gaussian"])
def test_what_is_shared_stands_out_of_every_null(kind):
    X = normal(60, 5, 2, 2, seed=0)
    result = null("cka", X, X + 0.1 * normal(*X.shape, seed=1), kind, generator=generator(0))
    assert result.stands_out and result.observed > 0.9 > 0.5 > result.high > result.low
    assert len(result.values) == 20 and result.low >= result.values.min()


def test_a_shuffle_keeps_each_set_of_features_and_a_gaussian_its_moments():
    seen: list[tuple[Tensor, Tensor]] = []

    def spy(X: Tensor, Y: Tensor) -> Tensor:
        seen.append((X, Y))
        return X.sum()

    X, Y = normal(500, 3, seed=0), 5 + 2 * normal(500, 3, seed=1)
    null(spy, X, Y, "shuffle", 2, generator=generator(0))
    assert torch.equal(seen[1][0], X) and not torch.equal(seen[1][1], Y)
    assert torch.equal(seen[1][1].sort(0).values, Y.sort(0).values)
    null(spy, X, Y, "gaussian", 2, generator=generator(0))
    assert torch.equal(seen[-1][0], X) and torch.equal(seen[-1][1], X)  # equal features, at the end
    drawn = seen[-2][1]
    assert (drawn.mean(0) - Y.mean(0)).abs().max() < 0.4 and (drawn.std(0) - Y.std(0)).abs().max() < 0.4
    assert not torch.equal(seen[-2][0], X)


def test_random_networks_come_from_the_caller(setting):
    images = setting[2]

    def draw(g: torch.Generator) -> tuple[Tensor, Tensor]:
        return tuple(
            recorded(models.myrtle(3, in_channels=1, seed=g).double().eval(), images)["relu2"]
            for _ in range(2)
        )

    X, Y = (recorded(network, images)["relu2"] for network in setting[:2])
    result = null(MEASURES["grelu cka"], X, Y, draw, 3, generator=generator(0))
    assert len(set(result.values.tolist())) == 3
    assert result.observed == grelu_cka(X, Y, spatial="sum")


# --- bad input ---


@FEW
@pytest.mark.parametrize("name", ["cka", "procrustes"])
def test_a_layer_named_twice_is_compared_twice(setting, name):
    first, second, images = setting
    table = compare(first, second, ["relu2", "relu2"], images, name, layers2=["relu4"], device="cpu")
    assert table.shape == (2, 1) and table.iloc[0, 0] == pytest.approx(table.iloc[1, 0])


@pytest.mark.parametrize("name", ["procrustes", "cka rbf"])
def test_positions_are_no_samples_beside_a_layer_without_them(name):
    network = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 3)).double()
    images = normal(12, 1, 8, 8, seed=0).double()
    options = {"measure": name, "device": "cpu"}
    said = sentence(lambda: compare(network, network, ["1", "3"], images, spatial="samples", **options))
    assert "(12, 3, 6, 6) and (12, 3): choose spatial='mean' or 'features'" in said
    assert compare(network, network, ["1", "3"], images, spatial="mean", **options).shape == (2, 2)


def signal_network(seed: int, positions: int = 24) -> nn.Module:
    torch.manual_seed(seed)
    layers = nn.Conv1d(2, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 3, 5, padding=2)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten()).eval()


@pytest.mark.parametrize("positions", [24, 8])
def test_channels_of_a_signal_are_those_of_its_convolutions(positions):
    network, order = signal_network(0), torch.randperm(8, generator=generator(0))
    signals = normal(20, 2, positions, seed=1)
    moved = find_symmetries(network, signals[:1])
    moved = moved.act(network, {"2": torch.eye(8)[order]})
    layers = ["0", "1", "2"]
    table = compare(network, moved, layers, signals, "permutation", device="cpu")
    torch.testing.assert_close(
        torch.tensor(table.values).diagonal(), torch.ones(3).double(), atol=1e-5, rtol=0
    )
    assert compare(network, signal_network(1), ["2"], signals, "permutation", device="cpu").values < 0.9


def test_where_channels_are_is_seen_behind_any_steps():
    class Transposing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.relu, self.pool, self.softmax = (
                nn.Conv1d(2, 8, 1),
                nn.ReLU(),
                nn.MaxPool1d(2),
                nn.Softmax(1),
            )

        def forward(self, x: Tensor) -> Tensor:
            x = self.pool(self.conv(x))
            return self.softmax(self.relu(x.mT).mT)

    network, signal = Transposing(), normal(1, 2, 16, seed=0)
    assert channels_first(network, "conv", signal) and channels_first(network, "pool", signal)
    assert not channels_first(network, "relu", signal)
    with pytest.raises(
        ValueError, match="Expected to see where the channels are in what layer 'softmax' returns"
    ):
        channels_first(network, "softmax", signal)
    tokens = nn.Sequential(nn.Linear(2, 8), nn.ReLU())
    assert not channels_first(tokens, "1", normal(1, 16, 2, seed=0))
    turned = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8), Transposed(), nn.GELU(), nn.AvgPool1d(2))
    for layer in ("2", "3", "4"):
        assert channels_first(turned, layer, normal(1, 16, 2, seed=0))
    mixed = nn.Sequential(nn.LayerNorm(2), nn.Softmax(1), nn.Softmax(2))
    for layer in ("1", "2"):
        assert not channels_first(mixed, layer, normal(1, 16, 2, seed=0))
    mixer = nn.Sequential(nn.LayerNorm(2), Transposed(), nn.Linear(16, 16), nn.GELU(), Transposed())
    assert not channels_first(mixer, "4", normal(1, 16, 2, seed=0))
    single = nn.Sequential(nn.LayerNorm(8), nn.GELU(), nn.Softmax(2))
    for layer in ("1", "2"):
        assert not channels_first(single, layer, normal(1, 1, 8, seed=0))


class NormalisedLast(nn.Module):
    """A block as ConvNeXt's: maps (n, h, w, c) between a convolution and what follows."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.stem, self.turn = nn.Conv2d(1, channels, size, stride=size), Last()
        self.norm, self.wide, self.act = nn.LayerNorm(channels), nn.Linear(channels, 2 * channels), nn.GELU()
        self.softmax, self.narrow = nn.Softmax(-1), nn.Linear(2 * channels, channels)
        self.relu, self.head = nn.ReLU(), nn.Linear(channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act(self.wide(self.norm(self.turn(self.stem(x)))))
        return self.head(self.relu(self.narrow(self.softmax(h)).movedim(-1, 1)).mean((2, 3)))


class Last(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.movedim(1, -1)


# as many channels as rows or not, one row, one position, one channel
@pytest.mark.parametrize(
    ("channels", "size", "side"), [(6, 2, 12), (6, 2, 10), (6, 12, 12), (2, 1, 2), (1, 2, 6)]
)
def test_channels_of_maps_are_found_where_they_come_last(channels, size, side):
    network, x = NormalisedLast(channels, size).eval(), normal(1, 1, side, side, seed=0)
    where = {layer: channels_first(network, layer, x) for layer, _ in network.named_children()}
    last = {"turn", "norm", "wide", "act", "softmax", "narrow"}
    assert {layer for layer, first in where.items() if not first} - {"head"} == last


class NormalisedFirst(nn.LayerNorm):
    """As torchvision's LayerNorm2d."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


@pytest.mark.parametrize("side", [6, 9])  # as many positions as channels, and more
def test_channels_of_maps_that_a_layer_norm_turns_and_turns_back_come_first(side):
    network = nn.Sequential(nn.Conv2d(1, 6, 1), NormalisedFirst(6), nn.GELU(), nn.Conv2d(6, 3, 1), nn.ReLU())
    assert all(channels_first(network, str(k), normal(1, 1, side, side, seed=0)) for k in range(5))


def test_layers_with_channels_last_are_compared_and_stitched_by_their_channels():
    f, g = (NormalisedLast(6, 2).eval() for _ in "ab")
    x = normal(60, 1, 10, 10, seed=1)
    for measure in ("cca", "procrustes", "grelu cka"):
        ours, theirs = (turn(activations(network, ["act"], x)["act"]) for network in (f, g))
        assert compare(f, g, ["act"], x, measure, device="cpu").iloc[0, 0] == pytest.approx(
            MEASURES[measure](ours, theirs).item(), abs=1e-5
        )
    data = Dataset.of(x, torch.arange(60) % 3)
    assert Junction(f, g, "act", data, device="cpu").statistics.widths == (12, 12)
    same = stitch(f, f, at="act", kind="least squares", train=data, device="cpu")
    torch.testing.assert_close(same(x), f(x), rtol=1e-3, atol=1e-4)


def test_a_convolution_to_one_position_or_to_one_channel_has_its_channels_first():
    for channels, width in ((8, 16), (1, 3), (1, 15), (2, 15)):
        network = nn.Sequential(nn.Conv1d(2, channels, width), nn.ReLU())
        assert channels_first(network, "1", normal(1, 2, 16, seed=0)), (channels, width)


def test_channels_are_found_where_later_layers_mix_them_and_where_none_of_them_fires():
    network = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14, 4))
    assert channels_first(network, "1", normal(1, 2, 16, seed=0))
    nn.init.constant_(network[0].bias, -50)
    assert not network[:2](normal(1, 2, 16, seed=0)).any() and channels_first(
        network, "1", normal(1, 2, 16, seed=0)
    )


class Transposed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mT


def test_tokens_made_of_vectors_or_of_patches_do_not_have_their_channels_first():
    vectors = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(32), nn.Unflatten(1, (16, 2)))
    assert not channels_first(vectors.eval(), "2", normal(1, 2, 16, seed=0))
    patches = nn.Sequential(nn.Conv2d(2, 8, 2, stride=2), nn.Flatten(2), Transposed(), nn.Softmax(2))
    for layer in ("2", "3"):  # as they are, and mixed
        assert not channels_first(patches, layer, normal(1, 2, 8, 8, seed=0))


def test_a_measure_that_tells_no_pair_from_another_stands_out_of_no_null_and_has_a_p_value_of_1():
    X, Y = normal(10, 3, seed=0), normal(10, 3, seed=1)
    found = null(lambda X, Y: float(X is Y), X, Y, "gaussian", 9, generator=generator(0))
    assert (found.stands_out, found.p_value, found.calibrated) == (False, 1.0, 0.0)
    constant = null(lambda X, Y: 0.5, X, Y, repeats=9, generator=generator(0))
    assert (constant.stands_out, constant.p_value) == (False, 1.0) and np.isnan(constant.calibrated)


def test_unrelated_features_that_are_as_near_count_in_the_p_value():
    assert Null(0.5, torch.tensor([0.5, 0.25, 0.5, 0.75]), 0.0, 1.0).p_value == 4 / 5


def test_calibrated_values_are_0_for_unrelated_and_1_for_equal_features_of_similarities_and_distances():
    for name in ("cka biased", "procrustes angle", "mutual knn"):
        calibrated = []
        for seed in range(6):
            X, Y = normal(30, 12, seed=seed), normal(30, 12, seed=1000 + seed)
            found = null(name, X, Y, repeats=30, generator=generator(seed))
            calibrated.append(found.calibrated)
        assert abs(sum(calibrated) / 6) < 0.07, name
        equal = null(name, X, X, repeats=19, generator=generator(0))
        assert abs(equal.calibrated - 1) < 1e-6 and equal.p_value == 1 / 20, name


def test_p_values_of_independent_features_are_at_most_their_level_as_often_as_that():
    below = 0
    for seed in range(60):
        X, Y = normal(20, 5, seed=seed), normal(20, 5, seed=1000 + seed)
        below += null(cka, X, Y, repeats=9, generator=generator(seed)).p_value <= 0.3
    assert 9 <= below <= 27  # 18 ± 2.5 standard deviations
