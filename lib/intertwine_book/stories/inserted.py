"""Recorded penalties of matrices before an activation, by the layers as the paper counts them."""

from functools import partial

import pandas as pd

from intertwine_book.results import on_record

PAPER_LAYERS = {1: 0, 2: 2, 3: 5, 4: 8}
"""Convolutions, from 1, as the paper counts layers."""
WORDS = {0: "first", 2: "second", 5: "third"}
"""The paper's layers in words."""
GROUP, TURNED = "positive scalings", "orthogonal"

record = partial(on_record, "02_sanity_rotations")


def by_paper(name: str) -> pd.DataFrame:
    """A recorded table of penalties before a ReLU, with the paper's layers and the control by name."""
    table = record(name).replace({"group": {"identity": "control"}})
    if "activation" in table:
        table = table[table["activation"] == "relu"]
    return table.assign(layer=table["layer"].map(PAPER_LAYERS))


def mean(name: str) -> pd.DataFrame:
    """The mean penalty before a ReLU: a row for each group, a column for each of the paper's layers."""
    return by_paper(name).pivot_table(index="group", columns="layer", values="penalty")
