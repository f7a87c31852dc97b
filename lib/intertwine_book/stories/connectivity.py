"""Accuracy on the line between two networks, as recorded for chapter 3: barriers, a figure and facts."""

from functools import partial

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures import style
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.readable import readable
from intertwine_book.results import on_record, recorded
from intertwine_book.stories.told import WIDTH_ENDINGS, apart

record = partial(on_record, "03_stitching")
WAY_COLOURS = {"as trained": "orange", "matched by weights": "green", "matched by activations": "blue"}


def barriers(width: str = "width 64") -> pd.DataFrame:
    """Mean barrier in points: a row for each way, a column for what is done with batch norm."""
    return record(f"barriers{WIDTH_ENDINGS[width]}").pivot_table("barrier", "way", "batch_norm")


def lines(*widths: str) -> pd.DataFrame:
    """Accuracy on the line between two networks, at some widths or all, batch norm re-estimated."""
    parts = {each: record(f"connectivity{WIDTH_ENDINGS[each]}") for each in widths or WIDTH_ENDINGS}
    return pd.concat(table.assign(width=each) for each, table in parts.items()).query(
        "batch_norm == 're-estimated'"
    )


def connected() -> Figure:
    """Accuracy on the line between two networks, as trained and matched."""
    return single_curves(
        lines(),
        *("fraction", "accuracy", "way", "pair"),
        panels="width",
        colours={way: style.COLOURS[colour] for way, colour in WAY_COLOURS.items()},
        xlabel="fraction of the way",
        ylabel="accuracy, %",
        xticks=[0, 0.5, 1],  # there is no room for all five
    )


def by_width() -> HTML:
    """Mean barriers by width and by what is done with batch norm."""
    rows = []
    for width in WIDTH_ENDINGS:
        found, pairs = barriers(width), _pairs(width)
        rows += [{"networks": width, "pairs": pairs, "norm": norm} | dict(found[norm]) for norm in found]
    table = pd.DataFrame(rows).sort_values(["norm", "networks"], ascending=[False, True])
    headings = {"networks": "networks", "pairs": "pairs", "norm": "batch norm"}
    headings |= {way: way for way in WAY_COLOURS}
    return readable(table, headings, digits=1, title="Barrier in points between two networks")


def facts() -> dict[str, float]:
    """The numbers in sentences and captions about barriers."""
    short = {"trained": "as trained", "matched": "matched by activations"}
    found: dict[str, float] = {}
    wide = barriers()
    for norm, ending in {"re-estimated": "", "interpolated": "-interpolated"}.items():
        found |= {f"barrier-{name}{ending}": wide.loc[way, norm] for name, way in short.items()}
    for name, width in {"narrow": "width 16", "half": "width 32"}.items():
        found[f"barrier-matched-{name}"] = barriers(width).loc["matched by activations", "re-estimated"]
    found["barrier-pairs"] = _pairs("width 64")
    found["barrier-apart"] = min(_apart(way) for way in WAY_COLOURS if way != "as trained")
    made = recorded("03_stitching", "connectivity")["desk"][1]["parameters"]
    found |= {f"line-{name}": made[name] for name in ("epochs", "images")}
    means = lines("width 64").pivot_table("accuracy", "way", "fraction")
    share = means.loc["matched by activations", 0.5] / 100
    found["line-error"] = 100 * (share * (1 - share) / found["line-images"]) ** 0.5
    return found | {f"worst-{name}": means.loc[short[name], 0.5] for name in ("trained", "matched")}


def _apart(way: str) -> float:
    """How far single pairs of two widths are apart in their barriers, batch norm re-estimated."""
    tables = (record(f"barriers{end}").set_index(["way", "batch_norm"]) for end in WIDTH_ENDINGS.values())
    return apart(*(table.loc[(way, "re-estimated"), "barrier"] for table in tables))


def _pairs(width: str) -> int:
    return record(f"barriers{WIDTH_ENDINGS[width]}")["pair"].nunique()
