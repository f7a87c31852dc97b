"""Write down every call of a run while it happens."""

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode, resolve_name

from intertwine.weightspace.trace.run import Call, Ref, Run, leaves, replaced

# attributes that do not depend on values, so that they may steer the run; as all that begin with is_
HARMLESS = set(
    """shape size dim ndim numel nelement __len__ stride storage_offset layout dtype itemsize nbytes _is_view
    element_size device get_device requires_grad requires_grad_ grad grad_fn names has_names retains_grad
    __hash__ __repr__ __format__ data_ptr _version""".split()  # noqa: SIM905
)
SIZES = {"shape", "size", "numel", "nelement", "__len__", "unbind"}
# the shape of their results depends on values, as that of an index by a mask
UNEVEN = {"nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "bincount"}
# of these, only the first argument has the shape of the result
FILLS = ("__setitem__", "index_", "scatter", "masked_", "put_")

# multi-head attention whose own calls are seen
OPEN = FunctionType(
    F.multi_head_attention_forward.__code__, vars(F) | {"has_torch_function": lambda _: False}
)
OPEN.__defaults__ = F.multi_head_attention_forward.__defaults__


class Steered(ValueError):
    """A step of the run depends on the values of weights or of real inputs."""


class Nested(ValueError):
    """A step of the run makes or takes a tensor whose rows have lengths of their own."""


class Recorder(TorchFunctionMode):
    def __init__(self, run: Run, *, values: bool, meta: bool = False) -> None:
        super().__init__()
        self.run, self.values, self.meta = run, values, meta
        self.known: dict[int, int] = {}  # id of a tensor → its newest value
        self.keep: list[Tensor] = []  # an id is only taken while its tensor lives
        self.dynamic = run.dynamic
        self.steering: set[int] = set()  # on integer or boolean inputs
        self.uneven: set[int] = set()  # whose shape depends on dynamic values
        self.memory: dict[int, set[int]] = {}  # storage → ids of tensors there
        self.stale: dict[int, set[int]] = {}  # values that other views have changed since → these
        self.paused = 0  # inside how many modules that are written down as one call

    def add(self, tensor: Tensor, *, dynamic: bool, weight: bool = False) -> int:
        if tensor.is_nested:
            raise Nested
        index, x = len(self.run.values), tensor.detach()
        if not weight:  # a later call may work in place, so that values are copies
            x = x.clone() if self.values or not dynamic else torch.empty_like(x, device="meta")
        self.run.values.append(x)
        self.run.shapes.append(tuple(tensor.shape))
        self.known[id(tensor)] = index
        self.keep.append(tensor)
        if tensor.layout == torch.strided:
            self.memory.setdefault(tensor.untyped_storage()._cdata, set()).add(id(tensor))
        if dynamic:
            self.dynamic.add(index)
        return index

    def number(self, x: Any) -> int | None:
        """Of a value that is known."""
        return self.known.get(id(x)) if isinstance(x, Tensor) else None

    def ref(self, tensor: Tensor) -> Ref:
        if id(tensor) not in self.known:
            index = self.add(tensor, dynamic=tensor.requires_grad)
            if tensor.requires_grad:
                self.run.unseen[index] = [self.known[id(x)] for x in _leaves(tensor) if id(x) in self.known]
        index = self.known[id(tensor)]
        if index in self.stale:
            self.run.shared |= {index} | self.stale[index]
        return Ref(index)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        parts = (resolve_name(func) or getattr(func, "__name__", "?")).split(".")
        name = parts[-2] if parts[-1] in ("__get__", "__set__") else parts[-1]
        if func is F.multi_head_attention_forward:  # which is made of calls that have rules
            with self:
                return OPEN(*args, **kwargs)
        if name == "__iter__":
            return iter(self.__torch_function__(Tensor.unbind, types, args))
        if name in SIZES and self.uneven.intersection(self.known.get(id(x), -1) for x in args[:1]):
            raise Steered(name)
        if name in HARMLESS or (name.startswith("is_") and name != "is_nonzero"):
            return func(*args, **kwargs)
        as_refs = replaced((args, kwargs), lambda x: self.ref(x) if isinstance(x, Tensor) else x)
        refs = [x.index for x in leaves(as_refs) if isinstance(x, Ref)]
        dynamic = not self.dynamic.isdisjoint(refs)
        args, kwargs = _on_meta(args, kwargs) if self.meta else (args, kwargs)
        result = func(*args, **kwargs)
        tensors = [x for x in leaves(result) if isinstance(x, Tensor)]
        reads = isinstance(result, bool | int | float) or name in ("tolist", "numpy", "__array__")
        uneven = _uneven(name, args, kwargs)
        if reads and dynamic:
            raise Steered(name)
        steering = not self.steering.isdisjoint(refs)
        self.run.steered |= steering and (reads or uneven)
        changed = args[0] if args and isinstance(args[0], Tensor) and _changes(name, kwargs) else None
        if "dropout" in name and not kwargs.get("training", args[2] if len(args) > 2 else True):
            changed = None
        if changed is None and isinstance(kwargs.get("out"), Tensor):
            changed = kwargs["out"]
        if changed is not None and not any(x is changed for x in tensors):
            tensors.append(changed)
        if not tensors:
            return result
        source = next((a for a in leaves((args, kwargs)) if isinstance(a, Tensor)), None)
        same = source if changed is None else None  # the argument itself, untouched
        results = [Ref(self.known[id(x)] if x is same else self.add(x, dynamic=dynamic)) for x in tensors]
        indices = {each.index for each in results}
        if changed is not None and changed.layout == torch.strided:
            others = self.memory.get(changed.untyped_storage()._cdata, set()) - {id(changed)}
            for k in {self.known[i] for i in others}:
                self.stale.setdefault(k, set()).update(indices)
        shaped = refs[:1] if name.startswith(FILLS) else refs
        masks = refs[1:] if name in ("__getitem__", "masked_select", "repeat_interleave") else refs
        if (uneven and not self.dynamic.isdisjoint(masks)) or not self.uneven.isdisjoint(shaped):
            self.uneven |= {k for k in indices if self.run.shapes[k]}
        if steering:
            self.steering |= indices
        self.run.calls.append(Call(name, func, as_refs[0], as_refs[1], results, changed is not None))
        return result


def _on_meta(args: Any, kwargs: Any) -> Any:
    """The same arguments on the meta device where one of them is there; else on devices that have memory.

    So what depends on no weight, as a mask, keeps its values.
    """
    if any(isinstance(x, Tensor) and x.is_meta for x in leaves((args, kwargs))):
        return replaced((args, kwargs), lambda x: x.to("meta") if isinstance(x, Tensor) else x)
    here = torch.device("cpu")
    return replaced((args, kwargs), lambda x: here if str(x) == "meta" else x)


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


def _uneven(name: str, args: Any, kwargs: Any) -> bool:
    """Whether the shape of the result depends on values."""
    if name == "where":
        return len(args) + len(kwargs) == 1
    if name == "repeat_interleave":
        return isinstance(kwargs.get("repeats", args[-1]), Tensor)
    masks = leaves(args[1]) if name == "__getitem__" else []
    return name in UNEVEN or any(isinstance(x, Tensor) and x.dtype == torch.bool for x in masks)
