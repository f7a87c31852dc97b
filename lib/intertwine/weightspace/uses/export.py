"""All that was found of a network, as plain data for JSON: for a page, a table, or another program."""

from typing import Any

from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.uses.given import check_space
from intertwine.weightspace.uses.mappings import Slice, mappings


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


def _plain(side: tuple[Slice, ...]) -> list[dict[str, Any]]:
    return [each._asdict() for each in side]  # JSON would make lists without names of named tuples
