"""Stitches at many layers at once: each as if it were trained alone."""

import copy
from dataclasses import replace
from functools import cache

import pytest
import torch
from helpers import generator, normal
from torch import nn

from intertwine.data import Dataset
from intertwine.stitching import (
    STITCH_RECIPES,
    Birkhoff,
    Full,
    Junction,
    Ladder,
    LowRank,
    Rung,
    Sparse,
    climb,
    stitch_at,
)
from intertwine.stitching.rungs import by_each
from intertwine.training import train
from intertwine.training.together import run_epoch
from intertwine_book import data, models
from intertwine_book.zoo import RECIPES

pytestmark = pytest.mark.usefixtures("one_thread")
TRAIN, TEST = data.load("digits", "train")[:300], data.load("digits", "test")[:200]
FROZEN = replace(STITCH_RECIPES["csiszarik2021"], epochs=3, batch_size=64, shift=1, lr=1e-2)
MOVING = replace(STITCH_RECIPES["godfrey2022"], epochs=2, shift=1, lr=1e-2)
EXACT = {"seed": 5, "device": "cpu", "dtype": "float32"}
NAMES = ("accuracy", "loss", "distance")


@cache
def network(seed: int, norm: bool = True) -> nn.Module:
    made = models.myrtle(3, in_channels=1, norm=norm, seed=seed)
    return train(made, TRAIN, replace(RECIPES["digits"], epochs=4), seed=seed, device="cpu").network


def drawn(widths: int, seed: int = 0, bias: bool = True) -> Full:
    start = Full.draw((widths, widths), generator(seed))
    return Full(start.weight, start.bias if bias else None)


@pytest.mark.parametrize("targets", ["soft", "hard"])
@pytest.mark.parametrize("layers", [("bn1", "bn3"), ("relu2", "pool2"), ("conv1", "bn1", "fc")])
def test_each_stitch_is_the_one_that_is_trained_alone(layers, targets):
    f, g, recipe = network(0), network(1), replace(FROZEN, targets=targets, label_smoothing=0.1)
    one = {layer: stitch_at(Junction(f, g, layer, TRAIN, test=TEST, device="cpu", dtype="float32"), "full",
                            recipe=recipe, seed=5) for layer in layers}  # fmt: skip
    starts = {layer: Junction(f, g, layer, TRAIN, device="cpu").statistics for layer in layers}
    fits = {layer: Full.fit(each) for layer, each in starts.items()}
    rungs = {layer: Rung(layer, Full(fit.weight, fit.bias), recipe) for layer, fit in fits.items()}
    other = Rung(layers[-1], drawn(len(fits[layers[-1]].weight)), replace(recipe, targets="hard"))
    ladder = Ladder(f, g, {"other": other, **rungs}, TRAIN, TEST, **EXACT)
    (history,) = climb([ladder])
    for layer, wanted in one.items():
        found = ladder.rungs[layer].stitch
        assert (found.weight - wanted.stitch.weight).abs().max() < 2e-5 * wanted.stitch.weight.abs().max()
        told = wanted.history.iloc[-1]
        assert history[-1][layer]["accuracy"] == pytest.approx(told["test_accuracy"], abs=1.5 / len(TEST))
        assert history[-1][layer]["loss"] == pytest.approx(told["test_loss"], rel=1e-3)


class Scaled(Full):
    """A stitch of one's own, with parameters in a module of it."""

    def __init__(self, start: Full) -> None:
        super().__init__(start.weight, start.bias)
        self.scales = nn.Module()
        self.scales.bias = nn.Parameter(torch.ones(len(start.weight)))

    @property
    def weight(self) -> torch.Tensor:
        return self.scales.bias[:, None] * self.matrix


def test_what_decays_of_a_stitch_of_ones_own_is_what_decays_where_it_is_trained_alone():
    f, g, recipe = network(0), network(1), replace(FROZEN, epochs=1, weight_decay=0.1)
    start = Scaled(drawn(6))
    place = Junction(f, g, "relu2", TRAIN, device="cpu", dtype="float32")
    alone = stitch_at(place, copy.deepcopy(start), recipe=recipe, seed=5).stitch
    ladder = Ladder(f, g, {0: Rung("relu2", start, recipe)}, TRAIN, TEST, **EXACT)
    climb([ladder])
    found = ladder.rungs[0].stitch.state_dict()
    torch.testing.assert_close(found, alone.state_dict(), rtol=1e-4, atol=1e-5)


def test_networks_without_batch_norm_low_ranks_and_a_start_that_is_judged():
    f, g = network(0, norm=False), network(1, norm=False)
    start = LowRank.draw((6, 6), generator(), rank=2)
    ladder = Ladder(f, g, {0: Rung("relu2", LowRank(start.weight, rank=2), FROZEN)}, TRAIN, TEST, **EXACT)
    place = Junction(f, g, "relu2", TRAIN, test=TEST, device="cpu", dtype="float32")
    before, wanted = ladder.judge()[0], place.judge(stitch_at(place, start))
    assert [before[name] for name in NAMES] == pytest.approx([getattr(wanted, n) for n in NAMES], rel=1e-4)
    climb([ladder])
    assert torch.linalg.matrix_rank(ladder.rungs[0].stitch.weight, rtol=1e-5) == 2
    after, wanted = ladder.judge()[0], place.judge(stitch_at(place, ladder.rungs[0].stitch.cpu()))
    assert [after[name] for name in NAMES] == pytest.approx([getattr(wanted, n) for n in NAMES], rel=1e-4)


def test_a_penalty_counts_as_where_a_stitch_is_trained_alone():
    f, g = network(0), network(1)
    place = Junction(f, g, "relu2", TRAIN, test=TEST, device="cpu", dtype="float32")
    fit = Full.fit(place.statistics)
    rungs = {alpha: Rung("relu2", Sparse(fit.weight, fit.bias, alpha=alpha), FROZEN) for alpha in (0.0, 0.1)}
    ladder = Ladder(f, g, rungs, TRAIN, TEST, **EXACT)
    climb([ladder])
    for alpha in rungs:
        wanted = stitch_at(place, "sparse", alpha=alpha, recipe=FROZEN, seed=5).stitch.weight
        assert (ladder.rungs[alpha].stitch.weight - wanted).abs().max() < 1e-4 * wanted.abs().max()
    free, pressed = (ladder.rungs[alpha].stitch.weight.abs().sum() for alpha in (0.0, 0.1))
    assert pressed < 0.9 * free


def test_where_both_networks_move_each_stitch_has_batch_norms_of_its_own():
    f, g, faster = network(0), network(1), replace(MOVING, lr=0.1)

    def rungs():
        yield "full", Rung("relu1", drawn(3, bias=False), MOVING)
        yield (
            "rank 1",
            Rung("relu2", LowRank(LowRank.draw((6, 6), generator(), rank=1).weight, rank=1), MOVING),
        )
        yield "group", Rung("relu3", Birkhoff(12, generator=generator()), faster)

    everything = climb([Ladder(f, g, dict(rungs()), TRAIN, TEST, **EXACT)])[0][-1]
    for name, rung in rungs():
        alone = climb([Ladder(f, g, {name: rung}, TRAIN, TEST, **EXACT)])[0][-1][name]
        assert everything[name] == pytest.approx(alone, rel=1e-3)


def test_one_network_may_be_both():
    f = network(0)
    rung = Rung("relu2", drawn(6, bias=False), replace(MOVING, epochs=1))
    one, other = (climb([Ladder(f, g, {0: rung}, TRAIN, TEST, **EXACT)])[0] for g in (f, copy.deepcopy(f)))
    assert one == other


def test_networks_that_move_are_judged_by_running_averages_behind_the_stitch():
    f, g = network(0), network(1)
    rung = Rung("relu1", drawn(3, bias=False), replace(MOVING, epochs=1))
    ladder = Ladder(f, g, {0: rung}, TRAIN, TEST, **EXACT)
    climb([ladder])
    # the plain way: one network, in training mode, whose batch norms see the batches in turn
    start, optimizer = drawn(3, bias=False), None
    front, back = (nn.Sequential(*part).requires_grad_(False) for part in ([*f][:3], [*g][3:]))
    front, back = copy.deepcopy(front).train(), copy.deepcopy(back).train()
    optimizer = torch.optim.SGD(start.parameters(), lr=1e-2, weight_decay=1e-4)
    batches = ladder.steps.batches
    for images, labels in batches.epoch(0, seed=5):
        loss = nn.functional.cross_entropy(back(start(front(images))), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    logits = back.eval()(start(front.eval()(TEST.images)))
    right = (logits.argmax(1) == TEST.labels).double().mean().item()
    assert (ladder.rungs[0].stitch.weight - start.weight).abs().max() < 1e-5
    assert ladder.judge()[0]["accuracy"] == pytest.approx(right, abs=1.5 / len(TEST))


def test_a_birkhoff_stitch_learns_its_scales_in_the_second_half_and_is_a_permutation_when_judged():
    f, g = network(0), network(1)
    rung = Rung("relu2", Birkhoff(6, generator=generator()), replace(MOVING, epochs=4, lr=0.1))
    ladder = Ladder(f, g, {0: rung}, TRAIN, TEST, **EXACT)
    scales = []
    for number in range(4):
        run_epoch([ladder.steps], number)
        scales.append(ladder.rungs[0].stitch.scales.detach().clone())
    assert torch.equal(scales[1], torch.ones(6)) and not torch.equal(scales[2], torch.ones(6))
    ladder.judge()
    used = ladder.rungs[0].stitch.eval().weight
    assert ((used > 0).sum(0) == 1).all() and ((used > 0).sum(1) == 1).all()


def test_what_cannot_stand_on_one_ladder_is_refused_in_a_sentence(unchecked):
    f, g = network(0), network(1)
    rung = Rung("relu1", drawn(3), FROZEN)
    other = Rung("relu2", drawn(6), replace(FROZEN, epochs=4))
    for models_, rungs, said in [
        ((f, models.resnet20(4, in_channels=1)), {0: rung}, "Expected two chains"),
        ((f, g), {0: rung._replace(layer="relu9")}, "Expected stitches after layers of conv1"),
        ((f, g), {}, "was given no stitch"),
        ((f, g), [rung], "Expected rungs by name, was given a list"),
        ((f, g), {0: ("relu1", drawn(3), FROZEN)}, "Expected for 0 a Rung with a Stitch, was given a tuple"),
        (
            (f, g),
            {0: rung._replace(stitch="full")},
            "a Rung with a Stitch, was given a str: make one, as Full",
        ),
        ((f, g), {0: rung._replace(recipe="digits")}, "Expected for 0 a StitchRecipe, was given a str"),
        (
            (f, g),
            {0: rung._replace(recipe=RECIPES["digits"])},
            "a StitchRecipe, was given a intertwine.train",
        ),
        ((f, g), {0: rung._replace(stitch=drawn(4))}, "a stitch of 3 channels to 3, as relu1 has, was given"),
        ((f, g), {0: rung, 1: other}, "Expected recipes that differ in"),
        ((f, g), {0: Rung("relu1", Birkhoff(3, generator=generator()), FROZEN)}, "even number of epochs"),
        ((copy.deepcopy(f).double(), g), {0: rung}, "Expected networks in float32"),
        ((nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64, track_running_stats=False)),) * 2, {}, "running"),
    ]:
        with pytest.raises(ValueError, match=said):
            Ladder(*models_, rungs, TRAIN, TEST, **EXACT)
    signals = Dataset.of(normal(64, 2, 6), torch.arange(64) % 10)
    chains = [nn.Sequential(nn.Conv1d(2, 6, 1), nn.Flatten(), nn.Linear(36, 10)) for _ in "ab"]
    with pytest.raises(ValueError, match=r"for 0, was given signals \(n, c, t\) or maps .*, as 0 returns"):
        Ladder(*chains, {0: Rung("0", drawn(6), FROZEN)}, signals, signals, **EXACT)
    with pytest.raises(ValueError, match=r"write climb\(\[ladder\]\)"):
        climb(Ladder(f, g, {0: rung}, TRAIN, TEST, **EXACT))


def test_a_module_that_stands_twice_in_a_chain_is_run_twice():
    torch.manual_seed(0)
    relu = nn.ReLU()
    f, g = (
        nn.Sequential(nn.Flatten(), nn.Linear(64, 5), relu, nn.Linear(5, 5), relu, nn.Linear(5, 10))
        for _ in "ab"
    )
    found = Ladder(f, g, {0: Rung("1", Full(torch.eye(5)), FROZEN)}, TRAIN, TEST, **EXACT).judge()[0]
    with torch.no_grad():
        logits = g[5](relu(g[3](relu(f[1](TEST.images.flatten(1))))))
    assert found["loss"] == pytest.approx(nn.functional.cross_entropy(logits, TEST.labels).item(), rel=1e-5)


@pytest.mark.parametrize("shape", [(5, 3), (5, 7, 3), (5, 3, 4, 4), (5, 3, 4, 4, 2)])
def test_what_all_stitches_make_together_is_what_each_makes_alone(shape):
    stitches, x = [drawn(3, seed, bias=bool(seed)) for seed in range(3)], normal(*shape)
    torch.testing.assert_close(by_each(stitches, x), torch.cat([each(x) for each in stitches]))


def test_one_start_may_stand_on_several_rungs_and_stays_as_it_was():
    start = drawn(3)
    before = start.weight.detach().clone()
    rungs = {k: Rung(layer, start, FROZEN) for k, layer in enumerate(["relu1", "bn1"])}
    ladder = Ladder(network(0), network(1), rungs, TRAIN, TEST, **EXACT)
    climb([ladder])
    one, two = (ladder.rungs[k].stitch.weight for k in rungs)
    assert torch.equal(start.weight, before) and not torch.equal(one, two)


def test_logits_that_are_not_numbers_are_never_right_and_end_the_training():
    ladder = Ladder(
        network(0), network(1), {"bad": Rung("relu1", Full(torch.full((3, 3), torch.nan)), FROZEN)},
        TRAIN, TEST, **EXACT,
    )  # fmt: skip
    assert ladder.judge()["bad"]["accuracy"] == 0
    with pytest.raises(FloatingPointError, match="The loss of 'bad' is not finite after epoch 1"):
        climb([ladder])


@pytest.mark.parametrize("batch_norm", ["frozen", "reestimated"])
def test_a_last_batch_of_one_image_is_refused_before_any_work_where_its_statistics_count(batch_norm):
    def flat() -> nn.Module:
        return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 3)).eval()

    f, g, images = flat(), flat(), Dataset.of(normal(33, 5), torch.arange(33) % 3)
    recipe = replace(STITCH_RECIPES["digits"], epochs=1, batch_size=16, batch_norm=batch_norm)
    ways = {
        "alone": lambda: stitch_at(Junction(f, g, "1", images, device="cpu"), recipe=recipe),
        "on a ladder": lambda: climb(
            [Ladder(f, g, {0: Rung("1", drawn(8), recipe)}, images, images, **EXACT)]
        ),
    }
    for make in ways.values():
        if batch_norm == "frozen":
            make()
            continue
        with pytest.raises(ValueError, match="33 images in batches of 16, the last of one"):
            make()
