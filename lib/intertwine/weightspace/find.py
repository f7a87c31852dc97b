"""Find the symmetries of any network from one run."""

from typing import Any, Literal, get_args

from torch import nn

from intertwine.checks import check_choice
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.infer import infer
from intertwine.weightspace.solve.names import name_spaces
from intertwine.weightspace.solve.solve import solve
from intertwine.weightspace.trace.affine import substitute
from intertwine.weightspace.trace.given import eager, named_tensors
from intertwine.weightspace.trace.interleaved import separate
from intertwine.weightspace.trace.recognise import recognise
from intertwine.weightspace.trace.run import Ref, Run, needed
from intertwine.weightspace.trace.trace import Outputs, trace
from intertwine.weightspace.uses.check import spaces_that_change_outputs

Group = Literal["permutation"]
"""Which of all symmetries are asked for."""


def find_symmetries(
    model: nn.Module,
    example_inputs: Any,
    *,
    outputs: Outputs = None,
    group: Group | None = None,
    check: bool = True,
) -> WeightSpace:
    """Run a model once, and find its hidden spaces, the axes that each of them joins, and its group.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> normed = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()
        >>> model = nn.Sequential(*normed, nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> find_symmetries(model.eval(), torch.zeros(1, 3)).spaces
        [<hidden space 2: Σ_4 ⋉ (R^* × R_{>0})^4>, <hidden space 4: Σ_8 ⋉ (R_{>0})^8>]

    Units that are added move together (godfrey2022 Remark 3.6), and so do those combined channel by channel.
    Activations are classified by `intertwine.groups`. Decisions of Python from shapes, and from integer or
    boolean inputs, are fixed as in this run: the group holds for masks like this one. An operation without a
    rule freezes the axes that it touches. An axis of one unit does not move, nor do rows of a weight that
    no step of this run takes, as positions beyond those of the example.

    Args:
        model: in evaluation mode; it is not changed.
        example_inputs: one tensor, a tuple of arguments, or a mapping of keyword arguments, as a tokenizer's.
            Where their length decides how many units of a layer are taken, give the longest: units that are
            computed and then cut off move.
        outputs: names or positions of the outputs that have to stay the same, as "logits"; all by default,
            but for a cache.
        group: "permutation" for those symmetries alone in which units change places (git re-basin), without
            scalars, signs and matrices; by default all.
        check: to act with one random element on the example, in float64 where the model allows; spaces
            whose elements change the outputs are frozen, and the table says so.

    Returns:
        The group of all moves that were understood; others may exist, as scalars in front of a depthwise
        convolution with several outputs for a channel. Of groups within groups, as where convolutions of 4
        and of 2 groups follow each other, all inner ones in an outer one share an element, and none needs to.

    See Also:
        `WeightSpace.act` moves the weights, `mappings` lists who writes and reads a space, `match` compares
        two networks.

    Raises:
        TypeError: arrays, a data set or a stream of batches as example inputs.
        ValueError: in training mode; the inputs do not fit; steps depend on values of weights or of real
            inputs; or another group.
    """
    check_choice("group", group, (None, *get_args(Group)))
    model = eager(model)
    # rules read shapes alone: the entries of all activations would take as much memory as training
    run = trace(model, example_inputs, outputs, values=False)
    recognise(run)
    separate(run)
    substitute(run)
    failed: list[tuple[int, int]] = []
    # one wrong element can hide another, so that the network is solved and checked until nothing fails
    while True:
        space = _solved(run, model, failed, group)
        bad = spaces_that_change_outputs(space, model, example_inputs) if check and space.spaces else []
        if not bad:
            break
        # by tensor and axis, since the next solution has new spaces
        failed += [
            (index, k)
            for index in run.names
            for k, axis in enumerate(space.solution.labels.get(index, ()))
            if not set(bad).isdisjoint(space.solution.on(axis))
        ]
    run.forget()  # the labels are enough from now on
    return space


def _solved(run: Run, model: nn.Module, failed: list[tuple[int, int]], group: Group | None) -> WeightSpace:
    """The group, where these axes of parameters do not move."""
    gains, ordered = set[int](), set[int]()
    for module in model.modules():  # a frozen batch norm keeps its weights as buffers
        if module._buffers.keys() >= {"weight", "bias", "running_mean", "running_var"}:
            gains |= {*map(id, module._buffers.values())}
        ordered |= {id(module._buffers[each]) for each in _beside_weights(module)}
    named = [*named_tensors(model)]
    weights = [(k, x) for k, x in named if isinstance(x, nn.Parameter) or id(x) in gains]
    floating = {k for k, x in weights if x.is_floating_point()}
    follows = {k for k, x in named if id(x) in ordered}
    numbers = [{k for k in run.names if run.stored(k)[0] in x} for x in (floating, follows)]
    inference = infer(run, trainable=numbers[0], ordered=numbers[1])
    for index, k in failed:
        inference.freeze((inference.of(Ref(index))[k],), "an element of it changed the outputs when checked")
    for label in inference.labels.values() if group else ():
        # of values, too: scalars behind a gain would be free, as the gain absorbs them
        inference.permute_only(label, "permutations asked for")
    solution = solve(inference)
    used = {ref.index for call in needed(run) for ref in call.refs}
    # a weight that reaches no output could be anything: it is reported, and counts in no dimension
    if unused := [x for k, x in run.names.items() if run.stored(k)[0] in floating and k not in used]:
        solution.frozen.append((0, "not seen to reach an output", unused))
    # complex weights and whole numbers, as quantised ones
    unreal = {k for k, _ in weights} - floating
    if left := [x for k, x in run.names.items() if run.stored(k)[0] in unreal]:
        solution.frozen.append((0, "only real weights are understood", left))
    name_spaces(inference, solution)
    return WeightSpace(inference, solution)


def _beside_weights(module: nn.Module) -> set[str]:
    """Its buffers whose entries belong to units: masks of pruned weights, vectors of a spectral norm."""
    weights = {each.removesuffix("_orig") for each in module._parameters if each.endswith("_orig")}
    names = {f"{weight}_{kind}" for weight in weights for kind in ("mask", "u", "v")}
    return (names | {"_u", "_v"}) & module._buffers.keys()
