"""The valley of the loss around an orbit, and a ball that descends into it and keeps its imbalance."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from IPython.display import HTML
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from intertwine_book import data
from intertwine_book.figures.style import COLOURS
from intertwine_book.live.instrument import instrument

_COLOURS = {key: COLOURS[key] for key in ("green", "grey", "orange", "blue")}
_FAR, _HIGH = 15, 3
"""What the picture of the loss across the orbit shows: to this distance, and this loss."""


class Valley:
    """The loss of a ReLU network with one hidden layer, in the plane of two scales of its weights.

    Example:
        >>> draw = torch.Generator().manual_seed(0)
        >>> shapes = (4, 6), (4,), (3, 4), (3,)
        >>> weights = [torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes]
        >>> x, labels = torch.randn(20, 6, generator=draw, dtype=torch.float64), torch.arange(20) % 3
        >>> valley = Valley(weights, x, labels)
        >>> u, v = valley.norms
        >>> abs(valley.loss(3 * u, v / 3) - valley.loss(u, v)) < 1e-12  # one orbit
        True

    What enters the hidden neurons is scaled to the norm u, biases included, and what leaves them to the norm
    v. `norms` has both as trained; what the network was given is kept as `weights`, `x` and `labels`.

    Args:
        weights: W1, b1, W2 and b2.
    """

    def __init__(self, weights: Sequence[Tensor], x: Float[Tensor, "N p"], labels: Int[Tensor, " N"]) -> None:
        self.weights = W1, b1, W2, b2 = [weight.detach().double().cpu() for weight in weights]
        self.x, self.labels = x.double().cpu(), labels.cpu()
        self.norms = math.hypot(W1.norm().item(), b1.norm().item()), W2.norm().item()
        self._scores, self._bias = torch.relu(self.x @ W1.T + b1) @ W2.T, b2

    def loss(self, u: float, v: float) -> float:
        """The mean cross-entropy at these norms."""
        return self._at(torch.tensor(u * v / math.prod(self.norms), dtype=torch.float64)).item()

    def descend(self, u: float, v: float, rate: float, steps: int, decay: float = 0.0) -> tuple[float, float]:
        """Where gradient descent of the two norms ends.

        With a small learning rate and without weight decay it keeps the imbalance u² − v².
        """
        scale = math.prod(self.norms)
        for _ in range(steps):
            s = torch.tensor(u * v / scale, dtype=torch.float64, requires_grad=True)
            (slope,) = torch.autograd.grad(self._at(s), s)
            each = slope.item() / scale
            u, v = u - rate * (each * v + decay * u), v - rate * (each * u + decay * v)
        return u, v

    def _at(self, s: Tensor) -> Tensor:
        return cross_entropy(s * self._scores + self._bias, self.labels)

    def page(self, t: float = 1.0, s: float = 1.5, rate: float = 2.0, name: str = "valley") -> HTML:
        """The instrument: the ball begins at `norms`, scaled by √s·e^t and √s·e^−t.

        Args:
            t: position along the orbit, 0 as trained.
            s: the product of both scales, 1 on the orbit.
            rate: the learning rate to begin with.
            name: the id of the instrument.
        """
        given: dict[str, Any] = {"table": self._table()}
        given |= {"norms": list(self.norms), "colours": _COLOURS, "start": {"t": t, "s": s, "rate": rate}}
        given |= {"pictures": self._pictures(), "most": self._most(), "far": _FAR, "high": _HIGH}
        sentence = (
            "The green curve is the orbit of the trained network; the loss is "
            f"{self.loss(*self.norms):.3f} everywhere on it. Across the orbit it rises slowly near the "
            "trained network and fast far from it. With JavaScript you can drop a ball and let it descend."
        )
        return instrument(name, ["valley"], given, self._still(t), sentence)

    def _table(self) -> dict[str, Any]:
        """The loss and its slope for scales s of the outputs, in steps of 1/16."""
        s = (torch.arange(-320, 641, dtype=torch.float64) / 16).requires_grad_()
        values = torch.stack([self._at(each) for each in s])
        (slopes,) = torch.autograd.grad(values.sum(), s)
        numbers = {"values": values, "slopes": slopes}
        written = {name: [float(f"{v:.8g}") for v in each.tolist()] for name, each in numbers.items()}
        return {"from": -20, "per": 16, **written}

    def _most(self) -> float:
        """The largest norm that the pictures show."""
        return math.exp(1.3) * max(self.norms)

    def _place(self, u: float, v: float) -> tuple[float, float]:
        return 44 + 250 * u / self._most(), 214 - 206 * v / self._most()

    def _levels(self) -> str:
        """Curves of one loss, among them the orbit."""
        parts = []
        for s in (0.25, 0.5, 1, 1.5, 2, 3):
            middle = math.sqrt(s * math.prod(self.norms))
            ways = [math.exp(math.log(self._most() / middle) * k / 60) for k in range(-60, 61)]
            line = _line([self._place(middle * way, middle / way) for way in ways])
            look = f'"{_COLOURS["green"]}" stroke-width="4"' if s == 1 else f'"{_COLOURS["grey"]}"'
            parts.append(f'<path d="{line}" fill="none" stroke={look}/>')
        return "".join(parts)

    def _across(self, u: float, v: float) -> str:
        """The loss in the direction in which it bends most, up to what the picture shows."""
        r, ways = math.hypot(u, v), torch.linspace(-_FAR, _FAR, 121).tolist()
        rises = [(d, self.loss(u + d * v / r, v + d * u / r)) for d in ways]
        return _line([(169 + 125 * d / _FAR, 214 - 206 * rise / _HIGH) for d, rise in rises if rise < 3.4])

    def _pictures(self) -> list[str]:
        """What does not move: axes, level curves and the trained network; axes, and the loss across there."""
        grey, (x, y), most = _COLOURS["grey"], self._place(*self.norms), self._most()
        across = f'<path d="{self._across(*self.norms)}" fill="none" stroke="{grey}" stroke-width="1.5" '
        return [
            _axes(
                {f"{a}": 44 + 250 * a / most for a in (50, 100)},
                {f"{b}": 214 - 206 * b / most for b in (50, 100)},
                "norm of the weights in",
                "norm of the weights out",
            )
            + self._levels()
            + f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{grey}"/>',
            _axes(
                {f"{a}".replace("-", "−"): 169 + 125 * a / _FAR for a in (-10, 0, 10)},
                {f"{b}": 214 - 206 * b / _HIGH for b in (1, 2, 3)},
                "distance in weight space",
                "loss",
            )
            + f'{across} stroke-dasharray="4 3"/>',
        ]

    def _still(self, t: float) -> str:
        """Level curves and the orbit; the loss across it as trained (grey) and at t (blue)."""
        (u0, v0), spots, lines = self.norms, [], []
        for at, colour in ((0.0, "grey"), (t, "blue")):
            u, v = u0 * math.exp(at), v0 * math.exp(-at)
            x, y = self._place(u, v)
            spots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{_COLOURS[colour]}"/>')
            look = f'stroke="{_COLOURS[colour]}" stroke-width="3"'
            lines.append(f'<path d="{self._across(u, v)}" {look}/>')
        parts = [self._levels(), *spots, '<g transform="translate(320)">', *lines, "</g>"]
        words = ((169, "norm of the weights in"), (489, "distance from the orbit, loss upwards"))
        text = "".join(f'<text x="{x}" y="240" text-anchor="middle">{word}</text>' for x, word in words)
        return (
            '<svg viewBox="0 0 620 260" role="img" fill="none" '
            'aria-label="Level curves of the loss with an orbit, and the loss across it at two points">'
            f'<path d="M44 8V214H294M364 8V214H614" stroke="currentColor"/>{"".join(parts)}'
            f'<g fill="currentColor" font-size="15">{text}</g></svg>'
        )


def of_digits(width: int = 8, seed: int = 0) -> Valley:
    """The valley of a network on the first eight principal components of 500 digits, trained in a second.

    Example:
        >>> valley = of_digits(width=4)
        >>> valley.loss(*valley.norms) < 1
        True
    """
    digits = data.load("digits", "train", device="cpu")
    x = digits.images.flatten(1).double()
    axes = torch.linalg.eigh(torch.cov(x.T)).eigenvectors[:, -8:]
    x, labels = (x @ axes)[:500] / 3, digits.labels[:500]
    generator = torch.Generator().manual_seed(seed)
    network = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, len(digits.classes))).double()
    weights = list(network.parameters())
    with torch.no_grad():
        for weight, inputs in zip(weights, (8, 8, width, width), strict=True):
            draw = torch.rand(weight.shape, generator=generator, dtype=torch.float64)
            weight.copy_((2 * draw - 1) / inputs**0.5)
    optimiser = torch.optim.LBFGS(weights, max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimiser.zero_grad()
        loss = cross_entropy(network(x), labels)
        loss.backward()
        return loss.item()

    optimiser.step(closure)
    return Valley(weights, x, labels)


def _axes(ticks: dict[str, float], marks: dict[str, float], across: str, up: str) -> str:
    """Both axes of a picture of 300 × 256, with numbers, by their places, and what they say."""
    words = [f'<text x="{x:.1f}" y="231">{tick}</text>' for tick, x in ticks.items()]
    words += [f'<text x="{38 - 4 * len(each)}" y="{y + 4:.1f}">{each}</text>' for each, y in marks.items()]
    words += [f'<text x="169" y="250">{across}</text>']
    words += [f'<text transform="translate(13 111) rotate(-90)">{up}</text>']
    look = 'fill="currentColor" font-size="12" text-anchor="middle"'
    axes = '<path d="M44 8V214H294" fill="none" stroke="currentColor"/>'
    return f"{axes}<g {look}>{''.join(words)}</g>"


def _line(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
