"""Activations of named layers: recorded while a model runs, streamed over batches of inputs, or whole."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine import devices


@contextmanager
def record(model: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Float[Tensor, "n ..."]]]:
    """Keep what the layers named, as in `named_modules`, return while the model runs inside the `with`.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> with record(model, ["0", "1"]) as activations:
        ...     output = model(torch.ones(2, 3))
        >>> torch.equal(activations["0"].relu(), activations["1"])
        True

    The dictionary holds the model's last run: copies, so that nothing which works in place changes them, and
    part of autograd's graph unless that is off. However the `with` ends, it leaves no hook behind.

    Raises:
        ValueError: a layer that is unknown, called twice in a run, not called, or does not return a tensor.
    """
    modules = lookup(model, layers)
    activations: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, object, object], None]:
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            if not isinstance(output, Tensor):
                raise ValueError(
                    f"Expected layer {name!r} to return a tensor, it returned a {type(output).__name__}: "
                    f"record a layer inside it or after it."
                )
            if name in activations:
                raise ValueError(
                    f"Expected layer {name!r} to be called once in a run, it was called twice: give every "
                    f"call a module of its own."
                )
            activations[name] = output.clone()

        return hook

    with ExitStack() as hooks:
        hooks.enter_context(model.register_forward_pre_hook(lambda *_: activations.clear()))
        for name, module in modules.items():
            hooks.enter_context(module.register_forward_hook(keep(name)))
        yield activations
    if missing := [name for name in modules if name not in activations]:
        raise ValueError(
            f"Expected the model to call {', '.join(map(repr, missing))} inside the with, it did not: run it "
            f"there, and name layers that its forward uses."
        )


def features(
    model: nn.Module, layers: Sequence[str], images: Float[Tensor, "n ..."], *, batch_size: int = 200
) -> Iterator[dict[str, Float[Tensor, "batch ..."]]]:
    """The activations of the named layers for all images, batch by batch.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> images = torch.randn(100, 3)
        >>> total = sum(batch["1"].sum(0) for batch in features(model, ["1"], images, batch_size=32))
        >>> torch.allclose(total, model(images).sum(0), rtol=1e-4)
        True

    Memory holds one batch, whatever the caller adds up. The model runs in evaluation mode, without autograd,
    on the device of its parameters; it is in its own mode again whenever a batch is handed out.

    Batches keep the order of the images; the last may be smaller.

    Raises:
        ValueError: at once for an unknown layer or a batch size below 1; with the first batch as in `record`.
    """
    lookup(model, layers)
    check_tensor(images)
    if batch_size < 1:
        raise ValueError(f"Expected a batch size of at least 1, was given {batch_size}.")
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
    """
    batches = list(features(model, layers, images, batch_size=batch_size))
    return {layer: torch.cat([batch[layer] for batch in batches]) for layer in layers}


def channel_axis(X: Tensor) -> int:
    """Where channels are: axis 1 of feature maps (n, c, h, w), the last of (n, c) and of tokens (n, t, c).

    Example:
        >>> channel_axis(torch.ones(5, 3, 4, 4)), channel_axis(torch.ones(5, 17, 3))
        (1, -1)

    Transpose what an `nn.Conv1d` returns, whose three axes would be taken for tokens.
    """
    return 1 if X.ndim > 3 else -1


def rows(X: Float[Tensor, "n ..."]) -> Float[Tensor, "rows c"]:
    """Channels last, and every position of a map or token a row.

    Example:
        >>> rows(torch.ones(5, 3, 4, 4)).shape, rows(torch.ones(5, 17, 3)).shape
        (torch.Size([80, 3]), torch.Size([85, 3]))
    """
    return X.movedim(channel_axis(X), -1).flatten(0, -2)


def lookup(model: nn.Module, layers: Sequence[str]) -> dict[str, nn.Module]:
    """The modules of these names; ValueError for a name that the model does not have, with the nearest."""
    if isinstance(layers, str):
        raise ValueError(f"Expected a list of layers, was given the string {layers!r}: write [{layers!r}].")
    known = {name: module for name, module in model.named_modules(remove_duplicate=False) if name}
    for name in layers:
        if name not in known:
            near = ", ".join(map(repr, get_close_matches(name, known, cutoff=0.0))) or "none"
            raise ValueError(f"Expected the name of a layer, was given {name!r}: the nearest are {near}.")
    return {name: known[name] for name in layers}


def check_tensor(given: object) -> None:
    """Raise TypeError, in one sentence, unless this is a tensor."""
    if not isinstance(given, Tensor):
        raise TypeError(f"Expected a tensor, was given {type(given).__name__}: use torch.as_tensor.")


def _run(model: nn.Module, layers: Sequence[str], images: Tensor) -> dict[str, Tensor]:
    modes = {module: module.training for module in model.modules()}
    device = devices.like(model, images).device
    try:
        with torch.no_grad(), record(model.eval(), layers) as activations:
            model(images.to(device))
    finally:
        for module, training in modes.items():
            module.training = training
    return {name: activations[name] for name in layers}
