"""What cannot be written is said before any work, and in a sentence."""

import errno
import json
import shutil
import tempfile
from pathlib import Path

from intertwine_book.build.layout import BookError

KEPT = "Finished steps are kept: the same command goes on from there."
_OF_THE_MACHINE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def trouble(error: OSError) -> str:
    """The sentence for a full disk, a read-only folder or a missing permission; "" for any other error.

    Example:
        >>> trouble(OSError(errno.ENOSPC, "No space left on device", "table.csv"))
        'No space left on device (table.csv). Finished steps are kept: the same command goes on from there.'
        >>> trouble(FileNotFoundError(errno.ENOENT, "No such file or directory", "table.csv"))
        ''
    """
    if isinstance(error, shutil.Error):  # of a folder that is copied: (from, to, why) for each file
        return f"{error.args[0][0][2]}. {KEPT}"
    if error.errno not in _OF_THE_MACHINE:
        return ""
    return f"{error.strerror} ({error.filename}). {KEPT}" if error.filename else f"{error.strerror}. {KEPT}"


def check_writable(*folders: Path) -> None:
    """Make folders; a BookError for one in which nothing can be written."""
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:  # root may write anywhere but on a full disk
                file.write(b"0")
        except OSError as error:
            raise BookError(f"Expected to write into the folder {folder}: {error.strerror}.") from error


def place(output: Path, chapter: str) -> None:
    """Make the folder of an executed notebook; a BookError if nothing can be written there.

    Nor does a chapter write over the notebook of another, whose tables it would report as its own.
    """
    if output.suffix != ".ipynb" or output.is_dir():
        raise BookError(f"Expected the name of a notebook, such as mine.ipynb, was given {output}.")
    check_writable(output.parent)
    try:
        held = json.loads(output.read_text())["metadata"].get("intertwine", {}) if output.is_file() else {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BookError(f"Expected a notebook or nothing at {output}: give another name.") from error
    if (other := held.get("chapter", chapter)) != chapter:
        raise BookError(
            f"Expected no notebook of another chapter, {output} is of {other}: give another name."
        )
