"""One run of a model on example inputs, written down call by call."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._pytree import tree_leaves, tree_map

from intertwine.groups import ActivationError, as_activation
from intertwine.weightspace.recorder import Recorder
from intertwine.weightspace.run import Call, Ref, Run


def trace(model: nn.Module, example_inputs: Any) -> Run:
    """Run the model once, in evaluation mode and on copies of its weights, and write down every call.

    Example:
        >>> run = trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), torch.zeros(1, 3))
        >>> [call.name for call in run.calls]
        ['linear', 'relu']

    Calls are seen at the level of `torch.nn.functional` and of tensor methods; a user's module that is an
    activation is one call. Arguments and errors are those of `find_symmetries`.
    """
    modes = [name or "it" for name, module in model.named_modules() if module.training]
    if modes:
        raise ValueError(
            f"Expected a model in evaluation mode, but {modes[0]} is training: call model.eval() first."
        )
    run = Run()
    recorder = Recorder(run)
    state: dict[str, Tensor] = {}
    copies: dict[int, Tensor] = {}
    for name, tensor in named_tensors(model):
        if id(tensor) not in copies:
            # weights require gradients, so that autograd finds values that depend on them through
            # unrecorded calls, and forbids changes in place
            weight = isinstance(tensor, nn.Parameter)
            floating = weight and tensor.is_floating_point()
            copies[id(tensor)] = tensor.detach().requires_grad_() if floating else tensor.detach().clone()
            run.names[recorder.add(copies[id(tensor)], dynamic=weight, keep=floating)] = name
        state[name] = copies[id(tensor)]
    args, kwargs = tree_map(
        lambda x: x.detach().clone() if isinstance(x, Tensor) else copy.copy(x), _arguments(example_inputs)
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
            shapes = ", ".join(str(run.shapes[k]) for k in run.inputs)
            raise ValueError(
                f"Expected example inputs that the model takes, was given {shapes or 'no tensor'}, on which "
                f"it raises {(str(error).splitlines() or [type(error).__name__])[0]!r}."
            ) from error
    if hasattr(result, "__dict__") and not isinstance(result, Tensor | tuple | list | dict):
        result = list(vars(result).values())  # dataclasses, as some libraries return
    outputs = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
    run.outputs = [recorder.ref(tensor).index for tensor in outputs]
    if not outputs:
        raise ValueError("Expected a model that returns tensors, it returns none: wrap it in one that does.")
    return run


def named_tensors(model: nn.Module) -> Iterable[tuple[str, Tensor]]:
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), {}


@contextmanager
def _watched(model: nn.Module, recorder: Recorder) -> Iterator[None]:
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
                call = Call(type(module).__name__, module, (ref,), {}, [result])
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
    if type(module).__module__.startswith("torch.") or [*module.parameters(), *module.buffers()]:
        return False
    x = torch.zeros(1, dtype=torch.float64)
    try:
        as_activation(module)
        return module(x) is not x and x._version == 0
    except ActivationError:
        return False
