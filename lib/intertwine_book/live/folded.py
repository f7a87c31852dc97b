"""The graph of a network as people read it: no reshaping, an activation with its layer, a block once."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Exported = dict[str, Any]
"""What `intertwine.weightspace.export` returns."""

UNSHOWN = {"__getitem__", "cat", "chunk", "contiguous", "expand", "flatten", "permute", "repeat_interleave"}
UNSHOWN |= {"reshape", "split", "squeeze", "to", "transpose", "unflatten", "unsqueeze", "view"}
"""Of one value: what they return holds the same numbers."""

ABSORBED = {"batch_norm", "mul"}
"""With weights of their own, yet drawn with the layer before: batch norm, the gain of a norm by hand."""

APART = {"layer_norm", "rms_norm"}
"""Drawn by themselves, also without weights."""


class GraphRow(NamedTuple):
    module: str
    functions: tuple[str, ...]
    weights: tuple[str, ...]


class Value(NamedTuple):
    start: int
    ends: tuple[int, ...]
    spaces: tuple[int, ...]


class Repetition(NamedTuple):
    """Rows from `first` on, as many as `period`, stand for `times` blocks in a row."""

    first: int
    period: int
    times: int


class RowGraph(NamedTuple):
    """Rows, the values between them, which space stands for each, and the block that is repeated, if any."""

    nodes: list[GraphRow]
    edges: list[Value]
    same: dict[int, int]
    fold: Repetition | None


def folded(found: Exported) -> RowGraph:
    """Rows for a picture: each of a few calls, and a block that is repeated at least three times only once.

    Example:
        >>> import copy, torch
        >>> from torch import nn
        >>> from intertwine.weightspace import export, find_symmetries
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, norm_first=True)
        >>> network = nn.Sequential(nn.Linear(3, 8), *(copy.deepcopy(layer) for _ in range(5))).eval()
        >>> rows = folded(export(find_symmetries(network, torch.zeros(4, 1, 3))))
        >>> [node.functions[-1] for node in rows.nodes][6:], rows.fold
        (['add', 'layer_norm', 'relu', 'linear', 'add'], Repetition(first=2, period=9, times=5))
    """
    nodes = [GraphRow(n["module"], (n["function"],), tuple(n["weights"])) for n in found["nodes"]]
    edges = [Value(e["start"], tuple(e["ends"]), tuple(e["spaces"])) for e in found["edges"]]
    while (into := _absorbed(nodes, edges)) != [*range(len(nodes))]:
        nodes, edges = _joined(nodes, edges, into)
    groups = {s["index"]: (s["group"], s["units"], s["why"]) for s in found["spaces"]}
    fold = _repeated([_signature(nodes, edges, groups, k) for k in range(len(nodes))])
    same = {s["index"]: s["index"] for s in found["spaces"]}
    if fold is None or not _identified(nodes, edges, found, fold, same):
        return RowGraph(nodes, edges, {s: s for s in same}, None)
    return RowGraph(*_once(nodes, edges, fold, same), same, fold)


def _absorbed(nodes: list[GraphRow], edges: list[Value]) -> list[int]:
    """For each node the one it becomes part of, itself for most; −1 where nothing reads what it makes."""
    values: dict[int, list[Value]] = {}
    for edge in edges:
        values.setdefault(edge.start, []).append(edge)
    into, changed = [*range(len(nodes))], set[int]()
    for k, node in enumerate(nodes):
        read = [edge for edge in edges if k in edge.ends]
        if len(read) != 1 or (node.weights and node.functions[0] not in ABSORBED):
            continue
        (edge,) = read
        if not node.weights and k not in values and k < len(nodes) - 1:
            into[k] = -1
        elif {edge.start, k} & changed:
            continue
        elif set(node.functions) <= UNSHOWN or (
            edge.start
            and node.functions[0] not in APART
            and values[edge.start] == [edge]
            and edge.ends == (k,)
            and all(each.spaces == edge.spaces for each in values.get(k, [edge]))
        ):
            into[k] = edge.start
            changed |= {edge.start, k}
    return into


def _joined(nodes: list[GraphRow], edges: list[Value], into: list[int]) -> tuple[list[GraphRow], list[Value]]:
    """The graph in which nodes have become parts of others, or nothing."""
    parts = [[nodes[j] for j in range(len(nodes)) if into[j] == k] for k in range(len(nodes))]
    left = [k for k in range(len(nodes)) if into[k] == k]
    made = []
    for k in left:
        module = next((part.module for part in parts[k] if part.module), "")
        functions = [f for part in parts[k] for f in part.functions if f not in UNSHOWN]
        weights = [w for part in parts[k] for w in part.weights]
        made.append(GraphRow(module, tuple(functions) or nodes[k].functions, tuple(weights)))
    number = {k: left.index(into[k]) for k in range(len(nodes)) if into[k] >= 0}
    result = []
    for edge in edges:
        ends = sorted({number[k] for k in edge.ends if k in number} - {number.get(edge.start)})
        if ends and edge.start in number:
            result.append(Value(number[edge.start], tuple(ends), edge.spaces))
    return made, result


def _signature(nodes: list[GraphRow], edges: list[Value], groups: dict[int, Any], k: int) -> Any:
    """What two rows have in common that do the same in two blocks."""
    read = [(k - e.start, [groups[s] for s in e.spaces]) for e in edges if k in e.ends]
    numberless = [re.sub(r"\d+", "#", name) for name in (nodes[k].module, *nodes[k].weights)]
    return nodes[k].functions, numberless, read


def _repeated(signatures: Sequence[Any]) -> Repetition | None:
    """The block of rows, repeated at least three times, that leaves out most if it is shown once."""
    best, n = None, len(signatures)
    for period in range(2, n // 3 + 1):
        first = 1
        while first + 3 * period <= n:
            end = first + period
            while end < n and signatures[end] == signatures[end - period]:
                end += 1
            times = (end - first) // period
            saved = period * (times - 1)
            if times >= 3 and (best is None or saved > best.period * (best.times - 1)):
                best = Repetition(first, period, times)
            first = max(first + 1, end - period + 1)
    return best


def _identified(
    nodes: list[GraphRow], edges: list[Value], found: Exported, fold: Repetition, same: dict[int, int]
) -> bool:
    """Write down which space of the first block stands for each of the others; False if they do not fit."""
    what = {s["index"]: (s["group"], s["units"], s["why"], s["dimension"]) for s in found["spaces"]}
    for j in range(fold.first, fold.first + fold.period):
        ours = [s for e in edges if e.start == j for s in e.spaces]
        for i in range(1, fold.times):
            theirs = [s for e in edges if e.start == j + i * fold.period for s in e.spaces]
            if len(ours) != len(theirs):
                return False
            for a, b in zip(ours, theirs, strict=True):
                if what[a] != what[b] or same[b] not in (a, b, same[a]):
                    return False
                same[b] = same[a]
    return True


def _once(
    nodes: list[GraphRow], edges: list[Value], fold: Repetition, same: dict[int, int]
) -> tuple[list[GraphRow], list[Value]]:
    """The graph with the first of the blocks alone; what leaves the last one leaves it."""
    end, shown = fold.first + fold.period * fold.times, fold.first + fold.period

    def row(k: int) -> int:
        inside = fold.first + (k - fold.first) % fold.period
        return k if k < fold.first else inside if k < end else k - end + shown

    result = []
    for edge in edges:
        first = [k for k in edge.ends if k < shown]
        later = [row(k) for k in edge.ends if k >= end]
        ends = sorted({*later, *first})
        if ends:
            result.append(Value(row(edge.start), tuple(ends), tuple(same[s] for s in edge.spaces)))
    return nodes[:shown] + nodes[end:], result


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in words.

    Example:
        >>> ranges([0, 1, 2, 5])
        '0–2, 5'
    """
    parts: list[list[int]] = []
    for n in sorted(set(numbers)):
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ", ".join(
        f"{part[0]}–{part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts
    )


def together(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Names that differ in the number of a block alone, as one.

    Example:
        >>> [name for name, _ in together(["h.0.w", "h.1.w", "head.w", "h.2.w"])]
        ['h.{0–2}.w', 'head.w']
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        number = re.search(r"(?<=[._])\d+(?=\.)", name)
        key = name if number is None else f"{name[: number.start()]}\0{name[number.end() :]}"
        groups.setdefault(key, []).append((int(number[0]) if number else 0, name))
    for key, members in groups.items():
        counted = ranges([k for k, _ in members])
        shown = members[0][1] if len(members) == 1 else key.replace("\0", f"{{{counted}}}")
        yield shown, [name for _, name in members]
