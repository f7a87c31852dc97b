"""Samples so few that a measure is 1 whatever the features are: it warns, once, and only then."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch
from helpers import generator, normal
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.similarity import MEASURES, cca, cka, compare, null, procrustes, pwcca, r2, svcca


def heard(call):
    """The value of a call, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call()
    return value, caught


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 30), st.integers(1, 12), st.integers(1, 12), st.booleans(), st.integers(0, 999))
def test_as_many_correlations_are_1_as_dimensions_force(n, p, q, single, seed):
    """Counted by numpy, for independent features."""
    dtype = torch.float32 if single else torch.float64
    X, Y = (normal(n, width, seed=3 * seed + k, dtype=dtype) for k, width in enumerate((p, q)))
    bases = [np.linalg.qr(Z.numpy().astype(float) - Z.numpy().astype(float).mean(0))[0] for Z in (X, Y)]
    bases = [basis[:, : n - 1] for basis in bases]  # of centred columns
    r, s = (basis.shape[1] for basis in bases)
    count = int((np.linalg.svd(bases[0].T @ bases[1])[1] > 1 - 1e-9).sum())
    for measure in (cca, partial(svcca, variance=1.0), pwcca):
        value, caught = heard(lambda m=measure: m(X, Y))
        said = f"more than {r + s} samples .* {r} and {s} directions, was given {n}: {count} of {min(r, s)} "
        assert len(caught) == (count > 0)
        if count:
            with pytest.warns(UserWarning, match=said):
                measure(X, Y)
        if count == min(r, s):
            assert value == pytest.approx(1)


def test_noise_is_1_and_features_of_low_rank_are_judged_by_their_rank():
    X, Y = normal(256, 512), normal(256, 512, seed=1)
    with pytest.warns(UserWarning, match="255 of 255 canonical correlations are 1 whatever the features"):
        assert cca(X, Y) == pytest.approx(1)
    low = [Z[:, :3].double() @ Z[:3].double() for Z in (X, Y)]
    assert cca(*low) < 0.3 and r2(*low) < 0.1


def test_components_that_are_kept_decide_for_svcca():
    X, Y = (normal(20, 15, seed=k) * 0.3 ** torch.arange(15) for k in range(2))
    assert svcca(X, Y) < 1
    with pytest.warns(UserWarning, match="more than 30 samples of features with 15 and 15 directions"):
        svcca(X.double(), Y.double(), variance=1.0)


@pytest.mark.parametrize("centred", [True, False])
def test_r2_is_1_where_the_first_features_span_all_samples(centred):
    Y = normal(9, 2, seed=1)
    wide, narrow = 9 - centred, 8 - centred
    with pytest.warns(UserWarning, match=f"more than {8 + 1} samples of first features with {wide} dir"):
        assert r2(normal(9, wide), Y, centred=centred) == pytest.approx(1)
    assert r2(normal(9, narrow), Y, centred=centred) < 0.999
    assert r2(normal(9, 2), normal(9, 20, seed=1), centred=centred) < 0.999  # wide targets force nothing


@pytest.mark.parametrize("n, equal_units, forced", [(9, 0, True), (9, 2, False), (10, 0, False)])
def test_compare_too_warns_of_r2_where_features_span_all_samples(n, equal_units, forced):
    net = nn.Sequential(nn.Linear(12, 8), nn.Linear(8, 3), nn.Linear(3, 3)).eval()
    net[0].weight.data[:equal_units] = 1  # their rank counts, not their number
    _, caught = heard(lambda: compare(net, net, ["0"], normal(n, 12), "r2", layers2=["2"]))
    assert bool(caught) == forced


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
@pytest.mark.parametrize("form", ["similarity", "angular"])
def test_two_centred_samples_are_a_rotation_of_any_other_two(group, form):
    X, Y = normal(2, 5), normal(2, 3, seed=1)
    with pytest.warns(UserWarning, match="Expected 3 samples or more, was given 2"):
        assert procrustes(X, Y, group, form=form) == pytest.approx(float(form == "similarity"))
    assert procrustes(normal(3, 5), normal(3, 3, seed=1), group) < 0.999
    assert procrustes(X, Y, group, centred=False) < 0.999
    assert procrustes(X, Y, "permutation") < 0.999
    assert procrustes(X[:, :1], -X[:, :1], "rotation") == 0  # which only a reflection would bring together


def test_two_samples_have_one_centred_gram_matrix():
    for kernel in ("linear", "rbf", "max"):
        with pytest.warns(UserWarning, match="biased CKA is 1 whatever the features"):
            X, Y = normal(2, 5).abs(), normal(2, 3, seed=1).abs()
            assert cka(X, Y, kernel=kernel, estimator="biased") == pytest.approx(1)
    assert cka(normal(3, 5), normal(3, 3, seed=1), estimator="biased") < 0.999


HERE = __file__, "<type checks>"  # the wrapper of the tests' type checker, which the caller's line calls
NET = nn.Sequential(nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 3), nn.Tanh()).eval()


@pytest.mark.parametrize("name", ["cca", "svcca", "pwcca", "r2"])
def test_compare_warns_once_and_names_the_layers(name):
    few, enough = normal(30, 40), normal(200, 40)
    ask = partial(compare, NET, NET, ["1", "3"], measure=name, layers2=["3", "1"], device="cpu")
    _, caught = heard(lambda: ask(images=few))
    (one,) = caught
    assert one.filename in HERE
    said = str(one.message)
    assert f"Expected more samples for {name!r} of so many channels, was given 30:" in said
    assert "'1' (40) and '1' (40)" in said and "'3' (3) and '3' (3)" not in said
    assert ("'3' (3) and '1' (40)" in said) == (name in ("cca", "pwcca"))
    assert not heard(lambda: ask(images=enough))[1] and not heard(lambda: ask(images=few, measure="cka"))[1]


def test_many_pairs_of_layers_are_counted():
    with pytest.warns(UserWarning, match=r"'0' \(40\) and '0' \(40\), .*, and 4 more; use more samples"):
        compare(NET, NET, ["0", "1", "3"], normal(30, 40), "cca", device="cpu")


def test_the_warning_is_about_the_line_of_the_caller():
    X, Y = normal(9, 6), normal(9, 6, seed=1)
    calls = [cca, svcca, pwcca, MEASURES["cca"], lambda X, Y: r2(X[:7], Y[:7])]
    for call in calls:
        _, (one,) = heard(lambda call=call: call(X, Y))
        assert one.filename in HERE
    _, caught = heard(lambda: null("cca", X, Y, repeats=2, generator=generator()))
    assert len(caught) == 3 and {each.filename for each in caught} <= {*HERE}
