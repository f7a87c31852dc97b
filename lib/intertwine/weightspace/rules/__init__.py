"""Rules of operations for the axes of their arguments; importing this package registers them."""

from intertwine.weightspace.rules import (
    arithmetic,
    attention,
    elementwise,
    layers,
    norms,
    recurrent,
    shapes,
    slices,
)

__all__ = ["arithmetic", "attention", "elementwise", "layers", "norms", "recurrent", "shapes", "slices"]
