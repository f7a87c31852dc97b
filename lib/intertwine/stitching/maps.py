"""Trainable maps between two networks: every matrix, sparse, of low rank, orthogonal."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal

from intertwine.alignment import LinearMap


class Stitch(nn.Module, ABC):
    """x ↦ weight·x + bias on channels: the last axis of x, or axis 1 at every position of feature maps.

    Example:
        >>> stitch = Full(3, 2, generator=torch.Generator().manual_seed(0))
        >>> stitch(torch.ones(7, 3, 4, 4)).shape, stitch(torch.ones(7, 3)).shape
        (torch.Size([7, 2, 4, 4]), torch.Size([7, 2]))

    A subclass computes its `weight` from its parameters. A training adds its `penalty` to the loss,
    calls `advance` before every step and `project` after it.
    """

    bias: nn.Parameter | None
    undecayed: tuple[str, ...] = ("bias",)
    """Parameters without weight decay."""

    def __init__(self, q: int = 0, affine: bool = False, start: LinearMap | None = None) -> None:
        super().__init__()
        first = None if start is None else start.bias
        self.bias = parameter(torch.zeros(q) if first is None else first) if affine else None

    @property
    @abstractmethod
    def weight(self) -> Float[Tensor, "q p"]:
        """The matrix."""

    def forward(self, x: Float[Tensor, ...]) -> Float[Tensor, ...]:
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
    """Every matrix, by default with a bias: the affine 1×1 convolution of csiszarik2021.

    Example:
        >>> twice = LinearMap(2 * torch.eye(3), None, residual=0.0, total=1.0)
        >>> Full(3, 3, start=twice, affine=False)(torch.ones(3))
        tensor([2., 2., 2.], grad_fn=...)

    Args:
        p, q: channels in and out.
        affine: whether it has a bias. godfrey2022 says affine, but its runs had none.
        start: a closed form to start from; otherwise weight and bias are uniform in ±1/√p, torch's default.
        generator: of that.
    """

    def __init__(
        self,
        p: int,
        q: int,
        *,
        affine: bool = True,
        start: LinearMap | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(q, affine, start)
        self.matrix = parameter(_started(p, q, start, generator))
        if self.bias is not None and start is None:
            self.bias.data.uniform_(-1 / math.sqrt(p), 1 / math.sqrt(p), generator=generator)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix


class Sparse(Full):
    """A full stitch with the penalty alpha·Σ|m_ij| (csiszarik2021 eq. 3, experiment 7).

    Example:
        >>> sparse = Sparse(3, 3, alpha=0.1, start=LinearMap(torch.eye(3), None, residual=0.0, total=1.0))
        >>> round(sparse.penalty().item(), 2), round(sparse.sparsity, 2)
        (0.3, 0.67)

    In evaluation mode entries below 10⁻⁴ are 0. The authors' code penalises the mean of all |m_ij|: its
    alpha is this one times pq.

    Args:
        p, q, affine, start, generator: as in `Full`.
        alpha: of the penalty, per image, as the cross-entropy is.
    """

    threshold = 1e-4

    def __init__(self, p: int, q: int, *, alpha: float, **options: Any) -> None:
        super().__init__(p, q, **options)
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
    """Matrices of rank at most r, as a product of two.

    Example:
        >>> stitch = LowRank(5, 4, rank=2, generator=torch.Generator().manual_seed(0))
        >>> int(torch.linalg.matrix_rank(stitch.weight))
        2

    Args:
        p, q, affine: as in `Full`; the bias starts from 0.
        rank: r.
        start: a closed form whose best approximation of rank r is the start; otherwise both factors are
            orthogonal (csiszarik2021).
        generator: of that.
    """

    def __init__(
        self,
        p: int,
        q: int,
        *,
        rank: int,
        affine: bool = True,
        start: LinearMap | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(q, affine, start)
        if not 1 <= rank <= min(p, q):
            raise ValueError(f"Expected a rank from 1 to {min(p, q)}, was given {rank}.")
        if start is None:
            up, down = (
                nn.init.orthogonal_(torch.empty(shape), generator=_expected(generator))
                for shape in ((q, rank), (rank, p))
            )
        else:
            U, S, Vh = torch.linalg.svd(_started(p, q, start, None).double(), full_matrices=False)
            root = S[:rank].sqrt()
            up, down = U[:, :rank] * root, root[:, None] * Vh[:rank]
        self.up, self.down = parameter(up), parameter(down)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.up @ self.down


class Orthogonal(Stitch):
    """Orthogonal matrices, of the determinant (±1) of the first one; isometries where p < q.

    Example:
        >>> Q = Orthogonal(3, 3, generator=torch.Generator().manual_seed(0)).weight
        >>> torch.allclose(Q @ Q.T, torch.eye(3), atol=1e-6)
        True

    Args:
        p, q, affine: as in `Full`, with p ≤ q; the bias starts from 0.
        start: an isometry, as `alignment.orthogonal` gives; otherwise it is drawn.
        generator: of that.
    """

    def __init__(
        self,
        p: int,
        q: int,
        *,
        affine: bool = False,
        start: LinearMap | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(q, affine, start)
        if p > q:
            raise ValueError(
                f"Expected no more channels in than out, was given {p} and {q}: swap the networks."
            )
        first = (
            _started(p, q, start, None)
            if start
            else nn.init.orthogonal_(torch.empty(q, p), generator=_expected(generator))
        )
        if not torch.allclose(first.T @ first, torch.eye(p).to(first), atol=1e-5):
            raise ValueError(
                "Expected an isometry to start from, was given another map: use alignment.orthogonal."
            )
        self.layer: Any = orthogonal(nn.utils.skip_init(nn.Linear, p, q, bias=False, device=first.device))
        self.layer.weight = first.float()

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.layer.weight


def parameter(values: Tensor) -> nn.Parameter:
    """A trainable copy, in torch's default dtype."""
    return nn.Parameter(values.detach().to(torch.get_default_dtype()).clone())


def _started(
    p: int, q: int, start: LinearMap | None, generator: torch.Generator | None
) -> Float[Tensor, "q p"]:
    if start is None:
        return torch.empty(q, p).uniform_(-1 / math.sqrt(p), 1 / math.sqrt(p), generator=_expected(generator))
    if start.weight.shape != (q, p):
        given = tuple(reversed(start.weight.shape))
        raise ValueError(f"Expected to start from a map of {p} channels to {q}, was given one of {given}.")
    return start.weight


def _expected(generator: torch.Generator | None) -> torch.Generator:
    if generator is None:
        raise ValueError("Expected a start or a generator, was given neither.")
    return generator
