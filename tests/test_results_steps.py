"""Long steps: each is done once, an interruption loses at most one, and what was asked for decides."""

import shutil
from contextlib import nullcontext
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine_book import results
from intertwine_book.results import keys, origin

ASKED = {"parameters": {"width": 4}, "seed": 0}


class Done:
    """What `penalty` has computed, and where it fails once."""

    seen: ClassVar[list] = []
    fails_at: int | None = None


@pytest.fixture(autouse=True)
def nothing_is_done():
    Done.seen, Done.fails_at = [], None


def penalty(layer: str, trial: int):
    if len(Done.seen) == Done.fails_at:
        Done.fails_at = None
        raise KeyboardInterrupt
    Done.seen.append((layer, trial))
    return {"penalty": np.float64(0.1) * trial, "holds": np.bool_(trial > 0), "images": np.int64(trial)}


def many_rows(n: int):
    return [{"k": k} for k in range(n)]


def cases(layers: int = 2, trials: int = 3) -> list[dict]:
    return [{"layer": f"conv{k}", "trial": t} for k in range(layers) for t in range(trials)]


@given(st.integers(0, 5))
@settings(deadline=None, max_examples=6)
def test_an_interrupted_table_goes_on_and_is_the_same(tmp_path_factory, fails_at):
    folder, Done.seen, Done.fails_at = tmp_path_factory.mktemp("tables"), [], fails_at
    with pytest.raises(KeyboardInterrupt):
        results.steps("penalties", cases(), penalty, folder=folder, **ASKED)
    assert not (folder / "penalties.csv").exists() and len(Done.seen) == fails_at
    table = results.steps("penalties", cases(), penalty, folder=folder, **ASKED)
    assert len(Done.seen) == len(set(Done.seen)) == 6
    again = results.steps("penalties", cases(), penalty, folder=folder, **ASKED)
    assert len(Done.seen) == 6
    whole = results.steps("penalties", cases(), penalty, folder=folder / "other", **ASKED)
    pd.testing.assert_frame_equal(table, whole)
    pd.testing.assert_frame_equal(table, again)


def test_what_was_asked_for_decides(tmp_path):
    asked = [
        ASKED,
        ASKED | {"seed": 1},
        ASKED | {"parameters": {"width": 5}},
        ASKED | {"data_checksum": "other"},
    ]
    for k, each in enumerate(asked, start=1):
        results.steps("penalties", cases(1, 1), penalty, folder=tmp_path, **each)
        assert len(Done.seen) == k
    results.steps("penalties", cases(2, 1), penalty, folder=tmp_path, **asked[-1])
    assert len(Done.seen) == len(asked) + 1  # the first case was done before


def test_another_precision_takes_no_old_step_nor_table(tmp_path, monkeypatch):
    for seen, dtype in ((6, "float32"), (6, "float32"), (12, "bfloat16")):
        monkeypatch.setenv("INTERTWINE_DTYPE", dtype)
        results.steps("penalties", cases(), penalty, folder=tmp_path, **ASKED)
        assert len(Done.seen) == seen


def test_a_new_library_takes_no_old_step_but_finds_a_finished_table_that_is_recorded(tmp_path, monkeypatch):
    Done.fails_at, recorded = 1, tmp_path / "desk/01_x"
    with pytest.raises(KeyboardInterrupt):
        results.steps("penalties", cases(), penalty, folder=recorded, **ASKED)
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "new", "commit": None})
    table = results.steps("penalties", cases(), penalty, folder=recorded, **ASKED)
    assert len(Done.seen) == 1 + 6
    results.steps("penalties", cases(), penalty, folder=tmp_path / "own", **ASKED)
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "newer", "commit": None})
    found = results.steps("penalties", cases(), penalty, folder=recorded, **ASKED)
    assert found.equals(table) and len(Done.seen) == 1 + 6 + 6
    _, provenance = results.read("penalties", folder=recorded)
    assert provenance["library_sha256"] == "new" and provenance["wall_s"] >= 0
    results.steps("penalties", cases(), penalty, folder=tmp_path / "own", **ASKED)
    assert len(Done.seen) == 1 + 6 + 6 + 6
    for seen in (25, 25):  # asked for by name it is computed again, and then found
        monkeypatch.setenv("INTERTWINE_ANEW", "others penalties")
        results.steps("penalties", cases(), penalty, folder=recorded, **ASKED)
        assert (
            len(Done.seen) == seen
            and results.read("penalties", folder=recorded)[1]["library_sha256"] == "newer"
        )


@given(st.integers(1, 5), st.booleans())
@settings(deadline=None, max_examples=5)
def test_a_table_of_the_first_cases_is_continued_without_its_steps_and_says_so(tmp_path_factory, first, new):
    folder = tmp_path_factory.mktemp("tables") / "desk/01_x"
    results.steps("penalties", cases()[:first], penalty, folder=folder, **ASKED)
    begun = results.read("penalties", folder=folder)[1]
    shutil.rmtree(folder / ".steps")
    with pytest.MonkeyPatch.context() as patch:
        if new:  # a recorded table is kept whatever the code
            patch.setattr(origin, "code", lambda: {"library_sha256": "new", "commit": None})
        Done.seen = []
        table = results.steps("penalties", cases(), penalty, folder=folder, **ASKED)
    assert len(Done.seen) == 6 - first
    whole = results.steps("penalties", cases(), penalty, folder=folder / "other", **ASKED)
    pd.testing.assert_frame_equal(table, whole)
    _, known = results.read("penalties", folder=folder)
    assert known["continues"] == begun and known["rows"] == 6 and known["wall_s"] >= begun["wall_s"]
    assert known["cases"] == results.read("penalties", folder=folder / "other")[1]["cases"]


def test_only_the_first_cases_are_continued_and_of_ones_own_tables_only_with_the_same_code(
    tmp_path, monkeypatch
):
    recorded, own = tmp_path / "desk/01_x", tmp_path / "own"
    for folder in (recorded, own):
        results.steps("penalties", cases(2, 1), penalty, folder=folder, **ASKED)
        shutil.rmtree(folder / ".steps")
    Done.seen = []
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "new", "commit": None})
    results.steps("penalties", cases(3, 1), penalty, folder=own, **ASKED)
    assert len(Done.seen) == 3
    results.steps("penalties", cases(2, 1)[::-1], penalty, folder=recorded, **ASKED)
    assert len(Done.seen) == 5 and "continues" not in results.read("penalties", folder=recorded)[1]


def test_rows_of_an_edited_function_are_not_mixed_with_recorded_ones(tmp_path, monkeypatch):
    folder = tmp_path / "desk/01_x"
    for asked, definition in ((1, ["one"]), (2, ["two"]), (2, ["three"])):
        made = keys.Key([{"layer": k} for k in range(asked)], [], definition)
        monkeypatch.setattr(keys, "key", lambda cases, compute, made=made: made)
        results.steps("penalties", cases(asked, 1), penalty, folder=folder, **ASKED)
    assert len(Done.seen) == 1 + 2  # a whole one is found whatever its code
    assert "continues" not in results.read("penalties", folder=folder)[1]


NOTEBOOK = """
n: int = 3
factor = 2
def half(x):
    return factor * x
for k in range(2):
    factor = k
def areas(side):
    see(side)
    return {"area": half(side) + n}
title = "a figure of areas"
"""


class Sides:
    """Which are computed, and where that stops."""

    seen: ClassVar[list] = []
    stop: ClassVar[int | None] = None


def see(side: int) -> None:
    if side == Sides.stop:
        raise KeyboardInterrupt
    Sides.seen.append(side)


def areas(text: str, folder, seen: list, stop: int | None = None) -> list:
    """The table of a notebook of this text, whose last steps are not done if it is to stop."""
    variables: dict = {"In": ["", text], "see": see}
    exec(text, variables)
    Sides.seen, Sides.stop = seen, stop
    with pytest.raises(KeyboardInterrupt) if stop is not None else nullcontext():
        sides = [{"side": side} for side in range(4)]
        return results.steps("areas", sides, variables["areas"], folder=folder, **ASKED)["area"].tolist()
    return seen


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"area": half(side) + n}', '{"area": -1}'),  # the function itself
        ("return factor * x", "return factor + x"),  # a function that it calls
        ("factor = k", "factor = k + 1"),  # a variable of that
        ("n: int = 3", "n: int = 4"),  # a parameter, which the table does not say that it uses
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
    [
        ("of areas", "of squares"),
        ("def half(x):", "def half(x):  # twice"),
        ("factor = 2", "factor = 3"),  # which is set again below
        ("factor = k", "factor = 1"),  # which is what it was
    ],
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


def test_a_step_may_give_several_rows_and_says_how_far_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INTERTWINE_LOG", str(tmp_path / "log"))
    table = results.steps(
        "rows",
        [{"n": 1}, {"n": 2}],
        many_rows,
        folder=tmp_path,
        **ASKED,
    )
    assert table.to_dict("list") == {"n": [1, 2, 2], "k": [0, 0, 1]}
    assert "rows: 100%" in (tmp_path / "log").read_text() and capsys.readouterr().err == ""
