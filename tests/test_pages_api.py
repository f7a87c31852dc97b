"""The first page of the API: its tasks run as they stand there, each in at most three lines; and the page
that follows one network through all phases of `weightspace` gives what it says."""

import doctest
import re
from dataclasses import replace
from pathlib import Path

from intertwine.weightspace import rules
from intertwine.weightspace.rules.infer import RULES
from intertwine_book import zoo

API = Path(__file__).parent.parent / "book/api"
PAGE = API / "index.md"


def test_tasks_of_at_most_three_lines_run(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path / "zoo"))
    monkeypatch.setenv("INTERTWINE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setitem(zoo.RECIPES, "digits", replace(zoo.RECIPES["digits"], epochs=3))
    page = PAGE.read_text()
    begin, *tasks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (chapter,) = re.findall(r"`(run = .*)`", page)
    assert len(tasks) > 9 and all(task.count("\n") <= 3 for task in tasks)
    names: dict = {}
    exec("from intertwine_book import results\ndataset: str = 'digits'\n" + begin + chapter, names)
    for task in tasks:
        exec(task, names)
    torch, a, test = names["torch"], names["a"], names["test"]
    with torch.no_grad():
        torch.testing.assert_close(names["same"](test.images), a(test.images), rtol=1e-3, atol=1e-3)
    assert names["accuracy"]["accuracy"].min() > 0.5
    assert names["stitched"].evaluate(test) > 0.5 and names["own"].best.mean() > names["chance"].best.mean()
    assert (tmp_path / "results/accuracy.json").is_file()


def test_how_weightspace_works_is_computed_as_it_stands_there():
    blocks = re.findall(r"```pycon\n(.*?)```", (API / "how_it_works.md").read_text(), re.DOTALL)
    page = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "how_it_works", None, None)
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(page)
    assert found.attempted > 30 and found.failed == 0  # doctest prints what differs


def test_the_page_of_weightspace_lists_the_operations_that_have_a_rule():
    assert ".. automodule:: intertwine.weightspace.rules\n" in (API / "weightspace.md").read_text()
    listed = re.findall(r"``(\w+)``", str(rules.__doc__))
    assert {"linear", "conv2d", "softmax", "cat"} < {*listed} < {*RULES}
    assert sum(map(len, rules.operations().values())) == len(listed)
