"""A walk along the line between two networks: accuracy, and what one channel sees on the way."""

import json
from collections.abc import Mapping

import pandas as pd
from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS, check_columns

_PAGE = """<div class="widget" id="line-walk">
<svg viewBox="-14 -4 128 78" role="img" aria-label="Accuracy along the line, in percent"></svg>
<p><label>fraction of the way <input type="range" min="0" max="{last}" step="1" value="{middle}"></label>
<output aria-live="polite"></output></p>
<div class="panels"></div>
</div>
"""


def line_walk(lines: pd.DataFrame, images: Mapping[str, Float[Tensor, "n h w"]]) -> HTML:
    """Two walks from a network to another, with a slider: accuracy, and a channel's response to one image.

    Example:
        >>> import pandas as pd, torch
        >>> ways = {"as trained": torch.rand(3, 8, 8), "matched": torch.rand(3, 8, 8)}
        >>> rows = [{"way": way, "fraction": k / 2, "accuracy": 50.0} for way in ways for k in range(3)]
        >>> "matched" in line_walk(pd.DataFrame(rows), ways).data
        True

    The lines have columns way, fraction (equally spaced, in order) and accuracy in percent; the images are,
    for each of two ways, a channel's activations at every fraction, where black is 0 and white the largest.
    """
    check_columns(lines, "way", "fraction", "accuracy")
    walks = []
    for way, walk in images.items():
        accuracy = lines.loc[lines["way"] == way, "accuracy"].round(1).tolist()
        if len(accuracy) != len(walk) or len(walk) < 2:
            raise ValueError(
                f"Expected an accuracy for each of at least 2 images of {way!r}, was given {len(accuracy)} "
                f"accuracies and {len(walk)} images."
            )
        grey = (255 * walk / walk.amax().clamp_min(1e-12)).clamp_min(0).round().int().tolist()
        walks.append({"way": way, "accuracy": accuracy, "images": grey})
    last = len(walks[0]["images"]) - 1
    page = _PAGE.format(last=last, middle=last // 2)
    return HTML(page + script("line_walk", "line-walk", json.dumps({"walks": walks} | COLOURS)))
