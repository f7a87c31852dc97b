"""The scalars of units from lengths and signs that they must have: a triangular system for each unit."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.weightspace.axes import Unit
from intertwine.weightspace.hidden import HiddenSpace


def solved(
    hidden: HiddenSpace,
    lengths: Iterable[tuple[Unit, Float[Tensor, "b n"]]],
    signs: Iterable[tuple[frozenset[int], Bool[Tensor, "b n"]]],
) -> tuple[Float[Tensor, "k b n"], Bool[Tensor, "l b n"]]:
    """The logarithms and signs with which the first of these conditions hold, as many as determine them.

    Args:
        hidden: the space whose scalars are sought.
        lengths: the required scalars of each factor, as logarithms. With fewer independent conditions than
            scalars, all scalars are 1.
        signs: where a product of signs has to be −1.
    """
    log, sign = hidden.identity().log, hidden.identity().sign
    vectors: list[tuple[float, ...]] = []
    values: list[Tensor] = []
    for factor, value in lengths:
        vector = hidden.vector(factor)
        if any(vector) and torch.linalg.matrix_rank(torch.tensor([*vectors, vector])) > len(vectors):
            vectors.append(vector)
            values.append(value)
    if vectors and len(vectors) == hidden.logs:
        inverse = torch.linalg.inv(torch.tensor(vectors, dtype=torch.float64))
        log = torch.einsum("kj,jbn->kbn", inverse, torch.stack(values))
    known: set[int] = set()
    for parity, negative in signs:
        if unknown := sorted(parity - known):
            for k in parity & known:
                negative = negative ^ sign[k]
            sign[unknown[0]] = negative
            known |= set(unknown)
    return log, sign
