"""Chapter 7, shallow ReLU networks: what the recorded runs say."""

from functools import partial

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures import shallow
from intertwine_book.figures.readable import readable
from intertwine_book.results import on_record
from intertwine_book.stories.told import span

record = partial(on_record, "07_shallow_relu")

TRIED = {
    "Definition 3 with its lemmas": ("reductions", ["holds"], None),
    "Proposition 14: affine functions": ("affine", ["holds"], None),
    "Lemma 17: equal minimal forms": ("differences", ["lemma_17"], None),
    "Theorems 3 and 4: equal functions": ("differences", ["theorems_3_4"], None),
    "the canonical form (ours)": ("verdicts", ["holds"], None),
    "Theorem 2: the stabiliser": ("stabilizers", ["holds"], None),
    "at most C(n, ⌊n/2⌋) orbits (ours)": ("identifiability", ["as_predicted"], None),
    "local identifiability, conjectured (proof ours)": ("identifiability", ["locally"], None),
    "Proposition 24: one orbit": (
        "fibres",
        ["proposition_24"],
        "generic and no_pairs and zero_factors == 0",
    ),
    "Corollary 9: stabilisers that are not trivial": ("fibres", ["corollary_9"], "not stabilizer_trivial"),
    "Corollary 15: no opposite neurons": ("fibres", ["corollary_15"], "no_pairs"),
    "Corollary 16: the same, nothing deleted": (
        "fibres",
        ["corollary_16"],
        "no_pairs and zero_factors == 0",
    ),
    "Lemma 22: minors of dependent rows": ("minors", ["lemma_22"], None),
    "Lemma 23: minors and merging": ("minors", ["lemma_23"], "dependent == 0"),
}
"""Statement → the table of its cases, the columns that are true where it holds, the rows of its premise."""


def cases(statement: str) -> pd.DataFrame:
    """The cases in which a statement was tried: those that meet its premise."""
    name, _, premise = TRIED[statement]
    return record(name).query(premise) if premise else record(name)


def statements() -> HTML:
    """No case contradicts a statement; how many were tried."""
    table = pd.DataFrame([{"statement": tried, "cases": len(cases(tried))} for tried in TRIED])
    headings = {"statement": "statement", "cases": "cases, all of which hold"}
    title = "Statements and the number of cases in which they hold"
    return readable(table, headings, title=title)


def integers() -> pd.DataFrame:
    """Sets to flip of networks with integer weights, by the largest integer."""
    return record("density").query("size > 0")


def hidden_counts() -> Figure:
    """Small integer weights leave dozens of sets to flip, large ones hardly any."""
    return shallow.hidden_counts(integers())


def further() -> dict[str, float]:
    """Of networks with weights −1, 0 and 1, those in which each set to flip is a further symmetry.

    Their share in percent, and the median number of sets: as drawn, and after equal neurons were merged.
    """
    found = record("apart")
    told = {"tried-apart": float(len(found))}
    for name, of in {"apart": "", "merged": "reduced_"}.items():
        own = found[found[f"{of}apart"]]
        told |= {f"share-{name}": 100 * len(own) / len(found), f"median-{name}": own[f"{of}hidden"].median()}
    return told


def degeneracies() -> Figure:
    """With weight decay networks lie near degenerate ones, most of all by neurons that never fire."""
    return shallow.degeneracies(record("degeneracy"))


DECAYS = {"none": "decay 0", "weak": "decay 1e-05", "usual": "decay 0.0001", "strong": "decay 0.001"}
"""A word for each weight decay → its networks in the tables."""


def distances(neurons: str = "all") -> pd.DataFrame:
    """The smallest and the largest distance of each kind (rows) for each kind of networks."""
    table = record("degeneracy").query("neurons == @neurons").groupby(["network", "distance"], sort=False)
    return table["value"].agg(["min", "max"])


def certified(network: str, neurons: str = "all") -> int:
    """How many networks of a kind are certified generic."""
    rows = record("degeneracy").query("distance == 'dead' and network == @network and neurons == @neurons")
    return int(rows["generic"].sum())


def neurons() -> pd.DataFrame:
    """Every hidden neuron: its network, the norm of its input weights, and whether it never fires."""
    return record("neurons").assign(silent=lambda table: table["fires"] == 0)


def facts() -> dict[str, float]:
    """The numbers in sentences.

    Example:
        >>> facts()["median-1"]
        34.0
    """
    refuted, orbits = record("grigsby").iloc[0], record("identifiability")["orbits"]
    median = integers().groupby("size")["hidden"].median()
    told = {
        "regions": refuted["regions"],
        "functions": refuted["functions"],
        "identified": len(orbits),
        "one-orbit": (orbits == 1).sum(),
        "several-orbits": (orbits > 1).sum(),
        "most-orbits": orbits.max(),
        "per-size": integers().groupby("size").size().unique().item(),
        "median-1": median[1],
        "median-2": median[2],
    }
    return {name: float(value) for name, value in (told | further()).items()} | _decay()


def by_decay() -> HTML:
    """What weight decay does to hidden neurons: a row for each."""
    headings = {
        "decay": "weight decay",
        "silent": "neurons of 64 that never fire",
        "silent_size": "norm of their input weights (median)",
        "size": "norm of those of the others",
        "certified": "networks certified generic",
        "accuracy": "test accuracy, %",
    }
    told = _decay()
    rows = [
        {
            "decay": decay,
            "silent": f"{told[f'silent-{name}-low']:.0f} to {told[f'silent-{name}-high']:.0f}",
            "silent_size": f"{told[f'silent-size-{name}']:.3f}",
            "size": f"{told[f'size-{name}']:.1f}",
            "certified": f"{told[f'certified-{name}']:.0f} of {told['networks-told']:.0f}",
            "accuracy": f"{told[f'accuracy-{name}']:.1f}",
        }
        for name, decay in zip(DECAYS, ("0", "10⁻⁵", "10⁻⁴", "10⁻³"), strict=True)
    ]
    return readable(pd.DataFrame(rows), headings, title="Hidden neurons by weight decay, four networks each")


def _decay() -> dict[str, float]:
    table, found = neurons(), distances()
    silent = table.groupby(["network", "trial"])["silent"].sum()
    sizes = table.groupby(["network", "silent"])["input"].median()
    accuracy = record("degeneracy").groupby("network")["accuracy"].mean()
    told = {"networks-told": table["trial"].nunique(), "nearest-none": found.loc["decay 0", "min"].min()}
    told["furthest-usual"] = found.loc["decay 0.0001", "max"].max()
    told["active-usual"] = distances("active").loc["decay 0.0001", "min"].min()
    for name, network in DECAYS.items():
        told |= span(**{f"silent-{name}": silent[network]})
        told |= {f"accuracy-{name}": accuracy[network], f"certified-{name}": certified(network)}
        told |= {f"size-{name}": sizes[network, False], f"silent-size-{name}": sizes[network, True]}
    return {name: float(value) for name, value in told.items()}
