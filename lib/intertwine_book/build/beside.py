"""Tables of the page *Beside other libraries*, from the measurements that `make bench` writes."""

import re
from pathlib import Path

import pandas as pd

from intertwine_book.markdown_table import markdown_table

CAPTIONS = {
    "peers": "*Peer ÷ ours* above 1 means that ours is faster.",
    "floors": "Heavy kernels at their largest size: time, the two floors, and the growth of time with size "
    "(1 is linear).",
}
"""Captions of the tables of every measurement."""


def parts(folder: Path) -> dict[str, str]:
    """The tables by name, in markdown; none where nothing was measured."""
    if not (folder / "peers.csv").is_file():
        return {}
    found = {}
    for name, short in {"peers": methods, "floors": kernels}.items():
        measured = pd.read_csv(folder / f"{name}.csv", dtype={"Size": str})
        run = pd.read_csv(folder / f"{name}_run.csv", index_col="What")["Value"]
        found[name] = f"{short(measured)}\n\nProcessor: {run['Processor'].partition(';')[0]}.\n"
        table = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
        found[f"{name}_all"] = whole(table, CAPTIONS[name], f"table-{name}")
    return found


def whole(table: pd.DataFrame, caption: str, name: str) -> str:
    """Every row as it was measured, with large numbers written out.

    Example:
        >>> table = pd.DataFrame({"Kernel": ["training"], "Time, ms": ["1.08e+03"], "Error": ["2e-06"]})
        >>> print(whole(table, "Times.", "table-times").splitlines()[-2])
        training,"1,080",2e-06
    """

    def written(cell: str) -> str:
        return f"{float(cell):,.0f}" if re.fullmatch(r"[\d.]+e\+\d+", cell) else cell

    rows = table.map(written).to_csv(index=False)
    options = f":header-rows: 1\n:class: dataframe\n:name: {name}"
    return f"```{{csv-table}} {caption}\n{options}\n\n{rows}```\n"


def methods(peers: pd.DataFrame) -> str:
    """One row a method: how many times faster than its peer ours is, from the worst case to the best.

    Example:
        >>> times = {"Ours, ms": [1.0, 20.0], "Peer, ms": [0.5, 50.0], "Peer ÷ ours": [0.5, 2.5]}
        >>> sizes = {"Method": "lasso", "Peer": "scikit-learn", "Size": ["200 × 16", "2000 × 64"]}
        >>> table = pd.DataFrame({**times, **sizes, "Precision": "float64"})
        >>> print(methods(table).splitlines()[-1])
        | lasso | scikit-learn | 0.5 to 2.5 | 2000 × 64, float64: 20 against 50 ms |
    """
    rows = []
    for (method, peer), cases in peers.groupby(["Method", "Peer"], sort=False):
        ratios, largest = cases["Peer ÷ ours"], cases.loc[cases["Ours, ms"].idxmax()]
        ours, theirs = (_short(float(largest[f"{whose}, ms"])) for whose in ("Ours", "Peer"))
        times = f"{largest['Size']}, {largest['Precision']}: {ours} against {theirs} ms"
        rows.append([method, peer, f"{ratios.min():.2g} to {ratios.max():.2g}", times])
    head = ["method", "peer", "ours is faster by a factor of", "largest size: ours against peer"]
    return markdown_table([head, *rows])


def kernels(floors: pd.DataFrame) -> str:
    """One row a kernel, with the reason where it takes more than three times its floor."""
    rows = [
        [
            row["Kernel"],
            f"{row['Size']}, {row['Precision']}",
            _short(row["Time, ms"]),
            f"{row['Times its floor']:.2g}",
            row["Why"],
        ]
        for _, row in floors.fillna("").iterrows()
    ]
    return markdown_table([["kernel", "size", "time, ms", "times its floor", "why"], *rows])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
