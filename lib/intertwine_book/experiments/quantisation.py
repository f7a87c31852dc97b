"""Rounding a network to few bits, before and after a symmetry moves it to where rounding costs less."""

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from intertwine import models
from intertwine.features import record
from intertwine.weightspace import WeightSpace


class RMSNorm(nn.Module):
    """Divide by the root mean square, written out: torch's fused kernel has no gradient on every device."""

    def forward(self, x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
        return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


class Block(nn.Module):
    """Attention and a perceptron, each read through an RMS norm and added to the residual stream."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = (RMSNorm() for _ in "12")
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in "qkvo")
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Float[Tensor, "b t n"]) -> Float[Tensor, "b t n"]:
        y, (b, t, n) = self.norm1(x), x.shape
        q, k, v = (f(y).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        seen = scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, n)
        x = x + self.o(seen)
        return x + self.down(gelu(self.up(self.norm2(x))))


class PatchTransformer(nn.Module):
    """A small vision transformer with RMS norms: images of 8 × 8 pixels as 16 patches, two blocks.

    Example:
        >>> PatchTransformer(16)(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 10])
    """

    def __init__(self, width: int = 32, heads: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, width, 2, stride=2)
        self.positions = nn.Parameter(0.1 * torch.randn(16, width))
        self.block1, self.block2 = Block(width, heads), Block(width, heads)
        self.norm = RMSNorm()
        self.head = nn.Linear(width, classes)

    def forward(self, images: Float[Tensor, "b 1 8 8"]) -> Float[Tensor, "b k"]:
        x = self.embed(images).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.block2(self.block1(x)))).mean(1)


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


def hadamard(n: int, generator: torch.Generator) -> Float[Tensor, "n n"]:
    """Sylvester's matrix of ±1/√n with random signs of its columns: orthogonal, and no entry is large.

    Example:
        >>> H = hadamard(4, torch.Generator().manual_seed(0))
        >>> torch.allclose(H @ H.T, torch.eye(4, dtype=torch.float64)) and torch.allclose(H**2, 0 * H + 0.25)
        True
    """
    H = torch.ones(1, 1, dtype=torch.float64)
    while len(H) < n:
        H = torch.cat([torch.cat([H, H], 1), torch.cat([H, -H], 1)]) / 2**0.5
    if len(H) != n:
        raise ValueError(f"Expected a power of 2, was given {n}: pad the width.")
    return H * (2 * torch.randint(2, (n,), generator=generator) - 1)


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
        >>> from intertwine.weightspace import find_symmetries
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


def folded(network: Any) -> nn.Sequential:
    """A Myrtle CNN without batch norm that computes the function of one with batch norm in evaluation mode.

    Example:
        >>> with_norm, x = models.myrtle(2, in_channels=1).eval(), torch.randn(3, 1, 8, 8)
        >>> torch.allclose(folded(with_norm)(x), with_norm(x), atol=1e-5)
        True
    """
    width, inputs = network.conv1.weight.shape[:2]
    plain: Any = models.myrtle(width, in_channels=inputs, norm=False).eval().to(network.fc.weight)
    plain.fc.load_state_dict(network.fc.state_dict())
    for k in (1, 2, 3, 4):
        norm, new = getattr(network, f"bn{k}"), getattr(plain, f"conv{k}")
        gain = (norm.weight / (norm.running_var + norm.eps).sqrt()).data
        new.weight.data = getattr(network, f"conv{k}").weight.data * gain[:, None, None, None]
        new.bias.data = norm.bias.data - norm.running_mean * gain
    return plain


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
            right = (logits.argmax(1) == labels).double().mean().item()
            error = ((logits - exact).norm() / exact.norm()).item()
            rows.append({"way": way, "bits": b, "error": 100 * error, "accuracy": 100 * right})
    return rows
