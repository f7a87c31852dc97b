"""How long chapters take and how much memory they need, said before they run.

`chapters/work.yml` has the amounts of work; how much of each kind this device does, a second of it tells.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import torch
import yaml

from intertwine import devices, models
from intertwine.data import Dataset
from intertwine.training import RECIPES, train
from intertwine.training.outputs import all_outputs
from intertwine_book.build.layout import Book, BookError

TRAINING_SETS = {"digits": 1_297, "fashion_mnist": 60_000, "cifar10": 50_000}


def announced(book: Book, settings: Mapping[str, Mapping[str, Any]], jobs: int) -> str:
    """What these chapters take, in words; a BookError where those that run at once need too much memory."""
    formulas = yaml.safe_load((book.root / "chapters/work.yml").read_text())
    if missing := [chapter for chapter in settings if chapter not in formulas]:
        raise BookError(f"Expected the work of {missing[0]} in chapters/work.yml, found none: add a line.")
    work, memory = {}, {}
    for chapter, chosen in settings.items():
        named = {"training_set": TRAINING_SETS.get(chosen.get("dataset", ""), 0), "len": len, **chosen}
        amount = {kind: eval(str(each), dict(named)) for kind, each in formulas[chapter].items()}  # ours
        work[chapter], memory[chapter] = amount, amount.pop("memory")
    device = devices.pick(chosen["device"])
    needed, there = sum(sorted(memory.values())[-jobs:]), total_memory(device)
    if needed > there:
        largest = " and ".join(sorted(memory, key=memory.__getitem__)[-jobs:])
        raise BookError(
            f"Expected a device with {needed:.0f} GB of memory for {largest} at once, {device} has "
            f"{there:.0f}: use --jobs 1, --only, or smaller parameters."
        )
    hours = {}
    for chapter, amount in work.items():
        width, seconds = amount.pop("width", 16), amount.pop("seconds")
        seconds += sum(n / rate(kind, device, width) for kind, n in amount.items())
        hours[chapter] = seconds / 3600
    hours["All"], memory["All"] = sum(hours.values()), needed
    lines = [f"{name}: about {hours[name]:.2g} h, {memory[name]:.0f} GB" for name in hours]
    return "\n".join(lines) + f" of {there:.0f} on {device}, by a second of each kind of work."


def total_memory(device: torch.device) -> float:
    """In GB."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory / 1e9
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9


@cache
def rate(kind: str, device: torch.device, width: int = 16) -> float:
    """Work a second: `train`, images of CIFAR-10's size that train a Myrtle CNN; `lenet`, images through a
    LeNet; `matrix`, multiply-adds in float64."""
    if kind == "train":
        n = 256 if device.type == "cpu" else 25_600  # for about a second
        noise = Dataset.of(torch.randn(n, 3, 32, 32), torch.arange(n) % 10)
        recipe = replace(RECIPES["fast"], epochs=2)
        history = train(models.myrtle(width), noise, recipe, seed=0, device=device).history
        return float(history["images_per_s"].iloc[-1])  # of the second epoch
    network, images = models.lenet().to(device), torch.randn(500, 1, 28, 28, device=device)
    square = torch.ones(1024, 1024, dtype=torch.float64, device=device)
    start, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < 1:
        if kind == "lenet":
            done += len(all_outputs(network, images).cpu())
        else:
            done += int((square @ square)[0, 0]) * 1024**2
    return done / spent
