"""What recorded finetuning repairs of an inserted matrix: printed values, figures and facts of chapter 2."""

from functools import partial
from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.penalties import INSERTED_COLOURS
from intertwine_book.figures.readable import readable
from intertwine_book.results import interval, recorded
from intertwine_book.stories.inserted import GROUP, TURNED, WORDS, by_paper, mean, record
from intertwine_book.stories.told import listed, said, span


def apart(name: str) -> pd.DataFrame:
    """How much more an orthogonal matrix loses than the group: a row for each layer, a column for each trial.

    Trials are networks at width 64, and matrices in one network at width 16.
    """
    table = by_paper(name)
    trial = "number" if "number" in table else "trial"
    wide = table.pivot(index=["layer", trial], columns="group", values="penalty")
    return (wide[TURNED] - wide[GROUP]).unstack(trial)


def apart_by_epoch() -> pd.DataFrame:
    """How much more a rotation loses than the group on digits: mean and 95 % interval by epoch."""
    table = record("repaired").pivot(index=["epoch", "trial"], columns="group", values="penalty")
    each = (table[TURNED] - table[GROUP]).groupby("epoch")
    ends = {epoch: (values.mean(), *interval(values)) for epoch, values in each}
    return pd.DataFrame.from_dict(ends, orient="index", columns=["mean", "low", "high"])


def by_budget() -> pd.DataFrame:
    """The penalty in the network of width 64: a row for each number of epochs, a column for each group."""
    return record("by_budget").pivot(index="budget", columns="group", values="penalty")


def printed() -> pd.DataFrame:
    """Figure 4 of godfrey2022, as read off to about 1 point: columns layer, group and penalty."""
    penalties = {GROUP: [0, 1.7, 1.3], TURNED: [0.75, 4.6, 8.3], "layer": [0, 2, 5]}
    return pd.DataFrame(penalties).melt("layer", var_name="group", value_name="penalty")


def penalties() -> HTML:
    """In closed form the group loses nothing; finetuned it loses less only at the second and third layer."""
    ways = {"closed form": "best_linear_map", "2 epochs": "finetuned"}
    rows = []
    for width, suffix in ((64, ""), (16, "_width_16")):
        found = {way: mean(name + suffix) for way, name in ways.items()}
        if width == 64:
            found["paper, 50 epochs"] = printed().pivot(index="group", columns="layer", values="penalty")
        for layer, word in WORDS.items():
            both = {way: penalty.loc[[GROUP, TURNED], layer] for way, penalty in found.items()}
            row = {
                way: "\N{NO-BREAK SPACE}|\N{NO-BREAK SPACE}".join(f"{points:.1f}" for points in pair)
                for way, pair in both.items()
            }
            rows.append({"width": str(width), "convolution": word} | row)
    table = pd.DataFrame(rows)
    return readable(
        table, {name: name for name in table}, title="Penalty in points: positive scalings | orthogonal"
    )


def repair() -> Figure:
    """The longer the finetuning, the less the group loses."""
    cifar = record("by_budget").rename(columns={"budget": "epoch"})
    networks = {"digits, width 8": record("repaired"), "CIFAR-10, width 64": cifar}
    table = pd.concat(each.assign(network=name) for name, each in networks.items())
    table = table[table["epoch"].isin([1, 2, 4, 8, 16, 32])]
    table = table.replace({"group": {"identity": "control"}}).astype({"epoch": str})
    named = partial(
        mean_curves, colours=INSERTED_COLOURS, xlabel="epochs of finetuning", ylabel="penalty, points"
    )
    return named(table, "epoch", "penalty", "group", panels="network")


def control(finetuned: pd.DataFrame) -> HTML:
    """The penalty after finetuning beside its control, by convolution."""
    names = {GROUP: "the group", "identity": "control"}
    table = finetuned.replace({"group": names})
    table = table.pivot_table(index="layer", columns="group", values="penalty").reset_index()
    headings = {"layer": "convolution", "control": "control", "the group": "group", TURNED: TURNED}
    return readable(table, headings, digits=1, title="Penalty in points after finetuning, this page")


def facts() -> dict[str, Any]:
    """The numbers in sentences."""
    return _of_finetuning() | _of_epochs()


def _of_finetuning() -> dict[str, Any]:
    table, made = recorded("02_sanity_rotations", "finetuned_width_16")["desk"]
    both = ["finetuned", "finetuned_width_16"]
    alone = pd.concat(by_paper(name).query("group == 'control'") for name in both)["penalty"]
    wide, narrow = apart("finetuned"), apart("finetuned_width_16")
    return {
        "finetuned-for": made["parameters"]["finetuning_epochs"],
        "trained-for": made["parameters"]["epochs"],
        "control": max(mean(name).loc["control"].abs().max() for name in both),
        "control-one": alone.abs().max(),
        "narrow-less": int((narrow.loc[2] > 0).sum()),
        "narrow-more": int((narrow.loc[0] < 0).sum()),
        "apart": said(narrow.loc[5], 1),
        "lead-64-0": listed(-wide.loc[0], 1),
        **{f"apart-64-{layer}": listed(wide.loc[layer], 1) for layer in (2, 5)},
        "base": table["base_accuracy"].mean(),
        **span(**{"tuned-group": mean("finetuned").loc[GROUP]}),
    }


def _of_epochs() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for epoch, gap in apart_by_epoch().loc[[2, 32]].iterrows():
        found[f"gap-{epoch}"] = gap["mean"]
        found |= {f"gap-{epoch}-{end}": gap[end] for end in ("low", "high")}
    budgets = by_budget()
    found["budget-last"] = int(budgets.index[-1])
    found["budget-base"] = record("by_budget")["base_accuracy"].mean()
    found["budget-control"] = -budgets["identity"].iloc[-1]
    found |= {f"budget-group-{at}": budgets[GROUP].iloc[k] for at, k in {"first": 0, "last": -1}.items()}
    found["budget-turned-last"] = budgets[TURNED].iloc[-1]
    # exercise: the best epoch of 32 instead of the last
    paths = record("repaired").pivot(index=["group", "trial"], columns="epoch", values="penalty")
    gained = (paths[32] - paths.min(axis=1)).groupby("group").mean()
    names = {"control": "identity", "group": GROUP, "turned": TURNED}
    return found | {f"best-{name}": gained[group] for name, group in names.items()}
