"""A measure of similarity: a file of `lib/intertwine/similarity`, and its line of `registry.py`.

It is public once `similarity/__init__.py` imports it, and names it in `__all__`.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.similarity.inputs import Spatial, centred, check_varies, pair, scaled
from intertwine.similarity.registry import Measure


def distances(X: Tensor, Y: Tensor, *, spatial: Spatial | None = None) -> Float[Tensor, ""]:
    """How alike the distances between the samples are: the cosine of both sets of distances, in [0, 1].

    Example:
        >>> X = torch.randn(20, 3)
        >>> round(distances(X, 2 * X).item(), 6)
        1.0

    Args:
        X, Y, spatial: as in `cka`.
    """
    X, Y = (centred(scaled(Z)) for Z in pair(X, Y, spatial))
    check_varies(X=X, Y=Y)
    of_X, of_Y = (scaled(torch.pdist(Z)) for Z in (X, Y))
    # not torch.cosine_similarity, for which vectors shorter than 1e-8 have no direction
    return of_X @ of_Y / (of_X.norm() * of_Y.norm())


RIGID = ("permutation", "isotropic scaling", "rotation", "orthogonal", "translation")
LINE = Measure(
    "distances", distances, RIGID, "features", "features", "distances between samples, not directions"
)
