"""One figure style and palette through the book; every figure function takes a table and returns a Figure."""

from intertwine.plots.curves import curves, matrix, strips
from intertwine.plots.groups import orbit, scalar_strip
from intertwine.plots.rotations import penalties
from intertwine.plots.style import COLOURS, GROUP_COLOURS, new_figure, use_style
from intertwine.plots.symmetries import before_and_after, neuron_diagram

__all__ = [
    "COLOURS",
    "GROUP_COLOURS",
    "before_and_after",
    "curves",
    "matrix",
    "neuron_diagram",
    "new_figure",
    "orbit",
    "penalties",
    "scalar_strip",
    "strips",
    "use_style",
]
