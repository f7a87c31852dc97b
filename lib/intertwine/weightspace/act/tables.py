"""The hidden spaces of a network, and the parameters that stay, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from intertwine.weightspace.solve.hidden import Solution

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["name", "width", "blocks", "group", "dimension", "writers", "readers", "why"]


def spaces_table(solution: Solution) -> pd.DataFrame:
    """One row for each hidden space, then one for each that is frozen."""
    import pandas as pd  # slow to import, and most uses make no table

    rows: list[list[Any]] = [
        [s.called, s.size, s.blocks, s.group, s.dimension, s.writers, s.readers, s.why]
        for s in solution.spaces
    ]
    for width, reason, names in solution.frozen:
        # no element moves a frozen space, so that nothing writes or reads it: its reason is what counts
        rows.append(["", width, 1, "frozen", 0, names, [], [reason]])
    joined = [[", ".join(x) if isinstance(x, list) else x for x in row] for row in rows]
    return pd.DataFrame(joined, columns=COLUMNS)


def stays_table(solution: Solution) -> pd.DataFrame:
    """One row for each reason for which parameters do not move."""
    import pandas as pd

    why: dict[str, list[str]] = {}
    for name, reason in solution.stays.items():
        why.setdefault(reason, []).append(name)
    rows = [(reason, ", ".join(names)) for reason, names in why.items()]
    return pd.DataFrame(rows, columns=["why", "parameters"])
