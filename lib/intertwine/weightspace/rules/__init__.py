"""Second phase: what each operation says about the axes of its arguments.

In: a `Run`.
Out: an `Inference`. It holds a label for every value, with one `Axis` for each axis of its tensor, and the
constraints between the spaces in these labels.

Every axis of every parameter starts as a space of its own: its units may change places, be multiplied by
numbers, or be mixed by any matrix. A rule takes one call, in the order of the run. It joins spaces (units
that are added move together), cuts them (a slice, a reshape), restricts them (ReLU allows positive factors
only) or freezes them (an axis that meets the input), and returns the labels of the results. A call without
a rule is tried as an activation; if it is none, the axes that it touches are frozen. So the group may turn
out too small, never too large.

Read in this order:

1. `axes`: spaces, and axes as sequences of them; no constraint yet.
2. `ties`: the constraints: join, cut, restrict, freeze.
3. `infer`: follows the run and calls the rules. `infer` is the entrance, `@rule("names")` registers a rule.
4. `changed`, `entries` and `regroup`: what many rules share, of one axis, of several and across reshapes.
5. `elementwise`, `products`, `layers`: activations, matrix products, convolutions. These rules explain an
   MLP.
6. `arithmetic`, `shapes`, `views`, `indexing`, `shuffles`, `norms`, `recurrent`: the other operations.

Python imports this file before any file of the folder. It imports all rules, so each of them is registered.

Operations that have a rule, by file. Operators, methods and calls in place have the rule of the function, and
any other function of one tensor is tried as an activation.
"""

import torch

from intertwine.weightspace.rules import (
    arithmetic,
    elementwise,
    indexing,
    layers,
    norms,
    products,
    recurrent,
    shapes,
    shuffles,
    views,
)
from intertwine.weightspace.rules.infer import RULES


def operations() -> dict[str, list[str]]:
    """The operations of torch that have a rule, by the file that has the rule.

    Example:
        >>> operations()["recurrent"]
        ['lstm', 'gru', 'rnn_tanh', 'rnn_relu', 'lstm_cell', 'gru_cell', 'rnn_tanh_cell', 'rnn_relu_cell']
    """
    files: dict[str, list[str]] = {}
    for name, function in RULES.items():
        known = any(hasattr(each, name) for each in (torch, torch.nn.functional, torch.Tensor))
        if known and not name.startswith("_") and not name.endswith("_"):
            files.setdefault(function.__module__.rpartition(".")[2], []).append(name)
    return files


__doc__ = f"{__doc__}\n" + "\n".join(
    f"- {file}: {', '.join(f'``{name}``' for name in names)}" for file, names in operations().items()
)

__all__ = [
    "arithmetic",
    "elementwise",
    "indexing",
    "layers",
    "norms",
    "products",
    "recurrent",
    "shapes",
    "shuffles",
    "views",
]
