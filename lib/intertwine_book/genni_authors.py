"""What the code of lengyel2020 draws at random, reproduced."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.genni import parameter_vector


def authors_draws(
    build: Callable[..., nn.Module], shape: Sequence[int], samples: int, number: int, *, seed: int
) -> tuple[Float[Tensor, " p"], Float[Tensor, "n ..."], Float[Tensor, "k p"]]:
    """Target, inputs and starts from one stream of random numbers, as lengyel2020's code draws them.

    Example:
        >>> from intertwine_book import models
        >>> target, inputs, starts = authors_draws(models.fcn, (1,), 100, 2, seed=10)
        >>> (target * 1e4).round().tolist(), inputs.shape, starts.shape
        ([-838.0, -343.0, -2652.0, 1627.0], torch.Size([100, 1]), torch.Size([2, 4]))

    The starts depend on how many inputs of this shape there are, standard normal. The paper's small network
    has the seed 10 and 16,384 inputs, its LeNet 0 and 8,192. The keyword `seed` of `build` takes a generator.
    """
    generator = torch.Generator().manual_seed(seed)
    target = parameter_vector(build(seed=generator))
    inputs = torch.randn(samples, *shape, generator=generator)
    return target, inputs, torch.stack([parameter_vector(build(seed=generator)) for _ in range(number)])
