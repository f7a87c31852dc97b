"""A run reads its facts once; a table is keyed by the parameters it uses, and recorded tables are found."""

from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest

from intertwine_book import results

ROOT = Path(__file__).parent.parent


def notebook(**values):
    """The variables of a chapter after its parameters cell, whose parameters are annotated."""
    defaults = {"dataset": "digits", "width": 4, "pairs": 2, "seed": 7, "device": "cpu"}
    return {**defaults, **values, "other": object(), "__annotations__": dict.fromkeys(defaults, object)}


class Done:
    """The cases that `counted` has computed."""

    cases: ClassVar[list] = []


@pytest.fixture(autouse=True)
def nothing_is_done():
    Done.cases = []


def counted(**case):
    Done.cases.append(case)
    return {"square": sum(case.values()) ** 2}


def test_the_facts_of_a_run_are_those_of_the_parameters_cell():
    class Set:
        checksum = "abc"

    this = results.run(notebook(), "01_x", data=Set())
    expected = {"dataset": "digits", "width": 4, "pairs": 2}
    assert this.facts()["parameters"] == expected
    assert (this.seed, this.device, this.data_checksum) == (7, "cpu", "abc")
    assert this.facts(["width"])["parameters"] == {"width": 4}
    assert this.facts(data=[Set(), "b"])["data_checksum"] == this.facts(data=["abc", "b"])["data_checksum"]
    with pytest.raises(KeyError, match="depth"):
        this.facts(["depth"])
    with pytest.raises(ValueError, match="none that is annotated"):
        results.run({"width": 4}, "01_x")


def test_a_table_is_computed_again_only_for_the_parameters_that_it_uses(tmp_path):
    def table(uses=("width",), **values):
        this = results.run(notebook(**values), "01_x", folder=tmp_path)
        return this.table(pair=range(2), uses=uses)(counted)

    first = table()
    assert Done.cases == [{"pair": 0}, {"pair": 1}]
    assert table(dataset="cifar10", pairs=9).equals(first) and len(Done.cases) == 2
    table(width=5)
    assert len(Done.cases) == 4
    table(width=5, seed=8)
    assert len(Done.cases) == 6
    table(width=5, seed=8, uses=None)  # the steps are kept under other parameters
    assert len(Done.cases) == 8
    table(width=5, seed=8)  # but what was written with more parameters is found with fewer
    table(width=5, seed=8, uses=())
    assert len(Done.cases) == 8
    table(width=5, seed=8, pairs=3, uses=None)
    assert len(Done.cases) == 10


def test_one_more_case_keeps_the_others(tmp_path):
    for pairs in (2, 3):
        this = results.run(notebook(pairs=pairs), "01_x", folder=tmp_path)
        table = this.table(pair=range(pairs), uses=["width"])(counted)
        assert len(table) == len(Done.cases) == pairs


def test_cases_are_a_product_a_list_or_one(tmp_path):
    this = results.run(notebook(), "01_x", folder=tmp_path)
    product = this.table(layer=[1, 2], trial=[3, 4], name="product")(counted)
    assert product.values.tolist() == [[1, 3, 16], [1, 4, 25], [2, 3, 25], [2, 4, 36]]
    listed = this.table(cases=[{"layer": 1, "trial": 3}], name="listed")(counted)
    assert listed.values.tolist() == [[1, 3, 16]]

    @this.table()
    def once():
        return pd.DataFrame({"n": [1, 2]})

    assert isinstance(once, pd.DataFrame) and once["n"].tolist() == [1, 2]
    assert results.read("once", folder=tmp_path)[1]["parameters"]["width"] == 4


def test_a_recorded_table_is_found_by_its_provenance_alone(tmp_path):
    facts = {"parameters": {"width": 4}, "seed": 7, "data_checksum": "abc", "folder": tmp_path}
    before = results.steps("counted", [{"pair": 0}], counted, **facts)
    this = results.run(notebook(), "01_x", data="abc", folder=tmp_path)
    assert this.table(pair=[0], uses=["width"])(counted).equals(before) and len(Done.cases) == 1


def test_without_a_build_every_choice_of_parameters_has_a_folder_of_its_own_and_goes_on_there(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("INTERTWINE_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    choices = [("01_x", 4), ("02_y", 4), ("02_y", 5), ("02_y", 4)]
    for chapter, width in choices:
        this = results.run(notebook(width=width), chapter)
        this.table(pair=range(2))(counted)
        assert results.provenance(this.folder)["value"]["parameters"].endswith(f"width {width}, pairs 2")
    assert len(Done.cases) == 6  # the last found what the second had computed
    written = sorted(path.parent.parent.name for path in tmp_path.glob("results/*/*/counted.csv"))
    assert written == ["01_x", "02_y", "02_y"]


def test_a_generator_depends_on_its_step_alone():
    this = results.run(notebook(), "01_x")
    assert this.generator(3).initial_seed() == this.generator(3).initial_seed() == 10
