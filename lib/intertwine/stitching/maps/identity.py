"""No map at all."""

import torch

from intertwine.alignment import LinearMap
from intertwine.stitching.junction import Junction


class Identity:
    """No stitch, the baseline: channels that only one of the layers has are dropped, or 0. Not trained."""

    @staticmethod
    def start(junction: Junction, generator: torch.Generator) -> LinearMap:
        return LinearMap(torch.eye(*junction.widths[::-1]))
