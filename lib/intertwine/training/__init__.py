"""Training: recipes as data, batches on the device, one epoch, one network."""

from intertwine.training.batches import Batches, fill_of
from intertwine.training.epoch import build_optimizer, epoch
from intertwine.training.evaluate import check_data, evaluate
from intertwine.training.outputs import front_values, outputs
from intertwine.training.recipes import MultiStep, Recipe, Triangle
from intertwine.training.train import Trained, train

__all__ = [
    "Batches",
    "MultiStep",
    "Recipe",
    "Trained",
    "Triangle",
    "build_optimizer",
    "check_data",
    "epoch",
    "evaluate",
    "fill_of",
    "front_values",
    "outputs",
    "train",
]
