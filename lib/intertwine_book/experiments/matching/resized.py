"""Does a fit lose accuracy by its direction or by its size? Least squares, put back to the size of B."""

from dataclasses import replace

import torch

from intertwine.alignment import LinearMap, Statistics, least_squares, orthogonal
from intertwine.stitching import Junction, stitch_at
from intertwine_book.experiments.matching.directions import variance_restored
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitches import Pairs
from intertwine_book.results import Run

SHARED = (
    *("networks", "dataset", "width", "epochs"),
    *("train_images", "fit_images", "test_images", "stitch_epochs"),
)
"""The parameters that every stitch uses."""


def size_restored(statistics: Statistics) -> LinearMap:
    """Least squares times one number, so that the outputs have the total variance of B; the mean is kept.

    Example:
        >>> A, noise = torch.randn(2, 500, 3)
        >>> fitted, B = size_restored(Statistics.of(A, A + 2 * noise)), A + 2 * noise
        >>> torch.allclose(fitted(A).var(0).sum(), B.var(0).sum(), rtol=1e-3)
        True

    `variance_restored` does so channel by channel. A fit that is constant stays as it is.
    """
    fitted = least_squares(statistics, affine=True)
    AA, _, BB = statistics.products(centred=True)
    explained = (fitted.weight @ AA * fitted.weight).sum()
    weight = fitted.weight * (torch.sqrt(BB.trace() / explained) if explained > 0 else 1)
    bias = statistics.mean[statistics.p :] - weight @ statistics.mean[: statistics.p]
    return replace(fitted, weight=weight, bias=bias, residual=statistics.residual(weight, bias))


def resized(run: Run, end: str, pairs: Pairs, sets: Row, options: Row) -> None:
    """Write the table `resized`, with this ending: closed forms of several sizes at each layer.

    Columns pair, layer1 and those of `resized_rows`. The sets are train and test, the options of `Junction`.
    """
    places = cuts(pairs[0][1])
    cases = [{"pair": k, "layer1": at, "couple": two} for k, two in enumerate(pairs) for at in places]

    @run.table(cases=cases, uses=SHARED, data=sets["train"], name=f"resized{end}")
    def found(pair, layer1, couple):
        return resized_rows(Junction(*couple, layer1, **sets, **options))


def resized_rows(place: Junction) -> list[Row]:
    """Closed forms at a place, with batch norm frozen.

    Columns stitch, relative_accuracy (accuracy / that of model 2), unexplained (the share of the variance of
    model 2's layer), and factor, the size of the map by that of least squares (Frobenius norms).
    """
    alone = (place.targets("test").argmax(1) == place.labels("test")).double().mean().item()
    fitted = least_squares(place.statistics, affine=True)
    forms = {"least squares": fitted, "size restored": size_restored(place.statistics)}
    forms |= {"variance restored": variance_restored(place.statistics)}
    forms |= {"orthogonal": orthogonal(place.statistics)}
    rows: list[Row] = []
    for name, made in forms.items():
        row: Row = {"stitch": name}
        row["relative_accuracy"] = place.judge(stitch_at(place, made)).accuracy / alone
        row |= {"unexplained": 1 - made.r2, "factor": (made.weight.norm() / fitted.weight.norm()).item()}
        rows.append(row)
    return rows
