"""Sizes that modules keep as attributes, and that have to shrink with their weights."""

import itertools
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.trace.run import Run
from intertwine.weightspace.trace.trace import trace
from intertwine.weightspace.uses.mappings import entries_of, on_axis

TRIALS = 64
"""How many choices of attributes are tried."""


def declare(module: Any, kept: Tensor | None) -> None:
    """The sizes that a module of torch says of itself; `kept`: which rows of its weight stay, and −1."""
    shape = tuple(module.weight.shape) if isinstance(getattr(module, "weight", None), Tensor) else ()
    if isinstance(module, nn.Linear):
        module.out_features, module.in_features = shape
    elif isinstance(module, nn.modules.conv._ConvNd):
        outer, inner = (1, 0) if module.transposed else (0, 1)
        module.groups = _groups(module.groups, kept)
        sizes = {outer: shape[outer], inner: shape[inner]}
        sizes[1] *= module.groups
        module.out_channels, module.in_channels = sizes[outer], sizes[inner]
    elif isinstance(module, nn.modules.batchnorm._NormBase):
        module.num_features = len(module.weight if module.weight is not None else module.running_mean)
    elif isinstance(module, nn.GroupNorm):
        module.num_groups, module.num_channels = _groups(module.num_groups, kept), shape[0]
    elif isinstance(module, nn.LayerNorm | nn.RMSNorm):
        module.normalized_shape = shape
    elif isinstance(module, nn.Embedding):
        module.embedding_dim = shape[1]
    elif isinstance(module, nn.Bilinear):
        module.out_features, module.in1_features, module.in2_features = shape
    elif isinstance(module, nn.PReLU):
        module.num_parameters = shape[0]
    elif isinstance(module, nn.RNNBase | nn.RNNCellBase):
        layer = "_l0" if isinstance(module, nn.RNNBase) else ""
        # with projections, of which these shapes would not be true, no unit moves
        module.input_size, module.hidden_size = (
            getattr(module, f"weight_{kind}{layer}").shape[1] for kind in ("ih", "hh")
        )


def _groups(groups: int, kept: Tensor | None) -> int:
    """How many groups of channels are left, of which each has to keep as many."""
    if kept is None:
        return groups
    left = (kept[kept >= 0] // (len(kept) // groups)).unique(return_counts=True)[1].tolist()
    if len({*left}) > 1:
        raise ValueError(
            f"Expected as many units to stay in each group of channels that stays, was given {left}: remove "
            f"as many of each, or all of one."
        )
    return len(left)


def fit(small: nn.Module, model: nn.Module, space: WeightSpace, left: Mapping[int, int], inputs: Any) -> None:
    """Set the integer attributes without which the smaller model does not run, as few as can be.

    `left` says how many units of which spaces it has. Raises a ValueError where no choice of attributes
    gives all values of its run the shapes that the labels ask for.
    """
    chosen = space.inference.run.chosen
    before = trace(model, inputs, chosen, values=False)
    expected = _expected(space, before, left)
    said = _misfit(small, before, expected, inputs, chosen)
    sizes = _attributes(small, space, left) if said else {}
    for names in itertools.islice(_subsets(sizes), TRIALS) if said else ():
        old = [(module, name, getattr(module, name)) for name in names for module, _ in sizes[name]]
        for name in names:
            for module, size in sizes[name]:
                setattr(module, name, size)
        if not _misfit(small, before, expected, inputs, chosen):
            return
        for module, name, size in old:  # a choice that failed is undone before the next one
            setattr(module, name, size)
    if said:
        raise ValueError(
            f"Expected a model whose steps take sizes from its weights, the smaller one {said}: write "
            f"sizes as -1 or x.shape in the model's reshapes, or remove units of other spaces."
        )


def _subsets(names: Mapping[str, Any]) -> Any:
    """The smallest first, so that a number that is equal by chance stays."""
    return itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(1, len(names) + 1))


def _attributes(
    small: nn.Module, space: WeightSpace, left: Mapping[int, int]
) -> dict[str, list[tuple[nn.Module, int]]]:
    """By name, integers that were a size of one of these spaces, in modules that own all of its weights.

    Each with the module and the new size. Modules of torch are declared by what is known of them.
    """
    found: dict[str, list[tuple[nn.Module, int]]] = {}
    for index, units in left.items():
        hidden, places = space.spaces[index], [*entries_of(space, space.spaces[index])]
        paths = [space.inference.run.stored(number)[0].split(".")[:-1] for number, *_ in places]
        same = itertools.takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False))
        owner = small.get_submodule(".".join(parts[0] for parts in same))
        # a module counts heads, or the units of all heads
        sizes = {hidden.size * n: units * n for n in {1, *(entries.shape[2] for _, _, entries, _ in places)}}
        for module in owner.modules():
            ours = {} if type(module).__module__.startswith("torch.") else vars(module)
            for name, value in ours.items():
                if type(value) is int and value in sizes:  # True is an instance of int, too
                    found.setdefault(name, []).append((module, sizes[value]))
    return found


def _expected(space: WeightSpace, before: Run, left: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    """The shapes of the values on which these spaces are, where so many of their units are left."""
    expected = {}
    for k, label in space.solution.labels.items():
        touched = space.solution.touched(k) & left.keys()
        known = k < len(before.shapes) and k not in space.inference.stacks
        if touched and known and space.solution.fits(k, before.shapes[k]):
            expected[k] = tuple(
                n
                - len(
                    {  # of a product of units, one may go for the sake of either
                        entry
                        for index in touched
                        for entries, _ in on_axis(space, axis, space.spaces[index])
                        for entry in entries[:, left[index] :].flatten().tolist()
                    }
                )
                for n, axis in zip(before.shapes[k], label, strict=True)
            )
    return expected


def _misfit(
    small: nn.Module, before: Run, expected: Mapping[int, tuple[int, ...]], inputs: Any, chosen: Any
) -> str:
    """What is wrong with a run of the smaller model; nothing if each value has its shape.

    A reshape that has a number of heads written into it may also run, and take the heads that are left apart.
    """
    try:
        after = trace(small, inputs, chosen, values=False)
    except ValueError as error:
        # `trace` wraps what the model raised, and the user needs the model's words
        said = str(error.__cause__ or error).splitlines() or [type(error.__cause__).__name__]
        return f"raises {said[0]!r}"
    pairs = [(before.shapes[k], after.shapes[m]) for k, m in zip(before.outputs, after.outputs, strict=False)]
    if len(before.shapes) == len(after.shapes):  # else it takes other steps
        pairs += [(shape, after.shapes[k]) for k, shape in expected.items()]
    wrong = [(new, old) for old, new in pairs if old != new]
    return f"makes a value of the shape {wrong[0][0]} in place of {wrong[0][1]}" if wrong else ""
