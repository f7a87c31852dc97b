"""Chapter 6b: UMAP of an ε-set (lengyel2020, figures 3 and 6), and the number of its pieces."""

import warnings

import torch
from jaxtyping import Float
from torch import Tensor


def umap_embedding(points: Float[Tensor, "k m"], *, seed: int, epochs: int = 500) -> Float[Tensor, "k 2"]:
    """UMAP to two dimensions with the settings of the authors, who set no seed.

    Coordinates in a plane and the parameters themselves give the same picture: the basis is orthonormal, and
    UMAP depends on distances only. Needs the package umap-learn, whose import takes some ten seconds.
    """
    if len(points) < 22:
        raise ValueError(f"Expected 22 points or more, was given {len(points)}: raise ε, or refine the grid.")
    with warnings.catch_warnings():  # of packages that it imports
        warnings.simplefilter("ignore")
        from umap import UMAP  # slow to import

        # n_jobs: with a seed there is one; init: the spectral one is undefined for several components
        settings = {"random_state": seed, "n_jobs": 1, "init": "random", "n_epochs": epochs}
        flat = UMAP(n_neighbors=20, min_dist=0.5, **settings).fit_transform(points.numpy(force=True))
    return torch.from_numpy(flat).to(points)


def pieces(points: Float[Tensor, "k d"], *, neighbours: int = 10) -> int:
    """How many components the graph has in which each point is joined to its nearest neighbours.

    Example:
        >>> line = torch.arange(20.0)[:, None]
        >>> pieces(torch.cat([line, line + 1000]), neighbours=3)
        2

    Few neighbours split sets into pieces, many join pieces that are apart.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import
    from sklearn.neighbors import kneighbors_graph

    if len(points) < 2:
        return len(points)
    graph = kneighbors_graph(points.numpy(force=True), min(neighbours, len(points) - 1))
    return int(connected_components(graph, directed=False)[0])
