"""Training one network: protocols, batches, the loop against a plain one, interruption, freezing."""

import copy
import sys
from collections import Counter
from dataclasses import asdict, replace
from math import isclose

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import normal, same
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from intertwine import devices, files
from intertwine.chains import pooled_first
from intertwine.data import Dataset
from intertwine.stitching import stitch
from intertwine.training import (
    Batches,
    MultiStep,
    Recipe,
    Triangle,
    build_optimizer,
    epoch,
    evaluate,
    outputs,
    train,
)
from intertwine.training.batches import fill_of
from intertwine.training.outputs import front_values
from intertwine_book import data, models
from intertwine_book.zoo import RECIPES

seeds = st.integers(0, 2**31)
PLAIN = Recipe(epochs=3, batch_size=16, lr=0.05, dtype="float32")


def dataset(n: int, channels: int = 1, side: int = 8, *, classes: int = 10, seed: int = 0) -> Dataset:
    """Noise, labelled by turns."""
    images = normal(n, channels, side, side, seed=seed)
    labels = torch.arange(n) % classes
    mean = torch.linspace(0.2, 0.6, channels).view(-1, 1, 1)
    return Dataset("noise", "train", images, labels, tuple("0123456789"), mean, mean / 2, f"noise {seed} {n}")


def tensors(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


# --- recipes ---


@settings(deadline=None)
@given(st.floats(0.01, 0.99), st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_schedules_stay_within_the_peak(peak, when):
    triangle = Triangle(peak)
    assert isclose(triangle(peak), 1) and triangle(0.0) == triangle(1.0) == 0
    assert all(0 <= triangle(done) <= 1 + 1e-9 for done in when)
    steps = MultiStep(at=tuple(when), factor=0.5)
    values = [steps(done) for done in sorted(when)]
    assert values == sorted(values, reverse=True) and steps(1.0) == 0.5 ** len(when)
    assert steps(min(when)) == 0.5 ** when.count(min(when))  # from the fraction itself on


# --- batches ---


def variants(image: Tensor, recipe: Recipe, fill: Tensor) -> list[Tensor]:
    """All that augmentation may make of an image, by padding and slicing."""
    p, (_, h, w) = recipe.shift, image.shape
    padded = fill.expand(-1, h + 2 * p, w + 2 * p).clone()
    padded[:, p : p + h, p : p + w] = image
    crops = [padded[:, y : y + h, x : x + w] for y in range(2 * p + 1) for x in range(2 * p + 1)]
    # flipping before or after moving gives the same set
    return crops + [crop.flip(-1) for crop in crops] if recipe.flip else crops


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 9),
    channels=st.integers(1, 3),
    h=st.integers(1, 6),
    w=st.integers(1, 6),
    batch=st.integers(1, 5),
    shift=st.integers(0, 2),
    flip=st.booleans(),
    fill=st.sampled_from(["mean", "black"]),
    drop_last=st.booleans(),
    seed=seeds,
    epoch=st.integers(0, 100),
)
def test_an_epoch_holds_every_image_once_in_an_allowed_variant(
    n, channels, h, w, batch, shift, flip, fill, drop_last, seed, epoch
):
    batch = min(batch, n)
    recipe = replace(PLAIN, batch_size=batch, shift=shift, flip=flip, fill=fill, drop_last=drop_last)
    source = replace(
        dataset(n, channels), images=normal(n, channels, h, w, seed=seed), labels=torch.arange(n)
    )
    batches = Batches(source.images, source.labels, recipe, fill_of(source, recipe))
    drawn = list(batches.epoch(epoch, seed=seed))
    sizes = [len(labels) for _, labels in drawn]
    assert len(batches) == len(drawn)
    assert sizes == [batch] * (n // batch) + ([n % batch] if n % batch and not drop_last else [])
    labels = torch.cat([labels for _, labels in drawn] or [torch.arange(0)])
    assert len(labels.unique()) == len(labels) == sum(sizes)
    black = 0 * source.mean if fill == "mean" else (0 - source.mean) / source.std
    for images, labels in drawn:
        for image, label in zip(images, labels, strict=True):
            allowed = variants(source.images[label], recipe, black)
            assert any(torch.equal(image, variant) for variant in allowed)
    again = list(batches.epoch(epoch, seed=seed))
    assert all(
        torch.equal(a, b)
        for one, two in zip(drawn, again, strict=True)
        for a, b in zip(one, two, strict=True)
    )


def test_shifts_and_flips_are_uniform_and_orders_differ():
    n, recipe = 4000, replace(PLAIN, batch_size=100, shift=1, flip=True)
    image = torch.arange(1.0, 10).view(1, 3, 3)
    batches = Batches(image.expand(n, 1, 3, 3), torch.arange(n), recipe, torch.zeros(1, 1, 1))
    drawn = list(batches.epoch(0, seed=0))
    counts = Counter(tuple(image.flatten().tolist()) for images, _ in drawn for image in images)
    assert len(counts) == 18
    chi_squared = sum((count - n / 18) ** 2 / (n / 18) for count in counts.values())
    assert chi_squared < 40.8  # 17 degrees of freedom: exceeded by one seed in a thousand
    orders = [
        torch.cat([labels for _, labels in batches.epoch(epoch, seed=seed)])
        for epoch, seed in [(0, 0), (1, 0), (0, 1)]
    ]
    for k, order in enumerate(orders):  # no two agree in more places than unrelated permutations do
        assert all((order == other).sum() < 10 for other in orders[:k])


# --- the loop ---


def plain_loop(network: nn.Module, source: Dataset, recipe: Recipe, seed: int) -> nn.Module:
    """Training as a tutorial writes it, by torch.optim without fused steps, on the same batches."""
    network = copy.deepcopy(network).train()
    named = list(network.named_parameters())
    groups = [
        {"params": [p], "weight_decay": recipe.weight_decay * (recipe.decay_biases or "weight" in name)}
        for name, p in named
    ]
    if recipe.optimizer == "adam":
        optimizer = torch.optim.Adam(groups, recipe.lr)
    else:
        optimizer = torch.optim.SGD(groups, recipe.lr, momentum=0.9, nesterov=True)
    batches = Batches(source.images.double(), source.labels, recipe, fill_of(source, recipe))
    steps = len(batches) * recipe.epochs
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: recipe.schedule((step + 0.5) / steps))
    loss = nn.CrossEntropyLoss(label_smoothing=recipe.label_smoothing)
    for number in range(recipe.epochs):
        for images, labels in batches.epoch(number, seed=seed):
            optimizer.zero_grad()
            loss(network(images), labels).backward()
            optimizer.step()
            rate.step()
    return network


@pytest.mark.parametrize(("name", "norm"), [*((name, True) for name in RECIPES), ("digits", False)])
def test_training_is_the_plain_loop(name, norm):
    recipe = replace(RECIPES[name], epochs=4, batch_size=16, lr=1e-3)
    network = models.myrtle(2, in_channels=2, norm=norm, seed=1).double()
    source = dataset(40, 2, 16)
    trained = train(network, source, replace(recipe, dtype="float32"), seed=5, device="cpu")
    expected = plain_loop(network, source, recipe, seed=5)
    for (key, value), (_, wanted) in zip(
        trained.network.state_dict().items(), expected.state_dict().items(), strict=True
    ):
        torch.testing.assert_close(value, wanted, rtol=1e-7, atol=1e-9, msg=key)
    assert trained.network.fc.weight.dtype == torch.float64
    assert not same(trained.network, network)


@pytest.mark.slow
def test_digits_reach_98_percent():
    train_set, test = data.load("digits", "train"), data.load("digits", "test")
    rest, validation = train_set[97:], train_set[:97]
    network = models.myrtle(8, in_channels=1, seed=0)
    trained = train(network, rest, RECIPES["digits"], seed=3, device="cpu", validation=validation)
    assert evaluate(trained.network, test.images, test.labels) >= 0.98
    history = trained.history
    assert list(history) == [
        "epoch",
        "lr",
        "loss",
        "accuracy",
        "seconds",
        "images_per_s",
        "validation_accuracy",
    ]
    assert history["epoch"].tolist() == list(range(1, 21))
    assert history["validation_accuracy"].iloc[-1] > 0.95 and history["accuracy"].iloc[-1] > 0.99
    assert (history["images_per_s"] * history["seconds"]).round().tolist() == [1200] * 20
    assert not any(module.training for module in trained.network.modules())


@pytest.mark.parametrize(("name", "dtype"), [("fast", "bfloat16"), ("godfrey2022", "float32")])
def test_the_same_seed_gives_bitwise_the_same_weights(name, dtype):
    recipe = replace(RECIPES[name], epochs=2, batch_size=16, dtype=dtype)
    network, source = models.resnet20(2, seed=0), dataset(40, 3)
    before = tensors(network)
    first, second, other = (
        train(network, source, recipe, seed=seed, device="cpu").network for seed in (7, 7, 8)
    )
    assert same(first, second) and not same(first, other)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert network.training and all(p.requires_grad for p in first.parameters())
    assert all(value.is_contiguous() for value in first.state_dict().values())


class Dropping(nn.Module):
    """Draws in training, by a module and by a function."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = models.fcn((64, 20), seed=0), models.fcn((20, 10), seed=1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.dropout(self.dropout(self.first(x.flatten(1))), 0.2, self.training))


@pytest.mark.parametrize("build", [Dropping, lambda: models.myrtle(2, in_channels=1)])
def test_training_leaves_the_generators_of_torch_alone(build):
    network, recipe = build(), replace(PLAIN, shift=1, flip=True)
    state = torch.get_rng_state()
    train(network, dataset(20), recipe, seed=0, device="cpu")
    assert torch.equal(state, torch.get_rng_state())


def test_dropout_depends_on_the_seed_and_the_epoch_alone(tmp_path, monkeypatch):
    source, options = dataset(40), {"recipe": PLAIN, "device": "cpu"}
    first = train(Dropping(), source, seed=7, **options)
    torch.rand(1)
    again, other = (train(Dropping(), source, seed=seed, **options) for seed in (7, 8))
    assert same(first.network, again.network) and not same(first.network, other.network)

    options["checkpoint"] = tmp_path / "training"
    interrupted(monkeypatch, 1, Dropping(), source, seed=7, **options)
    assert same(train(Dropping(), source, seed=7, **options).network, first.network)


def test_no_epochs_change_nothing():
    network = models.tiny10(2)
    trained = train(network, dataset(4, 3, 27), replace(PLAIN, epochs=0), seed=0, device="cpu")
    assert same(trained.network, network) and trained.history.empty


def test_history_counts_what_happened():
    """With a rate of nearly 0 and no batch norm, an epoch's loss and accuracy are the network's own."""
    network, source = models.myrtle(2, norm=False, in_channels=1), dataset(50)
    recipe = replace(PLAIN, lr=1e-12, epochs=1, label_smoothing=0.2)
    history = train(network, source, recipe, seed=0, device="cpu", validation=source).history
    loss = F.cross_entropy(network(source.images), source.labels, label_smoothing=0.2).item()
    assert isclose(history["loss"].item(), loss, rel_tol=1e-5)
    accuracy = evaluate(network, source.images, source.labels)
    assert isclose(history["accuracy"].item(), accuracy, rel_tol=1e-6)
    assert history["validation_accuracy"].item() == accuracy


def test_images_that_require_gradients_get_none():
    images = normal(8, 3).requires_grad_()
    train(nn.Linear(3, 2), Dataset.of(images, torch.arange(8) % 2), PLAIN, seed=0, device="cpu")
    assert images.grad is None


@pytest.mark.usefixtures("unchecked")
def test_whole_numbers_of_numpy_and_torch_are_those_of_python():
    network, source = nn.Linear(3, 2), Dataset.of(normal(8, 3), torch.arange(8) % 2)
    recipes = PLAIN, replace(PLAIN, batch_size=np.int64(16), epochs=torch.tensor(3))
    assert files.digest(asdict(recipes[0])) == files.digest(asdict(recipes[1]))
    ours, theirs = (
        train(network, source, recipe, seed=seed, device="cpu").network
        for recipe, seed in zip(recipes, (3, np.int64(3)), strict=True)
    )
    assert same(ours, theirs)


def test_a_loss_that_is_not_finite_ends_the_training():
    with pytest.raises(FloatingPointError, match="not finite after epoch 1: use a smaller lr"):
        train(models.myrtle(2, in_channels=1), dataset(50), replace(PLAIN, lr=1e30), seed=0, device="cpu")


# --- progress and interruption ---


def test_a_bar_shows_loss_and_accuracy(capsys):
    train(models.myrtle(2, in_channels=1), dataset(20), PLAIN, seed=0, device="cpu", progress=True)
    out, bar = capsys.readouterr()
    assert not out and all(word in bar for word in ("3/3", "loss=", "accuracy="))
    train(models.myrtle(2, in_channels=1), dataset(20), PLAIN, seed=0, device="cpu")
    assert capsys.readouterr() == ("", "")


@given(seeds, st.sampled_from([torch.float32, torch.bfloat16]))
@settings(max_examples=20)
def test_maxima_before_relu_change_no_bit_of_outputs_and_gradients(seed, dtype):
    network = models.myrtle(4, seed=seed)
    chain = pooled_first(network)
    assert [type(layer) for layer in chain] != [type(layer) for layer in network]
    images, found = normal(6, 3, 8, 8, seed=seed), []
    for each in (network, chain):
        network.zero_grad()
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            out = each(images)
        out.float().square().sum().backward()
        found.append([out, *(parameter.grad for parameter in network.parameters())])
    assert all(map(torch.equal, *found))


def test_only_relu_before_maxima_changes_places_and_only_in_a_plain_chain():
    class Own(nn.Sequential):
        def forward(self, x):
            return 2 * super().forward(x)

    layers = [nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2)]
    own, hooked = Own(*layers), nn.Sequential(*layers)
    hooked.register_forward_hook(lambda module, inputs, out: 2 * out)
    for network in (own, hooked):
        assert pooled_first(network) is network
    # the first two fall somewhere, and a mean is no maximum
    for layers in (
        [nn.LeakyReLU(-1.0), nn.MaxPool2d(2)],
        [nn.GELU(), nn.MaxPool2d(2)],
        [nn.ReLU(), nn.AvgPool2d(2)],
    ):
        assert [*pooled_first(nn.Sequential(*layers))] == layers


def test_images_grow_to_their_full_side():
    source = dataset(32, 3, 16)
    recipe = replace(PLAIN, epochs=10, sides=((0.4, 0.5), (0.7, 0.75)))
    batches = Batches(source.images, source.labels, recipe, fill_of(source, recipe))
    sides = [next(batches.epoch(number, seed=0))[0].shape[-1] for number in range(10)]
    assert sides == [8] * 4 + [12] * 3 + [16] * 3
    whole = Batches(source.images, source.labels, replace(recipe, sides=()), fill_of(source, recipe))
    (small, one), (large, two) = (next(each.epoch(0, seed=5)) for each in (batches, whole))
    assert torch.equal(one, two)
    torch.testing.assert_close(small, F.avg_pool2d(large, 2))


def interrupted(monkeypatch, epochs: int, *arguments, **options) -> None:
    """A training that is stopped in the midst of an epoch, after so many whole ones."""
    drawn = Batches.epoch

    def stopping(self, number, *, seed):
        for k, batch in enumerate(drawn(self, number, seed=seed)):
            if number == epochs and k == 1:
                raise KeyboardInterrupt
            yield batch

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Batches, "epoch", stopping)
        train(*arguments, **options)


@pytest.mark.parametrize(
    ("name", "dtype", "freeze"), [("fast", "bfloat16", None), ("digits", "float32", "block1")]
)
def test_an_interrupted_training_goes_on_as_if_nothing_had_happened(
    tmp_path, monkeypatch, name, dtype, freeze
):
    recipe = replace(RECIPES[name], epochs=3, batch_size=16, dtype=dtype)
    network, source = models.resnet20(2, seed=0), dataset(40, 3)
    options = {"seed": 3, "device": "cpu", "freeze": freeze}
    whole = train(network, source, recipe, **options)
    options["checkpoint"] = tmp_path / "training"
    for epochs in (1, 2):
        interrupted(monkeypatch, epochs, network, source, recipe, **options)
    resumed = train(network, source, recipe, **options)
    assert same(resumed.network, whole.network)
    columns = ["epoch", "lr", "loss", "accuracy"]
    assert resumed.history[columns].equals(whole.history[columns])
    again = train(network, source, recipe, **options)
    assert same(again.network, whole.network) and again.history.equals(resumed.history)


def of_equal_weights(act: type = nn.ReLU, dropout: float = 0.0, frozen: int = 0) -> nn.Module:
    network = models.myrtle(2, in_channels=1)
    network.relu2, network.pool3 = act(), nn.Dropout(dropout)
    network.get_submodule(f"conv{frozen + 1}").requires_grad_(False)
    return network


OTHERS = {
    "network": lambda: models.myrtle(2, in_channels=1, seed=1),
    "network, activation": lambda: of_equal_weights(act=nn.Tanh),
    "network, dropout": lambda: of_equal_weights(dropout=0.5),
    "network, frozen": lambda: of_equal_weights(frozen=1),
    "network, names": lambda: nn.Sequential(*of_equal_weights()),
    "recipe": lambda: replace(PLAIN, lr=0.01),
    "data": lambda: dataset(20, seed=1),
    "freeze": lambda: "conv1",
    "validation": lambda: dataset(10),
}


@pytest.mark.parametrize("change", OTHERS)
def test_a_checkpoint_of_another_training_is_not_taken(tmp_path, change):
    given = {"network": of_equal_weights(), "data": dataset(20), "recipe": PLAIN, "seed": 0}
    train(**given, device="cpu", checkpoint=tmp_path / "c")
    other = {change.partition(",")[0]: OTHERS[change]()}
    with pytest.raises(ValueError, match="found one of another network, recipe, seed or data set: delete it"):
        train(**(given | other), device="cpu", checkpoint=tmp_path / "c")
    (tmp_path / "c").write_bytes(b"broken")
    with pytest.raises(OSError, match=r"is damaged or was not written here .*: delete it"):
        train(**given, device="cpu", checkpoint=tmp_path / "c")


def test_a_checkpoint_is_not_taken_where_modules_print_alike_and_do_something_else(tmp_path):
    linear = nn.Linear(64, 10)
    kinds = (nn.AvgPool2d(3, 1, padding=1, count_include_pad=counted) for counted in (True, False))
    one, other = (nn.Sequential(pool, nn.Flatten(), linear) for pool in kinds)
    assert str(one) == str(other)
    train(one, dataset(20), PLAIN, seed=0, device="cpu", checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="found one of another network"):
        train(other, dataset(20), PLAIN, seed=0, device="cpu", checkpoint=tmp_path / "c")


class Calling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.function = lambda x: x

    def extra_repr(self) -> str:
        return repr(self.function)

    def forward(self, x):
        return self.function(x)


def test_a_checkpoint_is_taken_where_a_module_prints_an_address_which_is_another_in_each_process(tmp_path):
    linear, kept = nn.Linear(64, 10), []
    one, other = (nn.Sequential(nn.Flatten(), Calling(), linear) for _ in "ab")
    assert str(one) != str(other)
    for network in (one, other):
        trained = train(network, dataset(20), PLAIN, seed=0, device="cpu", checkpoint=tmp_path / "c")
        kept.append(trained.history)
    assert kept[0].equals(kept[1])  # with the seconds, so that nothing was trained again


# --- freezing ---


@settings(max_examples=5, deadline=None)
@given(draw=st.data(), name=st.sampled_from(["myrtle", "resnet20"]), seed=seeds)
def test_what_is_frozen_stays_and_the_rest_moves(draw, name, seed):
    network = getattr(models, name)(2, in_channels=1, seed=seed)
    names = [key for key, _ in network.named_children()]
    layer = draw.draw(st.sampled_from(names[:-1]))
    recipe = replace(PLAIN, epochs=1, weight_decay=0.1, decay_biases=True, flip=draw.draw(st.booleans()))
    trained = train(network, dataset(32, seed=seed), recipe, seed=0, device="cpu", freeze=layer).network
    for key, value in network.state_dict().items():
        before = names.index(key.split(".")[0]) <= names.index(layer)
        assert torch.equal(trained.state_dict()[key], value) == before, key
    assert all(parameter.requires_grad for parameter in trained.parameters())


@pytest.mark.parametrize("layer", range(6))
def test_what_is_frozen_of_a_chain_with_a_module_that_stands_there_twice_is_counted_by_places(layer):
    relu, norm = nn.ReLU(), nn.BatchNorm1d(6)
    layers = nn.Flatten(), nn.Linear(64, 6), norm, relu, nn.Linear(6, 6), relu, norm, nn.Linear(6, 10)
    network = nn.Sequential(*layers)
    trained = train(network, dataset(32), PLAIN, seed=0, device="cpu", freeze=str(layer)).network
    moved = {
        int(key[0]) for key, x in tensors(network).items() if not torch.equal(trained.state_dict()[key], x)
    }
    norms = {2, 6} if layer < 2 else set()
    assert moved == {k for k in (1, 4, 7) if k > layer} | norms


def test_parameters_without_gradients_stay():
    network = models.myrtle(2, in_channels=1)
    network.conv2.weight.requires_grad_(False)
    trained = train(network, dataset(20), PLAIN, seed=0, device="cpu").network
    assert torch.equal(trained.conv2.weight, network.conv2.weight) and not trained.conv2.weight.requires_grad
    assert not torch.equal(trained.conv1.weight, network.conv1.weight)


@pytest.mark.parametrize("name, layer", [("myrtle", "relu1"), ("myrtle", "flatten"), ("resnet20", "block2")])
def test_a_front_computed_once_changes_nothing(monkeypatch, name, layer):
    network = getattr(models, name)(2, in_channels=1, seed=0).double()
    trained = [train(network, dataset(40), PLAIN, seed=0, device="cpu", freeze=layer).network]
    monkeypatch.setattr(sys.modules["intertwine.training.train"], "front_values", lambda *_, **__: None)
    trained.append(train(network, dataset(40), PLAIN, seed=0, device="cpu", freeze=layer).network)
    for one, two in zip(*(network.state_dict().values() for network in trained), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-12)


def test_a_front_is_run_once_per_image():
    calls = Counter()

    class Counted(nn.Linear):
        def forward(self, x):
            calls[self.out_features] += len(x)
            return super().forward(x)

    network = nn.Sequential(nn.Flatten(), Counted(64, 9), nn.ReLU(), Counted(9, 10))
    recipe = replace(PLAIN, epochs=5)
    train(network, dataset(40), recipe, seed=0, device="cpu", freeze="1")
    assert calls[10] >= 5 * 40 and calls[9] <= 40 + 5
    calls.clear()
    train(network, dataset(40), replace(recipe, flip=True), seed=0, device="cpu", freeze="1")
    assert calls[9] >= 5 * 40  # augmented images are new every time


class Two(nn.Module):
    """A front whose shortcut crosses the cut."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.part(x), x


@settings(max_examples=10, deadline=None)
@given(n=st.sampled_from([1, 20, 200, 203]), several=st.booleans())  # batches have 200
def test_the_values_of_a_front_are_its_outputs_unless_they_need_too_much(n, several):
    part, images = models.myrtle(2, in_channels=1)[:3], normal(n, 1, 8, 8)
    front = Two(part) if several else part
    values = front_values(front, images)
    with torch.no_grad():
        expected = front.eval()(images)
    for one, other in zip(*((x if several else (x,)) for x in (values, expected)), strict=True):
        torch.testing.assert_close(one, other)
    size = n * 64 * 4 * (2 + several)
    assert front_values(front, images, limit=size) is not None
    assert front_values(front, images, limit=size - 1) is None
    if several:
        again = torch.cat([len(batch[0]) * torch.ones(1) for batch in outputs(nn.Identity(), values)])
        assert again.sum() == n


# --- the hooks of an epoch ---


def test_an_added_loss_soft_targets_and_steps_before_and_after():
    """One step by hand: SGD on the cross-entropy to probabilities plus a penalty, then a projection."""

    class OneBatch:
        def __len__(self) -> int:
            return 1

        def epoch(self, number: int, *, seed: int):
            yield x, labels, soft

    x, labels, soft = normal(6, 3), torch.arange(6) % 4, normal(6, 4, seed=1).softmax(1)
    layer = nn.Linear(3, 4)
    expected = copy.deepcopy(layer)
    (F.cross_entropy(expected(x), soft) + 0.3 * expected.weight.square().sum()).backward()
    recipe, fractions = replace(PLAIN, momentum=0.0, epochs=2), []
    with torch.no_grad():
        stepped = (expected.weight - recipe.lr * expected.weight.grad).round(decimals=2)
        loss = F.cross_entropy(layer(x), soft).item()
        right = (layer(x).argmax(1) == labels).double().mean().item()

    def project():
        with torch.no_grad():
            layer.weight.copy_(layer.weight.round(decimals=2))

    row = epoch(
        layer,
        OneBatch(),
        build_optimizer(recipe, layer.named_parameters()),
        recipe,
        1,
        seed=0,
        added_loss=lambda inputs, labels, targets: 0.3 * layer.weight.square().sum(),
        before_step=fractions.append,
        after_step=project,
    )
    assert fractions == [0.75] and row["epoch"] == 2
    torch.testing.assert_close(layer.weight, stepped, atol=1.1e-2, rtol=0)
    assert torch.equal(layer.weight, layer.weight.round(decimals=2))
    assert isclose(row["loss"], loss, rel_tol=1e-5) and isclose(row["accuracy"], right)


class Averaging(nn.Module):
    """A layer that keeps a running mean, which it does not save."""

    def __init__(self) -> None:
        super().__init__()
        self.weighting = nn.Linear(64, 10)
        self.register_buffer("mean", torch.zeros(64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        if self.training:
            with torch.no_grad():
                self.mean.lerp_(x.mean(0), 0.1)
        return self.weighting(x - self.mean)


def test_buffers_that_are_not_saved_are_in_a_checkpoint(tmp_path, monkeypatch):
    recipe, options = replace(PLAIN, epochs=3), {"seed": 3, "device": "cpu"}
    network, source = Averaging(), dataset(40)
    whole = train(network, source, recipe, **options)
    options["checkpoint"] = tmp_path / "training"
    interrupted(monkeypatch, 2, network, source, recipe, **options)
    resumed = train(network, source, recipe, **options)
    assert same(resumed.network, whole.network) and torch.equal(resumed.network.mean, whole.network.mean)


def test_biases_of_a_module_that_is_called_a_weight_do_not_decay():
    network = Averaging()
    nn.utils.parametrizations.weight_norm(network.weighting)
    recipe = replace(PLAIN, weight_decay=0.1)
    decayed, others = (g["params"] for g in build_optimizer(recipe, network.named_parameters()).param_groups)
    assert len(decayed) == 2 and [id(p) for p in others] == [id(network.weighting.bias)]


def test_which_parameters_decay_and_move():
    network = models.myrtle(2, in_channels=1)
    network.conv1.weight.requires_grad_(False)
    optimizer = build_optimizer(
        replace(PLAIN, weight_decay=0.1, momentum=0.0),
        network.named_parameters(),
        decays=lambda name: name == "fc.bias",
    )
    decayed, others = (group["params"] for group in optimizer.param_groups)
    assert [id(p) for p in decayed] == [id(network.fc.bias)]
    assert len(others) == len(list(network.parameters())) - 2
    assert not any(group["nesterov"] or group["momentum"] for group in optimizer.param_groups)


# --- accuracy and validation ---


@settings(max_examples=12, deadline=None)
@given(n=st.integers(1, 30), classes=st.integers(1, 5), batch=st.integers(1, 40), seed=seeds)
def test_accuracy_is_a_count(n, classes, batch, seed):
    logits = normal(n, classes, seed=seed)
    labels = torch.arange(n) % classes
    right = sum(
        row.index(max(row)) == label for row, label in zip(logits.tolist(), labels.tolist(), strict=True)
    )
    assert evaluate(nn.Identity(), logits, labels, batch_size=batch) == right / n


def test_an_image_with_logits_that_are_not_numbers_counts_as_wrong():
    class Log(nn.Module):
        def forward(self, x):
            return x.log()  # NaN below 0

    images = normal(60, 2, seed=0)
    labels = images.argmax(1)
    assert evaluate(Log(), images, labels) == pytest.approx((images > 0).all(1).double().mean().item())


def test_evaluation_uses_running_statistics_and_leaves_modes_alone():
    network = models.myrtle(2, in_channels=1)
    network.bn2.eval()
    before = tensors(network)
    source = dataset(40)
    accuracies = {evaluate(network, source.images, source.labels, batch_size=size) for size in (1, 7, 40)}
    assert len(accuracies) == 1
    assert network.training and network.bn1.training and not network.bn2.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


# --- precision and devices ---


def test_bfloat16_is_for_convolutions_where_there_are_matrix_instructions(monkeypatch):
    cpu, conv, linear = torch.device("cpu"), models.myrtle(2), models.fcn((4, 2))
    for able in ({"amx_bf16": True}, {"avx512_bf16": True}):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able, raising=False)
        assert devices.precision(conv, cpu) == torch.bfloat16
        assert devices.precision(linear, cpu) == torch.float32
        assert devices.precision(conv, cpu, "float32") == torch.float32
        assert devices.precision(models.myrtle(2).double(), cpu) == torch.float32
        assert devices.precision(nn.Sequential(conv, nn.Linear(2, 2).double()), cpu) == torch.float32
        monkeypatch.setenv("INTERTWINE_DTYPE", "float32")
        assert devices.precision(conv, cpu) == torch.float32
        assert devices.precision(conv, cpu, "bfloat16") == torch.bfloat16
        monkeypatch.delenv("INTERTWINE_DTYPE")
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict, raising=False)
    assert devices.precision(conv, cpu) == torch.float32
    assert devices.precision(conv, cpu, "bfloat16") == torch.bfloat16
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # torch before it had them
    assert devices.precision(conv, cpu) == torch.float32


def test_a_training_leaves_tensorfloat_as_it_is_set(monkeypatch):
    """Its kernels are deterministic; whether convolutions may round is the user's choice."""
    seen = []

    class Looks(nn.Linear):
        def forward(self, x):
            seen.append((torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic))
            return super().forward(x.flatten(1))

    before = torch.backends.cudnn.deterministic
    for choice in (False, True):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", choice)
        seen.clear()
        train(Looks(64, 10), dataset(40), PLAIN, seed=0, device="cpu")
        assert set(seen) >= {(choice, True)} and {allowed for allowed, _ in seen} == {choice}
        assert (torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic) == (choice, before)


class OneDevice(TorchDispatchMode):
    """Fails where an operation meets tensors of two devices, other than to copy one to the other."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        flat = [x for arg in args for x in (arg if isinstance(arg, list | tuple) else [arg])]
        devices = {x.device.type for x in flat if isinstance(x, Tensor)}
        assert len(devices) < 2 or "copy" in str(function), (str(function), devices)
        return function(*args, **(kwargs or {}))


def test_every_tensor_follows_the_device():
    network = models.resnet20(2).to("meta").train()
    source, recipe = dataset(10, 3, 28), replace(RECIPES["godfrey2022"], batch_size=4, epochs=1)
    images, labels = source.images.to("meta"), source.labels.to("meta")
    batches = Batches(images, labels, recipe, fill_of(source, recipe))
    optimizer = build_optimizer(recipe, network.named_parameters())
    with OneDevice(), pytest.raises(RuntimeError, match=r"item\(\) cannot be called on meta"):
        epoch(network, batches, optimizer, recipe, 0, seed=0)  # after the last step
    assert len(batches) == (2 if recipe.drop_last else 3)


# --- mistakes ---


def test_images_may_be_large():
    assert 0 <= evaluate(nn.Linear(5, 10), torch.full((3, 5), 3e38), torch.arange(3)) <= 1


def test_a_network_with_convolutions_of_volumes_trains_and_is_stitched():
    layers = nn.Conv3d(1, 2, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(2, 3)
    data = Dataset.of(normal(12, 1, 4, 4, 4), torch.arange(12) % 3)
    net = train(
        nn.Sequential(*layers), data, Recipe(epochs=1, batch_size=4, lr=0.1), seed=0, device="cpu"
    ).network
    itself = stitch(net, net, at="1", kind="identity", train=data, device="cpu")
    torch.testing.assert_close(itself(data.images), net(data.images))


def test_a_last_batch_of_one_image_is_refused_before_any_work_where_batch_norm_takes_its_variance():
    flat = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    vectors = Dataset.of(normal(33, 5), torch.arange(33) % 3)
    recipe = Recipe(epochs=1, batch_size=16, lr=0.1)
    with pytest.raises(ValueError, match=r"16, the last of one: use .*drop_last=True"):
        train(flat, vectors, recipe, seed=0, device="cpu")
    assert int(flat[1].num_batches_tracked) == 0
    train(flat, vectors, replace(recipe, drop_last=True), seed=0, device="cpu")
    maps = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 3))
    trained = train(maps, Dataset.of(normal(33, 1, 4, 4), vectors.labels), recipe, seed=0, device="cpu")
    assert int(trained.network[1].num_batches_tracked) == 3  # four positions have a variance
