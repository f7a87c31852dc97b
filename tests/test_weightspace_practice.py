"""What practitioners ask of the symmetries of a network: mappings, folded gains, rotations, fewer units."""

import copy
import re
from contextlib import nullcontext

import pytest
import torch
import weightspace_models as zoo
from helpers import NORMS, generator, normal, randomise, sentence
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.nn.utils.prune import random_unstructured

from intertwine.weightspace import (
    equivalent,
    find_symmetries,
    fold,
    hadamard,
    mappings,
    prune,
    relative_error,
    rotate,
    transform_outputs,
    untie,
)

TOKENS = torch.tensor([[1, 4, 0, 10, 3], [2, 2, 7, 5, 6]])


class Branches(nn.Module):
    """Two convolutions side by side, a depthwise one and a group norm behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 6, 1)
        self.norm = nn.BatchNorm2d(10)
        self.depth, self.out = nn.Conv2d(10, 10, 3, groups=10), nn.Conv2d(10, 5, 1)
        self.up, self.last = nn.ConvTranspose2d(5, 7, 2), nn.Conv2d(7, 2, 1)

    def forward(self, x):
        x = torch.cat([self.a(x), self.b(x)], 1).relu()
        x = self.out(F.relu(self.depth(self.norm(x)))).tanh()
        return self.last(self.up(x).relu()).mean((2, 3))


class Heads(nn.Module):
    """Attention of some heads, whose number is not needed, is written into steps, or is an attribute."""

    def __init__(self, kind: str = "free", heads: int = 3, size: int = 4) -> None:
        super().__init__()
        self.kind, self.count, self.heads, self.size, self.width = kind, heads, heads, size, heads * size
        self.q, self.k, self.v = (nn.Linear(5, heads * size) for _ in "qkv")
        self.out = nn.Linear(heads * size, 2)

    def forward(self, x):
        n, t = x.shape[:2]
        shape = {"free": (-1, self.size), "fixed": (3, -1), "apart": (4, -1)}
        shape |= {"attributes": (self.heads, self.size), "rest": (self.heads, -1)}
        q, k, v = (f(x).view(n, t, *shape[self.kind]).transpose(1, 2) for f in (self.q, self.k, self.v))
        width = self.width if self.kind == "attributes" else -1
        return self.out(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).reshape(n, t, width))


class LM(nn.Module):
    """A language model whose head is its embedding, by a second name or not, or a copy of it."""

    def __init__(self, tied: str = "", plus: bool = False, width: int = 16, words: int = 11) -> None:
        super().__init__()
        self.tied, self.plus = tied, plus
        self.embed, self.norm1, self.norm2 = nn.Embedding(words, width), nn.RMSNorm(width), nn.RMSNorm(width)
        self.up, self.down = nn.Linear(width, 32, bias=False), nn.Linear(32, width, bias=False)
        if tied != "as a tensor":
            self.head = nn.Linear(width, words, bias=False)
        if tied == "by name":
            self.head.weight = self.embed.weight

    def norm(self, norm: nn.RMSNorm, x):
        return F.rms_norm(x, x.shape[-1:], None, 1e-6) * (1 + norm.weight) if self.plus else norm(x)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.norm(self.norm2, x + self.down(F.silu(self.up(self.norm(self.norm1, x)))))
        return x @ self.embed.weight.mT if self.tied == "as a tensor" else self.head(x)


class Experts(nn.Module):
    """Two experts and the router that reads the same norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm, self.gate = nn.Linear(3, 8), nn.RMSNorm(8), nn.Linear(8, 2)
        self.experts = nn.ModuleList(nn.Linear(8, 4) for _ in "12")

    def forward(self, x):
        x = self.norm(self.embed(x))
        each = torch.stack([expert(x) for expert in self.experts], -1)
        return (each * self.gate(x).softmax(-1)[..., None, :]).sum(-1)


def test_mappings_name_modules_offsets_of_a_concatenation_and_the_router_of_experts():
    found = {each.space: each for each in mappings(find_symmetries(Branches().eval(), normal(2, 3, 6, 6)))}
    wide = [each for each in found.values() if each.units in (4, 6)]
    starts = {each.units: {s.starts for s in each.writers if s.module == "norm"} for each in wide}
    assert starts == {4: {(0,)}, 6: {(4,)}} and {each.kind for each in wide} == {"scale"}
    (norm,) = [
        each
        for each in mappings(find_symmetries(Experts().eval(), normal(2, 3)))
        if each.writers[0].module == "norm"
    ]
    assert {each.module for each in norm.readers} == {"gate", "experts.0", "experts.1"}


def test_a_permutation_of_slices_by_hand_is_the_element_s():
    for model, x in (
        (Branches(), normal(2, 3, 6, 6)),
        (Heads(), normal(2, 4, 5)),
        (zoo.GPT(tied=False), TOKENS),
    ):
        space = find_symmetries(model.eval(), x)
        for each in mappings(space):
            hidden = space[each.space]
            if not hidden.permuted or hidden.base is not None:
                continue
            order = torch.randperm(each.units, generator=generator())
            moved = space.act(model, {each.space: hidden.identity()._replace(order=order[None])})
            own = {name: t.detach().clone() for name, t in model.state_dict(keep_vars=True).items()}
            for s in each.writers + each.readers:
                name = f"{s.module}.{s.parameter}"
                at = torch.tensor(s.starts)[:, None, None] + torch.arange(each.units)[:, None] * s.step
                at = at + torch.arange(s.size)
                there = [slice(None)] * s.axis
                own[name][(*there, at.flatten())] = own[name][(*there, at[:, order].flatten())]
            assert all(torch.equal(own[k], t) for k, t in moved.state_dict().items() if k in own), each


@pytest.mark.parametrize("build", [lambda: zoo.GPT(tied=False), zoo.Llama])
def test_folded_gains_are_1_and_the_function_is_the_same(build):
    model = randomise(build(), generator())
    space = find_symmetries(model, TOKENS)
    found = fold(space, model)
    assert relative_error(found.model(TOKENS), model(TOKENS)) < 1e-9
    norms = {name for name, module in model.named_modules() if isinstance(module, NORMS)}
    for name in norms:
        gain = found.model.get_submodule(name).weight
        torch.testing.assert_close(gain, torch.ones_like(gain))
    one = min(norms)
    (moved,) = [n for n in norms if not equal(fold(space, model, [one]).model, model, n)]
    assert moved == one and "Expected modules whose gains can be folded" in sentence(
        lambda: fold(space, model, ["missing"])
    )


TIED = r"\(embed\.weight writes the space embed and(, as head\.weight,)? reads it behind a gain: `untie`"


@pytest.mark.parametrize("tied", ["by name", "as a tensor"])
def test_of_tied_embeddings_what_cannot_be_folded_or_rotated_is_named_with_the_reason(tied):
    model = randomise(LM(tied), generator())
    space = find_symmetries(model, TOKENS)
    with pytest.warns(UserWarning, match=rf"^Not folded: norm2 {TIED} the model first\)\.$") as caught:
        found = fold(space, model).model
    assert len(caught) == 1
    torch.testing.assert_close(found.norm1.weight, torch.ones_like(found.norm1.weight))
    assert relative_error(found(TOKENS), model(TOKENS)) < 1e-9
    for call in (
        lambda: fold(space, model, ["norm2"]),
        lambda: rotate(space, model, 0),
        lambda: rotate(space, model, 0, ["embed"]),
    ):
        assert re.search(TIED, sentence(call))
    fold(space, model, ["norm1"])  # who asks for no more hears no more
    again = fold(space, found, ["norm1"]).model
    found.norm2.weight.data.fill_(1)
    assert equal(fold(space, found).model, again, "norm1")  # nor is a gain of 1 left


def test_a_gain_1_plus_w_has_the_group_of_a_gain_and_is_folded_to_0():
    plain, plus = (randomise(LM(plus=plus), generator()) for plus in (False, True))
    space, other = (find_symmetries(model, TOKENS) for model in (plus, plain))
    assert [h.group for h in space.spaces] == [h.group for h in other.spaces]
    assert [(m.kind, len(m.writers)) for m in mappings(space)] == [
        (m.kind, len(m.writers)) for m in mappings(other)
    ]
    element = space.sample(generator(1))
    names = {ours.name: theirs.name for ours, theirs in zip(space.spaces, other.spaces, strict=True)}
    same = {names[name]: move for name, move in element.items()}  # a norm of one's own has another name
    one, two = space.act(plus, element), other.act(plain, same)
    for norm in ("norm1", "norm2"):
        gain = two.get_submodule(norm).weight / plain.get_submodule(norm).weight
        expected = (1 + plus.get_submodule(norm).weight) * gain - 1
        torch.testing.assert_close(one.get_submodule(norm).weight, expected)
    assert relative_error(one(TOKENS), plus(TOKENS)) < 1e-9
    assert zoo.orbit_error(space, plus, range(3)) < 1e-6
    # by hand, as who reads `mappings` does it
    by_hand, s = copy.deepcopy(plus), torch.linspace(0.5, 2, 16).double()
    (norm2,) = [m for m in mappings(space) if m.kind == "scale" and m.writers[0].module == "norm2"]
    for x in (*norm2.writers, *norm2.readers):
        weight = by_hand.get_submodule(x.module).weight.data
        weight.copy_((weight + x.plus) * (s if x in norm2.writers else 1 / s) - x.plus)
    assert relative_error(by_hand(TOKENS), plus(TOKENS)) < 1e-9
    found = rotate(space, fold(space, plus).model, 0).model
    assert relative_error(found(TOKENS), plus(TOKENS)) < 1e-9
    assert not torch.allclose(found.embed.weight, plus.embed.weight)
    for norm in (found.norm1, found.norm2):
        torch.testing.assert_close(norm.weight, torch.zeros_like(norm.weight))


def test_tied_words_keep_the_last_gain_1_plus_w_and_the_reason_is_named():
    model = randomise(LM("by name", plus=True), generator())
    space = find_symmetries(model, TOKENS)
    with pytest.warns(UserWarning, match=rf"^Not folded: norm2 {TIED}"):
        found = fold(space, model).model
    torch.testing.assert_close(found.norm1.weight, torch.zeros_like(found.norm1.weight))
    assert relative_error(found(TOKENS), model(TOKENS)) < 1e-9


def test_untied_first_the_last_gain_is_folded_and_the_stream_rotated():
    tied = randomise(LM("by name"), generator())
    model = untie(tied)
    assert tied.head.weight is tied.embed.weight and model.head.weight is not model.embed.weight
    expected, old = tied(TOKENS), find_symmetries(tied, TOKENS)
    space = find_symmetries(model, TOKENS)
    found = rotate(space, fold(space, model).model, 0).model
    assert relative_error(found(TOKENS), expected) < 1e-9
    assert not torch.allclose(found.embed.weight, model.embed.weight)
    for norm in (found.norm1, found.norm2):
        torch.testing.assert_close(norm.weight, torch.ones_like(norm.weight))
    element = old.sample(generator())
    for moved in (old.act(model, element), LM().double().eval()):  # two that are equal move as one did
        moved.load_state_dict(old.act(model.state_dict(), element))
        assert relative_error(moved(TOKENS), expected) < 1e-9
    model.head.weight.data[0] += 1
    for call in (lambda: old.act(model, element), lambda: old.act(model.state_dict(), element)):
        assert "one tensor for embed.weight and head.weight, as its symmetries" in sentence(call)


def test_an_element_that_unties_two_weights_does_not_act_on_a_model_where_they_are_one():
    model, tied = (randomise(LM(kind), generator()) for kind in ("", "by name"))
    space = find_symmetries(model, TOKENS)
    assert "weights of its own for head.weight" in sentence(lambda: rotate(space, tied, 0))
    moved = space.act(tied, {"up": torch.eye(32)[torch.randperm(32, generator=generator())]})
    assert moved.head.weight is moved.embed.weight
    assert relative_error(moved(TOKENS), tied(TOKENS)) < 1e-9


def test_of_norms_of_queries_and_keys_that_share_a_scalar_one_is_folded_and_the_other_named():
    def forward(s, x):
        q, k = (f(x).unflatten(-1, (2, 3)).transpose(1, 2) for f in (s.q, s.k))
        return (s.one(q) @ s.two(k).mT).flatten(1)

    parts = {"q": nn.Linear(4, 6), "k": nn.Linear(4, 6), "one": nn.RMSNorm(3), "two": nn.RMSNorm(3)}
    model, x = randomise(zoo.Net(forward, **parts), generator()), normal(2, 5, 4).double()
    model.two.weight.data[1] = 0  # which no scalar makes 1
    space = find_symmetries(model, x)
    for norms, said in ((None, "two .* one"), (["two"], ""), (["one", "two"], "two .* one")):
        with pytest.warns(UserWarning, match=f"^Not folded: {said}") if said else nullcontext():
            found = fold(space, model, norms).model
        assert relative_error(found(x), model(x)) < 1e-12
        assert found.get_submodule((norms or ["one"])[0]).weight.abs().tolist() == pytest.approx([1.0] * 3)
        model.two.weight.data[1] = 2


def test_gains_of_norms_by_hand_are_folded_whatever_their_names():
    def by_hand(s, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)

    def forward(s, x):
        h = s.a(by_hand(s, s.enter(x)) * s.gain + s.shift).relu()
        return s.c(F.rms_norm(s.b(h), (4,), s.gamma)) + s.leave(by_hand(s, h) * (1 + s.plus))

    layers = {name: nn.Linear(4, 4) for name in ("enter", "a", "b", "c", "leave")}
    model, x = zoo.Net(forward, **layers), normal(5, 4).double()
    for name in ("gain", "shift", "gamma", "plus"):
        model.register_parameter(name, nn.Parameter(torch.ones(4)))
    model = randomise(model, generator())
    space = find_symmetries(model, x)
    found = fold(space, model).model
    assert relative_error(found(x), model(x)) < 1e-9
    folded = torch.stack([found.gain, found.gamma, found.plus + 1]).abs()
    torch.testing.assert_close(folded, torch.ones_like(folded))
    alone = fold(space, model, ["gamma"]).model
    assert torch.equal(alone.gain, model.gain) and alone.gamma.detach().numpy() == pytest.approx(1)


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
def test_gains_of_group_norms_are_folded_within_groups_and_keep_their_signs_before_leaky_relu(groups):
    norms = nn.GroupNorm(groups, 8), nn.GroupNorm(2, 8)
    ends = nn.Conv2d(8, 8, 1), norms[1], nn.Conv2d(8, 2, 1), nn.Flatten()
    model = randomise(nn.Sequential(nn.Conv2d(1, 8, 3), norms[0], nn.LeakyReLU(), *ends), generator())
    model[1].weight.data[3] *= -1
    x = normal(2, 1, 5, 5).double()
    found = fold(find_symmetries(model, x), model).model
    assert relative_error(found(x), model(x)) < 1e-9
    # a channel that is a group of its own may change its sign before the norm
    signs = model[1].weight.sign() if groups < 8 else torch.ones(8).double()
    torch.testing.assert_close(found[1].weight.detach(), signs)
    torch.testing.assert_close(found[4].weight, torch.ones_like(found[4].weight))


def test_where_nothing_can_be_folded_one_sentence_says_so():
    mlp = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.PReLU(4), nn.Linear(4, 2)).eval()
    late = randomise(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)), generator())
    for model, x, said in (
        (late, normal(5, 3).double(), r"given 1 \(gelu, layer_norm allow no more\)"),
        (mlp, normal(5, 3), r"given none, or batch norms alone"),
    ):
        space = find_symmetries(model, x)
        assert re.search(said, sentence(lambda space=space, model=model: fold(space, model)))


def test_a_stream_that_is_not_rotated_although_other_spaces_are_is_named():
    model = nn.Sequential(
        nn.Linear(3, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)
    ).eval()
    space = find_symmetries(model, normal(5, 3))
    with pytest.warns(UserWarning, match=r"^Not rotated: 3 \(gelu, layer_norm allow no more\)\.$"):
        rotate(space, model, 0)
    rotate(space, model, 0, [next(each.space for each in mappings(space) if each.kind == "linear")])


@pytest.mark.parametrize("seed", range(4))
def test_complex_numbers_of_heads_are_no_rotations_whatever_the_signs_of_the_seed(seed):
    model = randomise(zoo.Llama(width=8), generator())
    space = find_symmetries(model, TOKENS)
    scalars = next(each for each in space.spaces if "C^*" in str(each.group))
    assert relative_error(rotate(space, model, seed).model(TOKENS), model(TOKENS)) < 1e-9
    assert "Expected spaces that may be rotated" in sentence(
        lambda: rotate(space, model, seed, [scalars.name])
    )


def test_a_gain_of_units_that_stand_there_twice_is_not_folded():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.norm, self.out = nn.Linear(3, 8), nn.RMSNorm(16), nn.Linear(16, 2)

        def forward(self, x):
            return self.out(self.norm(self.gate(x).view(-1, 2, 4).repeat_interleave(2, 1).flatten(1).relu()))

    model = randomise(Twice().eval(), generator())
    space = find_symmetries(model, normal(5, 3).double())
    assert "a gain that can be folded" in sentence(lambda: fold(space, model))


def equal(one: nn.Module, other: nn.Module, name: str) -> bool:
    return torch.equal(one.get_submodule(name).weight, other.get_submodule(name).weight)


def test_signs_of_gains_stay_before_relu():
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2)).double().eval()
    model[1].weight.data = torch.tensor([2.0, -3.0, 0.0, 1.0]).double()
    x = normal(5, 3).double()
    found = fold(find_symmetries(model, x), model).model
    assert (
        found[1].weight.tolist() == pytest.approx([1, -1, 0, 1])
        and relative_error(found(x), model(x)) < 1e-12
    )


@pytest.mark.parametrize("build", [lambda: zoo.GPT(tied=False), zoo.Llama])
def test_rotations_keep_the_function_and_depend_on_the_seed_alone(build):
    model = randomise(build(), generator())
    space = find_symmetries(model, TOKENS)
    turned = rotate(space, model, 0)
    assert relative_error(turned.model(TOKENS), model(TOKENS)) < 1e-9
    again, other = rotate(space, model, 0).model, rotate(space, model, 1).model
    assert all(map(torch.equal, again.parameters(), turned.model.parameters()))
    assert not all(map(torch.equal, other.parameters(), turned.model.parameters()))
    scaled = next(each.space for each in mappings(space) if each.kind == "scale")
    assert "Expected spaces that may be rotated" in sentence(lambda: rotate(space, model, 0, [scaled]))


@pytest.mark.parametrize("n", [1, 2, 32])
def test_hadamard_is_orthogonal_and_spreads_one_channel_over_all(n):
    H = hadamard(n, generator(1))
    torch.testing.assert_close(H @ H.T, torch.eye(n, dtype=torch.float64))
    assert torch.allclose(H.abs(), torch.full((n, n), n**-0.5, dtype=torch.float64))
    with pytest.raises(ValueError, match="Expected a power of 2, was given 12: pad the width"):
        hadamard(12, generator(1))


def test_seeds_give_columns_of_a_hadamard_matrix_other_signs_so_that_no_row_adds_up_all_units():
    matrices = [hadamard(4, generator(seed)) for seed in range(20)]
    assert len({tuple(H[0].tolist()) for H in matrices}) > 8  # of 16 rows of signs
    assert all((H[:, 0] == H[0, 0]).all() for H in matrices)


def test_without_units_that_nothing_reads_a_smaller_network_has_the_same_function():
    model, x = randomise(Branches(), generator()), normal(2, 3, 6, 6).double()
    space = find_symmetries(model, x)
    names = {each.units: each.space for each in mappings(space) if each.units in (4, 5, 6, 7)}
    model.out.weight.data[:, 1] = model.out.weight.data[:, 4] = 0  # unit 1 of a, unit 0 of b
    model.up.weight.data[3] = model.last.weight.data[:, 5] = 0
    keep = {names[4]: [3, 0, 2], names[6]: range(1, 6), names[5]: [0, 1, 2, 4], names[7]: [0, 1, 2, 3, 4, 6]}
    small = prune(space, model, keep, x)
    assert relative_error(small(x), model(x)) < 1e-12
    assert (small.depth.groups, small.depth.in_channels, small.norm.num_features) == (8, 8, 8)
    assert (small.up.in_channels, small.up.out_channels, small.a.out_channels) == (4, 6, 3)
    assert find_symmetries(small, x).dimension < space.dimension
    assert equivalent(model, small, x)


def test_units_whose_products_with_one_another_are_read_are_removed_on_both_sides():
    def forward(s, x):
        x = s.a(x).relu()
        return s.b((x[:, :, None] * x[:, None]).flatten(1))

    model, x = randomise(zoo.Net(forward, a=nn.Linear(4, 3), b=nn.Linear(9, 2)), generator()), normal(9, 4)
    space, x = find_symmetries(model, x.double()), x.double()
    assert relative_error(prune(space, model, {0: [1, 2, 0]}, x)(x), model(x)) < 1e-12
    small = prune(space, model, {0: [2, 0]}, x)
    model.a.weight.data[1] = model.a.bias.data[1] = 0
    assert relative_error(small(x), model(x)) < 1e-12


@pytest.mark.parametrize("groups", [1, 2])
def test_a_group_norm_keeps_the_groups_of_which_units_stay(groups):
    def forward(s, x):
        return s.out(s.norm(torch.cat([s.a(x), s.b(x)], 1)).relu())

    parts = {"a": nn.Conv2d(3, 4, 1), "b": nn.Conv2d(3, 4, 1), "norm": nn.GroupNorm(groups, 8)}
    model = randomise(zoo.Net(forward, **parts, out=nn.Conv2d(8, 2, 1)), generator())
    x, kept = normal(2, 3, 5, 5).double(), [0, 2, 7, 5]
    space = find_symmetries(model, x)
    small = prune(space, model, {0: [0, 2], 1: [3, 1]}, x)
    y = torch.cat([model.a(x), model.b(x)], 1)[:, kept]
    y = F.group_norm(y, groups, model.norm.weight[kept], model.norm.bias[kept]).relu()
    assert relative_error(small(x), F.conv2d(y, model.out.weight[:, kept], model.out.bias)) < 1e-12
    if groups == 2:
        assert "each group of channels that stays, was given [2, 4]: rem" in sentence(
            lambda: prune(space, model, {0: [0, 2]}, x)
        )


RECURRENT = {kind.__name__: kind for kind in (nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell)}


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_layers_lose_inputs_and_states_that_nothing_reads(kind):
    def forward(s, x):
        y = s.core(s.enter(x).relu())  # a layer gives outputs and states, some cells two states
        return s.out(y[0] if isinstance(y, tuple) else y)

    parts = {"enter": nn.Linear(4, 5), "core": RECURRENT[kind](5, 3), "out": nn.Linear(3, 2)}
    model, x = randomise(zoo.Net(forward, **parts), generator()), normal(6, 4).double()
    for name, weight in model.named_parameters():
        if "_ih" in name or ("_hh" in name and weight.ndim == 2) or name == "out.weight":
            weight.data[..., 1] = 0
    small = prune(find_symmetries(model, x), model, {0: [0, 2, 3, 4], 1: [2, 0]}, x)
    assert relative_error(small(x), model(x)) < 1e-12
    assert (small.core.input_size, small.core.hidden_size) == (4, 2)


@pytest.mark.parametrize(
    "kind, heads, size", [("free", 3, 4), ("rest", 4, 4), ("attributes", 3, 4), ("attributes", 4, 4)]
)
def test_heads_are_removed_and_attributes_that_say_their_number_are_set(kind, heads, size):
    x, model = normal(2, 4, 5).double(), randomise(Heads(kind, heads, size), generator())
    space = find_symmetries(model, x)
    (found,) = [each for each in mappings(space) if each.units == heads and each.kind == "permutation"]
    model.out.weight.data[:, size : (heads - 1) * size] = 0  # all but the first and the last
    small = prune(space, model, {found.space: [heads - 1, 0]}, x)
    assert small.q.out_features == 2 * size and relative_error(small(x), model(x)) < 1e-12
    expected = {"free": (3, 12), "rest": (2, 16), "attributes": (2, 2 * size)}[kind]
    assert (small.heads, small.width) == expected
    assert small.size == size and model.heads == heads


@pytest.mark.parametrize("kind, said", [("fixed", "raises"), ("apart", "makes a value of the shape")])
def test_a_number_of_heads_that_is_written_into_steps_is_refused_also_where_it_would_run(kind, said):
    heads, x = (3 if kind == "fixed" else 4), normal(2, 4, 5).double()
    model = randomise(Heads(kind, heads), generator())
    space = find_symmetries(model, x)
    (found,) = [each for each in mappings(space) if each.units == heads and each.kind == "permutation"]
    text = sentence(lambda: prune(space, model, {found.space: [0, 2]}, x))
    assert f"Expected a model whose steps take sizes from its weights, the smaller one {said}" in text


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(10, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(1))


class Grouped(nn.Sequential):
    def __init__(self):
        one, two = nn.Conv2d(4, 8, 3, groups=2), nn.Conv2d(8, 8, 3, groups=4)
        super().__init__(one, nn.ReLU(), two, nn.Conv2d(8, 2, 1))


class ByHand(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.randn(3, 6))

    def forward(self, x):
        return torch.relu(x @ self.inner.T) @ self.outer.T


ATTENTION = "encoder.layers.0.self_attn"


@pytest.mark.parametrize(
    ("build", "shape", "names"),
    [
        (
            Encoder,
            (2, 5, 10),
            [
                "embed: residual",
                f"{ATTENTION}: heads",
                f"{ATTENTION}: queries and keys",
                f"{ATTENTION}: values",
                "encoder.layers.0.linear1",
            ],
        ),
        (Grouped, (1, 4, 9, 9), ["0: groups", "0: groups in groups", "0: within groups", "2: within groups"]),
        (ByHand, (2, 4), ["inner"]),
    ],
)
def test_the_name_of_a_space_leads_to_its_module_and_calls_it(build, shape, names):
    model = build().double().eval()
    x = normal(*shape).double()
    space = find_symmetries(model, x)
    assert space.to_frame()["name"].tolist() == names
    for name, hidden in zip(names, space.spaces, strict=True):
        assert space[name] is hidden is space[hidden.name] is space[f"P{hidden.index}"]
        assert {hidden.name.partition(":")[0]} <= {
            *dict(model.named_modules()),
            *dict(model.named_parameters()),
        }
    matrices = {name: move.matrix() for name, move in space.sample(generator()).items()}
    torch.testing.assert_close(space.act(model, matrices)(x), model(x))


def test_the_module_that_broke_is_named():
    torch.manual_seed(0)
    model, x = Experts().double().eval(), normal(40, 3).double()
    space = find_symmetries(model, x)
    moved = space.act(model, space.sample(generator()))
    found = equivalent(model, moved, x)
    assert found and found.module == "" and found.error < 1e-10
    broken = copy.deepcopy(moved)
    broken.gate.weight.data.copy_(model.gate.weight)  # a router that was left out
    found = equivalent(model, broken, x)
    assert not found and found.module == "gate"


PRODUCTS = {
    "matmul": torch.matmul,
    "mm": torch.mm,
    "transposed": lambda h, W: (W.T @ h.T).T,
    "einsum": lambda h, W: torch.einsum("bi,ij->bj", h, W),
    "bmm": lambda h, W: torch.bmm(h[None], W[None])[0],
    "addmm": lambda h, W: torch.addmm(torch.zeros(2, 1), W.T, h.T).T,
    "tensordot": lambda h, W: torch.tensordot(W, h, ([0], [1])).T,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_whatever_the_product_what_reads_a_space_is_no_writer(name):
    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(4, 2))

        def forward(self, x):
            return PRODUCTS[name]((x @ self.up).relu(), self.down)

    (found,) = mappings(find_symmetries(Written().eval(), torch.randn(6, 3)))
    sides = [[each.parameter for each in side] for side in (found.writers, found.readers)]
    assert (found.kind, *sides) == ("scale", ["up"], ["down"])


READERS = {
    "scaled": lambda h, W, V, B: F.linear(h, W * 0.5),
    "a copy": lambda h, W, V, B: F.linear(h, W.clone()),
    "cast": lambda h, W, V, B: F.linear(h.float(), W.to(torch.float32)),
    "cast to a value": lambda h, W, V, B: F.linear(h, W.type_as(h)),
    "of low rank by einsum": lambda h, W, V, B: F.linear(h, W + torch.einsum("ir,ro->io", B, V)),
    "to a vector": lambda h, W, V, B: h @ (W.T @ B[0]),
    "reshaped": lambda h, W, V, B: F.linear(h, W.view(2, 1, 4).flatten(1)),
    "a function": lambda h, W, V, B: F.linear(h, W.abs()),
    "side by side": lambda h, W, V, B: F.linear(h, torch.cat([W, V])),
    "parts side by side": lambda h, W, V, B: F.linear(h, torch.cat([W[:, :2], V[:, 2:]], 1)),
    "stacked": lambda h, W, V, B: (h @ torch.stack([W, V]).mT).sum(0),
    "a sum of low rank": lambda h, W, V, B: F.linear(h, W + B @ V),
    "a sum, first": lambda h, W, V, B: ((W + B @ V) @ h.T).T,
    "by entries": lambda h, W, V, B: (h[:, None] * W).sum(-1),
    "standardised": lambda h, W, V, B: F.linear(h, W - W.mean(0)),
    "normalised": lambda h, W, V, B: F.linear(h, W / W.norm(dim=1, keepdim=True)),
}


class Read(nn.Module):
    """A hidden layer, and weights that read it after something has been done to them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.up = name, nn.Linear(3, 4)
        self.W, self.V, self.B = (nn.Parameter(torch.randn(2, n)) for n in (4, 4, 2))

    def forward(self, x):
        return READERS[self.name](self.up(x).relu(), self.W, self.V, self.B)


def masked():
    layer = nn.Linear(4, 2)
    random_unstructured(layer, "weight", 3)
    return layer


LAYERS = {"masked": masked, "of a gain": lambda: parametrizations.weight_norm(nn.Linear(4, 2))}


@pytest.mark.parametrize("name", [*READERS, *LAYERS])
def test_writers_times_s_and_readers_divided_by_s_compute_the_same_whatever_made_the_weight(name):
    layers = () if name in READERS else (nn.Linear(3, 4), nn.ReLU(), LAYERS[name]())
    model = (nn.Sequential(*layers) if layers else Read(name)).double().eval()
    x = normal(6, 3).double()
    space, first = find_symmetries(model, x), "0" if layers else "up"
    for each in mappings(space):
        written = [s.module for s in each.writers]
        if first not in written:
            continue  # within a product of weights
        assert set(written) == {first} and each.readers
        moved = space.act(model, {})
        own = dict(moved.named_parameters())  # a mask, which is a buffer, stays
        for side, factor in ((each.writers, 3.0), (each.readers, 1 / 3)) * (each.kind == "scale"):
            for s in side:
                if (weight := own.get(f"{s.module}.{s.parameter}".lstrip("."))) is not None:
                    for start in s.starts:
                        weight.data.narrow(s.axis, start, s.size).mul_(factor)
        assert relative_error(moved(x), model(x)) < 1e-6
        if name == "parts side by side":
            continue  # of each layer, a space has but some units
        turned = transform_outputs(space, model, {each.space: 2 * torch.eye(each.units)})
        changed = {k for k, w in turned.named_parameters() if not w.equal(model.get_parameter(k))}
        assert changed == {f"{first}.weight", f"{first}.bias"}


class Tied(nn.Module):
    """One weight that writes the units and, transposed, reads them: of words, or of an autoencoder."""

    def __init__(self, words: bool) -> None:
        super().__init__()
        self.words, self.W, self.inner = words, nn.Parameter(torch.randn(7, 4)), nn.Linear(4, 4)

    def forward(self, x):
        h = F.embedding(x, self.W) if self.words else x @ self.W
        return (h + self.inner(F.layer_norm(h, (4,)))) @ self.W.T


@pytest.mark.parametrize("x", [torch.arange(7), torch.randn(5, 7, generator=generator())])
def test_a_weight_that_writes_and_reads_a_space_has_no_outputs_to_transform(x):
    space = find_symmetries(model := Tied(not x.is_floating_point()).eval(), x)
    with pytest.raises(ValueError, match=r"both writes and reads, was given .* with W: make two"):
        transform_outputs(space, model, {0: torch.eye(4)})


TOLD = {
    "two": lambda y: (y, y),
    "nan": lambda y: (y, (y - 9).log()),
    "complex": lambda y: torch.complex(y, y),
    "conjugate": lambda y: torch.complex(y, -y),
    "masked": lambda y: y.masked_fill(torch.tensor([True, False]), -torch.inf),
    "one": lambda y: (y,),
}


class Told(nn.Module):
    """Outputs that are partly NaN, complex, or masked, of one layer."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.kind = nn.Linear(3, 2), kind

    def forward(self, x):
        return TOLD[self.kind](self.layer(x))


@pytest.mark.parametrize("kind", TOLD)
def test_a_network_is_equivalent_to_itself_and_to_no_other_whatever_its_outputs_are(kind):
    x = torch.randn(5, 3, generator=generator(0))
    for other in TOLD:
        found = equivalent(Told(kind).eval(), Told(other).eval(), x)
        assert found.equal == (kind == other), (other, found)


@pytest.mark.parametrize("cast", [lambda w, x: w.type_as(x), lambda w, x: w.to(x)])
def test_a_weight_that_is_cast_to_its_input_keeps_its_symmetries(cast):
    class Cast(nn.Sequential):
        def forward(self, x):
            for k, layer in enumerate(self):
                x = F.linear(x.relu() if k else x, cast(layer.weight, x), cast(layer.bias, x))
            return x

    layers = [nn.Linear(3, 4), nn.Linear(4, 5), nn.Linear(5, 2)]
    assert find_symmetries(Cast(*layers).eval(), torch.randn(6, 3)).dimension == 9


def test_a_weight_stored_as_a_vector_writes_with_its_rows():
    class Flat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Parameter(torch.randn(12)), nn.Linear(4, 2)

        def forward(self, x):
            return self.down(F.linear(x, self.up.view(4, 3)).relu())

    (found,) = mappings(find_symmetries(Flat().eval(), torch.randn(6, 3)))
    assert [each.parameter for each in found.writers] == ["up"]


def test_writers_and_readers_are_told_apart_without_a_tensor_as_input():
    class OnGrid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Parameter(torch.randn(4, 2)), nn.Parameter(torch.randn(3, 4))
            self.register_buffer("grid", torch.randn(7, 2))

        def forward(self, scale):
            return self.down @ (self.up @ self.grid.T).relu()

    (found,) = mappings(find_symmetries(OnGrid().eval(), (1.0,)))
    assert [found.writers[0].parameter, found.readers[0].parameter] == ["up", "down"]


@pytest.mark.parametrize("learnt", ["", "q", "k", "v", "kv", "qk", "qkv"])
def test_attention_is_read_as_the_products_that_it_stands_for(learnt):
    class Attention(nn.Module):
        def __init__(self, fused: bool) -> None:
            super().__init__()
            self.fused, self.out = fused, nn.Linear(4, 3)
            for name in "qkv":
                table = name in learnt
                setattr(self, name, nn.Parameter(torch.randn(1, 5, 4)) if table else nn.Linear(6, 4))

        def forward(self, x):
            q, k, v = (getattr(self, name) if name in learnt else getattr(self, name)(x) for name in "qkv")
            if self.fused:
                return self.out(F.scaled_dot_product_attention(q, k, v, scale=1.0)) + x[..., :3]
            return self.out(torch.softmax(q @ k.mT, -1) @ v) + x[..., :3]

    both = [find_symmetries(Attention(fused).eval(), torch.randn(2, 5, 6)) for fused in (True, False)]
    fused, manual = (sorted((h.group, h.writers, h.readers) for h in space.spaces) for space in both)
    assert fused == manual


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("layers", [1, 2])
def test_states_that_are_learnt_keep_the_order_of_layers_and_of_inputs(kind, layers):
    class Learnt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.run, self.head = kind(3, 4, layers), nn.Linear(4, 2)
            self.state = nn.Parameter(torch.randn(layers, 2, 4))

        def forward(self, x):
            start = (self.state, self.state) if kind is nn.LSTM else self.state
            return self.head(self.run(x, start)[0])

    model, x = Learnt().double().eval(), torch.randn(5, 2, 3).double()
    space = find_symmetries(model, x, check=False)
    moved = space.act(model, space.sample(generator()))
    torch.testing.assert_close(moved(x), model(x))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int8])
def test_weights_that_are_not_real_are_said_to_stay(dtype):
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.ones(6, 4, dtype=dtype), requires_grad=False)
            self.head = nn.Linear(6, 3)

        def forward(self, x):
            return self.head((x @ self.table.abs().float().T).relu())

    space = find_symmetries(Scaled().eval(), torch.randn(5, 4))
    assert (0, "only real weights are understood", ["table"]) in space.solution.frozen
