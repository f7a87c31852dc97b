"""The folder in which data sets, published networks and the zoo lie."""

import os
from pathlib import Path


def data_root(root: str | Path | None) -> Path:
    """`root` if given, else the environment variable INTERTWINE_DATA, else a folder in the user's cache."""
    asked = root or os.environ.get("INTERTWINE_DATA")
    if not asked:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "intertwine"
    folder = Path(asked).expanduser()
    if not folder.is_dir():
        how = "the argument `root`" if root else "the environment variable INTERTWINE_DATA"
        raise FileNotFoundError(
            f"The data root {folder}, given by {how}, is not a folder: "
            "create it (data sets are downloaded into it) or name the folder that holds them."
        )
    return folder
