"""What is given as a model: unwrapped if compiled, refused where its calls cannot be seen, and copied."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from intertwine.checks import check_model, kind
from intertwine.weightspace.trace.nested import copied
from intertwine.weightspace.trace.run import leaves

AnyModel = TypeVar("AnyModel", bound=nn.Module)
WRAPPED = "_orig_mod"
"""Where `torch.compile` keeps the module that it was given."""


def eager(model: Any) -> Any:
    """The model of which `torch.compile` made this one, or the model itself.

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> eager(torch.compile(layer)) is layer
        True

    Modules inside of it may still be compiled. A model whose calls cannot be seen raises a ValueError.
    """
    model = getattr(model, WRAPPED, model)
    check_model(model)
    for name, module in model.named_modules():
        if instead := _unseen(module):
            inside = f"one whose module {name!r} is " if name else ""
            raise ValueError(
                f"Expected a model whose calls can be followed, was given {inside}{kind(module)}: {instead}."
            )
    for name, tensor in named_tensors(model):
        if is_traceable_wrapper_subclass(tensor):
            instead = SHARDED if "DTensor" in kind(tensor) else QUANTISED
            given = f"one whose {name} is {kind(tensor)}"
            raise ValueError(f"Expected a model of plain tensors, was given {given}: {instead}.")
    return model


def replica(model: AnyModel, instead: Mapping[int, Tensor]) -> AnyModel:
    """A copy with other tensors, by the ids of the old ones, and without what runs have left in the model.

    No module of it is compiled.
    """
    model = eager(model)
    training = {name: module.training for name, module in model.named_modules(remove_duplicate=False)}
    memo: dict[int, Any] = dict(instead)
    for module in model.modules():
        # most of the time of a deep copy would go into the empty dictionaries of hooks
        memo |= {id(x): type(x)() for x in vars(module).values() if type(x) in (dict, OrderedDict) and not x}
        for x in leaves(vars(module)):
            if isinstance(x, Tensor) and not x.is_leaf:
                memo.setdefault(id(x), x.detach())
    model = copied(model, memo, "a model")
    for name, module in model.named_modules(remove_duplicate=False):
        if module.training != training[name]:  # some modules are copied as they were when they were made
            module.train(training[name])  # which chooses the graph of a feature extractor, too
    for module in model.modules():
        for name, inner in module._modules.items():
            # a compiled module within the model would hide its calls from the recorder
            module._modules[name] = getattr(inner, WRAPPED, inner)
    for held in caches(model).values():
        held.clear()
    return model


def caches(model: nn.Module) -> dict[str, dict[Any, Any]]:
    """The dictionaries that are called a cache and hold tensors, as LeViT's of biases; others are options.

    Whether a run has put the tensors there cannot be seen in them, so that copies start without them.
    """
    return {
        f"{name}.{key}".replace(f"{WRAPPED}.", "").lstrip("."): value
        for name, module in model.named_modules()
        for key, value in vars(module).items()
        if "cache" in key and isinstance(value, dict) and any(isinstance(x, Tensor) for x in leaves(value))
    }


def named_tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters, then buffers, by every name that they have; of a compiled module, by its own."""
    for named in (model.named_parameters, model.named_buffers):
        for name, tensor in named(remove_duplicate=False):
            yield name.replace(f"{WRAPPED}.", ""), tensor


QUANTISED = "find the symmetries of the model before it is quantised, move it, and quantise what comes out"
SHARDED = (
    "find the symmetries of the model before it is sharded (on the meta device it takes no memory), and let "
    "them act on its full state dict"
)


def _unseen(module: nn.Module) -> str:
    """What to do instead, where the calls of a module cannot be seen."""
    kinds = [f"{each.__module__}.{each.__name__}" for each in type(module).__mro__]
    if isinstance(module, torch.jit.ScriptModule):
        return "give the model that was scripted or traced"
    if any(kind.startswith("torch.ao.nn.") and "quantized" in kind for kind in kinds):
        return QUANTISED
    if any(kind.startswith("torch.distributed.fsdp.") for kind in kinds):
        return SHARDED
    targets = [node.target for node in module.graph.nodes] if isinstance(module, torch.fx.GraphModule) else []
    if any(isinstance(target, torch._ops.OpOverload) for target in targets):
        return "give the model that was exported"
    return ""
