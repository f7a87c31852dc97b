"""Pictures of the page *Tasks and recipes*, from the variables that its code makes: before and after."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from torch import Tensor, nn

from intertwine_book.figures.style import COLOURS, new_figure, picture_in

Names = Mapping[str, Any]
PAGE = "api/tasks.md"
ORANGE, BLUE, GREY = COLOURS["orange"], COLOURS["blue"], COLOURS["grey"]  # before, after, what stays
SHADES = LinearSegmentedColormap.from_list(
    "from the ground to blue", [(*to_rgb(BLUE), a) for a in (0.0, 1.0)]
)
_WIDTH, _HEIGHT = 3.5, 2.0


def run(page: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables that the code of the tasks makes, and those of the recipes."""
    made: list[dict[str, Any]] = [{}, {}]
    with torch.random.fork_rng():
        for names, part in zip(made, page.read_text().split("(sec-recipes)="), strict=True):
            for code in re.findall(r"```python\n(.*?)```", part, re.DOTALL):
                exec(re.sub(r"^print\(.*", "", code, flags=re.MULTILINE), names)
    return made[0], made[1]


def figures(page: Path) -> dict[str, Figure]:
    """Every picture of the page, by its name."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small networks: threads that wait for each other take longer
    try:
        tasks, recipes = run(page)
        with torch.no_grad():
            return of_tasks(tasks) | of_recipes(recipes)
    finally:
        torch.set_num_threads(threads)


def of_tasks(made: Names) -> dict[str, Figure]:
    """A picture for each task."""
    a, b, moved, train, test, space = (made[k] for k in ("a", "b", "moved", "train", "test", "space"))
    x, match, stitching = test.images, made["weightspace"].match, made["stitching"]

    def accuracy(network: Any) -> float:
        return made["training"].evaluate(network, x, test.labels)

    relu = made["groups"].intertwiner_group("ReLU", 3).sample(made["draw"])
    first = [network[0].weight.flatten(1) for network in (a, moved, made["one"], made["other"])]
    scaled = [[values / values.std() for values in (_flat(net), net(x))] for net in (a, moved)]
    weights, outputs = zip(*scaled, strict=True)
    trained = {"a": accuracy(a), "b": accuracy(b)}
    without = stitching.stitch(a, b, at="3", kind=torch.eye(8)).evaluate(test)
    joined = {"no map": without, "rank 4": made["stitched"].evaluate(test)}
    shares, ends = [0.0, 0.25, 0.5, 0.75, 1.0], {"as given": b, "matched": match(space, a, b).model}
    walks = {name: stitching.line(a, end, train, test, shares) for name, end in ends.items()}
    walks = {name: walk["accuracy"].tolist()[::2] for name, walk in walks.items()}  # there is no batch norm
    cka = torch.tensor(made["similarity"].compare(a, b, ["1", "3"], x, "cka").to_numpy())
    units = ["digit", *(f"unit {k}" for k in range(4))]
    sizes = [[_flat(network[k]).numel() for k in (0, 2, 5)] for network in (a, made["small"])]
    untrained = [accuracy(made["net"](k)) for k in (0, 1)]
    return {
        "train": bars("accuracy", untrained, [*trained.values()], ["first network", "second network"]),
        "group": squares([made["A"], relu], ["x·sigmoid(x)", "ReLU"]),
        "symmetries": coloured(space, a),
        "move": against(("first network", "other network"), {"weights": weights, "outputs": outputs}),
        "same": against(
            ("output", "of the other"), {"trained anew": (a(x), b(x)), "moved": (a(x), moved(x))}
        ),
        "form": squares(first, ["first network", "second", "in canonical form", "in canonical form"], 2),
        "match": curves(walks, shares, "share of the second network", "accuracy"),
        "stitch": one_bar_each("accuracy", trained | joined),
        "compare": squares([cka], ["CKA of layers 1 and 3"], numbers=True),
        "null": chance(made["found"].values, made["found"].observed),
        "activations": squares([x[0, 0], *made["units"]["1"][0, :4]], units),
        "dissect": bars("best IoU", made["chance"].best, made["own"].best, labels=("chance", "own masks")),
        "shallow": neurons(made["q"], made["shallow"].compress(made["q"]).network),
        "genni": regions(made["loss"].relative, 0.1),
        "task-prune": bars("weights", sizes[0], sizes[1], ["first layer", "second", "last"]),
    }


def of_recipes(made: Names) -> dict[str, Figure]:
    """A picture for each recipe."""
    model, smoothed, many, mlp, moved = (made[k] for k in ("model", "smoothed", "many", "mlp", "elsewhere"))
    form = [made["ws"].canonicalise(made["orbit"], network).model for network in (mlp, moved)]
    norms = [made["largest"](network, "norm2") for network in (model, smoothed)]
    sizes = [[_flat(layer).numel() for layer in unet.children()] for unet in (made["unet"], made["small"])]
    entries = [network.embed.weight.abs().amax(0) for network in (model, made["turned"])]
    outputs = {
        "router forgotten": (model(many), made["broken"](many)),
        "router scaled": (model(many), smoothed(many)),
    }
    weights = {"as given": (_flat(mlp), _flat(moved)), "canonical": (_flat(form[0]), _flat(form[1]))}
    x, shares = torch.arange(43)[:, None] + torch.arange(7), [k / 10 for k in range(11)]

    def loss(end: str, share: float) -> float:
        logits = made["mixed"](made["one"], made[end], share)(x[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten()).item()

    losses = {
        name: [loss(end, s) for s in shares] for name, end in (("as given", "other"), ("matched", "back"))
    }
    return {
        "smooth": bars("largest activation", norms[0], norms[1]),
        "spin": bars("largest entry", entries[0], entries[1]),
        "missed": against(("output before", "output after"), outputs),
        "prune": bars("weights", sizes[0], sizes[1], [name for name, _ in made["unet"].named_children()]),
        "merge": curves(losses, shares, "share of the second network", "loss"),
        "hash": against(("weights of one network", "of the other"), weights),
        "table": marks(made["table"]),
    }


def bars(
    ylabel: str,
    before: Any,
    after: Any,
    names: Sequence[str] = (),
    labels: Sequence[str] = ("before", "after"),
) -> Figure:
    """Two bars for each channel, or for each name."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    for values, shift, label, colour in ((before, -0.2, labels[0], ORANGE), (after, 0.2, labels[1], BLUE)):
        places = [k + shift for k in range(len(values))]
        axis.bar(places, [float(value) for value in values], 0.4, color=colour, label=label)
    axis.set(xlabel="" if names else "channel", ylabel=ylabel)
    axis.set_xticks(range(len(names)), names) if names else None
    axis.grid(axis="x", visible=False)
    axis.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), borderpad=0)
    return figure


def one_bar_each(ylabel: str, values: Mapping[str, float]) -> Figure:
    """One bar a name; the last two are before and after."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    axis.bar(range(len(values)), [*values.values()], 0.6, color=[GREY] * (len(values) - 2) + [ORANGE, BLUE])
    axis.set_xticks(range(len(values)), [*values])
    axis.set(ylabel=ylabel)
    axis.grid(axis="x", visible=False)
    return figure


def against(names: tuple[str, str], pairs: Mapping[str, tuple[Tensor, Tensor]]) -> Figure:
    """The numbers of one tensor against those of another: for two pairs, before and after."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    for (name, (x, y)), colour in zip(pairs.items(), (ORANGE, BLUE), strict=True):
        axis.plot(
            x.flatten()[:200].numpy(),
            y.flatten()[:200].numpy(),
            ".",
            ms=4,
            alpha=0.6,
            color=colour,
            label=name,
        )
    axis.set(xlabel=names[0], ylabel=names[1])
    axis.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), borderpad=0)
    return figure


def curves(lines: Mapping[str, Sequence[float]], x: Sequence[float], xlabel: str, ylabel: str) -> Figure:
    """Two lines, before and after."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    for (name, y), colour in zip(lines.items(), (ORANGE, BLUE), strict=True):
        axis.plot(x, y, "o-", color=colour, label=name)
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, 1.1 * max(map(max, lines.values()))))
    axis.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), borderpad=0)
    return figure


def squares(
    matrices: Sequence[Tensor], titles: Sequence[str], rows: int = 1, numbers: bool = False
) -> Figure:
    """Matrices as pictures, the larger an entry the darker."""
    figure, axes = new_figure(rows, len(matrices) // rows, width=_WIDTH, height=_HEIGHT, squeeze=False)
    for axis, matrix, title in zip(axes.flat, matrices, titles, strict=True):
        picture_in(axis, matrix.abs().numpy(), title, cmap=SHADES, vmin=0)
        for (i, j), value in np.ndenumerate(matrix.numpy()) if numbers else ():
            axis.text(j, i, f"{value:.2f}", ha="center", va="center", color="white")
    return figure


def coloured(space: Any, network: nn.Module) -> Figure:
    """Weights as rectangles; the edge of rows or columns that move has the colour of their hidden space."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    moving = zip(space.spec.values(), (ORANGE, BLUE), strict=True)
    sides = {side: colour for hidden, colour in moving for side in hidden}
    for place, name in enumerate(name for name, p in network.named_parameters() if p.ndim > 1):
        x = 1.5 * place
        axis.plot([x, x], [0, 1], lw=6, solid_capstyle="butt", color=sides.get((name, 0), GREY))
        axis.plot([x, x + 1], [1, 1], lw=6, solid_capstyle="butt", color=sides.get((name, 1), GREY))
        axis.fill_between([x, x + 1], 0, 1, color=GREY, alpha=0.15, lw=0)
        axis.text(x + 0.5, 0.45, name, ha="center")
    axis.set(xlim=(-0.2, 4.2), ylim=(-0.1, 1.2))
    axis.axis("off")
    return figure


def chance(values: Any, observed: Any) -> Figure:
    """What unrelated images give, and what the layers gave."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    axis.hist(np.asarray(values), bins=10, color=ORANGE)
    axis.axvline(float(observed), color=BLUE, lw=3)
    axis.text(float(observed) - 0.03, axis.get_ylim()[1] * 0.8, "these layers", ha="right", color=BLUE)
    axis.text(0.06, axis.get_ylim()[1] * 0.4, "unrelated images", color=ORANGE)
    axis.set(xlabel="CKA", ylabel="draws", xlim=(-0.05, 1.05))
    return figure


def neurons(before: Any, after: Any) -> Figure:
    """Each neuron of two shallow networks of one input, and their sums."""
    figure, axes = new_figure(1, 2, width=_WIDTH, height=_HEIGHT, sharey=True)
    x = np.linspace(-1, 1, 101)[:, None]
    for axis, network, colour in ((axes[0], before, ORANGE), (axes[1], after, BLUE)):
        each = np.maximum(x @ network.W.T + network.b, 0) * network.V[0]
        axis.plot(x, each, color=GREY, lw=1)
        axis.plot(x, each.sum(1) + network.c, color=colour, lw=3)
        axis.set_title(f"{network.n} neurons")
    return figure


def regions(loss: Tensor, epsilon: float) -> Figure:
    """Where a loss on a plane is below a threshold."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    axis.contourf(loss.T.numpy(), levels=[0, epsilon], colors=[BLUE])
    axis.contour(loss.T.numpy(), levels=10, colors=[GREY], linewidths=0.5)
    axis.set(xticks=[], yticks=[], aspect="equal")
    axis.grid(visible=False)
    return figure


def marks(table: Mapping[str, Mapping[str, Sequence[str]]]) -> Figure:
    """Weights, and the spaces that each writes and reads."""
    figure, axis = new_figure(width=_WIDTH, height=_HEIGHT)
    spaces = sorted({name for row in table.values() for side in row.values() for name in side})
    for side, colour, shift in (("output_space", ORANGE, -0.15), ("input_space", BLUE, 0.15)):
        places = [
            (k, spaces.index(name) + shift) for k, row in enumerate(table.values()) for name in row[side]
        ]
        axis.plot(*zip(*places, strict=True), "s", ms=4, color=colour)
    axis.set_yticks(range(len(spaces)), spaces)
    axis.set(xticks=[], xlabel="weights")
    return figure


def _flat(network: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])
