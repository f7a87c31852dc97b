"""Where the channels are in what a layer returns, which its number of axes does not always tell."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from intertwine.features import lookup, run_batch

# layers by the axis of their outputs that counts units, where there are more than two axes
CHANNELS_FIRST = (
    *(nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.GroupNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
)
NORMS_LAST = nn.LayerNorm, nn.RMSNorm
CHANNELS_LAST = nn.Linear, *NORMS_LAST, nn.Embedding, nn.MultiheadAttention, nn.RNNBase


def channels_first(model: nn.Module, layer: str, image: Float[Tensor, "n ..."]) -> bool:
    """Whether a layer returns (n, channels, positions…), as an `nn.Conv1d` does, and not channels last.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.Flatten())
        >>> (
        ...     channels_first(model, "1", torch.ones(1, 2, 24)),
        ...     channels_first(model, "2", torch.ones(1, 2, 24)),
        ... )
        (True, False)

    It is tried. One channel is changed in the output of the last convolution, norm or linear layer that runs
    before. If then one place along an axis of this layer's output changes, that axis has the channels. Else
    maps have them first, and tokens last, also between a linear layer and a transpose.

    Args:
        model: any module, run in evaluation mode.
        layer: a name of `named_modules`.
        image: one input or more, with the axis that counts them.

    Raises:
        ValueError: there is no such axis of three after a convolution, for later steps mix the channels.
    """
    return _tried(model, [layer], image)[layer][0]


def turned(model: nn.Module, layers: Sequence[str], image: Float[Tensor, "n ..."]) -> set[str]:
    """Those of the layers whose channels are not where `channel_axis` has them; `turn` brings them there.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.Flatten())
        >>> sorted(turned(model, ["0", "1", "2"], torch.ones(1, 2, 24)))
        ['0', '1']
    """
    found = _tried(model, layers, image)
    return {layer for layer, (first, axes) in found.items() if first != (axes > 3)}


def turn(X: Float[Tensor, "n ..."], *, back: bool = False) -> Float[Tensor, "n ..."]:
    """Signals (n, c, t) as tokens (n, t, c), and maps (n, h, w, c) as (n, c, h, w); or back.

    Example:
        >>> import torch
        >>> turn(torch.ones(5, 8, 22)).shape, turn(torch.ones(5, 4, 6, 8)).shape
        (torch.Size([5, 22, 8]), torch.Size([5, 8, 4, 6]))
    """
    if X.ndim == 3:
        return X.mT
    return X.movedim(1, -1) if back else X.movedim(-1, 1)


class _Run(NamedTuple):
    """What the layers return, what wrote channels, in turn, and which of them came last before each."""

    outputs: dict[str, Tensor]
    writers: list[tuple[nn.Module, tuple[int, ...]]]
    last: dict[str, int]


def _run(model: nn.Module, layers: Sequence[str], image: Tensor, touched: int | None = None) -> _Run:
    """A run in which one channel of a writer is changed, by its number in the order of the run."""
    run = _Run({}, [], {})

    def keep(module: nn.Module, inputs: object, output: Any) -> Tensor | None:
        if isinstance(module, NORMS_LAST) and not _normalises_last(module, output):
            return None
        run.writers.append((module, tuple(getattr(output, "shape", ()))))
        if len(run.writers) - 1 != touched:
            return None
        output = output.clone()
        # by more than any activation, so that no ReLU hides it
        one = output[:, 0] if isinstance(module, CHANNELS_FIRST) else output[..., -1]
        one += output.abs().amax() + 1
        return output

    def count(layer: str, *_: object) -> None:
        run.last[layer] = len(run.writers) - 1

    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, CHANNELS_FIRST + CHANNELS_LAST):
                hooks.enter_context(module.register_forward_hook(keep))
        # registered after `keep`, so that the layer itself has been counted when its number is taken
        for layer, module in lookup(model, layers).items():
            hooks.enter_context(module.register_forward_hook(partial(count, layer)))
        run.outputs.update(run_batch(model, layers, image))
    return run


def _normalises_last(norm: nn.LayerNorm | nn.RMSNorm, output: Tensor) -> bool:
    """Unlike a subclass for maps (n, c, h, w), as torchvision's LayerNorm2d, which turns them, and back."""
    if type(norm).forward in (nn.LayerNorm.forward, nn.RMSNorm.forward):
        return True
    return output.shape[-1] == norm.normalized_shape[-1] != output.shape[1]


def _tried(model: nn.Module, layers: Sequence[str], image: Tensor) -> dict[str, tuple[bool, int]]:
    """For each layer whether its channels come first, and its number of axes."""
    plain, found = _run(model, layers, image), {}
    for layer, before in plain.outputs.items():
        number = plain.last[layer]
        writer, shape = plain.writers[number] if number >= 0 else (None, ())
        first = before.ndim > 3
        if _open(before, writer, shape):
            changed = _run(model, layers, image, number).outputs[layer] != before
            how = (changed, writer, shape)
            first = _maps_first(*how) if first else _signals_first(layer, *how)
        found[layer] = first, before.ndim
    return found


def _open(before: Tensor, writer: nn.Module | None, shape: tuple[int, ...]) -> bool:
    """Whether the channels may be elsewhere than where most layers of so many axes have them."""
    if before.ndim < 3 or len(shape) < min(before.ndim, 4):
        return False  # as of a gate, which a linear layer makes of means over positions
    if before.ndim == 3:
        # what a linear layer writes may as well be tokens, which it mixes between two transposes
        return isinstance(writer, CHANNELS_FIRST + NORMS_LAST)
    # a map of as many channels as its convolution's, unlike its height and width, was not turned
    channels = shape[1]
    return isinstance(writer, CHANNELS_LAST) or before.shape[1] != channels or channels in before.shape[2:]


def _signals_first(
    layer: str, changed: Bool[Tensor, "n a b"], writer: nn.Module | None, shape: tuple[int, ...]
) -> bool:
    channels, positions = (_places(changed, axis) for axis in (1, 2))
    if isinstance(writer, NORMS_LAST):
        # the last channel was touched, so that the first place is none of it, unless it is a single token
        return channels == 1 < positions and not bool(changed[:, 0].any())
    if min(channels, positions) != 1 and len(shape) == 3:
        raise ValueError(
            f"Expected to see where the channels are in what layer {layer!r} returns, of shape "
            f"{tuple(changed.shape)}, after a convolution, was given one that mixes them: name the "
            f"convolution itself, or an activation after it."
        )
    return channels == 1 and (positions > 1 or changed.shape[1] > 1)


def _maps_first(changed: Bool[Tensor, "n ..."], writer: nn.Module | None, shape: tuple[int, ...]) -> bool:
    first, last = (_places(changed, axis) for axis in (1, -1))
    if last == 1 < changed.shape[-1] and (first > 1 or changed.shape[1] == 1):
        return False
    if first == 1 < changed.shape[1]:
        return True
    # an axis has one place, or later steps mix the channels, as a softmax does: their number tells
    channels = shape[1] if isinstance(writer, CHANNELS_FIRST) else shape[-1]
    return not changed.shape[-1] == channels != changed.shape[1]


def _places(changed: Bool[Tensor, "n ..."], axis: int) -> int:
    """At how many places along an axis something changed."""
    return int(changed.movedim(axis, 0).flatten(1).any(1).sum())
