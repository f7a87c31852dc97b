"""The optimiser of a recipe."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from intertwine.training.recipes import Recipe


def build_optimizer(
    recipe: Recipe,
    parameters: Iterable[tuple[str, nn.Parameter]],
    *,
    decays: Callable[[str], bool] | None = None,
) -> torch.optim.Optimizer:
    """The recipe's optimiser of these named parameters; those that need no gradient are left out.

    Example:
        >>> from intertwine.training import RECIPES
        >>> optimizer = build_optimizer(RECIPES["godfrey2022"], nn.Linear(2, 3).named_parameters())
        >>> [group["weight_decay"] for group in optimizer.param_groups]
        [0.0001, 0.0]

    `decays` says whether the parameter of a name decays; by default `recipe.decay_biases` does.
    """
    chosen = decays or (lambda name: recipe.decay_biases or "weight" in name)
    named = [(name, parameter) for name, parameter in parameters if parameter.requires_grad]
    if not named and recipe.epochs:
        raise ValueError(
            "Expected a parameter to train, all are frozen, or there is none: set requires_grad to True."
        )
    groups = [
        {"params": [p for name, p in named if chosen(name)], "weight_decay": recipe.weight_decay},
        {"params": [p for name, p in named if not chosen(name)], "weight_decay": 0.0},
    ]
    fused = all(parameter.device.type in ("cpu", "cuda") for _, parameter in named)
    if recipe.optimizer == "adam":
        return torch.optim.Adam(groups, lr=recipe.lr, fused=fused)
    momentum = recipe.momentum
    return torch.optim.SGD(groups, lr=recipe.lr, momentum=momentum, nesterov=momentum > 0, fused=fused)
