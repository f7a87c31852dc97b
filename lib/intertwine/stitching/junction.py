"""The parts, the data and the values of the frozen fronts, shared by all stitches at one cut."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import devices
from intertwine.alignment import Statistics, statistics
from intertwine.data import Dataset
from intertwine.data.dataset import check_dataset
from intertwine.stitching.stitched import Layers, Stitched, Values, as_tuple, as_values, cut, run_part
from intertwine.training.evaluate import check_data, correct
from intertwine.training.outputs import FRONT_BYTES, all_outputs, front_values, outputs

EXAMPLES = 32
BATCH = 200  # images at a time, where nothing is trained: on a CPU twice as fast as 500


class Judged(NamedTuple):
    """How well a stitched network does on a set of images.

    Example:
        >>> Judged(accuracy=0.98, loss=0.1, distance=0.2)
        Judged(accuracy=0.98, loss=0.1, distance=0.2)
    """

    accuracy: float
    """The fraction of right answers; higher is better."""
    loss: float
    """Mean cross-entropy to the labels; lower is better."""
    distance: float
    """Mean cross-entropy to model 2's probabilities (csiszarik2021, experiment 1); lower is nearer to it."""


class Junction:
    """A place where model 1 can be stitched to model 2, with the data to do it.

    Example:
        >>> from intertwine.data import Dataset
        >>> def network():
        ...     return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 10))
        >>> a, b = network(), network()
        >>> data = Dataset.of(torch.randn(50, 5), torch.arange(50) % 10)
        >>> junction = Junction(a, b, "1", data, device="cpu")  # behind the ReLU
        >>> junction.statistics.widths, junction.statistics.n
        ((8, 8), 50)

    Both models are copied to the device, in evaluation mode. Without augmentation model 1's front runs once
    over each set of images, whatever the number of stitches: its values are stored where a set has no more
    than 2 GiB of them.

    Args:
        model1, model2, at, train, validation, test, shortcut: as in `stitch`. Both models get the
            same images: their own normalisation, where it differs, must be part of them.
        device: as `intertwine.devices.pick` takes it; both models are copied there.
        dtype: of training: float32, bfloat16, or auto, the faster one, as in `training.Recipe`. Networks are
            judged in their own type.
        fit_images: how many training images closed forms are fitted to, from the first one on.
        test_each_epoch: whether a training's history has the test set, which may take longer than training.
    """

    def __init__(
        self,
        model1: nn.Module,
        model2: nn.Module,
        at: Layers,
        train: Dataset,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
        shortcut: str = "refuse",
        device: str | torch.device = "auto",
        dtype: str = "auto",
        fit_images: int = 10_000,
        test_each_epoch: bool = True,
    ) -> None:
        for dataset in (train, validation, test):
            if dataset is not None:
                check_dataset(dataset)
                for model in (model1, model2):
                    check_data(model, dataset.images, dataset.labels)
        for which, model in (("1", model1), ("2", model2)):
            # autocast and stored values assume it, and a back in float64 could not take them
            own = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
            if own != torch.float32:
                raise ValueError(f"Expected networks in float32, model {which} is in {own}: use .float().")
        self.device = devices.pick(device)
        # a few suffice to see what crosses the cut, and run before all of them are moved to the device; in a
        # random order, as neighbours may be alike
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))
        example = train.images[order[:EXAMPLES]]
        *fronts, back, self.widths = cut(model1, model2, at, example, shortcut=shortcut)
        """Channels of layer 1 and of layer 2."""
        for part in (*fronts, back):
            # frozen: gradients must reach the stitch through the back, but nothing behind it moves
            devices.channels_last(part.requires_grad_(False).to(self.device)).eval()
        (self.front, self.front2), self.back = fronts, back
        self.model2 = nn.Sequential(self.front2, back)
        self.shortcut, self.dtype = shortcut, devices.precision(self.model2, self.device, dtype)
        self._data = {"train": train, "validation": validation, "test": test}
        self._fit_images, self.test_each_epoch = fit_images, test_each_epoch
        self._images: dict[str, Tensor] = {}
        self._stored: dict[tuple[str, str, torch.dtype], Values | None] = {}
        self._targets: dict[tuple[str, torch.dtype], Tensor] = {}

    @property
    def sets(self) -> list[str]:
        return [name for name, dataset in self._data.items() if dataset is not None]

    def data(self, name: str) -> Dataset:
        """The set of this name: train, validation or test."""
        if (found := self._data[name]) is None:
            raise ValueError(f"Expected a junction with a {name} set, this one is without: pass {name}=.")
        return found

    def precision(self, name: str) -> torch.dtype:
        """The type of autocast for this set: that of training, or none."""
        return self.dtype if name == "train" else torch.float32

    def images(self, name: str) -> Float[Tensor, "n ..."]:
        if name not in self._images:
            own = devices.input_dtype(self.model2, self.precision(name))
            self._images[name] = self.data(name).images.to(self.device, own)
        return self._images[name]

    def labels(self, name: str) -> Int[Tensor, " n"]:
        return self.data(name).labels.to(self.device)

    def targets(self, name: str, *, exact: bool = False) -> Float[Tensor, "n classes"]:
        """Model 2's probabilities for the images of a set; exact ones are without autocast."""
        images, dtype = self._inputs(name, exact)
        if (key := (name, dtype)) not in self._targets:
            # once for all stitches, as model 2 never changes
            self._targets[key] = all_outputs(self.model2, images, dtype=dtype).float().softmax(1)
        return self._targets[key]

    def stored(self, name: str, part: str = "front", *, exact: bool = False) -> Values | None:
        """The values of model 1's front (or of "front2") for a set; None where they need too much memory.

        Exact ones are without autocast, as a network is judged.
        """
        images, dtype = self._inputs(name, exact)
        if (key := (name, part, dtype)) not in self._stored:
            front = getattr(self, part)
            self._stored[key] = front_values(front, images, dtype=dtype, limit=FRONT_BYTES)
        return self._stored[key]

    def values(self, name: str, *, exact: bool = False) -> Iterator[Values]:
        """The values of the front for a set, batch by batch; exact ones are without autocast."""
        if (stored := self.stored(name, exact=exact)) is None:
            images, dtype = self._inputs(name, exact)
            return outputs(self.front, images, dtype=dtype)
        # copies, as a stitch or a back may change its inputs in place
        batches = zip(*(x.split(BATCH) for x in as_tuple(stored)), strict=True)
        return (as_values(x.clone() for x in batch) for batch in batches)

    def _inputs(self, name: str, exact: bool) -> tuple[Tensor, torch.dtype]:
        """The images of a set, and the type of autocast that their values are computed in."""
        # a closed form or an accuracy in bfloat16 would be off by more than stitches differ
        if exact and self.precision(name) != torch.float32:
            return self.data(name).images, torch.float32
        return self.images(name), self.precision(name)

    def activations(self, name: str) -> tuple[Float[Tensor, "n p ..."], Float[Tensor, "n q ..."]]:
        """Layer 1 of model 1, resampled, and layer 2 of model 2, for a whole set of up to 2 GiB each."""
        ours, theirs = self.stored(name), self.stored(name, "front2")
        if ours is None or theirs is None:
            raise MemoryError(
                f"Expected values that fit into 2 GiB, the {name} set has more: take fewer images."
            )
        return as_tuple(ours)[0], as_tuple(theirs)[0]

    def judge(self, network: Stitched, name: str = "test") -> Judged:
        """How well a network that was stitched here does on a set; the accuracy is that of `evaluate`."""
        # its front is ours, whose values are stored or computed here: only the rest has to run
        parts = [run_part(network.rest, values) for values in self.values(name, exact=True)]
        logits, labels = torch.cat(parts).float(), self.labels(name)
        right = correct(logits, labels).double().mean().item()
        loss, distance = (F.cross_entropy(logits, x).item() for x in (labels, self.targets(name, exact=True)))
        return Judged(right, loss, distance)

    @cached_property
    def statistics(self) -> Statistics:
        """Of the two layers on the first training images, without autocast; every position is a row."""
        # the first ones, not drawn: two kinds at one place are fitted to the same images
        images = self.data("train").images[: self._fit_images]
        both = (outputs(part, images) for part in (self.front, self.front2))
        return statistics((as_tuple(a)[0], as_tuple(b)[0]) for a, b in zip(*both, strict=True))
