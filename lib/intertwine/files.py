"""Files: content hashes, files written whole or not at all, tensors in files, and locks between processes."""

import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from tqdm import tqdm

FULL = 2**20
"""Bytes: a disk with no more than these is full."""


def digest(*parts: object) -> str:
    """SHA-256 of an ordered sequence of parts: equal contents give equal hashes, on any machine and day.

    Example:
        >>> one, other = {"seed": 0, "width": 16}, {"width": 16, "seed": 0}
        >>> digest(one) == digest(other)
        True
        >>> digest("ab", "c") == digest("a", "bc")
        False

    Args:
        *parts: a `pathlib.Path` stands for the bytes of that file, never for its name; anything JSON can
            express stands for its value (dictionaries regardless of order); bytes and NumPy arrays of numbers
            stand for their content, type and shape.

    Returns:
        64 hexadecimal digits.

    Raises:
        TypeError: a part is none of these.
        IsADirectoryError: a folder, whose hash is that of `tree_digest`.
    """
    # each part is hashed with its kind, so that no two sequences have one text
    return hashlib.sha256("\n".join(map(_digest_one, parts)).encode()).hexdigest()


def _digest_one(part: object) -> str:
    import numpy as np

    if isinstance(part, Path):
        return f"file {_file_digest(part)}"
    if isinstance(part, bytes):
        return f"bytes {hashlib.sha256(part).hexdigest()}"
    if isinstance(part, np.ndarray) and part.dtype.names:
        raise TypeError(
            f"Expected an array of numbers, was given one of fields {', '.join(part.dtype.names)}: hash each "
            f"by itself."
        )
    if isinstance(part, np.ndarray) and not part.dtype.hasobject:
        content = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        return f"array {part.dtype.str} {part.shape} {hashlib.sha256(content.data).hexdigest()}"
    try:
        text = json.dumps(part, sort_keys=True)
    except TypeError as error:
        expected = "Expected a pathlib.Path, bytes, a NumPy array or a JSON value"
        raise TypeError(f"{expected}, was given {type(part).__name__}: {error}.") from None
    _check_keys(part)
    return f"json {text}"


def _check_keys(part: object) -> None:
    """Raise TypeError for keys that are no strings, of which JSON would write 1 as "1"."""
    if isinstance(part, dict):
        for key, value in part.items():
            if not isinstance(key, str):
                raise TypeError(
                    f"Expected dictionaries with strings as keys, was given {key!r}: use str(key)."
                )
            _check_keys(value)
    elif isinstance(part, list | tuple):
        for each in part:
            _check_keys(each)


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_digest(folder: str | Path, pattern: str = "**/*") -> str:
    """SHA-256 of the relative names and contents of the files below a folder, without ``__pycache__``.

    It matters neither where the folder lies, nor when its files were written, nor how the system lists them.

    Example:
        >>> import intertwine
        >>> library = Path(intertwine.__file__).parent
        >>> tree_digest(library, "**/*.py") == tree_digest(library, "**/*.py")
        True

    Args:
        folder: where the files lie; its own name does not count.
        pattern: of the files, as `pathlib.Path.glob` takes it; by default all.

    Raises:
        NotADirectoryError: `folder` is not a folder (an empty one is).
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"Expected a folder to hash, was given {folder}.")
    paths = [path.relative_to(folder) for path in folder.glob(pattern) if path.is_file()]
    names = sorted(path.as_posix() for path in paths if "__pycache__" not in path.parts)
    return digest([[name, _file_digest(folder / name)] for name in names])


@contextmanager
def write_whole(path: str | Path) -> Iterator[Path]:
    """Write a file whole or not at all: what is written to the temporary path replaces `path` at the end.

    After an error the old file is as it was. After SIGKILL it is, too, and a hidden ``.*.part.*`` of no use
    remains. The temporary name ends like `path`, for writers that go by the suffix. Missing folders are
    created.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = Path(folder) / "results" / "table.csv"
        ...     with write_whole(table) as part:
        ...         _ = part.write_text("width,accuracy")
        ...     table.read_text()
        'width,accuracy'

    Args:
        path: of the finished file.
    """
    path = Path(os.path.realpath(path))  # what a link points to, and not the link, is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(6)}.part.{path.name}")
    try:
        yield part
        os.replace(part, path)  # one step of the file system: others see the old file or the new one
    except (OSError, RuntimeError) as error:
        if shutil.disk_usage(path.parent).free > FULL:
            raise
        # torch has other words for it, "unexpected pos"
        sentence = "Expected room on the disk for this file, found none: make some, what is finished stays"
        raise OSError(errno.ENOSPC, sentence, str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def save_tensors(path: str | Path, content: dict[str, Any]) -> None:
    """Write tensors, numbers, strings, lists and dictionaries into a file, whole or not at all.

    Example:
        >>> import tempfile
        >>> import torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "half.pt"
        ...     save_tensors(path, {"epoch": 3, "weight": torch.ones(2)})
        ...     load_tensors(path)
        {'epoch': 3, 'weight': tensor([1., 1.])}

    Args:
        path: of the file; missing folders are created.
        content: keys and what they stand for, without objects of other classes.
    """
    import torch  # slow to import, and tables need none of it

    with write_whole(path) as part:
        torch.save(content, part)


def load_tensors(path: str | Path) -> dict[str, Any]:
    """Read a file of `save_tensors` to the CPU; no code in it is executed.

    Args:
        path: of the file.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    import torch

    if not (path := Path(path)).is_file():
        raise FileNotFoundError(f"Expected a file of tensors, there is none at {path}: look at the path.")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds
        why = str(error).partition("\n")[0]
        raise OSError(f"{path} is damaged or was not written here ({why}): delete it.") from error


@contextmanager
def lock(path: str | Path) -> Iterator[None]:
    """Let one process at a time work on what `path` names (which need not exist); others wait and say so.

    The lock is the hidden file ``.<name>.lock`` next to `path`; the system frees it when its holder dies.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, lock(Path(folder) / "zoo"):
        ...     pass  # train and save, undisturbed

    Args:
        path: what is worked on, a file or a folder; all processes have to name it alike.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # asked once without waiting, to say so before the wait
    held = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        held.acquire(blocking=False)
    except Timeout:
        if sys.stderr.isatty():  # a notebook keeps what is printed
            tqdm.write(f"Waiting for another run, which works on {path}.", file=sys.stderr)
        held.acquire()
    try:
        yield
    finally:
        held.release()
