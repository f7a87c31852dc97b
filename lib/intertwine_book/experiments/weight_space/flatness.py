"""The loss of a small network and its derivatives along an orbit, where all weights are one vector."""

import itertools
from collections.abc import Callable, Iterator, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace import relative_error
from intertwine_book.experiments.rows import Row, tabled
from intertwine_book.experiments.weight_space.orbits import Loss, TwoLayers

Vector = Float[Tensor, " d"]
LossAt = Callable[[Vector], Tensor]
Factors = Callable[[float], Vector]
"""t → the diagonal of g_t, which moves weights along an orbit."""


def _hessian(loss: LossAt, point: Vector) -> Float[Tensor, "d d"]:
    return torch.autograd.functional.hessian(loss, point)


@tabled
def orbit(loss: LossAt, point: Vector, factors: Factors) -> Iterator[Row]:
    """Loss, gradient, curvature and norm at a point moved by g_t, for t from −2 to 2.

    Columns t, loss, gradient_norm, largest_eigenvalue, relative_eigenvalue, squared_norm, hessian_error (of
    the congruence), loss_error (relative to t = 0), gradient_norm_ratio (relative to the smallest).
    """
    H, gradient, start = _hessian(loss, point), torch.func.grad(loss), loss(point).item()
    times = torch.linspace(-2, 2, 17).tolist()
    least = min(gradient(factors(t) * point).norm().item() for t in times)
    for t in times:
        g = factors(t)
        moved, congruent = g * point, H / g[:, None] / g
        relative = moved.abs()[:, None] * congruent * moved.abs()
        at, slope = loss(moved).item(), gradient(moved).norm().item()
        row: Row = {"t": t, "loss": at, "gradient_norm": slope}
        row["largest_eigenvalue"] = torch.linalg.eigvalsh(congruent)[-1].item()
        row["relative_eigenvalue"] = torch.linalg.eigvalsh(relative)[-1].item()
        row["squared_norm"] = moved.square().sum().item()
        row["hessian_error"] = relative_error(_hessian(loss, moved), congruent)
        yield row | {"loss_error": abs(at / start - 1), "gradient_norm_ratio": slope / least}


@tabled
def cuts(loss: LossAt, point: Vector, factors: Factors, at: Mapping[str, float]) -> Iterator[Row]:
    """The loss along a line through a point moved by g_t, in the direction of the largest eigenvalue there.

    Points are given as name → t. Columns at (the name), distance, loss.
    """
    H = _hessian(loss, point)
    for name, t in at.items():
        g = factors(t)
        top = torch.linalg.eigh(H / g[:, None] / g)[1][:, -1]
        for distance in torch.linspace(-0.6, 0.6, 25).tolist():
            value = loss(g * point + distance * top).item()
            yield {"at": name, "distance": distance, "loss": value}


@tabled
def surface(loss: Loss, weights: TwoLayers) -> Iterator[Row]:
    """The loss where what enters the hidden neurons is multiplied by p and what leaves them by q."""
    W1, b1, W2, b2 = weights
    sides = [k / 10 for k in range(1, 41)]
    for p, q in itertools.product(sides, sides):
        yield {"p": p, "q": q, "loss": loss([p * W1, p * b1, q * W2, b2]).item()}
