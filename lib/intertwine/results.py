"""Tables with provenance."""

from __future__ import annotations

import platform
import resource
import sys
from typing import Any

import torch

import intertwine
from intertwine import devices


def environment(device: str | torch.device = "auto") -> dict[str, Any]:
    """What a result was computed with: versions, device, threads, peak memory of this process so far.

    Example:
        >>> environment("cpu")["torch"] == torch.__version__
        True
    """
    chosen = devices.pick(device)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB elsewhere
    name = (
        torch.cuda.get_device_name(chosen)
        if chosen.type == "cuda"
        else f"{torch.get_num_threads()} CPU thread{'s' * (torch.get_num_threads() > 1)}"
    )
    return {
        "intertwine": intertwine.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "device": name,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    }
