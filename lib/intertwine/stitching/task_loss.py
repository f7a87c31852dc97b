"""Task-loss matching: only the stitch moves (csiszarik2021 §4.3, godfrey2022 §4)."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from intertwine.stitching.batch_norm import reestimate, tracked
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps import Stitch
from intertwine.stitching.stitch_recipes import StitchRecipe
from intertwine.stitching.stitched import Rest, Stitched, as_tuple, as_values, check_fit, run_part
from intertwine.training import Batches, build_optimizer, epoch, fill_of

Penalty = Callable[[Tensor, Tensor], Tensor]
EpochMeasure = Callable[[nn.Module], Mapping[str, float]]


def train_stitch(
    junction: Junction,
    layer: nn.Module,
    recipe: StitchRecipe,
    *,
    seed: int,
    penalty: Penalty | None = None,
    measure: EpochMeasure | None = None,
    progress: bool = False,
) -> Stitched:
    """Train a copy of a layer between the two networks, which keep their parameters; see `stitch_at`.

    Where the recipe does not augment, model 1 is not run: the junction has its values. With epochs=0 nothing
    is trained, but batch norm is re-estimated if the recipe says so. The same junction, layer, recipe, seed
    and number of threads give the same result on a CPU.
    """
    layer = copy.deepcopy(layer).to(junction.device)
    rest = Rest(layer, copy.deepcopy(junction.back), junction.shortcut).eval()
    values = run_part(junction.front, junction.images("train")[:1], junction.dtype)
    check_fit(rest, values, junction.widths, junction.dtype)
    network = Stitched(junction.front, rest)
    rows: list[dict[str, Any]] = [{"epoch": 0, "lr": 0.0, "loss": float("nan"), "accuracy": float("nan")}]
    # the start is judged as every epoch is: on validation data no training ends worse than it began
    rank = _judge(network, junction, recipe, measure, rows[0])
    best, chosen = copy.deepcopy(rest), 0
    if recipe.epochs:
        spared = layer.undecayed if isinstance(layer, Stitch) else ("bias",)
        optimizer = build_optimizer(recipe, layer.named_parameters(), decays=lambda name: name not in spared)
        batches = _Batches(junction, recipe, penalty is not None)
        objective = _Objective(rest, penalty)
        hooks: dict[str, Any] = {"added_loss": objective.added}
        if isinstance(layer, Stitch):
            hooks |= {"before_step": layer.advance, "after_step": layer.project}
        norms = tracked(rest.back) if recipe.batch_norm == "reestimated" else []
        for number in tqdm(range(recipe.epochs), unit="epoch", disable=not progress):
            # all else stays in evaluation mode, as it is judged: both networks without dropout
            for module in (layer, *norms):
                module.train()
            how = {"seed": seed, "dtype": junction.dtype, **hooks}
            row = epoch(objective.logits, batches, optimizer, recipe, number, **how)
            rows.append(row)
            rest.eval()
            if (now := _judge(network, junction, recipe, measure, row)) > rank:
                best, chosen, rank = copy.deepcopy(rest), number + 1, now
    history = pd.DataFrame(rows).drop(columns="images_per_s", errors="ignore")
    made = Stitched(copy.deepcopy(junction.front), best, history, chosen, recipe)
    return made.eval().to(memory_format=torch.contiguous_format)


class _Objective:
    """The logits of a batch, and what is added to their loss, which needs the stitched values behind them."""

    def __init__(self, rest: Rest, penalty: Penalty | None) -> None:
        self.rest, self.penalty = rest, penalty
        self.moved = torch.empty(0)  # of the batch that ran last

    def logits(self, values: Any) -> Tensor:
        behind = self.rest.moved(values)
        self.moved = as_tuple(behind)[0]
        return self.rest.back(behind)

    def added(self, values: Any, labels: Tensor, targets: Tensor, theirs: Tensor | None) -> Tensor | float:
        stitch = self.rest.stitch
        own = stitch.penalty() if isinstance(stitch, Stitch) else 0.0
        return own if self.penalty is None or theirs is None else own + self.penalty(self.moved, theirs)


class _Batches(Batches):
    """Batches of the front's values, labels, targets, and model 2's values if wanted."""

    def __init__(self, junction: Junction, recipe: StitchRecipe, both: bool) -> None:
        self.junction, self.soft, self.both = junction, recipe.targets == "soft", both
        self.augmented = bool(recipe.flip or recipe.shift)
        stored = None if self.augmented else junction.stored("train")
        self.gathered = stored is not None
        inputs, *self.others = as_tuple(junction.images("train") if stored is None else stored)
        fill = fill_of(junction.data("train"), recipe)
        super().__init__(inputs, junction.labels("train"), recipe, fill)

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
            values = as_values((inputs, *(x[rows] for x in self.others)))
            if not self.gathered:
                values = run_part(at.front, inputs, at.dtype)
            yield values, labels, targets, theirs


def _judge(
    network: Stitched,
    junction: Junction,
    recipe: StitchRecipe,
    measure: EpochMeasure | None,
    row: dict[str, Any],
) -> tuple[float, float]:
    """Add accuracies to a row; returns the criterion of the best epoch: without validation, the epoch."""
    if recipe.batch_norm == "reestimated":
        reestimate(network.rest, junction.values("train", exact=True))
    if recipe.epochs and "test" in junction.sets and junction.test_each_epoch:
        row["test_accuracy"], row["test_loss"], _ = junction.judge(network, "test")
    if measure:
        with torch.no_grad():
            row |= measure(network.stitch)
    if "validation" not in junction.sets:
        return float(row["epoch"]), 0.0
    judged = junction.judge(network, "validation")
    row["validation_accuracy"] = judged.accuracy
    return judged.accuracy, -judged.loss  # few images: the loss tells equal accuracies apart
