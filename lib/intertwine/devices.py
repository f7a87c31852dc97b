"""Which device a computation runs on, and in which precision: chosen once, by the caller.

For all of the library: float32 has its 23 bits on every device, since exact laws are checked in it, so a GPU
does without TensorFloat-32. Networks with convolutions train in bfloat16 where that is faster, and are judged
in their own type. Training takes deterministic kernels of cuDNN; to the last bit only a CPU repeats itself.
"""

from __future__ import annotations

import copy
import os
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import chain
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def pick(device: str | torch.device = "auto") -> torch.device:
    """The device of that name; `"auto"` is the first GPU where there is one, the CPU otherwise.

    Example:
        >>> pick("cpu")
        device(type='cpu')

    The first call for a GPU turns TensorFloat-32 off in convolutions, which would keep 10 of 23 bits. Set
    `torch.backends.cudnn.allow_tf32` after it to have them in spite of that.

    Args:
        device: `"auto"`, or anything that `torch.device` takes.

    Raises:
        ValueError: when the device does not exist on this machine.
    """
    if str(device) == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.empty(0, device=device).device  # with its number, as tensors name it
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"Expected a device that this machine has, was given '{device}': use 'cpu', 'cuda' on a "
            f"machine with a GPU, or 'auto' for a GPU where there is one."
        ) from error
    if chosen.type == "cuda":
        _full_float32()
    return chosen


@cache
def _full_float32() -> None:
    torch.backends.cudnn.allow_tf32 = False


def like(model: nn.Module, other: Tensor | None = None) -> Tensor:
    """A tensor whose device and dtype the model's inputs share: its first parameter or buffer.

    Example:
        >>> like(nn.Linear(3, 4).double()).dtype, like(nn.ReLU(), torch.ones(2)).dtype
        (torch.float64, torch.float32)

    Args:
        model: any module.
        other: returned where the model has neither; an empty tensor of torch's defaults when not given.
    """
    return next(chain(model.parameters(), model.buffers(), [torch.empty(0) if other is None else other]))


def precision(network: nn.Module, device: torch.device, dtype: str = "auto") -> torch.dtype:
    """The type in which a network trains: float32 (its own type), or bfloat16 by `autocast`.

    Example:
        >>> precision(nn.Linear(2, 2), torch.device("cpu"))
        torch.float32

    "auto" is bfloat16 where the device multiplies matrices of it (a GPU since Ampere, a CPU with AMX or
    AVX512-BF16), the network has convolutions, and all its weights are float32, which they stay. There
    bfloat16 is about twice as fast, and slower for a small network of linear layers alone. The environment
    variable INTERTWINE_DTYPE takes the place of the rule: measure where in doubt.

    Args:
        dtype: "auto", or "float32" or "bfloat16" whatever the rule says.

    Raises:
        ValueError: another type.
    """
    dtype = os.environ.get("INTERTWINE_DTYPE", dtype) if dtype == "auto" else dtype
    if dtype not in ("auto", "float32", "bfloat16"):
        raise ValueError(f"Expected float32 or bfloat16 of INTERTWINE_DTYPE or `dtype`, was given {dtype!r}.")
    if dtype != "auto":
        return getattr(torch, dtype)
    convolutional = any(isinstance(layer, nn.Conv2d) for layer in network.modules())
    usual = all(p.dtype == torch.float32 for p in network.parameters() if p.is_floating_point())
    return torch.bfloat16 if convolutional and usual and _multiplies_bfloat16(device) else torch.float32


def channels_last(network: AnyModule) -> AnyModule:
    """The network with its weights in the order that convolutions of images are fastest in, changed in place.

    Networks with convolutions of volumes, which this order does not fit, stay as they are.
    """
    if any(parameter.ndim > 4 for parameter in network.parameters()):
        return network
    return network.to(memory_format=torch.channels_last)


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager:
    """Compute in `dtype` where torch's autocast allows it; float32 leaves networks as they are."""
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype)


def deterministic_kernels() -> AbstractContextManager:
    """Those of cuDNN, inside the `with`; whether it may use TensorFloat-32 remains as it is set."""
    return torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=None, fp32_precision=None)


def input_dtype(
    network: nn.Module, dtype: torch.dtype, default: torch.dtype | None = torch.float32
) -> torch.dtype | None:
    """The type of inputs of `network` under autocast to `dtype`; `default` is for one without parameters."""
    own = next((p.dtype for p in network.parameters() if p.is_floating_point()), default)
    return own if dtype == torch.float32 else dtype


def convolution_error(
    conv: nn.Conv2d, images: Float[Tensor, "n c h w"], dtype: torch.dtype = torch.bfloat16
) -> float:
    """How far a convolution under autocast is from float64, forward and backward.

    Example:
        >>> images = torch.randn(
        ...     2, 3, 8, 8, generator=torch.Generator().manual_seed(0)
        ... )
        >>> error = convolution_error(nn.Conv2d(3, 4, 3), images)
        >>> error <= torch.finfo(torch.bfloat16).eps
        True

    It is the largest error of the outputs and of the gradients of |outputs|²/2 for images and weights, each
    divided by the largest entry of its tensor. Float64 is given operands that are rounded to `dtype`, too. So
    a right kernel rounds once, by at most eps / 2 where eps = 2⁻⁷ for the 8 bits of bfloat16, and stays below
    eps if it rounds a partial sum as well; one that leaves out a term is wrong by a multiple of eps.
    """
    images = images.detach().requires_grad_()
    with autocast(images.device, dtype):
        outputs = conv(images)
    direction = outputs.detach()
    ours = (outputs, *torch.autograd.grad(outputs, (images, *conv.parameters()), direction))
    conv = copy.deepcopy(conv).to(dtype).double()
    images = images.detach().to(dtype).double().requires_grad_()
    outputs = conv(images)
    exact = (outputs, *torch.autograd.grad(outputs, (images, *conv.parameters()), direction.double()))
    errors = [(a - b).abs().max() / b.abs().max() for a, b in zip(ours, exact, strict=True)]
    return torch.stack(errors).max().item()


# layers of a network for images of 3 channels: inputs, outputs, kernel, stride
_TYPICAL = ((3, 16, 3, 1), (16, 32, 3, 1), (16, 32, 3, 2), (16, 32, 1, 2))


def bfloat16_fault() -> str:
    """One sentence about what is wrong with this CPU's convolutions in bfloat16; empty if nothing is.

    Some versions of torch compute them wrongly on some CPUs, or by reference kernels that take a hundred
    times as long. Four small layers are compared with float64 and timed beside float32; that takes less than
    two seconds. On a CPU that trains in float32 (`precision`) there is nothing to find.
    """
    if precision(nn.Conv2d(1, 1, 1, device="meta"), torch.device("cpu")) != torch.bfloat16:
        return ""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads wait for each other where other processes run
    try:
        fault = next(filter(None, (_fault(*layer) for layer in _TYPICAL)), "")
    finally:
        torch.set_num_threads(threads)
    return fault and (
        f"{fault} with torch {torch.__version__} on this CPU: set INTERTWINE_DTYPE=float32 before you train."
    )


def _fault(inputs: int, outputs: int, kernel: int, stride: int) -> str:
    generator = torch.Generator().manual_seed(0)
    shapes = (outputs, inputs, kernel, kernel), (8, inputs, 16, 16)
    weight, images = (
        torch.randn(shape, generator=generator).to(memory_format=torch.channels_last) for shape in shapes
    )
    conv = nn.utils.skip_init(nn.Conv2d, inputs, outputs, kernel, stride, kernel // 2, bias=False)
    conv.weight.data = weight
    error = convolution_error(conv, images)
    if not error <= torch.finfo(torch.bfloat16).eps:  # nan is a fault, too
        return f"A convolution in bfloat16 is off by {error:.1%}, where rounding explains 0.8%,"
    slower = _slowdown(conv, images)
    return f"A convolution in bfloat16 takes {slower:.0f} times as long as in float32" * (slower > 3)


def _slowdown(conv: nn.Conv2d, images: Tensor) -> float:
    """By bfloat16, from float32: the best of ten each, in turn, as other processes only slow them down."""
    rounds: list[list[float]] = []
    start = time.perf_counter()
    while not rounds or (len(rounds) < 10 and time.perf_counter() - start < 0.5):  # one of a reference kernel
        rounds.append([_seconds(conv, images, dtype) for dtype in (torch.float32, torch.bfloat16)])
    full, half = map(min, zip(*rounds, strict=True))
    return half / full


def _seconds(conv: nn.Conv2d, images: Tensor, dtype: torch.dtype) -> float:
    """Of one pass forward and backward."""
    images = images.detach().requires_grad_()
    start = time.perf_counter()
    with autocast(images.device, dtype):
        outputs = conv(images)
    torch.autograd.grad(outputs.sum(), (images, conv.weight))
    return time.perf_counter() - start


def _multiplies_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    able: dict = getattr(torch.cpu, "get_capabilities", dict)()  # older versions of torch do not tell
    return device.type == "cpu" and bool(able.get("amx_bf16") or able.get("avx512_bf16"))
