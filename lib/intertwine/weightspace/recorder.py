"""Write down every call of a run while it happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves, tree_map

from intertwine.weightspace.run import Call, Ref, Run

# attributes that do not depend on values, so that they may steer the run
HARMLESS = set(
    """shape size dim ndim numel nelement __len__ stride storage_offset is_contiguous layout dtype itemsize
    element_size device get_device is_cuda is_cpu is_mps is_meta is_sparse is_quantized is_nested is_complex
    is_floating_point is_signed is_leaf is_inference requires_grad requires_grad_ grad grad_fn names has_names
    __hash__ __repr__ data_ptr _version""".split()  # noqa: SIM905
)
# methods that pass a value to Python
READS = {
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "__array__",
    "__contains__",
    "item",
    "tolist",
    "numpy",
}


class Recorder(TorchFunctionMode):
    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run
        self.known: dict[int, int] = {}  # id of a tensor → its newest value
        self.keep: list[Tensor] = []  # an id is only taken while its tensor lives
        self.dynamic: set[int] = set()
        self.memory: dict[int, set[int]] = {}  # address → ids of tensors there
        self.paused = 0  # inside how many modules that are written down as one call

    def add(self, tensor: Tensor, *, dynamic: bool, keep: bool = False) -> int:
        index = len(self.run.values)
        # a later call may work in place, so that values are copies
        self.run.values.append(tensor.detach() if keep else tensor.detach().clone())
        self.run.shapes.append(tuple(tensor.shape))
        self.known[id(tensor)] = index
        self.keep.append(tensor)
        if tensor.layout == torch.strided:
            self.memory.setdefault(tensor.untyped_storage().data_ptr(), set()).add(id(tensor))
        if dynamic:
            self.dynamic.add(index)
        return index

    def ref(self, tensor: Tensor) -> Ref:
        if id(tensor) not in self.known:
            index = self.add(tensor, dynamic=tensor.requires_grad)
            if tensor.requires_grad:
                self.run.unseen[index] = [self.known[id(x)] for x in _leaves(tensor) if id(x) in self.known]
        return Ref(self.known[id(tensor)])

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        parts = (resolve_name(func) or getattr(func, "__name__", "?")).split(".")
        name = parts[-2] if parts[-1] in ("__get__", "__set__") else parts[-1]
        if name in HARMLESS:
            return func(*args, **kwargs)
        before = tree_map(lambda x: self.ref(x) if isinstance(x, Tensor) else x, (args, kwargs))
        refs = [x.index for x in tree_leaves(before) if isinstance(x, Ref)]
        dynamic = any(index in self.dynamic for index in refs)
        if name in READS and dynamic:
            raise ValueError(
                f"Expected a model whose steps do not depend on the values of its input or weights, but its "
                f"forward reads a tensor with {name}: replace that branch by tensor operations."
            )
        result = func(*args, **kwargs)
        tensors = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
        changed = args[0] if args and isinstance(args[0], Tensor) and _changes(name, kwargs) else None
        if "dropout" in name and not kwargs.get("training", args[2] if len(args) > 2 else True):
            changed = None
        if changed is None and isinstance(kwargs.get("out"), Tensor):
            changed = kwargs["out"]
        if changed is not None and not any(x is changed for x in tensors):
            tensors.append(changed)
        if changed is not None and changed.layout == torch.strided:
            others = self.memory.get(changed.untyped_storage().data_ptr(), set()) - {id(changed)}
            self.run.shared |= {self.known[i] for i in others}
        if not tensors:
            return result
        source = next((a for a in tree_leaves((args, kwargs)) if isinstance(a, Tensor)), None)
        same = source if changed is None else None  # the argument itself, untouched
        results = [Ref(self.known[id(x)] if x is same else self.add(x, dynamic=dynamic)) for x in tensors]
        self.run.calls.append(Call(name, func, before[0], before[1], results))
        return result


def _leaves(tensor: Tensor) -> Iterator[Tensor]:
    """The weights that a tensor was made of."""
    waiting, done = [tensor.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in done:
            continue
        done.add(node)
        waiting += [before for before, _ in node.next_functions]
        if hasattr(node, "variable"):
            yield node.variable


def _changes(name: str, kwargs: Mapping[str, Any]) -> bool:
    in_place = name.endswith("_") and not name.endswith("__")
    arithmetic = name.startswith("__i") and name not in ("__index__", "__invert__", "__int__")
    return in_place or arithmetic or name == "__setitem__" or bool(kwargs.get("inplace"))
