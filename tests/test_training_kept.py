"""Networks that come with a checkout: found before any training, and never half used."""

import hashlib
import os
import shutil
from dataclasses import replace

import pytest
import torch

from intertwine.training import evaluate
from intertwine_book import data, models, zoo
from intertwine_book.zoo import RECIPES, Spec, kept

DIGITS = data.load("digits", "train")
SPEC = Spec("myrtle", DIGITS, replace(RECIPES["digits"], epochs=1), {"width": 2, "in_channels": 1})


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that keeps two networks, of seeds 0 and 1."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERTWINE_NETWORKS", str(folder))
        for seed, trained in enumerate(zoo.get(SPEC, [0, 1], root=folder.with_name("zoo"), device="cpu")):
            accuracy = evaluate(kept.rounded(trained.network), DIGITS.images, DIGITS.labels)
            kept.keep(SPEC, (seed, seed), trained, accuracy, precision="torch.float32")
    return folder


@pytest.fixture
def place(filled, tmp_path, monkeypatch):
    """A copy of that folder, for one test."""
    monkeypatch.setenv("INTERTWINE_NETWORKS", str(tmp_path / "networks"))
    return shutil.copytree(filled, tmp_path / "networks")


def test_a_kept_network_is_found_and_nothing_is_trained(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(zoo.stored, "train_each", lambda *args, **options: iter(()))
    one, two = zoo.get(SPEC, [0, 1], root=tmp_path / "empty", device="cpu", progress=True)
    assert f"2 of 2 networks are in {place}." in capsys.readouterr().err
    for seed, trained in enumerate((one, two)):
        entry = next(each for each in kept.manifest() if each["seed"] == [seed, seed])
        assert evaluate(trained.network, DIGITS.images, DIGITS.labels) == entry["accuracy"]
        assert not trained.network.training and trained.history["epoch"].tolist() == [1]
    f, g = kept.load_pair(width=2, in_channels=1)
    assert torch.equal(f.fc.weight, one.network.fc.weight) and torch.equal(g.fc.weight, two.network.fc.weight)
    assert kept.table().values.tolist()[0][:5] == ["myrtle", 2, "yes", 2, "0, 1"]


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, recipe=replace(SPEC.recipe, epochs=2)),
        replace(SPEC, arguments={"width": 3, "in_channels": 1}),
        replace(SPEC, arguments={"width": 2, "in_channels": 1, "norm": False}),
        replace(SPEC, data=DIGITS[:100]),
        replace(SPEC, architecture=lambda seed: models.myrtle(2, in_channels=1, seed=seed), arguments={}),
    ],
    ids=["recipe", "width", "norm", "data", "function"],
)
def test_a_network_of_another_training_is_not_taken(place, other):
    assert kept.find(SPEC, (0, 0)) and kept.find(other, (0, 0)) is None and kept.find(SPEC, (0, 1)) is None


def test_arguments_that_are_the_defaults_may_be_named(place):
    named = replace(SPEC, arguments={"in_channels": 1, "width": 2, "norm": True, "activation": "relu"})
    assert kept.find(named, (1, 1))


@pytest.mark.parametrize("fault", ["altered", "truncated", "missing"])
def test_a_damaged_file_is_named_and_not_used(place, fault):
    path = place / "myrtle-2-1-epochs-0.safetensors"
    content = bytearray(path.read_bytes())
    if fault == "missing":
        path.unlink()
    else:
        content[-1] ^= 1
        path.write_bytes(bytes(content) if fault == "altered" else path.read_bytes()[:-10])
    kind, why = (FileNotFoundError, "no such file") if fault == "missing" else (ValueError, "another content")
    with pytest.raises(kind, match=rf"{why}: restore it with `git checkout`, or delete its entry"):
        zoo.get(SPEC, [0], device="cpu", root=place.with_name("empty"))
    with pytest.raises(kind, match="myrtle-2-1-epochs-0"):
        kept.load(width=2, in_channels=1)
    assert kept.load(seed=1, width=2, in_channels=1)


def test_what_is_not_kept_is_named_beside_what_is(place):
    with pytest.raises(
        LookupError, match=r"keeps \(myrtle of width 2 with norm=True and epochs=1, seeds 0, 1\)"
    ):
        kept.load(seed=7, width=2, in_channels=1)


def test_networks_of_one_seed_and_other_epochs_stand_beside_each_other(place, tmp_path):
    longer = replace(SPEC, recipe=replace(SPEC.recipe, epochs=2))
    (trained,) = zoo.get(longer, [0], root=tmp_path / "zoo", device="cpu")
    kept.keep(longer, (0, 0), trained, 0.5, precision="torch.float32")
    arguments = {"width": 2, "in_channels": 1}
    short, long = (kept.find(spec, (0, 0)).network for spec in (SPEC, longer))
    assert not torch.equal(short.fc.weight, long.fc.weight)
    for epochs, network in ((None, short), (1, short), (2, long)):
        assert torch.equal(kept.load(epochs=epochs, **arguments).fc.weight, network.fc.weight)
    with pytest.raises(LookupError, match=r"and epochs=2, seeds 0\), was given .*'epochs': 2.* and seed 1"):
        kept.load_pair(0, epochs=2, **arguments)


def test_the_folder_has_a_limit(place, monkeypatch):
    monkeypatch.setattr(kept, "MOST_KEPT", 5_000)
    (trained,) = zoo.get(SPEC, [2], root=place.with_name("zoo"), device="cpu")
    with pytest.raises(ValueError, match=r"at most 0\.005 MB of networks"):
        kept.keep(SPEC, (2, 2), trained, 0.5, precision="torch.float32")
    assert len(kept.manifest()) == 2


def test_the_committed_manifest_describes_the_committed_files():
    entries = kept.manifest()
    sizes = [(kept.folder() / entry["file"]).stat().st_size for entry in entries]
    assert sum(sizes) <= kept.MOST_KEPT
    for entry in entries:
        content = (kept.folder() / entry["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert {path.name for path in kept.folder().glob("*.safetensors")} == {each["file"] for each in entries}


@pytest.mark.slow
@pytest.mark.skipif(
    not os.path.isdir(os.path.join(os.environ.get("INTERTWINE_DATA", ""), "cifar-10-batches-py")),
    reason="INTERTWINE_DATA names no folder with CIFAR-10",
)
def test_committed_networks_have_the_accuracy_of_the_manifest():
    test = data.load("cifar10", "test", device="cpu")[:1000]
    for entry in kept.manifest():
        epochs = entry["recipe"]["epochs"]
        network = kept.load(entry["network"], seed=entry["seed"][0], epochs=epochs, **entry["arguments"])
        right = evaluate(network, test.images, test.labels)
        # four standard deviations of a share of 1,000 images, of which these are a part
        spread = 4 * (entry["accuracy"] * (1 - entry["accuracy"]) / 1000) ** 0.5
        assert abs(right - entry["accuracy"]) < spread, entry["file"]


@pytest.mark.parametrize("chapter", ["03_stitching", "04_dissimilarity"])
def test_desk_asks_for_the_networks_that_are_kept(chapter):
    from intertwine_book.build.layout import find_book
    from intertwine_book.zoo.wanted import WANTED

    book = find_book()
    desk, (arguments, recipe, seeds) = book.overrides("desk")[chapter], WANTED[0]
    assert (desk["width"], desk["epochs"], desk["dataset"]) == (arguments["width"], recipe.epochs, "cifar10")
    if "pairs" in desk:  # a chapter whose record has them trains no others
        assert range(desk["seed"], desk["seed"] + 2 * desk["pairs"]) == seeds
