"""Numbers that sentences and captions of a page use, by name."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from intertwine_book.intervals import interval


def tell(*facts: Mapping[str, Any]) -> None:
    """Give a page numbers and words by name: a sentence reads ``{glue:text}`lost:.1f` ``.

    Example:
        >>> tell({"lost": 15.46}, {"layer": "relu3"})

    A chapter calls this once, with the facts of its story and with what it computed itself.

    Raises:
        ValueError: two of them have one name.
    """
    from myst_nb import glue  # only a notebook has it

    told: dict[str, Any] = {}
    for each in facts:
        if twice := sorted(told.keys() & each.keys()):
            raise ValueError(f"Expected each fact once, was given '{twice[0]}' twice: rename one.")
        told |= each
    for name, value in told.items():
        glue(name, value.item() if hasattr(value, "item") else value, display=False)


def span(**values: pd.Series) -> dict[str, float]:
    """The smallest and the largest of some values: facts `<name>-low` and `<name>-high`.

    Example:
        >>> span(lost=pd.Series([4.0, 9.0, 7.0]))
        {'lost-low': 4.0, 'lost-high': 9.0}
    """
    ends = ((name, end, getattr(each, how)()) for name, each in values.items() for end, how in _ENDS)
    return {f"{name}-{end}": float(value) for name, end, value in ends}


def number(value: float, digits: int = 2) -> str:
    """A number with so many digits behind the point and a true minus sign.

    Example:
        >>> number(-0.301)
        '−0.30'
    """
    return f"{value:z.{digits}f}".replace("-", "−")


def said(values: pd.Series, digits: int = 2) -> str:
    """A mean with its 95 % interval.

    Example:
        >>> said(pd.Series([-1.0, 0.0, 1.0]))
        '0.00 [−2.48, 2.48]'
    """
    mean, low, high = (number(each, digits) for each in (values.mean(), *interval(values)))
    return f"{mean} [{low}, {high}]"


def listed(values: pd.Series, digits: int = 2) -> str:
    """Each of a few values, where an interval would say less.

    Example:
        >>> listed(pd.Series([5.44, 3.02, 4.0]), 1)
        '5.4, 3.0 and 4.0'
    """
    *most, last = (number(each, digits) for each in values)
    return f"{', '.join(most)} and {last}"


_ENDS = (("low", "min"), ("high", "max"))
