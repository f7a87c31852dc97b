"""Two units of a trained layer as axes that the reader turns, and what each then selects in drawn scenes."""

import base64
import io
import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from IPython.display import HTML
from jaxtyping import Bool, Float
from matplotlib.image import imsave
from torch import Tensor

from intertwine import dissection
from intertwine.data import Masks
from intertwine.dissection import Dissection
from intertwine_book.data.segmented import Segmented
from intertwine_book.figures.style import COLOURS
from intertwine_book.live.instrument import instrument

KINDS_OF_PIXELS = 4  # that may be seen in one scene: two bits a pixel
_DIM = 0.22


def turned(pair: Float[Tensor, "n 2 h w"], degrees: int) -> Float[Tensor, "n 2 h w"]:
    """The maps of two units in a basis of their plane that is turned.

    Example:
        >>> maps = torch.tensor([1.0, 2.0]).view(1, 2, 1, 1)
        >>> turned(maps, 90).flatten().round().tolist()  # the second, and the negative of the first
        [2.0, -1.0]
    """
    t = math.radians(degrees)
    x, y = pair.unbind(1)
    return torch.stack([math.cos(t) * x + math.sin(t) * y, math.cos(t) * y - math.sin(t) * x], 1)


def two_units(maps: Float[Tensor, "n units h w"], masks: Masks, quantile: float) -> tuple[int, int]:
    """Of the best units of four concepts, those two whose IoU falls most in a turned basis.

    Example:
        >>> planes = torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0)) < 0.1
        >>> sorted(two_units(planes[:, [2, 0]].float(), Masks.of(planes), 0.2))
        [0, 1]

    The first at 45°, where it reads the sum of both, and the second at 90°, where it reads the negative of
    the first. The smaller of both falls counts, and a fall is a difference: units that fit well fall far.
    """
    own = dissection.dissect(maps, masks, quantile=quantile)
    size = masks.codes.shape[1:]
    best = [each.unit for each in dissection.examples(maps, own, (size[0], size[1]), units=4, images=1)]
    if len(best) < 2:  # all fit one concept
        best = own.best.argsort(descending=True)[:2].tolist()

    def fall(units: tuple[int, int]) -> float:
        pair = maps[:, list(units)]
        mixed, negative = (
            dissection.dissect(turned(pair, degrees), masks, quantile=quantile).best for degrees in (45, 90)
        )
        falls = own.best[list(units)] - torch.stack([mixed[0], negative[1]])
        return falls.min().item()

    return max(permutations(best, 2), key=fall)


def turning_basis(
    maps: Float[Tensor, "n units h w"],
    scenes: Segmented,
    *,
    images: int = 60,
    quantile: float = 0.1,
    shown: int = 4,
    degrees: int = 45,
    name: str = "basis",
) -> HTML:
    """A slider that turns the plane of two units, the pixels that each selects, and its best concept.

    Example:
        >>> from intertwine_book import data
        >>> few = data.scenes(20, seed=1, device="cpu")
        >>> maps = torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0))
        >>> "turn the basis" in turning_basis(maps, few, images=20).data
        True

    Of the maps and scenes the first `images` are taken; `quantile` is the share of the positions that a unit
    selects. The maps are rounded, and what the page computes is `dissection.dissect` of `pair_of(...)`. It
    moves to its opening state once, and stays there: the angle of the still picture, in degrees.

    Raises:
        ValueError: scenes with more than four kinds of pixels.
    """
    masks = Masks(scenes.masks.codes[:images], *_named(scenes.masks))
    units = two_units(maps[:images], masks, quantile)
    pair, numbers, steps = pair_of(maps[:images], units)
    codes, shows = _codes(masks)
    own = dissection.dissect(pair, masks, quantile=quantile)
    size = masks.codes.shape[1]
    most = dissection.examples(pair, own, (size, size), units=[0, 1], images=shown)
    order = [int(k) for each in zip(*(each.images for each in most), strict=True) for k in each]
    few = sorted(dict.fromkeys(order), key=order.index)[:shown]
    data = scenes.data
    colours = ((data.images[few] * data.std + data.mean).clamp(0, 1) * 255).round().to(torch.uint8).cpu()
    painted = colours.movedim(1, -1).contiguous().numpy()
    mine = own.iou.argmax(1).tolist()
    given = {
        "maps": {"numbers": _text(numbers.astype("<u2")), "steps": steps},
        "codes": _text(codes),
        "shows": shows,
        "concepts": list(masks.names),
        "paints": [COLOURS["blue"], COLOURS["orange"]],  # of what the first and the second unit fit at 0°
        "pictures": [{"number": k, "pixels": _text(each)} for k, each in zip(few, painted, strict=True)],
        "side": pair.shape[-1],
        "size": size,
        "quantile": quantile,
        "units": list(units),
        "rest": {
            "angle": degrees,
            "concepts": mine,
            "neither": COLOURS["grey"],
            "key": "Lit: what the unit selects. IoU: how far that overlaps with its best match, at most 1. "
            f"Dots: positions in scenes; filled: what unit {units[0]} selects, beyond the dashed line.",
        },
    }
    after = turned(pair, degrees)
    there = dissection.dissect(after, masks, quantile=quantile)
    lines = [_line(there, k, unit) for k, unit in enumerate(units)]
    sentence = f"The basis is turned by {degrees}°. {'. '.join(lines)}. Lit: what the unit selects."
    picture = _still(painted, _lit(after, there, few, size), lines)
    return instrument(name, ["basis"], given, picture, sentence)


def pair_of(
    maps: Float[Tensor, "n units h w"], units: Sequence[int]
) -> tuple[Float[Tensor, "n 2 h w"], np.ndarray, list[float]]:
    """Two units as a page has them: whole numbers below 2¹⁶, the size of a step, and their product.

    Example:
        >>> pair, numbers, steps = pair_of(torch.tensor([0.0, 1.0]).view(1, 1, 1, 2), [0, 0])
        >>> pair.flatten().tolist(), int(numbers.max())
        ([0.0, 1.0, 0.0, 1.0], 65535)
    """
    two = maps[:, list(units)].double().clamp(min=0).cpu()
    steps = [max(two[:, k].max().item(), 1e-9) / 65535 for k in (0, 1)]
    whole = (two / torch.tensor(steps).view(2, 1, 1).double()).round()
    return whole * torch.tensor(steps, dtype=torch.float64).view(2, 1, 1), whole.movedim(1, 0).numpy(), steps


def _named(masks: Masks) -> tuple[Tensor, tuple[str, ...], tuple[str, ...]]:
    return masks.table, masks.names, masks.categories


def _codes(masks: Masks) -> tuple[np.ndarray, list[list[list[int]]]]:
    """Which kind of pixel is seen, four of them in a byte, and the concepts of each kind, scene by scene."""
    kinds, shows = [], []
    for scene in masks.codes.cpu():
        found, which = scene.unique(return_inverse=True)
        if len(found) > KINDS_OF_PIXELS:
            raise ValueError(
                f"Expected {KINDS_OF_PIXELS} kinds of pixels in a scene or fewer, was given {len(found)}."
            )
        kinds.append(which.flatten().numpy())
        shows.append([masks.table[int(code)].nonzero().flatten().tolist() for code in found])
    four = np.concatenate(kinds).reshape(-1, 4) << np.array([0, 2, 4, 6])
    return four.sum(1).astype(np.uint8), shows


def _lit(
    pair: Float[Tensor, "n 2 h w"], found: Dissection, few: Sequence[int], size: int
) -> Bool[np.ndarray, "2 few size size"]:
    large = F.interpolate(pair[list(few)], (size, size), mode="bilinear")
    return (large > found.levels.double()[:, None, None]).movedim(1, 0).numpy()


def _line(found: Dissection, k: int, unit: int) -> str:
    iou, concept = found.iou[k].max(0)
    return f"Unit {unit}, best match: {found.names[int(concept)]} (IoU {iou:.2f})"


def _still(painted: np.ndarray, lit: Bool[np.ndarray, "2 few size size"], lines: Sequence[str]) -> str:
    drawn = []
    for row, (line, shown) in enumerate(zip(lines, lit, strict=True)):
        top = 120 * row
        drawn.append(f'<text x="0" y="{top + 14}" font-size="13" fill="currentColor">{line}</text>')
        for k, (picture, on) in enumerate(zip(painted, shown, strict=True)):
            with io.BytesIO() as file:
                look: dict[str, Any] = {"format": "png", "metadata": {"Software": None}}
                imsave(file, (picture * np.where(on, 1, _DIM)[..., None]).astype(np.uint8), **look)
                data = base64.b64encode(file.getvalue()).decode()
            drawn.append(
                f'<image x="{95 * k}" y="{top + 20}" width="90" height="90" '
                f'style="image-rendering: pixelated" href="data:image/png;base64,{data}"/>'
            )
    label = "Scenes in which the pixels that each of two units selects are lit"
    wide = 95 * len(painted)
    opening = f'<svg viewBox="0 0 {wide} 240" role="img" aria-label="{label}">'
    return opening + "".join(drawn) + "</svg>"


def _text(numbers: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode()
