"""What chapter 1 shows: two neurons, tables for people, and facts."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.readable import readable
from intertwine_book.figures.style import COLOURS
from intertwine_book.figures.symmetries import neuron_diagram
from intertwine_book.stories.told import span

NEURONS: dict[str, list[Any]] = {"W1": [[1.0], [-2.0]], "b1": [0.5, 1.0], "W2": [[3.0, -1.0]]}
"""f(x) = 3 ReLU(x + ½) − ReLU(−2x + 1), with a blue neuron and a red one."""
SWAPPED: dict[str, list[Any]] = {"W1": [[-2.0], [1.0]], "b1": [1.0, 0.5], "W2": [[-1.0, 3.0]]}
SWAPPED["colours"] = [COLOURS["red"], COLOURS["blue"]]
SCALED: dict[str, list[Any]] = {"W1": [[2.0], [-2.0]], "b1": [1.0, 1.0], "W2": [[1.5, -1.0]]}


def swap_and_scale() -> Figure:
    """Two neurons change places with their edges; what enters the blue one is doubled."""
    return neuron_diagram({"as given": NEURONS, "swapped": SWAPPED, "blue scaled by 2": SCALED})


_GROUPS = {
    "linear": "all invertible",
    "trivial": "permutations",
    "signs": "permutations · signs",
    "positive": "permutations · positive",
    "nonzero": "permutations · nonzero",
    "discrete": "permutations · powers",
}
_ROWS = {  # activation → as the page writes it, and the printed φ
    "Identity": ("Identity", "A"),
    "Sigmoid": ("Sigmoid", "A"),
    "ReLU": ("ReLU", "A"),
    "LeakyReLU(0.1)": ("LeakyReLU, slope 0.1", "A"),
    "LeakyReLU(-1.0)": ("LeakyReLU, slope −1", "A"),
    "RBF": ("Gaussian (RBF)", "|A|"),
    "x^1": ("x", "A"),
    "x^2": ("x²", "A⊙2"),
    "x^3": ("x³", "A⊙3"),
}


def table_1(found: pd.DataFrame) -> HTML:
    """Four of the six printed rows hold as they stand; two, LeakyReLU and x^d, need a condition."""
    shown = found.set_index("activation").loc[[*_ROWS]].replace({"printed": _GROUPS, "computed": _GROUPS})
    shown[["activation", "phi"]] = [*_ROWS.values()]
    shown["holds"] = shown["holds"].map({True: "yes", False: "no"})
    headings = {"activation": "activation", "printed": "printed group", "phi": "printed φ(A)"}
    headings |= {"computed": "computed group", "holds": "agree"}
    return readable(shown, headings, title="Table 1 of the paper, printed and computed")


def activations(found: pd.DataFrame) -> HTML:
    """The groups of activations, in the words of Table 1."""
    pieces = ["infinite" if math.isinf(count) else int(count) for count in found["components"]]
    phi = found["phi"].str.replace(r"abs\((.)\)", r"|\1|", regex=True)
    shown = found.assign(components=pieces, phi=phi, group=found["scalars"].map(_GROUPS))
    headings = {"activation": "activation", "group": "group", "phi": "φ(A)"}
    headings |= {"dimension": "dimension", "components": "pieces"}
    return readable(shown, headings, title="Groups of activations")


def kept(prunings: pd.DataFrame, removed: int) -> dict[str, float]:
    """The accuracy of the network as trained and of its twins, in percent, without so many neurons.

    Example:
        >>> rows = [("as trained", 8, 70.0), ("rescaled twins", 8, 40.0), ("rescaled twins", 8, 60.0)]
        >>> kept(pd.DataFrame(rows, columns=["network", "removed", "accuracy"]), 8)
        {'kept': 70.0, 'kept-low': 40.0, 'kept-high': 60.0}
    """
    found = prunings[prunings["removed"] == removed].set_index("network")["accuracy"]
    return {"kept": float(found["as trained"])} | span(kept=found.loc[["rescaled twins"]])


def facts_of(checks: Mapping[str, pd.DataFrame]) -> dict[str, int | float]:
    """What sentences say of a run's own tables of the papers' statements, in percent."""
    return {"negative": 100 * checks["scale"].query("alpha < 0")["error"].min()}
