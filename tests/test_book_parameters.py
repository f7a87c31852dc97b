"""Parameters: what is declared is what is checked, and what is set is what is written."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertwine_book.build.layout import BookError
from intertwine_book.build.parameters import check, declared, parse, with_values

SOURCE = """\
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"  # ein Wörterbuch: ü, σ
seed: int = 10  # of everything random
rate: float = 0.1
widths: list[int] = [16, 32]
bias: bool = True
pairs: int = 4  # of networks, at least 2
layers: list[int] = [1]  # from 1 to 4
kinds: list[str] = ["ReLU"]  # and "tanh"
budgets: list[int] = []  # of epochs"""

values = st.fixed_dictionaries(
    {},
    optional={
        "dataset": st.sampled_from(["digits", "cifar10"]),
        "seed": st.integers(0),
        "rate": st.floats(allow_nan=False, allow_infinity=False),
        "widths": st.lists(st.integers(1, 512), min_size=1),
        "pairs": st.integers(2),
        "kinds": st.lists(st.sampled_from(["ReLU", "tanh"]), min_size=1),
        "layers": st.lists(st.integers(1, 4), min_size=1),
        "budgets": st.lists(st.integers(1)),
        "bias": st.booleans(),
    },
)


@given(values)
def test_what_is_written_is_what_is_declared(given_values):
    check(declared(SOURCE), given_values)
    again = declared(with_values(SOURCE, given_values))
    expected = {name: parameter.default for name, parameter in declared(SOURCE).items()} | given_values
    assert {name: parameter.default for name, parameter in again.items()} == expected
    assert [p.annotation for p in again.values()] == [p.annotation for p in declared(SOURCE).values()]
    assert with_values(SOURCE, given_values).count("#") == SOURCE.count("#")  # comments are kept


@given(
    st.one_of(
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.lists(st.integers()),
    )
)
def test_a_literal_typed_on_the_command_line_is_that_literal(value):
    assert parse(repr(value)) == value and type(parse(repr(value))) is type(value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sed": 3}, ["'sed'", "did you mean 'seed'", "rate"]),
        ({"seed": "many"}, ["'seed'", "int", "'many'", "str"]),
        ({"seed": True}, ["'seed'", "int", "bool"]),
        ({"seed": 0.5}, ["'seed'", "int", "float"]),
        ({"dataset": "mnist"}, ["'dataset'", "one of 'digits', 'cifar10'", "'mnist'"]),
        ({"widths": [1, "a"]}, ["'widths'", "list[int]"]),
        ({"seed": -1}, ["'seed'", "from 0", "-1"]),
        ({"widths": [16, 0]}, ["'widths'", "from 1", "[16, 0]"]),
        ({"widths": []}, ["'widths'", "some values", "[16, 32]"]),
        ({"kinds": ["ReLU", "tank"]}, ["'kinds'", "'tank'", "did you mean 'tanh'"]),
        ({"pairs": 1}, ["'pairs'", "from 2", "was given 1"]),
        ({"layers": [2, 7]}, ["'layers'", "from 1 to 4", "[2, 7]"]),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_allowed(values, words):
    with pytest.raises(BookError) as error:
        check(declared(SOURCE), values)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert "\n" not in str(error.value)


@given(st.lists(st.integers(), min_size=2))
def test_a_list_needs_no_brackets_on_the_command_line(numbers):
    assert parse(",".join(map(str, numbers))) == numbers


def test_an_integer_is_a_legal_float():
    check(declared(SOURCE), {"rate": 1})


def test_a_value_stands_in_one_line():
    with pytest.raises(BookError, match="'widths' in one line"):
        declared("widths: list[int] = [\n    1,\n]")


@pytest.mark.parametrize("line", ["seed = 0", "seed: int", "print(1)"])
def test_a_parameters_cell_holds_annotated_values_only(line):
    with pytest.raises(BookError, match="name: type = value"):
        declared(line)


def test_an_annotation_is_read_and_not_evaluated():
    with pytest.raises(BookError, match=r"bool, int, float, str, list.* found `print\('ran'\)`"):
        declared("seed: print('ran') = 0")
    only = declared('layers: list[Literal["output", 2]] = []')
    check(only, {"layers": ["output", 2]})
    with pytest.raises(BookError, match="'layers' expects"):
        check(only, {"layers": ["inside"]})


def test_written_leaves_valid_python():
    ast.parse(with_values(SOURCE, {"dataset": "cifar10", "widths": []}))
