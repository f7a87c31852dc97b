"""Two networks joined: the front of one, a map, the back of the other (csiszarik2021 Def. 3.1)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from intertwine import devices
from intertwine.alignment import LinearMap
from intertwine.devices import autocast
from intertwine.stitching.layers import Full
from intertwine.stitching.split import split
from intertwine.training.outputs import evaluating

SHORTCUTS = ("refuse", "stitched", "passed on")
Values = Tensor | tuple[Tensor, ...]


class Front(nn.Module):
    """A front whose values are resampled to given sizes; None leaves a value as it is."""

    def __init__(self, front: nn.Module, sizes: Sequence[tuple[int, ...] | None], resample: str) -> None:
        super().__init__()
        self.front, self.sizes, self.resample = front, sizes, resample

    def forward(self, x: Tensor) -> Values:
        values = (
            value if size is None else _resampled(value, size, self.resample)
            for value, size in zip(as_tuple(self.front(x)), self.sizes, strict=True)
        )
        return tuple(values) if len(self.sizes) > 1 else next(values)


class Rest(nn.Module):
    """The stitch and the back, from what the front returns."""

    def __init__(self, stitch: nn.Module, back: nn.Module, shortcut: str = "refuse") -> None:
        super().__init__()
        self.stitch, self.back, self.shortcut = stitch, back, shortcut

    def forward(self, values: Values) -> Tensor:
        first, *others = as_tuple(values)
        moved = [self.stitch(first), *(self.stitch(x) if self.shortcut == "stitched" else x for x in others)]
        return self.back(tuple(moved) if others else moved[0])


class Stitched(nn.Module):
    """The stitched network, as `stitch` makes it: `front`, and `rest`, which is a stitch and a back.

    Example:
        >>> part = nn.Linear(3, 3)
        >>> Stitched(part, Rest(nn.Identity(), part)).stitch
        Identity()
    """

    def __init__(self, front: nn.Module, rest: Rest) -> None:
        super().__init__()
        self.front = front
        self.rest = rest

    @property
    def stitch(self) -> nn.Module:
        """What stands between the networks."""
        return self.rest.stitch

    def forward(self, x: Tensor) -> Tensor:
        return self.rest(self.front(x))


def stitch(
    model1: nn.Module,
    layer1: str,
    model2: nn.Module,
    layer2: str,
    map: LinearMap | nn.Module,
    *,
    example: Float[Tensor, "n ..."] | None = None,
    resample: str = "bilinear",
    shortcut: str = "refuse",
) -> Stitched:
    """The network that runs model 1 up to layer 1, then the map, then model 2 from layer 2 on.

    Example:
        >>> from intertwine.models import myrtle
        >>> a, b, images = myrtle(4, seed=0).eval(), myrtle(8, seed=1).eval(), torch.randn(5, 3, 32, 32)
        >>> stitched = stitch(a, "relu2", b, "relu1", nn.Conv2d(8, 8, 1), example=images)
        >>> stitched(images).shape
        torch.Size([5, 10])

    The models are copied, in evaluation mode. What a forward decides by its mode, such as dropout called as a
    function, stays as it is there, whatever mode the copies are put into later.

    Feature maps of another size are resampled to that of layer 2, before the map: bilinearly (corners not
    aligned; where the size shrinks, over all pixels that a new one covers), or to the nearest. Bilinear
    resampling commutes with every map of channels.

    Inside a residual block the shortcut, too, must get across. It is "stitched", by the same map, or "passed
    on" as it comes from model 1, as the authors of godfrey2022 did. Neither is right for all: a hidden layer
    in a block may be changed by an element of its group that the shortcut knows nothing of.

    Args:
        model1, layer1, model2, layer2: as `split` takes them.
        map: from layer 1's channels to layer 2's; a module is not copied.
        example: inputs of both models, from which sizes and channels are seen; without it, nothing is
            resampled or checked.
        resample: "bilinear" or "nearest".
        shortcut: "refuse" to cut inside a block, "stitched", or "passed on".

    Raises:
        ValueError: as in `split`; with an example, a map or layers that do not fit (looked at
            where all are on one device and of one type).
    """
    front, back, widths = cut(model1, layer1, model2, layer2, example, resample=resample, shortcut=shortcut)
    rest = Rest(as_module(map, devices.like(back)), back, shortcut)
    stitched = Stitched(front, rest)
    if example is not None and len({(p.device, p.dtype) for p in stitched.parameters()}) < 2:
        like = devices.like(stitched, example)
        check_fit(rest, run(front, example[:1].to(like)), widths)
    return stitched


def cut(
    model1: nn.Module,
    layer1: str,
    model2: nn.Module,
    layer2: str,
    example: Tensor | None,
    *,
    resample: str,
    shortcut: str,
) -> tuple[nn.Module, nn.Module, tuple[int, ...]]:
    """A copy of model 1's front, which returns what a copy of model 2's back takes, but for the channels.

    Their numbers, at layer 1 and at layer 2, are returned too where there is an example.
    """
    for argument, given, known in (
        ("resample", resample, ("bilinear", "nearest")),
        ("shortcut", shortcut, SHORTCUTS),
    ):
        if given not in known:
            raise ValueError(f"Expected {argument} to be one of {', '.join(known)}, was given {given!r}.")
    several = shortcut != "refuse"
    front, _ = split(copy.deepcopy(model1).eval(), layer1, shortcuts=several)
    front2, back = split(copy.deepcopy(model2).eval(), layer2, shortcuts=several)
    if example is None:
        return front, back, ()
    ours, theirs = (as_tuple(_probe(part, example)) for part in (front, front2))
    if len(ours) != len(theirs):
        raise ValueError(
            f"Expected as many values to cross both cuts, {len(ours)} leave {layer1!r}, {len(theirs)} go on "
            f"behind {layer2!r}: take both layers inside a block, or neither."
        )
    if [x.ndim for x in ours] != [x.ndim for x in theirs]:
        shapes = " and ".join(str(tuple(values[0].shape[1:])) for values in (ours, theirs))
        raise ValueError(f"Expected two layers of feature maps, or two of features, was given {shapes}.")
    for x, y in zip(ours[1:], theirs[1:], strict=True):
        wanted = theirs[0] if shortcut == "stitched" else x
        if y.shape[1] != wanted.shape[1] or (shortcut == "stitched" and x.shape[1] != ours[0].shape[1]):
            raise ValueError(
                f"Expected shortcuts that can be {shortcut}, was given one of {x.shape[1]} channels for one "
                f"of {y.shape[1]}, at layers of {ours[0].shape[1]} and {theirs[0].shape[1]}: choose others."
            )
    sizes = [
        tuple(y.shape[2:]) if x.ndim == 4 and x.shape[2:] != y.shape[2:] else None
        for x, y in zip(ours, theirs, strict=True)
    ]
    widths = tuple(values[0].shape[1 if values[0].ndim == 4 else -1] for values in (ours, theirs))
    return (Front(front, sizes, resample) if any(sizes) else front), back, widths


def check_fit(
    rest: Rest, values: Values, widths: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> None:
    """Raise ValueError, in one sentence, unless stitch and back take what the front returns."""
    try:
        run(rest, values, dtype)
    except RuntimeError as error:
        p, q = widths
        raise ValueError(
            f"Expected a stitch from {p} channels to {q}, was given one that does not fit: "
            f"{str(error).splitlines()[0]}."
        ) from error


def as_module(map: LinearMap | nn.Module, like: Tensor) -> nn.Module:
    """A closed form as a stitch that may be trained further, in the type of `like`; a module as it is."""
    if isinstance(map, nn.Module):
        return map
    q, p = map.weight.shape
    return Full(p, q, affine=map.bias is not None, start=map).to(like)


def as_tuple(values: Values) -> tuple[Tensor, ...]:
    """One value is a tuple of one."""
    return values if isinstance(values, tuple) else (values,)


def as_values(values: tuple[Tensor, ...]) -> Values:
    """The inverse of `as_tuple`."""
    return values if len(values) > 1 else values[0]


def run(network: nn.Module, values: Values, dtype: torch.dtype = torch.float32) -> Any:
    """What a part returns in evaluation mode, without autograd; in channels-last order if it can be."""
    inputs = as_values(tuple(_channels_last(x) for x in as_tuple(values)))
    with evaluating(network), torch.no_grad(), autocast(as_tuple(values)[0].device, dtype):
        return network(inputs)


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def _probe(part: nn.Module, example: Tensor) -> Values:
    like = devices.like(part, example)
    return run(part, example[:1].to(like))


def _resampled(x: Float[Tensor, "n c h w"], size: tuple[int, ...], mode: str) -> Float[Tensor, "n c h2 w2"]:
    if mode == "nearest":
        return F.interpolate(x, size, mode="nearest-exact")
    return F.interpolate(x.float(), size, mode="bilinear", antialias=True).to(x.dtype)
