"""A model cut after a layer by hooks, where torch.fx cannot trace it: transformers with branches, say."""

from typing import Any

import torch
from torch import Tensor, nn

from intertwine.features import evaluating, lookup
from intertwine.layer_outputs import first_tensor, with_first_tensor


class _Reached(Exception):  # no error: the layer has returned
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
            raise _Reached(first_tensor(output, self.layer))

        # an exception leaves the model at once: what lies behind the layer is not computed
        with lookup(self.model, [self.layer])[self.layer].register_forward_hook(stop):
            try:
                self.model(x)
            except _Reached as reached:
                return reached.value
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
            return self.model(self.example.expand(len(values), *self.example.shape[1:]))


def by_hooks(model: nn.Module, layer: str, example: Tensor) -> tuple[nn.Module, nn.Module]:
    """Front and back, as `split` gives them, of a model in evaluation mode.

    Raises:
        ValueError: more than the layer's output crosses the cut, or the layer is called twice.
    """
    # checked on a second input: if anything else crossed the cut it would be that of the first
    front, back = Front(model, layer), Back(model, layer, example[:1])
    other = back.example.flatten(1).flip(1).view_as(back.example)  # another input of the model
    if other.is_floating_point():  # as it may have one entry, or be the same both ways
        other = other + torch.rand(other.shape, generator=torch.Generator().manual_seed(0)).to(other)
    calls: list[int] = []
    with evaluating(model), torch.no_grad():
        with lookup(model, [layer])[layer].register_forward_hook(lambda *_: calls.append(1)):
            expected = model(other)
        if len(calls) == 1 and torch.allclose(back(front(other)), expected, rtol=1e-3, atol=1e-5):
            return front, back
    if len(calls) != 1:
        raise ValueError(
            f"Expected the output of {layer!r} to be computed once, not {len(calls)} times: cut elsewhere."
        )
    raise ValueError(
        f"Expected the output of {layer!r} alone to cross the cut, of a tuple its first tensor: cut at the "
        f"end of a block, as torch.fx cannot trace this model, and only where it can are shortcuts stitched "
        f"or passed on."
    )
