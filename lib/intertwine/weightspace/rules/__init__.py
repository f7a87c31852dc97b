"""Rules."""

from intertwine.weightspace.rules import (
    arithmetic,
    elementwise,
    layers,
    norms,
    products,
    recurrent,
    shapes,
    views,
)

__all__ = ["arithmetic", "elementwise", "layers", "norms", "products", "recurrent", "shapes", "views"]
