"""The stitching bench: the front of one network, a map that the reader chooses, the back of another."""

from collections.abc import Mapping, Sequence
from typing import Any

from IPython.display import HTML

from intertwine_book.live.digit_networks import DigitNetworks
from intertwine_book.live.instrument import instrument
from intertwine_book.live.still import still_bars

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

    Raises:
        ValueError: an unknown control, value or measure.
    """
    known = (*_CHOICES, *_SLIDERS)
    for key, value in opens.items():
        if key not in known or (key in _CHOICES and value not in _CHOICES[key][1]):
            raise ValueError(f"Expected a state of the bench, was given {key}={value!r}: `bench` lists them.")
    unknown = [key for key in shows if key not in known] + [
        bar for bar in bars if bar not in _MEASURES or bar == "accuracy"
    ]
    if unknown:
        raise ValueError(
            f"Expected controls and measures of the bench, was given {unknown}: `bench` lists them."
        )
    data = {"data": two.exported(), "opens": dict(opens), "shows": list(shows), "bars": list(bars)}
    choices = {key: (label, list(values.items())) for key, (label, values) in _CHOICES.items()}
    data |= {"choices": choices, "sliders": _SLIDERS | _BY_HAND, "measures": _MEASURES}
    return instrument(name, _PARTS, data, still_bars(still, digits=1), sentence)
