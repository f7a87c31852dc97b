"""Sentences of chapter 1c hold in its recorded tables."""

from itertools import product

import pandas as pd
import torch
from torch import nn
from torch.func import jacrev

from intertwine.weightspace import find_symmetries
from intertwine_book.live.architectures import Switches
from intertwine_book.live.recorded import recorded
from intertwine_book.live.views import key
from intertwine_book.stories import any_network as story


def test_one_parameter_left_behind_changes_the_function():
    facts, (_, *cut) = story.facts(), story.record("cut")["change"]
    assert min(cut) > 0.01 and len(cut) == facts["cut-all"] and facts["cut-worst"] < facts["cut-none"] - 50


PUBLIC = {name: view for name, view in recorded().items() if not name.isdigit()}


def matrices(name, role=""):
    """The dimension of the spaces of this role on which matrices act."""
    spaces = [space for space in PUBLIC[name]["spaces"] if role in space["role"]]
    return sum(space["dimension"] for space in spaces if space["group"].startswith(("O(", "GL(", "(ℂ*)")))


def test_resnet_has_scalings_alone_and_most_of_a_transformer_s_group_are_matrices_in_heads_and_on_streams():
    assert matrices("ResNet-18") == 0
    for name in ("GPT-2", "BERT", "ViT-B/16", "SmolLM-135M"):
        found = matrices(name, "in a head") + matrices(name, "residual stream")
        assert found == matrices(name) and found / PUBLIC[name]["dimension"] > 0.8


def test_the_stream_of_vit_may_be_rotated_those_of_gpt_2_and_smollm_may_not_and_that_of_bert_does_not_move():
    assert matrices("ViT-B/16", "residual stream") == 767 * 766 / 2
    for name in ("GPT-2", "SmolLM-135M"):
        assert matrices(name, "residual stream") == 0
        (stream,) = (space for space in PUBLIC[name]["spaces"] if space["role"] == "residual stream")
        assert stream["why"][-1].endswith("writes and reads")
    assert "residual stream" not in {space["role"] for space in PUBLIC["BERT"]["spaces"]}


def test_a_norm_after_the_sum_or_a_shared_embedding_takes_the_rotations_of_a_block_s_stream():
    for switches in product((True, False), repeat=6):
        each = Switches(*switches)
        (stream,) = (s for s in recorded()[key(each)]["spaces"] if s["role"] == "residual stream")
        rotated = each.before and not each.tied
        assert stream["group"].startswith("O(64)") == rotated
        assert stream["dimension"] == (64 * 63 // 2 if each.rms else 63 * 62 // 2) or not rotated


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
    assert matrices("MobileNetV3") == sum(n**2 for n in (16, 24, 40, 48, 96))


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
