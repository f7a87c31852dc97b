"""What changes with the width of networks that were trained by one recipe: one curve from 16 to 64."""

import pandas as pd

from intertwine_book.record import on_record
from intertwine_book.stories.told import span
from intertwine_book.tidy import of

FITS = {"rank 4": "rank-4", "G_ReLU": "assignment", "full": "least-squares"}
"""Families of fitted maps → names of what they lose."""


def by_width() -> pd.DataFrame:
    """Quantities, in points, of each pair of networks: columns quantity, width, pair, value.

    What maps lose that are fitted to activations, on average over four layers, and the barrier that is left
    after matching by activations, all with batch norm re-estimated; and a hundred times what training adds to
    linear CKA, on average over four layers.
    """
    from intertwine.stitching import barriers  # torch is slow to import

    rows = []
    forms = of(on_record("03_stitching", "closed_forms"), batch_norm="re-estimated", family=[*FITS])
    forms = of(forms, fit=["regression", "assignment"])  # not of channels alike
    lines = of(on_record("03_stitching", "lines"), batch_norm="re-estimated", way="matched by activations")
    cka = of(on_record("04_dissimilarity", "cka"), seed=0)
    for width in (16, 32, 64):
        by_state = of(cka, width=width).pivot_table("orthogonal", ["pair", "layer"], "state").dropna()
        gains = by_state["trained"] - by_state["untrained"]
        lost = of(forms, width=width).pivot_table(index="pair", columns="family", values="penalty")
        left = barriers(of(lines, width=width), ["pair"])
        each = {
            **{quantity: lost[family] for family, quantity in FITS.items()},
            "barrier": left.set_index("pair")["barrier"],
            "gain": 100 * gains.groupby("pair").mean(),
        }
        for quantity, values in each.items():
            rows += [
                {"quantity": quantity, "width": width, "pair": pair, "value": value}
                for pair, value in values.items()
            ]
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
