"""Laws of the tables: what is written is read back, with its provenance, and nothing torn is ever read."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from intertwine import files
from intertwine_book import results
from intertwine_book.results import origin, tables

cells = {
    "error": st.floats(allow_nan=False),
    "trial": st.integers(-(2**53), 2**53),
    "holds": st.booleans(),
    "activation": st.from_regex(r"[A-Za-zσé, \"']+\(\d\)", fullmatch=True),
}
frames = st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=5).map(pd.DataFrame)
asked = {"parameters": {"width": 8, "dataset": "digits"}, "seed": 3, "device": "cpu"}


def put(folder, name="scale", table=None, **more):
    return results.write(
        pd.DataFrame({"holds": [True]}) if table is None else table, name, folder=folder, **asked | more
    )


@settings(deadline=None, max_examples=15)
@given(frames)
@example(pd.DataFrame({"error": [1.010270986524626e-82]}))  # which pandas before 3.1 misreads by itself
def test_what_is_written_is_read_back_to_the_last_bit(table):
    with tempfile.TemporaryDirectory() as folder:
        put(folder, table=table)
        again, provenance = results.read("scale", folder=folder)
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    assert provenance["rows"] == len(table)


def test_the_provenance_says_what_a_table_was_computed_with(tmp_path):
    put(tmp_path, data_checksum="abc", wall_s=1.25)
    _, provenance = results.read("scale", folder=tmp_path)
    expected = asked["parameters"], 3, "abc", 1.25, results.library_digest()
    assert (
        tuple(provenance[key] for key in ("parameters", "seed", "data_checksum", "wall_s", "library_sha256"))
        == expected
    )
    assert {"intertwine", "commit", "python", "torch", "numpy", "device", "date"} <= set(provenance)


def test_the_library_digest_sees_every_source_file():
    trees = [files.tree_digest(results.LIBRARY / name, "**/*.[pj][ys]") for name in origin.PACKAGES]
    assert results.library_digest() == files.digest(*trees)
    assert (results.LIBRARY / "intertwine/files.py").is_file()
    assert (results.LIBRARY / "intertwine_book/results/tables.py").is_file()


def test_in_a_build_the_provenance_holds_the_hash_of_what_the_chapter_imports(monkeypatch):
    monkeypatch.setenv("INTERTWINE_CODE", "of the chapter")
    origin.code.cache_clear()
    assert origin.code()["library_sha256"] == "of the chapter"
    origin.code.cache_clear()


def test_an_absent_table_is_named_beside_those_that_are_there(tmp_path):
    put(tmp_path, "swap")
    with pytest.raises(FileNotFoundError, match=r"'scale'.*found swap: run"):
        results.read("scale", folder=tmp_path)


def test_a_table_without_provenance_is_refused(tmp_path):
    put(tmp_path).with_suffix(".json").unlink()
    with pytest.raises(ValueError, match=r"scale.csv has no provenance scale.json.*again"):
        results.read("scale", folder=tmp_path)


def test_a_table_altered_by_hand_is_refused(tmp_path):
    path = put(tmp_path)
    path.write_text(path.read_text().replace("True", "False"))
    with pytest.raises(ValueError, match=r"not the one that scale.json describes"):
        results.read("scale", folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "table", "more", "sentence"),
    [
        ("../scale", None, {}, "table name of lower-case letters"),
        (
            "scale",
            pd.DataFrame({"x": [1]}, index=pd.Index(["a"], name="group")),
            {},
            "indexed by group.*reset_index",
        ),
        ("scale", None, {"parameters": {"at": Path("x")}}, "parameters of 'scale' that JSON can express"),
        (
            "scale",
            pd.DataFrame({"x": ["long" * 1000] * 300}),
            {},
            r"at most 1 MB.*the 300 rows of 'scale'.*1\.2 MB",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_touched(tmp_path, name, table, more, sentence):
    recorded = tmp_path / "desk/01_x"
    put(recorded)
    before = files.tree_digest(tmp_path)
    with pytest.raises((ValueError, TypeError), match=sentence):
        put(recorded, name, table, **more)
    assert files.tree_digest(tmp_path) == before


def test_the_limit_counts_a_recorded_folder_and_not_the_table_that_is_replaced(tmp_path, monkeypatch):
    half, recorded = pd.DataFrame({"x": ["half"] * 1000}), tmp_path / "desk/01_x"
    put(recorded, "first", half)
    monkeypatch.setattr(
        tables, "MOST_RECORDED", sum(path.stat().st_size for path in recorded.iterdir()) + 100
    )
    put(recorded, "first", half)
    with pytest.raises(ValueError, match="'second'"):
        put(recorded, "second", half)
    for name in ("first", "second"):  # a run of one's own is not committed
        put(tmp_path / "runs/01_x", name, half)


_WRITER = """
import sys
import pandas as pd
from intertwine_book import results
for round in range(int(sys.argv[2])):
    for name in (sys.argv[1], "common"):
        table = pd.DataFrame({"who": [sys.argv[1]] * (1 + round % 3), "round": round})
        asked = {"who": sys.argv[1], "round": round}
        results.write(table, name, parameters=asked, seed=0, folder=sys.argv[3], device="cpu")
    print(round, flush=True)
"""


def whole(folder, name):
    """A table is the one its provenance describes, or it is refused."""
    try:
        table, provenance = results.read(name, folder=folder)
    except ValueError:
        return False
    assert set(table["who"]) == {provenance["parameters"]["who"]}
    assert set(table["round"]) == {provenance["parameters"]["round"]}
    return len(table) == provenance["rows"]


@pytest.mark.slow
def test_writers_at_once_and_one_killed_never_leave_a_table_with_a_foreign_provenance(tmp_path):
    def start(who, rounds):
        command = [sys.executable, "-c", _WRITER, who, str(rounds), str(tmp_path)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start("lasting", 12) as lasting, start("doomed", 100_000) as doomed:
        lasting.stdout.readline()
        doomed.stdout.readline()
        for _ in range(20):
            whole(tmp_path, "common")
            time.sleep(0.005)
        doomed.send_signal(signal.SIGKILL)
        assert len(lasting.stdout.readlines()) == 11
    assert (lasting.returncode, doomed.returncode) == (0, -signal.SIGKILL)
    assert whole(tmp_path, "lasting")
    whole(tmp_path, "doomed"), whole(tmp_path, "common")
    put(
        tmp_path,
        "doomed",
        pd.DataFrame({"who": ["again"], "round": 0}),
        parameters={"who": "again", "round": 0},
    )
    assert whole(tmp_path, "doomed")


def test_tables_go_where_the_build_says_else_beside_the_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INTERTWINE_RESULTS", raising=False)
    assert put(None) == Path("results/scale.csv")
    monkeypatch.setenv("INTERTWINE_RESULTS", str(tmp_path / "quick"))
    assert put(None) == tmp_path / "quick/scale.csv"


def test_shared_facts_are_shown_once_and_a_tables_own_beside_its_name(tmp_path):
    put(tmp_path, "swap", wall_s=2.0)
    put(tmp_path, "scale", pd.DataFrame({"holds": [True, False]}), wall_s=1.0)
    shown = results.provenance(tmp_path)["value"]
    assert (shown["parameters"], shown["seed"]) == ("width 8, dataset digits", "3")
    assert shown["swap"].startswith("rows 1, wall_s 2.0")
    assert shown["scale"].startswith("rows 2, wall_s 1.0")
    assert len(shown["library_sha256"]) == 12
    (tmp_path / ".0123.part.swap.json").write_text("{")  # what a killed writer leaves
    assert results.provenance(tmp_path)["value"].equals(shown)
    with pytest.raises(FileNotFoundError, match="Expected tables"):
        results.provenance(tmp_path / "nothing")


def test_recorded_runs_are_found_from_a_chapter_the_largest_last(tmp_path, monkeypatch):
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path / "chapters")
    assert results.recorded("01_x", "scale") == {}
    for profile in ("paper", "quick", "desk"):
        put(tmp_path / "data/results" / profile / "01_x")
    found = results.recorded("01_x", "scale")
    assert list(found) == ["desk", "paper"]
    assert results.on_record("01_x", "scale").equals(found["paper"][0])


def test_the_commit_is_that_of_the_librarys_own_checkout(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(origin, "LIBRARY", tmp_path)
    (tmp_path / "intertwine").mkdir()
    (tmp_path / "intertwine/__init__.py").touch()
    assert origin._commit() is None  # no checkout
    git("init")
    git("commit", "--allow-empty", "-m", "somebody else's work")
    assert origin._commit() is None  # not of this library
    recorded = tmp_path / "data/results/swap.csv"
    recorded.parent.mkdir(parents=True)
    recorded.touch()
    git("add", "intertwine", "data")
    git("commit", "-m", "the library")
    commit = origin._commit()
    assert len(commit) == 40 and int(commit, 16)
    recorded.unlink()  # a table that is recorded again does not change the code of the others
    assert origin._commit() == commit
    (tmp_path / "intertwine/__init__.py").write_text("edited = True")
    assert origin._commit() == commit + "-dirty"
    monkeypatch.setenv("PATH", "")
    assert origin._commit() is None  # no git


def test_reading_tables_does_not_import_torch(tmp_path):
    put(tmp_path)
    code = (
        "import sys; from intertwine_book import claims, results; results.read('scale', folder=sys.argv[1]); "
    )
    done = subprocess.run(
        [sys.executable, "-c", code + "print('torch' in sys.modules)", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
    assert json.loads((tmp_path / "scale.json").read_text())["seed"] == 3
