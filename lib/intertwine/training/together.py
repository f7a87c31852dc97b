"""Several trainings at once on a GPU, which a small network alone leaves idle.

The steps of a training are recorded once, as a CUDA graph, and replayed: a processor that starts each of some
hundred kernels of a step is slower than they are. Each training has a stream of its own, so they overlap.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from intertwine.devices import deterministic_kernels
from intertwine.training.batches import Batches
from intertwine.training.recipes import Recipe

Objective = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From the images of a batch and their numbers: losses, whose sum is minimised, and numbers of hits."""


class Steps:
    """The steps of one training.

    Example:
        >>> from intertwine.data import Dataset
        >>> from intertwine.training import Recipe, build_optimizer
        >>> data = Dataset.of(torch.randn(100, 3), torch.arange(100) % 2)
        >>> network, recipe = torch.nn.Linear(3, 2), Recipe(epochs=1, batch_size=20, lr=0.1)
        >>> def objective(images, numbers):
        ...     logits, labels = network(images), data.labels[numbers]
        ...     loss = torch.nn.functional.cross_entropy(logits, labels)
        ...     return loss[None], (logits.argmax(1) == labels).sum()[None]
        >>> optimizer = build_optimizer(recipe, network.named_parameters())
        >>> training = Steps(objective, optimizer, Batches.of(data, recipe), recipe, seed=0)
        >>> ((loss,), (accuracy,)), = run_epoch([training], 0)
        >>> 0 < accuracy < 1
        True

    Order and augmentation are those of `training.epoch` with this seed, and on a CPU so are the weights.

    Args:
        objective: must not depend on anything that a recorded step would keep, such as a random number.
        optimizer: of `build_optimizer`; its learning rates are multiplied by the recipe's schedule.
        batches, recipe: as in `training.epoch`.
        seed: of the order of the images and of their augmentation.
        before_epoch: called with the fraction of the training that is done; where what it returns changes,
            the step is recorded again.
        after_step: a projection, say.
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        batches: Batches,
        recipe: Recipe,
        *,
        seed: int,
        before_epoch: Callable[[float], Hashable] | None = None,
        after_step: Callable[[], None] | None = None,
    ) -> None:
        self.objective, self.optimizer, self.batches, self.recipe = objective, optimizer, batches, recipe
        self.seed, self.before_epoch, self.after_step = seed, before_epoch, after_step
        self.device = batches.labels.device
        self.rates = [group["lr"] for group in optimizer.param_groups]
        self.on_gpu = self.device.type == "cuda"
        self.stream = torch.cuda.Stream(self.device) if self.on_gpu else None
        if self.on_gpu:
            # a recorded step reads its learning rate from memory
            for group, rate in zip(optimizer.param_groups, self.rates, strict=True):
                group["lr"] = torch.tensor(rate, dtype=torch.float32, device=self.device)
                if "capturable" in group:
                    group["capturable"] = True
        self.recorded: torch.cuda.CUDAGraph | None = None
        self.stage: Hashable = None
        self.k = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.laid: list[Tensor] = []
        self.totals: list[Tensor] = []

    def on_stream(self, *, waits: bool = True) -> AbstractContextManager[Any]:
        """The stream of this training, by default after what the caller's has begun; nothing on a CPU."""
        if self.stream is None:
            return nullcontext()
        if waits:
            self.stream.wait_stream(torch.cuda.current_stream(self.device))
        return torch.cuda.stream(self.stream)

    def begin(self, number: int) -> None:
        """Lay out the draws of an epoch where its steps find them."""
        size, count = self.recipe.batch_size, len(self.batches)
        draws = self.batches.drawn(number, seed=self.seed)
        # the middle of the step, as in `training.epoch`
        done = [(number + (k + 0.5) / count) / self.recipe.epochs for k in range(count)]
        self.factors = [self.recipe.schedule(each) for each in done]
        self.whole, self.seen, self.number = len(draws[0]) // size, len(draws[0]), number
        stage = (
            self.recipe.side(number / self.recipe.epochs),
            self.before_epoch and self.before_epoch(done[0]),
        )
        if stage != self.stage:
            self.recorded, self.stage, self.warm = None, stage, 0
        parts = [each[: self.whole * size].unflatten(0, (self.whole, size)) for each in draws]
        factors = torch.tensor(self.factors[: self.whole], dtype=torch.float32, device=self.device)
        parts.append(factors)
        self.rest = [each[self.whole * size :] for each in draws]
        if self.laid:
            for place, part in zip(self.laid, parts, strict=True):
                place.copy_(part)
        else:
            self.laid = [part.clone() for part in parts]
        for each in (self.k, *self.totals):
            each.zero_()

    def step(self, k: int) -> None:
        """The k-th step of the epoch."""
        if k == self.whole:  # the last and smaller batch
            numbers, move, flip = self.rest
            return self._learn(numbers, move, flip, self.factors[k])
        if self.recorded:
            return self.recorded.replay()
        if not self.on_gpu or self.warm < 3:  # libraries set themselves up in the first steps
            self.warm += 1
            return self._next(self.factors[k])
        self.recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.recorded, stream=self.stream):
            self._next()
        self.recorded.replay()

    def result(self) -> tuple[list[float], list[float]]:
        """The mean losses of the epoch, and accuracies on the way."""
        losses, right = ((each / self.seen).tolist() for each in self.totals)  # waits for the device
        return losses, right

    def _next(self, factor: float | None = None) -> None:
        numbers, move, flip, factors = (each.index_select(0, self.k)[0] for each in self.laid)
        self.k += 1
        self._learn(numbers, move, flip, factors if factor is None else factor)

    def _learn(self, numbers: Tensor, move: Tensor, flip: Tensor, factor: float | Tensor) -> None:
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            if self.on_gpu:
                group["lr"].copy_(torch.as_tensor(rate * factor, dtype=torch.float32))
            else:
                group["lr"] = rate * factor
        images = self.batches.pictures(numbers, move, flip, self.number)
        losses, right = self.objective(images, numbers)
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        if self.after_step:
            self.after_step()
        found = [len(numbers) * losses.detach(), right]
        if self.totals:
            for total, each in zip(self.totals, found, strict=True):
                total += each
        else:
            self.totals = [each.clone().double() for each in found]


def run_epoch(trainings: Sequence[Steps], number: int) -> list[tuple[list[float], list[float]]]:
    """Train all for one epoch, in turns; mean losses and accuracies on the way of each."""
    with deterministic_kernels():
        for each in trainings:
            with each.on_stream():
                each.begin(number)
        for k in range(max(len(each.batches) for each in trainings)):
            for each in trainings:
                if k < len(each.batches):
                    with each.on_stream(waits=False):
                        each.step(k)
    results = []
    for each in trainings:
        with each.on_stream(waits=False):
            results.append(each.result())
    return results
