"""The command line: `intertwine build`, `run`, `networks`, `status`, `pdf` and `publish`."""

import os
from collections.abc import Iterable
from pathlib import Path
from signal import SIGINT

import click
from rich import box
from rich.console import Console
from rich.table import Table

from intertwine_book.build.layout import DEFAULT_PROFILE, Book, BookError, find_book
from intertwine_book.build.progress import shown
from intertwine_book.build.writing import KEPT, check_writable, place, trouble

# pandas, papermill and torch are slow to import: a command does so once what it was given makes sense

console = Console(soft_wrap=True, highlight=False)
_PATH = click.Path(path_type=Path)
_profile = click.option(
    "--profile", default=DEFAULT_PROFILE, show_default=True, help="smoke, quick, desk or paper"
)
_pairs = click.option(
    "-p", "given", nargs=2, multiple=True, metavar="KEY VALUE", help="set a parameter (repeatable)"
)
Given = tuple[tuple[str, str], ...]


class _Sentences(click.Group):
    """Turns the book's own errors, a machine's refusals and interruptions into one sentence."""

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except BookError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if not (said := trouble(error)):
                raise
            raise click.ClickException(said) from error
        except KeyboardInterrupt as stop:  # with the number of the signal, if that is not Ctrl-C's
            click.echo(f"\nInterrupted. {KEPT}", err=True)
            context.exit(128 + next(iter(stop.args), SIGINT))


class _WithPairs(click.Command):
    """Takes `-p KEY=VALUE` as well as `-p KEY VALUE`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        pairs = zip(["", *args], args, strict=False)
        return super().parse_args(
            context,
            [part for last, each in pairs for part in (each.split("=", 1) if last == "-p" else [each])],
        )


@click.group(cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="intertwine")
def cli() -> None:
    """Build, run and inspect the book *Symmetries of Neural Networks*."""


def interrupt(number: int, frame: object) -> None:
    """SIGTERM, which ends a container or a job of Slurm, stops what runs as Ctrl-C does."""
    raise KeyboardInterrupt(number)


def _book(profile: str = DEFAULT_PROFILE, chapters: Iterable[str] = ()) -> Book:
    """The checkout that we are in, which has this profile and these chapters.

    Its data lie there, unless `INTERTWINE_DATA` names another folder.
    """
    book = find_book()
    book.overrides(profile)
    for name in chapters:
        book.notebook(name)
    os.environ.setdefault("INTERTWINE_DATA", str(book.root / "data"))
    return book


@cli.command(cls=_WithPairs)
@_profile
@click.option("--only", multiple=True, metavar="CHAPTER", help="only this, by name or number (repeatable)")
@_pairs
@click.option(
    "--jobs", type=click.IntRange(min=1), help="chapters at once [default: one per GPU, else per CPU core]"
)
@click.option("--force", is_flag=True, help="run chapters again even if they are fresh")
def build(profile: str, only: tuple[str, ...], given: Given, jobs: int | None, force: bool) -> None:
    """Execute the chapters that changed, render the pages, and print the path of the first one.

    A parameter that is set counts in each notebook that has it.
    """
    book = _book(profile, only)
    folders = [book.root / "book/chapters", book.root / "book/generated", book.root / "data/results"]
    check_writable(book.build / "logs", book.build / "locks", *folders)
    from intertwine_book.build import chapters, freshness, parameters
    from intertwine_book.build.render import render

    # to compare bytes takes a second; to find out which code they change, twenty
    read = freshness.read_by_build(book, profile, only, given)
    if not force and freshness.unchanged(book, read):
        page = book.html / "index.html"
        console.print(f"Nothing has changed since the last build. Open  [bold]{page}[/bold]")
        return
    own = {key: parameters.parse(value) for key, value in given}
    planned = chapters.plan(book, profile, only, own, force=force)
    stale = {chapter: task.stale for chapter, task in planned.items() if task.stale}
    for chapter, why in stale.items():
        if why.startswith("changed"):  # at a first build there is nothing to wonder about
            console.print(f"{chapter} runs again, {why}", markup=False)
    _say_missing(book, {chapter: planned[chapter].settings for chapter in stale})
    with shown(console, [*planned, "pages"], book.build / "logs") as report:
        chapters.run(planned, jobs=jobs, report=report)
        page = render(book, profile, lambda state, done: report("pages", state, done + 1, 100), read=read)
        report("pages", "done", 1, 1)
    console.print(f"\nThe book is ready. Open  [bold]{page}[/bold]")


def _say_missing(book: Book, settings: dict[str, dict]) -> None:
    """Where rows are computed that come with the book, it takes hours."""
    from intertwine_book.build.plans import left

    if told := [each for name, own in settings.items() if (each := left(book, name, own))]:
        console.print("\n".join(["To compute, beside the training of networks:", *told]), markup=False)


@cli.command(cls=_WithPairs)
@click.argument("chapter")
@_pairs
@_profile
@click.option("--output", type=_PATH, help="the executed notebook, *.ipynb [default: one in _build/runs]")
@click.option("--parameters", "listed", is_flag=True, help="show the parameters, and run nothing")
def run(chapter: str, given: Given, profile: str, output: Path | None, listed: bool) -> None:
    """Execute one CHAPTER (its name or number) with parameters of your own."""
    book = _book(profile, [chapter])
    name = book.notebook(chapter)
    from intertwine import files
    from intertwine_book.build import chapters, download, execute, parameters, plans

    own = {key: parameters.parse(value) for key, value in given}
    node, settings = execute.prepare(book.notebooks[name], book.overrides(profile)[name] | own)
    if listed:
        cell = parameters.parameters_cell(node)
        return console.print("\n".join(parameters.lines(cell.source)), markup=False)
    if output is None:  # one for each choice of parameters
        output = book.build / f"runs/{name}-{files.digest(settings)[:8]}.ipynb"
    output = output.resolve()
    place(output, name)
    execute.check_world(settings)
    _say_missing(book, {name: settings})
    record = {"chapter": name, "profile": chapters.told(profile, own)}
    chapters.log_of(book, name)
    lock = files.lock(book.build / f"locks/run-{files.digest(str(output))}")
    with lock, shown(console, [name], book.build / "logs") as report:
        execute.execute(
            book,
            name,
            settings,
            output,
            failed=output.with_stem(output.stem + ".failed"),
            record=record,
            report=lambda cell, of: report(name, f"cell {cell} of {of}", cell, of),
        )
        download.show_untrusted(output)
        report(name, "done", 1, 1)
    console.print(f"Executed notebook: [bold]{output}[/bold]")
    if rows := plans.written(book, name, settings):
        console.print(f"Its rows: [bold]{rows}[/bold]")


@cli.command()
@_profile
def pdf(profile: str) -> None:
    """Print the built pages as one PDF (needs a Chromium and the extra `browser`)."""
    book = _book(profile)
    from intertwine_book.build.pdf import pdf as printed  # BeautifulSoup is not needed for anything else

    with console.status("printing"):
        path = printed(book, profile)
    console.print(f"The book on paper: [bold]{path}[/bold]")


@cli.command()
@_profile
@click.argument("folder", type=_PATH)
def publish(profile: str, folder: Path) -> None:
    """Fill FOLDER with the built pages, a PDF and executed notebooks, for a branch that is served.

    It needs the address of the repository in _config.yml, from which notebooks then install the library.
    """
    book = _book(profile)
    from intertwine_book.build.publish import publish as published

    if missing := published(book, profile, folder):
        console.print(missing, style="yellow")
    console.print(f"Ready to be pushed: [bold]{folder}[/bold]")


@cli.command()
@click.option(
    "--train", is_flag=True, help="train those that are missing (hours), and keep each when finished"
)
def networks(train: bool) -> None:
    """List the networks that come with the book."""
    _book()
    from intertwine_book.zoo import kept

    if train:
        from intertwine_book.zoo.wanted import train_missing

        train_missing(lambda line: console.print(line))
    console.print(kept.table().to_string(index=False))


@cli.command()
@_profile
def status(profile: str) -> None:
    """Per notebook: fresh or stale, last run, time, memory and device; then what is left to do, in words."""
    book = _book(profile)
    from intertwine_book.build.status import states, words

    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for heading in ("notebook", "state", "last run", "time", "GiB", "device"):
        numbers = heading in ("time", "GiB")
        table.add_column(heading, no_wrap=heading != "device", justify="right" if numbers else "left")
    found = states(book, profile)
    for each in found:
        table.add_row(*each[:6])
    console.print(table)
    console.print("\n".join(words(book, profile, found)), markup=False)
