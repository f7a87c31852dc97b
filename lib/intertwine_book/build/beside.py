"""The table of the page *Beside other libraries*, from the measurements that `make bench` writes."""

from pathlib import Path

import pandas as pd

from intertwine_book.markdown_table import markdown_table


def parts(folder: Path) -> dict[str, str]:
    """The table by its name, in markdown; none where nothing was measured."""
    peers = folder / "peers.csv"
    return {"peers": methods(pd.read_csv(peers, dtype={"Size": str}))} if peers.is_file() else {}


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


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
