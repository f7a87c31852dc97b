"""The random numbers of lengyel2020's LeNets."""

import torch

from intertwine_book import models
from intertwine_book.genni_authors import authors_draws


def test_the_five_lenet_starts_are_those_that_were_compared_with_the_authors_committed_ones():
    """On 28 November 2026 no weight was further than 1.5e-8 from the authors' `step_0/model_*.pt`."""
    _, _, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 5, seed=0)
    numbers = (1e6 * starts).round().long()
    places = torch.arange(1, starts.shape[1] + 1)
    assert numbers.sum(1).tolist() == [-10826532, 3964631, -5408901, 4819524, 4891227]
    assert ((numbers * places).sum(1) % 2**31).tolist() == [
        66867520,
        1447724558,
        1072975635,
        348512306,
        17690507,
    ]
