"""The group that is found is never too large: steps that mix units, positions or neither, in any order."""

from pathlib import Path

import pytest
import torch
import weightspace_models as zoo
import weightspace_steps as steps
from helpers import generator, randomise
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import gelu, linear

from intertwine.weightspace import find_symmetries, relative_error, verify

HERE = Path(__file__).parent
Step, learnt = steps.Step, steps.learnt


def verified(model: nn.Module, x: torch.Tensor, seed: int = 0):
    """The space of a randomised model, whose random element keeps outputs and moves values as it says."""
    model = randomise(model, generator(seed))
    space = find_symmetries(model, x, check=False)  # the rules alone: nothing that they allow is taken back
    found = verify(space, model, space.sample(generator(seed + 1), scale=0.5), x)
    assert found.output <= 1e-9 and (found.spaces["error"] <= 1e-9).all()
    return space


def tokens() -> torch.Tensor:
    return torch.randn(steps.BATCH, steps.TOKENS, 3, generator=generator(9), dtype=torch.float64)


@pytest.mark.parametrize("name", steps.STEPS)
def test_each_step_keeps_the_function(name):
    for residual in (lambda m: m, steps.Residual):
        verified(steps.network([residual(steps.STEPS[name]())]), tokens())
    verified(steps.network([steps.units(bias=False), steps.STEPS[name](), nn.ReLU()]), tokens())


@pytest.mark.parametrize(
    "name",
    [
        each if each == "a weight of zeros" else pytest.param(each, marks=pytest.mark.slow)
        for each in steps.STEPS
    ],
)
def test_networks_of_one_orbit_agree_where_the_weights_decide(name):
    for layers in ((), (steps.units(bias=False), nn.ReLU())):
        model = randomise(steps.network([*layers[:1], steps.STEPS[name](), *layers[1:]]), generator())
        assert zoo.orbit_error(find_symmetries(model, tokens(), check=False), model, range(3)) < 1e-6


drawn = st.lists(st.tuples(st.sampled_from(sorted(steps.STEPS)), st.booleans()), min_size=2, max_size=4)


@given(drawn, st.integers(0, 2**20))
@settings(max_examples=8, deadline=None)
def test_any_steps_one_after_another_keep_the_function(chosen, seed):
    built = [steps.Residual(steps.STEPS[name]()) if skip else steps.STEPS[name]() for name, skip in chosen]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        verified(steps.network(built), tokens(), seed)


LATENT = "Σ_6"
GROUPS = {
    "prelu": ["Σ_4 ⋉ (R_{>0})^4"],
    "prelu by position": ["Σ_4 ⋉ (R_{>0})^4"],
    "batch norm of positions": ["Σ_4"],
    "layer norm of positions": ["Σ_4"],
    "rms norm of positions": ["Σ_4"],
    "instance norm of positions": ["Σ_4"],
    "group norm of positions": ["Σ_4"],
    "positions": ["Σ_4"],
    "positions, no bias": ["GL(4)"],
    "units, no bias": ["GL(4)", "GL(4)"],
    "a table through a layer": ["GL(3)", "GL(4)"],
    "maximum with a parameter": ["Σ_4 ⋉ (R_{>0})^4"],
    "maximum with zeros": ["Σ_4 ⋉ (R_{>0})^4"],
    "recurrent": ["GL(4)", "Σ_4 ⋉ (R_{>0})^4"],
    "to learnt keys": ["GL(2) for each of 2", "GL(2) for each of 2", "GL(4)", "GL(4)", "Σ_2", LATENT],
    "to learnt keys, padded": ["GL(2) for each of 2", "GL(2) for each of 2", "GL(4)", "GL(4)", "Σ_2"],
    "dot product with learnt queries": ["GL(4)", LATENT],
    "dot product with learnt queries, causal": ["GL(4)"],
    "dot product with a learnt mask": ["GL(4)", "GL(4)", LATENT],
}


@pytest.mark.parametrize("name", GROUPS)
def test_steps_have_the_groups_of_theory(name):
    space = verified(steps.network([steps.STEPS[name]()]), tokens())
    assert sorted(hidden.group for hidden in space.spaces) == sorted(GROUPS[name])


CUT = {
    "first": lambda s, n: s.table[:, :n],
    "last": lambda s, n: s.table[:, -n:],
    "narrow": lambda s, n: s.table.narrow(1, 0, n),
    "of a copy": lambda s, n: (s.table.clone() * 3).squeeze(0)[:n],
    "of several": lambda s, n: torch.cat([s.first, s.table], 1)[:, :n],
    "behind a layer": lambda s, n: s.through(s.table)[:, :n],
}


@pytest.mark.parametrize("name", CUT)
def test_positions_that_the_example_does_not_reach_stay_so_that_longer_inputs_keep_the_function(name):
    parts = {"a": nn.Linear(3, 4), "b": nn.Linear(4, 2), "through": nn.Linear(4, 4, bias=False)}
    parts |= {"table": learnt(1, 8, 4), "first": learnt(1, 1, 4)}
    model = Step(lambda s, x: s.b((s.a(x) + CUT[name](s, x.shape[1])).relu()), **parts)
    long = torch.randn(2, 8, 3, generator=generator(9), dtype=torch.float64)
    space = verified(model, long[:, :5])
    assert relative_error(space.act(model, space.sample(generator(1)))(long), model(long)) <= 1e-12
    assert space.dimension == find_symmetries(model, long, check=False).dimension
    assert name != "first" or (3, "not seen to reach an output", ["table"]) in space.solution.frozen


class ResMLP(nn.Module):
    """A block of ResMLP (Touvron et al. 2021): affine maps for norms, and a layer across positions."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave, self.mix = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(5, 5)
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
        self.gains, self.shifts = (nn.ParameterList(learnt(4) for _ in range(k)) for k in (4, 2))

    def forward(self, x):
        x = self.enter(x)
        across = self.mix((self.gains[0] * x + self.shifts[0]).transpose(1, 2)).transpose(1, 2)
        x = x + self.gains[1] * across
        x = x + self.gains[2] * self.down(gelu(self.up(self.gains[3] * x + self.shifts[1])))
        return self.leave(x.mean(1))


class Decoder(nn.Module):
    """Learnt queries in a decoder, which a causal mask keeps in order."""

    def __init__(self, causal: bool):
        super().__init__()
        self.enter, self.leave, self.queries = nn.Linear(3, 8), nn.Linear(8, 2), learnt(6, 8)
        self.layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1)
        self.causal = causal

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(6, dtype=x.dtype) if self.causal else None
        return self.leave(self.layers(self.queries.expand(len(x), -1, -1), self.enter(x), mask).mean(1))


def test_a_layer_across_positions_leaves_its_stream_permutations_and_what_gains_take_up():
    groups = [hidden.group for hidden in verified(ResMLP(), tokens()).spaces]
    assert groups == ["Σ_4 ⋉ ((R^*)^3)^4", "Σ_8"]


@pytest.mark.parametrize("causal", [False, True])
def test_a_causal_mask_keeps_learnt_queries_in_order(causal):
    space = verified(Decoder(causal), tokens())
    assert ("Σ_6" in [hidden.group for hidden in space.spaces]) is not causal
    assert ("a mask of attention" in str(space)) is causal


def lstm(s, x):
    h = c = torch.zeros(len(x), 4, dtype=x.dtype)
    for t in range(x.shape[1]):
        i, f, g, o = (s.enter(x[:, t]) + s.again(h)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return s.leave(h)


def test_a_recurrent_network_that_begins_with_zeros_has_its_group():
    model = Step(lstm, enter=nn.Linear(3, 16), again=nn.Linear(4, 16), leave=nn.Linear(4, 2))
    assert [hidden.group for hidden in verified(model, tokens()).spaces] == ["Σ_4 ⋉ ({±1})^4"]  # as nn.LSTM


def test_zeros_that_are_filled_through_another_view_are_no_zeros():
    def run(s, x):
        h = torch.zeros(len(x), 5, 4, dtype=x.dtype)
        h[:, :, :2].add_(s.a(x))
        return s.b(h)

    model = Step(run, a=nn.Linear(3, 2), b=nn.Linear(4, 2))
    assert verified(model, tokens()).spaces == []


@pytest.mark.parametrize("meet", [torch.add, torch.mul, lambda h, x: torch.add(x, h), torch.maximum])
def test_two_layers_side_by_side_may_meet_the_input(meet):
    parts = {"a": nn.Linear(4, 2), "b": nn.Linear(4, 2), "c": nn.Linear(4, 2)}
    model = Step(lambda s, x: s.c(meet(torch.cat([s.a(x), s.b(x)], 1), x)), **parts)
    assert verified(model, torch.randn(3, 4, generator=generator(0), dtype=torch.float64)).spaces == []


def unseen(function):
    """The function as tensor methods do not see it, as in compiled code."""

    def hidden(*arguments):
        with torch._C.DisableTorchFunction():
            return function(*arguments)

    return hidden


TABLES = {
    "a convolution over positions": (
        Step(lambda s, x: s.b(s.m(s.a(x))), a=nn.Linear(3, 4), m=nn.Conv1d(5, 5, 1), b=nn.Linear(4, 2)),
        ("a.weight, a.bias", "space of a conv1d"),
    ),
    "a skip of the input": (
        Step(lambda s, x: s.b(torch.relu(s.a(x) + x)), a=nn.Linear(3, 3), b=nn.Linear(3, 2)),
        ("a.weight, a.bias", "add of entries that do not move"),
    ),
    "ones for zeros": (
        Step(
            lambda s, x: s.c(s.a(x) + s.b(torch.ones(4, dtype=x.dtype)) + torch.ones(4, dtype=x.dtype)),
            a=nn.Linear(3, 4),
            b=nn.Linear(4, 4),
            c=nn.Linear(4, 2),
        ),
        ("a.weight, a.bias, b.weight, b.bias", "add of entries that do not move"),
    ),
    "compiled code": (
        Step(
            lambda s, x: s.b(unseen(linear)(x, s.w, s.v).relu()),
            w=learnt(4, 3),
            v=learnt(4),
            b=nn.Linear(4, 2),
        ),
        ("v", "relu takes a tensor of unknown origin"),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_says_what_froze_parameters_without_a_space(name):
    model, (names, why) = TABLES[name]
    table = verified(model, tokens()).to_frame()
    assert set(table["group"]) == {"frozen"}
    assert (names, why) in set(zip(table["writers"], table["why"], strict=True))


def test_weights_that_are_used_unseen_do_not_move_where_they_are_seen_later():
    model = Step(
        lambda s, x: unseen(linear)(x, s.w).relu() @ s.v + linear(x, s.w).relu() @ s.v, w=learnt(4, 3)
    )
    model.v = learnt(4, 2)
    assert verified(model, tokens()).spaces == []


def test_a_network_without_anything_hidden_needs_no_reason():
    assert str(verified(nn.Linear(3, 2), tokens())).startswith("no hidden space")
