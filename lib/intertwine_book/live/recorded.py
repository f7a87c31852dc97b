"""The record of the symmetry explorer, which `python -m intertwine_book.live.views` writes."""

import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "_static" / "symmetries.json"

NetworkView = dict[str, Any]
"""A network as the page has it: rows, values between them, the fold, spaces, and what stays."""


def recorded() -> dict[str, NetworkView]:
    """Views by the names of public architectures, and by the switches of a block as digits.

    Example:
        >>> recorded()["GPT-2"]["dimension"]
        1198080
    """
    known: dict[str, NetworkView] = json.loads(RECORD.read_text())
    return known
