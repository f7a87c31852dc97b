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
from intertwine_book import origin
from intertwine_book.results.tables import default_folder, is_recorded, read, write

TableRows: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame


def steps(
    name: str,
    cases: Sequence[Mapping[str, Any]],
    compute: Callable[..., TableRows],
    *,
    parameters: Mapping[str, Any],
    seed: int,
    folder: str | Path | None = None,
    data_checksum: str | None = None,
    device: Any = "auto",
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

    A finished table with the same parameters (or more), seed, data, `key`, code and precision is returned as
    it is; a recorded one whatever the last two, unless it is asked for anew. Of an unfinished one, the steps
    that are done are used again if all these are the same. All else is computed anew, also what cannot be
    read.

    A table whose cases are the first ones of those asked for is continued: its rows are kept, and its
    provenance is kept in the new one, under `continues`. So one more pair of networks costs that pair alone,
    also where the steps are not at hand. Rows of an edited function are never mixed with older ones.

    Cases are keywords of `compute`, one step each; it gives a row, several, or a table, of plain numbers and
    words. Numbers and words of a case are columns of the table. The rest of it, such as networks or a
    mapping of options, decides on the rows, and so does all that `compute` holds; what that may be, `key`
    says. The other arguments are those of `write`.

    Raises:
        ValueError: before any work, for a case or a function with something that cannot be written down.
    """
    from tqdm import tqdm

    from intertwine_book.results.keys import columns, key  # torch is slow to import

    folder = Path(folder or default_folder())
    facts: dict[str, Any] = {"parameters": dict(parameters), "seed": seed, "data_checksum": data_checksum}
    own = key(cases, compute)
    code = _digest(origin.code()["library_sha256"], own.code, origin.precision())

    def digest(first: int) -> str:
        return _digest(own.cases[:first], own.held)

    definitions = _digest(own.code)  # of a notebook; experiments in modules have versions
    first, table, earlier = _finished(name, folder, facts | {"code": code}, digest, len(cases))
    if first < len(cases) and definitions != earlier.get("definitions", _digest([])):
        first, table, earlier = 0, pd.DataFrame(), {}
    if earlier and first == len(cases):
        return table
    kept = Path(os.environ.get("INTERTWINE_STEPS") or folder / ".steps")
    place = kept / _digest(name, facts, own.held, code)
    rows, seconds = table.to_dict("records"), earlier.get("wall_s") or 0.0
    log = os.environ.get("INTERTWINE_LOG")  # in a build, where the chapter says how far it is
    with Path(log).open("a") if log else nullcontext() as stream:
        progress = tqdm(cases[first:], name, unit="step", file=stream, ascii=True, disable=not log)
        for case, written in zip(progress, own.cases[first:], strict=True):
            path = place / f"{_digest(written)}.json"
            done = _read(lambda at: json.loads(at.read_text()), path) if path.is_file() else None
            if not done:
                done = _done(case, compute)
                with files.write_whole(path) as part:
                    part.write_text(json.dumps(done))
            rows += [{**columns(case), **row} for row in done["rows"]]
            seconds += done["seconds"]
    table = pd.DataFrame(rows)
    made_by: dict[str, Any] = {"cases": digest(len(cases)), "code": code, "definitions": definitions}
    made_by |= {"continues": earlier} if earlier else {}
    write(table, name, **facts, folder=folder, device=device, wall_s=seconds, made_by=made_by)
    return table


def _finished(
    name: str, folder: Path, facts: Mapping[str, Any], cases: Callable[[int], str], most: int
) -> tuple[int, pd.DataFrame, dict[str, Any]]:
    """A finished table: how many of the cases, the first ones, it has, and its provenance; else none.

    `cases` gives the digest by which the rows of the first so many are recognised.
    """
    if (folder / f"{name}.csv").is_file() and (found := _read(read, name, folder=folder)):
        table, known = found
        wanted = json.loads(json.dumps(facts))
        wanted["parameters"] = known["parameters"] | wanted["parameters"]
        if is_recorded(folder) and name not in os.environ.get("INTERTWINE_ANEW", "").split():  # of --anew
            del wanted["code"]
        if all(known.get(fact) == value for fact, value in wanted.items()):
            for first in range(most, 0, -1):
                if known.get("cases") == cases(first):
                    return first, table, known
    return 0, pd.DataFrame(), {}


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
