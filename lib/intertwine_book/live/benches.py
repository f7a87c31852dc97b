"""The stitching bench as four chapters open it, each with its own question."""

from collections.abc import Mapping
from typing import Any

import torch
from IPython.display import HTML

from intertwine.groups import Orthogonal
from intertwine_book.live.bench import bench
from intertwine_book.live.digit_networks import DigitNetworks, digit_networks


def which_map() -> HTML:
    """Two networks are joined without a map: which map makes up for that?

    Example:
        >>> "permutation, scaled" in which_map().data
        True
    """
    two = digit_networks()
    tried = {"no map": "none", "permutation": "permutation", "permutation, scaled": "scaled"}
    tried |= {"least squares": "least squares"}
    return bench(
        two,
        opens={
            "map": "none",
            "norm": "re-estimated",
        },  # frozen, a better fit may be a worse stitch: chapter 3b
        shows=["map", "front"],
        still=_accuracies(two, {name: {"map": each, "again": True} for name, each in tried.items()}),
        sentence="Accuracy of the front of one digit network and the back of another, by the map between "
        "them, after the second ReLU, with batch norm re-estimated. With JavaScript you choose the map, the "
        "front and the layer here.",
        name="bench-maps",
    )


def best_fit() -> HTML:
    """The best fit is stretched: what becomes of the fit, and what of the accuracy?

    Example:
        >>> "bench-fit" in best_fit().data
        True
    """
    two = digit_networks()
    cut: dict[str, Any] = {"before": True, "map": "least squares"}
    tried = {"least squares": cut, "batch norm re-estimated": cut | {"again": True}}
    return bench(
        two,
        opens=cut,
        shows=["stretch", "norm"],
        bars=["r2"],
        still=_accuracies(two, tried),
        sentence="Accuracy of two digit networks that are joined by least squares before the second ReLU. "
        "With JavaScript you restore the lost variance here.",
        name="bench-fit",
    )


def what_measures_see() -> HTML:
    """A layer is compared with itself, in another order and in other units: which measure calls both equal?

    Example:
        >>> "bench-measures" in what_measures_see().data
        True
    """
    two = digit_networks()
    found = two.measures(two.stitched())
    named = {"cka": "CKA", "orthogonal": "Procrustes, orthogonal", "group": "Procrustes, group of ReLU"}
    return bench(
        two,
        opens={"front": "moved"},
        shows=["front", "turn"],
        bars=["cka", "orthogonal", "group"],
        still={text: found[name] for name, text in named.items()},
        sentence="Three similarities of one layer of two digit networks, each times 100. With JavaScript you "
        "choose what is compared here, and turn it.",
        name="bench-measures",
    )


def ruined_by_a_rotation() -> HTML:
    """A layer is turned: CKA is 1, and the network is ruined. What repairs it?

    Example:
        >>> "bench-turn" in ruined_by_a_rotation().data
        True
    """
    two = digit_networks()
    channels = len(two.back.get_parameter("bn2.weight"))
    Q = Orthogonal(channels).sample(torch.Generator().manual_seed(0))
    turned = two.stitched(two.back, map=Q.float())
    return bench(
        two,
        opens={"front": "itself", "turn": 1},
        shows=["turn", "map"],
        bars=["cka"],
        still={"CKA": two.measures(turned)["cka"], "accuracy": turned.evaluate(two.judge)},
        sentence="A digit network whose channels are turned by a random orthogonal matrix after the second "
        "ReLU: CKA times 100, and accuracy. With JavaScript you turn it here.",
        name="bench-turn",
    )


def _accuracies(two: DigitNetworks, tried: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    made = {name: two.stitched(**options).evaluate(two.judge) for name, options in tried.items()}
    return made | {"second network alone": two.alone()}
