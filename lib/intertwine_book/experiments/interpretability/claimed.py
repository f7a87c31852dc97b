"""The tables that claims and sentences read, beside those that chapter 5 computes on its page."""

from collections.abc import Iterator, Mapping

import pandas as pd
import torch

from intertwine.data import Masks
from intertwine.dissection import haar_rotation, rotation_planes
from intertwine.groups import Orthogonal
from intertwine_book.experiments.interpretability.against_rotation import STATISTICS, differences
from intertwine_book.experiments.rows import Row, tabled
from intertwine_book.results import Run


def write(
    run: Run, table: pd.DataFrame, slopes: pd.DataFrame, fixed: pd.DataFrame, masks: Mapping[str, Masks]
) -> None:
    """Write them, from what was dissected, its slopes, what was at equal areas, and the masks by data set."""
    own = table.query("alpha == 0 and weights == 'trained'")
    run.write(
        slopes=slopes,
        slopes_equal_area=differences(fixed, ["dataset", "kind", "number"], STATISTICS),
        falls=_by_kind(slopes.assign(fall=-slopes["difference"]), "fall"),
        own_basis=_by_kind(own, "above_0.04"),
        rotations=rotations(run.seed),
        ceilings=ceilings(masks),
    )


def _by_kind(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """One column for each kind of network."""
    keys = ["dataset", "layer", "quantile", *table.columns.intersection(["statistic"]), "number"]
    wide = table.pivot_table(index=keys, columns="kind", values=value)
    return wide.rename(columns=lambda kind: kind.lower().replace(" ", "_")).reset_index()


@tabled
def rotations(seed: int) -> Iterator[Row]:
    """Is what Gram-Schmidt draws a rotation, and is the geodesic to one a group of one parameter?

    Example:
        >>> found = rotations(0)
        >>> bool(found["ours"].all()), bool(found["printed"].all())
        (True, False)

    Columns n, trial, printed and ours (whether the determinant is 1), geodesic_error.
    """
    generator = torch.Generator().manual_seed(seed)
    for n in (2, 3, 16, 64):
        for trial in range(20):
            printed, haar = Orthogonal(n).sample(generator), haar_rotation(n, generator)
            path = rotation_planes(haar)
            first, second, both = (path.power(alpha) for alpha in (0.3, 0.45, 0.75))
            error = max((first @ second - both).abs().max(), (path.power(1.0) - haar).abs().max())
            rotates = {"printed": torch.linalg.det(printed) > 0, "ours": torch.linalg.det(haar) > 0}
            row: Row = {"n": n, "trial": trial} | {name: bool(each) for name, each in rotates.items()}
            yield row | {"geodesic_error": error.item()}


def ceilings(masks: Mapping[str, Masks]) -> pd.DataFrame:
    """The largest IoU that a concept's area permits at the paper's quantile, and whether it can count."""
    tables = [
        pd.DataFrame({"concept": each.names, "area": each.areas().cpu(), "dataset": name})
        for name, each in masks.items()
    ]
    found = pd.concat(tables)
    found["ceiling"] = found["area"].clip(upper=0.005) / found["area"].clip(lower=0.005)
    return found.assign(can_count=found["ceiling"] > 0.04)
