"""Training: recipes as data, one network or many, and a zoo of trained networks."""

from intertwine.training import kept, zoo
from intertwine.training.batches import Batches, fill_of
from intertwine.training.epoch import build_optimizer, epoch
from intertwine.training.evaluate import check_data, evaluate
from intertwine.training.many import train_many
from intertwine.training.outputs import front_values, outputs
from intertwine.training.recipes import RECIPES, MultiStep, Recipe, Triangle
from intertwine.training.spec import Spec
from intertwine.training.train import Trained, train

__all__ = [
    "RECIPES",
    "Batches",
    "MultiStep",
    "Recipe",
    "Spec",
    "Trained",
    "Triangle",
    "build_optimizer",
    "check_data",
    "epoch",
    "evaluate",
    "fill_of",
    "front_values",
    "kept",
    "outputs",
    "train",
    "train_many",
    "zoo",
]
