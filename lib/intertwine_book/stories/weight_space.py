"""What the recorded runs of chapter 1b say of orbits, conserved quantities and teleportation."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.decay import imbalance_decay
from intertwine_book.figures.orbits import along_orbit, level_curve
from intertwine_book.figures.readable import readable
from intertwine_book.results import interval, on_record
from intertwine_book.stories.told import span

record = partial(on_record, "01b_weight_space")

STARTS = {1.0: "plain", 2.0: "r = 2", 4.0: "r = 4"}
"""Bounds on the scalings of a teleportation, in words."""


def level() -> Figure:
    """The loss is constant on the orbit, and its valley is narrow at one point and wide at another."""
    plane = record("surface").pivot(index="p", columns="q", values="loss")
    cuts = record("cuts").replace({"at": {"flat": "as trained"}})
    return level_curve(plane, {"as trained": 1.0, "sharp": math.exp(1.25)}, cuts)


def orbit() -> Figure:
    """Along the orbit gradient, curvature and norm vary; the loss and the relative sharpness are constant."""
    return along_orbit(record("orbit"))


def drifted() -> pd.DataFrame:
    """Change at the end, in percent: rows quantity and trial, a column for each learning rate."""
    ends = record("drift").query("time > 19.9")
    return ends.pivot_table(index=["quantity", "trial"], columns="rate", values="drift")


def drift() -> Figure:
    """Halving the learning rate about halves the drift of conserved quantities."""
    shown = record("drift").query("time > 0").assign(rate=lambda table: "η = " + table["rate"].astype(str))
    axes: dict[str, Any] = {"xlabel": "time", "ylabel": "change, %"}
    return mean_curves(shown, "time", "drift", "rate", panels="quantity", **axes, log=True)


def imbalance() -> Figure:
    """Gradient descent keeps the imbalance without weight decay, and forgets it at the known rate with it."""
    return imbalance_decay(record("decay"))


def teleported() -> pd.DataFrame:
    """The recorded descents, with a column `start` in words."""
    return record("teleport").assign(start=lambda table: table["reach"].map(STARTS))


def losses() -> pd.DataFrame:
    """Training loss of each network: rows rate, step and trial, a column for each start."""
    return teleported().pivot_table(index=["rate", "step", "trial"], columns="start", values="loss")


def best() -> pd.Series:
    """The learning rate that gives each start the lowest mean loss after 100 steps."""
    return losses().xs(100, level="step").groupby("rate").mean().idxmin()


def teleport() -> Figure:
    """At rate 1 a teleported network is ahead at once; with the best rate of each later, and by little."""
    table = teleported()
    same = table[table["rate"] == 1.0].assign(choice="learning rate 1")
    own = table[table["rate"] == table["start"].map(best())].assign(choice="the best rate of each start")
    axes: dict[str, Any] = {"xlabel": "steps", "ylabel": "training loss"}
    return mean_curves(pd.concat([same, own]), "step", "loss", "start", panels="choice", **axes, log=True)


def counts() -> pd.DataFrame:
    """In how many networks a move with r = 4 gives the smaller loss: rows learning rates, columns steps."""
    wide = losses()
    lower = (wide["r = 4"] < wide["plain"]).groupby(["rate", "step"]).sum()
    return lower.unstack("step")[[5, 10, 20, 100]]


def ahead() -> HTML:
    """A move with r = 4 helps at small learning rates, and harms at the largest in most networks."""
    shown = counts().rename(columns="{} steps".format)
    ends = losses().xs(100, level="step").groupby("rate").mean()
    shown = shown.assign(moved=ends["r = 4"], plain=ends["plain"]).reset_index()
    shown["rate"] = [f"{rate:g}" for rate in shown["rate"]]
    headings = {"rate": "learning rate"} | {f"{k} steps": f"ahead, {k} steps" for k in counts()}
    headings |= {"moved": "loss, r\u00a0=\u00a04", "plain": "loss, plain"}  # unbroken
    return readable(
        shown, headings, title="Networks in which the moved one is ahead, and mean losses at the end"
    )


def leads() -> pd.DataFrame:
    """How much lower each network ends if it and the plain one have their own best rate: a column a start."""
    own = losses().xs(100, level="step").groupby("trial").min()
    return own[["r = 2", "r = 4"]].rsub(own["plain"], axis=0)


def shifts(found: pd.DataFrame) -> HTML:
    """A sigmoid can also be reflected, and exp shifted by any amount."""
    written = {
        name: [f"{value + 0.0:.3g}".replace("-", "−") for value in found[name].round(9)] for name in "atbs"
    }
    shown = found.assign(**written)
    shown["t"] = shown["t"].str.replace("3.14", "π")
    shown.loc[shown["every_t"], ["t", "b"]] = ["t", "eᵗ"]
    headings = {name: name for name in ("activation", "a", "t", "b", "s")}
    return readable(shown, headings, title="Affine intertwiners")


def facts() -> dict[str, float]:
    """What sentences say of the recorded runs; changes in percent.

    Example:
        >>> round(facts()["tele-gradient"]), round(facts()["drift-fine"], 1)
        (9, 1.3)
    """
    equal = record("epsilon_nets").groupby("n")["equal_at"].first()
    sizes = {f"equal-{n}": equal[n] for n in (16, 512)}
    told = _of_orbit() | _of_drift() | _of_decay() | _of_teleportation() | _of_statements() | sizes
    return {name: float(value) for name, value in told.items()}


def _of_orbit() -> dict[str, float]:
    table = record("orbit")
    names = {"gradient": "gradient_norm", "eigenvalue": "largest_eigenvalue", "norm": "squared_norm"}
    factors = {f"{name}-factor": table[of].max() / table[of].min() for name, of in names.items()}
    end, flattest = (
        table.set_index("t").loc[t] for t in (0, table["t"][table["largest_eigenvalue"].idxmin()])
    )
    told = {"gradient-end": end["gradient_norm"], "eigenvalue-end": end["largest_eigenvalue"]}
    told |= {"flattest": -flattest.name, "eigenvalue-flattest": flattest["largest_eigenvalue"]}
    return factors | told | {"points": len(table)}


def _of_drift() -> dict[str, float]:
    ends = drifted()
    whole, free = ends.loc["linear, whole matrix"], ends.loc["ReLU, off the diagonal"].mean()
    told = {"drift-coarse": whole[0.4].mean(), "drift-fine": whole[0.1].mean(), "networks": len(whole)}
    return told | span(**{"drift-free": free})


def _of_decay() -> dict[str, float]:
    decay = record("decay")
    return {"flow-error": 100 * (decay["imbalance"] / decay["predicted"] - 1).abs().max()}


def _of_teleportation() -> dict[str, float]:
    gradient = teleported().query("step == 0").groupby("start")["gradient"].mean()
    told = {"gradient": gradient["r = 4"]}
    for start, name in {"plain": "plain", "r = 2": "two", "r = 4": "four"}.items():
        told[f"best-{name}"] = best()[start]
    for start, name in {"r = 2": "two", "r = 4": "four"}.items():
        told[f"own-{name}"] = leads()[start].mean()
        told[f"own-{name}-low"], told[f"own-{name}-high"] = interval(leads()[start])
    told["own-four-below"] = -told.pop("own-four-low")  # a sentence writes the minus sign
    return {f"tele-{name}": value for name, value in told.items()}


def _of_statements() -> dict[str, float]:
    moved, index = record("proposition_3_4"), record("theorem_4_2").query("rule == 'printed'")["error"]
    tie = record("remark_3_6").query("joins == 'output to pre-activation' and activation == 'abs'")
    errors = tie.groupby("rule")["error"]
    told = {
        "moved-networks": len(moved[["activation", "trial"]].drop_duplicates()),
        "moved-error": moved[["front_error", "back_error", "function_error"]].max(axis=None),
        "moved-least": math.floor(100 * moved["representation_changed"].min()),
        "wrong-index": math.floor(100 * index.min()),
        "wrong-index-draws": len(index),
        "tie-networks": tie["trial"].nunique(),
        "tie-exact": errors.get_group("exact").max(),
    }
    told |= span(**{"tie-printed": 100 * errors.get_group("printed")})
    return {name: float(value) for name, value in told.items()}


def facts_of(tables: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """What sentences say of a run's own tables; changes in percent."""
    excess = tables["decay"].groupby("weight_decay")["excess"]
    strongest = tables["decay"].iloc[-1]
    ten = tables["teleport"].query("step == 10")
    ten = ten[ten["rate"] == ten["rate"].iloc[0]].groupby("reach")["loss"].mean()
    return {
        "excess-start": excess.first().iloc[0],
        "excess-none": excess.last().iloc[0],
        "excess-most": excess.last().iloc[-1],
        "excess-time": strongest["time"],
        "excess-fold": 0.5 / strongest["weight_decay"],
        "live-moved": ten[4.0],
        "live-plain": ten[1.0],
    }
