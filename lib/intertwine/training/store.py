"""Files of tensors, numbers, strings, lists and dictionaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from intertwine import files


def save(path: str | Path, content: dict[str, Any]) -> None:
    """Write a file whole or not at all.

    Example:
        >>> import tempfile
        >>> save(path := Path(tempfile.mkdtemp()) / "zoo" / "network.pt", {"weight": torch.eye(2)})
        >>> load(path)["weight"].trace()
        tensor(2.)
    """
    with files.write_whole(path) as part:
        torch.save(content, part)


def load(path: str | Path) -> dict[str, Any]:
    """Read a file of `save` to the CPU; no code in it is executed.

    Raises:
        OSError: the file is damaged, or was not written by `save`.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds
        why = str(error).partition("\n")[0]
        raise OSError(f"{path} is damaged or was not written here ({why}): delete it.") from error
