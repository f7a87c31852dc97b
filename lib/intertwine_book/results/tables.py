"""Writing and reading a table together with its provenance."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from intertwine import files
from intertwine_book import origin

PROFILES = ("smoke", "quick", "desk", "paper")  # by nearness to the papers
RECORDED = ("desk", "paper")  # their tables are committed
MOST_RECORDED = 1_000_000  # bytes in one folder of tables that are committed
# pandas before 3.1 rounds what it reads unless it is told not to; later ones do not, and deprecate the option
_EXACTLY: dict[str, Any] = {}
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    _EXACTLY["float_precision"] = "round_trip"


def default_folder(chapter: str = "") -> Path:
    """The folder of a run's tables: `INTERTWINE_RESULTS`, else `results/<chapter>` in the current folder."""
    return Path(os.environ.get("INTERTWINE_RESULTS") or Path("results", chapter))


def is_recorded(folder: Path) -> bool:
    """Whether tables of this folder are committed: it is `<profile>/<chapter>` of a recorded profile."""
    return folder.parent.name in RECORDED


def write(
    table: pd.DataFrame,
    name: str,
    *,
    parameters: Mapping[str, Any],
    seed: int,
    folder: str | Path | None = None,
    data_checksum: str | None = None,
    device: Any = "auto",
    wall_s: float | None = None,
    made_by: Mapping[str, Any] | None = None,
) -> Path:
    """Write `<name>.csv` and its provenance `<name>.json`, each whole or not at all.

    The provenance holds the table's hash, so that a pair torn by a crash, or altered later, is never read.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> table = pd.DataFrame({"alpha": [0.5, 2.0], "holds": [True, True]})
        >>> write(table, "scale", parameters={"width": 8}, seed=0, folder=folder, device="cpu").name
        'scale.csv'
        >>> again, provenance = read("scale", folder=folder)
        >>> again.equals(table), provenance["parameters"]
        (True, {'width': 8})

    Args:
        table: numbers, booleans and words, one row per trial; its index is not written.
        name: lower-case letters, digits and underscores.
        parameters: all that decides on the rows, as JSON can express it.
        folder: `default_folder()` when not given; a recorded one holds at most 1 MB.
        wall_s: seconds that the computation took.
        made_by: by which `steps` recognises a finished table, and the provenance of rows that it kept.
    """
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(f"Expected a table name of lower-case letters, digits and _, was given '{name}'.")
    if any(level is not None for level in table.index.names):
        raise ValueError(
            f"Expected a table whose columns say everything, was given '{name}' indexed by "
            f"{', '.join(map(str, table.index.names))}: call reset_index() first."
        )
    folder = Path(folder or default_folder())
    content = table.to_csv(index=False, lineterminator="\n").encode()
    provenance = {
        "rows": len(table),
        "parameters": dict(parameters),
        "seed": seed,
        "data_checksum": data_checksum,
        **origin.environment(device),
        **origin.code(),
        "wall_s": None if wall_s is None else round(wall_s, 3),
        **(made_by or {}),
        "date": datetime.now(UTC).date().isoformat(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    try:
        seal = (json.dumps(provenance, indent=1) + "\n").encode()
    except TypeError as error:
        raise TypeError(f"Expected parameters of '{name}' that JSON can express: {error}.") from None
    contents = {folder / f"{name}.csv": content, folder / f"{name}.json": seal}
    others = {*folder.glob("[!.]*.csv"), *folder.glob("[!.]*.json")} - set(contents)
    size = sum(path.stat().st_size for path in others) + len(content) + len(seal)
    if size > MOST_RECORDED and is_recorded(folder):
        raise ValueError(
            f"Expected at most {MOST_RECORDED / 1e6:g} MB of tables in {folder}, which with the "
            f"{len(table)} rows of '{name}' would hold {size / 1e6:.1f} MB: "
            "write fewer rows, or a summary of them."
        )
    for path, whole in contents.items():
        with files.write_whole(path) as part:
            part.write_bytes(whole)
    return folder / f"{name}.csv"


def read(name: str, *, folder: str | Path | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table and its provenance, as `write` left them; a ValueError where they do not belong together."""
    folder = Path(folder or default_folder())
    path = folder / f"{name}.csv"
    if not path.is_file():
        known = ", ".join(sorted(other.stem for other in folder.glob("[!.]*.csv"))) or "none"
        raise FileNotFoundError(f"Expected a table '{name}' in {folder}, found {known}: run what writes it.")
    again = "run what writes it again"
    try:
        provenance = json.loads(path.with_suffix(".json").read_text())
    except FileNotFoundError:
        raise ValueError(f"Table {name}.csv has no provenance {name}.json beside it: {again}.") from None
    except json.JSONDecodeError:
        raise ValueError(f"The provenance {name}.json of table {name}.csv is not JSON: {again}.") from None
    content = path.read_bytes()
    if provenance["sha256"] != hashlib.sha256(content).hexdigest():
        raise ValueError(
            f"Table {name}.csv is not the one that {name}.json describes, it was altered: {again}."
        )
    table = pd.read_csv(BytesIO(content), keep_default_na=False, na_values=[""], **_EXACTLY)
    return table, provenance
