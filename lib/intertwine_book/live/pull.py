"""A matrix pulled through an activation: σ(Ax) and Bσ(x), one over the other, for a 2×2 matrix A."""

import math
from collections.abc import Callable

import torch
from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor, nn

from intertwine_book.figures.style import COLOURS
from intertwine_book.live.instrument import instrument

_ROOT = round(math.sqrt(0.5), 2)
PRESETS: dict[str, list[float]] = {
    "turn by 45°": [_ROOT, -_ROOT, _ROOT, _ROOT],
    "turn by 90°": [0, -1, 1, 0],
    "change a sign": [-1, 0, 0, 1],
    "swap and scale": [0, 1.5, 0.5, 0],
    "identity": [1, 0, 0, 1],
}
"""Matrices to begin with, by rows."""
_ACTIVATIONS: dict[str, tuple[str, Callable[[Tensor], Tensor], float, float]] = {  # shown, σ, edge and size
    "relu": ("ReLU", torch.relu, -0.4, 2.2),
    "abs": ("abs", torch.abs, -0.4, 2.2),
    "tanh": ("tanh", torch.tanh, -1.2, 2.4),
    "gelu": ("GELU", nn.functional.gelu, -0.6, 2.4),
    "identity": ("none", torch.clone, -2.1, 4.2),
}


def pull(start: str = "turn by 45°", activation: str = "relu", name: str = "pull") -> HTML:
    """A grid of points x, and σ(Ax) with Bσ(x) over it: a reader drags A and chooses σ.

    Example:
        >>> "misses" in pull().data
        True

    B is the least-squares solution on the grid. The lines between the points are what it leaves; the number
    is their mean square, in percent of that of σ(Ax). For an invertible A it is 0 exactly where A can be
    pulled through σ. The green knobs are A's columns.

    Args:
        start: one of `PRESETS`.
        activation: relu, abs, tanh, gelu or identity.
        name: the id of the instrument.
    """
    A = torch.tensor(PRESETS[start], dtype=torch.float64).view(2, 2)
    shown = {key: {"shown": w, "from": f, "size": s} for key, (w, _, f, s) in _ACTIVATIONS.items()}
    colours = {key: COLOURS[key] for key in ("grey", "pink", "sky", "orange", "green", "red")}
    data = {"activations": shown, "presets": PRESETS, "colours": colours}
    data |= {"start": {"activation": activation, "A": PRESETS[start]}}
    word, sigma, edge, size = _ACTIVATIONS[activation]
    said = (
        f"Dots: {word}(Ax) for points x of a grid, and A = {start}. Rings: B {word}(x) with the best B. "
        f"It misses {100 * left(sigma, A):.0f} % of {word}(Ax), in squares. With JavaScript you can drag A."
    )
    return instrument(name, ["engine", "linear_algebra", "pull"], data, _still(sigma, A, edge, size), said)


def best(
    sigma: Callable[[Tensor], Tensor], A: Float[Tensor, "2 2"]
) -> tuple[Float[Tensor, "2 289"], Float[Tensor, "2 289"], Float[Tensor, "2 2"]]:
    """σ(Ax), Bσ(x) and B on the grid of the instrument.

    Example:
        >>> wanted, made, B = best(torch.relu, torch.tensor([[0, 1.5], [0.5, 0]], dtype=torch.float64))
        >>> torch.allclose(wanted, made)
        True
    """
    side = torch.linspace(-1, 1, 17, dtype=torch.float64)
    x = torch.cartesian_prod(side, side).T
    wanted, after = sigma(A @ x), sigma(x)
    B = torch.linalg.lstsq(after.T, wanted.T, driver="gelsd").solution.T
    return wanted, B @ after, B


def left(sigma: Callable[[Tensor], Tensor], A: Float[Tensor, "2 2"]) -> float:
    """The share of the mean square of σ(Ax) that the best B leaves.

    Example:
        >>> f"{left(torch.abs, -torch.eye(2, dtype=torch.float64)):.0%}"
        '0%'
    """
    wanted, made, _ = best(sigma, A)
    return ((wanted - made).square().sum() / wanted.square().sum()).item()


def _still(sigma: Callable[[Tensor], Tensor], A: Float[Tensor, "2 2"], edge: float, size: float) -> str:
    wanted, made, _ = best(sigma, A)
    some = [17 * i + j for i in range(0, 17, 2) for j in range(0, 17, 2)]  # all are fitted
    r, pairs = 0.018 * size, list(zip(wanted.T[some].tolist(), made.T[some].tolist(), strict=True))
    lines = "".join(f"M{u:.3f} {-v:.3f}L{x:.3f} {-y:.3f}" for (u, v), (x, y) in pairs)
    dots = "".join(f"M{u:.3f} {-v:.3f}h0" for (u, v), _ in pairs)
    rings = "".join(f'<circle cx="{x:.3f}" cy="{-y:.3f}" r="{r:.3f}"/>' for _, (x, y) in pairs)
    return (
        f'<svg viewBox="{edge} {-edge - size} {size} {size}" role="img" style="max-width: 24em" fill="none" '
        f'aria-label="Points and rings, and a line from each point to its ring">'
        f'<path d="M-3 0H3M0-3V3" stroke="{COLOURS["grey"]}" stroke-width="0.015"/>'
        f'<path d="{lines}" stroke="{COLOURS["red"]}" stroke-width="{0.006 * size:.3f}"/>'
        f'<g stroke="currentColor" stroke-width="{0.005 * size:.3f}">{rings}</g>'
        f'<path d="{dots}" stroke="{COLOURS["sky"]}" stroke-width="{0.026 * size:.3f}" '
        'stroke-linecap="round"/></svg>'
    )
