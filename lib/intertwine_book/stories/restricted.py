"""Stitches of low rank and sparse ones, as recorded for chapter 3b: figures and facts."""

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures import matching as drawn
from intertwine_book.results import on_record
from intertwine_book.stories.told import span

record = partial(on_record, "03b_matching")


def low_rank() -> Figure:
    """At equal rank a stitch that the task trains, as in the paper, beats the best fit."""
    return drawn.by_rank(record("figure_7"))


def sparse() -> pd.DataFrame:
    """Stitches as in the paper's figure 8, from no zero on: the lasso also at fixed shares of zeros."""
    full = record("figure_7_stitches").query("stitch == 'task loss'")
    return pd.concat([full, *map(record, ("figure_8_direct", "figure_8_stitches", "figure_8_refitted"))])


def sparsity() -> Figure:
    """The lasso falls steeply since it shrinks what it keeps; refitted it falls about as task loss does."""
    return drawn.by_zeros(sparse())


def facts() -> dict[str, Any]:
    """What sentences of chapter 3b say of such stitches, in percent."""
    ranked, short, zeros = record("figure_7"), record("low_rank"), record("figure_8")
    many, steps = zeros.query("sparsity > 0.8"), record("figure_8_drop")
    late, soon = (many.query("layer1 == @layer") for layer in ("bn6", "bn3"))
    seventy = record("figure_8_direct").query("layer1 == 'bn3' and stitch == 'direct' and zeros == 0.7")
    third, early = (table.query("layer1 == 'bn3'") for table in (ranked, short))
    shares = {
        **{"refit-6": late["refitted"], "lasso-6": late["direct"], "sparse-6": late["task_loss"]},
        **{"refit-3": soon["refitted"], "sparse-3": soon["task_loss"]},
        "closed-6": (late["refitted"] - late["direct"]) / (late["task_loss"] - late["direct"]),
        "sixteen": ranked.query("rank == 16")["task_loss"],
        "sixteen-direct": ranked.query("rank == 16")["direct"],
        "four": third.query("rank == 4")["task_loss"],
        "four-direct": third.query("rank == 4")["direct"],
        "few": many["task_loss"],
        **{"drop": steps["above_70"], "before": steps["below_70"]},
        "seventy-3": seventy["relative_accuracy"],
    }
    return {
        "ranked-pairs": ranked["pair"].nunique(),
        "ranked": len(ranked),
        "ahead": (ranked["task_loss"] > ranked["direct"]).sum(),
        "short-ranked-3": len(early),
        "short-ahead-3": (early["task_loss"] > early["direct"]).sum(),
        "bias-gains": 100 * (ranked["direct"] - ranked["direct_without_bias"]).mean(),
        **span(**{name: 100 * share for name, share in shares.items()}),
    }
