"""Sentences of chapter 1c hold in its recorded tables."""

import pandas as pd

from intertwine_book.stories import any_network as story


def test_one_parameter_left_behind_changes_the_function():
    facts = story.facts()
    assert facts["cut-changed"] > 0.6 * facts["cut-all"] and facts["cut-worst"] < facts["cut-none"] - 50


def test_a_table_of_networks_has_the_largest_change_of_each():
    row = {"network": "one", "spaces": 3, "dimension": 7}
    verified = pd.DataFrame([row | {"representations": change} for change in (10.0, 20.0)])
    assert "20" in story.networks(verified).data and "10" not in story.networks(verified).data
