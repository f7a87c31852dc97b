"""Public architectures, untrained and of full size, and the dimensions of their groups."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from intertwine.weightspace import HiddenSpace, find_symmetries
from intertwine_book.experiments.any_network import models

LANGUAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "GPT-2": ("GPT2LMHeadModel", "GPT2Config", {}),
    "BERT": ("BertModel", "BertConfig", {}),
    "SmolLM-135M": (
        "LlamaForCausalLM",
        "LlamaConfig",
        {
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "vocab_size": 49152,
            "tie_word_embeddings": True,
        },
    ),
}
"""Name → class, configuration and options in `transformers`, which has to be installed for these alone."""


def check(names: Iterable[str]) -> None:
    """Raise unless `build` can make networks of these names here; see `models.check`."""
    asked = set(names)
    if asked & set(LANGUAGE) and find_spec("transformers") is None:
        raise ModuleNotFoundError(
            f"{min(asked & set(LANGUAGE))} is a network of transformers, which is missing: "
            "pip install transformers, or leave it out."
        )
    models.check(asked - set(LANGUAGE))


def build(name: str) -> tuple[nn.Module, torch.Tensor]:
    """A network of `LANGUAGE` or of torchvision, without a download, and an input for it.

    Example:
        >>> build("squeezenet1_1")[1].shape
        torch.Size([1, 3, 64, 64])
    """
    torch.manual_seed(0)
    if name in LANGUAGE:
        library, (model, config, options) = import_module("transformers"), LANGUAGE[name]
        return getattr(library, model)(getattr(library, config)(**options)).eval(), torch.arange(12)[None]
    size = 224 if name.startswith("vit") else 64  # a ViT has positions for one size only
    model = getattr(import_module("torchvision.models"), name)(weights=None)
    return model.eval(), torch.randn(1, 3, size, size)


def dimensions(name: str) -> dict[str, float]:
    """Millions of parameters, the number of hidden spaces, and the dimension of the group by what acts.

    Example:
        >>> dimensions("squeezenet1_1")["scalars"]
        2944

    Columns parameters, spaces, scalars, heads (matrices within blocks), stream (orthogonal matrices), other
    (all other matrices).
    """
    model, inputs = build(name)
    spaces = find_symmetries(model, inputs).spaces
    parameters = sum(p.numel() for p in model.parameters())
    found = dict.fromkeys(("scalars", "heads", "stream", "other"), 0)
    for each in spaces:
        found[kind(each)] += each.dimension
    return {"parameters": parameters / 1e6, "spaces": len(spaces), **found}


def kind(space: HiddenSpace) -> str:
    """What acts on a hidden space: scalars, or matrices inside heads, on a stream, or elsewhere."""
    if space.matrices is None:
        return "scalars"
    if space.base is not None:
        return "heads"
    return "stream" if space.matrices.symbol.startswith("O(") else "other"
