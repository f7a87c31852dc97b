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


def counted() -> pd.DataFrame:
    """The recorded dimensions of public architectures, their sum, and its percentage of the parameters."""
    table = record("public")
    table["dimension"] = table[["scalars", "heads", "stream", "other"]].sum(axis=1)
    return table.assign(share=table["dimension"] / (1e4 * table["parameters"]))


def public() -> HTML:
    """Most of a transformer's group lies in its heads and, in ViT and Swin, on its streams."""
    headings = {
        "network": "network",
        "parameters": "parameters, million",
        "scalars": "scalars",
        "heads": "in heads",
        "stream": "on a stream",
        "other": "other matrices",
        "dimension": "together",
    }
    return readable(counted(), headings, digits=0, title="Groups of public architectures")


def facts() -> dict[str, Any]:
    """The numbers in sentences about recorded runs.

    Example:
        >>> facts()["cut-all"]
        25
    """
    whole, *cut = record("cut").to_dict("records")
    table = counted().set_index("network")
    return {
        "gpt-heads": 100 * table.loc["GPT-2", "heads"] / table.loc["GPT-2", "dimension"],
        "share-low": table["share"].min(),
        "share-high": table["share"].max(),
        "cut-none": whole["accuracy"],
        "cut-all": len(cut),
        "cut-worst": min(row["accuracy"] for row in cut),
        "cut-mild": sum(row["accuracy"] >= whole["accuracy"] - 1 for row in cut),
    }
