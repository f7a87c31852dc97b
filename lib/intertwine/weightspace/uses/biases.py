"""Translations: what a bias adds goes into the biases that read it, and a layer norm subtracts every mean."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from intertwine.groups import CentredOrthogonal
from intertwine.weightspace.act.action import State
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import single
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.uses.check import Point, noisy, outputs, unchanged
from intertwine.weightspace.uses.entering import added
from intertwine.weightspace.uses.mappings import Entries, on_axis
from intertwine.weightspace.uses.messages import check_space, warn_of, why

Way = tuple[tuple[str, ...], Callable[[State], State | None]]
"""The biases that take one over, and what becomes of all weights."""


class Added(NamedTuple):
    """Entries on an axis of a parameter or buffer, and the scalars and signs that act on them.

    `target`: of a weight that reads there, the bias that is added to what it reads.
    """

    number: int
    axis: int
    entries: Entries
    scalars: tuple[float, ...]
    signs: frozenset[int]
    target: int | None = None

    def alike(self, other: "Added") -> bool:
        """Whether both are added to the same units."""
        same = self.scalars == other.scalars and self.signs == other.signs
        return same and self.entries.equal(other.entries)

    def reads(self, bias: "Added") -> bool:
        return self.signs == bias.signs and self.scalars == tuple(-c for c in bias.scalars)


class Folded(NamedTuple):
    """A model with the same function, and the translations that lead there.

    Attributes:
        folded: by the name of each parameter that has changed, those that take over what it added.
        dimension: how many numbers could be chosen otherwise, without a change of the function.
    """

    model: nn.Module
    folded: dict[str, tuple[str, ...]]
    dimension: int


def fold_biases(space: WeightSpace, model: nn.Module, inputs: Any) -> Folded:
    """Biases that others can take over become 0, and the function stays.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> layers = nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)
        >>> model = nn.Sequential(*layers).double().eval()
        >>> x = torch.randn(5, 3, dtype=torch.float64)
        >>> _ = nn.init.uniform_(model[1].bias)
        >>> found = fold_biases(find_symmetries(model, x), model, x)
        >>> found.folded, found.dimension
        ({'1.bias': ('2.bias',)}, 4)
        >>> bool(found.model[1].bias.any()), torch.allclose(found.model(x), model(x))
        (False, True)

    Such are the shift of a norm before layers with a bias, the bias of values in attention before an output
    with one, the bias of keys, which a softmax ignores, and one of two biases of one sum. Each is tried: in
    float64, on weights with noise, the outputs have to stay the same on the inputs, also where the bias is
    large, so that an activation behind it is on or off everywhere.

    Args:
        space: the symmetries of the network.
        model: the network, in evaluation mode; it is not changed. Where it does not compute in float64,
            nothing is folded.
        inputs: as `find_symmetries` takes them, of several tokens: attention to a single one ignores its
            query and its key, so that their biases would be taken for idle.

    See Also:
        `fold` makes gains 1, `centre` takes means from the weights before layer norms.
    """
    check_space(space)
    # the model itself, too, as noise may silence the units that a bias moves
    points = [noisy(space, model, inputs, size) for size in (1.0, 0.0)]
    expected = [outputs(space, point.model, point.inputs) for point in points]
    states = [space.state(point.model) for point in points]
    names, steps, folded, gone = space.inference.run.names, [], dict[str, tuple[str, ...]](), State()
    for (k, _, entries, *_), ways in _biases(space):
        done = gone.setdefault(k, torch.zeros(len(states[0][k]), dtype=torch.bool))
        for into, step in ways if not done[entries].any() else ():  # of heads, once for the units within them
            moved = [new for state in states if (new := step(state)) is not None]
            same = len(moved) == len(points) and all(map(partial(unchanged, space), points, expected, moved))
            if same and _also_large(space, points[0], states[0], k, entries, step):
                states, done[entries] = moved, True
                folded[names[k]] = (*folded.get(names[k], ()), *into)
                steps.append(step)
                break
    new = {k: x.detach() for k, x in space.state(model).items()}
    for step in steps:  # what was tried in float64, with noise, is done once to the weights as they are
        new = step(new) or new
    folded = {name: tuple(dict.fromkeys(into)) for name, into in folded.items()}
    return Folded(space.with_state(model, new), folded, sum(int(done.sum()) for done in gone.values()))


def _also_large(space: WeightSpace, point: Point, state: State, k: int, entries: Entries, step: Any) -> bool:
    """Whether a step keeps the outputs where the bias is large, so that activations are on or off everywhere.

    What is wrong changes them by their own size; rounding of large numbers may be in float32.
    """
    rough, large = point._replace(tolerance=1e-2), torch.zeros_like(state[k])
    large[entries] = 1e4
    for far in (state | {k: state[k] + large}, state | {k: state[k] - large}):
        there, new = outputs(space, space.with_state(point.model, far), point.inputs), step(far)
        if new is None or not unchanged(space, rough, there, new):
            return False
    return True


def centre(space: WeightSpace, model: nn.Module, inputs: Any) -> Folded:
    """Weights before layer norms lose their mean, so that an RMS norm with the same gain computes the same.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> words, norm = torch.arange(9), nn.LayerNorm(4)
        >>> model = nn.Sequential(nn.Embedding(9, 4), norm, nn.Linear(4, 2))
        >>> model = model.double().eval()
        >>> found = centre(find_symmetries(model, words), model, words)
        >>> torch.allclose(found.model(words), model(words)), found.dimension
        (True, 9)
        >>> h = found.model[0](words)  # one vector for each of nine words, of mean 0
        >>> lengths = nn.functional.rms_norm(h, (4,), eps=norm.eps)
        >>> torch.allclose(lengths, norm(h))
        True

    All that is written into a residual stream is centred where nothing but layer norms reads the stream: one
    number for each column of a weight, and for each bias (Ashkboos et al. 2024, SliceGPT). It is checked
    as in `fold_biases`. A UserWarning names the spaces before layer norms that are not centred, as with tied
    embeddings, and the reason; `untie` makes two weights of these.

    Args:
        space, model, inputs: as in `fold_biases`.
    """
    check_space(space)
    point = noisy(space, model, inputs)
    expected, state = outputs(space, point.model, point.inputs), space.state(point.model)
    new = {k: x.detach() for k, x in space.state(model).items()}
    folded, dimension, left = dict[str, tuple[str, ...]](), 0, dict[str, str]()
    for hidden in space.spaces:
        found = [(k, at) for k, at in _alone(space, hidden) if (k, at) not in space.inference.read]
        centred = state | {k: _centred(state[k], at) for k, at in found}
        if found and unchanged(space, point, expected, centred):
            state, new = centred, new | {k: _centred(new[k], at) for k, at in found}
            folded |= dict.fromkeys((space.inference.run.names[k] for k, _ in found), ())
            dimension += sum(state[k].numel() // state[k].shape[at] for k, at in found)
        elif hidden.space.root().within is CentredOrthogonal:
            more = "more than layer norms reads it, or weights have it beside others"
            left[hidden.name] = why(space, hidden) if hidden.matrices is None else more
    warn_of("centred", left)
    return Folded(space.with_state(model, new), folded, dimension)


def _alone(space: WeightSpace, hidden: HiddenSpace) -> list[tuple[int, int]]:
    """The axes of parameters that are this space, if no tensor has others on one axis with it."""
    found = []
    for k, label in space.solution.labels.items():
        for at, axis in enumerate(label):
            if hidden in space.solution.on(axis):
                if single(axis) is None or hidden.blocks > 1:
                    return []
                if k in space.inference.trainable:
                    found.append((k, at))
    return found if hidden.matrices is not None and hidden.matrices.self_dual else []


def _centred(x: Tensor, axis: int) -> Tensor:
    y = x.double()
    return (y - y.mean(axis, keepdim=True)).to(x.dtype)


def _biases(space: WeightSpace) -> Iterator[tuple[Added, list[Way]]]:
    """Each bias, and the ways in which others may take it over, the simplest first."""
    run, solution = space.inference.run, space.solution
    shifts = added(space) - {edge.gain for edge in space.inference.edges}
    named = {(run.stored(k)[0], run.parts.get(k, ())[2:]): k for k in run.names}
    for hidden in space.spaces:
        biases, means, readers = list[Added](), list[Added](), list[Added]()
        for k in run.names:
            for at, axis in enumerate(label := solution.labels.get(k, ())):
                for entries, factor in on_axis(space, axis, hidden):
                    place = Added(k, at, entries, hidden.vector(factor), hidden.parities(factor))
                    module, _, name = run.stored(k)[0].rpartition(".")
                    if space.inference.is_read(k, at, hidden.space):
                        # a run shows that something is added after a weight; by its name it is known to be
                        # this layer's bias
                        beside = f"{module}.{name.replace('weight', 'bias')}".lstrip(".")
                        target = named.get((beside, run.parts.get(k, ())[2:]))
                        readers.append(place._replace(target=target))
                    # a batch norm subtracts its mean, so a bias before it may go from both
                    elif name == "running_mean":
                        means.append(place)
                    elif k in shifts and len(label) == 1:
                        biases.append(place)
        for number, bias in enumerate(biases):
            # first that nobody takes it over, as softmax ignores what all keys have in common
            ways: list[Way] = [((), partial(_read, bias, []))]
            reading = [each for each in readers if each.reads(bias)]
            if into := tuple(dict.fromkeys(run.names[k] for _, *_, k in reading if k is not None)):
                ways.append((into, partial(_read, bias, reading)))
            for sign, others in ((1, biases[number + 1 :]), (-1, means)):
                alike = [each for each in others if each.alike(bias)][:1]
                ways += [((run.names[each.number],), partial(_beside, bias, each, sign)) for each in alike]
            yield bias, ways


def _read(bias: Added, readers: list[Added], state: State) -> State | None:
    """Add to the biases of those that read it what it causes there; it is 0 then."""
    old, entries = state[bias.number], bias.entries
    rest = old.clone()
    rest[entries] = 0
    new, t = state | {bias.number: rest}, old[entries].double()
    for weight, axis, there, _, _, target in readers:
        if len(there) % len(t) or there.shape[1:] != t.shape[1:] or target is None:
            return None
        shown = t.repeat_interleave(len(there) // len(t), 0).flatten()  # of grouped queries
        W = state[weight].double().movedim(axis, 0)[there.flatten()]
        # through a convolution a constant adds the sum of the kernel; at padded borders it does not, which
        # the check on outputs finds
        image = torch.tensordot(shown, W, 1).flatten(1).sum(1) if W.ndim > 2 else shown @ W
        if image.shape != new[target].shape:
            return None
        new[target] = (new[target].double() + image).to(state[target].dtype)
    return new


def _beside(bias: Added, other: Added, sign: int, state: State) -> State | None:
    """Add it to another that is added to the same units, or subtracted from them."""
    if state[bias.number].shape != state[other.number].shape:
        return None  # as those of grouped queries
    moved = torch.zeros_like(state[bias.number])
    moved[bias.entries] = state[bias.number][bias.entries]
    minus, plus = state[bias.number] - moved, state[other.number] + sign * moved
    return state | {bias.number: minus, other.number: plus}
