"""Whatever folds on a page has a title to press, without which the script that folds would stop."""

import re
import subprocess
import sys

PAGE = """# Page

```{prf:proof}
:class: dropdown
It *is* so.
```

```{prf:proof}
Seen at once.
```
"""


def test_a_folded_proof_has_a_title_and_an_open_one_begins_with_its_word(tmp_path):
    (tmp_path / "index.md").write_text(PAGE)
    (tmp_path / "conf.py").write_text(
        'extensions = ["myst_parser", "sphinx_proof", "intertwine_book.build.folds"]\n'
    )
    command = [sys.executable, "-m", "sphinx", "-nWq", "-b", "html", tmp_path, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    page = re.sub(r"\s+", " ", (tmp_path / "html/index.html").read_text())
    assert '<p class="admonition-title">Proof</p> <p>It <em>is</em> so.</p>' in page
    assert page.count("admonition-title") == 1 and "<p>Proof. Seen at once.</p>" in page
