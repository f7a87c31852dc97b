"""Many stitches at many layers of two chains, trained at once on the same batches.

Only stitches learn, so the gradient of the sum of their losses is, for each, that of its own. Model 1 runs
once for all, and what leaves a stitch joins what left others before, on its way through model 2: its layers
run once, too, on a larger batch. On a GPU this makes a paper's own number of epochs affordable.
"""

import copy
from collections.abc import Mapping
from functools import partial
from itertools import groupby, product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from intertwine import devices
from intertwine.chains import subchain
from intertwine.data import Dataset
from intertwine.stitching.batch_norm import (
    REESTIMATED,
    Apart,
    apart,
    averaging,
    frozen,
    in_training,
    narrowed,
    tracked,
)
from intertwine.stitching.maps import Full, Stitch
from intertwine.stitching.rungs import Rung, by_each, check_rungs, check_widths
from intertwine.training import Batches, build_optimizer
from intertwine.training.batches import check_last_batch, fill_of
from intertwine.training.evaluate import check_data, correct
from intertwine.training.together import Steps

BATCH = 500  # images at a time, where nothing is trained: for a GPU, unlike 200 in `junction`


class Ladder:
    """Two chains with stitches at several layers, which meet the same batches.

    Example:
        >>> from intertwine.data import Dataset
        >>> from intertwine.stitching import STITCH_RECIPES, Full, Ladder, climb
        >>> one, two = (nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 10)) for _ in "ab")
        >>> images = Dataset.of(torch.randn(200, 5), torch.arange(200) % 10)
        >>> recipe = STITCH_RECIPES["digits"]
        >>> rungs = {k: Rung(str(k), Full(torch.eye(8)), recipe) for k in (0, 1)}
        >>> ladder = Ladder(one, two, rungs, images, images, seed=0, device="cpu")
        >>> histories = climb([ladder])
        >>> len(histories[0]), [*histories[0][0][1]]
        (10, ['accuracy', 'loss', 'distance', 'loss_on_the_way'])
        >>> trained = ladder.rungs[0].stitch.weight
        >>> torch.equal(trained, torch.eye(8))
        False

    Where batch norm is frozen each stitch is the one that `stitch_at` trains alone, of its last epoch. Where
    a recipe re-estimates it, both networks are in training mode and are judged by running averages of
    batches, as in godfrey2022; behind a `Birkhoff` stitch, which is another map when it is judged, they are
    taken anew.

    Args:
        model1, model2: chains (`torch.nn.Sequential`) whose layers have the same names.
        rungs: by any name; their recipes may differ in lr, weight_decay and targets. A ladder trains copies,
            which are its `rungs`. `Full.start(Junction(model1, model2, layer, train), generator)` starts
            where `stitch_at` does.
        train, test: images that both networks expect.
        seed: of the order of the images and of their augmentation.
        device: as `intertwine.devices.pick` takes it.
        dtype: of training, as in `Recipe`.
        judged_in: the type of autocast in which a GPU judges stitches that are trained in bfloat16; all
            others are judged in float32.

    Raises:
        ValueError: networks, layers, stitches or recipes that do not fit on one ladder.
    """

    def __init__(
        self,
        model1: nn.Module,
        model2: nn.Module,
        rungs: Mapping[Any, Rung],
        train: Dataset,
        test: Dataset,
        *,
        seed: int,
        device: str | torch.device = "auto",
        dtype: str = "auto",
        judged_in: torch.dtype = torch.float32,
    ) -> None:
        self.networks = model1, model2
        places = check_rungs(model1, model2, rungs)
        for model, data in product((model1, model2), (train, test)):
            check_data(model, data.images, data.labels, least=2)
        check_widths(model1, model2, rungs, train.images[:1].clone())
        self.recipe = next(iter(rungs.values())).recipe  # all differ in lr, weight_decay and targets alone
        self.moving = self.recipe.batch_norm == "reestimated"
        for model in (model1, model2) if self.moving else ():
            one_image = partial(in_training, model, train.images[:1])
            check_last_batch(one_image, len(train.labels), self.recipe)
        self.device = devices.pick(device)
        self.dtype = devices.precision(model2, self.device, dtype)
        half = self.device.type == "cuda" and self.dtype != torch.float32
        self.judged_in = judged_in if half else torch.float32
        # in the order in which they join
        ordered = sorted(rungs.items(), key=lambda each: places.index(each[1].layer))
        # copies: one start may stand on several rungs, or ladders
        self.rungs = {k: r._replace(stitch=copy.deepcopy(r.stitch).to(self.device)) for k, r in ordered}
        # a fused batch norm has no statistics: where these move every layer is a cut, so that none is fused
        cuts = {each.layer for each in self.rungs.values()} if not self.moving else {*places}
        one, self.model2 = (frozen(copy.deepcopy(each).to(self.device), cuts) for each in (model1, model2))
        # by layer: model 1 up to it, its stitches, and model 2 up to the next one, as trained and as judged
        self.parts: list[tuple[nn.Module, list[Stitch], nn.Module, nn.Module]] = []
        start, self.stitches = 0, list[Stitch]()
        by_layer = groupby(self.rungs.values(), key=lambda each: each.layer)
        groups = [(layer, [*group]) for layer, group in by_layer]
        for (layer, group), (following, _) in zip(groups, [*groups[1:], (None, None)], strict=True):
            end = places.index(layer) + 1
            stitches = [each.stitch for each in group]
            self.stitches += stitches
            rest = subchain(self.model2, end, places.index(following) + 1 if following else None)
            judged = apart(rest, self.stitches) if self.moving else rest
            self.parts.append((subchain(one, start, end), stitches, narrowed(judged, self.dtype), judged))
            start = end
        images, labels = train.images.to(self.device), train.labels.to(self.device)
        # none where nothing is re-estimated; else a copy, as a slice would keep all images in memory
        self.first_images, self.labels = images[: REESTIMATED * self.moving].clone(), labels
        self.test = test.images.to(self.device), test.labels.to(self.device)
        soft = torch.tensor([each.recipe.targets == "soft" for each in self.rungs.values()])
        self.soft, self.any_soft = soft.to(self.device)[:, None, None], bool(soft.any())
        own = devices.input_dtype(self.model2, self.dtype)
        batches = Batches(images.to(own), labels, self.recipe, fill_of(train, self.recipe))
        self.steps = Steps(
            self._losses,
            self._optimizer(),
            batches,
            self.recipe,
            seed=seed,
            before_epoch=self._advance,
            after_step=self._project,
        )

    def _optimizer(self) -> torch.optim.Optimizer:
        """One optimiser of all stitches, each by the rates of its own recipe."""
        recipes = dict.fromkeys(each.recipe for each in self.rungs.values())
        made = []
        for recipe in recipes:
            own = [each.stitch for each in self.rungs.values() if each.recipe == recipe]
            # what decays is asked by name, and two stitches may spare different names: the name says it
            named = [
                (f"{'spared' if name.rpartition('.')[2] in s.undecayed else 'decays'} {name}", p)
                for s in own
                for name, p in s.named_parameters()
            ]
            made.append(build_optimizer(recipe, named, decays=lambda name: name.startswith("decays")))
        # each group keeps the rates that it was made with
        first, *others = made
        for group in [group for each in others for group in each.param_groups]:
            first.add_param_group(group)
        return first

    def _logits(self, images: Tensor, fixed: Mapping[Stitch, Stitch] | None = None) -> Tensor:
        """The logits behind every stitch, (stitches, images, classes); of `fixed` maps as they are judged."""
        x, joined = images, None
        for front, stitches, trained, judged in self.parts:
            with torch.no_grad():
                x = front(x.clone())  # which may begin with a step in place, and x is used elsewhere, too
            new = by_each([fixed[each] for each in stitches] if fixed else stitches, x)
            joined = new if joined is None else torch.cat([joined, new])
            joined = (judged if fixed else trained)(joined)
        assert joined is not None
        return joined.float().unflatten(0, (len(self.stitches), len(images)))

    def _losses(self, images: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        labels = self.labels[numbers]
        with devices.autocast(self.device, self.dtype):
            logits = self._logits(images)
        # without F.one_hot, which looks at the labels and so cannot be recorded
        targets = (labels[:, None] == torch.arange(logits.shape[-1], device=self.device)).float()
        if self.any_soft:
            with torch.no_grad(), devices.autocast(self.device, self.dtype):
                theirs = self.model2(images).float().softmax(1)
            targets = torch.where(self.soft, theirs, targets)
        flat, wanted = (x.flatten(0, 1) for x in (logits, targets.expand_as(logits)))
        smooth = self.recipe.label_smoothing
        each_loss = F.cross_entropy(flat, wanted, label_smoothing=smooth, reduction="none")
        losses = each_loss.unflatten(0, logits.shape[:2]).mean(1)
        # most penalties are the number 0.0, which `stack` would refuse
        penalties = torch.stack([losses.new_zeros(()) + each.penalty() for each in self.stitches])
        return losses + penalties, _hits(logits, labels)

    def _advance(self, done: float) -> tuple[bool, ...]:
        """All in the mode of training; whether the scales of each `Birkhoff` stitch learn."""
        self._mode(training=True)
        for each in self.stitches:
            each.advance(done)
        return tuple(getattr(each, "scaled", False) for each in self.stitches)

    def _mode(self, *, training: bool) -> None:
        for each in self.stitches:
            each.train(training)
        # both networks, as in godfrey2022; the narrowed parts share their norms with those that are judged
        for front, _, _, judged in self.parts if self.moving else ():
            for norm in (*tracked(front), *tracked(judged)):
                norm.train(training)

    def _project(self) -> None:
        for each in self.stitches:
            each.project()

    @torch.no_grad()
    def judge(self) -> dict[Any, dict[str, float]]:
        """For each stitch its accuracy on the test images, and cross-entropies to labels and to model 2."""
        with self.steps.on_stream(), devices.autocast(self.device, self.judged_in):
            self._mode(training=False)
            # each matrix is made once: that of a permutation is an assignment, on the CPU
            fixed: dict[Stitch, Stitch] = {s: Full(s.weight, s.bias).to(self.device) for s in self.stitches}
            if self.moving:
                self._reestimate(fixed)
            sums = torch.zeros(3, len(self.stitches), dtype=torch.float64, device=self.device)
            for x, y in zip(*(each.split(BATCH) for each in self.test), strict=True):
                x = _channels_last(x)
                logits = self._logits(x, fixed)
                said, theirs = logits.log_softmax(2), self.model2(x.clone()).float().softmax(1)
                nearest = -(theirs * said).sum((1, 2))
                loss = -said.gather(2, y.expand(len(said), -1)[..., None]).sum((1, 2))
                sums += torch.stack([_hits(logits, y).double(), loss.double(), nearest.double()])
            found = (sums / len(self.test[1])).T.tolist()
        names = ("accuracy", "loss", "distance")
        return {key: dict(zip(names, row, strict=True)) for key, row in zip(self.rungs, found, strict=True)}

    def _reestimate(self, fixed: Mapping[Stitch, Stitch]) -> None:
        """Take statistics behind `Birkhoff` stitches anew, which are rounded to permutations now."""
        layers = [m for *_, judged in self.parts for m in judged.modules() if isinstance(m, Apart)]
        if norms := [norm for layer in layers for norm in layer.of_birkhoff]:
            with averaging(norms):
                for x in self.first_images.split(BATCH):
                    self._logits(_channels_last(x), fixed)


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def _hits(logits: Tensor, labels: Tensor) -> Tensor:
    """How many answers of each stitch are right."""
    return correct(logits.flatten(0, 1), labels.repeat(len(logits))).unflatten(0, logits.shape[:2]).sum(1)
