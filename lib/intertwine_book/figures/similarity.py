"""Similarity drawn: what Procrustes and CKA compare."""

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from intertwine.groups import Orthogonal
from intertwine.similarity import u_centred
from intertwine_book.figures.schematics import NETWORKS
from intertwine_book.figures.style import COLOURS, new_figure


def gram_matrices(K: Float[Tensor, "n n"], L: Float[Tensor, "n n"], labels: Int[Tensor, " n"]) -> Figure:
    """Two Gram matrices of the same images, sorted by class, and their centred entries against each other."""
    figure, axes = new_figure(1, 3, height=2.5)
    order = labels.argsort(stable=True)
    starts = torch.searchsorted(labels[order].contiguous(), labels.unique())
    for axis, G, name, colour in zip(axes, (K, L), "KL", NETWORKS, strict=False):
        low, high = torch.quantile(G.flatten(), torch.tensor([0.02, 0.98], dtype=G.dtype))
        axis.imshow(G[order][:, order].numpy(), cmap="cividis", vmin=low, vmax=high)
        axis.set_xticks(starts, labels.unique().tolist())
        axis.set_yticks(starts, labels.unique().tolist())
        axis.set_title(f"${name}$: network {'KL'.index(name) + 1}", color=colour)
        axis.grid(visible=False)
    pairs = torch.triu_indices(len(K), len(K), 1)
    left, right = (Z[pairs[0], pairs[1]] / Z.abs().max() for Z in (u_centred(K), u_centred(L)))
    axes[2].plot(left, right, ".", ms=2, alpha=0.3, color=COLOURS["grey"], mew=0, rasterized=True)
    cosine = (left @ right / (left.norm() * right.norm())).item()
    axes[2].set(
        xlabel=r"$\bar K_{ij}$",
        ylabel=r"$\bar L_{ij}$",
        xticks=[0],
        yticks=[0],
        xticklabels=[],
        yticklabels=[],
    )
    axes[2].set_title(f"pairs of images\nCKA = {cosine:.2f}")
    return figure


def shared_units(rows: dict[str, tuple[Float[Tensor, " d"], Float[Tensor, " d"]]]) -> Figure:
    """Bars of two images' features and their products, the largest marked; a row for each basis."""
    figure, axes = new_figure(len(rows), 3, height=1.45 * len(rows) + 0.4, sharex=True, sharey=True)
    for line, (name, (x, y)) in zip(axes, rows.items(), strict=True):
        best = int((x * y).argmax())
        for axis, bars, colour in zip(line, (x, y, x * y), (*NETWORKS, COLOURS["grey"]), strict=True):
            axis.bar(range(len(bars)), bars.numpy(), color=colour, alpha=0.6)
            axis.axhline(0, color=COLOURS["ink"], lw=0.8)
            axis.set(xticks=[], yticks=[])
        line[2].bar(best, (x * y)[best].item(), color=COLOURS["red"])
        said = f"sum {float(x @ y):.2f}, max {float((x * y).max()):.2f}"
        line[2].text(0.5, 0.97, said, transform=line[2].transAxes, ha="center", va="top")
        line[0].set_ylabel(name)
    for axis, title in zip(axes[0], ("image $i$", "image $j$", "product, unit by unit"), strict=True):
        axis.set_title(title)
    axes[0, 0].set_ylim(top=1.45 * axes[0, 0].get_ylim()[1])
    return figure


def units_in_three_bases() -> Figure:
    """The features of two images as given, with their units permuted, and after a rotation."""
    x = torch.tensor([0.1, 0.9, 0.0, 0.4, 0.3, 0.0], dtype=torch.float64)
    y = torch.tensor([0.3, 0.7, 0.1, 0.0, 0.5, 0.2], dtype=torch.float64)
    Q = Orthogonal(6).sample(torch.Generator().manual_seed(3)).double()
    return shared_units({"as given": (x, y), "permuted": (x.flip(0), y.flip(0)), "turned": (Q @ x, Q @ y)})


def impossible_triangle(points: Float[Tensor, "3 2"], K: Float[Tensor, "3 3"]) -> Figure:
    """Three points, their Gram matrix, and the distances that it would give to three vectors."""
    figure, (left, middle, right) = new_figure(1, 3, height=2.3)
    names, places = "xyz", np.array([[0.5, 0.85], [0.0, 0.0], [1.0, 0.0]])
    for name, (a, b) in zip(names, points.tolist(), strict=True):
        left.annotate("", (a, b), (0, 0), arrowprops={"arrowstyle": "->", "color": NETWORKS[0], "lw": 1.6})
        side = "bottom" if b == 0 else "center"
        left.text(a + 0.06, b + 0.12 * (not a), f"${name}$ = ({a:g}, {b:g})", va=side)
    left.set(title="three points", xlim=(-0.1, 2.0), ylim=(-0.1, 1.35), xticks=[0, 1], yticks=[0, 1])
    left.set_aspect("equal")
    middle.imshow(K.numpy(), cmap="cividis", vmin=-0.2, vmax=1.4, alpha=0.5)
    for i, j in np.ndindex(3, 3):
        middle.text(j, i, f"{K[i, j]:g}", ha="center", va="center")
    middle.set_xticks(range(3), [f"${name}$" for name in names])
    middle.set_yticks(range(3), [f"${name}$" for name in names])
    middle.set_title("their max kernel")
    for i, j in ((0, 1), (0, 2), (1, 2)):
        squared = (K[i, i] + K[j, j] - 2 * K[i, j]).item()
        right.plot(*places[[i, j]].T, color=COLOURS["red" if squared else "grey"], lw=1.6)
        x, y = places[[i, j]].mean(0) + ((0.2 * (j - 1.5) * 2, 0.05) if i == 0 else (0, -0.24))
        right.text(x, y, f"√{squared:g}" if squared else "0", ha="center")
    for name, (x, y) in zip(names, places, strict=True):
        right.text(x, y + (0.06 if y else -0.24), f"$\\varphi({name})$", ha="center")
    asked = "distances of vectors φ\nthat it asks for"
    right.set(title=asked, xlim=(-0.35, 1.35), ylim=(-0.4, 1.2), aspect="equal")
    right.axis("off")
    for axis in (left, middle):
        axis.grid(visible=False)
    return figure
