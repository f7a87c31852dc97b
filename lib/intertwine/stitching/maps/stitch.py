"""What stitches that are trained have in common: a matrix of parameters, and what a training calls."""

import inspect
from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import LinearMap
from intertwine.features import channel_axis
from intertwine.stitching.junction import Junction


class Stitch(nn.Module, ABC):
    """x ↦ weight·x + bias on channels: the last axis of x, or axis 1 at every position of maps and volumes.

    Example:
        >>> from intertwine.stitching import Full
        >>> stitch = Full(torch.rand(2, 3))
        >>> stitch(torch.ones(7, 3, 4, 4)).shape, stitch(torch.ones(7, 3)).shape
        (torch.Size([7, 2, 4, 4]), torch.Size([7, 2]))

    A subclass computes its `weight` (q, p), of p channels to q, from its parameters. A training begins with
    what `start` gives, adds the `penalty` to the loss, calls `advance` before every step and `project` after
    it. A class method `fit` gives the closed form of `Statistics`, where there is one; its parameters are the
    options of the kind, which `start` takes too. Most kinds derive from `FromMatrix`, which has a `start`.
    """

    bias: nn.Parameter | None
    undecayed: tuple[str, ...] = ("bias",)
    """Parameters without weight decay."""

    def __init__(self, bias: Float[Tensor, " q"] | None = None) -> None:
        super().__init__()
        self.bias = None if bias is None else parameter(bias)

    @classmethod
    @abstractmethod
    def start(cls, junction: Junction, generator: torch.Generator, *args: Any, **options: Any) -> "Stitch":
        """What a training starts with; where a kind has no `fit`, these parameters are its options."""

    @property
    @abstractmethod
    def weight(self) -> Float[Tensor, "q p"]:
        """The matrix."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        with torch.autocast(x.device.type, enabled=False):  # Sinkhorn's sweeps need float32
            weight = self.weight
        # under autocast the product rounds weight and bias itself
        if not torch.is_autocast_enabled(x.device.type):
            weight = weight.to(x.dtype)
        bias = None if self.bias is None else self.bias.to(weight.dtype)
        if x.ndim == 4:
            return F.conv2d(x, weight[..., None, None], bias)
        axis = channel_axis(x)
        return F.linear(x.movedim(axis, -1), weight, bias).movedim(-1, axis)

    def penalty(self) -> Tensor | float:
        """A term of the loss."""
        return 0.0

    def project(self) -> None:
        """Bring the parameters back into their set, after a step."""

    def advance(self, done: float) -> None:
        """Anneal: this fraction of the training is done."""


class FromMatrix(Stitch):
    """Stitches that may start from any matrix: a subclass takes one (q, p), a bias or None, and its options.

    Example:
        >>> from intertwine.stitching import LowRank
        >>> LowRank.draw((4, 3), torch.Generator().manual_seed(0), rank=2).weight.shape
        torch.Size([3, 4])
        >>> class Upper(FromMatrix):  # a kind of your own, for `stitch(…, kind=Upper)`
        ...     def __init__(self, weight, bias=None, *, strength=0.0):
        ...         super().__init__(bias)
        ...         self.entries, self.strength = nn.Parameter(weight), strength
        ...
        ...     @property
        ...     def weight(self):
        ...         return self.entries.triu()
        ...
        ...     def penalty(self):
        ...         return self.strength * self.weight.abs().sum()
        >>> Upper(torch.ones(2, 2)).weight.tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """

    @classmethod
    def start(
        cls, junction: Junction, generator: torch.Generator, first: LinearMap | None = None, **options: Any
    ) -> Stitch:
        """The stitch of a map `first`, else of the closed form, or of a draw where there is none."""
        # nearest to both networks' activations, and from there the task loss needs a few epochs
        if first is None and (fit := getattr(cls, "fit", None)):
            first = fit(junction.statistics, **options)
        first = first or cls.draw(junction.widths, generator, **options)
        p, q = junction.widths
        if first.weight.shape != (q, p):
            given = tuple(first.weight.shape[::-1])
            raise ValueError(
                f"Expected to start from a map of {p} channels to {q}, was given one of {given}."
            )
        # a start with a bias may begin a kind without one, and the other way round
        # a kind's own default stands in the signature of its `fit`
        affine = {**options_of(cls), **options}.get("affine", False)
        bias = torch.zeros(q) if first.bias is None else first.bias
        own = {name: value for name, value in options.items() if name != "affine"}
        made: Any = cls
        return made(first.weight, bias if affine else None, **own)

    @classmethod
    def draw(cls, widths: tuple[int, int], generator: torch.Generator, **options: Any) -> LinearMap:
        """A map that knows nothing of the networks: ±1/√p uniformly, torch's default."""
        (p, q), most = widths, widths[0] ** -0.5
        weight, bias = (torch.empty(n).uniform_(-most, most, generator=generator) for n in ((q, p), (q,)))
        return LinearMap(weight, bias)


def options_of(kind: type) -> dict[str, Any]:
    """The options of a kind and their defaults, `inspect.Parameter.empty` where one is needed.

    Example:
        >>> from intertwine.stitching import KINDS
        >>> list(options_of(KINDS["low rank"]).items())
        [('rank', <class 'inspect._empty'>), ('affine', True)]

    Args:
        kind: one of the classes in `KINDS`, or one of your own.
    """
    # `fit` takes the statistics before its options, `start` the junction and the generator
    function, given = (kind.fit, 1) if hasattr(kind, "fit") else (kind.start, 2)  # type: ignore[attr-defined]
    if getattr(function, "__func__", None) is FromMatrix.start.__func__:  # type: ignore[attr-defined]
        function, given = kind, 2  # which takes the weight and the bias before them
    parameters = [*inspect.signature(function).parameters.values()][given:]
    # `first` is where a training starts, which `stitch_at` takes by itself
    own = (each for each in parameters if each.name != "first" and each.kind != each.VAR_KEYWORD)
    return {each.name: each.default for each in own}


def parameter(values: Tensor) -> nn.Parameter:
    """A trainable copy, in torch's default dtype."""
    return nn.Parameter(values.detach().to(torch.get_default_dtype()).clone())
