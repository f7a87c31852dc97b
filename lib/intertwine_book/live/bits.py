"""Values of a residual stream, rounded to few bits before and after a rotation."""

import math
from collections.abc import Mapping

import torch
from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor

from intertwine_book.figures.style import COLOURS
from intertwine_book.live.instrument import instrument

_COLOURS = {key: COLOURS[key] for key in ("blue", "red", "grey")}
Recorded = Mapping[str, Mapping[int, tuple[float, float]]]
"""For each kind of network and number of bits: accuracy as trained and rotated, percent."""


def hadamard(y: Float[Tensor, "*N n"], signs: Float[Tensor, " n"]) -> Float[Tensor, "*N n"]:
    """HDy, with Sylvester's H of entries ±1/√n for n a power of two, and D = diag(signs).

    Example:
        >>> hadamard(torch.tensor([8.0, 1.0, 1.0, 1.0]), torch.tensor([1.0, 1.0, -1.0, 1.0]))
        tensor([4.5000, 2.5000, 4.5000, 4.5000])
    """
    n = len(signs)
    if n & (n - 1):
        raise ValueError(f"Expected a power of two of channels, was given {n}: add channels that are 0.")
    H = torch.ones(1, 1, dtype=y.dtype)
    while len(H) < n:
        H = torch.cat([torch.cat([H, H], 1), torch.cat([H, -H], 1)])
    return (y * signs) @ (H / math.sqrt(n)).T


def stored(y: Float[Tensor, "*N n"], bits: int) -> Float[Tensor, "*N n"]:
    """The whole numbers that stand for y: the largest entry becomes the largest one.

    Example:
        >>> stored(torch.tensor([8.0, 1.0, 0.5]), 4)
        tensor([7., 1., 0.])
    """
    top = 2 ** (bits - 1) - 1
    return (y * (top / y.abs().amax(-1, keepdim=True))).round()


def bit_slider(
    tokens: Mapping[str, Float[Tensor, "k n"]],
    signs: Float[Tensor, " n"],
    recorded: Recorded,
    start: int = 3,
    name: str = "bits",
) -> HTML:
    """The instrument: the channels of a token as bars, with the value that is stored, before and after HD.

    Example:
        >>> kinds = {"with an outlier": torch.tensor([[8.0, 1.0, 1.0, 1.0]])}
        >>> page = bit_slider(kinds, torch.ones(4), {"with an outlier": {3: (10.0, 90.0), 4: (80.0, 95.0)}})
        >>> "as trained" in page.data
        True

    Args:
        tokens: for each kind of network some tokens, as a linear map reads them.
        signs: the diagonal of D.
        recorded: accuracies of such networks at each number of bits, as trained and rotated, in percent.
        start: the number of bits at first.
        name: the id of the instrument.
    """
    first = next(iter(tokens))
    networks = {
        kind: [[[float(f"{v:.4g}") for v in each] for each in way] for way in _both(y, signs).tolist()]
        for kind, y in tokens.items()
    }
    known = {kind: {b: list(pair) for b, pair in rows.items()} for kind, rows in recorded.items()}
    data = {"networks": networks, "known": known, "colours": _COLOURS}
    data |= {"start": {"network": first, "bits": start}}
    ways = [*_both(tokens[first][0], signs)]
    zeros = [int((stored(z, start) == 0).sum()) for z in ways]
    sentence = (
        f"The {len(signs)} channels of one token, and the values that {start} bits store (red marks). As "
        f"trained {zeros[0]} channels are stored as 0, rotated {zeros[1]}. "
        "With JavaScript you can change the bits."
    )
    return instrument(name, ["bits"], data, _still(ways, start), sentence)


def _both(y: Float[Tensor, "*N n"], signs: Float[Tensor, " n"]) -> Float[Tensor, "*N 2 n"]:
    """y and HDy, where pages are drawn."""
    y = y.double().cpu()
    return torch.stack([y, hadamard(y, signs.double().cpu())], -2)


def _still(ways: list[Float[Tensor, " n"]], count: int) -> str:
    most, parts = max(z.abs().max().item() for z in ways), []
    for left, title, z in zip((0, 350), ("as trained", "rotated"), ways, strict=True):
        step = z.abs().max().item() / (2 ** (count - 1) - 1)
        for k, (value, whole) in enumerate(zip(z.tolist(), stored(z, count).tolist(), strict=True)):
            height, x = 90 * abs(value) / most, left + 5 + 10 * k
            colour = _COLOURS["blue" if whole else "grey"]
            up = 95 - height if value > 0 else 95
            parts.append(f'<rect x="{x}" y="{up:.1f}" width="8" height="{height:.1f}" fill="{colour}"/>')
            at = 95 - 90 * whole * step / most
            parts.append(f'<path d="M{x - 1} {at:.1f}h10" stroke="{_COLOURS["red"]}" stroke-width="3"/>')
        parts.append(f'<text x="{left + 165}" y="212" text-anchor="middle">{title}</text>')
    return (
        '<svg viewBox="0 0 680 220" role="img" font-size="17" fill="currentColor" '
        f'aria-label="A bar for each channel, and the value that is stored">{"".join(parts)}</svg>'
    )
