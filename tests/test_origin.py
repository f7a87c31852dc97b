"""Where a row comes from: the commit of the library's own checkout; reading tables needs no torch."""

import os
import subprocess
import sys

from intertwine import files
from intertwine_book import origin


def test_the_library_digest_sees_every_source_file():
    trees = [files.tree_digest(origin.LIBRARY / name, "**/*.[pj][ys]") for name in origin.PACKAGES]
    assert origin.library_digest() == files.digest(*trees)
    assert (origin.LIBRARY / "intertwine_book/record.py").is_file()


def test_the_commit_is_that_of_the_librarys_own_checkout(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(origin, "LIBRARY", tmp_path)
    (tmp_path / "intertwine").mkdir()
    (tmp_path / "intertwine/__init__.py").touch()
    assert origin.commit.__wrapped__() is None  # no checkout
    git("init")
    git("commit", "--allow-empty", "-m", "somebody else's work")
    assert origin.commit.__wrapped__() is None  # not of this library
    recorded = tmp_path / "data/results/swap.csv"
    recorded.parent.mkdir(parents=True)
    recorded.touch()
    git("add", "intertwine", "data")
    git("commit", "-m", "the library")
    commit = origin.commit.__wrapped__()
    assert len(commit) == 40 and int(commit, 16)
    recorded.unlink()  # a table that is recorded again does not change the code of the others
    assert origin.commit.__wrapped__() == commit
    (tmp_path / "intertwine/__init__.py").write_text("edited = True")
    assert origin.commit.__wrapped__() == commit + "-dirty"
    monkeypatch.setenv("PATH", "")
    assert origin.commit.__wrapped__() is None  # no git


def test_reading_tables_and_verdicts_does_not_import_torch():
    code = "import sys; from intertwine_book import claims, read_told, tidy; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
