"""What the uses say: an error where no space is given, one warning of what they leave, and why."""

import warnings
from collections.abc import Mapping

from torch import nn

from intertwine.checks import kind
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.solve.hidden import HiddenSpace


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


def warn_of(done: str, left: Mapping[str, str]) -> None:
    """A UserWarning in the name of the verb's caller, where something is left; `left` has a reason for each.

    Example:
        >>> warn_of("folded", {})
    """
    if left:
        warnings.warn(f"Not {done}: {in_words(left)}.", UserWarning, stacklevel=3)


def in_words(left: Mapping[str, str]) -> str:
    """What is left, by its reason.

    Example:
        >>> in_words({"norm1": "gelu allows no more", "norm2": "gelu allows no more"})
        'norm1, norm2 (gelu allows no more)'
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in left.items():
        by_reason.setdefault(reason, []).append(name)
    # a network may have a hundred norms, and a warning is one line
    shown = {
        why: names[:3] + [f"{len(names) - 3} more"] * (len(names) > 3) for why, names in by_reason.items()
    }
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in shown.items())


def check_names(given: object) -> None:
    """Refuse one name in place of a list, whose letters would be taken for names."""
    if isinstance(given, str):
        raise TypeError(f"Expected names in a list, was given {given!r}: write [{given!r}].")


def why(space: WeightSpace, hidden: HiddenSpace) -> str:
    """What keeps matrices, and scalars of its norms, from a space that norms read.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> parts = nn.Embedding(9, 4), nn.RMSNorm(4), nn.Linear(4, 9, bias=False)
        >>> model = nn.Sequential(*parts).eval()
        >>> model[2].weight = model[0].weight
        >>> space = find_symmetries(model, torch.arange(9))
        >>> print(why(space, space.spaces[0]))
        0.weight writes the space 0 and, as 2.weight, reads it behind a gain: `untie` the model first
    """
    run, edges = space.inference.run, space.inference.edges
    called = {ref.index for call in run.calls if call.name == "embedding" for ref in call.refs}
    both = [k for k in run.names if k in called and (k, 1) in space.inference.read]
    tables = [run.names[k] for k in both if hidden.index in space.solution.touched(k)]
    if tables and {*hidden.why} <= {edge.why for edge in edges}:  # nothing else decides on its group
        also = [f", as {name}," for name, first in run.tied.items() if first == tables[0]]
        return (
            f"{tables[0]} writes the space {hidden.name} and{''.join(also[:1])} reads it behind a gain: "
            f"`untie` the model first"
        )
    return f"{', '.join(hidden.why)} {'allows' if len(hidden.why) == 1 else 'allow'} no more"
