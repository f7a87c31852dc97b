"""The first page of the API: its ten tasks run as they stand there, each in at most three lines."""

import re
from dataclasses import replace
from pathlib import Path

from intertwine.training import RECIPES

PAGE = Path(__file__).parent.parent / "book/api/index.md"


def test_ten_tasks_of_at_most_three_lines_run(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path / "zoo"))
    monkeypatch.setenv("INTERTWINE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setitem(RECIPES, "digits", replace(RECIPES["digits"], epochs=3))
    page = PAGE.read_text()
    begin, *tasks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (chapter,) = re.findall(r"`(run = .*)`", page)
    assert len(tasks) == 10 and all(task.count("\n") <= 3 for task in tasks)
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
