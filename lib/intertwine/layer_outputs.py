"""What a layer returns: a tensor, or a tuple or dictionary of which the first tensor is the features."""

from typing import Any

from torch import Tensor
from torch.nn.utils.rnn import PackedSequence
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


def first_tensor(output: Any, layer: str) -> Tensor:
    """The features among what a layer returns: its first floating-point tensor.

    Example:
        >>> import torch
        >>> outputs, last = torch.ones(5, 7, 4), torch.ones(1, 5, 4)  # as a GRU returns them
        >>> first_tensor((outputs, last), "gru").shape
        torch.Size([5, 7, 4])

    Recurrent layers return their outputs before their last state, blocks of transformers the hidden states
    before caches and maps of attention.

    Raises:
        ValueError: there is none, or what comes first is a packed sequence.
    """
    if isinstance(output, Tensor):
        return output
    entries, _, first = _opened(output, layer)
    return entries[first]


def with_first_tensor(output: Any, values: Tensor, layer: str) -> Any:
    """What a layer returns with other features in place of its own.

    Example:
        >>> import torch
        >>> x, mask = torch.zeros(2), torch.tensor([True])
        >>> with_first_tensor({"mask": mask, "x": x}, x + 1, "block")
        {'mask': tensor([True]), 'x': tensor([1., 1.])}
    """
    if isinstance(output, Tensor):
        return values
    entries, structure, first = _opened(output, layer)
    return tree_unflatten([*entries[:first], values, *entries[first + 1 :]], structure)


def _opened(output: Any, layer: str) -> tuple[list[Any], TreeSpec, int]:
    """The entries of nested tuples and dictionaries, how they were nested, and which is the features."""

    def packed(x: Any) -> bool:
        return isinstance(x, PackedSequence)  # a named tuple, whose rows are no images

    entries, structure = tree_flatten(output, is_leaf=packed)
    for k, entry in enumerate(entries):
        if isinstance(entry, Tensor) and entry.is_floating_point():
            return entries, structure, k
        if packed(entry):
            break
    inside = "with a packed sequence first" if any(map(packed, entries)) else "without a floating-point one"
    raise ValueError(
        f"Expected layer {layer!r} to return a tensor, or a tuple that begins with one, it returned a "
        f"{type(output).__name__} {inside}: record a layer inside it or after it."
    )
