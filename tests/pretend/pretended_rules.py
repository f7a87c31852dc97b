"""What a GPU refuses: operands of two devices, generators of the CPU, products of integer matrices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

HOST, GPU = torch.device("cpu"), torch.device("cuda", 0)
TORCH = Path(torch.__file__).parent
LIST = (TORCH.parent / "torchgen/packaged/ATen/native/native_functions.yaml").read_text()
# whose operands are compared only in the loop over elements, where one number of the CPU is welcome
ELEMENTWISE = {entry.split("(")[0] for entry in LIST.split("\n- func: ") if "device_check: NoCheck" in entry}
ANY_NUMBERS = {"where", "fill", "masked_fill"}
COPIES = {"copy", "_to_copy", "_copy_from", "_copy_from_and_resize", "resize_as"}
INDEXING = {"index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put"}
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "vdot", "addbmm", "convolution"}


def is_gpu(device: Any) -> bool:
    device = torch.device(device)
    if device.type == "cuda" and device.index:
        raise RuntimeError("CUDA error: invalid device ordinal")
    return device.type == "cuda"


def check(op: Any, args: tuple, kwargs: dict) -> None:
    """Raise what CUDA raises for these arguments."""
    name, numbers = op._opname.removesuffix("_"), 0
    for k, argument in enumerate(op._schema.arguments):
        value = args[k] if k < len(args) else kwargs.get(argument.name)
        if argument.name == "generator" and value is not None and value._cdata not in GENERATORS:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        for x in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(x, Tensor) or name in COPIES:
                continue
            if name in PRODUCTS and not (x.is_floating_point() or x.is_complex()):
                raise NotImplementedError(f'"{name}_cuda" not implemented for {x.dtype}')
            if x.is_cuda or (name in INDEXING and argument.name == "indices"):
                continue
            if name in INDEXING and argument.name == "self":
                raise RuntimeError(
                    "indices should be either on cpu or on the same device as the indexed (cpu)"
                )
            numbers += name not in ANY_NUMBERS and not name.startswith("_foreach")
            elementwise = op._name.removeprefix("aten::") in ELEMENTWISE
            if not elementwise or x.ndim or numbers > 1 or argument.is_write:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, found {argument.name} on {x.device}, "
                    f"other tensors on {GPU} (in {op})"
                )


# --- random numbers come from generators of the same device

GENERATORS: dict[int, torch._C.Generator] = {}  # of the device, by their address, which dispatch hands on
running: list[Any] = []  # operators of the device at work


class OneType(type(torch._C.Generator)):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch._C.Generator)


class Generator(torch._C.Generator, metaclass=OneType):
    """Draws as the CPU's, and says that it is the device's."""

    def __new__(cls, device: Any = HOST) -> Any:
        made = super().__new__(cls, device=HOST if is_gpu(device) else device)
        if is_gpu(device):
            GENERATORS[made._cdata] = made
        return made

    @property
    def device(self) -> torch.device:
        return GPU if self._cdata in GENERATORS else HOST


OWN = Generator(GPU)


def random_of_the_host(op: Any) -> Callable:
    """It refuses generators of the device, unless the device itself calls."""
    original = torch.library.get_kernel(op, "CPU")

    def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
        given = [x._cdata for x in (*args, *kwargs.values()) if isinstance(x, torch._C.Generator)]
        if not running and not GENERATORS.keys().isdisjoint(given):
            raise RuntimeError("Expected a 'cpu' device type for generator but found 'cuda'")
        return original.call_boxed(keys, *args, **kwargs)

    return run
