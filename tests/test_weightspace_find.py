"""The symmetries of any network: moved weights keep the function, and the groups are those of theory."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
import weightspace_models as zoo
import yaml
from helpers import difference, generator, normal64, randomise
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from weightspace_models import Net

from intertwine.weightspace import equivalent, find_symmetries, relative_error, verify
from intertwine_book import models

HERE = Path(__file__).parent

THEORY = yaml.safe_load((HERE / "weightspace_groups.yml").read_text())
TORCHVISION = [name for name in THEORY if name not in ("gpt", "gpt_tied", "llama")]
IN_ALL = ("resnet18", "mobilenet_v3_small")  # the others are for make test-all
MATRIX = [name if name in IN_ALL else pytest.param(name, marks=pytest.mark.slow) for name in TORCHVISION]
TOLERANCE = 1e-9
TOKENS = torch.tensor([[1, 4, 0, 10, 3], [2, 2, 7, 5, 6]])


def image(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator(1), dtype=torch.float64)


def unchanged(model: nn.Module, inputs: torch.Tensor, trials: int = 2):
    """The symmetries of a randomised model, after checking that random elements keep its function."""
    model = randomise(model, generator())
    space, draw = find_symmetries(model, inputs, check=False), generator(2)
    with torch.no_grad():
        expected = model(inputs)
        assert expected.abs().max() > 0
        for _ in range(trials):
            assert relative_error(space.act(model, space.sample(draw))(inputs), expected) < TOLERANCE
    return model, space


@pytest.mark.parametrize("name", MATRIX)
def test_torchvision_networks_keep_their_function(name):
    unchanged(zoo.slim(name), image(1, 3, 32, 32))


@pytest.mark.parametrize("name", MATRIX)
def test_the_groups_of_torchvision_networks_are_those_of_theory(name):
    size = 224 if name == "vit_b_16" else 32
    space = find_symmetries(zoo.full(name), torch.zeros(1, 3, size, size), check=False)
    assert Counter(space.to_frame()["group"]) == {row["group"]: row["count"] for row in merged(THEORY[name])}


def merged(rows: list[dict]) -> list[dict]:
    total = Counter()
    for row in rows:
        total[row["group"]] += row["count"]
    return [{"group": group, "count": count} for group, count in total.items()]


def transformer(name: str) -> nn.Module:
    return zoo.Llama() if name == "llama" else zoo.GPT(tied=name == "gpt_tied")


@pytest.mark.parametrize("name", ["gpt", "gpt_tied", "llama"])
def test_transformers_keep_their_function_and_have_the_groups_of_theory(name):
    model, space = unchanged(transformer(name), TOKENS)
    assert Counter(space.to_frame()["group"]) == {row["group"]: row["count"] for row in merged(THEORY[name])}
    check_action(model, space, TOKENS)


@pytest.mark.parametrize(
    "build, shape",
    [
        (lambda: models.resnet20(4), (2, 3, 8, 8)),
        (lambda: models.resnet20(4, option="B", slope=0.1), (2, 3, 8, 8)),
        (lambda: models.myrtle(4, activation="abs"), (2, 3, 8, 8)),
        (lambda: models.tiny10(4), (2, 3, 27, 27)),
        (lambda: models.lenet(output_relu=False), (2, 1, 28, 28)),
    ],
)
def test_the_action_is_a_homomorphism_and_representations_move_as_it_says(build, shape):
    model, space = unchanged(build(), image(*shape))
    check_action(model, space, image(*shape))


def check_action(model: nn.Module, space, inputs: torch.Tensor) -> None:
    draw = generator(3)
    g, h = space.sample(draw), space.sample(draw)
    twice = space.act(space.act(model, h), g)
    assert difference(space.act(model, space.compose(g, h)), twice) < 1e-9
    assert difference(space.act(space.act(model, g), space.inverse(g)), model) < 1e-9
    assert difference(space.act(model, space.identity()), model) == 0
    found = verify(space, model, g, inputs)
    assert found.output < TOLERANCE
    assert (found.spaces["error"] < TOLERANCE).all()
    assert found.spaces["changed"].median() > 0.1


activations = [nn.ReLU(), nn.Tanh(), nn.GELU(), nn.LeakyReLU(-1.0), nn.Identity(), nn.PReLU(), nn.Softplus()]


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from(activations), st.booleans()), min_size=1, max_size=5
    ),
    st.integers(0, 2**20),
)
@settings(max_examples=8, deadline=None)
def test_perceptrons_of_any_shape(layers, seed):
    modules, before = [], 3
    for width, activation, norm in layers:
        modules += [nn.Linear(before, width), nn.BatchNorm1d(width) if norm else nn.Identity(), activation]
        before = width
    model = randomise(nn.Sequential(*modules, nn.Linear(before, 2)), generator(seed))
    x = image(4, 3)
    space = find_symmetries(model, x)
    moved = space.act(model, space.sample(generator(seed)))
    torch.testing.assert_close(moved(x), model(x), rtol=1e-7, atol=1e-9 * model(x).abs().max().item())


def conv(i, o, k=1, **options):
    return nn.Conv2d(i, o, k, **options)


CASES = {
    "an untied skip": (
        Net(
            lambda s, x: s.c(torch.relu(s.a(x) + s.b(x))),
            a=nn.Linear(5, 6),
            b=nn.Linear(5, 6),
            c=nn.Linear(6, 2),
        ),
        (3, 5),
        ["Σ_6 ⋉ (R_{>0})^6"],
    ),
    "a skip of the input": (
        Net(lambda s, x: s.c(torch.relu(s.a(x) + x)), a=nn.Linear(5, 5), c=nn.Linear(5, 2)),
        (3, 5),
        [],
    ),
    "a weight used twice": (
        Net(
            lambda s, x: s.c(torch.relu(s.b(torch.relu(s.b(torch.relu(s.a(x))))))),
            a=nn.Linear(5, 6),
            b=nn.Linear(6, 6),
            c=nn.Linear(6, 2),
        ),
        (3, 5),
        ["Σ_6 ⋉ (R_{>0})^6"],
    ),
    "squares": (
        Net(lambda s, x: s.c(s.a(x) ** 2 * s.b(x)), a=nn.Linear(5, 6), b=nn.Linear(5, 6), c=nn.Linear(6, 2)),
        (3, 5),
        ["Σ_6 ⋉ ((R^*)^2)^6"],
    ),
    "slopes by channel": (
        nn.Sequential(nn.Linear(5, 6), nn.PReLU(6), nn.Linear(6, 2)),
        (3, 5),
        ["Σ_6 ⋉ (R_{>0})^6"],
    ),
    "group norm": (
        nn.Sequential(conv(3, 6, 3), nn.GroupNorm(2, 6), nn.ReLU(), conv(6, 4)),
        (2, 3, 5, 5),
        ["Σ_2", "Σ_3 ⋉ (R_{>0})^3 for each of 2"],
    ),
    "instance norm": (
        nn.Sequential(conv(3, 6, 3), nn.InstanceNorm2d(6, affine=True), nn.ReLU(), conv(6, 4)),
        (2, 3, 5, 5),
        ["Σ_6 ⋉ (R^*)^6"],
    ),
    "batch norm without gain": (
        nn.Sequential(conv(3, 6, 3), nn.BatchNorm2d(6, affine=False), nn.ReLU(), conv(6, 4)),
        (2, 3, 5, 5),
        ["Σ_6"],
    ),
    "a transposed convolution": (
        nn.Sequential(conv(3, 6), nn.ReLU(), nn.ConvTranspose2d(6, 5, 2), nn.ReLU(), conv(5, 2)),
        (2, 3, 5, 5),
        ["Σ_5 ⋉ (R_{>0})^5", "Σ_6 ⋉ (R_{>0})^6"],
    ),
    "a depthwise convolution": (
        nn.Sequential(conv(3, 6), nn.Tanh(), conv(6, 6, 3, groups=6), nn.ReLU(), conv(6, 2)),
        (2, 3, 5, 5),
        ["Σ_6 ⋉ (R^*)^6"],
    ),
    "a depthwise convolution with two outputs a channel": (
        nn.Sequential(conv(3, 6), nn.GELU(), conv(6, 12, 3, groups=6), nn.ReLU(), conv(12, 2)),
        (2, 3, 5, 5),
        ["Σ_2 ⋉ (R_{>0})^2 for each of 6", "Σ_6"],
    ),
    "a depthwise convolution with two outputs a channel, in a fixed order": (
        Net(
            lambda s, x: s.c(torch.relu(s.b(s.a(x)).unflatten(1, (6, 2)).cumsum(2).flatten(1, 2))),
            a=conv(3, 6),
            b=conv(6, 12, 3, groups=6),
            c=conv(12, 2),
        ),
        (2, 3, 5, 5),
        ["Σ_6 ⋉ (R^* × R_{>0})^6"],
    ),
    "a part of the channels": (
        Net(lambda s, x: s.b(torch.relu(s.a(x))[:, :4]), a=nn.Linear(5, 6), b=nn.Linear(4, 2)),
        (3, 5),
        ["Σ_2 ⋉ (R_{>0})^2", "Σ_4 ⋉ (R_{>0})^4"],
    ),
    "blocks of two units times copies of one for three": (
        Net(
            lambda s, x: s.c(
                (s.a(x).unflatten(1, (3, 2)) * s.gain).flatten(1) * s.b(x).repeat_interleave(3, 1)
            ),
            a=nn.Linear(5, 6),
            b=nn.Linear(5, 2),
            gain=nn.Parameter(torch.randn(3, 1)),
            c=nn.Linear(6, 2),
        ),
        (3, 5),
        [],
    ),
    "copies for three plus copies for two": (
        Net(
            lambda s, x: s.c(x[:, :2].repeat_interleave(3, 1) + x[:, 2:].repeat_interleave(2, 1)),
            c=nn.Linear(6, 2),
        ),
        (3, 5),
        [],
    ),
    "a maximum of two branches": (
        Net(
            lambda s, x: s.c(torch.maximum(s.a(x), s.b(x))),
            a=nn.Linear(5, 6),
            b=nn.Linear(5, 6),
            c=nn.Linear(6, 2),
        ),
        (3, 5),
        ["Σ_6 ⋉ (R_{>0})^6"],
    ),
    "a low-rank pair": (
        nn.Sequential(nn.Linear(5, 2), nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 2)),
        (3, 5),
        ["GL(2)", "Σ_6 ⋉ (R_{>0})^6"],
    ),
    "a bottleneck behind batch norm": (
        nn.Sequential(conv(3, 4, 3), nn.BatchNorm2d(4), conv(4, 6), nn.ReLU(), conv(6, 2)),
        (2, 3, 5, 5),
        ["(R^*)^4", "GL(4)", "Σ_6 ⋉ (R_{>0})^6"],
    ),
    "a sum over units": (
        Net(lambda s, x: torch.relu(s.a(x)).sum(-1), a=nn.Linear(5, 6)),
        (3, 5),
        ["Σ_6"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_small_networks_have_the_groups_of_theory(name):
    model, shape, groups = CASES[name]
    model, space = unchanged(model, image(*shape))
    table = space.to_frame()
    assert sorted(table.loc[table["group"] != "frozen", "group"]) == sorted(groups)
    check_action_of(model, space)


def check_action_of(model: nn.Module, space) -> None:
    draw = generator(3)
    g, h = space.sample(draw), space.sample(draw)
    assert difference(space.act(model, space.compose(g, h)), space.act(space.act(model, h), g)) < 1e-9


FROZEN = {
    "cumsum": (lambda s, x: s.b(torch.relu(s.a(x)).cumsum(-1)), "cumsum"),
    "roll": (lambda s, x: s.b(torch.relu(s.a(x)).roll(1, -1)), "roll"),
    "softmax of a part": (lambda s, x: s.b(torch.fft.fft(s.a(x)).real), "fft"),
    "one unit": (lambda s, x: s.b(s.a(x)) + s.a(x)[:, :1], "broadcasting"),
    "sort": (lambda s, x: s.b(s.a(x).sort(-1).values), "sort"),
    "in place through a view": (lambda s, x: (lambda h: s.b((h[:, :3].relu_(), h)[1]))(s.a(x)), "in place"),
}


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_not_understood_freezes_and_says_why(name):
    forward, why = FROZEN[name]
    _, space = unchanged(Net(forward, a=nn.Linear(5, 6), b=nn.Linear(6, 2)), image(3, 5))
    assert why in str(space)


class Hidden(torch.autograd.Function):
    """Reverses its argument, unseen by tensor methods."""

    @staticmethod
    def forward(context, x):
        return x.flip(-1)

    @staticmethod
    def backward(context, gradient):
        return gradient.flip(-1)


def test_a_tensor_of_unknown_origin_freezes_all_before_it():
    forward = lambda s, x: s.b(Hidden.apply(torch.relu(s.a(x))))  # noqa: E731
    _, space = unchanged(Net(forward, a=nn.Linear(5, 6), b=nn.Linear(6, 2)), image(3, 5))
    assert space.dimension == 0 and space.components == 1


def test_one_wrong_tie_is_noticed():
    model = randomise(models.resnet20(4), generator())
    x = image(2, 3, 8, 8)
    space = find_symmetries(model, x)
    element = space.sample(generator())
    moved = space.act(model, element)
    with torch.no_grad():
        moved.block2.conv2.weight.copy_(model.block2.conv2.weight)
    assert relative_error(moved(x), model(x)) > 1e-3


def test_dimension_and_components_are_those_of_the_product():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Linear(3, 2)).eval()
    space = find_symmetries(model, torch.zeros(1, 3))
    assert space.dimension == 0 + 9
    assert space.components == 24 * 2**4 * 2


def test_a_space_of_thousands_of_units_prints_its_number_of_components():
    model = nn.Sequential(nn.Linear(2, 2000), nn.Tanh(), nn.Linear(2000, 2)).eval()
    space = find_symmetries(model, torch.zeros(1, 2))
    assert str(space).endswith("dimension 0, about 10^6337 components")
    assert "2000" in space.to_frame().to_html()


def test_a_float32_model_keeps_its_dtype():
    model = models.myrtle(4).eval()
    space = find_symmetries(model, torch.zeros(1, 3, 8, 8))
    moved = space.act(model, space.sample(generator(), scale=0.3))
    assert {p.dtype for p in moved.parameters()} == {torch.float32}
    x = torch.randn(2, 3, 8, 8, generator=generator())
    assert relative_error(moved(x), model(x)) < 1e-3


class MeanGate(nn.Module):
    """A gate by the mean over units: it keeps reflections that keep the mean, and not −1."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = self.a(x)
        return self.b(h * h.mean(-1, keepdim=True).sigmoid())


def test_a_gate_by_the_mean_is_no_layer_norm():
    net, x = MeanGate().double().eval(), normal64(50, 3)
    space = find_symmetries(net, x)
    assert [each.group for each in space.spaces] == ["Σ_4"]
    for seed in range(6):
        torch.testing.assert_close(space.act(net, space.sample(generator(seed)))(x), net(x))


def test_a_permutation_may_be_of_whole_numbers_and_no_tolerance_is_negative():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval(), torch.randn(5, 3)
    space = find_symmetries(model, x)
    swapped = space.act(model, {"1": torch.eye(4).long()[[1, 0, 3, 2]]})
    assert torch.equal(swapped[0].weight, model[0].weight[[1, 0, 3, 2]])
    with pytest.raises(ValueError, match=r"a tolerance of at least 0, was given -1\.0"):
        equivalent(model, model, x, tolerance=-1.0)


FIRST = """
import sys, torch
from intertwine.weightspace import find_symmetries
find_symmetries(torch.nn.Linear(2, 3).eval(), torch.zeros(1, 2))
sys.exit("torch._dynamo" in sys.modules)
"""


@pytest.mark.slow
def test_the_first_run_does_not_wait_for_torch_to_import_its_compiler():
    assert subprocess.run([sys.executable, "-c", FIRST]).returncode == 0
