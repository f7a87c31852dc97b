"""An experiment yields rows, and returns their table."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec

import pandas as pd

from intertwine.training.epoch import Row

HOLDS = 1e-9  # an equation holds in float64 if its sides differ by less, relative to their size
_P = ParamSpec("_P")


def tabled(experiment: Callable[_P, Iterable[Row]]) -> Callable[_P, pd.DataFrame]:
    """A decorator: the rows that a function yields, as one table.

    Example:
        >>> @tabled
        ... def squares(sides):
        ...     for side in sides:
        ...         yield {"side": side, "area": side**2}
        >>> squares([2, 3])["area"].tolist()
        [4, 9]
    """

    @wraps(experiment)
    def table(*args: _P.args, **options: _P.kwargs) -> pd.DataFrame:
        return pd.DataFrame(list(experiment(*args, **options)))

    return table
