"""The kinds of stitches from p channels to q, by name, with their options.

- ``identity``: no stitch, the baseline.
- ``random permutation``: another baseline.
- ``least squares``, ``full`` (affine=True): every matrix, from least squares on.
- ``low rank`` (rank, affine=True): matrices of rank at most `rank`, from reduced-rank regression on.
- ``sparse`` (alpha, affine=True): the lasso, or every matrix with a penalty on the sum of its entries.
- ``orthogonal`` (affine=False): orthogonal matrices, from the Procrustes map on; isometries where p < q.
- ``permutation`` (affine=False): the permutation nearest to the activations.
- ``scaled permutation``: the permutation of best matching activations, with positive scales.
- ``G_ReLU``: permutations with positive scales; trained by entropic assignment, p = q.
- ``Birkhoff`` (alpha=0.1): permutations with scales by the relaxation of godfrey2022, trained only, p = q.
"""

from intertwine.stitching.maps.matrices import Full, LowRank, OrthogonalMap, Sparse
from intertwine.stitching.maps.permutations import (
    Birkhoff,
    Entropic,
    Identity,
    Matched,
    Permutation,
    RandomPermutation,
)
from intertwine.stitching.maps.stitch import FromMatrix, Stitch, options_of

KINDS: dict[str, type] = {
    "identity": Identity,
    "random permutation": RandomPermutation,
    "least squares": Full,
    "full": Full,
    "low rank": LowRank,
    "sparse": Sparse,
    "orthogonal": OrthogonalMap,
    "permutation": Permutation,
    "scaled permutation": Matched,
    "G_ReLU": Entropic,
    "Birkhoff": Birkhoff,
}

__all__ = [
    "KINDS",
    "Birkhoff",
    "Entropic",
    "FromMatrix",
    "Full",
    "Identity",
    "LowRank",
    "Matched",
    "OrthogonalMap",
    "Permutation",
    "RandomPermutation",
    "Sparse",
    "Stitch",
    "options_of",
]
