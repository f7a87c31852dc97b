"""Stitching drawn: what is cut and joined, the maps between two layers, and channels that were matched."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas, chain
from intertwine_book.figures.style import in_mathematics, new_figure, picture_in


def stitch_diagram() -> Figure:
    """Two networks as rows of layers, cut behind the same layer, and the map that joins front to back."""
    figure, axis = canvas(9.0, 3.6)
    layers = [f"$\\ell_{k}$" for k in range(1, 6)]
    chain(axis, (1.1, 2.6), layers, NETWORKS[0], faint=(2, 3, 4))
    chain(axis, (1.1, 1.0), layers, NETWORKS[1], faint=(0, 1))
    for y, name, colour in ((2.6, "$f$", NETWORKS[0]), (1.0, "$\\tilde f$", NETWORKS[1])):
        axis.text(0.3, y, name, ha="center", va="center", fontsize=13, color=colour)
    box(axis, (3.35, 1.8), "$\\psi$", MAP, width=0.7)
    arrow(axis, (3.1, 2.6), (3.35, 2.1))
    arrow(axis, (3.35, 1.5), (3.6, 1.0))
    arrow(axis, (7.6, 1.0), (8.1, 1.0))
    axis.text(1.85, 3.2, "front, frozen", ha="center", color=NETWORKS[0])
    axis.text(5.6, 0.2, "back, frozen", ha="center", color=NETWORKS[1])
    axis.text(3.85, 1.8, "one map of channels,\nat every pixel alike", va="center", color=MAP)
    axis.text(8.2, 1.0, "class", va="center")
    return figure


def map_pictures(maps: Mapping[str, Float[Tensor, "q p"]]) -> Figure:
    """The matrices of maps side by side, each on its own scale: blue is negative, red positive, white 0."""
    figure, axes = new_figure(1, len(maps), height=1.9, squeeze=False)
    for axis, (name, weight) in zip(axes[0], maps.items(), strict=True):
        bound = weight.abs().max().item() or 1.0
        shades = {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}
        picture_in(axis, weight.numpy(force=True), in_mathematics(name), **shades)
    axes[0, 0].set_ylabel("channel of $\\tilde f$")
    axes[0, len(maps) // 2].set_xlabel("channel of $f$")
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
            picture_in(axes[row, k], picture.numpy(force=True), cmap="cividis")
        axes[0, k].set_title(title, fontsize=9)
    axes[1, 0].axis("off")
    axes[0, 1].set_ylabel("$f$", fontsize=14)
    axes[1, 1].set_ylabel("$\\tilde f$", fontsize=14)
    return figure
