"""Tidy tables: planned, read from files, found by the values of their columns, compared."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

# pandas before 3.1 rounds what it reads unless it is told not to; later ones do not, and deprecate the option
EXACTLY: dict[str, Any] = {}
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    EXACTLY["float_precision"] = "round_trip"


Case = Mapping[str, Any]


def plan(
    cases: Sequence[Case], product: Mapping[str, Iterable[Any]], reserved: Sequence[str] = ()
) -> list[Case]:
    """Every combination of some cases and of the values of a product, each once.

    Example:
        >>> plan([{"kind": "full"}, {"kind": "rank 4"}], {"width": [16, 64]})[1]
        {'kind': 'rank 4', 'width': 16}

    Raises:
        ValueError: cases have other columns than the first, a column is in both or has a reserved name, or a
            value is neither number nor word.
    """
    keys = [*cases[0]] if cases else []
    if ragged := [case for case in cases if {*case} != {*keys}]:
        raise ValueError(f"Expected the columns {', '.join(keys)} in each case, was given {dict(ragged[0])}.")
    if twice := sorted({*keys} & {*product}):
        raise ValueError(f"Expected each column once, '{twice[0]}' is in the cases and in the product.")
    places = itertools.product(*product.values())
    found = [{**case, **dict(zip(product, at, strict=True))} for at in places for case in cases]
    for name, value in (item for case in found for item in case.items()):
        looks = isinstance(value, str) and not isinstance(plain(value), str)  # a file would give a number
        if name in reserved or looks or not isinstance(value, str | int | float | bool | None):
            raise ValueError(
                f"Expected numbers and words as values of a case, was given {name} = {value!r}: give the "
                f"value a name, and look it up in the function."
            )
    return [*{key(case, [*case]): case for case in found}.values()]


def key(case: Case, keys: Sequence[str]) -> tuple[str, ...]:
    """A case as text, in the order of these columns."""
    return tuple(text(case[key]) for key in keys)


def read(path: Path) -> pd.DataFrame:
    """A table from its file, empty where there is none: "none" and "NA" are words, not gaps."""
    if not path.is_file():
        return pd.DataFrame()
    words = dict.fromkeys(["code", "uses", "commit"], str)  # hashes may look like numbers
    return pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=words, **EXACTLY)


def of(table: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """The rows with these values; a list stands for any of its members.

    Example:
        >>> table = pd.DataFrame({"width": [16, 64, 64], "kind": ["full", "full", "rank 4"]})
        >>> of(table, width=64, kind="full")
           width  kind
        1     64  full
        >>> len(of(table, width=[16, 64]))
        3

    Raises:
        ValueError: there is no such column.
    """
    if strange := [name for name in columns if name not in table]:
        raise ValueError(f"Expected a column of {', '.join(table)}, was given '{strange[0]}'.")
    for name, wanted in columns.items():
        some = [*wanted] if isinstance(wanted, list | tuple | range) else [wanted]
        table = table[table[name].map(text).isin([*map(text, some)])]
    return table


def cases_of(table: pd.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    """The case of each row, as text."""
    columns = [[*map(text, table[key])] for key in keys]
    return [*zip(*columns, strict=True)] if columns else [()] * len(table)


def text(value: Any) -> str:
    """A value as text, the same whatever the other values of its column are.

    Example:
        >>> [text(value) for value in (4, 4.0, "4.0", 1e-4, "NA", None, float("nan"), True)]
        ['4', '4', '4', '0.0001', 'NA', '', '', 'True']
    """
    value = plain(value)
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def plain(value: Any) -> str | int | float | bool | None:
    """A cell of a table as a function takes it: None where it is empty, a number where it is one.

    Example:
        >>> [plain(value) for value in ("16", 2.0, "rank 4", "")]
        [16, 2, 'rank 4', None]
    """
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str) and value[-1:].isdigit() and "_" not in value:
        try:
            value = float(value)  # of a column that has words, too
        except ValueError:
            return value
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return None if value == "" else value


def apart(one: pd.DataFrame, other: pd.DataFrame, within: float | Mapping[str, float]) -> float:
    """The largest difference of two tables with equal columns, in units of what is allowed for a column.

    Example:
        >>> one = pd.DataFrame({"loss": [1.0, 2.0], "kind": ["full", "rank 4"]})
        >>> apart(one, one.assign(loss=[1.0, 2.5]), within=0.25)
        2.0
        >>> apart(one, one.assign(kind="full"), within={"loss": 0.25, "kind": 0})
        inf

    Words, and what is missing, have to be equal. Of a mapping only the columns that it names are compared.
    """
    if len(one) != len(other):
        return float("inf")
    largest = 0.0
    for column in within if isinstance(within, Mapping) else other.columns:
        allowed = within[column] if isinstance(within, Mapping) else within
        for before, again in zip(map(plain, one[column]), map(plain, other[column]), strict=True):
            if text(before) == text(again):
                continue
            if isinstance(before, int | float) and isinstance(again, int | float) and allowed:
                largest = max(largest, abs(before - again) / allowed)
            else:
                return float("inf")
    return largest


def taken_out(rows: pd.DataFrame, keys: Sequence[str], stamp: Sequence[str]) -> list[str]:
    """Columns that seem to have been in the plan once, as rows of one case differ in them.

    A file has the plan's columns first. And the rows of one call have one `stamp`: a column that is the same
    in a call, and differs between two of one case, told these calls apart.
    """
    rows = rows.map(text)
    differ = [name for name in rows if name not in keys and rows.groupby([*keys])[name].nunique().max() > 1]
    if first := [name for name in [*rows][: len(keys)] if name in differ]:
        return first
    rows = rows[rows["code"].str.fullmatch("[0-9a-f]{8}")]  # others were brought here from other files
    by_call = rows.groupby([*keys, *stamp])
    if by_call.ngroups == rows.groupby([*keys]).ngroups:
        return []
    # the median, as short calls may by chance take equally long
    return [name for name in differ if name not in stamp and by_call[name].nunique().median() == 1]


def every(*conditions: Any) -> np.ndarray:
    """All of some conditions in one row, whatever their shapes: what a sentence about all of them checks.

    Example:
        >>> every(pd.Series([True, False]), 2 > 1).tolist()
        [True, False, True]
    """
    return np.concatenate([np.ravel(condition) for condition in conditions])


def ends(**values: Any) -> dict[str, float]:
    """The smallest and the largest of values, what is missing left out: facts <name>_low and <name>_high.

    Example:
        >>> ends(lost=pd.Series([4.0, 9.0, 7.0]))
        {'lost_low': 4.0, 'lost_high': 9.0}
    """
    flat = {name: np.ravel(each) for name, each in values.items()}
    flat = {name: each if each.size else np.array([np.nan]) for name, each in flat.items()}  # at smoke
    how = {"low": np.nanmin, "high": np.nanmax}
    return {f"{name}_{end}": of(each).item() for name, each in flat.items() for end, of in how.items()}


def linked(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """A table made of rows of another, to which claims link.

    Example:
        >>> linked(pd.DataFrame({"loss": [1.0]}), "losses").attrs["table"]
        'losses'
    """
    table.attrs["table"] = name
    return table
