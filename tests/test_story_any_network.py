"""Sentences of chapter 1c hold in its recorded tables."""

import pandas as pd
import torch
from torch import nn
from torch.func import jacrev

from intertwine.weightspace import find_symmetries
from intertwine_book.stories import any_network as story


def test_one_parameter_left_behind_changes_the_function():
    facts, (_, *cut) = story.facts(), story.record("cut")["change"]
    assert min(cut) > 0.01 and len(cut) == facts["cut-all"] and facts["cut-worst"] < facts["cut-none"] - 50


CONVOLUTIONAL = ["resnet18", "resnet50", "mobilenet_v3_small", "convnext_tiny"]


def test_convolutional_networks_have_scalings_and_transformers_have_matrices():
    table = story.counted().set_index("network")
    assert (table.loc[CONVOLUTIONAL, ["heads", "stream"]] == 0).all(axis=None)
    rest = table.drop(index=CONVOLUTIONAL)
    assert ((rest["heads"] + rest["stream"]) / rest["dimension"]).min() > 0.8


def test_the_streams_of_vit_and_swin_may_be_rotated_and_that_of_gpt_2_may_not():
    stream = story.counted().set_index("network")["stream"]
    assert stream["vit_b_16"] == 767 * 766 / 2
    assert stream["swin_t"] == sum((n - 1) * (n - 2) // 2 for n in (192, 384, 768))  # not the first, of 96
    assert (stream[["GPT-2", "SmolLM-135M", "BERT"]] == 0).all()


class NormOnTheStream(nn.Module):
    def __init__(self, gain):
        super().__init__()
        self.embed, self.inner, self.head = nn.Linear(3, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.norms = nn.ModuleList(nn.LayerNorm(8, elementwise_affine=gain) for _ in range(2))

    def forward(self, x):
        x = self.norms[0](self.embed(x))
        return self.head(self.norms[1](x + self.inner(x)))


def test_a_stream_that_a_norm_with_a_gain_writes_cannot_be_rotated():
    groups = {
        gain: find_symmetries(NormOnTheStream(gain).eval(), torch.randn(4, 3)) for gain in (True, False)
    }
    assert groups[False].spaces[0].group == "O(8), Q1 = ±1" and "O(" not in groups[True].spaces[0].group


def test_general_linear_groups_act_between_the_blocks_of_mobilenet_alone():
    other = story.counted().set_index("network")["other"]
    assert other["mobilenet_v3_small"] == sum(n**2 for n in (16, 24, 40, 48, 96))
    assert (other.drop("mobilenet_v3_small") == 0).all()


def test_a_table_of_networks_has_the_largest_change_of_each():
    row = {"network": "one", "spaces": 3, "dimension": 7}
    verified = pd.DataFrame([row | {"representations": change} for change in (10.0, 20.0)])
    assert "20" in story.networks(verified).data and "10" not in story.networks(verified).data


def test_without_biases_nothing_else_moves_the_weights_of_attention_and_sequences_of_three_vectors_tell():
    draw = torch.Generator().manual_seed(0)
    heads, width, n = 2, 2, 5
    weights = torch.randn(4, heads, width, n, generator=draw, dtype=torch.float64)
    tokens = torch.randn(30, 3, n, generator=draw, dtype=torch.float64)

    def outputs(weights):
        q, k, v = (torch.einsum("bpn,hdn->bhpd", tokens, each) for each in weights[:3])
        mixed = (q @ k.mT / width**0.5).softmax(-1) @ v
        return torch.einsum("bhpd,hdn->bpn", mixed, weights[3]).flatten()

    kernel = weights.numel() - torch.linalg.matrix_rank(jacrev(outputs)(weights).flatten(1), rtol=1e-10)
    assert kernel == heads * 2 * width**2
