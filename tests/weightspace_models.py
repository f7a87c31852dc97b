"""Networks whose symmetries are known: torchvision's, slimmer ones of the same layers, and transformers."""

import math
from collections.abc import Callable, Iterable

import torch
from helpers import NORMS
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention, silu

from intertwine.weightspace import Moved, WeightSpace, canonicalise, match, relative_error


class Net(nn.Module):
    """Modules by name, and a forward given as a function."""

    def __init__(self, run: Callable[..., Tensor], **parts: nn.Module | nn.Parameter) -> None:
        super().__init__()
        self.run = run
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


def orbit_error(space: WeightSpace, model: nn.Module, seeds: Iterable[int]) -> float:
    """How far normal forms of one orbit, and matched models, are apart where the weights decide.

    The largest relative difference of weights and buffers on which no undetermined space acts.
    """

    def difference(one: Moved, other: nn.Module) -> float:
        unknown = {space[name].index for name in one.undetermined}
        pairs = zip(space.state(one.model).items(), space.state(other).values(), strict=True)
        known = [(x, y) for (k, x), y in pairs if space.solution.touched(k).isdisjoint(unknown)]
        return max(
            (relative_error(x, y) for x, y in known if x.is_floating_point() and x.numel()), default=0.0
        )

    form, errors = canonicalise(space, model).model, []
    for seed in seeds:
        moved = space.act(model, space.sample(torch.Generator().manual_seed(seed), scale=0.5))
        errors += [
            difference(canonicalise(space, moved), form),
            difference(match(space, model, moved), model),
        ]
    return max(errors)


def slim(name: str) -> nn.Module:
    """A torchvision network; the largest with fewer units, or fewer of their equal blocks."""
    from torchvision import models

    if name == "resnet18":
        return models.ResNet(models.resnet.BasicBlock, [2, 1, 1, 1])
    if name in ("resnet50", "wide_resnet50_2"):
        return models.ResNet(
            models.resnet.Bottleneck, [2, 1, 1, 1], width_per_group=16 if "wide" in name else 8
        )
    if name == "vgg11_bn":
        model = models.VGG(nn.Sequential(), num_classes=10, init_weights=False)
        model.features = models.vgg.make_layers(
            [8, "M", 16, "M", 32, 32, "M", 64, 64, "M", 64, 64, "M"], True
        )
        model.classifier = nn.Sequential(
            nn.Linear(64 * 49, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 10)
        )
        return model
    if name == "vit_b_16":
        return models.VisionTransformer(32, 16, 2, 4, 32, 64, num_classes=10)
    if name == "swin_t":
        return models.SwinTransformer([4, 4], 24, [2, 2], [3, 6], [7, 7], num_classes=10)
    if name == "convnext_tiny":
        setting = [models.convnext.CNBlockConfig(*c) for c in ((12, 24, 2), (24, None, 2))]
        return models.ConvNeXt(setting, num_classes=10)
    if name == "densenet121":
        return models.DenseNet(8, (2, 3, 2, 2), 16)
    if name == "googlenet":
        return models.googlenet(init_weights=False, aux_logits=False)
    return getattr(models, name)()


def full(name: str) -> nn.Module:
    """A torchvision network in full size; the largest get weights in a way that is quick."""
    from torchvision import models

    if name == "googlenet":
        return models.googlenet(init_weights=False, aux_logits=False).eval()
    if name not in ("vgg11_bn", "vit_b_16", "wide_resnet50_2", "resnet50"):
        return getattr(models, name)().eval()
    with torch.device("meta"):
        model = getattr(models, name)()
    model = model.to_empty(device="cpu").eval()
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.02, 0.02)
    for module in model.modules():
        if isinstance(module, NORMS):
            nn.init.ones_(module.weight)
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
    return model


class Scaled(nn.Linear):
    """Layer scale: each unit of what a block adds to the residual stream has a factor."""

    def __init__(self, enter: int, leave: int) -> None:
        super().__init__(enter, leave)
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, leave))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * super().forward(x)


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int, out: type[nn.Linear] = nn.Linear) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), out(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), out(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        n, t, width = x.shape
        q, k, v = (
            part.view(n, t, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        future = torch.ones(t, t, dtype=torch.bool).triu(1)
        attention = scores.masked_fill(future, -torch.inf).softmax(-1)
        x = x + self.project((attention @ v).transpose(1, 2).contiguous().view(n, t, width))
        return x + self.down(gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """Learnt positions, pre-norm blocks, and a head that may be tied to the embedding."""

    def __init__(
        self, *, tied: bool, words: int = 11, width: int = 12, heads: int = 3, scaled: bool = False
    ) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(6, width)
        out = Scaled if scaled else nn.Linear
        self.blocks = nn.ModuleList([GPTBlock(width, heads, out) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Latents(nn.Module):
    """A few rows of weights that attend to words, as in Perceiver."""

    def __init__(self, width: int = 12, words: int = 8, heads: int = 3) -> None:
        super().__init__()
        self.latents, self.words = nn.Parameter(torch.randn(4, width)), nn.Embedding(20, words)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(n) for n in (width, words, width))
        self.attention = nn.MultiheadAttention(width, heads, kdim=words, vdim=words, batch_first=True)
        self.head = nn.Linear(width, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.latents.expand(len(tokens), -1, -1)
        query, key = self.norm1(x), self.norm2(self.words(tokens))
        return self.head(self.norm3(x + self.attention(query, key, key, need_weights=False)[0]))


def rotated(x: Tensor) -> Tensor:
    """Rotary positions: pairs of units, turned by angles that grow with the position."""
    t, d = x.shape[-2:]
    angles = torch.outer(torch.arange(t, dtype=x.dtype), 100.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d))
    cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, key_heads: int, bias: bool) -> None:
        super().__init__()
        self.heads, self.key_heads, self.d = heads, key_heads, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.q, self.out = nn.Linear(width, width, bias), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, key_heads * self.d, bias) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 20, bias=False) for _ in range(2))
        self.down = nn.Linear(20, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        n, t, width = x.shape
        y = self.norm1(x)
        q = self.q(y).view(n, t, self.heads, self.d).transpose(1, 2)
        k, v = (f(y).view(n, t, self.key_heads, self.d).transpose(1, 2) for f in (self.k, self.v))
        q, k = rotated(q), rotated(k)
        copies = self.heads // self.key_heads
        k, v = (
            z[:, :, None].expand(n, self.key_heads, copies, t, self.d).reshape(n, self.heads, t, self.d)
            for z in (k, v)
        )
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
        y = self.norm2(x)
        return x + self.down(silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """RMS norm, rotary positions, grouped queries, SwiGLU; with `bias` Qwen2."""

    def __init__(self, words: int = 11, width: int = 16, *, bias: bool = False) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([LlamaBlock(width, 4, 2, bias) for _ in range(2)])
        self.norm, self.head = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
