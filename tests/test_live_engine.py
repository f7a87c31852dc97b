"""What a page computes, compared with torch and with brute force, by the node of playwright's wheel."""

import base64
from collections import OrderedDict
from itertools import permutations

import numpy as np
import pytest
import torch
from helpers import generator, normal, normal64, randomise
from torch import nn

from intertwine.features import activations
from intertwine.stitching.batch_norm import reestimate
from intertwine_book import data, models
from intertwine_book.live.digit_networks import digit_networks
from intertwine_book.live.export import exported, exported_digits, from_page, rounded
from intertwine_book.live.instrument import instrument

LAYERS = """
const layers = Engine.network(given.network), fit = given.fit ?? 0;
return layers.map((_, k) => Engine.run(layers, given.x, { to: k + 1, fit }));
"""


def on_page(x):
    """A batch (n, c, s, s) or (n, c), as the engine has it."""
    side = x.shape[-1] if x.ndim == 4 else 1
    square = x.reshape(len(x), x.shape[1], side, side)
    return {"c": x.shape[1], "s": side, "n": len(x), "d": square.permute(2, 3, 1, 0).flatten().tolist()}


def assert_every_layer(node, network, x, within=1e-4, **options):
    """Each layer of the network with rounded weights, in float32 and in evaluation mode, on the page."""
    known = rounded(network)
    seen = activations(known, [name for name, _ in known.named_children()], x)
    shown = node(["engine"], LAYERS, network=exported(network), x=on_page(x), **options)
    for (name, wanted), found in zip(seen.items(), shown, strict=True):
        error = (from_page(found).reshape(wanted.shape) - wanted).abs().max()
        assert error < within * max(1, wanted.abs().max()), name


def drawn(network):
    """Statistics, scales and shifts of norms as after a training: none is 0 or 1."""
    return randomise(network, generator()).float()


ACTIVATIONS = {
    "ReLU": nn.ReLU(),
    "leaky ReLU": nn.LeakyReLU(0.2),
    "|x|": nn.LeakyReLU(-1.0),
    "tanh": nn.Tanh(),
    "sigmoid": nn.Sigmoid(),
    "GELU": nn.GELU(),
    "identity": nn.Identity(),
}


@pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_every_layer_of_a_small_network_is_that_of_torch(node, activation):
    torch.manual_seed(0)
    layers = (nn.Linear(5, 6), activation, nn.LayerNorm(6), nn.Linear(6, 4, bias=False), nn.Softmax(1))
    assert_every_layer(node, drawn(nn.Sequential(*layers)), 3 * normal(7, 5), within=1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh", "abs", "gelu", "identity"])
@pytest.mark.parametrize("side", [8, 17])  # 17: pooling leaves a row out
def test_every_layer_of_a_myrtle_network_is_that_of_torch(node, activation, side):
    network = drawn(models.myrtle(5, in_channels=2, activation=activation))
    assert_every_layer(node, network, normal(3, 2, side, side), within=1e-5)


@pytest.mark.parametrize("side", ["front", "back"])
def test_every_layer_of_a_network_that_pages_have_is_that_of_torch(node, side):
    two = digit_networks()
    assert_every_layer(node, getattr(two, side), two.judge.images[:40])


def test_flattened_positions_are_in_the_order_of_torch(node):
    torch.manual_seed(0)
    layers = (
        nn.Conv2d(1, 3, 5, padding=2),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(48, 2),
        nn.BatchNorm1d(2),
    )
    assert_every_layer(node, drawn(nn.Sequential(*layers)), normal(4, 1, 8, 8), within=1e-5)


def test_statistics_are_estimated_again_as_by_the_library(node):
    network, x = drawn(models.myrtle(4, in_channels=1)), normal(12, 1, 8, 8)
    known = rounded(network)
    reestimate(known, [x[:9]])
    shown = node(["engine"], LAYERS, network=exported(network), x=on_page(x), fit=9)
    later = from_page(shown[-1]).flatten(1)[9:]  # the first nine are what the statistics are of
    assert torch.allclose(later, known(x[9:]).double(), atol=1e-4)


def test_a_network_may_be_cut_anywhere_and_its_input_stays(node):
    network, x = exported(drawn(models.myrtle(4, in_channels=1))), on_page(normal(2, 1, 8, 8))
    whole, cuts = node(
        ["engine"],
        """
        const layers = Engine.network(given.network), whole = Engine.run(layers, given.x).d;
        const cuts = layers.map((_, k) => {
          const middle = Engine.run(layers, given.x, { to: k }), before = middle.d.slice();
          const end = Engine.run(layers, middle, { from: k }).d;
          return [end, before.every((value, j) => value === middle.d[j])];
        });
        return [whole, cuts];
        """,
        network=network,
        x=x,
    )
    assert len(cuts) == len(network["layers"]) and all(stays and end == whole for end, stays in cuts)


def test_a_fresh_network_has_weights_as_torch_draws_them(node):
    network = drawn(models.myrtle(8, in_channels=1))
    ranges = node(
        ["engine", "linear_algebra"],
        """
        const fresh = Engine.untrained(Engine.network(given.network), Algebra.random(1));
        const limits = (v) => [Math.min(...v), Math.max(...v)];
        return Object.fromEntries(fresh.filter((l) => l.weight).map((l) => [l.of, limits(l.weight)]));
        """,
        network=exported(network),
    )
    for name, (low, high) in ranges.items():
        edge = network.get_submodule(name).weight[0].numel() ** -0.5
        assert -edge <= low < -0.9 * edge and 0.9 * edge < high <= edge, name


def test_halves_are_read_as_they_were_written(node):
    numbers = np.array([0, -0.0, 1, -2.5, 65504, 6.1e-5, 6e-8, -3e-6, 0.1], dtype=np.float16)
    network = {"layers": [{"kind": "linear", "shapes": {"weight": [9, 1]}}]}
    network["weights"] = base64.b64encode(numbers.tobytes()).decode()
    assert (
        node(["engine"], "return Engine.network(given.network)[0].weight", network=network)
        == numbers.tolist()
    )


def test_digits_are_those_of_the_data_set(node):
    train, test = (data.load("digits", part, device="cpu")[:40] for part in ("train", "test"))
    written = exported_digits(train, test)
    shown = from_page(node(["engine"], "return Engine.images(given.digits)", digits=written))
    assert torch.allclose(shown.float(), torch.cat([train.images, test.images]), atol=1e-6)
    assert written["labels"] == [*train.labels.tolist(), *test.labels.tolist()]


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(1, 1, 3),
        nn.Conv2d(2, 2, 3, padding=1, groups=2),
        nn.MaxPool2d(2, stride=1),
        nn.AdaptiveMaxPool2d(2),
        nn.GELU(approximate="tanh"),
        nn.Softplus(),
        nn.BatchNorm2d(2, affine=False),
    ],
    ids=str,
)
def test_a_layer_that_the_page_cannot_run_is_named(layer):
    with pytest.raises(ValueError, match="given 'odd'"):
        exported(nn.Sequential(OrderedDict(odd=layer)))


# ---- linear algebra


def matrix(A):
    return {"r": A.shape[0], "c": A.shape[1], "d": A.flatten().tolist()}


def as_tensor(A):
    return torch.tensor(A["d"], dtype=torch.float64).view(A["r"], A["c"])


def test_products_and_solutions_are_those_of_torch(node):
    A, B = normal64(20, 6), normal64(20, 4, seed=1)
    product, X = node(
        ["linear_algebra"],
        """
        const { times, transposed, solve } = Algebra, At = transposed(given.A);
        return [times(At, given.B), solve(times(At, given.A), times(At, given.B))];
        """,
        A=matrix(A),
        B=matrix(B),
    )
    assert torch.allclose(as_tensor(product), A.T @ B)
    assert torch.allclose(as_tensor(X), torch.linalg.lstsq(A, B).solution, atol=1e-8)


def test_a_direction_without_variance_gets_no_weight(node):
    A = normal64(20, 5)
    A[:, 2] = 0
    X = node(["linear_algebra"], "return Algebra.solve(given.S, given.S)", S=matrix(A.T @ A))
    assert torch.allclose(as_tensor(X), torch.diag(torch.tensor([1.0, 1, 0, 1, 1]).double()), atol=1e-8)


@pytest.mark.parametrize("rank", [7, 3, 0])
def test_eigenvectors_of_a_symmetric_matrix(node, rank):
    A = normal64(7, rank)
    found = node(["linear_algebra"], "return Algebra.eigen(given.S)", S=matrix(A @ A.T))
    values, V = torch.tensor(found["values"], dtype=torch.float64), as_tensor(found["vectors"])
    assert torch.allclose(values, torch.linalg.eigvalsh(A @ A.T).flip(0), atol=1e-12)
    assert torch.allclose(V @ V.T, torch.eye(7).double(), atol=1e-12)
    assert torch.allclose(V @ A @ A.T, values[:, None] * V, atol=1e-11)


def test_the_assignment_is_the_best_of_all(node):
    for seed in range(5):
        cost = normal64(6, 6, seed=seed)
        columns = node(["linear_algebra"], "return Algebra.assignment(given.cost)", cost=matrix(cost))
        best = min(sum(cost[i, j].item() for i, j in enumerate(p)) for p in permutations(range(6)))
        assert sorted(columns) == [*range(6)]
        assert cost[range(6), columns].sum().item() == pytest.approx(best)


@pytest.mark.parametrize("n", [2, 7, 16])
def test_a_rotation_grows_from_the_identity_along_one_path(node, n):
    quarter, half, none = (
        as_tensor(R)
        for R in node(
            ["linear_algebra"], f"const R = Algebra.rotation({n}, 3); return [R(0.25), R(0.5), R(0)]"
        )
    )
    assert torch.allclose(none, torch.eye(n).double(), atol=1e-12)
    assert torch.allclose(quarter @ quarter, half)
    assert torch.allclose(half @ half.T, torch.eye(n).double(), atol=1e-12)
    assert torch.linalg.det(half).item() == pytest.approx(1)


def test_singular_values(node):
    A = normal64(5, 8)
    values = node(["linear_algebra"], "return Algebra.singular(given.A)", A=matrix(A))
    assert values == pytest.approx(torch.linalg.svdvals(A).tolist())


# ---- the fragment of a page


def test_without_a_script_an_instrument_is_a_picture_and_a_sentence():
    page = instrument("bench", ["engine"], {"at": "</script>"}, "<svg></svg>", "A front & a back.").data
    still, _, script = page.partition("<script>")
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in still and "A front &amp; a back." in still
    assert "<input" not in still and script.count("</script>") == 1
    with pytest.raises(ValueError):
        instrument("bench", ["engine"], {"loss": float("nan")}, "<svg></svg>", "A sentence.")
