"""The permutation of best matching activations, with scales."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import Statistics
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps.matching import best_match
from intertwine.stitching.maps.stitch import Stitch, parameter


class Matched(Stitch):
    """The fixed permutation of best matching activations, with positive scales, which may be trained.

    Example:
        >>> from intertwine.alignment import Statistics
        >>> A = torch.rand(100, 2)
        >>> Matched(Statistics.of(A, 2 * A[:, [1, 0]])).weight.tolist()
        [[0.0, 2.0], [2.0, 0.0]]

    The match maximises the sum of cosines between matched channels, by linear assignment, as in
    G_ReLU-Procrustes (godfrey2022 eq. 5.2); scales start at ‖b‖/‖a‖ and stay positive. Least-squares scales
    (`alignment.g_relu`) shrink what matches badly, and stitch worse. Where p ≠ q, the smaller number of
    channels is matched.
    """

    def __init__(self, statistics: Statistics) -> None:
        super().__init__()
        self.widths = statistics.widths
        _, inputs, outputs, log_ratios = best_match(statistics)
        self.inputs, self.outputs = nn.Buffer(inputs), nn.Buffer(outputs)
        self.log_scales = parameter(log_ratios)

    @classmethod
    def fit(cls, statistics: Statistics) -> "Matched":
        return cls(statistics)

    @classmethod
    def start(cls, junction: Junction, generator: torch.Generator) -> "Matched":
        return cls(junction.statistics)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        p, q = self.widths
        weight = torch.zeros(q, p, dtype=self.log_scales.dtype, device=self.log_scales.device)
        return weight.index_put((self.outputs, self.inputs), self.log_scales.exp())
