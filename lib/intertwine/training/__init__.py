"""Training: recipes as data, batches on the device, one epoch, one network."""

from intertwine.training.batches import Batches
from intertwine.training.epoch import build_optimizer, epoch
from intertwine.training.evaluate import evaluate
from intertwine.training.outputs import outputs
from intertwine.training.recipes import MultiStep, Recipe, Triangle
from intertwine.training.train import Trained, train

__all__ = [
    "Batches",
    "MultiStep",
    "Recipe",
    "Trained",
    "Triangle",
    "build_optimizer",
    "epoch",
    "evaluate",
    "outputs",
    "train",
]
