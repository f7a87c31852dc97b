"""Concept scenes: drawn images in which every pixel has a known colour, texture, shape and material."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from intertwine import devices
from intertwine.data import Masks
from intertwine_book.data.pixels import Pixels
from intertwine_book.data.segmented import Segmented, segmented

PAINTS = {
    "red": (0.85, 0.15, 0.15),
    "green": (0.15, 0.70, 0.20),
    "blue": (0.15, 0.25, 0.85),
    "yellow": (0.90, 0.85, 0.15),
    "purple": (0.60, 0.20, 0.70),
    "grey": (0.55, 0.55, 0.55),
}
TEXTURES = ("plain", "rows", "columns", "diagonals", "checks", "dots")
SHAPES = ("disc", "square", "triangle", "ring", "cross", "bar")
MATERIALS = ("matte", "shaded", "glossy", "grainy", "dark", "bright")
CONCEPTS = (*PAINTS, *TEXTURES, *SHAPES, *MATERIALS)
CATEGORIES = tuple(kind for kind in ("colour", "texture", "shape", "material") for _ in range(6))
CLASSES = tuple(f"{colour} {shape}" for shape in SHAPES[:4] for colour in (*PAINTS,)[:4])
MEAN, STD = (0.41, 0.35, 0.35), (0.30, 0.27, 0.29)  # near those of many scenes; every seed shares them
DEPTH = 4  # the ground, two things behind, and the one that gives the label


class _Look(NamedTuple):
    """One layer of every image: concepts as whole numbers below 6, positions as shares of the side."""

    colour: np.ndarray
    texture: np.ndarray
    shape: np.ndarray
    material: np.ndarray
    centre: np.ndarray
    radius: np.ndarray
    turn: np.ndarray
    phase: np.ndarray


def scenes(count: int, *, size: int = 32, seed: int = 0, device: str | torch.device = "auto") -> Segmented:
    """Draw scenes of four layers: a ground, two things on it, and a third in front that gives the label.

    Example:
        >>> data, masks = scenes(10, seed=3)
        >>> data.images.shape, len(masks.names), len(data.classes)
        (torch.Size([10, 3, 32, 32]), 24, 16)

    Each layer has one of six colours, textures and materials; things have one of six shapes. A label is the
    colour of the thing in front together with its shape, 4 × 4 of them: a combination of concepts. Textures
    and materials, the ground and the things behind are independent of it.

    The side in pixels, `size`, is at least 16; the seed decides on everything.
    """
    if count < 1 or size < 16:
        raise ValueError(
            f"Expected a scene or more of side 16 or more, was asked for {count} of side {size}."
        )
    chosen = devices.pick(device)
    random = np.random.RandomState(seed)  # NumPy never changes its stream
    looks = [_look(random, count, layer) for layer in range(DEPTH)]
    # the 16 combinations are equally frequent
    labels = random.permutation(np.arange(count) % len(CLASSES))
    looks[-1] = looks[-1]._replace(shape=labels // 4, colour=labels % 4)
    parts = [
        _render([_Look(*(values[..., rows] for values in look)) for look in looks], size, random)
        for rows in np.array_split(np.arange(count), -(-count // 250))
    ]
    pixels, codes = (torch.cat(each) for each in zip(*parts, strict=True))
    masks, answers = Masks(codes, _table(), CONCEPTS, CATEGORIES), torch.from_numpy(labels)
    split, norm = f"{count} of seed {seed}", {"mean": MEAN, "std": STD}
    return segmented("concepts", pixels, answers, masks, chosen, classes=CLASSES, split=split, **norm)


def read(split: str, root: object = None) -> Pixels:
    """2,000 training scenes of seed 0 or 500 test scenes of seed 1; `root` is not used: they are drawn."""
    data, _ = scenes(2000, seed=0, device="cpu") if split == "train" else scenes(500, seed=1, device="cpu")
    pixels = ((data.images * data.std + data.mean) * 255).round().to(torch.uint8)
    return Pixels(pixels, data.labels, CLASSES, 255, MEAN, STD)


def _look(random: np.random.RandomState, count: int, layer: int) -> _Look:
    colour, texture, shape, material = random.randint(6, size=(4, count))
    front = layer == DEPTH - 1
    radius = random.uniform(0.24, 0.34, count) if front else random.uniform(0.16, 0.28, count)
    centre = random.uniform(0.3, 0.7, (2, count)) if front else random.uniform(0.1, 0.9, (2, count))
    turn, phase = random.uniform(-0.25, 0.25, count), random.uniform(0, 1, (2, count))
    if layer == 0:
        shape = np.full(count, 6)  # the ground covers everything and has none
    return _Look(colour, texture, shape, material, centre, radius, turn, phase)


def _render(looks: list[_Look], size: int, random: np.random.RandomState) -> tuple[Tensor, Tensor]:
    """Pixels and codes of some scenes, painted from the ground to the front."""
    count = len(looks[0].colour)
    image = np.zeros((count, size, size, 3), np.float32)
    codes = np.zeros((count, size, size), np.int64)
    side = (np.arange(size, dtype=np.float32) + 0.5) / size
    grain = random.uniform(-1, 1, (count, size, size)).astype(np.float32)
    palette = np.array([*PAINTS.values()], np.float32)
    for look in looks:
        each = look._replace(**{name: _wide(getattr(look, name)) for name in ("radius", "turn")})
        y, x = side[None, :, None] - _wide(look.centre[0]), side[None, None, :] - _wide(look.centre[1])
        y, x = y * np.cos(each.turn) - x * np.sin(each.turn), x * np.cos(each.turn) + y * np.sin(each.turn)
        inside = _shape(look.shape, y / each.radius, x / each.radius)
        light = _texture(
            look.texture, y * size + 8 * _wide(look.phase[0]), x * size + 8 * _wide(look.phase[1])
        )
        colour = palette[look.colour][:, None, None] * light[..., None]
        colour = _material(look.material, colour, y / each.radius, x / each.radius, grain)
        image = np.where(inside[..., None], colour, image)
        code = ((look.colour * 6 + look.texture) * 7 + look.shape) * 6 + look.material
        codes = np.where(inside, code[:, None, None], codes)
    pixels = torch.from_numpy((image.clip(0, 1) * 255).round().astype(np.uint8)).movedim(-1, 1).contiguous()
    return pixels, torch.from_numpy(codes).int()


def _shape(kind: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Whether a point, in units of the radius, is inside."""
    far, box = y * y + x * x, np.maximum(abs(y), abs(x))
    insides = (
        far < 1,
        box < 0.85,
        (y < 0.8) & (y > 2 * abs(x) - 1),
        (far < 1) & (far > 0.3),
        (box < 1) & (np.minimum(abs(y), abs(x)) < 0.33),
        (abs(y) < 0.4) & (abs(x) < 1.1),
        far >= 0,
    )
    return np.choose(kind[:, None, None], [np.broadcast_to(inside, far.shape) for inside in insides])


def _texture(kind: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Light from 0.35 to 1 at a point, in pixels; the period is 4 of them."""
    up, along, aslant = (y % 4 < 2), (x % 4 < 2), ((x + y) % 6 < 3)
    lights = (up | ~up, up, along, aslant, up ^ along, ~(up & along))
    return np.where(np.choose(kind[:, None, None], lights), 1.0, 0.35).astype(np.float32)


def _material(
    kind: np.ndarray, colour: np.ndarray, y: np.ndarray, x: np.ndarray, grain: np.ndarray
) -> np.ndarray:
    """The colour in each material."""
    spot = np.exp(-4 * ((y + 0.4) ** 2 + (x + 0.4) ** 2))[..., None]
    choices = (
        colour,
        colour * (0.75 - 0.35 * np.clip(x, -1, 1))[..., None],
        colour + 0.8 * spot,
        colour + 0.3 * grain[..., None],
        colour * 0.45,
        0.5 * colour + 0.5,
    )
    return np.choose(kind[:, None, None, None], choices).astype(np.float32)


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32)[:, None, None]


def _table() -> Tensor:
    """The concepts of every combination of colour, texture, shape (6 is none) and material."""
    combinations = torch.cartesian_prod(*(torch.arange(k) for k in (6, 6, 7, 6)))
    return torch.eye(7)[combinations][..., :6].flatten(1).bool()
