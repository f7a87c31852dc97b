"""Maps that no training changes: the identity, a permutation of best matching activations, a random one."""

import torch

from intertwine.alignment import LinearMap, permutation
from intertwine.stitching.junction import Junction


class Identity:
    """No stitch, the baseline: channels that only one of the layers has are dropped, or 0. Not trained."""

    @staticmethod
    def start(junction: Junction, generator: torch.Generator) -> LinearMap:
        return LinearMap(torch.eye(*junction.widths[::-1]))


class Permutation:
    """The permutation nearest to the activations. Not trained."""

    fit = staticmethod(permutation)


class RandomPermutation:
    """A permutation drawn at random, the baseline of permutations with scales. Not trained."""

    @staticmethod
    def start(junction: Junction, generator: torch.Generator) -> LinearMap:
        (p, q), most = junction.widths, max(junction.widths)
        return LinearMap(torch.eye(most)[torch.randperm(most, generator=generator)][:q, :p])
