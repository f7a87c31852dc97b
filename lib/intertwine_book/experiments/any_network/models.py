"""The networks of chapter 1c: those of torchvision, with weights as no initialisation leaves them."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial

import torch
from torch import nn


def check(names: Iterable[str]) -> None:
    """Raise unless these are networks of torchvision, or a vision transformer of ours.

    Raises:
        ModuleNotFoundError: torchvision is not installed.
        ValueError: it has no network of that name; with the nearest.

    Example:
        >>> check(["resnet81"])
        Traceback (most recent call last):
        ...
        ValueError: Expected a network of torchvision, was given 'resnet81': the nearest is 'resnet18'.
    """
    try:
        from torchvision import models
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "The networks of chapter 1c are torchvision's, which is missing: pip install torchvision."
        ) from None
    known = models.list_models(module=models)
    for name in names:
        if name not in known and "vision" not in name:
            (near,) = get_close_matches(name, known, n=1, cutoff=0.0)
            raise ValueError(
                f"Expected a network of torchvision, was given {name!r}: the nearest is {near!r}."
            )


def of_torchvision(name: str) -> nn.Module:
    """An untrained network of that name, or "a vision transformer" small enough for images of 32 × 32."""
    from torchvision import models

    small_vit = partial(models.VisionTransformer, 32, 8, 2, 4, 32, 64, num_classes=10)
    return small_vit() if "vision" in name else getattr(models, name)(weights=None)


def randomised(model: nn.Module, generator: torch.Generator) -> nn.Module:
    """The model itself, in float64, with gains, shifts and statistics as no initialisation leaves them.

    Example:
        >>> norm = randomised(nn.BatchNorm1d(3), torch.Generator().manual_seed(0))
        >>> bool((norm.weight - 1).abs().gt(0).all() and norm.running_mean.abs().lt(0.5).all())
        True
    """
    model = model.double().eval()
    with torch.no_grad():
        for name, x in model.state_dict().items():
            if x.ndim == 1 and x.is_floating_point():
                low = 0.0 if name.endswith(("bias", "running_mean")) else 1.0
                x.copy_(low + torch.rand(x.shape, generator=generator) - 0.5)
            elif not x.any():  # a last layer that starts with zeros
                x.copy_(torch.randn(x.shape, generator=generator))
    return model
