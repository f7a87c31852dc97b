"""Origin of a result: versions, device, the content of the code, the commit."""

import os
import platform
import resource
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import intertwine
from intertwine import files

LIBRARY = Path(intertwine.__file__).parent.parent  # it holds both packages
PACKAGES = ("intertwine", "intertwine_book")


def environment(device: Any = "auto") -> dict[str, Any]:
    """The environment of a result: versions, device, threads, peak memory of this process so far.

    On a GPU also that of its own memory.

    Example:
        >>> import torch
        >>> environment("cpu")["torch"] == torch.__version__
        True
    """
    import torch  # not at the top: reading tables needs none of it

    from intertwine import devices

    chosen = devices.pick(device)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB elsewhere
    threads = torch.get_num_threads()
    cpu = f"{threads} CPU thread{'s' * (threads > 1)}"
    gpu = chosen.type == "cuda"
    name = torch.cuda.get_device_name(chosen) if gpu else cpu
    return {
        "intertwine": intertwine.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        **{package: version(package) for package in ("numpy", "scipy", "pandas")},
        "device": name,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        **({"peak_device_memory_bytes": torch.cuda.max_memory_allocated(chosen)} if gpu else {}),
    }


def library_digest(library: Path = LIBRARY) -> str:
    """Content hash of the source of both packages, in Python and in JavaScript."""
    return files.digest(*(files.tree_digest(library / package, "**/*.[pj][ys]") for package in PACKAGES))


def precision() -> str:
    """What INTERTWINE_DTYPE asks for in the place of `devices.precision`: networks that it trains differ."""
    return os.environ.get("INTERTWINE_DTYPE", "auto")


@cache
def commit() -> str | None:
    """The commit of the library's checkout, if any; `-dirty` if other files than results differ.

    It is asked for once, since edits made later do not run.
    """

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(LIBRARY), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    try:  # an installed library may lie, untracked, inside somebody else's checkout
        git("ls-files", "--error-unmatch", "intertwine/__init__.py")
        changed = git("diff", "--name-only", "HEAD", "--", ":/", ":(top,exclude)data/results")
        return git("rev-parse", "HEAD") + "-dirty" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return None
