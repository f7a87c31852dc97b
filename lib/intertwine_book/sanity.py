"""Sanity rotations (godfrey2022 §3.3): insert a matrix in front of an activation, and try to undo it."""

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import devices, groups
from intertwine.alignment import Statistics, least_squares
from intertwine.chains import is_chain, layers_of, subchain
from intertwine.data import Dataset
from intertwine.features import channel_axis
from intertwine.training import Recipe, evaluate, train
from intertwine.weightspace import find_symmetries, transform_outputs

TRANSFORMS: dict[str, Callable[[int], groups.MatrixGroup]] = {
    "permutations": groups.Permutations,
    "signed permutations": groups.SignedPermutations,
    "positive scalings": groups.GReLU,
    "nonzero scalings": groups.NonzeroMonomial,
    "orthogonal": groups.Orthogonal,
}
"""From the smallest group to the largest; *scalings* come with a permutation."""


def draw(name: str, n: int, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
    """A random element of one of the `TRANSFORMS`, or the "identity"; `scale` is that of log-scalings.

    Example:
        >>> A = draw("orthogonal", 3, torch.Generator().manual_seed(0))
        >>> torch.allclose(A @ A.T, torch.eye(3, dtype=torch.float64))
        True

    Scalings are lognormal with mean 1, as in the paper.
    """
    if name == "identity":
        return torch.eye(n, dtype=torch.float64)
    A = TRANSFORMS[name](n).sample(generator, scale=scale)
    return A / math.exp(scale**2 / 2) if "scalings" in name else A


def best_linear_map(
    network: nn.Module,
    layer: str,
    activation: nn.Module,
    transforms: Mapping[str, Iterable[Float[Tensor, "n n"]]],
    images: Float[Tensor, "N ..."],
    test_images: Float[Tensor, "M ..."],
    test_labels: Int[Tensor, " M"],
) -> pd.DataFrame:
    """The best linear repair after the activation, in closed form, and the accuracy that remains lost.

    With z the output of `layer`, R is the least-squares map from σ(Az) to σ(z) over `images`, channels mixed
    at every position alike; the network, in float64, then goes on with Rσ(Az). For A in the group of σ,
    R = φ(A)^{-1} is exact. The transforms are matrices as wide as the layer, by name.

    Raises:
        ValueError: the network is no chain, there is no such layer, or what follows it is not the activation.

    Columns group, trial, own (is A in the activation's group), unexplained (‖Rσ(Az) − σ(z)‖² as a share of
    ‖σ(z)‖²), accuracy, base_accuracy (percent), penalty (points; lower is better), penalty_images.
    """
    network = copy.deepcopy(network).double().eval()
    if not is_chain(network):
        raise ValueError(
            f"Expected an nn.Sequential without a forward of its own, was given a {type(network).__name__}: "
            f"write it as one."
        )
    names = [*layers_of(network)]
    if layer not in names:
        raise ValueError(f"Expected one of the layers {', '.join(names)}, was given '{layer}'.")
    position = names.index(layer)
    front, back = subchain(network, 0, position + 1), subchain(network, position + 2)
    with torch.no_grad():
        z, z_test = front(images.double()), front(test_images.double())
        h = activation(z)
        if not torch.allclose(network[position + 1](z), h):
            raise ValueError(
                f"Expected the activation directly after {layer}, in the network '{names[position + 1]}' "
                f"follows: give the layer before the activation, and fold a batch norm into it."
            )
        base = int((back(activation(z_test)).argmax(1) == test_labels).sum())
        axis = channel_axis(z)
        group, table = groups.intertwiner_group(activation, z.shape[axis]), []
        for name, matrices in transforms.items():
            for trial, A in enumerate(matrices):
                turned = (torch.tensordot(v, A.to(v), ([axis], [1])) for v in (z, z_test))
                mixed, mixed_test = (v.movedim(-1, axis) for v in turned)
                R = least_squares(Statistics.of(activation(mixed), h))
                logits = back(R(activation(mixed_test)))
                correct = int((logits.argmax(1) == test_labels).sum())
                unexplained = (R(activation(mixed)) - h).square().sum() / h.square().sum()
                row = {"group": name, "trial": trial, "own": group.contains(A)}
                row |= {"unexplained": unexplained.item(), "accuracy": 100 * correct / len(test_labels)}
                row |= {"base_accuracy": 100 * base / len(test_labels)}
                row |= {"penalty": 100 * (base - correct) / len(test_labels)}
                table.append(row | {"penalty_images": base - correct})
    return pd.DataFrame(table)


def finetuned(
    network: nn.Sequential,
    layer: str,
    A: Float[Tensor, "n n"],
    train_set: Dataset,
    test: Dataset,
    recipe: Recipe,
    *,
    seed: int,
    device: str | torch.device = "auto",
) -> dict[str, float]:
    """The paper's protocol (godfrey2022 §3.3, figure 4): AW, Ab, freeze up to the layer, finetune the rest.

    With the identity for A it is the control with the same budget; the seed is that of the order of the data.
    Gives accuracy and base_accuracy (percent, on `test`), and penalty (points: base minus finetuned).
    """
    moved = _inserted(network, layer, A, train_set)
    tuned = train(moved, train_set, recipe, seed=seed, device=device, freeze=layer).network
    base, accuracy = (100 * evaluate(each, test.images, test.labels) for each in (network, tuned))
    return {"accuracy": accuracy, "base_accuracy": base, "penalty": base - accuracy}


def repair(
    network: nn.Sequential,
    layer: str,
    A: Float[Tensor, "n n"],
    train_set: Dataset,
    test: Dataset,
    *how: Any,
    **more: Any,
) -> list[dict[str, Any]]:
    """Epoch (from 1) and penalty (points) of one long finetuning; the arguments are those of `finetuned`."""
    moved = _inserted(network, layer, A, train_set)
    history = train(moved, train_set, *how, **more, freeze=layer, validation=test).history[
        "validation_accuracy"
    ]
    base = evaluate(network, test.images, test.labels)
    return [{"epoch": k, "penalty": 100 * (base - value)} for k, value in enumerate(history, 1)]


def _inserted(network: nn.Sequential, layer: str, A: Float[Tensor, "n n"], train_set: Dataset) -> nn.Module:
    """The network with AW, Ab for the weights of one layer."""
    example = train_set.images[:1].to(devices.like(network))
    space = find_symmetries(copy.deepcopy(network).eval(), example)
    return transform_outputs(space, network, {layer: A})
