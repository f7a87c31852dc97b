"""What changes with the width of networks that were trained by one recipe: one curve from 16 to 64."""

import pandas as pd

from intertwine_book.figures.dissimilarity import CKA
from intertwine_book.stories import connectivity, dissimilarity, stitching
from intertwine_book.stories.told import WIDTH_ENDINGS


def by_width() -> pd.DataFrame:
    """Three quantities, in points, of each pair of networks: columns quantity, width, pair, value.

    What the best assignment loses, on average over four layers, and the barrier that is left after matching
    by activations, both with batch norm re-estimated; and a hundred times what training adds to linear CKA,
    on average over four layers.
    """
    rows = []
    for name in WIDTH_ENDINGS:
        gains = dissimilarity.gains(name).set_index(["panel", "group"]).loc[CKA, "orthogonal"]
        fits = stitching.norms(name).query("map == 'assignment' and `batch norm` == 're-estimated'")
        lines = connectivity.record(f"barriers{WIDTH_ENDINGS[name]}")
        lines = lines.query("way == 'matched by activations' and batch_norm == 're-estimated'")
        each = {
            "assignment": fits.groupby("pair")["penalty"].mean(),
            "barrier": lines.set_index("pair")["barrier"],
            "gain": 100 * gains.groupby("pair")["value"].mean(),
        }
        for quantity, values in each.items():
            of = {"quantity": quantity, "width": int(name.removeprefix("width "))}
            rows += [of | {"pair": pair, "value": value} for pair, value in values.items()]
    return pd.DataFrame(rows)


def facts() -> dict[str, float]:
    """Means over pairs, in points, and how many pairs there are at a width.

    Example:
        >>> round(facts()["barrier-16"])
        9
    """
    by = by_width().groupby(["quantity", "width"])["value"]
    means = {f"{quantity}-{width}": float(mean) for (quantity, width), mean in by.mean().items()}
    return means | {f"{name}-pairs-{width}": count for (name, width), count in by.count().items()}
