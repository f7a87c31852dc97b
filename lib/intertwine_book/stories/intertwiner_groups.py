"""What chapter 1 says of two matrices and two neurons: its drawn examples, tables for people, and facts."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML
from jaxtyping import Float
from matplotlib.figure import Figure

from intertwine_book.figures.groups import warped_grid
from intertwine_book.figures.readable import readable
from intertwine_book.figures.style import COLOURS
from intertwine_book.figures.symmetries import neuron_diagram

MATRICES = {
    "scaled swap": np.array([[0.0, 1.3], [0.7, 0.0]]),
    "turn by 45°": np.array([[1.0, -1.0], [1.0, 1.0]]) * math.sqrt(0.5),
}
NEURONS: dict[str, list[Any]] = {"W1": [[1.0], [-2.0]], "b1": [0.5, 1.0], "W2": [[3.0, -1.0]]}
"""f(x) = 3 ReLU(x + ½) − ReLU(−2x + 1), with a blue neuron and a red one."""
SWAPPED: dict[str, list[Any]] = {"W1": [[-2.0], [1.0]], "b1": [1.0, 0.5], "W2": [[-1.0, 3.0]]}
SWAPPED["colours"] = [COLOURS["red"], COLOURS["blue"]]
SCALED: dict[str, list[Any]] = {"W1": [[2.0], [-2.0]], "b1": [1.0, 1.0], "W2": [[1.5, -1.0]]}


def images(A: Float[np.ndarray, "2 2"]) -> list[Float[np.ndarray, "2 17 17"]]:
    """A grid x of points of the plane, σ(Ax), and φ(A)σ(x), for ReLU."""
    side = np.linspace(-1, 1, 17)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"))
    pulled = np.maximum(A, 0) @ np.maximum(grid, 0).reshape(2, -1)  # φ(A) = σ(A)
    return [grid, np.maximum(np.tensordot(A, grid, 1), 0), pulled.reshape(grid.shape)]


def warp() -> Figure:
    """A scaled swap can be pulled through ReLU, a turn by 45° cannot."""
    rows = {name: images(A) for name, A in MATRICES.items()}
    columns = ["$x$", "$\\sigma(Ax)$", "$\\varphi(A)\\,\\sigma(x)$"]
    return warped_grid(rows["scaled swap"][0], rows, columns)


def swap() -> Figure:
    """A swap keeps the function: two neurons change places with their edges."""
    return neuron_diagram({"before": NEURONS, "after the swap": SWAPPED})


def scale() -> Figure:
    """A scaling keeps the function: what enters the blue neuron is doubled, and what leaves it is halved."""
    return neuron_diagram({"before": NEURONS, "after the scaling": SCALED})


_GROUPS = {
    "linear": "all invertible",
    "trivial": "permutations",
    "signs": "…, signs",
    "positive": "…, positive scalings",
    "nonzero": "…, non-zero scalings",
}
_ROWS = {  # activation → as the page writes it, and the printed φ
    "Identity": ("Identity", "A"),
    "Sigmoid": ("Sigmoid", "A"),
    "ReLU": ("ReLU", "A"),
    "LeakyReLU(0.1)": ("LeakyReLU, slope 0.1", "A"),
    "LeakyReLU(-1.0)": ("LeakyReLU, slope −1", "A"),
    "RBF": ("RBF", "|A|"),
    "x^1": ("x", "A"),
    "x^2": ("x²", "A, squared entries"),
    "x^3": ("x³", "A, cubed entries"),
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
    """The groups of the activations of PyTorch and of one of every other kind."""
    pieces = ["infinite" if math.isinf(count) else int(count) for count in found["components"]]
    shown = found.assign(components=pieces, group=found["group"].str.replace("d_i", "dᵢ"))
    headings = {"activation": "activation", "group": "group of matrices", "phi": "φ(A)"}
    headings |= {"dimension": "dimension", "components": "pieces"}
    return readable(shown, headings, title="Groups of activations")


def facts() -> dict[str, float]:
    """How far a turn by 45° is from being pulled through ReLU, in percent: by φ, and by the best matrix.

    Example:
        >>> {name: round(value, 1) for name, value in facts().items()}
        {'turn': 58.8, 'turn-best': 52.6}
    """
    x, left, right = (each.reshape(2, -1) for each in images(MATRICES["turn by 45°"]))
    behind = np.maximum(x, 0)
    best = np.linalg.lstsq(behind.T, left.T)[0].T @ behind
    apart = {"turn": right, "turn-best": best}
    size = np.linalg.norm(left)
    return {name: float(100 * np.linalg.norm(left - each) / size) for name, each in apart.items()}


def facts_of(checks: Mapping[str, pd.DataFrame]) -> dict[str, int | float]:
    """What sentences say of a run's own tables of the papers' statements, in percent but for the lemma."""
    lemma, on_gl = checks["lemma_3_1"], checks["phi_on_gl"].query("not in_group")
    return {
        "lemma-draws": len(lemma),
        "lemma-error": lemma[["homomorphism_error", "intertwining_error"]].max(axis=None),
        "phi-outside": 100 * on_gl["homomorphism_error"].min(),
        "no-bias": 100 * checks["scale_without_bias"].query("alpha > 0")["error"].min(),
        "negative": 100 * checks["scale"].query("alpha < 0")["error"].min(),
    }
