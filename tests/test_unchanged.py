"""No public function changes a module or the images that it is given: they stay as they are, to the bit."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from helpers import generator, normal, sentence
from torch import nn

from intertwine import alignment, channels, features, genni, groups, shallow, similarity, stitching, training
from intertwine import weightspace as ws
from intertwine.data import Dataset
from intertwine.same_network import same_network

X = normal(12, 2, 4, 4)
DATA = Dataset.of(X, torch.arange(12) % 3)
ONCE = training.Recipe(epochs=1, batch_size=6, lr=0.1)


class Net(nn.Module):
    """Whatever has a state of its own in training mode, and a part that is frozen."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.conv1, self.norm1 = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.act1, self.conv2 = nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1)
            self.norm2, self.act2 = nn.InstanceNorm2d(4, affine=True, track_running_stats=True), nn.RReLU()
            self.drop, self.fc = nn.Dropout(), nn.utils.parametrizations.spectral_norm(nn.Linear(64, 3))
            for norm in (self.norm1, self.norm2):
                nn.init.uniform_(norm.running_mean)
                nn.init.uniform_(norm.running_var, 0.5, 1.5)
        self.conv1.weight.requires_grad_(False)

    def forward(self, x):
        x = self.act1(self.norm1(self.conv1(x)))
        return self.fc(self.drop(self.act2(self.norm2(self.conv2(x)))).flatten(1))


class Decoder(nn.Sequential):
    """Norms to fold, centre and rotate."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.RMSNorm(8), nn.Linear(8, 3))
        nn.init.uniform_(self[1].weight, 0.5, 1.5)
        nn.init.uniform_(self[3].weight, 0.5, 1.5)


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


def points(net: nn.Module) -> torch.Tensor:
    theta = genni.parameter_vector(net)
    return theta + 0.1 * normal(3, len(theta))


def problem(net: nn.Module) -> genni.Problem:
    return genni.Problem(net, net, X)


def drawn(space: ws.WeightSpace) -> Any:
    return space.sample(generator())


# by name: what is done with a network, another one, and its symmetries, if it is in evaluation mode
CONVOLUTIONS: dict[str, Callable[[nn.Module, nn.Module, ws.WeightSpace], object]] = {
    "find_symmetries": lambda a, b, s: ws.find_symmetries(a, X),
    "act": lambda a, b, s: s.act(a, drawn(s)),
    "prune": lambda a, b, s: ws.prune(s, a, {"act1": [0, 2]}, X),
    "match": lambda a, b, s: ws.match(s, a, b),
    "match by activations": lambda a, b, s: ws.match(s, a, b, inputs=X),
    "verify": lambda a, b, s: ws.verify(s, a, drawn(s), X),
    "equivalent": lambda a, b, s: ws.equivalent(a, b, X),
    "canonicalise": lambda a, b, s: ws.canonicalise(s, a),
    "imbalance": lambda a, b, s: ws.imbalance(s, a),
    "fold_biases": lambda a, b, s: ws.fold_biases(s, a, X),
    "same_network": lambda a, b, s: same_network(a, b, X),
    "genni outputs": lambda a, b, s: genni.outputs(a, points(a), X),
    "genni target": lambda a, b, s: problem(a).energy,
    "genni grid": lambda a, b, s: genni.grid_loss(problem(a), genni.plane(points(a)), (0, 1), 2),
    "genni loss": lambda a, b, s: genni.loss_at(problem(a), points(a)),
    "genni search": lambda a, b, s: genni.search(
        problem(a), 1, seed=0, starts=points(a), steps=1, accept=1e9
    ),
    "compare": lambda a, b, s: similarity.compare(a, b, ["act1", "act2"], X),
    "activations": lambda a, b, s: features.activations(a, ["act1"], X),
    "channels_first": lambda a, b, s: channels.channels_first(a, "act1", X[:1]),
    "evaluate": lambda a, b, s: training.evaluate(a, X, DATA.labels),
    "train": lambda a, b, s: training.train(a, DATA, ONCE, seed=0, device="cpu"),
    "split": lambda a, b, s: stitching.split(a, "act1"),
    "stitch": lambda a, b, s: stitching.stitch(a, b, at="act1", train=DATA, device="cpu").evaluate(DATA),
    "train a stitch": lambda a, b, s: stitching.stitch(
        a, b, at="act1", kind="low rank", rank=2, train=DATA, device="cpu", recipe="digits"
    ),
    "line": lambda a, b, s: stitching.line(a, b, DATA, DATA, [0.5]),
    "group": lambda a, b, s: groups.intertwiner_group(a.act1, 3),
    "statistics": lambda a, b, s: alignment.fit(*features.activations(a, ["conv1", "conv2"], X).values()),
}
LINEAR: dict[str, Callable[[nn.Module, nn.Module, ws.WeightSpace], object]] = {
    "fold": lambda a, b, s: ws.fold(s, a),
    "rotate": lambda a, b, s: ws.rotate(s, a, 0),
    "centre": lambda a, b, s: ws.centre(s, a, X[:, 0, 0]),
    "fold_biases": lambda a, b, s: ws.fold_biases(s, a, X[:, 0, 0]),
    "balance": lambda a, b, s: ws.balance(s, a),
    "starts": lambda a, b, s: genni.random_starts(a, 1, generator=generator()),
    "dimension": lambda a, b, s: genni.functional_dimension(a, points(a)[0], X[:, 0, 0]),
    "transform_outputs": lambda a, b, s: ws.transform_outputs(s, a, {"0": 2 * torch.eye(8)}),
}
SHALLOW: dict[str, Callable[[Any], object]] = {
    name: getattr(shallow, name)
    for name in ("canonical_form", "is_affine", "compress", "is_generic", "hidden_symmetries", "stabilizer")
}


def state(net: nn.Module) -> list[Any]:
    """All that a module holds, except for numbers a copy of its tensors."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_state_dict_hooks")
    found: list[Any] = []
    for name, module in net.named_modules():
        own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        tensors = [
            (k, x.dtype, x.requires_grad, x.grad, x.detach().clone().numpy().tobytes()) for k, x in own
        ]
        plain = {k: x for k, x in vars(module).items() if isinstance(x, int | float | str | tuple)}
        found.append((name, tensors, plain, [len(getattr(module, hook)) for hook in hooks]))
    return found


def untouched(call: Callable[..., object], *nets: nn.Module) -> bool:
    """Whether these modules are as before the call; a refusal in one sentence is an answer as well."""
    before = [*map(state, nets)]
    with torch.random.fork_rng():
        try:
            call()
            answered = True
        except ValueError:
            answered = False
    assert [*map(state, nets)] == before
    return answered


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", [*CONVOLUTIONS])
def test_networks_with_running_statistics_stay_as_they_are(name, training):
    one, other = Net(0), Net(1)
    space = ws.find_symmetries(one.eval(), X)
    for net in (one.train(training), other.train(training)):
        net.norm1.train(not training)  # a mode of its own
        if not training:
            net.eval()
    assert untouched(partial(CONVOLUTIONS[name], one, other, space), one, other) or training


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", [*LINEAR])
def test_networks_with_norms_of_units_stay_as_they_are(name, training):
    net, other = Decoder().eval(), Decoder().eval()
    space = ws.find_symmetries(net, X[:, 0, 0])
    assert untouched(partial(LINEAR[name], net.train(training), other, space), net) or training


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", [*SHALLOW])
def test_shallow_networks_stay_as_they_are(name, training):
    net = small().double().train(training)
    assert untouched(partial(SHALLOW[name], net), net)


class Checked(nn.Module):
    """What torch.fx cannot trace, so that it is cut by hooks."""

    def __init__(self, chain: nn.Module) -> None:
        super().__init__()
        self.chain = chain

    def forward(self, x):
        assert x.isfinite().all()
        return self.chain(x)


def in_place(flag: bool) -> nn.Sequential:
    """A network whose first step, and others, work in place or do not."""
    torch.manual_seed(0)
    layers = nn.LeakyReLU(0.5, inplace=flag), nn.Flatten(), nn.Linear(32, 6), nn.BatchNorm1d(6)
    return nn.Sequential(*layers, nn.ELU(inplace=flag), nn.Linear(6, 3)).eval()


def climbed(net: nn.Module, data: Dataset) -> list[float]:
    recipe = stitching.StitchRecipe(epochs=2, batch_size=4, lr=0.1, targets="soft")
    rungs = {k: stitching.Rung(k, stitching.Full(torch.eye(6)), recipe) for k in "34"}
    ladder = stitching.Ladder(net, net, rungs, data, data, seed=0, device="cpu")
    return [x for row in stitching.climb([ladder])[0][-1].values() for x in row.values()]


Answer = Callable[[nn.Module, Dataset], Any]
ANSWERS: dict[str, Answer] = {
    "evaluate": lambda net, data: [training.evaluate(net, data.images, data.labels) for _ in range(2)],
    "train": lambda net, data: training.train(
        net, data, ONCE, seed=0, validation=data, device="cpu"
    ).history.validation_accuracy.tolist(),
    "stitch": lambda net, data: stitching.stitch(net, net, at="3", train=data, device="cpu").stitch.weight,
    "stitch by hooks": lambda net, data: (
        stitching.stitch(*[Checked(net)] * 2, at="chain.3", train=data, device="cpu").stitch.weight
    ),
    "ladder": climbed,
    "activations": lambda net, data: features.activations(net, ["2"], data.images)["2"],
    "compare": lambda net, data: similarity.compare(net, net, ["3"], data.images, device="cpu").iloc[0, 0],
    "line": lambda net, data: stitching.line(net, net, data, data, [0.0, 0.5]).accuracy.tolist(),
    "genni outputs": lambda net, data: genni.outputs(net, points(net), data.images),
    "genni loss": lambda net, data: genni.loss_at(
        genni.Problem(net, lambda x: x[:, :3], data.images), points(net)
    ),
    "genni perceptron": lambda net, data: genni.outputs(
        chain := (net[:1] + net[2:3]).eval(), points(chain), data.images
    ),
}
ROWS = normal(12, 32)


@pytest.mark.parametrize("name", [*ANSWERS])
def test_a_network_that_works_in_place_leaves_its_inputs_and_gives_the_same_answers(name):
    sets = [Dataset.of(ROWS.clone(), DATA.labels) for _ in range(2)]
    torch.testing.assert_close(*(ANSWERS[name](in_place(k == 1), data) for k, data in enumerate(sets)))
    assert all(torch.equal(data.images, ROWS) for data in sets)


def test_a_call_that_fails_leaves_nothing_behind():
    net = Net().train()
    assert not untouched(lambda: similarity.compare(net, net, ["act1"], X[:, :1]), net)


def test_biases_are_not_folded_by_statistics_of_a_batch():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).eval()
    space = ws.find_symmetries(net, normal(9, 3))
    for verb in (ws.fold_biases, ws.centre):
        assert "call model.eval() first" in sentence(partial(verb, space, net.train(), normal(9, 3)))
