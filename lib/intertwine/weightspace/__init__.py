"""Act on the weights of a network without changing its function."""

from intertwine.weightspace.balance import balanced, imbalance
from intertwine.weightspace.find import WeightSpace, find_symmetries
from intertwine.weightspace.hidden import HiddenSpace, Move
from intertwine.weightspace.match import match
from intertwine.weightspace.mlp import Layers, forward, move, random_layers
from intertwine.weightspace.verify import Verification

__all__ = [
    "HiddenSpace",
    "Layers",
    "Move",
    "Verification",
    "WeightSpace",
    "balanced",
    "find_symmetries",
    "forward",
    "imbalance",
    "match",
    "move",
    "random_layers",
]
