"""Stitches by task loss: as running both networks at every step, and only the stitch moves."""

import copy
from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from helpers import generator, with_layer_moved
from torch import Tensor, nn

from intertwine.alignment import least_squares, permutation
from intertwine.data import Dataset
from intertwine.groups import GReLU
from intertwine.stitching import (
    KINDS,
    STITCH_RECIPES,
    Entropic,
    Full,
    Junction,
    Stitch,
    StitchRecipe,
    stitch,
    stitch_all,
    stitch_at,
)
from intertwine.stitching.junction import BATCH
from intertwine.stitching.make import join
from intertwine.stitching.maps import options_of
from intertwine.stitching.task_loss import Training, train_together
from intertwine.training import Batches, build_optimizer, evaluate, train
from intertwine_book import data, models
from intertwine_book.zoo import RECIPES

pytestmark = pytest.mark.usefixtures("one_thread")
TRAIN, TEST = data.load("digits", "train"), data.load("digits", "test")
ORDER = torch.randperm(len(TRAIN), generator=torch.Generator().manual_seed(0))
FIT, VALIDATION = TRAIN[ORDER[200:].sort().values], TRAIN[ORDER[:200].sort().values]
PLAIN = StitchRecipe(epochs=1, batch_size=64, lr=0.05, momentum=0.5, weight_decay=1e-3)
EXACT = {"device": "cpu", "dtype": "float32"}


@cache
def network(seed: int, width: int = 4) -> nn.Module:
    net = models.myrtle(width, in_channels=1, seed=seed)
    recipe = replace(RECIPES["digits"], epochs=6, dtype="float32")
    return train(net, TRAIN, recipe, seed=seed, device="cpu").network


def junction(layer: str = "relu2", **options) -> Junction:
    asked = {"validation": VALIDATION, "test": TEST} | EXACT | options
    return Junction(network(0), network(1), layer, FIT, **asked)


def uniform(place: Junction) -> Full:
    p, q = place.widths
    drawn = (2 * torch.rand(q, p + 1, generator=generator()) - 1) * p**-0.5
    return Full(drawn[:, 1:], drawn[:, 0])


def accuracy(model: nn.Module, dataset: Dataset = TEST) -> float:
    return evaluate(model, dataset.images, dataset.labels)


def tensors(*models: nn.Module) -> list[Tensor]:
    return [value.clone() for model in models for value in model.state_dict().values()]


def train_stitch(*args, **options):
    return train_together([Training(*args, **options)])[0]


def plainly(recipe: StitchRecipe, layer: str, start: nn.Module, seed: int) -> nn.Module:
    """The stitch trained as the authors do: both networks whole, at every step."""
    stitched = join(network(0), network(1), layer, copy.deepcopy(start))
    decays = {"decays": lambda name: name != "bias"}
    optimizer = build_optimizer(recipe, stitched.stitch.named_parameters(), **decays)
    batches = Batches.of(FIT, recipe)
    for epoch in range(recipe.epochs):
        stitched.eval()
        stitched.stitch.train()
        if recipe.batch_norm == "reestimated":
            stitched.rest.back.train()
        for images, labels in batches.epoch(epoch, seed=seed):
            targets = labels
            if recipe.targets == "soft":
                targets = network(1)(images).softmax(1).detach()
            loss = F.cross_entropy(stitched(images), targets, label_smoothing=recipe.label_smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return stitched.stitch


@pytest.mark.parametrize(
    ("layer", "recipe"),
    [
        ("relu1", PLAIN),
        ("relu3", replace(PLAIN, optimizer="adam", lr=0.01, label_smoothing=0.1)),
        ("relu1", replace(PLAIN, flip=True, shift=1, targets="soft", drop_last=True)),
        ("relu1", replace(PLAIN, batch_norm="reestimated", epochs=1)),
        ("relu3", replace(PLAIN, batch_norm="reestimated", epochs=1)),
    ],
    ids=["sgd", "adam", "augmented soft", "reestimated early", "reestimated late"],
)
def test_the_same_as_running_both_networks_at_every_step(recipe, layer):
    place = junction(layer, validation=None)
    start = uniform(place)
    trained = train_stitch(place, start, recipe, seed=3).stitch
    expected = plainly(recipe, layer, start, seed=3)
    torch.testing.assert_close(trained.state_dict(), expected.state_dict(), rtol=1e-4, atol=1e-4)
    assert (trained.weight - start.weight).abs().max() > 1e-3


def test_where_images_grow_it_is_they_that_are_shrunk_and_not_their_feature_maps():
    torch.manual_seed(0)
    f, g = (nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(4, 10)) for _ in "ab")  # fmt: skip
    recipe, start = replace(PLAIN, sides=((1.0, 0.5),)), Full(torch.eye(4))
    halves = F.interpolate(FIT.images, scale_factor=0.5, mode="bilinear")
    one, other = (
        stitch_at(Junction(f, g, "1", images, **EXACT), start, recipe=way, seed=3).stitch
        for images, way in ((FIT, recipe), (replace(FIT, images=halves), PLAIN))
    )
    torch.testing.assert_close(one.weight, other.weight, rtol=1e-4, atol=1e-5)


def test_stitches_made_together_are_those_made_alone():
    place, recipe = junction(), replace(PLAIN, flip=True, shift=1, targets="soft")
    kinds = {"full": {"kind": "full", "start": "random", "recipe": recipe}}
    kinds["fit"] = {"kind": "least squares"}  # between two of one recipe, which are trained together
    kinds["sparse"] = {"kind": "sparse", "alpha": 0.01, "recipe": recipe}
    kinds["another order"] = {**kinds["full"], "seed": 4}
    together = stitch_all(place, kinds, seed=3)
    assert [*together] == [*kinds]
    for name, options in kinds.items():
        alone = stitch_at(place, **{"seed": 3, **options})
        assert torch.equal(together[name].stitch.weight, alone.stitch.weight)
        assert together[name].history["loss"].equals(alone.history["loss"])


def test_values_that_are_too_many_to_share_are_made_for_each(monkeypatch):
    place, kind = junction(), {"kind": "full", "recipe": replace(PLAIN, flip=True, shift=1)}
    shared = stitch_all(place, {"one": kind, "two": kind})
    monkeypatch.setattr("intertwine.stitching.task_loss.FRONT_BYTES", 0)
    monkeypatch.delattr("intertwine.stitching.task_loss._Kept")  # which is not asked for
    for name, made in stitch_all(place, {"one": kind, "two": kind}).items():
        assert torch.equal(made.stitch.weight, shared[name].stitch.weight)


class AddedInPlace(nn.Module):
    """A bias, added to the values that it is given."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.ones(4, 1, 1))

    def forward(self, x):
        return x.add_(self.bias)


def test_a_stitch_that_changes_its_inputs_leaves_those_of_the_next():
    place, recipe = junction("relu1"), replace(PLAIN, epochs=1, flip=True)
    kinds = {name: {"kind": AddedInPlace(), "recipe": recipe} for name in ("first", "second")}
    first, second = stitch_all(place, kinds).values()
    alone = stitch_at(place, AddedInPlace(), recipe=recipe)
    for each in (first, second):
        assert torch.equal(each.stitch.bias, alone.stitch.bias)
        assert place.judge(each) == place.judge(each) == place.judge(alone)


def test_values_that_are_not_kept_give_the_same(monkeypatch):
    place = junction()
    start = uniform(place)
    expected = train_stitch(place, start, PLAIN, seed=0)
    monkeypatch.setattr("intertwine.stitching.junction.FRONT_BYTES", 0)
    bare = junction()
    assert bare.stored("train") is None
    trained = train_stitch(bare, start, PLAIN, seed=0)
    torch.testing.assert_close(
        trained.stitch.state_dict(), expected.stitch.state_dict(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("batch_norm", ["frozen", "reestimated"])
def test_only_the_stitch_moves_and_in_silence(batch_norm, capsys):
    before = tensors(network(0), network(1))
    place = junction()
    start = uniform(place)
    first = tensors(start, place.front, place.back, place.model2)
    trained = train_stitch(place, start, replace(PLAIN, batch_norm=batch_norm), seed=0)
    for old, new in zip(before, tensors(network(0), network(1)), strict=True):
        assert torch.equal(old, new)
    for old, new in zip(first, tensors(start, place.front, place.back, place.model2), strict=True):
        assert torch.equal(old, new)
    back = dict(trained.rest.back.named_parameters())
    own = dict(network(1).named_parameters())
    assert all(torch.equal(value, own[name]) for name, value in back.items())
    statistics = trained.rest.back.bn3.running_mean
    assert torch.equal(statistics, network(1).bn3.running_mean) == (batch_norm == "frozen")
    assert not any(module.training for module in trained.modules())
    # nor is a gradient kept of what does not move
    assert [*place.model2.parameters()] and not any(p.requires_grad for p in place.model2.parameters())
    assert not capsys.readouterr().err  # of a bar, which was not asked for


def test_the_options_of_a_kind_reach_it():
    for alpha in (0.1, 0.3):
        made = stitch_at(junction(), "Birkhoff", alpha=alpha, recipe=replace(PLAIN, epochs=2))
        assert made.stitch.alpha == alpha


def test_reestimated_statistics_are_those_behind_the_stitch():
    place = junction("relu2")
    trained = stitch_at(place, "least squares", batch_norm="reestimated")
    back = trained.rest.back
    with torch.no_grad():
        # full batches and the rest count the same, as in an average over batches
        halves = [back.conv3(back.pool2(trained.stitch(trained.front(x)))) for x in FIT.images.split(BATCH)]
    mean = torch.stack([x.mean((0, 2, 3)) for x in halves]).mean(0)
    variance = torch.stack([x.movedim(1, 0).flatten(1).var(1) for x in halves]).mean(0)
    torch.testing.assert_close(back.bn3.running_mean, mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(back.bn3.running_var, variance, rtol=1e-4, atol=1e-4)
    assert back.bn3.momentum == network(1).bn3.momentum


def test_of_equal_epochs_the_first_is_chosen_and_without_a_validation_set_the_last():
    recipe = replace(PLAIN, epochs=2, batch_size=500, lr=1e-30)  # which moves no weight
    for validation, chosen in ((VALIDATION, 0), (None, 2)):
        place = junction(validation=validation)
        start = uniform(place)
        trained = train_stitch(place, start, recipe, seed=0)
        assert all(map(torch.equal, tensors(trained.stitch), tensors(start)))
        assert trained.epoch == chosen


def test_the_validation_set_chooses_and_the_test_set_reports():
    place = junction()
    start = uniform(place)
    recipe = replace(PLAIN, epochs=4, lr=0.5)
    trained = train_stitch(place, start, recipe, seed=0)
    history = trained.history
    assert history["epoch"].tolist() == list(range(5))
    best = history["validation_accuracy"].max()
    assert history["validation_accuracy"][trained.epoch] == best
    assert accuracy(trained, VALIDATION) == pytest.approx(best)
    judged = place.judge(trained)
    assert accuracy(trained) == judged.accuracy == history["test_accuracy"][trained.epoch]
    last = train_stitch(junction(validation=None), start, recipe, seed=0)
    assert last.epoch == 4 and last.evaluate(TEST) == history["test_accuracy"][4]
    with torch.no_grad():
        logits, soft = trained(TEST.images), network(1)(TEST.images).softmax(1)
    assert judged.loss == pytest.approx(F.cross_entropy(logits, TEST.labels).item(), rel=1e-4)
    assert judged.distance == pytest.approx(F.cross_entropy(logits, soft).item(), rel=1e-4)


def test_closed_forms_and_layers_of_your_own():
    place = junction()
    p, q = place.widths
    fitted = least_squares(place.statistics, affine=True)
    still = stitch_at(place, fitted)
    direct = stitch(network(0), network(1), at="relu2", kind=fitted)
    assert still.evaluate(TEST) == direct.evaluate(TEST) and len(still.history) == 1
    assert stitch_at(place, "least squares").evaluate(TEST) == direct.evaluate(TEST)
    own = stitch_at(place, nn.Sequential(nn.Conv2d(p, q, 1), nn.ReLU()), recipe=PLAIN)
    assert own.evaluate(TEST) > 0
    A = torch.eye(p).flip(0)
    assert torch.equal(stitch_at(place, A).stitch.weight, A)
    closed = stitch_at(place, permutation).stitch.weight
    assert torch.equal(closed, stitch_at(place, "permutation").stitch.weight)
    with pytest.raises(FloatingPointError, match="not finite"):
        stitch_at(place, "full", recipe=replace(PLAIN, lr=1e30))
    with pytest.raises(ValueError, match="without: pass test="):
        junction(test=None).judge(still)


class Dropping(nn.Module):
    """Its forward calls dropout as a function, of which torch.fx makes a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = models.fcn((64, 6), seed=0), models.fcn((6, 10), seed=1)

    def forward(self, x):
        return self.second(F.dropout(self.first(x.flatten(1)), 0.5, self.training))


def test_models_in_training_mode_are_judged_without_dropout():
    model = Dropping().train()
    place = Junction(model, model, "first", FIT, test=TEST, **EXACT)
    same = place.judge(stitch_at(place, nn.Identity()))
    assert same.accuracy == accuracy(model) and model.training
    logits = model.eval()(TEST.images)
    assert same.loss == pytest.approx(F.cross_entropy(logits, TEST.labels).item(), rel=1e-5)
    assert same.distance == pytest.approx(F.cross_entropy(logits, logits.softmax(1)).item(), rel=1e-5)


def test_dropout_in_a_stitch_depends_on_the_seed_alone():
    place, state = junction(), torch.get_rng_state()
    start = nn.Sequential(uniform(place), nn.Dropout(0.5))
    first, again, other = (train_stitch(place, start, PLAIN, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first.stitch[0].weight, again.stitch[0].weight)
    assert not torch.equal(first.stitch[0].weight, other.stitch[0].weight)


def test_shortcuts_train_too():
    net = models.resnet20(2, in_channels=1).eval()
    place = Junction(net, net, "block4.relu1", FIT, test=TEST, shortcut="passed on", **EXACT)
    slow = replace(PLAIN, epochs=1, lr=1e-12, weight_decay=0.0)
    trained = stitch_at(place, "full", start="identity", recipe=slow)
    assert trained.evaluate(TEST) == pytest.approx(accuracy(net), abs=1e-6)


# --- known elements, and the optimisers of G_ReLU ---


def test_planted_elements_are_recovered_by_task_loss():
    net, k = network(0), 3
    A = GReLU(16).sample(generator(k), scale=0.5).float()
    twin, layer = with_layer_moved(net, k, A), f"relu{k}"
    assert accuracy(twin) == pytest.approx(accuracy(net), abs=0.0021)
    place = Junction(net, twin, layer, FIT, validation=VALIDATION, test=TEST, **EXACT)
    # model 2's probabilities have their least cross-entropy at the element itself
    recipe = replace(STITCH_RECIPES["digits"], epochs=10, batch_size=32, lr=0.05, targets="soft")
    spoilt = Entropic(place.statistics)
    with torch.no_grad():  # neither the scales nor all of the permutation are known
        spoilt.log_scales.zero_()
        spoilt.scores.add_(0.3 * torch.randn(spoilt.scores.shape, generator=generator(k)))
    clean = (accuracy(net) + accuracy(twin)) / 2
    for kind, short in (("scaled permutation", replace(recipe, epochs=1)), (spoilt, recipe)):
        trained = stitch_at(place, kind, recipe=short)
        assert clean - trained.evaluate(TEST) <= 0.009
    assert clean - trained.history["test_accuracy"][0] > 0.015


# --- tables ---


NEEDED = {"rank": 2, "alpha": 10.0}
AT_ONCE = [name for name, made in KINDS.items() if hasattr(made, "fit") or not issubclass(made, Stitch)]


@pytest.mark.parametrize("kind", AT_ONCE)
def test_each_kind_is_one_call_and_one_number(kind):
    needed = {name: value for name, value in NEEDED.items() if name in options_of(KINDS[kind])}
    made = stitch(network(0), network(1), at="relu4", kind=kind, train=FIT, device="cpu", **needed)
    assert made(TEST.images).shape == (500, 10) and made.evaluate(TEST) == accuracy(made)


def test_an_added_loss_depends_on_both_networks():
    place, seen = junction(), []
    ours, theirs = place.activations("train")

    def apart(moved, values):
        seen.append((moved - values).square().mean().item())
        return 10 * (moved - values).square().mean()

    def residual(stitch):
        return {"residual": (stitch(ours) - theirs).square().mean().item()}

    free, bound = (
        stitch_at(place, "full", start="random", recipe=PLAIN, penalty=penalty, measure=residual)
        for penalty in (None, apart)
    )
    assert seen[0] == pytest.approx(free.history["residual"][0], rel=0.2)
    assert bound.history["residual"].iloc[-1] < 0.7 * free.history["residual"].iloc[-1]


@pytest.mark.parametrize("flip", [False, True])
def test_an_added_loss_comes_on_top_of_the_penalty_of_the_stitch_itself(flip):
    place, recipe = junction(), replace(PLAIN, flip=flip)
    asked = {"kind": "sparse", "alpha": 0.1, "recipe": recipe}
    alone = stitch_at(place, **asked)
    still = stitch_at(place, **asked, penalty=lambda moved, values: 0 * (moved * values).sum())
    assert torch.equal(still.stitch.matrix, alone.stitch.matrix)  # nothing was added
    free = stitch_at(place, **asked | {"alpha": 0.0})
    assert alone.stitch.matrix.abs().sum() < free.stitch.matrix.abs().sum() - 0.1  # something could be lost
    more = stitch_at(place, **asked, penalty=lambda moved, values: 7 + 0 * moved.sum())
    assert torch.allclose(more.stitch.matrix, alone.stitch.matrix, atol=1e-5)  # a constant moves nothing


@pytest.mark.parametrize("flip", [False, True])
def test_an_added_loss_is_given_the_values_of_both_for_the_same_images(flip):
    """The identity leaves model 1's values: those of a model with itself are equal, augmented or not."""
    slow = replace(PLAIN, flip=flip, lr=1e-12, momentum=0.0, weight_decay=0.0)
    given = []

    def keep(moved, values):
        given.append((moved.detach().flatten(1), values.flatten(1)))
        return 0 * moved.sum()

    for second in (0, 1):
        place = Junction(network(0), network(second), "relu2", FIT, **EXACT)
        stitch_at(place, "full", start="identity", recipe=slow, penalty=keep)
        ours, theirs = map(torch.cat, zip(*given, strict=True))
        given.clear()
        if not second:
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        elif not flip:
            with torch.no_grad():
                known = [front(FIT.images).flatten(1) for front in (place.front, place.front2)]
            image = [torch.cdist(*each).argmin(1) for each in zip((ours, theirs), known, strict=True)]
            assert torch.equal(*image) and image[0].unique().numel() > 0.9 * len(FIT)
            torch.testing.assert_close(theirs, known[1][image[1]], rtol=1e-4, atol=1e-4)


def test_a_stitched_network_is_judged_as_all_others_are():
    """In its own type, whatever it was trained in: both said 13.0 and 12.8 once."""
    place = junction(dtype="bfloat16")
    trained = stitch_at(place, "full", recipe=PLAIN)
    assert trained.evaluate(TEST) == accuracy(trained) == place.judge(trained).accuracy
    both = junction(dtype="bfloat16", test=FIT)
    assert both.judge(trained, "train") == both.judge(trained, "test")
    norms = [stitch_at(at, "full", batch_norm="reestimated") for at in (place, junction())]
    one, two = ({k: v for k, v in each.state_dict().items() if "running" in k} for each in norms)
    assert len(one) > 2 and all(torch.equal(v, two[k]) for k, v in one.items())


def test_values_without_autocast_are_stored_once_beside_those_of_a_training_in_bfloat16():
    place, plain = junction(dtype="bfloat16"), junction()
    exact = place.stored("train", exact=True)
    assert exact is place.stored("train", exact=True) and torch.equal(exact, plain.stored("train"))
    assert place.stored("train").dtype == torch.bfloat16
    assert torch.equal(torch.cat([*place.values("train", exact=True)]), exact)
    assert plain.stored("train", exact=True) is plain.stored("train")


def test_a_test_set_that_is_not_judged_after_each_epoch_gives_the_same_stitch():
    one, two = (
        stitch_at(junction("relu4", test_each_epoch=each), "full", recipe=PLAIN, seed=0)
        for each in (True, False)
    )
    assert torch.equal(one.stitch.weight, two.stitch.weight) and one.epoch == two.epoch
    assert "test_accuracy" in one.history and "test_accuracy" not in two.history
