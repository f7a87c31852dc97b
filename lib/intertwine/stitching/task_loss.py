"""Task-loss matching: only the stitch moves (csiszarik2021 §4.3, godfrey2022 §4)."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from intertwine import devices
from intertwine.stitching.batch_norm import reestimate, tracked
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps import Stitch
from intertwine.stitching.stitch_recipes import StitchRecipe
from intertwine.stitching.stitched import Rest, Stitched, as_tuple, as_values, check_fit, run_part
from intertwine.training import Batches, build_optimizer, epoch
from intertwine.training.batches import check_last_batch, fill_of
from intertwine.training.epoch import Epochs
from intertwine.training.outputs import FRONT_BYTES

Penalty = Callable[[Tensor, Tensor], Tensor]
EpochMeasure = Callable[[nn.Module], Mapping[str, float]]


class Training:
    """The training of a copy of a layer between the two networks, which keep their parameters.

    Example:
        >>> from intertwine.data import Dataset
        >>> from intertwine.stitching import STITCH_RECIPES
        >>> one, two = (nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 10)) for _ in "ab")
        >>> images = Dataset.of(torch.randn(200, 5), torch.arange(200) % 10)
        >>> place = Junction(one, two, "1", images, device="cpu")
        >>> recipe = STITCH_RECIPES["digits"]
        >>> (stitched,) = train_together([Training(place, nn.Linear(8, 8), recipe, seed=0)])
        >>> stitched.history["epoch"].tolist() == list(range(11))
        True

    Arguments are those of `stitch_at`. Where the recipe does not augment, model 1 is not run: the junction
    has its values. With epochs=0 nothing is trained, but batch norm is re-estimated if the recipe says so.
    The same junction, layer, recipe, seed and number of threads give the same result on a CPU.
    """

    def __init__(
        self,
        junction: Junction,
        layer: nn.Module,
        recipe: StitchRecipe,
        *,
        seed: int,
        penalty: Penalty | None = None,
        measure: EpochMeasure | None = None,
    ) -> None:
        self.junction, self.recipe, self.seed = junction, recipe, seed
        # copies: many stitches share one junction, and a re-estimated back is another network
        self.layer, self.measure = copy.deepcopy(layer).to(junction.device), measure
        self.rest = Rest(self.layer, copy.deepcopy(junction.back), junction.shortcut).eval()
        # one image shows a layer that does not fit before hours of training do
        values = run_part(junction.front, junction.images("train")[:1], junction.dtype)
        check_fit(self.rest, values, junction.widths, junction.dtype)
        if recipe.batch_norm == "reestimated":
            check_last_batch(lambda: self._normalised(values), len(junction.labels("train")), recipe)
        self.objective = _Objective(self.rest, penalty)
        start = {"epoch": 0, "lr": 0.0, "loss": float("nan"), "accuracy": float("nan")}
        self.rows: list[dict[str, Any]] = [start]
        # the start is judged as every epoch is: on validation data no training ends worse than it began
        self.rank = self._judge(start)
        # after `_judge`, which may re-estimate the batch norm that is copied
        self.best, self.chosen = copy.deepcopy(self.rest), 0
        if recipe.epochs:
            # decay would draw a bias to 0, and a point of a polytope into it: no map gets simpler by that
            spared = layer.undecayed if isinstance(layer, Stitch) else ("bias",)
            named = self.layer.named_parameters()
            # by the last part of a name: a module of the user's own may have layers
            decays = lambda name: name.rpartition(".")[2] not in spared  # noqa: E731
            self.optimizer = build_optimizer(recipe, named, decays=decays)

    def epoch(self, number: int, batches: Epochs) -> None:
        """Train for one epoch, and keep the stitch if it is the best so far."""
        hooks: dict[str, Any] = {"added_loss": self.objective.added}
        if isinstance(self.layer, Stitch):
            hooks |= {"before_step": self.layer.advance, "after_step": self.layer.project}
        # in training mode they normalise by the batch, as its values behind a stitch are none that they know
        norms = tracked(self.rest.back) if self.recipe.batch_norm == "reestimated" else []
        # all else stays in evaluation mode, as it is judged: both networks without dropout
        for module in (self.layer, *norms):
            module.train()
        how = {"seed": self.seed, "dtype": self.junction.dtype, **hooks}
        with devices.safe_kernels(self.rest):  # which `epoch` is not given
            row = epoch(self.objective.logits, batches, self.optimizer, self.recipe, number, **how)
        self.rows.append(row)
        self.rest.eval()
        if (now := self._judge(row)) > self.rank:
            self.best, self.chosen, self.rank = copy.deepcopy(self.rest), number + 1, now

    def result(self) -> Stitched:
        """The stitched network of the best epoch."""
        # without an epoch there is no such column
        history = pd.DataFrame(self.rows).drop(columns="images_per_s", errors="ignore")
        # what is returned outlives the junction, and its owner may train it or move it
        front = copy.deepcopy(self.junction.front)
        made = Stitched(front, self.best, history, self.chosen, self.recipe)
        # channels last was for speed here: what is returned has torch's own order
        return made.eval().to(memory_format=torch.contiguous_format)

    def _normalised(self, values: Any) -> Tensor:
        """The logits behind batch norm that is in training mode, of a copy, whose statistics move."""
        rest = copy.deepcopy(self.rest)
        for norm in tracked(rest.back):
            norm.train()
        with devices.autocast(self.junction.device, self.junction.dtype):
            return rest(values)

    def _judge(self, row: dict[str, Any]) -> tuple[float, float]:
        """Add accuracies to a row; returns the criterion of the best epoch: without validation, the epoch."""
        junction, network = self.junction, Stitched(self.junction.front, self.rest)
        if self.recipe.batch_norm == "reestimated":
            # those of the batches lag behind the stitch: it is judged by statistics of what it is now
            reestimate(self.rest, junction.values("train", exact=True))
        if self.recipe.epochs and "test" in junction.sets and junction.test_each_epoch:
            row["test_accuracy"], row["test_loss"], _ = junction.judge(network, "test")
        if self.measure:
            with torch.no_grad():
                row |= self.measure(network.stitch)
        if "validation" not in junction.sets:
            return float(row["epoch"]), 0.0
        judged = junction.judge(network, "validation")
        row["validation_accuracy"] = judged.accuracy
        return judged.accuracy, -judged.loss  # few images: the loss tells equal accuracies apart


def train_together(trainings: Sequence[Training], *, progress: bool = False) -> list[Stitched]:
    """Run trainings at one junction, of one recipe and one seed, together, and each as if it were alone.

    They meet the same batches. So an augmented image passes model 1 once an epoch for all of them, where the
    values of one epoch need at most 2 GiB.
    """
    first = trainings[0]
    both = any(each.objective.penalty is not None for each in trainings)
    batches: _Batches | None = None
    for number in tqdm(range(first.recipe.epochs), unit="epoch", disable=not progress):
        # made late: with no epoch nothing of the front has to be stored
        batches = batches or _Batches(first.junction, first.recipe, both)
        # a single training reads each batch once: to keep it would cost memory alone
        keeps = len(trainings) > 1 and batches.worth_keeping()
        shared = _Kept(batches, number, first.seed) if keeps else batches
        for each in trainings:
            each.epoch(number, shared)
    return [each.result() for each in trainings]


class _Objective:
    """The logits of a batch, and what is added to their loss, which needs the stitched values behind them."""

    def __init__(self, rest: Rest, penalty: Penalty | None) -> None:
        self.rest, self.penalty = rest, penalty
        self.moved = torch.empty(0)  # of the batch that ran last

    def logits(self, values: Any) -> Tensor:
        behind = self.rest.moved(values)
        if self.penalty is not None:
            self.moved = as_tuple(behind)[0].clone()  # the back may begin with a step in place
        return self.rest.back(behind)

    def added(self, values: Any, labels: Tensor, targets: Tensor, theirs: Tensor | None) -> Tensor | float:
        stitch = self.rest.stitch
        own = stitch.penalty() if isinstance(stitch, Stitch) else 0.0
        return own if self.penalty is None or theirs is None else own + self.penalty(self.moved, theirs)


class _Batches(Batches):
    """Batches of the front's values, labels, targets, and model 2's values if wanted."""

    def __init__(self, junction: Junction, recipe: StitchRecipe, both: bool) -> None:
        self.junction, self.soft, self.both = junction, recipe.targets == "soft", both
        self.augmented = bool(recipe.flip or recipe.shift or recipe.sides)
        stored = None if self.augmented else junction.stored("train")
        self.gathered = stored is not None
        inputs, *self.others = as_tuple(junction.images("train") if stored is None else stored)
        fill = fill_of(junction.data("train"), recipe)
        super().__init__(inputs, junction.labels("train"), recipe, fill)

    def worth_keeping(self) -> bool:
        """Whether each epoch computes the front's values anew, and those of one fit into memory."""
        if self.gathered:
            return False
        at = self.junction
        one = as_tuple(run_part(at.front, at.images("train")[:1], at.dtype))
        return len(self.labels) * sum(x.nbytes for x in one) <= FRONT_BYTES

    def epoch(self, number: int, *, seed: int) -> Iterator[Any]:  # of (values, labels, targets, theirs)
        at = self.junction
        for rows, inputs in self.numbered(number, seed=seed):
            labels = targets = self.labels[rows]
            theirs = None
            # an augmented image is new: what model 2 makes of it is stored nowhere
            if self.soft and self.augmented:
                targets = run_part(at.model2, inputs, at.dtype).float().softmax(1)
            elif self.soft:
                targets = at.targets("train")[rows]
            if self.both and self.augmented:
                theirs = as_tuple(run_part(at.front2, inputs, at.dtype))[0]
            elif self.both:
                theirs = at.activations("train")[1][rows]
            if self.gathered:  # the inputs are stored values, with those of shortcuts
                values = as_values((inputs, *(x[rows] for x in self.others)))
            else:
                values = run_part(at.front, inputs, at.dtype)
            yield values, labels, targets, theirs


class _Kept:
    """The batches of one epoch; each time the values are copies, as a back may change its inputs in place."""

    def __init__(self, batches: Epochs, number: int, seed: int) -> None:
        self.batches = [*batches.epoch(number, seed=seed)]

    def __len__(self) -> int:
        return len(self.batches)

    def epoch(self, number: int, *, seed: int) -> Iterator[Any]:
        for values, *others in self.batches:
            yield as_values(x.clone() for x in as_tuple(values)), *others
