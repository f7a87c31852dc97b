"""A GPU that does not exist: `cuda:0`, computed by the CPU and as strict about devices as CUDA.

With this folder on PYTHONPATH every Python that starts has it, and so have the kernels of notebooks.

A kernel in Python under the dispatch key CUDA takes the place of each of torch's. It refuses what CUDA
refuses, calls the CPU's kernel on the same memory, and hands back tensors of the device. All above is torch's
own: autograd, autocast, vmap, fused optimisers. Least squares has the driver for full rank alone, integer
matrices have no product, and convolutions round to TensorFloat-32 while `torch.backends.cudnn.allow_tf32` is
set. Not pretended are speed, limits of memory, races but for one, and a second GPU.
"""

from __future__ import annotations

import ctypes
import re
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
from pretended_graphs import CUDA, recording
from pretended_rules import GPU, HOST, OWN, TORCH, Generator, check, is_gpu, random_of_the_host, running
from torch import Tensor
from torch.utils._pytree import tree_map_only

aten = torch.ops.aten

# --- memory: torch's own DLPack capsule of a tensor owns it; another device is written into its header


class Header(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int32))


header = ctypes.pythonapi.PyCapsule_GetPointer
header.restype, header.argtypes = ctypes.POINTER(Header), [ctypes.py_object, ctypes.c_char_p]


def alias(tensor: Tensor, device_type: int) -> Tensor:
    capsule = torch._C._to_dlpack(tensor)
    header(capsule, b"dltensor").contents.device_type = device_type
    return torch._C._from_dlpack(capsule)


def on_gpu(host: Tensor) -> Tensor:
    return alias(host, 2)


def on_host(tensor: Tensor) -> Tensor:
    if not tensor.numel():  # may be resized, which the memory of a capsule cannot be
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return alias(tensor, 1)


def place(tensor: Tensor) -> tuple:
    """Where its numbers lie; a capsule forgets the strides of dimensions of size 1."""
    strides = [step for n, step in zip(tensor.shape, tensor.stride(), strict=True) if n != 1]
    return tensor.shape, strides, tensor.data_ptr() if tensor.numel() else 0


# --- kernels


def kernel(op: Any) -> Callable:
    compute = INSTEAD.get(op._opname, op)
    draws = any(argument.name == "generator" and argument.kwarg_only for argument in op._schema.arguments)

    def run(*args: Any, **kwargs: Any) -> Any:
        if not recording or running:
            return once(*args, **kwargs)
        made = once(*args, **kwargs)
        recording[-1].add(op, args, kwargs, lambda: once(*args, **kwargs), made)
        return made

    def once(*args: Any, **kwargs: Any) -> Any:
        check(op, args, kwargs)
        leaves = kwargs.get("device") is not None and not is_gpu(kwargs["device"])
        if leaves and kwargs.get("non_blocking"):
            raise RuntimeError("A copy to the CPU that does not wait: its numbers may be read too early.")
        if "device" in kwargs and not leaves:
            kwargs |= {"device": HOST, "pin_memory": False}
        if draws and kwargs.get("generator") is None:
            kwargs["generator"] = OWN
        lent: dict[int, tuple[Tensor, Tensor]] = {}

        def lend(tensor: Tensor) -> Tensor:
            host = on_host(tensor) if tensor.is_cuda else tensor
            if tensor.is_cuda:
                lent[id(host)] = host, tensor
            return host

        args, kwargs = tree_map_only(Tensor, lend, (with_tensors(op, args), kwargs))
        running.append(op)
        try:
            with torch._C._AutoDispatchBelowAutograd(), torch._C._DisableFuncTorch():
                result = compute(*args, **kwargs)
        finally:
            running.pop()
        for host, tensor in lent.values():
            if place(host) != place(tensor):  # resized, or transposed in place
                tensor.data = on_gpu(host)
        if leaves:
            return result
        return tree_map_only(Tensor, lambda x: lent[id(x)][1] if id(x) in lent else on_gpu(x), result)

    return run


def with_tensors(op: Any, args: tuple) -> tuple:
    """Torch makes tensors of numbers, and numbers of these again on the way to Python."""
    if torch._C._should_allow_numbers_as_tensors(op._opname):
        return args
    like = next((x for x in args if isinstance(x, Tensor)), torch.empty(0))
    return tuple(
        torch.tensor(x, dtype=torch.result_type(like, x))
        if isinstance(x, int | float) and str(argument.type) == "Tensor"
        else x
        for x, argument in zip(args, op._schema.arguments, strict=False)
    )


def view(op: Any) -> Callable:
    """The CPU's kernel on the tensor itself: it touches no number, and shares the storage."""
    below = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return lambda *args, **kwargs: op.redispatch(below, *args, **kwargs)


def least_squares(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None, **out: Any) -> Any:
    if driver not in (None, "gels"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels)")
    if (torch.linalg.matrix_rank(A) < min(A.shape[-2:])).any():
        raise RuntimeError("torch.linalg.lstsq: `gels` wants full rank, and makes nonsense of this matrix")
    solve = aten.linalg_lstsq.out if out else aten.linalg_lstsq.default
    return solve(A, B, rcond, driver="gels", **out)


def batch_norm(x: Tensor, *rest: Any) -> tuple:
    return *aten.native_batch_norm(x, *rest), torch.empty(0, dtype=torch.uint8)


def batch_norm_backward(x: Tensor, grad: Tensor, *rest: Any) -> Any:
    *statistics, eps, _ = rest
    return aten.native_batch_norm_backward(grad, x, *statistics, True, eps, [True, True, True])


def ten_bits(x: Tensor) -> Tensor:
    """TensorFloat-32: what it leaves of a float32, rounded to even."""
    if x.dtype != torch.float32 or not torch.backends.cudnn.allow_tf32:
        return x
    bits = x.clone().view(torch.int32)
    return (bits + 0xFFF + ((bits >> 13) & 1)).bitwise_and_(~0x1FFF).view(torch.float32)


def convolution(x: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    return aten.convolution(ten_bits(x), ten_bits(weight), *rest)


def convolution_backward(grad: Tensor, x: Tensor, weight: Tensor, *rest: Any) -> Any:
    return aten.convolution_backward(ten_bits(grad), ten_bits(x), ten_bits(weight), *rest)


INSTEAD: dict[str, Callable] = {
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "cudnn_batch_norm": batch_norm,
    "cudnn_batch_norm_backward": batch_norm_backward,
    "linalg_lstsq": least_squares,
    "_efficientzerotensor": lambda size, **options: torch.zeros(size, **options),  # has no memory to share
    "_fused_sdp_choice": lambda *args, **kwargs: 0,  # attention by its formula
}
ASK_A_DRIVER = ["copy_", "_to_copy", "convolution"]  # though they have one kernel for all devices
TOUCH_NO_NUMBER = {"set_", "is_set_to"}

# --- what asks the driver

ABOUT = types.SimpleNamespace(name="pretended", major=9, minor=0, total_memory=2**36)
DRIVER: dict[str, Callable] = {
    "_lazy_init": lambda: None,
    "_exchange_device": lambda device: 0,
    "_maybe_exchange_device": lambda device: 0,
    "is_available": lambda: True,
    "is_bf16_supported": lambda including_emulation=True: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "synchronize": lambda device=None: None,
    "mem_get_info": lambda device=None: (ABOUT.total_memory, ABOUT.total_memory),
    "get_device_properties": lambda device=None: ABOUT,
    "get_device_name": lambda device=None: ABOUT.name,
    "get_rng_state": lambda device=GPU: OWN.get_state(),
    "set_rng_state": lambda state, device=GPU: OWN.set_state(state),
    "manual_seed": lambda seed: OWN.manual_seed(int(seed)),
    "manual_seed_all": lambda seed: OWN.manual_seed(int(seed)),
}


def without_context() -> None:
    """Autograd asks a table of C++ functions whether the device is in use, which would ask the driver: no."""
    text = (TORCH / "include/ATen/detail/AcceleratorHooksInterface.h").read_text()
    functions = re.findall(r"^  virtual \w+ (\w+)\(", text, re.MULTILINE)
    get = ctypes.CDLL(torch._C.__file__)._ZN2at6detail12getCUDAHooksEv
    get.restype = ctypes.c_void_p
    table, word = ctypes.c_void_p.from_address(get()), ctypes.sizeof(ctypes.c_void_p)
    entries = ctypes.string_at(table.value - 2 * word, 100 * word)  # two of them stand before the table
    copied = (ctypes.c_void_p * 100).from_buffer_copy(entries)
    no = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int8)(lambda hooks, device: False)
    copied[4 + functions.index("hasPrimaryContext")] = ctypes.cast(no, ctypes.c_void_p).value  # 2 destructors
    for each in (copied, no):  # never freed: C++ still calls them when Python has let go of all it had
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
    table.value = ctypes.addressof(copied) + 2 * word


def storage(make: Callable) -> Callable:
    def new(cls: type, *args: Any, device: Any = HOST, **kwargs: Any) -> Any:
        if is_gpu(device):
            return torch.empty(*args, dtype=torch.uint8, device=GPU).untyped_storage()
        return make(cls, *args, device=device, **kwargs)

    return new


def operators(key: str) -> list[Any]:
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    split = [name.removeprefix("aten::").partition(".") for name in names if name.startswith("aten::")]
    return [getattr(getattr(aten, name), overload or "default") for name, _, overload in split]


def install() -> torch.library.Library:
    """Make `cuda` a device of this process, for good; what is returned must live as long."""
    torch._C._ensureCUDADeviceGuardSet()
    without_context()
    torch.Generator = Generator
    torch.cuda.default_generators = (OWN,)
    for name, function in (DRIVER | CUDA).items():
        setattr(torch.cuda, name, function)
    torch.UntypedStorage.__new__ = storage(torch.UntypedStorage.__new__)
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kernels that are overridden, as they are meant to be
        for op in operators("CPU"):
            if any(argument.name == "generator" for argument in op._schema.arguments):
                library.impl(op, random_of_the_host(op), "CPU", with_keyset=True)
        for op in operators("CUDA") + [getattr(aten, name).default for name in ASK_A_DRIVER]:
            if op._opname not in TOUCH_NO_NUMBER:
                library.impl(op, (view if op.is_view else kernel)(op), "CUDA")
    return library
