"""A smaller network without some units, whose weights and declared sizes are smaller."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from intertwine.checks import check_evaluation_mode
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.trace.given import AnyModel, eager, named_tensors, replica
from intertwine.weightspace.uses.declared import declare, fit
from intertwine.weightspace.uses.mappings import entries_of
from intertwine.weightspace.uses.messages import check_space


def prune(space: WeightSpace, model: AnyModel, keep: Mapping[Any, Iterable[int]], inputs: Any) -> AnyModel:
    """A copy of a model that has only these units of hidden spaces, with smaller weights.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> _ = nn.init.zeros_(model[2].weight[:, 1])
        >>> x = torch.randn(5, 3)
        >>> small = prune(find_symmetries(model, x), model, {"1": [0, 2, 3]}, x)
        >>> small[0], torch.allclose(small(x), model(x), atol=1e-6)
        (Linear(in_features=3, out_features=3, bias=True), True)

    All weights that share the space lose the same units. The function is the same where nothing reads what is
    removed, as of dead units and of those with weights of zeros after them; else it is that of the smaller
    network. Sums and means over units, as in a layer norm or the number by which a spectral norm divides, are
    then over fewer of them.

    Args:
        space: the symmetries of the network.
        model: the network, in evaluation mode; it is not changed.
        keep: by space, the units that stay, in their new order; of heads, which heads; of the channels of a
            group norm whole groups, by the space whose name ends in groups.
        inputs: as `find_symmetries` takes them: the smaller network is run on them once.

    Returns:
        The smaller model. The sizes that its modules declare are set, too: of torch's modules with weights
        always (`nn.MultiheadAttention` cannot say that it has fewer, and is refused), of others integer
        attributes that were the number of units or of their entries, as `num_heads` and `attn_dim`, where the
        model does not run without. A norm without weights keeps the sizes and groups that it was given.

    See Also:
        `mappings` lists which weights lose the units.

    Raises:
        ValueError: a space whose units have no order of their own, units that it does not have, groups of
            channels that would differ in size, or a model that has a size written into its steps, as in a
            reshape, which then fails or takes units apart; of grouped queries write their number of heads
            as −1.
    """
    check_space(space)
    if not isinstance(keep, Mapping):
        raise TypeError(
            f"Expected the units that stay by the name of their space, as {{'relu1': [0, 2]}}, was given "
            f"{keep!r}."
        )
    plain = eager(model)
    check_evaluation_mode(plain)
    run, tensors = space.inference.run, dict(named_tensors(plain))
    stay, left = dict[tuple[str, int], Tensor](), dict[int, int]()
    space.state(plain)  # refuses other shapes
    space.moves({key: space[key].identity() for key in keep})  # refuses a space by two of its names
    for key, units in keep.items():
        if not isinstance(units, Iterable):
            raise TypeError(
                f"Expected for {key!r} the units that stay, was given {units!r}: to keep so many, list which."
            )
        hidden, kept = space[key], torch.as_tensor([*units])
        if not hidden.permuted or hidden.base is not None:
            raise ValueError(
                f"Expected spaces whose units can be removed, was given {hidden.name} with the group "
                f"{hidden.group}: its units are mixed, or lie within blocks, which have to stay alike."
            )
        integers = not kept.is_floating_point() and kept.dtype != torch.bool  # a mask has other numbers
        if not integers or len(kept.unique()) < len(kept) or kept.min() < 0 or kept.max() >= hidden.size:
            raise ValueError(
                f"Expected some of the units 0 to {hidden.size - 1} of {hidden.name}, each once and by its "
                f"number, was given {kept.tolist()[:8]}"
                f"{'' if integers else ': of a mask give mask.nonzero().flatten().tolist()'}."
            )
        left[hidden.index] = len(kept)
        for index, k, entries, _ in entries_of(space, hidden):
            name, shape = run.stored(index)
            chosen = stay.setdefault((name, k), torch.arange(shape[k]))
            # the units that stay take the first places of all units, the other places go; an axis may have
            # the space twice, as of the products of all pairs of units
            before = chosen.clone()
            chosen[entries[:, : len(kept)].flatten()] = before[entries[:, kept].flatten()]
            chosen[entries[:, len(kept) :].flatten()] = -1
    new: dict[int, Tensor] = {}
    for (name, k), chosen in stay.items():
        old, kept = tensors[name], chosen[chosen >= 0]
        # one axis after another, as a weight between two spaces loses units of both
        x = new.get(id(old), old).detach()
        x = torch.index_select(x, k, kept.to(x.device), out=torch.empty_like(x.narrow(k, 0, len(kept))))
        new[id(old)] = nn.Parameter(x, old.requires_grad) if isinstance(old, nn.Parameter) else x
    small = replica(plain, new)
    rows = {id(tensors[name]): chosen for (name, k), chosen in stay.items() if k == 0}
    for module, old in zip(small.modules(), plain.modules(), strict=True):
        if any(id(x) in new for x in [*old.parameters(recurse=False), *old.buffers(recurse=False)]):
            declare(module, rows.get(id(getattr(old, "weight", None))))
    fit(small, plain, space, left, inputs)
    return small
