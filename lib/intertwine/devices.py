"""Which device a computation runs on, and in which precision: chosen once, by the caller.

Exact laws are checked in float32, so it has its 23 bits on every device: a GPU does without TensorFloat-32.
Networks with convolutions train in bfloat16 where that is faster, and are judged in their own type. Training
takes deterministic kernels of cuDNN, but only a CPU repeats itself to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor, nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def pick(device: str | torch.device = "auto") -> torch.device:
    """The device of that name; `"auto"` is the first GPU where there is one, the CPU otherwise.

    Example:
        >>> pick("cpu")
        device(type='cpu')

    The first call for a GPU turns TensorFloat-32, which keeps 10 of 23 bits, off in convolutions. To have it
    all the same, set `torch.backends.cudnn.allow_tf32` after that call.

    Args:
        device: `"auto"`, or anything that `torch.device` takes.

    Raises:
        ValueError: when the device does not exist on this machine.
    """
    if str(device) == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.empty(0, device=device).device  # with its number, as tensors name it
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"Expected a device that this machine has, was given '{device}': use 'cpu', 'cuda' on a "
            f"machine with a GPU, or 'auto' for a GPU where there is one."
        ) from error
    if chosen.type == "cuda":
        _full_float32()  # in matrix products torch has it off by default
    return chosen


@cache  # once, so that a user's own choice stands
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

    "auto" is bfloat16 if the device multiplies matrices of it (a GPU since Ampere, a CPU with AMX or
    AVX512-BF16), the network has convolutions, and all its weights are float32, which they stay. Then
    bfloat16 is about twice as fast. For a small network of linear layers alone it would be slower.

    Args:
        network: its layers and the type of its weights decide.
        device: on which it trains, as `pick` returns it.
        dtype: "float32", "bfloat16", or "auto" for the rule. The environment variable INTERTWINE_DTYPE takes
            the place of the rule: measure where in doubt.

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
    """Take cuDNN and its deterministic kernels inside the `with`; TensorFloat-32 remains as it is set.

    The benchmark is off, which would choose among these kernels by the time that they take.
    """
    return torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=None, fp32_precision=None)


def safe_kernels(model: object) -> AbstractContextManager:
    """Do without oneDNN inside the `with` where it would write past its memory, and crash or harm in silence.

    The gradient of a strided 1×1 convolution of fewer than 8 channels, channels last, does so on a CPU with
    AVX2 (its issue 6035). Shortcuts of narrow residual networks are such convolutions.
    """
    modules = model.modules() if isinstance(model, nn.Module) else ()
    layers = (layer for layer in modules if isinstance(layer, nn.Conv2d))
    harmful = (x.in_channels < 8 and x.kernel_size == (1, 1) and max(x.stride) > 1 for x in layers)
    if not any(harmful):
        return nullcontext()
    others = {"deterministic": None, "allow_tf32": None, "fp32_precision": None}  # remain
    return torch.backends.mkldnn.flags(enabled=False, **others)


def input_dtype(
    network: nn.Module, dtype: torch.dtype, default: torch.dtype | None = torch.float32
) -> torch.dtype | None:
    """The type of inputs of `network` under autocast to `dtype`; `default` is for one without parameters."""
    # autocast would turn float32 inputs into `dtype` in every layer that reads them
    own = next((p.dtype for p in network.parameters() if p.is_floating_point()), default)
    return own if dtype == torch.float32 else dtype


def keep_freed_memory(device: torch.device) -> None:
    """Let a CPU's allocator keep memory that is freed, which makes training a fifth faster."""
    if device.type == "cpu":
        # once a block of nearly 32 MiB was freed, glibc no longer returns smaller ones to the system, which
        # would have to clear them again at every step
        torch.empty(31 << 20, dtype=torch.uint8)


def rounding_unit(tensors: Iterable[Tensor]) -> float:
    """The largest rounding unit ε of these tensors' dtypes; 0 where all numbers are integers.

    Example:
        >>> rounding_unit([torch.ones(2), torch.ones(2, dtype=torch.float64)]) == 2**-23
        True
    """
    return max((torch.finfo(x.dtype).eps for x in tensors if x.is_floating_point()), default=0.0)


def precise(x: Tensor) -> Tensor:
    """The same numbers in float64, complex ones in complex128.

    Example:
        >>> precise(torch.ones(2)).dtype, precise(torch.ones(2, dtype=torch.complex64)).dtype
        (torch.float64, torch.complex128)
    """
    return x.to(torch.promote_types(x.dtype, torch.float64))


def tolerated(*models: nn.Module) -> float:
    """The relative error below which outputs of these models count as equal: 1e-4, or ε^(2/3) in 16 bits.

    Example:
        >>> tolerated(nn.Linear(2, 3)), round(tolerated(nn.Linear(2, 3).bfloat16()), 3)
        (0.0001, 0.039)
    """
    return max(1e-4, rounding_unit(x for model in models for x in model.parameters()) ** (2 / 3))


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Whether there are instructions for it; emulated, bfloat16 is slower than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    able: dict = getattr(torch.cpu, "get_capabilities", dict)()  # older versions of torch have none
    return device.type == "cpu" and bool(able.get("amx_bf16") or able.get("avx512_bf16"))
