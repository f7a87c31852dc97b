"""Tensors and facts in one safetensors file, written whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from intertwine import files


def save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write named tensors and whatever JSON can express.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "zoo" / "network.safetensors"
        >>> save(path, {"weight": torch.eye(2)}, {"seed": 0})
        >>> tensors, facts = load(path)
        >>> tensors["weight"].trace(), facts
        (tensor(2.), {'seed': 0})
    """
    from safetensors.torch import save_file

    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with files.write_whole(path) as part:
        save_file(contiguous, part, metadata={"facts": json.dumps(facts)})


def load(path: Path, device: torch.device | str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: something else lies there.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device=str(device)) as file:
            facts = json.loads(file.metadata()["facts"])
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError) as error:
        raise OSError(f"{path} is damaged or was not written here ({error}): delete it.") from error
