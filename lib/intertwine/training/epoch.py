"""One epoch, the loop that trains networks and stitches, and the optimiser of a recipe."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from intertwine import files
from intertwine.devices import autocast, deterministic_kernels, safe_kernels
from intertwine.training.evaluate import correct
from intertwine.training.recipes import Recipe

Row = dict[str, Any]
Batch = tuple[Any, Tensor, *tuple[Any, ...]]
"""Inputs and labels; then, where there are more, targets of the loss, and whatever `added_loss` needs."""


@runtime_checkable
class Epochs(Protocol):
    """The batches of a training, such as `Batches`: inputs, labels and, if need be, other targets."""

    def __len__(self) -> int: ...
    def epoch(self, number: int, *, seed: int) -> Iterator[Batch]: ...


def build_optimizer(
    recipe: Recipe,
    parameters: Iterable[tuple[str, nn.Parameter]],
    *,
    decays: Callable[[str], bool] | None = None,
) -> torch.optim.Optimizer:
    """The recipe's optimiser of these named parameters; those that need no gradient are left out.

    Example:
        >>> recipe = Recipe(
        ...     epochs=50, batch_size=32, lr=1e-3, optimizer="adam", weight_decay=1e-4
        ... )
        >>> optimizer = build_optimizer(recipe, nn.Linear(2, 3).named_parameters())
        >>> [group["weight_decay"] for group in optimizer.param_groups]
        [0.0001, 0.0]

    Args:
        recipe: decides on the kind, the learning rate, the momentum and the weight decay.
        parameters: with their names, as `named_parameters` lists them.
        decays: whether the parameter of a name decays; by default those called a weight do, and all if
            `recipe.decay_biases`.
    """
    chosen = decays or (lambda name: recipe.decay_biases or _is_weight(name))
    named = [(name, parameter) for name, parameter in parameters if parameter.requires_grad]
    if not named and recipe.epochs:
        raise ValueError(
            "Expected a parameter to train, all are frozen, or there is none: set requires_grad to True."
        )
    groups = [
        {"params": [p for name, p in named if chosen(name)], "weight_decay": recipe.weight_decay},
        {"params": [p for name, p in named if not chosen(name)], "weight_decay": 0.0},
    ]
    # one kernel for all parameters, where torch has it
    fused = all(parameter.device.type in ("cpu", "cuda") for _, parameter in named)
    if recipe.optimizer == "adam":
        return torch.optim.Adam(groups, lr=recipe.lr, fused=fused)
    momentum = recipe.momentum
    return torch.optim.SGD(groups, lr=recipe.lr, momentum=momentum, nesterov=momentum > 0, fused=fused)


def _is_weight(name: str) -> bool:
    *modules, last = name.split(".")
    # a parametrization calls what it makes a weight from `weight.original0`
    return "weight" in (modules[-1] if modules and last.startswith("original") else last)


def epoch(
    model: Callable[[Any], Tensor],
    batches: Epochs,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    number: int,
    *,
    seed: int,
    dtype: torch.dtype = torch.float32,
    added_loss: Callable[..., Tensor] | None = None,
    before_step: Callable[[float], Any] | None = None,
    after_step: Callable[[], Any] | None = None,
) -> Row:
    """Train for one epoch; its row of the history.

    Example:
        >>> from intertwine.training import Batches, build_optimizer, epoch
        >>> from intertwine.data import Dataset
        >>> data = Dataset.of(torch.randn(100, 3), torch.arange(100) % 2)
        >>> network, recipe = nn.Linear(3, 2), Recipe(epochs=1, batch_size=20, lr=0.1)
        >>> batches = Batches.of(data, recipe)
        >>> optimizer = build_optimizer(recipe, network.named_parameters())
        >>> row = epoch(network, batches, optimizer, recipe, 0, seed=0)
        >>> list(row)
        ['epoch', 'lr', 'loss', 'accuracy', 'seconds', 'images_per_s']

    The loss is the cross-entropy to labels, or to the probabilities that come with a batch. Order,
    augmentation and dropout depend on the seed and the epoch alone, and torch's generators stay as they are.
    Modules remain in the mode, training or evaluation, in which the caller left them.

    Args:
        model: what maps inputs to logits, a network or any function.
        batches: on the device of the parameters; `Batches`, or anything with its `epoch` and length.
        optimizer: of the parameters that are trained, as `build_optimizer` makes it.
        recipe: its learning rate, schedule and label smoothing are used here.
        number: of the epoch, from 0.
        seed: of the order, the augmentation and dropout.
        dtype: see `intertwine.devices.precision`.
        added_loss: a function of a batch (inputs, labels, …) whose value is added to the loss.
        before_step: called with the fraction of the training that is done, as an annealing needs it.
        after_step: called after each step, such as a projection.

    Returns:
        A row: epoch (from 1), lr (of the last step), loss (the mean, without an added loss), accuracy (a
        fraction, of the logits on the way), seconds, images_per_s.

    Raises:
        FloatingPointError: the loss is no longer finite.
    """
    start, seen = time.perf_counter(), 0
    device = next(p for group in optimizer.param_groups for p in group["params"]).device
    # summed on the device, which a number here would wait for
    total, right = torch.zeros(2, dtype=torch.float32, device=device)
    with drawing(seed, number, device), deterministic_kernels(), safe_kernels(model):
        for step, batch in enumerate(batches.epoch(number, seed=seed)):
            inputs, labels, *more = batch
            # the middle of the step: a schedule that begins at 0 does not waste its first step
            done = (number + (step + 0.5) / len(batches)) / recipe.epochs
            for group in optimizer.param_groups:
                group["lr"] = recipe.lr * recipe.schedule(done)
            if before_step:
                before_step(done)
            with autocast(device, dtype):
                logits = model(inputs)
            # a loss in bfloat16 would have two digits
            wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
            targets = more[0] if more else labels
            loss = F.cross_entropy(wide, targets, label_smoothing=recipe.label_smoothing)
            optimizer.zero_grad()
            (loss + added_loss(*batch) if added_loss else loss).backward()
            optimizer.step()
            if after_step:
                after_step()
            seen += len(labels)
            total += len(labels) * loss.detach()
            right += correct(logits, labels).sum()
    row = {"epoch": number + 1, "lr": optimizer.param_groups[0]["lr"]}
    row |= {"loss": total.item() / seen, "accuracy": right.item() / seen}  # waits for the device
    if not isfinite(row["loss"]):
        raise FloatingPointError(f"The loss is not finite after epoch {number + 1}: use a smaller lr.")
    seconds = time.perf_counter() - start
    return row | {"seconds": seconds, "images_per_s": seen / seconds}


@contextmanager
def drawing(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators inside the `with` by seed and epoch, and restore them after it."""
    # named apart from the order of the images, whose stream has the same seed and epoch
    stream = int(files.digest("drawing", seed, epoch)[:15], 16)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(stream)  # torch.manual_seed would reach every other GPU too
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(stream)
        yield
