"""In which precision a network trains: the one place where that is decided."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn


def arithmetic(network: nn.Module, device: torch.device, dtype: str = "auto") -> torch.dtype:
    """The type that autocast shall use; float32 is none.

    Example:
        >>> arithmetic(nn.Linear(2, 2), torch.device("cpu"))
        torch.float32

    The rule: bfloat16 where the processor has instructions for it (a GPU since Ampere, a CPU with AMX or
    AVX512-BF16) and the network has convolutions and float32 weights alone, which stay float32. There it is
    two to three times faster. A small network of linear layers alone is slower with it.

    Args:
        dtype: "float32" or "bfloat16" overrule the rule, "auto" does not.
    """
    if dtype != "auto":
        return getattr(torch, dtype)
    convolutional = any(isinstance(layer, nn.Conv2d) for layer in network.modules())
    usual = all(p.dtype == torch.float32 for p in network.parameters() if p.is_floating_point())
    return torch.bfloat16 if convolutional and usual and _has_bfloat16(device) else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager:
    """Compute in `dtype` what may be; float32 is what networks do by themselves."""
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype)


def input_dtype(network: nn.Module, dtype: torch.dtype) -> torch.dtype:
    """What images shall be made of for `network` under autocast to `dtype`."""
    own = next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.float32)
    return own if dtype == torch.float32 else dtype


def _has_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    able: dict = getattr(torch.cpu, "get_capabilities", dict)()  # older versions of torch do not say
    return device.type == "cpu" and bool(able.get("amx_bf16") or able.get("avx512_bf16"))
