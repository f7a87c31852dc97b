"""What the symmetry explorer says of a network and its hidden spaces, in English."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from intertwine_book.live.recorded import NetworkView

REASONS = {
    "only linear maps": "only linear maps read and write it",
    "rotary positions": "rotary positions turn pairs of units",
    "blocks": "the units within them move by themselves",
    "meets copies": "each meets a copy of the same values",
    "matmul": "a matrix product pairs them",
    "softmax": "softmax does not let them mix",
    "mul": "units are multiplied one by one",
    "conv2d": "a convolution keeps channels apart",
    "max_pool2d": "max pooling acts on each unit",
    "batch_norm": "batch norm acts on each unit",
    "layer_norm": "layer norm acts on it",
    "rms_norm": "RMS norm acts on it",
    "lstm": "the LSTM acts on each unit",
    "a gain": "a gain multiplies each unit",
}
"""What each of the library's reasons (`HiddenSpace.why`) says of units."""

OF_ACTIVATIONS = {"relu": "ReLU", "silu": "SiLU", "gelu": "GELU", "hardswish": "hard swish"}
OF_ACTIVATIONS |= {"hardsigmoid": "the hard sigmoid", "NewGELUActivation": "GELU", "GELUActivation": "GELU"}
OF_ACTIVATIONS |= {"SiLUActivation": "SiLU", "tanh": "tanh", "sigmoid": "the sigmoid"}

MOVES = {
    "GL(": "any invertible matrix",
    "O(": "any orthogonal matrix",
    "Q1": "which keeps the vector of ones up to its sign",
    "ℂ": "a rotation and a scale for each pair",
    "Σ": "permutations",
    "ℝ*": "scales of any sign",
    "ℝ₊": "positive scales",
    "{±1}": "signs",
}
"""What a part of a group's symbol stands for."""

SIDES = {
    "writers": "Multiplied by an element:",
    "duals": "Multiplied by its inverse transpose:",
    "both": "Both writes and reads, so it takes no scale:",
    "readers": "Multiplied by its inverse:",
}
"""Where a space lists its weights, and the line above them."""

HEADS = {"order of heads": ("heads", "groups"), "heads that share keys": ("heads", "groups")}


def reason(why: Sequence[str], group: str) -> str:
    """Why a space has its group, and what that group does.

    Example:
        >>> reason(["gelu"], "Σ₂₅₆")
        'GELU acts on each unit: permutations'
        >>> reason(["only linear maps"], "GL(16) for each of 2")
        'only linear maps read and write it: any invertible matrix'
        >>> reason(["a rule of yours"], "Σ₄")
        'a rule of yours: permutations'
    """
    moves = ", ".join(words for symbol, words in MOVES.items() if symbol in group)
    because = "; ".join(dict.fromkeys(_because(token, group) for token in why))
    return f"{because}: {moves}" if moves else because


def _because(token: str, group: str) -> str:
    if token == "rotary positions" and "ℂ" not in group:
        return "rotary positions act in each by itself"
    if token in OF_ACTIVATIONS:
        return f"{OF_ACTIVATIONS[token]} acts on each unit"
    if token.startswith("gain of "):
        norm = token[8:].replace("rms", "RMS").replace("_", " ")
        return f"the gain of {norm} scales each unit, and all else follows the units before it"
    return REASONS.get(token, token.replace("writes and reads", "writes and reads it"))


def units(role: str, count: int, group: str) -> str:
    """How many units move together, and how often.

    Example:
        >>> units("in a head: values", 16, "GL(16) for each of 2")
        '16 units in each of 2 heads'
        >>> units("order of heads", 12, "Σ₁₂")
        '12 heads'
    """
    one, many = HEADS.get(role, ("units", "heads" if role.startswith("in a head") else "blocks"))
    times = group.partition(" for each of ")[2]
    return f"{count:,} {one}" + (f" in each of {times} {many}" if times else "")


def worded(name: str, view: NetworkView) -> NetworkView:
    """The view with its title; each space has a name that no other has, its units in words and the reason.

    Example:
        >>> from intertwine_book.live.recorded import recorded
        >>> seen = worded("GPT-2", recorded()["GPT-2"])
        >>> seen["title"], seen["spaces"][2]["moves"]
        ('GPT-2, 124 M weights', '64 units in each of 12 heads')
    """
    roles = Counter(space["role"] for space in view["spaces"])
    spaces = []
    for space in view["spaces"]:
        role, group = space["role"], space["group"]
        layer = f" ({_layer(space)})" if roles[role] > 1 else ""
        more = {"name": role + layer, "moves": units(role, space["units"], group)}
        more |= {"why": reason(space["why"], group)}
        told = {part: what for part, what in (space | more).items() if what and part != "units"}
        spaces.append({part: what for part, what in told.items() if (part, what) != ("times", 1)})
    count = view["parameters"] / 1e6
    title = f"{name}, {count:.3g} M weights" if count >= 1 else name
    return view | {"title": title, "spaces": spaces}


def _layer(space: dict[str, Any]) -> str:
    """The layer that writes it first, or else the one that reads it."""
    rows = space["writers"] + space["duals"] + space["both"] + space["readers"]
    return str(rows[0][0]).removesuffix(".weight").removesuffix(".bias")
