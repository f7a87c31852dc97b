"""The kinds of stitches from p channels to q, by name, with their options."""

import inspect

from intertwine.stitching.maps.birkhoff import Birkhoff
from intertwine.stitching.maps.entropic import Entropic
from intertwine.stitching.maps.full import Full
from intertwine.stitching.maps.identity import Identity
from intertwine.stitching.maps.low_rank import LowRank
from intertwine.stitching.maps.matched import Matched
from intertwine.stitching.maps.orthogonal import OrthogonalMap
from intertwine.stitching.maps.permutation import Permutation
from intertwine.stitching.maps.random_permutation import RandomPermutation
from intertwine.stitching.maps.sparse import Sparse
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


def described(name: str) -> str:
    """A kind's name, its options, and the first sentence of its class.

    Example:
        >>> described("orthogonal")
        '``orthogonal`` (affine=False): Orthogonal matrices from the orthogonal Procrustes map on; ...'
    """
    kind = KINDS[name]
    options = [
        key if default is inspect.Parameter.empty else f"{key}={default}"
        for key, default in options_of(kind).items()
    ]
    listed = f" ({', '.join(options)})" if options else ""
    return f"``{name}``{listed}: {str(inspect.getdoc(kind)).splitlines()[0]}"


__doc__ = f"{__doc__}\n\n" + "\n".join(f"- {described(name)}" for name in KINDS) + "\n"

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
