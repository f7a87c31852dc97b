"""What was recorded of planes of LeNets and of pictures by UMAP: figures and facts of chapter 6b."""

from functools import partial

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.genni import Losses, embeddings, loss_planes
from intertwine_book.figures.readable import readable
from intertwine_book.record import kept_folder
from intertwine_book.results import on_record
from intertwine_book.told import read_told

record = partial(on_record, "06b_genni_lenet")


def losses(plane: str, column: str = "relative") -> np.ndarray:
    """The relative losses on a plane (authors, varying), or where the network returns 0: rows along t₁."""
    table = record("planes").query("plane == @plane")
    return table.pivot(index="i", columns="j", values=column).to_numpy()


def lenet() -> Figure:
    """The wide region of the paper's LeNet comes from the zero function and a high threshold."""
    axis = np.linspace(-13, 13, 81)
    spans = {name: rows[["t1", "t2"]] for name, rows in record("plane_solutions").groupby("plane")}
    theirs, ours = (
        {"grid": Losses(axis, losses(plane)), "points": spans[plane]} for plane in ("authors", "varying")
    )
    theirs |= {"epsilon": facts()["printed"], "zero": losses("authors", "zero") > 0}
    panels = {"the authors' target": theirs, "a target that varies": ours | {"epsilon": 0.1}}
    return loss_planes(panels, low=-3, high=3)


UMAP_STARTS = {"random": "umap", "default": "umap_default"}
"""Where UMAP starts → the table of its pictures."""

SETS = {
    "figure 3a": ("paper's figure 3a", "0.005, printed"),
    "figure 3b": ("paper's figure 3b", "0.1, printed"),
    "live, 3D": ("two nonzero slopes, three dimensions", "0.1 E[y²]"),
    "live, 4D": ("two nonzero slopes, all four dimensions", "0.1 E[y²]"),
}
"""The sets of the small network whose pieces are counted: name in words, and ε."""


def counted(start: str) -> pd.DataFrame:
    """Pieces of each set on the grid, in samples, and in their pictures from a start: a row each seed."""
    return record(UMAP_STARTS[start]).query("set in @SETS")


def umap() -> Figure:
    """From random starts UMAP changes the number of pieces, from its default it does not: three seeds."""
    rows = [
        record(f"{table}_pictures").merge(counted(start)[["set", "seed", "drawn"]]).assign(start=start)
        for start, table in UMAP_STARTS.items()
    ]
    pictures = pd.concat(rows).query("set == 'live, 3D' and seed in (0, 2, 3)")
    return embeddings(pictures.assign(set=pictures["start"] + " start"))


def pieces() -> HTML:
    """Pieces of each set on the grid, and how many of its pictures by UMAP have as many."""
    table = counted("random").groupby("set", sort=False)["on_the_grid"].first().reset_index()
    for start in UMAP_STARTS:
        agrees = counted(start).groupby("set")["agrees"]
        table[start] = table["set"].map(agrees.sum().astype(str) + " of " + agrees.size().astype(str))
    table["epsilon"] = table["set"].map(lambda name: SETS[name][1])
    table["set"] = table["set"].map(lambda name: SETS[name][0])
    words = {"set": "set", "epsilon": "ε", "on_the_grid": "pieces on the grid"}
    words |= {"random": "pictures with the grid's number: random start", "default": "default start"}
    return readable(table, words, title="Pieces on the grid and in pictures by UMAP")


def facts() -> dict[str, float]:
    """The numbers in sentences of chapter 6b, by name.

    Example:
        >>> told = facts()
        >>> told["kept-random"], told["kept-default"], told["pictures"], round(told["printed"], -1)
        (15, 20, 20, 460.0)
    """
    authors, varying = losses("authors"), losses("varying")
    ratio = read_told(kept_folder() / "06_genni/told.json")[1]["ratio"]
    kept = {start: (counted(start)["drawn"] == counted(start)["on_the_grid"]) for start in UMAP_STARTS}
    printed = record("lenet")["relative_threshold"].item()
    return {
        "best": float(authors.min()),
        "printed": printed,
        "hatched": 100 * float(losses("authors", "zero").mean()),
        "inside": 100 * float((authors < printed).mean()),
        "not-zero": 100 * float((losses("authors", "zero")[authors < printed] == 0).mean()),
        "islands": 100 * float((varying < 0.1).mean()),
        "varying-inside": 100 * float((varying < printed).mean()),
        "pictures": len(kept["default"]),
        "changed": int((~kept["random"]).sum()),
        **{f"kept-{start}": int(each.sum()) for start, each in kept.items()},
        # figure 3a has ε = 0.005, figure 3b 0.1; figures 1 and 2 of the same target 0.0025
        "printed-3a": 2 * ratio,
        "printed-3b": 40 * ratio,
    }
