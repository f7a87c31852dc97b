"""Chapter 7, shallow ReLU networks: what the recorded runs say."""

from functools import partial

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures import shallow
from intertwine_book.figures.readable import readable
from intertwine_book.results import on_record

record = partial(on_record, "07_shallow_relu")

TRIED = {
    "Definition 3 with its lemmas": ("reductions", ["holds"]),
    "Proposition 14: affine functions": ("affine", ["holds"]),
    "Lemma 17: equal minimal forms": ("differences", ["lemma_17"]),
    "Theorems 3 and 4: equal functions": ("differences", ["theorems_3_4"]),
    "the canonical form (ours)": ("verdicts", ["holds"]),
    "Theorem 2: the stabiliser": ("stabilizers", ["holds"]),
    "at most C(n, ⌊n/2⌋) orbits (ours)": ("identifiability", ["as_predicted"]),
    "local identifiability, conjectured (proof ours)": ("identifiability", ["locally"]),
    "Proposition 24: one orbit": ("fibres", ["proposition_24"]),
    "Corollaries 9, 15 and 16": ("fibres", ["corollary_9", "corollary_15", "corollary_16"]),
    "Lemmas 22 and 23: minors": ("minors", ["lemma_22", "lemma_23"]),
}
"""Statement → the table of its cases, and the columns that are true where it holds."""


def statements() -> HTML:
    """No case contradicts a statement; how many were tried."""
    cases = [{"statement": tried, "cases": len(record(name))} for tried, (name, _) in TRIED.items()]
    headings = {"statement": "statement", "cases": "cases, all of which hold"}
    title = "Statements and the number of cases in which they hold"
    return readable(pd.DataFrame(cases), headings, title=title)


def integers() -> pd.DataFrame:
    """Hidden symmetries of networks with integer weights, by the largest integer."""
    return record("density").query("size > 0")


def hidden_counts() -> Figure:
    """Small integer weights have dozens of hidden symmetries, large ones hardly any."""
    return shallow.hidden_counts(integers())


def degeneracies() -> Figure:
    """Trained networks lie far nearer to degenerate ones than untrained networks do."""
    return shallow.degeneracies(record("degeneracy"))


def certified() -> dict[str, list[bool]]:
    """Of the trained and the untrained networks, which are certified generic."""
    each = record("degeneracy").query("distance == 'dead'")  # a row a network
    return {kind: rows.tolist() for kind, rows in each.groupby("network")["generic"]}


def facts() -> dict[str, float]:
    """The numbers in sentences.

    Example:
        >>> facts()["median-1"]
        34.0
    """
    refuted, orbits, generic = record("grigsby").iloc[0], record("identifiability")["orbits"], certified()
    median = integers().groupby("size")["hidden"].median()
    told = {
        "regions": refuted["regions"],
        "functions": refuted["functions"],
        "identified": len(orbits),
        "most-orbits": orbits.max(),
        "median-1": median[1],
        "median-2": median[2],
        "networks-told": len(generic["trained"]),
        "certified-trained": sum(generic["trained"]),
        "certified-untrained": sum(generic["untrained"]),
    }
    return {name: float(value) for name, value in told.items()}
