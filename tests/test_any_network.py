"""Networks of others verify, and all that moves together has to move."""

import torch

from intertwine.weightspace import find_symmetries
from intertwine.weightspace.rules.infer import RULES
from intertwine_book import models
from intertwine_book.experiments.any_network import moved

IMAGES = torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
LABELS = torch.arange(20) % 10


def test_a_weight_that_is_left_behind_changes_the_function():
    network, images = models.resnet20(2, in_channels=1).double().eval(), IMAGES
    space = find_symmetries(network, images[:1])
    element = space.sample(torch.Generator().manual_seed(4), scale=0.5)
    table = moved.left_behind(space, network, element, images, LABELS)
    assert table["change"][0] == 0 and (table["change"][1:] > 0).any()
    assert (table["accuracy"][0] == table.query("change < 1e-9")["accuracy"]).all()


def test_networks_of_others_verify():
    table = moved.verified(["a vision transformer"], 1, torch.Generator().manual_seed(5), torch.device("cpu"))
    assert table[["outputs", "not_as_predicted"]].max(axis=None) < 1e-9 and table["representations"][0] > 10


def test_the_block_to_adapt_has_an_operation_without_a_rule():
    assert "diff" not in RULES, "the page shows what an operation without a rule does: take another one"
