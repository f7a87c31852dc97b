"""A matrix that leaves the identity before a ReLU: what becomes of four inputs and of a trained network."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import Statistics, least_squares
from intertwine.data import Dataset
from intertwine.dissection import haar_rotation
from intertwine.features import rows
from intertwine_book.figures.style import COLOURS
from intertwine_book.live.instrument import instrument

_INPUTS = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
_COLOURS = [COLOURS[name] for name in ("blue", "orange", "green", "pink")]
_STEP = 5  # degrees
_LOOK = {"colours": _COLOURS, "repaired": "currentColor", "bare": COLOURS["grey"]}


def turning(basis: Float[Tensor, "n n"], degrees: int) -> Float[Tensor, "n n"]:
    """A rotation by one angle in every plane that two successive columns of an orthogonal basis span.

    Example:
        >>> turned = turning(torch.eye(2), 90) @ torch.tensor([1.0, 0.0])
        >>> torch.allclose(turned, torch.tensor([0.0, 1.0]), atol=1e-6)
        True
    """
    t = torch.deg2rad(torch.tensor(float(degrees), dtype=basis.dtype))
    cos, sin = t.cos(), t.sin()
    plane = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])
    return basis @ torch.block_diag(*[plane] * (len(basis) // 2)) @ basis.T


def stretching(basis: Float[Tensor, "n n"], degrees: int) -> Float[Tensor, "n n"]:
    """A factor of 2^(degrees/180) in every second channel, its inverse in the others: in ReLU's group.

    Example:
        >>> stretching(torch.eye(2), 180).diag()
        tensor([2.0000, 0.5000])
    """
    return torch.diag(2 ** ((1 - 2 * (torch.arange(len(basis)) % 2)) * degrees / 180)).to(basis)


def angle(
    network: nn.Sequential,
    layer: str,
    fit: Dataset,
    judged: Dataset,
    *,
    name: str = "angle",
    degrees: int = 45,
    seed: int = 0,
) -> HTML:
    """Two neurons and a layer of a trained network: a turn before the ReLU, and the best repair after it.

    Example:
        >>> from intertwine_book import data, models
        >>> few = data.load("digits", "test", device="cpu")[:20]
        >>> page = angle(models.myrtle(2, norm=False, in_channels=1), "conv2", few, few)
        >>> "It leaves 25\N{NO-BREAK SPACE}% unexplained" in page.data  # of the four inputs
        True

    The layer has an even number of outputs and is followed by a ReLU. The repair is fitted by least squares
    on the first digits, and accuracy is that on the others. All angles in steps of 5° are computed here. The
    instrument opens at the angle of the still picture, in degrees.
    """
    small = deepcopy(network).double().eval()
    channels = small.get_parameter(f"{layer}.weight").shape[0]
    basis, plane = (
        haar_rotation(channels, torch.Generator().manual_seed(seed)).double(),
        torch.eye(2).double(),
    )
    states = {
        kind: [_state(small, layer, of(plane, at), of(basis, at), fit, judged) for at in range(0, 181, _STEP)]
        for kind, of in {"turn": turning, "stretch": stretching}.items()
    }
    data = {"states": states, "wanted": _INPUTS.relu().tolist(), "step": _STEP, "look": _LOOK}
    data |= {"alone": states["stretch"][0]["accuracies"][0], "start": degrees}
    opening = states["turn"][degrees // _STEP]
    bare, right = (100 * share for share in opening["accuracies"])
    missed, left = (100 * opening[name] for name in ("missed", "left"))
    sentence = (
        f"Left: four inputs after a turn by {degrees}° and ReLU. Right: where they belong (rings), joined "
        f"with where the best repair puts them. It leaves {missed:.0f} % unexplained. The same turn in a "
        f"trained network: the best repair leaves {left:.1f} % unexplained. Of the digits {right:.1f} % are "
        f"right with the repair, {bare:.1f} % without."
    ).replace(" %", "\N{NO-BREAK SPACE}%")
    return instrument(name, ["angle"], data, _still(opening), sentence)


def _state(
    network: nn.Sequential, layer: str, B: Tensor, A: Tensor, fit: Dataset, judged: Dataset
) -> dict[str, Any]:
    """What the instrument shows of a matrix B of the plane, and of one like it, A, of the channels."""
    moved, wanted = _INPUTS @ B.T, _INPUTS.relu()
    mended = moved.relu() @ least_squares(Statistics.of(moved.relu(), wanted)).weight.T
    missed = ((mended - wanted).square().sum() / wanted.square().sum()).item()
    left, right, bare = repaired(network, layer, A, fit, judged)
    points = {"moved": (moved * 1e6).round() / 1e6, "mended": (mended * 1e6).round() / 1e6}
    shares = {"missed": missed, "left": left / 100, "accuracies": [bare / 100, right / 100]}
    return {name: each.tolist() for name, each in points.items()} | shares


def repaired(
    network: nn.Sequential, layer: str, A: Float[Tensor, "n n"], fit: Dataset, judged: Dataset
) -> tuple[float, float, float]:
    """A matrix before the ReLU of a layer: what the best repair leaves, and accuracy with it and without.

    Example:
        >>> from intertwine_book import data, models
        >>> few = data.load("digits", "test", device="cpu")[:20]
        >>> network = models.myrtle(2, norm=False, in_channels=1).double()
        >>> round(repaired(network, "conv2", torch.eye(4).double(), few, few)[0], 6)
        0.0

    All three in percent; the repair is fitted by least squares on the first data set.
    """
    before = [each for each, _ in network.named_children()].index(layer) + 1
    front, rest = network[:before], network[before + 1 :]

    def activations(data: Dataset, matrix: Tensor) -> Tensor:
        return torch.einsum("ij,njhw->nihw", matrix, front(data.images.to(A))).relu()

    with torch.no_grad():
        X, Y = rows(activations(fit, A)), rows(activations(fit, torch.eye(len(A)).to(A)))
        R = least_squares(Statistics.of(X, Y)).weight.to(A)
        left = ((X @ R.T - Y).square().sum() / Y.square().sum()).item()
        bent = activations(judged, A)
        mended = torch.einsum("ij,njhw->nihw", R, bent)
        right, bare = (
            (rest(each).argmax(1) == judged.labels).double().mean().item() for each in (mended, bent)
        )
    return 100 * left, 100 * right, 100 * bare


def _still(state: Mapping[str, Any]) -> str:
    """Two planes: the inputs after the ReLU, and after the repair beside where they belong."""
    axes = '<path d="M-54 0H54M0 -54V54" stroke="currentColor" opacity="0.4"/>'
    hidden, left = torch.tensor(state["moved"]).relu(), [axes]
    right = [f'<g transform="translate(120)">{axes}']
    for k, (colour, at, to, put) in enumerate(
        zip(_COLOURS, hidden, _INPUTS.relu(), state["mended"], strict=True)
    ):
        r, ring = 7 - 1.2 * k, f'fill="none" stroke="{colour}" stroke-width="1.5"'
        (u, v), (a, b), (c, d) = (f"{24 * x:.1f} {-24 * y:.1f}".split() for x, y in (at, to, put))
        left.append(f'<circle cx="{u}" cy="{v}" r="{r:.1f}" fill="{colour}"/>')
        right.append(f'<path d="M{a} {b}L{c} {d}" stroke="{colour}" stroke-width="2"/>')
        right.append(f'<circle cx="{a}" cy="{b}" r="{r + 2:.1f}" {ring}/>')
        right.append(f'<circle cx="{c}" cy="{d}" r="{r - 1:.1f}" fill="{colour}"/>')
    label = "Four inputs after a turn and ReLU, and after the repair"
    opening = f'<svg viewBox="-55 -55 230 110" role="img" aria-label="{label}">'
    return opening + "".join(left + right) + "</g></svg>"
