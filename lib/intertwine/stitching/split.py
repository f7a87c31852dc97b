"""A model cut after a layer: the front, which computes the layer's output, and the back, which goes on.

Models that torch.fx cannot trace, such as transformers with branches, are cut by hooks.
"""

from collections.abc import Iterable
from inspect import signature
from operator import getitem
from typing import Any

import torch
from torch import Tensor, fx, nn

from intertwine.chains import hooked, is_chain, subchain
from intertwine.features import evaluating, lookup
from intertwine.layer_outputs import first_tensor, with_first_tensor


class Untraceable(ValueError):
    """The model's forward is nothing that torch.fx can write down."""


def split(model: nn.Module, layer: str, *, shortcuts: bool = False) -> tuple[nn.Module, nn.Module]:
    """Cut a model after a layer: back(front(x)) is model(x).

    Example:
        >>> split(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), "1")[1]
        Sequential(
          (2): Linear(in_features=4, out_features=2, bias=True)
        )

    Both parts share the modules of the model. A chain is cut between its children, any other model by
    torch.fx, with its forward in the present mode (training or evaluation). This takes `h += x` for
    `h = h + x`, so where h has a second name compare the two; `stitch` does, if it has images.

    The back is all that depends on the layer's output, the front the values that the back needs. So where a
    shortcut passes the layer, the front computes it up to the point where the two are added: after
    model 1's own projection, say. Then more than one value crosses the cut, which needs `shortcuts`.

    Args:
        model: a module with one input.
        layer: a name out of its `named_modules`, called once in a run. Of a layer that returns a tuple, as
            recurrent ones do, the first tensor is cut, and no other may be used.
        shortcuts: whether several values may cross. Front then returns the tuple of them, the layer's output
            first, and back takes it.
    """
    lookup(model, [layer])
    # no tracing: its parts are slices, whatever its layers do inside
    if is_chain(model) and layer in model._modules:
        end = list(model._modules).index(layer) + 1
        return subchain(model, 0, end), subchain(model, end)
    # any other model is cut in the graph of its calls
    graph = _traced(model, layer)
    # a step in place whose result nobody takes has no edge in the graph: a part would leave it out
    if lost := [str(node) for node in graph.nodes if not node.users and _in_place(model, node)]:
        raise Untraceable(f"Expected a use of what {lost[0]} returns, found none: write y = y.add_(x), say.")
    calls = [node for node in graph.nodes if node.op == "call_module" and node.target == layer]
    if len(calls) != 1:
        times = "not called" if not calls else f"called {len(calls)} times"
        # torch.fx follows one branch of a forward, and a run may follow another
        raise (ValueError if calls else Untraceable)(
            f"Expected layer {layer!r} to be called once in a run, it is {times}: cut at another layer, or "
            f"give every call a module of its own."
        )
    cut = _features(calls[0], layer)
    # the back is what depends on the layer; the front is what the back needs and does not depend on it
    behind = _reached(cut.users)
    values = _reached(node for node in graph.nodes if node.op == "placeholder")  # that depend on the input
    # constants and parameters are no values: both parts have them
    needed = {source for node in behind for source in node.all_input_nodes}
    # in the order of the graph, by which model 1's shortcuts meet model 2's
    crossing = [node for node in graph.nodes if node in (needed & values) - behind - {cut}]
    if crossing and not shortcuts:
        names = ", ".join(str(node.target if node.op == "call_module" else node) for node in crossing)
        raise ValueError(
            f"Expected the output of {layer!r} alone to cross the cut, so does {names}: cut at the end "
            f"of the block, or give shortcut='stitched' or 'passed on' (to split, shortcuts=True)."
        )
    # the layer's own output comes first, by which a stitch knows it
    crossing = [cut, *crossing]
    (output,) = (node for node in graph.nodes if node.op == "output")
    return _part(model, graph, [], crossing), _part(model, graph, crossing, [output])


def _traced(model: nn.Module, layer: str) -> fx.Graph:
    class Tracer(fx.Tracer):
        def is_leaf_module(self, module: nn.Module, name: str) -> bool:
            inside = layer.startswith(f"{name}.")  # also of a module of torch.nn, such as a whole encoder
            return not inside and (name == layer or super().is_leaf_module(module, name))

    # what a forward takes beside its input, such as a mask of attention, has its default
    options = list(signature(model.forward).parameters.values())[1:]
    known = {p.name: p.default for p in options if p.default is not p.empty}
    if hooked(model):  # which torch.fx leaves out, unlike those of its layers
        raise Untraceable(
            f"Expected a model without hooks of its own, this {type(model).__name__} has some, or a "
            f"forward set on it: make a layer of what they do, or give train=."
        )
    try:
        return Tracer().trace(model, known or None)
    except Exception as error:  # whatever the model's forward raises when it is given proxies
        reason = [*str(error).splitlines(), type(error).__name__][0]
        raise Untraceable(
            f"Expected a model that torch.fx can trace, {type(model).__name__} is not one: {reason}. Write "
            f"it as nn.Sequential, or give train=."
        ) from error


def _features(call: fx.Node, layer: str) -> fx.Node:
    """What a layer returns, or the first entry of a tuple."""
    entries = [x.args[1] if x.target is getitem else None for x in call.users]
    # a tensor has images first, so that what is taken apart by numbers alone is a tuple
    if not entries or not all(isinstance(k, int) and k >= 0 for k in entries):
        return call
    used = [x for x in call.users if x.users]
    firsts = [x for x in used if x.args[1] == 0]
    if not firsts or firsts != used:
        raise ValueError(
            f"Expected only the first tensor that {layer!r} returns to be used, another is, such as "
            f"a last state: cut elsewhere, or read it out of the first (outputs[:, -1] is a GRU's h_n[-1])."
        )
    for other in firsts[1:]:
        other.replace_all_uses_with(firsts[0])
    return firsts[0]


def _in_place(model: nn.Module, node: fx.Node) -> bool:
    """Whether the step changes what it is given, which a graph does not show."""
    if node.op == "call_module":
        return bool(getattr(model.get_submodule(str(node.target)), "inplace", False))
    name = getattr(node.target, "__name__", str(node.target))
    changes = name.endswith("_") and not name.endswith("__")
    return node.op.startswith("call") and (changes or bool(node.kwargs.get("inplace")))


def _reached(start: Iterable[fx.Node], stop: Iterable[fx.Node] = (), *, back: bool = False) -> set[fx.Node]:
    """These nodes, and all that depend on them, or, going back, that they depend on, up to `stop`."""
    found, left = set(stop), list(start)
    while left:
        if (node := left.pop()) not in found:
            found.add(node)
            left += node.all_input_nodes if back else node.users
    return found


def _part(model: nn.Module, graph: fx.Graph, inputs: list[fx.Node], outputs: list[fx.Node]) -> fx.GraphModule:
    """The module that computes `outputs` from `inputs`, or from the model's own; several are a tuple."""
    part = fx.Graph()
    values = [part.placeholder("values")] if inputs else []
    if len(inputs) > 1:
        values = [part.call_function(getitem, (values[0], k)) for k in range(len(inputs))]
    # nodes of the old graph are looked up as those of the new one
    copies = dict(zip(inputs, values, strict=True))
    wanted = _reached(outputs, inputs, back=True)
    for node in graph.nodes:
        # a front takes all inputs of the model, also those that it does not use
        if (node in wanted and node not in copies) or (node.op == "placeholder" and not inputs):
            copies[node] = part.node_copy(node, copies.__getitem__)
    if inputs:  # a back, which ends with the model's own output node, copied above
        return fx.GraphModule(model, part)
    results = tuple(copies[node] for node in outputs)
    part.output(results if len(results) > 1 else results[0])
    return fx.GraphModule(model, part)


class _Stopped(Exception):  # no error: the layer has returned
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Front(nn.Module):
    """The output of a layer, where the model stops; of a tuple its first tensor.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        >>> Front(model, "1")(torch.ones(5, 3)).shape
        torch.Size([5, 4])
    """

    def __init__(self, model: nn.Module, layer: str) -> None:
        super().__init__()
        self.model, self.layer = model, layer

    def forward(self, x: Tensor) -> Tensor:
        def stop(module: nn.Module, inputs: object, output: Any) -> None:
            raise _Stopped(first_tensor(output, self.layer))

        # an exception leaves the model at once: what lies behind the layer is not computed
        with lookup(self.model, [self.layer])[self.layer].register_forward_hook(stop):
            try:
                self.model(x)
            except _Stopped as stopped:
                return stopped.value
        raise ValueError(
            f"Expected layer {self.layer!r} to be called in a run, it is not called: cut elsewhere."
        )


class Back(nn.Module):
    """What a model makes of another output of a layer.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        >>> x = torch.ones(5, 3)
        >>> torch.equal(Back(model, "1", x[:1])(Front(model, "1")(x)), model(x))
        True

    The model runs on copies of one example, and the layer's output is replaced; all before it is computed in
    vain. So nothing but this output may depend on the example, which `by_hooks` checks.
    """

    example: Tensor

    def __init__(self, model: nn.Module, layer: str, example: Tensor) -> None:
        super().__init__()
        self.model, self.layer = model, layer
        self.register_buffer("example", example, persistent=False)

    def forward(self, values: Tensor) -> Any:
        def replace(module: nn.Module, inputs: object, output: Any) -> Any:
            return with_first_tensor(output, values, self.layer)

        with lookup(self.model, [self.layer])[self.layer].register_forward_hook(replace):
            return self.model(self.example.expand(len(values), *self.example.shape[1:]).clone())


def by_hooks(model: nn.Module, layer: str, example: Tensor) -> tuple[nn.Module, nn.Module]:
    """Front and back, as `split` gives them, of a model in evaluation mode.

    Raises:
        ValueError: more than the layer's output crosses the cut, or the layer is called twice.
    """
    front, back = Front(model, layer), Back(model, layer, example[:1])
    # checked on other inputs: whatever else crossed the cut would be that of the first. One is made up, as
    # the others may be alike; but zeros that hide positions, and rare branches, only real ones have
    other = back.example.flatten(1).flip(1).view_as(back.example)
    if other.is_floating_point():  # as it may have one entry, or be the same both ways
        other = other + torch.rand(other.shape, generator=torch.Generator().manual_seed(0)).to(other)
    other = torch.cat([example, other])
    calls: list[int] = []
    with evaluating(model), torch.no_grad():
        with lookup(model, [layer])[layer].register_forward_hook(lambda *_: calls.append(1)):
            expected = model(other.clone())
        if len(calls) != 1:
            raise ValueError(
                f"Expected the output of {layer!r} to be computed once, not {len(calls)} times: cut "
                f"elsewhere."
            )
        if len(values := front(other.clone())) != len(other):  # as of a table of positions
            raise ValueError(
                f"Expected the output of {layer!r} to have images along the first axis, was given the shape "
                f"{tuple(values.shape)} for {len(other)}: cut elsewhere."
            )
        if torch.allclose(back(values), expected, rtol=1e-3, atol=1e-5):
            return front, back
    raise ValueError(
        f"Expected the output of {layer!r} alone to cross the cut, of a tuple its first tensor: cut at the "
        f"end of a block, as torch.fx cannot trace this model, and only where it can are shortcuts stitched "
        f"or passed on."
    )
