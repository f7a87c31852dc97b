"""The networks of a function, by which side of each hyperplane carries a neuron.

f = Σ γ_H |u_H| + Lx + e with u_H = n_H·x + b_H. One neuron on H gives γ|u| + s γ u, s its sign; a pair,
T ∋ H, gives γ|u| + δu with any δ ∈ R^k. The rest of L after that has to come from opposite pairs on
hyperplanes where f does not bend, two neurons for each unit of its rank.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Shaped

from intertwine.shallow.canonical_form import CanonicalForm
from intertwine.shallow.exact import TOLERANCE, is_exact, row_reduce
from intertwine.shallow.relu_network import ShallowReLU, from_rows

EXHAUSTIVE = 7  # hyperplanes up to which all 3^h configurations are searched


class Configuration(NamedTuple):
    """One way to realise a function: the signs of its neurons, δ of its pairs, and the rest of L."""

    signs: Int[np.ndarray, " h"]
    """±1 for one neuron, 0 for a pair."""
    delta: Shaped[np.ndarray, "k t"]
    """δ of the pairs; one choice of many if their normals are dependent."""
    left: Shaped[np.ndarray, "r m"]
    """Rows that span the rest of L …"""
    weights: Shaped[np.ndarray, "k r"]
    """… and their coefficients."""
    free: int
    """Dimension of the choices of δ: k times the dependencies of the pairs' normals."""

    @property
    def width(self) -> int:
        """Neurons of the network: h + |T| + 2 rank."""
        return len(self.signs) + int((self.signs == 0).sum()) + 2 * len(self.left)


def configuration(
    form: CanonicalForm, signs: Int[np.ndarray, " h"], tolerance: float = TOLERANCE
) -> Configuration:
    """The configuration with the given signs and the smallest rest of L."""
    pairs = signs == 0
    single = form.normals[:, :-1] * signs[:, None]
    # γ|u| = 2γσ(±u) ∓ γu: each single neuron takes its part of L
    rest = form.L - form.gamma @ single
    basis = row_reduce(form.normals[pairs, :-1], tolerance)
    # δσ(u) − δσ(−u) = δu: what lies in the span of the pairs' normals costs no neuron
    along = rest[:, basis.pivots]
    rest = rest - along @ basis.rows
    if not is_exact(form.L):  # rounding, relative to L and its terms
        terms = np.abs(form.gamma) @ np.abs(form.normals[:, :-1])
        size = np.abs(form.L).max(initial=0) + terms.max(initial=0)
        rest = np.where(np.abs(rest) <= tolerance * size, 0, rest)
    factor = row_reduce(rest, tolerance)
    free = len(form.gamma) * (int(pairs.sum()) - len(basis.pivots))
    return Configuration(signs, along @ basis.combination, factor.rows, rest[:, factor.pivots], free)


def configurations(form: CanonicalForm, tolerance: float = TOLERANCE) -> Iterator[Configuration]:
    """All ways to realise a canonical form as a network: 3^h of them.

    Example:
        >>> from intertwine.shallow import canonical_form
        >>> # σ(x) + 2σ(−x)
        >>> form = canonical_form(ShallowReLU([[1], [-1]], [0, 0], [[1, 2]], [0]))
        >>> [each.width for each in configurations(form)]
        [3, 3, 2]

    Args:
        form: as `canonical_form` returns it.
        tolerance: of floats, the share of a sum's terms up to which it is 0; exact forms need none.
    """
    for signs in product((1, -1, 0), repeat=len(form.normals)):
        yield configuration(form, np.array(signs, dtype=np.int64), tolerance)


def realised(form: CanonicalForm, chosen: Configuration) -> ShallowReLU:
    """The network of a configuration.

    Args:
        form: as `canonical_form` returns it.
        chosen: one of its `configurations`.
    """
    signs, pairs = chosen.signs, chosen.signs == 0
    single, double = form.normals[~pairs] * signs[~pairs, None], form.normals[pairs]
    zero = np.zeros((len(chosen.left), 1), dtype=form.L.dtype)
    left = np.hstack([chosen.left, zero])
    gamma, paired = form.gamma[:, ~pairs], form.gamma[:, pairs]
    rows = np.vstack([single, double, -double, left, -left])
    # γ|u| + sγu = 2γσ(su); γ|u| + δu = (γ+δ)σ(u) + (γ−δ)σ(−u); wx = σ(wx) − σ(−wx)
    V = np.hstack([2 * gamma, paired + chosen.delta, paired - chosen.delta, chosen.weights, -chosen.weights])
    # the offsets that come with the linear parts
    c = form.e - gamma @ single[:, -1] - chosen.delta @ double[:, -1]
    return from_rows(rows, V, c)
