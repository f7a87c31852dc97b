"""Features, ranks, costs and example inputs that no number can be computed from: one sentence each."""

import numpy as np
import pytest
import torch
from helpers import generator, normal, sentence
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from intertwine.alignment import (
    LinearMap,
    Statistics,
    assignment,
    fit,
    reduced_rank,
    statistics,
)
from intertwine.data import Dataset, Masks
from intertwine.dissection import dissect, rotation_planes, top_quantile
from intertwine.features import activations
from intertwine.same_network import same_network
from intertwine.similarity import MEASURES, compare, gram, hsic, max_gram, null, u_centred
from intertwine.stitching import Junction, stitch, stitch_at
from intertwine.training import evaluate
from intertwine.weightspace import find_symmetries

pytestmark = pytest.mark.usefixtures("unchecked")  # as a user meets the library

X = normal(20, 4)
NET = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
LABELS = torch.arange(20) % 3
DATA = Dataset.of(X, LABELS)
FORMS = {
    "sparse": (lambda x: x.to_sparse(), r"layout torch\.sparse_coo: use \.to_dense\(\)"),
    "meta": (lambda x: x.to("meta"), "on the meta device, which holds none: compute it on another"),
    "nested": (lambda x: torch.nested.nested_tensor([x[0], x[1][:1]]), "a nested one: give rows of one"),
    "float8": (lambda x: x.to(torch.float8_e4m3fn), r"float8_e4m3fn, which has no arithmetic: use \.float"),
    "quantised": (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), r"qint8: use \.dequantize"),
}
MAPS, MASKS = normal(5, 2, 4, 4), torch.zeros(5, 3, 8, 8).bool()
TAKE = {
    **{f"{name}, first": lambda form, m=m: m(form(X), X) for name, m in MEASURES.items()},
    "second": lambda form: MEASURES["cka"](X, form(X)),
    "null": lambda form: null("cka", form(X), X, generator=generator()),
    "compare": lambda form: compare(NET, NET, ["0"], form(X), device="cpu"),
    "hsic": lambda form: hsic(form(X @ X.T), X @ X.T),
    "u_centred": lambda form: u_centred(form(X @ X.T)),
    "gram": lambda form: gram(form(X), "linear"),
    "max_gram": lambda form: max_gram(X, form(X)),
    "fit": lambda form: fit(form(X), X),
    "statistics": lambda form: statistics([(X, form(X))]),
    "a map": lambda form: LinearMap(torch.eye(4))(form(X)),
    "assignment": lambda form: assignment(form(X)),
    "evaluate": lambda form: evaluate(NET, form(X), LABELS),
    "Dataset": lambda form: Dataset.of(form(X), LABELS),
    "dissect": lambda form: dissect(form(MAPS), MASKS),
    "top_quantile": lambda form: top_quantile([form(MAPS)], 0.1, 5),
    "rotation": lambda form: rotation_planes(form(torch.eye(4))),
    "stitch": lambda form: stitch(NET, NET, at="0", kind=form(torch.eye(6))),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested", "ignore:torch.quantize_per", "ignore:.*quant")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("call", TAKE.values(), ids=TAKE)
def test_a_tensor_without_dense_numbers_is_refused(call, form):
    make, words = FORMS[form]
    with pytest.raises(ValueError, match=f"Expected a dense tensor of numbers.*, was given .*{words}"):
        call(make)


def test_images_on_the_meta_device_are_for_models_there():
    make, words = FORMS["sparse"]
    with pytest.raises(ValueError, match=words):
        activations(NET, ["0"], make(X))
    there = nn.Sequential(nn.Linear(4, 6, device="meta"))
    assert activations(there, ["0"], X.to("meta"))["0"].shape == (20, 6)


def test_masks_are_dense_too():
    with pytest.raises(ValueError, match=r"layout torch\.sparse_coo: use \.to_dense"):
        Masks.of(torch.ones(1, 2, 3, 3).bool().to_sparse())


@pytest.mark.parametrize("rank", [2.5, 2.0, "2", None, 0, 5])
def test_a_rank_is_a_whole_number(rank):
    said = f"Expected a whole rank from 1 to 4, was given {rank!r}"
    assert said in sentence(lambda: reduced_rank(Statistics.of(X, X), rank))
    place = Junction(nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4)), "0", DATA, device="cpu")
    assert said in sentence(lambda: stitch_at(place, "low rank", rank=rank))
    asked = {"rank": rank, "recipe": "digits", "start": "random"}
    assert said in sentence(lambda: stitch_at(place, "low rank", **asked))


def test_whole_numbers_of_numpy_and_torch_are_ranks():
    known = Statistics.of(X, normal(20, 3, seed=1))
    for rank in (np.int64(2), torch.tensor(2)):
        assert torch.equal(reduced_rank(known, rank).weight, reduced_rank(known, 2).weight)


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("cost", "maximize", "words"),
    [
        ([[1, NAN], [2, 3]], False, "Expected finite costs, .* was given NaN or -inf in 1 of 4"),
        ([[1, -INF], [2, NAN]], False, "was given NaN or -inf in 2 of 4: look for NaN"),
        ([[1, INF], [2, 3]], True, r"or -inf where a pair is forbidden, was given NaN or inf in 1 of 4"),
        ([[INF, INF], [2, 3]], False, "allow a matching of 2 pairs, was given inf in 2 of 4: forbid fewer"),
        ([1, 2], False, r"Expected costs \(p, q\), real, was given \(2,\)"),
        ([[1j]], False, r"Expected costs \(p, q\), real, was given \(1, 1\) of torch.complex64"),
    ],
)
def test_costs_are_a_matrix_of_numbers(cost, maximize, words):
    with pytest.raises(ValueError, match=words):
        assignment(torch.tensor(cost), maximize=maximize)


def test_a_forbidden_pair_is_not_matched_and_types_do_not_matter():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        cost = torch.tensor([[0, INF], [5, 6]], dtype=dtype)
        assert assignment(cost)[1].tolist() == [0, 1] == assignment(-cost, maximize=True)[1].tolist()
    with pytest.raises(TypeError, match=r"a tensor as costs, was given ndarray: use torch\.as_tensor"):
        assignment(np.eye(2))


INPUTS = {
    "an array": (X.numpy(), "ndarray: use torch.as_tensor"),
    "an array by name": ({"input": X.numpy()}, "ndarray: use torch.as_tensor"),
    "a loader": (DataLoader(TensorDataset(X)), "DataLoader: use torch.cat to join its batches"),
    "batches": (iter(X.split(5)), "tuple_iterator: use torch.cat to join its batches"),
    "a data set": (DATA, r"Dataset: use its \.images"),
}


@pytest.mark.parametrize(("given", "words"), INPUTS.values(), ids=INPUTS)
def test_example_inputs_are_tensors(given, words):
    for call in (find_symmetries, lambda net, x: same_network(net, net, x)):
        with pytest.raises(TypeError, match=f"Expected a tensor as example inputs, was given {words}"):
            call(nn.Sequential(*NET, nn.Tanh()).eval(), given)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested")
def test_example_inputs_of_other_kinds_are_refused_in_a_sentence():
    nested = torch.nested.nested_tensor([X[0], X[1]])
    assert "Expected a model that computes with plain tensors" in sentence(
        lambda: find_symmetries(NET, nested)
    )
    for given in (None, "text", X[:2].tolist(), (1, 4)):
        said = sentence(lambda given=given: find_symmetries(NET, given))
        assert "was given no tensor" in said and said.endswith(
            "make tensors of the inputs, by torch.as_tensor, say."
        )


def test_gram_matrices_are_square_and_of_the_same_samples():
    K = X @ X.T
    for call in (
        lambda: hsic(X, X),
        lambda: hsic(K, K[:5, :5]),
        lambda: hsic(K.long(), K),
        lambda: u_centred(X),
    ):
        assert "Expected Gram matrices (n, n) of floats, of the same n ≥ " in sentence(call)
    assert "n ≥ 4 samples, was given (3, 3)" in sentence(lambda: hsic(K[:3, :3], K[:3, :3]))
    assert hsic(K[:3, :3], K[:3, :3], "biased").isfinite()


def test_streams_are_of_pairs_and_begin_anew():
    for batches in (X, DataLoader(TensorDataset(X)), [(X, X, X)]):
        assert "pairs of features (A, B), was given a" in sentence(lambda b=batches: statistics(b))
    begun = iter(MAPS.split(2))
    said = sentence(lambda: dissect(lambda: begun, MASKS, quantile=0.1))
    assert "whose second stream has 0 of 5 images: return a new iterator" in said


def test_a_measure_is_a_name_or_a_function_and_a_stitch_is_finite():
    for measure in (None, 3):
        said = f"Expected a measure, its name or a function of two sets of features, was given {measure}"
        assert said in sentence(lambda m=measure: compare(NET, NET, ["0"], X, m, device="cpu"))
    said = sentence(lambda: stitch(NET, NET, at="0", kind=torch.full((6, 6), NAN)))
    assert "Expected a finite matrix as kind" in said
