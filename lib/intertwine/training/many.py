"""Training many networks of one shape, in the way that is fastest for the shape and the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from joblib.parallel import LokyBackend, get_active_backend
from torch import Tensor

from intertwine import devices
from intertwine.training.evaluation import check_data
from intertwine.training.loop import Trained, train
from intertwine.training.progress import Progress, Tick, relayed, reporting
from intertwine.training.spec import Spec
from intertwine.training.stacked import stacking_pays, train_stacked

Seed = int | tuple[int, int]


def train_many(
    spec: Spec,
    seeds: Sequence[Seed],
    *,
    device: str | torch.device = "auto",
    way: str = "auto",
    progress: bool | Callable[[Progress], Any] = False,
) -> list[Trained]:
    """Train one network per seed.

    Example:
        >>> from dataclasses import replace
        >>> from intertwine import data
        >>> from intertwine.training import RECIPES, Spec, train_many
        >>> recipe = replace(RECIPES["digits"], epochs=1)
        >>> spec = Spec("myrtle", data.load("digits", "train"), recipe, {"width": 2, "in_channels": 1})
        >>> len(train_many(spec, seeds=[0, (0, 1)], device="cpu", way="in turn"))
        2

    A seed decides on the initialisation and on the order of the data; a pair (initialisation, order) sets
    them apart. The ways are

    - "stacked": tiny networks without batch norm as slices of the same tensors (`stacking_pays`),
    - "processes": on CPU cores through joblib, as many at a time as `torch.get_num_threads()`, which
      share the data,
    - "in turn": one after another, on a GPU or a single core.

    On a cluster, the processes are Dask's: ``pip install dask[distributed]``, connect a
    ``dask.distributed.Client``, and call this inside ``with joblib.parallel_config(backend="dask"):``. The
    networks come back to the caller; nothing else changes. The workers need this library installed, and cores
    of their own: start them with one thread each.

    Args:
        spec: what to train.
        seeds: one entry per network.
        device: as `intertwine.devices.pick` takes it.
        way: one of the three, or "auto".
        progress: True for a bar, or a function that gets a `Progress` after every epoch, or after every
            network where they are trained in processes.

    Raises:
        ValueError: an unknown way, or as in `train`; said before any work.
    """
    pairs = as_pairs(seeds)
    with reporting(progress, len(pairs) * spec.recipe.epochs) as tick:
        done = dict(train_each(spec, list(dict.fromkeys(pairs)), device=device, way=way, tick=tick))
    return [done[pair] for pair in pairs]


def as_pairs(seeds: Sequence[Seed]) -> list[tuple[int, int]]:
    """The seeds of initialisation and order."""
    return [seed if isinstance(seed, tuple) else (seed, seed) for seed in seeds]


def train_each(
    spec: Spec,
    seeds: Sequence[tuple[int, int]],
    *,
    device: str | torch.device,
    way: str,
    tick: Tick,
    of: int | None = None,
    checkpoint: Callable[[tuple[int, int]], Path | None] = lambda seed: None,
) -> Iterator[tuple[tuple[int, int], Trained]]:
    """Yield every network as soon as it is trained, in any order.

    Args:
        of: the number of networks whose remainder these are. Threads per network depend on it, so that a
            run which was interrupted goes on as it began.
        checkpoint: the file from which the training with these seeds goes on.
    """
    if not seeds:
        return
    chosen = devices.pick(device)
    check_data(spec.build(seed=0), spec.data.images, spec.data.labels)
    way, jobs = _plan(spec, of or len(seeds), chosen, way)
    if way == "stacked":
        yield from zip(seeds, train_stacked(spec, seeds, chosen, tick), strict=True)
    elif way == "in turn":
        for seed in seeds:
            yield seed, _train(spec, seed, device=chosen, checkpoint=checkpoint(seed), progress=relayed(tick))
    else:
        # arrays, because joblib maps them into the memory of all processes, or scatters them on a cluster
        arrays = [tensor.numpy(force=True) for tensor in (spec.data.images, spec.data.labels)]
        none = [tensor[:0].clone() for tensor in (spec.data.images, spec.data.labels)]  # views travel whole
        light = _holding(spec, *none)
        threads = max(1, torch.get_num_threads() // jobs)
        run = Parallel(n_jobs=jobs, return_as="generator_unordered", mmap_mode="c")
        calls = (delayed(_work)(light, *arrays, seed, threads, checkpoint(seed)) for seed in seeds)
        for seed, trained in run(calls):
            for row in trained.history.to_dict("records")[-1:]:
                tick(row, len(trained.history))
            yield seed, trained


def _plan(spec: Spec, networks: int, device: torch.device, way: str) -> tuple[str, int]:
    """How to train so many networks, and in how many processes."""
    if way not in ("auto", "stacked", "processes", "in turn"):
        raise ValueError(f"Expected way to be auto, stacked, processes or in turn, was given {way!r}.")
    if way == "processes" and device.type != "cpu":
        raise ValueError(f"Expected the CPU for training in processes, was given '{device}': use in turn.")
    jobs = _processes(networks) if device.type == "cpu" else 1
    if way == "auto":
        stack = networks >= 4 and stacking_pays(spec)
        way = "stacked" if stack else "processes" if jobs > 1 else "in turn"
    return way, jobs


def _processes(networks: int) -> int:
    """How many there are room for: on this machine, or in the cluster that joblib is told to use."""
    backend, _ = get_active_backend()
    if isinstance(backend, LokyBackend):  # joblib's default
        return min(networks, torch.get_num_threads())
    shared = getattr(
        backend, "supports_sharedmem", False
    )  # threads, such as joblib nests: one of them trains
    return 1 if shared else backend.effective_n_jobs(-1)


def _train(spec: Spec, seed: tuple[int, int], **options: Any) -> Trained:
    return train(spec.build(seed=seed[0]), spec.data, spec.recipe, seed=seed[1], **options)


def _holding(spec: Spec, images: Tensor, labels: Tensor) -> Spec:
    """The same data by their checksum, in these tensors."""
    return replace(spec, data=replace(spec.data, images=images, labels=labels, hashed=()))


def _work(
    spec: Spec,
    images: np.ndarray,
    labels: np.ndarray,
    seed: tuple[int, int],
    threads: int,
    checkpoint: Path | None,
) -> tuple[tuple[int, int], Trained]:
    """What a process does."""
    tensors = [torch.from_numpy(each if each.flags.writeable else each.copy()) for each in (images, labels)]
    spec = _holding(spec, *tensors)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return seed, _train(spec, seed, device="cpu", checkpoint=checkpoint)
    finally:
        torch.set_num_threads(before)
