"""Find the symmetries of any network, and act on its weights without changing its function.

`find` runs the phases, each a folder that imports earlier ones only: `trace` → `rules` → `solve` → `act` →
`uses`.
"""

from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.find import find_symmetries
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.balance import balance, imbalance
from intertwine.weightspace.uses.canonical import canonicalise
from intertwine.weightspace.uses.match import match
from intertwine.weightspace.uses.verify import Verification, relative_error, verify

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
