"""Training: recipes as data, one network or many, and a zoo that keeps what was trained."""

from intertwine.training import zoo
from intertwine.training.evaluation import evaluate
from intertwine.training.holdout import holdout
from intertwine.training.loop import Trained, train
from intertwine.training.many import train_many
from intertwine.training.progress import Progress
from intertwine.training.recipes import RECIPES, Recipe, Steps, Triangle
from intertwine.training.spec import Spec

__all__ = [
    "RECIPES",
    "Progress",
    "Recipe",
    "Spec",
    "Steps",
    "Trained",
    "Triangle",
    "evaluate",
    "holdout",
    "train",
    "train_many",
    "zoo",
]
