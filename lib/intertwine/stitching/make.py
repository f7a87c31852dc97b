"""Stitched networks by the name of a kind: one at once, or many at one junction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from intertwine.alignment import LinearMap
from intertwine.data import Dataset
from intertwine.stitching.junction import Junction
from intertwine.stitching.kinds import Kind, as_module, build, check_kind, described, join
from intertwine.stitching.stitch_recipes import STILL, STITCH_RECIPES, StitchRecipe
from intertwine.stitching.stitched import Layers, Stitched
from intertwine.stitching.task_loss import EpochMeasure, Penalty, Training, train_together


def stitch(
    model1: nn.Module,
    model2: nn.Module,
    *,
    at: Layers,
    kind: Kind = "least squares",
    train: Dataset | None = None,
    validation: Dataset | None = None,
    test: Dataset | None = None,
    shortcut: str = "refuse",
    device: str | torch.device = "auto",
    dtype: str = "auto",
    fit_images: int = 10_000,
    **options: Any,
) -> Stitched:
    """The network that runs model 1 up to a layer, then a map of channels, then model 2 behind its layer.

    Example:
        >>> from intertwine.alignment import LinearMap
        >>> from intertwine.data import Dataset
        >>> def network():
        ...     return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 10))
        >>> a, b = network(), network()
        >>> # a matrix, such as an element of a group
        >>> swapped = torch.eye(8)[[1, 0, 2, 3, 4, 5, 6, 7]]
        >>> stitch(a, b, at="1", kind=swapped)(torch.zeros(3, 5)).shape
        torch.Size([3, 10])
        >>> scaled = LinearMap(2 * swapped, bias=torch.ones(8))  # a map
        >>> mixed = nn.Sequential(nn.Linear(8, 8), nn.ReLU())  # a module
        >>> [
        ...     type(stitch(a, b, at="1", kind=each).stitch).__name__
        ...     for each in (scaled, mixed)
        ... ]
        ['Full', 'Sequential']
        >>> def means(statistics):  # a function of the `Statistics` of both layers
        ...     return LinearMap(torch.zeros(8, 8), statistics.mean[statistics.p :])
        >>> data = Dataset.of(torch.randn(50, 5), torch.arange(50) % 10)
        >>> known = {"at": "1", "train": data, "device": "cpu"}
        >>> # always the same answer, right in one of ten
        >>> stitch(a, b, kind=means, **known).evaluate(data)
        0.1
        >>> # a name
        >>> stitch(a, b, kind="low rank", rank=4, **known).stitch.weight.shape
        torch.Size([8, 8])

    The stitch is your own matrix, map, module or function, or a family of maps by its name. A class of your
    own is a family, too. With `train` a module is copied, and a recipe trains the copy; without, it is used
    as it is.

    Without a recipe the map is a closed form of the layers' activations on the training images; with one it
    is trained by the loss of the stitched network (csiszarik2021 §4.3, godfrey2022 §4). For many stitches at
    one place make a `Junction`, and give it to `stitch_at`: they share its values.

    The models are copied, in evaluation mode. Calls that depend on the mode, such as dropout called as a
    function, remain in evaluation mode, whatever mode the copies are put into later.

    Feature maps of another size are resampled to that of layer 2, before the map: bilinearly, which
    commutes with every map of channels (corners not aligned; where the size shrinks, over all pixels that a
    new one covers).

    Inside a residual block the shortcut, too, must get across. It is "stitched", by the same map, or "passed
    on" as it comes from model 1, as the authors of godfrey2022 did. Neither is right for all: a hidden layer
    in a block may be changed by an element of its group that the shortcut does not depend on.

    Args:
        model1, model2: of any widths; a chain, or what torch.fx can trace; with `train` any other, too, if
            nothing leads past the layer, as at the end of a transformer's block.
        at: the name of a layer in both models, or a pair of names; as `split` takes them. Of a layer that
            returns a tuple, as recurrent ones do, the first tensor is mapped, and no other may be used. Maps
            are not stitched to tokens: let model 1 have a module that turns them.
        kind: a matrix (q, p); a `LinearMap`; a module; a function of `Statistics`, such as those of
            `intertwine.alignment`; or a name out of `KINDS`, which `intertwine.stitching.maps` lists, or a
            class like those. A `Move` is no matrix: `WeightSpace.matrix` gives that of a layer.
        train: images that the map is fitted to or trained on. A map of your own does without; then nothing is
            resampled or checked.
        validation: images that the best epoch of a training is chosen by.
        test: images that the history of a training reports.
        shortcut: "refuse" to cut inside a block, "stitched", or "passed on".
        device: as `intertwine.devices.pick` takes it; that of the models where there is no `train`.
        dtype, fit_images: as in `Junction`.
        **options: of `stitch_at` (recipe, start, seed, batch_norm, …), and of the kind (rank, affine, …).

    Returns:
        The stitched network, a module that can also `evaluate` itself, with the `history` of a training.

    See Also:
        `stitch_at`, for many stitches at one place; `alignment.fit`, for the map alone.

    Raises:
        ValueError: an unknown layer, kind or option; layers or a map that do not fit.
    """
    check_kind(kind)
    if train is None:
        if isinstance(kind, Tensor):
            kind = LinearMap(kind)
        if options or not isinstance(kind, LinearMap | nn.Module):
            raise ValueError(
                f"Expected train=, the images that {described(kind)} is made from, was given none."
            )
        # a map of one's own needs no data, so that nothing can be resampled or checked
        return join(model1, model2, at, kind, shortcut=shortcut)
    sets = {"validation": validation, "test": test}
    chosen = {"shortcut": shortcut, "device": device, "dtype": dtype, "fit_images": fit_images}
    junction = Junction(model1, model2, at, train, **sets, **chosen)  # type: ignore[arg-type]
    return stitch_at(junction, kind, **options)


def stitch_at(
    junction: Junction,
    kind: Kind = "least squares",
    *,
    recipe: StitchRecipe | str | None = None,
    start: str | LinearMap | None = None,
    batch_norm: str | None = None,
    penalty: Penalty | None = None,
    measure: EpochMeasure | None = None,
    seed: int = 0,
    progress: bool = False,
    **options: Any,
) -> Stitched:
    """Make a stitch at a junction, which runs each front once for all of them.

    Example:
        >>> from intertwine.data import Dataset
        >>> def network():
        ...     return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 10))
        >>> a, b = network(), network()
        >>> data = Dataset.of(torch.randn(50, 5), torch.arange(50) % 10)
        >>> junction = Junction(a, b, "1", data, device="cpu")
        >>> [
        ...     stitch_at(junction, "low rank", rank=rank).stitch.weight.shape
        ...     for rank in (1, 2)
        ... ]
        [torch.Size([8, 8]), torch.Size([8, 8])]

    Args:
        junction: the place, with both models and their data.
        recipe: how it is trained: a `StitchRecipe`, or a name out of `STITCH_RECIPES`. Without it, it is not.
        start: where the training starts: "random", a name out of `KINDS` with a closed form, such as
            "least squares", or a map. By default the closed form of the kind, where there is one.
        batch_norm: "frozen" or "reestimated", instead of the recipe's; without a recipe it is frozen.
        penalty: a function of the stitched values of a batch and of model 2's values, added to the loss.
        measure: a function of the stitch, in evaluation mode: numbers for every row of the history.
        seed: of a random start, the order of the data, their augmentation, and dropout in the stitch.
        progress: whether a bar counts the epochs of a training.
        kind, options: as in `stitch`.

    Raises:
        FloatingPointError: the loss is no longer finite.
    """
    training = _training(
        junction,
        kind,
        recipe=recipe,
        start=start,
        batch_norm=batch_norm,
        penalty=penalty,
        measure=measure,
        seed=seed,
        **options,
    )
    return train_together([training], progress=progress)[0]


def stitch_all(
    junction: Junction, kinds: Mapping[str, Mapping[str, Any]], *, seed: int = 0, progress: bool = False
) -> dict[str, Stitched]:
    """Make several stitches at a junction, from the keywords of `stitch_at` for each name.

    Example:
        >>> from intertwine.data import Dataset
        >>> def network():
        ...     return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 10))
        >>> data = Dataset.of(torch.randn(100, 5), torch.arange(100) % 10)
        >>> junction = Junction(network(), network(), "1", data, device="cpu")
        >>> options = {"kind": "low rank", "recipe": "digits"}
        >>> kinds = {f"rank {r}": {"rank": r, **options} for r in (1, 2)}
        >>> list(stitch_all(junction, kinds))
        ['rank 1', 'rank 2']

    Each is the one that `stitch_at` makes alone. Those of one recipe and seed are trained on the same
    batches, so that an augmented image passes model 1 once an epoch for all of them, where the values of one
    epoch need at most 2 GiB.

    Args:
        junction, progress: as in `stitch_at`.
        kinds: the keywords of `stitch_at` for each name.
        seed: of those that have none of their own.

    Returns:
        The stitched networks by their names, in the same order.
    """
    # all are made first: a wrong option ends the call before any hour is spent
    made = {name: _training(junction, **{"seed": seed, **options}) for name, options in kinds.items()}
    # of one recipe and seed they meet the same batches, which pass model 1 once
    alike: dict[tuple[StitchRecipe, int], list[str]] = {}
    for name, training in made.items():
        alike.setdefault((training.recipe, training.seed), []).append(name)
    found: dict[str, Stitched] = {}
    for names in alike.values():
        found |= zip(names, train_together([made[name] for name in names], progress=progress), strict=True)
    return {name: found[name] for name in kinds}


def _training(
    junction: Junction,
    kind: Kind = "least squares",
    *,
    seed: int,
    recipe: StitchRecipe | str | None = None,
    batch_norm: str | None = None,
    penalty: Penalty | None = None,
    measure: EpochMeasure | None = None,
    **options: Any,  # of `build`
) -> Training:
    """What `stitch_at` trains; without a recipe, for no epoch."""
    if isinstance(recipe, str):
        if recipe not in STITCH_RECIPES:
            raise ValueError(
                f"Expected recipe to be one of {', '.join(STITCH_RECIPES)}, was given {recipe!r}."
            )
        recipe = STITCH_RECIPES[recipe]
    if recipe is not None and not isinstance(recipe, StitchRecipe):
        raise TypeError(
            f"Expected a StitchRecipe, was given a {type(recipe).__name__}: take one of STITCH_RECIPES, or "
            f"StitchRecipe(**vars(recipe))."
        )
    # a training of no epoch re-estimates batch norm and judges as every other one does
    how = recipe or STILL
    if batch_norm is not None:
        how = replace(how, batch_norm=batch_norm)
    # of the start alone: batches have streams of their own, the same for kinds with a draw and without
    generator = torch.Generator().manual_seed(seed)
    made = build(kind, junction, generator, trained=recipe is not None, **options)
    layer = as_module(made, torch.empty(0))  # trained in torch's default type
    return Training(junction, layer, how, seed=seed, penalty=penalty, measure=measure)
