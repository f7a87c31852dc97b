"""The training loop itself: steps, epochs, and a checkpoint after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import files
from intertwine.training import store
from intertwine.training.arithmetic import autocast
from intertwine.training.progress import Tick
from intertwine.training.recipes import Recipe, build_optimizer

Row = dict[str, Any]
Epoch = Callable[[int], Iterable[tuple[Tensor, Tensor]]]  # the batches of an epoch, counted from 0


class Checkpoint(NamedTuple):
    """Where a training is kept after every epoch, and the tensors that make it up beside the optimiser's."""

    path: Path
    stamp: str
    """Of all that the training depends on."""
    tensors: Mapping[str, Tensor]

    def restore(self, optimizer: torch.optim.Optimizer) -> list[Row]:
        """Take everything up where it was left; the history so far.

        Raises:
            ValueError: the file belongs to another training.
        """
        if not self.path.is_file():
            return []
        saved, facts = store.load(self.path)
        if facts["stamp"] != self.stamp:
            raise ValueError(
                f"Expected in {self.path} a checkpoint of this training, found one of another network, "
                f"recipe, seed or data set: delete it, or name another file."
            )
        parameters = _parameters(optimizer)
        for key, value in saved.items():
            kind, _, name = key.partition(".")
            if kind == "network":
                self.tensors[name].detach().copy_(value)
                continue
            k, _, name = name.partition(".")
            parameter = parameters[int(k)]
            if value.shape == parameter.shape:  # fused steps expect the parameter's order in memory
                value = torch.empty_like(parameter).copy_(value)
            optimizer.state[parameter][name] = value.to(parameter.device)
        return facts["history"]

    def save(self, optimizer: torch.optim.Optimizer, rows: list[Row]) -> None:
        """Write everything that `restore` needs, whole."""
        tensors = {f"network.{name}": tensor for name, tensor in self.tensors.items()}
        for k, parameter in enumerate(_parameters(optimizer)):
            for name, value in optimizer.state[parameter].items():
                tensors[f"optimizer.{k}.{name}"] = value
        store.save(self.path, tensors, {"stamp": self.stamp, "history": rows})


def fit(
    forward: Callable[[Tensor], Tensor],
    parameters: Mapping[str, nn.Parameter],
    batches: Epoch,
    steps: int,
    recipe: Recipe,
    *,
    seed: int,
    dtype: torch.dtype,
    tick: Tick,
    checkpoint: Checkpoint | None = None,
    validate: Callable[[], float] | None = None,
) -> list[Row]:
    """Train `parameters` in place, with `steps` batches an epoch; a row for every epoch, old ones included.

    Where `forward` returns logits of several members, (members, batch, classes) for labels (members, batch),
    each member is trained by its own loss. What `forward` draws, as dropout does, depends on `seed`.

    Raises:
        FloatingPointError: the loss is no longer finite.
    """
    optimizer = build_optimizer(recipe, parameters.items())
    rows = checkpoint.restore(optimizer) if checkpoint else []
    if rows:
        tick(rows[-1], len(rows), resumed=True)
    for epoch in range(len(rows), recipe.epochs):
        start = time.perf_counter()
        device = next(iter(parameters.values())).device
        with drawing(seed, epoch, device), torch.backends.cudnn.flags(enabled=True, deterministic=True):
            seen, loss, correct = one_epoch(forward, optimizer, batches(epoch), steps, recipe, epoch, dtype)
        row: Row = {"epoch": epoch + 1, "lr": optimizer.param_groups[0]["lr"]}
        row |= {"loss": (loss / seen).tolist(), "accuracy": (correct / seen).tolist()}  # waits for the device
        seconds = time.perf_counter() - start
        if not torch.isfinite(loss).all():
            raise FloatingPointError(f"The loss is not finite after epoch {epoch + 1}: use a smaller lr.")
        if validate:
            row["validation_accuracy"] = validate()
        rows.append(row | {"seconds": seconds, "images_per_s": seen * loss.numel() / seconds})
        if checkpoint:
            checkpoint.save(optimizer, rows)
        tick(rows[-1])
    return rows


@contextmanager
def drawing(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Let what networks draw inside the `with` depend on seed and epoch alone, and change nothing outside.

    Example:
        >>> ones, dropout = torch.ones(9), nn.Dropout()
        >>> with drawing(0, 1, torch.device("cpu")):
        ...     first = dropout(ones)
        >>> with drawing(0, 1, torch.device("cpu")):
        ...     torch.equal(dropout(ones), first)
        True
    """
    stream = int(files.digest("drawing", seed, epoch)[:15], 16)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(stream)  # torch.manual_seed would reach every other GPU too
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(stream)
        yield


def one_epoch(
    forward: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    batches: Iterable[tuple[Tensor, Tensor]],
    steps: int,
    recipe: Recipe,
    epoch: int,
    dtype: torch.dtype = torch.float32,
) -> tuple[int, Float[Tensor, "*members"], Float[Tensor, "*members"]]:
    """One pass over the data: images seen, sum of their losses, number of right answers on the way."""
    seen, total, right = 0, torch.zeros(()), torch.zeros(())
    for step, (images, labels) in enumerate(batches):
        done = (epoch + (step + 0.5) / steps) / recipe.epochs
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr * recipe.schedule(done)
        with autocast(images.device, dtype):
            logits = forward(images)
        loss = cross_entropy(logits, labels, recipe.label_smoothing)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        n = labels.shape[-1]
        seen += n
        total = total.to(loss.device) + n * loss.detach()
        right = right.to(loss.device) + (logits.argmax(-1) == labels).sum(-1)
    return seen, total, right


def cross_entropy(
    logits: Float[Tensor, "*members b classes"], labels: Int[Tensor, "*members b"], smoothing: float
) -> Float[Tensor, "*members"]:
    """The mean over the batch, for each member."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32)).movedim(-1, 1)  # classes second
    return F.cross_entropy(wide, labels, reduction="none", label_smoothing=smoothing).mean(-1)


def _parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
