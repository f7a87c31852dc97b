"""Models and spaces as users hand them over: saved, compiled, without memory, of low precision, quantised."""

import copy
import pickle
from functools import partial
from inspect import unwrap

import pytest
import torch
import weightspace_models as zoo
from helpers import generator, normal, randomise, same, sentence
from torch import nn

from intertwine.same_network import same_network
from intertwine.weightspace import (
    canonicalise,
    equivalent,
    find_symmetries,
    fold_biases,
    match,
    relative_error,
    verify,
)

TOKENS = torch.tensor([[1, 4, 0, 10, 3], [2, 2, 7, 5, 6]])


def perceptron() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).eval()


def convolutions() -> nn.Sequential:
    torch.manual_seed(0)
    front = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 1), nn.PReLU()
    return nn.Sequential(*front, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2)).eval()


@pytest.mark.parametrize(
    "build, inputs",
    [(perceptron, normal(2, 3)), (convolutions, normal(2, 3, 9, 9)), (partial(zoo.GPT, tied=True), TOKENS)],
)
@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_saved_space_draws_acts_and_is_drawn_as_before(build, inputs, again):
    model = build().eval()
    space = find_symmetries(model, inputs)
    saved = again(space)
    one, other = (each.sample(generator()) for each in (space, saved))
    assert same(space.act(model, one), saved.act(model, other))
    assert (str(saved), saved.spec, saved.draw()) == (str(space), space.spec, space.draw())


def test_a_state_dict_moves_as_its_model_also_where_a_file_names_tied_weights_once():
    model = randomise(zoo.GPT(tied=True), generator())
    space = find_symmetries(model, TOKENS)
    element, weights = space.sample(generator()), model.state_dict()
    expected = space.act(model, element).state_dict()
    for left_out in (set(), {"embed.weight"}, {"head.weight"}, {"positions.missing"}):
        given = {name: x.clone() for name, x in weights.items() if name not in left_out}
        moved = space.act(given, element)
        assert [*moved] == [*given] and all(torch.equal(x, expected[name]) for name, x in moved.items())
    with pytest.raises(ValueError, match=r"Expected a model with blocks.0.up.weight .* was given none"):
        space.act({name: x for name, x in weights.items() if name != "blocks.0.up.weight"}, element)


def test_the_representative_and_the_match_of_state_dicts_are_those_of_models():
    model = perceptron().double()
    space = find_symmetries(model, normal(2, 3).double())
    moved = space.act(model, space.sample(generator()))
    dicts = [each.state_dict() for each in (model, moved)]
    for found in (unwrap(match)(space, *dicts).model, unwrap(canonicalise)(space, dicts[0]).model):
        assert isinstance(found, dict)
    torch.testing.assert_close(unwrap(match)(space, *dicts).model, dicts[0])


@pytest.mark.parametrize("inside", [False, True])
def test_a_compiled_model_is_its_module(inside):
    model = perceptron()
    compiled = torch.compile(model, backend="eager")
    given = nn.Sequential(compiled, nn.ReLU()).eval() if inside else compiled
    plain = nn.Sequential(model, nn.ReLU()).eval() if inside else model
    space = find_symmetries(given, normal(2, 3))
    assert space.spec == find_symmetries(plain, normal(2, 3)).spec
    element = space.sample(generator())
    moved = space.act(given, element)
    assert same(moved, space.act(plain, element)) and type(moved) is nn.Sequential
    assert verify(space, given, element, normal(2, 3)).output < 1e-5


def encoder() -> nn.Sequential:  # in which one axis is batch × heads
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dropout=0.0)
    body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    return randomise(nn.Sequential(body, nn.Flatten(), nn.Linear(24, 3)), generator())


def test_a_padded_encoder_is_followed_without_nested_tensors():
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 1).eval()
    batch = {
        "src": normal(2, 3, 8),
        "src_key_padding_mask": torch.tensor([[False] * 3, [False, False, True]]),
    }
    with pytest.raises(ValueError, match=r"as by use_nested_tensor = False of an nn\.TransformerEncoder"):
        find_symmetries(model, batch)
    model.use_nested_tensor = False
    space = find_symmetries(model, batch)
    moved = space.act(model, space.sample(generator()))
    assert len(space.spaces) == 4  # heads, queries and keys, values, and the ReLU
    torch.testing.assert_close(moved(**batch), model(**batch), rtol=1e-4, atol=1e-5)


def test_a_printed_space_says_where_names_are_whole_if_it_cuts_them():
    said = "(to_frame() has the names that end in ... here)\ndimension"
    assert "to_frame" not in str(find_symmetries(perceptron(), normal(2, 3)))
    assert said in str(find_symmetries(convolutions(), normal(2, 3, 9, 9)))


@pytest.mark.parametrize("batch, other", [(1, 3), (1, 2), (3, 1), (4, 6)])
def test_a_batch_of_another_size_verifies_and_matches_too(batch, other):
    model = encoder()
    space = find_symmetries(model, normal(batch, 3, 8).double())
    element, x = space.sample(generator()), normal(other, 3, 8).double()
    found = verify(space, model, element, x)
    assert (
        found.output < 1e-10 and (found.spaces["error"] < 1e-10).all() and (found.spaces["changed"] > 0).all()
    )
    again = match(space, model, space.act(model, element), inputs=x)
    assert not again.undetermined
    pairs = zip(again.model.parameters(), model.parameters(), strict=True)
    assert max(relative_error(one.detach(), two.detach()) for one, two in pairs) < 1e-8


class Squeezed(nn.Module):  # one axis less where the batch has one input
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x).relu().squeeze(0).reshape(len(x), 6))


def test_a_value_that_loses_an_axis_with_one_input_is_left_out():
    model = randomise(Squeezed(), generator())
    space = find_symmetries(model, normal(1, 3).double())
    found = verify(space, model, space.sample(generator()), normal(4, 3).double())
    assert found.output < 1e-10 and (found.spaces["error"] < 1e-10).all()


def test_a_space_of_which_no_value_can_be_compared_is_not_said_to_be_right(monkeypatch):
    model, x = perceptron().double(), normal(2, 3).double()
    space = find_symmetries(model, x)
    monkeypatch.setattr(type(space.solution), "fits", lambda *_: False)
    found = verify(space, model, space.sample(generator()), x)
    assert found.output < 1e-10 and found.spaces[["changed", "error"]].isna().all(axis=None)


def on_meta(build) -> nn.Module:
    with torch.device("meta"):
        return build().eval()


@pytest.mark.parametrize(
    "build, inputs",
    [(convolutions, normal(1, 3, 9, 9)), (partial(zoo.GPT, tied=True), TOKENS), (zoo.Llama, TOKENS)],
)
def test_without_weights_in_memory_the_group_is_the_same_and_unchecked(build, inputs):
    model = build().eval()
    with pytest.warns(UserWarning, match="not checked, since weights have no memory"):
        space = find_symmetries(on_meta(build), inputs)
    assert space.spec == find_symmetries(model, inputs).spec
    element = space.sample(generator(), scale=0.1)
    assert relative_error(space.act(model, element)(inputs), model(inputs)) < 1e-3


def test_uses_of_weights_without_memory_say_so():
    model, x = on_meta(perceptron), normal(5, 3)
    with pytest.warns(UserWarning, match="not checked"):
        space = find_symmetries(model, x)
    for use in (
        lambda: space.act(model, space.identity()),
        lambda: match(space, model, model),
        lambda: canonicalise(space, model),
        lambda: equivalent(model, model, x),
        lambda: same_network(model, model, x),
        lambda: verify(space, model, space.identity(), x),
        lambda: fold_biases(space, model, x),
    ):
        with pytest.raises(ValueError, match=r"weights that have entries, was given 0\.weight of the"):
            use()


class Masked(nn.Module):
    """A step that depends on a mask, as models of language take it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(11, 6), nn.Linear(6, 2)

    def forward(self, ids, mask):
        x = self.embed(ids)
        places = torch.arange(ids.shape[1], device=x.device)
        hidden = x if mask.all() or places.max() > 7 else x * mask.to(x.device)[..., None]
        return self.out(torch.relu(hidden))


def test_without_weights_in_memory_masks_decide_on_steps():
    batch = {"ids": TOKENS, "mask": TOKENS > 1}
    with pytest.warns(UserWarning, match="not checked"):
        space = find_symmetries(on_meta(Masked), batch)
    assert str(space) == str(find_symmetries(Masked().eval(), batch)) and "masks like this one" in str(space)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits_are_matched_to_rounding_and_have_no_representative(dtype):
    model = randomise(zoo.GPT(tied=True), generator()).to(dtype)
    space = find_symmetries(model, TOKENS)
    moved = space.act(model, space.sample(generator(), scale=0.1))
    found = match(space, model, moved).model
    for x, y in zip(found.parameters(), model.parameters(), strict=True):
        assert (x - y).double().norm() <= 4 * torch.finfo(dtype).eps * y.double().norm()
    said = sentence(lambda: canonicalise(space, model))
    assert said.startswith(f"Expected weights in float32 or float64, was given {dtype}: units are ordered by")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_sharded_model_is_pointed_to_its_state_dict():
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        model = fully_shard(perceptron(), mesh=init_device_mesh("cpu", (1,)))
        said = sentence(lambda: find_symmetries(model, torch.zeros(1, 3)))
    finally:
        distributed.destroy_process_group()
    assert (
        "before it is sharded (on the meta device it takes no memory)" in said and "full state dict" in said
    )


class Kept(nn.Module):
    """A layer on those rows whose number is positive, and how many there are."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x, number):
        rows = x[number > 0]
        return self.b(self.a(rows).relu()) / rows.shape[0]


def test_rows_that_integers_choose_have_a_shape_and_rows_that_numbers_choose_have_none():
    x, number = torch.randn(3, 3), torch.tensor([1, 0, 2])
    assert len(find_symmetries(Kept().eval(), (x, number)).spaces) == 1
    with pytest.raises(ValueError, match="reads a tensor with shape"):
        find_symmetries(Kept().eval(), (x, x[:, 0]))
