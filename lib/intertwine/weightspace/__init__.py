"""Act on the weights of a network without changing its function."""

from intertwine.weightspace.mlp import Layers, forward, move, random_layers

__all__ = ["Layers", "forward", "move", "random_layers"]
