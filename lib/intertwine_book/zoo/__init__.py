"""Trained networks: by the papers' recipes, many of one kind, stored in a zoo, or kept with a checkout."""

from intertwine_book.zoo import kept
from intertwine_book.zoo.many import train_many
from intertwine_book.zoo.recipes import RECIPES, THEIRS, with_training
from intertwine_book.zoo.spec import Spec
from intertwine_book.zoo.stored import get, pairs

__all__ = ["RECIPES", "THEIRS", "Spec", "get", "kept", "pairs", "train_many", "with_training"]
