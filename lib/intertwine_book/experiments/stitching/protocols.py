"""The families of figure 1 of godfrey2022 on equal terms: each from two starts and by two protocols."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import torch

from intertwine.alignment import LinearMap, Statistics, reduced_rank
from intertwine.stitching import STITCH_RECIPES, StitchRecipe
from intertwine_book.experiments.rows import Row

AGAIN = {"batch_norm": "reestimated"}


def closed_forms(ranks: Sequence[int] = ()) -> dict[str, Row]:
    """The maps that fit activations best, each with batch norm frozen and re-estimated; nothing is trained.

    Example:
        >>> closed_forms([4])["rank 4, re-estimated"]
        {'batch_norm': 'reestimated', 'kind': 'low rank', 'rank': 4}

    They are least squares, reduced-rank regression and the best assignment.
    """
    kinds: dict[str, Row] = {"least squares": {"kind": "least squares"}}
    kinds |= {f"rank {rank}": {"kind": "low rank", "rank": rank} for rank in ranks}
    kinds |= {"assignment": {"kind": "scaled permutation"}}
    return {
        f"{name}, {words}": options | kind
        for words, options in {"frozen": {}, "re-estimated": AGAIN}.items()
        for name, kind in kinds.items()
    }


def beside_closed_forms(ranks: Sequence[int]) -> dict[str, Row]:
    """What closed forms stand beside, batch norm re-estimated: fair low ranks, and a wrong permutation.

    Example:
        >>> list(beside_closed_forms([4]))
        ['rank 4, channels alike', 'random permutation']
    """
    kinds: dict[str, Row] = {
        f"rank {rank}, channels alike": {"kind": partial(channels_alike, rank=rank)} for rank in ranks
    }
    kinds |= {"random permutation": {"kind": "random permutation"}}
    return {name: AGAIN | kind for name, kind in kinds.items()}


def channels_alike(statistics: Statistics, rank: int) -> LinearMap:
    """Reduced-rank regression of channels that are divided by their deviations, as an assignment sees them.

    Example:
        >>> A = torch.randn(30, 3)
        >>> B = A @ torch.randn(3, 3)
        >>> units = torch.tensor([1.0, 1e3, 1e-3])
        >>> one, other = (channels_alike(Statistics.of(A, b), 1) for b in (B, units * B))
        >>> torch.allclose(units[:, None] * one.weight, other.weight, rtol=1e-4)
        True

    Without that, channels of large variance are served first.
    """
    p, spread = statistics.p, statistics.crossed(centred=True)[2].sqrt()
    units = torch.where(spread > 0, spread, 1)
    ours = torch.cat([torch.ones_like(statistics.mean[:p]), 1 / units])
    mean, scatter = ours * statistics.mean, ours.outer(ours) * statistics.scatter
    fit = reduced_rank(replace(statistics, mean=mean, scatter=scatter), rank, affine=True)
    return LinearMap.of(fit.weight.T * units, statistics, affine=True)


def on_equal_terms(recipe: StitchRecipe, ranks: Sequence[int]) -> dict[str, Row]:
    """The families of figure 1 of godfrey2022, each from two starts and by two protocols, with equal epochs.

    Example:
        >>> from intertwine.stitching import STITCH_RECIPES
        >>> list(on_equal_terms(STITCH_RECIPES["fast"], ranks=[]))[:3]
        ['full, closed form, frozen', 'full, closed form, reestimated', 'full, random, frozen']

    Closed forms are of activations; low ranks start at random as products of orthonormal factors, which the
    paper's are not. From random starts G_ReLU has a recipe of its own, `relaxation`.
    """
    best: dict[str, Row] = {"full": {"kind": "full"}}
    best |= {f"rank {rank}": {"kind": "low rank", "rank": rank} for rank in ranks}
    ways = {(family, "closed form"): options for family, options in best.items()}
    ways |= {(family, "random"): options | {"start": "random"} for family, options in best.items()}
    ways |= {("G_ReLU", "closed form"): {"kind": "G_ReLU"}}
    return {
        f"{family}, {start}, {norm}": options | {"recipe": recipe, "batch_norm": norm}
        for (family, start), options in ways.items()
        for norm in ("frozen", "reestimated")
    }


def relaxation(epochs: int) -> dict[str, Row]:
    """The paper's relaxation by the authors' recipe; images are not augmented, so that model 1 runs once.

    Example:
        >>> (relaxed,) = relaxation(4).values()
        >>> relaxed["recipe"].optimizer, relaxed["recipe"].batch_size, relaxed["recipe"].lr
        ('sgd', 32, 0.01)
    """
    return {"G_ReLU, random, reestimated": {"kind": "Birkhoff", "recipe": _authors(epochs)}}


def recipes(epochs: int, rank: int = 4) -> dict[str, Row]:
    """What else may explain the relaxation's penalty, one change at a time; and a low rank by SGD.

    Example:
        >>> list(recipes(4))[:2]
        ['G_ReLU, batches of 128', 'G_ReLU, Adam']

    The first are the authors' recipe of the relaxation, but for what the name says. The low rank has random
    factors and no bias, as in the paper; its authors' rate is 0.001.
    """
    sgd = _authors(epochs)
    changes: dict[str, Row] = {"batches of 128": {"batch_size": 128}, "Adam": {"optimizer": "adam"}}
    changes["Adam, rate 0.0001"] = {"optimizer": "adam", "lr": 1e-4}
    kinds: dict[str, Row] = {
        f"G_ReLU, {name}": {"kind": "Birkhoff", "recipe": replace(sgd, **change)}
        for name, change in changes.items()
    }
    low: Row = {"kind": "low rank", "rank": rank, "affine": False, "start": "random"}
    return kinds | {
        f"rank {rank}, SGD, rate {lr}": low | {"recipe": replace(sgd, lr=lr)} for lr in (1e-3, 1e-2)
    }


def plain_sgd(epochs: int, rank: int = 4) -> dict[str, Row]:
    """A low rank by its authors' recipe, about as many steps as theirs: 28 times the epochs, of fewer images.

    Example:
        >>> (slow,) = plain_sgd(4).values()
        >>> slow["recipe"].lr, slow["recipe"].epochs, slow["affine"]
        (0.001, 112, False)

    The paper has 31,250 steps, 20 epochs of 50,000 images in batches of 32; 112 epochs of 9,000 have 31,584.
    """
    low: Row = {"kind": "low rank", "rank": rank, "affine": False, "start": "random"}
    return {f"rank {rank}, random, reestimated": low | {"recipe": replace(_authors(28 * epochs), lr=1e-3)}}


def _authors(epochs: int) -> StitchRecipe:
    return replace(STITCH_RECIPES["godfrey2022 birkhoff"], epochs=epochs, flip=False, shift=0)


def protocols(stitches: pd.DataFrame) -> pd.DataFrame:
    """Stitches on equal terms, one row for each pair and layer, the penalties of each family in columns.

    Example:
        >>> table = pd.DataFrame({"pair": 0, "layer1": "relu1", "stitch": ["rank 1, random, reestimated"]})
        >>> protocols(table.assign(penalty=50.0, best_test_penalty=48.0)).iloc[0].to_dict()
        {'pair': 0, 'layer1': 'relu1', 'rank_1_paper': 48.0}

    Columns pair, layer1, and for each family <family>_paper (random, re-estimated, the epoch that is best on
    the test set), <family>_best (closed form, re-estimated) and <family>_ours (closed form, frozen).
    """
    ways = {"random, reestimated": ("paper", "best_test_penalty")}
    ways |= {"closed form, reestimated": ("best", "penalty"), "closed form, frozen": ("ours", "penalty")}
    families = stitches["stitch"].str.split(", ", n=1, expand=True)
    wide = []
    for way, (name, value) in ways.items():
        rows = stitches.assign(family=families[0].str.lower().str.replace(" ", "_"))[families[1] == way]
        table = rows.pivot(index=["pair", "layer1"], columns="family", values=value)
        wide.append(table.add_suffix(f"_{name}"))
    return pd.concat(wide, axis=1).rename_axis(columns=None).reset_index()
