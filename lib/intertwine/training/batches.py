"""Shuffled, augmented batches from tensors that stay on the device."""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine import files
from intertwine.data import Dataset
from intertwine.training.recipes import Recipe


class Batches:
    """The batches of a training, epoch by epoch.

    Example:
        >>> from intertwine.data import Dataset
        >>> data = Dataset.of(torch.randn(100, 1, 8, 8), torch.arange(100) % 10)
        >>> batches = Batches.of(
        ...     data, Recipe(epochs=1, batch_size=64, lr=0.1, flip=True, shift=1)
        ... )
        >>> images, labels = next(batches.epoch(0, seed=0))
        >>> images.shape, labels.shape
        (torch.Size([64, 1, 8, 8]), torch.Size([64]))

    The order, the shifts and the flips of an epoch depend on the seed and the epoch alone, whatever the
    device. Images come in channels-last order. All of the augmentation is one gather for each batch.

    Args:
        images, labels: on one device; images of shape (n, channels, height, width), or of any other if the
            recipe neither shifts nor flips nor shrinks.
        recipe: its batch size, `drop_last` and augmentation are used here.
        fill: value for each channel of the pixels that a shift leaves free; see `fill_of`.
    """

    def __init__(
        self,
        images: Float[Tensor, "n ..."],
        labels: Int[Tensor, " n"],
        recipe: Recipe,
        fill: Float[Tensor, "c ..."],
    ) -> None:
        if len(labels) < (recipe.batch_size if recipe.drop_last else 1):
            raise ValueError(
                f"Expected at least one batch of {recipe.batch_size} images, was given {len(labels)}: use a "
                f"smaller batch_size."
            )
        if (recipe.flip or recipe.shift or recipe.sides) and images.ndim != 4:
            raise ValueError(
                f"Expected images (n, channels, height, width) for a recipe that flips, shifts or shrinks, "
                f"was given shape {tuple(images.shape)}: use replace(recipe, flip=False, shift=0, sides=())."
            )
        images = images.detach()  # a training writes no gradient into what a caller's images came from
        self.labels, self.recipe = labels, recipe
        # channels last in memory, which convolutions are fastest in, and one gather moves a whole pixel
        self.images = images.movedim(1, -1).contiguous() if images.ndim == 4 else images
        if recipe.flip or recipe.shift:
            pixels = self.images.flatten(0, 2)
            # one more pixel, which is shown wherever a shift left the image
            self.pixels = torch.cat([pixels, fill.to(pixels).view(1, -1)])
            self.images = self.pixels[:-1].view(self.images.shape)

    @classmethod
    def of(cls, data: Dataset, recipe: Recipe) -> "Batches":
        """The batches of a data set, on its device."""
        return cls(data.images, data.labels, recipe, fill_of(data, recipe))

    def __len__(self) -> int:
        n, size = len(self.labels), self.recipe.batch_size
        return n // size if self.recipe.drop_last else -(-n // size)

    def epoch(self, number: int, *, seed: int) -> Iterator[tuple[Float[Tensor, "b ..."], Int[Tensor, " b"]]]:
        """The batches of one epoch, counted from 0; `seed` decides on order and augmentation."""
        for numbers, images in self.numbered(number, seed=seed):
            yield images, self.labels[numbers]

    def numbered(
        self, number: int, *, seed: int
    ) -> Iterator[tuple[Int[Tensor, " b"], Float[Tensor, "b ..."]]]:
        """The numbers and the images of each batch; by the numbers, labels and other targets are found."""
        drawn = (each.split(self.recipe.batch_size) for each in self.drawn(number, seed=seed))
        for numbers, move, flip in zip(*drawn, strict=True):
            yield numbers, self.pictures(numbers, move, flip, number)

    def drawn(
        self, number: int, *, seed: int
    ) -> tuple[Int[Tensor, " n"], Int[Tensor, "n 2"], Bool[Tensor, " n"]]:
        """The order of an epoch's images, how far each is moved, and whether it is mirrored."""
        # a stream of its own for every epoch, so that a resumed training needs no state of a generator
        stream = int(files.digest("order", seed, number)[:15], 16)
        generator = torch.Generator().manual_seed(stream)
        n, shift = len(self.labels), self.recipe.shift
        # with drop_last, each epoch leaves out other images
        order = torch.randperm(n, generator=generator)[: len(self) * self.recipe.batch_size]
        moves = torch.randint(-shift, shift + 1, (len(order), 2), generator=generator)
        chances = torch.rand(len(order), generator=generator, dtype=torch.float32)
        flips = chances < (0.5 if self.recipe.flip else 0)
        # drawn on the CPU, so that every device trains on the same batches
        return order.to(self.labels.device), moves.to(self.labels.device), flips.to(self.labels.device)

    def pictures(
        self, numbers: Int[Tensor, " b"], move: Int[Tensor, "b 2"], flip: Bool[Tensor, " b"], epoch: int
    ) -> Float[Tensor, "b ..."]:
        """The images of these numbers, moved, mirrored, and as large as those of this epoch are."""
        images = self._images(numbers, move, flip)
        share = self.recipe.side(epoch / self.recipe.epochs)
        return images if share == 1 else F.interpolate(images, scale_factor=share, mode="bilinear")

    def _images(self, numbers: Tensor, move: Tensor, flip: Tensor) -> Tensor:
        if not (self.recipe.flip or self.recipe.shift):
            images = self.images[numbers]
            return images.movedim(-1, 1) if images.ndim == 4 else images
        _, height, width, channels = self.images.shape
        # for each pixel of the result its column and row in the image, mirrored first, then moved
        column = torch.arange(width, device=numbers.device)
        x = torch.where(flip[:, None], width - 1 - column, column) + move[:, 1:]
        y = torch.arange(height, device=numbers.device) + move[:, :1]
        inside = ((y >= 0) & (y < height))[:, :, None] & ((x >= 0) & (x < width))[:, None]
        # where in `pixels` each pixel comes from: its image, row and column; the last of all is the fill
        at = (numbers[:, None] * height + y)[:, :, None] * width + x[:, None]
        at = at.where(inside, len(self.pixels) - 1)
        images = self.pixels.index_select(0, at.flatten()).view(len(numbers), height, width, channels)
        return images.movedim(-1, 1)


def check_last_batch(one_image: Callable[[], object], n: int, recipe: Recipe) -> None:
    """Raise, before any work, where the last batch is one image, whose variance a batch norm would take.

    `one_image` runs a copy of what is trained, in training mode, on one of the n images: maps of more than
    one position have a variance.
    """
    if not recipe.epochs or recipe.drop_last or (n - 1) % recipe.batch_size:
        return
    try:
        with torch.no_grad(), torch.random.fork_rng():  # dropout draws
            one_image()
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise ValueError(
            f"Expected two images at least in each batch, as batch norm takes their variance, was given {n} "
            f"images in batches of {recipe.batch_size}, the last of one: use replace(recipe, drop_last=True) "
            f"or another batch_size."
        ) from error


def fill_of(data: Dataset, recipe: Recipe) -> Float[Tensor, "c ..."]:
    """The recipe's value for pixels that a shift leaves free, in normalised units."""
    return -data.mean / data.std if recipe.fill == "black" else torch.zeros_like(data.mean)
