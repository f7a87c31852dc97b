"""Permutations with scales by a relaxation to the polytope of doubly stochastic matrices."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.stitching.junction import Junction
from intertwine.stitching.maps.matching import best_permutation, one_width
from intertwine.stitching.maps.stitch import Stitch, parameter


class Birkhoff(Stitch):
    """Permutations with scales by the relaxation of godfrey2022 §4, from random on; p = q, trained only.

    Example:
        >>> stitch = Birkhoff(4, generator=torch.Generator().manual_seed(0))
        >>> stitch.weight.sum(1).detach().round(decimals=4)
        tensor([1., 1., 1., 1.])

    The authors' steps for P diag(s), P in the polytope of doubly stochastic matrices. P starts uniform in
    [0, 1] after 100 sweeps of Sinkhorn (rows, then columns divided by their sums), s at 1. After every step
    negative entries become 0, and 16 sweeps follow. The loss has the term −alpha·‖P‖_F, which draws P to the
    vertices. For the first half of the training s is left out. In evaluation mode P is the nearest
    permutation, by linear assignment.
    """

    undecayed = ("P",)

    def __init__(self, n: int, *, alpha: float = 0.1, generator: torch.Generator) -> None:
        super().__init__()
        start = torch.rand(n, n, generator=generator)
        self.P, self.scales, self.alpha = parameter(_sinkhorn(start, 100)), parameter(torch.ones(n)), alpha
        self.scaled = False

    @classmethod
    def start(cls, junction: Junction, generator: torch.Generator, alpha: float = 0.1) -> "Birkhoff":
        return cls(one_width(junction.widths), alpha=alpha, generator=generator)

    @property
    def weight(self) -> Float[Tensor, "n n"]:
        P = self.P if self.training else best_permutation(self.P)
        return P * self.scales if self.scaled else P

    def penalty(self) -> Tensor:
        # a norm is convex: on the polytope it is largest at the vertices, which are the permutations
        return -self.alpha * self.P.norm()

    def advance(self, done: float) -> None:
        self.scaled = done >= 0.5

    @torch.no_grad()
    def project(self) -> None:
        self.scales.clamp_(min=0)
        self.P.copy_(_sinkhorn(self.P.clamp(min=0), 16))


def _sinkhorn(P: Float[Tensor, "n n"], sweeps: int) -> Float[Tensor, "n n"]:
    for _ in range(sweeps):
        P = P / P.sum(1, keepdim=True).clamp(min=1e-12)
        P = P / P.sum(0).clamp(min=1e-12)
    return P
