"""Find the symmetries of any network, and act on its weights without changing its function.

`find` runs the phases, each a folder that imports earlier ones only: `trace` → `rules` → `solve` → `act` →
`uses`.
"""

from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.find import find_symmetries
from intertwine.weightspace.solve.graph import Graph, GraphEdge, GraphNode
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.balance import balance, imbalance
from intertwine.weightspace.uses.biases import Folded, centre, fold_biases
from intertwine.weightspace.uses.canonical import canonicalise
from intertwine.weightspace.uses.equivalent import Equivalence, equivalent
from intertwine.weightspace.uses.fold import fold
from intertwine.weightspace.uses.mappings import Mapping, Slice, export, mappings
from intertwine.weightspace.uses.match import match
from intertwine.weightspace.uses.prune import prune
from intertwine.weightspace.uses.rotate import hadamard, rotate
from intertwine.weightspace.uses.transform_outputs import transform_outputs
from intertwine.weightspace.uses.untie import untie
from intertwine.weightspace.uses.verify import Verification, relative_error, verify

__all__ = [
    "Equivalence",
    "Folded",
    "Graph",
    "GraphEdge",
    "GraphNode",
    "HiddenSpace",
    "Mapping",
    "Move",
    "Moved",
    "Slice",
    "Verification",
    "WeightSpace",
    "balance",
    "canonicalise",
    "centre",
    "equivalent",
    "export",
    "find_symmetries",
    "fold",
    "fold_biases",
    "hadamard",
    "imbalance",
    "mappings",
    "match",
    "prune",
    "relative_error",
    "rotate",
    "transform_outputs",
    "untie",
    "verify",
]
