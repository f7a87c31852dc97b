"""Normal forms and matchings: models in one orbit become equal, and the element between them is recovered."""

import copy
from functools import cache
from itertools import permutations, product

import pytest
import torch
import weightspace_models as zoo
from helpers import difference, generator, randomise
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.weightspace import canonicalise, find_symmetries, match, relative_error
from intertwine_book import models

TOKENS = torch.tensor([[1, 4, 0, 10, 3], [2, 2, 7, 5, 6]])
IMAGES = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
PICTURE = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
GELU = {"activation": "gelu"}


def vgg(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    layers = []
    for before, channels in ((3, 8), (8, 12), (12, 12)):
        layers += [
            nn.Conv2d(before, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(12, 10), nn.ReLU(), nn.Linear(10, 4))


NETWORKS = {
    "resnet20": (lambda: models.resnet20(4), IMAGES),
    "vgg": (vgg, IMAGES),
    "abs": (lambda: models.myrtle(3, activation="abs"), IMAGES),
    "tied gpt": (lambda: zoo.GPT(tied=True), TOKENS),
    "gpt": (lambda: zoo.GPT(tied=False), TOKENS),
    "llama": (lambda: zoo.Llama(words=20), TOKENS),
    "qwen": (lambda: zoo.Llama(words=20, bias=True), TOKENS),
    "layer scale": (lambda: zoo.GPT(tied=False, scaled=True), TOKENS),
    "latents": (zoo.Latents, TOKENS),
    "vision transformer": (lambda: zoo.slim("vit_b_16"), PICTURE),
    "shifted windows": (lambda: zoo.slim("swin_t"), PICTURE),
    "densenet": (lambda: zoo.slim("densenet121"), PICTURE),
}


@cache
def built(name: str):
    build, inputs = NETWORKS[name]
    model = randomise(build(), generator())
    return model, inputs, find_symmetries(model, inputs, check=False)


@pytest.mark.parametrize("name", NETWORKS)
def test_models_in_one_orbit_have_one_normal_form(name):
    model, inputs, space = built(name)
    expected, _, undetermined = canonicalise(space, model)
    assert undetermined == ()
    moved = canonicalise(space, space.act(model, space.sample(generator(1)))).model
    assert difference(moved, expected) < 1e-6
    torch.testing.assert_close(expected(inputs), model(inputs), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_planted_element_is_recovered(name):
    model, _, space = built(name)
    planted = space.sample(generator(2))
    other = space.act(model, space.inverse(planted))
    _, found, undetermined = match(space, model, other)
    assert undetermined == ()
    for k, move in planted.items():
        assert torch.equal(found[k].order, move.order)
        torch.testing.assert_close(found[k].log, move.log, rtol=0, atol=1e-6)
        assert torch.equal(found[k].sign, move.sign)
        if move.mixed is not None:
            torch.testing.assert_close(found[k].mixed, move.mixed, rtol=1e-6, atol=1e-6)


def entries(model: nn.Module) -> list[torch.Tensor]:
    """Of each tensor, sorted."""
    return [x.flatten().sort().values for x in model.state_dict().values()]


@pytest.mark.parametrize("name", ["resnet20", "vgg", "gpt", "llama"])
def test_a_planted_permutation_is_recovered_where_permutations_alone_are_asked_for(name):
    model, inputs, _ = built(name)
    space = find_symmetries(model, inputs, group="permutation")
    assert space.dimension == 0
    planted = space.sample(generator(2))
    other = space.act(model, space.inverse(planted))
    assert all(map(torch.equal, entries(other), entries(model)))  # to the last bit: gains move along
    torch.testing.assert_close(other(inputs), model(inputs), rtol=1e-8, atol=1e-9)
    _, found, undetermined = match(space, model, other)
    assert undetermined == ()
    for k, move in planted.items():
        assert torch.equal(found[k].order, move.order)
        assert move.log.numel() == move.sign.numel() == 0 and move.mixed is None


@pytest.mark.parametrize("name", ["resnet20", "vgg", "gpt", "llama"])
def test_a_planted_scale_is_not_used_where_permutations_alone_are_asked_for(name):
    model, inputs, whole = built(name)
    planted = {
        k: move._replace(log=0.1 * torch.randn(move.log.shape, generator=generator(k)).double())
        for k, move in enumerate(whole.identity().values())
    }
    other = whole.act(model, planted)
    assert difference(other, model) > 0.1
    space = find_symmetries(model, inputs, group="permutation")
    moved = match(space, model, other).model
    assert difference(moved, other) == 0  # what is left is the scale: the units are in their places
    assert difference(match(whole, model, other).model, model) < 1e-6


@pytest.mark.parametrize("name", ["qwen", "layer scale"])
def test_heads_are_recovered_though_their_biases_are_known_before_their_weights(name):
    model, _, space = built(name)
    for seed in range(4):  # one order in two or in six is right by chance
        other = space.act(model, space.sample(generator(seed)))
        assert difference(match(space, model, other).model, model) < 1e-6


@pytest.mark.parametrize("name", ["resnet20", "vgg"])
def test_activations_recover_a_planted_permutation_too(name):
    model, inputs, space = built(name)
    planted = space.sample(generator(3))
    found = match(space, model, space.act(model, space.inverse(planted)), inputs=inputs).element
    for k, move in planted.items():
        assert torch.equal(found[k].order, move.order)


class Places(nn.Module):
    """Tokens mixed between two transposes, a gain that is made of weights, and heads cut of one layer."""

    def __init__(self):
        super().__init__()
        self.enter, self.norm, self.qkv = nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 18)
        self.up, self.down, self.out = nn.Linear(5, 7), nn.Linear(7, 5), nn.Linear(6, 2)
        self.gain = nn.Parameter(torch.randn(6))

    def forward(self, x):
        x = self.enter(x) * nn.functional.softplus(self.gain)
        x = x + self.down(nn.functional.gelu(self.up(self.norm(x).mT))).mT
        q, k, v = self.qkv(x).unflatten(-1, (2, 9)).transpose(1, 2).chunk(3, -1)
        return self.out(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))


def far(one: nn.Module, other: nn.Module) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return sum(float((x - y).detach().square().sum()) for x, y in pairs) ** 0.5


def attention(s: zoo.Net, x: torch.Tensor) -> torch.Tensor:
    q, k, v = (f(x).unflatten(-1, (2, 4)).transpose(1, 2) for f in (s.q, s.k, s.v))
    return s.o((torch.softmax(q @ k.mT, -1) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("kind", ["linear", "attention"])
def test_matrices_bring_no_pair_farther_apart_and_are_exact_in_one_orbit(kind):
    def net() -> nn.Module:
        if kind == "linear":
            return nn.Sequential(nn.Linear(8, 4, bias=False), nn.Linear(4, 8, bias=False)).double().eval()
        return zoo.Net(attention, **{k: nn.Linear(8, 8, bias=False) for k in "qkvo"}).double().eval()

    x = torch.randn(3, 5, 8).double()
    for seed in range(5):
        torch.manual_seed(seed)
        a, b = net(), net()
        space = find_symmetries(a, x)
        moved = space.act(a, space.sample(generator(seed)))
        assert far(a, match(space, a, moved).model) < 1e-8 * far(a, moved)
        for parameter in moved.parameters():
            parameter.data += 0.3 * parameter.std() * torch.randn_like(parameter)
        for other in (b, moved):
            found = match(space, a, other).model
            assert far(a, found) < far(a, other)
            assert relative_error(found(x), other(x)) < 1e-9


@pytest.mark.parametrize("group", [None, "permutation"])
def test_activations_at_places_that_move_and_values_of_weights_say_nothing_of_units(group):
    torch.manual_seed(0)
    model, x = Places().double().eval(), torch.randn(100, 5, 4, dtype=torch.float64)
    space = find_symmetries(model, x, group=group)
    assert {"up.weight", "norm"} <= {name for each in space.spaces for name in (each.name, *each.names)}
    for seed in range(3):
        other = space.act(model, space.sample(generator(seed)))
        found = match(space, model, other, inputs=x)
        assert found.undetermined == () and difference(found.model, model) < 1e-6


def test_matching_brings_independent_models_closer_and_keeps_their_function():
    model, inputs, space = built("vgg")
    other = randomise(vgg(7), generator(7))
    moved = match(space, model, other).model
    torch.testing.assert_close(moved(inputs), other(inputs), rtol=1e-8, atol=1e-9)

    def distance(x: nn.Module, y: nn.Module) -> float:
        return sum(
            (p - q).square().sum().item()
            for p, q in zip(x.parameters(), y.parameters(), strict=True)
            if p.ndim > 1
        )

    assert distance(moved, model) < distance(other, model)


@given(st.integers(0, 2**20), st.sampled_from([nn.Tanh, nn.GELU]))
@settings(max_examples=6, deadline=None)
def test_one_hidden_layer_is_matched_by_the_nearest_of_all_elements(seed, activation):
    draw, x = generator(seed), torch.zeros(1, 2, dtype=torch.float64)
    one, other = (
        randomise(nn.Sequential(nn.Linear(2, 3), activation(), nn.Linear(3, 2)), draw) for _ in range(2)
    )
    for parameter in (*one.parameters(), *other.parameters()):
        nn.init.normal_(parameter, generator=draw)
    space = find_symmetries(one, x)

    def distance(element) -> float:
        pairs = zip(one.parameters(), space.act(other, element).parameters(), strict=True)
        return sum((p - q).square().sum().item() for p, q in pairs)

    signs = product([False, True], repeat=3 * space.spaces[0].signs)
    elements = [
        {
            "1": space.identity()["1"]._replace(
                order=torch.tensor([order]), sign=torch.tensor(s).view(-1, 1, 3)
            )
        }
        for s in signs
        for order in permutations(range(3))
    ]
    nearest = min(map(distance, elements))
    assert distance(match(space, one, other).element) == pytest.approx(nearest, rel=1e-9)


def encoder(inputs: int, width: int, depth: int, **options) -> nn.Module:
    options = {"nhead": 2, "dim_feedforward": 16, "batch_first": True, "norm_first": True} | options
    layers = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(width, **options), depth, enable_nested_tensor=False
    )
    return nn.Sequential(nn.Linear(inputs, width), layers, nn.Linear(width, 2)).double().eval()


@pytest.mark.parametrize(
    "inputs, depth, options", [(3, 1, {}), (3, 2, GELU), (3, 1, {"nhead": 1}), (16, 1, {})]
)
def test_a_transformer_with_default_weights_is_recovered_from_few_inputs(inputs, depth, options):
    # seven rows of the stream are known at first: enough for an orthogonal 8×8 matrix with Q1 = ±1
    model = encoder(inputs, 8, depth, **options)
    x = torch.randn(2, 5, inputs, generator=generator(), dtype=torch.float64)
    space = find_symmetries(model, x, check=False)
    assert space.spaces[0].group == "O(8), Q1 = ±1"
    form = canonicalise(space, model).model
    for seed in range(2):
        other = space.act(model, space.sample(generator(seed)))
        assert difference(match(space, model, other).model, model) < 1e-9
        assert difference(canonicalise(space, other).model, form) < 1e-6


def test_units_of_a_near_model_keep_their_order_though_a_matrix_is_open():
    # seven rows leave the stream's 16×16 matrix open; by biases alone noise would reorder the units
    for seed in range(3):
        torch.manual_seed(seed)
        model = encoder(3, 16, 1, **GELU)
        near = copy.deepcopy(model)
        with torch.no_grad():
            for p in near.parameters():
                p += 0.1 * torch.randn_like(p)
        space = find_symmetries(model, torch.zeros(1, 5, 3, dtype=torch.float64), check=False)
        for name, move in match(space, model, near).element.items():
            assert torch.equal(move.order, space.identity()[name].order)


class LowRank(nn.Module):
    """A layer, and beside it a product of two matrices, as LoRA adds."""

    def __init__(self, zeros: str):
        super().__init__()
        self.w, self.out = nn.Linear(3, 8), nn.Linear(8, 2)
        self.A, self.B = nn.Linear(3, 2, bias=False), nn.Linear(2, 8, bias=False)
        for name in zeros:
            nn.init.zeros_(getattr(self, name).weight)

    def forward(self, x):
        return self.out((self.w(x) + self.B(self.A(x))).tanh())


@pytest.mark.parametrize("zeros, undetermined", [("", ()), ("B", ()), ("A", ()), ("AB", ("A",))])
def test_factors_of_zeros_are_left_where_the_other_one_does_not_determine_them(zeros, undetermined):
    model = LowRank(zeros).double().eval()
    space = find_symmetries(model, torch.zeros(1, 3, dtype=torch.float64))
    other = space.act(model, space.sample(generator(2)))
    found, forms = match(space, model, other), [canonicalise(space, each) for each in (model, other)]
    assert {found.undetermined, *(form.undetermined for form in forms)} == {undetermined}
    assert difference(found.model, model) < 1e-9
    assert difference(forms[0].model, forms[1].model) < 1e-9


def test_a_match_says_what_its_weights_leave_open():
    model = encoder(3, 16, 1)  # seven rows for the stream, which all other weights read or write
    space = find_symmetries(model, torch.zeros(1, 5, 3, dtype=torch.float64))
    other = space.act(model, space.sample(generator(2)))
    for found in (match(space, model, other), canonicalise(space, model)):
        assert found.undetermined == tuple(hidden.name for hidden in space.spaces)


class Gained(nn.Module):
    """A gain and a shift of zeros; units before and behind them have scalars of their own."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(4, 6), nn.Linear(4, 6))
        self.gain, self.shift = nn.Parameter(torch.rand(4) + 0.5), nn.Parameter(torch.zeros(4))
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        h = self.a(x)
        return self.out((self.c(self.gain * h + self.shift) + self.d(h * self.b(x))).tanh())


def test_shifts_of_zeros_say_nothing_of_signs():
    model = Gained().double().eval()
    space = find_symmetries(model, torch.zeros(1, 3, dtype=torch.float64))
    assert sorted(hidden.group for hidden in space.spaces) == ["Σ_4 ⋉ ((R^*)^3)^4", "Σ_6 ⋉ ({±1})^6"]
    for seed in range(3):
        found = match(space, model, space.act(model, space.sample(generator(seed))), sweeps=0)
        assert found.undetermined == () and difference(found.model, model) < 1e-9


def alive(model):
    pass


def dead(model):
    for x in (*model[2].parameters(), model[4].weight.mT):
        x[0] = 0


def unwritten(model):  # the weights that read this unit tell how long it is
    for x in model[2].parameters():
        x[0] = 0


def twins(model):  # of which neither is the first; the next layer is known by what leaves it
    for x in model[0].parameters():
        x[0] = x[1]


@pytest.mark.parametrize("change, open_", [(alive, ()), (unwritten, ()), (dead, ("3",)), (twins, ("1",))])
def test_units_of_zeros_and_equal_units_are_open(change, open_):
    layers = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)
    model = randomise(nn.Sequential(*layers), generator())
    with torch.no_grad():
        change(model)
    space = find_symmetries(model, torch.zeros(1, 3, dtype=torch.float64))
    assert match(space, model, model).undetermined == canonicalise(space, model).undetermined == open_


class WideHeads(nn.Module):
    """Attention behind a layer norm, with heads as wide as the stream, which span all of it."""

    def __init__(self, width: int = 6, heads: int = 3):
        super().__init__()
        self.heads, self.enter = heads, nn.Linear(16, width)
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * heads * width, bias=False)
        self.back, self.out = nn.Linear(heads * width, width), nn.Linear(width, 2)

    def forward(self, x):
        h = self.enter(x)
        q, k, v = self.qkv(self.norm(h)).unflatten(-1, (3, self.heads, -1)).transpose(1, -2).unbind(2)
        weights = (q @ k.mT).softmax(-1)
        return self.out(h + self.back((weights @ v).transpose(1, 2).flatten(2)))


def test_heads_as_wide_as_the_stream_are_told_apart_by_products_of_their_matrices():
    torch.manual_seed(0)
    model = WideHeads().double().eval()
    space = find_symmetries(model, torch.randn(2, 5, 16, dtype=torch.float64))
    assert sum(hidden.group == "GL(6) for each of 3" for hidden in space.spaces) == 2
    for seed in range(3):
        found = match(space, model, space.act(model, space.sample(generator(seed))))
        assert found.undetermined == () and difference(found.model, model) < 1e-9


class Products(nn.Module):
    """A factor exp(⟨q, k⟩), as of differential attention: each unit has a single number on either side."""

    def __init__(self):
        super().__init__()
        self.q, self.k = (nn.Parameter(torch.randn(6)) for _ in range(2))
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        return self.out(x) * torch.exp(torch.sum(self.q * self.k))


def test_units_with_one_number_on_either_side_are_told_apart_by_their_product():
    torch.manual_seed(0)
    model = Products().double().eval()
    space = find_symmetries(model, torch.randn(2, 3, dtype=torch.float64))
    for seed in range(3):
        found = match(space, model, space.act(model, space.sample(generator(seed))))
        assert found.undetermined == () and difference(found.model, model) < 1e-9
