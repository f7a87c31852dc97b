"""Tables of the page *Beside other libraries*, from the measurements that `make bench` writes."""

from pathlib import Path

import pandas as pd

from intertwine_book.markdown_table import markdown_table


def parts(folder: Path) -> dict[str, str]:
    """The tables by name, in markdown; none where nothing was measured."""
    if not (folder / "peers.csv").is_file():
        return {}
    return {
        "peers": methods(pd.read_csv(folder / "peers.csv", dtype={"Size": str})),
        "floors": kernels(pd.read_csv(folder / "floors.csv", dtype={"Size": str})),
    }


def methods(peers: pd.DataFrame) -> str:
    """One row a method: how many times faster than its peer ours is, from the worst case to the best.

    Example:
        >>> times = {"Ours, ms": [1.0, 20.0], "Peer, ms": [0.5, 50.0], "Peer ÷ ours": [0.5, 2.5]}
        >>> sizes = {"Method": "lasso", "Peer": "scikit-learn", "Size": ["200 × 16", "2000 × 64"]}
        >>> table = pd.DataFrame({**times, **sizes, "Precision": "float64"})
        >>> print(methods(table).splitlines()[-1])
        | lasso | scikit-learn | 0.5 to 2.5 | 2000 × 64: 20 against 50 ms |
    """
    rows = []
    for (method, peer), cases in peers.groupby(["Method", "Peer"], sort=False):
        ratios, largest = cases["Peer ÷ ours"], cases.loc[cases["Ours, ms"].idxmax()]
        ours, theirs = (_short(float(largest[f"{whose}, ms"])) for whose in ("Ours", "Peer"))
        times = f"{largest['Size']}: {ours} against {theirs} ms"
        rows.append([method, peer, f"{ratios.min():.2g} to {ratios.max():.2g}", times])
    return markdown_table([["method", "peer", "ours is faster by a factor of", "largest size"], *rows])


def kernels(floors: pd.DataFrame) -> str:
    """One row a kernel, with the reason where it takes more than three times its floor."""
    rows = [
        [row["Kernel"], _short(row["Time, ms"]), f"{row['Times its floor']:.2g}", row["Why"]]
        for _, row in floors.fillna("").iterrows()
    ]
    return markdown_table([["kernel", "time, ms", "times its floor", "why"], *rows])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
