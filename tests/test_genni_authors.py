"""What the authors of lengyel2020 drew and trained comes out of their random numbers again.

Their files are not here. On 28 November 2026 the ten networks and the five LeNets of these functions were
compared with the files that the authors committed (github.com/Do-Not-Circulate/GENNI, commit 95e6bf5; small
networks of step 1001): the weights agreed to 5e-7, the starts of the LeNets to 1.5e-8. The numbers below are
of our own weights.
"""

import pytest
import torch
from closed_form import gaussian_loss, slopes

from intertwine import genni
from intertwine_book import models
from intertwine_book.genni_authors import authors_draws
from intertwine_book.record import on_record

TARGET = [-0.08383071, -0.03428686, -0.26516739, 0.16266517]
CHECKSUMS_OF_LENETS = [6.895180, -2.226156, 0.933155, -1.557513, -5.382492]  # Σ tᵢθᵢ, t from −1 to 1


def test_ten_small_networks_come_out_again_with_the_weights_on_record():
    target, inputs, starts = authors_draws(models.fcn, (1,), 16384, 10, seed=10)
    problem = genni.Problem(models.fcn().eval(), target, inputs)
    again = genni.descend(problem, starts, lr=0.015 * problem.energy, optimizer="sgd", steps=1000)
    kept = on_record("06_genni", "published_networks").sort_values("network")[["w1", "w2", "c1", "c2"]]
    torch.testing.assert_close(again.double(), torch.tensor(kept.to_numpy()), rtol=0, atol=5e-7)
    torch.testing.assert_close(target, torch.tensor(TARGET), rtol=0, atol=5e-8)


def test_five_lenets_are_drawn_again():
    _, _, starts = authors_draws(models.lenet, (1, 28, 28), 8192, 5, seed=0)
    checksums = starts.double() @ torch.linspace(-1, 1, starts.shape[1], dtype=torch.float64)
    assert checksums.tolist() == pytest.approx(CHECKSUMS_OF_LENETS, abs=2e-6)


def test_at_inputs_plus_and_minus_1_the_loss_of_two_neurons_is_the_mean_over_gaussian_inputs():
    """So chapter 6 judges the paper's networks without an estimate."""
    draw = torch.Generator().manual_seed(0)
    theta, *others = torch.randn(21, 4, dtype=torch.float64, generator=draw)
    both = genni.Problem(models.fcn().eval(), theta, torch.tensor([[1.0], [-1.0]]).double())
    exact = gaussian_loss(torch.stack(others), slopes(theta))
    torch.testing.assert_close(genni.loss_at(both, torch.stack(others)), exact)
