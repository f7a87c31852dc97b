"""What was recorded of planes of LeNets and of pictures by UMAP: figures and facts of chapter 6b."""

from functools import partial

import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.genni import Losses, embeddings, loss_planes
from intertwine_book.figures.readable import readable
from intertwine_book.results import on_record
from intertwine_book.stories import genni

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


def umap() -> Figure:
    """The number of pieces in a picture by UMAP changes with the seed: two sets, three seeds."""
    pictures = record("umap_pictures").merge(record("umap")[["set", "seed", "drawn"]])
    pictures = pictures.replace({"set": {"live, 3D": "both slopes"}})
    return embeddings(pictures[pictures["seed"].isin([0, 2, 3])])


SETS = {
    "figure 3a": ("paper's figure 3a", "0.005, printed"),
    "figure 3b": ("paper's figure 3b", "0.1, printed"),
    "live, 3D": ("both slopes, three dimensions", "0.1 E[y²]"),
    "live, 4D": ("both slopes, all four dimensions", "0.1 E[y²]"),
    "LeNet, live": ("LeNet, a target that varies", "0.5 E[y²]"),
}
"""The sets whose pieces are counted: name in words, and ε."""


def pieces() -> HTML:
    """Pieces of each set on the grid, in five samples and in their pictures by UMAP."""
    counted = record("umap").astype({"sampled": str, "drawn": str}).groupby("set", sort=False)
    table = counted.agg({"on_the_grid": "first", "sampled": ", ".join, "drawn": ", ".join}).reset_index()
    table["epsilon"] = table["set"].map(lambda name: SETS[name][1])
    table["set"] = table["set"].map(lambda name: SETS[name][0])
    words = {"set": "set", "epsilon": "ε", "on_the_grid": "on the grid"}
    words |= {"sampled": "sampled points, five samples", "drawn": "UMAP of these"}
    return readable(table, words, title="Pieces on the grid and in pictures by UMAP")


def facts() -> dict[str, float]:
    """The numbers in sentences of chapter 6b, by name.

    Example:
        >>> told = facts()
        >>> told["kept"], told["pictures"], round(told["printed"], -1)
        (16, 25, 460.0)
    """
    authors, counted = losses("authors"), record("umap")
    printed = record("lenet")["relative_threshold"].item()
    return {
        "best": float(authors.min()),
        "printed": printed,
        "hatched": 100 * float(losses("authors", "zero").mean()),
        "inside": 100 * float((authors < printed).mean()),
        "not-zero": 100 * float((losses("authors", "zero")[authors < printed] == 0).mean()),
        "islands": 100 * float((losses("varying") < 0.1).mean()),
        "pictures": len(counted),
        "changed": int((counted["drawn"] != counted["sampled"]).sum()),
        "kept": int((counted["drawn"] == counted["sampled"]).sum()),
        "agrees": int(counted["agrees"].sum()),
        # figure 3a has ε = 0.005, figure 3b 0.1; figures 1 and 2 of the same target 0.0025
        "printed-3a": 2 * genni.facts()["ratio"],
        "printed-3b": 40 * genni.facts()["ratio"],
    }
