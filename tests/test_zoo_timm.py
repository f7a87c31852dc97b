"""Architectures of timm on small images (extra `test-zoo`)."""

import copy

import pytest
import torch
from weightspace_models import orbit_error

from intertwine.weightspace import find_symmetries, mappings, prune, relative_error

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CONVOLUTIONS = """convnext_atto convnextv2_atto cs3darknet_focus_s darknet17 densenet121 dla34
    dpn48b
    edgenext_xx_small efficientnet_lite0 efficientvit_b0 ghostnet_050 hardcorenas_a
    hgnetv2_b0 hrnet_w18_small inception_next_atto lcnet_035 mixnet_s mnasnet_small mobilenetv2_035
    mobilenetv3_small_050 mobilenetv4_conv_small_035 mobileone_s0 nf_regnet_b0 regnetx_002
    regnety_002 repghostnet_050 repvgg_a0 resnet10t resnet18 resnext26ts resnetv2_18 rexnet_100
    selecsls42 skresnet18 starnet_s050 tinynet_e vgg11_bn vovnet39a"""
TRANSFORMERS = """cait_xxs24_224 coat_lite_tiny convit_tiny crossvit_tiny_240 deit_tiny_patch16_224 fastvit_t8
    levit_128s mixer_s32_224 mobilevit_xxs poolformer_s12 pvt_v2_b0 resmlp_12_224
    swin_tiny_patch4_window7_224 tiny_vit_5m_224 twins_svt_small vit_tiny_patch16_224
    xcit_nano_12_p16_224 bat_resnext26ts"""


def built(name: str) -> tuple[torch.nn.Module, int]:
    timm = pytest.importorskip("timm", reason="needs the extra test-zoo")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = timm.create_model(name, num_classes=10).eval().double()
        with torch.no_grad():  # layers that begin with zeros have to count, too
            for p in model.parameters():
                p += torch.randn_like(p) * (0.1 if p.ndim < 2 else 0.5 * p[0].numel() ** -0.5)
    fixed = name in TRANSFORMERS.split() and not name.startswith(("fast", "mobile", "pool", "pvt"))
    return model, model.default_cfg["input_size"][-1] if fixed else 64


def held(name: str):
    model, size = built(name)
    x = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    space = find_symmetries(model, x[:1], check=False)
    moved = space.act(model, space.sample(torch.Generator().manual_seed(1), scale=0.5))
    with torch.no_grad():
        assert relative_error(moved(x), model(x)) < 1e-7
    return space


@pytest.mark.parametrize("name", CONVOLUTIONS.split() + TRANSFORMERS.split())
def test_architectures_keep_their_function(name):
    assert held(name).components > 1


@pytest.mark.parametrize("name, dimension", [("resnet50", 38_016), ("densenet121", 52_064)])
def test_dimensions_are_those_of_theory(name, dimension):
    assert held(name).dimension == dimension


def test_swin_turns_its_residual_streams():
    groups = [hidden.group for hidden in held("swin_tiny_patch4_window7_224").spaces]
    assert {"O(192), Q1 = ±1", "O(384), Q1 = ±1", "O(768), Q1 = ±1"} <= set(groups)


TINY = """byobnet coatnet convnext convnext2 convnext3 efficientnet efficientnet_evos efficientnet_gn
    efficientnet_ln mambaout maxvit nfnet resnet vit vit2 vit3 vit4 vit_relpos"""


@pytest.mark.parametrize("name", TINY.split())
def test_models_in_one_orbit_are_matched_and_have_one_normal_form(name):
    model, _ = built(f"test_{name}")
    size = model.default_cfg["input_size"][-1]
    x = torch.zeros(1, 3, size, size, dtype=torch.float64)
    assert orbit_error(find_symmetries(model, x, check=False), model, range(3)) < 1e-6


HEADS = {"deit_tiny_patch16_224": 12, "swin_tiny_patch4_window7_224": 12, "mvitv2_tiny": 9}


@pytest.mark.parametrize("name", HEADS)
def test_without_a_head_the_model_is_the_one_whose_head_is_silent(name):
    """All of these write the number of heads into attributes."""
    model, _ = built(name)
    size = model.default_cfg["input_size"][-1]
    x = torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    space = find_symmetries(model, x, check=False)
    heads = [h for h in space.spaces if h.size < 30 and any("qkv" in name for name in h.writers)]
    assert len(heads) == HEADS[name]
    silent = copy.deepcopy(model)
    for mapping in mappings(space):
        for s in mapping.readers if mapping.space in {h.name for h in heads} else ():
            weight = silent.get_submodule(s.module).weight.data  # of the second head
            weight[:, [start + s.step + k for start in s.starts for k in range(s.size)]] = 0
    keep = {h.name: [k for k in range(h.size) if k != 1] for h in heads}
    small = prune(space, model, keep, x)
    with torch.no_grad():
        assert relative_error(small(x), silent(x)) < 1e-9
        assert relative_error(small(x), model(x)) > 1e-3
    assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in model.parameters())


def test_a_norm_between_units_that_are_divided_in_two_ways_joins_what_it_can():
    timm = pytest.importorskip("timm", reason="needs the extra test-zoo")
    model = timm.create_model("eca_halonext26ts").eval()
    assert len(find_symmetries(model, torch.zeros(1, 3, 256, 256)).spaces) > 10
