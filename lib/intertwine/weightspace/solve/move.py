"""One element of the group of a hidden space, in the compact form that acts quickly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class Move(NamedTuple):
    """An element of the group of one hidden space, for each of its b blocks.

    Attributes:
        order: unit i of block a is the unit order[a, i] of before.
        log: logarithms of the k positive scalars of every unit.
        sign: which of its l signs are −1.
        mixed: the matrix of a space whose units may be mixed.
        powers, parity: the powers of the scalars, and the signs, in the values that `matrix` moves.
    """

    order: Int[Tensor, "b n"]
    log: Float[Tensor, "k b n"]
    sign: Bool[Tensor, "l b n"]
    mixed: Float[Tensor, "b n n"] | None = None
    powers: tuple[float, ...] = ()
    parity: tuple[int, ...] = ()

    def __repr__(self) -> str:
        """In words, as its tensors are long.

        Example:
            >>> from torch import nn
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).eval()
            >>> space = find_symmetries(model, torch.zeros(1, 1))
            >>> space.element({"1": torch.tensor([[0.0, 2.0], [1.0, 0.0]])})
            {'1': Move(2 units: reordered, scales)}
        """
        blocks, units = self.order.shape
        changes = {
            "reordered": bool((self.order != torch.arange(units, device=self.order.device)).any()),
            "signs": bool(self.sign.any()),
            "scales": bool(self.log.any()),
            "mixed": self.mixed is not None
            and not torch.equal(self.mixed, torch.eye(units).to(self.mixed).expand_as(self.mixed)),
        }
        of = f"{blocks} blocks of " if blocks > 1 else ""
        return f"Move({of}{units} units: {', '.join(k for k, v in changes.items() if v) or 'unchanged'})"

    def cpu(self) -> Move:
        """The same element on the CPU, where elements are computed, wherever the weights lie."""
        mixed = None if self.mixed is None else self.mixed.cpu()
        return self._replace(order=self.order.cpu(), log=self.log.cpu(), sign=self.sign.cpu(), mixed=mixed)

    def matrix(self) -> Float[Tensor, "*b n n"]:
        """The matrix A, x' = Ax, of the values x that the space's name says; (b, n, n) for several blocks.

        Where that is an activation, x is its input; where it is a layer, as the convolution before a batch
        norm whose ReLU is a function, x is the layer's output. Other values of the space can have other
        scalars: `WeightSpace.matrix` gives the matrix of a module's values by its name.

        Example:
            >>> from torch import nn
            >>> from intertwine.weightspace import find_symmetries
            >>> model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).eval()
            >>> space = find_symmetries(model, torch.zeros(1, 1))
            >>> element = space.element({"1": torch.tensor([[0.0, 2.0], [3.0, 0.0]])})
            >>> element["1"].matrix()
            tensor([[0.0000, 2.0000],
                    [3.0000, 0.0000]], dtype=torch.float64)
        """
        if self.mixed is not None:
            matrix = dual(self.mixed, self.powers)
        else:
            d = scalars(self, self.powers, self.parity)
            # row i has its one entry in column order[i]
            matrix = d.new_zeros(*d.shape, d.shape[1]).scatter(2, self.order[:, :, None], d[:, :, None])
        return matrix[0] if len(matrix) == 1 else matrix

    def compose(self, h: Move, blocks: Int[Tensor, " b"]) -> Move:
        """First h, then this one, whose blocks are reordered by `blocks`."""
        h = h.reordered(blocks)
        # unit i of the result was unit order[i] after h, with the scalars that h gave it there
        order = h.order.gather(1, self.order)
        # logarithms add up, where products of hundreds of scalars would overflow
        log = self.log + h.log.gather(2, self.order.expand(h.log.shape))
        sign = self.sign ^ h.sign.gather(2, self.order.expand(h.sign.shape))
        mixed = None if self.mixed is None or h.mixed is None else self.mixed @ h.mixed
        return self._replace(order=order, log=log, sign=sign, mixed=mixed)

    def inverse(self, blocks: Int[Tensor, " b"]) -> Move:
        """The inverse, where `blocks` is the order of the blocks."""
        # x' = D·P·x gives x = P⁻¹·D⁻¹·x': the scalars, too, go back to their old places
        order = self.order.argsort(1)
        log = -self.log.gather(2, order.expand(self.log.shape))
        sign = self.sign.gather(2, order.expand(self.sign.shape))
        mixed = None if self.mixed is None else torch.linalg.inv(self.mixed)
        # the inverse meets the blocks where this element has put them
        return self._replace(order=order, log=log, sign=sign, mixed=mixed).reordered(blocks.argsort())

    def reordered(self, blocks: Int[Tensor, " b"]) -> Move:
        """The same element where blocks come in another order."""
        mixed = None if self.mixed is None else self.mixed[blocks]
        order, log, sign = self.order[blocks], self.log[:, blocks], self.sign[:, blocks]
        return self._replace(order=order, log=log, sign=sign, mixed=mixed)


def dual(A: Float[Tensor, "*b n n"], powers: Sequence[float]) -> Float[Tensor, "*b n n"]:
    """A, or (A⁻¹)ᵀ where the space acts with the power −1; applied twice, it gives A again."""
    return torch.linalg.inv(A).mT if tuple(powers) == (-1,) else A


def scalars(move: Move, powers: Sequence[float], parity: Iterable[int]) -> Float[Tensor, "b n"]:
    """The factor of every unit where its scalars act with these powers, and these signs."""
    scale = torch.ones(move.order.shape, dtype=torch.float64)
    for k, power in enumerate(powers):
        scale = scale * (power * move.log[k]).exp() if power else scale
    for k in parity:
        scale = scale.where(~move.sign[k], -scale)
    return scale
