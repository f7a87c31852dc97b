"""Rounding a network to few bits, before and after a symmetry moves it to where rounding costs less."""

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine.features import record
from intertwine.training.evaluate import correct
from intertwine.weightspace import WeightSpace, find_symmetries
from intertwine_book.experiments.orbits.models import folded

NORMS = [f"block{b}.norm{k}" for b in (1, 2) for k in (1, 2)]
"""Where a `PatchTransformer` reads its residual stream, but for the last norm."""


def rounded(x: Tensor, bits: int, dim: int | tuple[int, ...]) -> Tensor:
    """The nearest multiples of a step that carries the largest |x| along `dim` to 2^(bits - 1) - 1.

    Example:
        >>> rounded(torch.tensor([0.1, 0.4, -1.0]), 3, 0)
        tensor([ 0.0000,  0.3333, -1.0000])
    """
    step = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / (2 ** (bits - 1) - 1)
    return (x / step).round() * step


def quantised(model: nn.Module, bits: int, *, inputs: bool = True, by_row: bool = True) -> nn.Module:
    """A copy whose linear layers and convolutions have rounded weights, and read rounded `inputs`.

    Example:
        >>> quantised(nn.Linear(2, 1), 8)(torch.ones(3, 2)).shape
        torch.Size([3, 1])

    Values are rounded by the largest channel of each token; `by_row`, every output of a layer has its own
    step.
    """
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            dims = range(1 if by_row else 0, module.weight.ndim)
            module.weight.data = rounded(module.weight.data, bits, tuple(dims))
            if inputs and isinstance(module, nn.Linear):
                module.register_forward_pre_hook(lambda _, x: (rounded(x[0], bits, -1),))
    return model


def principal_axes(model: nn.Module, images: Tensor, *norms: str) -> Float[Tensor, "n n"]:
    """The orthogonal matrix whose rows are the principal axes of what modules return, the longest first."""
    with torch.no_grad(), record(model, list(norms)) as values:
        model(images)
    y = torch.cat([values[name].flatten(0, -2) for name in norms]).double()
    return torch.linalg.eigh(y.T @ y).eigenvectors.T.flip(0)


def equalised(space: WeightSpace, model: nn.Module, layers: list[str], *, sweeps: int = 20) -> nn.Module:
    """Scale every hidden channel until its largest weights before and behind are equal (Nagel et al. 2019).

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
        >>> even = equalised(find_symmetries(model, torch.zeros(1, 2)), model, ["0", "2"])
        >>> torch.allclose(even[0].weight.abs().amax(1), even[2].weight.abs().amax(0), rtol=1e-4)
        True

    The layers form a chain from input to output, whose hidden spaces have positive scalings.
    """
    sizes: list[Tensor] = []  # of the largest weight between any two channels
    for name in layers:
        layer: Any = model.get_submodule(name)
        W = layer.weight.detach().abs()
        sizes.append(W.unflatten(1, (len(sizes[-1]) if sizes else W.shape[1], -1)).flatten(2).amax(2))
    scales = [torch.ones(len(size)).to(size) for size in sizes[:-1]]
    for k in [*range(len(scales))] * sweeps:
        out, into = sizes[k].amax(1), sizes[k + 1].amax(0)
        scale = (into / out).sqrt().where(into * out > 0, 1.0)
        sizes[k], sizes[k + 1] = sizes[k] * scale[:, None], sizes[k + 1] / scale
        scales[k] = scales[k] * scale
    return space.act(model, {name: s.diag() for name, s in zip(layers, scales, strict=False)})


def errors(
    ways: Mapping[str, nn.Module],
    images: Float[Tensor, "n c h w"],
    labels: Int[Tensor, " n"],
    bits: Sequence[int],
    **options: bool,
) -> list[dict[str, Any]]:
    """What rounding does to models that compute one function; `options` are those of `quantised`.

    Rows have way, bits, error (of the logits, percent of their size) and accuracy (percent).
    """
    rows = []
    with torch.no_grad():
        exact = next(iter(ways.values()))(images)
        for (way, model), b in itertools.product(ways.items(), bits):
            logits = quantised(model, b, **options)(images)
            right = correct(logits, labels).double().mean().item()
            error = ((logits - exact).norm() / exact.norm()).item()
            rows.append({"way": way, "bits": b, "error": 100 * error, "accuracy": 100 * right})
    return rows


def rotated(
    pair: Sequence[nn.Module], turn: Float[Tensor, "n n"], train: Dataset, test: Dataset, bits: Sequence[int]
) -> list[dict[str, Any]]:
    """Errors of a `PatchTransformer` with an outlier and one without, rotated and in principal axes, too."""
    rows, seen = [], train.images.double()
    for model, outlier in zip(pair, (True, False), strict=True):
        space = find_symmetries(model, seen[:1])
        moves = {"rotated": turn, "principal axes": principal_axes(model, seen, *NORMS)}
        moved = {way: space.act(model, {"block1.norm1": A}) for way, A in moves.items()}
        found = errors({"as trained": model, **moved}, test.images.double(), test.labels, bits)
        rows += [{"outlier": outlier} | row for row in found]
    return rows


def rescaled(
    network: nn.Module, generator: torch.Generator, test: Dataset, bits: Sequence[int]
) -> list[dict[str, Any]]:
    """Errors of a Myrtle CNN as trained, with channels scaled at random, and equalised from there.

    Batch norm is folded into the weights, which alone are rounded, with one step a layer.
    """
    model, images = folded(network), test.images.double()
    space = find_symmetries(model, images[:1])
    spread = space.act(model, space.sample(generator, scale=1.0))
    even = equalised(space, spread, ["conv1", "conv2", "conv3", "conv4", "fc"])
    ways = {"as trained": model, "scaled at random": spread, "equalised": even}
    return errors(ways, images, test.labels, bits, inputs=False, by_row=False)


def sliced(model: nn.Module, kept: int) -> nn.Module:
    """A `PatchTransformer` that reads only the first channels of its stream, behind every RMS norm."""
    model = copy.deepcopy(model)
    for name in [*NORMS, "norm"]:
        norm = model.get_submodule(name)
        norm.register_forward_hook(lambda _, x, y: y * (torch.arange(y.shape[-1]) < kept).to(y))
    return model
