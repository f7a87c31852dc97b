"""Symmetries that add: biases that others take over, and means that layer norms subtract."""

import copy
from contextlib import nullcontext

import pytest
import torch
import weightspace_models as zoo
from helpers import generator
from torch import nn
from torch.func import functional_call, jacrev

from intertwine.weightspace import centre, find_symmetries, fold_biases, relative_error


class Attention(nn.Module):
    """A layer, a layer norm, two heads of attention, and an output, all with biases."""

    def __init__(self):
        super().__init__()
        self.enter, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)
        self.q, self.k, self.v = (nn.Linear(6, 8) for _ in "qkv")
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        x = self.norm(self.enter(x))
        q, k, v = (f(x).unflatten(-1, (2, 4)).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.out(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))


class Sums(nn.Module):
    """Two normed branches that are added, as in a residual block, and a recurrent layer behind them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 5), nn.Linear(4, 5)
        self.one, self.two, self.rnn = nn.BatchNorm1d(5), nn.BatchNorm1d(5), nn.LSTM(5, 3)
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.rnn((self.one(self.a(x)) + self.two(self.b(x))).tanh())[0])


class Imaginary(nn.Module):
    """A bias that only the imaginary part of the output has."""

    def __init__(self):
        super().__init__()
        self.value, self.out, self.real = nn.Linear(3, 4), nn.Linear(4, 2, bias=False), nn.Linear(3, 2)

    def forward(self, x):
        return torch.complex(self.real(x), self.out(self.value(x)))


def test_a_bias_in_an_imaginary_part_is_not_idle():
    model, x = Imaginary().double().eval(), torch.randn(6, 3, generator=generator(), dtype=torch.float64)
    found = fold_biases(find_symmetries(model, x), model, x)
    assert relative_error(found.model(x), model(x)) < 1e-9 and not found.folded


class Stream(nn.Module):
    """A residual stream that only layer norms read, or with `direct`, the output, too."""

    def __init__(self, norm, direct=False):
        super().__init__()
        self.enter, self.direct = nn.Linear(3, 6), direct
        self.norms = nn.ModuleList(norm(6) for _ in "123")
        self.up, self.down = (nn.ModuleList(nn.Linear(*n) for _ in "12") for n in ((6, 7), (7, 6)))
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        x = self.enter(x)
        for norm, up, down in zip(self.norms, self.up, self.down, strict=False):
            x = x + down(up(norm(x)).tanh())
        return self.last(x if self.direct else self.norms[-1](x))


CASES = {
    "attention": (Attention, (5, 4, 6), {"norm.bias", "k.bias", "v.bias"}, 6 + 8 + 8),
    "branches": (Sums, (20, 4), {"a.bias", "b.bias", "one.bias", "rnn.bias_ih_l0"}, 3 * 5 + 4 * 3),
    "convolutions with padding": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 3, padding=1)),
        (2, 3, 5, 5),
        set(),
        0,
    ),
    "convolutions without it": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 3)),
        (2, 3, 6, 6),
        {"0.bias"},
        4,
    ),
    "a bias before an instance norm": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1)),
        (2, 3, 6, 6),
        {"0.bias"},
        4,
    ),
    "a bias that a ReLU reads": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)),
        (7, 3),
        set(),
        0,
    ),
}


def built(make, *shape):
    torch.manual_seed(0)
    model = make().double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.3 * torch.randn(p.shape, generator=generator(p.numel()), dtype=p.dtype)
    return model, torch.randn(shape, generator=generator(1), dtype=torch.float64)


@pytest.mark.parametrize("name", CASES)
def test_biases_that_others_take_over_become_0_and_are_as_many_as_their_jacobian_lacks_in_rank(name):
    make, shape, folded, dimension = CASES[name]
    model, x = built(make, *shape)
    space = find_symmetries(model, x)
    found, means = fold_biases(space, model, x), centre(space, model, x)
    assert {*found.folded} == folded and found.dimension == dimension
    assert all(not found.model.get_parameter(each).any() for each in folded)
    assert relative_error(found.model(2 * x + 1), model(2 * x + 1)) < 1e-12
    biases = {k: p.detach() for k, p in model.named_parameters() if "bias" in k}
    J = jacrev(lambda b: functional_call(model, b, x).flatten())(biases)
    J = torch.cat([each.flatten(1) for each in J.values()], 1)
    assert J.shape[1] - torch.linalg.matrix_rank(J, rtol=1e-10) == dimension + sum(
        k in biases for k in means.folded
    )


@pytest.mark.parametrize("tied", [False, True])
def test_a_language_model_has_the_translations_of_its_norms_keys_and_values(tied):
    model = built(lambda: zoo.GPT(tied=tied))[0]
    tokens = torch.tensor([[1, 4, 0, 10, 3], [2, 2, 7, 5, 6]])
    space = find_symmetries(model, tokens[:1])
    found = fold_biases(space, model, tokens[:1])
    width, blocks = 12, 2
    assert found.dimension == blocks * 4 * width and "norm.bias" not in found.folded  # the head has no bias
    assert relative_error(found.model(tokens), model(tokens)) < 1e-12
    q, k, v = found.model.blocks[0].qkv.bias.chunk(3)
    assert q.any() and not k.any() and not v.any()


def test_behind_centred_weights_an_rms_norm_computes_what_a_layer_norm_does():
    model, x = built(lambda: Stream(nn.LayerNorm), 9, 3)
    space = find_symmetries(model, x)
    found = centre(space, fold_biases(space, model, x).model, x)
    assert found.dimension == (3 + 1) + 2 * (7 + 1) and {*found.folded} == {
        f"{name}.{kind}" for name in ("enter", "down.0", "down.1") for kind in ("weight", "bias")
    }
    other = Stream(lambda n: nn.RMSNorm(n, eps=1e-5)).double().eval()
    other.load_state_dict({k: v for k, v in found.model.state_dict().items() if k in other.state_dict()})
    assert relative_error(other(x), model(x)) < 1e-12 > relative_error(found.model(x), model(x))


def test_a_stream_that_more_than_layer_norms_reads_is_not_centred():
    for options in ({"norm": nn.RMSNorm}, {"norm": nn.LayerNorm, "direct": True}):
        model, x = built(lambda options=options: Stream(**options), 9, 3)
        space = find_symmetries(model, x)
        layer_norms = pytest.warns(UserWarning, match="Not centred: enter .more than layer norms reads it")
        with layer_norms if "direct" in options else nullcontext():  # before RMS norms there is nothing to do
            assert centre(space, model, x).dimension == 0


def test_a_stream_of_tied_embeddings_is_not_centred_and_a_warning_says_so():
    model = built(lambda: zoo.GPT(tied=True))[0]
    tokens = torch.tensor([[1, 4, 0, 10, 3]])
    with pytest.warns(UserWarning, match="Not centred: words .words.weight writes .* as head.weight, reads"):
        assert centre(find_symmetries(model, tokens), model, tokens).dimension == 0


@pytest.mark.parametrize("verb", [fold_biases, centre])
def test_a_folded_model_is_a_copy_and_stays_one_while_it_is_trained(verb):
    model, x = built(Attention, 5, 4, 6)
    before = copy.deepcopy(model.state_dict())
    folded = verb(find_symmetries(model, x), model, x).model
    with torch.no_grad():
        for p in [*folded.parameters(), *folded.buffers()]:
            p += 1
    assert all(x.equal(before[name]) for name, x in model.state_dict().items())


def test_a_bias_that_noise_would_silence_stays():
    years = torch.linspace(1950, 2020, 71)[:, None]
    net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)).eval()
    net[0].weight.data = torch.tensor([[0.03], [0.05], [-0.04], [0.1]])
    net[0].bias.data = -1985 * net[0].weight.data[:, 0]
    assert not fold_biases(find_symmetries(net, years), net, years).folded


def test_no_bias_is_folded_through_an_activation_that_is_on_at_all_places_of_the_inputs():
    """The maximum over an image is positive for nearly all units; of a faint image it is not."""
    for seed in range(5):
        torch.manual_seed(seed)
        layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, 3)
        net, x = nn.Sequential(*layers).eval(), torch.randn(8, 1, 12, 12)
        found = fold_biases(find_symmetries(net, x), net, x)
        assert not found.folded and found.dimension == 0


class Slopes(nn.Module):
    """A leaky ReLU with a slope for each unit, written by hand."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.full((4,), 0.25))

    def forward(self, x):
        return torch.where(x > 0, x, self.slope * x)


@pytest.mark.parametrize("activation", [lambda: nn.PReLU(4), Slopes])
def test_slopes_of_units_that_are_positive_on_all_inputs_are_no_biases(activation):
    net = nn.Sequential(nn.Linear(3, 4), activation(), nn.Linear(4, 2)).eval()
    nn.init.constant_(net[0].bias, 9.0)
    x = torch.rand(8, 3, generator=generator(0))
    assert not fold_biases(find_symmetries(net, x), net, x).folded


@pytest.mark.parametrize("n", [0, 1])
def test_no_bias_is_folded_that_a_small_or_empty_batch_cannot_see(n):
    for seed in range(5):
        torch.manual_seed(seed)
        layers = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)
        net, x = nn.Sequential(*layers).eval(), torch.randn(1, 3)
        found = fold_biases(find_symmetries(net, x), net, x[:n])
        torch.testing.assert_close(found.model(x), net(x))
