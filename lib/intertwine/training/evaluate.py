"""The accuracy of a network, and whether data fit it."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.features import check_tensor
from intertwine.training.outputs import all_outputs, outputs


def evaluate(
    network: nn.Module,
    images: Float[Tensor, "n ..."],
    labels: Int[Tensor, " n"],
    *,
    batch_size: int = 200,
    dtype: torch.dtype = torch.float32,
) -> float:
    """The accuracy: the fraction of images whose largest logit is at their label.

    Example:
        >>> logits = torch.tensor([[1.0, 2.0], [3.0, 0.0], [5.0, 4.0]])
        >>> round(evaluate(nn.Identity(), logits, torch.tensor([1, 0, 1])), 3)
        0.667

    The network runs in evaluation mode on the device of its parameters, and is left in the mode it was in.
    Networks may train in bfloat16; every accuracy of this library is measured in the network's own type.

    Args:
        images: they travel to the network batch by batch.
        labels: from 0 to classes - 1, in int64.
        dtype: `torch.bfloat16` computes with autocast, faster and with about three decimal digits.

    Raises:
        ValueError: images or labels do not fit the network, or images are not finite.
    """
    check_data(network, images, labels)
    logits = all_outputs(network, images, batch_size=batch_size, dtype=dtype)
    return (logits.argmax(1) == labels.to(logits.device)).double().mean().item()


def check_data(network: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Raise, in one sentence, unless the network maps these images to logits of these labels."""
    check_tensor(images)
    check_tensor(labels)
    if not 0 < len(images) == len(labels):
        raise ValueError(
            f"Expected as many labels as images, and at least one, was given {len(images)} images and "
            f"{len(labels)} labels."
        )
    if labels.dtype != torch.int64 or labels.ndim != 1:
        raise ValueError(
            f"Expected labels of type torch.int64 and shape (n,), was given {labels.dtype} and "
            f"{tuple(labels.shape)}: if they number the classes, use labels.long().flatten()."
        )
    # the sum is one fast pass; finite numbers, too, may add up to infinity
    if not torch.isfinite(images.sum()) and (bad := (~torch.isfinite(images)).flatten(1).any(1).sum().item()):
        raise ValueError(
            f"Expected images of finite numbers, was given NaN or infinity in {bad} of {len(images)}: leave "
            f"these images out."
        )
    try:
        (logits,) = outputs(network, images[:1])
    except RuntimeError as error:
        raise ValueError(
            f"Expected images that the network takes, was given shape {tuple(images.shape)}: "
            f"{str(error).splitlines()[0]}."
        ) from error
    if logits.ndim != 2:
        raise ValueError(
            f"Expected a network that returns logits of shape (n, classes), for {tuple(images[:1].shape)} it "
            f"returned {tuple(logits.shape)}."
        )
    low, high, classes = labels.min().item(), labels.max().item(), logits.shape[1]
    if low < 0 or high >= classes:
        raise ValueError(
            f"Expected labels from 0 to {classes - 1}, for the network has {classes} outputs, was given "
            f"labels from {low} to {high}."
        )
