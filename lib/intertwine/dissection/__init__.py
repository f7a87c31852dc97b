"""Network dissection: rotations of a basis, and the concepts that its units select (godfrey2022 §6).

Example:
    >>> import torch
    >>> from intertwine import data, models
    >>> from intertwine.features import activations
    >>> test, masks = data.scenes(20)
    >>> network = models.residual(4)
    >>> units = activations(network, ["block2"], test.images)["block2"]
    >>> Q = haar_rotation(8, torch.Generator().manual_seed(0))
    >>> own, turned = (dissect(units, masks, rotation=each) for each in (None, geodesic(Q, 0.5)))
    >>> own.iou.shape == turned.iou.shape == (8, 24)
    True
"""

from intertwine.dissection.dissect import Dissection, Units, dissect, dissect_each, top_quantile
from intertwine.dissection.examples import Example, examples
from intertwine.dissection.rotation import RotationPlanes, geodesic, haar_rotation, rotation_planes

__all__ = [
    "Dissection",
    "Example",
    "RotationPlanes",
    "Units",
    "dissect",
    "dissect_each",
    "examples",
    "geodesic",
    "haar_rotation",
    "rotation_planes",
    "top_quantile",
]
