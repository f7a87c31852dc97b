"""Tables that are their own cache: a row is found by its case, and says which code made it, and when."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from intertwine import files
from intertwine_book import origin
from intertwine_book.code_hash import code_of
from intertwine_book.tidy import Case, apart, cases_of, key, plain, plan, read, taken_out

PROVENANCE = ["code", "uses", "day", "commit", "machine", "seconds"]
"""The last columns of each row: hash of the code, digests of networks and data, and where it was computed."""
STEP = "{desc}: {n_fmt} of {total_fmt} cases, {remaining} left"
"""What a table that is being computed writes into the log of a build, which shows it."""
NOT_KEPT = "not kept"
"""What `uses` says where the networks of a row are lost."""
Compute = Callable[..., Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame]


class Record:
    """The tables of one record.

    Example:
        >>> import tempfile
        >>> record = Record(own=tempfile.mkdtemp())
        >>> @record.table(side=[1, 2, 3])
        ... def squares(side):
        ...     return {"area": side**2}
        squares: 0 rows; 3 of 3 cases are missing
        squares: 3 cases computed
        >>> squares["area"].tolist()
        [1, 4, 9]

    Args:
        kept: the folder of the rows that come with the book. A row of it that other code made is used, and
            counted in what `table` prints.
        own: a folder of one's own, for rows that are to come from the present code: cases that no row of this
            code has, here or in `kept`, are computed into it, and count instead of the kept ones.
        writes: whether missing cases are computed: into `own`, or else `kept`. By default into `own` alone.
    """

    def __init__(
        self, kept: str | Path | None = None, own: str | Path | None = None, *, writes: bool | None = None
    ) -> None:
        self.kept, self.own = (Path(place) if place else None for place in (kept, own))
        allowed = self.own is not None if writes is None else writes
        self.folder = (self.own or self.kept) if allowed else None
        self._used: list[str] = []
        self._tables: dict[str, tuple[Compute, list[str], str]] = {}
        self._computed: dict[str, int] = {}  # rows by table, since this began

    @classmethod
    def at(cls, name: str, scale: str, own: str | Path = "") -> "Record":
        """The record of a name, in the folders that the scale of a notebook asks for.

        At *smoke* all is computed, into a folder of the build; at *quick* nothing is; at *desk* and *paper*
        what is missing, into `own` or among the rows that come with the book.
        """
        if scale == "smoke":
            return cls(own=own or os.environ.get("INTERTWINE_RESULTS") or "results")
        return cls(kept_folder() / name, own or None, writes=scale in ("desk", "paper"))

    def table(self, cases: Sequence[Case] = ({},), **product: Iterable[Any]) -> Callable[..., pd.DataFrame]:
        """A decorator: the rows of a function, of one call for each case.

        `cases` are mappings with equal keys, `product` lists of values; every combination is a case. The
        function takes a case as keywords and gives a row, several, or a table; its name is the table's. Then
        the name stands for the table with all rows on record, those of other cases too.

        Neighbours in the plan share what functions under `functools.lru_cache` make; the first names of the
        product change slowest, and the list of cases fastest.

        Raises:
            ValueError: before any work, for cases with other columns than the first, a column that is in
                both, a value that is neither number nor word, or no row at a scale that computes none.
        """
        wanted = plan(cases, product, PROVENANCE)

        def decorate(compute: Compute) -> pd.DataFrame:
            name, keys, code = compute.__name__, [*wanted[0]] if wanted else [], code_of(compute)
            self._tables[name] = compute, keys, code
            missing = self._missing(name, wanted)
            if self.kept and not self.folder and len(missing) == len(wanted) and self.read(name).empty:
                raise ValueError(
                    f"Expected rows of {name} on record, found none, and this scale computes none: run the "
                    f"record at desk, which writes {self.kept / name}.csv."
                )
            print(self._told(name, len(wanted), len(missing)))
            self._notice(name, bool(missing))
            log = os.environ.get("INTERTWINE_LOG")  # of a build
            with Path(log).open("a") if log else nullcontext() as stream:
                todo = missing if self.folder else []
                for case in tqdm(todo, name, mininterval=0, file=stream, bar_format=STEP, disable=not log):
                    if self._missing(name, [case]):  # or another process was faster
                        self._write(name, self._rows(name, case))
            if todo:
                print(f"{name}: {len(todo)} cases computed")
            table = self.read(name).drop(columns=PROVENANCE, errors="ignore")
            table.attrs["table"] = name  # claims about some of its rows link to it
            return table

        return decorate

    def uses(self, *things: Any) -> None:
        """Say which networks and data sets the row that is being computed is made from.

        Their digests stand in its column `uses`: so a row can be traced to networks that are kept.

        Raises:
            ValueError: a thing is neither a network nor a data set.
        """
        if strange := [
            each for each in things if not (hasattr(each, "state_dict") or hasattr(each, "checksum"))
        ]:
            raise ValueError(f"Expected networks and data sets, was given {strange[0]!r}.")
        self._used = [*dict.fromkeys([*self._used, *map(used, things)])]

    def read(self, name: str) -> pd.DataFrame:
        """All rows of a table on record, with their provenance."""
        _, keys, code = self._tables[name]
        kept, own = (
            read(place / f"{name}.csv") if place else pd.DataFrame() for place in (self.kept, self.own)
        )
        if len(own):
            own = own[own["code"] == code]  # others wait in the file for their code
        if len(own) and len(kept):
            anew = set(cases_of(own, keys))
            kept = kept[[case not in anew for case in cases_of(kept, keys)]]
        parts = [part for part in (kept, own) if len(part)]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def verify(self, name: str, cases: int = 2, *, within: float | Mapping[str, float]) -> pd.DataFrame:
        """Compute some cases again, those of other code first, and compare them with the rows on record.

        Rows that are reproduced keep their values and get the stamp of the present code. `within` is how far
        numbers may be apart, for each column or for all. The result has a row for each case: its columns,
        `apart`, the largest difference in units of what is allowed, and `reproduced`.

        Raises:
            ValueError: this scale writes nothing, or there is no such table.
        """
        if not self.folder or name not in self._tables or read(self.folder / f"{name}.csv").empty:
            raise ValueError(
                f"Expected a table of this record ({', '.join(self._tables) or 'it has none'}) at a scale "
                f"that writes, with rows, was given {name!r}: run the record at desk."
            )
        _, keys, code = self._tables[name]
        rows = read(self.folder / f"{name}.csv")
        rows = rows.assign(late=rows["code"] == code).sort_values("late", kind="stable").drop(columns="late")
        found = []
        for row in rows.drop_duplicates(keys).head(cases)[keys].to_dict("records"):
            case = {column: plain(value) for column, value in row.items()}
            again = self._rows(name, case)
            known = rows[[at == key(case, keys) for at in cases_of(rows, keys)]].reset_index(drop=True)
            values = [column for column in again if column not in (*keys, *PROVENANCE)]
            far = apart(known[values], again[values], within)
            if far <= 1:
                self._write(name, known.assign(**{column: again[column] for column in PROVENANCE}))
            found.append({**case, "apart": far, "reproduced": far <= 1})
        return pd.DataFrame(found)

    def computed(self) -> str:
        """Which tables this run computed, and how many rows of each, in a sentence for its end."""
        rows = ", ".join(f"{count} of {name}" for name, count in self._computed.items())
        return f"Rows computed in this run: {rows or 'none'}."

    def _rows(self, name: str, case: Case) -> pd.DataFrame:
        """The rows of one case, computed now."""
        compute, _, code = self._tables[name]
        self._used, start = [], time.perf_counter()
        made = compute(**case)
        table = pd.DataFrame([made] if isinstance(made, Mapping) else made)
        if table.empty:
            raise ValueError(f"Expected a row at least from {name}, was given none for {dict(case)}.")
        if twice := sorted({*table} & {*case, *PROVENANCE}):
            raise ValueError(
                f"Expected columns of its own from {name}, was given '{twice[0]}', which the plan or the "
                f"provenance has: rename it."
            )
        seconds = round(time.perf_counter() - start, 6)
        stamp = {"code": code, "uses": " ".join(self._used), **_here(), "seconds": seconds}
        return pd.DataFrame([{**case, **row, **stamp} for row in table.to_dict("records")])

    def _missing(self, name: str, wanted: Sequence[Case]) -> list[Case]:
        """The cases that no usable row has."""
        rows, (_, keys, code) = self.read(name), self._tables[name]
        if len(rows) and (lost := [column for column in keys if column not in rows]):
            raise ValueError(
                f"Expected the column '{lost[0]}' in {name}.csv, whose rows are older than it: add it to the "
                f"file, with the value that they were computed with."
            )
        usable = rows[rows["code"] == code] if len(rows) and self.own else rows
        known = set(cases_of(usable, keys)) if len(usable) else set()
        return [case for case in wanted if key(case, keys) not in known]

    def _notice(self, name: str, missing: bool) -> None:
        """Say that a column was taken out of the plan, before rows of its other values would be replaced."""
        rows, (_, keys, _) = self.read(name), self._tables[name]
        if gone := taken_out(rows, keys, PROVENANCE) if keys and len(rows) else []:
            sentence = (
                f"{name}.csv has cases with several values of {' or '.join(gone)}, which the plan has not: "
                f"put it back, or delete the rows of its other values. (Was it never in it? Then the columns "
                f"of the plan belong to the left of the file.)"
            )
            if missing and self.folder:
                raise ValueError(sentence)
            print(sentence)

    def _write(self, name: str, new: pd.DataFrame) -> None:
        """Write rows into the table's file, in the place of those of the same cases."""
        assert self.folder is not None
        path, (_, keys, code) = self.folder / f"{name}.csv", self._tables[name]
        self._computed[name] = self._computed.get(name, 0) + len(new)
        with files.lock(path):
            old = read(path)
            if len(old):
                again = set(cases_of(new, keys))
                mine = (old["code"] == code) | (self.own is None)  # own rows of other code wait for it
                same = pd.Series([case in again for case in cases_of(old, keys)], old.index)
                old = old[~(same & mine)]
            table = pd.concat([old, new], ignore_index=True) if len(old) else new
            table = table[[column for column in table if column not in PROVENANCE] + PROVENANCE]
            with files.write_whole(path) as part:
                table.to_csv(part, index=False)

    def _told(self, name: str, wanted: int, missing: int) -> str:
        """How many rows there are, which of them other code made, and what the missing ones will take."""
        rows, code = self.read(name), self._tables[name][2]
        words, cost = [f"{name}: {len(rows)} rows"], ""
        if len(rows):
            words += [f"{k} by earlier code"] if (k := int((rows["code"] != code).sum())) else []
            lost = int((rows["uses"] == NOT_KEPT).sum())
            words += [f"{lost} of networks that are not kept, which nobody can verify"] if lost else []
            cost = f", about {missing * rows['seconds'].mean() / 3600:.1f} h where these were computed"
        words += [f"{missing} of {wanted} cases are missing{cost}"] if missing else []
        return "; ".join(words)


def used(thing: Any) -> str:
    """Eight hexadecimal digits of a network's weights and buffers, or of a data set."""
    if hasattr(thing, "state_dict"):
        from intertwine.data.dataset import tensor_digest  # torch is slow to import

        return tensor_digest(*thing.state_dict().values())[:8]
    return str(thing.checksum)[:8]


def kept_folder() -> Path:
    """The tables that come with the book: of the checkout around the current folder, or installed."""
    here, package = Path.cwd(), Path(__file__).parent
    places = [*(at / "data/results" for at in (here, *here.parents)), package / "recorded"]
    return next((place for place in places if place.is_dir()), package.parents[1] / "data/results")


@cache
def _here() -> dict[str, str]:
    """Day, commit and machine."""
    import torch

    threads = torch.get_num_threads()
    cpu = f"{threads} CPU thread{'s' * (threads > 1)}"
    machine = torch.cuda.get_device_name() if torch.cuda.is_initialized() else cpu  # if it computed there
    return {"day": time.strftime("%Y-%m-%d"), "commit": (origin.commit() or "")[:7], "machine": machine}


def on_record(record: str, name: str) -> pd.DataFrame:
    """The recorded rows of a table, which a chapter draws.

    Example:
        >>> sorted(on_record("03_stitching", "lines")["width"].unique().tolist())
        [16, 32, 64]

    Raises:
        FileNotFoundError: there is no such table.
    """
    path = kept_folder() / record / f"{name}.csv"
    if not path.is_file():
        raise FileNotFoundError(f"Expected a recorded table {path}, found none: run the record at desk.")
    return read(path).drop(columns=PROVENANCE)
