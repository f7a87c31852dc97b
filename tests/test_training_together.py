"""Several trainings at once: each as if it were alone, on a GPU by recorded steps."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from helpers import same
from torch import Tensor, nn

from intertwine.training import Batches, Recipe, build_optimizer, train
from intertwine.training.together import Steps, run_epoch
from intertwine_book import data, models
from intertwine_book.zoo import RECIPES

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = data.load("digits", "train")[:150]
LARGE = replace(SMALL, images=F.interpolate(SMALL.images, (16, 16)), hashed=())
KINDS = {
    "Adam, a smaller last batch": (SMALL, replace(RECIPES["godfrey2022"], epochs=5, batch_size=40)),
    "momentum, whole batches": (SMALL, replace(RECIPES["csiszarik2021"], epochs=3, batch_size=40, shift=1)),
    "growing images": (LARGE, replace(RECIPES["growing"], epochs=4, batch_size=30)),
    "one batch": (SMALL, replace(RECIPES["digits"], epochs=2, batch_size=1_000, label_smoothing=0.0)),
}


def steps_of(network: nn.Module, images, recipe: Recipe, seed: int, **hooks) -> Steps:
    def objective(x: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        logits, labels = network(x), images.labels[numbers]
        return F.cross_entropy(logits, labels)[None], (logits.argmax(1) == labels).sum()[None]

    optimizer = build_optimizer(recipe, network.named_parameters())
    return Steps(objective, optimizer, Batches.of(images, recipe), recipe, seed=seed, **hooks)


@pytest.mark.parametrize(("images", "recipe"), KINDS.values(), ids=KINDS)
def test_each_of_several_is_trained_as_alone_to_the_last_bit(images, recipe):
    recipe = replace(recipe, dtype="float32")
    networks = [models.myrtle(2, in_channels=1, seed=seed) for seed in (0, 1)]
    alone = [train(net, images, recipe, seed=7 + k, device="cpu") for k, net in enumerate(networks)]
    for network in networks:
        network.to(memory_format=torch.channels_last).train()
    steps = [steps_of(net, images, recipe, 7 + k) for k, net in enumerate(networks)]
    found = [run_epoch(steps, number) for number in range(recipe.epochs)]
    for k, (network, wanted) in enumerate(zip(networks, alone, strict=True)):
        assert same(network, wanted.network)
        for epoch, row in zip(found, wanted.history.to_dict("records"), strict=True):
            assert epoch[k][0] == pytest.approx([row["loss"]], rel=1e-5)
            assert epoch[k][1] == pytest.approx([row["accuracy"]])


def test_trainings_of_unlike_length_take_turns_until_each_is_done():
    short, long = (
        replace(RECIPES["digits"], epochs=2, batch_size=size, dtype="float32") for size in (90, 20)
    )
    networks = [models.myrtle(2, in_channels=1, seed=0).train() for _ in range(3)]
    together = [steps_of(net, SMALL, recipe, 0) for net, recipe in zip(networks, (short, long), strict=False)]
    for number in range(2):
        run_epoch(together, number)
    alone = steps_of(networks[2], SMALL, short, 0)
    for number in range(2):
        run_epoch([alone], number)
    assert same(networks[0], networks[2]) and not same(networks[0], networks[1])


def test_what_is_called_before_an_epoch_and_after_a_step():
    recipe = replace(RECIPES["digits"], epochs=3, batch_size=60)  # three steps an epoch
    network, calls = models.myrtle(2, in_channels=1).train(), []
    hooks = {
        "before_epoch": lambda done: calls.append(round(done, 3)),
        "after_step": partial(calls.append, "s"),
    }
    steps = steps_of(network, SMALL, recipe, 0, **hooks)
    for number in range(3):
        run_epoch([steps], number)
    assert calls == [0.056, "s", "s", "s", 0.389, "s", "s", "s", 0.722, "s", "s", "s"]
