"""A wrong element of the right group."""

import torch

from intertwine.alignment import LinearMap
from intertwine.stitching.junction import Junction


class RandomPermutation:
    """A permutation drawn at random, the baseline of permutations with scales. Not trained."""

    @staticmethod
    def start(junction: Junction, generator: torch.Generator) -> LinearMap:
        (p, q), most = junction.widths, max(junction.widths)
        return LinearMap(torch.eye(most)[torch.randperm(most, generator=generator)][:q, :p])
