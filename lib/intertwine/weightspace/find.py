"""The symmetries of any network: find them, act on its weights, prove that nothing changed."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from intertwine.weightspace import rules
from intertwine.weightspace.act import Action, Element, check
from intertwine.weightspace.canonical import canonical
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.infer import Inference, infer
from intertwine.weightspace.solve import Solution, solve
from intertwine.weightspace.trace import trace
from intertwine.weightspace.verify import Verification, verify

if TYPE_CHECKING:
    import pandas as pd

REGISTERED = rules.__all__  # by their import


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """The hidden spaces of a model, and the group that moves its weights without changing its function.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3))
        >>> print(space)
           width  blocks             group  dimension           writers   readers   why
        0      4       1  Σ_4 ⋉ (R_{>0})^4          4  0.weight, 0.bias  2.weight  relu
        dimension 4, 24 components
        >>> element = space.sample(torch.Generator().manual_seed(0))
        >>> x = torch.randn(5, 3)
        >>> torch.allclose(space.act(model, element)(x), model(x), atol=1e-5)
        True

    An element is a dictionary from the number of a space to its `Move`. Every model with parameters of the
    same names and shapes can be moved.
    """

    inference: Inference
    solution: Solution

    @property
    def spaces(self) -> list[HiddenSpace]:
        """The hidden spaces, in the order in which a run meets them."""
        return self.solution.spaces

    @property
    def dimension(self) -> int:
        """Dimension of the whole group as a manifold."""
        return sum(space.dimension for space in self.spaces)

    @property
    def components(self) -> int:
        """Number of connected components of the whole group, exactly."""
        return math.prod(space.components for space in self.spaces)

    def to_frame(self) -> pd.DataFrame:
        """One row for each hidden space, then one for each that is frozen.

        Example:
            >>> model = nn.Sequential(nn.Linear(3, 4), nn.Softmax(-1), nn.Linear(4, 2)).eval()
            >>> table = find_symmetries(model, torch.zeros(1, 3)).to_frame()
            >>> table[["width", "group", "why"]].values.tolist()
            [[4, 'Σ_4', 'softmax']]

        Returns:
            Columns width, blocks (how many blocks have an element each), group, dimension, components,
            writers and readers (parameters), why (the operations that decide the group; of a frozen space,
            those that keep it from moving).
        """
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {
                "width": space.size,
                "blocks": space.blocks,
                "group": space.group,
                "dimension": space.dimension,
                "components": space.components,
                "writers": ", ".join(space.writers),
                "readers": ", ".join(space.readers),
                "why": ", ".join(space.why),
            }
            for space in self.spaces
        ]
        rows += [
            {
                "width": width,
                "blocks": 1,
                "group": "frozen",
                "dimension": 0,
                "components": 1,
                "writers": names,
                "readers": "",
                "why": reason,
            }
            for width, reason, names in self.solution.frozen
        ]
        columns = ["width", "blocks", "group", "dimension", "components", "writers", "readers", "why"]
        return pd.DataFrame(rows, columns=columns)

    def __str__(self) -> str:
        table = self.to_frame().drop(columns="components")
        text = table.to_string(max_colwidth=40) if len(table) else "no hidden space"
        count = self.components
        shown = f"{count:,}" if count < 10**9 else f"about 10^{len(str(count)) - 1}"
        return f"{text}\ndimension {self.dimension:,}, {shown} components"

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Element:
        """A random element: uniform permutations and orthogonal matrices, lognormal scalars, fair signs.

        Args:
            generator: of random numbers, on the CPU.
            scale: standard deviation of the logarithms of scalars, and of singular values in GL(n).
        """
        if not isinstance(generator, torch.Generator):
            raise TypeError(
                f"Expected a torch.Generator, was given {generator!r}: make one with torch.Generator()."
            )
        return {space.index: space.sample(generator, scale) for space in self.spaces}

    def identity(self) -> Element:
        """The element that changes nothing."""
        return {space.index: space.identity() for space in self.spaces}

    def compose(self, g: Element, h: Element) -> Element:
        """The element gh: first h, then g."""
        return {s.index: s.compose(g[s.index], h[s.index], self._blocks(s, g)) for s in self.spaces}

    def inverse(self, g: Element) -> Element:
        """The element that undoes g."""
        return {s.index: s.inverse(g[s.index], self._blocks(s, g)) for s in self.spaces}

    def _blocks(self, space: HiddenSpace, g: Element) -> Tensor:
        return torch.arange(space.blocks) if space.base is None else g[space.base].order[0]

    def state(self, model: nn.Module) -> dict[int, Tensor]:
        """The parameters and buffers of a model, by their number in the run.

        Raises:
            ValueError: other names or shapes than those of the model whose symmetries were found.
        """
        tensors: dict[str, Tensor] = dict(model.named_parameters(remove_duplicate=False))
        tensors |= dict(model.named_buffers(remove_duplicate=False))
        for k, name in self.inference.run.names.items():
            expected = self.inference.run.shapes[k]
            if name not in tensors or tuple(tensors[name].shape) != expected:
                found = tuple(tensors[name].shape) if name in tensors else "none"
                raise ValueError(
                    f"Expected a model with {name} of shape {expected}, as its symmetries were found for, "
                    f"was given {found}: find the symmetries of this model."
                )
        return {k: tensors[name] for k, name in self.inference.run.names.items()}

    def act(self, model: nn.Module, element: Element) -> nn.Module:
        """A copy of the model with moved weights, which computes the same function.

        Batch norm's running mean and variance move with its input; what ε keeps the variance from taking up
        goes into the gain. GL(n) on the output of a batch norm mixes what it normalises: the function in
        evaluation mode stays, batch statistics do not.

        Args:
            model: it is not changed; computed in float64, stored in its own dtype on its own device.
            element: as `sample`, `compose`, `inverse` or `match` give it.

        Raises:
            ValueError: a model of other shapes, or an element of another group.
        """
        check(self.spaces, element)
        moved = copy.deepcopy(model)
        state, target = self.state(model), self.state(moved)
        with torch.no_grad():
            for k, x in self.moved(state, element).items():
                target[k].copy_(x)
        return moved

    def moved(self, state: Mapping[int, Tensor], element: Element) -> dict[int, Tensor]:
        """The same for parameters and buffers by number."""
        return Action(self.solution, element, state, self.inference.norms).state(state)

    def canonicalise(self, model: nn.Module) -> nn.Module:
        """The representative of a model's orbit: models in one orbit become equal, up to rounding.

        Space by space, in the order of a run: the rows of the first weights (or gains) become unit vectors
        with a positive weighted sum, ordered by their first entry; O(n) makes them triangular, GL(n)
        orthonormal. Spaces without weights to go by, and matrices wider than the rows that are known by
        then (as of an embedding with fewer words than units), stay as they are.
        """
        moved = copy.deepcopy(model)
        state, target = self.state(model), self.state(moved)
        with torch.no_grad():
            for k, x in canonical(self, state)[0].items():
                target[k].copy_(x)
        return moved

    def verify(self, model: nn.Module, element: Element, inputs: Any) -> Verification:
        """Move the model, and compare outputs and representations on these inputs.

        Args:
            model: in evaluation mode; in float64, outputs agree to about 1e-12.
            inputs: as `find_symmetries` takes them; the batch may be larger.
        """
        return verify(self, model, element, inputs)


def find_symmetries(model: nn.Module, example_inputs: Any) -> WeightSpace:
    """Run a model once, and find every hidden space, what ties it, and the group that acts on it.

    Example:
        >>> from intertwine.models import myrtle
        >>> space = find_symmetries(myrtle(4, in_channels=1).eval(), torch.zeros(1, 1, 8, 8))
        >>> [hidden.group for hidden in space.spaces][:2]
        ['Σ_4 ⋉ (R^* × R_{>0})^4', 'Σ_8 ⋉ (R^* × R_{>0})^8']

    Units that are added move together (godfrey2022 Remark 3.6), and so do those that meet channel by channel.
    Activations are classified by `intertwine.groups`. What Python decides from shapes is fixed as in this
    run. An operation that is not understood freezes what it touches; the table says which and why. An axis of
    one unit is taken to stand for broadcasting, and does not move.

    Args:
        model: in evaluation mode; it is not changed.
        example_inputs: one tensor, a tuple of arguments, or a mapping of keyword arguments.

    Returns:
        The group of all moves that were understood. Further symmetries, of these weights alone or behind an
        operation that is frozen, may exist.

    Raises:
        ValueError: in training mode; the inputs do not fit; or steps depend on values.
    """
    run = trace(model, example_inputs)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    inference = infer(run, {k for k, name in run.names.items() if name in parameters})
    space = WeightSpace(inference, solve(inference))
    run.values.clear()  # the labels are enough from now on
    return space
