"""The ground floor: content hashes, files written whole or not at all, and one process at a time."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock


def digest(*parts: object) -> str:
    """SHA-256 of an ordered sequence of parts: equal contents give equal hashes, on any machine and day.

    Example:
        >>> digest({"seed": 0, "widths": [16, 32]}) == digest({"widths": [16, 32], "seed": 0})
        True
        >>> digest("ab", "c") == digest("a", "bc")
        False

    Args:
        *parts: a `pathlib.Path` stands for the bytes of that file, or for the tree below that folder
            (`tree_digest`), never for its name; anything JSON can express stands for its value (dictionaries
            regardless of order); bytes and arrays stand for their element type, shape and content.

    Returns:
        64 hexadecimal digits.

    Raises:
        TypeError: a part is none of these.
    """
    return hashlib.sha256("\n".join(map(_digest_one, parts)).encode()).hexdigest()


def _digest_one(part: object) -> str:
    if isinstance(part, Path):
        return f"tree {tree_digest(part)}" if part.is_dir() else f"file {_file_digest(part)}"
    try:
        return f"json {json.dumps(part, sort_keys=True)}"
    except TypeError as not_json:
        try:
            view = memoryview(part)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(
                f"expected a path, bytes, an array or a JSON value, given {type(part).__name__}: {not_json}"
            ) from None
    return f"array {view.format} {view.shape} {hashlib.sha256(view.tobytes()).hexdigest()}"


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_digest(folder: str | Path, pattern: str = "**/*") -> str:
    """SHA-256 of the relative names and contents of the files below a folder; `__pycache__` does not count.

    Where the folder lies, when its files were written and in which order the system lists them does not matter.

    Example:
        >>> import intertwine
        >>> library = Path(intertwine.__file__).parent
        >>> tree_digest(library, "**/*.py") == tree_digest(library, "**/*.py")
        True

    Raises:
        NotADirectoryError: `folder` is not a folder (an empty one is).
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"expected a folder to hash, given {folder}")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.glob(pattern) if path.is_file())
    return digest([[name, _file_digest(folder / name)] for name in names if "__pycache__" not in Path(name).parts])


@contextmanager
def write_whole(path: str | Path) -> Iterator[Path]:
    """Write a file whole or not at all: what is written to the temporary path replaces `path` at the end.

    After an error the old file is as it was. After SIGKILL too, beside a hidden `.*.part.*` that nothing reads.
    The temporary name ends like `path`, for writers that choose a format by it. Missing folders are created.

    Example:
        >>> import tempfile
        >>> table = Path(tempfile.mkdtemp()) / "results" / "table.csv"
        >>> with write_whole(table) as part:
        ...     _ = part.write_text("width,accuracy")
        >>> table.read_text()
        'width,accuracy'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(6)}.part.{path.name}")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def lock(path: str | Path) -> BaseFileLock:
    """Let one process at a time work on what `path` names (which need not exist); the others wait.

    The lock is the hidden file `.<name>.lock` beside `path`; the system frees it when its holder dies.

    Example:
        >>> import tempfile
        >>> with lock(Path(tempfile.mkdtemp()) / "zoo"):
        ...     pass  # train and save, undisturbed
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"))
