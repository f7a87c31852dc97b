"""A changed case never finds an old result: whatever decides on the rows is in the key of a table."""

import importlib
import os
import re
import subprocess
import sys
import types
from collections import Counter
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from intertwine.alignment import least_squares
from intertwine.stitching import STITCH_RECIPES, Junction
from intertwine_book import data, models, results
from intertwine_book.experiments import stitches as stitching
from intertwine_book.results.keys import columns, key
from intertwine_book.zoo import RECIPES, Spec

DIGITS = data.load("digits", "train")
RECIPE = replace(STITCH_RECIPES["digits"], epochs=1)
RANK = {"kind": "low rank", "rank": 1, "recipe": RECIPE}
ASKED = {"parameters": {"width": 2}, "seed": 0}
PLACES = ["quick/03_x", "desk/03_x"]  # the tables of the second are recorded


@cache
def network(seed: int) -> nn.Module:
    return models.myrtle(2, in_channels=1, seed=seed).eval()


def stitches(folder: Path, kinds: dict, **change) -> Counter:
    """Which stitches a table of one pair computes."""
    known = {"pairs": [(network(0), network(1))], "layers": ["relu1"], "train": DIGITS[:40], "seed": 0}
    known |= {"test": DIGITS[40:60], "device": "cpu", "dtype": "float32"}
    computed: Counter = Counter()

    def rows(junction, kinds, **more):
        computed.update([*kinds])
        return [{"penalty": 0.5}]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stitching, "stitch_rows", rows)
        steps = partial(results.steps, "stitched", folder=folder, **ASKED)
        table = stitching.stitch_many(kinds=kinds, steps=steps, **known | change)
    assert set(table) == {"pair", "layer1", "layer2", "stitch", "penalty"}
    return computed


@pytest.mark.parametrize("place", PLACES)
def test_a_changed_kind_start_recipe_subset_or_network_is_computed_anew(tmp_path, place):
    assert stitches(tmp_path / place, {"it": RANK}) == {"it": 1}
    assert stitches(tmp_path / place, {"it": RANK}) == {}
    kinds = [{"rank": 2}, {"affine": False}, {"start": "random"}, {"batch_norm": "reestimated"}]
    kinds += [{"recipe": replace(RECIPE, **change)} for change in ({"lr": 0.5}, {"targets": "soft"})]
    for kind in kinds:
        assert stitches(tmp_path / place, {"it": RANK | kind}) == {"it": 1}, kind
    sets = [{"train": DIGITS[60:100]}, {"test": DIGITS[60:80]}, {"validation": DIGITS[60:80]}]
    sets += [{"fit_images": 20}, {"seed": 1}, {"layers": ["relu2"]}]
    for change in [*sets, {"pairs": [(network(0), network(2))]}]:
        assert stitches(tmp_path / place, {"it": RANK}, **change) == {"it": 1}, change


@pytest.mark.parametrize("place", PLACES)
def test_one_more_kind_layer_or_pair_computes_only_what_is_new(tmp_path, place):
    folder, two = tmp_path / place, {"it": RANK, "full": {"kind": "full"}}
    assert stitches(folder, {"it": RANK}) == {"it": 1}
    assert stitches(folder, two) == {"full": 1}
    assert stitches(folder, two, layers=["relu1", "relu2"]) == {"it": 1, "full": 1}
    pairs = [(network(0), network(1)), (network(2), network(3))]
    assert stitches(folder, two, pairs=pairs) == {"it": 1, "full": 1}


@pytest.mark.parametrize("place", PLACES)
def test_a_version_is_raised_by_hand_where_the_meaning_of_an_experiment_changes(tmp_path, place, monkeypatch):
    assert stitches(tmp_path / place, {"it": RANK}) == {"it": 1}
    monkeypatch.setattr(stitching, "VERSION", 1, raising=False)
    assert stitches(tmp_path / place, {"it": RANK}) == {}
    monkeypatch.setattr(stitching, "VERSION", 2)
    assert stitches(tmp_path / place, {"it": RANK}) == {"it": 1}


class Own(nn.Module):
    """A network of which neither the state nor the text says all."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope


def values() -> dict:
    """Values of which each has a key of its own."""
    one, spec = torch.ones(2, 2), Spec("myrtle", DIGITS, RECIPES["digits"], {"width": 2})
    return {
        "number": 1,
        "word": "1",
        "truth": True,
        "nothing": None,
        "list": [1],
        "mapping": {"a": 1},
        "recipe": RECIPE,
        "same recipe of a network": RECIPES["digits"],
        "recipe in a mapping": {"recipe": RECIPE},
        "network": network(0),
        "other network": network(1),
        "wider": models.myrtle(4, in_channels=1, seed=0),
        "other activation": models.myrtle(2, in_channels=1, activation="tanh", seed=0),
        "own": Own(0.1),
        "own with another slope": Own(0.2),
        "data": DIGITS,
        "part": DIGITS[:10],
        "other part": DIGITS[10:20],
        "tensor": one,
        "other tensor": 2 * one,
        "tensor of another type": one.double(),
        "array": one.numpy(),
        "table": pd.DataFrame({"a": [1]}),
        "function": least_squares,
        "function with an option": partial(least_squares, affine=True),
        "class": Junction,
        "spec": spec,
        "spec of another recipe": replace(spec, recipe=replace(spec.recipe, epochs=1)),
        "spec of other data": replace(spec, data=DIGITS[:10]),
        "type": torch.float32,
    }


def test_different_values_have_different_keys_and_equal_ones_the_same():
    keys = [{name: str(key([{"it": value}], len).cases) for name, value in values().items()} for _ in "12"]
    assert keys[0] == keys[1]
    assert [name for name, times in Counter(keys[0].values()).items() if times > 1] == []


@given(st.integers(0, 5), st.sampled_from(["weight", "running_mean", "num_batches_tracked"]))
def test_a_network_is_known_by_its_state_and_not_by_where_or_how_it_was_used(place, name):
    first, second = (models.myrtle(2, in_channels=1, seed=7).eval() for _ in "12")
    second(torch.zeros(1, 1, 8, 8))
    second.train().requires_grad_(False)
    known = [str(key([{"it": each}], len).cases) for each in (first, second)]
    assert known[0] == known[1]
    getattr(second.bn1, name).flatten()[:1].add_(1)
    assert str(key([{"it": second}], len).cases) != known[0]


class Hidden(nn.Module):
    """A network with settings and values that neither its text nor its saved state has."""

    def __init__(self, scales: tuple[float, ...], shift: float) -> None:
        super().__init__()
        self.scales = scales
        self.register_buffer("shift", torch.tensor(shift), persistent=False)


def by_default(kinds: dict):
    def rows(layer, kinds=kinds):
        return {"kinds": len(kinds)}

    return rows


def times(factor: float):
    def decorate(compute):
        @wraps(compute)
        def multiplied(**case):
            return {name: factor * value for name, value in compute(**case).items()}

        return multiplied

    return decorate


def side(layer: int):
    return {"side": layer}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            DIGITS[:9],
            replace(DIGITS[:9], mean=DIGITS.mean + 1, hashed=()),
        ),  # the same pixels otherwise normalised
        (Hidden((1.0, 2.0), 0.0), Hidden((1.0, 3.0), 0.0)),
        (Hidden((1.0,), 0.0), Hidden((1.0,), 1.0)),
        ({1: "a"}, {"1": "a"}),
        (by_default({"full": 1}), by_default({"rank": 1})),
        (times(2)(side), times(3)(side)),
    ],
)
def test_what_is_not_seen_at_once_decides_too(one, other):
    def keys(value):
        found = [key([{"it": value}], len).cases]
        return found + ([key([], value).held] if isinstance(value, types.FunctionType) else [])

    for mine, theirs in zip(keys(one), keys(other), strict=True):
        assert str(mine) != str(theirs)


def test_a_method_is_refused_whatever_it_wraps():
    class Sides:
        def plain(self, layer):
            return {"side": layer}

        wrapped = wraps(side)(plain)

    for method in (Sides().plain, Sides().wrapped):
        with pytest.raises(ValueError, match=r"^Expected a function that gives the rows of a case"):
            key([], method)
        with pytest.raises(ValueError, match=r"^Expected in a case, it what can be written down"):
            key([{"it": method}], len)


def test_numbers_of_numpy_are_columns_and_written_down_as_pythons_are():
    assert columns({"k": np.int64(3), "x": np.float64(0.5), "all": [np.int64(3)]}) == {"k": 3, "x": 0.5}
    assert key([{"k": np.int64(3)}], len).cases == [{"k": 3}]


def test_an_edited_module_of_ones_own_is_another_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    codes = []
    for text in ("return 1", "return 2"):
        (tmp_path / "own_fit.py").write_text(f"def fit(statistics):\n    {text}\n")
        sys.modules.pop("own_fit", None)
        own = importlib.import_module("own_fit")
        codes += [key([{"kind": own.fit}], len).code, key([], own.fit).code]
    assert codes[0] == codes[1] != codes[2] == codes[3]
    assert key([{"kind": least_squares}], len).code == []  # the library has a hash of its own


@pytest.mark.slow  # several processes
def test_what_a_script_reads_decides(tmp_path):
    text = "from intertwine_book.results.keys import key\nfactor = 2\ndef rows(k):\n    return factor * k\n"
    text += "found = key([{'k': 1}], rows)\nprint(found.held, found.code)"
    found = []
    for edited in (text, text.replace("factor = 2", "factor = 3"), text.replace("* k", "+ k"), "\n" + text):
        (tmp_path / "script.py").write_text(edited)
        done = subprocess.run(
            [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True
        )
        found.append(done.stdout)
    assert found[0] == found[3] and len({*found}) == 3


GENERATOR = torch.Generator()


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (lambda x: x, "<function <lambda>"),
        (partial(lambda x: x, 1), "<function <lambda>"),
        (GENERATOR, "<torch._C.Generator object"),
        ({"start": [object()]}, "<object object"),
        (iter([1]), "<list_iterator object"),
    ],
)
def test_what_cannot_be_written_down_is_refused_before_any_work(tmp_path, value, given):
    work = []

    def compute(option):
        work.append(option)

    def closed():
        return value

    for case, function in (({"option": value}, compute), ({}, closed), ({}, partial(compute, option=value))):
        with pytest.raises(
            ValueError, match=rf"^Expected in .* was given {re.escape(given)}.*: hand over .*"
        ):
            results.steps("x", [case], function, folder=tmp_path, **ASKED)
    assert work == [] and [*tmp_path.iterdir()] == []
    with pytest.raises(ValueError, match="Expected a function that gives the rows of a case, was given "):
        results.steps("x", [{}], torch.nn.ReLU(), folder=tmp_path, **ASKED)


@pytest.mark.parametrize("place", PLACES)
def test_a_closure_and_the_arguments_of_a_partial_decide(tmp_path, place):
    def closing(factor, recipe):
        def areas(side):
            return {"area": factor * side, "epochs": recipe.epochs}

        return areas

    def table(compute):
        return results.steps(
            "areas", [{"side": 2}], compute, folder=tmp_path / place, **ASKED
        ).values.tolist()

    assert table(closing(2, RECIPE)) == [[2, 4, 1]]
    assert table(closing(3, RECIPE)) == [[2, 6, 1]]
    assert table(closing(3, replace(RECIPE, epochs=2))) == [[2, 6, 2]]
    assert table(partial(scaled, 4)) == [[2, 8]] and table(partial(scaled, factor=5)) == [[2, 10]]


def scaled(factor, side):
    return {"area": factor * side}


NOTEBOOK = """
from functools import cache, partial, wraps
from torch import nn
import torch
from intertwine_book import models
from intertwine_book.experiments import stitches
width: int = 2
trials: int = 1
networks = [models.myrtle(width, in_channels=1, seed=seed).eval() for seed in range(trials)]
options = {"offset": 0.0}
level = 0
class Bent(nn.Module):
    level = level
    def forward(self, x):
        return x + options["offset"] + self.level
shift = lambda x: 2 * x
@cache
def total(network):
    return float(sum(x.sum() for x in network.state_dict().values()))
by = 1
def times(compute):
    @wraps(compute)
    def multiplied(**case):
        return {name: by * value for name, value in compute(**case).items()}
    return multiplied
@times
def rows(k, network, power=1):
    return {"total": shift(total(network)) ** power + Bent()(0)}
cases = [{"k": k, "network": each} for k, each in enumerate(networks)]
"""


def totals(text: str, folder: Path) -> tuple[list[float], set[str]]:
    """The table of a notebook of this text, and the steps that are stored after it."""
    module = types.ModuleType("notebook")
    vars(module)["In"] = ["", text]
    sys.modules["notebook"] = module
    exec(text, vars(module))
    table = results.steps("totals", module.cases, module.rows, folder=folder, **ASKED)
    return table["total"].tolist(), {path.name for path in folder.glob(".steps/*/*")}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("width: int = 2", "width: int = 4"),  # a parameter, wherever it is used
        ("seed=seed", "seed=seed + 1"),  # a network
        ('"offset": 0.0', '"offset": 1.0'),  # what is read in a class
        ("power=1", "power=2"),  # a value by default
        ("by = 1", "by = 2"),  # what is read by a decorator
        ("level = 0", "level = 1"),  # what a class takes when it is defined
    ],
)
def test_a_changed_value_in_a_notebook_is_computed_anew_where_tables_are_recorded_too(
    tmp_path, place, old, new
):
    first, steps = totals(NOTEBOOK, tmp_path / place)
    assert totals(NOTEBOOK, tmp_path / place) == (first, steps)
    assert totals(NOTEBOOK.replace(old, new), tmp_path / place)[0] != first
    more = NOTEBOOK.replace("trials: int = 1", "trials: int = 2")
    assert totals(more, tmp_path / place)[1] > steps and len(totals(more, tmp_path / place)[0]) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * x", "3 * x"),  # a lambda
        ("float(sum(", "-float(sum("),  # a function behind a cache
        ("return x + ", "return 1 + x + "),  # a method
        ("by * value", "by + value"),  # a decorator
    ],
)
def test_changed_code_of_a_notebook_is_computed_anew_but_a_recorded_table_is_found(tmp_path, old, new):
    edited = NOTEBOOK.replace(old, new)
    (first, _), (recorded, _) = (totals(NOTEBOOK, tmp_path / place) for place in PLACES)
    assert totals(edited, tmp_path / PLACES[0])[0] != first
    assert totals(edited, tmp_path / PLACES[1])[0] == recorded


EACH_OTHER = """
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n > 0 and even(n - 1)
def rows(n): return {"even": even(n), "odd": odd(n)}
"""


@pytest.mark.slow  # several processes
def test_functions_that_call_each_other_have_one_key_in_every_process():
    code = f"from intertwine_book.results.keys import key; text = {EACH_OTHER!r}; notebook = {{'In': [text]}}"
    code += "; exec(text, notebook); print(key([{'n': 3}], notebook['rows']))"
    run = partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, check=True)
    known = {run(env=os.environ | {"PYTHONHASHSEED": seed}).stdout for seed in "0123"}
    assert len(known) == 1 and b"odd" in known.pop()


def test_a_notebook_says_what_it_cannot_write_down_and_who_reads_it(tmp_path):
    drawing = NOTEBOOK.replace("shift = lambda x: 2 * x", "draw = torch.Generator()\nshift = lambda x: draw")
    with pytest.raises(ValueError, match="Expected in draw, which shift reads, what can be written down"):
        totals(drawing, tmp_path)
