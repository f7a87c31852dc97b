"""What moves together: every hidden value as predicted, and one parameter that is left behind."""

import copy
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.training import evaluate
from intertwine.weightspace import WeightSpace, find_symmetries, relative_error, verify
from intertwine.weightspace.act.space import Element
from intertwine_book.experiments.any_network.models import of_torchvision, randomised
from intertwine_book.experiments.rows import Row, tabled


@tabled
def verified(
    names: Iterable[str], trials: int, generator: torch.Generator, device: torch.device
) -> Iterator[Row]:
    """Random elements that move networks of torchvision, and what `verify` says of them.

    Columns network, trial, outputs (their change, relative), spaces and dimension (of the group),
    representations (percent by which the median hidden space changes), and not_as_predicted (the largest
    error of a hidden space, relative).
    """
    for name in names:
        model = randomised(of_torchvision(name), generator).to(device)
        images = torch.randn(2, 3, 32, 32, generator=generator, dtype=torch.float64).to(device)
        space = find_symmetries(model, images)
        for trial in range(trials):
            report = verify(space, model, space.sample(generator), images)
            row = {"network": name, "trial": trial, "outputs": report.output, "spaces": len(space.spaces)}
            row |= {"dimension": space.dimension}
            row |= {"representations": 100 * report.spaces["changed"].median()}
            yield row | {"not_as_predicted": report.spaces["error"].max()}


@tabled
def left_behind(
    space: WeightSpace,
    network: nn.Module,
    element: Element,
    images: Float[Tensor, "n c h w"],
    labels: Int[Tensor, " n"],
) -> Iterator[Row]:
    """What one parameter or buffer of the first residual stream does that stays when all others move.

    Columns left_behind, change (of the outputs of 100 images, relative), accuracy (percent).
    """
    moved, some = space.act(network, element), images[:100]
    stream = max(space.spaces, key=lambda each: each.logs)
    with torch.no_grad():
        expected = network(some)
        yield {"left_behind": "nothing", "change": 0.0, "accuracy": 100 * evaluate(network, images, labels)}
        for name in [*stream.writers, *stream.readers]:
            broken = copy.deepcopy(moved)
            broken.state_dict()[name].copy_(network.state_dict()[name])
            row = {"left_behind": name, "change": relative_error(broken(some), expected)}
            yield row | {"accuracy": 100 * evaluate(broken, images, labels)}
