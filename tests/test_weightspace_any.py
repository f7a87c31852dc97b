"""Networks as their users write and call them: no group is too large, and what stops a run is named."""

import copy
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
import weightspace_models as zoo
from torch import nn
from torch.nn.utils import parametrizations, prune

from intertwine.weightspace import (
    balance,
    canonicalise,
    equivalent,
    find_symmetries,
    fold_biases,
    match,
    relative_error,
    rules,
    verify,
)
from intertwine.weightspace.rules.infer import RULES


class Net(nn.Module):
    """Two layers, with a step between them."""

    def __init__(self, step=None, enter=4, width=8, leave=8):
        super().__init__()
        self.a, self.b, self.step = nn.Linear(enter, width), nn.Linear(leave, 3), step

    def forward(self, x):
        return self.b(self.step(self.a(x)))


def randn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64)


def blocks(h):
    return h.view(*h.shape[:-1], 4, 2)


def held(model, x, *others, check=False, **options):
    """The space of a model, whose random elements keep its function on these inputs and leave it alone."""
    model = model.double().eval()
    before = copy.deepcopy(model.state_dict())
    space = find_symmetries(model, x, check=check, **options)
    draw = torch.Generator().manual_seed(0)
    for _ in range(2):
        moved = space.act(model, space.sample(draw, scale=0.5))
        for y in (x, *others):
            y = y if isinstance(y, tuple) else (y,)
            assert relative_error(moved(*y), model(*y)) < 1e-9
    assert all(x.equal(before[name]) for name, x in model.state_dict().items())
    return space


def groups(model, x, *others, **options):
    return sorted(hidden.group for hidden in held(model, x, *others, **options).spaces)


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(6, 4, dtype=torch.complex128))
        self.b = nn.Parameter(torch.randn(2, 6, dtype=torch.complex128))

    def forward(self, x):
        return F.linear(F.linear(x.to(torch.complex128), self.a), self.b).abs()


def changed(h):
    h = 2 * h
    h[:, None].add_(h[:, None].relu())
    return h


def put(h):
    full = torch.empty_like(h)
    full[:, :4].copy_(h[:, :4])
    full[:, 4:].copy_(h[:, 4:].relu())
    return full


def filled(h, where):
    full = torch.zeros(len(h) + 2, h.shape[1], dtype=h.dtype)
    full[where] = h
    return full


def paired(h):
    full = torch.zeros_like(blocks(h))
    at = torch.arange(len(h))
    full[at, at % 4] = blocks(h).relu()[:, 1]
    return full.flatten(-2)


def cut(h, number):
    h = 2 * h
    h[h < 0] = number
    return h


STEPS = {
    "a cast": (lambda h: h.type(torch.float64), ["GL(8)"]),
    "softmax across blocks": (lambda h: blocks(h).softmax(-2).flatten(-2), ["Σ_2", "Σ_4"]),
    "sum across blocks": (
        lambda h: (blocks(h) + blocks(h).sum(-2, keepdim=True)).flatten(-2),
        ["GL(2)", "Σ_4"],
    ),
    "layer norm across blocks": (
        lambda h: F.layer_norm(blocks(h).mT, (4,)).mT.flatten(-2),
        ["Σ_2", "Σ_4"],
    ),
    "attention between blocks": (
        lambda h: (blocks(h) @ blocks(h).mT @ blocks(h)).flatten(-2),
        ["Σ_2 ⋉ ({±1})^2", "Σ_4"],
    ),
    "a cast to integers": (lambda h: (8 * h.relu()).to(torch.int8).to(h.dtype), ["Σ_8"]),
    "roll without dims": (lambda h: h.roll(1), []),
    "msort": (lambda h: h.transpose(0, -1).msort().transpose(0, -1), []),
    "cumprod": (lambda h: h.cumprod(-1), []),
    "0 + h": (lambda h: sum([h, h.relu()]), ["Σ_8 ⋉ (R_{>0})^8"]),
    "a value that no output needs": (lambda h: (h[..., -1], h)[1], ["GL(8)"]),
    "an empty cache": (lambda h: torch.cat([torch.zeros(0), h], -1), ["GL(8)"]),
    "pad by a tensor": (lambda h: F.pad(h, (0, torch.tensor(2) + 1))[..., :8], ["GL(8)"]),
    "pad in front": (lambda h: F.pad(h, (1, 0))[..., :8].relu(), ["GL(1)", "Σ_7 ⋉ (R_{>0})^7"]),
    "rows one by one": (lambda h: torch.stack([row.relu() for row in h]), ["Σ_8 ⋉ (R_{>0})^8"]),
    "a square root": (lambda h: (h.exp() + 1).sqrt(), ["Σ_8"]),
    "division of a number": (lambda h: 1 / (h.square() + 1), ["Σ_8 ⋉ ({±1})^8"]),
    "where": (lambda h: torch.where(h > 0, h, -0.1 * h), ["Σ_8 ⋉ (R_{>0})^8"]),
    "where with ones": (lambda h: h.masked_fill(h > 0, 1.0), ["Σ_8"]),
    "where with zeros": (lambda h: h.masked_fill(h > 0, 0.0), ["Σ_8 ⋉ (R_{>0})^8"]),
    "the largest unit": (lambda h: h + h.max(-1, keepdim=True).values, []),
    "einsum": (lambda h: torch.einsum("...i,ij->...j", h, torch.ones(8, 8, dtype=h.dtype)), []),
    "a product with constants": (
        lambda h: (blocks(h) * torch.ones(1, 1, 2).cumsum(2)).flatten(-2),
        ["GL(4)"],
    ),
    "a change in place through a view that outlives the value": (
        lambda h: (2 * h)[:, None].squeeze(1).mul_(2),
        ["GL(8)"],
    ),
    "a value that is used after a change through a view": (changed, []),
    "what is copied to a part of a value": (put, []),
    "rows put where integers say": (lambda h: filled(h, torch.arange(len(h))), ["GL(8)"]),
    "rows put where a mask says": (lambda h: filled(h, torch.arange(len(h) + 2) > 1), ["GL(8)"]),
    "entries put by two tensors": (paired, ["Σ_2 ⋉ (R_{>0})^2"]),
    "units put in another order": (lambda h: filled(h.mT, torch.arange(8).flip(0)).mT[:, :8], []),
    "zeros put where a mask of units says": (lambda h: cut(h, 0), ["Σ_8 ⋉ (R_{>0})^8"]),
    "ones put where a mask of units says": (lambda h: cut(h, 1), ["Σ_8"]),
    "every second unit": (
        lambda h: torch.cat([h[..., ::2].sigmoid(), h[..., 1::2].sigmoid()], -1),
        ["Σ_4"],
    ),
    "variance of the units": (lambda h: h / (1 + h.var(-1, keepdim=True)), ["O(8), Q1 = ±1"]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_between_two_layers_leaves_the_group_of_theory(name):
    step, expected = STEPS[name]
    assert groups(Net(step), randn(1, 4), randn(9, 4)) == expected


def halves(h):
    return h[:, :4], h[:, 4:]


def wide(y):
    return y[:, None].expand(-1, 8)


def neighbours(h, by_hand):
    x = blocks(h)
    apart = torch.stack([x[:, k + 1] - x[:, k] for k in range(3)], 1) if by_hand else x.diff(dim=1)
    return F.pad(apart, (0, 0, 0, 1)).flatten(1)


NAMES = {  # an operation, and others that it is made of
    "hstack": (lambda h: torch.hstack([h, h.relu()])[:, 8:], lambda h: torch.cat([h, h.relu()], 1)[:, 8:]),
    "column_stack": (lambda h: torch.column_stack(halves(h)), lambda h: torch.cat(halves(h), 1)),
    "vstack": (lambda h: torch.vstack([h, h.abs()])[len(h) :], lambda h: torch.cat([h, h.abs()])[len(h) :]),
    "row_stack": (
        lambda h: torch.row_stack([h, h.abs()])[len(h) :],
        lambda h: torch.cat([h, h.abs()])[len(h) :],
    ),
    "dstack": (
        lambda h: torch.dstack([h[..., None], h[..., None].relu()])[..., 1],
        lambda h: torch.stack([h, h.relu()], 2)[..., 1],
    ),
    "tile": (lambda h: h[:, :4].tile(1, 2), lambda h: torch.cat([h[:, :4]] * 2, 1)),
    "subtract": (
        lambda h: torch.subtract(*halves(h)).tile(1, 2),
        lambda h: (h[:, :4] - h[:, 4:]).repeat(1, 2),
    ),
    "fmax": (lambda h: torch.fmax(h, 2 * h), lambda h: torch.maximum(h, 2 * h)),
    "fmin": (lambda h: torch.fmin(h, 2 * h), lambda h: torch.minimum(h, 2 * h)),
    "lerp by a number": (
        lambda h: torch.lerp(*halves(h), 0.3).repeat(1, 2),
        lambda h: (0.7 * h[:, :4] + 0.3 * h[:, 4:]).repeat(1, 2),
    ),
    "lerp by a mask": (
        lambda h: torch.lerp(h, 2 * h, (h > 0).double()),
        lambda h: torch.where(h > 0, 2 * h, h),
    ),
    "lerp by units": (
        lambda h: torch.lerp(h, 2 * h, h.sigmoid()),
        lambda h: h * (1 - h.sigmoid()) + 2 * h * h.sigmoid(),
    ),
    "vecdot": (
        lambda h: wide(torch.linalg.vecdot(*halves(h))),
        lambda h: wide(torch.einsum("bi,bi->b", *halves(h))),
    ),
    "vecdot of blocks": (
        lambda h: torch.linalg.vecdot(blocks(h), blocks(h).relu(), dim=1).repeat(1, 4),
        lambda h: torch.einsum("bij,bij->bj", blocks(h), blocks(h).relu()).repeat(1, 4),
    ),
    "cosine_similarity": (
        lambda h: wide(F.cosine_similarity(*halves(h))),
        lambda h: wide(torch.einsum("bi,bi->b", *map(F.normalize, halves(h)))),
    ),
    "diff": (lambda h: neighbours(h, False), lambda h: neighbours(h, True)),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_by_another_name_leaves_the_same_group(name):
    one, other = (groups(Net(step), randn(1, 4), randn(9, 4)) for step in NAMES[name])
    assert one == other != []


@pytest.mark.parametrize("number, same", [(-1, slice(3, 4)), (1, slice(1, 2))])
def test_a_list_of_one_number_takes_what_a_slice_takes(number, same):
    listed, sliced = (
        Net(lambda h, at=at: blocks(h)[:, at, :].relu().flatten(-2), leave=2) for at in ([number], same)
    )
    assert groups(listed, randn(3, 4)) == groups(sliced, randn(3, 4)) != []


def test_complex_weights_do_not_move():
    assert groups(Complex(), randn(3, 4)) == []


class AddMM(Net):
    def forward(self, x):
        return self.b(torch.addmm(self.a.bias, x, self.a.weight.T).relu())


class Einsum(Net):
    def forward(self, x):
        return torch.einsum("bi,oi->bo", torch.einsum("bi,oi->bo", x, self.a.weight), self.b.weight)


def test_products_of_matrices_are_linear_layers():
    assert groups(AddMM(), randn(3, 4)) == ["Σ_8 ⋉ (R_{>0})^8"]
    assert groups(Einsum(), randn(3, 4)) == ["GL(8)"]


def test_a_gated_linear_unit_scales_its_values():
    assert groups(Net(lambda h: F.glu(h, -1), leave=4), randn(3, 4)) == ["Σ_4 ⋉ (R^*)^4"]


def test_grouped_queries_share_their_keys():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(4, n, bias=False) for n in (12, 6, 6))
            self.out = nn.Linear(12, 2)

        def forward(self, x):
            q, k, v = (f(x).unflatten(-1, (-1, 3)).transpose(1, 2) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
            return self.out(y.transpose(1, 2).flatten(2))

    assert groups(Attention(), randn(2, 5, 4)) == [*["GL(3) for each of 2"] * 2, "Σ_2", "Σ_2 for each of 2"]


@torch.no_grad()
def disturbed(h):
    with torch._C.DisableTorchFunction():
        return h.tanh()


class Force(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x):
        with torch.enable_grad():
            x = x.clone().requires_grad_()
            y = self.n(x)
            return torch.autograd.grad(y, x, torch.ones_like(y))[0]


@pytest.mark.parametrize("model", [Net(disturbed), Force()])
def test_what_a_run_does_not_see_does_not_move(model):
    space = held(model, randn(3, 4), randn(2, 4))
    assert space.spaces == []
    assert "not seen to reach an output" in space.to_frame()["why"].tolist()


def test_only_weights_that_reach_no_output_are_said_not_to():
    model = Net(torch.tanh)
    model.c = nn.Linear(4, 5)
    space = find_symmetries(model.eval(), randn(3, 4).float())
    left = [names for _, why, names in space.solution.frozen if why == "not seen to reach an output"]
    assert left == [["c.weight", "c.bias"]]


def test_the_check_freezes_only_what_is_wrong(monkeypatch):
    monkeypatch.setitem(RULES, "cumsum", RULES["clone"])

    class Half(Net):
        def forward(self, x):
            return super().forward(x) + self.d(self.c(x).relu())

    model = Half(lambda h: h.cumsum(-1))
    model.c, model.d = nn.Linear(4, 5), nn.Linear(5, 3)
    space = held(model, randn(3, 4), check=True)
    assert [hidden.group for hidden in space.spaces] == ["Σ_5 ⋉ (R_{>0})^5"]
    assert "an element of it changed the outputs when checked" in space.to_frame()["why"].tolist()


def test_the_check_sees_what_is_wrong_in_an_imaginary_part_and_verify_how_much(monkeypatch):
    monkeypatch.setitem(RULES, "cumsum", RULES["clone"])

    class Imaginary(Net):
        def forward(self, x):
            return torch.complex(x[..., :3], super().forward(x))

    model, x = Imaginary(lambda h: h.cumsum(-1)).double().eval(), randn(3, 4)
    assert find_symmetries(model, x).spaces == []
    space = find_symmetries(model, x, check=False)
    assert verify(space, model, space.sample(torch.Generator().manual_seed(0)), x).output > 1e-3


def test_representations_of_complex_numbers_move_as_verify_predicts():
    model = Net(lambda h: torch.complex(h, h.flip(0)).abs()).double().eval()
    space, x = find_symmetries(model, randn(3, 4)), randn(3, 4)
    found = verify(space, model, space.sample(torch.Generator().manual_seed(0)), x)
    assert found.output < 1e-9 and (found.spaces["error"] < 1e-9).all()
    model = Net(lambda h: torch.view_as_real(h * 1j).flatten(-2), leave=16).double().eval()
    space = find_symmetries(model, x)
    found = verify(space, model, space.sample(torch.Generator().manual_seed(0)), x)
    assert found.output < 1e-9 and (found.spaces["error"] < 1e-9).all()


def test_what_the_check_has_frozen_stays_so_while_it_finds_the_next(monkeypatch):
    rounds = []

    def first_alone(space, *_):
        rounds.append(len(space.spaces))
        assert len(rounds) < 9  # else it would go on without end
        return space.spaces[:1]

    monkeypatch.setattr("intertwine.weightspace.find.spaces_that_change_outputs", first_alone)
    layers = [layer for _ in range(3) for layer in (nn.Linear(4, 4), nn.ReLU())]
    space = find_symmetries(nn.Sequential(*layers, nn.Linear(4, 2)).eval(), randn(3, 4).float())
    assert rounds == [3, 2, 1] and space.spaces == []


def test_the_check_draws_an_order_that_moves_two_units(monkeypatch):
    monkeypatch.setitem(RULES, "cumsum", RULES["clone"])
    model = Net(lambda h: h.softmax(-1).cumsum(-1), width=2, leave=2)
    assert held(model, randn(3, 4), check=True).spaces == []


def test_a_check_that_sees_no_finite_output_says_so():
    with pytest.warns(UserWarning, match="not checked, since no output"):
        space = find_symmetries(Net(torch.relu).eval(), torch.full((1, 4), torch.nan))
    assert len(space.spaces) == 1


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.p, self.v, self.o = nn.Linear(3, 8), nn.Linear(3, 2), nn.Linear(2, 3)

    def forward(self, x):
        p = self.p(x).tanh().view(-1, 2, 2, 2)
        p = torch.cat(p.split(1, dim=2), dim=3).sum(-1)
        return self.o(p.view(-1, 2) * self.v(x))


def test_blocks_within_blocks_of_which_parts_are_taken_move_as_a_whole():
    assert groups(Nested(), randn(2, 3), randn(5, 3)) == ["Σ_2", "Σ_2 for each of 2"]


class Fused(nn.Module):
    """Attention of four heads, with the queries, keys and values of each head side by side in one layer."""

    def __init__(self, layer, cut):
        super().__init__()
        self.layer, self.cut, self.out = layer, cut, nn.Linear(16, 3)

    def forward(self, x):
        q, k, v = self.cut(self.layer(x))
        return self.out(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(-2))


def partly(q, k, v):
    """Half of the units of queries and keys are multiplied by their positions."""
    place = torch.arange(5.0, dtype=q.dtype)[:, None]
    return *(torch.cat([place * z[..., :2], z[..., 2:]], -1) for z in (q, k)), v


LINES, IMAGES = (2, 5, 6), (2, 6, 5, 1)
CUTS = {
    "chunks": (LINES, lambda y: y.unflatten(-1, (4, 12)).transpose(1, 2).chunk(3, -1), [4, 4]),
    "one by one": (LINES, lambda y: y.view(2, 5, 4, 3, 4).transpose(1, 2).unbind(3), [4, 4]),
    "of images": (IMAGES, lambda y: (z.mT for z in y.reshape(2, 4, 12, 5).split(4, 2)), [4, 4]),
    "cut again": (
        LINES,
        lambda y: partly(*y.unflatten(-1, (4, 12)).transpose(1, 2).chunk(3, -1)),
        [2, 2, 4],
    ),
}


@pytest.mark.parametrize("shape, cut, sizes", CUTS.values(), ids=CUTS)
def test_parts_of_each_head_have_groups_of_their_own(shape, cut, sizes):
    model = Fused(nn.Linear(6, 48) if shape == LINES else nn.Conv2d(6, 48, 1), cut)
    space = held(model, randn(*shape), randn(*shape).flip(0))
    assert sorted(x.group for x in space.spaces) == [f"GL({n}) for each of 4" for n in sizes] + ["Σ_4"]
    element = space.sample(torch.Generator().manual_seed(0))
    found = verify(space, model, element, randn(*shape))
    assert found.output < 1e-9 and found.spaces["error"].max() < 1e-9


class Experts(nn.Module):
    def __init__(self, visit):
        super().__init__()
        self.i, self.g = nn.Linear(4, 8), nn.Linear(8, 4)
        self.e = nn.ModuleList(nn.Linear(8, 2) for _ in range(4))
        self.visit = visit

    def forward(self, x):
        h = self.i(x).relu()
        chosen, out = self.g(h).argmax(-1), h.new_zeros(len(x), 2)
        for k, e in enumerate(self.e):
            at = torch.where(chosen == k)[0]
            if self.visit(at):
                out = out.index_add(0, at, e(h[at]))
        return out


class Exit(Net):
    def forward(self, x):
        h = self.a(x).relu()
        return self.b(h) if torch.is_nonzero((h.sum() > 4).long()) else self.b(2 * h)


BRANCHES = [
    (Experts(len), "__len__"),
    (Experts(lambda at: list(at)), "unbind"),
    (Exit(), "is_nonzero"),
    (Net(lambda h: h if torch.equal(h, h.abs()) else -h), "equal"),
]


@pytest.mark.parametrize("model, reads", BRANCHES)
def test_branches_on_values_are_noticed_and_located(model, reads):
    with pytest.raises(
        ValueError, match=rf"line \d+ of test_weightspace_any.py\) reads a tensor with {reads}"
    ):
        find_symmetries(model.double().eval(), randn(1, 4))


def test_an_error_names_the_module_and_the_line():
    model = nn.Sequential(Net(lambda h: torch.vmap(torch.sin)(h))).eval()
    with pytest.raises(ValueError, match=r"module '0' \(line \d+ of test_weightspace_any.py\) raises"):
        find_symmetries(model, torch.zeros(1, 4))


class Masked(Net):
    def forward(self, x, mask):
        return self.b(self.a(x) if mask.all() else self.a(x) * mask[..., None])


def test_integers_and_booleans_may_steer_a_run():
    model, mask = Masked(), torch.ones(3, dtype=torch.bool)
    space = held(model, (randn(3, 4), mask), (randn(3, 4) + 1, mask))
    assert [hidden.group for hidden in space.spaces] == ["GL(8)"]
    assert "for masks like this one" in str(space)


def test_weights_that_the_run_does_not_use_are_listed():
    model = Net(torch.relu)
    model.rest = nn.Linear(2, 2)
    table = held(model, randn(1, 4)).to_frame().set_index("why")
    assert table.loc["not seen to reach an output", "writers"] == "rest.weight, rest.bias"


class Fields(Net):
    def forward(self, x):
        h = self.a(x).relu()
        return (
            SimpleNamespace(logits=self.b(h), hidden=h) if self.step else {"logits": self.b(h), "hidden": h}
        )


@pytest.mark.parametrize("step", [None, "object"])
def test_outputs_are_chosen_by_name(step):
    model, x = Fields(step).eval(), torch.zeros(1, 4)
    assert find_symmetries(model, x).spaces == []
    assert [s.group for s in find_symmetries(model, x, outputs="logits").spaces] == ["Σ_8 ⋉ (R_{>0})^8"]
    with pytest.raises(ValueError, match="Expected outputs that the model returns, was given 'loss'"):
        find_symmetries(model, x, outputs="loss")


class Slotted:
    __slots__ = ("__hidden", "again")

    def __init__(self, h):
        self.__hidden, self.again = h, self


class Result(dict):
    """A dictionary with attributes, as outputs of transformers are."""


def beside(y, h):
    result = Result(y=y)
    result.y, result.more = y, {"h": h}
    return result


def normal_at(h):
    return torch.distributions.Normal(h, 1.0, validate_args=False)


class KeyCache(SimpleNamespace):
    pass


RETURNS = {
    "a distribution beside a tensor": lambda y, h: (normal_at(h), y),
    "a distribution alone": lambda y, h: torch.distributions.Independent(
        normal_at(h), 1, validate_args=False
    ),
    "an object in a dictionary": lambda y, h: {"y": y, "more": [SimpleNamespace(h={"h": h})]},
    "a slot, in an object that refers to itself": lambda y, h: [y, Slotted(h)],
    "an attribute of a dictionary": beside,
}


class Returns(Net):
    def forward(self, x):
        h = self.a(x).relu()
        return self.step(self.b(h), h)


@pytest.mark.parametrize("kind", RETURNS)
def test_what_lies_in_an_object_among_the_outputs_is_an_output(kind):
    x, model, other = randn(5, 4), *(Returns(RETURNS[kind]).double().eval() for _ in "12")
    assert held(Returns(lambda y, h: y), x).dimension > 0
    assert find_symmetries(model, x).spaces == []
    other.b.load_state_dict(model.b.state_dict())
    assert equivalent(model, model, x) and not equivalent(model, other, x)


def test_keys_and_values_that_a_model_returns_for_later_are_no_outputs():
    cached = Returns(lambda y, h: {"y": y, "past": KeyCache(keys=h), "model": nn.ParameterList([h])})
    assert len(find_symmetries(cached.double().eval(), randn(5, 4)).spaces) == 1
    twice = [Returns(step).double().eval() for step in (lambda y, h: (y, y), lambda y, h: (y, y.clone()))]
    twice[1].load_state_dict(twice[0].state_dict())
    assert equivalent(*twice, randn(5, 4))


def test_position_0_of_a_single_tensor_is_all_of_it():
    x, one, other = randn(5, 4), *(nn.Linear(4, 3, bias=False).double().eval() for _ in "12")
    x[0] = 0  # of which all such layers make zeros
    assert not equivalent(one, other, x, outputs=0)
    with pytest.raises(
        ValueError, match="Expected outputs that the model returns, was given 'T': it returns a"
    ):
        find_symmetries(one, x, outputs="T")


def test_a_sparse_output_is_compared_by_its_entries():
    model = Returns(lambda y, h: (y.to_sparse(), y)).double().eval()
    other = Returns(lambda y, h: (2 * y.to_sparse(), y)).double().eval()
    other.load_state_dict(model.state_dict())
    assert find_symmetries(model, randn(5, 4)).dimension == 0  # as no rule knows what sparse values keep
    assert equivalent(model, model, randn(5, 4)) and not equivalent(model, other, randn(5, 4))


@dataclass
class Batch:
    x: torch.Tensor
    scale: float = 2.0


class Batched(Net):
    def forward(self, batch):
        return self.b(self.step(self.a(batch.x) * batch.scale))


@pytest.mark.parametrize("make", [Batch, lambda x: SimpleNamespace(x=x, scale=2.0)])
def test_inputs_may_lie_in_an_object_and_steer_no_step(make, monkeypatch):
    x, model = make(randn(5, 4)), Batched(torch.relu).double().eval()
    before, space = x.x.clone(), find_symmetries(model, x)
    assert [hidden.group for hidden in space.spaces] == ["Σ_8 ⋉ (R_{>0})^8"]
    moved = space.act(model, space.sample(torch.Generator().manual_seed(0)))
    assert relative_error(moved(x), model(x)) < 1e-9 and x.x.equal(before)
    # in float32, too, the check is in float64, which finds what is wrong
    monkeypatch.setitem(RULES, "cumsum", RULES["clone"])
    half = make(randn(5, 4).float())
    assert find_symmetries(Batched(lambda h: h.cumsum(-1)).eval(), half).spaces == []

    class Branched(Batched):
        def forward(self, batch):
            return super().forward(batch) if batch.x.sum() > 0 else batch.x

    with pytest.raises(ValueError, match="do not depend on the values of its weights or real inputs"):
        find_symmetries(Branched(torch.relu).double().eval(), x)


class Clamps(Net):
    def forward(self, x):
        with torch.no_grad():
            self.a.weight.data.mul_(0.5)
            torch.clamp(self.b.weight, -0.1, 0.1, out=self.b.weight)
        return super().forward(x)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("kind", ["by itself", "by max_norm"])
def test_weights_that_a_run_changes_are_as_before_after_every_use(kind, large, monkeypatch):
    if large:
        monkeypatch.setattr("intertwine.weightspace.uses.check.LARGE", 0)
    model, x = Clamps(torch.relu).double().eval(), randn(5, 4)
    if kind == "by max_norm":
        words, x = nn.Embedding(6, 4, max_norm=1.0), torch.arange(6)
        model = nn.Sequential(words, nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)).double().eval()
        nn.init.normal_(words.weight, std=5)
    before = copy.deepcopy(model.state_dict())
    space = find_symmetries(model, x)
    assert equivalent(model, model, x)
    fold_biases(space, model, x)
    assert all(y.equal(before[name]) for name, y in model.state_dict().items())


class Keeps(Net):
    def forward(self, x):
        self.kept = self.a(x)
        return self.b(self.kept.relu())


def test_a_model_that_keeps_an_activation_can_be_moved_before_and_after_a_run():
    model, x = Keeps(), randn(2, 4)
    space = held(model, x)
    model(x)
    moved = space.act(model, space.sample(torch.Generator()))
    assert relative_error(moved(x), model(x)) < 1e-9


class Cached(Net):
    def __init__(self):
        super().__init__()
        self.cache_options, self.cache = {"scale": 2.0}, {}

    def forward(self, x):
        if "bias" not in self.cache:
            self.cache["bias"] = self.a.bias * self.cache_options["scale"]
        return self.b((x @ self.a.weight.mT + self.cache["bias"]).relu())


@pytest.mark.parametrize("grad", [True, False])
def test_a_copy_keeps_options_of_a_cache_and_not_what_runs_have_left_there(grad):
    model, x = Cached().double().eval(), randn(9, 4)
    space = find_symmetries(model, x)
    with torch.set_grad_enabled(grad):
        model(x)
    assert str(find_symmetries(model, x)) == str(space)
    moved = space.act(model, space.sample(torch.Generator().manual_seed(0)))
    assert moved.cache_options == {"scale": 2.0} and not moved.cache
    assert relative_error(moved(x), model(x)) < 1e-9


class Scaled(Net):
    """A number in a dictionary that is called a cache, which the constructor has put there."""

    def __init__(self, step):
        super().__init__(step)
        self.cache = {"scale": torch.tensor(3.0)}

    def forward(self, x):
        return self.b(self.a(x).relu() * self.step(self.cache))


@pytest.mark.parametrize(
    "step, said",
    [
        (
            lambda cache: cache.get("scale", 1.0),
            "tensors in cache, which .* put there: as a copy .* has it empty",
        ),
        (
            lambda cache: cache["scale"],
            "raises \"'scale'\": as a copy of the model has cache empty, register",
        ),
    ],
)
def test_a_cache_that_no_run_fills_is_named_as_a_copy_would_lose_it(step, said):
    for use in (find_symmetries, lambda model, x: equivalent(model, model, x)):
        with pytest.raises(ValueError, match=said):
            use(Scaled(step).eval(), randn(5, 4).float())


class Gate(nn.Module):
    """An activation alone, and beside a second tensor, a product with it."""

    def forward(self, x, gate=None):
        return x.relu() if gate is None else x.relu() * gate


class Gated(Net):
    def __init__(self, step):
        super().__init__(step)
        self.c, self.gate = nn.Linear(4, 8), Gate()

    def forward(self, x):
        return self.b(self.step(self, self.a(x), self.c(x)))


GATED = {
    "positional": lambda s, h, g: s.gate(h, g),
    "by keyword": lambda s, h, g: s.gate(h, gate=g),
    "both by keyword": lambda s, h, g: s.gate(gate=g, x=h),
}


@pytest.mark.parametrize("name", GATED)
def test_an_activation_with_a_second_tensor_is_traced_inside(name):
    x = randn(5, 4)
    assert groups(Gated(GATED[name]), x) == groups(Gated(lambda s, h, g: h.relu() * g), x)
    alone = Gated(lambda s, h, g: s.gate(x=h) + s.gate(g))
    assert groups(alone, x) == groups(Gated(lambda s, h, g: h.relu() + g.relu()), x)
    calls = find_symmetries(alone.eval(), x).inference.run.calls
    assert [call.name for call in calls].count("Gate") == 2


class Forgetful(nn.Flatten):
    """A layer that a deep copy builds anew, in training mode, as those of einops are."""

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        self.__init__()


@pytest.mark.parametrize("training", [False, True])
def test_copies_keep_the_mode_of_every_module(training):
    model, x = Net(Forgetful()).double().eval(), randn(2, 4)
    space = find_symmetries(model, x)
    element = space.sample(torch.Generator().manual_seed(0))
    model.train(training).a.train(not training)
    for moved in (space.act(model, element), balance(space, model).model):
        assert [each.training for each in moved.modules()] == [each.training for each in model.modules()]


def test_a_feature_extractor_has_the_group_of_its_network_and_stays_in_evaluation_mode():
    from torchvision.models.feature_extraction import create_feature_extractor

    network, x = zoo.slim("resnet18").double().eval(), randn(2, 3, 16, 16)
    network.layer3 = network.layer4 = network.fc = nn.Identity()  # so that it is quick
    model = create_feature_extractor(network, ["flatten"]).eval()
    space = find_symmetries(model, x[:1])
    assert space.dimension == find_symmetries(network, x[:1]).dimension > 0
    moved = space.act(model, space.sample(torch.Generator().manual_seed(0)))
    assert relative_error(moved(x)["flatten"], model(x)["flatten"]) < 1e-9


def test_weights_made_from_parameters_move():
    made = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 8)), nn.ReLU(), nn.Linear(8, 2))
    assert groups(made, randn(3, 4)) == ["Σ_8 ⋉ (R^* × R_{>0})^8"]
    deep = nn.Sequential(nn.Linear(4, 8), nn.utils.parametrizations.weight_norm(nn.Linear(8, 2)))
    assert groups(deep, randn(3, 4)) == ["O(8)"]


def rms(x, dim=-1):
    return x * torch.rsqrt(x.to(torch.float64).pow(2).mean(dim, keepdim=True) + 1e-3)


def centred(x, dim=-1):
    u = x.mean(dim, keepdim=True)
    return (x - u) / torch.sqrt((x - u).pow(2).mean(dim, keepdim=True) + 1e-3)


def deviation(x, dim=-1):
    return (x - x.mean(dim, keepdim=True)) / (x.std(dim, keepdim=True) + 1e-3)


def unit(x, dim=-1):
    return x / x.norm(dim=dim, keepdim=True)


class Gain(Net):
    def __init__(self, step):
        super().__init__(step)
        self.gain = nn.Parameter(torch.rand(8) + 1)

    def forward(self, x):
        return self.b(self.gain * self.step(self.a(x)))


NORMS = [(rms, "O(8)"), (unit, "O(8)"), (F.normalize, "O(8)"), (centred, "O(8), Q1 = ±1")]
NORMS += [
    (deviation, "O(8), Q1 = ±1"),
    (lambda x: x / (1 + x.abs().mean(-1, keepdim=True)), "Σ_8 ⋉ ({±1})^8"),
]


@pytest.mark.parametrize("norm, group", NORMS)
def test_norms_written_by_hand_are_recognised_by_what_they_compute(norm, group):
    assert groups(Net(norm), randn(1, 4), randn(5, 4)) == [group]
    model = Gain(norm)
    assert not group.startswith("O") or groups(model, randn(3, 4)) == ["(R^*)^8", group]


def test_a_norm_along_channels_is_recognised_on_any_axis():
    model = Net(lambda h: centred(h.transpose(1, 2), 1).transpose(1, 2))
    assert groups(model, randn(2, 5, 4)) == ["O(8), Q1 = ±1"]
    # the axis that it treats differently stands behind that of the channels
    lengths = lambda x: x.square().mean(1, keepdim=True).add(1e-3).sqrt()  # noqa: E731
    uneven = lambda x: x / (lengths(x) * torch.arange(1.0, 6)[None, None])  # noqa: E731
    model = Net(lambda h: uneven(h.transpose(1, 2)).transpose(1, 2))
    assert groups(model, randn(2, 5, 4)) == ["O(8)"]


class Summed(nn.Module):
    """Weights that are used as what a function makes of them, here or in several calls."""

    def __init__(self, *functions, gains=1):
        super().__init__()
        self.functions = functions
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 3)
        self.w = nn.ParameterList(nn.Parameter(randn(8).float()) for _ in range(gains))

    def forward(self, x):
        x = self.a(x)
        for k, function in enumerate(self.functions):
            x = F.rms_norm(x, (8,)) * function(self.w[k % len(self.w)])
        return self.b(x)


GAIN = ["(R^*)^8", "O(8)"]
SUMS = {
    "1 + w": (lambda w: 1 + w, GAIN),
    "casts that return their argument": (lambda w: (1.0 + w.double()).double(), GAIN),
    "2 - 3w": (lambda w: 2 - w * 3, GAIN),
    "add with alpha": (lambda w: torch.add(w, 1, alpha=1), GAIN),
    "w": (lambda w: w, GAIN),
    "w itself, too": (lambda w: (1 + w) * w, ["Σ_8 ⋉ ({±1})^8"]),
    "a square, where w and -w are one": (lambda w: 1 + w.square(), ["Σ_8 ⋉ (({±1})^2)^8"]),
    "another number for each unit": (lambda w: w + torch.arange(8), []),
    "another order": (lambda w: 1 + w.flip(0), []),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_weight_that_is_used_with_a_number_added_moves_with_what_it_adds_to(name):
    function, expected = SUMS[name]
    assert groups(Summed(function), randn(5, 4)) == expected


def test_a_norm_that_is_called_twice_has_one_gain_1_plus_w():
    functions = [lambda w: 1 + w] * 2
    twice, apart = (held(Summed(*functions, gains=n), randn(5, 4)) for n in (1, 2))
    assert twice.dimension < apart.dimension
    assert sorted({name for h in twice.spaces for name in h.writers}) == ["a.bias", "a.weight", "w.0"]
    other = held(Summed(lambda w: 1 + w, lambda w: 2 + w), randn(5, 4))  # two numbers, one weight
    assert [h.group for h in other.spaces] == ["Σ_8 ⋉ ({±1})^8"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_a_sum_with_a_number_the_weight_keeps_its_dtype_and_what_does_not_move_its_bits(dtype):
    model = Summed(lambda w: 1 + w.float()).eval()
    with torch.no_grad():
        model.w[0].mul_(1e-3)  # 16 bits beside 1 would hold 3 of these numbers
    model.w[0].data = model.w[0].data.to(dtype)
    space, x = find_symmetries(model, torch.randn(5, 4)), torch.randn(5, 4)
    moved = space.act(model, space.identity())
    assert moved.w[0].dtype == dtype and torch.equal(moved.w[0], model.w[0])
    moved = space.act(model, space.sample(torch.Generator().manual_seed(0), scale=0.5))
    assert moved.w[0].dtype == dtype
    assert relative_error(moved(x), model(x)) < (1e-5 if dtype == torch.float32 else 1e-2)


def turned(x, interleaved=False):
    """Pairs of units, turned by angles that grow with the position."""
    n, d = x.shape[-2:]
    angles = torch.outer(torch.arange(n), torch.linspace(0.1, 1, d // 2)).to(x)
    if interleaved:
        other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        angles = angles.repeat_interleave(2, -1)
    else:
        other, angles = torch.cat((-x[..., d // 2 :], x[..., : d // 2]), -1), angles.repeat(1, 2)
    return x * angles.cos() + other * angles.sin()


class Rotary(nn.Module):
    """Scores of queries and keys at turned positions; `step` is in front of the rotation, or behind it."""

    def __init__(self, step=None, behind=False, **options):
        super().__init__()
        self.q, self.k = nn.Linear(4, 6), nn.Linear(4, 6)
        steps = [step or (lambda h: h), lambda h: turned(h, **options)]
        self.steps = steps[::-1] if behind else steps

    def forward(self, x):
        q, k = (self.steps[1](self.steps[0](f(x))) for f in (self.q, self.k))
        return (q @ k.mT).softmax(-1)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_positions_leave_a_complex_number_for_each_pair(interleaved):
    model, x = Rotary(interleaved=interleaved), randn(2, 5, 4)
    assert groups(model, x, randn(3, 5, 4)) == ["(C^*)^3"]
    space = find_symmetries(model, x)
    assert space.dimension == 6 and space.components == 1
    moved = space.act(model, space.sample(torch.Generator().manual_seed(3)))
    one, other = (canonicalise(space, each).model for each in (model, moved))
    torch.testing.assert_close(one.k.weight, other.k.weight)
    torch.testing.assert_close(match(space, model, moved).model.q.weight, model.q.weight)


STILL = [torch.tanh, lambda h: F.rms_norm(h, (6,)), lambda h: torch.cat([h[..., :2].tanh(), h[..., 2:]], -1)]


@pytest.mark.parametrize("step", STILL)
@pytest.mark.parametrize("behind", [False, True])
def test_rotary_positions_of_units_that_are_not_mixed_linearly_stay(step, behind):
    assert groups(Rotary(step, behind), randn(2, 5, 4)) == []


def test_a_sum_of_a_value_with_itself_is_no_rotation():
    assert groups(Net(lambda h: h + 2 * h), randn(3, 4)) == ["GL(8)"]


class Recurrent(nn.Module):
    def __init__(self, kind, last=False, **options):
        super().__init__()
        self.r, self.last = kind(4, 6, batch_first=True, **options), last
        self.b = nn.Linear(12 if options.get("bidirectional") else 6, 3)

    def forward(self, x):
        outputs, state = self.r(x)
        return self.b((state[0] if isinstance(state, tuple) else state)[-1] if self.last else outputs)


RECURRENT = [
    (nn.LSTM, {}, ["Σ_6 ⋉ ({±1})^6"]),
    (nn.LSTM, {"num_layers": 2, "last": True}, ["Σ_6 ⋉ ({±1})^6"] * 2),
    (nn.LSTM, {"bidirectional": True, "bias": False}, ["Σ_6 ⋉ ({±1})^6"] * 2),
    (nn.GRU, {"num_layers": 2}, ["Σ_6 ⋉ ({±1})^6"] * 2),
    (nn.RNN, {}, ["Σ_6 ⋉ ({±1})^6"]),
    (nn.RNN, {"nonlinearity": "relu"}, ["Σ_6 ⋉ (R_{>0})^6"]),
    (nn.LSTM, {"proj_size": 3}, []),
]


@pytest.mark.parametrize("kind, options, expected", RECURRENT)
def test_recurrent_layers_have_the_groups_of_theory(kind, options, expected):
    model = Recurrent(kind, **options)
    if options.get("proj_size"):
        model.b = nn.Linear(3, 3)
    assert groups(model, randn(2, 5, 4), randn(3, 5, 4)) == expected


class Cells(nn.Module):
    """Steps of a recurrent cell, one after another."""

    def __init__(self, kind, **options):
        super().__init__()
        self.a, self.r, self.b = nn.Linear(3, 4), kind(4, 6, **options), nn.Linear(6, 3)

    def forward(self, x):
        state = None
        for step in self.a(x).unbind(1):
            state = self.r(step, state)
        return self.b(state[0] if isinstance(state, tuple) else state)


@pytest.mark.parametrize(
    "kind, options, expected",
    [
        (nn.LSTMCell, {}, "Σ_6 ⋉ ({±1})^6"),
        (nn.GRUCell, {"bias": False}, "Σ_6 ⋉ ({±1})^6"),
        (nn.RNNCell, {}, "Σ_6 ⋉ ({±1})^6"),
        (nn.RNNCell, {"nonlinearity": "relu"}, "Σ_6 ⋉ (R_{>0})^6"),
    ],
)
def test_recurrent_cells_have_the_groups_of_their_layers(kind, options, expected):
    # and what enters a cell is read by it alone
    assert groups(Cells(kind, **options), randn(2, 5, 3), randn(4, 5, 3)) == ["GL(4)", expected]


class Scan(nn.Module):
    """A selective state space as in Mamba: of 6 channels, with 3 states each, one step after another."""

    def __init__(self):
        super().__init__()
        self.a, self.enter, self.b = nn.Linear(3, 6), nn.Linear(6, 7), nn.Linear(6, 2)
        self.rates = nn.Parameter(torch.randn(6, 3))

    def forward(self, x):
        x = F.silu(self.a(x))
        step, into, out = self.enter(x).split([1, 3, 3], -1)
        decay = (-F.softplus(step)[..., None] * self.rates.exp()).exp()
        enter = into[:, :, None] * x[..., None]
        state, ys = x.new_zeros(len(x), 6, 3), []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + enter[:, t]
            ys.append(torch.einsum("ben,bn->be", state, out[:, t]))
        return self.b(torch.stack(ys, 1))


def test_states_of_a_state_space_have_a_number_each():
    # what enters the n-th state times c, what reads it over c; the decay keeps states from being mixed
    assert groups(Scan(), randn(2, 5, 3), randn(3, 4, 3)) == ["Σ_3 ⋉ (R^*)^3", "Σ_6"]


class Products(nn.Module):
    """A bilinear layer of units behind a ReLU and of others, and what `tensordot` reads of a third layer."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, n) for n in (4, 5, 6))
        self.both, self.d = nn.Bilinear(4, 5, 7), nn.Linear(7, 2)
        self.w = nn.Parameter(torch.randn(2, 6, 3))

    def forward(self, x):
        both = self.d(self.both(self.a(x).relu(), self.b(x)))
        return both + torch.tensordot(self.c(x), self.w, dims=([2], [1])).sum(-1)


class ByHand(nn.Linear):
    def forward(self, x):
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_that_is_written_as_a_product_is_that_layer(bias):
    class Heads(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.qkv, self.out = layer(6, 24, bias), layer(8, 3, bias)

        def forward(self, x):
            q, k, v = (t.transpose(1, 2) for t in self.qkv(x).unflatten(-1, (2, 3, 4)).unbind(-2))
            return self.out(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))

    one, other = (groups(Heads(layer), randn(2, 5, 6), randn(3, 4, 6)) for layer in (ByHand, nn.Linear))
    assert one == other == ["GL(4) for each of 2", "GL(4) for each of 2", "Σ_2"]


def test_a_product_that_a_module_returns_keeps_its_name_where_a_bias_is_added_outside():
    class Product(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 3))

        def forward(self, x):
            return x @ self.w.T

    class Outside(nn.Module):
        def __init__(self):
            super().__init__()
            self.product, self.b, self.out = Product(), nn.Parameter(torch.randn(4)), nn.Linear(4, 2)

        def forward(self, x):
            return self.out((self.product(x) + self.b).relu())

    space = held(Outside(), randn(5, 3), randn(6, 3))
    assert space["product"] is space.spaces[0]


def by_heads(x):
    return x.unflatten(-1, (3, 4)).transpose(1, 2).reshape(-1, x.shape[1], 4)


def test_heads_of_all_images_on_one_axis_are_those_of_one_image_again_and_again():
    class Relative(nn.Module):  # attention with scores of positions, as in DeBERTa
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(12, 12) for _ in range(4))
            self.places = nn.Parameter(torch.randn(1, 5, 12))

        def forward(self, x):
            q, k, v = (by_heads(layer(x)) for layer in (self.q, self.k, self.v))
            places = by_heads(self.k(self.places)).repeat(len(x), 1, 1)
            scores = (q.bmm(k.mT) + q.bmm(places.mT)).view(len(x), 3, 5, 5).softmax(-1)
            y = scores.view(-1, 5, 5).bmm(v).view(len(x), 3, 5, 4)
            return self.out(y.transpose(1, 2).flatten(2))

    heads = ["GL(4) for each of 3", "GL(4) for each of 3", "Σ_3"]
    assert groups(Relative(), randn(2, 5, 12), randn(4, 5, 12)) == heads


def test_products_of_three_tensors_leave_the_group_of_each():
    # the last axis of w is summed over, so its units change places
    space = held(Products(), randn(2, 5, 3), randn(3, 4, 3))
    assert [h.group for h in space.spaces] == ["Σ_4 ⋉ (R_{>0})^4", "GL(5)", "GL(7)", "GL(6)", "Σ_3"]
    assert space["b"].readers == ["both.weight"] and space["c"].readers == ["w"]


def test_masks_of_pruned_weights_move_with_their_units():
    # a product entry by entry: units change places, with factors that a ReLU or nothing allows
    layers = nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2)
    model = nn.Sequential(*layers).double()
    for layer in (layers[k] for k in (0, 2, 3, 5)):
        for name in ("weight", "bias"):
            prune.random_unstructured(layer, name, 0.3)
    space = held(model, randn(2, 4), randn(3, 4))
    assert [h.group for h in space.spaces] == ["Σ_6 ⋉ (R_{>0})^6", "Σ_5 ⋉ (R^*)^5", "Σ_7 ⋉ (R_{>0})^7"]
    moved = space.act(model, space.sample(torch.Generator().manual_seed(1)))
    for layer, old in ((moved[k], model[k]) for k in (0, 2, 3, 5)):
        assert torch.equal(layer.weight_mask.unique(), torch.tensor([0.0, 1.0]).double())
        assert layer.weight_mask.sum() == old.weight_mask.sum()
    assert relative_error(match(space, model, moved).model[2].weight_orig, model[2].weight_orig) < 1e-9


@pytest.mark.parametrize("norm", [parametrizations.spectral_norm, nn.utils.spectral_norm])
def test_a_spectral_norm_leaves_the_order_of_units(norm):
    # W / uᵀWv: rows of W change places with entries of u, columns with those of v; lengths belong to u and v
    layers = nn.Linear(3, 6), nn.ReLU(), norm(nn.Linear(6, 5)), nn.ReLU(), nn.Linear(5, 2)
    assert groups(nn.Sequential(*layers), randn(2, 3), randn(4, 3)) == ["Σ_5", "Σ_6"]


def test_a_weight_that_is_made_orthogonal_stays_and_the_table_says_why():
    layers = nn.Linear(3, 6), nn.ReLU(), parametrizations.orthogonal(nn.Linear(6, 6)), nn.Linear(6, 2)
    space = held(nn.Sequential(*layers), randn(2, 3))
    assert space.spaces == []
    assert "tril, which sets entries to 0 by the order of rows and columns" in space.stays()["why"].tolist()


class Frozen(nn.Module):
    """As torchvision and transformers write it."""

    def __init__(self, n):
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.rand(n) + 0.5)

    def forward(self, x):
        w, b, v, m = (
            x.reshape(1, -1, 1, 1) for x in (self.weight, self.bias, self.running_var, self.running_mean)
        )
        scale = w * (v + 1e-5).rsqrt()
        return x * scale + (b - m * scale)


def test_a_frozen_batch_norm_moves_with_its_buffers():
    model = nn.Sequential(nn.Conv2d(3, 6, 1), Frozen(6), nn.ReLU(), nn.Conv2d(6, 2, 1))
    assert groups(model, randn(2, 3, 4, 4)) == ["Σ_6 ⋉ (R^* × R_{>0})^6"]


class Standardised(nn.Conv2d):
    def forward(self, x):
        w = self.weight.reshape(1, self.out_channels, -1)
        w = F.batch_norm(w, None, None, training=True, momentum=0.0, eps=1e-6).reshape_as(self.weight)
        return F.conv2d(x, w, self.bias)


def test_weights_that_are_standardised_keep_the_order_of_units():
    model = nn.Sequential(nn.Conv2d(3, 6, 1), nn.ReLU(), Standardised(6, 5, 1), nn.ReLU(), nn.Conv2d(5, 2, 1))
    assert groups(model, randn(2, 3, 4, 4)) == ["Σ_5", "Σ_6"]


def test_groups_of_a_norm_may_lie_side_by_side():
    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.c = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 8, 1)
            self.n, self.b = nn.GroupNorm(6, 12), nn.Conv2d(12, 2, 1)

        def forward(self, x):
            return self.b(self.n(torch.cat([self.a(x), self.c(x)], 1)))

    # groups of two channels change places, as do the channels of each, scaled by what is behind the norm
    expected = ["Σ_2", "Σ_2 ⋉ (R^*)^2 for each of 2", "Σ_2 ⋉ (R^*)^2 for each of 4", "Σ_4"]
    assert groups(Joined(), randn(2, 3, 4, 4)) == expected


class Heads(nn.Module):
    """Attention of four heads with two channels; steps change scores and values (batch, head, query, …)."""

    def __init__(self, step, last=lambda y: y):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 4))
        self.step, self.last = step, last

    def forward(self, x):
        q, k, v = (blocks(layer(x)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = self.step(q @ k.mT).softmax(-1)
        return self.o(self.last(scores @ v).transpose(1, 2).flatten(2))


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)[:, None, None]
DISTANCES = (torch.arange(5)[:, None] - torch.arange(5)).abs()
STILL_HEADS = {
    "slopes of distances (ALiBi)": lambda s: s - SLOPES * DISTANCES,
    "heads and batch as one axis": lambda s: (
        s.flatten(0, 1) - (SLOPES * DISTANCES).repeat(len(s), 1, 1)
    ).view_as(s),
    "masks of heads": lambda s: s.masked_fill(torch.eye(4, 5).bool()[:, None], -9.0),
}


@pytest.mark.parametrize("step", STILL_HEADS)
def test_heads_that_stay_have_a_matrix_each(step):
    model, x = Heads(STILL_HEADS[step]), randn(2, 5, 4)
    space = held(model, x, randn(2, 5, 4) + 1)
    assert sorted(hidden.group for hidden in space.spaces) == ["1", *["GL(2) for each of 4"] * 2]
    moved = space.act(model, space.sample(torch.Generator().manual_seed(1), scale=0.5))
    one, other = (canonicalise(space, each).model.state_dict() for each in (model, moved))
    assert all(torch.allclose(one[name], other[name]) for name in one)
    found = match(space, model, moved).model.state_dict()
    assert all(torch.allclose(found[name], y) for name, y in model.state_dict().items())


def test_heads_that_meet_have_one_matrix():
    share = torch.tensor([[1.0, 2, 0, 0], [0, 1, 3, 0], [0, 0, 1, 4], [5, 0, 0, 1]], dtype=torch.float64)
    still, meet = STILL_HEADS["masks of heads"], lambda y: torch.einsum("bhqd,hg->bgqd", y, share)
    found = groups(Heads(still, meet), randn(2, 5, 4))
    assert found == ["1", "GL(2)", "GL(2) for each of 4"]


class Grouped(nn.Module):
    """Rows by the matrices of three experts, the first two rows by those of the first one."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(3, 4, 8)), nn.Parameter(torch.randn(3, 8, 4))

    def forward(self, x):
        ends = torch.tensor([2, 5, 8], dtype=torch.int32)
        return F.grouped_mm(F.grouped_mm(x, self.a, offs=ends).relu(), self.b, offs=ends)


@pytest.mark.skipif(not hasattr(F, "grouped_mm"), reason="this torch has no grouped_mm")
def test_experts_move_alike():
    model, x = Grouped().eval(), torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    space = find_symmetries(model, x, check=False)
    moved = space.act(model, space.sample(torch.Generator().manual_seed(1), scale=0.5))
    assert [hidden.group for hidden in space.spaces] == ["Σ_8 ⋉ (R_{>0})^8"]
    assert relative_error(moved(x), model(x)) < 1e-5


class Merged(nn.Module):
    """Two halves of the positions side by side, normalised together, as Swin merges patches."""

    def __init__(self, product):
        super().__init__()
        self.a, self.n, self.b, self.product = nn.Linear(4, 6), nn.LayerNorm(12), nn.Linear(12, 2), product

    def forward(self, x):
        h = self.a(x)
        return self.b(self.n(h.flatten(1) if self.product else torch.cat([h[:, 0], h[:, 1]], -1)))


@pytest.mark.parametrize("product", [False, True])
def test_copies_that_are_normalised_together_turn_together(product):
    assert groups(Merged(product), randn(2, 2, 4), randn(5, 2, 4)) == ["(R^*)^6", "(R^*)^6", "O(6), Q1 = ±1"]


EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 2], [1, 2, 3, 4, 0, 2, 4]])
FROM, TO = EDGES


def rows(x):
    """The nodes to which edges lead, once for each entry of a node, as libraries of graphs write it."""
    return TO.view(-1, 1).expand_as(x[FROM])


def attended(x):
    """Edges are weighed by a softmax over those that lead to one node, in two heads."""
    h = x.view(len(x), 2, -1)
    score = (h * h.roll(1, 0)).sum(-1)[FROM]
    index = TO.view(-1, 1).expand_as(score)
    largest = score.new_zeros(len(x), 2).scatter_reduce_(0, index, score, "amax", include_self=False)
    weight = (score - largest.index_select(0, TO)).exp()
    weight = weight / score.new_zeros(len(x), 2).scatter_add_(0, index, weight).index_select(0, TO)
    message = h[FROM] * weight.unsqueeze(-1)
    return torch.zeros_like(h).index_add_(0, TO, message).flatten(1)


def shifted(x):
    """Each node takes what the one before it has, by entries that are put in place of others."""
    y, z = torch.zeros_like(x), torch.empty_like(x)
    y[1:], y[:1] = x[:-1], 0
    z[..., 0, :], z[1:] = y[0], y[1:]
    return z


POSITIVE, LINEAR = ["Σ_6 ⋉ (R_{>0})^6"] * 2, ["GL(6)", "GL(6)"]
GRAPHS = {
    # a sum over neighbours is linear and the same for all units: after a ReLU they keep its group
    "scatter_add_": (lambda x: x.new_zeros(x.shape).scatter_add_(0, rows(x), x[FROM]), POSITIVE, LINEAR),
    "scatter_reduce": (
        lambda x: torch.zeros_like(x).scatter_reduce(0, rows(x), x[FROM], reduce="mean"),
        POSITIVE,
        LINEAR,
    ),
    # the largest of several numbers goes along with positive factors
    "amax": (lambda x: torch.zeros_like(x).scatter_reduce_(0, rows(x), x[FROM], "amax"), POSITIVE, POSITIVE),
    "index_add": (lambda x: torch.zeros_like(x).index_add(0, TO, x[FROM], alpha=2), POSITIVE, LINEAR),
    "index_copy_": (lambda x: torch.empty_like(x).index_copy_(0, TO[:5], x), POSITIVE, LINEAR),
    "gather": (lambda x: x.gather(0, rows(x)[:5]), POSITIVE, LINEAR),
    "gather, one index for all": (lambda x: x.gather(0, TO[:5, None].repeat(1, 6)), POSITIVE, LINEAR),
    "take_along_dim": (lambda x: x.take_along_dim(TO[:5, None], 0), POSITIVE, LINEAR),
    # one number for all units lets them change places
    "constants": (lambda x: torch.maximum(x, torch.full_like(x, -0.1)), ["Σ_6"] * 2, ["Σ_6"] * 2),
    "several tensors": (lambda x: torch.stack([x, 2 * x])[TO % 2, FROM][:5], POSITIVE, LINEAR),
    # sums are within heads, so that units have an order, and without a ReLU signs, in each
    "attention": (attended, ["Σ_2", "Σ_3 for each of 2"] * 2, ["Σ_2", "Σ_3 ⋉ ({±1})^3 for each of 2"] * 2),
    "shifted": (shifted, POSITIVE, LINEAR),
    # every unit takes another node
    "uneven": (lambda x: x.gather(0, (rows(x)[:5] + torch.arange(x.shape[1])) % 5), [], []),
    "product": (
        lambda x: torch.ones_like(x).scatter_reduce(0, rows(x), x[FROM], "prod"),
        ["Σ_6"] * 2,
        ["Σ_6"] * 2,
    ),
}


class Graph(nn.Module):
    """Two rounds in which each of five nodes takes what its neighbours send."""

    def __init__(self, send, activation):
        super().__init__()
        self.first, self.itself, self.second = nn.Linear(3, 6), nn.Linear(3, 6, bias=False), nn.Linear(6, 6)
        self.last, self.send, self.activation = nn.Linear(6, 2), send, activation

    def forward(self, x):
        x = self.activation(self.send(self.first(x)) + self.itself(x))
        return self.last(self.send(self.activation(self.second(x))))


@pytest.mark.parametrize("name", GRAPHS)
def test_what_nodes_of_a_graph_send_along_edges_has_the_group_of_theory(name):
    send, positive, linear = GRAPHS[name]
    for activation, expected in ((torch.relu, positive), (nn.Identity(), linear)):
        assert groups(Graph(send, activation), randn(5, 3), randn(5, 3) + 1) == sorted(expected)


class Channels(nn.Module):
    """A step between two convolutions of single positions."""

    def __init__(self, step, enter, leave):
        super().__init__()
        self.a, self.b, self.step = nn.Conv2d(3, enter, 1), nn.Conv2d(leave, 2, 1), step

    def forward(self, x):
        return self.b(self.step(self.a(x)))


def stored(h):
    return torch.empty_like(h).copy_(h)


SHUFFLED = {
    "pixel_shuffle": (lambda h: F.pixel_shuffle(h, 2), 16, 4, ["GL(4)"]),
    "pixel_unshuffle": (lambda h: F.pixel_unshuffle(h.relu(), 2), 4, 16, ["Σ_4 ⋉ (R_{>0})^4"]),
    "unfold": (lambda h: F.unfold(h, 2, stride=2).unflatten(2, (2, 2)), 4, 16, ["GL(4)"]),
    "fold": (lambda h: F.fold(h.flatten(2)[:, :, :4], (4, 4), 2, stride=2), 16, 4, ["GL(4)"]),
    "channel_shuffle": (lambda h: F.channel_shuffle(h, 2).relu(), 8, 8, ["Σ_2", "Σ_4"]),
    "topk": (lambda h: h.topk(2, -1).values, 4, 4, ["Σ_4 ⋉ (R_{>0})^4"]),
    "argsort": (lambda h: h + h.argsort(-1), 4, 4, ["Σ_4"]),
    "topk of units": (lambda h: h.topk(4, 1).values, 6, 4, []),
    "cumsum": (lambda h: h.cumsum(2), 4, 4, ["GL(4)"]),
    "cumprod": (lambda h: h.cumprod(2), 4, 4, ["Σ_4"]),
    "copy_": (stored, 4, 4, ["GL(4)"]),
    "copy_ to all units": (lambda h: torch.empty_like(h).copy_(h[:, :1]), 4, 4, ["GL(3)", "Σ_4"]),
    "adaptive_max_pool3d": (
        lambda h: F.adaptive_max_pool3d(h[:, :, None], 1)[:, :, 0],
        4,
        4,
        ["Σ_4 ⋉ (R_{>0})^4"],
    ),
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_entries_that_change_places_keep_the_units_that_they_do_not_mix(name):
    step, enter, leave, expected = SHUFFLED[name]
    assert groups(Channels(step, enter, leave), randn(2, 3, 4, 4), randn(2, 3, 4, 4) + 1) == expected


# what a window covers, with as many numbers after it as before
POOLED = {
    "rows of units": (lambda h: F.avg_pool1d(h[0], 3, 1, 1)[None], []),
    "tokens and units": (lambda h: F.avg_pool2d(h.mT, 3, 1, 1).mT, []),
    "units, by the largest": (lambda h: F.max_pool2d(h, (1, 3), 1, (0, 1)), []),
    "units, by the nearest": (lambda h: h + F.interpolate(h[..., :4], 8), []),
    "tokens, by the nearest": (lambda h: F.interpolate(h.mT, 7).mT, ["GL(8)"]),
    "tokens of two sequences": (lambda h: F.avg_pool1d(h.mT, 3, 1, 1).mT, ["GL(8)"]),
    "tokens of one sequence": (lambda h: F.avg_pool1d(h[0].mT, 3, 1, 1).mT[None], ["GL(8)"]),
}


@pytest.mark.parametrize("name", POOLED)
def test_a_pool_without_an_axis_of_inputs_keeps_the_order_of_what_its_windows_cover(name):
    step, expected = POOLED[name]
    assert groups(Net(step), randn(2, 5, 4), randn(2, 5, 4) + 1) == expected


def test_numbers_for_two_axes_leave_the_others_free_also_where_those_are_not_side_by_side():
    at, there = torch.tensor([0, 4, 1, 1]), torch.tensor([2, 0, 1, 2])

    def put(h):
        full = torch.zeros(8, 5, 2, 3, dtype=h.dtype)
        full[:, at[:3], :, there[:3]] = h.permute(1, 2, 0)
        return full.movedim(0, -1)

    taken = (lambda h: h[:, at, there]), (lambda h: h.movedim(-1, 2)[:, at, :, there])
    for step in taken:
        assert groups(Net(step), randn(2, 5, 3, 4), randn(2, 5, 3, 4) + 1) == ["GL(8)"]
    assert groups(Net(put), randn(2, 3, 4), randn(2, 3, 4) + 1) == ["GL(8)"]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_gain_counts_as_0_beside_its_largest_entry_whatever_its_unit(unit):
    for least, expected in ((1e-5, ["(R^*)^8", "O(8)"]), (1e-8, ["Σ_8 ⋉ (R^* × {±1})^8"])):
        norm = nn.RMSNorm(8).double()
        norm.weight.data.mul_(unit)[3] *= least
        assert groups(Net(norm), randn(5, 4), randn(5, 4) + 1) == expected


def test_a_mask_of_several_axes_leaves_the_others_free():
    mask = torch.tensor([[True, False], [True, True]])
    found = groups(Net(lambda h: h.view(2, 2, -1)[mask].mean(0)), randn(4, 4), randn(4, 4) + 1)
    assert found == ["GL(8)"]


def test_every_file_with_a_rule_is_imported():
    files = Path(rules.__file__).parent.glob("*.py")
    assert {path.stem for path in files if "\n@rule(" in path.read_text()} == {*rules.__all__}


class Encoder(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.words, self.places = nn.Embedding(9, width), nn.Embedding(5, width)
        self.layer = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 9)

    def forward(self, tokens):
        return self.head(self.norm(self.layer(self.words(tokens) + self.places(torch.arange(5)))))


@torch.no_grad()
def test_the_affine_symmetries_that_the_documentation_counts_are_exact():
    model, x = Encoder().double().eval(), torch.tensor([[1, 2, 0, 7, 8], [3, 3, 1, 0, 4]])
    expected, a, n = model(x), model.layer.self_attn, 8
    u, r = randn(n), randn(n, 1)[:, 0]
    a.in_proj_bias[n : 2 * n] += u  # keys
    a.in_proj_bias[2 * n :] += u  # values
    a.out_proj.bias -= a.out_proj.weight @ u
    a.out_proj.weight += r  # one number to all entries of a column
    a.out_proj.bias += 3.0
    model.layer.norm1.bias += u
    a.in_proj_bias -= a.in_proj_weight @ u
    model.words.weight += u
    model.places.weight -= u
    assert relative_error(model(x), expected) < 1e-12
