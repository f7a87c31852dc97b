"""Records: a row is found by its case, no old result is taken for a new one, and nothing is lost."""

import importlib.util
import multiprocessing
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from intertwine_book.code_hash import code_of
from intertwine_book.record import PROVENANCE, Record, used
from intertwine_book.tidy import of, read

NOTEBOOK = '''
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import torch

@dataclass
class Recipe:
    lr: float = {lr}
    epochs: int = 3

RECIPE, DEVICE, OTHER = Recipe(), torch.device("cpu"), {other}
ran = 0

@lru_cache
def half(x):
    """{doc}"""
    return x * RECIPE.lr  # {comment}

def rates(family, rank, start=None):
    global ran
    ran += 1
    return {{"rate": half({factor}) + len(family)}}
'''
CASES = [
    {"family": "full", "rank": "full", "start": "none"},
    {"family": "rank", "rank": 4, "start": "NA"},
    {"family": "rank", "rank": 2.0, "start": None},
]


@pytest.fixture
def notebook(tmp_path):
    """A notebook's module, written anew with these values in it."""

    def written(**values):
        path = tmp_path / f"notebook_{len([*tmp_path.glob('notebook_*')])}.py"
        known = {"lr": 0.5, "other": 1, "doc": "Half.", "comment": "of a rate", "factor": 2}
        path.write_text(NOTEBOOK.format(**known | values))
        spec = importlib.util.spec_from_file_location("notebook", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return written


def run(record, module, cases=CASES, **product):
    """How many rows were computed, and the table."""
    table = record.table(cases, **product)(module.rates)
    return module.ran, table


def test_a_row_is_found_by_its_case_whatever_is_said_about_the_code(tmp_path, notebook):
    place = tmp_path / "own"
    assert run(Record(own=place), notebook())[0] == 3
    for told in ({}, {"doc": "Another half."}, {"comment": "of something"}, {"other": 2}):
        assert run(Record(own=place), notebook(**told))[0] == 0
    assert [*pd.read_csv(place / "rates.csv")][-6:] == PROVENANCE


@pytest.mark.parametrize("change", [{"factor": 3}, {"lr": 0.25}], ids=["function", "recipe that it reads"])
def test_changed_code_computes_anew_in_an_own_folder_and_is_counted_in_the_kept_one(
    tmp_path, notebook, change, capsys
):
    kept, own = tmp_path / "kept", tmp_path / "own"
    run(Record(kept, writes=True), notebook())
    run(Record(own=own), notebook())
    capsys.readouterr()
    ran, table = run(Record(kept, writes=True), notebook(**change))
    assert ran == 0 and "3 rows; 3 by earlier code" in capsys.readouterr().out
    ran, anew = run(Record(own=own), notebook(**change))
    assert ran == 3 and not anew["rate"].eq(table["rate"]).any()
    ran, both = run(Record(kept, own), notebook(**change))  # own rows count before kept ones
    assert ran == 0 and both["rate"].tolist() == anew["rate"].tolist()
    ran, back = run(Record(kept, tmp_path / "new"), notebook())  # kept rows of this very code are used
    assert ran == 0 and back["rate"].tolist() == table["rate"].tolist()


def test_own_rows_are_read_at_quick_and_computed_at_desk(tmp_path, notebook, monkeypatch):
    (tmp_path / "data/results").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    run(Record.at("03_x", "desk"), notebook())
    for scale, ran in (("quick", 0), ("desk", 3), ("quick", 0), ("desk", 0)):
        assert run(Record.at("03_x", scale, "mine"), notebook(lr=0.25))[0] == ran
    assert {path.name for path in tmp_path.glob("*/rates.csv")} == {"rates.csv"}


def test_at_quick_nothing_is_computed_and_what_is_missing_is_said(tmp_path, notebook, capsys):
    run(Record(tmp_path, writes=True), notebook(), CASES[:1])
    capsys.readouterr()
    ran, table = run(Record(tmp_path), notebook())
    assert ran == 0 and len(table) == 1
    assert "1 rows; 2 of 3 cases are missing, about 0.0 h" in capsys.readouterr().out


def test_a_table_without_any_row_is_refused_where_none_can_be_computed(tmp_path, notebook):
    with pytest.raises(ValueError, match=r"Expected rows of rates on record, .* run the record at desk"):
        run(Record(tmp_path), notebook())


def test_one_more_pair_costs_that_pair_and_two_widths_stand_in_one_table(tmp_path):
    calls = []

    def losses(width, pair, layer):
        calls.append((width, pair, layer))
        return {"loss": width + pair}

    for widths, pairs, new in (([64], 2, 4), ([64], 3, 2), ([16, 64], 3, 6)):
        calls.clear()
        table = Record(tmp_path, writes=True).table(width=widths, pair=range(pairs), layer=[3, 6])(losses)
        assert len(calls) == new
    assert of(table, width=16)["loss"].tolist() == [16, 16, 17, 17, 18, 18] and len(table) == 12


def test_values_are_told_apart_as_a_file_tells_them(tmp_path, notebook):
    run(Record(tmp_path, writes=True), notebook())
    again = [
        CASES[0],
        CASES[1] | {"rank": 4.0},
        CASES[2] | {"rank": 2},
        CASES[2] | {"start": "none"},  # another case: a word, not a gap
    ]
    assert run(Record(tmp_path, writes=True), notebook(), again)[0] == 1


def test_a_case_may_have_several_rows_and_they_are_replaced_together(tmp_path):
    def lines(pair):
        return pd.DataFrame({"fraction": [0.0, 0.5, 1.0], "accuracy": [90.0, 60.0, 91.0]})

    record = Record(tmp_path, writes=True)
    assert len(record.table(pair=[0, 1])(lines)) == 6
    assert len(record.table(pair=[0, 1])(lines)) == 6


@pytest.mark.parametrize(
    ("cases", "product", "sentence"),
    [
        ([{"a": 1}, {"b": 1}], {}, "Expected the columns a in each case, was given {'b': 1}"),
        ([{"a": 1}], {"a": [2]}, "'a' is in the cases and in the product"),
        ([{"a": [1, 2]}], {}, r"was given a = \[1, 2\]: give the value a name"),
        ([{"code": 1}], {}, "was given code = 1"),
        ([{"rank": "007"}], {}, "was given rank = '007'"),
    ],
    ids=["ragged", "twice", "list", "provenance", "number in quotes"],
)
def test_a_plan_that_no_table_can_hold_is_refused_before_any_work(tmp_path, cases, product, sentence):
    with pytest.raises(ValueError, match=sentence):
        Record(own=tmp_path).table(cases, **product)


def test_a_row_may_not_repeat_a_name_of_the_plan(tmp_path):
    def sides(side):
        return {"side": side + 1}

    with pytest.raises(ValueError, match="Expected columns of its own from sides, was given 'side'"):
        Record(own=tmp_path).table(side=[1])(sides)


def test_a_plan_with_a_new_column_asks_for_it_in_the_older_rows(tmp_path, notebook):
    run(Record(tmp_path, writes=True), notebook())
    with pytest.raises(ValueError, match=r"Expected the column 'lr' in rates\.csv"):
        run(Record(tmp_path, writes=True), notebook(), lr=[0.1])


def test_a_column_taken_out_of_a_plan_is_noticed_and_no_row_is_lost(tmp_path, capsys):
    def losses(**case):
        return [{"layer": layer, "loss": sum(case.values()) + layer} for layer in (3, 6)]

    plans = {"width": [16, 64], "pair": [0, 1], "seed": [0, 1]}
    Record(tmp_path, writes=True).table(**plans)(losses)
    assert "put it back" not in capsys.readouterr().out
    rows = read(tmp_path / "losses.csv")
    for gone in plans:
        rest = {name: values for name, values in plans.items() if name != gone}
        assert len(Record(tmp_path, writes=True).table(**rest)(losses)) == 16
        assert f"losses.csv has cases with several values of {gone}" in capsys.readouterr().out
        more = {name: [*values, 2] for name, values in rest.items()}
        with pytest.raises(
            ValueError, match=f"several values of {gone}, which the plan has not: put it back"
        ):
            Record(tmp_path, writes=True).table(**more)(losses)
        assert read(tmp_path / "losses.csv").equals(rows)


def test_rows_of_one_call_and_a_column_with_one_value_are_no_sign_of_it(tmp_path, capsys):
    def losses(pair, width=16):
        return [{"layer": layer, "loss": width + pair + layer} for layer in (3, 6)]

    Record(tmp_path, writes=True).table(width=[16], pair=[0, 1])(losses)
    assert len(Record(tmp_path, writes=True).table(pair=[0, 1])(losses)) == 4
    assert "put it back" not in capsys.readouterr().out


def test_a_run_says_at_its_end_what_it_computed(tmp_path):
    record = Record(tmp_path, writes=True)
    assert record.computed() == "Rows computed in this run: none."

    def losses(pair):
        return [{"layer": layer, "loss": pair} for layer in (3, 6)]

    def areas(side):
        return {"area": side**2}

    record.table(side=[1])(areas)
    record.table(pair=[0, 1])(losses)
    assert record.computed() == "Rows computed in this run: 1 of areas, 4 of losses."
    again = Record(tmp_path, writes=True)
    again.table(pair=[0, 1, 2])(losses)
    assert again.computed() == "Rows computed in this run: 2 of losses."


def test_an_interrupted_run_keeps_its_rows_and_goes_on(tmp_path):
    stops = [2]

    def steps(k):
        if k == stops[0]:
            raise KeyboardInterrupt
        return {"square": k**2}

    with pytest.raises(KeyboardInterrupt):
        Record(tmp_path, writes=True).table(k=range(5))(steps)
    assert len(pd.read_csv(tmp_path / "steps.csv")) == 2
    stops[0] = -1
    table = Record(tmp_path, writes=True).table(k=range(5))(steps)
    assert table["square"].tolist() == [0, 1, 4, 9, 16]


def _work(folder: Path, first: int) -> None:
    def cubes(k):
        return {"cube": k**3}

    Record(folder, writes=True).table(k=range(first, first + 8))(cubes)


def test_two_processes_at_once_lose_no_row(tmp_path):
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_work, args=(tmp_path, first)) for first in (0, 4)]
    [each.start() for each in both]
    [each.join() for each in both]
    assert sorted(pd.read_csv(tmp_path / "cubes.csv")["k"]) == [*range(12)]


def test_a_row_names_the_networks_and_data_that_it_is_made_from(tmp_path):
    one, other = (nn.Linear(2, 2) for _ in range(2))
    record = Record(own=tmp_path)

    @record.table(pair=[0, 1])
    def distances(pair):
        record.uses(one, other, one)
        return {"distance": 1.0}

    uses = pd.read_csv(tmp_path / "distances.csv")["uses"]
    assert uses.tolist() == [f"{used(one)} {used(other)}"] * 2 and "uses" not in distances
    with torch.no_grad():
        before = used(one)
        one.weight += 1
    assert used(one) != before
    with pytest.raises(ValueError, match="Expected networks and data sets, was given 'relu1'"):
        record.uses(one, "relu1")


def test_verify_stamps_what_it_reproduces_and_names_what_it_does_not(tmp_path, notebook):
    record = Record(tmp_path, writes=True)
    run(record, notebook())
    old = read(tmp_path / "rates.csv")
    old.assign(code="earlier", rate=old["rate"] + [0.01, 0.0, 5.0]).to_csv(
        tmp_path / "rates.csv", index=False
    )
    record = Record(tmp_path, writes=True)
    run(record, notebook())
    found = record.verify("rates", cases=3, within={"rate": 0.1})
    assert found["reproduced"].tolist() == [True, True, False]
    rows = read(tmp_path / "rates.csv").set_index("code")["rate"]
    assert rows["earlier"] == old["rate"].iloc[2] + 5
    assert sorted(rows[code_of(notebook().rates)]) == sorted(
        [old["rate"].iloc[0] + 0.01, old["rate"].iloc[1]]
    )
    with pytest.raises(ValueError, match=r"Expected a table of this record .* was given 'rates'"):
        Record(tmp_path).verify("rates", within=0.1)


def test_a_value_that_cannot_be_written_down_is_named(tmp_path):
    hidden = object()

    def drawn(k):
        return {"value": id(hidden)}

    with pytest.raises(ValueError, match="'hidden' is a object: make it inside the function"):
        Record(own=tmp_path).table(k=[1])(drawn)


@pytest.mark.parametrize(
    "text",
    [
        "def step(x, by=LEVEL): return x + by",
        "@twice\ndef step(x): return x + 1",
        "WAYS = {'up': lambda x: x + LEVEL}\ndef step(x): return WAYS['up'](x)",
        "WAYS = [shift]\ndef step(x): return WAYS[0](x)",
        "step = partial(shift, 2)",
        "class Mover:\n    level = LEVEL\nmover = Mover()\ndef step(x): return x + Mover.level",
        "class Mover:\n    @staticmethod\n    def go(x): return x + LEVEL\ndef step(x): return Mover.go(x)",
        "class Of:\n    def __init__(self): self.by = LEVEL\nof = Of()\ndef step(x): return of.by",
        "class Mover:\n    @property\n    def by(self): return LEVEL\ndef step(x): return x + Mover().by",
    ],
)
def test_whatever_a_function_reaches_counts(tmp_path, text):
    before = """
from functools import partial, wraps
LEVEL = {level}
def shift(x, by=1):
    return x + by + LEVEL
def twice(function):
    @wraps(function)
    def changed(x):
        return LEVEL * function(x)
    return changed
"""
    codes = set()
    for level in (1, 2):
        path = tmp_path / f"reaches_{level}.py"
        path.write_text(before.format(level=level) + text + "\ndef rows(x):\n    return {'y': step(x)}\n")
        spec = importlib.util.spec_from_file_location("reaches", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        codes.add(code_of(module.rows))
    assert len(codes) == 2


def test_own_rows_wait_for_their_code(tmp_path, notebook):
    for lr, ran in ((0.5, 3), (0.25, 3), (0.5, 0)):
        assert run(Record(own=tmp_path), notebook(lr=lr))[0] == ran


def test_a_case_without_a_row_is_refused(tmp_path):
    def nothing(k):
        return []

    with pytest.raises(ValueError, match="Expected a row at least from nothing"):
        Record(own=tmp_path).table(k=[1])(nothing)


def test_tensors_tables_and_classes_that_a_function_reads_count():
    def with_value(value):
        def reads():
            return value

        return code_of(reads)

    class Doubled(nn.Module):
        pass

    values = [torch.ones(2), torch.zeros(2), pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]}), {"a": 1}]
    values += [{"a": 2}, (1, 2), (1, 3), nn.Linear(1, 1), nn.Linear(1, 1), {1, 2}, Doubled]
    assert len({with_value(value) for value in values}) == len(values)
    assert with_value(torch.device("cpu")) == with_value(torch.device("meta"))  # where, not what
