"""What a network answers, how often it is right, and whether data fit it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import devices
from intertwine.features import check_tensor
from intertwine.training.arithmetic import autocast, input_dtype


def evaluate(
    network: nn.Module,
    images: Float[Tensor, "n ..."],
    labels: Int[Tensor, " n"],
    *,
    batch_size: int = 500,
    dtype: torch.dtype = torch.float32,
) -> float:
    """The accuracy: the fraction of images whose largest logit is at their label.

    Example:
        >>> logits = torch.tensor([[1.0, 2.0], [3.0, 0.0], [5.0, 4.0]])
        >>> round(evaluate(nn.Identity(), logits, torch.tensor([1, 0, 1])), 3)
        0.667

    The network runs in evaluation mode on the device of its parameters, and is left in the mode it was in.

    Args:
        network: maps images to logits.
        images: its inputs; they travel to the network batch by batch.
        labels: from 0 to classes - 1, in int64.
        batch_size: images at a time.
        dtype: `torch.bfloat16` computes with autocast, faster and with about three decimal digits.

    Raises:
        ValueError: images or labels do not fit the network, or images are not finite.
        TypeError: images or labels are no tensors.
    """
    check_data(network, images, labels)
    right = torch.zeros((), dtype=torch.long)
    for logits, wanted in zip(
        outputs(network, images, batch_size=batch_size, dtype=dtype), labels.split(batch_size), strict=True
    ):
        right = right.to(logits.device) + (logits.argmax(1) == wanted.to(logits.device)).sum()
    return right.item() / len(labels)


def outputs(
    network: nn.Module,
    images: Float[Tensor, "n ..."],
    *,
    batch_size: int = 500,
    dtype: torch.dtype = torch.float32,
) -> Iterator[Float[Tensor, "batch ..."]]:
    """What the network returns in evaluation mode, without autograd, batch by batch."""
    device = devices.like(network, images).device
    own = input_dtype(network, dtype)
    with evaluating(network):
        for batch in images.split(batch_size):
            if batch.ndim == 4:
                batch = batch.contiguous(memory_format=torch.channels_last)
            with torch.no_grad(), autocast(device, dtype):
                yield network(batch.to(device, own))


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Put the network into evaluation mode, and every module back into its own afterwards."""
    modes = {module: module.training for module in network.modules()}
    try:
        network.eval()
        yield
    finally:
        for module, training in modes.items():
            module.training = training


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
    if not torch.isfinite(images.sum()):  # one fast pass; finite numbers, too, may add up to infinity
        bad = int((~torch.isfinite(images)).flatten(1).any(1).sum())
        if bad:
            raise ValueError(
                f"Expected images of finite numbers, was given NaN or infinity in {bad} of {len(images)}: "
                f"leave these images out."
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
