"""What the repository promises: one declaration of dependencies, one lock, a wheel that imports anywhere."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

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


def test_a_wheel_imports_outside_the_tree(tmp_path):
    options = ("--no-deps", "--no-build-isolation", "--no-index")
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    modules = ["intertwine"] + [
        f"intertwine.{path.parent.name}" for path in site.glob("intertwine/*/__init__.py")
    ]
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import {', '.join(modules)}"
    found = run(sys.executable, "-I", "-c", code + "; print(intertwine.__file__)", cwd=tmp_path)
    assert str(site) in found
    parts = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert parts == {"intertwine", f"intertwine-{PROJECT['version']}.dist-info"}


@pytest.mark.parametrize("slow", ["torchvision", "sklearn", "matplotlib.pyplot", "umap", "plotly"])
def test_nothing_slow_at_import(slow):
    packages = "intertwine.groups, intertwine.data, intertwine.genni, intertwine_book.results"
    code = f"import sys, {packages}; print(*sys.modules)"
    assert slow not in run(sys.executable, "-c", code).split()


def test_no_path_of_a_machine_is_written_into_the_project():
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).split()
    pattern = re.compile(r"(?<![\w./-])/(home|root|work|Users)/\w")
    for name in tracked:
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".yml", ".toml", ".cff", ".lock", ""}:
            assert not pattern.search(path.read_text()), name
