"""The accuracy of a network, and whether data fit it."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from intertwine.checks import check_finite, check_images, check_model, not_taken
from intertwine.training.outputs import all_outputs, outputs


def evaluate(
    network: nn.Module,
    images: Float[Tensor, "n ..."],
    labels: Int[Tensor, " n"],
    *,
    batch_size: int = 200,
) -> float:
    """The accuracy: the fraction of images whose largest logit is at their label.

    Example:
        >>> import torch
        >>> logits = torch.tensor([[1.0, 2.0], [3.0, 0.0], [5.0, 4.0]])
        >>> round(evaluate(nn.Identity(), logits, torch.tensor([1, 0, 1])), 3)
        0.667

    An image with a logit that is NaN counts as wrong. The network runs in evaluation mode, on the device of
    its parameters and in their type, also if it was trained in bfloat16. It is left in the mode it was in.

    Args:
        network: maps images to logits of shape (n, classes).
        images: they travel to the network batch by batch.
        labels: from 0 to classes - 1, in int64.
        batch_size: images of one run; it does not change the result.

    Raises:
        ValueError: images or labels do not fit the network, or images or its weights are not finite.
    """
    check_data(network, images, labels)
    logits = all_outputs(network, images, batch_size=batch_size)
    return correct(logits, labels.to(logits.device)).double().mean().item()


def correct(logits: Float[Tensor, "n classes"], labels: Int[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Whether the largest logit is at the label; where one is NaN, none is the largest.

    Example:
        >>> import torch
        >>> nan = float("nan")
        >>> correct(torch.tensor([[1.0, 2.0], [nan, 0.0]]), torch.tensor([1, 0]))
        tensor([ True, False])
    """
    # argmax takes NaN for the largest
    return (logits.argmax(1) == labels) & ~logits.isnan().any(1)


def check_data(network: nn.Module, images: Tensor, labels: Tensor, *, least: int = 1) -> None:
    """Raise, in one sentence, unless the network maps these images to logits of these labels.

    A network with one output has nothing to learn from the cross-entropy: trainings ask for at `least` two.
    """
    check_model(network)
    check_images(images, labels)
    check_finite(network)
    # one image shows whether all fit
    try:
        (logits,) = outputs(network, images[:1])
    except RuntimeError as error:
        raise not_taken(images, error) from error
    if not isinstance(logits, Tensor):
        raise ValueError(
            f"Expected a network that returns a tensor of logits, it returned a {type(logits).__name__}: "
            f"wrap it in a module whose forward returns the logits alone."
        )
    if logits.ndim != 2:
        raise ValueError(
            f"Expected a network that returns logits of shape (n, classes), for {tuple(images[:1].shape)} it "
            f"returned {tuple(logits.shape)}."
        )
    if logits.shape[1] < least:
        raise ValueError("Expected a network with an output for each class, it has 1: give two classes 2.")
    # the cross-entropy would fail on the GPU, without a sentence
    low, high, classes = labels.min().item(), labels.max().item(), logits.shape[1]
    if low < 0 or high >= classes:
        raise ValueError(
            f"Expected labels from 0 to {classes - 1}, for the network has {classes} outputs, was given "
            f"labels from {low} to {high}."
        )
