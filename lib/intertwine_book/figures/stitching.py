"""Stitching drawn: what is cut and joined, the maps between two layers, and channels that were matched."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from intertwine_book.figures.style import COLOURS, new_figure


def stitch_diagram() -> Figure:
    """Two networks as rows of layers, cut behind the same layer, and the map that joins front to back."""
    figure, axis = new_figure(height=2.3)
    for row, (name, colour) in enumerate({"$f$": COLOURS["blue"], "$\\tilde f$": COLOURS["orange"]}.items()):
        for k in range(5):
            used = k < 2 if row == 0 else k >= 2
            _box(axis, 1.0 + k * 1.5, 1.4 - 1.4 * row, colour, f"$\\ell_{k + 1}$", faint=not used)
        axis.text(0.35, 1.4 - 1.4 * row, name, ha="center", va="center", fontsize=13, color=colour)
    _box(axis, 3.25, 0.7, COLOURS["green"], "$\\psi$", width=0.7)
    arrows = [((3.0, 1.4), (3.25, 1.0)), ((3.25, 0.4), (3.5, 0.0))]
    arrows += [((1.5, 1.4), (2.0, 1.4)), ((4.5, 0), (5.0, 0)), ((6.0, 0), (6.5, 0)), ((7.5, 0), (8.0, 0))]
    for start, end in arrows:
        axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": COLOURS["ink"], "lw": 1.4})
    axis.text(1.75, 2.05, "front, frozen", ha="center", color=COLOURS["blue"])
    axis.text(5.5, -0.85, "back, frozen", ha="center", color=COLOURS["orange"])
    axis.text(3.75, 0.72, "one map of channels,\nat every pixel alike", va="center", color=COLOURS["green"])
    axis.text(8.1, 0, "class", va="center")
    axis.set(xlim=(0, 8.9), ylim=(-1.1, 2.4))
    axis.axis("off")
    return figure


def _box(
    axis: Axes, x: float, y: float, colour: str, text: str, *, width: float = 1.0, faint: bool = False
) -> None:
    shape, alpha = "round,pad=0,rounding_size=0.12", 0.12 if faint else 0.35
    corner = (x - width / 2, y - 0.3)
    axis.add_patch(FancyBboxPatch(corner, width, 0.6, boxstyle=shape, fc=colour, ec=colour, alpha=alpha))
    axis.text(x, y, text, ha="center", va="center", alpha=0.45 if faint else 1)


def map_pictures(maps: Mapping[str, Float[Tensor, "q p"]]) -> Figure:
    """The matrices of maps side by side, each on its own scale: blue is negative, red positive, white 0."""
    figure, axes = new_figure(1, len(maps), height=1.9, squeeze=False)
    for axis, (name, weight) in zip(axes[0], maps.items(), strict=True):
        bound = weight.abs().max().item() or 1.0
        axis.imshow(weight.numpy(force=True), cmap="RdBu_r", vmin=-bound, vmax=bound)
        axis.set_title(name.replace("G_ReLU", "$G_{\\mathrm{ReLU}}$"))
        axis.set(xticks=[], yticks=[])
        axis.grid(visible=False)
    axes[0, 0].set_ylabel("channel of $\\tilde f$")
    figure.supxlabel("channel of $f$", fontsize="medium")
    return figure


def matched_channels(
    image: Float[Tensor, "h w"],
    X: Float[Tensor, "p i j"],
    Y: Float[Tensor, "q i j"],
    pairs: Sequence[tuple[int, int]],
) -> Figure:
    """An image, and what matched channels of two networks make of it: the first network above the second."""
    figure, axes = new_figure(2, len(pairs) + 1, height=2.4)
    shown = [(image, image), *((X[a], Y[b]) for a, b in pairs)]
    titles = ["image", *(f"{a} → {b}" for a, b in pairs)]
    for k, (two, title) in enumerate(zip(shown, titles, strict=True)):
        for row, picture in enumerate(two):
            axes[row, k].imshow(torch.as_tensor(picture).numpy(force=True), cmap="cividis")
            axes[row, k].set(xticks=[], yticks=[])
            axes[row, k].grid(visible=False)
        axes[0, k].set_title(title, fontsize=9)
    axes[1, 0].axis("off")
    axes[0, 1].set_ylabel("$f$")
    axes[1, 1].set_ylabel("$\\tilde f$")
    return figure
