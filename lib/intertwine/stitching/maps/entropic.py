"""Permutations with scales, of which the task loss may change the permutation."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import LinearMap, Statistics, g_relu
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps.matching import best_match, best_permutation, one_width
from intertwine.stitching.maps.stitch import Stitch, parameter


class Entropic(Stitch):
    """The permutation with positive scales nearest to the activations; trained by entropic assignment, p = q.

    Example:
        >>> from intertwine.alignment import Statistics
        >>> A = torch.rand(100, 2)
        >>> Entropic(Statistics.of(A, 2 * A[:, [1, 0]])).weight.detach().round(
        ...     decimals=4
        ... ).tolist()
        [[0.0, 2.0], [2.0, 0.0]]

    The forward pass uses the best permutation for a matrix of scores, the backward pass the doubly stochastic
    matrix of Sinkhorn's algorithm for scores/temperature (straight-through). Scores start from the cosines of
    activations, scales at ‖b‖/‖a‖; the temperature falls from `hot` to `cold`, in units of a cosine.

    The assignment is solved on the CPU, in time n³: training keeps it for n/64 steps where n is 128 or more.
    """

    sweeps, hot, cold = 20, 0.3, 0.03

    def __init__(self, statistics: Statistics) -> None:
        super().__init__()
        width = one_width(statistics.widths)
        cosines, _, outputs, log_ratios = best_match(statistics)
        self.scores = parameter(cosines.T)
        self.log_scales = parameter(torch.zeros_like(log_ratios).index_put((outputs,), log_ratios))
        self.temperature, self.steps, self.every = self.hot, 0, max(1, width // 64)
        self.kept: Tensor = nn.Buffer(torch.empty(0), persistent=False)

    @classmethod
    def fit(cls, statistics: Statistics) -> LinearMap:
        return g_relu(statistics)

    @classmethod
    def start(cls, junction: Junction, generator: torch.Generator) -> "Entropic":
        return cls(junction.statistics)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        if not self.training or self.steps % self.every == 0:
            self.kept = best_permutation(self.scores)
        hard = self.kept
        if self.training:
            self.steps += 1
            soft = _sinkhorn(self.scores / self.temperature, self.sweeps)
            hard = hard + soft - soft.detach()  # hard forward, soft backward
        return self.log_scales.exp()[:, None] * hard

    def advance(self, done: float) -> None:
        self.temperature = self.hot * (self.cold / self.hot) ** done


def _sinkhorn(scores: Float[Tensor, "n n"], sweeps: int) -> Float[Tensor, "n n"]:
    for _ in range(sweeps):  # by logarithms: cold scores overflow
        scores = scores - scores.logsumexp(1, keepdim=True)
        scores = scores - scores.logsumexp(0)
    return scores.exp()
