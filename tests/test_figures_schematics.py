"""Diagrams and tables for people."""

import pandas as pd
import pytest

from intertwine_book.figures.readable import LONG, readable


def test_readable_writes_words_marks_dashes_and_rounded_numbers():
    table = pd.DataFrame(
        {"a": [1.2345, float("nan")], "b": [True, False], "c": ["<x>", None], "n": [3000, -4]}
    )
    text = readable(table, {"a": "length, m", "b": "holds", "c": "name", "n": "count"}, digits={"a": 1}).data
    assert all(part in text for part in ("1.2<", "✓", "·", "–", "&lt;x&gt;", "length, m", ">3,000<", ">−4<"))
    assert "1.23" not in text
    assert "long" not in text


def test_readable_scrolls_when_long_and_refuses_unknown_columns():
    assert 'class="readable long"' in readable(pd.DataFrame({"a": range(LONG + 1)}), {"a": "A"}).data
    with pytest.raises(ValueError, match="Expected a table with the columns 'z'"):
        readable(pd.DataFrame({"a": [1]}), {"z": "Z"})
