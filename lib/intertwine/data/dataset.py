"""A data set: labelled images, and the checksum by which results are found again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine import files
from intertwine.checks import check_images


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images, normalised per channel: `images * std + mean` are intensities between 0 and 1.

    Example:
        >>> mine = Dataset.of(
        ...     torch.randn(6, 3, 8, 8), torch.tensor([0, 2, 1, 0, 2, 1])
        ... )
        >>> len(mine), mine.classes, len(mine.checksum)
        (6, ('0', '1', '2'), 64)

    `mine[:100]`, `mine[[2, 0]]` and `mine[mine.labels < 5]` are data sets of some of the images.
    `dataclasses.replace` with other tensors computes their checksum, unless it is given one as well.
    """

    name: str
    split: str
    images: Float[Tensor, "n ..."] = field(repr=False)
    labels: Int[Tensor, " n"] = field(repr=False)
    classes: tuple[str, ...]
    mean: Float[Tensor, "c ..."] = field(repr=False)
    std: Float[Tensor, "c ..."] = field(repr=False)
    checksum: str
    """SHA-256 of the raw pixels and labels, whatever files they came from. Trained networks and recorded
    tables are found by it."""
    hashed: tuple[Any, ...] = field(default=(), repr=False)
    """The checksum, and the tensors that it is of, each with how often torch had seen it changed in place.
    `replace(data, images=..., hashed=())` leaves the checksum as it is, for the same data in another form."""

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, which: slice | Sequence[int] | Tensor) -> "Dataset":
        """Some of the images, in the order of `which`. Their checksum depends on this one and on the choice.

        Example:
            >>> mine = Dataset.of(
            ...     torch.randn(6, 3, 8, 8), torch.tensor([0, 2, 1, 0, 2, 1])
            ... )
            >>> len(mine[2:]), len(mine[[2, 0]]), len(mine[mine.labels == 2])
            (4, 2, 2)
        """
        check_dataset(self)
        # resolved to numbers first, so that equal choices have one checksum, however they are written
        every = torch.arange(len(self))
        if isinstance(which, slice):
            which = [*range(len(self))[which]]  # tensors take no slice with a negative step
        chosen = every[which.cpu() if isinstance(which, Tensor) else which]
        if chosen.ndim != 1:
            raise TypeError(
                f"Expected a slice, indices or a mask, was given {which}: use [{which}:{which} + 1]."
            )
        if torch.equal(chosen, every):
            return self  # the same data, with the same checksum
        checksum, at = files.digest(self.checksum, chosen.numpy()), chosen.to(self.labels.device)
        return replace(self, images=self.images[at], labels=self.labels[at], checksum=checksum)

    def __post_init__(self) -> None:
        known, *before = self.hashed or (None,)
        # `replace` with other tensors passes the old checksum on: then it is computed anew
        if known == self.checksum and not self._is_of(before):
            object.__setattr__(self, "checksum", tensor_digest(*self._tensors))
        self._remember()

    def __getstate__(self) -> dict[str, Any]:
        check_dataset(self)  # in a copy or a pickle nobody would see that the tensors were changed
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._remember()  # the tensors of a copy count anew

    def _remember(self) -> None:
        object.__setattr__(self, "hashed", (self.checksum, *((x, _changes(x)) for x in self._tensors)))

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return self.images, self.labels, self.mean, self.std

    def _is_of(self, hashed: Sequence[tuple[Tensor, int]]) -> bool:
        """Whether these are the tensors, as they were then."""
        pairs = zip(hashed, self._tensors, strict=True)
        return all(x is y and count == _changes(y) for (x, count), y in pairs)

    @classmethod
    def of(
        cls,
        images: Float[Tensor, "n ..."],
        labels: Int[Tensor, " n"],
        *,
        name: str = "mine",
        split: str = "train",
        classes: Sequence[str] | None = None,
        mean: Sequence[float] | Float[Tensor, " c"] | None = None,
        std: Sequence[float] | Float[Tensor, " c"] | None = None,
    ) -> "Dataset":
        """Your own images and labels as they are, with the checksum of their content.

        Example:
            >>> mine = Dataset.of(
            ...     torch.randn(4, 3, 8, 8), torch.tensor([0, 2, 1, 0]), name="noise"
            ... )
            >>> mine.classes, mine.mean.shape
            (('0', '1', '2'), torch.Size([3, 1, 1]))

        Args:
            images: the networks' inputs, of shape (n, channels, height, width), or of another for recipes
                that neither shift nor flip.
            labels: from 0 on, in int64.
            name, split: what printing shows, such as "digits" and "test"; nothing is computed from them.
            classes: names of the labels; by default their numbers.
            mean, std: per channel, by which images were normalised, so that a recipe can pad with black; 0
                and 1 by default.

        Raises:
            ValueError: images that are not finite floating-point numbers with channels first, or labels that
                do not number the classes.
        """
        check_images(images, labels)
        # labels may skip a class, but not exceed their number
        low, high = labels.min().item(), labels.max().item()
        if classes is None:
            classes = [str(k) for k in range(int(high) + 1)]
        if low < 0 or high >= len(classes):
            raise ValueError(
                f"Expected labels from 0 to {len(classes) - 1}, the number of a class, was given labels from "
                f"{low} to {high}: name every class in classes=."
            )
        _, *sizes = images.shape
        if not sizes:
            raise ValueError(
                f"Expected images with an axis of channels or features, was given {tuple(images.shape)}: use "
                f"images[:, None]."
            )
        # an image as wide as high, then few: those are channels
        if len(sizes) == 3 and sizes[0] == sizes[1] > 4 >= sizes[2]:
            raise ValueError(
                f"Expected images (n, channels, height, width), was given {tuple(images.shape)}, with "
                f"channels last: use images.permute(0, 3, 1, 2)."
            )
        lists = [0.0] * sizes[0] if mean is None else mean, [1.0] * sizes[0] if std is None else std
        means, stds = (
            # in torch's default type a list would have other numbers, and another checksum
            torch.as_tensor(x, dtype=None if hasattr(x, "dtype") else torch.float32, device=images.device)
            for x in lists
        )
        if not means.numel() == stds.numel() == sizes[0]:
            raise ValueError(
                f"Expected a mean and a std for each of {sizes[0]} channels, was given {means.numel()} and "
                f"{stds.numel()}: give lists of {sizes[0]} numbers."
            )
        # one number for each channel, shaped to broadcast over the positions of an image
        means, stds = (each.view(sizes[0], *[1] * len(sizes[1:])) for each in (means, stds))
        checksum = tensor_digest(images, labels, means, stds)
        return cls(name, split, images, labels, tuple(classes), means, stds, checksum)


def _changes(x: Tensor) -> int:
    return 0 if x.is_inference() else x._version  # such tensors count none


def check_dataset(given: object) -> None:
    """Raise an error, in one sentence, unless this is a `Dataset` whose checksum is that of its tensors."""
    if not isinstance(given, Dataset):
        raise TypeError(
            f"Expected a Dataset, was given a {type(given).__name__}: use Dataset.of(images, labels), with "
            f"the tensors of all images and labels."
        )
    if not given._is_of(given.hashed[1:]):
        raise ValueError(
            "Expected a data set as it was made, was given one whose tensors were changed in place, so that "
            "its checksum is of others: make one with Dataset.of(images, labels) after the change."
        )


def tensor_digest(*tensors: Tensor) -> str:
    """SHA-256 of the content, types and shapes of tensors."""
    # as bytes, for numpy has no bfloat16
    contents = (x.contiguous().flatten().view(torch.uint8).numpy(force=True) for x in tensors)
    return files.digest([[str(x.dtype), list(x.shape)] for x in tensors], *contents)
