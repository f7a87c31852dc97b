"""Stitches in G_ReLU: a permutation with positive scales, found by task loss in three ways."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import Statistics, assignment
from intertwine.stitching.maps import Stitch, parameter


class Matched(Stitch):
    """The fixed permutation of best matching activations, with trained scales.

    Example:
        >>> A = torch.rand(100, 2)
        >>> Matched(Statistics.of(A, 2 * A[:, [1, 0]])).weight.tolist()
        [[0.0, 2.0], [2.0, 0.0]]

    The match maximises the sum of cosines between matched channels, by linear assignment, as in
    G_ReLU-Procrustes (godfrey2022 eq. 5.2); scales start at ‖b‖/‖a‖ and stay positive. Least-squares scales
    (`alignment.g_relu`) shrink what matches badly, and stitch worse. Where p ≠ q, the smaller number of
    channels is matched.
    """

    def __init__(self, statistics: Statistics) -> None:
        super().__init__()
        self.widths = statistics.widths
        _, inputs, outputs, log_ratios = _best_match(statistics)
        self.inputs, self.outputs = nn.Buffer(inputs), nn.Buffer(outputs)
        self.log_scales = parameter(log_ratios)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        p, q = self.widths
        weight = torch.zeros(q, p, dtype=self.log_scales.dtype, device=self.log_scales.device)
        return weight.index_put((self.outputs, self.inputs), self.log_scales.exp())


class Entropic(Stitch):
    """Annealed entropic assignment: a permutation that the task loss may still change, and scales.

    Example:
        >>> A = torch.rand(100, 2)
        >>> Entropic(Statistics.of(A, 2 * A[:, [1, 0]])).weight.detach().round(decimals=4).tolist()
        [[0.0, 2.0], [2.0, 0.0]]

    The forward pass uses the best permutation for a matrix of scores, the backward pass the doubly stochastic
    matrix of Sinkhorn's algorithm for scores/temperature (straight-through). Scores start from the cosines of
    activations, scales at ‖b‖/‖a‖; the temperature falls from `hot` to `cold`, in units of a cosine. p = q.

    The assignment is solved on the CPU, in time n³: training keeps it for n/64 steps where n is 128 or more.
    """

    sweeps, hot, cold = 20, 0.3, 0.03

    def __init__(self, statistics: Statistics) -> None:
        super().__init__()
        width = one_width(statistics.widths)
        cosines, _, outputs, log_ratios = _best_match(statistics)
        self.scores = parameter(cosines.T)
        self.log_scales = parameter(torch.zeros_like(log_ratios).index_put((outputs,), log_ratios))
        self.temperature, self.steps, self.every = self.hot, 0, max(1, width // 64)
        self.kept: Tensor = nn.Buffer(torch.empty(0), persistent=False)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        if not self.training or self.steps % self.every == 0:
            self.kept = _permutation(self.scores)
        hard = self.kept
        if self.training:
            self.steps += 1
            soft = _sinkhorn_log(self.scores / self.temperature, self.sweeps)
            hard = hard + soft - soft.detach()
        return self.log_scales.exp()[:, None] * hard

    def advance(self, done: float) -> None:
        self.temperature = self.hot * (self.cold / self.hot) ** done


class Birkhoff(Stitch):
    """The relaxation of godfrey2022 §4: P diag(s), P in the polytope of doubly stochastic matrices.

    Example:
        >>> stitch = Birkhoff(4, generator=torch.Generator().manual_seed(0))
        >>> stitch.weight.sum(1).detach().round(decimals=4)
        tensor([1., 1., 1., 1.])

    The authors' steps. P starts uniform in [0, 1] after 100 sweeps of Sinkhorn (rows, then columns divided by
    their sums), s at 1. After every step negative entries become 0, and 16 sweeps follow. The loss has the
    term −alpha·‖P‖_F, which draws P to the vertices. For the first half of the training s is left out. In
    evaluation mode P is the nearest permutation, by linear assignment.
    """

    undecayed = ("P",)

    def __init__(self, n: int, *, alpha: float = 0.1, generator: torch.Generator) -> None:
        super().__init__()
        start = torch.rand(n, n, generator=generator)
        self.P, self.scales, self.alpha = parameter(_sinkhorn(start, 100)), parameter(torch.ones(n)), alpha
        self.scaled = False

    @property
    def weight(self) -> Float[Tensor, "n n"]:
        P = self.P if self.training else _permutation(self.P)
        return P * self.scales if self.scaled else P

    def penalty(self) -> Tensor:
        return -self.alpha * self.P.norm()

    def advance(self, done: float) -> None:
        self.scaled = done >= 0.5

    @torch.no_grad()
    def project(self) -> None:
        self.scales.clamp_(min=0)
        self.P.copy_(_sinkhorn(self.P.clamp(min=0), 16))


def one_width(widths: tuple[int, int]) -> int:
    """The width of both layers; ValueError where they differ."""
    p, q = widths
    if p != q:
        kind = "scaled permutation"
        raise ValueError(
            f"Expected two layers of the same width, was given {p} and {q}: use the kind {kind!r}."
        )
    return p


def _best_match(statistics: Statistics) -> tuple[Float[Tensor, "p q"], Tensor, Tensor, Float[Tensor, " k"]]:
    """Cosines between channels a and b (0 for channels that are 0), the pairs whose cosines have the largest
    sum, and their log ‖b‖/‖a‖ (0 where either is never active).
    """
    AA, AB, BB = statistics.products()
    norms_a, norms_b = AA.diagonal().sqrt(), BB.diagonal().sqrt()
    cosines = AB / (norms_a[:, None] * norms_b).clamp(min=1e-300)
    inputs, outputs = assignment(cosines, maximize=True)
    a, b = norms_a[inputs], norms_b[outputs]
    active = (a > 0) & (b > 0)
    return cosines, inputs, outputs, torch.where(active, b / a.where(active, 1), 1).log()


def _permutation(gain: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    return torch.zeros_like(gain).index_put(assignment(gain.detach(), maximize=True), gain.new_ones(()))


def _sinkhorn(P: Float[Tensor, "n n"], sweeps: int) -> Float[Tensor, "n n"]:
    for _ in range(sweeps):
        P = P / P.sum(1, keepdim=True).clamp(min=1e-12)
        P = P / P.sum(0).clamp(min=1e-12)
    return P


def _sinkhorn_log(scores: Float[Tensor, "n n"], sweeps: int) -> Float[Tensor, "n n"]:
    for _ in range(sweeps):
        scores = scores - scores.logsumexp(1, keepdim=True)
        scores = scores - scores.logsumexp(0)
    return scores.exp()
