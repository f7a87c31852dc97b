"""Which value enters and which leaves every module of a run, so that spaces have readable names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from intertwine.groups import ActivationError, as_activation
from intertwine.weightspace.recorder import Recorder
from intertwine.weightspace.run import Call, Ref


@contextmanager
def watched(model: nn.Module, recorder: Recorder) -> Iterator[None]:
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
