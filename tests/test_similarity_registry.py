"""Every measure is held to what the registry declares: a few draws for each, invariance or not; metrics."""

from collections.abc import Callable

import pytest
import torch
from helpers import generator
from torch import Tensor

from intertwine.groups import GeneralLinear, GReLU, Orthogonal, Permutations
from intertwine.similarity import INVARIANCES, MEASURES, which

DRAWS, C, N = 12, 6, 40


def normal(*shape: int, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def features(name: str, seed: int) -> tuple[Tensor, Tensor]:
    """Alike, in much the same basis, of unlike channels; for regression some directions hardly agree."""
    draw = generator(seed)
    noise = {
        "cca": [5.0, 0.1, 3.0, 0.05, 1.0, 0.02],
        "pwcca": [0.05, 4.0, 4.0, 4.0, 4.0, 4.0],
    }
    noise["svcca"] = noise["r2"] = noise["cca"]
    Z = normal(N, C, generator=draw)
    X = Z * torch.tensor([3, 2, 1.5, 1, 0.8, 0.6])
    if name == "pwcca":  # what is shared lies in one unit, the rest in all others
        X = torch.cat([2.5 * Z[:, :1], Z[:, 1:] @ Orthogonal(C - 1).sample(draw)], 1)
    Y = Z + torch.tensor(noise.get(name, [0.25] * C)) * normal(N, C, generator=draw)
    Y = Y * torch.tensor([2.0, 2, 1, 1, 1, 1])
    return tuple(
        F @ (torch.eye(C) + 0.07 * normal(C, C, generator=draw)) + 1 + normal(C, generator=draw)
        for F in (X, Y)
    )


def rotation(draw: torch.Generator) -> Tensor:
    Q = Orthogonal(C).sample(draw)
    return Q if torch.det(Q) > 0 else Q * torch.tensor([-1.0] + [1.0] * (C - 1))


def improper(group: Callable[[int], Orthogonal], draw: torch.Generator) -> Tensor:
    while torch.det(A := group(C).sample(draw)) > 0:
        pass
    return A


ACTIONS: dict[str, Callable[[torch.Generator], Tensor]] = {
    "permutation": lambda draw: Permutations(C).sample(draw),
    "positive scaling": lambda draw: torch.diag(GReLU(C).sample(draw, scale=2.5).sum(0)),
    "isotropic scaling": lambda draw: torch.eye(C) * normal(1, generator=draw).mul(2).exp(),
    "rotation": rotation,
    "orthogonal": lambda draw: Orthogonal(C).sample(draw),
    "invertible linear": lambda draw: GeneralLinear(C).sample(draw, scale=2.0),
}


def act(name: str, X: Tensor, measure: str, draw: torch.Generator) -> Tensor:
    if name == "translation":
        return X + 5 * normal(C, generator=draw)
    if measure == "rotation" and name in ("permutation", "orthogonal"):  # the proper ones change nothing
        return X @ improper({"permutation": Permutations, "orthogonal": Orthogonal}[name], draw)
    return X @ ACTIONS[name](draw).double()


def test_every_action_is_drawn():
    assert set(INVARIANCES) == {*ACTIONS, "translation"}


@pytest.mark.parametrize("name", MEASURES)
def test_declared_invariances_hold_and_others_do_not(name):
    measure = MEASURES[name]
    pairs = [features(name, seed) for seed in range(DRAWS)]
    before = [float(measure(*pair)) for pair in pairs]
    for side, declared in enumerate(measure.sides):
        assert set(declared) <= set(INVARIANCES)
        for action in INVARIANCES:
            moves = []
            for seed, pair in enumerate(pairs):
                moved = list(pair)
                moved[side] = act(action, pair[side], name, generator(1000 + seed))
                moves.append(abs(float(measure(*moved)) - before[seed]))
            if action in declared:
                worst = max(move / abs(value) for move, value in zip(moves, before, strict=True))
                assert worst <= 1e-10, (action, side, worst)
            else:
                visible = sum(move >= 0.01 for move in moves)
                assert visible >= 0.75 * DRAWS, (action, side, visible)


@pytest.mark.parametrize("name", MEASURES)
def test_ranges_and_self_similarity(name):
    measure = MEASURES[name]
    near, far = 0.0, 0.0
    for seed in range(10):
        X, Y = features(name, seed)
        assert measure.range[0] - 1e-12 <= measure(X, Y) <= measure.range[1] + 1e-12
        assert abs(measure(X, X) - (1 if measure.similarity else 0)) <= 1e-7
        near += float(measure(X, Y))
        far += float(measure(X, normal(N, C, generator=generator(500 + seed))))
    assert (near > far) == measure.similarity


@pytest.mark.parametrize("name", MEASURES)
def test_the_triangle_inequality_holds_where_it_is_declared(name):
    measure = MEASURES[name]

    def distance(X: Tensor, Y: Tensor) -> float:
        return float(1 - measure(X, Y) if measure.similarity else measure(X, Y))

    broken = 0
    for seed in range(16):
        draw = generator(seed)
        X, E = (normal(20, 4, generator=draw) for _ in range(2))
        step = 0.05 if seed % 2 else 2.0
        X, Y, Z = (X + 3 + share * step * E for share in (0, 0.5, 1))  # Y halfway
        broken += distance(X, Z) > distance(X, Y) + distance(Y, Z) + 1e-9
    assert (broken == 0) == (measure.metric != "no"), broken


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.metric != "no"])
def test_between_layers_of_unequal_widths_only_some_are_metrics(name):
    measure = MEASURES[name]
    x = normal(9, 1, generator=generator(0))
    x = x - x.mean()
    mirrored = normal(9, 2, generator=generator(1))
    flip = torch.tensor([1.0, -1.0], dtype=mirrored.dtype)
    triples = [(x, -x, torch.cat([x, -x], 1))]  # no unit is the other, and a pair has both
    if name == "rotation":
        triples += [
            (mirrored, mirrored * flip, torch.nn.functional.pad(mirrored, (0, 1)))
        ]  # turned in the third
    for seed in range(10):
        draw = generator(seed)
        triples.append(tuple(normal(6, width, generator=draw) for width in (2, 2, 4)))

    def distance(X: Tensor, Y: Tensor) -> float:
        return float(1 - measure(X, Y) if measure.similarity else measure(X, Y))

    broken = sum(distance(X, Y) > distance(X, Z) + distance(Z, Y) + 1e-6 for X, Y, Z in triples)
    assert (broken > 0) == (measure.metric == "equal widths")


def test_which_measure_when_says_what_the_registry_says():
    table = which()
    assert list(table.index) == list(MEASURES)
    assert table.loc["r2", "invertible linear"] == "first" and table.loc["r2", "orthogonal"] == "yes"
    assert table.loc["pwcca", "orthogonal"] == "second" and table.loc["cka", "invertible linear"] == "no"
    assert table.loc["soft matching", "kind"] == "distance" and table.loc["cka", "range"] == "-1 to 1"
    assert table["use"].str.len().min() > 10 and set(table["metric"]) == {"yes", "equal widths", "no"}
