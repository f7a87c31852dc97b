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


def test_a_new_library_takes_no_old_step_but_finds_a_finished_table(tmp_path, monkeypatch):
    compute = Steps(fails_at=1)
    with pytest.raises(KeyboardInterrupt):
        results.steps("penalties", cases(), compute, folder=tmp_path, **ASKED)
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "new", "commit": None})
    table = results.steps("penalties", cases(), compute, folder=tmp_path, **ASKED)
    assert len(compute.seen) == 1 + 6
    monkeypatch.setattr(origin, "code", lambda: {"library_sha256": "newer", "commit": None})
    found = results.steps("penalties", cases(), compute, folder=tmp_path, **ASKED)
    assert found.equals(table) and len(compute.seen) == 1 + 6
    _, provenance = results.read("penalties", folder=tmp_path)
    assert provenance["library_sha256"] == "new" and provenance["wall_s"] >= 0


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


def test_the_largest_recorded_run_is_found_and_named(tmp_path):
    live = pd.DataFrame({"n": [0]})
    for k, profile in enumerate(("paper", "desk")):
        table = results.largest("02_x", "rows", live, root=tmp_path)[0]
        assert table is live if k == 0 else table["n"].tolist() == [len("paper")]
        results.steps(
            "rows", [{"n": len(profile)}], lambda n: {}, folder=tmp_path / profile / "02_x", **ASKED
        )
    table, said = results.largest("02_x", "rows", live, root=tmp_path)
    assert table["n"].tolist() == [5] and said.startswith("The largest recorded run: paper (")
    assert "width 4" in said
