"""Tables of chapter 3b for claims and recorded figures: experiments 2 and 5 to 7, directions, recipes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, cast

import pandas as pd
import torch
from torch import nn

from intertwine import data
from intertwine.data import Dataset
from intertwine.models import Network
from intertwine.stitching import Junction, StitchRecipe, barriers, stitch_at
from intertwine.training import MultiStep, Spec, evaluate, zoo
from intertwine_book.experiments.matching import tables
from intertwine_book.experiments.matching.directions import error_by_direction, variance_restored
from intertwine_book.experiments.matching.networks import Pairs, cuts, published_pairs
from intertwine_book.experiments.matching.stitches import low_rank_kinds, path_rows, recipe_for, sparse_rows
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitching import stitch_many, stitch_rows
from intertwine_book.results import Run

SHARED = (
    *("networks", "dataset", "width", "epochs"),
    *("train_images", "fit_images", "test_images", "stitch_epochs"),
)
"""The parameters that every stitch uses."""
OWN = (*SHARED, "few", "widths", "wide")
"""Those of stitches between networks that are trained here."""
STARTS = ("random", "least squares")
Kinds = Mapping[str, Mapping[str, Any]]
Joint = Callable[[tuple[nn.Module, nn.Module], str], tuple[Junction, tuple[float, float]]]


def write(
    run: Run,
    pairs: Pairs,
    kinds: Kinds,
    matching: pd.DataFrame,
    *,
    spec: Spec,
    spec_test: Dataset,
    train: Dataset,
    test: Dataset,
    **options: Any,
) -> None:
    """Compute and write all tables of the chapter but those of its live figure, of which one is `matching`.

    Args:
        pairs, kinds, train, test: what the page stitches, and how.
        spec, spec_test: of the networks that are trained here.
        **options: of `Junction`.
    """
    asked, two = run.parameters, {way: kinds[way] for way in ("least squares", "task loss")}
    # all kinds at a place share the values of its layers
    joint = lru_cache(maxsize=1)(partial(_joined, cache(_accuracy), train, test, options))
    made = partial(_stitched, run, options)
    doubles, on = _residual_pair(run, spec, train, test)
    places = cuts(doubles[0][1])
    residual = made("residual", doubles, places, two, *on)
    unstitched = made("unstitched", doubles, places, {"no stitch": kinds["no stitch"]}, *on)
    restricted = _restricted(run, joint, pairs, two)
    paths = _paths(run, joint, pairs[0], kinds["task loss"]["recipe"])
    small = spec.data[: asked["train_images"]], spec_test[: asked["test_images"]]
    brief = recipe_for(spec.data, asked["stitch_epochs"])
    own = {**two, "task loss": {**two["task loss"], "recipe": brief}}
    grown = {(width, k): pair for width in asked["widths"] for k, pair in enumerate(_wide(run, spec, width))}
    robust = {(kind, k): pair for kind, some in _others(run, spec).items() for k, pair in enumerate(some)}
    behind = [layer.name for layer in cast(Network, robust["no batch norm", 0][0]).hidden_layers()]
    by_width = made("widths", [*grown.values()], cuts([*grown.values()][-1][0]), own, *small, uses=OWN)
    by_width["width"] = by_width["pair"].map(dict(enumerate(width for width, _ in grown)))
    by_kind = made("robust", [*robust.values()], behind, own, *small, uses=OWN)
    by_kind["networks"] = by_kind["pair"].map(dict(enumerate(kind for kind, _ in robust)))
    of, networks = {name: asked[name] for name in ("dataset", "wide")}, {"networks": asked["networks"]}
    ways, walls = tables.ways(matching), barriers(paths, ["layer1", "start", "path"], "relative_accuracy")
    walls["kept"], walls["tolerated"] = walls["worse"] >= 0.8, 0.05
    walls["points"] = 100 * walls["barrier"].where(walls["kept"])
    starts = tables.starts(paths)
    spread = starts.groupby("layer1", sort=False)[["random", "least_squares"]].std()
    run.write(
        experiment_1=ways.assign(orthogonal_deficit=ways["least_squares"] - ways["orthogonal"]),
        experiment_1_by_pair=tables.by_pair(matching),
        experiment_1_residual=tables.ways(residual).assign(**networks),
        resnet20_by_pair=tables.unstitched(unstitched).assign(**networks),
        experiment_2=tables.ways(by_width).merge(_of_pairs(by_width, "width")).assign(**of),
        experiment_2_ends=tables.widths(by_width, asked["few"]).assign(**of),
        experiment_5=starts,
        experiment_5_spread=spread.reset_index(),
        experiment_6=walls,
        experiment_7=tables.sparse(restricted).assign(tolerated=0.2),
        low_rank=tables.low_rank(restricted),
        further=tables.ways(by_kind).merge(_of_pairs(by_kind, "networks")).assign(**of),
        equation_3=tables.equation_3(),
    )


def _stitched(
    run: Run,
    options: Mapping[str, Any],
    name: str,
    pairs: Pairs,
    places: Sequence[str],
    kinds: Kinds,
    train: Dataset,
    test: Dataset,
    uses: Sequence[str] = SHARED,
) -> pd.DataFrame:
    steps = partial(run.steps, name, uses=uses, data=train)
    return stitch_many(pairs, places, kinds, train, test=test, seed=run.seed, steps=steps, **options)


def _joined(
    alone: Callable[[nn.Module, Dataset], float],
    train: Dataset,
    test: Dataset,
    options: Mapping[str, Any],
    couple: tuple[nn.Module, nn.Module],
    layer1: str,
) -> tuple[Junction, tuple[float, float]]:
    """Where a pair is joined, and the accuracies of both."""
    place = Junction(*couple, layer1, train, test=test, **options)
    one, two = (alone(each, place.data("test")) for each in couple)
    return place, (one, two)


def _accuracy(model: nn.Module, test: Dataset) -> float:
    return 100 * evaluate(model.to(test.images.device), test.images, test.labels)


def _residual_pair(
    run: Run, spec: Spec, train: Dataset, test: Dataset
) -> tuple[Pairs, tuple[Dataset, Dataset]]:
    if run.parameters["networks"] != "published":
        narrow = replace(spec, architecture="resnet20", arguments={**spec.arguments, "width": 4})
        return zoo.pairs(narrow, 1, seed=run.seed, device=run.device), (train, test)
    cifar10 = (data.load("cifar10", split, device=run.device) for split in ("train", "test"))
    pairs, on = published_pairs("resnet20w1", 1, *cifar10)
    return pairs, (on[0][: run.parameters["train_images"]], on[1][: run.parameters["test_images"]])


def _restricted(run: Run, joint: Joint, pairs: Pairs, two: Kinds) -> pd.DataFrame:
    """Stitches of low rank and sparse ones; and, written only, the error of stitches by directions."""
    asked, recipe = run.parameters, two["task loss"]["recipe"]
    at = cuts(pairs[0][1], asked["chosen"])
    cases: list[Row] = [
        {"pair": k, "couple": couple, "layer1": layer} for k, couple in enumerate(pairs) for layer in at
    ]
    # a schedule that lets entries come to rest
    schedule = MultiStep(at=(0.4, 0.6, 0.8), factor=0.1)
    patient = replace(recipe, epochs=3 * asked["stitch_epochs"], batch_size=64, schedule=schedule)
    limited = low_rank_kinds(asked["ranks"], recipe).items()
    kinds: list[Row] = [{"stitch": name, "kind": kind} for name, kind in limited]
    kinds += [{"alpha": alpha, "kind": patient} for alpha in asked["alphas"]]
    ways = {**two, "variance restored": {"kind": variance_restored}}
    some = cases if asked["networks"] == "published" else cases[:1]
    run.steps("directions", some, partial(_errors, joint, ways, run.seed), uses=SHARED)
    each_kind = [case | kind for case in cases for kind in kinds]
    uses = [*SHARED, "ranks", "alphas"]
    return run.steps("restricted", each_kind, partial(_limited, joint, run.seed), uses=uses)


def _limited(
    joint: Joint,
    seed: int,
    *,
    pair: int,
    layer1: str,
    couple: tuple[nn.Module, nn.Module],
    kind: Any,
    stitch: str | None = None,
    alpha: float | None = None,
) -> list[Row]:
    """A stitch of low rank, or two sparse ones by a recipe, at one junction."""
    place, accuracies = joint(couple, layer1)
    known: Row = {"accuracies": accuracies, "seed": seed + pair}
    if alpha is not None:
        return sparse_rows(place, [alpha], kind, **known)
    return stitch_rows(place, {str(stitch): kind}, **known)


def _errors(
    joint: Joint, ways: Kinds, seed: int, *, pair: int, layer1: str, couple: tuple[nn.Module, nn.Module]
) -> list[Row]:
    """The error of three stitches, direction by direction."""
    place, _ = joint(couple, layer1)
    made = {way: stitch_at(place, **kind, seed=seed + pair).stitch for way, kind in ways.items()}
    return error_by_direction(place, made)


def _paths(run: Run, joint: Joint, couple: tuple[nn.Module, nn.Module], recipe: StitchRecipe) -> pd.DataFrame:
    """Lines between stitches of the first pair; and, written only, how single ones are trained."""
    places = cuts(couple[1], run.parameters["layers"])
    cases: list[Row] = [
        {"layer1": layer, "start": start, "couple": couple} for layer in places for start in STARTS
    ]
    full: Row = {"kind": "full", "recipe": recipe}
    run.steps("training", cases, partial(_trained, joint, full, run.seed), uses=SHARED)
    seeds = range(run.seed, run.seed + run.parameters["starts"])
    return run.steps("paths", cases, partial(_path, joint, full, seeds), uses=[*SHARED, "starts"])


def _path(
    joint: Joint,
    full: Row,
    seeds: Sequence[int],
    *,
    layer1: str,
    start: str,
    couple: tuple[nn.Module, nn.Module],
) -> list[Row]:
    """Stitches from one kind of start, and all that lie between them, two by two."""
    place, accuracies = joint(couple, layer1)
    known: Row = {"seeds": seeds, "fractions": [k / 10 for k in range(11)], "accuracies": accuracies}
    return path_rows(place, full | {"start": start}, **known)


def _trained(
    joint: Joint, full: Row, seed: int, *, layer1: str, start: str, couple: tuple[nn.Module, nn.Module]
) -> list[Row]:
    """One stitch on its way: accuracy, epoch by epoch."""
    history = stitch_at(joint(couple, layer1)[0], **full, start=start, seed=seed).history
    return history.assign(accuracy=100 * history["test_accuracy"])[["epoch", "accuracy"]].to_dict("records")


def _wide(run: Run, spec: Spec, width: int) -> Pairs:
    """Pairs of networks of this width."""
    own = replace(spec, architecture=run.parameters["wide"], arguments={**spec.arguments, "width": width})
    return zoo.pairs(own, run.parameters["few"], seed=run.seed, device=run.device)


def _others(run: Run, spec: Spec) -> dict[str, Pairs]:
    """Pairs of networks by how they are trained (csiszarik2021 §5.1, further results)."""
    few = run.parameters["few"]
    order = torch.randperm(len(spec.data), generator=run.generator())

    def trained(images: Dataset, first: int) -> list[nn.Module]:
        seeds = range(run.seed + first, run.seed + first + few)
        own = replace(spec, data=images)
        return [each.network for each in zoo.get(own, seeds, device=run.device)]

    changes: dict[str, Row] = {"Adam": {}, "SGD": {"recipe": replace(spec.recipe, optimizer="sgd", lr=0.1)}}
    changes["no batch norm"] = {"arguments": {**spec.arguments, "norm": False}}
    found = {
        kind: zoo.pairs(replace(spec, **change), few, seed=run.seed, device=run.device)
        for kind, change in changes.items()
    }
    halves = [trained(spec.data[order[k::2]], k * few) for k in (0, 1)]
    found["other images"] = list(zip(*halves, strict=True))
    fronts = trained(spec.data[spec.data.labels < 5], 2 * few)
    backs = [back for _, back in found["Adam"]]
    return found | {"front of five classes": list(zip(fronts, backs, strict=True))}


def _of_pairs(stitches: pd.DataFrame, name: str) -> pd.DataFrame:
    return stitches[["pair", name]].drop_duplicates()
