"""What operations ask of the axes of their arguments: imported, the rules are registered."""

from intertwine.weightspace.rules import arithmetic, attention, elementwise, layers, norms, shapes, slices

__all__ = ["arithmetic", "attention", "elementwise", "layers", "norms", "shapes", "slices"]
