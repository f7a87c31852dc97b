"""Activations of named layers: recorded while a model runs, streamed over batches of inputs, or whole."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine import devices
from intertwine.checks import check_model, check_tensor, kind, not_taken
from intertwine.layer_outputs import first_tensor

# layers by the axis of their outputs that counts units, if there are three axes
CHANNELS_FIRST = nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.InstanceNorm1d, nn.GroupNorm
NORMS_LAST = nn.LayerNorm, nn.RMSNorm
CHANNELS_LAST = nn.Linear, *NORMS_LAST, nn.Embedding, nn.MultiheadAttention, nn.RNNBase


@contextmanager
def record(model: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Float[Tensor, "n ..."]]]:
    """What the named layers return, recorded while the model runs inside the `with`.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> with record(model, ["0", "1"]) as activations:
        ...     output = model(torch.ones(2, 3))
        >>> torch.equal(activations["0"].relu(), activations["1"])
        True

    The dictionary holds the activations of the model's last run, by the names of `named_modules`: of a layer
    that returns a tuple, as recurrent layers and blocks of transformers do, its first tensor. They are
    copies, which nothing that works in place changes. They are part of autograd's graph unless that is off.
    However the `with` ends, the model has no hook afterwards.

    Args:
        model: any module, in the mode in which you run it.
        layers: names of modules, as `named_modules` gives them.

    Raises:
        ValueError: a layer that is unknown, called twice in a run, not called, returns no tensor, or is
            recurrent with `batch_first=False`.
    """
    modules = lookup(model, layers)
    activations: dict[str, Tensor] = {}
    with ExitStack() as hooks:
        # each run begins anew, so that an activation already there means a layer called twice in one run
        hooks.enter_context(model.register_forward_pre_hook(lambda *_: activations.clear()))
        for name, module in modules.items():
            hooks.enter_context(module.register_forward_hook(partial(_keep, activations, name)))
        yield activations
    if missing := [name for name in modules if name not in activations]:
        raise ValueError(
            f"Expected the model to call {', '.join(map(repr, missing))} inside the with, it did not: run it "
            f"there, and name layers that its forward uses."
        )


def _keep(
    activations: dict[str, Tensor], name: str, module: nn.Module, inputs: object, output: object
) -> None:
    """Record one output: a hook, once the first two arguments are bound."""
    if name in activations:
        raise ValueError(
            f"Expected layer {name!r} to be called once in a run, it was called twice: give every call a "
            f"module of its own."
        )
    found = first_tensor(output, name)
    # (t, n, c) has no row for each image, and would be joined along time
    if found is not output and found.ndim == 3 and not getattr(module, "batch_first", True):
        raise ValueError(
            f"Expected layer {name!r} to return images first, was given {kind(module)} of batch_first=False: "
            f"make one of batch_first=True, with the same weights, and give it inputs (n, t, c)."
        )
    activations[name] = found.clone()


def features(
    model: nn.Module, layers: Sequence[str], images: Float[Tensor, "n ..."], *, batch_size: int = 200
) -> Iterator[dict[str, Float[Tensor, "batch ..."]]]:
    """The activations of the named layers for all images, batch by batch.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> images = torch.randn(100, 3)
        >>> total = sum(
        ...     batch["1"].sum(0)
        ...     for batch in features(model, ["1"], images, batch_size=32)
        ... )
        >>> torch.allclose(total, model(images).sum(0), rtol=1e-4)
        True

    Memory holds one batch at a time. The model runs in evaluation mode, without autograd, on the device of
    its parameters. Whenever a batch is handed out, the model is in its own mode again. Batches keep the order
    of the images, and the last may be smaller.

    Args:
        model: any module that takes a batch of images.
        layers: names of modules, as `named_modules` gives them; each is called once in a run.
        images: inputs of the model, the first axis counts them; they travel to its device batch by batch.
        batch_size: inputs of one run.

    Raises:
        ValueError: at once for an unknown layer or a batch size below 1; with the first batch as in `record`.
    """
    lookup(model, layers)
    check_tensor(images, meta=True)  # a model on the meta device has features without numbers
    if batch_size < 1:
        raise ValueError(f"Expected a batch size of at least 1, was given {batch_size}.")
    # what is wrong is said above, at the call, and not when the first batch is asked for
    return (_run(model, layers, batch) for batch in images.split(batch_size) if len(batch))


def activations(
    model: nn.Module, layers: Sequence[str], images: Float[Tensor, "n ..."], *, batch_size: int = 200
) -> dict[str, Float[Tensor, "n ..."]]:
    """The activations of the named layers for all images, in memory.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> activations(model, ["1"], torch.randn(100, 3), batch_size=32)["1"].shape
        torch.Size([100, 4])

    The model runs as in `features`.

    Args:
        model, layers, images, batch_size: as in `features`.

    Returns:
        For each name a tensor (n, …) of all images.

    See Also:
        `features`, for activations that do not fit into memory.
    """
    batches = list(features(model, layers, images, batch_size=batch_size))
    return {layer: torch.cat([batch[layer] for batch in batches]) for layer in layers}


def channel_axis(X: Tensor) -> int:
    """Where channels are: axis 1 of feature maps (n, c, h, w), the last of (n, c) and of tokens (n, t, c).

    Example:
        >>> channel_axis(torch.ones(5, 3, 4, 4)), channel_axis(torch.ones(5, 17, 3))
        (1, -1)

    What an `nn.Conv1d` returns has three axes, too, and would be taken for tokens: transpose it, and see
    `channels_first`.

    Args:
        X: what a layer returns; its number of axes decides.
    """
    return 1 if X.ndim > 3 else -1


def channels_first(model: nn.Module, layer: str, image: Float[Tensor, "n ..."]) -> bool:
    """Whether three axes that a layer returns are (n, channels, positions), as those of an `nn.Conv1d`.

    Example:
        >>> model = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.Flatten())
        >>> (
        ...     channels_first(model, "1", torch.ones(1, 2, 24)),
        ...     channels_first(model, "2", torch.ones(1, 2, 24)),
        ... )
        (True, False)

    It is tried. One channel is changed in the output of the last convolution or norm that runs before, if no
    linear layer runs after it. If then one place along an axis of this layer's output changes, that axis has
    the channels. Else they are last, also between a linear layer and a transpose.

    Args:
        model: any module, run in evaluation mode.
        layer: a name of `named_modules`.
        image: one input or more, with the axis that counts them.

    Raises:
        ValueError: there is no such axis after a convolution, for later steps mix the channels.
    """
    # of each layer that ran: whether it has channels first, and how many axes; and how many ran before ours
    ran: list[tuple[nn.Module, int]] = []
    seen: list[int] = []

    def run(touched: int | None) -> Tensor:
        ran.clear()

        def keep(module: nn.Module, inputs: object, output: Any) -> Tensor | None:
            ran.append((module, getattr(output, "ndim", 0)))
            if len(ran) != touched:
                return None
            output = output.clone()
            # by more than any activation, so that no ReLU hides it
            one = output[:, 0] if isinstance(module, CHANNELS_FIRST) else output[..., -1]
            one += output.abs().amax() + 1
            return output

        with ExitStack() as hooks:
            for module in model.modules():
                if isinstance(module, CHANNELS_FIRST + CHANNELS_LAST):
                    hooks.enter_context(module.register_forward_hook(keep))
            # registered after `keep`, so that the layer itself has been counted when its number is taken
            own = lookup(model, [layer])[layer]
            hooks.enter_context(own.register_forward_hook(lambda *_: seen.append(len(ran))))
            return _run(model, [layer], image)[layer]

    before = run(None)
    writer, axes = ran[seen[-1] - 1] if seen[-1] else (None, 0)
    # what a linear layer writes may as well be tokens, which it mixes between two transposes
    if before.ndim != 3 or axes < 3 or not isinstance(writer, CHANNELS_FIRST + NORMS_LAST):
        return False
    changed = run(seen[-1]) != before
    channels, positions = (int(changed.any(axis).any(0).sum()) for axis in (2, 1))
    if isinstance(writer, NORMS_LAST):
        # the last channel was touched, so that the first place is none of it, unless it is a single token
        return channels == 1 < positions and not bool(changed[:, 0].any())
    if min(channels, positions) != 1 and axes == 3:
        raise ValueError(
            f"Expected to see where the channels are in what layer {layer!r} returns, of shape "
            f"{tuple(before.shape)}, after a convolution, was given one that mixes them: name the "
            f"convolution itself, or an activation after it."
        )
    return channels == 1 and (positions > 1 or before.shape[1] > 1)


def rows(X: Float[Tensor, "n ..."]) -> Float[Tensor, "rows c"]:
    """A matrix of all positions: every position of a map, or token, is a row, and every channel a column.

    Example:
        >>> rows(torch.ones(5, 3, 4, 4)).shape, rows(torch.ones(5, 17, 3)).shape
        (torch.Size([80, 3]), torch.Size([85, 3]))

    Args:
        X: features (n, c), tokens (n, t, c) or feature maps (n, c, h, w).
    """
    return X.movedim(channel_axis(X), -1).flatten(0, -2)


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Put the network into evaluation mode, and every module back into its own mode afterwards."""
    # `network.train()` afterwards would change modules that were frozen in evaluation mode
    modes = {module: module.training for module in network.modules()}
    try:
        network.eval()
        yield
    finally:
        for module, training in modes.items():
            module.training = training


def lookup(model: nn.Module, layers: Sequence[str], which: str = "") -> dict[str, nn.Module]:
    """The modules of these names; ValueError for a name that the model does not have, with the nearest.

    `which` is what the caller calls the model, where there are two of one class.
    """
    check_model(model)
    if isinstance(layers, str):
        raise ValueError(f"Expected a list of layers, was given the string {layers!r}: write [{layers!r}].")
    # a shared module has several names, each of which finds it
    known = {name: module for name, module in model.named_modules(remove_duplicate=False) if name}
    for name in layers:
        if name not in known:
            near = ", ".join(map(repr, get_close_matches(name, known, cutoff=0.0))) or "none"
            kind = type(model).__name__
            owner = f"{which}, a {kind}" if which else f"the {kind}"
            raise ValueError(
                f"Expected a layer of {owner}, was given {name!r}: the nearest are {near}; "
                "a function that forward calls has no name, a module in its place has."
            )
    return {name: known[name] for name in layers}


def _run(model: nn.Module, layers: Sequence[str], images: Tensor) -> dict[str, Tensor]:
    device = devices.like(model, images).device
    own = devices.input_dtype(model, torch.float32, default=None) if images.is_floating_point() else None
    try:
        with evaluating(model), torch.no_grad(), record(model, layers) as activations:
            model(images.to(device, own, copy=True))  # which a first step in place would change
    except torch.OutOfMemoryError:  # a RuntimeError that says nothing about the images
        raise
    except RuntimeError as error:
        raise not_taken(images, error) from error
    return {name: activations[name] for name in layers}
