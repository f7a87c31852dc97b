"""Accuracy on the line between two networks, as recorded for chapter 3: barriers, a figure and facts."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures import style
from intertwine_book.figures.curves import single_curves
from intertwine_book.results import on_record, recorded
from intertwine_book.stories.told import WIDTH_ENDINGS

record = partial(on_record, "03_stitching")


def barriers(width: str = "width 64") -> pd.DataFrame:
    """Mean barrier in points: a row for each way, a column for what is done with batch norm."""
    return record(f"barriers{WIDTH_ENDINGS[width]}").pivot_table("barrier", "way", "batch_norm")


def lines() -> pd.DataFrame:
    """Accuracy on the line between two networks at both widths, batch norm re-estimated."""
    parts = [record(f"connectivity{end}").assign(width=width) for width, end in WIDTH_ENDINGS.items()]
    return pd.concat(parts).query("batch_norm == 're-estimated'")


def connected() -> Figure:
    """Accuracy on the line between two networks, as trained and matched."""
    ways = {"as trained": "orange", "matched by weights": "green", "matched by activations": "blue"}
    return single_curves(
        lines().sort_values("width"),
        *("fraction", "accuracy", "way", "pair"),
        panels="width",
        colours={way: style.COLOURS[colour] for way, colour in ways.items()},
        xlabel="fraction of the way",
        ylabel="accuracy, %",
    )


def facts() -> dict[str, float]:
    """The numbers in sentences and captions about barriers."""
    short = {"trained": "as trained", "matched": "matched by activations", "weights": "matched by weights"}
    found: dict[str, float] = {}
    for width, ending in {"width 64": "", "width 16": "-narrow"}.items():
        height = barriers(width)
        found |= {f"barrier-{name}{ending}": height.loc[way, "re-estimated"] for name, way in short.items()}
        found[f"barrier-interpolated{ending}"] = height.loc["matched by activations", "interpolated"]
        found[f"barrier-trained-interpolated{ending}"] = height.loc["as trained", "interpolated"]
        found[f"barrier-pairs{ending}"] = record(f"barriers{WIDTH_ENDINGS[width]}")["pair"].nunique()
    *_, (_, wide) = recorded("03_stitching", "connectivity").values()
    found |= {f"line-{name}": wide["parameters"][name] for name in ("epochs", "images")}
    means = lines().query("width == 'width 64'").pivot_table("accuracy", "way", "fraction")
    share = means.loc["matched by activations", 0.5] / 100
    found["line-error"] = 100 * (share * (1 - share) / found["line-images"]) ** 0.5
    return found | {f"worst-{name}": means.loc[short[name], 0.5] for name in ("trained", "matched")}
