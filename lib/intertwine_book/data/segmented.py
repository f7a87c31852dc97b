"""Images whose pixels are labelled: any folder of images and indexed masks, CamVid, and patches of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from intertwine import devices, files
from intertwine.data import Dataset, Masks
from intertwine.data.masks import same_aspect
from intertwine_book.data.pixels import Pixels, normalised
from intertwine_book.data.root import data_root

STREET = (
    *("Sky", "Building", "Pole", "Road", "Pavement", "Tree", "Sign", "Fence"),
    *("Car", "Pedestrian", "Cyclist"),
)
"""What CamVid's masks tell apart."""


class Segmented(NamedTuple):
    """Labelled images and the concepts in their pixels."""

    data: Dataset
    masks: Masks


@dataclass(frozen=True)
class SegmentedFolder:
    """A folder of images and one of masks, whose pixels are indices into `names`: CamVid, ADE, Broden.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> root = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (6, 4), "red").save(root / "1.png")
        >>> (root / "masks").mkdir()
        >>> Image.new("L", (6, 4), 1).save(root / "masks/1.png")
        >>> data, masks = SegmentedFolder(root, root / "masks", ["sky", "road"]).load()
        >>> data.images.shape, masks.areas().tolist()
        (torch.Size([1, 3, 4, 6]), [0.0, 1.0])

    An image and its mask have the same name but for its ending. Indices beyond the names show no concept.
    """

    images: str | Path
    masks: str | Path
    names: Sequence[str]
    categories: Sequence[str] | None = None
    """Of each name; "object" when not given."""

    def load(
        self,
        *,
        size: tuple[int, int] | None = None,
        limit: int | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        device: str | torch.device = "auto",
    ) -> Segmented:
        """Read everything, in the order of names; an image's label is the concept of its largest area, or 0.

        Args:
            size: (height, width) that images (bilinear) and masks (nearest) are brought to; needed where they
                differ.
            limit: at most so many, spread evenly over the folder.
            mean, std: of intensities per channel, those of the training images; by default their own.

        Raises:
            ValueError: no images, an image without its mask, or sizes that differ (aspect ratios, with
                `size`).
        """
        chosen, pairs = devices.pick(device), self._pairs()
        if limit is not None and limit < len(pairs):
            pairs = [pairs[k * len(pairs) // limit] for k in range(limit)]
        for pair in pairs if size else []:
            _check_sizes(*pair)
        read = [(_read(image, size, "RGB"), _read(mask, size, "L")) for image, mask in pairs]
        shapes = {array.shape[:2] for pair in read for array in pair}
        if len(shapes) > 1:
            raise ValueError(
                f"Expected images and masks of one size, found {', '.join(map(str, sorted(shapes)[:4]))} in "
                f"{self.images}: give `size`."
            )
        pixels = torch.from_numpy(np.stack([image for image, _ in read])).movedim(-1, 1).contiguous()
        codes = torch.from_numpy(np.stack([mask for _, mask in read])).int().clamp(max=len(self.names))
        table = torch.cat([torch.eye(len(self.names)), torch.zeros(1, len(self.names))]).bool()
        kinds = ("object",) * len(self.names) if self.categories is None else tuple(self.categories)
        masks = Masks(codes, table, tuple(self.names), kinds)
        shares = torch.stack([torch.bincount(code.flatten(), minlength=len(table)) for code in codes])
        labels = shares[:, :-1].argmax(1)
        return segmented(Path(self.images).name, pixels, labels, masks, chosen, mean=mean, std=std)

    def _pairs(self) -> list[tuple[Path, Path]]:
        folders = [Path(self.images), Path(self.masks)]
        for folder in folders:
            if not folder.is_dir():
                raise FileNotFoundError(f"Expected a folder of images and one of masks, {folder} is none.")
        images, masks = (
            {path.stem: path for path in folder.iterdir() if path.is_file()} for folder in folders
        )
        if not images:
            raise ValueError(f"Expected images in {self.images}, found none.")
        if lost := sorted(set(images) - set(masks)):
            raise ValueError(f"Expected a mask in {self.masks} for every image, found none for {lost[0]!r}.")
        return [(images[name], masks[name]) for name in sorted(images)]


def camvid(split: str, *, root: str | Path | None = None, **options: Any) -> Segmented:
    """Frames of CamVid, eleven classes of pixels: camvid/train and camvid/trainannot hold frames and masks.

    The folder camvid lies in `root`, or in the data root; options are those of `SegmentedFolder.load`.
    """
    folder = data_root(root) / "camvid"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"CamVid is not in {folder} and is not downloaded: put the folders train, trainannot, test and "
            "testannot of SegNet's copy there, or leave camvid out of `datasets` and `lite_networks` empty."
        )
    return SegmentedFolder(folder / split, folder / f"{split}annot", STREET).load(**options)


def _check_sizes(image: Path, mask: Path) -> None:
    """Raise ValueError where one size for both would stretch them unequally."""
    from PIL import Image

    sizes = []
    for path in (image, mask):
        with Image.open(path) as file:  # reads no pixels
            sizes.append(file.size[::-1])
    if not same_aspect(*sizes):
        raise ValueError(
            f"Expected an image and a mask of one aspect ratio, found {sizes[0]} in {image} and {sizes[1]} "
            f"in {mask.parent}: crop one as the other was."
        )


def _read(path: Path, size: tuple[int, int] | None, mode: str) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as file:
        image: Image.Image = file
        if mode == "RGB" or image.mode not in ("L", "P"):
            image = image.convert(mode)  # a mask with a palette holds indices already
        if size:
            how = Image.Resampling.BILINEAR if mode == "RGB" else Image.Resampling.NEAREST
            image = image.resize(size[::-1], how)
        return np.array(image)


def patches(
    whole: Segmented,
    side: int,
    *,
    limit: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Square patches of segmented images, side by side, labelled by the concept that covers more than half.

    Example:
        >>> planes = torch.zeros(1, 2, 8, 8).bool()
        >>> planes[:, 0, :, :4], planes[:, 1, :, 4:] = True, True
        >>> masks = Masks.of(planes, ["left", "right"])
        >>> images = Dataset.of(torch.zeros(1, 3, 8, 8), torch.zeros(1).long())
        >>> patches(Segmented(images, masks), 4).labels.tolist()
        [0, 1, 0, 1]

    Args:
        side: of a patch, in pixels; patches without such a concept are left out.
        limit: at most so many, drawn at random by the seed.

    Returns:
        Patches normalised as the images are; `classes` are the concepts.
    """
    data, masks = whole
    if side > min(data.images.shape[-2:]):
        raise ValueError(f"Expected patches within {tuple(data.images.shape[-2:])} pixels, asked for {side}.")
    cut = data.images.unfold(2, side, side).unfold(3, side, side)
    windows = masks.codes.unfold(1, side, side).unfold(2, side, side).flatten(0, 2).flatten(1)
    images = cut.movedim(1, 3).flatten(0, 2)
    shares = torch.cat([masks.table[part.long()].double().mean(1) for part in windows.split(1024)])
    best, labels = shares.max(1)
    rows = (best > 0.5).nonzero()[:, 0]
    if not len(rows):
        raise ValueError(
            "Expected patches that one concept covers to more than half, found none: take smaller ones."
        )
    if limit is not None and limit < len(rows):
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
        rows = rows[order[:limit].sort().values.to(rows.device)]
    # the second side and the half are what recorded checksums have of a stride and a share
    checksum = files.digest(data.checksum, "patches", side, side, 0.5, limit, seed)
    name = f"{data.name}, patches of {side}"
    return replace(
        data, name=name, images=images[rows], labels=labels[rows], classes=masks.names, checksum=checksum
    )


def segmented(
    name: str,
    pixels: UInt8[Tensor, "n c h w"],
    labels: Int[Tensor, " n"],
    masks: Masks,
    device: torch.device,
    *,
    classes: tuple[str, ...] | None = None,
    split: str = "all",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Segmented:
    """Raw pixels and masks as a `Segmented`, normalised by these or by their own mean and deviation."""
    if mean is None or std is None:
        own = pixels.movedim(1, 0).flatten(1).double() / 255
        mean, std = own.mean(1).tolist(), own.std(1, correction=0).clamp(min=1e-3).tolist()
    raw = Pixels(pixels, labels, classes or masks.names, 255, tuple(mean), tuple(std))
    data = normalised(name, split, raw, device)
    checksum = files.digest(data.checksum, masks.codes.numpy(force=True), masks.table.numpy(force=True))
    return Segmented(replace(data, checksum=checksum), masks.to(device))
