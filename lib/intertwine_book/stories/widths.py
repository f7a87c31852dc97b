"""What changes with the width of networks that were trained by one recipe: one curve from 16 to 64."""

import pandas as pd

from intertwine_book.figures.dissimilarity import CKA
from intertwine_book.stories import connectivity, dissimilarity, stitching
from intertwine_book.stories.told import WIDTH_ENDINGS, span


def by_width() -> pd.DataFrame:
    """Quantities, in points, of each pair of networks: columns quantity, width, pair, value.

    What maps lose that are fitted to activations, on average over four layers, and the barrier that is left
    after matching by activations, all with batch norm re-estimated; and a hundred times what training adds to
    linear CKA, on average over four layers.
    """
    rows = []
    for name in WIDTH_ENDINGS:
        gains = dissimilarity.gains(name).set_index(["panel", "group"]).loc[CKA, "orthogonal"]
        fits = stitching.norms(name).query("`batch norm` == 're-estimated'")
        lost = fits.pivot_table(index="pair", columns="map", values="penalty")
        lines = connectivity.record(f"barriers{WIDTH_ENDINGS[name]}")
        lines = lines.query("way == 'matched by activations' and batch_norm == 're-estimated'")
        each = {
            **{kind.replace(" ", "-"): lost[kind] for kind in ("rank 4", "assignment", "least squares")},
            "barrier": lines.set_index("pair")["barrier"],
            "gain": 100 * gains.groupby("pair")["value"].mean(),
        }
        for quantity, values in each.items():
            of = {"quantity": quantity, "width": int(name.removeprefix("width "))}
            rows += [of | {"pair": pair, "value": value} for pair, value in values.items()]
    return pd.DataFrame(rows)


def facts() -> dict[str, float]:
    """Means over pairs, in points, and how many times as much permutations lose as full maps.

    Example:
        >>> round(facts()["barrier-16"])
        9
    """
    means = by_width().groupby(["quantity", "width"])["value"].mean()
    found = {f"{name}-{width}": float(mean) for (name, width), mean in means.items()}
    return found | span(times=means["assignment"] / means["least-squares"])
