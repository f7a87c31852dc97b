"""Statements beside their evidence: a printed one judged, one of ours checked, a number given a name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from IPython.display import HTML

from intertwine import files
from intertwine_book.claims.claim import READING, claim_from
from intertwine_book.claims.corrected import corrected
from intertwine_book.claims.rules import Verdict, check_scale, judge_rows
from intertwine_book.claims.table import table_of
from intertwine_book.read_told import Judged, read_all, read_told
from intertwine_book.record import Record, kept_folder
from intertwine_book.tidy import text

Compared: TypeAlias = pd.DataFrame | float | int


class Told:
    """What a record says: claims with their verdicts, checked sentences, and facts for other pages.

    Example:
        >>> import tempfile
        >>> told = Told(Record(tempfile.mkdtemp()), "02_x", "quick")
        >>> rows = pd.DataFrame({"pair": [0, 1, 2], "width": 16, "penalty": [7.4, 7.9, 8.1]})
        >>> of = {"paper": "godfrey2022", "place": "Figure 1", "link": "rec-figure-1"}
        >>> told.claim(
        ...     "group", "The group loses 8 points.", rows, "penalty", printed=8.0, error=1.0, matters=1,
        ...     scale={"width": 64}, **of
        ... )
        'consistent'
        >>> told.check("Each pair loses less than 10 points.", rows["penalty"] < 10)
        >>> told.say(lost=rows["penalty"].mean())
        >>> told.facts
        {'lost': 7.8}

    `scale` is that of the notebook: at *smoke*, or with rows of one's own, no sentence counts as false.
    """

    def __init__(self, record: Record, name: str, scale: str) -> None:
        self.record, self.name = record, name
        self.strict = scale != "smoke" and record.own is None
        self.judged: list[Judged] = []  # before the correction for their number
        self.facts: dict[str, Any] = {}
        self.checks: list[str] = []
        self._false: list[str] = []
        self._rows: list[list[dict[str, Any]]] = []  # of each claim, what tells its rows from others
        self._shown = 0

    def claim(
        self,
        id: str,
        statement: str,
        rows: Compared | tuple[Compared, Compared] | None = None,
        value: str = "",
        *,
        paper: str,
        place: str,
        link: str,
        kind: str | None = None,
        per: str | None = "pair",
        printed: float | int | None = None,
        error: float | int | None = None,
        error_from: str = READING,
        interval: Sequence[float] | None = None,
        matters: float | int | None = None,
        scale: Mapping[str, Any] | None = None,
        trials: int | None = None,
        because: str | None = None,
        reason: str | None = None,
        erratum: Mapping[str, str] | None = None,
        cases: Sequence[str] = (),
        whose: str = "paper",
        words: Mapping[str, str] | None = None,
        resolution: float | None = None,
        noise: float | None = None,
    ) -> str:
        """Judge a statement by the rows that it is about; the word is that before any correction.

        Of rows and a `printed` number: the mean over trials is this number. Of two sets of rows, or rows and
        a number: the first exceed the second, on average over trials. Of rows and a `kind`, *universal* or
        *existence*: a column of booleans is true in each row or in one, or one of residuals is nowhere or
        somewhere above `error`. With `because` it is not judged, and says why.

        Args:
            id, paper, place, statement, matters, reason, erratum, whose, words, resolution, noise: as the
                fields of `claims.Claim`.
            value: the column that is judged.
            link: the label of the record's section.
            per: the column that tells independent trials apart; the rows of one are averaged.
            error, error_from, interval: of the printed value, or of residuals.
            scale: values of columns in the paper's experiment. Where the rows have others, the verdict is one
                at another scale, and the difference is shown.
            trials: how many independent ones the paper has; shown, as fewer make intervals wider.
            cases: of *universal* and *existence*, columns that name the row that decides: the verdict shows
                them, and the sentence `found` of an erratum may.

        Raises:
            ValueError: the id is taken, a field is wrong, or two sides have not the same trials.
        """
        if any(id == claim.id for claim, _ in self.judged):
            raise ValueError(f"Expected an id of its own, was given '{id}' twice.")
        sides = rows if isinstance(rows, tuple) else (rows,)
        tables = [side for side in sides if isinstance(side, pd.DataFrame)]
        if strange := [side for side in tables if not side.empty and value not in side]:
            known = ", ".join(strange[0])
            raise ValueError(f"Claim '{id}': expected a column of {known}, was given '{value}'.")
        kind = kind or ("ordering" if isinstance(rows, tuple) else "number")
        names = [value, *cases]
        if kind == "ordering" and tables:
            names, judged = _sides(id, sides, value, per)
        else:
            judged = tables[0].reset_index(drop=True) if tables else pd.DataFrame()
        table = next((each.attrs["table"] for each in tables if "table" in each.attrs), id)
        given: dict[str, Any] = {"id": id, "paper": paper, "place": place, "link": link, "kind": kind}
        given |= {"statement": statement, "reason": reason, "words": words, "whose": whose}
        given |= {"chapter": f"records/{self.name}", "table": table, "columns": names}
        given |= {"trial": per, "printed": printed, "tolerance": error, "printed_interval": interval}
        given |= {"tolerance_from": error_from if error is not None else None, "matters": matters}
        given |= {"resolution": resolution, "noise": noise}
        given |= {"not_judged": because, "erratum": erratum, "protocol": dict(scale) if scale else None}
        claim = claim_from({name: entry for name, entry in given.items() if entry is not None})
        if because:
            found = Verdict("not judged", because)
        elif not tables or judged.empty:
            found = Verdict("not yet measured", "No row is on record.")
        else:
            if self.strict:
                check_scale(claim, judged)
            found = judge_rows(claim, judged)
            differs = _other_scale(tables, scale or {})
            few = [f"{found.trials} of {trials} trials"] if trials and found.trials < trials else []
            told = "; ".join(differs + few) or None
            found = replace(found, scale=told, decisive=bool(differs))
        self.judged.append((claim, _rounded(found)))
        self._rows.append([_traced(side) for side in tables])
        return found.said

    @cached_property
    def _others(self) -> tuple[list[Judged], list[Judged]]:
        """The claims on record of other records, and of this one, which some cells may not have made yet."""
        path = kept_folder() / self.name / "told.json"
        return read_all(kept_folder(), without=self.name), read_told(path)[0] if path.is_file() else []

    @property
    def claims(self) -> list[Judged]:
        """The claims with the verdicts that all pages show, corrected for the number of the book's claims."""
        ids = {claim.id for claim, _ in self.judged}
        others, before = self._others
        waiting = [pair for pair in before if pair[0].id not in ids]
        return corrected([*self.judged, *others, *waiting])[: len(self.judged)]

    def check(self, sentence: str, condition: Any) -> None:
        """State a sentence of ours. If the rows on record contradict it, or there are none, `board` raises.

        It waits for the end, as rows that cost hours may follow, and tells all such sentences at once.

        Raises:
            TypeError: the condition is neither true nor false, as NaN is not.
        """
        values = np.asarray(condition).reshape(-1)
        if len(values) and values.dtype != bool:
            raise TypeError(f"{sentence} Expected True or False for each case, was given {values.dtype}.")
        if self.strict and not (len(values) and values.all()):
            self._false.append(f"{sentence} True in {int(values.sum())} of {len(values)} cases.")
            print(f"False: {self._false[-1]}")
        self.checks.append(sentence)

    def check_all(self, sentences: Mapping[str, Any]) -> None:
        """Check each sentence of a mapping to its condition."""
        for sentence, condition in sentences.items():
            self.check(sentence, condition)

    def say(self, **facts: Any) -> None:
        """Give numbers and words names, by which pages read them: the role `fact` with `03_x.lost:.1f`."""
        if twice := sorted(self.facts.keys() & facts.keys()):
            raise ValueError(f"Expected each fact once, was given '{twice[0]}' twice: rename one.")
        for name, fact in facts.items():
            self.facts[name] = _digits(fact)

    def verdicts(self) -> HTML:
        """The claims since the last call as a table for people."""
        new, self._shown = self.claims[self._shown :], len(self.judged)
        return table_of(new)

    def board(self) -> HTML:
        """All claims as a table; the last cell of a record, which writes what other pages read.

        Raises:
            AssertionError: sentences are false of the rows on record; then nothing is written.
        """
        if self._false:
            raise AssertionError(
                "Expected sentences that hold of the rows on record: " + " ".join(self._false)
            )
        content = {
            "claims": [
                {"claim": _plain(claim), "verdict": _plain(found), "said": found.said, "rows": rows}
                for (claim, found), rows in zip(self.judged, self._rows, strict=True)
            ],
            "checks": self.checks,
            "facts": self.facts,
        }
        if folder := self.record.folder or self.record.kept:
            new = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            path = folder / "told.json"
            if not path.is_file() or path.read_text() != new:
                with files.write_whole(path) as part:
                    part.write_text(new)
        if self.record.folder:
            print(self.record.computed())
        return table_of(self.claims)


def _rounded(found: Verdict) -> Verdict:
    interval = tuple(map(_digits, found.interval)) if found.interval else None
    numbers = {name: _digits(value) for name, value in found.numbers.items()}
    return replace(found, interval=interval, p=_digits(found.p), numbers=numbers)


def _digits(value: Any) -> Any:
    """A number with the six digits on which machines agree."""
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _sides(id: str, sides: Sequence[Any], value: str, per: str | None) -> tuple[list[str], pd.DataFrame]:
    """The columns and the table of an ordering: one value for each side and trial."""
    if per is None or not value:
        raise ValueError(f"Claim '{id}': expected `value` and `per`, as two sides are compared by trials.")
    labels = iter(_labels([side for side in sides if isinstance(side, pd.DataFrame)], value))
    names = [next(labels) if isinstance(side, pd.DataFrame) else f"{side:g}" for side in sides]
    both = zip(names, sides, strict=True)
    trials = {name: s.groupby(per)[value] for name, s in both if isinstance(s, pd.DataFrame)}
    sizes = [each.size().to_dict() for each in trials.values()]
    if any(each != sizes[0] for each in sizes):
        pairs = " and ".join(", ".join(f"{rows} rows of {per} {k}" for k, rows in e.items()) for e in sizes)
        raise ValueError(f"Claim '{id}': expected the same trials on both sides, was given {pairs}.")
    # a trial without a number in one of its rows has none: a mean of the others would be of other cases
    means = {name: each.agg(lambda trial: trial.mean(skipna=False)) for name, each in trials.items()}
    return names, pd.DataFrame(means).reset_index()


def _labels(tables: Sequence[pd.DataFrame], value: str) -> list[str]:
    """A name for each side: its word in the first column in which the two differ, where each has one."""
    constant = [{c: text(t[c].iloc[0]) for c in t if t[c].map(text).nunique() == 1} for t in tables]
    shared = [c for c in constant[0] if all(c in each for each in constant)]
    telling = [c for c in shared if len({each[c] for each in constant}) == len(tables) > 1]
    if not telling:
        return [f"{value} {k}" for k, _ in enumerate(tables, 1)] if len(tables) > 1 else [value]
    first = telling[0]  # the others are in the scale
    return [each[first] if each[first][:1].isalpha() else f"{first} {each[first]}" for each in constant]


def _other_scale(tables: Sequence[pd.DataFrame], scale: Mapping[str, Any]) -> list[str]:
    """Where the rows are not of the paper's experiment, in words."""
    found = []
    for column, theirs in scale.items():
        ours = dict.fromkeys(text(each) for table in tables for each in table.get(column, ["not recorded"]))
        if {*ours} != {text(theirs)}:
            found.append(f"{column.replace('_', ' ')}: {' and '.join(ours)} instead of {text(theirs)}")
    return found


def _traced(side: pd.DataFrame) -> dict[str, Any]:
    """How many rows a side has, and the columns that have one value in all of them."""
    constant = {name: side[name].map(text).unique() for name in side}
    return {"count": len(side)} | {name: each[0] for name, each in constant.items() if len(each) == 1}


def _plain(each: Any) -> dict[str, Any]:
    """The fields of a claim or a verdict that are not their defaults."""
    defaults = {field.name: field.default for field in fields(each)}
    return {k: v for k, v in asdict(each).items() if v != defaults[k] and v not in (None, {})}
