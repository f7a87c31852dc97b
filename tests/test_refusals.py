"""What is refused: a row for each call, with words of its one sentence; as a user meets the library."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, nan
from pathlib import Path
from threading import Lock

import numpy as np
import pandas as pd
import pytest
import torch
from helpers import generator, normal
from torch import nn
from torch.nn.utils.prune import random_unstructured
from torch.utils.data import DataLoader, TensorDataset

from intertwine import devices, files, genni, shallow
from intertwine.alignment import (
    LinearMap,
    Statistics,
    assignment,
    fit,
    lasso,
    least_squares,
    orthogonal,
    reduced_rank,
    statistics,
)
from intertwine.checks import check_choice, check_finite, check_images, not_taken
from intertwine.data import Dataset, Masks
from intertwine.dissection import dissect, dissect_each, examples, geodesic, rotation_planes
from intertwine.dissection.levels import top_quantile
from intertwine.features import activations, features, lookup, record
from intertwine.genni import Problem
from intertwine.groups import (
    ComplexDiagonal,
    GeneralLinear,
    GReLU,
    Orthogonal,
    Permutations,
    ScalarGroup,
    StabilizerOfOnes,
)
from intertwine.same_network import same_network
from intertwine.shallow import ShallowReLU, reduce_difference, same_function
from intertwine.similarity import (
    MEASURES,
    cca,
    cka,
    compare,
    gram,
    grelu_cka,
    grelu_procrustes,
    hsic,
    max_gram,
    mutual_knn,
    null,
    procrustes,
    svcca,
    u_centred,
)
from intertwine.stitching import (
    STITCH_RECIPES,
    Entropic,
    Junction,
    LowRank,
    OrthogonalMap,
    barriers,
    between,
    line,
    split,
    stitch,
    stitch_at,
)
from intertwine.stitching.make import join
from intertwine.training import Recipe, Triangle, evaluate, outputs, train
from intertwine.training.evaluate import check_data
from intertwine.weightspace import (
    balance,
    canonicalise,
    centre,
    equivalent,
    export,
    find_symmetries,
    fold,
    fold_biases,
    hadamard,
    imbalance,
    mappings,
    match,
    prune,
    rotate,
    verify,
)
from intertwine.weightspace import transform_outputs as turned
from intertwine_book import models

pytestmark = [
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested", "ignore:.*quant", "ignore:.*torch.jit"),
]
Rows = list[tuple[str, Callable[[], object]]]

X, DRAW = normal(20, 4), generator(0)
NET = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
SPACE = find_symmetries(NET, X[:1])
LABELS = torch.arange(20) % 3
DATA, LOADER = Dataset.of(X, LABELS), DataLoader(TensorDataset(X))
RECIPE = Recipe(epochs=1, batch_size=16, lr=0.05, dtype="float32")
MAPS, MASKS = normal(5, 2, 4, 4), torch.zeros(5, 3, 8, 8).bool()

# --- kinds of things ---

FORMS = {
    "sparse": (lambda x: x.to_sparse(), r"layout torch\.sparse_coo: use \.to_dense\(\)"),
    "meta": (lambda x: x.to("meta"), "on the meta device, which holds none: compute it on another"),
    "nested": (lambda x: torch.nested.nested_tensor([x[0], x[1][:1]]), "a nested one: give rows of one"),
    "float8": (lambda x: x.to(torch.float8_e4m3fn), r"float8_e4m3fn, which has no arithmetic: use \.float"),
    "quantised": (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), r"qint8: use \.dequantize"),
}
OF_TENSORS: dict[str, Callable] = {
    **{name: lambda made, m=m: m(made(X), X) for name, m in MEASURES.items()},
    "second": lambda made: MEASURES["cka"](X, made(X)),
    "null": lambda made: null("cka", made(X), X, generator=generator()),
    "compare": lambda made: compare(NET, NET, ["0"], made(X), device="cpu"),
    "hsic": lambda made: hsic(made(X @ X.T), X @ X.T),
    "u_centred": lambda made: u_centred(made(X @ X.T)),
    "gram": lambda made: gram(made(X), "linear"),
    "max_gram": lambda made: max_gram(X, made(X)),
    "fit": lambda made: fit(made(X), X),
    "statistics": lambda made: statistics([(X, made(X))]),
    "a map": lambda made: LinearMap(torch.eye(4))(made(X)),
    "assignment": lambda made: assignment(made(X)),
    "evaluate": lambda made: evaluate(NET, made(X), LABELS),
    "Dataset": lambda made: Dataset.of(made(X), LABELS),
    "dissect": lambda made: dissect(made(MAPS), MASKS),
    "top_quantile": lambda made: top_quantile([made(MAPS)], 0.1, 5),
    "rotation": lambda made: rotation_planes(made(torch.eye(4))),
    "stitch": lambda made: stitch(NET, NET, at="0", kind=made(torch.eye(6))),
    "outputs": lambda made: list(outputs(NET, made(X))),
    "a group": lambda made: GReLU(4).contains(made(torch.eye(4))),
    "best": lambda made: Orthogonal(20).best(made(X), X),
    "scalars": lambda made: ScalarGroup("positive").contains(made(X)),
    "ShallowReLU": lambda made: ShallowReLU(made(X), X[:, 0], X.T, X[0]),
    "inputs": lambda made: Problem(NET, genni.parameter_vector(NET), made(X)),
    "a target": lambda made: genni.describe_target(made(X)),
    "plane": lambda made: genni.plane(made(X)),
    "random_plane": lambda made: genni.random_plane(made(X)[0], 2, generator=generator()),
    "persistence": lambda made: genni.persistence(made(X)),
    "betti": lambda made: genni.betti(made(X > 0)),
    "components": lambda made: genni.components(made(X > 0)),
    "Masks": lambda made: Masks(made(X.abs()[None].int()), torch.eye(9).bool(), ("",) * 9, ("",) * 9),
}
CHECKED = [("sparse", call) for call in OF_TENSORS] + [(form, "gram") for form in FORMS]


@pytest.mark.parametrize(("form", "call"), CHECKED)
def test_a_tensor_without_dense_numbers_is_refused(form, call):
    made, words = FORMS[form]
    with pytest.raises(ValueError, match=f"Expected a dense tensor of numbers.*, was given .*{words}"):
        OF_TENSORS[call](made)


OF_ARRAYS = {*OF_TENSORS} - {
    "stitch",
    "hsic",
    "u_centred",
    "gram",
    "max_gram",
    "dissect",
    "top_quantile",
    "null",
    "scalars",
    "ShallowReLU",
    "random_plane",
}


@pytest.mark.parametrize("call", sorted(OF_ARRAYS))
def test_an_array_is_no_tensor(call):
    with pytest.raises(TypeError, match=r"^Expected a tensor.*, was given ndarray: use torch\.as_tensor"):
        OF_TENSORS[call](lambda x: x.numpy())


OF_GENERATORS = {
    "permutations": lambda seed: GReLU(3).sample(seed),
    "matrices": lambda seed: GeneralLinear(3).sample(seed),
    "rotations": lambda seed: Orthogonal(3).sample(seed),
    "softmax": lambda seed: StabilizerOfOnes(3).sample(seed),
    "scalars": lambda seed: ScalarGroup("positive").sample(seed, 3),
    "elements": lambda seed: SPACE.sample(seed),
    "null": lambda seed: null(cka, X, X, generator=seed),
    "masks": lambda seed: Masks.of(MASKS).shuffled(seed),
    "plane": lambda seed: genni.random_plane(torch.ones(5), 2, generator=seed),
    "starts": lambda seed: genni.random_starts(nn.Linear(3, 1), 2, generator=seed),
}


@pytest.mark.parametrize("call", OF_GENERATORS.values(), ids=OF_GENERATORS)
def test_a_seed_is_no_generator(call):
    with pytest.raises(TypeError, match=r"was given 7: make one with torch.Generator\(\).manual_seed\(7\)"):
        call(7)
    call(torch.Generator().manual_seed(7))


OF_MODELS = {
    "activations": lambda model: activations(model, ["1"], X),
    "evaluate": lambda model: evaluate(model, X, LABELS),
    "find_symmetries": lambda model: find_symmetries(model, X),
    "same_network": lambda model: same_network(NET, model, X),
    "Problem": lambda model: Problem(model, torch.square, X),
    "split": lambda model: split(model, "1"),
    "stitch": lambda model: stitch(model, NET, at="1", train=DATA),
    "train": lambda model: train(model, DATA, RECIPE, seed=0),
}


@pytest.mark.parametrize("call", OF_MODELS.values(), ids=OF_MODELS)
def test_weights_and_lazy_layers_are_no_model(call):
    with pytest.raises(ValueError, match=r"Expected a model, an nn.Module, was given .*: weights do"):
        call(NET.state_dict())
    with pytest.raises(ValueError, match=r"Expected a model whose weights have shapes, was given lazy ones"):
        call(nn.Sequential(nn.LazyLinear(6), nn.ReLU(), nn.LazyLinear(3)).eval())


def broken() -> nn.Module:
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
    net[0].weight.data[0] = nan
    return net


OF_WEIGHTS = {
    "evaluate": lambda net: evaluate(net, X, LABELS),
    "train": lambda net: train(net, DATA, RECIPE, seed=0, device="cpu"),
    "line": lambda net: line(net, net, DATA, DATA, [0.0, 1.0]),
    "stitch": lambda net: stitch(net, net, at="1", train=DATA, device="cpu"),
    "act": lambda net: SPACE.act(net, {}),
    "canonicalise": lambda net: canonicalise(SPACE, net),
    "match": lambda net: match(SPACE, NET, net),
    "equivalent": lambda net: equivalent(net, NET, X),
    "equivalent, the second": lambda net: equivalent(NET, net, X),
    "same_network": lambda net: same_network(net, NET, X),
    "same_network, the second": lambda net: same_network(NET, net, X),
}


@pytest.mark.parametrize("call", OF_WEIGHTS.values(), ids=OF_WEIGHTS)
def test_weights_that_are_not_finite_are_named_by_every_use(call):
    with pytest.raises(ValueError, match=r"finite weights, .* in 0.weight of the"):
        call(broken())


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_one_running_statistic_that_is_not_finite_is_named_as_a_weight_is(name, value):
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)).eval()
    evaluate(net, X, LABELS)
    net[1].get_buffer(name)[4] = value
    with pytest.raises(ValueError, match=f"finite weights, .* in 1.{name} of the model"):
        evaluate(net, X, LABELS)


def test_finite_numbers_whose_sum_is_infinite_and_masks_of_infinities_are_not_refused():
    net, huge = nn.Linear(4, 6), torch.full((2, 4), 3e38)
    net.weight.data.fill_(3e38)
    net.register_buffer("mask", torch.full((6, 6), -inf))
    check_finite(net)
    check_images(huge, torch.tensor([0, 1]))
    # of several holes in an image it is the image that counts, and opposite infinities are no 0
    with pytest.raises(ValueError, match=r"NaN or infinity in 1 of 3: leave"):
        check_images(torch.tensor([[inf, -inf], [nan, nan], [0, 1]])[[0, 2, 2]], torch.tensor([0, 1, 1]))
    with pytest.raises(ValueError, match=r"NaN or infinity in 2 of 3: leave"):
        check_images(torch.tensor([[inf, -inf], [nan, nan], [0, 1]]), torch.tensor([0, 1, 1]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_one_image_of_any_precision_with_arithmetic_is_taken(dtype):
    check_images(torch.ones(1, 4, dtype=dtype), torch.tensor([0]))


@pytest.mark.parametrize(
    ("shape", "last"),
    [
        ((2, 8, 8, 3), True),
        ((2, 1, 8, 3), False),
        ((2, 3, 8, 4), False),
        ((2, 8, 8, 8), False),
        ((8, 3), False),
    ],
)
def test_channels_are_said_to_be_last_only_where_they_cannot_be_in_their_place(shape, last):
    assert ("permute" in str(not_taken(torch.ones(shape), RuntimeError("no.")))) == last


def holes(A: torch.Tensor, value: float) -> torch.Tensor:
    return A.index_fill(0, torch.tensor([3]), value)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_refuses_what_it_cannot_measure(name):
    measure, A = MEASURES[name], normal(10, 3).double()
    for bad, words in (
        (A[:9], "same inputs, was given 10 and 9"),
        (holes(A, nan), "NaN"),
        (holes(A, inf), "infinite"),
    ):
        with pytest.raises(ValueError, match=words):
            measure(A, bad)
    for bad, words in ((A.long(), "floating-point"), (A[:, 0], r"\(n, c\)"), (A[:1], "at least")):
        with pytest.raises(ValueError, match=words):
            measure(bad, bad)
    with pytest.raises(ValueError, match=r"constant|dead"):
        measure(0 * A, A)
    if "as printed" not in name and name != "cka max":
        with pytest.raises(ValueError, match=r"constant|dead"):
            measure(A, torch.full((10, 3), 0.1).double())


# --- one call a row ---


def run(model: nn.Module, *layers: str) -> None:
    with record(model, [*layers]):
        model(normal(2, 3))


class Twice(nn.Module):
    """A shared layer, one that is not called, and one that returns a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.relu, self.spare, self.lstm = nn.Linear(3, 3), nn.ReLU(), nn.ReLU(), nn.LSTM(3, 4)

    def forward(self, x):
        return self.lstm(self.relu(self.linear(self.relu(x))))[0]


TWICE, RESNET, TIMES = Twice(), models.resnet20(2).eval(), normal(2, 5, 3)
FEATURES: Rows = [
    (r"was given 'blok4.relu1': the nearest are 'block4", lambda: lookup(RESNET, ["blok4.relu1"])),
    (r"was given 'blok4.relu1': the nearest", lambda: features(RESNET, ["blok4.relu1"], normal(2, 3, 8, 8))),
    (r"was given '': ", lambda: lookup(RESNET, [""])),
    (r"the nearest are none", lambda: lookup(nn.ReLU(), ["0"])),
    (r"write \['relu1'\]", lambda: lookup(RESNET, "relu1")),
    (r"'relu' to be called once in a run, it was called twice", lambda: run(TWICE, "relu")),
    (r"'spare'", lambda: run(TWICE, "linear", "spare")),
    (
        r"images first, was given a \S+LSTM of",
        lambda: activations(nn.Sequential(nn.LSTM(3, 4)), ["0"], TIMES),
    ),
    (r"at least 1, was given 0", lambda: features(models.fcn(), ["relu1"], normal(2, 1), batch_size=0)),
    (r"Expected a tensor, was given ndarray", lambda: features(NET, ["1"], X.numpy())),
    (r"layout torch\.sparse_coo", lambda: activations(NET, ["0"], X.to_sparse())),
]

TWO, FOUR = torch.ones(5, 2), torch.ones(5, 2, 3, 3)
KNOWN = Statistics.of(normal(9, 3), normal(9, 2, seed=1))
costs = lambda *rows, **options: assignment(torch.tensor([*rows]), **options)  # noqa: E731
ALIGNMENT: Rows = [
    (
        r"features, was given torch.int64: use .float\(\)",
        lambda: LinearMap(torch.eye(4))(torch.ones(3, 4).long()),
    ),
    (r"\(5, 2, 3, 3\) and \(5, 2\): resample", lambda: Statistics.of(FOUR, TWO)),
    (r"\(5,\) and \(5,\): resample", lambda: Statistics.of(TWO[:, 0], TWO[:, 0])),
    (r"\(5, 2, 3, 2\): resample", lambda: Statistics.of(FOUR, FOUR[..., :2])),
    (r"resample one", lambda: Statistics.of(normal(5, 7, 3), normal(5, 6, 2))),
    (r"same inputs, was given 5 and 4", lambda: Statistics.of(TWO, TWO[:4])),
    (r"at least one row.*\(0, 2\)", lambda: Statistics.of(TWO[:0], TWO[:0])),
    (r"at least one row.*\(5, 0\)", lambda: Statistics.of(TWO, TWO[:, :0])),
    (r"floating-point.*torch.int64", lambda: Statistics.of(TWO.long(), TWO)),
    (r"floating-point.*torch.complex64", lambda: Statistics.of(TWO, TWO + 0j)),
    (r"finite features", lambda: Statistics.of(TWO, TWO * nan)),
    (r"at least one batch", lambda: statistics([])),
    (r"pairs of features \(A, B\), was given a", lambda: statistics(X)),
    (r"pairs of features \(A, B\), was given a", lambda: statistics([(X, X, X)])),
    (r"widths 3 and 2, was given 2 and 2", lambda: KNOWN + Statistics.of(TWO, TWO)),
    (r"rank from 1 to 2, was given 3", lambda: reduced_rank(KNOWN, 3)),
    (r"rank from 1 to 2, was given 0", lambda: reduced_rank(KNOWN, 0)),
    (r"whole rank from 1 to 2, was given 2\.0", lambda: reduced_rank(KNOWN, 2.0)),
    (r"whole rank from 1 to 2, was given '2'", lambda: reduced_rank(KNOWN, "2")),
    (r"2 channels of B in A, was given 3", lambda: orthogonal(KNOWN)),
    (r"positive alpha, was given 0", lambda: lasso(KNOWN, 0.0)),
    (r"positive alpha, was given nan", lambda: lasso(KNOWN, nan)),
    (r"features \(n, 3\), .*, was given \(5, 2\)", lambda: least_squares(KNOWN)(TWO)),
    (r"feature maps \(n, 3, \*space\), was given \(5, 2, 3, 3\)", lambda: least_squares(KNOWN)(FOUR)),
    (r"within=True", lambda: least_squares(Statistics.of(X, X, within=False))),
    (r"least_squares, was given 'full': .*KINDS\[name\]\.fit", lambda: fit(TWO, TWO, "full")),
    (r"finite costs, or inf where .* was given NaN or -inf in 1 of 4", lambda: costs([1, nan], [2, 3])),
    (r"NaN or -inf in 2 of 4: look for NaN", lambda: costs([1, -inf], [2, nan])),
    (r"or -inf where a pair is forbidden, was given NaN", lambda: costs([1, inf], [2, 3], maximize=True)),
    (r"allow a matching of 2 pairs, was given inf in 2 of 4", lambda: costs([inf, inf], [2, 3])),
    (r"Expected costs \(p, q\), real, was given \(2,\)", lambda: costs(1, 2)),
    (r"real, was given \(1, 1\) of torch.complex64", lambda: costs([1j])),
]

GROUPS: Rows = [
    (r"3×3 matrix, .*\(3, 2\)", lambda: GReLU(3).contains(torch.ones(3, 2))),
    (r"3×3 matrix, .*\(4, 4\)", lambda: Orthogonal(3).project(torch.eye(4))),
    (r"NaN or infinity", lambda: GeneralLinear(3).inverse(torch.full((3, 3), nan))),
    (r"given torch.int64", lambda: Permutations(3).phi(torch.eye(3, dtype=torch.int64))),
    (r"given torch.complex64", lambda: GReLU(3).phi(torch.eye(3, dtype=torch.complex64))),
    (r"was given list: use torch", lambda: StabilizerOfOnes(3).contains([[1.0]])),
    (r"at least 1, was given 0", lambda: GReLU(0)),
    (r"an element of the group, was given another", lambda: GReLU(2).inverse(-torch.eye(2))),
    (r"to have a nearest element", lambda: GReLU(2).project(-torch.ones(2, 2))),
    (r"to have a nearest element", lambda: GeneralLinear(2).project(torch.ones(2, 2))),
    (r"even number of units", lambda: ComplexDiagonal(3)),
    (r"\|λ\| > 1", lambda: ScalarGroup("discrete", 0.5)),
    (r"\|λ\| > 1", lambda: ScalarGroup("discrete")),
    (r"\|λ\| > 1", lambda: ScalarGroup("signs", 2.0)),
]

K, M3 = X @ X.T, normal(6, 3, 4, 4)
dead = torch.cat([X, torch.zeros(20, 1)], 1)
few = X[[0] * 9 + [1]]
CONSTANT = models.myrtle(3, in_channels=1)
with torch.no_grad():
    CONSTANT.bn2.weight.zero_()
    CONSTANT.bn2.bias.fill_(-1.0)
IMAGES, MYRTLE = normal(30, 1, 8, 8), models.myrtle(3, in_channels=1).eval()
layers = partial(compare, MYRTLE, MYRTLE, device="cpu")
ends = partial(layers, ["relu1", "relu4"])
SIMILARITY: Rows = [
    (r"Gram matrices \(n, n\) of floats, of the same n ≥ ", lambda: hsic(X, X)),
    (r"Gram matrices \(n, n\) of floats, of the same n ≥ ", lambda: hsic(K, K[:5, :5])),
    (r"Gram matrices \(n, n\) of floats, of the same n ≥ ", lambda: hsic(K.long(), K)),
    (r"n ≥ 4 samples, was given \(3, 3\)", lambda: hsic(K[:3, :3], K[:3, :3])),
    (r"at least 4 samples, was given 3", lambda: cka(X[:3], X[:3])),
    (r"at least 4 samples, was given 3", lambda: grelu_cka(X[:3], X[:3])),
    (r"0/0", lambda: cka(torch.eye(6), torch.eye(6))),
    (r"choose 'samples', 'features', 'mean' or 'sum'", lambda: cka(M3, M3)),
    (r"choose 'samples', 'features', 'mean'\.", lambda: cca(M3, M3)),
    (r"of one size", lambda: procrustes(M3, M3[..., :2, :2], spatial="samples")),
    (r"a measure with a kernel", lambda: cca(M3, M3, spatial="sum")),
    (r"one of 'a', 'b', was given 'c'", lambda: check_choice("kernel", "c", ("a", "b"))),
    (r"20×20 matrix", lambda: cka(X, X, kernel=lambda Z: Z)),
    (r"positive median distance", lambda: cka(few, few, kernel="rbf")),
    (r"\(0, 1\]", lambda: svcca(X, X, variance=0.0)),
    (r"rounding= of X and of Y", lambda: cca(X, X, rounding=2**-23)),
    (r"vary by more than their rounding, 0\.008 of their size", lambda: cca((X + 1000).bfloat16(), X)),
    (r"1 dead", lambda: grelu_procrustes(dead, dead, corrected=False)),
    (r"corrected=True", lambda: grelu_cka(dead, dead, corrected=False)),
    (r"between 1 and 2", lambda: mutual_knn(X[:3], X[:3], 5)),
    (r"dtype to be one of torch\.float64, torch\.float32", lambda: procrustes(X, X, dtype=torch.bfloat16)),
    (r"was given 'relu9': the nearest", lambda: layers(["relu9"], IMAGES)),
    (r"a layer of model 2, a Network,", lambda: layers(["relu1"], IMAGES, layers2=["relu9"])),
    (r"was given 'CKA'.*did you mean 'cka'", lambda: ends(IMAGES, "CKA")),
    (r"measure, its name or a function of two sets of features, was given None", lambda: ends(IMAGES, None)),
    (r"at least 4 images", lambda: ends(IMAGES[:3])),
    (r"images as samples", lambda: ends(IMAGES, spatial="samples")),
    (r"a layer or more of each model, was given 0 and 0", lambda: layers([], IMAGES)),
    (r"was given 2 and 0", lambda: ends(IMAGES, layers2=[])),
    (r"spatial to be one of .*, was given 'maen'", lambda: ends(IMAGES, "cca", spatial="maen")),
    (r"a measure with a kernel", lambda: ends(IMAGES, "procrustes", spatial="sum")),
    (r"for a function of matrices", lambda: ends(IMAGES, cka, spatial="sum")),
    (r"returns a tensor of shape \(30,\)", lambda: ends(IMAGES, lambda X, Y: X[:, 0])),
    (r"raise memory=", lambda: ends(IMAGES, memory=10**4)),
    (r"finite features, layer 'relu1' returns NaN", lambda: ends(IMAGES.where(IMAGES < 2, nan))),
    (r"whose kernel varies", lambda: compare(CONSTANT, CONSTANT, ["relu2"], IMAGES, device="cpu")),
    (r"something varies", lambda: compare(CONSTANT, CONSTANT, ["relu2"], IMAGES, "grelu cka", device="cpu")),
    (r"onstant", lambda: compare(CONSTANT, CONSTANT, ["relu2"], IMAGES, "cka rbf", device="cpu")),
    (r"images, was given dict: use one of its tensors, such as \['ids'\]", lambda: ends({"ids": IMAGES})),
    (r"at least 2 repeats", lambda: null(cka, X, X, repeats=1, generator=generator(0))),
    (r"a measure first, .*, was given a Tensor: write", lambda: null(X, X, "cka", generator=generator(0))),
    (r"a measure with spatial='mean'", lambda: null(cka, X, X, spatial="mean", generator=generator(0))),
]


class Moody(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else x


linear = lambda q, p: LinearMap(torch.ones(q, p))  # noqa: E731
DOUBLE = models.myrtle(4).double()
M4, M6 = models.myrtle(4, seed=0).eval(), models.resnet20(4).eval()
PICTURES = Dataset.of(normal(20, 3, 16, 16), torch.arange(20) % 3)
AT = Junction(M4, M4, "relu2", PICTURES, device="cpu", dtype="float32")
at = partial(stitch_at, AT)
joined = partial(join, example=PICTURES.images[:3])
past = partial(joined, M6, M6, shortcut="passed on")
SLOW = replace(STITCH_RECIPES["digits"], epochs=1)
middle = partial(between, fraction=0.5)
WALK = pd.DataFrame({"fraction": [0.0, 0.5, 1.0], "accuracy": [0.9, nan, 0.8], "pair": 0})
STITCHING: Rows = [
    (r"nearest are 'block3.relu1'", lambda: split(M6, "block3.rely1")),
    (r"so does .* or give shortcut='stitched' or 'passed on' \(", lambda: split(M6, "block3.relu1")),
    (r"torch.fx can trace, Moody is not one", lambda: split(Moody(), "layer")),
    (r"'relu' to be called once in a run, it is called 2 times", lambda: split(TWICE, "relu")),
    (r"'spare' to be called once in a run, it is not called", lambda: split(TWICE, "spare")),
    (r"as many values", lambda: past(("block2.relu1", "block2"), linear(4, 4))),
    (r"two layers of feature maps", lambda: joined(M4, M4, ("relu4", "flatten"), linear(4, 4))),
    (r"given one of 4 channels for one of 8", lambda: past(("block2.relu1", "block4.relu1"), linear(4, 4))),
    (r"of model 2, a Network, was given 'rely2'", lambda: joined(M4, M4, ("relu1", "rely2"), linear(4, 4))),
    (r"of model 1, a Network, was given 'rely2'", lambda: joined(M4, M4, ("rely2", "relu1"), linear(4, 4))),
    (r"shortcut to be one of", lambda: joined(M6, M6, "block2.relu1", linear(4, 4), shortcut="shared")),
    (r"from 4 channels to 8, .* not fit: ", lambda: joined(M4, M4, ("relu1", "relu2"), linear(7, 4))),
    (r"from 4 channels to 8, .* not fit: ", lambda: joined(M4, M4, ("relu1", "relu2"), nn.Conv2d(4, 4, 1))),
    (r"come first, so give its transpose\.$", lambda: joined(M4, M4, ("relu1", "relu2"), linear(4, 8))),
    (r"name of a layer, or a pair of two names, was given", lambda: joined(M4, M4, 2, linear(4, 4))),
    (r"model 2 is in torch.float64: use .float\(\)", lambda: Junction(M4, DOUBLE, "relu1", PICTURES)),
    (r"Expected a Dataset, was given a tuple: use", lambda: Junction(M4, M4, "relu2", (X, LABELS))),
    (r"kind to be one of identity, .*, was given 'low rang'", lambda: at(kind="low rang")),
    (r"Expected rank= for the kind 'low rank'", lambda: at(kind="low rank")),
    (r"of the kind 'low rank' \(rank and affine\), was given rnk", lambda: at(kind="low rank", rnk=3)),
    (r"whole rank from 1 to 8, was given 2\.5", lambda: at(kind="low rank", rank=2.5)),
    (r"rank from 1 to 8, was given 9", lambda: at(kind="low rank", rank=9, recipe=SLOW, start="random")),
    (r"start to be one of", lambda: at(kind="full", start="nowhere", recipe=SLOW)),
    (r"map of 8 channels", lambda: at(kind="full", start=linear(3, 3), recipe=SLOW)),
    (r"recipe to be one of", lambda: at(kind="full", recipe="slow")),
    (r"a StitchRecipe, was given a Recipe: take one of STITCH_R", lambda: at(kind="full", recipe=RECIPE)),
    (r"a recipe for the kind 'Birkhoff', which has no closed form", lambda: at(kind="Birkhoff")),
    (r"no start= for the kind 'Birkhoff'", lambda: at(kind="Birkhoff", start="random", recipe=SLOW)),
    (r"use kind='full', start='permutation'", lambda: at(kind="permutation", recipe=SLOW)),
    (r"names or classes alone, was given rank for a Tensor: leave", lambda: at(kind=torch.eye(8), rank=3)),
    (r"class with `fit` or `start`, was given Conv2d", lambda: at(kind=nn.Conv2d)),
    (r"from 8 channels to 8", lambda: at(kind=nn.Conv2d(9, 8, 1), recipe=SLOW)),
    (r"that returns a matrix, .* returns a float\.$", lambda: at(kind=lambda _: 1.0)),
    (r"Expected a finite matrix as kind", lambda: stitch(NET, NET, at="0", kind=torch.full((6, 6), nan))),
    (r"train=, the images that 'identity' is made from", lambda: stitch(M4, M4, at="relu2", kind="identity")),
    (r"without: pass test=", lambda: AT.judge(at(kind="identity"))),
    (r"batch_norm to be one of", lambda: replace(SLOW, batch_norm="thawed")),
    (r"rank from 1 to 2", lambda: LowRank(normal(3, 2), rank=3)),
    (r"no more channels in than out", lambda: OrthogonalMap(normal(2, 3))),
    (r"isometry", lambda: OrthogonalMap(2 * torch.eye(2))),
    (r"same width", lambda: Entropic(Statistics.of(normal(9, 3), normal(9, 2)))),
    (r"a Moved: of a match, give its .model", lambda: line(NET, match(SPACE, NET, NET), DATA, DATA, [0.5])),
    (r"a list of fractions, was given 0.5: write \[0.5\]", lambda: line(NET, NET, DATA, DATA, 0.5)),
    (r"same names and shapes, .* as 'weight' \(10, 4\) and \(3, 4\)", lambda: middle(FLAT, nn.Linear(4, 3))),
    (r"as 'bias' nothing and \(10,\): build both alike", lambda: middle(nn.Linear(4, 10, bias=False), FLAT)),
    (r"as 'bias' \(10,\) and nothing", lambda: middle(FLAT, nn.Linear(4, 10, bias=False))),
    (r"numbers in 'accuracy', was given NaN", lambda: barriers(WALK, ["pair"])),
]

SMALL = models.myrtle(2, in_channels=1)
NOISE = Dataset.of(normal(20, 1, 8, 8), torch.arange(20) % 10)
FLIPS, LARGE = replace(RECIPE, flip=True), replace(RECIPE, batch_size=21, drop_last=True)


def trained(
    network: object = SMALL, data: object = NOISE, recipe: object = RECIPE, **options: object
) -> object:
    return train(network, data, recipe, **{"seed": 0, "device": "cpu"} | options)  # type: ignore[arg-type]


def labelled(labels: torch.Tensor) -> object:
    return trained(data=replace(NOISE, labels=labels))


CONV, LAST = nn.Conv2d(3, 2, 1), normal(2, 8, 8, 3)
holed = NOISE.images.clone()
holed[3, 0, 0, 0], holed[5, 0, 1, 2] = nan, inf
FLAT = nn.Linear(4, 10)
VECTORS = Dataset.of(X, torch.arange(20) % 10)


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return {"logits": self.linear(x)}


TRAINING: Rows = [
    (r"epochs .*a whole number of at least 0, was given -1", lambda: replace(RECIPE, epochs=-1)),
    (r"batch_size .*a whole number of at least 1, was given 0", lambda: replace(RECIPE, batch_size=0)),
    (r"shift .*a whole number of at least 0, was given -1", lambda: replace(RECIPE, shift=-1)),
    (r"batch_size .*of at least 1, was given 2\.0", lambda: replace(RECIPE, batch_size=2.0)),
    (r"batch_size .*of at least 1, was given 0", lambda: evaluate(NET, X, LABELS, batch_size=0)),
    (r"seed to be a whole number, was given <torch._C.Gen", lambda: train(NET, DATA, RECIPE, seed=DRAW)),
    (r"lr .*above 0, was given 0\.0", lambda: replace(RECIPE, lr=0.0)),
    (r"lr above 0, was given '0.01'", lambda: replace(RECIPE, lr="0.01")),
    (r"fill .*one of mean, black, was given 'white'", lambda: replace(RECIPE, fill="white")),
    (r"optimizer .*one of sgd, adam, was given 'lamb'", lambda: replace(RECIPE, optimizer="lamb")),
    (r"dtype .*one of auto, float32, bfloat16, was", lambda: replace(RECIPE, dtype="float16")),
    (r"shares of a side above 0 and at most 1", lambda: replace(RECIPE, sides=((0.5, 0.0),))),
    (r"order of the training, .*: sort it", lambda: replace(RECIPE, sides=((0.7, 0.75), (0.4, 0.5)))),
    (r"between 0 and 1, was given 1\.0", lambda: Triangle(1.0)),
    (r"Expected a Dataset, was given a NoneType", lambda: train(NET, None, RECIPE, seed=0)),
    (r"freeze one of its layers conv1, bn1, .*, was given 'rleu2': to", lambda: trained(freeze="rleu2")),
    (
        r"freeze a layer of a torch.nn.Sequential without hooks, was",
        lambda: trained(RESIDUAL, DATA, freeze="0"),
    ),
    (r"parameters after the layer 'fc', there are none: freeze less", lambda: trained(freeze="fc")),
    (r"\(n, 1, 8, 8\) or larger, was given \(1, 3, 16, 16\)", lambda: trained(data=PICTURES)),
    (r"labels from 0 to 9, .*, was given labels from 0 to 10", lambda: labelled(torch.arange(20) % 11)),
    (r"was given labels from -1 to 8", lambda: trained(validation=replace(NOISE, labels=NOISE.labels - 1))),
    (r"was given 0 images and 0 labels", lambda: trained(data=NOISE[:0])),
    (r"one batch of 21 images, was given 20: use", lambda: trained(recipe=LARGE)),
    (r"was given 20 images and 19 labels", lambda: check_data(SMALL, NOISE.images, NOISE.labels[:-1])),
    (r"the network takes, was given shape \(20, 1, 8, 8\)", lambda: trained(nn.Sequential(FLAT, FLAT))),
    (r"logits of shape \(n, classes\), .* it returned \(1, 2, 8, 8\)", lambda: trained(SMALL[:1])),
    (
        r"torch.int64 and shape \(n,\), was given torch.int32 .* labels.long",
        lambda: labelled(NOISE.labels.int()),
    ),
    (r"given NaN or infinity in 2 of 20", lambda: trained(data=replace(NOISE, images=holed))),
    (r"that flips, shifts or shrinks, was given shape \(20, 4\): use", lambda: trained(FLAT, VECTORS, FLIPS)),
    (r"a device that this machine has, was given 'xpu'", lambda: trained(device="xpu")),
    (r"Expected a tensor as images, was given ndarray", lambda: Dataset.of(X.numpy(), LABELS)),
    (r"a Recipe, was given \{'epochs': 3\}: write Recipe\(epochs=3", lambda: trained(recipe={"epochs": 3})),
    (r"a Dataset, was given a tuple: use Data", lambda: trained(data=(X, LABELS))),
    (r"Expected a Dataset, was given a DataLoader", lambda: trained(data=LOADER)),
    (r"images, was given Dataset: use its .images", lambda: evaluate(NET, DATA, LABELS)),
    (r"DataLoader: use torch.cat to join its batches", lambda: evaluate(NET, LOADER, LABELS)),
    (r"it returned a dict: wrap it", lambda: evaluate(Named(), X, LABELS)),
    (r"it returned a dict: wrap it", lambda: trained(Named(), DATA)),
    (r"a parameter to train, all are frozen", lambda: trained(nn.Linear(4, 3).requires_grad_(False), DATA)),
    (r"an output for each class, it has 1", lambda: trained(nn.Linear(4, 1), Dataset.of(X, 0 * LABELS))),
    (r"use images.permute\(0, 3, 1, 2\) if channels are last", lambda: evaluate(CONV, LAST, LABELS[:2])),
]


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


RESIDUAL = Residual(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).eval()
FOLDED = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
TANH, TANHS = nn.Sequential(FLAT, nn.Tanh()), models.fcn(activation="tanh")
ONE, HALF = ShallowReLU([[1]], [0], [[1]], [0]), ShallowReLU([[0.5]], [0], [[1]], [0])
HOOKED, SCALED = (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)) for _ in "12")
HOOKED[0].register_forward_hook(lambda module, inputs, output: 10 * output)
SCALED.register_forward_pre_hook(lambda module, inputs: (10 * inputs[0],))
SHALLOW: Rows = [
    (r"layers Linear, ReLU, Linear, was given Linear, Tanh", lambda: same_function(ONE, TANH)),
    (r"Linear, Tanh, Linear: the theorems .* about ReLU; same_network", lambda: same_function(NET, TANHS)),
    (r"layers Linear, ReLU, Linear, was given Bilinear", lambda: same_function(NET, nn.Bilinear(1, 1, 1))),
    (r"nn.Sequential of the layers .*, was given Residual", lambda: shallow.compress(RESIDUAL)),
    (r"a ShallowReLU or nn\.Sequential.*, was given function", lambda: same_function(FOLDED, generator)),
    (r"Expected W \(n, m\), b", lambda: ShallowReLU([[1], [2]], [1], [[1, 2]], [0])),
    (r"was given W \(2, 1\), b \(2,\), V \(2,\)", lambda: ShallowReLU([[1], [2]], [1, 2], [1, 2], [0])),
    (r"Expected finite W", lambda: ShallowReLU([[nan]], [0], [[1.0]], [0])),
    (r"Expected V of real numbers", lambda: ShallowReLU([[1]], [0], [["a"]], [0])),
    (r"Expected V of real numbers", lambda: ShallowReLU([[1]], [0], [[1j]], [0])),
    (r"same inputs and outputs, was given 2 → 1 and 1 → 1", lambda: same_function(FOLDED, ONE)),
    (r"element of GReLU\(3\), .*another matrix", lambda: shallow.act(FOLDED, np.diag([1, -1, 1]))),
    (r"element of GReLU\(3\), .*another matrix", lambda: shallow.act(FOLDED, np.eye(2))),
    (r"a ShallowReLU or nn\.Sequential.*, was given ndarray", lambda: shallow.degeneracy(np.eye(2))),
    (r"element of GReLU\(3\), .*another matrix", lambda: shallow.act(FOLDED, np.eye(3)[[0, 0, 1]])),
    (r"neurons from 0 to 2, was given", lambda: shallow.flip(FOLDED, [3])),
    (r"neurons from 0 to 2, was given", lambda: shallow.flip(FOLDED, [-1, 0])),
    *(
        (r"neurons by their numbers, was given a mask: use np.flat", partial(shallow.flip, FOLDED, mask))
        for mask in ([True, False, True], np.array([True, False, True]), torch.tensor([True, False, True]))
    ),
    (r"given a hook, which may change that: remove it, as", lambda: ShallowReLU.from_module(HOOKED)),
    (r"given a hook, which may change that: remove it, as", lambda: same_function(SCALED, SCALED)),
    (r"a use of `\.equal`", lambda: bool(same_function(FOLDED, FOLDED))),
    (r"use of `\.same`", lambda: bool(same_network(NET, NET, X))),
    (r"^Expected integers and fractions, was given floats", lambda: reduce_difference(HALF, HALF)),
]


class Bare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))


T, FCN = X[:, :1], models.fcn((1, 2, 1)).eval()
descended = partial(genni.descend, Problem(FCN, torch.square, T), torch.ones(1, 4), steps=1, lr=0.1)
LIVE = torch.tensor([1.0, -1.0, 0.8, 0.5], dtype=torch.float64)
square, half = torch.square, genni.plane(torch.eye(4)[:2])
LINEAR = nn.Linear(1, 1).eval()
ONCE = nn.Sequential(nn.Linear(1, 1), nn.Flatten()).eval()  # not evaluated at many points together
loss = lambda network, target, theta: genni.loss_at(Problem(network, target, T), theta[None])  # noqa: E731
grid = lambda target, at=half, bounds=(-1, 1), n=3: genni.grid_loss(Problem(FCN, target, T), at, bounds, n)  # noqa: E731
OF_PROBLEMS = [
    lambda: genni.search(FCN, 1, seed=0),
    lambda: genni.descend(FCN, torch.ones(1, 4), steps=1, lr=0.1),
    lambda: genni.grid_loss(FCN, half, (0, 1), 2),
    lambda: genni.loss_at(FCN, torch.ones(1, 4)),
]
search = lambda target, m, **options: genni.search(Problem(FCN, target, T), m, seed=0, **options)  # noqa: E731
GENNI: Rows = [
    (r"floats as inputs of a network of linear layers, .*int64", lambda: Problem(FCN, square, T.long())),
    (r"inputs \(n, features\), was given \(20,\)", lambda: Problem(LINEAR, square, T[:, 0])),
    (r"target with the network's 4 parameters.*tensor \(3,\)", lambda: Problem(FCN, torch.ones(3), T)),
    (r"Expected a model, an nn.Module, was given a torch.Tensor", lambda: Problem(T, square, T)),
    (r"Expected a tensor as target, was given list", lambda: Problem(FCN, [1.0], T)),
    (r"Expected a tensor as target's outputs, was given NoneType", lambda: grid(lambda x: None)),
    (
        r"\(k, p\) of finite numbers, was given \(3, 4\).* leave out",
        lambda: genni.plane(torch.eye(4)[:3] / 0),
    ),
    (r"1, 2 or 3 dimensions, was given 0", lambda: genni.betti(torch.tensor(True))),
    (r"a mask, was given torch.float32: make one by eps", lambda: genni.betti(torch.ones(3, 3))),
    (r"a mask, was given torch.float32: make one by eps", lambda: genni.components(torch.ones(3, 3))),
    (r"optimizer to be one of 'adam', 'sgd', was given 'Adam'", lambda: descended(optimizer="Adam")),
    (r"Expected the Grid that .*, was given a torch.Tensor", lambda: genni.epsilon_set(torch.ones(3), 0.1)),
    (r"both bounds, was given 2: write \(-2, 2\)", lambda: grid(square, bounds=2)),
    (r"Expected a plane, was given a torch.Tensor: make one by plane", lambda: grid(square, at=T)),
    (r"was given a .*Solutions: use its .points", lambda: genni.plane(genni.Solutions(T, T[0], None))),
    (r"zero on every input", lambda: search(torch.zeros_like, 2)),
    (r"constant: of E\[y²\] = 1 only 0 varies", lambda: search(torch.ones_like, 2)),
    (r"target that varies\. The target is zero.*other weights", lambda: grid(torch.zeros_like)),
    (r"finite outputs", lambda: grid(lambda x: x / 0)),
    (r"finite outputs, was given some", lambda: genni.describe_target(T * nan)),
    (r"finite outputs, was given none, \(0, 1\)", lambda: genni.describe_target(T[:0])),
    (r"starts to be a whole number of at least 3, was given 2", lambda: search(square, 2, starts=2)),
    (r"starts .* of at least 3, was given 0", lambda: search(square, 2, starts=0)),
    (r"m=2 and 2 starts", lambda: search(square, 2, starts=torch.ones(2, 4))),
    (r"m to be a whole number of at least 1, was given 0", lambda: search(square, 0)),
    (r"m to be a whole number of at least 1, was given -1", lambda: search(square, -1)),
    (r"m to be a whole number of at least 1, was given 1\.5", lambda: search(square, 1.5)),
    (
        r"seed to be a whole number, was given <torch._C.Gen",
        lambda: genni.search(Problem(FCN, square, T), 1, seed=DRAW),
    ),
    (r"batch_size to be a whole number of at least 1, was given 0", lambda: descended(batch_size=0)),
    *((r"a Problem, was given a .*Network: make one by Problem\(", call) for call in OF_PROBLEMS),
    (r"m of at most 4, for the network has 4 parameters, was given 5", lambda: search(square, 5)),
    (r"found 0: of 4 starts 4.*the best has.*more starts", lambda: search(square, 2, starts=4, steps=1)),
    (
        r"found 1: .*and 3 are dependent. They span 0 dimensions: take a smaller m",
        lambda: genni.search(Problem(LINEAR, square, T), 1, seed=0, starts=4, accept=10.0),
    ),
    (
        r"the best has nan.*inf or nan there: choose other inputs",
        lambda: search(square, 1, starts=torch.full((2, 4), inf)),
    ),
    (r"affinely independent vectors, was given 3 .*2 dir", lambda: genni.plane(torch.eye(4)[[0, 1, 1]])),
    (r"was given 1 of length 4", lambda: genni.plane(torch.eye(4)[:1])),
    # copies alone: the condition is 0/0
    (r"was given 2 of length 4 .*1 dir", lambda: genni.plane(torch.ones(2, 4))),
    (r"was given 3 of length 4 .*2 dir", lambda: genni.plane(torch.ones(3, 4))),
    (r"was given 4 of length 2", lambda: genni.plane(normal(4, 2))),
    (r"bounds from low to high", lambda: grid(square, bounds=(1, -1))),
    (r"n to be a whole number of at least 2, was given 1", lambda: grid(square, n=1)),
    (r"n to be a whole number of at least 2, was given 10\.0", lambda: grid(square, n=10.0)),
    (r"network's 4 parameters, was given 2", lambda: grid(square, at=genni.plane(torch.eye(2)))),
    (
        r"Bare without: .* starts=torch\.randn\(40, 1\)",
        lambda: genni.random_starts(Bare(), 1, generator=DRAW),
    ),
    (r"outputs \(20, 1\), as the .* given \(20,\): reshape", lambda: loss(FCN, lambda x: x[:, 0], LIVE)),
    (r"\(20, 1\), as the .* given \(20,\): reshape", lambda: loss(ONCE, lambda x: x[:, 0], LIVE[:2])),
    (r"as the network has them, was given \(15, 2\)", lambda: search(lambda x: torch.cat([x, -x], 1), 1)),
    (r"was given \(20, 2\)", lambda: grid(lambda x: x.repeat(1, 2))),
    (r"a tensor, was given ndarray", lambda: genni.outputs(FCN, LIVE[None].numpy(), T)),
    (r"a tensor, was given ndarray", lambda: genni.outputs(FCN, LIVE[None], T.numpy())),
]


def dissected(**change: object) -> object:
    return dissect(**({"units": MAPS, "masks": MASKS, "quantile": 0.1} | change))  # type: ignore[arg-type]


def shown(**change: object) -> object:
    given = {"maps": MAPS, "found": dissect(MAPS, MASKS, quantile=0.1), "size": (8, 8)}
    return examples(**(given | change))  # type: ignore[arg-type]


LARGER = normal(2, 2, 5, 5)
begun = iter(MAPS.split(2))
DISSECTION: Rows = [
    (r"between 0 and 1", lambda: dissected(quantile=0.0)),
    (r"between 0 and 1", lambda: dissected(iou=2.0)),
    (r"rotation of 2 units", lambda: dissected(rotation=torch.eye(3))),
    (r"given one of shape \(2, 2\) with .* 9", lambda: dissected(rotation=7 * torch.ones(2, 2))),
    (r"orthogonal rotation, was given one of shape \(3", lambda: dissected(rotation=torch.eye(3)[:, :2])),
    (r"of the 5 images", lambda: dissected(units=MAPS[:3])),
    (r"finite", lambda: dissected(units=MAPS * nan)),
    (r"floats, was given torch.int64: use .float\(\)", lambda: dissected(units=lambda: [MAPS.long()])),
    (r"\(n, units, h, w\), was given \(5, 2\)", lambda: dissected(units=torch.zeros(5, 2))),
    (r"aspect ratio of masks 8 × 8, .* given maps 8 × 4", lambda: dissected(units=torch.zeros(5, 2, 8, 4))),
    (r"aspect ratio of masks 4 × 8, .* was given maps 4 × 4", lambda: dissected(masks=MASKS[:, :, :4])),
    (r"one shape in all batches, was given \(2, 4, 4\)", lambda: dissected(units=lambda: [MAPS, LARGER])),
    (r"a tensor, was given ndarray", lambda: dissected(units=lambda: [MAPS.numpy()])),
    (r"a tensor, was given ndarray", lambda: dissected(masks=MASKS.numpy())),
    (r"boolean masks .* given torch.float32 of shape \(5, 3, 8, 8\)", lambda: dissected(masks=MASKS.float())),
    (r"boolean masks .*int64 of shape \(5, 8, 8\): compare", lambda: dissected(masks=MASKS[:, 0].long())),
    (r"layout torch\.sparse_coo", lambda: Masks.of(torch.ones(1, 2, 3, 3).bool().to_sparse())),
    (r"second stream has 0 of 5 images: return a new iterator", lambda: dissected(units=lambda: begun)),
    (r"masks \(n, h, w\) of one shape", lambda: dissect_each(MAPS, [*map(Masks.of, (MASKS, MASKS[2:]))])),
    (r"was given none", lambda: dissect_each(MAPS, [], quantile=0.1)),
    (r"list of Masks, was given a .*Masks: write \[masks\]", lambda: dissect_each(MAPS, Masks.of(MASKS))),
    (r"list of Masks, was given a torch.Tensor", lambda: dissect_each(MAPS, MASKS)),
    (r"of 2 units and 320 pixels in all", lambda: shown(maps=MAPS[:4])),
    (r"was given \(5, 3, 4, 4\)", lambda: shown(maps=torch.zeros(5, 3, 4, 4))),
    (r"and \(4, 4\)", lambda: shown(size=(4, 4))),
    (r"aspect ratio of masks 4 × 16", lambda: shown(size=(4, 16))),
    (r"Expected units from 0 to 1, was given 7", lambda: shown(units=[0, 7])),
    (r"determinant 1, was given one of shape \(2, 3\)", lambda: rotation_planes(torch.eye(3)[:2])),
    (r"orthogonal matrix with determinant 1", lambda: geodesic(torch.eye(2)[[1, 0]], 0.5)),
    (r"orthogonal matrix with determinant 1", lambda: geodesic(torch.full((2, 2), nan), 0.5)),
]


class Steered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x) if x.real.sum() > 0 else x


class Experts(nn.Module):
    """Experts that are skipped, in a model of transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.config = type("Config", (), {"_experts_implementation": "eager"})()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in "12")
        self.experts.forward = lambda x: self.experts[int(x.sum() > 0)](x)

    def forward(self, x):
        return self.experts(x)


def perceptron(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 3)).eval()


class Locked(nn.Linear):
    def __init__(self):
        super().__init__(4, 2)
        self.lock = Lock()


NORMED = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1)).eval()
MASKED = nn.Sequential(random_unstructured(nn.Linear(4, 4), "weight", 3), nn.GELU(), nn.Linear(4, 2)).eval()
OF_MASK = find_symmetries(MASKED, X)
LONGER = nn.Sequential(*NET, *NET).eval()
OTHERS = find_symmetries(NORMED, torch.zeros(1, 3, 5, 5))
MIXED = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)).eval()
OF_MIXED = find_symmetries(MIXED, X)
ELEMENT = SPACE.sample(generator())
moved = partial(SPACE.act, NET)
OF_FIVE, LOW = find_symmetries(perceptron(5), X), perceptron(5).bfloat16()
outside = r"an element of Σ_6 ⋉ \(R_\{>0\}\)\^6 for the space 1, was given "
found = lambda model, x=X[:1]: find_symmetries(model, x)  # noqa: E731
BEHIND = find_symmetries(nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2)).eval(), X[:1])
TURN = BEHIND.sample(generator())
WITHOUT_SPACE = [
    *(partial(use, NET, SPACE) for use in (balance, canonicalise, fold, imbalance)),
    *(partial(use, NET, SPACE, X) for use in (centre, fold_biases)),
    *(partial(use, NET) for use in (export, mappings)),
    partial(match, NET, NET, SPACE),
    partial(prune, NET, SPACE, {"1": [0]}, X),
    partial(rotate, NET, SPACE, 0),
    partial(turned, NET, SPACE, {"1": torch.eye(6)}),
    partial(verify, NET, SPACE, ELEMENT, X),
]
WEIGHTSPACE: Rows = [
    (
        r"a model that copy\.deepcopy can copy, .*lock.*: set that attribute to",
        lambda: found(Locked().eval()),
    ),
    (r"training: call model.eval", lambda: found(nn.Linear(4, 2))),
    (r"was given \(1, 5\), on which module .0. raises", lambda: found(NET, torch.zeros(1, 5))),
    (r"__bool__", lambda: found(Steered().eval())),
    (r"__bool__", lambda: found(Steered().eval(), X[:1] + 0j)),
    (r'as by config._experts_implementation = "batched_mm"', lambda: found(Experts().eval())),
    (r"example inputs, was given ndarray: use torch.as_tensor", lambda: found(NET, X.numpy())),
    (r"inputs, was given ndarray: use", lambda: same_network(NET, MIXED, {"input": X.numpy()})),
    (r"example inputs, was given DataLoader: use torch.cat", lambda: found(NET, LOADER)),
    (r"example inputs, was given tuple_iterator: use torch.cat", lambda: found(NET, iter(X.split(5)))),
    (r"inputs, was given Dataset: use its \.images", lambda: found(NET, DATA)),
    (r"was given no tensor.* make tensors of the inputs, by torch.as_tensor", lambda: found(NET, X.tolist())),
    (r"model that computes with plain tensors", lambda: found(NET, torch.nested.nested_tensor([X[0]]))),
    (r"give the model that was scripted or traced", lambda: found(torch.jit.script(perceptron(5)))),
    (r"give the model that was exported", lambda: found(torch.export.export(NET, (X,)).module())),
    (r"the model before it is quant", lambda: found(torch.ao.quantization.quantize_dynamic(perceptron(5)))),
    (r"a collections.OrderedDict: weights do not say how they are used", lambda: found(NET.state_dict())),
    (r"wrap a function of tensors in one", lambda: found(lambda x: x)),
    (r"make one, such as Sequential\(\)", lambda: found(nn.Sequential)),
    (r"Expected a model with 0.weight of shape", lambda: SPACE.act(perceptron(5), SPACE.identity())),
    (r"parameters that its .* with 3\.weight", lambda: SPACE.act(LONGER, ELEMENT)),
    (outside + "an element of another shape: draw it", lambda: moved(OF_FIVE.sample(DRAW))),
    (outside + r"a tensor of shape \(5, 5\)", lambda: moved({"1": torch.eye(5)})),
    (outside + "a matrix outside of it: .* transform_outputs", lambda: moved({"1": -torch.eye(6)})),
    (outside + "a matrix outside of it", lambda: moved({"1": torch.eye(6) + 1e-2})),
    (r"number of a hidden space, as '1', was given 'relu'", lambda: moved({"relu": ELEMENT["1"]})),
    (r"each space once, was given 1 again, as 0", lambda: moved(ELEMENT | {0: ELEMENT["1"]})),
    (r"as '1', was given 'conv'", lambda: turned(SPACE, NET, {"conv": torch.eye(6)})),
    (r"a matrix \(6, 6\) for the space 1, was given one of", lambda: turned(SPACE, NET, {"1": torch.eye(3)})),
    (r"given 1, whose matrix .* a gain of the model, too: ask for 0", lambda: BEHIND.matrix(TURN, "1")),
    (r"also written by 0.weight, on which a matrix", lambda: turned(OTHERS, NORMED, {"2": torch.eye(4)})),
    (r"by 0.weight_mask, .* make masks permanent", lambda: turned(OF_MASK, MASKED, {"1": torch.eye(4)})),
    (r"without batch norm", lambda: balance(OTHERS, NORMED)),
    (r"Expected a power of 2, was given 12: pad the width", lambda: hadamard(12, generator(1))),
    (r"a space that may be rotated, was given the groups Σ_6", lambda: rotate(SPACE, NET, 0)),
    (r"returns, was given a .*Dict: call it on", lambda: mappings(NET.state_dict())),
    *((r"first the space .*Sequential: give the model after it", call) for call in WITHOUT_SPACE),
    (r"with the group GL\(4\): its units are mixed", lambda: prune(OF_MIXED, MIXED, {0: [1]}, X)),
    (r"some of the units 0 to 4", lambda: prune(OF_MIXED, MIXED, {1: [5]}, X)),
    (r"some of the units 0 to 4", lambda: prune(OF_MIXED, MIXED, {1: [1, 1]}, X)),
    (r"by its number, was given \[\]", lambda: prune(OF_MIXED, MIXED, {1: []}, X)),
    (r"by its number, was given \[False, T", lambda: prune(OF_MIXED, MIXED, {1: torch.arange(5) > 0}, X)),
    (r"by its number, was given \[1.5\]", lambda: prune(OF_MIXED, MIXED, {1: [1.5]}, X)),
    (r"each space once, was given 1 again, as '0'", lambda: prune(SPACE, NET, {"1": [0], "0": [0]}, X)),
    (r"each space once, .* again, as 0", lambda: turned(SPACE, NET, dict.fromkeys(("1", 0), torch.eye(6)))),
    (r"for '1' the units that stay, was given 4: to keep so", lambda: prune(SPACE, NET, {"1": 4}, X)),
    (r"that stay by the name of their space.* was given \[0, 2\]", lambda: prune(SPACE, NET, [0, 2], X)),
    (r"of a mask give mask\.nonzero", lambda: prune(OF_MIXED, MIXED, {1: torch.arange(5) > 0}, X)),
    *(
        (r"in a list, was given '1': write \['1'\]", call)
        for call in (lambda: fold(SPACE, NET, "1"), lambda: rotate(SPACE, NET, 0, "1"))
    ),
    (r"in float32 or float64, was given torch.bfloat16", lambda: canonicalise(OF_FIVE, LOW)),
]

made, PAIR = partial(Dataset.of, labels=torch.arange(3)), torch.zeros(3, 2, 8, 8)
given = partial(Dataset.of, PAIR)
coded = lambda dtype: Masks(torch.ones(1, 2, 2).to(dtype), torch.eye(2).bool(), ("",) * 2, ("",) * 2)  # noqa: E731
DATA_SETS: Rows = [
    (r"was given torch\.uint8: for bytes, use", lambda: made(PAIR.byte())),
    (r"NaN or infinity in 3 of 3", lambda: made(PAIR + nan)),
    (r"\(3, 8, 8, 3\), with channels last: use images\.permute", lambda: made(torch.zeros(3, 8, 8, 3))),
    (r"\(3, 5, 5, 4\), with channels last: use images\.permute", lambda: made(torch.zeros(3, 5, 5, 4))),
    (r"was given 0 images and 3 labels", lambda: made(PAIR[:0])),
    (r"channels or features, was given \(3,\): use images\[:, None\]", lambda: made(PAIR[:, 0, 0, 0])),
    (r"labels from 0 to 1, .* given labels from -1 to 1", lambda: given(torch.tensor([0, 1, -1]))),
    (r"labels from 0 to 2: name every class", lambda: made(PAIR, classes=["a"])),
    (r"and if they are one-hot, labels\.argmax\(1\)", lambda: given(torch.eye(3).long())),
    (r"mean and a std for each of 2 .* given 1 and 2: give lists of 2", lambda: made(PAIR, mean=[0.5])),
    (r"name and a category for each of 2", lambda: Masks.of(torch.ones(1, 2, 2, 2).bool(), ["a"])),
    (r"boolean masks .* of shape \(0, 2, 2, 2\)", lambda: Masks.of(torch.ones(0, 2, 2, 2).bool())),
    *(
        (rf"codes that are whole numbers, was given {dtype}: use .int\(\)", partial(coded, dtype))
        for dtype in (torch.bool, torch.float32, torch.complex64)
    ),
]

FILES: Rows = [
    (r"Expected a pathlib\.Path, bytes, a NumPy array or a JSON value", lambda: files.digest({1, 2})),
    (r"a pathlib\.Path, bytes, a NumPy array or a JSON value", lambda: files.digest(np.array([object()]))),
    (r"array of numbers, was given one of fields f0, f1: hash", lambda: files.digest(np.zeros(2, "i4, f4"))),
    (r"strings as keys, was given 1: use str\(key\)", lambda: files.digest([({"a": {1: 2}},)])),
]

AREAS = {
    "features": FEATURES,
    "alignment": ALIGNMENT,
    "groups": GROUPS,
    "similarity": SIMILARITY,
    "stitching": STITCHING,
    "training": TRAINING,
    "shallow": SHALLOW,
    "genni": GENNI,
    "dissection": DISSECTION,
    "weightspace": WEIGHTSPACE,
    "data sets": DATA_SETS,
    "files": FILES,
}
CASES = [
    pytest.param(words, call, id=f"{area}: {words}") for area, rows in AREAS.items() for words, call in rows
]


@pytest.mark.parametrize(("words", "call"), CASES)
def test_what_cannot_be_is_refused_in_one_sentence(words, call):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=words) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_precision_or_a_folder_that_is_none_is_named(monkeypatch):
    monkeypatch.setenv("INTERTWINE_DTYPE", "float23")
    with pytest.raises(ValueError, match=r"float32 or bfloat16 of INTERTWINE_DTYPE.*'float23'"):
        devices.precision(nn.Linear(2, 2), torch.device("cpu"))
    with pytest.raises(NotADirectoryError, match="missing"):
        files.tree_digest(Path("missing"))
    with pytest.raises(FileNotFoundError, match=r"there is none at missing\.pt"):
        files.load_tensors("missing.pt")
