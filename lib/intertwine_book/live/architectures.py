"""The networks of the symmetry explorer: a block assembled from switches, and public architectures."""

from importlib import import_module
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

SMOLLM = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "tie_word_embeddings": True,
}
LANGUAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "GPT-2": ("GPT2LMHeadModel", "GPT2Config", {}),
    "SmolLM-135M": ("LlamaForCausalLM", "LlamaConfig", SMOLLM),
    "BERT": ("BertModel", "BertConfig", {}),
}
"""Name → class, configuration and options in `transformers`, which has to be installed for these alone."""

VISION = {
    "ViT-B/16": ("vit_b_16", 224),  # it has positions for one size only
    "ResNet-18": ("resnet18", 64),
    "MobileNetV3": ("mobilenet_v3_small", 64),
}
"""Name → name in torchvision, and the size of an image."""

PUBLIC = "GPT-2", "SmolLM-135M", "BERT", "ViT-B/16", "ResNet-18", "MobileNetV3", "LSTM"


class Tagger(nn.Module):
    """Two layers of an LSTM between an embedding and a linear layer."""

    def __init__(self, words: int = 10_000, width: int = 200) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)

    def forward(self, tokens: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch positions words"]:
        return self.head(self.lstm(self.embedding(tokens))[0])


def build(name: str) -> tuple[nn.Module, Tensor]:
    """A public architecture of full size, untrained and without a download, and an input for it.

    Example:
        >>> network, tokens = build("LSTM")
        >>> network(tokens).shape
        torch.Size([1, 12, 10000])

    Raises:
        ModuleNotFoundError: `transformers` is not installed, which has GPT-2, SmolLM and BERT.
    """
    torch.manual_seed(0)
    if name in LANGUAGE:
        library, (model, config, options) = import_module("transformers"), LANGUAGE[name]
        return getattr(library, model)(getattr(library, config)(**options)).eval(), torch.arange(12)[None]
    if name in VISION:
        builder, size = VISION[name]
        model = getattr(import_module("torchvision.models"), builder)(weights=None)
        return model.eval(), torch.randn(1, 3, size, size)
    return Tagger().eval(), torch.arange(12)[None]


class Switches(NamedTuple):
    """What a reader may choose in a transformer block; the default is the modern choice."""

    rms: bool = True
    before: bool = True
    rotary: bool = True
    gated: bool = True
    grouped: bool = True
    tied: bool = False


WIDTH, HEADS, WORDS, PLACES = 64, 4, 256, 8
"""Units of the residual stream, heads, words, and positions of the example."""


class SwitchedBlock(nn.Module):
    """A language model of one transformer block.

    Example:
        >>> SwitchedBlock(Switches(grouped=False))(torch.arange(PLACES)[None]).shape
        torch.Size([1, 8, 256])

    Args:
        switches: RMS norm, else layer norm; norms before attention and perceptron, else after the sums;
            rotary positions, else learned ones that are added; a gated perceptron, else one with GELU; pairs
            of heads that share keys and values, else each has its own; the last layer is the embedding,
            else its own.
    """

    def __init__(self, switches: Switches) -> None:
        super().__init__()
        n, d, self.switches = WIDTH, WIDTH // HEADS, switches
        norm = nn.RMSNorm if switches.rms else nn.LayerNorm
        self.shared = HEADS // 2 if switches.grouped else HEADS
        self.embed, self.norm1, self.norm2 = nn.Embedding(WORDS, n), norm(n), norm(n)
        self.q, self.o = nn.Linear(n, n, bias=False), nn.Linear(n, n, bias=False)
        self.k, self.v = (nn.Linear(n, d * self.shared, bias=False) for _ in range(2))
        self.up, self.down = nn.Linear(n, 4 * n, bias=False), nn.Linear(4 * n, n, bias=False)
        if switches.gated:
            self.gate = nn.Linear(n, 4 * n, bias=False)
        if not switches.rotary:
            self.places = nn.Embedding(PLACES, n)
        if switches.before:
            self.norm3 = norm(n)
        self.head = nn.Linear(n, WORDS, bias=False)
        if switches.tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch positions words"]:
        x = self.embed(tokens)
        if not self.switches.rotary:
            x = x + self.places(torch.arange(tokens.shape[1]))
        if self.switches.before:
            x = x + self.attention(self.norm1(x))
            x = x + self.perceptron(self.norm2(x))
            return self.head(self.norm3(x))
        x = self.norm1(x + self.attention(x))
        return self.head(self.norm2(x + self.perceptron(x)))

    def attention(self, x: Float[Tensor, "batch positions n"]) -> Float[Tensor, "batch positions n"]:
        q, k, v = (f(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.switches.rotary:
            q, k = rotated(q), rotated(k)
        if self.switches.grouped:
            k, v = (each.repeat_interleave(HEADS // self.shared, 1) for each in (k, v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).flatten(2))

    def perceptron(self, x: Float[Tensor, "batch positions n"]) -> Float[Tensor, "batch positions n"]:
        if self.switches.gated:
            return self.down(nn.functional.silu(self.gate(x)) * self.up(x))
        return self.down(nn.functional.gelu(self.up(x)))


def rotated(x: Float[Tensor, "batch heads positions d"]) -> Float[Tensor, "batch heads positions d"]:
    """Each plane of coordinates, turned by its angle times the position.

    Example:
        >>> x = torch.randn(1, 1, 3, 4)
        >>> torch.allclose(rotated(x).norm(dim=-1), x.norm(dim=-1))
        True
    """
    d, places = x.shape[-1], torch.arange(x.shape[-2])
    angles = torch.outer(places, 100.0 ** (-torch.arange(d // 2) / (d // 2)))
    cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin
