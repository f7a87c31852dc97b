"""Tables that figures of shallow networks are drawn from."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float

from intertwine.shallow import ShallowReLU
from intertwine.shallow.degeneracy import sine


def surfaces(networks: Mapping[str, ShallowReLU], ticks: Float[np.ndarray, " g"]) -> pd.DataFrame:
    """The first output of networks of two inputs on a grid.

    Example:
        >>> p = ShallowReLU([[1, 0]], [0], [[1]], [0])
        >>> surfaces({"p": p}, np.array([0.0, 2.0]))["f"].tolist()
        [0.0, 2.0, 0.0, 2.0]
    """
    x, y = (part.ravel() for part in np.meshgrid(ticks, ticks))
    at = np.stack([x, y], 1)
    drawn = {name: pd.DataFrame({"x": x, "y": y, "f": p(at)[:, 0]}) for name, p in networks.items()}
    return pd.concat(drawn, names=["network"]).reset_index(level=0).reset_index(drop=True)


def neurons(networks: Mapping[str, ShallowReLU]) -> pd.DataFrame:
    """The neurons of networks with one or two inputs, in floats.

    Example:
        >>> neurons({"p": ShallowReLU([[1]], [2], [[5]], [3])}).iloc[0].to_dict()
        {'network': 'p', 'w1': 1.0, 'b': 2.0, 'weight': 5.0, 'constant': 3.0}

    Columns network, w1 (and w2), b, weight (λ of the first output), constant (c of it).
    """
    tables = {}
    for name, network in networks.items():
        p = network.float()
        columns = [*(f"w{j + 1}" for j in range(p.m)), "b"]
        tables[name] = pd.DataFrame(p.rows, columns=columns).assign(weight=p.V[0], constant=p.c[0])
    return pd.concat(tables, names=["network"]).reset_index(level=0).reset_index(drop=True)


def nearest_angles(pairs: Mapping[str, tuple[ShallowReLU, ShallowReLU]]) -> pd.DataFrame:
    """For every neuron of the first network, the angle between its (w, b) and the nearest of the second.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 1]], [0])
        >>> nearest_angles({"one kept": (p, ShallowReLU([[-2, 0]], [0], [[1]], [0]))})["angle"].tolist()
        [0.0, 90.0]

    Columns pair, angle (in degrees, 0 if parallel). The networks have no zero neurons, and as many inputs.
    """
    tables = []
    for name, pair in pairs.items():
        u, v = (r / np.linalg.norm(r, axis=1, keepdims=True) for r in (p.float().rows for p in pair))
        partner = v[np.abs(u @ v.T).argmax(1)]
        sines = np.array([sine(x, y) for x, y in zip(u, partner, strict=True)])
        tables.append(pd.DataFrame({"pair": name, "angle": np.degrees(np.arcsin(sines.clip(0, 1)))}))
    return pd.concat(tables)
