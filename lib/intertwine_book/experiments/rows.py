"""An experiment yields rows, and returns their table."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec

import pandas as pd

Row = dict[str, Any]
P = ParamSpec("P")


def tabled(experiment: Callable[P, Iterable[Row]]) -> Callable[P, pd.DataFrame]:
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
    def table(*args: P.args, **options: P.kwargs) -> pd.DataFrame:
        return pd.DataFrame(list(experiment(*args, **options)))

    return table
