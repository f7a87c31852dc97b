"""Small modules on values of shape (BATCH, TOKENS, CHANNELS), which mix units, positions, or neither.

What is learnt for each position gives positions to move, too.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, group_norm, linear, pad, scaled_dot_product_attention

BATCH, TOKENS, CHANNELS, LATENTS = 2, 5, 4, 6


class Step(nn.Module):
    """Modules, parameters and buffers by name, and a forward given as a function."""

    def __init__(self, run, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.run = run

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


class Residual(Step):
    def __init__(self, inner: nn.Module):
        super().__init__(lambda s, x: x + s.inner(x), inner=inner)


def learnt(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))))


def fixed(*shape: int) -> nn.Buffer:
    return nn.Buffer(torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).double())


def units(bias: bool = True, out: int = CHANNELS, into: int = CHANNELS) -> nn.Linear:
    return nn.Linear(into, out, bias=bias)


def across(module: nn.Module) -> nn.Module:
    """The module with units and positions exchanged."""
    return Step(lambda s, x: s.m(x.transpose(1, 2)).transpose(1, 2), m=module)


def heads(count: int = 2, **options) -> nn.MultiheadAttention:
    return nn.MultiheadAttention(CHANNELS, count, batch_first=True, **options)


def attend(s, x, query=None, key=None, which=0, **options):
    """Multi-head attention from learnt queries, or to learnt keys."""
    query, key = (x if p is None else p.expand(len(x), -1, -1) for p in (query, key))
    return s.m(query, key, key, **options)[which]


def dot(x, query=None, key=None, value=None, **options):
    query, key, value = (x if p is None else p for p in (query, key, value))
    return scaled_dot_product_attention(query, key, value, **options)


def dot_by_head(s, x):
    y = s.a(x).view(len(x), TOKENS, 2, -1).transpose(1, 2)
    return dot(y, attn_mask=s.mask).transpose(1, 2).flatten(2)


def back(s, latents):
    """From latents to positions, without a bias."""
    return (latents.transpose(1, 2) @ s.o).transpose(1, 2)


def recurrent(s, x):
    h, outputs = torch.zeros(len(x), CHANNELS, dtype=x.dtype), []
    for t in range(TOKENS):
        h = torch.relu(s.a(x[:, t]) + s.b(h))
        outputs.append(h)
    return torch.stack(outputs, 1)


def shortened(run):
    """Behind a layer to two units fewer, which `run` pads."""
    return lambda: Step(lambda s, x: run(s, pad(s.b(x), (0, 2)), x), a=units(), b=units(out=CHANNELS - 2))


ACTIVATIONS = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "sigmoid": nn.Sigmoid,
    "square": lambda: Step(lambda s, x: x * x),
    "prelu": nn.PReLU,
    "prelu by position": lambda: nn.PReLU(TOKENS),
    "prelu by unit": lambda: across(nn.PReLU(CHANNELS)),
    "softmax over positions": lambda: nn.Softmax(1),
    "softmax over units": lambda: nn.Softmax(2),
    "maximum with a parameter": lambda: Step(lambda s, x: torch.maximum(x, s.p), p=learnt(CHANNELS)),
    "minimum by position": lambda: Step(lambda s, x: torch.minimum(s.p, other=x), p=learnt(TOKENS, 1)),
    "maximum with zeros": lambda: Step(lambda s, x: torch.maximum(x, torch.zeros_like(x))),
}
NORMS = {
    "batch norm": lambda: across(nn.BatchNorm1d(CHANNELS)),
    "batch norm of positions": lambda: nn.BatchNorm1d(TOKENS),
    "batch norm of positions, no gain": lambda: nn.BatchNorm1d(TOKENS, affine=False),
    "batch norm without a shift": lambda: Step(
        lambda s, x: batch_norm(x, s.mean, s.variance.square() + 0.5, s.gain, None),
        mean=fixed(TOKENS),
        variance=fixed(TOKENS),
        gain=learnt(TOKENS),
    ),
    "layer norm": lambda: nn.LayerNorm(CHANNELS),
    "layer norm of positions": lambda: across(nn.LayerNorm(TOKENS)),
    "layer norm of positions, no gain": lambda: across(nn.LayerNorm(TOKENS, elementwise_affine=False)),
    "rms norm": lambda: nn.RMSNorm(CHANNELS),
    "rms norm of positions": lambda: across(nn.RMSNorm(TOKENS)),
    "instance norm": lambda: across(nn.InstanceNorm1d(CHANNELS)),
    "instance norm of positions": lambda: nn.InstanceNorm1d(TOKENS, affine=True),
    "group norm": lambda: across(nn.GroupNorm(2, CHANNELS)),
    "group norm of positions": lambda: nn.GroupNorm(TOKENS, TOKENS),
    "group norm of all": lambda: nn.GroupNorm(1, TOKENS),
}
MIXING = {
    "units": units,
    "units, no bias": lambda: units(bias=False),
    "positions": lambda: across(nn.Linear(TOKENS, TOKENS)),
    "positions, no bias": lambda: across(nn.Linear(TOKENS, TOKENS, bias=False)),
    "convolution of positions": lambda: nn.Conv1d(TOKENS, TOKENS, 1),
    "convolution along positions": lambda: across(nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1)),
    "depthwise along positions": lambda: across(nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS)),
    "a table": lambda: Step(lambda s, x: x + s.p, p=learnt(TOKENS, CHANNELS)),
    "a table through a layer": lambda: Step(lambda s, x: x + s.a(s.p), p=learnt(TOKENS, 3), a=units(into=3)),
    "a shift by position": lambda: Step(lambda s, x: s.p + x, p=learnt(TOKENS, 1)),
    "a gain by position": lambda: Step(lambda s, x: s.p * x, p=learnt(TOKENS, 1)),
    "a gain by unit": lambda: Step(lambda s, x: s.p * x, p=learnt(CHANNELS)),
    "a gate": lambda: Step(lambda s, x: x * s.a(x), a=units(out=1)),
    "minus the mean": lambda: Step(lambda s, x: x - x.mean(1, keepdim=True)),
    "the largest": lambda: Step(lambda s, x: x + x.amax(1, keepdim=True)),
    "recurrent": lambda: Step(recurrent, a=units(), b=units()),
}
ATTENTION = {
    "to learnt keys": lambda: Step(
        lambda s, x: attend(s, x, key=s.k), k=learnt(LATENTS, CHANNELS), m=heads()
    ),
    "to learnt keys, no bias": lambda: Step(
        lambda s, x: attend(s, x, key=s.k), k=learnt(LATENTS, CHANNELS), m=heads(bias=False)
    ),
    "to learnt keys, padded": lambda: Step(
        lambda s, x: attend(s, x, key=s.k, key_padding_mask=s.mask),
        k=learnt(LATENTS, CHANNELS),
        m=heads(),
        mask=fixed(BATCH, LATENTS),
    ),
    "among positions": lambda: Step(attend, m=heads()),
    "masked by head": lambda: Step(
        lambda s, x: attend(s, x, attn_mask=s.mask), m=heads(), mask=fixed(2 * BATCH, TOKENS, TOKENS)
    ),
    "masked by learnt numbers": lambda: Step(
        lambda s, x: attend(s, x, attn_mask=s.q @ s.k), m=heads(), q=learnt(TOKENS, 3), k=learnt(3, TOKENS)
    ),
    "from learnt queries": lambda: Step(
        lambda s, x: back(s, attend(s, x, query=s.q)),
        q=learnt(LATENTS, CHANNELS),
        m=heads(),
        o=learnt(LATENTS, TOKENS),
    ),
    "among learnt queries, masked": lambda: Step(
        lambda s, x: x + back(s, attend(s, x, query=s.q, key=s.q, attn_mask=s.mask)),
        q=learnt(LATENTS, CHANNELS),
        m=heads(),
        o=learnt(LATENTS, TOKENS),
        mask=fixed(LATENTS, LATENTS),
    ),
    "the weights alone": lambda: Step(
        lambda s, x: attend(s, x, query=s.q, which=1).transpose(1, 2) @ s.o,
        q=learnt(LATENTS, CHANNELS),
        m=heads(),
        o=learnt(LATENTS, CHANNELS),
    ),
    "dot product": lambda: Step(lambda s, x: dot(x, is_causal=True)),
    "dot product with learnt queries": lambda: Step(
        lambda s, x: back(s, dot(x, query=s.q)), q=learnt(LATENTS, CHANNELS), o=learnt(LATENTS, TOKENS)
    ),
    "dot product with learnt queries, causal": lambda: Step(
        lambda s, x: back(s, dot(x, query=s.q, is_causal=True)),
        q=learnt(LATENTS, CHANNELS),
        o=learnt(LATENTS, TOKENS),
    ),
    "dot product with learnt keys, masked": lambda: Step(
        lambda s, x: dot(x, key=s.k, value=s.k, attn_mask=s.mask),
        k=learnt(LATENTS, CHANNELS),
        mask=fixed(TOKENS, LATENTS),
    ),
    "dot product with a learnt mask": lambda: Step(
        lambda s, x: dot(x, key=s.k, value=s.v, attn_mask=s.mask),
        k=learnt(LATENTS, CHANNELS),
        v=learnt(LATENTS, CHANNELS),
        mask=learnt(TOKENS, LATENTS),
    ),
    "dot product by head, masked": lambda: Step(dot_by_head, a=units(), mask=fixed(2, TOKENS, TOKENS)),
}
ZEROS = {
    "zeros that are read": lambda: Step(lambda s, x: x + s.a(torch.zeros_like(x)), a=units()),
    "zeros and one": lambda: Step(lambda s, x: (torch.zeros_like(x) + 1) * s.p + x, p=learnt(CHANNELS)),
    "sigmoid of zeros": lambda: Step(lambda s, x: torch.zeros_like(x).sigmoid() + x),
    "softmax of zeros": lambda: Step(lambda s, x: torch.zeros_like(x).softmax(-1) + x),
    "batch norm of zeros": lambda: Step(lambda s, x: s.n(torch.zeros_like(x)) + x, n=nn.BatchNorm1d(TOKENS)),
    "shifted group norm of zeros": lambda: Step(
        lambda s, x: x + group_norm(torch.zeros_like(x), 1, None, s.p), p=learnt(TOKENS)
    ),
    "a weight of zeros": lambda: Step(
        lambda s, x: x + linear(x, torch.zeros(LATENTS, CHANNELS, dtype=x.dtype), s.b) @ s.w,
        b=learnt(LATENTS),
        w=learnt(LATENTS, CHANNELS),
    ),
    "padded and added": shortened(lambda s, y, x: y + x),
    "padded with ones": lambda: Step(
        lambda s, x: x + pad(s.b(x), (0, 2), value=1.0), b=units(out=CHANNELS - 2)
    ),
    "padded and raised": shortened(lambda s, y, x: (y + 1) + s.a(x)),
    "padded and compared": shortened(lambda s, y, x: torch.maximum(y, s.a(x))),
    "padded and softmax": shortened(lambda s, y, x: y.softmax(-1) + s.a(x)),
    "padded and normed": lambda: Step(
        lambda s, x: s.n(pad(s.b(x), (0, 2)).transpose(1, 2)).transpose(1, 2) + s.a(x),
        a=units(),
        b=units(out=CHANNELS - 2),
        n=nn.BatchNorm1d(CHANNELS),
    ),
    "zeros beside": lambda: Step(lambda s, x: torch.stack([torch.zeros_like(x), x], 1).amax(1)),
    "copies beside": lambda: Step(
        lambda s, x: back(s, s.c(torch.cat([s.p.expand(len(x), LATENTS, -1), s.u @ x], 2))),
        p=learnt(CHANNELS),
        u=learnt(LATENTS, TOKENS),
        c=units(bias=False, into=2 * CHANNELS),
        o=learnt(LATENTS, TOKENS),
    ),
}
STEPS = ACTIVATIONS | NORMS | MIXING | ATTENTION | ZEROS


def network(steps: list[nn.Module]) -> nn.Module:
    """From three numbers for each position through these steps to two."""
    return nn.Sequential(nn.Linear(3, CHANNELS), *steps, nn.Linear(CHANNELS, 2))
