"""The networks of chapter 1d: a small transformer with an outlier, CNNs without batch norm."""

import copy
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from intertwine.data import Dataset
from intertwine.training import Recipe
from intertwine_book.models import myrtle
from intertwine_book.zoo import Spec, train_many


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

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, width, 2, stride=2)
        self.positions = nn.Parameter(0.1 * torch.randn(16, width))
        self.block1, self.block2 = Block(width, 4), Block(width, 4)
        self.norm = RMSNorm()
        self.head = nn.Linear(width, 10)

    def forward(self, images: Float[Tensor, "b 1 8 8"]) -> Float[Tensor, "b k"]:
        x = self.embed(images).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.block2(self.block1(x)))).mean(1)


def transformer(outlier: float, data: Dataset, recipe: Recipe, seed: int) -> nn.Module:
    """A trained transformer, in float64, whose stream starts with this value in its first channel.

    The recipe says how many epochs; learning rate and precision are the transformer's own.
    """

    def make(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        model = PatchTransformer()
        model.positions.data[:, 0] += outlier
        return model

    spec = Spec(make, data, replace(recipe, lr=1e-2, dtype="float32"))
    # on the CPU always: rounding to few bits makes jumps of the last digits of a training
    return train_many(spec, [seed], device="cpu")[0].network.double().eval()


def folded(network: Any) -> nn.Sequential:
    """A Myrtle CNN in float64 without batch norm, of the function of one with batch norm in evaluation mode.

    Example:
        >>> with_norm, x = myrtle(2, in_channels=1).double().eval(), torch.randn(3, 1, 8, 8).double()
        >>> torch.allclose(folded(with_norm)(x), with_norm(x))
        True
    """
    network = copy.deepcopy(network).double()
    width, inputs = network.conv1.weight.shape[:2]
    plain: Any = myrtle(width, in_channels=inputs, norm=False).eval().to(network.fc.weight)
    plain.fc.load_state_dict(network.fc.state_dict())
    for k in (1, 2, 3, 4):
        norm, new = getattr(network, f"bn{k}"), getattr(plain, f"conv{k}")
        gain = (norm.weight / (norm.running_var + norm.eps).sqrt()).data
        new.weight.data = getattr(network, f"conv{k}").weight.data * gain[:, None, None, None]
        new.bias.data = norm.bias.data - norm.running_mean * gain
    return plain
