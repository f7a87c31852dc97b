"""The symmetry explorer: networks in the colours of their hidden spaces, and the weights of each space."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from IPython.display import HTML
from torch import nn

from intertwine.weightspace import Graph, GraphEdge, GraphNode
from intertwine.weightspace.solve.draw import colour, draw, routed
from intertwine.weightspace.trace.trace import Outputs
from intertwine_book.live.architectures import PUBLIC, Switches
from intertwine_book.live.instrument import instrument
from intertwine_book.live.recorded import NetworkView, recorded
from intertwine_book.live.views import found, key, written
from intertwine_book.live.words import SIDES, worded

OPTIONS = {
    "norms": ("RMS norm", "layer norm"),
    "their place": ("before", "after"),
    "positions": ("rotary", "learned"),
    "perceptron": ("gated", "plain"),
    "keys and values": ("shared by two", "one a head"),
    "last layer": ("the embedding", "its own"),
}
"""What each of `Switches` is called, where it is on and where it is off."""


def packed(views: Mapping[str, NetworkView]) -> dict[str, Any]:
    """Views in which rows, values and spaces are numbers in lists that all views share.

    Example:
        >>> one, two = ({"rows": rows, "values": [], "spaces": []} for rows in (["a", "b"], ["b"]))
        >>> packed({"one": one, "two": two})["views"]["two"]["rows"]
        [1]
    """
    shared: dict[str, dict[str, int]] = {"rows": {}, "values": {}, "spaces": {}}
    result = {}
    for name, each in views.items():
        result[name] = dict(each)
        for part, known in shared.items():
            result[name][part] = [known.setdefault(written(one), len(known)) for one in each[part]]
    lists = {part: [json.loads(text) for text in known] for part, known in shared.items()}
    return {"views": result, **lists}


def explorer(name: str = "explorer", public: Sequence[str] = PUBLIC, *, blocks: bool = True) -> HTML:
    """An instrument: choose a network, or the parts of a block, and light up the weights of a hidden space.

    Example:
        >>> "1,198,080" in explorer("one", ["GPT-2"], blocks=False).data
        True

    Args:
        name: the id of the element.
        public: architectures to choose from.
        blocks: whether a block can be assembled, too; it is then the first that is shown.
    """
    known = recorded()
    views = {each: known[each] for each in known if each in public or (blocks and each.isdigit())}
    return _page(name, views, key(Switches()) if blocks else public[0], public, blocks=blocks)


def explore(network: nn.Module, inputs: Any, *, outputs: Outputs = None, name: str = "explored") -> HTML:
    """The explorer for a network of one's own, in evaluation mode, and an input for it.

    Example:
        >>> import torch
        >>> network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> "hidden units" in explore(network, torch.zeros(1, 3)).data
        True
    """
    return _page(name, {"yours": found(network, inputs, outputs)}, "yours", ["yours"], blocks=False)


def _page(
    name: str, views: Mapping[str, NetworkView], first: str, public: Sequence[str], *, blocks: bool
) -> HTML:
    titles = {
        each: "Your network" if each == "yours" else "Your block" for each in views if each not in PUBLIC
    }
    views = {each: worded(titles.get(each, each), view) for each, view in views.items()}
    most = max(len(each["spaces"]) for each in views.values())
    data = packed({each: view | {"values": ways(view), "rows": _short(view)} for each, view in views.items()})
    data |= {"first": first, "public": [*public]}
    data["colours"] = [colour(k % 7 + 14 * (k // 7)) for k in range(most)]  # the eighth is unlike the first
    data["sides"] = [[title, side] for side, title in SIDES.items()]
    data["switches"] = [[label, *options] for label, options in OPTIONS.items()] if blocks else []
    shown = views[first]
    sentence = (
        f"Each colour is a hidden space, and the axes of weights that move together have one colour. "
        f"{shown['title']}. Linear changes of the weights that leave the function unchanged: "
        f"dimension {shown['dimension']:,} of {shown['parameters']:,} weights."
    )
    return instrument(name, ["explorer"], data, still(shown, name), sentence)


def _short(view: NetworkView) -> list[dict[str, Any]]:
    """Rows without the sides that are empty."""
    return [{part: what for part, what in row.items() if what} for row in view["rows"]]


def _edges(shown: NetworkView) -> list[GraphEdge]:
    return [GraphEdge(start, tuple(ends), tuple(spaces)) for start, ends, spaces in shown["values"]]


def ways(shown: NetworkView) -> list[list[Any]]:
    """Values as lines of one space, −1 for none: start, place there, and whether the next row reads it; of a
    line that goes further down also the lane, and for each row there the share of its box above the arrow.

    Example:
        >>> ways({"values": [[0, [1], []], [1, [2, 3], [4]]]})
        [[-1, 0, 0, 1], [4, 1, 0, 1, 0, [[3, 0.5]]]]
    """
    lines = []
    for line in routed(_edges(shown)):
        made: list[Any] = [-1 if line.space is None else line.space, line.start, line.place, int(line.near)]
        entries = [[row, round(k / (n + 1), 3)] for row, (k, n) in zip(line.far, line.entries, strict=True)]
        lines.append(made + ([line.lane, entries] if entries else []))
    return lines


def still(shown: NetworkView, name: str) -> str:
    """The rows of a view as `WeightSpace.draw` draws them, with ids that begin with the instrument's."""
    rows = shown["rows"]
    nodes = [GraphNode("", row["label"], (), tuple(sorted({*row["reads"], *row["writes"]}))) for row in rows]
    spaces = {k: (f"{s['name']}: {s['group']}", s["why"]) for k, s in enumerate(shown["spaces"])}
    drawing = str(draw(Graph(nodes, _edges(shown)), spaces)).replace('<g id="', f'<g id="{name}-')
    wide = re.findall(r'width="(\d+)"', drawing)[0]
    return drawing.replace("<svg", f'<svg role="img" aria-label="A network" style="max-width: {wide}px"', 1)
