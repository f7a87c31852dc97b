"""Laws of what the notebooks share: intervals cover, nulls shuffle images, pairs share no network."""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from helpers import generator, normal
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t
from torch import nn

from intertwine.alignment import Statistics
from intertwine.similarity.cka import aligned
from intertwine_book.claims.rules import number_word
from intertwine_book.claims.statistics import half_width
from intertwine_book.code_hash import code_of
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.forest import forest
from intertwine_book.intervals import interval
from intertwine_book.record import Record
from intertwine_book.tidy import apart
from intertwine_book.zoo import kept

# --- intervals: what is computed, and what is drawn ---


@pytest.mark.parametrize("trials", [3, 10])
def test_a_95_percent_interval_holds_the_mean_in_95_of_100_samples(trials):
    draws = np.random.default_rng(0).normal(7.0, 2.0, (1500, trials))
    found = [(interval(values), half_width(values)) for values in map(pd.Series, draws)]
    inside = [low <= 7.0 <= high for (low, high), _ in found]
    assert abs(np.mean(inside) - 0.95) < 0.02  # 3.5 standard deviations
    assert all(high - low == pytest.approx(2 * half) for (low, high), half in found)


TRIALS = pd.DataFrame({"layer": [1, 1, 1, 1, 2, 2, 2, 2], "kind": "full", "loss": [3, 5, 4, 8, 1, 2, 2.5, 9]})
BOUNDS = [t.interval(0.95, 3, x.mean(), x.sem()) for _, x in TRIALS.groupby("layer")["loss"]]
GREY = {"colours": {"full": "#777777"}, "xlabel": "layer", "ylabel": "loss"}


def drawn_by_curves() -> list[np.ndarray]:
    (band,) = mean_curves(TRIALS, "layer", "loss", "kind").axes[0].collections
    corners = band.get_paths()[0].vertices
    return [corners[corners[:, 0] == layer, 1] for layer in (1, 2)]


def drawn_by_dots() -> list[np.ndarray]:
    (bars,) = dots(TRIALS, "layer", "loss", "kind", intervals=True, **GREY).axes[0].collections
    return [path[:, 1] for path in bars.get_segments()]


def drawn_by_rings() -> list[np.ndarray]:
    figure = dots(TRIALS, "layer", "loss", "kind", beside={"printed": TRIALS}, **GREY)
    return [path[:, 1] for path in figure.axes[0].containers[0].lines[2][0].get_segments()]


def drawn_by_forest() -> list[np.ndarray]:
    drawn = [line.get_xdata() for line in forest(TRIALS, "layer", "loss", xlabel="loss").axes[0].lines]
    return [x for x in drawn if len({*x}) == 2][-2:]  # after the means, which are one line


@pytest.mark.parametrize("drawn", [drawn_by_curves, drawn_by_dots, drawn_by_rings, drawn_by_forest])
def test_every_figure_draws_the_t_interval_of_its_trials(drawn):
    ends = [(min(values), max(values)) for values in map(list, drawn())]
    assert np.array(ends[:2]) == pytest.approx(np.array(BOUNDS))


def test_independent_errors_add_as_squares():
    # 3 apart, with errors of 3 and 4: within 5 + 3 if they add as squares, and not if they add up
    assert number_word(3.0, 3.0, tolerance=4.0, matters=4.0) == "reproduced"


# --- nulls of the records ---


def of_record(name: str, *functions: str, **known: object) -> SimpleNamespace:
    """Functions of a record as they stand on its page, without their decorators, among these names."""
    path = Path(__file__).parents[1] / f"chapters/records/{name}.py"
    body = [x for x in ast.parse(path.read_text()).body if getattr(x, "name", "") in functions]
    assert len(body) == len(functions)
    for each in body:
        each.decorator_list = []
    exec(compile(ast.Module(body, []), str(path), "exec"), known)
    return SimpleNamespace(**{each: known[each] for each in functions})


def test_the_null_of_cka_is_the_cka_of_images_in_another_order():
    X, Y = normal(20, 5).double(), normal(20, 4, seed=1).double()
    linear = lambda Z: Z @ Z.T  # noqa: E731
    page = of_record(
        "04_dissimilarity",
        "cka",
        networks=lambda **_: ("f", "g"),
        images_of=lambda *_: np.zeros(20, [("images", int)]).view(np.recarray),
        record=SimpleNamespace(uses=lambda *_: None),
        order_of=lambda seed, pair: generator(seed + pair),
        activations=lambda net, layers, _: {layers[0]: {"f": X, "g": Y}[net]},
        LAYERS={"relu": 1},
        KERNELS={"linear": linear},
        aligned=aligned,
        torch=torch,
        device="cpu",
    )
    (row,) = page.cka(pair=0, images=20, nulls=30, dataset="noise", seed=3)
    draw = generator(3)
    orders = [torch.randperm(20, generator=draw) for _ in range(30)]
    values = torch.stack([aligned(linear(X), linear(Y[order]), "unbiased") for order in orders])
    assert row["linear"] == pytest.approx(aligned(linear(X), linear(Y), "unbiased").item())
    assert row["linear_null"] == pytest.approx(torch.quantile(values, 0.975).item())


def test_the_null_of_procrustes_pairs_each_image_with_another_and_keeps_both_sides():
    X, Y = normal(1000, 3).double(), normal(1000, 3).double()  # equal: only the order parts them
    streams = {"f": X, "g": Y}
    page = of_record(
        "04_dissimilarity",
        "moments",
        features=lambda net, layers, *_, batch_size: ({"1": x} for x in streams[net].split(batch_size)),
        Statistics=Statistics,
        torch=torch,
    )
    found = page.moments("f", "g", {"1": 1}, None, nulls=1, generator=generator())
    whole, null = (each["1"].products(centred=True) for each in found)
    torch.testing.assert_close((null.AA, null.BB), (whole.AA, whole.BB))
    assert whole.AB.diagonal().min() > 800 > 150 > null.AB.abs().max()


# --- networks and rows ---


def test_no_network_is_in_two_pairs(monkeypatch, unchecked):
    monkeypatch.setattr(kept, "load", lambda network, *, seed, **_: seed)
    assert [seed for number in range(4) for seed in kept.load_pair(number)] == [*range(8)]


def test_a_kept_network_has_eleven_bits():
    network, weights = nn.Linear(30, 30), nn.Linear(30, 30)
    weights.load_state_dict(network.state_dict())
    error = (kept.rounded(network).weight - weights.weight).abs() / weights.weight.abs()
    assert 0 < error[weights.weight.abs() > 1e-3].max() <= 2**-11


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=4), st.floats(-3, 3), st.floats(0.1, 2))
def test_how_far_tables_are_apart_is_symmetric_and_in_units_of_what_is_allowed(values, step, within):
    one = pd.DataFrame({"loss": values})
    other = one + step
    far = apart(one, other, within)
    assert far == apart(other, one, within) == pytest.approx(abs(step) / within, abs=1e-9)


@pytest.mark.parametrize(("change", "reproduced"), [(0.9, True), (1.1, False), (-1.1, False), (5.0, False)])
def test_a_row_is_stamped_anew_only_within_what_is_allowed(tmp_path, capsys, change, reproduced):
    def losses(add):
        def loss(pair):
            return {"loss": pair + add}

        return loss

    for add in (0.0, change):
        record = Record(tmp_path, writes=True)
        record.table(pair=[1])(losses(add))
    found = record.verify("loss", within=1.0)
    assert found["reproduced"].tolist() == [reproduced]
    assert (record.read("loss")["code"].item() == code_of(losses(change))) is reproduced
    assert record.read("loss")["loss"].item() == 1.0


def test_values_that_a_function_has_from_its_signature_count():
    made = [lambda x, k=k: x + k for k in (1, 2)]
    named = [lambda x, *, k=k: x + k for k in (1, 2)]
    assert len({code_of(each) for each in made}) == len({code_of(each) for each in named}) == 2
