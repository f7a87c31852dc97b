"""Tiny language models of transformers, called as a tokenizer calls them (extra `test-zoo`)."""

import re
from collections import UserDict

import pytest
import torch
from weightspace_models import orbit_error

from intertwine.weightspace import find_symmetries, fold, match, relative_error, rotate, untie

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SIZES = {
    99: "vocab_size",
    64: "max_position_embeddings n_positions n_ctx",
    48: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff n_inner hidden_dim",
    32: "hidden_size d_model n_embd dim embedding_size word_embed_proj_dim",
    16: "moe_intermediate_size shared_expert_intermediate_size sliding_window q_lora_rank kv_lora_rank",
    8: "d_kv head_dim v_head_dim qk_rope_head_dim qk_nope_head_dim state_size",
    4: """num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads
        num_experts num_local_experts n_routed_experts""",
    2: """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers
        num_key_value_heads num_experts_per_tok eos_token_id""",
    1: "bos_token_id decoder_start_token_id",
    0: "pad_token_id",
}
SMALL = {name: n for n, names in SIZES.items() for name in names.split()}
CAUSAL = """bart biogpt bloom cohere cohere2 ctrl exaone4 gemma gemma2 glm glm4 gpt2 gpt_bigcode
    gpt_neox granite llama mistral olmo olmo2 olmo3 opt persimmon phi phi3 qwen2 qwen3
    helium smollm3 stablelm starcoder2 qwen3_5_text"""
MASKED = (
    "albert bert camembert convbert deberta deberta-v2 distilbert electra ernie mpnet roberta xlm-roberta"
)
SEQ2SEQ = "bart blenderbot m2m_100 marian mbart mt5 pegasus plbart t5"


def small(cls: type, **options: int):
    """A configuration of this class with small sizes."""
    base = cls()
    chosen = {k: v for k, v in SMALL.items() if isinstance(getattr(base, k, None), int)}
    if getattr(base, "n_inner", 0) is None:
        chosen["n_inner"] = 48
    if isinstance(types := getattr(base, "layer_types", None), list):
        chosen["layer_types"] = ([*dict.fromkeys(types)] * 2)[:2]
    return cls(**chosen | options)


def built(kind: str, key: str, attention: str | None) -> torch.nn.Module:
    transformers = pytest.importorskip("transformers", reason="needs the extra test-zoo")
    auto = transformers.models.auto.modeling_auto
    names = {
        "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "seq2seq": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    }[kind]
    config = small(transformers.CONFIG_MAPPING[key])
    if attention is not None:
        config._attn_implementation = attention
    return randomised(getattr(transformers, names[key]), config)


def randomised(cls: type[torch.nn.Module], config: object) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = cls(config).eval().double()
        with torch.no_grad():  # layers that begin with zeros have to count, too
            for p in model.parameters():
                p += torch.randn_like(p) * (0.2 if p.ndim < 2 else p[0].numel() ** -0.5)
    return model


def tokens(kind: str, batch: int) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(batch)
    ids = torch.randint(3, 90, (batch, 8), generator=draw)
    x = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return x | ({"decoder_input_ids": ids[:, :5]} if kind == "seq2seq" else {})


def held(model, kind: str):
    """The space, after checking that random elements keep the logits for other batches, too."""
    batch = UserDict(tokens(kind, 1))  # as BatchEncoding is
    space = find_symmetries(model, batch, outputs="logits", check=False)
    moved = space.act(model, space.sample(torch.Generator().manual_seed(1), scale=0.5))
    with torch.no_grad():
        for size in (1, 3):
            new, old = (m(**tokens(kind, size)).logits for m in (moved, model))
            assert relative_error(new, old) < 1e-4  # some modules compute in float32
    return space


ALL = [
    (kind, key)
    for kind, keys in zip(("causal", "masked", "seq2seq"), (CAUSAL, MASKED, SEQ2SEQ), strict=True)
    for key in keys.split()
]


@pytest.mark.parametrize("kind, key", ALL)
def test_language_models_keep_their_logits_and_in_one_orbit_they_match_and_have_one_normal_form(kind, key):
    model = built(kind, key, None)
    space = held(model, kind)
    assert space.components > 1 and orbit_error(space, model, range(3)) < 1e-6


@pytest.mark.parametrize("key", ["gpt2", "llama", "qwen2", "opt", "gpt_neox"])
def test_every_attention_has_the_same_group(key):
    spaces = [held(built("causal", key, attention), "causal") for attention in ("eager", "sdpa")]
    assert len({space.dimension for space in spaces}) == 1


@pytest.mark.parametrize("key", ["mixtral", "qwen2_moe", "qwen3_moe"])
def test_experts_have_the_same_group_in_both_implementations(key):
    precise, usual = built("causal", key, None), built("causal", key, None).float()
    precise.config._experts_implementation = "batched_mm"  # the usual one knows no float64
    assert held(precise, "causal").dimension == held(usual, "causal").dimension > 300


HEADS, GAINS = 2 * 4 * 8 * 8, 32
THEORY = {
    "gpt2": 2 * HEADS + 4 * GAINS,  # queries with keys, values with outputs; gains of norms in blocks
    # O(32), gains, values of two heads, complex numbers for their pairs of keys, gates
    "llama": 32 * 31 // 2 + 5 * 32 + 2 * 2 * (8 * 8 + 8) + 2 * 48,
    "mistral": 32 * 31 // 2 + 5 * 32 + 2 * 2 * (8 * 8 + 8) + 2 * 48,
    "qwen2": 32 * 31 // 2 + 5 * 32 + 2 * 2 * (8 * 8 + 8) + 2 * 48,
    # of queries and keys a quarter is turned: one pair of units a head
    "gpt_neox": 31 * 30 // 2 + 5 * 32 + 2 * 4 * (2 + 6 * 6 + 8 * 8),
    "bloom": 2 * HEADS + 4 * GAINS,  # heads stay, as each has a slope of its own
    "mpt": 2 * HEADS + 4 * GAINS,
    "opt": 2 * HEADS + 4 * GAINS + 2 * 48,  # and the units behind a ReLU
}


@pytest.mark.parametrize("key", THEORY)
def test_dimensions_are_those_of_theory(key):
    assert held(built("causal", key, None), "causal").dimension == THEORY[key]


MATCHED = {  # queries, keys and values have biases; fewer latents than units do not determine a matrix
    "PhiForCausalLM": {},
    "Qwen2ForCausalLM": {},
    "GlmForCausalLM": {"attention_bias": True},
    "ElectraForSequenceClassification": {"embedding_size": 16},
    "Dinov2ForImageClassification": {"image_size": 16, "patch_size": 4},
    "PerceiverForSequenceClassification": {
        "d_latents": 24,
        "num_latents": 6,
        "num_self_attends_per_block": 1,
        "num_self_attention_heads": 4,
        "num_cross_attention_heads": 4,
    },
}


@pytest.mark.parametrize("name", MATCHED)
def test_heads_and_matrices_wait_for_weights_that_determine_them(name):
    transformers = pytest.importorskip("transformers", reason="needs the extra test-zoo")
    cls = getattr(transformers, name)
    model = randomised(cls, small(cls.config_class, **MATCHED[name]))
    image = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = image if cls.main_input_name == "pixel_values" else tokens("causal", 1)["input_ids"]
    space = find_symmetries(model, {cls.main_input_name: x}, outputs="logits", check=False)
    for seed in range(6):  # one order of two heads in two is right by chance
        moved = space.act(model, space.sample(torch.Generator().manual_seed(seed), scale=0.5))
        found = match(space, model, moved).model.parameters()
        assert max(map(relative_error, found, model.parameters())) < 1e-6


@pytest.mark.parametrize("name", ["Gemma", "Gemma2", "Gemma3"])
def test_gains_1_plus_w_are_folded_to_0_and_of_gemma_the_stream_is_rotated(name):
    transformers = pytest.importorskip("transformers", reason="needs the extra test-zoo")
    base, cls = (getattr(transformers, f"{name}{end}") for end in ("ForCausalLM", "Config"))
    config = small(base.config_class or cls, tie_word_embeddings=False)
    model, words = randomised(base, config), torch.arange(12)[None]
    for norm, weight in model.named_parameters():
        if "norm" in norm:
            torch.nn.init.uniform_(weight, -0.5, 0.5)
    space, expected = find_symmetries(model, words, outputs="logits"), model(words).logits
    # the norms of Gemma2 and 3 that write into the stream keep theirs, and with it the order of its units
    writes = "post_attention|post_feedforward|[qk]_norm" if name != "Gemma" else "^$"
    found, left = fold(space, model).model, set[str]()
    for norm, weight in found.named_parameters():
        if "norm" in norm:
            left |= {norm} if weight.abs().max() > 1e-6 else set()
    assert all(re.search(writes, norm) for norm in left)
    assert relative_error(found(words).logits, expected) < 1e-5  # norms compute in float32
    turned = rotate(space, found, 0).model
    assert relative_error(turned(words).logits, expected) < 1e-5
    moved = not torch.allclose(turned.model.embed_tokens.weight, found.model.embed_tokens.weight)
    assert moved == (name == "Gemma")


@pytest.mark.parametrize("name", ["Llama", "Qwen3", "Gemma"])
def test_a_tied_head_is_said_to_stay_and_once_untied_it_is_folded_and_rotated(name, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs the extra test-zoo")
    config = small(getattr(transformers, f"{name}Config"), tie_word_embeddings=True)
    model, words = randomised(getattr(transformers, f"{name}ForCausalLM"), config), torch.arange(12)[None]
    for norm, weight in model.named_parameters():
        if "norm" in norm:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    said = "model.embed_tokens.weight writes .* as lm_head.weight, reads it behind a gain: `untie` the model"
    space, expected = find_symmetries(model, words, outputs="logits"), model(words).logits
    for verb, left in (
        (lambda: fold(space, model), "model.norm"),
        (lambda: rotate(space, model, 0), "model.embed_tokens"),
    ):
        with pytest.warns(UserWarning, match=rf"{left} .{said}"):
            verb()
    model = untie(model)
    space = find_symmetries(model, words, outputs="logits")
    found = rotate(space, fold(space, model).model, 0).model
    gain = found.model.norm.weight + (name == "Gemma")
    torch.testing.assert_close(gain, torch.ones_like(gain))
    assert not torch.allclose(found.model.embed_tokens.weight, model.model.embed_tokens.weight)
    found.save_pretrained(tmp_path)  # which would tie them again but for the configuration
    for each in (model, found, type(model).from_pretrained(tmp_path).to(expected.dtype)):
        assert relative_error(each(words).logits, expected) < 1e-5
