"""Data sets: what is loaded is what was published, and whatever is wrong is said in one sentence."""

import copy
import gc
import gzip
import hashlib
import http.server
import os
import pickle
import struct
import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine import devices, files
from intertwine.data import Dataset
from intertwine.data.dataset import check_dataset
from intertwine_book import data
from intertwine_book.data import published
from intertwine_book.data.root import data_root

both = pytest.mark.parametrize("name", published.SOURCES)
# torchvision's tarfile.extractall, from Python 3.12 on
quiet = pytest.mark.filterwarnings("ignore:Python 3.14 will:DeprecationWarning")


def raw(dataset: Dataset, white: int, rows: slice = slice(None)) -> torch.Tensor:
    """The pixels before normalisation, by the promise of the docstring alone."""
    pixels = (dataset.images[rows] * dataset.std + dataset.mean) * white
    assert (pixels - pixels.round()).abs().max() < 1e-3
    return pixels.round().to(torch.uint8)


# --- digits ---


def test_digits_are_scikit_learn_s_each_exactly_once():
    from sklearn.datasets import load_digits

    train, test = data.load("digits", "train"), data.load("digits", "test")
    assert train.images.shape == (1297, 1, 8, 8) and test.images.shape == (500, 1, 8, 8)

    def pairs(images: np.ndarray, labels: np.ndarray) -> list[tuple[bytes, int]]:
        images = images.reshape(-1, 64).astype("u1")
        return [(image.tobytes(), int(label)) for image, label in zip(images, labels, strict=True)]

    ours = [pair for split in (train, test) for pair in pairs(raw(split, 16).numpy(), split.labels.numpy())]
    theirs = pairs(load_digits().images, load_digits().target)
    assert len(set(theirs)) == len(theirs) == 1797  # no two digits are alike, so that pairs tell rows apart
    assert sorted(ours) == sorted(theirs)
    assert train.classes == test.classes == tuple("0123456789")
    assert set(test.labels.tolist()) == set(range(10))


def test_digits_are_normalised_by_the_training_split():
    train, test = data.load("digits", "train"), data.load("digits", "test")
    assert train.images.mean().abs() < 1e-5 and (train.images.std(correction=0) - 1).abs() < 1e-5
    assert torch.equal(train.mean, test.mean) and torch.equal(train.std, test.std)


def test_digits_are_split_the_same_way_for_ever():
    # recorded results rest on this split: a new checksum makes them incomparable
    train, again = data.load("digits", "train"), data.load("digits", "train")
    assert torch.equal(train.images, again.images) and torch.equal(train.labels, again.labels)
    assert (
        train.checksum == again.checksum == "0248bb908afe81a5eb20228d2116842e96b25cc765e4c230768fba799873124b"
    )


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "auto"])  # auto: a GPU where there is one
def test_everything_is_on_the_device_asked_for(device):
    digits = data.load("digits", "test", device=device)
    tensors = (digits.images, digits.labels, digits.mean, digits.std)
    assert {tensor.device.type for tensor in tensors} == {devices.pick(device).type}
    assert digits.images.dtype == torch.float32 and digits.labels.dtype == torch.int64


# --- your own tensors, and checksums that follow them ---


def mine(seed: int = 0, dtype: torch.dtype = torch.float32, **options) -> Dataset:
    images = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(seed)).to(dtype)
    return Dataset.of(images, torch.tensor([0, 2, 1, 0, 2, 1]), **options)


def test_your_own_tensors_are_a_data_set():
    own = mine()
    assert (own.name, own.classes, len(own.checksum)) == ("mine", ("0", "1", "2"), 64)
    assert torch.equal(own.images * own.std + own.mean, own.images)
    named = mine(name="noise", split="test", classes=["a", "b", "c"])
    assert (named.name, named.split, named.classes) == ("noise", "test", ("a", "b", "c"))
    assert named.checksum == own.checksum  # of the content alone
    assert mine(mean=[0.5, 0.4, 0.3], std=[0.2] * 3).mean.flatten().tolist() == pytest.approx([0.5, 0.4, 0.3])
    assert mine(mean=torch.full((3,), 0.5)).checksum == mine(mean=[0.5] * 3).checksum != own.checksum
    vectors = Dataset.of(torch.randn(5, 7), torch.arange(5))
    assert (vectors.images * vectors.std + vectors.mean).shape == (5, 7)


@given(st.integers(0, 2**31), st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
@settings(max_examples=10, deadline=None)
def test_equal_contents_and_only_they_have_equal_checksums(seed, dtype):
    own, others = mine(seed, dtype), [mine(seed, mean=[0.1] * 3), mine(seed, std=[2.0] * 3)]
    assert own.checksum == mine(seed, dtype).checksum
    others += [replace(own, images=own.images.double() + 1), replace(own, labels=own.labels.flip(0))]
    others += [replace(own, images=own.images.flatten(2)), replace(own, mean=own.mean + 1)]
    assert len({each.checksum for each in (own, *others)}) == 1 + len(others)
    doubled = replace(own, images=own.images * 2)
    assert doubled.checksum != own.checksum
    assert doubled.checksum == replace(own, images=own.images.clone() * 2).checksum
    assert replace(replace(doubled, name="x"), images=own.images).checksum == own.checksum


def test_a_data_set_that_was_changed_in_place_is_refused_and_a_copy_is_not():
    images = torch.randn(6, 3).mul_(2)
    own = Dataset.of(images, torch.arange(6))
    for each in (own, copy.deepcopy(own), pickle.loads(pickle.dumps(own)), own[1:], replace(own, name="x")):
        check_dataset(each)
    images.mul_(2)
    for use in (
        check_dataset,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda own: own[:3],
        lambda own: own[:],
    ):
        with pytest.raises(ValueError, match="whose tensors were changed in place"):
            use(own)
    assert replace(own, name="x").checksum == Dataset.of(images, own.labels).checksum != own.checksum


@given(st.data(), st.integers(1, 12))
@settings(max_examples=20, deadline=None)
def test_some_rows_are_a_data_set_of_their_own(draw, n):
    whole = Dataset.of(torch.randn(n, 2, 3, 3), torch.arange(n))
    rows = draw.draw(st.lists(st.integers(0, n - 1), max_size=n))
    start, stop = draw.draw(st.integers(0, n)), draw.draw(st.integers(0, n))
    mask = torch.isin(whole.labels, torch.tensor(rows, dtype=torch.long))
    for given_rows in (rows, torch.tensor(rows, dtype=torch.long), slice(start, stop), mask):
        some = whole[given_rows]
        wanted = torch.arange(n)[given_rows]
        assert torch.equal(some.labels, wanted) and torch.equal(some.images, whole.images[wanted])
        assert len(some) == len(wanted) and some.mean is whole.mean and some.classes == whole.classes
        same = wanted.tolist() == list(range(n))
        assert (some is whole) == same == (some.checksum == whole.checksum)
        assert some.checksum == whole[wanted].checksum  # however rows are given
    assert torch.equal(whole[::-1].labels, whole.labels.flip(0))
    doubled = replace(whole, images=2 * whole.images)
    assert n == 1 or doubled[: n - 1].checksum != whole[: n - 1].checksum
    with pytest.raises(
        TypeError, match=r"Expected a slice, indices or a mask, was given 0: use \[0:0 \+ 1\]"
    ):
        whole[torch.tensor(0)]


# --- the published data sets themselves, where they are ---


@pytest.fixture
def real(name: str) -> str:
    root = os.environ.get("INTERTWINE_DATA", "")
    if not (root and (Path(root) / published.SOURCES[name].folder).is_dir()):
        pytest.skip(f"{published.SOURCES[name].title} is not under INTERTWINE_DATA")
    return root


@both
@pytest.mark.parametrize("split", [pytest.param("train", marks=pytest.mark.slow), "test"])
def test_published_data_are_torchvision_s_normalised_by_the_training_split(real, name, split):
    datasets = pytest.importorskip("torchvision.datasets")
    theirs = getattr(datasets, published.SOURCES[name].name)(real, train=split == "train")
    ours = data.load(name, split)
    some = slice(None, None, 13)  # images out of every file; the files themselves are verified whole
    pixels = torch.as_tensor(theirs.data[some])
    pixels = pixels.permute(0, 3, 1, 2) if pixels.ndim == 4 else pixels[:, None]
    assert torch.equal(raw(ours, 255, some), pixels)
    assert ours.labels.tolist() == list(theirs.targets)
    assert ours.classes == tuple(theirs.classes)
    if split == "train":
        mean, std = ours.images.mean((0, 2, 3)), ours.images.std((0, 2, 3), correction=0)
        half_a_unit = 0.5e-4 + 1e-6  # of the fourth decimal, to which the constants are given
        assert (mean * ours.std.flatten()).abs().max() < half_a_unit
        assert ((std - 1) * ours.std.flatten()).abs().max() < half_a_unit


# --- small data sets of the same form, with checksums of their own ---


def _cifar_files() -> dict[str, bytes]:
    def batch(n: int, seed: int) -> bytes:
        random = np.random.RandomState(seed)
        images, labels = random.randint(256, size=(n, 3072)).astype("u1"), random.randint(10, size=n).tolist()
        # the official files were written by Python 2: bytes to us, text to torchvision
        return pickle.dumps(
            {b"data": images, "data": images, b"labels": labels, "labels": labels}, protocol=2
        )

    classes = [f"class {i}" for i in range(10)]
    meta = {b"label_names": [c.encode() for c in classes], "label_names": classes}
    batches = {f"data_batch_{i}": batch(4, seed=i) for i in range(1, 6)}
    return batches | {"test_batch": batch(3, seed=0), "batches.meta": pickle.dumps(meta, protocol=2)}


def _fashion_files() -> dict[str, bytes]:
    random = np.random.RandomState(0)
    contents = {}
    for prefix, n in (("train", 20), ("t10k", 3)):
        images, labels = random.randint(256, size=(n, 28, 28)), random.randint(10, size=n)
        header = struct.pack(">4i", 0x803, n, 28, 28)
        contents[f"{prefix}-images-idx3-ubyte"] = header + images.astype("u1").tobytes()
        contents[f"{prefix}-labels-idx1-ubyte"] = struct.pack(">2i", 0x801, n) + labels.astype("u1").tobytes()
    return contents


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def _decoded(name: str, contents: dict[str, bytes], split: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels, read by the formats' definitions alone."""
    if name == "cifar10":
        kind = "data_batch" if split == "train" else "test_batch"
        batches = [pickle.loads(contents[file]) for file in contents if file.startswith(kind)]
        images = np.concatenate([batch["data"] for batch in batches]).reshape(-1, 3, 32, 32)
        return images, np.concatenate([batch["labels"] for batch in batches])
    prefix = "train" if split == "train" else "t10k"
    images, labels = (contents[f"{prefix}-{kind}-ubyte"] for kind in ("images-idx3", "labels-idx1"))
    pixels = np.frombuffer(images[16:], np.uint8).reshape(-1, 1, 28, 28)
    return pixels, np.frombuffer(labels[8:], np.uint8).astype(np.int64)


@pytest.fixture
def contents(name: str, monkeypatch) -> dict[str, bytes]:
    """The files of a small data set that for this test counts as the published one."""
    datasets = pytest.importorskip("torchvision.datasets")
    small = _cifar_files() if name == "cifar10" else _fashion_files()
    sums = {split: files.digest(*_decoded(name, small, split)) for split in ("train", "test")}
    monkeypatch.setitem(published.SOURCES, name, published.SOURCES[name]._replace(checksums=sums))
    if name == "cifar10":
        batches = [[file, md5(small[file])] for file in small if file.startswith("data")]
        monkeypatch.setattr(datasets.CIFAR10, "train_list", batches)
        monkeypatch.setattr(datasets.CIFAR10, "test_list", [["test_batch", md5(small["test_batch"])]])
        meta = datasets.CIFAR10.meta | {"md5": md5(small["batches.meta"])}
        monkeypatch.setattr(datasets.CIFAR10, "meta", meta)
    return small


def lay_out(root: Path, name: str, contents: dict[str, bytes]) -> Path:
    folder = root / published.SOURCES[name].folder
    folder.mkdir(parents=True)
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    return folder


@both
def test_a_data_set_of_the_published_form_is_read(name, contents, tmp_path, monkeypatch):
    lay_out(tmp_path, name, contents)
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    for split in ("train", "test"):
        images, labels = _decoded(name, contents, split)
        found = data.load(name, split)
        assert torch.equal(raw(found, 255), torch.tensor(images)) and found.labels.tolist() == labels.tolist()
        assert found.checksum == published.SOURCES[name].checksums[split]


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "altered": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
}


@both
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_one_sentence_with_the_remedy(name, damage, contents, tmp_path):
    folder = lay_out(tmp_path, name, contents)
    DAMAGES[damage](folder / next(iter(contents)))
    with pytest.raises(OSError, match="missing or damaged") as error:
        data.load(name, "train", root=tmp_path)
    assert f"delete the folder {folder} and load" in str(error.value) and "\n" not in str(error.value)


class _Trap:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["cifar10"])
def test_a_foreign_pickle_is_never_opened(name, contents, tmp_path):
    folder = lay_out(tmp_path, name, contents)
    (folder / "data_batch_2").write_bytes(pickle.dumps(_Trap(tmp_path / "sprung")))
    with pytest.raises(OSError, match="missing or damaged"):
        data.load(name, "train", root=tmp_path)
    assert not (tmp_path / "sprung").exists()


# --- asking for what is not there ---


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"Unknown data set 'cifar': did you mean 'cifar10'\? Known: digits"):
        data.load("cifar", "train")
    with pytest.raises(ValueError, match=r"Unknown split 'training': did you mean 'train'\?"):
        data.load("digits", "training")


@both
def test_a_root_that_is_not_there_is_an_error_not_a_download(name, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="given/root, given by the argument `root`, is not a folder"):
        data.load(name, "test", root=tmp_path / "given" / "root")
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path / "exported"))
    with pytest.raises(
        FileNotFoundError, match="exported, given by the environment variable INTERTWINE_DATA"
    ):
        data.load(name, "test")
    data.load("digits", "test", root=tmp_path / "given")  # needs none


def test_the_argument_comes_before_the_environment_and_the_cache_last(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    (tmp_path / "given").mkdir()
    assert data_root(tmp_path / "given") == tmp_path / "given"
    assert data_root(None) == tmp_path
    monkeypatch.delenv("INTERTWINE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root(None) == tmp_path / "cache" / "intertwine"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root(None) == Path.home() / ".cache" / "intertwine"


@both
def test_without_torchvision_the_remedy_is_said(name, contents, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)  # as if it were not installed
    for present in (False, True):
        if present:
            lay_out(tmp_path, name, contents)
        with pytest.raises(ModuleNotFoundError, match="pip install torchvision"):
            data.load(name, "test", root=tmp_path)


# --- downloads, from a server of our own ---


class _Mirror(http.server.SimpleHTTPRequestHandler):
    served: list[str]

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.served.append(self.path)
        super().do_GET()


@pytest.fixture
def mirror(name, contents, tmp_path_factory, monkeypatch):
    """A server from which torchvision downloads the small data set: its folder, and what it has served."""
    datasets = pytest.importorskip("torchvision.datasets")
    folder = tmp_path_factory.mktemp("mirror")
    handler = type("Handler", (_Mirror,), {"served": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=folder))
    url = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    if name == "cifar10":
        laid_out = lay_out(tmp_path_factory.mktemp("unpacked"), name, contents)
        with tarfile.open(folder / "cifar.tar.gz", "w:gz") as tar:
            tar.add(laid_out, arcname=laid_out.name)
        monkeypatch.setattr(datasets.CIFAR10, "url", url + "cifar.tar.gz")
        monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", md5((folder / "cifar.tar.gz").read_bytes()))
    else:
        for file, content in contents.items():
            (folder / f"{file}.gz").write_bytes(gzip.compress(content))
        sums = {path.name: md5(path.read_bytes()) for path in folder.iterdir()}
        monkeypatch.setattr(datasets.FashionMNIST, "mirrors", [url])
        monkeypatch.setattr(datasets.FashionMNIST, "resources", list(sums.items()))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield folder, handler.served
    server.shutdown()
    thread.join()
    server.server_close()


@quiet
@both
def test_an_absent_data_set_is_downloaded_once(name, mirror, contents, tmp_path, monkeypatch, capfd):
    packed, served = mirror
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    folder = tmp_path / published.SOURCES[name].folder
    staging = folder.with_name(f".{folder.name}.part")
    lay_out(staging, name, dict.fromkeys(contents, b"half a file"))  # as a killed run leaves it
    assert not served
    with ThreadPoolExecutor(2) as pool:
        splits = [pool.submit(data.load, name, split) for split in ("train", "test")]
        assert [len(split.result().labels) for split in splits] == [20, 3]
    progress_bars = capfd.readouterr().err
    assert progress_bars.count("100%") == len(list(packed.iterdir()))
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, f".{folder.name}.lock"}


@quiet
@both
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # torchvision leaves failed replies to the collector
@pytest.mark.parametrize("trouble", ["gone", "altered"])
def test_a_failed_download_is_one_sentence_and_leaves_nothing(name, trouble, mirror, tmp_path):
    for path in mirror[0].iterdir():
        path.unlink() if trouble == "gone" else path.write_bytes(gzip.compress(b"something else"))
    with pytest.raises(OSError, match="could not be downloaded") as error:
        data.load(name, "train", root=tmp_path)
    assert all(word in str(error.value) for word in ("check the network", "INTERTWINE_DATA"))
    assert "\n" not in str(error.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    del error
    gc.collect()
