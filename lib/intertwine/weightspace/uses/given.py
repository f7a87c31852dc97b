"""What is given as a space: refused where it is none, as where arguments changed places."""

from torch import nn

from intertwine.checks import kind
from intertwine.weightspace.act.space import WeightSpace


def check_space(given: object) -> None:
    """Raise ValueError, in one sentence, unless this is a space, as `find_symmetries` returns it.

    Example:
        >>> import torch
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> check_space(find_symmetries(model, torch.zeros(1, 3)))
    """
    if not isinstance(given, WeightSpace):
        instead = "give the model after it" if isinstance(given, nn.Module) else "call it on the model"
        raise ValueError(
            f"Expected first the space that find_symmetries returns, was given {kind(given)}: {instead}."
        )
