"""Which scalars a make σ(ax) a multiple of σ(x): decided numerically, with a certificate."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.activations import Activation, as_activation
from intertwine.groups.probe import Probe
from intertwine.groups.scalar import Certificate, ScalarGroup

PROBE_TOLERANCE = 1e-9  # of the failure of σ(ax) = bσ(x), relative to the values
# −1 decides on signs; no discrete group contains both 2 and 3, so that what passes is all of R_{>0}
WITNESSES = (-1.0, 2.0, 3.0, 5.0, math.sqrt(2), math.pi)
LOGARITHMS = (0.05, 7.0)  # range of log|λ| for the generator λ of a discrete group


def scalar_group(activation: str | Callable[[Tensor], Tensor] | Activation) -> ScalarGroup:
    """The numbers a ≠ 0 for which some b has $σ(ax) = bσ(x)$ for all x: H_σ (godfrey2022 §3 and E.2).

    Example:
        >>> [
        ...     str(scalar_group(name))
        ...     for name in ("GELU", "tanh", "ReLU", "abs", "Identity")
        ... ]
        ['trivial', 'signs', 'positive', 'nonzero', 'linear']
        >>> scalar_group(lambda x: x * torch.cos(x.abs().log().clamp(min=-99)))
        ScalarGroup(discrete, {±23.1406926328^k})

    **A few numbers decide.** If σ is continuous but for finitely many points, H_σ is a closed subgroup of
    R^*. (Measurability is not enough: the indicator of {2^a 3^b} has the dense group {2^a 3^b}.) So R_{>0} is
    in H_σ as soon as two positive numbers are of which none is a rational power of the other. Six witnesses
    are tried, −1 among them.

    **Discrete groups are searched for** where R_{>0} is not in H_σ: a generator λ of either sign, with
    1.052 ≤ |λ| ≤ 1096. The deepest minima of the mean residual over that range are refined to machine
    precision. One that passes is a power of the generator. The generator is its root of highest degree that
    passes. For σ with jumps only λ in {2, 3, 5} and their roots are found.

    **A number a passes** if |σ(ax) − bσ(x)| is at most 10⁻⁹, relative to the largest |σ(ay)| and |bσ(y)| over
    |y| ≤ max(|x|, 1), at each of 12,289 points, dense over 10^-6 < |x| < 10^6. Points where σ overflows are
    left out. What σ does outside these scales, below that size, or on intervals shorter than 1.3 % of x,
    goes unnoticed.

    Args:
        activation: a name, a module or an elementwise callable, as `as_activation` takes it.

    Returns:
        The group; `.certificate` holds the largest residual accepted and the smallest refused. The kinds
        linear, affine and constant (κx, κx + τ, τ) mean that G_σ has more than monomial matrices.

    Raises:
        ActivationError: σ is not elementwise, not deterministic or not finite.
    """
    probe = Probe.of(as_activation(activation))
    # the slope between ±x for the largest x where σ is finite; points are 0, x, −x, x', −x', …
    slopes = (probe.values[1::2] - probe.values[2::2]) / (probe.x[1::2] - probe.x[2::2])
    slope, offset = slopes[slopes.isfinite()][-1].item(), probe.values[0].item()
    constant, affine = probe.affine_residual(0.0, offset), probe.affine_residual(slope, offset)
    # affine σ have more than monomial matrices, so they are told apart before scalars are tried
    if constant <= PROBE_TOLERANCE:
        return ScalarGroup("constant", certificate=Certificate(constant, math.inf))
    residuals = probe.residual(torch.tensor(WITNESSES, dtype=torch.float64)).amax(1)
    if affine <= PROBE_TOLERANCE:
        linear = abs(offset) <= PROBE_TOLERANCE * probe.floor
        return ScalarGroup("linear" if linear else "affine", certificate=_certificate(residuals, affine))
    signed = bool(residuals[0] <= PROBE_TOLERANCE)
    if (residuals[1:] <= PROBE_TOLERANCE).all():
        return ScalarGroup("nonzero" if signed else "positive", certificate=_certificate(residuals))
    generator, more = _discrete(probe, [1.0] if signed else [1.0, -1.0])
    certificate = _certificate(torch.cat([residuals, more]))
    if generator is None:
        return ScalarGroup("signs" if signed else "trivial", certificate=certificate)
    return ScalarGroup("discrete", generator, signed, certificate)


def _certificate(residuals: Float[Tensor, " k"], accepted: float = 0.0) -> Certificate:
    """Both sides of the decision: the largest residual that passed, and the smallest that did not."""
    passed = residuals <= PROBE_TOLERANCE
    return Certificate(
        max([accepted, *residuals[passed].tolist()]), min([math.inf, *residuals[~passed].tolist()])
    )


def _discrete(probe: Probe, signs: list[float]) -> tuple[float | None, Float[Tensor, " candidates"]]:
    """The generator of a discrete H_σ if there is one, and the residuals of the candidates."""
    coarse = Probe.of(probe.activation, 160)
    grid = torch.linspace(math.log(LOGARITHMS[0]), math.log(LOGARITHMS[1]), 500, dtype=torch.float64).exp()
    exact = torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64)  # across a jump no minimum finds them

    def deepest(sign: float) -> Tensor:
        return sign * minima(lambda t: coarse.residual(sign * t.exp()).mean(1), grid).exp()

    candidates = torch.cat([exact, *map(deepest, signs)])
    residuals = probe.residual(candidates).amax(1)
    if (residuals > PROBE_TOLERANCE).all():
        return None, residuals
    # the candidate that passed is a power of the generator, the smallest root that passes, too
    power = candidates[residuals <= PROBE_TOLERANCE].abs().min()
    degrees = torch.arange(max(1, int(power.log() / LOGARITHMS[0])), 0, -1, dtype=torch.float64)
    roots = torch.outer(power ** (1 / degrees), torch.tensor(signs, dtype=torch.float64)).flatten()
    roots = roots[coarse.residual(roots).amax(1) <= 1e-6]  # to try few of them on all points
    passing = (root for root in roots if (probe.residual(root[None]) <= PROBE_TOLERANCE).all())
    return next(passing).item(), residuals  # of degree 1 is the candidate itself, which has passed


def minima(
    function: Callable[[Tensor], Tensor], grid: Float[Tensor, " points"], most: int = 4
) -> Float[Tensor, " found"]:
    """Where a function that touches 0 like |t| does so: its deepest local minima over a grid, refined.

    Empty if no minimum continues to fall as the grid is refined.
    """
    values = function(grid)
    inner = values[1:-1]
    lowest = ((inner < values[:-2]) & (inner <= values[2:])).nonzero()[:, 0] + 1
    lowest = lowest[values[lowest].argsort()[:most]]
    centre, width = grid[lowest], (grid[lowest + 1] - grid[lowest - 1]) / 2
    steps = torch.linspace(-1, 1, 33, dtype=torch.float64)
    for refinement in range(18):
        fine = centre[:, None] + width[:, None] * steps
        values = function(fine.flatten()).view(fine.shape)
        least, index = values.min(1)
        centre, width = fine.gather(1, index[:, None])[:, 0], width / 8
        if refinement == 3:  # the grid is 4,096 times finer; minima above 0 have stopped falling
            centre, width = centre[least < 1e-3], width[least < 1e-3]
        if len(centre) == 0:
            break
    return centre
