"""From a name, a module or a callable to one elementwise float64 function, or the reason why it is none."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import torch
from jaxtyping import Float
from torch import Tensor, nn


class ActivationError(ValueError):
    """The argument is not one deterministic function, finite on the real line, applied to every entry."""


@dataclass(frozen=True)
class Activation:
    """An elementwise function from float64 to float64, with its name."""

    name: str
    function: Callable[[Tensor], Tensor]

    def __call__(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        with torch.no_grad():
            # a copy, because an activation may work in place
            return self.function(x.detach().to("cpu", torch.float64, copy=True)).to(torch.float64)

    def __str__(self) -> str:
        return self.name


def as_activation(activation: str | Callable[[Tensor], Tensor] | Activation) -> Activation:
    """Check that `activation` is one deterministic, finite, elementwise function, and wrap it.

    Example:
        >>> as_activation("ReLU")(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=torch.float64)
        >>> as_activation(torch.nn.Softmax(dim=-1))
        Traceback (most recent call last):
        intertwine.groups.activations.ActivationError: Softmax(dim=-1) is not elementwise: an entry of its \
output depends on more than the same entry of its input.

    It is decided by calling the function on numbers in [-16, 16): twice, together, alone, and in several
    shapes. An infinite value counts as overflow if finite ones exceed 1e100. A module is copied to float64
    first. It keeps its mode, so that RReLU and Dropout raise in training mode only.

    Args:
        activation: a name from `torch.nn`, `torch.nn.functional`, `torch.special` or the methods of a tensor
            ("GELU", "gelu", "erf", "sin"); a module; or a callable from tensor to tensor that keeps shape
            and dtype (bool and integer outputs are taken as numbers).

    Raises:
        ActivationError: it is not such a function, with the reason.
    """
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, type):
        name = activation.__name__
        raise ActivationError(
            f"Expected a function of tensors, was given {name}, a class that makes a module: write {name}()."
        )
    function = _named(activation) if isinstance(activation, str) else activation
    if isinstance(function, nn.Module):
        name = " ".join(repr(function).split())
        function = copy.deepcopy(function).to("cpu", torch.float64)
    else:
        name = getattr(function, "__name__", repr(function))
    wrapped = Activation(activation if isinstance(activation, str) else name, function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Softmax without dim warns before it is refused
        reason = _objection(wrapped)
    if reason:
        raise ActivationError(f"{wrapped.name} {reason}.")
    return wrapped


def _named(name: str) -> Callable[[Tensor], Tensor]:
    places = nn, nn.functional, torch.special, Tensor
    for place in places:
        found = getattr(place, name, None)
        if isinstance(found, type) and issubclass(found, nn.Module):
            try:
                return found()
            except TypeError as error:
                raise ActivationError(f"torch.nn.{name} needs arguments: give a module ({error}).") from None
        if callable(found) and not isinstance(found, type):
            return found
    names = {n for place in places for n in dir(place)}
    near = get_close_matches(name, sorted(names), n=3)
    raise ActivationError(
        f"No activation is named {name!r}: give a name from torch.nn, torch.nn.functional or torch.special"
        + (f", such as {', '.join(near)}" if near else "")
        + ", a module or a callable."
    )


def _objection(activation: Activation) -> str:
    """Why this is not one elementwise function of a real number; empty if it is."""
    index = torch.arange(1024)
    x = (index * 389 % 1024).double() / 32 - 16  # not in order, which a sort would leave alone
    parts = [index, index, index[700], index.view(2, 4, 8, 16)]
    outputs = []
    for part in parts:
        try:
            y = activation.function(x[part].clone())
        except Exception as error:  # whatever the callable raises is the reason to show
            line = (str(error).splitlines() or [""])[0]
            return f"is not elementwise: on a tensor of shape {tuple(part.shape)} it raises {line!r}" + (
                "; if every channel has a parameter of its own, each has its own function: give one of them"
                if any(p.numel() > 1 for p in getattr(activation.function, "parameters", list)())
                else ""
            )
        if not isinstance(y, Tensor):
            return f"returns {type(y).__name__} in place of a tensor"
        if y.shape != part.shape:
            return f"is not elementwise: it turns shape {tuple(part.shape)} into {tuple(y.shape)}"
        if y.is_complex():
            return "is not real-valued"
        # 0/1 results such as (x > 0).float() are exact in any dtype; curves are not
        if y.is_floating_point() and y.dtype != torch.float64 and len(y.unique()) > 16:
            return f"computes in {y.dtype}; let it keep the dtype of its input, so that float64 can decide"
        outputs.append(y.detach().to(torch.float64))
    y = outputs[0]
    if not torch.equal(y.nan_to_num(), outputs[1].nan_to_num()):
        return "is not deterministic: two calls on the same input differ"
    finite = y.isfinite()
    if not finite.all() and y[finite].abs().max() < 1e100:  # beyond that it overflows
        worst = int((~finite).nonzero()[0])
        return f"is not finite on the real line: at {x[worst].item():g} it is {y[worst].item()}"
    # vectorised and scalar kernels may round differently
    rounding = 1e-12 * y[finite & (x.abs() <= 1)].abs().max().item()
    for part, out in zip(parts, outputs, strict=True):
        if not torch.allclose(out, y[part], rtol=1e-6, atol=rounding, equal_nan=True):
            return (
                "is not elementwise: an entry of its output depends on more than the same entry of its input"
            )
    return ""
