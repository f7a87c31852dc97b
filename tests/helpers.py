"""What several test modules draw and read."""

import ast
import contextlib
import copy
import io
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

FEW = pytest.mark.filterwarnings("ignore:Expected more .*samples")
"""Of tests that compare two ways of computing a value, whether the samples are too few for it or not."""


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=generator(seed), dtype=dtype)


def normal64(*shape: int, seed: int = 0) -> Tensor:
    return normal(*shape, seed=seed, dtype=torch.float64)


def same(first: nn.Module, second: nn.Module) -> bool:
    """Equal weights and buffers, to the bit, under equal names in the same order."""
    one, other = first.state_dict(), second.state_dict()
    return [*one] == [*other] and all(torch.equal(x, other[name]) for name, x in one.items())


def difference(one: nn.Module, other: nn.Module) -> float:
    """The largest of |x − y| / max|y| over weights and buffers."""
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return max(((x - y).abs().max() / y.abs().max().clamp(min=1e-300)).item() for x, y in pairs)


NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def randomise(model: nn.Module, generator: torch.Generator) -> nn.Module:
    """In float64 and evaluation mode, with random statistics and affine parts, and no weight of zeros."""
    model = model.double().eval()

    def uniform(x: Tensor, low: float, high: float) -> None:
        x.copy_(low + (high - low) * torch.rand(x.shape, generator=generator, dtype=x.dtype))

    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, NORMS) and module.weight is not None:
                uniform(module.weight, 0.5, 1.5)
                if getattr(module, "bias", None) is not None:
                    uniform(module.bias, -0.5, 0.5)
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                uniform(module.running_mean, -0.5, 0.5)
                uniform(module.running_var, 0.5, 1.5)
        for parameter in model.parameters():
            if not parameter.any():
                uniform(parameter, -0.5, 0.5)
    return model


def with_layer_moved(model: nn.Module, k: int, A: Tensor) -> nn.Module:
    """The same function as a Myrtle network, whose k-th hidden layer is A times what it was."""
    model, gain = copy.deepcopy(model), A.sum(1)
    rows = A.argmax(1)  # row i of A has its one entry, gain[i], at rows[i]
    conv, norm = model.get_submodule(f"conv{k}"), model.get_submodule(f"bn{k}")
    with torch.no_grad():
        conv.weight.copy_(conv.weight[rows])
        for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
            tensor.copy_(tensor[rows])
        norm.weight.mul_(gain)
        norm.bias.mul_(gain)
        after = model.fc if k == 4 else model.get_submodule(f"conv{k + 1}")
        shape = (1, -1) + (1,) * (after.weight.ndim - 2)
        after.weight.copy_(after.weight[:, rows] / gain.view(shape))
    return model


def sentence(call: Callable[[], object]) -> str:
    with pytest.raises(ValueError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


RECORD = {  # of a run, as an executed notebook has it
    "wall_s": 1.0,
    "finished": "2026-01-01T00:00:00",
    "commit": None,
    "environment": {"peak_memory_bytes": 1, "device": "a CPU", "torch": "2"},
}


def computed(task: str, names: dict) -> str:
    """What a task prints: the value of its last expression, as an interpreter shows it."""
    *before, last = ast.parse(task).body
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(ast.Module(before, []), "tasks", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "tasks", "eval"), names)
    return shown.getvalue() if value is None else repr(value)


def same_words_and_nearly_the_numbers(shown: str, given: str) -> bool:
    """Accuracies of small networks differ between machines; words, shapes and groups do not."""
    number = re.compile(r"(?<!\w)\d+\.\d+")
    pairs = zip(number.findall(shown), number.findall(given), strict=True)
    near = all(abs(float(one) - float(other)) < 0.1 for one, other in pairs)
    return near and number.sub("#", shown).split() == number.sub("#", given).split()
