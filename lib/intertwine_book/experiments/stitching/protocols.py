"""The families of figure 1 of godfrey2022 on equal terms: each from two starts and by two protocols."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from intertwine.alignment import LinearMap, Statistics, reduced_rank
from intertwine.stitching import STITCH_RECIPES, LowRank, StitchRecipe
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


def recipes(epochs: int) -> dict[str, Row]:
    """What else may explain the relaxation's penalty: its authors' recipe, but for what the name says.

    Example:
        >>> list(recipes(4))[:2]
        ['G_ReLU, batches of 128', 'G_ReLU, Adam']
    """
    sgd = _authors(epochs)
    changes: dict[str, Row] = {"batches of 128": {"batch_size": 128}, "Adam": {"optimizer": "adam"}}
    changes["Adam, rate 0.0001"] = {"optimizer": "adam", "lr": 1e-4}
    return {
        f"G_ReLU, {name}": {"kind": "Birkhoff", "recipe": replace(sgd, **change)}
        for name, change in changes.items()
    }


class TwoConvolutions(LowRank):
    """A low rank that starts as two 1×1 convolutions without a bias do in PyTorch (godfrey2022's authors).

    Example:
        >>> ours = TwoConvolutions.draw((512, 512), torch.Generator(), rank=4)
        >>> layer = TwoConvolutions(ours.weight, rank=4)
        >>> theirs = [torch.nn.Conv2d(p, q, 1).weight for p, q in ((512, 4), (4, 512))]
        >>> [round((x.norm() / y.norm()).item(), 1) for x, y in zip((layer.down, layer.up), theirs)]
        [1.0, 1.0]

    Their second factor is far larger than the first; those of `LowRank` are of one size.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, *, rank: int) -> None:
        super().__init__(weight, bias, rank=rank)
        ratio = (len(weight) / rank) ** 0.25  # each factor is 1/√(its inputs) times numbers of one size
        self.up.data *= ratio
        self.down.data /= ratio

    @classmethod
    def draw(cls, widths: tuple[int, int], generator: torch.Generator, **options: Any) -> LinearMap:
        (p, q), rank = widths, options["rank"]
        up, down = (2 * torch.rand(shape, generator=generator) - 1 for shape in ((q, rank), (rank, p)))
        return LinearMap((up / rank**0.5) @ (down / p**0.5))


def plain_sgd(epochs: int, images: int, ranks: Sequence[int]) -> dict[str, Row]:
    """Low ranks and the relaxation by their authors' recipes, in about as many steps as theirs, 31,250.

    Example:
        >>> slow, relaxed = plain_sgd(4, 9000, [2]).values()
        >>> slow["recipe"].lr, slow["recipe"].epochs, slow["affine"], relaxed["recipe"].lr
        (0.001, 112, False, 0.01)

    There is no bias, as in the paper. Of few images the epochs are at most 28 times those that were given.
    """
    recipe = _authors(epochs * min(28, max(1, round(20 * 50_000 / (epochs * images)))))
    low: Row = {"kind": TwoConvolutions, "affine": False, "start": "random"}
    low |= {"recipe": replace(recipe, lr=1e-3)}
    kinds = {f"rank {rank}, convolutions, reestimated": low | {"rank": rank} for rank in ranks}
    return kinds | {"G_ReLU, relaxation, reestimated": {"kind": "Birkhoff", "recipe": recipe}}


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
