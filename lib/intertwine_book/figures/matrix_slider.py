"""A matrix of shares as cells, at the position of a slider."""

import json
from collections.abc import Sequence

from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import assignment
from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS

_PAGE = """<div class="widget" id="{name}">
<p><label>{label} <input type="range" min="0" max="{last}" step="1" value="0"> <span></span></label></p>
<svg viewBox="0 0 200 200" style="max-width: 17em" role="img" aria-label="A cell for each entry"></svg>
<p><output aria-live="polite"></output></p>
</div>
"""


def matrix_slider(matrices: Float[Tensor, "k n n"], at: Sequence[float], *, label: str, name: str) -> HTML:
    """A cell for each entry, the darker the larger; the slider goes through the matrices.

    Example:
        >>> import torch
        >>> hot_and_cold = torch.stack([torch.full((2, 2), 0.5), torch.eye(2)])
        >>> "temperature" in matrix_slider(hot_and_cold, [1.0, 0.01], label="temperature", name="cold").data
        True

    Entries lie between 0 and 1. The cells of the best permutation for the last matrix are outlined; the mean
    of their entries is said below. The values `at` stand beside the slider; `name` is the element's id.

    Raises:
        ValueError: not one value for each matrix.
    """
    if len(at) != len(matrices):
        raise ValueError(f"Expected a value for each of {len(matrices)} matrices, was given {len(at)}.")
    rows, columns = assignment(matrices[-1], maximize=True)
    shares = (matrices[:, rows, columns].mean(1) * 100).round().int().tolist()
    data = {
        "at": [f"{value:g}" for value in at],
        "cells": [[[round(x, 3) for x in row] for row in each] for each in matrices.tolist()],
        "best": list(zip(rows.tolist(), columns.tolist(), strict=True)),
        "shares": shares,
        "colour": COLOURS["blue"],
    }
    page = _PAGE.format(name=name, label=label, last=len(at) - 1)
    return HTML(page + script("matrix_slider", name, json.dumps(data)))
