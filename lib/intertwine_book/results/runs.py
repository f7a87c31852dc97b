"""One run of a chapter: its parameters, seed, device and data are read once and go with all its tables."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from intertwine import files
from intertwine_book.results import tables
from intertwine_book.results.steps import TableRows, steps

if TYPE_CHECKING:
    import torch


def run(
    variables: Mapping[str, Any],
    chapter: str,
    *,
    data: Any = None,
    folder: str | Path | None = None,
) -> Run:
    """The run of a chapter whose parameters are among these variables.

    Example:
        >>> import tempfile
        >>> notebook = {"width": 4, "pairs": 2, "seed": 7, "__annotations__": {"width": int, "pairs": int}}
        >>> this = run(notebook, "02_sanity_rotations", folder=tempfile.mkdtemp())
        >>> @this.table(pair=range(2), uses=["width"])
        ... def areas(pair):
        ...     return {"area": notebook["width"] * pair}
        >>> areas["area"].tolist()  # the name of the function is bound to its table
        [0, 4]
        >>> frame, provenance = tables.read("areas", folder=this.folder)
        >>> provenance["parameters"], provenance["seed"]
        ({'width': 4}, 7)

    The variables are `globals()` of the chapter; parameters are those of the parameters cell, which are
    annotated; data is the data set of the tables, several, or a checksum. Without a folder, and outside the
    book's own commands, each choice of parameters, seed and data has a folder in `results/<chapter>`, so that
    two runs leave each other's tables alone.
    """
    if (named := variables.get("__annotations__")) is None:
        raise ValueError(
            "Expected parameters like `width: int = 16` among the variables, found none that is annotated: "
            "call this after the parameters cell."
        )
    values = {name: variables[name] for name in named if name not in ("seed", "device")}
    seed, device = variables.get("seed", 0), str(variables.get("device", "auto"))
    summed = checksum(data)
    if folder is None and not os.environ.get("INTERTWINE_RESULTS"):
        folder = tables.default_folder(chapter) / files.digest(values, seed, device, summed)[:8]
    return Run(chapter, values, seed, device, summed, Path(folder or tables.default_folder(chapter)))


@dataclass(frozen=True)
class Run:
    """The parameters, seed, data and folder that a chapter's tables share; see `run`."""

    chapter: str
    parameters: Mapping[str, Any]
    seed: int
    device: str
    data_checksum: str | None = None
    folder: str | Path | None = None

    def table(
        self,
        *,
        cases: Iterable[Mapping[str, Any]] | None = None,
        uses: Iterable[str] | None = None,
        data: Any = None,
        name: str | None = None,
        **product: Iterable[Any],
    ) -> Callable[[Callable[..., TableRows]], pd.DataFrame]:
        """A decorator that computes the table of a function's rows, one step a case, and stores each step.

        An interrupted table continues, and a finished one is found: also one that was written with more
        parameters than this one uses, if those in use have the same values.

        Example:
            >>> import tempfile
            >>> this = Run("01_x", {"width": 4}, 0, "cpu", folder=tempfile.mkdtemp())
            >>> @this.table(layer=["conv1", "conv2"], trial=range(2))
            ... def penalties(layer, trial):
            ...     return [{"way": way, "penalty": 0.1 * trial} for way in ("exact", "trained")]
            >>> len(penalties)
            8

        Cases are keywords of the function, or all combinations of the values in `product`; their numbers and
        words are columns, the rest (networks, options) is not, but decides. So does whatever else the
        function reads: hand a case its own networks, and one more case leaves the others valid. The
        parameters that it `uses` are written beside the table, all of the run when not given; leave out
        those that decide on the number of cases only. The data set and the name may be others than the run's
        and the function's.
        """
        listed = [dict(zip(product, values, strict=True)) for values in itertools.product(*product.values())]
        chosen = listed if cases is None else [dict(case) for case in cases]

        def decorate(compute: Callable[..., TableRows]) -> pd.DataFrame:
            return self.steps(name or compute.__name__, chosen, compute, uses=uses, data=data)

        return decorate

    def steps(
        self,
        name: str,
        cases: Sequence[Mapping[str, Any]],
        compute: Callable[..., TableRows],
        *,
        uses: Iterable[str] | None = None,
        data: Any = None,
    ) -> pd.DataFrame:
        """`results.steps` with the facts of this run; the arguments are those of `table`."""
        return steps(name, cases, compute, **self.facts(uses, data))

    def write(self, *, uses: Iterable[str] | None = None, data: Any = None, **frames: pd.DataFrame) -> None:
        """Write tables that follow from others, each under its keyword."""
        for name, frame in frames.items():
            tables.write(frame, name, **self.facts(uses, data))

    def facts(self, uses: Iterable[str] | None = None, data: Any = None) -> dict[str, Any]:
        """The keywords of `results.write` and `results.steps`, with only the parameters in use."""
        used = self.parameters if uses is None else {name: self.parameters[name] for name in uses}
        return {
            "parameters": dict(used),
            "seed": self.seed,
            "data_checksum": self.data_checksum if data is None else checksum(data),
            "device": self.device,
            "folder": self.folder,
        }

    @property
    def checksum(self) -> str:
        """What decides on the rows of a function that calls `generator`, beside the parameters in use."""
        return f"seed {self.seed}"

    def generator(self, step: int = 0) -> torch.Generator:
        """The generator of a step, seeded by seed + step: the same whichever steps are done before."""
        import torch  # slow to import

        return torch.Generator().manual_seed(self.seed + step)


def checksum(data: Any) -> str | None:
    """The checksum of a data set, or of several; a checksum is returned unchanged."""
    if data is None or isinstance(data, str):
        return data
    if isinstance(data, Sequence):
        return files.digest(*(checksum(each) for each in data))
    return str(data.checksum)
