"""What records wrote for other pages: claims with their verdicts, and facts."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from intertwine_book.claims.claim import Claim, Erratum
from intertwine_book.claims.rules import Verdict

Judged = tuple[Claim, Verdict]


def read_told(path: Path) -> tuple[list[Judged], dict[str, Any]]:
    """The claims with their verdicts, before any correction, and the facts that a record wrote.

    What an earlier edition wrote of a claim beside its fields is passed over; a field that is missing raises
    a TypeError.
    """
    content = json.loads(path.read_text())
    judged = []
    for entry in content["claims"]:
        claim, found = ({**entry[name]} for name in ("claim", "verdict"))
        if claim.get("erratum"):
            claim["erratum"] = Erratum(**claim["erratum"])
        if found.get("interval"):
            found["interval"] = tuple(found["interval"])
        judged.append((Claim(**_known(Claim, claim)), Verdict(**_known(Verdict, found))))
    return judged, content["facts"]


def read_all(results: Path, without: str = "") -> list[Judged]:
    """The claims of all records below a folder of results, but for those of one that is named."""
    paths = sorted(results.glob("*/told.json"))
    return [each for path in paths if path.parent.name != without for each in read_told(path)[0]]


def _known(kind: type, given: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in given.items() if name in names}
