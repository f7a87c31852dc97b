"""The hidden spaces of a model, and the group that moves its weights without changing its function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.checks import check_finite, check_generator, check_tensor, kind
from intertwine.weightspace.act.action import Action, State, fold_batch_norms
from intertwine.weightspace.act.tables import spaces_table, stays_table
from intertwine.weightspace.act.weights import AnyWeights, Weights, state, with_state
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.rules.infer import Inference
from intertwine.weightspace.solve.draw import Drawing, caption, draw
from intertwine.weightspace.solve.graph import Graph, graph
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution
from intertwine.weightspace.solve.move import Move

if TYPE_CHECKING:
    import pandas as pd

Element = dict[str, Move]
Given = Mapping[Any, Move | Tensor]


class Moved(NamedTuple):
    """A model that was moved, and the element that moved it.

    Attributes:
        undetermined: the names of the spaces whose elements the weights leave open, as weights of zeros or
            matrices with fewer columns than units do, or leave open until such an element is known; of
            `balance`, those that it does not move.
    """

    model: nn.Module
    element: Element
    undetermined: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """The symmetries that `find_symmetries` found, and how they act.

    Example:
        >>> from intertwine.groups import GReLU
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3))
        >>> print(space)
          name  width  blocks             group  dimension           writers   readers   why
        0    1      4       1  Σ_4 ⋉ (R_{>0})^4          4  0.weight, 0.bias  2.weight  relu
        dimension 4, 24 components
        >>> generator, x = torch.Generator().manual_seed(0), torch.randn(5, 3)
        >>> moved = space.act(model, {"1": GReLU(4).sample(generator)})
        >>> torch.allclose(moved(x), model(x), atol=1e-5)
        True
        >>> space.spec
        {'P0': [('0.weight', 0), ('0.bias', 0), ('2.weight', 1)]}

    An element is a dictionary from spaces to matrices, as `intertwine.groups` draws them, or to what `sample`
    returns. A space is called by the module of its activation, as "relu2", or a layer that writes it; by its
    name in the table, as "encoder.attention: heads"; by its number; or by P and its number. Every model with
    parameters of the same names and shapes can be moved. A space holds no weights, and can be pickled.
    """

    inference: Inference
    solution: Solution

    @property
    def spaces(self) -> list[HiddenSpace]:
        """In the order of a run."""
        return self.solution.spaces

    @property
    def dimension(self) -> int:
        """Dimension of the whole group as a manifold."""
        return sum(space.dimension for space in self.spaces)

    @property
    def components(self) -> int:
        """Number of connected components of the whole group, exactly."""
        return math.prod(space.components for space in self.spaces)

    @property
    def spec(self) -> dict[str, list[tuple[str, int]]]:
        """The axes of parameters and buffers that each space permutes, as git re-basin writes them down."""
        axes: dict[str, list[tuple[str, int]]] = {f"P{space.index}": [] for space in self.spaces}
        for index, name in self.inference.run.names.items():
            for k, axis in enumerate(self.solution.labels.get(index, ())):
                for hidden in self.solution.on(axis):
                    axes[f"P{hidden.index}"].append((name, k))
        return axes

    def to_frame(self) -> pd.DataFrame:
        """One row for each hidden space, then one for each that is frozen.

        Example:
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(
            ...     nn.Linear(3, 4), nn.Softmax(-1), nn.Linear(4, 2)
            ... ).eval()
            >>> table = find_symmetries(model, torch.zeros(1, 3)).to_frame()
            >>> table[["name", "width", "group", "why"]].values.tolist()
            [['1', 4, 'Σ_4', 'softmax']]

        Blocks are those that have an element each, writers and readers parameters, why the operations that
        decide the group, or keep a space from moving.
        """
        return spaces_table(self.solution)

    def __str__(self) -> str:
        table = self.to_frame()
        text = table.to_string(max_colwidth=40) if len(table) else "no hidden space"
        if len(table) and text != table.to_string():
            text += "\n(to_frame() has the names that end in ... here)"
        # n! orders for each space: too long a number to be read
        count = self.components
        shown = f"{count:,}" if count < 10**9 else f"about 10^{math.floor(math.log10(count))}"
        masks = ", for masks like this one" if self.inference.run.steered else ""
        return f"{text}\ndimension {self.dimension:,}, {shown} components{masks}"

    def stays(self) -> pd.DataFrame:
        """The parameters that do not move at all, by the reason.

        Example:
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
            >>> find_symmetries(model, torch.zeros(1, 3)).stays().values.tolist()
            [["the model's output", '2.bias']]
        """
        return stays_table(self.solution)

    def draw(self) -> Drawing:
        """The run as an SVG drawing, which a notebook shows: values in the colours of their hidden spaces.

        Example:
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
            >>> drawing = find_symmetries(model, torch.zeros(1, 3)).draw()
            >>> drawing[:38], "1: Σ₄ ⋉ (ℝ₊)⁴" in drawing
            ('<svg xmlns="http://www.w3.org/2000/svg', True)
        """
        return draw(self.graph(), {hidden.index: caption(hidden) for hidden in self.spaces})

    def graph(self) -> Graph:
        """The run as a graph: calls, the weights that they take, and values with their hidden spaces.

        Example:
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
            >>> nodes, edges = find_symmetries(model, torch.zeros(1, 3)).graph()
            >>> [node.label for node in nodes], edges[1]
            (['input', '0 · linear', '1 · relu', '2 · linear'], GraphEdge(start=1, ends=(2,), spaces=(0,)))
        """
        return graph(self.inference.run, self.solution.touched)

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Element:
        """A random element: uniform permutations and orthogonal matrices, lognormal scalars, fair signs.

        Args:
            generator: on the CPU.
            scale: the standard deviation of the logarithms of scalars, and of singular values in GL(n).
        """
        check_generator(generator)
        return {space.name: space.sample(generator, scale) for space in self.spaces}

    def identity(self) -> Element:
        return self.element({})

    def element(self, given: Given) -> Element:
        """The same element with a `Move` for every space, the identity where none is given."""
        moves = self.moves(given)
        return {s.name: moves[s.index] if s.index in moves else s.identity() for s in self.spaces}

    def moves(self, given: Given) -> dict[int, Move]:
        """The given elements by the number of their space."""
        found: dict[int, Move] = {}
        if not isinstance(given, Mapping):
            raise ValueError(
                f"Expected an element, a matrix for each space that moves, was given {kind(given)}: write "
                f"{{name: matrix}}, by names in the table of the space."
            )
        for key, each in given.items():
            hidden, factor = self.lookup(key)
            if hidden.index in found:
                raise ValueError(f"Expected each space once, was given {hidden.name} again, as {key!r}.")
            if not isinstance(each, Move):
                check_tensor(each, f"the element of {hidden.name}")
            found[hidden.index] = hidden.element(each, factor)
        return found

    def lookup(self, key: str | int) -> tuple[HiddenSpace, Unit]:
        """A hidden space by a name or number, and the factor that a matrix given by this name acts on."""
        # names come first: a layer of nn.Sequential may be called "1", as a space may by its number
        called = [hidden for hidden in self.spaces if key in hidden.names]
        others = [each for each in self.spaces if key in (each.index, f"P{each.index}", each.called)]
        if found := called + others:
            hidden = found[0]
            # a batch norm and the convolution before it may have scalars of their own, in one space
            return hidden, hidden.names.get(str(key), hidden.seen)
        names = ", ".join(repr(hidden.name) for hidden in self.spaces[:4])
        raise ValueError(
            f"Expected the name or the number of a hidden space, as {names or 'none is here'}, was given "
            f"{key!r}: print the space to see all of them."
        )

    def called(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The names of the spaces of these numbers."""
        return tuple(self.spaces[k].name for k in sorted(numbers))

    def __getitem__(self, key: str | int) -> HiddenSpace:
        return self.lookup(key)[0]

    def matrix(self, element: Given, name: str | int) -> Float[Tensor, "*b n n"]:
        """The matrix A, x' = Ax, of the input x of an activation, or of the output x of a layer, by its name.

        Example:
            >>> from intertwine.weightspace import find_symmetries
            >>> layers = nn.Linear(3, 2), nn.BatchNorm1d(2), nn.ReLU(), nn.Linear(2, 1)
            >>> model = nn.Sequential(*layers).eval()
            >>> space, x = find_symmetries(model, torch.zeros(1, 3)), torch.randn(5, 3)
            >>> g = space.sample(torch.Generator().manual_seed(0))
            >>> moved = space.act(model, g)
            >>> before, after = (space.matrix(g, name).float() for name in ("0", "1"))
            >>> torch.allclose(moved[:1](x), model[:1](x) @ before.T, atol=1e-5)
            True
            >>> torch.allclose(moved[:2](x), model[:2](x) @ after.T, atol=1e-5)
            True

        Args:
            element: as in `WeightSpace.act`.
            name: a module whose values belong to a space, or the name or number of the space.

        Returns:
            n×n in float64, or (b, n, n) where each of b blocks has an element.

        Raises:
            ValueError: a space that follows another through a gain, if the element moves that one.
        """
        hidden, factor = self.lookup(name)
        parity, g = tuple(sorted(hidden.parities(factor))), self.element(element)
        center = self.spaces[self.solution.centers.get(hidden.index, hidden.index)]
        if center is not hidden and not torch.equal(g[center.name].matrix(), center.identity().matrix()):
            raise ValueError(
                f"Expected a space whose matrix the element alone decides, was given {hidden.name}, whose "
                f"matrix depends on a gain of the model, too: ask for {center.name}, which it follows."
            )
        # the powers say in which of its values an element is written as a matrix
        return g[hidden.name]._replace(powers=hidden.vector(factor), parity=parity).matrix()

    def compose(self, g: Given, h: Given) -> Element:
        """The element gh: first h, then g."""
        # a matching composes hundreds of times with an element of one space: the others stay as they are,
        # but for those within its blocks, which change places with them
        named, g, h = self.moves(g).keys(), self.element(g), self.element(h)
        still = {s.name for s in self.spaces if named.isdisjoint({s.index, s.base})}
        return {
            s.name: h[s.name] if s.name in still else g[s.name].compose(h[s.name], self._blocks(s, g))
            for s in self.spaces
        }

    def inverse(self, g: Given) -> Element:
        """The element that undoes g."""
        g = self.element(g)
        return {s.name: g[s.name].inverse(self._blocks(s, g)) for s in self.spaces}

    def _blocks(self, space: HiddenSpace, g: Element) -> Tensor:
        # one element for each block: those of h are found where g puts the blocks
        return torch.arange(space.blocks) if space.base is None else g[self.spaces[space.base].name].order[0]

    def state(self, model: Weights) -> State:
        """The parameters and buffers of a model, by their number in the run; of a state dict, those in it."""
        return state(self.inference.run, model, lambda k: bool(self.solution.touched(k)))

    def act(self, model: AnyWeights, element: Given) -> AnyWeights:
        """A copy of the model with moved weights, which computes the same function.

        Example:
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)).eval()
            >>> space = find_symmetries(model, torch.zeros(1, 3))
            >>> A = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
            >>> moved = space.act(model, {"1": A})  # by the name of the ReLU
            >>> torch.allclose(moved[0].weight, A @ model[0].weight)
            True

        Batch norm's running mean and variance move with its input; the gain corrects for ε. GL(n) on the
        output of a batch norm preserves the function in evaluation mode, not batch statistics. Where units
        have several scalars, a matrix decides the one that it acts on; the others are 1.

        Args:
            model: or its state dict, which is not changed; matrices act in float64, scalars in float32 or
                better.
            element: by space; those that it does not name are left unchanged.

        See Also:
            `transform_outputs` moves writers alone, which changes the function.

        Raises:
            ValueError: a model of other shapes, or an element of another group.
        """
        state = self.state(model)
        self.check_finite(state)  # a matrix would spread one NaN over all units
        return self.with_state(model, self.action(self.moves(element), state).state(state))

    def action(self, moves: Mapping[int, Move], state: State) -> Action:
        """How elements, by the number of their space, act on tensors at this point of weight space."""
        # over the running deviation a gain moves as any other; `Action.state` corrects for ε
        return Action(self.solution, moves, fold_batch_norms(self.solution.norms, state))

    def check_finite(self, state: State, which: str = "model") -> None:
        """Raise ValueError where a parameter or buffer that moves is NaN or infinite."""
        names = self.inference.run.names
        check_finite(((names[k], x) for k, x in state.items() if self.solution.touched(k)), which)

    def folded_state(self, model: Weights, which: str = "model") -> State:
        """`state` on the CPU, with gains of batch norms over the running deviation in float64, if finite."""
        state = self.state(model)
        self.check_finite(state, which)
        return fold_batch_norms(self.solution.norms, {k: x.detach().cpu() for k, x in state.items()})

    def with_state(self, model: AnyWeights, state: State) -> AnyWeights:
        """A copy of the model, or of its state dict, with these parameters and buffers."""
        return with_state(self.inference.run, model, state)
