"""Where least squares errs: in loud or in quiet directions of a layer, and what either costs."""

from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from intertwine.alignment import LinearMap, Statistics, least_squares
from intertwine.stitching import Junction
from intertwine.stitching.stitched import as_tuple
from intertwine.training.evaluate import correct
from intertwine.training.outputs import outputs
from intertwine_book.experiments.rows import Row


def variance_restored(statistics: Statistics, t: float = 1.0) -> LinearMap:
    """Least squares whose outputs are stretched, channel by channel, until they vary as much as B does.

    Example:
        >>> A, noise = torch.randn(2, 500, 3)
        >>> fitted = variance_restored(Statistics.of(A, A + 2 * noise))
        >>> torch.allclose(fitted(A).var(0), (A + 2 * noise).var(0), rtol=1e-3)
        True

    The stretch is taken to the power t, so that t = 0 is least squares. Channels that least squares maps to
    a constant stay as they are.
    """
    fitted = least_squares(statistics, affine=True)
    AA, _, BB = statistics.products(centred=True)
    explained = (fitted.weight @ AA * fitted.weight).sum(1)
    stretch = torch.where(explained > 0, BB.diagonal() / explained, 1) ** (t / 2)
    weight = stretch[:, None] * fitted.weight
    bias = statistics.mean[statistics.p :] - weight @ statistics.mean[: statistics.p]
    return replace(fitted, weight=weight, bias=bias, residual=statistics.residual(weight, bias))


@torch.no_grad()
def error_by_direction(
    junction: Junction, stitches: Mapping[str, nn.Module], *, images: int = 500
) -> list[Row]:
    """Split the error of stitches by principal directions of model 2's layer, and judge each part alone.

    The *loud* directions, the largest, have half of the variance together; the others are *quiet*. To the
    stitches are added "removed", which maps to the mean, and one row of "model 2", without any error. Nothing
    may bypass the layers, which have channels. Test images count from the first one on.

    Columns stitch, part (a direction's number from 1, or loud, quiet, both), variance (the part's share of
    the layer's), left (mean square of the error in the part, by its variance), kept (variance of the stitch's
    values there, by the layer's), and, for groups of directions and for "removed", the accuracy (percent) and
    the distance (as in `Judged`) of model 2 when its layer has the error of this part and no other.
    """
    A, B = (x[:images].transpose(1, -1).float() for x in junction.activations("test"))
    mean = B.flatten(0, -2).mean(0)
    values, V = torch.linalg.eigh((B - mean).flatten(0, -2).T.double().cov())
    values, V = values.flip(0), V.flip(1).float()
    loud = int((values.cumsum(0) < 0.5 * values.sum()).sum()) + 1
    groups = {"loud": range(loud), "quiet": range(loud, len(values)), "both": range(len(values))}
    parts = {str(k + 1): [k] for k in range(len(values))} | {name: [*which] for name, which in groups.items()}
    rows: list[Row] = []
    for name, stitch in {"removed": None, **stitches}.items():
        made = mean.expand_as(B) if stitch is None else stitch(A.transpose(1, -1)).transpose(1, -1)
        error, kept = (made - B) @ V, ((made - made.flatten(0, -2).mean(0)) @ V).flatten(0, -2)
        for part, which in parts.items():
            total = values[which].sum().item()
            row: Row = {"stitch": name, "part": part, "variance": total / values.sum().item()}
            row["left"] = error[..., which].square().sum(-1).mean().item() / total
            row["kept"] = kept[:, which].square().sum(1).mean().item() / total
            if stitch is None or part in groups:
                row |= _judged(junction, B + error[..., which] @ V[:, which].T)
            rows.append(row)
    itself: Row = {"stitch": "model 2", "part": "both", "variance": 1.0, "left": 0.0, "kept": 1.0}
    return [*rows, itself | _judged(junction, B)]


def _judged(junction: Junction, values: Tensor) -> Row:
    """What model 2 does with these values of its layer, channels last."""
    parts = outputs(junction.back, values.transpose(1, -1).contiguous(), dtype=torch.float32)
    logits = torch.cat([as_tuple(part)[0] for part in parts]).float()
    n = len(logits)
    right = correct(logits, junction.labels("test")[:n]).double().mean().item()
    distance = F.cross_entropy(logits, junction.targets("test")[:n]).item()
    return {"accuracy": 100 * right, "distance": distance}
