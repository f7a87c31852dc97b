"""How long chapters take and how much memory they need, said before they run.

`chapters/work.yml` has the amounts of work; how much of each kind this device does, a second of it tells.
"""

from __future__ import annotations

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
from intertwine.training import RECIPES, outputs, train
from intertwine_book.build.layout import Book, BookError

TRAINING_SETS = {"digits": 1_297, "fashion_mnist": 60_000, "cifar10": 50_000}


def announced(book: Book, settings: Mapping[str, Mapping[str, Any]], jobs: int) -> str:
    """What these chapters take, in words; a BookError where those that run at once need too much memory."""
    formulas = yaml.safe_load((book.root / "chapters/work.yml").read_text())
    hours, memory, there = {}, {}, 0.0
    for chapter, chosen in settings.items():
        device = devices.pick(chosen["device"])
        named = {"training_set": TRAINING_SETS.get(chosen.get("dataset", ""), 0), "len": len, **chosen}
        amount = {kind: eval(str(each), dict(named)) for kind, each in formulas[chapter].items()}  # ours
        memory[chapter], width, there = amount.pop("memory"), amount.pop("width", 16), total_memory(device)
        seconds = amount.pop("seconds") + sum(n / rate(kind, device, width) for kind, n in amount.items())
        hours[chapter] = seconds / 3600
    at_once = sorted(memory, key=memory.__getitem__)[-jobs:]
    needed = sum(memory[chapter] for chapter in at_once)
    if needed > there:
        raise BookError(
            f"Expected a device with {needed:.0f} GB of memory for {' and '.join(at_once)} at once, {device} "
            f"has {there:.0f}: use --jobs 1, --only, or smaller parameters."
        )
    lines = [f"{chapter}: about {hours[chapter]:.2g} h, {memory[chapter]:.0f} GB" for chapter in settings]
    whole = f"All: about {sum(hours.values()):.2g} h and {needed:.0f} of {there:.0f} GB on {device}"
    return "\n".join([*lines, f"{whole}, by a second of each kind of work."])


def total_memory(device: torch.device) -> float:
    """In GB."""
    on_host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    of_gpu = device.type == "cuda"
    return (torch.cuda.get_device_properties(device).total_memory if of_gpu else on_host) / 1e9


@cache
def rate(kind: str, device: torch.device, width: int = 16) -> float:
    """Work a second: `train`, images of CIFAR-10's size that train a Myrtle CNN; `lenet`, images through a
    LeNet; `matrix`, multiply-adds in float64."""
    if kind == "train":
        n = 256 if device.type == "cpu" else 25_600  # for about a second
        noise = Dataset.of(torch.randn(n, 3, 32, 32), torch.arange(n) % 10)
        trained = train(
            models.myrtle(width), noise, replace(RECIPES["fast"], epochs=2), seed=0, device=device
        )
        return float(trained.history["images_per_s"].iloc[-1])  # of the second epoch
    network, images = models.lenet().to(device), torch.randn(500, 1, 28, 28, device=device)
    square = torch.ones(1024, 1024, dtype=torch.float64, device=device)
    start, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < 1:
        if kind == "lenet":
            done += sum(len(batch.cpu()) for batch in outputs(network, images))
        else:
            done += int((square @ square)[0, 0]) * 1024**2
    return done / spent
