"""What the symmetry explorer shows of a network: rows, hidden spaces and their weights; and its record."""

import json
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import torch
from torch import nn

from intertwine.weightspace import export, find_symmetries
from intertwine.weightspace.solve.draw import in_symbols
from intertwine.weightspace.trace.trace import Outputs
from intertwine_book.live.architectures import PLACES, PUBLIC, SwitchedBlock, Switches, build
from intertwine_book.live.folded import Exported, RowGraph, folded, ranges, together
from intertwine_book.live.recorded import RECORD, NetworkView
from intertwine_book.live.words import SIDES


def view(found: Exported, parameters: int) -> NetworkView:
    """What the page needs of an `export`: rows as people read them, and the weights of each space by module.

    Example:
        >>> network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> seen = view(export(find_symmetries(network, torch.zeros(1, 3))), 22)
        >>> [row["label"] for row in seen["rows"]], seen["spaces"][0]["group"]
        (['input', '0 · relu', '2'], 'Σ₄ ⋉ (ℝ₊)⁴')
    """
    graph = folded(found)
    numbers = {s: k for k, s in enumerate(dict.fromkeys(graph.same.values()))}
    at = {s: numbers[first] for s, first in graph.same.items()}
    return {
        "parameters": parameters,
        "dimension": found["dimension"],
        "rows": [*_rows(graph, found, at)],
        "values": [[e.start, e.ends, sorted({at[s] for s in e.spaces})] for e in graph.edges],
        "fold": graph.fold,
        "spaces": [*_spaces(graph, found, numbers)],
        "stays": [*_stays(found)],
    }


def _rows(graph: RowGraph, found: Exported, at: dict[int, int]) -> Iterator[dict[str, Any]]:
    """Labels, and the spaces that the weights of a row read and write."""
    heads = [node.module.partition(".")[0] for node in graph.nodes]
    common = next((f"{head}." for head in heads if head and 2 * heads.count(head) > len(heads)), "")
    sides = {side: _sides(found, side) for side in ("readers", "writers")}
    for k, node in enumerate(graph.nodes):
        module = node.module.removeprefix(common) if node.weights else ""
        if graph.fold and graph.fold.first <= k < graph.fold.first + graph.fold.period:
            module = module.partition(".0.")[2] or module.partition("_0.")[2]
        functions = [f.strip("_") for f in node.functions if f != module]
        plain = {"linear", "addmm", "conv2d", "embedding", "mul"} if module and node.weights else set()
        shown = [SHORT_NAMES.get(f, f) for f in functions if f not in plain]
        row: dict[str, Any] = {"label": " · ".join([module] * bool(module) + shown)}
        before = {s for e in graph.edges if k in e.ends for s in e.spaces}
        after = {s for e in graph.edges if e.start == k for s in e.spaces}
        takes = {side: {s for w in node.weights for s in sides[side].get(w, ())} for side in sides}
        # a tensor that writes and reads is listed as a reader: here it does what the values say
        both = {s for s in takes["readers"] - takes["writers"] if s in after - before}
        row["reads"] = sorted({at[s] for s in takes["readers"] - both})
        row["writes"] = sorted({at[s] for s in takes["writers"] | both})
        yield row


SHORT_NAMES = {"scaled_dot_product_attention": "attention"}


def _sides(found: Exported, side: str) -> dict[str, set[int]]:
    """The name of a weight → the spaces that it writes, or reads."""
    result: dict[str, set[int]] = {}
    for space in found["spaces"]:
        for row in space[side]:
            result.setdefault(_name(row), set()).add(space["index"])
    return result


def _name(row: dict[str, Any]) -> str:
    return f"{row['module']}.{row['parameter']}".lstrip(".")


def _spaces(graph: RowGraph, found: Exported, numbers: dict[int, int]) -> Iterator[dict[str, Any]]:
    """Each space that is shown, with those of other blocks for which it stands."""
    holders: dict[str, int] = {}
    for node in found["nodes"]:
        for weight in node["weights"]:
            holders[weight] = holders.get(weight, 0) + 1
    for first in numbers:
        members = [s for s in found["spaces"] if graph.same[s["index"]] == first]
        one = members[0]
        shown = {"role": _role(one, graph, found), "group": in_symbols(one["group"]), "units": one["units"]}
        shown |= {"dimension": sum(s["dimension"] for s in members), "times": len(members)}
        readers, writers = (
            {_name(row) for s in members for row in s[side]} for side in ("readers", "writers")
        )
        both = sorted(w for w in readers - writers if holders[w] > 1)
        shown |= {"why": one["why"] + [f"{w} writes and reads" for w in both]}
        sides: dict[str, list[Any]] = {side: [] for side in SIDES}
        for s in members:
            for side in ("writers", "readers"):
                for row in s[side]:
                    dual = "duals" if side == "writers" and row["dual"] else side
                    sides["both" if _name(row) in both else dual].append((s["units"], row))
        yield shown | {side: [*_weights(rows, found)] for side, rows in sides.items()}


def _role(space: dict[str, Any], graph: RowGraph, found: Exported) -> str:
    """What a space is in the network, as the graph tells."""
    index, inside = space["index"], [e for e in graph.edges if space["index"] in e.spaces]
    if space["base"] is not None:
        if space["kind"] == "permutation":
            return "heads that share keys"
        return "in a head: values" if space["readers"] else "in a head: queries, keys"
    if index in {s["base"] for s in found["spaces"]}:
        return "order of heads"
    if space["why"][0].startswith("gain of"):
        return "after the gain of a norm"
    for k, node in enumerate(graph.nodes):
        sources = [e for e in inside if k in e.ends]
        if len(sources) > 1 and {f.strip("_") for f in node.functions} & {"add"}:
            return "residual stream"
    return "hidden units"


def _weights(rows: Sequence[tuple[int, dict[str, Any]]], found: Exported) -> Iterator[list[Any]]:
    """Names of weights, those of all blocks as one, the shape, the axis, and which entries if not all."""
    entries: dict[tuple[str, int], set[int]] = {}
    for units, row in rows:
        steps = range(0, units * row["step"], row["step"])
        here = {a + b + c for a in row["starts"] for b in steps for c in range(row["size"])}
        entries.setdefault((_name(row), row["axis"]), set()).update(here)
    alike: dict[tuple[Any, ...], list[str]] = {}
    for (name, axis), numbers in entries.items():
        shape = tuple(found["weights"][name]["shape"])
        part = "" if len(numbers) == shape[axis] else ranges([*numbers])
        alike.setdefault((shape, axis, part), []).append(name)
    for (shape, axis, part), names in alike.items():
        yield from ([name, [*shape], axis, part] for name, _ in together(names))


def _stays(found: Exported) -> Iterator[list[Any]]:
    """Reasons, and the parameters that do not move for that reason."""
    why: dict[str, list[str]] = {}
    for name, weight in found["weights"].items():
        if weight["stays"]:
            why.setdefault(weight["stays"], []).append(name)
    for reason, names in why.items():
        yield [reason, [name for name, _ in together(names)]]


def of_block(switches: Switches) -> NetworkView:
    """The view of a block with these switches.

    Example:
        >>> of_block(Switches())["spaces"][0]["group"], of_block(Switches(tied=True))["spaces"][0]["group"]
        ('O(64)', 'Σ₆₄ ⋉ ((ℝ*)² × {±1})⁶⁴')
    """
    torch.manual_seed(0)
    return found(SwitchedBlock(switches).eval(), torch.arange(PLACES)[None])


def of_public(name: str) -> NetworkView:
    """The view of a public architecture of full size; `architectures.build` says what has to be installed."""
    network, inputs = build(name)
    return found(network, inputs, "logits" if hasattr(network, "lm_head") else None)


def found(network: nn.Module, inputs: Any, outputs: Outputs = None) -> NetworkView:
    """The view of any network, by one run; the arguments are those of `find_symmetries`."""
    exported = export(find_symmetries(network, inputs, outputs=outputs))
    return view(exported, sum(p.numel() for p in network.parameters()))


def key(switches: Switches) -> str:
    """The name of a block in the record.

    Example:
        >>> key(Switches())
        '111110'
    """
    return "".join(str(int(on)) for on in switches)


def record() -> None:
    """Find the symmetries of all networks anew: `python -m intertwine_book.live.views`, some minutes."""
    views = {key(each): of_block(each) for each in (Switches(*on) for on in product((True, False), repeat=6))}
    views |= {name: of_public(name) for name in PUBLIC}
    lines = (f"{json.dumps(name)}: {written(each)}" for name, each in views.items())
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def written(what: Any) -> str:
    """JSON without spaces."""
    return json.dumps(what, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    record()
