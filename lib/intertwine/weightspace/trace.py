"""One run of a model on example inputs, written down call by call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves, tree_map

from intertwine.groups import ActivationError, as_activation

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
    "item",
    "tolist",
    "numpy",
    "__array__",
    "__contains__",
}


@dataclass(frozen=True, eq=False)
class Ref:
    """The k-th value of a run."""

    index: int


@dataclass(eq=False)
class Call:
    """One call: the name of the function, its arguments with `Ref` for tensors, and its results."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[Ref]
    tuple_result: bool
    in_place: Ref | None = None


@dataclass(eq=False)
class Run:
    """All values of a run, in the order of their first use, and the calls between them."""

    values: list[Tensor] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    """of the values that are parameters or buffers."""
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    unseen: dict[int, list[int]] = field(default_factory=dict)
    """values that depend on weights through unrecorded calls, with these weights, found by autograd."""
    shared: set[int] = field(default_factory=set)
    """values changed in place through another view of the same memory."""
    modules: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """the first input and the output of every call of a module, by its name."""


class _Recorder(TorchFunctionMode):
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
        results = []
        for tensor in tensors:
            if tensor is source and changed is None:  # the argument itself, untouched
                results.append(Ref(self.known[id(tensor)]))
            else:
                results.append(Ref(self.add(tensor, dynamic=dynamic)))
        several = isinstance(result, tuple | list)
        where = before[0][0] if changed is not None and before[0] else None
        self.run.calls.append(Call(name, func, before[0], before[1], results, several, where))
        return result


@contextmanager
def _watched(model: nn.Module, recorder: _Recorder) -> Iterator[None]:
    """Write down which value enters and which leaves every module, and an activation's module as one call."""
    names = {id(module): name for name, module in model.named_modules() if name}
    activations = {id(module) for module in model.modules() if module is not model and _activation(module)}
    entered: dict[int, int | None] = {}

    def number(x: Any) -> int | None:
        return recorder.known.get(id(x)) if isinstance(x, Tensor) else None

    def before(module: nn.Module, args: Any) -> None:
        if id(module) in names:
            entered[id(module)] = number(args[0]) if args else None
            recorder.paused += id(module) in activations

    def after(module: nn.Module, args: Any, output: Any) -> None:
        if id(module) not in names:
            return
        start = entered[id(module)]
        if id(module) in activations:
            if recorder.paused == 1:
                ref = recorder.ref(args[0])
                result = Ref(recorder.add(output, dynamic=ref.index in recorder.dynamic))
                call = Call(type(module).__name__, module, (ref,), {}, [result], False)
                recorder.run.calls.append(call)
            recorder.paused -= 1
        end = number(output)
        if start is not None and end is not None:
            recorder.run.modules.setdefault(names[id(module)], []).append((start, end))

    with ExitStack() as stack:
        stack.callback(register_module_forward_pre_hook(before).remove)
        stack.callback(register_module_forward_hook(after).remove)
        yield


def _activation(module: nn.Module) -> bool:
    """Whether this is a user's elementwise function without weights that does not change its input."""
    if type(module).__module__.startswith("torch.") or any(True for _ in _named_tensors(module)):
        return False
    x = torch.zeros(1, dtype=torch.float64)
    try:
        as_activation(module)
        return module(x) is not x and x._version == 0
    except ActivationError:
        return False


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


def trace(model: nn.Module, example_inputs: Any) -> Run:
    """Run the model once, in evaluation mode and on copies of its weights, and write down every call.

    Example:
        >>> run = trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), torch.zeros(1, 3))
        >>> [call.name for call in run.calls]
        ['linear', 'relu']

    Calls are seen at the level of `torch.nn.functional` and of tensor methods; a user's module that is an
    activation is one call. Decisions of Python from shapes and settings are fixed as in this run.

    Args:
        model: it is not changed.
        example_inputs: one tensor, a tuple of arguments, or a mapping of keyword arguments.

    Raises:
        ValueError: in training mode; the inputs do not fit; or a step depends on values.
    """
    modes = [name or "it" for name, module in model.named_modules() if module.training]
    if modes:
        raise ValueError(
            f"Expected a model in evaluation mode, but {modes[0]} is training: call model.eval() first."
        )
    args, kwargs = _arguments(example_inputs)
    run = Run()
    recorder = _Recorder(run)
    state: dict[str, Tensor] = {}
    copies: dict[int, Tensor] = {}
    for name, tensor in _named_tensors(model):
        if id(tensor) not in copies:
            # weights require gradients, so that autograd finds values that depend on them through
            # unrecorded calls, and forbids changes in place
            weight = isinstance(tensor, nn.Parameter)
            floating = weight and tensor.is_floating_point()
            copies[id(tensor)] = tensor.detach().requires_grad_() if floating else tensor.detach().clone()
            run.names[recorder.add(copies[id(tensor)], dynamic=weight, keep=floating)] = name
        state[name] = copies[id(tensor)]
    args, kwargs = tree_map(
        lambda x: x.detach().clone() if isinstance(x, Tensor) else copy.copy(x), (args, kwargs)
    )
    for tensor in tree_leaves((args, kwargs)):
        if isinstance(tensor, Tensor):
            run.inputs.append(recorder.add(tensor, dynamic=True))
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        try:
            with _watched(model, recorder), recorder:
                result = torch.func.functional_call(model, state, args, kwargs, tie_weights=False)
        except ValueError:
            raise
        except Exception as error:
            shapes = ", ".join(
                str(tuple(x.shape)) for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)
            )
            raise ValueError(
                f"Expected example inputs that the model takes, was given {shapes or 'no tensor'}, on which "
                f"it raises {(str(error).splitlines() or [type(error).__name__])[0]!r}."
            ) from error
    outputs = [x for x in tree_leaves(_plain(result)) if isinstance(x, Tensor)]
    run.outputs = [recorder.ref(tensor).index for tensor in outputs]
    if not outputs:
        raise ValueError("Expected a model that returns tensors, it returns none: wrap it in one that does.")
    return run


def _named_tensors(model: nn.Module) -> Iterable[tuple[str, Tensor]]:
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), {}


def _plain(result: Any) -> Any:
    """Dataclass outputs, as some libraries return, as their fields."""
    if hasattr(result, "__dict__") and not isinstance(result, Tensor | tuple | list | dict):
        return list(vars(result).values())
    return result
