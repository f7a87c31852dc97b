"""The stitching bench: the front of one network, a map that the reader chooses, the back of another."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from IPython.display import HTML

from intertwine_book.figures.style import COLOURS
from intertwine_book.live.digit_networks import DigitNetworks
from intertwine_book.live.instrument import instrument

_PARTS = ("engine", "linear_algebra", "stitching", "bench")
_CHOICES: dict[str, tuple[str, dict[Any, str]]] = {  # of each control: what it is called, and its values
    "map": (
        "Map",
        {
            "none": "none (identity)",
            "by hand": "by hand, scaled",
            "permutation": "permutation",
            "scaled": "permutation with scalings",
            "least squares": "least squares",
        },
    ),
    "front": (
        "Front of (moved: permuted and rescaled)",
        {
            "twin": "the first network",
            "itself": "the second itself",
            "moved": "the second, moved",
            "untrained": "an untrained one",
            "noise": "noise around one picture a class",
        },
    ),
    "layer": ("Cut at layer", {1: "1", 2: "2", 3: "3", 4: "4"}),
    "before": ("Cut", {True: "before the ReLU", False: "after it"}),
    "norm": ("Batch norm of the back", {"frozen": "frozen", "re-estimated": "re-estimated"}),
}
_SLIDERS = {
    "turn": {"label": "turn the front by a random rotation", "min": 0, "max": 1, "step": 0.01},
    "stretch": {"label": "restore lost variance", "min": 0, "max": 1, "step": 0.05},
    "rank": {"label": "rank of the map", "min": 1, "max": 64, "step": 1},
}
_BY_HAND = {
    "row": {"label": "channel of the back", "min": 1, "max": 64, "step": 1},
    "from": {"label": "takes channel … of the front", "min": 1, "max": 64, "step": 1},
}
_MEASURES = {
    "accuracy": "accuracy",
    "cka": "CKA",
    "orthogonal": "Procrustes, orthogonal",
    "group": "Procrustes, ReLU's group",
    "r2": "R² of the fit",
}


def bench(
    two: DigitNetworks,
    *,
    opens: Mapping[str, Any],
    shows: Sequence[str],
    bars: Sequence[str] = (),
    still: Mapping[str, float],
    sentence: str,
    name: str = "bench",
) -> HTML:
    """Two trained networks in a page, stitched as the reader asks, with the accuracy of what comes out.

    Example:
        >>> from intertwine_book.live.digit_networks import digit_networks
        >>> two = digit_networks(epochs=1)
        >>> accuracy = two.stitched().evaluate(two.judge)
        >>> chosen = {"opens": {"map": "none"}, "shows": ["map"], "still": {"no map": accuracy}}
        >>> "function Stitching" in bench(two, **chosen, sentence="The map decides.").data
        True

    The reader chooses the front (`front`: the twin, the back's own, that moved by a hidden element of the
    group of ReLU, an untrained one, or noise that only knows the class), the cut (`layer`, `before`), a
    rotation of the front (`turn`, 0 to 1), the map (`map`, `stretch`, `rank`) and what batch norm does
    (`norm`). Accuracies are those of `stitch` on the same digits.

    Args:
        two: the networks and their digits.
        opens: the state in which the page opens, as far as it is not: the twin, layer 2, after the ReLU,
            no rotation, no map, frozen batch norm.
        shows: the controls that the page asks about, in order; all others are in a fold.
        bars: measures beside the accuracy that are always seen: cka, orthogonal, group, r2.
        still: shares that the still picture shows, by their names.
        sentence: what it shows, for readers without JavaScript.
        name: the id of the element.
    """
    data = {"data": two.exported(), "opens": dict(opens), "shows": list(shows), "bars": list(bars)}
    choices = {key: (label, list(values.items())) for key, (label, values) in _CHOICES.items()}
    data |= {"choices": choices, "sliders": _SLIDERS | _BY_HAND, "measures": _MEASURES}
    return instrument(name, _PARTS, data, _bars(still), sentence)


def _bars(shares: Mapping[str, float]) -> str:
    """The still picture: a bar for each share."""
    parts = []
    said = {name: f"{100 * share:.1f} %".replace("-", "−") for name, share in shares.items()}
    for k, (name, share) in enumerate(shares.items()):
        y, width = 30 * k, 230 * min(max(share, 0), 1)
        parts += [
            f'<text x="182" y="{y + 19}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="190" y="{y + 5}" width="230" height="20" fill="currentColor" opacity="0.12"/>',
            f'<rect x="190" y="{y + 5}" width="{width:.1f}" height="20" fill="{COLOURS["blue"]}"/>',
            f'<text x="428" y="{y + 19}">{said[name]}</text>',
        ]
    label = escape("; ".join(f"{name}: {text}" for name, text in said.items()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 490 {30 * len(shares)}" role="img" '
        f'aria-label="{label}" fill="currentColor" font-size="14">{"".join(parts)}</svg>'
    )
