"""The training of ladders: epochs in turn, each judged on the test images."""

from math import isfinite
from typing import Any

from torch import nn

from intertwine import devices
from intertwine.stitching.ladder import Ladder
from intertwine.training.together import run_epoch


def climb(ladders: list[Ladder]) -> list[list[dict[Any, dict[str, float]]]]:
    """Train the stitches of all ladders, in turns; those of a ladder that was climbed before go on.

    Example:
        >>> import torch
        >>> from intertwine.data import Dataset
        >>> from intertwine.stitching import STITCH_RECIPES, Full, Rung
        >>> one, two = (nn.Sequential(nn.Linear(5, 8), nn.Linear(8, 10)) for _ in "ab")
        >>> images = Dataset.of(torch.randn(200, 5), torch.arange(200) % 10)
        >>> rungs = {"eye": Rung("0", Full(torch.eye(8)), STITCH_RECIPES["digits"])}
        >>> pairs = (one, two), (two, one)
        >>> ladders = [Ladder(*both, rungs, images, images, seed=0, device="cpu") for both in pairs]
        >>> there, back = climb(ladders)
        >>> 0 < there[-1]["eye"]["accuracy"] < 1
        True

    Args:
        ladders: of equal numbers of epochs.

    Returns:
        For each ladder a list of its epochs: for each stitch, by name, its accuracy (a fraction), loss and
        distance on the test images, as `Junction.judge` has them, and loss_on_the_way, with its penalty.
    """
    if isinstance(ladders, Ladder):
        raise ValueError("Expected a list of ladders, was given one: write climb([ladder]).")
    lengths = {each.recipe.epochs for each in ladders}
    if len(lengths) != 1:
        raise ValueError(f"Expected ladders of one number of epochs, was given {sorted(lengths) or 'none'}.")
    histories: list[list[dict[Any, dict[str, float]]]] = [[] for _ in ladders]
    networks = nn.ModuleList(each.model2 for each in ladders)
    for number in range(ladders[0].recipe.epochs):
        with devices.safe_kernels(networks):
            found = run_epoch([each.steps for each in ladders], number)
        for ladder, (losses, _), history in zip(ladders, found, histories, strict=True):
            judged = ladder.judge()
            for (name, row), loss in zip(judged.items(), losses, strict=True):
                row["loss_on_the_way"] = loss
                if not isfinite(loss):
                    sentence = f"The loss of {name!r} is not finite after epoch {number + 1}"
                    raise FloatingPointError(f"{sentence}: use a smaller lr.")
            history.append(judged)
    return histories
