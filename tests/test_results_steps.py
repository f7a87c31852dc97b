"""Long steps: each is done once, an interruption loses at most one, and what was asked for decides."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine_book import results
from intertwine_book.results import origin

ASKED = {"parameters": {"width": 4}, "seed": 0}


class Steps:
    """Counts what is computed, and fails once where it is told to."""

    def __init__(self, fails_at=None):
        self.seen, self.fails_at = [], fails_at

    def __call__(self, layer: str, trial: int):
        if len(self.seen) == self.fails_at:
            self.fails_at = None
            raise KeyboardInterrupt
        self.seen.append((layer, trial))
        return {"penalty": np.float64(0.1) * trial, "holds": np.bool_(trial > 0), "images": np.int64(trial)}


def cases(layers: int = 2, trials: int = 3) -> list[dict]:
    return [{"layer": f"conv{k}", "trial": t} for k in range(layers) for t in range(trials)]


@given(st.integers(0, 5))
@settings(deadline=None, max_examples=6)
def test_an_interrupted_table_goes_on_and_is_the_same(tmp_path_factory, fails_at):
    folder, compute = tmp_path_factory.mktemp("tables"), Steps(fails_at)
    with pytest.raises(KeyboardInterrupt):
        results.steps("penalties", cases(), compute, folder=folder, **ASKED)
    assert not (folder / "penalties.csv").exists() and len(compute.seen) == fails_at
    table = results.steps("penalties", cases(), compute, folder=folder, **ASKED)
    whole = results.steps("penalties", cases(), Steps(), folder=folder / "other", **ASKED)
    assert len(compute.seen) == len(set(compute.seen)) == 6
    pd.testing.assert_frame_equal(table, whole)
    again = results.steps("penalties", cases(), compute, folder=folder, **ASKED)
    pd.testing.assert_frame_equal(table, again)
    assert len(compute.seen) == 6


def test_what_was_asked_for_decides(tmp_path):
    compute = Steps()
    asked = [
        ASKED,
        ASKED | {"seed": 1},
        ASKED | {"parameters": {"width": 5}},
        ASKED | {"data_checksum": "other"},
    ]
    for k, each in enumerate(asked, start=1):
        results.steps("penalties", cases(1, 1), compute, folder=tmp_path, **each)
        assert len(compute.seen) == k
    results.steps("penalties", cases(2, 1), compute, folder=tmp_path, **asked[-1])
    assert len(compute.seen) == len(asked) + 1  # the first case was done before


def test_a_new_library_takes_no_old_step_but_finds_a_finished_table_that_is_recorded(tmp_path, monkeypatch):
    compute, recorded = Steps(fails_at=1), tmp_path / "desk/01_x"
    with pytest.raises(KeyboardInterrupt):
        results.steps("penalties", cases(), compute, folder=recorded, **ASKED)
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "new", "commit": None})
    table = results.steps("penalties", cases(), compute, folder=recorded, **ASKED)
    assert len(compute.seen) == 1 + 6
    results.steps("penalties", cases(), compute, folder=tmp_path / "own", **ASKED)
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "newer", "commit": None})
    found = results.steps("penalties", cases(), compute, folder=recorded, **ASKED)
    assert found.equals(table) and len(compute.seen) == 1 + 6 + 6
    _, provenance = results.read("penalties", folder=recorded)
    assert provenance["library_sha256"] == "new" and provenance["wall_s"] >= 0
    results.steps("penalties", cases(), compute, folder=tmp_path / "own", **ASKED)
    assert len(compute.seen) == 1 + 6 + 6 + 6
    for seen in (25, 25):  # asked for by name it is computed again, and then found
        monkeypatch.setenv("INTERTWINE_ANEW", "others penalties")
        results.steps("penalties", cases(), compute, folder=recorded, **ASKED)
        assert (
            len(compute.seen) == seen
            and results.read("penalties", folder=recorded)[1]["library_sha256"] == "newer"
        )


NOTEBOOK = """
n: int = 3
factor = 2
def half(x):
    return factor * x
for k in range(2):
    factor = k
def areas(side):
    seen.append(side)
    return {"area": half(side) + n}
title = "a figure of areas"
"""


def areas(text: str, folder, seen: list, stop: int | None = None) -> list:
    """The table of a notebook of this text, whose last steps are not done if it is to stop."""
    variables: dict = {"seen": seen, "In": ["", text]}
    exec(text, variables)
    sides = [{"side": side} for side in range(4)]
    if stop is None:
        return results.steps("areas", sides, variables["areas"], folder=folder, **ASKED)["area"].tolist()

    def stopping(side):
        if side == stop:
            raise KeyboardInterrupt
        return variables["areas"](side)

    stopping.__wrapped__ = variables["areas"]  # what its source is taken of
    with pytest.raises(KeyboardInterrupt):
        results.steps("areas", sides, stopping, folder=folder, **ASKED)
    return seen


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"area": half(side) + n}', '{"area": -1}'),  # the function itself
        ("return factor * x", "return factor + x"),  # a function that it calls
        ("factor = k", "factor = k + 1"),  # a variable of that
    ],
)
def test_steps_of_an_edited_function_are_computed_anew_and_never_mixed(tmp_path, old, new):
    edited = NOTEBOOK.replace(old, new)
    expected = areas(edited, tmp_path / "new", [])
    areas(NOTEBOOK, tmp_path, [], stop=2)
    assert areas(edited, tmp_path, seen := []) == expected and len(seen) == 4
    assert areas(NOTEBOOK, tmp_path, seen := []) == areas(NOTEBOOK, tmp_path / "old", [])  # nor a whole table
    assert areas(edited, tmp_path, []) == expected != areas(NOTEBOOK, tmp_path / "old", [])


@pytest.mark.parametrize(
    ("old", "new"),
    [("of areas", "of squares"), ("def half(x):", "def half(x):  # twice"), ("n: int = 3", "n: int = 4")],
)
def test_an_edit_elsewhere_keeps_the_steps(tmp_path, old, new):
    areas(NOTEBOOK, tmp_path, [], stop=2)
    areas(NOTEBOOK.replace(old, new), tmp_path, seen := [])
    assert seen == [2, 3]
    areas(NOTEBOOK.replace(old, new), tmp_path, seen := [])
    assert seen == []


@pytest.mark.parametrize("torn", ["areas.json", "areas.csv", ".steps"])
@pytest.mark.parametrize("content", [None, b"", b"{"])
def test_a_torn_table_or_step_is_computed_anew_with_a_warning(tmp_path, torn, content):
    whole = areas(NOTEBOOK, tmp_path, [])
    paths = [tmp_path / torn] if torn != ".steps" else [*tmp_path.glob(".steps/*/*.json")][:1]
    if torn == ".steps":
        (tmp_path / "areas.csv").unlink()
    for path in paths:
        path.unlink() if content is None else path.write_bytes(content)
    if content is None and torn != "areas.json":
        assert areas(NOTEBOOK, tmp_path, []) == whole
        return
    with pytest.warns(UserWarning, match="computed anew"):
        assert areas(NOTEBOOK, tmp_path, []) == whole
    assert areas(NOTEBOOK, tmp_path, []) == whole


def test_outside_a_build_everything_is_computed_anew(tmp_path, monkeypatch):
    monkeypatch.delenv("INTERTWINE_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    compute = Steps()
    for _ in range(2):
        results.steps("penalties", cases(), compute, **ASKED)
    assert len(compute.seen) == 12 and (tmp_path / "results/penalties.csv").is_file()


def test_a_step_may_give_several_rows_and_says_how_far_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INTERTWINE_LOG", str(tmp_path / "log"))
    table = results.steps(
        "rows",
        [{"n": 1}, {"n": 2}],
        lambda n: [{"k": k} for k in range(n)],
        folder=tmp_path,
        **ASKED,
    )
    assert table.to_dict("list") == {"n": [1, 2, 2], "k": [0, 0, 1]}
    assert "rows: 100%" in (tmp_path / "log").read_text() and capsys.readouterr().err == ""
