"""Pairs of networks that others published, and the data as these networks expect them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from jaxtyping import Float
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine_book.data.root import data_root
from intertwine_book.models import load_published, published_files

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
    architecture of godfrey2022. The files of `models.published_files` lie below checkpoints in the data root.
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
    return pairs, (renormalised(train, mean, std), renormalised(test, mean, std))


def resnet20_groups(
    sets: Sequence[Dataset], at_most: Mapping[str, int]
) -> dict[str, tuple[Sequence[tuple[nn.Module, nn.Module]], dict[str, Dataset]]]:
    """ResNet-20 on which csiszarik2021 is tried, by the ending of a table's name, and images for them.

    The authors published one pair; three pairs of others, with shortcuts without weights, have the ending
    `_others`. Of the sets (CIFAR-10, train and test) at most so many images are taken.
    """
    groups = {}
    for end, name, n in (("", "resnet20w1", 1), ("_others", "resnet20", 3)):
        pairs, both = published_pairs(name, n, *sets)
        cut = {part: some[:most] for (part, most), some in zip(at_most.items(), both, strict=True)}
        groups[end] = pairs, cut
    return groups


def renormalised(dataset: Dataset, mean: Float[Tensor, "c 1 1"], std: Float[Tensor, "c 1 1"]) -> Dataset:
    """The same images, of which (intensity - mean) / std is taken."""
    mean, std = mean.to(dataset.images), std.to(dataset.images)
    images = (dataset.images * dataset.std + dataset.mean - mean) / std
    return replace(dataset, images=images, mean=mean, std=std, hashed=())  # the raw pixels are the same
