"""One trained network whose orbit a reader moves: neurons are scaled, swapped and turned."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

import torch
from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine_book import data
from intertwine_book.figures.style import COLOURS
from intertwine_book.live.export import exported, exported_digits, rounded
from intertwine_book.live.instrument import instrument

CHOICES: dict[str, tuple[str, type[nn.Module] | Any]] = {
    "relu": ("ReLU", nn.ReLU),
    "tanh": ("tanh", nn.Tanh),
    "abs": ("|x|", lambda: nn.LeakyReLU(-1.0)),
}
"""What a network may have between its layers, with the word for it."""
_COLOURS = {key: COLOURS[key] for key in ("blue", "red", "green", "grey")}
_SHOWN = 10  # digits


def of_digits(*activations: str, name: str = "orbit") -> HTML:
    """The instrument with a network for each activation, trained here on digits; 200 others judge it.

    Example:
        >>> "scale it" in of_digits("relu").data
        True
    """
    digits, unseen = (data.load("digits", part, device="cpu") for part in ("train", "test"))
    return orbit({each: trained(each, digits) for each in activations}, unseen[:200], name=name)


def trained(
    activation: str, digits: Dataset, width: int = 8, seed: int = 0, steps: int = 200
) -> nn.Sequential:
    """A network with one hidden layer that reads digits; the training takes about a second.

    Example:
        >>> from intertwine_book import data
        >>> trained("tanh", data.load("digits", "train", device="cpu"), steps=2)[2]
        Tanh()

    With the default seed and steps all eight neurons with ReLU are active on some digit.
    """
    generator = torch.Generator().manual_seed(seed)
    x, labels = digits.images.flatten(1).double(), digits.labels
    layers = [nn.Flatten(), nn.Linear(x.shape[1], width), CHOICES[activation][1]()]
    network = nn.Sequential(*layers, nn.Linear(width, len(digits.classes))).double()
    with torch.no_grad():
        for linear in _linear(network):
            draw = torch.rand(linear.weight.shape, generator=generator, dtype=torch.float64)
            linear.weight.copy_((2 * draw - 1) / linear.in_features**0.5)
            linear.bias.zero_()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(steps):
        batch = torch.randperm(len(x), generator=generator)[:128]
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(x[batch]), labels[batch]).backward()
        optimiser.step()
    return network.requires_grad_(False).eval()


def moved(network: nn.Sequential, A: Float[Tensor, "n n"], x: Float[Tensor, "N c h w"]) -> nn.Sequential:
    """The network with A before its activation, and after it the best matrix that undoes this on x.

    Example:
        >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 3)).double()
        >>> x = torch.randn(50, 1, 2, 2, dtype=torch.float64)
        >>> other = moved(net, torch.tensor([[0, 2.0], [0.5, 0]], dtype=torch.float64), x)
        >>> torch.allclose(net(x), other(x), atol=1e-6)  # a swap and two scalings
        True
    """
    made = deepcopy(network).requires_grad_(False)
    first, last = _linear(made)
    before = made[:3](x)
    first.weight.copy_(A @ first.weight)
    first.bias.copy_(A @ first.bias)
    R = torch.linalg.lstsq(made[:3](x), before, driver="gelsd").solution.T
    last.weight.copy_(last.weight @ R)
    return made


def pruned(network: nn.Sequential, count: int) -> nn.Sequential:
    """The network without the neurons whose incoming weights have the smallest norm.

    Example:
        >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        >>> int((pruned(net, 2)[3].weight == 0).all(0).sum())
        2
    """
    made = deepcopy(network).requires_grad_(False)
    first, last = _linear(made)
    last.weight[:, first.weight.norm(dim=1).argsort()[:count]] = 0
    return made


def accuracy(network: nn.Sequential, digits: Dataset) -> float:
    """The share of the digits that are right."""
    return (network(digits.images.double()).argmax(1) == digits.labels).double().mean().item()


def orbit(
    networks: Mapping[str, nn.Sequential],
    digits: Dataset,
    removed: int = 3,
    neuron: int = 0,
    name: str = "orbit",
) -> HTML:
    """The instrument: answers to ten digits, whole and pruned, and the neurons' weights with their norms.

    Example:
        >>> from intertwine_book import data
        >>> train, test = (data.load("digits", part, device="cpu") for part in ("train", "test"))
        >>> page = orbit({"relu": trained("relu", train, steps=2)}, test[:20])
        >>> "scale it" in page.data
        True

    With several networks a reader chooses the activation, can change signs, and turn neurons in pairs.

    Args:
        networks: from names of `CHOICES` to networks of `trained`; the first is shown first.
        digits: what accuracies are of; the first ten are shown.
        removed: neurons that pruning removes.
        neuron: the one that is chosen first.
        name: the id of the instrument.
    """
    first = next(iter(networks))
    packed = {key: {"network": exported(net), "word": CHOICES[key][0]} for key, net in networks.items()}
    given: dict[str, Any] = {"networks": packed, "digits": exported_digits(digits), "activation": first}
    given |= {"removed": removed, "neuron": neuron, "colours": _COLOURS}
    network = rounded(networks[first])
    whole, fewer = (100 * accuracy(net, digits) for net in (network, pruned(network, removed)))
    sentence = (
        f"A network with {_linear(network)[0].out_features} hidden neurons reads {whole:.1f} % of "
        f"{len(digits)} digits. Without its {removed} neurons of smallest norm (dashed) it reads "
        f"{fewer:.1f} %. With JavaScript you can scale and swap neurons: the function stays, and after a "
        "scaling pruning may remove others."
    )
    return instrument(
        name, ["engine", "linear_algebra", "orbit"], given, _still(network, digits, removed), sentence
    )


def _linear(network: nn.Sequential) -> tuple[nn.Linear, nn.Linear]:
    """Before and after the activation."""
    return cast(nn.Linear, network[1]), cast(nn.Linear, network[3])


def _still(network: nn.Sequential, digits: Dataset, removed: int) -> str:
    """What the instrument shows first."""
    some = digits.images[:_SHOWN].double()
    whole, fewer = (net(some).argmax(1).tolist() for net in (network, pruned(network, removed)))
    parts = [_text(0, y, word, anchor="start") for word, y in _WORDS.items()]
    grey = (some - some.min()) / (some.max() - some.min())
    for k in range(_SHOWN):
        parts.append(_picture(66 + 34 * k, 4, 3.5, grey[k], "currentColor"))
        parts.append(_text(80 + 34 * k, 52, whole[k]))
        parts.append(_text(80 + 34 * k, 72, fewer[k], fill=_COLOURS["red"] if whole[k] != fewer[k] else None))
    weights = _linear(network)[0].weight
    norms = weights.norm(dim=1)
    dashed = f'fill="none" stroke="{_COLOURS["grey"]}" stroke-dasharray="3 2"'
    out = norms.argsort()[:removed].tolist()
    for k, row in enumerate(weights / weights.abs().max()):
        x, height = 60 + 42.5 * k, min(80.0, 9 * norms[k].item())
        parts += [
            _picture(x + 2, 89, 4.5, way * row, _COLOURS[name])
            for name, way in {"blue": 1, "red": -1}.items()
        ]
        look = dashed if k in out else f'fill="{_COLOURS["blue"]}"'
        parts.append(
            f'<rect x="{x + 8:.1f}" y="{240 - height:.1f}" width="24" height="{height:.1f}" {look}/>'
        )
        parts += [_text(x + 20, 234 - height, f"{norms[k]:.1f}"), _text(x + 20, 258, k + 1)]
    return (
        '<svg viewBox="0 0 400 268" role="img" font-size="13" fill="currentColor" aria-label="Ten digits '
        'with the answers of the network and of the pruned network; the weights and norms of its neurons">'
        f"{''.join(parts)}</svg>"
    )


_WORDS = {"digit": 22, "answer": 52, "pruned": 72, "weights": 112, "norm": 218}


def _text(x: float | int, y: float | int, text: Any, anchor: str = "middle", fill: str | None = None) -> str:
    coloured = f' fill="{fill}" text-decoration="underline"' if fill else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{coloured}>{text}</text>'


def _picture(x: float | int, y: float | int, size: float, shares: Float[Tensor, "..."], colour: str) -> str:
    """8 × 8 squares of one colour, as strong as the shares say, to a tenth."""
    parts, tenths = [], (10 * shares.flatten()).round().int().clamp(0, 10)
    for tenth in range(1, 11):
        places = (tenths == tenth).nonzero().flatten().tolist()
        if places:
            d = "".join(
                f"M{x + size * (k % 8):.4g} {y + size * (k // 8):.4g}h{size}v{size}h-{size}" for k in places
            )
            parts.append(f'<path fill="{colour}" fill-opacity="{tenth / 10}" d="{d}"/>')
    return "".join(parts)
