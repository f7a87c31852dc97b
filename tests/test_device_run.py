"""The chapters on a GPU (`make device`): tables as on the CPU, to rounding, and the same verdicts."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from intertwine_book.build.layout import Book
from intertwine_book.read_told import read_all
from intertwine_book.record import PROVENANCE
from intertwine_book.tidy import read

BOOK = Book(Path(__file__).parent.parent)
RUNS = [Path(each) for each in os.environ.get("INTERTWINE_RUNS", "").split(os.pathsep) if each]
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(len(RUNS) != 2, reason="INTERTWINE_RUNS names no two folders of tables (make device)"),
]


def unlike(here: pd.DataFrame, there: pd.DataFrame) -> list[str]:
    """What of a table differs by more than rounding, in words."""
    if list(here) != list(there) or len(here) != len(there):
        return [f"{list(here)}, {len(here)} rows, against {list(there)}, {len(there)} rows"]
    found = []
    for name in here.columns.drop(["seconds", "images_per_s"], errors="ignore"):
        one, two = here[name], there[name]
        if pd.api.types.is_float_dtype(one) and pd.api.types.is_float_dtype(two):
            differs = ~np.isclose(one, two, rtol=1e-3, atol=1e-5, equal_nan=True)
        else:
            differs = ((one != two) & ~(one.isna() & two.isna())).to_numpy()
        if differs.any():
            row = int(differs.argmax())
            found.append(f"{name}: {differs.sum()} of {len(one)} rows, such as {one[row]} against {two[row]}")
    return found


def table(name: str, folder: Path) -> pd.DataFrame:
    """A table of a record without what says where it was computed."""
    return read(folder / f"{name}.csv").drop(columns=[each for each in PROVENANCE if each != "code"])


@pytest.mark.parametrize("name", BOOK.records)
def test_tables_agree_to_rounding(name):
    names = [{path.stem for path in (run / name).glob("[!.]*.csv")} for run in RUNS]
    assert names[0] == names[1] and names[0]
    tables = {each: [table(each, run / name) for run in RUNS] for each in sorted(names[0])}
    differing = {name: found for name, both in tables.items() if (found := unlike(*both))}
    assert not differing


def test_verdicts_are_the_same():
    here, there = ({c.id: found.word for c, found in read_all(run / "records")} for run in RUNS)
    assert here == there and len({*here.values()}) > 3
