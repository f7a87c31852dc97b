"""Two networks joined by a map that is given."""

from jaxtyping import Float
from torch import Tensor, nn

from intertwine import devices
from intertwine.alignment import LinearMap
from intertwine.stitching.maps import Full
from intertwine.stitching.stitched import Layers, Rest, Stitched, check_fit, cut, run_part


def join(
    model1: nn.Module,
    model2: nn.Module,
    at: Layers,
    map: LinearMap | nn.Module,
    *,
    example: Float[Tensor, "n ..."] | None = None,
    shortcut: str = "refuse",
) -> Stitched:
    """The network of `stitch` with a given map; a module is not copied.

    Without an example of the inputs nothing is resampled or checked. With one, a map or layers that do not
    fit raise a ValueError, where all are on one device and of one type.
    """
    front, _, back, widths = cut(model1, model2, at, example, shortcut=shortcut)
    rest = Rest(as_module(map, devices.like(back)), back, shortcut)
    stitched = Stitched(front, rest)
    if example is not None and len({(p.device, p.dtype) for p in stitched.parameters()}) < 2:
        check_fit(rest, run_part(front, example[:1]), widths)
    return stitched


def as_module(map: LinearMap | nn.Module, like: Tensor) -> nn.Module:
    """A closed form as a stitch that may be trained further, in the type of `like`; a module as it is."""
    return map if isinstance(map, nn.Module) else Full(map.weight, map.bias).to(like)
