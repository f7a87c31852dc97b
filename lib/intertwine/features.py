"""Activations of named layers: recorded while a model runs, streamed over batches of inputs, or whole."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine import devices
from intertwine.checks import check_model, check_tensor, kind, not_taken, whole
from intertwine.layer_outputs import first_tensor


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
    if found.is_nested:  # on torch's fast path
        raise ValueError(
            f"Expected layer {name!r} to return one tensor, was given a nested one of a padded transformer: "
            f"call torch.backends.mha.set_fastpath_enabled(False) first."
        )
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
        ValueError: at once for an unknown layer or a batch size below 1; with the first batch as in `record`,
            and for a layer whose first axis does not count the images.
    """
    layers = [*lookup(model, layers)]  # a list, as names that are given one by one are soon used up
    check_tensor(images, meta=True)  # a model on the meta device has features without numbers
    batch_size = whole("batch_size", batch_size, 1)
    # what is wrong is said above, at the call, and not when the first batch is asked for
    return _batches(model, layers, images, batch_size)


def _batches(
    model: nn.Module, layers: Sequence[str], images: Tensor, batch_size: int
) -> Iterator[dict[str, Tensor]]:
    # time and images may be of one length, which fewer images tell; one alone some models squeeze away
    if len(few := images[: min(2, len(images) - 1)]):
        run_batch(model, layers, few)
    yield from (run_batch(model, layers, batch) for batch in images.split(batch_size) if len(batch))


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
    layers = [*lookup(model, layers)]
    batches = [*features(model, layers, images, batch_size=batch_size)]
    if not batches:
        raise ValueError("Expected at least one image, was given none.")
    return {layer: torch.cat([batch[layer] for batch in batches]) for layer in layers}


def channel_axis(X: Tensor) -> int:
    """Where channels are: axis 1 of feature maps (n, c, h, w), the last of (n, c) and of tokens (n, t, c).

    Example:
        >>> channel_axis(torch.ones(5, 3, 4, 4)), channel_axis(torch.ones(5, 17, 3))
        (1, -1)

    What an `nn.Conv1d` returns has three axes, too, and maps (n, h, w, c) have four: see
    `intertwine.channels.turn`.

    Args:
        X: what a layer returns; its number of axes decides.
    """
    return 1 if X.ndim > 3 else -1


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
    layers = [*layers]
    for name in layers:
        if not isinstance(name, str):
            raise ValueError(
                f"Expected names of layers, was given {kind(name)}: [name for name, _ in "
                f"model.named_modules()] lists them."
            )
        if name not in known:
            near = ", ".join(map(repr, get_close_matches(name, known, cutoff=0.0))) or "none"
            owner = f"{which}, a {type(model).__name__}" if which else f"the {type(model).__name__}"
            raise ValueError(
                f"Expected a layer of {owner}, was given {name!r}: the nearest are {near}; "
                "a function that forward calls has no name, a module in its place has."
            )
    return {name: known[name] for name in layers}


def run_batch(model: nn.Module, layers: Sequence[str], images: Tensor) -> dict[str, Tensor]:
    """The activations of the named layers for one batch, as in `features`."""
    device = devices.like(model, images).device
    own = devices.input_dtype(model, torch.float32, default=None) if images.is_floating_point() else None

    try:
        with evaluating(model), torch.no_grad(), record(model, layers) as activations:
            model(images.to(device, own, copy=True))  # which a first step in place would change
    except torch.OutOfMemoryError:  # a RuntimeError that says nothing about the images
        raise
    except RuntimeError as error:
        raise not_taken(images, error) from error
    for layer, x in activations.items():
        if x.shape[:1] != (len(images),):
            raise ValueError(
                f"Expected layer {layer!r} to return images along the first axis, returned the shape "
                f"{tuple(x.shape)} for {len(images)}: name another layer, or make it of batch_first=True."
            )
    return {name: activations[name] for name in layers}
