"""Matrices: every one, those of low rank, sparse ones by a penalty, orthogonal ones; mostly with a bias."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from intertwine.alignment import LinearMap, Statistics, lasso, least_squares, orthogonal, reduced_rank
from intertwine.alignment.regression import check_rank
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps.stitch import FromMatrix, Stitch, parameter


class Full(FromMatrix):
    """Every matrix, and with a bias every affine 1×1 convolution, from least squares on (csiszarik2021).

    Example:
        >>> Full(2 * torch.eye(3))(torch.ones(3))
        tensor([2., 2., 2.], grad_fn=...)
    """

    def __init__(self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None) -> None:
        super().__init__(bias)
        self.matrix = parameter(weight)

    @classmethod
    def fit(cls, statistics: Statistics, *, affine: bool = True) -> LinearMap:
        return least_squares(statistics, affine=affine)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix


class LowRank(FromMatrix):
    """Matrices of rank at most `rank`, as a product of two, from reduced-rank regression on.

    Example:
        >>> int(torch.linalg.matrix_rank(LowRank(torch.randn(4, 5), rank=2).weight))
        2

    Of a first matrix it takes the best approximation.
    """

    def __init__(
        self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None, *, rank: int
    ) -> None:
        super().__init__(bias)
        check_rank(rank, weight.shape)
        U, S, Vh = torch.linalg.svd(weight.double(), full_matrices=False)
        root = S[:rank].sqrt()  # factors of one size, so that one rate suits both
        self.up, self.down = parameter(U[:, :rank] * root), parameter(root[:, None] * Vh[:rank])

    @classmethod
    def fit(cls, statistics: Statistics, rank: int, *, affine: bool = True) -> LinearMap:
        return reduced_rank(statistics, rank, affine=affine)

    @classmethod
    def draw(cls, widths: tuple[int, int], generator: torch.Generator, **options: Any) -> LinearMap:
        """A product of two random isometries (csiszarik2021)."""
        (p, q), rank = widths, options["rank"]
        check_rank(rank, widths)
        up, down = (random_isometry(shape, generator) for shape in ((q, rank), (rank, p)))
        return LinearMap(up @ down)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.up @ self.down


class Sparse(FromMatrix):
    """The lasso with the weight `alpha`; trained, every matrix with alpha·Σ|m_ij| added to the task loss.

    Example:
        >>> sparse = Sparse(torch.eye(3), alpha=0.1)
        >>> round(sparse.penalty().item(), 2), round(sparse.sparsity, 2)
        (0.3, 0.67)

    A training starts from least squares; its alpha and that of the lasso are not comparable
    (csiszarik2021 eq. 3, experiment 7).

    In evaluation mode entries below 10⁻⁴ are 0. The weight alpha is per image, as the cross-entropy is. The
    authors' code penalises the mean of all |m_ij|: its alpha is this one times pq.
    """

    threshold = 1e-4

    def __init__(
        self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None, *, alpha: float
    ) -> None:
        super().__init__(bias)
        self.matrix, self.alpha = parameter(weight), alpha

    @classmethod
    def fit(cls, statistics: Statistics, alpha: float, *, affine: bool = True) -> LinearMap:
        return lasso(statistics, alpha, affine=affine)

    @classmethod
    def start(
        cls,
        junction: Junction,
        generator: torch.Generator,
        first: LinearMap | None = None,
        *,
        affine: bool = True,
        **options: Any,
    ) -> Stitch:
        # not from the lasso: its alpha means something else
        first = first or least_squares(junction.statistics, affine=affine)
        return super().start(junction, generator, first, affine=affine, **options)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix if self.training else self.matrix * (self.matrix.abs() >= self.threshold)

    @property
    def sparsity(self) -> float:
        """The share of entries below the threshold."""
        return (self.matrix.abs() < self.threshold).double().mean().item()

    def penalty(self) -> Tensor:
        return self.alpha * self.matrix.abs().sum()


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
