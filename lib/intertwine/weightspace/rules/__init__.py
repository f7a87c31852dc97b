"""Rules of operations for the axes of their arguments; importing this package registers them all."""

from intertwine.weightspace.rules import arithmetic, layers, norms, recurrent, shapes  # these import the rest

__all__ = ["arithmetic", "layers", "norms", "recurrent", "shapes"]
