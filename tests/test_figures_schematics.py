"""Diagrams and tables for people."""

import pandas as pd
import pytest

from intertwine_book.figures.readable import LONG, readable
from intertwine_book.figures.schematics import arrow, canvas, chain


def test_a_chain_draws_arrows_only_between_layers_that_are_used():
    _, axis = canvas(9.0, 3.0)
    centres = chain(axis, (1.0, 1.0), ["a", "b", "c", "d"], "blue", faint=(2,))
    assert [x for x, _ in centres] == [1, 2.5, 4, 5.5]
    assert len(axis.patches) == 4
    assert sum(t.arrow_patch is not None for t in axis.texts if hasattr(t, "arrow_patch")) == 1


def test_a_label_stands_above_its_arrow_on_either_side_of_a_bend():
    _, axis = canvas(9.0, 5.0)
    for bend in (0.0, 0.5, -0.5):
        arrow(axis, (1.0, 2.0), (3.0, 2.0), "A", bend=bend)
    straight, below, above = (t.get_position()[1] for t in axis.texts if t.get_text() == "A")
    assert below < straight < above


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
