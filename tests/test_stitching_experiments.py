"""Paths between stitches, sparse stitches, published pairs, and the tables that claims are judged by."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.alignment import Statistics, least_squares
from intertwine.stitching import STITCH_RECIPES, Junction, barriers, stitch_at
from intertwine.training import evaluate, train
from intertwine_book import data, models, results
from intertwine_book.experiments.matching import own_setting, tables
from intertwine_book.experiments.matching.claims import SHARED
from intertwine_book.experiments.matching.directions import error_by_direction, variance_restored
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.matching.stitches import (
    lasso_with,
    low_rank_kinds,
    path_rows,
    refitted,
    sparse_rows,
)
from intertwine_book.experiments.published import published_pairs
from intertwine_book.experiments.stitches import stitch_rows
from intertwine_book.results import Run
from intertwine_book.zoo import RECIPES, Spec

TRAIN, TEST = data.load("digits", "train"), data.load("digits", "test")
SHORT = replace(STITCH_RECIPES["digits"], epochs=2, targets="soft")
RANDOM = {"kind": "full", "start": "random", "recipe": SHORT}
KNOWN = {"accuracies": (90.0, 80.0), "seeds": (0, 1)}
AFFINE = partial(least_squares, affine=True)
LAWS = settings(max_examples=10, deadline=None)


@cache
def network(seed: int) -> nn.Module:
    net = models.myrtle(4, in_channels=1, seed=seed)
    recipe = replace(RECIPES["digits"], epochs=6, dtype="float32")
    return train(net, TRAIN, recipe, seed=seed, device="cpu").network


@cache
def junction(layer: str = "bn3") -> Junction:
    options = {"test": TEST, "device": "cpu", "dtype": "float32"}
    return Junction(network(0), network(1), layer, TRAIN, **options)


def accuracy_of(seed: int) -> float:
    return 100 * evaluate(network(seed), TEST.images, TEST.labels)


def paths(layer: str, fractions: list[float], **change) -> pd.DataFrame:
    rows = path_rows(junction(layer), RANDOM, fractions=fractions, **KNOWN | change)
    return pd.DataFrame(rows)


def test_the_ends_of_a_path_are_the_trained_stitches():
    found = paths("bn3", [0.0, 1.0])
    for seed, fraction in ((0, 1.0), (1, 0.0)):
        alone = junction().judge(stitch_at(junction(), **RANDOM, seed=seed))
        row = found[found["fraction"] == fraction].iloc[0]
        assert row["accuracy"] == pytest.approx(100 * alone.accuracy)
        assert row["loss"] == pytest.approx(alone.loss, rel=1e-5)
        assert row["relative_accuracy"] == pytest.approx(row["accuracy"] / 80)


def test_where_the_back_is_affine_the_loss_lies_below_its_chord():
    line = paths("flatten", [k / 8 for k in range(9)])
    one, two = line["loss"].iloc[-1], line["loss"].iloc[0]
    chord = line["fraction"] * one + (1 - line["fraction"]) * two
    assert (line["loss"] <= chord + 1e-5).all() and (line["loss"] < chord - 1e-4).any()


def test_one_seed_twice_makes_a_path_of_one_point():
    line = paths("bn3", [0.0, 0.5, 1.0], seeds=(3, 3))
    assert line["apart"].max() == 0 and line["loss"].std() < 1e-6
    assert line["loss"].iloc[0] != paths("bn3", [0.0], seeds=(4, 4))["loss"].iloc[0]


def test_every_two_seeds_make_a_path():
    line = paths("bn3", [1.0], seeds=(0, 1, 2, 0))
    assert line["path"].tolist() == [0, 1]
    assert line["loss"].iloc[0] == pytest.approx(paths("bn3", [1.0])["loss"].item())


def test_paths_refuse_what_makes_none():
    with pytest.raises(ValueError, match="even number of seeds, was given 3"):
        paths("bn3", [0.0], seeds=(0, 1, 2))
    with pytest.raises(ValueError, match="a stitch that is trained"):
        path_rows(junction(), {"kind": "full"}, fractions=[0.0], **KNOWN)


@LAWS
@given(st.lists(st.floats(0, 1), min_size=3, max_size=8), st.integers(1, 3))
def test_a_barrier_is_the_deepest_fall_below_the_chord(heights, copies):
    fractions = np.linspace(0, 1, len(heights))
    path = pd.DataFrame({"fraction": fractions, "relative_accuracy": heights})
    table = pd.concat([path.assign(path=k, start="random") for k in range(copies)])
    found = barriers(table, ["start", "path"], "relative_accuracy")
    chord = np.interp(fractions, [0, 1], [heights[0], heights[-1]])
    assert found["path"].tolist() == list(range(copies))
    np.testing.assert_allclose(found["barrier"], max(chord - heights), atol=1e-12)
    assert (found["barrier"] >= -1e-12).all() and (found["worse"] == min(heights[0], heights[-1])).all()


@LAWS
@given(st.integers(0, 10**6), st.sampled_from([0.25, 0.5, 0.75, 0.9]), st.booleans())
def test_a_lasso_has_as_many_zeros_as_were_asked_for(seed, sparsity, affine):
    generator = torch.Generator().manual_seed(seed)
    A, M = torch.randn(400, 8, generator=generator), torch.randn(8, 8, generator=generator)
    statistics = Statistics.of(A, A @ M + torch.randn(400, 8, generator=generator))
    fitted = lasso_with(statistics, sparsity, affine=affine)
    share = (fitted.weight == 0).double().mean().item()
    assert abs(share - sparsity) <= 2 / 64 and (fitted.bias is not None) == affine


def test_a_lasso_without_zeros_is_least_squares_and_one_of_zeros_is_0():
    A = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    statistics = Statistics.of(A, A.cumsum(1))
    plain = lasso_with(statistics, 0.0)
    torch.testing.assert_close(plain.weight, least_squares(statistics).weight)
    assert not lasso_with(statistics, 1.0).weight.any()
    with pytest.raises(ValueError, match=r"from 0 to 1, was given 1\.5"):
        lasso_with(statistics, 1.5)


@given(st.integers(0, 99), st.floats(0.0, 1.0))
def test_a_refitted_lasso_keeps_its_zeros_and_fits_no_worse(seed, sparsity):
    g = torch.Generator().manual_seed(seed)
    A, B = (torch.randn(60, width, generator=g, dtype=torch.float64) for width in (6, 5))
    statistics = Statistics.of(A, B + A[:, :5])
    first, again = lasso_with(statistics, sparsity, affine=True), refitted(statistics, sparsity)
    assert (again.weight[first.weight == 0] == 0).all()
    assert again.residual <= first.residual * (1 + 1e-9)
    left = A @ again.weight.T + again.bias - B - A[:, :5]  # of least squares: orthogonal to what it uses
    used = first.weight != 0
    assert ((left.T @ (A - A.mean(0)))[used].abs() < 1e-8).all()
    if sparsity == 0:
        exact = least_squares(statistics, affine=True)
        torch.testing.assert_close(again.weight, exact.weight, rtol=1e-6, atol=1e-9)


def test_sparse_stitches_come_with_the_lasso_of_as_many_zeros():
    accuracies = tuple(accuracy_of(k) for k in (0, 1))
    recipe = replace(SHORT, epochs=6)
    rows = sparse_rows(junction(), [1e-3, 0.1], recipe, seed=0, accuracies=accuracies)
    wide = tables.sparse(pd.DataFrame(rows).assign(pair=0, layer1="bn3"))
    zeros = pd.DataFrame(rows).pivot(index="alpha", columns="stitch", values="sparsity")
    assert (zeros["task loss"] - zeros["direct"]).abs().max() < 0.02
    assert wide["sparsity"].is_monotonic_increasing and wide["sparsity"].iloc[1] > 0.1
    np.testing.assert_allclose(wide["lost_by_direct"], 1 - wide["direct"])


def test_stitches_of_low_rank_have_it_and_full_rank_is_least_squares():
    ways = low_rank_kinds([1, 16], replace(SHORT, epochs=0))
    p, q = junction().widths
    made = {name: stitch_at(junction(), **options).stitch.weight for name, options in ways.items()}
    for name, weight in made.items():
        rank = torch.linalg.matrix_rank(weight, rtol=1e-5)
        assert rank == (1 if name.endswith("rank 1") else min(p, q, 16))
    expected = least_squares(junction().statistics, affine=True).weight.float()
    torch.testing.assert_close(made["direct, rank 16"], expected, rtol=1e-4, atol=1e-5)


@LAWS
@given(st.integers(0, 10**6), st.sampled_from([0.5, 2.0, 8.0]))
def test_restored_outputs_vary_as_much_as_their_targets(seed, noise):
    generator = torch.Generator().manual_seed(seed)
    A, M, N = (torch.randn(*shape, generator=generator) for shape in ((300, 5), (5, 4), (300, 4)))
    B = A @ M + noise * N + 3
    fitted, plain = (fit(Statistics.of(A, B)) for fit in (variance_restored, AFFINE))
    torch.testing.assert_close(fitted(A).var(0), B.var(0), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fitted(A).mean(0), B.mean(0), rtol=1e-3, atol=1e-3)
    assert fitted.residual > plain.residual and (plain(A).var(0) < B.var(0)).all()


def test_the_error_of_a_stitch_is_split_into_its_directions():
    place = junction()
    maps = {"least squares": "least squares", "restored": variance_restored}
    made = {name: stitch_at(place, kind) for name, kind in maps.items()}
    stitches = {name: network.stitch for name, network in made.items()}
    table = pd.DataFrame(error_by_direction(place, stitches, images=len(TEST)))
    wide = table.set_index(["stitch", "part"])
    for name, network in made.items():
        judged = place.judge(network)  # the whole error: the stitched network itself
        assert wide.loc[name, "both"]["accuracy"] == pytest.approx(100 * judged.accuracy)
        assert wide.loc[name, "both"]["distance"] == pytest.approx(judged.distance, rel=1e-4)
        single = wide.loc[name].drop(["loud", "quiet", "both"])
        total = (single["variance"] * single["left"]).sum()
        assert total == pytest.approx(wide.loc[name, "both"]["left"], rel=1e-4)
    assert wide.loc["removed", "1"]["left"] == pytest.approx(1, rel=1e-3) and len(single) == place.widths[1]
    assert wide.loc["removed", "loud"]["variance"] >= 0.5 > wide.loc["removed", "quiet"]["variance"]
    assert wide.loc["model 2", "both"]["accuracy"] == pytest.approx(accuracy_of(1))


def test_low_rank_rows_are_paired():
    ways = low_rank_kinds([2], SHORT)
    rows = stitch_rows(junction(), ways, seed=0, accuracies=(90.0, 80.0))
    found = tables.low_rank(pd.DataFrame(rows).assign(pair=0, layer1="bn3"))
    assert found[["direct", "task_loss", "task_loss_from_direct"]].iloc[0].tolist() == [
        row["relative_accuracy"] for row in rows
    ]


@LAWS
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_means_over_layers_are_means(pairs, layers, seed):
    generator = np.random.default_rng(seed)
    names = ["task loss", "hard targets", "least squares", "no stitch"]
    places = pd.MultiIndex.from_product([range(pairs), map(str, range(layers)), names])
    table = places.to_frame(index=False, name=["pair", "layer1", "stitch"])
    table["relative_accuracy"], table["distance"] = generator.random((2, len(table)))
    found, wide = tables.by_pair(table), tables.ways(table)
    for k in range(pairs):
        mine = table[table["pair"] == k].set_index("stitch")
        row = found[found["pair"] == k].iloc[0]
        assert row["task_loss"] == pytest.approx(mine.loc["task loss", "relative_accuracy"].mean())
        assert row["distance_no_stitch"] == pytest.approx(mine.loc["no stitch", "distance"].mean())
        good = (mine.loc["least squares", "relative_accuracy"] >= 0.8).mean()
        assert row["matched_directly"] == pytest.approx(good)
    assert len(wide) == pairs * layers
    np.testing.assert_allclose(wide["lost_by_task_loss"] + wide["task_loss"], 1)


@LAWS
@given(st.integers(1, 3), st.integers(0, 10**6))
def test_starts_are_compared_with_the_best_of_their_pair_and_layer(trials, seed):
    kinds = ["random", "least squares"]
    places = pd.MultiIndex.from_product([range(2), ["bn1", "bn2"], kinds, range(trials), [0.0, 0.5, 1.0]])
    table = places.to_frame(index=False, name=["pair", "layer1", "start", "path", "fraction"])
    table["relative_accuracy"] = np.random.default_rng(seed).random(len(table))
    found = tables.starts(table)
    assert len(found) == 2 * 2 * trials * 2
    for (pair, layer), part in found.groupby(["pair", "layer1"]):
        at = (table["pair"] == pair) & (table["layer1"] == layer)
        ends = table[at & (table["fraction"] != 0.5)]
        best = ends["relative_accuracy"].max()
        np.testing.assert_allclose(part["behind_best"], best - part["random"])


def test_cuts_are_in_front_of_relus_and_behind_blocks():
    assert cuts(models.tiny10(), [3]) == ["bn3"]
    assert cuts(models.resnet20(), range(1, 11))[-1] == "block9.relu2"
    with pytest.raises(ValueError, match="from 1 to 4, was given"):
        cuts(models.myrtle(4), [0, 5])


def test_published_pairs_are_disjoint_and_get_the_data_they_expect(tmp_path, monkeypatch):
    (tmp_path / "checkpoints").mkdir()
    for k in range(4):
        torch.save(models.tiny10(seed=k).state_dict(), tmp_path / f"checkpoints/tiny10-in{k}-gn{k}.pt")
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    monkeypatch.setattr(models.published, "published_files", dict)  # these names are of other networks
    raw = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    half, quarter = torch.full((3, 1, 1), 0.5), torch.full((3, 1, 1), 0.25)
    images = data.load("digits", "test")
    cifar = replace(images, images=(raw - half) / quarter, labels=images.labels[:5], mean=half, std=quarter)
    pairs, (ours, _) = published_pairs("tiny10", 2, cifar, cifar)
    firsts = [net.conv1.weight for pair in pairs for net in pair]
    assert all(torch.equal(w, models.tiny10(seed=k).conv1.weight) for k, w in enumerate(firsts))
    mean, std = (torch.tensor(x).view(3, 1, 1) for x in models.published.CSISZARIK2021)
    torch.testing.assert_close(ours.images, (raw - mean) / std, rtol=1e-5, atol=1e-5)


def test_widths_are_paired():
    places = pd.MultiIndex.from_product([range(4), ["1", "2"]]).to_frame(index=False, name=["pair", "layer1"])
    table = places.assign(width=[4] * 4 + [16] * 4, stitch="task loss")
    table["relative_accuracy"] = np.arange(8) / 8
    found = tables.widths(table, few=2)
    assert (found["widest"] - found["narrowest"]).eq(0.5).all() and len(found) == 4


@pytest.mark.slow
def test_in_the_papers_setting_stitches_have_its_recipe_and_all_images(tmp_path):
    asked = {"networks": "trained", "dataset": "digits", "width": 4, "epochs": 6, "chosen": [3]}
    asked |= {"train_images": 100, "fit_images": 50, "test_images": 10, "stitch_epochs": 9}
    asked |= {"ranks": [2], "alphas": [0.01, 1.0], "longer_epochs": 1}
    run = Run("03b_matching", asked, 0, "cpu", folder=tmp_path)
    own = Spec("myrtle", TRAIN, RECIPES["digits"], {"width": 4, "in_channels": 1})
    options = {"device": "cpu", "dtype": "float32"}
    own_setting.write(run, [(network(0), network(1))], own, TEST, SHARED, **options)
    found = {name: results.read(name, folder=tmp_path) for name in ("figure_7", "figure_8")}
    used = {"train_images": len(TRAIN), "fit_images": len(TRAIN), "test_images": len(TEST)}
    for _, known in found.values():
        assert known["parameters"].items() >= {**used, "stitch_epochs": 1}.items()
    whole = Junction(network(0), network(1), "bn3", TRAIN, test=TEST, fit_images=len(TRAIN), **options)
    recipe = replace(STITCH_RECIPES["csiszarik2021"], epochs=1, targets="soft")
    kinds = {"direct": {}, "direct_without_bias": {"affine": False}}
    kinds["task_loss"] = {"recipe": recipe, "start": "random"}
    for name, options in kinds.items():
        alone = whole.judge(stitch_at(whole, "low rank", rank=2, **options)).accuracy
        share = 100 * alone / accuracy_of(1)
        assert found["figure_7"][0][name].tolist() == [pytest.approx(share)]
    few, many = found["figure_8"][0].sort_values("alpha")["sparsity"]
    assert few < many
