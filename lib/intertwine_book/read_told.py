"""What records wrote for other pages: claims with their verdicts, and facts."""

import json
from pathlib import Path
from typing import Any

from intertwine_book.claims.claim import Claim, Erratum
from intertwine_book.claims.rules import Verdict

Judged = tuple[Claim, Verdict]


def read_told(path: Path) -> tuple[list[Judged], dict[str, Any]]:
    """The claims with their verdicts, before any correction, and the facts that a record wrote."""
    content = json.loads(path.read_text())
    judged = []
    for entry in content["claims"]:
        claim, found = ({**entry[name]} for name in ("claim", "verdict"))
        if claim.get("erratum"):
            claim["erratum"] = Erratum(**claim["erratum"])
        if found.get("interval"):
            found["interval"] = tuple(found["interval"])
        judged.append((Claim(**claim), Verdict(**found)))
    return judged, content["facts"]


def read_all(results: Path, without: str = "") -> list[Judged]:
    """The claims of all records below a folder of results, but for those of one that is named."""
    paths = sorted(results.glob("*/told.json"))
    return [each for path in paths if path.parent.name != without for each in read_told(path)[0]]
