"""Orthogonal matrices, and isometries into more channels."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from intertwine.alignment import LinearMap, Statistics, orthogonal
from intertwine.stitching.maps.stitch import FromMatrix


class OrthogonalMap(FromMatrix):
    """Orthogonal matrices from the orthogonal Procrustes map on; isometries where p < q, none where p > q.

    Example:
        >>> Q = OrthogonalMap(torch.eye(3)).weight
        >>> torch.allclose(Q @ Q.T, torch.eye(3), atol=1e-6)
        True

    A training keeps the determinant (±1) of the first one.
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
        layer = nn.utils.skip_init(nn.Linear, p, q, bias=False, device=weight.device)
        with torch.random.fork_rng():  # torch completes isometries to bases by its own generator
            torch.manual_seed(0)
            self.layer: Any = parametrizations.orthogonal(layer)
            self.layer.weight = weight.float()

    @classmethod
    def fit(cls, statistics: Statistics, *, affine: bool = False) -> LinearMap:
        return orthogonal(statistics, affine=affine)

    @classmethod
    def draw(cls, widths: tuple[int, int], generator: torch.Generator, **options: Any) -> LinearMap:
        """A random isometry."""
        p, q = widths
        return LinearMap(random_isometry((q, p), generator))

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.layer.weight


def random_isometry(shape: tuple[int, int], generator: torch.Generator) -> Float[Tensor, "q p"]:
    """Orthonormal columns, or rows where there are fewer."""
    return nn.init.orthogonal_(torch.empty(shape), generator=generator)
