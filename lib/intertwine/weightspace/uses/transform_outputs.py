"""Matrices on the outputs of layers alone, whose readers stay: another function."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.act.weights import AnyWeights
from intertwine.weightspace.rules.axes import single
from intertwine.weightspace.uses.entering import writers
from intertwine.weightspace.uses.messages import check_space


def transform_outputs(
    space: WeightSpace, model: AnyWeights, matrices: Mapping[str | int, Float[Tensor, "n n"]]
) -> AnyWeights:
    """A copy of the model whose weights and biases that write spaces, W and b, are AW and Ab.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)).eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3))
        >>> A = torch.tensor([[0.0, 2.0], [1.0, 1.0]])
        >>> turned = transform_outputs(space, model, {"1": A})
        >>> torch.allclose(turned[0].bias, A @ model[0].bias)
        True

    A *sanity rotation* (godfrey2022 §3.3). Where a matrix is not the identity, the function
    changes.

    Args:
        space: the symmetries of the network.
        model: the network, or its state dict; it is not changed.
        matrices: by space, as `WeightSpace.act` takes elements, an n×n matrix for n units; none has to be in
            the group.

    Raises:
        ValueError: a matrix of another size, a space by two of its names, or one that something else than
            linear layers writes, or that one weight writes and reads, as tied embeddings do.
    """
    check_space(space)
    moved = space.state(model)
    space.check_finite(moved)
    space.moves({key: space[key].identity() for key in matrices})  # refuses a space by two of its names
    for key, A in matrices.items():
        hidden, seen = space.lookup(key)
        if A.shape != (hidden.size, hidden.size):
            raise ValueError(
                f"Expected a matrix ({hidden.size}, {hidden.size}) for the space {hidden.name}, was given "
                f"one of shape {tuple(A.shape)}."
            )
        wanted, writing = (hidden.vector(seen), hidden.parities(seen)), writers(space, hidden.index)
        for index, name in space.inference.run.names.items():
            label = space.solution.labels.get(index, ())
            on = [k for k, axis in enumerate(label) if hidden in space.solution.on(axis)]
            # readers stay, which is what changes the function
            left = [k for k in on if not space.inference.is_read(index, k, hidden.space)]
            if not left and index in writing:
                raise ValueError(
                    f"Expected a space that no weight both writes and reads, was given {hidden.name} with "
                    f"{name}: make two weights of it, as untie does where two modules share one."
                )
            for k in left:
                factor = single(label[k])
                alike = factor is not None and (hidden.vector(factor), hidden.parities(factor)) == wanted
                # AW under a mask that is turned, too, would be another matrix
                if not alike or index not in space.inference.trainable:
                    raise ValueError(
                        f"Expected a space that linear layers write, {hidden.name} is also written by "
                        f"{name}, on which a matrix cannot act: fold batch norm into the layer before, and "
                        f"make masks permanent, as prune.remove does."
                    )
                x = moved[index].detach()
                # in float64, as a sum of n products loses digits in float32
                y = torch.tensordot(A.to(x.device, torch.float64), x.double(), ([1], [k]))
                moved[index] = torch.empty_like(x).copy_(y.movedim(0, k))  # laid out as before
    return space.with_state(model, moved)
