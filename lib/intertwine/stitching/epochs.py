"""One epoch of a stitch's training, and batch norm's statistics after it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from intertwine.devices import autocast
from intertwine.stitching.junction import Junction
from intertwine.stitching.layers import Stitch
from intertwine.stitching.recipes import StitchRecipe
from intertwine.stitching.stitched import Rest, Values, as_values, run
from intertwine.training.batches import Batches, fill_of

REESTIMATED = 10_000  # training images that batch norm's statistics are averaged over


class Steps:
    """The batches of a training: what the front returns for them, their labels, what the loss compares with.

    Where the recipe does not augment and the junction keeps the front's values, they are only gathered.
    """

    def __init__(self, junction: Junction, recipe: StitchRecipe, seed: int) -> None:
        self.junction, self.seed = junction, seed
        self.soft, self.augmented = recipe.targets == "soft", bool(recipe.flip or recipe.shift)
        self.labels = junction.labels("train")
        self.kept = None if self.augmented else junction.kept("train")
        inputs = junction.images("train") if self.kept is None else self.kept[0]
        rows = torch.arange(len(self.labels), device=junction.device)  # stand for labels
        self.batches = Batches(inputs, rows, recipe, fill_of(junction.data("train"), recipe))

    def __len__(self) -> int:
        return len(self.batches)

    def epoch(self, epoch: int) -> Iterator[tuple[Values, Tensor, Tensor]]:
        """The batches of one epoch, counted from 0."""
        junction = self.junction
        for inputs, rows in self.batches.epoch(epoch, seed=self.seed):
            targets = labels = self.labels[rows]
            if self.soft and self.augmented:
                targets = run(junction.model2, inputs, junction.dtype).float().softmax(1)
            elif self.soft:
                targets = junction.targets("train")[rows]
            if self.kept is None:
                values = run(junction.front, inputs, junction.dtype)
            else:
                values = as_values((inputs, *(x[rows] for x in self.kept[1:])))
            yield values, labels, targets


def one_epoch(
    rest: Rest, optimizer: torch.optim.Optimizer, steps: Steps, recipe: StitchRecipe, epoch: int
) -> dict[str, Any]:
    """Train the stitch of `rest` for an epoch, counted from 0; its row of the history.

    Raises:
        FloatingPointError: the loss is no longer finite.
    """
    start, seen = time.perf_counter(), 0
    total, right = torch.zeros(2, device=steps.junction.device)
    layer = rest.stitch
    rest.eval()
    layer.train()
    for norm in norms(rest, recipe):
        norm.train()
    for step, (values, labels, targets) in enumerate(steps.epoch(epoch)):
        done = (epoch + (step + 0.5) / len(steps)) / recipe.epochs
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr * recipe.schedule(done)
        if isinstance(layer, Stitch):
            layer.advance(done)
        with autocast(steps.junction.device, steps.junction.dtype):
            logits = rest(values)
        loss = F.cross_entropy(logits.float(), targets, label_smoothing=recipe.label_smoothing)
        optimizer.zero_grad()
        (loss + layer.penalty() if isinstance(layer, Stitch) else loss).backward()
        optimizer.step()
        if isinstance(layer, Stitch):
            layer.project()
        seen += len(labels)
        total += len(labels) * loss.detach()
        right += (logits.argmax(1) == labels).sum()
    if not torch.isfinite(total):
        raise FloatingPointError(f"The loss is not finite after epoch {epoch + 1}: use a smaller lr.")
    seconds = time.perf_counter() - start
    return {
        "epoch": epoch + 1,
        "lr": optimizer.param_groups[0]["lr"],
        "loss": total.item() / seen,
        "accuracy": 100 * right.item() / seen,
        "seconds": seconds,
        "images_per_s": seen / seconds,
    }


def norms(rest: Rest, recipe: StitchRecipe) -> list[_BatchNorm]:
    """The batch norms of model 2 whose statistics the recipe re-estimates."""
    if recipe.batch_norm == "frozen":
        return []
    return tracked(rest.back)


def tracked(network: nn.Module) -> list[_BatchNorm]:
    """The batch norms that keep running statistics."""
    return [m for m in network.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]


def reestimate(
    network: nn.Module,
    modules: list[_BatchNorm],
    batches: Iterable[Values],
    device: torch.device,
    dtype: torch.dtype,
) -> None:
    """Give batch norms their mean statistics over batches of training data, in the network as evaluated."""
    before = [module.momentum for module in modules]
    network.eval()
    for module in modules:
        module.reset_running_stats()
        module.momentum = None  # an average over all batches
        module.train()
    seen = 0
    for values in batches:
        with torch.no_grad(), autocast(device, dtype):
            seen += len(network(values))
        if seen >= REESTIMATED:
            break
    for module, momentum in zip(modules, before, strict=True):
        module.momentum = momentum
    network.eval()
