"""The command line: `intertwine build`, `run`, `status`, `pdf` and `publish`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from intertwine_book.build import chapters, execute, parameters
from intertwine_book.build import publish as publishing
from intertwine_book.build.layout import DEFAULT_PROFILE, BookError, find_book
from intertwine_book.build.render import render
from intertwine_book.build.status import states
from intertwine_book.results import RECORDED

console = Console(soft_wrap=True, highlight=False)
_PATH = click.Path(path_type=Path)
_profile = click.option(
    "--profile", default=DEFAULT_PROFILE, show_default=True, help="smoke, quick, desk or paper"
)


class _Sentences(click.Group):
    """Turns the book's own errors into one sentence and exit status 1."""

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except BookError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="intertwine")
def cli() -> None:
    """Build, run and inspect the book *Symmetries of Neural Networks*."""


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        TextColumn("{task.fields[state]:<22}"),
        TimeElapsedColumn(),
        console=console,
    )


@cli.command()
@_profile
@click.option("--only", multiple=True, metavar="CHAPTER", help="only this, by name or number (repeatable)")
@click.option("--jobs", type=click.IntRange(min=1), help="chapters at once [default: one per CPU core]")
@click.option("--force", is_flag=True, help="run chapters again even if they are fresh")
def build(profile: str, only: tuple[str, ...], jobs: int | None, force: bool) -> None:
    """Execute the chapters that changed, render the pages, and print the path of the first one."""
    book = find_book()
    planned = chapters.plan(book, profile, only, force=force)
    todo = {chapter: task.settings for chapter, task in planned.items() if not task.fresh}
    if profile in RECORDED and todo:
        from intertwine_book.build import estimate  # torch is slow to import

        console.print(estimate.announced(book, todo, jobs or chapters.cores()))
    with _progress() as progress:
        waiting: dict[str, Any] = {"start": False, "state": "waiting"}
        tasks = {chapter: progress.add_task(chapter, total=1, **waiting) for chapter in planned}
        pages = progress.add_task("pages", total=200, **waiting)

        def report(chapter: str, state: str, cell: int, of: int) -> None:
            task = tasks[chapter]
            if state == "running":
                progress.start_task(task)
                doing = f"cell {cell} of {of}" if cell else "starting"
                progress.update(task, total=of, completed=cell - 1, state=doing)
            else:
                progress.update(task, total=1, completed=1, state=state)
                progress.stop_task(task)
            if not console.is_terminal and state != "running":
                console.print(f"{chapter}: {state}")

        def report_pages(phase: str, percent: int) -> None:
            done = percent + 100 * (phase == "writing output")
            progress.update(pages, completed=done, state=f"{phase} {percent} %")

        chapters.run(planned, jobs=jobs, report=report)
        progress.start_task(pages)
        progress.update(pages, state="starting")
        page = render(book, profile, report_pages)
        progress.update(pages, completed=200, state="done")
    console.print(f"\nThe book is ready. Open  [bold]{page}[/bold]")


@cli.command()
@click.argument("chapter")
@click.option("-p", "given", nargs=2, multiple=True, metavar="KEY VALUE", help="set a parameter (repeatable)")
@_profile
@click.option("--output", type=_PATH, help="the executed notebook [default: _build/runs/CHAPTER.ipynb]")
def run(chapter: str, given: tuple[tuple[str, str], ...], profile: str, output: Path | None) -> None:
    """Execute one CHAPTER (its name or number) with parameters of your own."""
    book = find_book()
    name = book.chapter(chapter)
    values = book.overrides(profile)[name] | {key: parameters.parse(value) for key, value in given}
    _, settings = execute.prepare(book.chapters[name], values)
    execute.check_world(settings)
    output = (output or book.build / "runs" / f"{name}.ipynb").resolve()
    with _progress() as progress:
        task = progress.add_task(name, total=1, state="starting")

        def report(cell: int, of: int) -> None:
            progress.update(task, total=of, completed=cell - 1, state=f"cell {cell} of {of}")

        places = {"tables": output.with_suffix(""), "failed": output.with_stem(output.stem + ".failed")}
        record = {"profile": profile}
        execute.execute(book, name, settings, output, **places, record=record, report=report)
        progress.update(task, total=1, completed=1, state="done")
    console.print(f"Executed notebook: [bold]{output}[/bold]")


@cli.command()
@_profile
def pdf(profile: str) -> None:
    """Print the built pages as one PDF (needs a Chromium and the extra `browser`)."""
    from intertwine_book.build.pdf import pdf as printed  # BeautifulSoup is not needed for anything else

    with console.status("printing"):
        path = printed(find_book(), profile)
    console.print(f"The book on paper: [bold]{path}[/bold]")


@cli.command()
@_profile
@click.argument("folder", type=_PATH)
def publish(profile: str, folder: Path) -> None:
    """Fill FOLDER with the built pages and executed notebooks, for a branch that is served."""
    publishing.publish(find_book(), profile, folder)
    console.print(f"Ready to be pushed: [bold]{folder}[/bold]")


@cli.command()
@_profile
def status(profile: str) -> None:
    """Per chapter: fresh or stale, last run, wall time, device, and the tables recorded at each profile."""
    table = Table(title=f"profile {profile}", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("chapter", "state", "last run", "time", "memory", "device", "recorded"):
        table.add_column(heading, no_wrap=heading == "chapter")
    for chapter, state, finished, time, memory, device, _, recorded in states(find_book(), profile):
        table.add_row(chapter, state, finished, time, memory, device, recorded)
    console.print(table)
