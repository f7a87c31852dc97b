"""A small transformer whose residual stream may begin with an outlier: the network of chapter 1d."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention


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
    """A vision transformer with RMS norms and two blocks: images of 8 × 8 pixels as 16 patches.

    Example:
        >>> PatchTransformer(16)(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 10])

    The first channel of its stream begins with `outlier`, by the embedding of positions.
    """

    def __init__(self, width: int = 32, outlier: float = 0.0) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, width, 2, stride=2)
        self.positions = nn.Parameter(0.1 * torch.randn(16, width))
        self.block1, self.block2 = Block(width, 4), Block(width, 4)
        self.norm = RMSNorm()
        self.head = nn.Linear(width, 10)
        self.positions.data[:, 0] += outlier

    def forward(self, images: Float[Tensor, "b 1 8 8"]) -> Float[Tensor, "b k"]:
        x = self.embed(images).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.block2(self.block1(x)))).mean(1)
