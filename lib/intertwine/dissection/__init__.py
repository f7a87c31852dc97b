"""Network dissection: rotations of a basis, and the concepts that its units select (godfrey2022 §6).

Example:
    >>> import torch
    >>> from intertwine.data import Masks
    >>> from intertwine.features import activations
    >>> images = torch.rand(20, 1, 12, 12)
    >>> masks = Masks(
    ...     (images[:, 0] > 0.5).int(),
    ...     torch.eye(2).bool(),
    ...     ("dark", "bright"),
    ...     ("light",) * 2,
    ... )
    >>> network = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU())
    >>> units = activations(network, ["1"], images)["1"]
    >>> Q = haar_rotation(8, torch.Generator().manual_seed(0))
    >>> own, turned = (
    ...     dissect(units, masks, rotation=each)
    ...     for each in (None, geodesic(Q, 0.5))
    ... )
    >>> own.iou.shape == turned.iou.shape == (8, 2)
    True
"""

from intertwine.dissection.dissect import Dissection, Units, dissect, dissect_each
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
]
