"""Trained networks, kept by the content of what made them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from intertwine import devices, files
from intertwine.data.archive import data_root
from intertwine.training import store
from intertwine.training.loop import Trained
from intertwine.training.many import Seed, as_pairs, train_each
from intertwine.training.progress import Progress, reporting
from intertwine.training.spec import Spec


def get(
    spec: Spec,
    seeds: Sequence[Seed],
    *,
    root: str | Path | None = None,
    device: str | torch.device = "auto",
    way: str = "auto",
    progress: bool | Callable[[Progress], Any] = False,
) -> list[Trained]:
    """The networks that `train_many` would train, trained only where the zoo does not have them yet.

    Example:
        >>> import tempfile
        >>> from dataclasses import replace
        >>> from intertwine import data
        >>> from intertwine.training import RECIPES, Spec, zoo
        >>> recipe = replace(RECIPES["digits"], epochs=1)
        >>> spec = Spec("myrtle", data.load("digits", "train"), recipe, {"width": 2, "in_channels": 1})
        >>> root = tempfile.mkdtemp()
        >>> first, = zoo.get(spec, [0], root=root, device="cpu")
        >>> again, = zoo.get(spec, [0], root=root, device="cpu")
        >>> torch.equal(first.network.fc.weight, again.network.fc.weight)
        True

    A network is found again by its architecture and arguments, the data's checksum, the recipe, its seeds and
    the version of this code, wherever the folder moves; one safetensors file each, written whole. Two runs at
    once wait for each other. An interrupted run loses no finished network, and goes on in the others from
    their last epoch (stacked ones begin anew).

    Args:
        spec: what to train.
        seeds: as in `train_many`.
        root: the zoo's folder; by default the environment variable INTERTWINE_ZOO, or else ``zoo`` in the
            data root (see `intertwine.data.load`).
        device: where networks are trained and where they are returned.
        way: as in `train_many`.
        progress: as in `train_many`; only what must be trained is counted.

    Raises:
        ValueError: as in `train_many`.
        OSError: a file of the zoo is damaged.
    """
    chosen = devices.pick(device)
    folder = _root(root) / f"{spec.name}-{spec.digest()[:16]}"
    pairs = as_pairs(seeds)

    def path(seed: tuple[int, int]) -> Path:
        return folder / f"{seed[0]}-{seed[1]}.safetensors"

    def checkpoint(seed: tuple[int, int]) -> Path:
        return folder / f"{seed[0]}-{seed[1]}.checkpoint"

    with files.lock(folder):
        missing = [seed for seed in dict.fromkeys(pairs) if not path(seed).is_file()]
        with reporting(progress, len(missing) * spec.recipe.epochs) as tick:
            for seed, trained in train_each(
                spec, missing, device=chosen, way=way, tick=tick, of=len(pairs), checkpoint=checkpoint
            ):
                facts = _described(spec, chosen) | {"history": trained.history.to_dict("list")}
                store.save(path(seed), trained.network.state_dict(), facts)
                checkpoint(seed).unlink(missing_ok=True)
    return [_read(spec, seed, path(seed), chosen) for seed in pairs]


def _read(spec: Spec, seed: tuple[int, int], path: Path, device: torch.device) -> Trained:
    tensors, facts = store.load(path)
    network = spec.build(seed=seed[0])
    network.load_state_dict(tensors)
    return Trained(network.to(device).eval(), pd.DataFrame(facts["history"]), spec.recipe, seed[1])


def _root(root: str | Path | None) -> Path:
    asked = root or os.environ.get("INTERTWINE_ZOO")
    return Path(asked).expanduser() if asked else data_root(None) / "zoo"


def _described(spec: Spec, device: torch.device) -> dict[str, Any]:
    """For whoever finds the file."""
    return {
        "architecture": spec.name,
        "arguments": dict(spec.arguments),
        "recipe": asdict(spec.recipe),
        "data": {"name": spec.data.name, "split": spec.data.split, "checksum": spec.data.checksum},
        "torch": str(torch.__version__),
        "device": str(device),
    }
