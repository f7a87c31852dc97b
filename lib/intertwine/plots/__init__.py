"""One figure style and palette through the book; every figure function takes a table and returns a Figure."""

from intertwine.plots.style import COLOURS, GROUP_COLOURS, use_style

__all__ = ["COLOURS", "GROUP_COLOURS", "use_style"]
