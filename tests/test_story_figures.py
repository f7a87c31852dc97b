"""Every figure of the stories is drawn from its recorded tables, and shows all that it draws."""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from intertwine_book import stories


def drawn() -> list[Callable[[], Figure]]:
    """The functions of all stories that return a figure and need no argument."""
    names = [f"{stories.__name__}.{info.name}" for info in pkgutil.iter_modules(stories.__path__)]
    functions = [
        found
        for name in names
        for _, found in inspect.getmembers(import_module(name), inspect.isfunction)
        if found.__module__ == name and not found.__name__.startswith("_")
    ]
    return [
        each for each in functions if each.__annotations__.get("return") is Figure and _needs_nothing(each)
    ]


def _needs_nothing(function: Callable[..., object]) -> bool:
    given = inspect.signature(function).parameters.values()
    return all(each.default is not each.empty for each in given)


def points(axis: Axes) -> np.ndarray:
    """What lines and dots stand for, in data coordinates."""
    lines = [line.get_xydata() for line in axis.lines if line.get_transform() == axis.transData]
    dots = [each.get_offsets() for each in axis.collections if isinstance(each, PathCollection)]
    found = np.concatenate([np.empty((0, 2)), *(np.asarray(each, float) for each in [*lines, *dots])])
    return found[np.isfinite(found).all(1)]


@pytest.mark.parametrize(
    "draw", drawn(), ids=lambda draw: f"{draw.__module__.split('.')[-1]}.{draw.__name__}"
)
def test_no_axis_cuts_off_what_a_figure_draws(draw):
    figure = draw()
    figure.canvas.draw()  # sets the limits
    for axis in figure.axes:
        low, high = np.sort([axis.get_xlim(), axis.get_ylim()]).T
        assert ((points(axis) >= low - 1e-9) & (points(axis) <= high + 1e-9)).all()
