"""Pages read recorded facts from the records, and a misspelt one does not pass."""

import subprocess
import sys

import pytest

from intertwine_book.build import facts


def test_a_fact_is_written_out_wherever_it_stands():
    text = "![{fact}`07_shallow_relu.regions:.0f` of it](a.svg), {fact}`07_shallow_relu.regions:.1f` and `x`"
    assert facts.told(text) == "![7 of it](a.svg), 7.0 and `x`"
    assert facts.told("{fact}`07_shallow_relu.regions`") == "7"


@pytest.mark.parametrize(
    ("fact", "nearest"),
    [
        ("07_shalow_relu.regions", "'07_shallow_relu'"),
        ("07_shallow_relu.regoins", "'regions'"),
        ("07_shallow_relu.x", "the nearest"),
        ("told median-1", "a story"),  # it has no facts
        ("07_shallow_relu.regions:nonsense", "format"),
    ],
)
def test_an_unknown_one_raises_and_names_the_nearest(fact, nearest):
    with pytest.raises(ValueError, match=nearest):
        facts.told(f"{{fact}}`{fact}`")


@pytest.mark.slow
def test_an_unknown_one_is_a_warning_of_sphinx_at_its_line_and_a_known_one_is_written_out(tmp_path):
    (tmp_path / "conf.py").write_text('extensions = ["myst_parser", "intertwine_book.build.facts"]')
    known = "# Found\n\nHalf have {fact}`07_shallow_relu.regions:.0f`.\n\n```{toctree}\nmisspelt\n```\n"
    (tmp_path / "index.md").write_text(known)
    (tmp_path / "misspelt.md").write_text("# Lost\n\nHalf have {fact}`07_shallow_relu.regoins:.0f`.\n")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        str(tmp_path),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "index.md" not in done.stderr
    assert "misspelt.md:3: WARNING: Expected a fact" in done.stderr
    assert "Half have 7." in (tmp_path / "out/index.html").read_text()
