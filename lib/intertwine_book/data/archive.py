"""Published data sets on disk: where they lie, whether they are intact, and how they get there."""

import gzip
import hashlib
import importlib.util
import os
import shutil
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from intertwine import files


class Archive(NamedTuple):
    """The files of a data set, laid out as torchvision's download leaves them below a root."""

    title: str
    torchvision_class: str
    folder: str
    files: dict[str, tuple[int, str]]
    """Size in bytes and official MD5 of each, unpacked."""


def data_root(root: str | Path | None) -> Path:
    """`root` if given, else the environment variable INTERTWINE_DATA, else a folder in the user's cache."""
    asked = root or os.environ.get("INTERTWINE_DATA")
    if not asked:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "intertwine"
    folder = Path(asked).expanduser()
    if not folder.is_dir():
        how = "the argument `root`" if root else "the environment variable INTERTWINE_DATA"
        raise FileNotFoundError(
            f"The data root {folder}, given by {how}, is not a folder: "
            "create it (data sets are downloaded into it) or name the folder that holds them."
        )
    return folder


def check(archive: Archive, root: str | Path | None) -> None:
    """Raise unless the data set is present and intact, or else torchvision is there to download it."""
    folder = data_root(root) / archive.folder
    if _is_present(folder):
        for name in archive.files:
            read(archive, folder, name)
    elif importlib.util.find_spec("torchvision") is None:
        raise _no_torchvision(archive)


def fetch(archive: Archive, root: str | Path | None) -> Path:
    """The folder that holds the data set, downloaded with a progress bar where there is none."""
    folder = data_root(root) / archive.folder
    if not _is_present(folder):
        _download(archive, folder)
    return folder


def read(archive: Archive, folder: Path, name: str) -> bytes:
    """The bytes of one file, from itself or from `name`.gz; an OSError unless its MD5 is the official one."""
    size, md5 = archive.files[name]
    path, packed = folder / name, folder / f"{name}.gz"
    is_packed = packed.exists() and not path.exists()
    expected = f"expected {size:,} bytes with MD5 {md5}"
    remedy = f"delete the folder {folder} and load {archive.title} again: it is then downloaded anew."
    if not (path.exists() or is_packed):
        raise FileNotFoundError(f"{path} is missing: {expected}; {remedy}")
    try:
        content = gzip.decompress(packed.read_bytes()) if is_packed else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        found = f"a broken gzip file ({error})"
    else:
        actual = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if actual == md5:
            return content
        found = f"{len(content):,} bytes with MD5 {actual}"
    raise OSError(f"{packed if is_packed else path} is damaged: {expected}, found {found}; {remedy}")


def _is_present(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _download(archive: Archive, folder: Path) -> None:
    """Download beside `folder`, verify, and only then name it so: a killed run leaves no half of it."""
    try:
        from torchvision import datasets
    except ModuleNotFoundError:
        raise _no_torchvision(archive) from None
    staging = folder.with_name(f".{folder.name}.part")
    try:
        with files.lock(folder):
            if _is_present(folder):
                return  # another process fetched it meanwhile
            try:
                shutil.rmtree(staging, ignore_errors=True)  # of a killed run
                getattr(datasets, archive.torchvision_class)(staging, download=True)
                for name in archive.files:
                    read(archive, staging / archive.folder, name)
                os.replace(staging / archive.folder, folder)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except (OSError, HTTPException, RuntimeError) as error:
        reason = " ".join(str(error).split())  # torchvision's runs over several lines
        raise OSError(
            f"{archive.title} is not in {folder} and could not be downloaded ({reason}): "
            "check the network and the disk and try again, or copy that folder from another machine."
        ) from error


def _no_torchvision(archive: Archive) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"{archive.title} must be downloaded, which needs torchvision: pip install torchvision."
    )
