"""The repository: dependencies declared once, one lock, a wheel that imports anywhere, arrows one way."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from intertwine_book import results
from intertwine_book.build import imports
from intertwine_book.build.cli import cli

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base", "editables": "python-editables"}
STILL_TWICE = {"Run"}  # fewer are better


def run(*command: str, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def declared() -> set[str]:
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    return {*PROJECT["dependencies"], *extras}


def test_environment_yml_says_what_pyproject_says():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (by_pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    conda = {entry for entry in entries if isinstance(entry, str)} | set(by_pip)

    def named_for_conda(requirement: str) -> str:
        name, rest = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()
        return CONDA_NAMES.get(name, name) + rest

    besides = {"pip", "python" + PROJECT["requires-python"], "--editable ."}
    assert conda == {named_for_conda(r) for r in declared()} | besides


def test_the_lock_pins_everything_declared_and_holds_no_address():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert all(re.match(r"[a-z0-9.\-]+==\S+( ; .+)?$", line) for line in lines)
    pinned = {line.split("==")[0] for line in lines}
    names = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in declared()}
    assert names <= pinned


@pytest.mark.slow  # pip
def test_torchvision_is_an_extra_and_an_installed_torch_stays():
    assert not any("torchvision" in requirement for requirement in PROJECT["dependencies"])
    assert "torch>=2.9" in PROJECT["dependencies"]
    output = run(
        *(
            sys.executable,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--no-build-isolation",
            "--no-index",
            "-e",
            str(ROOT),
        )
    )
    would = re.findall(r"^Would install (.*)$", output, re.MULTILINE)
    assert would == [f"intertwine-{PROJECT['version']}"], output


def without_extras() -> set[str]:
    """What `pip install .` would bring here: the declared dependencies, theirs, and so on; import names."""
    waiting, dists = [*PROJECT["dependencies"]], set()
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name not in dists and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
            dists.add(name)
            waiting += metadata.requires(name) or []
    packages = metadata.packages_distributions()
    return {
        name for name, owners in packages.items() if dists & {canonicalize_name(owner) for owner in owners}
    }


def test_the_library_alone_brings_nothing_that_plots_serves_or_executes_notebooks():
    names = without_extras()
    assert {"torch", "numpy", "sklearn"} <= names
    others = {"beartype", "IPython", "jupyter_core", "matplotlib", "plotly", "requests", "sphinx", "tornado"}
    assert not names & (others | {"click", "pydantic", "rich", "torchvision", "umap", "yaml"})


# runs before anything is imported: whatever was not declared is not there
ALONE = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))
sys.path.insert(0, {site!r})
"""


@pytest.mark.slow
def test_a_wheel_without_extras_runs_the_example_of_the_readme_outside_the_tree(tmp_path):
    options = ("--no-deps", "--no-build-isolation", "--no-index")
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    parts = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert parts == {"intertwine", "intertwine_book", f"intertwine-{PROJECT['version']}.dist-info"}
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    ours = {"intertwine", "intertwine_book"}
    absent = {*metadata.packages_distributions()} - without_extras() - ours
    alone = ALONE.format(absent=absent, site=str(site))

    def alone_runs(code: str) -> str:
        return run(sys.executable, "-I", "-c", alone + code, cwd=tmp_path)

    packages = sorted(f"intertwine.{path.parent.name}" for path in site.glob("intertwine/*/__init__.py"))
    assert len(packages) > 8
    assert str(site) in alone_runs(f"import {', '.join(packages)}; print(intertwine.__file__)")
    alone_runs(*re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL))
    command = "import intertwine_book.build as b\ntry: b.main()\nexcept SystemExit as end: print(end)"
    sentence = r"The command line .* needs \w+: install it with `pip install .*\[book\]'` in the checkout\.$"
    assert re.fullmatch(sentence, alone_runs(command).strip())


def modules() -> dict[str, Path]:
    """Every module of both packages, by its dotted name."""
    return {
        ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts).removesuffix(".__init__"): path
        for package in results.PACKAGES
        for path in sorted((ROOT / "lib" / package).rglob("*.py"))
    }


def graph() -> dict[str, set[str]]:
    """Module → the modules of ours that it imports, be it within a function."""
    known = modules()

    def nearest(name: str) -> str:
        return name if name in known else name.rpartition(".")[0]

    return {
        module: {nearest(name) for name in imports.names(path.read_text())} & known.keys() - {module}
        for module, path in known.items()
    }


def test_no_file_imports_itself_by_way_of_others():
    tuple(TopologicalSorter(graph()).static_order())  # a CycleError names the files


# of the packages and single files below each of these; the first imports none of the others
ORDER = {
    "intertwine": (
        *("files", "devices", "rounding", "checks", "chains", "features", "groups", "data", "alignment"),
        *("weightspace", "shallow", "training", "similarity", "stitching", "dissection", "genni"),
        "same_network",
    ),
    "intertwine.weightspace": ("trace", "rules", "solve", "act", "uses", "find"),
    "intertwine_book": (
        *("markdown_table", "tidy", "code_hash", "data", "models", "zoo", "sanity", "dissected"),
        *("results", "record"),
        *("claims", "figures", "board", "claim", "told", "live", "experiments", "stories", "build"),
    ),
}


def below(package: str, module: str) -> str:
    """The package or file right below this package in which a module is; "" if it is elsewhere."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else ""


def test_arrows_run_one_way():
    for module, imported in graph().items():
        for other in imported:
            assert not (below("intertwine", module) and below("intertwine_book", other)), (module, other)
            for package, order in ORDER.items():
                here, there = below(package, module), below(package, other)
                if here and there and here != there:
                    assert order.index(here) > order.index(there), (module, other)


def test_a_model_is_followed_through_at_most_six_floors_of_files():
    package = "intertwine.weightspace"
    inside = {module: imported for module, imported in graph().items() if below(package, module)}
    floor: dict[str, int] = {}
    for module in TopologicalSorter(inside).static_order():
        imported = inside.get(module, set()) & inside.keys()
        floor[module] = 1 + max((floor[other] for other in imported), default=0)
    assert len(inside) > 30 and max(floor.values()) <= 6, floor


def test_the_library_imports_only_what_it_declares():
    packages = metadata.packages_distributions()
    declares = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    optional = {"PIL", "torchvision", "ot"}  # within a function, for one data set, and for soft matching
    for path in (ROOT / "lib/intertwine").rglob("*.py"):
        tops = {name.split(".")[0] for name in imports.names(path.read_text())}
        others = tops - sys.stdlib_module_names - optional - {"intertwine"}
        undeclared = {top for top in others if not declares & {*map(canonicalize_name, packages[top])}}
        assert not undeclared, path


@pytest.mark.slow
def test_nothing_slow_at_import():
    packages = "intertwine.groups, intertwine.genni, intertwine_book.data, intertwine_book.results"
    imported = run(sys.executable, "-c", f"import sys, {packages}; print(*sys.modules)").split()
    assert not {"torchvision", "sklearn", "matplotlib.pyplot", "umap", "plotly"} & {*imported}


@pytest.mark.slow
def test_what_was_found_is_told_without_torch():
    stories = [path.stem for path in (ROOT / "lib/intertwine_book/stories").glob("*.py")]
    modules = ", ".join(f"intertwine_book.stories.{name}" for name in stories if name != "__init__")
    imported = run(sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)").split()
    assert not {"torch", "myst_nb", "papermill"} & {*imported}


def test_the_version_is_cited_and_its_changes_are_told():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"]
    text = (ROOT / "CHANGELOG.md").read_text()
    version, date = re.match(r"# Changelog\n\n## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)\n", text).groups()
    assert version == PROJECT["version"]
    assert str(cited.get("date-released", "unreleased")) == date


def test_each_python_and_the_lowest_versions_are_tried_by_a_script_and_in_forks():
    jobs = yaml.safe_load((ROOT / ".github/workflows/versions.yml").read_text())["jobs"]
    rows = jobs["tests"]["strategy"]["matrix"]["include"]
    assert {row["python"] for row in rows} == {"3.11", "3.12", "3.13"}
    assert {"python": PROJECT["requires-python"].removeprefix(">="), "versions": "lowest"} in rows
    assert ".ci/versions" in jobs["tests"]["steps"][-1]["run"]
    done = subprocess.run([ROOT / ".ci/versions", "3.11", "oldest"], capture_output=True, text=True)
    assert done.returncode == 2 and "then lowest or newest" in done.stderr


def test_a_fork_tests_builds_and_opens_the_pages_before_it_publishes_any():
    job = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text())["jobs"]["book"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[:-1] == ["make test-all", "make check", "make book", "make pages"]
    assert "intertwine publish" in commands[-1]


def test_no_path_of_a_machine_is_written_into_the_project():
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).split()
    pattern = re.compile(r"(?<![\w./-])/(home|root|work|Users)/\w")
    for name in tracked:
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".yml", ".toml", ".cff", ".lock", ""}:
            assert not pattern.search(path.read_text()), name


def test_pages_give_the_command_as_it_is_found_after_make_book():
    bare = re.compile(rf"(?<![\w./-])intertwine ({'|'.join(cli.commands)})\b")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("book/**/*.md")]
    found = {path.name: bare.findall(path.read_text()) for path in [*pages, *ROOT.glob("chapters/*.py")]}
    assert len(found) > 20 and not {name: commands for name, commands in found.items() if commands}


def test_what_a_chapter_writes_when_opened_in_jupyterlab_is_not_committed():
    run("git", "check-ignore", "chapters/results/01_intertwiner_groups/table_1.csv", cwd=ROOT)
    for page in ("README.md", "book/adapt.md"):  # a double click opens a text editor
        assert "Open With → Jupytext Notebook" in " ".join((ROOT / page).read_text().split()), page


@pytest.fixture
def spaced(tmp_path) -> Path:
    """The Makefile in a folder with a space and an ampersand, where commands note what they are given."""
    folder = tmp_path / "Art & Craft"
    for name in (".venv/bin/intertwine", ".venv/bin/pytest", ".venv/bin/jupyter", "chapters/01_first.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(
            '#!/bin/sh\nprintf "%s\\n" "$INTERTWINE_ZOO" "$INTERTWINE_DATA" "$@" >>noted\n'
        )
        (folder / name).chmod(0o755)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def make(folder: Path, *arguments: str) -> str:
    """What make says, whatever another make, which may run these tests, hands on."""
    theirs = ("INTERTWINE", "MAKE", "MFLAGS", "PROFILE", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    return run("make", *arguments, cwd=folder, env=environment)


def commands(folder: Path, *arguments: str) -> list[list[str]]:
    """The commands that make would run, in words."""
    lines = make(folder, "-n", *arguments).replace("\\\n", " ").splitlines()
    return [list(shlex.shlex(line, posix=True, punctuation_chars=True)) for line in lines]


TARGETS = re.findall(r"[\w-]+", re.search(r"^\.PHONY: (book .*)$", (ROOT / "Makefile").read_text(), re.M)[1])


@pytest.mark.parametrize("target", TARGETS)
def test_make_writes_no_absolute_path_and_removes_nothing_outside_its_folder(spaced, target):
    for words in commands(spaced, target):
        assert not [word for word in words if str(spaced.parent) in word], words
        for at, _ in enumerate(words):
            if words[at] == "rm":
                removed = itertools.takewhile(lambda word: word not in ("&&", ";", "||"), words[at + 1 :])
                assert all((spaced / word).resolve().is_relative_to(spaced) for word in removed), words


def test_the_python_that_make_takes_may_lie_in_a_folder_with_a_space(spaced):
    python = "/opt/my python/python3"
    assert sum(words.count(python) for words in commands(spaced, "book", f"PYTHON={python}")) == 2


def test_make_runs_a_chapter_with_parameters_of_its_own(spaced):
    (spaced / ".venv/ready").touch()
    make(spaced, "run", "CHAPTER=03", "ARGS=-p seed 7")
    noted = (spaced / "noted").read_text().splitlines()
    assert noted[2:] == ["run", "03", "--profile", "quick", "-p", "seed", "7"]


def test_jupyter_lab_opens_for_root_too_and_takes_arguments(spaced):
    (spaced / ".venv/ready").touch()
    make(spaced, "lab", "ARGS=--port 8889")
    as_root = ["--allow-root"] if os.getuid() == 0 else []
    noted = (spaced / "noted").read_text().splitlines()
    assert noted[2:] == ["lab", "--notebook-dir", "chapters", *as_root, "--port", "8889"]


@pytest.mark.parametrize("target", ["device", "pages"])
def test_what_make_hands_on_is_whole_where_a_folder_has_a_space(spaced, target):
    test_make_writes_no_absolute_path_and_removes_nothing_outside_its_folder(spaced, target)  # before it runs
    (spaced / ".venv/ready").touch()
    make(spaced, target)
    noted = (spaced / "noted").read_text().splitlines()
    assert str(spaced / "data") in noted and noted[-1].startswith("tests/")
    if target == "device":
        assert noted[0] == str(spaced / "_build/device/zoo") and "_build/device/01_first.ipynb" in noted


def test_a_constant_or_a_type_has_one_meaning_wherever_its_name_stands():
    definition = re.compile(r"^class ([A-Z]\w*)|^([A-Z]\w*)(?:: .+)? = ", re.MULTILINE)
    files: dict[str, set[Path]] = {}
    for file in (ROOT / "lib").rglob("*.py"):
        for name in map("".join, definition.findall(file.read_text())):
            files.setdefault(name, set()).add(file)
    twice = {name: where for name, where in files.items() if len(where) > 1 and name not in STILL_TWICE}
    assert not twice, "import the one, or say in the name of the other what it is"
