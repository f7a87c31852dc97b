"""Normal forms: canonicalise(act(model, g)) is canonicalise(model), for many kinds of networks."""

from fractions import Fraction

import pytest
import torch
import weightspace_models as zoo
from helpers import difference, generator, randomise
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from weightspace_models import Net

from intertwine.groups.matrices import generic
from intertwine.weightspace import canonicalise, find_symmetries, match
from intertwine.weightspace.solve.equations import solutions


def conv(a: int, b: int, k: int = 1, groups: int = 1, eps: float = 1e-5) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(a, b, k, padding=k // 2, groups=groups, bias=False), nn.BatchNorm2d(b, eps)
    )


def star() -> nn.Module:
    """StarNet: the product of two maps of one input, around it a shortcut."""

    def forward(s, x):
        x = s.stem(x)
        y = s.before(x)
        y = s.g(s.f1(y).relu() * s.f2(y))
        return s.head((x + s.after(y)).relu().mean((2, 3)))

    parts = {"stem": conv(3, 6, 3), "before": conv(6, 6, 3, 6), "f1": nn.Conv2d(6, 9, 1)}
    parts |= {"f2": nn.Conv2d(6, 9, 1), "g": conv(9, 6), "after": conv(6, 6, 3, 6), "head": nn.Linear(6, 4)}
    return Net(forward, **parts)


def ghost() -> nn.Module:
    """RepGhost: a depthwise convolution and a batch norm of one value are added."""

    def forward(s, x):
        x = s.stem(x).relu()
        x = s.point(x)
        x = (s.cheap(x) + s.norm(x)).relu()
        return s.head(s.last(x).relu().mean((2, 3)))

    parts = {"stem": conv(3, 6, 3), "point": conv(6, 8), "cheap": conv(8, 8, 3, 8), "last": conv(8, 5)}
    return Net(forward, norm=nn.BatchNorm2d(8), head=nn.Linear(5, 4), **parts)


def squeeze() -> nn.Module:
    """MobileNetV3: squeeze and excitation, a large ε, Hardswish."""

    def forward(s, x):
        x = nn.functional.hardswish(s.stem(x))
        y = s.depth(s.up(x).relu()).relu()
        gate = nn.functional.hardsigmoid(s.out(s.enter(y.mean((2, 3), keepdim=True)).relu()))
        return s.head(nn.functional.hardswish(x + s.down(y * gate)).mean((2, 3)))

    parts = {"stem": conv(3, 6, 3, eps=1e-3), "up": conv(6, 10, eps=1e-3), "down": conv(10, 6, eps=1e-3)}
    parts |= {
        "depth": conv(10, 10, 3, 10, eps=1e-3),
        "enter": nn.Conv2d(10, 4, 1),
        "out": nn.Conv2d(4, 10, 1),
    }
    return Net(forward, head=nn.Linear(6, 4), **parts)


def separable() -> nn.Module:
    """Xception: depthwise then pointwise convolutions, ε of 1e-3 everywhere, small variances."""

    def forward(s, x):
        x = s.stem(x).relu()
        y = s.p2(s.d2(s.p1(s.d1(x)).relu()))
        return s.head((s.skip(x) + y).relu().mean((2, 3)))

    parts = {"stem": conv(3, 6, 3, eps=1e-3), "d1": nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False)}
    parts |= {"p1": conv(6, 7, eps=1e-3), "d2": nn.Conv2d(7, 7, 3, padding=1, groups=7, bias=False)}
    parts |= {"p2": conv(7, 8, eps=1e-3), "skip": conv(6, 8, eps=1e-3), "head": nn.Linear(8, 4)}
    return Net(forward, **parts)


def dual_path() -> nn.Module:
    """DPN: norms in front, grouped convolutions, one part of the channels added and the rest concatenated."""

    def block(s, k, x):
        old, dense = x[:, :6], x[:, 6:]
        y = x
        for name in ("a", "b", "c"):
            y = getattr(s, f"{name}{k}")(getattr(s, f"n{name}{k}")(y).relu())
        return torch.cat([old + y[:, :6], dense, y[:, 6:]], 1)

    def forward(s, x):
        x = block(s, 2, block(s, 1, s.stem(x)))
        return s.head(s.last(x).relu().mean((2, 3)))

    parts: dict[str, nn.Module] = {"stem": nn.Conv2d(3, 8, 3, bias=False)}
    for k, width in ((1, 8), (2, 10)):
        parts |= {f"na{k}": nn.BatchNorm2d(width, 1e-3), f"a{k}": nn.Conv2d(width, 8, 1, bias=False)}
        parts |= {
            f"nb{k}": nn.BatchNorm2d(8, 1e-3),
            f"b{k}": nn.Conv2d(8, 8, 3, groups=2, padding=1, bias=False),
        }
        parts |= {f"nc{k}": nn.BatchNorm2d(8, 1e-3), f"c{k}": nn.Conv2d(8, 8, 1, bias=False)}
    return Net(forward, last=nn.BatchNorm2d(12, 1e-3), head=nn.Linear(12, 4), **parts)


def nested() -> nn.Module:
    """FastViT: a grouped convolution whose input is a depthwise multiple of its channels, then attention."""

    def forward(s, x):
        x = s.stem(x)
        x = nn.functional.gelu(s.mix(nn.functional.gelu(s.wide(x))))
        return s.head(nn.functional.gelu(s.grouped(x)).mean((2, 3)))

    parts = {
        "stem": conv(3, 4, 3),
        "wide": conv(4, 16, 3, 4),
        "mix": conv(16, 16, 3, 8),
        "grouped": conv(16, 16, 3, 4),
    }
    return Net(forward, head=nn.Linear(16, 4), **parts)


def bottleneck() -> nn.Module:
    """MobileNetV2: between two convolutions without activation all of GL(n)."""
    layers = [conv(3, 6, 3), nn.ReLU6(), conv(6, 4), conv(4, 9), nn.ReLU6()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(9, 4))


def pooled() -> nn.Module:
    """LR-ASPP: a narrow stream that is read by wide weights, and a gate; no bias decides a matrix."""

    def forward(s, x):
        x = s.stem(x).relu()
        y = s.narrow(x)
        return s.head((s.one(y) * s.two(y).sigmoid()).mean((2, 3)))

    parts = {"stem": conv(3, 4, 3), "narrow": nn.Conv2d(4, 6, 1), "one": nn.Conv2d(6, 20, 1)}
    return Net(forward, two=nn.Conv2d(6, 20, 1), head=nn.Linear(20, 4), **parts)


def latents() -> nn.Module:
    """Perceiver: learnt queries attend to the input, through layer norms."""

    def forward(s, x):
        x = x.flatten(2).mT
        scores = s.q(s.norm1(s.latents)) @ s.k(x).mT / 6**0.5
        y = s.latents + scores.softmax(-1) @ s.v(x)
        return s.head((y + s.down(nn.functional.gelu(s.up(s.norm2(y))))).mean(1))

    parts = {"q": nn.Linear(8, 6), "k": nn.Linear(3, 6), "v": nn.Linear(3, 8), "up": nn.Linear(8, 12)}
    parts |= {"norm1": nn.LayerNorm(8), "norm2": nn.LayerNorm(8), "down": nn.Linear(12, 8)}
    return Net(forward, latents=nn.Parameter(torch.randn(5, 8)), head=nn.Linear(8, 4), **parts)


def pyramid() -> nn.Module:
    """PyramidNet: a shortcut without weights, padded by one channel, which is a space of one unit."""

    def forward(s, x):
        x = s.stem(x).relu()
        return s.head((s.conv(x) + nn.functional.pad(x, (0, 0, 0, 0, 0, 1))).relu().mean((2, 3)))

    return Net(forward, stem=conv(3, 5, 3), conv=conv(5, 6, 3), head=nn.Linear(6, 4))


def one_left_out() -> nn.Module:
    """A unit that nothing reads."""
    parts = {"one": nn.Conv2d(3, 5, 3), "two": nn.Linear(4, 4)}
    return Net(lambda s, x: s.two(s.one(x).relu().mean((2, 3))[:, :-1]), **parts)


HAND = {f.__name__: f for f in (star, ghost, squeeze, separable, dual_path, nested, bottleneck, pooled)}
HAND |= {f.__name__: f for f in (latents, pyramid, one_left_out)}
THEIRS = ["mobilenet_v3_small", "mobilenet_v2", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_y_400mf"]
THEIRS += ["efficientnet_b0", "mnasnet0_5", "googlenet", "resnet18", "resnet50", "convnext_tiny", "vit_b_16"]
PICTURE = torch.randn(1, 3, 32, 32, generator=generator(6), dtype=torch.float64)


def one_normal_form(model: nn.Module, inputs: torch.Tensor, seeds=range(2)):
    space = find_symmetries(model, inputs, check=False)
    expected = canonicalise(space, model).model
    torch.testing.assert_close(expected(inputs), model(inputs), rtol=1e-7, atol=1e-8)
    for seed in seeds:
        moved = space.act(model, space.sample(generator(seed)))
        assert difference(canonicalise(space, moved).model, expected) < 1e-6
    assert difference(canonicalise(space, expected).model, expected) < 1e-6
    return space


@pytest.mark.parametrize("name", HAND)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_networks_written_by_hand_have_one_normal_form(name, seed):
    torch.manual_seed(seed)
    model = randomise(HAND[name](), generator(seed))
    space = one_normal_form(model, PICTURE[..., :8, :8])
    moved = space.act(model, space.sample(generator(3)))
    assert space.spaces and difference(match(space, model, moved).model, model) < 1e-6


def attention() -> nn.Module:
    def forward(s, x):
        q, k, v = (part(x).unflatten(2, (2, 3)).transpose(1, 2) for part in (s.q, s.k, s.v))
        return s.o(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))

    parts = {name: nn.Linear(4, 6) for name in "qkv"}
    return Net(forward, **parts, o=nn.Linear(6, 5))


MIXED = {
    "O(n)": lambda: nn.Sequential(nn.Linear(4, 3), nn.RMSNorm(3, elementwise_affine=False), nn.Linear(3, 5)),
    "O(n) after a gain": lambda: nn.Sequential(nn.Linear(4, 3), nn.RMSNorm(3), nn.Linear(3, 5)),
    "GL(n)": lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 5)),
    "GL(n) after a gain": lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 5)),
    "GL(n) of heads": attention,
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("pruned", [slice(1), slice(1, 2), slice(0, None, 2)])
def test_zeros_of_a_pruned_network_decide_nothing_where_matrices_mix_units(name, pruned):
    model = randomise(MIXED[name](), generator(0)).eval()
    gains = {each.weight for each in model.modules() if isinstance(each, nn.RMSNorm | nn.BatchNorm1d)}
    weights = [x for x in model.parameters() if x not in gains]
    with torch.no_grad():
        for weight in weights[pruned]:
            weight[1] = 0
    x = torch.randn(9, 4, generator=generator(5), dtype=torch.float64)
    one_normal_form(model, x[None] if name == "GL(n) of heads" else x)


@pytest.mark.slow
@pytest.mark.parametrize("name", THEIRS)
def test_networks_of_torchvision_have_one_normal_form(name):
    model = randomise(zoo.slim(name), generator(0))
    space = one_normal_form(model, PICTURE, seeds=[0])
    assert zoo.orbit_error(space, model, [1]) < 1e-6


@given(st.lists(st.sets(st.integers(0, 4)), max_size=6), st.integers(0, 2**20), st.sampled_from([0, 2]))
def test_elimination_finds_unknowns_with_which_all_consistent_conditions_hold(sets, seed, modulus):
    # signs over the field of two elements, logarithms over the rational numbers
    numbers = torch.randint(0, 2 if modulus else 9, (6,), generator=generator(seed)).tolist()
    conditions = [{k: Fraction(1 if modulus else k + 1) for k in each} for each in sets]

    def values(x):
        sums = (sum(c * x[k] for k, c in row.items()) for row in conditions)
        return [each % modulus if modulus else each for each in sums]

    wanted = values(numbers)
    found = solutions(conditions, 5, modulus)
    x = [sum(c * wanted[i] for i, c in row.items() if i is not None) for row in found]
    assert values(x) == wanted
    determined = [None not in row for row in found]
    assert all(y == z for y, z, known in zip(x, numbers, determined, strict=False) if known and not modulus)


def widened(activation: type[nn.Module], dtype: torch.dtype, seed: int, *, alike: int = 0) -> nn.Module:
    """A perceptron in which this many further units of the first layer have the rows of unit 0."""
    torch.manual_seed(seed)
    first = [nn.Linear(6, 8), activation(), nn.Linear(8, 8), activation()]
    model = nn.Sequential(*first, nn.Linear(8, 3)).to(dtype).eval()
    with torch.no_grad():
        for x in model[0].parameters():
            x[1 : 1 + alike] = x[0]
    return model


PRECISIONS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.1}
"""Dtypes, and how close two copies of one network come in them."""


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.GELU])
def test_in_either_precision_copies_have_one_form_or_the_space_with_equal_rows_is_named(activation, dtype):
    for alike in (0, 1):
        model = widened(activation, dtype, alike, alike=alike)
        space = find_symmetries(model, torch.zeros(1, 6, dtype=dtype))
        copies = [space.act(model, space.sample(generator(seed))) for seed in (1, 2, 3)]
        forms = [canonicalise(space, each) for each in (model, *copies)]
        assert {form.undetermined for form in forms} == ({("1",)} if alike else {()})
        for form in forms if not alike else ():
            assert difference(form.model, forms[0].model) < PRECISIONS[dtype]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])
def test_match_names_a_space_with_equal_rows_whichever_copy_is_moved(activation, dtype):
    for alike in (0, 1):
        model = widened(activation, dtype, 0, alike=alike)
        space = find_symmetries(model, torch.zeros(1, 6, dtype=dtype))
        moved = space.act(model, space.sample(generator(1), scale=0.5))
        for one, other in ((model, moved), (moved, model)):
            found = match(space, one, other)
            assert found.undetermined == (("1",) if alike else ())
            assert alike or difference(found.model, one) < PRECISIONS[dtype]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_an_order_or_a_sign_that_only_rounding_decides_is_left_open(dtype):
    weights = generic(6, 1)[:, 0]
    across = torch.randn(6, generator=generator(0), dtype=torch.float64)
    across -= across @ weights / weights.square().sum() * weights  # what the sum of a row does not see
    for activation, number in ((nn.Tanh, 0.0), (nn.GELU, 1.0)):
        model = widened(activation, dtype, 0)
        with torch.no_grad():
            model[0].weight[1] = number * model[0].weight[0] + across
            model[0].bias[1] = number * model[0].bias[0]
        space = find_symmetries(model, torch.zeros(1, 6, dtype=dtype))
        assert canonicalise(space, model).undetermined == ("1", "3")  # whose columns are those units
        assert match(space, model, space.act(model, space.sample(generator(0)))).undetermined == ()


def test_in_float32_random_rows_seldom_tie():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 256), nn.GELU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4))
    space, left_open = find_symmetries(model.eval(), torch.zeros(1, 16)), 0
    for _ in range(10):
        for x in model.parameters():
            nn.init.normal_(x)
        left_open += len(canonicalise(space, model).undetermined)
    assert left_open <= 2  # of 20 spaces; one in a hundred is expected
