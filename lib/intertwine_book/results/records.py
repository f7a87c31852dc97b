"""The provenance of tables, and the larger runs of them that are recorded."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from intertwine_book.results.tables import RECORDED, default_folder, read


def provenance(folder: str | Path | None = None) -> pd.DataFrame:
    """The provenance of a folder's tables: first the facts that they share, then those of each.

    Example:
        >>> import tempfile
        >>> from intertwine_book.results import write
        >>> folder = tempfile.mkdtemp()
        >>> _ = write(pd.DataFrame({"x": [1]}), "swap", parameters={"width": 8}, seed=0, folder=folder)
        >>> provenance(folder).loc["parameters", "value"]
        'width 8'
    """
    folder = Path(folder or default_folder())
    tables = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("[!.]*.json"))}
    if not tables:
        raise FileNotFoundError(f"Expected tables in {folder}, found none: run what writes them.")
    for facts in tables.values():
        del facts["peak_memory_bytes"]  # of the whole process, and stated on the page already
        for fact in ("peak_device_memory_bytes", "cases", "code", "definitions", "continues"):
            facts.pop(fact, None)
    first, *others = tables.values()
    shared = [fact for fact in first if all(other[fact] == first[fact] for other in others)]
    values = {fact: _in_words(first[fact]) for fact in shared}
    for name, facts in tables.items():
        values[name] = ", ".join(f"{fact} {_in_words(facts[fact])}" for fact in facts if fact not in shared)
    return pd.DataFrame({"value": values})


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {entry}" for key, entry in value.items()) or "none"
    if isinstance(value, str) and re.match(r"[0-9a-f]{40}", value):
        return value[:12]
    return "none" if value is None else str(value)


def recorded(chapter: str, name: str) -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    """The larger runs of a table that are recorded: profile → table and provenance, the largest last.

    Records lie in `data/results` in the current folder or the nearest above it, or else in what was installed
    with this package.
    """
    here, package = Path.cwd(), Path(__file__).parents[1]
    places = [*(at / "data/results" for at in (here, *here.parents)), package / "recorded"]
    places.append(package.parents[1] / "data/results")  # of a checkout
    root = next((place for place in places if place.is_dir()), here)
    folders = {profile: root / profile / chapter for profile in RECORDED}
    return {at: read(name, folder=to) for at, to in folders.items() if (to / f"{name}.csv").is_file()}


def on_record(chapter: str, name: str) -> pd.DataFrame:
    """The largest recorded run of a table, which the text of a chapter tells of.

    Example:
        >>> "still" in on_record("06b_genni_lenet", "lenet")
        True
    """
    if found := recorded(chapter, name):
        return [*found.values()][-1][0]
    raise FileNotFoundError(
        f"Expected a recorded table {name!r} of {chapter!r}, found none in data/results: run the chapter "
        f"with `--profile desk` and record it."
    )
