"""Paths in a checkout of the book, and the names of its chapters and profiles."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from intertwine_book.wording import unknown

PROFILES = ("smoke", "quick", "desk", "paper")  # by nearness to the papers
RECORDED = ("desk", "paper")  # records compute at these into `data/results`, which is committed
DEFAULT_PROFILE = "quick"


class BookError(Exception):
    """An error that a person can correct; its text is one sentence."""


@dataclass(frozen=True)
class Book:
    """A checkout of the book.

    Example:
        >>> Book(Path("somewhere")).executed("quick", "01_x").as_posix()
        'somewhere/_build/executed/quick/01_x.ipynb'
    """

    root: Path

    @cached_property
    def chapters(self) -> dict[str, Path]:
        """Name → source of every chapter, in reading order."""
        return {path.stem: path for path in sorted((self.root / "chapters").glob("[0-9]*.py"))}

    @cached_property
    def records(self) -> dict[str, Path]:
        """Name → source of every record, `records/<name>`, in reading order."""
        return {
            f"records/{path.stem}": path for path in sorted((self.root / "chapters/records").glob("*.py"))
        }

    @property
    def notebooks(self) -> dict[str, Path]:
        """Name → source of all that is executed: records, which the chapters tell of, and chapters."""
        return self.records | self.chapters

    @cached_property
    def profiles(self) -> list[str]:
        return [name for name in PROFILES if (self.root / f"chapters/profiles/{name}.yml").is_file()]

    @cached_property
    def repository(self) -> str | None:
        """The address in `_config.yml` from which others install the library, if there is one."""
        return (yaml.safe_load((self.root / "_config.yml").read_text()).get("repository") or {}).get("url")

    @property
    def build(self) -> Path:
        return self.root / "_build"

    @property
    def html(self) -> Path:
        return self.build / "html"

    def executed(self, profile: str, chapter: str) -> Path:
        """The executed notebook, one per profile, so that a change of profile repeats no run."""
        return self.build / "executed" / profile / f"{chapter}.ipynb"

    def failed(self, profile: str, chapter: str) -> Path:
        """The notebook as far as it came, when a cell failed."""
        return self.build / "failed" / profile / f"{chapter}.ipynb"

    def check_all_ran(self, profile: str) -> None:
        if missing := [name for name in self.notebooks if not self.executed(profile, name).is_file()]:
            raise BookError(
                f"Expected every chapter to have run at {profile}, {missing[0]} has not: build first, or "
                "name with --profile the one that you built."
            )

    def recorded(self, chapter: str) -> Path:
        """The folder of what a record keeps: its tables, and what it tells other pages."""
        return self.root / "data/results" / chapter.rpartition("/")[2]

    def notebook(self, name: str) -> str:
        """The full name of a chapter or a record, from its name or number (`1`, `01`, `1b`, `records/3`)."""
        for known in self.notebooks:
            if name in (known, number := known.split("_")[0]) or _short(name) == _short(number):
                return known
        raise BookError(unknown("chapter", name, self.notebooks))

    def overrides(self, profile: str) -> dict[str, dict]:
        """A profile's parameters by notebook: those that it has for all, and `profiles/<profile>.yml`.

        A record has its scale. At desk and paper, which take hours, a GPU is used where there is one.
        """
        if profile not in self.profiles:
            raise BookError(unknown("profile", profile, self.profiles))
        path = self.root / "chapters/profiles" / f"{profile}.yml"
        sections = yaml.safe_load(path.read_text()) or {}
        if stray := [section for section in sections if section not in self.notebooks]:
            raise BookError(f"In {path.name}: " + unknown("chapter", stray[0], self.notebooks))
        found: dict[str, dict] = {}
        for name, source in self.notebooks.items():
            found[name] = {"scale": profile} if name in self.records else {}
            if profile in RECORDED and re.search(r"^device: ", source.read_text(), re.MULTILINE):
                found[name]["device"] = "auto"
            found[name] |= sections.get(name) or {}
        return found


def _short(number: str) -> str:
    folder, _, last = number.rpartition("/")
    return f"{folder}/{last.lstrip('0')}"


def find_book() -> Book:
    """The checkout that contains the current folder; a BookError where there is none."""
    start = Path.cwd()
    for folder in (start, *start.parents):
        if (folder / "_config.yml").is_file() and (folder / "chapters").is_dir():
            return Book(folder)
    raise BookError(
        f"Expected to be inside a checkout of the book (a folder with _config.yml and chapters/), but "
        f"neither {start} nor a folder above it is one: change into the checkout first."
    )
