"""Networks that others published, read into ours, and pairs of them with the data that they expect."""

import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine_book.data.root import data_root
from intertwine_book.models.chains import tiny10
from intertwine_book.models.network import Network
from intertwine_book.models.resnet import resnet20

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# mean and standard deviation with which the authors normalised CIFAR-10
CSISZARIK2021 = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


class Published(NamedTuple):
    """A published network, in evaluation mode, with the mean and deviation of its images."""

    network: Network
    mean: Float[Tensor, "c 1 1"]
    """of intensities between 0 and 1."""
    std: Float[Tensor, "c 1 1"]


class PublishedFile(NamedTuple):
    """Where the file of a published network comes from, and what is in it."""

    accuracy: float
    """In percent of CIFAR-10's 10,000 test images, measured in float32."""
    repository: str
    """On GitHub."""
    commit: str
    path: str
    licence: str
    sha256: str

    @property
    def url(self) -> str:
        """The address of the file."""
        return f"https://github.com/{self.repository}/raw/{self.commit}/{self.path}"


@cache
def published_files() -> dict[str, PublishedFile]:
    """The published networks that the book uses, by the names that their files have here.

    Example:
        >>> published_files()["akamaster-resnet20-12fca82f.th"].accuracy
        91.73
    """
    with Path(__file__).with_name("published.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    return {row.pop("file"): PublishedFile(float(row.pop("accuracy")), **row) for row in rows}


def load_published(path: str | Path) -> Published:
    """Read a Tiny-10 or ResNet-20 of csiszarik2021, or one trained by akamaster/pytorch_resnet_cifar10.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        ...     torch.save(tiny10(seed=3).state_dict(), file.name)
        ...     network, mean, std = load_published(file.name)
        >>> torch.equal(network.conv1.weight, tiny10(seed=3).conv1.weight)
        True

    The names and shapes of its tensors decide which network it is; the names become those of `tiny10` and
    `resnet20`. The file is read as data only (`weights_only`), onto the CPU.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is damaged or of another network, or not the file of that name in `published_files`.
    """
    path = Path(path)
    source = published_files().get(path.name)
    if not path.is_file():
        remedy = f"download it from {source.url}" if source else "download it first"
        raise FileNotFoundError(f"Expected a published checkpoint, found no file {path}: {remedy}.")
    read = path.read_bytes()  # once, so that the bytes that are checked are those that are used
    if source and hashlib.sha256(read).hexdigest() != source.sha256:
        raise ValueError(
            f"Expected in {path} the network of {source.repository}, found {len(read):,} bytes of another "
            f"content: download {source.url} anew, or give a network of your own another name."
        )
    try:
        if zipfile.is_zipfile(io.BytesIO(read)) and (part := zipfile.ZipFile(io.BytesIO(read)).testzip()):
            raise ValueError(f"The checksum of {part} is another.")  # torch does not look at it
        content = torch.load(io.BytesIO(read), map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle fails in ten ways, an AssertionError among them
        raise ValueError(f"Expected a PyTorch checkpoint, cannot read {path}: download it anew.") from error
    if isinstance(content, Mapping):
        content = content.get("state_dict", content)
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ValueError(f"Expected tensors by name in {path}, found something else: save a state_dict.")
    state = {_translate(str(name)): value for name, value in content.items()}
    first = state["conv1.weight"].shape if "conv1.weight" in state else ()
    width = first[0] if first else 16
    for build, (mean, std) in (
        (lambda: tiny10(width), CSISZARIK2021),
        (lambda: resnet20(width, option="B"), CSISZARIK2021),
        (lambda: resnet20(width, option="A"), (IMAGENET_MEAN, IMAGENET_STD)),
    ):
        network = build()
        if _shapes(state) == _shapes(network.state_dict()):
            own = network.state_dict().keys()
            network.load_state_dict({name: value for name, value in state.items() if name in own})
            return Published(network.eval(), *(torch.tensor(x).view(3, 1, 1) for x in (mean, std)))
    names = ", ".join(map(str, list(content)[:3]))
    raise ValueError(
        f"Expected the tensors of a Tiny-10 or a ResNet-20 in {path}, found {len(content)}, the first ones "
        f"{names}: build that network yourself and use its load_state_dict."
    )


# Pairs by the names of their files, always in this order: the first n are the same, however many are wanted.
# No network is in two pairs, and every one is of a training of its own, from initial weights of its own (the
# cosine between the convolutions of any two ResNet-20 is below 0.015), so pairs are independent trials. A
# network meets one of the same program and, as far as they go, of the same recipe, as two seeds of one recipe
# meet in the papers: run8-1 to run8-5 are one recipe; run8-5 is left over, and meets run9-1.
PUBLISHED = {
    "tiny10": [(f"tiny10-in{k}-gn{k}.pt", f"tiny10-in{k + 1}-gn{k + 1}.pt") for k in range(0, 20, 2)],
    "resnet20w1": [("resnet20w1-in0-gn0.pt", "resnet20w1-in1-gn1.pt")],
    "resnet20": [
        ("akamaster-resnet20-12fca82f.th", "resnet20-zheng-jiakun.th"),
        ("resnet20-1601110116.th", "resnet20-bognev.th"),
        ("resnet20-dansun18-run1.th", "resnet20-dansun18-run2.th"),
        ("resnet20-dansun18-run4.th", "resnet20-dansun18-run5.th"),
        ("resnet20-dansun18-run8-1.th", "resnet20-dansun18-run8-2.th"),
        ("resnet20-dansun18-run8-3.th", "resnet20-dansun18-run8-4.th"),
        ("resnet20-dansun18-run8-5.th", "resnet20-dansun18-run9-1.th"),
        ("resnet20-dansun18-run9-2.th", "resnet20-dansun18-run9-3.th"),
    ],
}


def published_pairs(
    name: str, n: int, train: Dataset, test: Dataset
) -> tuple[Sequence[tuple[nn.Module, nn.Module]], tuple[Dataset, Dataset]]:
    """n disjoint pairs of networks that their authors published, and the data as these networks expect them.

    The names are tiny10 (ten pairs) and resnet20w1 (one), of csiszarik2021, and resnet20 (eight), with the
    architecture of godfrey2022. The files of `published_files` lie below checkpoints in the data root.
    """
    if not 1 <= n <= len(PUBLISHED.get(name, ())):
        known = ", ".join(f"{len(pairs)} of {each}" for each, pairs in PUBLISHED.items())
        raise ValueError(f"Expected some of the published pairs ({known}), was asked for {n} of {name}.")
    folder = data_root(None) / "checkpoints"
    names = list(chain.from_iterable(PUBLISHED[name][:n]))
    missing = [file for file in names if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"Expected {len(names)} published networks in {folder}, {len(missing)} of which are not there: "
            f"download {missing[0]} from {published_files()[missing[0]].url} and the others as "
            f"data/README.md says, or set INTERTWINE_DATA to the folder that holds checkpoints."
        )
    found = [load_published(folder / file) for file in names]
    networks: list[nn.Module] = [each.network for each in found]
    mean, std = found[0].mean, found[0].std
    pairs = list(pairwise(networks))[::2]
    return pairs, (_renormalised(train, mean, std), _renormalised(test, mean, std))


def _renormalised(dataset: Dataset, mean: Float[Tensor, "c 1 1"], std: Float[Tensor, "c 1 1"]) -> Dataset:
    """The same images, of which (intensity - mean) / std is taken."""
    mean, std = mean.to(dataset.images), std.to(dataset.images)
    images = (dataset.images * dataset.std + dataset.mean - mean) / std
    return replace(dataset, images=images, mean=mean, std=std, hashed=())  # the raw pixels are the same


def _translate(name: str) -> str:
    """Our name for a published tensor."""
    # nine blocks in three layers
    name = re.sub(r"layer(\d)\.(\d)", lambda found: f"block{3 * int(found[1]) + int(found[2]) - 2}", name)
    name = name.removeprefix("module.")
    name = name.replace("downsample.0", "shortcut.conv").replace("downsample.1", "shortcut.bn")
    return re.sub("^linear", "fc", name)


def _shapes(state: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    # older checkpoints lack the counters of batch norm, and load_state_dict does without
    return {name: value.shape for name, value in state.items() if not name.endswith("num_batches_tracked")}
