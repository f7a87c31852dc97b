"""A table from many long steps, each of them stored: an interrupted run continues, a finished is found."""

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from intertwine import files
from intertwine_book.results import origin
from intertwine_book.results.sources import source
from intertwine_book.results.tables import default_folder, is_recorded, read, write

Rows: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame


def steps(
    name: str,
    cases: Sequence[Mapping[str, Any]],
    compute: Callable[..., Rows],
    *,
    parameters: Mapping[str, Any],
    seed: int,
    folder: str | Path | None = None,
    data_checksum: str | None = None,
    device: Any = "auto",
    keep: bool | None = None,
) -> pd.DataFrame:
    """The table whose rows are each case followed by the values of `compute(**case)`, written by `write`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> def square(side):
        ...     return {"area": side**2}
        >>> facts = {"parameters": {"sides": 2}, "seed": 0, "folder": folder}
        >>> steps("squares", [{"side": 2}, {"side": 3}], square, **facts)["area"].tolist()
        [4, 9]
        >>> again = steps("squares", [{"side": 2}, {"side": 3}], square, **facts)  # found, not computed

    In a build of the book, or with a `folder`, a finished table with the same parameters (or more), seed,
    data and code is returned as it is; a recorded one whatever code computed it, unless it is asked for anew.
    Of an unfinished one, the steps that are done are used again if the code is the same: of the modules, and
    of the cells that `compute` rests on. All else is computed anew, also what cannot be read.

    Cases are keywords of `compute`, as JSON can express them, one step each; it gives a row, several, or a
    table, of plain numbers and words. Parameters are all that decides on the rows, beside the cases. The
    other arguments are those of `write`.
    """
    from tqdm import tqdm

    store = bool(folder or os.environ.get("INTERTWINE_RESULTS")) if keep is None else keep
    folder = Path(folder or default_folder())
    key = {"parameters": dict(parameters), "seed": seed, "data_checksum": data_checksum}
    code = _digest(origin.code()["library_sha256"], source(compute))
    if store and (folder / f"{name}.csv").is_file() and (found := _read(read, name, folder=folder)):
        table, known = found
        wanted = json.loads(json.dumps(key | {"cases": _digest(list(cases))}))
        wanted["parameters"] = known["parameters"] | wanted["parameters"]
        anew = name in os.environ.get("INTERTWINE_ANEW", "").split()  # `intertwine build --anew`
        wanted |= {} if is_recorded(folder) and not anew else {"code": code}
        if all(known.get(fact) == value for fact, value in wanted.items()):
            return table
    kept = Path(os.environ.get("INTERTWINE_STEPS") or folder / ".steps")
    place = kept / _digest(name, key, code)
    rows, seconds = [], 0.0
    log = os.environ.get("INTERTWINE_LOG")  # in a build, where the chapter says how far it is
    with Path(log).open("a") if log else nullcontext() as stream:
        for case in tqdm(cases, name, unit="step", file=stream, ascii=True, disable=not log):
            path = place / f"{_digest(case)}.json"
            done = _read(lambda at: json.loads(at.read_text()), path) if store and path.is_file() else None
            if not done:
                done = _done(case, compute)
                if store:
                    with files.write_whole(path) as part:
                        part.write_text(json.dumps(done))
            rows += [{**case, **row} for row in done["rows"]]
            seconds += done["seconds"]
    table = pd.DataFrame(rows)
    facts: dict[str, Any] = {"data_checksum": data_checksum, "device": device, "wall_s": seconds}
    facts |= {"cases": _digest(list(cases)), "code": code}
    write(table, name, parameters=parameters, seed=seed, folder=folder, **facts)
    return table


def _digest(*parts: Any) -> str:
    return files.digest(*parts)[:16]


def _read(reader: Callable[..., Any], *what: Any, **where: Any) -> Any:
    """What a reader gives; nothing, with a warning, of a file that was torn or altered."""
    try:
        return reader(*what, **where)
    except ValueError as error:  # also json's
        warnings.warn(f"{what[0]} cannot be read and is computed anew: {error}", stacklevel=3)
        return None


def _done(case: Mapping[str, Any], compute: Callable[..., Any]) -> dict[str, Any]:
    start = time.perf_counter()
    made = compute(**case)
    if isinstance(made, pd.DataFrame):
        made = made.to_dict("records")
    rows = [made] if isinstance(made, Mapping) else list(made)
    # through JSON, so that a row is the same whether it was computed now or before
    rows = json.loads(json.dumps([dict(row) for row in rows], default=lambda number: number.item()))
    return {"rows": rows, "seconds": time.perf_counter() - start}
