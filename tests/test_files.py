"""Laws of files: hashes depend on content alone, files are whole, locks exclude."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from intertwine import files

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
tensors = arrays.arrays(
    st.sampled_from(["u1", "i8", "f4", "f8", "c8", "?"]),
    arrays.array_shapes(min_dims=0, min_side=0, max_side=4),
)


def run(code: str, *arguments: object, **options) -> subprocess.Popen:
    """A process of its own that executes `code`."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **options)


def finish(processes: list[subprocess.Popen]) -> list[str]:
    outputs = [process.communicate(timeout=30)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return outputs


# --- hashes ---


@given(values, values)
def test_digest_of_values_is_injective(first, second):
    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (files.digest(first) == files.digest(second)) == same
    assert files.digest(first) == files.digest(json.loads(json.dumps(first)))


@given(st.dictionaries(st.text(), values, min_size=2, max_size=4))
def test_digest_does_not_see_the_order_of_keys(mapping):
    assert files.digest(mapping) == files.digest(dict(reversed(mapping.items())))


@given(st.lists(values, min_size=1, max_size=3), st.lists(values, max_size=3))
def test_digest_sees_where_one_part_ends(parts, others):
    assume(json.dumps(parts) != json.dumps(others))
    assert files.digest(*parts) != files.digest(*others)
    assert files.digest(*parts, *others) != files.digest(parts, others)


@given(tensors)
def test_digest_of_an_array_sees_content_type_and_shape_but_not_layout(array):
    whole = files.digest(array)
    for layout in (array.copy(order="F"), np.repeat(array[..., None], 2, -1)[..., 0].reshape(array.shape)):
        assert files.digest(layout) == whole
    assert whole != files.digest(array[None])
    assert files.digest(np.zeros(array.shape, "f4")) != files.digest(np.zeros(array.shape, "i4"))
    if array.size:
        changed = array.copy()
        changed.flat[-1] = not array.flat[-1]
        assert whole != files.digest(changed)


def test_digest_keeps_kinds_apart(tmp_path):
    (tmp_path / "file").write_bytes(b"1")
    kinds = [1, 1.0, True, "1", b"1", [1], np.array([49], "u1"), tmp_path / "file", None]
    assert len({files.digest(kind) for kind in kinds}) == len(kinds)


def test_digest_is_the_same_in_another_process():
    code = "from intertwine import files; print(files.digest({'b': 1, 'a': ['ε', 0.1]}, b'x'))"
    seeds = [run(code, env=os.environ | {"PYTHONHASHSEED": seed}) for seed in ("1", "2")]
    assert {output.strip() for output in finish(seeds)} == {files.digest({"a": ["ε", 0.1], "b": 1}, b"x")}


def plant(folder: Path, tree: dict[str, str]) -> Path:
    for name, content in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


TREE = {"a.py": "1", "b/a.py": "2", "b/c.txt": "3"}


def test_tree_digest_sees_neither_place_nor_time_nor_order_nor_caches(tmp_path, monkeypatch):
    here = plant(tmp_path / "here", TREE)
    there = plant(tmp_path / "far" / "away", dict(reversed(TREE.items())) | {"b/__pycache__/a.pyc": "4"})
    os.utime(there / "a.py", (0, 0))
    assert files.tree_digest(here) == files.tree_digest(there) != files.tree_digest(here, "**/*.py")
    before, glob = files.tree_digest(here), Path.glob
    monkeypatch.setattr(Path, "glob", lambda *arguments: reversed(list(glob(*arguments))))
    assert files.tree_digest(here) == before


@pytest.mark.parametrize(
    "tree",
    [
        TREE | {"a.py": "2", "b/a.py": "1"},  # contents swapped
        {"z.py": "1", "b/a.py": "2", "b/c.txt": "3"},  # renamed
        {"a.py": "1", "d/a.py": "2", "b/c.txt": "3"},  # moved
        TREE | {"b/d.txt": ""},  # an empty file more
    ],
)
def test_tree_digest_sees_names_and_contents(tmp_path, tree):
    one, other = plant(tmp_path / "one", TREE), plant(tmp_path / "other", tree)
    assert files.tree_digest(one) != files.tree_digest(other)


# --- files written whole ---


def test_write_whole_creates_replaces_and_leaves_nothing_else(tmp_path):
    target = tmp_path / "new" / "table.tar.gz"
    for content in ("first", "second"):
        with files.write_whole(target) as part:
            assert part.name.endswith(".tar.gz") and part.parent == target.parent
            part.write_text(content)
        assert target.read_text() == content
    assert list(target.parent.iterdir()) == [target]


def test_write_whole_writes_through_a_link(tmp_path):
    target, link = tmp_path / "table.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    with files.write_whole(link) as part:
        part.write_text("new")
    assert link.is_symlink() and target.read_text() == "new"


def test_write_whole_keeps_the_old_file_after_an_error(tmp_path):
    target = plant(tmp_path, {"table.csv": "old"}) / "table.csv"
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), files.write_whole(target) as part:
            part.write_text("half")
            raise error
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), RuntimeError("unexpected pos 128")])
def test_write_whole_names_a_full_disk(tmp_path, monkeypatch, error):
    free = 0
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))

    def written() -> None:
        with files.write_whole(tmp_path / "network.pt"):
            raise error

    with pytest.raises(OSError, match=r"Expected room on the disk .*network\.pt") as full:
        written()
    assert full.value.errno == 28
    free = 2**30  # then the error is about something else
    with pytest.raises(type(error)) as other:
        written()
    assert other.value is error


def test_write_whole_gives_the_permissions_of_an_ordinary_file(tmp_path):
    (tmp_path / "ordinary").touch()
    with files.write_whole(tmp_path / "whole") as part:
        part.touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "whole")}
    assert len(modes) == 1


def test_write_whole_survives_sigkill(tmp_path):
    target = plant(tmp_path, {"table.csv": "old"}) / "table.csv"
    code = """
import sys
from intertwine import files
with files.write_whole(sys.argv[1]) as part, part.open("w") as file:
    file.write("half")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""
    with run(code, target) as process:
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert target.read_text() == "old"
    with files.write_whole(target) as part:
        part.write_text("new")
    assert target.read_text() == "new"


def test_readers_only_ever_see_whole_files(tmp_path):
    target = plant(tmp_path, {"table": "0" * 100_000}) / "table"
    code = """
import sys
from intertwine import files
for _ in range(200):
    with files.write_whole(sys.argv[1]) as part:
        part.write_text(sys.argv[2] * 100_000)
"""
    writers = [run(code, target, digit) for digit in "12"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(target.read_text())
    finish(writers)
    assert seen <= {digit * 100_000 for digit in "012"} and len(seen) > 1
    assert list(tmp_path.iterdir()) == [target]


# --- locks ---


def test_lock_lets_one_process_at_a_time_count(tmp_path):
    counter = plant(tmp_path, {"counter": "0"}) / "counter"
    code = """
import sys
from pathlib import Path
from types import SimpleNamespace
from intertwine import files
counter = Path(sys.argv[1])
for _ in range(50):
    with files.lock(counter):
        counter.write_text(str(int(counter.read_text()) + 1))
"""
    finish([run(code, counter) for _ in range(3)])
    assert counter.read_text() == "150"


def test_lock_dies_with_its_holder_and_says_that_it_waits(tmp_path, capsys, monkeypatch):
    code = """
import sys
from intertwine import files
with files.lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
    with run(code, tmp_path / "zoo") as process:
        assert process.stdout.readline() == "held\n"
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        Timer(0.5, process.kill).start()
        with files.lock(tmp_path / "zoo"):
            assert process.wait() == -signal.SIGKILL
    assert capsys.readouterr().err == f"Waiting for another run, which works on {tmp_path / 'zoo'}.\n"
