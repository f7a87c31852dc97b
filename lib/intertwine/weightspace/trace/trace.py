"""One run of a model on example inputs, written down call by call."""

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils.data import DataLoader

from intertwine.checks import check_evaluation_mode, check_tensor
from intertwine.data import Dataset
from intertwine.groups import ActivationError, as_activation
from intertwine.weightspace.trace.given import caches, eager, named_tensors, replica
from intertwine.weightspace.trace.kept import Kept
from intertwine.weightspace.trace.nested import tensors, with_tensors
from intertwine.weightspace.trace.recorder import Nested, Recorder, Steered
from intertwine.weightspace.trace.run import Call, Ref, Run, leaves

Outputs = str | int | Sequence[str | int] | None
EMPTIED = "as a copy of the model has {} empty, register its tensors as buffers, or give it another name"
OTHERS = ("/torch/", "<", "/jaxtyping/", str(Path(__file__).parent))


def trace(model: nn.Module, example_inputs: Any, outputs: Outputs = None, *, values: bool = True) -> Run:
    """Run a copy of the model once, in evaluation mode, and write down every call.

    Example:
        >>> run = trace(
        ...     nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), torch.zeros(1, 3)
        ... )
        >>> [call.name for call in run.calls]
        ['linear', 'relu']

    Calls are seen at the level of `torch.nn.functional` and of tensor methods; a user's module that is an
    activation is one call. Arguments and errors are those of `find_symmetries`; without `values`, those that
    depend on weights or real inputs have no entries.
    """
    model = eager(model)
    check_evaluation_mode(model)
    run = Run(chosen=outputs)
    recorder = Recorder(run, values=values, meta=any(x.is_meta for _, x in named_tensors(model)))
    copies: dict[int, Tensor] = {}
    firsts: dict[int, str] = {}
    for name, tensor in named_tensors(model):
        if id(tensor) not in copies:
            # weights require gradients, so that autograd finds values that depend on them through
            # unrecorded calls, and forbids changes in place
            weight = isinstance(tensor, nn.Parameter)
            floating = weight and tensor.is_floating_point()
            copies[id(tensor)] = tensor.detach().requires_grad_() if floating else tensor.detach().clone()
            run.names[recorder.add(copies[id(tensor)], dynamic=weight, weight=floating)] = name
            firsts[id(tensor)] = name
        else:
            run.tied[name] = firsts[id(tensor)]
    held = caches(model)
    model = replica(model, copies)
    args, kwargs = as_arguments(example_inputs)
    inside: list[str] = []
    # numbers that the model draws are not taken from the caller's; and autograd has to be on, even in no_grad
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        try:
            for tensor in {id(x): x for x in tensors((args, kwargs))}.values():
                # tokens and masks may decide on steps: the group is then that of masks like these
                real = tensor.is_floating_point() or tensor.is_complex()
                run.inputs.append(recorder.add(tensor, dynamic=real))
                recorder.steering |= set() if real else {run.inputs[-1]}
            # weights share memory with the caller's
            with Kept(copies.values()), _watched(model, recorder, inside), recorder:
                result = model(*args, **kwargs)
        except Steered as error:
            where = _where(error, inside)
            known = "expert" in where and hasattr(getattr(model, "config", None), "_experts_implementation")
            way = ', as by config._experts_implementation = "batched_mm"' if known else ""
            # whether padding becomes zeros depends on it, so that it is not switched off for the run alone
            if "nested_tensor" in str(error):
                way = ", as by use_nested_tensor = False of an nn.TransformerEncoder"
            raise ValueError(
                f"Expected a model whose steps do not depend on the values of its weights or real inputs, "
                f"but {where} reads a tensor with {error}: choose an implementation of it without that "
                f"branch, where its library has one{way}, or find symmetries of a part of the model."
            ) from error
        except Nested as error:
            raise ValueError(
                f"Expected a model that computes with plain tensors, but {_where(error, inside)} makes or "
                f"takes a nested one, whose rows have lengths of their own: give inputs of one length, or "
                f"padded ones with a mask, and switch nested tensors off where the model has that option."
            ) from error
        except Exception as error:
            shapes = ", ".join(str(run.shapes[k]) for k in run.inputs)
            said = (str(error).splitlines() or [type(error).__name__])[0]
            hint = "run model(inputs) first; parts that are compiled, scripted or vmapped cannot be followed"
            if isinstance(error, KeyError) and held:
                hint = EMPTIED.format(min(held))
            raise ValueError(
                f"Expected a model and example inputs that fit, was given {shapes or 'no tensor'}, on which "
                f"{_where(error, inside)} raises {said!r}: "
                f"{hint if shapes else 'make tensors of the inputs, by torch.as_tensor, say'}."
            ) from error
    if left := held.keys() - caches(model).keys():
        raise ValueError(
            f"Expected a cache that the run fills, was given tensors in {min(left)}, which it does not put "
            f"there: {EMPTIED.format('it')}, or empty it if other inputs fill it."
        )
    run.outputs = [recorder.ref(tensor).index for tensor in output_tensors(result, outputs)]
    if not run.outputs:
        which = "outputs= names none" if outputs is not None else "it returns none"
        raise ValueError(f"Expected a model that returns tensors, {which}: wrap it in one that does.")
    return run


def as_arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies of example inputs as arguments and keyword arguments; TypeError for arrays and data sets."""
    # what a tokenizer returns is a mapping, but no dict
    inputs = dict(inputs) if isinstance(inputs, Mapping) else inputs
    for each in leaves(inputs):
        if isinstance(each, np.ndarray | Iterator | DataLoader | Dataset):
            check_tensor(each, "example inputs")
    # a model that works in place would change the caller's inputs, and a cache is filled by each run
    inputs = with_tensors(inputs, lambda x: x.detach().clone())
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), {}


def output_tensors(result: Any, chosen: Outputs) -> list[Tensor]:
    """The tensors of what a model returns, or of the chosen fields or positions."""
    if chosen is not None:
        names = [chosen] if isinstance(chosen, str | int) else chosen
        fields: Any = (result,) if isinstance(result, Tensor) else result  # position 0 is no row of it
        try:
            by = isinstance(fields, Mapping)
            taken = [fields[k] if by or isinstance(k, int) else getattr(fields, k) for k in names]
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise ValueError(
                f"Expected outputs that the model returns, was given {chosen!r}: it returns a "
                f"{type(result).__name__}; give names of its fields, or positions."
            ) from error
        result = taken
    # without entries of its own, a sparse tensor could not be compared
    return [x if x.layout == torch.strided else x.to_dense() for x in tensors(result)]


def _where(error: Exception, inside: list[str]) -> str:
    """The module and the line of the model at which a run stopped."""
    frames = traceback.extract_tb(error.__traceback__)
    # the last line outside of torch is the one that the user wrote
    ours = [frame for frame in frames if not any(part in frame.filename for part in OTHERS)]
    line = f" (line {ours[-1].lineno} of {Path(ours[-1].filename).name})" if ours else ""
    return (f"module {inside[-1]!r}" if inside else "the model") + line


@contextmanager
def _watched(model: nn.Module, recorder: Recorder, inside: list[str]) -> Iterator[None]:
    """Write down which value enters and which leaves every module, and an activation's module as one call."""
    names = {id(module): name for name, module in model.named_modules() if name}
    activations = {id(module) for module in model.modules() if module is not model and _activation(module)}
    entered: dict[int, int | None] = {}

    def before(module: nn.Module, args: Any) -> None:
        if id(module) in names:
            inside.append(names[id(module)])
            entered[id(module)] = recorder.number(args[0]) if args else None

    def pause(module: nn.Module, args: Any, kwargs: Any) -> None:
        # as one call it is classified by its values; its own calls might each lack a rule
        recorder.paused += _alone(args, kwargs) is not None

    def after(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if id(module) not in names:
            return
        inside.pop()
        start = entered[id(module)]
        if id(module) in activations and (x := _alone(args, kwargs)) is not None:
            if recorder.paused == 1:  # not within another activation
                ref = recorder.ref(x)
                result = Ref(recorder.add(output, dynamic=ref.index in recorder.dynamic))
                call = Call(type(module).__name__, module, (ref,), {}, [result])
                recorder.run.calls.append(call)
            recorder.paused -= 1
        end = recorder.number(output)
        if start is not None and end is not None:
            recorder.run.modules.setdefault(names[id(module)], []).append((start, end))

    with ExitStack() as stack:
        stack.callback(register_module_forward_pre_hook(before).remove)
        stack.callback(register_module_forward_hook(after, with_kwargs=True).remove)
        for module in model.modules():
            if id(module) in activations:  # of all modules, hooks before a call see no keywords
                hook = module.register_forward_pre_hook(pause, with_kwargs=True, prepend=True)
                stack.callback(hook.remove)
        yield


def _alone(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor | None:
    """The tensor that is the only argument; beside another one, as a gate, a call is no function of it."""
    given = (*args, *kwargs.values())
    return given[0] if len(given) == 1 and isinstance(given[0], Tensor) else None


def _activation(module: nn.Module) -> bool:
    """Whether this is a user's elementwise function without weights that does not change its input."""
    if type(module).__module__.startswith("torch.") or [*module.parameters(), *module.buffers()]:
        return False
    x = torch.zeros(1, dtype=torch.float64)
    try:
        as_activation(module)
        # in place, the value before it would be gone from the run, which holds it by the tensor's id
        return module(x) is not x and x._version == 0
    except ActivationError:
        return False
