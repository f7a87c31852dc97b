"""The chapters on a GPU (`make device`): tables as on the CPU, to rounding, and the same verdicts."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from intertwine_book import claims, results
from intertwine_book.build.layout import Book

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


@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_tables_agree_to_rounding(chapter):
    names = [{path.stem for path in (run / chapter).glob("[!.]*.csv")} for run in RUNS]
    assert names[0] == names[1] and names[0]
    tables = {
        name: [results.read(name, folder=run / chapter)[0] for run in RUNS] for name in sorted(names[0])
    }
    differing = {name: found for name, both in tables.items() if (found := unlike(*both))}
    assert not differing


def test_verdicts_are_the_same():
    ledger = claims.load(BOOK.root / "book/claims.yml")
    here, there = (claims.judge_all(ledger, [("smoke", run)]) for run in RUNS)
    words = [(c.id, one.word, two.word) for (c, one), (_, two) in zip(here, there, strict=True)]
    assert len({word for _, word, _ in words}) > 3
    assert not [each for each in words if each[1] != each[2]]
