"""A run as a graph: its calls, the weights that they take, and the values between them."""

from collections.abc import Callable
from typing import NamedTuple

from intertwine.weightspace.trace.run import Call, Run, needed


class GraphNode(NamedTuple):
    """One call of a function that computes with the network's input, or with what was made of it.

    Attributes:
        module: the layer whose weights it takes, or the module that it is; "" if it is none.
        function: its name.
        weights: the parameters and buffers that it takes.
        spaces: the numbers of the hidden spaces on the axes of these weights.
    """

    module: str
    function: str
    weights: tuple[str, ...] = ()
    spaces: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.module} · {self.function}" if self.module else self.function


class GraphEdge(NamedTuple):
    """A value: the node that makes it, those that read it, and the hidden spaces on its axes."""

    start: int
    ends: tuple[int, ...]
    spaces: tuple[int, ...]


class Graph(NamedTuple):
    """Nodes in the order of the run, of which the first is the input, and the values between them."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]


def graph(run: Run, touched: Callable[[int], set[int]]) -> Graph:
    """The calls that an output needs, and the values between them; `touched` says the spaces on a value.

    A call of weights and constants alone is no node. Its weights belong to the nodes that read its result,
    as those of an embedding of positions do to the sum that adds it.
    """
    made, nodes = dict.fromkeys(run.inputs, 0), [GraphNode("", "input")]
    readers: dict[int, list[int]] = {}
    stored = {index: {index} for index in run.names}  # value → the weights that it is, or was made of
    for call in needed(run):
        taken = dict.fromkeys(ref.index for ref in call.refs)
        weights = sorted(set[int]().union(*(stored.get(i, ()) for i in taken)))
        if not (sources := [i for i in taken if i in made]):
            stored |= {ref.index: {*weights} for ref in call.results if ref.index not in run.names}
            continue
        for i in sources:
            readers.setdefault(i, []).append(len(nodes))
        # a cast that has nothing to do returns its argument: the node that made it stays
        made |= {ref.index: len(nodes) for ref in call.results if ref.index not in taken}
        spaces = sorted({s for i in weights for s in touched(i)})
        names = dict.fromkeys(run.stored(i)[0] for i in weights)
        nodes.append(GraphNode(_module(run, call), call.title or call.name, tuple(names), tuple(spaces)))
    edges = [GraphEdge(made[i], tuple(rows), tuple(sorted(touched(i)))) for i, rows in readers.items()]
    return Graph(nodes, edges)


def _module(run: Run, call: Call) -> str:
    """The layer whose weights a call takes, else the innermost module that it is, else nothing."""
    result = call.results[0].index
    named = [run.names[ref.index].rpartition(".")[0] for ref in call.refs if ref.index in run.names]
    # of modules within each other the longest name is the innermost
    named += sorted(m for m, c in run.modules.items() if c[-1][0] != c[-1][1] == result)[::-1]
    return named[0] if named else ""
