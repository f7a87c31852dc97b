"""What the recorded runs of chapter 1c say of networks that others wrote: tables and facts."""

from functools import partial
from typing import Any

import pandas as pd
from IPython.display import HTML

from intertwine_book.figures.readable import readable
from intertwine_book.live.recorded import recorded
from intertwine_book.results import on_record

record = partial(on_record, "01c_any_network")


def networks(verified: pd.DataFrame) -> HTML:
    """The networks that `verify` moved: their spaces, their group, and how far hidden values moved."""
    headings = {
        "network": "network",
        "spaces": "hidden spaces",
        "dimension": "dimension of the group",
        "representations": "hidden values change by, %",
    }
    largest = verified.groupby("network", sort=False).max().reset_index()
    return readable(largest, headings, digits=0, title="Networks that verify moved")


def shares(network: str) -> dict[str, float]:
    """The part of a public architecture's group that each role of a hidden space has.

    Example:
        >>> parts = shares("ResNet-18")
        >>> sorted(parts), round(sum(parts.values()), 6)
        (['hidden units', 'residual stream'], 1.0)
    """
    view, found = recorded()[network], dict[str, float]()
    for space in view["spaces"]:
        found[space["role"]] = found.get(space["role"], 0) + space["dimension"] / view["dimension"]
    return found


def facts() -> dict[str, Any]:
    """The numbers in sentences about recorded runs.

    Example:
        >>> facts()["cut-all"]
        25
    """
    whole, *cut = record("cut").to_dict("records")
    public = [view for name, view in recorded().items() if not name.isdigit()]
    share = [100 * view["dimension"] / view["parameters"] for view in public]
    return {
        "gpt-heads": 100 * sum(x for role, x in shares("GPT-2").items() if role.startswith("in a head")),
        "share-low": min(share),
        "share-high": max(share),
        "cut-none": whole["accuracy"],
        "cut-all": len(cut),
        "cut-worst": min(row["accuracy"] for row in cut),
        "cut-mild": sum(row["accuracy"] >= whole["accuracy"] - 1 for row in cut),
    }
