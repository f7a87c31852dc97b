"""Published networks: recognised, read whole or not at all, as accurate as their list says, and in pairs."""

import pickle
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine.training import evaluate
from intertwine_book import data, models
from intertwine_book.models.published import PUBLISHED, published_pairs

FILES = models.published_files()


def as_published(network: models.Network, prefix: str = "", linear: str = "fc") -> dict[str, Tensor]:
    """A state dict under the authors' names: three stages of three blocks."""
    state = {}
    for name, tensor in network.state_dict().items():
        if name.startswith("block"):
            block, rest = name.removeprefix("block").split(".", 1)
            stage, k = divmod(int(block) - 1, 3)
            rest = rest.replace("shortcut.conv", "downsample.0").replace("shortcut.bn", "downsample.1")
            name = f"layer{stage + 1}.{k}.{rest}"
        state[prefix + name.replace("fc", linear)] = tensor
    return state


@pytest.mark.parametrize("kind", ["tiny10", "resnet20 B", "resnet20 A"])
def test_a_published_checkpoint_is_recognised_and_translated(tmp_path: Path, kind):
    network = models.tiny10(5, seed=1) if kind == "tiny10" else models.resnet20(5, option=kind[-1], seed=1)
    if kind == "resnet20 A":  # wrapped, and from a torch whose batch norms did not count
        state = as_published(network, "module.", "linear")
        state = {name: tensor for name, tensor in state.items() if "num_batches" not in name}
        torch.save({"best_prec1": 91.78, "state_dict": state}, tmp_path / "net.th")
    else:
        torch.save(as_published(network), tmp_path / "net.th")
    read, mean, std = models.load_published(tmp_path / "net.th")
    assert all(torch.equal(read.state_dict()[name], tensor) for name, tensor in network.state_dict().items())
    assert str(read) == str(network.eval()) and not read.training
    assert mean.shape == std.shape == (3, 1, 1)
    assert read.hidden_layers() == network.hidden_layers()
    assert (std[0] == 0.229) == (kind == "resnet20 A")  # ImageNet's


class Harmful:
    def __reduce__(self):
        return (Path.touch, (Path("harmed"),))


def test_what_is_not_published_is_refused_in_one_sentence(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refused(path: Path, kind: type[Exception] = ValueError) -> str:
        with pytest.raises(kind) as caught:
            models.load_published(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)
        return str(caught.value)

    assert "found no file" in refused(tmp_path / "missing.pt", FileNotFoundError)
    assert "found no file" in refused(tmp_path, FileNotFoundError)
    path = tmp_path / "file.pt"
    torch.save(models.tiny10().state_dict(), path)
    whole = path.read_bytes()
    for content in (b"", b"no checkpoint at all", whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert "cannot read" in refused(path)
    for harmful in ({"conv1.weight": Harmful()}, Harmful()):
        torch.save(harmful, path)
        assert "cannot read" in refused(path)
        path.write_bytes(pickle.dumps(harmful, protocol=2))
        assert "cannot read" in refused(path)
    assert not (tmp_path / "harmed").exists()
    for content in ([torch.zeros(3)], {"epoch": 3}, torch.zeros(3), {"state_dict": 3}):
        torch.save(content, path)
        assert "Expected tensors by name" in refused(path)
    others = (models.myrtle(4), models.tiny10(classes=100), models.tiny10(norm=False), nn.Linear(2, 3))
    for network in others:
        torch.save(network.state_dict(), path)
        first = next(iter(network.state_dict()))
        assert first in refused(path)
    for content in ({}, {"conv1.weight": torch.tensor(1.0)}, {7: torch.zeros(2)}):
        torch.save(content, path)
        assert "Expected the tensors of a Tiny-10 or a ResNet-20" in refused(path)


@pytest.fixture(scope="module")
def checkpoints(data_root: Path) -> Path:
    if not (data_root / "checkpoints").is_dir():
        pytest.skip("INTERTWINE_DATA has no folder checkpoints with published networks")
    return data_root / "checkpoints"


@pytest.fixture(scope="module")
def cifar10(data_root: Path) -> Dataset:
    if not (data_root / "cifar-10-batches-py").is_dir():
        pytest.skip("INTERTWINE_DATA has no CIFAR-10")
    return data.load("cifar10", "test", root=data_root)


def test_a_file_of_the_list_is_read_whole_and_unchanged_or_not_at_all(checkpoints, tmp_path):
    """Nothing but a checksum sees an altered weight in the older of PyTorch's two formats, which all have."""
    name = "resnet20-bognev.th"
    url = FILES[name].url
    whole = (checkpoints / name).read_bytes()
    path = tmp_path / name

    def sentence() -> str:
        with pytest.raises((ValueError, FileNotFoundError)) as caught:
            models.load_published(path)
        assert str(path) in str(caught.value) and url in str(caught.value) and "\n" not in str(caught.value)
        return str(caught.value)

    assert "found no file" in sentence()
    middle = len(whole) // 2
    altered = whole[:middle] + bytes([whole[middle] ^ 64]) + whole[middle + 1 :]
    other = (checkpoints / "resnet20-zheng-jiakun.th").read_bytes()
    for content in (altered, whole[:-1], whole[:middle], b"", whole + b" ", other):
        path.write_bytes(content)
        assert f"found {len(content):,} bytes of another content" in sentence()
    path.write_bytes(whole)
    assert isinstance(models.load_published(path).network, models.Network)


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_the_list_is_read(checkpoints, name):
    network, mean, std = models.load_published(checkpoints / name)
    expected = models.tiny10() if "tiny10" in name else models.resnet20(option="B" if "w1" in name else "A")
    assert str(network) == str(expected.eval())
    theirs = (
        (models.IMAGENET_MEAN, models.IMAGENET_STD) if name.endswith("th") else models.published.CSISZARIK2021
    )
    assert torch.equal(torch.stack([mean, std]).flatten(), torch.tensor(theirs).flatten())


def accuracy(path: Path, test: Dataset) -> float:
    network, mean, std = models.load_published(path)
    return 100 * evaluate(network, (test.images * test.std + test.mean - mean) / std, test.labels)


FEW = ("akamaster-resnet20-12fca82f.th", "resnet20w1-in0-gn0.pt", "tiny10-in0-gn0.pt")  # one of each kind


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FEW)) for name in FILES]
)
def test_a_thousand_images_are_enough_to_see_the_accuracy_of_the_list(checkpoints, cifar10, name):
    """Within four standard deviations of a draw of 1,000 of the 10,000 images: 3 to 4 points.

    Names that are mistranslated cost tens of points. Another normalisation may cost less than one, so that is
    compared above.
    """
    expected = FILES[name].accuracy
    deviation = (expected * (100 - expected) / 1000 * (1 - 1000 / 10_000)) ** 0.5
    assert abs(accuracy(checkpoints / name, cifar10[:1000]) - expected) < 4 * deviation


# --- pairs ---


def test_no_network_is_in_two_pairs_and_every_one_is_in_the_list():
    files = [*chain.from_iterable(chain.from_iterable(PUBLISHED.values()))]
    assert len({*files}) == len(files) and {*files} == {*FILES}
    assert len({FILES[file].sha256 for file in files}) == len(files)
    assert {name: len(pairs) for name, pairs in PUBLISHED.items()} == {
        "tiny10": 10,
        "resnet20w1": 1,
        "resnet20": 8,
    }
    assert all(91 < FILES[file].accuracy < 93 for pair in PUBLISHED["resnet20"] for file in pair)


def test_eight_pairs_are_of_independent_trainings(checkpoints, monkeypatch):
    monkeypatch.setenv("INTERTWINE_DATA", str(checkpoints.parent))
    digits = data.load("digits", "test")
    pairs, (images, _) = published_pairs("resnet20", 8, digits, digits)
    networks = [*chain.from_iterable(pairs)]
    weights = [[p.flatten() for p in network.parameters() if p.ndim == 4] for network in networks]
    units = nn.functional.normalize(torch.stack([*map(torch.cat, weights)]).detach())
    cosines = units @ units.T - torch.eye(16)
    assert cosines.abs().max() < 0.015  # common initial weights would leave a trace
    assert images.std.flatten().tolist() == pytest.approx(models.IMAGENET_STD)
    first, _ = published_pairs("resnet20", 1, digits, digits)
    assert torch.equal(first[0][1].conv1.weight, networks[1].conv1.weight)


def test_published_pairs_are_disjoint_and_get_the_data_they_expect(tmp_path, monkeypatch):
    (tmp_path / "checkpoints").mkdir()
    for k in range(4):
        torch.save(models.tiny10(seed=k).state_dict(), tmp_path / f"checkpoints/tiny10-in{k}-gn{k}.pt")
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    monkeypatch.setattr(models.published, "published_files", dict)  # these names are of other networks
    raw = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    half, quarter = torch.full((3, 1, 1), 0.5), torch.full((3, 1, 1), 0.25)
    images = data.load("digits", "test")
    cifar = replace(images, images=(raw - half) / quarter, labels=images.labels[:5], mean=half, std=quarter)
    pairs, (ours, _) = published_pairs("tiny10", 2, cifar, cifar)
    firsts = [net.conv1.weight for pair in pairs for net in pair]
    assert all(torch.equal(w, models.tiny10(seed=k).conv1.weight) for k, w in enumerate(firsts))
    mean, std = (torch.tensor(x).view(3, 1, 1) for x in models.published.CSISZARIK2021)
    torch.testing.assert_close(ours.images, (raw - mean) / std, rtol=1e-5, atol=1e-5)


def test_pairs_that_are_not_there_are_named_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    digits = data.load("digits", "test")
    with pytest.raises(FileNotFoundError) as caught:
        published_pairs("resnet20", 8, digits, digits)
    sentence = str(caught.value)
    assert f"16 published networks in {tmp_path / 'checkpoints'}, 16 of which are not there" in sentence
    assert FILES["akamaster-resnet20-12fca82f.th"].url in sentence and "\n" not in sentence
    for name, n in (("resnet20", 9), ("resnet20", 0), ("resnet56", 1)):
        with pytest.raises(
            ValueError, match=rf"10 of tiny10, 1 of resnet20w1, 8 of resnet20.* {n} of {name}"
        ):
            published_pairs(name, n, digits, digits)
