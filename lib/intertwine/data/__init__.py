"""Labelled images and concept masks, as tensors."""

from intertwine.data.dataset import Dataset
from intertwine.data.masks import Masks

__all__ = ["Dataset", "Masks"]
