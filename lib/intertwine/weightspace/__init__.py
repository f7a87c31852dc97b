"""Find the symmetries of any network, and act on its weights without changing its function."""

from intertwine.weightspace.balance import balance, imbalance
from intertwine.weightspace.canonical import canonicalise
from intertwine.weightspace.find import find_symmetries
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.match import match
from intertwine.weightspace.move import Move
from intertwine.weightspace.space import Moved, WeightSpace
from intertwine.weightspace.verify import Verification, relative_error, verify

__all__ = [
    "HiddenSpace",
    "Move",
    "Moved",
    "Verification",
    "WeightSpace",
    "balance",
    "canonicalise",
    "find_symmetries",
    "imbalance",
    "match",
    "relative_error",
    "verify",
]
