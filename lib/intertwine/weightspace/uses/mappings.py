"""What was found, as plain data: who writes and who reads each space, and where; all of it, for JSON."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import Axis, Unit, length, resolve
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.trace.run import Part
from intertwine.weightspace.uses.messages import check_space

Entries = Int[Tensor, "copies n size"]


class Slice(NamedTuple):
    """The entries on one axis of a parameter or buffer that belong to the units of a hidden space.

    Attributes:
        module, parameter: their names; the parameter is `f"{module}.{parameter}"`.
        axis: of the parameter.
        starts: the first entry, once for each copy of the space on the axis: a concatenation has an offset, a
            space that lies within heads a start for each head.
        step: from a unit to the next; their size where there is one unit alone.
        size: adjacent entries of each unit, as the units of a head.
        dual: whether the inverse transpose of the matrix acts on the axis, not the matrix: as on readers, and
            on keys, which write what queries meet. False where no matrix mixes the units, or only
            orthogonal ones do.
        plus: the number that is added to the entries before they move: with a gain 1 + w it is 1, and a
            scalar s makes of w the weight (1 + w)s − 1.
    """

    module: str
    parameter: str
    axis: int
    starts: tuple[int, ...]
    step: int
    size: int
    dual: bool
    plus: float


class Mapping(NamedTuple):
    """One hidden space: what may be done to it, and which weights then follow.

    Attributes:
        space: its name.
        kind: "rotation" (orthogonal matrices), "linear" (other matrices), "scale" (a positive number for each
            unit, and an order), or "permutation" (an order, perhaps signs).
        group: in symbols, as `WeightSpace.to_frame` has it.
        units: how many move together.
        writers, readers: what is multiplied by an element (by its inverse transpose where a slice is
            `dual`, as keys are), and by its inverse; of a rotation also after the gain of a norm, which is 1
            after `fold`, or else changes the matrix there. Units of a gate, which multiplies others, and of a
            mask only change places, and so do those of a tensor that both writes and reads, as of tied
            embeddings; it is listed once, as a reader; `untie` makes two of it. Of a group with several
            scalars for each unit, as with a batch norm or a vector that multiplies a weight, and of keys
            that no matrix mixes, `WeightSpace.act` alone knows which scalar each takes. Weights that a layer
            computes, as in a hypernetwork, count as what it writes. A sum of products that were changed
            before, as `(h * W + c).sum(-1)`, is not known to read W.
    """

    space: str
    kind: str
    group: str
    units: int
    writers: tuple[Slice, ...]
    readers: tuple[Slice, ...]


def mappings(space: WeightSpace) -> list[Mapping]:
    """Which modules write and which read each hidden space, with slices; `pandas.DataFrame` makes a table.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> (found,) = mappings(find_symmetries(model, torch.zeros(1, 3)))
        >>> writers, readers = found.writers, found.readers
        >>> found.kind, [s.module for s in writers], [s.module for s in readers]
        ('scale', ['0', '0'], ['2'])

    This is what SmoothQuant, SpinQuant or mergekit ask of an architecture, as the run of the model shows it.

    Args:
        space: the symmetries of the network.
    """
    check_space(space)
    found = []
    for hidden in space.spaces:
        sides: tuple[list[Slice], list[Slice]] = ([], [])
        # an orthogonal matrix is its own inverse transpose
        mixed = hidden.matrices is not None and not hidden.matrices.self_dual
        for index, k, entries, factor in entries_of(space, hidden):
            dual = mixed and hidden.vector(factor) == (-1,)  # power −1: the inverse transpose
            # False, the first, is written; True is read
            sides[space.inference.is_read(index, k, hidden.space)].append(
                _slice(space, index, k, entries, dual)
            )
        for edge, center, other in space.solution.ends:
            if space.solution.hidden(center) is hidden:
                # the other side of a gain follows this space: those that read after it, if the space lies
                # before the gain, or else those that write before it
                reads = edge.center == "before"
                beyond = space.solution.hidden(other)
                for index, k, entries, _ in entries_of(space, beyond):
                    is_read = space.inference.is_read(index, k, beyond.space)
                    if index not in (edge.gain, edge.variance) and is_read == reads:
                        sides[reads].append(_slice(space, index, k, entries, mixed and reads))
        writers, readers = (tuple(dict.fromkeys(side)) for side in sides)
        found.append(Mapping(hidden.name, _kind(hidden), hidden.group, hidden.size, writers, readers))
    return found


def export(space: WeightSpace) -> dict[str, Any]:
    """Hidden spaces with group, dimension and reason, their weights by module, and the graph of the run.

    Example:
        >>> import json
        >>> import torch
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> text = json.dumps(export(find_symmetries(model, torch.zeros(1, 3))))
        >>> found = json.loads(text)
        >>> (hidden,) = found["spaces"]
        >>> hidden["group"], hidden["why"], hidden["readers"][0]["module"]
        ('Σ_4 ⋉ (R_{>0})^4', ['relu'], '2')
        >>> found["weights"]["2.bias"]
        {'shape': [2], 'stays': "the model's output"}

    Args:
        space: the symmetries of the network.

    Returns:
        A dictionary of

        - `dimension`: of the whole group;
        - `spaces`: dictionaries with `index`, `name`, `kind`, `group`, `units`, `blocks`, `base` (the index
          of the space whose units are the blocks, or None), `dimension`, `why` (the operations that decide
          the group), and `writers` and `readers`, which are those of `mappings`;
        - `weights`: name → the `shape` of each parameter, and of each buffer that a node takes, and the
          reason why it `stays`, None if it moves or is no parameter;
        - `nodes`, `edges`: those of `WeightSpace.graph`, edges with the indices of nodes and of spaces.
    """
    check_space(space)
    nodes, edges = space.graph()
    spaces = []
    for hidden, mapping in zip(space.spaces, mappings(space), strict=True):
        what = {"index": hidden.index, "name": hidden.name, "kind": mapping.kind, "group": hidden.group}
        what |= {"units": hidden.size, "blocks": hidden.blocks, "base": hidden.base}
        what |= {"dimension": hidden.dimension, "why": [*hidden.why]}
        spaces.append(what | {"writers": _plain(mapping.writers), "readers": _plain(mapping.readers)})
    run, stays = space.inference.run, space.solution.stays
    taken = {name for node in nodes for name in node.weights} | stays.keys()  # no counters of batches
    shapes = {name: shape for name, shape in map(run.stored, run.names) if name in taken}
    return {
        "dimension": space.dimension,
        "spaces": spaces,
        "weights": {k: {"shape": [*shape], "stays": stays.get(k)} for k, shape in shapes.items()},
        "nodes": [node._asdict() for node in nodes],
        "edges": [edge._asdict() for edge in edges],
    }


def entries_of(space: WeightSpace, hidden: HiddenSpace) -> Iterator[tuple[int, int, Entries, Unit]]:
    """Where the units of a space lie: the number of a parameter, an axis, entries on it, and the factor."""
    run = space.inference.run
    for index in run.names:
        for k, axis in enumerate(space.solution.labels.get(index, ())):
            part = run.parts.get(index) if k == 0 else None
            for entries, factor in on_axis(space, axis, hidden):
                yield index, k, entries if part is None else _whole(entries, run.shapes, part), factor


def _slice(space: WeightSpace, index: int, axis: int, entries: Entries, dual: bool) -> Slice:
    run = space.inference.run
    module, _, parameter = run.stored(index)[0].rpartition(".")
    starts = tuple(entries[:, 0, 0].tolist())
    step = int(entries[0, 1, 0] - entries[0, 0, 0]) if entries.shape[1] > 1 else entries.shape[2]
    plus = run.parts[index].shift / run.parts[index].scale if index in run.parts else 0.0
    return Slice(module, parameter, axis, starts, step, entries.shape[2], dual, plus)


def on_axis(space: WeightSpace, axis: Axis, hidden: HiddenSpace) -> Iterator[tuple[Entries, Unit]]:
    """The entries of an axis that belong to the units of a space, and the factors that they are."""
    start = 0
    for segment in resolve(axis):
        entries = torch.arange(start, start + length(segment)).reshape([factor.size for factor in segment])
        for at, factor in enumerate(segment):
            if isinstance(factor, Unit) and space.solution.hidden(factor) is hidden:
                # outer factors repeat the space, inner ones are the entries of a unit
                copies = entries.shape[:at].numel()
                yield entries.reshape(copies, hidden.size, -1), factor
        start += length(segment)


def _whole(entries: Tensor, shapes: list[tuple[int, ...]], part: Part) -> Tensor:
    """The same entries on the weight of which these rows are a part."""
    rows = part.stop - part.start
    # block by block: the part has `rows` rows of each, the whole weight more
    return entries // rows * (shapes[part.whole][0] // part.blocks) + part.start + entries % rows


def _kind(hidden: HiddenSpace) -> str:
    if hidden.matrices is not None:
        return "rotation" if hidden.matrices.self_dual else "linear"
    return "scale" if hidden.logs else "permutation"


def _plain(side: tuple[Slice, ...]) -> list[dict[str, Any]]:
    return [each._asdict() for each in side]  # JSON would make lists without names of named tuples
