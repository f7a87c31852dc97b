"""Permutations: fixed ones, as the identity is; with positive scales, G_ReLU; relaxed, for the task loss."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import LinearMap, Statistics, assignment, g_relu, permutation
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps.stitch import Stitch, parameter


class Identity:
    """No stitch, the baseline: channels that only one of the layers has are dropped, or 0. Not trained."""

    @staticmethod
    def start(junction: Junction, generator: torch.Generator) -> LinearMap:
        return LinearMap(torch.eye(*junction.widths[::-1]))


class Permutation:
    """The permutation nearest to the activations. Not trained."""

    fit = staticmethod(permutation)


class RandomPermutation:
    """A permutation drawn at random, the baseline of permutations with scales. Not trained."""

    @staticmethod
    def start(junction: Junction, generator: torch.Generator) -> LinearMap:
        (p, q), most = junction.widths, max(junction.widths)
        return LinearMap(torch.eye(most)[torch.randperm(most, generator=generator)][:q, :p])


def best_match(statistics: Statistics) -> tuple[Float[Tensor, "p q"], Tensor, Tensor, Float[Tensor, " k"]]:
    """Cosines between channels a and b (0 for channels that are 0), the pairs whose cosines have the largest
    sum, and their log ‖b‖/‖a‖ (0 where either is never active).
    """
    AA, AB, BB = statistics.products()
    norms_a, norms_b = AA.diagonal().sqrt(), BB.diagonal().sqrt()
    # a unit that never fires has products 0, so that its cosines are 0 with any denominator
    cosines = AB / (norms_a[:, None] * norms_b).clamp(min=1e-300)
    inputs, outputs = assignment(cosines, maximize=True)
    a, b = norms_a[inputs], norms_b[outputs]
    active = (a > 0) & (b > 0)
    return cosines, inputs, outputs, torch.where(active, b / a.where(active, 1), 1).log()


def best_permutation(gain: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The permutation matrix whose entries of `gain` have the largest sum."""
    return torch.zeros_like(gain).index_put(assignment(gain.detach(), maximize=True), gain.new_ones(()))


def one_width(widths: tuple[int, int]) -> int:
    """The width of both layers; ValueError where they differ."""
    p, q = widths
    if p != q:
        kind = "scaled permutation"
        raise ValueError(
            f"Expected two layers of the same width, was given {p} and {q}: use the kind {kind!r}."
        )
    return p


class Matched(Stitch):
    """The fixed permutation of best matching activations, with positive scales, which may be trained.

    Example:
        >>> from intertwine.alignment import Statistics
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
        _, inputs, outputs, log_ratios = best_match(statistics)
        # buffers: they follow the stitch to another device, and no step changes the match
        self.inputs, self.outputs = nn.Buffer(inputs), nn.Buffer(outputs)
        # logarithms: every step of a training leaves the scales positive
        self.log_scales = parameter(log_ratios)

    @classmethod
    def fit(cls, statistics: Statistics) -> "Matched":
        return cls(statistics)

    @classmethod
    def start(cls, junction: Junction, generator: torch.Generator) -> "Matched":
        return cls(junction.statistics)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        p, q = self.widths
        weight = torch.zeros(q, p, dtype=self.log_scales.dtype, device=self.log_scales.device)
        return weight.index_put((self.outputs, self.inputs), self.log_scales.exp())


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
        # a scale belongs to an output, whichever input it is matched with later
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
            self.steps += 1  # so only `forward` may ask for the weight while training, and once a step
            soft = _sinkhorn_of_logarithms(self.scores / self.temperature, self.sweeps)
            hard = hard + soft - soft.detach()  # hard forward, soft backward
        return self.log_scales.exp()[:, None] * hard

    def advance(self, done: float) -> None:
        self.temperature = self.hot * (self.cold / self.hot) ** done


def _sinkhorn_of_logarithms(scores: Float[Tensor, "n n"], sweeps: int) -> Float[Tensor, "n n"]:
    for _ in range(sweeps):  # by logarithms: cold scores overflow
        scores = scores - scores.logsumexp(1, keepdim=True)
        scores = scores - scores.logsumexp(0)
    return scores.exp()


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
        # first the permutation: scales could make up for a bad one
        self.scaled = done >= 0.5

    @torch.no_grad()
    def project(self) -> None:
        # after the step, as the authors do: a projected gradient, not a penalty
        self.scales.clamp_(min=0)
        self.P.copy_(_sinkhorn(self.P.clamp(min=0), 16))


def _sinkhorn(P: Float[Tensor, "n n"], sweeps: int) -> Float[Tensor, "n n"]:
    for _ in range(sweeps):
        P = P / P.sum(1, keepdim=True).clamp(min=1e-12)
        P = P / P.sum(0).clamp(min=1e-12)
    return P
