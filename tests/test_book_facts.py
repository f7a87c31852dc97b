"""Pages read recorded facts from the stories of chapters, and a misspelt one does not pass."""

import subprocess
import sys

import pytest

from intertwine_book.build import facts
from intertwine_book.stories import shallow_relu


def test_a_fact_is_written_out_wherever_it_stands():
    text = "![{fact}`shallow_relu median-1:.0f` of them](a.svg), {fact}`shallow_relu regions:.1f` and `x`"
    assert facts.told(text) == "![34 of them](a.svg), 7.0 and `x`"
    assert facts.told("{fact}`shallow_relu median-1`") == str(shallow_relu.facts()["median-1"])


@pytest.mark.parametrize(
    ("fact", "nearest"),
    [
        ("shalow_relu median-1", "'shallow_relu'"),
        ("shallow_relu medain-1", "'median-1'"),
        ("shallow_relu x", "the nearest"),
        ("told median-1", "a story"),  # it has no facts
        ("shallow_relu median-1:nonsense", "format"),
    ],
)
def test_an_unknown_one_raises_and_names_the_nearest(fact, nearest):
    with pytest.raises(ValueError, match=nearest):
        facts.told(f"{{fact}}`{fact}`")


@pytest.mark.slow
def test_an_unknown_one_is_a_warning_of_sphinx_at_its_line_and_a_known_one_is_written_out(tmp_path):
    (tmp_path / "conf.py").write_text('extensions = ["myst_parser", "intertwine_book.build.facts"]')
    known = "# Found\n\nHalf have {fact}`shallow_relu median-1:.0f`.\n\n```{toctree}\nmisspelt\n```\n"
    (tmp_path / "index.md").write_text(known)
    (tmp_path / "misspelt.md").write_text("# Lost\n\nHalf have {fact}`shallow_relu medain-1:.0f`.\n")
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
    assert "Half have 34." in (tmp_path / "out/index.html").read_text()
