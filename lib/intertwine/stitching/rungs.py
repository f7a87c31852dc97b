"""The stitches of a ladder: which may stand on one, and what all of them make of one batch."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from intertwine.chains import is_chain, layers_of
from intertwine.channels import turned
from intertwine.checks import kind
from intertwine.features import activations, channel_axis
from intertwine.stitching.maps import Birkhoff, Stitch
from intertwine.stitching.stitch_recipes import StitchRecipe


class Rung(NamedTuple):
    """A stitch, the layer that it follows in both chains, and how it is trained.

    Example:
        >>> from intertwine.stitching import STITCH_RECIPES, Full
        >>> Rung("relu2", Full(torch.eye(8)), STITCH_RECIPES["csiszarik2021"]).layer
        'relu2'
    """

    layer: str
    stitch: Stitch
    """Where it starts; a ladder trains a copy."""
    recipe: StitchRecipe


def check_rungs(model1: nn.Module, model2: nn.Module, rungs: Mapping[Any, Rung]) -> list[str]:
    """The names of the layers; ValueError, before any work, for what cannot stand on one ladder."""
    if not isinstance(rungs, Mapping):
        raise ValueError(
            f"Expected rungs by name, was given {kind(rungs)}: write {{1: Rung(…), 2: Rung(…)}}."
        )
    for name, each in rungs.items():
        if not isinstance(each, Rung) or not isinstance(each.stitch, Stitch):
            given = kind(each.stitch if isinstance(each, Rung) else each)
            raise ValueError(
                f"Expected for {name!r} a Rung with a Stitch, was given {given}: make one, as "
                f"Full(torch.eye(8)), or Full.start(junction, generator)."
            )
        if not isinstance(each.recipe, StitchRecipe):
            raise ValueError(
                f"Expected for {name!r} a StitchRecipe, was given {kind(each.recipe)}: choose one, as "
                f"STITCH_RECIPES['digits']."
            )
    names = [[*layers_of(model)] for model in (model1, model2)]
    if not (is_chain(model1) and is_chain(model2) and names[0] == names[1]):
        raise ValueError(
            "Expected two chains (torch.nn.Sequential without hooks) whose layers have the same names: "
            "stitch others by `stitch_at`, one place after another."
        )
    layers = [layer for model in (model1, model2) for layer in model.modules()]
    if any(isinstance(each, _BatchNorm) and not each.track_running_stats for each in layers):
        raise ValueError("Expected batch norms with running statistics, one has none: use `stitch_at`.")
    if any(p.is_floating_point() and p.dtype != torch.float32 for each in layers for p in each.parameters()):
        raise ValueError("Expected networks in float32, one is not: use .float().")
    if not rungs or (strange := [r.layer for r in rungs.values() if r.layer not in names[0]]):
        given = f"'{strange[0]}'" if rungs else "no stitch"
        raise ValueError(f"Expected stitches after layers of {', '.join(names[0])}, was given {given}.")
    # made equal in what a stitch may have of its own: all else decides on the batches or on every step
    recipes = {replace(r.recipe, lr=1.0, weight_decay=0.0, targets="hard") for r in rungs.values()}
    if len(recipes) > 1:
        raise ValueError(
            "Expected recipes that differ in lr, weight_decay or targets alone, since stitches meet the same "
            "batches: put the others on a ladder of their own."
        )
    for each in rungs.values():
        # a ladder calls `advance` once an epoch: half of the training has to be the end of one
        changes = type(each.stitch).advance is not Stitch.advance
        if changes and not (isinstance(each.stitch, Birkhoff) and each.recipe.epochs % 2 == 0):
            raise ValueError(
                f"Expected stitches that do not change along a training, or Birkhoff ones for an even number "
                f"of epochs, was given {type(each.stitch).__name__} for {each.recipe.epochs}: use stitch_at."
            )
    return names[0]


def check_widths(
    model1: nn.Module, model2: nn.Module, rungs: Mapping[Any, Rung], image: Float[Tensor, "1 ..."]
) -> None:
    """Raise ValueError unless each stitch takes the channels of its layer in model 1 to those in model 2."""
    layers = [*{each.layer for each in rungs.values()}]
    found = [activations(model, layers, image) for model in (model1, model2)]
    others = turned(model1, layers, image) | turned(model2, layers, image)
    for name, each in rungs.items():
        if each.layer in others:  # a stitch would map its positions
            raise ValueError(
                f"Expected features, tokens (n, t, c) or maps (n, c, h, w) for {name!r}, was given signals "
                f"(n, c, t) or maps (n, h, w, c), as {each.layer} returns them: use stitch_at, which turns "
                f"them."
            )
        p, q = (values[each.layer].shape[channel_axis(values[each.layer])] for values in found)
        # of a copy: a stitch in training may count how often it is asked
        given = copy.deepcopy(each.stitch).eval().weight.shape
        if given != (q, p):
            raise ValueError(
                f"Expected for {name!r} a stitch of {p} channels to {q}, as {each.layer} has, was given one "
                f"of {given[1]} to {given[0]}."
            )


def by_each(stitches: list[Stitch], x: Tensor) -> Tensor:
    """What each stitch makes of x, one after another along the first axis, by one product of matrices."""
    with torch.autocast(x.device.type, enabled=False):
        weights = [each.weight for each in stitches]  # once: some compute theirs whenever they are asked
        biases = [
            w.new_zeros(len(w)) if each.bias is None else each.bias
            for w, each in zip(weights, stitches, strict=True)
        ]
        weight = torch.cat(weights)
    bias = None if all(each.bias is None for each in stitches) else torch.cat(biases)
    axis = channel_axis(x)
    y = F.linear(x.movedim(axis, -1), weight.to(x.dtype), bias if bias is None else bias.to(x.dtype))
    # from channels of all stitches side by side to their batches one after another
    y = y.unflatten(-1, (len(stitches), -1)).movedim(-2, 0).flatten(0, 1)
    return y.movedim(-1, axis)
