"""What the recorded runs of chapter 1c say of networks that others wrote: tables and facts."""

from functools import partial
from typing import Any

import pandas as pd
from IPython.display import HTML

from intertwine_book.figures.readable import readable
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


def spaces(table: pd.DataFrame) -> HTML:
    """The hidden spaces of a module, from its `WeightSpace.to_frame()`."""
    headings = {"width": "width", "group": "group", "writers": "written by", "why": "decided by"}
    return readable(table, headings, title="The spaces of this module")


def facts() -> dict[str, Any]:
    """The numbers in sentences about recorded runs.

    Example:
        >>> facts()["cut-all"]
        25
    """
    whole, *cut = record("cut").to_dict("records")
    return {
        "cut-none": whole["accuracy"],
        "cut-all": len(cut),
        "cut-changed": sum(row["change"] > 0.01 for row in cut),
        "cut-worst": min(row["accuracy"] for row in cut),
    }
