"""Pictures of the page *Recipes*, from its code: `python -m intertwine_book.figures.recipes` draws them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import nn

from intertwine_book.figures.style import COLOURS, new_figure, use_style

BOOK = Path(__file__).parents[3] / "book"
ORANGE, BLUE = COLOURS["orange"], COLOURS["blue"]  # before and after


def examples() -> dict[str, Any]:
    """The variables that the code of the page makes."""
    names: dict[str, Any] = {}
    with torch.random.fork_rng():
        for code in re.findall(r"```python\n(.*?)```", (BOOK / "api/recipes.md").read_text(), re.DOTALL):
            exec(code, names)
    return names


@torch.no_grad()
def figures(made: Mapping[str, Any]) -> dict[str, Figure]:
    """A picture for each recipe, from the variables of the page."""
    model, smoothed, many, mlp = (made[name] for name in ("model", "smoothed", "many", "mlp"))
    moved, form = made["elsewhere"], lambda network: made["ws"].canonicalise(made["orbit"], network).model
    norms = [made["largest"](network, "norm2") for network in (model, smoothed)]
    sizes = [[_flat(layer).numel() for layer in unet.children()] for unet in (made["unet"], made["small"])]
    entries = [network.embed.weight.abs().amax(0) for network in (model, made["turned"])]
    whole, part = (f"router {word}" for word in ("scaled", "forgotten"))
    return {
        "smooth": bars("largest activation", norms[0], norms[1]),
        "spin": bars("largest entry", entries[0], entries[1]),
        "missed": against(
            ("output before", "output after"),
            {part: (model(many), made["broken"](many)), whole: (model(many), smoothed(many))},
        ),
        "prune": bars("weights", sizes[0], sizes[1], [name for name, _ in made["unet"].named_children()]),
        "merge": line(made),
        "hash": against(
            ("weights of one network", "of the other"),
            {"as given": (_flat(mlp), _flat(moved)), "canonical": (_flat(form(mlp)), _flat(form(moved)))},
        ),
    }


def bars(ylabel: str, before: Any, after: Any, names: Sequence[str] = ()) -> Figure:
    """Two bars for each channel, or for each layer of a name."""
    figure, axis = new_figure(width=4.2, height=2.0)
    for values, shift, name, colour in ((before, -0.2, "before", ORANGE), (after, 0.2, "after", BLUE)):
        places = [k + shift for k in range(len(values))]
        axis.bar(places, [float(value) for value in values], 0.4, color=colour, label=name)
    axis.set(xlabel="layer" if names else "channel", ylabel=ylabel)
    axis.set_xticks(range(len(names)), names)
    axis.grid(axis="x", visible=False)
    axis.legend()
    return figure


def against(names: tuple[str, str], pairs: Mapping[str, tuple[torch.Tensor, torch.Tensor]]) -> Figure:
    """The numbers of one tensor against those of another: for two pairs, before and after."""
    figure, axis = new_figure(width=4.2, height=2.4)
    for (name, (x, y)), colour in zip(pairs.items(), (ORANGE, BLUE), strict=True):
        axis.plot(x.flatten()[:200], y.flatten()[:200], ".", ms=4, alpha=0.6, color=colour, label=name)
    axis.set(xlabel=names[0], ylabel=names[1])
    axis.legend()
    return figure


def line(made: Mapping[str, Any]) -> Figure:
    """The loss between two networks, on data of both: as they are, and after one was matched to the other."""
    x, shares = torch.arange(43)[:, None] + torch.arange(7), torch.linspace(0, 1, 11)
    figure, axis = new_figure(width=4.2, height=2.0)
    for name, end, colour in (("as given", "other", ORANGE), ("matched", "back", BLUE)):
        losses = []
        for share in shares:
            logits = made["mixed"](made["one"], made[end], float(share))(x[:, :-1])
            losses.append(nn.functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten()).item())
        axis.plot(shares, losses, "o-", color=colour, label=name)
    axis.set(xlabel="share of the second network", ylabel="loss", ylim=(0, None))
    axis.legend()
    return figure


def _flat(network: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


if __name__ == "__main__":
    use_style()
    for name, figure in figures(examples()).items():
        figure.savefig(BOOK / f"_static/recipes/{name}.svg", metadata={"Date": None})
