"""Trainable maps between two networks: every matrix, sparse, of low rank, orthogonal."""

from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal


class Stitch(nn.Module, ABC):
    """x ↦ weight·x + bias on channels: the last axis of x, or axis 1 at every position of feature maps.

    Example:
        >>> stitch = Full(torch.rand(2, 3))
        >>> stitch(torch.ones(7, 3, 4, 4)).shape, stitch(torch.ones(7, 3)).shape
        (torch.Size([7, 2, 4, 4]), torch.Size([7, 2]))

    A subclass computes its `weight` from its parameters, which start from a matrix (q, p) of p channels to q
    and, for affine maps, a bias (q). A training adds its `penalty` to the loss, calls `advance` before every
    step and `project` after it.
    """

    bias: nn.Parameter | None
    undecayed: tuple[str, ...] = ("bias",)
    """Parameters without weight decay."""

    def __init__(self, bias: Float[Tensor, " q"] | None = None) -> None:
        super().__init__()
        self.bias = None if bias is None else parameter(bias)

    @property
    @abstractmethod
    def weight(self) -> Float[Tensor, "q p"]:
        """The matrix."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        with torch.autocast(x.device.type, enabled=False):  # Sinkhorn's sweeps need float32
            weight = self.weight
        if not torch.is_autocast_enabled(x.device.type):
            weight = weight.to(x.dtype)
        bias = None if self.bias is None else self.bias.to(weight.dtype)
        return F.conv2d(x, weight[..., None, None], bias) if x.ndim == 4 else F.linear(x, weight, bias)

    def penalty(self) -> Tensor | float:
        """A term of the loss."""
        return 0.0

    def project(self) -> None:
        """Bring the parameters back into their set, after a step."""

    def advance(self, done: float) -> None:
        """Anneal: this fraction of the training is done."""


class Full(Stitch):
    """Every matrix, and with a bias every affine 1×1 convolution (csiszarik2021).

    Example:
        >>> Full(2 * torch.eye(3))(torch.ones(3))
        tensor([2., 2., 2.], grad_fn=...)
    """

    def __init__(self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None) -> None:
        super().__init__(bias)
        self.matrix = parameter(weight)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix


class Sparse(Full):
    """A full stitch with the penalty alpha·Σ|m_ij| (csiszarik2021 eq. 3, experiment 7).

    Example:
        >>> sparse = Sparse(torch.eye(3), alpha=0.1)
        >>> round(sparse.penalty().item(), 2), round(sparse.sparsity, 2)
        (0.3, 0.67)

    In evaluation mode entries below 10⁻⁴ are 0. The weight alpha is per image, as the cross-entropy is. The
    authors' code penalises the mean of all |m_ij|: its alpha is this one times pq.
    """

    threshold = 1e-4

    def __init__(
        self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None, *, alpha: float
    ) -> None:
        super().__init__(weight, bias)
        self.alpha = alpha

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix if self.training else self.matrix * (self.matrix.abs() >= self.threshold)

    @property
    def sparsity(self) -> float:
        """The share of entries below the threshold."""
        return (self.matrix.abs() < self.threshold).double().mean().item()

    def penalty(self) -> Tensor:
        return self.alpha * self.matrix.abs().sum()


class LowRank(Stitch):
    """Matrices of rank at most `rank`, as a product of two, from the best approximation of a first one on.

    Example:
        >>> int(torch.linalg.matrix_rank(LowRank(torch.randn(4, 5), rank=2).weight))
        2
    """

    def __init__(
        self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None, *, rank: int
    ) -> None:
        super().__init__(bias)
        if not 1 <= rank <= min(weight.shape):
            raise ValueError(f"Expected a rank from 1 to {min(weight.shape)}, was given {rank}.")
        U, S, Vh = torch.linalg.svd(weight.double(), full_matrices=False)
        root = S[:rank].sqrt()
        self.up, self.down = parameter(U[:, :rank] * root), parameter(root[:, None] * Vh[:rank])

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.up @ self.down


class Orthogonal(Stitch):
    """Orthogonal matrices, of the determinant (±1) of the first one; isometries where p < q.

    Example:
        >>> Q = Orthogonal(torch.eye(3)).weight
        >>> torch.allclose(Q @ Q.T, torch.eye(3), atol=1e-6)
        True
    """

    def __init__(self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None) -> None:
        super().__init__(bias)
        q, p = weight.shape
        if p > q:
            raise ValueError(
                f"Expected no more channels in than out, was given {p} and {q}: swap the networks."
            )
        if not torch.allclose(weight.T @ weight, torch.eye(p).to(weight), atol=1e-5):
            raise ValueError(
                "Expected an isometry to start from, was given another map: use alignment.orthogonal."
            )
        self.layer: Any = orthogonal(nn.utils.skip_init(nn.Linear, p, q, bias=False, device=weight.device))
        self.layer.weight = weight.float()

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.layer.weight


def parameter(values: Tensor) -> nn.Parameter:
    """A trainable copy, in torch's default dtype."""
    return nn.Parameter(values.detach().to(torch.get_default_dtype()).clone())
