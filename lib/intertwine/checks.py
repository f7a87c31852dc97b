"""What several packages ask of their inputs. Each error is one sentence: expected, given, what to do."""

from __future__ import annotations

import math
import operator
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader


def check_finite(weights: nn.Module | Iterable[tuple[str, Tensor]], which: str = "model") -> None:
    """Raise ValueError where a parameter, or a running mean or variance, is NaN or infinite.

    Example:
        >>> check_finite(nn.Linear(2, 3))

    Args:
        weights: a model, or names and tensors. Other buffers of a model may be infinite, as masks are.
        which: how the sentence calls the model.
    """
    if isinstance(weights, nn.Module):
        statistics = ((k, x) for k, x in weights.named_buffers() if "running_" in k)
        weights = [*weights.named_parameters(), *statistics]
    for name, x in weights:
        check_memory(name, x, which)
        # the sum is one fast pass, but finite numbers, too, may add up to infinity
        if not math.isfinite(abs(x.sum().item())) and not x.isfinite().all():
            raise ValueError(
                f"Expected models with finite weights, was given NaN or infinity in {name} of the {which}: "
                f"train it with a smaller lr, or load it anew."
            )


def check_memory(name: str, x: Tensor, which: str = "model") -> None:
    """Raise ValueError, in one sentence, where a weight is on the meta device, and so has no entries.

    Example:
        >>> check_memory("weight", torch.ones(2))
    """
    if x.is_meta:
        raise ValueError(
            f"Expected weights that have entries, was given {name} of the {which} on the meta device: "
            f"load the weights first, or let the space act on a state dict of them."
        )


def check_images(images: Tensor, labels: Tensor) -> None:
    """Raise, in one sentence, unless these are finite images with a label for each.

    Example:
        >>> check_images(torch.randn(2, 3, 8, 8), torch.tensor([1, 0]))
    """
    check_tensor(images, "images")
    check_tensor(labels, "labels")
    if not 0 < len(images) == len(labels):
        raise ValueError(
            f"Expected as many labels as images, and at least one, was given {len(images)} images and "
            f"{len(labels)} labels."
        )
    if not images.is_floating_point():
        raise ValueError(
            f"Expected images of floating-point numbers, was given {images.dtype}: for bytes, use "
            f"images.float() / 255, then subtract the mean and divide by the deviation of every channel."
        )
    if labels.dtype != torch.int64 or labels.ndim != 1:
        raise ValueError(
            f"Expected labels of type torch.int64 and shape (n,), was given {labels.dtype} and "
            f"{tuple(labels.shape)}: if they number the classes, use labels.long().flatten(), and if they "
            f"are one-hot, labels.argmax(1)."
        )
    # first the sum, as in `check_finite`
    if not torch.isfinite(images.sum()) and (bad := (~torch.isfinite(images)).flatten(1).any(1).sum().item()):
        raise ValueError(
            f"Expected images of finite numbers, was given NaN or infinity in {bad} of {len(images)}: leave "
            f"these images out."
        )


def check_tensor(given: object, name: str = "", *, meta: bool = False) -> None:
    """Raise, in one sentence with the argument's name, unless this is a dense tensor of numbers.

    Example:
        >>> check_tensor(torch.ones(2))

    Args:
        given: anything.
        name: of the argument.
        meta: whether a tensor on the meta device, which holds no numbers, is allowed.

    Raises:
        TypeError: no tensor.
        ValueError: a sparse, nested, quantised or float8 tensor.
    """
    if isinstance(given, Tensor):
        if (form := _other_form(given)) and not (meta and given.is_meta):
            what, instead = form
            raise ValueError(
                f"Expected a dense tensor of numbers{name and f' as {name}'}, was given {what}: {instead}."
            )
        return
    hint = "use torch.as_tensor"
    # what a tokenizer, a data set and a loader return have tensors inside
    if isinstance(given, Mapping):
        key = next(iter(given), "input_ids")  # any of them, to show how it is written
        hint = f"use one of its tensors, such as [{key!r}], and wrap a model that takes several"
    elif hasattr(given, "images"):
        hint = "use its .images or .labels"
    elif isinstance(given, Iterator | DataLoader):
        hint = "use torch.cat to join its batches"
    raise TypeError(f"Expected a tensor{name and f' as {name}'}, was given {type(given).__name__}: {hint}.")


def _other_form(given: Tensor) -> tuple[str, str] | None:
    """What a tensor is that holds no dense numbers, and what to do with it."""
    if given.is_nested:
        return "a nested one", "give rows of one length, as torch.nested.to_padded_tensor makes them"
    if given.layout != torch.strided:
        return f"one of layout {given.layout}", "use .to_dense()"
    if given.is_meta:
        return "one on the meta device, which holds none", "compute it on another device"
    if given.is_quantized:
        return f"a quantised one of {given.dtype}", "use .dequantize()"
    if given.is_floating_point() and given.itemsize == 1:
        return f"one of {given.dtype}, which has no arithmetic", "use .float()"
    return None


def check_model(given: object) -> None:
    """Raise ValueError, in one sentence, unless this is a model.

    Example:
        >>> check_model(nn.Linear(2, 3))
    """
    if isinstance(given, nn.Module):
        # lazy weights have no shape until the model has run
        if any(nn.parameter.is_lazy(parameter) for parameter in given.parameters()):
            raise ValueError("Expected a model whose weights have shapes, was given lazy ones: run it once.")
        return
    instead = "wrap a function of tensors in one"
    if isinstance(given, Mapping):
        instead = "weights do not say how they are used, so take the model"
    elif isinstance(given, torch.export.ExportedProgram):
        instead = "give the model that was exported"
    elif isinstance(given, type):
        instead = f"make one, such as {given.__name__}()"
    raise ValueError(f"Expected a model, an nn.Module, was given {kind(given)}: {instead}.")


def check_evaluation_mode(model: nn.Module) -> None:
    """Raise ValueError, in one sentence, where a module is in training mode, in which it may be random.

    Example:
        >>> check_evaluation_mode(nn.Linear(2, 3).eval())

    Whether a module of a user's depends on its mode cannot be seen, so that every module counts.
    """
    for name, module in model.named_modules():
        if module.training:
            raise ValueError(
                f"Expected a model in evaluation mode, but {name or 'it'} is training: call model.eval() "
                f"first."
            )


def kind(x: object) -> str:
    """What an object is, in words.

    Example:
        >>> kind(nn.Linear(2, 3)), kind(3)
        ('a torch.nn.modules.linear.Linear', 'a int')
    """
    return f"a {type(x).__module__}.{type(x).__name__}".replace("a builtins.", "a ")


def check_generator(given: object) -> None:
    """Raise TypeError, in one sentence, unless this is a generator of random numbers, and no seed.

    Example:
        >>> check_generator(torch.Generator().manual_seed(0))
    """
    if not isinstance(given, torch.Generator):
        hint = f"torch.Generator().manual_seed({given})" if isinstance(given, int) else "torch.Generator()"
        raise TypeError(f"Expected a torch.Generator, was given {given!r}: make one with {hint}.")


def whole(name: str, given: Any, least: int | None = None) -> int:
    """The argument as an int; ValueError, in one sentence, unless it is a whole number of at least that.

    Example:
        >>> whole("seed", torch.tensor(3)), whole("batch_size", 64, 1)
        (3, 64)
    """
    try:
        number: int | None = operator.index(given)  # numpy and torch have whole numbers, too
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        known = "" if least is None else f" of at least {least}"
        raise ValueError(f"Expected {name} to be a whole number{known}, was given {given!r}.")
    return number


def not_taken(images: Tensor, error: Exception) -> ValueError:
    """The sentence for images on which a model's forward raised an error.

    Example:
        >>> print(not_taken(torch.ones(2, 8, 8, 3), RuntimeError("wrong channels")))
        Expected images that the network takes, was given shape (2, 8, 8, 3): wrong channels; use \
images.permute(0, 3, 1, 2) if channels are last.
    """
    # few numbers in the last axis, and not few in the second: channels are probably last
    last = images.ndim == 4 and images.shape[3] in (1, 3, 4) and images.shape[1] not in (1, 3, 4)
    hint = "; use images.permute(0, 3, 1, 2) if channels are last" if last else ""
    if not images.is_floating_point():
        hint += "; use images.float() if it takes no whole numbers"
    return ValueError(
        f"Expected images that the network takes, was given shape {tuple(images.shape)}: "
        f"{str(error).splitlines()[0].rstrip('.')}{hint}."
    )


def warn(sentence: str) -> None:
    """A UserWarning at the line outside of this package that led here, however many calls lie between."""
    # Python shows a warning once for each line: at one of ours, a user's second call would say nothing
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "intertwine":
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, stacklevel=level)


def check_choice(name: str, given: object, allowed: tuple[object, ...]) -> None:
    """Raise ValueError unless the argument is one of those allowed."""
    if given not in allowed:
        raise ValueError(
            f"Expected {name} to be one of {', '.join(map(repr, allowed))}, was given {given!r}."
        )
