"""Tables of chapter 3b for claims and recorded figures: experiments 2, 5 and 6, directions, recipes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, cast

import pandas as pd
import torch

from intertwine.data import Dataset
from intertwine.stitching import Junction, StitchRecipe, stitch_at
from intertwine.training import evaluate
from intertwine_book import zoo
from intertwine_book.experiments.matching import own_setting, tables
from intertwine_book.experiments.matching.directions import error_by_direction, variance_restored
from intertwine_book.experiments.matching.networks import cuts, residual_networks
from intertwine_book.experiments.matching.resized import SHARED, resized
from intertwine_book.experiments.matching.stitches import low_rank_kinds, path_rows, recipe_for
from intertwine_book.experiments.stitches import Kinds, Pairs, stitch_many, stitch_rows
from intertwine_book.models import Network
from intertwine_book.results import Run
from intertwine_book.zoo import Spec

POWERS = [k / 8 for k in range(13)]  # of the stretch that restores the variance


def write(
    run: Run,
    pairs: Pairs,
    matching: pd.DataFrame,
    recipe: StitchRecipe,
    own: Spec,
    own_test: Dataset,
    sets: Mapping[str, Any],
    **options: Any,
) -> None:
    """Compute and write all tables of the chapter but those of its live figure.

    Args:
        pairs, recipe, sets (train and test), options: what is stitched, and how, in the table `matching`.
        own, own_test: of the networks that are trained here.
    """
    restricted, paths, longer = _of_pairs(run, pairs, recipe, sets, options)
    _closed_forms(run, pairs, sets, options)
    _of_residual_networks(run, recipe, own, sets, options)
    grown, robust = _of_own_networks(run, own, own_test, options)
    own_setting.write(run, pairs, own, own_test, SHARED, **options)
    of = {name: run.parameters[name] for name in ("dataset", "wide")}
    starts, longest = tables.starts(paths), tables.longest(paths, longer)
    spread = starts.groupby(["pair", "layer1"], sort=False)[["random", "least_squares"]].std()
    run.write(
        experiment_1=tables.ways(matching),
        experiment_1_by_pair=tables.by_pair(matching).merge(tables.targets(matching)),
        experiment_2=tables.ways(grown).merge(grown[["pair", "width"]].drop_duplicates()).assign(**of),
        experiment_2_ends=tables.widths(grown, run.parameters["few"]).assign(**of),
        experiment_5=starts,
        experiment_5_spread=spread.reset_index(),
        experiment_5_longer=tables.starts(longest),
        experiment_6=tables.walls(paths),
        experiment_6_longer=tables.walls(longest),
        low_rank=tables.low_rank(restricted),
        further=tables.ways(robust).merge(robust[["pair", "networks"]].drop_duplicates()).assign(**of),
        equation_3=tables.equation_3(),
    )


def _of_pairs(
    run: Run, pairs: Pairs, recipe: StitchRecipe, sets: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Stitches of low rank, and lines between stitches, of short and of longer training."""
    asked, seed, alone = run.parameters, run.seed, cache(_accuracy)

    @lru_cache(maxsize=1)  # all kinds at a place share the values of its layers
    def joint(couple, layer1):
        accuracies = tuple(alone(each, sets["test"]) for each in couple)
        return Junction(*couple, layer1, **sets, **options), {"accuracies": accuracies}

    chosen = cuts(pairs[0][1], asked["chosen"])
    cases = [{"pair": k, "couple": two, "layer1": at} for k, two in enumerate(pairs) for at in chosen]
    kinds = low_rank_kinds(asked["ranks"], recipe)

    @run.table(cases=cases, uses=[*SHARED, "ranks"])
    def restricted(pair, layer1, couple):
        place, known = joint(couple, layer1)
        return stitch_rows(place, kinds, **known, seed=seed + pair)

    @run.table(cases=cases if asked["networks"] == "published" else cases[:1], uses=SHARED, name="directions")
    def errors(pair, layer1, couple):
        place, _ = joint(couple, layer1)
        ways = {**both_ways(recipe), "variance restored": {"kind": variance_restored}}
        made = {way: stitch_at(place, **kind, seed=seed + pair).stitch for way, kind in ways.items()}
        return error_by_direction(place, made)

    full, seeds = {"kind": "full", "recipe": recipe}, range(seed, seed + asked["starts"])
    places, starts = cuts(pairs[0][1], asked["layers"]), ("random", "least squares")
    cases = [
        {"pair": k, "layer1": at, "start": start, "couple": two}
        for k, two in enumerate(pairs)
        for at in places
        for start in starts
    ]

    @run.table(cases=cases, uses=[*SHARED, "starts"])
    def paths(pair, layer1, start, couple):
        place, known = joint(couple, layer1)
        fractions = [k / 10 for k in range(11)]
        return path_rows(place, full | {"start": start}, seeds=seeds, fractions=fractions, **known)

    longer = full | {"start": "random", "recipe": replace(recipe, epochs=asked["longer_epochs"])}
    early = places[:5]  # where some starts stay low
    cases = [{"pair": k, "layer1": at, "couple": two} for k, two in enumerate(pairs) for at in early]

    @run.table(cases=cases, uses=[*SHARED, "starts", "longer_epochs"])
    def longer_paths(pair, layer1, couple):
        place, known = joint(couple, layer1)
        return path_rows(place, longer, seeds=seeds, fractions=[k / 10 for k in range(11)], **known)

    return restricted, paths, longer_paths


def _closed_forms(run: Run, pairs: Pairs, sets: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Least squares and the stretched fit after the ReLU; before it, re-estimated, and to several powers."""
    network, asked = pairs[0][0], run.parameters
    forms: Kinds = {
        "least squares": {"kind": "least squares"},
        "variance restored": {"kind": variance_restored},
    }
    known = kept(run, "after_relu", sets["train"], SHARED)
    stitch_many(pairs, cuts(network, asked["layers"], after=True), forms, **sets, **known, **options)
    again: Kinds = {name: {**form, "batch_norm": "reestimated"} for name, form in forms.items()}
    known = kept(run, "reestimated", sets["train"], SHARED)
    stitch_many(pairs, cuts(network, asked["layers"]), again, **sets, **known, **options)
    places = cuts(network, asked["chosen"])
    cases = [{"pair": k, "couple": two, "layer1": at} for k, two in enumerate(pairs) for at in places]

    @run.table(cases=cases, uses=SHARED)
    def stretched(pair, layer1, couple):
        place, alone = Junction(*couple, layer1, **sets, **options), _accuracy(couple[1], sets["test"])
        rows = []
        for t in POWERS:
            form = variance_restored(place.statistics, t)
            share = 100 * place.judge(stitch_at(place, form)).accuracy / alone  # alone is in percent
            rows.append({"t": t, "relative_accuracy": share, "unexplained": 1 - form.r2})
        return rows


def _of_residual_networks(
    run: Run, recipe: StitchRecipe, own: Spec, sets: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Write both ways of matching between ResNet-20, closed forms of several sizes, and no stitch."""
    kinds = {"residual": both_ways(recipe), "unstitched": {"no stitch": {"kind": "identity"}}}
    of = {"networks": run.parameters["networks"]}
    for end, (pairs, on) in residual_networks(run, own, sets).items():
        matched, unstitched = (
            stitch_many(pairs, cuts(pairs[0][1]), ways, **on, **known, **options)
            for name, ways in kinds.items()
            for known in [kept(run, f"{name}{end}", on["train"], SHARED)]
        )
        found = {"experiment_1_residual": tables.ways(matched)}
        found |= {"resnet20_by_pair": tables.unstitched(unstitched)}
        run.write(**{f"{name}{end}": table.assign(**of) for name, table in found.items()})
        resized(run, f"_residual{end}", pairs, {**on}, {**options})


def _of_own_networks(
    run: Run, own: Spec, own_test: Dataset, options: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both ways of matching between networks of several widths, and between those of several recipes."""
    parameters, few = run.parameters, run.parameters["few"]
    sets: dict[str, Any] = {
        "train": own.data[: parameters["train_images"]],
        "test": own_test[: parameters["test_images"]],
    }
    ways = both_ways(recipe_for(own.data, parameters["stitch_epochs"]))

    def trained(**change: Any) -> Pairs:
        return zoo.pairs(replace(own, **change), few, seed=run.seed, device=run.device)

    def one_each(images: Dataset, first: int) -> list[Any]:
        seeds = range(run.seed + first, run.seed + first + few)
        return [each.network for each in zoo.get(replace(own, data=images), seeds, device=run.device)]

    def stitched(name: str, kinds: Mapping[Any, Pairs], places: list[str], column: str) -> pd.DataFrame:
        pairs = [pair for some in kinds.values() for pair in some]
        known = kept(run, name, sets["train"], (*SHARED, "few", "widths", "wide"))
        table = stitch_many(pairs, places, ways, **sets, **known, **options)
        return table.assign(**{column: table["pair"].map(lambda pair: [*kinds][pair // few])})

    wide: dict[Any, Pairs] = {
        width: trained(architecture=parameters["wide"], arguments={**own.arguments, "width": width})
        for width in parameters["widths"]
    }
    kinds = {"Adam": trained(), "SGD": trained(recipe=replace(own.recipe, optimizer="sgd", lr=0.1))}
    kinds["no batch norm"] = trained(arguments={**own.arguments, "norm": False})
    order = torch.randperm(len(own.data), generator=run.generator())
    halves = (one_each(own.data[order[k::2]], k * few) for k in (0, 1))
    kinds["other images"] = list(zip(*halves, strict=True))
    fronts = one_each(own.data[own.data.labels < 5], 2 * few)
    backs = [two for _, two in kinds["Adam"]]
    kinds["front of five classes"] = list(zip(fronts, backs, strict=True))
    behind = [layer.name for layer in cast(Network, kinds["no batch norm"][0][0]).hidden_layers()]
    at = cuts(next(iter(wide.values()))[0][0])
    return stitched("widths", wide, at, "width"), stitched("robust", kinds, behind, "networks")


def both_ways(recipe: StitchRecipe) -> dict[str, dict[str, Any]]:
    """Direct and task-loss matching, in the words of `stitch_at`."""
    direct = {"kind": "least squares"}
    return {"least squares": direct, "task loss": direct | {"recipe": recipe}}


def kept(run: Run, name: str, train: Dataset, uses: tuple[str, ...]) -> dict[str, Any]:
    """Keywords of `stitch_many`: a seed, and steps that are kept."""
    return {"seed": run.seed, "steps": partial(run.steps, name, uses=uses, data=train)}


def _accuracy(model: torch.nn.Module, test: Dataset) -> float:
    return 100 * evaluate(model.to(test.images.device), test.images, test.labels)
