"""Stitch layers: each is the matrix that it says it is, and stays in its set while it is trained."""

import copy
import inspect
import itertools
import sys

import pytest
import torch
from helpers import generator, normal
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from intertwine.alignment import LinearMap, Statistics, assignment, orthogonal
from intertwine.groups import GReLU
from intertwine.stitching import (
    KINDS,
    Birkhoff,
    Entropic,
    FromMatrix,
    Full,
    Junction,
    LowRank,
    Matched,
    OrthogonalMap,
    Sparse,
    Stitch,
    maps,
)
from intertwine.stitching.maps import options_of

seeds = st.integers(0, 2**31)
widths = st.integers(1, 7)


def planted(n: int, seed: int) -> tuple[Tensor, Statistics]:
    """A in G_ReLU, and the statistics of non-negative features and of A times them."""
    A = GReLU(n).sample(generator(seed)).float()
    features = normal(40 + 4 * n, n, seed=seed).relu()
    return A, Statistics.of(features, features @ A.T)


def place(p: int, q: int, seed: int) -> Junction:
    """A junction of which nothing but its statistics is there."""
    junction = object.__new__(Junction)
    junction.widths = (p, q)
    found = Statistics.of(normal(30, p, seed=seed).relu(), normal(30, q, seed=seed + 1).relu())
    junction.__dict__["statistics"] = found
    return junction


def options(kind: type, p: int, q: int) -> list[dict[str, object]]:
    """Values for the options of a kind; one with an option of another name has it here."""
    values = {"rank": range(1, min(p, q) + 1, 2), "alpha": [0.1], "affine": [False, True]}
    known = options_of(kind)
    return [dict(zip(known, each, strict=True)) for each in itertools.product(*(values[k] for k in known))]


def every_kind(p: int, q: int, seed: int) -> list[tuple[type, dict[str, object], Stitch]]:
    """All kinds that are trained, as they start: from activations and, where they can, at random."""
    made = []
    for kind in {each: None for each in KINDS.values() if issubclass(each, Stitch)}:
        for own in options(kind, p, q):
            try:
                made.append((kind, own, kind.start(place(p, q, seed), generator(seed), **own)))
                if issubclass(kind, FromMatrix):
                    first = kind.draw((p, q), generator(seed), **own)
                    made.append((kind, own, kind.start(place(p, q, seed), generator(seed), first, **own)))
            except ValueError:
                assert p != q  # all else every kind takes
    return made


def step(stitch: Stitch, seed: int = 0, *, lr: float = 0.1, done: float = 0.9) -> None:
    """One of plain gradient descent on a loss that knows no better."""
    p = stitch.weight.shape[1]
    optimizer = torch.optim.SGD(stitch.parameters(), lr)
    stitch.train().advance(done)
    (stitch(normal(5, p, seed=seed)).square().sum() + stitch.penalty()).backward()
    optimizer.step()
    stitch.project()


@given(seeds, widths, widths, st.booleans())
@settings(max_examples=6, deadline=None)
def test_a_stitch_is_its_matrix_at_every_position(seed, p, q, training):
    x = normal(3, p, 2, 5, seed=seed)
    for _, _, stitch in every_kind(p, q, seed):
        stitch.train(training)
        assert stitch.weight.shape == (q, p)
        expected = torch.einsum("ij,njhw->nihw", stitch.weight, x)
        if stitch.bias is not None:
            expected = expected + stitch.bias[:, None, None]
        torch.testing.assert_close(stitch(x), expected, rtol=1e-4, atol=1e-5)
        volumes = x[..., None].expand(-1, -1, -1, -1, 4)
        torch.testing.assert_close(stitch(volumes)[..., 3], expected, rtol=1e-4, atol=1e-5)
        rows = x.movedim(1, -1)  # channels last, of up to 3 axes
        torch.testing.assert_close(stitch(rows[0]).movedim(-1, 0), expected[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(copy.deepcopy(stitch)(x), stitch(x))


@given(seeds, widths, widths)
@settings(max_examples=4, deadline=None)
def test_a_start_is_given_by_its_seed_and_from_its_own_matrix_it_is_itself(seed, p, q):
    for (kind, own, one), (_, _, other) in zip(every_kind(p, q, seed), every_kind(p, q, seed), strict=True):
        torch.testing.assert_close(one.eval().weight, other.eval().weight)
        assert (one.bias is not None) == own.get("affine", False)
        if issubclass(kind, FromMatrix):
            again = kind.start(place(p, q, seed), generator(), LinearMap(one.weight.detach()), **own).eval()
            torch.testing.assert_close(again.weight, one.weight, rtol=1e-3, atol=1e-4)


@given(seeds, widths, widths)
@settings(max_examples=4, deadline=None)
def test_a_closed_form_maps_the_channels_and_its_family_has_it(seed, p, q):
    for kind in {each: None for each in KINDS.values() if hasattr(each, "fit")}:
        for own in options(kind, p, q):
            try:
                found = kind.fit(place(p, q, seed).statistics, **own)
            except ValueError:
                assert p != q
                continue
            assert found.weight.shape == (q, p)
            if issubclass(kind, FromMatrix):
                held = kind.start(place(p, q, seed), generator(), found, **own)
                torch.testing.assert_close(held.weight.double(), found.weight, rtol=1e-3, atol=1e-3)


@given(seeds, widths, widths)
@settings(max_examples=6, deadline=None)
def test_a_draw_is_torch_s_linear_layer(seed, p, q):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layer = torch.nn.Linear(p, q)
    found = Full.draw((p, q), generator(seed))
    torch.testing.assert_close((found.weight, found.bias), (layer.weight.data, layer.bias.data))


@given(seeds, widths, widths)
@settings(max_examples=6, deadline=None)
def test_starts_are_the_maps_they_start_from(seed, p, q):
    W, b = normal(q, p, seed=seed), normal(q, seed=seed + 1)
    full = Full(W, b)
    torch.testing.assert_close((full.weight, full.bias), (W, b))
    assert Full(W).bias is None
    for rank in {1, (min(p, q) + 1) // 2, min(p, q)}:
        stitch = LowRank(W, rank=rank)
        left = (W - stitch.weight).norm()
        best = torch.linalg.svdvals(W)[rank:].norm()  # Eckart and Young
        torch.testing.assert_close(left, best, rtol=1e-3, atol=1e-4)
        step(stitch, seed)
        assert torch.linalg.matrix_rank(stitch.weight, rtol=1e-5) <= rank


@given(seeds, widths, st.integers(0, 3))
@settings(max_examples=6, deadline=None)
def test_orthogonal_stays_orthogonal(seed, p, more):
    q = p + more
    fitted = orthogonal(Statistics.of(normal(30, p, seed=seed), normal(30, q, seed=seed + 1)))
    stitch = OrthogonalMap(fitted.weight)
    torch.testing.assert_close(stitch.weight, fitted.weight.float(), rtol=1e-4, atol=1e-5)
    before = stitch.weight.detach()
    for k in range(3):
        # towards a matrix that is not one of them
        optimizer = torch.optim.SGD(stitch.parameters(), 0.05)
        (stitch.weight - normal(q, p, seed=seed + k)).square().sum().backward()
        optimizer.step()
        W = stitch.weight
        torch.testing.assert_close(W.T @ W, torch.eye(p), rtol=1e-4, atol=1e-4)
    assert p == q == 1 or (W - before).abs().max() > 1e-3


@given(seeds, widths, widths)
@settings(max_examples=6, deadline=None)
def test_sparse_counts_and_penalises_every_entry(seed, p, q):
    W = normal(q, p, seed=seed) * (normal(q, p, seed=seed + 1) > 0)
    W = W + 5e-5 * (W == 0)  # below the threshold
    stitch = Sparse(W, alpha=0.3)
    torch.testing.assert_close(stitch.penalty(), 0.3 * W.abs().sum())
    assert stitch.sparsity == pytest.approx((W.abs() < 1e-4).double().mean().item())
    assert torch.equal(stitch.eval().weight == 0, W.abs() < 1e-4)
    assert torch.equal(stitch.train().weight, W)


# --- G_ReLU ---


@given(seeds, st.sampled_from([2, 5, 16, 64, 128]))
@settings(max_examples=12, deadline=None)
def test_planted_elements_are_matched_exactly(seed, n):
    A, statistics = planted(n, seed)
    for stitch in (Matched(statistics), Entropic(statistics)):
        assert torch.equal(stitch.weight > 0, A > 0)
        torch.testing.assert_close(stitch.weight, A, rtol=1e-5, atol=0)


@given(seeds, st.integers(2, 9))
@settings(max_examples=6, deadline=None)
def test_what_is_evaluated_is_in_the_group(seed, n):
    statistics = Statistics.of(normal(30, n, seed=seed).relu(), normal(30, n, seed=seed + 1).relu())
    stitches = [Matched(statistics), Entropic(statistics), Birkhoff(n, generator=generator(seed))]
    for stitch in stitches:
        first = stitch.weight.detach()
        for k in range(3):
            step(stitch, seed + k, lr=0.01)
        assert not torch.equal(stitch.weight, first)
        assert GReLU(n).contains(stitch.eval().weight.detach().double())


@given(seeds, widths, widths)
@settings(max_examples=6, deadline=None)
def test_matching_takes_the_smaller_width(seed, p, q):
    A, B = normal(30, p, seed=seed).relu(), normal(30, q, seed=seed + 1).relu()
    W = Matched(Statistics.of(A, B)).weight
    assert (W > 0).sum() == min(p, q)
    assert (W > 0).sum(0).max() <= 1 and (W > 0).sum(1).max() <= 1


def test_units_that_never_fire_leave_every_scale_positive_and_finite():
    A, B = normal(30, 3).relu(), normal(30, 3, seed=1).relu()
    A[:, 0], B[:, 2] = 0, 0
    for stitch in (Matched(Statistics.of(A, B)), Entropic(Statistics.of(A, B))):
        assert stitch.weight.isfinite().all() and GReLU(3).contains(stitch.weight.detach().double())


@given(seeds)
@settings(max_examples=6, deadline=None)
def test_entropic_uses_the_permutation_and_the_gradient_of_the_relaxation(seed):
    statistics = Statistics.of(normal(30, 4, seed=seed).relu(), normal(30, 4, seed=seed + 1).relu())
    stitch, x, y = Entropic(statistics).train(), normal(6, 4, seed=seed), normal(6, 4, seed=seed + 2)
    assert GReLU(4).contains(stitch.weight.detach().double(), tol=1e-5)
    stitch.advance(0.5)
    (stitch(x) * y).sum().backward()
    scores = stitch.scores.detach().clone().requires_grad_()
    P = scores / stitch.temperature
    for _ in range(stitch.sweeps):  # by the book, without logarithms
        P = P - P.logsumexp(1, keepdim=True)
        P = P - P.logsumexp(0, keepdim=True)
    ((x @ P.exp().T) * stitch.log_scales.detach().exp() * y).sum().backward()
    torch.testing.assert_close(stitch.scores.grad, scores.grad, rtol=1e-4, atol=1e-6)
    stitch.advance(1.0)
    assert stitch.temperature == pytest.approx(stitch.cold)


@pytest.mark.parametrize(("n", "solved"), [(6, 12), (256, 3)])
def test_wide_stitches_solve_the_assignment_rarely_and_are_judged_by_the_best(n, solved, monkeypatch):
    A, B = normal(300, n).relu(), normal(300, n, seed=1).relu()
    stitch, calls = Entropic(Statistics.of(A, B)).train(), []
    module = sys.modules["intertwine.stitching.maps.permutations"]
    monkeypatch.setattr(module, "assignment", lambda *a, **k: calls.append(1) or assignment(*a, **k))
    for step in range(12):
        assert GReLU(n).contains(stitch.weight.detach().double(), tol=1e-5)
        with torch.no_grad():
            stitch.scores += 0.1 * normal(n, n, seed=step)
    assert len(calls) == solved
    best = assignment(stitch.scores.detach(), maximize=True)
    assert (stitch.eval().weight[best] > 0).all()
    stitch.load_state_dict(Entropic(Statistics.of(A, B)).state_dict())  # what is kept is no part of it


@given(seeds, st.integers(2, 6))
@settings(max_examples=6, deadline=None)
def test_birkhoff_takes_the_papers_steps(seed, n):
    """Against loops over rows and columns."""
    stitch = Birkhoff(n, alpha=0.2, generator=generator(seed))
    torch.testing.assert_close(stitch.P.sum(0), torch.ones(n))
    torch.testing.assert_close(stitch.P.sum(1), torch.ones(n), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(stitch.penalty(), -0.2 * stitch.P.square().sum().sqrt())
    stitch.advance(0.49)
    torch.testing.assert_close(stitch.weight, stitch.P)  # the warm-up has no scales
    stitch.advance(0.5)
    P, s = (x.detach().double() for x in (stitch.P, stitch.scales))
    x = normal(5, n, seed=seed)
    stitch.train()
    optimizer = torch.optim.SGD(stitch.parameters(), 0.5)
    (stitch(x).square().sum() + stitch.penalty()).backward()
    grads = [stitch.P.grad.double(), stitch.scales.grad.double()]
    optimizer.step()
    stitch.project()
    P, s = (P - 0.5 * grads[0]).clamp(min=0), (s - 0.5 * grads[1]).clamp(min=0)
    for _ in range(16):
        for i in range(n):
            P[i] = P[i] / P[i].sum().clamp(min=1e-12)
        for j in range(n):
            P[:, j] = P[:, j] / P[:, j].sum().clamp(min=1e-12)
    torch.testing.assert_close(stitch.P.double(), P, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(stitch.scales.double(), s, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(stitch.weight, stitch.P @ torch.diag(stitch.scales))
    W = stitch.eval().weight
    assert (W.sum() - stitch.scales.sum()).abs() < 1e-4 and ((W != 0).sum(1) <= 1).all()


def test_an_isometry_is_completed_alike_in_every_process_and_draws_nothing_from_others():
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        states.append(OrthogonalMap(torch.eye(5)[:, :3]).state_dict())
        assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_the_page_lists_every_kind_with_its_options():
    listed = str(maps.__doc__).split("\n- ")[1:]
    given = {}
    for line in listed:
        head = line.partition(":")[0]
        names, _, options = head.replace("``", "").partition(" (")
        given |= {name: options.rstrip(")") for name in names.split(", ")}
    for name, kind in KINDS.items():
        written = (
            key if default is inspect.Parameter.empty else f"{key}={default}"
            for key, default in options_of(kind).items()
        )
        assert given.pop(name) == ", ".join(written)
    assert not given
