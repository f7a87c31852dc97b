"""Stitched networks: the front of one, a map, the back of the other (csiszarik2021 Def. 3.1)."""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, fx, nn

from intertwine.channels import CHANNELS_FIRST, CHANNELS_LAST, turn, turned
from intertwine.data import Dataset
from intertwine.data.dataset import check_dataset
from intertwine.features import channel_axis, lookup
from intertwine.stitching.split import Untraceable, by_hooks, split
from intertwine.stitching.stitch_recipes import STILL, StitchRecipe
from intertwine.training import evaluate
from intertwine.training.outputs import Values, as_tuple, as_values, outputs

SHORTCUTS = ("refuse", "stitched", "passed on")
Layers = str | tuple[str, str]


class Turned(nn.Module):
    """Values whose channels are brought where `channel_axis` has them, or back."""

    def __init__(self, *, back: bool = False) -> None:
        super().__init__()
        self.back = back

    def forward(self, values: Values) -> Values:
        return as_values(turn(x, back=self.back) for x in as_tuple(values))


class Resized(nn.Module):
    """Feature maps resampled to these sizes; None leaves a value as it is."""

    def __init__(self, sizes: Sequence[tuple[int, ...] | None]) -> None:
        super().__init__()
        self.sizes = sizes

    def forward(self, values: Values) -> Values:
        sized = zip(as_tuple(values), self.sizes, strict=True)
        return as_values(_resampled(x, size) if size else x for x, size in sized)


class Rest(nn.Module):
    """The stitch and the back, from the values of the front."""

    def __init__(self, stitch: nn.Module, back: nn.Module, shortcut: str = "refuse") -> None:
        super().__init__()
        self.stitch, self.back, self.shortcut = stitch, back, shortcut

    def forward(self, values: Values) -> Tensor:
        return self.back(self.moved(values))

    def moved(self, values: Values) -> Values:
        """The values behind the stitch."""
        # values behind the first are shortcuts that pass the cut
        first, *others = as_tuple(values)
        if self.shortcut == "stitched":
            others = [self.stitch(x) for x in others]
        return as_values((self.stitch(first), *others))


class Stitched(nn.Module):
    """A stitched network: `front`, and `rest`, which is a stitch and a back.

    Example:
        >>> from intertwine.stitching.stitched import Rest
        >>> part = nn.Linear(3, 3)
        >>> Stitched(part, Rest(nn.Identity(), part)).stitch
        Identity()
    """

    def __init__(
        self,
        front: nn.Module,
        rest: Rest,
        history: pd.DataFrame | None = None,
        epoch: int = 0,
        recipe: StitchRecipe = STILL,
    ) -> None:
        super().__init__()
        self.front, self.rest = front, rest
        self.history = pd.DataFrame() if history is None else history
        """One row per epoch, 0 being the start: epoch, lr, loss, accuracy (on the way), seconds, and where
        there are such sets validation_accuracy, and of a training test_accuracy and test_loss. Accuracies
        are fractions."""
        self.epoch = epoch
        """Which one this network is of: the best on the validation set, or the last."""
        self.recipe = recipe
        """How it was trained; with epochs=0, not at all."""

    @property
    def stitch(self) -> nn.Module:
        """The map between the networks."""
        return self.rest.stitch

    def forward(self, x: Tensor) -> Tensor:
        return self.rest(self.front(x))

    def evaluate(self, data: Dataset) -> float:
        """The accuracy, a fraction, as `intertwine.training.evaluate` gives it for any network."""
        check_dataset(data)
        return evaluate(self, data.images, data.labels)


def cut(
    model1: nn.Module, model2: nn.Module, at: Layers, example: Tensor | None, *, shortcut: str
) -> tuple[nn.Module, nn.Module, nn.Module, tuple[int, int]]:
    """A copy of model 1's front whose values fit a copy of model 2's back, but for their channels.

    Between them is model 2's front; then the channels of layers 1 and 2, where there is an example.
    """
    if shortcut not in SHORTCUTS:
        raise ValueError(f"Expected shortcut to be one of {', '.join(SHORTCUTS)}, was given {shortcut!r}.")
    both = (at, at) if isinstance(at, str) else at
    if not (isinstance(both, tuple | list) and len(both) == 2 and all(isinstance(x, str) for x in both)):
        raise ValueError(f"Expected at to be the name of a layer, or a pair of two names, was given {at!r}.")
    layer1, layer2 = both
    lookup(model1, [layer1], "model 1")
    lookup(model2, [layer2], "model 2")
    front, _ = _parts(model1, layer1, example, shortcut)
    front2, back = _parts(model2, layer2, example, shortcut)
    if example is None:
        return front, front2, back, (0, 0)
    ours, theirs = (as_tuple(run_part(part, example[:1])) for part in (front, front2))
    if len(ours) != len(theirs):
        raise ValueError(
            f"Expected as many values to cross both cuts, {len(ours)} leave {layer1!r}, {len(theirs)} go on "
            f"behind {layer2!r}: take both layers inside a block, or neither."
        )
    # a map of channels needs the same kind of positions on both sides
    if [x.ndim for x in ours] != [x.ndim for x in theirs]:
        shapes = [tuple(values[0].shape[1:]) for values in (ours, theirs)]
        raise ValueError(
            f"Expected two layers of feature maps, two of tokens or two of features, {layer1!r} has "
            f"{shapes[0]} and {layer2!r} {shapes[1]} for one image: choose others."
        )
    for x, y in zip(ours[1:], theirs[1:], strict=True):
        wide, wanted, at1, at2 = (each.shape[channel_axis(each)] for each in (x, y, ours[0], theirs[0]))
        # the map of the layers takes at1 channels to at2; what is passed on keeps its own
        if (wide, wanted) != ((at1, at2) if shortcut == "stitched" else (wide, wide)):
            raise ValueError(
                f"Expected shortcuts that can be {shortcut}, was given one of {wide} channels for one "
                f"of {wanted}, at layers of {at1} and {at2}: choose others."
            )
    # only maps of unlike sizes are resampled: tokens and features have no neighbours to interpolate
    sizes = [
        tuple(y.shape[2:]) if x.ndim == 4 and x.shape[2:] != y.shape[2:] else None
        for x, y in zip(ours, theirs, strict=True)
    ]
    p, q = (values[0].shape[channel_axis(values[0])] for values in (ours, theirs))
    if any(sizes):
        front = nn.Sequential(front, Resized(sizes))
    return front, front2, back, (p, q)


def _parts(
    model: nn.Module, layer: str, example: Tensor | None, shortcut: str
) -> tuple[nn.Module, nn.Module]:
    """A copy, cut after a layer; channels cross where `channel_axis` has them."""
    model = copy.deepcopy(model).eval()  # before fx makes constants of decisions by the mode
    try:
        alone = shortcut == "refuse"
        front, back = split(model, layer, shortcuts=not alone)
        if example is not None:
            values = run_part(front, example)
            # a chain's slices would hand on a whole tuple, of which other entries need not have images first
            whole = alone and not isinstance(values, Tensor)
            if whole or (isinstance(front, fx.GraphModule) and _differs(model, back, values, example)):
                front, back = by_hooks(model, layer, example)
    except Untraceable:
        if example is None:
            raise
        # it runs the model, so that branches of its forward do not matter; but only one value may cross
        front, back = by_hooks(model, layer, example)
    if example is None:
        layers = [m for m in front.modules() if isinstance(m, CHANNELS_FIRST + CHANNELS_LAST)]
        if layers and isinstance(layers[-1], nn.Conv1d | nn.ConvTranspose1d):
            raise ValueError(
                f"Expected train= for layer {layer!r}, which follows {layers[-1]}, was given none: a "
                f"few images show which axis holds the channels."
            )
    # stitches map the last axis of three and axis 1 of four: others are turned, and back before model 2
    elif turned(model, [layer], example[:1]):
        return nn.Sequential(front, Turned()), nn.Sequential(Turned(back=True), back)
    return front, back


def _differs(model: nn.Module, back: nn.Module, values: Values, images: Tensor) -> bool:
    """Whether torch.fx has written down another function, as of `h += x` where h has a second name."""
    found, expected = run_part(back, values), run_part(model, images)
    same = partial(torch.allclose, expected, rtol=1e-3, atol=1e-5, equal_nan=True)
    return not same(found) and same(run_part(model, images))  # of a random network nothing can be said


def check_fit(
    rest: Rest, values: Values, widths: tuple[int, int], dtype: torch.dtype = torch.float32
) -> None:
    """Raise ValueError, in one sentence, unless stitch and back take the values of the front."""
    try:
        run_part(rest, values, dtype)
    except RuntimeError as error:
        matrix, why = getattr(rest.stitch, "weight", None), str(error).splitlines()[0]
        # a matrix the other way round is the likely mistake, of which torch would name a convolution
        if isinstance(matrix, Tensor) and matrix.shape == widths:
            why = f"its matrix has the shape {widths}, and outputs come first, so give its transpose"
        raise ValueError(
            f"Expected a stitch from {widths[0]} channels to {widths[1]}, was given one that does not fit: "
            f"{why}."
        ) from error


def run_part(part: nn.Module, values: Values, dtype: torch.dtype = torch.float32) -> Any:
    """The outputs of a part for one batch, in evaluation mode, without autograd."""
    (found,) = outputs(part, values, batch_size=len(as_tuple(values)[0]), dtype=dtype)
    return found


def _resampled(x: Float[Tensor, "n c h w"], size: tuple[int, ...]) -> Float[Tensor, "n c h2 w2"]:
    # antialiased, so that every pixel counts where the size shrinks
    return F.interpolate(x.float(), size, mode="bilinear", antialias=True).to(x.dtype)
