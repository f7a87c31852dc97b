"""The repository: dependencies declared once, one lock, a wheel that imports anywhere, arrows one way."""

import re
import subprocess
import sys
import tomllib
import zipfile
from functools import partial
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from intertwine_book import origin
from intertwine_book.build import freshness

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base", "editables": "python-editables"}


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
def test_a_wheel_without_extras_runs_the_examples_of_the_readme_outside_the_tree(tmp_path):
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
    alone_runs("\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)))
    command = "import intertwine_book.build as b\ntry: b.main()\nexcept SystemExit as end: print(end)"
    sentence = r"The command line .* needs \w+: install it with `pip install .*\[book\]'` in the checkout\.$"
    assert re.fullmatch(sentence, alone_runs(command).strip())


def modules() -> dict[str, Path]:
    """Every module of both packages, by its dotted name."""
    return {
        ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts).removesuffix(".__init__"): path
        for package in origin.PACKAGES
        for path in sorted((ROOT / "lib" / package).rglob("*.py"))
    }


def graph() -> dict[str, set[str]]:
    """Module → the modules of ours that it imports, be it within a function."""
    known = modules()

    def nearest(name: str) -> str:
        return name if name in known else name.rpartition(".")[0]

    return {
        module: {nearest(name) for name in freshness.names(path.read_text())} & known.keys() - {module}
        for module, path in known.items()
    }


def test_no_file_imports_itself_by_way_of_others():
    tuple(TopologicalSorter(graph()).static_order())  # a CycleError names the files


def below(package: str, module: str) -> str:
    """The package or file right below this package in which a module is; "" if it is elsewhere."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else ""


@pytest.mark.parametrize("package", ["intertwine", "intertwine.weightspace", "intertwine_book"])
def test_arrows_run_one_way(package):
    """No circle of packages and single files right below; and the library imports nothing of the book."""
    arrows: dict[str, set[str]] = {}
    for module, imported in graph().items():
        here = below(package, module)
        arrows.setdefault(here, set()).update({below(package, other) for other in imported} - {here, ""})
        assert (
            package == "intertwine_book"
            or not here
            or not any(map(partial(below, "intertwine_book"), imported))
        )
    tuple(TopologicalSorter(arrows | {"": set()}).static_order())  # a CycleError names them


def test_the_library_imports_only_what_it_declares():
    packages = metadata.packages_distributions()
    declares = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    # within a function, for one data set, for soft matching, and for assignments
    optional = {"PIL", "torchvision", "ot", "lap"}
    for path in (ROOT / "lib/intertwine").rglob("*.py"):
        tops = {name.split(".")[0] for name in freshness.names(path.read_text())}
        others = tops - sys.stdlib_module_names - optional - {"intertwine"}
        undeclared = {top for top in others if not declares & {*map(canonicalize_name, packages[top])}}
        assert not undeclared, path


@pytest.mark.slow
def test_nothing_slow_at_import():
    packages = "intertwine.groups, intertwine.genni, intertwine_book.data, intertwine_book.record"
    imported = run(sys.executable, "-c", f"import sys, {packages}; print(*sys.modules)").split()
    assert not {"torchvision", "sklearn", "matplotlib.pyplot", "umap", "plotly"} & {*imported}


def test_the_version_is_cited_and_its_changes_are_told():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"]
    text = (ROOT / "CHANGELOG.md").read_text()
    version, date = re.match(r"# Changelog\n\n## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)\n", text).groups()
    assert version == PROJECT["version"]
    assert str(cited.get("date-released", "unreleased")) == date


def test_no_path_of_a_machine_is_written_into_the_project():
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).split()
    pattern = re.compile(r"(?<![\w./-])/(home|root|work|Users)/\w")
    for name in tracked:
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".yml", ".toml", ".cff", ".lock", ""}:
            assert not pattern.search(path.read_text()), name


def test_every_change_is_tested_and_only_what_publishes_may_write():
    """With a token that writes, no code runs but git; tests have a cache and wheels without CUDA."""
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        flow = yaml.safe_load(path.read_text())
        assert "pull_request" in flow[True]  # YAML reads `on` so
        assert flow["permissions"] == {"contents": "read"}, path
        for name, job in flow["jobs"].items():
            steps = {step["uses"].split("@")[0]: step.get("with") for step in job["steps"] if "uses" in step}
            if name == "publish":
                assert {*steps} == {"actions/download-artifact"} and "needs" in job
                continue
            assert "permissions" not in job and job["env"]["UV_TORCH_BACKEND"] == "cpu", name
            assert "actions/cache" in steps, name
            assert steps["actions/checkout"] == {"persist-credentials": False}, name


@pytest.mark.parametrize(
    ("config", "publishes"),
    [
        ('repository: {url: ""}', "false"),
        ("repository:\n  url: https://github.com/us/book", "true"),
        ("repository: {branch: main, url: 'https://github.com/us/book'}", "true"),
    ],
)
def test_the_workflow_publishes_once_there_is_an_address_however_it_is_written(tmp_path, config, publishes):
    flow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text())
    (step,) = [step for step in flow["jobs"]["book"]["steps"] if step.get("id") == "address"]
    (tmp_path / "_config.yml").write_text(config)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    output = tmp_path / "output"
    run("bash", "-c", step["run"], cwd=tmp_path, env={"GITHUB_OUTPUT": str(output)})
    assert output.read_text() == f"publishes={publishes}\n"


def test_scripts_need_nothing_outside_the_repository():
    for path in (*(ROOT / ".ci").iterdir(), ROOT / "Makefile", *(ROOT / ".github/workflows").iterdir()):
        assert not re.search(r"\.\./\w", path.read_text()), path
