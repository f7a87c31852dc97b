"""Files of tensors, numbers, strings, lists and dictionaries."""

from pathlib import Path
from typing import Any

import torch

from intertwine import files


def save(path: str | Path, content: dict[str, Any]) -> None:
    """Write a file whole or not at all."""
    with files.write_whole(path) as part:
        torch.save(content, part)


def load(path: str | Path) -> dict[str, Any]:
    """Read a file of `save` to the CPU, or raise an OSError; no code in it is executed."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds
        why = str(error).partition("\n")[0]
        raise OSError(f"{path} is damaged or was not written here ({why}): delete it.") from error
